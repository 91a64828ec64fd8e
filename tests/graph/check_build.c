/* SPDX-License-Identifier: Apache-2.0 */
/* Every mistake in building a graph has its own status and names the call, the operands and the numbers. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "common/graph/graph.h"
#include "libfuse/ops.h"
#include "tests/support/main.h"

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

static void world_make(world *v)
{
    v->g = lfuse_graph_create();
    v->other = lfuse_graph_create();
    ck_assert(v->g && v->other);
    v->batch = lfuse_size_var(v->g, "batch", 1, 4096);
    v->foreign_size = lfuse_size_var(v->other, "batch", 1, 4096);
    v->x = lfuse_input(v->g, "x", LFUSE_F32, 2, LFUSE_DIMS(v->batch, 64));
    v->w = lfuse_frozen(v->g, "w", LFUSE_F32, 2, LFUSE_DIMS(64, 10));
    v->i = lfuse_input(v->g, "i", LFUSE_I32, 1, LFUSE_DIMS(64));
    v->b = lfuse_input(v->g, "b", LFUSE_BOOL, 1, LFUSE_DIMS(64));
    v->h = lfuse_input(v->g, "h", LFUSE_F16, 1, LFUSE_DIMS(64));
    v->zero_d = lfuse_input(v->g, "zero", LFUSE_F64, 0, NULL);
    v->list = lfuse_list_input(v->g, "list", LFUSE_F32, LFUSE_RANK_ANY);
    v->number = lfuse_scalar(v->g, "alpha");
    v->foreign = lfuse_constant(v->other, 1);
    ck_assert_int_eq(lfuse_graph_check(v->g), LFUSE_OK);
    ck_assert_int_eq(lfuse_graph_check(v->other), LFUSE_OK);
}

static void world_free(world *v)
{
    lfuse_graph_destroy(v->g);
    lfuse_graph_destroy(v->other);
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
      "a is f16 [64], low is f16 [3], high is f16 []")                                                                 \
    X(choices_without_type, lfuse_where(v.b, v.number, v.number), TYPE, "both choices are numbers")                    \
    X(shapes_differ, lfuse_add(v.x, lfuse_input(v.g, "y", LFUSE_F32, 1, LFUSE_DIMS(10))), SHAPE,                       \
      "a is f32 [batch, 64], b is f32 [10]")                                                                           \
    X(variable_is_no_one, lfuse_add(v.w, lfuse_input(v.g, "y", LFUSE_F32, 2, LFUSE_DIMS(v.batch, 10))), SHAPE,         \
      "[batch, 10]")                                                                                                   \
    X(broadcast_overflow, lfuse_add(lfuse_input(v.g, "p", LFUSE_F32, 2, LFUSE_DIMS(HUGE_SHAPE[0], 1)),                 \
                                    lfuse_input(v.g, "q", LFUSE_F32, 1, HUGE_SHAPE)), OVERFLOW, "lfuse_add")           \
    X(cast_type, lfuse_cast(v.x, (lfuse_type)99), TYPE, "lfuse_cast: 99 is no element type")                             \
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
    X(sum_number, lfuse_sum(v.number, 0, NULL, 0), TYPE, "without a type")                                             \
    X(sum_list, lfuse_sum(v.list, 0, NULL, 0), RANK, "lfuse_member_sum")                                               \
    X(member_sum_tensor, lfuse_member_sum(v.x), RANK, "no list of tensors but f32 [batch, 64]")                        \
    X(member_sum_twice, lfuse_member_sum(lfuse_member_sum(v.list)), RANK, "a list of f32 numbers")                     \
    X(matmul_rank, lfuse_matmul(v.x, v.h), RANK, "a is f32 [batch, 64], b is f16 [64]")                                \
    X(matmul_number, lfuse_matmul(v.x, v.number), RANK, "b is a number")                                               \
    X(matmul_list, lfuse_matmul(v.list, v.w), RANK, "a is a list of f32")                                              \
    X(matmul_shape, lfuse_matmul(v.x, lfuse_input(v.g, "y", LFUSE_F32, 2, LFUSE_DIMS(32, 10))), SHAPE,                 \
      "lfuse_matmul: inner extents differ: a is f32 [batch, 64], b is f32 [32, 10]")                                   \
    X(matmul_types, lfuse_matmul(v.x, lfuse_input(v.g, "y", LFUSE_F16, 2, LFUSE_DIMS(64, 10))), TYPE, "types differ")  \
    X(matmul_integers, lfuse_matmul(lfuse_input(v.g, "p", LFUSE_I32, 2, LFUSE_DIMS(2, 2)),                             \
                                    lfuse_input(v.g, "q", LFUSE_I32, 2, LFUSE_DIMS(2, 2))), UNSUPPORTED, "i32")        \
    X(matmul_bool, lfuse_matmul(lfuse_input(v.g, "p", LFUSE_BOOL, 2, LFUSE_DIMS(2, 2)),                                \
                                lfuse_input(v.g, "q", LFUSE_BOOL, 2, LFUSE_DIMS(2, 2))), UNSUPPORTED, "bool")          \
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
    START_TEST(mistake_##name)                                                                                         \
    {                                                                                                                  \
        world v;                                                                                                       \
        world_make(&v);                                                                                                \
        (void)(action);                                                                                                \
        ck_assert_int_eq(lfuse_graph_check(v.g), LFUSE_ERR_##code);                                                    \
        ck_assert_msg(strstr(lfuse_last_error(), words), "message: %s", lfuse_last_error());                           \
        ck_assert_ptr_null(strchr(lfuse_last_error(), '\n'));                                                          \
        world_free(&v);                                                                                                \
    }                                                                                                                  \
    END_TEST
MISTAKES(MISTAKE_TEST)

START_TEST(null_graph)
{
    lfuse_value v = lfuse_input(NULL, "x", LFUSE_F32, 0, NULL);

    ck_assert_int_lt(v.id, 0);
    v = lfuse_add(v, lfuse_constant(NULL, 1));
    v = lfuse_where(v, lfuse_scalar(NULL, "s"), lfuse_frozen(NULL, "f", LFUSE_F32, 0, NULL));
    v = lfuse_sum(lfuse_permute(lfuse_transpose(v), NULL), 1, NULL, 0);
    v = lfuse_matmul(lfuse_member_sum(lfuse_list_input(NULL, "l", LFUSE_F32, -1)), lfuse_cast(v, LFUSE_F16));
    ck_assert_int_lt(lfuse_broadcast_to(v, 0, NULL).id, 0);
    lfuse_output(NULL, "y", v);
    lfuse_update(v, v);
    ck_assert_int_eq(lfuse_size_add(NULL, lfuse_size_var(NULL, "n", 0, 1), lfuse_size_mul(NULL, 1, 2)), -1);
    ck_assert_int_eq(lfuse_graph_check(NULL), LFUSE_ERR_INVALID);
    lfuse_graph_destroy(NULL);
}
END_TEST

START_TEST(first_mistake_stays)
{
    world v;
    lfuse_value poisoned;

    world_make(&v);
    poisoned = lfuse_matmul(v.x, v.x);
    ck_assert_int_lt(poisoned.id, 0);
    ck_assert_int_lt(lfuse_relu(lfuse_add(poisoned, v.h)).id, 0);
    lfuse_output(v.g, "y", poisoned);
    ck_assert_int_ge(lfuse_neg(v.x).id, 0);
    ck_assert_int_lt(lfuse_add(v.b, v.b).id, 0);
    ck_assert_int_eq(lfuse_graph_check(v.g), LFUSE_ERR_SHAPE);
    ck_assert_str_eq(lfuse_last_error(),
                     "lfuse_matmul: inner extents differ: a is f32 [batch, 64], b is f32 [batch, 64]");
    world_free(&v);
}
END_TEST

START_TEST(foreign_operand_poisons_both)
{
    world v;

    world_make(&v);
    lfuse_add(v.x, v.foreign);
    ck_assert_int_eq(lfuse_graph_check(v.g), LFUSE_ERR_INVALID);
    ck_assert_int_eq(lfuse_graph_check(v.other), LFUSE_ERR_INVALID);
    world_free(&v);
}
END_TEST

START_TEST(failed_name_leaves_none)
{
    world v;
    int32_t names;

    world_make(&v);
    names = v.g->nnames;
    lfuse_input(v.g, "huge", LFUSE_F32, 2, HUGE_SHAPE);
    ck_assert_int_eq(v.g->nnames, names);
    world_free(&v);
}
END_TEST

START_TEST(number_without_end)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_value v = lfuse_scalar(g, "s");
    int i;

    for (i = 0; i < 40; i++) v = lfuse_mul(v, v);
    ck_assert_int_eq(lfuse_graph_check(g), LFUSE_ERR_OVERFLOW);
    lfuse_graph_destroy(g);
}
END_TEST

START_TEST(too_many_values)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_value v = lfuse_input(g, "x", LFUSE_F32, 0, NULL);
    int i;

    for (i = 1; i < LFUSE__MAX_NODES; i++) v = lfuse_neg(v);
    ck_assert_int_eq(lfuse_graph_check(g), LFUSE_OK);
    ck_assert_int_lt(lfuse_neg(v).id, 0);
    ck_assert_int_eq(lfuse_graph_check(g), LFUSE_ERR_OVERFLOW);
    lfuse_graph_destroy(g);
}
END_TEST

static const lfuse__node *node(lfuse_value v)
{
    ck_assert_int_ge(v.id, 0);
    return &v.graph->nodes[v.id];
}

START_TEST(numbers_adopt_types)
{
    world v;
    lfuse_value r;

    world_make(&v);
    r = lfuse_mul(v.number, lfuse_constant(v.g, 2));
    ck_assert_int_eq(node(r)->type, LFUSE_TYPE_NONE);
    ck_assert_int_eq(node(lfuse_lt(v.number, r))->type, LFUSE_TYPE_NONE);
    r = lfuse_add(v.h, r);
    ck_assert_int_eq(node(r)->type, LFUSE_F16);
    ck_assert_int_eq(v.g->nodes[node(r)->in[1]].kind, LFUSE__CAST);
    ck_assert_int_eq(v.g->nodes[node(r)->in[1]].type, LFUSE_F16);
    r = lfuse_mul(v.zero_d, v.i);
    ck_assert_int_eq(node(r)->type, LFUSE_I32);
    ck_assert_int_eq(node(lfuse_add(v.zero_d, v.number))->type, LFUSE_F64);
    ck_assert_int_eq(node(lfuse_gt(v.h, v.number))->type, LFUSE_BOOL);
    ck_assert_int_eq(node(lfuse_where(lfuse_gt(v.x, v.number), v.x, v.number))->type, LFUSE_F32);
    ck_assert_int_eq(node(lfuse_where(v.number, v.h, v.number))->type, LFUSE_F16);
    ck_assert_int_eq(node(lfuse_where(v.number, v.number, v.number))->type, LFUSE_TYPE_NONE);
    ck_assert_int_eq(node(lfuse_clamp(v.i, v.number, lfuse_constant(v.g, 6)))->type, LFUSE_I32);
    ck_assert_int_eq(node(lfuse_pow(v.number, v.h))->type, LFUSE_F16);
    ck_assert_int_eq(node(lfuse_fma(v.number, v.x, v.number))->type, LFUSE_F32);
    ck_assert_int_eq(node(lfuse_eq(v.b, v.b))->type, LFUSE_BOOL);
    ck_assert_int_eq(node(lfuse_cast(v.number, LFUSE_BF16))->rank, 0);
    ck_assert_int_eq(lfuse_cast(v.x, LFUSE_F32).id, v.x.id);
    lfuse_update(v.zero_d, v.number);
    ck_assert_int_eq(lfuse_graph_check(v.g), LFUSE_OK);
    world_free(&v);
}
END_TEST

START_TEST(lists_take_numbers)
{
    world v;
    lfuse_value sum, r;

    world_make(&v);
    sum = lfuse_member_sum(v.list);
    ck_assert(node(sum)->list);
    ck_assert_int_eq(node(sum)->rank, 0);
    r = lfuse_sqrt(lfuse_mul(sum, v.number));
    ck_assert(node(r)->list);
    ck_assert_int_eq(node(r)->rank, 0);
    r = lfuse_sub(v.list, lfuse_mul(r, v.zero_d));
    ck_assert(node(r)->list);
    ck_assert_int_eq(node(r)->rank, LFUSE_RANK_ANY);
    ck_assert_int_eq(node(r)->type, LFUSE_F32);
    ck_assert_int_eq(node(lfuse_cast(r, LFUSE_F16))->rank, LFUSE_RANK_ANY);
    lfuse_update(v.list, r);
    ck_assert_int_eq(lfuse_graph_check(v.g), LFUSE_OK);
    world_free(&v);
}
END_TEST

static Suite *suite_build(void)
{
    Suite *s = suite_create("build");
    TCase *mistakes = tcase_create("mistakes"), *values = tcase_create("values");

#define MISTAKE_ADD(name, action, code, words) tcase_add_test(mistakes, mistake_##name);
    MISTAKES(MISTAKE_ADD)
    tcase_add_test(mistakes, null_graph);
    tcase_add_test(mistakes, first_mistake_stays);
    tcase_add_test(mistakes, foreign_operand_poisons_both);
    tcase_add_test(mistakes, failed_name_leaves_none);
    tcase_add_test(mistakes, number_without_end);
    tcase_add_test(mistakes, too_many_values);
    suite_add_tcase(s, mistakes);
    tcase_add_test(values, numbers_adopt_types);
    tcase_add_test(values, lists_take_numbers);
    suite_add_tcase(s, values);
    return s;
}

TEST_MAIN(CK_FORK_GETENV, suite_build)
