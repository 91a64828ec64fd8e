/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of the waist's calls: at each the last that is taken and the first that is refused. */
#include "tests/device/rig.h"

static const char filling[] =
    "KERNEL(filling, 1, 3, PARAMS_2)\n"
    "{\n"
    "    memory y = BUFFER(0) + W(0);\n"
    "    for (u64 i = GROUP(); i < W(1); i += GROUPS()) STORE_f32(y, (i64)i, 1);\n"
    "}\n";

static lfuse__backend narrow; /* the stub, but for what it says of wrapped memory */
static uint64_t known_bytes;

static void mem_info(lfuse__bmem *mem, lfuse__mem_info *info)
{
    lfuse__stub_backend.mem_info(mem, info);
    if (known_bytes) info->bytes = known_bytes;
}

static void begin_narrow(void)
{
    test_stub_begin();
    known_bytes = 0;
    narrow = lfuse__stub_backend;
    narrow.mem_info = mem_info;
    lfuse__registry_extra(&narrow);
    open_device();
}

/* ---- launches ---- */

static unsigned local_bytes; /* dynamic local memory of the next launches */

static lfuse_status launch(lfuse__kernel *kernel, const lfuse__range *to, unsigned nwords, unsigned group,
                           uint64_t groups, bool resident)
{
    static uint64_t words[600];
    lfuse__bmem *buffers[] = { to->mem };
    const lfuse__launch_args args = { .groups = groups, .group = group, .local_bytes = local_bytes, .nbuffers = 1,
                                      .nwords = nwords, .buffers = buffers, .words = words, .resident = resident };

    words[0] = to->offset;
    words[1] = 4;
    return lfuse__launch(s, kernel, &args);
}

/* What is refused is refused by the waist, with its message, and not by a driver. */
static void check_refused(lfuse_status status)
{
    FAILS(LFUSE_ERR_UNSUPPORTED, status);
    ck_assert_msg(strncmp(lfuse_last_error(), "kernel filling: ", 16) == 0 && !strstr(lfuse_last_error(), "stub: "),
                  "%s", lfuse_last_error());
}

TEST_CASE("bounds", .teardown = end)

TEST(launches)
{
    begin();
    const lfuse__facts *facts = lfuse__device_facts(dev);
    unsigned most = facts->info.max_argument_bytes / 8 - 1; /* beside one buffer */
    lfuse__kernel *kernel = kernel_of(filling, "filling");
    lfuse__range *y = take(64);
    OK(launch(kernel, y, most, 1, 1, false));
    check_refused(launch(kernel, y, most + 1, 1, 1, false));
    OK(launch(kernel, y, 2, facts->info.max_group, 1, false));
    check_refused(launch(kernel, y, 2, facts->info.max_group + 1, 1, false));
    check_refused(launch(kernel, y, 2, 0, 1, false));
}

TEST(launches_with_dynamic_local_memory)
{
    test_stub_begin();
    lfuse__stub.dynamic_local_bytes = 4096;
    open_device();
    lfuse__kernel *kernel = kernel_of(filling, "filling");
    lfuse__range *y = take(64);
    local_bytes = 4096;
    OK(launch(kernel, y, 2, 1, 1, false));
    local_bytes = 4097;
    check_refused(launch(kernel, y, 2, 1, 1, false));
    SAYS(LFUSE_ERR_UNSUPPORTED, launch(kernel, y, 2, 1, 1, false), "4097 of dynamic local memory");
    local_bytes = 0;
}

TEST(resident_launches)
{
    test_stub_begin();
    lfuse__stub.resident_groups = 6;
    lfuse__stub.vector_lanes = false;
    open_device();
    lfuse__kernel *kernel = kernel_of(filling, "filling");
    lfuse__range *y = take(64);
    OK(launch(kernel, y, 2, 1, 6, true));
    check_refused(launch(kernel, y, 2, 1, 7, true));
    OK(launch(kernel, y, 2, 1, 7, false));
}

/* ---- products ---- */

/* Each leading dimension as small as the operand allows, and one smaller. */
TEST_LOOP(leading_dimensions, 0, 4)
{
    enum { M = 2, COLUMNS = 3, K = 5 };
    const bool ta = _i & 1, tb = _i & 2;
    const lfuse__gemm_desc tight = { .type = LFUSE_F32, .ta = ta, .tb = tb, .m = M, .n = COLUMNS, .k = K,
                                     .lda = ta ? M : K, .ldb = tb ? K : COLUMNS, .ldc = COLUMNS };
    lfuse__gemm_candidate c;
    int count;
    begin();
    OK(lfuse__gemm_candidates(dev, &tight, 1, &c, &count));
    for (int i = 0; i < 3; i++) {
        lfuse__gemm_desc d = tight;
        --*(i == 0 ? &d.lda : i == 1 ? &d.ldb : &d.ldc);
        FAILS(LFUSE_ERR_SHAPE, lfuse__gemm_candidates(dev, &d, 1, &c, &count));
    }
}

