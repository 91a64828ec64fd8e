/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

/* One line: 64 pixels and the label. */
static int parse_line(const char *line, float *pixels, int *label)
{
    char *end;
    for (int i = 0; i <= DIGITS_PIXELS; i++) {
        long number = strtol(line, &end, 10);
        if (end == line || number < 0 || number > (i < DIGITS_PIXELS ? 16 : 9)) return -1;
        if (i < DIGITS_PIXELS) pixels[i] = (float)number / 16.0f;
        else *label = (int)number;
        line = end + (*end == ',');
    }
    return 0;
}

/* Image number `image` of the file. */
static void keep(int image, const float *pixels, int label, digits *held, training_digits *others)
{
    const int rest = image - image / 5 - 1; /* how many of those before it are not held out */
    float *to = image % 5 ? others ? others->pixels[rest] : NULL : held->pixels[image / 5];
    if (!to) return;
    for (int i = 0; i < DIGITS_PIXELS; i++) to[i] = pixels[i];
    if (image % 5) others->label[rest] = label;
    else held->label[image / 5] = label;
}

int digits_read(const char *folder, digits *held, training_digits *others)
{
    char path[4096], line[512];
    float pixels[DIGITS_PIXELS];
    int status = -1, label = 0, image = 0;
    snprintf(path, sizeof path, "%s/digits.csv.gz", folder);
    gzFile file = gzopen(path, "rb");
    if (!file) {
        fprintf(stderr, "%s: cannot be opened\n", path);
        return -1;
    }
    for (; gzgets(file, line, sizeof line); image++) {
        if (image >= DIGITS_IMAGES || parse_line(line, pixels, &label)) {
            fprintf(stderr, "%s: line %d is not an image\n", path, image + 1);
            goto close_file;
        }
        keep(image, pixels, label, held, others);
    }
    if (image == DIGITS_IMAGES) status = 0;
    else fprintf(stderr, "%s: %d images instead of %d\n", path, image, DIGITS_IMAGES);
close_file:
    gzclose(file);
    return status;
}
