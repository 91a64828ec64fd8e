/* SPDX-License-Identifier: Apache-2.0 */
/* Operands for actual sizes and strides. */
#include <inttypes.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/bind/bind.h"
#include "common/run/instantiate/loop.h"
#include "common/run/operations/operations.h"

/* The value of a size, which may be negative inside an expression. ERR_OVERFLOW. */
static lfuse_status size_of(const lfuse_instance *in, lfuse_size s, int64_t *value)
{
    if (s >= INT64_MIN / 2) { /* a number; symbolic sizes lie far below */
        *value = s;
        return LFUSE_OK;
    }
    *value = in->sizes[lfuse__size_index(s)];
    return *value == LFUSE__SIZE_NONE ? lfuse__size_evaluate(in->body->graph, s, in->sizes, value) : LFUSE_OK;
}

lfuse_status lfuse__extent_of(const lfuse_instance *in, lfuse_size s, int64_t *extent)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_status status;

    LFUSE__TRY(size_of(in, s, extent));
    if (*extent >= 0) return LFUSE_OK;
    if (s == *extent) return lfuse__error(LFUSE_ERR_BOUNDS, "an extent would be %" PRId64, s);
    lfuse__size_print(in->body->graph, s, &text);
    status = lfuse__error(LFUSE_ERR_BOUNDS, "the extent %s would be %" PRId64, text.data ? text.data : "", *extent);
    lfuse__strbuf_free(&text);
    return status;
}

static lfuse_status extents_of(const lfuse_instance *in, int rank, const lfuse_size *sizes, int64_t *extents,
                               int64_t *elements)
{
    int i;

    *elements = 1;
    for (i = 0; i < rank; i++) {
        LFUSE__TRY(lfuse__extent_of(in, sizes[i], &extents[i]));
        if (__builtin_mul_overflow(*elements, extents[i], elements))
            return lfuse__error(LFUSE_ERR_OVERFLOW, "a tensor would have more than 2^63 - 1 elements");
    }
    return LFUSE_OK;
}

/* Axes of extent 1 go, neighbours that are one walk become one. Returns the number of axes. */
static int condense(int rank, const int64_t *shape, const int64_t *strides, int64_t *extents, int64_t *steps)
{
    int i, n = 0;

    for (i = 0; i < rank; i++) {
        if (shape[i] == 1) continue;
        if (n && steps[n - 1] == shape[i] * strides[i]) {
            extents[n - 1] *= shape[i];
            steps[n - 1] = strides[i];
            continue;
        }
        extents[n] = shape[i];
        steps[n++] = strides[i];
    }
    return n;
}

/*
 * Strides with which `shape` sees the elements of b in the same order, when there are any: each axis of it then lies
 * inside one axis of what b's can be condensed to. No extent is 0.
 */
static bool reshape(int from, const lfuse__bound *b, int rank, const int64_t *shape, int64_t *strides)
{
    int64_t extents[LFUSE_MAX_RANK] = { 1 }, steps[LFUSE_MAX_RANK] = { 0 }, left, step;
    int i, at = condense(from, b->shape, b->strides, extents, steps) - 1;

    if (at < 0) at = 0;
    left = extents[at];
    step = steps[at];
    for (i = rank - 1; i >= 0; i--) {
        strides[i] = 0;
        if (shape[i] == 1) continue;
        if (left == 1 && at > 0) {
            at--;
            left = extents[at];
            step = steps[at];
        }
        if (left % shape[i]) return false;
        strides[i] = step;
        step *= shape[i];
        left /= shape[i];
    }
    return true;
}

static int bound_rank(const lfuse_instance *in, int name)
{
    return in->plan->graph->nodes[in->plan->names[name].node].rank;
}

static bool same_shape(const lfuse__bound *b, int from, int rank, const int64_t *shape)
{
    return from == rank && !memcmp(b->shape, shape, (size_t)rank * sizeof *shape);
}

/* Strides of a bound tensor under the shape; false: it has none. */
static bool bound_strides(const lfuse_instance *in, int name, int rank, const int64_t *shape, int64_t elements,
                          int64_t *strides)
{
    const lfuse__bound *b = &in->bound[name];
    const int from = bound_rank(in, name);

    if (!b->plain && elements && same_shape(b, from, rank, shape)) {
        memcpy(strides, b->strides, (size_t)rank * sizeof *strides);
        return true;
    }
    if (!b->plain && elements) return reshape(from, b, rank, shape, strides);
    lfuse__contiguous_strides(rank, shape, strides);
    return true;
}

