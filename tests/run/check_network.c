/* SPDX-License-Identifier: Apache-2.0 */
/* Products that follow each other in one launch: on the stub, whose groups are coroutines, and on every device. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/run/rig.h"

enum { MOST_LAYERS = 8, GROUPS = 8 };

/*
 * A network of widths[0] x ... x widths[layers], and what stands for its tensors. Its layers' ends by letters, the last
 * for all that follow: of the product p, r: relu(p + b), g: gelu(p + b), l: p + b, n: p, s: p s + b.
 */
typedef struct network {
    int layers;
    int64_t rows, widths[MOST_LAYERS + 1];
    const char *ends;
    bool turned; /* weights are stored [out, in] */
    bool halved; /* half of them is multiplied with, which is computed once where they are frozen */
    lfuse_tensor *x, *y, *w[MOST_LAYERS], *b[MOST_LAYERS], *s[MOST_LAYERS];
} network;

static uint64_t seed;

static double next(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 33) / (double)(1u << 31) * 2 - 1;
}

static lfuse_tensor *noise(int rank, const int64_t *shape, double scale)
{
    static float numbers[1 << 16];
    lfuse_tensor *t = tensor(rank, shape);
    int64_t count = 1, i;

    for (i = 0; i < rank; i++) count *= shape[i];
    ck_assert_int_le(count, 1 << 16);
    for (i = 0; i < count; i++) numbers[i] = (float)(next() * scale);
    OK(lfuse_tensor_write(t, NULL, numbers));
    return t;
}

static char end_of(const network *n, int layer)
{
    const int count = (int)strlen(n->ends);

    return n->ends[layer < count ? layer : count - 1];
}

static lfuse_value add_end(const network *n, int layer, lfuse_value sum)
{
    const lfuse_size *shape = LFUSE_DIMS(n->widths[layer + 1]);
    char b[8], s[8];

    snprintf(b, sizeof b, "b%d", layer), snprintf(s, sizeof s, "s%d", layer);
    if (end_of(n, layer) == 'n') return sum;
    if (end_of(n, layer) == 's') sum = lfuse_mul(sum, lfuse_frozen(g, s, LFUSE_F32, 1, shape));
    sum = lfuse_add(sum, lfuse_frozen(g, b, LFUSE_F32, 1, shape));
    return end_of(n, layer) == 'r' ? lfuse_relu(sum) : end_of(n, layer) == 'g' ? lfuse_gelu(sum) : sum;
}

static double end_at(const network *n, int layer, double sum, double b, double s)
{
    switch (end_of(n, layer)) {
    case 'n': return sum;
    case 's': return sum * s + b;
    case 'r': return sum + b > 0 ? sum + b : 0;
    case 'g': return 0.5 * (sum + b) * (1 + erf((sum + b) / sqrt(2.0)));
    default: return sum + b;
    }
}

/* The graph is made anew, for any number of rows. */
static void graph_of(const network *n, bool frozen)
{
    lfuse_value x;

    lfuse_graph_destroy(g);
    g = lfuse_graph_create();
    x = lfuse_input(g, "x", LFUSE_F32, 2, LFUSE_DIMS(lfuse_size_var(g, "batch", 0, 4096), n->widths[0]));
    for (int i = 0; i < n->layers; i++) {
        const lfuse_size *shape = LFUSE_DIMS(n->widths[i + n->turned], n->widths[i + !n->turned]);
        lfuse_value weights;
        char w[8];
        snprintf(w, sizeof w, "w%d", i);
        weights = frozen ? lfuse_frozen(g, w, LFUSE_F32, 2, shape) : lfuse_input(g, w, LFUSE_F32, 2, shape);
        if (n->halved) weights = lfuse_mul(weights, lfuse_constant(g, 0.5));
        x = add_end(n, i, lfuse_matmul(x, n->turned ? lfuse_transpose(weights) : weights));
    }
    lfuse_output(g, "y", x);
}

static void tensors_of(network *n)
{
    n->x = noise(2, SHAPE(n->rows, n->widths[0]), 1);
    n->y = tensor(2, SHAPE(n->rows, n->widths[n->layers]));
    for (int i = 0; i < n->layers; i++) {
        n->w[i] = noise(2, SHAPE(n->widths[i + n->turned], n->widths[i + !n->turned]), sqrt(6 / (double)n->widths[i]));
        n->b[i] = noise(1, SHAPE(n->widths[i + 1]), 0.1);
        n->s[i] = noise(1, SHAPE(n->widths[i + 1]), 1);
    }
}

