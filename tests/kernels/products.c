/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with an epilogue against sums in more precision: y = relu(s ab + bias), whose bias repeats along rows, and
 * t = ab + residual, stored transposed. Exact where every sum is one of integers, else within the bound of products.
 */
#include "common/base/error.h"
#include "common/matmul/problem.h"
#include "tests/matmul/choose.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/host.h"
#include "tests/support/main.h"

enum { A, B, SUM, BIAS, RESIDUAL, Y, T, OPERANDS, GUARD = 64, GAP = 3 /* elements between stored rows */ };

typedef struct size {
    int64_t m, n, k;
} size;

static const size sizes[] = {
    {1, 1, 1},    {13, 33, 5},  {12, 32, 16},  {25, 70, 400}, {3, 100, 0}, {490, 40, 3},
    {5, 1100, 7}, {1, 64, 800}, {4, 257, 130}, {65, 16, 33},  {129, 1, 40}, {2, 31, 1}, {29, 276, 600},
};
enum { SIZES = sizeof sizes / sizeof *sizes };

typedef struct trial {
    sample c;
    lfuse_type type;
    size s;
    lfuse__geometry g;
    double number;
    int64_t count[OPERANDS]; /* elements of each, guards among them */
    unsigned char *host[OPERANDS];
} trial;

static void classify(trial *t, lfuse_type type, bool ta, bool tb)
{
    const lfuse_type wide = lfuse__register_type(type);
    sample *c = &t->c;
    memset(t, 0, sizeof *t);
    t->type = type;
    sample_start(c, LFUSE__FAMILY_PRODUCT, 2, 0);
    c->k.product.ta = ta, c->k.product.tb = tb;
    for (int j = 0; j < OPERANDS; j++)
        sample_operand(c, j == SUM ? wide : type, j >= Y,
                       j == RESIDUAL || j == T ? LFUSE__STRIDE_ANY : LFUSE__STRIDE_UNIT);
    const int sum = sample_load(c, SUM);
    int y = sample_apply(c, LFUSE__OP_mul, wide, sum, sample_number(c, wide));
    y = sample_apply(c, LFUSE__OP_add, wide, y, sample_load(c, BIAS));
    sample_store(c, sample_apply(c, LFUSE__OP_relu, wide, y, -1), Y);
    sample_store(c, sample_apply(c, LFUSE__OP_add, wide, sum, sample_load(c, RESIDUAL)), T);
}

static double at(const trial *t, int operand, int64_t row, int64_t column)
{
    const bool transposed = (operand == A && t->c.k.product.ta) || (operand == B && t->c.k.product.tb);
    const int64_t *strides = t->g.strides[operand];
    const int64_t element = operand > SUM ? row * strides[0] + column * strides[1]
                                          : (transposed ? column : row) * strides[0] + (transposed ? row : column);
    return host_get(t->host[operand], t->type, GUARD + element);
}

static void size_of(trial *t, const size *s)
{
    int64_t(*strides)[LFUSE_MAX_RANK] = t->g.strides;
    t->s = *s;
    t->g.extents[0] = s->m, t->g.extents[1] = s->n, t->g.extents[2] = s->k;
    strides[A][0] = (t->c.k.product.ta ? s->m : s->k) + GAP;
    strides[B][0] = (t->c.k.product.tb ? s->k : s->n) + GAP;
    strides[BIAS][1] = 1;
    strides[RESIDUAL][0] = 2 * s->n, strides[RESIDUAL][1] = 2;
    strides[Y][0] = s->n + GAP, strides[Y][1] = 1;
    strides[T][0] = 1, strides[T][1] = s->m;
    t->count[A] = (t->c.k.product.ta ? s->k : s->m) * strides[A][0];
    t->count[B] = (t->c.k.product.tb ? s->n : s->k) * strides[B][0];
    t->count[SUM] = 0;
    t->count[BIAS] = s->n;
    t->count[RESIDUAL] = s->m * strides[RESIDUAL][0];
    t->count[Y] = s->m * strides[Y][0];
    t->count[T] = s->m * s->n;
}

