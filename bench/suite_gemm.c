/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm:<m>x<n>x<k>[:TYPE][:to=TYPE][:tf32|PRECISION][:nt|tn|tt][:b<count>|frozen][:gelu|gelu_tanh]: the product of
 * a matrix [m, k] and one [k, n], both of which change from run to run, or the first one alone (frozen); with a result
 * of another type; of f32 rounded to tf32, or that may be split (a precision, such as f32x3); stored transposed where
 * there is a t; or a batch of so many.
 *   plan         what the planner makes of it, its algorithms timed once
 *   native       the same with the library's own kernels, where the device has them
 *   vendor-plan  the same with the vendor's library, where there is one
 *   vendor       bare calls of that library (not in f64, and in f32 where others may split): the fastest algorithm that
 *                its heuristic lists
 *   openblas     the system's OpenBLAS on the host, where there is one; on CPUs, f32 and f64; of a batch, call by call
 *   strassen1, strassen2  of squares: by so many levels of Strassen's algorithm
 * and plan, native and vendor with "+ep", the same with bias and relu, gelu or gelu_tanh (not of bare calls: cuBLASLt's
 * loses the digits of small results): what the epilogue costs is the difference.
 * gemm:<m>x<n>x<k>:g<count>[:TYPE][:rows]: a group, see gemm_group.h.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/gemm_check.h"
#include "bench/gemm_group.h"
#include "bench/gemm_problem.h"
#include "common/base/error.h"

enum { MOST_SETS = 8 };
/*
 * Multiplications that a problem of the list has on a CPU at most: a tenth of a second; and with a vendor's library,
 * whose kernels are made for GPUs: half a second.
 */
static const double most_on_cpu = 0x1p34, most_of_vendor = 0x1p31;

/* The product by itself, and with its epilogue: a, b and c, or a, b, bias and c. */
typedef struct shared {
    fixture *bare, *ep;
} shared;

static void shared_destroy(void *pointer)
{
    shared *s = pointer;
    fixture_destroy(s->ep);
    fixture_destroy(s->bare);
    free(s);
}

static lfuse_status make_fixture(bench_device *d, const gemm_problem *p, bool epilogue, fixture **f, bench_case *c)
{
    LFUSE__TRY(fixture_create(d, f));
    LFUSE__TRY(gemm_problem_build(*f, p, epilogue));
    if (!epilogue) bench_choose_sets(d, c, fixture_bytes(*f), MOST_SETS);
    return fixture_upload(*f, c->nsets);
}

static const lfuse_plan_options options = {.effort = LFUSE_EFFORT_MEASURE};

static lfuse_status add_vendors(shared *s, const gemm_problem *p, bench_case *c)
{
    const lfuse_plan_options vendor = {.effort = LFUSE_EFFORT_MEASURE, .provider = LFUSE_PROVIDER_VENDOR};
    if (gemm_problem_is_large(s->bare->d, p, most_of_vendor)) return LFUSE_OK;
    LFUSE__TRY(bench_omit(c, "vendor-plan", fixture_variant(s->bare, c, "vendor-plan", &vendor)));
    if (p->type == LFUSE_F64 || p->to != p->type) return LFUSE_OK; /* what the bare calls are not written for */
    LFUSE__TRY(gemm_add_vendor(s->bare, p, c, "vendor"));
    return p->activation != BENCH_RELU ? LFUSE_OK : gemm_add_vendor(s->ep, p, c, "vendor+ep");
}

static lfuse_status add_strassen(fixture *f, bench_case *c, fixture_levels which)
{
    const int before = c->nvariants;
    LFUSE__TRY(fixture_strassen(f, c, which, &options));
    if (!f->verify || c->nvariants == before) return LFUSE_OK;
    f->levels = which == FIXTURE_ONE_LEVEL ? 1 : 2;
    lfuse_status status = bench_product_check_whole(f, &c->variants[before]);
    f->levels = 0;
    return status;
}

static lfuse_status add_strassens(fixture *f, const gemm_problem *p, bench_case *c)
{
    if (p->m != p->n || p->m != p->k || p->batch || p->precision == LFUSE_PRECISION_TF32 || p->type == LFUSE_F64 ||
        lfuse_type_size(p->type) == 1)
        return LFUSE_OK;
    LFUSE__TRY(add_strassen(f, c, FIXTURE_ONE_LEVEL));
    return add_strassen(f, c, FIXTURE_TWO_LEVELS);
}

