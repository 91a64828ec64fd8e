/* SPDX-License-Identifier: Apache-2.0 */
/* The alternatives of a stage, measured on the stub: a product with its epilogue, or a product and a kernel. */
#include <pthread.h>
#include <unistd.h>

#include "common/tune/wisdom.h"
#include "tests/tune/wisdom_rig.h"

static void open_few(void)
{
    open_with_file();
    lfuse__stub.gemm_candidates = 1; /* so that alternatives alone are a choice */
}

static void slow_epilogue(void)
{
    lfuse__stub.epilogue_slow = ~1u;
}

static lfuse_plan *plan_of(lfuse_effort effort)
{
    const lfuse_plan_options options = { .effort = effort };

    return new_plan(dev, g, &options);
}

/* What is asked of the device while candidates are timed, and for each product. */
static uint64_t timed(void)
{
    return lfuse__stub_calls(LFUSE__STUB_gemm_run) + lfuse__stub_calls(LFUSE__STUB_graph_begin);
}

/* A new plan of the dense layer has so many launches, and whether there was more than that. */
static void check_launches(lfuse_effort effort, int64_t rows, uint64_t count, bool measured)
{
    lfuse_plan *plan = plan_of(effort);
    const uint64_t before = timed();

    check_dense(plan, rows, measured ? ANY : count);
    ck_assert(measured == (timed() - before > 1));
    check_dense(plan, rows, count);
    drop(plan);
}

TEST_CASE("trial", .setup = open_few, .teardown = close_and_remove, .limit = 120)

TEST(the_faster_way_is_taken)
{
    dense_graph();
    for (int i = 0; i < 4; i++) {
        lfuse__stub.native_graph = i & 1;
        lfuse__stub.elapsed = i & 2;
        lfuse__stub.gemm_workspace = i == 3 ? 4096 : 0;
        lfuse__stub.epilogue_slow = 0;
        unlink(file);
        reopen();
        check_launches(LFUSE_EFFORT_ESTIMATE, 4, 1, false);
        slow_epilogue();
        check_launches(LFUSE_EFFORT_MEASURE, 4, 2, true);
        check_lines(file, 1);
        lfuse__stub.epilogue_slow = 1; /* which nobody will notice */
        reopen();
        check_launches(LFUSE_EFFORT_ESTIMATE, 4, 2, false);
        check_launches(LFUSE_EFFORT_MEASURE, 4, 2, false);
        check_launches(LFUSE_EFFORT_MEASURE, 5, 1, true);
        check_launches(LFUSE_EFFORT_MEASURE, 0, 0, false);
        check_lines(file, 2);
        ck_assert_ptr_null(strstr(heard, "not measured"));
        ck_assert_ptr_null(strstr(heard, "warning"));
    }
}

/* Layers that differ in names alone are one choice. */
TEST(names_do_not_count)
{
    lfuse_value x = lfuse_input(g, "x", F32(4, 32));
    char name[2][8];
    lfuse_tensor *tx = ramp(SHAPE(4, 32), 0, 1), *tw = ramp(SHAPE(32, 32), -1, 0.1f);
    lfuse_tensor *tb = ramp(SHAPE(32), 1, 1), *ty = tensor(SHAPE(4, 32));
    lfuse_binding bind[12];
    int n = 0;

    slow_epilogue();
    bind[n++] = BIND(NULL, tx);
    for (int i = 0; i < 5; i++) {
        snprintf(name[0], sizeof name[0], "w%d", i);
        snprintf(name[1], sizeof name[1], "b%d", i);
        lfuse_value w = lfuse_input(g, name[0], F32(32, 32));
        lfuse_value b = lfuse_input(g, name[1], F32(32));
        x = lfuse_relu(lfuse_add(lfuse_matmul(x, w), b));
        bind[n++] = BIND(NULL, tw);
        bind[n++] = BIND(NULL, tb);
    }
    lfuse_output(g, "y", x);
    bind[n++] = BIND(NULL, ty);
    lfuse_plan *plan = plan_of(LFUSE_EFFORT_MEASURE);
    OK(lfuse_plan_run(plan, stream, bind, n));
    /* The first layer reads and the last one writes what is bound; the three between, buffers. */
    check_lines(file, 3);
}

/* What is updated, and read, is the user's once: candidates are measured in memory of their own. */
TEST(an_update_happens_once)
{
    lfuse_tensor *a = ramp(SHAPE(4, 8), 0, 1), *b = ramp(SHAPE(8, 6), 0, 1);
    lfuse_tensor *wide = ramp(SHAPE(4, 12), 0, 1);
    lfuse_value vc = lfuse_input(g, "c", F32(4, 6));

    lfuse_update(vc, lfuse_relu(lfuse_add(vc, lfuse_matmul(lfuse_input(g, "a", F32(4, 8)),
                                                            lfuse_input(g, "b", F32(8, 6))))));
    lfuse_tensor *c = new_view(wide, SHAPE(4, 6), LFUSE_DIMS(-12, 2), 36); /* from the last row up */
    lfuse_plan *plan = plan_of(LFUSE_EFFORT_MEASURE);
    RUN(plan, stream, BIND("a", a), BIND("b", b), BIND("c", c));
    ck_assert_ptr_null(strstr(heard, "not measured"));
    const float *v = values(wide);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 6; j++) {
            const int at = 36 - 12 * i + 2 * j;
            double sum = at;
            for (int k = 0; k < 8; k++) sum += (8 * i + k) * (6 * k + j);
            NEAR(v[at], sum);
            NEAR(v[at + 1], at + 1);
        }
}

