/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work over a concatenation is distributed over its pieces, and the pieces of the result are concatenated instead:
 * f(concat(a, b)) = concat(f(a), f(b)), the other operands of f being sliced. So concatenations sink until they meet
 * what needs their memory as a whole: a result, a reduction along their axis, a product. There each producer stores its
 * piece in its slice. Sinking saves one store and one load of each element.
 *
 * It is not done where it saves nothing or costs more: for more than LFUSE__MOST_PIECES pieces (kernels and bodies grow
 * with them), for concatenations of what nobody computes that lie in memory as a whole anyway (read there), for
 * what is made of frozen inputs alone (once, in the prepare phase), and when the graph has grown to several times its
 * size.
 */
#include "common/plan/lower.h"

#include "common/graph/build.h"
#include "common/plan/draft.h"

/* ---- which axis of a result a piece of an operand lies along ---- */

/* Of a reshape: how many elements one step along the old axis, and one along the new axis, leads on. */
typedef struct regrouping {
    int axis;
    lfuse_size from, to;
} regrouping;

static bool regroup(lfuse_graph *g, const lfuse__node *n, const lfuse__node *x, int axis, regrouping *r)
{
    lfuse__group at = { 0, 0, 0, 0 };
    int i, first;

    do
        if (!lfuse__group_next(g, x->rank, x->shape, n->rank, n->shape, &at)) return false;
    while (axis >= at.from_end && at.from_end < x->rank);
    if (axis < at.from || axis >= at.from_end) return false; /* of one element: no piece has less */
    for (first = at.from; x->shape[first] == 1; first++) continue;
    for (r->axis = at.to; r->axis < at.to_end - 1 && n->shape[r->axis] == 1; r->axis++) continue;
    if (first != axis || r->axis >= at.to_end) return false;
    r->from = r->to = 1;
    for (i = axis + 1; i < at.from_end; i++) r->from = lfuse__size_product(g, r->from, x->shape[i]);
    for (i = r->axis + 1; i < at.to_end; i++) r->to = lfuse__size_product(g, r->to, n->shape[i]);
    return true;
}

static int behind_reduce(const lfuse__node *n, int axis)
{
    int i, at = axis;

    for (i = 0; i < n->naxes; i++) {
        if (n->axes[i] == axis) return -1;
        if (n->axes[i] < axis && !n->keepdims) at--;
    }
    return at;
}

/* The axis of the result of a node that axis `axis` of its operand i becomes; -1 when it cannot be distributed. */
int lfuse__lower_result_axis(lfuse_graph *g, const lfuse__node *n, const lfuse__node *x, int i, int axis)
{
    regrouping r;
    int k;

    switch ((lfuse__node_kind)n->kind) {
    case LFUSE__POINTWISE:
    case LFUSE__CAST:
    case LFUSE__BROADCAST: return n->list ? -1 : axis + n->rank - x->rank;
    case LFUSE__PERMUTE:
        for (k = 0; n->axes[k] != axis; k++) continue;
        return k;
    case LFUSE__SLICE: return n->axes[0] == axis ? -1 : axis;
    case LFUSE__REDUCE: return behind_reduce(n, axis);
    case LFUSE__RESHAPE: return regroup(g, n, x, axis, &r) ? r.axis : -1;
    case LFUSE__GATHER: return i == 1 && (!n->naxes || n->axes[0] == axis) ? axis : -1; /* the table stays whole */
    case LFUSE__CONCAT: return axis;
    default: return -1;
    }
}

/* ---- slices ---- */

/* The pieces of a concatenation that a range consists of, where its ends are known to lie in them. */
static int32_t slice_pieces(lfuse__lowering *l, int32_t value, lfuse_size start, lfuse_size extent)
{
    const lfuse__lowered v = l->values[value];
    int32_t kept[LFUSE__MOST_PIECES], one;
    lfuse_size at = 0, end, from, to;
    lfuse__node spec;
    int i, count = 0;

    if (!lfuse__size_is_number(start) || !lfuse__size_is_number(extent) || extent <= 0) return -1;
    for (i = 0; i < v.count && at < start + extent; i++, at = end) {
        if (!lfuse__size_is_number(lfuse__lower_extent(l, &v, i))) return -1;
        end = at + lfuse__lower_extent(l, &v, i);
        from = start > at ? start : at;
        to = start + extent < end ? start + extent : end;
        if (from >= to) continue;
        one = l->pieces[v.first + i];
        if (to - from != end - at) one = lfuse__lower_slice(l, one, v.axis, from - at, to - from);
        if (one < 0) return -1;
        kept[count++] = one;
    }
    if (count == 1) return kept[0];
    spec = v.spec;
    spec.shape[v.axis] = extent;
    return lfuse__lower_concat(l, &spec, v.axis, count, kept);
}

