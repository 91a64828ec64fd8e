/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and instances on the stub backend: right results, launches counted, every refusal with its own status. */
#include <pthread.h>

#include "tests/run/rig.h"

/* Printed is the text, and a newline. */
static void ck_printed(const lfuse_plan *p)
{
    char printed[256] = "";
    FILE *file = tmpfile();

    ck_assert_ptr_nonnull(file);
    OK(lfuse_plan_print(p, file));
    rewind(file);
    const size_t length = fread(printed, 1, sizeof printed - 1, file);
    fclose(file);
    ck_assert_uint_eq(length, strlen(lfuse_plan_text(p)) + 1);
    ck_assert(!strncmp(printed, lfuse_plan_text(p), length - 1) && printed[length - 1] == '\n');
}

TEST_CASE("stub", .setup = open_stub, .teardown = close_stub)

TEST(a_chain_is_one_launch)
{
    lfuse_size n = lfuse_size_var(g, "n", 0, 100000);
    lfuse_value x = lfuse_input(g, "x", F32(n)), y = lfuse_input(g, "y", F32(n));
    lfuse_tensor *tx = ramp(SHAPE(1000), 0, 0.01f), *ty = ramp(SHAPE(1000), 1, -0.5f), *tz = tensor(SHAPE(1000));
    lfuse_binding b[] = { BIND("x", tx), BIND("y", ty), BIND("z", tz) };

    lfuse_output(g, "z", lfuse_add(lfuse_exp(x), lfuse_relu(lfuse_mul(x, y))));
    lfuse_plan *plan = plan_with(0);
    ck_assert_str_eq(lfuse_plan_text(plan), "(pointwise n (z (add (exp x) (relu (mul x y)))))");
    ck_printed(plan);
    LAUNCHES(1, OK(lfuse_plan_run(plan, stream, b, 3)));
    const float *z = values(tz);
    for (int i = 0; i < 1000; i++) {
        const double xi = 0.01 * i, p = xi * (1 - 0.5 * i);
        NEAR(z[i], exp(xi) + (p > 0 ? p : 0));
    }
    drop(plan);
    plan = plan_with(LFUSE_NO_POINTWISE_FUSION);
    LAUNCHES(4, OK(lfuse_plan_run(plan, stream, b, 3)));
    NEAR(values(tz)[500], exp(5.0));
}

TEST(shapes_broadcast)
{
    lfuse_value x = lfuse_input(g, "x", F32(5, 7)), row = lfuse_input(g, "r", F32(7));
    lfuse_value column = lfuse_input(g, "c", F32(5, 1)), one = lfuse_input(g, "o", LFUSE_F32, 0, NULL);
    lfuse_tensor *tx = ramp(SHAPE(5, 7), 0, 1), *tr = ramp(SHAPE(7), 100, 10), *tc = ramp(SHAPE(5, 1), 3, 1);
    lfuse_tensor *to = ramp(0, NULL, 0.5f, 0), *ty = tensor(SHAPE(5, 7)), *tt = tensor(SHAPE(7, 5));

    lfuse_output(g, "y", lfuse_add(lfuse_mul(lfuse_add(x, row), column), one));
    lfuse_output(g, "t", lfuse_sub(lfuse_transpose(x), one));
    lfuse_plan *plan = plan_with(0);
    RUN(plan, stream, BIND(NULL, tx), BIND(NULL, tr), BIND(NULL, tc), BIND(NULL, to), BIND(NULL, ty), BIND("t", tt));
    const float *y = values(ty);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 7; k++) NEAR(y[7 * i + k], (7 * i + k + 100 + 10 * k) * (3 + i) + 0.5);
    y = values(tt);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 7; k++) NEAR(y[5 * k + i], 7 * i + k - 0.5);
}

