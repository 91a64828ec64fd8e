/* SPDX-License-Identifier: Apache-2.0 */
/* Products on the stub: every way to do them, odd strides, the choice of their algorithms. */
#include <pthread.h>

#include "tests/run/rig.h"

TEST_CASE("products", .setup = open_stub, .teardown = close_stub)

TEST(a_dense_layer_in_every_way)
{
    static const struct { lfuse_provider provider; unsigned disable; bool decline; uint64_t launches; } ways[] = {
        { LFUSE_PROVIDER_VENDOR, 0, true, 2 },
        { LFUSE_PROVIDER_VENDOR, 0, false, 1 },
        { LFUSE_PROVIDER_VENDOR, LFUSE_NO_EPILOGUE, false, 2 },
        { LFUSE_PROVIDER_VENDOR, LFUSE_NO_EPILOGUE | LFUSE_NO_POINTWISE_FUSION, false, 3 },
        { LFUSE_PROVIDER_NATIVE, 0, true, 1 },
        { LFUSE_PROVIDER_NATIVE, LFUSE_NO_EPILOGUE, true, 2 },
        { LFUSE_PROVIDER_NATIVE, LFUSE_NO_EPILOGUE | LFUSE_NO_POINTWISE_FUSION, true, 3 },
        { LFUSE_PROVIDER_DEFAULT, 0, true, 1 }, /* the stub says that it is a CPU */
    };

    dense_graph();
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        lfuse__stub.decline_epilogues = ways[i].decline ? ~1u : 0;
        lfuse_plan *plan = plan_by(ways[i].provider, ways[i].disable);
        uint64_t compiled = compiles();
        check_dense(plan, 1, ways[i].launches);
        check_dense(plan, 360, ways[i].launches);
        check_dense(plan, 7, ways[i].launches);
        check_dense(plan, 0, 0);
        ck_assert_uint_eq(compiles(), compiled);
    }
}

TEST(gemm_now)
{
    static const struct { int ta, tb; double alpha, beta; int64_t m, n, k; } cases[] = {
        { 0, 0, 1, 0, 3, 4, 5 }, { 1, 0, 2, 0, 3, 4, 5 }, { 0, 1, 1, 0.5, 3, 4, 5 }, { 1, 1, -1, 1, 1, 7, 2 },
        { 0, 0, 1, 2, 3, 4, 0 }, { 0, 0, 1, 0, 3, 4, 0 }, { 0, 0, 1, 1, 0, 4, 2 },
    };

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const int64_t m = cases[c].m, n = cases[c].n, k = cases[c].k;
        lfuse_tensor *a = ramp(2, cases[c].ta ? LFUSE_DIMS(k, m) : LFUSE_DIMS(m, k), 1, 1);
        lfuse_tensor *b = ramp(2, cases[c].tb ? LFUSE_DIMS(n, k) : LFUSE_DIMS(k, n), -3, 1), *d = ramp(SHAPE(m, n), 1,
                                                                                                       1);
        OK(lfuse_gemm(stream, cases[c].ta, cases[c].tb, cases[c].alpha, a, b, cases[c].beta, d));
        const float *v = values(d);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double sum = 0;
                for (int64_t l = 0; l < k; l++) {
                    const int64_t x = cases[c].ta ? l * m + i : i * k + l, y = cases[c].tb ? j * k + l : l * n + j;
                    sum += (double)(1 + x) * (double)(y - 3);
                }
                NEAR(v[i * n + j], cases[c].alpha * sum + cases[c].beta * (double)(1 + i * n + j));
            }
    }
}

TEST(gemm_of_odd_strides)
{
    lfuse_tensor *big = ramp(SHAPE(400), 0, 1), *out = tensor(SHAPE(100));

    lfuse_tensor *a = new_view(big, SHAPE(3, 4), LFUSE_DIMS(10, 2), 1);
    lfuse_tensor *b = new_view(big, SHAPE(4, 5), LFUSE_DIMS(0, -1), 9);
    lfuse_tensor *c = new_view(out, SHAPE(3, 5), LFUSE_DIMS(20, 3), 0);
    OK(lfuse_gemm(stream, 0, 0, 1, a, b, 0, c));
    const float *v = values(out);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 5; j++) {
            double sum = 0;
            for (int l = 0; l < 4; l++) sum += (1 + 10 * i + 2 * l) * (9 - j);
            NEAR(v[20 * i + 3 * j], sum);
        }
}

