/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the solvers share in which a work-group computes a tile of D: simt, skinny and the solvers on tensor cores, on
 * GPUs. In their texts p0 and p1 are A and B, p<j> the epilogue's operands; `item`, m, n, k are u32. A vector has 16
 * bytes of accumulators, and as many elements of whatever type lies in memory.
 */
#ifndef COMMON_MATMUL_TILE_H
#define COMMON_MATMUL_TILE_H

#include "common/base/costs.h"
#include "common/matmul/solver.h"

/* The solvers' own argument words. */
enum {
    LFUSE__TILES_DOWN,    /* tiles along m, */
    LFUSE__TILES_ACROSS,  /* and along n */
    LFUSE__TILES_PARTS,   /* of k; stream-K: workers */
    LFUSE__TILES_SHARED,  /* stream-K: how many tiles, the first ones, workers share out */
    LFUSE__TILES_VECTORS, /* bits 0, 1, 2: A, B, all epilogue operands that can lie in vectors are aligned so; and: */
    LFUSE__TILES_BY_BAND,  /* lfuse__division32 of how many tiles a band has */
    LFUSE__TILES_BY_HIGH,  /* lfuse__division32 of how many tiles along m the last band has, where it is not full */
    LFUSE__TILES_BY_PARTS, /* lfuse__division32 of TILES_PARTS */
    LFUSE__TILES_HIGH,     /* tiles along m that a band has */
    LFUSE__TILES_OWN,
    LFUSE__TILES_APART = LFUSE__TILES_OWN /* column sums, one word more: how far apart in D the rows of a tile are */
};
enum {
    LFUSE__TILES_EARLY = 8,    /* B may be read before BEGIN, in kernels that overlap */
    LFUSE__TILES_HANDS = 16,   /* HAND_OVER, CUDA's programmatic dependent launch: the next kernel may start when all
                                  groups of this one run */
    LFUSE__TILES_PREFETCH = 32 /* what the epilogue reads is asked for before the sums begin */
};
enum {
    LFUSE__TILES_BAND = 8,       /* consecutive groups take so many tiles along m, then go on along n, for the cache;
                                    of pipelines LOW_BAND where n has few tiles */
    LFUSE__TILES_LOW_BAND = 2,
    LFUSE__TILES_TICKETS = 1024, /* tiles whose parts can meet in one launch */
    LFUSE__MOST_PARTS = 32,      /* of k */
    LFUSE__TILES_VECTOR = 16,    /* bytes of accumulators in a vector */
    LFUSE__TILES_REGISTERS = 65536 /* of a compute unit of NVIDIA, for which kernels are compiled */
};

/* Returns the elements of a vector. */
static inline int lfuse__tiles_vector(const lfuse__product_class *p)
{
    return LFUSE__TILES_VECTOR / (int)lfuse__type_bytes(p->sum);
}

typedef struct lfuse__tiles lfuse__tiles; /* a kernel's text being written: below */

/*
 * A shape of tiles of f32 sums; those of f64 are half as wide and high.
 *   residents  groups that a compute unit of NVIDIA has registers and local memory for; the kernel is compiled for so
 *              many
 *   wait       cycles of a k-tile that pass beside its products where nobody else has any to do, on Hopper
 *   rate       products a cycle of a full unit, on Hopper
 * Those of other devices follow from the shape: model_of() of tile_cost.c. tests/matmul/check_rows.c has what kernels
 * on tensor cores take for granted of a shape.
 */
typedef struct lfuse__tile_shape {
    int rows, columns, depth, item_rows, item_columns, slices, prefetch;
    int residents;
    double wait, rate;
} lfuse__tile_shape;
/* Two fields of the traits: a table of shapes, and how many it has. */
#define LFUSE__SHAPES(table) .shapes = (table), .nshapes = sizeof (table) / sizeof *(table)

