/* SPDX-License-Identifier: Apache-2.0 */
/* Products that follow each other in one launch: on the stub, whose groups are coroutines. */
#include "tests/run/networks.h"

TEST_CASE("networks", .setup = open_stub, .teardown = close_stub)

TEST_LOOP(shapes, 0, 2)
{
    static const struct { int layers; int64_t rows, widths[MOST_LAYERS + 1]; const char *ends; } cases[] = {
        { 3, 1, { 12, 20, 37, 29 }, "r" }, { 2, 4, { 33, 38, 22 }, "g" }, { 4, 9, { 5, 56, 56, 56, 23 }, "rrrl" },
        { 8, 1, { 28, 28, 28, 28, 28, 28, 28, 28, 28 }, "nsl" }, { 3, 17, { 40, 24, 61, 30 }, "r" },
        { 2, 5, { 300, 24, 30 }, "r" }, { 3, 1, { 1100, 40, 40, 30 }, "r" }, { 3, 16, { 272, 40, 40, 24 }, "g" },
        { 5, 2, { 20, 31, 16, 30, 24, 10 }, "rgsgn" }, { 3, 9, { 64, 52, 56, 10 }, "srl" },
    };

    network_begin();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        network n = { .layers = cases[c].layers, .rows = cases[c].rows, .ends = cases[c].ends, .transposed = _i };
        memcpy(n.widths, cases[c].widths, sizeof n.widths);
        network_graph(&n, true);
        network_tensors(&n);
        lfuse_plan *plan = plan_with(0);
        ck_assert_msg(strncmp(lfuse_plan_text(plan), "(network ", 9) == 0, "%s", lfuse_plan_text(plan));
        for (int i = 0; i < 3; i++) {
            OK(lfuse_tensor_fill(n.y, NULL, NAN));
            uint64_t before = launches();
            network_run(&n, plan, stream);
            if (i) ck_assert_msg(launches() - before == 1, "case %zu: %llu launches", c,
                                 (unsigned long long)(launches() - before));
            network_check(&n);
        }
    }
}

static void check_step_by_step(int64_t rows, int64_t width, unsigned disable, uint64_t count)
{
    network n = { .layers = 3, .rows = rows, .widths = { 12, width, width, 30 }, .ends = "rrl" };

    network_graph(&n, true);
    network_tensors(&n);
    lfuse_plan *plan = plan_with(disable);
    network_run(&n, plan, stream);
    LAUNCHES(count, network_run(&n, plan, stream));
    network_check(&n);
    drop(plan);
    network_free(&n);
}

/* Too many rows, or groups, or the pass left out: the stages that a network stands for. */
TEST(declined)
{
    network_begin();
    check_step_by_step(3, 36, 0, 1);
    check_step_by_step(65, 36, 0, 3);
    check_step_by_step(64, 70, 0, 3); /* more than GROUPS */
    check_step_by_step(3, 36, LFUSE_NO_NETWORK, 3);
    check_step_by_step(0, 36, 0, 0);
    lfuse__stub.resident_groups = 0;
    reopen_stub();
    check_step_by_step(3, 36, 0, 3);
}

/* A plan of any number of rows has the layers' kernels; of one launch, each instance brings what it takes, once. */
TEST(rows_as_they_come)
{
    static const struct { int64_t rows; int brings; } runs[] = { { 1, 1 }, { 1, 0 }, { 5, 1 }, { 6, 0 }, { 1, 0 },
                                                                 { 65, 0 } };
    lfuse_plan *plan = NULL;

    network_begin();
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        network n = { .layers = 3, .rows = runs[i].rows, .widths = { 12, 36, 36, 30 }, .ends = "nrg" };
        if (!i) network_graph(&n, true);
        network_tensors(&n);
        if (!i) plan = plan_with(0);
        uint64_t before = programs();
        network_run(&n, plan, stream);
        ck_assert_msg(programs() - before == (uint64_t)runs[i].brings, "%d rows: %d programs", (int)n.rows,
                      (int)(programs() - before));
        network_check(&n);
    }
}

