/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad input, everywhere: each kind gets its own status and a message, nothing is launched, and the device goes on
 * working. On the stub.
 */
#include "tests/api/rig.h"

TEST_CASE("bad input", .setup = setup, .teardown = teardown)

TEST(nulls)
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

TEST(names_of_devices)
{
    static const char *const unknown[] = {"stub:7", "stub", "stub:", "stub:0x", "nonsense:0", "stub:0:0", "stub:-1"};
    lfuse_device *d = NULL;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        REFUSED(lfuse_device_open(unknown[i], &d), LFUSE_ERR_NO_DEVICE);
    ck_assert_ptr_null(d);
    REFUSED(lfuse_device_adopt("nonsense", &d, NULL, &d), LFUSE_ERR_NO_DEVICE);
}

TEST(shapes_of_tensors)
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

TEST(copies)
{
    lfuse_tensor *wider = tensor(LFUSE_F64, 2, LFUSE_DIMS(4, 8)), *longer = tensor(LFUSE_F32, 2, LFUSE_DIMS(5, 8)),
                 *flat = tensor(LFUSE_F32, 1, LFUSE_DIMS(32));
    float host[32];
    REFUSED(lfuse_tensor_copy(x, wider, NULL), LFUSE_ERR_TYPE);
    REFUSED(lfuse_tensor_copy(x, longer, NULL), LFUSE_ERR_SHAPE);
    REFUSED(lfuse_tensor_copy(x, flat, NULL), LFUSE_ERR_RANK);
    REFUSED(lfuse_tensor_write(x, other_stream, host), LFUSE_ERR_CONTEXT);
    REFUSED(lfuse_tensor_fill(x, other_stream, 0), LFUSE_ERR_CONTEXT);
}

TEST(missing_and_doubled_bindings)
{
    lfuse_binding one = lfuse_bind_tensor("x", x), two = lfuse_bind_tensor("y", y);
    lfuse_binding three[3] = {one, two, two};
    refuse_run(one, one, LFUSE_ERR_BINDING);
    refuse_run(one, lfuse_bind_tensor("z", y), LFUSE_ERR_NAME);
    refuse_run(one, lfuse_bind_scalar("y", 1), LFUSE_ERR_BINDING);
    refuse_run(one, lfuse_bind_tensor("y", NULL), LFUSE_ERR_BINDING);
    refuse_run(one, lfuse_bind_size("x", 4), LFUSE_ERR_NAME);
    REFUSED(lfuse_plan_run(plan, stream, &one, 1), LFUSE_ERR_BINDING);
    REFUSED(lfuse_plan_run(plan, stream, three, 3), LFUSE_ERR_BINDING);
    REFUSED(lfuse_plan_run(plan, stream, three, -1), LFUSE_ERR_INVALID);
}

TEST(bindings_that_do_not_fit)
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
}

TEST(overlap)
{
    lfuse_tensor *whole = tensor(LFUSE_F32, 2, LFUSE_DIMS(8, 8));
    lfuse_tensor *upper = new_view(whole, 2, LFUSE_DIMS(4, 8), NULL, 0);
    lfuse_tensor *lower = new_view(whole, 2, LFUSE_DIMS(4, 8), NULL, 32);
    lfuse_tensor *middle = new_view(whole, 2, LFUSE_DIMS(4, 8), NULL, 31);
    lfuse_tensor *repeats = new_view(whole, 2, LFUSE_DIMS(4, 8), LFUSE_DIMS(0, 1), 0);
    OK(lfuse_plan_run(plan, stream, BINDINGS(lfuse_bind_tensor("x", upper), lfuse_bind_tensor("y", lower))));
    refuse_run(lfuse_bind_tensor("x", upper), lfuse_bind_tensor("y", middle), LFUSE_ERR_OVERLAP);
    refuse_run(lfuse_bind_tensor("x", upper), lfuse_bind_tensor("y", upper), LFUSE_ERR_OVERLAP);
    refuse_run(lfuse_bind_tensor("x", x), lfuse_bind_tensor("y", repeats), LFUSE_ERR_OVERLAP);
    REFUSED(lfuse_tensor_fill(repeats, NULL, 1), LFUSE_ERR_OVERLAP);
}

