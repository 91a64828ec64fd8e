/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad input, everywhere: each kind gets its own status and a message, nothing is launched, and the device goes on
 * working. On the stub.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/device/device.h"
#include "libfuse.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"

#define OK(call) ck_assert_msg((call) == LFUSE_OK, "%s: %s", #call, lfuse_last_error())
/* The call fails with that status and says why. */
#define REFUSED(call, status)                                                                                          \
    do {                                                                                                               \
        lfuse_status got_ = (call);                                                                                    \
        ck_assert_msg(got_ == (status), "%s: %s (%s) instead of %s", #call, lfuse_status_name(got_),                   \
                      lfuse_last_error(), lfuse_status_name(status));                                                  \
        ck_assert_msg(strlen(lfuse_last_error()) > 8, "%s: no message", #call);                                       \
    } while (0)

static lfuse_device *device, *other;
static lfuse_stream *stream, *other_stream;
static lfuse_graph *graph;
static lfuse_plan *plan;
static lfuse_tensor *x, *y, *foreign;

/* y = relu(x) for x [batch, 8], batch from 2 to 16. */
static void setup(void)
{
    lfuse__stub_reset();
    lfuse__registry_extra(&lfuse__stub_backend);
    OK(lfuse_device_open("stub:0", &device));
    OK(lfuse_device_open("stub:1", &other));
    OK(lfuse_stream_create(device, &stream));
    OK(lfuse_stream_create(other, &other_stream));
    graph = lfuse_graph_create();
    lfuse_size batch = lfuse_size_var(graph, "batch", 2, 16);
    lfuse_output(graph, "y", lfuse_relu(lfuse_input(graph, "x", LFUSE_F32, 2, LFUSE_DIMS(batch, 8))));
    OK(lfuse_plan_create(device, graph, NULL, &plan));
    OK(lfuse_tensor_create(device, LFUSE_F32, 2, LFUSE_DIMS(4, 8), &x));
    OK(lfuse_tensor_create(device, LFUSE_F32, 2, LFUSE_DIMS(4, 8), &y));
    OK(lfuse_tensor_create(other, LFUSE_F32, 2, LFUSE_DIMS(4, 8), &foreign));
    OK(lfuse_tensor_fill(x, NULL, 3));
}

/* After all that was refused: the same device computes. */
static void works(void)
{
    float host[32];
    lfuse_binding b[2] = {lfuse_bind_tensor("x", x), lfuse_bind_tensor("y", y)};
    OK(lfuse_plan_run(plan, stream, b, 2));
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(y, NULL, host));
    for (int i = 0; i < 32; i++) ck_assert_float_eq(host[i], 3);
}

static void teardown(void)
{
    works();
    lfuse_tensor_destroy(x);
    lfuse_tensor_destroy(y);
    lfuse_tensor_destroy(foreign);
    lfuse_plan_destroy(plan);
    lfuse_graph_destroy(graph);
    lfuse_stream_destroy(stream);
    lfuse_stream_destroy(other_stream);
    lfuse_device_close(device);
    lfuse_device_close(other);
    lfuse__registry_extra(NULL);
    ck_assert_int_eq(lfuse__stub_live_objects(), 0);
}

static uint64_t launches(void)
{
    lfuse_device_counters c;
    OK(lfuse_device_get_counters(device, &c));
    return c.launches;
}

static lfuse_tensor *tensor(lfuse_type type, int rank, const int64_t *shape)
{
    lfuse_tensor *t;
    OK(lfuse_tensor_create(device, type, rank, shape, &t));
    return t;
}

/* A run with these two bindings is refused before anything is launched. */
static void refuse_run(lfuse_binding first, lfuse_binding second, lfuse_status status)
{
    lfuse_binding b[2] = {first, second};
    uint64_t before = launches();
    REFUSED(lfuse_plan_run(plan, stream, b, 2), status);
    ck_assert_uint_eq(launches(), before);
}