/* A way that there is no more: the estimate, or another measurement. */
TEST(a_way_that_is_gone)
{
    char text[4096];

    dense_graph();
    check_launches(LFUSE_EFFORT_MEASURE, 4, 1, true);
    read_file(file, text, sizeof text);
    char *at = strstr(text, "\tvendor-epilogue\t");
    ck_assert_msg(at != NULL, "%s", text);
    memcpy(at, "\tvendor-epilogux\t", 17);
    {
        lfuse__wisdom w = { 0 };
        lfuse__wisdom_place place;
        at = strchr(text, '\n') + 1;
        OK(lfuse__wisdom_put(&w, at, strcspn(at, "\n")));
        OK(lfuse__wisdom_place_at(file, &place));
        OK(lfuse__wisdom_save(&place, &w));
        lfuse__wisdom_place_close(&place);
        lfuse__wisdom_clear(&w);
    }
    reopen();
    check_launches(LFUSE_EFFORT_ESTIMATE, 4, 1, false);
    ck_heard("wisdom names vendor-epilogux, which is no way to do it any more");
    slow_epilogue();
    check_launches(LFUSE_EFFORT_MEASURE, 4, 2, true);
    check_lines(file, 1);
}

/* What is known of a plan whose tensors the cache has room for does not count for others. */
TEST(tensors_that_the_cache_has_no_room_for)
{
    dense_graph();
    slow_epilogue();
    lfuse__stub.gpu = true;
    lfuse__stub.cache_bytes = 1 << 20;
    reopen();
    check_launches(LFUSE_EFFORT_MEASURE, 4, 2, true);
    check_lines(file, 1);
    lfuse__stub.cache_bytes = 64;
    reopen();
    const uint64_t fills = lfuse__stub_calls(LFUSE__STUB_fill);
    check_launches(LFUSE_EFFORT_MEASURE, 4, 2, true);
    ck_assert_uint_gt(lfuse__stub_calls(LFUSE__STUB_fill), fills);
    check_lines(file, 2);
}

/* Without memory for it nothing is measured, and the plan works as the estimate has it. */
TEST(no_memory_for_a_trial)
{
    dense_graph();
    slow_epilogue();
    drop(ramp(SHAPE(1), 0, 1)); /* which makes the device's own stream */
    {
        lfuse_plan *plan = plan_of(LFUSE_EFFORT_MEASURE);
        lfuse__stub_fail(LFUSE__STUB_stream_create, 1, false, LFUSE_ERR_DEVICE_MEMORY);
        check_dense(plan, 4, 1);
        ck_assert(lfuse__stub_fired());
        lfuse__stub_no_failure();
        drop(plan);
    }
    ck_heard(": not measured: ");
    ck_assert_str_eq(lfuse_last_error(), "");
    check_launches(LFUSE_EFFORT_MEASURE, 4, 2, true);
}

#define SIZES(rows, columns) ((const lfuse_size[]){rows, columns})

/*
 * What is made of a frozen operand may be kept, and then another way is the fastest: it is another problem. Without
 * such tensor cores nobody keeps anything.
 */
TEST_LOOP(frozen_operands_of_narrow_types, 0, 3)
{
    enum { M = 9, N = 7, K = 17 };
    const lfuse_type type = _i == 1 ? LFUSE_BF16 : LFUSE_F16;
    const bool keeps = _i < 2;
    const lfuse_plan_options o = { .effort = LFUSE_EFFORT_MEASURE, .provider = LFUSE_PROVIDER_NATIVE };

    lfuse__stub.gpu = true, lfuse__stub.vector_lanes = false;
    lfuse__stub.simd = 32, lfuse__stub.max_group = 1024;
    lfuse__stub.tensor_cores = lfuse__stub.wgmma = keeps;
    lfuse__stub.dynamic_local_bytes = keeps ? 226 * 1024 : 0;
    reopen();
    lfuse_tensor *x = new_tensor(dev, type, 2, SIZES(M, K)), *w = new_tensor(dev, type, 2, SIZES(K, N));
    lfuse_tensor *y = new_tensor(dev, type, 2, SIZES(M, N));
    for (int i = 0; i < 3; i++) { /* w is not frozen, is frozen, is not */
        lfuse_graph *graph = lfuse_graph_create();
        lfuse_output(graph, "y", lfuse_matmul(lfuse_input(graph, "x", type, 2, SIZES(M, K)),
                                              (i == 1 ? lfuse_frozen : lfuse_input)(graph, "w", type, 2, SIZES(K, N))));
        lfuse_plan *plan = new_plan(dev, graph, &o);
        RUN(plan, stream, BIND("x", x), BIND("w", w), BIND("y", y));
        check_lines(file, keeps && i ? 2 : 1);
        drop(plan);
        lfuse_graph_destroy(graph);
    }
}

