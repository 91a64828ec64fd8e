/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle against straightforward computations: right results pass, and wrong ones do not, so no bound is vacuous.
 */
#include "tests/oracle/rig.h"

/* ---- pointwise ---- */

TEST_CASE("oracle", .setup = make, .teardown = destroy)

TEST(exact_chains_have_no_tolerance)
{
    float a[COUNT], b[COUNT], got[COUNT];
    const lfuse_value x = vector("x", LFUSE_F32, COUNT), y = vector("y", LFUSE_F32, COUNT);

    lfuse__data_normal(LFUSE_F32, a, COUNT, 3, 1);
    lfuse__data_normal(LFUSE_F32, b, COUNT, 3, 2);
    lfuse_output(g, "z", lfuse_max(lfuse_div(lfuse_sqrt(lfuse_abs(lfuse_fma(x, y, lfuse_constant(g, 0.1)))),
                                             lfuse_sub(x, lfuse_mul(y, y))), lfuse_where(lfuse_lt(x, y), x, y)));
    EVALUATE(DATA("x", a, COUNT), DATA("y", b, COUNT));
    for (int i = 0; i < COUNT; i++) {
        const float root = sqrtf(fabsf(fmaf(a[i], b[i], (float)0.1))), square = b[i] * b[i];
        const float quotient = root / (a[i] - square), other = a[i] < b[i] ? a[i] : b[i];
        got[i] = quotient > other ? quotient : other;
    }
    ck_agrees(0, got);
    ck_assert_double_eq(report.max_bound, 0);
    got[COUNT / 2] = nextafterf(got[COUNT / 2], 100);
    ck_assert(!agrees(0, got));
    ck_assert_int_eq(report.bad, 1);
    ck_assert_int_eq(report.first_bad, COUNT / 2);
    ck_assert(isinf(report.max_ratio));
}

TEST(nasty_data_is_exact_too)
{
    float a[COUNT], b[COUNT], got[COUNT];
    const lfuse_value x = vector("x", LFUSE_F32, COUNT), y = vector("y", LFUSE_F32, COUNT);

    lfuse__data_nasty(LFUSE_F32, a, COUNT, 1);
    lfuse__data_nasty(LFUSE_F32, b, COUNT, 2);
    lfuse_output(g, "z", lfuse_mul(lfuse_add(x, y), lfuse_div(x, y)));
    EVALUATE(DATA("x", a, COUNT), DATA("y", b, COUNT));
    for (int i = 0; i < COUNT; i++) got[i] = (a[i] + b[i]) * (a[i] / b[i]);
    ck_agrees(0, got);
    ck_assert_int_eq(report.open, 0);
}

/* One operator over data where it is defined; errors of the host's float functions are within any bound. */
static const struct unary {
    lfuse_value (*build)(lfuse_value a);
    float (*value)(float a);
    double low, high, most_ulp; /* the bound in units of results of size 1 */
} unaries[] = {
    {lfuse_exp, expf, -10, 0, 4},       {lfuse_expm1, expm1f, -5, 0.6, 4}, {lfuse_log, logf, 0.4, 2.7, 4},
    {lfuse_log1p, log1pf, -0.5, 1, 3},  {lfuse_sin, sinf, -10, 10, 5},     {lfuse_cos, cosf, -10, 10, 5},
    {lfuse_tanh, tanhf, -10, 10, 6},    {lfuse_erf, erff, -4, 4, 17},      {lfuse_sqrt, sqrtf, 0, 1, 0},
    {lfuse_floor, floorf, -9, 9, 0},    {lfuse_ceil, ceilf, -9, 9, 0},     {lfuse_round, rintf, -9, 9, 0},
};
enum { UNARIES = sizeof unaries / sizeof unaries[0] };

TEST_LOOP(functions, 0, UNARIES)
{
    const struct unary *u = &unaries[_i];
    float a[COUNT], got[COUNT];

    lfuse__data_uniform(LFUSE_F32, a, COUNT, u->low, u->high, 5);
    lfuse_output(g, "y", u->build(vector("x", LFUSE_F32, COUNT)));
    EVALUATE(DATA("x", a, COUNT));
    for (int i = 0; i < COUNT; i++) got[i] = u->value(a[i]);
    ck_agrees(0, got);
    ck_assert_int_eq(report.open, 0);
    ck_assert_double_le(report.max_bound, u->most_ulp * 0x1p-23);
    for (int i = 0; i < COUNT; i++) {
        const double twice = 2 * run.results[0].bound[i] + 2e-38;
        got[i] = (float)(run.results[0].value[i] + (twice > fabs(got[i]) * 0x1p-22 ? twice : fabs(got[i]) * 0x1p-22));
    }
    ck_assert(!agrees(0, got));
    ck_assert_int_eq(report.bad, COUNT);
}

