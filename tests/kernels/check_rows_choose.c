/* SPDX-License-Identifier: Apache-2.0 */
/* How many work-groups rows are shared by, and what of them registers hold. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "common/kernels/rows.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/row_classes.h"
#include "tests/support/main.h"

START_TEST(groups_take_equally_many)
{
    static const struct {
        uint64_t units, bound, groups;
    } wanted[] = {{0, 4, 0},     {1, 1, 1},       {5, 8, 5},        {8, 8, 8},          {9, 8, 5},
                  {64, 17, 16},  {64, 20, 16},    {1024, 264, 256}, {1000, 264, 250},   {1025, 264, 257},
                  {7, 1, 1},     {100, 99, 50},   {1u << 31, 2, 2}};
    for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++) {
        const uint64_t groups = lfuse__rows_even(wanted[i].units, wanted[i].bound);
        ck_assert_msg(groups == wanted[i].groups, "%llu units, at most %llu groups: %llu, not %llu",
                      (unsigned long long)wanted[i].units, (unsigned long long)wanted[i].bound,
                      (unsigned long long)groups, (unsigned long long)wanted[i].groups);
    }
}
END_TEST

static lfuse__facts gpu(void)
{
    lfuse__facts facts = facts_items(true);
    facts.info.compute_units = 100;
    return facts;
}

static lfuse__hold hold_of(const lfuse__kernel_class *k, const lfuse__facts *facts, int operand)
{
    lfuse__hold holds[LFUSE__MAX_OPERANDS];
    lfuse__rows r;
    ck_assert_int_eq(lfuse__rows_init(&r, NULL, k, NULL, facts), LFUSE_OK);
    lfuse__rows_hold(&r, k->held / LFUSE__ROW_VECTOR, holds);
    return holds[operand];
}

/* A norm of rows x with a scale: by length, what registers have of either, and the groups of 100 compute units. */
START_TEST(short_rows_wait_in_registers)
{
    enum { X, SCALE };
    static const struct {
        uint64_t length;
        lfuse__hold x, scale;
        int residents;
    } wanted[] = {{64, LFUSE__HOLD_NEXT, LFUSE__HOLD_FIXED, 4},
                  {256, LFUSE__HOLD_NEXT, LFUSE__HOLD_FIXED, 2},
                  {1024, LFUSE__HOLD_TOP, LFUSE__HOLD_FIXED, 4}};
    const lfuse__facts facts = gpu();
    for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++) {
        row_sample s;
        row_sample_make(&s, ROW_NORM, LFUSE_F32);
        s.k.staged = s.k.whole = true;
        lfuse__rows_choose(&facts, 100000, wanted[i].length, &s.k);
        ck_assert_int_eq(s.k.form, LFUSE__ROWS_TEAM);
        ck_assert_msg(s.k.residents == wanted[i].residents && hold_of(&s.k, &facts, X) == wanted[i].x &&
                      hold_of(&s.k, &facts, SCALE) == wanted[i].scale,
                      "rows of %d by teams of %d x %d: %d groups, x %d, scale %d", (int)wanted[i].length, s.k.team,
                      s.k.held, s.k.residents, (int)hold_of(&s.k, &facts, X), (int)hold_of(&s.k, &facts, SCALE));
        ck_assert_uint_eq(lfuse__rows_bound(&facts, &s.k), 100u * (unsigned)wanted[i].residents);
    }
}
END_TEST

START_TEST(cpus_know_no_bound)
{
    const lfuse__facts facts = facts_lanes(true);
    row_sample s;
    row_sample_make(&s, ROW_NORM, LFUSE_F32);
    s.k.staged = s.k.whole = true;
    lfuse__rows_choose(&facts, 100000, 256, &s.k);
    ck_assert_uint_eq(lfuse__rows_bound(&facts, &s.k), 0);
}
END_TEST

/* What emitting refuses later has to come through the choice. */
START_TEST(no_such_kernel)
{
    const lfuse__facts facts = gpu();
    row_sample s;
    row_sample_make(&s, ROW_NORM, LFUSE_F32);
    s.k.staged = s.k.whole = true;
    s.k.naxes = s.k.rank + 1;
    s.k.residents = 7;
    lfuse__rows_choose(&facts, 100000, 256, &s.k);
    ck_assert_int_eq(s.k.residents, 0);
    ck_assert_uint_eq(lfuse__rows_bound(&facts, &s.k), 400);
}
END_TEST

static Suite *suite_rows_choose(void)
{
    Suite *suite = suite_create("choice of row kernels");
    TCase *tcase = tcase_create("choice");
    tcase_add_test(tcase, groups_take_equally_many);
    tcase_add_test(tcase, short_rows_wait_in_registers);
    tcase_add_test(tcase, cpus_know_no_bound);
    tcase_add_test(tcase, no_such_kernel);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(CK_FORK, suite_rows_choose)
