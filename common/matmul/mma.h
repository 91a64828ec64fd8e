/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the solvers on tensor cores share: how k-tiles come into local memory, and which accumulators a lane has. A warp
 * has those of item_rows * 8 rows and item_columns * 4 columns, in fragments of 16 x 8: of mma.sync one for each
 * instruction, of wgmma side by side.
 */
#ifndef COMMON_MATMUL_MMA_H
#define COMMON_MATMUL_MMA_H

#include "common/kernels/template.h"
#include "common/matmul/provider.h"
#include "common/matmul/tile.h"

enum {
    LFUSE__MMA_CHUNK_BYTES = 16, /* that are copied together */
    LFUSE__MMA_CHUNK = 8,        /* elements of 16 bits in a chunk */
    LFUSE__MMA_CHUNK_TF32 = 4,   /* the same of f32 */
    LFUSE__MMA_STEP = 16,        /* of a fragment, along k too where elements have 16 bits */
    LFUSE__MMA_STEP_BYTES = 32,  /* along k */
    LFUSE__MMA_LOCAL = 48 * 1024, /* bytes of static local memory: what no shape of mma.sync exceeds */
    LFUSE__MMA_TICKET = 16, /* bytes of local memory, and more: where groups of one tile meet */
    LFUSE__WARPGROUP = 128,
    LFUSE__WGMMA_ROWS = 64,       /* of D that a warpgroup has */
    LFUSE__WGMMA_LINE = 128,      /* bytes of a line of a large k-tile, as the widest swizzle */
    LFUSE__WGMMA_DEPTH = 64,      /* of a large k-tile of 16 bits */
    LFUSE__WGMMA_DEPTH_FP8 = 128, /* the same of 8 bits */
    LFUSE__WGMMA_DEPTH_TF32 = 32, /* the same of f32 */
    LFUSE__PIPELINE_LOCAL = 225 * 1024 /* bytes: what any shape of a pipeline takes, and barriers */
};

/* Returns the bytes of an element of A or B in local memory. */
static inline int lfuse__mma_bytes(const lfuse__product_class *p)
{
    return p->solver->tile->bytes;
}

/* Returns whether lines of both operands run along k. */
static inline bool lfuse__mma_lies_along(const lfuse__product_class *p)
{
    return lfuse__is_k_contiguous(p, LFUSE__PRODUCT_A) && lfuse__is_k_contiguous(p, LFUSE__PRODUCT_B);
}

/* Returns whether the device has warpgroups that multiply, and dynamic local memory for them. */
static inline bool lfuse__has_warpgroups(const lfuse__facts *facts)
{
    return facts->wgmma && facts->dynamic_local_bytes > 0;
}

/*
 * Puts the text of a kernel, or of a part of one. Parameters and places that such kernels share (those of
 * gemm_mma_operand.k, gemm_mma_vectors.k, gemm_schedule.k, gemm_band.k and gemm_end.k) come behind `own` and
 * `own_places`, which prevail; both tables end with a name of NULL, and `own_places` may be NULL.
 */
void lfuse__mma_put_text(const lfuse__tiles *t, int indent, const char *name, const char *text,
                         const lfuse__parameter *own, const lfuse__text_place *own_places);

/*
 * mma_prologue.c: puts a part of text/gemm_mma_prologue.k for A or B, whose elements are computed where they are read.
 * `parameters` are those of text/gemm_mma_operand.k.
 *   - ARRAYS declares the registers for what the next k-tile is computed of.
 *   - FIRST computes the first k-tile, and loads for the second one.
 *   - NEXT computes the k-tile behind the one that is multiplied, and loads for that behind it.
 *   - SLOWLY computes a k-tile whose sources are not aligned.
 */
typedef enum lfuse__mma_computed_part {
    LFUSE__MMA_COMPUTED_ARRAYS,
    LFUSE__MMA_COMPUTED_FIRST,
    LFUSE__MMA_COMPUTED_NEXT,
    LFUSE__MMA_COMPUTED_SLOWLY,
    LFUSE__MMA_COMPUTED_PARTS
} lfuse__mma_computed_part;
void lfuse__mma_put_computed(const lfuse__tiles *t, int operand, lfuse__mma_computed_part part, int indent,
                             const lfuse__parameter *parameters);
/*
 * mma_prologue.c: registers for what operands are computed of.
 *   - sets returns how many k-tiles ahead it is loaded, each into a set of its own; 1 where nothing is computed.
 *   - computed_blocks returns for how many groups a unit has registers then.
 */
