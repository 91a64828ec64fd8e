/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed:<tables>x<batch>x<width>: look-ups in tables of different heights; each result is normalised (layernorm with a
 * scale and a shift of its own) and goes through tanh, and all are concatenated: y [batch, tables * width].
 *   unfused  one launch for each operator: look-up, layernorm and tanh of each table, then the concatenation
 *   fused    one plan
 * bytes: the indices, the rows of the tables that the indices name (each once a look-up), scale, shift and y.
 */
#include "bench/fixture.h"
#include "common/base/error.h"

enum { MOST_TABLES = 26, MOST_SETS = 16, MOST_STEPS = 3 * MOST_TABLES + 1 };
static const double epsilon = 1e-5;

typedef struct embed {
    int tables;
    int64_t batch, width;
} embed;

static lfuse_status parse(const char *problem, embed *p)
{
    long long batch = 0, width = 0;
    int fields = sscanf(problem, "embed:%dx%lldx%lld", &p->tables, &batch, &width);
    p->batch = batch;
    p->width = width;
    if (fields != 3 || p->tables < 1 || p->tables > MOST_TABLES || batch < 1 || width < 1)
        return lfuse__error(LFUSE_ERR_INVALID, "%s: expected embed:<1-%d>x<batch>x<width>", problem, MOST_TABLES);
    return LFUSE_OK;
}

static int64_t height(int table)
{
    return 4000 + 177 * (int64_t)table;
}

static void name_of(char *name, size_t size, char letter, int table)
{
    snprintf(name, size, "%c%d", letter, table);
}

static lfuse_value row_of(lfuse_value x, int i)
{
    return lfuse_squeeze(lfuse_slice(x, 0, i, 1, 1), 0);
}

static lfuse_value normalise(lfuse_value x, lfuse_value scale, lfuse_value shift)
{
    return lfuse_layernorm(x, 1, scale, shift, epsilon);
}

static lfuse_status declare(fixture *f, const embed *p, lfuse_value *results)
{
    lfuse_value table, index, scale, shift;
    const int64_t affine[2] = {p->tables, p->width}, part[2] = {p->batch, p->width};
    char name[16];
    LFUSE__TRY(fixture_tensor(f, "scale", FIXTURE_INPUT, LFUSE_F32, 2, affine, 1, &scale));
    LFUSE__TRY(fixture_tensor(f, "shift", FIXTURE_INPUT, LFUSE_F32, 2, affine, 1, &shift));
    for (int i = 0; i < p->tables; i++) {
        const int64_t shape[2] = {height(i), p->width};
        name_of(name, sizeof name, 't', i);
        LFUSE__TRY(fixture_tensor(f, name, FIXTURE_INPUT, LFUSE_F32, 2, shape, 1, &table));
        name_of(name, sizeof name, 'i', i);
        LFUSE__TRY(fixture_indices(f, name, LFUSE_I32, p->batch, height(i), &index));
        results[i] = lfuse_tanh(normalise(lfuse_gather(table, index), row_of(scale, i), row_of(shift, i)));
    }
    for (int i = 0; i < p->tables; i++) {
        name_of(name, sizeof name, 'a', i);
        LFUSE__TRY(fixture_tensor(f, name, FIXTURE_SCRATCH, LFUSE_F32, 2, part, 1, NULL));
    }
    LFUSE__TRY(fixture_tensor(f, "g", FIXTURE_SCRATCH, LFUSE_F32, 2, part, 1, NULL));
    return fixture_tensor(f, "h", FIXTURE_SCRATCH, LFUSE_F32, 2, part, 1, NULL);
}

/* ---- the operators, each a graph ---- */

