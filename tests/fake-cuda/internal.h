/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the fake driver share: its objects and its state. The tests use one thread. */
#ifndef TESTS_FAKE_CUDA_INTERNAL_H
#define TESTS_FAKE_CUDA_INTERNAL_H

#include <cuda.h>
#include <cudaTypedefs.h>

#include "tests/fake-cuda/fakecuda.h"

enum { NODES = 64 };

struct CUctx_st { int device; };
struct CUstream_st { CUcontext context; CUstreamCaptureStatus capturing; CUgraph graph; };
struct CUevent_st { int recorded; double at; };
struct CUmod_st { char start[8]; };
struct CUfunc_st { unsigned nbuffers, nwords; };
/* Of a graph only its kernels, one behind the other. */
struct CUgraphNode_st { CUgraph graph; CUfunction function; fakecuda_launch launch; };
struct CUgraph_st { unsigned count; double us; struct CUgraphNode_st nodes[NODES]; };
struct CUgraphExec_st {
    CUgraph of;
    unsigned count;
    double us;
    CUfunction functions[NODES];
    fakecuda_launch launches[NODES];
};

/* Nobody else's symbols come in between. */
#pragma GCC visibility push(hidden)

extern CUcontext fake_current[16];
extern int fake_depth;
extern double fake_clock_us;
extern fakecuda_launch fake_last, fake_replayed[NODES];
extern int64_t fake_live;

/* fakecuda.c: counts a call, which may fail. */
CUresult fake_enter(const char *name);
/* streams.c */
int fake_is_default(CUstream s);
CUresult fake_destroy_graph(CUgraph graph);
/* programs.c: of a launch of the grid; without a clock none takes any. */
double fake_time_of(unsigned grid);

/* The driver's functions, with the prototypes that the backend expects. */
#define LFUSE__CU(name, version) __typeof__(*(PFN_cu##name##_v##version)0) fake_##name;
#include "backends/cuda/functions.def"

#pragma GCC visibility pop

#define ENTER(name)                                                                                                    \
    do {                                                                                                               \
        CUresult entered_ = fake_enter("cu" #name);                                                                    \
        if (entered_) return entered_;                                                                                 \
    } while (0)
#define NEED_CONTEXT()                                                                                                 \
    if (fake_depth == 0) return CUDA_ERROR_INVALID_CONTEXT

#endif
