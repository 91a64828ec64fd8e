/* SPDX-License-Identifier: Apache-2.0 */
/* Operators without promised bits, against the reference of ops.def and the bound that it states. */
#include <float.h>

#include "common/base/error.h"
#include "common/base/power.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/host.h"
#include "tests/support/check.h"
#include "tests/support/operators.h"

/* One unit of y, not below that of 128 times the smallest normal number. */
static R unit(R y, bool wide)
{
    const R least = (wide ? (R)DBL_MIN : (R)FLT_MIN) * 128;
    return ldexp((R)1, ilogb(fabs(y) > least ? fabs(y) : least) - (wide ? 52 : 23));
}

static R bound(int op, R a, R b, R c, R y, bool wide)
{
    const lfuse__op_row *row = &lfuse__ops[op];
    const R u = wide ? 0x1p-53L : 0x1p-24L;
    R d[3], e = (wide ? row->ulp_f64 : row->ulp_f32) * unit(y, wide);
    if (row->backward == 0) return e;
    operators[op].derivative(a, b, c, y, d);
    e += row->backward * u * fabs(d[0] * a);
    if (row->arity > 1 && b != 0) e += row->backward * u * fabs(d[1] * b);
    if (row->arity > 2) e += row->backward * u * fabs(d[2] * c);
    return e;
}

static double argument(lfuse_type type, uint64_t *seed, bool positive)
{
    const uint64_t r = host_random(seed);
    const int range = type == LFUSE_F64 ? 9 : 6;
    const double wide = ldexp(1, (int)(r / 4 % 64) * range / 4 - 40);
    const double scale = r % 4 == 0 ? 20 : r % 4 == 1 ? 1.5 : r % 4 == 2 ? 100 : wide;
    const double x = (double)(int64_t)host_random(seed) * 0x1p-63 * scale;
    return positive ? fabs(x) : type == LFUSE_F64 ? x : (float)x;
}

enum { COUNT = 60000, HALVES = 1 << 16, TOGETHER = 6 };
static double inputs[3][HALVES], outputs[TOGETHER][HALVES];

/* Operators of one kernel, over the same three inputs. */
typedef struct bunch {
    sample s;
    int count, ops[TOGETHER];
    char name[16];
} bunch;

static void draw(const bunch *b, lfuse_type type)
{
    uint64_t seed = 1;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < COUNT; i++) {
            double x = argument(type, &seed, b->ops[0] == LFUSE__OP_pow && j == 0);
            if (j == 1 && b->ops[0] == LFUSE__OP_powi) x = fmod(x, 64);
            host_store(inputs[j], type, i, type == LFUSE_F64 ? (value){.f64 = x} : (value){.f32 = (float)x});
        }
}

/* Every number of a type of 16 bits, in f32: infinities, NaN, and of bf16 subnormal numbers. */
static void draw_halves(lfuse_type half)
{
    static uint16_t bits[HALVES];
    for (int i = 0; i < HALVES; i++) {
        bits[i] = (uint16_t)i;
        host_store(inputs[0], LFUSE_F32, i, host_load(bits, half, i));
    }
}

/* Powers by common/base/power.k have the bits that the host gives them. */
static bool host_power(int op, R a, R b, bool wide, R *y)
{
    if (op == LFUSE__OP_powi)
        *y = wide ? lfuse__whole_power((double)a, (double)b) : lfuse__whole_power_f32((float)a, (float)b);
    else if (op == LFUSE__OP_pow && wide)
        *y = lfuse__power((double)a, (double)b);
    else
        return false;
    return true;
}

/* The largest share of the bound that an error takes up; `at` the argument where. */
static R worst_of(int op, const double *results, lfuse_type type, int elements, R *at)
{
    const bool wide = type == LFUSE_F64;
    const int arity = lfuse__ops[op].arity;
    R worst = 0;
    for (int i = 0; i < elements; i++) {
        const value x = host_load(inputs[0], type, i), z = host_load(inputs[1], type, i),
            w = host_load(inputs[2], type, i), v = host_load(results, type, i);
        const R a = wide ? x.f64 : x.f32, b = arity < 2 ? 0 : wide ? z.f64 : z.f32,
            c = arity < 3 ? 0 : wide ? w.f64 : w.f32, y = operators[op].reference(a, b, c);
        const R got = wide ? v.f64 : v.f32, most = wide ? (R)DBL_MAX : (R)FLT_MAX;
        R share = fabs(got - y) / bound(op, a, b, c, y, wide), same;
        if (host_power(op, a, b, wide, &same) && got != same && (got == got || same == same)) return INFINITY;
        /* 1 / a^|n| is as good as a^|n|, which may leave the normal numbers before the result does. */
        const R least = wide ? (R)DBL_MIN : (R)FLT_MIN;
        if (op == LFUSE__OP_powi && b < 0 && (fabs(y) < least * 16 || fabs(y) > most / 16)) continue;
        if (y != y || got != got) share = (y != y) == (got != got) ? 0 : INFINITY;
        else if (fabs(y) > most) share = isinf(got) || fabs(got) == most ? 0 : INFINITY;
        else if (y == 0 && got == 0 && signbit(y) != signbit(got)) share = INFINITY;
        if (share > worst) worst = share, *at = a;
    }
    return worst;
}