TEST(scratch_is_reported)
{
    const lfuse_size n = lfuse_size_var(g, "n", 1, 100000);
    const lfuse_value x = lfuse_input(g, "x", F32(n)), w = lfuse_frozen(g, "w", F32(64));
    lfuse_tensor *tx = ramp(SHAPE(1000), 0, 0.01f), *ty = tensor(SHAPE(1000)), *tw = ramp(SHAPE(64), 1, 1),
                 *tz = tensor(SHAPE(64));
    const lfuse_binding b[] = { BIND("x", tx), BIND("w", tw), BIND("y", ty), BIND("z", tz) };

    lfuse_output(g, "y", lfuse_exp(lfuse_neg(lfuse_exp(lfuse_neg(x)))));
    lfuse_output(g, "z", lfuse_neg(lfuse_exp(w)));
    lfuse_plan *plan = plan_with(LFUSE_NO_POINTWISE_FUSION);
    ck_assert_uint_eq(lfuse_plan_scratch(plan, stream), 0);
    OK(lfuse_plan_run(plan, stream, b, 4));
    ck_assert_uint_eq(lfuse_plan_scratch(plan, stream), 4096 + 4000); /* two values at a time, in pages of 256 */
    lfuse_instance *in = new_instance(plan, stream, b, 4);
    ck_assert_uint_eq(lfuse_instance_scratch(in), 4096 + 4000);
    ck_assert_uint_eq(lfuse_instance_prepared(in) % 256, 0);
    ck_assert_uint_gt(lfuse_instance_prepared(in), 0);
    drop(in);
    drop(plan);
    plan = plan_with(0);
    OK(lfuse_plan_run(plan, stream, b, 4));
    ck_assert_uint_eq(lfuse_plan_scratch(plan, stream), 0);
    ck_assert_uint_eq(lfuse_plan_scratch(NULL, stream), 0);
    ck_assert_uint_eq(lfuse_instance_scratch(NULL), 0);
    ck_assert_uint_eq(lfuse_instance_prepared(NULL), 0);
}

TEST(frozen_inputs_are_prepared_once)
{
    lfuse_value x = lfuse_input(g, "x", F32(10)), w = lfuse_frozen(g, "w", F32(10));
    lfuse_tensor *tx = ramp(SHAPE(10), 0, 1), *tw = ramp(SHAPE(10), 0, 0.1f), *ty = tensor(SHAPE(10));
    lfuse_binding b[] = { BIND("x", tx), BIND("w", tw), BIND("y", ty) };
    float other[10] = { 0 };

    lfuse_output(g, "y", lfuse_add(x, lfuse_exp(w)));
    lfuse_plan *plan = plan_with(0);
    ck_assert_str_eq(lfuse_plan_text(plan), "(prepare (pointwise 10 (t0 (exp w)))) (pointwise 10 (y (add x t0)))");
    uint64_t before = launches();
    lfuse_instance *in = new_instance(plan, stream, b, 2);
    ck_assert_uint_eq(launches() - before, 1);
    b[1] = b[2];
    OK(lfuse_instance_run(in, b, 2));
    ck_assert_uint_eq(launches() - before, 2);
    NEAR(values(ty)[9], 9 + exp(0.9));
    OK(lfuse_tensor_write(tw, NULL, other));
    OK(lfuse_instance_run(in, b, 2));
    NEAR(values(ty)[9], 9 + exp(0.9));
    OK(lfuse_instance_refresh(in));
    OK(lfuse_instance_run(in, b, 2));
    NEAR(values(ty)[9], 10);
}

/* The same stretch of memory through other strides is looked at again: these elements share memory. */
TEST(repeats_in_the_same_place)
{
    lfuse_tensor *x = ramp(SHAPE(3, 3), 1, 1), *y = tensor(SHAPE(3, 3));
    lfuse_binding b[] = { BIND("x", x), BIND("y", y) };

    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F32(3, 3))));
    lfuse_plan *plan = plan_with(0);
    OK(lfuse_plan_run(plan, stream, b, 2));
    lfuse_tensor *odd = new_view(y, SHAPE(3, 3), LFUSE_DIMS(2, 2), 0);
    b[1] = BIND("y", odd);
    FAILS(LFUSE_ERR_OVERLAP, lfuse_plan_run(plan, stream, b, 2));
    b[1] = BIND("y", y);
    OK(lfuse_plan_run(plan, stream, b, 2));
}

