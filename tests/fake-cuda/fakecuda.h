/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA driver without a GPU: two devices in host memory, for driving the backend through its slots. Work is done at
 * once; kernels do nothing but are remembered. Reached through dlsym after dlopen of libcuda.so.1.
 *
 * FAKECUDA_FAIL=function:N:code (read at each call of fakecuda_reset): the N-th call of that function and all later
 * ones return the code.
 * A kernel is found when its name ends with _<buffers>_<words>, which says how its parameters are recorded.
 * FAKECUDA_QUICK=grid[:us:others], read at each use: kernels of any name are found, whose parameters are not recorded,
 * and events tell the time, by a clock that a launch of that grid (0: a product of the fake cuBLASLt) advances by `us`
 * (1 us), any other by `others` (10 us).
 */
#ifndef TESTS_FAKE_CUDA_FAKECUDA_H
#define TESTS_FAKE_CUDA_FAKECUDA_H

#include <stdint.h>

typedef struct fakecuda_launch {
    uint64_t launches;
    unsigned grid, block, shared, nbuffers, nwords;
    int overlap; /* programmatic stream serialization, as the launch's attribute says */
    int resident; /* cooperative: so too */
    uint64_t buffers[16], words[64];
    void *stream;
} fakecuda_launch;

/*
 * Takes the environment's FAKECUDA_FAIL, FAKECUDA_VERSION (13000), FAKECUDA_DEVICES (2), FAKECUDA_CAPABILITY (90) and
 * FAKECUDA_LACKS (a function that cuGetProcAddress does not find); counters start at 0.
 */
typedef void fakecuda_reset_function(void);
/* How often the function was called since the reset: "cuMemAlloc". */
typedef uint64_t fakecuda_calls_function(const char *function);
/* Contexts retained, memory, streams, events, modules and graphs that are alive. */
typedef int64_t fakecuda_live_function(void);
/* A launch of a grid by somebody else on the stream, or into its graph, takes its time. */
typedef void fakecuda_spend_function(void *stream, unsigned grid);
/* Whether memory that was allocated is there. */
typedef int fakecuda_is_allocated_function(const void *address);
typedef const fakecuda_launch *fakecuda_last_function(void);
/*
 * Kernel i of the graph that was launched last. A graph holds its kernels, whose launches then count like others;
 * copies and fills are done when they are captured.
 */
typedef const fakecuda_launch *fakecuda_replayed_function(unsigned i);

#endif
