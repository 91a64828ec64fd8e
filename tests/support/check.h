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

#define _mark_point(file, line) ((void)0)

/* The library's last message has these words. */
#define ck_says(words) ck_assert_msg(strstr(lfuse_last_error(), words), "%s", lfuse_last_error())

#endif
