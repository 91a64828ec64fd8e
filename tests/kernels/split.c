/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of f32 from split operands (common/matmul/emulated.h) within the bound of lfuse(7), and beside products in
 * f32: one chain of fused multiply-adds over k.
 *
 * Errors of an element are counted in u sum |a| |b|, u being 2^-24. What splitting loses is at most 8 of that: 4, as
 * low words are not multiplied by each other, and 2 for each operand, whose low word is rounded. Tensor cores cut off 2
 * more where there are few products. Over many products the former adds up as their root does, and the latter is no
 * more than that of 64 of them, while an error in f32 grows with the sums. So from some k on products in f32 are the
 * worse ones: that is demanded from COMPARED on, of the mean square and of the largest error, and of each row's and
 * each column's mean square, where errors are counted in norms, u |a| |b|, as scaling a row or a column changes nothing
 * then. Below COMPARED the bound alone is held.
 *
 * Nobody can demand it where sums in f32 stay small because neighbours cancel: what splitting loses of each product is
 * added there. Nor where a row has elements of all sizes: an element far below the largest of its row loses bits, which
 * are many beside its own products, and few beside the norms.
 *
 * That is of two words of f16 (f32x3). Three words of bf16 (bf16x6) lose less than 1 of what errors are counted in, so
 * that from COMPARED on the mean square and the largest error are no larger than in f32, where neighbours cancel too.
 * Where elements are of all sizes few products make up a sum: then the few roundings of f32 are less than what tensor
 * cores cut off, up to standing_out as much, and only from LONG on they are more.
 */
#include "common/base/error.h"
#include "common/matmul/emulated.h"
#include "tests/matmul/choose.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/host.h"
#include "tests/support/main.h"

enum { A, B, SUM, OUT, OPERANDS, GUARD = 64, COMPARED = 200, LONG = 2048 };

static const double u = 0x1p-24, standing_out = 1.5;

/* ---- problems ---- */

/* Both operands, whichever way they are stored, what is kept of one of them, and the result. */
typedef struct problem {
    lfuse__geometry g;
    bool transposed[2];
    int64_t wide[3], k; /* m and n, by operand; the last is not used */
    float *memory[OPERANDS];
    size_t bytes[OPERANDS];
} problem;

/* Row i of A, or column i of B, at l along k; row i and column l of the result. */
static float *at(const problem *p, int j, int64_t i, int64_t l)
{
    const bool along = j == A ? !p->transposed[A] : j == OUT || p->transposed[B];
    const int64_t line = along ? i : l, place = along ? l : i;
    return p->memory[j] + p->g.offsets[j] / sizeof(float) + line * p->g.strides[j][0] + place;
}

/* Elements between lines, and in front of the first. What is no element is NaN. */
static void problem_open(problem *p, const lfuse__product_class *c, const int64_t *sizes, int pad, int offset)
{
    const int64_t m = sizes[0], n = sizes[1], k = sizes[2];
    const int64_t lines[] = {c->ta ? k : m, c->tb ? n : k, 0, m}, elements[] = {c->ta ? m : k, c->tb ? k : n, 0, n};
    *p = (problem){.transposed = {c->ta, c->tb}, .wide = {m, n}, .k = k};
    memcpy(p->g.extents, sizes, 3 * sizeof *sizes);
    for (int j = 0; j < OPERANDS; j++) {
        if (j == SUM) continue;
        p->g.strides[j][0] = elements[j] + pad, p->g.strides[j][1] = 1;
        p->g.offsets[j] = p->g.addresses[j] = (uint64_t)(GUARD + offset) * sizeof(float);
        p->bytes[j] = (size_t)(2 * GUARD + offset + lines[j] * (elements[j] + pad)) * sizeof(float);
        p->memory[j] = rig_memory(p->bytes[j], 0xff);
    }
}

static void problem_close(problem *p)
{
    for (int j = 0; j < OPERANDS; j++) free(p->memory[j]);
}

/* ---- kernels ---- */

/* What lfuse(7) says of the products of an emulation. */
typedef struct promise {
    int bits;         /* that elements keep */
    double least;     /* an error is at most max(least, 4 sqrt(k + 2)) u sum |a| |b|, */
    double small;     /* and what elements below so much of the largest of their row lose */
    double underflow; /* of each product */
    bool by_elements; /* small elements keep what they have */
} promise;

