/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors in memory that host and device share, on the stub. */
#include "tests/run/rig.h"

static lfuse_tensor *shared(int rank, const int64_t *shape)
{
    lfuse_tensor *t;

    OK(lfuse_tensor_create_unified(dev, LFUSE_F32, rank, shape, &t));
    return own_tensor(t);
}

TEST_CASE("unified", .setup = open_stub, .teardown = close_stub)

TEST(the_host_sees_what_runs_write)
{
    lfuse_tensor *state = shared(SHAPE(3, 5)), *plain = tensor(SHAPE(5)), *none = shared(SHAPE(0));
    const lfuse_value s = lfuse_input(g, "s", F32(3, 5));
    float *host = lfuse_tensor_host(state);

    lfuse_tensor *row = new_view(state, SHAPE(5), NULL, 5);
    ck_assert_ptr_nonnull(host);
    ck_assert_ptr_eq(lfuse_tensor_host(row), host + 5);
    ck_assert(!lfuse_tensor_host(plain) && !lfuse_tensor_host(none) && !lfuse_tensor_host(NULL));
    lfuse_update(s, lfuse_add(s, lfuse_constant(g, 1)));
    lfuse_plan *plan = plan_with(0);
    for (int i = 0; i < 15; i++) host[i] = (float)i;
    {
        lfuse_binding b = BIND("s", state);
        OK(lfuse_plan_run(plan, stream, &b, 1));
    }
    OK(lfuse_stream_synchronize(stream));
    for (int i = 0; i < 15; i++) NEAR(host[i], i + 1);
    NEAR(values(row)[4], 10);
    drop(state); /* the view holds the memory */
    ck_assert_ptr_eq(lfuse_tensor_host(row), host + 5);
}

/* Memory goes back when the work on it is done, and is not handed out as the pool's. */
TEST(memory_goes_back)
{
    lfuse_device_counters before = counters_of(dev);
    lfuse_tensor *t = shared(SHAPE(1000));
    OK(lfuse_tensor_fill(t, stream, 2));
    lfuse_device_counters after = counters_of(dev);
    ck_assert_uint_eq(after.bytes - before.bytes, 4000);
    drop(t);
    OK(lfuse_stream_synchronize(stream));
    lfuse_tensor *u = tensor(SHAPE(10)); /* looks for what has become free */
    ck_assert_ptr_null(lfuse_tensor_host(u));
    drop(u);
    t = shared(SHAPE(1));
    after = counters_of(dev);
    ck_assert_uint_lt(after.bytes % 4096, 4000);
}

TEST(devices_that_share_less)
{
    lfuse_tensor *t = NULL;

    lfuse__stub.svm_concurrent = false;
    reopen_stub();
    t = shared(SHAPE(4));
    ck_assert_ptr_null(lfuse_tensor_host(t));
    OK(lfuse_tensor_fill(t, NULL, 7));
    NEAR(values(t)[3], 7);
    drop(t);
    lfuse__stub.svm = false;
    reopen_stub();
    t = NULL;
    FAILS(LFUSE_ERR_UNSUPPORTED, lfuse_tensor_create_unified(dev, F32(4), &t));
    ck_assert(!t && strstr(lfuse_last_error(), "stub:0 shares no memory with the host"));
}

TEST(bad_input)
{
    lfuse_tensor *t = NULL;

    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_create_unified(NULL, F32(4), &t));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_create_unified(dev, F32(4), NULL));
    FAILS(LFUSE_ERR_TYPE, lfuse_tensor_create_unified(dev, (lfuse_type)99, SHAPE(4), &t));
    FAILS(LFUSE_ERR_SHAPE, lfuse_tensor_create_unified(dev, F32(-4), &t));
    lfuse__stub.memory_bytes = 100;
    FAILS(LFUSE_ERR_DEVICE_MEMORY, lfuse_tensor_create_unified(dev, F32(400), &t));
    ck_says("1600 bytes of shared memory");
    lfuse__stub_fail(LFUSE__STUB_alloc, 1, false, LFUSE_ERR_DEVICE);
    FAILS(LFUSE_ERR_DEVICE, lfuse_tensor_create_unified(dev, F32(4), &t));
    lfuse__stub_no_failure();
    ck_assert_ptr_null(t);
}

TEST_SUITE("run", CK_NOFORK)
