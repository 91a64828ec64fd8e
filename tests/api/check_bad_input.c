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
    FAILS(LFUSE_ERR_INVALID, lfuse_device_count(NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_device_describe(0, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_device_describe(-1, &info));
    OK(lfuse_device_count(&n));
    FAILS(LFUSE_ERR_INVALID, lfuse_device_describe(n, &info));
    FAILS(LFUSE_ERR_INVALID, lfuse_device_open("stub:0", NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_device_adopt(NULL, NULL, NULL, &d));
    FAILS(LFUSE_ERR_INVALID, lfuse_device_get_info(NULL, &info));
    FAILS(LFUSE_ERR_INVALID, lfuse_device_memory(NULL, &bytes, &bytes));
    FAILS(LFUSE_ERR_INVALID, lfuse_device_get_counters(device, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_stream_create(NULL, &s));
    FAILS(LFUSE_ERR_INVALID, lfuse_stream_create(device, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_stream_synchronize(NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_stream_query(NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_stream_check(NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_event_create(NULL, &e));
    FAILS(LFUSE_ERR_INVALID, lfuse_event_record(NULL, stream));
    FAILS(LFUSE_ERR_INVALID, lfuse_event_wait(NULL, stream));
    FAILS(LFUSE_ERR_INVALID, lfuse_event_elapsed(NULL, NULL, &us));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_create(NULL, LFUSE_F32, 0, NULL, &t));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_create(device, LFUSE_F32, 1, NULL, &t));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_create(device, LFUSE_F32, 0, NULL, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_view(NULL, 0, NULL, NULL, 0, &t));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_write(NULL, NULL, &us));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_write(x, NULL, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_read(x, NULL, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_copy(x, NULL, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_fill(NULL, NULL, 0));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_create(device, LFUSE_F32, 1, NULL, &l));
    FAILS(LFUSE_ERR_INVALID, lfuse_plan_create(NULL, graph, NULL, &p));
    FAILS(LFUSE_ERR_INVALID, lfuse_plan_create(device, graph, NULL, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_plan_run(NULL, stream, NULL, 0));
    FAILS(LFUSE_ERR_INVALID, lfuse_plan_run(plan, NULL, NULL, 0));
    FAILS(LFUSE_ERR_INVALID, lfuse_plan_run(plan, stream, NULL, 2));
    FAILS(LFUSE_ERR_INVALID, lfuse_instance_create(NULL, stream, NULL, 0, &i));
    FAILS(LFUSE_ERR_INVALID, lfuse_instance_run(NULL, NULL, 0));
    FAILS(LFUSE_ERR_INVALID, lfuse_instance_refresh(NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_plan_print(plan, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_record_begin(NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_record_end(NULL, &r));
    FAILS(LFUSE_ERR_INVALID, lfuse_recording_replay(NULL, stream, NULL, 0));
    FAILS(LFUSE_ERR_INVALID, lfuse_gemm(NULL, 0, 0, 1, x, x, 0, y));
    FAILS(LFUSE_ERR_INVALID, lfuse_evaluate(NULL, graph, NULL, 0));
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
        FAILS(LFUSE_ERR_NO_DEVICE, lfuse_device_open(unknown[i], &d));
    ck_assert_ptr_null(d);
    FAILS(LFUSE_ERR_NO_DEVICE, lfuse_device_adopt("nonsense", &d, NULL, &d));
}

TEST(shapes_of_tensors)
{
    lfuse_tensor *t = NULL;
    FAILS(LFUSE_ERR_RANK, lfuse_tensor_create(device, LFUSE_F32, -1, LFUSE_DIMS(1), &t));
    FAILS(LFUSE_ERR_RANK, lfuse_tensor_create(device, F32(1, 1, 1, 1, 1, 1, 1, 1, 1), &t));
    FAILS(LFUSE_ERR_SHAPE, lfuse_tensor_create(device, F32(-5), &t));
    FAILS(LFUSE_ERR_OVERFLOW, lfuse_tensor_create(device, F32(1 << 30, 1 << 30, 1 << 30), &t));
    FAILS(LFUSE_ERR_OVERFLOW, lfuse_tensor_create(device, F64(INT64_MAX / 4), &t));
    FAILS(LFUSE_ERR_TYPE, lfuse_tensor_create(device, (lfuse_type)99, 0, NULL, &t));
    FAILS(LFUSE_ERR_DEVICE_MEMORY, lfuse_tensor_create(device, F32((int64_t)1 << 45), &t));
    FAILS(LFUSE_ERR_SHAPE, lfuse_tensor_view(x, SHAPE(33), NULL, 0, &t));
    FAILS(LFUSE_ERR_SHAPE, lfuse_tensor_view(x, SHAPE(2), NULL, 31, &t));
    FAILS(LFUSE_ERR_SHAPE, lfuse_tensor_view(x, SHAPE(2), NULL, -1, &t));
    FAILS(LFUSE_ERR_SHAPE, lfuse_tensor_view(x, SHAPE(5), LFUSE_DIMS(8), 0, &t));
    FAILS(LFUSE_ERR_SHAPE, lfuse_tensor_view(x, SHAPE(2), LFUSE_DIMS(-1), 0, &t));
    FAILS(LFUSE_ERR_OVERFLOW, lfuse_tensor_view(x, SHAPE(2, 2), LFUSE_DIMS(INT64_MAX, 1), 0, &t));
    ck_assert_ptr_null(t);
}

TEST(copies)
{
    lfuse_tensor *wider = tensor(F64(4, 8)), *longer = tensor(F32(5, 8)), *flat = tensor(F32(32));
    float host[32];
    FAILS(LFUSE_ERR_TYPE, lfuse_tensor_copy(x, wider, NULL));
    FAILS(LFUSE_ERR_SHAPE, lfuse_tensor_copy(x, longer, NULL));
    FAILS(LFUSE_ERR_RANK, lfuse_tensor_copy(x, flat, NULL));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_tensor_write(x, other_stream, host));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_tensor_fill(x, other_stream, 0));
}

TEST(missing_and_doubled_bindings)
{
    lfuse_binding one = BIND("x", x), two = BIND("y", y);
    lfuse_binding three[3] = {one, two, two};
    refuse_run(one, one, LFUSE_ERR_BINDING);
    refuse_run(one, BIND("z", y), LFUSE_ERR_NAME);
    refuse_run(one, lfuse_bind_scalar("y", 1), LFUSE_ERR_BINDING);
    refuse_run(one, lfuse_bind_tensor("y", NULL), LFUSE_ERR_BINDING);
    refuse_run(one, lfuse_bind_size("x", 4), LFUSE_ERR_NAME);
    FAILS(LFUSE_ERR_BINDING, lfuse_plan_run(plan, stream, &one, 1));
    FAILS(LFUSE_ERR_BINDING, lfuse_plan_run(plan, stream, three, 3));
    FAILS(LFUSE_ERR_INVALID, lfuse_plan_run(plan, stream, three, -1));
}

TEST(bindings_that_do_not_fit)
{
    lfuse_tensor *half = tensor(F16(4, 8)), *flat = tensor(F32(32)),
                 *narrow = tensor(F32(4, 7)), *tall = tensor(F32(17, 8)),
                 *low = tensor(F32(1, 8)), *five = tensor(F32(5, 8));
    refuse_run(BIND("x", half), BIND("y", y), LFUSE_ERR_TYPE);
    refuse_run(BIND("x", flat), BIND("y", y), LFUSE_ERR_RANK);
    refuse_run(BIND("x", narrow), BIND("y", y), LFUSE_ERR_SHAPE);
    refuse_run(BIND("x", tall), BIND("y", tall), LFUSE_ERR_BOUNDS);
    refuse_run(BIND("x", low), BIND("y", low), LFUSE_ERR_BOUNDS);
    refuse_run(BIND("x", x), BIND("y", five), LFUSE_ERR_SHAPE);
    refuse_run(BIND("x", foreign), BIND("y", y), LFUSE_ERR_CONTEXT);
}

TEST(overlap)
{
    lfuse_tensor *whole = tensor(F32(8, 8));
    lfuse_tensor *upper = new_view(whole, SHAPE(4, 8), NULL, 0);
    lfuse_tensor *lower = new_view(whole, SHAPE(4, 8), NULL, 32);
    lfuse_tensor *middle = new_view(whole, SHAPE(4, 8), NULL, 31);
    lfuse_tensor *repeats = new_view(whole, SHAPE(4, 8), LFUSE_DIMS(0, 1), 0);
    RUN(plan, stream, BIND("x", upper), BIND("y", lower));
    refuse_run(BIND("x", upper), BIND("y", middle), LFUSE_ERR_OVERLAP);
    refuse_run(BIND("x", upper), BIND("y", upper), LFUSE_ERR_OVERLAP);
    refuse_run(BIND("x", x), BIND("y", repeats), LFUSE_ERR_OVERLAP);
    FAILS(LFUSE_ERR_OVERLAP, lfuse_tensor_fill(repeats, NULL, 1));
}

TEST(lists)
{
    lfuse_tensor *a = tensor(F32(10)), *b = tensor(F32(20)), *wide = tensor(F64(10));
    lfuse_list *list = NULL;
    lfuse_tensor *step = new_view(b, SHAPE(10), LFUSE_DIMS(2), 0);
    lfuse_tensor *part = new_view(b, SHAPE(10), NULL, 5);
    lfuse_tensor *mixed[2] = {a, wide}, *gaps[2] = {a, step}, *strange[2] = {a, foreign}, *holes[2] = {a, NULL};
    FAILS(LFUSE_ERR_TYPE, lfuse_list_create(device, LFUSE_F32, 2, mixed, &list));
    FAILS(LFUSE_ERR_UNSUPPORTED, lfuse_list_create(device, LFUSE_F32, 2, gaps, &list));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_list_create(device, LFUSE_F32, 2, strange, &list));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_create(device, LFUSE_F32, 2, holes, &list));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_create(device, LFUSE_F32, -1, holes, &list));
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
    FAILS(LFUSE_ERR_SHAPE, lfuse_plan_run(sgd, stream, BINDINGS(BIND("p", list), BIND("d", longer))));
    FAILS(LFUSE_ERR_SHAPE, lfuse_plan_run(sgd, stream, BINDINGS(BIND("p", longer), BIND("d", both))));
    FAILS(LFUSE_ERR_OVERLAP, lfuse_plan_run(sgd, stream, BINDINGS(BIND("p", longer), BIND("d", longer))));
    FAILS(LFUSE_ERR_OVERLAP, lfuse_plan_run(sgd, stream, BINDINGS(BIND("p", twice), BIND("d", twice))));
    FAILS(LFUSE_ERR_BINDING, lfuse_plan_run(sgd, stream, BINDINGS(BIND("p", a), BIND("d", longer))));
    FAILS(LFUSE_ERR_SHAPE, lfuse_list_replace(longer, 0, 2, swapped));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_replace(longer, 1, 2, pair));
    ck_assert_uint_eq(launches(), before);
    lfuse_list *all[] = {list, longer, both, twice};
    for (int i = 0; i < 4; i++) drop(all[i]);
}

TEST(products)
{
    lfuse_tensor *a = tensor(F32(4, 6)), *b = tensor(F32(6, 5)), *c = tensor(F32(4, 5)), *i = tensor(I32(4, 4)),
        *v = tensor(F32(6)), *square = tensor(F32(4, 4));
    uint64_t before = launches();
    FAILS(LFUSE_ERR_SHAPE, lfuse_gemm(stream, 1, 0, 1, a, b, 0, c));
    FAILS(LFUSE_ERR_SHAPE, lfuse_gemm(stream, 0, 0, 1, a, b, 0, a));
    FAILS(LFUSE_ERR_RANK, lfuse_gemm(stream, 0, 0, 1, a, v, 0, c));
    FAILS(LFUSE_ERR_UNSUPPORTED, lfuse_gemm(stream, 0, 0, 1, i, i, 0, i));
    FAILS(LFUSE_ERR_TYPE, lfuse_gemm(stream, 0, 0, 1, a, b, 0, i));
    FAILS(LFUSE_ERR_OVERLAP, lfuse_gemm(stream, 0, 0, 1, square, square, 0, square));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_gemm(other_stream, 0, 0, 1, a, b, 0, c));
    ck_assert_uint_eq(launches(), before);
}

TEST(graphs)
{
    lfuse_plan *p = NULL;
    lfuse_graph *g = new_graph();
    lfuse_value a = lfuse_input(g, "a", F32(4, 6));
    lfuse_value b = lfuse_input(g, "b", F32(5, 7));
    lfuse_output(g, "y", lfuse_add(lfuse_matmul(a, b), lfuse_exp(a)));
    SAYS(LFUSE_ERR_SHAPE, lfuse_plan_create(device, g, NULL, &p), "matmul");
    FAILS(LFUSE_ERR_INVALID, lfuse_plan_create(device, NULL, NULL, &p));
    ck_assert_ptr_null(p);
}

TEST(sizes_untold)
{
    lfuse_graph *g = new_graph();
    lfuse_size at = lfuse_size_var(g, "at", 0, 5), count = lfuse_size_var(g, "count", 1, 5);
    lfuse_value a = lfuse_input(g, "x", F32(6));
    lfuse_output(g, "y", lfuse_mul(lfuse_slice(a, 0, at, 1, 1), lfuse_extent(g, count)));
    lfuse_plan *p = new_plan(device, g, NULL);
    lfuse_tensor *in = tensor(F32(6)), *out = tensor(F32(1));
    float host = 0;
    lfuse_binding b[4] = {BIND("x", in), BIND("y", out), lfuse_bind_size("at", 5), lfuse_bind_size("count", 3)};
    SAYS(LFUSE_ERR_BINDING, lfuse_plan_run(p, stream, b, 3), "\"count\"");
    SAYS(LFUSE_ERR_BINDING, lfuse_plan_run(p, stream, b, 2), "\"at\"");
    b[2] = lfuse_bind_size("at", 6);
    FAILS(LFUSE_ERR_BOUNDS, lfuse_plan_run(p, stream, b, 4));
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
    lfuse_output(g, "y", lfuse_exp(lfuse_input(g, "x", F64(3))));
    lfuse__stub.f64 = false;
    lfuse__stub.exact = false;
    lfuse_device *plain = new_device("stub:0");
    FAILS(LFUSE_ERR_TYPE, lfuse_plan_create(plain, g, NULL, &p));
    FAILS(LFUSE_ERR_UNSUPPORTED, lfuse_plan_create(plain, graph, &exact, &p));
    p = new_plan(plain, graph, NULL);
}

TEST(closed_device)
{
    lfuse_device *d;
    float host[32] = {0};
    OK(lfuse_device_open("stub:0", &d));
    lfuse_stream *s = new_stream(d);
    lfuse_tensor *t = new_tensor(d, F32(4, 8));
    lfuse_tensor *u = new_tensor(d, F32(4, 8));
    lfuse_plan *p = new_plan(d, graph, NULL);
    lfuse_device_close(d);
    FAILS(LFUSE_ERR_CLOSED, lfuse_plan_run(p, s, BINDINGS(BIND("x", t), BIND("y", u))));
    FAILS(LFUSE_ERR_CLOSED, lfuse_tensor_write(t, NULL, host));
    FAILS(LFUSE_ERR_CLOSED, lfuse_stream_synchronize(s));
    FAILS(LFUSE_ERR_CLOSED, lfuse_tensor_view(t, SHAPE(2), NULL, 0, &u));
}

TEST(streams_of_others)
{
    lfuse_binding b[2] = {BIND("x", x), BIND("y", y)};
    lfuse_instance *instance;
    double us;
    FAILS(LFUSE_ERR_CONTEXT, lfuse_plan_run(plan, other_stream, b, 2));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_instance_create(plan, other_stream, b, 2, &instance));
    lfuse_event *event = new_event(device);
    FAILS(LFUSE_ERR_CONTEXT, lfuse_event_record(event, other_stream));
    FAILS(LFUSE_ERR_STATE, lfuse_event_elapsed(event, event, &us));
}

TEST_SUITE("bad input", CK_NOFORK)
