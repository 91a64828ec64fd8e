/* SPDX-License-Identifier: Apache-2.0 */
/* In a child of fork every call that reaches a device is refused, and destroying does nothing. */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/stub/faults.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

typedef struct objects {
    lfuse_device *device;
    lfuse_stream *stream;
    lfuse_event *event;
    lfuse_tensor *x, *y;
    lfuse_list *list;
    lfuse_graph *graph;
    lfuse_plan *plan;
    lfuse_instance *instance;
    lfuse_recording *recording;
} objects;

static void make(objects *o)
{
    const int64_t shape[] = {8};
    OK(lfuse_device_open("stub:0", &o->device));
    OK(lfuse_stream_create(o->device, &o->stream));
    OK(lfuse_event_create(o->device, &o->event));
    OK(lfuse_event_record(o->event, o->stream));
    OK(lfuse_tensor_create(o->device, LFUSE_F32, 1, shape, &o->x));
    OK(lfuse_tensor_create(o->device, LFUSE_F32, 1, shape, &o->y));
    OK(lfuse_tensor_fill(o->x, NULL, 3));
    OK(lfuse_list_create(o->device, LFUSE_F32, 1, &o->x, &o->list));
    o->graph = lfuse_graph_create();
    lfuse_output(o->graph, "y", lfuse_neg(lfuse_input(o->graph, "x", F32(8))));
    OK(lfuse_plan_create(o->device, o->graph, NULL, &o->plan));
    const lfuse_binding b[] = {BIND("x", o->x), BIND("y", o->y)};
    OK(lfuse_instance_create(o->plan, o->stream, b, 2, &o->instance));
    OK(lfuse_record_begin(o->stream));
    OK(lfuse_plan_run(o->plan, o->stream, b, 2));
    OK(lfuse_record_end(o->stream, &o->recording));
    OK(lfuse_recording_replay(o->recording, o->stream, NULL, 0));
    OK(lfuse_stream_synchronize(o->stream));
}

static void destroy(objects *o)
{
    lfuse_recording_destroy(o->recording);
    lfuse_instance_destroy(o->instance);
    lfuse_plan_destroy(o->plan);
    lfuse_graph_destroy(o->graph);
    lfuse_list_destroy(o->list);
    lfuse_tensor_destroy(o->x);
    lfuse_tensor_destroy(o->y);
    lfuse_event_destroy(o->event);
    lfuse_stream_destroy(o->stream);
    lfuse_device_close(o->device);
}

/* The number of the first call that was not refused as it should be; 0: all were. */
static int use(objects *o)
{
    const int64_t shape[] = {8};
    const lfuse_binding b[] = {BIND("x", o->x), BIND("y", o->y)};
    lfuse_device *device;
    lfuse_stream *stream;
    lfuse_event *event;
    lfuse_tensor *tensor;
    lfuse_list *list;
    lfuse_plan *plan;
    lfuse_instance *instance;
    uint64_t available, total;
    float host[8];
    int call = 0;
#define REFUSED(expression)                                                                                            \
    do {                                                                                                               \
        call++;                                                                                                        \
        if ((expression) != LFUSE_ERR_FORKED || !lfuse_last_error()[0]) return call;                                   \
    } while (0)
    REFUSED(lfuse_device_open("stub:0", &device));
    REFUSED(lfuse_device_memory(o->device, &available, &total));
    REFUSED(lfuse_stream_create(o->device, &stream));
    REFUSED(lfuse_stream_wrap(o->device, NULL, &stream));
    REFUSED(lfuse_stream_synchronize(o->stream));
    REFUSED(lfuse_stream_query(o->stream));
    REFUSED(lfuse_stream_check(o->stream));
    REFUSED(lfuse_event_create(o->device, &event));
    REFUSED(lfuse_event_record(o->event, o->stream));
    REFUSED(lfuse_event_wait(o->event, o->stream));
    REFUSED(lfuse_event_query(o->event));
    REFUSED(lfuse_tensor_create(o->device, LFUSE_F32, 1, shape, &tensor)); /* 11 */
    REFUSED(lfuse_tensor_wrap(o->device, LFUSE_MEMORY_NATIVE, (uintptr_t)host, sizeof host, LFUSE_F32, 1, shape, NULL,
                              0, &tensor));
    REFUSED(lfuse_tensor_view(o->x, 1, shape, NULL, 0, &tensor));
    REFUSED(lfuse_tensor_write(o->x, o->stream, host));
    REFUSED(lfuse_tensor_write(o->x, NULL, host));
    REFUSED(lfuse_tensor_read(o->x, o->stream, host));
    REFUSED(lfuse_tensor_copy(o->x, o->y, NULL));
    REFUSED(lfuse_tensor_fill(o->x, o->stream, 1));
    REFUSED(lfuse_list_create(o->device, LFUSE_F32, 1, &o->x, &list));
    REFUSED(lfuse_list_replace(o->list, 0, 1, &o->x));
    REFUSED(lfuse_plan_create(o->device, o->graph, NULL, &plan)); /* 21 */
    REFUSED(lfuse_plan_run(o->plan, o->stream, b, 2));
    REFUSED(lfuse_instance_create(o->plan, o->stream, b, 2, &instance));
    REFUSED(lfuse_instance_run(o->instance, b, 2));
    REFUSED(lfuse_instance_refresh(o->instance));
    REFUSED(lfuse_record_begin(o->stream));
    REFUSED(lfuse_recording_replay(o->recording, o->stream, NULL, 0));
    REFUSED(lfuse_evaluate(o->stream, o->graph, b, 2));
#undef REFUSED
    destroy(o);
    return 0;
}

TEST_CASE("fork")

TEST_LOOP(test_fork, 0, 2)
{
    objects o;
    int result = -1;
    float got[8];
    test_stub_begin();
    lfuse__stub.native_graph = _i != 0;
    make(&o);
    fflush(stdout);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) _exit(use(&o));
    ck_assert_int_eq(waitpid(child, &result, 0), child);
    ck_assert_msg(WIFEXITED(result), "the child ended by signal %d", WTERMSIG(result));
    ck_assert_msg(WEXITSTATUS(result) == 0, "call %d of the child: not refused as it should be", WEXITSTATUS(result));
    OK(lfuse_recording_replay(o.recording, o.stream, NULL, 0)); /* the parent goes on */
    OK(lfuse_tensor_read(o.y, o.stream, got));
    OK(lfuse_stream_synchronize(o.stream));
    for (int i = 0; i < 8; i++) ck_assert_float_eq(got[i], -3);
    destroy(&o);
    test_stub_end();
}

TEST_SUITE("fork", CK_NOFORK)