static void free_tensors(network *n)
{
    lfuse_tensor_destroy(n->x), lfuse_tensor_destroy(n->y);
    for (int i = 0; i < n->layers; i++)
        lfuse_tensor_destroy(n->w[i]), lfuse_tensor_destroy(n->b[i]), lfuse_tensor_destroy(n->s[i]);
}

static int bind_all(const network *n, lfuse_binding *bind)
{
    static const char *const w[] = { "w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7" };
    static const char *const b[] = { "b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7" };
    static const char *const s[] = { "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7" };
    int count = 0;

    bind[count++] = lfuse_bind_tensor("x", n->x);
    for (int i = 0; i < n->layers; i++) {
        bind[count++] = lfuse_bind_tensor(w[i], n->w[i]);
        if (end_of(n, i) != 'n') bind[count++] = lfuse_bind_tensor(b[i], n->b[i]);
        if (end_of(n, i) == 's') bind[count++] = lfuse_bind_tensor(s[i], n->s[i]);
    }
    bind[count++] = lfuse_bind_tensor("y", n->y);
    return count;
}

static void run_on(const network *n, lfuse_plan *plan, lfuse_stream *s)
{
    lfuse_binding bind[3 * MOST_LAYERS + 2];
    const int count = bind_all(n, bind);

    OK(lfuse_plan_run(plan, s, bind, count));
}

static float *copy_of(const lfuse_tensor *t, int64_t count)
{
    float *copy = malloc((size_t)count * sizeof *copy + 1);

    ck_assert(copy != NULL);
    memcpy(copy, values(t), (size_t)count * sizeof *copy);
    return copy;
}

/* The result within what products of this length may differ by, times what the layers behind make of it. */
static void check(const network *n)
{
    const int64_t last = n->widths[n->layers];
    float *x = copy_of(n->x, n->rows * n->widths[0]);
    double *now = malloc((size_t)n->rows * 4096 * sizeof *now);
    double *next_one = malloc((size_t)n->rows * 4096 * sizeof *now);

    ck_assert(now && next_one);
    for (int64_t i = 0; i < n->rows * n->widths[0]; i++) now[i] = x[i];
    for (int l = 0; l < n->layers; l++) {
        const int64_t k = n->widths[l], m = n->widths[l + 1];
        float *w = copy_of(n->w[l], k * m), *b = copy_of(n->b[l], m), *s = copy_of(n->s[l], m);
        for (int64_t i = 0; i < n->rows; i++)
            for (int64_t j = 0; j < m; j++) {
                double sum = 0;
                for (int64_t e = 0; e < k; e++) sum += now[i * k + e] * w[n->turned ? j * k + e : e * m + j];
                next_one[i * m + j] = end_at(n, l, n->halved ? sum / 2 : sum, b[j], s[j]);
            }
        memcpy(now, next_one, (size_t)(n->rows * m) * sizeof *now);
        free(w), free(b), free(s);
    }
    const float *y = values(n->y);
    for (int64_t i = 0; i < n->rows * last; i++) NEAR(y[i], now[i]);
    free(next_one), free(now), free(x);
}

static void begin(void)
{
    lfuse__stub.addresses = true, lfuse__stub.vector_lanes = false;
    lfuse__stub.max_argument_bytes = 4096;
    lfuse__stub.resident_groups = GROUPS;
    reopen_stub();
}

START_TEST(shapes)
{
    static const struct { int layers; int64_t rows, widths[MOST_LAYERS + 1]; const char *ends; } cases[] = {
        { 3, 1, { 12, 20, 37, 29 }, "r" }, { 2, 4, { 33, 38, 22 }, "g" }, { 4, 9, { 5, 56, 56, 56, 23 }, "rrrl" },
        { 8, 1, { 28, 28, 28, 28, 28, 28, 28, 28, 28 }, "nsl" }, { 3, 17, { 40, 24, 61, 30 }, "r" },
        { 2, 5, { 300, 24, 30 }, "r" }, { 3, 1, { 1100, 40, 40, 30 }, "r" }, { 3, 16, { 272, 40, 40, 24 }, "g" },
        { 5, 2, { 20, 31, 16, 30, 24, 10 }, "rgsgn" }, { 3, 9, { 64, 52, 56, 10 }, "srl" },
    };

    begin();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        network n = { .layers = cases[c].layers, .rows = cases[c].rows, .ends = cases[c].ends, .turned = _i };
        uint64_t before;
        lfuse_plan *plan;
        memcpy(n.widths, cases[c].widths, sizeof n.widths);
        graph_of(&n, true);
        tensors_of(&n);
        plan = plan_with(0);
        ck_assert_msg(strncmp(lfuse_plan_text(plan), "(network ", 9) == 0, "%s", lfuse_plan_text(plan));
        for (int i = 0; i < 3; i++) {
            OK(lfuse_tensor_fill(n.y, NULL, NAN));
            before = launches();
            run_on(&n, plan, stream);
            if (i) ck_assert_msg(launches() - before == 1, "case %zu: %llu launches", c,
                                 (unsigned long long)(launches() - before));
            check(&n);
        }
        lfuse_plan_destroy(plan);
        free_tensors(&n);
    }
}
END_TEST

