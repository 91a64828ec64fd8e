/* SPDX-License-Identifier: Apache-2.0 */
/* The canonical form, as it prints. */
#include "common/graph/build.h"
#include "libfuse/ops.h"
#include "tests/support/main.h"

static lfuse_graph *g;
static lfuse_value x, y;

static void make(void)
{
    g = lfuse_graph_create();
    x = lfuse_input(g, "x", F32(3, 4));
    y = lfuse_input(g, "y", F32(3, 4));
}

static void destroy(void)
{
    lfuse_graph_destroy(g);
}

/* The canonical form's values from the third on, without its frame. */
static void ck_output(lfuse_value v, const char *expected)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_graph *c;

    lfuse_output(g, "result", v);
    OK(lfuse__graph_canonical(g, &c));
    lfuse__graph_print_value(c, c->names[c->nnames - 1].node, &text);
    ck_assert_str_eq(text.data, expected);
    lfuse__strbuf_free(&text);
    lfuse_graph_destroy(c);
}

static lfuse_value number(double d)
{
    return lfuse_constant(g, d);
}

/* z [n, 4] for n from 2 on. */
static lfuse_value rows(void)
{
    return lfuse_input(g, "z", F32(lfuse_size_var(g, "n", 2, 99), 4));
}

/* The first two rows and the others, in this order or the other one. */
static lfuse_value parts_together(bool swapped)
{
    const lfuse_value z = rows();
    lfuse_size others;
    lfuse_value parts[3];

    ck_assert(lfuse__size_add(g, "test", LFUSE__SIZE_BASE, -2, &others));
    parts[0] = parts[2] = lfuse_slice(z, 0, 0, 2, 1);
    parts[1] = lfuse__build_slice(g, "test", z.id, 0, 2, others, 1);
    return lfuse_concat(2, parts + swapped, 0);
}

