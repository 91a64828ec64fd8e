/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/*
 * Graph to graph, before everything else. Work over a concatenation is distributed over its pieces, and the pieces of
 * the result are concatenated instead: f(concat(a, b)) = concat(f(a), f(b)), the other operands of f being sliced. So
 * concatenations sink until they meet what needs their memory as a whole: a result, a reduction along their axis, a
 * product. There each producer stores its piece in its part. Sinking saves one store and one load of each element.
 *
 * It is not done where it saves nothing or costs more: for more than MOST_PIECES pieces (kernels and bodies grow with
 * them), for concatenations of what nobody computes that lie in memory as a whole anyway (they are read there), for
 * what is made of frozen inputs alone (once, in the prepare phase), and when the graph has grown to several times its
 * size.
 */
#include "common/plan/lower.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/graph/build.h"
#include "common/plan/draft.h"

enum { MOST_PIECES = 64 };

/* ---- values ---- */

static int32_t new_value(lfuse__lowering *l, const lfuse__node *form, int32_t node)
{
    if (!lfuse__build_grow((void **)&l->values, l->nvalues, &l->value_capacity, sizeof *l->values)) {
        lfuse__graph_poison(l->g, LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d values)",
                            (int)l->nvalues);
        return -1;
    }
    l->values[l->nvalues] = (lfuse__lowered){ .form = *form, .node = node, .axis = -1, .once = true };
    return l->nvalues++;
}

static bool add_piece(lfuse__lowering *l, int32_t piece)
{
    if (piece < 0) return false;
    if (!lfuse__build_grow((void **)&l->pieces, l->npieces, &l->piece_capacity, sizeof *l->pieces)) {
        lfuse__graph_poison(l->g, LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d pieces)",
                            (int)l->npieces);
        return false;
    }
    l->pieces[l->npieces++] = piece;
    return true;
}

static lfuse_size piece_extent(const lfuse__lowering *l, const lfuse__lowered *v, int i)
{
    return l->values[l->pieces[v->first + i]].form.shape[v->axis];
}

lfuse__node lfuse__lower_form(const lfuse__lowering *l, lfuse__node_kind kind, int32_t like)
{
    const lfuse__node *n = &l->values[like].form;
    lfuse__node form = lfuse__build_node(kind, (lfuse_type)n->type);

    form.nin = 1;
    form.list = n->list;
    form.rank = n->rank;
    memcpy(form.shape, n->shape, sizeof form.shape);
    return form;
}

/* ---- making nodes ---- */

static int32_t append(lfuse__lowering *l, const lfuse__node *n)
{
    if (!lfuse__build_grow((void **)&l->value_of, l->g->nnodes, &l->node_capacity, sizeof *l->value_of)) {
        lfuse__graph_poison(l->g, LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d nodes)",
                            (int)l->g->nnodes);
        return -1;
    }
    l->value_of[l->g->nnodes] = -1;
    return lfuse__build_append(l->g, "plan", n).id;
}

static int32_t made(lfuse__lowering *l, int32_t value);

/* A chain of concatenations, the first pieces innermost. */
static int32_t make_concat(lfuse__lowering *l, int32_t value)
{
    const lfuse__lowered v = l->values[value];
    lfuse__node n = lfuse__lower_form(l, LFUSE__CONCAT, value);
    int32_t node = made(l, l->pieces[v.first]);
    int i;

    n.nin = 2;
    n.naxes = 1;
    n.axes[0] = (int8_t)v.axis;
    n.shape[v.axis] = piece_extent(l, &v, 0);
    for (i = 1; i < v.count && node >= 0; i++) {
        n.in[0] = node;
        n.in[1] = made(l, l->pieces[v.first + i]);
        n.shape[v.axis] = lfuse__size_sum(l->g, n.shape[v.axis], piece_extent(l, &v, i));
        node = n.in[1] < 0 ? -1 : append(l, &n);
    }
    return node;
}

