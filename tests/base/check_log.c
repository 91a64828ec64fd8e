/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/log.h"

#include "tests/support/main.h"

static char last[8192];
static lfuse_log_level last_level;
static int calls;

static void take(void *context, lfuse_log_level level, const char *message)
{
    ck_assert_ptr_eq(context, last);
    snprintf(last, sizeof last, "%s", message);
    last_level = level;
    calls++;
}

TEST_CASE("log")

TEST(callback_gets_its_levels)
{
    lfuse_log_to(take, last, LFUSE_LOG_INFO);
    ck_assert(lfuse__log_on(LFUSE_LOG_INFO));
    ck_assert(!lfuse__log_on(LFUSE_LOG_DEBUG));
    ck_assert(!lfuse__log_on(LFUSE_LOG_NONE));
    lfuse__log(LFUSE_LOG_DEBUG, "not this");
    lfuse__log(LFUSE_LOG_WARN, "%d of %s", 2, "them");
    ck_assert_int_eq(calls, 1);
    ck_assert_int_eq(last_level, LFUSE_LOG_WARN);
    ck_assert_str_eq(last, "2 of them");
    lfuse_log_to(take, last, LFUSE_LOG_NONE);
    lfuse__log(LFUSE_LOG_ERROR, "nor this");
    ck_assert_int_eq(calls, 1);
}

TEST(long_messages_are_whole)
{
    char text[5000];

    memset(text, 'm', sizeof text);
    text[sizeof text - 1] = '\0';
    lfuse_log_to(take, last, LFUSE_LOG_DEBUG);
    lfuse__log(LFUSE_LOG_DEBUG, "<%s>", text);
    ck_assert_uint_eq(strlen(last), sizeof text + 1);
}

/* Around the size of the room that messages have without memory of their own. */
TEST(no_byte_is_lost)
{
    char text[1100];

    lfuse_log_to(take, last, LFUSE_LOG_DEBUG);
    for (size_t length = 1000; length < sizeof text; length++) {
        memset(text, 'm', length);
        text[length] = '\0';
        lfuse__log(LFUSE_LOG_DEBUG, "%s", text);
        ck_assert_uint_eq(strlen(last), length);
    }
}

TEST(level_of_environment)
{
    setenv("LFUSE_LOG", "info", 1);
    ck_assert(lfuse__log_on(LFUSE_LOG_INFO));
    ck_assert(!lfuse__log_on(LFUSE_LOG_DEBUG));
}

TEST(default_level)
{
    unsetenv("LFUSE_LOG");
    ck_assert(lfuse__log_on(LFUSE_LOG_WARN));
    ck_assert(!lfuse__log_on(LFUSE_LOG_INFO));
}

TEST_SUITE("log", CK_FORK)