static const promise of_f32x3 = {22, 10, 0x1p-38, 0, false}, of_bf16x6 = {24, 8, 0x1p-102, 0x1p-149, true};

/* The two ways to compute a product. Where `f32` has no program, the host computes it. */
typedef struct kernels {
    rig *r;
    const promise *promise;
    bool all; /* of the sizes, and each launch twice; else some by turns, as the stub takes long */
    sample split, f32;
    lfuse__bprogram *split_program, *f32_program;
    char what[100];
} kernels;

/* A solver that splits operands, and two of its tiles, of which operands that are stored alike take the first. */
typedef struct splitter {
    const lfuse__solver *solver;
    const promise *promise;
    int ways; /* of storing operands, bits: those that the stub takes, so that it is done sooner */
    const char *tiles[2];
} splitter;

static void class_of(sample *s, bool ta, bool tb, lfuse_precision precision)
{
    sample_start(s, LFUSE__FAMILY_PRODUCT, 2, 0);
    s->k.product.ta = ta, s->k.product.tb = tb, s->k.product.sum = LFUSE_F32, s->k.product.precision = precision;
    for (int j = 0; j < OPERANDS; j++) sample_operand(s, LFUSE_F32, j == OUT, LFUSE__STRIDE_UNIT);
    sample_store(s, sample_load(s, SUM), OUT);
}

static lfuse__bprogram *program_of(kernels *ks, sample *s, const char *name, const lfuse__solver *solver)
{
    lfuse__matmul_candidate candidate;
    ck_assert(lfuse__matmul_candidate_parse(name, &candidate));
    OK(choose_named(&ks->r->facts, (int64_t[]){256, 192, 2048}, &candidate, &s->k));
    ck_assert_ptr_eq(s->k.product.solver, solver);
    return rig_product_program(ks->r, &s->k, ks->what);
}

static const splitter by_warpgroups[] = {
    {&lfuse__f32x3_wgmma, &of_f32x3, 15, {"128x128x64:2x32:1:0:2", "128x64x64:2x16:1:0:2"}},
    {&lfuse__bf16x6_wgmma, &of_bf16x6, 1, {"128x128x64:2x32:1:0:3", "128x64x64:2x16:1:0:3"}},
};
static const splitter with_little[] = {
    {&lfuse__f32x3_wgmma, &of_f32x3, 15, {"64x128x16:2x32:1:0:2", "64x128x16:2x32:1:0:2"}},
    {&lfuse__bf16x6_wgmma, &of_bf16x6, 6, {"64x128x16:2x32:1:0:3", "64x128x16:2x32:1:0:3"}},
};
static const splitter by_warps[] = {
    {&lfuse__f32x3_mma, &of_f32x3, 15, {"128x128x16:8x16:1:0:2", "64x64x16:4x8:1:0:2"}},
    {&lfuse__bf16x6_mma, &of_bf16x6, 8, {"128x64x16:8x8:1:0:3", "64x64x16:4x8:1:0:3"}},
};

static void kernels_open(kernels *ks, rig *r, const splitter *by, bool ta, bool tb)
{
    const char *name = by->tiles[ta != tb];
    *ks = (kernels){.r = r, .promise = by->promise, .all = r->facts.info.kind == LFUSE_DEVICE_GPU || test_all()};
    snprintf(ks->what, sizeof ks->what, "%s, ta %d, tb %d", name, ta, tb);
    class_of(&ks->split, ta, tb, by->solver->emulation->precision);
    ks->split_program = program_of(ks, &ks->split, name, by->solver);
    if (r->facts.info.kind != LFUSE_DEVICE_GPU) return;
    class_of(&ks->f32, ta, tb, LFUSE_PRECISION_FULL);
    ks->f32_program = program_of(ks, &ks->f32, "32x64x16:4x4:1:0", &lfuse__simt);
}

static void kernels_close(kernels *ks)
{
    ks->r->backend->program_destroy(ks->split_program);
    if (ks->f32_program) ks->r->backend->program_destroy(ks->f32_program);
}

/* Where the class keeps what it makes of an operand, memory[SUM] holds that. */
static void take_buffers(const problem *p, rig_buffer *buffers)
{
    for (int j = 0; j < OPERANDS; j++) buffers[j] = (rig_buffer){p->memory[j], p->bytes[j], j >= SUM && p->memory[j]};
}

