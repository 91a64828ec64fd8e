/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/step_block.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bench/data.h"
#include "bench/step_product.h"
#include "common/base/error.h"

enum { SAMPLES = 3, MOST_ARRAYS = 512 };
static const double unit = 0x1p-24;

bench_block_shape bench_block_shape_of(const bench_blocks *b, bench_block_parameter which)
{
    const int64_t n = b->width;
    const double scale = sqrt(3.0 / (double)n), half = scale / 2;
    const bench_block_shape shapes[BENCH_BLOCK_PARAMETERS] = {
        [BENCH_BLOCK_SCALE1] = {"scale1", 1, {n, 0}, 0.5, 1.5}, [BENCH_BLOCK_SHIFT1] = {"shift1", 1, {n, 0}, -0.1, 0.1},
        [BENCH_BLOCK_WQ] = {"wq", 2, {n, n}, -scale, scale},    [BENCH_BLOCK_WK] = {"wk", 2, {n, n}, -scale, scale},
        [BENCH_BLOCK_WV] = {"wv", 2, {n, n}, -scale, scale},    [BENCH_BLOCK_WO] = {"wo", 2, {n, n}, -scale, scale},
        [BENCH_BLOCK_BO] = {"bo", 1, {n, 0}, -0.1, 0.1},        [BENCH_BLOCK_SCALE2] = {"scale2", 1, {n, 0}, 0.5, 1.5},
        [BENCH_BLOCK_SHIFT2] = {"shift2", 1, {n, 0}, -0.1, 0.1},
        [BENCH_BLOCK_W1] = {"w1", 2, {n, 4 * n}, -scale, scale},
        [BENCH_BLOCK_B1] = {"b1", 1, {4 * n, 0}, -0.1, 0.1},    [BENCH_BLOCK_W2] = {"w2", 2, {4 * n, n}, -half, half},
        [BENCH_BLOCK_B2] = {"b2", 1, {n, 0}, -0.1, 0.1}};
    return shapes[which];
}

/* A layernorm: what goes on from it, its argument centred and divided by its deviation, and 1 over that of each row. */
typedef struct norm {
    double *h, *centred, *r;
} norm;

/* What a block keeps for the way back. */
typedef struct block {
    const double *w[BENCH_BLOCK_PARAMETERS];
    double *g[BENCH_BLOCK_PARAMETERS];
    norm first, second;
    double *q, *k, *v, *shares, *mixed, *x, *u, *a; /* x: between attention and what follows */
} block;

/* One evaluation of the step, with random roundings or without. */
typedef struct evaluation {
    const bench_blocks *b;
    int64_t rows;
    bool noisy;
    uint64_t seed;
    lfuse__random random;
    block blocks[BENCH_MOST_BLOCKS];
    double *x, *dx, *dh, *da, *dq, *dk, *dv, *dmixed;
    double loss;
    int arrays;
    double *array[MOST_ARRAYS];
    atomic_bool failed; /* no memory */
} evaluation;

static double *take(evaluation *e, int64_t count)
{
    double *made = e->arrays < MOST_ARRAYS ? calloc((size_t)count, sizeof *made) : NULL;
    if (!made) atomic_store(&e->failed, true);
    else e->array[e->arrays++] = made;
    return made;
}

static void release(evaluation *e)
{
    while (e->arrays) free(e->array[--e->arrays]);
}

static bool failed(const evaluation *e)
{
    return atomic_load(&e->failed);
}

/* x with an error of mean 0 and this deviation. */
static double rounded(lfuse__random *r, double x, double deviation)
{
    if (!r) return x;
    const double uniform = (double)(lfuse__random_bits(r) >> 11) * 0x1p-53;
    return x + (uniform - 0.5) * sqrt(12.0) * deviation;
}

static lfuse__random *noise(evaluation *e)
{
    return e->noisy ? &e->random : NULL;
}

static double square_sum(const double *x, int64_t count, int64_t step)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += x[i * step] * x[i * step];
    return sum;
}

/* ---- products ---- */

/* x, the sum of so many terms whose squares add up to `squares`, rounded as such a sum is. */
static double rounded_sum(lfuse__random *r, double x, int64_t terms, double squares)
{
    return r ? rounded(r, x, sqrt(bench_sum_variance(terms, squares, x))) : x;
}

