/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the solvers share in which a work-group computes a tile of D: simt, mma and skinny, on GPUs. In their texts p0
 * and p1 are A and B, p<j> the epilogue's operands; `item`, m, n, k are u32. A vector has 16 bytes of accumulators,
 * and as many elements of whatever type lies in memory.
 */
#ifndef COMMON_MATMUL_TILE_H
#define COMMON_MATMUL_TILE_H

#include "common/matmul/solver.h"

/* The solvers' own argument words. */
enum {
    LFUSE__TILES_DOWN,    /* tiles along m, */
    LFUSE__TILES_ACROSS,  /* and along n */
    LFUSE__TILES_PARTS,   /* of k; stream-K: workers */
    LFUSE__TILES_SHARED,  /* stream-K: how many tiles, the first ones, workers share out */
    LFUSE__TILES_VECTORS, /* bits 0, 1, 2: A, B, all epilogue operands that can lie in vectors are aligned so; and: */
    LFUSE__TILES_OWN,
    LFUSE__TILES_APART = LFUSE__TILES_OWN /* column sums, one word more: how far apart in D the rows of a tile are */
};
enum {
    LFUSE__TILES_EARLY = 8, /* B may be read before BEGIN, in kernels that overlap */
    LFUSE__TILES_HANDS = 16 /* HAND_OVER, CUDA's programmatic dependent launch: the next kernel may start when all
                               groups of this one run */
};
enum {
    LFUSE__TILES_BAND = 8,       /* consecutive groups take so many tiles along m, then go on along n, for the cache */
    LFUSE__TILES_TICKETS = 1024, /* tiles whose parts can meet in one launch */
    LFUSE__MOST_PARTS = 32,      /* of k */
    LFUSE__TILES_VECTOR = 16     /* bytes of accumulators in a vector */
};

static inline int lfuse__tiles_vector(const lfuse__product_class *p)
{
    return LFUSE__TILES_VECTOR / (int)lfuse__type_bytes(p->sum);
}

/* Returns x / each, rounded up. */
static inline int64_t lfuse__tiles_parts(int64_t x, int64_t each)
{
    return x / each + (x % each != 0);
}

/*
 * stream_k.c: cuts the tiles c->down x c->across by stream-K among so many workers. Returns false where that gains
 * nothing, or where the kernel's numbers do not fit.
 */
bool lfuse__tiles_share(int64_t workers, lfuse__cut *c);
/*
 * tile_cost.c: the table of tile shapes.
 *   - lfuse__tiles_shape sets the solver and the tile to the shape of that number; false behind the last one.
 *   - lfuse__tiles_known returns whether the class has a tile of the table.
 */
bool lfuse__tiles_shape(lfuse__product_class *p, int number);
bool lfuse__tiles_known(const lfuse__product_class *p);
/*
 * What simt and mma have in common of a solver (solver.h). Each of their shapes is three candidates: k whole, split k,
 * and stream-K. The first two shapes are compiled ahead. The cost is none where there are not tickets enough for all
 * tiles whose parts or column sums meet.
 */
bool lfuse__tile_candidate(const lfuse__solver *solver, int at, lfuse__product_class *p);
bool lfuse__tile_is_compiled_ahead(int at);
bool lfuse__tile_serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most);
bool lfuse__tile_cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, lfuse__cut *c);
/* Cuts a product for a geometry, whose `parts` prevails. Returns false where stream-K cannot cut these sizes. */
bool lfuse__tiles_cut(const lfuse__product_class *p, const lfuse__facts *facts, const lfuse__geometry *g,
                      lfuse__cut *cut);
/*
 * Returns whether a launch of so many groups lets the next one start early. It does where an equal launch fills the
 * compute units as evenly beside it as behind it.
 */
bool lfuse__tiles_hand_over(const lfuse__product_class *p, const lfuse__facts *facts, uint64_t groups);

