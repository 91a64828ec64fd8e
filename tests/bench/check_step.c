/* SPDX-License-Identifier: Apache-2.0 */
/* The steps in double precision that lfuse-bench verifies training by: their gradients are those of their losses. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/data.h"
#include "bench/step_block.h"
#include "bench/step_product.h"
#include "bench/step_truth.h"
#include "tests/support/main.h"

enum { MOST = 4096 };
/* Central differences err by about the square of it, and no argument of relu is that close to 0. */
static const double width = 0x1p-12;

static float *uniform(int64_t count, double low, double high, uint64_t seed)
{
    float *x = malloc((size_t)count * sizeof *x);
    ck_assert_ptr_nonnull(x);
    lfuse__data_uniform(LFUSE_F32, x, count, low, high, seed);
    return x;
}

/* A parameter in a random direction: to[i] = from[i] + side * width * u[i]. */
static void move(const float *from, const float *u, int64_t count, double side, float *to)
{
    for (int64_t i = 0; i < count; i++) to[i] = (float)((double)from[i] + side * width * (double)u[i]);
}

typedef struct problem {
    bench_chain chain;
    bench_blocks blocks;
    bool is_chain;
} problem;

static bench_step *step_of(const problem *p)
{
    bench_step *step;
    if (p->is_chain) ck_assert_int_eq(bench_chain_step(&p->chain, &step), LFUSE_OK);
    else ck_assert_int_eq(bench_blocks_step(&p->blocks, &step), LFUSE_OK);
    return step;
}

static double loss_of(const problem *p)
{
    bench_step *step = step_of(p);
    const double loss = step->loss;
    bench_step_destroy(step);
    return loss;
}

/* The derivative of the loss along a random direction of the parameter that *slot holds. */
static void check_gradient(const problem *p, const float **slot, const bench_gradient *g)
{
    const int64_t count = g->rows * g->width;
    const float *from = *slot;
    float moved[2][MOST], *u = uniform(count, -1, 1, 7);
    double slope = 0, loss[2];
    ck_assert_int_le(count, MOST);
    for (int k = 0; k < 2; k++) {
        move(from, u, count, k ? 1 : -1, moved[k]);
        *slot = moved[k];
        loss[k] = loss_of(p);
    }
    *slot = from;
    for (int64_t i = 0; i < count; i++) {
        slope += g->value[i] * ((double)moved[1][i] - (double)moved[0][i]);
        ck_assert(isfinite(g->bound[i]) && g->bound[i] >= 0 && g->bound[i] < 1e-3);
    }
    ck_assert_msg(fabs(loss[1] - loss[0] - slope) <= 2e-4 * fabs(slope) + 1e-9, "%g instead of %g", loss[1] - loss[0],
                  slope);
    free(u);
}

static void check_chain(bench_chain_end end)
{
    static const int64_t labels[6] = {0, 4, 2, 2, 1, 3};
    problem p = {.is_chain = true, .chain = {.layers = 3, .end = end, .batch = 6, .widths = {7, 9, 8, 5}}};
    bench_chain *c = &p.chain;
    c->x = uniform(6 * 7, -1, 1, 1);
    c->target = uniform(6 * 5, -1, 1, 2);
    c->labels = labels;
    for (int l = 0; l < c->layers; l++) {
        c->w[l] = uniform(c->widths[l] * c->widths[l + 1], -0.8, 0.8, 10 + (uint64_t)l);
        c->b[l] = uniform(c->widths[l + 1], -0.1, 0.1, 20 + (uint64_t)l);
    }
    bench_step *step = step_of(&p);
    ck_assert(step->loss > 0 && step->loss_bound > 0 && step->loss_bound < 1e-4);
    for (int l = 0; l < c->layers; l++) {
        check_gradient(&p, &c->w[l], &step->of[2 * l]);
        check_gradient(&p, &c->b[l], &step->of[2 * l + 1]);
    }
    for (int l = 0; l < c->layers; l++) {
        free((void *)(uintptr_t)c->w[l]);
        free((void *)(uintptr_t)c->b[l]);
    }
    bench_step_destroy(step);
    free((void *)(uintptr_t)c->x);
    free((void *)(uintptr_t)c->target);
}

TEST_CASE("step")

TEST(gradients_of_squares)
{
    check_chain(BENCH_CHAIN_MSE);
}

TEST(gradients_of_cross_entropy)
{
    check_chain(BENCH_CHAIN_CLASSES);
}

