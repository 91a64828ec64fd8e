/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows:FUNCTION:<rows>x<length>[:TYPE]: work along rows, beside our copy kernel over as many bytes as x and y have.
 *   unfused  one launch for each operator of a framework (of chains alone)
 *   fused    one plan
 */
#include <string.h>

#include "bench/copier.h"
#include "bench/fixture.h"
#include "common/base/error.h"

enum { MOST_SETS = 16 };
static const double epsilon = 1e-5;
static const int last[1] = {-1};

typedef struct function {
    const char *name;
    bool scale, shift, residual; /* what it takes beside x */
    bool reduces;                /* one number a row */
    lfuse_value (*scan)(lfuse_value a, int axis);
} function;

static const function functions[] = {
    {"softmax", false, false, false, false, NULL}, {"layernorm", true, true, false, false, NULL},
    {"rmsnorm", true, false, false, false, NULL},  {"logsumexp", false, false, false, true, NULL},
    {"layernorm_gelu_residual", true, true, true, false, NULL},
#define LFUSE__SCAN(name, ...) {#name, false, false, false, false, lfuse_##name},
#include "common/graph/scans.def"
#undef LFUSE__SCAN
};

typedef struct rows {
    const function *f;
    int64_t rows, length;
    lfuse_type type;
} rows;

static lfuse_status parse(const char *problem, rows *p)
{
    char name[32] = "", type[8] = "f32";
    long long count = 0, length = 0;
    int fields = sscanf(problem, "rows:%31[a-z_]:%lldx%lld:%7[a-z0-9]", name, &count, &length, type);
    *p = (rows){NULL, count, length, LFUSE_TYPE_NONE};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name)) p->f = &functions[i];
    for (int t = LFUSE_F32; t <= LFUSE_F64; t++)
        if (!strcmp(type, lfuse_type_name((lfuse_type)t))) p->type = (lfuse_type)t;
    if (fields < 3 || !p->f || count < 1 || length < 1 || p->type == LFUSE_TYPE_NONE)
        return lfuse__error(LFUSE_ERR_INVALID, "%s: expected rows:FUNCTION:<rows>x<length>[:TYPE]", problem);
    return LFUSE_OK;
}

typedef struct inputs {
    lfuse_value x, scale, shift, residual;
} inputs;

static lfuse_value apply(const function *f, const inputs *in)
{
    if (f->scan) return f->scan(in->x, 1);
    if (!strcmp(f->name, "softmax")) return lfuse_softmax(in->x, 1, last);
    if (!strcmp(f->name, "logsumexp")) return lfuse_logsumexp(in->x, 1, last, 0);
    if (!strcmp(f->name, "rmsnorm")) return lfuse_rmsnorm(in->x, 1, in->scale, epsilon);
    lfuse_value y = lfuse_layernorm(in->x, 1, in->scale, in->shift, epsilon);
    return f->residual ? lfuse_add(lfuse_gelu(y), in->residual) : y;
}

static lfuse_status declare(fixture *f, const rows *p, inputs *in)
{
    const int64_t shape[2] = {p->rows, p->length};
    LFUSE__TRY(fixture_tensor(f, "x", FIXTURE_INPUT, p->type, 2, shape, 4, &in->x));
    if (p->f->residual) LFUSE__TRY(fixture_tensor(f, "r", FIXTURE_INPUT, p->type, 2, shape, 1, &in->residual));
    if (p->f->scale) LFUSE__TRY(fixture_tensor(f, "scale", FIXTURE_FROZEN, p->type, 1, &p->length, 1, &in->scale));
    if (p->f->shift) LFUSE__TRY(fixture_tensor(f, "shift", FIXTURE_FROZEN, p->type, 1, &p->length, 1, &in->shift));
    if (p->f->residual) LFUSE__TRY(fixture_tensor(f, "h", FIXTURE_SCRATCH, p->type, 2, shape, 1, NULL));
    if (p->f->residual) LFUSE__TRY(fixture_tensor(f, "g", FIXTURE_SCRATCH, p->type, 2, shape, 1, NULL));
    return fixture_tensor(f, "y", FIXTURE_OUTPUT, p->type, p->f->reduces ? 1 : 2, shape, 1, NULL);
}

/* layernorm, gelu and the residual as three plans. */
static lfuse_status add_unfused(fixture *f, bench_case *c, const rows *p)
{
    const lfuse_size shape[2] = {p->rows, p->length};
    lfuse_graph *graphs[3];
    for (int i = 0; i < 3; i++) graphs[i] = lfuse_graph_create();
    lfuse_value x = lfuse_input(graphs[0], "x", p->type, 2, shape);
    lfuse_value scale = lfuse_frozen(graphs[0], "scale", p->type, 1, &p->length);
    lfuse_value shift = lfuse_frozen(graphs[0], "shift", p->type, 1, &p->length);
    lfuse_output(graphs[0], "h", lfuse_layernorm(x, 1, scale, shift, epsilon));
    lfuse_output(graphs[1], "g", lfuse_gelu(lfuse_input(graphs[1], "h", p->type, 2, shape)));
    lfuse_value gelu = lfuse_input(graphs[2], "g", p->type, 2, shape);
    lfuse_output(graphs[2], "y", lfuse_add(gelu, lfuse_input(graphs[2], "r", p->type, 2, shape)));
    lfuse_status status = fixture_sequence(f, c, "unfused", graphs, 3, NULL);
    for (int i = 0; i < 3; i++) lfuse_graph_destroy(graphs[i]);
    return status;
}

static lfuse_status prepare(bench_device *d, const char *problem, bench_case *c)
{
    rows p;
    fixture *f;
    inputs in;
    LFUSE__TRY(parse(problem, &p));
    LFUSE__TRY(fixture_create(d, &f));
    c->shared = f;
    c->destroy = fixture_destroy;
    LFUSE__TRY(declare(f, &p, &in));
    lfuse_output(f->graph, "y", apply(p.f, &in));
    bench_choose_sets(d, c, fixture_bytes(f), MOST_SETS);
    LFUSE__TRY(fixture_upload(f, c->nsets));
    if (p.f->residual) LFUSE__TRY(add_unfused(f, c, &p));
    LFUSE__TRY(fixture_variant(f, c, "fused", NULL));
    for (int i = 0; i < c->nvariants; i++) c->variants[i].bytes = fixture_bytes(f);
    return p.f->reduces ? LFUSE_OK : bench_add_copy(d, c, f->io[f->nio - 1].tensors, f->io[0].tensors);
}

static const char *const problems[] = {
    "rows:softmax:16384x4096",   "rows:layernorm:16384x4096",
    "rows:rmsnorm:16384x4096",   "rows:logsumexp:16384x4096",
    "rows:layernorm_gelu_residual:16384x4096",
    "rows:softmax:8192x32768",   "rows:layernorm:8192x32768",
    "rows:rmsnorm:8192x32768",   "rows:logsumexp:8192x32768",
    "rows:layernorm_gelu_residual:8192x32768",
    "rows:softmax:16384x4096:bf16", "rows:layernorm:16384x4096:bf16",
    "rows:cumsum:16384x4096", "rows:logcumsumexp:16384x4096", "rows:cumsum:8192x32768", NULL};
static const char *const quick[] = {"rows:softmax:1024x1024", "rows:layernorm:1024x1024",
                                    "rows:layernorm_gelu_residual:1024x1024", NULL};
const bench_suite bench_suite_rows = {"rows", problems, quick, prepare, NULL, NULL, NULL, 0};
