/* SPDX-License-Identifier: Apache-2.0 */
/* Who has sustained times, and how often they run variants, on the stub: it tells 1 us for each command. */
#include <math.h>

#include "bench/bench.h"
#include "common/device/device.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

static lfuse_tensor *tensor;
static bench_device d;
static lfuse_event *first, *second;

static lfuse_status run(void *state, int set)
{
    const float one = 1;
    ck_assert_int_eq(set, 0);
    ++*(int *)state;
    return lfuse_tensor_fill(tensor, d.stream, one);
}

static void open_stub(void)
{
    lfuse__stub_reset();
    lfuse__registry_extra(&lfuse__stub_backend);
    lfuse_device *device = new_device("stub:0");
    d = (bench_device){.dev = device, .stream = new_stream(device), .info.kind = LFUSE_DEVICE_GPU};
    tensor = new_tensor(device, TYPED(LFUSE_F32, 16));
    OK(lfuse_event_create(device, &first));
    OK(lfuse_event_create(device, &second));
}

static void close_stub(void)
{
    lfuse_event_destroy(first);
    lfuse_event_destroy(second);
    drop_all();
}

TEST_CASE("sustained", .setup = open_stub, .teardown = close_stub)

TEST(who_has_them)
{
    const bench_variant large = {.flops = 2e10}, small = {.flops = 2e9};
    ck_assert(bench_has_sustained(&d, &large, 30));
    ck_assert(!bench_has_sustained(&d, &small, 30));
    ck_assert(!bench_has_sustained(&d, &large, 0)); /* a timer that is too coarse: as many runs as one likes */
    ck_assert(!bench_has_sustained(&d, &large, -1));
    ck_assert(!bench_has_sustained(&d, &large, (double)NAN));
    d.info.kind = LFUSE_DEVICE_CPU;
    ck_assert(!bench_has_sustained(&d, &large, 30));
}

/* Microseconds of a run; runs of a turn, those that are not timed and those that are; turns, and turns of --quick. */
TEST(how_often_variants_run)
{
    static const struct { double run_us; int runs, turns, quick; } all[] = {
        {3e3, 21 + 7, 9, 5}, {7e3, 9 + 3, 9, 5}, {79e3, 2, 9, 5}, {81e3, 2, 3, 3}, {7e6, 2, 3, 3}};
    enum { COUNT = sizeof all / sizeof *all };
    for (int quick = 0; quick < 2; quick++) {
        int runs[COUNT] = {0};
        bench_variant variants[COUNT];
        bench_sustained s[COUNT];
        d.quick = quick;
        for (int i = 0; i < COUNT; i++) {
            variants[i] = (bench_variant){.run = run, .state = &runs[i]};
            s[i] = (bench_sustained){.variant = &variants[i], .run_us = all[i].run_us};
        }
        OK(bench_measure_sustained(&d, s, COUNT, first, second));
        for (int i = 0; i < COUNT; i++) {
            const int turns = quick ? all[i].quick : all[i].turns;
            ck_assert_int_eq(s[i].turns, turns);
            ck_assert_int_eq(runs[i], turns * all[i].runs);
            for (int t = 0; t < turns; t++) ck_assert(s[i].us[t] >= 1 && s[i].us[t] < 3);
        }
    }
    OK(bench_measure_sustained(&d, NULL, 0, first, second));
}

TEST_SUITE("sustained times", CK_NOFORK)