START_TEST(nulls)
{
    lfuse_device *d = NULL;
    lfuse_tensor *t = NULL;
    lfuse_stream *s = NULL;
    lfuse_plan *p = NULL;
    lfuse_list *l = NULL;
    lfuse_instance *i = NULL;
    lfuse_event *e = NULL;
    lfuse_recording *r = NULL;
    lfuse_device_info info;
    uint64_t bytes;
    double us;
    int n;
    REFUSED(lfuse_device_count(NULL), LFUSE_ERR_INVALID);
    REFUSED(lfuse_device_describe(0, NULL), LFUSE_ERR_INVALID);
    REFUSED(lfuse_device_describe(-1, &info), LFUSE_ERR_INVALID);
    OK(lfuse_device_count(&n));
    REFUSED(lfuse_device_describe(n, &info), LFUSE_ERR_INVALID);
    REFUSED(lfuse_device_open("stub:0", NULL), LFUSE_ERR_INVALID);
    REFUSED(lfuse_device_adopt(NULL, NULL, NULL, &d), LFUSE_ERR_INVALID);
    REFUSED(lfuse_device_get_info(NULL, &info), LFUSE_ERR_INVALID);
    REFUSED(lfuse_device_memory(NULL, &bytes, &bytes), LFUSE_ERR_INVALID);
    REFUSED(lfuse_device_get_counters(device, NULL), LFUSE_ERR_INVALID);
    REFUSED(lfuse_stream_create(NULL, &s), LFUSE_ERR_INVALID);
    REFUSED(lfuse_stream_create(device, NULL), LFUSE_ERR_INVALID);
    REFUSED(lfuse_stream_synchronize(NULL), LFUSE_ERR_INVALID);
    REFUSED(lfuse_stream_query(NULL), LFUSE_ERR_INVALID);
    REFUSED(lfuse_stream_check(NULL), LFUSE_ERR_INVALID);
    REFUSED(lfuse_event_create(NULL, &e), LFUSE_ERR_INVALID);
    REFUSED(lfuse_event_record(NULL, stream), LFUSE_ERR_INVALID);
    REFUSED(lfuse_event_wait(NULL, stream), LFUSE_ERR_INVALID);
    REFUSED(lfuse_event_elapsed(NULL, NULL, &us), LFUSE_ERR_INVALID);
    REFUSED(lfuse_tensor_create(NULL, LFUSE_F32, 0, NULL, &t), LFUSE_ERR_INVALID);
    REFUSED(lfuse_tensor_create(device, LFUSE_F32, 1, NULL, &t), LFUSE_ERR_INVALID);
    REFUSED(lfuse_tensor_create(device, LFUSE_F32, 0, NULL, NULL), LFUSE_ERR_INVALID);
    REFUSED(lfuse_tensor_view(NULL, 0, NULL, NULL, 0, &t), LFUSE_ERR_INVALID);
    REFUSED(lfuse_tensor_write(NULL, NULL, &us), LFUSE_ERR_INVALID);
    REFUSED(lfuse_tensor_write(x, NULL, NULL), LFUSE_ERR_INVALID);
    REFUSED(lfuse_tensor_read(x, NULL, NULL), LFUSE_ERR_INVALID);
    REFUSED(lfuse_tensor_copy(x, NULL, NULL), LFUSE_ERR_INVALID);
    REFUSED(lfuse_tensor_fill(NULL, NULL, 0), LFUSE_ERR_INVALID);
    REFUSED(lfuse_list_create(device, LFUSE_F32, 1, NULL, &l), LFUSE_ERR_INVALID);
    REFUSED(lfuse_plan_create(NULL, graph, NULL, &p), LFUSE_ERR_INVALID);
    REFUSED(lfuse_plan_create(device, graph, NULL, NULL), LFUSE_ERR_INVALID);
    REFUSED(lfuse_plan_run(NULL, stream, NULL, 0), LFUSE_ERR_INVALID);
    REFUSED(lfuse_plan_run(plan, NULL, NULL, 0), LFUSE_ERR_INVALID);
    REFUSED(lfuse_plan_run(plan, stream, NULL, 2), LFUSE_ERR_INVALID);
    REFUSED(lfuse_instance_create(NULL, stream, NULL, 0, &i), LFUSE_ERR_INVALID);
    REFUSED(lfuse_instance_run(NULL, NULL, 0), LFUSE_ERR_INVALID);
    REFUSED(lfuse_instance_refresh(NULL), LFUSE_ERR_INVALID);
    REFUSED(lfuse_plan_print(plan, NULL), LFUSE_ERR_INVALID);
    REFUSED(lfuse_record_begin(NULL), LFUSE_ERR_INVALID);
    REFUSED(lfuse_record_end(NULL, &r), LFUSE_ERR_INVALID);
    REFUSED(lfuse_recording_replay(NULL, stream, NULL, 0), LFUSE_ERR_INVALID);
    REFUSED(lfuse_gemm(NULL, 0, 0, 1, x, x, 0, y), LFUSE_ERR_INVALID);
    REFUSED(lfuse_evaluate(NULL, graph, NULL, 0), LFUSE_ERR_INVALID);
    lfuse_device_close(NULL);
    lfuse_stream_destroy(NULL);
    lfuse_event_destroy(NULL);
    lfuse_tensor_destroy(NULL);
    lfuse_list_destroy(NULL);
    lfuse_graph_destroy(NULL);
    lfuse_plan_destroy(NULL);
    lfuse_instance_destroy(NULL);
    lfuse_recording_destroy(NULL);
}
END_TEST

START_TEST(names_of_devices)
{
    static const char *const unknown[] = {"stub:7", "stub", "stub:", "stub:0x", "nonsense:0", "stub:0:0", "stub:-1"};
    lfuse_device *d = NULL;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) REFUSED(lfuse_device_open(unknown[i], &d), LFUSE_ERR_NO_DEVICE);
    ck_assert_ptr_null(d);
    REFUSED(lfuse_device_adopt("nonsense", &d, NULL, &d), LFUSE_ERR_NO_DEVICE);
}
END_TEST