TEST(sums_of_rows)
{
    lfuse_size n = lfuse_size_var(g, "n", 0, 5000);
    lfuse_value x = lfuse_input(g, "x", F32(4, 3, n));
    lfuse_tensor *tx = ramp(SHAPE(4, 3, 1500), 0, 0.001f), *ta = tensor(SHAPE(4, 3)), *tb = tensor(SHAPE(4));
    lfuse_tensor *tc = tensor(SHAPE(1500));
    lfuse_binding b[] = { BIND("x", tx), BIND("a", ta), BIND("b", tb), BIND("c", tc) };
    const int last[] = { -1 }, two[] = { 1, 2 }, turned[] = { 2, 1, 0 };

    lfuse_output(g, "a", lfuse_sum(lfuse_mul(x, x), 1, last, 0));
    lfuse_output(g, "b", lfuse_sum(x, 2, two, 0));
    lfuse_output(g, "c", lfuse_sum(lfuse_permute(x, turned), 2, two, 0)); /* summed axes that do not merge */
    lfuse_plan *plan = plan_with(0);
    OK(lfuse_plan_run(plan, stream, b, 4));
    const float *v = values(ta);
    for (int i = 0; i < 12; i++) {
        double sum = 0;
        for (int k = 0; k < 1500; k++) sum += pow(0.001 * (1500 * i + k), 2);
        NEAR(v[i], sum);
    }
    v = values(tb);
    for (int i = 0; i < 4; i++) NEAR(v[i], 4500 * (0.001 * (4500 * i + 2249.5)));
    v = values(tc);
    for (int i = 0; i < 1500; i++) NEAR(v[i], 12 * 0.001 * (8250 + i));
    /* the same through strides: every second element, and none */
    lfuse_tensor *tv = new_view(tx, SHAPE(4, 3, 750), LFUSE_DIMS(4500, 1500, 2), 0);
    b[0] = BIND("x", tv);
    drop(tc);
    tc = tensor(SHAPE(750));
    b[3] = BIND("c", tc);
    OK(lfuse_plan_run(plan, stream, b, 4));
    v = values(tb);
    for (int i = 0; i < 4; i++) NEAR(v[i], 2250 * (0.001 * (4500 * i + 2249)));
    drop(tv), drop(tc);
    tv = new_view(tx, SHAPE(4, 3, 0), NULL, 0);
    tc = tensor(SHAPE(0));
    b[0] = BIND("x", tv), b[3] = BIND("c", tc);
    OK(lfuse_plan_run(plan, stream, b, 4));
    NEAR(values(tb)[3], 0);
    NEAR(values(ta)[11], 0);
}

TEST(strides_of_every_kind)
{
    lfuse_value x = lfuse_input(g, "x", F32(6, 4)), y = lfuse_input(g, "y", F32(6, 4));
    lfuse_tensor *big = ramp(SHAPE(200), 0, 1), *out = ramp(SHAPE(200), -1, 0);

    lfuse_output(g, "z", lfuse_add(x, y));
    lfuse_tensor *vx = new_view(big, SHAPE(6, 4), LFUSE_DIMS(-20, 3), 119); /* backwards, gaps */
    lfuse_tensor *vy = new_view(big, SHAPE(6, 4), LFUSE_DIMS(1, 6), 5);     /* columns first, misaligned */
    lfuse_tensor *vz = new_view(out, SHAPE(6, 4), LFUSE_DIMS(10, 1), 3);    /* padded rows */
    lfuse_plan *plan = plan_with(0);
    {
        RUN(plan, stream, BIND("x", vx), BIND("y", vy), BIND("z", vz));
    }
    const float *v = values(out);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 10; k++)
            NEAR(v[3 + 10 * i + k], k < 4 ? 119 - 20 * i + 3 * k + 5 + i + 6 * k : -1);
}

