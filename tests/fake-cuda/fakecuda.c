/* SPDX-License-Identifier: Apache-2.0 */
/* The fake driver: what it counts and fails, devices and contexts, and where its functions are found. */
#include "tests/fake-cuda/fakecuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake-cuda/internal.h"

enum { DEVICES = 4 };

#define EXPORT __attribute__((visibility("default")))

fakecuda_reset_function fakecuda_reset EXPORT;
fakecuda_calls_function fakecuda_calls EXPORT;
fakecuda_live_function fakecuda_live EXPORT;
fakecuda_last_function fakecuda_last EXPORT;
fakecuda_replayed_function fakecuda_replayed EXPORT;
CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found) EXPORT;

static struct CUctx_st primary[DEVICES] = { { 0 }, { 1 }, { 2 }, { 3 } };
CUcontext fake_current[16];
int fake_depth;
double fake_clock_us;
fakecuda_launch fake_last, fake_replayed[NODES];
int64_t fake_live;
static int version = 13000, devices = 2, capability = 90;
static char lacks[48];

typedef struct counter { char name[48]; uint64_t calls; } counter;
static counter counters[128];
static struct { char name[48]; uint64_t n; int code; } failure;

void fakecuda_reset(void)
{
    const char *fail = getenv("FAKECUDA_FAIL"), *v = getenv("FAKECUDA_VERSION"), *d = getenv("FAKECUDA_DEVICES");
    const char *c = getenv("FAKECUDA_CAPABILITY"), *l = getenv("FAKECUDA_LACKS");
    memset(&failure, 0, sizeof failure);
    memset(counters, 0, sizeof counters);
    if (fail && sscanf(fail, "%47[^:]:%lu:%d", failure.name, (unsigned long *)&failure.n, &failure.code) != 3)
        memset(&failure, 0, sizeof failure);
    version = v ? atoi(v) : 13000;
    devices = d ? atoi(d) : 2;
    capability = c ? atoi(c) : 90;
    snprintf(lacks, sizeof lacks, "%s", l ? l : "");
}

static counter *find_counter(const char *name)
{
    size_t i = 0;
    while (counters[i].name[0] && strcmp(counters[i].name, name)) i++;
    snprintf(counters[i].name, sizeof counters[i].name, "%s", name);
    return &counters[i];
}

uint64_t fakecuda_calls(const char *function)
{
    return find_counter(function)->calls;
}

int64_t fakecuda_live(void)
{
    return fake_live;
}

const fakecuda_launch *fakecuda_last(void)
{
    return &fake_last;
}

const fakecuda_launch *fakecuda_replayed(unsigned i)
{
    return &fake_replayed[i];
}

CUresult fake_enter(const char *name)
{
    counter *c = find_counter(name);
    c->calls++;
    if (failure.n && !strcmp(failure.name, name) && c->calls >= failure.n) return (CUresult)failure.code;
    return CUDA_SUCCESS;
}

/* ---- the driver ---- */

CUresult fake_Init(unsigned flags)
{
    ENTER(Init);
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult fake_DriverGetVersion(int *v)
{
    ENTER(DriverGetVersion);
    *v = version;
    return CUDA_SUCCESS;
}

CUresult fake_GetErrorName(CUresult error, const char **text)
{
    (void)error;
    *text = "FAKE_ERROR";
    return CUDA_SUCCESS;
}

CUresult fake_GetErrorString(CUresult error, const char **text)
{
    (void)error;
    *text = "as it was told to";
    return CUDA_SUCCESS;
}

CUresult fake_DeviceGetCount(int *count)
{
    ENTER(DeviceGetCount);
    *count = devices;
    return CUDA_SUCCESS;
}

CUresult fake_DeviceGet(CUdevice *device, int i)
{
    ENTER(DeviceGet);
    if (i < 0 || i >= devices) return CUDA_ERROR_INVALID_DEVICE;
    *device = i;
    return CUDA_SUCCESS;
}

CUresult fake_DeviceGetName(char *name, int size, CUdevice device)
{
    ENTER(DeviceGetName);
    snprintf(name, (size_t)size, "Fake %d", device);
    return CUDA_SUCCESS;
}

CUresult fake_DeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)device;
    ENTER(DeviceGetAttribute);
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = capability / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = capability % 10; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = 232448; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = 49152; break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 1 << 20; break;
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY: *value = 1; break;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS: *value = 1; break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *value = 1980000; break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *value = 3201000; break;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *value = 6144; break;
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH: *value = 1; break;
    default: *value = 0;
    }
    return CUDA_SUCCESS;
}

CUresult fake_DeviceTotalMem(size_t *bytes, CUdevice device)
{
    (void)device;
    ENTER(DeviceTotalMem);
    *bytes = (size_t)1 << 34;
    return CUDA_SUCCESS;
}

CUresult fake_DevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    ENTER(DevicePrimaryCtxRetain);
    *context = &primary[device];
    fake_live++;
    return CUDA_SUCCESS;
}

CUresult fake_DevicePrimaryCtxRelease(CUdevice device)
{
    (void)device;
    ENTER(DevicePrimaryCtxRelease);
    fake_live--;
    return CUDA_SUCCESS;
}

CUresult fake_CtxGetCurrent(CUcontext *context)
{
    *context = fake_depth ? fake_current[fake_depth - 1] : NULL;
    return CUDA_SUCCESS;
}

CUresult fake_CtxPushCurrent(CUcontext context)
{
    ENTER(CtxPushCurrent);
    if (fake_depth == 16) abort();
    fake_current[fake_depth++] = context;
    return CUDA_SUCCESS;
}

CUresult fake_CtxPopCurrent(CUcontext *context)
{
    ENTER(CtxPopCurrent);
    NEED_CONTEXT();
    *context = fake_current[--fake_depth];
    return CUDA_SUCCESS;
}

CUresult fake_CtxGetDevice(CUdevice *device)
{
    ENTER(CtxGetDevice);
    NEED_CONTEXT();
    *device = fake_current[fake_depth - 1]->device;
    return CUDA_SUCCESS;
}

CUresult fake_CtxGetApiVersion(CUcontext context, unsigned *v)
{
    (void)context;
    ENTER(CtxGetApiVersion);
    *v = 3020;
    return CUDA_SUCCESS;
}

/* ---- the one exported door ---- */

typedef void any_function(void);
CUresult cuGetProcAddress_v2(const char *symbol, void **function, int asked, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found)
{
    const struct {
        const char *name;
        int version;
        any_function *function;
    } rows[] = {
#define LFUSE__CU(name, version) { "cu" #name, version, (any_function *)fake_##name },
#include "backends/cuda/functions.def"
    };

    if (counters[0].name[0] == '\0') fakecuda_reset();
    ENTER(GetProcAddress);
    if (flags != CU_GET_PROC_ADDRESS_LEGACY_STREAM) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, symbol) || rows[i].version != asked || !strcmp(lacks, symbol)) continue;
        memcpy(function, &rows[i].function, sizeof *function);
        *found = CU_GET_PROC_ADDRESS_SUCCESS;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}
