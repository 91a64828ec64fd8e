/* SPDX-License-Identifier: Apache-2.0 */
/* The suballocator and deferred release, on the stub with events that finish when the test says so. */
#include "tests/device/rig.h"

#define MIB ((uint64_t)1 << 20)

static lfuse__backend slow; /* the stub, but for its events */
static bool done;           /* the work of all streams */

static lfuse_status query(lfuse__bevent *e)
{
    lfuse_status status = lfuse__stub_backend.event_query(e);

    return status ? status : done ? LFUSE_OK : LFUSE_NOT_READY;
}

static void setup(void)
{
    test_stub_begin();
    lfuse__stub.sparse_bytes = 1; /* nothing here needs poison, and blocks are large */
    slow = lfuse__stub_backend;
    slow.event_query = query;
    lfuse__registry_extra(&slow);
    done = false;
    open_device();
}

static void teardown(void)
{
    done = true;
    end();
}

static void work(lfuse__range *range)
{
    OK(lfuse__fill(s, range, 0, 0, 1, 16));
}

static uint64_t allocations(void)
{
    return counters().allocations;
}

static uint64_t held(void)
{
    return counters().bytes;
}

/* ---- blocks ---- */

TEST_CASE("memory", .setup = setup, .teardown = teardown)

TEST(ranges_are_apart_and_aligned)
{
    enum { N = 200 };
    lfuse__range *r[N];

    for (int i = 0; i < N; i++) {
        r[i] = take((uint64_t)i * 37 + 1);
        ck_assert_uint_eq(r[i]->offset % 256, 0);
        ck_assert_uint_eq(r[i]->bytes, (uint64_t)i * 37 + 1);
        for (int j = 0; j < i; j++)
            ck_assert(r[j]->address + r[j]->bytes <= r[i]->address || r[i]->address + r[i]->bytes <= r[j]->address);
    }
    ck_assert_uint_eq(allocations(), 1);
}

TEST(neighbours_join)
{
    enum { N = 64 };
    lfuse__range *r[N];

    for (int i = 0; i < N; i++) r[i] = take(1000 * (uint64_t)(i + 1));
    uint64_t block = held();
    for (int i = 0; i < N; i++) give_back(r[i * 29 % N]);
    lfuse__range *all = take(block);
    ck_assert_uint_eq(all->offset, 0);
    ck_assert_uint_eq(allocations(), 1);
}

/* The tightest hole is taken, so that the large one stays. */
TEST(best_fit)
{
    lfuse__range *large = take(8192);
    take(256); /* walls, so that holes do not join */
    lfuse__range *small = take(1024);
    take(256);
    uint64_t address = small->address;
    give_back(large);
    give_back(small);
    lfuse__range *again = take(800);
    ck_assert_uint_eq(again->address, address);
}

/* What is over is cut off down to the least unit, and given to the next one. */
TEST(no_unit_is_wasted)
{
    lfuse__range *r = take(256);

    uint64_t block = held();
    give_back(r);
    r = take(block - 256);
    lfuse__range *rest = take(256);
    ck_assert_uint_eq(rest->offset, block - 256);
    ck_assert_uint_eq(allocations(), 1);
}

/* A block made for one large request goes when it is empty and another is needed; the others stay. */
TEST(large_blocks_are_given_back)
{
    lfuse__range *r = take(1000);
    const uint64_t standard = held();

    give_back(take(300 * MIB));
    ck_assert_uint_eq(held(), standard + 300 * MIB);
    give_back(r);
    r = take(400 * MIB);
    ck_assert_uint_eq(held(), standard + 400 * MIB);
}

TEST(large_requests_and_growth)
{
    lfuse__range *large = take(300 * MIB), *more[3];

    ck_assert_uint_eq(allocations(), 1);
    ck_assert_uint_eq(held(), 300 * MIB);
    for (int i = 0; i < 3; i++) more[i] = take(40 * MIB);
    ck_assert_uint_le(allocations(), 3);
    for (int i = 0; i < 3; i++) give_back(more[i]);
    give_back(large);
    large = take(280 * MIB);
    ck_assert_uint_le(allocations(), 3);
}

