/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks of linear layers with bias and relu, too wide and too deep for the graph's oracle: of a bound that takes
 * every rounding at its worst nothing is left after a few layers (of 4096 inputs each, it grows 80 times in every one).
 * Here the variance of the errors is carried along instead: see oracle.h.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/data.h"
#include "bench/oracle_internal.h"
#include "common/base/error.h"

typedef double two __attribute__((vector_size(16)));
enum { MOST_THREADS = 16, ROWS = 2, COLUMNS = 4, BLOCK = 16 /* columns: of f32, a cache line of weights */ };
static const double deviations = 8;

/* One layer: y = relu(x w + b), and the variance of its error from `load`, which is what a factor w^2 multiplies. */
typedef struct layer {
    const lfuse__oracle_network *net;
    const void *w, *b;
    int64_t rows;
    const double *x, *load;
    double *y, *variance;
    atomic_llong next;  /* column */
    atomic_bool failed; /* no memory */
    pthread_mutex_t lock;
    double largest, square; /* |w|, and a column's sum of squares, under the lock */
} layer;

/* `BLOCK` columns of the weights from `column` on, zeros where there are none. */
static void fill_panel(const layer *l, int64_t column, double *panel, double *most, double *most_square)
{
    const int64_t width = l->net->width;
    const bool single = l->net->type == LFUSE_F32;
    double largest = *most, squares[BLOCK] = {0};
    for (int64_t p = 0; p < width; p++)
        for (int64_t s = 0; s < BLOCK; s++) {
            const int64_t at = p * width + column + s;
            const double w = column + s >= width ? 0
                             : single            ? (double)((const float *)l->w)[at]
                                                 : lfuse__data_get(l->net->type, l->w, at);
            panel[p * BLOCK + s] = w;
            squares[s] += w * w;
            largest = fmax(largest, fabs(w));
        }
    *most = largest;
    for (int s = 0; s < BLOCK; s++) *most_square = fmax(*most_square, squares[s]);
}

/* ROWS rows by COLUMNS columns stay in registers over all of the width. */
static void multiply(const layer *l, int64_t row, const double *panel, double (*y)[COLUMNS], double (*v)[COLUMNS])
{
    const int64_t width = l->net->width;
    const double *x[ROWS], *load[ROWS];
    two sums[ROWS][2], squares[ROWS][2];
    memset(sums, 0, sizeof sums);
    memset(squares, 0, sizeof squares);
    for (int r = 0; r < ROWS; r++) {
        const int64_t at = (row + r < l->rows ? row + r : row) * width;
        x[r] = l->x + at;
        load[r] = l->load + at;
    }
    for (int64_t p = 0; p < width; p++) {
        two w[2];
        memcpy(w, panel + p * BLOCK, sizeof w);
        const two w2[2] = {w[0] * w[0], w[1] * w[1]};
        for (int r = 0; r < ROWS; r++) {
            const two a = {x[r][p], x[r][p]}, e = {load[r][p], load[r][p]};
            sums[r][0] += a * w[0];
            sums[r][1] += a * w[1];
            squares[r][0] += e * w2[0];
            squares[r][1] += e * w2[1];
        }
    }
    memcpy(y, sums, sizeof sums);
    memcpy(v, squares, sizeof squares);
}

/*
 * Product, sum and result may each be rounded to the type; in f32 the product's own rounding is among its sums'. The
 * error of one is anywhere between -u and u of what is rounded, so its variance is a third of that squared.
 */
static void finish(const layer *l, int64_t row, int64_t column, double y, double v)
{
    const double unit = lfuse__oracle_unit(l->net->type), b = lfuse__data_get(l->net->type, l->b, column);
    const double rounded = unit * (fabs(y) + fabs(b));
    const int64_t at = row * l->net->width + column;
    l->y[at] = fmax(y + b, 0);
    l->variance[at] = v + rounded * rounded;
}

static void work_on(const layer *l, int64_t column, const double *panel)
{
    double y[ROWS][COLUMNS], v[ROWS][COLUMNS];
    for (int64_t c = 0; c < BLOCK && column + c < l->net->width; c += COLUMNS)
        for (int64_t row = 0; row < l->rows; row += ROWS) {
            multiply(l, row, panel + c, y, v);
            for (int r = 0; r < ROWS && row + r < l->rows; r++)
                for (int s = 0; s < COLUMNS && column + c + s < l->net->width; s++)
                    finish(l, row + r, column + c + s, y[r][s], v[r][s]);
        }
}

