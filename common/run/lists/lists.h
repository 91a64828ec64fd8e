/* SPDX-License-Identifier: Apache-2.0 */
/* Steps over lists, as the rest of common/run/ sees them. */
#ifndef COMMON_RUN_LISTS_LISTS_H
#define COMMON_RUN_LISTS_LISTS_H

#include "common/run/instance.h"

/* ---- table_write.c: tables of 64-bit words in device memory ---- */
/*
 * Makes a table hold `fresh`, [count] words, from byte `offset` of the range on. Writes those that differ from `held`,
 * which is what the table holds, or, with `all`, every one, and takes them over into `held`. The words are arguments of
 * launches of the kernel that writes tables, so that a stream that is captured holds them.
 */
lfuse_status lfuse__table_update(lfuse_stream *s, lfuse__kernel *kernel, const lfuse__range *to, uint64_t offset,
                                 uint64_t *held, const uint64_t *fresh, size_t count, bool all);
/* Copies bytes from the host on the device's own stream, and waits for that copy alone. */
lfuse_status lfuse__table_upload(lfuse_device *dev, lfuse__range *to, uint64_t offset, const void *host,
                                 uint64_t bytes);

/* ---- lists.c ---- */
/*
 * Adds the operation of a step over lists, unless the lists have no elements and the step computes nothing else.
 * *uses_workspace becomes true where the operation has scratch that it does without if `low_memory` is set.
 */
lfuse_status lfuse__add_lists(lfuse_instance *in, const lfuse__step *step, bool low_memory, bool *uses_workspace);
/* Compiles, together, the kernels that the lists of the instance need and that were not compiled with the plan. */
lfuse_status lfuse__lists_compile(lfuse_instance *in);
/*
 * Finds the sizes of the lists that the plan makes, and checks that the lists of each step agree in their members, as
 * far as the step needs that. ERR_SHAPE: they do not.
 */
lfuse_status lfuse__lists_check(lfuse_instance *in, const lfuse__slot *slots);
/* Returns the bytes of a buffer that has a part for each member of a list. */
uint64_t lfuse__list_buffer_bytes(const lfuse_instance *in, const lfuse__buffer *b);

/* ---- list_products.c ---- */
/* Computes in->products and their names: the sizes of products of the members of two lists. ERR_SHAPE. */
lfuse_status lfuse__list_products_size(lfuse_instance *in);

#endif
