/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: NVRTC makes a cubin for the device's own architecture, or PTX where it is older than the device. */
#include "backends/cuda/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/internal.h"

/*
 * MINIMAL: the first version that takes --minimal, which leaves out of NVRTC's own header what kernels never use.
 * SPECIFIC: the first one that compiles for sm_90a, which has instructions that later architectures have not.
 */
enum { MAX_ARCHS = 64, MINIMAL = 12040, SPECIFIC = 12000, HOPPER = 90 };

/* No contraction, correctly rounded division and root, subnormals: the promise of equal bits rests on these. */
#define OPTIONS "--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false", "--std=c++17"
static const char *const options[] = { OPTIONS };
enum { OPTION_COUNT = sizeof options / sizeof options[0] };

/* ---- what to compile for ---- */

/* The newest architecture of NVRTC that is at most `capability`, 0 when there is none or no NVRTC. */
static int supported_arch(int capability)
{
    int archs[MAX_ARCHS], count = 0, best = 0;

    if (!atomic_load_explicit(&lfuse__cu_compiler.tried, memory_order_acquire) || lfuse__cu_compiler.status) return 0;
    if (lfuse__nvrtc.GetNumSupportedArchs(&count) != NVRTC_SUCCESS || count > MAX_ARCHS) return 0;
    if (lfuse__nvrtc.GetSupportedArchs(archs) != NVRTC_SUCCESS) return 0;
    for (int i = 0; i < count; i++)
        if (archs[i] <= capability && archs[i] > best) best = archs[i];
    return best;
}

void lfuse__cu_arch(int capability, char *arch, size_t size)
{
    int best = supported_arch(capability);

    if (best == HOPPER && capability == HOPPER && lfuse__cu_compiler.version >= SPECIFIC)
        snprintf(arch, size, "sm_%da", capability);
    else if (best == 0 || best == capability) snprintf(arch, size, "sm_%d", capability);
    else snprintf(arch, size, "compute_%d", best);
}

lfuse_status lfuse__cu_program_key(lfuse__bdevice *dev, lfuse__strbuf *key)
{
    lfuse__strbuf_format(key, "cuda %s NVRTC %d driver %d", dev->device.facts.arch, lfuse__cu_compiler.version,
                         lfuse__cu_driver.version);
    for (int i = 0; i < OPTION_COUNT; i++) lfuse__strbuf_format(key, " %s", options[i]);
    return lfuse__strbuf_check(key);
}

/* ---- compiling ---- */

static void read_log(nvrtcProgram program, lfuse__strbuf *log)
{
    size_t size = 0;
    char *text;

    if (lfuse__nvrtc.GetProgramLogSize(program, &size) != NVRTC_SUCCESS || size <= 1) return;
    text = calloc(1, size + 1);
    if (text == NULL) return;
    if (lfuse__nvrtc.GetProgramLog(program, text) == NVRTC_SUCCESS) lfuse__strbuf_add(log, text);
    free(text);
}

static lfuse_status read_binary(nvrtcProgram program, bool ptx, lfuse__strbuf *binary)
{
    nvrtcResult result;
    size_t size = 0;
    char *data;

    result = ptx ? lfuse__nvrtc.GetPTXSize(program, &size) : lfuse__nvrtc.GetCUBINSize(program, &size);
    if (result != NVRTC_SUCCESS || size == 0)
        return lfuse__error(LFUSE_ERR_COMPILE, "NVRTC made no %s: %s", ptx ? "PTX" : "cubin",
                            lfuse__nvrtc.GetErrorString(result));
    data = malloc(size);
    if (data == NULL) return lfuse__cu_no_memory(size);
    result = ptx ? lfuse__nvrtc.GetPTX(program, data) : lfuse__nvrtc.GetCUBIN(program, data);
    if (result == NVRTC_SUCCESS) lfuse__strbuf_bytes(binary, data, size);
    free(data);
    if (result != NVRTC_SUCCESS)
        return lfuse__error(LFUSE_ERR_COMPILE, "NVRTC gives no %s: %s", ptx ? "PTX" : "cubin",
                            lfuse__nvrtc.GetErrorString(result));
    return lfuse__strbuf_check(binary);
}

/* --minimal follows from the version, which is in the key. */
static lfuse_status compile(nvrtcProgram program, const char *arch, lfuse__strbuf *log, lfuse__strbuf *binary)
{
    char architecture[64];
    const char *all[] = { architecture, OPTIONS, "--minimal" };
    const int count = OPTION_COUNT + 1 + (lfuse__cu_compiler.version >= MINIMAL);
    nvrtcResult result;

    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s", arch);
    result = lfuse__nvrtc.CompileProgram(program, count, all);
    if (result == NVRTC_SUCCESS) return read_binary(program, !strncmp(arch, "compute_", strlen("compute_")), binary);
    read_log(program, log);
    if (result == NVRTC_ERROR_OUT_OF_MEMORY)
        return lfuse__error(LFUSE_ERR_MEMORY, "NVRTC %s ran out of host memory", lfuse__cu_compiler.text);
    return lfuse__error(LFUSE_ERR_COMPILE, "NVRTC %s for %s: %s (%d): %.512s", lfuse__cu_compiler.text, arch,
                        lfuse__nvrtc.GetErrorString(result), (int)result, log->data);
}