TEST(updates_read_old_values)
{
    lfuse_value x = lfuse_input(g, "x", F32(9)), y = lfuse_input(g, "y", F32(9));
    lfuse_value q = lfuse_input(g, "q", F32(3, 3));
    lfuse_tensor *tx = ramp(SHAPE(9), 0, 1), *ty = ramp(SHAPE(9), 100, 1), *tq = ramp(SHAPE(3, 3), 0, 1);
    lfuse_tensor *to = tensor(SHAPE(9));

    lfuse_update(x, lfuse_add(y, lfuse_constant(g, 1)));
    lfuse_update(y, lfuse_mul(x, lfuse_constant(g, 2)));
    lfuse_update(q, lfuse_transpose(q));
    lfuse_output(g, "o", x);
    lfuse_plan *plan = plan_with(0);
    RUN(plan, stream, BIND("x", tx), BIND("y", ty), BIND("q", tq), BIND("o", to));
    NEAR(values(tx)[3], 104);
    NEAR(values(ty)[3], 6);
    NEAR(values(to)[3], 3);
    NEAR(values(tq)[1], 3);
    NEAR(values(tq)[5], 7);
}

TEST(numbers_change_without_compiling)
{
    lfuse_value x = lfuse_input(g, "x", F32(4)), s = lfuse_scalar(g, "s");
    lfuse_tensor *tx = ramp(SHAPE(4), 1, 1), *ty = tensor(SHAPE(4));

    lfuse_output(g, "y", lfuse_mul(x, lfuse_add(lfuse_pow(s, lfuse_constant(g, 2)), lfuse_constant(g, 1))));
    lfuse_plan *plan = plan_with(0);
    uint64_t compiled = compiles();
    for (int i = 0; i < 4; i++) {
        RUN(plan, stream, lfuse_bind_scalar("s", i), BIND("y", ty), BIND("x", tx));
        NEAR(values(ty)[3], 4 * (i * i + 1));
    }
    ck_assert_uint_eq(compiles(), compiled);
}

typedef struct job {
    lfuse_plan *plan;
    float start;
    bool good;
} job;

static void *work(void *p)
{
    job *j = p;
    lfuse_stream *s;
    lfuse_tensor *x, *y;
    float host[64], back[64];

    j->good = !lfuse_stream_create(dev, &s) && !lfuse_tensor_create(dev, F32(64), &x) &&
              !lfuse_tensor_create(dev, F32(64), &y);
    for (int i = 0; i < 50 && j->good; i++) {
        lfuse_binding b[] = { BIND("x", x), BIND("y", y) };
        for (int k = 0; k < 64; k++) host[k] = j->start + (float)(i + k);
        j->good = !lfuse_tensor_write(x, s, host) && !lfuse_plan_run(j->plan, s, b, 2) && !lfuse_tensor_read(y, s,
            back) &&
                  !lfuse_stream_synchronize(s) && back[63] == -(j->start + (float)(i + 63));
    }
    lfuse_tensor_destroy(x), lfuse_tensor_destroy(y);
    lfuse_stream_destroy(s);
    return NULL;
}

TEST(two_streams_two_threads)
{
    pthread_t threads[2];
    job jobs[2];

    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F32(64))));
    for (int i = 0; i < 2; i++) jobs[i] = (job){ NULL, 1000.0f * (float)i, false };
    jobs[0].plan = jobs[1].plan = plan_with(0);
    for (int i = 0; i < 2; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &jobs[i]), 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    ck_assert(jobs[0].good && jobs[1].good);
}