/* Elements that the memory of an operand has; -1: as many as are wanted. */
static int64_t elements_there(const lfuse_instance *in, const lfuse__operand *o)
{
    int64_t elements = 1;
    int i;

    if (o->place == LFUSE__PLACE_INDEX) return -1;
    if (o->place != LFUSE__PLACE_BOUND) return (int64_t)(in->buffers[o->index].bytes / lfuse_type_size(o->type));
    for (i = 0; i < bound_rank(in, o->index); i++) elements *= in->bound[o->index].shape[i];
    return elements;
}

/* The copy of a bound tensor that the step has already, or a new one. */
static lfuse_status take_copy(lfuse_instance *in, const lfuse__operand *o, lfuse__stand_ins *copies,
                              lfuse__stand_in **copy)
{
    lfuse__stand_in *c;
    int i;

    for (i = 0; i < copies->count; i++)
        if (copies->of[i].name == o->index) {
            *copy = &copies->of[i];
            return LFUSE_OK;
        }
    lfuse__log(LFUSE_LOG_DEBUG, "\"%s\" goes through a copy: its strides do not allow another shape",
               in->plan->names[o->index].text);
    c = &copies->of[copies->count];
    *c = (lfuse__stand_in){ .name = o->index, .type = o->type };
    LFUSE__TRY(lfuse__add_buffer(in, LFUSE__PLACE_SCRATCH,
                                 (uint64_t)elements_there(in, o) * lfuse_type_size(o->type), &c->buffer));
    copies->count++;
    *copy = c;
    return LFUSE_OK;
}

/* Whether what is written is all of the memory: stores go to each element at most once. */
static bool covers(const lfuse__operand *o, int rank, const int64_t *extents, int64_t elements)
{
    int64_t stored = 1;
    int i;

    for (i = 0; i < rank; i++)
        if (o->axis[i] >= 0) stored *= extents[i];
    return stored == elements;
}

static lfuse_status walk_copy(lfuse_instance *in, const lfuse__operand *o, int rank, const int64_t *extents,
                              lfuse__stand_ins *copies, lfuse__walk *w)
{
    lfuse__stand_in *copy;

    LFUSE__TRY(take_copy(in, o, copies, &copy));
    w->memory = (lfuse__memory){ LFUSE__PLACE_SCRATCH, copy->buffer };
    if (o->written) copy->out = true;
    if (!o->written || !covers(o, rank, extents, elements_there(in, o))) copy->in = true;
    return LFUSE_OK;
}

static lfuse_status out_of_bounds(const lfuse_instance *in, const lfuse__operand *o, int axis, int64_t low,
                                  int64_t high, int64_t extent)
{
    return lfuse__error(LFUSE_ERR_BOUNDS, "elements %" PRId64 " ... %" PRId64 " along axis %d of %s are taken, which "
                        "has %" PRId64, low, high, axis,
                        o->place == LFUSE__PLACE_BOUND ? in->plan->names[o->index].text : "a value", extent);
}

/* Strides along the loop and the first element, and whether all elements are there. */
static lfuse_status step_along(const lfuse_instance *in, const lfuse__operand *o, int rank, const int64_t *extents,
                               const int64_t *shape, const int64_t *strides, lfuse__walk *w)
{
    int64_t low[LFUSE_MAX_RANK], high[LFUSE_MAX_RANK], step, reach;
    bool empty = false;
    int i, m;

    for (m = 0; m < o->rank; m++) {
        LFUSE__TRY(size_of(in, o->offset[m], &low[m]));
        high[m] = low[m];
        w->offset += low[m] * strides[m];
    }
    for (i = 0; i < rank; i++) {
        empty = empty || !extents[i];
        m = o->axis[i];
        if (m < 0) continue;
        LFUSE__TRY(size_of(in, o->step[i], &step));
        if (__builtin_mul_overflow(step, strides[m], &w->strides[i]) ||
            __builtin_mul_overflow(step, extents[i] ? extents[i] - 1 : 0, &reach) ||
            __builtin_add_overflow(reach < 0 ? low[m] : high[m], reach, reach < 0 ? &low[m] : &high[m]))
            return lfuse__error(LFUSE_ERR_OVERFLOW, "a step of %" PRId64 " elements over %" PRId64 " is too far", step,
                                extents[i]);
    }
    for (m = 0; m < o->rank && !empty; m++)
        if (m != o->gathered && (low[m] < 0 || high[m] >= shape[m]))
            return out_of_bounds(in, o, m, low[m], high[m], shape[m]);
    return LFUSE_OK;
}

