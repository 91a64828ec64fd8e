/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes, room, and walks over elements. */
#include <stdlib.h>

#include "bench/oracle_internal.h"
#include "common/base/error.h"

lfuse_status lfuse__oracle_allocate(lfuse__values *a)
{
    a->x = malloc((size_t)(a->count ? a->count : 1) * sizeof *a->x);
    if (!a->x) return lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for %lld elements", (long long)a->count);
    return LFUSE_OK;
}

lfuse_status lfuse__oracle_not_by_rows(const char *what)
{
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "oracle: rows cannot be selected through %s", what);
}

/* Shape and room of a tensor; rows: its leading axis is the selected one. */
lfuse_status lfuse__oracle_shape(lfuse__oracle *s, const lfuse__node *n, bool rows, lfuse__values *a)
{
    int i;

    a->rank = n->rank;
    a->rows = rows;
    a->count = 1;
    for (i = 0; i < n->rank; i++) {
        if (rows && i == 0)
            a->shape[i] = s->options->nrows;
        else
            LFUSE__TRY(lfuse__size_evaluate(s->g, n->shape[i], s->sizes, &a->shape[i]));
        if (__builtin_mul_overflow(a->count, a->shape[i], &a->count) || a->count > INT64_MAX / 64)
            return lfuse__error(LFUSE_ERR_OVERFLOW, "oracle: too many elements");
    }
    return lfuse__oracle_allocate(a);
}

/* Elements to step over when an axis of the result advances: 0 where the operand repeats. */
void lfuse__oracle_steps(const lfuse__values *result, const lfuse__values *o, int64_t *step)
{
    int64_t stride = 1;
    int axis, own;

    for (axis = result->rank - 1; axis >= 0; axis--) {
        own = axis - (result->rank - o->rank);
        step[axis] = own < 0 || o->shape[own] == 1 ? 0 : stride;
        if (own >= 0) stride *= o->shape[own];
    }
}

/* The next index in row-major order, and where operands stand then. */
void lfuse__oracle_advance(const lfuse__values *result, int operands, int64_t (*step)[LFUSE_MAX_RANK], int64_t *index,
                           int64_t *at)
{
    int axis, k;

    for (axis = result->rank - 1; axis >= 0; axis--) {
        for (k = 0; k < operands; k++) at[k] += step[k][axis];
        if (++index[axis] < result->shape[axis]) return;
        for (k = 0; k < operands; k++) at[k] -= step[k][axis] * index[axis];
        index[axis] = 0;
    }
}
