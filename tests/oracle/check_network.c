/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/data.h"
#include "bench/oracle.h"
#include "libfuse.h"
#include "tests/support/main.h"

enum { LAYERS = 4, WIDTH = 70, BATCH = 5, ELEMENTS = BATCH * WIDTH }; /* neither is a multiple of a block */

typedef struct problem {
    float x[ELEMENTS], w[LAYERS][WIDTH * WIDTH], b[LAYERS][WIDTH];
    const void *ws[LAYERS], *bs[LAYERS];
    lfuse__oracle_network net;
    long double value[ELEMENTS];
    double bound[ELEMENTS];
} problem;

static problem *make(int levels)
{
    problem *p = calloc(1, sizeof *p);
    ck_assert_ptr_nonnull(p);
    lfuse__data_uniform(LFUSE_F32, p->x, ELEMENTS, -1, 1, 1);
    for (int l = 0; l < LAYERS; l++) {
        lfuse__data_uniform(LFUSE_F32, p->w[l], WIDTH * WIDTH, -0.3, 0.3, 2 + (uint64_t)l);
        lfuse__data_uniform(LFUSE_F32, p->b[l], WIDTH, -0.1, 0.1, 20 + (uint64_t)l);
        p->ws[l] = p->w[l];
        p->bs[l] = p->b[l];
    }
    p->net = (lfuse__oracle_network){LFUSE_F32, LAYERS, levels, WIDTH, p->ws, p->bs};
    OK(lfuse__oracle_network_rows(&p->net, BATCH, p->x, p->value, p->bound));
    return p;
}

/* A device of f32, with sums in order. */
static void compute(const problem *p, float *y)
{
    float x[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) x[i] = p->x[i];
    for (int l = 0; l < LAYERS; l++) {
        for (int r = 0; r < BATCH; r++)
            for (int c = 0; c < WIDTH; c++) {
                float sum = 0;
                for (int k = 0; k < WIDTH; k++) sum += x[r * WIDTH + k] * p->w[l][k * WIDTH + c];
                y[r * WIDTH + c] = fmaxf(sum + p->b[l][c], 0);
            }
        for (int i = 0; i < ELEMENTS; i++) x[i] = y[i];
    }
}

TEST_CASE("network")

TEST(values_are_those_of_the_graph)
{
    static const char *const names[] = {"w0", "b0", "w1", "b1", "w2", "b2", "w3", "b3"};
    problem *p = make(0);
    lfuse_graph *g = lfuse_graph_create();
    lfuse__oracle_input inputs[1 + 2 * LAYERS] = {{.name = "x", .data = p->x, .shape = {BATCH, WIDTH}}};
    lfuse__oracle_run run;
    lfuse_value y = lfuse_input(g, "x", F32(BATCH, WIDTH));
    for (int l = 0; l < LAYERS; l++) {
        const lfuse_value w = lfuse_input(g, names[2 * l], F32(WIDTH, WIDTH));
        const lfuse_value b = lfuse_input(g, names[2 * l + 1], F32(WIDTH));
        y = lfuse_relu(lfuse_add(lfuse_matmul(y, w), b));
        inputs[1 + 2 * l] = (lfuse__oracle_input){.name = names[2 * l], .data = p->w[l], .shape = {WIDTH, WIDTH}};
        inputs[2 + 2 * l] = (lfuse__oracle_input){.name = names[2 * l + 1], .data = p->b[l], .shape = {WIDTH}};
    }
    lfuse_output(g, "y", y);
    OK(lfuse__oracle_run_graph(g, inputs, 1 + 2 * LAYERS, NULL, &run));
    for (int i = 0; i < ELEMENTS; i++) {
        ck_assert_ldouble_eq_tol(p->value[i], run.results[0].value[i], 1e-12L);
        if (p->value[i] > 0) ck_assert_double_lt(p->bound[i], run.results[0].bound[i]);
    }
    lfuse__oracle_free(&run);
    lfuse_graph_destroy(g);
    free(p);
}

