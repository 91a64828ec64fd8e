/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings replayed with other sizes. A step of a training, made small: "y" = relu("x" "w" + "b") for any number of
 * rows, "total" = the sums of its columns, a list of parameters less half of another one, and a copy of the sums.
 */
#include "tests/run/rig.h"

enum { IN = 8, OUT = 6, MEMBERS = 2, LENGTH = 5, KEPT = 8 };

typedef struct step {
    lfuse_recording *recording;
    lfuse_plan *dense, *sum, *update;
    lfuse_tensor *w, *b, *total, *log, *p[MEMBERS], *d[MEMBERS];
    lfuse_list *params, *grads;
    int updates; /* replays so far */
} step;

/* What changes with the number of rows. */
typedef struct rows {
    int64_t count;
    lfuse_tensor *x, *y;
} rows;

static rows rows_of(int64_t count)
{
    return (rows){ count, ramp(SHAPE(count, IN), -1, 0.01f), tensor(SHAPE(count, OUT)) };
}

static lfuse_plan *plan_of(lfuse_graph *graph)
{
    lfuse_plan *plan = new_plan(dev, graph, NULL);
    lfuse_graph_destroy(graph);
    return plan;
}

static lfuse_plan *sum_plan(void)
{
    static const int first = 0;
    lfuse_graph *graph = lfuse_graph_create();
    lfuse_size n = lfuse_size_var(graph, "n", 0, 400);

    lfuse_output(graph, "total", lfuse_sum(lfuse_input(graph, "y", F32(n, OUT)), 1, &first, false));
    return plan_of(graph);
}

static lfuse_plan *update_plan(void)
{
    lfuse_graph *graph = lfuse_graph_create();
    lfuse_value p = lfuse_list_input(graph, "p", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_value d = lfuse_list_input(graph, "d", LFUSE_F32, LFUSE_RANK_ANY);

    lfuse_update(p, lfuse_sub(p, lfuse_mul(d, lfuse_constant(graph, 0.5))));
    return plan_of(graph);
}

static void record(step *s, const rows *r)
{

    OK(lfuse_record_begin(stream));
    RUN(s->dense, stream, BIND("x", r->x), BIND("w", s->w), BIND("b", s->b), BIND("y", r->y));
    RUN(s->sum, stream, BIND("y", r->y), BIND("total", s->total));
    RUN(s->update, stream, BIND("p", s->params), BIND("d", s->grads));
    OK(lfuse_tensor_copy(s->log, s->total, stream));
    s->recording = new_recording(stream);
}

static step make_step(const rows *r)
{
    step s = { .w = ramp(SHAPE(IN, OUT), -2, 0.1f), .b = ramp(SHAPE(OUT), 1, -0.5f),
               .total = tensor(SHAPE(OUT)), .log = tensor(SHAPE(OUT)) };

    fresh_graph();
    dense_graph();
    s.dense = plan_with(0);
    s.sum = sum_plan();
    s.update = update_plan();
    for (int i = 0; i < MEMBERS; i++) {
        s.p[i] = ramp(SHAPE(LENGTH + i), 100, 1);
        s.d[i] = ramp(SHAPE(LENGTH + i), 2, 0);
    }
    s.params = new_list(dev, LFUSE_F32, MEMBERS, s.p);
    s.grads = new_list(dev, LFUSE_F32, MEMBERS, s.d);
    record(&s, r);
    return s;
}

static lfuse_status replay(step *s, const rows *r)
{
    const lfuse_binding b[] = { BIND("x", r->x), BIND("y", r->y) };
    const lfuse_status status = lfuse_recording_replay(s->recording, stream, b, 2);

    s->updates += status == LFUSE_OK;
    return status;
}

static double element(int64_t i, int64_t j)
{
    double sum = 1 - 0.5 * (double)j;

    for (int64_t k = 0; k < IN; k++)
        sum += (-1 + 0.01 * (double)(IN * i + k)) * (-2 + 0.1 * (double)(OUT * k + j));
    return sum > 0 ? sum : 0;
}

static void check(const step *s, const rows *r)
{
    double totals[OUT] = { 0 };
    const float *got = values(r->y);

    for (int64_t i = 0; i < r->count; i++)
        for (int64_t j = 0; j < OUT; j++) {
            NEAR(got[OUT * i + j], element(i, j));
            totals[j] += element(i, j);
        }
    got = values(s->log);
    for (int64_t j = 0; j < OUT; j++) NEAR(got[j], totals[j]);
    for (int m = 0; m < MEMBERS; m++) {
        got = values(s->p[m]);
        for (int64_t i = 0; i < LENGTH + m; i++) NEAR(got[i], 100 + (double)i - s->updates);
    }
    OK(lfuse_tensor_fill(r->y, NULL, -7));
    OK(lfuse_tensor_fill(s->log, NULL, -7));
}

static uint64_t captures(void)
{
    return lfuse__stub_calls(LFUSE__STUB_graph_begin);
}

/* Loop index of the tests: a native graph, or a list of launches. */
static void begin(int native)
{
    lfuse__stub.native_graph = native;
    reopen_stub();
}

/* ---- sizes that come again ---- */

TEST_CASE("sizes", .setup = open_stub, .teardown = close_stub)

TEST_LOOP(sizes_in_turn, 0, 2)
{
    static const int64_t counts[] = { 40, 3, 17 };
    rows r[3];

    begin(_i);
    for (int i = 0; i < 3; i++) r[i] = rows_of(counts[i]);
    step s = make_step(&r[0]);
    for (int i = 0; i < 3; i++) {
        OK(replay(&s, &r[i]));
        check(&s, &r[i]);
    }
    ck_assert_uint_eq(captures(), _i ? 3 : 0);
    lfuse_device_counters before = counters_of(dev);
    for (int i = 0; i < 9; i++) {
        OK(replay(&s, &r[i * 2 % 3]));
        check(&s, &r[i * 2 % 3]);
    }
    lfuse_device_counters after = counters_of(dev);
    ck_assert_uint_eq(captures(), _i ? 3 : 0);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_graph_launch), _i ? 12 : 0);
    ck_assert_uint_eq(after.compiles, before.compiles);
    ck_assert_uint_eq(after.allocations, before.allocations);
    OK(lfuse_recording_replay(s.recording, stream, NULL, 0)); /* the last sizes stay */
    s.updates++;
    check(&s, &r[16 % 3]);
}

