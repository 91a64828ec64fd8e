/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend slot by slot over the driver of tests/fake-cuda: no GPU is needed, every failure can be had. */
#include "backends/cuda/program.h"
#include "common/device/device.h"
#include "tests/backends/fake_rig.h"

/* ---- loading ---- */

TEST_CASE("slots", .setup = load_fakes, .teardown = nothing_is_left)

TEST(test_old_driver)
{
    char reason[256] = "";
    int count = -1;
    NEED_OWN_PROCESS();
    setenv("FAKECUDA_VERSION", "11080", 1);
    fake_reset();
    OK(cuda->enumerate(&count, reason, sizeof reason));
    ck_assert_int_eq(count, 0);
    ck_assert_msg(strstr(reason, "11.8") != NULL, "%s", reason);
}

TEST(test_init_fails)
{
    char reason[256] = "";
    lfuse__facts facts;
    int count = -1;
    NEED_OWN_PROCESS();
    arrange("cuInit:1:100");
    OK(cuda->enumerate(&count, reason, sizeof reason));
    ck_assert_int_eq(count, 0);
    ck_assert_msg(strstr(reason, "cuInit") != NULL, "%s", reason);
    ck_assert_int_ne(cuda->describe(0, &facts), LFUSE_OK);
}

TEST(test_missing_function)
{
    char reason[256] = "";
    int count = -1;
    NEED_OWN_PROCESS();
    arrange("cuGetProcAddress:5:500");
    OK(cuda->enumerate(&count, reason, sizeof reason));
    ck_assert_int_eq(count, 0);
    ck_assert_msg(strstr(reason, "cuDeviceGetCount") != NULL, "%s", reason);
}

