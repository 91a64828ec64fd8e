/* SPDX-License-Identifier: Apache-2.0 */
/* Which of CLBlast's two ways a product goes, for gemm.c. */
#ifndef BACKENDS_OPENCL_GEMM_PATHS_H
#define BACKENDS_OPENCL_GEMM_PATHS_H

#include "backends/opencl/internal.h"

typedef enum lfuse__cl_path { LFUSE__CL_DIRECT, LFUSE__CL_INDIRECT } lfuse__cl_path;

/* Of one device and precision, as CLBlast keeps it: for the whole process. */
typedef struct lfuse__cl_threshold {
    struct lfuse__cl_threshold *next;
    cl_device_id id;
    CLBlastPrecision precision;
    bool known;
    size_t own; /* what CLBlast had when it was first asked */
    size_t now; /* read and set under gemm.c's lock */
} lfuse__cl_threshold;

/* NULL: this CLBlast does not let its caller choose. Any thread. */
lfuse_status lfuse__cl_threshold_find(lfuse__bdevice *dev, lfuse_type type, lfuse__cl_threshold **threshold);
/* Which way CLBlast goes by itself. */
lfuse__cl_path lfuse__cl_path_own(const lfuse__cl_threshold *t, const lfuse__gemm_desc *desc);
/* The value that sends the product that way. */
size_t lfuse__cl_path_threshold(const lfuse__cl_threshold *t, const lfuse__gemm_desc *desc, lfuse__cl_path path);
/* While no product is being submitted. About 0.3 ms where it changes something. */
CLBlastStatusCode lfuse__cl_threshold_set(lfuse__cl_threshold *t, size_t value);

#endif
