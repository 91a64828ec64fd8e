/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Random numbers that are functions of their place: no state, no order. They come from Philox4x32-10 (Salmon, Moraes,
 * Dror and Shaw, SC 2011), whose key is `seed` and whose counter's upper half is `offset`: calls with different offsets
 * are independent streams, equal seed and offset give equal numbers on every device, however the work is cut up. Give
 * each use in a program an offset of its own, and count it up with every run.
 *
 * Seed and offset are numbers (constants, scalars: whole, below 2^53) or values of type i64.
 */
#ifndef LIBFUSE_RANDOM_H
#define LIBFUSE_RANDOM_H

#include <libfuse/graph.h>

LFUSE_BEGIN_DECLS

/**
 * The generator itself, by element: word number `index` of the stream, as i32. That is word index % 4 of the block
 * whose counter is (index / 4, offset), each the 64 bits of the i64, low word first. Same bits on every device.
 */
LFUSE_API lfuse_value lfuse_philox(lfuse_value index, lfuse_value seed, lfuse_value offset);

/** 32 random bits an element, as i32: word i for element i, counted in row-major order. */
LFUSE_API lfuse_value lfuse_random_bits(lfuse_graph *g, int rank, const lfuse_size *shape, lfuse_value seed,
                                        lfuse_value offset);
/**
 * Uniform in [0, 1): the upper 24 bits of word i times 2^-24, for f32; 11 bits for f16, 8 for bf16, 4 for e4m3 and 3
 * for e5m2, which are then exact; 53 bits of the words 2i and 2i + 1 for f64. Same bits on every device. Floating
 * types, else ERR_TYPE.
 */
LFUSE_API lfuse_value lfuse_random_uniform(lfuse_graph *g, lfuse_type type, int rank, const lfuse_size *shape,
                                           lfuse_value seed, lfuse_value offset);
/**
 * Normal with mean 0 and variance 1, by Box and Muller: sqrt(-2 log(1 - u)) cos(2 pi v) of the uniform numbers u and v
 * that the elements 2i and 2i + 1 would have; f16 and bf16 are computed in f32. Below 5.8 in f32, 8.6 in f64.
 */
LFUSE_API lfuse_value lfuse_random_normal(lfuse_graph *g, lfuse_type type, int rank, const lfuse_size *shape,
                                          lfuse_value seed, lfuse_value offset);
/**
 * Each element of the tensor `a` is 0 with probability `p`, else a / (1 - p), as torch.nn.functional.dropout: it stays
 * where the f32 uniform number of its place is at least p. `p` is a number, 0 ... 1 (1: all are 0), or a value of rank
 * 0. Floating types.
 */
LFUSE_API lfuse_value lfuse_dropout(lfuse_value a, lfuse_value p, lfuse_value seed, lfuse_value offset);

LFUSE_END_DECLS
#endif