static lfuse_graph *gather_graph(const embed *p, int i)
{
    lfuse_graph *g = lfuse_graph_create();
    char name[16];
    name_of(name, sizeof name, 't', i);
    lfuse_value table = lfuse_input(g, name, LFUSE_F32, 2, LFUSE_DIMS(height(i), p->width));
    name_of(name, sizeof name, 'i', i);
    lfuse_output(g, "g", lfuse_gather(table, lfuse_input(g, name, LFUSE_I32, 1, &p->batch)));
    return g;
}

static lfuse_graph *norm_graph(const embed *p, int i)
{
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_size affine[2] = {p->tables, p->width};
    lfuse_value x = lfuse_input(g, "g", LFUSE_F32, 2, LFUSE_DIMS(p->batch, p->width));
    lfuse_value scale = lfuse_input(g, "scale", LFUSE_F32, 2, affine);
    lfuse_value shift = lfuse_input(g, "shift", LFUSE_F32, 2, affine);
    lfuse_output(g, "h", normalise(x, row_of(scale, i), row_of(shift, i)));
    return g;
}

static lfuse_graph *tanh_graph(const embed *p, int i)
{
    lfuse_graph *g = lfuse_graph_create();
    char name[16];
    name_of(name, sizeof name, 'a', i);
    lfuse_output(g, name, lfuse_tanh(lfuse_input(g, "h", LFUSE_F32, 2, LFUSE_DIMS(p->batch, p->width))));
    return g;
}

static lfuse_graph *concat_graph(const embed *p)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_value parts[MOST_TABLES];
    char name[16];
    for (int i = 0; i < p->tables; i++) {
        name_of(name, sizeof name, 'a', i);
        parts[i] = lfuse_input(g, name, LFUSE_F32, 2, LFUSE_DIMS(p->batch, p->width));
    }
    lfuse_output(g, "y", lfuse_concat(p->tables, parts, 1));
    return g;
}

static lfuse_status add_unfused(fixture *f, bench_case *c, const embed *p)
{
    lfuse_graph *graphs[MOST_STEPS];
    int n = 0;
    for (int i = 0; i < p->tables; i++) {
        graphs[n++] = gather_graph(p, i);
        graphs[n++] = norm_graph(p, i);
        graphs[n++] = tanh_graph(p, i);
    }
    graphs[n++] = concat_graph(p);
    lfuse_status status = fixture_sequence(f, c, "unfused", graphs, n, NULL);
    for (int i = 0; i < n; i++) lfuse_graph_destroy(graphs[i]);
    return status;
}

static lfuse_status prepare(bench_device *d, const char *problem, bench_case *c)
{
    embed p;
    fixture *f;
    lfuse_value results[MOST_TABLES];
    LFUSE__TRY(parse(problem, &p));
    LFUSE__TRY(fixture_create(d, &f));
    c->shared = f;
    c->destroy = fixture_destroy;
    f->whole = true;
    LFUSE__TRY(declare(f, &p, results));
    const int64_t shape[2] = {p.batch, p.tables * p.width};
    LFUSE__TRY(fixture_tensor(f, "y", FIXTURE_OUTPUT, LFUSE_F32, 2, shape, 1, NULL));
    lfuse_output(f->graph, "y", lfuse_concat(p.tables, results, 1));
    const double looked_up = (double)p.tables * (double)p.batch * (double)p.width;
    const double bytes = 4 * (2 * looked_up + p.tables * (double)(p.batch + 2 * p.width));
    bench_choose_sets(d, c, bytes, MOST_SETS);
    LFUSE__TRY(fixture_upload(f, c->nsets));
    LFUSE__TRY(add_unfused(f, c, &p));
    LFUSE__TRY(fixture_variant(f, c, "fused", NULL));
    for (int i = 0; i < c->nvariants; i++) c->variants[i].bytes = bytes;
    return LFUSE_OK;
}

static const char *const problems[] = {"embed:26x2048x64", NULL};
static const char *const quick[] = {"embed:26x256x64", NULL};
const bench_suite bench_suite_embed = {"embed", problems, quick, prepare, NULL, NULL, NULL, 0};
