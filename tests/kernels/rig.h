/* SPDX-License-Identifier: Apache-2.0 */
/* A device opened through its backend's slots alone, to run one kernel text after the other on host arrays. */
#ifndef TESTS_KERNELS_RIG_H
#define TESTS_KERNELS_RIG_H

#include "common/device/backend.h"
#include "common/kernels/families.h"
#include "common/matmul/problem.h"

typedef struct rig {
    const lfuse__backend *backend;
    lfuse__bdevice *dev;
    lfuse__bstream *stream;
    lfuse__facts facts;
    const char *before; /* text before the prelude, or NULL */
    bool edges;         /* of the stub: behind a buffer there is nothing, and who reads on ends the program */
} rig;

/* Memory of one launch; the same host pointer twice is the same memory. Read back when `out`. */
typedef struct rig_buffer {
    void *host;
    size_t bytes;
    bool out;
} rig_buffer;

/* These end the test program with the backend's words when they fail. */
void rig_open(rig *r, const lfuse__backend *backend, int device);
void rig_close(rig *r);
/* The program of `text`, with the prelude before it; frees the text. */
lfuse__bprogram *rig_program(rig *r, lfuse__strbuf *text);
void rig_launch(rig *r, lfuse__bprogram *program, const char *kernel, const lfuse__packed *packed, int count,
                const rig_buffer *buffers);
/* The same for any number of words; the buffers of `launch` are not read. */
void rig_launch_words(rig *r, lfuse__bprogram *program, const char *kernel, const lfuse__launch_args *launch, int count,
                      const rig_buffer *buffers);
/* Packs and launches one phase of a product, whose workspace is buffers[k->noperands]. */
lfuse_status rig_launch_product(rig *r, lfuse__bprogram *program, const char *kernel, const lfuse__kernel_class *k,
                                const lfuse__geometry *g, const rig_buffer *buffers);
/*
 * All phases of a run of a product over these operands, so many times. Its workspace goes behind them, where `buffers`
 * has room for one more; it holds NaN before the first launch but for the tickets, which are 0 before and after.
 * What the class keeps of an operand is prepared before.
 */
void rig_product(rig *r, const lfuse__kernel_class *k, const lfuse__geometry *g, rig_buffer *buffers, int times,
                 const char *what);
/* The same in two parts: a program of all phases, which the caller destroys, for several geometries. */
lfuse__bprogram *rig_product_program(rig *r, const lfuse__kernel_class *k, const char *what);
void rig_run_product(rig *r, lfuse__bprogram *program, const lfuse__kernel_class *k, const lfuse__geometry *g,
                     rig_buffer *buffers, int times, const char *what);

/*
 * Launches the phase of such a program that prepares what is kept of an operand, which is buffers[LFUSE__PRODUCT_SUM]
 * here and in rig_run_product; no other memory but the operand's is there.
 */
void rig_prepare_product(rig *r, lfuse__bprogram *program, const lfuse__kernel_class *k, const lfuse__geometry *g,
                         const rig_buffer *buffers, const char *what);

/* Host memory in which every byte is `byte`; the caller frees it. */
void *rig_memory(size_t bytes, int byte);

/*
 * Calls `use` for every device of every backend of this build whose name begins like LFUSE_TEST_DEVICE; returns how
 * many.
 */
int rig_every_device(void (*use)(rig *r));

#endif
