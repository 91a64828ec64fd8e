/* SPDX-License-Identifier: Apache-2.0 */
/* Lists by each transport on the stub: the same bits, the launches that a limit asks for, members that move. */
#include "tests/run/rig.h"
#include "tests/support/heard.h"

enum { ROOM = 1 << 18 };

static const lfuse_transport all[] = { LFUSE_TRANSPORT_ARGS, LFUSE_TRANSPORT_TABLE, LFUSE_TRANSPORT_UNIFIED };
enum { TRANSPORTS = sizeof all / sizeof *all };
static float x[ROOM], y[ROOM], sums[ROOM], first_y[ROOM], first_sums[ROOM];

/* How devices differ in what a list kernel looks like. */
static const struct form {
    bool addresses, vector_lanes, concurrent;
    unsigned bytes;
} forms[] = {
    { true, true, true, 4096 },   { true, false, true, 32764 }, { false, true, false, 1024 },
    { false, false, true, 1024 }, { true, false, false, 4096 },
};
enum { FORMS = sizeof forms / sizeof *forms };

static void open_form(const struct form *f)
{
    lfuse__stub.addresses = f->addresses;
    lfuse__stub.vector_lanes = f->vector_lanes;
    lfuse__stub.svm_concurrent = f->concurrent;
    lfuse__stub.max_argument_bytes = f->bytes;
    reopen_stub();
}

/* Sizes of all kinds, empty members and odd offsets among them; a few long ones. */
static int64_t size_of(int64_t member)
{
    static const int64_t sizes[] = { 3, 0, 1, 7, 5, 0, 0, 2 };

    return member == 2 ? 2500 : member == 9 ? 1024 : member == 11 ? 17000 : sizes[member % 8];
}

/* `count` members one after the other in host memory, from element 1 on. */
static lfuse_list *list_in(float *memory, int64_t count, bool numbers)
{
    lfuse_tensor **t = calloc((size_t)count + 1, sizeof *t), *all_of_it;
    int64_t at = 1;

    OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)memory, ROOM * sizeof *memory, F32(ROOM),
                         NULL, 0, &all_of_it));
    for (int64_t i = 0; i < count; i++) {
        const int64_t n = numbers ? 1 : size_of(i);
        OK(lfuse_tensor_view(all_of_it, numbers ? 0 : 1, &n, NULL, at, &t[i]));
        at += n;
    }
    ck_assert_int_le(at, ROOM);
    lfuse_list *l = new_list(dev, LFUSE_F32, count, t);
    for (int64_t i = 0; i < count; i++) lfuse_tensor_destroy(t[i]);
    drop(all_of_it);
    free(t);
    return l;
}

static lfuse_plan *plan_of(lfuse_transport transport)
{
    lfuse_plan_options o = { .transport = transport };

    return new_plan(dev, g, &o);
}

