/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's memory as a stream's scratch: on the stub, and what is right on every device. */
#include "common/device/device.h"
#include "tests/run/rig.h"

enum { N = 1000, NEED = 4096 + 4000 /* two values at a time, in pages of 256 */, PAGE = 256, ROOM = 16384, GUARD = 9,
       LONG = 10000000 /* elements: as scratch, most of a block */ };

/* y = ((x + 1) 2 - 3) 5, each function a kernel. */
typedef struct chain {
    lfuse_graph *graph;
    lfuse_plan *plan;
    lfuse_tensor *x, *y;
    lfuse_binding bindings[2];
} chain;

static void chain_make(chain *c)
{
    const lfuse_plan_options options = { .disable = LFUSE_NO_POINTWISE_FUSION };
    lfuse_graph *h = c->graph = new_graph();
    const lfuse_value x = lfuse_input(h, "x", F32(N));
    const lfuse_value doubled = lfuse_mul(lfuse_add(x, lfuse_constant(h, 1)), lfuse_constant(h, 2));

    lfuse_output(h, "y", lfuse_mul(lfuse_sub(doubled, lfuse_constant(h, 3)), lfuse_constant(h, 5)));
    c->plan = new_plan(dev, h, &options);
    c->x = ramp(SHAPE(N), 0, 1);
    c->y = tensor(SHAPE(N));
    c->bindings[0] = BIND("x", c->x);
    c->bindings[1] = BIND("y", c->y);
}

static lfuse_status chain_run(const chain *c)
{
    return lfuse_plan_run(c->plan, stream, c->bindings, 2);
}

static void chain_check(const chain *c)
{
    const float *y = values(c->y);

    for (int i = 0; i < N; i++) ck_assert_msg(y[i] == ((float)i * 2 - 1) * 5, "%d: %g", i, (double)y[i]);
    OK(lfuse_tensor_fill(c->y, NULL, NAN));
}

static lfuse_tensor *bytes_of(const lfuse_tensor *all, int64_t offset, int64_t count)
{
    return new_view(all, SHAPE(count), NULL, offset);
}

static uint64_t held(void)
{
    return counters_of(dev).bytes;
}

/* Bytes that are no guard any more: [from, end) of all alone. */
static int written(const lfuse_tensor *all, int from, int end)
{
    static uint8_t host[ROOM];
    int count = 0;

    OK(lfuse_tensor_read(all, NULL, host));
    for (int i = 0; i < ROOM; i++) {
        ck_assert_msg(host[i] == GUARD || (i >= from && i < end), "byte %d is not in %d ... %d", i, from, end);
        count += host[i] != GUARD;
    }
    return count;
}

static void set_and_forget(lfuse_tensor *t)
{
    OK(lfuse_stream_set_scratch(stream, t));
    drop(t);
}

/* As often as it takes to be one native graph, where the device has such; that is what it needs of the memory. */
static void runs_within(const chain *c, lfuse_tensor *all, int from)
{
    OK(lfuse_tensor_fill(all, NULL, GUARD));
    set_and_forget(bytes_of(all, from, NEED));
    uint64_t before = held();
    for (int i = 0; i < 5; i++) {
        OK(chain_run(c));
        chain_check(c);
    }
    ck_assert_uint_le(held(), before);
    ck_assert_int_gt(written(all, from, from + NEED), NEED / 2);
}

/* Replays leave it alone. */
static void check_recording(const chain *c, lfuse_tensor *all)
{
    set_and_forget(bytes_of(all, PAGE, NEED));
    OK(lfuse_tensor_fill(all, NULL, GUARD));
    OK(lfuse_record_begin(stream));
    OK(chain_run(c));
    FAILS(LFUSE_ERR_STATE, lfuse_stream_set_scratch(stream, NULL));
    lfuse_recording *r = new_recording(stream);
    OK(lfuse_recording_replay(r, stream, NULL, 0));
    chain_check(c);
    ck_assert_int_eq(written(all, 0, 0), 0);
    drop(r);
}

static lfuse_tensor *room(bool unified)
{
    lfuse_tensor *t;

    if (!unified) return new_tensor(dev, U8(ROOM));
    OK(lfuse_tensor_create_unified(dev, U8(ROOM), &t));
    return own_tensor(t);
}