int lfuse__mma_sets(const lfuse__product_class *p);
int lfuse__mma_computed_blocks(const lfuse__product_class *p);

/*
 * wgmma.c: the matrix descriptor of A or B but for the address, a number; what is added to it for the next step along
 * k. A warpgroup has item_rows / 2 blocks of 64 rows, its warps 16 rows of each.
 */
lfuse__expr lfuse__wgmma_descriptor(const lfuse__product_class *p, int operand);
int lfuse__wgmma_step(const lfuse__product_class *p, int operand);

/*
 * Pipelines: kernels of text/gemm_pipeline.k, whose groups have a warpgroup more than their tiles, which copies. Such a
 * solver is two rows: its `source` says how k-tiles come into local memory, its `tile` what multiplies them, with the
 * shapes and their rates (tile.h). Both put parts of the text, which have the numbers below.
 */
enum {
    LFUSE__PART_EARLY, LFUSE__PART_SOURCES, LFUSE__PART_COPY, /* that copy */
    LFUSE__PART_MULTIPLIERS, LFUSE__PART_MULTIPLY, LFUSE__PART_MULTIPLY_REST, LFUSE__PART_PROMOTE,
    LFUSE__PART_FINISH
};

/* The fields that are the same in all such solvers. */
#define LFUSE__PIPELINE(source_, tile_)                                                                                \
    .source = (source_), .tile = (tile_), .runs_on = lfuse__tiles_fit, .candidate = lfuse__tile_candidate,             \
    .has = lfuse__pipeline_has, .tickets = lfuse__tiles_tickets, .local_bytes = lfuse__pipeline_local_bytes,           \
    .emit = lfuse__tiles_emit, .pack = lfuse__pipeline_pack
/* The fields that are the same in the traits of all of them. */
#define LFUSE__PIPELINE_TILE                                                                                           \
    .tensor_cores = true, .local = lfuse__pipeline_local, .put_corner = lfuse__pipeline_put_corner,                    \
    .put_place = lfuse__pipeline_put_place, .put_kernel = lfuse__pipeline_put_kernel

/*
 * pipeline_multiply.c and fp8.c: what multiplies f16 and bf16; f32 that is rounded to tf32; e4m3 and e5m2. The last two
 * take lines along k alone. pipeline_put_multiply is `put_part` of the first two.
 */
extern const lfuse__tile_traits lfuse__multiply_f16, lfuse__multiply_tf32, lfuse__multiply_fp8;
void lfuse__pipeline_put_multiply(const void *t, int part, int indent);

/*
 * tma.c: operands that come by tensor maps.
 *   - tma_set_maps sets the maps in the words of the launch that multiplies, where `pack` of a source has set the
 *     others; and bits 0 and 1 of LFUSE__TILES_VECTORS, both, where all these operands have a map.
 *   - tma_matrix returns an expression: the matrix of an operand's map, or of what is prepared of it (front.h); of a
 *     batch `matrix` is in scope.
 *   - tma_bytes returns an expression: the bytes of a k-tile that come by an operand's map. m and n are in scope.
 */
lfuse__expr lfuse__tma_matrix(const lfuse__tiles *t, int operand);
lfuse__expr lfuse__tma_bytes(const lfuse__tiles *t, int operand);
lfuse_status lfuse__tma_set_maps(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                                 lfuse__packed *packed);

/*
 * pipeline.c.
 *   - pipeline_has_room returns whether shapes that are not small (mma_is_small) fit the device.
 *   - pipeline_has, _local_bytes and _pack are functions of the solver. Small shapes are for devices without room for
 *     the others.
 *   - pipeline_declines is `declines` of a solver.
 *   - pipeline_cost is a function of the solver, of the launch that multiplies.
 *   - pipeline_put_kernel is a function of the traits.
 *   - pipeline_local is a function of the traits: what the epilogue has, as the loop over k-tiles goes on behind it.
 *     So are put_corner and put_place: a work-item has vectors of the epilogue, whose sums are not its own.
 *   - pipeline_is_pingpong returns whether each warpgroup has tiles of its own.
 *   - pipeline_multiplying returns the work-items of a group that multiply.
 *   - pipeline_first_row returns an expression: the row of D where tile `down` begins. pipeline_row returns one of the
 *     row that is line `r` in local memory of the tile that begins at `first`; pipeline_height the rows of D from the
 *     first one of a tile to behind its last.
 */