/* y += a x, and the sums of squares of what x was. */
static void graph_of(lfuse_value a)
{
    const lfuse_value in = lfuse_list_input(g, "x", LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value out = lfuse_list_input(g, "y", LFUSE_F32, LFUSE_RANK_ANY);

    lfuse_update(out, lfuse_add(out, lfuse_mul(in, a)));
    lfuse_output(g, "sums", lfuse_member_sum(lfuse_mul(in, in)));
}

static void step_graph(void)
{
    graph_of(lfuse_scalar(g, "a"));
}

static void fill(void)
{
    for (int i = 0; i < ROOM; i++) x[i] = (float)(i % 97) / 7, y[i] = (float)(i % 13), sums[i] = -1;
}

/* Launches of the second of two runs. */
static uint64_t run_step(lfuse_transport transport, int64_t count)
{
    lfuse_list *lx = list_in(x, count, false), *ly = list_in(y, count, false), *ls = list_in(sums, count, true);
    lfuse_binding b[] = { BIND("x", lx), BIND("y", ly), BIND("sums", ls), lfuse_bind_scalar("a", 0.3) };
    lfuse_plan *plan = plan_of(transport);

    fill();
    OK(lfuse_plan_run(plan, stream, b, 4));
    uint64_t before = launches();
    OK(lfuse_plan_run(plan, stream, b, 4));
    OK(lfuse_stream_synchronize(stream));
    before = launches() - before;
    drop(plan);
    drop(lx), drop(ly), drop(ls);
    return before;
}

static void check_step(int64_t count)
{
    int64_t at = 1;

    for (int64_t m = 0; m < count; m++) {
        double sum = 0;
        for (int64_t i = 0; i < size_of(m); i++, at++) {
            const float was = (float)(at % 97) / 7;
            sum += (double)was * was;
            NEAR(y[at], at % 13 + 2 * 0.3 * was);
        }
        NEAR(sums[1 + m], sum);
    }
    ck_assert(y[0] == 0 && y[at] == at % 13 && sums[0] == -1 && sums[1 + count] == -1);
}

/* ---- what is compiled: without forks the first list is the first ---- */

static void run_lists(lfuse_plan *plan, int64_t count, float a)
{
    lfuse_list *lx = list_in(x, count, false), *ly = list_in(y, count, false), *ls = list_in(sums, count, true);

    fill();
    RUN(plan, stream, BIND("x", lx), BIND("y", ly), BIND("sums", ls));
    OK(lfuse_stream_synchronize(stream));
    if (count) ck_assert(y[3] == 3 + a * x[3] && sums[count] >= 0 && sums[1 + count] == -1);
    drop(lx), drop(ly), drop(ls);
}

TEST_CASE("compiled", .setup = open_stub, .teardown = close_stub, .before = test_without_cache)

/*
 * One way in is compiled with the plan; each of several in one program with the first list that takes it. Member 11 is
 * so large that a table is taken for few members too.
 */
TEST_LOOP(one_way_in_is_compiled, 0, TRANSPORTS + 2)
{
    static const struct {
        int64_t count;
        unsigned compiles; /* that it adds */
    } runs[] = { { 0, 0 }, { 12, 1 }, { 2000, 0 }, { 10, 1 }, { 4, 0 }, { 20, 0 }, { 0, 0 } };
    const lfuse_transport transport = _i < TRANSPORTS ? all[_i] : LFUSE_TRANSPORT_DEFAULT;

    open_form(&(struct form){ true, _i == TRANSPORTS + 1, true, 4096 }); /* with lanes: a table, whatever the count */
    graph_of(lfuse_constant(g, 5));
    uint64_t compiled = compiles();
    lfuse_plan *plan = plan_of(transport);
    if (_i != TRANSPORTS) compiled++;
    ck_assert_uint_eq(compiles(), compiled);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        run_lists(plan, runs[i].count, 5);
        if (_i == TRANSPORTS) compiled += runs[i].compiles;
        ck_assert_uint_eq(compiles(), compiled);
    }
}

/* ---- lists ---- */

static const int64_t counts[] = { 0, 1, 12, 422, 423, 424, 10000, 100000 };
enum { COUNTS = sizeof counts / sizeof *counts };

TEST_CASE("transports", .setup = open_stub, .teardown = close_stub)

/* The limits of 4 096 and 32 764 bytes where others fail: every count, every transport, every form of kernels. */
TEST_LOOP(same_bits_by_each, 0, FORMS)
{
    const struct form *f = &forms[_i];

    open_form(f);
    step_graph();
    for (int i = 0; i < COUNTS - (f->bytes < 32764); i++) { /* 100 000 members are many small launches */
        for (int t = 0; t < TRANSPORTS; t++) {
            const uint64_t n = run_step(all[t], counts[i]);
            if (all[t] != LFUSE_TRANSPORT_ARGS) ck_assert_uint_eq(n, counts[i] ? 3 : 0);
            else if (counts[i] == 10000) ck_assert_uint_gt(n, f->bytes > 4096 ? 8 : 60);
            if (!t) {
                check_step(counts[i]);
                memcpy(first_y, y, sizeof y);
                memcpy(first_sums, sums, sizeof sums);
            }
            ck_assert(!memcmp(first_y, y, sizeof y) && !memcmp(first_sums, sums, sizeof sums));
        }
    }
}

