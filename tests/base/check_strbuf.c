/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/strbuf.h"

#include "tests/support/main.h"

TEST_CASE("strbuf")

TEST(empty_is_text)
{
    lfuse__strbuf b = LFUSE__STRBUF_INIT;

    ck_assert_str_eq(b.data, "");
    ck_assert_uint_eq(b.length, 0);
    lfuse__strbuf_add(&b, "");
    lfuse__strbuf_clear(&b);
    ck_assert_str_eq(b.data, "");
    OK(lfuse__strbuf_check(&b));
    lfuse__strbuf_free(&b);
}

TEST(appends_in_order)
{
    lfuse__strbuf b = LFUSE__STRBUF_INIT;

    lfuse__strbuf_add(&b, "one");
    lfuse__strbuf_format(&b, " %d %s", 2, "three");
    lfuse__strbuf_bytes(&b, "\0z", 2);
    ck_assert_uint_eq(b.length, 13);
    ck_assert_mem_eq(b.data, "one 2 three\0z", 14);
    lfuse__strbuf_free(&b);
    ck_assert_str_eq(b.data, "");
}

/* Every length up to a few growths: the NUL has room at each. */
TEST(grows_by_single_bytes)
{
    lfuse__strbuf b = LFUSE__STRBUF_INIT;

    for (size_t i = 0; i < 1000; i++) {
        lfuse__strbuf_format(&b, "%c", (int)('a' + i % 26));
        ck_assert_uint_eq(b.length, i + 1);
        ck_assert_uint_eq(strlen(b.data), i + 1);
        ck_assert_uint_gt(b.capacity, b.length);
    }
    for (size_t i = 0; i < 1000; i++) ck_assert_int_eq(b.data[i], (int)('a' + i % 26));
    lfuse__strbuf_free(&b);
}

TEST(clear_keeps_room)
{
    lfuse__strbuf b = LFUSE__STRBUF_INIT;

    lfuse__strbuf_add(&b, "something longer than nothing");
    size_t capacity = b.capacity;
    lfuse__strbuf_clear(&b);
    ck_assert_str_eq(b.data, "");
    ck_assert_uint_eq(b.capacity, capacity);
    lfuse__strbuf_add(&b, "again");
    ck_assert_str_eq(b.data, "again");
    lfuse__strbuf_free(&b);
}

/* A length that no memory can hold fails, stays failed, and leaves nothing behind. */
TEST(failure_is_sticky)
{
    lfuse__strbuf b = LFUSE__STRBUF_INIT;

    lfuse__strbuf_add(&b, "kept?");
    lfuse__strbuf_bytes(&b, "x", SIZE_MAX - 2);
    ck_assert(b.failed);
    ck_assert_uint_eq(b.length, 0);
    lfuse__strbuf_add(&b, "more");
    ck_assert_str_eq(b.data, "");
    ck_assert_int_eq(lfuse__strbuf_check(&b), LFUSE_ERR_MEMORY);
    ck_assert_str_ne(lfuse_last_error(), "");
    lfuse__strbuf_free(&b);
    ck_assert(!b.failed);
}

TEST_SUITE("strbuf", CK_FORK_GETENV)
