/* SPDX-License-Identifier: Apache-2.0 */
/* Native graphs of runs that fail: to be made, patched or launched. */
#include "common/base/error.h"
#include "tests/run/replays.h"
#include "tests/stub/faults.h"

TEST_CASE("stub", .setup = open_stub, .teardown = close_stub)

/* A graph that cannot be made or patched is done without, and the caller's last message stays. */
TEST_LOOP(graphs_that_fail, 0, 3)
{
    static const lfuse__stub_slot slots[] = { LFUSE__STUB_graph_begin, LFUSE__STUB_graph_end, LFUSE__STUB_graph_patch };
    lfuse_tensor *x = ramp(SHAPE(N), 0, 1), *y = tensor(SHAPE(N));
    lfuse_plan *plan = chain(0);
    char message[1024];

    FAILS(LFUSE_ERR_NAME, lfuse_plan_run(plan, stream, &(lfuse_binding){ .name = "none", .kind = LFUSE_BIND_SCALAR },
                                         1));
    snprintf(message, sizeof message, "%s", lfuse_last_error());
    if (_i == 2) chain_times(plan, x, y, 2, 3);
    lfuse__stub_fail(slots[_i], 1, false, LFUSE_ERR_DEVICE_MEMORY);
    chain_times(plan, x, y, 3, 6);
    ck_assert(lfuse__stub_fired());
    ck_assert_str_eq(lfuse_last_error(), message);
    ck_assert_uint_eq(replays(), _i == 2 ? 1 : 0);
}

TEST(a_launch_that_fails)
{
    lfuse_tensor *x = ramp(SHAPE(N), 0, 1), *y = tensor(SHAPE(N));
    const lfuse_binding b[] = { BIND("x", x), BIND("y", y), lfuse_bind_scalar("scale", 2) };
    lfuse_plan *plan = chain(0);

    lfuse_instance *in = new_instance(plan, stream, b, 3);
    for (int i = 0; i < 3; i++) OK(lfuse_instance_run(in, b, 3));
    lfuse__stub_fail(LFUSE__STUB_graph_launch, 1, false, LFUSE_ERR_DEVICE);
    SAYS(LFUSE_ERR_DEVICE, lfuse_instance_run(in, b, 3), "native graph");
    FAILS(LFUSE_ERR_STATE, lfuse_instance_run(in, b, 3)); /* parts of it may have run */
    ck_says("native graph");
    drop(in);
    chain_times(plan, x, y, 2, 4);
}

typedef struct scene {
    lfuse_stream *stream;
    lfuse_tensor *x, *y;
    lfuse_plan *plan;
} scene;

static lfuse_status make_scene(lfuse_device *on, scene *s)
{
    const lfuse_plan_options alone = { .disable = ALONE | LFUSE_NO_SMALL_PRODUCTS,
                                       .provider = LFUSE_PROVIDER_VENDOR };
    lfuse_graph *own = lfuse_graph_create();
    const lfuse_value x = lfuse_input(own, "x", F32(4, 4));

    lfuse_output(own, "y", lfuse_exp(lfuse_mul(lfuse_matmul(x, x), lfuse_scalar(own, "scale"))));
    lfuse_status status = lfuse_plan_create(on, own, &alone, &s->plan);
    lfuse_graph_destroy(own);
    LFUSE__TRY(status);
    LFUSE__TRY(lfuse_stream_create(on, &s->stream));
    LFUSE__TRY(lfuse_tensor_create(on, F32(4, 4), &s->x));
    LFUSE__TRY(lfuse_tensor_create(on, F32(4, 4), &s->y));
    return lfuse_tensor_fill(s->x, s->stream, 1);
}

static lfuse_status use_scene(scene *s)
{
    float got[16];

    for (int i = 0; i < 7; i++) {
        LFUSE__TRY(lfuse_plan_run(s->plan, s->stream, BINDINGS(BIND("x", s->x), BIND("y", s->y),
                                                        lfuse_bind_scalar("scale", i / 4))));
        LFUSE__TRY(lfuse_tensor_read(s->y, s->stream, got));
        LFUSE__TRY(lfuse_stream_synchronize(s->stream));
        NEAR(got[5], i < 4 ? 1 : exp(4));
    }
    return LFUSE_OK;
}

static lfuse_status scenario(lfuse_device *on)
{
    scene s = { 0 };
    lfuse_status status = make_scene(on, &s);

    if (!status) status = use_scene(&s);
    drop(s.plan);
    drop(s.x), drop(s.y);
    lfuse_stream_destroy(s.stream);
    return status;
}

TEST_CASE("faults")

TEST(any_call_fails)
{
    test_faults(scenario, LFUSE_ERR_DEVICE, NULL);
}

TEST_SUITE("replay failures", CK_NOFORK)
