/* SPDX-License-Identifier: Apache-2.0 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/layer/answers.h"
#include "tests/layer/layer.h"

#define EXPORT __attribute__((visibility("default")))

/* Functions that may be refused, then those that are only counted. */
#define FAILABLE(X)                                                                                                    \
    X(clGetPlatformIDs) X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clRetainDevice) X(clCreateContext) \
    X(clRetainContext) X(clGetContextInfo) X(clCreateCommandQueue) X(clRetainCommandQueue) X(clGetCommandQueueInfo)    \
    X(clFlush) X(clFinish) X(clCreateBuffer) X(clCreateSubBuffer) X(clRetainMemObject) X(clGetMemObjectInfo)           \
    X(clEnqueueReadBuffer) X(clEnqueueWriteBuffer) X(clEnqueueCopyBuffer) X(clEnqueueFillBuffer) X(clEnqueueMapBuffer) \
    X(clEnqueueUnmapMemObject) X(clEnqueueMarkerWithWaitList) X(clEnqueueBarrierWithWaitList) X(clGetEventInfo)        \
    X(clGetEventProfilingInfo) X(clCreateProgramWithSource) X(clCreateProgramWithBinary) X(clBuildProgram)             \
    X(clGetProgramBuildInfo) X(clGetProgramInfo) X(clCreateKernel) X(clSetKernelArg) X(clEnqueueNDRangeKernel)         \
    X(clSVMAlloc) X(clSetKernelArgSVMPointer) X(clEnqueueSVMMemcpy) X(clEnqueueSVMMemFill) X(clEnqueueSVMMap)          \
    X(clEnqueueSVMUnmap)
#define COUNTED(X)                                                                                                     \
    X(clReleaseDevice) X(clReleaseContext) X(clReleaseCommandQueue) X(clReleaseMemObject) X(clReleaseProgram)          \
    X(clReleaseKernel) X(clReleaseEvent) X(clRetainEvent) X(clRetainProgram) X(clRetainKernel) X(clSVMFree)

enum {
#define INDEX(name) INDEX_##name,
    FAILABLE(INDEX) FAILABLE_COUNT,
    LAST_FAILABLE = FAILABLE_COUNT - 1, /* so that the next name takes FAILABLE_COUNT */
    COUNTED(INDEX) FUNCTION_COUNT
#undef INDEX
};
static const char *const names[FUNCTION_COUNT] = {
#define NAME(name) [INDEX_##name] = #name,
    FAILABLE(NAME) COUNTED(NAME)
#undef NAME
};

enum { CONTEXT, QUEUE, MEM, PROGRAM, KERNEL, EVENT, SVM, KIND_COUNT };
static const char *const kinds[KIND_COUNT] = { "context", "queue", "mem", "program", "kernel", "event", "svm" };

static atomic_long calls[FUNCTION_COUNT], live[KIND_COUNT];
static const cl_icd_dispatch *next;

enum { ANY = -1, NONE = -2 };
static atomic_int armed = NONE; /* index of a function */
static atomic_long armed_nth, armed_seen, fired;
static atomic_int armed_always, armed_code;

static atomic_bool state_is_said;
static atomic_int said_state;
static atomic_long reads_to_spoil; /* blocking reads until the one that is spoiled */

static int index_of(const char *function)
{
    for (int i = 0; i < FUNCTION_COUNT; i++)
        if (strcmp(names[i], function) == 0) return i;
    return NONE;
}

EXPORT lfuse_layer_arm_t lfuse_layer_arm;
void lfuse_layer_arm(const char *function, long nth, int always, int code)
{
    atomic_store(&armed, NONE);
    if (function == NULL) return;
    atomic_store(&armed_nth, nth);
    atomic_store(&armed_seen, 0);
    atomic_store(&fired, 0);
    atomic_store(&armed_always, always);
    atomic_store(&armed_code, code);
    atomic_store(&armed, strcmp(function, "any") == 0 ? ANY : index_of(function));
}

EXPORT lfuse_layer_fired_t lfuse_layer_fired;
long lfuse_layer_fired(void)
{
    return atomic_load(&fired);
}

EXPORT lfuse_layer_calls_t lfuse_layer_calls;
long lfuse_layer_calls(const char *function)
{
    int i = index_of(function);
    return i >= 0 ? atomic_load(&calls[i]) : -1;
}

