/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of concatenations and of products with few columns, read from printed graphs and plans. No device. */
#include "common/base/error.h"
#include "tests/plan/rig.h"

/* The outputs of the lowered graph, one a line. */
static const char *lowered(unsigned disable)
{
    lfuse_graph *to = NULL;

    rig_canonical();
    OK(lfuse__graph_lower(canonical, disable, &to));
    lfuse__strbuf_clear(&text);
    for (int32_t i = 0; i < to->nnames; i++)
        if (to->names[i].kind == LFUSE__NAME_OUTPUT) lfuse__graph_print_value(to, to->names[i].node, &text);
    lfuse_graph_destroy(to);
    return text.data;
}

static lfuse_value three(int axis)
{
    const lfuse_value x = lfuse_input(g, "a", F32(4, 6)), y = lfuse_input(g, "b", F32(4, 6));

    return rig_concat(rig_concat(x, y, axis), lfuse_input(g, "c", F32(4, 6)), axis);
}

TEST_CASE("graphs", .setup = rig_setup, .teardown = rig_teardown)

TEST(functions_are_distributed)
{
    lfuse_output(g, "y", lfuse_exp(three(0)));
    ck_assert_str_eq(lowered(0), "(concat (concat (exp a) (exp b) 0) (exp c) 0)");
    ck_assert_str_eq(lowered(LFUSE_NO_VIEW_FUSION), "(exp (concat (concat a b 0) c 0))");
}

TEST(other_operands_are_sliced)
{
    const lfuse_value w = lfuse_input(g, "w", F32(12, 6)), r = lfuse_input(g, "r", F32(6));

    lfuse_output(g, "y", lfuse_mul(three(0), lfuse_exp(lfuse_add(w, r))));
    ck_assert_str_eq(lowered(0), "(concat (concat (mul a (exp (add (slice w 0 0:4:1) r))) "
                     "(mul b (exp (add (slice w 0 4:4:1) r))) 0) "
                                "(mul c (exp (add (slice w 0 8:4:1) r))) 0)");
}

TEST(broadcasts_along_the_axis_repeat)
{
    const lfuse_value r = lfuse_input(g, "r", F32(4, 1));

    lfuse_output(g, "y", lfuse_add(three(1), r));
    ck_assert_str_eq(lowered(0), "(concat (concat (add a r) (add b r) 1) (add c r) 1)");
}

TEST(two_concatenations_of_one_kind)
{
    const lfuse_value x = rig_concat(lfuse_input(g, "x1", F32(3)), lfuse_input(g, "x2", F32(5)), 0);
    const lfuse_value y = rig_concat(lfuse_input(g, "y1", F32(3)), lfuse_input(g, "y2", F32(5)), 0);
    const lfuse_value z = rig_concat(lfuse_input(g, "z1", F32(6)), lfuse_input(g, "z2", F32(2)), 0);

    lfuse_output(g, "u", lfuse_mul(lfuse_add(x, y), z));
    ck_assert_str_eq(lowered(0), "(concat (mul (add x1 y1) (slice z1 0 0:3:1)) (concat "
                                "(mul (add (slice x2 0 0:3:1) (slice y2 0 0:3:1)) (slice z1 0 3:3:1)) "
                                "(mul (add (slice x2 0 3:2:1) (slice y2 0 3:2:1)) z2) 0) 0)");
}

TEST(rows_are_distributed_and_columns_not)
{
    const lfuse_value x = three(0);

    lfuse_output(g, "y", lfuse_sub(x, lfuse_mean(x, 1, (const int[]){ 1 }, 1)));
    lfuse_output(g, "z", lfuse_sum(lfuse_exp(x), 1, (const int[]){ 0 }, 0));
    ck_assert_str_eq(lowered(0), "(concat (concat (sub a (div (sum a 1) (f32 6))) (sub b (div (sum b 1) (f32 6))) 0) "
                                "(sub c (div (sum c 1) (f32 6))) 0)"
                                "(sum (concat (concat (exp a) (exp b) 0) (exp c) 0) 0)");
}

