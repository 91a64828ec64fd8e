/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients, and gradients of these, of every family of functions but the pointwise operators. */
#include "libfuse.h"
#include "tests/support/main.h"
#include "tests/tape/subject.h"

static const int first[] = {0}, last[] = {-1}, both[] = {0, 1}, outer[] = {0, 2};

/* ---- reductions ---- */

static lfuse_value sum_of_rows(subject *f) { return lfuse_sum(INPUT(f, DISTINCT, 3, 4), 1, last, 0); }
static lfuse_value sum_of_all(subject *f) { return lfuse_sum(INPUT(f, DISTINCT, 3, 4), 2, both, 0); }
static lfuse_value sum_of_outer(subject *f) { return lfuse_sum(INPUT(f, DISTINCT, 2, 3, 2), 2, outer, 1); }
static lfuse_value sum_of_sums(subject *f)
{
    return lfuse_sum(lfuse_sum(INPUT(f, DISTINCT, 2, 3, 2), 2, outer, 0), 1, first, 1);
}
static lfuse_value mean_of_norms(subject *f)
{
    return lfuse_mean(lfuse_norm_l2(INPUT(f, DISTINCT, 2, 3, 2), 2, outer, 0), 1, first, 1);
}
static lfuse_value nansum(subject *f) { return lfuse_nansum(INPUT(f, DISTINCT, 3, 4), 1, first, 0); }
static lfuse_value mean(subject *f) { return lfuse_mean(INPUT(f, DISTINCT, 3, 4), 1, first, 0); }
static lfuse_value prod(subject *f) { return lfuse_prod(INPUT(f, DISTINCT, 3, 4), 1, last, 0); }
static lfuse_value prod_of_all(subject *f) { return lfuse_prod(INPUT(f, POSITIVE, 2, 3), 2, both, 1); }
static lfuse_value amax(subject *f) { return lfuse_amax(INPUT(f, DISTINCT, 3, 5), 1, last, 0); }
static lfuse_value amin(subject *f) { return lfuse_amin(INPUT(f, DISTINCT, 2, 3, 4), 2, outer, 1); }
static lfuse_value var(subject *f) { return lfuse_var(INPUT(f, DISTINCT, 3, 5), 1, last, 1, 0); }
static lfuse_value var_of_population(subject *f) { return lfuse_var(INPUT(f, DISTINCT, 3, 5), 2, both, 0, 1); }
static lfuse_value norm_l1(subject *f) { return lfuse_norm_l1(INPUT(f, DISTINCT, 3, 5), 1, last, 0); }
static lfuse_value norm_l2(subject *f) { return lfuse_norm_l2(INPUT(f, DISTINCT, 3, 5), 1, last, 1); }
static lfuse_value norm_inf(subject *f) { return lfuse_norm_inf(INPUT(f, DISTINCT, 3, 5), 1, last, 0); }
static lfuse_value norm_3(subject *f) { return lfuse_norm(INPUT(f, DISTINCT, 3, 5), 1, last, 3, 0); }
static lfuse_value norm_half(subject *f) { return lfuse_norm(INPUT(f, DISTINCT, 3, 5), 1, last, 0.5, 0); }
static lfuse_value norm_minus_1(subject *f) { return lfuse_norm(INPUT(f, DISTINCT, 3, 5), 1, last, -1, 0); }
static lfuse_value norm_least(subject *f)
{
    return lfuse_norm(INPUT(f, DISTINCT, 3, 5), 1, last, -(double)INFINITY, 0);
}
static lfuse_value norm_2(subject *f) { return lfuse_norm(INPUT(f, DISTINCT, 6), 1, first, 2, 0); }
static lfuse_value logsumexp(subject *f) { return lfuse_logsumexp(INPUT(f, DISTINCT, 3, 5), 1, last, 0); }
static lfuse_value logsumexp_of_columns(subject *f) { return lfuse_logsumexp(INPUT(f, DISTINCT, 3, 5), 1, first, 1); }

/* ---- scans ---- */