#define SIMPLIFIED(X)                                                                                                  \
    X(fold, lfuse_mul(x, lfuse_add(number(2), number(3))), "(mul x (f32 5))")                                          \
    X(fold_deep, lfuse_mul(x, lfuse_sqrt(lfuse_pow(number(2), number(4)))), "(mul x (f32 4))")                         \
    X(scalar_stays, lfuse_mul(x, lfuse_add(lfuse_scalar(g, "s"), lfuse_sub(number(2), number(3)))),                    \
      "(mul x (f32 (add s -1)))")                                                                                      \
    X(times_one, lfuse_mul(x, number(1)), "x")                                                                         \
    X(one_times, lfuse_mul(number(1), x), "x")                                                                         \
    X(over_one, lfuse_div(x, number(1)), "x")                                                                          \
    X(minus_zero, lfuse_sub(x, number(0)), "x")                                                                        \
    X(plus_minus_zero, lfuse_add(x, number(-0.0)), "x")                                                                \
    X(plus_zero_changes_minus_zero, lfuse_add(x, number(0)), "(add x (f32 0))")                                        \
    X(minus_minus_zero, lfuse_sub(x, number(-0.0)), "(sub x (f32 -0))")                                                \
    X(one_over, lfuse_div(number(1), x), "(div (f32 1) x)")                                                            \
    X(times_zero_stays, lfuse_mul(x, number(0)), "(mul x (f32 0))")                                                    \
    X(one_that_broadcasts, lfuse_mul(lfuse_sum(x, 1, (const int[]){1}, 1), lfuse_broadcast_to(                         \
      lfuse_cast(number(1), LFUSE_F32), 2, LFUSE_DIMS(3, 4))), "(mul (sum x 1) (broadcast (f32 1) 3x4))")              \
    X(permutes, lfuse_transpose(lfuse_transpose(x)), "x")                                                              \
    X(permute_identity, lfuse_permute(x, (const int[]){0, 1}), "x")                                                    \
    X(permute_composed, lfuse_permute(lfuse_permute(lfuse_broadcast_to(x, 3, LFUSE_DIMS(2, 3, 4)),                     \
      (const int[]){1, 2, 0}), (const int[]){1, 2, 0}), "(permute (broadcast x 2x3x4) 2,0,1)")                         \
    X(broadcast_identity, lfuse_broadcast_to(x, 2, LFUSE_DIMS(3, 4)), "x")                                             \
    X(broadcasts, lfuse_broadcast_to(lfuse_broadcast_to(x, 3, LFUSE_DIMS(1, 3, 4)), 3, LFUSE_DIMS(7, 3, 4)),           \
      "(broadcast x 7x3x4)")                                                                                           \
    X(casts_that_round_stay, lfuse_cast(lfuse_cast(x, LFUSE_F16), LFUSE_F32), "(f32 (f16 x))")                         \
    X(reshape_identity, lfuse_reshape(x, 2, LFUSE_DIMS(3, 4)), "x")                                                    \
    X(reshape_and_back, lfuse_reshape(lfuse_flatten(x, 0, 1), 2, LFUSE_DIMS(3, 4)), "x")                               \
    X(reshapes, lfuse_reshape(lfuse_flatten(x, 0, 1), 2, LFUSE_DIMS(2, 6)), "(reshape x 2x6)")                         \
    X(squeeze_unsqueeze, lfuse_squeeze(lfuse_unsqueeze(x, 1), 1), "x")                                                 \
    X(slice_whole, lfuse_slice(x, 1, 0, 4, 1), "x")                                                                    \
    X(slice_part, lfuse_slice(x, 1, 1, 2, 2), "(slice x 1 1:2:2)")                                                     \
    X(slice_one, lfuse_slice(x, 1, 3, 1, -2), "(slice x 1 3:1:1)")                                                     \
    X(slice_of_slice, lfuse_slice(lfuse_slice(x, 1, 3, 3, -1), 1, 1, 2, 1), "(slice x 1 2:2:-1)")                      \
    X(slices_of_two_axes, lfuse_slice(lfuse_slice(x, 1, 1, 3, 1), 0, 1, 2, 1),                                         \
      "(slice (slice x 1 1:3:1) 0 1:2:1)")                                                                             \
    X(flip_twice, lfuse_flip(lfuse_flip(x, 1, (const int[]){1}), 1, (const int[]){1}), "x")                            \
    X(flip_variable_twice, lfuse_flip(lfuse_flip(rows(), 1, (const int[]){0}), 1, (const int[]){0}), "z")              \
    X(flip_variable, lfuse_flip(rows(), 1, (const int[]){0}), "(slice z 0 n + -1:n:-1)")                               \
    X(split_and_concat, parts_together(false), "z")                                                                    \
    X(split_and_swap, parts_together(true), "(concat (slice z 0 2:n + -2:1) (slice z 0 0:2:1) 0)")                     \
    X(concat_of_nothing, lfuse_concat(2, (const lfuse_value[]){lfuse_slice(x, 0, 1, 0, 1), y}, 0), "y")                \
    X(concat_of_two_steps, lfuse_concat(2, (const lfuse_value[]){lfuse_slice(x, 1, 0, 2, 1),                           \
      lfuse_slice(x, 1, 2, 2, -1)}, 1), "(concat (slice x 1 0:2:1) (slice x 1 2:2:-1) 1)")                             \
    X(pad_of_nothing, lfuse_pad(x, LFUSE_DIMS(0, 0), NULL, 1), "x")                                                    \
    X(pad, lfuse_pad(x, LFUSE_DIMS(0, 1), LFUSE_DIMS(2, 0), 5),                                                        \
      "(concat (broadcast (f32 5) 5x1) (concat x (broadcast (f32 5) 2x4) 0) 1)")                                       \
    X(extent_number, lfuse_mul(x, lfuse_extent(g, 12)), "(mul x (f32 12))")                                            \
    X(extent_variable, lfuse_mul(x, lfuse_extent(g, lfuse_size_var(g, "n", 0, 9))), "(mul x (f32 (extent n)))")        \
    X(mean, lfuse_mean(x, 1, (const int[]){1}, 0), "(div (sum x 1) (f32 4))")                                          \
    X(mean_half, lfuse_mean(lfuse_cast(x, LFUSE_F16), 1, (const int[]){1}, 1),                                         \
      "(f16 (div (sum (f16 x) 1) (f32 4)))")                                                                           \
    X(sum_half, lfuse_sum(lfuse_cast(x, LFUSE_BF16), 1, (const int[]){0}, 0), "(bf16 (sum (bf16 x) 0))")               \
    X(sum_widened, lfuse_sum(lfuse_cast(lfuse_cast(x, LFUSE_I8), LFUSE_I64), 1, (const int[]){0}, 0),                  \
      "(sum (i8 x) 0)")                                                                                                \
    X(sum_narrowed_stays, lfuse_sum(lfuse_cast(x, LFUSE_I64), 1, (const int[]){0}, 0), "(sum (i64 x) 0)")              \
    X(var, lfuse_var(x, LFUSE_ALL_AXES, NULL, 1, 0),                                                                   \
      "(div (sum (mul (sub x (div (sum x 0,1) (f32 12))) (sub x (div (sum x 0,1) (f32 12)))) 0,1) (f32 11))")          \
    X(any, lfuse_any(x, 1, (const int[]){0}, 0), "(ne (sum (i32 (bool x)) 0) (i64 0))")                                \
    X(all, lfuse_all(x, 1, (const int[]){0}, 0), "(eq (sum (i32 (eq (bool x) (bool 0))) 0) (i64 0))")                  \
    X(norm_l1, lfuse_norm_l1(x, 1, (const int[]){0}, 0), "(sum (abs x) 0)")                                            \
    X(norm_l2, lfuse_norm_l2(x, 1, (const int[]){0}, 0), "(sqrt (sum (mul x x) 0))")                                   \
    X(norm_inf, lfuse_norm_inf(x, 1, (const int[]){0}, 0), "(amax (abs x) 0)")                                         \
    X(norm_of_1, lfuse_norm(x, 1, (const int[]){0}, 1, 0), "(sum (abs x) 0)")                                          \
    X(norm_of_2, lfuse_norm(x, 1, (const int[]){0}, 2, 0), "(sqrt (sum (mul x x) 0))")                                 \
    X(norm_of_inf, lfuse_norm(x, 1, (const int[]){0}, INFINITY, 0), "(amax (abs x) 0)")                                \
    X(norm_of_less, lfuse_norm(x, 1, (const int[]){0}, -INFINITY, 0), "(amin (abs x) 0)")                              \
    X(norm_of_0, lfuse_norm(x, 1, (const int[]){0}, 0, 0), "(f32 (sum (i32 (ne x (f32 0))) 0))")                       \
    X(norm_of_4, lfuse_norm(x, 1, (const int[]){0}, 4, 0), "(pow (sum (pow (abs x) (f32 4)) 0) (f32 0.25))")           \
    X(norm_of_half, lfuse_norm(lfuse_cast(x, LFUSE_F16), 0, NULL, 4, 0),                                               \
      "(f16 (pow (pow (abs (f32 (f16 x))) (f32 4)) (f32 0.25)))")                                                      \
    X(nansum, lfuse_nansum(x, 1, (const int[]){0}, 0), "(sum (where (isnan x) (f32 0) x) 0)")                          \
    X(nansum_of_none, lfuse_nansum(lfuse_cast(x, LFUSE_F16), 0, NULL, 0),                                              \
      "(where (isnan (f16 x)) (f32 0) (f16 x))")                                                                       \
    X(nansum_integers, lfuse_nansum(lfuse_cast(x, LFUSE_I8), 1, (const int[]){0}, 0), "(sum (i8 x) 0)")                \
    X(count_nonzero, lfuse_count_nonzero(x, 1, (const int[]){0}, 0), "(sum (i32 (bool x)) 0)")                         \
    X(softmax, lfuse_softmax(x, 1, (const int[]){1}),                                                                  \
      "(mul (exp (sub x (amax x 1))) (reciprocal (sum (exp (sub x (amax x 1))) 1)))")                                  \
    X(log_softmax, lfuse_log_softmax(x, 1, (const int[]){1}),                                                          \
      "(sub (sub x (amax x 1)) (log (sum (exp (sub x (amax x 1))) 1)))")                                               \
    X(rmsnorm, lfuse_rmsnorm(x, 1, lfuse_input(g, "w", LFUSE_F32, 1, LFUSE_DIMS(4)), 0.5),                             \
      "(mul (mul x (reciprocal (sqrt (add (div (sum (mul x x) 1) (f32 4)) (f32 0.5))))) w)")                           \
    X(l2_normalize, lfuse_l2_normalize(x, 1, (const int[]){1}, 0.5),                                                   \
      "(div x (max (sqrt (sum (mul x x) 1)) (f32 0.5)))")                                                              \
    X(layernorm, lfuse_layernorm(x, 1, lfuse_none(), lfuse_input(g, "b", LFUSE_F32, 1, LFUSE_DIMS(4)), 0.5),           \
      "(add (mul (sub x (div (sum x 1) (f32 4))) (reciprocal (sqrt (add (div (sum (mul (sub x (div (sum x 1) (f32 4)))"\
      " (sub x (div (sum x 1) (f32 4)))) 1) (f32 4)) (f32 0.5))))) b)")                                                \
    X(groupnorm, lfuse_groupnorm(x, 2, lfuse_input(g, "w", LFUSE_F32, 1, LFUSE_DIMS(4)), lfuse_none(), 0.5),           \
      "(reshape (mul (mul (sub (reshape x 3x2x2) (div (sum (reshape x 3x2x2) 2) (f32 2))) (reciprocal (sqrt (add (div "\
      "(sum (mul (sub (reshape x 3x2x2) (div (sum (reshape x 3x2x2) 2) (f32 2))) (sub (reshape x 3x2x2) (div (sum "    \
      "(reshape x 3x2x2) 2) (f32 2)))) 2) (f32 2)) (f32 0.5))))) (reshape w 2x2)) 3x4)")                               \
    X(logsumexp, lfuse_logsumexp(x, 1, (const int[]){1}, 1),                                                           \
      "(add (log (sum (exp (sub x (where (lt (abs (amax x 1)) (f32 inf)) (amax x 1) (f32 0)))) 1)) "                   \
      "(where (lt (abs (amax x 1)) (f32 inf)) (amax x 1) (f32 0)))")                                                   \
    X(stacked_product, lfuse_matmul(lfuse_reshape(x, 3, LFUSE_DIMS(3, 2, 2)), lfuse_reshape(y, 2, LFUSE_DIMS(2, 6))),  \
      "(reshape (matmul (reshape x 6x2) (reshape y 2x6)) 3x2x6)")                                                      \
    X(look_up, lfuse_gather(x, lfuse_index(g, 1, LFUSE_DIMS(2))), "(gather x (index 2))")                              \
    X(scatter, lfuse_scatter_add(x, lfuse_index(g, 1, LFUSE_DIMS(3)), 7), "(scatter_add x (index 3) 7)")               \
    X(chain, lfuse_relu(lfuse_add(lfuse_matmul(x, lfuse_transpose(y)), lfuse_sum(x, 1, (const int[]){1}, 1))),         \
      "(relu (add (matmul x (permute y 1,0)) (sum x 1)))")

