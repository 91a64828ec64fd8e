/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend over the driver of tests/fake-cuda. */
#ifndef TESTS_BACKENDS_FAKE_RIG_H
#define TESTS_BACKENDS_FAKE_RIG_H

#include <dlfcn.h>

#include "backends/cuda/internal.h"
#include "tests/fake-cuda/fakecuda.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

static const lfuse__backend *const cuda = &lfuse__backend_cuda;
static fakecuda_reset_function *fake_reset;
static fakecuda_calls_function *fake_calls;
static fakecuda_live_function *fake_live;
static fakecuda_last_function *fake_last;
static fakecuda_replayed_function *fake_replayed;

static inline void bind_fake(void *handle, const char *name, void *function)
{
    void *symbol = dlsym(handle, name);
    ck_assert_msg(symbol != NULL, "%s", name);
    memcpy(function, &symbol, sizeof symbol);
}

/* Loaded first, the fakes are what the sonames mean in this process. */
static inline void load_fakes(void)
{
    void *driver = dlopen(LFUSE_TEST_FAKE "/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(driver != NULL, "%s", dlerror());
    ck_assert_msg(dlopen(LFUSE_TEST_FAKE "/libcublasLt.so.13", RTLD_NOW | RTLD_LOCAL) != NULL, "%s", dlerror());
    bind_fake(driver, "fakecuda_reset", &fake_reset);
    bind_fake(driver, "fakecuda_calls", &fake_calls);
    bind_fake(driver, "fakecuda_live", &fake_live);
    bind_fake(driver, "fakecuda_last", &fake_last);
    bind_fake(driver, "fakecuda_replayed", &fake_replayed);
    unsetenv("FAKECUDA_FAIL");
    unsetenv("FAKECUDA_VERSION");
    unsetenv("FAKECUDA_DEVICES");
    unsetenv("FAKECUDA_CAPABILITY");
    unsetenv("FAKECUDA_LACKS");
    unsetenv("FAKECUDA_GREEDY");
    unsetenv("FAKECUDA_QUICK");
    unsetenv("LFUSE_OVERLAP");
    fake_reset();
}

/* "" for no failure. */
static inline void arrange(const char *what)
{
    setenv("FAKECUDA_FAIL", what, 1);
    fake_reset();
}

/* ---- owned by the test, see tests/support/objects.h ---- */

static inline void close_device(void *dev)
{
    cuda->close(dev);
}

static inline void destroy_stream(void *stream)
{
    cuda->stream_destroy(stream);
}

static inline void destroy_program(void *program)
{
    cuda->program_destroy(program);
}

static inline void destroy_kernel(void *kernel)
{
    cuda->kernel_destroy(kernel);
}

static inline void free_memory(void *memory)
{
    cuda->free(memory);
}

static inline lfuse__bdevice *open_device(int i)
{
    lfuse__bdevice *dev = NULL;
    int count = 0;
    char reason[256] = "";
    OK(cuda->enumerate(&count, reason, sizeof reason));
    ck_assert_msg(count == 2, "%d devices: %s", count, reason);
    OK(cuda->open(i, &dev));
    return objects_own(dev, close_device);
}

static inline lfuse__bstream *stream_on(lfuse__bdevice *dev)
{
    lfuse__bstream *s;
    OK(cuda->stream_create(dev, &s));
    return objects_own(s, destroy_stream);
}

static inline lfuse__bmem *memory_on(lfuse__bdevice *dev, uint64_t bytes)
{
    lfuse__bmem *m;
    OK(cuda->alloc(dev, LFUSE__ALLOC_DEVICE, bytes, &m));
    return objects_own(m, free_memory);
}

/* Before the test is over. */
static inline void give_back(lfuse__bmem *memory)
{
    objects_drop(memory, free_memory);
}

/* The fake has the kernels that it is asked for: k_2_3 takes two buffers and three words. */
static inline lfuse__bkernel *kernel_on(lfuse__bdevice *dev, const char *name)
{
    lfuse__bprogram *p;
    lfuse__bkernel *k;
    OK(cuda->program_load(dev, "module", 6, &p));
    objects_own(p, destroy_program);
    OK(cuda->kernel_create(p, name, &k));
    return objects_own(k, destroy_kernel);
}

/* The teardown of most tests. */
static inline void nothing_is_left(void)
{
    CUcontext current;
    ck_assert_int_eq(fake_live(), 0);
    if (!lfuse__cu.CtxGetCurrent) return; /* the driver was not loaded */
    ck_assert_int_eq(lfuse__cu.CtxGetCurrent(&current), CUDA_SUCCESS);
    ck_assert_ptr_null(current);
}

static inline bool own_process(void)
{
    const char *fork_status = getenv("CK_FORK");
    return fork_status == NULL || strcmp(fork_status, "no") != 0;
}

#define NEED_COMPILER()                                                                                                \
    if (lfuse__cu_load_compiler()) TEST_SKIP("no NVRTC: %s", lfuse__cu_compiler.reason)
#define NEED_FAKE_BLAS()                                                                                               \
    if (lfuse__cu_load_blas() || strcmp(lfuse__cu_blas.text, "13.0.0"))                                                \
    TEST_SKIP("NVRTC %s goes with another cuBLASLt than the fake one", lfuse__cu_compiler.text)
#define NEED_OWN_PROCESS()                                                                                             \
    if (!own_process()) TEST_SKIP("CK_FORK=no: what this test breaks would stay broken")

#endif
