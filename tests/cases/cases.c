/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/cases/cases.h"

/* ---- pointwise ---- */

CASE(chain, 0)
{
    lfuse_value a = h_input(h, "a", F32(37, 61), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(37, 61), PLAIN, NORMAL);
    lfuse_value y = lfuse_gelu(lfuse_add(lfuse_mul(a, b), lfuse_tanh(a)));
    h_output(h, "y", y, F32(37, 61), PLAIN);
    h_expect_launches(h, 1);
}

static void flat_of(harness *h, lfuse_type type)
{
    lfuse_value a = h_input(h, "a", TYPED(type, 4099), PLAIN, NORMAL);
    h_output(h, "y", lfuse_add(lfuse_mul(a, a), lfuse_constant(h_graph(h), 0.5)), TYPED(type, 4099), PLAIN);
    h_expect_launches(h, 1);
}

CASE(flat_f32, 0) { flat_of(h, LFUSE_F32); }
CASE(flat_f16, 0) { flat_of(h, LFUSE_F16); }
CASE(flat_bf16, 0) { flat_of(h, LFUSE_BF16); }
CASE(flat_e4m3, 0) { flat_of(h, LFUSE_E4M3); }
CASE(flat_e5m2, 0) { flat_of(h, LFUSE_E5M2); }
CASE(flat_f64, 0) { flat_of(h, LFUSE_F64); }

CASE(integers, EXACT)
{
    lfuse_value a = h_input(h, "a", I32(1000), PLAIN, NASTY);
    lfuse_value b = h_input(h, "b", I32(1000), PLAIN, NASTY);
    h_output(h, "product", lfuse_sub(lfuse_mul(a, b), lfuse_neg(b)), I32(1000), PLAIN);
    h_output(h, "quotient", lfuse_div(a, b), I32(1000), PLAIN);
    h_output(h, "least", lfuse_min(lfuse_abs(a), lfuse_relu(b)), I32(1000), PLAIN);
    h_expect_same_bits(h);
}

static void narrow_of(harness *h, lfuse_type type)
{
    lfuse_value a = h_input(h, "a", TYPED(type, 1003), PLAIN, NASTY);
    lfuse_value b = h_input(h, "b", TYPED(type, 1003), OFFSET, NASTY);
    lfuse_value quotient = lfuse_add(lfuse_mul(lfuse_div(a, b), b), lfuse_fmod(a, b));
    h_output(h, "sum", lfuse_sub(lfuse_mul(a, b), lfuse_square(b)), TYPED(type, 1003), PLAIN);
    h_output(h, "whole", lfuse_where(lfuse_ne(b, lfuse_constant(h_graph(h), 0)), quotient, a), TYPED(type, 1003),
             PLAIN);
    h_output(h, "bits", lfuse_bit_xor(lfuse_shl(a, b), lfuse_bit_not(lfuse_shr(b, a))), TYPED(type, 1003), STRIDED);
    h_output(h, "float", lfuse_cast(lfuse_remainder(a, b), LFUSE_BF16), BF16(1003), PLAIN);
    h_output(h, "wide", lfuse_cast(lfuse_neg(a), LFUSE_I64), I64(1003), PLAIN);
    h_expect_same_bits(h);
}

CASE(integers_i64, EXACT) { narrow_of(h, LFUSE_I64); }
CASE(integers_i8, EXACT) { narrow_of(h, LFUSE_I8); }
CASE(integers_u8, EXACT) { narrow_of(h, LFUSE_U8); }

CASE(logic, EXACT)
{
    lfuse_value a = h_input(h, "a", F32(2000), PLAIN, NASTY);
    lfuse_value b = h_input(h, "b", F32(2000), PLAIN, NASTY);
    lfuse_value odd = lfuse_logical_or(lfuse_isnan(a), lfuse_logical_and(lfuse_isinf(b), lfuse_lt(a, b)));
    h_output(h, "odd", lfuse_logical_xor(odd, lfuse_isfinite(a)), BOOL(2000), PLAIN);
    h_output(h, "even", lfuse_where(lfuse_logical_not(odd), a, b), F32(2000), PLAIN);
    h_expect_same_bits(h);
}

