/* SPDX-License-Identifier: Apache-2.0 */
/* The table of pointwise operators, expanded from ops.def: see there for the columns. */
#ifndef COMMON_GRAPH_OP_H
#define COMMON_GRAPH_OP_H

#include "libfuse/types.h"

typedef enum lfuse__op {
#define LFUSE__OP(name, ...) LFUSE__OP_##name,
#include "common/graph/ops.def"
#undef LFUSE__OP
    LFUSE__OP_COUNT
} lfuse__op;

typedef enum lfuse__op_class {
    LFUSE__CLASS_NUMERIC,  /* every type but bool; result of the same type */
    LFUSE__CLASS_FLOATING, /* f32 f16 bf16 f64; result of the same type */
    LFUSE__CLASS_COMPARE,  /* two of one type (eq and ne: bool too); result bool */
    LFUSE__CLASS_SELECT    /* bool, T, T; result T, any type */
} lfuse__op_class;

typedef struct lfuse__op_row {
    const char *name;
    int arity;
    lfuse__op_class klass;
    const char *dialect; /* expression over the registers A, B, C in the words of the dialect */
    double ulp_f32, ulp_f64; /* error bound of the dialect text; 0: correctly rounded (D3) */
    double backward;         /* and what inner roundings add: ops.def says how */
} lfuse__op_row;

extern const lfuse__op_row lfuse__ops[LFUSE__OP_COUNT];

#endif
