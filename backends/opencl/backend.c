/* SPDX-License-Identifier: Apache-2.0 */
/* The filled contract, and devices: enumerate, describe, open, adopt, close. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/internal.h"
#include "backends/opencl/prelude.k.h"

enum { NO_PLATFORM = -1001 /* CL_PLATFORM_NOT_FOUND_KHR, of the loader */ };

/* The machine's devices, read once: the driver's handles of platforms and devices live as long as the process. */
typedef struct list_entry {
    cl_platform_id platform;
    cl_device_id id; /* NULL: the platform does not tell its devices, */
    char name[32];
    char why[160];   /* for this reason */
} list_entry;

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static list_entry *list;
static int list_count;
static bool list_read;
static char list_reason[256];

/* Room for n more, or ERR_MEMORY. */
static lfuse_status grow(list_entry **entries, int count, cl_uint n)
{
    list_entry *grown = realloc(*entries, ((size_t)count + n) * sizeof *grown);

    if (grown == NULL) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for %u devices", (unsigned)n);
    *entries = grown;
    return LFUSE_OK;
}

static void add_entry(list_entry *e, cl_platform_id platform, unsigned p, unsigned d, cl_device_id id, const char *why)
{
    *e = (list_entry){ .platform = platform, .id = id };
    snprintf(e->name, sizeof e->name, "opencl:%u:%u", p, d);
    snprintf(e->why, sizeof e->why, "%s", why);
}

static lfuse_status append_devices(cl_platform_id platform, unsigned p, list_entry **entries, int *count)
{
    cl_uint n = 0;
    cl_device_id *ids;
    lfuse_status status = LFUSE_OK;
    cl_int code = lfuse__cl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &n);

    if (code == CL_DEVICE_NOT_FOUND || (code == CL_SUCCESS && n == 0)) return LFUSE_OK;
    if (code != CL_SUCCESS) return lfuse__cl_error(code, "clGetDeviceIDs of platform %u", p);
    ids = calloc(n, sizeof *ids);
    if (ids == NULL) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for %u device ids", (unsigned)n);
    code = lfuse__cl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, ids, NULL);
    if (code != CL_SUCCESS) {
        status = lfuse__cl_error(code, "clGetDeviceIDs of platform %u", p);
        goto free_ids;
    }
    status = grow(entries, *count, n);
    if (status != LFUSE_OK) goto free_ids;
    for (cl_uint d = 0; d < n; d++) add_entry(&(*entries)[(*count)++], platform, p, (unsigned)d, ids[d], "");
free_ids:
    free(ids);
    return status;
}

/* A platform that fails hides no other: what it has is in the list as one device that cannot be used. */
static lfuse_status append_platform(cl_platform_id platform, unsigned p, list_entry **entries, int *count)
{
    lfuse__saved_error before;
    lfuse_status status;
    char why[160];

    lfuse__error_save(&before);
    status = append_devices(platform, p, entries, count);
    if (status == LFUSE_OK || lfuse__is_shortage(status)) return status;
    snprintf(why, sizeof why, "%s", lfuse__error_message());
    lfuse__error_restore(&before);
    LFUSE__TRY(grow(entries, *count, 1));
    add_entry(&(*entries)[(*count)++], platform, p, 0, NULL, why);
    return LFUSE_OK;
}

/* *entries is the caller's to free, on failure too. */
static lfuse_status read_platforms(list_entry **entries, int *count, char *reason, size_t size)
{
    cl_uint n = 0;
    cl_platform_id *platforms;
    lfuse_status status = LFUSE_OK;
    cl_int code = lfuse__cl.GetPlatformIDs(0, NULL, &n);

    if (code == NO_PLATFORM || (code == CL_SUCCESS && n == 0)) {
        snprintf(reason, size, "the OpenCL loader finds no driver");
        return LFUSE_OK;
    }
    if (code != CL_SUCCESS) return lfuse__cl_error(code, "clGetPlatformIDs");
    platforms = calloc(n, sizeof *platforms);
    if (platforms == NULL) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for %u platforms", (unsigned)n);
    code = lfuse__cl.GetPlatformIDs(n, platforms, NULL);
    if (code != CL_SUCCESS) status = lfuse__cl_error(code, "clGetPlatformIDs");
    for (cl_uint p = 0; p < n && status == LFUSE_OK; p++)
        status = append_platform(platforms[p], (unsigned)p, entries, count);
    if (status == LFUSE_OK && *count == 0)
        snprintf(reason, size, "%u OpenCL platform(s), none with a device", (unsigned)n);
    free(platforms);
    return status;
}