CASE(random_numbers, EXACT)
{
    lfuse_value x = h_input(h, "x", F32(70, 33), PLAIN, NORMAL);
    lfuse_value seed = h_scalar(h, "seed", 1234567890123.0), offset = h_scalar(h, "offset", 42);
    lfuse_graph *g = h_graph(h);
    h_output(h, "bits", lfuse_random_bits(g, SHAPE(70, 33), seed, offset), I32(70, 33), PLAIN);
    h_output(h, "uniform", lfuse_random_uniform(g, F16(999), seed, offset), F16(999), PLAIN);
    h_output(h, "dropout", lfuse_dropout(x, lfuse_constant(g, 0.25), seed, offset), F32(70, 33), PLAIN);
    h_expect_same_bits(h);
}

CASE(random_normal, 0)
{
    lfuse_value seed = h_scalar(h, "seed", 3), offset = h_scalar(h, "offset", 0);
    lfuse_value noise = lfuse_random_normal(h_graph(h), F32(4001), seed, offset);
    h_output(h, "normal", noise, F32(4001), PLAIN);
}

CASE(gated, 0)
{
    lfuse_value a = h_input(h, "a", F32(1500), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(1500), PLAIN, NORMAL);
    lfuse_value both = lfuse_add(lfuse_swiglu(a, b), lfuse_add(lfuse_reglu(b, a), lfuse_glu(a, b)));
    lfuse_value gelus = lfuse_add(lfuse_geglu(a, b), lfuse_add(lfuse_geglu_tanh(a, b), lfuse_geglu_quick(b, a)));
    lfuse_value value = lfuse_constant(h_graph(h), -0.5);
    h_output(h, "both", both, F32(1500), PLAIN);
    h_output(h, "gelus", gelus, F32(1500), PLAIN);
    h_output(h, "addc", lfuse_addcdiv(lfuse_addcmul(a, a, b, value), b, lfuse_cosh(a), value), F32(1500), PLAIN);
    h_output(h, "shrunk", lfuse_hardtanh(lfuse_tanhshrink(a), lfuse_constant(h_graph(h), -0.1), lfuse_prelu(b, value)),
             F32(1500), PLAIN);
}

CASE(several_outputs, 0)
{
    lfuse_value a = h_input(h, "a", F32(5000), PLAIN, NORMAL);
    lfuse_value s = lfuse_sigmoid(a), t = lfuse_mul(a, s);
    h_output(h, "s", s, F32(5000), PLAIN);
    h_output(h, "t", t, F32(5000), PLAIN);
    h_expect_launches(h, 1);
}

CASE(broadcast, 0)
{
    lfuse_value x = h_input(h, "x", F32(5, 7, 33), PLAIN, NORMAL);
    lfuse_value row = h_input(h, "row", F32(33), PLAIN, NORMAL);
    lfuse_value column = h_input(h, "column", F32(7, 1), PLAIN, NORMAL);
    lfuse_value plane = h_input(h, "plane", F32(5, 1, 1), PLAIN, NORMAL);
    lfuse_value y = lfuse_sub(lfuse_mul(lfuse_add(x, row), column), plane);
    h_output(h, "y", y, F32(5, 7, 33), PLAIN);
    h_expect_launches(h, 1);
}

CASE(outer_product, 0)
{
    lfuse_value a = h_input(h, "a", F32(19, 1), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(23), PLAIN, NORMAL);
    h_output(h, "y", lfuse_mul(a, b), F32(19, 23), PLAIN);
}

CASE(misaligned, EXACT)
{
    lfuse_value a = h_input(h, "a", F32(1031), OFFSET, NORMAL);
    lfuse_value b = h_input(h, "b", F16(1031), OFFSET, NORMAL);
    h_output(h, "y", lfuse_add(a, lfuse_cast(b, LFUSE_F32)), F32(1031), OFFSET);
    h_expect_same_bits(h);
}

CASE(strided, EXACT)
{
    lfuse_value a = h_input(h, "a", F32(4, 9, 17), STRIDED, NORMAL);
    lfuse_value b = h_input(h, "b", F32(9, 17), PLAIN, NORMAL);
    h_output(h, "y", lfuse_mul(a, lfuse_sqrt(lfuse_abs(b))), F32(4, 9, 17), STRIDED);
    h_expect_same_bits(h);
}

