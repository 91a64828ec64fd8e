/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels become several programs, compiled side by side, where the compiler of the device can; which, and what fails.
 * What compiling takes is counted.
 */
#include <unistd.h>

#include "common/run/compile/body.h"
#include "tests/run/rig.h"

enum { ELEMENTS = 3000, LONG = 100 /* functions, that a program has enough of it */ };

static lfuse_tensor *members[2];
static lfuse_list *list;

static bool one_cpu(void)
{
    return sysconf(_SC_NPROCESSORS_ONLN) < 2;
}

static void begin(bool concurrent)
{
    lfuse__stub.concurrent_builds = concurrent;
    reopen_stub();
    members[0] = ramp(SHAPE(ELEMENTS), 0, 1);
    members[1] = ramp(SHAPE(7), 1, 0);
    list = new_list(dev, LFUSE_F32, 2, members);
}

static void end(void)
{
    drop(list);
    drop(members[0]);
    drop(members[1]);
}

/* "w" divided by its norm (a short kernel and two long ones), or doubled (one). */
static lfuse_status make(bool norm, lfuse_plan **plan)
{
    const lfuse_plan_options options = { .transport = LFUSE_TRANSPORT_TABLE };
    lfuse_graph *graph = lfuse_graph_create();
    const lfuse_value w = lfuse_list_input(graph, "w", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_value v = w;

    for (int i = 0; i < LONG && norm; i++) v = lfuse_add(v, lfuse_constant(graph, i % 2 ? -i : i + 1)); /* adds 0 */
    lfuse_update(w, norm ? lfuse_div(v, lfuse_list_norm_l2(v)) : lfuse_add(w, w));
    lfuse_status status = lfuse_plan_create(dev, graph, &options, plan);
    lfuse_graph_destroy(graph);
    return status;
}

static lfuse_status run(lfuse_plan *plan)
{
    return lfuse_plan_run(plan, stream, BINDINGS(BIND("w", list)));
}

static void check(double factor)
{
    const double norm = sqrt((ELEMENTS - 1.0) * ELEMENTS * (2.0 * ELEMENTS - 1) / 6 + 7);

    NEAR(values(members[0])[ELEMENTS - 1], factor * (ELEMENTS - 1) / norm);
    NEAR(values(members[1])[6], factor / norm);
}

TEST_CASE("programs", .setup = open_stub, .teardown = close_stub, .before = test_without_cache)

TEST(long_kernels_are_several_programs)
{
    lfuse_plan *norm, *twice;

    if (one_cpu()) TEST_SKIP("one CPU: one program");
    begin(true);
    uint64_t before = compiles();
    OK(make(true, &norm));
    OK(run(norm));
    check(1);
    ck_assert_uint_eq(compiles() - before, 3); /* fold and partial; elements; the table's */
    OK(make(false, &twice));
    OK(run(twice));
    check(2);
    ck_assert_uint_eq(compiles() - before, 4); /* a table is written by the same kernel */
    drop(norm);
    drop(twice);
    end();
}

TEST(others_are_one_program)
{
    lfuse_plan *norm;

    begin(false);
    uint64_t before = compiles();
    OK(make(true, &norm));
    OK(run(norm));
    check(1);
    ck_assert_uint_eq(compiles() - before, 1);
    drop(norm);
    end();
}

/* With a driver that compiles when kernels are first launched, a plan's making does that, and it is counted. */
TEST(time_of_first_launches)
{
    uint64_t asked, compiled;
    lfuse_plan *norm, *again;
    double start, stop;

    lfuse__stub.batched = lfuse__stub.compiles_at_launch = true; /* a program is text until it is launched */
    begin(false);
    lfuse__stub_batch_cost(&asked, &compiled, &start);
    lfuse_device_counters before = counters_of(dev);
    OK(make(true, &norm));
    lfuse_device_counters after = counters_of(dev);
    lfuse__stub_batch_cost(&asked, &compiled, &stop);
    ck_assert(stop > start);
    double counted = 1e-6 * (double)(after.build_us - before.build_us);
    ck_assert_msg(counted >= stop - start - 1e-6, "%g s of %g are counted", counted, stop - start);
    OK(make(true, &again)); /* the same plan: nothing is compiled */
    before = counters_of(dev);
    ck_assert_uint_eq(before.build_us, after.build_us);
    drop(norm);
    drop(again);
    end();
}

/* Whichever fails, in whatever thread: its status and message, nothing launched, and the next try is as if nothing. */
TEST(one_of_them_fails)
{
    if (one_cpu()) TEST_SKIP("one CPU: one program");
    for (int nth = 1; nth <= 3; nth++) {
        lfuse_plan *norm = NULL;
        begin(true);
        uint64_t before = launches();
        lfuse__stub_fail(LFUSE__STUB_program_build, (uint64_t)nth, false, LFUSE_ERR_COMPILE);
        FAILS(LFUSE_ERR_COMPILE, make(true, &norm));
        ck_assert_ptr_null(norm);
        ck_assert_uint_eq(launches(), before);
        lfuse__stub_no_failure();
        OK(make(true, &norm));
        OK(run(norm));
        check(1);
        drop(norm);
        end();
    }
}

/* What lies between the members of an instruction tells nothing; a kernel was compiled twice for it. */
TEST(equal_bodies_are_one_class)
{
    lfuse__instr instr[2];
    lfuse__body bodies[2];
    lfuse__kernel_class k[2];

    for (int i = 0; i < 2; i++) {
        memset(&instr[i], i ? 0x55 : 0xaa, sizeof instr[i]);
        instr[i].kind = LFUSE__I_CONST, instr[i].op = instr[i].from = 0, instr[i].type = LFUSE_F32;
        instr[i].a = instr[i].b = instr[i].c = -1;
        instr[i].number = 0.0;
        bodies[i] = (lfuse__body){ .ninstr = 1, .instr = &instr[i] };
        k[i] = (lfuse__kernel_class){ .body = &bodies[i], .rank = 1 };
    }
    ck_assert(lfuse__class_equal(&k[0], &k[1]));
    instr[1].number = -0.0;
    ck_assert(!lfuse__class_equal(&k[0], &k[1]));
    instr[1].number = 0.0;
    k[1].family = LFUSE__FAMILY_ROWS;
    ck_assert(!lfuse__class_equal(&k[0], &k[1]));
}

TEST_SUITE("run", CK_NOFORK)
