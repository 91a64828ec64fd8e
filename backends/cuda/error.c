/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's codes as statuses and words. */
#include <stdarg.h>
#include <stdio.h>

#include "backends/cuda/internal.h"
#include "common/base/log.h"

typedef struct code_row {
    int code; /* numbers stand where the headers of CUDA 12 lack the name */
    lfuse_status status;
} code_row;

/* Codes that are in no row are ERR_DEVICE. Those of ERR_DEVICE_LOST never go away in this process. */
static const code_row rows[] = {
    { CUDA_ERROR_OUT_OF_MEMORY, LFUSE_ERR_DEVICE_MEMORY },
    { CUDA_ERROR_DEINITIALIZED, LFUSE_ERR_DEVICE_LOST },
    { CUDA_ERROR_NO_DEVICE, LFUSE_ERR_NO_DEVICE },
    { CUDA_ERROR_INVALID_DEVICE, LFUSE_ERR_NO_DEVICE },
    { CUDA_ERROR_INVALID_IMAGE, LFUSE_ERR_COMPILE },
    { CUDA_ERROR_INVALID_CONTEXT, LFUSE_ERR_CONTEXT },
    { CUDA_ERROR_NO_BINARY_FOR_GPU, LFUSE_ERR_COMPILE },
    { CUDA_ERROR_ECC_UNCORRECTABLE, LFUSE_ERR_DEVICE_LOST },
    { CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, LFUSE_ERR_UNSUPPORTED },
    { CUDA_ERROR_INVALID_PTX, LFUSE_ERR_COMPILE },
    { CUDA_ERROR_NVLINK_UNCORRECTABLE, LFUSE_ERR_DEVICE_LOST },
    { CUDA_ERROR_JIT_COMPILER_NOT_FOUND, LFUSE_ERR_COMPILE },
    { CUDA_ERROR_UNSUPPORTED_PTX_VERSION, LFUSE_ERR_COMPILE },
    { CUDA_ERROR_JIT_COMPILATION_DISABLED, LFUSE_ERR_COMPILE },
    { 226 /* CUDA_ERROR_CONTAINED */, LFUSE_ERR_DEVICE_LOST },
    { CUDA_ERROR_INVALID_SOURCE, LFUSE_ERR_COMPILE },
    { CUDA_ERROR_NOT_FOUND, LFUSE_ERR_NAME },
    { CUDA_ERROR_ILLEGAL_ADDRESS, LFUSE_ERR_DEVICE_LOST },
    { CUDA_ERROR_LAUNCH_TIMEOUT, LFUSE_ERR_DEVICE_LOST },
    { CUDA_ERROR_CONTEXT_IS_DESTROYED, LFUSE_ERR_DEVICE_LOST },
    { CUDA_ERROR_ASSERT, LFUSE_ERR_DEVICE_LOST },
    { CUDA_ERROR_HARDWARE_STACK_ERROR, LFUSE_ERR_DEVICE_LOST },
    { CUDA_ERROR_ILLEGAL_INSTRUCTION, LFUSE_ERR_DEVICE_LOST },
    { CUDA_ERROR_MISALIGNED_ADDRESS, LFUSE_ERR_DEVICE_LOST },
    { CUDA_ERROR_INVALID_ADDRESS_SPACE, LFUSE_ERR_DEVICE_LOST },
    { CUDA_ERROR_INVALID_PC, LFUSE_ERR_DEVICE_LOST },
    { CUDA_ERROR_LAUNCH_FAILED, LFUSE_ERR_DEVICE_LOST },
    { 721 /* CUDA_ERROR_TENSOR_MEMORY_LEAK */, LFUSE_ERR_DEVICE_LOST },
    { CUDA_ERROR_NOT_SUPPORTED, LFUSE_ERR_UNSUPPORTED },
    { CUDA_ERROR_MPS_CLIENT_TERMINATED, LFUSE_ERR_DEVICE_LOST },
    { CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, LFUSE_ERR_STATE },
    { CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, LFUSE_ERR_STATE },
    { CUDA_ERROR_STREAM_CAPTURE_MERGE, LFUSE_ERR_STATE },
    { CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, LFUSE_ERR_STATE },
    { CUDA_ERROR_STREAM_CAPTURE_UNJOINED, LFUSE_ERR_STATE },
    { CUDA_ERROR_STREAM_CAPTURE_ISOLATION, LFUSE_ERR_STATE },
    { CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, LFUSE_ERR_STATE },
    { CUDA_ERROR_CAPTURED_EVENT, LFUSE_ERR_STATE },
    { CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, LFUSE_ERR_STATE },
    { CUDA_ERROR_EXTERNAL_DEVICE, LFUSE_ERR_DEVICE_LOST },
};

static lfuse_status status_of(CUresult result)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].code == (int)result) return rows[i].status;
    return LFUSE_ERR_DEVICE;
}

lfuse_status lfuse__cu_error(lfuse__bdevice *dev, CUresult result, const char *format, ...)
{
    const char *name = NULL, *text = NULL;
    lfuse_status status = status_of(result);
    char words[1024];
    int none = 0;
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    if (status == LFUSE_ERR_DEVICE_LOST && dev != NULL) atomic_compare_exchange_strong(&dev->lost, &none, (int)result);
    if (lfuse__cu.GetErrorName(result, &name) != CUDA_SUCCESS || name == NULL) name = "unknown code";
    if (lfuse__cu.GetErrorString(result, &text) != CUDA_SUCCESS || text == NULL) text = "the driver has no text for it";
    return lfuse__error(status, "%s: %s (%d), %s", words, name, (int)result, text);
}

void lfuse__cu_ignore(lfuse__bdevice *dev, CUresult result, const char *call)
{
    const char *name = NULL;
    int none = 0;

    if (result == CUDA_SUCCESS || result == CUDA_ERROR_DEINITIALIZED) return;
    if (status_of(result) == LFUSE_ERR_DEVICE_LOST) atomic_compare_exchange_strong(&dev->lost, &none, (int)result);
    if (!lfuse__log_on(LFUSE_LOG_DEBUG)) return;
    if (lfuse__cu.GetErrorName(result, &name) != CUDA_SUCCESS || name == NULL) name = "unknown code";
    lfuse__log(LFUSE_LOG_DEBUG, "%s: %s: %s (%d)", dev->device.facts.info.name, call, name, (int)result);
}

lfuse_status lfuse__cu_no_memory(size_t bytes)
{
    return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", bytes);
}