/* A batch takes no more than its block: as many launches as the limit asks for, and all bytes but a member's of it. */
TEST_LOOP(batches_fill_their_block, 0, 6)
{
    static const unsigned bytes[] = { 1024, 4096, 32764 };
    lfuse__stub_call call;
    unsigned most = 0;

    open_form(&(struct form){ true, _i & 1, true, bytes[_i / 2] });
    step_graph();
    uint64_t n = run_step(LFUSE_TRANSPORT_ARGS, 1000);
    for (unsigned back = 0; back < n && lfuse__stub_call_get(back, &call); back++)
        if (8 * (call.nwords + call.nbuffers) > most) most = 8 * (call.nwords + call.nbuffers);
    ck_assert_uint_le(most, bytes[_i / 2]);
    ck_assert_uint_gt(most, bytes[_i / 2] - 8 * 3); /* three words a member at most */
    check_step(1000);
}

/* ---- refusals ---- */

TEST(asked_for_in_vain)
{
    lfuse_plan_options o = { .transport = (lfuse_transport)4 };
    lfuse_plan *plan;

    lfuse_value v = lfuse_list_input(g, "x", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_update(v, lfuse_neg(v));
    FAILS(LFUSE_ERR_INVALID, lfuse_plan_create(dev, g, &o, &plan));
    o.transport = LFUSE_TRANSPORT_UNIFIED;
    lfuse__stub.svm = false;
    reopen_device();
    lfuse_list *l = list_in(x, 5, false);
    lfuse_binding b = BIND("x", l);
    plan = new_plan(dev, g, &o);
    SAYS(LFUSE_ERR_UNSUPPORTED, lfuse_plan_run(plan, stream, &b, 1), "transport unified: stub:0 shares no memory");
    lfuse__stub.svm = true;
    lfuse__stub.max_argument_bytes = 64;
    o.transport = LFUSE_TRANSPORT_ARGS;
    reopen_device();
    l = list_in(x, 5, false);
    b = BIND("x", l);
    plan = new_plan(dev, g, &o);
    SAYS(LFUSE_ERR_UNSUPPORTED, lfuse_plan_run(plan, stream, &b, 1), "transport args: ");
    ck_says("64 bytes");
}

/* What is chosen without a wish, and that it is told. */
TEST_LOOP(the_choice_is_logged, 0, 5)
{
    static const struct {
        bool addresses, vector_lanes;
        int64_t count;
        const char *words;
    } rows[] = {
        { true, false, 10, "a list of 10 members by transport args: they fit" },
        { true, false, 20, "a list of 20 members by transport table: they are large" },
        { true, false, 2000, "a list of 2000 members by transport table: more than" },
        { true, true, 20, "a list of 20 members by transport table: " },
        { false, false, 20, "a list of 20 members by transport table: " },
    };

    open_form(&(struct form){ rows[_i].addresses, rows[_i].vector_lanes, true, 32764 });
    lfuse_value v = lfuse_list_input(g, "x", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_update(v, lfuse_neg(v));
    hear(LFUSE_LOG_INFO);
    OK(lfuse_evaluate(stream, g, BINDINGS(BIND("x", list_in(x, rows[_i].count, false)))));
    hear(LFUSE_LOG_NONE);
    ck_heard(rows[_i].words);
}

/* ---- members that move ---- */

enum { MOVING = 40, STEPS = 12 };
static float gradients[STEPS + 1][MOVING], weights[MOVING];

/* Members of 0, 1 ... elements; member m of step s at gradients[s][m]: only two of them move with each step. */
static lfuse_list *list_of_ones(float *memory)
{
    lfuse_tensor *t[MOVING];

    for (int i = 0; i < MOVING; i++)
        OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)&memory[i], sizeof *memory, LFUSE_F32, 0, NULL, NULL,
                             0, &t[i]));
    lfuse_list *l = new_list(dev, LFUSE_F32, MOVING, t);
    for (int i = 0; i < MOVING; i++) drop(t[i]);
    return l;
}

static void move(lfuse_list *l, int step)
{
    for (int k = 0; k < 2; k++) {
        const int m = (step * 7 + k * 20) % MOVING;
        lfuse_tensor *t;
        OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)&gradients[step][m], sizeof(float), LFUSE_F32, 0,
                             NULL, NULL, 0, &t));
        OK(lfuse_list_replace(l, m, 1, &t));
        drop(t);
    }
}

