/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule of products: with y = a b, the cotangent of a is g b^T and that of b is a^T g, with the precision of the
 * product. Both factors of a product of 16 bits are of 16 bits again, its sums are f32. The cotangent of a product of 8
 * bits stays f32: 8 bits hold too few of the numbers that it may have.
 */
#include "common/base/half.h"
#include "common/graph/gradient.h"

static bool has_16_bits(lfuse_type type)
{
    return lfuse__is_narrow(type) && lfuse_type_size(type) == 2;
}

static lfuse_value transposed(const lfuse__backward *b, lfuse_value v)
{
    int axes[LFUSE_MAX_RANK], i, rank;

    if (v.id < 0) return v;
    rank = b->g->nodes[v.id].rank;
    for (i = 0; i < rank; i++) axes[i] = i;
    axes[rank - 1] = rank - 2;
    axes[rank - 2] = rank - 1;
    return lfuse__build_permute(b->g, b->call, v.id, axes);
}

/* A product in f32 or f64; of lists with the operands transposed that `set` names. */
static lfuse_value product(const lfuse__backward *b, const lfuse__node *n, lfuse_value x, lfuse_value y, unsigned set)
{
    lfuse__product_form f = {LFUSE_TYPE_NONE, (lfuse_precision)n->op, true, set};

    if (x.id < 0 || y.id < 0) return LFUSE__POISONED(b->g);
    f.type = lfuse__wide_type((lfuse_type)n->type);
    return lfuse__build_product(b->g, b->call, x.id, y.id, f);
}

/*
 * The cotangent of operand `which` of a product of lists. Bit i of `set` says whether operand i was transposed. Where
 * the operand itself was, its cotangent is transposed too, so that the factors change places.
 */
static lfuse_value of_list(const lfuse__backward *b, const lfuse__node *n, int which, unsigned set, lfuse_value g,
                           lfuse_value other)
{
    const bool own = set >> which & 1, others = set >> (1 - which) & 1;
    const bool first = (which != 0) == own; /* whether g is the first factor */

    if (which == 0) return first ? product(b, n, g, other, others ? 0 : 2) : product(b, n, other, g, others ? 3 : 2);
    return first ? product(b, n, g, other, others ? 3 : 1) : product(b, n, other, g, others ? 0 : 1);
}

void lfuse__gradient_matmul(lfuse__backward *b, int32_t id, lfuse_value g)
{
    const lfuse__node n = b->g->nodes[id];
    const lfuse_type of_a = (lfuse_type)b->g->nodes[n.in[0]].type, of_b = (lfuse_type)b->g->nodes[n.in[1]].type;
    unsigned set = 0;
    int i;

    for (i = 0; i < n.naxes; i++) set |= 1u << n.axes[i];
    g = lfuse__gradient_expand(b, id, g);
    if (of_a == of_b && has_16_bits(of_a)) g = lfuse__to_type(b->call, g, of_a);
    for (i = 0; i < 2 && g.id >= 0; i++) {
        const int32_t in = n.in[i];
        lfuse_value v, other;
        if (!lfuse__gradient_needs(b, in)) continue;
        other = lfuse__gradient_stored(b, n.in[1 - i]);
        if (n.list) v = of_list(b, &n, i, set, g, other);
        else if (i == 0) v = product(b, &n, g, transposed(b, other), 0);
        else v = product(b, &n, transposed(b, other), g, 0);
        lfuse__gradient_add(b, in, lfuse__to_type(b->call, v, lfuse__wide_type((lfuse_type)b->g->nodes[in].type)));
    }
}