enum { ROWS = 5, COLUMNS = 6, DEPTH = 3 };

/* One form of what follows a product, and what comes of it. */
typedef struct form {
    bool alpha, scale, beta, bias, relu, replaces; /* scale: alpha in device memory */
    double factor; /* beta's */
    bool transposed; /* what is added is bound so: vendors do not take it */
    uint64_t launches;
} form;

static void check_form(const form *f)
{
    lfuse_tensor *x = ramp(SHAPE(ROWS, DEPTH), -2, 1), *w = ramp(SHAPE(DEPTH, COLUMNS), -4, 1);
    lfuse_tensor *b = ramp(SHAPE(COLUMNS), 3, -2), *s = ramp(0, NULL, 2, 0), *y = tensor(SHAPE(ROWS, COLUMNS));
    const lfuse_value m = lfuse_matmul(lfuse_input(g, "x", F32(ROWS, DEPTH)), lfuse_input(g, "w", F32(DEPTH, COLUMNS)));
    lfuse_value added = lfuse_input(g, "r", F32(ROWS, COLUMNS)), v = m;
    const bool unread = f->beta && f->factor == 0;
    lfuse_binding bind[8];
    int count = 0;

    lfuse_tensor *plain = ramp(SHAPE(ROWS, COLUMNS), unread ? (float)NAN : -7, 2);
    lfuse_tensor *r = plain;
    if (f->transposed) {
        r = new_view(plain, SHAPE(ROWS, COLUMNS), LFUSE_DIMS(1, ROWS), 0);
    }
    if (f->alpha) v = lfuse_mul(v, lfuse_scalar(g, "alpha"));
    if (f->scale) v = lfuse_mul(v, lfuse_input(g, "s", LFUSE_F32, 0, NULL));
    v = lfuse_add(v, f->beta ? lfuse_mul(added, lfuse_scalar(g, "beta")) : added);
    if (f->bias) v = lfuse_add(v, lfuse_input(g, "b", F32(COLUMNS)));
    if (f->relu) v = lfuse_relu(v);
    if (f->replaces) lfuse_update(added, v);
    else lfuse_output(g, "y", v);
    bind[count++] = BIND("x", x), bind[count++] = BIND("w", w);
    bind[count++] = BIND("r", r);
    if (!f->replaces) bind[count++] = BIND("y", y);
    if (f->bias) bind[count++] = BIND("b", b);
    if (f->scale) bind[count++] = BIND("s", s);
    if (f->alpha) bind[count++] = lfuse_bind_scalar("alpha", 2);
    if (f->beta) bind[count++] = lfuse_bind_scalar("beta", f->factor);
    lfuse_plan *plan = plan_by(LFUSE_PROVIDER_VENDOR, 0);
    LAUNCHES(f->launches, OK(lfuse_plan_run(plan, stream, bind, count)));
    const float *got = values(f->replaces ? r : y);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            double sum = 0, add = -7 + 2 * (f->transposed ? i + j * ROWS : i * COLUMNS + j);
            for (int k = 0; k < DEPTH; k++) sum += (double)(-2 + i * DEPTH + k) * (-4 + k * COLUMNS + j);
            sum = (f->alpha || f->scale ? 2 : 1) * sum + (unread ? 0 : (f->beta ? f->factor : 1) * add);
            sum += f->bias ? 3 - 2 * j : 0;
            NEAR(got[i * COLUMNS + j], f->relu && sum < 0 ? 0 : sum);
        }
    drop(plan);
    if (f->transposed) drop(r);
    drop(plain);
    drop(x), drop(w), drop(b), drop(s), drop(y);
}

