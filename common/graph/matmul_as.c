/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products whose types and precision are named. */
#include "common/graph/build.h"
#include "libfuse/members.h"
#include "libfuse/ops.h"

static lfuse_type wider(lfuse_type a, lfuse_type b)
{
    if (a == b) return a;
    return a == LFUSE_F64 || b == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32;
}

/* Whether operands of types whose wider one is `wide` can be rounded so. */
static bool roundable(lfuse_graph *g, const char *call, lfuse_type wide, lfuse_precision precision)
{
    if (!lfuse__is_precision((int)precision))
        lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: precision %d is none", call, (int)precision);
    else if (lfuse__is_of_f32(precision) && wide != LFUSE_F32)
        lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: %s is a precision of f32 operands, these are %s", call,
                            lfuse__precisions[precision].word, lfuse_type_name(wide));
    else if (precision != LFUSE_PRECISION_FULL && wide == LFUSE_F64)
        lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: operands of f64 are not rounded to 16 bits; cast them", call);
    else
        return true;
    return false;
}

/* The type in which an operand of `type` is read. */
static lfuse_type read_as(lfuse_type type, lfuse_type wide, lfuse_precision precision)
{
    if (lfuse__is_of_f32(precision)) return LFUSE_F32;
    switch (precision) {
    case LFUSE_PRECISION_F16: return LFUSE_F16;
    case LFUSE_PRECISION_BF16: return LFUSE_BF16;
    default: return wide == LFUSE_F64 ? wide : type;
    }
}

/* Whether there are products of these types. */
static bool floating(lfuse_graph *g, const char *call, lfuse_type a, lfuse_type b, lfuse_type result)
{
    if (!lfuse__is_floating(a) || !lfuse__is_floating(b))
        lfuse__build_no_integers(g, call, lfuse__is_floating(a) ? b : a);
    else if (!lfuse__is_floating(result))
        lfuse__graph_poison(g, LFUSE_ERR_UNSUPPORTED, "%s: a result of type %s: cast a floating one", call,
                            lfuse_type_name(result));
    else
        return true;
    return false;
}

/* Of tensors, or of lists, which may be taken transposed. */
static lfuse_value product(lfuse_graph *g, const char *call, lfuse_value a, lfuse_value b, unsigned transposed,
                           lfuse_type type, lfuse_precision precision)
{
    lfuse_type of_a = (lfuse_type)g->nodes[a.id].type, of_b = (lfuse_type)g->nodes[b.id].type;
    const lfuse_type wide = wider(of_a, of_b);
    lfuse__product_form f = {LFUSE_TYPE_NONE, LFUSE_PRECISION_FULL, true, transposed};

    if (type == LFUSE_TYPE_NONE) type = wide;
    if (!floating(g, call, of_a, of_b, type) || !roundable(g, call, wide, precision))
        return LFUSE__POISONED(g);
    of_a = read_as(of_a, wide, precision);
    of_b = read_as(of_b, wide, precision);
    a = lfuse__build_cast(g, call, a.id, of_a);
    b = a.id < 0 ? a : lfuse__build_cast(g, call, b.id, of_b);
    if (b.id < 0) return b;
    if (lfuse__is_of_f32(precision)) f.precision = precision; /* of the others the casts are all */
    f.type = wide == LFUSE_F64 || (of_a == of_b && type == of_a) ? of_a : LFUSE_F32;
    a = lfuse__build_product(g, call, a.id, b.id, f);
    return a.id < 0 ? a : lfuse__build_cast(g, call, a.id, type);
}

lfuse_value lfuse_matmul_as(lfuse_value a, lfuse_value b, lfuse_type type, lfuse_precision precision)
{
    static const char call[] = "lfuse_matmul_as";
    const lfuse_value operands[] = {a, b};
    lfuse_graph *where, *g = lfuse__build_operands(call, 2, operands, &where);

    return g ? product(g, call, a, b, 0, type, precision) : LFUSE__POISONED(where);
}

lfuse_value lfuse_member_matmul_as(lfuse_value a, int transpose_a, lfuse_value b, int transpose_b, lfuse_type type,
                                   lfuse_precision precision)
{
    static const char call[] = "lfuse_member_matmul_as";
    const lfuse_value operands[] = {a, b};
    lfuse_graph *where, *g = lfuse__build_operands(call, 2, operands, &where);

    if (!g) return LFUSE__POISONED(where);
    if (!lfuse__build_lists_only(g, call, a.id, b.id)) return LFUSE__POISONED(g);
    return product(g, call, a, b, (transpose_a ? 1u : 0u) | (transpose_b ? 2u : 0u), type, precision);
}