/* Timed against its layers, whichever of the two it is then; the measurement leaves no trace in what is computed. */
TEST(measured)
{
    const lfuse_plan_options options = { .effort = LFUSE_EFFORT_MEASURE };
    static const int64_t rows[] = { 3, 65 };

    network_begin();
    for (int c = 0; c < 2; c++) {
        network n = { .layers = 3, .rows = rows[c], .widths = { 36, 36, 36, 36 }, .ends = "r" };
        network_graph(&n, true);
        network_tensors(&n);
        lfuse_plan *plan = new_plan(dev, g, &options);
        for (int i = 0; i < 3; i++) {
            OK(lfuse_tensor_fill(n.y, NULL, NAN));
            uint64_t before = launches();
            network_run(&n, plan, stream);
            before = launches() - before;
            if (!i) ck_assert_uint_gt(before, 20);
            else ck_assert_msg(before >= 3 || (before == 1 && !c), "%d launches", (int)before);
            network_check(&n);
        }
        drop(plan);
    }
}

static void check_parts(const network *made, uint64_t count)
{
    network n = *made;

    network_graph(&n, true);
    network_tensors(&n);
    lfuse_plan *plan = plan_with(0);
    for (int i = 0; i < 2; i++) {
        OK(lfuse_tensor_fill(n.y, NULL, NAN));
        uint64_t before = launches();
        network_run(&n, plan, stream);
        if (i) ck_assert_uint_eq(launches() - before, count);
        network_check(&n);
    }
    drop(plan);
    network_free(&n);
}

/* What is too wide for a launch is left to others; those before it and behind it share one each. */
TEST(parts)
{
    network_begin();
    check_parts(&(network){ .layers = 3, .rows = 1, .widths = { 12, 20, 24, 300 }, .ends = "rrl" }, 2);
    check_parts(&(network){ .layers = 4, .rows = 1, .widths = { 12, 20, 300, 24, 20 }, .ends = "r" }, 3);
    check_parts(&(network){ .layers = 5, .rows = 3, .widths = { 12, 20, 24, 300, 20, 12 }, .ends = "rgrgr" }, 3);
}

/* Rows of x, y and the weights begin anywhere; weights of some layers that lie otherwise are for others. */
TEST(strides)
{
    network n = { .layers = 2, .rows = 3, .widths = { 10, 32, 29 }, .ends = "rl" };
    lfuse_tensor *big[4];

    network_begin();
    network_graph(&n, false);
    network_tensors(&n);
    lfuse_plan *plan = plan_with(0);
    network odd = n;
    for (int i = 0; i < 4; i++) big[i] = network_noise(SHAPE(i == 3 ? 1100 : 400), 1);
    odd.w[1] = network_noise(SHAPE(32, 29), 0.4);
    odd.x = new_view(big[0], SHAPE(3, 10), LFUSE_DIMS(-21, 2), 60);
    odd.w[0] = new_view(big[1], SHAPE(10, 32), LFUSE_DIMS(33, 1), 3);
    odd.y = new_view(big[2], SHAPE(3, 29), LFUSE_DIMS(90, 2), 1);
    network_run(&odd, plan, stream);
    LAUNCHES(1, network_run(&odd, plan, stream));
    network_check(&odd);
    lfuse_tensor *along = new_view(big[1], SHAPE(10, 32), LFUSE_DIMS(1, 10), 3);
    drop(odd.w[0]);
    odd.w[0] = along;
    network_run(&odd, plan, stream);
    const uint64_t before = launches();
    network_run(&odd, plan, stream);
    ck_assert_uint_gt(launches() - before, 1);
    network_check(&odd);
    drop(odd.w[1]);
    odd.w[1] = new_view(big[3], SHAPE(32, 29), LFUSE_DIMS(1, 35), 7);
    network_run(&odd, plan, stream);
    LAUNCHES(1, network_run(&odd, plan, stream));
    network_check(&odd);
    drop(odd.x), drop(odd.w[0]), drop(odd.w[1]);
    drop(odd.y);
}

TEST_SUITE("run", CK_NOFORK)
