/* SPDX-License-Identifier: Apache-2.0 */
/* Events on the stub: the order that they make between streams, and the uses that have no meaning. */
#include "tests/device/rig.h"

static lfuse_stream *first, *second;
static lfuse_event *event;

/* Streams of the stub do their work late, so that only an event makes them wait for each other. */
static void setup(void)
{
    test_stub_begin();
    lfuse__stub.lazy = true;
    open_device();
    first = s;
    second = new_stream(dev);
    event = new_event(dev);
}

/* Every use of it is refused, and none reaches the driver: some drivers take an event without a record for done. */
static void check_never_recorded(lfuse_event *e)
{
    double us = -1;

    SAYS(LFUSE_ERR_STATE, lfuse_event_wait(e, second), "never recorded");
    SAYS(LFUSE_ERR_STATE, lfuse_event_query(e), "never recorded");
    SAYS(LFUSE_ERR_STATE, lfuse_event_elapsed(e, event, &us), "never recorded");
    SAYS(LFUSE_ERR_STATE, lfuse_event_elapsed(event, e, &us), "never recorded");
    ck_assert_double_eq(us, -1);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_event_wait), 0);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_event_query), 0);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_event_elapsed), 0);
}

TEST_CASE("event", .setup = setup, .teardown = end)

TEST(never_recorded)
{
    check_never_recorded(event);
}

/* Beside an event that was recorded, so that each of the two places of `elapsed` is the wrong one once. */
TEST(one_of_two_never_recorded)
{
    OK(lfuse_event_record(event, first));
    check_never_recorded(new_event(dev));
}

TEST(a_record_that_fails_is_none)
{
    lfuse__stub_fail(LFUSE__STUB_event_record, 1, false, LFUSE_ERR_DEVICE);
    FAILS(LFUSE_ERR_DEVICE, lfuse_event_record(event, first));
    lfuse__stub_no_failure();
    check_never_recorded(event);
    OK(lfuse_event_record(event, first));
    OK(lfuse_event_wait(event, second));
}

TEST(orders_streams)
{
    uint32_t got = 0;
    lfuse__range *range = take(sizeof got);

    OK(lfuse__fill(first, range, 0, 7, 4, 4));
    OK(lfuse_event_record(event, first));
    FAILS(LFUSE_NOT_READY, lfuse_event_query(event));
    OK(lfuse_event_wait(event, second));
    OK(lfuse__read(second, range, 0, &got, sizeof got));
    OK(lfuse_stream_synchronize(second));
    ck_assert_uint_eq(got, 7);
    OK(lfuse_event_query(event));
}

TEST(of_another_device)
{
    lfuse_device *other_dev = new_device("stub:1");
    lfuse_stream *other = new_stream(other_dev);
    lfuse_event *there = new_event(other_dev);
    double us = -1;

    FAILS(LFUSE_ERR_CONTEXT, lfuse_event_record(event, other));
    OK(lfuse_event_record(event, first));
    SAYS(LFUSE_ERR_CONTEXT, lfuse_event_wait(event, other), "the event is of device stub:0");
    OK(lfuse_event_record(there, other));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_event_elapsed(event, there, &us));
    ck_assert_double_eq(us, -1);
}

/* After each of the calls the stream is free for the next one. */
TEST(failures_leave_the_stream_usable)
{
    OK(lfuse_event_record(event, first));
    lfuse__stub_fail(LFUSE__STUB_event_wait, 1, false, LFUSE_ERR_DEVICE);
    FAILS(LFUSE_ERR_DEVICE, lfuse_event_wait(event, second));
    lfuse__stub_fail(LFUSE__STUB_event_record, 1, false, LFUSE_ERR_DEVICE);
    FAILS(LFUSE_ERR_DEVICE, lfuse_event_record(event, second));
    lfuse__stub_no_failure();
    OK(lfuse_event_wait(event, second));
    OK(lfuse_event_record(event, second));
    OK(lfuse_stream_synchronize(second));
}

TEST_SUITE("event", CK_NOFORK)
