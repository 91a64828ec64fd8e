/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of ops.def as functions of long double: the reference and its derivatives, by LFUSE__OP_ number. */
#ifndef TESTS_SUPPORT_OPERATORS_H
#define TESTS_SUPPORT_OPERATORS_H

#include <tgmath.h>

#include "bench/derivative_words.h"
#include "common/graph/op.h"

typedef long double R;

#define LFUSE__OP(name, arity, klass, dialect, reference, ...)                                                         \
    static R reference_##name(R a, R b, R c)                                                                           \
    {                                                                                                                  \
        (void)a, (void)b, (void)c;                                                                                     \
        return reference;                                                                                              \
    }
#include "common/graph/ops.def"
#undef LFUSE__OP

#define LFUSE__OP(name, arity, klass, dialect, reference, ulp_f32, ulp_f64, da, db, dc, backward, ...)                 \
    static void derivative_##name(R A, R B, R C, R Y, R *d)                                                            \
    {                                                                                                                  \
        (void)A, (void)B, (void)C, (void)Y;                                                                            \
        d[0] = da, d[1] = db, d[2] = dc;                                                                               \
    }
#include "common/graph/ops.def"
#undef LFUSE__OP

/* The value at a, b, c; the derivatives there by each operand, of operands A, B, C with the value Y. */
static const struct {
    R (*reference)(R, R, R);
    void (*derivative)(R, R, R, R, R *);
} operators[LFUSE__OP_COUNT] = {
#define LFUSE__OP(name, ...) [LFUSE__OP_##name] = {reference_##name, derivative_##name},
#include "common/graph/ops.def"
#undef LFUSE__OP
};

#endif
