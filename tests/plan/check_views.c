/* SPDX-License-Identifier: Apache-2.0 */
/* Views as walks, concatenations as memory, look-ups as operands: read from the printed plan. No device. */
#include "tests/plan/rig.h"

/* ---- walk.c, views.c ---- */

TEST_CASE("walks", .setup = rig_setup, .teardown = rig_teardown)

TEST(slices_move_offset_and_step)
{
    const lfuse_value x = lfuse_input(g, "x", F32(8, 12));

    lfuse_output(g, "y", lfuse_relu(lfuse_slice(lfuse_slice(x, 1, 2, 8, 1), 1, 7, 4, -2)));
    rig_expect("(pointwise 8 x 4 (y (relu x[i0,9-2i1])))");
}

/* Slices that a permutation keeps apart: the inner one's step counts for the outer one's offset and step. */
TEST(slices_behind_each_other)
{
    const lfuse_value x = lfuse_input(g, "x", F32(8, 12));

    lfuse_output(g, "y", lfuse_relu(lfuse_slice(lfuse_transpose(lfuse_slice(x, 1, 1, 5, 2)), 0, 1, 2, 2)));
    lfuse_output(g, "z", lfuse_relu(lfuse_slice(lfuse_transpose(lfuse_slice(x, 1, 9, 4, -3)), 0, 3, 2, -1)));
    rig_expect("(pointwise 2 x 8 (y (relu x[i1,3+4i0]))) (pointwise 2 x 8 (z (relu x[i1,3i0])))");
}

TEST(slices_of_variable_extents)
{
    const lfuse_size n = lfuse_size_var(g, "n", 1, 100);
    const lfuse_value x = lfuse_input(g, "x", F32(n)), y = lfuse_input(g, "y", F32(lfuse_size_add(g, n, 3)));

    lfuse_output(g, "z", lfuse_mul(x, lfuse_slice(y, 0, 3, n, 1)));
    rig_expect("(pointwise n (z (mul x y[3+i0])))");
}

TEST(reshapes_split)
{
    const int turn[] = { 1, 0, 2 };
    const lfuse_value x = lfuse_input(g, "x", F32(4, 12));

    /* heads: [4, 12] as [4, 3, 4], turned */
    lfuse_output(g, "y", lfuse_relu(lfuse_permute(lfuse_reshape(x, SHAPE(4, 3, 4)), turn)));
    lfuse_output(g, "z", lfuse_relu(lfuse_reshape(lfuse_slice(x, 1, 6, 6, 1), SHAPE(4, 2, 3))));
    rig_expect("(pointwise 3 x 4 x 4 (y (relu x[i1,i0,i2]))) (pointwise 4 x 2 x 3 (z (relu x[i0,6+3i1+i2])))");
}

TEST(reshapes_merge_what_one_step_leads_through)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 3, 8));

    lfuse_output(g, "y", lfuse_relu(lfuse_reshape(lfuse_slice(x, 0, 1, 2, 1), SHAPE(48))));
    rig_expect("(pointwise 48 (y (relu x[24+i0])))");
}

TEST(reshapes_there_and_back)
{
    const lfuse_value x = lfuse_input(g, "x", F32(6, 4));

    lfuse_output(g, "y", lfuse_add(x, lfuse_reshape(lfuse_reshape(x, SHAPE(24)), SHAPE(6, 4))));
    rig_expect("(pointwise 6 x 4 (y (add x x)))");
}

TEST(reshapes_of_variable_extents)
{
    const lfuse_size n = lfuse_size_var(g, "n", 1, 100), m = lfuse_size_var(g, "m", 1, 100);
    const lfuse_value x = lfuse_input(g, "x", F32(n, m, 8));
    const lfuse_value part = lfuse_slice(x, 2, 4, 4, 1);

    lfuse_output(g, "y", lfuse_relu(lfuse_reshape(part, SHAPE(lfuse_size_mul(g, n, m), 4))));
    rig_expect("(pointwise n * m x 4 (y (relu x[i0,4+i1])))");
}

TEST(what_cannot_be_walked_is_copied)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 6));
    const lfuse_value b = lfuse_input(g, "b", F32(6));

    lfuse_output(g, "y", lfuse_relu(lfuse_reshape(lfuse_transpose(x), SHAPE(24))));
    lfuse_output(g, "z", lfuse_relu(lfuse_reshape(lfuse_broadcast_to(b, SHAPE(4, 6)), SHAPE(24))));
    rig_expect("(pointwise 6 x 4 (t0 x)) (pointwise 4 x 6 (t1 b)) (pointwise 24 (y (relu t0[i0]))) "
           "(pointwise 24 (z (relu t1[i0])))");
}