static const form forms[] = {
    { .launches = 1 }, { .bias = true, .launches = 1 }, { .alpha = true, .bias = true, .relu = true, .launches = 1 },
    { .beta = true, .factor = -3, .alpha = true, .bias = true, .relu = true, .launches = 1 },
    { .beta = true, .factor = 0, .launches = 1 }, { .beta = true, .factor = 0, .bias = true, .launches = 1 },
    { .replaces = true, .bias = true, .launches = 1 }, { .replaces = true, .beta = true, .factor = 0.5, .launches = 1 },
    { .replaces = true, .beta = true, .factor = 0, .relu = true, .launches = 1 },
    { .scale = true, .launches = 1 }, { .scale = true, .replaces = true, .bias = true, .relu = true, .launches = 1 },
    { .scale = true, .beta = true, .factor = 0.5, .bias = true, .launches = 1 },
    { .scale = true, .transposed = true, .launches = 2 },
    { .transposed = true, .launches = 2 }, { .transposed = true, .bias = true, .relu = true, .launches = 2 },
};

TEST_LOOP(what_a_product_adds, 0, (int)(sizeof forms / sizeof forms[0]))
{
    check_form(&forms[_i]);
}

/* Measured with a scale that is read, and declined: then a kernel scales. */
TEST(scales_that_are_measured_or_declined)
{
    const lfuse_plan_options measured = { .effort = LFUSE_EFFORT_MEASURE, .provider = LFUSE_PROVIDER_VENDOR };
    const lfuse_value m = lfuse_matmul(lfuse_input(g, "x", F32(ROWS, DEPTH)), lfuse_input(g, "w", F32(DEPTH, COLUMNS)));

    lfuse_output(g, "y", lfuse_relu(lfuse_mul(m, lfuse_input(g, "s", LFUSE_F32, 0, NULL))));
    for (int way = 0; way < 3; way++) {
        lfuse__stub.decline_epilogues = way == 1 ? ~1u : 0;
        reopen_device();
        lfuse_plan *plan = new_plan(dev, g, way == 2 ? NULL : &measured);
        lfuse_tensor *x = ramp(SHAPE(ROWS, DEPTH), 1, 0), *w = ramp(SHAPE(DEPTH, COLUMNS), 2, 0);
        lfuse_tensor *s = ramp(0, NULL, 0, 0), *y = tensor(SHAPE(ROWS, COLUMNS));
        for (int run = 0; run < 3; run++) {
            OK(lfuse_tensor_fill(s, NULL, run + 0.5));
            RUN(plan, stream, BIND("x", x), BIND("w", w), BIND("s", s), BIND("y", y));
            for (int i = 0; i < ROWS * COLUMNS; i++) NEAR(values(y)[i], (run + 0.5) * 2 * DEPTH);
        }
        drop(plan);
        drop(x), drop(w), drop(s), drop(y);
    }
}

TEST(widened_products)
{
    static const uint16_t one_two[] = { 0x3c00, 0x4000, 0x3c00, 0x4000 }; /* 1 2 / 1 2 */
    lfuse_value x = lfuse_input(g, "x", F16(2, 2)), w = lfuse_frozen(g, "w", F16(2, 2));
    lfuse_value b = lfuse_frozen(g, "b", F16(2));
    uint16_t y[4];

    lfuse__stub.decline_types = 1u << LFUSE_F16;
    lfuse_output(g, "y", lfuse_relu(lfuse_add(lfuse_matmul(x, w), b)));
    lfuse_tensor *tx = new_tensor(dev, F16(2, 2));
    lfuse_tensor *tw = new_tensor(dev, F16(2, 2));
    lfuse_tensor *tb = new_tensor(dev, F16(2));
    lfuse_tensor *ty = new_tensor(dev, F16(2, 2));
    OK(lfuse_tensor_write(tx, NULL, one_two));
    OK(lfuse_tensor_write(tw, NULL, one_two));
    OK(lfuse_tensor_write(tb, NULL, one_two));
    lfuse_plan *plan = plan_by(LFUSE_PROVIDER_VENDOR, 0);
    RUN(plan, stream, BIND("x", tx), BIND("w", tw), BIND("b", tb), BIND("y", ty));
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(ty, NULL, y));
    ck_assert_uint_eq(y[0], 0x4400); /* 1 + 2 + 1 */
    ck_assert_uint_eq(y[1], 0x4800); /* 2 + 4 + 2 */
}

