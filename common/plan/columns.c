/* SPDX-License-Identifier: Apache-2.0 */
#include "common/graph/build.h"
#include "common/plan/lower.h"

/* More columns are worth a product: each costs a register and a pass over the row in registers. */
enum { MOST_COLUMNS = 8 };

bool lfuse__lower_is_small(const lfuse__lowering *l, const lfuse__node *matmul, const int32_t *in)
{
    return !(l->disable & LFUSE_NO_SMALL_PRODUCTS) && matmul->rank == 2 && matmul->shape[1] >= 1 &&
           matmul->shape[1] <= MOST_COLUMNS && lfuse__lower_computed(l, in[0]);
}

/* Column `at` of the right operand, as a row. */
static int32_t column(lfuse__lowering *l, int32_t right, int at)
{
    const int32_t one = lfuse__lower_slice(l, right, 1, at, 1);
    lfuse__node turn;

    if (one < 0) return -1;
    turn = lfuse__lower_spec(l, LFUSE__PERMUTE, one);
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
    lfuse__node n = lfuse__lower_spec(l, LFUSE__POINTWISE, left);
    const lfuse_type wide = (lfuse_type)n.type;
    const int32_t in[2] = { left, lfuse__lower_cast(l, column(l, right, at), wide) };
    int32_t product;

    n.op = LFUSE__OP_mul;
    n.nin = 2;
    product = lfuse__lower_node(l, &n, in);
    return lfuse__lower_cast(l, lfuse__lower_sum(l, product, n.rank - 1, true, wide), type);
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

int32_t lfuse__lower_columns(lfuse__lowering *l, const lfuse__node *matmul, const int32_t *in)
{
    const lfuse_type type = (lfuse_type)matmul->type, wide = type == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32;
    const int32_t left = lfuse__lower_cast(l, before_reshape(l, in[0]), wide);
    int32_t both[2];
    lfuse__node n;
    int i;

    both[0] = left < 0 ? -1 : with_column(l, left, in[1], 0, type);
    for (i = 1; both[0] >= 0 && i < matmul->shape[1]; i++) {
        both[1] = with_column(l, left, in[1], i, type);
        n = lfuse__lower_spec(l, LFUSE__CONCAT, both[0]);
        n.nin = 2;
        lfuse__build_set_axis(&n, n.rank - 1);
        n.shape[n.rank - 1] = i + 1;
        both[0] = lfuse__lower_node(l, &n, both);
    }
    return both[0] < 0 || l->values[both[0]].spec.rank == 2 ? both[0]
                                                            : lfuse__lower_reshape(l, both[0], 2, matmul->shape);
}
