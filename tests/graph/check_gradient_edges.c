/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients where there is a choice, value by value: at kinks and ties, at poles and zeros, with infinities and NaN.
 * They are PyTorch's, as libfuse/gradient.h says; then what is no gradient at all.
 */
#include <float.h>

#include "bench/data.h"
#include "bench/oracle.h"
#include "common/graph/build.h"
#include "libfuse.h"
#include "tests/support/main.h"

#define INF ((double)INFINITY)

static const lfuse_type types[] = {LFUSE_F64, LFUSE_F32};

static lfuse_graph *g;

static void setup(void)
{
    g = lfuse_graph_create();
    ck_assert_ptr_nonnull(g);
}

static void teardown(void) { lfuse_graph_destroy(g); }

/* What the oracle says of an output of the graph is these numbers, to within its bound and their rounding. */
static void holds(const char *name, lfuse_type type, const lfuse__oracle_input *in, int n, const char *output,
                  const double *expected, int count)
{
    lfuse__oracle_run run;
    const lfuse_status status = lfuse__oracle_run_graph(g, in, n, NULL, &run);
    ck_assert_msg(!status, "%s: %s", name, lfuse_last_error());
    const lfuse__oracle_result *r = lfuse__oracle_find(&run, output);
    ck_assert_int_eq(r->count, count);
    for (int i = 0; i < count; i++) {
        const double got = (double)r->value[i], e = expected[i];
        /* Where the oracle knows no bound, as beside infinities, its value stands alone. */
        const double unit = type == LFUSE_F64 ? DBL_EPSILON : FLT_EPSILON, bound = isinf(r->bound[i]) ? 0 : r->bound[i];
        const bool same = isnan(e) ? isnan(got) : got == e || fabs(got - e) <= bound + unit * fabs(e);
        ck_assert_msg(same, "%s of %s: %s, element %d is %.17g +- %g instead of %.17g", name,
                      lfuse_type_name(type), output, i, got, r->bound[i], e);
    }
    lfuse__oracle_free(&run);
}

/* ---- operators ---- */

