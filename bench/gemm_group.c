/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/gemm_group.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/data.h"
#include "bench/oracle.h"
#include "bench/sample.h"
#include "bench/timer.h"
#include "common/base/error.h"

enum { MOST_SETS = 8, MOST_COUNT = 4096, MOST_EXTENT = 1 << 14, SEED = 64, A = 0, B, C, LISTS };
static const double most_on_cpu = 0x1p34;
static const char *const names[LISTS] = {"a", "b", "c"};

typedef struct sizes {
    int64_t m, n, k;
} sizes;

typedef struct group {
    bench_device *d;
    lfuse_type type;
    bool rows;                         /* m alone differs */
    int64_t count;
    int nsets;
    sizes most, *of;                   /* [count] */
    void **host[LISTS];                /* [count] contents; of c what a device made */
    lfuse_tensor **members[LISTS][MOST_SETS];
    lfuse_list *lists[LISTS][MOST_SETS];
} group;

static int64_t rows_of(const group *g, int list, int64_t i) { return list == B ? g->of[i].k : g->of[i].m; }
static int64_t columns_of(const group *g, int list, int64_t i) { return list == A ? g->of[i].k : g->of[i].n; }
static int64_t elements_of(const group *g, int list, int64_t i) { return rows_of(g, list, i) * columns_of(g, list, i); }

static void group_destroy(void *shared)
{
    group *g = shared;
    for (int l = 0; l < LISTS; l++) {
        for (int s = 0; s < g->nsets; s++) {
            lfuse_list_destroy(g->lists[l][s]);
            for (int64_t i = 0; g->members[l][s] && i < g->count; i++) lfuse_tensor_destroy(g->members[l][s][i]);
            free(g->members[l][s]);
        }
        for (int64_t i = 0; g->host[l] && i < g->count; i++) free(g->host[l][i]);
        free(g->host[l]);
    }
    free(g->of);
    free(g);
}

bool gemm_group_is(const char *text)
{
    const char *at = strstr(text, ":g");
    return !strncmp(text, "gemm:", 5) && at && at[2] >= '0' && at[2] <= '9';
}

static lfuse_status parse(const char *text, group *g)
{
    long long m = 0, n = 0, k = 0, count = 0;
    char type[8] = "f32";
    const char *last = strrchr(text, ':');
    const int length = (int)((g->rows = last && !strcmp(last, ":rows")) ? last - text : (ptrdiff_t)strlen(text));
    char head[64];
    int end = 0; /* of what was read */
    const int fields = snprintf(head, sizeof head, "%.*s", length, text) >= (int)sizeof head
                           ? 0
                           : sscanf(head, "gemm:%lldx%lldx%lld:g%lld%n:%7[a-z0-9]%n", &m, &n, &k, &count, &end, type,
                                    &end);
    g->type = LFUSE_TYPE_NONE;
    for (int t = LFUSE_F32; t <= LFUSE_F64; t++)
        if (!strcmp(type, lfuse_type_name((lfuse_type)t))) g->type = (lfuse_type)t;
    if (fields < 4 || head[end] || m < 1 || n < 1 || k < 1 || m > MOST_EXTENT || n > MOST_EXTENT || k > MOST_EXTENT ||
        count < 1 || count > MOST_COUNT || g->type == LFUSE_TYPE_NONE)
        return lfuse__error(LFUSE_ERR_INVALID, "%s: expected gemm:<m>x<n>x<k>:g<count>[:f32|f16|bf16|f64][:rows]",
                            text);
    g->most = (sizes){m, n, k};
    g->count = count;
    return LFUSE_OK;
}

static int64_t draw(lfuse__random *r, int64_t most)
{
    const int64_t least = most / 4 ? most / 4 : 1;
    return least + (int64_t)lfuse__random_below(r, (uint64_t)(most - least + 1));
}

static lfuse_status make_host(group *g)
{
    const size_t size = lfuse_type_size(g->type), count = (size_t)g->count;
    lfuse__random r;
    lfuse__random_seed(&r, SEED);
    g->of = calloc(count, sizeof *g->of);
    for (int l = 0; l < LISTS; l++) g->host[l] = calloc(count, sizeof *g->host[l]);
    if (!g->of || !g->host[A] || !g->host[B] || !g->host[C])
        return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %zu products", count);
    for (int64_t i = 0; i < g->count; i++) {
        g->of[i].m = draw(&r, g->most.m);
        g->of[i].n = g->rows ? g->most.n : draw(&r, g->most.n);
        g->of[i].k = g->rows ? g->most.k : draw(&r, g->most.k);
        for (int l = 0; l < LISTS; l++) {
            if (!(g->host[l][i] = malloc((size_t)elements_of(g, l, i) * size)))
                return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %zu products", count);
            lfuse__data_uniform(g->type, g->host[l][i], elements_of(g, l, i), -1, 1, (uint64_t)(i * LISTS + l + 1));
        }
    }
    return LFUSE_OK;
}

