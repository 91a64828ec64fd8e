/* SPDX-License-Identifier: Apache-2.0 */
/* A device that says that nothing can be run on it, among others: answers changed by the layer of tests/layer. */
#include <dlfcn.h>

#include "backends/opencl/backend.h"
#include "common/device/device.h"
#include "tests/layer/layer.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

static const struct {
    const char *flaw, *reason;
} flaws[] = {{"available", "not available"}, {"compiler", "no compiler"}, {"version", "OpenCL 1.2 is needed"}};
enum { FLAWS = sizeof flaws / sizeof *flaws };

static bool own_process(void)
{
    const char *fork_status = getenv("CK_FORK");
    return !fork_status || strcmp(fork_status, "no");
}

static bool is_listed(const char *name)
{
    lfuse_device_info info;
    int count = 0;
    OK(lfuse_device_count(&count));
    for (int i = 0; i < count; i++) {
        OK(lfuse_device_describe(i, &info));
        if (!strcmp(info.name, name)) return true;
    }
    FAILS(LFUSE_ERR_INVALID, lfuse_device_describe(count, &info));
    return false;
}

/* The first device is the flawed one; *count of the backend's devices in all. */
static void flaw_the_first(int i, lfuse__facts *facts, int *count)
{
    char reason[256], text[32];
    snprintf(text, sizeof text, "0:%s", flaws[i].flaw);
    setenv("OPENCL_LAYERS", LFUSE_TEST_LAYER, 1);
    setenv("LFUSE_LAYER_SAYS", text, 1);
    setenv("POCL_DEVICES", "basic basic", 1); /* PoCL has two */
    OK(lfuse__backend_opencl.enumerate(count, reason, sizeof reason));
    if (!dlopen(LFUSE_TEST_LAYER, RTLD_NOW | RTLD_NOLOAD)) *count = 0; /* a loader that knows no layers */
    if (*count) OK(lfuse__backend_opencl.describe(0, facts));
}

static void check_others(const char *unfit)
{
    lfuse_device *device;
    OK(lfuse_device_open(NULL, &device));
    lfuse_device_info info = info_of(device);
    ck_assert_str_ne(info.name, unfit);
    lfuse_device_close(device);
}

TEST_CASE("opencl")

TEST_LOOP(test_flaw, 0, FLAWS)
{
    lfuse__facts facts = {.simd = 0};
    lfuse_device *device = NULL;
    int count = 0;
    if (!own_process()) TEST_SKIP("CK_FORK=no: a flaw stays with the process");
    flaw_the_first(_i, &facts, &count);
    if (count < 2) TEST_SKIP("%d OpenCL devices behind the test layer, two are needed", count);
    ck_assert_msg(strstr(facts.unfit, flaws[_i].reason) != NULL, "\"%s\"", facts.unfit);
    ck_assert_msg(!is_listed(facts.info.name), "%s is listed", facts.info.name);
    SAYS(LFUSE_ERR_UNSUPPORTED, lfuse_device_open(facts.info.name, &device), facts.info.name);
    ck_says(facts.info.product);
    ck_says(flaws[_i].reason);
    ck_assert_ptr_null(device);
    check_others(facts.info.name);
}

TEST(test_flaw_of_the_chosen)
{
    lfuse__facts facts = {.simd = 0};
    lfuse_device *device = NULL;
    int count = 0;
    if (!own_process()) TEST_SKIP("CK_FORK=no: a flaw stays with the process");
    flaw_the_first(0, &facts, &count);
    if (!count) TEST_SKIP("no OpenCL device behind the test layer");
    setenv("LFUSE_DEVICE", facts.info.name, 1);
    SAYS(LFUSE_ERR_UNSUPPORTED, lfuse_device_open(NULL, &device), "LFUSE_DEVICE");
    ck_says(flaws[0].reason);
}

/* What fails, and how often it does before the driver is well again. */
static const struct {
    const char *fail;
    int status; /* of counting: a shortage is not remembered, anything else is what the list says */
} failures[] = {
    {"clGetDeviceInfo:1:always:-30", LFUSE_OK}, {"clGetDeviceIDs:1:always:-30", LFUSE_OK},
    {"clGetDeviceInfo:1:once:-6", LFUSE_ERR_MEMORY}, {"clGetDeviceIDs:1:once:-6", LFUSE_ERR_MEMORY},
    {"clGetPlatformIDs:1:once:-6", LFUSE_ERR_MEMORY},
};
enum { FAILURES = sizeof failures / sizeof *failures };

