/* SPDX-License-Identifier: Apache-2.0 */
/* Every mistake in building a graph has its own status and names the call, the operands and the numbers. */
#include "common/graph/graph.h"
#include "libfuse/ops.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

/* What each case starts from. */
typedef struct world {
    lfuse_graph *g, *other;
    lfuse_size batch, foreign_size;
    lfuse_value x;       /* f32 [batch, 64] */
    lfuse_value w;       /* f32 [64, 10] */
    lfuse_value i, b, h; /* i32, bool, f16 [64] */
    lfuse_value zero_d;  /* f64 [] */
    lfuse_value list;    /* of f32 */
    lfuse_value number, foreign;
} world;

static world v;

static void make(void)
{
    v.g = new_graph();
    v.other = new_graph();
    v.batch = lfuse_size_var(v.g, "batch", 1, 4096);
    v.foreign_size = lfuse_size_var(v.other, "batch", 1, 4096);
    v.x = lfuse_input(v.g, "x", F32(v.batch, 64));
    v.w = lfuse_frozen(v.g, "w", F32(64, 10));
    v.i = lfuse_input(v.g, "i", I32(64));
    v.b = lfuse_input(v.g, "b", BOOL(64));
    v.h = lfuse_input(v.g, "h", F16(64));
    v.zero_d = lfuse_input(v.g, "zero", LFUSE_F64, 0, NULL);
    v.list = lfuse_list_input(v.g, "list", LFUSE_F32, LFUSE_RANK_ANY);
    v.number = lfuse_scalar(v.g, "alpha");
    v.foreign = lfuse_constant(v.other, 1);
    OK(lfuse_graph_check(v.g));
    OK(lfuse_graph_check(v.other));
}

#define LONG_NAME "0123456789012345678901234567890123456789012345678901234567890123"
static const lfuse_size HUGE_SHAPE[] = {INT64_C(1) << 40, INT64_C(1) << 40};

