/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step of a chain of linear layers. Every element carries the variance of its error. A product's result has that of
 * its operands, times the other operand's square, and of its own roundings, in any order (bench_sum_variance). For the
 * sum over k of variance times square stands the sum of the variances times the mean square of the weights' row or
 * column, which is what random weights make of it; for the squares of the k products that of the left operand's.
 *
 * Where relu's argument is within its error of 0, a device may pass the gradient or not: it may be off by all of it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/step_product.h"
#include "bench/step_truth.h"
#include "common/base/error.h"

static const double unit = 0x1p-24;

/* Values of one layer, or their gradients, and the variances of their errors: [batch][width]. */
typedef struct values {
    double *at, *variance;
} values;

typedef struct pass {
    const bench_chain *c;
    values a[BENCH_STEP_LAYERS + 1]; /* x, then what each layer makes */
    char *open[BENCH_STEP_LAYERS];   /* of relu: PASSES, and UNSURE where its argument may be on the other side */
    values dy, dz;                   /* the gradients of a layer's result, and of the argument of its relu */
    double *w;                       /* a layer's weights in double */
    bench_step *step;
} pass;

enum { PASSES = 1, UNSURE = 2 };

static int64_t widest(const bench_chain *c)
{
    int64_t width = 0;
    for (int l = 0; l <= c->layers; l++) width = c->widths[l] > width ? c->widths[l] : width;
    return width;
}

static bool values_create(values *v, int64_t count)
{
    v->at = calloc((size_t)count, sizeof *v->at);
    v->variance = calloc((size_t)count, sizeof *v->variance);
    return v->at && v->variance;
}

static void values_free(values *v)
{
    free(v->at);
    free(v->variance);
}

static lfuse_status pass_create(pass *p, const bench_chain *c)
{
    const int64_t width = widest(c);
    bool room = true;
    *p = (pass){.c = c};
    for (int l = 0; l <= c->layers; l++) room &= values_create(&p->a[l], c->batch * c->widths[l]);
    for (int l = 0; l < c->layers; l++) room &= (p->open[l] = calloc((size_t)(c->batch * c->widths[l + 1]), 1)) != NULL;
    room &= values_create(&p->dy, c->batch * width);
    room &= values_create(&p->dz, c->batch * width);
    p->w = malloc((size_t)(width * width) * sizeof *p->w);
    if (!room || !p->w)
        return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for a step of %lld rows", (long long)c->batch);
    for (int64_t i = 0; i < c->batch * c->widths[0]; i++) p->a[0].at[i] = (double)c->x[i];
    return bench_step_create(2 * c->layers, &p->step);
}

static void pass_free(pass *p)
{
    for (int l = 0; l <= p->c->layers; l++) values_free(&p->a[l]);
    for (int l = 0; l < p->c->layers; l++) free(p->open[l]);
    values_free(&p->dy);
    values_free(&p->dz);
    free(p->w);
}

/* The weights of a layer, and the mean square of each column or, transposed, of each row. */
static void read_weights(const pass *p, int layer, bool transposed, double *squares)
{
    const int64_t rows = p->c->widths[layer], columns = p->c->widths[layer + 1];
    memset(squares, 0, (size_t)(transposed ? rows : columns) * sizeof *squares);
    for (int64_t i = 0; i < rows * columns; i++) {
        const double w = p->w[i] = (double)p->c->w[layer][i];
        squares[transposed ? i / columns : i % columns] += w * w / (double)(transposed ? columns : rows);
    }
}

/* c = a w, and the variance of its errors: w is [k, n], or [n, k] where it is transposed. */
static lfuse_status multiply(const pass *p, int layer, bool transposed, const values *a, values *c)
{
    const int64_t rows = p->c->batch, k = p->c->widths[layer + transposed], n = p->c->widths[layer + !transposed];
    const double each = bench_sum_variance(k, 1, 0);
    const bench_matrix left = {a->at, k, 1}, right = {p->w, transposed ? 1 : n, transposed ? k : 1};
    double *squares = malloc((size_t)n * sizeof *squares);
    if (!squares) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %lld columns", (long long)n);
    read_weights(p, layer, transposed, squares);
    lfuse_status status = bench_product(rows, n, k, left, right, c->at);
    for (int64_t r = 0; r < rows && !status; r++) {
        double load = 0;
        for (int64_t i = r * k; i < (r + 1) * k; i++) load += a->variance[i] + each * a->at[i] * a->at[i];
        for (int64_t j = 0; j < n; j++)
            c->variance[r * n + j] = load * squares[j] + bench_sum_variance(k, 0, c->at[r * n + j]);
    }
    free(squares);
    return status;
}