/* What differs between the solvers that share this file: `tile` of a solver. Nobody compares solvers by their names. */
typedef struct lfuse__tile_traits {
    /* The table of shapes (LFUSE__SHAPES). None: the solver has tiles of its own making, and all sums go through the
       workspace. */
    const lfuse__tile_shape *shapes;
    int nshapes;
    int threads;       /* work-items of a group; 0: those of the shape */
    int chunk;         /* elements of A and B are loaded in chunks of so many, of which rows are whole numbers; 0: in
                          vectors, and one by one where a row ends */
    bool tensor_cores; /* the sums are made there */
    int spare_stages;  /* tensor cores: of the pipeline, beside the one that is multiplied and those that are copied */
    int bytes;         /* tensor cores: of an element of A or B in local memory */
    bool blocks;       /* tensor cores: lines of more than 128 bytes are cut into blocks of that width in local memory,
                          which lie behind each other, as wgmma wants them */
    /*
     * Sums of columns (column_sums.c).
     *   - sums_columns returns whether the rows of such a tile can be those that row kernels add up first. NULL: none
     *     can.
     *   - put_addend puts what adds `addend`, an expression, to the sum of the column that vector w has at element e.
     *     NULL: it takes the place of the accumulator, which is not needed any more.
     */
    bool (*sums_columns)(const lfuse__product_class *p);
    void (*put_addend)(const lfuse__tiles *t, int indent, const char *addend);
    /* Solvers that compute operands: returns how many k-tiles ahead what these are computed of is loaded. */
    int (*loaded_ahead)(const lfuse__product_class *p);
    bool overlaps;     /* the kernel has HAND_OVER and BEGIN, for devices with facts.overlaps */
    /*
     * Returns the elements of local memory of a group, in units of the accumulators; of pipelines (mma.h) those of the
     * epilogue alone.
     */
    int (*local)(const lfuse__product_class *p);
    /*
     * The layout of accumulators: which of a tile's vectors a work-item has in its registers.
     *   - put_corner declares y and x, the first row and column in the tile of the work-item `place`, an expression.
     *   - put_place declares g, the number of one of its vectors, which is the expression `number`, and row and column
     *     in D of that vector.
     */
    void (*put_corner)(const lfuse__tiles *t, int indent, const char *place);
    void (*put_place)(const lfuse__tiles *t, int indent, const char *number);
    void (*put_kernel)(const lfuse__tiles *t, const char *name); /* puts the kernel of the class's phase */
    /*
     * Pipelines (mma.h): what multiplies.
     *   - running: products of a k-tile may not have ended when the next ones begin. Else sums are promoted.
     *   - multiplies returns NULL where the operands' types are its own; else why it declines, as `declines` of a
     *     solver.
     *   - put_part puts one of the LFUSE__PARTs that multiply.
     */
    bool running;
    const char *(*multiplies)(const lfuse__matmul_desc *desc);
    void (*put_part)(const void *t, int part, int indent);
} lfuse__tile_traits;

/* Pipelines (mma.h): how k-tiles of A and B come into local memory. `source` of a solver. */
typedef struct lfuse__tile_source {
    /*
     * Returns whether A or B comes by a tensor map: then the kernel has room for maps among its argument words, and a
     * warpgroup that copies the operand element by element where it has no map. NULL: none of them does.
     */
    bool (*by_map)(const lfuse__product_class *p, int operand);
    bool large;   /* it is for devices with room for large shapes alone */
    bool batches; /* it copies operands of batches */
    bool columns; /* it can copy rows of A in the order in which columns are summed (lfuse__pipeline_row) */
    int product;  /* the phase that multiplies */
    void (*put_part)(const void *t, int part, int indent); /* puts one of the LFUSE__PARTs that copy */
    void (*put_other)(const lfuse__tiles *t, const char *name); /* puts the kernel of another phase */
    /* Sets words and groups of a launch as `pack` of a solver does, of the product but for its groups. */
    lfuse_status (*pack)(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                         lfuse__packed *packed);
} lfuse__tile_source;

/* Returns whether the kernel has tensor maps. */
static inline bool lfuse__has_maps(const lfuse__product_class *p)
{
    return p->solver->source && p->solver->source->by_map;
}

/* Returns whether A or B (`operand`) comes by such a map. */
static inline bool lfuse__comes_by_map(const lfuse__product_class *p, int operand)
{
    return lfuse__has_maps(p) && p->solver->source->by_map(p, operand);
}

/*
 * stream_k.c: cuts the tiles c->down x c->across by stream-K among so many workers. Returns false where that gains
 * nothing, or where the kernel's numbers do not fit.
 */