static void check_step_by_step(int64_t rows, int64_t width, unsigned disable, uint64_t count)
{
    network n = { .layers = 3, .rows = rows, .widths = { 12, width, width, 30 }, .ends = "rrl" };
    uint64_t before;
    lfuse_plan *plan;

    graph_of(&n, true);
    tensors_of(&n);
    plan = plan_with(disable);
    run_on(&n, plan, stream);
    before = launches();
    run_on(&n, plan, stream);
    ck_assert_uint_eq(launches() - before, count);
    check(&n);
    lfuse_plan_destroy(plan);
    free_tensors(&n);
}

/* Too many rows, or groups, or the pass left out: the stages that a network stands for. */
START_TEST(declined)
{
    begin();
    check_step_by_step(3, 36, 0, 1);
    check_step_by_step(65, 36, 0, 3);
    check_step_by_step(64, 70, 0, 3); /* more than GROUPS */
    check_step_by_step(3, 36, LFUSE_NO_NETWORK, 3);
    check_step_by_step(0, 36, 0, 0);
    lfuse__stub.resident_groups = 0;
    reopen_stub();
    check_step_by_step(3, 36, 0, 3);
}
END_TEST

/* Timed against its layers, whichever of the two it is then; the race leaves no trace in what is computed. */
START_TEST(measured)
{
    const lfuse_plan_options options = { .effort = LFUSE_EFFORT_MEASURE };
    static const int64_t rows[] = { 3, 65 };

    begin();
    for (int c = 0; c < 2; c++) {
        network n = { .layers = 3, .rows = rows[c], .widths = { 36, 36, 36, 36 }, .ends = "r" };
        lfuse_plan *plan;
        uint64_t before;
        graph_of(&n, true);
        tensors_of(&n);
        OK(lfuse_plan_create(dev, g, &options, &plan));
        for (int i = 0; i < 3; i++) {
            OK(lfuse_tensor_fill(n.y, NULL, NAN));
            before = launches();
            run_on(&n, plan, stream);
            before = launches() - before;
            if (!i) ck_assert_uint_gt(before, 20);
            else ck_assert_msg(before >= 3 || (before == 1 && !c), "%d launches", (int)before);
            check(&n);
        }
        lfuse_plan_destroy(plan);
        free_tensors(&n);
    }
}
END_TEST

static void check_parts(const network *made, uint64_t count)
{
    network n = *made;
    uint64_t before;
    lfuse_plan *plan;

    graph_of(&n, true);
    tensors_of(&n);
    plan = plan_with(0);
    for (int i = 0; i < 2; i++) {
        OK(lfuse_tensor_fill(n.y, NULL, NAN));
        before = launches();
        run_on(&n, plan, stream);
        if (i) ck_assert_uint_eq(launches() - before, count);
        check(&n);
    }
    lfuse_plan_destroy(plan);
    free_tensors(&n);
}

/* What is too wide for a launch is left to others; those before it and behind it share one each. */
START_TEST(parts)
{
    begin();
    check_parts(&(network){ .layers = 3, .rows = 1, .widths = { 12, 20, 24, 300 }, .ends = "rrl" }, 2);
    check_parts(&(network){ .layers = 4, .rows = 1, .widths = { 12, 20, 300, 24, 20 }, .ends = "r" }, 3);
    check_parts(&(network){ .layers = 5, .rows = 3, .widths = { 12, 20, 24, 300, 20, 12 }, .ends = "rgrgr" }, 3);
}
END_TEST

