/* SPDX-License-Identifier: Apache-2.0 */
/* Settings, failures, counters, devices, and the table of slots. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "tests/stub/internal.h"
#include "tests/stub/prelude.k.h"

enum { LOG_CALLS = 64 };

#define DEFAULTS                                                                                                       \
    {                                                                                                                  \
        .devices = 2, .addresses = true, .vector_lanes = true, .f64 = true, .exact = true, .svm = true,                \
        .svm_concurrent = true, .native_graph = true, .patches = true, .peer = true, .elapsed = true, .driver = 1,     \
        .max_argument_bytes = 1024, .max_group = 1024, .simd = 1, .compute_units = 1, .elementwise_groups = 4,         \
        .gemm_candidates = 2, .gemm_workspace = 4096, .memory_bytes = (uint64_t)1 << 42, .sparse_bytes = 1 << 21,      \
    }

static const lfuse__stub_settings defaults = DEFAULTS;
lfuse__stub_settings lfuse__stub = DEFAULTS;
lfuse__stub_counters lfuse__stub_count;
lfuse__stub_live lfuse__stub_alive;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    bool armed, persistent, fired;
    lfuse__stub_slot slot;
    uint64_t left; /* calls until it fails */
    lfuse_status status;
} failure;
static lfuse__stub_call calls[LOG_CALLS];
static uint64_t ncalls;

static const char *const slot_names[LFUSE__STUB_SLOTS] = {
    [LFUSE__STUB_ANY] = "any",
#define SLOT_NAME(name) [LFUSE__STUB_##name] = #name,
    LFUSE__STUB_SLOT_MAP(SLOT_NAME)
#undef SLOT_NAME
};

const char *lfuse__stub_slot_name(lfuse__stub_slot slot)
{
    return slot_names[slot];
}

void lfuse__stub_reset(void)
{
    pthread_mutex_lock(&lock);
    lfuse__stub = defaults;
    memset(&lfuse__stub_count, 0, sizeof lfuse__stub_count);
    memset(&failure, 0, sizeof failure);
    ncalls = 0;
    pthread_mutex_unlock(&lock);
}

void lfuse__stub_fail(lfuse__stub_slot slot, uint64_t nth, bool persistent, lfuse_status status)
{
    pthread_mutex_lock(&lock);
    failure.armed = true;
    failure.fired = false;
    failure.persistent = persistent;
    failure.slot = slot;
    failure.left = nth;
    failure.status = status;
    pthread_mutex_unlock(&lock);
}

void lfuse__stub_no_failure(void)
{
    pthread_mutex_lock(&lock);
    failure.armed = false;
    pthread_mutex_unlock(&lock);
}

bool lfuse__stub_fired(void)
{
    pthread_mutex_lock(&lock);
    bool fired = failure.fired;
    pthread_mutex_unlock(&lock);
    return fired;
}

/* Whether this call of `slot` is one that fails; under the lock. */
static bool due(lfuse__stub_slot slot)
{
    if (!failure.armed || (failure.slot != LFUSE__STUB_ANY && failure.slot != slot)) return false;
    if (failure.left > 0) failure.left--;
    if (failure.left > 0 || (failure.fired && !failure.persistent)) return false;
    failure.fired = true;
    return true;
}

lfuse_status lfuse__stub_enter(lfuse__stub_slot slot)
{
    pthread_mutex_lock(&lock);
    lfuse__stub_count.calls[LFUSE__STUB_ANY]++;
    lfuse__stub_count.calls[slot]++;
    bool fails = due(slot);
    lfuse_status status = failure.status;
    uint64_t number = lfuse__stub_count.calls[slot];
    pthread_mutex_unlock(&lock);
    if (!fails) return LFUSE_OK;
    return lfuse__error(status, "stub: call %llu of %s fails as it was told to", (unsigned long long)number,
                        slot_names[slot]);
}

void lfuse__stub_add(uint64_t *counter, uint64_t n)
{
    pthread_mutex_lock(&lock);
    *counter += n;
    pthread_mutex_unlock(&lock);
}

void lfuse__stub_live_add(int64_t *counter, int64_t n)
{
    pthread_mutex_lock(&lock);
    *counter += n;
    pthread_mutex_unlock(&lock);
}

void lfuse__stub_bytes_add(int64_t bytes)
{
    pthread_mutex_lock(&lock);
    lfuse__stub_alive.bytes += (uint64_t)bytes;
    pthread_mutex_unlock(&lock);
}

lfuse__stub_counters lfuse__stub_counters_now(void)
{
    pthread_mutex_lock(&lock);
    const lfuse__stub_counters counters = lfuse__stub_count;
    pthread_mutex_unlock(&lock);
    return counters;
}

uint64_t lfuse__stub_calls(lfuse__stub_slot slot)
{
    return lfuse__stub_counters_now().calls[slot];
}

