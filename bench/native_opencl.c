/* SPDX-License-Identifier: Apache-2.0 */
/* Bare OpenCL and CLBlast calls on the device's queue. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/native.h"
#include "bench/native_opencl.h"
#include "common/run/tensors/tensor.h"

enum { MOST_LAYERS = 16 };

static const char source[] =
    "__kernel void empty(void) {}\n"
    /* One row a work-item; n is a multiple of 16 in every problem of the suite, the rest is done one by one. */
    "__kernel void bias_relu_rows(__global float *x, ulong at, __global const float *b, ulong b_at, int n)\n"
    "{\n"
    "    __global float *row = x + at + (ulong)get_global_id(0) * n;\n"
    "    int i = 0;\n"
    "    for (; i + 16 <= n; i += 16)\n"
    "        vstore16(fmax(vload16(0, row + i) + vload16(0, b + b_at + i), 0.0f), 0, row + i);\n"
    "    for (; i < n; i++) row[i] = fmax(row[i] + b[b_at + i], 0.0f);\n"
    "}\n"
    "__kernel void bias_relu_elements(__global float *x, ulong at, __global const float *b, ulong b_at, int n)\n"
    "{\n"
    "    int i = get_global_id(0), row = get_global_id(1);\n"
    "    if (i < n) x[at + (ulong)row * n + i] = fmax(x[at + (ulong)row * n + i] + b[b_at + i], 0.0f);\n"
    "}\n";

struct bench_native {
    cl_command_queue queue;
    cl_program program;
    cl_kernel empty;
};

static void destroy(bench_native *n)
{
    lfuse__cl.ReleaseKernel(n->empty);
    lfuse__cl.ReleaseProgram(n->program);
    free(n);
}

static lfuse_status create(bench_device *d, bench_native **native)
{
    cl_int code;
    bench_native *n = calloc(1, sizeof *n);
    if (!n) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for the bare launches");
    lfuse_status status = bench_opencl_build(d, source, "", &n->queue, &n->program);
    if (status) goto free_native;
    n->empty = lfuse__cl.CreateKernel(n->program, "empty", &code);
    status = check(code, "clCreateKernel");
    if (status) goto release_program;
    *native = n;
    return LFUSE_OK;
release_program:
    lfuse__cl.ReleaseProgram(n->program);
free_native:
    free(n);
    return status;
}

static lfuse_status empty(bench_native *n)
{
    size_t one = 1;
    return check(lfuse__cl.EnqueueNDRangeKernel(n->queue, n->empty, 1, NULL, &one, &one, 0, NULL, NULL),
                 "clEnqueueNDRangeKernel");
}

/* (buffer, element) of an f32 tensor. */
typedef struct place {
    cl_mem buffer;
    size_t element;
} place;

static place place_of(const lfuse_tensor *t)
{
    return (place){t->range->mem->buffer, (size_t)(t->range->offset / sizeof(float)) + (size_t)t->offset};
}

#ifdef HAVE_CLBLAST

typedef struct network {
    cl_command_queue queue;
    cl_program program;
    cl_kernel bias_relu[MOST_LAYERS];
    bool rows;
    int layers;
    size_t batch, inner, width, count;
    CLBlastTranspose turn_x, turn_w;
    place w[MOST_LAYERS], in[MOST_LAYERS], out[MOST_LAYERS];
} network;

static void dense_destroy(void *dense)
{
    network *n = dense;
    for (int l = 0; l < n->layers; l++)
        if (n->bias_relu[l]) lfuse__cl.ReleaseKernel(n->bias_relu[l]);
    if (n->program) lfuse__cl.ReleaseProgram(n->program);
    free(n);
}

static lfuse_status bias_kernel(network *n, int l, const lfuse_tensor *bias)
{
    cl_int code, width = (cl_int)n->width;
    place b = place_of(bias);
    cl_ulong at = n->out[l].element, b_at = b.element;
    cl_kernel k = lfuse__cl.CreateKernel(n->program, n->rows ? "bias_relu_rows" : "bias_relu_elements", &code);
    LFUSE__TRY(check(code, "clCreateKernel"));
    n->bias_relu[l] = k;
    code = lfuse__cl.SetKernelArg(k, 0, sizeof(cl_mem), &n->out[l].buffer);
    if (!code) code = lfuse__cl.SetKernelArg(k, 1, sizeof at, &at);
    if (!code) code = lfuse__cl.SetKernelArg(k, 2, sizeof(cl_mem), &b.buffer);
    if (!code) code = lfuse__cl.SetKernelArg(k, 3, sizeof b_at, &b_at);
    if (!code) code = lfuse__cl.SetKernelArg(k, 4, sizeof width, &width);
    return check(code, "clSetKernelArg");
}

