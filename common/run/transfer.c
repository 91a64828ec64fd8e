/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving tensors. Contiguous ones are bytes; strided ones go through a contiguous tensor and the plan that copies one
 * tensor to another, so that no second kind of kernel exists.
 */
#include <inttypes.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/half.h"
#include "common/base/whole.h"
#include "common/run/run.h"

/* Where the work of one call goes. */
typedef struct route {
    lfuse_device *dev;
    lfuse_stream *stream;
    enum { CALLERS, SHARED, PRIVATE } kind;
} route;

/*
 * Without a stream of the caller's, bytes go through the device's own stream, under its lock. Kernels go through a
 * stream made for the call: a plan that is being made may need that lock.
 */
static lfuse_status route_own(lfuse_device *dev, bool kernels, route *r)
{
    *r = (route){.dev = dev, .kind = kernels ? PRIVATE : SHARED};
    LFUSE__TRY(lfuse__device_usable(dev));
    if (kernels) return lfuse__stream_create(dev, &r->stream);
    lfuse__device_lock_sync(dev);
    lfuse_status status = lfuse__device_stream(dev, &r->stream);
    if (status != LFUSE_OK) lfuse__device_unlock_sync(dev);
    return status;
}

static lfuse_status route_begin(lfuse_device *dev, lfuse_stream *stream, bool kernels, route *r)
{
    if (!stream) return route_own(dev, kernels, r);
    *r = (route){.dev = dev, .stream = stream, .kind = CALLERS};
    LFUSE__TRY(lfuse__stream_usable(stream));
    return lfuse__recording_note(stream, lfuse__stream_same_device(stream, dev, "the tensor"));
}

/* Waits also after a failure: what was submitted before it may still use the caller's memory. */
static lfuse_status route_end(route *r, lfuse_status status)
{
    lfuse__saved_error first;
    if (r->kind == CALLERS) return lfuse__recording_note(r->stream, status);
    if (status != LFUSE_OK) lfuse__error_save(&first);
    lfuse_status waited = lfuse__stream_sync(r->stream);
    if (r->kind == SHARED)
        lfuse__device_unlock_sync(r->dev);
    else
        lfuse__stream_destroy(r->stream);
    if (status == LFUSE_OK) return waited;
    lfuse__error_restore(&first);
    return status;
}

static lfuse_status check_not_recording(const route *r, const char *what)
{
    if (!lfuse__stream_recording(r->stream)) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_STATE, "a %s cannot be recorded", what);
}

static lfuse_status check_written(const lfuse_tensor *t)
{
    if (!lfuse__tensor_repeats(t)) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_OVERLAP,
                        "the tensor's strides put several elements in one place: it cannot be written");
}

static uint64_t bytes_of(const lfuse_tensor *t)
{
    return (uint64_t)t->elements * lfuse_type_size(t->type);
}

/* ---- strided copies ---- */

/* y = x for any sizes, so that one plan serves all shapes of a rank. */
static lfuse_status copy_plan(lfuse_device *dev, lfuse_type type, int rank, lfuse_plan **plan)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_size shape[LFUSE_MAX_RANK];
    char name[] = "s0";

    for (int i = 0; i < rank; i++) {
        name[1] = (char)('0' + i);
        shape[i] = lfuse_size_var(g, name, 0, INT64_MAX);
    }
    lfuse_output(g, "y", lfuse_input(g, "x", type, rank, shape));
    lfuse_status status = lfuse__plan_create(dev, g, NULL, plan);
    lfuse_graph_destroy(g);
    return status;
}

static lfuse_status copy_strided(const route *r, lfuse_tensor *to, const lfuse_tensor *from)
{
    /* A binding names a tensor that may be an output, hence the cast; inputs are only read. */
    lfuse_binding bindings[] = {lfuse_bind_tensor("x", (lfuse_tensor *)from), lfuse_bind_tensor("y", to)};
    lfuse_plan *plan;

    LFUSE__TRY(copy_plan(r->dev, to->type, to->rank, &plan));
    lfuse_status status = lfuse__plan_run(plan, r->stream, bindings, 2);
    lfuse__plan_destroy(plan);
    return status;
}

/* Both on the route's device, types and shapes equal, not empty. */
static lfuse_status copy_here(const route *r, lfuse_tensor *to, const lfuse_tensor *from)
{
    if (!to->contiguous || !from->contiguous) return copy_strided(r, to, from);
    if (lfuse__stream_recording(r->stream))
        return lfuse__recording_copy(r->stream, to->range, to->low, from->range, from->low, bytes_of(to));
    return lfuse__copy(r->stream, to->range, to->low, from->range, from->low, bytes_of(to));
}

/*
 * Memory that stands between a strided tensor and something else. Not to be had while the caller captures: the graph
 * would outlive it.
 */
static lfuse_status stage(const route *r, lfuse_type type, int rank, const int64_t *shape, lfuse_tensor **staged)
{
    bool capturing = false;
    if (r->kind == CALLERS) LFUSE__TRY(lfuse__stream_capturing(r->stream, &capturing));
    if (capturing)
        return lfuse__error(LFUSE_ERR_STATE, "a transfer of a strided tensor needs memory and cannot be captured");
    return lfuse__tensor_create(r->dev, type, rank, shape, staged);
}

