/* SPDX-License-Identifier: Apache-2.0 */
/* The public reductions as a table, for those of tensors (reduce.c) and of lists (members.c). */
#ifndef COMMON_GRAPH_REDUCE_H
#define COMMON_GRAPH_REDUCE_H

#include "common/graph/compose.h"

typedef enum lfuse__reduction_types {
    LFUSE__REDUCES_NUMBERS,
    LFUSE__REDUCES_SAME,
    LFUSE__REDUCES_INDEX,
    LFUSE__REDUCES_TRUTH,
    LFUSE__REDUCES_COUNT,
    LFUSE__REDUCES_FLOATING
} lfuse__reduction_types;

typedef enum lfuse__reduction_name {
#define LFUSE__REDUCTION(name, ...) LFUSE__REDUCTION_##name,
#include "common/graph/reductions.def"
    LFUSE__REDUCTION_COUNT
} lfuse__reduction_name;

/*
 * A row. `number` is the number of a row that has one; the others ignore it.
 *   - `fold` returns how elements are put together.
 *   - `before` returns what of the operand is reduced; FLOATING takes the operand in the type in which it is computed.
 *   - `after` returns the function's result, where v is the reduction's.
 */
typedef struct lfuse__reduction {
    lfuse__reduction_types types;
    const char *number; /* the number's name */
    lfuse__reduce (*fold)(double number);
    lfuse_value (*before)(const char *call, lfuse_value a, double number);
    lfuse_value (*after)(const char *call, lfuse_value a, unsigned set, lfuse_value v, double number);
} lfuse__reduction;

extern const lfuse__reduction lfuse__reductions[LFUSE__REDUCTION_COUNT];

/* Whether reductions take the number, which is not NaN then; else the graph is poisoned. */
bool lfuse__reduction_takes_number(lfuse_graph *g, const char *call, const lfuse__reduction *r, double number);

/* Whether the result of an operand of a floating type is rounded to that type. */
static inline bool lfuse__reduction_rounds(const lfuse__reduction *r)
{
    return r->types == LFUSE__REDUCES_NUMBERS || r->types == LFUSE__REDUCES_FLOATING;
}

#endif
