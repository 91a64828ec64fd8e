/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library promises beside right numbers, on every device found and on the stub: one plan for every batch size
 * without compiling, frozen inputs and their refresh, lists that equal loops over their members (D2), one plan on two
 * streams by two threads, recordings with new addresses and numbers, events across streams, copies between devices.
 */
#include <pthread.h>

#include "bench/data.h"
#include "common/device/device.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

enum { MOST_DEVICES = 16 };

static lfuse_device *devices[MOST_DEVICES];
static int ndevices;

static void open_devices(void)
{
    int count;
    lfuse_device_info info;
    lfuse__stub_reset();
    lfuse__registry_extra(&lfuse__stub_backend);
    OK(lfuse_device_count(&count));
    for (int i = 0; i < count && ndevices < MOST_DEVICES; i++) {
        OK(lfuse_device_describe(i, &info));
        OK(lfuse_device_open(info.name, &devices[ndevices++]));
    }
}

static void close_devices(void)
{
    while (ndevices) lfuse_device_close(devices[--ndevices]);
}

/* The body of a test, for one device. */
typedef void device_test(lfuse_device *device);

static void on_every_device(device_test *test)
{
    lfuse_device_info info;
    for (int i = 0; i < ndevices; i++) {
        OK(lfuse_device_get_info(devices[i], &info));
        snprintf(device_name, sizeof device_name, "%s", info.name);
        test(devices[i]);
        drop_all();
    }
}

static lfuse_tensor *tensor(lfuse_device *device, int rank, const int64_t *shape, const float *contents)
{
    lfuse_tensor *t = new_tensor(device, LFUSE_F32, rank, shape);
    if (contents) OK(lfuse_tensor_write(t, NULL, contents));
    return t;
}

static uint64_t compiles(lfuse_device *device)
{
    const lfuse_device_counters c = counters_of(device);
    return c.compiles;
}

static uint64_t launches(lfuse_device *device)
{
    const lfuse_device_counters c = counters_of(device);
    return c.launches;
}

static void expect(lfuse_tensor *t, int64_t count, const float *want)
{
    float *got = new_memory((size_t)count * sizeof *got);
    OK(lfuse_tensor_read(t, NULL, got));
    for (int64_t i = 0; i < count; i++)
        ck_assert_msg(!memcmp(&got[i], &want[i], sizeof *got), "%s: element %lld is %.9g instead of %.9g", device_name,
                      (long long)i, (double)got[i], (double)want[i]);
}

/* ---- one plan, any batch ---- */

enum { WIDTH = 20, MOST_ROWS = 360 };

TEST_CASE("every device", .before = open_devices, .after = close_devices)

TEST_ON_DEVICES(one_plan_any_batch, lfuse_device *device)
{
    static const int64_t batches[] = {1, 360, 7, 1, 128};
    static float x[MOST_ROWS * WIDTH], w[WIDTH * WIDTH], want[MOST_ROWS * WIDTH];
    lfuse_stream *s = new_stream(device);
    lfuse_graph *g = new_graph();
    lfuse_size batch = lfuse_size_var(g, "batch", 1, MOST_ROWS);
    lfuse_value v = lfuse_input(g, "x", F32(batch, WIDTH));
    lfuse_value m = lfuse_frozen(g, "w", F32(WIDTH, WIDTH));
    lfuse_output(g, "y", lfuse_relu(lfuse_matmul(v, m)));
    lfuse_plan *plan = new_plan(device, g, NULL);
    lfuse__data_integers(LFUSE_F32, x, MOST_ROWS * WIDTH, 3, 1);
    lfuse__data_integers(LFUSE_F32, w, WIDTH * WIDTH, 3, 2);
    for (int r = 0; r < MOST_ROWS; r++)
        for (int c = 0; c < WIDTH; c++) {
            float sum = 0;
            for (int k = 0; k < WIDTH; k++) sum += x[r * WIDTH + k] * w[k * WIDTH + c];
            want[r * WIDTH + c] = sum > 0 ? sum : 0;
        }
    lfuse_tensor *weights = tensor(device, SHAPE(WIDTH, WIDTH), w);
    uint64_t before = compiles(device);
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        lfuse_tensor *in = tensor(device, SHAPE(batches[i], WIDTH), x);
        lfuse_tensor *out = tensor(device, SHAPE(batches[i], WIDTH), NULL);
        RUN(plan, s, BIND("x", in), BIND("w", weights), BIND("y", out));
        OK(lfuse_stream_synchronize(s));
        expect(out, batches[i] * WIDTH, want);
    }
    ck_assert_uint_eq(compiles(device), before);
}

