/* SPDX-License-Identifier: Apache-2.0 */
#include "npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_HEADER = 4096 };

static int fail(FILE *file, const char *path, const char *why)
{
    fprintf(stderr, "%s: %s\n", path, why);
    if (file) fclose(file);
    return -1;
}

/* The length of the dictionary behind the magic: two bytes in version 1, four from version 2 on. 0: no .npy file. */
static uint32_t header_length(FILE *file)
{
    unsigned char head[8], length[4] = {0};
    if (fread(head, 1, 8, file) != 8 || memcmp(head, "\x93NUMPY", 6)) return 0;
    size_t width = head[6] == 1 ? 2 : 4;
    if (fread(length, 1, width, file) != width) return 0;
    return length[0] | (uint32_t)length[1] << 8 | (uint32_t)length[2] << 16 | (uint32_t)length[3] << 24;
}

static int parse_shape(const char *header, npy_array *array)
{
    const char *at = strstr(header, "'shape': (");
    if (!at) return -1;
    long long first = 0, second = 0;
    array->rank = sscanf(at, "'shape': (%lld, %lld", &first, &second);
    if (array->rank < 1 || first < 0 || second < 0 || first > 1 << 20 || second > 1 << 20) return -1;
    array->shape[0] = first;
    array->shape[1] = array->rank == 2 ? second : 1;
    return 0;
}

int npy_read(const char *folder, const char *name, npy_array *array)
{
    char path[4096], header[LONGEST_HEADER + 1];
    npy_array read = {0};
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return fail(NULL, name, "path too long");
    FILE *file = fopen(path, "rb");
    if (!file) return fail(NULL, path, "cannot be opened");

    uint32_t length = header_length(file);
    if (length == 0 || length > LONGEST_HEADER || fread(header, 1, length, file) != length)
        return fail(file, path, "is no .npy file");
    header[length] = '\0';
    if (!strstr(header, "'descr': '<f4'") || !strstr(header, "'fortran_order': False") || parse_shape(header, &read))
        return fail(file, path, "holds something else than f32 in C order of rank 1 or 2");

    size_t count = (size_t)(read.shape[0] * read.shape[1]);
    read.data = malloc(count * sizeof(float));
    if (!read.data) return fail(file, path, "out of memory");
    if (fread(read.data, sizeof(float), count, file) != count) {
        free(read.data);
        return fail(file, path, "ends too early");
    }
    fclose(file);
    *array = read;
    return 0;
}