START_TEST(shapes_of_tensors)
{
    lfuse_tensor *t = NULL;
    REFUSED(lfuse_tensor_create(device, LFUSE_F32, -1, LFUSE_DIMS(1), &t), LFUSE_ERR_RANK);
    REFUSED(lfuse_tensor_create(device, LFUSE_F32, 9, LFUSE_DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1), &t), LFUSE_ERR_RANK);
    REFUSED(lfuse_tensor_create(device, LFUSE_F32, 1, LFUSE_DIMS(-5), &t), LFUSE_ERR_SHAPE);
    REFUSED(lfuse_tensor_create(device, LFUSE_F32, 3, LFUSE_DIMS(1 << 30, 1 << 30, 1 << 30), &t), LFUSE_ERR_OVERFLOW);
    REFUSED(lfuse_tensor_create(device, LFUSE_F64, 1, LFUSE_DIMS(INT64_MAX / 4), &t), LFUSE_ERR_OVERFLOW);
    REFUSED(lfuse_tensor_create(device, (lfuse_type)99, 0, NULL, &t), LFUSE_ERR_TYPE);
    REFUSED(lfuse_tensor_create(device, LFUSE_F32, 1, LFUSE_DIMS((int64_t)1 << 45), &t), LFUSE_ERR_DEVICE_MEMORY);
    REFUSED(lfuse_tensor_view(x, 1, LFUSE_DIMS(33), NULL, 0, &t), LFUSE_ERR_SHAPE);
    REFUSED(lfuse_tensor_view(x, 1, LFUSE_DIMS(2), NULL, 31, &t), LFUSE_ERR_SHAPE);
    REFUSED(lfuse_tensor_view(x, 1, LFUSE_DIMS(2), NULL, -1, &t), LFUSE_ERR_SHAPE);
    REFUSED(lfuse_tensor_view(x, 1, LFUSE_DIMS(5), LFUSE_DIMS(8), 0, &t), LFUSE_ERR_SHAPE);
    REFUSED(lfuse_tensor_view(x, 1, LFUSE_DIMS(2), LFUSE_DIMS(-1), 0, &t), LFUSE_ERR_SHAPE);
    REFUSED(lfuse_tensor_view(x, 2, LFUSE_DIMS(2, 2), LFUSE_DIMS(INT64_MAX, 1), 0, &t), LFUSE_ERR_OVERFLOW);
    ck_assert_ptr_null(t);
}
END_TEST

START_TEST(copies)
{
    lfuse_tensor *wider = tensor(LFUSE_F64, 2, LFUSE_DIMS(4, 8)), *longer = tensor(LFUSE_F32, 2, LFUSE_DIMS(5, 8)),
                 *flat = tensor(LFUSE_F32, 1, LFUSE_DIMS(32));
    float host[32];
    REFUSED(lfuse_tensor_copy(x, wider, NULL), LFUSE_ERR_TYPE);
    REFUSED(lfuse_tensor_copy(x, longer, NULL), LFUSE_ERR_SHAPE);
    REFUSED(lfuse_tensor_copy(x, flat, NULL), LFUSE_ERR_RANK);
    REFUSED(lfuse_tensor_write(x, other_stream, host), LFUSE_ERR_CONTEXT);
    REFUSED(lfuse_tensor_fill(x, other_stream, 0), LFUSE_ERR_CONTEXT);
    lfuse_tensor_destroy(wider);
    lfuse_tensor_destroy(longer);
    lfuse_tensor_destroy(flat);
}
END_TEST

START_TEST(missing_and_doubled_bindings)
{
    lfuse_binding one = lfuse_bind_tensor("x", x), two = lfuse_bind_tensor("y", y);
    lfuse_binding three[3] = {one, two, two};
    refuse_run(one, one, LFUSE_ERR_BINDING);
    refuse_run(one, lfuse_bind_tensor("z", y), LFUSE_ERR_NAME);
    refuse_run(one, lfuse_bind_number("y", 1), LFUSE_ERR_BINDING);
    refuse_run(one, lfuse_bind_tensor("y", NULL), LFUSE_ERR_BINDING);
    refuse_run(one, lfuse_bind_size("x", 4), LFUSE_ERR_NAME);
    REFUSED(lfuse_plan_run(plan, stream, &one, 1), LFUSE_ERR_BINDING);
    REFUSED(lfuse_plan_run(plan, stream, three, 3), LFUSE_ERR_BINDING);
    REFUSED(lfuse_plan_run(plan, stream, three, -1), LFUSE_ERR_INVALID);
}
END_TEST

START_TEST(bindings_that_do_not_fit)
{
    lfuse_tensor *half = tensor(LFUSE_F16, 2, LFUSE_DIMS(4, 8)), *flat = tensor(LFUSE_F32, 1, LFUSE_DIMS(32)),
                 *narrow = tensor(LFUSE_F32, 2, LFUSE_DIMS(4, 7)), *tall = tensor(LFUSE_F32, 2, LFUSE_DIMS(17, 8)),
                 *low = tensor(LFUSE_F32, 2, LFUSE_DIMS(1, 8)), *five = tensor(LFUSE_F32, 2, LFUSE_DIMS(5, 8));
    refuse_run(lfuse_bind_tensor("x", half), lfuse_bind_tensor("y", y), LFUSE_ERR_TYPE);
    refuse_run(lfuse_bind_tensor("x", flat), lfuse_bind_tensor("y", y), LFUSE_ERR_RANK);
    refuse_run(lfuse_bind_tensor("x", narrow), lfuse_bind_tensor("y", y), LFUSE_ERR_SHAPE);
    refuse_run(lfuse_bind_tensor("x", tall), lfuse_bind_tensor("y", tall), LFUSE_ERR_BOUNDS);
    refuse_run(lfuse_bind_tensor("x", low), lfuse_bind_tensor("y", low), LFUSE_ERR_BOUNDS);
    refuse_run(lfuse_bind_tensor("x", x), lfuse_bind_tensor("y", five), LFUSE_ERR_SHAPE);
    refuse_run(lfuse_bind_tensor("x", foreign), lfuse_bind_tensor("y", y), LFUSE_ERR_CONTEXT);
    lfuse_tensor *all[] = {half, flat, narrow, tall, low, five};
    for (int i = 0; i < 6; i++) lfuse_tensor_destroy(all[i]);
}
END_TEST

