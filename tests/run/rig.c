/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tests/run/rig.h"

enum { MOST = 1 << 16 };

lfuse_device *dev;
lfuse_stream *stream;
lfuse_graph *g;

void rig_check_failure(lfuse_status is, lfuse_status wanted, const char *call)
{
    ck_assert_msg(is == wanted, "%s gives %s (%s), not %s", call, lfuse_status_name(is), lfuse_last_error(),
                  lfuse_status_name(wanted));
    ck_assert_str_ne(lfuse_last_error(), "");
}

static void open_all(void)
{
    lfuse__registry_extra(&lfuse__stub_backend);
    OK(lfuse_device_open("stub:0", &dev));
    OK(lfuse_stream_create(dev, &stream));
    g = lfuse_graph_create();
}

void open_stub(void)
{
    lfuse__stub_reset();
    open_all();
}

void close_stub(void)
{
    lfuse__stub_counters c;

    lfuse_graph_destroy(g);
    lfuse_stream_destroy(stream);
    lfuse_device_close(dev);
    g = NULL, stream = NULL, dev = NULL;
    ck_assert_int_eq(lfuse__stub_live_objects(), 0);
    lfuse__stub_counters_get(&c);
    ck_assert_uint_eq(c.guard_faults, 0);
    ck_assert_uint_eq(c.misuse, 0);
    lfuse__registry_extra(NULL);
}

void reopen_stub(void)
{
    close_stub();
    open_all();
}

static lfuse_device_counters counters(void)
{
    lfuse_device_counters c;

    OK(lfuse_device_get_counters(dev, &c));
    return c;
}

uint64_t launches(void)
{
    return counters().launches;
}

uint64_t compiles(void)
{
    return counters().compiles;
}

lfuse_tensor *tensor(int rank, const int64_t *shape)
{
    lfuse_tensor *t;

    OK(lfuse_tensor_create(dev, LFUSE_F32, rank, shape, &t));
    return t;
}

lfuse_tensor *ramp(int rank, const int64_t *shape, float start, float step)
{
    lfuse_tensor *t = tensor(rank, shape);
    static float host[MOST];
    int64_t i;

    ck_assert_int_le(lfuse_tensor_elements(t), MOST);
    for (i = 0; i < lfuse_tensor_elements(t); i++) host[i] = start + step * (float)i;
    OK(lfuse_tensor_write(t, NULL, host));
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
    lfuse_plan_options o = { .disable = disable };
    lfuse_plan *plan;

    OK(lfuse_plan_create(dev, g, &o, &plan));
    return plan;
}
