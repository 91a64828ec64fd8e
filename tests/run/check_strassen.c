/* SPDX-License-Identifier: Apache-2.0 */
/* Products by Strassen's algorithm on the stub. In this program the environment asks for one level. */
#include "bench/data.h"
#include "common/tune/wisdom.h"
#include "tests/run/rig.h"

enum { K = 20, N = 24 };

static lfuse_plan *plan_of(lfuse_strassen strassen, lfuse_provider provider)
{
    const lfuse_plan_options o = { .strassen = strassen, .provider = provider };

    return new_plan(dev, g, &o);
}

static void layer(lfuse_size m)
{
    lfuse_output(g, "y", lfuse_relu(lfuse_matmul(lfuse_input(g, "x", F32(m, K)), lfuse_frozen(g, "w", F32(K, N)))));
}

static void settings(void)
{
    setenv("LFUSE_STRASSEN", "1", 1);
    setenv("LFUSE_WISDOM", "0", 1);
}

TEST_CASE("strassen", .setup = open_stub, .teardown = close_stub, .before = settings)

TEST(options)
{
    const lfuse_plan_options none = { .strassen = (lfuse_strassen)5 };
    lfuse_plan *plan;

    layer(16);
    FAILS(LFUSE_ERR_INVALID, lfuse_plan_create(dev, g, &none, &plan));
    plan = plan_of(LFUSE_STRASSEN_OFF, LFUSE_PROVIDER_DEFAULT);
    ck_assert(!strstr(lfuse_plan_text(plan), "levels"));
    drop(plan);
    plan = plan_of(LFUSE_STRASSEN_TWO, LFUSE_PROVIDER_DEFAULT);
    ck_assert(strstr(lfuse_plan_text(plan), "(levels 2 16 x 24 x 20 as asked)"));
    drop(plan);
    plan = plan_of(LFUSE_STRASSEN_DEFAULT, LFUSE_PROVIDER_DEFAULT);
    ck_assert(strstr(lfuse_plan_text(plan), "(levels 1 16 x 24 x 20 as asked)"));
}

/* Whole numbers, which the algorithm adds up without error. */
static void check(lfuse_tensor *y, int64_t m, float from)
{
    const float *v = values(y);

    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < N; j++) {
            double sum = 0;
            for (int64_t l = 0; l < K; l++)
                sum += (double)((i * K + l) % 7 - 3) * (double)((l * N + j) % 5 - 2 + (int)from);
            ck_assert_msg(v[i * N + j] == (float)(sum > 0 ? sum : 0), "%d, %d: %g, not %g", (int)i, (int)j,
                          (double)v[i * N + j], sum);
        }
}

static lfuse_tensor *matrix(int64_t rows, int64_t columns, int modulus, float from)
{
    lfuse_tensor *t = tensor(SHAPE(rows, columns));
    float *host = malloc((size_t)(rows * columns) * sizeof *host);

    ck_assert(host != NULL);
    for (int64_t i = 0; i < rows * columns; i++) host[i] = (float)(i % modulus) + from;
    OK(lfuse_tensor_write(t, NULL, host));
    free(host);
    return t;
}

static void write_weights(lfuse_tensor *w, float from)
{
    float host[K * N];

    for (int i = 0; i < K * N; i++) host[i] = (float)(i % 5) - 2 + from;
    OK(lfuse_tensor_write(w, NULL, host));
}

/* Other sizes compile nothing; new weights are taken by a refresh; both kinds of products. */
static void run_sizes(lfuse_provider provider)
{
    static const int64_t sizes[] = { 16, 2, 33, 7, 1, 0 };
    const lfuse_size m = lfuse_size_var(g, "m", 0, 100);
    lfuse_tensor *w = matrix(K, N, 5, -2);

    layer(m);
    lfuse_plan *plan = plan_of(LFUSE_STRASSEN_ONE, provider);
    lfuse_device_counters before = counters_of(dev);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        lfuse_tensor *x = matrix(sizes[i], K, 7, -3), *y = tensor(SHAPE(sizes[i], N));
        const lfuse_binding bind[] = { BIND("x", x), BIND("w", w), BIND("y", y) };
        write_weights(w, 0);
        lfuse_instance *instance = new_instance(plan, stream, bind, 3);
        OK(lfuse_instance_run(instance, bind, 3));
        check(y, sizes[i], 0);
        uint64_t first = launches();
        OK(lfuse_instance_run(instance, bind, 3));
        ck_assert_uint_eq(launches() - first, sizes[i] ? 3 : 0);
        write_weights(w, 1);
        OK(lfuse_instance_refresh(instance));
        OK(lfuse_instance_run(instance, bind, 3));
        check(y, sizes[i], 1);
        drop(instance);
        drop(y), drop(x);
    }
    lfuse_device_counters after = counters_of(dev);
    ck_assert_uint_eq(after.compiles, before.compiles);
    drop(plan);
    drop(w);
}

