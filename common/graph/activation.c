/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are others put together: no operator of their own. */
#include "common/base/whole.h"
#include "common/graph/compose.h"
#include "libfuse/ops.h"

/* Whether the operands are values of one graph, at the beginning of a public builder. */
static bool begin(const char *call, int count, const lfuse_value *operands, lfuse_graph **where)
{
    return lfuse__build_operands(call, count, operands, where) != NULL;
}

lfuse_value lfuse_addcmul(lfuse_value a, lfuse_value b, lfuse_value c, lfuse_value value)
{
    const lfuse_value operands[] = {a, b, c, value};
    lfuse_graph *where;

    if (!begin("lfuse_addcmul", 4, operands, &where)) return LFUSE__POISONED(where);
    return lfuse__op_add(a, lfuse__op_mul(lfuse__op_mul(value, b), c));
}

lfuse_value lfuse_addcdiv(lfuse_value a, lfuse_value b, lfuse_value c, lfuse_value value)
{
    const lfuse_value operands[] = {a, b, c, value};
    lfuse_graph *where;

    if (!begin("lfuse_addcdiv", 4, operands, &where)) return LFUSE__POISONED(where);
    return lfuse__op_add(a, lfuse__op_mul(value, lfuse__op_div(b, c)));
}

lfuse_value lfuse_prelu(lfuse_value a, lfuse_value slope)
{
    const lfuse_value operands[] = {a, slope};
    lfuse_graph *where;

    return begin("lfuse_prelu", 2, operands, &where) ? lfuse__op_leaky_relu(a, slope) : LFUSE__POISONED(where);
}

lfuse_value lfuse_hardtanh(lfuse_value a, lfuse_value low, lfuse_value high)
{
    const lfuse_value operands[] = {a, low, high};
    lfuse_graph *where;

    return begin("lfuse_hardtanh", 3, operands, &where) ? lfuse__op_clamp(a, low, high) : LFUSE__POISONED(where);
}

lfuse_value lfuse_tanhshrink(lfuse_value a)
{
    lfuse_graph *where;

    return begin("lfuse_tanhshrink", 1, &a, &where) ? lfuse__op_sub(a, lfuse__op_tanh(a)) : LFUSE__POISONED(where);
}

/* Whether the type has larger numbers than `most`. Numbers without a type are f64. */
static bool exceeds(lfuse_type type, double most)
{
    return !lfuse__is_integer(type) ? type != LFUSE_BOOL : (double)lfuse__highest(type) > most;
}

lfuse_value lfuse_cast_saturated(lfuse_value a, lfuse_type type)
{
    static const char call[] = "lfuse_cast_saturated";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);
    double most;

    if (!g || !lfuse__build_type(g, call, type)) return LFUSE__POISONED(where);
    if (!lfuse__is_narrow(type))
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: to %s, which is none of f16, bf16, e4m3 and e5m2", call,
                                   lfuse_type_name(type));
    most = lfuse__narrow_to_float(type, (uint16_t)(lfuse__format_end(lfuse__format_of(type)) - 1));
    a = lfuse__to_type(call, a, lfuse__wide_type((lfuse_type)g->nodes[a.id].type));
    if (a.id >= 0 && exceeds((lfuse_type)g->nodes[a.id].type, most))
        a = lfuse__op_clamp(a, lfuse__build_constant(g, -most), lfuse__build_constant(g, most));
    return lfuse__to_type(call, a, type);
}

#define GATED(name, activation)                                                                                        \
    lfuse_value lfuse_##name(lfuse_value a, lfuse_value gate)                                                          \
    {                                                                                                                  \
        const lfuse_value operands[] = {a, gate};                                                                      \
        lfuse_graph *where;                                                                                            \
                                                                                                                       \
        if (!begin("lfuse_" #name, 2, operands, &where)) return LFUSE__POISONED(where);                                \
        return lfuse__op_mul(a, lfuse__op_##activation(gate));                                                         \
    }
GATED(glu, sigmoid)
GATED(reglu, relu)
GATED(geglu, gelu)
GATED(geglu_tanh, gelu_tanh)
GATED(geglu_quick, gelu_quick)
GATED(swiglu, silu)