/* Other tensors of sizes that were there before are patched in, as without new sizes. */
TEST(other_tensors_of_known_sizes)
{
    rows r[] = { rows_of(5), rows_of(9), rows_of(5), rows_of(9) };
    step s = make_step(&r[0]);

    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < 4; i++) {
            OK(replay(&s, &r[i]));
            check(&s, &r[i]);
        }
    ck_assert_uint_eq(captures(), 2);
}

TEST_LOOP(more_sizes_than_are_kept, 0, 2)
{
    enum { MORE = KEPT + 3 };
    lfuse__stub_live live;
    rows r[MORE];

    begin(_i);
    for (int i = 0; i < MORE; i++) r[i] = rows_of(i + 1);
    step s = make_step(&r[0]);
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < MORE; i++) {
            OK(replay(&s, &r[i]));
            check(&s, &r[i]);
        }
    lfuse__stub_live_get(&live);
    ck_assert_int_eq(live.graphs, _i ? KEPT : 0);
    ck_assert_uint_eq(captures(), _i ? 2 * MORE : 0);
    for (int i = 0; i < KEPT; i++) { /* the last ones are there */
        OK(replay(&s, &r[MORE - 1 - i]));
        check(&s, &r[MORE - 1 - i]);
    }
    ck_assert_uint_eq(captures(), _i ? 2 * MORE : 0);
}

/* y = x exp(w), of which the second factor is made once for an instance and takes 80 kB. */
static lfuse_plan *prepared_plan(void)
{
    lfuse_graph *graph = lfuse_graph_create();
    lfuse_size n = lfuse_size_var(graph, "n", 1, 3);
    lfuse_value x = lfuse_input(graph, "x", F32(n, 20000));

    lfuse_output(graph, "y", lfuse_mul(x, lfuse_exp(lfuse_frozen(graph, "w", F32(20000)))));
    return plan_of(graph);
}

