/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of an instance as one native graph, on the stub: when it is made, and what is patched into it. */
#include "tests/run/replays.h"

TEST_CASE("stub", .setup = open_stub, .teardown = close_stub)

TEST(the_third_run_makes_a_graph)
{
    lfuse_tensor *x = ramp(SHAPE(N), 0, 1), *y = tensor(SHAPE(N));
    lfuse_plan *plan = chain(0);

    ck_assert_msg(strstr(lfuse_plan_text(plan), " (replay 3 patched 0 bound)") != NULL, "%s", lfuse_plan_text(plan));
    chain_times(plan, x, y, 2, 2);
    ck_assert_uint_eq(captures(), 0);
    chain_times(plan, x, y, 2, 1);
    ck_assert_uint_eq(captures(), 1);
    ck_assert_uint_eq(replays(), 1);
    uint64_t before = launches(), kernels = lfuse__stub_calls(LFUSE__STUB_launch);
    uint64_t asked = lfuse__stub_calls(LFUSE__STUB_ANY); /* then whether the stream is captured, and the launch */
    OK(run_chain(plan, stream, x, y, 2));
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_ANY) - asked, 2);
    ck_assert_uint_eq(launches() - before, 3);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_launch), kernels);
    check_chain(y, 2);
}

TEST(one_kernel_is_launched)
{
    lfuse_tensor *x = ramp(SHAPE(N), 0, 1), *y = tensor(SHAPE(N));
    const lfuse_binding b[] = { BIND("x", x), BIND("y", y) };

    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F32(N))));
    lfuse_plan *plan = plan_with(ALONE);
    ck_assert_ptr_null(strstr(lfuse_plan_text(plan), "replay"));
    for (int i = 0; i < 5; i++) OK(lfuse_plan_run(plan, stream, b, 2));
    ck_assert_uint_eq(captures(), 0);
}

/* Where it was asked for, and where the device has no graphs. */
TEST_LOOP(no_graph, 0, 2)
{
    lfuse__stub.native_graph = _i != 0;
    reopen_stub();
    lfuse_tensor *x = ramp(SHAPE(N), 0, 1), *y = tensor(SHAPE(N));
    lfuse_plan *plan = chain(_i ? LFUSE_NO_REPLAY : 0);
    ck_assert_ptr_null(strstr(lfuse_plan_text(plan), "replay"));
    chain_times(plan, x, y, 2, 5);
    ck_assert_uint_eq(captures(), 0);
}

/* Numbers change the launches that have them, addresses those that read or write them. */
TEST(arguments_are_patched)
{
    lfuse_tensor *x = ramp(SHAPE(N), 0, 1), *y = tensor(SHAPE(N)), *x2 = ramp(SHAPE(N), 0, 1), *y2 = tensor(SHAPE(N));
    lfuse_plan *plan = chain(0);

    chain_times(plan, x, y, 2, 3);
    chain_times(plan, x, y, 3, 1);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_graph_patch), 1);
    chain_times(plan, x2, y, 3, 1);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_graph_patch), 2);
    chain_times(plan, x, y2, -0.25, 2);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_graph_patch), 4); /* the first has both a number and x */
    ck_assert_uint_eq(captures(), 1);
    ck_assert_uint_eq(replays(), 5);
}

/* Memory that is given back and comes again: the handle may be the same while the address is another. */
TEST(memory_that_comes_again)
{
    lfuse_tensor *x = ramp(SHAPE(N), 0, 1), *y;
    lfuse_plan *plan = chain(0);

    for (int i = 0; i < 12; i++) {
        static float host[2 * N];
        const int late = i % 3 * 4;
        OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uint64_t)(uintptr_t)(host + late), sizeof host / 2, F32(N),
                             NULL, 0, &y));
        OK(run_chain(plan, stream, x, y, 2));
        OK(lfuse_stream_synchronize(stream));
        ck_assert_float_eq(host[late + N - 1], 2 * (N - 1) + 1);
        memset(host, 0, sizeof host);
        drop(y);
    }
    ck_assert_uint_eq(captures(), 1);
}

/* A device whose graphs cannot be patched: new arguments are launched, and captured when they have come three times. */
TEST(graphs_that_are_not_patched)
{
    lfuse_tensor *x = ramp(SHAPE(N), 0, 1), *y = tensor(SHAPE(N));
    lfuse_plan *plan = chain(0);

    lfuse__stub.patches = false;
    chain_times(plan, x, y, 2, 3);
    chain_times(plan, x, y, 3, 2);
    ck_assert_uint_eq(captures(), 1);
    chain_times(plan, x, y, 3, 2);
    ck_assert_uint_eq(captures(), 2);
    ck_assert_uint_eq(replays(), 3);
    lfuse__stub_counters c = lfuse__stub_counters_now();
    ck_assert_uint_eq(c.graph_updates, 1);
}

TEST(sizes_have_graphs_of_their_own)
{
    lfuse_tensor *x[2] = { ramp(SHAPE(N), 0, 1), ramp(SHAPE(7), 0, 1) };
    lfuse_tensor *y[2] = { tensor(SHAPE(N)), tensor(SHAPE(7)) };
    lfuse_plan *plan = chain(0);

    for (int i = 0; i < 10; i++) chain_times(plan, x[i % 2], y[i % 2], i, 1);
    ck_assert_uint_eq(captures(), 2);
    ck_assert_uint_eq(replays(), 6);
}