bool lfuse__pipeline_has_room(const lfuse__facts *facts);
bool lfuse__pipeline_has(const lfuse__product_class *p, const lfuse__facts *facts);
unsigned lfuse__pipeline_local_bytes(const lfuse__kernel_class *c);
lfuse_status lfuse__pipeline_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                                  lfuse__packed *packed);
const char *lfuse__pipeline_declines(const lfuse__solver *solver, const lfuse__facts *facts,
                                     const lfuse__matmul_desc *desc);
bool lfuse__pipeline_cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents,
                          lfuse__cut *c);
void lfuse__pipeline_put_kernel(const lfuse__tiles *t, const char *name);
bool lfuse__pipeline_is_pingpong(const lfuse__product_class *p);
int lfuse__pipeline_local(const lfuse__product_class *p);
void lfuse__pipeline_put_corner(const lfuse__tiles *t, int indent, const char *place);
void lfuse__pipeline_put_place(const lfuse__tiles *t, int indent, const char *number);
int lfuse__pipeline_multiplying(const lfuse__product_class *p);
lfuse__expr lfuse__pipeline_first_row(const lfuse__product_class *p);
lfuse__expr lfuse__pipeline_row(const lfuse__product_class *p, const char *first, const char *r);
int lfuse__pipeline_height(const lfuse__product_class *p);

/*
 * pipeline_sums.c: sums of columns, for pipeline.c.
 *   - sums_columns and put_addend are functions of the traits.
 *   - put_corner and put_place are those of a class that sums columns.
 *   - put_sums, a place of a text, puts gemm_pipeline_sums.k where columns are summed.
 */
bool lfuse__pipeline_sums_columns(const lfuse__product_class *p);
void lfuse__pipeline_put_addend(const lfuse__tiles *t, int indent, const char *addend);
void lfuse__pipeline_sums_put_corner(const lfuse__tiles *t, int indent, const char *place);
void lfuse__pipeline_sums_put_place(const lfuse__tiles *t, int indent, const char *number);
void lfuse__pipeline_put_sums(const void *t, int which, int indent);

/* mma.c: returns the bytes of a k-tile of A or B in local memory, with all words of its elements. */
int lfuse__mma_k_tile_bytes(const lfuse__product_class *p, int operand);

/*
 * mma.c: shapes of warpgroups.
 *   - is_small returns whether the shape is one for devices whose groups have little local memory: its k-tiles are less
 *     deep, and a unit has several groups.
 *   - stages returns the stages of k-tiles. Of small shapes none holds k-tiles of products that may not have ended:
 *     another group multiplies when these are waited for.
 *   - is_compiled_ahead is a function of the solver: small shapes too, as the first ones are none of such a device.
 */
bool lfuse__mma_is_small(const lfuse__product_class *p);
bool lfuse__mma_is_compiled_ahead(const lfuse__solver *solver, int at);
int lfuse__mma_stages(const lfuse__product_class *p);

/* Return the rows and columns of a warp's accumulators. */
int lfuse__mma_warp_rows(const lfuse__product_class *p);
int lfuse__mma_warp_columns(const lfuse__product_class *p);

/* mma.c: returns the type of A or B as the words of instructions have it: f32 is rounded to tf32. */
const char *lfuse__mma_word(const lfuse__tiles *t, int operand);
/* mma.c: returns NULL for f16 and bf16, else why these alone are multiplied. */
const char *lfuse__mma_multiplies(const lfuse__matmul_desc *desc);
/* mma.c: what solvers of text/gemm_mma.k decline whatever the types of operands are, as `declines` of a solver. */
const char *lfuse__mma_declines_any(const lfuse__facts *facts, const lfuse__matmul_desc *desc);
/* Functions of the traits and of the solver (tile.h, solver.h). All stages of k-tiles are in local memory. */
int lfuse__mma_local(const lfuse__product_class *p);
void lfuse__mma_put_corner(const lfuse__tiles *t, int indent, const char *place);
void lfuse__mma_put_place(const lfuse__tiles *t, int indent, const char *number);
void lfuse__mma_put_kernel(const lfuse__tiles *t, const char *name);
const char *lfuse__mma_declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc);
bool lfuse__mma_serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most);
bool lfuse__mma_suits(const lfuse__product_class *p, const int64_t *extents);

/* Returns whether what is made of A or B is kept from run to run: it is frozen, and the solver keeps it. */
static inline bool lfuse__is_kept(const lfuse__product_class *p, int operand)
{
    return p->kept == 1 + operand;
}

/* Returns the rows of A, or the columns of B, of a tile. */
static inline int lfuse__tile_width(const lfuse__product_class *p, int operand)
{
    return operand == LFUSE__PRODUCT_A ? p->rows : p->columns;
}

#endif
