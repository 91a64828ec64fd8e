/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check, without its note of each assertion that holds: it writes the place to a file, which took four fifths of the
 * time of programs that compare elements one by one. A test that crashes is then known by its name alone. What most
 * tests use of libc comes with it.
 */
#ifndef TESTS_SUPPORT_CHECK_H
#define TESTS_SUPPORT_CHECK_H

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfuse/status.h"
#include "tests/support/shape.h"

#define _mark_point(file, line) ((void)0)

/* The device that the test is at, for what fails: of tests that go over devices. */
extern char device_name[32];
const char *test_at(void); /* "" or its name and ": " */

/* Calls of the library: one that succeeds, one that fails with this status and says why. */
#define OK(call)                                                                                                       \
    do {                                                                                                               \
        const lfuse_status ok_ = (call);                                                                               \
        ck_assert_msg(!ok_, "%s%s: %s: %s", test_at(), #call, lfuse_status_name(ok_), lfuse_last_error());             \
    } while (0)
#define FAILS(status, call)                                                                                            \
    do {                                                                                                               \
        const lfuse_status got_ = (call), wanted_ = (status);                                                          \
        ck_assert_msg(got_ == wanted_, "%s%s: %s instead of %s: %s", test_at(), #call, lfuse_status_name(got_),        \
                      lfuse_status_name(wanted_), lfuse_last_error());                                                 \
        ck_assert_msg(strlen(lfuse_last_error()) > 8, "%s%s: no message", test_at(), #call);                           \
    } while (0)

/* It fails with this status, and its message has these words. */
#define SAYS(status, call, words)                                                                                      \
    do {                                                                                                               \
        FAILS(status, call);                                                                                           \
        ck_assert_msg(strstr(lfuse_last_error(), words), "%s%s: \"%s\" lacks \"%s\"", test_at(), #call,                \
                      lfuse_last_error(), words);                                                                      \
    } while (0)

/* The library's last message has these words. */
#define ck_says(words) ck_assert_msg(strstr(lfuse_last_error(), words), "%s", lfuse_last_error())

#endif
