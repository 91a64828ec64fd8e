/* SPDX-License-Identifier: Apache-2.0 */
/* Record and replay on the stub: as a native graph and as a list of launches. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "libfuse.h"
#include "tests/stub/faults.h"
#include "tests/support/main.h"

#define ck_ok(call)                                                                                                    \
    do {                                                                                                               \
        lfuse_status ok_status_ = (call);                                                                              \
        ck_assert_msg(ok_status_ == LFUSE_OK, "%s: %s", lfuse_status_name(ok_status_), lfuse_last_error());            \
    } while (0)
#define ck_refused(call, status)                                                                                       \
    do {                                                                                                               \
        lfuse_status refused_ = (call);                                                                                \
        ck_assert_msg(refused_ == (status), "%s instead of %s: %s", lfuse_status_name(refused_),                       \
                      lfuse_status_name(status), lfuse_last_error());                                                  \
        ck_assert_msg(lfuse_last_error()[0] != '\0', "no message");                                                    \
    } while (0)

enum { N = 300 };

static lfuse_device *dev;
static lfuse_stream *stream;
static lfuse_tensor *x, *y, *z;
static float values[N];

/* Loop index of the tests: bit 0: a native graph, not a list of launches; bit 1: tables of slots and offsets. */
static void begin(int settings)
{
    const int64_t shape[] = {N};
    test_stub_begin();
    lfuse__stub.native_graph = settings & 1;
    lfuse__stub.addresses = !(settings & 2);
    ck_ok(lfuse_device_open("stub:0", &dev));
    ck_ok(lfuse_stream_create(dev, &stream));
    ck_ok(lfuse_tensor_create(dev, LFUSE_F32, 1, shape, &x));
    ck_ok(lfuse_tensor_create(dev, LFUSE_F32, 1, shape, &y));
    ck_ok(lfuse_tensor_create(dev, LFUSE_F32, 1, shape, &z));
    for (int i = 0; i < N; i++) values[i] = (float)(i - N / 2);
    ck_ok(lfuse_tensor_write(x, NULL, values));
}

static void end(void)
{
    lfuse_tensor_destroy(x);
    lfuse_tensor_destroy(y);
    lfuse_tensor_destroy(z);
    lfuse_stream_destroy(stream);
    lfuse_device_close(dev);
    test_stub_end();
}

/* "out" = scale * "in" + shift, any length. */
static lfuse_status scaling_plan(lfuse_device *device, lfuse_plan **plan)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_size n = lfuse_size_var(g, "n", 0, 1 << 20);
    lfuse_value in = lfuse_input(g, "in", LFUSE_F32, 1, LFUSE_DIMS(n));
    lfuse_output(g, "out", lfuse_add(lfuse_mul(in, lfuse_scalar(g, "scale")), lfuse_constant(g, 1)));
    lfuse_status status = lfuse_plan_create(device, g, NULL, plan);
    lfuse_graph_destroy(g);
    return status;
}

/* "result" = relu("operand") */
static lfuse_status relu_plan(lfuse_device *device, lfuse_plan **plan)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_size n = lfuse_size_var(g, "n", 0, 1 << 20);
    lfuse_output(g, "result", lfuse_relu(lfuse_input(g, "operand", LFUSE_F32, 1, LFUSE_DIMS(n))));
    lfuse_status status = lfuse_plan_create(device, g, NULL, plan);
    lfuse_graph_destroy(g);
    return status;
}

static lfuse_status run_scaling(lfuse_plan *plan, lfuse_stream *s, lfuse_tensor *in, double scale, lfuse_tensor *out)
{
    lfuse_binding b[] = {lfuse_bind_tensor("in", in), lfuse_bind_number("scale", scale), lfuse_bind_tensor("out", out)};
    return lfuse_plan_run(plan, s, b, 3);
}

static lfuse_status run_relu(lfuse_plan *plan, lfuse_stream *s, lfuse_tensor *operand, lfuse_tensor *result)
{
    lfuse_binding b[] = {lfuse_bind_tensor("operand", operand), lfuse_bind_tensor("result", result)};
    return lfuse_plan_run(plan, s, b, 2);
}