/* Each row is one mistake: its name, what is done, the status, and words that its message has. */
#define MISTAKES(X)                                                                                                    \
    X(null_name, lfuse_input(v.g, NULL, LFUSE_F32, 0, NULL), INVALID, "lfuse_input: the name is NULL")                 \
    X(empty_name, lfuse_scalar(v.g, ""), NAME, "1 to 63 characters")                                                   \
    X(long_name, lfuse_scalar(v.g, LONG_NAME), NAME, "1 to 63 characters")                                             \
    X(control_name, lfuse_scalar(v.g, "a\nb"), NAME, "control character (code 10) at 1")                               \
    X(repeated_name, lfuse_frozen(v.g, "x", LFUSE_F32, 0, NULL), NAME, "\"x\" is already taken")                       \
    X(name_of_size, lfuse_scalar(v.g, "batch"), NAME, "\"batch\"")                                                     \
    X(size_named_twice, lfuse_size_var(v.g, "batch", 1, 2), NAME, "lfuse_size_var")                                    \
    X(size_null_name, lfuse_size_var(v.g, NULL, 1, 2), INVALID, "NULL")                                                \
    X(size_bounds, lfuse_size_var(v.g, "n", 5, 4), BOUNDS, "5 ... 4")                                                  \
    X(size_negative, lfuse_size_var(v.g, "n", -1, 4), BOUNDS, "-1 ... 4")                                              \
    X(size_overflow, lfuse_size_mul(v.g, INT64_MAX, 2), OVERFLOW, "9223372036854775807 * 2")                           \
    X(size_add_overflow, lfuse_size_add(v.g, INT64_MAX, v.batch), OVERFLOW, "lfuse_size_add")                          \
    X(size_negative_operand, lfuse_size_add(v.g, -3, v.batch), SHAPE, "extent -3")                                     \
    X(size_foreign_operand, lfuse_size_add(v.g, v.foreign_size, 1), INVALID, "another graph")                          \
    X(bad_type, lfuse_input(v.g, "y", (lfuse_type)77, 0, NULL), TYPE, "77 is no element type")                         \
    X(no_type, lfuse_input(v.g, "y", LFUSE_TYPE_NONE, 0, NULL), TYPE, "0 is no element type")                          \
    X(negative_rank, lfuse_input(v.g, "y", LFUSE_F32, -2, NULL), RANK, "rank -2")                                      \
    X(large_rank, lfuse_input(v.g, "y", LFUSE_F32, 9, HUGE_SHAPE), RANK, "rank 9")                                     \
    X(null_shape, lfuse_input(v.g, "y", LFUSE_F32, 2, NULL), INVALID, "shape is NULL")                                 \
    X(negative_extent, lfuse_input(v.g, "y", LFUSE_F32, 1, LFUSE_DIMS(-5)), SHAPE, "extent -5 is negative")            \
    X(lowest_extent, lfuse_input(v.g, "y", LFUSE_F32, 1, LFUSE_DIMS(INT64_MIN)), SHAPE, "negative")                    \
    X(foreign_size, lfuse_input(v.g, "y", LFUSE_F32, 1, LFUSE_DIMS(v.foreign_size)), INVALID, "another graph")         \
    X(uncountable, lfuse_input(v.g, "y", LFUSE_F32, 2, HUGE_SHAPE), OVERFLOW, "1099511627776")                         \
    X(uncountable_empty, lfuse_input(v.g, "y", LFUSE_F32, 3, LFUSE_DIMS(HUGE_SHAPE[0], 0, HUGE_SHAPE[0])), OVERFLOW,   \
      "cannot be counted")                                                                                             \
    X(list_type, lfuse_list_input(v.g, "l", (lfuse_type)-1, LFUSE_RANK_ANY), TYPE, "-1 is no element type")            \
    X(list_rank, lfuse_list_input(v.g, "l", LFUSE_F32, 2), UNSUPPORTED, "rank 2")                                      \
    X(update_with_numbers, lfuse_update(lfuse_list_input(v.g, "l", LFUSE_F32, 0), v.list), SHAPE,                      \
      "\"l\" is a list of f32 numbers")                                                                                \
    X(list_bad_rank, lfuse_list_input(v.g, "l", LFUSE_F32, -7), RANK, "rank -7")                                       \
    X(foreign_operand, lfuse_add(v.x, v.foreign), INVALID, "lfuse_add: operand 2 belongs to another graph")            \
    X(no_operand, lfuse_add(v.x, ((lfuse_value){NULL, 0})), INVALID, "operand 2 belongs to no graph")                  \
    X(forged_operand, lfuse_neg(((lfuse_value){v.g, 1000})), INVALID, "no value of its graph (id 1000")                \
    X(types_differ, lfuse_add(v.i, v.h), TYPE, "lfuse_add: types differ: a is i32 [64], b is f16 [64]")                \
    X(list_types_differ, lfuse_mul(v.list, lfuse_list_input(v.g, "l", LFUSE_F16, LFUSE_RANK_ANY)), TYPE,               \
      "a is a list of f32, b is a list of f16")                                                                        \
    X(list_and_tensor, lfuse_add(v.list, lfuse_input(v.g, "y", LFUSE_F32, 1, LFUSE_DIMS(64))), RANK,                   \
      "b is f32 [64] beside a list")                                                                                   \
    X(bool_arithmetic, lfuse_add(v.b, v.b), TYPE, "lfuse_add: does not take type bool")                                \
    X(bool_order, lfuse_lt(v.b, v.b), TYPE, "lfuse_lt: does not take type bool")                                       \
    X(integer_exp, lfuse_exp(v.i), TYPE, "lfuse_exp: does not take type i32")                                          \
    X(condition_type, lfuse_where(v.h, v.h, v.h), TYPE, "condition is of type f16")                                    \
    X(choices_types, lfuse_where(v.b, v.h, v.i), TYPE, "a is f16 [64], b is i32 [64]")                                 \
    X(clamp_shapes, lfuse_clamp(v.h, lfuse_input(v.g, "y", LFUSE_F16, 1, LFUSE_DIMS(3)), v.number), SHAPE,             \
      "a is f16 [64], low is f16 [3], high is f32 []")                                                                 \
    X(shapes_differ, lfuse_add(v.x, lfuse_input(v.g, "y", LFUSE_F32, 1, LFUSE_DIMS(10))), SHAPE,                       \
      "a is f32 [batch, 64], b is f32 [10]")                                                                           \
    X(variable_is_no_one, lfuse_add(v.w, lfuse_input(v.g, "y", LFUSE_F32, 2, LFUSE_DIMS(v.batch, 10))), SHAPE,         \
      "[batch, 10]")                                                                                                   \
    X(broadcast_overflow, lfuse_add(lfuse_input(v.g, "p", LFUSE_F32, 2, LFUSE_DIMS(HUGE_SHAPE[0], 1)),                 \
                                    lfuse_input(v.g, "q", LFUSE_F32, 1, HUGE_SHAPE)), OVERFLOW, "lfuse_add")           \
    X(cast_type, lfuse_cast(v.x, (lfuse_type)99), TYPE, "lfuse_cast: 99 is no element type")                           \
    X(permute_null, lfuse_permute(v.x, NULL), INVALID, "axes are NULL")                                                \
    X(permute_range, lfuse_permute(v.x, ((const int[]){0, 2})), SHAPE, "axes[1] is 2")                                 \
    X(permute_twice, lfuse_permute(v.x, ((const int[]){1, 1})), SHAPE, "axis 1 is named twice")                        \
    X(permute_list, lfuse_permute(v.list, ((const int[]){0})), RANK, "flat")                                           \
    X(transpose_rank, lfuse_transpose(v.i), RANK, "rank 1 has no two axes")                                            \
    X(broadcast_rank, lfuse_broadcast_to(v.x, 1, LFUSE_DIMS(64)), RANK, "the rank shrinks")                            \
    X(broadcast_shape, lfuse_broadcast_to(v.i, 2, LFUSE_DIMS(2, 65)), SHAPE, "from i32 [64] to [2, 65]")               \
    X(broadcast_null, lfuse_broadcast_to(v.i, 2, NULL), INVALID, "shape is NULL")                                      \
    X(broadcast_number, lfuse_broadcast_to(v.number, 1, LFUSE_DIMS(4)), TYPE, "cast it first")                         \
    X(sum_count, lfuse_sum(v.x, 3, ((const int[]){0, 1, 2}), 0), RANK, "3 axes of rank 2")                             \
    X(sum_null, lfuse_sum(v.x, 1, NULL, 0), INVALID, "axes are NULL")                                                  \
    X(sum_range, lfuse_sum(v.x, 1, ((const int[]){-3}), 0), SHAPE, "axis -3 of rank 2")                                \
    X(sum_twice, lfuse_sum(v.x, 2, ((const int[]){1, -1}), 0), SHAPE, "axis 1 is named twice")                         \
    X(sum_negative_count, lfuse_sum(v.x, -2, ((const int[]){0}), 0), RANK, "-2 axes of rank 2")                        \
    X(sum_number, lfuse_sum(v.number, 0, NULL, 0), TYPE, "without a type")                                             \
    X(sum_list, lfuse_sum(v.list, 0, NULL, 0), RANK, "lfuse_member_sum")                                               \
    X(member_sum_tensor, lfuse_member_sum(v.x), RANK, "no list of tensors but f32 [batch, 64]")                        \
    X(member_sum_twice, lfuse_member_sum(lfuse_member_sum(v.list)), RANK, "a list of f32 numbers")                     \
    X(member_bool, lfuse_member_amax(lfuse_gt(v.list, v.number)), TYPE, "does not take type bool")                     \
    X(member_mean_type, lfuse_member_mean(lfuse_cast(v.list, LFUSE_I32)), TYPE, "does not take type i32")              \
    X(member_order, lfuse_member_norm(v.list, NAN), INVALID, "the order is NaN")                                       \
    X(member_elements, lfuse_member_elements(lfuse_member_sum(v.list)), RANK, "a list of f32 numbers")                 \
    X(list_sum_tensor, lfuse_list_sum(v.x), RANK, "lfuse_list_sum: the operand is no list of tensors but f32")         \
    X(list_amin_bool, lfuse_list_amin(lfuse_gt(lfuse_member_sum(v.list), v.number)), TYPE, "does not take type bool")  \
    X(list_norm_type, lfuse_list_norm_inf(lfuse_cast(v.list, LFUSE_I64)), TYPE, "does not take type i64")              \
    X(matmul_rank, lfuse_matmul(v.x, v.h), RANK, "a is f32 [batch, 64], b is f16 [64]")                                \
    X(matmul_number, lfuse_matmul(v.x, v.number), RANK, "b is a number")                                               \
    X(matmul_list, lfuse_matmul(v.list, v.w), RANK, "a is a list of f32")                                              \
    X(matmul_shape, lfuse_matmul(v.x, lfuse_input(v.g, "y", LFUSE_F32, 2, LFUSE_DIMS(32, 10))), SHAPE,                 \
      "lfuse_matmul: inner extents differ: a is f32 [batch, 64], b is f32 [32, 10]")                                   \
    X(matmul_types, lfuse_matmul(v.x, lfuse_input(v.g, "y", LFUSE_F16, 2, LFUSE_DIMS(64, 10))), TYPE, "types differ")  \
    X(matmul_integers, lfuse_matmul(lfuse_input(v.g, "p", LFUSE_I32, 2, LFUSE_DIMS(2, 2)),                             \
                                    lfuse_input(v.g, "q", LFUSE_I32, 2, LFUSE_DIMS(2, 2))), UNSUPPORTED,               \
      "lfuse_matmul: there are no products of type i32: cast the operands to f32")                                     \
    X(matmul_bool, lfuse_matmul(lfuse_input(v.g, "p", LFUSE_BOOL, 2, LFUSE_DIMS(2, 2)),                                \
                                lfuse_input(v.g, "q", LFUSE_BOOL, 2, LFUSE_DIMS(2, 2))), UNSUPPORTED, "bool")          \
    X(matmul_stacked_shape, lfuse_matmul(lfuse_input(v.g, "y", LFUSE_F32, 3, LFUSE_DIMS(2, 3, 5)), v.w), SHAPE,        \
      "inner extents differ: a is f32 [2, 3, 5], b is f32 [64, 10]")                                                   \
    X(matmul_batched_shape, lfuse_matmul(v.w, lfuse_input(v.g, "y", LFUSE_F32, 3, LFUSE_DIMS(2, 9, 5))), SHAPE,        \
      "lfuse_matmul: inner extents differ: a is f32 [64, 10], b is f32 [2, 9, 5]")                                     \
    X(matmul_batches, lfuse_matmul(lfuse_input(v.g, "y", LFUSE_F32, 4, LFUSE_DIMS(2, 4, 3, 5)),                        \
                                   lfuse_input(v.g, "z", LFUSE_F32, 3, LFUSE_DIMS(3, 5, 6))), SHAPE,                   \
      "batch extents differ, axis 1 of a, axis 0 of b: a is f32 [2, 4, 3, 5], b is f32 [3, 5, 6]")                     \
    X(matmul_batched_rank, lfuse_matmul(v.h, lfuse_input(v.g, "y", LFUSE_F16, 3, LFUSE_DIMS(2, 64, 6))), RANK,         \
      "operands of rank 2 or more are needed: a is f16 [64]")                                                          \
    X(matmul_batched_types, lfuse_matmul(v.w, lfuse_input(v.g, "y", LFUSE_F16, 3, LFUSE_DIMS(2, 10, 6))), TYPE,        \
      "types differ")                                                                                                  \
    X(matmul_batched_list, lfuse_matmul(v.list, lfuse_input(v.g, "y", LFUSE_F32, 3, LFUSE_DIMS(2, 10, 6))), RANK,      \
      "a is a list of f32")                                                                                            \
    X(matmul_as_list, lfuse_matmul_as(v.list, v.w, LFUSE_F32, LFUSE_PRECISION_FULL), RANK, "a is a list of f32")       \
    X(matmul_as_lists, lfuse_matmul_as(lfuse_list_input(v.g, "m", LFUSE_F16, LFUSE_RANK_MATRIX),                       \
                                       lfuse_list_input(v.g, "n", LFUSE_F32, LFUSE_RANK_MATRIX), LFUSE_F32,            \
                                       LFUSE_PRECISION_TF32), UNSUPPORTED, "products of lists have no tf32")           \
    X(member_matmul_as_no_lists, lfuse_member_matmul_as(v.x, 0, v.w, 0, LFUSE_F32, LFUSE_PRECISION_FULL), RANK,        \
      "lfuse_member_matmul_as: the operands are no lists")                                                             \
    X(member_matmul_as_tensor, lfuse_member_matmul_as(lfuse_list_input(v.g, "m", LFUSE_F16, LFUSE_RANK_MATRIX), 0,     \
                                                      v.w, 1, LFUSE_F32, LFUSE_PRECISION_FULL), RANK,                  \
      "goes with another one")                                                                                         \
    X(member_matmul_as_integers, lfuse_member_matmul_as(lfuse_list_input(v.g, "m", LFUSE_I32, LFUSE_RANK_MATRIX), 0,   \
                                                        lfuse_list_input(v.g, "n", LFUSE_F32, LFUSE_RANK_MATRIX), 0,   \
                                                        LFUSE_F32, LFUSE_PRECISION_FULL), UNSUPPORTED,                 \
      "no products of type i32")                                                                                       \
    X(member_matmul_as_precision, lfuse_member_matmul_as(lfuse_list_input(v.g, "m", LFUSE_F64, LFUSE_RANK_MATRIX), 0,  \
                                                         lfuse_list_input(v.g, "n", LFUSE_F32, LFUSE_RANK_MATRIX), 0,  \
                                                         LFUSE_F32, LFUSE_PRECISION_F16), TYPE, "cast them")           \
    X(matmul_as_integers, lfuse_matmul_as(v.i, v.w, LFUSE_F32, LFUSE_PRECISION_FULL), UNSUPPORTED,                     \
      "no products of type i32")                                                                                       \
    X(matmul_as_result, lfuse_matmul_as(v.x, v.w, LFUSE_I64, LFUSE_PRECISION_FULL), UNSUPPORTED,                       \
      "a result of type i64")                                                                                          \
    X(matmul_as_no_type, lfuse_matmul_as(v.x, v.w, (lfuse_type)77, LFUSE_PRECISION_FULL), UNSUPPORTED, "a result of")  \
    X(matmul_as_precision, lfuse_matmul_as(v.x, v.w, LFUSE_F32, (lfuse_precision)6), INVALID, "precision 6 is none")   \
    X(matmul_as_negative, lfuse_matmul_as(v.x, v.w, LFUSE_F32, (lfuse_precision)-1), INVALID, "precision -1 is none")  \
    X(matmul_as_tf32, lfuse_matmul_as(lfuse_cast(v.x, LFUSE_F16), lfuse_cast(v.w, LFUSE_F16), LFUSE_F32,          \
      LFUSE_PRECISION_TF32), TYPE, "tf32 is a precision of f32 operands, these are f16")                               \
    X(matmul_as_f32x3, lfuse_matmul_as(lfuse_cast(v.x, LFUSE_BF16), lfuse_cast(v.w, LFUSE_BF16), LFUSE_F32,            \
      LFUSE_PRECISION_F32X3), TYPE, "f32x3 is a precision of f32 operands, these are bf16")                            \
    X(matmul_as_bf16x6, lfuse_matmul_as(lfuse_cast(v.x, LFUSE_F16), lfuse_cast(v.w, LFUSE_F16), LFUSE_F32,             \
      LFUSE_PRECISION_BF16X6), TYPE, "bf16x6 is a precision of f32 operands, these are f16")                           \
    X(matmul_as_f32x3_wide, lfuse_matmul_as(lfuse_cast(v.x, LFUSE_F64), v.w, LFUSE_F32, LFUSE_PRECISION_F32X3), TYPE,  \
      "f32x3 is a precision of f32 operands, these are f64")                                                           \
    X(member_matmul_as_f32x3, lfuse_member_matmul_as(lfuse_list_input(v.g, "m", LFUSE_F16, LFUSE_RANK_MATRIX), 0,      \
                                                     lfuse_list_input(v.g, "n", LFUSE_F16, LFUSE_RANK_MATRIX), 0,      \
                                                     LFUSE_F32, LFUSE_PRECISION_F32X3), TYPE, "these are f16")         \
    X(matmul_as_f64, lfuse_matmul_as(lfuse_cast(v.x, LFUSE_F64), v.w, LFUSE_F32, LFUSE_PRECISION_BF16), TYPE,          \
      "operands of f64 are not rounded")                                                                               \
    X(matmul_as_shape, lfuse_matmul_as(v.x, v.x, LFUSE_F16, LFUSE_PRECISION_F16), SHAPE,                               \
      "lfuse_matmul_as: inner extents differ: a is f16 [batch, 64]")                                                   \
    X(scan_range, lfuse_cumsum(v.x, 2), SHAPE, "lfuse_cumsum: axis 2 of rank 2")                                       \
    X(scan_below, lfuse_cumprod(v.x, -3), SHAPE, "lfuse_cumprod: axis -3 of rank 2")                                   \
    X(scan_no_axis, lfuse_cummax(v.zero_d, 0), SHAPE, "lfuse_cummax: axis 0 of rank 0")                                \
    X(scan_list, lfuse_cumsum(v.list, 0), RANK, "lfuse_cumsum: the members of a list are flat")                        \
    X(scan_number, lfuse_cumsum(v.number, 0), TYPE, "a number without a type")                                         \
    X(scan_bool, lfuse_cummin(v.b, 0), TYPE, "lfuse_cummin: does not take type bool")                                  \
    X(scan_integers, lfuse_logcumsumexp(v.i, 0), TYPE, "lfuse_logcumsumexp: does not take type i32")                   \
    X(scan_foreign, lfuse_add(v.x, lfuse_cumsum(v.foreign, 0)), INVALID, "another graph")                              \
    X(reduce_range, lfuse_amax(v.x, 1, ((const int[]){2}), 0), SHAPE, "lfuse_amax: axis 2 of rank 2")                  \
    X(reduce_twice, lfuse_mean(v.x, 2, ((const int[]){-1, 1}), 0), SHAPE, "lfuse_mean: axis 1 is named twice")         \
    X(reduce_list, lfuse_prod(v.list, 1, ((const int[]){0}), 0), RANK, "members of a list are flat")                   \
    X(composed_list, lfuse_norm_l2(v.list, 1, ((const int[]){0}), 0), RANK, "lfuse_norm_l2: the members of a list")    \
    X(softmax_list, lfuse_softmax(v.list, 1, ((const int[]){0})), RANK, "members of a list are flat")                  \
    X(amax_bool, lfuse_amax(v.b, LFUSE_ALL_AXES, NULL, 0), TYPE, "lfuse_amax: does not take type bool")                \
    X(argmin_bool, lfuse_argmin(v.b, LFUSE_ALL_AXES, NULL, 0), TYPE, "lfuse_argmin: does not take type bool")          \
    X(mean_integers, lfuse_mean(v.i, LFUSE_ALL_AXES, NULL, 0), TYPE, "lfuse_mean: does not take type i32")             \
    X(var_bool, lfuse_var(v.b, LFUSE_ALL_AXES, NULL, 1, 0), TYPE, "lfuse_var: does not take type bool")                \
    X(norm_order, lfuse_norm(v.x, LFUSE_ALL_AXES, NULL, NAN, 0), INVALID, "lfuse_norm: the order is NaN")              \
    X(norm_of_integers, lfuse_norm(v.i, LFUSE_ALL_AXES, NULL, 0, 0), TYPE, "lfuse_norm: does not take type i32")       \
    X(norm_of_list, lfuse_norm(v.list, LFUSE_ALL_AXES, NULL, 3, 0), RANK, "lfuse_norm: the members of a list")         \
    X(norm_axis, lfuse_norm(v.x, 1, ((const int[]){2}), 3, 0), SHAPE, "lfuse_norm: axis 2 of rank 2")                  \
    X(nansum_list, lfuse_nansum(v.list, LFUSE_ALL_AXES, NULL, 0), RANK, "lfuse_nansum: the members of a list")         \
    X(nansum_number, lfuse_nansum(v.number, LFUSE_ALL_AXES, NULL, 0), TYPE, "lfuse_nansum: a number without a type")   \
    X(nonzero_twice, lfuse_count_nonzero(v.x, 2, ((const int[]){0, 0}), 0), SHAPE, "axis 0 is named twice")            \
    X(norm_integers, lfuse_norm_inf(v.i, LFUSE_ALL_AXES, NULL, 0), TYPE, "lfuse_norm_inf: does not take type i32")     \
    X(logsumexp_integers, lfuse_logsumexp(v.i, LFUSE_ALL_AXES, NULL, 0), TYPE, "lfuse_logsumexp: does not take")       \
    X(argmax_some, lfuse_argmax(lfuse_input(v.g, "y", LFUSE_F32, 3, LFUSE_DIMS(2, 3, 4)), 2,                           \
                                ((const int[]){0, 1}), 0), RANK, "one axis or all of them, not 2 of rank 3")           \
    X(argmax_none, lfuse_argmax(v.x, 0, NULL, 0), RANK, "one axis or all of them, not 0 of rank 2")                    \
    X(argmax_no_axis, lfuse_argmax(v.zero_d, 1, ((const int[]){0}), 0), RANK, "lfuse_argmax: 1 axes of rank 0")        \
    X(argmax_number, lfuse_argmax(v.number, LFUSE_ALL_AXES, NULL, 0), TYPE, "a number without a type")                 \
    X(argmin_truth, lfuse_argmin(lfuse_any(v.b, LFUSE_ALL_AXES, NULL, 0), LFUSE_ALL_AXES, NULL, 0), TYPE,              \
      "lfuse_argmin: does not take type bool")                                                                         \
    X(amax_empty, lfuse_amax(lfuse_input(v.g, "y", LFUSE_F32, 2, LFUSE_DIMS(4, 0)), 1, ((const int[]){1}), 0), SHAPE,  \
      "lfuse_amax: axis 1 of f32 [4, 0] is empty")                                                                     \
    X(argmin_empty, lfuse_argmin(lfuse_input(v.g, "y", LFUSE_I32, 1, LFUSE_DIMS(0)), 1, ((const int[]){0}), 0), SHAPE, \
      "lfuse_argmin: axis 0 of i32 [0] is empty")                                                                      \
    X(softmax_empty, lfuse_softmax(lfuse_input(v.g, "y", LFUSE_F32, 1, LFUSE_DIMS(0)), 1, ((const int[]){0})), SHAPE,  \
      "lfuse_softmax: axis 0 of f32 [0] is empty")                                                                     \
    X(norm_inf_empty, lfuse_norm_inf(lfuse_input(v.g, "y", LFUSE_F16, 1, LFUSE_DIMS(0)), LFUSE_ALL_AXES, NULL, 0),     \
      SHAPE, "lfuse_norm_inf: axis 0")                                                                                 \
    X(norm_less_empty, lfuse_norm(lfuse_input(v.g, "y", LFUSE_F16, 1, LFUSE_DIMS(0)), LFUSE_ALL_AXES, NULL, -INFINITY, \
                                  0), SHAPE, "lfuse_norm: axis 0")                                                     \
    X(softmax_integers, lfuse_softmax(v.i, 1, ((const int[]){0})), TYPE, "lfuse_softmax: does not take type i32")      \
    X(softmax_axis, lfuse_log_softmax(v.x, 1, ((const int[]){2})), SHAPE, "lfuse_log_softmax: axis 2 of rank 2")       \
    X(layernorm_count, lfuse_layernorm(v.x, 3, lfuse_none(), lfuse_none(), 0), RANK, "the last 3 axes of rank 2")      \
    X(layernorm_none, lfuse_layernorm(v.x, 0, lfuse_none(), lfuse_none(), 0), RANK, "the last 0 axes of rank 2")       \
    X(layernorm_weight, lfuse_layernorm(v.x, 1, v.w, lfuse_none(), 0), SHAPE,                                          \
      "lfuse_layernorm: the weight is f32 [64, 10], where [64] is needed")                                             \
    X(layernorm_bias, lfuse_layernorm(v.x, 1, lfuse_none(), v.h, 0), TYPE,                                             \
      "the bias is f16 [64], the operand of type f32")                                                                 \
    X(layernorm_foreign, lfuse_layernorm(v.x, 1, v.foreign, lfuse_none(), 0), INVALID, "another graph")                \
    X(layernorm_number, lfuse_layernorm(v.x, 1, v.number, lfuse_none(), 0), TYPE, "without a type")                    \
    X(layernorm_of_none, lfuse_add(v.x, lfuse_layernorm(lfuse_none(), 1, lfuse_none(), lfuse_none(), 0)), INVALID,     \
      "operand 2 belongs to no graph")                                                                                 \
    X(none_elsewhere, lfuse_add(v.x, lfuse_none()), INVALID, "operand 2 belongs to no graph")                          \
    X(rmsnorm_weight, lfuse_rmsnorm(v.x, 1, v.i, 0), TYPE, "lfuse_rmsnorm: the weight is i32 [64]")                    \
    X(groupnorm_rank, lfuse_groupnorm(v.h, 1, lfuse_none(), lfuse_none(), 0), RANK, "rank 1 is not in 2 ... 7")        \
    X(groupnorm_groups, lfuse_groupnorm(v.x, 5, lfuse_none(), lfuse_none(), 0), SHAPE,                                 \
      "axis 1 of f32 [batch, 64] does not divide into 5 groups")                                                       \
    X(groupnorm_zero, lfuse_groupnorm(v.x, 0, lfuse_none(), lfuse_none(), 0), SHAPE, "into 0 groups")                  \
    X(groupnorm_weight, lfuse_groupnorm(v.x, 4, v.w, lfuse_none(), 0), SHAPE, "where [64] is needed")                  \
    X(l2_normalize_integers, lfuse_l2_normalize(v.i, 1, ((const int[]){0}), 0), TYPE, "lfuse_l2_normalize")            \
    X(reshape_count, lfuse_reshape(v.w, 2, LFUSE_DIMS(64, 11)), SHAPE,                                                 \
      "lfuse_reshape: f32 [64, 10] does not have as many elements as [64, 11]")                                        \
    X(reshape_variable, lfuse_reshape(v.x, 1, LFUSE_DIMS(64)), SHAPE, "f32 [batch, 64] does not have as many")         \
    X(reshape_other_variable, lfuse_reshape(v.x, 2, LFUSE_DIMS(lfuse_size_var(v.g, "n", 1, 4096), 64)), SHAPE,         \
      "as many elements as [n, 64]")                                                                                   \
    X(reshape_two_open, lfuse_reshape(v.w, 3, LFUSE_DIMS(LFUSE_REST, 2, LFUSE_REST)), SHAPE,                           \
      "extents 0 and 2 are both left open")                                                                            \
    X(reshape_open, lfuse_reshape(v.x, 2, LFUSE_DIMS(LFUSE_REST, 7)), SHAPE, "[-1, 7], whatever extent 0 is")          \
    X(reshape_open_empty, lfuse_reshape(lfuse_input(v.g, "y", LFUSE_F32, 1, LFUSE_DIMS(0)), 2,                         \
                                        LFUSE_DIMS(0, LFUSE_REST)), SHAPE, "whatever extent 1 is")                     \
    X(reshape_negative, lfuse_reshape(v.w, 1, LFUSE_DIMS(-2)), SHAPE, "extent -2 is negative")                         \
    X(reshape_rank, lfuse_reshape(v.w, 9, HUGE_SHAPE), RANK, "rank 9")                                                 \
    X(reshape_null, lfuse_reshape(v.w, 1, NULL), INVALID, "shape is NULL")                                             \
    X(reshape_list, lfuse_reshape(v.list, 1, LFUSE_DIMS(4)), RANK, "lfuse_reshape: the members of a list")             \
    X(reshape_number, lfuse_reshape(v.number, 1, LFUSE_DIMS(1)), TYPE, "without a type")                               \
    X(flatten_range, lfuse_flatten(v.x, 0, 2), SHAPE, "lfuse_flatten: axis 2 of rank 2")                               \
    X(flatten_order, lfuse_flatten(v.x, 1, 0), SHAPE, "axis 1 does not come before axis 0")                            \
    X(squeeze_extent, lfuse_squeeze(v.x, 1), SHAPE, "axis 1 of f32 [batch, 64] is not of extent 1")                    \
    X(squeeze_range, lfuse_squeeze(v.x, 2), SHAPE, "lfuse_squeeze: axis 2 of rank 2")                                  \
    X(unsqueeze_range, lfuse_unsqueeze(v.x, 3), SHAPE, "lfuse_unsqueeze: axis 3 of rank 3")                            \
    X(unsqueeze_rank, lfuse_unsqueeze(lfuse_broadcast_to(v.zero_d, 8, LFUSE_DIMS(1, 1, 1, 1, 1, 1, 1, 1)), 0), RANK,   \
      "rank 9 is not in 0 ... 8")                                                                                      \
    X(slice_step, lfuse_slice(v.x, 1, 0, 4, 0), INVALID, "lfuse_slice: the step is 0")                                 \
    X(slice_axis, lfuse_slice(v.x, 2, 0, 4, 1), SHAPE, "axis 2 of rank 2")                                             \
    X(slice_leaves, lfuse_slice(v.x, 1, 60, 5, 1), SHAPE,                                                              \
      "lfuse_slice: 5 elements from 60 on in steps of 1 leave axis 1 of f32 [batch, 64]")                              \
    X(slice_steps_leave, lfuse_slice(v.x, 1, 0, 4, 22), SHAPE, "4 elements from 0 on in steps of 22 leave axis 1")     \
    X(slice_backwards, lfuse_slice(v.x, 1, 3, 5, -1), SHAPE, "5 elements from 3 on in steps of -1 leave axis 1")       \
    X(slice_starts_behind, lfuse_slice(v.x, 1, 64, 2, -1), SHAPE, "2 elements from 64 on in steps of -1 leave axis 1") \
    X(slice_before, lfuse_slice(v.x, 1, -65, 1, 1), SHAPE, "1 elements from -1 on")                                    \
    X(slice_empty, lfuse_slice(v.x, 1, 65, 0, 1), SHAPE, "0 elements from 65 on")                                      \
    X(slice_variable, lfuse_slice(v.x, 0, 1, 1, 1), SHAPE, "1 elements from 1 on in steps of 1 may leave axis 0")      \
    X(slice_huge_step, lfuse_slice(v.x, 1, 0, 3, INT64_MIN), SHAPE, "may leave axis 1")                                \
    X(slice_count, lfuse_slice(v.x, 1, 0, -3, 1), SHAPE, "extent -3 is negative")                                      \
    X(slice_foreign, lfuse_slice(v.x, 1, 0, v.foreign_size, 1), INVALID, "another graph")                              \
    X(slice_list, lfuse_slice(v.list, 0, 0, 1, 1), RANK, "flat")                                                       \
    X(split_sum, lfuse_split(v.x, 1, 2, LFUSE_DIMS(32, 31), (lfuse_value[2]){{0}}), SHAPE,                             \
      "lfuse_split: 2 parts of together 63 elements of axis 1 of f32 [batch, 64]")                                     \
    X(split_none, lfuse_split(v.x, 1, 0, LFUSE_DIMS(32), (lfuse_value[1]){{0}}), INVALID, "0 parts")                   \
    X(split_null, lfuse_split(v.x, 1, 1, NULL, (lfuse_value[1]){{0}}), INVALID, "the sizes are NULL")                  \
    X(split_null_parts, lfuse_split(v.x, 1, 1, LFUSE_DIMS(64), NULL), INVALID, "the parts are NULL")                   \
    X(split_negative, lfuse_split(v.x, 1, 2, LFUSE_DIMS(65, -1), (lfuse_value[2]){{0}}), SHAPE, "extent -1")           \
    X(chunk_variable, lfuse_chunk(v.x, 0, 2, (lfuse_value[2]){{0}}), SHAPE,                                            \
      "lfuse_chunk: axis 0 of f32 [batch, 64] has no 2 equal parts, whatever the sizes are")                           \
    X(chunk_none, lfuse_chunk(v.x, 1, 0, (lfuse_value[1]){{0}}), INVALID, "0 parts")                                   \
    X(chunk_null, lfuse_chunk(v.x, 1, 2, NULL), INVALID, "the parts are NULL")                                         \
    X(chunk_negative, lfuse_chunk(v.x, 0, -2, (lfuse_value[1]){{0}}), INVALID, "-2 parts")                             \
    X(flip_twice, lfuse_flip(v.x, 2, ((const int[]){0, -2})), SHAPE, "lfuse_flip: axis 0 is named twice")              \
    X(concat_types, lfuse_concat(2, ((const lfuse_value[]){v.i, v.h}), 0), TYPE,                                       \
      "lfuse_concat: types differ: i32 [64] and f16 [64]")                                                             \
    X(concat_ranks, lfuse_concat(2, ((const lfuse_value[]){v.x, lfuse_input(v.g, "y", LFUSE_F32, 1, LFUSE_DIMS(64))}), \
                                 1), RANK, "ranks differ: f32 [batch, 64] and f32 [64]")                               \
    X(concat_shapes, lfuse_concat(2, ((const lfuse_value[]){v.x, v.w}), 0), SHAPE,                                     \
      "f32 [batch, 64] and f32 [64, 10]")                                                                              \
    X(concat_axis, lfuse_concat(2, ((const lfuse_value[]){v.x, v.x}), 2), SHAPE, "axis 2 of rank 2")                   \
    X(concat_foreign, lfuse_concat(2, ((const lfuse_value[]){v.x, v.foreign}), 0), INVALID, "operand 2 belongs to")    \
    X(concat_rank_zero, lfuse_concat(2, ((const lfuse_value[]){v.zero_d, v.zero_d}), 0), SHAPE, "axis 0 of rank 0")    \
    X(concat_list, lfuse_concat(1, &v.list, 0), RANK, "lfuse_concat: the members of a list")                           \
    X(concat_nothing, lfuse_output(v.g, "y", lfuse_concat(0, NULL, 0)), INVALID, "belongs to no graph")                \
    X(stack_shapes, lfuse_stack(2, ((const lfuse_value[]){v.x, v.w}), 0), SHAPE,                                       \
      "lfuse_stack: shapes differ: f32 [batch, 64] and f32 [64, 10]")                                                  \
    X(stack_axis, lfuse_stack(2, ((const lfuse_value[]){v.x, v.x}), 3), SHAPE, "axis 3 of rank 3")                     \
    X(pad_negative, lfuse_pad(v.x, LFUSE_DIMS(0, -1), NULL, 0), SHAPE, "lfuse_pad: extent -1 is negative")             \
    X(pad_list, lfuse_pad(v.list, NULL, NULL, 0), RANK, "flat")                                                        \
    X(select_type, lfuse_index_select(v.w, 1, v.h, LFUSE_INDEX_FROM_END), TYPE, "indices are i32 or i64, not f16")     \
    X(select_axis, lfuse_index_select(v.w, 2, v.i, LFUSE_INDEX_PLAIN), SHAPE, "lfuse_index_select: axis 2 of rank 2")  \
    X(select_mode, lfuse_index_select(v.w, 1, v.i, (lfuse_index_mode)7), INVALID, "7 is no mode of indices")           \
    X(select_rank, lfuse_index_select(lfuse_input(v.g, "y", LFUSE_F32, 8, LFUSE_DIMS(1, 1, 1, 1, 1, 1, 1, 1)), 0,      \
                                      lfuse_input(v.g, "k", LFUSE_I32, 2, LFUSE_DIMS(1, 1)), LFUSE_INDEX_PLAIN), RANK, \
      "lfuse_index_select: rank 9")                                                                                    \
    X(select_list, lfuse_index_select(v.list, 0, v.i, LFUSE_INDEX_PLAIN), RANK, "the members of a list")               \
    X(select_number, lfuse_index_select(v.zero_d, 0, v.i, LFUSE_INDEX_PLAIN), SHAPE, "axis 0 of rank 0")               \
    X(take_type, lfuse_take_along(v.h, 0, v.h, LFUSE_INDEX_PLAIN), TYPE, "indices are i32 or i64, not f16")            \
    X(take_rank, lfuse_take_along(v.x, 0, v.i, LFUSE_INDEX_PLAIN), RANK, "a has rank 2, the indices have rank 1")      \
    X(take_shape, lfuse_take_along(v.w, 0, lfuse_input(v.g, "k", LFUSE_I32, 2, LFUSE_DIMS(5, 9)), LFUSE_INDEX_PLAIN),  \
      SHAPE, "lfuse_take_along: from i32 [5, 9] to [5, 10]: axis 1 cannot repeat")                                     \
    X(take_mode, lfuse_take_along(v.i, 0, v.i, (lfuse_index_mode)-1), INVALID, "-1 is no mode of indices")             \
    X(range_step, lfuse_slice_range(v.w, 0, 0, 5, 0), INVALID, "lfuse_slice_range: the step is 0")                     \
    X(range_axis, lfuse_slice_range(v.w, -3, 0, 5, 1), SHAPE, "lfuse_slice_range: axis -3 of rank 2")                  \
    X(range_open, lfuse_slice_range(v.x, 0, 2, LFUSE_OPEN, 1), SHAPE, "where the slice ends depends on the values")    \
    X(range_count, lfuse_slice_range(v.x, 0, LFUSE_OPEN, LFUSE_OPEN, 2), SHAPE, "how many elements there are")         \
    X(range_foreign, lfuse_slice_range(v.w, 0, v.foreign_size, LFUSE_OPEN, 1), INVALID, "of another graph")            \
    X(range_list, lfuse_slice_range(v.list, 0, 0, 1, 1), RANK, "the members of a list")                                \
    X(edge_negative, lfuse_pad_edge(v.w, LFUSE_DIMS(0, -1), NULL), SHAPE, "lfuse_pad_edge: extent -1 is negative")     \
    X(edge_empty, lfuse_pad_edge(lfuse_input(v.g, "y", LFUSE_F32, 1, LFUSE_DIMS(0)), LFUSE_DIMS(1), NULL), SHAPE,      \
      "lfuse_pad_edge: 1 elements from 0")                                                                             \
    X(mirror_negative, lfuse_pad_reflect(v.w, NULL, LFUSE_DIMS(-2, 0)), SHAPE, "extent -2 is negative")                \
    X(mirror_empty, lfuse_pad_reflect(lfuse_input(v.g, "y", LFUSE_F32, 1, LFUSE_DIMS(0)), LFUSE_DIMS(1), NULL), SHAPE, \
      "axis 0 of f32 [0] is empty: there is nothing to mirror")                                                        \
    X(mirror_type, lfuse_pad_reflect(v.number, NULL, NULL), TYPE, "a number without a type")                           \
    X(power_negative, lfuse_pow(v.i, lfuse_constant(v.g, -2)), INVALID, "lfuse_pow: i32 to the power of -2")           \
    X(power_of_numbers, lfuse_powi(v.i, lfuse_neg(lfuse_constant(v.g, 1))), INVALID, "i32 to the power of -1")         \
    X(power_cast, lfuse_pow(v.i, lfuse_cast(lfuse_constant(v.g, -3), LFUSE_I32)), INVALID, "i32 to the power of -3")   \
    X(power_bool, lfuse_pow(v.b, v.b), TYPE, "lfuse_pow: does not take type bool")                                     \
    X(hardsigmoid_type, lfuse_hardsigmoid_with(v.i, v.i, v.i), TYPE, "lfuse_hardsigmoid_with: does not take type i32") \
    X(gather_type, lfuse_gather(v.w, v.h), TYPE, "lfuse_gather: indices are i32 or i64, not f16")                      \
    X(gather_bool, lfuse_gather(v.w, v.b), TYPE, "not bool")                                                           \
    X(gather_rank_zero, lfuse_gather(v.zero_d, v.i), RANK, "a table of rank 0 has no rows")                            \
    X(gather_rank, lfuse_gather(lfuse_broadcast_to(v.zero_d, 8, LFUSE_DIMS(1, 1, 1, 1, 1, 1, 1, 1)),                   \
                                lfuse_unsqueeze(v.i, 0)), RANK, "rank 9 (rows of rank 7 by indices of rank 2)")        \
    X(gather_list, lfuse_gather(v.list, v.i), RANK, "flat")                                                            \
    X(gather_foreign, lfuse_gather(v.w, v.foreign), INVALID, "operand 2 belongs to another graph")                     \
    X(scatter_shape, lfuse_scatter_add(v.x, v.i, 5), SHAPE,                                                            \
      "the source f32 [batch, 64] does not begin with the shape of the indices i32 [64]")                              \
    X(scatter_type, lfuse_scatter_add(v.w, v.h, 5), TYPE, "lfuse_scatter_add: indices are i32 or i64, not f16")        \
    X(scatter_bool, lfuse_scatter_add(v.b, v.i, 5), TYPE, "does not take type bool")                                   \
    X(scatter_rows, lfuse_scatter_add(v.w, v.i, -5), SHAPE, "extent -5 is negative")                                   \
    X(scatter_rank, lfuse_scatter_add(lfuse_broadcast_to(v.zero_d, 8, LFUSE_DIMS(1, 1, 1, 1, 1, 1, 1, 1)),             \
                                      lfuse_cast(v.zero_d, LFUSE_I32), 5), RANK, "rank 9")                             \
    X(extent_negative, lfuse_extent(v.g, -1), SHAPE, "lfuse_extent: extent -1")                                        \
    X(index_foreign, lfuse_index(v.g, 1, LFUSE_DIMS(v.foreign_size)), INVALID, "lfuse_index: a size variable of")      \
    X(output_number, lfuse_output(v.g, "y", v.number), TYPE, "\"y\" is a number")                                      \
    X(output_foreign, lfuse_output(v.g, "y", v.foreign), INVALID, "another graph")                                     \
    X(output_nothing, lfuse_output(v.g, "y", ((lfuse_value){NULL, 0})), INVALID, "no graph")                           \
    X(output_null_graph, lfuse_output(NULL, "y", v.x), INVALID, "the graph is NULL")                                   \
    X(output_name, lfuse_output(v.g, "x", v.x), NAME, "\"x\"")                                                         \
    X(output_null_name, lfuse_output(v.g, NULL, v.x), INVALID, "the name is NULL")                                     \
    X(update_frozen, lfuse_update(v.w, v.w), INVALID, "frozen")                                                        \
    X(update_scalar, lfuse_update(v.number, v.x), INVALID, "a number")                                                 \
    X(update_computed, lfuse_update(lfuse_neg(v.x), v.x), INVALID, "no input or list")                                 \
    X(update_type, lfuse_update(v.h, v.i), TYPE, "\"h\" is f16 [64], its new value i32 [64]")                          \
    X(update_shape, lfuse_update(v.x, v.w), SHAPE, "\"x\" is f32 [batch, 64], its new value f32 [64, 10]")             \
    X(update_by_number, lfuse_update(v.x, v.number), SHAPE, "its new value f32 []")                                    \
    X(update_list, lfuse_update(v.list, lfuse_member_sum(v.list)), SHAPE, "a list of f32 numbers")                     \
    X(update_foreign, lfuse_update(v.x, v.foreign), INVALID, "another graph")                                          \
    X(update_twice, (lfuse_update(v.x, lfuse_neg(v.x)), lfuse_update(v.x, v.x)), STATE, "\"x\" has an update already")