TEST(slices_find_their_piece)
{
    const lfuse_value x = three(0);

    lfuse_output(g, "y", lfuse_exp(lfuse_slice(x, 0, 2, 4, 1)));
    lfuse_output(g, "z", lfuse_exp(lfuse_slice(x, 0, 4, 4, 1)));
    lfuse_output(g, "w", lfuse_exp(lfuse_slice(x, 1, 4, 2, 1)));
    ck_assert_str_eq(lowered(0), "(concat (exp (slice a 0 2:2:1)) (exp (slice b 0 0:2:1)) 0)(exp b)"
                                "(concat (concat (exp (slice a 1 4:2:1)) (exp (slice b 1 4:2:1)) 0) "
                                "(exp (slice c 1 4:2:1)) 0)");
}

TEST(reshapes_keep_the_pieces)
{
    const int turn[] = { 1, 0 };
    const lfuse_value a = lfuse_input(g, "a", F32(4, 6)), b = lfuse_input(g, "b", F32(4, 6));
    const lfuse_value rows = rig_concat(a, b, 0), columns = rig_concat(a, b, 1), turned = rig_concat(b, a, 1);

    lfuse_output(g, "y", lfuse_exp(lfuse_reshape(rows, SHAPE(48))));
    lfuse_output(g, "z", lfuse_exp(lfuse_reshape(columns, SHAPE(4, 6, 2))));
    lfuse_output(g, "v", lfuse_exp(lfuse_reshape(turned, SHAPE(48))));
    lfuse_output(g, "w", lfuse_exp(lfuse_permute(rows, turn)));
    ck_assert_str_eq(lowered(0), "(concat (exp (reshape a 24)) (exp (reshape b 24)) 0)"
                                "(concat (exp (reshape a 4x3x2)) (exp (reshape b 4x3x2)) 1)"
                                "(exp (reshape (concat b a 1) 48))"
                                "(concat (exp (permute a 1,0)) (exp (permute b 1,0)) 1)");
}

TEST(what_is_in_memory_is_read_there)
{
    const lfuse_value x = three(0);

    lfuse_output(g, "x", x);
    lfuse_output(g, "y", lfuse_exp(x));
    ck_assert_str_eq(lowered(0), "(concat (concat a b 0) c 0)(exp (concat (concat a b 0) c 0))");
}

TEST(variable_extents)
{
    const lfuse_size n = lfuse_size_var(g, "n", 1, 100), m = lfuse_size_var(g, "m", 1, 100);
    const lfuse_value x = lfuse_input(g, "x", F32(n, 4)), y = lfuse_input(g, "y", F32(m, 4));
    const lfuse_size both = lfuse_size_add(g, n, m);
    const lfuse_value w = lfuse_input(g, "w", F32(both, 4));

    const lfuse_value sum = lfuse_add(rig_concat(x, y, 0), w);
    lfuse_output(g, "z", lfuse_exp(lfuse_reshape(sum, SHAPE(lfuse_size_mul(g, both, 4)))));
    rig_expect("(pointwise n * 4 (z (exp (add x[i0] w[i0])))) "
           "(pointwise m * 4 (z[n * 4+i0] (exp (add y[i0] w[n * 4+i0]))))");
}

TEST(many_pieces_stay_together)
{
    lfuse_value x = lfuse_input(g, "x", F32(128)), y = lfuse_slice(x, 0, 127, 1, 1);

    for (int i = 1; i < 65; i++) y = rig_concat(y, lfuse_slice(x, 0, 127 - i, 1, 1), 0);
    lfuse_output(g, "y", lfuse_exp(y));
    ck_assert_ptr_nonnull(strstr(lowered(0), "(exp (concat"));
}

TEST(products_with_few_columns)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 6)), w = lfuse_input(g, "w", F32(6, 2));

    lfuse_output(g, "y", lfuse_matmul(lfuse_exp(x), w));
    lfuse_output(g, "z", lfuse_matmul(x, w));
    ck_assert_str_eq(lowered(0), "(concat (sum (mul (exp x) (permute (slice w 1 0:1:1) 1,0)) 1) "
                                "(sum (mul (exp x) (permute (slice w 1 1:1:1) 1,0)) 1) 1)(matmul x w)");
    ck_assert_str_eq(lowered(LFUSE_NO_SMALL_PRODUCTS), "(matmul (exp x) w)(matmul x w)");
}

