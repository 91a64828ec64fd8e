/* SPDX-License-Identifier: Apache-2.0 */
/* Record and replay on the stub: as a native graph and as a list of launches. */
#include "tests/run/records.h"

/* ---- two steps ---- */

TEST_CASE("replays", .teardown = end)

TEST_LOOP(test_two_steps, 0, 2)
{
    begin(_i);
    lfuse_recording *r = record_two_steps(2);
    OK(lfuse_tensor_fill(z, NULL, -5)); /* nothing has run so far */
    for (int turn = 0; turn < 3; turn++) {
        OK(lfuse_recording_replay(r, stream, NULL, 0));
        OK(lfuse_stream_synchronize(stream));
        check_result(z, 2, "as recorded");
        OK(lfuse_tensor_fill(z, NULL, -5));
    }
    lfuse__stub_counters counters = lfuse__stub_counters_now();
    ck_assert_uint_eq(counters.graph_captures, (uint64_t)_i);
    ck_assert_uint_eq(counters.graph_updates, 0);
    ck_assert_uint_eq(counters.calls[LFUSE__STUB_graph_launch], _i ? 3 : 0);
}

TEST_LOOP(test_new_bindings, 0, 2)
{
    begin(_i);
    lfuse_tensor *other = vector();
    lfuse_recording *r = record_two_steps(2);
    OK(lfuse_recording_replay(r, stream, NULL, 0));
    lfuse_binding number = lfuse_bind_scalar("scale", -3), tensor = BIND("result", other);
    OK(lfuse_recording_replay(r, stream, &number, 1));
    OK(lfuse_stream_synchronize(stream));
    check_result(z, -3, "new number");
    OK(lfuse_recording_replay(r, stream, &tensor, 1));
    OK(lfuse_stream_synchronize(stream));
    check_result(other, -3, "new tensor");
    OK(lfuse_tensor_fill(other, NULL, 0));
    drop(other); /* the recording holds it */
    OK(lfuse_recording_replay(r, stream, NULL, 0));
    OK(lfuse_recording_replay(r, stream, &number, 1)); /* the same number: nothing new */
    OK(lfuse_stream_synchronize(stream));
    lfuse__stub_counters counters = lfuse__stub_counters_now();
    ck_assert_uint_eq(counters.graph_captures, (uint64_t)_i);
    ck_assert_uint_eq(counters.graph_updates, 0);
    ck_assert_uint_eq(counters.calls[LFUSE__STUB_graph_patch], _i & 1 ? 2 : 0); /* one launch has the number */
}

TEST_LOOP(test_nothing_is_made_by_a_replay, 0, 2)
{
    begin(_i);
    lfuse_recording *r = record_two_steps(2);
    lfuse_binding number = lfuse_bind_scalar("scale", 4);
    OK(lfuse_recording_replay(r, stream, NULL, 0));
    lfuse_device_counters before = counters_of(dev);
    OK(lfuse_recording_replay(r, stream, &number, 1));
    lfuse_device_counters after = counters_of(dev);
    ck_assert_uint_eq(after.launches - before.launches, 2);
    ck_assert_uint_eq(after.compiles, before.compiles);
    ck_assert_uint_eq(after.allocations, before.allocations);
}

/* The plan is run with other tensors between the replays: neither disturbs the other. */
TEST_LOOP(test_plan_used_beside, 0, 2)
{
    float got[N];
    begin(_i);
    lfuse_tensor *other = vector();
    lfuse_plan *scaling = new_scaling_plan();
    OK(lfuse_record_begin(stream));
    OK(run_scaling(scaling, stream, x, 2, y));
    lfuse_recording *r = new_recording(stream);
    for (int turn = 0; turn < 3; turn++) {
        OK(lfuse_tensor_fill(y, NULL, -1));
        OK(lfuse_recording_replay(r, stream, NULL, 0));
        OK(run_scaling(scaling, stream, x, 5, other));
        OK(lfuse_stream_synchronize(stream));
        OK(lfuse_tensor_read(y, NULL, got));
        for (int i = 0; i < N; i++) ck_assert_float_eq(got[i], 2 * values[i] + 1);
        OK(lfuse_tensor_read(other, NULL, got));
        for (int i = 0; i < N; i++) ck_assert_float_eq(got[i], 5 * values[i] + 1);
    }
}

static void check_scaled(lfuse_tensor *t, float scale, bool backwards, const char *what)
{
    float got[N];
    OK(lfuse_tensor_read(t, NULL, got));
    for (int i = 0; i < N; i++)
        ck_assert_msg(got[i] == scale * values[backwards ? N - 1 - i : i] + 1, "%s: element %d is %g", what, i, got[i]);
}