/* ---- host memory ---- */

static lfuse_status write_through(const route *r, lfuse_tensor *t, const void *host)
{
    lfuse_tensor *staged;
    LFUSE__TRY(stage(r, t->type, t->rank, t->shape, &staged));
    lfuse_status status = lfuse__write(r->stream, staged->range, 0, host, bytes_of(t));
    if (status == LFUSE_OK) status = copy_strided(r, t, staged);
    lfuse__tensor_release(staged);
    return status;
}

static lfuse_status read_through(const route *r, const lfuse_tensor *t, void *host)
{
    lfuse_tensor *staged;
    LFUSE__TRY(stage(r, t->type, t->rank, t->shape, &staged));
    lfuse_status status = copy_strided(r, staged, t);
    if (status == LFUSE_OK) status = lfuse__read(r->stream, staged->range, 0, host, bytes_of(t));
    lfuse__tensor_release(staged);
    return status;
}

static lfuse_status write_on(const route *r, lfuse_tensor *t, const void *host)
{
    LFUSE__TRY(check_not_recording(r, "write from host memory"));
    LFUSE__TRY(check_written(t));
    if (t->elements == 0) return LFUSE_OK;
    if (!t->contiguous) return write_through(r, t, host);
    return lfuse__write(r->stream, t->range, t->low, host, bytes_of(t));
}

static lfuse_status read_on(const route *r, const lfuse_tensor *t, void *host)
{
    LFUSE__TRY(check_not_recording(r, "read to host memory"));
    if (t->elements == 0) return LFUSE_OK;
    if (!t->contiguous) return read_through(r, t, host);
    return lfuse__read(r->stream, t->range, t->low, host, bytes_of(t));
}

lfuse_status lfuse__tensor_write(lfuse_tensor *t, lfuse_stream *stream, const void *host)
{
    route r;
    LFUSE__TRY(route_begin(t->range->dev, stream, !t->contiguous, &r));
    return route_end(&r, write_on(&r, t, host));
}

lfuse_status lfuse__tensor_read(const lfuse_tensor *t, lfuse_stream *stream, void *host)
{
    route r;
    LFUSE__TRY(route_begin(t->range->dev, stream, !t->contiguous, &r));
    return route_end(&r, read_on(&r, t, host));
}

/* ---- tensor to tensor ---- */

static lfuse_status check_alike(const lfuse_tensor *to, const lfuse_tensor *from)
{
    if (to->type != from->type)
        return lfuse__error(LFUSE_ERR_TYPE, "a copy from %s to %s", lfuse_type_name(from->type),
                            lfuse_type_name(to->type));
    if (to->rank != from->rank)
        return lfuse__error(LFUSE_ERR_RANK, "a copy from rank %d to rank %d", from->rank, to->rank);
    for (int i = 0; i < to->rank; i++)
        if (to->shape[i] != from->shape[i])
            return lfuse__error(LFUSE_ERR_SHAPE, "axis %d has extent %" PRId64 " in the source, %" PRId64
                                " in the destination", i, from->shape[i], to->shape[i]);
    return LFUSE_OK;
}

static bool same_view(const lfuse_tensor *a, const lfuse_tensor *b)
{
    if (a->range->space != b->range->space || a->range->address + a->low != b->range->address + b->low) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != 1 && a->strides[i] != b->strides[i]) return false;
    return true;
}

/* Of contiguous tensors. The plan that copies strided ones tells whether they have an element in common. */
static lfuse_status check_apart(const lfuse_tensor *to, const lfuse_tensor *from)
{
    const uint64_t target = to->range->address + to->low, source = from->range->address + from->low;
    const uint64_t bytes = bytes_of(to);

    if (to->range->space != from->range->space || target >= source + bytes || source >= target + bytes)
        return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_OVERLAP, "a copy of %" PRIu64 " bytes from %#" PRIx64 " to %#" PRIx64
                        " overlaps itself", bytes, source, target);
}

static lfuse_status copy_on(const route *r, lfuse_tensor *to, const lfuse_tensor *from)
{
    LFUSE__TRY(check_written(to));
    if (to->elements == 0 || same_view(to, from)) return LFUSE_OK;
    if (to->contiguous && from->contiguous) LFUSE__TRY(check_apart(to, from));
    return copy_here(r, to, from);
}

/* On the other device's own stream, and waited for: what follows runs on the target's. */
static lfuse_status gather_there(const lfuse_tensor *from, lfuse_tensor **staged)
{
    route r;
    lfuse_tensor *made;
    LFUSE__TRY(lfuse__tensor_create(from->range->dev, from->type, from->rank, from->shape, &made));
    lfuse_status status = route_begin(from->range->dev, NULL, true, &r);
    if (status == LFUSE_OK) status = route_end(&r, copy_strided(&r, made, from));
    if (status != LFUSE_OK) {
        lfuse__tensor_release(made);
        return status;
    }
    *staged = made;
    return LFUSE_OK;
}