/* tile.c: functions of a solver that all of them have in common. */
bool lfuse__tiles_run_on(const lfuse__facts *facts);
uint64_t lfuse__tiles_tickets(const lfuse__kernel_class *c);
uint64_t lfuse__tiles_workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g);
lfuse_status lfuse__tiles_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                               lfuse__packed *packed);
int lfuse__tiles_threads(const lfuse__product_class *p); /* work-items of a group */

/* Returns how many argument words are the solver's own. */
static inline int lfuse__tiles_own(const lfuse__product_class *p)
{
    return LFUSE__TILES_OWN + (p->column_sums > 0);
}

typedef struct lfuse__tiles {
    lfuse__text t;
    lfuse__product_layout l;
    const lfuse__product_class *p;
    int vector, threads;  /* elements of a vector; work-items of a group */
    int places;           /* work-items of a slice: threads = places x slices */
    int vectors;          /* of accumulators, in a tile */
    const char *sum;      /* the accumulators' type, as the dialect calls it */
    bool steps;           /* facts.steps */
    bool overlaps;        /* facts.overlaps: the kernel has no BEGIN yet where its sums begin */
} lfuse__tiles;

/* Returns the rows, and the columns, of a tile that a warp of mma computes. */
static inline int lfuse__mma_rows(const lfuse__product_class *p)
{
    return p->item_rows * 8;
}
static inline int lfuse__mma_columns(const lfuse__product_class *p)
{
    return p->item_columns * 4;
}

/* Returns whether neighbours in an operand's memory are neighbours along k: it is transposed on its way into local
 * memory. */
static inline bool lfuse__is_k_contiguous(const lfuse__product_class *p, int operand)
{
    return operand == LFUSE__PRODUCT_A ? !p->ta : p->tb;
}

/*
 * tile.c: parts of a kernel.
 *   - describe sets everything but the text; begin does so too, after it has checked the class, and puts powers.
 *   - put_schedule puts text/gemm_schedule.k, for a place of that name.
 *   - put_local declares local memory.
 *   - put_items declares `place` and `slice` of work-item `item`, and y and x, its first row and column in the tile.
 *   - put_corner declares y and x of the work-item `place`, an expression.
 *   - put_band declares `down` and `across` of tile `number`.
 */
void lfuse__tiles_describe(lfuse__tiles *t, lfuse__strbuf *out, const lfuse__kernel_class *c);
lfuse_status lfuse__tiles_begin(lfuse__tiles *t, lfuse__strbuf *out, const lfuse__kernel_class *c,
                                const lfuse__facts *facts);
void lfuse__tiles_put_schedule(const void *t, int which, int indent);
void lfuse__tiles_put_local(const lfuse__tiles *t);
void lfuse__tiles_put_items(const lfuse__tiles *t);
void lfuse__tiles_put_band(const lfuse__tiles *t, int indent, const char *number, const char *tiles_down,
                           const char *tiles_across);
void lfuse__tiles_put_corner(const lfuse__tiles *t, int indent, const char *place);

/*
 * simt.c: puts the loop over k-tiles. Afterwards acc[row * item_columns + column] holds the work-item's accumulators,
 * of its slice of k, and nobody reads local memory any more. lfuse__tiles_local returns the elements of local memory
 * that this takes, in units of the accumulators.
 */
void lfuse__tiles_put_sums(const lfuse__tiles *t);
static inline int lfuse__tiles_local(const lfuse__product_class *p)
{
    if (p->solver == &lfuse__mma) return (p->prefetch + 1) * p->depth * (p->rows + p->columns) / 2; /* of 16 bits */
    const int k_tiles = 2 * p->depth * (p->rows + p->columns), sums = p->slices / 2 * p->rows * p->columns;
    return k_tiles > sums ? k_tiles : sums;
}