TEST(nothing_and_too_much)
{
    lfuse__range *none = take(0), *refused = NULL;

    ck_assert_uint_eq(none->bytes, 0);
    ck_assert_uint_eq(allocations(), 0);
    OK(lfuse__fill(s, none, 0, 0, 1, 0));
    ck_assert_int_eq(lfuse__fill(s, none, 0, 0, 1, 1), LFUSE_ERR_INVALID);
    give_back(none);
    ck_assert_int_eq(lfuse__range_create(dev, UINT64_MAX, &refused), LFUSE_ERR_OVERFLOW);
    SAYS(LFUSE_ERR_DEVICE_MEMORY, lfuse__range_create(dev, UINT64_MAX - 1000, &refused), "18446744073709550615");
    ck_assert_ptr_null(refused);
}

TEST(full_device)
{
    lfuse__range *refused = NULL;

    lfuse__stub.memory_bytes = 100 * MIB;
    lfuse__range *most = take(90 * MIB);
    ck_assert_int_eq(lfuse__range_create(dev, 20 * MIB, &refused), LFUSE_ERR_DEVICE_MEMORY);
    ck_assert_ptr_null(refused);
    ck_says("20971520 bytes");
    give_back(take(5 * MIB)); /* less than a block, and yet it fits */
    give_back(most);
    most = take(95 * MIB); /* the empty blocks are given back for it */
    ck_assert_uint_eq(held(), 95 * MIB);
}

/* ---- deferred release ---- */

TEST(idle_memory_is_reused)
{
    lfuse__range *r = take(1000);
    uint64_t address = r->address;

    give_back(r);
    r = take(1000);
    ck_assert_uint_eq(r->address, address);
    give_back(r);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_event_record), 0);
}

TEST(busy_memory_waits)
{
    lfuse__range *r = take(1000);
    uint64_t address = r->address;

    work(r);
    give_back(r);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_event_record), 1);
    lfuse__range *other = take(1000);
    ck_assert_uint_ne(other->address, address);
    done = true;
    r = take(1000);
    ck_assert_uint_eq(r->address, address);
}

TEST(synchronising_is_enough)
{
    lfuse__range *r = take(1000);
    uint64_t address = r->address;

    work(r);
    OK(lfuse_stream_synchronize(s));
    give_back(r);
    r = take(1000);
    ck_assert_uint_eq(r->address, address);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_event_record), 0);
}

/* A thousand releases behind the same work cost one event. */
TEST(one_fence_for_many)
{
    lfuse__range *r[1000];

    for (int i = 0; i < 1000; i++) r[i] = take(256);
    work(r[0]);
    for (int i = 0; i < 1000; i++) give_back(r[i]);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_event_record), 1);
}

/* Takes a range that must lie outside [address, address + bytes), and gives it back. */
static void take_elsewhere(uint64_t bytes, uint64_t address, uint64_t busy)
{
    lfuse__range *r = take(bytes);

    ck_assert_msg(r->address + r->bytes <= address || r->address >= address + busy,
                  "%u bytes of a range of %u are in use", (unsigned)bytes, (unsigned)busy);
}

/* What is released behind a fence needs a later one, and no byte of it is handed out before. */
TEST(fence_covers_what_was_before)
{
    lfuse__range *first = take(1000), *second = take(2000);
    const uint64_t address = second->address;

    take(100); /* a wall behind them */
    work(first);
    give_back(first);
    work(second);
    give_back(second);
    done = true;
    lfuse__range *probe = take(64); /* the first fence is seen done; the second is recorded */
    done = false;
    give_back(probe);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_event_record), 2);
    for (uint64_t bytes = 1; bytes <= 4096; bytes *= 2) take_elsewhere(bytes, address, 2000);
}

