/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stub/faults.h"

#include "common/device/device.h"
#include "libfuse/log.h"
#include "tests/support/check.h"

enum { MOST_CALLS = 100000 };

/* The library warns of what the failures make of a device; the tests look at statuses. */
static void swallow(void *context, lfuse_log_level level, const char *message)
{
    (void)context;
    (void)level;
    (void)message;
}

/* What a test that failed before has left. */
static lfuse__stub_live left;

void test_stub_begin(void)
{
    lfuse_log_to(swallow, NULL, LFUSE_LOG_WARN);
    lfuse__stub_reset();
    lfuse__registry_extra(&lfuse__stub_backend);
    lfuse__stub_live_get(&left);
}

void test_stub_end(void)
{
    lfuse__stub_live live;
    lfuse__registry_extra(NULL);
    const lfuse__stub_counters counters = lfuse__stub_counters_now();
    lfuse__stub_live_get(&live);
    ck_assert_int_eq(live.devices, left.devices);
    ck_assert_int_eq(live.memories, left.memories);
    ck_assert_int_eq(live.streams, left.streams);
    ck_assert_int_eq(live.events, left.events);
    ck_assert_int_eq(live.programs, left.programs);
    ck_assert_int_eq(live.kernels, left.kernels);
    ck_assert_int_eq(live.gemms, left.gemms);
    ck_assert_int_eq(live.graphs, left.graphs);
    ck_assert_uint_eq(live.bytes, left.bytes);
    ck_assert_uint_eq(counters.guard_faults, 0);
    ck_assert_uint_eq(counters.misuse, 0);
}

static void begin(void (*settings)(void))
{
    test_stub_begin();
    if (settings) settings();
}

static void check_status(lfuse_status got, lfuse_status injected, lfuse_status other, bool fired, uint64_t n,
                         bool persistent)
{
    if (got == LFUSE_OK) return;
    ck_assert_msg(fired, "%s without a failure: %s", lfuse_status_name(got), lfuse_last_error());
    ck_assert_msg(got == injected || got == other, "call %llu failing %s: %s instead of %s: %s", (unsigned long long)n,
                  persistent ? "for ever" : "once", lfuse_status_name(got), lfuse_status_name(injected),
                  lfuse_last_error());
    ck_assert_msg(lfuse_last_error()[0] != '\0', "no message");
}

static void succeed(test_scenario *scenario, lfuse_device *device, uint64_t n, bool persistent)
{
    lfuse_status status = scenario(device);
    ck_assert_msg(status == LFUSE_OK, "after call %llu failed %s: %s: %s", (unsigned long long)n,
                  persistent ? "for ever" : "once", lfuse_status_name(status), lfuse_last_error());
}

static lfuse_device *open_stub(void)
{
    lfuse_device *device = NULL;
    lfuse_status status = lfuse_device_open("stub:0", &device);
    ck_assert_msg(status == LFUSE_OK, "stub:0: %s", lfuse_last_error());
    return device;
}

/* One turn; false when nothing was left to fail. */
static bool turn(test_scenario *scenario, lfuse_status status, void (*settings)(void), uint64_t n, bool persistent)
{
    begin(settings);
    lfuse_device *device = open_stub();
    lfuse__stub_fail(LFUSE__STUB_ANY, n, persistent, status);
    lfuse_status got = scenario(device);
    bool fired = lfuse__stub_fired();
    lfuse__stub_no_failure();
    check_status(got, status, status, fired, n, persistent);
    succeed(scenario, device, n, persistent);
    lfuse_device_close(device);
    test_stub_end();
    return fired;
}

static bool turn_from_open(test_scenario *scenario, lfuse_status status, void (*settings)(void), uint64_t n,
                           bool persistent)
{
    lfuse_device *device = NULL;
    begin(settings);
    lfuse__stub_fail(LFUSE__STUB_ANY, n, persistent, status);
    lfuse_status got = lfuse_device_open("stub:0", &device);
    if (got == LFUSE_OK) got = scenario(device);
    lfuse_device_close(device);
    bool fired = lfuse__stub_fired();
    lfuse__stub_no_failure();
    /* A backend that cannot enumerate has no device. */
    check_status(got, status, LFUSE_ERR_NO_DEVICE, fired, n, persistent);
    test_stub_end();
    return fired;
}

static void loop(bool (*one)(test_scenario *, lfuse_status, void (*)(void), uint64_t, bool), test_scenario *scenario,
                 lfuse_status status, void (*settings)(void))
{
    for (int persistent = 0; persistent <= 1; persistent++) {
        uint64_t n = 1;
        while (n < MOST_CALLS && one(scenario, status, settings, n, persistent)) n++;
        ck_assert_uint_gt(n, 1);
        ck_assert_uint_lt(n, MOST_CALLS);
    }
}

void test_faults(test_scenario *scenario, lfuse_status status, void (*settings)(void))
{
    loop(turn, scenario, status, settings);
}

void test_faults_from_open(test_scenario *scenario, lfuse_status status, void (*settings)(void))
{
    loop(turn_from_open, scenario, status, settings);
}