/* c = a b; for the sum of the k products' squares the product of the sums of a's row and b's column, over k, stands. */
static void product(evaluation *e, int64_t m, int64_t n, int64_t k, bench_matrix a, bench_matrix b, double *c)
{
    double *of_columns = malloc((size_t)n * sizeof *of_columns);
    if (!of_columns || bench_product(m, n, k, a, b, c)) atomic_store(&e->failed, true);
    for (int64_t j = 0; j < n && !failed(e); j++) of_columns[j] = square_sum(b.at + j * b.column, k, b.row);
    for (int64_t i = 0; i < m && !failed(e) && e->noisy; i++) {
        const double of_row = square_sum(a.at + i * a.row, k, a.column);
        for (int64_t j = 0; j < n; j++)
            c[i * n + j] = rounded_sum(&e->random, c[i * n + j], k, of_row * of_columns[j] / (double)k);
    }
    free(of_columns);
}

/* y = x w + bias; bias may be NULL. */
static void linear(evaluation *e, int64_t k, int64_t n, const double *x, const double *w, const double *bias, double *y)
{
    product(e, e->rows, n, k, (bench_matrix){x, k, 1}, (bench_matrix){w, n, 1}, y);
    for (int64_t i = 0; i < e->rows * n && bias && !failed(e); i++) {
        const double sum = y[i] + bias[i % n];
        y[i] = rounded(noise(e), sum, unit * fabs(sum));
    }
}

static void sum_rows(evaluation *e, int64_t n, const double *x, double *sums)
{
    for (int64_t j = 0; j < n && !failed(e); j++) {
        double sum = 0;
        for (int64_t r = 0; r < e->rows; r++) sum += x[r * n + j];
        sums[j] = rounded_sum(noise(e), sum, e->rows, square_sum(x + j, e->rows, n));
    }
}

/* From dy the gradients of weights, bias (NULL: none) and, added to dx, of the operand. */
static void linear_back(evaluation *e, int64_t k, int64_t n, const double *x, const double *w, const double *dy,
                        double *gw, double *gbias, double *dx)
{
    double *own = malloc((size_t)(e->rows * k) * sizeof *own);
    if (!own) atomic_store(&e->failed, true);
    if (failed(e)) goto done;
    product(e, k, n, e->rows, (bench_matrix){x, 1, k}, (bench_matrix){dy, n, 1}, gw);
    if (gbias) sum_rows(e, n, dy, gbias);
    product(e, e->rows, k, n, (bench_matrix){dy, n, 1}, (bench_matrix){w, 1, n}, own);
    for (int64_t i = 0; i < e->rows * k && !failed(e); i++)
        dx[i] = rounded(noise(e), dx[i] + own[i], unit * fabs(dx[i] + own[i]));
done:
    free(own);
}

/* ---- layernorm ---- */

static void normalise(evaluation *e, const double *x, const double *scale, const double *shift, norm *to)
{
    const int64_t n = e->b->width;
    for (int64_t row = 0; row < e->rows && !failed(e); row++) {
        double mean = 0, square = 0;
        for (int64_t i = 0; i < n; i++) mean += x[row * n + i] / (double)n;
        for (int64_t i = 0; i < n; i++) square += pow(x[row * n + i] - mean, 2) / (double)n;
        const double r = to->r[row] = 1 / sqrt(square + BENCH_BLOCK_EPSILON);
        for (int64_t j = row * n; j < (row + 1) * n; j++) {
            const double c = (x[j] - mean) * r, y = c * scale[j % n] + shift[j % n];
            to->centred[j] = rounded(noise(e), c, 2 * unit * (fabs(c) + fabs(mean) * r));
            to->h[j] = rounded(noise(e), y + (to->centred[j] - c) * scale[j % n],
                               unit * (fabs(y) + fabs(c * scale[j % n])));
        }
    }
}

/* r (q - mean(q) - centred mean(q centred)), q = dh scale, is added to dx. */
static void normalise_back(evaluation *e, const norm *of, const double *scale, const double *dh, double *gscale,
                           double *gshift, double *dx)
{
    const int64_t n = e->b->width;
    double *products = malloc((size_t)(e->rows * n) * sizeof *products);
    if (!products) atomic_store(&e->failed, true);
    for (int64_t row = 0; row < e->rows && !failed(e); row++) {
        double mean = 0, turned = 0, size = 0;
        for (int64_t i = 0; i < n; i++) {
            const double q = dh[row * n + i] * scale[i], c = of->centred[row * n + i];
            mean += q / (double)n;
            turned += q * c / (double)n;
            size += q * q / (double)n;
        }
        for (int64_t j = row * n; j < (row + 1) * n; j++) {
            const double q = dh[j] * scale[j % n], c = of->centred[j], own = of->r[row] * (q - mean - c * turned);
            products[j] = dh[j] * c;
            const double off = fabs(dx[j] + own) + 3 * of->r[row] * (fabs(q) + sqrt(size));
            dx[j] = rounded(noise(e), dx[j] + own, unit * off);
        }
    }
    if (!failed(e)) sum_rows(e, n, products, gscale);
    sum_rows(e, n, dh, gshift);
    free(products);
}