static lfuse_status forward(pass *p, int layer)
{
    const bool relu = p->c->end == BENCH_CHAIN_MSE || layer < p->c->layers - 1;
    const int64_t n = p->c->widths[layer + 1];
    values *y = &p->a[layer + 1];
    LFUSE__TRY(multiply(p, layer, false, &p->a[layer], y));
    for (int64_t i = 0; i < p->c->batch * n; i++) {
        const double product = y->at[i], b = (double)p->c->b[layer][i % n], z = product + b;
        y->variance[i] += unit * unit * (product * product + z * z);
        const double reach = BENCH_STEP_DEVIATIONS * sqrt(y->variance[i]);
        p->open[layer][i] = (char)(!relu ? PASSES : (z > 0 ? PASSES : 0) | (fabs(z) <= reach ? UNSURE : 0));
        y->at[i] = relu ? fmax(z, 0) : z;
        if (!p->open[layer][i]) y->variance[i] = 0;
    }
    return LFUSE_OK;
}

/*
 * The mean of (y - target)^2; dy = 2 (y - target) / n. Its terms are of one sign, but devices sum so many of them in
 * short parts: the roundings of that, and of the division, are taken to stay within 2 u of it.
 */
static void end_in_squares(pass *p)
{
    const values *y = &p->a[p->c->layers];
    const int64_t count = p->c->batch * p->c->widths[p->c->layers];
    const double n = (double)count;
    double loss = 0, variance = 0;
    for (int64_t i = 0; i < count; i++) {
        const double d = y->at[i] - (double)p->c->target[i], g = 2 * d / n;
        loss += d * d / n;
        variance += g * g * (y->variance[i] + unit * unit * d * d);
        p->dy.at[i] = g;
        p->dy.variance[i] = 4 * y->variance[i] / (n * n) + 9 * unit * unit * g * g;
    }
    p->step->loss = loss;
    p->step->loss_bound = BENCH_STEP_DEVIATIONS * sqrt(variance + 4 * unit * unit * loss * loss);
}

/* One row of classes: adds to the loss, and to the variance of its error. */
static void end_row(pass *p, int64_t row, double *loss, double *variance)
{
    const int64_t n = p->c->widths[p->c->layers], label = p->c->labels[row];
    const double *z = p->a[p->c->layers].at + row * n, *off = p->a[p->c->layers].variance + row * n;
    const double batch = (double)p->c->batch;
    double most = z[0], sum = 0, of_sum = 0;
    for (int64_t j = 0; j < n; j++) most = fmax(most, z[j]);
    for (int64_t j = 0; j < n; j++) sum += exp(z[j] - most);
    for (int64_t j = 0; j < n; j++) of_sum += pow(exp(z[j] - most) / sum, 2) * off[j];
    const double rounded = 4 * unit * (fabs(most) + log(sum) + 1), own = most + log(sum) - z[label];
    for (int64_t j = 0; j < n; j++) {
        const double share = exp(z[j] - most) / sum, g = (share - (j == label)) / batch;
        p->dy.at[row * n + j] = g;
        p->dy.variance[row * n + j] = share * share * (2 * (off[j] + of_sum) + rounded * rounded) / (batch * batch) +
                                      4 * unit * unit * g * g;
    }
    *loss += own / batch;
    *variance += (off[label] + of_sum + rounded * rounded) / (batch * batch);
}

static void end_in_classes(pass *p)
{
    double loss = 0, variance = 0;
    for (int64_t r = 0; r < p->c->batch; r++) end_row(p, r, &loss, &variance);
    p->step->loss = loss;
    p->step->loss_bound = BENCH_STEP_DEVIATIONS * sqrt(variance + 4 * unit * unit * loss * loss);
}

