/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the vendor's own calls do, without libfuse between: the baselines that the library is held to. One file for each
 * backend implements it, as a row of bench_natives.
 */
#ifndef BENCH_NATIVE_H
#define BENCH_NATIVE_H

#include "bench/bench.h"

typedef struct bench_native bench_native;

/*
 * A dense network by bare vendor calls: layers of x = relu(x w + b), buffers given as device tensors of one type: f32,
 * f16 or bf16, with sums of f32; with tf32 the products round operands of f32 to that. x is [batch, inner] and each w
 * [inner, width]: the same where there is more than one layer. Of one layer there may be `count` products in one call,
 * of matrices that follow each other in x, w and y, and turned operands, which are stored [inner, batch] and
 * [width, inner].
 */
typedef struct bench_dense_buffers {
    int layers;
    int64_t batch, inner, width;
    lfuse_tensor *const *w, *const *b; /* [layers]; b NULL: the products alone */
    lfuse_tensor *x, *scratch[2], *y;
    int64_t count; /* 0: one product, no batch */
    bool turn_x, turn_w, tf32;
} bench_dense_buffers;

typedef struct bench_native_kind {
    const char *backend;
    /* Prepares an empty kernel, launched by the driver's bare call on the device's stream. */
    lfuse_status (*create)(bench_device *d, bench_native **native);
    void (*destroy)(bench_native *native);
    lfuse_status (*empty)(bench_native *native);
    /*
     * The bare launch of a kernel that takes what ours take (two pointers and a block of four words) and does the same
     * work: adds 1 to 256 elements of f32 in memory of its own. NULL where there is none.
     */
    lfuse_status (*worker)(bench_native *native);
    /*
     * Each product with the fastest algorithm that the vendor's heuristic lists. ERR_UNSUPPORTED, ERR_LIBRARY: no
     * vendor library, or it has no such products.
     */
    lfuse_status (*dense_create)(bench_device *d, const bench_dense_buffers *buffers, void **dense);
    lfuse_status (*dense_run)(void *dense);
    void (*dense_destroy)(void *dense);
    /*
     * Enqueues on the device's stream a command that does nothing for about so many microseconds, and flushes: what is
     * enqueued meanwhile runs at the device's pace, not at the host's. NULL where native graphs do that.
     */
    lfuse_status (*hold_create)(bench_device *d, void **hold);
    lfuse_status (*hold)(void *hold, double us);
    void (*hold_destroy)(void *hold);
    /*
     * The vendor's own function of that name over `elements` numbers of f32 in all, which are the same few over and
     * over: they stay in the cores' caches, and the time is that of computing alone. Reads the first elements of x,
     * writes those of y. ERR_UNSUPPORTED: no such function, or too few elements. NULL where there are no such kernels.
     */
    lfuse_status (*resident_create)(bench_device *d, const char *function, int64_t elements, const lfuse_tensor *x,
                                    const lfuse_tensor *y, void **resident);
    lfuse_status (*resident_run)(void *resident);
    void (*resident_destroy)(void *resident);
    /*
     * So many launches of the empty kernel, recorded by the driver and enqueued by one call: what `empty` so many times
     * is beside. ERR_UNSUPPORTED: it has no such thing. NULL where native graphs are that.
     */
    lfuse_status (*buffer_create)(bench_device *d, int launches, void **buffer);
    lfuse_status (*buffer_run)(void *buffer);
    void (*buffer_destroy)(void *buffer);
} bench_native_kind;

#ifdef HAVE_CUDA
extern const bench_native_kind bench_native_cuda;
#endif
#ifdef HAVE_OPENCL
extern const bench_native_kind bench_native_opencl;
#endif

/* The row of the device's backend; ERR_UNSUPPORTED when there is none. */
lfuse_status bench_native_find(const bench_device *d, const bench_native_kind **kind);

#endif
