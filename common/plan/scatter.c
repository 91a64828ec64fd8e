/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of few scattered rows, from what there is: row r of the result is the sum over all positions of what is added
 * where the index is r, and 0 elsewhere. So the order is that of the canonical sum over positions, the same in every
 * run, and there are no atomics. It fuses with what is around it and is one launch; the price is time: each of n rows
 * looks at every index and every element added, n times what a scatter moves. So where n is not small, or may not be,
 * this is left to a step that sorts the indices (scatter_step.c), with the same bits. Indices are looked up in the
 * numbers 1 ... n first, so that those out of range are reported and name no row.
 */
#include "common/graph/build.h"
#include "common/plan/draft.h"
#include "common/plan/lower.h"

static int32_t shaped(lfuse__lowering *l, int32_t value, lfuse_size a, lfuse_size b, lfuse_size c)
{
    return lfuse__lower_reshape(l, value, 3, (const lfuse_size[]){ a, b, c });
}

static int32_t constant(lfuse__lowering *l, double number, lfuse_type type)
{
    lfuse__node n = lfuse__build_node(LFUSE__CONSTANT, LFUSE_TYPE_NONE);

    n.number = number;
    n.cost = 1;
    return lfuse__lower_cast(l, lfuse__lower_node(l, &n, NULL), type);
}

static int32_t apply(lfuse__lowering *l, lfuse__op op, lfuse_type type, int rank, const lfuse_size *shape, int count,
                     const int32_t *in)
{
    lfuse__node n = lfuse__build_node(LFUSE__POINTWISE, type);

    n.op = (uint8_t)op;
    n.nin = (int8_t)count;
    lfuse__build_set_shape(&n, rank, shape);
    return lfuse__lower_node(l, &n, in);
}

/* 1 ... rows. */
static int32_t counted(lfuse__lowering *l, lfuse_size rows)
{
    lfuse__node n = lfuse__build_node(LFUSE__INDEX, LFUSE_I64);
    int32_t in[2];

    lfuse__build_set_shape(&n, 1, &rows);
    in[0] = lfuse__lower_node(l, &n, NULL);
    in[1] = constant(l, 1, LFUSE_I64);
    return apply(l, LFUSE__OP_add, LFUSE_I64, 1, n.shape, 2, in);
}

/* Of each position the number of its row; 0 where the index is out of range. */
static int32_t named(lfuse__lowering *l, int32_t numbers, int32_t indices, lfuse_size positions)
{
    const int32_t in[2] = { numbers, lfuse__lower_reshape(l, indices, 1, &positions) };
    lfuse__node n;

    if (numbers < 0) return -1;
    n = lfuse__lower_spec(l, LFUSE__GATHER, numbers);
    n.nin = 2;
    n.shape[0] = positions;
    return lfuse__lower_node(l, &n, in);
}

/* Sorting is some ten launches: worth it from about as many rows, and from so many pairs of a row and a position. */
enum { FEW_ROWS = 16, FEW_PAIRS = 1 << 18 };

static bool few(const lfuse__lowering *l, lfuse_size rows, lfuse_size positions)
{
    int64_t low, most_rows, most_positions, pairs;

    lfuse__size_bounds(l->g, rows, &low, &most_rows);
    lfuse__size_bounds(l->g, positions, &low, &most_positions);
    if (most_rows <= FEW_ROWS) return true;
    return !__builtin_mul_overflow(most_rows, most_positions, &pairs) && pairs <= FEW_PAIRS;
}

int32_t lfuse__lower_scatter(lfuse__lowering *l, const lfuse__node *scatter, const int32_t *in)
{
    const lfuse_size rows = scatter->shape[0];
    const lfuse__node indices = l->values[in[1]].spec;
    lfuse_size positions = 1, rest = 1, shape[3] = { rows, 0, 1 };
    const lfuse_type type = (lfuse_type)scatter->type;
    int32_t numbers, of[3], sum;
    int i;

    for (i = 0; i < indices.rank; i++) positions = lfuse__size_product(l->g, positions, indices.shape[i]);
    for (i = 1; i < scatter->rank; i++) rest = lfuse__size_product(l->g, rest, scatter->shape[i]);
    if (!few(l, rows, positions)) return lfuse__lower_append(l, scatter, in);
    shape[1] = positions;
    shape[2] = rest; /* of the comparison too: a narrower one would lie in memory */
    numbers = counted(l, rows);
    of[0] = shaped(l, numbers, rows, 1, 1);
    of[1] = shaped(l, named(l, numbers, in[1], positions), 1, positions, 1);
    of[0] = apply(l, LFUSE__OP_eq, LFUSE_BOOL, 3, shape, 2, of);
    of[1] = shaped(l, in[0], 1, positions, rest);
    of[2] = constant(l, 0, type);
    sum = lfuse__lower_sum(l, apply(l, LFUSE__OP_where, type, 3, shape, 3, of), 1, false,
                           lfuse__reduce_type(LFUSE__REDUCE_SUM, type));
    return lfuse__lower_reshape(l, lfuse__lower_cast(l, sum, type), scatter->rank, scatter->shape);
}