START_TEST(overlap)
{
    lfuse_tensor *whole = tensor(LFUSE_F32, 2, LFUSE_DIMS(8, 8)), *upper, *lower, *middle, *repeats;
    OK(lfuse_tensor_view(whole, 2, LFUSE_DIMS(4, 8), NULL, 0, &upper));
    OK(lfuse_tensor_view(whole, 2, LFUSE_DIMS(4, 8), NULL, 32, &lower));
    OK(lfuse_tensor_view(whole, 2, LFUSE_DIMS(4, 8), NULL, 31, &middle));
    OK(lfuse_tensor_view(whole, 2, LFUSE_DIMS(4, 8), LFUSE_DIMS(0, 1), 0, &repeats));
    lfuse_binding apart[2] = {lfuse_bind_tensor("x", upper), lfuse_bind_tensor("y", lower)};
    OK(lfuse_plan_run(plan, stream, apart, 2));
    refuse_run(lfuse_bind_tensor("x", upper), lfuse_bind_tensor("y", middle), LFUSE_ERR_OVERLAP);
    refuse_run(lfuse_bind_tensor("x", upper), lfuse_bind_tensor("y", upper), LFUSE_ERR_OVERLAP);
    refuse_run(lfuse_bind_tensor("x", x), lfuse_bind_tensor("y", repeats), LFUSE_ERR_OVERLAP);
    REFUSED(lfuse_tensor_fill(repeats, NULL, 1), LFUSE_ERR_OVERLAP);
    lfuse_tensor_destroy(whole);
    lfuse_tensor_destroy(upper);
    lfuse_tensor_destroy(lower);
    lfuse_tensor_destroy(middle);
    lfuse_tensor_destroy(repeats);
}
END_TEST