EXPORT lfuse_layer_live_t lfuse_layer_live;
long lfuse_layer_live(const char *kind)
{
    long sum = 0;
    for (int i = 0; i < KIND_COUNT; i++)
        if (kind == NULL || strcmp(kinds[i], kind) == 0) sum += atomic_load(&live[i]);
    return sum;
}

EXPORT lfuse_layer_state_t lfuse_layer_state;
void lfuse_layer_state(const int *state)
{
    if (state != NULL) atomic_store(&said_state, *state);
    atomic_store(&state_is_said, state != NULL);
}

EXPORT lfuse_layer_spoil_t lfuse_layer_spoil;
void lfuse_layer_spoil(long nth)
{
    atomic_store(&reads_to_spoil, nth);
}

/* Counts a call; CL_SUCCESS, or the code with which it is to be refused. */
static cl_int enter(int function)
{
    int which = atomic_load(&armed);

    atomic_fetch_add(&calls[function], 1);
    if (function >= FAILABLE_COUNT || (which != ANY && which != function)) return CL_SUCCESS;
    long seen = atomic_fetch_add(&armed_seen, 1) + 1;
    if (seen != atomic_load(&armed_nth) && !(atomic_load(&armed_always) && seen > atomic_load(&armed_nth)))
        return CL_SUCCESS;
    atomic_fetch_add(&fired, 1);
    return atomic_load(&armed_code);
}

static cl_int counted(int kind, int by, cl_int code)
{
    if (code == CL_SUCCESS) atomic_fetch_add(&live[kind], by);
    return code;
}

/* ---- arguments that were shared memory, or are unset ---- */

enum { MOST_SHARING = 1024 };
static struct {
    cl_kernel kernel;
    uint64_t shared;  /* bit of each argument that was shared memory */
    uint64_t refused; /* of each with which no launch is taken */
} sharing[MOST_SHARING];
static int sharing_count;
static pthread_mutex_t sharing_lock = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. -1: none, and no room for it where `make` asks for one. */
static int sharing_of(cl_kernel k, bool make)
{
    int i = 0;

    while (i < sharing_count && sharing[i].kernel != k) i++;
    if (i < sharing_count) return i;
    if (!make || sharing_count == MOST_SHARING) return -1;
    memset(&sharing[i], 0, sizeof sharing[i]);
    sharing[i].kernel = k;
    sharing_count++;
    return i;
}

static void note_argument(cl_kernel k, cl_uint argument, bool is_shared, const void *value)
{
    const uint64_t bit = argument < 64 ? (uint64_t)1 << argument : 0;

    pthread_mutex_lock(&sharing_lock);
    int i = sharing_of(k, is_shared);
    if (i >= 0) {
        if (is_shared ? value == NULL : (sharing[i].shared & bit) != 0) sharing[i].refused |= bit;
        else sharing[i].refused &= ~bit;
        if (is_shared) sharing[i].shared |= bit;
    }
    pthread_mutex_unlock(&sharing_lock);
}

static void note_unset(cl_kernel k, cl_uint argument)
{
    pthread_mutex_lock(&sharing_lock);
    int i = sharing_of(k, true);
    if (i >= 0 && argument < 64) sharing[i].refused |= (uint64_t)1 << argument;
    pthread_mutex_unlock(&sharing_lock);
}

static bool is_refused(cl_kernel k)
{
    pthread_mutex_lock(&sharing_lock);
    int i = sharing_of(k, false);
    bool answer = i >= 0 && sharing[i].refused != 0;
    pthread_mutex_unlock(&sharing_lock);
    return answer;
}

/* A new object may have the handle of one that is gone. */
static void forget_sharing(cl_kernel k)
{
    pthread_mutex_lock(&sharing_lock);
    int i = sharing_of(k, false);
    if (i >= 0) sharing[i] = sharing[--sharing_count];
    pthread_mutex_unlock(&sharing_lock);
}