/* ---- frozen inputs ---- */

TEST_ON_DEVICES(frozen_and_refreshed, lfuse_device *device)
{
    const float w[4] = {1, 2, 3, 4}, x[4] = {10, 20, 30, 40}, second[4] = {5, 6, 7, 8};
    float want[4];
    lfuse_stream *s = new_stream(device);
    lfuse_graph *g = new_graph();
    lfuse_value f = lfuse_frozen(g, "w", F32(4));
    lfuse_value v = lfuse_input(g, "x", F32(4));
    lfuse_output(g, "y", lfuse_add(v, lfuse_mul(f, f)));
    lfuse_plan *plan = new_plan(device, g, NULL);
    lfuse_tensor *tw = tensor(device, SHAPE(4), w), *tx = tensor(device, SHAPE(4), x),
                 *ty = tensor(device, SHAPE(4), NULL);
    lfuse_binding b[3] = {BIND("w", tw), BIND("x", tx), BIND("y", ty)};
    lfuse_instance *instance = new_instance(plan, s, b, 3);
    OK(lfuse_instance_run(instance, b + 1, 2));
    OK(lfuse_stream_synchronize(s));
    for (int i = 0; i < 4; i++) want[i] = x[i] + w[i] * w[i];
    expect(ty, 4, want);
    OK(lfuse_tensor_write(tw, NULL, second));
    OK(lfuse_instance_run(instance, b + 1, 2)); /* what was prepared stays until it is refreshed */
    OK(lfuse_stream_synchronize(s));
    expect(ty, 4, want);
    OK(lfuse_instance_refresh(instance));
    OK(lfuse_instance_run(instance, b + 1, 2));
    OK(lfuse_stream_synchronize(s));
    for (int i = 0; i < 4; i++) want[i] = x[i] + second[i] * second[i];
    expect(ty, 4, want);
}

/* ---- lists equal loops ---- */

enum { MEMBERS = 40, LONGEST = 5000 };

typedef struct member_set {
    lfuse_tensor *in[MEMBERS], *out[MEMBERS], *sums[MEMBERS];
    int64_t elements[MEMBERS];
} member_set;

static void make_members(lfuse_device *device, member_set *m)
{
    static float host[LONGEST];
    for (int i = 0; i < MEMBERS; i++) {
        m->elements[i] = i % 7 == 3 ? 0 : (int64_t)(1 + i * i * 37) % LONGEST;
        lfuse__data_normal(LFUSE_F32, host, LONGEST, 1, (uint64_t)i);
        m->in[i] = tensor(device, 1, &m->elements[i], host);
        m->out[i] = tensor(device, 1, &m->elements[i], NULL);
        m->sums[i] = tensor(device, 0, NULL, NULL);
    }
}