TEST(bad_bindings_are_refused)
{
    lfuse_size n = lfuse_size_var(g, "n", 2, 8);
    lfuse_value x = lfuse_input(g, "x", F32(n)), y = lfuse_input(g, "y", F32(n));
    lfuse_tensor *tx = ramp(SHAPE(4), 0, 1), *ty = ramp(SHAPE(4), 0, 1), *tz = tensor(SHAPE(4)), *t5 = tensor(SHAPE(5));
    lfuse_tensor *t9 = tensor(SHAPE(9)), *t2 = tensor(SHAPE(2, 2));
    lfuse_binding b[5] = { BIND("x", tx), BIND("y", ty), lfuse_bind_scalar("s", 1), BIND("z", tz) };
    const lfuse_binding good[5] = { b[0], b[1], b[2], b[3], b[0] };

    lfuse_output(g, "z", lfuse_add(lfuse_mul(x, lfuse_scalar(g, "s")), y));
    lfuse_plan *plan = plan_with(0);
    lfuse_tensor *ti = new_tensor(dev, I32(4));
    lfuse_tensor *tr = new_view(tz, SHAPE(4), LFUSE_DIMS(0), 0);
    lfuse_device *other = new_device("stub:1");
    lfuse_tensor *away = new_tensor(other, F32(4));
    lfuse_stream *elsewhere = new_stream(other);
    uint64_t before = launches();
#define BAD(status, i, ...)                                                                                            \
    b[i] = __VA_ARGS__;                                                                                                \
    FAILS(status, lfuse_plan_run(plan, stream, b, 4));                                                                 \
    b[i] = good[i]
    FAILS(LFUSE_ERR_BINDING, lfuse_plan_run(plan, stream, b, 3));
    FAILS(LFUSE_ERR_BINDING, lfuse_plan_run(plan, stream, good, 5));
    FAILS(LFUSE_ERR_INVALID, lfuse_plan_run(plan, stream, NULL, 2));
    FAILS(LFUSE_ERR_INVALID, lfuse_plan_run(NULL, stream, b, 4));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_plan_run(plan, elsewhere, b, 4));
    BAD(LFUSE_ERR_NAME, 0, BIND("q", tx));
    BAD(LFUSE_ERR_BINDING, 0, lfuse_bind_tensor("x", NULL));
    BAD(LFUSE_ERR_BINDING, 0, lfuse_bind_scalar("x", 1));
    BAD(LFUSE_ERR_BINDING, 2, BIND("s", tx));
    BAD(LFUSE_ERR_TYPE, 1, BIND("y", ti));
    BAD(LFUSE_ERR_RANK, 1, BIND("y", t2));
    BAD(LFUSE_ERR_SHAPE, 1, BIND("y", t5));
    BAD(LFUSE_ERR_BOUNDS, 0, BIND("x", t9));
    BAD(LFUSE_ERR_CONTEXT, 1, BIND("y", away));
    BAD(LFUSE_ERR_OVERLAP, 3, BIND("z", tx));
    BAD(LFUSE_ERR_OVERLAP, 3, BIND("z", tr));
    BAD(LFUSE_ERR_BINDING, 2, lfuse_bind_size("n", 4)); /* and s is missing */
    ck_assert_uint_eq(launches(), before);
    OK(lfuse_plan_run(plan, stream, good, 4));
    BAD(LFUSE_ERR_SHAPE, 1, BIND("y", t5)); /* once more with an instance there */
    BAD(LFUSE_ERR_OVERLAP, 3, BIND("z", ty));
    BAD(LFUSE_ERR_TYPE, 1, BIND("y", ti));
    BAD(LFUSE_ERR_CONTEXT, 1, BIND("y", away));
    ck_assert_uint_eq(launches(), before + 1);
    OK(lfuse_plan_run(plan, stream, good, 4));
    ck_assert_uint_eq(launches(), before + 2);
}

