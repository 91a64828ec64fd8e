/* SPDX-License-Identifier: Apache-2.0 */
/* The filled contract, and devices: enumerate, describe, open, adopt, close. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/internal.h"
#include "backends/cuda/prelude.k.h"

static lfuse_status cu_enumerate(int *count, char *reason, size_t reason_size)
{
    lfuse__saved_error before;
    lfuse_status status;
    CUresult result;
    int n = 0;

    lfuse__error_save(&before);
    status = lfuse__cu_load_driver();
    if (lfuse__is_shortage(status)) return status;
    if (status) {
        snprintf(reason, reason_size, "%s", lfuse__error_message());
        lfuse__error_restore(&before);
        *count = 0;
        return LFUSE_OK;
    }
    result = lfuse__cu.DeviceGetCount(&n);
    if (result == CUDA_ERROR_NO_DEVICE) n = 0;
    else if (result != CUDA_SUCCESS) return lfuse__cu_error(NULL, result, "cuDeviceGetCount");
    if (n <= 0) snprintf(reason, reason_size, "the driver (%s) finds no device", lfuse__cu_driver.text);
    *count = n;
    return LFUSE_OK;
}

static lfuse_status find_device(int i, CUdevice *id)
{
    CUresult result;

    LFUSE__TRY(lfuse__cu_load_driver());
    result = lfuse__cu.DeviceGet(id, i);
    if (result != CUDA_SUCCESS) return lfuse__cu_error(NULL, result, "cuDeviceGet(%d)", i);
    return LFUSE_OK;
}

static lfuse_status cu_describe(int i, lfuse__facts *facts)
{
    lfuse__cu_device device;
    lfuse_status status;
    char name[32];
    CUdevice id;

    LFUSE__TRY(find_device(i, &id));
    status = lfuse__cu_read_device(id, &device);
    if (lfuse__is_shortage(status)) return status;
    snprintf(name, sizeof name, "cuda:%d", i);
    if (status) lfuse__facts_unknown(facts, "cuda", name, lfuse__error_message());
    else *facts = device.facts;
    return LFUSE_OK;
}

static lfuse_status make_device(CUdevice id, lfuse__bdevice **dev)
{
    lfuse__bdevice *made = calloc(1, sizeof *made);
    lfuse_status status;

    if (made == NULL) return lfuse__cu_no_memory(sizeof *made);
    status = lfuse__cu_read_device(id, &made->device);
    if (status) {
        free(made);
        return status;
    }
    atomic_init(&made->lost, 0);
    atomic_init(&made->blas, NULL);
    pthread_mutex_init(&made->blas_lock, NULL);
    *dev = made;
    return LFUSE_OK;
}

static void unmake_device(lfuse__bdevice *dev)
{
    pthread_mutex_destroy(&dev->blas_lock);
    free(dev);
}

static lfuse_status cu_open(int i, lfuse__bdevice **dev)
{
    lfuse__bdevice *made;
    CUresult result;
    CUdevice id;

    LFUSE__TRY(find_device(i, &id));
    LFUSE__TRY(make_device(id, &made));
    result = lfuse__cu.DevicePrimaryCtxRetain(&made->context, id);
    if (result != CUDA_SUCCESS) {
        unmake_device(made);
        return lfuse__cu_error(NULL, result, "cuDevicePrimaryCtxRetain of device %d", (int)id);
    }
    made->primary = true;
    *dev = made;
    return LFUSE_OK;
}

static lfuse_status device_of_context(CUcontext context, CUdevice *id)
{
    CUcontext popped;
    CUresult result = lfuse__cu.CtxPushCurrent(context);

    if (result != CUDA_SUCCESS) return lfuse__cu_error(NULL, result, "cuCtxPushCurrent of the adopted context");
    result = lfuse__cu.CtxGetDevice(id);
    lfuse__cu.CtxPopCurrent(&popped);
    if (result != CUDA_SUCCESS) return lfuse__cu_error(NULL, result, "cuCtxGetDevice of the adopted context");
    return LFUSE_OK;
}

static lfuse_status cu_adopt(void *context, void *native_device, lfuse__bdevice **dev)
{
    unsigned version;
    CUresult result;
    CUdevice id;

    (void)native_device;
    LFUSE__TRY(lfuse__cu_load_driver());
    if (context == NULL) return lfuse__error(LFUSE_ERR_INVALID, "the CUcontext to adopt is NULL");
    result = lfuse__cu.CtxGetApiVersion(context, &version);
    if (result != CUDA_SUCCESS) return lfuse__cu_error(NULL, result, "cuCtxGetApiVersion of the adopted context");
    LFUSE__TRY(device_of_context(context, &id));
    LFUSE__TRY(make_device(id, dev));
    (*dev)->context = context;
    return LFUSE_OK;
}

static void cu_close(lfuse__bdevice *dev)
{
    cublasLtHandle_t blas;
    bool pushed;

    if (dev == NULL) return;
    blas = atomic_load(&dev->blas);
    if (blas != NULL && lfuse__cu_enter_quietly(dev, &pushed)) {
        lfuse__lt.Destroy(blas);
        lfuse__cu_leave(pushed);
    }
    if (dev->primary)
        lfuse__cu_ignore(dev, lfuse__cu.DevicePrimaryCtxRelease(dev->device.id), "cuDevicePrimaryCtxRelease");
    unmake_device(dev);
}

lfuse_status lfuse__cu_push(lfuse__bdevice *dev)
{
    CUresult result = lfuse__cu.CtxPushCurrent(dev->context);

    if (result != CUDA_SUCCESS) return lfuse__cu_error(dev, result, "cuCtxPushCurrent");
    return LFUSE_OK;
}

static lfuse_status cu_facts(lfuse__bdevice *dev, lfuse__facts *facts)
{
    *facts = dev->device.facts;
    facts->maps_of = dev;
    lfuse__cu_name_blas(facts);
    return LFUSE_OK;
}

static lfuse_status cu_memory(lfuse__bdevice *dev, uint64_t *free_bytes, uint64_t *total_bytes)
{
    size_t available = 0, total = 0;
    CUresult result;
    bool pushed;

    LFUSE__TRY(lfuse__cu_enter(dev, &pushed));
    result = lfuse__cu.MemGetInfo(&available, &total);
    lfuse__cu_leave(pushed);
    if (result != CUDA_SUCCESS) return lfuse__cu_error(dev, result, "cuMemGetInfo");
    *free_bytes = available;
    *total_bytes = total;
    return LFUSE_OK;
}

/* What calls have seen so far. Asking the driver instead could end a capture of the caller's. */
static lfuse_status cu_pending(lfuse__bdevice *dev)
{
    int code = atomic_load_explicit(&dev->lost, memory_order_relaxed);

    if (__builtin_expect(code == 0, 1)) return LFUSE_OK;
    return lfuse__cu_error(dev, (CUresult)code, "the context of device %d is lost", (int)dev->device.id);
}

