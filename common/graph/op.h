/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of pointwise operators and of folds, expanded from ops.def, reductions.def and scans.def. */
#ifndef COMMON_GRAPH_OP_H
#define COMMON_GRAPH_OP_H

#include <stdbool.h>

#include "common/base/half.h"

#define LFUSE__TYPES (LFUSE_E5M2 + 1) /* every lfuse_type is less */

static inline bool lfuse__is_floating(lfuse_type t)
{
    return t == LFUSE_F32 || t == LFUSE_F64 || lfuse__is_narrow(t);
}

/* Whether arithmetic of the type wraps; that of bool does not. */
static inline bool lfuse__is_integer(lfuse_type t)
{
    return t == LFUSE_I32 || t == LFUSE_I64 || t == LFUSE_I8 || t == LFUSE_U8;
}

typedef enum lfuse__op {
#define LFUSE__OP(name, ...) LFUSE__OP_##name,
#include "common/graph/ops.def"
#undef LFUSE__OP
    LFUSE__OP_COUNT
} lfuse__op;

/* The folds of reductions (reductions.def), then those of scans (scans.def), which keep what each element gives. */
typedef enum lfuse__reduce {
#define LFUSE__FOLD(name, ...) LFUSE__REDUCE_##name,
#include "common/graph/reductions.def"
    LFUSE__REDUCE_COUNT, /* of reductions */
#define LFUSE__SCAN(name, ...) LFUSE__SCAN_##name,
#include "common/graph/scans.def"
#undef LFUSE__SCAN
    LFUSE__FOLD_COUNT
} lfuse__reduce;

typedef enum lfuse__fold_type { LFUSE__FOLD_WIDE, LFUSE__FOLD_SAME, LFUSE__FOLD_INDEX } lfuse__fold_type;
typedef enum lfuse__identity {
    LFUSE__IDENTITY_ZERO,
    LFUSE__IDENTITY_ONE,
    LFUSE__IDENTITY_LOWEST,
    LFUSE__IDENTITY_HIGHEST
} lfuse__identity;

typedef struct lfuse__fold_row {
    const char *name, *of_members, *of_lists, *of_lines; /* in the text of graphs */
    const char *word;         /* in the text of plans */
    lfuse__fold_type type;    /* of the result */
    const char *combine;      /* the dialect's word that puts two values together */
    lfuse__identity identity; /* what absent elements are */
} lfuse__fold_row;

extern const lfuse__fold_row lfuse__folds[LFUSE__FOLD_COUNT]; /* a scan's row has its name, its word and SAME alone */
/* Returns the operator by which a scan puts elements together. */
lfuse__op lfuse__scan_op(lfuse__reduce scan);

/* Whether `op` is an lfuse__reduce that has a row. */
static inline bool lfuse__is_fold(int op)
{
    return op >= 0 && op < LFUSE__FOLD_COUNT && op != LFUSE__REDUCE_COUNT;
}

/* Whether a reduction of no elements is refused. */
static inline bool lfuse__reduce_needs_elements(lfuse__reduce op)
{
    return lfuse__folds[op].identity >= LFUSE__IDENTITY_LOWEST;
}

typedef enum lfuse__op_class {
    LFUSE__CLASS_NUMERIC,  /* every type but bool; result of the same type */
    LFUSE__CLASS_FLOATING, /* floating types; result of the same type */
    LFUSE__CLASS_COMPARE,  /* two of one type (eq and ne: bool too); result bool */
    LFUSE__CLASS_SELECT,   /* bool, T, T; result T, any type */
    LFUSE__CLASS_PREDICATE, /* of one floating type; result bool */
    LFUSE__CLASS_LOGIC,    /* of bool; result bool */
    LFUSE__CLASS_INTEGER,  /* i8 u8 i32 i64; result of the same type. No numbers without a type */
    LFUSE__CLASS_RANDOM    /* of i64; result i32. No numbers without a type */
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

/* Whether `op` takes operands of the type, which is that of the two choices of a selection. */
bool lfuse__op_takes(lfuse__op op, lfuse_type type);
/* Returns the type of the result of operands of the type. */
lfuse_type lfuse__op_result(lfuse__op op, lfuse_type type);
/* Returns how many simple operations the operator takes on a device. */
double lfuse__op_weight(lfuse__op op);
/* Whether the result has a type that is not the operands'. */
bool lfuse__op_retypes(lfuse__op op);

#endif