/* Integers so small that all sums are exact in f32, mostly also as they are stored in f16; or anything in [-1, 1]. */
static void fill(trial *t, bool integers)
{
    uint64_t state = 7;
    t->number = integers ? 2 : -0.7;
    for (int j = 0; j < OPERANDS; j++) {
        const size_t bytes = (size_t)(t->count[j] + 2 * GUARD) * lfuse_type_size(t->type);
        t->host[j] = rig_memory(bytes, 0xff); /* NaN, also between rows */
        t->g.offsets[j] = GUARD * lfuse_type_size(t->type);
        for (int64_t i = 0; j < Y && i < t->count[j]; i++) {
            const bool gap = (j == A || j == B) && i % t->g.strides[j][0] >= t->g.strides[j][0] - GAP;
            const uint64_t bits = host_random(&state) >> 33;
            if (gap || (j == RESIDUAL && i % 2)) continue;
            host_put(t->host[j], t->type, GUARD + i, integers ? (double)(bits % 5) - 2 : (double)bits * 0x1p-30 - 1);
        }
    }
}

/* What storing adds to an error: half a unit in the last place of the type. */
static double storing(lfuse_type type, double x)
{
    if (type == LFUSE_F16) return fabs(x) * 0x1p-11 + 0x1p-25;
    if (type == LFUSE_E4M3) return fabs(x) * 0x1p-4 + 0x1p-10;
    return fabs(x) * (type == LFUSE_BF16 ? 0x1p-8 : type == LFUSE_F64 ? 0x1p-53 : 0x1p-24);
}

static void check_element(const trial *t, bool integers, int64_t i, int64_t j)
{
    const double u = t->type == LFUSE_F64 ? 0x1p-53 : 0x1p-24, root = 4 * sqrt((double)t->s.k + 2);
    const double number = t->type == LFUSE_F64 ? t->number : (double)(float)t->number;
    long double sum = 0, all = 0, y, z;
    double error, tolerance[2], found[2] = {at(t, Y, i, j), at(t, T, i, j)};
    for (int64_t l = 0; l < t->s.k; l++) {
        const long double x = (long double)at(t, A, i, l) * at(t, B, l, j);
        sum += x;
        all += fabsl(x);
    }
    error = integers ? 0 : (root > 8 ? root : 8) * u * (double)all;
    y = number * sum + at(t, BIAS, 0, j);
    z = sum + at(t, RESIDUAL, i, j);
    tolerance[0] = fabs(number) * error + (integers ? 0 : 2 * u * (double)(fabsl(number * sum) + fabsl(y)));
    tolerance[1] = error + (integers ? 0 : u * (double)fabsl(z));
    if (y < 0) y = 0;
    if (!integers || lfuse_type_size(t->type) <= 2) {
        tolerance[0] += storing(t->type, (double)y);
        tolerance[1] += storing(t->type, (double)z);
    }
    ck_assert_msg(fabs(found[0] - (double)y) <= tolerance[0] && fabs(found[1] - (double)z) <= tolerance[1],
                  "%lld x %lld x %lld of %s%s%s: element %lld, %lld is %.9g and %.9g, not %.9g and %.9g within %g "
                  "and %g",
                  (long long)t->s.m, (long long)t->s.n, (long long)t->s.k, lfuse_type_name(t->type),
                  t->c.k.product.ta ? ", A transposed" : "", t->c.k.product.tb ? ", B transposed" : "", (long long)i,
                  (long long)j, found[0], found[1], (double)y, (double)z, tolerance[0], tolerance[1]);
}

