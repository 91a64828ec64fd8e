/* SPDX-License-Identifier: Apache-2.0 */
/* Steps over lists, as the rest of common/run/ sees them. */
#ifndef COMMON_RUN_LISTS_LISTS_H
#define COMMON_RUN_LISTS_LISTS_H

#include "common/run/instance.h"

/* ---- table_write.c: tables of words in device memory ---- */
/*
 * Makes a table hold `fresh`, [count] words, from byte `offset` of the range on: writes those that differ from `held`,
 * which is what it holds, or all, and takes them over into `held`. The words are arguments of launches of the kernel
 * that writes tables, so that a stream that is captured holds them.
 */
lfuse_status lfuse__table_update(lfuse_stream *s, lfuse__kernel *kernel, const lfuse__range *to, uint64_t offset,
                                 uint64_t *held, const uint64_t *fresh, size_t count, bool all);
/* Copies from the host on the device's own stream, and waits for the copy alone. */
lfuse_status lfuse__table_upload(lfuse_device *dev, lfuse__range *to, uint64_t offset, const void *host,
                                 uint64_t bytes);

/* ---- lists.c ---- */
/* Adds the operation of a step over lists, unless the lists have no elements. */
lfuse_status lfuse__add_lists(lfuse_instance *in, const lfuse__step *step);
/* list_products.c: finds the sizes of the lists that the plan makes. ERR_SHAPE: members cannot be multiplied. */
lfuse_status lfuse__list_products_size(lfuse_instance *in);
/* Compiles, together, the kernels that these lists need and that were not compiled with the plan. */
lfuse_status lfuse__lists_compile(lfuse_instance *in);
/* Checks that the lists of each step agree in their members, as far as the step needs that. ERR_SHAPE. */
lfuse_status lfuse__lists_check(lfuse_instance *in, const lfuse__slot *slots);
/* Returns the bytes of a buffer whose size depends on a list's. */
uint64_t lfuse__list_buffer_bytes(const lfuse_instance *in, const lfuse__buffer *b);

#endif
