/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/run/rig.h"

enum { MOST = 1 << 16 };

lfuse_device *dev;
lfuse_stream *stream;
lfuse_graph *g;

static void open_all(void)
{
    lfuse__registry_extra(&lfuse__stub_backend);
    OK(lfuse_device_open("stub:0", &dev));
    OK(lfuse_stream_create(dev, &stream));
    g = lfuse_graph_create();
}

void open_stub(void)
{
    setenv("LFUSE_WISDOM", "0", 0); /* what an earlier test measured is no matter for this one */
    lfuse__stub_reset();
    open_all();
}

void close_stub(void)
{
    drop_all();
    lfuse_graph_destroy(g);
    lfuse_stream_destroy(stream);
    lfuse_device_close(dev);
    g = NULL, stream = NULL, dev = NULL;
    ck_assert_int_eq(lfuse__stub_live_objects(), 0);
    lfuse__stub_counters c = lfuse__stub_counters_now();
    ck_assert_uint_eq(c.guard_faults, 0);
    ck_assert_uint_eq(c.misuse, 0);
    lfuse__registry_extra(NULL);
}

void reopen_stub(void)
{
    close_stub();
    open_all();
}

void reopen_device(void)
{
    drop_all();
    lfuse_stream_destroy(stream);
    lfuse_device_close(dev);
    OK(lfuse_device_open("stub:0", &dev));
    OK(lfuse_stream_create(dev, &stream));
}

void reopen_stub_as(int form)
{
    lfuse__stub.vector_lanes = form & 1;
    lfuse__stub.addresses = !(form & 1);
    reopen_stub();
    lfuse_graph_destroy(g);
    g = NULL;
}

void fresh_graph(void)
{
    lfuse_graph_destroy(g);
    g = lfuse_graph_create();
}

int on_each_device(void (*work)(void))
{
    const char *only = getenv("LFUSE_TEST_DEVICE");
    int count, done = 0;

    close_stub();
    OK(lfuse_device_count(&count));
    for (int i = 0; i < count; i++) {
        lfuse_device_info info;
        OK(lfuse_device_describe(i, &info));
        if (only && strncmp(info.name, only, strlen(only))) continue;
        OK(lfuse_device_open(info.name, &dev));
        OK(lfuse_stream_create(dev, &stream));
        work();
        drop_all();
        lfuse_graph_destroy(g);
        g = NULL;
        lfuse_stream_destroy(stream);
        lfuse_device_close(dev);
        done++;
    }
    open_stub();
    return done;
}

static lfuse_device_counters counters(void)
{
    return counters_of(dev);
}

uint64_t launches(void)
{
    return counters().launches;
}

uint64_t programs(void)
{
    return lfuse__stub_calls(LFUSE__STUB_program_build) + lfuse__stub_calls(LFUSE__STUB_program_load);
}

uint64_t compiles(void)
{
    return counters().compiles;
}

lfuse_tensor *tensor(int rank, const int64_t *shape)
{
    return new_tensor(dev, LFUSE_F32, rank, shape);
}

lfuse_tensor *ramp(int rank, const int64_t *shape, float start, float step)
{
    lfuse_tensor *t = tensor(rank, shape);
    static float host[MOST];

    ck_assert_int_le(lfuse_tensor_elements(t), MOST);
    for (int64_t i = 0; i < lfuse_tensor_elements(t); i++) host[i] = start + step * (float)i;
    OK(lfuse_tensor_write(t, NULL, host));
    return t;
}

lfuse_tensor *filled_tensor(int rank, const int64_t *shape, float (*element)(int64_t k))
{
    lfuse_tensor *t = tensor(rank, shape);
    const int64_t n = lfuse_tensor_elements(t);
    float *host = malloc((size_t)(n + 1) * sizeof *host);

    ck_assert_ptr_nonnull(host);
    for (int64_t i = 0; i < n; i++) host[i] = element(i);
    OK(lfuse_tensor_write(t, NULL, host));
    free(host);
    return t;
}

const float *values(const lfuse_tensor *t)
{
    static float host[MOST];

    ck_assert_int_le(lfuse_tensor_elements(t), MOST);
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(t, NULL, host));
    return host;
}

lfuse_plan *plan_with(unsigned disable)
{
    return plan_by(LFUSE_PROVIDER_DEFAULT, disable);
}

lfuse_plan *plan_by(lfuse_provider provider, unsigned disable)
{
    const lfuse_plan_options o = { .disable = disable, .provider = provider };

    return new_plan(dev, g, &o);
}

void dense_graph(void)
{
    lfuse_size batch = lfuse_size_var(g, "batch", 0, 400);
    lfuse_value x = lfuse_input(g, "x", F32(batch, 8));
    lfuse_value w = lfuse_frozen(g, "w", F32(8, 6)), b = lfuse_frozen(g, "b", F32(6));

    lfuse_output(g, "y", lfuse_relu(lfuse_add(lfuse_matmul(x, w), b)));
}

void check_dense(lfuse_plan *plan, int64_t batch, uint64_t count)
{
    lfuse_tensor *tx = ramp(SHAPE(batch, 8), -1, 0.01f), *tw = ramp(SHAPE(8, 6), -2, 0.1f);
    lfuse_tensor *tb = ramp(SHAPE(6), 1, -0.5f), *ty = tensor(SHAPE(batch, 6));
    const uint64_t before = launches();

    RUN(plan, stream, BIND("x", tx), BIND("w", tw), BIND("b", tb), BIND("y", ty));
    if (count != ANY) ck_assert_uint_eq(launches() - before, count);
    const float *y = values(ty);
    for (int64_t i = 0; i < batch; i++)
        for (int64_t j = 0; j < 6; j++) {
            double sum = 1 - 0.5 * (double)j;
            for (int64_t k = 0; k < 8; k++) sum += (-1 + 0.01 * (double)(8 * i + k)) * (-2 + 0.1 * (double)(6 * k + j));
            NEAR(y[6 * i + j], sum > 0 ? sum : 0);
        }
    drop(tx), drop(tw), drop(tb), drop(ty);
}

bool run_dense(lfuse_plan *plan)
{
    static const int64_t shapes[4][2] = { { 4, 8 }, { 8, 6 }, { 6, 0 }, { 4, 6 } };
    lfuse_stream *s = NULL;
    lfuse_tensor *t[4] = { NULL, NULL, NULL, NULL };
    bool good = !lfuse_stream_create(dev, &s);

    for (int i = 0; i < 4 && good; i++)
        good = !lfuse_tensor_create(dev, LFUSE_F32, i == 2 ? 1 : 2, shapes[i], &t[i]) && !lfuse_tensor_fill(t[i], s, 1);
    if (good) {
        good = !lfuse_plan_run(plan, s, BINDINGS(BIND("x", t[0]), BIND("w", t[1]), BIND("b", t[2]),
                                                 BIND("y", t[3]))) && !lfuse_stream_synchronize(s);
    }
    for (int i = 0; i < 4; i++) lfuse_tensor_destroy(t[i]);
    lfuse_stream_destroy(s);
    return good;
}