static lfuse_status dense_create(bench_device *d, const bench_dense_buffers *buffers, void **dense)
{
    LFUSE__TRY(lfuse__clblast_load());
    if (buffers->x->type != LFUSE_F32)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "bare products of %s are not measured: CLBlast adds f16 up in f16, "
                            "and has f32 alone beside it here", lfuse_type_name(buffers->x->type));
    if (buffers->tf32) return lfuse__error(LFUSE_ERR_UNSUPPORTED, "CLBlast has no tf32");
    if (buffers->count && !lfuse__clblast.SgemmStridedBatched)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "this CLBlast has no batches");
    network *n = calloc(1, sizeof *n);
    if (!n) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for the vendor's network");
    n->layers = buffers->layers;
    n->batch = (size_t)buffers->batch;
    n->inner = (size_t)buffers->inner;
    n->width = (size_t)buffers->width;
    n->count = (size_t)buffers->count;
    n->turn_x = buffers->turn_x ? CLBlastTransposeYes : CLBlastTransposeNo;
    n->turn_w = buffers->turn_w ? CLBlastTransposeYes : CLBlastTransposeNo;
    n->rows = d->info.kind == LFUSE_DEVICE_CPU;
    lfuse_status status = bench_opencl_build(d, source, "", &n->queue, &n->program);
    for (int l = 0; l < n->layers && !status; l++) {
        n->w[l] = place_of(buffers->w[l]);
        n->in[l] = l ? n->out[l - 1] : place_of(buffers->x);
        n->out[l] = place_of(l + 1 < n->layers ? buffers->scratch[l % 2] : buffers->y);
        if (!status && buffers->b) status = bias_kernel(n, l, buffers->b[l]);
    }
    if (status) dense_destroy(n);
    else *dense = n;
    return status;
}

static CLBlastStatusCode multiply(network *n, int l)
{
    const place x = n->in[l], w = n->w[l], y = n->out[l];
    const size_t of_x = n->turn_x == CLBlastTransposeYes ? n->batch : n->inner;
    const size_t of_w = n->turn_w == CLBlastTransposeYes ? n->inner : n->width;
    if (!n->count)
        return lfuse__clblast.Sgemm(CLBlastLayoutRowMajor, n->turn_x, n->turn_w, n->batch, n->width, n->inner, 1,
                                    x.buffer, x.element, of_x, w.buffer, w.element, of_w, 0, y.buffer, y.element,
                                    n->width, &n->queue, NULL);
    return lfuse__clblast.SgemmStridedBatched(
        CLBlastLayoutRowMajor, n->turn_x, n->turn_w, n->batch, n->width, n->inner, 1, x.buffer, x.element, of_x,
        n->batch * n->inner, w.buffer, w.element, of_w, n->inner * n->width, 0, y.buffer, y.element, n->width,
        n->batch * n->width, n->count, &n->queue, NULL);
}

static lfuse_status layer(network *n, int l)
{
    size_t rows = n->batch * (n->count ? n->count : 1), elements[2] = {(n->width + 63) / 64 * 64, rows}, one = 1;
    size_t group[2] = {64, 1};
    CLBlastStatusCode code = multiply(n, l);
    if (code) return lfuse__error(LFUSE_ERR_DEVICE, "CLBlastSgemm returned %d", (int)code);
    if (!n->bias_relu[l]) return LFUSE_OK;
    return check(n->rows ? lfuse__cl.EnqueueNDRangeKernel(n->queue, n->bias_relu[l], 1, NULL, &rows, &one, 0, NULL,
                                                          NULL)
                         : lfuse__cl.EnqueueNDRangeKernel(n->queue, n->bias_relu[l], 2, NULL, elements, group, 0, NULL,
                                                          NULL),
                 "clEnqueueNDRangeKernel");
}

static lfuse_status dense_run(void *dense)
{
    network *n = dense;
    for (int l = 0; l < n->layers; l++) LFUSE__TRY(layer(n, l));
    return LFUSE_OK;
}

#else

static lfuse_status dense_create(bench_device *d, const bench_dense_buffers *buffers, void **dense)
{
    (void)d, (void)buffers, (void)dense;
    return lfuse__clblast_load();
}

static lfuse_status dense_run(void *dense)
{
    (void)dense;
    return lfuse__clblast_load();
}

static void dense_destroy(void *dense)
{
    (void)dense;
}

#endif

/* ---- built-in functions without memory ---- */

enum { RESIDENT_BLOCK = 1024, RESIDENT_GROUPS = 8 /* for a compute unit */ };