static lfuse_value cumsum(subject *f) { return lfuse_cumsum(INPUT(f, DISTINCT, 2, 7), 1); }
static lfuse_value cumsum_of_columns(subject *f) { return lfuse_cumsum(INPUT(f, DISTINCT, 5, 2), 0); }
static lfuse_value cumprod(subject *f) { return lfuse_cumprod(INPUT(f, DISTINCT, 2, 6), 1); }
static lfuse_value cummax(subject *f) { return lfuse_cummax(INPUT(f, DISTINCT, 2, 7), 1); }
static lfuse_value cummin(subject *f) { return lfuse_cummin(INPUT(f, DISTINCT, 7, 2), 0); }
static lfuse_value logcumsumexp(subject *f) { return lfuse_logcumsumexp(INPUT(f, DISTINCT, 2, 6), 1); }

/* ---- norms ---- */

static lfuse_value softmax(subject *f) { return lfuse_softmax(INPUT(f, DISTINCT, 3, 5), 1, last); }
static lfuse_value softmax_of_both(subject *f) { return lfuse_softmax(INPUT(f, DISTINCT, 2, 3), 2, both); }
static lfuse_value log_softmax(subject *f) { return lfuse_log_softmax(INPUT(f, DISTINCT, 3, 5), 1, last); }
static lfuse_value log_softmax_of_columns(subject *f) { return lfuse_log_softmax(INPUT(f, DISTINCT, 3, 4), 1, first); }
static lfuse_value layernorm(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 3, 5), w = INPUT(f, POSITIVE, 5), b = INPUT(f, DISTINCT, 5);
    return lfuse_layernorm(a, 1, w, b, 1e-5);
}
static lfuse_value layernorm_of_two(subject *f)
{
    return lfuse_layernorm(INPUT(f, DISTINCT, 2, 2, 3), 2, INPUT(f, POSITIVE, 2, 3), lfuse_none(), 1e-5);
}
static lfuse_value layernorm_plain(subject *f)
{
    return lfuse_layernorm(INPUT(f, DISTINCT, 2, 6), 1, lfuse_none(), lfuse_none(), 0.125);
}
static lfuse_value rmsnorm(subject *f)
{
    return lfuse_rmsnorm(INPUT(f, DISTINCT, 3, 5), 1, INPUT(f, POSITIVE, 5), 1e-5);
}
static lfuse_value rmsnorm_plain(subject *f) { return lfuse_rmsnorm(INPUT(f, DISTINCT, 3, 4), 1, lfuse_none(), 1e-5); }
static lfuse_value groupnorm(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 2, 4, 3), w = INPUT(f, POSITIVE, 4), b = INPUT(f, DISTINCT, 4);
    return lfuse_groupnorm(a, 2, w, b, 1e-5);
}
static lfuse_value groupnorm_plain(subject *f)
{
    return lfuse_groupnorm(INPUT(f, DISTINCT, 2, 4, 2), 2, lfuse_none(), lfuse_none(), 1e-5);
}
static lfuse_value l2_normalize(subject *f) { return lfuse_l2_normalize(INPUT(f, DISTINCT, 3, 4), 1, last, 1e-12); }
static lfuse_value l2_normalize_below(subject *f) { return lfuse_l2_normalize(INPUT(f, DISTINCT, 3, 4), 1, last, 8); }

/* ---- views and joins ---- */

