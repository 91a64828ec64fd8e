/* SPDX-License-Identifier: Apache-2.0 */
/** Tensors: typed, strided views of device memory, the library's own or the caller's. */
#ifndef LIBFUSE_TENSOR_H
#define LIBFUSE_TENSOR_H

#include <libfuse/base.h>
#include <libfuse/device.h>
#include <libfuse/status.h>
#include <libfuse/types.h>

typedef struct lfuse_tensor lfuse_tensor;

typedef enum lfuse_memory_kind {
    LFUSE_MEMORY_NATIVE = 1, /**< a CUdeviceptr, or a cl_mem (retained) */
    LFUSE_MEMORY_POINTER = 2 /**< a pointer valid on host and device: managed memory or SVM */
} lfuse_memory_kind;

LFUSE_BEGIN_DECLS

/** A contiguous tensor of the library's own memory, contents undefined. Rank 0 is one element; extents may be 0. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_tensor_create(lfuse_device *device, lfuse_type type, int rank,
                                                            const int64_t *shape, lfuse_tensor **tensor);
/**
 * The same in memory that host and device share (managed memory on CUDA, shared virtual memory on OpenCL): the driver
 * moves its pages to where they are used, so an optimizer's state may be larger than the device's memory. The driver
 * alone limits the size. ERR_UNSUPPORTED where lfuse_device_info.svm is 0.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_tensor_create_unified(lfuse_device *device, lfuse_type type, int rank,
                                                                    const int64_t *shape, lfuse_tensor **tensor);
/**
 * Where the host finds the first element of such a tensor or of a view of it, laid out by the tensor's strides; valid
 * as long as the tensor. The host orders itself: it reads what a run wrote after the run's stream was synchronised, and
 * writes nothing that a submitted run uses. NULL for other tensors, for empty ones, and where the host may not touch
 * shared memory while the device works (lfuse_device_info.svm_concurrent is 0): lfuse_tensor_read and
 * lfuse_tensor_write work everywhere.
 */
LFUSE_API void *lfuse_tensor_host(const lfuse_tensor *tensor);
/**
 * A tensor over the caller's memory, without a copy. `handle` is the CUdeviceptr or pointer, or the cl_mem cast through
 * uintptr_t. `bytes` is the size of that memory from the handle on, 0 where unknown (a cl_mem's is asked for; an
 * unknown one is not checked). `offset` and `strides` count elements; strides NULL means contiguous. The memory must
 * stay alive until the tensor is destroyed and the last run that uses it has finished.
 * Errors: ERR_CONTEXT when the memory belongs to another context, ERR_SHAPE when it is too small.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_tensor_wrap(lfuse_device *device, lfuse_memory_kind kind,
                                                          uint64_t handle, uint64_t bytes, lfuse_type type, int rank,
                                                          const int64_t *shape, const int64_t *strides, int64_t offset,
                                                          lfuse_tensor **tensor);
/**
 * Another view of a tensor's memory: `offset` elements on from its first element, strides in elements (NULL:
 * contiguous; 0 repeats, negative goes backwards). Must stay inside the parent's memory. Holds the memory by itself.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_tensor_view(const lfuse_tensor *parent, int rank, const int64_t *shape,
                                                          const int64_t *strides, int64_t offset,
                                                          lfuse_tensor **tensor);
/** Legal while runs still use it: the memory is released when they have finished. */
LFUSE_API void lfuse_tensor_destroy(lfuse_tensor *tensor);

LFUSE_API lfuse_type lfuse_tensor_type(const lfuse_tensor *tensor);
LFUSE_API int lfuse_tensor_rank(const lfuse_tensor *tensor);
/** rank extents, or strides in elements; valid as long as the tensor. */
LFUSE_API const int64_t *lfuse_tensor_shape(const lfuse_tensor *tensor);
LFUSE_API const int64_t *lfuse_tensor_strides(const lfuse_tensor *tensor);
LFUSE_API int64_t lfuse_tensor_elements(const lfuse_tensor *tensor);
LFUSE_API lfuse_device *lfuse_tensor_device(const lfuse_tensor *tensor);

/**
 * Copies between host memory (contiguous, row-major, of the tensor's type) and the tensor, whatever its strides. With a
 * stream the call only submits: the host memory must stay untouched until the stream is synchronised. With stream NULL
 * it waits for the copy; work on other streams must have finished before.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_tensor_write(lfuse_tensor *tensor, lfuse_stream *stream,
                                                           const void *host);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_tensor_read(const lfuse_tensor *tensor, lfuse_stream *stream, void *host);
/**
 * Copies between tensors of equal type and shape, on one device (then `stream` orders it; NULL waits) or on two, of any
 * backends: directly where the driver can, else through the host, which waits.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_tensor_copy(lfuse_tensor *destination, const lfuse_tensor *source,
                                                          lfuse_stream *stream);
/** Sets every element to `number`, rounded to the type. stream as for lfuse_tensor_write. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_tensor_fill(lfuse_tensor *tensor, lfuse_stream *stream, double number);

LFUSE_END_DECLS
#endif
