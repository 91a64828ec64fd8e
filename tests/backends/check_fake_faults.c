/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of the CUDA backend over the driver of tests/fake-cuda: a lost device, an ended driver, every failure. */
#include "common/device/device.h"
#include "tests/backends/fake_rig.h"

static bool ended; /* the driver, which answers no more */

static void end(void)
{
    if (!ended) nothing_is_left();
}

TEST_CASE("faults", .setup = load_fakes, .teardown = end)

TEST(test_lost)
{
    lfuse__bdevice *dev = open_device(0);
    lfuse__bstream *s = stream_on(dev);
    memory_on(dev, 256);
    OK(cuda->pending(dev));
    arrange("cuStreamSynchronize:1:700");
    SAYS(LFUSE_ERR_DEVICE_LOST, cuda->stream_sync(s), "cuStreamSynchronize");
    ck_says("(700)");
    arrange("");
    SAYS(LFUSE_ERR_DEVICE_LOST, cuda->pending(dev), "(700)");
}

TEST(test_after_shutdown)
{
    NEED_OWN_PROCESS();
    lfuse__bdevice *dev = open_device(0);
    lfuse__bstream *s = stream_on(dev);
    lfuse__bmem *m = memory_on(dev, 256);
    void *native = cuda->stream_native(s);
    (void)lfuse__error(LFUSE_ERR_INVALID, "before");
    arrange("cuCtxPushCurrent:1:4");
    objects_drop(s, destroy_stream);
    give_back(m);
    arrange("cuDevicePrimaryCtxRelease:1:4");
    objects_drop(dev, close_device);
    ended = true;
    ck_assert_str_eq(lfuse__error_message(), "before");
    free(native); /* what a driver that shuts down takes along */
}

/* Every slot that makes something, each thing destroyed again. */
static lfuse_status scenario(lfuse__bdevice *dev)
{
    static const uint64_t words[] = { 1 };
    lfuse__bstream *s = NULL;
    lfuse__bevent *e = NULL;
    lfuse__bmem *m = NULL;
    lfuse__bprogram *p = NULL;
    lfuse__bkernel *k = NULL;
    lfuse__bgraph *g = NULL;
    lfuse__launch_args args = { .groups = 1, .group = 32, .nwords = 1, .words = words };
    char byte = 1;
    lfuse_status status = cuda->stream_create(dev, &s);
    if (!status) status = cuda->event_create(dev, &e);
    for (int kind = 0; kind < 3 && !status; kind++) {
        cuda->free(m);
        m = NULL;
        status = cuda->alloc(dev, (lfuse__alloc_kind)kind, 64, &m);
        if (!status) status = cuda->write(s, m, 0, &byte, 1);
        if (!status) status = cuda->fill(s, m, 0, 0x0102030405060708, 8, 64);
    }
    if (!status) status = cuda->program_load(dev, "module", 6, &p);
    if (!status) status = cuda->kernel_create(p, "k_0_1", &k);
    if (!status) status = cuda->graph_begin(s);
    if (!status) {
        status = cuda->launch(s, k, &args);
        lfuse_status end = cuda->graph_end(s, &g);
        if (!status) status = end;
    }
    if (!status) status = cuda->graph_launch(s, g);
    if (!status) status = cuda->graph_patch(g, 0, k, &args);
    if (!status) status = cuda->event_record(e, s);
    if (!status) status = cuda->event_wait(e, s);
    if (!status) status = cuda->stream_sync(s);
    cuda->graph_destroy(g);
    cuda->kernel_destroy(k);
    cuda->program_destroy(p);
    cuda->free(m);
    cuda->event_destroy(e);
    cuda->stream_destroy(s);
    return status;
}

TEST(test_every_failure)
{
    static const char *const functions[] = {
        "cuStreamCreate", "cuEventCreate", "cuMemAlloc", "cuMemHostAlloc", "cuMemAllocManaged", "cuMemcpyAsync",
        "cuMemsetD2D32Async", "cuModuleLoadDataEx", "cuModuleGetFunction", "cuFuncGetAttribute",
        "cuFuncSetAttribute", "cuStreamBeginCapture",
        "cuLaunchKernelEx", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch",
        "cuGraphExecKernelNodeSetParams", "cuEventRecord", "cuStreamWaitEvent", "cuStreamSynchronize",
    };
    lfuse__bdevice *dev = open_device(0);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        lfuse_status status = LFUSE_ERR_DEVICE;
        for (int n = 1; status; n++) {
            char what[64];
            snprintf(what, sizeof what, "%s:%d:1", functions[i], n);
            arrange(what);
            status = scenario(dev);
            ck_assert_msg(status == LFUSE_OK || status == LFUSE_ERR_DEVICE, "%s: %d", what, status);
            if (n == 1) ck_assert_msg(status == LFUSE_ERR_DEVICE, "%s was not called", functions[i]);
            ck_assert_msg(fake_live() == 1, "%s: %ld alive", what, (long)fake_live());
        }
        arrange("");
        OK(scenario(dev));
    }
}

TEST(test_open_failures)
{
    static const char *const functions[] = {
        "cuDeviceGet", "cuDeviceGetAttribute", "cuDeviceGetName", "cuDeviceTotalMem", "cuDevicePrimaryCtxRetain",
    };
    lfuse__bdevice *none = NULL;
    objects_drop(open_device(0), close_device);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        char what[64];
        snprintf(what, sizeof what, "%s:1:2", functions[i]);
        arrange(what);
        SAYS(LFUSE_ERR_DEVICE_MEMORY, cuda->open(0, &none), functions[i]);
        ck_assert_ptr_null(none);
        ck_assert_int_eq(fake_live(), 0);
    }
    arrange("");
    objects_drop(open_device(0), close_device);
}

/* What a driver has no memory for today it may have tomorrow. */
TEST(test_shortage_at_start)
{
    char reason[256] = "";
    int count = -1;
    NEED_OWN_PROCESS();
    for (int i = 0; i < 2; i++) {
        arrange("cuInit:1:2");
        SAYS(LFUSE_ERR_DEVICE_MEMORY, cuda->enumerate(&count, reason, sizeof reason), "cuInit");
        ck_assert_int_eq(count, -1);
        ck_assert_str_eq(reason, "");
    }
    arrange("");
    OK(cuda->enumerate(&count, reason, sizeof reason));
    ck_assert_int_eq(count, 2);
    ck_assert_ptr_nonnull(lfuse__cu_driver.library);
}

/* A device that its driver does not describe stays in the list. */
TEST(test_not_described)
{
    static const char *const functions[] = { "cuDeviceGetAttribute", "cuDeviceGetName", "cuDeviceTotalMem" };
    lfuse__facts facts;
    int count;
    char reason[256];
    OK(cuda->enumerate(&count, reason, sizeof reason));
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        char what[64];
        snprintf(what, sizeof what, "%s:1:1", functions[i]);
        arrange(what);
        OK(cuda->describe(1, &facts));
        ck_assert_str_eq(facts.info.name, "cuda:1");
        ck_assert_str_eq(facts.info.backend, "cuda");
        ck_assert_msg(strstr(facts.unfit, functions[i]) != NULL, "%s", facts.unfit);
        snprintf(what, sizeof what, "%s:1:2", functions[i]);
        arrange(what);
        FAILS(LFUSE_ERR_DEVICE_MEMORY, cuda->describe(1, &facts));
    }
    arrange("");
    OK(cuda->describe(1, &facts));
    ck_assert_msg(strstr(facts.unfit, "does not describe") == NULL, "%s", facts.unfit);
}

TEST_SUITE("cuda-fake faults", CK_FORK_GETENV)
