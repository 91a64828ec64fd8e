/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every test program is started by: Check runs its tests, and the report is TAP on stdout. Each is written once:
 *
 *     TEST_CASE("files", .setup = make_folder, .teardown = remove_folder)
 *
 *     TEST(a_file_that_is_not_there) { ... }
 *     TEST_LOOP(every_size, 0, SIZES) { ... _i ... }
 *
 *     TEST_SUITE("cache", CK_FORK_GETENV)
 *
 * Programs that open a device pass CK_NOFORK: drivers do not survive a fork. The others pass CK_FORK_GETENV, so that a
 * crash ends one test and CK_FORK=no helps a debugger. All tests of a program stand in one file.
 */
#ifndef TESTS_SUPPORT_MAIN_H
#define TESTS_SUPPORT_MAIN_H

#include "tests/support/check.h"

/* The tests below it, up to the next one. Every member but the name may be left out. */
typedef struct test_case {
    const char *name;
    void (*setup)(void), (*teardown)(void); /* run around each test, */
    void (*before)(void), (*after)(void);   /* once around all of them */
    int limit;                              /* seconds for a test that has a process of its own; 0: Check's few */
} test_case;

enum { TEST_NO_LIMIT = -1 };

#define TEST_CASE(...) TEST_REGISTER(__COUNTER__, .begins = {.name = __VA_ARGS__})
#define TEST(name) TEST_LOOP(name, 0, 1)
/* Runs with _i from `first` to below `end`, which are asked for when the program starts. */
#define TEST_LOOP(name, first, end)                                                                                    \
    static const TTest *name;                                                                                          \
    static void test_add_##name(TCase *tcase)                                                                          \
    {                                                                                                                  \
        tcase_add_loop_test(tcase, name, first, end);                                                                  \
    }                                                                                                                  \
    TEST_REGISTER(__COUNTER__, .add = test_add_##name)                                                                 \
    START_TEST(name)

/* A test whose body the program's own on_every_device calls for each device; with the parameters of that body. */
#define TEST_ON_DEVICES(name, ...)                                                                                     \
    static void on_a_device_##name(__VA_ARGS__);                                                                       \
    TEST(name)                                                                                                         \
    {                                                                                                                  \
        on_every_device(on_a_device_##name);                                                                           \
    }                                                                                                                  \
    static void on_a_device_##name(__VA_ARGS__)

/* What stands in the file of the tests: a case begins, or a test is added to it. */
typedef struct test_item {
    int place; /* in the file */
    test_case begins; /* of no name in front of a test */
    void (*add)(TCase *tcase);
    struct test_item *next;
} test_item;

#define TEST_REGISTER(place, ...) TEST_REGISTER_AT(place, __VA_ARGS__)
#define TEST_REGISTER_AT(at, ...)                                                                                      \
    __attribute__((constructor)) static void test_register_##at(void)                                                  \
    {                                                                                                                  \
        static test_item item = {.place = at, __VA_ARGS__};                                                            \
        test_register(&item);                                                                                          \
    }
void test_register(test_item *item);
Suite *test_suite(const char *name);

typedef Suite *test_suite_maker(void);

/* 0 when nothing failed, or when TEST_HARNESS is set: a harness reads the report. */
int test_main(enum fork_status fork_status, test_suite_maker *maker);

/* Of a suite that the function makes in Check's way, for cases that are rows of a table. */
#define TEST_MAIN(fork_status, maker)                                                                                  \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        return test_main(fork_status, maker);                                                                          \
    }
#define TEST_SUITE(name, fork_status)                                                                                  \
    static Suite *suite_of_all(void)                                                                                   \
    {                                                                                                                  \
        return test_suite(name);                                                                                       \
    }                                                                                                                  \
    TEST_MAIN(fork_status, suite_of_all)

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

/* For .before: nothing is found on disk. It has to come before the library reads its environment. */
void test_without_cache(void);

void test_skipped(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
