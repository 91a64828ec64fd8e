/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around a tensor: a number, its edges, or itself mirrored. */
#include <string.h>

#include "common/graph/compose.h"
#include "libfuse/views.h"

/* What is asked for: extents as nodes hold them. */
typedef struct padding {
    lfuse_graph *g;
    const char *call;
    int rank;
    lfuse_size before[LFUSE_MAX_RANK], after[LFUSE_MAX_RANK];
} padding;

static bool read_padding(padding *p, const char *call, lfuse_value a, const lfuse_size *before,
                         const lfuse_size *after, lfuse_graph **where)
{
    memset(p, 0, sizeof *p);
    p->call = call;
    p->g = lfuse__build_operands(call, 1, &a, where);
    if (!p->g || !lfuse__build_tensor(p->g, call, a.id)) return false;
    p->rank = p->g->nodes[a.id].rank;
    return (!before || lfuse__build_shape(p->g, call, p->rank, before, p->before)) &&
           (!after || lfuse__build_shape(p->g, call, p->rank, after, p->after));
}

/* One after the other along the axis. */
static lfuse_value joined(const padding *p, lfuse_value a, lfuse_value b, int axis)
{
    if (a.id < 0 || b.id < 0) return LFUSE__POISONED(p->g);
    return lfuse__build_concat(p->g, p->call, a.id, b.id, axis);
}

/* `extent` times the value along the axis, where its extent is 1, or of a number. */
static lfuse_value repeated(const padding *p, lfuse_value v, const lfuse_size *like, int axis, lfuse_size extent)
{
    lfuse_size shape[LFUSE_MAX_RANK];

    if (v.id < 0) return v;
    memcpy(shape, like, sizeof shape);
    shape[axis] = extent;
    return lfuse__build_broadcast(p->g, p->call, v.id, p->rank, shape);
}

/* ---- a number ---- */

static lfuse_value number_around(const padding *p, lfuse_value a, lfuse_value number, int axis)
{
    lfuse_size like[LFUSE_MAX_RANK];

    memcpy(like, p->g->nodes[a.id].shape, sizeof like);
    if (p->before[axis]) a = joined(p, repeated(p, number, like, axis, p->before[axis]), a, axis);
    if (p->after[axis]) a = joined(p, a, repeated(p, number, like, axis, p->after[axis]), axis);
    return a;
}

lfuse_value lfuse_pad(lfuse_value a, const lfuse_size *before, const lfuse_size *after, double number)
{
    static const char call[] = "lfuse_pad";
    lfuse_graph *where;
    lfuse_value v;
    padding p;
    int i;

    if (!read_padding(&p, call, a, before, after, &where)) return LFUSE__POISONED(where);
    v = lfuse__build_constant(p.g, number);
    if (v.id >= 0) v = lfuse__build_typed(p.g, call, "number", v.id, (lfuse_type)p.g->nodes[a.id].type);
    if (v.id < 0) return v;
    for (i = 0; i < p.rank && a.id >= 0; i++) a = number_around(&p, a, v, i);
    return a;
}

/* ---- edges ---- */

static lfuse_value edge(const padding *p, int32_t node, const lfuse_size *like, int axis, lfuse_size start,
                        lfuse_size extent)
{
    return repeated(p, lfuse__build_slice(p->g, p->call, node, axis, start, 1, 1), like, axis, extent);
}

static lfuse_value edges_around(const padding *p, lfuse_value a, int axis)
{
    const int32_t node = a.id;
    lfuse_size like[LFUSE_MAX_RANK], last;

    memcpy(like, p->g->nodes[node].shape, sizeof like);
    if (p->before[axis]) a = joined(p, edge(p, node, like, axis, 0, p->before[axis]), a, axis);
    if (!p->after[axis] || a.id < 0) return a;
    if (!lfuse__size_add(p->g, p->call, like[axis], -1, &last)) return LFUSE__POISONED(p->g);
    return joined(p, a, edge(p, node, like, axis, last, p->after[axis]), axis);
}