#define SIMPLIFIED_TEST(name, value, text)                                                                             \
    TEST(form_##name)                                                                                                  \
    {                                                                                                                  \
        ck_output(value, text);                                                                                        \
    }
TEST_CASE("simplify", .setup = make, .teardown = destroy)

SIMPLIFIED(SIMPLIFIED_TEST)

TEST(whole_graph)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_graph *c;
    lfuse_size n = lfuse_size_var(g, "n", 1, 64);
    lfuse_value list = lfuse_list_input(g, "list", LFUSE_F16, LFUSE_RANK_ANY);
    lfuse_value z = lfuse_input(g, "z", F32(lfuse_size_add(g, n, 1)));

    lfuse_exp(x); /* dead */
    lfuse_output(g, "a", lfuse_add(lfuse_neg(x), lfuse_neg(x)));
    lfuse_output(g, "b", lfuse_neg(x));
    lfuse_output(g, "c", lfuse_sum(z, 1, (const int[]){0}, 1));
    lfuse_update(list, lfuse_mul(list, number(0.5)));
    OK(lfuse__graph_canonical(g, &c));
    lfuse__graph_print(c, &text);
    ck_assert_str_eq(text.data, "(graph\n"
                                " (size 1 64)\n"
                                " (size+ s0 1)\n"
                                " %0 (input f32 [ 3 4 ])\n"
                                " %1 (input f32 [ 3 4 ])\n"
                                " %2 (list f16 members)\n"
                                " %3 (input f32 [ s1 ])\n"
                                " %4 (neg f32 [ 3 4 ] %0)\n"
                                " %5 (add f32 [ 3 4 ] %4 %4)\n"
                                " %6 (sum f32 [ 1 ] %3 axes 0 keep)\n"
                                " %7 (constant 0x3fe0000000000000)\n"
                                " %8 (cast f32 [ ] %7)\n"
                                " %9 (mul f16 members %2 %8)\n"
                                " (input %0)\n"
                                " (input %1)\n"
                                " (list %2 update %9)\n"
                                " (input %3)\n"
                                " (output %5)\n"
                                " (output %4)\n"
                                " (output %6))");
    ck_assert_str_eq(c->names[4].text, "a");
    ck_assert_int_eq(c->names[4].node, 5);
    OK(lfuse_graph_check(c));
    lfuse__strbuf_free(&text);
    lfuse_graph_destroy(c);
}

