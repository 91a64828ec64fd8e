/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU of another maker: its driver does not tell how many work-items step together. PoCL's device says through the
 * layer of tests/layer that it is one, and multiplies matrices by the kernels of GPUs.
 */
#include <dlfcn.h>

#include "backends/opencl/backend.h"
#include "common/device/device.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

enum { M = 37, K = 21, N = 50 };
static float a[M * K], b[K * N], y[M * N];

/* Small whole numbers: sums are exact in any order. */
static void make_operands(void)
{
    for (int i = 0; i < M * K; i++) a[i] = (float)(i * 7 % 9 - 4);
    for (int i = 0; i < K * N; i++) b[i] = (float)(i * 5 % 11 - 5);
}

static void check_result(void)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++) sum += a[i * K + k] * b[k * N + j];
            sum = sum > 0 ? sum : 0;
            ck_assert_msg(y[i * N + j] == sum, "element %d %d: %g, not %g", i, j, (double)y[i * N + j], (double)sum);
        }
}

static lfuse_plan *plan_product(lfuse_device *device)
{
    lfuse_graph *g = new_graph();
    lfuse_value x = lfuse_input(g, "a", F32(M, K));
    lfuse_value w = lfuse_input(g, "b", F32(K, N));
    lfuse_output(g, "y", lfuse_relu(lfuse_matmul(x, w)));
    return new_plan(device, g, NULL);
}

static void multiply(lfuse_device *device, const lfuse_plan *plan)
{
    lfuse_stream *s = new_stream(device);
    lfuse_tensor *ta = new_tensor(device, F32(M, K));
    lfuse_tensor *tb = new_tensor(device, F32(K, N));
    lfuse_tensor *ty = new_tensor(device, F32(M, N));
    OK(lfuse_tensor_write(ta, NULL, a));
    OK(lfuse_tensor_write(tb, NULL, b));
    OK(lfuse_plan_run((lfuse_plan *)plan, s, BINDINGS(BIND("a", ta), BIND("b", tb), BIND("y", ty))));
    OK(lfuse_tensor_read(ty, s, y));
    OK(lfuse_stream_synchronize(s));
}

static void pose_as_gpu(void)
{
    setenv("OPENCL_LAYERS", LFUSE_TEST_LAYER, 1);
    setenv("LFUSE_LAYER_SAYS", "0:gpu", 1);
    test_without_optimisation(true);
}

TEST_CASE("opencl")

TEST(test_product)
{
    lfuse__facts facts;
    char reason[256];
    int count = 0;
    pose_as_gpu();
    OK(lfuse__backend_opencl.enumerate(&count, reason, sizeof reason));
    if (!count || !dlopen(LFUSE_TEST_LAYER, RTLD_NOW | RTLD_NOLOAD))
        TEST_SKIP("no OpenCL device behind the test layer");
    OK(lfuse__backend_opencl.describe(0, &facts));
    if (!facts.compiles_at_launch) TEST_SKIP("%s is not PoCL's", facts.info.name);
    ck_assert_int_eq(facts.info.kind, LFUSE_DEVICE_GPU);
    ck_assert(!facts.vector_lanes && facts.simd > 1);
    lfuse_device *device = new_device(facts.info.name);
    lfuse_plan *plan = plan_product(device);
    make_operands();
    lfuse_device_counters before = counters_of(device);
    multiply(device, plan);
    lfuse_device_counters after = counters_of(device);
    ck_assert_uint_eq(after.launches - before.launches, 1); /* relu too: no library's product */
    check_result();
    drop_all();
}

TEST_SUITE("other-gpu", CK_NOFORK)