TEST(sizes_natively) { run_sizes(LFUSE_PROVIDER_NATIVE); }
TEST(sizes_by_a_vendor) { run_sizes(LFUSE_PROVIDER_VENDOR); }

/* What the instance owns: 7 or 49 blocks of the weights, padded to whole vectors of a CPU. */
TEST(memory)
{
    static const lfuse_strassen levels[] = { LFUSE_STRASSEN_ONE, LFUSE_STRASSEN_TWO };
    static const uint64_t blocks[] = { 7 * 16 * 16, 49 * 16 * 16 };
    lfuse_tensor *x = matrix(16, K, 7, -3), *w = matrix(K, N, 5, -2), *y = tensor(SHAPE(16, N));
    const lfuse_binding bind[] = { BIND("x", x), BIND("w", w), BIND("y", y) };

    layer(16);
    for (int i = 0; i < 2; i++) {
        lfuse_plan *plan = plan_of(levels[i], LFUSE_PROVIDER_NATIVE);
        lfuse_instance *instance = new_instance(plan, stream, bind, 3);
        ck_assert_uint_ge(lfuse_instance_prepared(instance), 4 * blocks[i]);
        ck_assert_uint_lt(lfuse_instance_prepared(instance), 4 * blocks[i] + 1024);
        OK(lfuse_instance_run(instance, bind, 3));
        check(y, 16, 0);
        drop(instance);
    }
}

static lfuse_tensor *narrow_matrix(lfuse_type type, int64_t rows, int64_t columns, int modulus, int from)
{
    const int64_t shape[2] = { rows, columns };
    uint16_t host[K * N];

    ck_assert_int_le(rows * columns, K * N);
    for (int i = 0; i < rows * columns; i++) lfuse__data_put(type, host, i, i % modulus + from);
    lfuse_tensor *t = new_tensor(dev, type, 2, shape);
    OK(lfuse_tensor_write(t, NULL, host));
    return t;
}

/* Of f16 and bf16: factors take half as much, and whole numbers are exact there too. By both kinds of products. */
TEST_LOOP(narrow_factors, 0, 4)
{
    const lfuse_type type = _i & 1 ? LFUSE_BF16 : LFUSE_F16;
    lfuse_tensor *x, *w, *y;
    lfuse_binding bind[3];

    lfuse__stub.tuned = true;
    reopen_stub();
    x = narrow_matrix(type, 16, K, 7, -3), w = narrow_matrix(type, K, N, 5, -2), y = tensor(SHAPE(16, N));
    bind[0] = BIND("x", x), bind[1] = BIND("w", w), bind[2] = BIND("y", y);

    lfuse_output(g, "y", lfuse_relu(lfuse_matmul_as(lfuse_input(g, "x", TYPED(type, 16, K)),
                                                    lfuse_frozen(g, "w", TYPED(type, K, N)), LFUSE_F32,
                                                    LFUSE_PRECISION_FULL)));
    lfuse_plan *plan = plan_of(LFUSE_STRASSEN_TWO, _i & 2 ? LFUSE_PROVIDER_VENDOR : LFUSE_PROVIDER_NATIVE);
    ck_assert_msg(strstr(lfuse_plan_text(plan), "(levels 2 16 x 24 x 20 as asked)"), "%s", lfuse_plan_text(plan));
    lfuse_instance *instance = new_instance(plan, stream, bind, 3);
    ck_assert_uint_ge(lfuse_instance_prepared(instance), 2 * 49 * 16 * 16);
    ck_assert_uint_lt(lfuse_instance_prepared(instance), 2 * 49 * 16 * 16 + 1024);
    OK(lfuse_instance_run(instance, bind, 3));
    check(y, 16, 0);
}