/*
 * Wisdom has one rate of products, which is the device's, whatever the environment asks of the plans of this process:
 * a vendor's library here, of which the stub, a CPU, is no user by itself. No launch is left for the product's run.
 */
TEST(rates_of_the_device)
{
    const lfuse_plan_options o = { .effort = LFUSE_EFFORT_MEASURE, .strassen = LFUSE_STRASSEN_AUTO };
    const uint64_t before = lfuse__stub_calls(LFUSE__STUB_gemm_prepare);

    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "x", F32(8, 8)), lfuse_input(g, "w", F32(8, 8))));
    lfuse__wisdom_note(dev, "rate:copy:16777216", "plan", "rates", 5e3);
    lfuse__stub_fail(LFUSE__STUB_launch, 1, true, LFUSE_ERR_DEVICE); /* 2^30 products would take long */
    lfuse_plan *plan = new_plan(dev, g, &o);
    ck_assert(lfuse__stub_fired());
    lfuse__stub_no_failure();
    ck_heard("rate:product:1024:f32 could not be measured");
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_gemm_prepare), before);
    ck_assert_msg(strstr(lfuse_plan_text(plan), "(gemm 8 x 8 x 8"), "%s", lfuse_plan_text(plan));
}

/* Where all but one decline there is nothing to measure. */
TEST(one_way_alone)
{
    dense_graph();
    lfuse__stub.decline_epilogues = ~1u;
    check_launches(LFUSE_EFFORT_MEASURE, 4, 2, false);
    ck_assert_int_ne(access(file, F_OK), 0);
    ck_assert_ptr_null(strstr(heard, "not measured"));
}

/* Every call fails once: the run succeeds, or fails with a message; the next one is right, and nothing leaks. */
TEST(failing_calls)
{
    static const lfuse__stub_slot slots[] = {
        LFUSE__STUB_gemm_candidates, LFUSE__STUB_gemm_prepare, LFUSE__STUB_gemm_run, LFUSE__STUB_launch,
        LFUSE__STUB_kernel_create, LFUSE__STUB_graph_begin, LFUSE__STUB_graph_end, LFUSE__STUB_graph_launch,
        LFUSE__STUB_event_create, LFUSE__STUB_event_record, LFUSE__STUB_event_elapsed, LFUSE__STUB_stream_create,
        LFUSE__STUB_stream_sync, LFUSE__STUB_write, LFUSE__STUB_copy, LFUSE__STUB_alloc, LFUSE__STUB_facts,
    };

    dense_graph();
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++)
        for (uint64_t n = 1; n < 20; n += 1 + n / 4) {
            lfuse_tensor *tx = ramp(SHAPE(4, 8), -1, 0.01f), *tw = ramp(SHAPE(8, 6), -2, 0.1f);
            lfuse_tensor *tb = ramp(SHAPE(6), 1, -0.5f), *ty = tensor(SHAPE(4, 6));
            unlink(file);
            lfuse_plan *plan = plan_of(LFUSE_EFFORT_MEASURE);
            lfuse__stub_fail(slots[i], n, false, LFUSE_ERR_DEVICE);
            lfuse_status status = lfuse_plan_run(plan, stream, BINDINGS(BIND("x", tx), BIND("w", tw), BIND("b", tb),
                                                                        BIND("y", ty)));
            lfuse__stub_no_failure();
            if (status) ck_assert_str_ne(lfuse_last_error(), "");
            drop(tx), drop(tw), drop(tb), drop(ty);
            check_dense(plan, 5, ANY);
            drop(plan);
            reopen();
            if (!status && !lfuse__stub_fired()) break;
        }
}

enum { THREADS = 8 };

typedef struct job {
    pthread_t thread;
    lfuse_plan *plan;
    bool good;
} job;

static void *work(void *data)
{
    job *j = data;

    j->good = run_dense(j->plan);
    return NULL;
}

/* Whoever comes while it is measured waits, and takes what was found. */
TEST(threads_share_a_trial)
{
    job jobs[THREADS];

    dense_graph();
    slow_epilogue();
    for (int i = 0; i < THREADS; i++) jobs[i].plan = plan_of(LFUSE_EFFORT_MEASURE);
    for (int i = 0; i < THREADS; i++) ck_assert(!pthread_create(&jobs[i].thread, NULL, work, &jobs[i]));
    for (int i = 0; i < THREADS; i++) {
        ck_assert(!pthread_join(jobs[i].thread, NULL));
        ck_assert(jobs[i].good);
        drop(jobs[i].plan);
    }
    check_lines(file, 1);
    ck_heard(": vendor-epilogue takes ");
    ck_assert_ptr_null(strstr(strstr(heard, ": vendor-epilogue takes ") + 1, ": vendor-epilogue takes "));
    check_launches(LFUSE_EFFORT_ESTIMATE, 4, 2, false);
}

TEST_SUITE("run", CK_FORK_GETENV)
