/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings: what is refused, and every failure of a call on the way. On the stub. */
#include "tests/run/records.h"

/* ---- what is refused ---- */

TEST_CASE("refused", .teardown = end)

TEST_LOOP(test_states, 0, 2)
{
    lfuse_recording *r;
    const int64_t shape[] = {N - 1};
    float got[N];
    begin(_i);
    FAILS(LFUSE_ERR_INVALID, lfuse_record_begin(NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_record_end(NULL, &r));
    FAILS(LFUSE_ERR_INVALID, lfuse_record_end(stream, NULL));
    FAILS(LFUSE_ERR_STATE, lfuse_record_end(stream, &r));
    OK(lfuse_record_begin(stream));
    FAILS(LFUSE_ERR_STATE, lfuse_record_begin(stream));
    FAILS(LFUSE_ERR_STATE, lfuse_tensor_read(x, stream, got));
    FAILS(LFUSE_ERR_STATE, lfuse_record_end(stream, &r)); /* the read spoilt it */
    FAILS(LFUSE_ERR_STATE, lfuse_record_end(stream, &r)); /* and it is over */
    lfuse_plan *plan = new_scaling_plan();
    lfuse_tensor *shorter = new_tensor(dev, LFUSE_F32, 1, shape);
    OK(lfuse_record_begin(stream));
    OK(run_scaling(plan, stream, x, 2, y));
    FAILS(LFUSE_ERR_SHAPE, run_scaling(plan, stream, x, 2, shorter));
    OK(run_scaling(plan, stream, x, 2, y));
    FAILS(LFUSE_ERR_SHAPE, lfuse_record_end(stream, &r));
    OK(run_scaling(plan, stream, x, 2, y)); /* the stream works on */
    lfuse_recording *one = record_two_steps(2);
    OK(lfuse_record_begin(stream));
    FAILS(LFUSE_ERR_STATE, lfuse_recording_replay(one, stream, NULL, 0));
    FAILS(LFUSE_ERR_STATE, lfuse_record_end(stream, &r));
    OK(lfuse_recording_replay(one, stream, NULL, 0));
}

TEST_LOOP(test_bad_bindings, 0, 2)
{
    const int64_t shape[] = {N - 1}, square[] = {2, N / 2};
    begin(_i);
    lfuse_device *second = new_device("stub:1");
    lfuse_stream *foreign_stream = new_stream(second);
    lfuse_tensor *foreign = new_tensor(second, LFUSE_F32, 1, (int64_t[]){N});
    lfuse_tensor *shorter = new_tensor(dev, LFUSE_F32, 1, shape);
    lfuse_tensor *half = new_tensor(dev, LFUSE_F16, 1, (int64_t[]){N});
    lfuse_tensor *flat = new_tensor(dev, LFUSE_F32, 2, square);
    lfuse_recording *r = record_two_steps(2);
    const struct {
        int count;
        lfuse_binding b[2];
        lfuse_status status;
    } cases[] = {
        {1, {lfuse_bind_scalar("nobody", 1)}, LFUSE_ERR_NAME},
        {2, {lfuse_bind_scalar("scale", 1), lfuse_bind_scalar("scale", 2)}, LFUSE_ERR_BINDING},
        {1, {lfuse_bind_scalar(NULL, 1)}, LFUSE_ERR_BINDING},
        {1, {lfuse_bind_scalar("in", 1)}, LFUSE_ERR_BINDING},
        {1, {BIND("scale", x)}, LFUSE_ERR_BINDING},
        {1, {lfuse_bind_tensor("in", NULL)}, LFUSE_ERR_BINDING},
        {1, {lfuse_bind_size("in", 5)}, LFUSE_ERR_NAME},
        {1, {BIND("in", shorter)}, LFUSE_ERR_SHAPE},
        {1, {BIND("in", flat)}, LFUSE_ERR_RANK},
        {1, {BIND("in", half)}, LFUSE_ERR_TYPE},
        {1, {BIND("in", foreign)}, LFUSE_ERR_CONTEXT},
        {2, {lfuse_bind_scalar("scale", 9), BIND("result", shorter)}, LFUSE_ERR_SHAPE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FAILS(cases[i].status, lfuse_recording_replay(r, stream, cases[i].b, cases[i].count));
        OK(lfuse_tensor_fill(z, NULL, -5));
        OK(lfuse_recording_replay(r, stream, NULL, 0)); /* as before: of a refused replay nothing stays */
        OK(lfuse_stream_synchronize(stream));
        check_result(z, 2, "after a refused replay");
    }
    FAILS(LFUSE_ERR_INVALID, lfuse_recording_replay(NULL, stream, NULL, 0));
    FAILS(LFUSE_ERR_INVALID, lfuse_recording_replay(r, NULL, NULL, 0));
    FAILS(LFUSE_ERR_INVALID, lfuse_recording_replay(r, stream, NULL, 1));
    FAILS(LFUSE_ERR_INVALID, lfuse_recording_replay(r, stream, cases[0].b, -1));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_recording_replay(r, foreign_stream, NULL, 0));
}

TEST_LOOP(test_closed_and_destroyed, 0, 2)
{
    begin(_i);
    lfuse_recording *r = record_two_steps(2);
    lfuse_plan *plan = new_scaling_plan();
    OK(lfuse_record_begin(stream));
    OK(run_scaling(plan, stream, x, 2, y));
    drop(plan);
    drop(stream); /* with a recording open */
    stream = new_stream(dev);
    OK(lfuse_recording_replay(r, stream, NULL, 0));
    lfuse_device_close(dev);
    FAILS(LFUSE_ERR_CLOSED, lfuse_recording_replay(r, stream, NULL, 0));
    dev = NULL;
    drop_all();
    test_stub_end();
}

/* ---- faults ---- */

static lfuse_status recording_scenario(lfuse_device *device)
{
    static float given[N], got[N];
    const int64_t shape[] = {N}, shorter[] = {N - 1};
    lfuse_stream *s = NULL;
    lfuse_tensor *in = NULL, *middle = NULL, *out = NULL, *brief[3] = {NULL, NULL, NULL};
    lfuse_plan *scaling = NULL, *relu = NULL;
    lfuse_recording *r = NULL;
    lfuse_status status;
    lfuse_binding number = lfuse_bind_scalar("scale", -4);

    for (int i = 0; i < N; i++) given[i] = (float)(i - N / 2);
    if ((status = lfuse_stream_create(device, &s))) goto out;
    if ((status = lfuse_tensor_create(device, LFUSE_F32, 1, shape, &in))) goto out;
    if ((status = lfuse_tensor_create(device, LFUSE_F32, 1, shape, &middle))) goto out;
    if ((status = lfuse_tensor_create(device, LFUSE_F32, 1, shape, &out))) goto out;
    for (int i = 0; i < 3; i++)
        if ((status = lfuse_tensor_create(device, LFUSE_F32, 1, shorter, &brief[i]))) goto out;
    if ((status = lfuse_tensor_write(in, NULL, given))) goto out;
    if ((status = lfuse_tensor_write(brief[0], NULL, given))) goto out;
    if ((status = scaling_plan(device, &scaling))) goto out;
    if ((status = relu_plan(device, &relu))) goto out;
    if ((status = lfuse_record_begin(s))) goto out;
    status = run_scaling(scaling, s, in, 3, middle);
    if (!status) status = run_relu(relu, s, middle, out);
    lfuse_status ended = lfuse_record_end(s, &r);
    ck_assert_int_eq(status && ended == LFUSE_OK, 0); /* a refused run spoils the recording */
    if ((status = ended)) goto out;
    if ((status = lfuse_recording_replay(r, s, NULL, 0))) goto out;
    if ((status = lfuse_recording_replay(r, s, &number, 1))) goto out;
    if ((status = lfuse_tensor_read(out, s, got))) goto out;
    if ((status = lfuse_stream_synchronize(s))) goto out;
    for (int i = 0; i < N; i++) ck_assert_float_eq(got[i], relu_of(-4 * given[i] + 1));
    const lfuse_binding other[] = {BIND("in", brief[0]), BIND("out", brief[1]),
                                   BIND("operand", brief[1]), BIND("result", brief[2])};
    if ((status = lfuse_recording_replay(r, s, other, 4))) goto out; /* other sizes */
    if ((status = lfuse_recording_replay(r, s, BINDINGS(BIND("in", in), BIND("out", middle), BIND("operand", middle),
                                                        BIND("result", out))))) goto out;
    if ((status = lfuse_tensor_read(brief[2], s, got))) goto out;
    if ((status = lfuse_stream_synchronize(s))) goto out;
    for (int i = 0; i < N - 1; i++) ck_assert_float_eq(got[i], relu_of(-4 * given[i] + 1));
out:
    drop(r);
    drop(relu);
    drop(scaling);
    for (int i = 0; i < 3; i++) drop(brief[i]);
    drop(out);
    drop(middle);
    drop(in);
    drop(s);
    return status;
}

static void settings_list(void)
{
    lfuse__stub.native_graph = false;
}

static void settings_lazy(void)
{
    lfuse__stub.lazy = true;
}

TEST_LOOP(test_faults_of_recording, 0, 3)
{
    static void (*const settings[])(void) = {settings_list, NULL, settings_lazy};
    test_faults(recording_scenario, LFUSE_ERR_DEVICE_MEMORY, settings[_i]);
}

TEST_SUITE("refused records", CK_NOFORK)