static lfuse_value permute(subject *f) { return lfuse_permute(INPUT(f, DISTINCT, 2, 3, 4), (const int[]){2, 0, 1}); }
static lfuse_value transpose(subject *f) { return lfuse_transpose(INPUT(f, DISTINCT, 2, 3, 4)); }
static lfuse_value broadcast(subject *f) { return lfuse_broadcast_to(INPUT(f, DISTINCT, 3, 1), SHAPE(2, 3, 4)); }
static lfuse_value reshape(subject *f) { return lfuse_reshape(INPUT(f, DISTINCT, 2, 6), SHAPE(3, 2, 2)); }
static lfuse_value flatten(subject *f) { return lfuse_flatten(INPUT(f, DISTINCT, 2, 3, 2), 0, 1); }
static lfuse_value squeeze(subject *f) { return lfuse_squeeze(INPUT(f, DISTINCT, 2, 1, 3), 1); }
static lfuse_value unsqueeze(subject *f) { return lfuse_unsqueeze(INPUT(f, DISTINCT, 2, 3), -1); }
static lfuse_value slice(subject *f) { return lfuse_slice(INPUT(f, DISTINCT, 3, 7), 1, 2, 3, 1); }
static lfuse_value slice_by_steps(subject *f) { return lfuse_slice(INPUT(f, DISTINCT, 3, 8), 1, 1, 3, 2); }
static lfuse_value slice_to_the_end(subject *f) { return lfuse_slice(INPUT(f, DISTINCT, 7, 2), 0, 0, 3, 3); }
static lfuse_value slice_backwards(subject *f) { return lfuse_slice(INPUT(f, DISTINCT, 3, 8), 1, 6, 3, -2); }
static lfuse_value slice_of_one(subject *f) { return lfuse_slice(INPUT(f, DISTINCT, 3, 4), 0, 2, 1, 5); }
static lfuse_value slice_of_none(subject *f) { return lfuse_slice(INPUT(f, DISTINCT, 3, 4), 1, 0, 0, 1); }
static lfuse_value slice_range(subject *f)
{
    return lfuse_slice_range(INPUT(f, DISTINCT, 3, 7), 1, LFUSE_OPEN, LFUSE_OPEN, -3);
}
static lfuse_value flip(subject *f) { return lfuse_flip(INPUT(f, DISTINCT, 2, 3), 2, both); }
static lfuse_value split(subject *f)
{
    lfuse_value parts[3];
    lfuse_split(INPUT(f, DISTINCT, 2, 7), 1, 3, (const lfuse_size[]){1, 4, 2}, parts);
    return lfuse_add(lfuse_sum(lfuse_mul(parts[1], parts[1]), 1, last, 1), lfuse_mul(parts[0], parts[2]));
}
static lfuse_value split_in_part(subject *f)
{
    lfuse_value parts[3];
    lfuse_split(INPUT(f, DISTINCT, 2, 6), 1, 3, (const lfuse_size[]){2, 2, 2}, parts);
    return lfuse_mul(parts[0], parts[2]);
}
static lfuse_value chunk(subject *f)
{
    lfuse_value parts[2];
    ck_assert_int_eq(lfuse_chunk(INPUT(f, DISTINCT, 5, 2), 0, 2, parts), 2);
    return lfuse_concat(2, (const lfuse_value[]){parts[1], parts[0]}, 0);
}
static lfuse_value concat(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 2, 3), b = INPUT(f, DISTINCT, 2, 1), c = INPUT(f, DISTINCT, 2, 2);
    return lfuse_concat(4, (const lfuse_value[]){a, b, c, a}, 1);
}
static lfuse_value stack(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 2, 3), b = INPUT(f, DISTINCT, 2, 3);
    return lfuse_stack(3, (const lfuse_value[]){a, b, a}, 1);
}
static lfuse_value pad(subject *f)
{
    return lfuse_pad(INPUT(f, DISTINCT, 2, 3), (const lfuse_size[]){1, 0}, (const lfuse_size[]){2, 1}, 7);
}
static lfuse_value pad_edge(subject *f)
{
    return lfuse_pad_edge(INPUT(f, DISTINCT, 2, 3), (const lfuse_size[]){1, 2}, (const lfuse_size[]){0, 3});
}
static lfuse_value pad_reflect(subject *f)
{
    return lfuse_pad_reflect(INPUT(f, DISTINCT, 3, 4), (const lfuse_size[]){2, 1}, (const lfuse_size[]){0, 3});
}

/* ---- look-ups; some indices are out of range ---- */