/* ---- attention: a head of one member of the batch is a task ---- */

typedef struct attending {
    evaluation *e;
    block *of;
    bool back;
} attending;

typedef struct head {
    int64_t tokens, width, columns, at; /* columns of the head; its first element in q, k, v and mixed */
    double scale;
    double *shares;
    lfuse__random *noise;
} head;

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

/* Mean square of what the head has of a tensor. */
static double mean_square_of(const head *h, const double *x)
{
    double sum = 0;
    for (int64_t t = 0; t < h->tokens; t++) sum += square_sum(x + h->at + t * h->width, h->columns, 1);
    return sum / (double)(h->tokens * h->columns);
}

/* of_v: the mean square of what the head has of v. */
static void attend_row(const head *h, const block *of, int64_t t, double of_v)
{
    const double *q = of->q + h->at + t * h->width;
    double *shares = h->shares + t * h->tokens, most = -INFINITY, sum = 0;
    for (int64_t s = 0; s < h->tokens; s++) {
        const double *k = of->k + h->at + s * h->width;
        const double squares = square_sum(q, h->columns, 1) * square_sum(k, h->columns, 1) / (double)h->columns;
        const double product = dot(q, k, h->columns), off = sqrt(bench_sum_variance(h->columns, squares, product));
        shares[s] = rounded(h->noise, product * h->scale, (off + unit * fabs(product)) * h->scale);
        most = fmax(most, shares[s]);
    }
    for (int64_t s = 0; s < h->tokens; s++) sum += exp(shares[s] - most);
    for (int64_t s = 0; s < h->tokens; s++) {
        const double share = exp(shares[s] - most) / sum;
        shares[s] = rounded(h->noise, share, unit * (4 + fabs(shares[s] - most)) * share);
    }
    const double squares = square_sum(shares, h->tokens, 1) * of_v;
    for (int64_t i = 0; i < h->columns; i++) {
        double mixed = 0;
        for (int64_t s = 0; s < h->tokens; s++) mixed += shares[s] * of->v[h->at + s * h->width + i];
        of->mixed[h->at + t * h->width + i] = rounded_sum(h->noise, mixed, h->tokens, squares);
    }
}

/* Adds `factor` times a row to another. */
static void add_row(double *to, const double *from, double factor, int64_t count)
{
    for (int64_t i = 0; i < count; i++) to[i] += factor * from[i];
}

/* From dmixed of a token: the scores' gradients, which replace `scores`, and what they add to dq, dk and dv. */
static void attend_row_back(const head *h, const evaluation *e, const block *of, int64_t t, double *scores)
{
    const double *shares = h->shares + t * h->tokens, *dmixed = e->dmixed + h->at + t * h->width;
    const double squares = square_sum(dmixed, h->columns, 1) * mean_square_of(h, of->v);
    double mean = 0;
    for (int64_t s = 0; s < h->tokens; s++) {
        const double product = dot(dmixed, of->v + h->at + s * h->width, h->columns);
        scores[s] = rounded_sum(h->noise, product, h->columns, squares);
        mean += shares[s] * scores[s];
    }
    for (int64_t s = 0; s < h->tokens; s++) {
        const int64_t at = h->at + s * h->width;
        const double share = shares[s], off = 3 * unit * share * (fabs(scores[s]) + fabs(mean)) * h->scale;
        scores[s] = rounded(h->noise, share * (scores[s] - mean) * h->scale, off);
        add_row(e->dv + at, dmixed, share, h->columns);
        add_row(e->dq + h->at + t * h->width, of->k + at, scores[s], h->columns);
        add_row(e->dk + at, of->q + h->at + t * h->width, scores[s], h->columns);
    }
}

