/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of an axis, in steps. */
#include <inttypes.h>

#include "common/graph/build.h"
#include "libfuse/norm.h"
#include "libfuse/views.h"

typedef enum verdict { NEVER, SOMETIMES, ALWAYS } verdict;

/* Whether a + factor b + number is not negative. */
static verdict not_negative(const lfuse_graph *g, const lfuse__poly *a, const lfuse__poly *b, int64_t factor,
                            int64_t number)
{
    lfuse__poly sum, one;
    int64_t low, high;

    lfuse__poly_of(g, 1, &one);
    if (!lfuse__poly_add(a, b, factor, &sum) || !lfuse__poly_add(&sum, &one, number, &sum)) return SOMETIMES;
    lfuse__poly_bounds(g, &sum, &low, &high);
    return low >= 0 ? ALWAYS : high < 0 ? NEVER : SOMETIMES;
}

/*
 * Whether every element of the slice is one of the axis. Of no elements nothing is asked but a start within the axis or
 * at its end, and where only a variable of 0 makes it so, not even that.
 */
static verdict inside(const lfuse_graph *g, lfuse_size extent, lfuse_size start, lfuse_size count, int64_t step)
{
    lfuse__poly e, s, c, last, zero, one;
    verdict low, high;

    lfuse__poly_of(g, extent, &e);
    lfuse__poly_of(g, start, &s);
    lfuse__poly_of(g, count, &c);
    lfuse__poly_of(g, 0, &zero);
    lfuse__poly_of(g, 1, &one);
    if (!count) {
        low = not_negative(g, &s, &zero, 1, 0);
        high = not_negative(g, &e, &s, -1, 0);
        return low < high ? low : high;
    }
    if (step == INT64_MIN || !lfuse__poly_add(&s, &c, step, &last) || !lfuse__poly_add(&last, &one, -step, &last))
        return SOMETIMES;
    low = not_negative(g, step > 0 ? &s : &last, &zero, 1, 0);
    high = not_negative(g, &e, step > 0 ? &last : &s, -1, -1);
    return low < high ? low : high;
}

static lfuse_value outside(lfuse_graph *g, const char *call, int32_t node, int axis, lfuse_size start, lfuse_size count,
                           int64_t step, verdict v)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_value poison;

    lfuse__size_print(g, count, &text);
    lfuse__strbuf_add(&text, " elements from ");
    lfuse__size_print(g, start, &text);
    poison = lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: %s on in steps of %" PRId64 " %s axis %d of %s", call,
                                 text.data, step, v == NEVER ? "leave" : "may leave", axis,
                                 lfuse__describe(g, node).text);
    lfuse__strbuf_free(&text);
    return poison;
}

lfuse_value lfuse__build_slice(lfuse_graph *g, const char *call, int32_t node, int axis, lfuse_size start,
                               lfuse_size count, int64_t step)
{
    const lfuse__node *in = &g->nodes[node];
    lfuse__node n = lfuse__build_over(LFUSE__SLICE, (lfuse_type)in->type, node, -1);
    verdict v;

    if (!step) return lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: the step is 0", call);
    v = inside(g, in->shape[axis], start, count, step);
    if (v != ALWAYS) return outside(g, call, node, axis, start, count, step, v);
    lfuse__build_set_form(&n, in);
    lfuse__build_set_axis(&n, axis);
    n.shape[axis] = count;
    n.start = start;
    n.step = step;
    return lfuse__build_append(g, call, &n);
}

/* A start that counts from the end. */
static bool read_start(lfuse_graph *g, const char *call, lfuse_size extent, lfuse_size given, lfuse_size *start)
{
    if (given >= 0 || !lfuse__size_is_number(given)) return lfuse__build_extent(g, call, given, start);
    return lfuse__size_add(g, call, extent, given, start);
}

lfuse_value lfuse_slice(lfuse_value a, int axis, lfuse_size start, lfuse_size count, int64_t step)
{
    static const char call[] = "lfuse_slice";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);

    if (!g || !lfuse__build_tensor(g, call, a.id) ||
        !lfuse__build_axis(g, call, axis, g->nodes[a.id].rank, &axis) ||
        !read_start(g, call, g->nodes[a.id].shape[axis], start, &start) ||
        !lfuse__build_extent(g, call, count, &count))
        return LFUSE__POISONED(where);
    return lfuse__build_slice(g, call, a.id, axis, start, count, step);
}