/* Errors that grow: cancellation makes the bound large against the result, and a device may use all of it. */
TEST(errors_propagate)
{
    float a[COUNT], got[COUNT];
    const lfuse_value x = vector("x", LFUSE_F32, COUNT);

    lfuse__data_uniform(LFUSE_F32, a, COUNT, 1, 5, 5);
    lfuse_output(g, "y", lfuse_sub(lfuse_exp(x), lfuse_mul(lfuse_exp(lfuse_mul(x, lfuse_constant(g, 0.5))),
                                                          lfuse_exp(lfuse_mul(x, lfuse_constant(g, 0.5))))));
    EVALUATE(DATA("x", a, COUNT));
    for (int i = 0; i < COUNT; i++) {
        const float half = expf(a[i] * 0.5f), square = half * half;
        got[i] = expf(a[i]) - square;
        double size = exp(a[i]) * 0x1p-23;
        ck_assert_double_ge(run.results[0].bound[i], 3 * size / 2);
        ck_assert_double_le(run.results[0].bound[i], 20 * size);
    }
    ck_agrees(0, got);
}

/* By the formula of the kernels. */
static float sigmoid(float a)
{
    const float t = expf(-fabsf(a));

    return (a < 0 ? t : 1) / (1 + t);
}

TEST(activations)
{
    float a[COUNT], got[7][COUNT];
    const lfuse_value x = vector("x", LFUSE_F32, COUNT);

    lfuse__data_normal(LFUSE_F32, a, COUNT, 4, 5);
    lfuse_output(g, "sigmoid", lfuse_sigmoid(x));
    lfuse_output(g, "silu", lfuse_silu(x));
    lfuse_output(g, "gelu", lfuse_gelu(x));
    lfuse_output(g, "gelu_tanh", lfuse_gelu_tanh(x));
    lfuse_output(g, "softplus", lfuse_softplus(x));
    lfuse_output(g, "leaky", lfuse_leaky_relu(x, lfuse_constant(g, 0.01)));
    lfuse_output(g, "clamp", lfuse_clamp(x, lfuse_constant(g, -1), lfuse_constant(g, 2)));
    EVALUATE(DATA("x", a, COUNT));
    for (int i = 0; i < COUNT; i++) {
        const float u = a[i] * (1.5957691216f + 0.0713548162726f * (a[i] * a[i]));
        got[0][i] = sigmoid(a[i]);
        got[1][i] = a[i] * sigmoid(a[i]);
        got[2][i] = a[i] * 0.5f * erfcf(a[i] * -0.70710678118f);
        got[3][i] = a[i] * sigmoid(u);
        got[4][i] = (a[i] > 0 ? a[i] : 0) + log1pf(expf(-fabsf(a[i])));
        got[5][i] = a[i] > 0 ? a[i] : 0.01f * a[i];
        got[6][i] = a[i] < -1 ? -1 : a[i] > 2 ? 2 : a[i];
    }
    for (int k = 0; k < 7; k++) {
        ck_agrees(k, got[k]);
        ck_assert_double_le(report.max_bound, 100 * 0x1p-23 * 8);
        for (int i = 0; i < COUNT; i++)
            if (fabsf(got[k][i]) > 1e-20f) got[k][i] *= 1.0001f;
        ck_assert(!agrees(k, got[k]));
        ck_assert_int_gt(report.bad, COUNT / 2);
    }
}

/* Random expressions, evaluated in float beside the graph, over data that meets kinks, steps and poles. */
enum { NODES = 24 };
typedef struct random_node {
    lfuse_value value;
    float x[COUNT];
} random_node;