lfuse_status lfuse__walk_open(lfuse_instance *in, const lfuse__operand *o, int rank, const int64_t *extents,
                              lfuse__stand_ins *copies, lfuse__walk *w)
{
    int64_t shape[LFUSE_MAX_RANK], strides[LFUSE_MAX_RANK], elements, there;

    memset(w, 0, sizeof *w);
    w->memory = (lfuse__memory){ o->place, o->index };
    w->type = o->type;
    w->written = o->written;
    LFUSE__TRY(extents_of(in, o->rank, o->shape, shape, &elements));
    there = elements_there(in, o);
    if (there >= 0 && there != elements)
        return lfuse__error(LFUSE_ERR_SHAPE, "%s of %" PRId64 " elements is seen under a shape of %" PRId64,
                            o->place == LFUSE__PLACE_BOUND ? in->plan->names[o->index].text : "a value", there,
                            elements);
    if (o->place != LFUSE__PLACE_BOUND) {
        lfuse__contiguous_strides(o->rank, shape, strides);
    } else if (!bound_strides(in, o->index, o->rank, shape, elements, strides)) {
        LFUSE__TRY(walk_copy(in, o, rank, extents, copies, w));
        lfuse__contiguous_strides(o->rank, shape, strides);
    }
    w->gathered = o->gathered >= 0;
    if (w->gathered) {
        w->gathered_extent = shape[o->gathered];
        w->gathered_stride = strides[o->gathered];
    }
    return step_along(in, o, rank, extents, shape, strides, w);
}

lfuse__start lfuse__start_of(const lfuse__walk *w)
{
    const uint64_t size = w->memory.place == LFUSE__PLACE_INDEX ? 1 : lfuse_type_size(w->type);

    return (lfuse__start){ w->memory, (uint64_t)w->offset * size };
}

/* The tensor as it is bound, and its contiguous copy. */
static void both_ends(const lfuse_instance *in, const lfuse__stand_in *c, int rank, lfuse__walk *bound,
                      lfuse__walk *copy)
{
    memset(bound, 0, sizeof *bound);
    bound->memory = (lfuse__memory){ LFUSE__PLACE_BOUND, c->name };
    bound->type = c->type;
    memcpy(bound->strides, in->bound[c->name].strides, (size_t)rank * sizeof *bound->strides);
    memset(copy, 0, sizeof *copy);
    copy->memory = (lfuse__memory){ LFUSE__PLACE_SCRATCH, c->buffer };
    copy->type = c->type;
    lfuse__contiguous_strides(rank, in->bound[c->name].shape, copy->strides);
}

static lfuse_status copy_one(lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__stand_in *c, bool out)
{
    const lfuse_instance *in = ctx->in;
    const int rank = bound_rank(in, c->name);
    lfuse__walk bound, copy;

    both_ends(in, c, rank, &bound, &copy);
    (out ? &bound : &copy)->written = true;
    return lfuse__instantiate_copy(ctx, step, rank, in->bound[c->name].shape, out ? &bound : &copy,
                                   out ? &copy : &bound);
}

lfuse_status lfuse__stand_ins_fill(lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__stand_ins *copies)
{
    int i;

    for (i = 0; i < copies->count; i++)
        if (copies->of[i].in) LFUSE__TRY(copy_one(ctx, step, &copies->of[i], false));
    return LFUSE_OK;
}

lfuse_status lfuse__stand_ins_empty(lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__stand_ins *copies)
{
    int i;

    for (i = 0; i < copies->count; i++)
        if (copies->of[i].out) LFUSE__TRY(copy_one(ctx, step, &copies->of[i], true));
    return LFUSE_OK;
}
