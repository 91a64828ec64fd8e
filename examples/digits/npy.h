/* SPDX-License-Identifier: Apache-2.0 */
/* Reads .npy files (versions 1 to 3) of little-endian f32 in C order. */
#ifndef EXAMPLES_DIGITS_NPY_H
#define EXAMPLES_DIGITS_NPY_H

#include <stdint.h>

typedef struct npy_array {
    int rank;
    int64_t shape[2];
    float *data; /* the caller's, to be freed */
} npy_array;

/* Reads `folder`/`name`; 0 on success. On failure a line goes to stderr and *array is untouched. */
int npy_read(const char *folder, const char *name, npy_array *array);

#endif
