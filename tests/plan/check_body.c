/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a body's registers. No device. */
#include "common/plan/body.h"
#include "tests/support/main.h"

static lfuse__instr instr(lfuse__instr_kind kind, int op, int a, int b)
{
    return (lfuse__instr){ .kind = (uint8_t)kind, .op = (uint8_t)op, .type = LFUSE_F32, .a = (int16_t)a,
                           .b = (int16_t)b, .c = -1 };
}

/* y = exp(x - max x) / sum exp(x - max x); operand 0 is x, 1 is y, 2 a number for each row, 3 the row's sum. */
enum { SOFTMAX = 8 };
static lfuse__instr softmax[SOFTMAX];
static lfuse__store stores[2];
static const bool row[] = { false, false, true, true };
static lfuse__body body;

static void setup(void)
{
    softmax[0] = instr(LFUSE__I_LOAD, 0, 0, -1);
    softmax[1] = instr(LFUSE__I_REDUCE, LFUSE__REDUCE_MAX, 0, -1);
    softmax[2] = instr(LFUSE__I_APPLY, LFUSE__OP_sub, 0, 1);
    softmax[3] = instr(LFUSE__I_APPLY, LFUSE__OP_exp, 2, -1);
    softmax[4] = instr(LFUSE__I_REDUCE, LFUSE__REDUCE_SUM, 3, -1);
    softmax[5] = instr(LFUSE__I_APPLY, LFUSE__OP_div, 3, 4);
    softmax[6] = instr(LFUSE__I_LOAD, 0, 2, -1);
    softmax[7] = instr(LFUSE__I_APPLY, LFUSE__OP_add, 4, 6);
    stores[0] = (lfuse__store){ 5, 1 };
    stores[1] = (lfuse__store){ 7, 3 };
    body = (lfuse__body){ .ninstr = SOFTMAX, .nstores = 2, .instr = softmax, .stores = stores };
}

TEST_CASE("sweeps", .setup = setup)

TEST(phases_and_rates)
{
    static const int phases[] = { 0, 0, 1, 1, 1, 2, 0, 2 };
    static const bool elements[] = { true, false, true, true, false, true, false, false };
    lfuse__sweep s[SOFTMAX];

    ck_assert_int_eq(lfuse__body_sweeps(&body, row, s), 3);
    for (int i = 0; i < SOFTMAX; i++) {
        ck_assert_msg(s[i].phase == phases[i], "phase of %d: %d", i, s[i].phase);
        ck_assert_msg(s[i].element == elements[i], "rate of %d", i);
    }
    body.stores = stores + 1;
    body.nstores = 1;
    ck_assert_int_eq(lfuse__body_sweeps(&body, row, s), 2); /* the sum of a row needs no sweep of its own */
}

TEST(a_row_value_spread_over_the_row_is_a_sweep)
{
    static const bool spread[] = { false, false, true, false };
    lfuse__sweep s[SOFTMAX];

    body.stores = stores + 1;
    body.nstores = 1;
    ck_assert_int_eq(lfuse__body_sweeps(&body, spread, s), 3);
}

TEST(a_gathered_load_is_of_the_rate_of_its_index)
{
    static const bool tables[] = { false, false, true, true };
    lfuse__sweep s[SOFTMAX];

    softmax[6] = instr(LFUSE__I_LOAD, 0, 2, 5);
    lfuse__body_sweeps(&body, tables, s);
    ck_assert(s[6].element && s[7].element);
    ck_assert_int_eq(s[6].phase, 2);
}

TEST(parts)
{
    bool needed[SOFTMAX] = { false }, given[SOFTMAX] = { false };
    lfuse__instr kept[SOFTMAX];
    int16_t place[SOFTMAX];

    needed[5] = given[4] = given[1] = true;
    lfuse__body_needs(&body, given, needed);
    ck_assert_mem_eq(needed, ((const bool[]){ 1, 1, 1, 1, 1, 1, 0, 0 }), sizeof needed);
    given[3] = true;
    memset(needed, 0, sizeof needed);
    needed[7] = needed[5] = true;
    lfuse__body_needs(&body, given, needed);
    ck_assert_mem_eq(needed, ((const bool[]){ 0, 0, 0, 1, 1, 1, 1, 1 }), sizeof needed);
    memset(needed, 0, sizeof needed);
    needed[7] = true;
    lfuse__body_needs(&body, NULL, needed);
    ck_assert_int_eq(lfuse__body_keep(&body, needed, kept, place), 7);
    ck_assert_int_eq(place[5], -1);
    ck_assert_int_eq(place[7], 6);
    ck_assert_int_eq(kept[6].a, 4);
    ck_assert_int_eq(kept[6].b, 5);
    ck_assert_int_eq(kept[5].a, 2); /* an operand, no register */
}

TEST_SUITE("body", CK_FORK_GETENV)
