/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of lists as steps. Read from the printed plan. No device. */
#include "common/matmul/provider.h"
#include "tests/plan/rig.h"

static lfuse_value scalar(const char *name)
{
    return lfuse_scalar(g, name);
}

TEST_CASE("plans", .setup = rig_setup, .teardown = rig_teardown)

TEST(numbers_of_members)
{
    const lfuse_value w = rig_list("w");

    lfuse_output(g, "n", lfuse_member_norm_l2(w));
    rig_expect("(members w (n (sqrt (member_sum (mul w w)))))");
}

TEST(narrow_types_are_rounded_once)
{
    const lfuse_value w = lfuse_list_input(g, "w", LFUSE_F16, LFUSE_RANK_ANY);

    lfuse_output(g, "n", lfuse_member_norm_l2(w));
    lfuse_output(g, "all", lfuse_list_norm_l2(w));
    rig_expect("(members w (n (f16 (sqrt %1=(member_sum (mul %2=(f32 w) %2))))) (all (f16 (sqrt (list_sum %1)))))");
}

/* What several reductions take in is computed for all of them; what they give is stored by the same step. */
TEST(several_reductions_share_a_step)
{
    const lfuse_value w = rig_list("w"), a = lfuse_abs(w);

    lfuse_output(g, "sum", lfuse_member_sum(a));
    lfuse_output(g, "most", lfuse_member_amax(a));
    lfuse_output(g, "mean", lfuse_member_mean(w));
    lfuse_output(g, "nonzero", lfuse_list_any(w));
    rig_expect("(members w (sum (member_sum %1=(abs w))) (most (member_max %1)) "
               "(mean (div (member_sum w) (f32 elements))) "
               "(nonzero (ne (list_sum (member_sum (i64 (i32 (bool w))))) 0)))");
}

/* What is summed is computed there; what repeats is read by a step over the elements, never by one that reduces. */
TEST(rows_and_columns_are_steps)
{
    const lfuse_value w = lfuse_list_input(g, "w", LFUSE_F32, LFUSE_RANK_MATRIX);
    const lfuse_value v = lfuse_list_input(g, "v", LFUSE_F32, LFUSE_RANK_ROWS);
    const lfuse_value scaled = lfuse_mul(w, lfuse_member_column_sum(lfuse_square(w)));

    lfuse_update(v, lfuse_add(v, lfuse_member_row_mean(lfuse_abs(w))));
    lfuse_output(g, "norm", lfuse_member_norm_l2(scaled));
    rig_expect("(lines w (t0 (column_sum (square w)))) (lines w (t1 (row_sum (abs w)))) (multi w (t2 (mul w t0))) "
               "(members w (norm (sqrt (member_sum (mul t2 t2))))) (multi w (v (add v (div t1 (f32 columns)))))");
}

TEST(rows_of_what_no_list_tells)
{
    const lfuse_value v = lfuse_list_input(g, "v", LFUSE_F32, LFUSE_RANK_ROWS);

    lfuse_output(g, "m", lfuse_member_row_sum(v));
    OK(lfuse__graph_canonical(g, &canonical));
    SAYS(LFUSE_ERR_UNSUPPORTED, lfuse__plan_make(canonical, &rig_facts, &lfuse__products_advice, NULL, &plan),
         "no list tells");
}

/* Clip by global norm, then a step: three launches, two of which are the first step. */
TEST(clip_and_step)
{
    const lfuse_value w = rig_list("w"), gr = rig_list("gr");
    const lfuse_value norm = lfuse_list_norm_l2(gr);
    const lfuse_value c = lfuse_min(lfuse_div(scalar("most"), lfuse_add(norm, rig_number(0.5))), rig_number(1));

    lfuse_update(w, lfuse_sub(w, lfuse_mul(lfuse_mul(gr, c), scalar("lr"))));
    lfuse_output(g, "norm", norm);
    rig_expect("(members gr (norm %1=(sqrt (list_sum (member_sum (mul gr gr))))) (t0 (min (div most (add %1 0.5)) 1))) "
               "(multi gr (w (sub w (mul (mul gr t0) lr))))");
}

