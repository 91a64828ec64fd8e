/* SPDX-License-Identifier: Apache-2.0 */
/* Powers in f64 with the bits that kernels give: see power.k, which both are compiled from. */
#ifndef COMMON_BASE_POWER_H
#define COMMON_BASE_POWER_H

#include <stdint.h>

/* x^y with the special cases of C's pow; at most 1 ulp from the exact result. */
double lfuse__power(double x, double y);
/* a^b by repeated squaring, the fraction of b cut off; 1 / a^|b| for b below 0. */
double lfuse__whole_power(double a, double b);
float lfuse__whole_power_f32(float a, float b);
/* a^n modulo 2^64; for n below 0 1, -1 or 0: what is left of 1 / a^|n|. */
int64_t lfuse__integer_power(int64_t a, int64_t n);

/* The text for kernels, as dialect. It may stand in a program several times. */
const char *lfuse__power_text(void);

#endif