/* Of sizes for each of which weights are prepared, two are kept. */
TEST(sizes_of_large_weights)
{
    static const struct {
        int rows;
        uint64_t captures;
    } turns[] = { { 1, 1 }, { 2, 2 }, { 1, 2 }, { 2, 2 }, { 3, 3 }, { 2, 3 }, { 3, 3 }, { 1, 4 }, { 3, 4 }, { 2, 5 } };
    lfuse_tensor *x[3], *y[3], *w = ramp(SHAPE(20000), 0, 1e-4f);
    lfuse_plan *plan = prepared_plan();

    for (int i = 0; i < 3; i++) x[i] = ramp(SHAPE(i + 1, 20000), 0, 1e-3f), y[i] = tensor(SHAPE(i + 1, 20000));
    OK(lfuse_record_begin(stream));
    RUN(plan, stream, BIND("x", x[0]), BIND("y", y[0]), BIND("w", w));
    lfuse_recording *recording = new_recording(stream);
    drop(plan);
    for (size_t t = 0; t < sizeof turns / sizeof *turns; t++) {
        const int at = turns[t].rows - 1, last = 20000 * turns[t].rows - 1;
        OK(lfuse_recording_replay(recording, stream, BINDINGS(BIND("x", x[at]), BIND("y", y[at]))));
        NEAR(values(y[at])[last], 1e-3 * last * exp(1e-4 * 19999));
        OK(lfuse_tensor_fill(y[at], NULL, -7));
        ck_assert_uint_eq(captures(), turns[t].captures);
    }
}

/* What replays of other sizes have left goes while their work is still to be done. */
TEST_LOOP(destroyed_while_it_runs, 0, 2)
{
    rows r[2];

    lfuse__stub.lazy = true;
    begin(_i);
    for (int i = 0; i < 2; i++) r[i] = rows_of(4 + 7 * i);
    step s = make_step(&r[0]);
    OK(lfuse_stream_synchronize(stream));
    for (int i = 0; i < 3; i++) OK(replay(&s, &r[i % 2]));
    drop(s.recording);
    s.recording = NULL;
    drop(s.dense), drop(s.sum), drop(s.update);
    s.dense = s.sum = s.update = NULL;
    check(&s, &r[0]);
    for (int64_t i = 0; i < r[1].count; i++)
        for (int64_t j = 0; j < OUT; j++) NEAR(values(r[1].y)[OUT * i + j], element(i, j));
}

/* ---- sizes that no tensor tells ---- */

/* "out" = four elements of "in" from element "at" on, which may be read backwards. */
static lfuse_plan *window_plan(void)
{
    lfuse_graph *graph = lfuse_graph_create();
    lfuse_value in = lfuse_input(graph, "in", F32(20));

    lfuse_output(graph, "out", lfuse_slice(in, 0, lfuse_size_var(graph, "at", 0, 16), 4, 1));
    return plan_of(graph);
}

TEST_LOOP(sizes_by_name, 0, 2)
{
    static const int64_t places[] = { 3, 16, 3, 0, 16 };

    begin(_i);
    lfuse_tensor *in = ramp(SHAPE(20), 0, 1), *out = tensor(SHAPE(4)), *second = tensor(SHAPE(4));
    lfuse_tensor *backwards = new_view(in, SHAPE(20), LFUSE_DIMS(-1), 19);
    lfuse_plan *plan = window_plan();
    lfuse_binding b[] = { BIND("in", in), BIND("out", out), lfuse_bind_size("at", 7) };
    OK(lfuse_record_begin(stream));
    OK(lfuse_plan_run(plan, stream, b, 3));
    b[0] = BIND("in", backwards), b[1] = BIND("out", second);
    OK(lfuse_plan_run(plan, stream, b, 3)); /* other strides: an instance of its own, of the same sizes */
    lfuse_recording *recording = new_recording(stream);
    OK(lfuse_recording_replay(recording, stream, NULL, 0));
    for (int i = 0; i < 4; i++) NEAR(values(out)[i], 7 + i);
    for (int i = 0; i < 4; i++) NEAR(values(second)[i], 19 - 7 - i);
    for (int turn = 0; turn < 5; turn++) {
        lfuse_binding at = lfuse_bind_size("at", places[turn]);
        OK(lfuse_recording_replay(recording, stream, &at, 1));
        for (int i = 0; i < 4; i++) NEAR(values(out)[i], places[turn] + i);
        for (int i = 0; i < 4; i++) NEAR(values(second)[i], 19 - places[turn] - i);
    }
    b[0] = lfuse_bind_size("at", 17), b[1] = lfuse_bind_size("under", 1);
    FAILS(LFUSE_ERR_BOUNDS, lfuse_recording_replay(recording, stream, b, 1));
    FAILS(LFUSE_ERR_NAME, lfuse_recording_replay(recording, stream, b + 1, 1));
    b[1] = lfuse_bind_size("at", 2);
    FAILS(LFUSE_ERR_BINDING, lfuse_recording_replay(recording, stream, b, 2)); /* twice */
    OK(lfuse_recording_replay(recording, stream, NULL, 0));
    for (int i = 0; i < 4; i++) NEAR(values(out)[i], 16 + i);
}

