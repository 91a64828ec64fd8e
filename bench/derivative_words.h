/* SPDX-License-Identifier: Apache-2.0 */
/* The words of ops.def for derivatives, as arithmetic of the floating type R of who includes this; by tgmath.h. */
#ifndef BENCH_DERIVATIVE_WORDS_H
#define BENCH_DERIVATIVE_WORDS_H

#include <tgmath.h>

#define D_NONE 0
#define D_CONST(k) ((R)(k))
#define D_NEG(x) (-(x))
#define D_ADD(x, y) ((x) + (y))
#define D_SUB(x, y) ((x) - (y))
#define D_MUL(x, y) ((x) * (y))
#define D_DIV(x, y) ((x) / (y))
#define D_EXP(x) exp((R)(x))
#define D_LOG(x) log((R)(x))
#define D_SIN(x) sin((R)(x))
#define D_COS(x) cos((R)(x))
#define D_ERFC(x) erfc((R)(x))
#define D_POW(x, y) pow((R)(x), (R)(y))
#define D_POWI(x, y) pow((R)(x), (R)(y))
#define D_SIGMOID(x) (1 / (1 + exp(-(R)(x))))
#define D_SQRT(x) sqrt((R)(x))
#define D_EXPM1(x) expm1((R)(x))
#define D_SINH(x) sinh((R)(x))
#define D_COSH(x) cosh((R)(x))
#define D_TANH(x) tanh((R)(x))
#define D_SOFTPLUS(x) (log1p(exp(-fabs((R)(x)))) + ((x) > 0 ? (x) : 0))
#define D_ABS(x) fabs((R)(x))
#define D_TRUNC(x) trunc((R)(x))
#define D_FLOOR(x) floor((R)(x))
#define D_WHERE(m, x, y) ((m) ? (R)(x) : (R)(y))
#define D_LT(x, y) ((x) < (y))
#define D_LE(x, y) ((x) <= (y))
#define D_GT(x, y) ((x) > (y))
#define D_GE(x, y) ((x) >= (y))
#define D_EQ(x, y) ((x) == (y))
#define D_BOUNDS(numbers, tensors) (numbers)

#endif
