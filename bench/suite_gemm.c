/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm:<m>x<n>x<k>[:TYPE]: the product of a matrix [m, k] and one [k, n], both of which change from run to run.
 *   plan      what the planner makes of it, its algorithms timed once
 *   native    the same with the library's own kernels, where the device has them
 *   vendor    bare calls of the vendor's library (f32): the fastest algorithm that its heuristic lists
 *   openblas  the system's OpenBLAS on the host, where there is one; on CPUs, f32 and f64
 * and each of the first ones with "+ep", the same with bias and relu: what the epilogue costs is the difference.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/fixture.h"
#include "bench/gemm_check.h"
#include "bench/native.h"
#include "bench/openblas.h"
#include "bench/timer.h"
#include "common/base/error.h"

enum { MOST_SETS = 8, A = 0, B };
/*
 * Multiplications that a problem of the list has on a CPU at most: a tenth of a second; and with a vendor's library,
 * whose kernels are made for GPUs: half a second.
 */
static const double most_on_cpu = 0x1p34, most_of_vendor = 0x1p31;

typedef struct sizes {
    int64_t m, n, k;
    lfuse_type type;
} sizes;

/* The product by itself, and with its epilogue: a, b and c, or a, b, bias and y. */
typedef struct shared {
    fixture *bare, *ep;
} shared;

static lfuse_status parse(const char *problem, sizes *p)
{
    long long m = 0, n = 0, k = 0;
    char type[8] = "f32", rest = 0;
    int fields = sscanf(problem, "gemm:%lldx%lldx%lld:%7[a-z0-9]%c", &m, &n, &k, type, &rest);
    *p = (sizes){m, n, k, LFUSE_TYPE_NONE};
    for (int t = LFUSE_F32; t <= LFUSE_F64; t++)
        if (!strcmp(type, lfuse_type_name((lfuse_type)t))) p->type = (lfuse_type)t;
    if (fields < 3 || fields > 4 || m < 1 || n < 1 || k < 1 || m > 1 << 24 || n > 1 << 24 || k > 1 << 24 ||
        p->type == LFUSE_TYPE_NONE)
        return lfuse__error(LFUSE_ERR_INVALID, "%s: expected gemm:<m>x<n>x<k>[:TYPE]", problem);
    return LFUSE_OK;
}

static double multiplications(const sizes *p)
{
    return (double)p->m * (double)p->n * (double)p->k;
}

static bool is_too_large(const bench_device *d, const sizes *p, double most)
{
    return d->info.kind == LFUSE_DEVICE_CPU && !d->named && multiplications(p) > most;
}

static void shared_destroy(void *pointer)
{
    shared *s = pointer;
    fixture_destroy(s->ep);
    fixture_destroy(s->bare);
    free(s);
}

static lfuse_status build(fixture *f, const sizes *p, bool epilogue)
{
    const int64_t left[2] = {p->m, p->k}, right[2] = {p->k, p->n}, result[2] = {p->m, p->n};
    lfuse_value a, b, bias;
    LFUSE__TRY(fixture_tensor(f, "a", FIXTURE_INPUT, p->type, 2, left, 1, &a));
    LFUSE__TRY(fixture_tensor(f, "b", FIXTURE_SHARED, p->type, 2, right, 1, &b));
    lfuse_value c = lfuse_matmul(a, b);
    if (epilogue) {
        LFUSE__TRY(fixture_tensor(f, "bias", FIXTURE_SHARED, p->type, 1, &p->n, sqrt((double)p->k), &bias));
        c = lfuse_relu(lfuse_add(c, bias));
    }
    LFUSE__TRY(fixture_tensor(f, "c", FIXTURE_OUTPUT, p->type, 2, result, 1, NULL));
    lfuse_output(f->graph, "c", c);
    if (bench_product_is_large(&(bench_product){p->m, p->n, p->k, p->type, epilogue})) f->verify = bench_product_verify;
    return LFUSE_OK;
}

static lfuse_tensor *result_of(const fixture *f, int set)
{
    return f->io[f->nio - 1].tensors[set];
}

/* Runs a variant on what was poisoned, and verifies. */
static lfuse_status prove(fixture *f, bench_variant *v, double start)
{
    LFUSE__TRY(fixture_poison(f));
    LFUSE__TRY(v->run(v->state, 0));
    LFUSE__TRY(lfuse_stream_synchronize(f->d->stream));
    v->first_us = bench_now_us() - start;
    return fixture_verify(f, v);
}

