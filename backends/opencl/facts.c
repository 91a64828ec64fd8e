/* SPDX-License-Identifier: Apache-2.0 */
/* What a device states about itself, and the build options that follow from it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/internal.h"

/* Of extensions that the Khronos headers may lack. */
enum { DEVICE_CAPABILITY_NV = 0x4000, DEVICE_CAPABILITY_MINOR_NV = 0x4001, DEVICE_WARP_SIZE_NV = 0x4003,
       DEVICE_WAVEFRONT_WIDTH_AMD = 0x4043 };
enum { GROUPS_PER_CORE = 4 /* of an element-wise loop on CPUs: few enough to cost nothing, enough to even out */ };

/* Answers as OpenCL gives them. */
typedef struct raw_facts {
    cl_device_type type;
    cl_uint units;
    cl_bool available, compiler;
    size_t max_group, max_parameter;
    cl_ulong memory, max_alloc, local, cache;
    cl_device_fp_config f32, f64;
    cl_bitfield svm;
    cl_uint vendor, capability, minor, warp, wavefront;
} raw_facts;

typedef struct query_row {
    cl_device_info what;
    const char *name;
    size_t offset, size;
    bool optional; /* stays 0 where it is not known */
} query_row;

#define ROW(what, field, optional) { what, #what, offsetof(raw_facts, field), sizeof((raw_facts *)0)->field, optional }
static const query_row queries[] = {
    ROW(CL_DEVICE_TYPE, type, false),
    ROW(CL_DEVICE_MAX_COMPUTE_UNITS, units, false),
    ROW(CL_DEVICE_AVAILABLE, available, false),
    ROW(CL_DEVICE_COMPILER_AVAILABLE, compiler, false),
    ROW(CL_DEVICE_MAX_WORK_GROUP_SIZE, max_group, false),
    ROW(CL_DEVICE_MAX_PARAMETER_SIZE, max_parameter, false),
    ROW(CL_DEVICE_GLOBAL_MEM_SIZE, memory, false),
    ROW(CL_DEVICE_MAX_MEM_ALLOC_SIZE, max_alloc, false),
    ROW(CL_DEVICE_LOCAL_MEM_SIZE, local, false),
    ROW(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, cache, false),
    ROW(CL_DEVICE_SINGLE_FP_CONFIG, f32, false),
    ROW(CL_DEVICE_DOUBLE_FP_CONFIG, f64, true),
    ROW(CL_DEVICE_SVM_CAPABILITIES, svm, true),
    ROW(CL_DEVICE_VENDOR_ID, vendor, true),
    ROW(DEVICE_CAPABILITY_NV, capability, true),
    ROW(DEVICE_CAPABILITY_MINOR_NV, minor, true),
    ROW(DEVICE_WARP_SIZE_NV, warp, true),
    ROW(DEVICE_WAVEFRONT_WIDTH_AMD, wavefront, true),
};
#undef ROW

static lfuse_status read_raw(cl_device_id id, const char *name, raw_facts *raw)
{
    memset(raw, 0, sizeof *raw);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        const query_row *q = &queries[i];
        cl_int code = lfuse__cl.GetDeviceInfo(id, q->what, q->size, (char *)raw + q->offset, NULL);
        if (code == CL_SUCCESS) continue;
        if (!q->optional) return lfuse__cl_error(code, "%s: clGetDeviceInfo(%s)", name, q->name);
        memset((char *)raw + q->offset, 0, q->size);
    }
    return LFUSE_OK;
}

/* Some drivers pad their texts with blanks, on either side. */
static void trim(char *text)
{
    size_t length = strlen(text), lead = strspn(text, " ");

    while (length > lead && text[length - 1] == ' ') length--;
    memmove(text, text + lead, length - lead);
    text[length - lead] = '\0';
}

/* A text of any length, cut to what `out` holds. Platform or device: the two calls differ in the handle alone. */
static lfuse_status read_text(cl_platform_id platform, cl_device_id id, cl_uint what, char *out, size_t size)
{
    size_t need = 0;
    char *text;
    cl_int code = id != NULL ? lfuse__cl.GetDeviceInfo(id, what, 0, NULL, &need)
                             : lfuse__cl.GetPlatformInfo(platform, what, 0, NULL, &need);

    if (code != CL_SUCCESS) return lfuse__cl_error(code, "asking for the length of text 0x%x", (unsigned)what);
    text = malloc(need + 1);
    if (text == NULL) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for a text of %zu bytes", need);
    code = id != NULL ? lfuse__cl.GetDeviceInfo(id, what, need, text, NULL)
                      : lfuse__cl.GetPlatformInfo(platform, what, need, text, NULL);
    if (code != CL_SUCCESS) {
        free(text);
        return lfuse__cl_error(code, "asking for text 0x%x", (unsigned)what);
    }
    text[need] = '\0';
    trim(text);
    snprintf(out, size, "%s", text);
    free(text);
    return LFUSE_OK;
}

