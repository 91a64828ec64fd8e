/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When kernels of products by tiles are compiled: with the plan, or by the instance whose sizes take them. Instances
 * are made, and nothing is run but what is timed.
 */
#include "tests/run/rig.h"

static lfuse_effort effort; /* of the next plans */
static lfuse_type type;     /* of their tensors */

/* A GPU of the stub's; `tuned`: beside whose maker's library products of less than 8 rows lose. */
static void begin(bool tuned)
{
    lfuse__stub.simd = 8;
    lfuse__stub.tuned = tuned;
    lfuse__stub.batched = true; /* a program is text until it is launched */
    effort = LFUSE_EFFORT_ESTIMATE, type = LFUSE_F32;
    reopen_stub_as(0);
    g = lfuse_graph_create();
}

static lfuse_plan *plan_of(lfuse_graph *graph)
{
    const lfuse_plan_options options = { .effort = effort };

    return new_plan(dev, graph, &options);
}

static uint64_t kernels(void)
{
    lfuse__stub_counters c = lfuse__stub_counters_now();
    return c.kernels;
}

/* "y" = "x" "v" and "z" = relu("x" "w"). */
static lfuse_plan *pair(lfuse_size m, lfuse_size n, lfuse_size k)
{
    lfuse_value x = lfuse_input(g, "x", TYPED(type, m, k));
    lfuse_value v = lfuse_input(g, "v", TYPED(type, k, n));
    lfuse_value w = lfuse_input(g, "w", TYPED(type, k, n));

    lfuse_output(g, "y", lfuse_matmul(x, v));
    lfuse_output(g, "z", lfuse_relu(lfuse_matmul(x, w)));
    return plan_of(g);
}

static lfuse_plan *open_pair(void)
{
    return pair(lfuse_size_var(g, "m", 0, 1 << 20), lfuse_size_var(g, "n", 0, 1 << 20),
                lfuse_size_var(g, "k", 0, 1 << 20));
}

static lfuse_tensor *matrix(int64_t rows, int64_t columns)
{
    return new_tensor(dev, TYPED(type, rows, columns));
}

static lfuse_status instance_of(lfuse_plan *plan, int64_t m, int64_t n, int64_t k)
{
    lfuse_tensor *x = matrix(m, k), *v = matrix(k, n), *w = matrix(k, n), *y = matrix(m, n), *z = matrix(m, n);
    lfuse_instance *instance = NULL;
    const lfuse_status status = lfuse_instance_create(plan, stream, BINDINGS(BIND("x", x), BIND("v", v), BIND("w", w),
                                                                             BIND("y", y), BIND("z", z)), &instance);

    drop(instance);
    drop(x), drop(v), drop(w);
    drop(y), drop(z);
    return status;
}

/* An instance of these sizes brings so many programs, of so many kernels. */
static void brings(lfuse_plan *plan, int64_t m, int64_t n, int64_t k, uint64_t programs, uint64_t texts)
{
    const uint64_t before = compiles(), there = kernels();

    OK(instance_of(plan, m, n, k));
    ck_assert_msg(compiles() - before == programs && kernels() - there == texts,
                  "%d x %d x %d: %d programs of %d kernels instead of %d of %d", (int)m, (int)n, (int)k,
                  (int)(compiles() - before), (int)(kernels() - there), (int)programs, (int)texts);
}

TEST_CASE("together", .setup = open_stub, .teardown = close_stub, .before = test_without_cache)

/* Of open sizes: what they take, all that one instance lacks in one program, and once for all that take the same. */
TEST(as_sizes_take_them)
{
    begin(false);
    lfuse_plan *plan = open_pair();
    ck_assert_uint_eq(kernels(), 0);
    brings(plan, 40, 60, 20, 1, 2);
    brings(plan, 41, 57, 33, 0, 0);
    brings(plan, 40, 60, 20, 0, 0);
    brings(plan, 3, 3000, 520, 1, 4); /* each of two phases */
    brings(plan, 2, 2800, 510, 0, 0);
    brings(plan, 0, 60, 20, 0, 0);
}

/* What the maker's library does needs no compiler, nor what would follow it if it declined. */
TEST(none_for_the_vendor)
{
    begin(true);
    lfuse_plan *plan = open_pair();
    ck_assert_uint_eq(kernels(), 0);
    brings(plan, 1, 300, 20, 0, 0);
    brings(plan, 40, 60, 20, 1, 2);
    brings(plan, 1, 301, 20, 0, 0);
    lfuse__stub.decline_epilogues = ~1u; /* from now on it is followed by a kernel */
    brings(plan, 1, 302, 20, 1, 1);
}