/* Slices go to the operands of what is read by nothing else, so that a slice does not put it into memory. */
static int32_t slice_operands(lfuse__lowering *l, int32_t value, int axis, lfuse_size start, lfuse_size extent)
{
    const lfuse__lowered v = l->values[value];
    int32_t in[3] = { -1, -1, -1 };
    lfuse__node n = v.spec;
    int i;

    for (i = 0; i < n.nin; i++) {
        const lfuse__node x = l->g->nodes[n.in[i]];
        const int own = axis - (n.rank - x.rank);
        in[i] = lfuse__lower_value(l, n.in[i]);
        if (in[i] < 0) return -1;
        if (own >= 0 && l->values[in[i]].spec.shape[own] != 1)
            in[i] = lfuse__lower_slice(l, in[i], own, start, extent);
        if (in[i] < 0) return -1;
    }
    n.shape[axis] = extent;
    return lfuse__lower_node(l, &n, in);
}

int32_t lfuse__lower_slice(lfuse__lowering *l, int32_t value, int axis, lfuse_size start, lfuse_size extent)
{
    const lfuse__lowered *v = &l->values[value];
    lfuse__node n;
    int32_t pieces;

    if (start == 0 && v->spec.shape[axis] == extent) return value;
    if (v->count && v->axis == axis && (pieces = slice_pieces(l, value, start, extent)) >= 0) return pieces;
    v = &l->values[value];
    if (v->node >= 0 && v->once && v->spec.type != LFUSE_TYPE_NONE &&
        (v->spec.kind == LFUSE__POINTWISE || (v->spec.kind == LFUSE__CAST && l->g->nodes[v->spec.in[0]].type)))
        return slice_operands(l, value, axis, start, extent);
    n = lfuse__lower_spec(l, LFUSE__SLICE, value);
    lfuse__build_set_axis(&n, axis);
    n.start = start;
    n.step = 1;
    n.shape[axis] = extent;
    return lfuse__lower_node(l, &n, &value);
}

/* ---- distributing ---- */

typedef struct cutting {
    int operand;       /* whose pieces decide */
    int axis;          /* of the result */
    int count;
    lfuse_size *extents; /* of the result's pieces along it; so the next, of the operand's pieces along its axis */
    lfuse_size *starts;
} cutting;

/* The piece of operand i that piece k of the result needs. */
static int32_t operand_piece(lfuse__lowering *l, const lfuse__node *spec, int32_t in, int i, const cutting *c, int k)
{
    const lfuse__lowered *x = &l->values[in];
    int own;

    if (i == c->operand) return l->pieces[x->first + k];
    if (spec->kind == LFUSE__MATMUL || spec->kind == LFUSE__GATHER) return in;
    own = c->axis - (spec->rank - x->spec.rank);
    if (own < 0 || (x->spec.shape[own] == 1 && spec->shape[c->axis] != 1)) return in;
    if (x->count == c->count && x->axis == own) {
        int same = 0;
        while (same < c->count && lfuse__lower_extent(l, x, same) == c->extents[same]) same++;
        if (same == c->count) return l->pieces[x->first + k];
    }
    return lfuse__lower_slice(l, in, own, c->starts[k], c->extents[k]);
}

static bool divide(lfuse_graph *g, lfuse_size elements, lfuse_size by, lfuse_size *quotient)
{
    if (elements == by || by == 1) {
        *quotient = by == 1 ? elements : 1;
        return true;
    }
    return lfuse__size_quotient(g, "sizes of a plan", elements, by, quotient);
}

