/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes as graphs and tensors take them, in the place of several arguments: the rank and the extents, and the type in
 * front of them.
 *
 *     lfuse_value x = lfuse_input(g, "x", F32(batch, 8)), y = lfuse_reshape(x, SHAPE(batch, 2, 4));
 */
#ifndef TESTS_SUPPORT_SHAPE_H
#define TESTS_SUPPORT_SHAPE_H

#include "libfuse/graph.h"

#define SHAPE(...) (int)(sizeof LFUSE_DIMS(__VA_ARGS__) / sizeof(lfuse_size)), LFUSE_DIMS(__VA_ARGS__)
#define TYPED(type, ...) type, SHAPE(__VA_ARGS__)

#define F32(...) TYPED(LFUSE_F32, __VA_ARGS__)
#define F16(...) TYPED(LFUSE_F16, __VA_ARGS__)
#define BF16(...) TYPED(LFUSE_BF16, __VA_ARGS__)
#define F64(...) TYPED(LFUSE_F64, __VA_ARGS__)
#define I8(...) TYPED(LFUSE_I8, __VA_ARGS__)
#define U8(...) TYPED(LFUSE_U8, __VA_ARGS__)
#define I32(...) TYPED(LFUSE_I32, __VA_ARGS__)
#define I64(...) TYPED(LFUSE_I64, __VA_ARGS__)
#define BOOL(...) TYPED(LFUSE_BOOL, __VA_ARGS__)

#endif