#define CALL(name, params, args)                                                                                       \
    static cl_int CL_API_CALL layer_##name params                                                                      \
    {                                                                                                                  \
        cl_int code = enter(INDEX_##name);                                                                             \
        return code != CL_SUCCESS ? code : next->name args;                                                            \
    }
#define REFERENCE(name, type, kind, by)                                                                                \
    static cl_int CL_API_CALL layer_##name(type object)                                                                \
    {                                                                                                                  \
        cl_int code = enter(INDEX_##name);                                                                             \
        return code != CL_SUCCESS ? code : counted(kind, by, next->name(object));                                      \
    }
#define CREATE(name, type, kind, params, args)                                                                         \
    static type CL_API_CALL layer_##name params                                                                        \
    {                                                                                                                  \
        cl_int code = enter(INDEX_##name);                                                                             \
        type object = code == CL_SUCCESS ? next->name args : NULL;                                                     \
        if (code != CL_SUCCESS && error != NULL) *error = code;                                                        \
        if (object != NULL) counted(kind, 1, CL_SUCCESS);                                                              \
        return object;                                                                                                 \
    }
/* Commands end with a wait list and an event to be made; what stands before is in parentheses. */
#define UNPACK(...) __VA_ARGS__
#define COMMAND(name, params, args)                                                                                    \
    static cl_int CL_API_CALL layer_##name(UNPACK params, cl_uint n, const cl_event *list, cl_event *event)            \
    {                                                                                                                  \
        cl_int code = enter(INDEX_##name);                                                                             \
        if (code != CL_SUCCESS) return code;                                                                           \
        code = next->name(UNPACK args, n, list, event);                                                                \
        return event != NULL ? counted(EVENT, 1, code) : code;                                                         \
    }

CALL(clGetPlatformIDs, (cl_uint n, cl_platform_id *ids, cl_uint *count), (n, ids, count))
CALL(clGetPlatformInfo, (cl_platform_id p, cl_platform_info what, size_t size, void *value, size_t *need),
     (p, what, size, value, need))
CALL(clGetDeviceIDs, (cl_platform_id p, cl_device_type type, cl_uint n, cl_device_id *ids, cl_uint *count),
     (p, type, n, ids, count))
static cl_int CL_API_CALL layer_clGetDeviceInfo(cl_device_id d, cl_device_info what, size_t size, void *value,
                                                size_t *need)
{
    cl_int code = enter(INDEX_clGetDeviceInfo);

    if (code == CL_SUCCESS) code = next->clGetDeviceInfo(d, what, size, value, need);
    if (code == CL_SUCCESS) lfuse_layer_answer(d, what, size, value);
    return code;
}
CALL(clRetainDevice, (cl_device_id d), (d))
CALL(clReleaseDevice, (cl_device_id d), (d))
CREATE(clCreateContext, cl_context, CONTEXT,
       (const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
        void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data, cl_int *error),
       (properties, n, devices, notify, data, error))
REFERENCE(clRetainContext, cl_context, CONTEXT, 1)
REFERENCE(clReleaseContext, cl_context, CONTEXT, -1)
CALL(clGetContextInfo, (cl_context c, cl_context_info what, size_t size, void *value, size_t *need),
     (c, what, size, value, need))
CREATE(clCreateCommandQueue, cl_command_queue, QUEUE,
       (cl_context c, cl_device_id d, cl_command_queue_properties properties, cl_int *error),
       (c, d, properties, error))
REFERENCE(clRetainCommandQueue, cl_command_queue, QUEUE, 1)
REFERENCE(clReleaseCommandQueue, cl_command_queue, QUEUE, -1)
CALL(clGetCommandQueueInfo, (cl_command_queue q, cl_command_queue_info what, size_t size, void *value, size_t *need),
     (q, what, size, value, need))
CALL(clFlush, (cl_command_queue q), (q))
CALL(clFinish, (cl_command_queue q), (q))
CREATE(clCreateBuffer, cl_mem, MEM, (cl_context c, cl_mem_flags flags, size_t size, void *host, cl_int *error),
       (c, flags, size, host, error))
CREATE(clCreateSubBuffer, cl_mem, MEM,
       (cl_mem m, cl_mem_flags flags, cl_buffer_create_type type, const void *region, cl_int *error),
       (m, flags, type, region, error))
REFERENCE(clRetainMemObject, cl_mem, MEM, 1)
REFERENCE(clReleaseMemObject, cl_mem, MEM, -1)
CALL(clGetMemObjectInfo, (cl_mem m, cl_mem_info what, size_t size, void *value, size_t *need),
     (m, what, size, value, need))
COMMAND(clEnqueueWriteBuffer,
        (cl_command_queue q, cl_mem m, cl_bool wait, size_t offset, size_t size, const void *host),
        (q, m, wait, offset, size, host))
COMMAND(clEnqueueCopyBuffer,
        (cl_command_queue q, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size),
        (q, from, to, from_offset, to_offset, size))
COMMAND(clEnqueueFillBuffer,
        (cl_command_queue q, cl_mem m, const void *pattern, size_t pattern_size, size_t offset, size_t size),
        (q, m, pattern, pattern_size, offset, size))
COMMAND(clEnqueueUnmapMemObject, (cl_command_queue q, cl_mem m, void *pointer), (q, m, pointer))
COMMAND(clEnqueueMarkerWithWaitList, (cl_command_queue q), (q))
COMMAND(clEnqueueBarrierWithWaitList, (cl_command_queue q), (q))
REFERENCE(clRetainEvent, cl_event, EVENT, 1)
REFERENCE(clReleaseEvent, cl_event, EVENT, -1)
CALL(clGetEventProfilingInfo, (cl_event e, cl_profiling_info what, size_t size, void *value, size_t *need),
     (e, what, size, value, need))
CREATE(clCreateProgramWithSource, cl_program, PROGRAM,
       (cl_context c, cl_uint n, const char **texts, const size_t *lengths, cl_int *error),
       (c, n, texts, lengths, error))
CREATE(clCreateProgramWithBinary, cl_program, PROGRAM,
       (cl_context c, cl_uint n, const cl_device_id *devices, const size_t *lengths, const unsigned char **binaries,
        cl_int *states, cl_int *error),
       (c, n, devices, lengths, binaries, states, error))
REFERENCE(clRetainProgram, cl_program, PROGRAM, 1)
REFERENCE(clReleaseProgram, cl_program, PROGRAM, -1)
CALL(clBuildProgram,
     (cl_program p, cl_uint n, const cl_device_id *devices, const char *options,
      void(CL_CALLBACK *notify)(cl_program, void *), void *data),
     (p, n, devices, options, notify, data))
CALL(clGetProgramBuildInfo,
     (cl_program p, cl_device_id d, cl_program_build_info what, size_t size, void *value, size_t *need),
     (p, d, what, size, value, need))
CALL(clGetProgramInfo, (cl_program p, cl_program_info what, size_t size, void *value, size_t *need),
     (p, what, size, value, need))
REFERENCE(clRetainKernel, cl_kernel, KERNEL, 1)
REFERENCE(clReleaseKernel, cl_kernel, KERNEL, -1)
COMMAND(clEnqueueSVMMemcpy, (cl_command_queue q, cl_bool wait, void *to, const void *from, size_t size),
        (q, wait, to, from, size))
COMMAND(clEnqueueSVMMemFill, (cl_command_queue q, void *to, const void *pattern, size_t pattern_size, size_t size),
        (q, to, pattern, pattern_size, size))

static cl_int CL_API_CALL layer_clEnqueueReadBuffer(cl_command_queue q, cl_mem m, cl_bool wait, size_t offset,
                                                    size_t size, void *host, cl_uint n, const cl_event *list,
                                                    cl_event *event)
{
    cl_int code = enter(INDEX_clEnqueueReadBuffer);

    if (code != CL_SUCCESS) return code;
    code = next->clEnqueueReadBuffer(q, m, wait, offset, size, host, n, list, event);
    if (code == CL_SUCCESS && wait && atomic_fetch_sub(&reads_to_spoil, 1) == 1) *(unsigned char *)host ^= 1;
    return event != NULL ? counted(EVENT, 1, code) : code;
}

static cl_int CL_API_CALL layer_clGetEventInfo(cl_event e, cl_event_info what, size_t size, void *value, size_t *need)
{
    cl_int code = enter(INDEX_clGetEventInfo);

    if (code == CL_SUCCESS) code = next->clGetEventInfo(e, what, size, value, need);
    if (code == CL_SUCCESS && what == CL_EVENT_COMMAND_EXECUTION_STATUS && value != NULL &&
        atomic_load(&state_is_said))
        *(cl_int *)value = atomic_load(&said_state);
    return code;
}

/* ---- shared memory that is mapped for reading ---- */

enum { MOST_MAPPED = 64 };
static struct {
    void *pointer; /* NULL: a free row */
    void *before;  /* what was there when it was mapped */
    size_t size;
} mapped[MOST_MAPPED];
static pthread_mutex_t mapped_lock = PTHREAD_MUTEX_INITIALIZER;

/* The first row of this pointer, MOST_MAPPED without one; NULL: a free row. Under the lock. */
static int mapped_row(const void *pointer)
{
    int i = 0;

    while (i < MOST_MAPPED && mapped[i].pointer != pointer) i++;
    return i;
}

static void keep_before(cl_command_queue q, void *pointer, size_t size)
{
    void *before = malloc(size);

    if (before == NULL) return;
    next->clFinish(q);
    next->clEnqueueSVMMemcpy(q, CL_TRUE, before, pointer, size, 0, NULL, NULL);
    pthread_mutex_lock(&mapped_lock);
    int i = mapped_row(pointer); /* left by an unmap that was refused */
    if (i < MOST_MAPPED) free(mapped[i].before);
    else i = mapped_row(NULL);
    if (i < MOST_MAPPED) mapped[i].pointer = pointer, mapped[i].before = before, mapped[i].size = size;
    else free(before);
    pthread_mutex_unlock(&mapped_lock);
}

/* A device with memory of its own takes back only what was mapped for writing. */
static void bring_back(cl_command_queue q, void *pointer)
{
    void *before = NULL;
    size_t size = 0;

    pthread_mutex_lock(&mapped_lock);
    int i = mapped_row(pointer);
    if (i < MOST_MAPPED) before = mapped[i].before, size = mapped[i].size, mapped[i].pointer = NULL;
    pthread_mutex_unlock(&mapped_lock);
    if (before == NULL) return;
    next->clFinish(q);
    next->clEnqueueSVMMemcpy(q, CL_TRUE, pointer, before, size, 0, NULL, NULL);
    free(before);
}

static cl_int CL_API_CALL layer_clEnqueueSVMMap(cl_command_queue q, cl_bool wait, cl_map_flags flags, void *pointer,
                                                size_t size, cl_uint n, const cl_event *list, cl_event *event)
{
    cl_int code = enter(INDEX_clEnqueueSVMMap);

    if (code != CL_SUCCESS) return code;
    code = next->clEnqueueSVMMap(q, wait, flags, pointer, size, n, list, event);
    if (code == CL_SUCCESS && flags == CL_MAP_READ) keep_before(q, pointer, size);
    return event != NULL ? counted(EVENT, 1, code) : code;
}

static cl_int CL_API_CALL layer_clEnqueueSVMUnmap(cl_command_queue q, void *pointer, cl_uint n, const cl_event *list,
                                                  cl_event *event)
{
    cl_int code = enter(INDEX_clEnqueueSVMUnmap);

    if (code != CL_SUCCESS) return code;
    code = next->clEnqueueSVMUnmap(q, pointer, n, list, event);
    if (code == CL_SUCCESS) bring_back(q, pointer);
    return event != NULL ? counted(EVENT, 1, code) : code;
}

static cl_kernel CL_API_CALL layer_clCreateKernel(cl_program p, const char *name, cl_int *error)
{
    cl_int code = enter(INDEX_clCreateKernel);
    cl_kernel k = code == CL_SUCCESS ? next->clCreateKernel(p, name, error) : NULL;

    if (code != CL_SUCCESS && error != NULL) *error = code;
    if (k == NULL) return NULL;
    forget_sharing(k);
    counted(KERNEL, 1, CL_SUCCESS);
    return k;
}

static cl_int CL_API_CALL layer_clSetKernelArg(cl_kernel k, cl_uint i, size_t size, const void *value)
{
    cl_int code = enter(INDEX_clSetKernelArg);

    if (code == CL_SUCCESS) code = next->clSetKernelArg(k, i, size, value);
    if (code == CL_SUCCESS) note_argument(k, i, false, value);
    else note_unset(k, i);
    return code;
}

static cl_int CL_API_CALL layer_clSetKernelArgSVMPointer(cl_kernel k, cl_uint i, const void *pointer)
{
    cl_int code = enter(INDEX_clSetKernelArgSVMPointer);

    if (code == CL_SUCCESS) code = next->clSetKernelArgSVMPointer(k, i, pointer);
    if (code == CL_SUCCESS) note_argument(k, i, true, pointer);
    else note_unset(k, i);
    return code;
}

static cl_int CL_API_CALL layer_clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint rank,
                                                       const size_t *offset, const size_t *global, const size_t *local,
                                                       cl_uint n, const cl_event *list, cl_event *event)
{
    cl_int code = enter(INDEX_clEnqueueNDRangeKernel);

    if (code == CL_SUCCESS && is_refused(k)) code = CL_INVALID_KERNEL_ARGS;
    if (code != CL_SUCCESS) return code;
    code = next->clEnqueueNDRangeKernel(q, k, rank, offset, global, local, n, list, event);
    return event != NULL ? counted(EVENT, 1, code) : code;
}

static void *CL_API_CALL layer_clEnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool wait, cl_map_flags flags,
                                                  size_t offset, size_t size, cl_uint n, const cl_event *list,
                                                  cl_event *event, cl_int *error)
{
    cl_int code = enter(INDEX_clEnqueueMapBuffer);

    if (code != CL_SUCCESS) {
        if (error != NULL) *error = code;
        return NULL;
    }
    void *pointer = next->clEnqueueMapBuffer(q, m, wait, flags, offset, size, n, list, event, error);
    if (pointer != NULL && event != NULL) counted(EVENT, 1, CL_SUCCESS);
    return pointer;
}

static void *CL_API_CALL layer_clSVMAlloc(cl_context c, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
    void *pointer = enter(INDEX_clSVMAlloc) == CL_SUCCESS ? next->clSVMAlloc(c, flags, size, alignment) : NULL;

    if (pointer != NULL) counted(SVM, 1, CL_SUCCESS);
    return pointer;
}

static void CL_API_CALL layer_clSVMFree(cl_context c, void *pointer)
{
    enter(INDEX_clSVMFree);
    if (pointer != NULL) counted(SVM, -1, CL_SUCCESS);
    next->clSVMFree(c, pointer);
}

/* LFUSE_LAYER_FAIL; a text that cannot be read is told, since a test that arms nothing would pass. */
static void arm_from_environment(void)
{
    const char *text = getenv("LFUSE_LAYER_FAIL");
    char function[64], mode[8];
    long nth;
    int code;

    if (text == NULL) return;
    if (sscanf(text, "%63[^:]:%ld:%7[^:]:%d", function, &nth, mode, &code) != 4) {
        fprintf(stderr, "LFUSE_LAYER_FAIL=%s: not FUNCTION:N:once|always:CODE\n", text);
        return;
    }
    lfuse_layer_arm(function, nth, strcmp(mode, "always") == 0, code);
}

static void write_counts(void)
{
    const char *path = getenv("LFUSE_LAYER_COUNTS");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;

    if (file == NULL) return;
    for (int i = 0; i < FUNCTION_COUNT; i++)
        if (atomic_load(&calls[i]) > 0) fprintf(file, "%s %ld\n", names[i], atomic_load(&calls[i]));
    for (int i = 0; i < KIND_COUNT; i++) fprintf(file, "live %s %ld\n", kinds[i], atomic_load(&live[i]));
    fclose(file);
}

EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *need)
{
    static const char name[] = "lfuse test layer";
    cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    const void *from = what == CL_LAYER_API_VERSION ? (const void *)&version : name;
    size_t bytes = what == CL_LAYER_API_VERSION ? sizeof version : sizeof name;

    if (what != CL_LAYER_API_VERSION && what != CL_LAYER_NAME) return CL_INVALID_VALUE;
    if (value != NULL && size < bytes) return CL_INVALID_VALUE;
    if (value != NULL) memcpy(value, from, bytes);
    if (need != NULL) *need = bytes;
    return CL_SUCCESS;
}

EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target,
                                                   cl_uint *entries_used, const cl_icd_dispatch **layer)
{
    static cl_icd_dispatch own;

    if (entries < sizeof own / sizeof own.clGetPlatformIDs) return CL_INVALID_VALUE;
    next = target;
    own = *target;
#define REPLACE(name) own.name = layer_##name;
    FAILABLE(REPLACE) COUNTED(REPLACE)
#undef REPLACE
    arm_from_environment();
    atexit(write_counts);
    *entries_used = sizeof own / sizeof own.clGetPlatformIDs;
    *layer = &own;
    return CL_SUCCESS;
}
