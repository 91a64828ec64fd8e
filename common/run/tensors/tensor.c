/* SPDX-License-Identifier: Apache-2.0 */
/* Making tensors: which bytes a view touches, and whether its memory has them. */
#include "common/run/tensors/tensor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* The elements that a view touches lie in [first, last], counted from its own first element. */
typedef struct extent {
    int64_t first, last;
} extent;

static lfuse_status check_shape(lfuse_type type, int rank, const int64_t *shape)
{
    if (!lfuse_type_size(type)) return lfuse__error(LFUSE_ERR_TYPE, "%d is no element type", (int)type);
    if (rank < 0 || rank > LFUSE_MAX_RANK)
        return lfuse__error(LFUSE_ERR_RANK, "rank %d is not in 0 ... %d", rank, LFUSE_MAX_RANK);
    if (rank > 0 && !shape) return lfuse__error(LFUSE_ERR_INVALID, "shape is NULL and the rank %d", rank);
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0) return lfuse__error(LFUSE_ERR_SHAPE, "axis %d has extent %" PRId64, i, shape[i]);
    return LFUSE_OK;
}

/* Elements and row-major strides; axes of extent 0 count as 1 for the strides, so that they are the usual ones. */
static lfuse_status set_shape(lfuse_tensor *t, lfuse_type type, int rank, const int64_t *shape)
{
    int64_t step = 1;
    int64_t bytes;

    LFUSE__TRY(check_shape(type, rank, shape));
    t->type = type;
    t->rank = rank;
    t->elements = 1;
    for (int i = rank - 1; i >= 0; i--) {
        t->shape[i] = shape[i];
        t->strides[i] = step;
        if (shape[i] == 0) t->elements = 0;
        if (__builtin_mul_overflow(step, shape[i] ? shape[i] : 1, &step))
            return lfuse__error(LFUSE_ERR_OVERFLOW, "axis %d of extent %" PRId64 " makes more than 2^63 elements", i,
                                shape[i]);
    }
    if (__builtin_mul_overflow(step, (int64_t)lfuse_type_size(type), &bytes))
        return lfuse__error(LFUSE_ERR_OVERFLOW, "%" PRId64 " elements of %s have more than 2^63 bytes", step,
                            lfuse_type_name(type));
    if (t->elements) t->elements = step;
    return LFUSE_OK;
}

void lfuse__contiguous_strides(int rank, const int64_t *shape, int64_t *strides)
{
    int64_t stride = 1;

    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= shape[i];
    }
}

static void set_contiguous(lfuse_tensor *t)
{
    int64_t step = 1;
    t->contiguous = true;
    if (t->elements == 0) return;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (t->shape[i] != 1 && t->strides[i] != step) t->contiguous = false;
        step *= t->shape[i];
    }
}

static lfuse_status reach(const lfuse_tensor *t, extent *e)
{
    extent found = {0, 0};
    for (int i = 0; i < t->rank; i++) {
        int64_t far, *end = t->strides[i] < 0 ? &found.first : &found.last;
        if (__builtin_mul_overflow(t->shape[i] - 1, t->strides[i], &far) || __builtin_add_overflow(*end, far, end))
            return lfuse__error(LFUSE_ERR_OVERFLOW, "axis %d of extent %" PRId64 " and stride %" PRId64
                                " reaches further than 2^63 elements", i, t->shape[i], t->strides[i]);
    }
    *e = found;
    return LFUSE_OK;
}

/*
 * Places the view at `offset` elements from the range's first byte. Empty tensors touch nothing and are placed at the
 * start, whatever their offset.
 */
static lfuse_status set_place(lfuse_tensor *t, int64_t offset, const lfuse__range *range)
{
    const int64_t size = (int64_t)lfuse_type_size(t->type);
    extent e = {0, 0};
    int64_t low, high;

    t->offset = 0;
    t->low = t->high = 0;
    if (t->elements == 0) return LFUSE_OK;
    LFUSE__TRY(reach(t, &e));
    if (__builtin_add_overflow(offset, e.first, &low) || __builtin_add_overflow(offset, e.last, &high) ||
        __builtin_add_overflow(high, 1, &high) || __builtin_mul_overflow(low, size, &low) ||
        __builtin_mul_overflow(high, size, &high))
        return lfuse__error(LFUSE_ERR_OVERFLOW, "offset %" PRId64 " reaches further than 2^63 bytes", offset);
    if (low < 0)
        return lfuse__error(LFUSE_ERR_SHAPE, "the view starts %" PRIu64 " bytes before its memory", 0 - (uint64_t)low);
    if (!range->unknown && (uint64_t)high > range->bytes)
        return lfuse__error(LFUSE_ERR_SHAPE, "the view needs %" PRId64 " bytes, its memory has %" PRIu64, high,
                            range->bytes);
    if ((uint64_t)high > UINT64_MAX - range->address)
        return lfuse__error(LFUSE_ERR_OVERFLOW, "the view ends %" PRId64 " bytes behind address %#" PRIx64
                            ", beyond 2^64", high, range->address);
    if (range->address % (uint64_t)size)
        return lfuse__error(LFUSE_ERR_INVALID, "address %#" PRIx64 " is not aligned to the %" PRId64 " bytes of %s",
                            range->address, size, lfuse_type_name(t->type));
    t->offset = offset;
    t->low = (uint64_t)low;
    t->high = (uint64_t)high;
    return LFUSE_OK;
}