/* `numbers`: the operands behind the first are numbers, not tensors. */
static const struct edge {
    lfuse__op op;
    bool numbers;
    double x[3], d[3];
} edges[] = {
    {LFUSE__OP_abs, false, {0}, {0}},
    {LFUSE__OP_abs, false, {-2}, {-1}},
    {LFUSE__OP_sign, false, {0}, {0}},
    {LFUSE__OP_step, false, {0}, {0}},
    {LFUSE__OP_floor, false, {2}, {0}},
    {LFUSE__OP_ceil, false, {2}, {0}},
    {LFUSE__OP_trunc, false, {-2}, {0}},
    {LFUSE__OP_round, false, {0.5}, {0}},
    {LFUSE__OP_frac, false, {3}, {1}},
    {LFUSE__OP_min, false, {2, 2}, {0.5, 0.5}},
    {LFUSE__OP_max, false, {-1, -1}, {0.5, 0.5}},
    {LFUSE__OP_max, false, {-0.0, 0.0}, {0.5, 0.5}},
    {LFUSE__OP_max, false, {INF, INF}, {0.5, 0.5}},
    {LFUSE__OP_max, false, {NAN, 1}, {1, 1}},
    {LFUSE__OP_min, false, {NAN, 1}, {1, 1}},
    {LFUSE__OP_max, true, {1, 1}, {0.5}},
    {LFUSE__OP_relu, false, {0}, {0}},
    {LFUSE__OP_relu, false, {-0.0}, {0}},
    {LFUSE__OP_relu, false, {NAN}, {1}},
    {LFUSE__OP_relu6, false, {0}, {0}},
    {LFUSE__OP_relu6, false, {6}, {0}},
    {LFUSE__OP_squared_relu, false, {0}, {0}},
    {LFUSE__OP_leaky_relu, true, {0, 0.25}, {0.25}},
    {LFUSE__OP_leaky_relu, false, {0, 0.25}, {0.25, 0}},
    {LFUSE__OP_elu, true, {0, 1.5}, {1.5}},
    {LFUSE__OP_selu, false, {0}, {1.7580993408473766}},
    {LFUSE__OP_celu, true, {0, 1.5}, {1}},
    {LFUSE__OP_hardsigmoid, false, {-3}, {0}},
    {LFUSE__OP_hardsigmoid, false, {3}, {0}},
    {LFUSE__OP_hardswish, false, {-3}, {0}},
    {LFUSE__OP_hardswish, false, {3}, {1}},
    {LFUSE__OP_threshold, true, {1, 1, 5}, {0}},
    {LFUSE__OP_hardshrink, true, {0.5, 0.5}, {0}},
    {LFUSE__OP_hardshrink, true, {-0.5, 0.5}, {0}},
    {LFUSE__OP_softshrink, true, {0.5, 0.5}, {0}},
    {LFUSE__OP_softshrink, true, {-0.5, 0.5}, {0}},
    {LFUSE__OP_clamp, true, {-1, -1, 1}, {0}},
    {LFUSE__OP_clamp, true, {1, -1, 1}, {0}},
    {LFUSE__OP_clamp, true, {0.5, -1, 1}, {1}},
    {LFUSE__OP_clamp, false, {-1, -1, 1}, {0.5, 0.5, 0}},
    {LFUSE__OP_clamp, false, {1, -1, 1}, {0.5, 0, 0.5}},
    {LFUSE__OP_clamp, false, {1, 1, 1}, {1, 0, 0}},
    {LFUSE__OP_clamp, false, {0, 2, 1}, {0, 0, 1}},
    {LFUSE__OP_clamp, false, {3, 2, 1}, {0, 0, 1}},
    {LFUSE__OP_clamp, false, {0.5, -1, 1}, {1, 0, 0}},
    {LFUSE__OP_clamp, false, {-2, -1, 1}, {0, 1, 0}},
    {LFUSE__OP_pow, false, {0, 0}, {0, 0}},
    {LFUSE__OP_pow, false, {0, 1}, {1, 0}},
    {LFUSE__OP_pow, false, {0, 0.5}, {INF, 0}},
    {LFUSE__OP_pow, false, {0, -1}, {-INF, -INF}},
    {LFUSE__OP_pow, false, {-2, 3}, {12, NAN}},
    {LFUSE__OP_pow, true, {0, 0}, {0}},
    {LFUSE__OP_pow, true, {0, 2}, {0}},
    {LFUSE__OP_pow, true, {-2, 3}, {12}},
    {LFUSE__OP_powi, true, {0, 0}, {0}},
    {LFUSE__OP_powi, true, {0, 1}, {1}},
    {LFUSE__OP_powi, true, {-2, -1}, {-0.25}},
    {LFUSE__OP_powi, false, {-2, 3}, {12, 0}},
    {LFUSE__OP_atan2, false, {0, 0}, {0, 0}},
    {LFUSE__OP_hypot, false, {0, 0}, {NAN, NAN}},
    {LFUSE__OP_sqrt, false, {0}, {INF}},
    {LFUSE__OP_rsqrt, false, {0}, {-INF}},
    {LFUSE__OP_log, false, {0}, {INF}},
    {LFUSE__OP_fmod, false, {7, -2}, {1, 3}},
    {LFUSE__OP_fmod, false, {6, 2}, {1, -3}},
    {LFUSE__OP_remainder, false, {7, -2}, {1, 4}},
    {LFUSE__OP_remainder, false, {6, 2}, {1, -3}},
    {LFUSE__OP_lerp, false, {1, 3, 0.25}, {0.75, 0.25, 2}},
    {LFUSE__OP_full_like, true, {1, 3}, {0}},
    {LFUSE__OP_gelu, false, {-6}, {-3.5468709453902e-8}}, /* 0.5 (1 + erf) would cancel */
    {LFUSE__OP_sigmoid, false, {-1000}, {0}},
    {LFUSE__OP_softplus, false, {-50}, {1.9287498479639178e-22}},
    {LFUSE__OP_logaddexp, false, {1000, 1000}, {0.5, 0.5}},
};

