/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings of two steps on the stub. */
#ifndef TESTS_RUN_RECORDS_H
#define TESTS_RUN_RECORDS_H

#include "libfuse.h"
#include "tests/stub/faults.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

enum { N = 300 };

static lfuse_device *dev;
static lfuse_stream *stream;
static lfuse_tensor *x, *y, *z;
static float values[N];

static inline lfuse_tensor *vector(void)
{
    return new_tensor(dev, LFUSE_F32, 1, (const int64_t[]){N});
}

/* Loop index of the tests: bit 0: a native graph, not a list of launches; bit 1: tables of slots and offsets. */
static inline void begin(int settings)
{
    test_stub_begin();
    lfuse__stub.native_graph = settings & 1;
    lfuse__stub.addresses = !(settings & 2);
    OK(lfuse_device_open("stub:0", &dev));
    stream = new_stream(dev);
    x = vector();
    y = vector();
    z = vector();
    for (int i = 0; i < N; i++) values[i] = (float)(i - N / 2);
    OK(lfuse_tensor_write(x, NULL, values));
}

/* The teardown of tests that begin, and of others. */
static inline void end(void)
{
    if (!dev) return;
    lfuse_device_close(dev);
    dev = NULL;
    test_stub_end();
}

/* "out" = scale * "in" + shift, any length. */
static inline lfuse_status scaling_plan(lfuse_device *device, lfuse_plan **plan)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_size n = lfuse_size_var(g, "n", 0, 1 << 20);
    lfuse_value in = lfuse_input(g, "in", F32(n));
    lfuse_output(g, "out", lfuse_add(lfuse_mul(in, lfuse_scalar(g, "scale")), lfuse_constant(g, 1)));
    lfuse_status status = lfuse_plan_create(device, g, NULL, plan);
    lfuse_graph_destroy(g);
    return status;
}

/* Owned by the test. */
static inline lfuse_plan *new_scaling_plan(void)
{
    lfuse_plan *plan = NULL;
    OK(scaling_plan(dev, &plan));
    return objects_own(plan, objects_destroy_plan);
}

/* "result" = relu("operand") */
static inline lfuse_status relu_plan(lfuse_device *device, lfuse_plan **plan)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_size n = lfuse_size_var(g, "n", 0, 1 << 20);
    lfuse_output(g, "result", lfuse_relu(lfuse_input(g, "operand", F32(n))));
    lfuse_status status = lfuse_plan_create(device, g, NULL, plan);
    lfuse_graph_destroy(g);
    return status;
}

static inline lfuse_status run_scaling(lfuse_plan *plan, lfuse_stream *s, lfuse_tensor *in, double scale,
                                       lfuse_tensor *out)
{
    return lfuse_plan_run(plan, s, BINDINGS(BIND("in", in), lfuse_bind_scalar("scale", scale), BIND("out", out)));
}

static inline lfuse_status run_relu(lfuse_plan *plan, lfuse_stream *s, lfuse_tensor *operand, lfuse_tensor *result)
{
    return lfuse_plan_run(plan, s, BINDINGS(BIND("operand", operand), BIND("result", result)));
}

/* y = scale x + 1, z = relu(y), recorded. The plans are destroyed: the recording holds what it needs. */
static inline lfuse_recording *record_two_steps(double scale)
{
    lfuse_plan *scaling = new_scaling_plan(), *relu;
    OK(relu_plan(dev, &relu));
    OK(lfuse_record_begin(stream));
    OK(run_scaling(scaling, stream, x, scale, y));
    OK(run_relu(relu, stream, y, z));
    lfuse_recording *recording = new_recording(stream);
    drop(scaling);
    lfuse_plan_destroy(relu);
    return recording;
}

static inline float relu_of(float v)
{
    return v > 0 ? v : 0;
}

static inline void check_result(lfuse_tensor *t, float scale, const char *what)
{
    float got[N];
    OK(lfuse_tensor_read(t, NULL, got));
    for (int i = 0; i < N; i++)
        ck_assert_msg(got[i] == relu_of(scale * values[i] + 1), "%s: element %d is %g", what, i, got[i]);
}

#endif
