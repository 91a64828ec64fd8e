/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures: the loop that a node would run in, so which nodes one kernel can hold. A row kernel runs over a shape of
 * which a set of axes is reduced; the root, the first REDUCE of that shape and those axes, stands for both. A node with
 * a root is of the element (it has the root's shape) or of the row (it has one element for each row). Without root a
 * node runs over its own shape alone.
 *
 * REDUCEs have the signature of their operand's shape and axes. A SCAN is of the element and a root for itself alone: a
 * kernel has one scan, and no reductions. A pointwise node takes that of an operand that it can
 * be computed with: of the one with which it can run earliest, of equal ones the first. What reads nothing that has a
 * root takes that of its readers: of the one that runs earliest, of equal ones the lowest node. So elements that feed
 * reductions over different axes go with one of them, and the others read them from memory or compute them themselves.
 * Single numbers made of nothing that has a root have none: every kernel that reads them computes them itself.
 */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum { ROUNDS = 8 }; /* of spreading to and fro; what has no signature after them runs in kernels of its own */

/* The REDUCE's operand: its shape is that of the loop. */
static const lfuse__node *loop_of(const lfuse__draft *d, int32_t root)
{
    return lfuse__draft_node(d, lfuse__draft_node(d, root)->in[0]);
}

static unsigned reduced_axes(const lfuse__draft *d, int32_t root)
{
    const lfuse__node *r = lfuse__draft_node(d, root);
    unsigned set = 0;
    int i;

    for (i = 0; i < r->naxes; i++) set |= 1u << r->axes[i];
    return set;
}

static void identity(int8_t *axis, int rank)
{
    int i;

    for (i = 0; i < LFUSE_MAX_RANK; i++) axis[i] = (int8_t)(i < rank ? i : -1);
}

/* ---- roots ---- */

typedef struct reduction {
    const lfuse__draft *d;
    int32_t node;
} reduction;

static bool is_scan(const lfuse__draft *d, int32_t node)
{
    return lfuse__draft_node(d, node)->kind == LFUSE__SCAN;
}

static int by_loop(const void *a, const void *b)
{
    const reduction *x = a, *y = b;
    const lfuse__node *s = loop_of(x->d, x->node), *t = loop_of(y->d, y->node);
    const unsigned u = reduced_axes(x->d, x->node), v = reduced_axes(y->d, y->node);
    int order;

    if (is_scan(x->d, x->node) != is_scan(y->d, y->node)) return is_scan(x->d, x->node) ? -1 : 1;
    if (s->rank != t->rank) return s->rank < t->rank ? -1 : 1;
    if (u != v) return u < v ? -1 : 1;
    order = memcmp(s->shape, t->shape, (size_t)s->rank * sizeof *s->shape);
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

static bool same_loop(const reduction *x, const reduction *y)
{
    const lfuse__node *s = loop_of(x->d, x->node), *t = loop_of(y->d, y->node);

    return !is_scan(x->d, x->node) && !is_scan(y->d, y->node) && lfuse__same_shape(s, t) &&
           reduced_axes(x->d, x->node) == reduced_axes(y->d, y->node);
}

static void sign_reduction(lfuse__draft *d, int32_t node, int32_t root)
{
    const lfuse__node *n = lfuse__draft_node(d, node), *loop = loop_of(d, node);
    const unsigned reduced = reduced_axes(d, node);
    lfuse__signature *s = &d->nodes[node].signature;
    int i, own = 0;

    s->root = is_scan(d, node) ? node : root;
    if (is_scan(d, node)) return;
    s->row = true;
    memset(s->frame, -1, sizeof s->frame);
    for (i = 0; i < loop->rank; i++) {
        const bool kept = !(reduced & 1u << i);
        if (kept) s->frame[own] = (int8_t)i;
        if (kept || n->keepdims) own++;
    }
}

static lfuse_status sign_reductions(lfuse__draft *d)
{
    reduction *all = lfuse__arena_array(&d->round, (size_t)d->g->nnodes, sizeof *all);
    int32_t node;
    int i, count = 0, first = 0;

    if (!all) return LFUSE_ERR_MEMORY;
    for (node = 0; node < d->g->nnodes; node++)
        if (lfuse__draft_is_root(d, node)) all[count++] = (reduction){ d, node };
    qsort(all, (size_t)count, sizeof *all, by_loop);
    for (i = 0; i < count; i++) {
        if (!same_loop(&all[first], &all[i])) first = i;
        sign_reduction(d, all[i].node, all[first].node);
    }
    return LFUSE_OK;
}

/* ---- which walks keep to the row ---- */

/* Axis of the base that each of the walker's axes is; false where the walk is anything but that. */
static bool plain(const lfuse__draft *d, const lfuse__node *walker, const lfuse__view *walk, int8_t *to)
{
    const lfuse__node *base = lfuse__draft_node(d, walk->base);
    int8_t own[LFUSE_MAX_RANK]; /* axis of the base that each axis of the walk's shape is */
    unsigned seen = 0;
    int i;

    if (walk->gathered >= 0 || base->list ||
        !lfuse__match_axes(walk->rank, walk->shape, base->rank, base->shape, own))
        return false;
    memset(to, -1, LFUSE_MAX_RANK);
    for (i = 0; i < walk->rank; i++)
        if (walk->offset[i] != 0) return false;
    for (i = 0; i < walker->rank; i++) {
        const int at = walk->axis[i] < 0 ? -1 : own[walk->axis[i]];
        if (at < 0) continue;
        if (seen & 1u << at || walk->step[i] != 1 || walker->shape[i] != base->shape[at]) return false;
        seen |= 1u << at;
        to[i] = (int8_t)at;
    }
    return true;
}

/* Whether the walker, of this signature, reads each element of its own row (or itself) of the base, whose is `from`. */
static bool keeps_row(const lfuse__draft *d, const lfuse__signature *s, int32_t node, const lfuse__signature *from,
                      const lfuse__view *walk)
{
    const lfuse__node *loop = loop_of(d, s->root), *n = lfuse__draft_node(d, node);
    const unsigned reduced = reduced_axes(d, s->root);
    int8_t walked[LFUSE_MAX_RANK]; /* axis of the loop, as which the base sees it */
    int8_t to[LFUSE_MAX_RANK];
    int i;

    if (!from->row) return !s->row && lfuse__draft_same_index(d, node, walk);
    if (!plain(d, n, walk, to)) return false;
    memset(walked, -1, sizeof walked);
    for (i = 0; i < n->rank; i++) {
        const int at = s->row ? s->frame[i] : i;
        if (at >= 0 && to[i] >= 0) walked[at] = from->frame[to[i]];
    }
    for (i = 0; i < loop->rank; i++) {
        if (loop->shape[i] == 1) continue;
        if (reduced & 1u << i ? walked[i] >= 0 : walked[i] != i) return false;
    }
    return true;
}

/* The signature of `node` with the root of its operand, where it can have that. */
static bool behind(const lfuse__draft *d, int32_t node, const lfuse__signature *from, const lfuse__view *walk,
                   lfuse__signature *s)
{
    const lfuse__node *n = lfuse__draft_node(d, node), *loop = loop_of(d, from->root);
    int8_t to[LFUSE_MAX_RANK];
    int i;

    s->root = from->root;
    s->row = false;
    identity(s->frame, n->rank);
    if (lfuse__same_shape(n, loop) && keeps_row(d, s, node, from, walk)) return true;
    if (!from->row || !plain(d, n, walk, to)) return false;
    s->row = true;
    memset(s->frame, -1, sizeof s->frame);
    for (i = 0; i < n->rank; i++) {
        if (to[i] >= 0) s->frame[i] = from->frame[to[i]];
        if (s->frame[i] < 0 && n->shape[i] != 1) return false;
    }
    return keeps_row(d, s, node, from, walk);
}

/* The signature of the operand that `walker` reads so, with the root of that, where it can have it. */
static bool before(const lfuse__draft *d, int32_t walker, const lfuse__signature *to, const lfuse__view *walk,
                   lfuse__signature *s)
{
    const lfuse__node *n = lfuse__draft_node(d, walker);
    int8_t axes[LFUSE_MAX_RANK];
    int i;

    s->root = to->root;
    s->row = false;
    identity(s->frame, lfuse__draft_node(d, walk->base)->rank);
    if (!to->row && lfuse__draft_same_index(d, walker, walk)) return true;
    if (!plain(d, n, walk, axes)) return false;
    s->row = true;
    memset(s->frame, -1, sizeof s->frame);
    for (i = 0; i < n->rank; i++)
        if (axes[i] >= 0) s->frame[axes[i]] = to->row ? to->frame[i] : (int8_t)i;
    return keeps_row(d, to, walker, s, walk);
}

/* ---- spreading ---- */

/* What the operand map of `reader` belongs to, and the signature that this has. */
static int32_t walker(const lfuse__draft *d, int32_t reader, lfuse__signature *s)
{
    const lfuse__node *n = lfuse__draft_node(d, reader);

    *s = d->nodes[reader].signature;
    if (!lfuse__draft_is_root(d, reader)) return reader;
    s->row = false;
    identity(s->frame, lfuse__draft_node(d, n->in[0])->rank);
    return n->in[0];
}

static bool can_have_root(const lfuse__draft *d, int32_t node)
{
    return lfuse__draft_pointwise(d, node) && !lfuse__draft_immediate(d, node) && !lfuse__draft_node(d, node)->list &&
           d->nodes[node].scope == LFUSE__SCOPE_NONE;
}

/* Whether two nodes may be in one kernel at all, whatever their loops. */
static bool allowed(const lfuse__draft *d, int32_t producer, int32_t node)
{
    const bool computes = lfuse__draft_pointwise(d, producer) || lfuse__draft_pointwise(d, node);

    return !d->nodes[producer].cut && d->nodes[producer].prepared == d->nodes[node].prepared &&
           !lfuse__draft_alone(d, producer) && !lfuse__draft_alone(d, node) &&
           !(computes && d->disable & LFUSE_NO_POINTWISE_FUSION);
}

/* The level at which the node could run with this signature. */
static int32_t level_with(const lfuse__draft *d, int32_t node, const lfuse__signature *s)
{
    lfuse__view walk;
    int32_t level = 0;
    int i;

    for (i = 0; i < lfuse__draft_node(d, node)->nin; i++) {
        const int32_t base = lfuse__draft_operand(d, node, i, &walk);
        const lfuse__signature *from = &d->nodes[base].signature;
        int32_t step = 1;
        if (!lfuse__draft_computes(d, base)) continue;
        if (allowed(d, base, node) && (from->root < 0 || (from->root == s->root && keeps_row(d, s, node, from, &walk))))
            step = 0;
        if (d->nodes[base].level + step > level) level = d->nodes[base].level + step;
    }
    return level;
}

/* Takes a signature from an operand; true when there was one. */
static bool take_behind(lfuse__draft *d, int32_t node)
{
    lfuse__signature s, best = d->nodes[node].signature;
    lfuse__view walk;
    int32_t level = 0;
    int i;

    for (i = 0; i < lfuse__draft_node(d, node)->nin; i++) {
        const int32_t base = lfuse__draft_operand(d, node, i, &walk);
        const lfuse__signature *from = &d->nodes[base].signature;
        int32_t with;
        if (from->root < 0 || !allowed(d, base, node) || !behind(d, node, from, &walk, &s)) continue;
        with = level_with(d, node, &s);
        if (best.root >= 0 && with >= level) continue;
        best = s;
        level = with;
    }
    d->nodes[node].signature = best;
    return best.root >= 0;
}

static bool spread_forward(lfuse__draft *d)
{
    bool any = false;
    int32_t node;

    for (node = 0; node < d->g->nnodes; node++) {
        if (!lfuse__draft_computes(d, node)) continue;
        if (d->nodes[node].signature.root < 0 && can_have_root(d, node)) any = take_behind(d, node) || any;
        d->nodes[node].level = level_with(d, node, &d->nodes[node].signature);
    }
    return any;
}

/* Readers come in descending order, so that what they offer is complete when the operand itself is reached. */
static bool spread_backward(lfuse__draft *d, int32_t *level)
{
    lfuse__signature to, s;
    lfuse__view walk;
    bool any = false;
    int32_t node;
    int i;

    for (node = 0; node < d->g->nnodes; node++) level[node] = d->nodes[node].signature.root >= 0 ? -1 : INT32_MAX;
    for (node = d->g->nnodes - 1; node >= 0; node--) {
        const int32_t through = lfuse__draft_computes(d, node) ? walker(d, node, &to) : -1;
        for (i = 0; through >= 0 && to.root >= 0 && i < lfuse__draft_node(d, node)->nin; i++) {
            const int32_t base = lfuse__draft_operand(d, node, i, &walk);
            if (level[base] < d->nodes[node].level || !can_have_root(d, base) || !lfuse__draft_node(d, base)->rank ||
                !allowed(d, base, node) ||
                !before(d, through, &to, &walk, &s))
                continue;
            any = true;
            level[base] = d->nodes[node].level;
            d->nodes[base].signature = s;
        }
    }
    return any;
}

void lfuse__draft_sign_own(lfuse__draft *d, int32_t node)
{
    lfuse__signature *s = &d->nodes[node].signature;

    s->root = -1;
    s->row = false;
    identity(s->frame, lfuse__draft_node(d, node)->rank);
}

lfuse_status lfuse__pass_signatures(lfuse__draft *d)
{
    const int32_t n = d->g->nnodes;
    int32_t *level, node;
    bool more = !(d->disable & LFUSE_NO_ROW_FUSION);
    int i;

    for (node = 0; node < n; node++) lfuse__draft_sign_own(d, node);
    LFUSE__TRY(sign_reductions(d));
    level = lfuse__arena_array(&d->round, (size_t)n, sizeof *level);
    if (!level) return LFUSE_ERR_MEMORY;
    for (i = 0; i < ROUNDS && more; i++) {
        more = spread_forward(d);
        more = spread_backward(d, level) || more;
    }
    return LFUSE_OK;
}

bool lfuse__draft_fuses(const lfuse__draft *d, int32_t producer, int32_t node, const lfuse__view *walk)
{
    const lfuse__signature *from = &d->nodes[producer].signature;
    lfuse__signature to;
    int32_t through;

    if (d->nodes[producer].scope || d->nodes[node].scope)
        return lfuse__draft_scopes_fuse(d, producer, node) && !d->nodes[producer].inlined && !d->nodes[node].inlined &&
               allowed(d, producer, node);
    if (!lfuse__draft_is_root(d, producer) && !lfuse__draft_pointwise(d, producer)) return false;
    if (!lfuse__draft_is_root(d, node) && !lfuse__draft_pointwise(d, node)) return false;
    if (d->nodes[producer].inlined || d->nodes[node].inlined || !allowed(d, producer, node)) return false;
    through = walker(d, node, &to);
    if (from->root != to.root) return false;
    if (to.root < 0) return lfuse__draft_same_index(d, node, walk);
    return keeps_row(d, &to, through, from, walk);
}

/* ---- the loop of a unit ---- */

void lfuse__draft_loop(const lfuse__draft *d, int32_t node, lfuse__unit_loop *loop)
{
    const int32_t root = d->nodes[node].signature.root;
    const lfuse__node *n = root < 0 ? lfuse__draft_node(d, node) : loop_of(d, root);
    const unsigned reduced = root < 0 ? 0 : reduced_axes(d, root);
    int i, pass;

    memset(loop, 0, sizeof *loop);
    memset(loop->axis, -1, sizeof loop->axis);
    for (pass = 0; pass < 2; pass++)
        for (i = 0; i < n->rank; i++) {
            if ((reduced >> i & 1) != (unsigned)pass) continue;
            loop->axis[loop->rank] = (int8_t)i;
            loop->extents[loop->rank++] = n->shape[i];
            loop->naxes += pass;
        }
}

void lfuse__draft_frame(const lfuse__draft *d, int32_t node, const lfuse__unit_loop *loop, lfuse__view *walk)
{
    const lfuse__signature *s = &d->nodes[node].signature;
    const lfuse__node *n = lfuse__draft_node(d, node);
    int i, k;

    lfuse__view_identity(d, node, walk);
    memset(walk->axis, -1, sizeof walk->axis);
    memset(walk->step, 0, sizeof walk->step);
    for (i = 0; i < n->rank; i++)
        for (k = 0; k < loop->rank && s->frame[i] >= 0; k++) {
            if (loop->axis[k] != s->frame[i]) continue;
            walk->axis[k] = (int8_t)i;
            walk->step[k] = 1;
        }
}

void lfuse__draft_reduced(const lfuse__draft *d, int32_t node, const lfuse__unit_loop *loop, lfuse__view *walk)
{
    lfuse__view_identity(d, lfuse__draft_node(d, node)->in[0], walk);
    memcpy(walk->axis, loop->axis, sizeof walk->axis);
}