static void apply_edge(const struct edge *e, lfuse_type type)
{
    static const char *const inputs[] = {"a", "b", "c"}, *const outputs[] = {"da", "db", "dc"};
    const int arity = lfuse__ops[e->op].arity, tensors = e->numbers ? 1 : arity;
    lfuse__oracle_input in[3];
    double data[3];
    lfuse_value v[3], d[3];
    int32_t ids[3] = {-1, -1, -1};
    setup();
    for (int i = 0; i < arity; i++) {
        in[i] = (lfuse__oracle_input){.name = inputs[i], .data = &data[i], .shape = {1}, .number = e->x[i]};
        lfuse__data_put(type, &data[i], 0, e->x[i]);
        v[i] = i < tensors ? lfuse_input(g, inputs[i], TYPED(type, 1)) : lfuse_scalar(g, inputs[i]);
        ids[i] = i < tensors ? v[i].id : lfuse_cast(v[i], type).id;
    }
    lfuse_gradient(lfuse__build_pointwise(g, "edge", e->op, ids), lfuse_none(), tensors, v, d);
    for (int i = 0; i < tensors; i++) lfuse_output(g, outputs[i], d[i]);
    for (int i = 0; i < tensors; i++) holds(lfuse__ops[e->op].name, type, in, arity, outputs[i], &e->d[i], 1);
    teardown();
}

TEST_CASE("edges of operators")

TEST_LOOP(edges_of_operators, 0, (int)(sizeof edges / sizeof *edges))
{
    for (int t = 0; t < 2; t++) apply_edge(&edges[_i], types[t]);
}

/* ---- reductions and their like, over a vector ---- */

enum { MOST = 4 };
static const int axis[] = {0};

typedef lfuse_value maker(lfuse_value a);
static lfuse_value of_amax(lfuse_value a) { return lfuse_amax(a, 1, axis, 0); }
static lfuse_value of_amin(lfuse_value a) { return lfuse_amin(a, 1, axis, 0); }
static lfuse_value of_prod(lfuse_value a) { return lfuse_prod(a, 1, axis, 0); }
static lfuse_value of_sum(lfuse_value a) { return lfuse_sum(a, 1, axis, 0); }
static lfuse_value of_nansum(lfuse_value a) { return lfuse_nansum(a, 1, axis, 0); }
static lfuse_value of_var(lfuse_value a) { return lfuse_var(a, 1, axis, 1, 0); }
static lfuse_value of_var_4(lfuse_value a) { return lfuse_var(a, 1, axis, 4, 0); }
static lfuse_value of_l1(lfuse_value a) { return lfuse_norm_l1(a, 1, axis, 0); }
static lfuse_value of_l2(lfuse_value a) { return lfuse_norm_l2(a, 1, axis, 0); }
static lfuse_value of_inf(lfuse_value a) { return lfuse_norm_inf(a, 1, axis, 0); }
static lfuse_value of_least(lfuse_value a) { return lfuse_norm(a, 1, axis, -INF, 0); }
static lfuse_value of_3(lfuse_value a) { return lfuse_norm(a, 1, axis, 3, 0); }
static lfuse_value of_half(lfuse_value a) { return lfuse_norm(a, 1, axis, 0.5, 0); }
static lfuse_value of_count(lfuse_value a) { return lfuse_norm(a, 1, axis, 0, 0); }
static lfuse_value of_logsumexp(lfuse_value a) { return lfuse_logsumexp(a, 1, axis, 0); }
static lfuse_value of_cummax(lfuse_value a) { return lfuse_cummax(a, 0); }
static lfuse_value of_cummin(lfuse_value a) { return lfuse_cummin(a, 0); }
static lfuse_value of_cumprod(lfuse_value a) { return lfuse_cumprod(a, 0); }
static lfuse_value of_normalized(lfuse_value a) { return lfuse_l2_normalize(a, 1, axis, 0x1p-40); }
/* The second element of the softmax, by a gather, so that the others have a cotangent of 0. */
static lfuse_value second(lfuse_value v) { return lfuse_slice(v, 0, 1, 1, 1); }
static lfuse_value of_softmax(lfuse_value a) { return second(lfuse_softmax(a, 1, axis)); }
static lfuse_value of_log_softmax(lfuse_value a) { return second(lfuse_log_softmax(a, 1, axis)); }
static lfuse_value of_safe_root(lfuse_value a)
{
    const lfuse_value positive = lfuse_gt(a, lfuse_constant(g, 0)), one = lfuse_constant(g, 1);
    return lfuse_where(positive, lfuse_sqrt(lfuse_where(positive, a, one)), a);
}
static lfuse_value of_unsafe_root(lfuse_value a)
{
    return lfuse_where(lfuse_gt(a, lfuse_constant(g, 0)), lfuse_sqrt(a), a);
}