/* ---- the vendor's library ---- */

typedef struct vendor {
    const bench_native_kind *kind;
    int nsets;
    void *products[FIXTURE_MAX_SETS];
} vendor;

static lfuse_status vendor_run(void *state, int set)
{
    vendor *v = state;
    return v->kind->dense_run(v->products[set]);
}

static void vendor_destroy(void *state)
{
    vendor *v = state;
    for (int s = 0; s < v->nsets; s++)
        if (v->products[s]) v->kind->dense_destroy(v->products[s]);
    free(v);
}

static lfuse_status vendor_set(const fixture *f, const sizes *p, vendor *v, int set)
{
    lfuse_tensor *b = f->io[B].tensors[set], *bias = f->io[B + 1].tensors[set];
    bench_dense_buffers buffers = {1, p->m, p->k, p->n, &b, f->io[B + 1].role == FIXTURE_OUTPUT ? NULL : &bias,
                                   f->io[A].tensors[set], {NULL, NULL}, result_of(f, set)};
    return v->kind->dense_create(f->d, &buffers, &v->products[set]);
}

/* A device without a vendor's library has one variant less. */
static lfuse_status add_vendor(fixture *f, const sizes *p, bench_case *c, const char *name)
{
    double start = bench_now_us();
    if (is_too_large(f->d, p, most_of_vendor)) return LFUSE_OK;
    vendor *v = calloc(1, sizeof *v);
    if (!v) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for the vendor's product");
    v->nsets = f->nsets;
    lfuse_status status = bench_native_find(f->d, &v->kind);
    for (int s = 0; s < f->nsets && !status; s++) status = vendor_set(f, p, v, s);
    if (status) {
        vendor_destroy(v);
        return status == LFUSE_ERR_UNSUPPORTED || status == LFUSE_ERR_LIBRARY ? LFUSE_OK : status;
    }
    return prove(f, bench_add(c, name, v, vendor_run, vendor_destroy), start);
}

/* ---- OpenBLAS ---- */

typedef struct host_product {
    fixture *f;
    sizes of;
    int nsets;
    void *operands[MOST_SETS][3];
} host_product;

static lfuse_status host_run(void *state, int set)
{
    const host_product *h = state;
    void *const *x = h->operands[set];
    return bench_openblas_multiply(h->of.type, h->of.m, h->of.n, h->of.k, x[0], x[1], x[2]);
}

static void host_destroy(void *state)
{
    host_product *h = state;
    for (int s = 0; s < h->nsets; s++)
        for (int i = 0; i < 3; i++) free(h->operands[s][i]);
    free(h);
}

static lfuse_status make_operands(host_product *h)
{
    const fixture_io *io[3] = {&h->f->io[A], &h->f->io[B], &h->f->io[h->f->nio - 1]};
    for (int s = 0; s < h->nsets; s++)
        for (int i = 0; i < 3; i++) {
            const size_t bytes = (size_t)io[i]->elements * lfuse_type_size(io[i]->type);
            if (posix_memalign(&h->operands[s][i], 64, bytes))
                return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %zu bytes of a product", bytes);
            if (io[i]->host) memcpy(h->operands[s][i], io[i]->host, bytes);
            else memset(h->operands[s][i], 0xff, bytes); /* NaN */
        }
    return LFUSE_OK;
}

/* What the host computed is verified where the device's results are. */
static lfuse_status prove_host(fixture *f, host_product *h, bench_variant *v)
{
    double start = bench_now_us();
    LFUSE__TRY(host_run(h, 0));
    v->first_us = bench_now_us() - start;
    v->note = bench_openblas_note();
    LFUSE__TRY(lfuse_tensor_write(result_of(f, 0), NULL, h->operands[0][2]));
    return fixture_verify(f, v);
}

static lfuse_status add_openblas(fixture *f, const sizes *p, bench_case *c)
{
    if (f->d->info.kind != LFUSE_DEVICE_CPU || (p->type != LFUSE_F32 && p->type != LFUSE_F64)) return LFUSE_OK;
    static bool told;
    if (bench_openblas_load()) {
        if (!told) fprintf(stderr, "lfuse-bench: no variant openblas: %s\n", lfuse_last_error());
        told = true;
        return LFUSE_OK;
    }
    host_product *h = calloc(1, sizeof *h);
    if (!h) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for variant openblas");
    h->f = f;
    h->of = *p;
    h->nsets = f->nsets;
    lfuse_status status = make_operands(h);
    if (!status) return prove_host(f, h, bench_add(c, "openblas", h, host_run, host_destroy));
    host_destroy(h);
    return status;
}

