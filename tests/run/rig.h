/* SPDX-License-Identifier: Apache-2.0 */
/* A stub device, a stream and an empty graph for each test of tests/run/, and tensors of simple contents. */
#ifndef TESTS_RUN_RIG_H
#define TESTS_RUN_RIG_H

#include <libfuse.h>

#include "common/device/device.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

/* So many launches make this one call. */
#define LAUNCHES(count, call)                                                                                          \
    do {                                                                                                               \
        const uint64_t launched_ = launches();                                                                         \
        call;                                                                                                          \
        ck_assert_uint_eq(launches() - launched_, count);                                                              \
    } while (0)
#define NEAR(a, b) ck_assert_msg(fabs((double)(a) - (double)(b)) <= 1e-5 * (1 + fabs((double)(b))), "%g is not %g",    \
                                 (double)(a), (double)(b))

extern lfuse_device *dev;
extern lfuse_stream *stream;
extern lfuse_graph *g;

/* An empty graph in place of what g is. */
void fresh_graph(void);
/* Fixtures; closing drops what is owned, and checks that nothing is left and that nobody wrote where he must not. */
void open_stub(void);
void close_stub(void);
/* For tests that changed the settings of the stub: the same without resetting them. */
void reopen_stub(void);
/* The same, and the graph stays. */
void reopen_device(void);
/* Kernels of work-items with addresses, or, where `form` is odd, of lanes with buffers; without a graph. */
void reopen_stub_as(int form);

/*
 * For tests that begin and end with the stub: the work on every device of this machine that LFUSE_TEST_DEVICE asks for,
 * each with a stream, without a graph. Returns how many there are.
 */
int on_each_device(void (*work)(void));
/* A test of them all, which is skipped where there is none. */
#define TEST_ON_MACHINE(name)                                                                                          \
    static void on_a_device_##name(void);                                                                              \
    TEST(name)                                                                                                         \
    {                                                                                                                  \
        if (!on_each_device(on_a_device_##name)) TEST_SKIP("no device on this machine");                               \
    }                                                                                                                  \
    static void on_a_device_##name(void)

uint64_t launches(void);
uint64_t compiles(void);
uint64_t programs(void); /* that were built, or loaded from disk */

/* Owned by the test, see tests/support/objects.h. */
lfuse_tensor *tensor(int rank, const int64_t *shape);
/* start, start + step ...; at most 2^16 elements, as of what follows. */
lfuse_tensor *ramp(int rank, const int64_t *shape, float start, float step);
/* Element k is element(k); of any number of elements. */
lfuse_tensor *filled_tensor(int rank, const int64_t *shape, float (*element)(int64_t k));
/* Contents after what the stream has to do; static. */
const float *values(const lfuse_tensor *t);
lfuse_plan *plan_with(unsigned disable);
lfuse_plan *plan_by(lfuse_provider provider, unsigned disable);

/* g becomes "y" = relu("x" "w" + "b"), the last two frozen, for any number of rows ("batch"). */
void dense_graph(void);
/* A run of it with so many rows is right, and has so many launches. */
#define ANY UINT64_MAX
void check_dense(lfuse_plan *plan, int64_t batch, uint64_t count);
/* A run of it over ones, on a stream of its own: for threads, which must not assert. */
bool run_dense(lfuse_plan *plan);

#endif
