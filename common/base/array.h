/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow. */
#ifndef COMMON_BASE_ARRAY_H
#define COMMON_BASE_ARRAY_H

#include <stddef.h>

#include "libfuse/status.h"

/*
 * Makes room for `needed` elements of `size` bytes. `array` is the address of the pointer to the first one, which is
 * NULL while the capacity is 0. The capacity doubles, and elements beyond the former one are zero. ERR_MEMORY: the
 * array stays as it is.
 */
lfuse_status lfuse__array_grow(void *array, size_t *capacity, size_t needed, size_t size);

#endif