/* A fence that is done covers what was released before it was recorded, not what was released until it was asked. */
TEST(fence_of_an_earlier_release)
{
    lfuse__range *first = take(512), *second = take(512);
    const uint64_t addresses[] = { first->address, second->address };

    take(512); /* a wall behind them */
    work(first);
    give_back(first);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_event_record), 1);
    work(second);
    give_back(second);
    done = true;
    lfuse__range *again = take(512); /* reads the one fence there is */
    done = false;
    ck_assert_uint_eq(again->address, addresses[0]);
    take_elsewhere(512, addresses[1], 512);
}

TEST(destroyed_stream_still_counts)
{
    lfuse__range *r = take(1000);
    uint64_t address = r->address;

    work(r);
    lfuse_stream_destroy(s);
    s = NULL;
    give_back(r);
    lfuse__range *other = take(1000);
    ck_assert_uint_ne(other->address, address);
    done = true;
    r = take(1000);
    ck_assert_uint_eq(r->address, address);
}

/* Without a last fence nothing tells when the work of a destroyed stream has ended: it is waited for. */
TEST(destroyed_stream_without_a_fence)
{
    lfuse__range *r = take(1000);

    work(r);
    uint64_t syncs = lfuse__stub_calls(LFUSE__STUB_stream_sync);
    lfuse__stub_fail(LFUSE__STUB_event_record, 1, true, LFUSE_ERR_DEVICE);
    lfuse_stream_destroy(s);
    lfuse__stub_no_failure();
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_stream_sync), syncs + 1);
    s = NULL;
}

/* Asking for a stream that is not ready, or waiting in vain, does not finish its work. */
TEST(unfinished_stays_unfinished)
{
    lfuse__range *r = take(1000);
    const uint64_t address = r->address;

    work(r);
    lfuse__stub_fail(LFUSE__STUB_stream_query, 1, false, LFUSE_NOT_READY);
    ck_assert_int_eq(lfuse_stream_query(s), LFUSE_NOT_READY);
    lfuse__stub_fail(LFUSE__STUB_stream_sync, 1, false, LFUSE_ERR_DEVICE);
    ck_assert_int_eq(lfuse_stream_synchronize(s), LFUSE_ERR_DEVICE);
    lfuse__stub_no_failure();
    give_back(r);
    take_elsewhere(1000, address, 1000);
}

TEST(capturing_stream_is_left_alone)
{
    lfuse__stub_native native = { false, true, NULL };
    lfuse_stream *captured;
    lfuse__range *r = take(1000);
    uint64_t address = r->address;

    done = true;
    OK(lfuse_stream_wrap(dev, &native, &captured));
    OK(lfuse__fill(captured, r, 0, 0, 1, 16));
    give_back(r);
    lfuse__range *other = take(1000);
    ck_assert_uint_ne(other->address, address);
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_event_record), 0);
    native.capturing = false;
    lfuse__stub_native_clear(&native);
    give_back(other);
    other = take(1000);
    ck_assert_uint_ne(other->address, address); /* the graph may still be launched */
    OK(lfuse_stream_synchronize(captured));
    give_back(other);
    r = take(1000);
    ck_assert_uint_eq(r->address, address);
    give_back(r);
    lfuse_stream_destroy(captured);
}

TEST(foreign_memory_waits_too)
{
    static unsigned char mine[4096];
    lfuse__stub_live before, after;
    lfuse__range *r;

    lfuse__stub_live_get(&before);
    OK(lfuse__range_wrap(dev, LFUSE_MEMORY_NATIVE, (uint64_t)(uintptr_t)mine, sizeof mine, &r));
    ck_assert_uint_eq(r->address, (uint64_t)(uintptr_t)mine);
    work(r);
    give_back(r);
    lfuse__stub_live_get(&after);
    ck_assert_int_eq(after.memories, before.memories + 1);
    done = true;
    OK(lfuse_stream_synchronize(s));
    lfuse__stub_live_get(&after);
    ck_assert_int_eq(after.memories, before.memories);
}

