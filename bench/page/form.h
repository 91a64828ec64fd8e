/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers in a problem string, and what they are called. */
#ifndef BENCH_PAGE_FORM_H
#define BENCH_PAGE_FORM_H

enum { BENCH_FORM_NUMBERS = 6, BENCH_FORM_TEXT = 96 };

/* gemm:16x4096x4096:f16 is of the form gemm:#x#x#:f16 with the numbers 16, 4096, 4096. */
typedef struct bench_form {
    char text[BENCH_FORM_TEXT]; /* cut where it is longer */
    int n;
    double numbers[BENCH_FORM_NUMBERS];
} bench_form;

void bench_form_of(const char *problem, bench_form *form);
/* What the form's i-th number is: "rows m", "width of the layers". */
const char *bench_form_axis(const bench_form *form, int i);
/* The word before the first colon; at most size - 1 bytes of it. */
void bench_form_suite(const char *problem, char *suite, int size);

#endif