static const struct row {
    const char *name;
    maker *make;
    double a[MOST], d[MOST];
} rows[] = {
    {"amax, a tie", of_amax, {1, 3, 3, 0}, {0, 0.5, 0.5, 0}},
    {"amax, all equal", of_amax, {2, 2, 2, 2}, {0.25, 0.25, 0.25, 0.25}},
    {"amax, zeros of both signs", of_amax, {-0.0, 0.0, -1, -1}, {0.5, 0.5, 0, 0}},
    {"amax, infinite", of_amax, {-INF, INF, 0, INF}, {0, 0.5, 0, 0.5}},
    {"amax, a NaN", of_amax, {1, NAN, 2, 0}, {NAN, NAN, NAN, NAN}},
    {"amin, a tie", of_amin, {1, -3, 0, -3}, {0, 0.5, 0, 0.5}},
    {"prod without zeros", of_prod, {1, 2, 3, 4}, {24, 12, 8, 6}},
    {"prod, one zero", of_prod, {2, 0, 3, 4}, {0, 24, 0, 0}},
    {"prod, two zeros", of_prod, {2, 0, 3, 0}, {0, 0, 0, 0}},
    {"prod, a zero of sign -", of_prod, {2, -0.0, 3, 4}, {0, 24, 0, 0}},
    {"sum, infinite", of_sum, {INF, 0, -INF, NAN}, {1, 1, 1, 1}},
    {"nansum", of_nansum, {1, NAN, 2, NAN}, {1, 0, 1, 0}},
    {"var, all equal", of_var, {3, 3, 3, 3}, {0, 0, 0, 0}},
    {"var of 4 with correction 4", of_var_4, {1, 2, 3, 6}, {NAN, NAN, NAN, NAN}},
    {"norm_l1", of_l1, {-2, 0, 3, -0.0}, {-1, 0, 1, 0}},
    {"norm_l2 of zeros", of_l2, {0, 0, 0, 0}, {0, 0, 0, 0}},
    {"norm_l2", of_l2, {3, 0, -4, 0}, {0.6, 0, -0.8, 0}},
    {"norm_inf, a tie", of_inf, {-2, 0, 2, 1}, {-0.5, 0, 0.5, 0}},
    {"norm_inf of zeros", of_inf, {0, 0, 0, 0}, {0, 0, 0, 0}},
    {"norm -inf, a tie", of_least, {-2, 1, -1, 4}, {0, 0.5, -0.5, 0}},
    {"norm 3 of zeros", of_3, {0, 0, 0, 0}, {0, 0, 0, 0}},
    {"norm 3, one 0", of_3, {0, 1, -1, 0}, {0, 0.62996052494743658, -0.62996052494743658, 0}},
    {"norm 1/2, one 0", of_half, {0, 1, -4, 0}, {0, 3, -1.5, 0}},
    {"norm 0", of_count, {0, 1, -4, 0}, {0, 0, 0, 0}},
    {"logsumexp, far apart", of_logsumexp, {0, 2000, -2000, 2000}, {0, 0.5, 0, 0.5}},
    {"logsumexp, one -inf", of_logsumexp, {-INF, 0, 0, -INF}, {0, 0.5, 0.5, 0}},
    {"cummax, ties go to the last", of_cummax, {1, 1, 0, 1}, {1, 2, 0, 1}},
    {"cummin, ties go to the last", of_cummin, {1, 0, 0, 5}, {1, 1, 2, 0}},
    {"cumprod, one zero", of_cumprod, {2, 0, 3, 4}, {1, 2 + 6 + 24, 0, 0}},
    {"cumprod, two zeros", of_cumprod, {2, 0, 3, 0}, {1, 2 + 6, 0, 0}},
    {"softmax, a mask", of_softmax, {-INF, 0, 0, -INF}, {0, 0.25, -0.25, 0}},
    {"softmax, far apart", of_softmax, {0, 2000, -2000, 2000}, {0, 0.25, 0, -0.25}},
    {"log_softmax, a mask", of_log_softmax, {-INF, 0, 0, -INF}, {0, 0.5, -0.5, 0}},
    {"log_softmax, far apart", of_log_softmax, {0, -2000, -2000, 0}, {-0.5, 1, 0, -0.5}},
    {"l2_normalize of zeros", of_normalized, {0, 0, 0, 0}, {0x1p40, 0x1p40, 0x1p40, 0x1p40}},
    {"where, with a root of what is positive", of_safe_root, {4, -1, 0, 1}, {0.25, 1, 1, 0.5}},
    {"where, a root with an infinite derivative", of_unsafe_root, {4, -1, 0, 1}, {0.25, NAN, NAN, 0.5}},
};

