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
 * `fold` returns how elements are put together, `before` what is reduced of the operand, `after` what is returned of
 * the result v. `number` is that of a row with a number, any other row ignores it. FLOATING takes the operand in the
 * type that is computed in.
 */
typedef struct lfuse__reduction {
    lfuse__reduction_types types;
    const char *number; /* its name */
    lfuse__reduce (*fold)(double number);
    lfuse_value (*before)(const char *call, lfuse_value a, double number);
    lfuse_value (*after)(const char *call, lfuse_value a, unsigned set, lfuse_value v, double number);
} lfuse__reduction;

extern const lfuse__reduction lfuse__reductions[LFUSE__REDUCTION_COUNT];

/* Whether the number is one that reductions take; else the graph is poisoned. */
bool lfuse__reduction_takes_number(lfuse_graph *g, const char *call, const lfuse__reduction *r, double number);

/* Whether the result of a floating operand is rounded to the operand's type. */
static inline bool lfuse__reduction_rounds(const lfuse__reduction *r)
{
    return r->types == LFUSE__REDUCES_NUMBERS || r->types == LFUSE__REDUCES_FLOATING;
}

#endif
