/* SPDX-License-Identifier: Apache-2.0 */
/* The dialect's last group to arrive: it alone goes on, and sees what all others stored. */
#include "common/kernels/emit.h"
#include "tests/kernels/cases.h"
#include "tests/support/check.h"

enum { ROUNDS = 20, MOST = 3000 };

/*
 * Every item of every group stores a value of its own; the items of the last group add up all of them, each of its own
 * number. Words: added to the values; how many groups there are in all launches.
 */
static void put_kernel(lfuse__strbuf *out, int group)
{
    lfuse__put_kernel(out, "arrive", group, 2, 3);
    lfuse__put(out, 1, "TICKET");
    lfuse__put(out, 1, "SET64(BUFFER(0), GROUP() * %d + ITEM(), W(0) + GROUP() * 7 + ITEM());", group);
    lfuse__put(out, 1, "if (ARRIVE(BUFFER(1), W(1))) {");
    lfuse__put(out, 2, "u64 sum = 0;");
    lfuse__put(out, 2, "for (u64 g = 0; g < GROUPS(); g++) sum += WORD64(BUFFER(0), g * %d + ITEM());", group);
    lfuse__put(out, 2, "SET64(BUFFER(2), ITEM(), WORD64(BUFFER(2), ITEM()) + sum);");
    lfuse__put(out, 1, "}");
    lfuse__put(out, 0, "}");
}

static void check_round(rig *r, lfuse__bprogram *program, uint64_t groups, unsigned group, uint64_t add)
{
    static uint64_t values[MOST * LFUSE__GROUP], ticket[2], sums[LFUSE__GROUP];
    lfuse__packed packed = {.groups = groups, .group = group, .nwords = 2, .words = {add, groups}};
    const rig_buffer buffers[] = {{values, groups * group * sizeof *values, true}, {ticket, sizeof ticket, true},
                                  {sums, sizeof sums, true}};
    memset(values, 0xee, groups * group * sizeof *values);
    memset(sums, 0, sizeof sums);
    ticket[1] = 77;
    rig_launch(r, program, "arrive", &packed, 3, buffers);
    for (uint64_t i = 0; i < group; i++)
        ck_assert_uint_eq(sums[i], groups * (add + i) + 7 * (groups * (groups - 1) / 2));
    ck_assert_uint_eq(ticket[0], 0);
    ck_assert_uint_eq(ticket[1], 77);
}

/* The last of two launches is the one that comes to the count. */
static void check_two_launches(rig *r, lfuse__bprogram *program, unsigned group)
{
    static uint64_t values[8 * LFUSE__GROUP], sums[LFUSE__GROUP];
    uint64_t ticket = 0;
    lfuse__packed packed = {.groups = 5, .group = group, .nwords = 2, .words = {1, 13}};
    const rig_buffer buffers[] = {{values, sizeof values, true}, {&ticket, sizeof ticket, true},
                                  {sums, sizeof sums, true}};
    memset(sums, 0, sizeof sums);
    rig_launch(r, program, "arrive", &packed, 3, buffers);
    ck_assert_uint_eq(ticket, 5);
    for (unsigned i = 0; i < group; i++) ck_assert_uint_eq(sums[i], 0);
    packed.groups = 8;
    rig_launch(r, program, "arrive", &packed, 3, buffers);
    ck_assert_uint_eq(ticket, 0);
    for (unsigned i = 0; i < group; i++) ck_assert_uint_eq(sums[i], 8 * (1 + (uint64_t)i) + 7 * 28);
}

void case_arrive(rig *r)
{
    static const uint64_t groups[] = {1, 2, 7, 64, 1000, MOST};
    const unsigned group = lfuse__single(&r->facts) ? 1 : LFUSE__GROUP;
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    put_kernel(&text, (int)group);
    lfuse__bprogram *program = rig_program(r, &text);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
            check_round(r, program, groups[g], group, (uint64_t)round);
    check_two_launches(r, program, group);
    r->backend->program_destroy(program);
}

void arrive_emit(lfuse__strbuf *out)
{
    put_kernel(out, LFUSE__GROUP);
}