TEST_CASE("edges of rows")

TEST_LOOP(edges_of_rows, 0, (int)(sizeof rows / sizeof *rows))
{
    for (int t = 0; t < 2; t++) {
        double data[MOST];
        const lfuse__oracle_input in = {.name = "a", .data = data, .shape = {MOST}};
        setup();
        for (int i = 0; i < MOST; i++) lfuse__data_put(types[t], data, i, rows[_i].a[i]);
        const lfuse_value a = lfuse_input(g, "a", TYPED(types[t], MOST));
        lfuse_value d;
        lfuse_gradient(rows[_i].make(a), lfuse_none(), 1, &a, &d);
        lfuse_output(g, "d", d);
        holds(rows[_i].name, types[t], &in, 1, "d", rows[_i].d, MOST);
        teardown();
    }
}

/* An infinite or undefined cotangent does not reach what is not chosen. */
TEST_CASE("seeds", .setup = setup, .teardown = teardown)

TEST(infinite_seeds_pass_by_what_is_not_chosen)
{
    const double x[] = {-1, 2, -3, 4}, s[] = {INF, INF, NAN, 2};
    const lfuse__oracle_input in[] = {{.name = "a", .data = x, .shape = {4}}, {.name = "s", .data = s, .shape = {4}}};
    const lfuse_value a = lfuse_input(g, "a", F64(4)), seed = lfuse_input(g, "s", F64(4));
    const lfuse_value half = lfuse_constant(g, 0.5);
    maker *const functions[] = {lfuse_relu, lfuse_squared_relu, lfuse_relu6};
    const double slopes[3][4] = {{0, INF, 0, 2}, {0, INF, 0, 16}, {0, INF, 0, 2}};
    const char *const names[] = {"relu", "squared_relu", "relu6"};
    lfuse_value d[4];
    for (int i = 0; i < 3; i++) lfuse_gradient(functions[i](a), seed, 1, &a, &d[i]);
    lfuse_gradient(lfuse_max(a, half), seed, 1, &a, &d[3]);
    for (int i = 0; i < 3; i++) lfuse_output(g, names[i], d[i]);
    lfuse_output(g, "max", d[3]);
    for (int i = 0; i < 3; i++) holds(names[i], LFUSE_F64, in, 2, names[i], slopes[i], 4);
    holds("max", LFUSE_F64, in, 2, "max", slopes[0], 4);
}