/* The roundings of sums over tokens: squares[t] is what the squares of the terms of token t's add up to. */
static void round_rows(const head *h, double *x, const double *squares)
{
    for (int64_t t = 0; t < h->tokens && h->noise; t++)
        for (int64_t i = 0; i < h->columns; i++) {
            double *at = &x[h->at + t * h->width + i];
            *at = rounded_sum(h->noise, *at, h->tokens, squares[t]);
        }
}

static void attend_back(const head *h, evaluation *e, const block *of)
{
    const int64_t n = h->tokens;
    double *scores = calloc((size_t)(n * n + n), sizeof *scores), *squares = scores + n * n;
    if (!scores) {
        atomic_store(&e->failed, true);
        return;
    }
    for (int64_t t = 0; t < n; t++) attend_row_back(h, e, of, t, scores + t * n);
    for (int64_t t = 0; t < n; t++) squares[t] = square_sum(scores + t * n, n, 1) * mean_square_of(h, of->k);
    round_rows(h, e->dq, squares);
    for (int64_t t = 0; t < n; t++) squares[t] = square_sum(scores + t, n, n) * mean_square_of(h, of->q);
    round_rows(h, e->dk, squares);
    for (int64_t t = 0; t < n; t++) squares[t] = square_sum(h->shares + t, n, n) * mean_square_of(h, e->dmixed);
    round_rows(h, e->dv, squares);
    free(scores);
}

static void attend(void *context, int64_t task)
{
    const attending *a = context;
    const bench_blocks *b = a->e->b;
    const int64_t member = task / b->heads, which = task % b->heads;
    lfuse__random random;
    head h = {.tokens = b->tokens, .width = b->width, .columns = b->width / b->heads};
    h.at = member * h.tokens * h.width + which * h.columns;
    h.scale = 1 / sqrt((double)h.columns);
    h.shares = a->of->shares + task * h.tokens * h.tokens;
    h.noise = a->e->noisy ? &random : NULL;
    lfuse__random_seed(&random, a->e->seed + 2 * (uint64_t)task + a->back);
    const double of_v = mean_square_of(&h, a->of->v);
    if (a->back) attend_back(&h, a->e, a->of);
    else
        for (int64_t t = 0; t < h.tokens; t++) attend_row(&h, a->of, t, of_v);
}

/* ---- blocks ---- */

static double gelu(double x)
{
    return 0.5 * x * erfc(-x / sqrt(2.0));
}

static double gelu_slope(double x)
{
    return 0.5 * erfc(-x / sqrt(2.0)) + x * exp(-x * x / 2) / sqrt(2 * 3.14159265358979323846);
}

static void add_residual(evaluation *e, const double *from, double *x)
{
    for (int64_t i = 0; i < e->rows * e->b->width && !failed(e); i++)
        x[i] = rounded(noise(e), x[i] + from[i], unit * fabs(x[i] + from[i]));
}

static void block_forward(evaluation *e, block *l)
{
    const int64_t n = e->b->width;
    attending all = {e, l, false};
    normalise(e, e->x, l->w[BENCH_BLOCK_SCALE1], l->w[BENCH_BLOCK_SHIFT1], &l->first);
    linear(e, n, n, l->first.h, l->w[BENCH_BLOCK_WQ], NULL, l->q);
    linear(e, n, n, l->first.h, l->w[BENCH_BLOCK_WK], NULL, l->k);
    linear(e, n, n, l->first.h, l->w[BENCH_BLOCK_WV], NULL, l->v);
    if (!failed(e)) bench_in_threads(e->b->batch * e->b->heads, attend, &all);
    linear(e, n, n, l->mixed, l->w[BENCH_BLOCK_WO], l->w[BENCH_BLOCK_BO], l->x);
    add_residual(e, l->x, e->x);
    normalise(e, e->x, l->w[BENCH_BLOCK_SCALE2], l->w[BENCH_BLOCK_SHIFT2], &l->second);
    linear(e, n, 4 * n, l->second.h, l->w[BENCH_BLOCK_W1], l->w[BENCH_BLOCK_B1], l->u);
    for (int64_t i = 0; i < e->rows * 4 * n && !failed(e); i++)
        l->a[i] = rounded(noise(e), gelu(l->u[i]), 4 * unit * fabs(gelu(l->u[i])));
    linear(e, 4 * n, n, l->a, l->w[BENCH_BLOCK_W2], l->w[BENCH_BLOCK_B2], l->x);
    add_residual(e, l->x, e->x);
}