/* "OpenCL 1.2 ..." or "OpenCL C 1.2 ...": 102. 0 when the text has another form. */
static unsigned version_number(const char *text, const char *prefix)
{
    unsigned major, minor;
    size_t length = strlen(prefix);

    if (strncmp(text, prefix, length) != 0 || sscanf(text + length, "%u.%u", &major, &minor) != 2) return 0;
    return major * 100 + minor;
}

static bool has_all(cl_device_fp_config config, cl_device_fp_config bits)
{
    return (config & bits) == bits;
}

/* OpenCL demands that division, root and fma of f64 are correctly rounded; some drivers' f64 has less than demanded. */
static bool has_whole_f64(const raw_facts *raw)
{
    return has_all(raw->f64, CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_FMA);
}

static bool divides_rounded(const raw_facts *raw)
{
    return has_all(raw->f32, CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT);
}

/* Division and root of f32 are computed in f64 and rounded: correctly, as prelude.k says. */
static bool divides_by_f64(const raw_facts *raw)
{
    return !divides_rounded(raw) && has_whole_f64(raw);
}

/* CL_FP_FMA of f32 is not asked for: OpenCL demands that fma() is correctly rounded with and without it. */
static bool is_exact(const raw_facts *raw)
{
    return has_all(raw->f32, CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST) &&
           (divides_rounded(raw) || divides_by_f64(raw)) && (raw->f64 == 0 || has_whole_f64(raw));
}

static bool has_svm(const raw_facts *raw)
{
    return (raw->svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0 && lfuse__cl.SVMAlloc != NULL &&
           lfuse__cl.SVMFree != NULL && lfuse__cl.SetKernelArgSVMPointer != NULL &&
           lfuse__cl.EnqueueSVMMemcpy != NULL && lfuse__cl.EnqueueSVMMemFill != NULL &&
           lfuse__cl.EnqueueSVMMap != NULL && lfuse__cl.EnqueueSVMUnmap != NULL;
}

/*
 * Drivers of other makers do not tell: their GPUs step in eights at least, and so do the vectors that Mesa makes of
 * work-items on CPUs. What is neither may be anything.
 */
static unsigned step_width(const raw_facts *raw)
{
    enum { UNTOLD = 8 };

    if (raw->warp > 0) return raw->warp;
    if (raw->wavefront > 0) return raw->wavefront;
    return raw->type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_CPU) ? UNTOLD : 1;
}