static void run(const kernels *ks, lfuse__bprogram *program, const sample *s, const problem *p)
{
    rig_buffer buffers[OPERANDS + 1];
    memset(p->memory[OUT], 0xff, p->bytes[OUT]);
    take_buffers(p, buffers);
    rig_run_product(ks->r, program, &s->k, &p->g, buffers, 1, ks->what);
}

/* The result, whose memory the caller frees; there is nothing beside it. */
static float *taken(const kernels *ks, const problem *p)
{
    const int64_t m = p->wide[A], n = p->wide[B], count = (int64_t)(p->bytes[OUT] / sizeof(float));
    float *result = rig_memory((size_t)(m * n) * sizeof *result, 0);
    uint32_t bits;
    for (int64_t i = 0; i < m * n; i++) {
        float *element = at(p, OUT, i / n, i % n);
        result[i] = *element;
        memset(element, 0xff, sizeof *element);
    }
    for (int64_t i = 0; i < count; i++) {
        memcpy(&bits, p->memory[OUT] + i, sizeof bits);
        ck_assert_msg(bits == 0xffffffff, "%s: element %lld beside the result was stored", ks->what, (long long)i);
    }
    return result;
}

static float *by_splitting(const kernels *ks, const problem *p)
{
    run(ks, ks->split_program, &ks->split, p);
    return taken(ks, p);
}

/* The result of two launches, whose bits are the same. */
static float *by_splitting_twice(const kernels *ks, const problem *p)
{
    float *first = by_splitting(ks, p), *second = by_splitting(ks, p);
    ck_assert_msg(!memcmp(first, second, (size_t)(p->wide[A] * p->wide[B]) * sizeof *first),
                  "%s: the second launch has other bits", ks->what);
    free(second);
    return first;
}

static float chain(const problem *p, int64_t i, int64_t j)
{
    float sum = 0;
    for (int64_t l = 0; l < p->k; l++) sum = fmaf(*at(p, A, i, l), *at(p, B, j, l), sum);
    return sum;
}

static float *in_f32(const kernels *ks, const problem *p)
{
    if (ks->f32_program) {
        run(ks, ks->f32_program, &ks->f32, p);
        return taken(ks, p);
    }
    const int64_t m = p->wide[A], n = p->wide[B];
    float *result = rig_memory((size_t)(m * n) * sizeof *result, 0);
    for (int64_t i = 0; i < m * n; i++) result[i] = chain(p, i / n, i % n);
    return result;
}

/* ---- elements ---- */

static double uniform(uint64_t *state)
{
    return (double)(host_random(state) >> 11) * 0x1p-53;
}