TEST(columns_that_are_read_as_rows)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 6)), w = lfuse_input(g, "w", F32(6, 2));
    const lfuse_value y = lfuse_relu(lfuse_matmul(lfuse_exp(x), w));

    lfuse_output(g, "y", lfuse_exp(lfuse_sub(y, lfuse_amax(y, 1, (const int[]){ 1 }, 1))));
    rig_expect("(rows 4 x 6 1 (t0 (relu (sum (mul %1=(exp x) w)))) (t0[i0,1] (relu (sum (mul %1 w[i1,1]))))) "
           "(rows 4 x 2 1 (y (exp (sub t0 (max t0)))))");
}

TEST(a_product_under_two_names)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 6)), w = lfuse_input(g, "w", F32(6, 2));
    const lfuse_value y = lfuse_relu(lfuse_matmul(x, w));

    lfuse_output(g, "y", y);
    lfuse_output(g, "z", y);
    rig_expect("(gemm 4 x 2 x 6 acc) (pointwise 4 x 2 (z %1=(relu t0)) (y %1))");
}

TEST(narrow_products_with_few_columns)
{
    const lfuse_value x = lfuse_input(g, "x", F16(4, 6));
    const lfuse_value w = lfuse_input(g, "w", F16(6, 1));

    lfuse_output(g, "y", lfuse_matmul(lfuse_exp(x), w));
    ck_assert_str_eq(lowered(0), "(f16 (sum (mul (f32 (exp x)) (f32 (permute w 1,0))) 1))");
}

/* The case of recommendation models, in small. */
static lfuse_value tower(lfuse_value x)
{
    const lfuse_value gamma = lfuse_frozen(g, g->nnodes < 8 ? "gamma" : "gamma2", F32(8));

    return lfuse_tanh(lfuse_mul(lfuse_sub(x, lfuse_mean(x, 1, (const int[]){ 1 }, 1)), gamma));
}

TEST(split_and_stack)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 16)), w = lfuse_input(g, "w", F32(8, 1));
    const lfuse_value b = lfuse_input(g, "b", F32(1));
    const lfuse_value parts[] = { tower(lfuse_slice(x, 1, 0, 8, 1)), tower(lfuse_slice(x, 1, 8, 8, 1)) };
    const lfuse_value stack = rig_concat(lfuse_reshape(parts[0], SHAPE(1, 4, 8)),
                                         lfuse_reshape(parts[1], SHAPE(1, 4, 8)), 0);

    lfuse_output(g, "y", lfuse_relu(lfuse_add(lfuse_matmul(stack, w), b)));
    ck_assert_str_eq(lowered(0), "(concat (relu (add (reshape (sum (mul (tanh (mul (sub (slice x 1 0:8:1) "
                                "(div (sum (slice x 1 0:8:1) 1) (f32 8))) gamma)) (permute w 1,0)) 1) 1x4x1) b)) "
                                "(relu (add (reshape (sum (mul (tanh (mul (sub (slice x 1 8:8:1) "
                                "(div (sum (slice x 1 8:8:1) 1) (f32 8))) gamma2)) (permute w 1,0)) 1) 1x4x1) b)) 0)");
    rig_expect("(rows 4 x 8 1 (y (relu (add (sum (mul (tanh (mul (sub x (div (sum x) 8)) gamma)) w)) b)))) "
           "(rows 4 x 8 1 (y[1,i0,0] (relu (add (sum (mul (tanh (mul (sub x[i0,8+i1] (div (sum x[i0,8+i1]) 8)) "
           "gamma2)) w)) b))))");
}

TEST(tables_of_different_heights)
{
    const lfuse_value t = lfuse_input(g, "t", F32(10, 8)), u = lfuse_input(g, "u", F32(20, 8));
    const lfuse_value i = lfuse_input(g, "i", I32(5));
    const lfuse_value j = lfuse_input(g, "j", I32(5));
    const lfuse_value first = lfuse_tanh(lfuse_gather(t, i));

    lfuse_output(g, "y", rig_concat(first, lfuse_tanh(lfuse_gather(u, j)), 1));
    rig_expect("(pointwise 5 x 8 (y (tanh (gather t[@,i1] i)))) "
               "(pointwise 5 x 8 (y[i0,8+i1] (tanh (gather u[@,i1] j))))");
}