static double bytes_of(const group *g)
{
    double elements = 0;
    for (int l = 0; l < LISTS; l++)
        for (int64_t i = 0; i < g->count; i++) elements += (double)elements_of(g, l, i);
    return elements * (double)lfuse_type_size(g->type);
}

static double work_of(const group *g)
{
    double work = 0;
    for (int64_t i = 0; i < g->count; i++) work += (double)g->of[i].m * (double)g->of[i].n * (double)g->of[i].k;
    return work;
}

static lfuse_status make_list(group *g, int l, int set)
{
    lfuse_tensor **t = g->members[l][set] = calloc((size_t)g->count, sizeof(lfuse_tensor *));
    if (!t) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %lld members", (long long)g->count);
    for (int64_t i = 0; i < g->count; i++) {
        const int64_t shape[2] = {rows_of(g, l, i), columns_of(g, l, i)};
        LFUSE__TRY(lfuse_tensor_create(g->d->dev, g->type, 2, shape, &t[i]));
        if (l != C) LFUSE__TRY(lfuse_tensor_write(t[i], NULL, g->host[l][i]));
    }
    return lfuse_list_create(g->d->dev, g->type, g->count, t, &g->lists[l][set]);
}

/* ---- ways to do it ---- */

/* One plan with an instance for each set, or a plan and an instance for each product, which takes any set. */
typedef struct way {
    const group *g;
    int64_t count;
    bool list;
    lfuse_plan **plans;
    lfuse_instance **instances;
} way;

static void way_destroy(void *state)
{
    way *w = state;
    for (int64_t i = w->count - 1; i >= 0; i--) {
        if (w->instances) lfuse_instance_destroy(w->instances[i]);
        if (w->plans) lfuse_plan_destroy(w->plans[i]);
    }
    free(w->plans);
    free(w->instances);
    free(w);
}

static void bind(const way *w, int set, int64_t i, lfuse_binding *b)
{
    for (int l = 0; l < LISTS; l++)
        b[l] = w->list ? lfuse_bind_list(names[l], w->g->lists[l][set])
                       : lfuse_bind_tensor(names[l], w->g->members[l][set][i]);
}

static lfuse_status make_plan(const way *w, int64_t i, lfuse_plan **plan)
{
    const group *p = w->g;
    lfuse_graph *g = lfuse_graph_create();
    lfuse_value operand[2];
    for (int l = A; l <= B; l++) {
        const int64_t shape[2] = {rows_of(p, l, i), columns_of(p, l, i)};
        operand[l] = w->list ? lfuse_list_input(g, names[l], p->type, LFUSE_RANK_MATRIX)
                             : lfuse_input(g, names[l], p->type, 2, shape);
    }
    lfuse_output(g, names[C], w->list ? lfuse_member_matmul(operand[A], 0, operand[B], 0)
                                      : lfuse_matmul(operand[A], operand[B]));
    lfuse_status status = lfuse_plan_create(p->d->dev, g, NULL, plan);
    lfuse_graph_destroy(g);
    return status;
}

static lfuse_status make_instances(way *w)
{
    lfuse_binding b[LISTS];
    for (int64_t i = 0; i < w->count; i++) {
        if (!w->list || !i) LFUSE__TRY(make_plan(w, w->list ? 0 : i, &w->plans[i]));
        bind(w, w->list ? (int)i : 0, i, b);
        LFUSE__TRY(lfuse_instance_create(w->plans[w->list ? 0 : i], w->g->d->stream, b, LISTS, &w->instances[i]));
    }
    return LFUSE_OK;
}

static lfuse_status run_list(void *state, int set)
{
    const way *w = state;
    lfuse_binding b[LISTS];
    bind(w, set, 0, b);
    return lfuse_instance_run(w->instances[set], b, LISTS);
}

static lfuse_status run_loop(void *state, int set)
{
    const way *w = state;
    lfuse_binding b[LISTS];
    for (int64_t i = 0; i < w->count; i++) {
        bind(w, set, i, b);
        LFUSE__TRY(lfuse_instance_run(w->instances[i], b, LISTS));
    }
    return LFUSE_OK;
}

/* ---- variants ---- */

