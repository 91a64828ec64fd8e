/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, and the row work around them. */
#include <stdio.h>

#include "tests/cases/cases.h"
#include "tests/support/reductions.h"

static const int last[1] = {-1};

static lfuse_value rows(harness *h, const char *name, int64_t m, int64_t n)
{
    return h_input(h, name, F32(m, n), PLAIN, NORMAL);
}

static lfuse_value near_one(harness *h, lfuse_value v)
{
    return lfuse_clamp(v, lfuse_constant(h_graph(h), 0.75), lfuse_constant(h_graph(h), 1.25));
}

/* ---- every kind over every set of axes ---- */

static void kinds_over(harness *h, unsigned set)
{
    static const int64_t extents[3] = {5, 6, 37};
    lfuse_value x = h_input(h, "x", LFUSE_F32, 3, extents, PLAIN, NORMAL);
    lfuse_size shape[3];
    int axes[3], count = 0, rank = 0;
    for (int i = 0; i < 3; i++)
        if (set >> i & 1) axes[count++] = i;
        else shape[rank++] = extents[i];
    h_output(h, "sum", lfuse_sum(x, count, axes, 0), LFUSE_F32, rank, shape, PLAIN);
    h_output(h, "prod", lfuse_prod(near_one(h, x), count, axes, 0), LFUSE_F32, rank, shape, PLAIN);
    h_output(h, "max", lfuse_amax(x, count, axes, 0), LFUSE_F32, rank, shape, PLAIN);
    h_output(h, "min", lfuse_amin(x, count, axes, 0), LFUSE_F32, rank, shape, PLAIN);
    if (count == 1 || count == 3) {
        h_output(h, "argmax", lfuse_argmax(x, count, axes, 0), LFUSE_I64, rank, shape, PLAIN);
        h_output(h, "argmin", lfuse_argmin(x, count, axes, 0), LFUSE_I64, rank, shape, PLAIN);
    }
    h_output(h, "any", lfuse_any(lfuse_gt(x, lfuse_constant(h_graph(h), 2.5)), count, axes, 0), LFUSE_BOOL, rank,
             shape, PLAIN);
    h_output(h, "all", lfuse_all(lfuse_gt(x, lfuse_constant(h_graph(h), -2)), count, axes, 0), LFUSE_BOOL, rank, shape,
             PLAIN);
    h_output(h, "mean", lfuse_mean(x, count, axes, 0), LFUSE_F32, rank, shape, PLAIN);
    h_output(h, "var", lfuse_var(x, count, axes, 1, 0), LFUSE_F32, rank, shape, PLAIN);
    h_output(h, "l2", lfuse_norm_l2(x, count, axes, 0), LFUSE_F32, rank, shape, PLAIN);
    h_expect_same_bits(h);
}

CASE(kinds_over_0, EXACT) { kinds_over(h, 1); }
CASE(kinds_over_1, 0) { kinds_over(h, 2); }
CASE(kinds_over_01, 0) { kinds_over(h, 3); }
CASE(kinds_over_2, EXACT | EVERY_WAY) { kinds_over(h, 4); }
CASE(kinds_over_02, EXACT) { kinds_over(h, 5); }
CASE(kinds_over_12, 0) { kinds_over(h, 6); }
CASE(kinds_over_all, EXACT) { kinds_over(h, 7); }

/* A row of reductions.def, over the last axis: what it takes and gives as the head of that file says. */
static void reduce_by(harness *h, lfuse__reduction_name row, int at, lfuse_value x, lfuse_type type)
{
    const struct reduction_function *f = &reduction_functions[row];
    const lfuse__reduction_types types = lfuse__reductions[row].types;
    const double number = reduction_numbers[at];
    const bool floating = lfuse__is_floating(type);
    lfuse_type result = type;
    char name[32];
    switch (types) {
    case LFUSE__REDUCES_NUMBERS: result = floating ? type : LFUSE_I64; break;
    case LFUSE__REDUCES_INDEX: result = LFUSE_I64; /* fall through */
    case LFUSE__REDUCES_SAME:
        if (type == LFUSE_BOOL) return;
        break;
    case LFUSE__REDUCES_TRUTH: result = LFUSE_BOOL; break;
    case LFUSE__REDUCES_COUNT: result = LFUSE_I64; break;
    case LFUSE__REDUCES_FLOATING:
        if (!floating) return;
        break;
    }
    snprintf(name, sizeof name, f->numbers > 1 ? "%s %g" : "%s", f->name, number);
    if (floating && lfuse__reductions[row].fold(number) == LFUSE__REDUCE_PROD) x = near_one(h, x);
    if (types == LFUSE__REDUCES_NUMBERS)
        h_output(h, name, f->make(x, 1, last, number, 1), result, SHAPE(9, 1), PLAIN);
    else h_output(h, name, f->make(x, 1, last, number, 0), result, SHAPE(9), PLAIN);
}

