/* SPDX-License-Identifier: Apache-2.0 */
/* Events on the stub: the order that they make between streams, and the uses that have no meaning. */
#include "common/base/error.h"
#include "common/device/device.h"
#include "tests/stub/faults.h"
#include "tests/support/status.h"

static lfuse_device *dev;
static lfuse_stream *first, *second;
static lfuse_event *event;

/* Streams of the stub do their work late, so that only an event makes them wait for each other. */
static void setup(void)
{
    test_stub_begin();
    lfuse__stub.lazy = true;
    ck_ok(lfuse_device_open("stub:0", &dev));
    ck_ok(lfuse_stream_create(dev, &first));
    ck_ok(lfuse_stream_create(dev, &second));
    ck_ok(lfuse_event_create(dev, &event));
}

static void teardown(void)
{
    lfuse_event_destroy(event);
    lfuse_stream_destroy(second);
    lfuse_stream_destroy(first);
    lfuse_device_close(dev);
    test_stub_end();
}

static void check_says(const char *words)
{
    ck_assert_msg(strstr(lfuse_last_error(), words) != NULL, "%s", lfuse_last_error());
}

/* Every use of it is refused, and none reaches the driver: some drivers take an event without a record for done. */
static void check_never_recorded(lfuse_event *e)
{
    double us = -1;

    ck_refused(lfuse_event_wait(e, second), LFUSE_ERR_STATE);
    check_says("never recorded");
    ck_refused(lfuse_event_query(e), LFUSE_ERR_STATE);
    check_says("never recorded");
    ck_refused(lfuse_event_elapsed(e, event, &us), LFUSE_ERR_STATE);
    check_says("never recorded");
    ck_refused(lfuse_event_elapsed(event, e, &us), LFUSE_ERR_STATE);
    check_says("never recorded");
    ck_assert_double_eq(us, -1);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_event_wait), 0);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_event_query), 0);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_event_elapsed), 0);
}

TEST_CASE("event", .setup = setup, .teardown = teardown)

TEST(never_recorded)
{
    check_never_recorded(event);
}

/* Beside an event that was recorded, so that each of the two places of `elapsed` is the wrong one once. */
TEST(one_of_two_never_recorded)
{
    lfuse_event *other;

    ck_ok(lfuse_event_record(event, first));
    ck_ok(lfuse_event_create(dev, &other));
    check_never_recorded(other);
    lfuse_event_destroy(other);
}

TEST(a_record_that_fails_is_none)
{
    lfuse__stub_fail(LFUSE__STUB_event_record, 1, false, LFUSE_ERR_DEVICE);
    ck_refused(lfuse_event_record(event, first), LFUSE_ERR_DEVICE);
    lfuse__stub_no_failure();
    check_never_recorded(event);
    ck_ok(lfuse_event_record(event, first));
    ck_ok(lfuse_event_wait(event, second));
}

TEST(orders_streams)
{
    lfuse__range *range;
    uint32_t got = 0;

    ck_ok(lfuse__range_create(dev, sizeof got, &range));
    ck_ok(lfuse__fill(first, range, 0, 7, 4, 4));
    ck_ok(lfuse_event_record(event, first));
    ck_refused(lfuse_event_query(event), LFUSE_NOT_READY);
    ck_ok(lfuse_event_wait(event, second));
    ck_ok(lfuse__read(second, range, 0, &got, sizeof got));
    ck_ok(lfuse_stream_synchronize(second));
    ck_assert_uint_eq(got, 7);
    ck_ok(lfuse_event_query(event));
    lfuse__range_release(range);
}

TEST(of_another_device)
{
    lfuse_device *other_dev;
    lfuse_stream *other;
    lfuse_event *there;
    double us = -1;

    ck_ok(lfuse_device_open("stub:1", &other_dev));
    ck_ok(lfuse_stream_create(other_dev, &other));
    ck_ok(lfuse_event_create(other_dev, &there));
    ck_refused(lfuse_event_record(event, other), LFUSE_ERR_CONTEXT);
    ck_ok(lfuse_event_record(event, first));
    ck_refused(lfuse_event_wait(event, other), LFUSE_ERR_CONTEXT);
    check_says("the event is of device stub:0");
    ck_ok(lfuse_event_record(there, other));
    ck_refused(lfuse_event_elapsed(event, there, &us), LFUSE_ERR_CONTEXT);
    ck_assert_double_eq(us, -1);
    lfuse_event_destroy(there);
    lfuse_stream_destroy(other);
    lfuse_device_close(other_dev);
}

/* After each of the calls the stream is free for the next one. */
TEST(failures_leave_the_stream_usable)
{
    ck_ok(lfuse_event_record(event, first));
    lfuse__stub_fail(LFUSE__STUB_event_wait, 1, false, LFUSE_ERR_DEVICE);
    ck_refused(lfuse_event_wait(event, second), LFUSE_ERR_DEVICE);
    lfuse__stub_fail(LFUSE__STUB_event_record, 1, false, LFUSE_ERR_DEVICE);
    ck_refused(lfuse_event_record(event, second), LFUSE_ERR_DEVICE);
    lfuse__stub_no_failure();
    ck_ok(lfuse_event_wait(event, second));
    ck_ok(lfuse_event_record(event, second));
    ck_ok(lfuse_stream_synchronize(second));
}

TEST_SUITE("event", CK_NOFORK)
