/* SPDX-License-Identifier: Apache-2.0 */
/* Two devices of the stub, and a plan on one of them that goes on working. */
#ifndef TESTS_API_RIG_H
#define TESTS_API_RIG_H

#include "common/device/device.h"
#include "libfuse.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

static lfuse_device *device, *other;
static lfuse_stream *stream, *other_stream;
static lfuse_graph *graph;
static lfuse_plan *plan;
static lfuse_tensor *x, *y, *foreign;

/* y = relu(x) for x [batch, 8], batch from 2 to 16. */
static inline void setup(void)
{
    lfuse__stub_reset();
    lfuse__registry_extra(&lfuse__stub_backend);
    OK(lfuse_device_open("stub:0", &device));
    OK(lfuse_device_open("stub:1", &other));
    OK(lfuse_stream_create(device, &stream));
    OK(lfuse_stream_create(other, &other_stream));
    graph = lfuse_graph_create();
    lfuse_size batch = lfuse_size_var(graph, "batch", 2, 16);
    lfuse_output(graph, "y", lfuse_relu(lfuse_input(graph, "x", F32(batch, 8))));
    OK(lfuse_plan_create(device, graph, NULL, &plan));
    OK(lfuse_tensor_create(device, F32(4, 8), &x));
    OK(lfuse_tensor_create(device, F32(4, 8), &y));
    OK(lfuse_tensor_create(other, F32(4, 8), &foreign));
    OK(lfuse_tensor_fill(x, NULL, 3));
}

/* After all that was refused: the same device computes. */
static inline void works(void)
{
    float host[32];
    RUN(plan, stream, BIND("x", x), BIND("y", y));
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(y, NULL, host));
    for (int i = 0; i < 32; i++) ck_assert_float_eq(host[i], 3);
}

static inline void teardown(void)
{
    works();
    lfuse_tensor_destroy(x);
    lfuse_tensor_destroy(y);
    lfuse_tensor_destroy(foreign);
    lfuse_plan_destroy(plan);
    lfuse_graph_destroy(graph);
    lfuse_stream_destroy(stream);
    lfuse_stream_destroy(other_stream);
    lfuse_device_close(device);
    lfuse_device_close(other);
    lfuse__registry_extra(NULL);
    ck_assert_int_eq(lfuse__stub_live_objects(), 0);
}

static inline uint64_t launches(void)
{
    return counters_of(device).launches;
}

static inline lfuse_tensor *tensor(lfuse_type type, int rank, const int64_t *shape)
{
    return new_tensor(device, type, rank, shape);
}

/* A run with these two bindings is refused before anything is launched. */
static inline void refuse_run(lfuse_binding first, lfuse_binding second, lfuse_status status)
{
    uint64_t before = launches();
    FAILS(status, lfuse_plan_run(plan, stream, BINDINGS(first, second)));
    ck_assert_uint_eq(launches(), before);
}

#endif