static void kinds_of(harness *h, lfuse_type type)
{
    lfuse_value x = h_input(h, "x", TYPED(type, 9, 150), PLAIN,
                            type == LFUSE_F32 || !lfuse__is_floating(type) ? NORMAL : POSITIVE);
    for (int i = 0; i < LFUSE__REDUCTION_COUNT; i++)
        if (reduction_functions[i].numbers == 1) reduce_by(h, (lfuse__reduction_name)i, 0, x, type);
    if (type == LFUSE_BOOL) return;
    h_output(h, "first", lfuse_amin(x, 1, (const int[]){0}, 0), TYPED(type, 150), PLAIN);
    h_expect_same_bits(h);
}

CASE(kinds_of_f32, EXACT) { kinds_of(h, LFUSE_F32); }
CASE(kinds_of_f16, 0) { kinds_of(h, LFUSE_F16); }
CASE(kinds_of_e5m2, EXACT) { kinds_of(h, LFUSE_E5M2); }
CASE(kinds_of_bf16, EXACT) { kinds_of(h, LFUSE_BF16); }
CASE(kinds_of_f64, 0) { kinds_of(h, LFUSE_F64); }
CASE(kinds_of_i8, 0) { kinds_of(h, LFUSE_I8); }
CASE(kinds_of_u8, 0) { kinds_of(h, LFUSE_U8); }
CASE(kinds_of_i32, EXACT) { kinds_of(h, LFUSE_I32); }
CASE(kinds_of_i64, 0) { kinds_of(h, LFUSE_I64); }
CASE(kinds_of_bool, 0) { kinds_of(h, LFUSE_BOOL); }

/* Reductions with a number: of powers, which have other bits on other devices. */
static void numbers_of(harness *h, lfuse_type type)
{
    lfuse_value x = h_input(h, "x", TYPED(type, 9, 150), PLAIN, type == LFUSE_F32 ? NORMAL : POSITIVE);
    for (int i = 0; i < LFUSE__REDUCTION_COUNT; i++)
        for (int at = 0; at < reduction_functions[i].numbers && reduction_functions[i].numbers > 1; at++)
            reduce_by(h, (lfuse__reduction_name)i, at, x, type);
}

CASE(numbers_of_f32, 0) { numbers_of(h, LFUSE_F32); }
CASE(numbers_of_f16, 0) { numbers_of(h, LFUSE_F16); }
CASE(numbers_of_bf16, 0) { numbers_of(h, LFUSE_BF16); }
CASE(numbers_of_f64, 0) { numbers_of(h, LFUSE_F64); }

CASE(nasty_rows, EXACT)
{
    lfuse_value x = h_input(h, "x", F32(200, 7), PLAIN, NASTY);
    h_output(h, "sum", lfuse_sum(x, 1, last, 0), F32(200), PLAIN);
    h_output(h, "nansum", lfuse_nansum(x, 1, last, 0), F32(200), PLAIN);
    h_output(h, "nonzero", lfuse_count_nonzero(x, 1, last, 0), I64(200), PLAIN);
    h_output(h, "max", lfuse_amax(x, 1, last, 0), F32(200), PLAIN);
    h_output(h, "min", lfuse_amin(x, 1, last, 0), F32(200), PLAIN);
    h_output(h, "argmax", lfuse_argmax(x, 1, last, 0), I64(200), PLAIN);
    h_expect_same_bits(h);
}

