/* SPDX-License-Identifier: Apache-2.0 */
/* Operators without promised bits, against the reference of ops.def and the bound that it states. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tgmath.h>

#include "common/base/error.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/host.h"

typedef long double R;

#define LFUSE__OP(name, arity, klass, dialect, reference, ...)                                                         \
    static R reference_##name(R a, R b, R c)                                                                           \
    {                                                                                                                  \
        (void)a, (void)b, (void)c;                                                                                     \
        return reference;                                                                                              \
    }
#include "common/graph/ops.def"
#undef LFUSE__OP

/* The derivatives, in the words of ops.def, as arithmetic. */
#define D_NONE 0
#define D_CONST(k) ((R)(k))
#define D_NEG(x) (-(x))
#define D_ADD(x, y) ((x) + (y))
#define D_SUB(x, y) ((x) - (y))
#define D_MUL(x, y) ((x) * (y))
#define D_DIV(x, y) ((x) / (y))
#define D_EXP(x) exp((R)(x))
#define D_LOG(x) log((R)(x))
#define D_SIN(x) sin((R)(x))
#define D_COS(x) cos((R)(x))
#define D_ERF(x) erf((R)(x))
#define D_POW(x, y) pow((R)(x), (R)(y))
#define D_SIGMOID(x) (1 / (1 + exp(-(R)(x))))
#define D_WHERE(m, x, y) ((m) ? (R)(x) : (R)(y))
#define D_LT(x, y) ((x) < (y))
#define D_GT(x, y) ((x) > (y))
#define LFUSE__OP(name, arity, klass, dialect, reference, ulp_f32, ulp_f64, da, db, dc, backward, ...)                 \
    static void derivative_##name(R A, R B, R C, R Y, R *d)                                                            \
    {                                                                                                                  \
        (void)A, (void)B, (void)C, (void)Y;                                                                            \
        d[0] = da, d[1] = db, d[2] = dc;                                                                               \
    }
#include "common/graph/ops.def"
#undef LFUSE__OP

static const struct {
    R (*reference)(R, R, R);
    void (*derivative)(R, R, R, R, R *);
} functions[] = {
#define LFUSE__OP(name, ...) {reference_##name, derivative_##name},
#include "common/graph/ops.def"
#undef LFUSE__OP
};

/* One unit of y, not below that of 128 times the smallest normal number. */
static R unit(R y, bool wide)
{
    const R least = (wide ? (R)DBL_MIN : (R)FLT_MIN) * 128;
    return ldexp((R)1, ilogb(fabs(y) > least ? fabs(y) : least) - (wide ? 52 : 23));
}

static R bound(int op, R a, R b, R y, bool wide)
{
    const lfuse__op_row *row = &lfuse__ops[op];
    const R u = wide ? 0x1p-53L : 0x1p-24L;
    R d[3], e = (wide ? row->ulp_f64 : row->ulp_f32) * unit(y, wide);
    if (row->backward == 0) return e;
    functions[op].derivative(a, b, 0, y, d);
    return e + row->backward * u * (fabs(d[0] * a) + (row->arity > 1 ? fabs(d[1] * b) : 0));
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

/* The largest share of the bound that an error takes up; `at` the argument where. */
static R worst_of(rig *r, lfuse__bprogram *program, const sample *s, int op, R *at)
{
    enum { COUNT = 60000 };
    static double storage[3][COUNT];
    const lfuse_type type = s->k.operands[0].type;
    const bool wide = type == LFUSE_F64;
    const size_t bytes = COUNT * (wide ? sizeof(double) : sizeof(float));
    const int arity = lfuse__ops[op].arity;
    lfuse__geometry g = {.extents = {COUNT}};
    lfuse__packed packed;
    rig_buffer buffers[3];
    uint64_t seed = 1;
    char name[32];
    R worst = 0;
    for (int j = 0; j <= arity; j++) {
        g.strides[j][0] = 1;
        buffers[j] = (rig_buffer){storage[j], bytes, j == arity};
        for (int i = 0; i < COUNT; i++) {
            const double x = argument(type, &seed, op == LFUSE__OP_pow && j == 0);
            host_store(storage[j], type, i, wide ? (value){.f64 = x} : (value){.f32 = (float)x});
        }
    }
    ck_assert_msg(!lfuse__pointwise_pack(&s->k, &r->facts, &g, &packed), "%s", lfuse__error_message());
    snprintf(name, sizeof name, "op_%s", lfuse__ops[op].name);
    rig_launch(r, program, name, &packed, arity + 1, buffers);
    for (int i = 0; i < COUNT; i++) {
        const value x = host_load(storage[0], type, i), z = host_load(storage[1], type, i),
            v = host_load(storage[arity], type, i);
        const R a = wide ? x.f64 : x.f32, b = wide ? z.f64 : z.f32, y = functions[op].reference(a, b, 0);
        const R got = wide ? v.f64 : v.f32, most = wide ? (R)DBL_MAX : (R)FLT_MAX;
        R share = fabs(got - y) / bound(op, a, b, y, wide);
        if (y != y || got != got) share = (y != y) == (got != got) ? 0 : INFINITY;
        else if (fabs(y) > most) share = isinf(got) || fabs(got) == most ? 0 : INFINITY;
        if (share > worst) worst = share, *at = a;
    }
    return worst;
}

void case_bounds(rig *r, lfuse_type type)
{
    static sample samples[LFUSE__OP_COUNT];
    char name[32];
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    for (int op = 0; op < LFUSE__OP_COUNT; op++) {
        if (host_exact(op)) continue;
        sample_op(&samples[op], op, type);
        snprintf(name, sizeof name, "op_%s", lfuse__ops[op].name);
        ck_assert_msg(!lfuse__pointwise_emit(&text, name, &samples[op].k, &r->facts), "%s",
                      lfuse__error_message());
    }
    lfuse__bprogram *program = rig_program(r, &text);
    for (int op = 0; op < LFUSE__OP_COUNT; op++) {
        R at = 0;
        if (host_exact(op)) continue;
        const R worst = worst_of(r, program, &samples[op], op, &at);
        if (getenv("KERNELS_VERBOSE"))
            printf("# %s %s: %.3Lf of the bound, at %.9Lg\n", lfuse__ops[op].name, type == LFUSE_F64 ? "f64" : "f32",
                   worst, at);
        ck_assert_msg(worst <= 1, "%s: %Lg times the bound at %.17Lg", lfuse__ops[op].name, worst, at);
    }
    r->backend->program_destroy(program);
}