/* What lies around the results and between their rows is as it was. */
static void check_guards(const trial *t, int operand)
{
    const size_t bytes = lfuse_type_size(t->type);
    const int64_t stride = operand == Y ? t->g.strides[Y][0] : t->count[operand], row = operand == Y ? t->s.n : stride;
    for (int64_t i = 0; i < t->count[operand] + 2 * GUARD; i++) {
        const int64_t e = i - GUARD;
        if (e >= 0 && e < t->count[operand] && e % stride < row) continue;
        for (size_t b = 0; b < bytes; b++)
            ck_assert_msg(t->host[operand][(size_t)i * bytes + b] == 0xff,
                          "result %d is written at element %lld of %lld", operand, (long long)e,
                          (long long)t->count[operand]);
    }
}

static void check(const trial *t, bool integers)
{
    for (int64_t i = 0; i < t->s.m; i++)
        for (int64_t j = 0; j < t->s.n; j++) check_element(t, integers, i, j);
    check_guards(t, Y);
    check_guards(t, T);
}

/* The program of the last class, which most sizes share. */
typedef struct built {
    lfuse__product_class of;
    lfuse__bprogram *program;
} built;

static lfuse__bprogram *program_of(rig *r, const trial *t, built *b)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    if (b->program && !memcmp(&b->of, &t->c.k.product, sizeof b->of)) return b->program;
    if (b->program) r->backend->program_destroy(b->program);
    OK(lfuse__product_emit(&text, "p0", &t->c.k, &r->facts));
    b->program = rig_program(r, &text);
    b->of = t->c.k.product;
    return b->program;
}

static void launch(rig *r, trial *t, built *b)
{
    const uint64_t bytes = lfuse__product_workspace(&t->c.k, &r->facts, &t->g);
    rig_buffer buffers[OPERANDS + 1] = {{NULL, 0, false}};
    unsigned char *workspace = rig_memory(bytes, 0xff);
    for (int j = 0; j < OPERANDS; j++)
        if (j != SUM) buffers[j] = (rig_buffer){t->host[j], (size_t)(t->count[j] + 2 * GUARD) *
                                                lfuse_type_size(t->type), j >= Y};
    memset(workspace, 0, lfuse__product_tickets(&t->c.k));
    if (bytes) buffers[OPERANDS] = (rig_buffer){workspace, bytes, true};
    t->g.numbers = &t->number;
    for (int phase = 0; phase < lfuse__product_phases(&t->c.k); phase++) {
        t->c.k.product.phase = phase;
        OK(rig_launch_product(r, program_of(r, t, b), "p0", &t->c.k, &t->g, buffers));
    }
    free(workspace);
}

static void run(rig *r, lfuse_type type, bool ta, bool tb, const size *s, bool integers, built *b)
{
    trial t;
    classify(&t, type, ta, tb);
    size_of(&t, s);
    if (choose(&r->facts, (int64_t[]){s->m, s->n, s->k}, false, &t.c.k)) {
        ck_assert_msg(!r->facts.vector_lanes, "%s", lfuse__error_message());
        return;
    }
    fill(&t, integers);
    launch(r, &t, b);
    check(&t, integers);
    for (int j = 0; j < OPERANDS; j++) free(t.host[j]);
}

void case_products(rig *r, lfuse_type type)
{
    const int ways = type == LFUSE_F32 ? 4 : 2; /* of other types both plain or both transposed */
    built b = {.program = NULL};
    for (int way = 0; way < ways; way++) {
        for (int i = 0; i < SIZES; i++) {
            const bool ta = ways == 4 ? way & 1 : way, tb = ways == 4 ? way >> 1 : way;
            if (!test_all() && (!r->facts.vector_lanes || type != LFUSE_F32) && (way + i) % 2) continue;
            run(r, type, ta, tb, &sizes[i], i % 2, &b);
            if (i < 4) run(r, type, ta, tb, &sizes[i], i % 2 == 0, &b);
        }
        if (b.program) r->backend->program_destroy(b.program);
        b.program = NULL; /* the operands of the next are others */
    }
}