static lfuse_status fill_facts(const raw_facts *raw, lfuse__cl_device *device)
{
    lfuse__facts *f = &device->facts;
    lfuse_device_info *info = &f->info;
    bool products;
    bool gpu = (raw->type & CL_DEVICE_TYPE_GPU) != 0;
    bool cpu = !gpu && (raw->type & CL_DEVICE_TYPE_CPU) != 0; /* Oclgrind says that it is both */

    snprintf(info->backend, sizeof info->backend, "opencl");
    snprintf(info->driver, sizeof info->driver, "%.70s, driver %.40s", device->version, device->driver_version);
    snprintf(info->compiler, sizeof info->compiler, "%s", device->c_version);
    LFUSE__TRY(lfuse__clblast_describe(info->gemm, sizeof info->gemm, &products));
    f->products = products ? LFUSE__PRODUCTS_PORTABLE : LFUSE__PRODUCTS_NONE;
    info->kind = gpu ? LFUSE_DEVICE_GPU : cpu ? LFUSE_DEVICE_CPU : LFUSE_DEVICE_OTHER;
    info->compute_units = raw->units;
    info->max_group = raw->max_group > UINT32_MAX ? UINT32_MAX : (uint32_t)raw->max_group;
    info->max_argument_bytes = raw->max_parameter > UINT32_MAX ? UINT32_MAX : (uint32_t)raw->max_parameter;
    info->memory_bytes = raw->memory;
    info->max_alloc_bytes = raw->max_alloc;
    info->local_bytes = raw->local;
    info->cache_bytes = raw->cache;
    info->f64 = raw->f64 != 0;
    info->svm = has_svm(raw);
    info->svm_concurrent = info->svm && (raw->svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
    info->exact = is_exact(raw);
    snprintf(f->arch, sizeof f->arch, "OpenCL C 1.%u", device->c_minor);
    f->vendor = raw->vendor;
    f->generation = raw->vendor == LFUSE__VENDOR_NVIDIA ? 10 * raw->capability + raw->minor : 0;
    f->vector_lanes = cpu && !device->vectors_of_items;
    f->simd = f->vector_lanes ? 1 : step_width(raw);
    f->elementwise_groups = f->vector_lanes ? GROUPS_PER_CORE * raw->units : 0;
    return LFUSE_OK;
}

/* Hardware that fuses f64 fuses f32 too, and some drivers (Intel's for CPUs) announce it of f64 alone. */
static bool has_slow_fma(const raw_facts *raw)
{
    return !has_all(raw->f32, CL_FP_FMA) && !has_all(raw->f64, CL_FP_FMA);
}

static void fill_options(const raw_facts *raw, lfuse__cl_device *device)
{
    const lfuse__facts *f = &device->facts;

    /* Without -w PoCL writes to stderr how many warnings its compiler has, of vectors wider than the CPU's. */
    snprintf(device->options, sizeof device->options, "-cl-std=CL1.%u -w%s -DLFUSE_LANES=%d%s%s%s",
             device->c_minor, divides_rounded(raw) ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
             f->vector_lanes ? 16 : 1, f->info.f64 ? " -DLFUSE_F64=1" : "",
             divides_by_f64(raw) ? " -DLFUSE_DIVIDE_BY_F64=1" : "", has_slow_fma(raw) ? " -DLFUSE_SLOW_FMA=1" : "");
}

static void find_unfit(const raw_facts *raw, const char *version, char *text, size_t size)
{
    if (!raw->available) snprintf(text, size, "its driver says that it is not available");
    else if (!raw->compiler) snprintf(text, size, "its driver has no compiler");
    else if (version_number(version, "OpenCL ") < 102)
        snprintf(text, size, "OpenCL 1.2 is needed, it has \"%.100s\"", version);
}

lfuse_status lfuse__cl_read_device(cl_platform_id platform, cl_device_id id, const char *name,
                                   lfuse__cl_device *device)
{
    lfuse__cl_device d;
    raw_facts raw;
    char platform_name[128];

    memset(&d, 0, sizeof d);
    d.platform = platform, d.id = id;
    LFUSE__TRY(read_raw(id, name, &raw));
    LFUSE__TRY(read_text(platform, NULL, CL_PLATFORM_NAME, platform_name, sizeof platform_name));
    LFUSE__TRY(read_text(platform, NULL, CL_PLATFORM_VERSION, d.platform_version, sizeof d.platform_version));
    LFUSE__TRY(read_text(NULL, id, CL_DEVICE_NAME, d.facts.info.product, sizeof d.facts.info.product));
    LFUSE__TRY(read_text(NULL, id, CL_DEVICE_VENDOR, d.vendor, sizeof d.vendor));
    LFUSE__TRY(read_text(NULL, id, CL_DEVICE_VERSION, d.version, sizeof d.version));
    LFUSE__TRY(read_text(NULL, id, CL_DRIVER_VERSION, d.driver_version, sizeof d.driver_version));
    LFUSE__TRY(read_text(NULL, id, CL_DEVICE_OPENCL_C_VERSION, d.c_version, sizeof d.c_version));
    snprintf(d.facts.info.name, sizeof d.facts.info.name, "%s", name);
    d.c_minor = version_number(d.c_version, "OpenCL C ") >= 102 ? 2 : 1;
    find_unfit(&raw, d.version, d.facts.unfit, sizeof d.facts.unfit);
    d.fine_svm = (raw.svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
    d.nvidia = strstr(platform_name, "NVIDIA") != NULL;
    d.vectors_of_items = strcmp(platform_name, "rusticl") == 0;
    d.capability = d.nvidia ? raw.capability : 0;
    LFUSE__TRY(fill_facts(&raw, &d));
    /*
     * NVIDIA's compiler reads the argument block at an index as it reads any constant; PTX of such kernels has no copy.
     */
    d.facts.staged_arguments = !d.facts.vector_lanes && !d.nvidia;
    d.facts.compiles_at_launch = strcmp(platform_name, "Portable Computing Language") == 0;
    fill_options(&raw, &d);
    *device = d;
    return LFUSE_OK;
}