static void bunch_run(rig *r, lfuse__bprogram *program, const bunch *b, lfuse_type type, int elements)
{
    const size_t bytes = (size_t)elements * (type == LFUSE_F64 ? sizeof(double) : sizeof(float));
    lfuse__geometry g = {.extents = {elements}};
    lfuse__packed packed;
    rig_buffer buffers[3 + TOGETHER];
    for (int j = 0; j < 3 + b->count; j++) {
        g.strides[j][0] = 1;
        buffers[j] = (rig_buffer){j < 3 ? inputs[j] : outputs[j - 3], bytes, j >= 3};
    }
    OK(lfuse__family_pointwise.pack(&b->s.k, &r->facts, &g, &packed));
    rig_launch(r, program, b->name, &packed, 3 + b->count, buffers);
    for (int k = 0; k < b->count; k++) {
        const char *name = lfuse__ops[b->ops[k]].name;
        R at = 0;
        const R worst = worst_of(b->ops[k], outputs[k], type, elements, &at);
        if (getenv("KERNELS_VERBOSE"))
            printf("# %s %s: %.3Lf of the bound, at %.9Lg\n", name, lfuse_type_name(type), worst, at);
        ck_assert_msg(worst <= 1, "%s: %Lg times the bound at %.17Lg", name, worst, at);
    }
}

static int collect(bunch *bunches)
{
    int n = 0;
    for (int op = 0; op < LFUSE__OP_COUNT; op++) {
        if (host_exact(op) || op == LFUSE__OP_pow || op == LFUSE__OP_powi) continue;
        if (n == 0 || bunches[n - 1].count == TOGETHER) bunches[n++].count = 0;
        bunches[n - 1].ops[bunches[n - 1].count++] = op;
    }
    /* The base of a power is positive, or its exponent small, so each comes by itself. */
    bunches[n].count = bunches[n + 1].count = 1;
    bunches[n].ops[0] = LFUSE__OP_pow;
    bunches[n + 1].ops[0] = LFUSE__OP_powi;
    return n + 2;
}

/* Returns a program with a kernel for each bunch. */
static lfuse__bprogram *bunches_build(rig *r, int n, bunch *bunches, lfuse_type type)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    for (int i = 0; i < n; i++) {
        snprintf(bunches[i].name, sizeof bunches[i].name, "ops_%d", i);
        sample_many(&bunches[i].s, bunches[i].count, bunches[i].ops, type);
        OK(lfuse__family_pointwise.emit(&text, bunches[i].name, &bunches[i].s.k, &r->facts));
    }
    return rig_program(r, &text);
}

void case_bounds(rig *r, lfuse_type type)
{
    static bunch bunches[LFUSE__OP_COUNT];
    const int n = collect(bunches);
    lfuse__bprogram *program = bunches_build(r, n, bunches, type);
    for (int i = 0; i < n; i++) {
        draw(&bunches[i], type);
        bunch_run(r, program, &bunches[i], type, COUNT);
    }
    r->backend->program_destroy(program);
}

void case_halves(rig *r)
{
    static bunch bunches[] = {
        {.count = 5, .ops = {LFUSE__OP_expm1, LFUSE__OP_tanh, LFUSE__OP_sigmoid, LFUSE__OP_gelu, LFUSE__OP_gelu_tanh}},
        {.count = 5, .ops = {LFUSE__OP_gelu_quick, LFUSE__OP_silu, LFUSE__OP_softplus, LFUSE__OP_logsigmoid,
                             LFUSE__OP_mish}},
        {.count = 5, .ops = {LFUSE__OP_erfc, LFUSE__OP_softsign, LFUSE__OP_selu, LFUSE__OP_hardsigmoid,
                             LFUSE__OP_hardswish}}};
    enum { BUNCHES = sizeof bunches / sizeof *bunches };
    lfuse__bprogram *program = bunches_build(r, BUNCHES, bunches, LFUSE_F32);
    draw(&bunches[0], LFUSE_F32); /* what operators of one argument do not read */
    for (int half = 0; half < 2; half++) {
        draw_halves(half ? LFUSE_BF16 : LFUSE_F16);
        for (int i = 0; i < BUNCHES; i++) bunch_run(r, program, &bunches[i], LFUSE_F32, HALVES);
    }
    r->backend->program_destroy(program);
}