static const char resident_source[] =
    "__kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void resident(__global const float *in, ulong in_at, __global float *out, ulong out_at, ulong each)\n"
    "{\n"
    "    in += in_at + BLOCK * get_group_id(0);\n"
    "    out += out_at + BLOCK * get_group_id(0);\n"
    "    for (ulong i = 0; i < each; i += 16) {\n"
    "        const float16 x = vload16(0, in + i % BLOCK);\n"
    "        vstore16(VALUE, 0, out + i % BLOCK);\n"
    "    }\n"
    "}\n";

static const struct {
    const char *name, *value; /* no spaces: build options */
} residents[] = {{"copy", "x"},
                 {"scale", "x*1.7f"},
                 {"relu", "fmax(x,0.0f)"},
                 {"sqrt", "sqrt(x)"},
                 {"exp", "exp(x)"},
                 {"log", "log(x)"},
                 {"sin", "sin(x)"},
                 {"tanh", "tanh(x)"},
                 {"erf", "erf(x)"},
                 {"gelu", "x*0.5f*erfc(x*-0.70710678f)"},
                 {"sigmoid", "1.0f/(1.0f+exp(-x))"},
                 {"silu", "x/(1.0f+exp(-x))"}};

typedef struct resident {
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    size_t groups;
} resident;

static const char *resident_value(const char *function)
{
    for (size_t i = 0; i < sizeof residents / sizeof *residents; i++)
        if (!strcmp(residents[i].name, function)) return residents[i].value;
    return NULL;
}

static void resident_destroy(void *state)
{
    resident *r = state;
    if (r->kernel) lfuse__cl.ReleaseKernel(r->kernel);
    if (r->program) lfuse__cl.ReleaseProgram(r->program);
    free(r);
}

static lfuse_status resident_kernel(resident *r, place in, place out, int64_t elements)
{
    cl_int code;
    cl_ulong in_at = in.element, out_at = out.element;
    cl_ulong each = ((cl_ulong)elements / r->groups + 15) / 16 * 16;
    r->kernel = lfuse__cl.CreateKernel(r->program, "resident", &code);
    LFUSE__TRY(check(code, "clCreateKernel"));
    code = lfuse__cl.SetKernelArg(r->kernel, 0, sizeof(cl_mem), &in.buffer);
    if (!code) code = lfuse__cl.SetKernelArg(r->kernel, 1, sizeof in_at, &in_at);
    if (!code) code = lfuse__cl.SetKernelArg(r->kernel, 2, sizeof(cl_mem), &out.buffer);
    if (!code) code = lfuse__cl.SetKernelArg(r->kernel, 3, sizeof out_at, &out_at);
    if (!code) code = lfuse__cl.SetKernelArg(r->kernel, 4, sizeof each, &each);
    return check(code, "clSetKernelArg");
}

static lfuse_status resident_create(bench_device *d, const char *function, int64_t elements, const lfuse_tensor *x,
                                    const lfuse_tensor *y, void **state)
{
    char options[128];
    const char *value = resident_value(function);
    const int64_t groups = RESIDENT_GROUPS * (int64_t)d->info.compute_units;
    if (d->info.kind != LFUSE_DEVICE_CPU || !value || elements < groups * RESIDENT_BLOCK)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "no resident kernel of %s over %lld elements here", function,
                            (long long)elements);
    resident *r = calloc(1, sizeof *r);
    if (!r) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for the resident kernel");
    r->groups = (size_t)groups;
    snprintf(options, sizeof options, "-DBLOCK=%d -DVALUE=%s", RESIDENT_BLOCK, value);
    lfuse_status status = bench_opencl_build(d, resident_source, options, &r->queue, &r->program);
    if (!status) status = resident_kernel(r, place_of(x), place_of(y), elements);
    if (status) resident_destroy(r);
    else *state = r;
    return status;
}

static lfuse_status resident_run(void *state)
{
    const resident *r = state;
    size_t one = 1;
    return check(lfuse__cl.EnqueueNDRangeKernel(r->queue, r->kernel, 1, NULL, &r->groups, &one, 0, NULL, NULL),
                 "clEnqueueNDRangeKernel");
}

const bench_native_kind bench_native_opencl = {"opencl", create, destroy, empty, NULL, dense_create, dense_run,
                                               dense_destroy, bench_opencl_hold_create, bench_opencl_hold,
                                               bench_opencl_hold_destroy, resident_create, resident_run,
                                               resident_destroy, bench_opencl_buffer_create,
                                               bench_opencl_buffer_run, bench_opencl_buffer_destroy};
