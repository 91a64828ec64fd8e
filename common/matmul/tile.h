/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on GPUs: what its files share. Names in the texts: p0, p1 are A and B, p<j> the epilogue's operands; `item`,
 * m, n, k are u32; vectors are of V elements, 16 bytes of sums.
 */
#ifndef COMMON_MATMUL_TILE_H
#define COMMON_MATMUL_TILE_H

#include "common/matmul/solver.h"

/* Words behind the common ones. */
enum {
    LFUSE__TILES_DOWN,    /* tiles, and across */
    LFUSE__TILES_ACROSS,
    LFUSE__TILES_PARTS,   /* of k; of tiles that are shared out: workers */
    LFUSE__TILES_SHARED,  /* those tiles, the first ones */
    LFUSE__TILES_VECTORS, /* bits: A, B, and all of the epilogue's that lie in vectors, can be accessed so; and: */
    LFUSE__TILES_OWN,
    LFUSE__TILES_APART = LFUSE__TILES_OWN /* where columns are summed one word more: rows of a tile are so far apart */
};
enum {
    LFUSE__TILES_EARLY = 8, /* B may be read before BEGIN, in kernels that overlap */
    LFUSE__TILES_HANDS = 16 /* the next launch may come up as soon as all groups of this one are there: HAND_OVER */
};
enum {
    LFUSE__TILES_BAND = 8, /* tiles down that are neighbours in time, for the cache */
    LFUSE__TILES_TICKETS = 1024, /* tiles whose parts meet in one launch */
    LFUSE__TILES_START = 4800,   /* cycles of a launch beside its groups' products */
    LFUSE__TILES_MEETING = 1750, /* of groups that meet */
    LFUSE__TILES_BYTES = 16,     /* that a unit moves in one */
    LFUSE__MOST_PARTS = 32
};

enum { LFUSE__TILES_VECTOR = 16 /* bytes */ };

static inline int lfuse__tiles_vector(const lfuse__product_class *p)
{
    return LFUSE__TILES_VECTOR / (int)lfuse__type_bytes(p->sum);
}

static inline int64_t lfuse__tiles_parts(int64_t x, int64_t each)
{
    return x / each + (x % each != 0);
}

/*
 * stream_k.c: shares out the tiles of `down` and `across`; false where that gains nothing, or its numbers
 * do not fit.
 */
bool lfuse__tiles_share(int64_t workers, lfuse__cut *c);
/*
 * tile_cost.c: the rows of tile shapes by number. Whether a shape is known, and has work-items of many rows, which are
 * slower than the cost model says in batches and with stream-K.
 */
enum { LFUSE__TILES_SHAPES = 17 };
void lfuse__tiles_shape(lfuse__product_class *p, int number);
bool lfuse__tiles_known(const lfuse__product_class *p);
bool lfuse__tiles_have_many_rows(const lfuse__product_class *p);
/*
 * What simt and mma have in common of a solver (solver.h): every shape of theirs, in whole, with split k and by
 * stream-K; the first two shapes are compiled ahead. A cut needs tickets for all tiles whose parts or sums meet.
 */
bool lfuse__tile_candidate(const lfuse__solver *solver, int at, lfuse__product_class *p);
bool lfuse__tile_is_compiled_ahead(int at);
bool lfuse__tile_serves(const lfuse__product_class *p);
bool lfuse__tile_cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, lfuse__cut *c);
/* The same for a geometry; false: a class whose tiles are shared out, where they cannot be of these sizes. */
bool lfuse__tiles_cut(const lfuse__product_class *p, const lfuse__facts *facts, const lfuse__geometry *g,
                      lfuse__cut *cut);
/*
 * Whether so many groups let the next launch come up beside them: where the groups of that, if they are as many, find
 * room as evenly as they would afterwards.
 */
bool lfuse__tiles_hand_over(const lfuse__product_class *p, const lfuse__facts *facts, uint64_t groups);

/* tile.c: what the solvers by tiles have in common. */
bool lfuse__tiles_run_on(const lfuse__facts *facts);
uint64_t lfuse__tiles_tickets(const lfuse__kernel_class *c);
uint64_t lfuse__tiles_workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g);
lfuse_status lfuse__tiles_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                               lfuse__packed *packed);
int lfuse__tiles_threads(const lfuse__product_class *p); /* work-items of a group */

/* Argument words of its own. */
static inline int lfuse__tiles_own(const lfuse__product_class *p)
{
    return LFUSE__TILES_OWN + (p->summed > 0);
}

typedef struct lfuse__tiles {
    lfuse__text t;
    lfuse__product_layout l;
    const lfuse__product_class *p;
    int vector, threads;
    int places;           /* work-items of a slice: threads is so many times slices */
    int vectors;          /* of the sums of a tile */
    const char *sum;      /* word of the type */
    bool steps;           /* facts.steps */
    bool overlaps;        /* facts.overlaps: the kernel has no BEGIN yet where its sums begin */
} lfuse__tiles;

/* Of products on units for matrices: rows and columns that a team of 32 work-items computes. */
static inline int lfuse__units_rows(const lfuse__product_class *p)
{
    return p->item_rows * 8;
}
static inline int lfuse__units_columns(const lfuse__product_class *p)
{
    return p->item_columns * 4;
}

/* Whether an operand's memory runs along k, so that it is turned round on its way into local memory. */
static inline bool lfuse__tiles_turned(const lfuse__product_class *p, int operand)
{
    return operand == LFUSE__PRODUCT_A ? !p->ta : p->tb;
}

