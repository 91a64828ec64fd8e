/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of an axis from one place to another, as Python's slices. */
#include "common/graph/build.h"
#include "libfuse/views.h"

/* Where an axis is sliced: ends are let into [first, last]. */
typedef struct axis_range {
    lfuse_size extent, first, last;
} axis_range;

/* The lesser, or the greater; false where that depends on the values of size variables. */
static bool extreme(const lfuse_graph *g, lfuse_size a, lfuse_size b, bool greater, lfuse_size *result)
{
    int64_t low, high;

    if (lfuse__size_is_number(a) && lfuse__size_is_number(b)) { /* whose difference may be no number */
        *result = (a >= b) == greater ? a : b;
        return true;
    }
    if (!lfuse__size_difference(g, a, b, &low, &high) || (low < 0 && high > 0)) return false;
    *result = (low >= 0) == greater ? a : b;
    return true;
}

/* An end as the user gave it, LFUSE_OPEN being `open`, as a place of the axis. */
static bool place(lfuse_graph *g, const char *call, const axis_range *r, lfuse_size given, lfuse_size open,
                  lfuse_size *end)
{
    if (given == LFUSE_OPEN) {
        *end = open;
        return true;
    }
    if (given >= 0 || !lfuse__size_is_number(given)) {
        if (!lfuse__build_extent(g, call, given, end)) return false;
    } else if (lfuse__size_is_number(r->extent)) {
        *end = given < -r->extent ? -1 : r->extent + given;
    } else if (!lfuse__size_add(g, call, r->extent, given, end)) {
        return false;
    }
    if (extreme(g, *end, r->first, true, end) && extreme(g, *end, r->last, false, end)) return true;
    lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: where the slice ends depends on the values of size variables", call);
    return false;
}

/* How many steps there are before the stop is reached. */
static bool count_steps(lfuse_graph *g, const char *call, lfuse_size start, lfuse_size stop, int64_t step,
                        lfuse_size *count)
{
    const lfuse_size from = step > 0 ? start : stop, to = step > 0 ? stop : start;
    lfuse__poly way, begun, size;
    int64_t low, high;

    if (!lfuse__size_difference(g, to, from, &low, &high)) goto unknown;
    *count = 0;
    if (high <= 0) return true;
    if (low == high) { /* step is not INT64_MIN, so that it has an opposite */
        const int64_t each = step > 0 ? step : -step;
        *count = (low - 1) / each + 1;
        return true;
    }
    if (low < 0) goto unknown;
    lfuse__poly_of(g, to, &way);
    lfuse__poly_of(g, from, &begun);
    lfuse__poly_of(g, step > 0 ? step : -step, &size);
    if (lfuse__poly_add(&way, &begun, -1, &way) && lfuse__poly_divide(&way, &size, &way))
        return lfuse__size_of_poly(g, call, &way, count);
unknown:
    lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: how many elements there are depends on the values of size variables "
                        "in a way that no extent can tell", call);
    return false;
}

lfuse_value lfuse_slice_range(lfuse_value a, int axis, lfuse_size start, lfuse_size stop, int64_t step)
{
    static const char call[] = "lfuse_slice_range";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);
    lfuse_size first, last, count;
    axis_range r;

    if (!g || !lfuse__build_tensor(g, call, a.id) || !lfuse__build_axis(g, call, axis, g->nodes[a.id].rank, &axis))
        return LFUSE__POISONED(where);
    if (!step) return lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: the step is 0", call);
    if (step < -INT64_MAX) step = -INT64_MAX; /* longer than every axis */
    r.extent = g->nodes[a.id].shape[axis];
    r.first = step > 0 ? 0 : -1;
    r.last = r.extent;
    if (step < 0 && !lfuse__size_add(g, call, r.extent, -1, &r.last)) return LFUSE__POISONED(g);
    if (!place(g, call, &r, start, step > 0 ? r.first : r.last, &first) ||
        !place(g, call, &r, stop, step > 0 ? r.last : r.first, &last) ||
        !count_steps(g, call, first, last, step, &count))
        return LFUSE__POISONED(g);
    if (count == 0 || count == 1) step = 1; /* it leads nowhere */
    return lfuse__build_slice(g, call, a.id, axis, count ? first : 0, count, step);
}