/* The next batch compiles nothing, whichever kernels it takes. */
TEST_LOOP(a_batch_finds_all_of_them, 0, 6)
{
    static const int64_t rows[] = { 1, 3, 4, 5, 7, 8, 16, 17, 31, 32, 33, 65, 100, 255, 300, 999, 1000, 3000, 4000 };
    static const int64_t widths[] = { 48, 600, 10 };

    begin(_i / 3);
    lfuse_plan *plan = pair(lfuse_size_var(g, "batch", 1, 4000), (lfuse_size)widths[_i % 3], 520);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) brings(plan, rows[i], widths[_i % 3], 520, 0, 0);
}

/* So it is with tensor cores, which take rows of whole vectors, whichever side is open. */
TEST_LOOP(sides_find_those_of_units, 0, 3)
{
    static const int64_t sizes[] = { 1, 8, 15, 16, 64, 65, 72, 100, 104, 1000, 1001, 1024, 4096 };
    lfuse_size sides[] = { 520, 600, 256 };
    int64_t size[] = { 520, 600, 256 };

    lfuse__stub.tensor_cores = true;
    begin(false);
    type = LFUSE_F16;
    sides[_i] = lfuse_size_var(g, "open", 1, 4096);
    lfuse_plan *plan = pair(sides[0], sides[1], sides[2]);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size[_i] = sizes[i];
        brings(plan, size[0], size[1], size[2], 0, 0);
    }
}

static int kernels_of_plan(int64_t least_rows, int64_t most_rows, bool tuned)
{
    const bool one = least_rows == most_rows;

    begin(tuned);
    uint64_t before = kernels();
    lfuse_plan *plan = pair(one ? (lfuse_size)least_rows : lfuse_size_var(g, "batch", least_rows, most_rows), 300, 520);
    drop(plan);
    return (int)(kernels() - before);
}

/* And what no size takes is not there. */
TEST(no_more_than_occur)
{
    ck_assert_int_eq(kernels_of_plan(1, 1, true), 0);   /* the library's alone */
    ck_assert_int_eq(kernels_of_plan(40, 40, true), 2); /* one size */
    ck_assert_int_ge(kernels_of_plan(1, 4, false), 4);  /* thin ones, of two phases each */
    ck_assert_int_lt(kernels_of_plan(1, 7, true), kernels_of_plan(1, 100, true));
    ck_assert_int_lt(kernels_of_plan(6000, 9000, true), kernels_of_plan(6000, 9000, false));
    ck_assert_int_lt(kernels_of_plan(20, 100, false), kernels_of_plan(1, 100, false));
}

/* It says so, and the next try is as if nothing had been. */
TEST(a_compiler_that_fails)
{
    begin(false);
    lfuse_plan *plan = open_pair();
    lfuse__stub_fail(LFUSE__STUB_program_build, 1, false, LFUSE_ERR_COMPILE);
    FAILS(LFUSE_ERR_COMPILE, instance_of(plan, 40, 50, 60));
    lfuse__stub_no_failure();
    brings(plan, 40, 50, 60, 1, 2);
}

/* Kernels that the device cannot have: each is told by itself, and its product computed in another way. */
TEST(a_kernel_that_declines)
{
    for (int i = 0; i < 2; i++) {
        begin(true);
        lfuse_plan *plan = open_pair();
        lfuse__stub_fail(LFUSE__STUB_program_build, 1, i, LFUSE_ERR_UNSUPPORTED);
        OK(instance_of(plan, 40, 50, 60));
        ck_assert(lfuse__stub_fired());
        lfuse__stub_no_failure();
    }
}

/* What is to be timed is compiled together: one program for a product. */
TEST(what_is_raced)
{
    begin(true);
    effort = LFUSE_EFFORT_MEASURE;
    lfuse_plan *plan = open_pair();
    uint64_t before = compiles(), there = kernels();
    OK(instance_of(plan, 40, 60, 72));
    ck_assert_uint_gt(kernels() - there, 2 * 2);
    ck_assert_uint_lt(compiles() - before, kernels() - there);
}

TEST_SUITE("run", CK_NOFORK)