CASE(no_elements, 0)
{
    lfuse_value x = rows(h, "x", 6, 0);
    h_output(h, "sum", lfuse_sum(x, 1, last, 0), F32(6), PLAIN);
    h_output(h, "prod", lfuse_prod(x, 1, last, 0), F32(6), PLAIN);
    h_output(h, "all", lfuse_all(x, 1, last, 0), BOOL(6), PLAIN);
    h_output(h, "mean", lfuse_mean(x, 1, last, 0), F32(6), PLAIN);
    h_output(h, "nonzero", lfuse_count_nonzero(x, 1, last, 0), I64(6), PLAIN);
    h_output(h, "norm", lfuse_norm(x, 1, last, 3, 0), F32(6), PLAIN);
    h_output(h, "columns", lfuse_sum(x, 1, (const int[]){0}, 0), F32(0), PLAIN);
}

/* ---- lengths: each its own form of kernel ---- */

static void sums_of(harness *h, int64_t m, int64_t n, int axis)
{
    lfuse_value x = rows(h, "x", m, n);
    const lfuse_size kept = axis ? m : n;
    h_output(h, "sum", lfuse_sum(lfuse_mul(x, x), 1, &axis, 0), LFUSE_F32, 1, &kept, PLAIN);
    h_output(h, "max", lfuse_argmax(x, 1, &axis, 0), LFUSE_I64, 1, &kept, PLAIN);
    h_expect_same_bits(h);
}

CASE(short_rows, EXACT) { sums_of(h, 700, 5, 1); }
CASE(rows_of_32, 0) { sums_of(h, 65, 32, 1); }
CASE(rows_of_1000, EXACT) { sums_of(h, 33, 1000, 1); }
CASE(rows_of_1024, 0) { sums_of(h, 4, 1024, 1); }
CASE(rows_of_1025, 0) { sums_of(h, 4, 1025, 1); }
CASE(rows_of_5000, EXACT) { sums_of(h, 5, 5000, 1); }
CASE(rows_of_20000, EXACT) { sums_of(h, 3, 20000, 1); }
CASE(row_of_150001, EXACT) { sums_of(h, 1, 150001, 1); }
CASE(columns, EXACT) { sums_of(h, 300, 41, 0); }
CASE(tall_columns, EXACT) { sums_of(h, 5000, 3, 0); }

static void softmax_of(harness *h, lfuse_type type, int64_t m, int64_t n, harness_layout layout)
{
    lfuse_value x = h_input(h, "x", TYPED(type, m, n), layout, NORMAL);
    h_output(h, "y", lfuse_softmax(x, 1, last), TYPED(type, m, n), layout);
    h_output(h, "log", lfuse_log_softmax(x, 1, last), TYPED(type, m, n), PLAIN);
    h_output(h, "sum", lfuse_logsumexp(x, 1, last, 0), TYPED(type, m), PLAIN);
}

CASE(softmax_1, 0) { softmax_of(h, LFUSE_F32, 5, 1, PLAIN); }
CASE(softmax_7, 0) { softmax_of(h, LFUSE_F32, 90, 7, OFFSET); }
CASE(softmax_100, 0) { softmax_of(h, LFUSE_F32, 17, 100, STRIDED); }
CASE(softmax_1000, EVERY_WAY) { softmax_of(h, LFUSE_F32, 9, 1000, PLAIN); }
CASE(softmax_4097, 0) { softmax_of(h, LFUSE_F32, 3, 4097, OFFSET); }
CASE(softmax_30000, 0) { softmax_of(h, LFUSE_F32, 2, 30000, PLAIN); }
CASE(softmax_f16, 0) { softmax_of(h, LFUSE_F16, 12, 258, PLAIN); }
CASE(softmax_e4m3, 0) { softmax_of(h, LFUSE_E4M3, 12, 258, PLAIN); }
CASE(softmax_bf16, 0) { softmax_of(h, LFUSE_BF16, 12, 258, PLAIN); }
CASE(softmax_f64, 0) { softmax_of(h, LFUSE_F64, 6, 77, PLAIN); }

CASE(softmax_axes, 0)
{
    lfuse_value x = h_input(h, "x", F32(6, 9, 14), PLAIN, NORMAL);
    h_output(h, "first", lfuse_softmax(x, 1, (const int[]){0}), F32(6, 9, 14), PLAIN);
    h_output(h, "outer", lfuse_softmax(x, 2, (const int[]){0, 2}), F32(6, 9, 14), PLAIN);
    h_output(h, "all", lfuse_softmax(x, LFUSE_ALL_AXES, NULL), F32(6, 9, 14), PLAIN);
}

