/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: from source, from the driver's binary, and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/internal.h"
#include "backends/opencl/ptx.h"

static const char *name_of(const lfuse__bdevice *dev)
{
    return dev->device.facts.info.name;
}

static bool compiles(lfuse__bdevice *dev, const char *source)
{
    cl_program program;
    cl_int code;

    program = lfuse__cl.CreateProgramWithSource(dev->context, 1, &source, NULL, &code);
    if (program == NULL) return false;
    code = lfuse__cl.BuildProgram(program, 1, &dev->device.id, dev->device.options, NULL, NULL);
    lfuse__cl.ReleaseProgram(program);
    return code == CL_SUCCESS;
}

#define SHUFFLE "__asm__ volatile(\"shfl.sync.bfly.b32 %0, %1, %2, 31, -1;\" : \"=f\"(y) : \"f\"(x[0]), \"r\"(16));\n"
#define TENSOR_CORES                                                                                                   \
    "__local uint4 t[32];\n"                                                                                           \
    "uint a[4], at = (uint)(size_t)t + (uint)get_local_id(0) % 32 * 16;\n"                                             \
    "__asm__ volatile(\"cp.async.ca.shared.global [%0], [%1], 16, %2;\" : : \"r\"(at), \"l\"((ulong)x), \"r\"(16) : "  \
    "\"memory\");\n"                                                                                                   \
    "__asm__ volatile(\"cp.async.commit_group; cp.async.wait_group %0;\" : : \"n\"(0) : \"memory\");\n"                \
    "__asm__ volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\" : \"=r\"(a[0]), "           \
    "\"=r\"(a[1]), \"=r\"(a[2]), \"=r\"(a[3]) : \"r\"(at) : \"memory\");\n"                                            \
    "float c[4] = {0, 0, 0, 0};\n"                                                                                     \
    "__asm__ volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "      \
    "{%8, %9}, {%0, %1, %2, %3};\" : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3]) : \"r\"(a[0]), "           \
    "\"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(a[0]), \"r\"(a[1]));\n"                                              \
    "x[0] = c[0] + c[1] + c[2] + c[3];\n"
#define MMA_FP8                                                                                                        \
    "__asm__ volatile(\"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "      \
    "{%8, %9}, {%0, %1, %2, %3};\" : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3]) : \"r\"(a[0]), "           \
    "\"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(a[0]), \"r\"(a[1]));\n"                                              \
    "x[1] = c[0] + c[1] + c[2] + c[3];\n"
#define PROBE(body) "__kernel void probe(__global float *x)\n{\n    float y;\n" body "    x[0] += y;\n}\n"

static lfuse_status attempt_wgmma(lfuse__bdevice *dev, void *of)
{
    lfuse__bprogram *program;

    (void)of;
    LFUSE__TRY(lfuse__cl_program_load(dev, lfuse__cl_ptx_probe, strlen(lfuse__cl_ptx_probe), &program));
    lfuse__cl_program_destroy(program);
    return LFUSE_OK;
}

/* Whether the driver builds PTX for sm_90a, on devices that run it: no others of the maker do, older or newer. */
static lfuse_status probe_wgmma(lfuse__bdevice *dev)
{
    enum { GENERATION = 90 };
    lfuse__facts *f = &dev->device.facts;

    if (!f->tensor_cores || f->generation != GENERATION) return LFUSE_OK;
    LFUSE__TRY(lfuse__cl_try(dev, attempt_wgmma, NULL, "no instructions of sm_90a", &f->wgmma));
    if (f->wgmma) f->dynamic_local_bytes = f->info.local_bytes;
    return LFUSE_OK;
}

/* Whether the driver's compiler has the instructions of tensor cores. Where it has those of 8 bits, it has all. */
static void probe_tensor_cores(lfuse__bdevice *dev)
{
    enum { GENERATION = 80, FP8_GENERATION = 89 };
    lfuse__facts *f = &dev->device.facts;

    f->mma_fp8 = f->generation >= FP8_GENERATION && compiles(dev, PROBE(SHUFFLE TENSOR_CORES MMA_FP8));
    f->tensor_cores = f->mma_fp8 || (f->generation >= GENERATION && compiles(dev, PROBE(SHUFFLE TENSOR_CORES)));
}

/*
 * NVIDIA's OpenCL has no sub-groups; shuffles are reached through inline PTX, which must never come before another
 * vendor's compiler (PoCL's ends the process); so are tensor cores.
 */