TEST(lists)
{
    lfuse_tensor *a = tensor(LFUSE_F32, 1, LFUSE_DIMS(10)), *b = tensor(LFUSE_F32, 1, LFUSE_DIMS(20)),
        *wide = tensor(LFUSE_F64, 1, LFUSE_DIMS(10));
    lfuse_list *list = NULL;
    lfuse_tensor *step = new_view(b, 1, LFUSE_DIMS(10), LFUSE_DIMS(2), 0);
    lfuse_tensor *part = new_view(b, 1, LFUSE_DIMS(10), NULL, 5);
    lfuse_tensor *mixed[2] = {a, wide}, *gaps[2] = {a, step}, *strange[2] = {a, foreign}, *holes[2] = {a, NULL};
    REFUSED(lfuse_list_create(device, LFUSE_F32, 2, mixed, &list), LFUSE_ERR_TYPE);
    REFUSED(lfuse_list_create(device, LFUSE_F32, 2, gaps, &list), LFUSE_ERR_UNSUPPORTED);
    REFUSED(lfuse_list_create(device, LFUSE_F32, 2, strange, &list), LFUSE_ERR_CONTEXT);
    REFUSED(lfuse_list_create(device, LFUSE_F32, 2, holes, &list), LFUSE_ERR_INVALID);
    REFUSED(lfuse_list_create(device, LFUSE_F32, -1, holes, &list), LFUSE_ERR_INVALID);
    ck_assert_ptr_null(list);

    lfuse_graph *g = new_graph();
    lfuse_value p = lfuse_list_input(g, "p", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_value d = lfuse_list_input(g, "d", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_update(p, lfuse_sub(p, d));
    lfuse_plan *sgd = new_plan(device, g, NULL);
    lfuse_tensor *pair[2] = {a, b}, *swapped[2] = {b, a}, *crossing[2] = {b, part};
    list = new_list(device, LFUSE_F32, 1, pair);
    lfuse_list *longer = new_list(device, LFUSE_F32, 2, pair);
    lfuse_list *both = new_list(device, LFUSE_F32, 2, swapped);
    lfuse_list *twice = new_list(device, LFUSE_F32, 2, crossing);
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
    for (int i = 0; i < 4; i++) drop(all[i]);
}

TEST(products)
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
}

TEST(graphs)
{
    lfuse_plan *p = NULL;
    lfuse_graph *g = new_graph();
    lfuse_value a = lfuse_input(g, "a", LFUSE_F32, 2, LFUSE_DIMS(4, 6));
    lfuse_value b = lfuse_input(g, "b", LFUSE_F32, 2, LFUSE_DIMS(5, 7));
    lfuse_output(g, "y", lfuse_add(lfuse_matmul(a, b), lfuse_exp(a)));
    REFUSED(lfuse_plan_create(device, g, NULL, &p), LFUSE_ERR_SHAPE);
    ck_says("matmul");
    REFUSED(lfuse_plan_create(device, NULL, NULL, &p), LFUSE_ERR_INVALID);
    ck_assert_ptr_null(p);
}

TEST(sizes_untold)
{
    lfuse_graph *g = new_graph();
    lfuse_size at = lfuse_size_var(g, "at", 0, 5), count = lfuse_size_var(g, "count", 1, 5);
    lfuse_value a = lfuse_input(g, "x", LFUSE_F32, 1, LFUSE_DIMS(6));
    lfuse_output(g, "y", lfuse_mul(lfuse_slice(a, 0, at, 1, 1), lfuse_extent(g, count)));
    lfuse_plan *p = new_plan(device, g, NULL);
    lfuse_tensor *in = tensor(LFUSE_F32, 1, LFUSE_DIMS(6)), *out = tensor(LFUSE_F32, 1, LFUSE_DIMS(1));
    float host = 0;
    lfuse_binding b[4] = {lfuse_bind_tensor("x", in), lfuse_bind_tensor("y", out), lfuse_bind_size("at", 5),
                          lfuse_bind_size("count", 3)};
    REFUSED(lfuse_plan_run(p, stream, b, 3), LFUSE_ERR_BINDING);
    ck_says("\"count\"");
    REFUSED(lfuse_plan_run(p, stream, b, 2), LFUSE_ERR_BINDING);
    ck_says("\"at\"");
    b[2] = lfuse_bind_size("at", 6);
    REFUSED(lfuse_plan_run(p, stream, b, 4), LFUSE_ERR_BOUNDS);
    b[2] = lfuse_bind_size("at", 5);
    OK(lfuse_tensor_write(in, NULL, ((const float[]){0, 1, 2, 3, 4, 7})));
    OK(lfuse_plan_run(p, stream, b, 4));
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(out, NULL, &host));
    ck_assert_float_eq(host, 21);
}

TEST(types_the_device_lacks)
{
    lfuse_plan *p = NULL;
    lfuse_plan_options exact = {.exact = 1};
    lfuse_graph *g = new_graph();
    lfuse_output(g, "y", lfuse_exp(lfuse_input(g, "x", LFUSE_F64, 1, LFUSE_DIMS(3))));
    lfuse__stub.f64 = false;
    lfuse__stub.exact = false;
    lfuse_device *plain = new_device("stub:0");
    REFUSED(lfuse_plan_create(plain, g, NULL, &p), LFUSE_ERR_TYPE);
    REFUSED(lfuse_plan_create(plain, graph, &exact, &p), LFUSE_ERR_UNSUPPORTED);
    p = new_plan(plain, graph, NULL);
}

TEST(closed_device)
{
    lfuse_device *d;
    float host[32] = {0};
    OK(lfuse_device_open("stub:0", &d));
    lfuse_stream *s = new_stream(d);
    lfuse_tensor *t = new_tensor(d, LFUSE_F32, 2, LFUSE_DIMS(4, 8));
    lfuse_tensor *u = new_tensor(d, LFUSE_F32, 2, LFUSE_DIMS(4, 8));
    lfuse_plan *p = new_plan(d, graph, NULL);
    lfuse_device_close(d);
    REFUSED(lfuse_plan_run(p, s, BINDINGS(lfuse_bind_tensor("x", t), lfuse_bind_tensor("y", u))), LFUSE_ERR_CLOSED);
    REFUSED(lfuse_tensor_write(t, NULL, host), LFUSE_ERR_CLOSED);
    REFUSED(lfuse_stream_synchronize(s), LFUSE_ERR_CLOSED);
    REFUSED(lfuse_tensor_view(t, 1, LFUSE_DIMS(2), NULL, 0, &u), LFUSE_ERR_CLOSED);
}

TEST(streams_of_others)
{
    lfuse_binding b[2] = {lfuse_bind_tensor("x", x), lfuse_bind_tensor("y", y)};
    lfuse_instance *instance;
    double us;
    REFUSED(lfuse_plan_run(plan, other_stream, b, 2), LFUSE_ERR_CONTEXT);
    REFUSED(lfuse_instance_create(plan, other_stream, b, 2, &instance), LFUSE_ERR_CONTEXT);
    lfuse_event *event = new_event(device);
    REFUSED(lfuse_event_record(event, other_stream), LFUSE_ERR_CONTEXT);
    REFUSED(lfuse_event_elapsed(event, event, &us), LFUSE_ERR_STATE);
}

TEST_SUITE("bad input", CK_NOFORK)