static void apply_random(lfuse__random *r, random_node *n, const random_node *a, const random_node *b)
{
    const uint64_t pick = lfuse__random_below(r, 16);

    for (int i = 0; i < COUNT; i++) {
        const float x = a->x[i], y = b->x[i];
        switch (pick) {
        case 0: n->x[i] = x + y; break;
        case 1: n->x[i] = x - y; break;
        case 2: n->x[i] = x * y; break;
        case 3: n->x[i] = x / y; break;
        case 4: n->x[i] = x < y || x != x ? x : y; break;
        case 5: n->x[i] = x > y || x != x ? x : y; break;
        case 6: n->x[i] = expf(x); break;
        case 7: n->x[i] = tanhf(x); break;
        case 8: n->x[i] = sinf(x); break;
        case 9: n->x[i] = sqrtf(fabsf(x)); break;
        case 10: n->x[i] = logf(fabsf(x)); break;
        case 11: n->x[i] = sigmoid(x); break;
        case 12: n->x[i] = x > 0 || x != x ? x : 0; break;
        case 13: n->x[i] = floorf(x); break;
        case 14: n->x[i] = x > y ? x : y * 0.5f; break;
        default: n->x[i] = 1 / x; break;
        }
    }
    switch (pick) {
    case 0: n->value = lfuse_add(a->value, b->value); break;
    case 1: n->value = lfuse_sub(a->value, b->value); break;
    case 2: n->value = lfuse_mul(a->value, b->value); break;
    case 3: n->value = lfuse_div(a->value, b->value); break;
    case 4: n->value = lfuse_min(a->value, b->value); break;
    case 5: n->value = lfuse_max(a->value, b->value); break;
    case 6: n->value = lfuse_exp(a->value); break;
    case 7: n->value = lfuse_tanh(a->value); break;
    case 8: n->value = lfuse_sin(a->value); break;
    case 9: n->value = lfuse_sqrt(lfuse_abs(a->value)); break;
    case 10: n->value = lfuse_log(lfuse_abs(a->value)); break;
    case 11: n->value = lfuse_sigmoid(a->value); break;
    case 12: n->value = lfuse_relu(a->value); break;
    case 13: n->value = lfuse_floor(a->value); break;
    case 14:
        n->value = lfuse_where(lfuse_gt(a->value, b->value), a->value, lfuse_mul(b->value, lfuse_constant(g, 0.5)));
        break;
    default: n->value = lfuse_reciprocal(a->value); break;
    }
}

TEST_LOOP(random_expressions, 0, 40)
{
    static random_node nodes[NODES];
    lfuse__random r;
    char name[16];
    int judged = 0;

    lfuse__random_seed(&r, (uint64_t)_i);
    nodes[0].value = vector("x", LFUSE_F32, COUNT);
    nodes[1].value = vector("y", LFUSE_F32, COUNT);
    lfuse__data_normal(LFUSE_F32, nodes[0].x, COUNT, 2, (uint64_t)_i + 1000);
    lfuse__data_nasty(LFUSE_F32, nodes[1].x, COUNT, (uint64_t)_i + 2000);
    for (int i = 2; i < NODES; i++) {
        apply_random(&r, &nodes[i], &nodes[lfuse__random_below(&r, (uint64_t)i)],
                     &nodes[lfuse__random_below(&r, (uint64_t)i)]);
        snprintf(name, sizeof name, "n%d", i);
        lfuse_output(g, name, nodes[i].value);
    }
    EVALUATE(DATA("x", nodes[0].x, COUNT), DATA("y", nodes[1].x, COUNT));
    for (int i = 2; i < NODES; i++) {
        ck_assert_msg(agrees(i - 2, nodes[i].x), "seed %d, value %d: %s", _i, i, report.text);
        judged += report.open < COUNT / 2;
    }
    ck_assert_int_gt(judged, NODES / 2);
}

TEST(wide_types)
{
    double a[COUNT], got[COUNT];
    const lfuse_value x = vector("x", LFUSE_F64, COUNT);

    lfuse__data_normal(LFUSE_F64, a, COUNT, 2, 5);
    lfuse_output(g, "y", lfuse_exp(lfuse_tanh(x)));
    EVALUATE(DATA("x", a, COUNT));
    for (int i = 0; i < COUNT; i++) got[i] = exp(tanh(a[i]));
    ck_agrees(0, got);
    ck_assert_double_le(report.max_bound, 40 * 0x1p-52);
    got[3] *= 1 + 1e-13;
    ck_assert(!agrees(0, got));
}