/* A tensor without memory, of a shape that has been checked. */
static lfuse_status make(lfuse_type type, int rank, const int64_t *shape, const int64_t *strides, lfuse_tensor **tensor)
{
    lfuse_tensor *t = calloc(1, sizeof *t);
    lfuse_status status;

    if (!t) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for a tensor");
    atomic_init(&t->references, 1);
    status = set_shape(t, type, rank, shape);
    if (status != LFUSE_OK) {
        free(t);
        return status;
    }
    if (strides && rank > 0) memcpy(t->strides, strides, (size_t)rank * sizeof *strides);
    *tensor = t;
    return LFUSE_OK;
}

/* Lays `t` into its memory, unless `status` says that there is none; on errors both go. */
static lfuse_status lay(lfuse_tensor *t, lfuse_status status, lfuse__range *range, int64_t offset,
                        lfuse_tensor **tensor)
{
    if (status == LFUSE_OK) status = set_place(t, offset, range);
    if (status != LFUSE_OK) {
        lfuse__range_release(range);
        free(t);
        return status;
    }
    t->range = range;
    set_contiguous(t);
    *tensor = t;
    return LFUSE_OK;
}

static lfuse_status create(lfuse_device *dev, lfuse_type type, int rank, const int64_t *shape,
                           lfuse_status (*take)(lfuse_device *, uint64_t, lfuse__range **), lfuse_tensor **tensor)
{
    lfuse__range *range = NULL;
    lfuse_tensor *t = NULL;
    lfuse_status status;

    LFUSE__TRY(lfuse__device_usable(dev));
    LFUSE__TRY(make(type, rank, shape, NULL, &t));
    status = take(dev, (uint64_t)t->elements * lfuse_type_size(type), &range);
    return lay(t, status, range, 0, tensor);
}

lfuse_status lfuse__tensor_create(lfuse_device *dev, lfuse_type type, int rank, const int64_t *shape,
                                  lfuse_tensor **tensor)
{
    return create(dev, type, rank, shape, lfuse__range_create, tensor);
}

lfuse_status lfuse__tensor_create_unified(lfuse_device *dev, lfuse_type type, int rank, const int64_t *shape,
                                          lfuse_tensor **tensor)
{
    return create(dev, type, rank, shape, lfuse__range_create_unified, tensor);
}

lfuse_status lfuse__tensor_wrap(lfuse_device *dev, lfuse_memory_kind kind, uint64_t handle, uint64_t bytes,
                                lfuse_type type, int rank, const int64_t *shape, const int64_t *strides,
                                int64_t offset, lfuse_tensor **tensor)
{
    lfuse__range *range = NULL;
    lfuse_tensor *t = NULL;
    lfuse_status status;

    LFUSE__TRY(lfuse__device_usable(dev));
    LFUSE__TRY(make(type, rank, shape, strides, &t));
    /* Frameworks give empty tensors a null address. */
    status = handle == 0 && t->elements == 0 ? lfuse__range_create(dev, 0, &range)
                                             : lfuse__range_wrap(dev, kind, handle, bytes, &range);
    return lay(t, status, range, offset, tensor);
}

lfuse_status lfuse__tensor_view(const lfuse_tensor *parent, int rank, const int64_t *shape, const int64_t *strides,
                                int64_t offset, lfuse_tensor **tensor)
{
    lfuse_tensor *t = NULL;
    int64_t start;

    LFUSE__TRY(lfuse__device_usable(parent->range->dev));
    if (__builtin_add_overflow(parent->offset, offset, &start))
        return lfuse__error(LFUSE_ERR_OVERFLOW, "offset %" PRId64 " reaches further than 2^63 elements", offset);
    LFUSE__TRY(make(parent->type, rank, shape, strides, &t));
    lfuse__range_retain(parent->range);
    return lay(t, LFUSE_OK, parent->range, start, tensor);
}

/* Axes sorted by stride: each must step over all that the smaller ones reach. */
bool lfuse__tensor_repeats(const lfuse_tensor *t)
{
    int order[LFUSE_MAX_RANK], n = 0;
    uint64_t size[LFUSE_MAX_RANK], reached = 0;

    if (t->elements <= 1 || t->contiguous) return false;
    for (int i = 0; i < t->rank; i++) {
        if (t->shape[i] == 1) continue;
        size[i] = t->strides[i] < 0 ? 0 - (uint64_t)t->strides[i] : (uint64_t)t->strides[i];
        int at = n++;
        for (; at > 0 && size[order[at - 1]] > size[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (int k = 0; k < n; k++) {
        const int i = order[k];
        if (size[i] <= reached) return true;
        reached += size[i] * (uint64_t)(t->shape[i] - 1);
    }
    return false;
}

void lfuse__tensor_retain(lfuse_tensor *t)
{
    atomic_fetch_add_explicit(&t->references, 1, memory_order_relaxed);
}

void lfuse__tensor_release(lfuse_tensor *t)
{
    if (!t || lfuse__forked()) return;
    if (atomic_fetch_sub_explicit(&t->references, 1, memory_order_acq_rel) != 1) return;
    lfuse__list_release(atomic_load_explicit(&t->elements_list, memory_order_relaxed));
    lfuse__range_release(t->range);
    free(t);
}