START_TEST(lists)
{
    lfuse_tensor *a = tensor(LFUSE_F32, 1, LFUSE_DIMS(10)), *b = tensor(LFUSE_F32, 1, LFUSE_DIMS(20)),
                 *wide = tensor(LFUSE_F64, 1, LFUSE_DIMS(10)), *step, *part;
    lfuse_list *list = NULL, *longer, *both, *twice;
    OK(lfuse_tensor_view(b, 1, LFUSE_DIMS(10), LFUSE_DIMS(2), 0, &step));
    OK(lfuse_tensor_view(b, 1, LFUSE_DIMS(10), NULL, 5, &part));
    lfuse_tensor *mixed[2] = {a, wide}, *gaps[2] = {a, step}, *strange[2] = {a, foreign}, *holes[2] = {a, NULL};
    REFUSED(lfuse_list_create(device, LFUSE_F32, 2, mixed, &list), LFUSE_ERR_TYPE);
    REFUSED(lfuse_list_create(device, LFUSE_F32, 2, gaps, &list), LFUSE_ERR_UNSUPPORTED);
    REFUSED(lfuse_list_create(device, LFUSE_F32, 2, strange, &list), LFUSE_ERR_CONTEXT);
    REFUSED(lfuse_list_create(device, LFUSE_F32, 2, holes, &list), LFUSE_ERR_INVALID);
    REFUSED(lfuse_list_create(device, LFUSE_F32, -1, holes, &list), LFUSE_ERR_INVALID);
    ck_assert_ptr_null(list);

    lfuse_plan *sgd;
    lfuse_graph *g = lfuse_graph_create();
    lfuse_value p = lfuse_list_input(g, "p", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_value d = lfuse_list_input(g, "d", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_update(p, lfuse_sub(p, d));
    OK(lfuse_plan_create(device, g, NULL, &sgd));
    lfuse_tensor *pair[2] = {a, b}, *swapped[2] = {b, a}, *crossing[2] = {b, part};
    OK(lfuse_list_create(device, LFUSE_F32, 1, pair, &list));
    OK(lfuse_list_create(device, LFUSE_F32, 2, pair, &longer));
    OK(lfuse_list_create(device, LFUSE_F32, 2, swapped, &both));
    OK(lfuse_list_create(device, LFUSE_F32, 2, crossing, &twice));
    uint64_t before = launches();
    lfuse_binding counts[2] = {lfuse_bind_list("p", list), lfuse_bind_list("d", longer)};
    REFUSED(lfuse_plan_run(sgd, stream, counts, 2), LFUSE_ERR_SHAPE);
    lfuse_binding sizes[2] = {lfuse_bind_list("p", longer), lfuse_bind_list("d", both)};
    REFUSED(lfuse_plan_run(sgd, stream, sizes, 2), LFUSE_ERR_SHAPE);
    lfuse_binding self[2] = {lfuse_bind_list("p", longer), lfuse_bind_list("d", longer)};
    REFUSED(lfuse_plan_run(sgd, stream, self, 2), LFUSE_ERR_OVERLAP);
    lfuse_binding members[2] = {lfuse_bind_list("p", twice), lfuse_bind_list("d", twice)};
    REFUSED(lfuse_plan_run(sgd, stream, members, 2), LFUSE_ERR_OVERLAP);
    lfuse_binding kind[2] = {lfuse_bind_tensor("p", a), lfuse_bind_list("d", longer)};
    REFUSED(lfuse_plan_run(sgd, stream, kind, 2), LFUSE_ERR_BINDING);
    REFUSED(lfuse_list_replace(longer, 0, 2, swapped), LFUSE_ERR_SHAPE);
    REFUSED(lfuse_list_replace(longer, 1, 2, pair), LFUSE_ERR_INVALID);
    ck_assert_uint_eq(launches(), before);
    lfuse_list *all[] = {list, longer, both, twice};
    for (int i = 0; i < 4; i++) lfuse_list_destroy(all[i]);
    lfuse_plan_destroy(sgd);
    lfuse_graph_destroy(g);
    lfuse_tensor *tensors[] = {a, b, wide, step, part};
    for (int i = 0; i < 5; i++) lfuse_tensor_destroy(tensors[i]);
}
END_TEST

START_TEST(products)
{
    lfuse_tensor *a = tensor(LFUSE_F32, 2, LFUSE_DIMS(4, 6)), *b = tensor(LFUSE_F32, 2, LFUSE_DIMS(6, 5)),
                 *c = tensor(LFUSE_F32, 2, LFUSE_DIMS(4, 5)), *i = tensor(LFUSE_I32, 2, LFUSE_DIMS(4, 4)),
                 *v = tensor(LFUSE_F32, 1, LFUSE_DIMS(6)), *square = tensor(LFUSE_F32, 2, LFUSE_DIMS(4, 4));
    uint64_t before = launches();
    REFUSED(lfuse_gemm(stream, 1, 0, 1, a, b, 0, c), LFUSE_ERR_SHAPE);
    REFUSED(lfuse_gemm(stream, 0, 0, 1, a, b, 0, a), LFUSE_ERR_SHAPE);
    REFUSED(lfuse_gemm(stream, 0, 0, 1, a, v, 0, c), LFUSE_ERR_RANK);
    REFUSED(lfuse_gemm(stream, 0, 0, 1, i, i, 0, i), LFUSE_ERR_UNSUPPORTED);
    REFUSED(lfuse_gemm(stream, 0, 0, 1, a, b, 0, i), LFUSE_ERR_TYPE);
    REFUSED(lfuse_gemm(stream, 0, 0, 1, square, square, 0, square), LFUSE_ERR_OVERLAP);
    REFUSED(lfuse_gemm(other_stream, 0, 0, 1, a, b, 0, c), LFUSE_ERR_CONTEXT);
    ck_assert_uint_eq(launches(), before);
    lfuse_tensor *all[] = {a, b, c, i, v, square};
    for (int t = 0; t < 6; t++) lfuse_tensor_destroy(all[t]);
}
END_TEST

START_TEST(graphs)
{
    lfuse_plan *p = NULL;
    lfuse_graph *g = lfuse_graph_create();
    lfuse_value a = lfuse_input(g, "a", LFUSE_F32, 2, LFUSE_DIMS(4, 6));
    lfuse_value b = lfuse_input(g, "b", LFUSE_F32, 2, LFUSE_DIMS(5, 7));
    lfuse_output(g, "y", lfuse_add(lfuse_matmul(a, b), lfuse_exp(a)));
    REFUSED(lfuse_plan_create(device, g, NULL, &p), LFUSE_ERR_SHAPE);
    ck_assert_ptr_nonnull(strstr(lfuse_last_error(), "matmul"));
    REFUSED(lfuse_plan_create(device, NULL, NULL, &p), LFUSE_ERR_INVALID);
    ck_assert_ptr_null(p);
    lfuse_graph_destroy(g);
}
END_TEST

/* y = f(x), for x f32 [n, 6], i i32 [6] and n from 0 on; each row is one mistake. */
typedef lfuse_value mistake(lfuse_value a, lfuse_value i, lfuse_size n);
#define MISTAKE(name, value)                                                                                           \
    static lfuse_value name(lfuse_value a, lfuse_value i, lfuse_size n)                                                \
    {                                                                                                                  \
        (void)a, (void)i, (void)n;                                                                                     \
        return value;                                                                                                  \
    }
static lfuse_value first_part(lfuse_value a, int count, const lfuse_size *sizes)
{
    lfuse_value parts[4];
    lfuse_split(a, 1, count, sizes, parts);
    return parts[0];
}
static lfuse_value too_many(lfuse_value v)
{
    for (int i = 0; i < 70000; i++) v = lfuse_neg(v);
    return v;
}
static lfuse_value of_another_graph(lfuse_value a)
{
    lfuse_graph *strange = lfuse_graph_create();
    const lfuse_value both[2] = {a, lfuse_input(strange, "x", LFUSE_F32, 2, LFUSE_DIMS(1, 6))};
    const lfuse_value v = lfuse_concat(2, both, 0);
    lfuse_graph_destroy(strange);
    return v;
}
MISTAKE(axis_range, lfuse_sum(a, 1, (const int[]){2}, 0))
MISTAKE(axis_below, lfuse_softmax(a, 1, (const int[]){-3}))
MISTAKE(axis_twice, lfuse_var(a, 2, (const int[]){1, -1}, 1, 0))
MISTAKE(reshape_literal, lfuse_reshape(i, 2, LFUSE_DIMS(4, 2)))
MISTAKE(reshape_symbolic, lfuse_reshape(a, 2, LFUSE_DIMS(n, 7)))
MISTAKE(reshape_open, lfuse_reshape(i, 2, LFUSE_DIMS(4, LFUSE_REST)))
MISTAKE(step_zero, lfuse_slice(a, 1, 0, 1, 0))
MISTAKE(step_back, lfuse_slice(a, 1, 0, 2, -1))
MISTAKE(slice_range, lfuse_slice(a, 1, 5, 2, 1))
MISTAKE(slice_variable, lfuse_slice(a, 0, 0, 1, 1))
MISTAKE(split_sizes, first_part(a, 2, LFUSE_DIMS(3, 4)))
MISTAKE(concat_shapes, lfuse_concat(2, (const lfuse_value[]){a, lfuse_slice(a, 1, 0, 5, 1)}, 0))
MISTAKE(concat_types, lfuse_concat(2, (const lfuse_value[]){a, lfuse_cast(a, LFUSE_F16)}, 0))
MISTAKE(concat_ranks, lfuse_concat(2, (const lfuse_value[]){lfuse_cast(a, LFUSE_I32), i}, 0))
MISTAKE(index_type, lfuse_gather(a, lfuse_cast(i, LFUSE_F32)))
MISTAKE(index_rank, lfuse_gather(lfuse_sum(a, LFUSE_ALL_AXES, NULL, 0), i))
MISTAKE(scatter_rows, lfuse_scatter_add(a, i, 3))
MISTAKE(empty_literal, lfuse_amax(lfuse_slice(a, 1, 0, 0, 1), 1, (const int[]){1}, 0))
MISTAKE(weight_shape, lfuse_layernorm(a, 1, lfuse_slice(lfuse_cast(i, LFUSE_F32), 0, 0, 5, 1), lfuse_none(), 1e-5))
MISTAKE(group_count, lfuse_groupnorm(a, 4, lfuse_none(), lfuse_none(), 1e-5))
MISTAKE(integer_mean, lfuse_mean(i, LFUSE_ALL_AXES, NULL, 0))
MISTAKE(values_without_end, too_many(a))
MISTAKE(foreign_part, of_another_graph(a))

static const struct {
    mistake *make;
    lfuse_status status;
    const char *words;
} mistakes[] = {
    {axis_range, LFUSE_ERR_SHAPE, "lfuse_sum: axis 2 of rank 2"},
    {axis_below, LFUSE_ERR_SHAPE, "lfuse_softmax: axis -3 of rank 2"},
    {axis_twice, LFUSE_ERR_SHAPE, "lfuse_var: axis 1 is named twice"},
    {reshape_literal, LFUSE_ERR_SHAPE, "i32 [6] does not have as many elements as [4, 2]"},
    {reshape_symbolic, LFUSE_ERR_SHAPE, "f32 [n, 6] does not have as many elements as [n, 7]"},
    {reshape_open, LFUSE_ERR_SHAPE, "i32 [6] does not fit into [4, -1], whatever extent 1 is"},
    {step_zero, LFUSE_ERR_INVALID, "lfuse_slice: the step is 0"},
    {step_back, LFUSE_ERR_SHAPE, "2 elements from 0 on in steps of -1 leave axis 1 of f32 [n, 6]"},
    {slice_range, LFUSE_ERR_SHAPE, "2 elements from 5 on in steps of 1 leave axis 1 of f32 [n, 6]"},
    {slice_variable, LFUSE_ERR_SHAPE, "1 elements from 0 on in steps of 1 may leave axis 0 of f32 [n, 6]"},
    {split_sizes, LFUSE_ERR_SHAPE, "lfuse_split: 2 parts of together 7 elements of axis 1 of f32 [n, 6]"},
    {concat_shapes, LFUSE_ERR_SHAPE, "f32 [n, 6] and f32 [n, 5]"},
    {concat_types, LFUSE_ERR_TYPE, "f32 [n, 6] and f16 [n, 6]"},
    {concat_ranks, LFUSE_ERR_RANK, "i32 [n, 6] and i32 [6]"},
    {index_type, LFUSE_ERR_TYPE, "indices are i32 or i64, not f32"},
    {index_rank, LFUSE_ERR_RANK, "a table of rank 0 has no rows"},
    {scatter_rows, LFUSE_ERR_SHAPE, "f32 [n, 6] does not begin with the shape of the indices i32 [6]"},
    {empty_literal, LFUSE_ERR_SHAPE, "lfuse_amax: axis 1 of f32 [n, 0] is empty"},
    {weight_shape, LFUSE_ERR_SHAPE, "the weight is f32 [5], where [6] is needed"},
    {group_count, LFUSE_ERR_SHAPE, "axis 1 of f32 [n, 6] does not divide into 4 groups"},
    {integer_mean, LFUSE_ERR_TYPE, "lfuse_mean: does not take type i32"},
    {values_without_end, LFUSE_ERR_OVERFLOW, "more than 65536 values"},
    {foreign_part, LFUSE_ERR_INVALID, "lfuse_concat: operand 2 belongs to another graph"},
};

/* The plan reports the mistake; what was made before and after it in the graph changes nothing. */
START_TEST(views_and_reductions)
{
    uint64_t before = launches();
    for (size_t k = 0; k < sizeof mistakes / sizeof mistakes[0]; k++) {
        lfuse_plan *p = NULL;
        lfuse_graph *g = lfuse_graph_create();
        lfuse_size n = lfuse_size_var(g, "n", 0, 9);
        lfuse_value a = lfuse_input(g, "x", LFUSE_F32, 2, LFUSE_DIMS(n, 6));
        lfuse_value i = lfuse_input(g, "i", LFUSE_I32, 1, LFUSE_DIMS(6));
        lfuse_output(g, "fine", lfuse_relu(a));
        lfuse_output(g, "y", mistakes[k].make(a, i, n));
        lfuse_output(g, "fine too", lfuse_flip(a, LFUSE_ALL_AXES, NULL));
        REFUSED(lfuse_plan_create(device, g, NULL, &p), mistakes[k].status);
        ck_assert_msg(strstr(lfuse_last_error(), mistakes[k].words), "%s instead of %s", lfuse_last_error(),
                      mistakes[k].words);
        ck_assert_ptr_null(p);
        lfuse_graph_destroy(g);
    }
    ck_assert_uint_eq(launches(), before);
}
END_TEST

/* What has no identity is refused for the sizes that leave it nothing, and runs for others. */
START_TEST(empty_reductions)
{
    lfuse_plan *p;
    lfuse_graph *g = lfuse_graph_create();
    lfuse_size n = lfuse_size_var(g, "n", 0, 9);
    lfuse_value a = lfuse_input(g, "x", LFUSE_F32, 2, LFUSE_DIMS(4, n));
    lfuse_output(g, "max", lfuse_amax(a, 1, (const int[]){1}, 0));
    lfuse_output(g, "sum", lfuse_sum(a, 1, (const int[]){1}, 0));
    OK(lfuse_plan_create(device, g, NULL, &p));
    lfuse_tensor *none = tensor(LFUSE_F32, 2, LFUSE_DIMS(4, 0)), *some = tensor(LFUSE_F32, 2, LFUSE_DIMS(4, 3)),
                 *max = tensor(LFUSE_F32, 1, LFUSE_DIMS(4)), *sum = tensor(LFUSE_F32, 1, LFUSE_DIMS(4));
    float host[4];
    uint64_t before = launches();
    lfuse_binding b[3] = {lfuse_bind_tensor("x", none), lfuse_bind_tensor("max", max), lfuse_bind_tensor("sum", sum)};
    REFUSED(lfuse_plan_run(p, stream, b, 3), LFUSE_ERR_SHAPE);
    ck_assert_msg(strstr(lfuse_last_error(), "axis 1 has the extent 0"), "%s", lfuse_last_error());
    ck_assert_uint_eq(launches(), before);
    OK(lfuse_tensor_fill(some, NULL, 2));
    b[0] = lfuse_bind_tensor("x", some);
    OK(lfuse_plan_run(p, stream, b, 3));
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(max, NULL, host));
    for (int i = 0; i < 4; i++) ck_assert_float_eq(host[i], 2);
    OK(lfuse_tensor_read(sum, NULL, host));
    for (int i = 0; i < 4; i++) ck_assert_float_eq(host[i], 6);
    lfuse_tensor *all[] = {none, some, max, sum};
    for (int i = 0; i < 4; i++) lfuse_tensor_destroy(all[i]);
    lfuse_plan_destroy(p);
    lfuse_graph_destroy(g);
}
END_TEST

/* A size that only a slice's start, or a number, is made of has to be given too. */
START_TEST(sizes_untold)
{
    lfuse_plan *p;
    lfuse_graph *g = lfuse_graph_create();
    lfuse_size at = lfuse_size_var(g, "at", 0, 5), count = lfuse_size_var(g, "count", 1, 5);
    lfuse_value a = lfuse_input(g, "x", LFUSE_F32, 1, LFUSE_DIMS(6));
    lfuse_output(g, "y", lfuse_mul(lfuse_slice(a, 0, at, 1, 1), lfuse_extent(g, count)));
    OK(lfuse_plan_create(device, g, NULL, &p));
    lfuse_tensor *in = tensor(LFUSE_F32, 1, LFUSE_DIMS(6)), *out = tensor(LFUSE_F32, 1, LFUSE_DIMS(1));
    float host = 0;
    lfuse_binding b[4] = {lfuse_bind_tensor("x", in), lfuse_bind_tensor("y", out), lfuse_bind_size("at", 5),
                          lfuse_bind_size("count", 3)};
    REFUSED(lfuse_plan_run(p, stream, b, 3), LFUSE_ERR_BINDING);
    ck_assert_msg(strstr(lfuse_last_error(), "\"count\""), "%s", lfuse_last_error());
    REFUSED(lfuse_plan_run(p, stream, b, 2), LFUSE_ERR_BINDING);
    ck_assert_msg(strstr(lfuse_last_error(), "\"at\""), "%s", lfuse_last_error());
    b[2] = lfuse_bind_size("at", 6);
    REFUSED(lfuse_plan_run(p, stream, b, 4), LFUSE_ERR_BOUNDS);
    b[2] = lfuse_bind_size("at", 5);
    OK(lfuse_tensor_write(in, NULL, ((const float[]){0, 1, 2, 3, 4, 7})));
    OK(lfuse_plan_run(p, stream, b, 4));
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(out, NULL, &host));
    ck_assert_float_eq(host, 21);
    lfuse_tensor_destroy(in);
    lfuse_tensor_destroy(out);
    lfuse_plan_destroy(p);
    lfuse_graph_destroy(g);
}
END_TEST