/* Between functions values are f32; a view may be a copy, which is of 16 bits. */
TEST_LOOP(half_is_rounded_between_others_at_most, 0, 2)
{
    static const lfuse_type halves[] = {LFUSE_F16, LFUSE_BF16};
    const lfuse_type type = halves[_i];
    uint16_t a[COUNT], wide[COUNT], narrow[COUNT];
    const lfuse_value x = vector("x", type, COUNT);
    int differ = 0;

    lfuse__data_normal(type, a, COUNT, 1, 5);
    lfuse_value product = lfuse_mul(x, lfuse_constant(g, 1.1));
    lfuse_output(g, "y", lfuse_add(product, x));
    product = lfuse_reshape(product, SHAPE(1, COUNT));
    lfuse_output(g, "z", lfuse_add(product, x));
    EVALUATE(DATA("x", a, COUNT));
    for (int i = 0; i < COUNT; i++) {
        const float value = (float)lfuse__data_get(type, a, i), scaled = value * 1.1f;
        uint16_t bits;
        lfuse__data_put(type, &bits, 0, scaled);
        lfuse__data_put(type, wide, i, scaled + value);
        lfuse__data_put(type, narrow, i, (float)lfuse__data_get(type, &bits, 0) + value);
        differ += wide[i] != narrow[i];
    }
    ck_assert_int_gt(differ, 0);
    ck_agrees(0, wide);
    ck_assert(!agrees(0, narrow));
    ck_agrees(1, wide);
    ck_agrees(1, narrow);
    for (int i = 0; i < COUNT; i++) wide[i] += 3; /* units in the last place */
    ck_assert(!agrees(1, wide));
    ck_assert_int_gt(report.bad, COUNT * 9 / 10);
}

TEST(one_half_operation_is_exact)
{
    uint16_t a[COUNT], got[COUNT];
    const lfuse_value x = vector("x", LFUSE_F16, COUNT);

    lfuse__data_normal(LFUSE_F16, a, COUNT, 1, 5);
    lfuse_output(g, "y", lfuse_mul(x, x));
    EVALUATE(DATA("x", a, COUNT));
    for (int i = 0; i < COUNT; i++) {
        const float value = lfuse__f16_to_float(a[i]);
        got[i] = lfuse__double_to_f16(value * value);
    }
    ck_agrees(0, got);
    ck_assert_double_eq(report.max_bound, 0);
}

TEST(open_comparisons_cover_both)
{
    float a[4] = {0.5f, 1.0f, 1.0f, 2.0f}, got[4] = {0, 1, 0, 1};
    const lfuse_value x = vector("x", LFUSE_F32, 4), e = lfuse_exp(lfuse_log(x)), one = lfuse_constant(g, 1);

    lfuse_output(g, "y", lfuse_cast(lfuse_gt(e, one), LFUSE_F32));
    lfuse_output(g, "z", lfuse_where(lfuse_gt(e, one), lfuse_constant(g, 5), lfuse_add(x, lfuse_constant(g, 1))));
    lfuse_output(g, "i", lfuse_cast(e, LFUSE_I32));
    EVALUATE(DATA("x", a, 4));
    ck_agrees(0, got);
    got[2] = 1;
    ck_agrees(0, got);
    got[0] = 1;
    ck_assert(!agrees(0, got));
    ck_agrees(1, ((const float[]){1.5f, 2, 5, 5}));
    ck_agrees(1, ((const float[]){1.5f, 5, 2, 5}));
    ck_assert(!agrees(1, (const float[]){5, 5, 2, 5}));
    ck_assert(!agrees(1, (const float[]){1.5f, 5, 2, 3}));
    ck_agrees(2, ((const int32_t[]){0, 1, 0, 2}));
    ck_agrees(2, ((const int32_t[]){0, 0, 1, 1}));
    ck_assert(!agrees(2, (const int32_t[]){1, 0, 1, 2}));
}

TEST(poles_leave_all_open)
{
    float a[3] = {1, 0.5f, 2};
    const lfuse_value x = vector("x", LFUSE_F32, 3), near = lfuse_log(lfuse_exp(lfuse_sub(x, lfuse_constant(g, 1))));

    lfuse_output(g, "y", lfuse_reciprocal(near));
    EVALUATE(DATA("x", a, 3));
    ck_agrees(0, ((const float[]){NAN, -2, 1}));
    ck_assert_int_eq(report.open, 1);
    ck_assert(!agrees(0, (const float[]){0, -2, NAN}));
}