static const int indices[] = {2, 0, 2, 5, -1, 1};
static lfuse_value gather(subject *f)
{
    return lfuse_gather(INPUT(f, DISTINCT, 4, 3), subject_indices(f, SHAPE(6), indices));
}
static lfuse_value gather_by_matrix(subject *f)
{
    return lfuse_gather(INPUT(f, DISTINCT, 3, 2), subject_indices(f, SHAPE(2, 3), indices));
}
static lfuse_value index_select(subject *f)
{
    const lfuse_value i = subject_indices(f, SHAPE(6), indices);
    return lfuse_index_select(INPUT(f, DISTINCT, 2, 4, 2), 1, i, LFUSE_INDEX_FROM_END);
}
static lfuse_value take_along(subject *f)
{
    const lfuse_value i = subject_indices(f, SHAPE(2, 3), indices);
    return lfuse_take_along(INPUT(f, DISTINCT, 2, 4), 1, i, LFUSE_INDEX_PLAIN);
}
static lfuse_value take_along_first(subject *f)
{
    const lfuse_value i = subject_indices(f, SHAPE(2, 3), indices);
    return lfuse_take_along(INPUT(f, DISTINCT, 3, 3), 0, i, LFUSE_INDEX_FROM_END);
}
static lfuse_value scatter_add(subject *f)
{
    return lfuse_scatter_add(INPUT(f, DISTINCT, 6, 2), subject_indices(f, SHAPE(6), indices), 4);
}

/* ---- types, selections, compositions ---- */

static lfuse_value cast(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 6);
    return lfuse_mul(lfuse_cast(lfuse_cast(a, LFUSE_F32), f->type), a);
}
static lfuse_value cast_to_integers(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 6);
    return lfuse_mul(lfuse_cast(lfuse_cast(a, LFUSE_I32), f->type), a);
}
static lfuse_value where(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 2, 3), b = INPUT(f, DISTINCT, 3);
    return lfuse_where(lfuse_gt(a, lfuse_constant(f->g, 0)), lfuse_mul(a, a), b);
}
static lfuse_value where_number(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 6);
    return lfuse_where(lfuse_lt(a, lfuse_constant(f->g, 0.5)), a, subject_scalar(f, 3));
}
static lfuse_value clamp(subject *f)
{
    return lfuse_clamp(INPUT(f, DISTINCT, 9), lfuse_constant(f->g, -1), subject_scalar(f, 1.25));
}
static lfuse_value powers(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 5), b = INPUT(f, POSITIVE, 5);
    return lfuse_add(lfuse_add(lfuse_powi(a, lfuse_constant(f->g, 3)), lfuse_pow(b, lfuse_constant(f->g, 0.5))),
                     lfuse_mul(lfuse_powi(b, lfuse_constant(f->g, -2)), lfuse_pow(lfuse_constant(f->g, 1.5), a)));
}
static lfuse_value gates(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 4), b = INPUT(f, DISTINCT, 4);
    return lfuse_add(lfuse_add(lfuse_glu(a, b), lfuse_geglu(b, a)), lfuse_add(lfuse_swiglu(a, b), lfuse_reglu(a, b)));
}
static lfuse_value add_products(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 2, 3), b = INPUT(f, DISTINCT, 3), c = INPUT(f, POSITIVE, 2, 1);
    return lfuse_addcdiv(lfuse_addcmul(a, b, c, lfuse_constant(f->g, 0.5)), b, c, subject_scalar(f, -0.75));
}
static lfuse_value dropout(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 4, 6);
    return lfuse_dropout(a, lfuse_constant(f->g, 0.25), lfuse_constant(f->g, 5), subject_scalar(f, 3));
}
static lfuse_value used_often(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 5), b = lfuse_tanh(a);
    const lfuse_value c = lfuse_div(a, lfuse_add(lfuse_mul(b, b), lfuse_constant(f->g, 1)));
    return lfuse_add(lfuse_mul(b, lfuse_add(b, a)), lfuse_sub(lfuse_mul(a, a), c));
}
static lfuse_value stopped(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 5);
    return lfuse_mul(lfuse_exp(lfuse_stop(a)), lfuse_mul(a, a));
}
static lfuse_value surrogate(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 5);
    return lfuse_surrogate(lfuse_sign(a), lfuse_tanh(a));
}
static lfuse_value checkpoints(subject *f)
{
    lfuse_value a = INPUT(f, DISTINCT, 4);
    for (int i = 0; i < 3; i++) a = lfuse_checkpoint(lfuse_sin(lfuse_mul(lfuse_exp(lfuse_tanh(a)), a)));
    return lfuse_sigmoid(a);
}
static lfuse_value numbers_of_rank_0(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 3), b = subject_input(f, DISTINCT, 0, NULL);
    return lfuse_mul(lfuse_add(a, b), lfuse_mul(b, b));
}
static lfuse_value sizes(subject *f)
{
    const lfuse_size n = subject_size(f, "n", 1, 9, 4);
    const lfuse_value a = INPUT(f, DISTINCT, n, 3), w = INPUT(f, DISTINCT, 3, 2);
    const lfuse_value y = lfuse_matmul(a, w);
    return lfuse_mul(lfuse_sum(lfuse_mul(lfuse_softmax(y, 1, first), y), 1, first, 0), lfuse_mean(a, 2, both, 0));
}
static lfuse_value slices_of_sizes(subject *f)
{
    const lfuse_size n = subject_size(f, "n", 4, 9, 5);
    const lfuse_value a = INPUT(f, DISTINCT, n, 2);
    return lfuse_sum(lfuse_mul(lfuse_slice(a, 0, 1, 3, 1), lfuse_slice(a, 0, 3, 3, -1)), 1, first, 0);
}
static lfuse_value ends_of_sizes(subject *f)
{
    const lfuse_size n = subject_size(f, "n", 4, 9, 6);
    const lfuse_value a = INPUT(f, DISTINCT, n, 2), tail = lfuse_slice_range(a, 0, -3, LFUSE_OPEN, 1);
    return lfuse_add(lfuse_mul(tail, lfuse_slice(a, 0, 0, 3, 1)), lfuse_slice_range(a, 0, -2, -1, 1));
}