START_TEST(types_the_device_lacks)
{
    lfuse_plan *p = NULL;
    lfuse_device *plain;
    lfuse_plan_options exact = {.exact = 1};
    lfuse_graph *g = lfuse_graph_create();
    lfuse_output(g, "y", lfuse_exp(lfuse_input(g, "x", LFUSE_F64, 1, LFUSE_DIMS(3))));
    lfuse__stub.f64 = false;
    lfuse__stub.exact = false;
    OK(lfuse_device_open("stub:0", &plain));
    REFUSED(lfuse_plan_create(plain, g, NULL, &p), LFUSE_ERR_TYPE);
    REFUSED(lfuse_plan_create(plain, graph, &exact, &p), LFUSE_ERR_UNSUPPORTED);
    OK(lfuse_plan_create(plain, graph, NULL, &p));
    lfuse_plan_destroy(p);
    lfuse_device_close(plain);
    lfuse_graph_destroy(g);
}
END_TEST

START_TEST(closed_device)
{
    lfuse_device *d;
    lfuse_tensor *t, *u;
    lfuse_stream *s;
    lfuse_plan *p;
    float host[32] = {0};
    OK(lfuse_device_open("stub:0", &d));
    OK(lfuse_stream_create(d, &s));
    OK(lfuse_tensor_create(d, LFUSE_F32, 2, LFUSE_DIMS(4, 8), &t));
    OK(lfuse_tensor_create(d, LFUSE_F32, 2, LFUSE_DIMS(4, 8), &u));
    OK(lfuse_plan_create(d, graph, NULL, &p));
    lfuse_device_close(d);
    lfuse_binding b[2] = {lfuse_bind_tensor("x", t), lfuse_bind_tensor("y", u)};
    REFUSED(lfuse_plan_run(p, s, b, 2), LFUSE_ERR_CLOSED);
    REFUSED(lfuse_tensor_write(t, NULL, host), LFUSE_ERR_CLOSED);
    REFUSED(lfuse_stream_synchronize(s), LFUSE_ERR_CLOSED);
    REFUSED(lfuse_tensor_view(t, 1, LFUSE_DIMS(2), NULL, 0, &u), LFUSE_ERR_CLOSED);
    lfuse_plan_destroy(p);
    lfuse_tensor_destroy(t);
    lfuse_tensor_destroy(u);
    lfuse_stream_destroy(s);
}
END_TEST

