/* SPDX-License-Identifier: Apache-2.0 */
#include "libfuse/tensor.h"

#include "common/api/need.h"
#include "common/run/tensors/tensor.h"

lfuse_status lfuse_tensor_create(lfuse_device *device, lfuse_type type, int rank, const int64_t *shape,
                                 lfuse_tensor **tensor)
{
    NEED(device);
    NEED(tensor);
    return lfuse__tensor_create(device, type, rank, shape, tensor);
}

lfuse_status lfuse_tensor_create_unified(lfuse_device *device, lfuse_type type, int rank, const int64_t *shape,
                                         lfuse_tensor **tensor)
{
    NEED(device);
    NEED(tensor);
    return lfuse__tensor_create_unified(device, type, rank, shape, tensor);
}

void *lfuse_tensor_host(const lfuse_tensor *tensor)
{
    if (!tensor || !tensor->elements || !tensor->range->host) return NULL;
    return (char *)tensor->range->host + (size_t)tensor->offset * lfuse_type_size(tensor->type);
}

lfuse_status lfuse_tensor_wrap(lfuse_device *device, lfuse_memory_kind kind, uint64_t handle, uint64_t bytes,
                               lfuse_type type, int rank, const int64_t *shape, const int64_t *strides, int64_t offset,
                               lfuse_tensor **tensor)
{
    NEED(device);
    NEED(tensor);
    return lfuse__tensor_wrap(device, kind, handle, bytes, type, rank, shape, strides, offset, tensor);
}

lfuse_status lfuse_tensor_view(const lfuse_tensor *parent, int rank, const int64_t *shape, const int64_t *strides,
                               int64_t offset, lfuse_tensor **tensor)
{
    NEED(parent);
    NEED(tensor);
    return lfuse__tensor_view(parent, rank, shape, strides, offset, tensor);
}

void lfuse_tensor_destroy(lfuse_tensor *tensor)
{
    lfuse__tensor_release(tensor);
}

lfuse_type lfuse_tensor_type(const lfuse_tensor *tensor)
{
    return tensor ? tensor->type : LFUSE_TYPE_NONE;
}

int lfuse_tensor_rank(const lfuse_tensor *tensor)
{
    return tensor ? tensor->rank : 0;
}

const int64_t *lfuse_tensor_shape(const lfuse_tensor *tensor)
{
    return tensor ? tensor->shape : NULL;
}

const int64_t *lfuse_tensor_strides(const lfuse_tensor *tensor)
{
    return tensor ? tensor->strides : NULL;
}

int64_t lfuse_tensor_elements(const lfuse_tensor *tensor)
{
    return tensor ? tensor->elements : 0;
}

lfuse_device *lfuse_tensor_device(const lfuse_tensor *tensor)
{
    return tensor ? tensor->range->dev : NULL;
}

lfuse_status lfuse_tensor_write(lfuse_tensor *tensor, lfuse_stream *stream, const void *host)
{
    NEED(tensor);
    if (tensor->elements) NEED(host);
    return lfuse__tensor_write(tensor, stream, host);
}

lfuse_status lfuse_tensor_read(const lfuse_tensor *tensor, lfuse_stream *stream, void *host)
{
    NEED(tensor);
    if (tensor->elements) NEED(host);
    return lfuse__tensor_read(tensor, stream, host);
}

lfuse_status lfuse_tensor_copy(lfuse_tensor *destination, const lfuse_tensor *source, lfuse_stream *stream)
{
    NEED(destination);
    NEED(source);
    return lfuse__tensor_copy(destination, source, stream);
}

lfuse_status lfuse_tensor_fill(lfuse_tensor *tensor, lfuse_stream *stream, double number)
{
    NEED(tensor);
    return lfuse__tensor_fill(tensor, stream, number);
}