bool lfuse__tiles_share(int64_t workers, lfuse__cut *c);
/*
 * tile_cost.c: the shapes of a solver.
 *   - lfuse__tiles_shape sets the solver and the tile to its shape of that number; false behind the last one.
 *   - lfuse__tiles_known returns whether the class has a tile of its solver.
 */
bool lfuse__tiles_shape(const lfuse__solver *solver, int number, lfuse__product_class *p);
bool lfuse__tiles_known(const lfuse__product_class *p);
/*
 * What simt and the solvers on tensor cores have in common (solver.h). Each of their shapes is three candidates: k
 * whole, split k, and stream-K. The first two shapes are compiled ahead. The cost is none where there are not
 * tickets enough for all tiles whose parts or column sums meet.
 */
bool lfuse__tile_candidate(const lfuse__solver *solver, int at, lfuse__product_class *p);
bool lfuse__tile_is_compiled_ahead(int at);
bool lfuse__tile_serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most);
bool lfuse__tile_cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, lfuse__cut *c);
/* Returns the cycles of a compute unit for an element of A or B that is computed; 0 where the operand is not. */
double lfuse__tiles_computing(const lfuse__product_class *p, const lfuse__costs *costs, int side);
/* Cuts a product for a geometry, whose `parts` prevails. Returns false where stream-K cannot cut these sizes. */
bool lfuse__tiles_cut(const lfuse__product_class *p, const lfuse__facts *facts, const lfuse__geometry *g,
                      lfuse__cut *cut);
/*
 * Returns whether a launch of so many groups lets the next one start early. It does where an equal launch fills the
 * compute units as evenly beside it as behind it.
 */
bool lfuse__tiles_hand_over(const lfuse__product_class *p, const lfuse__facts *facts, uint64_t groups);

/* tile.c: functions of a solver (solver.h), of which skinny has emit and pack alone. */
uint64_t lfuse__tiles_tickets(const lfuse__kernel_class *c);
uint64_t lfuse__tiles_workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g);
lfuse_status lfuse__tiles_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c,
                               const lfuse__facts *facts);
lfuse_status lfuse__tiles_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                               lfuse__packed *packed);
/* tile.c: sets what is launched. ERR_UNSUPPORTED: more groups than a launch can have. */
lfuse_status lfuse__tiles_launch(const lfuse__kernel_class *c, const lfuse__geometry *g, uint64_t groups,
                                 unsigned group, lfuse__packed *packed);
/* tile.c: returns the work-items of a group. */
int lfuse__tiles_threads(const lfuse__product_class *p);

/* Returns how many argument words are the solver's own, but for tensor maps. */
static inline int lfuse__tiles_own(const lfuse__product_class *p)
{
    return LFUSE__TILES_OWN + (p->column_sums > 0);
}

/*
 * Returns the argument word where the tensor map of A or B begins, in kernels that have maps: a multiple of 8 behind
 * the solver's own words, as a map lies at a multiple of 64 bytes.
 */
static inline int lfuse__tiles_map(const lfuse__product_class *p, const lfuse__product_layout *l, int operand)
{
    return (l->own + lfuse__tiles_own(p) + 7) / 8 * 8 + operand * LFUSE__TENSOR_MAP_WORDS;
}

/* Returns how many argument words a kernel has. */
static inline int lfuse__tiles_words(const lfuse__product_class *p, const lfuse__product_layout *l)
{
    if (lfuse__has_maps(p)) return lfuse__tiles_map(p, l, LFUSE__PRODUCT_B + 1);
    return l->own + lfuse__tiles_own(p);
}

struct lfuse__tiles {
    lfuse__text t;
    lfuse__product_layout l;
    const lfuse__product_class *p;
    int vector, threads;  /* elements of a vector; work-items of a group */
    int places;           /* work-items of a slice: threads = places x slices */
    int vectors;          /* of accumulators, in a tile */
    const char *sum;      /* the accumulators' type, as the dialect calls it */
    bool steps;           /* facts.steps */
    bool whole;           /* the epilogue that is put is for tiles that lie in D as a whole, and in vectors */
    bool overlaps;        /* facts.overlaps: the kernel has no BEGIN yet where its sums begin */
    int ahead;            /* sides for which what all rows share has been loaded (lfuse__tiles_put_ahead); 0: none */
    int row_step;         /* vectors of a pass have the same columns, in rows so far apart; 0: any places */
};