TEST(closed_and_destroyed)
{
    lfuse_tensor *tx = ramp(SHAPE(4), 0, 1), *ty = tensor(SHAPE(4));
    lfuse_binding b[] = { BIND("x", tx), BIND("y", ty) };

    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F32(4))));
    lfuse_plan *plan = plan_with(0);
    OK(lfuse_plan_run(plan, stream, b, 2));
    lfuse_device_close(dev);
    FAILS(LFUSE_ERR_CLOSED, lfuse_plan_run(plan, stream, b, 2));
    drop(plan);
    drop(tx), drop(ty);
    lfuse_stream_destroy(stream);
    ck_assert_int_eq(lfuse__stub_live_objects(), 0);
    OK(lfuse_device_open("stub:0", &dev));
    OK(lfuse_stream_create(dev, &stream));
}

TEST(a_plan_that_the_device_cannot)
{
    lfuse_plan_options exact = { .exact = 1 }, wrong = { .disable = LFUSE_NO_FUSION + 1 };
    lfuse_value x = lfuse_input(g, "x", F64(4));
    lfuse_plan *plan;

    lfuse_output(g, "y", lfuse_neg(x));
    lfuse__stub.f64 = lfuse__stub.exact = false;
    reopen_stub();
    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F64(4))));
    FAILS(LFUSE_ERR_TYPE, lfuse_plan_create(dev, g, NULL, &plan));
    FAILS(LFUSE_ERR_UNSUPPORTED, lfuse_plan_create(dev, g, &exact, &plan));
    FAILS(LFUSE_ERR_INVALID, lfuse_plan_create(dev, g, &wrong, &plan));
    FAILS(LFUSE_ERR_INVALID, lfuse_plan_create(dev, NULL, NULL, &plan));
    FAILS(LFUSE_ERR_INVALID, lfuse_plan_create(NULL, g, NULL, &plan));
}

TEST(equal_graphs_share_a_body)
{
    lfuse_graph *other = new_graph();

    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F32(4))));
    lfuse_output(other, "out", lfuse_neg(lfuse_input(other, "in", F32(4))));
    lfuse_plan *a = new_plan(dev, g, NULL);
    uint64_t compiled = compiles();
    lfuse_plan *b = new_plan(dev, other, NULL);
    ck_assert_uint_eq(compiles(), compiled);
    ck_assert_str_eq(lfuse_plan_text(a), "(pointwise 4 (y (neg x)))");
    ck_assert_str_eq(lfuse_plan_text(b), "(pointwise 4 (out (neg in)))");
}

TEST(evaluate_at_once)
{
    lfuse_tensor *tx = ramp(SHAPE(4), 0, 1), *ty = tensor(SHAPE(4));
    lfuse_binding b[] = { BIND("x", tx), BIND("y", ty) };

    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F32(4))));
    OK(lfuse_evaluate(stream, g, b, 2));
    NEAR(values(ty)[3], -3);
    lfuse_device_counters before = counters_of(dev);
    lfuse__stub_counters calls = lfuse__stub_counters_now();
    OK(lfuse_evaluate(stream, g, b, 2));
    lfuse__stub_counters later = lfuse__stub_counters_now();
    lfuse_device_counters after = counters_of(dev);
    ck_assert_uint_eq(after.allocations, before.allocations);
    ck_assert_uint_eq(later.calls[LFUSE__STUB_ANY] - calls.calls[LFUSE__STUB_ANY], 1);
    for (int i = 0; i < 100; i++) { /* more graphs than are kept, each with names of its own */
        char name[8];
        snprintf(name, sizeof name, "x%d", i);
        fresh_graph();
        lfuse_output(g, "y", lfuse_neg(lfuse_input(g, name, F32(4))));
        FAILS(LFUSE_ERR_NAME, lfuse_evaluate(stream, g, b, 2));
        b[0].name = name;
        OK(lfuse_evaluate(stream, g, b, 2));
        b[0].name = "x";
        NEAR(values(ty)[2], -2);
    }
}