static void check_unknown(void)
{
    lfuse__facts facts = {.simd = 0};
    lfuse_device *device = NULL;
    char reason[256];
    int count = 0;
    OK(lfuse__backend_opencl.enumerate(&count, reason, sizeof reason));
    ck_assert_int_gt(count, 0);
    OK(lfuse__backend_opencl.describe(0, &facts));
    ck_assert_str_eq(facts.info.name, "opencl:0:0");
    ck_assert_msg(strstr(facts.unfit, "its driver does not describe it: ") != NULL, "\"%s\"", facts.unfit);
    SAYS(LFUSE_ERR_UNSUPPORTED, lfuse_device_open("opencl:0:0", &device), "clGetDevice");
}

TEST_LOOP(test_failing_driver, 0, FAILURES)
{
    int count = -1, again = -1;
    if (!own_process()) TEST_SKIP("CK_FORK=no: what the driver says stays with the process");
    setenv("OPENCL_LAYERS", LFUSE_TEST_LAYER, 1);
    setenv("LFUSE_LAYER_FAIL", failures[_i].fail, 1);
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    lfuse_status status = lfuse_device_count(&count);
    if (!dlopen(LFUSE_TEST_LAYER, RTLD_NOW | RTLD_NOLOAD)) TEST_SKIP("the loader knows no layers");
    ck_assert_msg(status == (lfuse_status)failures[_i].status, "%s: %s", lfuse_status_name(status), lfuse_last_error());
    if (status == LFUSE_OK) {
        check_unknown();
        return;
    }
    ck_assert_int_eq(count, -1);
    OK(lfuse_device_count(&again));
    if (!again) TEST_SKIP("no OpenCL device behind the test layer");
    ck_assert(is_listed("opencl:0:0"));
}

static bool has_addresses(int device)
{
    lfuse__bdevice *dev = NULL;
    lfuse__facts facts = {.simd = 0};
    OK(lfuse__backend_opencl.describe(device, &facts));
    if (facts.unfit[0]) return false;
    OK(lfuse__backend_opencl.open(device, &dev));
    OK(lfuse__backend_opencl.facts(dev, &facts));
    lfuse__backend_opencl.close(dev);
    return facts.addresses;
}

/* False: nothing could be tried, as buffers of this device have no addresses anyhow. */
static bool check_unsteady(int device, lfuse_layer_calls_t *calls, lfuse_layer_spoil_t *spoil)
{
    long looks = calls("clEnqueueReadBuffer");
    if (!has_addresses(device)) return false;
    looks = calls("clEnqueueReadBuffer") - looks;
    ck_assert_int_eq(looks, 4); /* where the buffer is and what is there, twice */
    for (long n = 1; n <= looks; n++) {
        spoil(n);
        ck_assert_msg(!has_addresses(device), "look %ld", n);
    }
    return true;
}

/* Once a look at a buffer finds another address, or something else there, its driver is one that tells none. */
TEST(test_unsteady_addresses)
{
    char reason[256];
    int count = 0, tried = 0;
    if (!own_process()) TEST_SKIP("CK_FORK=no: the environment is read once");
    setenv("OPENCL_LAYERS", LFUSE_TEST_LAYER, 1);
    setenv("LFUSE_ADDRESSES", "all", 1);
    OK(lfuse__backend_opencl.enumerate(&count, reason, sizeof reason));
    void *layer = dlopen(LFUSE_TEST_LAYER, RTLD_NOW | RTLD_NOLOAD);
    for (int i = 0; layer && i < count; i++)
        tried += check_unsteady(i, (lfuse_layer_calls_t *)dlsym(layer, "lfuse_layer_calls"),
                                (lfuse_layer_spoil_t *)dlsym(layer, "lfuse_layer_spoil"));
    if (!tried) TEST_SKIP("no OpenCL device behind the test layer whose buffers have addresses");
}

TEST_SUITE("unfit", CK_FORK_GETENV)
