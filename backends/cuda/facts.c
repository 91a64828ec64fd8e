/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of a device once; no context is needed. */
#include <stdio.h>
#include <string.h>

#include "backends/cuda/internal.h"
#include "common/base/env.h"

enum {
    WARP = 32,
    ARGUMENT_BYTES = 4096,
    LARGE_ARGUMENT_BYTES = 32764, /* from Volta on, where driver and compiler are of CUDA 12.1 or newer */
    LARGE_ARGUMENT_CAPABILITY = 70,
    TF32_CAPABILITY = 80,
    TENSOR_CORES_CAPABILITY = 80, /* mma of 16 x 8 x 16, cp.async */
    MMA_FP8_CAPABILITY = 89,
    MMA_FP8_VERSION = 12040, /* PTX 8.4 */
    LARGE_ARGUMENT_VERSION = 12010,
    OVERLAP_CAPABILITY = 90,
    RESIDENT_VERSION = 12000, /* older drivers do not capture such launches as kernels of a graph */
    OVERLAP_VERSION = 12030 /* older drivers cannot capture such launches, and a launch does not ask who captures */
};

typedef struct numbers {
    int major, minor, units, group, local, dynamic, cache, managed, concurrent, pageable, clock, memory_clock,
        memory_bits, cooperative;
} numbers;

