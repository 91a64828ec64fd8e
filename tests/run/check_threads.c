/* SPDX-License-Identifier: Apache-2.0 */
/* Eight threads on one device with nothing compiled yet: the same plans, plans of their own, all at once. */
#include <pthread.h>
#include <stdatomic.h>

#include "libfuse.h"
#include "tests/stub/faults.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

enum { THREADS = 8, TURNS = 4, RUNS = 5, N = 500 };

typedef struct worker {
    pthread_t thread;
    int index;
    lfuse_device *device;
    lfuse_plan *shared; /* one plan for all, run on the thread's own stream */
    lfuse_status status;
    bool wrong;
    char message[256];
} worker;

static pthread_barrier_t start;

/* y = scale x + addend; the addend is in the text, so that each one is another program. */
static lfuse_status make_plan(lfuse_device *device, double addend, unsigned disable, lfuse_plan **plan)
{
    const lfuse_plan_options options = {.disable = disable};
    lfuse_graph *g = lfuse_graph_create();
    lfuse_value x = lfuse_input(g, "x", F32(lfuse_size_var(g, "n", 1, 1 << 20)));
    lfuse_output(g, "y", lfuse_add(lfuse_mul(x, lfuse_scalar(g, "scale")), lfuse_constant(g, addend)));
    lfuse_status status = lfuse_plan_create(device, g, &options, plan);
    lfuse_graph_destroy(g);
    return status;
}

static lfuse_status run(lfuse_plan *plan, lfuse_stream *s, lfuse_tensor *x, lfuse_tensor *y, double scale)
{
    return lfuse_plan_run(plan, s, BINDINGS(BIND("x", x), lfuse_bind_scalar("scale", scale), BIND("y", y)));
}

static bool is_wrong(const float *got, double scale, double addend)
{
    for (int i = 0; i < N; i++)
        if (got[i] != (float)(scale * i + addend)) return true;
    return false;
}

static lfuse_status turn(worker *w, int number)
{
    const int64_t shape[] = {N};
    const double addend = 1 + number % 2, scale = w->index + 1;
    float given[N], got[N];
    lfuse_stream *s = NULL;
    lfuse_tensor *x = NULL, *y = NULL;
    lfuse_plan *common = NULL, *own = NULL;
    lfuse_status status;

    for (int i = 0; i < N; i++) given[i] = (float)i;
    if ((status = make_plan(w->device, addend, 0, &common))) goto out; /* all threads make the same two */
    if ((status = make_plan(w->device, 10 + w->index, 0, &own))) goto out;
    if ((status = lfuse_stream_create(w->device, &s))) goto out;
    if ((status = lfuse_tensor_create(w->device, LFUSE_F32, 1, shape, &x))) goto out;
    if ((status = lfuse_tensor_create(w->device, LFUSE_F32, 1, shape, &y))) goto out;
    if ((status = lfuse_tensor_write(x, NULL, given))) goto out; /* the device's own stream, shared */
    if ((status = run(common, s, x, y, scale)) || (status = lfuse_tensor_read(y, s, got))) goto out_wait;
    if ((status = lfuse_stream_synchronize(s))) goto out;
    w->wrong |= is_wrong(got, scale, addend);
    if ((status = run(own, s, x, y, scale)) || (status = lfuse_tensor_read(y, s, got))) goto out_wait;
    if ((status = lfuse_stream_synchronize(s))) goto out;
    w->wrong |= is_wrong(got, scale, 10 + w->index);
    for (int i = 0; i < RUNS; i++) /* two kernels: a graph from the third run on, with another number each time */
        if ((status = run(w->shared, s, x, y, scale + i % 2))) goto out_wait;
    if ((status = lfuse_tensor_read(y, s, got))) goto out_wait;
out_wait:
    if (lfuse_stream_synchronize(s) != LFUSE_OK) w->wrong = true;
    if (!status) w->wrong |= is_wrong(got, scale, 5);
out:
    lfuse_plan_destroy(own);
    lfuse_plan_destroy(common);
    lfuse_tensor_destroy(x);
    lfuse_tensor_destroy(y);
    lfuse_stream_destroy(s);
    return status;
}

static void *work(void *argument)
{
    worker *w = argument;
    pthread_barrier_wait(&start);
    for (int number = 0; number < TURNS && w->status == LFUSE_OK; number++) w->status = turn(w, number);
    snprintf(w->message, sizeof w->message, "%s", lfuse_last_error());
    return NULL;
}

TEST_CASE("threads", .before = test_without_cache)

TEST_LOOP(test_threads, 0, 2)
{
    worker workers[THREADS];
    lfuse_device *device;
    lfuse_plan *shared;
    test_stub_begin();
    lfuse__stub.lazy = _i != 0;
    OK(lfuse_device_open("stub:0", &device));
    ck_assert_msg(make_plan(device, 5, LFUSE_NO_POINTWISE_FUSION, &shared) == LFUSE_OK, "%s", lfuse_last_error());
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.index = i, .device = device, .shared = shared};
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&start);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_msg(workers[i].status == LFUSE_OK, "thread %d: %s", i, workers[i].message);
        ck_assert_msg(!workers[i].wrong, "thread %d: a wrong result", i);
    }
    lfuse_plan_destroy(shared);
    lfuse_device_close(device);
    test_stub_end();
}

TEST_SUITE("threads", CK_NOFORK)
