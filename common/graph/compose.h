/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What compositions are made of: functions of values that pass poison on. Sets of axes are bits. Compositions compute
 * f16 and bf16 in f32 and round once, at their end.
 */
#ifndef COMMON_GRAPH_COMPOSE_H
#define COMMON_GRAPH_COMPOSE_H

#include "common/graph/build.h"

/* The pointwise builders as parts of others: their calls are not counted. */
#define LFUSE__DECLARE_1(name) lfuse_value lfuse__op_##name(lfuse_value a);
#define LFUSE__DECLARE_2(name) lfuse_value lfuse__op_##name(lfuse_value a, lfuse_value b);
#define LFUSE__DECLARE_3(name) lfuse_value lfuse__op_##name(lfuse_value a, lfuse_value b, lfuse_value c);
#define LFUSE__OP(name, arity, ...) LFUSE__DECLARE_##arity(name)
#include "common/graph/ops.def"
#undef LFUSE__OP
#undef LFUSE__DECLARE_1
#undef LFUSE__DECLARE_2
#undef LFUSE__DECLARE_3

/* The operand, a tensor or number, in the type that is computed in. */
lfuse_value lfuse__widen(const char *call, lfuse_value v);
/* Over no axes: the value itself, in the type of the reduction. Bool is counted as i32. */
lfuse_value lfuse__reduce_value(const char *call, lfuse__reduce op, lfuse_value v, unsigned set, bool keepdims);
/* The number of elements along the axes, as a number. */
lfuse_value lfuse__count_value(const char *call, lfuse_value v, unsigned set);
/* Their sum over their number. */
lfuse_value lfuse__mean_value(const char *call, lfuse_value v, unsigned set, bool keepdims);
/* 1 / sqrt(v + eps), each operation correctly rounded. */
lfuse_value lfuse__inverse_root(lfuse_value v, double eps);

/*
 * The operand of a public composition over floating numbers: its graph, its axes as a set, itself in the type that is
 * computed in, and its own type. NULL after a mistake.
 */
lfuse_graph *lfuse__compose(const char *call, lfuse_value *a, int count, const int *axes, unsigned *set,
                            lfuse_type *type, lfuse_graph **where);
/* The same without axes. */
lfuse_graph *lfuse__compose_all(const char *call, lfuse_value *a, lfuse_type *type, lfuse_graph **where);

#endif
