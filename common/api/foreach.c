/* SPDX-License-Identifier: Apache-2.0 */
#include "libfuse/foreach.h"

#include "common/api/need.h"
#include "common/run/foreach.h"

/* Checks the arguments that all functions have, and hands the operands down. */
#define CALL(function, name, ...)                                                                                      \
    do {                                                                                                               \
        NEED(stream);                                                                                                  \
        NEED(to);                                                                                                      \
        const lfuse_operand operands_[] = { __VA_ARGS__ };                                                             \
        return function(stream, LFUSE__FOREACH_##name, to, operands_, (int)(sizeof operands_ / sizeof *operands_));    \
    } while (0)
#define RUN(name, ...) CALL(lfuse__foreach_run, name, __VA_ARGS__)
#define REDUCE(name, ...) CALL(lfuse__foreach_reduce, name, __VA_ARGS__)

#define LFUSE__FOREACH_UNARY(name)                                                                                     \
    lfuse_status lfuse_foreach_##name(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a)                       \
    {                                                                                                                  \
        RUN(name, lfuse_operand_list(a));                                                                              \
    }
#define LFUSE__FOREACH(...)
#include "common/run/foreach.def"
#undef LFUSE__FOREACH

#define BINARY(name)                                                                                                   \
    lfuse_status lfuse_foreach_##name(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a, lfuse_operand b)      \
    {                                                                                                                  \
        RUN(name, lfuse_operand_list(a), b);                                                                           \
    }
BINARY(mul)
BINARY(div)
BINARY(clamp_min)
BINARY(clamp_max)
BINARY(minimum)
BINARY(maximum)

#define SCALED(name)                                                                                                   \
    lfuse_status lfuse_foreach_##name(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a, lfuse_operand b,      \
                                      double alpha)                                                                    \
    {                                                                                                                  \
        RUN(name, lfuse_operand_list(a), b, lfuse_operand_scalar(alpha));                                              \
    }
SCALED(add)
SCALED(sub)

lfuse_status lfuse_foreach_pow(lfuse_stream *stream, lfuse_list *to, lfuse_operand base, lfuse_operand exponent)
{
    RUN(pow, base, exponent);
}

#define OF_LISTS(name)                                                                                                 \
    lfuse_status lfuse_foreach_##name(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a, const lfuse_list *b,  \
                                      const lfuse_list *c, lfuse_operand value)                                        \
    {                                                                                                                  \
        RUN(name, lfuse_operand_list(a), lfuse_operand_list(b), lfuse_operand_list(c), value);                         \
    }
OF_LISTS(addcmul)
OF_LISTS(addcdiv)

lfuse_status lfuse_foreach_lerp(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a, const lfuse_list *b,
                                lfuse_operand weight)
{
    RUN(lerp, lfuse_operand_list(a), lfuse_operand_list(b), weight);
}

lfuse_status lfuse_foreach_clamp(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a, lfuse_operand low,
                                 lfuse_operand high)
{
    RUN(clamp, lfuse_operand_list(a), low, high);
}

lfuse_status lfuse_foreach_where(lfuse_stream *stream, lfuse_list *to, const lfuse_list *condition, lfuse_operand a,
                                 lfuse_operand b)
{
    RUN(where, lfuse_operand_list(condition), a, b);
}

lfuse_status lfuse_foreach_zero(lfuse_stream *stream, lfuse_list *to)
{
    RUN(fill, lfuse_operand_list(to), lfuse_operand_scalar(0));
}

lfuse_status lfuse_foreach_fill(lfuse_stream *stream, lfuse_list *to, lfuse_operand value)
{
    RUN(fill, lfuse_operand_list(to), value);
}

lfuse_status lfuse_foreach_copy(lfuse_stream *stream, lfuse_list *to, const lfuse_list *from)
{
    RUN(copy, lfuse_operand_list(from));
}

lfuse_status lfuse_foreach_unscale(lfuse_stream *stream, lfuse_list *to, const lfuse_list *a, lfuse_operand inv_scale,
                                   lfuse_tensor *found_inf)
{
    RUN(unscale, lfuse_operand_list(a), inv_scale, lfuse_operand_tensor(found_inf));
}

#define NUMBERS(name)                                                                                                  \
    lfuse_status lfuse_foreach_##name(lfuse_stream *stream, lfuse_tensor *to, const lfuse_list *a)                     \
    {                                                                                                                  \
        REDUCE(name, lfuse_operand_list(a));                                                                           \
    }
NUMBERS(sum)
NUMBERS(mean)
NUMBERS(max)
NUMBERS(min)

lfuse_status lfuse_foreach_norm(lfuse_stream *stream, lfuse_tensor *to, const lfuse_list *a, double order)
{
    REDUCE(norm, lfuse_operand_list(a), lfuse_operand_scalar(order));
}

lfuse_status lfuse_foreach_total_norm(lfuse_stream *stream, lfuse_tensor *to, const lfuse_list *a, double order)
{
    REDUCE(total_norm, lfuse_operand_list(a), lfuse_operand_scalar(order));
}