/* The node of a value. */
static int32_t made(lfuse__lowering *l, int32_t value)
{
    int32_t node;

    if (value < 0) return -1;
    if (l->values[value].node < 0) {
        node = make_concat(l, value);
        if (node >= 0) l->values[value].form = l->g->nodes[node];
        l->values[value].node = node;
    }
    return l->values[value].node;
}

static bool of_rows(const lfuse__lowering *l, const lfuse__node *n, const int32_t *in)
{
    bool any = n->kind == LFUSE__REDUCE;
    int i;

    if (n->kind != LFUSE__POINTWISE && n->kind != LFUSE__CAST && n->kind != LFUSE__BROADCAST) return any;
    for (i = 0; i < n->nin; i++) any = any || l->values[in[i]].rows;
    return any;
}

int32_t lfuse__lower_value(lfuse__lowering *l, int32_t node)
{
    const lfuse__node form = l->g->nodes[node];

    return l->value_of[node] >= 0 ? l->value_of[node] : new_value(l, &form, node);
}

static int32_t make_node(lfuse__lowering *l, const lfuse__node *form, const int32_t *in)
{
    lfuse__node n = *form;
    int32_t node;
    int i;

    for (i = 0; i < n.nin; i++)
        if ((n.in[i] = made(l, in[i])) < 0) return -1;
    node = append(l, &n);
    if (node < 0) return -1;
    l->value_of[node] = new_value(l, &n, node);
    if (l->value_of[node] >= 0) l->values[l->value_of[node]].rows = of_rows(l, &n, in);
    return l->value_of[node];
}

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
static int behind(lfuse_graph *g, const lfuse__node *n, const lfuse__node *x, int i, int axis)
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
    case LFUSE__GATHER: return i == 1 ? axis : -1;
    case LFUSE__CONCAT: return axis;
    default: return -1;
    }
}

/* ---- slices ---- */

/* The pieces of a concatenation that a range consists of, where its ends are known to lie in them. */
static int32_t slice_pieces(lfuse__lowering *l, int32_t value, lfuse_size start, lfuse_size extent)
{
    const lfuse__lowered v = l->values[value];
    int32_t kept[MOST_PIECES], one;
    lfuse_size at = 0, end, from, to;
    int i, count = 0;

    if (!lfuse__size_literal(start) || !lfuse__size_literal(extent) || extent <= 0) return -1;
    for (i = 0; i < v.count && at < start + extent; i++, at = end) {
        if (!lfuse__size_literal(piece_extent(l, &v, i))) return -1;
        end = at + piece_extent(l, &v, i);
        from = start > at ? start : at;
        to = start + extent < end ? start + extent : end;
        if (from >= to) continue;
        one = l->pieces[v.first + i];
        if (to - from != end - at) one = lfuse__lower_slice(l, one, v.axis, from - at, to - from);
        if (one < 0) return -1;
        kept[count++] = one;
    }
    if (count == 1) return kept[0];
    one = new_value(l, &v.form, -1);
    if (one < 0) return -1;
    l->values[one].form.shape[v.axis] = extent;
    l->values[one].axis = v.axis;
    l->values[one].count = count;
    l->values[one].first = l->npieces;
    for (i = 0; i < count; i++)
        if (!add_piece(l, kept[i])) return -1;
    return one;
}