START_TEST(streams_of_others)
{
    lfuse_binding b[2] = {lfuse_bind_tensor("x", x), lfuse_bind_tensor("y", y)};
    lfuse_event *event;
    lfuse_instance *instance;
    double us;
    REFUSED(lfuse_plan_run(plan, other_stream, b, 2), LFUSE_ERR_CONTEXT);
    REFUSED(lfuse_instance_create(plan, other_stream, b, 2, &instance), LFUSE_ERR_CONTEXT);
    OK(lfuse_event_create(device, &event));
    REFUSED(lfuse_event_record(event, other_stream), LFUSE_ERR_CONTEXT);
    REFUSED(lfuse_event_elapsed(event, event, &us), LFUSE_ERR_STATE);
    lfuse_event_destroy(event);
}
END_TEST

static Suite *suite_bad_input(void)
{
    Suite *s = suite_create("bad input");
    TCase *t = tcase_create("bad input");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, nulls);
    tcase_add_test(t, names_of_devices);
    tcase_add_test(t, shapes_of_tensors);
    tcase_add_test(t, copies);
    tcase_add_test(t, missing_and_doubled_bindings);
    tcase_add_test(t, bindings_that_do_not_fit);
    tcase_add_test(t, overlap);
    tcase_add_test(t, lists);
    tcase_add_test(t, products);
    tcase_add_test(t, graphs);
    tcase_add_test(t, views_and_reductions);
    tcase_add_test(t, empty_reductions);
    tcase_add_test(t, sizes_untold);
    tcase_add_test(t, types_the_device_lacks);
    tcase_add_test(t, closed_device);
    tcase_add_test(t, streams_of_others);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(CK_NOFORK, suite_bad_input)