/* Other strides take other kernels: the graph goes with the old ones. */
TEST(other_strides)
{
    lfuse_tensor *x = ramp(SHAPE(N), 0, 1), *y = tensor(SHAPE(N)), *wide = ramp(SHAPE(2 * N), 0, 0.5f);
    lfuse_plan *plan = chain(0);

    lfuse_tensor *even = new_view(wide, SHAPE(N), LFUSE_DIMS(2), 0);
    chain_times(plan, x, y, 2, 4);
    for (int i = 0; i < 3; i++) {
        chain_times(plan, even, y, 3, 4);
        chain_times(plan, x, y, 2, 4);
    }
    ck_assert_uint_eq(captures(), 7);
}

/* ---- lists ---- */

/* l -= lr l / sum(l l) of each member, from a table: its reduction and the update. */
TEST(lists_whose_members_move)
{
    const lfuse_plan_options table = { .transport = LFUSE_TRANSPORT_TABLE };
    const lfuse_value l = lfuse_list_input(g, "l", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_tensor *m[3], *other = ramp(SHAPE(4), 1, 0);

    for (int i = 0; i < 3; i++) m[i] = ramp(SHAPE(4), 1, 0);
    lfuse_list *list = new_list(dev, LFUSE_F32, 3, m);
    lfuse_update(l, lfuse_sub(l, lfuse_mul(lfuse_div(l, lfuse_member_sum(lfuse_mul(l, l))), lfuse_scalar(g, "lr"))));
    lfuse_plan *plan = new_plan(dev, g, &table);
    for (int i = 0; i < 8; i++) {
        const int moved = i == 5;
        uint64_t before = replays();
        if (moved) OK(lfuse_list_replace(list, 1, 1, &other));
        OK(lfuse_tensor_fill(m[1], NULL, 1));
        OK(lfuse_tensor_fill(other, NULL, 1));
        RUN(plan, stream, BIND("l", list), lfuse_bind_scalar("lr", 1 + i));
        NEAR(values(i < 5 ? m[1] : other)[0], 1 - (1 + i) / 4.0);
        NEAR(values(i < 5 ? other : m[1])[0], 1);
        ck_assert_uint_eq(replays() - before, i >= 2 && !moved);
    }
    ck_assert_uint_eq(captures(), 1);
}

/* ---- beside others ---- */

/* Into the caller's capture goes what would have been launched; the graph that is there stays for later. */
TEST_LOOP(the_callers_capture, 0, 2)
{
    lfuse_tensor *x = ramp(SHAPE(N), 0, 1), *y = tensor(SHAPE(N));
    lfuse__stub_native native = { .capturing = false };
    lfuse_plan *plan = chain(0);
    lfuse_stream *wrapped;

    OK(lfuse_stream_wrap(dev, &native, &wrapped));
    for (int i = 0; i < 2 + _i; i++) OK(run_chain(plan, wrapped, x, y, 2));
    uint64_t before = replays(), allocated = lfuse__stub_calls(LFUSE__STUB_alloc);
    native.capturing = true;
    for (int i = 0; i < 4; i++) OK(run_chain(plan, wrapped, x, y, 3));
    native.capturing = false;
    ck_assert_uint_eq(replays(), before);
    ck_assert_uint_eq(captures(), (uint64_t)_i);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_alloc), allocated);
    OK(lfuse_tensor_fill(y, NULL, -7));
    lfuse__stub_native_run(&native);
    check_chain(y, 3);
    OK(run_chain(plan, wrapped, x, y, 4));
    ck_assert_uint_eq(replays(), before + 1);
    OK(lfuse_stream_synchronize(wrapped));
    check_chain(y, 4);
    lfuse__stub_native_clear(&native);
    lfuse_stream_destroy(wrapped);
}

/* A recording uses the same instance with other arguments: each has its own. */
TEST(beside_a_recording)
{
    lfuse_tensor *x = ramp(SHAPE(N), 0, 1), *y = tensor(SHAPE(N)), *z = tensor(SHAPE(N));
    lfuse_plan *plan = chain(0);

    chain_times(plan, x, y, 2, 3);
    OK(lfuse_record_begin(stream));
    OK(run_chain(plan, stream, x, z, 5));
    lfuse_recording *r = new_recording(stream);
    for (int i = 0; i < 3; i++) {
        OK(lfuse_recording_replay(r, stream, NULL, 0));
        check_chain(z, 5);
        chain_times(plan, x, y, 2, 2);
        OK(lfuse_recording_replay(r, stream, NULL, 0));
        chain_times(plan, x, z, 5, 1); /* the instance's arguments are these already */
        chain_times(plan, x, y, 2, 1);
    }
}

/* The work of a graph that is launched holds its memory like any other's. */
TEST(work_that_is_late)
{
    lfuse__stub.lazy = true;
    reopen_stub();
    lfuse_tensor *x = ramp(SHAPE(N), 0, 1), *y = tensor(SHAPE(N));
    lfuse_plan *plan = chain(0);
    for (int i = 0; i < 4; i++) OK(run_chain(plan, stream, x, y, i));
    drop(plan);
    drop(x);
    x = ramp(SHAPE(N), 5, 5);
    check_chain(y, 3);
}

TEST_SUITE("replay", CK_NOFORK)
