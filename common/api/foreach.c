/* SPDX-License-Identifier: Apache-2.0 */
#include "libfuse/foreach.h"

#include "common/api/need.h"
#include "common/run/foreach.h"

#define REDUCE(name, ...)                                                                                              \
    do {                                                                                                               \
        const lfuse_operand operands_[] = { __VA_ARGS__ };                                                             \
        return lfuse__foreach_reduce(stream, LFUSE__FOREACH_##name, to, operands_,                                     \
                                     (int)(sizeof operands_ / sizeof *operands_));                                     \
    } while (0)

#define RUN(name, to, ...)                                                                                             \
    do {                                                                                                               \
        const lfuse_operand operands_[] = { __VA_ARGS__ };                                                             \
        return lfuse__foreach_run(stream, LFUSE__FOREACH_##name, to, operands_,                                        \
                                  (int)(sizeof operands_ / sizeof *operands_));                                        \
    } while (0)

#define LFUSE__FOREACH_UNARY(name)                                                                                     \
    lfuse_status lfuse_foreach_##name(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a)                       \
    {                                                                                                                  \
        NEED(stream);                                                                                                  \
        NEED(to);                                                                                                      \
        RUN(name, to, lfuse_operand_list(a));                                                                          \
    }
#define LFUSE__FOREACH(...)
#include "common/run/foreach.def"
#undef LFUSE__FOREACH

#define BINARY(name)                                                                                                   \
    lfuse_status lfuse_foreach_##name(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a, lfuse_operand b)      \
    {                                                                                                                  \
        NEED(stream);                                                                                                  \
        NEED(to);                                                                                                      \
        RUN(name, to, lfuse_operand_list(a), b);                                                                       \
    }
BINARY(mul)
BINARY(div)
BINARY(clamp_min)
BINARY(clamp_max)
BINARY(minimum)
BINARY(maximum)

lfuse_status lfuse_foreach_add(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a, lfuse_operand b, double alpha)
{
    NEED(stream);
    NEED(to);
    RUN(add, to, lfuse_operand_list(a), b, lfuse_operand_scalar(alpha));
}

lfuse_status lfuse_foreach_sub(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a, lfuse_operand b, double alpha)
{
    NEED(stream);
    NEED(to);
    RUN(sub, to, lfuse_operand_list(a), b, lfuse_operand_scalar(alpha));
}

lfuse_status lfuse_foreach_pow(lfuse_stream *stream, lfuse_list *to, lfuse_operand base, lfuse_operand exponent)
{
    NEED(stream);
    NEED(to);
    RUN(pow, to, base, exponent);
}

lfuse_status lfuse_foreach_addcmul(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a, const lfuse_list *b,
                                   const lfuse_list *c, lfuse_operand value)
{
    NEED(stream);
    NEED(to);
    RUN(addcmul, to, lfuse_operand_list(a), lfuse_operand_list(b), lfuse_operand_list(c), value);
}

lfuse_status lfuse_foreach_addcdiv(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a, const lfuse_list *b,
                                   const lfuse_list *c, lfuse_operand value)
{
    NEED(stream);
    NEED(to);
    RUN(addcdiv, to, lfuse_operand_list(a), lfuse_operand_list(b), lfuse_operand_list(c), value);
}

lfuse_status lfuse_foreach_lerp(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a, const lfuse_list *b,
                                lfuse_operand weight)
{
    NEED(stream);
    NEED(to);
    RUN(lerp, to, lfuse_operand_list(a), lfuse_operand_list(b), weight);
}

lfuse_status lfuse_foreach_clamp(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a, lfuse_operand low,
                                 lfuse_operand high)
{
    NEED(stream);
    NEED(to);
    RUN(clamp, to, lfuse_operand_list(a), low, high);
}

lfuse_status lfuse_foreach_where(lfuse_stream *stream, lfuse_list *to, const lfuse_list *condition, lfuse_operand a,
                                 lfuse_operand b)
{
    NEED(stream);
    NEED(to);
    RUN(where, to, lfuse_operand_list(condition), a, b);
}

lfuse_status lfuse_foreach_zero(lfuse_stream *stream, lfuse_list *to)
{
    NEED(stream);
    NEED(to);
    RUN(fill, to, lfuse_operand_list(to), lfuse_operand_scalar(0));
}

lfuse_status lfuse_foreach_fill(lfuse_stream *stream, lfuse_list *to, lfuse_operand value)
{
    NEED(stream);
    NEED(to);
    RUN(fill, to, lfuse_operand_list(to), value);
}

lfuse_status lfuse_foreach_copy(lfuse_stream *stream, lfuse_list *to, const lfuse_list *from)
{
    NEED(stream);
    NEED(to);
    RUN(copy, to, lfuse_operand_list(from));
}

lfuse_status lfuse_foreach_unscale(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a, lfuse_operand inv_scale,
                                   lfuse_tensor *found_inf)
{
    NEED(stream);
    NEED(to);
    RUN(unscale, to, lfuse_operand_list(a), inv_scale, lfuse_operand_tensor(found_inf));
}

#define NUMBERS(name)                                                                                                  \
    lfuse_status lfuse_foreach_##name(lfuse_stream *stream, lfuse_tensor *to, const lfuse_list *a)                     \
    {                                                                                                                  \
        NEED(stream);                                                                                                  \
        NEED(to);                                                                                                      \
        REDUCE(name, lfuse_operand_list(a));                                                                           \
    }
NUMBERS(sum)
NUMBERS(mean)
NUMBERS(max)
NUMBERS(min)

lfuse_status lfuse_foreach_norm(lfuse_stream *stream, lfuse_tensor *to, const lfuse_list *a, double order)
{
    NEED(stream);
    NEED(to);
    REDUCE(norm, lfuse_operand_list(a), lfuse_operand_scalar(order));
}

lfuse_status lfuse_foreach_total_norm(lfuse_stream *stream, lfuse_tensor *to, const lfuse_list *a, double order)
{
    NEED(stream);
    NEED(to);
    REDUCE(total_norm, lfuse_operand_list(a), lfuse_operand_scalar(order));
}
