/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists by each transport on every device found: the same bits, whatever the count and wherever the members lie, shared
 * memory among them, before and after members are replaced. Shared memory stays under 8 MB.
 */
#include "tests/support/main.h"
#include "tests/support/objects.h"

enum { ROOM = 1 << 17, MOST = 2000 };

static lfuse_device *dev;
static lfuse_stream *stream;
static float x[ROOM], y[ROOM], result[3][ROOM], sums[3][MOST + 1], seen[ROOM], seen_sums[MOST + 1];

static const lfuse_transport all[] = { LFUSE_TRANSPORT_TABLE, LFUSE_TRANSPORT_ARGS, LFUSE_TRANSPORT_UNIFIED };
static const int64_t counts[] = { 0, 1, 423, MOST };

static int64_t size_of(int64_t m)
{
    return m == 3 ? 1024 : m == 5 ? 17001 : m % 11 == 4 ? 0 : 1 + m * 7 % 61;
}

static int64_t start_of(int64_t member)
{
    int64_t at = 1;

    for (int64_t m = 0; m < member; m++) at += size_of(m);
    return at;
}

static lfuse_list *list_in(lfuse_tensor *whole, int64_t count, bool numbers)
{
    lfuse_tensor *t[MOST] = { NULL };
    int64_t at = 1;

    for (int64_t m = 0; m < count; m++) {
        const int64_t n = numbers ? 1 : size_of(m);
        t[m] = new_view(whole, numbers ? 0 : 1, &n, NULL, at);
        at += n;
    }
    ck_assert_int_le(at, numbers ? MOST + 1 : ROOM);
    lfuse_list *l = new_list(dev, LFUSE_F32, count, t);
    return l;
}

static lfuse_plan *plan_by(lfuse_transport transport)
{
    const lfuse_plan_options o = { .transport = transport };
    lfuse_graph *g = new_graph();
    const lfuse_value in = lfuse_list_input(g, "x", LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value out = lfuse_list_input(g, "y", LFUSE_F32, LFUSE_RANK_ANY);

    lfuse_update(out, lfuse_add(out, lfuse_mul(in, lfuse_scalar(g, "a"))));
    lfuse_output(g, "sums", lfuse_member_sum(lfuse_mul(in, in)));
    lfuse_plan *plan = new_plan(dev, g, &o);
    return plan;
}

/* Two members of x move to where other values are. */
static void move(lfuse_list *l, lfuse_tensor *elsewhere, int64_t count)
{
    for (int64_t m = 0; m < count; m += count > 200 ? 200 : 1) {
        const int64_t n = size_of(m);
        lfuse_tensor *t = new_view(elsewhere, 1, &n, NULL, start_of(m));
        OK(lfuse_list_replace(l, m, 1, &t));
        drop(t);
    }
}

/* Runs before and after members of x have moved. */
static void run(lfuse_plan *plan, lfuse_tensor *const *t, int64_t count, float *out, float *out_sums)
{
    lfuse_list *lx = list_in(t[0], count, false), *ly = list_in(t[1], count, false), *ls = list_in(t[3], count, true);

    OK(lfuse_tensor_write(t[0], stream, x));
    OK(lfuse_tensor_write(t[1], stream, y));
    OK(lfuse_tensor_fill(t[2], stream, 2.5));
    OK(lfuse_tensor_fill(t[3], stream, -1));
    for (int i = 0; i < 3; i++) {
        if (i == 2) move(lx, t[2], count);
        RUN(plan, stream, BIND("x", lx), BIND("y", ly), BIND("sums", ls), lfuse_bind_scalar("a", 0.3));
    }
    OK(lfuse_tensor_read(t[1], stream, out));
    OK(lfuse_tensor_read(t[3], stream, out_sums));
    OK(lfuse_stream_synchronize(stream));
}

static void check(int64_t count, const float *out, const float *out_sums)
{
    for (int64_t m = 0; m < count; m++) {
        const bool moved = m % (count > 200 ? 200 : 1) == 0;
        double sum = 0;
        for (int64_t i = start_of(m); i < start_of(m) + size_of(m); i++) {
            const double last = moved ? 2.5 : x[i], wanted = y[i] + 0.3 * (2.0 * x[i] + last);
            sum += last * last;
            ck_assert_msg(fabs(out[i] - wanted) < 1e-5 * (1 + fabs(wanted)), "%s: member %d, element %d: %g, not %g",
                          device_name, (int)m, (int)i, out[i], wanted);
        }
        ck_assert_msg(fabs(out_sums[1 + m] - sum) <= 1e-5 * sum, "%s: sum of member %d: %g, not %g", device_name,
                      (int)m, out_sums[1 + m], sum);
    }
}

static void try_device(bool shared)
{
    lfuse_tensor *t[4];

    const lfuse_device_info info = info_of(dev);
    if (shared && !info.svm) {
        ck_assert_int_eq(lfuse_tensor_create_unified(dev, LFUSE_F32, 0, NULL, &t[0]), LFUSE_ERR_UNSUPPORTED);
        return;
    }
    for (int i = 0; i < 4; i++) {
        const int64_t n = i == 3 ? MOST + 1 : ROOM;
        OK((shared && i < 2 ? lfuse_tensor_create_unified : lfuse_tensor_create)(dev, LFUSE_F32, 1, &n, &t[i]));
    }
    for (int k = 0; k < (int)(sizeof all / sizeof *all); k++) {
        lfuse_plan *plan = plan_by(all[k]);
        for (int i = 0; i < (int)(sizeof counts / sizeof *counts); i++) {
            if (all[k] == LFUSE_TRANSPORT_UNIFIED && !info.svm) continue;
            run(plan, t, counts[i], seen, seen_sums);
            if (!k) check(counts[i], seen, seen_sums);
            if (!k && i == 2) memcpy(result[0], seen, sizeof seen), memcpy(sums[0], seen_sums, sizeof seen_sums);
            if (!k && i == 3) memcpy(result[1], seen, sizeof seen), memcpy(sums[1], seen_sums, sizeof seen_sums);
            if (k && i > 1)
                ck_assert_msg(!memcmp(result[i - 2], seen, sizeof seen) &&
                              !memcmp(sums[i - 2], seen_sums, sizeof seen_sums),
                              "%s: other bits by transport %d, %d members", device_name, (int)all[k], (int)counts[i]);
        }
    }
    if (shared && info.svm_concurrent) {
        OK(lfuse_tensor_read(t[1], NULL, seen));
        ck_assert(!memcmp(lfuse_tensor_host(t[1]), seen, sizeof seen));
    }
}

TEST_CASE("transports")

TEST_LOOP(every_device, 0, 2)
{
    lfuse_device_info info;
    int count;

    OK(lfuse_device_count(&count));
    if (!count) TEST_SKIP("no device: %s", lfuse_last_error());
    for (int i = 0; i < ROOM; i++) x[i] = (float)(i % 97) / 7 - 5, y[i] = (float)(i % 13);
    for (int i = 0; i < count; i++) {
        OK(lfuse_device_describe(i, &info));
        snprintf(device_name, sizeof device_name, "%s", info.name);
        OK(lfuse_device_open(device_name, &dev));
        stream = new_stream(dev);
        try_device(_i);
        drop_all();
        lfuse_device_close(dev);
    }
}

TEST_SUITE("cases", CK_NOFORK)