/* A number stands for itself at every element; none is 1. */
TEST(seeds_that_are_numbers)
{
    const double x[] = {1, 2};
    const lfuse__oracle_input in[] = {{.name = "a", .data = x, .shape = {2}}, {.name = "k", .number = 3}};
    const lfuse_value a = lfuse_input(g, "a", F64(2)), y = lfuse_mul(a, a);
    const lfuse_value seeds[] = {lfuse_none(), lfuse_constant(g, -0.5), lfuse_scalar(g, "k")};
    const double expected[3][2] = {{2, 4}, {-1, -2}, {6, 12}};
    const char *const names[] = {"one", "half", "three"};
    for (int i = 0; i < 3; i++) {
        lfuse_value d;
        lfuse_gradient(y, seeds[i], 1, &a, &d);
        lfuse_output(g, names[i], d);
    }
    for (int i = 0; i < 3; i++) holds(names[i], LFUSE_F64, in, 2, names[i], expected[i], 2);
}

/* Several outputs at once; values between; an input that nothing depends on; the old contents of what is updated. */
TEST(outputs_and_targets_of_all_kinds)
{
    const double x[] = {1, 2}, z[] = {5};
    const lfuse__oracle_input in[] = {{.name = "a", .data = x, .shape = {2}}, {.name = "z", .data = z, .shape = {1}}};
    const lfuse_value a = lfuse_input(g, "a", F64(2)), free = lfuse_input(g, "z", F64(1));
    const lfuse_value b = lfuse_mul(a, a), sum = lfuse_sum(b, 1, axis, 0), product = lfuse_mul(b, a);
    const lfuse_value y[] = {sum, product}, seeds[] = {lfuse_none(), lfuse_constant(g, 2)};
    const lfuse_value wrt[] = {a, b, free, sum, a};
    lfuse_value d[5], plain[1];
    lfuse_update(a, lfuse_neg(a));
    lfuse_gradients(2, y, seeds, 0, 5, wrt, d);
    lfuse_gradients(2, y, NULL, LFUSE_GRADIENT_CONNECTED, 1, wrt, plain);
    const char *const names[] = {"d0", "d1", "d2", "d3", "d4"};
    const double expected[5][2] = {{8, 28}, {3, 5}, {0}, {1}, {8, 28}};
    const int counts[] = {2, 2, 1, 1, 2};
    for (int i = 0; i < 5; i++) lfuse_output(g, names[i], d[i]);
    lfuse_output(g, "plain", plain[0]);
    for (int i = 0; i < 5; i++) holds("targets", LFUSE_F64, in, 2, names[i], expected[i], counts[i]);
    holds("plain", LFUSE_F64, in, 2, "plain", (const double[]){5, 16}, 2);
}

/* ---- mistakes: each poisons every gradient ---- */

static lfuse_graph *other;

typedef struct request {
    lfuse_value y, seed, wrt[2];
    int count;
    unsigned switches;
    bool no_wrt, no_result;
} request;

static lfuse_value a_of(lfuse_graph *graph, const char *name, lfuse_type type, int64_t n)
{
    return lfuse_input(graph, name, TYPED(type, n));
}

static request usual(void)
{
    const lfuse_value a = a_of(g, "a", LFUSE_F32, 4);
    return (request){.y = lfuse_exp(a), .seed = lfuse_none(), .wrt = {a, a}, .count = 2};
}

