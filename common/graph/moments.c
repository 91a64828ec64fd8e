/* SPDX-License-Identifier: Apache-2.0 */
/* Variances: compositions of sums. */
#include "common/graph/compose.h"
#include "libfuse/ops.h"

/* In two passes: the mean first. */
lfuse_value lfuse_var(lfuse_value a, int count, const int *axes, double correction, int keepdims)
{
    static const char call[] = "lfuse_var";
    lfuse_graph *where, *g;
    lfuse_type type;
    lfuse_value centred, sum, number;
    unsigned set;

    g = lfuse__compose(call, &a, count, axes, &set, &type, &where);
    if (!g) return LFUSE__POISONED(where);
    centred = lfuse__op_sub(a, lfuse__mean_value(call, a, set, true));
    sum = lfuse__reduce_value(call, LFUSE__REDUCE_SUM, lfuse__op_mul(centred, centred), set, keepdims != 0);
    number = lfuse__op_max(lfuse__op_sub(lfuse__count_value(call, a, set), lfuse__build_constant(g, correction)),
                       lfuse__build_constant(g, 0));
    return lfuse__to_type(call, lfuse__op_div(sum, number), type);
}
