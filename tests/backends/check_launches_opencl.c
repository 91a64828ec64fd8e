/* SPDX-License-Identifier: Apache-2.0 */
/* The counter of launches against an outside count: a layer of the OpenCL loader that sees every enqueued kernel. */
#include <dlfcn.h>

#include "tests/layer/layer.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

static lfuse_layer_calls_t *calls;

/* Five dependent functions, each its own kernel or all in one. */
static void count(lfuse_device *device, unsigned disable, uint64_t expected)
{
    lfuse_plan_options options = {.disable = disable};
    lfuse_graph *g = new_graph();
    lfuse_value v = lfuse_input(g, "x", F32(1000));
    for (int i = 0; i < 5; i++) v = lfuse_tanh(v);
    lfuse_output(g, "y", v);
    lfuse_stream *stream = new_stream(device);
    lfuse_tensor *x = new_tensor(device, F32(1000));
    lfuse_tensor *y = new_tensor(device, F32(1000));
    OK(lfuse_tensor_fill(x, NULL, 1));
    lfuse_plan *plan = new_plan(device, g, &options);
    lfuse_binding b[2] = {BIND("x", x), BIND("y", y)};
    OK(lfuse_plan_run(plan, stream, b, 2));
    lfuse_device_counters before = counters_of(device);
    long outside = calls("clEnqueueNDRangeKernel");
    for (int i = 0; i < 3; i++) OK(lfuse_plan_run(plan, stream, b, 2));
    outside = calls("clEnqueueNDRangeKernel") - outside;
    lfuse_device_counters after = counters_of(device);
    ck_assert_uint_eq((uint64_t)outside, 3 * expected);
    ck_assert_uint_eq(after.launches - before.launches, (uint64_t)outside);
    OK(lfuse_stream_synchronize(stream));
}

static void use_layer(void)
{
    setenv("OPENCL_LAYERS", LFUSE_TEST_LAYER, 1);
}

TEST_CASE("opencl", .before = use_layer)

TEST(launches_counted)
{
    lfuse_device_info info;
    int devices, ran = 0;
    OK(lfuse_device_count(&devices));
    for (int i = 0; i < devices; i++) {
        lfuse_device *device;
        OK(lfuse_device_describe(i, &info));
        if (strcmp(info.backend, "opencl")) continue;
        OK(lfuse_device_open(info.name, &device));
        if (!calls) {
            void *layer = dlopen(LFUSE_TEST_LAYER, RTLD_NOW | RTLD_NOLOAD);
            if (!layer) TEST_SKIP("the OpenCL loader takes no layers");
            calls = (lfuse_layer_calls_t *)dlsym(layer, "lfuse_layer_calls");
            ck_assert(calls != NULL);
        }
        count(device, 0, 1);
        count(device, LFUSE_NO_POINTWISE_FUSION, 5);
        drop_all();
        lfuse_device_close(device);
        ran++;
    }
    if (!ran) TEST_SKIP("no OpenCL device");
}

TEST_SUITE("launches", CK_NOFORK)