typedef void mistake(request *r);
static void integer_y(request *r) { r->y = lfuse_cast(r->y, LFUSE_I32); }
static void bool_y(request *r) { r->y = lfuse_gt(r->y, lfuse_constant(g, 0)); }
static void number_y(request *r) { r->y = lfuse_constant(g, 3); }
static void seed_of_wrong_shape(request *r) { r->seed = a_of(g, "s", LFUSE_F32, 5); }
static void seed_of_wrong_rank(request *r) { r->seed = lfuse_input(g, "s", F32(1, 4)); }
static void seed_of_wrong_type(request *r) { r->seed = a_of(g, "s", LFUSE_F64, 4); }
static void seed_of_integers(request *r) { r->seed = a_of(g, "s", LFUSE_I32, 4); }
static void seed_that_is_a_list(request *r) { r->seed = lfuse_list_input(g, "s", LFUSE_F32, LFUSE_RANK_ANY); }
static void seed_of_another_graph(request *r) { r->seed = a_of(other, "s", LFUSE_F32, 4); }
static void integer_wrt(request *r) { r->wrt[1] = a_of(g, "i", LFUSE_I32, 4); }
static void bool_wrt(request *r) { r->wrt[0] = lfuse_gt(r->y, lfuse_constant(g, 0)); }
static void number_wrt(request *r) { r->wrt[1] = lfuse_scalar(g, "k"); }
static void wrt_of_another_graph(request *r) { r->wrt[1] = a_of(other, "x", LFUSE_F32, 4); }
static void wrt_of_no_graph(request *r) { r->wrt[1] = lfuse_none(); }
static void y_of_no_graph(request *r) { r->y = lfuse_none(); }
static void negative_count(request *r) { r->count = -1; }
static void null_wrt(request *r) { r->no_wrt = true; }
static void null_gradients(request *r) { r->no_result = true; }
static void unknown_switch(request *r) { r->switches = 64; }
static void not_connected(request *r)
{
    r->wrt[1] = a_of(g, "lonely", LFUSE_F32, 4);
    r->switches = LFUSE_GRADIENT_CONNECTED;
}
static void connected_by_a_stop_alone(request *r)
{
    r->wrt[1] = a_of(g, "b", LFUSE_F32, 4);
    r->y = lfuse_mul(r->y, lfuse_stop(r->wrt[1]));
    r->switches = LFUSE_GRADIENT_CONNECTED;
}

static const struct {
    const char *name;
    mistake *make;
    lfuse_status status;
} mistakes[] = {
    {"integer y", integer_y, LFUSE_ERR_TYPE},
    {"bool y", bool_y, LFUSE_ERR_TYPE},
    {"y that is a number", number_y, LFUSE_ERR_TYPE},
    {"seed of a wrong shape", seed_of_wrong_shape, LFUSE_ERR_SHAPE},
    {"seed of a wrong rank", seed_of_wrong_rank, LFUSE_ERR_SHAPE},
    {"seed of a wrong type", seed_of_wrong_type, LFUSE_ERR_TYPE},
    {"seed of integers", seed_of_integers, LFUSE_ERR_TYPE},
    {"seed that is a list", seed_that_is_a_list, LFUSE_ERR_SHAPE},
    {"seed of another graph", seed_of_another_graph, LFUSE_ERR_INVALID},
    {"integer wrt", integer_wrt, LFUSE_ERR_TYPE},
    {"bool wrt", bool_wrt, LFUSE_ERR_TYPE},
    {"wrt that is a number", number_wrt, LFUSE_ERR_TYPE},
    {"wrt of another graph", wrt_of_another_graph, LFUSE_ERR_INVALID},
    {"wrt of no graph", wrt_of_no_graph, LFUSE_ERR_INVALID},
    {"y of no graph", y_of_no_graph, LFUSE_ERR_INVALID},
    {"negative count", negative_count, LFUSE_ERR_INVALID},
    {"NULL for wrt", null_wrt, LFUSE_ERR_INVALID},
    {"NULL for gradients", null_gradients, LFUSE_ERR_INVALID},
    {"unknown switch", unknown_switch, LFUSE_ERR_INVALID},
    {"wrt that is not connected", not_connected, LFUSE_ERR_INVALID},
    {"wrt that a stop alone connects", connected_by_a_stop_alone, LFUSE_ERR_INVALID},
};

static void setup_two(void)
{
    setup();
    other = lfuse_graph_create();
    ck_assert_ptr_nonnull(other);
}

static void teardown_two(void)
{
    lfuse_graph_destroy(other);
    teardown();
}

TEST_CASE("mistakes", .setup = setup_two, .teardown = teardown_two)

