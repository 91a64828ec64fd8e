/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every test program is started by: its suites are run by Check and reported in TAP on stdout.
 *
 *     static Suite *suite_error(void) { ... }
 *     TEST_MAIN(CK_FORK_GETENV, suite_error)
 *
 * Programs that open a device pass CK_NOFORK: drivers do not survive a fork. The others pass CK_FORK_GETENV, so that a
 * crash ends one test and CK_FORK=no helps a debugger.
 */
#ifndef TESTS_SUPPORT_MAIN_H
#define TESTS_SUPPORT_MAIN_H

#include <stdbool.h>

#include "tests/support/check.h"

typedef Suite *test_suite_maker(void);

/* 0 when nothing failed, or when TEST_HARNESS is set: a harness reads the report. `makers` ends with NULL. */
int test_main(enum fork_status fork_status, test_suite_maker *const *makers);

#define TEST_MAIN(fork_status, ...)                                                                                    \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        test_suite_maker *const makers[] = {__VA_ARGS__, NULL};                                                        \
        return test_main(fork_status, makers);                                                                         \
    }

/*
 * Leaves the running test function as skipped, visibly: its TAP line ends with "# SKIP" and the reason, a printf format
 * with its arguments. For use in the body of a test, not in a function that it calls.
 */
#define TEST_SKIP(...)                                                                                                 \
    do {                                                                                                               \
        test_skipped(__VA_ARGS__);                                                                                     \
        return;                                                                                                        \
    } while (0)

/*
 * LFUSE_TEST_ALL is set: what takes long and is proved elsewhere is not left out. A driver that takes a tenth of a
 * second for a kernel (facts.compiles_at_launch) is given some of many like kernels alone, which the stub has all of.
 */
int test_all(void);

/*
 * true: from here on PoCL compiles without the optimisation of LLVM, in a fifth of the time; false: as users have it.
 * Every program begins with true; the suites of kernels, cases and random graphs have some of each family as users have
 * them. Other drivers do not notice; with LFUSE_TEST_ALL nor does PoCL. No kernel may run meanwhile: this changes the
 * environment.
 */
void test_without_optimisation(bool without);

void test_skipped(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
