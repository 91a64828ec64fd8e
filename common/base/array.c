/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

lfuse_status lfuse__array_grow(void *array, size_t *capacity, size_t needed, size_t size)
{
    size_t more = *capacity ? *capacity : 8;
    char *p;

    if (needed <= *capacity) return LFUSE_OK;
    while (more < needed && more <= SIZE_MAX / 2) more *= 2;
    memcpy(&p, array, sizeof p); /* a pointer of another type */
    p = more < needed || more > SIZE_MAX / size ? NULL : realloc(p, more * size);
    if (!p) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu elements of %zu bytes)", needed, size);
    memset(p + *capacity * size, 0, (more - *capacity) * size);
    memcpy(array, &p, sizeof p);
    *capacity = more;
    return LFUSE_OK;
}