/* As many rows of each product as all of them together can be paid for. */
static lfuse_status judge(const group *g, int64_t i, bench_variant *v)
{
    const sizes *s = &g->of[i];
    const size_t row = (size_t)s->n * lfuse_type_size(g->type);
    const int64_t nrows = bench_sample_count(s->m, (double)g->count * (double)s->n * (double)s->k);
    const lfuse__oracle_input inputs[] = {
        {.name = "a", .data = g->host[A][i], .shape = {s->m, s->k}, .rows = true},
        {.name = "b", .data = g->host[B][i], .shape = {s->k, s->n}}};
    int64_t *rows = malloc((size_t)nrows * sizeof *rows);
    lfuse__oracle_report report;
    lfuse__oracle_run truth;
    if (!rows) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %lld rows", (long long)nrows);
    bench_sample_rows(s->m, nrows, SEED, rows);
    const lfuse__oracle_options options = {.inexact = !g->d->info.exact, .rows = rows, .nrows = nrows};
    lfuse_graph *graph = lfuse_graph_create();
    const lfuse_value a = lfuse_input(graph, "a", g->type, 2, LFUSE_DIMS(s->m, s->k));
    lfuse_output(graph, "c", lfuse_matmul(a, lfuse_input(graph, "b", g->type, 2, LFUSE_DIMS(s->k, s->n))));
    lfuse_status status = lfuse__oracle_run_graph(graph, inputs, 2, &options, &truth);
    for (int64_t r = 0; r < nrows && !status; r++)
        memmove((char *)g->host[C][i] + (size_t)r * row, (char *)g->host[C][i] + (size_t)rows[r] * row, row);
    if (!status) {
        const lfuse__oracle_result *want = &truth.results[0];
        if (!lfuse__oracle_compare(g->type, want->count, g->host[C][i], want->value, want->bound, &report)) {
            if (v->ok) fprintf(stderr, "lfuse-bench: %s: product %lld: %s\n", v->name, (long long)i, report.text);
            v->ok = false;
        }
        if (v->tol < 0 || report.max_ratio > v->max_err / v->tol) {
            v->max_err = report.max_error;
            v->tol = report.max_ratio > 0 ? report.max_error / report.max_ratio : 1;
        }
        lfuse__oracle_free(&truth);
    }
    lfuse_graph_destroy(graph);
    free(rows);
    return status;
}

static lfuse_status prove(group *g, bench_variant *v, double start)
{
    for (int64_t i = 0; i < g->count; i++) LFUSE__TRY(lfuse_tensor_fill(g->members[C][0][i], NULL, NAN));
    LFUSE__TRY(v->run(v->state, 0));
    LFUSE__TRY(lfuse_stream_synchronize(g->d->stream));
    v->first_us = bench_now_us() - start;
    for (int64_t i = 0; i < g->count; i++) {
        LFUSE__TRY(lfuse_tensor_read(g->members[C][0][i], NULL, g->host[C][i]));
        LFUSE__TRY(judge(g, i, v));
    }
    return LFUSE_OK;
}

static lfuse_status add(group *g, bench_case *c, const char *name, bool list)
{
    const double start = bench_now_us();
    const int64_t count = list ? g->nsets : g->count;
    way *w = calloc(1, sizeof *w);
    if (!w) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for variant %s", name);
    *w = (way){g, count, list, calloc((size_t)count, sizeof(lfuse_plan *)),
               calloc((size_t)count, sizeof(lfuse_instance *))};
    lfuse_status status = w->plans && w->instances ? make_instances(w)
                                                   : lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %s", name);
    if (!status) return prove(g, bench_add(c, name, w, list ? run_list : run_loop, way_destroy), start);
    way_destroy(w);
    return status;
}

lfuse_status gemm_group_prepare(bench_device *d, const char *text, bench_case *c)
{
    group *g = calloc(1, sizeof *g);
    if (!g) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %s", text);
    c->shared = g;
    c->destroy = group_destroy;
    g->d = d;
    LFUSE__TRY(parse(text, g));
    LFUSE__TRY(make_host(g));
    if (d->info.kind == LFUSE_DEVICE_CPU && !d->named && work_of(g) > most_on_cpu)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%.3g multiplications are many for a CPU", work_of(g));
    bench_choose_sets(d, c, bytes_of(g), MOST_SETS);
    g->nsets = c->nsets;
    for (int l = 0; l < LISTS; l++)
        for (int s = 0; s < g->nsets; s++) LFUSE__TRY(make_list(g, l, s));
    LFUSE__TRY(add(g, c, "grouped", true));
    LFUSE__TRY(add(g, c, "loop", false));
    for (int i = 0; i < c->nvariants; i++) {
        c->variants[i].bytes = bytes_of(g);
        c->variants[i].flops = 2 * work_of(g);
        c->variants[i].operands = g->type;
    }
    return LFUSE_OK;
}
