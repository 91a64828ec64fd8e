/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "bench/gemm_check.h"

#include <stdlib.h>
#include <string.h>

#include "bench/oracle.h"
#include "bench/sample.h"
#include "common/base/error.h"

enum { SEED = 64, A = 0, B, BIAS, MOST_SHARED = 1 << 23 };

bool bench_product_is_large(const bench_product *p)
{
    const double work = (double)p->n * (double)p->k * (p->type == LFUSE_F64 ? BENCH_WIDE_WORK : 1);
    return (double)p->n * (double)p->k > MOST_SHARED || (double)p->m * work > BENCH_VERIFIED_WORK;
}

static bench_product product_of(const fixture *f)
{
    const fixture_io *a = &f->io[A], *b = &f->io[B];
    return (bench_product){a->shape[0], b->shape[1], a->shape[1], a->type, f->io[BIAS].role != FIXTURE_OUTPUT};
}

static void *read_result(const fixture *f, lfuse_status *status)
{
    const fixture_io *c = &f->io[f->nio - 1];
    void *data = malloc((size_t)c->elements * lfuse_type_size(c->type));
    *status = data ? lfuse_stream_synchronize(f->d->stream)
                   : lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %lld elements", (long long)c->elements);
    if (!*status) *status = lfuse_tensor_read(c->tensors[0], NULL, data);
    if (!*status) return data;
    free(data);
    return NULL;
}

/* The rows and columns that are verified, and what of the operands and of the result they are. */
typedef struct part {
    bench_product whole;
    int64_t m, n, *rows, *columns;
    void *a, *b, *bias, *c;
} part;

static void part_free(part *p)
{
    free(p->rows);
    free(p->columns);
    free(p->a);
    free(p->b);
    free(p->bias);
    free(p->c);
}

static lfuse_status part_make(const bench_product *whole, part *p)
{
    const size_t size = lfuse_type_size(whole->type);
    *p = (part){.whole = *whole};
    p->m = bench_sample_count(whole->m, (double)whole->n * (double)whole->k);
    p->n = whole->n < BENCH_CHECKED_COLUMNS ? whole->n : BENCH_CHECKED_COLUMNS;
    p->rows = malloc((size_t)p->m * sizeof *p->rows);
    p->columns = malloc((size_t)p->n * sizeof *p->columns);
    p->a = malloc((size_t)(p->m * whole->k) * size);
    p->b = malloc((size_t)(whole->k * p->n) * size);
    p->bias = malloc((size_t)p->n * size);
    p->c = malloc((size_t)(p->m * p->n) * size);
    if (p->rows && p->columns && p->a && p->b && p->bias && p->c) {
        bench_sample_rows(whole->m, p->m, SEED, p->rows);
        bench_sample_rows(whole->n, p->n, SEED + 1, p->columns);
        return LFUSE_OK;
    }
    part_free(p);
    return lfuse__error(LFUSE_ERR_MEMORY, "out of memory to verify a product");
}

/* The elements (rows[i], columns[j]) of a matrix of `width` columns; rows or columns NULL: every one. */
static void gather(void *to, const void *from, int64_t width, size_t size, const int64_t *rows, int64_t m,
                   const int64_t *columns, int64_t n)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const int64_t at = (rows ? rows[i] : i) * width + (columns ? columns[j] : j);
            memcpy((char *)to + (size_t)(i * n + j) * size, (const char *)from + (size_t)at * size, size);
        }
}

static void gather_part(const fixture *f, const void *result, part *p)
{
    const size_t size = lfuse_type_size(p->whole.type);
    const int64_t k = p->whole.k, n = p->whole.n;
    gather(p->a, f->io[A].host, k, size, p->rows, p->m, NULL, k);
    gather(p->b, f->io[B].host, n, size, NULL, k, p->columns, p->n);
    if (p->whole.epilogue) gather(p->bias, f->io[BIAS].host, n, size, NULL, 1, p->columns, p->n);
    gather(p->c, result, n, size, p->rows, p->m, p->columns, p->n);
}

static lfuse_graph *describe(const part *p)
{
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_value a = lfuse_input(g, "a", p->whole.type, 2, LFUSE_DIMS(p->m, p->whole.k));
    const lfuse_value b = lfuse_input(g, "b", p->whole.type, 2, LFUSE_DIMS(p->whole.k, p->n));
    lfuse_value c = lfuse_matmul(a, b);
    if (p->whole.epilogue) c = lfuse_relu(lfuse_add(c, lfuse_input(g, "bias", p->whole.type, 1, LFUSE_DIMS(p->n))));
    lfuse_output(g, "c", c);
    return g;
}

static lfuse_status judge(const fixture *f, const part *p, bench_variant *v)
{
    const lfuse__oracle_options options = {.inexact = !f->d->info.exact};
    const lfuse__oracle_input inputs[] = {{.name = "a", .data = p->a, .shape = {p->m, p->whole.k}},
                                          {.name = "b", .data = p->b, .shape = {p->whole.k, p->n}},
                                          {.name = "bias", .data = p->bias, .shape = {p->n}}};
    lfuse__oracle_report report;
    lfuse__oracle_run truth;
    lfuse_graph *g = describe(p);
    lfuse_status status = lfuse__oracle_run_graph(g, inputs, 2 + p->whole.epilogue, &options, &truth);
    if (status) goto destroy_graph;
    const lfuse__oracle_result *r = &truth.results[0];
    v->ok = lfuse__oracle_compare(p->whole.type, r->count, p->c, r->value, r->bound, &report);
    v->max_err = report.max_error;
    v->tol = report.max_ratio > 0 ? report.max_error / report.max_ratio : 1;
    if (!v->ok) fprintf(stderr, "lfuse-bench: %s: c: %s\n", v->name, report.text);
    lfuse__oracle_free(&truth);
destroy_graph:
    lfuse_graph_destroy(g);
    return status;
}

lfuse_status bench_product_verify(fixture *f, bench_variant *v)
{
    const bench_product whole = product_of(f);
    lfuse_status status;
    part p;
    void *result = read_result(f, &status);
    if (status) return status;
    status = part_make(&whole, &p);
    if (!status) {
        gather_part(f, result, &p);
        status = judge(f, &p, v);
        part_free(&p);
    }
    free(result);
    return status;
}

lfuse_status bench_product_check_whole(fixture *f, bench_variant *v)
{
    const bench_product p = product_of(f);
    lfuse__oracle_report report = {.bad = 0};
    LFUSE__TRY(fixture_poison(f));
    LFUSE__TRY(v->run(v->state, 0));
    lfuse_status status;
    void *result = read_result(f, &status);
    if (status) return status;
    status = lfuse__oracle_product(p.type, p.m, p.n, p.k, false, false, f->io[A].host, f->io[B].host, result, SEED,
                                   &report);
    free(result);
    if (status || !report.bad) return status;
    v->ok = false;
    fprintf(stderr, "lfuse-bench: %s: %s\n", v->name, report.text);
    return LFUSE_OK;
}
