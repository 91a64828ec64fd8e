/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense:L<layers>:H<width>:B<batch>[:TYPE|PRECISION]: a dense network, layers of linear, bias and relu. A
 * precision, such as f32x3, is one by which plans may split the f32 operands of products.
 *   unfused  three launches a layer: product, bias, relu
 *   fused    what the planner makes of it, launched step by step
 *   replay   the same as one native graph, or as a recorded list of launches where the device has none
 *   native   fused with the library's own kernels, where the device has them
 *   strassen1, strassen2   fused, each product by so many levels of Strassen's algorithm
 *   auto     so many as the planner takes for the fastest, up to two
 *   vendor   bare calls of the vendor's library, by the backend's own means; in f32 where others may split
 * All sides run the fastest of their algorithms, timed once when they are made. f16 and bf16 are what tensors hold:
 * products are summed in f32. What declines the type or the sizes is left out with its own words.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/fixture.h"
#include "bench/native.h"
#include "bench/network_check.h"
#include "common/base/error.h"
#include "common/base/precision.h"

enum { MOST_LAYERS = 16, MOST_SETS = 8 };

typedef struct dense {
    int layers;
    int64_t width, batch;
    lfuse_type type;
    lfuse_precision precision; /* of plans: FULL or one that splits */
} dense;

static lfuse_status parse(const char *problem, dense *p)
{
    long long width = 0, batch = 0;
    char type[8] = "f32", rest;
    int fields = sscanf(problem, "dense:L%d:H%lld:B%lld:%7[a-z0-9]%c", &p->layers, &width, &batch, type, &rest);
    p->width = width;
    p->batch = batch;
    if (!lfuse__precision_find(type, &p->precision) || !lfuse__may_split(p->precision))
        p->precision = LFUSE_PRECISION_FULL;
    p->type = lfuse__may_split(p->precision) ? LFUSE_F32 : LFUSE_TYPE_NONE;
    for (int t = LFUSE_F32; t <= LFUSE_F64; t++)
        if (!strcmp(type, lfuse_type_name((lfuse_type)t))) p->type = (lfuse_type)t;
    if (fields < 3 || fields > 4 || p->layers < 1 || p->layers > MOST_LAYERS || width < 1 || batch < 1 ||
        p->type == LFUSE_TYPE_NONE)
        return lfuse__error(LFUSE_ERR_INVALID, "%s: expected dense:L<1-%d>:H<width>:B<batch>[:TYPE%s]", problem,
                            MOST_LAYERS, lfuse__precisions_that_split("|").text);
    return LFUSE_OK;
}

/* Multiplications that a problem has on a CPU at most: a tenth of a second; and with a vendor's library. */
static const double most_on_cpu = 0x1p34, most_of_vendor = 0x1p31;
/* Weights that it has there at most: variants hold up to 49/16 of them once more, for each of two buffer sets. */
static const double most_weights_on_cpu = 0x1p27;

static bool is_too_large(const bench_device *d, const dense *p, double most)
{
    const double width = (double)p->width;
    return d->info.kind == LFUSE_DEVICE_CPU && !d->named && p->layers * (double)p->batch * width * width > most;
}

static lfuse_status read_problem(const bench_device *d, const char *problem, dense *p)
{
    LFUSE__TRY(parse(problem, p));
    const double weights = p->layers * (double)p->width * (double)p->width;
    if (d->info.kind == LFUSE_DEVICE_CPU && !d->named && weights > most_weights_on_cpu)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%.3g weights are many for a CPU's memory; --case runs it anyway",
                            weights);
    if (!is_too_large(d, p, most_on_cpu)) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "these are many multiplications for a CPU; --case runs it anyway");
}

