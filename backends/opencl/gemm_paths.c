/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CLBlast computes a product in one of two ways: by one kernel that takes matrices as they are (direct), or by a faster
 * one for padded copies of them (indirect). It takes the second from m n k = T^3 on, T the parameter
 * XGEMM_MIN_INDIRECT_SIZE of "GemmRoutine", which a call may override and none in C tells: it is found by asking how
 * much memory products of size s need, which is none where they go the direct way.
 *
 * The parameter belongs to the device and the precision, for the whole process. So the last value set is kept here,
 * beside the value found at first; products run under a lock that nobody sets it in (gemm.c).
 */
#include <pthread.h>
#include <stdlib.h>

#include "backends/opencl/gemm_paths.h"

#define KERNEL "GemmRoutine"
#define PARAMETER "XGEMM_MIN_INDIRECT_SIZE"
/* Its cube is just below 2^63: products of all sizes are direct. */
#define ALL_DIRECT (((size_t)1 << 21) - 1)
enum { ALL_INDIRECT = 0 };

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static lfuse__cl_threshold *list; /* as long as the process, as the parameter is */

static bool is_direct(size_t threshold, const lfuse__gemm_desc *d)
{
    const unsigned long long t = threshold;

    return (unsigned long long)d->m * (unsigned long long)d->n * (unsigned long long)d->k < t * t * t;
}

lfuse__cl_path lfuse__cl_path_own(const lfuse__cl_threshold *t, const lfuse__gemm_desc *desc)
{
    return is_direct(t->own, desc) ? LFUSE__CL_DIRECT : LFUSE__CL_INDIRECT;
}

/* The library's own value where that gives the path, so that most products change nothing. */
size_t lfuse__cl_path_threshold(const lfuse__cl_threshold *t, const lfuse__gemm_desc *desc, lfuse__cl_path path)
{
    if (path == lfuse__cl_path_own(t, desc)) return t->own;
    return path == LFUSE__CL_DIRECT ? ALL_DIRECT : ALL_INDIRECT;
}

CLBlastStatusCode lfuse__cl_threshold_set(lfuse__cl_threshold *t, size_t value)
{
    const char *name = PARAMETER;
    CLBlastStatusCode code;

    if (t->now == value) return CLBlastSuccess;
    code = lfuse__clblast.OverrideParameters(t->id, KERNEL, t->precision, 1, &name, &value);
    if (code == CLBlastSuccess) t->now = value;
    return code;
}

/* Odd strides and offsets: the indirect way has no operand that it need not copy. */
static CLBlastStatusCode ask(cl_command_queue queue, CLBlastPrecision precision, size_t s, size_t *bytes)
{
    __typeof__(lfuse__clblast.SGemmTempBufferSize) size = precision == CLBlastPrecisionDouble
                                                              ? lfuse__clblast.DGemmTempBufferSize
                                                              : lfuse__clblast.SGemmTempBufferSize;

    return size(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, s, s, s, 1, s + 1, 1, s + 1, 1, s + 1,
                &queue, bytes);
}

/* The least size of a cube that goes the indirect way; false where the library does not tell. */
static bool find_own(cl_command_queue queue, CLBlastPrecision precision, size_t *own)
{
    size_t least = 1, end = (size_t)1 << 20, bytes;

    while (least < end) {
        const size_t middle = least + (end - least) / 2;
        bytes = 0;
        if (ask(queue, precision, middle, &bytes) != CLBlastSuccess) return false;
        if (bytes) end = middle;
        else least = middle + 1;
    }
    *own = least;
    return true;
}

static lfuse_status create(lfuse__bdevice *dev, CLBlastPrecision precision, lfuse__cl_threshold **made)
{
    lfuse__cl_threshold *t;
    cl_command_queue queue;
    cl_int code;

    queue = lfuse__cl.CreateCommandQueue(dev->context, dev->device.id, 0, &code);
    if (queue == NULL) return lfuse__cl_error(code, "%s: clCreateCommandQueue", dev->device.facts.info.name);
    t = calloc(1, sizeof *t);
    if (t != NULL) {
        t->id = dev->device.id, t->precision = precision;
        t->known = find_own(queue, precision, &t->own);
        t->now = t->own;
        t->next = list;
        list = t;
    }
    lfuse__cl.ReleaseCommandQueue(queue);
    if (t == NULL) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for a product");
    *made = t;
    return LFUSE_OK;
}

lfuse_status lfuse__cl_threshold_find(lfuse__bdevice *dev, lfuse_type type, lfuse__cl_threshold **threshold)
{
    const CLBlastPrecision precision = type == LFUSE_F64 ? CLBlastPrecisionDouble : CLBlastPrecisionSingle;
    lfuse__cl_threshold *t = NULL;
    lfuse_status status = LFUSE_OK;

    *threshold = NULL;
    if (lfuse__clblast.OverrideParameters == NULL || lfuse__clblast.SGemmTempBufferSize == NULL ||
        lfuse__clblast.DGemmTempBufferSize == NULL)
        return LFUSE_OK;
    pthread_mutex_lock(&list_lock);
    for (t = list; t != NULL; t = t->next)
        if (t->id == dev->device.id && t->precision == precision) break;
    if (t == NULL) status = create(dev, precision, &t);
    pthread_mutex_unlock(&list_lock);
    if (status == LFUSE_OK && t->known) *threshold = t;
    return status;
}