/* Rows of x, y and the weights begin anywhere; weights of some layers that lie otherwise are for others. */
START_TEST(strides)
{
    network n = { .layers = 2, .rows = 3, .widths = { 10, 32, 29 }, .ends = "rl" }, odd;
    lfuse_tensor *big[4], *along;
    uint64_t before;
    lfuse_plan *plan;

    begin();
    graph_of(&n, false);
    tensors_of(&n);
    plan = plan_with(0);
    odd = n;
    for (int i = 0; i < 4; i++) big[i] = noise(1, SHAPE(i == 3 ? 1100 : 400), 1);
    odd.w[1] = noise(2, SHAPE(32, 29), 0.4);
    OK(lfuse_tensor_view(big[0], 2, SHAPE(3, 10), SHAPE(-21, 2), 60, &odd.x));
    OK(lfuse_tensor_view(big[1], 2, SHAPE(10, 32), SHAPE(33, 1), 3, &odd.w[0]));
    OK(lfuse_tensor_view(big[2], 2, SHAPE(3, 29), SHAPE(90, 2), 1, &odd.y));
    run_on(&odd, plan, stream);
    before = launches();
    run_on(&odd, plan, stream);
    ck_assert_uint_eq(launches() - before, 1);
    check(&odd);
    OK(lfuse_tensor_view(big[1], 2, SHAPE(10, 32), SHAPE(1, 10), 3, &along));
    lfuse_tensor_destroy(odd.w[0]);
    odd.w[0] = along;
    run_on(&odd, plan, stream);
    before = launches();
    run_on(&odd, plan, stream);
    ck_assert_uint_gt(launches() - before, 1);
    check(&odd);
    lfuse_tensor_destroy(odd.w[1]);
    OK(lfuse_tensor_view(big[3], 2, SHAPE(32, 29), SHAPE(1, 35), 7, &odd.w[1]));
    run_on(&odd, plan, stream);
    before = launches();
    run_on(&odd, plan, stream);
    ck_assert_uint_eq(launches() - before, 1);
    check(&odd);
    lfuse_plan_destroy(plan);
    lfuse_tensor_destroy(odd.x), lfuse_tensor_destroy(odd.w[0]), lfuse_tensor_destroy(odd.w[1]);
    lfuse_tensor_destroy(odd.y);
    for (int i = 0; i < 4; i++) lfuse_tensor_destroy(big[i]);
    free_tensors(&n);
}
END_TEST

static float *run_and_copy(const network *n, lfuse_plan *plan, lfuse_stream *s)
{
    run_on(n, plan, s);
    OK(lfuse_stream_synchronize(s));
    return copy_of(n->y, n->rows * n->widths[n->layers]);
}

/*
 * Of one plan: runs on two streams, of other tensors, of a recording that is replayed on one stream between runs on
 * another, after the frozen weights were changed; equal inputs give equal bits.
 */
static void check_many_ways(void)
{
    network n = { .layers = 4, .rows = 5, .widths = { 24, 32, 32, 40, 28 }, .ends = "rrgl" }, other;
    const size_t bytes = 5 * 28 * sizeof(float);
    lfuse_stream *second;
    lfuse_recording *recording;
    float *first, *again;
    lfuse_plan *plan;

    g = g ? g : lfuse_graph_create();
    graph_of(&n, false);
    tensors_of(&n);
    other = n;
    other.x = noise(2, SHAPE(5, 24), 1), other.y = tensor(2, SHAPE(5, 28));
    other.w[1] = noise(2, SHAPE(32, 32), 0.4);
    OK(lfuse_stream_create(dev, &second));
    plan = plan_with(0);
    first = run_and_copy(&n, plan, stream);
    check(&n);
    OK(lfuse_record_begin(stream));
    run_on(&n, plan, stream);
    run_on(&other, plan, stream);
    OK(lfuse_record_end(stream, &recording));
    for (int i = 0; i < 6; i++) {
        OK(lfuse_tensor_fill(n.y, NULL, NAN));
        again = run_and_copy(i & 1 ? &other : &n, plan, i & 2 ? second : stream);
        ck_assert((memcmp(first, again, bytes) != 0) == (i & 1));
        free(again);
        check(i & 1 ? &other : &n);
        OK(lfuse_tensor_fill(n.y, NULL, NAN));
        OK(lfuse_recording_replay(recording, i & 1 ? second : stream, NULL, 0));
        OK(lfuse_stream_synchronize(i & 1 ? second : stream));
        again = copy_of(n.y, 5 * 28);
        ck_assert(!memcmp(first, again, bytes));
        free(again);
        check(&other);
    }
    free(first);
    lfuse_recording_destroy(recording);
    lfuse_plan_destroy(plan);
    lfuse_stream_destroy(second);
    lfuse_tensor_destroy(other.x), lfuse_tensor_destroy(other.y), lfuse_tensor_destroy(other.w[1]);
    free_tensors(&n);
    lfuse_graph_destroy(g);
    g = NULL;
}

