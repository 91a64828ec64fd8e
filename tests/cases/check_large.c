/* SPDX-License-Identifier: Apache-2.0 */
/*
 * More elements than 32 bits can count: on every device with the memory for it, and on the stub as index arithmetic
 * (sparse memory, of which the first and last groups are run).
 */
#include "common/base/half.h"
#include "common/device/device.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

enum { EDGE = 1000 };
static const int64_t elements = ((int64_t)1 << 31) + 12345;

static uint16_t pattern(int64_t i) { return lfuse__double_to_f16((double)(i % 97) / 8); }

static void put(lfuse_tensor *t, int64_t at)
{
    uint16_t host[EDGE];
    for (int i = 0; i < EDGE; i++) host[i] = pattern(at + i);
    lfuse_tensor *view = new_view(t, SHAPE(EDGE), NULL, at);
    OK(lfuse_tensor_write(view, NULL, host));
}

static void expect(lfuse_tensor *t, int64_t at)
{
    uint16_t host[EDGE];
    lfuse_tensor *view = new_view(t, SHAPE(EDGE), NULL, at);
    OK(lfuse_tensor_read(view, NULL, host));
    for (int i = 0; i < EDGE; i++) {
        double want = 2.0 * (double)lfuse__f16_to_float(pattern(at + i));
        ck_assert_msg((double)lfuse__f16_to_float(host[i]) == want, "element %lld: %g instead of %g",
                      (long long)(at + i), (double)lfuse__f16_to_float(host[i]), want);
    }
}

/* y = 2 x; `middle`: also look where 31 bits end (the stub runs the edges alone). */
static void run(lfuse_device *device, bool middle)
{
    const int64_t at[] = {0, elements - EDGE, ((int64_t)1 << 31) - EDGE / 2, elements / 2};
    lfuse_graph *g = new_graph();
    lfuse_output(g, "y", lfuse_mul(lfuse_input(g, "x", LFUSE_F16, 1, &elements), lfuse_constant(g, 2)));
    lfuse_stream *stream = new_stream(device);
    lfuse_tensor *x = new_tensor(device, LFUSE_F16, 1, &elements);
    lfuse_tensor *y = new_tensor(device, LFUSE_F16, 1, &elements);
    for (int i = 0; i < (middle ? 4 : 2); i++) put(x, at[i]);
    lfuse_plan *plan = new_plan(device, g, NULL);
    RUN(plan, stream, BIND("x", x), BIND("y", y));
    OK(lfuse_stream_synchronize(stream));
    for (int i = 0; i < (middle ? 4 : 2); i++) expect(y, at[i]);
}

TEST_CASE("large")

TEST(on_devices)
{
    lfuse_device_info info;
    int count, ran = 0;
    lfuse__registry_extra(NULL);
    OK(lfuse_device_count(&count));
    for (int i = 0; i < count; i++) {
        lfuse_device *device;
        OK(lfuse_device_describe(i, &info));
        if (info.kind != LFUSE_DEVICE_GPU || info.max_alloc_bytes < 3 * (uint64_t)elements) continue;
        OK(lfuse_device_open(info.name, &device));
        run(device, true);
        drop_all();
        lfuse_device_close(device);
        ran++;
    }
    if (!ran) TEST_SKIP("no GPU with memory for %lld f16 elements", (long long)elements);
}

TEST(on_the_stub)
{
    lfuse_device *device;
    lfuse__stub_reset();
    lfuse__stub.memory_bytes = (uint64_t)1 << 40;
    lfuse__stub.sparse_bytes = (uint64_t)1 << 30;
    lfuse__stub.vector_lanes = false;
    lfuse__stub.elementwise_groups = 0;
    lfuse__stub.edge_groups = 64;
    lfuse__registry_extra(&lfuse__stub_backend);
    OK(lfuse_device_open("stub:0", &device));
    run(device, false);
    drop_all();
    lfuse_device_close(device);
    lfuse__registry_extra(NULL);
    lfuse__stub_reset();
}

TEST_SUITE("large", CK_NOFORK)
