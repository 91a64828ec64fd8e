/* SPDX-License-Identifier: Apache-2.0 */
#include "libfuse/immediate.h"

#include "common/api/need.h"
#include "common/run/run.h"

lfuse_status lfuse_gemm(lfuse_stream *stream, int transpose_a, int transpose_b, double alpha, const lfuse_tensor *a,
                        const lfuse_tensor *b, double beta, lfuse_tensor *c)
{
    NEED(stream);
    NEED(a);
    NEED(b);
    NEED(c);
    return lfuse__gemm_now(stream, transpose_a != 0, transpose_b != 0, alpha, a, b, beta, c);
}

lfuse_status lfuse_evaluate(lfuse_stream *stream, const lfuse_graph *graph, const lfuse_binding *bindings, int count)
{
    NEED(stream);
    return lfuse__evaluate(stream, graph, bindings, count);
}