/* Weights that change: read as they are, or when the instance is told, where something is made of them once. */
static void check_refresh(bool turned, bool halved)
{
    network n = { .layers = 3, .rows = 4, .widths = { 20, 32, 24, 12 }, .ends = "rrl", .turned = turned,
                  .halved = halved };
    lfuse_binding bind[3 * MOST_LAYERS + 2];
    lfuse_instance *instance;
    lfuse_plan *plan;
    int count;

    g = g ? g : lfuse_graph_create();
    graph_of(&n, true);
    tensors_of(&n);
    count = bind_all(&n, bind);
    plan = plan_with(0);
    OK(lfuse_instance_create(plan, stream, bind, count, &instance));
    ck_assert((lfuse_instance_prepared(instance) != 0) == halved);
    for (int i = 0; i < 5; i++) { /* as a launch, and as a graph of one */
        float weights[32 * 24], *first, *again;
        OK(lfuse_instance_run(instance, bind, count));
        OK(lfuse_stream_synchronize(stream));
        check(&n);
        first = copy_of(n.y, 4 * 12);
        for (int k = 0; k < 32 * 24; k++) weights[k] = (float)(next() * 0.4);
        OK(lfuse_tensor_write(n.w[1], stream, weights));
        if (halved) {
            OK(lfuse_instance_run(instance, bind, count));
            OK(lfuse_stream_synchronize(stream));
            again = copy_of(n.y, 4 * 12);
            ck_assert(!memcmp(first, again, 4 * 12 * sizeof *first));
            free(again);
        }
        OK(lfuse_instance_refresh(instance));
        free(first);
    }
    OK(lfuse_instance_run(instance, bind, count));
    OK(lfuse_stream_synchronize(stream));
    check(&n);
    lfuse_instance_destroy(instance);
    lfuse_plan_destroy(plan);
    free_tensors(&n);
    lfuse_graph_destroy(g);
    g = NULL;
}

START_TEST(refreshed)
{
    begin();
    check_refresh(_i & 1, _i & 2);
}
END_TEST

static void check_refreshes(void)
{
    check_refresh(true, true);
}

START_TEST(refreshed_on_devices)
{
    if (!on_each_device(check_refreshes)) TEST_SKIP("no device");
}
END_TEST

START_TEST(many_ways)
{
    lfuse__stub.native_graph = _i;
    begin();
    check_many_ways();
}
END_TEST

START_TEST(many_ways_on_devices)
{
    if (!on_each_device(check_many_ways)) TEST_SKIP("no device");
}
END_TEST

/* Wider than one launch of the stub can hold, on devices that say which groups run at the same time. */
static void check_wide(void)
{
    static const struct { int64_t rows, width; bool turned; } cases[] = {
        { 1, 256, false }, { 7, 100, false }, { 33, 64, true }, { 64, 128, false }, { 2, 250, false },
        { 40, 256, false }, { 1, 256, true }, { 7, 250, true }, { 40, 256, true },
    };
    const unsigned resident = lfuse__device_facts(dev)->resident_groups;

    for (size_t c = 0; c < sizeof cases / sizeof *cases && resident; c++) {
        network n = { .layers = 3, .rows = cases[c].rows, .turned = cases[c].turned,
                      .ends = c & 1 ? "rrl" : "r" };
        uint64_t before;
        lfuse_plan *plan;
        for (int i = 0; i <= n.layers; i++) n.widths[i] = cases[c].width;
        g = g ? g : lfuse_graph_create();
        graph_of(&n, true);
        tensors_of(&n);
        plan = plan_with(0);
        run_on(&n, plan, stream);
        for (int i = 0; i < 200; i++) {
            before = launches();
            run_on(&n, plan, stream);
            ck_assert_uint_eq(launches() - before, 1);
        }
        check(&n);
        lfuse_plan_destroy(plan);
        free_tensors(&n);
    }
    lfuse_graph_destroy(g);
    g = NULL;
}

START_TEST(wide_on_devices)
{
    if (!on_each_device(check_wide)) TEST_SKIP("no device");
}
END_TEST

static Suite *suite_network(void)
{
    Suite *s = suite_create("run");
    TCase *c = tcase_create("networks");

    tcase_add_checked_fixture(c, open_stub, close_stub);
    tcase_set_timeout(c, 0);
    tcase_add_loop_test(c, shapes, 0, 2);
    tcase_add_test(c, declined);
    tcase_add_test(c, measured);
    tcase_add_test(c, parts);
    tcase_add_test(c, strides);
    tcase_add_loop_test(c, refreshed, 0, 4);
    tcase_add_test(c, refreshed_on_devices);
    tcase_add_loop_test(c, many_ways, 0, 2);
    tcase_add_test(c, many_ways_on_devices);
    tcase_add_test(c, wide_on_devices);
    suite_add_tcase(s, c);
    return s;
}

TEST_MAIN(CK_NOFORK, suite_network)