/* Called with the lock held. A failure is not kept: the next call tries again. */
static lfuse_status read_list(void)
{
    list_entry *entries = NULL;
    int count = 0;
    lfuse_status status;

    if (list_read) return LFUSE_OK;
    status = lfuse__cl_load();
    if (lfuse__is_shortage(status)) return status;
    if (status) {
        snprintf(list_reason, sizeof list_reason, "%s", lfuse__error_message());
    } else if ((status = read_platforms(&entries, &count, list_reason, sizeof list_reason)) != LFUSE_OK) {
        free(entries);
        return status;
    }
    list = entries, list_count = count, list_read = true;
    return LFUSE_OK;
}

static lfuse_status enumerate(int *count, char *reason, size_t reason_size)
{
    lfuse_status status;

    pthread_mutex_lock(&list_lock);
    status = read_list();
    if (status == LFUSE_OK) {
        *count = list_count;
        snprintf(reason, reason_size, "%s", list_reason);
    }
    pthread_mutex_unlock(&list_lock);
    return status;
}

static lfuse_status entry_at(int i, list_entry *entry)
{
    lfuse_status status;

    pthread_mutex_lock(&list_lock);
    status = read_list();
    if (status == LFUSE_OK && (i < 0 || i >= list_count))
        status = lfuse__error(LFUSE_ERR_NO_DEVICE, "OpenCL device number %d: there are %d", i, list_count);
    if (status == LFUSE_OK) *entry = list[i];
    pthread_mutex_unlock(&list_lock);
    return status;
}

/* ERR_DEVICE for what stands in the list for the devices of a platform that does not tell them. */
static lfuse_status read_entry(const list_entry *entry, lfuse__cl_device *device)
{
    if (entry->id == NULL) return lfuse__error(LFUSE_ERR_DEVICE, "%s", entry->why);
    return lfuse__cl_read_device(entry->platform, entry->id, entry->name, device);
}

static lfuse_status describe(int i, lfuse__facts *facts)
{
    list_entry entry;
    lfuse__cl_device device;
    lfuse_status status;

    LFUSE__TRY(entry_at(i, &entry));
    status = read_entry(&entry, &device);
    if (lfuse__is_shortage(status)) return status;
    if (status) lfuse__facts_unknown(facts, "opencl", entry.name, lfuse__error_message());
    else *facts = device.facts;
    return LFUSE_OK;
}

static lfuse_status create_device(const lfuse__cl_device *device, lfuse__bdevice **dev)
{
    lfuse__bdevice *d;

    if (device->facts.unfit[0])
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s cannot be used: %s", device->facts.info.product,
                            device->facts.unfit);
    d = calloc(1, sizeof *d);
    if (d == NULL) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for a device");
    d->device = *device;
    atomic_init(&d->lost, 0);
    atomic_init(&d->held, 0);
    atomic_init(&d->gemm_ready, 0);
    *dev = d;
    return LFUSE_OK;
}

static void close_device(lfuse__bdevice *dev)
{
    lfuse__cl_mapper_destroy(dev->mapper);
    lfuse__cl_addresser_destroy(dev->addresser);
    lfuse__cl.ReleaseContext(dev->context);
    lfuse__cl.ReleaseDevice(dev->device.id);
    free(dev);
}

