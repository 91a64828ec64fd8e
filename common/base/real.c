/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/real.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the C locale's numbers are made of but the point; "inf" and "nan" as well. */
static const char marks[] = "0123456789+-einfa";

void lfuse__real_add(lfuse__strbuf *out, double x)
{
    char text[64];
    const char *rest;
    size_t head;

    snprintf(text, sizeof text, "%.9g", x);
    head = strspn(text, marks);
    rest = text + head;
    lfuse__strbuf_bytes(out, text, head);
    if (!*rest) return;
    lfuse__strbuf_add(out, ".");
    lfuse__strbuf_add(out, rest + strcspn(rest, marks));
}

/*
 * strtod reads the locale's point, which may be several bytes. It is asked of printf: unlike localeconv, that may be
 * called while other threads do, and it knows a locale that is this thread's alone.
 */
double lfuse__real_parse(const char *text, const char **end)
{
    char sample[32], copy[96], *stop;
    size_t point, at, length;
    double x;

    snprintf(sample, sizeof sample, "%.1f", 0.5);
    point = strlen(sample) - 2;
    length = strspn(text, "0123456789+-eE.");
    at = strcspn(text, ".");
    if (length > sizeof copy - sizeof sample) length = sizeof copy - sizeof sample;
    if (at >= length) {
        snprintf(copy, sizeof copy, "%.*s", (int)length, text);
        x = strtod(copy, &stop);
        *end = text + (stop - copy);
        return x;
    }
    snprintf(copy, sizeof copy, "%.*s%.*s%.*s", (int)at, text, (int)point, sample + 1, (int)(length - at - 1),
             text + at + 1);
    x = strtod(copy, &stop);
    length = (size_t)(stop - copy);
    *end = text + (length >= at + point ? length - point + 1 : length);
    return x;
}