/* Inputs in the order x, w0, b0, w1, b1, ..., then y. */
static lfuse_status build(fixture *f, const dense *p)
{
    char name[16];
    lfuse_value x, w, b;
    const int64_t square[2] = {p->width, p->width}, rows[2] = {p->batch, p->width};
    double scale = sqrt(6.0 / (double)p->width); /* keeps the activations' size from layer to layer */
    LFUSE__TRY(fixture_tensor(f, "x", FIXTURE_INPUT, p->type, 2, rows, 1, &x));
    for (int l = 0; l < p->layers; l++) {
        snprintf(name, sizeof name, "w%d", l);
        LFUSE__TRY(fixture_tensor(f, name, FIXTURE_FROZEN, p->type, 2, square, scale, &w));
        snprintf(name, sizeof name, "b%d", l);
        LFUSE__TRY(fixture_tensor(f, name, FIXTURE_FROZEN, p->type, 1, &p->width, 0.1, &b));
        x = lfuse_relu(lfuse_add(lfuse_matmul(x, w), b));
    }
    LFUSE__TRY(fixture_tensor(f, "y", FIXTURE_OUTPUT, p->type, 2, rows, 1, NULL));
    lfuse_output(f->graph, "y", x);
    if (p->type != LFUSE_F64) f->verify = bench_network_verify;
    f->precision = p->precision;
    return LFUSE_OK;
}

/* The vendor's side: one prepared network for each buffer set. */
typedef struct vendor {
    const bench_native_kind *kind;
    int nsets;
    void *networks[FIXTURE_MAX_SETS];
    lfuse_tensor *scratch[FIXTURE_MAX_SETS][2];
} vendor;

static lfuse_status vendor_run(void *state, int set)
{
    vendor *v = state;
    return v->kind->dense_run(v->networks[set]);
}

static void vendor_destroy(void *state)
{
    vendor *v = state;
    for (int s = 0; s < v->nsets; s++) {
        if (v->networks[s]) v->kind->dense_destroy(v->networks[s]);
        lfuse_tensor_destroy(v->scratch[s][0]);
        lfuse_tensor_destroy(v->scratch[s][1]);
    }
    free(v);
}

static lfuse_status vendor_set(fixture *f, const dense *p, vendor *v, int set)
{
    lfuse_tensor *w[MOST_LAYERS], *b[MOST_LAYERS];
    const int64_t rows[2] = {p->batch, p->width};
    for (int l = 0; l < p->layers; l++) {
        w[l] = f->io[1 + 2 * l].tensors[set];
        b[l] = f->io[2 + 2 * l].tensors[set];
    }
    for (int i = 0; i < 2; i++) LFUSE__TRY(lfuse_tensor_create(f->d->dev, p->type, 2, rows, &v->scratch[set][i]));
    const bench_dense_buffers buffers = {
        .layers = p->layers, .batch = p->batch, .inner = p->width, .width = p->width, .w = w, .b = b,
        .x = f->io[0].tensors[set], .scratch = {v->scratch[set][0], v->scratch[set][1]},
        .y = f->io[f->nio - 1].tensors[set]};
    return v->kind->dense_create(f->d, &buffers, &v->networks[set]);
}

static lfuse_status add_vendor(fixture *f, const dense *p, bench_case *c)
{
    if (is_too_large(f->d, p, most_of_vendor)) {
        bench_leave_out(c, "vendor", "these are many multiplications for its kernels on a CPU; --case runs it anyway");
        return LFUSE_OK;
    }
    vendor *v = calloc(1, sizeof *v);
    if (!v) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for the vendor's network");
    v->nsets = f->nsets;
    lfuse_status status = bench_native_find(f->d, &v->kind);
    for (int s = 0; s < f->nsets && !status; s++) status = vendor_set(f, p, v, s);
    if (status) {
        vendor_destroy(v);
        return bench_omit(c, "vendor", status);
    }
    bench_variant *variant = bench_add(c, "vendor", v, vendor_run, vendor_destroy);
    LFUSE__TRY(lfuse_tensor_fill(f->io[f->nio - 1].tensors[0], NULL, NAN));
    LFUSE__TRY(vendor_run(v, 0));
    LFUSE__TRY(lfuse_stream_synchronize(f->d->stream));
    return fixture_verify(f, variant);
}

static const lfuse_plan_options fused = {.effort = LFUSE_EFFORT_MEASURE, .disable = LFUSE_NO_REPLAY};
static const lfuse_plan_options replay = {.effort = LFUSE_EFFORT_MEASURE};
static const lfuse_plan_options unfused = {
    .effort = LFUSE_EFFORT_MEASURE,
    .disable = LFUSE_NO_EPILOGUE | LFUSE_NO_POINTWISE_FUSION | LFUSE_NO_PROLOGUE | LFUSE_NO_REPLAY};