void lfuse__stub_live_get(lfuse__stub_live *live)
{
    pthread_mutex_lock(&lock);
    *live = lfuse__stub_alive;
    pthread_mutex_unlock(&lock);
}

int64_t lfuse__stub_live_objects(void)
{
    lfuse__stub_live l;
    lfuse__stub_live_get(&l);
    return l.devices + l.memories + l.streams + l.events + l.programs + l.kernels + l.gemms + l.graphs;
}

void lfuse__stub_log(const lfuse__stub_call *call)
{
    pthread_mutex_lock(&lock);
    calls[ncalls++ % LOG_CALLS] = *call;
    pthread_mutex_unlock(&lock);
}

bool lfuse__stub_call_get(unsigned back, lfuse__stub_call *call)
{
    pthread_mutex_lock(&lock);
    bool there = back < LOG_CALLS && back < ncalls;
    if (there) *call = calls[(ncalls - 1 - back) % LOG_CALLS];
    pthread_mutex_unlock(&lock);
    return there;
}

/* ---- devices ---- */

static lfuse_status enumerate(int *count, char *reason, size_t reason_size)
{
    ENTER(enumerate);
    *count = lfuse__stub.devices;
    snprintf(reason, reason_size, "%s", lfuse__stub.devices ? "" : "the stub was told to have no device");
    return LFUSE_OK;
}

static void state_facts(int index, lfuse__facts *facts)
{
    const lfuse__stub_settings *s = &lfuse__stub;
    memset(facts, 0, sizeof *facts);
    lfuse_device_info *info = &facts->info;
    if (index >= 0)
        snprintf(info->name, sizeof info->name, "stub:%d", index);
    else
        snprintf(info->name, sizeof info->name, "stub:adopted");
    snprintf(info->backend, sizeof info->backend, "stub");
    snprintf(info->product, sizeof info->product, "stub in host memory");
    snprintf(info->driver, sizeof info->driver, "stub %u", s->driver);
    snprintf(info->compiler, sizeof info->compiler, "host C compiler");
    snprintf(info->gemm, sizeof info->gemm, "plain loops");
    info->kind = s->gpu ? LFUSE_DEVICE_GPU : LFUSE_DEVICE_CPU;
    info->compute_units = s->compute_units;
    info->max_group = s->max_group;
    info->max_argument_bytes = s->max_argument_bytes;
    info->memory_bytes = s->memory_bytes;
    info->max_alloc_bytes = s->memory_bytes;
    info->local_bytes = 49152;
    info->f64 = s->f64;
    info->svm = s->svm;
    info->svm_concurrent = s->svm && s->svm_concurrent;
    info->exact = s->exact;
    info->native_graph = s->native_graph;
    info->tf32 = s->tf32 || s->tensor_cores;
    facts->products_tf32 = s->tf32;
    snprintf(facts->arch, sizeof facts->arch, "host");
    facts->products = s->tuned ? LFUSE__PRODUCTS_TUNED : LFUSE__PRODUCTS_PORTABLE;
    if (s->tuned) facts->vendor = LFUSE__VENDOR_NVIDIA, facts->generation = 90;
    facts->addresses = s->addresses;
    facts->vector_lanes = s->vector_lanes;
    facts->compiles_at_launch = s->compiles_at_launch;
    facts->concurrent_builds = s->concurrent_builds;
    facts->capture = true;
    facts->simd = s->simd;
    facts->tensor_cores = facts->mma_fp8 = s->tensor_cores;
    facts->wgmma = s->wgmma;
    if (s->tensor_maps) facts->tensor_map = lfuse__stub_tensor_map;
    facts->dynamic_local_bytes = s->dynamic_local_bytes;
    facts->elementwise_groups = s->elementwise_groups;
    facts->resident_groups = s->resident_groups;
    info->cache_bytes = s->cache_bytes ? s->cache_bytes : s->resident_groups ? 1 << 24 : 0;
}

lfuse_status lfuse__stub_tensor_map(lfuse__bdevice *dev, const lfuse__tensor_boxes *of,
                                    uint64_t map[LFUSE__TENSOR_MAP_WORDS], bool *made)
{
    (void)dev;
    *made = of->address % 16 == 0;
    map[0] = of->address, map[1] = (uint64_t)of->bytes << 8 | of->axes;
    for (unsigned i = 0; i < of->axes; i++) {
        *made = *made && (!i || of->axis[i].apart % 16 == 0);
        map[2 + 2 * i] = of->axis[i].extent << 16 | of->axis[i].box;
        map[3 + 2 * i] = of->axis[i].apart;
    }
    return LFUSE_OK;
}

static lfuse_status describe(int i, lfuse__facts *facts)
{
    ENTER(describe);
    state_facts(i, facts);
    return LFUSE_OK;
}

