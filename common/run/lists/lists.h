/* SPDX-License-Identifier: Apache-2.0 */
/* Steps over lists, as the rest of common/run/ sees them. */
#ifndef COMMON_RUN_LISTS_LISTS_H
#define COMMON_RUN_LISTS_LISTS_H

#include "common/run/instance.h"

/* ---- lists.c ---- */
/* The operation of a step over lists, where there is something to do. */
lfuse_status lfuse__add_lists(lfuse_instance *in, const lfuse__step *step);
/* list_products.c: the sizes of the lists that nobody binds. ERR_SHAPE where two cannot be multiplied. */
lfuse_status lfuse__list_products_size(lfuse_instance *in);
void lfuse__list_products_free(lfuse_instance *in);
/* What steps over lists need for these lists and the plan lacks, compiled together. */
lfuse_status lfuse__lists_compile(lfuse_instance *in);
/* Members of the list that a step or buffer refers to, and what the step's lists must agree on. */
lfuse_status lfuse__lists_check(lfuse_instance *in, const lfuse__slot *slots);
/* Bytes of a buffer that is sized by a list. */
uint64_t lfuse__list_buffer_bytes(const lfuse_instance *in, const lfuse__buffer *b);

#endif