/* y = scale x + 1, z = relu(y), recorded. The plans are destroyed: the recording holds what it needs. */
static lfuse_recording *record_two_steps(double scale)
{
    lfuse_plan *scaling, *relu;
    lfuse_recording *recording = NULL;
    ck_ok(scaling_plan(dev, &scaling));
    ck_ok(relu_plan(dev, &relu));
    ck_ok(lfuse_record_begin(stream));
    ck_ok(run_scaling(scaling, stream, x, scale, y));
    ck_ok(run_relu(relu, stream, y, z));
    ck_ok(lfuse_record_end(stream, &recording));
    lfuse_plan_destroy(scaling);
    lfuse_plan_destroy(relu);
    return recording;
}

static float relu_of(float v)
{
    return v > 0 ? v : 0;
}

static void check_result(lfuse_tensor *t, float scale, const char *what)
{
    float got[N];
    ck_ok(lfuse_tensor_read(t, NULL, got));
    for (int i = 0; i < N; i++)
        ck_assert_msg(got[i] == relu_of(scale * values[i] + 1), "%s: element %d is %g", what, i, got[i]);
}

/* ---- two steps ---- */

START_TEST(test_two_steps)
{
    lfuse__stub_counters counters;
    begin(_i);
    lfuse_recording *r = record_two_steps(2);
    ck_ok(lfuse_tensor_fill(z, NULL, -5)); /* nothing has run so far */
    for (int turn = 0; turn < 3; turn++) {
        ck_ok(lfuse_recording_replay(r, stream, NULL, 0));
        ck_ok(lfuse_stream_synchronize(stream));
        check_result(z, 2, "as recorded");
        ck_ok(lfuse_tensor_fill(z, NULL, -5));
    }
    lfuse__stub_counters_get(&counters);
    ck_assert_uint_eq(counters.graph_captures, (uint64_t)_i);
    ck_assert_uint_eq(counters.graph_updates, 0);
    ck_assert_uint_eq(counters.calls[LFUSE__STUB_graph_launch], _i ? 3 : 0);
    lfuse_recording_destroy(r);
    end();
}
END_TEST

START_TEST(test_new_bindings)
{
    const int64_t shape[] = {N};
    lfuse__stub_counters counters;
    lfuse_tensor *other;
    begin(_i);
    ck_ok(lfuse_tensor_create(dev, LFUSE_F32, 1, shape, &other));
    lfuse_recording *r = record_two_steps(2);
    ck_ok(lfuse_recording_replay(r, stream, NULL, 0));
    lfuse_binding number = lfuse_bind_number("scale", -3), tensor = lfuse_bind_tensor("result", other);
    ck_ok(lfuse_recording_replay(r, stream, &number, 1));
    ck_ok(lfuse_stream_synchronize(stream));
    check_result(z, -3, "new number");
    ck_ok(lfuse_recording_replay(r, stream, &tensor, 1));
    ck_ok(lfuse_stream_synchronize(stream));
    check_result(other, -3, "new tensor");
    ck_ok(lfuse_tensor_fill(other, NULL, 0));
    lfuse_tensor_destroy(other); /* the recording holds it */
    ck_ok(lfuse_recording_replay(r, stream, NULL, 0));
    ck_ok(lfuse_recording_replay(r, stream, &number, 1)); /* the same number: nothing new */
    ck_ok(lfuse_stream_synchronize(stream));
    lfuse__stub_counters_get(&counters);
    ck_assert_uint_eq(counters.graph_captures, (uint64_t)_i);
    ck_assert_uint_eq(counters.graph_updates, _i ? 2 : 0);
    lfuse_recording_destroy(r);
    end();
}
END_TEST

START_TEST(test_nothing_is_made_by_a_replay)
{
    lfuse_device_counters before, after;
    begin(_i);
    lfuse_recording *r = record_two_steps(2);
    lfuse_binding number = lfuse_bind_number("scale", 4);
    ck_ok(lfuse_recording_replay(r, stream, NULL, 0));
    ck_ok(lfuse_device_get_counters(dev, &before));
    ck_ok(lfuse_recording_replay(r, stream, &number, 1));
    ck_ok(lfuse_device_get_counters(dev, &after));
    ck_assert_uint_eq(after.launches - before.launches, 2);
    ck_assert_uint_eq(after.compiles, before.compiles);
    ck_assert_uint_eq(after.allocations, before.allocations);
    lfuse_recording_destroy(r);
    end();
}
END_TEST