/* ---- ranges ---- */

TEST(ends_of_ranges)
{
    unsigned char host[64] = { 0 };
    begin();
    lfuse__range *x = take(32), *y = take(32);
    OK(lfuse__write(s, x, 0, host, 32));
    OK(lfuse__write(s, x, 31, host, 1));
    FAILS(LFUSE_ERR_INVALID, lfuse__write(s, x, 0, host, 33));
    FAILS(LFUSE_ERR_INVALID, lfuse__write(s, x, 32, host, 1));
    FAILS(LFUSE_ERR_INVALID, lfuse__write(s, x, UINT64_MAX, host, 2));
    FAILS(LFUSE_ERR_INVALID, lfuse__read(s, x, 1, host, 32));
    FAILS(LFUSE_ERR_INVALID, lfuse__fill(s, x, 1, 0, 1, 32));
    FAILS(LFUSE_ERR_INVALID, lfuse__copy(s, x, 1, y, 0, 32));
    FAILS(LFUSE_ERR_INVALID, lfuse__copy(s, x, 0, y, 1, 32));
    OK(lfuse__copy(s, x, 0, y, 0, 32));
    OK(lfuse_stream_synchronize(s));
}

/* Neighbours in one memory may be copied onto each other; one byte nearer they overlap. */
TEST(copies_of_neighbours)
{
    begin();
    lfuse__range *x = take(64);
    OK(lfuse__fill(s, x, 0, 0, 1, 64));
    OK(lfuse__copy(s, x, 16, x, 0, 16));
    OK(lfuse__copy(s, x, 0, x, 16, 16));
    FAILS(LFUSE_ERR_OVERLAP, lfuse__copy(s, x, 15, x, 0, 16));
    FAILS(LFUSE_ERR_OVERLAP, lfuse__copy(s, x, 0, x, 15, 16));
    OK(lfuse__copy(s, x, 8, x, 8, 16)); /* onto itself: nothing to do */
    OK(lfuse_stream_synchronize(s));
}

/* Without addresses two memories have the same offsets, which says nothing about where they are. */
TEST(copies_of_two_memories)
{
    uint32_t got = 0;
    test_stub_begin();
    lfuse__stub.addresses = false;
    lfuse__stub.memory_bytes = 64u << 20;
    open_device();
    lfuse__range *x = take(40u << 20), *y = take(20u << 20);
    ck_assert_ptr_ne(x->mem, y->mem);
    ck_assert_uint_eq(x->address, y->address);
    OK(lfuse__fill(s, x, 0, 7, 4, 64));
    OK(lfuse__fill(s, y, 0, 9, 4, 64));
    OK(lfuse__copy(s, y, 4, x, 0, 32));
    OK(lfuse__read(s, y, 32, &got, 4));
    OK(lfuse_stream_synchronize(s));
    ck_assert_uint_eq(got, 7);
}

/* A pattern is aligned in the memory, wherever the range begins in it. */
TEST(patterns_are_aligned_in_memory)
{
    begin();
    lfuse__range *x = take(64);
    lfuse__range part = *x;
    part.offset += 4, part.address += 4, part.bytes -= 4;
    OK(lfuse__fill(s, &part, 4, 0, 8, 16));
    FAILS(LFUSE_ERR_INVALID, lfuse__fill(s, &part, 0, 0, 8, 16));
    FAILS(LFUSE_ERR_INVALID, lfuse__fill(s, x, 0, 0, 8, 12));
    FAILS(LFUSE_ERR_INVALID, lfuse__fill(s, x, 0, 0, 3, 12));
    OK(lfuse_stream_synchronize(s));
}

/* Of what the driver knows of wrapped memory no byte more may be named. */
TEST(wrapped_sizes)
{
    static unsigned char mine[256];
    const uint64_t handle = (uint64_t)(uintptr_t)mine;
    lfuse__range *x = NULL;
    begin_narrow();
    known_bytes = 100;
    OK(lfuse__range_wrap(dev, LFUSE_MEMORY_NATIVE, handle, 100, &x));
    lfuse__range_release(x);
    OK(lfuse__range_wrap(dev, LFUSE_MEMORY_NATIVE, handle, 0, &x));
    ck_assert_uint_eq(x->bytes, 100);
    lfuse__range_release(x);
    x = NULL;
    FAILS(LFUSE_ERR_SHAPE, lfuse__range_wrap(dev, LFUSE_MEMORY_NATIVE, handle, 101, &x));
    ck_assert_ptr_null(x);
}

/* All of the device's memory is one allocation, if it says so. */
TEST(largest_allocation)
{
    const uint64_t most = 32u << 20;
    lfuse__range *x = NULL;
    test_stub_begin();
    lfuse__stub.memory_bytes = most;
    lfuse__stub.sparse_bytes = 1;
    open_device();
    FAILS(LFUSE_ERR_DEVICE_MEMORY, lfuse__range_create(dev, most + 1, &x));
    take(most);
}

TEST_SUITE("bounds", CK_NOFORK)