/* ---- one kernel where others launch several ---- */

CASE(masked_softmax, EVERY_WAY)
{
    lfuse_value x = rows(h, "x", 60, 90), mask = rows(h, "mask", 60, 90);
    lfuse_value scaled = lfuse_add(lfuse_mul(x, h_scalar(h, "scale", 0.125)), mask);
    h_output(h, "y", lfuse_softmax(scaled, 1, last), F32(60, 90), PLAIN);
    h_expect_launches(h, 1);
}

CASE(layernorm_tanh_dot_relu, EVERY_WAY)
{
    lfuse_value x = rows(h, "x", 50, 300), w = h_input(h, "w", F32(300), PLAIN, NORMAL);
    lfuse_value y = lfuse_tanh(lfuse_layernorm(x, 1, lfuse_none(), lfuse_none(), 1e-5));
    h_output(h, "y", lfuse_relu(lfuse_sum(lfuse_mul(y, w), 1, last, 0)), F32(50), PLAIN);
    h_expect_launches(h, 1);
}

CASE(two_norms, EXACT)
{
    lfuse_value x = rows(h, "x", 70, 130);
    h_output(h, "l1", lfuse_norm_l1(x, 1, last, 0), F32(70), PLAIN);
    h_output(h, "l2", lfuse_norm_l2(x, 1, last, 0), F32(70), PLAIN);
    h_expect_same_bits(h);
    h_expect_launches(h, 1);
}

/* Reductions at ten places of a long body: names of registers are no words of the dialect, as u32 is. */
static void reductions_far_on(harness *h, int chain)
{
    static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    lfuse_value x = rows(h, "x", 9, 150), y = x;
    for (int i = 0; i < chain; i++) y = lfuse_abs(lfuse_sub(y, x));
    for (int i = 0; i < LENGTH(names); i++) {
        y = lfuse_sub(y, x);
        h_output(h, names[i], lfuse_amax(y, 1, last, 0), F32(9), PLAIN);
    }
    h_expect_same_bits(h);
    h_expect_launches(h, 1);
}

CASE(reductions_at_even_registers, 0) { reductions_far_on(h, 10); }
CASE(reductions_at_odd_registers, 0) { reductions_far_on(h, 11); }

/* ---- normalisations ---- */

static void layernorm_of(harness *h, lfuse_type type, int64_t m, int64_t n)
{
    lfuse_value x = h_input(h, "x", TYPED(type, m, n), PLAIN, NORMAL);
    lfuse_value w = h_input(h, "w", TYPED(type, n), PLAIN, NORMAL);
    lfuse_value b = h_frozen(h, "b", TYPED(type, n), NORMAL);
    h_output(h, "y", lfuse_layernorm(x, 1, w, b, 1e-5), TYPED(type, m, n), PLAIN);
    h_expect_same_bits(h);
    h_expect_launches(h, 1);
}

CASE(layernorm, EXACT | EVERY_WAY) { layernorm_of(h, LFUSE_F32, 40, 256); }
CASE(layernorm_1023, EXACT) { layernorm_of(h, LFUSE_F32, 7, 1023); }
CASE(layernorm_3000, EXACT) { layernorm_of(h, LFUSE_F32, 5, 3000); }
CASE(layernorm_f64, 0) { layernorm_of(h, LFUSE_F64, 5, 200); }
CASE(layernorm_f16, 0)
{
    lfuse_value x = h_input(h, "x", F16(20, 96), PLAIN, NORMAL);
    h_output(h, "y", lfuse_layernorm(x, 1, lfuse_none(), lfuse_none(), 1e-5), F16(20, 96), PLAIN);
    h_expect_launches(h, 1);
}

CASE(rmsnorm, EXACT)
{
    lfuse_value x = h_input(h, "x", F32(4, 9, 80), PLAIN, NORMAL);
    lfuse_value w = h_input(h, "w", F32(9, 80), PLAIN, NORMAL);
    h_output(h, "y", lfuse_rmsnorm(x, 2, w, 1e-6), F32(4, 9, 80), PLAIN);
    h_expect_same_bits(h);
    h_expect_launches(h, 1);
}

