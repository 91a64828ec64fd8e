/* SPDX-License-Identifier: Apache-2.0 */
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
    return (double)p->n * (double)p->k > MOST_SHARED || (double)p->count * (double)p->m * work > BENCH_VERIFIED_WORK;
}

lfuse_value bench_product_of(const bench_product *p, lfuse_value a, lfuse_value b)
{
    if (p->type == p->result && p->precision == LFUSE_PRECISION_FULL) return lfuse_matmul(a, b);
    return lfuse_matmul_as(a, b, p->result, p->precision);
}

lfuse_value bench_product_end(const bench_product *p, lfuse_value c, lfuse_value bias)
{
    const lfuse_value sum = lfuse_add(c, bias);
    switch (p->activation) {
    case BENCH_GELU: return lfuse_gelu(sum);
    case BENCH_GELU_TANH: return lfuse_gelu_tanh(sum);
    case BENCH_RELU: break;
    }
    return lfuse_relu(sum);
}

static bench_product product_of(const fixture *f)
{
    const fixture_io *a = &f->io[A], *b = &f->io[B];
    const int row = a->rank - 2;
    return (bench_product){row ? a->shape[0] : 1, a->shape[row], b->shape[row + 1], a->shape[row + 1], a->type,
                           f->io[f->nio - 1].type, f->precision, f->io[BIAS].role != FIXTURE_OUTPUT,
                           f->activation};
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

/* The rows and columns that are verified of one product, and what of the operands and of the result they are. */
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

/* The rows that are verified of all products together, shared among `members` of them. */
static int64_t rows_each(const bench_product *p, int64_t members)
{
    const int64_t all = bench_sample_count(p->count * p->m, (double)p->n * (double)p->k);
    const int64_t each = (all + members - 1) / members;
    return each < p->m ? each : p->m;
}

static lfuse_status part_make(const bench_product *whole, int64_t members, part *p)
{
    const size_t size = lfuse_type_size(whole->type), stored = lfuse_type_size(whole->result);
    *p = (part){.whole = *whole};
    p->m = rows_each(whole, members);
    p->n = whole->n < BENCH_CHECKED_COLUMNS ? whole->n : BENCH_CHECKED_COLUMNS;
    p->rows = malloc((size_t)p->m * sizeof *p->rows);
    p->columns = malloc((size_t)p->n * sizeof *p->columns);
    p->a = malloc((size_t)(p->m * whole->k) * size);
    p->b = malloc((size_t)(whole->k * p->n) * size);
    p->bias = malloc((size_t)p->n * stored);
    p->c = malloc((size_t)(p->m * p->n) * stored);
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

/* A matrix of a batch. */
static const void *member_of(const void *batch, int64_t member, int64_t elements, size_t size)
{
    return (const char *)batch + (size_t)(member * elements) * size;
}

static void gather_operands(const fixture *f, int64_t member, part *p)
{
    const size_t size = lfuse_type_size(p->whole.type), stored = lfuse_type_size(p->whole.result);
    const int64_t m = p->whole.m, k = p->whole.k, n = p->whole.n;
    gather(p->a, member_of(f->io[A].host, member, m * k, size), k, size, p->rows, p->m, NULL, k);
    gather(p->b, member_of(f->io[B].host, member, k * n, size), n, size, NULL, k, p->columns, p->n);
    if (p->whole.epilogue) gather(p->bias, f->io[BIAS].host, n, stored, NULL, 1, p->columns, p->n);
}

static void gather_result(const void *result, int64_t member, part *p)
{
    const size_t stored = lfuse_type_size(p->whole.result);
    const void *of_member = member_of(result, member, p->whole.m * p->whole.n, stored);
    gather(p->c, of_member, p->whole.n, stored, p->rows, p->m, p->columns, p->n);
}

static lfuse_graph *describe(const part *p)
{
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_value a = lfuse_input(g, "a", p->whole.type, 2, LFUSE_DIMS(p->m, p->whole.k));
    const lfuse_value b = lfuse_input(g, "b", p->whole.type, 2, LFUSE_DIMS(p->whole.k, p->n));
    lfuse_value c = bench_product_of(&p->whole, a, b);
    if (p->whole.epilogue)
        c = bench_product_end(&p->whole, c, lfuse_input(g, "bias", p->whole.result, 1, LFUSE_DIMS(p->n)));
    lfuse_output(g, "c", c);
    return g;
}

static lfuse_status find_truth(const fixture *f, const part *p, lfuse__oracle_run *truth)
{
    const lfuse__oracle_options options = {.inexact = !f->d->info.exact, .levels = f->levels};
    const lfuse__oracle_input inputs[] = {{.name = "a", .data = p->a, .shape = {p->m, p->whole.k}},
                                          {.name = "b", .data = p->b, .shape = {p->whole.k, p->n}},
                                          {.name = "bias", .data = p->bias, .shape = {p->n}}};
    lfuse_graph *g = describe(p);
    const lfuse_status status = lfuse__oracle_run_graph(g, inputs, 2 + p->whole.epilogue, &options, truth);
    lfuse_graph_destroy(g);
    return status;
}

/* The products of a batch that are verified, and what the oracle says of them: the same for all variants of a level. */
typedef struct truths {
    int levels;
    int64_t count, members[BENCH_CHECKED_MEMBERS];
    part parts[BENCH_CHECKED_MEMBERS];
    lfuse__oracle_run runs[BENCH_CHECKED_MEMBERS];
} truths;

static void truths_destroy(void *pointer)
{
    truths *t = pointer;
    for (int64_t i = 0; i < t->count; i++) {
        lfuse__oracle_free(&t->runs[i]);
        part_free(&t->parts[i]);
    }
    free(t);
}

static lfuse_status add_truth(const fixture *f, const bench_product *whole, int64_t members, truths *t)
{
    part *p = &t->parts[t->count];
    LFUSE__TRY(part_make(whole, members, p));
    gather_operands(f, t->members[t->count], p);
    const lfuse_status status = find_truth(f, p, &t->runs[t->count]);
    if (status) part_free(p);
    else t->count++;
    return status;
}

static lfuse_status truths_create(const fixture *f, const bench_product *whole, truths **made)
{
    const int64_t members = whole->count < BENCH_CHECKED_MEMBERS ? whole->count : BENCH_CHECKED_MEMBERS;
    truths *t = calloc(1, sizeof *t);
    lfuse_status status = LFUSE_OK;
    if (!t) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory to verify a product");
    t->levels = f->levels;
    bench_sample_rows(whole->count, members, SEED + 2, t->members);
    while (t->count < members && !status) status = add_truth(f, whole, members, t);
    if (status) truths_destroy(t);
    else *made = t;
    return status;
}

/* The fixture keeps the truths for the next variant. */
static lfuse_status have_truths(fixture *f, const bench_product *whole)
{
    if (f->truth && ((const truths *)f->truth)->levels == f->levels) return LFUSE_OK;
    truths *made;
    LFUSE__TRY(truths_create(f, whole, &made));
    if (f->truth) truths_destroy(f->truth);
    f->truth = made;
    f->destroy_truth = truths_destroy;
    return LFUSE_OK;
}

static void judge(const part *p, const lfuse__oracle_run *truth, bench_variant *v)
{
    const lfuse__oracle_result *r = &truth->results[0];
    lfuse__oracle_report report;
    if (!lfuse__oracle_compare(p->whole.result, r->count, p->c, r->value, r->bound, &report)) {
        if (v->ok) fprintf(stderr, "lfuse-bench: %s: c: %s\n", v->name, report.text);
        v->ok = false;
    }
    if (v->tol < 0 || report.max_ratio > v->max_err / v->tol) {
        v->max_err = report.max_error;
        v->tol = report.max_ratio > 0 ? report.max_error / report.max_ratio : 1;
    }
}

lfuse_status bench_product_verify(fixture *f, bench_variant *v)
{
    const bench_product whole = product_of(f);
    LFUSE__TRY(have_truths(f, &whole));
    truths *t = f->truth;
    lfuse_status status;
    void *result = read_result(f, &status);
    if (status) return status;
    v->tol = v->max_err = -1;
    for (int64_t i = 0; i < t->count; i++) {
        gather_result(result, t->members[i], &t->parts[i]);
        judge(&t->parts[i], &t->runs[i], v);
    }
    free(result);
    return LFUSE_OK;
}

static lfuse_status check_member(const fixture *f, const bench_product *p, const void *result, int64_t member,
                                 bench_variant *v)
{
    const size_t size = lfuse_type_size(p->type), stored = lfuse_type_size(p->result);
    const lfuse__oracle_whole whole = {.m = p->m, .n = p->n, .k = p->k, .type = p->type, .result = p->result,
                                       .tf32 = p->precision == LFUSE_PRECISION_TF32, .levels = f->levels};
    lfuse__oracle_report report = {.bad = 0};
    LFUSE__TRY(lfuse__oracle_product(&whole, member_of(f->io[A].host, member, p->m * p->k, size),
                                     member_of(f->io[B].host, member, p->k * p->n, size),
                                     member_of(result, member, p->m * p->n, stored), SEED, &report));
    if (!report.bad) return LFUSE_OK;
    if (v->ok) fprintf(stderr, "lfuse-bench: %s: product %lld: %s\n", v->name, (long long)member, report.text);
    v->ok = false;
    return LFUSE_OK;
}

lfuse_status bench_product_check_whole(fixture *f, bench_variant *v)
{
    const bench_product p = product_of(f);
    LFUSE__TRY(fixture_poison(f));
    LFUSE__TRY(v->run(v->state, 0));
    lfuse_status status;
    void *result = read_result(f, &status);
    for (int64_t i = 0; i < p.count && !status; i++) status = check_member(f, &p, result, i, v);
    free(result);
    return status;
}