TEST(integers)
{
    int32_t a[COUNT], b[COUNT], got[COUNT], quotient[COUNT];
    const lfuse_value x = vector("x", LFUSE_I32, COUNT), y = vector("y", LFUSE_I32, COUNT);

    lfuse__data_nasty(LFUSE_I32, a, COUNT, 1);
    lfuse__data_nasty(LFUSE_I32, b, COUNT, 2);
    lfuse_output(g, "z", lfuse_add(lfuse_mul(x, y), lfuse_neg(x)));
    lfuse_output(g, "q", lfuse_div(x, y));
    EVALUATE(DATA("x", a, COUNT), DATA("y", b, COUNT));
    for (int i = 0; i < COUNT; i++) {
        got[i] = (int32_t)((uint32_t)a[i] * (uint32_t)b[i] - (uint32_t)a[i]);
        quotient[i] = b[i] == 0 ? 0 : (int32_t)((int64_t)a[i] / b[i]);
    }
    ck_agrees(0, got);
    ck_agrees(1, quotient);
    ck_assert_double_eq(report.max_bound, 0);
    got[7]++;
    ck_assert(!agrees(0, got));
}

TEST(casts)
{
    float a[COUNT];
    double b[COUNT];
    int32_t whole[COUNT];
    uint16_t half[COUNT];
    uint8_t truth[COUNT];
    const lfuse_value x = vector("x", LFUSE_F32, COUNT), w = vector("w", LFUSE_F64, COUNT);

    lfuse__data_nasty(LFUSE_F32, a, COUNT, 1);
    lfuse__data_nasty(LFUSE_F64, b, COUNT, 1);
    lfuse_output(g, "i", lfuse_cast(x, LFUSE_I32));
    lfuse_output(g, "h", lfuse_cast(w, LFUSE_BF16));
    lfuse_output(g, "b", lfuse_cast(x, LFUSE_BOOL));
    EVALUATE(DATA("x", a, COUNT), DATA("w", b, COUNT));
    for (int i = 0; i < COUNT; i++) {
        lfuse__data_put(LFUSE_I32, whole, i, a[i]);
        half[i] = lfuse__double_to_bf16(b[i]);
        truth[i] = a[i] != 0;
    }
    ck_agrees(0, whole);
    ck_agrees(1, half);
    ck_agrees(2, truth);
    truth[5] = (uint8_t)(truth[5] + 2);
    ck_assert(!agrees(2, truth));
}

TEST(broadcasting_and_views)
{
    float a[6] = {1, 2, 3, 4, 5, 6}, b[2] = {10, 20}, c = 100;
    const float sum[6] = {111, 112, 113, 124, 125, 126}, swapped[6] = {1, 4, 2, 5, 3, 6};
    const lfuse_value x = lfuse_input(g, "x", F32(2, 3));
    const lfuse_value y = lfuse_input(g, "y", F32(2, 1));
    const lfuse_value z = lfuse_input(g, "z", LFUSE_F32, 0, NULL);
    const float repeated[8] = {10, 10, 20, 20, 10, 10, 20, 20};

    lfuse_output(g, "sum", lfuse_add(lfuse_add(x, y), z));
    lfuse_output(g, "swapped", lfuse_transpose(x));
    lfuse_output(g, "repeated", lfuse_broadcast_to(y, SHAPE(2, 2, 2)));
    EVALUATE(DATA("x", a, 2, 3), DATA("y", b, 2, 1), {.name = "z", .data = &c});
    ck_agrees(0, sum);
    ck_agrees(1, swapped);
    ck_agrees(2, repeated);
    ck_assert_int_eq(run.results[1].shape[0], 3);
    ck_assert_int_eq(run.results[2].rank, 3);
}

/* ---- lists, numbers, updates ---- */

