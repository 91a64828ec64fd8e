/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Functions over lists of tensors, run at once: one launch for any number of members.
 *
 * Each is the function of ops.h of that name at every member, with the bits that a loop over the members gives. They
 * are immediate calls (immediate.h): the first call of a kind plans, later ones find the plan, and what was made for
 * the lists. Any other expression over lists, with several inputs and results, is a graph: lfuse_evaluate or a plan.
 *
 *  - `to` takes the results. It may be one of the operands' lists itself (the same lfuse_list): the function then works
 *    in place. Other lists that share memory with it are refused. The same list may stand for several operands.
 *  - Lists that go together have the same count and members' sizes; operands are of one type. `to` may have another
 *    one, to which results are rounded once, at the end.
 *  - Numbers take the type of the lists as ops.h says: beside floating types they are rounded to it (f32 where it is
 *    f16 or bf16, in which everything is computed), what lists of integers cannot hold exactly is refused with
 *    ERR_TYPE. Nothing is promoted: functions that ops.h has for floating types alone decline integers with ERR_TYPE.
 *  - Messages, and bindings of a recording, name operands as the parameters here.
 *
 * Errors, before anything is launched: ERR_INVALID (NULL, an operand of a kind that the function does not take),
 * ERR_TYPE, ERR_RANK, ERR_SHAPE (counts, sizes of members), ERR_CONTEXT, ERR_CLOSED, ERR_OVERLAP, ERR_UNSUPPORTED (a
 * member that is not contiguous).
 *
 * As torch.foreach, with more: all kinds of operands in each place where a number may stand, results of another type,
 * clamp with two bounds, where, fill and casting copies. Other than there, integers divide as integers. lgamma is not
 * there, as OpenCL states no bound for its error.
 */
#ifndef LIBFUSE_FOREACH_H
#define LIBFUSE_FOREACH_H

#include <libfuse/base.h>
#include <libfuse/device.h>
#include <libfuse/list.h>
#include <libfuse/status.h>
#include <libfuse/tensor.h>

typedef enum lfuse_operand_kind {
    LFUSE_OPERAND_SCALAR = 1,  /**< one number for all elements */
    LFUSE_OPERAND_SCALARS = 2, /**< an array of the host's: one number for each member */
    LFUSE_OPERAND_LIST = 3,    /**< a list with the same count and members' sizes */
    LFUSE_OPERAND_TENSOR = 4   /**< numbers in device memory: rank 0: one for all; [count]: one for each member */
} lfuse_operand_kind;

/**
 * What stands beside a list. Numbers are read during the call. An array that comes again for the same function and `to`
 * is not sent again; what has changed in it costs a small launch for each 192 numbers (96 of 8 bytes).
 */
typedef struct lfuse_operand {
    lfuse_operand_kind kind;
    int64_t count; /**< of `scalars` */
    union {
        double scalar;
        const double *scalars;
        const lfuse_list *list;
        const lfuse_tensor *tensor;
    } as;
} lfuse_operand;

static inline lfuse_operand lfuse_operand_scalar(double number)
{
    lfuse_operand o;
    o.kind = LFUSE_OPERAND_SCALAR, o.count = 0, o.as.scalar = number;
    return o;
}
static inline lfuse_operand lfuse_operand_scalars(const double *numbers, int64_t count)
{
    lfuse_operand o;
    o.kind = LFUSE_OPERAND_SCALARS, o.count = count, o.as.scalars = numbers;
    return o;
}
static inline lfuse_operand lfuse_operand_list(const lfuse_list *list)
{
    lfuse_operand o;
    o.kind = LFUSE_OPERAND_LIST, o.count = 0, o.as.list = list;
    return o;
}
static inline lfuse_operand lfuse_operand_tensor(const lfuse_tensor *tensor)
{
    lfuse_operand o;
    o.kind = LFUSE_OPERAND_TENSOR, o.count = 0, o.as.tensor = tensor;
    return o;
}

LFUSE_BEGIN_DECLS