lfuse_status lfuse__cuda_compile(const char *source, const char *arch, lfuse__strbuf *log, lfuse__strbuf *binary)
{
    nvrtcProgram program;
    nvrtcResult result;
    lfuse_status status;

    LFUSE__TRY(lfuse__cu_load_compiler());
    result = lfuse__nvrtc.CreateProgram(&program, source, "libfuse.cu", 0, NULL, NULL);
    if (result != NVRTC_SUCCESS)
        return lfuse__error(result == NVRTC_ERROR_OUT_OF_MEMORY ? LFUSE_ERR_MEMORY : LFUSE_ERR_LIBRARY,
                            "nvrtcCreateProgram: %s (%d)", lfuse__nvrtc.GetErrorString(result), (int)result);
    status = compile(program, arch, log, binary);
    lfuse__nvrtc.DestroyProgram(&program);
    return status;
}

/* ---- loading ---- */

static lfuse_status load_module(lfuse__bprogram *program)
{
    char words[2048] = "";
    CUjit_option names[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *values[] = { words, (void *)(uintptr_t)(sizeof words - 1) };
    lfuse__bdevice *dev = program->dev;
    CUstreamCaptureMode mode;
    CUresult result;
    bool pushed;

    LFUSE__TRY(lfuse__cu_enter(dev, &pushed));
    mode = lfuse__cu_relax();
    result = lfuse__cu.ModuleLoadDataEx(&program->module, program->binary.data, 2, names, values);
    lfuse__cu_unrelax(mode);
    lfuse__cu_leave(pushed);
    if (result != CUDA_SUCCESS)
        return lfuse__cu_error(dev, result, "cuModuleLoadData of %zu bytes for %s%s%.700s", program->binary.length,
                               dev->device.facts.arch, words[0] ? ": " : "", words);
    return LFUSE_OK;
}

/* NULL: out of memory. */
static lfuse__bprogram *make_program(lfuse__bdevice *dev)
{
    lfuse__bprogram *made = malloc(sizeof *made);

    if (made != NULL) *made = (lfuse__bprogram){ .dev = dev, .binary = LFUSE__STRBUF_INIT };
    return made;
}

static void unmake_program(lfuse__bprogram *program)
{
    lfuse__strbuf_free(&program->binary);
    free(program);
}

static lfuse_status check_arch(const lfuse__bdevice *dev)
{
    LFUSE__TRY(lfuse__cu_load_compiler());
    if (supported_arch(dev->device.capability)) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "NVRTC %s does not compile for devices as old as %s (%s)",
                        lfuse__cu_compiler.text, dev->device.facts.info.product, dev->device.facts.arch);
}

lfuse_status lfuse__cu_program_build(lfuse__bdevice *dev, const char *source, lfuse__strbuf *log,
                                     lfuse__bprogram **program)
{
    lfuse__bprogram *made;
    lfuse_status status;

    LFUSE__TRY(check_arch(dev));
    made = make_program(dev);
    if (made == NULL) return lfuse__cu_no_memory(sizeof *made);
    status = lfuse__cuda_compile(source, dev->device.facts.arch, log, &made->binary);
    if (status == LFUSE_OK) status = load_module(made);
    if (status) {
        unmake_program(made);
        return status;
    }
    *program = made;
    return LFUSE_OK;
}

/* A copy is kept, as its NUL ends PTX, and program_binary gives it back. */
lfuse_status lfuse__cu_program_load(lfuse__bdevice *dev, const void *binary, size_t bytes, lfuse__bprogram **program)
{
    lfuse__bprogram *made;
    lfuse_status status;

    if (bytes == 0) return lfuse__error(LFUSE_ERR_COMPILE, "a program of 0 bytes");
    made = make_program(dev);
    if (made == NULL) return lfuse__cu_no_memory(sizeof *made);
    lfuse__strbuf_bytes(&made->binary, binary, bytes);
    status = lfuse__strbuf_check(&made->binary);
    if (status == LFUSE_OK) status = load_module(made);
    if (status) {
        unmake_program(made);
        return status;
    }
    *program = made;
    return LFUSE_OK;
}

lfuse_status lfuse__cu_program_binary(lfuse__bprogram *program, lfuse__strbuf *binary)
{
    lfuse__strbuf_bytes(binary, program->binary.data, program->binary.length);
    return lfuse__strbuf_check(binary);
}

void lfuse__cu_program_destroy(lfuse__bprogram *program)
{
    CUstreamCaptureMode mode;
    bool pushed;

    if (program == NULL) return;
    if (lfuse__cu_enter_quietly(program->dev, &pushed)) {
        mode = lfuse__cu_relax();
        lfuse__cu_ignore(program->dev, lfuse__cu.ModuleUnload(program->module), "cuModuleUnload");
        lfuse__cu_unrelax(mode);
        lfuse__cu_leave(pushed);
    }
    unmake_program(program);
}