/* ---- what is refused ---- */

TEST_LOOP(sizes_at_odds, 0, 2)
{
    rows r, other;
    lfuse_tensor *wide;

    begin(_i);
    r = rows_of(12), other = rows_of(5), wide = tensor(SHAPE(5, IN + 1));
    step s = make_step(&r);
    const struct {
        lfuse_status status;
        int count;
        lfuse_binding b[3];
    } cases[] = {
        { LFUSE_ERR_SHAPE, 1, { BIND("x", other.x) } }, /* "y" has 12 rows */
        { LFUSE_ERR_SHAPE, 1, { BIND("y", other.y) } },
        { LFUSE_ERR_SHAPE, 2, { BIND("x", wide), BIND("y", other.y) } },
        { LFUSE_ERR_SHAPE, 3, { BIND("x", other.x), BIND("y", other.y),
                                lfuse_bind_size("batch", 6) } },
        { LFUSE_ERR_SHAPE, 3, { BIND("x", other.x), BIND("y", other.y),
                                lfuse_bind_size("n", 6) } }, /* known to the second run alone */
        { LFUSE_ERR_SHAPE, 1, { lfuse_bind_size("batch", 5) } },
        { LFUSE_ERR_SHAPE, 1, { BIND("total", s.p[0]) } }, /* never any other size */
        { LFUSE_ERR_BINDING, 2, { BIND("x", other.x), BIND("w", other.y) } }, /* frozen */
        { LFUSE_ERR_BINDING, 1, { BIND("w", s.w) } }, /* which no tensor replaces, be it the same one */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FAILS(cases[i].status, lfuse_recording_replay(s.recording, stream, cases[i].b, cases[i].count));
        OK(lfuse_recording_replay(s.recording, stream, NULL, 0)); /* nothing of it stays */
        s.updates++;
        check(&s, &r);
    }
    OK(replay(&s, &other));
    check(&s, &other);
}

/* Nothing is made while a stream is being captured. */
TEST(sizes_under_capture)
{
    lfuse__stub_native native = { .capturing = false };
    rows r = rows_of(6), known = rows_of(9), fresh = rows_of(2);
    step s = make_step(&r);
    lfuse_stream *wrapped, *own = stream;

    OK(replay(&s, &known));
    check(&s, &known);
    OK(lfuse_stream_wrap(dev, &native, &wrapped));
    stream = wrapped;
    native.capturing = true;
    FAILS(LFUSE_ERR_STATE, replay(&s, &fresh));
    OK(replay(&s, &r));
    OK(replay(&s, &known));
    native.capturing = false;
    lfuse__stub_native_run(&native);
    for (int i = 0; i < 6; i++) NEAR(values(r.y)[i], element(0, i));
    check(&s, &known);
    lfuse__stub_native_clear(&native);
    stream = own;
    lfuse_stream_destroy(wrapped);
}

/* ---- on the devices of this machine ---- */

TEST_ON_MACHINE(on_devices)
{
    rows r[] = { rows_of(7), rows_of(30) };
    step s = make_step(&r[0]);

    for (int i = 0; i < 5; i++) {
        OK(replay(&s, &r[i % 2]));
        check(&s, &r[i % 2]);
    }
}

TEST_SUITE("record sizes", CK_NOFORK)