/* What only trials on the device tell. Takes the device, which is closed on failure. */
static lfuse_status probe(lfuse__bdevice *made, lfuse__bdevice **dev)
{
    lfuse_status status = lfuse__cl_probe_compiler(made);

    if (status == LFUSE_OK) status = lfuse__cl_probe_local_memory(made);
    if (status == LFUSE_OK) status = lfuse__cl_probe_addresses(made);
    if (status == LFUSE_OK) status = lfuse__cl_probe_tensor_maps(made);
    if (status) close_device(made);
    else *dev = made;
    return status;
}

static lfuse_status open_device(int i, lfuse__bdevice **dev)
{
    list_entry entry;
    lfuse__cl_device device;
    lfuse__bdevice *d;
    cl_context_properties properties[3] = { CL_CONTEXT_PLATFORM, 0, 0 };
    cl_int code;

    LFUSE__TRY(entry_at(i, &entry));
    LFUSE__TRY(read_entry(&entry, &device));
    LFUSE__TRY(create_device(&device, &d));
    properties[1] = (cl_context_properties)entry.platform;
    d->context = lfuse__cl.CreateContext(properties, 1, &entry.id, NULL, NULL, &code);
    if (d->context == NULL) {
        free(d);
        return lfuse__cl_error(code, "%s: clCreateContext", entry.name);
    }
    code = lfuse__cl.RetainDevice(entry.id);
    if (code != CL_SUCCESS) {
        lfuse__cl.ReleaseContext(d->context);
        free(d);
        return lfuse__cl_error(code, "%s: clRetainDevice", entry.name);
    }
    return probe(d, dev);
}

static lfuse_status context_holds(cl_context context, cl_device_id id)
{
    size_t bytes = 0;
    cl_device_id *ids;
    bool found = false;
    cl_int code = lfuse__cl.GetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &bytes);

    if (code != CL_SUCCESS) return lfuse__cl_error(code, "clGetContextInfo of the adopted context");
    ids = malloc(bytes + 1);
    if (ids == NULL) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for a context's devices");
    code = lfuse__cl.GetContextInfo(context, CL_CONTEXT_DEVICES, bytes, ids, NULL);
    for (size_t i = 0; code == CL_SUCCESS && i < bytes / sizeof *ids; i++) found |= ids[i] == id;
    free(ids);
    if (code != CL_SUCCESS) return lfuse__cl_error(code, "clGetContextInfo of the adopted context");
    if (!found) return lfuse__error(LFUSE_ERR_CONTEXT, "the cl_device_id is none of the cl_context's devices");
    return LFUSE_OK;
}

/* The list's name of a device; "opencl:adopted" for those not in it (sub-devices). */
static void name_of(cl_device_id id, char *name, size_t size)
{
    snprintf(name, size, "opencl:adopted");
    pthread_mutex_lock(&list_lock);
    for (int i = 0; i < list_count; i++)
        if (list[i].id == id) snprintf(name, size, "%s", list[i].name);
    pthread_mutex_unlock(&list_lock);
}

static lfuse_status adopt(void *context, void *native_device, lfuse__bdevice **dev)
{
    cl_device_id id = native_device;
    cl_platform_id platform;
    lfuse__cl_device device;
    lfuse__bdevice *d;
    char name[32];
    cl_int code;

    if (context == NULL || id == NULL)
        return lfuse__error(LFUSE_ERR_INVALID, "adopting needs a cl_context and a cl_device_id, one is NULL");
    LFUSE__TRY(lfuse__cl_load());
    LFUSE__TRY(context_holds(context, id));
    name_of(id, name, sizeof name);
    code = lfuse__cl.GetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    if (code != CL_SUCCESS) return lfuse__cl_error(code, "%s: clGetDeviceInfo(CL_DEVICE_PLATFORM)", name);
    LFUSE__TRY(lfuse__cl_read_device(platform, id, name, &device));
    LFUSE__TRY(create_device(&device, &d));
    code = lfuse__cl.RetainDevice(id);
    if (code != CL_SUCCESS) goto err_free;
    code = lfuse__cl.RetainContext(context);
    if (code != CL_SUCCESS) goto err_release_device;
    d->context = context;
    return probe(d, dev);

err_release_device:
    lfuse__cl.ReleaseDevice(id);
err_free:
    free(d);
    return lfuse__cl_error(code, "%s: retaining the adopted context", name);
}