TEST(lists_and_updates)
{
    float p0[3] = {1, 2, 3}, p1[1] = {4}, g0[3] = {10, 20, 30}, g1[1] = {40};
    const void *p[] = {p0, p1, p1}, *d[] = {g0, g1, g1};
    const int64_t elements[] = {3, 1, 0};
    const lfuse_value params = lfuse_list_input(g, "p", LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value grads = lfuse_list_input(g, "g", LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value norm = lfuse_member_sum(lfuse_mul(grads, grads)), rate = lfuse_scalar(g, "rate");
    const lfuse__oracle_input inputs[] = {{.name = "p", .members = p, .elements = elements, .count = 3},
                                          {.name = "g", .members = d, .elements = elements, .count = 3},
                                          {.name = "rate", .number = 0.5}};
    const float moved[4] = {1 - 5.0f / 1400, 2 - 10.0f / 1400, 3 - 15.0f / 1400, 4 - 20.0f / 1600};

    lfuse_output(g, "norm", norm);
    lfuse_update(params, lfuse_sub(params, lfuse_div(lfuse_mul(grads, rate), norm)));
    evaluate(inputs, 3, NULL);
    ck_assert_int_eq(run.nresults, 2);
    const lfuse__oracle_result *r = lfuse__oracle_find(&run, "norm");
    ck_assert_ptr_nonnull(r);
    ck_assert_int_eq(r->count, 3);
    ck_assert(r->value[0] == 1400 && r->value[1] == 1600 && r->value[2] == 0);
    r = lfuse__oracle_find(&run, "p");
    ck_assert_int_eq(r->count, 4);
    ck_assert_int_eq(r->members, 3);
    ck_assert(r->ends[0] == 3 && r->ends[1] == 4 && r->ends[2] == 4);
    for (int i = 0; i < 4; i++) ck_assert_float_eq_tol((float)r->value[i], moved[i], 1e-6f);
    ck_assert_ptr_null(lfuse__oracle_find(&run, "rate"));
}

TEST(reductions_of_lists)
{
    float a0[3] = {1, -2, 3}, a1[1] = {4}, a2[2] = {0, 5};
    const void *a[] = {a0, a1, a2};
    const int64_t elements[] = {3, 1, 2};
    const lfuse_value x = lfuse_list_input(g, "x", LFUSE_F32, LFUSE_RANK_ANY);
    static const struct {
        const char *name;
        double value[3];
        int count;
    } want[] = {{"sum", {2, 4, 5}, 3},   {"least", {-2, 4, 0}, 3}, {"all", {1, 1, 0}, 3},   {"elements", {3, 1, 2}, 3},
                {"mean", {2.0 / 3, 4, 2.5}, 3}, {"total", {11}, 1}, {"most", {5}, 1},   {"any", {1}, 1},
                {"nonzero", {5}, 1},     {"squares", {55}, 1}};

    lfuse_output(g, "sum", lfuse_member_sum(x));
    lfuse_output(g, "least", lfuse_member_amin(x));
    lfuse_output(g, "all", lfuse_member_all(x));
    lfuse_output(g, "elements", lfuse_member_elements(x));
    lfuse_output(g, "mean", lfuse_member_mean(x));
    lfuse_output(g, "total", lfuse_list_sum(x));
    lfuse_output(g, "most", lfuse_list_norm_inf(x));
    lfuse_output(g, "any", lfuse_list_any(x));
    lfuse_output(g, "nonzero", lfuse_list_norm(x, 0));
    lfuse_output(g, "squares", lfuse_square(lfuse_list_norm_l2(x)));
    EVALUATE({.name = "x", .members = a, .elements = elements, .count = 3});
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const lfuse__oracle_result *r = lfuse__oracle_find(&run, want[i].name);
        ck_assert_ptr_nonnull(r);
        ck_assert_int_eq(r->count, want[i].count);
        ck_assert(r->list == (want[i].count == 3));
        for (int k = 0; k < want[i].count; k++)
            ck_assert_double_eq_tol((double)r->value[k], want[i].value[k], 1e-5);
    }
}

/* What torch.linalg.vector_norm, torch.nansum and torch.count_nonzero say. */
TEST(norms_sums_and_counts_of_tensors)
{
    static const struct {
        double order, norm;
    } want[] = {{0, 3}, {1, 9}, {2, 5.3851648071345040}, {3, 4.6260650091827422}, {0.5, 26.484036965334248},
                {INFINITY, 4}, {-INFINITY, 0}, {-1, 0}};
    float a[5] = {3, 0, -4, 2, NAN};
    const lfuse_value x = vector("x", LFUSE_F32, 5), numbers = lfuse_slice(x, 0, 0, 4, 1);
    const int count = sizeof want / sizeof *want;
    char name[16];

    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%d", i);
        lfuse_output(g, name, lfuse_norm(numbers, LFUSE_ALL_AXES, NULL, want[i].order, 0));
    }
    lfuse_output(g, "nan", lfuse_norm(x, LFUSE_ALL_AXES, NULL, 3, 0));
    lfuse_output(g, "nansum", lfuse_nansum(x, LFUSE_ALL_AXES, NULL, 0));
    lfuse_output(g, "nonzero", lfuse_count_nonzero(x, LFUSE_ALL_AXES, NULL, 0));
    lfuse_output(g, "bytes", lfuse_nansum(lfuse_cast(lfuse_cast(numbers, LFUSE_BOOL), LFUSE_U8), 1, (int[]){0}, 0));
    EVALUATE(DATA("x", a, 5));
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%d", i);
        ck_assert_double_eq_tol((double)lfuse__oracle_find(&run, name)->value[0], want[i].norm, 1e-5);
    }
    ck_assert(isnan((double)lfuse__oracle_find(&run, "nan")->value[0]));
    ck_assert(lfuse__oracle_find(&run, "nansum")->value[0] == 1);
    ck_assert(lfuse__oracle_find(&run, "nonzero")->value[0] == 4);
    ck_assert(lfuse__oracle_find(&run, "bytes")->value[0] == 3);
}