static void poison_all(lfuse_graph *g, int count, lfuse_value *parts)
{
    int i;

    for (i = 0; i < count; i++) parts[i] = LFUSE__POISONED(g);
}

static bool room_for_parts(lfuse_graph *g, const char *call, int count, const lfuse_value *parts)
{
    if (count < 1)
        lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: %d parts", call, count);
    else if (!parts)
        lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: the parts are NULL", call);
    else
        return true;
    return false;
}

/* The next of neighbouring slices; *start moves on. */
static bool cut(lfuse_graph *g, const char *call, int32_t node, int axis, lfuse_size *start, lfuse_size size,
                lfuse_value *part)
{
    *part = lfuse__build_slice(g, call, node, axis, *start, size, 1);
    return part->id >= 0 && lfuse__size_add(g, call, *start, size, start);
}

void lfuse_split(lfuse_value a, int axis, int count, const lfuse_size *sizes, lfuse_value *parts)
{
    static const char call[] = "lfuse_split";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_size sum = 0, start = 0, size;
    int i;

    if (parts) poison_all(where, count, parts);
    if (!g || !lfuse__build_tensor(g, call, a.id) ||
        !lfuse__build_axis(g, call, axis, g->nodes[a.id].rank, &axis) || !room_for_parts(g, call, count, parts))
        return;
    if (!sizes) {
        lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: the sizes are NULL", call);
        return;
    }
    for (i = 0; i < count; i++)
        if (!lfuse__build_extent(g, call, sizes[i], &size) || !lfuse__size_add(g, call, sum, size, &sum)) return;
    if (sum != g->nodes[a.id].shape[axis]) {
        lfuse__size_print(g, sum, &text);
        lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: %d parts of together %s elements of axis %d of %s", call, count,
                            text.data, axis, lfuse__describe(g, a.id).text);
        lfuse__strbuf_free(&text);
        return;
    }
    for (i = 0; i < count; i++)
        if (!lfuse__build_extent(g, call, sizes[i], &size) || !cut(g, call, a.id, axis, &start, size, &parts[i]))
            return;
}

/* Extent of all parts but the last. */
static bool part_of(lfuse_graph *g, const char *call, int32_t node, int axis, int count, lfuse_size *size)
{
    const lfuse_size whole = g->nodes[node].shape[axis];

    if (whole >= 0) {
        *size = whole / count + (whole % count != 0);
        return true;
    }
    if (lfuse__size_quotient(g, call, whole, count, size)) return true;
    lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: axis %d of %s has no %d equal parts, whatever the sizes are", call,
                        axis, lfuse__describe(g, node).text, count);
    return false;
}

int lfuse_chunk(lfuse_value a, int axis, int count, lfuse_value *parts)
{
    static const char call[] = "lfuse_chunk";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);
    lfuse_size whole, size, start = 0;
    int i, there;

    if (parts) poison_all(where, count, parts);
    if (!g || !lfuse__build_tensor(g, call, a.id) ||
        !lfuse__build_axis(g, call, axis, g->nodes[a.id].rank, &axis) || !room_for_parts(g, call, count, parts) ||
        !part_of(g, call, a.id, axis, count, &size))
        return 0;
    whole = g->nodes[a.id].shape[axis];
    there = whole > 0 ? (int)((whole - 1) / size + 1) : count;
    for (i = 0; i < there; i++) {
        if (whole > 0 && whole - start < size) size = whole - start;
        if (!cut(g, call, a.id, axis, &start, size, &parts[i])) return 0;
    }
    for (; i < count; i++) parts[i] = lfuse_none();
    return there;
}

lfuse_value lfuse_flip(lfuse_value a, int count, const int *axes)
{
    static const char call[] = "lfuse_flip";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);
    unsigned set;
    int i;

    if (!g || !lfuse__build_tensor(g, call, a.id) ||
        !lfuse__build_axes(g, call, g->nodes[a.id].rank, count, axes, &set))
        return LFUSE__POISONED(where);
    for (i = 0; i < LFUSE_MAX_RANK && a.id >= 0; i++) {
        lfuse_size extent, last;
        if (!(set & 1u << i)) continue;
        extent = g->nodes[a.id].shape[i];
        if (extent == 0 || extent == 1) continue;
        if (!lfuse__size_add(g, call, extent, -1, &last)) return LFUSE__POISONED(g);
        a = lfuse__build_slice(g, call, a.id, i, last, extent, -1);
    }
    return a;
}
