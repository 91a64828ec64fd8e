/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/timer.h"

#include <pthread.h>
#include <stdatomic.h>

#include "tests/support/main.h"

static void *spin(void *pointer)
{
    atomic_int *stop = pointer;
    while (!atomic_load(stop)) {}
    return NULL;
}

TEST_CASE("timer")

TEST(an_idle_process_is_settled)
{
    const double start = bench_now_us();
    ck_assert(!bench_settle(1e6));
    ck_assert_double_ge(bench_now_us() - start, 9e3);
}

/* Other processes may deny the thread a core for a while, so it is asked for more than once. */
TEST(a_thread_that_spins_is_seen)
{
    atomic_int stop = 0;
    pthread_t thread;
    bool seen = false;
    ck_assert_int_eq(pthread_create(&thread, NULL, spin, &stop), 0);
    for (int i = 0; i < 100 && !seen; i++) seen = bench_settle(30e3);
    atomic_store(&stop, 1);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert(seen);
    ck_assert(!bench_settle(1e6));
}

TEST_SUITE("timer", CK_FORK_GETENV)