static void in_callers_memory(void)
{
    chain c;

    lfuse_device_info info = info_of(dev);
    chain_make(&c);
    for (int unified = 0; unified <= (info.svm != 0); unified++) {
        lfuse_tensor *all = room(unified);
        runs_within(&c, all, 0);
        runs_within(&c, all, 3 * PAGE);
        check_recording(&c, all);
        OK(lfuse_stream_set_scratch(stream, NULL));
        OK(lfuse_tensor_fill(all, NULL, GUARD));
        OK(chain_run(&c));
        chain_check(&c);
        ck_assert_int_eq(written(all, 0, 0), 0);
        drop(all);
    }
}

TEST_CASE("scratch", .setup = open_stub, .teardown = close_stub)

TEST_LOOP(on_the_stub, 0, 2)
{
    lfuse__stub.vector_lanes = lfuse__stub.addresses = _i;
    reopen_stub();
    in_callers_memory();
}

TEST(on_devices)
{
    if (!on_each_device(in_callers_memory)) TEST_SKIP("no device");
}

/* The stream's own memory is given back, and is not made while there is the caller's. */
TEST(own_memory_goes)
{
    lfuse_tensor *all = room(false), *empty = bytes_of(all, 0, 0);
    lfuse_size n = lfuse_size_var(g, "n", 1, LONG);
    lfuse_value x = lfuse_input(g, "x", F32(n));
    lfuse_tensor *tx = tensor(SHAPE(LONG)), *ty = tensor(SHAPE(LONG));
    const lfuse_binding b[] = { BIND("x", tx), BIND("y", ty) };

    lfuse_output(g, "y", lfuse_neg(lfuse_abs(lfuse_neg(x))));
    lfuse_plan *plan = plan_with(LFUSE_NO_POINTWISE_FUSION);
    OK(lfuse_plan_run(plan, stream, b, 2));
    uint64_t before = held();
    OK(lfuse_stream_set_scratch(stream, empty));
    OK(lfuse_stream_synchronize(stream));
    FAILS(LFUSE_ERR_SHAPE, lfuse_plan_run(plan, stream, b, 2));
    tensor(SHAPE(2 * LONG)); /* where it was: there is no other place of that size */
    ck_assert_uint_eq(held(), before);
}

/* Both numbers are told, nothing is launched, and the next try with enough is as if nothing had been. */
TEST(too_small)
{
    lfuse_tensor *all = room(false), *little = bytes_of(all, 0, NEED - 1), *none = bytes_of(all, 0, 0);
    chain c;

    chain_make(&c);
    OK(lfuse_stream_set_scratch(stream, none));
    lfuse_instance *in = new_instance(c.plan, stream, c.bindings, 2); /* which can be asked */
    ck_assert_uint_eq(lfuse_instance_scratch(in), NEED);
    uint64_t before = launches();
    FAILS(LFUSE_ERR_SHAPE, lfuse_instance_run(in, c.bindings, 2));
    OK(lfuse_stream_set_scratch(stream, little));
    SAYS(LFUSE_ERR_SHAPE, lfuse_instance_run(in, c.bindings, 2), " 8095 bytes, 8096 are needed");
    FAILS(LFUSE_ERR_SHAPE, chain_run(&c));
    ck_assert_uint_eq(launches(), before);
    OK(lfuse_stream_set_scratch(stream, all));
    OK(lfuse_instance_run(in, c.bindings, 2));
    chain_check(&c);
}

/* What is made of frozen inputs lies elsewhere: such an instance is made, too. */
TEST(of_frozen_inputs)
{
    lfuse_tensor *all = room(false), *none = bytes_of(all, 0, 0);
    lfuse_value w = lfuse_frozen(g, "w", F32(64));
    lfuse_value x = lfuse_input(g, "x", F32(N));
    lfuse_tensor *tw = ramp(SHAPE(64), 1, 1), *tx = ramp(SHAPE(N), 1, 1), *ty = tensor(SHAPE(N));
    lfuse_tensor *tz = tensor(SHAPE(64));
    const lfuse_binding b[] = { BIND("w", tw), BIND("x", tx), BIND("y", ty), BIND("z", tz) };

    lfuse_output(g, "y", lfuse_neg(lfuse_neg(lfuse_abs(lfuse_neg(x)))));
    lfuse_output(g, "z", lfuse_neg(lfuse_abs(w)));
    lfuse_plan *plan = plan_with(LFUSE_NO_POINTWISE_FUSION);
    OK(lfuse_stream_set_scratch(stream, none));
    lfuse_instance *in = new_instance(plan, stream, b, 4);
    ck_assert_uint_gt(lfuse_instance_prepared(in), 0);
    FAILS(LFUSE_ERR_SHAPE, lfuse_instance_run(in, b, 4));
    OK(lfuse_stream_set_scratch(stream, all));
    OK(lfuse_instance_run(in, b, 4));
    NEAR(values(ty)[N - 1], N);
    NEAR(values(tz)[63], -64);
}

