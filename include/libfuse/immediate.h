/* SPDX-License-Identifier: Apache-2.0 */
/** Immediate calls: the same path as plans, with the plan found in the device's cache. */
#ifndef LIBFUSE_IMMEDIATE_H
#define LIBFUSE_IMMEDIATE_H

#include <libfuse/base.h>
#include <libfuse/plan.h>
#include <libfuse/status.h>

LFUSE_BEGIN_DECLS

/**
 * C = alpha op(A) op(B) + beta C, op the transpose where asked. A is [m, k] (or [k, m] transposed), B [k, n] (or
 * [n, k]), C [m, n], one type; of f16 and bf16 C may also be f32, the sums as they are. Where beta is 0, C is not read.
 * m, n or k may be 0. C overlaps neither A nor B (ERR_OVERLAP). Leading dimensions are the tensors' strides.
 * Factors in device memory, biases and all that follows a product are what graphs are for.
 * On GPUs the first call of sizes that take another kernel than those before compiles it, once; there are a few for
 * each type, transposes and kind of beta. Sizes that the vendor's library is taken for compile nothing: lfuse(7).
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_gemm(lfuse_stream *stream, int transpose_a, int transpose_b, double alpha,
                                                   const lfuse_tensor *a, const lfuse_tensor *b, double beta,
                                                   lfuse_tensor *c);
/**
 * Plans (or finds the plan of) a graph on the stream's device and runs it. The device keeps the last plans, with the
 * instances of lfuse_plan_run, so that calls with the same graph find everything made; never a graph with frozen
 * inputs.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_evaluate(lfuse_stream *stream, const lfuse_graph *graph,
                                                       const lfuse_binding *bindings, int count);

LFUSE_END_DECLS
#endif
