/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The functions that make values of values: here the pointwise ones, casts and products; views.h, reduce.h, members.h
 * and norm.h, which this includes, have the others.
 *
 * Pointwise functions broadcast as numpy does: shapes are aligned at their last axis and a literal extent of 1 (or a
 * missing axis) repeats. A size variable never broadcasts. Operands have one type, except for numbers (constants,
 * scalars, values of rank 0) beside a tensor; there is no other promotion. Lists go with lists that have the same
 * members' sizes, and with numbers. The result is of the tensor's type. The number
 *
 *  - beside f32 and f64 is rounded once, to that type
 *  - beside f16, bf16, e4m3 and e5m2 takes part in f32, as all arithmetic on them does: 0.01 * 1e5 is 1000 in f16
 *  - beside integers and bool must be one that the type can hold exactly. Others (2.5 or 3e9 beside i32, -1 beside u8,
 *    NaN) are refused with ERR_TYPE: constants when the graph is built, scalars by the run, before anything is
 *    launched, and values of rank 0 by their type, where it has numbers that the other lacks. lfuse_cast cuts off
 *  - of a comparison with integers may be any: the answer is that of the numbers themselves, so i32 < 2.5 is true at 2,
 *    u8 > -1 everywhere. Of values of rank 0 that holds where some type has all numbers of both, f64 for i32 with f32
 *
 * Functions of numbers alone are computed in their own type, which for constants and scalars is f64, and rounded once,
 * where they meet a tensor of another type. So scalars and 0-d tensors of f64 give the same bits through + - * / neg
 * abs min max fma square sqrt reciprocal, pow and powi, comparisons and selections, on every device as on the host;
 * other functions agree within their bounds. Cast a 0-d tensor of another type to f64 first to have the same of it.
 *
 * f16, bf16, e4m3 and e5m2 are storage: the arithmetic is f32 and rounds when a result is stored or cast, or a product
 * takes the value, and nowhere between these functions, whatever is fused: a / (sqrt(a * a) + 1e-8) is 0 at 0 in f16
 * too. (Views and concatenations that are copied, and products, may round what they hand on.) Floating functions need
 * a floating type. NaN propagates through every arithmetic function, min, max, relu and clamp included; payloads are
 * not promised.
 * Each function's error in ulp of f32 and f64 is in the table common/graph/ops.def, which the tests hold it to.
 */
#ifndef LIBFUSE_OPS_H
#define LIBFUSE_OPS_H

#include <libfuse/graph.h>
#include <libfuse/members.h>
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
/** a - b trunc(a / b), as C has it: with the sign of a; integers too (0 where b is 0). */
LFUSE_API lfuse_value lfuse_fmod(lfuse_value a, lfuse_value b);
/** a - b floor(a / b), as Python has it: with the sign of b; integers too (0 where b is 0). */
LFUSE_API lfuse_value lfuse_remainder(lfuse_value a, lfuse_value b);
/** a * a */
LFUSE_API lfuse_value lfuse_square(lfuse_value a);
/** 1, -1, or a itself where it is 0 or NaN */
LFUSE_API lfuse_value lfuse_sign(lfuse_value a);
/** 1 where a > 0, else 0 */
LFUSE_API lfuse_value lfuse_step(lfuse_value a);
/** a + weight (b - a), for |weight| >= 0.5 reckoned as b - (b - a)(1 - weight): both ends are exact. Floating types. */
LFUSE_API lfuse_value lfuse_lerp(lfuse_value a, lfuse_value b, lfuse_value weight);
/** a + value * b * c */
LFUSE_API lfuse_value lfuse_addcmul(lfuse_value a, lfuse_value b, lfuse_value c, lfuse_value value);
/** a + value * (b / c) */
LFUSE_API lfuse_value lfuse_addcdiv(lfuse_value a, lfuse_value b, lfuse_value c, lfuse_value value);