static void *work(void *pointer)
{
    layer *l = pointer;
    double largest = 0, square = 0;
    double *panel = malloc((size_t)l->net->width * BLOCK * sizeof *panel);
    for (;;) {
        const int64_t column = panel ? atomic_fetch_add(&l->next, BLOCK) : l->net->width;
        if (column >= l->net->width) break;
        fill_panel(l, column, panel, &largest, &square);
        work_on(l, column, panel);
    }
    if (!panel) atomic_store(&l->failed, true);
    pthread_mutex_lock(&l->lock);
    l->largest = fmax(l->largest, largest);
    l->square = fmax(l->square, square);
    pthread_mutex_unlock(&l->lock);
    free(panel);
    return NULL;
}

static double square_of(const double *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += x[i] * x[i];
    return sum;
}

/* u, of each term of the sums in f32. Tensor cores cut off what they align, with one sign. */
static double each_term(const lfuse__oracle_network *net)
{
    const double k = (double)net->width, unit = lfuse__oracle_unit(lfuse__oracle_register(net->type));
    return unit * (sqrt(k + 2) + (net->type != LFUSE_F32 ? k / 8 : 0));
}

/* What is rounded to narrow factors, each error anywhere between -h and h of it; rows are a sample: doubled. */
static void add_storage(layer *l)
{
    const int64_t width = l->net->width, count = l->rows * width;
    const double storage = lfuse__oracle_strassen_storage(l->net->type, l->net->levels, width);
    const double each = each_term(l->net);
    const double sums = each * each * pow(20, l->net->levels) * (double)width;
    double row = 0;
    for (int64_t r = 0; r < l->rows; r++) row = fmax(row, square_of(l->x + r * width, width));
    const double squares = 2 * row / (double)width * l->square / (double)width;
    for (int64_t i = 0; i < count; i++) l->variance[i] += (storage * storage / 3 + sums) * squares;
}

/* Strassen's bound is of the largest elements, those of x among all rows, of which these are a sample: doubled. */
static void add_normwise(layer *l)
{
    const int64_t count = l->rows * l->net->width;
    const double k = (double)l->net->width, unit = lfuse__oracle_unit(lfuse__oracle_register(l->net->type));
    double largest = 0;
    for (int64_t i = 0; i < count; i++) largest = fmax(largest, fabs(l->x[i]));
    const double bound = pow(3, l->net->levels) * k * sqrt(k) * unit * 2 * largest * l->largest / deviations;
    for (int64_t i = 0; i < count; i++) l->variance[i] += bound * bound;
}

static lfuse_status run_layer(layer *l)
{
    pthread_t threads[MOST_THREADS];
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int64_t blocks = (l->net->width + BLOCK - 1) / BLOCK;
    const int64_t wanted = cores > MOST_THREADS ? MOST_THREADS : cores < 1 ? 1 : cores;
    int started = 0;
    while (started + 1 < wanted && started + 1 < blocks && !pthread_create(&threads[started], NULL, work, l)) started++;
    work(l);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    if (atomic_load(&l->failed)) return lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for a layer");
    if (l->net->levels > 0) (l->net->type == LFUSE_F32 ? add_normwise : add_storage)(l);
    return LFUSE_OK;
}

/* What multiplies w^2: the variance of x, and that of the roundings of each of its products' sums. */
static void prepare_load(const lfuse__oracle_network *net, int64_t count, const double *x, double *variance)
{
    const double each = each_term(net);
    for (int64_t i = 0; i < count; i++) variance[i] += each * each * x[i] * x[i];
}

static void swap(double **a, double **b)
{
    double *t = *a;
    *a = *b;
    *b = t;
}

lfuse_status lfuse__oracle_network_rows(const lfuse__oracle_network *net, int64_t rows, const void *x,
                                        long double *value, double *bound)
{
    if (net->type != LFUSE_F32 && net->type != LFUSE_F16 && net->type != LFUSE_BF16)
        return lfuse__error(LFUSE_ERR_TYPE, "oracle: networks of %s are judged as graphs", lfuse_type_name(net->type));
    const int64_t count = rows * net->width;
    double *memory = calloc((size_t)count * 4 + 1, sizeof *memory);
    if (!memory) return lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for %lld rows", (long long)rows);
    double *in = memory, *out = in + count, *load = out + count, *variance = load + count;
    lfuse_status status = LFUSE_OK;
    for (int64_t i = 0; i < count; i++) in[i] = lfuse__data_get(net->type, x, i);
    for (int i = 0; i < net->layers && !status; i++) {
        layer l = {.net = net, .w = net->w[i], .b = net->b[i], .rows = rows, .x = in, .load = load, .y = out,
                   .variance = variance, .lock = PTHREAD_MUTEX_INITIALIZER};
        prepare_load(net, count, in, load);
        status = run_layer(&l);
        swap(&in, &out);
        swap(&load, &variance);
    }
    for (int64_t i = 0; i < count && !status; i++) {
        value[i] = in[i];
        bound[i] = deviations * sqrt(load[i]);
    }
    free(memory);
    return status;
}