typedef struct job {
    lfuse_plan *plan;
    bool good;
} job;

static int chosen_algorithm(void)
{
    lfuse__stub_call call;

    ck_assert(lfuse__stub_call_get(1, &call));
    ck_assert_str_eq(call.kernel, "gemm");
    return call.candidate;
}

static const struct {
    bool native_graph, elapsed;
} clocks[] = { { true, true }, { true, false }, { false, true }, { false, false } };
enum { CLOCKS = sizeof clocks / sizeof clocks[0] };
/* Without epilogues there is one way, a product and a kernel, of which the product's algorithms are measured. */
static const lfuse_plan_options measuring = { .effort = LFUSE_EFFORT_MEASURE, .disable = LFUSE_NO_EPILOGUE,
                                              .provider = LFUSE_PROVIDER_VENDOR };

/* The first run of a size times its algorithms; then runs of any plan on the device do the product alone. */
TEST(products_are_measured_once)
{
    lfuse__stub.gemm_candidates = 3;
    dense_graph();
    for (int i = 0; i < CLOCKS; i++) {
        lfuse__stub.native_graph = clocks[i].native_graph;
        lfuse__stub.elapsed = clocks[i].elapsed;
        lfuse__stub.lazy = i % 2;
        reopen_device();
        lfuse_plan *plan = new_plan(dev, g, &measuring);
        uint64_t asked = lfuse__stub_calls(LFUSE__STUB_gemm_candidates);
        uint64_t captured = lfuse__stub_calls(LFUSE__STUB_graph_begin);
        check_dense(plan, 4, ANY);
        check_dense(plan, 9, ANY);
        ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_gemm_candidates) - asked, 2);
        ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_graph_begin) - captured, clocks[i].native_graph ? 6 : 0);
        check_dense(plan, 4, 2);
        check_dense(plan, 9, 2);
        drop(plan);
        plan = new_plan(dev, g, &measuring);
        check_dense(plan, 4, 2);
        ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_gemm_candidates) - asked, 2);
        drop(plan);
    }
    lfuse__stub_counters c = lfuse__stub_counters_now();
    ck_assert_uint_eq(c.graph_updates, 0);
}

TEST(the_fastest_algorithm_is_chosen)
{
    dense_graph();
    for (int i = 0; i < CLOCKS; i++)
        for (int fast = 0; fast < 7; fast += 3) {
            lfuse__stub.native_graph = clocks[i].native_graph;
            lfuse__stub.elapsed = clocks[i].elapsed;
            lfuse__stub.gemm_candidates = 7; /* more than reach the last rounds */
            lfuse__stub.gemm_slow = ~(1u << fast);
            reopen_device();
            lfuse_plan *plan = new_plan(dev, g, &measuring);
            check_dense(plan, 4, ANY);
            ck_assert_int_eq(chosen_algorithm(), fast);
            check_dense(plan, 4, 2);
            ck_assert_int_eq(chosen_algorithm(), fast);
            drop(plan);
        }
}

TEST(algorithms_that_fail_are_left_out)
{
    char message[1024];

    lfuse__stub.gemm_candidates = 4;
    dense_graph();
    for (int i = 0; i < CLOCKS; i++) {
        lfuse__stub.native_graph = clocks[i].native_graph;
        lfuse__stub.elapsed = clocks[i].elapsed;
        lfuse__stub.gemm_failing = 1u << 1 | 1u << 3; /* the fast ones */
        lfuse__stub.gemm_slow = 1u << 0 | 1u << 2;
        reopen_device();
        lfuse_plan *plan = new_plan(dev, g, &measuring);
        snprintf(message, sizeof message, "%s", lfuse_last_error());
        check_dense(plan, 4, ANY);
        ck_assert(chosen_algorithm() == 0 || chosen_algorithm() == 2);
        ck_assert_str_eq(lfuse_last_error(), message);
        drop(plan);
    }
}