/* The case of recommendation models: 16 equal groups, whose results are parts of one output. */
static void recommend(bool split)
{
    const lfuse_size shape[] = { 1024, 256 }, one[] = { 1, 1024, 256 };
    const lfuse_value all = split ? lfuse_input(g, "x", F32(1024, 4096)) : lfuse_constant(g, 0);
    const lfuse_value w = lfuse_frozen(g, "w", F32(256, 1));
    const lfuse_value b = lfuse_frozen(g, "b", F32(1));
    lfuse_value stack = all;
    char name[3][16];

    for (int i = 0; i < 16; i++) {
        snprintf(name[0], sizeof name[0], "x%d", i);
        snprintf(name[1], sizeof name[1], "gamma%d", i);
        snprintf(name[2], sizeof name[2], "beta%d", i);
        lfuse_value part = split ? lfuse_slice(all, 1, 256 * i, 256, 1) : lfuse_input(g, name[0], LFUSE_F32, 2, shape);
        lfuse_value gamma = lfuse_frozen(g, name[1], F32(256));
        lfuse_value beta = lfuse_frozen(g, name[2], F32(256));
        part = lfuse_tanh(lfuse_layernorm(part, 1, gamma, beta, 1e-5));
        stack = i ? rig_concat(stack, lfuse_reshape(part, 3, one), 0) : lfuse_reshape(part, 3, one);
    }
    lfuse_output(g, "y", lfuse_relu(lfuse_add(lfuse_matmul(stack, w), b)));
}

/* Steps, those in bundles one by one. */
static int count_steps(void)
{
    int count = 0;

    for (int i = 0; i < plan->nstages; i++) {
        const lfuse__step *s = plan->stages[i].alternatives[0].steps;
        count += s->kind == LFUSE__STEP_BUNDLE ? s->nchildren : plan->stages[i].alternatives[0].nsteps;
    }
    return count;
}

TEST_LOOP(the_stack_case, 0, 2)
{
    recommend(_i);
    rig_make(0);
    ck_assert_msg(count_steps() == 16 && plan->nstages == 1, "%.2000s", text.data);
    ck_assert_int_eq(plan->nbuffers, 0);
}

/* The product is of all rows of three axes: lfuse_matmul sees them as one axis, the kernel that makes them does not. */
TEST_LOOP(the_stack_case_combined, 1, 3)
{
    const lfuse_value x = lfuse_input(g, "x", F32(16, 1024, 256)), w = lfuse_input(g, "w", F32(256, _i));
    const lfuse_value y = lfuse_tanh(lfuse_layernorm(x, 1, lfuse_none(), lfuse_none(), 1e-5));

    lfuse_output(g, "y", lfuse_relu(lfuse_matmul(y, w)));
    rig_expect(_i == 1 ? "(rows 16 x 1024 x 256 1 (y (relu (sum (mul (tanh (mul %1=(sub x (div (sum x) 256)) "
                     "(reciprocal (sqrt (add (div (sum (mul %1 %1)) 256) 1e-05))))) w)))))"
                   : "(rows 16 x 1024 x 256 1 (y (relu (sum (mul %1=(tanh (mul %2=(sub x (div (sum x) 256)) "
                     "(reciprocal (sqrt (add (div (sum (mul %2 %2)) 256) 1e-05))))) w)))) "
                     "(y[i0,i1,1] (relu (sum (mul %1 w[i2,1])))))");
    ck_assert_int_eq(plan->nbuffers, 0);
}

TEST(the_embedding_case)
{
    lfuse_value y = lfuse_constant(g, 0);
    char name[4][16];

    for (int i = 0; i < 26; i++) {
        snprintf(name[0], sizeof name[0], "t%d", i);
        snprintf(name[1], sizeof name[1], "gamma%d", i);
        snprintf(name[2], sizeof name[2], "beta%d", i);
        snprintf(name[3], sizeof name[3], "i%d", i);
        lfuse_value gamma = lfuse_frozen(g, name[1], F32(64));
        lfuse_value beta = lfuse_frozen(g, name[2], F32(64));
        lfuse_value part = lfuse_gather(lfuse_frozen(g, name[0], F32(1000 * (i + 1), 64)),
                                  lfuse_input(g, name[3], I32(2048)));
        part = lfuse_tanh(lfuse_layernorm(part, 1, gamma, beta, 1e-5));
        y = i ? rig_concat(y, part, 1) : part;
    }
    lfuse_output(g, "y", y);
    rig_make(0);
    ck_assert_msg(count_steps() == 26 && plan->nstages == 1, "%.2000s", text.data);
    ck_assert_int_eq(plan->nbuffers, 0);
}

TEST_SUITE("lower", CK_FORK_GETENV)