static void attention_back(evaluation *e, block *l)
{
    const int64_t n = e->b->width;
    const size_t bytes = (size_t)(e->rows * n) * sizeof(double);
    attending all = {e, l, true};
    double *const cleared[] = {e->dmixed, e->dq, e->dk, e->dv, e->dh};
    for (int i = 0; i < 5; i++) memset(cleared[i], 0, bytes);
    linear_back(e, n, n, l->mixed, l->w[BENCH_BLOCK_WO], e->dx, l->g[BENCH_BLOCK_WO], l->g[BENCH_BLOCK_BO], e->dmixed);
    if (!failed(e)) bench_in_threads(e->b->batch * e->b->heads, attend, &all);
    linear_back(e, n, n, l->first.h, l->w[BENCH_BLOCK_WQ], e->dq, l->g[BENCH_BLOCK_WQ], NULL, e->dh);
    linear_back(e, n, n, l->first.h, l->w[BENCH_BLOCK_WK], e->dk, l->g[BENCH_BLOCK_WK], NULL, e->dh);
    linear_back(e, n, n, l->first.h, l->w[BENCH_BLOCK_WV], e->dv, l->g[BENCH_BLOCK_WV], NULL, e->dh);
    normalise_back(e, &l->first, l->w[BENCH_BLOCK_SCALE1], e->dh, l->g[BENCH_BLOCK_SCALE1], l->g[BENCH_BLOCK_SHIFT1],
                   e->dx);
}

/* e->dx: the gradient of the block's result, then of its operand. */
static void block_back(evaluation *e, block *l)
{
    const int64_t n = e->b->width;
    memset(e->da, 0, (size_t)(e->rows * 4 * n) * sizeof(double));
    memset(e->dh, 0, (size_t)(e->rows * n) * sizeof(double));
    linear_back(e, 4 * n, n, l->a, l->w[BENCH_BLOCK_W2], e->dx, l->g[BENCH_BLOCK_W2], l->g[BENCH_BLOCK_B2], e->da);
    for (int64_t i = 0; i < e->rows * 4 * n && !failed(e); i++)
        e->da[i] = rounded(noise(e), e->da[i] * gelu_slope(l->u[i]), 4 * unit * fabs(e->da[i]));
    linear_back(e, n, 4 * n, l->second.h, l->w[BENCH_BLOCK_W1], e->da, l->g[BENCH_BLOCK_W1], l->g[BENCH_BLOCK_B1],
                e->dh);
    normalise_back(e, &l->second, l->w[BENCH_BLOCK_SCALE2], e->dh, l->g[BENCH_BLOCK_SCALE2], l->g[BENCH_BLOCK_SHIFT2],
                   e->dx);
    attention_back(e, l);
}

/* ---- the step ---- */

static int64_t count_of(const bench_blocks *b, bench_block_parameter which)
{
    const bench_block_shape of = bench_block_shape_of(b, which);
    return of.rank == 2 ? of.shape[0] * of.shape[1] : of.shape[0];
}

static double *in_double(evaluation *e, const float *from, int64_t count)
{
    double *to = take(e, count);
    for (int64_t i = 0; i < count && to; i++) to[i] = (double)from[i];
    return to;
}

static void make_norm(evaluation *e, norm *of)
{
    of->h = take(e, e->rows * e->b->width);
    of->centred = take(e, e->rows * e->b->width);
    of->r = take(e, e->rows);
}

static void make_block(evaluation *e, int index)
{
    const bench_blocks *b = e->b;
    const int64_t each = e->rows * b->width;
    block *l = &e->blocks[index];
    for (int i = 0; i < BENCH_BLOCK_PARAMETERS; i++) {
        const int64_t count = count_of(b, (bench_block_parameter)i);
        l->w[i] = in_double(e, b->parameters[index][i], count);
        l->g[i] = take(e, count);
    }
    make_norm(e, &l->first);
    make_norm(e, &l->second);
    l->q = take(e, each);
    l->k = take(e, each);
    l->v = take(e, each);
    l->mixed = take(e, each);
    l->x = take(e, each);
    l->u = take(e, 4 * each);
    l->a = take(e, 4 * each);
    l->shares = take(e, b->batch * b->heads * b->tokens * b->tokens);
}

static void make_arrays(evaluation *e)
{
    const int64_t each = e->rows * e->b->width;
    e->x = in_double(e, e->b->x, each);
    e->dx = take(e, each);
    e->dh = take(e, each);
    e->da = take(e, 4 * each);
    e->dq = take(e, each);
    e->dk = take(e, each);
    e->dv = take(e, each);
    e->dmixed = take(e, each);
    for (int l = 0; l < e->b->count; l++) make_block(e, l);
}