static lfuse_plan *list_plan(lfuse_device *device)
{
    lfuse_graph *g = new_graph();
    lfuse_value x = lfuse_list_input(g, "x", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_value y = lfuse_tanh(lfuse_add(lfuse_mul(x, x), lfuse_constant(g, 0.25)));
    lfuse_output(g, "y", y);
    lfuse_output(g, "sum", lfuse_member_sum(x));
    lfuse_plan *plan = new_plan(device, g, NULL);
    return plan;
}

static void run_list(lfuse_device *device, lfuse_plan *plan, lfuse_stream *s, member_set *m, int first, int count)
{
    lfuse_list *x = new_list(device, LFUSE_F32, count, m->in + first);
    lfuse_list *y = new_list(device, LFUSE_F32, count, m->out + first);
    lfuse_list *sum = new_list(device, LFUSE_F32, count, m->sums + first);
    RUN(plan, s, BIND("x", x), BIND("y", y), BIND("sum", sum));
    OK(lfuse_stream_synchronize(s));
}

TEST_ON_DEVICES(lists_equal_loops, lfuse_device *device)
{
    static float one_by_one[LONGEST], together[LONGEST];
    member_set alone, all;
    lfuse_stream *s = new_stream(device);
    lfuse_plan *plan = list_plan(device);
    make_members(device, &alone);
    make_members(device, &all);
    for (int i = 0; i < MEMBERS; i++) run_list(device, plan, s, &alone, i, 1);
    run_list(device, plan, s, &all, 0, MEMBERS);
    run_list(device, plan, s, &all, 0, 0);
    for (int i = 0; i < MEMBERS; i++) {
        OK(lfuse_tensor_read(alone.out[i], NULL, one_by_one));
        OK(lfuse_tensor_read(all.out[i], NULL, together));
        ck_assert_msg(!memcmp(one_by_one, together, (size_t)alone.elements[i] * sizeof(float)),
                      "%s: member %d of the list has other bits than alone", device_name, i);
        OK(lfuse_tensor_read(alone.sums[i], NULL, one_by_one));
        OK(lfuse_tensor_read(all.sums[i], NULL, together));
        ck_assert_msg(!memcmp(one_by_one, together, sizeof(float)), "%s: sum %d has other bits than alone", device_name,
                      i);
    }
}

/* Gradients that move: new addresses for an old list, runs already submitted keep the old ones. */
TEST_ON_DEVICES(list_addresses_replaced, lfuse_device *device)
{
    const float p0[3] = {1, 2, 3}, g0[3] = {10, 20, 30}, g1[3] = {100, 200, 300};
    float want[3];
    lfuse_stream *s = new_stream(device);
    lfuse_graph *g = new_graph();
    lfuse_value vp = lfuse_list_input(g, "p", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_value vd = lfuse_list_input(g, "d", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_update(vp, lfuse_sub(vp, lfuse_mul(vd, lfuse_scalar(g, "rate"))));
    lfuse_plan *plan = new_plan(device, g, NULL);
    lfuse_tensor *tp = tensor(device, SHAPE(3), p0), *t0 = tensor(device, SHAPE(3), g0),
                 *t1 = tensor(device, SHAPE(3), g1);
    lfuse_list *p = new_list(device, LFUSE_F32, 1, &tp);
    lfuse_list *d = new_list(device, LFUSE_F32, 1, &t0);
    lfuse_binding b[3] = {BIND("p", p), BIND("d", d), lfuse_bind_scalar("rate", 0.5)};
    OK(lfuse_plan_run(plan, s, b, 3));
    OK(lfuse_list_replace(d, 0, 1, &t1));
    b[2] = lfuse_bind_scalar("rate", 0.25);
    uint64_t before = compiles(device);
    OK(lfuse_plan_run(plan, s, b, 3));
    OK(lfuse_stream_synchronize(s));
    ck_assert_uint_eq(compiles(device), before);
    for (int i = 0; i < 3; i++) want[i] = p0[i] - g0[i] * 0.5f - g1[i] * 0.25f;
    expect(tp, 3, want);
}

/* ---- two streams, two threads ---- */

typedef struct worker {
    pthread_t thread;
    lfuse_device *device;
    lfuse_plan *plan;
    float start;
    char failure[256];
} worker;

enum { ELEMENTS = 10000, ROUNDS = 30 };

static void *work(void *pointer)
{
    worker *w = pointer;
    float *host = malloc(ELEMENTS * sizeof *host);
    lfuse_stream *s = NULL;
    lfuse_tensor *x = NULL, *y = NULL;
    const int64_t shape[1] = {ELEMENTS};
    lfuse_status status = lfuse_stream_create(w->device, &s);
    if (!status) status = lfuse_tensor_create(w->device, LFUSE_F32, 1, shape, &x);
    if (!status) status = lfuse_tensor_create(w->device, LFUSE_F32, 1, shape, &y);
    for (int round = 0; round < ROUNDS && !status; round++) {
        for (int i = 0; i < ELEMENTS; i++) host[i] = w->start + (float)(i + round);
        status = lfuse_tensor_write(x, s, host);
        if (!status) status = lfuse_plan_run(w->plan, s, BINDINGS(BIND("x", x), BIND("y", y)));
        if (!status) status = lfuse_stream_synchronize(s);
        if (!status) status = lfuse_tensor_read(y, s, host);
        if (!status) status = lfuse_stream_synchronize(s);
        for (int i = 0; i < ELEMENTS && !status && !w->failure[0]; i++) {
            float want = 2 * (w->start + (float)(i + round));
            if (host[i] != want)
                snprintf(w->failure, sizeof w->failure, "round %d, element %d: %g instead of %g", round, i,
                         (double)host[i], (double)want);
        }
    }
    if (status) snprintf(w->failure, sizeof w->failure, "%s", lfuse_last_error());
    lfuse_tensor_destroy(x);
    lfuse_tensor_destroy(y);
    lfuse_stream_destroy(s);
    free(host);
    return NULL;
}

TEST_ON_DEVICES(two_streams_two_threads, lfuse_device *device)
{
    const int64_t shape[1] = {ELEMENTS};
    lfuse_graph *g = new_graph();
    worker workers[2] = {{.start = 1}, {.start = 5000}};
    lfuse_value x = lfuse_input(g, "x", LFUSE_F32, 1, shape);
    lfuse_output(g, "y", lfuse_add(x, x));
    lfuse_plan *plan = new_plan(device, g, NULL);
    for (int i = 0; i < 2; i++) {
        workers[i].device = device;
        workers[i].plan = plan;
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 2; i++) pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < 2; i++) ck_assert_msg(!workers[i].failure[0], "%s: %s", device_name, workers[i].failure);
}

/* ---- recordings ---- */

/* Two steps: h = x w (a product), y = h * scale + x (a kernel). */
TEST_ON_DEVICES(recorded_and_replayed, lfuse_device *device)
{
    static float x[64], w[64], want[64], want2[64];
    const lfuse_plan_options apart = {.disable = LFUSE_NO_EPILOGUE};
    lfuse_stream *s = new_stream(device), *t = new_stream(device);
    lfuse_graph *g = new_graph();
    lfuse_value vx = lfuse_input(g, "x", F32(8, 8)), vw = lfuse_input(g, "w", F32(8, 8));
    lfuse_output(g, "y", lfuse_add(lfuse_mul(lfuse_matmul(vx, vw), lfuse_scalar(g, "scale")), vx));
    lfuse_plan *plan = new_plan(device, g, &apart);
    lfuse__data_integers(LFUSE_F32, x, 64, 4, 3);
    lfuse__data_integers(LFUSE_F32, w, 64, 4, 4);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            float sum = 0, sum2 = 0;
            for (int k = 0; k < 8; k++) sum += x[8 * i + k] * w[8 * k + j], sum2 += w[8 * i + k] * w[8 * k + j];
            want[8 * i + j] = sum * 2 + x[8 * i + j];
            want2[8 * i + j] = sum2 * 0.5f + w[8 * i + j];
        }
    lfuse_tensor *tx = tensor(device, SHAPE(8, 8), x), *tw = tensor(device, SHAPE(8, 8), w),
                 *ty = tensor(device, SHAPE(8, 8), NULL), *tz = tensor(device, SHAPE(8, 8), NULL);
    OK(lfuse_record_begin(s));
    RUN(plan, s, BIND("x", tx), BIND("w", tw), BIND("y", ty), lfuse_bind_scalar("scale", 2));
    lfuse_recording *r = new_recording(s);
    OK(lfuse_tensor_fill(ty, NULL, -1));
    uint64_t before = launches(device);
    OK(lfuse_recording_replay(r, s, NULL, 0));
    OK(lfuse_stream_synchronize(s));
    ck_assert_uint_eq(launches(device) - before, 2);
    expect(ty, 64, want);
    OK(lfuse_recording_replay(r, s, BINDINGS(BIND("x", tw), lfuse_bind_scalar("scale", 0.5), BIND("y", tz))));
    OK(lfuse_stream_synchronize(s));
    expect(tz, 64, want2);
    expect(ty, 64, want); /* the old output is not touched any more */
    OK(lfuse_tensor_fill(tz, NULL, 0));
    for (int i = 0; i < 3; i++) OK(lfuse_recording_replay(r, i == 1 ? t : s, NULL, 0));
    OK(lfuse_stream_synchronize(t));
    OK(lfuse_stream_synchronize(s));
    expect(tz, 64, want2);
}

/* ---- order across streams, immediate calls, destruction under way ---- */

TEST_ON_DEVICES(order_across_streams, lfuse_device *device)
{
    enum { LONG = 1 << 20 };
    const int64_t shape[1] = {LONG};
    float *host = new_memory(LONG * sizeof *host);
    lfuse_stream *a = new_stream(device), *b = new_stream(device);
    lfuse_graph *g = new_graph();
    lfuse_value x = lfuse_input(g, "x", LFUSE_F32, 1, shape);
    lfuse_output(g, "y", lfuse_add(x, lfuse_constant(g, 1)));
    lfuse_plan *plan = new_plan(device, g, NULL);
    lfuse_event *event = new_event(device);
    lfuse_tensor *t[3];
    for (int i = 0; i < 3; i++) t[i] = tensor(device, 1, shape, NULL);
    OK(lfuse_tensor_fill(t[0], NULL, 40));
    RUN(plan, a, BIND("x", t[0]), BIND("y", t[1]));
    OK(lfuse_event_record(event, a));
    OK(lfuse_event_wait(event, b));
    RUN(plan, b, BIND("x", t[1]), BIND("y", t[2]));
    drop(t[0]); /* while runs may still use them */
    drop(t[1]);
    drop(plan);
    OK(lfuse_tensor_read(t[2], b, host));
    OK(lfuse_stream_synchronize(b));
    OK(lfuse_event_query(event));
    for (int i = 0; i < LONG; i++)
        ck_assert_msg(host[i] == 42, "%s: element %d is %g", device_name, i, (double)host[i]);
}

TEST_ON_DEVICES(immediate_calls, lfuse_device *device)
{
    const float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 2, 1, 0, 3}, nan[4] = {NAN, NAN, NAN, NAN};
    const float plain[4] = {5, 11, 14, 23};
    lfuse_stream *s = new_stream(device);
    lfuse_tensor *ta = tensor(device, SHAPE(2, 3), a), *tb = tensor(device, SHAPE(3, 2), b),
                 *tc = tensor(device, SHAPE(2, 2), nan);
    OK(lfuse_gemm(s, 0, 0, 1, ta, tb, 0, tc)); /* beta 0: the NaN in c is not read */
    OK(lfuse_stream_synchronize(s));
    expect(tc, 4, plain);
    OK(lfuse_gemm(s, 0, 0, 2, ta, tb, 2, tc));
    OK(lfuse_stream_synchronize(s));
    float want[4];
    for (int i = 0; i < 4; i++) want[i] = 4 * plain[i];
    expect(tc, 4, want);
    lfuse_graph *g = new_graph();
    lfuse_value x = lfuse_input(g, "x", F32(2, 2));
    lfuse_update(x, lfuse_add(lfuse_mul(x, lfuse_constant(g, 0.5)), lfuse_constant(g, 10)));
    lfuse_binding bind = BIND("x", tc);
    OK(lfuse_evaluate(s, g, &bind, 1));
    OK(lfuse_stream_synchronize(s));
    for (int i = 0; i < 4; i++) want[i] = 2 * plain[i] + 10;
    expect(tc, 4, want);
}

/* ---- between devices ---- */

TEST(copies_between_devices)
{
    static float host[1000], back[1000];
    lfuse__data_normal(LFUSE_F32, host, 1000, 1, 9);
    for (int i = 0; i < ndevices; i++) {
        for (int j = 0; j < ndevices; j++) {
            lfuse_tensor *from = tensor(devices[i], SHAPE(1000), host);
            lfuse_tensor *to = tensor(devices[j], SHAPE(1000), NULL);
            OK(lfuse_tensor_copy(to, from, NULL));
            OK(lfuse_tensor_read(to, NULL, back));
            ck_assert(!memcmp(host, back, sizeof host));
        }
    }
}

TEST(cuda_device_found)
{
    lfuse_device_info info;
    for (int i = 0; i < ndevices; i++) {
        OK(lfuse_device_get_info(devices[i], &info));
        if (!strcmp(info.backend, "cuda")) return;
    }
    TEST_SKIP("no CUDA device: nothing of this ran on one");
}

TEST_SUITE("spine", CK_NOFORK)