/* ---- products ---- */

static lfuse_value matmul(subject *f) { return lfuse_matmul(INPUT(f, DISTINCT, 3, 4), INPUT(f, DISTINCT, 4, 2)); }
static lfuse_value matmul_transposed(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 4, 3), b = INPUT(f, DISTINCT, 2, 4);
    return lfuse_matmul(lfuse_transpose(a), lfuse_transpose(b));
}
static lfuse_value matmul_of_batches(subject *f)
{
    return lfuse_matmul(INPUT(f, DISTINCT, 2, 2, 3), INPUT(f, DISTINCT, 2, 3, 2));
}
static lfuse_value matmul_with_one(subject *f)
{
    return lfuse_matmul(INPUT(f, DISTINCT, 2, 2, 3), INPUT(f, DISTINCT, 3, 2));
}
static lfuse_value matmul_of_one(subject *f)
{
    return lfuse_matmul(INPUT(f, DISTINCT, 2, 3), INPUT(f, DISTINCT, 2, 3, 2));
}
static lfuse_value matmul_repeated(subject *f)
{
    return lfuse_matmul(INPUT(f, DISTINCT, 2, 1, 2, 3), INPUT(f, DISTINCT, 2, 3, 2));
}
static lfuse_value matmul_squared(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 3, 3);
    return lfuse_matmul(a, lfuse_matmul(a, lfuse_transpose(a)));
}
static lfuse_value matmul_as(subject *f)
{
    const lfuse_value a = INPUT(f, DISTINCT, 3, 4), b = INPUT(f, DISTINCT, 4, 2);
    return lfuse_matmul_as(a, b, f->type == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32, LFUSE_PRECISION_FULL);
}
/* f32 beside a narrow type, where there is one: each operand's gradient has its own. */
static lfuse_value matmul_mixed(subject *f)
{
    const lfuse_type other = f->type == LFUSE_F64 ? LFUSE_F64 : f->type == LFUSE_F32 ? LFUSE_BF16 : LFUSE_F32;
    const lfuse_value a = INPUT(f, DISTINCT, 3, 4), b = subject_typed(f, DISTINCT, other, SHAPE(4, 2));
    return lfuse_matmul_as(a, b, f->type == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32, LFUSE_PRECISION_FULL);
}