/* ---- the case ---- */

static lfuse_status make_fixture(bench_device *d, const sizes *p, bool epilogue, fixture **f, bench_case *c)
{
    LFUSE__TRY(fixture_create(d, f));
    LFUSE__TRY(build(*f, p, epilogue));
    if (!epilogue) bench_choose_sets(d, c, fixture_bytes(*f), MOST_SETS);
    return fixture_upload(*f, c->nsets);
}

static const lfuse_plan_options options = {.effort = LFUSE_EFFORT_MEASURE};

static lfuse_status add_variants(shared *s, const sizes *p, bench_case *c)
{
    LFUSE__TRY(fixture_variant(s->bare, c, "plan", &options));
    LFUSE__TRY(fixture_variant(s->ep, c, "plan+ep", &options));
    LFUSE__TRY(fixture_native(s->bare, c, "native"));
    LFUSE__TRY(fixture_native(s->ep, c, "native+ep"));
    if (p->type == LFUSE_F32) LFUSE__TRY(add_vendor(s->bare, p, c, "vendor"));
    if (p->type == LFUSE_F32) LFUSE__TRY(add_vendor(s->ep, p, c, "vendor+ep"));
    for (int i = 0; s->bare->verify && i < c->nvariants; i++)
        if (!strstr(c->variants[i].name, "+ep")) LFUSE__TRY(bench_product_check_whole(s->bare, &c->variants[i]));
    return add_openblas(s->bare, p, c);
}

static lfuse_status read_problem(const bench_device *d, const char *problem, sizes *p)
{
    LFUSE__TRY(parse(problem, p));
    if (!is_too_large(d, p, most_on_cpu)) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%.3g multiplications are many for a CPU; --case runs it anyway",
                        multiplications(p));
}

static lfuse_status tune(bench_device *d, const char *problem)
{
    sizes p;
    LFUSE__TRY(read_problem(d, problem, &p));
    for (int epilogue = 0; epilogue < 2; epilogue++) {
        fixture *f;
        LFUSE__TRY(fixture_create(d, &f));
        lfuse_status status = build(f, &p, epilogue);
        if (!status) status = fixture_upload(f, 1);
        if (!status) status = fixture_tune(f, &options);
        fixture_destroy(f);
        if (status) return status;
    }
    return LFUSE_OK;
}

static lfuse_status prepare(bench_device *d, const char *problem, bench_case *c)
{
    sizes p;
    LFUSE__TRY(read_problem(d, problem, &p));
    shared *s = calloc(1, sizeof *s);
    if (!s) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %s", problem);
    c->shared = s;
    c->destroy = shared_destroy;
    LFUSE__TRY(make_fixture(d, &p, false, &s->bare, c));
    LFUSE__TRY(make_fixture(d, &p, true, &s->ep, c));
    LFUSE__TRY(add_variants(s, &p, c));
    for (int i = 0; i < c->nvariants; i++) {
        bench_variant *v = &c->variants[i];
        v->bytes = fixture_bytes(strstr(v->name, "+ep") ? s->ep : s->bare);
        v->flops = 2 * multiplications(&p);
    }
    return LFUSE_OK;
}

/* The largest last, which a run with a limit may not come to. */
static const char *const problems[] = {
    "gemm:256x256x256",   "gemm:512x512x512",   "gemm:1024x1024x1024", "gemm:2048x2048x2048", "gemm:1x4096x4096",
    "gemm:2x4096x4096",   "gemm:4x4096x4096",   "gemm:8x4096x4096",    "gemm:16x4096x4096",   "gemm:256x256x16384",
    "gemm:4096x4096x4096", "gemm:4096x4096x4096:f16", "gemm:4096x4096x4096:bf16", "gemm:8192x8192x8192", NULL};
static const char *const quick[] = {"gemm:256x256x256", "gemm:8x512x512", NULL};
const bench_suite bench_suite_gemm = {"gemm", problems, quick, prepare, tune};