/* The plan is run with other tensors between the replays: neither disturbs the other. */
START_TEST(test_plan_used_beside)
{
    const int64_t shape[] = {N};
    lfuse_tensor *other;
    lfuse_plan *scaling;
    lfuse_recording *r;
    float got[N];
    begin(_i);
    ck_ok(lfuse_tensor_create(dev, LFUSE_F32, 1, shape, &other));
    ck_ok(scaling_plan(dev, &scaling));
    ck_ok(lfuse_record_begin(stream));
    ck_ok(run_scaling(scaling, stream, x, 2, y));
    ck_ok(lfuse_record_end(stream, &r));
    for (int turn = 0; turn < 3; turn++) {
        ck_ok(lfuse_tensor_fill(y, NULL, -1));
        ck_ok(lfuse_recording_replay(r, stream, NULL, 0));
        ck_ok(run_scaling(scaling, stream, x, 5, other));
        ck_ok(lfuse_stream_synchronize(stream));
        ck_ok(lfuse_tensor_read(y, NULL, got));
        for (int i = 0; i < N; i++) ck_assert_float_eq(got[i], 2 * values[i] + 1);
        ck_ok(lfuse_tensor_read(other, NULL, got));
        for (int i = 0; i < N; i++) ck_assert_float_eq(got[i], 5 * values[i] + 1);
    }
    lfuse_tensor_destroy(other);
    lfuse_recording_destroy(r);
    lfuse_plan_destroy(scaling);
    end();
}
END_TEST

static void check_scaled(lfuse_tensor *t, float scale, bool backwards, const char *what)
{
    float got[N];
    ck_ok(lfuse_tensor_read(t, NULL, got));
    for (int i = 0; i < N; i++)
        ck_assert_msg(got[i] == scale * values[backwards ? N - 1 - i : i] + 1, "%s: element %d is %g", what, i, got[i]);
}

/* One instance cannot serve two runs with different strides, nor can a capture make what other strides need. */
START_TEST(test_other_strides)
{
    const int64_t shape[] = {N}, minus[] = {-1};
    lfuse_tensor *backwards, *other;
    lfuse_plan *scaling;
    lfuse_recording *r;
    begin(_i);
    ck_ok(lfuse_tensor_view(x, 1, shape, minus, N - 1, &backwards));
    ck_ok(lfuse_tensor_create(dev, LFUSE_F32, 1, shape, &other));
    ck_ok(scaling_plan(dev, &scaling));
    ck_ok(lfuse_record_begin(stream));
    ck_ok(run_scaling(scaling, stream, x, 2, y));
    ck_ok(run_scaling(scaling, stream, backwards, 3, z));
    ck_ok(lfuse_record_end(stream, &r));
    for (int turn = 0; turn < 3; turn++) {
        ck_ok(lfuse_recording_replay(r, stream, NULL, 0));
        ck_ok(run_scaling(scaling, stream, turn ? x : backwards, 4, other));
        ck_ok(lfuse_stream_synchronize(stream));
        check_scaled(y, 2, false, "first run");
        check_scaled(z, 3, true, "second run");
        check_scaled(other, 4, !turn, "beside");
    }
    lfuse_recording_destroy(r);
    ck_ok(lfuse_record_begin(stream));
    ck_ok(run_scaling(scaling, stream, x, 2, y));
    ck_ok(lfuse_record_end(stream, &r));
    lfuse_binding in = lfuse_bind_tensor("in", x), reversed = lfuse_bind_tensor("in", backwards);
    for (int turn = 0; turn < 4; turn++) {
        ck_ok(lfuse_recording_replay(r, stream, turn % 2 ? &reversed : &in, 1));
        ck_ok(lfuse_stream_synchronize(stream));
        check_scaled(y, 2, turn % 2, "bound anew");
    }
    lfuse_recording_destroy(r);
    lfuse_plan_destroy(scaling);
    lfuse_tensor_destroy(backwards);
    lfuse_tensor_destroy(other);
    end();
}
END_TEST

START_TEST(test_other_stream)
{
    lfuse_stream *other;
    begin(_i);
    ck_ok(lfuse_stream_create(dev, &other));
    lfuse_recording *r = record_two_steps(2);
    ck_ok(lfuse_recording_replay(r, stream, NULL, 0));
    ck_ok(lfuse_stream_synchronize(stream));
    lfuse_stream_destroy(stream);
    ck_ok(lfuse_tensor_fill(z, NULL, -5));
    ck_ok(lfuse_recording_replay(r, other, NULL, 0));
    ck_ok(lfuse_stream_synchronize(other));
    check_result(z, 2, "on another stream");
    stream = other;
    lfuse_recording_destroy(r);
    end();
}
END_TEST