/*
 * epilogue.c: what becomes of the accumulators.
 *   - put_vectors puts the epilogue of `vectors` vectors, w = 0 ...: `place` declares row and column, `sums` the vector
 *     v_.
 *   - put_place declares row and column of vector `g`, an expression, of a work-item at y, x.
 *   - put_epilogue puts the epilogue of all of a work-item's accumulators.
 *   - put_fold puts the body of a kernel that adds up the parts of k, and goes through the epilogue.
 */
enum {
    LFUSE__TILES_SHORT = 24,   /* bodies of so many instructions are written once for each vector; longer ones loop */
    LFUSE__TILES_AT_A_TIME = 4 /* vectors that such a loop loads together */
};
void lfuse__tiles_put_vectors(const lfuse__tiles *t, int indent, int vectors,
                              void (*place)(const lfuse__tiles *t, int indent),
                              void (*sums)(const lfuse__tiles *t, int indent));
void lfuse__tiles_put_place(const lfuse__tiles *t, int indent, const char *g);
void lfuse__tiles_put_epilogue(const lfuse__tiles *t, int indent);
void lfuse__tiles_put_fold(const lfuse__tiles *t);

/*
 * Returns the offset of element e within a vector of accumulators that is spilled to local memory or to the workspace,
 * to be read again: neighbours change places. A vector that is stored occupies consecutive registers, and so do the
 * elements of B. With this order an accumulator and the element of B that it is computed from lie in different register
 * banks; an H200 reads one register of each bank at a time. put_spilled declares down_, vector `w` of acc, in
 * this order.
 */
static inline int lfuse__spilled_offset(int e)
{
    return e ^ 1;
}
void lfuse__tiles_put_spilled(const lfuse__tiles *t, int indent, const char *w);

/* mma.c: as lfuse__tiles_put_corner and _put_place; the layout of fragments decides which accumulators a lane has. */
void lfuse__mma_put_corner(const lfuse__tiles *t, int indent, const char *place);
void lfuse__mma_put_place(const lfuse__tiles *t, int indent, const char *g);

/*
 * column_sums.c: sums of the columns of what the epilogue computes.
 *   - tiles_sum_columns returns whether tiles of this class can.
 *   - tiles_apart returns how many tiles share a segment of a column of so many rows: the rows of a tile are so far
 *     apart. tiles_down returns how many tiles there are along m, tiles_cells the bytes that tiles pass on in the
 *     workspace.
 *   - text_part limits a text to what is made of the sums (`columns`), or to the rest.
 *   - tiles_row writes an expression: the row of D that row `r` is of the tile whose first row is `first`.
 *   - put_addend puts, behind the epilogue's body, the element's term of the sum: in vector `where` of acc, or, where
 *     that is NULL, in sum_. put_columns puts all that follows; `number`: vectors are numbered as in
 *     text/gemm_by_number.k.
 */
bool lfuse__tiles_sum_columns(const lfuse__product_class *p);
int64_t lfuse__tiles_apart(const lfuse__product_class *p, int64_t rows);
int64_t lfuse__tiles_down(const lfuse__product_class *p, int64_t rows);
uint64_t lfuse__tiles_cells(const lfuse__product_class *p, int64_t down, int64_t across);
void lfuse__tiles_text_part(lfuse__text *t, bool columns);
void lfuse__tiles_row(const lfuse__tiles *t, const char *first, const char *r, char *text, size_t size);
void lfuse__tiles_put_addend(const lfuse__tiles *t, int indent, const char *where);
void lfuse__tiles_put_columns(const lfuse__tiles *t, bool number);

/* split_k.c: puts what adds up slices and parts of k, and the epilogue behind. */
void lfuse__tiles_put_end(const lfuse__tiles *t);

/*
 * Returns whether one side of D is so short that a work-item has all of it: all accumulators go through the workspace,
 * and a second launch adds up the parts.
 */
static inline bool lfuse__is_skinny(const lfuse__product_class *p)
{
    return p->solver == &lfuse__skinny;
}

#endif
