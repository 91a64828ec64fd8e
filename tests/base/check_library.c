/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "common/base/library.h"

#include <string.h>

#include "tests/support/main.h"

START_TEST(first_that_loads)
{
    static const char *const names[] = { "libno-such-library.so.9", "libm.so.6", "libc.so.6", NULL };
    lfuse__library *library = NULL;
    double (*root)(double);

    ck_assert_int_eq(lfuse__library_open(names, NULL, &library), LFUSE_OK);
    ck_assert_int_eq(lfuse__library_path(library)[0], '/');
    ck_assert_ptr_nonnull(strstr(lfuse__library_path(library), "libm"));
    *(void **)&root = lfuse__library_symbol(library, "sqrt");
    ck_assert_ptr_nonnull(root);
    ck_assert(root(9.0) == 3.0);
    ck_assert_ptr_null(lfuse__library_symbol(library, "no_such_symbol_anywhere"));
    lfuse__library_close(library);
    lfuse__library_close(NULL);
}
END_TEST

START_TEST(message_lists_attempts)
{
    static const char *const names[] = { "libno-such-library.so.9", "libno-such-library.so.8", NULL };
    static const char *const folders[] = { "relative/folder", "/no/such/folder", NULL };
    lfuse__library *library = NULL;

    ck_assert_int_eq(lfuse__library_open(names, folders, &library), LFUSE_ERR_LIBRARY);
    ck_assert_ptr_null(library);
    ck_assert_ptr_nonnull(strstr(lfuse_last_error(), "libno-such-library.so.9"));
    ck_assert_ptr_nonnull(strstr(lfuse_last_error(), "libno-such-library.so.8"));
    ck_assert_ptr_nonnull(strstr(lfuse_last_error(), "/no/such/folder/libno-such-library.so.8"));
    ck_assert_ptr_null(strstr(lfuse_last_error(), "relative/folder"));
}
END_TEST

static Suite *suite_library(void)
{
    Suite *s = suite_create("library");
    TCase *t = tcase_create("library");

    tcase_add_test(t, first_that_loads);
    tcase_add_test(t, message_lists_attempts);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(CK_FORK_GETENV, suite_library)