lfuse_status lfuse__cl_probe_compiler(lfuse__bdevice *dev)
{
    lfuse__cl_device *d = &dev->device;
    size_t length = strlen(d->options);

    if (!d->nvidia || d->facts.simd != 32) return LFUSE_OK;
    probe_tensor_cores(dev);
    d->facts.info.tf32 = d->facts.tensor_cores;
    LFUSE__TRY(probe_wgmma(dev));
    if (d->facts.tensor_cores || compiles(dev, PROBE(SHUFFLE)))
        snprintf(d->options + length, sizeof d->options - length, " -DLFUSE_PTX=1%s",
                 d->facts.wgmma ? " -DLFUSE_WGMMA=1" : "");
    return LFUSE_OK;
}

lfuse_status lfuse__cl_program_key(lfuse__bdevice *dev, lfuse__strbuf *key)
{
    const lfuse__cl_device *d = &dev->device;

    lfuse__strbuf_format(key, "opencl\nplatform %s\nvendor %s\ndevice %s\nversion %s\ndriver %s\ncompiler %s\n",
                         d->platform_version, d->vendor, d->facts.info.product, d->version, d->driver_version,
                         d->c_version);
    /* Two devices of one name may differ in size, and some compilers look at it. */
    lfuse__strbuf_format(key, "units %u\noptions %s\n", (unsigned)d->facts.info.compute_units, d->options);
    return lfuse__strbuf_check(key);
}

/* The log is a courtesy: without it the build's own error still stands. */
static void append_log(lfuse__bdevice *dev, cl_program program, lfuse__strbuf *log)
{
    size_t bytes = 0;
    char *text;

    if (lfuse__cl.GetProgramBuildInfo(program, dev->device.id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) != CL_SUCCESS)
        return;
    text = malloc(bytes + 1);
    if (text == NULL) return;
    text[bytes] = '\0';
    if (lfuse__cl.GetProgramBuildInfo(program, dev->device.id, CL_PROGRAM_BUILD_LOG, bytes, text, NULL) == CL_SUCCESS)
        lfuse__strbuf_add(log, text);
    free(text);
}

/* Takes the program: it is released on failure. `log` may be NULL. */
static lfuse_status build(lfuse__bdevice *dev, cl_program program, const char *what, lfuse__strbuf *log,
                          lfuse__bprogram **out)
{
    lfuse__bprogram *p = calloc(1, sizeof *p);
    lfuse_status status;
    cl_int code;

    if (p == NULL) {
        status = lfuse__error(LFUSE_ERR_MEMORY, "no memory for a program");
        goto err_release_program;
    }
    code = lfuse__cl.BuildProgram(program, 1, &dev->device.id, dev->device.options, NULL, NULL);
    if (code != CL_SUCCESS) {
        if (log != NULL) append_log(dev, program, log);
        status = lfuse__cl_error(code, "%s: clBuildProgram of %s", name_of(dev), what);
        goto err_free;
    }
    p->dev = dev, p->program = program;
    *out = p;
    return LFUSE_OK;

err_free:
    free(p);
err_release_program:
    lfuse__cl.ReleaseProgram(program);
    return status;
}

static lfuse_status build_binary(lfuse__bdevice *dev, const void *binary, size_t bytes, lfuse__strbuf *log,
                                 lfuse__bprogram **program)
{
    const unsigned char *data = binary;
    cl_int code, state = CL_SUCCESS;
    cl_program p = lfuse__cl.CreateProgramWithBinary(dev->context, 1, &dev->device.id, &bytes, &data, &state, &code);

    if (p == NULL) return lfuse__cl_error(code, "%s: clCreateProgramWithBinary of %zu bytes", name_of(dev), bytes);
    if (state != CL_SUCCESS) {
        lfuse__cl.ReleaseProgram(p);
        return lfuse__cl_error(state, "%s: clCreateProgramWithBinary of %zu bytes", name_of(dev), bytes);
    }
    return build(dev, p, "a binary", log, program);
}

lfuse_status lfuse__cl_program_load(lfuse__bdevice *dev, const void *binary, size_t bytes, lfuse__bprogram **program)
{
    return build_binary(dev, binary, bytes, NULL, program);
}

/* A program of an adopted context has a place for each device of it; ours is the only one that was built. */
typedef struct binary_list {
    cl_uint count;
    cl_device_id *ids;
    size_t *sizes;
    unsigned char **data;
} binary_list;

static void free_list(binary_list *l)
{
    free(l->data);
    free(l->sizes);
    free(l->ids);
}

