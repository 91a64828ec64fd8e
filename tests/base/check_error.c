/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/error.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libfuse/types.h"
#include "libfuse/version.h"
#include "tests/support/main.h"

TEST_CASE("error")

TEST(names_and_texts)
{
    ck_assert_str_eq(lfuse_status_name(LFUSE_OK), "LFUSE_OK");
    ck_assert_str_eq(lfuse_status_name(LFUSE_ERR_SHAPE), "LFUSE_ERR_SHAPE");
    ck_assert_str_eq(lfuse_status_name(LFUSE_NOT_READY), "LFUSE_NOT_READY");
    ck_assert_str_eq(lfuse_status_name((lfuse_status)99), "LFUSE_?");
    ck_assert_str_eq(lfuse_status_text(LFUSE_ERR_MEMORY), "out of host memory");
    ck_assert_ptr_nonnull(lfuse_status_text((lfuse_status)99));
    ck_assert_str_eq(lfuse_type_name(LFUSE_BF16), "bf16");
    ck_assert_str_eq(lfuse_type_name(LFUSE_TYPE_NONE), "?");
    ck_assert_str_eq(lfuse_type_name((lfuse_type)77), "?");
    ck_assert_uint_eq(lfuse_type_size(LFUSE_F64), 8);
    ck_assert_uint_eq(lfuse_type_size(LFUSE_BOOL), 1);
    ck_assert_uint_eq(lfuse_type_size((lfuse_type)77), 0);
}

TEST(version_agrees)
{
    char text[32];

    ck_assert_int_eq(lfuse_version(), LFUSE_VERSION);
    snprintf(text, sizeof text, "%d.%d.%d", LFUSE_VERSION / 10000, LFUSE_VERSION / 100 % 100, LFUSE_VERSION % 100);
    ck_assert_str_eq(lfuse_version_string(), text);
}

TEST(message_and_prefix)
{
    ck_assert_str_eq(lfuse_last_error(), "");
    ck_assert_int_eq(lfuse__error(LFUSE_ERR_SHAPE, "extent %d is not %d", 3, 4), LFUSE_ERR_SHAPE);
    ck_assert_str_eq(lfuse_last_error(), "extent 3 is not 4");
    ck_assert_int_eq(lfuse__error_prefix(LFUSE_ERR_SHAPE, "step %d: ", 7), LFUSE_ERR_SHAPE);
    ck_assert_str_eq(lfuse_last_error(), "step 7: extent 3 is not 4");
    /* A message may be built from the one before. */
    lfuse__error(LFUSE_ERR_SHAPE, "[%s]", lfuse_last_error());
    ck_assert_str_eq(lfuse_last_error(), "[step 7: extent 3 is not 4]");
}

TEST(one_line)
{
    lfuse__error(LFUSE_ERR_COMPILE, "first\nsecond\tthird\r");
    ck_assert_str_eq(lfuse_last_error(), "first second third ");
}

TEST(too_long_is_cut)
{
    char text[2 * LFUSE__ERROR_SIZE];

    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    lfuse__error(LFUSE_ERR_IO, "%s", text);
    ck_assert_uint_eq(strlen(lfuse_last_error()), LFUSE__ERROR_SIZE - 1);
    lfuse__error_prefix(LFUSE_ERR_IO, "%s", text);
    ck_assert_uint_eq(strlen(lfuse_last_error()), LFUSE__ERROR_SIZE - 1);
    lfuse__error(LFUSE_ERR_IO, "%s", text);
    lfuse__error_prefix(LFUSE_ERR_IO, "step: ");
    ck_assert_uint_eq(strlen(lfuse_last_error()), LFUSE__ERROR_SIZE - 1);
    ck_assert_int_eq(strncmp(lfuse_last_error(), "step: xxx", 9), 0);
    lfuse__error(LFUSE_ERR_IO, "short");
    lfuse__error_prefix(LFUSE_ERR_IO, "step: ");
    ck_assert_str_eq(lfuse_last_error(), "step: short");
}

TEST(save_and_restore)
{
    lfuse__saved_error saved;

    lfuse__error(LFUSE_ERR_IO, "the caller's");
    lfuse__error_save(&saved);
    lfuse__error(LFUSE_ERR_UNSUPPORTED, "dealt with");
    lfuse__error_restore(&saved);
    ck_assert_str_eq(lfuse_last_error(), "the caller's");
}

static void *other_thread(void *seen)
{
    snprintf(seen, 64, "%s", lfuse_last_error());
    lfuse__error(LFUSE_ERR_IO, "the other thread's");
    return NULL;
}

TEST(threads_are_apart)
{
    char seen[64] = "?";
    pthread_t thread;

    lfuse__error(LFUSE_ERR_IO, "mine");
    ck_assert_int_eq(pthread_create(&thread, NULL, other_thread, seen), 0);
    pthread_join(thread, NULL);
    ck_assert_str_eq(seen, "");
    ck_assert_str_eq(lfuse_last_error(), "mine");
}

static int in_child(lfuse_status expected)
{
    int result = -1;
    pid_t child = fork();

    if (child == 0)
        _exit(lfuse__check_fork() == expected && lfuse__forked() == (expected != LFUSE_OK) ? 0 : 1);
    waitpid(child, &result, 0);
    return result;
}

/* A child is refused only where a driver may have been loaded before. */
TEST(fork_is_noticed)
{
    ck_assert_int_eq(in_child(LFUSE_OK), 0);
    OK(lfuse__fork_watch());
    OK(lfuse__fork_watch());
    ck_assert_int_eq(in_child(LFUSE_ERR_FORKED), 0);
    OK(lfuse__check_fork());
}

TEST_SUITE("error", CK_FORK)
