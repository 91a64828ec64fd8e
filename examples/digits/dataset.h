/* SPDX-License-Identifier: Apache-2.0 */
/* The handwritten digits: 1797 images of 8 x 8 pixels, 0 to 16 each. See README.md beside this for their origin. */
#ifndef EXAMPLES_DIGITS_DATASET_H
#define EXAMPLES_DIGITS_DATASET_H

enum {
    DIGITS_IMAGES = 1797, DIGITS_HELD = 360, DIGITS_TRAIN = DIGITS_IMAGES - DIGITS_HELD,
    DIGITS_PIXELS = 64, DIGITS_CLASSES = 10
};

/* Every fifth image, which training never saw. */
typedef struct digits {
    float pixels[DIGITS_HELD][DIGITS_PIXELS]; /* 0 to 1 */
    int label[DIGITS_HELD];
} digits;

/* The others, in the order of the file. */
typedef struct training_digits {
    float pixels[DIGITS_TRAIN][DIGITS_PIXELS];
    int label[DIGITS_TRAIN];
} training_digits;

/* Reads `folder`/digits.csv.gz; `others` may be NULL. 0 on success. On failure a line goes to stderr. */
int digits_read(const char *folder, digits *held, training_digits *others);

#endif