/*
 * Returns whether neighbours in the memory of A or B (`operand`) are neighbours along k: it is transposed on its way
 * into local memory.
 */
static inline bool lfuse__is_k_contiguous(const lfuse__product_class *p, int operand)
{
    return operand == LFUSE__PRODUCT_A ? !p->ta : p->tb;
}

/*
 * grouped_pack.c, of solvers that pack (grouped.h).
 *   - put_packed declares place_a, or place_b, of the member, and where that is not below 0, lets p<j> and the variable
 *     of its leading dimension be the copy's.
 *   - put_packer puts the kernel of the phase LFUSE__GROUPED_PACK.
 */
void lfuse__tiles_put_packed(const lfuse__tiles *t, int operand, int indent);
void lfuse__tiles_put_packer(const lfuse__tiles *t, const char *name);

/*
 * tile.c: parts of a kernel.
 *   - describe sets everything but `steps` and `overlaps`.
 *   - text_words and text_buffers return how many argument words and memory arguments the kernel has.
 *   - text_vectors returns an expression: the bits of LFUSE__TILES_VECTORS.
 *   - put_schedule puts text/gemm_schedule.k, or of lists put_member (tile_grouped.c): it declares the tile, or tiles,
 *     that the work-group computes. put_chunk_of_list is its part that the packer has, too.
 *   - put_k_part puts text/gemm_k_part.k: the k-tiles of a part of k.
 *   - put_operands declares p<j>, where the operands of the epilogue begin.
 *   - put_items declares `place` and `slice` of work-item `item`, and y and x, its first row and column in the tile.
 *   - put_band declares `down` and `across` of tile `number`, which is one of tiles_down x tiles_across. put_band_of
 *     takes expressions for these three, and for the quotients BY_BAND and BY_HIGH of text/gemm_band.k.
 */
void lfuse__tiles_describe(lfuse__tiles *t, lfuse__strbuf *out, const lfuse__kernel_class *c);
int lfuse__tiles_text_words(const lfuse__tiles *t);
int lfuse__tiles_text_buffers(const lfuse__tiles *t);
lfuse__expr lfuse__tiles_text_vectors(const lfuse__tiles *t);
void lfuse__tiles_put_schedule(const void *t, int which, int indent);
void lfuse__tiles_put_member(const lfuse__tiles *t);
void lfuse__tiles_put_chunk_of_list(const lfuse__tiles *t);
void lfuse__tiles_put_k_part(const void *t, int which, int indent);
void lfuse__tiles_put_operands(const void *t, int which, int indent);
void lfuse__tiles_put_items(const void *t, int which, int indent);
void lfuse__tiles_put_band(const void *t, int which, int indent);
void lfuse__tiles_put_band_of(const lfuse__tiles *t, int indent, const char *number, const char *tiles_down,
                              const char *tiles_across, const char *by_band, const char *by_high);

/*
 * simt.c: puts the loop over k-tiles. Afterwards acc[row * item_columns + column] holds the work-item's accumulators,
 * of its slice of k, and nobody reads local memory any more.
 */
void lfuse__tiles_put_sums(const void *t, int which, int indent);

/*
 * epilogue.c: what becomes of the accumulators.
 *   - put_vectors puts the epilogue of `vectors` vectors, w = 0 ...: `place` declares row and column, `sums` the vector
 *     v_. It is put_loads, what the epilogue reads of memory, and behind it in the same block put_bodies.
 *   - put_ahead puts loads of operands that all rows share into k<j>_, for each of t->ahead sides of the tile; b0 and x
 *     are in scope. Where t->ahead is set, put_loads and put_bodies take them from there: all vectors of a work-item
 *     have the same columns then, those of side `pass` % t->ahead.
 *   - put_epilogue puts the epilogue of all of a work-item's accumulators.
 *   - put_fold puts the body of a kernel that adds up the parts of k, and goes through the epilogue.
 */
