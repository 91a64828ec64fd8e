/* SPDX-License-Identifier: Apache-2.0 */
/* The first result of a process, which lfuse-bench starts for it alone: lfuse-bench --first --device NAME --case .. */
#include "bench/first.h"

#include <stdlib.h>
#include <string.h>

#include "bench/timer.h"
#include "common/base/error.h"

enum { MOST_LAYERS = 16, MOST_BINDINGS = 2 * MOST_LAYERS + 2, MOST_ROWS = 4096, SAMPLES = 256 };

lfuse_status bench_first_parse(const char *problem, bench_first *p)
{
    long long a = 0, b = 0, c = 0;
    int end = 0;
    memset(p, 0, sizeof *p);
    if (!strncmp(problem, "first:train:", 12)) {
        p->kind = BENCH_FIRST_TRAIN, p->train = problem + 6;
        return bench_train_check(p->train);
    }
    if (sscanf(problem, "first:gemm:%lldx%lldx%lld%n", &a, &b, &c, &end) == 3 && !problem[end]) {
        p->kind = BENCH_FIRST_GEMM, p->m = a, p->n = b, p->k = c;
    } else if (sscanf(problem, "first:pointwise:%lld%n", &a, &end) == 1 && !problem[end]) {
        p->kind = BENCH_FIRST_POINTWISE, p->m = b = c = 1, p->n = a;
    } else {
        p->kind = strncmp(problem, "first:batch:", 12) ? BENCH_FIRST_DENSE : BENCH_FIRST_BATCH;
        const char *form = p->kind == BENCH_FIRST_DENSE ? "first:dense:L%lld:H%lld:B%lld%n"
                                                        : "first:batch:L%lld:H%lld:B%lld%n";
        if (sscanf(problem, form, &a, &b, &c, &end) != 3 || problem[end] || a > MOST_LAYERS || c > MOST_ROWS) a = 0;
        p->layers = (int)a, p->n = p->k = b, p->m = c;
    }
    if (a > 0 && b > 0 && c > 0 && a <= 1 << 24 && b <= 1 << 14 && c <= 1 << 14) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_INVALID, "%s: expected first:gemm:<m>x<n>x<k>, first:pointwise:<elements>, or "
                        "first:dense:L<1-%d>:H<width>:B<1-%d>, first:batch:... of the same, or first:train:...",
                        problem, MOST_LAYERS, MOST_ROWS);
}

/* ---- the work ---- */

typedef struct work {
    const bench_first *p;
    lfuse_device *dev;
    lfuse_stream *stream;
    lfuse_tensor *tensors[MOST_BINDINGS]; /* the first one is x or a, the last one the result */
    int ntensors;
    float *host; /* as large as the largest of them */
} work;

/* Small whole numbers, the weights of a layer (the unit matrix, its rows moved by one), or the layer's bias. */
enum { NUMBERS, MOVED, BIAS };

static float element(int contents, int64_t row, int64_t column, int64_t columns)
{
    if (contents == MOVED) return column == (row + 1) % columns;
    return contents == BIAS ? 0.25f : (float)((row * 7 + column * 3) % 5 - 2);
}

static lfuse_status add(work *w, int rank, int64_t rows, int64_t columns, int contents)
{
    const int64_t shape[2] = {rows, columns};
    lfuse_tensor **t = &w->tensors[w->ntensors];
    LFUSE__TRY(lfuse_tensor_create(w->dev, LFUSE_F32, rank, shape + 2 - rank, t));
    w->ntensors++;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) w->host[i * columns + j] = element(contents, i, j, columns);
    return lfuse_tensor_write(*t, NULL, w->host);
}

static lfuse_status make_tensors(work *w)
{
    const bench_first *p = w->p;
    if (p->kind == BENCH_FIRST_POINTWISE) {
        LFUSE__TRY(add(w, 1, 1, p->n, NUMBERS));
        return add(w, 1, 1, p->n, NUMBERS);
    }
    LFUSE__TRY(add(w, 2, p->m, p->k, NUMBERS));
    for (int l = 0; l < p->layers; l++) {
        LFUSE__TRY(add(w, 2, p->k, p->n, MOVED));
        LFUSE__TRY(add(w, 1, 1, p->n, BIAS));
    }
    if (p->kind == BENCH_FIRST_GEMM) LFUSE__TRY(add(w, 2, p->k, p->n, NUMBERS));
    return add(w, 2, p->m, p->n, NUMBERS);
}

static const char *name_of(int i)
{
    static char names[MOST_BINDINGS][16];
    snprintf(names[i], sizeof names[i], "v%d", i);
    return names[i];
}

static lfuse_graph *describe(const work *w)
{
    const bench_first *p = w->p;
    lfuse_graph *g = lfuse_graph_create();
    if (p->kind == BENCH_FIRST_POINTWISE) {
        lfuse_value x = lfuse_input(g, name_of(0), LFUSE_F32, 1, LFUSE_DIMS(p->n));
        lfuse_output(g, name_of(1), lfuse_relu(lfuse_sub(lfuse_mul(x, x), lfuse_constant(g, 0.5))));
        return g;
    }
    lfuse_size rows = p->kind == BENCH_FIRST_BATCH ? lfuse_size_var(g, "batch", 1, MOST_ROWS) : (lfuse_size)p->m;
    lfuse_value v = lfuse_input(g, name_of(0), LFUSE_F32, 2, LFUSE_DIMS(rows, p->k));
    for (int l = 0; l < p->layers; l++) {
        lfuse_value weights = lfuse_frozen(g, name_of(1 + 2 * l), LFUSE_F32, 2, LFUSE_DIMS(p->k, p->n));
        lfuse_value bias = lfuse_frozen(g, name_of(2 + 2 * l), LFUSE_F32, 1, LFUSE_DIMS(p->n));
        v = lfuse_relu(lfuse_add(lfuse_matmul(v, weights), bias));
    }
    lfuse_output(g, name_of(w->ntensors - 1), v);
    return g;
}