CASE(transposed, 0)
{
    lfuse_value a = h_input(h, "a", F32(41, 29), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(29, 41), PLAIN, NORMAL);
    h_output(h, "y", lfuse_add(lfuse_transpose(a), b), F32(29, 41), PLAIN);
    h_expect_same_bits(h);
}

CASE(permuted, 0)
{
    static const int axes[3] = {2, 0, 1};
    lfuse_value a = h_input(h, "a", F16(6, 11, 5), PLAIN, NORMAL);
    h_output(h, "y", lfuse_permute(a, axes), F16(5, 6, 11), PLAIN);
    h_expect_same_bits(h);
}

CASE(repeated, 0)
{
    lfuse_value a = h_input(h, "a", F32(3, 1), PLAIN, NORMAL);
    h_output(h, "y", lfuse_broadcast_to(a, SHAPE(4, 3, 50)), F32(4, 3, 50), PLAIN);
    h_expect_same_bits(h);
}

CASE(numbers, EXACT)
{
    lfuse_value x = h_input(h, "x", F32(777), PLAIN, NORMAL);
    lfuse_value device = h_input(h, "device", LFUSE_F32, 0, NULL, PLAIN, NORMAL);
    lfuse_value rate = h_scalar(h, "rate", 0.125), step = h_scalar(h, "step", 7);
    lfuse_value correction = lfuse_sub(lfuse_constant(h_graph(h), 1), lfuse_pow(lfuse_constant(h_graph(h), 0.9), step));
    h_output(h, "y", lfuse_div(lfuse_mul(lfuse_mul(x, rate), device), correction), F32(777), PLAIN);
    h_expect_same_bits(h);
    h_expect_launches(h, 1);
}