/* Slices go to the operands of what is read by nothing else, so that a slice does not put it into memory. */
static int32_t slice_operands(lfuse__lowering *l, int32_t value, int axis, lfuse_size start, lfuse_size extent)
{
    const lfuse__lowered v = l->values[value];
    int32_t in[3] = { -1, -1, -1 };
    lfuse__node n = v.form;
    int i;

    for (i = 0; i < n.nin; i++) {
        const lfuse__node x = l->g->nodes[n.in[i]];
        const int own = axis - (n.rank - x.rank);
        in[i] = lfuse__lower_value(l, n.in[i]);
        if (in[i] < 0) return -1;
        if (own >= 0 && l->values[in[i]].form.shape[own] != 1)
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

    if (start == 0 && v->form.shape[axis] == extent) return value;
    if (v->count && v->axis == axis && (pieces = slice_pieces(l, value, start, extent)) >= 0) return pieces;
    v = &l->values[value];
    if (v->node >= 0 && v->once && v->form.type != LFUSE_TYPE_NONE &&
        (v->form.kind == LFUSE__POINTWISE || (v->form.kind == LFUSE__CAST && l->g->nodes[v->form.in[0]].type)))
        return slice_operands(l, value, axis, start, extent);
    n = lfuse__lower_form(l, LFUSE__SLICE, value);
    n.naxes = 1;
    n.axes[0] = (int8_t)axis;
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

/* The operand's part for piece k of the result. */
static int32_t operand_part(lfuse__lowering *l, const lfuse__node *form, int32_t in, int i, const cutting *c, int k)
{
    const lfuse__lowered *x = &l->values[in];
    int own;

    if (i == c->operand) return l->pieces[x->first + k];
    if (form->kind == LFUSE__MATMUL || form->kind == LFUSE__GATHER) return in;
    own = c->axis - (form->rank - x->form.rank);
    if (own < 0 || (x->form.shape[own] == 1 && form->shape[c->axis] != 1)) return in;
    if (x->count == c->count && x->axis == own) {
        int same = 0;
        while (same < c->count && piece_extent(l, x, same) == c->extents[same]) same++;
        if (same == c->count) return l->pieces[x->first + k];
    }
    return lfuse__lower_slice(l, in, own, c->starts[k], c->extents[k]);
}

static bool divide(lfuse_graph *g, lfuse_size elements, lfuse_size by, lfuse_size *quotient)
{
    lfuse__size_form a, b, q;

    if (elements == by || by == 1) {
        *quotient = by == 1 ? elements : 1;
        return true;
    }
    lfuse__form_of(g, elements, &a);
    lfuse__form_of(g, by, &b);
    return lfuse__form_divide(&a, &b, &q) && lfuse__size_of_form(g, "sizes of a plan", &q, quotient);
}

/* Extents of the result's pieces along its axis. */
static bool measure(lfuse__lowering *l, const lfuse__node *form, int32_t in, cutting *c)
{
    const lfuse__lowered *x = &l->values[in];
    regrouping r = { 0, 1, 1 };
    int i;

    if (form->kind == LFUSE__RESHAPE && !regroup(l->g, form, &x->form, x->axis, &r)) return false;
    for (i = 0; i < c->count; i++) {
        const lfuse_size extent = piece_extent(l, x, i);
        c->starts[i] = i ? lfuse__size_sum(l->g, c->starts[i - 1], c->extents[i - 1]) : 0;
        c->extents[i] = extent;
        if (form->kind == LFUSE__RESHAPE &&
            !divide(l->g, lfuse__size_product(l->g, extent, r.from), r.to, &c->extents[i]))
            return false;
    }
    return true;
}

static int32_t distribute(lfuse__lowering *l, const lfuse__node *form, const int32_t *in, const cutting *c)
{
    int32_t *parts = malloc((size_t)c->count * sizeof *parts), part[3], value = -1;
    lfuse__node n;
    int i, k;

    if (!parts) {
        lfuse__graph_poison(l->g, LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d pieces)", c->count);
        return -1;
    }
    for (k = 0; k < c->count; k++) {
        n = *form;
        n.shape[c->axis] = c->extents[k];
        for (i = 0; i < n.nin; i++)
            if ((part[i] = operand_part(l, form, in[i], i, c, k)) < 0) goto err_free_parts;
        if ((parts[k] = lfuse__lower_node(l, &n, part)) < 0) goto err_free_parts;
    }
    value = new_value(l, form, -1);
    if (value < 0) goto err_free_parts;
    l->values[value].axis = c->axis;
    l->values[value].count = c->count;
    l->values[value].first = l->npieces;
    for (k = 0; k < c->count; k++)
        if (!add_piece(l, parts[k])) value = -1;

err_free_parts:
    free(parts);
    return value;
}

/* Whether operand i decides how the node is distributed. */
static bool decides(lfuse__lowering *l, const lfuse__node *form, const int32_t *in, int i, cutting *c)
{
    const lfuse__lowered *x = &l->values[in[i]];

    if (!x->count || l->g->nnodes > l->node_limit) return false;
    if (form->kind == LFUSE__MATMUL) c->axis = i == 0 && x->axis == 0 && lfuse__lower_is_small(l, form, in) ? 0 : -1;
    else c->axis = behind(l->g, form, &x->form, i, x->axis);
    c->operand = i;
    c->count = x->count;
    return c->axis >= 0 && measure(l, form, in[i], c);
}

/* The pieces of both operands as those of one; -1: this is to be memory. */
static int32_t join(lfuse__lowering *l, const lfuse__node *form, const int32_t *in)
{
    int32_t value, kept[2 * MOST_PIECES];
    int i, k, count = 0;

    if (l->disable & LFUSE_NO_VIEW_FUSION) return -1;
    for (i = 0; i < 2; i++) {
        const lfuse__lowered *x = &l->values[in[i]];
        const bool same = x->count && x->axis == form->axes[0];
        if (count + (same ? x->count : 1) > MOST_PIECES) return -1;
        for (k = 0; k < (same ? x->count : 1); k++) kept[count++] = same ? l->pieces[x->first + k] : in[i];
    }
    value = new_value(l, form, -1);
    if (value < 0) return -1;
    l->values[value].axis = form->axes[0];
    l->values[value].count = count;
    l->values[value].first = l->npieces;
    for (i = 0; i < count; i++)
        if (!add_piece(l, kept[i])) return -1;
    return value;
}

int32_t lfuse__lower_node(lfuse__lowering *l, const lfuse__node *form, const int32_t *in)
{
    lfuse_size extents[MOST_PIECES], starts[MOST_PIECES];
    cutting c = { .extents = extents, .starts = starts };
    int32_t value;
    int i;

    for (i = 0; i < form->nin; i++)
        if (in[i] < 0) return -1;
    if (form->kind == LFUSE__CONCAT) return (value = join(l, form, in)) >= 0 ? value : make_node(l, form, in);
    if (form->kind == LFUSE__SLICE && form->step == 1 && l->values[in[0]].axis == form->axes[0] &&
        (value = slice_pieces(l, in[0], form->start, form->shape[form->axes[0]])) >= 0)
        return value;
    if (form->kind == LFUSE__SCATTER_ADD) return lfuse__lower_scatter(l, form, in);
    for (i = 0; i < form->nin; i++)
        if (decides(l, form, in, i, &c)) return distribute(l, form, in, &c);
    if ((value = lfuse__lower_sink(l, form, in)) >= 0 || l->g->status) return value;
    if (form->kind == LFUSE__MATMUL && lfuse__lower_is_small(l, form, in)) return lfuse__lower_columns(l, form, in);
    return make_node(l, form, in);
}

static bool node_computed(const lfuse_graph *g, int32_t node)
{
    const lfuse__node *n = &g->nodes[node];

    switch ((lfuse__node_kind)n->kind) {
    case LFUSE__PERMUTE:
    case LFUSE__BROADCAST:
    case LFUSE__RESHAPE:
    case LFUSE__SLICE: return node_computed(g, n->in[0]);
    case LFUSE__CAST: return g->nodes[n->in[0]].type != LFUSE_TYPE_NONE;
    case LFUSE__POINTWISE: return n->type != LFUSE_TYPE_NONE;
    case LFUSE__REDUCE:
    case LFUSE__GATHER: return true;
    case LFUSE__CONCAT: return node_computed(g, n->in[0]) && node_computed(g, n->in[1]);
    default: return false;
    }
}

bool lfuse__lower_computed(const lfuse__lowering *l, int32_t value)
{
    const lfuse__lowered *v = &l->values[value];
    int i;

    if (v->node >= 0) return node_computed(l->g, v->node);
    for (i = 0; i < v->count; i++)
        if (!lfuse__lower_computed(l, l->pieces[v->first + i])) return false;
    return true;
}

/* ---- the whole graph ---- */

/* Which values lie in memory as a whole: results, and what a reader cannot take in pieces. */
static void find_forced(lfuse__lowering *l)
{
    const lfuse_graph *g = l->from;
    int *axis = calloc((size_t)g->nnodes + 1, sizeof *axis);
    int32_t i;
    int k;

    if (!axis) {
        lfuse__graph_poison(l->g, LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d nodes)",
                            (int)g->nnodes);
        return;
    }
    for (i = 0; i < g->nnodes; i++) {
        const lfuse__node *n = &g->nodes[i];
        axis[i] = n->kind == LFUSE__CONCAT ? n->axes[0] : n->kind == LFUSE__MATMUL ? 1 : -1;
        for (k = 0; k < n->nin && axis[i] < 0; k++)
            if (axis[n->in[k]] >= 0) axis[i] = behind(l->g, n, &g->nodes[n->in[k]], k, axis[n->in[k]]);
    }
    for (i = 0; i < g->nnames; i++) {
        l->forced[g->names[i].node] = true;
        if (g->names[i].update >= 0) l->forced[g->names[i].update] = true;
    }
    for (i = g->nnodes - 1; i >= 0; i--) {
        const lfuse__node *n = &g->nodes[i];
        const bool view = n->kind == LFUSE__PERMUTE || n->kind == LFUSE__BROADCAST || n->kind == LFUSE__RESHAPE ||
                          n->kind == LFUSE__SLICE || n->kind == LFUSE__CONCAT;
        const bool range = n->kind == LFUSE__SLICE && n->step == 1 && lfuse__size_literal(n->start) &&
                           lfuse__size_literal(n->shape[n->axes[0]]);
        for (k = 0; k < n->nin; k++)
            if (axis[n->in[k]] >= 0 && !(range && axis[n->in[k]] == n->axes[0]) &&
                (behind(l->g, n, &g->nodes[n->in[k]], k, axis[n->in[k]]) < 0 || (view && l->forced[i])))
                l->forced[n->in[k]] = true;
    }
    free(axis);
}

static void count_readers(lfuse__lowering *l)
{
    int32_t i;
    int k;

    for (i = 0; i < l->from->nnodes; i++)
        for (k = 0; k < l->from->nodes[i].nin; k++) l->readers[l->from->nodes[i].in[k]]++;
    for (i = 0; i < l->from->nnames; i++) {
        if (l->from->names[i].kind == LFUSE__NAME_OUTPUT) l->readers[l->from->names[i].node]++;
        if (l->from->names[i].update >= 0) l->readers[l->from->names[i].update]++;
    }
}

static void find_frozen(lfuse__lowering *l)
{
    int32_t i;
    int k;

    for (i = 0; i < l->from->nnodes; i++) {
        const lfuse__node *n = &l->from->nodes[i];
        l->frozen[i] = n->kind == LFUSE__FROZEN ? 2 : n->kind == LFUSE__CONSTANT || n->nin;
        for (k = 0; k < n->nin && l->frozen[i]; k++) {
            const uint8_t in = l->frozen[n->in[k]];
            if (!in || in > l->frozen[i]) l->frozen[i] = in;
        }
    }
}

/* What is prepared once stays as it is; a concatenation of what nobody computes that is in memory is read there. */
static bool stays(const lfuse__lowering *l, int32_t node)
{
    if (l->from->nodes[node].kind == LFUSE__SCATTER_ADD) return false;
    if (l->frozen[node] == 2) return true;
    return l->from->nodes[node].kind == LFUSE__CONCAT && l->forced[node] && !node_computed(l->from, node);
}

static void mark_shared(lfuse__lowering *l, int32_t value)
{
    int i;

    l->values[value].once = false;
    for (i = 0; i < l->values[value].count; i++) mark_shared(l, l->pieces[l->values[value].first + i]);
}

/* Single columns that are wanted as a whole are stored at once: what follows reads rows. */
static void settle_columns(lfuse__lowering *l, int32_t value)
{
    const lfuse__lowered *v = &l->values[value];
    int i;

    if (!v->count || v->axis != v->form.rank - 1) return;
    for (i = 0; i < v->count; i++)
        if (piece_extent(l, v, i) != 1) return;
    made(l, value);
    l->values[value].count = 0;
    l->values[value].axis = -1;
}

static void lower_nodes(lfuse__lowering *l, int32_t *map)
{
    int32_t i, in[3];
    int k;

    for (i = 0; i < l->from->nnodes && !l->g->status; i++) {
        const lfuse__node *n = &l->from->nodes[i];
        for (k = 0; k < n->nin; k++) in[k] = map[n->in[k]];
        map[i] = stays(l, i) ? make_node(l, n, in) : lfuse__lower_node(l, n, in);
        if (map[i] >= 0 && l->readers[i] > 1) mark_shared(l, map[i]);
        if (map[i] >= 0 && l->forced[i]) settle_columns(l, map[i]);
    }
    for (i = 0; i < l->g->nnames && !l->g->status; i++) {
        l->g->names[i].node = made(l, map[l->from->names[i].node]);
        if (l->from->names[i].update >= 0) l->g->names[i].update = made(l, map[l->from->names[i].update]);
    }
}

static void *duplicate(const void *data, int32_t count, size_t element)
{
    void *p = malloc((size_t)(count ? count : 1) * element);

    if (p && count) memcpy(p, data, (size_t)count * element);
    return p;
}

/* An empty graph with the sizes and names of another. */
static lfuse_graph *frame_of(const lfuse_graph *from)
{
    lfuse_graph *g = lfuse_graph_create();

    if (!g) return NULL;
    g->sizes = duplicate(from->sizes, from->nsizes, sizeof *from->sizes);
    g->names = duplicate(from->names, from->nnames, sizeof *from->names);
    if (!g->sizes || !g->names) {
        lfuse_graph_destroy(g);
        return NULL;
    }
    g->nsizes = from->nsizes;
    g->size_capacity = from->nsizes ? from->nsizes : 1;
    g->nnames = from->nnames;
    g->name_capacity = from->nnames ? from->nnames : 1;
    g->tag = from->tag;
    return g;
}

lfuse_status lfuse__graph_lower(const lfuse_graph *from, unsigned disable, lfuse_graph **lowered)
{
    const size_t n = (size_t)from->nnodes + 1;
    lfuse__lowering l = { .from = from, .disable = disable, .node_limit = 8 * from->nnodes + 1024 };
    int32_t *map = calloc(n, sizeof *map);
    lfuse_status status = LFUSE_ERR_MEMORY;

    l.readers = calloc(n, sizeof *l.readers);
    l.frozen = calloc(n, sizeof *l.frozen);
    l.forced = calloc(n, sizeof *l.forced);
    l.g = frame_of(from);
    if (!map || !l.readers || !l.frozen || !l.forced || !l.g) {
        lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%zu nodes)", n);
        goto err_free_all;
    }
    find_frozen(&l);
    find_forced(&l);
    count_readers(&l);
    lower_nodes(&l, map);
    status = lfuse_graph_check(l.g);
    if (!status) status = lfuse__graph_canonical(l.g, lowered);

err_free_all:
    lfuse_graph_destroy(l.g);
    free(l.forced);
    free(l.frozen);
    free(l.readers);
    free(l.value_of);
    free(l.pieces);
    free(l.values);
    free(map);
    return status;
}
