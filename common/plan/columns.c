/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/plan/lower.h"

/* More columns are worth a product: each costs a register and a pass over the row in registers. */
enum { MOST_COLUMNS = 8 };

bool lfuse__lower_is_small(const lfuse__lowering *l, const lfuse__node *matmul, const int32_t *in)
{
    return !(l->disable & LFUSE_NO_SMALL_PRODUCTS) && matmul->rank == 2 && matmul->shape[1] >= 1 &&
           matmul->shape[1] <= MOST_COLUMNS && lfuse__lower_computed(l, in[0]);
}

/* In the type in which sums are formed. */
static int32_t widened(lfuse__lowering *l, int32_t value, lfuse_type type)
{
    lfuse__node n = lfuse__lower_form(l, LFUSE__CAST, value);

    if (n.type == type) return value;
    n.type = (uint8_t)type;
    return lfuse__lower_node(l, &n, &value);
}

/* Column `at` of the right operand, as a row. */
static int32_t column(lfuse__lowering *l, int32_t right, int at)
{
    const int32_t one = lfuse__lower_slice(l, right, 1, at, 1);
    lfuse__node turn;

    if (one < 0) return -1;
    turn = lfuse__lower_form(l, LFUSE__PERMUTE, one);
    turn.naxes = 2;
    turn.axes[0] = 1;
    turn.axes[1] = 0;
    turn.shape[1] = turn.shape[0];
    turn.shape[0] = 1;
    return lfuse__lower_node(l, &turn, &one);
}

/* The product with one column, which has the shape of the left operand but for the last extent, 1. */
static int32_t with_column(lfuse__lowering *l, int32_t left, int32_t right, int at, lfuse_type type)
{
    int32_t in[2] = { left, column(l, right, at) };
    lfuse__node n;

    if (in[1] < 0) return -1;
    in[1] = widened(l, in[1], l->values[left].form.type);
    if (in[1] < 0) return -1;
    n = lfuse__lower_form(l, LFUSE__POINTWISE, left);
    n.op = LFUSE__OP_mul;
    n.nin = 2;
    in[0] = lfuse__lower_node(l, &n, in);
    if (in[0] < 0) return -1;
    n = lfuse__lower_form(l, LFUSE__REDUCE, in[0]);
    n.op = LFUSE__REDUCE_SUM;
    n.naxes = 1;
    n.axes[0] = (int8_t)(n.rank - 1);
    n.keepdims = true;
    n.shape[n.rank - 1] = 1;
    in[0] = lfuse__lower_node(l, &n, in);
    return in[0] < 0 ? -1 : widened(l, in[0], type);
}

/*
 * The left operand as it was before its first axes became one (lfuse_matmul does that to what has more than two): in
 * that shape its rows are those of the kernel that makes it.
 */
static int32_t before_reshape(lfuse__lowering *l, int32_t left)
{
    const int32_t node = l->values[left].node;
    const lfuse__node *x;
    int32_t from = node;

    while (from >= 0 && l->g->nodes[from].kind == LFUSE__RESHAPE) from = l->g->nodes[from].in[0];
    if (from == node) return left;
    x = &l->g->nodes[from];
    if (x->rank < 2 || x->shape[x->rank - 1] != l->g->nodes[node].shape[1]) return left;
    return lfuse__lower_value(l, from);
}

/* A product in the shape that the left operand had, in its own. */
static int32_t reshaped(lfuse__lowering *l, int32_t product, const lfuse__node *matmul)
{
    lfuse__node n;

    if (product < 0 || l->values[product].form.rank == 2) return product;
    n = lfuse__lower_form(l, LFUSE__RESHAPE, product);
    n.rank = 2;
    memset(n.shape, 0, sizeof n.shape);
    memcpy(n.shape, matmul->shape, 2 * sizeof *n.shape);
    return lfuse__lower_node(l, &n, &product);
}

int32_t lfuse__lower_columns(lfuse__lowering *l, const lfuse__node *matmul, const int32_t *in)
{
    const lfuse_type type = (lfuse_type)matmul->type, wide = type == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32;
    int32_t left = before_reshape(l, in[0]), both[2];
    lfuse__node n;
    int i;

    if (left >= 0) left = widened(l, left, wide);
    both[0] = left < 0 ? -1 : with_column(l, left, in[1], 0, type);
    for (i = 1; both[0] >= 0 && i < matmul->shape[1]; i++) {
        both[1] = with_column(l, left, in[1], i, type);
        if (both[1] < 0) return -1;
        n = lfuse__lower_form(l, LFUSE__CONCAT, both[0]);
        n.nin = 2;
        n.naxes = 1;
        n.axes[0] = (int8_t)(n.rank - 1);
        n.shape[n.rank - 1] = i + 1;
        both[0] = lfuse__lower_node(l, &n, both);
    }
    return reshaped(l, both[0], matmul);
}