START_TEST(test_into_the_callers_capture)
{
    lfuse__stub_native native = {.capturing = false};
    lfuse_stream *s;
    begin(1);
    ck_ok(lfuse_stream_wrap(dev, &native, &s));
    lfuse_recording *r = record_two_steps(2);
    native.capturing = true;
    ck_refused(lfuse_record_begin(s), LFUSE_ERR_STATE);
    ck_ok(lfuse_recording_replay(r, s, NULL, 0));
    native.capturing = false;
    ck_ok(lfuse_tensor_fill(z, NULL, -5));
    lfuse__stub_native_run(&native);
    check_result(z, 2, "captured");
    lfuse__stub_native_clear(&native);
    lfuse_stream_destroy(s);
    lfuse_recording_destroy(r);
    end();
}
END_TEST

/* ---- copies and fills ---- */

START_TEST(test_copies)
{
    const int64_t shape[] = {N / 2}, two[] = {2};
    lfuse_tensor *even, *odd;
    lfuse_recording *r;
    float got[N];
    begin(_i);
    ck_ok(lfuse_tensor_view(y, 1, shape, two, 0, &even));
    ck_ok(lfuse_tensor_view(x, 1, shape, two, 1, &odd));
    ck_ok(lfuse_record_begin(stream));
    ck_ok(lfuse_tensor_fill(y, stream, 7));
    ck_ok(lfuse_tensor_copy(even, odd, stream)); /* strided */
    ck_ok(lfuse_tensor_copy(z, y, stream));
    ck_ok(lfuse_record_end(stream, &r));
    lfuse_tensor_destroy(even);
    lfuse_tensor_destroy(odd);
    ck_ok(lfuse_tensor_fill(z, NULL, 0));
    ck_ok(lfuse_recording_replay(r, stream, NULL, 0));
    ck_ok(lfuse_tensor_read(z, stream, got));
    ck_ok(lfuse_stream_synchronize(stream));
    for (int i = 0; i < N; i++) ck_assert_float_eq(got[i], i % 2 ? 7 : values[i + 1]);
    lfuse_recording_destroy(r);
    end();
}
END_TEST

START_TEST(test_bytes_alone)
{
    lfuse_recording *r;
    float got[N];
    begin(_i);
    ck_ok(lfuse_record_begin(stream));
    ck_ok(lfuse_tensor_fill(z, stream, 7));
    ck_ok(lfuse_tensor_copy(y, x, stream));
    ck_ok(lfuse_record_end(stream, &r));
    ck_ok(lfuse_tensor_fill(y, NULL, 0));
    ck_ok(lfuse_tensor_fill(z, NULL, 0));
    lfuse_tensor_destroy(z);
    z = NULL;
    ck_ok(lfuse_recording_replay(r, stream, NULL, 0));
    ck_ok(lfuse_tensor_read(y, stream, got));
    ck_ok(lfuse_stream_synchronize(stream));
    ck_assert(!memcmp(got, values, sizeof got));
    lfuse_recording_destroy(r);
    ck_ok(lfuse_record_begin(stream));
    ck_ok(lfuse_record_end(stream, &r)); /* nothing recorded */
    ck_ok(lfuse_recording_replay(r, stream, NULL, 0));
    lfuse_recording_destroy(r);
    lfuse_recording_destroy(NULL);
    end();
}
END_TEST

/* What fails before there is a plan to run is noted like what a run refuses. */
START_TEST(test_immediate_failure)
{
    lfuse_recording *r = NULL;
    lfuse_graph *g = lfuse_graph_create();
    begin(_i);
    lfuse_output(g, "sum", lfuse_add(lfuse_input(g, "a", LFUSE_F32, 1, LFUSE_DIMS(2)),
                                     lfuse_input(g, "b", LFUSE_F32, 1, LFUSE_DIMS(3))));
    ck_ok(lfuse_record_begin(stream));
    ck_refused(lfuse_evaluate(stream, g, NULL, 0), LFUSE_ERR_SHAPE);
    ck_refused(lfuse_record_end(stream, &r), LFUSE_ERR_SHAPE);
    ck_assert_ptr_null(r);
    lfuse_graph_destroy(g);
    end();
}
END_TEST

/* ---- lists ---- */