TEST(work_goes_through_reshapes)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 6)), w = lfuse_input(g, "w", F32(24));

    lfuse_output(g, "y", lfuse_mul(lfuse_reshape(lfuse_exp(x), SHAPE(24)), w));
    rig_expect("(pointwise 24 (y (mul (exp x[i0]) w)))");
}

TEST(work_that_broadcasts_stops_at_reshapes)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 6)), b = lfuse_input(g, "b", F32(6));
    const lfuse_value w = lfuse_input(g, "w", F32(24));

    lfuse_output(g, "y", lfuse_mul(lfuse_reshape(lfuse_add(x, b), SHAPE(24)), w));
    rig_expect("(pointwise 4 x 6 (t0 (add x b))) (pointwise 24 (y (mul t0[i0] w)))");
}

TEST(outputs_in_another_shape)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 6));

    lfuse_output(g, "y", lfuse_reshape(lfuse_exp(x), SHAPE(24)));
    rig_expect("(pointwise 4 x 6 (y[i0,i1] (exp x)))");
}

TEST(views_left_alone)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 6));

    lfuse_output(g, "y", lfuse_relu(lfuse_slice(lfuse_reshape(x, SHAPE(24)), 0, 3, 8, 1)));
    rig_expect("(pointwise 8 (y (relu x[3+i0])))");
    rig_expect_without(LFUSE_NO_VIEW_FUSION, "(pointwise 24 (t0 x[i0])) (pointwise 8 (t1 t0[3+i0])) "
                                         "(pointwise 8 (y (relu t1)))");
}

/* ---- concat.c ---- */

TEST_CASE("concats", .setup = rig_setup, .teardown = rig_teardown)

TEST(pieces_are_stored_where_they_belong)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 6)), y = lfuse_input(g, "y", F32(4, 2));

    const lfuse_value e = lfuse_exp(x);

    lfuse_output(g, "z", rig_concat(e, lfuse_sum(lfuse_mul(y, y), 1, (const int[]){ 1 }, 1), 1));
    rig_expect("(pointwise 4 x 6 (z (exp x))) (rows 4 x 2 1 (z[i0,6] (sum (mul y y))))");
}

TEST(pieces_that_nobody_computes_are_copied)
{
    const lfuse_value x = lfuse_input(g, "x", F32(6)), y = lfuse_input(g, "y", F32(2));

    lfuse_output(g, "z", rig_concat(rig_concat(y, x, 0), lfuse_slice(lfuse_exp(x), 0, 5, 6, -1), 0));
    rig_expect("(pointwise 6 (z[2+i0] x)) (pointwise 2 (z y)) (pointwise 6 (z[8+i0] (exp x[5-i0])))");
}

TEST(a_stack_is_a_concatenation)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 6));
    lfuse_value parts[3];

    for (int i = 0; i < 3; i++)
        parts[i] = lfuse_reshape(lfuse_exp(lfuse_slice(x, 1, 2 * i, 2, 1)), SHAPE(1, 4, 2));
    lfuse_output(g, "z", rig_concat(rig_concat(parts[0], parts[1], 0), parts[2], 0));
    rig_expect("(pointwise 4 x 2 (z (exp x))) (pointwise 4 x 2 (z[1,i0,i1] (exp x[i0,2+i1]))) "
           "(pointwise 4 x 2 (z[2,i0,i1] (exp x[i0,4+i1])))");
}

TEST(a_piece_that_others_read)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 6)), w = lfuse_input(g, "w", F32(6, 3));
    const lfuse_value e = lfuse_exp(x), c = rig_concat(x, e, 1);

    lfuse_output(g, "m", lfuse_matmul(e, w));
    lfuse_output(g, "s", lfuse_sum(c, 1, (const int[]){ 1 }, 0));
    rig_expect_without(LFUSE_NO_SMALL_PRODUCTS, "(pointwise 4 x 6 (t0 x)) (pointwise 4 x 6 (t0[i0,6+i1] (exp x))) "
           "(gemm 4 x 3 x 6 acc) (rows 4 x 12 1 (s (sum t0)))");
}

TEST(a_piece_that_is_a_result)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4)), e = lfuse_exp(x);

    lfuse_output(g, "e", e);
    lfuse_output(g, "c", rig_concat(e, e, 0));
    rig_expect("(pointwise 4 (e (exp x))) (pointwise 4 (c e)) (pointwise 4 (c[4+i0] e))");
}