TEST_LOOP(mistakes_poison_all_gradients, 0, (int)(sizeof mistakes / sizeof *mistakes))
{
    request r = usual();
    lfuse_value d[2] = {r.y, r.y};
    mistakes[_i].make(&r);
    lfuse_gradients(1, &r.y, &r.seed, r.switches, r.count, r.no_wrt ? NULL : r.wrt, r.no_result ? NULL : d);
    const lfuse_status in_g = lfuse_graph_check(g), in_other = lfuse_graph_check(other);
    const bool nowhere = mistakes[_i].make == y_of_no_graph && !in_g; /* there is none to record it in */
    ck_assert_msg(in_g == mistakes[_i].status || in_other == mistakes[_i].status || nowhere, "%s: %s, %s",
                  mistakes[_i].name, lfuse_status_name(in_g), lfuse_last_error());
    for (int i = 0; i < 2 && r.count > 0 && !r.no_result && !r.no_wrt; i++)
        ck_assert_msg(d[i].id < 0, "%s: gradient %d is not poisoned", mistakes[_i].name, i);
}

TEST(a_poisoned_operand_stays_poisoned)
{
    const lfuse_value a = a_of(g, "a", LFUSE_F32, 4), b = a_of(g, "b", LFUSE_F32, 5);
    lfuse_value d;
    lfuse_gradient(lfuse_add(a, b), lfuse_none(), 1, &a, &d);
    ck_assert_int_lt(d.id, 0);
    FAILS(LFUSE_ERR_SHAPE, lfuse_graph_check(g));
    ck_assert_ptr_nonnull(strstr(lfuse_last_error(), "lfuse_add"));
}

TEST(no_gradients_are_asked_for)
{
    const lfuse_value a = a_of(g, "a", LFUSE_F32, 4);
    lfuse_gradient(lfuse_exp(a), lfuse_none(), 0, NULL, NULL);
    OK(lfuse_graph_check(g));
}

/* What depends on an input through integers alone has a gradient of 0, not an error. */
TEST(no_gradient_flows_through_integers)
{
    const double x[] = {1.5, 2.5};
    const lfuse__oracle_input in = {.name = "a", .data = x, .shape = {2}};
    const lfuse_value a = lfuse_input(g, "a", F64(2));
    const lfuse_value i = lfuse_cast(lfuse_argmax(a, 1, axis, 0), LFUSE_F64);
    const lfuse_value count = lfuse_cast(lfuse_count_nonzero(a, 1, axis, 0), LFUSE_F64);
    lfuse_value d;
    lfuse_gradient(lfuse_add(lfuse_add(i, count), lfuse_cast(lfuse_cast(lfuse_sum(a, 1, axis, 0), LFUSE_I32),
                                                             LFUSE_F64)), lfuse_none(), 1, &a, &d);
    lfuse_output(g, "d", d);
    holds("integers", LFUSE_F64, &in, 1, "d", (const double[]){0, 0}, 2);
}

/* Pure: what the graph computes beside its gradients stays what it was, with or without them. */
TEST(a_graph_computes_what_it_did)
{
    const lfuse_value a = a_of(g, "a", LFUSE_F32, 4), y = lfuse_softmax(lfuse_exp(a), 1, axis);
    lfuse_value d;
    lfuse_output(g, "y", y);
    lfuse_graph *before = NULL, *after = NULL;
    OK(lfuse__graph_canonical(g, &before));
    lfuse_gradient(y, lfuse_none(), 1, &a, &d);
    OK(lfuse__graph_canonical(g, &after));
    lfuse__strbuf texts[2] = {LFUSE__STRBUF_INIT, LFUSE__STRBUF_INIT};
    lfuse__graph_print(before, &texts[0]);
    lfuse__graph_print(after, &texts[1]);
    ck_assert_str_eq(texts[0].data, texts[1].data);
    for (int i = 0; i < 2; i++) lfuse__strbuf_free(&texts[i]);
    lfuse_graph_destroy(before);
    lfuse_graph_destroy(after);
}

TEST_SUITE("gradients at edges", CK_FORK_GETENV)
