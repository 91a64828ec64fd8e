/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of products for the tests: layers of bias and relu. */
#ifndef TESTS_KERNELS_NETWORKS_H
#define TESTS_KERNELS_NETWORKS_H

#include "common/matmul/mlp.h"

enum { NETWORK_BIAS = LFUSE__PRODUCT_OWN, NETWORK_RESULT, NETWORK_OPERANDS, NETWORK_FACTOR = NETWORK_OPERANDS };

/* relu(sum + bias); the body is static. And so, of three: that, the sum, tanh(sum times another operand). */
void network_class(lfuse__kernel_class *c);
void network_class_of_three(lfuse__kernel_class *c);
/* What it multiplies, adds and stores; the body is static, of the last call. */
void network_type(lfuse__kernel_class *c, lfuse_type type);
/* Facts of a device with so many resident groups. */
lfuse__facts network_facts(unsigned resident);
/* Layers of width x width; `layers` is filled. */
void network_square(lfuse__network *w, lfuse__network_layer *layers, int count, int64_t rows, int64_t width);
/* The texts of some shapes, named by `name`. */
void networks_emit(lfuse__strbuf *out, const char *(*name)(void *data), void *data);

#endif
