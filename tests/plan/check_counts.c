/* SPDX-License-Identifier: Apache-2.0 */
/* Counters beside lists: which of them join a list's step, and where. Read from the printed plan. No device. */
#include "tests/plan/rig.h"

static lfuse_value one(const char *name)
{
    return lfuse_input(g, name, LFUSE_F32, 0, NULL);
}

static void count(lfuse_value counter)
{
    lfuse_update(counter, lfuse_sub(counter, lfuse_constant(g, -1)));
}

TEST_CASE("counts", .setup = rig_setup, .teardown = rig_teardown)

TEST(counter_that_the_list_reads)
{
    const lfuse_value w = rig_list("w"), steps = one("steps");

    lfuse_update(w, lfuse_mul(w, steps));
    count(steps);
    rig_expect_bundled("(multi w (w (mul w steps)) (steps (sub steps -1)))");
}

TEST(several_counters)
{
    const lfuse_value w = rig_list("w"), a = one("a"), b = one("b");

    lfuse_update(w, lfuse_mul(w, lfuse_add(a, b)));
    count(a);
    lfuse_update(b, lfuse_mul(b, b));
    rig_make(0);
    ck_assert_int_eq(plan->nstages, 1);
    ck_assert_ptr_nonnull(strstr(text.data, "(a (sub a -1))"));
    ck_assert_ptr_nonnull(strstr(text.data, "(b (mul b b))"));
}

/* Behind the first of two list steps; the second, which does not read it, is passed. */
TEST(list_steps_between)
{
    const lfuse_value w = rig_list("w"), steps = one("steps"), v = lfuse_mul(w, steps);

    lfuse_output(g, "v", v);
    lfuse_update(w, lfuse_mul(w, lfuse_list_sum(v)));
    count(steps);
    rig_make(0);
    ck_assert_msg(!strstr(text.data, "pointwise"), "%s", text.data);
    ck_assert_ptr_nonnull(strstr(text.data, "(steps (sub steps -1)))"));
    rig_check_order();
}

/* What others of the plan read is no counter: they would wait for the list. */
TEST(numbers_that_are_read)
{
    const lfuse_value w = rig_list("w"), t = lfuse_input(g, "t", LFUSE_F64, 0, NULL);
    const lfuse_value e = lfuse_sqrt(lfuse_sub(lfuse_constant(g, 1), lfuse_powi(lfuse_constant(g, 0.999), t)));
    const lfuse_value x = lfuse_input(g, "x", F32(1000));

    lfuse_output(g, "z", lfuse_mul(w, lfuse_cast(t, LFUSE_F32)));
    lfuse_output(g, "y", lfuse_mul(lfuse_mul(x, lfuse_cast(e, LFUSE_F32)), lfuse_sum(x, 1, (const int[]){ 0 }, 0)));
    rig_make(0);
    ck_assert_msg(strstr(text.data, "(pointwise 1 (t0 ") != NULL, "%s", text.data);
    rig_check_order();
}

/* A later step reads what was there before: the counter stays behind it. */
TEST(counter_that_is_read_later)
{
    const lfuse_value w = rig_list("w"), steps = one("steps"), v = lfuse_exp(lfuse_mul(w, steps));

    lfuse_output(g, "v", v);
    lfuse_output(g, "y", lfuse_mul(steps, lfuse_list_sum(v)));
    count(steps);
    rig_make(0);
    ck_assert_msg(strstr(text.data, "(pointwise 1 (steps (sub steps -1)))"), "%s", text.data);
    rig_check_order();
}

/* Before the list's step, which reads what is counted; that step is no place for it. */
TEST(numbers_that_the_list_waits_for)
{
    const lfuse_value w = rig_list("w"), a = one("a"), sum = lfuse_mul(a, a);

    lfuse_update(w, lfuse_mul(w, sum));
    lfuse_output(g, "sum", sum);
    rig_make(0);
    ck_assert_ptr_nonnull(strstr(text.data, "(pointwise 1 (sum "));
    rig_check_order();
}

/* Host numbers may differ by group; matrices' shapes stay the last operand; and one can ask for no such thing. */
TEST(counters_that_stay)
{
    const lfuse_value w = rig_list("w"), steps = one("steps");

    lfuse_update(w, lfuse_mul(w, steps));
    lfuse_update(steps, lfuse_add(steps, lfuse_scalar(g, "by")));
    rig_make(0);
    ck_assert_ptr_nonnull(strstr(text.data, "(pointwise 1 (steps (add steps by)))"));
    rig_teardown();
    rig_setup();
    {
        const lfuse_value m = lfuse_list_input(g, "m", LFUSE_F32, LFUSE_RANK_MATRIX), t = one("t");
        lfuse_update(m, lfuse_mul(lfuse_mul(m, t), lfuse_list_input(g, "r", LFUSE_F32, LFUSE_RANK_ROWS)));
        count(t);
        rig_make(0);
        ck_assert_ptr_nonnull(strstr(text.data, "(pointwise 1 (t (sub t -1)))"));
    }
    rig_teardown();
    rig_setup();
    {
        const lfuse_value v = rig_list("v"), t = one("t");
        lfuse_update(v, lfuse_mul(v, t));
        count(t);
        rig_expect("(multi v (v (mul v t))) (pointwise 1 (t (sub t -1)))");
    }
}

TEST_SUITE("plan", CK_FORK)