lfuse_value lfuse_pad_edge(lfuse_value a, const lfuse_size *before, const lfuse_size *after)
{
    lfuse_graph *where;
    padding p;
    int i;

    if (!read_padding(&p, "lfuse_pad_edge", a, before, after, &where)) return LFUSE__POISONED(where);
    for (i = 0; i < p.rank && a.id >= 0; i++) a = edges_around(&p, a, i);
    return a;
}

/* ---- mirrors ---- */

/* Whether so many elements are there beside the outermost one, whatever the sizes are. */
static bool once(const padding *p, lfuse_size extent, lfuse_size amount)
{
    int64_t low, high;

    return lfuse__size_difference(p->g, extent, amount, &low, &high) && low >= 1;
}

/* Slices that run backwards on both sides. */
static lfuse_value mirrored_once(const padding *p, lfuse_value a, int axis)
{
    const int32_t node = a.id;
    const lfuse_size before = p->before[axis], after = p->after[axis];
    lfuse_size last;

    if (before) a = joined(p, lfuse__build_slice(p->g, p->call, node, axis, before, before, -1), a, axis);
    if (!after || a.id < 0) return a;
    if (!lfuse__size_add(p->g, p->call, p->g->nodes[node].shape[axis], -2, &last)) return LFUSE__POISONED(p->g);
    return joined(p, a, lfuse__build_slice(p->g, p->call, node, axis, last, after, -1), axis);
}

/*
 * Back and forth as often as it takes: with d = extent - 1, place i of the result shows element r of the axis, where r
 * is the remainder of i - before by 2 d, or 2 d - r where that is less. With d = 0 both are 0, as a remainder by 0 is.
 */
static lfuse_value mirrored(const padding *p, lfuse_value a, int axis)
{
    const lfuse_size extent = p->g->nodes[a.id].shape[axis];
    lfuse_value period, r;
    lfuse_size whole, twice;

    if (!lfuse__size_add(p->g, p->call, extent, p->before[axis], &whole) ||
        !lfuse__size_add(p->g, p->call, whole, p->after[axis], &whole) ||
        !lfuse__size_multiply(p->g, p->call, extent, 2, &twice) ||
        !lfuse__size_add(p->g, p->call, twice, -2, &twice))
        return LFUSE__POISONED(p->g);
    period = lfuse__to_type(p->call, lfuse__build_extent_number(p->g, p->call, twice), LFUSE_I64);
    r = lfuse__to_type(p->call, lfuse__build_extent_number(p->g, p->call, p->before[axis]), LFUSE_I64);
    r = lfuse__op_sub(lfuse__build_index(p->g, p->call, 1, &whole), r);
    r = lfuse__op_remainder(r, period);
    r = lfuse__op_min(r, lfuse__op_sub(period, r));
    return r.id < 0 ? r : lfuse__build_index_select(p->g, p->call, a.id, r.id, axis);
}

static lfuse_value mirrors_around(const padding *p, lfuse_value a, int axis)
{
    const lfuse_size extent = p->g->nodes[a.id].shape[axis];
    int64_t low, high;

    if (!p->before[axis] && !p->after[axis]) return a;
    if (once(p, extent, p->before[axis]) && once(p, extent, p->after[axis])) return mirrored_once(p, a, axis);
    lfuse__size_bounds(p->g, extent, &low, &high);
    if (low > 0) return mirrored(p, a, axis);
    return lfuse__graph_poison(p->g, LFUSE_ERR_SHAPE, "%s: axis %d of %s %s empty: there is nothing to mirror", p->call,
                               axis, lfuse__describe(p->g, a.id).text, high ? "may be" : "is");
}

lfuse_value lfuse_pad_reflect(lfuse_value a, const lfuse_size *before, const lfuse_size *after)
{
    lfuse_graph *where;
    padding p;
    int i;

    if (!read_padding(&p, "lfuse_pad_reflect", a, before, after, &where)) return LFUSE__POISONED(where);
    for (i = 0; i < p.rank && a.id >= 0; i++) a = mirrors_around(&p, a, i);
    return a;
}