/* ---- lists ---- */

static const int64_t three[] = {3, 1, 4}, singles[] = {1, 1, 1};
static const int64_t shapes[][3] = {{1, 2, 3}, {2, 1, 2}, {1, 3, 1}};

static lfuse_value any_list(subject *f) { return subject_list(f, DISTINCT, LFUSE_RANK_ANY, 3, three); }
static lfuse_value list_beside_numbers(subject *f)
{
    const lfuse_value a = any_list(f), b = any_list(f), n = subject_list(f, DISTINCT, 0, 3, singles);
    const lfuse_value x = subject_input(f, DISTINCT, 0, NULL);
    return lfuse_mul(lfuse_add(lfuse_mul(a, b), n), x);
}
static lfuse_value member_sum(subject *f) { return lfuse_member_sum(any_list(f)); }
static lfuse_value member_mean(subject *f) { return lfuse_member_mean(any_list(f)); }
static lfuse_value member_amax(subject *f) { return lfuse_member_amax(any_list(f)); }
static lfuse_value member_amin(subject *f) { return lfuse_member_amin(any_list(f)); }
static lfuse_value member_norm_l1(subject *f) { return lfuse_member_norm_l1(any_list(f)); }
static lfuse_value member_norm_l2(subject *f) { return lfuse_member_norm_l2(any_list(f)); }
static lfuse_value member_norm_inf(subject *f) { return lfuse_member_norm_inf(any_list(f)); }
static lfuse_value member_norm_3(subject *f) { return lfuse_member_norm(any_list(f), 3); }
static lfuse_value list_sum(subject *f) { return lfuse_list_sum(any_list(f)); }
static lfuse_value list_amax(subject *f) { return lfuse_list_amax(any_list(f)); }
static lfuse_value list_amin(subject *f) { return lfuse_list_amin(any_list(f)); }
static lfuse_value list_norm_l1(subject *f) { return lfuse_list_norm_l1(any_list(f)); }
static lfuse_value list_norm_l2(subject *f) { return lfuse_list_norm_l2(any_list(f)); }
static lfuse_value list_norm_inf(subject *f) { return lfuse_list_norm_inf(any_list(f)); }
static lfuse_value list_norm_3(subject *f) { return lfuse_list_norm(any_list(f), 3); }
static lfuse_value clipped(subject *f)
{
    const lfuse_value a = any_list(f);
    return lfuse_div(a, lfuse_add(lfuse_list_norm_l2(a), lfuse_constant(f->g, 1)));
}
static lfuse_value cast_list(subject *f)
{
    return lfuse_mul(lfuse_cast(any_list(f), LFUSE_F32), subject_constant(f, 2));
}

static lfuse_value matrices(subject *f) { return subject_matrices(f, DISTINCT, 3, shapes); }
static lfuse_value row_sum(subject *f) { return lfuse_member_row_sum(matrices(f)); }
static lfuse_value column_sum(subject *f) { return lfuse_member_column_sum(matrices(f)); }
static lfuse_value row_mean(subject *f) { return lfuse_member_row_mean(matrices(f)); }
static lfuse_value column_mean(subject *f) { return lfuse_member_column_mean(matrices(f)); }
static lfuse_value beside_lines(subject *f)
{
    const lfuse_value a = matrices(f), rows = lfuse_member_row_sum(a), columns = lfuse_member_column_sum(a);
    const lfuse_value all = lfuse_member_row_sum(rows);
    return lfuse_mul(lfuse_add(lfuse_mul(a, rows), columns), all);
}
/* Numbers of rows and of columns repeat beside the matrices, and not beside each other. */
static lfuse_value rows_meet_columns(subject *f)
{
    const lfuse_value a = matrices(f), rows = lfuse_member_row_sum(a), columns = lfuse_member_column_sum(a);
    return lfuse_add(lfuse_member_norm_l2(lfuse_mul(rows, rows)), lfuse_member_sum(lfuse_sin(columns)));
}
static lfuse_value columns_of_rows(subject *f)
{
    const lfuse_value a = matrices(f);
    return lfuse_member_column_sum(lfuse_mul(lfuse_member_row_sum(a), a));
}
static lfuse_value rows_of_columns(subject *f)
{
    const lfuse_value a = matrices(f);
    return lfuse_member_row_sum(lfuse_mul(lfuse_member_column_sum(a), a));
}
static lfuse_value factored(subject *f)
{
    const int64_t rows[] = {2, 2, 3}, columns[] = {3, 4, 1};
    const lfuse_value a = matrices(f), r = subject_list(f, DISTINCT, LFUSE_RANK_ROWS, 3, rows);
    return lfuse_mul(lfuse_mul(a, r), subject_list(f, DISTINCT, LFUSE_RANK_COLUMNS, 3, columns));
}