START_TEST(test_list_replaced)
{
    const int64_t shape[] = {N};
    lfuse_tensor *other;
    lfuse_list *in, *out;
    lfuse_plan *plan;
    lfuse_recording *r;
    float got[N];
    begin(_i);
    ck_ok(lfuse_tensor_create(dev, LFUSE_F32, 1, shape, &other));
    lfuse_graph *g = lfuse_graph_create();
    lfuse_value v = lfuse_list_input(g, "in", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_output(g, "out", lfuse_mul(v, lfuse_constant(g, 2)));
    ck_ok(lfuse_plan_create(dev, g, NULL, &plan));
    lfuse_graph_destroy(g);
    ck_ok(lfuse_list_create(dev, LFUSE_F32, 1, &x, &in));
    ck_ok(lfuse_list_create(dev, LFUSE_F32, 1, &y, &out));
    lfuse_binding b[] = {lfuse_bind_list("in", in), lfuse_bind_list("out", out)};
    ck_ok(lfuse_record_begin(stream));
    ck_ok(lfuse_plan_run(plan, stream, b, 2));
    ck_ok(lfuse_record_end(stream, &r));
    lfuse_tensor *const turns[] = {y, other, y};
    for (int turn = 0; turn < 3; turn++) {
        ck_ok(lfuse_list_replace(out, 0, 1, &turns[turn]));
        ck_ok(lfuse_tensor_fill(turns[turn], NULL, 0));
        ck_ok(lfuse_recording_replay(r, stream, NULL, 0));
        ck_ok(lfuse_stream_synchronize(stream));
        ck_ok(lfuse_tensor_read(turns[turn], NULL, got));
        for (int i = 0; i < N; i++) ck_assert_float_eq(got[i], 2 * values[i]);
    }
    lfuse_list_destroy(in);
    lfuse_list_destroy(out);
    lfuse_plan_destroy(plan);
    lfuse_tensor_destroy(other);
    ck_ok(lfuse_recording_replay(r, stream, NULL, 0));
    lfuse_recording_destroy(r);
    end();
}
END_TEST

/* ---- what is refused ---- */

START_TEST(test_states)
{
    lfuse_recording *r;
    lfuse_plan *plan;
    lfuse_tensor *shorter;
    const int64_t shape[] = {N - 1};
    float got[N];
    begin(_i);
    ck_refused(lfuse_record_begin(NULL), LFUSE_ERR_INVALID);
    ck_refused(lfuse_record_end(NULL, &r), LFUSE_ERR_INVALID);
    ck_refused(lfuse_record_end(stream, NULL), LFUSE_ERR_INVALID);
    ck_refused(lfuse_record_end(stream, &r), LFUSE_ERR_STATE);
    ck_ok(lfuse_record_begin(stream));
    ck_refused(lfuse_record_begin(stream), LFUSE_ERR_STATE);
    ck_refused(lfuse_tensor_read(x, stream, got), LFUSE_ERR_STATE);
    ck_refused(lfuse_record_end(stream, &r), LFUSE_ERR_STATE); /* the read spoilt it */
    ck_refused(lfuse_record_end(stream, &r), LFUSE_ERR_STATE); /* and it is over */
    ck_ok(scaling_plan(dev, &plan));
    ck_ok(lfuse_tensor_create(dev, LFUSE_F32, 1, shape, &shorter));
    ck_ok(lfuse_record_begin(stream));
    ck_ok(run_scaling(plan, stream, x, 2, y));
    ck_refused(run_scaling(plan, stream, x, 2, shorter), LFUSE_ERR_SHAPE);
    ck_ok(run_scaling(plan, stream, x, 2, y));
    ck_refused(lfuse_record_end(stream, &r), LFUSE_ERR_SHAPE);
    ck_ok(run_scaling(plan, stream, x, 2, y)); /* the stream works on */
    lfuse_recording *one = record_two_steps(2);
    ck_ok(lfuse_record_begin(stream));
    ck_refused(lfuse_recording_replay(one, stream, NULL, 0), LFUSE_ERR_STATE);
    ck_refused(lfuse_record_end(stream, &r), LFUSE_ERR_STATE);
    ck_ok(lfuse_recording_replay(one, stream, NULL, 0));
    lfuse_recording_destroy(one);
    lfuse_tensor_destroy(shorter);
    lfuse_plan_destroy(plan);
    end();
}
END_TEST

START_TEST(test_bad_bindings)
{
    const int64_t shape[] = {N - 1}, square[] = {2, N / 2};
    lfuse_device *second;
    lfuse_stream *foreign_stream;
    lfuse_tensor *shorter, *half, *flat, *foreign;
    begin(_i);
    ck_ok(lfuse_device_open("stub:1", &second));
    ck_ok(lfuse_stream_create(second, &foreign_stream));
    ck_ok(lfuse_tensor_create(second, LFUSE_F32, 1, (int64_t[]){N}, &foreign));
    ck_ok(lfuse_tensor_create(dev, LFUSE_F32, 1, shape, &shorter));
    ck_ok(lfuse_tensor_create(dev, LFUSE_F16, 1, (int64_t[]){N}, &half));
    ck_ok(lfuse_tensor_create(dev, LFUSE_F32, 2, square, &flat));
    lfuse_recording *r = record_two_steps(2);
    const struct {
        int count;
        lfuse_binding b[2];
        lfuse_status status;
    } cases[] = {
        {1, {lfuse_bind_number("nobody", 1)}, LFUSE_ERR_NAME},
        {2, {lfuse_bind_number("scale", 1), lfuse_bind_number("scale", 2)}, LFUSE_ERR_BINDING},
        {1, {lfuse_bind_number(NULL, 1)}, LFUSE_ERR_BINDING},
        {1, {lfuse_bind_number("in", 1)}, LFUSE_ERR_BINDING},
        {1, {lfuse_bind_tensor("scale", x)}, LFUSE_ERR_BINDING},
        {1, {lfuse_bind_tensor("in", NULL)}, LFUSE_ERR_BINDING},
        {1, {lfuse_bind_size("in", 5)}, LFUSE_ERR_BINDING},
        {1, {lfuse_bind_tensor("in", shorter)}, LFUSE_ERR_SHAPE},
        {1, {lfuse_bind_tensor("in", flat)}, LFUSE_ERR_RANK},
        {1, {lfuse_bind_tensor("in", half)}, LFUSE_ERR_TYPE},
        {1, {lfuse_bind_tensor("in", foreign)}, LFUSE_ERR_CONTEXT},
        {2, {lfuse_bind_number("scale", 9), lfuse_bind_tensor("result", shorter)}, LFUSE_ERR_SHAPE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_refused(lfuse_recording_replay(r, stream, cases[i].b, cases[i].count), cases[i].status);
        ck_ok(lfuse_tensor_fill(z, NULL, -5));
        ck_ok(lfuse_recording_replay(r, stream, NULL, 0)); /* as before: of a refused replay nothing stays */
        ck_ok(lfuse_stream_synchronize(stream));
        check_result(z, 2, "after a refused replay");
    }
    ck_refused(lfuse_recording_replay(NULL, stream, NULL, 0), LFUSE_ERR_INVALID);
    ck_refused(lfuse_recording_replay(r, NULL, NULL, 0), LFUSE_ERR_INVALID);
    ck_refused(lfuse_recording_replay(r, stream, NULL, 1), LFUSE_ERR_INVALID);
    ck_refused(lfuse_recording_replay(r, stream, cases[0].b, -1), LFUSE_ERR_INVALID);
    ck_refused(lfuse_recording_replay(r, foreign_stream, NULL, 0), LFUSE_ERR_CONTEXT);
    lfuse_recording_destroy(r);
    lfuse_tensor_destroy(shorter);
    lfuse_tensor_destroy(half);
    lfuse_tensor_destroy(flat);
    lfuse_tensor_destroy(foreign);
    lfuse_stream_destroy(foreign_stream);
    lfuse_device_close(second);
    end();
}
END_TEST

START_TEST(test_closed_and_destroyed)
{
    lfuse_plan *plan;
    begin(_i);
    lfuse_recording *r = record_two_steps(2);
    ck_ok(scaling_plan(dev, &plan));
    ck_ok(lfuse_record_begin(stream));
    ck_ok(run_scaling(plan, stream, x, 2, y));
    lfuse_plan_destroy(plan);
    lfuse_stream_destroy(stream); /* with a recording open */
    ck_ok(lfuse_stream_create(dev, &stream));
    ck_ok(lfuse_recording_replay(r, stream, NULL, 0));
    lfuse_device_close(dev);
    ck_refused(lfuse_recording_replay(r, stream, NULL, 0), LFUSE_ERR_CLOSED);
    lfuse_recording_destroy(r);
    lfuse_tensor_destroy(x);
    lfuse_tensor_destroy(y);
    lfuse_tensor_destroy(z);
    lfuse_stream_destroy(stream);
    test_stub_end();
}
END_TEST

/* ---- faults ---- */

static lfuse_status recording_scenario(lfuse_device *device)
{
    static float given[N], got[N];
    const int64_t shape[] = {N};
    lfuse_stream *s = NULL;
    lfuse_tensor *in = NULL, *middle = NULL, *out = NULL;
    lfuse_plan *scaling = NULL, *relu = NULL;
    lfuse_recording *r = NULL;
    lfuse_status status, ended;
    lfuse_binding number = lfuse_bind_number("scale", -4);

    for (int i = 0; i < N; i++) given[i] = (float)(i - N / 2);
    if ((status = lfuse_stream_create(device, &s))) goto out;
    if ((status = lfuse_tensor_create(device, LFUSE_F32, 1, shape, &in))) goto out;
    if ((status = lfuse_tensor_create(device, LFUSE_F32, 1, shape, &middle))) goto out;
    if ((status = lfuse_tensor_create(device, LFUSE_F32, 1, shape, &out))) goto out;
    if ((status = lfuse_tensor_write(in, NULL, given))) goto out;
    if ((status = scaling_plan(device, &scaling))) goto out;
    if ((status = relu_plan(device, &relu))) goto out;
    if ((status = lfuse_record_begin(s))) goto out;
    status = run_scaling(scaling, s, in, 3, middle);
    if (!status) status = run_relu(relu, s, middle, out);
    ended = lfuse_record_end(s, &r);
    ck_assert_int_eq(status && ended == LFUSE_OK, 0); /* a refused run spoils the recording */
    if ((status = ended)) goto out;
    if ((status = lfuse_recording_replay(r, s, NULL, 0))) goto out;
    if ((status = lfuse_recording_replay(r, s, &number, 1))) goto out;
    if ((status = lfuse_tensor_read(out, s, got))) goto out;
    if ((status = lfuse_stream_synchronize(s))) goto out;
    for (int i = 0; i < N; i++) ck_assert_float_eq(got[i], relu_of(-4 * given[i] + 1));
out:
    lfuse_recording_destroy(r);
    lfuse_plan_destroy(relu);
    lfuse_plan_destroy(scaling);
    lfuse_tensor_destroy(out);
    lfuse_tensor_destroy(middle);
    lfuse_tensor_destroy(in);
    lfuse_stream_destroy(s);
    return status;
}

static void settings_list(void)
{
    lfuse__stub.native_graph = false;
}

static void settings_lazy(void)
{
    lfuse__stub.lazy = true;
}

START_TEST(test_faults_of_recording)
{
    static void (*const settings[])(void) = {settings_list, NULL, settings_lazy};
    test_faults(recording_scenario, LFUSE_ERR_DEVICE_MEMORY, settings[_i]);
}
END_TEST

static Suite *suite_record(void)
{
    Suite *s = suite_create("record");
    TCase *replays = tcase_create("replays"), *refused = tcase_create("refused"), *faults = tcase_create("faults");
    tcase_add_loop_test(replays, test_bytes_alone, 0, 2);
    tcase_add_loop_test(replays, test_immediate_failure, 0, 2);
    tcase_add_loop_test(replays, test_two_steps, 0, 2);
    tcase_add_loop_test(replays, test_new_bindings, 0, 2);
    tcase_add_loop_test(replays, test_nothing_is_made_by_a_replay, 0, 2);
    tcase_add_loop_test(replays, test_plan_used_beside, 0, 2);
    tcase_add_loop_test(replays, test_other_strides, 0, 2);
    tcase_add_loop_test(replays, test_other_stream, 0, 2);
    tcase_add_test(replays, test_into_the_callers_capture);
    tcase_add_loop_test(replays, test_copies, 0, 2);
    tcase_add_loop_test(replays, test_list_replaced, 0, 4);
    suite_add_tcase(s, replays);
    tcase_add_loop_test(refused, test_states, 0, 2);
    tcase_add_loop_test(refused, test_bad_bindings, 0, 2);
    tcase_add_loop_test(refused, test_closed_and_destroyed, 0, 2);
    suite_add_tcase(s, refused);
    tcase_set_timeout(faults, 120);
    tcase_add_loop_test(faults, test_faults_of_recording, 0, 3);
    suite_add_tcase(s, faults);
    return s;
}

TEST_MAIN(CK_NOFORK, suite_record)