/* What follows is of the shape that the caller knows, the rows are of another one. */
CASE(groupnorm_then_work, EXACT | EVERY_WAY)
{
    lfuse_value x = h_input(h, "x", F32(3, 8, 5, 7), PLAIN, NORMAL);
    lfuse_value r = h_input(h, "r", F32(3, 8, 5, 7), STRIDED, NORMAL);
    lfuse_value w = h_input(h, "w", F32(8), PLAIN, NORMAL);
    lfuse_value s = h_input(h, "s", F32(8, 1, 7), PLAIN, NORMAL);
    lfuse_value y = lfuse_add(lfuse_groupnorm(x, 4, w, lfuse_none(), 1e-5), r);
    h_output(h, "y", lfuse_relu(lfuse_mul(y, s)), F32(3, 8, 5, 7), PLAIN);
    h_expect_launches(h, 1);
}

CASE(groupnorm, EXACT)
{
    lfuse_value x = h_input(h, "x", F32(3, 8, 5, 7), PLAIN, NORMAL);
    lfuse_value w = h_input(h, "w", F32(8), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(8), PLAIN, NORMAL);
    h_output(h, "y", lfuse_groupnorm(x, 4, w, b, 1e-5), F32(3, 8, 5, 7), PLAIN);
    h_expect_same_bits(h);
}

CASE(l2_normalize, 0)
{
    lfuse_value x = rows(h, "x", 31, 64);
    h_output(h, "rows", lfuse_l2_normalize(x, 1, last, 1e-12), F32(31, 64), PLAIN);
    h_output(h, "columns", lfuse_l2_normalize(x, 1, (const int[]){0}, 1e-12), F32(31, 64), PLAIN);
    h_expect_same_bits(h);
}

CASE(residual_layernorm, EVERY_WAY)
{
    lfuse_value x = rows(h, "x", 25, 200), r = rows(h, "r", 25, 200);
    lfuse_value sum = lfuse_add(x, r);
    h_output(h, "sum", sum, F32(25, 200), PLAIN);
    h_output(h, "y", lfuse_gelu(lfuse_layernorm(sum, 1, lfuse_none(), lfuse_none(), 1e-5)), F32(25, 200), PLAIN);
    h_expect_launches(h, 1);
}

CASE(rows_of_sizes, 0)
{
    lfuse_size m = h_size(h, "m", 0, 4096, 13), n = h_size(h, "n", 1, 100000, 1500);
    lfuse_value x = h_input(h, "x", F32(m, n), PLAIN, NORMAL);
    h_output(h, "y", lfuse_sub(x, lfuse_mean(x, 1, last, 1)), F32(m, n), PLAIN);
    h_output(h, "softmax", lfuse_softmax(x, 1, last), F32(m, n), PLAIN);
}

CASE(rows_in_place, EVERY_WAY)
{
    lfuse_value x = rows(h, "x", 22, 140);
    h_update(h, x, lfuse_sub(x, lfuse_mean(x, 1, last, 1)));
    h_expect_same_bits(h);
}

/* The update is read along the columns, the mean along the rows. */
CASE(rows_and_columns_in_place, 0)
{
    lfuse_value x = rows(h, "x", 24, 24);
    h_update(h, x, lfuse_sub(x, lfuse_mean(lfuse_transpose(x), 1, last, 1)));
    h_output(h, "columns", lfuse_mean(x, 1, (const int[]){0}, 0), F32(24), PLAIN);
    h_expect_same_bits(h);
}

/* A row result that other rows need: two kernels, whatever is fused. */
CASE(twice_reduced, EVERY_WAY)
{
    lfuse_value x = rows(h, "x", 30, 45);
    lfuse_value mean = lfuse_mean(x, 1, last, 1), centred = lfuse_sub(x, mean);
    h_output(h, "y", lfuse_mul(centred, lfuse_amax(lfuse_abs(centred), 1, (const int[]){0}, 1)), F32(30, 45), PLAIN);
    h_output(h, "spread", lfuse_var(lfuse_squeeze(mean, 1), LFUSE_ALL_AXES, NULL, 0, 0), LFUSE_F32, 0, NULL, PLAIN);
    h_expect_same_bits(h);
}