static lfuse_status read_numbers(CUdevice id, numbers *n)
{
    const struct {
        CUdevice_attribute attribute;
        const char *name;
        int *value;
        bool optional; /* stays 0 where the driver does not tell */
    } rows[] = {
        { CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, "COMPUTE_CAPABILITY_MAJOR", &n->major, false },
        { CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, "COMPUTE_CAPABILITY_MINOR", &n->minor, false },
        { CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, "MULTIPROCESSOR_COUNT", &n->units, false },
        { CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, "MAX_THREADS_PER_BLOCK", &n->group, false },
        { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, "MAX_SHARED_MEMORY_PER_BLOCK", &n->local, false },
        { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", &n->dynamic,
          false },
        { CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, "L2_CACHE_SIZE", &n->cache, false },
        { CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, "MANAGED_MEMORY", &n->managed, false },
        { CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, "CONCURRENT_MANAGED_ACCESS", &n->concurrent, false },
        { CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, "PAGEABLE_MEMORY_ACCESS", &n->pageable, false },
        { CU_DEVICE_ATTRIBUTE_CLOCK_RATE, "CLOCK_RATE", &n->clock, true },
        { CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, "MEMORY_CLOCK_RATE", &n->memory_clock, true },
        { CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, "GLOBAL_MEMORY_BUS_WIDTH", &n->memory_bits, true },
        { CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, "COOPERATIVE_LAUNCH", &n->cooperative, false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUresult result = lfuse__cu.DeviceGetAttribute(rows[i].value, rows[i].attribute, id);
        if (result != CUDA_SUCCESS && !rows[i].optional)
            return lfuse__cu_error(NULL, result, "cuDeviceGetAttribute(%s) of device %d", rows[i].name, (int)id);
    }
    return LFUSE_OK;
}

/* Binaries of an NVRTC are taken by that NVRTC alone: without one there are no kernels at all. */
static lfuse_status name_compiler(lfuse__facts *f)
{
    lfuse_device_info *info = &f->info;
    lfuse__saved_error before;
    lfuse_status status;

    lfuse__error_save(&before);
    status = lfuse__cu_load_compiler();
    if (lfuse__is_shortage(status)) return status;
    if (status == LFUSE_OK) {
        snprintf(info->compiler, sizeof info->compiler, "NVRTC %s", lfuse__cu_compiler.text);
    } else {
        snprintf(info->compiler, sizeof info->compiler, "none: %.120s", lfuse__cu_compiler.reason);
        snprintf(f->unfit, sizeof f->unfit, "there is no NVRTC, which compiles kernels: %.120s",
                 lfuse__cu_compiler.reason);
    }
    lfuse__error_restore(&before);
    return LFUSE_OK;
}

/* cuBLASLt is half a gigabyte: it is not loaded to learn its version. */
void lfuse__cu_name_blas(lfuse__facts *facts)
{
    lfuse_device_info *info = &facts->info;

    facts->products = LFUSE__PRODUCTS_TUNED;
    if (!atomic_load_explicit(&lfuse__cu_blas.tried, memory_order_acquire)) {
        snprintf(info->gemm, sizeof info->gemm, "cuBLASLt, loaded at the first product");
    } else if (lfuse__cu_blas.status == LFUSE_OK) {
        snprintf(info->gemm, sizeof info->gemm, "cuBLASLt %s", lfuse__cu_blas.text);
    } else {
        snprintf(info->gemm, sizeof info->gemm, "none: %.120s", lfuse__cu_blas.reason);
        facts->products = LFUSE__PRODUCTS_NONE;
    }
}

/*
 * Fused multiply-adds of f32 and f64 that a multiprocessor does in a cycle: "Arithmetic Instructions" of the CUDA C++
 * Programming Guide.
 */
static void find_lanes(int capability, int *f32, int *f64, int *split)
{
    *f32 = capability == 60 || capability / 10 == 7 || capability == 80 ? 64 : 128;
    *f64 = capability == 60 || capability == 70 || capability == 80 ? 32
           : capability == 90 || capability == 100                  ? 64
                                                                    : 2;
    *split = capability == 90 ? 512 : 0;
}

/*
 * What is reached of clocks times widths: by an H200, 51 of 66.9 TFLOP/s and 4.27 of 4.92 TB/s; of operands that are
 * split for F32X3, 200. Clocks are in kHz, memory gives data twice in a cycle; drivers that do not tell give 0.
 */
static void state_rates(const numbers *n, lfuse__facts *f)
{
    const double product = 0.76 * 2 * 1e3 * n->clock * n->units, copy = 0.87 * 2 * 1e3 / 8;
    int f32, f64, split;

    find_lanes(n->major * 10 + n->minor, &f32, &f64, &split);
    f->product_rate = product * f32;
    f->product_rate64 = product * f64;
    for (int i = 0; i < LFUSE__PRECISIONS; i++) f->product_rate_split[i] = product * split * lfuse__precisions[i].rate;
    f->copy_rate = copy * n->memory_clock * n->memory_bits;
}

/* What kernels and their launches may count on. */
static void state_launches(const numbers *n, lfuse__cu_device *device)
{
    lfuse__facts *f = &device->facts;

    f->addresses = true;
    f->capture = true;
    f->concurrent_builds = true;
    f->simd = WARP;
    f->steps = true;
    f->tensor_cores = device->capability >= TENSOR_CORES_CAPABILITY;
    f->mma_fp8 = device->capability >= MMA_FP8_CAPABILITY && lfuse__cu_compiler.version >= MMA_FP8_VERSION;
    f->wgmma = !strcmp(f->arch, "sm_90a");
    if (n->dynamic > LFUSE__CU_TILE_ALIGNMENT) f->dynamic_local_bytes = (uint64_t)n->dynamic - LFUSE__CU_TILE_ALIGNMENT;
    if (f->wgmma && lfuse__cu.TensorMapEncodeTiled != NULL) f->tensor_map = lfuse__cu_tensor_map;
    f->overlaps = device->overlap;
    /* 256 work-items with 255 registers each fit a multiprocessor, and so does the static local memory of one group. */
    if (n->cooperative && lfuse__cu_driver.version >= RESIDENT_VERSION && lfuse__cu.LaunchKernelEx != NULL)
        f->resident_groups = (unsigned)n->units;
}

lfuse_status lfuse__cu_read_device(CUdevice id, lfuse__cu_device *device)
{
    lfuse__facts *f = &device->facts;
    lfuse_device_info *info = &f->info;
    numbers n = { 0 };
    size_t bytes = 0;
    CUresult result;

    memset(device, 0, sizeof *device);
    LFUSE__TRY(read_numbers(id, &n));
    result = lfuse__cu.DeviceGetName(info->product, (int)sizeof info->product, id);
    if (result != CUDA_SUCCESS) return lfuse__cu_error(NULL, result, "cuDeviceGetName of device %d", (int)id);
    result = lfuse__cu.DeviceTotalMem(&bytes, id);
    if (result != CUDA_SUCCESS) return lfuse__cu_error(NULL, result, "cuDeviceTotalMem of device %d", (int)id);

    device->id = id;
    device->capability = n.major * 10 + n.minor;
    device->managed = n.managed != 0;
    device->pageable = n.pageable != 0;
    device->overlap = device->capability >= OVERLAP_CAPABILITY && lfuse__cu_driver.version >= OVERLAP_VERSION
                      && lfuse__cu.LaunchKernelEx != NULL && lfuse__env_get()->overlap;

    LFUSE__TRY(name_compiler(f));
    lfuse__cu_name_blas(f);
    snprintf(info->name, sizeof info->name, "cuda:%d", (int)id);
    snprintf(info->backend, sizeof info->backend, "cuda");
    snprintf(info->driver, sizeof info->driver, "%s", lfuse__cu_driver.text);
    info->kind = LFUSE_DEVICE_GPU;
    info->compute_units = (uint32_t)n.units;
    info->max_group = (uint32_t)n.group;
    info->max_argument_bytes = ARGUMENT_BYTES;
    if (device->capability >= LARGE_ARGUMENT_CAPABILITY && lfuse__cu_driver.version >= LARGE_ARGUMENT_VERSION
        && lfuse__cu_compiler.version >= LARGE_ARGUMENT_VERSION)
        info->max_argument_bytes = LARGE_ARGUMENT_BYTES;
    info->memory_bytes = bytes;
    info->max_alloc_bytes = bytes;
    info->local_bytes = (uint64_t)n.local;
    info->cache_bytes = (uint64_t)n.cache;
    info->f64 = 1;
    info->svm = device->managed;
    info->svm_concurrent = device->managed && n.concurrent;
    info->exact = 1;
    info->native_graph = 1;
    info->tf32 = f->products_tf32 = device->capability >= TF32_CAPABILITY;

    lfuse__cu_arch(device->capability, f->arch, sizeof f->arch);
    f->vendor = LFUSE__VENDOR_NVIDIA;
    f->generation = (unsigned)device->capability;
    state_launches(&n, device);
    state_rates(&n, f);
    return LFUSE_OK;
}
