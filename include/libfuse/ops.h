/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The functions that make values of values: here the pointwise ones, casts and products; views.h, reduce.h and norm.h,
 * which this includes, have the others.
 *
 * Pointwise functions broadcast as numpy does: shapes are aligned at their last axis and a literal extent of 1 (or a
 * missing axis) repeats. A size variable never broadcasts. Operands have one type, except that numbers (constants,
 * scalars, values of rank 0) take the type of the tensor beside them; there is no other promotion. Lists go with lists
 * that have the same members' sizes, and with numbers.
 *
 * f16 and bf16 are storage: the arithmetic is f32 and rounds when stored or cast. Floating functions need a floating
 * type. NaN propagates through every arithmetic function, min, max, relu and clamp included; payloads are not promised.
 * Each function's error in ulp of f32 and f64 is in the table common/graph/ops.def, which the tests hold it to.
 */
#ifndef LIBFUSE_OPS_H
#define LIBFUSE_OPS_H

#include <libfuse/graph.h>
#include <libfuse/norm.h>
#include <libfuse/reduce.h>
#include <libfuse/views.h>

LFUSE_BEGIN_DECLS

/* Arithmetic. Integers wrap; integer division truncates, and gives 0 where the divisor is 0. */
LFUSE_API lfuse_value lfuse_add(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_sub(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_mul(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_div(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_neg(lfuse_value a);
LFUSE_API lfuse_value lfuse_abs(lfuse_value a);
/** (a < b || a != a) ? a : b */
LFUSE_API lfuse_value lfuse_min(lfuse_value a, lfuse_value b);
/** (a > b || a != a) ? a : b */
LFUSE_API lfuse_value lfuse_max(lfuse_value a, lfuse_value b);
/** a * b + c with one rounding. Floating types. */
LFUSE_API lfuse_value lfuse_fma(lfuse_value a, lfuse_value b, lfuse_value c);

/* Floating functions. */
LFUSE_API lfuse_value lfuse_sqrt(lfuse_value a);
LFUSE_API lfuse_value lfuse_rsqrt(lfuse_value a);
LFUSE_API lfuse_value lfuse_reciprocal(lfuse_value a);
LFUSE_API lfuse_value lfuse_exp(lfuse_value a);
LFUSE_API lfuse_value lfuse_expm1(lfuse_value a);
LFUSE_API lfuse_value lfuse_log(lfuse_value a);
LFUSE_API lfuse_value lfuse_log1p(lfuse_value a);
LFUSE_API lfuse_value lfuse_sin(lfuse_value a);
LFUSE_API lfuse_value lfuse_cos(lfuse_value a);
LFUSE_API lfuse_value lfuse_tanh(lfuse_value a);
LFUSE_API lfuse_value lfuse_erf(lfuse_value a);
LFUSE_API lfuse_value lfuse_pow(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_floor(lfuse_value a);
LFUSE_API lfuse_value lfuse_ceil(lfuse_value a);
/** To the nearest integer, halves to even. */
LFUSE_API lfuse_value lfuse_round(lfuse_value a);

/* Activations. */
/** 1 / (1 + exp(-a)) */
LFUSE_API lfuse_value lfuse_sigmoid(lfuse_value a);
/** max(a, 0) by the rule of lfuse_max: -0 gives 0. Integers too. */
LFUSE_API lfuse_value lfuse_relu(lfuse_value a);
/** a > 0 ? a : slope * a */
LFUSE_API lfuse_value lfuse_leaky_relu(lfuse_value a, lfuse_value slope);
/** a / 2 * erfc(-a / sqrt(2)) */
LFUSE_API lfuse_value lfuse_gelu(lfuse_value a);
/** a * sigmoid(2 u), u = sqrt(2 / pi) (a + 0.044715 a^3), which is a / 2 (1 + tanh(u)) */
LFUSE_API lfuse_value lfuse_gelu_tanh(lfuse_value a);
/** a * sigmoid(a) */
LFUSE_API lfuse_value lfuse_silu(lfuse_value a);
/** log(1 + exp(a)), computed as max(a, 0) + log1p(exp(-|a|)) */
LFUSE_API lfuse_value lfuse_softplus(lfuse_value a);
/** min(max(a, low), high) by the rules of lfuse_min and lfuse_max */
LFUSE_API lfuse_value lfuse_clamp(lfuse_value a, lfuse_value low, lfuse_value high);

/* Comparison (result bool; with a NaN all are false but ne) and selection. */
LFUSE_API lfuse_value lfuse_eq(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_ne(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_lt(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_le(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_gt(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_ge(lfuse_value a, lfuse_value b);
/** condition ? a : b, condition of type bool */
LFUSE_API lfuse_value lfuse_where(lfuse_value condition, lfuse_value a, lfuse_value b);

/**
 * To another type. Narrowing rounds to nearest even, NaN stays NaN; floating to integer truncates and saturates, NaN
 * becomes 0; to bool: 1 where the value is not 0 (NaN gives 1).
 */
LFUSE_API lfuse_value lfuse_cast(lfuse_value a, lfuse_type type);

/**
 * Matrix product of [m, k] and [k, n]; leading axes of a beyond these stay as they are: [b, m, k] gives [b, m, n]. f32
 * stays f32: no TF32. f16 and bf16 accumulate in f32 and round once. Integer types are declined with ERR_UNSUPPORTED.
 */
LFUSE_API lfuse_value lfuse_matmul(lfuse_value a, lfuse_value b);

LFUSE_END_DECLS
#endif