/* Contiguous on the other device, any strides here. */
static lfuse_status fetch(const route *r, lfuse_tensor *to, const lfuse_tensor *from)
{
    lfuse_tensor *staged;
    if (to->contiguous)
        return lfuse__copy_across(r->stream, to->range, to->low, from->range, from->low, bytes_of(to));
    LFUSE__TRY(stage(r, to->type, to->rank, to->shape, &staged));
    lfuse_status status = lfuse__copy_across(r->stream, staged->range, 0, from->range, from->low, bytes_of(to));
    if (status == LFUSE_OK) status = copy_strided(r, to, staged);
    lfuse__tensor_release(staged);
    return status;
}

static lfuse_status copy_from_other(const route *r, lfuse_tensor *to, const lfuse_tensor *from)
{
    LFUSE__TRY(check_not_recording(r, "copy between two devices"));
    LFUSE__TRY(check_written(to));
    if (to->elements == 0) return LFUSE_OK;
    return fetch(r, to, from);
}

static lfuse_status copy_across(lfuse_tensor *to, const lfuse_tensor *from, lfuse_stream *stream)
{
    route r;
    lfuse_tensor *staged = NULL;
    LFUSE__TRY(lfuse__device_usable(from->range->dev));
    /* Before the target's lock is taken: two threads that copy crosswise would wait for each other. */
    if (!from->contiguous) LFUSE__TRY(gather_there(from, &staged));
    lfuse_status status = route_begin(to->range->dev, stream, !to->contiguous, &r);
    if (status == LFUSE_OK) status = route_end(&r, copy_from_other(&r, to, staged ? staged : from));
    lfuse__tensor_release(staged);
    return status;
}

lfuse_status lfuse__tensor_copy(lfuse_tensor *to, const lfuse_tensor *from, lfuse_stream *stream)
{
    route r;
    lfuse_status status = check_alike(to, from);
    if (status != LFUSE_OK) return stream ? lfuse__recording_note(stream, status) : status;
    if (to->range->dev != from->range->dev) return copy_across(to, from, stream);
    LFUSE__TRY(route_begin(to->range->dev, stream, !to->contiguous || !from->contiguous, &r));
    return route_end(&r, copy_on(&r, to, from));
}

/* ---- fill ---- */

/* The bits of `number`, rounded once as a cast from f64 does; returns how many bytes they are. */
static unsigned pattern_of(lfuse_type type, double number, uint64_t *pattern)
{
    float f = (float)number;
    uint32_t word = 0;

    switch (type) {
    case LFUSE_F32: memcpy(&word, &f, sizeof word); *pattern = word; break;
    case LFUSE_F64: memcpy(pattern, &number, sizeof *pattern); break;
    case LFUSE_F16:
    case LFUSE_BF16:
    case LFUSE_E4M3:
    case LFUSE_E5M2: *pattern = lfuse__double_to_narrow(type, number); break;
    case LFUSE_I64: *pattern = (uint64_t)lfuse__double_to_whole(type, number); break;
    case LFUSE_I32: *pattern = (uint32_t)lfuse__double_to_whole(type, number); break;
    case LFUSE_I8:
    case LFUSE_U8: *pattern = (uint8_t)lfuse__double_to_whole(type, number); break;
    default: *pattern = number != 0; break;
    }
    return (unsigned)lfuse_type_size(type);
}

static lfuse_status fill_bytes(const route *r, const lfuse_tensor *t, uint64_t pattern, unsigned bytes)
{
    if (lfuse__stream_recording(r->stream))
        return lfuse__recording_fill(r->stream, t->range, t->low, pattern, bytes, bytes_of(t));
    return lfuse__fill(r->stream, t->range, t->low, pattern, bytes, bytes_of(t));
}

/* From one element that all axes repeat. */
static lfuse_status fill_strided(const route *r, lfuse_tensor *t, uint64_t pattern, unsigned bytes)
{
    const int64_t strides[LFUSE_MAX_RANK] = {0};
    lfuse_tensor *one, *repeated;
    lfuse_status status;

    LFUSE__TRY(stage(r, t->type, 0, NULL, &one));
    status = fill_bytes(r, one, pattern, bytes);
    if (status != LFUSE_OK) goto out_one;
    status = lfuse__tensor_view(one, t->rank, t->shape, strides, 0, &repeated);
    if (status != LFUSE_OK) goto out_one;
    status = copy_strided(r, t, repeated);
    lfuse__tensor_release(repeated);
out_one:
    lfuse__tensor_release(one);
    return status;
}

static lfuse_status fill_on(const route *r, lfuse_tensor *t, double number)
{
    uint64_t pattern = 0;
    LFUSE__TRY(check_written(t));
    if (t->elements == 0) return LFUSE_OK;
    unsigned bytes = pattern_of(t->type, number, &pattern);
    return t->contiguous ? fill_bytes(r, t, pattern, bytes) : fill_strided(r, t, pattern, bytes);
}

lfuse_status lfuse__tensor_fill(lfuse_tensor *t, lfuse_stream *stream, double number)
{
    route r;
    LFUSE__TRY(route_begin(t->range->dev, stream, !t->contiguous, &r));
    return route_end(&r, fill_on(&r, t, number));
}