/* Extents of the result's pieces along its axis. */
static bool measure(lfuse__lowering *l, const lfuse__node *spec, int32_t in, cutting *c)
{
    const lfuse__lowered *x = &l->values[in];
    regrouping r = { 0, 1, 1 };
    int i;

    if (spec->kind == LFUSE__RESHAPE && !regroup(l->g, spec, &x->spec, x->axis, &r)) return false;
    for (i = 0; i < c->count; i++) {
        const lfuse_size extent = lfuse__lower_extent(l, x, i);
        c->starts[i] = i ? lfuse__size_sum(l->g, c->starts[i - 1], c->extents[i - 1]) : 0;
        c->extents[i] = extent;
        if (spec->kind == LFUSE__RESHAPE &&
            !divide(l->g, lfuse__size_product(l->g, extent, r.from), r.to, &c->extents[i]))
            return false;
    }
    return true;
}

static int32_t distribute(lfuse__lowering *l, const lfuse__node *spec, const int32_t *in, const cutting *c)
{
    int32_t pieces[LFUSE__MOST_PIECES], of[3];
    lfuse__node n;
    int i, k;

    for (k = 0; k < c->count; k++) {
        n = *spec;
        n.shape[c->axis] = c->extents[k];
        for (i = 0; i < n.nin; i++)
            if ((of[i] = operand_piece(l, spec, in[i], i, c, k)) < 0) return -1;
        if ((pieces[k] = lfuse__lower_node(l, &n, of)) < 0) return -1;
    }
    return lfuse__lower_concat(l, spec, c->axis, c->count, pieces);
}

/* Whether operand i decides how the node is distributed. */
static bool decides(lfuse__lowering *l, const lfuse__node *spec, const int32_t *in, int i, cutting *c)
{
    const lfuse__lowered *x = &l->values[in[i]];

    if (!x->count || l->g->nnodes > l->node_limit) return false;
    if (spec->kind == LFUSE__MATMUL) c->axis = i == 0 && x->axis == 0 && lfuse__lower_is_small(l, spec, in) ? 0 : -1;
    else c->axis = lfuse__lower_result_axis(l->g, spec, &x->spec, i, x->axis);
    c->operand = i;
    c->count = x->count;
    return c->axis >= 0 && measure(l, spec, in[i], c);
}

/* The pieces of both operands as those of one; -1: this is to be memory. */
static int32_t join(lfuse__lowering *l, const lfuse__node *spec, const int32_t *in)
{
    int32_t kept[LFUSE__MOST_PIECES];
    int i, k, count = 0;

    if (l->disable & LFUSE_NO_VIEW_FUSION) return -1;
    for (i = 0; i < 2; i++) {
        const lfuse__lowered *x = &l->values[in[i]];
        const bool same = x->count && x->axis == spec->axes[0];
        if (count + (same ? x->count : 1) > LFUSE__MOST_PIECES) return -1;
        for (k = 0; k < (same ? x->count : 1); k++) kept[count++] = same ? l->pieces[x->first + k] : in[i];
    }
    return lfuse__lower_concat(l, spec, spec->axes[0], count, kept);
}

int32_t lfuse__lower_node(lfuse__lowering *l, const lfuse__node *spec, const int32_t *in)
{
    lfuse_size extents[LFUSE__MOST_PIECES], starts[LFUSE__MOST_PIECES];
    cutting c = { .extents = extents, .starts = starts };
    int32_t value;
    int i;

    for (i = 0; i < spec->nin; i++)
        if (in[i] < 0) return -1;
    if (spec->kind == LFUSE__CONCAT)
        return (value = join(l, spec, in)) >= 0 ? value : lfuse__lower_append(l, spec, in);
    if (spec->kind == LFUSE__SLICE && spec->step == 1 && l->values[in[0]].axis == spec->axes[0] &&
        (value = slice_pieces(l, in[0], spec->start, spec->shape[spec->axes[0]])) >= 0)
        return value;
    if (spec->kind == LFUSE__SCATTER_ADD) return lfuse__lower_scatter(l, spec, in);
    for (i = 0; i < spec->nin; i++)
        if (decides(l, spec, in, i, &c)) return distribute(l, spec, in, &c);
    if ((value = lfuse__lower_sink(l, spec, in)) >= 0 || l->g->status) return value;
    if (spec->kind == LFUSE__MATMUL && lfuse__lower_is_small(l, spec, in)) return lfuse__lower_columns(l, spec, in);
    return lfuse__lower_append(l, spec, in);
}