/*
 * tile.c: all of it but the text; text/gemm_schedule.k, for a place of that name; local memory; place and
 * slice of `item`, y and x; down and across of tile `number`.
 */
void lfuse__tiles_describe(lfuse__tiles *t, lfuse__strbuf *out, const lfuse__kernel_class *c);
lfuse_status lfuse__tiles_begin(lfuse__tiles *t, lfuse__strbuf *out, const lfuse__kernel_class *c,
                                const lfuse__facts *facts); /* the class is checked, too */
void lfuse__tiles_put_schedule(const void *t, int which, int indent);
void lfuse__tiles_put_local(const lfuse__tiles *t);
void lfuse__tiles_put_items(const lfuse__tiles *t);
void lfuse__tiles_put_band(const lfuse__tiles *t, int indent, const char *number, const char *tiles_down,
                           const char *tiles_across);

/* tile.c: where work-item `place` (a u32 in scope) of a slice stands in the tile: y, x. */
void lfuse__tiles_put_corner(const lfuse__tiles *t, int indent, const char *place);

/*
 * simt.c: the sums acc[row * item_columns + column] of a work-item, of its slice; in scope afterwards,
 * when nobody reads local memory any more. Elements of the TILE that it takes.
 */
void lfuse__tiles_put_sums(const lfuse__tiles *t);
static inline int lfuse__tiles_local(const lfuse__product_class *p)
{
    if (p->solver == &lfuse__mma) return (p->ahead + 1) * p->depth * (p->rows + p->columns) / 2; /* of 16 bits */
    const int slabs = 2 * p->depth * (p->rows + p->columns), sums = p->slices / 2 * p->rows * p->columns;
    return slabs > sums ? slabs : sums;
}

/*
 * epilogue.c: what becomes of the sums of a tile. `vectors` of them, w = 0 ...: `place` sets row and column,
 * `sums` v_; row and column of vector `g` (an expression) of a work-item, whose corner is y, x; the epilogue of a
 * work-item's registers; and a kernel that adds up the parts' sums of V elements, and goes through the epilogue.
 */
enum {
    LFUSE__TILES_SHORT = 24,    /* instructions of a body that every sum may have a copy of */
    LFUSE__TILES_AT_A_TIME = 4  /* vectors */
};
void lfuse__tiles_put_vectors(const lfuse__tiles *t, int indent, int vectors,
                              void (*place)(const lfuse__tiles *t, int indent),
                              void (*sums)(const lfuse__tiles *t, int indent));
void lfuse__tiles_put_place(const lfuse__tiles *t, int indent, const char *g);
void lfuse__tiles_put_epilogue(const lfuse__tiles *t, int indent);
void lfuse__tiles_put_fold(const lfuse__tiles *t);

/*
 * Where element e of a vector of sums stands that is put down, to be read again, in local memory or the workspace: its
 * neighbours change places. A vector that is loaded or stored has registers that follow each other; so have the sums,
 * where they are put down, and the elements of B that they are computed from. This way a sum and its factor lie in
 * different banks of registers, of which an H200 reads one register each at a time. The text's down_ is vector `w` of
 * acc, put so.
 */
static inline int lfuse__tiles_put_down(int e)
{
    return e ^ 1;
}
void lfuse__tiles_put_acc(const lfuse__tiles *t, int indent, const char *w);

/*
 * The kernel of products on units for matrices. Vectors of sums lie elsewhere in the tile than those of
 * simt.c: y, x of `place`; row and column of vector `g`.
 */
void lfuse__units_put_corner(const lfuse__tiles *t, int indent, const char *place);
void lfuse__units_put_place(const lfuse__tiles *t, int indent, const char *g);

/*
 * column_sums.c: sums of the columns of what the epilogue makes. Whether tiles can; how many tiles share a
 * segment of so many rows, whose rows are so far apart; tiles down; bytes that such tiles pass on in the workspace. The
 * text: of the epilogue without what is made of the sum (`columns`: of that alone); where row `r` of the tile whose
 * first row is `first` stands in the matrix; the element's part in the sum, behind the epilogue's body, in vector
 * `where` of acc, or (NULL) in sum_; and all that follows. `number`: a work-item's vectors are those of put_by_number.
 */
bool lfuse__tiles_sum_columns(const lfuse__product_class *p);
int64_t lfuse__tiles_apart(const lfuse__product_class *p, int64_t rows);
int64_t lfuse__tiles_down(const lfuse__product_class *p, int64_t rows);
uint64_t lfuse__tiles_cells(const lfuse__product_class *p, int64_t down, int64_t across);
void lfuse__tiles_text_part(lfuse__text *t, bool columns);
void lfuse__tiles_row(const lfuse__tiles *t, const char *first, const char *r, char *text, size_t size);
void lfuse__tiles_put_addend(const lfuse__tiles *t, int indent, const char *where);
void lfuse__tiles_put_columns(const lfuse__tiles *t, bool number);

/* split_k.c: the sums of slices and parts are added, and go through the epilogue. */
void lfuse__tiles_put_end(const lfuse__tiles *t);

/*
 * skinny.c: phase 0 of a product one of whose sides a work-item has as a whole; all of it goes through the
 * workspace. Columns (or rows) of a group of the wide operand, and the depth of a slab.
 */
static inline bool lfuse__is_thin(const lfuse__product_class *p)
{
    return p->solver == &lfuse__skinny;
}
int lfuse__thin_width(const lfuse__product_class *p, int wide, int vector);
int lfuse__thin_depth(const lfuse__product_class *p, int wide, int vector);

#endif