TEST(a_second_run_allocates_nothing)
{
    dense_graph();
    lfuse_plan *plan = plan_with(LFUSE_NO_EPILOGUE | LFUSE_NO_POINTWISE_FUSION);
    {
        lfuse_tensor *tx = ramp(SHAPE(4, 8), 0, 1), *tw = ramp(SHAPE(8, 6), 0, 1), *tb = ramp(SHAPE(6), 0, 1);
        lfuse_tensor *ty = tensor(SHAPE(4, 6));
        lfuse_binding b[] = { BIND("x", tx), BIND("w", tw), BIND("b", tb), BIND("y", ty) };
        OK(lfuse_plan_run(plan, stream, b, 4));
        lfuse_device_counters before = counters_of(dev);
        lfuse__stub_counters calls = lfuse__stub_counters_now();
        OK(lfuse_plan_run(plan, stream, b, 4));
        lfuse__stub_counters later = lfuse__stub_counters_now();
        lfuse_device_counters after = counters_of(dev);
        ck_assert_uint_eq(after.allocations, before.allocations);
        ck_assert_uint_eq(after.compiles, before.compiles);
        ck_assert_uint_eq(later.calls[LFUSE__STUB_ANY] - calls.calls[LFUSE__STUB_ANY], 3);
    }
}

TEST(runs_are_captured)
{
    lfuse_tensor *tx = ramp(SHAPE(4), 0, 1), *ty = ramp(SHAPE(4), 5, 0), *t5 = ramp(SHAPE(5), 0, 1),
        *y5 = tensor(SHAPE(5));
    lfuse_binding b[] = { BIND("x", tx), BIND("y", ty) };
    lfuse__stub_native native = { 0 };
    lfuse_stream *wrapped;

    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F32(lfuse_size_var(g, "n", 1, 9)))));
    lfuse_plan *plan = plan_with(0);
    OK(lfuse_stream_wrap(dev, &native, &wrapped));
    native.capturing = true;
    FAILS(LFUSE_ERR_STATE, lfuse_plan_run(plan, wrapped, b, 2));
    native.capturing = false;
    OK(lfuse_plan_run(plan, wrapped, b, 2));
    OK(lfuse_tensor_fill(ty, NULL, 5));
    native.capturing = true;
    OK(lfuse_plan_run(plan, wrapped, b, 2));
    FAILS(LFUSE_ERR_STATE, lfuse_plan_run(plan, wrapped, BINDINGS(BIND("x", t5), BIND("y", y5))));
    native.capturing = false;
    NEAR(values(ty)[3], 5);
    lfuse__stub_native_run(&native);
    NEAR(values(ty)[3], -3);
    lfuse__stub_native_clear(&native);
    lfuse_stream_destroy(wrapped);
}

/* The plan keeps what it made for a stream; the caller may end a wrapped one as soon as it is given back. */
TEST(wrapped_streams_are_left_alone)
{
    lfuse_tensor *tx = ramp(SHAPE(4), 0, 1), *ty = ramp(SHAPE(4), 5, 0), *unused = tensor(SHAPE(5));
    lfuse__stub_native native = { 0 };
    lfuse_stream *wrapped;

    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F32(4))));
    lfuse_plan *plan = plan_with(0);
    OK(lfuse_stream_wrap(dev, &native, &wrapped));
    RUN(plan, wrapped, BIND("x", tx), BIND("y", ty));
    lfuse_stream_destroy(wrapped);
    lfuse__stub_counters before = lfuse__stub_counters_now();
    drop(unused);
    lfuse__stub_counters after = lfuse__stub_counters_now();
    ck_assert_uint_eq(after.calls[LFUSE__STUB_stream_capturing], before.calls[LFUSE__STUB_stream_capturing]);
    ck_assert_uint_eq(after.calls[LFUSE__STUB_event_record], before.calls[LFUSE__STUB_event_record]);
    NEAR(values(ty)[3], -3);
}

TEST_SUITE("run", CK_NOFORK)
