/* SPDX-License-Identifier: Apache-2.0 */
/* Written memory overlaps nothing else that is bound: members that move, at random, against every pair compared. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "tests/run/rig.h"

enum { MEMBERS = 6, LISTS = 3, PLACES = 120, ROUNDS = 400 };

static float memory[PLACES + 8];
static int place[LISTS + 1][MEMBERS]; /* of each member; the last row: of the tensor */
static const bool written[LISTS + 1] = { false, true, false, true };
static const char *const names[LISTS + 1] = { "read", "written", "also", "total" };

static int length_of(int member)
{
    return member % 4; /* one of four is empty */
}

static lfuse_tensor *at(int where, int length)
{
    lfuse_tensor *t;

    OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)(memory + where), (uint64_t)(length ? length : 1) * 4,
                         LFUSE_F32, 1, SHAPE(length), NULL, 0, &t));
    return t;
}

static lfuse_list *list_at(int list)
{
    lfuse_tensor *t[MEMBERS];
    lfuse_list *l;
    int m;

    for (m = 0; m < MEMBERS; m++) t[m] = at(place[list][m], length_of(m));
    OK(lfuse_list_create(dev, LFUSE_F32, MEMBERS, t, &l));
    for (m = 0; m < MEMBERS; m++) lfuse_tensor_destroy(t[m]);
    return l;
}

static bool meet(int a, int la, int b, int lb)
{
    return la && lb && a < b + lb && b < a + la;
}

/* Every pair of which one is written. The tensor is a "list" of one member with two elements. */
static bool overlaps(void)
{
    int a, b, i, j;

    for (a = 0; a <= LISTS; a++)
        for (b = 0; b <= LISTS; b++)
            for (i = 0; i < (a == LISTS ? 1 : MEMBERS) && written[a]; i++)
                for (j = 0; j < (b == LISTS ? 1 : MEMBERS); j++)
                    if ((a != b || i != j) && meet(place[a][i], a == LISTS ? 2 : length_of(i), place[b][j],
                                                   b == LISTS ? 2 : length_of(j)))
                        return true;
    return false;
}

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static lfuse_plan *make_plan(void)
{
    const lfuse_value r = lfuse_list_input(g, names[0], LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value w = lfuse_list_input(g, names[1], LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value also = lfuse_list_input(g, names[2], LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value total = lfuse_input(g, names[3], LFUSE_F32, 1, LFUSE_DIMS(2));

    lfuse_update(w, lfuse_add(lfuse_mul(r, also), w));
    lfuse_update(total, lfuse_neg(total));
    return plan_with(0);
}

/* One member somewhere else; rarely one that is written. */
static void move(lfuse_list **lists, unsigned *seed)
{
    const int list = next(seed) % 5 ? (int)(next(seed) % 2) * 2 : 1, m = (int)(next(seed) % MEMBERS);
    lfuse_tensor *t;

    place[list][m] = (int)(next(seed) % PLACES);
    t = at(place[list][m], length_of(m));
    OK(lfuse_list_replace(lists[list], m, 1, &t));
    lfuse_tensor_destroy(t);
}

START_TEST(as_every_pair_compared)
{
    unsigned seed = (unsigned)_i;
    lfuse_list *lists[LISTS];
    lfuse_tensor *total;
    lfuse_plan *plan;
    int i, k, m, found = 0;

    for (i = 0; i < LISTS; i++)
        for (m = 0; m < MEMBERS; m++) place[i][m] = (i * MEMBERS + m) * 4;
    place[LISTS][0] = PLACES - 2;
    plan = make_plan();
    for (i = 0; i < LISTS; i++) lists[i] = list_at(i);
    total = at(place[LISTS][0], 2);
    for (i = 0; i < ROUNDS; i++) {
        lfuse_binding b[] = { lfuse_bind_list(names[0], lists[0]), lfuse_bind_list(names[1], lists[1]),
                              lfuse_bind_list(names[2], lists[2]), lfuse_bind_tensor(names[3], total) };
        lfuse_status status = lfuse_plan_run(plan, stream, b, 4);
        ck_assert_msg(status == (overlaps() ? LFUSE_ERR_OVERLAP : LFUSE_OK), "round %d: %s", i, lfuse_last_error());
        found += status != LFUSE_OK;
        for (k = next(&seed) % 8 ? 1 : 20; k > 0; k--) move(lists, &seed); /* at times more than a list remembers */
    }
    ck_assert_msg(found > ROUNDS / 20 && found < ROUNDS - ROUNDS / 20, "%d of %d", found, ROUNDS);
    for (i = 0; i < LISTS; i++) lfuse_list_destroy(lists[i]);
    lfuse_tensor_destroy(total);
    lfuse_plan_destroy(plan);
}
END_TEST

/* The message names both, with their members. */
START_TEST(the_message_names_both)
{
    lfuse_list *lists[LISTS];
    lfuse_tensor *total, *t;
    lfuse_plan *plan;
    int i, m;

    for (i = 0; i < LISTS; i++)
        for (m = 0; m < MEMBERS; m++) place[i][m] = (i * MEMBERS + m) * 4;
    plan = make_plan();
    for (i = 0; i < LISTS; i++) lists[i] = list_at(i);
    total = at(PLACES - 2, 2);
    {
        lfuse_binding b[] = { lfuse_bind_list(names[0], lists[0]), lfuse_bind_list(names[1], lists[1]),
                              lfuse_bind_list(names[2], lists[2]), lfuse_bind_tensor(names[3], total) };
        OK(lfuse_plan_run(plan, stream, b, 4));
        t = at(place[1][2] + 1, 3);
        OK(lfuse_list_replace(lists[0], 3, 1, &t));
        lfuse_tensor_destroy(t);
        FAILS(LFUSE_ERR_OVERLAP, lfuse_plan_run(plan, stream, b, 4));
        ck_assert_msg(strstr(lfuse_last_error(), "\"written\" member 2, which is written, overlaps \"read\" member 3"),
                      "%s", lfuse_last_error());
        t = at(PLACES - 1, 3);
        OK(lfuse_list_replace(lists[0], 3, 1, &t));
        lfuse_tensor_destroy(t);
        FAILS(LFUSE_ERR_OVERLAP, lfuse_plan_run(plan, stream, b, 4));
        ck_assert_msg(strstr(lfuse_last_error(), "\"total\", which is written, overlaps \"read\" member 3"), "%s",
                      lfuse_last_error());
        t = at(place[0][3], 3);
        OK(lfuse_list_replace(lists[0], 3, 1, &t));
        lfuse_tensor_destroy(t);
        OK(lfuse_plan_run(plan, stream, b, 4));
    }
    for (i = 0; i < LISTS; i++) lfuse_list_destroy(lists[i]);
    lfuse_tensor_destroy(total);
    lfuse_plan_destroy(plan);
}
END_TEST

static Suite *suite_overlaps(void)
{
    Suite *s = suite_create("run");
    TCase *c = tcase_create("overlaps");

    tcase_add_checked_fixture(c, open_stub, close_stub);
    tcase_set_timeout(c, 0);
    tcase_add_loop_test(c, as_every_pair_compared, 1, 6);
    tcase_add_test(c, the_message_names_both);
    suite_add_tcase(s, c);
    return s;
}

TEST_MAIN(CK_NOFORK, suite_overlaps)
