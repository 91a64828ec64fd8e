/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on GPUs: what its files share. Names in the texts: p0, p1 are A and B, p<j> the epilogue's operands; `item`,
 * m, n, k are u32; vectors are of V elements, 16 bytes of sums.
 */
#ifndef COMMON_KERNELS_PRODUCT_TILES_H
#define COMMON_KERNELS_PRODUCT_TILES_H

#include "common/kernels/product.h"

/* Words behind the common ones. */
enum {
    LFUSE__TILES_DOWN,    /* tiles, and across */
    LFUSE__TILES_ACROSS,
    LFUSE__TILES_PARTS,   /* of k */
    LFUSE__TILES_VECTORS, /* bits: A, B, and all of the epilogue's that lie in vectors, can be accessed so */
    LFUSE__TILES_OWN
};
enum { LFUSE__TILES_BAND = 8 /* tiles down that are neighbours in time, for the cache */ };

typedef struct lfuse__tiles {
    lfuse__text t;
    lfuse__product_layout l;
    const lfuse__product_class *p;
    int vector, threads;
    const char *sum;      /* word of the type */
} lfuse__tiles;

/* Whether an operand's memory runs along k, so that it is turned round on its way into local memory. */
static inline bool lfuse__tiles_turned(const lfuse__product_class *p, int operand)
{
    return operand == LFUSE__PRODUCT_A ? !p->ta : p->tb;
}

/* product_tiles.c: all of it but the text; local memory; x and y of `item`; down and across of tile `number`. */
void lfuse__tiles_describe(lfuse__tiles *t, lfuse__strbuf *out, const lfuse__kernel_class *c);
void lfuse__tiles_put_local(const lfuse__tiles *t);
void lfuse__tiles_put_items(const lfuse__tiles *t);
void lfuse__tiles_put_band(const lfuse__tiles *t, int indent, const char *number, const char *tiles_down,
                           const char *tiles_across);
/* `item`, and of a batch `matrix`, of which groups have `each` (an expression); `group` in that. */
void lfuse__tiles_put_group(const lfuse__tiles *t, const char *each);

/* product_tiles_sums.c: the sums acc[row * item_columns + column] of a work-item; in scope afterwards. */
void lfuse__tiles_put_sums(const lfuse__tiles *t);

/*
 * product_tiles_end.c: what becomes of sums. `to_workspace`: they are stored as they are; else the epilogue. `fold`: a
 * kernel that adds up the parts' sums of V elements, and goes through the epilogue.
 */
void lfuse__tiles_put_partial(const lfuse__tiles *t);
/* `space`: the sums of the product's parts in the workspace; `wide`: the name of the vectors of a row. */
void lfuse__tiles_put_space(const lfuse__tiles *t, const char *wide);
void lfuse__tiles_put_epilogue(const lfuse__tiles *t);
void lfuse__tiles_put_fold(const lfuse__tiles *t);

/*
 * product_thin.c: phase 0 of a product one of whose sides a work-item has as a whole; all of it goes through the
 * workspace. Columns (or rows) of a group of the wide operand, and the depth of a slab.
 */
static inline bool lfuse__is_thin(const lfuse__product_class *p)
{
    return p->rows == p->item_rows || p->columns == p->item_columns;
}
int lfuse__thin_width(const lfuse__product_class *p, int wide, int vector);
int lfuse__thin_depth(const lfuse__product_class *p, int wide, int vector);
void lfuse__thin_put(const lfuse__tiles *t, const char *name);

#endif