static int parts(lfuse__part *list, int max)
{
    if (max < 1) return 1;
    memset(list, 0, sizeof *list);
    list->name = "host compiler";
    snprintf(list->version, sizeof list->version, "%s", __VERSION__);
    return 1;
}

static lfuse_status make_device(int index, lfuse__bdevice **dev)
{
    lfuse__bdevice *made = calloc(1, sizeof *made);
    if (!made) return lfuse__error(LFUSE_ERR_MEMORY, "stub: no memory for a device");
    made->index = index;
    made->native_graph = lfuse__stub.native_graph;
    lfuse__stub_live_add(&lfuse__stub_alive.devices, 1);
    *dev = made;
    return LFUSE_OK;
}

static lfuse_status open_device(int i, lfuse__bdevice **dev)
{
    ENTER(open);
    if (i < 0 || i >= lfuse__stub.devices) return lfuse__error(LFUSE_ERR_NO_DEVICE, "stub: no device %d", i);
    return make_device(i, dev);
}

static lfuse_status adopt(void *context, void *native_device, lfuse__bdevice **dev)
{
    (void)native_device;
    ENTER(adopt);
    if (!context) return lfuse__error(LFUSE_ERR_INVALID, "stub: the context is NULL");
    return make_device(-1, dev);
}

static void close_device(lfuse__bdevice *dev)
{
    lfuse__stub_live_add(&lfuse__stub_alive.devices, -1);
    free(dev);
}

static lfuse_status facts_of(lfuse__bdevice *dev, lfuse__facts *facts)
{
    ENTER(facts);
    state_facts(dev->index, facts);
    return LFUSE_OK;
}

static lfuse_status memory_of(lfuse__bdevice *dev, uint64_t *free_bytes, uint64_t *total_bytes)
{
    (void)dev;
    ENTER(memory);
    lfuse__stub_live live;
    lfuse__stub_live_get(&live);
    *total_bytes = lfuse__stub.memory_bytes;
    *free_bytes = live.bytes < *total_bytes ? *total_bytes - live.bytes : 0;
    return LFUSE_OK;
}

static lfuse_status pending(lfuse__bdevice *dev)
{
    (void)dev;
    ENTER(pending);
    if (lfuse__stub.lost) return lfuse__error(LFUSE_ERR_DEVICE_LOST, "stub: the device is lost");
    return LFUSE_OK;
}

const lfuse__backend lfuse__stub_backend = {
    .name = "stub",
    .prelude = lfuse__text_prelude,
    .hint = "the stub has devices when its settings say so",
    .enumerate = enumerate,
    .describe = describe,
    .parts = parts,
    .open = open_device,
    .adopt = adopt,
    .close = close_device,
    .facts = facts_of,
    .memory = memory_of,
    .program_key = lfuse__stub_program_key,
    .pending = pending,
    .alloc = lfuse__stub_alloc,
    .wrap = lfuse__stub_wrap,
    .free = lfuse__stub_free,
    .mem_info = lfuse__stub_mem_info,
    .write = lfuse__stub_write,
    .read = lfuse__stub_read,
    .copy = lfuse__stub_copy,
    .copy_peer = lfuse__stub_copy_peer,
    .fill = lfuse__stub_fill,
    .stream_create = lfuse__stub_stream_create,
    .stream_wrap = lfuse__stub_stream_wrap,
    .stream_destroy = lfuse__stub_stream_destroy,
    .stream_native = lfuse__stub_stream_native,
    .stream_flush = lfuse__stub_stream_flush,
    .stream_query = lfuse__stub_stream_query,
    .stream_sync = lfuse__stub_stream_sync,
    .stream_capturing = lfuse__stub_stream_capturing,
    .event_create = lfuse__stub_event_create,
    .event_destroy = lfuse__stub_event_destroy,
    .event_record = lfuse__stub_event_record,
    .event_wait = lfuse__stub_event_wait,
    .event_query = lfuse__stub_event_query,
    .event_elapsed = lfuse__stub_event_elapsed,
    .program_build = lfuse__stub_program_build,
    .program_load = lfuse__stub_program_load,
    .program_binary = lfuse__stub_program_binary,
    .program_destroy = lfuse__stub_program_destroy,
    .kernel_create = lfuse__stub_kernel_create,
    .kernel_destroy = lfuse__stub_kernel_destroy,
    .launch = lfuse__stub_launch,
    .gemm_candidates = lfuse__stub_gemm_candidates,
    .gemm_prepare = lfuse__stub_gemm_prepare,
    .gemm_run = lfuse__stub_gemm_run,
    .gemm_destroy = lfuse__stub_gemm_destroy,
    .graph_begin = lfuse__stub_graph_begin,
    .graph_end = lfuse__stub_graph_end,
    .graph_launch = lfuse__stub_graph_launch,
    .graph_patch = lfuse__stub_graph_patch,
    .graph_destroy = lfuse__stub_graph_destroy,
};
