/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch layout and merged loops. */

#include <libfuse.h>

#include "common/matmul/provider.h"
#include "common/plan/plan.h"
#include "tests/support/main.h"

TEST_CASE("layout")

TEST(lifetimes_share_memory)
{
    const uint64_t bytes[] = { 1000, 1000, 1000, 0, 10 };
    const int first[] = { 0, 1, 2, 0, 0 }, last[] = { 1, 2, 3, 9, 3 };
    uint64_t offsets[5];

    ck_assert_uint_eq(lfuse__plan_layout(5, bytes, first, last, 256, offsets), 2058);
    ck_assert_uint_eq(offsets[0], 0);
    ck_assert_uint_eq(offsets[1], 1024);
    ck_assert_uint_eq(offsets[2], 0);
    ck_assert_uint_eq(offsets[4], 2048);
}

TEST(buffers_in_use_together_never_overlap)
{
    enum { N = 60 };
    uint64_t bytes[N], offsets[N], peak;
    int first[N], last[N], i, j, round;

    srand(1);
    for (round = 0; round < 50; round++) {
        for (i = 0; i < N; i++) {
            bytes[i] = (uint64_t)(rand() % 5000);
            first[i] = rand() % 30;
            last[i] = first[i] + rand() % 10;
        }
        peak = lfuse__plan_layout(N, bytes, first, last, 64, offsets);
        for (i = 0; i < N; i++) {
            if (!bytes[i]) continue;
            ck_assert_uint_eq(offsets[i] % 64, 0);
            ck_assert_uint_le(offsets[i] + bytes[i], peak);
            for (j = 0; j < i; j++)
                if (bytes[j] && first[i] <= last[j] && first[j] <= last[i])
                    ck_assert(offsets[i] + bytes[i] <= offsets[j] || offsets[j] + bytes[j] <= offsets[i]);
        }
    }
}

/* Rank of the loop of the only step after merging. */
static int merged_rank(lfuse_graph *g, int barrier)
{
    lfuse_graph *canonical;
    lfuse__plan_body *plan;
    lfuse__facts facts;
    lfuse__loop loop;

    memset(&facts, 0, sizeof facts);
    ck_assert(!lfuse__graph_canonical(g, &canonical));
    ck_assert(!lfuse__plan_make(canonical, &facts, &lfuse__products_advice, NULL, &plan));
    ck_assert_int_eq(plan->nstages, 1);
    lfuse__plan_loop(plan, plan->stages[0].alternatives[0].steps, barrier, &loop);
    lfuse__plan_free(plan);
    lfuse_graph_destroy(canonical);
    lfuse_graph_destroy(g);
    return loop.rank;
}

TEST(equal_shapes_are_one_axis)
{
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_size n = lfuse_size_var(g, "n", 0, 9);
    const lfuse_value x = lfuse_input(g, "x", F32(n, 3, 1, n)), y = lfuse_input(g, "y", F32(n, 3, 1, n));

    lfuse_output(g, "z", lfuse_add(x, y));
    ck_assert_int_eq(merged_rank(g, -1), 1);
}

TEST(a_repeated_row_keeps_two_axes)
{
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_value x = lfuse_input(g, "x", F32(2, 3, 4)), y = lfuse_input(g, "y", F32(4));

    lfuse_output(g, "z", lfuse_add(x, y));
    ck_assert_int_eq(merged_rank(g, -1), 2);
}

TEST(turned_axes_do_not_merge)
{
    lfuse_graph *g = lfuse_graph_create();
    const int turn[] = { 1, 2, 0 };
    const lfuse_value x = lfuse_input(g, "x", F32(2, 3, 4)), y = lfuse_input(g, "y", F32(3, 4, 2));

    lfuse_output(g, "z", lfuse_add(lfuse_permute(x, turn), y));
    ck_assert_int_eq(merged_rank(g, -1), 2);
}

TEST(nothing_merges_across_a_barrier)
{
    lfuse_graph *g = lfuse_graph_create();
    const int last[] = { 1, 2 };

    lfuse_output(g, "s", lfuse_sum(lfuse_input(g, "x", F32(2, 3, 4)), 2, last, 0));
    ck_assert_int_eq(merged_rank(g, 1), 2);
}

TEST_SUITE("layout", CK_FORK_GETENV)