/* Whether each operand in scratch memory has as many elements as its buffer. */
static void check_buffers(void)
{
    for (int i = 0; i < plan->nstages; i++)
        for (int k = 0; k < plan->stages[i].alternatives[0].nsteps; k++)
            for (int o = 0; o < plan->stages[i].alternatives[0].steps[k].noperands; o++) {
                const lfuse__operand *operand = &plan->stages[i].alternatives[0].steps[k].operands[o];
                if (operand->place != LFUSE__PLACE_SCRATCH) continue;
                const lfuse__buffer *buffer = &plan->buffers[operand->index];
                lfuse_size shape = 1, whole = 1;
                for (int m = 0; m < operand->rank; m++) shape *= operand->shape[m];
                for (int m = 0; m < buffer->rank; m++) whole *= buffer->shape[m];
                ck_assert_msg(shape == whole, "%d of %d elements: %s", (int)whole, (int)shape, text.data);
            }
}

/* A column of the product is cut off the concatenation in a later round, and has memory of its own from then on. */
TEST(pieces_that_are_cut_have_their_own_shape)
{
    const lfuse_value a = lfuse_neg(lfuse_input(g, "a", F32(6, 1))), b = lfuse_neg(lfuse_input(g, "b", F32(4, 1)));
    const lfuse_value y = lfuse_matmul(rig_concat(a, b, 0), lfuse_input(g, "row", F32(1, 6)));

    lfuse_output(g, "joined", rig_concat(y, lfuse_input(g, "c", F32(3, 6)), 0));
    lfuse_output(g, "product", lfuse_matmul(y, lfuse_input(g, "e", F32(6, 1))));
    rig_make(0);
    check_buffers();
}

TEST(concatenations_and_updates)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4)), y = lfuse_input(g, "y", F32(2));

    /* a window that moves on: x is read and stored at different indices */
    lfuse_update(x, rig_concat(lfuse_slice(x, 0, 2, 2, 1), y, 0));
    lfuse_output(g, "old", rig_concat(x, y, 0));
    rig_expect("(pointwise 4 (old x)) (pointwise 2 (t0[2+i0] y)) (pointwise 2 (old[4+i0] y)) "
           "(pointwise 2 (t0 x[2+i0])) (pointwise 4 (x t0))");
}

TEST(concatenations_of_what_stays)
{
    const lfuse_value x = lfuse_frozen(g, "x", F32(4));
    const lfuse_value y = lfuse_input(g, "y", F32(8));

    lfuse_output(g, "z", lfuse_mul(rig_concat(x, lfuse_exp(x), 0), y));
    rig_expect("(prepare (pointwise 4 (t0 x))) (prepare (pointwise 4 (t0[4+i0] (exp x)))) "
               "(pointwise 8 (z (mul t0 y)))");
}

TEST(padding)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 6));
    const lfuse_value zero = lfuse_cast(lfuse_constant(g, 0), LFUSE_F32);

    lfuse_output(g, "z", rig_concat(x, lfuse_broadcast_to(zero, SHAPE(4, 2)), 1));
    rig_expect("(pointwise 4 x 6 (z x)) (pointwise 4 x 2 (z[i0,6+i1] 0))");
}

TEST(concatenations_left_alone)
{
    const lfuse_value x = lfuse_input(g, "x", F32(6)), y = lfuse_input(g, "y", F32(2));

    lfuse_output(g, "z", rig_concat(lfuse_exp(x), y, 0));
    rig_expect_without(LFUSE_NO_VIEW_FUSION,
                       "(pointwise 2 (z[6+i0] y)) (pointwise 6 (t0 (exp x))) (pointwise 6 (z t0))");
}

/* ---- look-ups ---- */

static lfuse_value indices(const char *name, int64_t n)
{
    return lfuse_input(g, name, I32(n));
}

TEST_CASE("look-ups", .setup = rig_setup, .teardown = rig_teardown)

TEST(look_ups_join_their_readers)
{
    const lfuse_value t = lfuse_input(g, "t", F32(100, 8)), i = indices("i", 5);

    lfuse_output(g, "y", lfuse_tanh(lfuse_gather(t, i)));
    rig_expect("(pointwise 5 x 8 (y (tanh (gather t[@,i1] i))))");
    rig_expect_without(LFUSE_NO_GATHER_FUSION,
                       "(pointwise 5 x 8 (t0 (gather t[@,i1] i))) (pointwise 5 x 8 (y (tanh t0)))");
}

TEST(look_ups_through_views)
{
    const lfuse_value t = lfuse_input(g, "t", F32(100, 8)), i = indices("i", 6);
    const lfuse_value rows = lfuse_gather(lfuse_slice(t, 1, 2, 4, 1), lfuse_mul(i, i));

    lfuse_output(g, "y", lfuse_exp(lfuse_transpose(rows)));
    rig_expect("(pointwise 6 (t0 (mul i i))) (pointwise 4 x 6 (y (exp (gather t[@,2+i0] t0))))");
}