/* The mean of (x - target)^2, and its gradient. */
static void finish(evaluation *e)
{
    const int64_t count = e->rows * e->b->width;
    for (int64_t i = 0; i < count && !failed(e); i++) {
        const double d = e->x[i] - (double)e->b->target[i];
        e->loss += d * d / (double)count;
        e->dx[i] = rounded(noise(e), 2 * d / (double)count, 3 * unit * fabs(2 * d / (double)count));
    }
}

static lfuse_status evaluate(evaluation *e, const bench_blocks *b, int sample)
{
    *e = (evaluation){.b = b, .rows = b->batch * b->tokens, .noisy = sample > 0};
    e->seed = (uint64_t)sample << 32;
    lfuse__random_seed(&e->random, e->seed);
    make_arrays(e);
    for (int l = 0; l < b->count && !failed(e); l++) block_forward(e, &e->blocks[l]);
    finish(e);
    for (int l = b->count - 1; l >= 0 && !failed(e); l--) block_back(e, &e->blocks[l]);
    return failed(e) ? lfuse__error(LFUSE_ERR_MEMORY, "out of memory for a step of %d blocks", b->count) : LFUSE_OK;
}

/* An evaluation's share of the step: values of the first, of the others the squares of how far they are from it. */
static void collect(const evaluation *e, bench_step *s)
{
    for (int i = 0; i < s->count; i++) {
        bench_gradient *g = &s->of[i];
        const double *from = e->blocks[i / BENCH_BLOCK_PARAMETERS].g[i % BENCH_BLOCK_PARAMETERS];
        for (int64_t j = 0; j < g->rows * g->width; j++) {
            if (e->noisy) g->bound[j] += pow(from[j] - g->value[j], 2) / SAMPLES;
            else g->value[j] = from[j];
        }
    }
    if (e->noisy) s->loss_bound += pow(e->loss - s->loss, 2) / SAMPLES;
    else s->loss = e->loss;
}

static lfuse_status find_bounds(bench_gradient *g)
{
    double *of = calloc((size_t)(g->rows + g->width), sizeof *of);
    if (!of) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for a gradient's bounds");
    for (int64_t i = 0; i < g->rows * g->width; i++) {
        of[i / g->width] += g->bound[i] / (double)g->width;
        of[g->rows + i % g->width] += g->bound[i] / (double)g->rows;
    }
    for (int64_t i = 0; i < g->rows * g->width; i++) {
        const double square = fmax(of[i / g->width], of[g->rows + i % g->width]);
        g->bound[i] = BENCH_STEP_DEVIATIONS * sqrt(square) + 2 * unit * fabs(g->value[i]);
    }
    free(of);
    return LFUSE_OK;
}

static lfuse_status make_gradients(const bench_blocks *b, bench_step **step)
{
    lfuse_status status = bench_step_create(b->count * BENCH_BLOCK_PARAMETERS, step);
    for (int i = 0; i < b->count * BENCH_BLOCK_PARAMETERS && !status; i++) {
        const bench_block_shape of = bench_block_shape_of(b, (bench_block_parameter)(i % BENCH_BLOCK_PARAMETERS));
        status = bench_gradient_create(&(*step)->of[i], of.rank == 2 ? of.shape[0] : 1, of.shape[of.rank - 1], 0);
    }
    return status;
}

lfuse_status bench_blocks_step(const bench_blocks *blocks, bench_step **step)
{
    bench_step *made = NULL;
    evaluation *e = malloc(sizeof *e);
    lfuse_status status = e ? make_gradients(blocks, &made)
                            : lfuse__error(LFUSE_ERR_MEMORY, "out of memory for a step");
    for (int i = 0; i <= SAMPLES && !status; i++) {
        status = evaluate(e, blocks, i);
        if (!status) collect(e, made);
        release(e);
    }
    for (int i = 0; made && i < made->count && !status; i++) status = find_bounds(&made->of[i]);
    free(e);
    if (status) {
        bench_step_destroy(made);
        return status;
    }
    made->loss_bound = BENCH_STEP_DEVIATIONS * sqrt(made->loss_bound + 4 * unit * unit * made->loss * made->loss);
    *step = made;
    return LFUSE_OK;
}