/* Whether the two are one value of the canonical form. */
static bool are_one(lfuse_value a, lfuse_value b)
{
    lfuse_graph *c;

    lfuse_output(g, "a", a);
    lfuse_output(g, "b", b);
    OK(lfuse__graph_canonical(g, &c));
    bool one = c->names[c->nnames - 2].node == c->names[c->nnames - 1].node;
    lfuse_graph_destroy(c);
    return one;
}

static lfuse_value permuted(int a, int b, int c)
{
    const lfuse_value square = lfuse_slice(x, 1, 0, 3, 1);

    return lfuse_permute(lfuse_broadcast_to(square, SHAPE(3, 3, 3)), (const int[]){a, b, c});
}

/* Pairs that differ in one thing alone: kind, operator, type, operands, axes, number, start, step, any extent. */
#define APART(X)                                                                                                       \
    X(kind, lfuse_index(g, 1, LFUSE_DIMS(3)), lfuse_cast(lfuse_sum(x, 1, (const int[]){1}, 0), LFUSE_I64))             \
    X(operator, lfuse_exp(x), lfuse_neg(x))                                                                            \
    X(type, lfuse_cast(x, LFUSE_F16), lfuse_cast(x, LFUSE_BF16))                                                       \
    X(operands, lfuse_sub(x, y), lfuse_sub(y, x))                                                                      \
    X(second_operand, lfuse_sub(x, x), lfuse_sub(x, y))                                                                \
    X(number, lfuse_mul(x, number(3)), lfuse_mul(x, number(2)))                                                        \
    X(sign_of_zero, lfuse_mul(x, number(0)), lfuse_mul(x, number(-0.0)))                                               \
    X(axis, lfuse_sum(permuted(0, 1, 2), 1, (const int[]){0}, 0),                                                      \
      lfuse_sum(permuted(0, 1, 2), 1, (const int[]){1}, 0))                                                          \
    X(order_of_axes, permuted(1, 2, 0), permuted(2, 0, 1))                                                             \
    X(start, lfuse_slice(x, 1, 0, 2, 1), lfuse_slice(x, 1, 1, 2, 1))                                                   \
    X(step, lfuse_slice(x, 1, 1, 2, 1), lfuse_slice(x, 1, 1, 2, 2))                                                    \
    X(axis_of_slice, lfuse_slice(permuted(0, 1, 2), 0, 1, 2, 1), lfuse_slice(permuted(0, 1, 2), 1, 1, 2, 1))           \
    X(first_extent, lfuse_broadcast_to(x, 3, LFUSE_DIMS(2, 3, 4)), lfuse_broadcast_to(x, 3, LFUSE_DIMS(5, 3, 4)))      \
    X(last_extent, lfuse_broadcast_to(lfuse_slice(x, 1, 0, 1, 1), 2, LFUSE_DIMS(3, 2)),                                \
      lfuse_broadcast_to(lfuse_slice(x, 1, 0, 1, 1), 2, LFUSE_DIMS(3, 5)))                                             \
    X(eighth_extent, lfuse_index(g, 8, LFUSE_DIMS(1, 1, 1, 1, 1, 1, 1, 2)),                                            \
      lfuse_index(g, 8, LFUSE_DIMS(1, 1, 1, 1, 1, 1, 1, 3)))                                                           \
    X(rank, lfuse_reshape(x, 2, LFUSE_DIMS(12, 1)), lfuse_reshape(x, 1, LFUSE_DIMS(12)))                               \
    X(extent, lfuse_mul(x, lfuse_extent(g, lfuse_size_var(g, "n", 0, 9))),                                             \
      lfuse_mul(x, lfuse_extent(g, lfuse_size_var(g, "m", 0, 9))))                                                     \
    X(scalar, lfuse_mul(x, lfuse_scalar(g, "s")), lfuse_mul(x, lfuse_scalar(g, "t")))