enum {
    LFUSE__TILES_SHORT = 24,   /* bodies of so many instructions are written once for each vector; longer ones loop */
    LFUSE__TILES_AT_A_TIME = 4 /* vectors that such a loop loads together */
};
void lfuse__tiles_put_ahead(const lfuse__tiles *t, int indent);
void lfuse__tiles_put_loads(const lfuse__tiles *t, int indent, int vectors,
                            void (*place)(const lfuse__tiles *t, int indent));
void lfuse__tiles_put_bodies(const lfuse__tiles *t, int indent, int vectors,
                             void (*place)(const lfuse__tiles *t, int indent),
                             void (*sums)(const lfuse__tiles *t, int indent));
void lfuse__tiles_put_vectors(const lfuse__tiles *t, int indent, int vectors,
                              void (*place)(const lfuse__tiles *t, int indent),
                              void (*sums)(const lfuse__tiles *t, int indent));
void lfuse__tiles_put_epilogue(const lfuse__tiles *t, int indent);
void lfuse__tiles_put_fold(const lfuse__tiles *t);

/*
 * Returns the offset of element e within a vector of accumulators that is spilled to local memory or to the workspace,
 * to be read again: neighbours change places. A vector that is stored occupies consecutive registers, and so do the
 * elements of B. With this order an accumulator and the element of B that it is computed from lie in different register
 * banks; an H200 reads one register of each bank at a time.
 */
static inline int lfuse__spilled_offset(int e)
{
    return e ^ 1;
}

/*
 * column_sums.c: sums of the columns of what the epilogue computes.
 *   - tiles_sum_columns returns whether tiles of this class can. tiles_are_of_lanes is a function of the traits, of
 *     tiles whose work-items have eight rows each, as the lanes of row kernels.
 *   - tiles_apart returns how many tiles share a segment of a column of so many rows: the rows of a tile are so far
 *     apart. tiles_down returns how many tiles there are along m, tiles_cells the bytes that tiles pass on in the
 *     workspace.
 *   - text_part limits a text to what is made of the sums (`columns`), or to the rest.
 *   - tiles_row writes an expression: the row of D that row `r` is of the tile whose first row is `first`.
 *   - put_addend puts, behind the epilogue's body, the element's term of the sum: in vector `where` of acc, or, where
 *     that is NULL, in sum_; or where the solver's trait says. put_columns puts all that follows; `number`: vectors are
 *     numbered as in text/gemm_by_number.k.
 *   - put_all puts what adds up the cells of column `column` and what is made of the sum. In scope are `cells`, those
 *     of tile i down begin at element i * wide, `apart` and tiles_down.
 */
bool lfuse__tiles_sum_columns(const lfuse__product_class *p);
bool lfuse__tiles_are_of_lanes(const lfuse__product_class *p);
int64_t lfuse__tiles_apart(const lfuse__product_class *p, int64_t rows);
int64_t lfuse__tiles_down(const lfuse__product_class *p, int64_t rows);
uint64_t lfuse__tiles_cells(const lfuse__product_class *p, int64_t down, int64_t across);
void lfuse__tiles_text_part(lfuse__text *t, bool columns);
void lfuse__tiles_row(const lfuse__tiles *t, const char *first, const char *r, char *text, size_t size);
void lfuse__tiles_put_addend(const lfuse__tiles *t, int indent, const char *where);
void lfuse__tiles_put_columns(const lfuse__tiles *t, bool number);
void lfuse__tiles_put_all(const lfuse__tiles *t, int indent);

/*
 * prefetch.c: what the epilogue reads of memory.
 *   - put_prefetch puts text/gemm_prefetch.k where a group has all of a tile, and its epilogue reads matrices.
 *   - prefetches returns whether a launch of these sizes is to do so.
 */
void lfuse__tiles_put_prefetch(const void *t, int which, int indent);
bool lfuse__tiles_prefetches(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g);

/* ---- split_k.c ---- */
/* Puts what adds up slices and parts of k, and the epilogue behind. */
void lfuse__tiles_put_end(const void *t, int which, int indent);
/* Returns how many slices are left when the epilogue begins. One: its work-items have it; else all have a part. */
int lfuse__tiles_left(const lfuse__product_class *p);

#endif