static lfuse_status plan_and_run(work *w, lfuse_graph *g, lfuse_plan **plan)
{
    lfuse_binding b[MOST_BINDINGS];
    for (int i = 0; i < w->ntensors; i++) b[i] = lfuse_bind_tensor(name_of(i), w->tensors[i]);
    LFUSE__TRY(lfuse_plan_create(w->dev, g, NULL, plan));
    return lfuse_plan_run(*plan, w->stream, b, w->ntensors);
}

static lfuse_status timed(work *w, double *us)
{
    lfuse_graph *g = w->p->kind == BENCH_FIRST_GEMM ? NULL : describe(w);
    lfuse_plan *plan = NULL;
    const double start = bench_now_us();
    lfuse_status status = g ? plan_and_run(w, g, &plan)
                            : lfuse_gemm(w->stream, 0, 0, 1, w->tensors[0], w->tensors[1], 0, w->tensors[2]);
    if (!status) status = lfuse_stream_synchronize(w->stream);
    *us = bench_now_us() - start;
    lfuse_plan_destroy(plan);
    lfuse_graph_destroy(g);
    return status;
}

/* All of it is exact in f32. */
static double wanted(const bench_first *p, int64_t row, int64_t column)
{
    double x = element(NUMBERS, row, column, p->n), sum = 0;
    if (p->kind == BENCH_FIRST_POINTWISE) return x * x > 0.5 ? x * x - 0.5 : 0;
    if (p->kind == BENCH_FIRST_GEMM) {
        for (int64_t l = 0; l < p->k; l++)
            sum += (double)element(NUMBERS, row, l, p->k) * element(NUMBERS, l, column, p->n);
        return sum;
    }
    x = element(NUMBERS, row, ((column - p->layers) % p->n + p->n) % p->n, p->n);
    for (int l = 0; l < p->layers; l++) x = x + 0.25 > 0 ? x + 0.25 : 0;
    return x;
}

static lfuse_status verify(work *w, bool *ok)
{
    const bench_first *p = w->p;
    const int64_t count = p->m * p->n, step = count / SAMPLES + 1;
    *ok = true;
    LFUSE__TRY(lfuse_tensor_read(w->tensors[w->ntensors - 1], NULL, w->host));
    for (int64_t i = 0; i < count; i += step) *ok = *ok && (double)w->host[i] == wanted(p, i / p->n, i % p->n);
    return LFUSE_OK;
}

static lfuse_status measure(work *w, bench_first_figures *f)
{
    lfuse_device_counters before, after;
    LFUSE__TRY(make_tensors(w));
    LFUSE__TRY(lfuse_device_get_counters(w->dev, &before));
    LFUSE__TRY(timed(w, &f->first_us));
    LFUSE__TRY(lfuse_device_get_counters(w->dev, &after));
    f->build_us = (double)(after.build_us - before.build_us);
    f->compiles = after.compiles - before.compiles;
    return verify(w, &f->ok);
}

static lfuse_status run_train(const char *device, const bench_first *p, bench_first_figures *f)
{
    bench_device d = {.named = true};
    const double start = bench_now_us();
    lfuse_status status = lfuse_device_open(device, &d.dev);
    f->open_us = bench_now_us() - start;
    if (!status) status = lfuse_device_get_info(d.dev, &d.info);
    if (!status) status = lfuse_stream_create(d.dev, &d.stream);
    if (!status) status = bench_train_first(&d, p->train, f);
    lfuse_stream_destroy(d.stream);
    lfuse_device_close(d.dev);
    return status;
}

static lfuse_status run_tensors(const char *device, const bench_first *p, bench_first_figures *f)
{
    const int64_t most = p->m * p->n > p->m * p->k ? p->m * p->n : p->m * p->k;
    work w = {.p = p, .host = malloc((size_t)(most > p->k * p->n ? most : p->k * p->n) * sizeof(float))};
    const double start = bench_now_us();
    lfuse_status status;
    if (!w.host) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory for a matrix");
    status = lfuse_device_open(device, &w.dev);
    f->open_us = bench_now_us() - start;
    if (!status) status = lfuse_stream_create(w.dev, &w.stream);
    if (!status) status = measure(&w, f);
    while (w.ntensors) lfuse_tensor_destroy(w.tensors[--w.ntensors]);
    lfuse_stream_destroy(w.stream);
    lfuse_device_close(w.dev);
    free(w.host);
    return status;
}

lfuse_status bench_first_run(const char *device, const bench_first *p, bench_first_figures *f)
{
    return p->kind == BENCH_FIRST_TRAIN ? run_train(device, p, f) : run_tensors(device, p, f);
}