/* Floating functions. */
LFUSE_API lfuse_value lfuse_sqrt(lfuse_value a);
LFUSE_API lfuse_value lfuse_rsqrt(lfuse_value a);
LFUSE_API lfuse_value lfuse_reciprocal(lfuse_value a);
LFUSE_API lfuse_value lfuse_exp(lfuse_value a);
LFUSE_API lfuse_value lfuse_exp2(lfuse_value a);
LFUSE_API lfuse_value lfuse_expm1(lfuse_value a);
LFUSE_API lfuse_value lfuse_log(lfuse_value a);
LFUSE_API lfuse_value lfuse_log2(lfuse_value a);
LFUSE_API lfuse_value lfuse_log10(lfuse_value a);
LFUSE_API lfuse_value lfuse_log1p(lfuse_value a);
LFUSE_API lfuse_value lfuse_sin(lfuse_value a);
LFUSE_API lfuse_value lfuse_cos(lfuse_value a);
LFUSE_API lfuse_value lfuse_tan(lfuse_value a);
LFUSE_API lfuse_value lfuse_asin(lfuse_value a);
LFUSE_API lfuse_value lfuse_acos(lfuse_value a);
LFUSE_API lfuse_value lfuse_atan(lfuse_value a);
/** Angle of the point (b, a): arc tangent of a / b in the right quadrant. */
LFUSE_API lfuse_value lfuse_atan2(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_sinh(lfuse_value a);
LFUSE_API lfuse_value lfuse_cosh(lfuse_value a);
LFUSE_API lfuse_value lfuse_tanh(lfuse_value a);
LFUSE_API lfuse_value lfuse_asinh(lfuse_value a);
LFUSE_API lfuse_value lfuse_acosh(lfuse_value a);
LFUSE_API lfuse_value lfuse_atanh(lfuse_value a);
LFUSE_API lfuse_value lfuse_erf(lfuse_value a);
LFUSE_API lfuse_value lfuse_erfc(lfuse_value a);
/** Cube root; of negative numbers too. */
LFUSE_API lfuse_value lfuse_cbrt(lfuse_value a);
/** sqrt(a^2 + b^2) without overflow on the way */
LFUSE_API lfuse_value lfuse_hypot(lfuse_value a, lfuse_value b);
/**
 * As pow of C. In f64 and over numbers at most 1 ulp off, with the same bits on every device and on the host. Integers
 * are multiplied as often as the exponent says and wrap, also by lfuse_powi; 0^0 is 1. An exponent below 0 that is
 * known when the graph is built is refused (ERR_INVALID); one that a run gives leaves of 1 / a^|n| what an integer can
 * hold, as in PyTorch: 1 where a is 1, 1 or -1 where it is -1, else 0, also where a is 0.
 */
LFUSE_API lfuse_value lfuse_pow(lfuse_value a, lfuse_value b);
/**
 * a to the integral power n by repeated squaring, 1 / a^|n| for n below 0: the same bits on every device and on the
 * host. The fraction of n is cut off; an exponent beyond 2^53 counts as 2^53. The error is |n| half ulps at most. The
 * exponent takes the type of a; where a is a number without a type, an exponent of an integer type is taken as f64.
 */
LFUSE_API lfuse_value lfuse_powi(lfuse_value a, lfuse_value n);
LFUSE_API lfuse_value lfuse_floor(lfuse_value a);
LFUSE_API lfuse_value lfuse_ceil(lfuse_value a);
LFUSE_API lfuse_value lfuse_trunc(lfuse_value a);
/** a - trunc(a): with the sign of a */
LFUSE_API lfuse_value lfuse_frac(lfuse_value a);
/** To the nearest integer, halves to even. */
LFUSE_API lfuse_value lfuse_round(lfuse_value a);

/* Activations. */
/** 1 / (1 + exp(-a)) */
LFUSE_API lfuse_value lfuse_sigmoid(lfuse_value a);
/** max(a, 0) by the rule of lfuse_max: -0 gives 0. Integers too. */
LFUSE_API lfuse_value lfuse_relu(lfuse_value a);
/** a > 0 ? a : slope * a; prelu is the same, with a tensor of slopes. */
LFUSE_API lfuse_value lfuse_leaky_relu(lfuse_value a, lfuse_value slope);
LFUSE_API lfuse_value lfuse_prelu(lfuse_value a, lfuse_value slope);
/** min(max(a, 0), 6). Integers too; so the next. */
LFUSE_API lfuse_value lfuse_relu6(lfuse_value a);
/** max(a, 0)^2 */
LFUSE_API lfuse_value lfuse_squared_relu(lfuse_value a);
/** a > 0 ? a : alpha (exp(a) - 1) */
LFUSE_API lfuse_value lfuse_elu(lfuse_value a, lfuse_value alpha);
/** elu with alpha 1.67326324235437728, times 1.05070098735548049 */
LFUSE_API lfuse_value lfuse_selu(lfuse_value a);
/** a > 0 ? gamma a : gamma alpha (exp(a) - 1): ONNX's Selu. */
LFUSE_API lfuse_value lfuse_selu_with(lfuse_value a, lfuse_value alpha, lfuse_value gamma);
/** a > 0 ? a : alpha (exp(min(a / alpha, 0)) - 1) */
LFUSE_API lfuse_value lfuse_celu(lfuse_value a, lfuse_value alpha);
/** a / 2 * erfc(-a / sqrt(2)) */
LFUSE_API lfuse_value lfuse_gelu(lfuse_value a);
/** a * sigmoid(2 u), u = sqrt(2 / pi) (a + 0.044715 a^3), which is a / 2 (1 + tanh(u)) */
LFUSE_API lfuse_value lfuse_gelu_tanh(lfuse_value a);
/** a * sigmoid(1.702 a) */
LFUSE_API lfuse_value lfuse_gelu_quick(lfuse_value a);
/** a * sigmoid(a) */
LFUSE_API lfuse_value lfuse_silu(lfuse_value a);
/** a * tanh(softplus(a)) */
LFUSE_API lfuse_value lfuse_mish(lfuse_value a);
/** min(max(a + 3, 0), 6) / 6 */
LFUSE_API lfuse_value lfuse_hardsigmoid(lfuse_value a);
/** min(max(alpha a + beta, 0), 1), rounded once: ONNX's HardSigmoid, which has 0.2 and 0.5. */
LFUSE_API lfuse_value lfuse_hardsigmoid_with(lfuse_value a, lfuse_value alpha, lfuse_value beta);
/** a * hardsigmoid(a) */
LFUSE_API lfuse_value lfuse_hardswish(lfuse_value a);
/** a / (1 + |a|) */
LFUSE_API lfuse_value lfuse_softsign(lfuse_value a);
/** log(1 + exp(a)), computed as max(a, 0) + log1p(exp(-|a|)) */
LFUSE_API lfuse_value lfuse_softplus(lfuse_value a);
/** log(exp(a) + exp(b)), computed as max(a, b) + log1p(exp(min(a, b) - max(a, b))); as torch.logaddexp */
LFUSE_API lfuse_value lfuse_logaddexp(lfuse_value a, lfuse_value b);
/** log(sigmoid(a)), computed as min(a, 0) - log1p(exp(-|a|)) */
LFUSE_API lfuse_value lfuse_logsigmoid(lfuse_value a);
/** a - tanh(a) */
LFUSE_API lfuse_value lfuse_tanhshrink(lfuse_value a);
/** |a| > lambda ? a : 0 */
LFUSE_API lfuse_value lfuse_hardshrink(lfuse_value a, lfuse_value lambda);
/** a > lambda ? a - lambda : a < -lambda ? a + lambda : 0 */
LFUSE_API lfuse_value lfuse_softshrink(lfuse_value a, lfuse_value lambda);
/** a <= threshold ? value : a. Integers too. */
LFUSE_API lfuse_value lfuse_threshold(lfuse_value a, lfuse_value threshold, lfuse_value value);
/** min(max(a, low), high) by the rules of lfuse_min and lfuse_max; hardtanh is another name. */
LFUSE_API lfuse_value lfuse_clamp(lfuse_value a, lfuse_value low, lfuse_value high);
LFUSE_API lfuse_value lfuse_hardtanh(lfuse_value a, lfuse_value low, lfuse_value high);

/* Gated units: `gate`, through its activation, times `a`. */
/** a * sigmoid(gate) */
LFUSE_API lfuse_value lfuse_glu(lfuse_value a, lfuse_value gate);
/** a * relu(gate) */
LFUSE_API lfuse_value lfuse_reglu(lfuse_value a, lfuse_value gate);
/** a * gelu(gate), gelu_tanh(gate), gelu_quick(gate) */
LFUSE_API lfuse_value lfuse_geglu(lfuse_value a, lfuse_value gate);
LFUSE_API lfuse_value lfuse_geglu_tanh(lfuse_value a, lfuse_value gate);
LFUSE_API lfuse_value lfuse_geglu_quick(lfuse_value a, lfuse_value gate);
/** a * silu(gate) */
LFUSE_API lfuse_value lfuse_swiglu(lfuse_value a, lfuse_value gate);

/* Comparison (result bool; with a NaN all are false but ne) and selection. */
LFUSE_API lfuse_value lfuse_eq(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_ne(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_lt(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_le(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_gt(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_ge(lfuse_value a, lfuse_value b);
/**
 * condition ? a : b, condition of type bool. Where a and b are both numbers without a type, the result is f32: cast one
 * of them for another type. Where the condition is a number too, the result is a number.
 */
LFUSE_API lfuse_value lfuse_where(lfuse_value condition, lfuse_value a, lfuse_value b);
/**
 * b in the shape of a (and of a's type where b is a number); a is not read. With a list, a list filled with b. Every
 * type; truths are filled with 0 and 1.
 */
LFUSE_API lfuse_value lfuse_full_like(lfuse_value a, lfuse_value b);
/* Of what kind a number is. Floating types; result bool. */
LFUSE_API lfuse_value lfuse_isnan(lfuse_value a);
LFUSE_API lfuse_value lfuse_isinf(lfuse_value a);
LFUSE_API lfuse_value lfuse_isfinite(lfuse_value a);

/* Logic of values of type bool. */
LFUSE_API lfuse_value lfuse_logical_and(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_logical_or(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_logical_xor(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_logical_not(lfuse_value a);

/* Bits of integers. The count of a shift is taken modulo the width of the type. */
LFUSE_API lfuse_value lfuse_bit_and(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_bit_or(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_bit_xor(lfuse_value a, lfuse_value b);
LFUSE_API lfuse_value lfuse_bit_not(lfuse_value a);
LFUSE_API lfuse_value lfuse_shl(lfuse_value a, lfuse_value count);
/** Signed types keep their sign; u8 is filled up with zeros. */
LFUSE_API lfuse_value lfuse_shr(lfuse_value a, lfuse_value count);

/**
 * To another type. Narrowing rounds to nearest even, NaN stays NaN; floating to integer truncates and saturates, NaN
 * becomes 0; to bool: 1 where the value is not 0 (NaN gives 1). What rounds beyond the largest number of a floating
 * type (above 464 of e4m3, from 61 440 on of e5m2) becomes infinite, for e4m3, which has no infinities, NaN;
 * lfuse_cast_saturated does otherwise.
 */
LFUSE_API lfuse_value lfuse_cast(lfuse_value a, lfuse_type type);
/**
 * To f16, bf16, e4m3 or e5m2 (else ERR_TYPE), from any type. What is too large, infinities too, becomes the largest
 * number of the type, with its sign: 65 504, 0x1.fep127, 448, 57 344. NaN stays NaN. It is a cast of a clamp, so that
 * its gradient is 0 where it saturates, and at the largest number itself.
 */
LFUSE_API lfuse_value lfuse_cast_saturated(lfuse_value a, lfuse_type type);

/**
 * Matrix product of the last two axes, [m, k] and [k, n]. The axes before them, if any, are batches of matrices, which
 * are paired as operands of pointwise functions are: from the last on, extents of 1 and missing axes repeat. So
 * [b, m, k] and [k, n] give [b, m, n], as do [b, m, k] and [b, k, n]; [h, 1, m, k] and [b, k, n] give [h, b, m, n]. All
 * products of a batch are one launch, or one call of the vendor's library. Batch axes of an operand that are no single
 * stride in memory (permuted, or repeated between others) make it be copied first.
 * Of what is added to a product by a number (alpha A B + beta C), nothing may be read where the number is 0: a NaN
 * there is then seen by some providers and not by others.
 * f32 stays f32: no TF32. f16 and bf16 accumulate in f32 and round once. What else there is, lfuse_matmul_as has.
 * Two lists of matrices (LFUSE_RANK_MATRIX) give the list of their members' products: lfuse_member_matmul.
 * ERR_RANK below rank 2, ERR_SHAPE where k or batches differ, ERR_UNSUPPORTED for integer types: cast them to f32,
 * which is exact while sums stay below 2^24, or to f64 (2^53), and the result back.
 */
LFUSE_API lfuse_value lfuse_matmul(lfuse_value a, lfuse_value b);
/**
 * As lfuse_matmul, with the type of the result, and with a precision that may be less than the operands'. These may be
 * of two floating types, and are multiplied in the wider one, two different ones of f16, bf16, e4m3 and e5m2 in f32.
 * `type`: any floating type; LFUSE_TYPE_NONE is that of the operands, the wider one. Where f32 is asked for, products
 * of f16 and bf16 are the sums as they are formed: nothing is rounded to 16 bits between. Any other type is a cast
 * behind the product, done by the kernel that follows, or that forms the sums.
 *
 * Products of e4m3 and e5m2, one with the other too, are best asked for in f32: lfuse_matmul rounds them to the
 * operands' type, where sums above 464 of e4m3 are NaN. Their scales are factors, which become part of the product's
 * kernel as everything pointwise behind it does: of a tensor as a scalar or a value of rank 0, of the rows of a as
 * [m, 1], of the columns of b as [n]. So does what stores the result in 8 bits:
 *
 *     y = lfuse_matmul_as(a, b, LFUSE_F32, LFUSE_PRECISION_FULL);
 *     y = lfuse_mul(lfuse_mul(y, scale_of_a), scale_of_b);
 *     y = lfuse_cast_saturated(lfuse_mul(lfuse_relu(y), scale), LFUSE_E4M3);
 *
 * On Hopper's tensor cores sums of 128 such products keep 14 bits, and are then added in f32: 2^-8 |A||B| more.
 * LFUSE_PRECISION_F16 casts the operands, without loss, and sums as for f16.
 *
 * `precision` rounds the operands first. F16 and BF16 are casts of them, and hold on every device and with every
 * provider; of f64 they are ERR_TYPE. TF32 is for operands that are multiplied in f32 (else ERR_TYPE), and for devices
 * and providers that have it: see lfuse_precision. Precisions that split are for such operands too; they round none,
 * and permit what lfuse_precision says of them on devices that gain by it. Gradients of a product have its precision. A
 * product with few columns that joins the kernel of its left operand keeps its bits. Two lists are multiplied member by
 * member (lfuse_member_matmul_as). lfuse(7) has the bounds.
 * ERR_INVALID for a precision that is none; the others as lfuse_matmul.
 */
LFUSE_API lfuse_value lfuse_matmul_as(lfuse_value a, lfuse_value b, lfuse_type type, lfuse_precision precision);

LFUSE_END_DECLS
#endif