TEST(look_ups_along_an_axis)
{
    const lfuse_value t = lfuse_input(g, "t", F32(100, 8));
    const lfuse_value i = lfuse_input(g, "i", I32(100, 3));

    lfuse_output(g, "y", lfuse_tanh(lfuse_take_along(t, 1, i, LFUSE_INDEX_PLAIN)));
    rig_expect("(pointwise 100 x 3 (y (tanh (gather t[i0,@] i))))");
    rig_expect_without(LFUSE_NO_GATHER_FUSION,
                   "(pointwise 100 x 3 (t0 (gather t[i0,@] i))) (pointwise 100 x 3 (y (tanh t0)))");
}

/* The table is walked across and the result written as it lies: nothing is copied. */
TEST(rows_of_another_axis)
{
    const lfuse_value t = lfuse_input(g, "t", F32(100, 8)), i = indices("i", 5);

    lfuse_output(g, "y", lfuse_tanh(lfuse_index_select(t, 1, i, LFUSE_INDEX_PLAIN)));
    rig_expect("(pointwise 100 x 5 (y (tanh (gather t[i0,@] i))))");
}

/* An axis that is looked up stays one of its own, however few rows it has: axes on both sides of it are not joined. */
TEST(look_ups_between_axes)
{
    const int turn[] = { 1, 0, 2 };
    const lfuse_value t = lfuse_input(g, "t", F32(4, 1, 8)), i = indices("i", 3);

    lfuse_output(g, "y", lfuse_exp(lfuse_reshape(lfuse_gather(lfuse_permute(t, turn), i), SHAPE(3, 32))));
    rig_expect("(pointwise 3 x 4 x 8 (t0 (gather t[i1,@,i2] i))) (pointwise 3 x 32 (y (exp t0[i0,i1])))");
}

TEST(look_ups_in_another_shape)
{
    const lfuse_value t = lfuse_input(g, "t", F32(100, 8)), i = indices("i", 6);

    lfuse_output(g, "y", lfuse_exp(lfuse_reshape(lfuse_gather(t, i), SHAPE(2, 3, 4, 2))));
    rig_expect("(pointwise 2 x 3 x 4 x 2 (y (exp (gather t[@,2i2+i3] i[3i0+i1]))))");
}

TEST(tables_lie_in_memory)
{
    const lfuse_value t = lfuse_input(g, "t", F32(100, 8)), i = indices("i", 5);

    lfuse_output(g, "y", lfuse_exp(lfuse_gather(lfuse_slice(lfuse_exp(t), 0, 10, 50, 1), i)));
    rig_expect("(pointwise 50 x 8 (t0 (exp t[10+i0,i1]))) (pointwise 5 x 8 (y (exp (gather t0[@,i1] i))))");
}

TEST(indices_of_elements)
{
    const lfuse_value t = lfuse_input(g, "t", F32(100, 8));
    const lfuse_value at = lfuse_index(g, SHAPE(6));

    lfuse_output(g, "y", lfuse_exp(lfuse_gather(t, lfuse_slice(at, 0, 5, 6, -1))));
    lfuse_output(g, "z", at);
    rig_expect("(pointwise 6 (z index)) (pointwise 6 x 8 (y (exp (gather t[@,i1] index[5-i0]))))");
}

TEST(a_table_of_indices)
{
    lfuse_output(g, "y", lfuse_gather(lfuse_index(g, SHAPE(6)), indices("i", 5)));
    rig_expect("(pointwise 6 (t0 index)) (pointwise 5 (y (gather t0[@] i)))");
}

TEST(scattered_rows_are_sums)
{
    lfuse_output(g, "y", lfuse_scatter_add(lfuse_input(g, "x", F32(5, 8)), indices("i", 5), 100));
    rig_expect("(pointwise 100 (t0 (add index 1))) (pointwise 5 (t1 (gather t0[@] i))) "
           "(rows 100 x 8 x 5 1 (y (sum (where (eq t0 t1) x 0))))");
}

static void scatter_many(lfuse_value at)
{
    const lfuse_value x = lfuse_neg(lfuse_input(g, "x", F32(5000, 8)));

    lfuse_output(g, "y", lfuse_relu(lfuse_scatter_add(x, at, 300)));
}

/* Too many for that: the source lies in memory. */
TEST(many_scattered_rows_are_a_step)
{
    scatter_many(indices("i", 5000));
    rig_expect("(pointwise 5000 x 8 (t0 (neg x))) (scatter 5000 x 8 (t1 (scatter_add t0 i 300))) "
           "(pointwise 300 x 8 (y (relu t1)))");
}

TEST(scattered_by_their_own_index)
{
    scatter_many(lfuse_index(g, SHAPE(5000)));
    rig_expect("(pointwise 5000 (t1 index)) (pointwise 5000 x 8 (t0 (neg x))) "
           "(scatter 5000 x 8 (t2 (scatter_add t0 t1 300))) (pointwise 300 x 8 (y (relu t2)))");
}

TEST_SUITE("views", CK_FORK_GETENV)