CASE(rank_zero, 0)
{
    lfuse_value a = h_input(h, "a", LFUSE_F32, 0, NULL, PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", LFUSE_F32, 0, NULL, PLAIN, NORMAL);
    h_output(h, "y", lfuse_sub(a, b), LFUSE_F32, 0, NULL, PLAIN);
}

/* The one element of rank 0 is at 0, whatever it is. */
CASE(place_of_one, EXACT)
{
    const lfuse_value a = h_input(h, "a", LFUSE_F32, 0, NULL, PLAIN, NASTY);
    const lfuse_value i = h_input(h, "i", LFUSE_I32, 0, NULL, PLAIN, INTEGERS);
    h_output(h, "max", lfuse_argmax(a, LFUSE_ALL_AXES, NULL, 0), LFUSE_I64, 0, NULL, PLAIN);
    h_output(h, "min", lfuse_argmin(i, LFUSE_ALL_AXES, NULL, 1), LFUSE_I64, 0, NULL, PLAIN);
    h_output(h, "element", lfuse_amax(a, LFUSE_ALL_AXES, NULL, 0), LFUSE_F32, 0, NULL, PLAIN);
    h_output(h, "later", lfuse_add(lfuse_argmax(lfuse_neg(i), LFUSE_ALL_AXES, NULL, 0), lfuse_cast(i, LFUSE_I64)),
             LFUSE_I64, 0, NULL, PLAIN);
    h_expect_same_bits(h);
}

/* Numbers in the shape of truths, and truths in the shape of others. */
CASE(filled_truths, EXACT)
{
    const lfuse_value a = h_input(h, "a", F32(300), PLAIN, NORMAL);
    const lfuse_value b = h_input(h, "b", BOOL(300), PLAIN, INTEGERS);
    const lfuse_value one = h_input(h, "one", LFUSE_BOOL, 0, NULL, PLAIN, INTEGERS);
    const lfuse_value positive = lfuse_gt(a, lfuse_constant(h_graph(h), 0));
    const lfuse_value no = lfuse_full_like(b, lfuse_constant(h_graph(h), 0));
    const lfuse_value yes = lfuse_full_like(positive, lfuse_constant(h_graph(h), 1));
    h_output(h, "no", no, BOOL(300), PLAIN);
    h_output(h, "yes", yes, BOOL(300), PLAIN);
    h_output(h, "asked", lfuse_full_like(b, h_scalar(h, "s", 1)), BOOL(300), PLAIN);
    h_output(h, "read", lfuse_full_like(b, one), BOOL(300), PLAIN);
    h_output(h, "both", lfuse_logical_and(lfuse_logical_or(no, positive), yes), BOOL(300), PLAIN);
    h_expect_same_bits(h);
}

/* Choices that are numbers both are f32, or what one of them is cast to. */
CASE(chosen_numbers, EXACT)
{
    const lfuse_value a = h_input(h, "a", F32(300), PLAIN, NORMAL);
    const lfuse_value three = lfuse_constant(h_graph(h), 3), tenth = lfuse_constant(h_graph(h), -0.1);
    const lfuse_value seven = lfuse_constant(h_graph(h), -7);
    const lfuse_value positive = lfuse_gt(a, lfuse_constant(h_graph(h), 0)), s = h_scalar(h, "s", 1.0 / 3);
    h_output(h, "plain", lfuse_where(positive, three, tenth), F32(300), PLAIN);
    h_output(h, "scalar", lfuse_where(positive, tenth, s), F32(300), PLAIN);
    h_output(h, "whole", lfuse_where(positive, lfuse_cast(three, LFUSE_I32), seven), I32(300), PLAIN);
    h_expect_same_bits(h);
}

CASE(empty, 0)
{
    lfuse_value a = h_input(h, "a", F32(0, 16), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(3, 16), PLAIN, NORMAL);
    h_output(h, "none", lfuse_exp(a), F32(0, 16), PLAIN);
    h_output(h, "some", lfuse_exp(b), F32(3, 16), PLAIN);
}

CASE(mixed_shapes, 0)
{
    lfuse_value a = h_input(h, "a", F32(30, 20), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(20), PLAIN, NORMAL);
    lfuse_value small = lfuse_exp(lfuse_mul(b, lfuse_constant(h_graph(h), 0.5)));
    h_output(h, "small", small, F32(20), PLAIN);
    h_output(h, "large", lfuse_mul(a, small), F32(30, 20), PLAIN);
}

CASE(compare_and_select, EXACT)
{
    lfuse_value a = h_input(h, "a", F32(3000), PLAIN, NASTY);
    lfuse_value b = h_input(h, "b", F32(3000), PLAIN, NASTY);
    lfuse_value less = lfuse_lt(a, b);
    h_output(h, "less", less, BOOL(3000), PLAIN);
    h_output(h, "smaller", lfuse_where(less, a, b), F32(3000), PLAIN);
    h_output(h, "same", lfuse_eq(lfuse_ge(a, b), lfuse_ne(a, b)), BOOL(3000), PLAIN);
    h_output(h, "low", lfuse_min(a, b), F32(3000), PLAIN);
    h_output(h, "high", lfuse_max(a, b), F32(3000), PLAIN);
    h_output(h, "clamped", lfuse_clamp(a, lfuse_constant(h_graph(h), -1), lfuse_constant(h_graph(h), 2)), F32(3000),
             PLAIN);
    h_expect_same_bits(h);
}

CASE(casts, EXACT)
{
    static const lfuse_type types[] = {LFUSE_F16, LFUSE_BF16, LFUSE_I32, LFUSE_BOOL, LFUSE_F32, LFUSE_E4M3, LFUSE_E5M2};
    static const char *const names[] = {"half", "bhalf", "integer", "boolean", "same", "e4m3", "e5m2"};
    lfuse_value a = h_input(h, "a", F32(3000), PLAIN, NASTY);
    for (int i = 0; i < LENGTH(types); i++)
        h_output(h, names[i], lfuse_cast(a, types[i]), TYPED(types[i], 3000), PLAIN);
    h_output(h, "through", lfuse_cast(lfuse_cast(a, LFUSE_F16), LFUSE_F32), F32(3000), PLAIN);
    h_output(h, "saturated", lfuse_cast_saturated(a, LFUSE_E4M3), TYPED(LFUSE_E4M3, 3000), PLAIN);
    h_expect_same_bits(h);
}

CASE(casts_f64, 0)
{
    static const lfuse_type types[] = {LFUSE_F16, LFUSE_BF16, LFUSE_I32, LFUSE_F32, LFUSE_E4M3, LFUSE_E5M2};
    static const char *const names[] = {"half", "bhalf", "integer", "single", "e4m3", "e5m2"};
    lfuse_value a = h_input(h, "a", F64(3000), PLAIN, NASTY);
    for (int i = 0; i < LENGTH(types); i++)
        h_output(h, names[i], lfuse_cast(a, types[i]), TYPED(types[i], 3000), PLAIN);
    h_expect_same_bits(h);
}

CASE(exact_arithmetic, EXACT)
{
    lfuse_value a = h_input(h, "a", F32(20011), PLAIN, NASTY);
    lfuse_value b = h_input(h, "b", F32(20011), PLAIN, NASTY);
    h_output(h, "sum", lfuse_add(a, b), F32(20011), PLAIN);
    h_output(h, "difference", lfuse_sub(a, b), F32(20011), PLAIN);
    h_output(h, "product", lfuse_add(lfuse_mul(a, b), a), F32(20011), PLAIN);
    h_output(h, "quotient", lfuse_div(a, b), F32(20011), PLAIN);
    h_output(h, "root", lfuse_sqrt(lfuse_abs(a)), F32(20011), PLAIN);
    h_output(h, "fused", lfuse_fma(a, b, a), F32(20011), PLAIN);
    h_expect_same_bits(h);
}

/* Every function of the floating class, on data where it is defined. */
static void functions_of(harness *h, lfuse_type type)
{
    static const struct { const char *name; lfuse_value (*function)(lfuse_value); harness_data data; } rows[] = {
        {"neg", lfuse_neg, NORMAL},         {"abs", lfuse_abs, NORMAL},         {"sqrt", lfuse_sqrt, POSITIVE},
        {"rsqrt", lfuse_rsqrt, POSITIVE},   {"recip", lfuse_reciprocal, POSITIVE}, {"exp", lfuse_exp, NORMAL},
        {"expm1", lfuse_expm1, NORMAL},     {"log", lfuse_log, POSITIVE},       {"log1p", lfuse_log1p, POSITIVE},
        {"sin", lfuse_sin, NORMAL},         {"cos", lfuse_cos, NORMAL},         {"tanh", lfuse_tanh, NORMAL},
        {"erf", lfuse_erf, NORMAL},         {"sigmoid", lfuse_sigmoid, NORMAL}, {"relu", lfuse_relu, NORMAL},
        {"gelu", lfuse_gelu, NORMAL},       {"gelu_tanh", lfuse_gelu_tanh, NORMAL}, {"silu", lfuse_silu, NORMAL},
        {"softplus", lfuse_softplus, NORMAL}, {"floor", lfuse_floor, NORMAL},   {"ceil", lfuse_ceil, NORMAL},
        {"round", lfuse_round, NORMAL}};
    lfuse_value normal = h_input(h, "n", TYPED(type, 1500), PLAIN, NORMAL);
    lfuse_value positive = h_input(h, "p", TYPED(type, 1500), PLAIN, POSITIVE);
    for (int i = 0; i < 11; i++) {
        lfuse_value y = rows[2 * i].function(rows[2 * i].data == NORMAL ? normal : positive);
        lfuse_value z = rows[2 * i + 1].function(rows[2 * i + 1].data == NORMAL ? normal : positive);
        h_output(h, rows[2 * i].name, y, TYPED(type, 1500), PLAIN);
        h_output(h, rows[2 * i + 1].name, z, TYPED(type, 1500), PLAIN);
    }
}

CASE(functions_f32, 0) { functions_of(h, LFUSE_F32); }
CASE(functions_f64, 0) { functions_of(h, LFUSE_F64); }
CASE(functions_e4m3, 0) { functions_of(h, LFUSE_E4M3); }
CASE(functions_bf16, 0) { functions_of(h, LFUSE_BF16); }

CASE(more_functions, 0)
{
    lfuse_value a = h_input(h, "a", F32(2000), PLAIN, POSITIVE);
    lfuse_value b = h_input(h, "b", F32(2000), PLAIN, NORMAL);
    h_output(h, "power", lfuse_pow(a, b), F32(2000), PLAIN);
    h_output(h, "leaky", lfuse_leaky_relu(b, lfuse_constant(h_graph(h), 0.1)), F32(2000), PLAIN);
    h_output(h, "fma", lfuse_fma(a, b, a), F32(2000), PLAIN);
}

CASE(f16_all_values, 0)
{
    lfuse_value a = h_input(h, "a", F16(4096), PLAIN, NASTY);
    h_output(h, "y", lfuse_mul(lfuse_sigmoid(a), a), F16(4096), PLAIN);
}

/* ---- products ---- */

static void product_of(harness *h, lfuse_type type, int64_t m, int64_t k, int64_t n, harness_data data)
{
    lfuse_value a = h_input(h, "a", TYPED(type, m, k), PLAIN, data);
    lfuse_value b = h_input(h, "b", TYPED(type, k, n), PLAIN, data);
    h_output(h, "c", lfuse_matmul(a, b), TYPED(type, m, n), PLAIN);
}

CASE(product_f32, 0) { product_of(h, LFUSE_F32, 33, 65, 17, NORMAL); }
CASE(product_f64, 0) { product_of(h, LFUSE_F64, 20, 31, 40, NORMAL); }
CASE(product_f16, 0) { product_of(h, LFUSE_F16, 48, 64, 32, NORMAL); }
CASE(product_bf16, 0) { product_of(h, LFUSE_BF16, 48, 64, 32, NORMAL); }
CASE(product_e4m3, 0) { product_of(h, LFUSE_E4M3, 48, 64, 32, NORMAL); }
CASE(product_e5m2, 0) { product_of(h, LFUSE_E5M2, 33, 65, 17, NORMAL); }
CASE(product_exact, 0) { product_of(h, LFUSE_F32, 70, 96, 45, INTEGERS); }
CASE(product_row, 0) { product_of(h, LFUSE_F32, 1, 128, 64, NORMAL); }
CASE(product_no_rows, 0) { product_of(h, LFUSE_F32, 0, 8, 8, NORMAL); }
CASE(product_no_inner, 0) { product_of(h, LFUSE_F32, 5, 0, 7, NORMAL); }

CASE(product_transposed, 0)
{
    lfuse_value a = h_input(h, "a", F32(64, 31), PLAIN, INTEGERS);
    lfuse_value b = h_input(h, "b", F32(22, 64), PLAIN, INTEGERS);
    lfuse_value c = h_input(h, "c", F32(64, 22), PLAIN, INTEGERS);
    h_output(h, "tt", lfuse_matmul(lfuse_transpose(a), lfuse_transpose(b)), F32(31, 22), PLAIN);
    h_output(h, "tn", lfuse_matmul(lfuse_transpose(a), c), F32(31, 22), PLAIN);
    h_output(h, "nt", lfuse_matmul(b, a), F32(22, 31), PLAIN);
    h_output(h, "nt2", lfuse_matmul(lfuse_transpose(c), lfuse_transpose(lfuse_transpose(a))), F32(22, 31), PLAIN);
    h_expect_same_bits(h);
}

CASE(product_strided, 0)
{
    lfuse_value a = h_input(h, "a", F32(18, 40), STRIDED, INTEGERS);
    lfuse_value b = h_input(h, "b", F32(40, 26), OFFSET, INTEGERS);
    h_output(h, "c", lfuse_matmul(a, b), F32(18, 26), STRIDED);
    h_expect_same_bits(h);
}

static void dense_of(harness *h, lfuse_type type, lfuse_value (*activation)(lfuse_value))
{
    lfuse_value x = h_input(h, "x", TYPED(type, 24, 48), PLAIN, NORMAL);
    lfuse_value w = h_input(h, "w", TYPED(type, 48, 40), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", TYPED(type, 40), PLAIN, NORMAL);
    h_output(h, "y", activation(lfuse_add(lfuse_matmul(x, w), b)), TYPED(type, 24, 40), PLAIN);
}

CASE(dense_relu, 0) { dense_of(h, LFUSE_F32, lfuse_relu); }
CASE(dense_gelu_tanh, 0) { dense_of(h, LFUSE_F32, lfuse_gelu_tanh); }
CASE(dense_tanh, 0) { dense_of(h, LFUSE_F32, lfuse_tanh); }
CASE(dense_f16, 0) { dense_of(h, LFUSE_F16, lfuse_relu); }
CASE(dense_bf16, 0) { dense_of(h, LFUSE_BF16, lfuse_gelu_tanh); }

CASE(dense_e4m3, 0) { dense_of(h, LFUSE_E4M3, lfuse_relu); }

CASE(dense_exact, EXACT)
{
    lfuse_value x = h_input(h, "x", F32(30, 56), PLAIN, INTEGERS);
    lfuse_value w = h_input(h, "w", F32(56, 24), PLAIN, INTEGERS);
    lfuse_value b = h_input(h, "b", F32(24), PLAIN, INTEGERS);
    h_output(h, "y", lfuse_relu(lfuse_add(lfuse_matmul(x, w), b)), F32(30, 24), PLAIN);
    h_expect_same_bits(h);
}

CASE(network, 0)
{
    lfuse_size batch = h_size(h, "batch", 1, 64, 13);
    lfuse_value x = h_input(h, "x", F32(batch, 32), PLAIN, NORMAL);
    lfuse_value w0 = h_frozen(h, "w0", F32(32, 48), NORMAL);
    lfuse_value b0 = h_frozen(h, "b0", F32(48), NORMAL);
    lfuse_value w1 = h_frozen(h, "w1", F32(48, 10), NORMAL);
    lfuse_value b1 = h_frozen(h, "b1", F32(10), NORMAL);
    lfuse_value hidden = lfuse_relu(lfuse_add(lfuse_matmul(x, w0), b0));
    h_output(h, "y", lfuse_add(lfuse_matmul(hidden, w1), b1), F32(batch, 10), PLAIN);
}

CASE(frozen_arithmetic, 0)
{
    lfuse_value x = h_input(h, "x", F32(9, 20), PLAIN, NORMAL);
    lfuse_value w = h_frozen(h, "w", F32(20), POSITIVE);
    lfuse_value prepared = lfuse_log(lfuse_mul(w, lfuse_constant(h_graph(h), 3)));
    h_output(h, "y", lfuse_add(x, prepared), F32(9, 20), PLAIN);
}

/* ---- sums ---- */

static void row_sum_of(harness *h, lfuse_type type, int64_t rows, int64_t length, harness_layout layout)
{
    static const int last[1] = {-1};
    lfuse_value x = h_input(h, "x", TYPED(type, rows, length), layout, NORMAL);
    h_output(h, "y", lfuse_sum(x, 1, last, 0), TYPED(type, rows), PLAIN);
    h_expect_same_bits(h);
    if (length <= 16384) h_expect_launches(h, rows ? 1 : 0); /* longer ones by segments, where rows are few */
}

CASE(row_sum, EXACT) { row_sum_of(h, LFUSE_F32, 37, 1000, PLAIN); }
CASE(row_sum_short, EXACT) { row_sum_of(h, LFUSE_F32, 300, 3, PLAIN); }
CASE(row_sum_long, EXACT) { row_sum_of(h, LFUSE_F32, 3, 70001, PLAIN); }
CASE(row_sum_one, 0) { row_sum_of(h, LFUSE_F32, 5, 1, PLAIN); }
CASE(row_sum_none, 0) { row_sum_of(h, LFUSE_F32, 5, 0, PLAIN); }
CASE(row_sum_f16, EXACT) { row_sum_of(h, LFUSE_F16, 11, 2050, PLAIN); }
CASE(row_sum_f64, 0) { row_sum_of(h, LFUSE_F64, 7, 1500, PLAIN); }
CASE(row_sum_offset, 0) { row_sum_of(h, LFUSE_F32, 6, 1027, OFFSET); }
CASE(row_sum_strided, EXACT) { row_sum_of(h, LFUSE_F32, 6, 130, STRIDED); }

/* Few long rows: their sweeps are steps, each shared by many groups. */
CASE(few_long_rows, 0)
{
    static const int last[1] = {-1};
    lfuse_value x = h_input(h, "x", F32(2, 40001), PLAIN, NORMAL);
    h_output(h, "y", lfuse_softmax(x, 1, last), F32(2, 40001), PLAIN);
}

/* Sums that no launch takes by itself, some beside a small one: they share none. */
CASE(long_sums_of_one_level, EXACT)
{
    static const int64_t lengths[] = {70001, 200000, 300, 65000};
    static const int first[1] = {0};
    char names[2][4];
    for (int i = 0; i < 4; i++) {
        snprintf(names[0], sizeof *names, "x%d", i);
        snprintf(names[1], sizeof *names, "y%d", i);
        const lfuse_value x = h_input(h, names[0], F32(lengths[i]), PLAIN, NORMAL);
        h_output(h, names[1], lfuse_sum(x, 1, first, 0), LFUSE_F32, 0, NULL, PLAIN);
    }
    h_expect_same_bits(h);
}

CASE(few_long_columns, EXACT)
{
    static const int first[1] = {0};
    lfuse_value x = h_input(h, "x", F32(40001, 3), PLAIN, NORMAL);
    h_output(h, "y", lfuse_sub(x, lfuse_amax(x, 1, first, 1)), F32(40001, 3), PLAIN);
    h_expect_same_bits(h);
}

CASE(norm_of_everything, EXACT)
{
    static const int both[2] = {0, 1};
    lfuse_value x = h_input(h, "x", F32(300, 401), PLAIN, NORMAL);
    lfuse_value n = lfuse_sqrt(lfuse_sum(lfuse_mul(x, x), 2, both, 0));
    h_output(h, "n", n, LFUSE_F32, 0, NULL, PLAIN);
    h_output(h, "y", lfuse_div(x, n), F32(300, 401), PLAIN);
    h_expect_same_bits(h);
}

CASE(sum_of_squares, EXACT)
{
    static const int both[2] = {1, 2};
    lfuse_value x = h_input(h, "x", F32(4, 30, 70), PLAIN, NORMAL);
    h_output(h, "y", lfuse_sum(lfuse_mul(x, x), 2, both, 1), F32(4, 1, 1), PLAIN);
    h_expect_same_bits(h);
}

CASE(centred, EXACT)
{
    static const int last[1] = {1};
    lfuse_value x = h_input(h, "x", F32(12, 200), PLAIN, NORMAL);
    lfuse_value mean = lfuse_mul(lfuse_sum(x, 1, last, 1), lfuse_constant(h_graph(h), 1 / 200.0));
    h_output(h, "y", lfuse_sub(x, mean), F32(12, 200), PLAIN);
    h_expect_same_bits(h);
}

/* ---- lists and updates ---- */

static const int64_t members[] = {1, 1024, 0, 7, 4097, 33, 20000, 1023, 5};

CASE(list_pointwise, EXACT)
{
    lfuse_value a = h_list(h, "a", LFUSE_F32, LENGTH(members), members, NORMAL);
    lfuse_value b = h_list(h, "b", LFUSE_F32, LENGTH(members), members, NORMAL);
    lfuse_value y = lfuse_add(lfuse_mul(a, b), lfuse_constant(h_graph(h), 2));
    h_list_output(h, "y", y, LFUSE_F32, LENGTH(members), members);
    h_expect_same_bits(h);
    h_expect_launches(h, 1);
}

CASE(list_sums, EXACT)
{
    static const int64_t ones[LENGTH(members)] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    lfuse_value a = h_list(h, "a", LFUSE_F32, LENGTH(members), members, NORMAL);
    h_list_output(h, "y", lfuse_member_sum(lfuse_mul(a, a)), LFUSE_F32, LENGTH(members), ones);
    h_expect_same_bits(h);
    h_expect_launches(h, 2);
}

CASE(sgd, EXACT)
{
    lfuse_value p = h_list(h, "p", LFUSE_F32, LENGTH(members), members, NORMAL);
    lfuse_value g = h_list(h, "g", LFUSE_F32, LENGTH(members), members, NORMAL);
    h_update(h, p, lfuse_sub(p, lfuse_mul(g, h_scalar(h, "rate", 0.01))));
    h_expect_same_bits(h);
    h_expect_launches(h, 1);
}

CASE(update_input, 0)
{
    lfuse_value x = h_input(h, "x", F32(31, 17), PLAIN, NORMAL);
    h_output(h, "before", lfuse_mul(x, lfuse_constant(h_graph(h), 2)), F32(31, 17), PLAIN);
    h_update(h, x, lfuse_add(x, lfuse_constant(h_graph(h), 1)));
    h_expect_same_bits(h);
}

/* The updated element is read at another index: the old contents must be seen. */
CASE(update_crosswise, 0)
{
    lfuse_value x = h_input(h, "x", F32(23, 23), PLAIN, NORMAL);
    h_update(h, x, lfuse_add(x, lfuse_transpose(x)));
    h_expect_same_bits(h);
}

CASE(swap, 0)
{
    lfuse_value a = h_input(h, "a", F32(500), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(500), PLAIN, NORMAL);
    h_update(h, a, lfuse_mul(b, lfuse_constant(h_graph(h), 1)));
    h_update(h, b, lfuse_mul(a, lfuse_constant(h_graph(h), 1)));
    h_expect_same_bits(h);
}