const lfuse__backend lfuse__backend_cuda = {
    .name = "cuda",
    .prelude = lfuse__text_prelude,
    .hint = "for an NVIDIA GPU: its driver, version 525 or newer (Debian: nvidia-driver and libcuda1), and "
            "CUDA's NVRTC of at most that version (Debian: libnvrtc12)",
    .enumerate = cu_enumerate,
    .describe = cu_describe,
    .parts = lfuse__cu_parts,
    .open = cu_open,
    .adopt = cu_adopt,
    .close = cu_close,
    .facts = cu_facts,
    .memory = cu_memory,
    .program_key = lfuse__cu_program_key,
    .pending = cu_pending,
    .alloc = lfuse__cu_alloc,
    .wrap = lfuse__cu_wrap,
    .free = lfuse__cu_free,
    .mem_info = lfuse__cu_mem_info,
    .write = lfuse__cu_write,
    .read = lfuse__cu_read,
    .copy = lfuse__cu_copy,
    .copy_peer = lfuse__cu_copy_peer,
    .fill = lfuse__cu_fill,
    .stream_create = lfuse__cu_stream_create,
    .stream_wrap = lfuse__cu_stream_wrap,
    .stream_destroy = lfuse__cu_stream_destroy,
    .stream_native = lfuse__cu_stream_native,
    .stream_flush = lfuse__cu_stream_flush,
    .stream_query = lfuse__cu_stream_query,
    .stream_sync = lfuse__cu_stream_sync,
    .stream_capturing = lfuse__cu_stream_capturing,
    .event_create = lfuse__cu_event_create,
    .event_destroy = lfuse__cu_event_destroy,
    .event_record = lfuse__cu_event_record,
    .event_wait = lfuse__cu_event_wait,
    .event_query = lfuse__cu_event_query,
    .event_elapsed = lfuse__cu_event_elapsed,
    .program_build = lfuse__cu_program_build,
    .program_load = lfuse__cu_program_load,
    .program_binary = lfuse__cu_program_binary,
    .program_destroy = lfuse__cu_program_destroy,
    .kernel_create = lfuse__cu_kernel_create,
    .kernel_destroy = lfuse__cu_kernel_destroy,
    .launch = lfuse__cu_launch,
    .gemm_candidates = lfuse__cu_gemm_candidates,
    .gemm_prepare = lfuse__cu_gemm_prepare,
    .gemm_run = lfuse__cu_gemm_run,
    .gemm_destroy = lfuse__cu_gemm_destroy,
    .graph_begin = lfuse__cu_graph_begin,
    .graph_end = lfuse__cu_graph_end,
    .graph_launch = lfuse__cu_graph_launch,
    .graph_patch = lfuse__cu_graph_patch,
    .graph_destroy = lfuse__cu_graph_destroy,
};