TEST(numbers_round_once)
{
    float a[2] = {1, 2}, got[2];
    double decay = pow(0.999, 3);
    const lfuse_value x = vector("x", LFUSE_F32, 2), beta = lfuse_scalar(g, "beta"), step = lfuse_scalar(g, "step");

    lfuse_output(g, "y", lfuse_mul(x, lfuse_sub(lfuse_constant(g, 1), lfuse_pow(beta, step))));
    EVALUATE(DATA("x", a, 2), {.name = "beta", .number = 0.999}, {.name = "step", .number = 3});
    got[0] = (float)(1 - decay);
    got[1] = 2 * got[0];
    ck_agrees(0, got);
    ck_assert_double_eq(report.max_bound, 0);
}

TEST(mistakes)
{
    float a[4] = {1, 2, 3, 4};
    const lfuse_size n = lfuse_size_var(g, "n", 2, 4);
    const lfuse_value x = lfuse_input(g, "x", F32(n));
    const lfuse__oracle_input right_one = DATA("x", a, 4), number = {.name = "n", .number = 3};
    const lfuse__oracle_input unknown = {.name = "q"}, large = DATA("x", a, 5);
    const lfuse__oracle_input output = DATA("y", a, 4), none = {.name = "x", .shape = {4}};

    lfuse_output(g, "y", lfuse_neg(x));
#define ck_mistake(status, ...)                                                                                        \
    ck_assert_int_eq(lfuse__oracle_run_graph(g, (const lfuse__oracle_input[]){__VA_ARGS__},                            \
                                             sizeof((const lfuse__oracle_input[]){__VA_ARGS__}) /                      \
                                                 sizeof(lfuse__oracle_input), NULL, &run), status)
    ck_mistake(LFUSE_ERR_NAME, right_one, unknown);
    ck_mistake(LFUSE_ERR_BINDING, right_one, right_one);
    ck_mistake(LFUSE_ERR_BINDING, right_one, output);
    ck_mistake(LFUSE_ERR_BINDING, number);
    ck_mistake(LFUSE_ERR_SHAPE, right_one, number);
    ck_mistake(LFUSE_ERR_BOUNDS, large);
    ck_mistake(LFUSE_ERR_INVALID, none);
    ck_mistake(LFUSE_OK, right_one);
    ck_assert_int_eq(lfuse__oracle_run_graph(NULL, NULL, 0, NULL, &run), LFUSE_ERR_INVALID);
}

TEST(inexact_devices_get_more)
{
    const lfuse__oracle_options inexact = {.inexact = true};
    float a[3] = {1, 2, 3}, got[3];

    lfuse_output(g, "y", lfuse_div(lfuse_constant(g, 1), vector("x", LFUSE_F32, 3)));
    evaluate((const lfuse__oracle_input[]){DATA("x", a, 3)}, 1, &inexact);
    for (int i = 0; i < 3; i++) got[i] = nextafterf(1 / a[i], 0);
    ck_agrees(0, got);
    for (int i = 0; i < 3; i++) got[i] = nextafterf(nextafterf(got[i], 0), 0);
    ck_assert(!agrees(0, got));
}

TEST_SUITE("oracle", CK_FORK_GETENV)