static const int64_t left[][3] = {{1, 2, 3}, {2, 1, 2}}, right[][3] = {{1, 3, 2}, {2, 2, 3}};
static const int64_t left_t[][3] = {{1, 3, 2}, {2, 2, 1}}, right_t[][3] = {{1, 2, 3}, {2, 3, 2}};
static lfuse_value product(subject *f, int ta, int tb)
{
    const lfuse_value a = subject_matrices(f, DISTINCT, 2, ta ? left_t : left);
    return lfuse_member_matmul(a, ta, subject_matrices(f, DISTINCT, 2, tb ? right_t : right), tb);
}
static lfuse_value member_matmul_00(subject *f) { return product(f, 0, 0); }
static lfuse_value member_matmul_01(subject *f) { return product(f, 0, 1); }
static lfuse_value member_matmul_10(subject *f) { return product(f, 1, 0); }
static lfuse_value member_matmul_11(subject *f) { return product(f, 1, 1); }

#define FAMILY(name, flags) {#name, name, flags}
static const struct family {
    const char *name;
    subject_maker *make;
    unsigned flags;
} families[] = {
    FAMILY(sum_of_rows, LINEAR), FAMILY(sum_of_all, LINEAR), FAMILY(sum_of_outer, LINEAR), FAMILY(nansum, LINEAR),
    FAMILY(sum_of_sums, LINEAR), FAMILY(mean_of_norms, 0),
    FAMILY(mean, 0), FAMILY(prod, LINEAR | COUNTS), FAMILY(prod_of_all, LINEAR | COUNTS), FAMILY(amax, 0),
    FAMILY(amin, 0), FAMILY(var, 0), FAMILY(var_of_population, 0), FAMILY(norm_l1, 0), FAMILY(norm_l2, 0),
    FAMILY(norm_inf, 0), FAMILY(norm_3, 0), FAMILY(norm_half, 0), FAMILY(norm_minus_1, NARROW),
    FAMILY(norm_least, 0), FAMILY(norm_2, 0), FAMILY(logsumexp, 0), FAMILY(logsumexp_of_columns, 0),
    FAMILY(cumsum, LINEAR), FAMILY(cumsum_of_columns, LINEAR), FAMILY(cumprod, COUNTS), FAMILY(cummax, 0),
    FAMILY(cummin, 0), FAMILY(logcumsumexp, COUNTS),
    FAMILY(softmax, 0), FAMILY(softmax_of_both, 0), FAMILY(log_softmax, 0), FAMILY(log_softmax_of_columns, 0),
    FAMILY(layernorm, 0), FAMILY(layernorm_of_two, 0), FAMILY(layernorm_plain, 0), FAMILY(rmsnorm, 0),
    FAMILY(rmsnorm_plain, 0), FAMILY(groupnorm, 0), FAMILY(groupnorm_plain, 0), FAMILY(l2_normalize, 0),
    FAMILY(l2_normalize_below, 0),
    FAMILY(permute, LINEAR), FAMILY(transpose, LINEAR), FAMILY(broadcast, LINEAR), FAMILY(reshape, LINEAR),
    FAMILY(flatten, LINEAR), FAMILY(squeeze, LINEAR), FAMILY(unsqueeze, LINEAR), FAMILY(slice, LINEAR),
    FAMILY(slice_by_steps, LINEAR), FAMILY(slice_to_the_end, LINEAR), FAMILY(slice_backwards, LINEAR),
    FAMILY(slice_of_one, LINEAR), FAMILY(slice_of_none, LINEAR), FAMILY(slice_range, LINEAR), FAMILY(flip, LINEAR),
    FAMILY(split, LINEAR), FAMILY(split_in_part, LINEAR), FAMILY(chunk, LINEAR), FAMILY(concat, LINEAR),
    FAMILY(stack, LINEAR), FAMILY(pad, LINEAR), FAMILY(pad_edge, LINEAR), FAMILY(pad_reflect, LINEAR),
    FAMILY(gather, LINEAR), FAMILY(gather_by_matrix, LINEAR), FAMILY(index_select, LINEAR),
    FAMILY(take_along, LINEAR), FAMILY(take_along_first, LINEAR), FAMILY(scatter_add, LINEAR),
    FAMILY(cast, 0), FAMILY(cast_to_integers, 0), FAMILY(where, 0), FAMILY(where_number, 0), FAMILY(clamp, 0),
    FAMILY(powers, 0), FAMILY(gates, 0), FAMILY(add_products, 0), FAMILY(dropout, 0), FAMILY(used_often, 0),
    FAMILY(stopped, ROUGH), FAMILY(surrogate, ROUGH), FAMILY(checkpoints, 0), FAMILY(numbers_of_rank_0, LINEAR),
    FAMILY(sizes, 0), FAMILY(slices_of_sizes, LINEAR), FAMILY(ends_of_sizes, LINEAR),
    FAMILY(matmul, LINEAR), FAMILY(matmul_transposed, LINEAR), FAMILY(matmul_of_batches, LINEAR),
    FAMILY(matmul_with_one, LINEAR), FAMILY(matmul_of_one, LINEAR), FAMILY(matmul_repeated, LINEAR),
    FAMILY(matmul_squared, LINEAR), FAMILY(matmul_as, LINEAR),
    FAMILY(matmul_mixed, LINEAR),
    FAMILY(list_beside_numbers, LINEAR), FAMILY(member_sum, LINEAR), FAMILY(member_mean, 0), FAMILY(member_amax, 0),
    FAMILY(member_amin, 0), FAMILY(member_norm_l1, 0), FAMILY(member_norm_l2, 0), FAMILY(member_norm_inf, 0),
    FAMILY(member_norm_3, 0), FAMILY(list_sum, LINEAR), FAMILY(list_amax, 0), FAMILY(list_amin, 0),
    FAMILY(list_norm_l1, 0), FAMILY(list_norm_l2, 0), FAMILY(list_norm_inf, 0), FAMILY(list_norm_3, 0),
    FAMILY(clipped, 0), FAMILY(cast_list, ROUGH),
    FAMILY(row_sum, LINEAR), FAMILY(column_sum, LINEAR), FAMILY(row_mean, 0), FAMILY(column_mean, 0),
    FAMILY(rows_meet_columns, 0), FAMILY(columns_of_rows, LINEAR), FAMILY(rows_of_columns, LINEAR),
    FAMILY(beside_lines, 0), FAMILY(factored, LINEAR), FAMILY(member_matmul_00, LINEAR),
    FAMILY(member_matmul_01, LINEAR), FAMILY(member_matmul_10, LINEAR), FAMILY(member_matmul_11, LINEAR),
};

TEST_CASE("families")

TEST_LOOP(families_of_functions, 0, (int)(sizeof families / sizeof *families))
{
    subject_check(families[_i].name, families[_i].make, families[_i].flags);
}

TEST_LOOP(duality_of_families, 0, (int)(sizeof families / sizeof *families))
{
    subject_check_duality(families[_i].name, families[_i].make, families[_i].flags);
}

TEST_SUITE("gradients", CK_FORK_GETENV)