TEST(gradients_of_blocks)
{
    problem p = {.blocks = {.width = 12, .heads = 3, .tokens = 5, .batch = 2, .count = 2}};
    bench_blocks *b = &p.blocks;
    b->x = uniform(2 * 5 * 12, -1, 1, 1);
    b->target = uniform(2 * 5 * 12, -1, 1, 2);
    for (int i = 0; i < 2 * BENCH_BLOCK_PARAMETERS; i++) {
        const bench_block_shape of = bench_block_shape_of(b, (bench_block_parameter)(i % BENCH_BLOCK_PARAMETERS));
        b->parameters[i / BENCH_BLOCK_PARAMETERS][i % BENCH_BLOCK_PARAMETERS] =
            uniform(of.shape[0] * (of.rank == 2 ? of.shape[1] : 1), of.low, of.high, 30 + (uint64_t)i);
    }
    bench_step *step = step_of(&p);
    ck_assert(step->loss > 0 && step->loss_bound > 0 && step->loss_bound < 1e-4);
    for (int i = 0; i < step->count; i++)
        check_gradient(&p, &b->parameters[i / BENCH_BLOCK_PARAMETERS][i % BENCH_BLOCK_PARAMETERS], &step->of[i]);
    for (int i = 0; i < step->count; i++)
        free((void *)(uintptr_t)b->parameters[i / BENCH_BLOCK_PARAMETERS][i % BENCH_BLOCK_PARAMETERS]);
    bench_step_destroy(step);
    free((void *)(uintptr_t)b->x);
    free((void *)(uintptr_t)b->target);
}

/* The gradients of weights and bias as a plain loop over the first samples sums them in float. */
static void sum_samples(const bench_chain *c, int64_t samples, float *gw, float *gb)
{
    const int64_t k = c->widths[0], n = c->widths[1];
    memset(gw, 0, (size_t)(k * n) * sizeof *gw);
    memset(gb, 0, (size_t)n * sizeof *gb);
    for (int64_t s = 0; s < samples; s++)
        for (int64_t j = 0; j < n; j++) {
            for (int64_t i = 0; i < k; i++) gw[i * n + j] += c->x[s * k + i] * c->target[s * n + j];
            gb[j] += c->target[s * n + j];
        }
}

static int64_t beyond(const bench_gradient *g, const float *got)
{
    int64_t count = 0;
    for (int64_t i = 0; i < g->rows * g->width; i++) count += !(fabs((double)got[i] - g->value[i]) <= g->bound[i]);
    return count;
}

/* Elements beyond their bounds where `samples` of the chain's are summed. */
static int64_t wrong_elements(const bench_chain *c, const bench_step *step, int64_t samples)
{
    float gw[MOST], gb[MOST];
    ck_assert_int_le(c->widths[0] * c->widths[1], MOST);
    sum_samples(c, samples, gw, gb);
    return beyond(&step->of[0], gw) + beyond(&step->of[1], gb);
}

/*
 * The errors of a plain sum grow faster with the number of terms where these are of one sign: they have to be within
 * the bounds all the same, and no sum that lacks a term.
 */
static void check_sums(double low, int64_t batch)
{
    enum { K = 24, N = 32 };
    float *x = uniform(batch * K, 0.5, 1, 1), *target = uniform(batch * N, low, 1, 2), *w = uniform(K * N, -1, 1, 3);
    const bench_chain c = {.layers = 1, .end = BENCH_CHAIN_SEED, .batch = batch, .widths = {K, N}, .x = x,
                           .target = target, .w = {w}, .b = {w}};
    for (int64_t j = 0; j < N; j++) target[(batch - 1) * N + j] = 1;
    bench_step *step;
    ck_assert_int_eq(bench_chain_step(&c, &step), LFUSE_OK);
    ck_assert_int_eq(step->of[0].rows, K);
    ck_assert_int_eq(wrong_elements(&c, step, batch), 0);
    ck_assert_int_eq(wrong_elements(&c, step, batch - 1), K * N + N);
    bench_step_destroy(step);
    free(x);
    free(target);
    free(w);
}

static const int64_t batches[] = {5, 64, 1000, 4096, 16384};

TEST_LOOP(sums_of_one_sign, 0, sizeof batches / sizeof *batches)
{
    check_sums(0.5, batches[_i]);
}

TEST_LOOP(sums_of_any_signs, 0, sizeof batches / sizeof *batches)
{
    check_sums(-1, batches[_i]);
}

/* Sums of small integers are exact, in any order. */
TEST(products_of_any_sizes)
{
    static const int64_t sizes[][3] = {{1, 1, 1}, {5, 33, 7}, {4, 32, 64}, {9, 70, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
        double a[600], b[2100], c[700];
        lfuse__data_integers(LFUSE_F64, a, m * k, 9, 1);
        lfuse__data_integers(LFUSE_F64, b, n * k, 9, 2);
        const bench_matrix left = {a, k, 1}, right = {b, 1, k}; /* b is stored transposed */
        ck_assert_int_eq(bench_product(m, n, k, left, right, c), LFUSE_OK);
        for (int64_t r = 0; r < m; r++)
            for (int64_t s = 0; s < n; s++) {
                double sum = 0;
                for (int64_t q = 0; q < k; q++) sum += a[r * k + q] * b[s * k + q];
                ck_assert(c[r * n + s] == sum);
            }
    }
}

TEST_SUITE("step", CK_FORK_GETENV)
