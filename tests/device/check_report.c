/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels report of their data, and when a stream says so. */
#include "tests/device/rig.h"

/* Looks up W(1) ... W(1) + W(2) - 1 of ten; W(0) is the reports' offset, W(3) the reporter. */
static const char looking[] =
    "KERNEL(looking, 1, 4, PARAMS_1)\n"
    "{\n"
    "    memory reports = BUFFER(0) + W(0);\n"
    "    for (u64 i = GROUP(); i < W(2); i += GROUPS()) LOOK_UP((i64)(W(1) + i), 10, reports, W(3), i);\n"
    "}\n";

static lfuse__kernel *kernel;
static lfuse__reports *reports[2];
static int released;

static void describe(void *data, uint64_t reporter, lfuse__strbuf *text)
{
    lfuse__strbuf_format(text, "%s %d", (const char *)data, (int)reporter);
}

static void release(void *data)
{
    (void)data;
    released++;
}

static void setup(void)
{
    static char first[] = "first", second[] = "second";
    const lfuse__reports_owner owners[2] = {{first, describe, release}, {second, describe, release}};
    begin();
    released = 0;
    kernel = kernel_of(looking, "looking");
    for (int i = 0; i < 2; i++) OK(lfuse__reports_create(dev, &owners[i], &reports[i]));
}

static void teardown(void)
{
    for (int i = 0; i < 2; i++) lfuse__reports_release(reports[i]);
    lfuse_stream_destroy(s);
    s = NULL;
    ck_assert_int_eq(released, 2);
    end();
}

static lfuse_status look(lfuse_stream *on, int which, uint64_t from, uint64_t count, uint64_t reporter)
{
    const lfuse__range *range = lfuse__reports_range(reports[which]);
    lfuse__bmem *buffers[] = {range->mem};
    const uint64_t words[] = {range->offset, from, count, reporter};
    const lfuse__launch_args args = {.groups = 4, .group = 1, .nbuffers = 1, .nwords = 4, .buffers = buffers,
                                     .words = words};
    LFUSE__TRY(lfuse__stream_watch(on, reports[which]));
    return lfuse__launch(on, kernel, &args);
}

static void expect(lfuse_status status, const char *message)
{
    ck_assert_msg(status == LFUSE_ERR_INDEX, "%s: %s", lfuse_status_name(status), lfuse_last_error());
    ck_assert_str_eq(lfuse_last_error(), message);
}

TEST_CASE("stub", .setup = setup, .teardown = teardown)

TEST(first_one_wins)
{
    OK(look(s, 0, 0, 10, 3));
    OK(lfuse_stream_synchronize(s));
    OK(look(s, 1, 0, 10, 3));
    OK(look(s, 0, 7, 4, 5)); /* element 3 asks for 10 */
    OK(look(s, 0, (uint64_t)-1, 1, 6));
    OK(look(s, 1, (uint64_t)-2, 1, 7));
    expect(lfuse_stream_synchronize(s), "second 7: element 0 looks up index -2 of 10");
    OK(lfuse_stream_synchronize(s));
    OK(look(s, 0, 0, 10, 1)); /* what was not told is gone too */
    OK(look(s, 1, 0, 10, 1));
    OK(lfuse_stream_synchronize(s));
    OK(look(s, 0, 9, 2, 8));
    OK(look(s, 1, 9, 2, 9));
    expect(lfuse_stream_synchronize(s), "first 8: element 1 looks up index 10 of 10");
}

TEST(nothing_is_read_without_look_ups)
{
    const uint64_t reads = lfuse__stub_calls(LFUSE__STUB_read);
    OK(lfuse_stream_synchronize(s));
    OK(lfuse_stream_check(s));
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_read), reads);
    OK(look(s, 0, 0, 10, 3));
    OK(lfuse_stream_synchronize(s));
    OK(lfuse_stream_synchronize(s));
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_read), reads + 1);
}

TEST(asking_does_not_wait)
{
    lfuse_status status;
    lfuse__stub.lazy = true;
    lfuse_stream *lazy = new_stream(dev);
    OK(look(lazy, 0, 0, 10, 1));
    OK(look(lazy, 0, 5, 10, 2));
    OK(look(lazy, 1, 5, 10, 3));
    const uint64_t syncs = lfuse__stub_calls(LFUSE__STUB_stream_sync);
    int asked = 0;
    while ((status = lfuse_stream_check(lazy)) == LFUSE_NOT_READY) {
        ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_stream_sync), syncs);
        asked++;
    }
    ck_assert_int_ge(asked, 2);
    expect(status, "first 2: element 8 looks up index 13 of 10");
    OK(lfuse_stream_synchronize(lazy));
}

/* A stream that goes takes what it watches with it; another stream asks for itself. */
TEST(streams_apart)
{
    lfuse_stream *other = new_stream(dev);
    OK(look(other, 0, 10, 1, 1));
    OK(lfuse_stream_synchronize(s));
    OK(look(s, 1, 0, 1, 1));
    expect(lfuse_stream_synchronize(other), "first 1: element 0 looks up index 10 of 10");
    OK(look(other, 0, 10, 1, 1));
    drop(other);
    OK(lfuse_stream_synchronize(s));
}

/* What the caller captures runs whenever he likes: the stream asks from then on. */
TEST(captured)
{
    lfuse__stub_native native = {.capturing = true};
    lfuse_stream *wrapped;
    OK(lfuse_stream_wrap(dev, &native, &wrapped));
    OK(look(wrapped, 0, 9, 2, 4));
    native.capturing = false;
    OK(lfuse_stream_synchronize(wrapped));
    for (int turn = 0; turn < 2; turn++) {
        lfuse__stub_native_run(&native);
        expect(lfuse_stream_synchronize(wrapped), "first 4: element 1 looks up index 10 of 10");
        OK(lfuse_stream_check(wrapped));
    }
    lfuse_stream_destroy(wrapped);
    lfuse__stub_native_clear(&native);
}

TEST(failing_reads)
{
    OK(look(s, 0, 10, 1, 1));
    lfuse__stub_fail(LFUSE__STUB_read, 1, false, LFUSE_ERR_DEVICE);
    ck_assert_int_eq(lfuse_stream_synchronize(s), LFUSE_ERR_DEVICE);
    lfuse__stub_fail(LFUSE__STUB_fill, 1, false, LFUSE_ERR_DEVICE);
    ck_assert_int_eq(lfuse_stream_synchronize(s), LFUSE_ERR_DEVICE);
    expect(lfuse_stream_synchronize(s), "first 1: element 0 looks up index 10 of 10");
    OK(lfuse_stream_synchronize(s));
}

TEST_SUITE("reports", CK_NOFORK)
