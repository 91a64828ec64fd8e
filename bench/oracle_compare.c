/* SPDX-License-Identifier: Apache-2.0 */
/* What a device stored against value and bound. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/data.h"
#include "bench/oracle_internal.h"

static double distance(long double got, long double value)
{
    if (isnan(got) || isnan(value)) return isnan(got) && isnan(value) ? 0 : INFINITY;
    return got == value ? 0 : (double)fabsl(got - value);
}

bool lfuse__oracle_compare(lfuse_type type, int64_t count, const void *got, const long double *value,
                           const double *bound, lfuse__oracle_report *report)
{
    lfuse__oracle_report r;
    int64_t i;

    memset(&r, 0, sizeof r);
    r.count = count;
    r.first_bad = -1;
    for (i = 0; i < count; i++) {
        const long double x = lfuse__data_exact(type, got, i);
        const double error = distance(x, value[i]);
        double ratio;
        if (isinf(bound[i])) {
            r.open++;
            continue;
        }
        ratio = error == 0 ? 0 : bound[i] > 0 ? error / bound[i] : INFINITY;
        if (error > r.max_error) r.max_error = error;
        if (bound[i] > r.max_bound) r.max_bound = bound[i];
        if (ratio > r.max_ratio) r.max_ratio = ratio;
        if (error <= bound[i]) continue;
        if (!r.bad++) {
            r.first_bad = i;
            r.got = (double)x;
            r.expected = (double)value[i];
            r.bound = bound[i];
        }
    }
    if (r.bad)
        snprintf(r.text, sizeof r.text, "%lld of %lld bad, first [%lld]: got %.9g (%a), expected %.9g (%a) +- %.3g",
                 (long long)r.bad, (long long)count, (long long)r.first_bad, r.got, r.got, r.expected, r.expected,
                 r.bound);
    *report = r;
    return !r.bad;
}