/* Functions of one list. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_abs(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_acos(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_asin(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_atan(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_ceil(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_cos(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_cosh(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_erf(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_erfc(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_exp(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_expm1(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_floor(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_frac(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_log(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_log10(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_log1p(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_log2(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_neg(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_reciprocal(lfuse_stream *stream, lfuse_list *to,
                                                                 const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_round(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_rsqrt(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_sigmoid(lfuse_stream *stream, lfuse_list *to,
                                                              const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_sign(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_sin(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_sinh(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_sqrt(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_tan(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_tanh(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_trunc(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a);

/** a + alpha b, and a - alpha b; alpha 1 leaves the product out. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_add(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a,
                                                          lfuse_operand b, double alpha);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_sub(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a,
                                                          lfuse_operand b, double alpha);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_mul(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a,
                                                          lfuse_operand b);
/** Integers: as lfuse_div. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_div(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a,
                                                          lfuse_operand b);
/** max(a, b) and min(a, b) by the rules of lfuse_max and lfuse_min: NaN wins. Two names of each. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_clamp_min(lfuse_stream *stream, lfuse_list *to,
                                                                const lfuse_list *a, lfuse_operand b);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_maximum(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a,
                                                              lfuse_operand b);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_clamp_max(lfuse_stream *stream, lfuse_list *to,
                                                                const lfuse_list *a, lfuse_operand b);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_minimum(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a,
                                                              lfuse_operand b);
/**
 * base ^ exponent, at least one of them a list. Exponents given as one number have forms of their own, as in torch: 0.5
 * and -0.5 are roots, the whole numbers from -2 to 3 products and reciprocals. Powers of integers wrap; what a negative
 * exponent leaves of them lfuse_pow says.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_pow(lfuse_stream *stream, lfuse_list *to, lfuse_operand base,
                                                          lfuse_operand exponent);
/** a + value b c, and a + value (b / c). */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_addcmul(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a,
                                                              const lfuse_list *b, const lfuse_list *c,
                                                              lfuse_operand value);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_addcdiv(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a,
                                                              const lfuse_list *b, const lfuse_list *c,
                                                              lfuse_operand value);
/** As lfuse_lerp. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_lerp(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a,
                                                           const lfuse_list *b, lfuse_operand weight);
/** min(max(a, low), high) */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_clamp(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a,
                                                            lfuse_operand low, lfuse_operand high);
/** condition ? a : b, with a list of type bool. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_where(lfuse_stream *stream, lfuse_list *to,
                                                            const lfuse_list *condition, lfuse_operand a,
                                                            lfuse_operand b);

/** 0, or numbers (no list), in every element; `to` is not read. Of type bool they are 0 and 1. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_zero(lfuse_stream *stream, lfuse_list *to);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_fill(lfuse_stream *stream, lfuse_list *to, lfuse_operand value);
/** Any types, cast as by lfuse_cast. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_copy(lfuse_stream *stream, lfuse_list *to,
                                                           const lfuse_list *from);

/**
 * inv_scale a, and `found_inf` (f32, rank 0) becomes 1 where any element of a is infinite or NaN, else it stays: as
 * torch._amp_foreach_non_finite_check_and_unscale_. Floating types. At most three launches.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_unscale(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a,
                                                              lfuse_operand inv_scale, lfuse_tensor *found_inf);

/*
 * One number for each member, into a vector: `to` is [count], of any type, and can be an operand of what follows. The
 * functions of members.h; mean and norm take floating types, max and min elements in every member. Two launches.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_sum(lfuse_stream *stream, lfuse_tensor *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_mean(lfuse_stream *stream, lfuse_tensor *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_max(lfuse_stream *stream, lfuse_tensor *to, const lfuse_list *a);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_min(lfuse_stream *stream, lfuse_tensor *to, const lfuse_list *a);
/** Vector norms of any order as lfuse_member_norm; INFINITY: the largest |a|. A plan for each order. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_norm(lfuse_stream *stream, lfuse_tensor *to, const lfuse_list *a,
                                                           double order);
/** Of the whole list as one vector: `to` has rank 0. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_foreach_total_norm(lfuse_stream *stream, lfuse_tensor *to,
                                                                 const lfuse_list *a, double order);

LFUSE_END_DECLS
#endif