/* What the weights are after so many steps, each member read where it was then. */
static void check_weights(int steps)
{
    int from[MOVING] = { 0 };
    float wanted[MOVING] = { 0 };

    for (int s = 0; s <= steps; s++) {
        for (int m = 0; m < MOVING; m++) {
            if (s && (m == s * 7 % MOVING || m == (s * 7 + 20) % MOVING)) from[m] = s;
            wanted[m] += gradients[from[m]][m];
        }
    }
    for (int m = 0; m < MOVING; m++) ck_assert_msg(weights[m] == wanted[m], "%d: %g, not %g", m, weights[m], wanted[m]);
}

static void open_moving(void)
{
    lfuse_value w = lfuse_list_input(g, "w", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_value gr = lfuse_list_input(g, "g", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_update(w, lfuse_add(w, gr));
    memset(weights, 0, sizeof weights);
    for (int s = 0; s <= STEPS; s++)
        for (int m = 0; m < MOVING; m++) gradients[s][m] = (float)(1 + m + 1000 * s);
}

TEST_CASE("moves", .setup = open_stub, .teardown = close_stub)

/* Nothing of a lazy stream is done before it is synchronised: each run finds the addresses that it was given. */
TEST_LOOP(moves_with_runs_under_way, 0, 3 * TRANSPORTS)
{
    const lfuse_transport transport = all[_i % TRANSPORTS];

    lfuse__stub.lazy = _i >= TRANSPORTS;
    open_form(&forms[_i >= 2 * TRANSPORTS ? 2 : 0]);
    open_moving();
    lfuse_list *lw = list_of_ones(weights), *lg = list_of_ones(gradients[0]);
    lfuse_plan *plan = plan_of(transport);
    for (int s = 0; s <= STEPS; s++) {
        if (s) move(lg, s);
        RUN(plan, stream, BIND("w", lw), BIND("g", lg));
    }
    OK(lfuse_stream_synchronize(stream));
    check_weights(STEPS);
}

/* With each run finished before the next one, two versions of a shared table do, whatever moves. */
TEST(versions_are_used_again)
{
    lfuse_device_counters before;

    open_moving();
    lfuse_list *lw = list_of_ones(weights), *lg = list_of_ones(gradients[0]);
    lfuse_plan *plan = plan_of(LFUSE_TRANSPORT_UNIFIED);
    for (int s = 0; s <= STEPS; s++) {
        if (s) move(lg, s);
        RUN(plan, stream, BIND("w", lw), BIND("g", lg));
        OK(lfuse_stream_synchronize(stream));
        if (s == 2) before = counters_of(dev);
    }
    lfuse_device_counters after = counters_of(dev);
    ck_assert_uint_eq(after.allocations, before.allocations);
    ck_assert_uint_eq(after.launches - before.launches, STEPS - 2); /* and no launch writes a table */
    check_weights(STEPS);
}

/* A launch by arguments has nothing before it, whatever moved; a table costs one writer for two neighbouring words. */
TEST_LOOP(what_a_move_costs, 0, TRANSPORTS)
{
    static const uint64_t extra[] = { 0, 2, 0 };

    lfuse__stub.max_argument_bytes = 4096;
    reopen_stub();
    open_moving();
    lfuse_list *lw = list_of_ones(weights), *lg = list_of_ones(gradients[0]);
    lfuse_plan *plan = plan_of(all[_i]);
    {
        lfuse_binding b[] = { BIND("w", lw), BIND("g", lg) };
        OK(lfuse_plan_run(plan, stream, b, 2));
        move(lg, 1);
        uint64_t before = launches();
        OK(lfuse_plan_run(plan, stream, b, 2));
        ck_assert_uint_le(launches() - before, 1 + extra[_i]);
        LAUNCHES(1, OK(lfuse_plan_run(plan, stream, b, 2)));
    }
}

/* Replays as native graphs and as lists of launches, between runs of the same plan. */
TEST_LOOP(replays, 0, 2 * TRANSPORTS)
{
    const lfuse_transport transport = all[_i % TRANSPORTS];

    lfuse__stub.native_graph = _i < TRANSPORTS;
    lfuse__stub.lazy = true;
    reopen_stub();
    open_moving();
    lfuse_list *lw = list_of_ones(weights), *lg = list_of_ones(gradients[0]);
    lfuse_plan *plan = plan_of(transport);
    OK(lfuse_record_begin(stream));
    {
        lfuse_binding b[] = { BIND("w", lw), BIND("g", lg) };
        OK(lfuse_plan_run(plan, stream, b, 2));
        lfuse_recording *recording = new_recording(stream);
        for (int s = 0; s <= STEPS; s++) {
            if (s) move(lg, s);
            if (s % 5 == 3) OK(lfuse_plan_run(plan, stream, b, 2));
            else OK(lfuse_recording_replay(recording, stream, NULL, 0));
        }
    }
    OK(lfuse_stream_synchronize(stream));
    check_weights(STEPS);
}

/* The caller's capture keeps the addresses that it was made with, whatever is run before it is launched. */
TEST_LOOP(in_the_callers_capture, 0, 2)
{
    lfuse__stub_native native = { .capturing = false };
    lfuse_stream *own;

    open_moving();
    OK(lfuse_stream_wrap(dev, &native, &own));
    lfuse_list *lw = list_of_ones(weights), *lg = list_of_ones(gradients[0]);
    lfuse_plan *plan = plan_of(_i ? LFUSE_TRANSPORT_UNIFIED : LFUSE_TRANSPORT_ARGS);
    {
        lfuse_binding b[] = { BIND("w", lw), BIND("g", lg) };
        OK(lfuse_plan_run(plan, own, b, 2));
        move(lg, 1);
        native.capturing = true;
        OK(lfuse_plan_run(plan, own, b, 2));
        native.capturing = false;
        for (int s = 2; s <= STEPS; s++) {
            move(lg, s);
            OK(lfuse_plan_run(plan, own, b, 2));
        }
    }
    memset(weights, 0, sizeof weights);
    lfuse__stub_native_run(&native);
    for (int s = 0; s < MOVING; s++)
        ck_assert_msg(weights[s] == gradients[s == 7 || s == 27][s], "%d: %g", s, weights[s]);
    lfuse__stub_native_clear(&native);
    lfuse_stream_destroy(own);
}

/*
 * Without addresses a launch names the blocks of its own members alone. Members of three blocks go by two into launches
 * of eight: one that moves changes the launch that it is in, and not the one before, where it was tried first.
 */
TEST(blocks_of_others)
{
    enum { LISTS = 3, MOVED = 2 /* the first of its launch */ };
    static const char *const names[LISTS] = { "w", "g", "h" };
    lfuse_value v[LISTS];
    lfuse_list *l[LISTS];
    lfuse_binding b[LISTS];

    lfuse__stub.addresses = false;
    reopen_stub();
    for (int i = 0; i < LISTS; i++) {
        v[i] = lfuse_list_input(g, names[i], LFUSE_F32, LFUSE_RANK_ANY);
        l[i] = list_of_ones(gradients[i]);
        b[i] = BIND(names[i], l[i]);
    }
    lfuse_update(v[0], lfuse_add(v[0], lfuse_mul(v[1], v[2])));
    lfuse_plan *plan = plan_of(LFUSE_TRANSPORT_ARGS);
    OK(lfuse_record_begin(stream));
    OK(lfuse_plan_run(plan, stream, b, LISTS));
    lfuse_recording *recording = new_recording(stream);
    OK(lfuse_recording_replay(recording, stream, NULL, 0));
    for (int i = 0; i < LISTS; i++) {
        lfuse_tensor *t;
        OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)&gradients[LISTS + i][MOVED], sizeof(float),
                             LFUSE_F32, 0, NULL, NULL, 0, &t));
        OK(lfuse_list_replace(l[i], MOVED, 1, &t));
        drop(t);
        uint64_t patches = lfuse__stub_calls(LFUSE__STUB_graph_patch);
        OK(lfuse_recording_replay(recording, stream, NULL, 0));
        ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_graph_patch) - patches, 1);
    }
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_graph_begin), 1);
}

TEST_SUITE("run", CK_NOFORK)
