/* SPDX-License-Identifier: Apache-2.0 */
/* The variant "add": a += b in two tensors. */
#include <math.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "bench/timer.h"
#include "common/base/error.h"

enum { A, B, TENSORS };

typedef struct accumulation {
    bench_device *d;
    int nsets;
    int64_t elements;
    lfuse_plan *plan;
    lfuse_tensor *(*tensors)[TENSORS]; /* [nsets] */
    lfuse_instance **instances;        /* [nsets] */
} accumulation;

static void destroy(void *state)
{
    accumulation *a = state;
    for (int set = 0; a->instances && set < a->nsets; set++) lfuse_instance_destroy(a->instances[set]);
    for (int set = 0; a->tensors && set < a->nsets; set++)
        for (int i = 0; i < TENSORS; i++) lfuse_tensor_destroy(a->tensors[set][i]);
    lfuse_plan_destroy(a->plan);
    free(a->instances);
    free(a->tensors);
    free(a);
}

static lfuse_status run(void *state, int set)
{
    accumulation *a = state;
    const lfuse_binding b[] = {lfuse_bind_tensor("a", a->tensors[set][A]), lfuse_bind_tensor("b", a->tensors[set][B])};
    return lfuse_instance_run(a->instances[set], b, TENSORS);
}

/* Elements [from, from + count) become those before them. */
static lfuse_status repeat(accumulation *a, lfuse_tensor *t, int64_t from, int64_t count)
{
    lfuse_tensor *to = NULL, *source = NULL;
    lfuse_status status = lfuse_tensor_view(t, 1, &count, NULL, from, &to);
    if (!status) status = lfuse_tensor_view(t, 1, &count, NULL, 0, &source);
    if (!status) status = lfuse_tensor_copy(to, source, a->d->stream);
    lfuse_tensor_destroy(source);
    lfuse_tensor_destroy(to);
    return status;
}

static lfuse_status fill(accumulation *a, lfuse_tensor *t, const float *data, int64_t count)
{
    int64_t at = count < a->elements ? count : a->elements;
    lfuse_tensor *leading;
    LFUSE__TRY(lfuse_tensor_view(t, 1, &at, NULL, 0, &leading));
    lfuse_status status = lfuse_tensor_write(leading, a->d->stream, data);
    lfuse_tensor_destroy(leading);
    for (int64_t n; !status && at < a->elements; at += n) {
        n = a->elements - at < at ? a->elements - at : at;
        status = repeat(a, t, at, n);
    }
    return status;
}

static lfuse_status make_plan(accumulation *a)
{
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_value x = lfuse_input(g, "a", LFUSE_F32, 1, &a->elements);
    lfuse_update(x, lfuse_add(x, lfuse_input(g, "b", LFUSE_F32, 1, &a->elements)));
    lfuse_status status = lfuse_plan_create(a->d->dev, g, NULL, &a->plan);
    lfuse_graph_destroy(g);
    return status;
}

static lfuse_status make_set(accumulation *a, int set, const float *const *data, int64_t count)
{
    for (int i = 0; i < TENSORS; i++) {
        LFUSE__TRY(lfuse_tensor_create(a->d->dev, LFUSE_F32, 1, &a->elements, &a->tensors[set][i]));
        LFUSE__TRY(fill(a, a->tensors[set][i], data[i], count));
    }
    const lfuse_binding b[] = {lfuse_bind_tensor("a", a->tensors[set][A]), lfuse_bind_tensor("b", a->tensors[set][B])};
    return lfuse_instance_create(a->plan, a->d->stream, b, TENSORS, &a->instances[set]);
}

/* The leading elements of the first set, after one run. */
static lfuse_status verify(accumulation *a, const float *const *data, int64_t count, bench_variant *v)
{
    const int64_t n = count < a->elements ? count : a->elements;
    float *is = malloc((size_t)n * sizeof *is);
    lfuse_tensor *leading;
    if (!is) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %lld elements", (long long)n);
    lfuse_status status = lfuse_tensor_view(a->tensors[0][A], 1, &n, NULL, 0, &leading);
    if (!status) {
        status = lfuse_tensor_read(leading, NULL, is);
        lfuse_tensor_destroy(leading);
    }
    v->max_err = v->tol = 0;
    for (int64_t i = 0; i < n && !status; i++)
        if (is[i] != data[A][i] + data[B][i]) v->ok = false; /* NaN too */
    free(is);
    return status;
}

static lfuse_status prepare(accumulation *a, bench_case *c, const float *const *data, int64_t count)
{
    const double start = bench_now_us();
    LFUSE__TRY(make_plan(a));
    LFUSE__TRY(make_set(a, 0, data, count));
    LFUSE__TRY(run(a, 0));
    LFUSE__TRY(lfuse_stream_synchronize(a->d->stream));
    bench_variant *v = &c->variants[c->nvariants - 1];
    v->first_us = bench_now_us() - start;
    v->bytes = 12.0 * (double)a->elements;
    LFUSE__TRY(verify(a, data, count, v));
    for (int set = 1; set < a->nsets; set++) LFUSE__TRY(make_set(a, set, data, count));
    return lfuse_stream_synchronize(a->d->stream);
}

lfuse_status bench_add_accumulation(bench_device *d, bench_case *c, int64_t elements, const float *p, const float *q,
                                    int64_t count)
{
    const float *data[TENSORS] = {p, q};
    accumulation *a = calloc(1, sizeof *a);
    if (a) {
        *a = (accumulation){.d = d, .nsets = c->nsets, .elements = elements};
        a->tensors = calloc((size_t)c->nsets, sizeof *a->tensors);
        a->instances = calloc((size_t)c->nsets, sizeof(lfuse_instance *));
    }
    if (!a || !a->tensors || !a->instances || !bench_add(c, "add", a, run, destroy)) {
        if (a) destroy(a);
        return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for variant add");
    }
    return prepare(a, c, data, count);
}