/* All sizes of an immediate call vary, k too, which may be too short for the bound: it is what it is without. */
TEST(immediate_product)
{
    lfuse_tensor *a = matrix(18, K, 7, -3), *b = matrix(K, N, 5, -2), *c = tensor(SHAPE(18, N));
    const uint64_t before = launches();

    OK(lfuse_gemm(stream, 0, 0, 1, a, b, 0, c));
    ck_assert_uint_eq(launches() - before, 1);
}

static void know(const char *what, double us)
{
    lfuse__wisdom_note(dev, what, "plan", "rates", us);
}

/* What the device can is looked up in its wisdom; what is known better makes another plan of the same graph. */
TEST(rates_of_wisdom)
{
    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "x", F32(512, 512)), lfuse_frozen(g, "w", F32(512, 512))));
    lfuse_plan *plan = plan_of(LFUSE_STRASSEN_AUTO, LFUSE_PROVIDER_DEFAULT);
    ck_assert(strstr(lfuse_plan_text(plan), "(levels 0 512 x 512 x 512 unknown device)"));
    know("rate:copy:16777216", 5e3);
    know("rate:product:1024:f32", 5e4);
    lfuse_plan *better = plan_of(LFUSE_STRASSEN_AUTO, LFUSE_PROVIDER_DEFAULT);
    ck_assert_msg(strstr(lfuse_plan_text(better), "(levels 2 512 x 512 x 512 by estimate 1."), "%s",
                  lfuse_plan_text(better));
    drop(better);
    know("rate:product:1024:f32", 50);
    better = plan_of(LFUSE_STRASSEN_AUTO, LFUSE_PROVIDER_DEFAULT);
    ck_assert_msg(strstr(lfuse_plan_text(better), "(levels 0 512 x 512 x 512 by estimate 0."), "%s",
                  lfuse_plan_text(better));
}

/* Of each type by itself. */
TEST(rates_of_narrow_types)
{
    const int64_t shape[2] = { 512, 512 };

    lfuse__stub.tuned = true;
    reopen_stub();
    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "x", LFUSE_BF16, 2, shape),
                                      lfuse_frozen(g, "w", LFUSE_BF16, 2, shape)));
    know("rate:copy:16777216", 5e3);
    know("rate:product:1024:f32", 5e4);
    know("rate:product:1024:f16", 5e4);
    lfuse_plan *plan = plan_of(LFUSE_STRASSEN_AUTO, LFUSE_PROVIDER_DEFAULT);
    ck_assert(strstr(lfuse_plan_text(plan), "(levels 0 512 x 512 x 512 unknown device)"));
    drop(plan);
    know("rate:product:1024:bf16", 5e4);
    plan = plan_of(LFUSE_STRASSEN_AUTO, LFUSE_PROVIDER_DEFAULT);
    ck_assert_msg(strstr(lfuse_plan_text(plan), "(levels 2 512 x 512 x 512 by estimate 1."), "%s",
                  lfuse_plan_text(plan));
}

/* Timed once, where effort and device allow it; the second plan finds what the first one measured. */
TEST_ON_MACHINE(rates_that_are_measured)
{
    const lfuse_plan_options o = { .strassen = LFUSE_STRASSEN_AUTO, .effort = LFUSE_EFFORT_MEASURE };
    lfuse_graph *graph = lfuse_graph_create();

    lfuse_output(graph, "y", lfuse_matmul(lfuse_input(graph, "x", F32(8, 8)), lfuse_input(graph, "w", F32(8, 8))));
    for (int i = 0; i < 2; i++) {
        lfuse_device_counters before = counters_of(dev);
        lfuse_plan *plan = new_plan(dev, graph, &o);
        lfuse_device_counters after = counters_of(dev);
        ck_assert_msg(strstr(lfuse_plan_text(plan), "(levels 0 8 x 8 x 8 by estimate 0."), "%s",
                      lfuse_plan_text(plan));
        ck_assert_msg(i ? after.launches == before.launches : after.launches > before.launches, "%d: %llu, %llu", i,
                      (unsigned long long)before.launches, (unsigned long long)after.launches);
        drop(plan);
    }
    lfuse_graph_destroy(graph);
}

TEST_SUITE("run", CK_NOFORK)
