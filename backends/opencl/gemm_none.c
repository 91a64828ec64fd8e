/* SPDX-License-Identifier: Apache-2.0 */
/* In place of gemm.c in a build without CLBlast: every product is declined. */
#include "backends/opencl/internal.h"

lfuse__cl_library lfuse__clblast_library = {
    "CLBlast", NULL, NULL, NULL, true, "this build was configured without CLBlast",
};

static lfuse_status declined(void)
{
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "no products on OpenCL: %s", lfuse__clblast_library.reason);
}

lfuse_status lfuse__cl_gemm_candidates(lfuse__bdevice *dev, const lfuse__gemm_desc *desc, int max,
                                       lfuse__gemm_candidate *candidates, int *count)
{
    (void)dev, (void)desc, (void)max, (void)candidates, (void)count;
    return declined();
}

lfuse_status lfuse__cl_gemm_prepare(lfuse__bdevice *dev, const lfuse__gemm_desc *desc,
                                    const lfuse__gemm_candidate *candidate, lfuse__bgemm **gemm)
{
    (void)dev, (void)desc, (void)candidate, (void)gemm;
    return declined();
}

lfuse_status lfuse__cl_gemm_run(lfuse__bstream *s, lfuse__bgemm *gemm, const lfuse__gemm_args *args)
{
    (void)s, (void)gemm, (void)args;
    return declined();
}

void lfuse__cl_gemm_destroy(lfuse__bgemm *gemm)
{
    (void)gemm;
}