#define APART_TEST(name, one, other)                                                                                   \
    TEST(apart_##name)                                                                                                 \
    {                                                                                                                  \
        ck_assert(!are_one(one, other));                                                                               \
        lfuse_graph_destroy(g);                                                                                        \
        make();                                                                                                        \
        ck_assert(are_one(lfuse_slice(x, 1, 1, 2, 2), lfuse_slice(x, 1, 1, 2, 2)));                                    \
    }
APART(APART_TEST)

TEST(canonical_is_stable)
{
    lfuse__strbuf once = LFUSE__STRBUF_INIT, twice = LFUSE__STRBUF_INIT;
    lfuse_graph *c, *d;

    lfuse_output(g, "a", lfuse_transpose(lfuse_transpose(lfuse_mul(lfuse_exp(x), lfuse_exp(x)))));
    lfuse_update(x, lfuse_transpose(lfuse_transpose(x)));
    OK(lfuse__graph_canonical(g, &c));
    OK(lfuse__graph_canonical(c, &d));
    lfuse__graph_print(c, &once);
    lfuse__graph_print(d, &twice);
    ck_assert_str_eq(once.data, twice.data);
    ck_assert_int_eq(c->names[0].update, 0);
    lfuse__strbuf_free(&once);
    lfuse__strbuf_free(&twice);
    lfuse_graph_destroy(c);
    lfuse_graph_destroy(d);
}

TEST(refused)
{
    lfuse_graph *c = NULL;

    ck_assert_int_eq(lfuse__graph_canonical(NULL, &c), LFUSE_ERR_INVALID);
    ck_assert_int_eq(lfuse__graph_canonical(g, &c), LFUSE_ERR_INVALID);
    ck_assert_str_eq(lfuse_last_error(), "the graph has no output and no update");
    lfuse_output(g, "y", x); /* the name is taken */
    ck_assert_int_eq(lfuse__graph_canonical(g, &c), LFUSE_ERR_NAME);
    ck_assert_ptr_null(c);
}

TEST_SUITE("simplify", CK_FORK_GETENV)