TEST(refused)
{
    static _Alignas(PAGE) char host[2 * PAGE];
    lfuse__stub_native native = { .capturing = true };
    const lfuse_status bad = LFUSE_ERR_INVALID;
    lfuse_tensor *late;
    lfuse_stream *captured;

    reopen_stub_as(0); /* kernels of work-items */
    lfuse_tensor *all = room(false);
    FAILS(bad, lfuse_stream_set_scratch(NULL, all));
    lfuse_tensor *odd = bytes_of(all, 16, NEED);
    SAYS(bad, lfuse_stream_set_scratch(stream, odd), "16 bytes behind a multiple of 256");
    lfuse_tensor *turned = new_view(all, SHAPE(10), LFUSE_DIMS(2), 0);
    FAILS(bad, lfuse_stream_set_scratch(stream, turned));
    OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)(host + 8), PAGE, U8(PAGE), NULL, 0, &late));
    FAILS(bad, lfuse_stream_set_scratch(stream, late));
    lfuse_device *second = new_device("stub:1");
    lfuse_tensor *other = new_tensor(second, U8(ROOM));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_stream_set_scratch(stream, other));
    OK(lfuse_stream_wrap(dev, &native, &captured));
    FAILS(LFUSE_ERR_STATE, lfuse_stream_set_scratch(captured, all));
    native.capturing = false;
    OK(lfuse_stream_set_scratch(captured, all));
    lfuse_stream_destroy(captured);
    drop(late);
}

/* As much of it as a run needs, against what is bound: also where nothing but the scratch has changed. */
TEST(overlaps)
{
    lfuse_tensor *all = room(false);
    chain c;

    chain_make(&c);
    lfuse_tensor *beside = new_tensor(dev, F32(3 * N));
    drop(c.x);
    c.x = new_view(beside, SHAPE(N), NULL, 2 * N); /* from byte 8000 on */
    OK(lfuse_tensor_fill(c.x, NULL, 1));
    c.bindings[0] = BIND("x", c.x);
    OK(chain_run(&c));
    OK(lfuse_stream_set_scratch(stream, beside));
    FAILS(LFUSE_ERR_OVERLAP, chain_run(&c)); /* 8096 bytes of it */
    ck_says("\"x\" overlaps the scratch memory");
    OK(lfuse_stream_set_scratch(stream, all));
    OK(chain_run(&c));
}

/* Of a list the member is named. */
TEST(overlaps_members)
{
    lfuse_tensor *members[2];
    lfuse_value w = lfuse_list_input(g, "w", LFUSE_F32, LFUSE_RANK_ANY);

    lfuse_tensor *all = new_tensor(dev, F32(ROOM));
    OK(lfuse_tensor_fill(all, NULL, 1));
    members[0] = new_view(all, SHAPE(N), NULL, 12000);
    members[1] = new_view(all, SHAPE(N), NULL, 1);
    lfuse_list *list = new_list(dev, LFUSE_F32, 2, members);
    lfuse_binding b = BIND("w", list);
    lfuse_update(w, lfuse_div(w, lfuse_list_norm_l2(w)));
    lfuse_plan *plan = plan_with(0);
    OK(lfuse_plan_run(plan, stream, &b, 1));
    ck_assert_uint_gt(lfuse_plan_scratch(plan, stream), 4);
    OK(lfuse_stream_set_scratch(stream, all));
    SAYS(LFUSE_ERR_OVERLAP, lfuse_plan_run(plan, stream, &b, 1), "\"w\" member 1 overlaps the scratch memory");
    OK(lfuse_stream_set_scratch(stream, NULL));
    OK(lfuse_plan_run(plan, stream, &b, 1));
}

TEST_SUITE("run", CK_NOFORK)
