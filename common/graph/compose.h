/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What compositions are made of. Each function returns a value, a poisoned one of poisoned operands. Sets of axes are
 * bits. Compositions compute f16 and bf16 in f32 and round once, at their end.
 */
#ifndef COMMON_GRAPH_COMPOSE_H
#define COMMON_GRAPH_COMPOSE_H

#include "common/graph/build.h"

/* The pointwise builders, for other builders: their calls are not counted. */
#define LFUSE__DECLARE_1(name) lfuse_value lfuse__op_##name(lfuse_value a);
#define LFUSE__DECLARE_2(name) lfuse_value lfuse__op_##name(lfuse_value a, lfuse_value b);
#define LFUSE__DECLARE_3(name) lfuse_value lfuse__op_##name(lfuse_value a, lfuse_value b, lfuse_value c);
#define LFUSE__OP(name, arity, ...) LFUSE__DECLARE_##arity(name)
#include "common/graph/ops.def"
#undef LFUSE__OP
#undef LFUSE__DECLARE_1
#undef LFUSE__DECLARE_2
#undef LFUSE__DECLARE_3

/* Returns an operand, a tensor or number, in the type in which it is computed. */
lfuse_value lfuse__widen(const char *call, lfuse_value v);
/* Reduces v over the axes of `set`; over none it is v in the type of the reduction. Bool is reduced as i32. */
lfuse_value lfuse__reduce_value(const char *call, lfuse__reduce op, lfuse_value v, unsigned set, bool keepdims);
/* Returns how many elements there are along the axes, a number without a type. */
lfuse_value lfuse__count_value(const char *call, lfuse_value v, unsigned set);
/* Returns the sum along the axes over the count. */
lfuse_value lfuse__mean_value(const char *call, lfuse_value v, unsigned set, bool keepdims);
/* Returns 1 / sqrt(v + eps), each operation correctly rounded. */
lfuse_value lfuse__inverse_root(lfuse_value v, double eps);

/* ---- identity.c ---- */
/* Returns `a` as identity.def says of `op`; b and c are its other operands, and ignored where it has fewer. */
lfuse_value lfuse__identity_value(const char *call, lfuse__identity_op op, lfuse_value a, lfuse_value b, lfuse_value c,
                            unsigned set);
/* Returns the value as a constant of lfuse_gradient. */
lfuse_value lfuse__stopped(const char *call, lfuse_value v);
/* Returns f(x, number), whose slope counts as 0 where x is 0, at which that of f may be infinite. */
lfuse_value lfuse__flat_at_zero(const char *call, lfuse_value (*f)(lfuse_value x, double number), lfuse_value x,
                                double number);

/*
 * Begins a public composition over floating numbers. Returns the operand's graph; NULL: there is a mistake. *set are
 * the axes, *type is the operand's type, and *a becomes the operand in the type in which it is computed.
 */
lfuse_graph *lfuse__compose(const char *call, lfuse_value *a, int count, const int *axes, unsigned *set,
                            lfuse_type *type, lfuse_graph **where);
/* Does so for a composition without axes. */
lfuse_graph *lfuse__compose_all(const char *call, lfuse_value *a, lfuse_type *type, lfuse_graph **where);


/* Whether the value is lfuse_none(). */
static inline bool lfuse__is_none(lfuse_value v)
{
    return !v.graph && v.id == INT32_MIN;
}
/*
 * Reads a further operand of such a composition over `a`: a tensor of exactly this shape, in `type`, which is that of
 * the first operand, or the one that is computed in; then in the latter. `what` is its name in messages.
 */
bool lfuse__compose_operand(const char *call, const char *what, lfuse_value a, lfuse_type type, int rank,
                            const lfuse_size *shape, lfuse_value *operand);

#endif