static void end_in_seed(pass *p)
{
    const int64_t count = p->c->batch * p->c->widths[p->c->layers];
    for (int64_t i = 0; i < count; i++) p->dy.at[i] = (double)p->c->target[i];
}

static void through_relu(const pass *p, int layer)
{
    for (int64_t i = 0; i < p->c->batch * p->c->widths[layer + 1]; i++) {
        const double g = p->dy.at[i];
        const char open = p->open[layer][i];
        p->dz.at[i] = open & PASSES ? g : 0;
        p->dz.variance[i] = (open ? p->dy.variance[i] : 0) + (open & UNSURE ? g * g : 0);
    }
}

/* Gradients of a layer's weights, a row a task, and of its bias, which is a row beside an input of 1. */
typedef struct rows_of {
    const pass *p;
    int layer;
    bench_gradient *w, *b;
} rows_of;

static void add_sample(const double a, const double off, const double *dz, const double *variance, int64_t n,
                       double each, double *value, double *square)
{
    const double load = off + each * a * a;
    for (int64_t j = 0; j < n; j++) {
        value[j] += a * dz[j];
        square[j] += load * dz[j] * dz[j] + a * a * variance[j];
    }
}

static void gradient_row(void *context, int64_t task)
{
    const rows_of *of = context;
    const pass *p = of->p;
    const bool bias = task == of->w->rows;
    const bench_gradient *g = bias ? of->b : of->w;
    const int64_t n = g->width, k = p->c->widths[of->layer], row = bias ? 0 : task;
    const double each = bench_sum_variance(p->c->batch, 1, 0);
    const values *a = &p->a[of->layer];
    for (int64_t s = 0; s < p->c->batch; s++) {
        const int64_t at = s * k + (bias ? 0 : g->chosen[row]);
        add_sample(bias ? 1 : a->at[at], bias ? 0 : a->variance[at], p->dz.at + s * n, p->dz.variance + s * n, n, each,
                   g->value + row * n, g->bound + row * n);
    }
    for (int64_t i = row * n; i < (row + 1) * n; i++) {
        const double variance = g->bound[i] + bench_sum_variance(p->c->batch, 0, g->value[i]);
        g->bound[i] = BENCH_STEP_DEVIATIONS * sqrt(variance) + 2 * unit * fabs(g->value[i]);
    }
}

/* Multiplications of the products of the whole step. */
static double work_of(const bench_chain *c)
{
    double work = 0;
    for (int l = 0; l < c->layers; l++)
        work += (l ? 3 : 2) * (double)c->batch * (double)c->widths[l] * (double)c->widths[l + 1];
    return work;
}

static lfuse_status backward(pass *p, int layer)
{
    const int64_t k = p->c->widths[layer], n = p->c->widths[layer + 1];
    rows_of of = {p, layer, &p->step->of[2 * layer], &p->step->of[2 * layer + 1]};
    through_relu(p, layer);
    LFUSE__TRY(bench_gradient_create(of.w, k, n, work_of(p->c) / (double)k));
    LFUSE__TRY(bench_gradient_create(of.b, 1, n, 0));
    bench_in_threads(of.w->rows + 1, gradient_row, &of);
    return layer ? multiply(p, layer, true, &p->dz, &p->dy) : LFUSE_OK;
}

lfuse_status bench_chain_step(const bench_chain *chain, bench_step **step)
{
    pass p;
    lfuse_status status = pass_create(&p, chain);
    for (int l = 0; l < chain->layers && !status; l++) status = forward(&p, l);
    if (!status && chain->end == BENCH_CHAIN_MSE) end_in_squares(&p);
    else if (!status && chain->end == BENCH_CHAIN_CLASSES) end_in_classes(&p);
    else if (!status) end_in_seed(&p);
    for (int l = chain->layers - 1; l >= 0 && !status; l--) status = backward(&p, l);
    if (status) bench_step_destroy(p.step);
    else *step = p.step;
    pass_free(&p);
    return status;
}