TEST(a_device_of_f32_is_within_the_bounds)
{
    float y[ELEMENTS];
    problem *p = make(0);
    lfuse__oracle_report report;
    compute(p, y);
    ck_assert(lfuse__oracle_compare(LFUSE_F32, ELEMENTS, y, p->value, p->bound, &report));
    ck_assert_double_gt(report.max_ratio, 0.005); /* they are not so wide that nothing could fall out of them */
    free(p);
}

/* What is wrong in one weight of the first layer, by a thousandth, shows in the last. */
TEST(a_wrong_weight_is_found)
{
    float y[ELEMENTS];
    problem *p = make(0);
    lfuse__oracle_report report;
    for (int r = 0; r < WIDTH; r++) p->w[0][r * WIDTH + 3] *= 1.001f;
    compute(p, y);
    ck_assert(!lfuse__oracle_compare(LFUSE_F32, ELEMENTS, y, p->value, p->bound, &report));
    free(p);
}

/* ---- f16 and bf16 in memory, sums of f32 ---- */

typedef struct narrow {
    lfuse_type type;
    uint16_t x[ELEMENTS], w[LAYERS][WIDTH * WIDTH], b[LAYERS][WIDTH];
    long double value[ELEMENTS];
    double bound[ELEMENTS];
} narrow;

static narrow *make_narrow(lfuse_type type, int layers)
{
    const void *ws[LAYERS], *bs[LAYERS];
    narrow *p = calloc(1, sizeof *p);
    ck_assert_ptr_nonnull(p);
    p->type = type;
    lfuse__data_uniform(type, p->x, ELEMENTS, -1, 1, 1);
    for (int l = 0; l < LAYERS; l++) {
        lfuse__data_uniform(type, p->w[l], WIDTH * WIDTH, -0.3, 0.3, 2 + (uint64_t)l);
        lfuse__data_uniform(type, p->b[l], WIDTH, -0.1, 0.1, 20 + (uint64_t)l);
        ws[l] = p->w[l];
        bs[l] = p->b[l];
    }
    const lfuse__oracle_network net = {type, layers, 0, WIDTH, ws, bs};
    OK(lfuse__oracle_network_rows(&net, BATCH, p->x, p->value, p->bound));
    return p;
}

/* What a device stores and loads again. */
static float stored(lfuse_type type, double value)
{
    uint16_t bits;
    lfuse__data_put(type, &bits, 0, value);
    return (float)lfuse__data_get(type, &bits, 0);
}

/* What devices may do. */
typedef enum manner { FUSED, STEPS /* product and sum stored too */, NARROW_SUMS /* which they may not */ } manner;

static float sum_of(const narrow *p, const float *x, int layer, int column, manner how)
{
    float sum = 0;
    for (int k = 0; k < WIDTH; k++) {
        sum += x[k] * (float)lfuse__data_get(p->type, p->w[layer], k * WIDTH + column);
        if (how == NARROW_SUMS) sum = stored(p->type, sum);
    }
    return how == STEPS ? stored(p->type, sum) : sum;
}

static bool within(const narrow *p, int layers, manner how, double *ratio)
{
    float x[ELEMENTS], y[ELEMENTS];
    uint16_t result[ELEMENTS];
    lfuse__oracle_report report;
    for (int i = 0; i < ELEMENTS; i++) x[i] = (float)lfuse__data_get(p->type, p->x, i);
    for (int l = 0; l < layers; l++) {
        for (int i = 0; i < ELEMENTS; i++) {
            const float b = (float)lfuse__data_get(p->type, p->b[l], i % WIDTH);
            const float sum = sum_of(p, x + i / WIDTH * WIDTH, l, i % WIDTH, how) + b;
            y[i] = stored(p->type, fmaxf(how == STEPS ? stored(p->type, sum) : sum, 0));
        }
        for (int i = 0; i < ELEMENTS; i++) x[i] = y[i];
    }
    for (int i = 0; i < ELEMENTS; i++) lfuse__data_put(p->type, result, i, x[i]);
    const bool good = lfuse__oracle_compare(p->type, ELEMENTS, result, p->value, p->bound, &report);
    *ratio = report.max_ratio;
    return good;
}

static const lfuse_type narrow_types[] = {LFUSE_F16, LFUSE_BF16};