/* No kernel can be had: the device is no default, and its name gives the reason. */
TEST(test_no_compiler)
{
    lfuse__facts facts;
    lfuse_device *device = NULL;
    int count = -1;
    NEED_OWN_PROCESS();
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    setenv("OCL_ICD_FILENAMES", "", 1);
    ck_assert_msg(dlopen(LFUSE_TEST_FAKE "/libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL) != NULL, "%s", dlerror());
    OK(cuda->describe(0, &facts));
    ck_assert_msg(strstr(facts.unfit, "NVRTC") && strstr(facts.unfit, "libnvrtc.so.13"), "\"%s\"", facts.unfit);
    OK(lfuse__device_count(&count));
    ck_assert_int_eq(count, 0);
    ck_says("cuda:1: there is no NVRTC");
    ck_says("libnvrtc12"); /* a package that has one */
    SAYS(LFUSE_ERR_NO_DEVICE, lfuse__device_open(NULL, &device), "cuda:0: there is no NVRTC");
    FAILS(LFUSE_ERR_UNSUPPORTED, lfuse__device_open("cuda:1", &device));
    ck_says("device cuda:1, Fake 1, cannot be used: there is no NVRTC");
    ck_assert_ptr_null(device);
}

TEST(test_facts)
{
    lfuse__bdevice *dev = open_device(1);
    lfuse__facts facts, same;
    uint64_t available, total;
    OK(cuda->describe(1, &facts));
    OK(cuda->facts(dev, &same));
    ck_assert_str_eq(facts.info.name, "cuda:1");
    ck_assert_str_eq(same.info.name, "cuda:1");
    ck_assert_str_eq(facts.info.product, "Fake 1");
    ck_assert_str_eq(facts.arch, "sm_90a");
    ck_assert(facts.vendor == LFUSE__VENDOR_NVIDIA && facts.generation == 90);
    ck_assert(facts.addresses && !facts.vector_lanes && facts.capture && facts.info.exact && facts.info.native_graph);
    ck_assert_uint_eq(facts.simd, 32);
    ck_assert(facts.tensor_cores && facts.wgmma && facts.mma_fp8 == (lfuse__cu_compiler.version >= 12040));
    ck_assert_uint_eq(facts.dynamic_local_bytes, 226 * 1024);
    ck_assert(facts.product_rate > 50e12 && facts.product_rate < 52e12); /* the clocks are an H200's */
    ck_assert(facts.copy_rate > 4.2e12 && facts.copy_rate < 4.4e12);
    ck_assert_uint_eq(facts.info.max_argument_bytes, lfuse__cu_compiler.version >= 12010 ? 32764 : 4096);
    OK(cuda->memory(dev, &available, &total));
    ck_assert_uint_eq(total, 2 * available);
    FAILS(LFUSE_ERR_NO_DEVICE, cuda->describe(7, &facts));
    SAYS(LFUSE_ERR_NO_DEVICE, cuda->open(7, &dev), "cuDeviceGet(7)");
}

/* Maps are made whatever context is current, none among them, and of matrices that the driver takes alone. */
TEST(test_tensor_map)
{
    lfuse__bdevice *dev = open_device(0);
    lfuse__tensor_boxes of = { .address = 1 << 20, .bytes = 2, .axes = 3,
                               .axis = { { .extent = 64, .box = 64 }, { 8, 128, 64 }, { 3, 1024, 1 } } };
    lfuse__facts facts;
    uint64_t map[LFUSE__TENSOR_MAP_WORDS];
    CUcontext current;
    bool made;
    OK(cuda->describe(0, &facts));
    ck_assert_ptr_null(facts.maps_of);
    OK(cuda->facts(dev, &facts));
    ck_assert_ptr_eq(facts.maps_of, dev);
    lfuse__cu.CtxGetCurrent(&current);
    ck_assert_ptr_null(current);
    OK(facts.tensor_map(dev, &of, map, &made));
    ck_assert(made);
    ck_assert_uint_eq(map[0], of.address);
    lfuse__cu.CtxGetCurrent(&current);
    ck_assert_ptr_null(current);
    of.address += 2;
    OK(facts.tensor_map(dev, &of, map, &made));
    ck_assert(!made);
    of.address -= 2, of.axis[1].apart = 120;
    OK(facts.tensor_map(dev, &of, map, &made));
    ck_assert(!made);
    of.axis[1].apart = 128, of.axis[2].apart = 1032;
    OK(facts.tensor_map(dev, &of, map, &made));
    ck_assert(!made);
    of.axis[2].apart = 1024;
    for (of.axis[0].box = 16; of.axis[0].box <= 64; of.axis[0].box *= 2) {
        OK(facts.tensor_map(dev, &of, map, &made));
        ck_assert(made);
    }
    of.axis[0].box = 64;
    arrange("cuTensorMapEncodeTiled:1:2");
    FAILS(LFUSE_ERR_DEVICE_MEMORY, facts.tensor_map(dev, &of, map, &made));
    ck_says("cuTensorMapEncodeTiled of 3 axes, lines of 64");
    arrange("");
}

TEST(test_adopt)
{
    lfuse__bdevice *first = open_device(0), *dev = NULL;
    CUcontext popped;
    FAILS(LFUSE_ERR_INVALID, cuda->adopt(NULL, NULL, &dev));
    OK(cuda->adopt(first->context, NULL, &dev));
    objects_own(dev, close_device);
    ck_assert_str_eq(dev->device.facts.info.name, "cuda:0");
    /* The context is current already: nothing is pushed. */
    lfuse__cu.CtxPushCurrent(first->context);
    arrange("");
    give_back(memory_on(dev, 64));
    ck_assert_uint_eq(fake_calls("cuCtxPushCurrent"), 0);
    lfuse__cu.CtxPopCurrent(&popped);
}

/* ---- memory ---- */

TEST(test_copies)
{
    lfuse__bdevice *dev = open_device(0), *other = open_device(1);
    lfuse__bmem *m[3];
    char host[64] = "0123456789abcdef", back[64] = "";
    lfuse__mem_info info;
    lfuse__bstream *s = stream_on(dev);
    for (int kind = 0; kind < 3; kind++) {
        OK(cuda->alloc(dev, (lfuse__alloc_kind)kind, 256, &m[kind]));
        cuda->mem_info(m[kind], &info);
        ck_assert_uint_eq(info.space, 0);
        ck_assert_uint_eq(info.bytes, 256);
        ck_assert_int_eq(info.host != NULL, kind != LFUSE__ALLOC_DEVICE);
        if (info.host) ck_assert_uint_eq(info.address, (uint64_t)(uintptr_t)info.host);
    }
    lfuse__bmem *far = memory_on(other, 256);
    OK(cuda->write(s, m[0], 32, host, 16));
    OK(cuda->copy(s, m[1], 8, m[0], 34, 10));
    OK(cuda->copy(s, m[2], 0, m[1], 8, 10));
    OK(cuda->copy_peer(s, m[0], 0, other, far, 0, 0));
    OK(cuda->read(s, m[2], 1, back, 9));
    OK(cuda->stream_sync(s));
    ck_assert_str_eq(back, "3456789ab");
    OK(cuda->write(s, m[0], 0, host, 16));
    OK(cuda->copy_peer(s, m[0], 100, dev, m[0], 0, 16));
    OK(cuda->read(s, m[0], 100, back, 16));
    ck_assert_mem_eq(back, host, 16);
    FAILS(LFUSE_ERR_DEVICE, cuda->copy_peer(s, m[0], 0, dev, far, 0, 16));
    for (int kind = 0; kind < 3; kind++) cuda->free(m[kind]);
    cuda->free(NULL);
}

TEST(test_fill)
{
    enum { BYTES = 400000 };
    static unsigned char back[BYTES], want[BYTES];
    static const uint64_t patterns[] = { 0x1122334455667788, 0x1122334411223344 };
    lfuse__bdevice *dev = open_device(0);
    lfuse__bstream *s = stream_on(dev);
    lfuse__bmem *m = memory_on(dev, BYTES + 16);
    for (unsigned p = 0; p < 2; p++)
        for (unsigned bytes = 1; bytes <= 8; bytes *= 2) {
            OK(cuda->fill(s, m, 0, 0xee, 1, BYTES + 16));
            OK(cuda->fill(s, m, 8, patterns[p], bytes, BYTES));
            OK(cuda->read(s, m, 8, back, BYTES));
            for (int i = 0; i < BYTES; i++) want[i] = patterns[p] >> (8 * ((unsigned)i % bytes)) & 0xff;
            ck_assert(memcmp(back, want, BYTES) == 0);
            OK(cuda->read(s, m, 0, back, 8));
            OK(cuda->read(s, m, 8 + BYTES, back + 8, 8));
            for (int i = 0; i < 16; i++) ck_assert_uint_eq(back[i], 0xee);
        }
    OK(cuda->fill(s, m, 0, 0, 1, 0));
}

TEST(test_wrap)
{
    lfuse__bdevice *dev = open_device(0), *other = open_device(1);
    lfuse__bmem *managed, *w = NULL;
    lfuse__mem_info info;
    int local = 0;
    lfuse__bmem *own = memory_on(dev, 256);
    OK(cuda->alloc(other, LFUSE__ALLOC_UNIFIED, 256, &managed));
    lfuse__bmem *far = memory_on(other, 256);
    OK(cuda->wrap(dev, LFUSE_MEMORY_NATIVE, own->address + 16, 0, &w));
    cuda->mem_info(w, &info);
    ck_assert_uint_eq(info.address, own->address + 16);
    ck_assert_uint_eq(info.bytes, 0);
    cuda->free(w);
    OK(cuda->wrap(dev, LFUSE_MEMORY_POINTER, managed->address, 256, &w));
    cuda->free(w);
    OK(cuda->wrap(dev, LFUSE_MEMORY_NATIVE, 0, 0, &w));
    cuda->free(w);
    w = NULL;
    FAILS(LFUSE_ERR_CONTEXT, cuda->wrap(dev, LFUSE_MEMORY_NATIVE, far->address, 256, &w));
    FAILS(LFUSE_ERR_INVALID, cuda->wrap(dev, LFUSE_MEMORY_POINTER, own->address, 256, &w));
    FAILS(LFUSE_ERR_INVALID, cuda->wrap(dev, LFUSE_MEMORY_NATIVE, (uint64_t)(uintptr_t)&local, 4, &w));
    ck_assert_ptr_null(w);
    cuda->free(managed);
}

static PFN_cuPointerGetAttribute_v4000 attribute_of;

/* As of memory from a pool, or that the caller mapped. */
static CUresult attribute_without_context(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    CUresult result = attribute_of(data, attribute, address);
    if (result == CUDA_SUCCESS && attribute == CU_POINTER_ATTRIBUTE_CONTEXT) *(CUcontext *)data = NULL;
    return result;
}

TEST(test_wrap_without_context)
{
    lfuse__bdevice *dev = open_device(0), *other = open_device(1);
    lfuse__bmem *w = NULL;
    lfuse__bmem *own = memory_on(dev, 256);
    lfuse__bmem *far = memory_on(other, 256);
    attribute_of = lfuse__cu.PointerGetAttribute;
    lfuse__cu.PointerGetAttribute = attribute_without_context;
    OK(cuda->wrap(dev, LFUSE_MEMORY_NATIVE, own->address, 256, &w));
    cuda->free(w);
    w = NULL;
    FAILS(LFUSE_ERR_CONTEXT, cuda->wrap(dev, LFUSE_MEMORY_NATIVE, far->address, 256, &w));
    ck_says("CUDA device 1, not to cuda:0");
    ck_assert_ptr_null(w);
    lfuse__cu.PointerGetAttribute = attribute_of;
}

/* ---- streams, events, graphs ---- */

TEST(test_streams)
{
    lfuse__bdevice *dev = open_device(0), *other = open_device(1);
    CUstream defaults[] = { NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD };
    lfuse__bstream *s, *w = NULL;
    bool capturing = true;
    for (int i = 0; i < 3; i++) {
        OK(cuda->stream_wrap(dev, defaults[i], &s));
        ck_assert_ptr_eq(cuda->stream_native(s), defaults[i]);
        OK(cuda->stream_capturing(s, &capturing));
        ck_assert(!capturing);
        cuda->stream_destroy(s);
    }
    s = stream_on(dev);
    OK(cuda->stream_wrap(dev, cuda->stream_native(s), &w));
    cuda->stream_destroy(w);
    w = NULL;
    FAILS(LFUSE_ERR_CONTEXT, cuda->stream_wrap(other, cuda->stream_native(s), &w));
    ck_assert_ptr_null(w);
    OK(cuda->stream_flush(s));
    OK(cuda->stream_query(s));
    arrange("cuStreamQuery:1:600");
    FAILS(LFUSE_NOT_READY, cuda->stream_query(s));
    arrange("");
    cuda->stream_destroy(NULL);
}

/* What the calls of this thread may do in other captures is as it was before. */
static void check_capture_mode(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    ck_assert_int_eq(lfuse__cu.ThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    ck_assert_int_eq(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

TEST(test_events)
{
    lfuse__bdevice *dev = open_device(0);
    lfuse__bevent *a, *b;
    double us = -1;
    lfuse__bstream *s = stream_on(dev);
    OK(cuda->event_create(dev, &a));
    OK(cuda->event_create(dev, &b));
    OK(cuda->event_record(a, s));
    FAILS(LFUSE_ERR_STATE, cuda->event_elapsed(a, b, &us));
    ck_assert_double_eq(us, -1);
    OK(cuda->event_record(b, s));
    OK(cuda->event_wait(b, s));
    OK(cuda->event_query(b));
    OK(cuda->event_elapsed(a, b, &us));
    ck_assert_double_eq(us, 1500);
    arrange("cuEventQuery:1:600");
    FAILS(LFUSE_NOT_READY, cuda->event_query(b));
    arrange("");
    cuda->event_destroy(a);
    cuda->event_destroy(b);
    check_capture_mode();
}

TEST(test_graphs)
{
    lfuse__bdevice *dev = open_device(0);
    lfuse__bgraph *g = NULL, *none = NULL;
    bool capturing = false;
    lfuse__bstream *s = stream_on(dev);
    OK(cuda->graph_begin(s));
    OK(cuda->stream_capturing(s, &capturing));
    ck_assert(capturing);
    FAILS(LFUSE_ERR_STATE, cuda->stream_sync(s));
    OK(cuda->graph_end(s, &g));
    OK(cuda->graph_launch(s, g));
    OK(cuda->graph_begin(s));
    OK(cuda->graph_end(s, &g));
    ck_assert_uint_eq(fake_calls("cuGraphInstantiateWithFlags"), 1);
    arrange("cuGraphExecUpdate:1:910");
    OK(cuda->graph_begin(s));
    OK(cuda->graph_end(s, &g));
    ck_assert_uint_eq(fake_calls("cuGraphExecDestroy"), 1);
    arrange("cuStreamEndCapture:1:901");
    OK(cuda->graph_begin(s));
    FAILS(LFUSE_ERR_STATE, cuda->graph_end(s, &none));
    ck_assert_ptr_null(none);
    arrange("");
    OK(cuda->stream_capturing(s, &capturing));
    ck_assert(!capturing);
    cuda->graph_destroy(g);
    cuda->graph_destroy(NULL);
}

/* ---- programs and launches ---- */

TEST(test_program)
{
    static const char good[] = "extern \"C\" __global__ void twice_1_0(float *a) { a[threadIdx.x] *= 2; }";
    lfuse__strbuf log = LFUSE__STRBUF_INIT, binary = LFUSE__STRBUF_INIT, key = LFUSE__STRBUF_INIT;
    lfuse__bdevice *dev = open_device(0);
    lfuse__bprogram *p = NULL, *again;
    lfuse__bkernel *k = NULL;
    NEED_COMPILER();
    OK(cuda->program_key(dev, &key));
    ck_assert_msg(strstr(key.data, "sm_90") && strstr(key.data, "--fmad=false"), "%s", key.data);
    FAILS(LFUSE_ERR_COMPILE, cuda->program_build(dev, "nonsense", &log, &p));
    ck_assert_msg(strstr(log.data, "nonsense") != NULL, "%s", log.data);
    ck_assert_ptr_null(p);
    OK(cuda->program_build(dev, good, &log, &p));
    OK(cuda->program_binary(p, &binary));
    ck_assert_mem_eq(binary.data, "\177ELF", 4);
    OK(cuda->program_load(dev, binary.data, binary.length, &again));
    SAYS(LFUSE_ERR_NAME, cuda->kernel_create(p, "missing", &k), "missing");
    OK(cuda->kernel_create(p, "twice_1_0", &k));
    cuda->kernel_destroy(k);
    cuda->program_destroy(p);
    cuda->program_destroy(again);
    cuda->program_destroy(NULL);
    FAILS(LFUSE_ERR_COMPILE, cuda->program_load(dev, "bad", 3, &p));
    FAILS(LFUSE_ERR_COMPILE, cuda->program_load(dev, "", 0, &p));
    lfuse__strbuf_free(&log);
    lfuse__strbuf_free(&binary);
    lfuse__strbuf_free(&key);
}

static bool minimal;

static nvrtcResult see_options(nvrtcProgram program, int count, const char *const *options)
{
    (void)program;
    minimal = false;
    for (int i = 0; i < count; i++) minimal = minimal || !strcmp(options[i], "--minimal");
    return NVRTC_ERROR_COMPILATION;
}

/* NVRTC 12.4 is the first that knows --minimal; older ones refuse to compile with it. */
TEST(test_minimal)
{
    static const struct { int version; bool minimal; } cases[] = { { 12030, false }, { 12040, true }, { 13000, true } };
    lfuse__strbuf log = LFUSE__STRBUF_INIT, binary = LFUSE__STRBUF_INIT;
    NEED_COMPILER();
    const int version = lfuse__cu_compiler.version;
    __typeof__(nvrtcCompileProgram) *const compile = lfuse__nvrtc.CompileProgram;
    lfuse__nvrtc.CompileProgram = see_options;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lfuse__cu_compiler.version = cases[i].version;
        FAILS(LFUSE_ERR_COMPILE, lfuse__cuda_compile("", "sm_90", &log, &binary));
        ck_assert_msg(minimal == cases[i].minimal, "version %d", cases[i].version);
    }
    lfuse__nvrtc.CompileProgram = compile;
    lfuse__cu_compiler.version = version;
    lfuse__strbuf_free(&log);
    lfuse__strbuf_free(&binary);
}

TEST(test_launch)
{
    static const uint64_t words[] = { 1, UINT64_MAX, 3 };
    lfuse__bdevice *dev = open_device(0);
    lfuse__bstream *s = stream_on(dev);
    lfuse__bmem *m = memory_on(dev, 256);
    lfuse__bkernel *k = kernel_on(dev, "k_2_3");
    lfuse__bmem *buffers[] = { m, NULL };
    lfuse__launch_args args = {
        .groups = 5, .group = 128, .nbuffers = 2, .nwords = 3, .buffers = buffers, .words = words
    };
    OK(cuda->launch(s, k, &args));
    const fakecuda_launch *l = fake_last();
    ck_assert_uint_eq(l->launches, 1);
    ck_assert_uint_eq(l->grid, 5);
    ck_assert_uint_eq(l->block, 128);
    ck_assert_ptr_eq(l->stream, cuda->stream_native(s));
    ck_assert_uint_eq(l->buffers[0], m->address);
    ck_assert_uint_eq(l->buffers[1], 0);
    ck_assert_mem_eq(l->words, words, sizeof words);
    args.groups = 0;
    OK(cuda->launch(s, k, &args));
    args.groups = (uint64_t)1 << 31;
    FAILS(LFUSE_ERR_OVERFLOW, cuda->launch(s, k, &args));
    ck_assert_uint_eq(fake_calls("cuLaunchKernelEx"), 1);
    args.groups = 5;
    arrange("cuLaunchKernelEx:1:2");
    SAYS(LFUSE_ERR_DEVICE_MEMORY, cuda->launch(s, k, &args), "cuLaunchKernel of k_2_3, 5 groups of 128");
    arrange("");
    OK(cuda->pending(dev));
    dev->device.overlap = false;
    arrange("cuLaunchKernel:1:2");
    SAYS(LFUSE_ERR_DEVICE_MEMORY, cuda->launch(s, k, &args), "cuLaunchKernel of k_2_3, 5 groups of 128");
    arrange("");
}

/* All groups at the same time: a cooperative launch, as many as there are multiprocessors, or none. */
static void check_resident(lfuse__bdevice *dev, lfuse__bstream *s, lfuse__bkernel *k)
{
    static const uint64_t words[] = { 3, 2, 1 };
    const unsigned most = dev->device.facts.resident_groups;
    lfuse__launch_args args = { .groups = 132, .group = 256, .nwords = 3, .words = words, .resident = true };
    if (lfuse__cu.LaunchKernelEx) ck_assert_uint_eq(most, 132);
    else ck_assert_uint_eq(most, 0);
    if (most) {
        OK(cuda->launch(s, k, &args));
        ck_assert(fake_last()->resident == 1 && fake_last()->grid == 132);
        ck_assert_mem_eq(fake_last()->words, words, sizeof words);
        args.groups = 133;
    }
    SAYS(LFUSE_ERR_UNSUPPORTED, cuda->launch(s, k, &args), "same time");
}

/* Two launches of five groups, given back as the driver saw the second: with the attribute, or by the older call. */
static void check_overlap(bool expected)
{
    static const uint64_t words[] = { 1, 2, UINT64_MAX };
    lfuse__bdevice *dev = open_device(0);
    lfuse__bstream *s = stream_on(dev);
    lfuse__bkernel *k = kernel_on(dev, "k_0_3");
    lfuse__launch_args args = { .groups = 5, .group = 96, .local_bytes = 64, .nwords = 3, .words = words };
    for (int i = 0; i < 2; i++) OK(cuda->launch(s, k, &args));
    const fakecuda_launch *l = fake_last();
    ck_assert_uint_eq(fake_calls(expected ? "cuLaunchKernelEx" : "cuLaunchKernel"), 2);
    ck_assert_uint_eq(fake_calls(expected ? "cuLaunchKernel" : "cuLaunchKernelEx"), 0);
    ck_assert_int_eq(l->overlap, expected);
    ck_assert(l->grid == 5 && l->block == 96 && l->shared == 64 + 1024 && !l->resident);
    ck_assert_ptr_eq(l->stream, cuda->stream_native(s));
    ck_assert_mem_eq(l->words, words, sizeof words);
    check_resident(dev, s, k);
}

/* What a process has of driver, device and environment decides; each is read once. */
TEST_LOOP(test_overlap, 0, 9)
{
    static const struct {
        const char *variable, *value;
        bool expected;
    } cases[] = {
        { "FAKECUDA_CAPABILITY", "90", true },           { "FAKECUDA_CAPABILITY", "121", true },
        { "FAKECUDA_CAPABILITY", "89", false },          { "FAKECUDA_VERSION", "12030", true },
        { "FAKECUDA_VERSION", "12020", false },          { "FAKECUDA_LACKS", "cuLaunchKernelEx", false },
        { "FAKECUDA_LACKS", "cuNothingThatIs", true },   { "LFUSE_OVERLAP", "0", false },
        { "LFUSE_OVERLAP", "1", true },
    };
    NEED_OWN_PROCESS();
    ck_assert_int_lt(_i, (int)(sizeof cases / sizeof cases[0]));
    setenv(cases[_i].variable, cases[_i].value, 1);
    fake_reset();
    check_overlap(cases[_i].expected);
}

TEST_SUITE("cuda-fake", CK_FORK_GETENV)