TEST(unknown_foreign_size)
{
    static unsigned char mine[64];
    lfuse__range *r;

    OK(lfuse__range_wrap(dev, LFUSE_MEMORY_NATIVE, (uint64_t)(uintptr_t)mine, 0, &r));
    ck_assert(r->unknown);
    work(r);
    give_back(r);
    ck_assert_int_eq(lfuse__range_wrap(dev, LFUSE_MEMORY_NATIVE, 0, 0, &r), LFUSE_ERR_INVALID);
    ck_assert_int_eq(lfuse__range_wrap(dev, (lfuse_memory_kind)9, 8, 0, &r), LFUSE_ERR_INVALID);
}

/* Memory that only waits for its work is waited for, before an allocation fails. */
TEST(full_device_of_busy_memory)
{
    lfuse__stub.memory_bytes = 100 * MIB;
    lfuse__range *r = take(90 * MIB);
    work(r);
    give_back(r);
    done = true;
    r = take(95 * MIB);
}

/* Work of a lost device never finishes; closing does not wait for it. */
TEST(lost_device_closes)
{
    lfuse__range *r = take(1000);

    work(r);
    give_back(r);
    lfuse__stub_fail(LFUSE__STUB_stream_sync, 1, true, LFUSE_ERR_DEVICE_LOST);
    ck_assert_int_eq(lfuse_stream_synchronize(s), LFUSE_ERR_DEVICE_LOST);
    lfuse__stub_no_failure();
    ck_assert_int_eq(lfuse_stream_synchronize(s), LFUSE_ERR_DEVICE_LOST);
    ck_assert_int_eq(lfuse__range_create(dev, 10, &r), LFUSE_ERR_DEVICE_LOST);
    lfuse_stream_destroy(s);
    lfuse_device_close(dev);
    ck_assert_int_eq(lfuse__stub_live_objects(), 0);
    s = NULL;
    dev = NULL;
}

/* An error of the driver is asked about: a sticky one marks the device lost. */
TEST(sticky_error)
{
    lfuse__stub.lost = true;
    lfuse__stub_fail(LFUSE__STUB_stream_sync, 1, false, LFUSE_ERR_DEVICE);
    ck_assert_int_eq(lfuse_stream_synchronize(s), LFUSE_ERR_DEVICE_LOST);
    SAYS(LFUSE_ERR_DEVICE_LOST, lfuse_stream_synchronize(s), "stub:0");
}

TEST(objects_outlive_the_handle)
{
    lfuse__range *r = take(1000), *none = NULL;
    lfuse_device_counters c;

    lfuse_device_close(dev);
    ck_assert_int_eq(lfuse_device_get_counters(dev, &c), LFUSE_ERR_CLOSED);
    ck_assert_int_eq(lfuse__fill(s, r, 0, 0, 1, 16), LFUSE_ERR_CLOSED);
    ck_assert_int_eq(lfuse__range_create(dev, 10, &none), LFUSE_ERR_CLOSED);
    give_back(r);
    ck_assert_int_gt(lfuse__stub_live_objects(), 0);
    lfuse_stream_destroy(s);
    ck_assert_int_eq(lfuse__stub_live_objects(), 0);
    s = NULL;
    dev = NULL;
}

TEST(scratch_grows)
{
    OK(lfuse__stream_reserve(s, 1000));
    lfuse__range *first = lfuse__stream_scratch(s);
    OK(lfuse__stream_reserve(s, 500));
    ck_assert_ptr_eq(lfuse__stream_scratch(s), first);
    work(first);
    OK(lfuse__stream_reserve(s, 5000));
    ck_assert_ptr_ne(lfuse__stream_scratch(s), first);
    ck_assert_uint_ge(lfuse__stream_scratch(s)->bytes, 5000);
}

TEST_SUITE("memory", CK_NOFORK)