/* One instance cannot serve two runs with different strides, nor can a capture make what other strides need. */
TEST_LOOP(test_other_strides, 0, 2)
{
    const int64_t shape[] = {N}, minus[] = {-1};
    begin(_i);
    lfuse_tensor *backwards = new_view(x, 1, shape, minus, N - 1);
    lfuse_tensor *other = vector();
    lfuse_plan *scaling = new_scaling_plan();
    OK(lfuse_record_begin(stream));
    OK(run_scaling(scaling, stream, x, 2, y));
    OK(run_scaling(scaling, stream, backwards, 3, z));
    lfuse_recording *r = new_recording(stream);
    for (int turn = 0; turn < 3; turn++) {
        OK(lfuse_recording_replay(r, stream, NULL, 0));
        OK(run_scaling(scaling, stream, turn ? x : backwards, 4, other));
        OK(lfuse_stream_synchronize(stream));
        check_scaled(y, 2, false, "first run");
        check_scaled(z, 3, true, "second run");
        check_scaled(other, 4, !turn, "beside");
    }
    drop(r);
    OK(lfuse_record_begin(stream));
    OK(run_scaling(scaling, stream, x, 2, y));
    r = new_recording(stream);
    lfuse_binding in = BIND("in", x), reversed = BIND("in", backwards);
    for (int turn = 0; turn < 4; turn++) {
        OK(lfuse_recording_replay(r, stream, turn % 2 ? &reversed : &in, 1));
        OK(lfuse_stream_synchronize(stream));
        check_scaled(y, 2, turn % 2, "bound anew");
    }
}

/* "y" = "x" exp("w"), whose second factor is made once, for the strides of a run. */
static lfuse_plan *weighted_plan(void)
{
    lfuse_graph *g = new_graph();
    lfuse_output(g, "y", lfuse_mul(lfuse_input(g, "x", F32(N)), lfuse_exp(lfuse_frozen(g, "w", F32(N)))));
    lfuse_plan *plan = new_plan(dev, g, NULL);
    drop(g);
    return plan;
}

/* A run with other strides has it made anew, here where `before` was, and gives back what the recording has used. */
TEST_LOOP(test_weights_made_anew, 0, 2)
{
    const int64_t shape[] = {N}, minus[] = {-1};
    float got[N];
    begin(_i);
    lfuse_tensor *backwards = new_view(x, 1, shape, minus, N - 1);
    lfuse_tensor *w = vector();
    lfuse_tensor *before = vector();
    OK(lfuse_tensor_fill(w, NULL, 0));
    lfuse_plan *plan = weighted_plan();
    lfuse_binding b[] = {BIND("x", x), BIND("w", w), BIND("y", y)};
    OK(lfuse_record_begin(stream));
    OK(lfuse_plan_run(plan, stream, b, 3));
    lfuse_recording *r = new_recording(stream);
    OK(lfuse_recording_replay(r, stream, NULL, 0));
    drop(before);
    b[0] = BIND("x", backwards);
    OK(lfuse_plan_run(plan, stream, b, 3));
    lfuse_tensor *after = vector();
    OK(lfuse_tensor_fill(after, NULL, 7));
    OK(lfuse_recording_replay(r, stream, NULL, 0));
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(y, NULL, got));
    for (int i = 0; i < N; i++) ck_assert_float_eq(got[i], values[i]);
}

TEST_LOOP(test_other_stream, 0, 2)
{
    begin(_i);
    lfuse_stream *other = new_stream(dev);
    lfuse_recording *r = record_two_steps(2);
    OK(lfuse_recording_replay(r, stream, NULL, 0));
    OK(lfuse_stream_synchronize(stream));
    drop(stream);
    OK(lfuse_tensor_fill(z, NULL, -5));
    OK(lfuse_recording_replay(r, other, NULL, 0));
    OK(lfuse_stream_synchronize(other));
    check_result(z, 2, "on another stream");
    stream = other;
}

TEST(test_into_the_callers_capture)
{
    lfuse__stub_native native = {.capturing = false};
    lfuse_stream *s;
    begin(1);
    OK(lfuse_stream_wrap(dev, &native, &s));
    lfuse_recording *r = record_two_steps(2);
    native.capturing = true;
    FAILS(LFUSE_ERR_STATE, lfuse_record_begin(s));
    OK(lfuse_recording_replay(r, s, NULL, 0));
    native.capturing = false;
    OK(lfuse_tensor_fill(z, NULL, -5));
    lfuse__stub_native_run(&native);
    check_result(z, 2, "captured");
    lfuse__stub_native_clear(&native);
    drop(s);
}

/* ---- copies and fills ---- */

TEST_LOOP(test_copies, 0, 2)
{
    const int64_t shape[] = {N / 2}, two[] = {2};
    float got[N];
    begin(_i);
    lfuse_tensor *even = new_view(y, 1, shape, two, 0);
    lfuse_tensor *odd = new_view(x, 1, shape, two, 1);
    OK(lfuse_record_begin(stream));
    OK(lfuse_tensor_fill(y, stream, 7));
    OK(lfuse_tensor_copy(even, odd, stream)); /* strided */
    OK(lfuse_tensor_copy(z, y, stream));
    lfuse_recording *r = new_recording(stream);
    drop(even);
    drop(odd);
    OK(lfuse_tensor_fill(z, NULL, 0));
    OK(lfuse_recording_replay(r, stream, NULL, 0));
    OK(lfuse_tensor_read(z, stream, got));
    OK(lfuse_stream_synchronize(stream));
    for (int i = 0; i < N; i++) ck_assert_float_eq(got[i], i % 2 ? 7 : values[i + 1]);
}