TEST_LOOP(narrow_devices_are_within_the_bounds, 0, 2)
{
    narrow *p = make_narrow(narrow_types[_i], LAYERS);
    double ratio;
    for (manner how = FUSED; how <= STEPS; how++) {
        ck_assert(within(p, LAYERS, how, &ratio));
        ck_assert_double_gt(ratio, 0.03); /* errors thirty times as large would be found */
    }
    free(p);
}

/* Small parts of a network of four layers, seen through the bounds of the last one. */
TEST_LOOP(what_is_wrong_in_narrow_types_is_found, 0, 2)
{
    narrow *p = make_narrow(narrow_types[_i], LAYERS), *other = make_narrow(narrow_types[_i], LAYERS);
    double ratio;
    for (int r = 0; r < WIDTH; r++) p->w[0][r * WIDTH + 3] = 0; /* one of 70 columns of the first layer */
    ck_assert(!within(p, LAYERS, FUSED, &ratio));
    memcpy(p->w[0], other->w[0], sizeof p->w[0]);
    ck_assert(within(p, LAYERS, FUSED, &ratio));
    for (int c = 0; c < WIDTH; c++) lfuse__data_put(p->type, p->b[LAYERS - 1], c, 0); /* the last bias is forgotten */
    ck_assert(!within(p, LAYERS, FUSED, &ratio));
    memcpy(p->b, other->b, sizeof p->b);
    memset(&p->w[1][(WIDTH - 1) * WIDTH], 0, WIDTH * sizeof p->w[1][0]); /* k is one too short in the second layer */
    ck_assert(!within(p, LAYERS, FUSED, &ratio));
    free(other);
    free(p);
}

TEST_LOOP(narrow_sums_are_found, 0, 2)
{
    narrow *p = make_narrow(narrow_types[_i], 1);
    double ratio;
    ck_assert(within(p, 1, FUSED, &ratio));
    ck_assert(!within(p, 1, NARROW_SUMS, &ratio));
    free(p);
}

TEST(half_types_round_every_layer)
{
    uint16_t x[ELEMENTS], w[WIDTH * WIDTH], b[WIDTH];
    const void *ws[] = {w}, *bs[] = {b};
    const lfuse__oracle_network net = {LFUSE_F16, 1, 0, WIDTH, ws, bs};
    long double value[ELEMENTS];
    double bound[ELEMENTS];
    lfuse__oracle_report report;
    uint16_t y[ELEMENTS];
    lfuse__data_uniform(LFUSE_F16, x, ELEMENTS, -1, 1, 1);
    lfuse__data_uniform(LFUSE_F16, w, WIDTH * WIDTH, -0.3, 0.3, 2);
    lfuse__data_uniform(LFUSE_F16, b, WIDTH, -0.1, 0.1, 3);
    OK(lfuse__oracle_network_rows(&net, BATCH, x, value, bound));
    for (int i = 0; i < ELEMENTS; i++) lfuse__data_put(LFUSE_F16, y, i, (double)value[i]);
    ck_assert(lfuse__oracle_compare(LFUSE_F16, ELEMENTS, y, value, bound, &report));
    ck_assert_double_gt(report.max_ratio, 0.01);
}

TEST(levels_add_the_normwise_bound)
{
    problem *plain = make(0), *one = make(1), *two = make(2);
    for (int i = 0; i < ELEMENTS; i++) {
        ck_assert_ldouble_eq(one->value[i], plain->value[i]);
        ck_assert_double_gt(one->bound[i], plain->bound[i]);
        ck_assert_double_gt(two->bound[i], 2 * one->bound[i]);
        ck_assert_double_lt(two->bound[i], 0.1); /* of what is about 1 */
    }
    free(two);
    free(one);
    free(plain);
}

TEST(f64_is_refused)
{
    problem *p = make(0);
    p->net.type = LFUSE_F64;
    ck_assert_int_eq(lfuse__oracle_network_rows(&p->net, BATCH, p->x, p->value, p->bound), LFUSE_ERR_TYPE);
    free(p);
}

TEST_SUITE("network", CK_FORK_GETENV)