static lfuse_status facts(lfuse__bdevice *dev, lfuse__facts *out)
{
    *out = dev->device.facts;
    return LFUSE_OK;
}

/* OpenCL has no word for free memory: what we hold is subtracted from what there is. */
static lfuse_status memory(lfuse__bdevice *dev, uint64_t *free_bytes, uint64_t *total_bytes)
{
    uint64_t total = dev->device.facts.info.memory_bytes, held = atomic_load(&dev->held);

    *free_bytes = held < total ? total - held : 0;
    *total_bytes = total;
    return LFUSE_OK;
}

static lfuse_status pending(lfuse__bdevice *dev)
{
    int code = atomic_load(&dev->lost);

    if (code == 0) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_DEVICE_LOST, "%s is lost since a command failed with %s (%d)",
                        dev->device.facts.info.name, lfuse__cl_code_name(code), code);
}

const lfuse__backend lfuse__backend_opencl = {
    .name = "opencl",
    .prelude = lfuse__text_prelude,
    .hint = "the loader ocl-icd-libopencl1 and a driver: pocl-opencl-icd (CPUs), nvidia-opencl-icd, "
            "intel-opencl-icd or mesa-opencl-icd (GPUs)",
    .enumerate = enumerate,
    .describe = describe,
    .parts = lfuse__cl_parts,
    .open = open_device,
    .adopt = adopt,
    .close = close_device,
    .facts = facts,
    .memory = memory,
    .program_key = lfuse__cl_program_key,
    .pending = pending,
    .alloc = lfuse__cl_alloc,
    .wrap = lfuse__cl_wrap,
    .free = lfuse__cl_free,
    .mem_info = lfuse__cl_mem_info,
    .write = lfuse__cl_write,
    .read = lfuse__cl_read,
    .copy = lfuse__cl_copy,
    .copy_peer = lfuse__cl_copy_peer,
    .fill = lfuse__cl_fill,
    .stream_create = lfuse__cl_stream_create,
    .stream_wrap = lfuse__cl_stream_wrap,
    .stream_destroy = lfuse__cl_stream_destroy,
    .stream_native = lfuse__cl_stream_native,
    .stream_flush = lfuse__cl_stream_flush,
    .stream_query = lfuse__cl_stream_query,
    .stream_sync = lfuse__cl_stream_sync,
    .stream_capturing = lfuse__cl_stream_capturing,
    .event_create = lfuse__cl_event_create,
    .event_destroy = lfuse__cl_event_destroy,
    .event_record = lfuse__cl_event_record,
    .event_wait = lfuse__cl_event_wait,
    .event_query = lfuse__cl_event_query,
    .event_elapsed = lfuse__cl_event_elapsed,
    .program_build = lfuse__cl_program_build,
    .program_load = lfuse__cl_program_load,
    .program_binary = lfuse__cl_program_binary,
    .program_destroy = lfuse__cl_program_destroy,
    .kernel_create = lfuse__cl_kernel_create,
    .kernel_destroy = lfuse__cl_kernel_destroy,
    .launch = lfuse__cl_launch,
    .gemm_candidates = lfuse__cl_gemm_candidates,
    .gemm_prepare = lfuse__cl_gemm_prepare,
    .gemm_run = lfuse__cl_gemm_run,
    .gemm_destroy = lfuse__cl_gemm_destroy,
    .graph_begin = lfuse__cl_graph_begin,
    .graph_end = lfuse__cl_graph_end,
    .graph_launch = lfuse__cl_graph_launch,
    .graph_patch = lfuse__cl_graph_patch,
    .graph_destroy = lfuse__cl_graph_destroy,
};
