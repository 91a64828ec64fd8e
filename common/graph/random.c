/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers by place, made of the operator philox and of indices. */
#include "common/graph/compose.h"
#include "libfuse/ops.h"
#include "libfuse/random.h"

/* A generator at work: the graph, its elements' indices, seed and offset. */
typedef struct source {
    lfuse_graph *g;
    lfuse_value index, seed, offset;
} source;

/* False after a mistake. The shape is as the user gave it, or as nodes hold it. */
static bool source_make(source *s, const char *call, lfuse_graph *g, int rank, const lfuse_size *shape, bool public,
                        lfuse_value seed, lfuse_value offset)
{
    const lfuse_value numbers[] = {seed, offset};
    lfuse_size extents[LFUSE_MAX_RANK];

    if (!g) return false;
    *s = (source){g, LFUSE__POISONED(g), seed, offset};
    if (public) {
        if (!lfuse__build_shape(g, call, rank, shape, extents)) return false;
        shape = extents;
    }
    if (lfuse__build_inner_operands(call, 2, numbers, NULL) != g) {
        lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: seed or offset is no value of this graph", call);
        return false;
    }
    s->index = lfuse__build_index(g, call, rank, shape);
    return s->index.id >= 0;
}

/* Word number `each` i + `word` of element i, as i32. */
static lfuse_value word_of(const source *s, int each, int word)
{
    lfuse_value index = s->index;

    if (each > 1) index = lfuse__op_mul(index, lfuse__build_constant(s->g, each));
    if (word > 0) index = lfuse__op_add(index, lfuse__build_constant(s->g, word));
    return lfuse__op_philox(index, s->seed, s->offset);
}

/* The upper `bits` of a word, in 0 ... 1. */
static lfuse_value unit_of_word(const source *s, lfuse_value word, int bits)
{
    const lfuse_value shifted = lfuse__op_shr(word, lfuse__build_constant(s->g, 32 - bits));
    const lfuse_value whole = lfuse__op_bit_and(shifted, lfuse__build_constant(s->g, (double)((1 << bits) - 1)));

    return lfuse__op_mul(lfuse__to_type("lfuse_cast", whole, LFUSE_F32),
                         lfuse__build_constant(s->g, 1.0 / (1 << bits)));
}

/* 53 bits of two words. */
static lfuse_value unit_of_words(const source *s, lfuse_value first, lfuse_value second)
{
    const lfuse_value mask = lfuse__build_constant(s->g, 4294967295.0);
    const lfuse_value high = lfuse__op_bit_and(lfuse__to_type("lfuse_cast", first, LFUSE_I64), mask);
    const lfuse_value low = lfuse__op_bit_and(lfuse__to_type("lfuse_cast", second, LFUSE_I64), mask);
    const lfuse_value whole = lfuse__op_bit_or(lfuse__op_shl(high, lfuse__build_constant(s->g, 21)),
                                           lfuse__op_shr(low, lfuse__build_constant(s->g, 11)));

    return lfuse__op_mul(lfuse__to_type("lfuse_cast", whole, LFUSE_F64), lfuse__build_constant(s->g, 0x1p-53));
}

/* Uniform number `each` i + `at` of element i, in f32 or f64. */
static lfuse_value unit(const source *s, lfuse_type type, int bits, int each, int at)
{
    if (type == LFUSE_F64) return unit_of_words(s, word_of(s, 2 * each, 2 * at), word_of(s, 2 * each, 2 * at + 1));
    return unit_of_word(s, word_of(s, each, at), bits);
}

static bool is_random_type(lfuse_graph *g, const char *call, lfuse_type type)
{
    if (!g || !lfuse__build_type(g, call, type)) return false;
    if (lfuse__is_floating(type)) return true;
    lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: does not give type %s", call, lfuse_type_name(type));
    return false;
}

lfuse_value lfuse_random_bits(lfuse_graph *g, int rank, const lfuse_size *shape, lfuse_value seed, lfuse_value offset)
{
    source s;

    lfuse__build_begin(g, "lfuse_random_bits");
    if (!source_make(&s, "lfuse_random_bits", g, rank, shape, true, seed, offset)) return LFUSE__POISONED(g);
    return word_of(&s, 1, 0);
}

lfuse_value lfuse_random_uniform(lfuse_graph *g, lfuse_type type, int rank, const lfuse_size *shape, lfuse_value seed,
                                 lfuse_value offset)
{
    static const char call[] = "lfuse_random_uniform";
    const int bits = lfuse__is_narrow(type) ? (int)lfuse__format_of(type).fraction + 1 : 24;
    source s;

    lfuse__build_begin(g, call);
    if (!is_random_type(g, call, type) || !source_make(&s, call, g, rank, shape, true, seed, offset))
        return LFUSE__POISONED(g);
    return lfuse__to_type(call, unit(&s, type, bits, 1, 0), type);
}

lfuse_value lfuse_random_normal(lfuse_graph *g, lfuse_type type, int rank, const lfuse_size *shape, lfuse_value seed,
                                lfuse_value offset)
{
    static const char call[] = "lfuse_random_normal";
    lfuse_value radius, angle;
    source s;

    lfuse__build_begin(g, call);
    if (!is_random_type(g, call, type) || !source_make(&s, call, g, rank, shape, true, seed, offset))
        return LFUSE__POISONED(g);
    radius = lfuse__op_log(lfuse__op_sub(lfuse__build_constant(g, 1), unit(&s, type, 24, 2, 0)));
    radius = lfuse__op_sqrt(lfuse__op_mul(radius, lfuse__build_constant(g, -2)));
    angle = lfuse__op_mul(unit(&s, type, 24, 2, 1), lfuse__build_constant(g, 6.283185307179586477));
    return lfuse__to_type(call, lfuse__op_mul(radius, lfuse__op_cos(angle)), type);
}

lfuse_value lfuse_dropout(lfuse_value a, lfuse_value p, lfuse_value seed, lfuse_value offset)
{
    static const char call[] = "lfuse_dropout";
    const lfuse_value operands[] = {a, p};
    lfuse_graph *where, *g = lfuse__build_operands(call, 2, operands, &where);
    lfuse_value scaled, kept;
    lfuse_size shape[LFUSE_MAX_RANK];
    int rank, i;
    source s;

    if (!g || !lfuse__build_tensor(g, call, a.id)) return LFUSE__POISONED(where);
    if (!lfuse__is_floating((lfuse_type)g->nodes[a.id].type))
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: does not take type %s", call,
                                   lfuse_type_name((lfuse_type)g->nodes[a.id].type));
    if (g->nodes[p.id].rank || g->nodes[p.id].list)
        return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: p is no number", call);
    /* The nodes move when others are made. */
    rank = g->nodes[a.id].rank;
    for (i = 0; i < rank; i++) shape[i] = g->nodes[a.id].shape[i];
    if (!source_make(&s, call, g, rank, shape, false, seed, offset)) return LFUSE__POISONED(g);
    kept = lfuse__op_ge(unit(&s, LFUSE_F32, 24, 1, 0), p);
    p = lfuse__stopped(call, p);
    scaled = lfuse__op_mul(a, lfuse__op_reciprocal(lfuse__op_sub(lfuse__build_constant(g, 1), p)));
    return lfuse__op_where(kept, scaled, lfuse__build_constant(g, 0));
}