TEST_LOOP(test_bytes_alone, 0, 2)
{
    float got[N];
    begin(_i);
    OK(lfuse_record_begin(stream));
    OK(lfuse_tensor_fill(z, stream, 7));
    OK(lfuse_tensor_copy(y, x, stream));
    lfuse_recording *r = new_recording(stream);
    OK(lfuse_tensor_fill(y, NULL, 0));
    OK(lfuse_tensor_fill(z, NULL, 0));
    drop(z);
    z = NULL;
    OK(lfuse_recording_replay(r, stream, NULL, 0));
    OK(lfuse_tensor_read(y, stream, got));
    OK(lfuse_stream_synchronize(stream));
    ck_assert(!memcmp(got, values, sizeof got));
    drop(r);
    OK(lfuse_record_begin(stream));
    r = new_recording(stream); /* nothing recorded */
    OK(lfuse_recording_replay(r, stream, NULL, 0));
    lfuse_recording_destroy(NULL);
}

/* What fails before there is a plan to run is noted like what a run refuses. */
TEST_LOOP(test_immediate_failure, 0, 2)
{
    lfuse_recording *r = NULL;
    lfuse_graph *g = new_graph();
    begin(_i);
    lfuse_output(g, "sum", lfuse_add(lfuse_input(g, "a", F32(2)), lfuse_input(g, "b", F32(3))));
    OK(lfuse_record_begin(stream));
    FAILS(LFUSE_ERR_SHAPE, lfuse_evaluate(stream, g, NULL, 0));
    FAILS(LFUSE_ERR_SHAPE, lfuse_record_end(stream, &r));
    ck_assert_ptr_null(r);
}

/* ---- lists ---- */

TEST_LOOP(test_list_replaced, 0, 4)
{
    float got[N];
    begin(_i);
    lfuse_tensor *other = vector();
    lfuse_graph *g = new_graph();
    lfuse_value v = lfuse_list_input(g, "in", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_output(g, "out", lfuse_mul(v, lfuse_constant(g, 2)));
    lfuse_plan *plan = new_plan(dev, g, NULL);
    drop(g);
    lfuse_list *in = new_list(dev, LFUSE_F32, 1, &x);
    lfuse_list *out = new_list(dev, LFUSE_F32, 1, &y);
    OK(lfuse_record_begin(stream));
    RUN(plan, stream, BIND("in", in), BIND("out", out));
    lfuse_recording *r = new_recording(stream);
    lfuse_tensor *const turns[] = {y, other, y};
    for (int turn = 0; turn < 3; turn++) {
        OK(lfuse_list_replace(out, 0, 1, &turns[turn]));
        OK(lfuse_tensor_fill(turns[turn], NULL, 0));
        OK(lfuse_recording_replay(r, stream, NULL, 0));
        OK(lfuse_stream_synchronize(stream));
        OK(lfuse_tensor_read(turns[turn], NULL, got));
        for (int i = 0; i < N; i++) ck_assert_float_eq(got[i], 2 * values[i]);
    }
    drop(in);
    drop(out);
    drop(plan);
    drop(other);
    OK(lfuse_recording_replay(r, stream, NULL, 0));
}

static lfuse_tensor *number_of(double value)
{
    lfuse_tensor *t = new_tensor(dev, LFUSE_F32, 0, NULL);
    OK(lfuse_tensor_fill(t, NULL, value));
    return t;
}

/* A replay leaves its own addresses in the table of a list, and the plan's next run puts back those that it had. */
TEST_LOOP(test_list_used_beside, 0, 4)
{
    const lfuse_plan_options table = {.transport = LFUSE_TRANSPORT_TABLE};
    lfuse_tensor *factors[2];
    float got[N];
    begin(_i);
    for (int i = 0; i < 2; i++) factors[i] = number_of(2 + i);
    lfuse_graph *g = new_graph();
    lfuse_value v = lfuse_list_input(g, "list", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_update(v, lfuse_mul(v, lfuse_input(g, "factor", LFUSE_F32, 0, NULL)));
    lfuse_plan *plan = new_plan(dev, g, &table);
    drop(g);
    lfuse_list *list = new_list(dev, LFUSE_F32, 1, &x);
    lfuse_binding b[] = {BIND("list", list), BIND("factor", factors[0])};
    OK(lfuse_record_begin(stream));
    OK(lfuse_plan_run(plan, stream, b, 2));
    lfuse_recording *r = new_recording(stream);
    b[1] = BIND("factor", factors[1]);
    for (int turn = 0; turn < 2; turn++) {
        OK(lfuse_recording_replay(r, stream, NULL, 0));
        OK(lfuse_plan_run(plan, stream, b, 2));
    }
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(x, NULL, got));
    for (int i = 0; i < N; i++) ck_assert_float_eq(got[i], 2 * 3 * 2 * 3 * values[i]);
}

TEST_SUITE("record", CK_NOFORK)