static lfuse_status add_strassens(fixture *f, const dense *p, bench_case *c)
{
    for (int i = 0; i < FIXTURE_STRASSENS && p->type != LFUSE_F64; i++)
        LFUSE__TRY(fixture_strassen(f, c, (fixture_levels)i, &fused));
    return LFUSE_OK;
}

static lfuse_status tune(bench_device *d, const char *problem)
{
    dense p;
    fixture *f;
    LFUSE__TRY(read_problem(d, problem, &p));
    LFUSE__TRY(fixture_create(d, &f));
    lfuse_status status = build(f, &p);
    if (!status) status = fixture_upload(f, 1);
    if (!status) status = fixture_tune(f, &fused);
    if (!status) status = fixture_tune(f, &unfused);
    fixture_destroy(f);
    return status;
}

/* The problem on the device, with the case's buffer sets filled; the case owns it. */
static lfuse_status make_fixture(bench_device *d, const char *problem, dense *p, bench_case *c, fixture **made)
{
    fixture *f;
    LFUSE__TRY(read_problem(d, problem, p));
    LFUSE__TRY(fixture_create(d, &f));
    c->shared = f;
    c->destroy = fixture_destroy;
    LFUSE__TRY(build(f, p));
    bench_choose_sets(d, c, fixture_bytes(f), MOST_SETS);
    LFUSE__TRY(fixture_upload(f, c->nsets));
    *made = f;
    return LFUSE_OK;
}

static lfuse_status choices(bench_device *d, const char *problem, int number, bench_case *c)
{
    dense p;
    fixture *f;
    (void)number;
    LFUSE__TRY(make_fixture(d, problem, &p, c, &f));
    return bench_add_choices(f, c, !is_too_large(d, &p, most_of_vendor));
}

static lfuse_status prepare(bench_device *d, const char *problem, bench_case *c)
{
    dense p;
    fixture *f;
    LFUSE__TRY(make_fixture(d, problem, &p, c, &f));
    LFUSE__TRY(fixture_variant(f, c, "unfused", &unfused));
    LFUSE__TRY(fixture_variant(f, c, "fused", &fused));
    LFUSE__TRY(fixture_replay(f, c, &replay));
    LFUSE__TRY(fixture_native(f, c, "native"));
    LFUSE__TRY(add_strassens(f, &p, c));
    if (p.type != LFUSE_F64) LFUSE__TRY(add_vendor(f, &p, c));
    for (int i = 0; i < c->nvariants; i++) {
        c->variants[i].bytes = fixture_bytes(f);
        c->variants[i].flops = 2.0 * p.layers * (double)p.batch * (double)p.width * (double)p.width;
        c->variants[i].operands = lfuse__may_split(p.precision) ? LFUSE_TYPE_NONE : p.type;
    }
    return LFUSE_OK;
}

static const char *const problems[] = {
    "dense:L1:H32:B1", "dense:L8:H32:B1", "dense:L8:H32:B64", "dense:L1:H512:B64", "dense:L1:H4096:B1",
    "dense:L1:H8192:B8192",
    "dense:L8:H128:B64", "dense:L8:H512:B1", "dense:L8:H512:B64", "dense:L8:H1024:B64", "dense:L8:H2048:B64",
    "dense:L8:H4096:B64", "dense:L8:H8192:B1", "dense:L8:H8192:B64", "dense:L8:H1024:B1024", "dense:L8:H512:B8192",
    "dense:L8:H4096:B1024", "dense:L8:H4096:B4096", "dense:L8:H8192:B8192",
    "dense:L8:H4096:B4096:f32x3",
    "dense:L1:H32:B1:f16", "dense:L8:H128:B64:f16", "dense:L8:H512:B64:f16", "dense:L8:H4096:B64:f16",
    "dense:L8:H4096:B4096:f16", "dense:L8:H8192:B8192:f16",
    "dense:L8:H128:B64:bf16", "dense:L8:H512:B64:bf16", "dense:L8:H4096:B64:bf16", "dense:L8:H4096:B4096:bf16", NULL};
static const char *const quick[] = {"dense:L8:H128:B64", "dense:L4:H64:B8:f16", "dense:L4:H64:B8:bf16", NULL};
const bench_suite bench_suite_dense = {"dense", problems, quick, prepare, tune, NULL, choices, 1};