/* A trust ratio: both norms and what is made of them in one step, although the lists are two. */
TEST(ratios_of_norms)
{
    const lfuse_value w = rig_list("w"), u = lfuse_add(rig_list("m"), lfuse_mul(w, scalar("decay")));
    const lfuse_value ratio = lfuse_div(lfuse_member_norm_l2(w), lfuse_member_norm_l2(u));

    lfuse_update(w, lfuse_sub(w, lfuse_mul(u, ratio)));
    rig_expect("(multi w (t0 (add m (mul w decay)))) "
               "(members m (t1 (div (sqrt (member_sum (mul w w))) (sqrt (member_sum (mul t0 t0)))))) "
               "(multi m (w (sub w (mul t0 t1))))");
}

/* Lists of which nothing says that they are congruent have steps of their own. */
TEST(lists_of_other_sizes)
{
    lfuse_output(g, "n", lfuse_div(lfuse_member_sum(rig_list("x")), lfuse_member_sum(rig_list("y"))));
    lfuse_output(g, "all", lfuse_add(lfuse_list_sum(rig_list("u")), lfuse_list_sum(rig_list("v"))));
    rig_expect("(members y (t1 (member_sum y))) (members x (t0 (member_sum x))) "
                                "(members v (t3 (list_sum (member_sum v)))) (members u (t2 (list_sum (member_sum u)))) "
                                "(multi x (n (div t0 t1))) (pointwise 1 (all (add t2 t3)))");
}

/* A reduction of what another one gave waits for it. */
TEST(reductions_that_wait)
{
    const lfuse_value w = rig_list("w"), centred = lfuse_sub(w, lfuse_member_mean(w));

    lfuse_output(g, "variance", lfuse_member_mean(lfuse_mul(centred, centred)));
    rig_expect("(members w (t0 (div (member_sum w) (f32 elements)))) "
               "(members w (variance (div (member_sum (mul %1=(sub w t0) %1)) (f32 elements))))");
}

/* What is made of a total for each member needs a launch of its own, or is made where it is read. */
TEST(totals_go_back_to_members)
{
    const lfuse_value w = rig_list("w"), n = lfuse_member_sum(w);

    lfuse_output(g, "share", lfuse_div(n, lfuse_list_sum(w)));
    rig_expect("(members w (t0 %1=(member_sum w)) (t1 (list_sum %1))) (multi w (share (div t0 t1)))");
}

TEST(numbers_alone)
{
    const lfuse_value rates = lfuse_list_input(g, "rates", LFUSE_F32, 0);

    lfuse_output(g, "all", lfuse_list_sum(rates));
    lfuse_output(g, "sizes", lfuse_member_elements(lfuse_neg(rig_list("w"))));
    rig_expect("(multi w (sizes elements)) (members rates (all (list_sum rates)))");
}

/* A running average in place: it is read before it is stored. */
TEST(numbers_in_place)
{
    const lfuse_value w = rig_list("w"), e = lfuse_list_input(g, "e", LFUSE_F32, 0);
    const lfuse_value t = lfuse_input(g, "t", LFUSE_F32, 0, NULL);

    lfuse_update(e, lfuse_add(e, lfuse_member_sum(w)));
    lfuse_update(t, lfuse_add(t, lfuse_list_sum(w)));
    rig_expect("(members w (e (add e %1=(member_sum w))) (t (add t (list_sum %1))))");
}

/* Results and elements that others read too are not the step's. */
TEST(elements_that_others_read)
{
    const lfuse_value w = rig_list("w"), a = lfuse_exp(w);

    lfuse_output(g, "a", a);
    lfuse_output(g, "n", lfuse_member_sum(a));
    rig_expect("(multi w (a (exp w))) (members w (n (member_sum a)))");
}

/* More than a kernel has registers for: several steps. */
TEST(many_reductions)
{
    const lfuse_value w = rig_list("w");
    char name[] = "a";

    for (int i = 0; i < 12; i++, name[0]++)
        lfuse_output(g, name, lfuse_member_sum(lfuse_mul(w, rig_number(i + 2))));
    rig_make(0);
    ck_assert_int_eq(plan->nstages, 2);
}

TEST(each_by_itself)
{
    const lfuse_value w = rig_list("w");

    lfuse_output(g, "n", lfuse_member_norm_l2(w));
    lfuse_output(g, "all", lfuse_list_sum(w));
    rig_make(LFUSE_NO_POINTWISE_FUSION | LFUSE_NO_ROW_FUSION);
    ck_assert_str_eq(text.data, "(multi w (t0 (mul w w))) (members w (t2 (member_sum w))) "
                                "(members w (t1 (member_sum t0))) (members w (all (list_sum t2))) "
                                "(multi w (n (sqrt t1)))");
}

TEST_SUITE("reductions of lists", CK_FORK)