static lfuse_status add_variants(shared *s, const gemm_problem *p, bench_case *c)
{
    LFUSE__TRY(fixture_variant(s->bare, c, "plan", &options));
    LFUSE__TRY(fixture_variant(s->ep, c, "plan+ep", &options));
    LFUSE__TRY(fixture_native(s->bare, c, "native"));
    LFUSE__TRY(fixture_native(s->ep, c, "native+ep"));
    LFUSE__TRY(add_vendors(s, p, c));
    for (int i = 0; s->bare->verify && i < c->nvariants; i++)
        if (!strstr(c->variants[i].name, "+ep")) LFUSE__TRY(bench_product_check_whole(s->bare, &c->variants[i]));
    LFUSE__TRY(gemm_add_openblas(s->bare, p, c));
    return add_strassens(s->bare, p, c);
}

static lfuse_status read_problem(const bench_device *d, const char *problem, gemm_problem *p)
{
    LFUSE__TRY(gemm_problem_parse(problem, p));
    if (!gemm_problem_is_large(d, p, most_on_cpu)) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%.3g multiplications are many for a CPU; --case runs it anyway",
                        gemm_problem_work(p));
}

static lfuse_status tune(bench_device *d, const char *problem)
{
    gemm_problem p;
    if (gemm_group_is(problem)) return LFUSE_OK; /* one launch of one form: there is nothing to choose */
    LFUSE__TRY(read_problem(d, problem, &p));
    for (int epilogue = 0; epilogue < 2; epilogue++) {
        fixture *f;
        LFUSE__TRY(fixture_create(d, &f));
        lfuse_status status = gemm_problem_build(f, &p, epilogue);
        if (!status) status = fixture_upload(f, 1);
        if (!status) status = fixture_tune(f, &options);
        fixture_destroy(f);
        if (status) return status;
    }
    return LFUSE_OK;
}

static lfuse_status choices(bench_device *d, const char *problem, int number, bench_case *c)
{
    gemm_problem p;
    fixture *f;
    if (gemm_group_is(problem))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: a group is one launch of one form", problem);
    LFUSE__TRY(read_problem(d, problem, &p));
    LFUSE__TRY(fixture_create(d, &f));
    c->shared = f;
    c->destroy = fixture_destroy;
    LFUSE__TRY(gemm_problem_build(f, &p, number == 1));
    bench_choose_sets(d, c, fixture_bytes(f), MOST_SETS);
    LFUSE__TRY(fixture_upload(f, c->nsets));
    return bench_add_choices(f, c, !gemm_problem_is_large(d, &p, most_of_vendor));
}

static lfuse_status prepare(bench_device *d, const char *problem, bench_case *c)
{
    gemm_problem p;
    if (gemm_group_is(problem)) return gemm_group_prepare(d, problem, c);
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
        v->flops = 2 * gemm_problem_work(&p);
        v->operands = p.precision != LFUSE_PRECISION_FULL ? LFUSE_TYPE_NONE : p.type;
    }
    return LFUSE_OK;
}

/* The largest last, which a run with a limit may not come to. */
static const char *const problems[] = {
    "gemm:256x256x256",   "gemm:512x512x512",   "gemm:1024x1024x1024", "gemm:2048x2048x2048", "gemm:1x4096x4096",
    "gemm:2x4096x4096",   "gemm:4x4096x4096",   "gemm:8x4096x4096",    "gemm:16x4096x4096",   "gemm:256x256x16384",
    "gemm:1024x1024x1024:tn", "gemm:1024x1024x1024:nt", "gemm:1024x1024x1024:tt", "gemm:64x64x64:b512",
    "gemm:256x256x256:b64", "gemm:256x256x256:nt:b64", "gemm:1024x1024x1024:b16",
    "gemm:256x256x256:g64", "gemm:1024x1024x1024:g16", "gemm:1024x4096x2048:g32:f16:rows",
    "gemm:4096x4096x4096", "gemm:4096x4096x4096:f16", "gemm:4096x4096x4096:bf16", "gemm:4096x4096x4096:f16:to=f32",
    "gemm:4096x4096x4096:nt:e4m3", "gemm:4096x4096x4096:tf32", "gemm:4096x4096x4096:f32x3",
    "gemm:4096x4096x4096:f32x3:frozen", "gemm:8192x8192x8192", NULL};
static const char *const quick[] = {"gemm:256x256x256", "gemm:8x512x512", "gemm:128x64x96:tn:b3", "gemm:64x96x80:g5",
                                    NULL};
const bench_suite bench_suite_gemm = {"gemm", problems, quick, prepare, tune, NULL, choices, 2};