static cl_int read_list(cl_program program, binary_list *l)
{
    cl_int code = lfuse__cl.GetProgramInfo(program, CL_PROGRAM_DEVICES, l->count * sizeof *l->ids, l->ids, NULL);

    if (code != CL_SUCCESS) return code;
    return lfuse__cl.GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, l->count * sizeof *l->sizes, l->sizes, NULL);
}

static cl_uint place_of(const binary_list *l, cl_device_id id)
{
    cl_uint i = 0;

    while (i < l->count && l->ids[i] != id) i++;
    return i;
}

lfuse_status lfuse__cl_program_binary(lfuse__bprogram *program, lfuse__strbuf *binary)
{
    lfuse__bdevice *dev = program->dev;
    binary_list l = { 0 };
    lfuse_status status = LFUSE_OK;
    cl_uint place;
    cl_int code = lfuse__cl.GetProgramInfo(program->program, CL_PROGRAM_NUM_DEVICES, sizeof l.count, &l.count, NULL);

    if (code != CL_SUCCESS) return lfuse__cl_error(code, "%s: clGetProgramInfo", name_of(dev));
    l.ids = calloc(l.count, sizeof *l.ids);
    l.sizes = calloc(l.count, sizeof *l.sizes);
    l.data = calloc(l.count, sizeof *l.data);
    if (l.ids == NULL || l.sizes == NULL || l.data == NULL) {
        status = lfuse__error(LFUSE_ERR_MEMORY, "no memory for the binaries of %u devices", (unsigned)l.count);
        goto free_list;
    }
    code = read_list(program->program, &l);
    if (code != CL_SUCCESS) {
        status = lfuse__cl_error(code, "%s: clGetProgramInfo", name_of(dev));
        goto free_list;
    }
    place = place_of(&l, dev->device.id);
    if (place == l.count || l.sizes[place] == 0) {
        status = lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: the driver gives no binary", name_of(dev));
        goto free_list;
    }
    l.data[place] = malloc(l.sizes[place]);
    if (l.data[place] == NULL) {
        status = lfuse__error(LFUSE_ERR_MEMORY, "no memory for a binary of %zu bytes", l.sizes[place]);
        goto free_list;
    }
    code = lfuse__cl.GetProgramInfo(program->program, CL_PROGRAM_BINARIES, l.count * sizeof *l.data, l.data, NULL);
    if (code != CL_SUCCESS) {
        status = lfuse__cl_error(code, "%s: clGetProgramInfo(CL_PROGRAM_BINARIES)", name_of(dev));
    } else {
        lfuse__strbuf_bytes(binary, l.data[place], l.sizes[place]);
        status = lfuse__strbuf_check(binary);
    }
    free(l.data[place]);
free_list:
    free_list(&l);
    return status;
}

/*
 * Builds a program whose instructions of sm_90a are comments (ptx.h) once more with them, which takes its place. Others
 * stay.
 */
static lfuse_status build_for_wgmma(lfuse__bprogram **program, lfuse__strbuf *log)
{
    lfuse__strbuf binary = LFUSE__STRBUF_INIT, ptx = LFUSE__STRBUF_INIT;
    lfuse__bprogram *made;
    bool edited = false;
    lfuse_status status = lfuse__cl_program_binary(*program, &binary);

    if (status == LFUSE_OK) status = lfuse__cl_edit_ptx(binary.data, binary.length, &ptx, &edited);
    if (status == LFUSE_OK && edited) status = build_binary((*program)->dev, ptx.data, ptx.length, log, &made);
    lfuse__strbuf_free(&ptx);
    lfuse__strbuf_free(&binary);
    if (status != LFUSE_OK || !edited) return status;
    lfuse__cl_program_destroy(*program);
    *program = made;
    return LFUSE_OK;
}

lfuse_status lfuse__cl_program_build(lfuse__bdevice *dev, const char *source, lfuse__strbuf *log,
                                     lfuse__bprogram **program)
{
    lfuse__bprogram *made;
    lfuse_status status;
    cl_int code;
    cl_program p = lfuse__cl.CreateProgramWithSource(dev->context, 1, &source, NULL, &code);

    if (p == NULL) return lfuse__cl_error(code, "%s: clCreateProgramWithSource", name_of(dev));
    LFUSE__TRY(build(dev, p, "a source", log, &made));
    status = dev->device.facts.wgmma ? build_for_wgmma(&made, log) : LFUSE_OK;
    if (status == LFUSE_OK) *program = made;
    else lfuse__cl_program_destroy(made);
    return status;
}

void lfuse__cl_program_destroy(lfuse__bprogram *program)
{
    lfuse__cl.ReleaseProgram(program->program);
    free(program);
}
