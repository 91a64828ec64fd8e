/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal fractions with a point, whatever character the program's locale has for it. */
#ifndef COMMON_BASE_REAL_H
#define COMMON_BASE_REAL_H

#include "common/base/strbuf.h"

/* As printf's %.9g prints it in the C locale. */
void lfuse__real_add(lfuse__strbuf *out, double x);
/* The number that digits, point, sign and exponent at the start of `text` make; *end: behind them. 0 for none. */
double lfuse__real_parse(const char *text, const char **end);

#endif