static double normal(uint64_t *state)
{
    const double radius = sqrt(-2 * log(1 - uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

static int exponent(uint64_t *state, int most)
{
    return (int)(host_random(state) % (uint64_t)(2 * most + 1)) - most;
}

/* Sets elements x[k] of one row of A, or column of B, number i. */
typedef void filler(float *x, int64_t k, int operand, int64_t i, uint64_t *state);

static void fill_normal(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    (void)operand, (void)i;
    for (int64_t l = 0; l < k; l++) x[l] = (float)normal(state);
}

static void scaled(float *x, int64_t k, int by, uint64_t *state)
{
    for (int64_t l = 0; l < k; l++) x[l] = (float)ldexp(normal(state), by);
}

static void fill_uniform(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    (void)operand, (void)i;
    for (int64_t l = 0; l < k; l++) x[l] = (float)uniform(state);
}

/* The low words, 2^-12, are all of one sign. */
static void fill_alike(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    (void)operand, (void)i, (void)state;
    for (int64_t l = 0; l < k; l++) x[l] = 1 + 0x1p-12f;
}

static void fill_scaled(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    (void)operand, (void)i;
    scaled(x, k, exponent(state, 60), state);
}

/* Elements near the largest numbers times others near the smallest normal ones. */
static void fill_far(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    (void)i;
    scaled(x, k, operand == A ? 124 : -118, state);
}

static void fill_subnormal(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    (void)i;
    scaled(x, k, operand == A ? -130 : 60, state);
}

/* Results are small, subnormal and 0. */
static void fill_vanishing(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    (void)operand;
    scaled(x, k, i % 7 == 0 ? -140 : -50 - (int)(i % 29), state);
}

static void fill_huge(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    fill_normal(x, k, operand, i, state);
    if (operand == A) x[host_random(state) % (uint64_t)k] *= 0x1p20f;
}

static void fill_zeros(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    if (i % 3) fill_normal(x, k, operand, i, state);
    else memset(x, 0, (size_t)k * sizeof *x);
}

static void spread(float *x, int64_t k, int most, uint64_t *state)
{
    for (int64_t l = 0; l < k; l++) x[l] = (float)ldexp(normal(state), exponent(state, most));
}

static void fill_spread(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    (void)operand, (void)i;
    spread(x, k, 15, state);
}

static void fill_of_all_sizes(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    (void)operand, (void)i;
    spread(x, k, 60, state);
}

static void fill_cancelling(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    fill_normal(x, k, operand, i, state);
    for (int64_t l = 1; l < k; l += 2)
        x[l] = operand == A ? -x[l - 1] * (float)(1 + 0x1p-20 * uniform(state)) : x[l - 1];
}

/* From which k on errors are compared with those in f32, where small elements lose bits. 0: the bound alone is held. */
static const struct kind {
    const char *name;
    filler *fill;
    int64_t compared;
    bool lossy; /* what splitting loses is granted beside the error in f32 */
} kinds[] = {
    {"normal", fill_normal, COMPARED, false}, {"uniform", fill_uniform, 512, false},
    {"alike", fill_alike, COMPARED, false}, {"rows and columns scaled", fill_scaled, COMPARED, false},
    {"far", fill_far, COMPARED, false}, {"subnormal", fill_subnormal, COMPARED, false},
    {"one huge element", fill_huge, COMPARED, false}, {"rows of zeros", fill_zeros, COMPARED, false},
    {"elements of many sizes", fill_spread, 512, false}, {"neighbours cancel", fill_cancelling, COMPARED, true},
    {"vanishing", fill_vanishing, 0, false}, {"elements of all sizes", fill_of_all_sizes, 0, false},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* From which k on those of the kernels are. */
static int64_t compared_from(const kernels *ks, const struct kind *kind)
{
    if (!ks->promise->by_elements) return kind->compared;
    return kind->fill == fill_vanishing ? 0 : COMPARED;
}

static void fill_problem(const problem *p, filler *fill, uint64_t seed)
{
    float *x = rig_memory((size_t)p->k * sizeof *x, 0);
    for (int j = A; j <= B; j++)
        for (int64_t i = 0; i < p->wide[j]; i++) {
            fill(x, p->k, j, i, &seed);
            for (int64_t l = 0; l < p->k; l++) *at(p, j, i, l) = x[l];
        }
    free(x);
}

/* ---- errors ---- */

/* All rows of A, or columns of B, along k. */
typedef struct side {
    double *x, *norm, *sum, *most;
} side;

static side side_of(const problem *p, int operand)
{
    const int64_t count = p->wide[operand], k = p->k;
    side s = {.x = rig_memory((size_t)(count * k) * sizeof(double), 0)};
    s.norm = rig_memory((size_t)count * sizeof(double), 0);
    s.sum = rig_memory((size_t)count * sizeof(double), 0);
    s.most = rig_memory((size_t)count * sizeof(double), 0);
    for (int64_t i = 0; i < count; i++) {
        for (int64_t l = 0; l < k; l++) {
            const double x = s.x[i * k + l] = *at(p, operand, i, l);
            s.norm[i] += x * x, s.sum[i] += fabs(x), s.most[i] = fmax(s.most[i], fabs(x));
        }
        s.norm[i] = sqrt(s.norm[i]);
    }
    return s;
}

static void side_free(side *s)
{
    free(s->x), free(s->norm), free(s->sum), free(s->most);
}

/* In the units that the head of this file names: means are roots of mean squares. */
typedef struct errors {
    double mean, most, row, column; /* the last two: of the row and the column with the largest mean, by norms */
    double *by_row, *by_column;     /* sums of squares */
} errors;

static void errors_add(errors *e, int64_t i, int64_t j, double by_size, double by_norms)
{
    e->mean += by_size * by_size;
    e->most = fmax(e->most, by_size);
    e->by_row[i] += by_norms * by_norms;
    e->by_column[j] += by_norms * by_norms;
}

static void errors_open(errors *e, int64_t m, int64_t n)
{
    *e = (errors){.by_row = rig_memory((size_t)m * sizeof(double), 0),
                  .by_column = rig_memory((size_t)n * sizeof(double), 0)};
}

static void errors_close(errors *e, int64_t m, int64_t n)
{
    e->mean = sqrt(e->mean / (double)(m * n));
    for (int64_t i = 0; i < m; i++) e->row = fmax(e->row, sqrt(e->by_row[i] / (double)n));
    for (int64_t j = 0; j < n; j++) e->column = fmax(e->column, sqrt(e->by_column[j] / (double)m));
    free(e->by_row), free(e->by_column);
}

/*
 * Of one element: what lfuse(7) says that it may be off by. `size` is sum |a| |b|. The last is the smallest number of
 * f32, to a multiple of which a subnormal result is rounded.
 */
static double bound(const promise *p, int64_t k, double size, const side *a, int64_t i, const side *b, int64_t j)
{
    const double small = p->small * (a->most[i] * b->sum[j] + b->most[j] * a->sum[i]);
    const double vanishing = (size > 0 ? 0x1p-149 : 0) + p->underflow * (double)k;
    return fmax(p->least, 4 * sqrt((double)k + 2)) * u * size + small + vanishing;
}

/* Demands that errors are at most those in f32; elements of all sizes leave rows and columns to chance. */
static void compare(const kernels *ks, const struct kind *kind, int64_t k, const errors *e, const errors *f32)
{
    const bool alone = ks->promise->by_elements;
    const double by = kind->fill == fill_of_all_sizes && k < LONG ? standing_out : 1;
    ck_assert_msg(e->mean <= by * f32->mean && e->most <= by * 1.5 * f32->most &&
                  (alone || (e->row <= f32->row && e->column <= f32->column)), "%s, %s, k %lld: errors of %g u, at "
                  "most %g, by row %g, by column %g; in f32 %g, %g, %g, %g", ks->what, kind->name, (long long)k,
                  e->mean, e->most, e->row, e->column, f32->mean, f32->most, f32->row, f32->column);
}

static void check_kind(const kernels *ks, const problem *p, const struct kind *kind)
{
    const int64_t m = p->wide[A], n = p->wide[B], k = p->k;
    const int64_t from = compared_from(ks, kind);
    const bool compared = from && k >= from;
    float *split = ks->all ? by_splitting_twice(ks, p) : by_splitting(ks, p);
    float *f32 = compared ? in_f32(ks, p) : NULL;
    side a = side_of(p, A), b = side_of(p, B);
    double lost = 0; /* by splitting: a mean square */
    errors e, of_f32;
    errors_open(&e, m, n);
    errors_open(&of_f32, m, n);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double exact = 0, size = 0, squares = 0;
            for (int64_t l = 0; l < k; l++) {
                const double x = a.x[i * k + l] * b.x[j * k + l];
                exact += x, size += fabs(x), squares += x * x;
            }
            const double error = fabs(split[i * n + j] - exact), most = bound(ks->promise, k, size, &a, i, &b, j);
            ck_assert_msg(error <= most, "%s, %s, k %lld: %g at %lld, %lld, expected %.9g within %g", ks->what,
                          kind->name, (long long)k, (double)split[i * n + j], (long long)i, (long long)j, exact, most);
            if (!compared || size == 0) continue;
            const double norms = u * a.norm[i] * b.norm[j];
            errors_add(&e, i, j, error / (u * size), error / norms);
            const double theirs = fabs(f32[i * n + j] - exact);
            errors_add(&of_f32, i, j, theirs / (u * size), theirs / norms);
            lost += 4 * squares / (size * size); /* the root of 4 u^2 is what splitting loses of a product on average */
        }
    errors_close(&e, m, n);
    errors_close(&of_f32, m, n);
    if (compared && kind->lossy && !ks->promise->by_elements) {
        const double mean = sqrt(of_f32.mean * of_f32.mean + lost / (double)(m * n));
        ck_assert_msg(e.mean <= mean, "%s, %s, k %lld: errors of %g u, expected %g", ks->what, kind->name,
                      (long long)k, e.mean, mean);
    } else if (compared) {
        compare(ks, kind, k, &e, &of_f32);
    }
    side_free(&a), side_free(&b);
    free(split), free(f32);
}

static void case_kind(const kernels *ks, int i, int64_t m, int64_t n, int64_t k)
{
    problem p;
    problem_open(&p, &ks->split.k.product, (int64_t[]){m, n, k}, i % 2 ? 0 : 4, 0);
    fill_problem(&p, kinds[i].fill, (uint64_t)(i * 10000 + k));
    check_kind(ks, &p, &kinds[i]);
    problem_close(&p);
}

/* Each kind with each length in one of the four ways of storing operands, or in all. */
static void case_kinds(const kernels *ks, int way)
{
    static const int64_t lengths[] = {1, 63, 65, 200, 512, 2048, 8192};
    for (int i = 0; i < KINDS; i++)
        for (int at = 0; at < (test_all() ? 7 : 6) && ks->all; at++)
            if (test_all() || (i + at) % 4 == way) case_kind(ks, i, 256, 192, lengths[at]);
    for (int i = 0; i < KINDS && !ks->all; i++) {
        if ((i + 1) % 4 == way) case_kind(ks, i, 40, 72, lengths[i % 3]);
        const int64_t from = compared_from(ks, &kinds[i]);
        if (i % 4 == way) case_kind(ks, i, 40, 72, from ? from : COMPARED);
    }
}

/* ---- exact products ---- */

/* Integers of up to 11 bits, which a high word holds; sums of k products stay below 2^24. */
static void fill_integers(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    const int most = operand == A || k <= 4 ? 2047 : k < 1024 ? 7 : 0;
    (void)i;
    for (int64_t l = 0; l < k; l++) x[l] = (float)exponent(state, most);
}

/*
 * Integers of so many bits, which the words of an element hold, times those of the identity: a wrong place is a wrong
 * integer. Rows are multiples of 1, of the smallest number and of what the largest one is a multiple of, by turns; of
 * 24 bits also of the smallest word, beside a 1.
 */
static void fill_bits(int bits, float *x, int64_t k, bool identity, int64_t i, uint64_t *state)
{
    static const int scales[] = {0, -149, 104, -133};
    const int turn = (int)(i % (bits == 24 ? 4 : 3));
    for (int64_t l = 0; l < k; l++)
        x[l] = identity ? (float)(l == i) : ldexpf((float)exponent(state, (1 << bits) - 1), scales[turn]);
    if (!identity) x[i % k] = ldexpf((float)((1 << bits) - 1), scales[turn]);
    if (!identity && turn == 3) x[0] = 1;
}

static void fill_22(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    fill_bits(22, x, k, operand == B, i, state);
}

static void fill_22_b(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    fill_bits(22, x, k, operand == A, i, state);
}

static void fill_24(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    fill_bits(24, x, k, operand == B, i, state);
}

static void fill_24_b(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    fill_bits(24, x, k, operand == A, i, state);
}

/* Demands the result that exact arithmetic has; `number` and `way` name the problem. */
static void expect_exact(const kernels *ks, const problem *p, bool twice, int number, int way)
{
    float *split = twice ? by_splitting_twice(ks, p) : by_splitting(ks, p);
    for (int64_t e = 0; e < p->wide[A] * p->wide[B]; e++) {
        const int64_t row = e / p->wide[B], column = e % p->wide[B];
        double exact = 0;
        for (int64_t l = 0; l < p->k; l++) exact += (double)*at(p, A, row, l) * *at(p, B, column, l);
        ck_assert_msg(split[e] == exact, "%s, integers %d, %d: %.9g at %lld, %lld, expected %.9g", ks->what, number,
                      way, (double)split[e], (long long)row, (long long)column, exact);
    }
    free(split);
}

static void case_exact(const kernels *ks, int way)
{
    static const struct { int64_t sizes[3]; int pad, offset; } all[] = {
        {{40, 72, 200}, 0, 0}, {{130, 70, 65}, 1, 1}, {{129, 66, 63}, 3, 0}, {{64, 132, 96}, 4, 1}, {{5, 7, 1}, 1, 0},
        {{3, 130, 4}, 2, 3},
    };
    static filler *const all_fills[][3] = {{fill_integers, fill_22, fill_22_b}, {fill_integers, fill_24, fill_24_b}};
    filler *const *fills = all_fills[ks->promise->bits > 22];
    for (int i = 0; i < (int)(sizeof all / sizeof *all); i++)
        for (int f = 0; f < 3; f++) {
            problem p;
            if (!ks->all && ((i + way) % 2 || f != (i + way) / 2 % 3)) continue;
            problem_open(&p, &ks->split.k.product, all[i].sizes, all[i].pad, all[i].offset);
            fill_problem(&p, fills[f], (uint64_t)i + 1);
            expect_exact(ks, &p, i % 4 == way, i, f);
            problem_close(&p);
        }
}

/*
 * Integers of up to 11 bits times columns of one 1 and zeros, or rows: ones and the largest element of a row, of 22
 * bits, lie all over k, so that an element that the largest one is not sought among, or that is not split, is seen.
 */
static void fill_long(float *x, int64_t k, bool ones, int64_t i, uint64_t *state)
{
    for (int64_t l = 0; l < k; l++) x[l] = ones ? (float)(l == i * 73 % k) : (float)exponent(state, 2047);
    if (!ones) x[i * 1531 % k] = (float)((1 << 22) - 1);
}

static void fill_long_a(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    fill_long(x, k, operand == B, i, state);
}

static void fill_long_b(float *x, int64_t k, int operand, int64_t i, uint64_t *state)
{
    fill_long(x, k, operand == A, i, state);
}

/* More of k than the registers of a group hold when it splits: both operands lie along k, or across. */
static void case_long(rig *r, const splitter *by)
{
    static const int64_t sizes[] = {60, 40, 5290};
    static filler *const fills[] = {fill_long_a, fill_long_b};
    for (int way = 1; way <= 2; way++) {
        kernels ks;
        kernels_open(&ks, r, by, way & 1, way >> 1);
        for (int f = 0; f < 2; f++) {
            problem p;
            problem_open(&p, &ks.split.k.product, sizes, f ? 2 : 3, 0);
            fill_problem(&p, fills[f], 1);
            expect_exact(&ks, &p, false, (int)sizes[2], way);
            problem_close(&p);
        }
        kernels_close(&ks);
    }
}

/* ---- operands that are frozen ---- */

/* The kernels of a product that keeps what it makes of operand `kept`, and memory for that. */
typedef struct keeper {
    const kernels *ks;
    problem *p;
    int kept;
    sample s;
    lfuse__bprogram *program;
} keeper;

/* What is kept begins behind the start of its memory, which holds NaN. */
static void keeper_open(keeper *k, const kernels *ks, problem *p, int kept)
{
    const lfuse__product_class *c = &ks->split.k.product;
    *k = (keeper){.ks = ks, .p = p, .kept = kept};
    class_of(&k->s, c->ta, c->tb, c->precision);
    k->s.k.product.frozen[kept] = true;
    lfuse__matmul_candidate named = {.rows = c->rows, .columns = c->columns, .depth = c->depth,
                                     .item_rows = c->item_rows, .item_columns = c->item_columns, .slices = c->slices,
                                     .words = lfuse__words_of(c->solver)};
    OK(choose_named(&ks->r->facts, p->g.extents, &named, &k->s.k));
    ck_assert_int_eq(k->s.k.product.kept, 1 + kept);
    k->program = rig_product_program(ks->r, &k->s.k, ks->what);
    p->g.offsets[SUM] = 256;
    p->bytes[SUM] = 256 + (size_t)lfuse__product_kept(&k->s.k, &ks->r->facts, &p->g);
    p->memory[SUM] = rig_memory(p->bytes[SUM], 0xff);
}

static void keeper_close(keeper *k)
{
    k->ks->r->backend->program_destroy(k->program);
}

static void keeper_prepare(const keeper *k)
{
    rig_buffer buffers[OPERANDS];
    take_buffers(k->p, buffers);
    rig_prepare_product(k->ks->r, k->program, &k->s.k, &k->p->g, buffers, k->ks->what);
}

static void keeper_expect(const keeper *k, const float *expected, const char *when)
{
    const problem *p = k->p;
    run(k->ks, k->program, &k->s, p);
    float *result = taken(k->ks, p);
    ck_assert_msg(!memcmp(result, expected, (size_t)(p->wide[A] * p->wide[B]) * sizeof *result),
                  "%s, operand %d is kept: other bits than by splitting both %s", k->ks->what, k->kept, when);
    free(result);
}

/*
 * A run has the bits of one that splits both operands, of the present elements of the one and of those that the frozen
 * one had when it was prepared.
 */
static void case_kept(const kernels *ks, int kept)
{
    problem p;
    keeper k;
    problem_open(&p, &ks->split.k.product, (int64_t[]){130, 70, 130}, 3, 1);
    fill_problem(&p, fill_normal, 1);
    keeper_open(&k, ks, &p, kept);
    keeper_prepare(&k);
    for (int64_t i = 0; i < p.wide[1 - kept]; i++) *at(&p, 1 - kept, i, i) = (float)(i + 3);
    *at(&p, 1 - kept, 5, 0) = INFINITY;
    float *expected = by_splitting(ks, &p);
    keeper_expect(&k, expected, "when the other one has changed");
    *at(&p, 1 - kept, 5, 0) = 1; /* what is made of an infinity reads both operands */
    free(expected);
    expected = by_splitting(ks, &p);
    *at(&p, kept, p.wide[kept] - 1, p.k - 1) = 1000;
    keeper_expect(&k, expected, "before it is prepared again");
    free(expected);
    expected = by_splitting(ks, &p);
    keeper_prepare(&k);
    keeper_expect(&k, expected, "when it has been prepared again");
    free(expected);
    keeper_close(&k);
    problem_close(&p);
}

/* ---- infinities and NaNs ---- */

static const char *sort_of(float x)
{
    return isnan(x) ? "NaN" : isinf(x) ? x > 0 ? "infinity" : "-infinity" : "finite";
}

/*
 * An infinity in a row of A, one in another row where B has a 0, one in a column of B and a NaN in another column reach
 * what they reach in f32. The other elements have the bits that they have without them.
 */
static void case_not_finite(const kernels *ks)
{
    enum { ROW = 3, ZERO_ROW = 37, COLUMN = 41, NAN_COLUMN = 8, PLACE = 70, ZERO_PLACE = 7 };
    const int64_t m = 40, n = 72;
    problem p;
    problem_open(&p, &ks->split.k.product, (int64_t[]){m, n, 72}, 1, 0);
    fill_problem(&p, fill_normal, 1);
    *at(&p, A, ROW, PLACE) = *at(&p, A, ZERO_ROW, ZERO_PLACE) = 1;
    *at(&p, B, COLUMN, PLACE) = *at(&p, B, NAN_COLUMN, PLACE) = 1;
    for (int64_t j = 0; j < n; j += 5) *at(&p, B, j, ZERO_PLACE) = 0;
    float *finite = by_splitting(ks, &p);
    *at(&p, A, ROW, PLACE) = INFINITY, *at(&p, A, ZERO_ROW, ZERO_PLACE) = -INFINITY;
    *at(&p, B, COLUMN, PLACE) = INFINITY, *at(&p, B, NAN_COLUMN, PLACE) = NAN;
    float *split = by_splitting(ks, &p);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const float x = split[i * n + j], expected = chain(&p, i, j);
            ck_assert_msg(sort_of(x) == sort_of(expected), "%s: %g at %lld, %lld, expected %s", ks->what, (double)x,
                          (long long)i, (long long)j, sort_of(expected));
            ck_assert_msg(!isfinite(x) || !memcmp(&x, &finite[i * n + j], sizeof x), "%s: %g at %lld, %lld, without "
                          "infinities %g", ks->what, (double)x, (long long)i, (long long)j,
                          (double)finite[i * n + j]);
        }
    free(finite), free(split);
    problem_close(&p);
}

static bool splits(const rig *r, const splitter *by)
{
    const lfuse__matmul_desc desc = {.types = {LFUSE_F32, LFUSE_F32}, .result = LFUSE_F32,
                                     .precision = by->solver->emulation->precision};
    return !lfuse__solver_declines(by->solver, &r->facts, &desc);
}

static void case_ways(rig *r, const splitter *by)
{
    if (!splits(r, by)) return;
    for (int way = 0; way < 4; way++) {
        kernels ks;
        if (!(by->ways >> way & 1) && r->facts.info.kind != LFUSE_DEVICE_GPU && !test_all()) continue;
        kernels_open(&ks, r, by, way & 1, way >> 1);
        case_exact(&ks, way);
        case_not_finite(&ks);
        for (int kept = A; kept <= B; kept++)
            if (ks.all || kept + 1 == way) case_kept(&ks, kept);
        case_kinds(&ks, way);
        kernels_close(&ks);
    }
}

/* By tiles for devices whose groups have much local memory, and by those for others. */
void case_split(rig *r)
{
    rig little = *r;
    little.facts = with_little_local(&r->facts);
    for (int i = 0; i < 2; i++) {
        if (lfuse__pipeline_has_room(&r->facts)) case_ways(r, &by_warpgroups[i]);
        case_ways(&little, &with_little[i]);
        case_ways(r, &by_warps[i]);
    }
    if (splits(r, &by_warps[0])) case_long(r, &by_warps[0]);
}
