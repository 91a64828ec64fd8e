/* SPDX-License-Identifier: Apache-2.0 */
/* The instances that a plan keeps for a stream: which runs find one, and whose memory they do not keep. */
#include "tests/run/rig.h"

enum { KEPT = 8, LENGTH = 50 };

static float memory[4][LENGTH];

/* Two members, foreign memory of `from` and the next one. */
static lfuse_list *wrapped(int from)
{
    lfuse_tensor *t[2];

    for (int i = 0; i < 2; i++)
        OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)memory[from + i], sizeof memory[0], F32(LENGTH), NULL,
                             0, &t[i]));
    lfuse_list *l = new_list(dev, LFUSE_F32, 2, t);
    for (int i = 0; i < 2; i++) drop(t[i]);
    return l;
}

static lfuse_list *ramps(int64_t length, float start)
{
    lfuse_tensor *t = ramp(1, &length, start, 1);

    lfuse_list *l = new_list(dev, LFUSE_F32, 1, &t);
    drop(t);
    return l;
}

/* x += 1 over a list. */
static void count_up(void)
{
    lfuse_value x = lfuse_list_input(g, "x", LFUSE_F32, LFUSE_RANK_ANY);

    lfuse_update(x, lfuse_add(x, lfuse_constant(g, 1)));
}

static int64_t memories(void)
{
    lfuse__stub_live live;

    lfuse__stub_live_get(&live);
    return live.memories;
}

/* `most` lists in turn, three times; the last time each run asks the device for one launch. */
static uint64_t calls_of_turns(lfuse_plan *plan, lfuse_list **lists, int most)
{
    uint64_t before = 0;

    for (int turn = 0; turn < 3; turn++) {
        before = lfuse__stub_calls(LFUSE__STUB_ANY);
        for (int i = 0; i < most; i++) {
            lfuse_binding b = BIND("x", lists[i]);
            OK(lfuse_plan_run(plan, stream, &b, 1));
        }
    }
    return lfuse__stub_calls(LFUSE__STUB_ANY) - before;
}

TEST_CASE("kept instances", .setup = open_stub, .teardown = close_stub)

TEST(lists_in_turn)
{
    lfuse_list *lists[KEPT + 1];

    count_up();
    lfuse_plan *plan = plan_with(0);
    for (int i = 0; i <= KEPT; i++) lists[i] = ramps(10, (float)i);
    ck_assert_uint_eq(calls_of_turns(plan, lists, KEPT), KEPT);
    ck_assert_uint_gt(calls_of_turns(plan, lists, KEPT + 1), KEPT + 1); /* one too many: each run makes its own */
}

TEST(sizes_in_turn)
{
    lfuse_size n = lfuse_size_var(g, "n", 0, 100);
    lfuse_tensor *x[2], *y[2];
    uint64_t before = 0;

    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F32(n))));
    lfuse_plan *plan = plan_with(0);
    for (int i = 0; i < 2; i++) x[i] = ramp(SHAPE(10 + i), 1, 1), y[i] = tensor(SHAPE(10 + i));
    for (int i = 0; i < 8; i++) {
        if (i == 4) before = lfuse__stub_calls(LFUSE__STUB_ANY);
        RUN(plan, stream, BIND("x", x[i & 1]), BIND("y", y[i & 1]));
    }
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_ANY) - before, 4);
    NEAR(values(y[0])[9], -10);
    NEAR(values(y[1])[10], -11);
}

/* A size that no tensor has, but a number of the graph is made of: each value has an instance of its own. */
TEST(sizes_that_no_tensor_tells)
{
    const lfuse_size n = lfuse_size_var(g, "n", 0, 100);
    const lfuse_value x = lfuse_input(g, "x", F32(4));
    lfuse_tensor *tx = ramp(SHAPE(4), 1, 1), *ty = tensor(SHAPE(4));

    lfuse_output(g, "y", lfuse_mul(x, lfuse_extent(g, n)));
    lfuse_plan *plan = plan_with(0);
    for (int i = 0; i < 6; i++) {
        RUN(plan, stream, BIND("x", tx), BIND("y", ty), lfuse_bind_size("n", 5 + i % 3));
        NEAR(values(ty)[3], 4 * (5 + i % 3));
    }
}

/* Neither a plan nor the cache of graphs that were evaluated keeps the members of a list that the user gave up. */
TEST_LOOP(destroyed_lists_go, 0, 2)
{
    const int64_t nothing = memories();
    lfuse_plan *plan = NULL;

    count_up();
    if (!_i) plan = plan_with(0);
    for (int pass = 0; pass < 3; pass++) {
        uint64_t before = 0;
        for (int i = 0; i < LENGTH; i++) memory[0][i] = memory[1][i] = (float)i;
        lfuse_list *l = wrapped(0);
        lfuse_binding b = BIND("x", l);
        int64_t held = memories();
        ck_assert_int_ge(held, nothing + 2);
        for (int i = 0; i < 3; i++) {
            before = lfuse__stub_calls(LFUSE__STUB_ANY);
            OK(plan ? lfuse_plan_run(plan, stream, &b, 1) : lfuse_evaluate(stream, g, &b, 1));
        }
        ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_ANY) - before, 1);
        held = memories();
        OK(lfuse_stream_synchronize(stream));
        NEAR(memory[1][7], 10);
        drop(l);
        ck_assert_int_eq(memories(), held - 2);
    }
}

/* What the user asked to keep keeps it: an instance and a recording are run after the list was destroyed. */
TEST(holders_of_lists)
{
    lfuse_list *l = wrapped(2);
    lfuse_binding b = BIND("x", l);

    count_up();
    lfuse_plan *plan = plan_with(0);
    for (int i = 0; i < LENGTH; i++) memory[2][i] = memory[3][i] = 1;
    lfuse_instance *in = new_instance(plan, stream, &b, 1);
    OK(lfuse_record_begin(stream));
    OK(lfuse_plan_run(plan, stream, &b, 1));
    lfuse_recording *recording = new_recording(stream);
    drop(l);
    OK(lfuse_instance_run(in, NULL, 0));
    OK(lfuse_recording_replay(recording, stream, NULL, 0));
    drop(plan);
    OK(lfuse_recording_replay(recording, stream, NULL, 0));
    OK(lfuse_stream_synchronize(stream));
    NEAR(memory[3][LENGTH - 1], 4);
}

/* Of frozen inputs only the last ones stay, as they may be large. */
TEST(frozen_inputs_are_not_collected)
{
    const int64_t nothing = memories();
    lfuse_tensor *w;

    lfuse_output(g, "y", lfuse_mul(lfuse_input(g, "x", F32(LENGTH)), lfuse_frozen(g, "w", F32(LENGTH))));
    lfuse_plan *plan = plan_with(0);
    lfuse_tensor *x = ramp(SHAPE(LENGTH), 0, 1), *y = tensor(SHAPE(LENGTH));
    for (int pass = 0; pass < 4; pass++) {
        lfuse_binding b[] = { BIND("x", x), { 0 }, BIND("y", y) };
        for (int i = 0; i < LENGTH; i++) memory[pass][i] = (float)(pass + 1);
        OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)memory[pass], sizeof memory[0], F32(LENGTH), NULL, 0,
                             &w));
        b[1] = BIND("w", w);
        OK(lfuse_plan_run(plan, stream, b, 3));
        NEAR(values(y)[5], 5 * (pass + 1));
        drop(w);
    }
    ck_assert_int_eq(memories(), nothing + 2); /* the block of x and y, the last w */
}

TEST_SUITE("run", CK_NOFORK)