#define MISTAKE_TEST(name, action, code, words)                                                                        \
    TEST(mistake_##name)                                                                                               \
    {                                                                                                                  \
        (void)(action);                                                                                                \
        ck_assert_int_eq(lfuse_graph_check(v.g), LFUSE_ERR_##code);                                                    \
        ck_assert_msg(strstr(lfuse_last_error(), words), "message: %s", lfuse_last_error());                           \
        ck_assert_ptr_null(strchr(lfuse_last_error(), '\n'));                                                          \
    }
TEST_CASE("mistakes", .setup = make)

MISTAKES(MISTAKE_TEST)

TEST(null_graph)
{
    lfuse_value x = lfuse_input(NULL, "x", LFUSE_F32, 0, NULL);

    ck_assert_int_lt(x.id, 0);
    x = lfuse_add(x, lfuse_constant(NULL, 1));
    x = lfuse_where(x, lfuse_scalar(NULL, "s"), lfuse_frozen(NULL, "f", LFUSE_F32, 0, NULL));
    x = lfuse_sum(lfuse_permute(lfuse_transpose(x), NULL), 1, NULL, 0);
    x = lfuse_matmul(lfuse_member_sum(lfuse_list_input(NULL, "l", LFUSE_F32, -1)), lfuse_cast(x, LFUSE_F16));
    ck_assert_int_lt(lfuse_broadcast_to(x, 0, NULL).id, 0);
    lfuse_output(NULL, "y", x);
    lfuse_update(x, x);
    ck_assert_int_eq(lfuse_size_add(NULL, lfuse_size_var(NULL, "n", 0, 1), lfuse_size_mul(NULL, 1, 2)), -1);
    ck_assert_int_eq(lfuse_graph_check(NULL), LFUSE_ERR_INVALID);
    lfuse_graph_destroy(NULL);
}

TEST(first_mistake_stays)
{
    lfuse_value poisoned = lfuse_matmul(v.x, v.x);
    ck_assert_int_lt(poisoned.id, 0);
    ck_assert_int_lt(lfuse_relu(lfuse_add(poisoned, v.h)).id, 0);
    lfuse_output(v.g, "y", poisoned);
    ck_assert_int_ge(lfuse_neg(v.x).id, 0);
    ck_assert_int_lt(lfuse_add(v.b, v.b).id, 0);
    ck_assert_int_eq(lfuse_graph_check(v.g), LFUSE_ERR_SHAPE);
    ck_assert_str_eq(lfuse_last_error(),
                     "lfuse_matmul: inner extents differ: a is f32 [batch, 64], b is f32 [batch, 64]");
}

TEST(foreign_operand_poisons_both)
{
    lfuse_add(v.x, v.foreign);
    ck_assert_int_eq(lfuse_graph_check(v.g), LFUSE_ERR_INVALID);
    ck_assert_int_eq(lfuse_graph_check(v.other), LFUSE_ERR_INVALID);
}

TEST(failed_name_leaves_none)
{
    int32_t names = v.g->nnames;
    lfuse_input(v.g, "huge", LFUSE_F32, 2, HUGE_SHAPE);
    ck_assert_int_eq(v.g->nnames, names);
}

TEST(number_without_end)
{
    lfuse_graph *g = new_graph();
    lfuse_value x = lfuse_scalar(g, "s");

    for (int i = 0; i < 40; i++) x = lfuse_mul(x, x);
    ck_assert_int_eq(lfuse_graph_check(g), LFUSE_ERR_OVERFLOW);
}

TEST(too_many_values)
{
    lfuse_graph *g = new_graph();
    lfuse_value x = lfuse_input(g, "x", LFUSE_F32, 0, NULL);

    for (int i = 1; i < LFUSE__MAX_NODES; i++) x = lfuse_neg(x);
    OK(lfuse_graph_check(g));
    ck_assert_int_lt(lfuse_neg(x).id, 0);
    ck_assert_int_eq(lfuse_graph_check(g), LFUSE_ERR_OVERFLOW);
}

static const lfuse__node *node(lfuse_value of)
{
    ck_assert_int_ge(of.id, 0);
    return &of.graph->nodes[of.id];
}

TEST_CASE("values", .setup = make)

TEST(numbers_adopt_types)
{
    lfuse_value r = lfuse_mul(v.number, lfuse_constant(v.g, 2));
    ck_assert_int_eq(node(r)->type, LFUSE_TYPE_NONE);
    ck_assert_int_eq(node(lfuse_lt(v.number, r))->type, LFUSE_TYPE_NONE);
    r = lfuse_add(v.h, r);
    ck_assert_int_eq(node(r)->type, LFUSE_F16);
    ck_assert_int_eq(v.g->nodes[node(r)->in[1]].kind, LFUSE__CAST);
    ck_assert_int_eq(v.g->nodes[node(r)->in[1]].type, LFUSE_F32);
    ck_assert_int_eq(node(lfuse_add(v.zero_d, v.number))->type, LFUSE_F64);
    ck_assert_int_eq(node(lfuse_gt(v.h, v.number))->type, LFUSE_BOOL);
    ck_assert_int_eq(node(lfuse_where(lfuse_gt(v.x, v.number), v.x, v.number))->type, LFUSE_F32);
    ck_assert_int_eq(node(lfuse_where(v.number, v.h, v.number))->type, LFUSE_F16);
    ck_assert_int_eq(node(lfuse_where(v.number, v.number, v.number))->type, LFUSE_TYPE_NONE);
    ck_assert_int_eq(node(lfuse_where(v.b, v.number, v.number))->type, LFUSE_F32);
    ck_assert_int_eq(node(lfuse_where(lfuse_gt(v.list, v.number), v.number, v.number))->type, LFUSE_F32);
    ck_assert_int_eq(node(lfuse_where(v.b, v.number, lfuse_cast(v.number, LFUSE_I64)))->type, LFUSE_I64);
    ck_assert_int_eq(node(lfuse_full_like(v.b, v.number))->type, LFUSE_BOOL);
    ck_assert_int_eq(node(lfuse_clamp(v.i, v.number, lfuse_constant(v.g, 6)))->type, LFUSE_I32);
    ck_assert_int_eq(node(lfuse_pow(v.number, v.h))->type, LFUSE_F16);
    ck_assert_int_eq(node(lfuse_fma(v.number, v.x, v.number))->type, LFUSE_F32);
    ck_assert_int_eq(node(lfuse_eq(v.b, v.b))->type, LFUSE_BOOL);
    ck_assert_int_eq(node(lfuse_cast(v.number, LFUSE_BF16))->rank, 0);
    ck_assert_int_eq(lfuse_cast(v.x, LFUSE_F32).id, v.x.id);
    lfuse_update(v.zero_d, v.number);
    OK(lfuse_graph_check(v.g));
}

TEST(lists_take_numbers)
{
    lfuse_value sum = lfuse_member_sum(v.list);
    ck_assert(node(sum)->list);
    ck_assert_int_eq(node(sum)->rank, 0);
    lfuse_value r = lfuse_sqrt(lfuse_mul(sum, v.number));
    ck_assert(node(r)->list);
    ck_assert_int_eq(node(r)->rank, 0);
    r = lfuse_mul(r, lfuse_list_input(v.g, "rate", LFUSE_F32, 0));
    ck_assert(node(r)->list);
    ck_assert_int_eq(node(r)->rank, 0);
    ck_assert_int_eq(node(lfuse_full_like(v.list, v.number))->rank, LFUSE_RANK_ANY);
    r = lfuse_sub(v.list, lfuse_mul(r, v.zero_d));
    ck_assert(node(r)->list);
    ck_assert_int_eq(node(r)->rank, LFUSE_RANK_ANY);
    ck_assert_int_eq(node(r)->type, LFUSE_F32);
    ck_assert_int_eq(node(lfuse_cast(r, LFUSE_F16))->rank, LFUSE_RANK_ANY);
    lfuse_update(v.list, r);
    OK(lfuse_graph_check(v.g));
}

/* ---- lines.c ---- */

TEST(lines_of_lists)
{
    lfuse_value x = lfuse_list_input(v.g, "matrix", LFUSE_F16, LFUSE_RANK_MATRIX);
    lfuse_value rows = lfuse_member_row_sum(x); /* kept in f32, rounded once */
    ck_assert_int_eq(node(rows)->type, LFUSE_F16);
    ck_assert_int_eq(node(rows)->rank, LFUSE_RANK_ROWS);
    ck_assert_int_eq(v.g->nodes[node(rows)->in[0]].type, LFUSE_F32);
    lfuse_value columns = lfuse_member_column_mean(x);
    ck_assert_int_eq(node(columns)->rank, LFUSE_RANK_COLUMNS);
    lfuse_value matrices = lfuse_member_row_sum(columns);
    ck_assert_int_eq(node(matrices)->rank, LFUSE_RANK_MATRICES);
    ck_assert_int_eq(node(lfuse_member_row_sum(lfuse_gt(x, v.number)))->type, LFUSE_I64);
    ck_assert_int_eq(node(lfuse_mul(rows, lfuse_mul(x, columns)))->rank, LFUSE_RANK_MATRIX);
    ck_assert_int_eq(node(lfuse_mul(rows, matrices))->rank, LFUSE_RANK_ROWS);
    ck_assert_int_eq(node(lfuse_mul(matrices, columns))->rank, LFUSE_RANK_COLUMNS);
    ck_assert_int_eq(node(lfuse_mul(matrices, lfuse_member_sum(x)))->rank, LFUSE_RANK_MATRICES);
    lfuse_value r = lfuse_member_rows(lfuse_mul(lfuse_mul(x, columns), rows));
    ck_assert_int_eq(node(r)->type, LFUSE_I64);
    ck_assert_int_eq(node(r)->rank, 0);
    ck_assert_int_eq(node(r)->in[0], x.id);
    OK(lfuse_graph_check(v.g));
}

static void lines_refuse(lfuse_status status, int which)
{
    lfuse_value x = lfuse_list_input(v.g, "matrix", LFUSE_F32, LFUSE_RANK_MATRIX);
    lfuse_value rows = lfuse_list_input(v.g, "rows", LFUSE_F32, LFUSE_RANK_ROWS);
    switch (which) {
    case 0: lfuse_mul(rows, lfuse_member_column_sum(x)); break;
    case 1: lfuse_mul(x, v.list); break;
    case 2: lfuse_member_row_sum(v.list); break;
    case 3: lfuse_member_column_sum(rows); break;
    case 4: lfuse_member_row_mean(rows); break;
    case 5: lfuse_member_elements(rows); break;
    case 6: lfuse_member_columns(v.list); break;
    case 7: lfuse_list_input(v.g, "other", LFUSE_F32, LFUSE_RANK_MATRICES - 1); break;
    case 8: lfuse_update(rows, lfuse_mul(rows, x)); break;
    case 9: lfuse_member_row_sum(lfuse_member_row_sum(rows)); break;
    case 10: lfuse_member_column_mean(lfuse_cast(x, LFUSE_I32)); break;
    default: lfuse_member_rank(v.x); break;
    }
    ck_assert_msg(lfuse_graph_check(v.g) == status, "%d: %s", which, lfuse_last_error());
}

TEST_LOOP(lines_are_refused, 0, 12)
{
    static const lfuse_status wanted[] = {LFUSE_ERR_SHAPE, LFUSE_ERR_SHAPE, LFUSE_ERR_RANK, LFUSE_ERR_RANK,
                                          LFUSE_ERR_RANK, LFUSE_ERR_RANK, LFUSE_ERR_RANK, LFUSE_ERR_RANK,
                                          LFUSE_ERR_SHAPE, LFUSE_ERR_RANK, LFUSE_ERR_TYPE, LFUSE_ERR_RANK};

    lines_refuse(wanted[_i], _i);
}

TEST(reductions_of_lists)
{
    lfuse_value half = lfuse_cast(v.list, LFUSE_F16);
    lfuse_value r = lfuse_member_sum(half); /* kept in f32, rounded once */
    ck_assert_int_eq(node(r)->type, LFUSE_F16);
    ck_assert_int_eq(v.g->nodes[node(r)->in[0]].type, LFUSE_F32);
    ck_assert_int_eq(node(lfuse_member_amax(half))->type, LFUSE_F16);
    ck_assert_int_eq(node(lfuse_member_sum(lfuse_cast(v.list, LFUSE_U8)))->type, LFUSE_I64);
    ck_assert_int_eq(node(lfuse_member_sum(lfuse_gt(v.list, v.number)))->type, LFUSE_I64);
    ck_assert_int_eq(node(lfuse_member_all(half))->type, LFUSE_BOOL);
    r = lfuse_member_elements(lfuse_neg(v.list));
    ck_assert_int_eq(node(r)->type, LFUSE_I64);
    ck_assert_int_eq(v.g->nodes[node(r)->in[0]].kind, LFUSE__LIST);
    r = lfuse_list_norm_l2(half);
    ck_assert(!node(r)->list);
    ck_assert_int_eq(node(r)->rank, 0);
    ck_assert_int_eq(node(r)->type, LFUSE_F16);
    ck_assert_int_eq(node(lfuse_list_sum(lfuse_member_norm(v.list, 3)))->rank, 0);
    ck_assert_int_eq(node(lfuse_mul(v.list, lfuse_list_norm(v.list, -INFINITY)))->rank, LFUSE_RANK_ANY);
    OK(lfuse_graph_check(v.g));
}

TEST_SUITE("build", CK_FORK_GETENV)