TEST(no_algorithm_works)
{
    lfuse_tensor *a = ramp(SHAPE(4, 8), 0, 1), *b = ramp(SHAPE(8, 6), 0, 1), *d = tensor(SHAPE(4, 6));
    const lfuse_binding bind[] = { BIND("a", a), BIND("b", b), BIND("d", d) };

    lfuse__stub.gemm_failing = ~0u;
    lfuse_output(g, "d", lfuse_matmul(lfuse_input(g, "a", F32(4, 8)), lfuse_input(g, "b", F32(8, 6))));
    lfuse_plan *plan = new_plan(dev, g, &measuring);
    SAYS(LFUSE_ERR_UNSUPPORTED, lfuse_plan_run(plan, stream, bind, 3), "none of 2 algorithms works");
    lfuse__stub.gemm_failing = 0;
    OK(lfuse_plan_run(plan, stream, bind, 3));
    NEAR(values(d)[0], 0 * 0 + 1 * 6 + 2 * 12 + 3 * 18 + 4 * 24 + 5 * 30 + 6 * 36 + 7 * 42);
}

/* Every call fails once while it is timed: the run does without that algorithm, or fails with a message; no leaks. */
TEST(races_with_a_failing_call)
{
    static const lfuse__stub_slot slots[] = {
        LFUSE__STUB_gemm_prepare, LFUSE__STUB_gemm_run, LFUSE__STUB_graph_begin, LFUSE__STUB_graph_end,
        LFUSE__STUB_graph_launch, LFUSE__STUB_event_create, LFUSE__STUB_event_record, LFUSE__STUB_event_elapsed,
        LFUSE__STUB_stream_create, LFUSE__STUB_stream_sync, LFUSE__STUB_write, LFUSE__STUB_copy, LFUSE__STUB_alloc,
    };
    lfuse_status status;

    dense_graph();
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++)
        for (uint64_t n = 1; n < 40; n += 1 + n / 8) {
            reopen_device();
            lfuse_plan *plan = new_plan(dev, g, &measuring);
            lfuse_tensor *tx = ramp(SHAPE(4, 8), -1, 0.01f), *tw = ramp(SHAPE(8, 6), -2, 0.1f);
            lfuse_tensor *tb = ramp(SHAPE(6), 1, -0.5f), *ty = tensor(SHAPE(4, 6));
            lfuse__stub_fail(slots[i], n, false, LFUSE_ERR_DEVICE);
            status = lfuse_plan_run(plan, stream, BINDINGS(BIND("x", tx), BIND("w", tw), BIND("b", tb), BIND("y", ty)));
            lfuse__stub_no_failure();
            if (status) ck_assert_str_ne(lfuse_last_error(), "");
            else if (!lfuse__stub_fired()) n = 40;
            drop(tx), drop(tw), drop(tb), drop(ty);
            check_dense(plan, 5, ANY);
            drop(plan);
        }
}

static void *measure_a_product(void *p)
{
    job *j = p;

    j->good = run_dense(j->plan);
    return NULL;
}

TEST(threads_share_a_choice)
{
    uint64_t asked = lfuse__stub_calls(LFUSE__STUB_gemm_candidates);
    pthread_t threads[4];
    job jobs[4];

    lfuse__stub.gemm_slow = 1; /* the first waits so long that the others come */
    lfuse__stub.elapsed = false; /* else only its events would tell of it */
    dense_graph();
    for (int i = 0; i < 4; i++) jobs[i].plan = new_plan(dev, g, &measuring);
    for (int i = 0; i < 4; i++) ck_assert(!pthread_create(&threads[i], NULL, measure_a_product, &jobs[i]));
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        ck_assert(jobs[i].good);
    }
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_gemm_candidates) - asked, 1);
}

TEST_SUITE("run", CK_NOFORK)
