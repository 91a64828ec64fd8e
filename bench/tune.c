/* SPDX-License-Identifier: Apache-2.0 */
/* lfuse-bench --tune: choices are measured and kept in the wisdom file. */
#include "bench/bench.h"
#include "bench/timer.h"
#include "common/base/error.h"
#include "common/tune/wisdom.h"

/* Where there is no file to be written, that is said before the time is spent. */
lfuse_status bench_tune_begin(bench_device *d)
{
    LFUSE__TRY(lfuse_wisdom_export(d->dev, NULL));
    printf("%s: %s, %s\n", d->info.name, d->info.product, d->info.driver);
    return LFUSE_OK;
}

/* Written once more: what could not be kept when it was measured is an error now. */
lfuse_status bench_tune_end(bench_device *d)
{
    lfuse__strbuf file = LFUSE__STRBUF_INIT, device = LFUSE__STRBUF_INIT;
    lfuse__wisdom w = {0};
    lfuse__facts full;
    size_t n = 0;
    LFUSE__TRY(lfuse_wisdom_export(d->dev, NULL));
    LFUSE__TRY(lfuse__device_full_facts(d->dev, &full));
    lfuse__wisdom_survey(&w, &file);
    lfuse__wisdom_device(&full.info, &device);
    for (size_t i = 0; i < w.count; i++) n += lfuse__wisdom_applies(&w.lines[i], device.data);
    printf("%zu choices for %s in %s\n", n, d->info.name, file.data);
    lfuse__wisdom_clear(&w);
    lfuse__strbuf_free(&device);
    lfuse__strbuf_free(&file);
    return LFUSE_OK;
}

static int tune_problem(bench_device *d, const bench_suite *suite, const char *problem)
{
    const double start = bench_now_us();
    lfuse_status status = suite->tune(d, problem);
    if (!status) printf("  %-28s %8.2f s\n", problem, (bench_now_us() - start) * 1e-6);
    else if (bench_is_missing(status) || status == LFUSE_ERR_DEVICE_MEMORY || status == LFUSE_ERR_TYPE)
        printf("  %-28s skipped: %s\n", problem, lfuse_last_error());
    else {
        printf("  %-28s FAILED: %s: %s\n", problem, lfuse_status_name(status), lfuse_last_error());
        return 1;
    }
    fflush(stdout);
    return 0;
}

int bench_tune(bench_device *d, const bench_suite *suite, const char *const *problems)
{
    int failed = 0;
    for (; suite->tune && *problems; problems++) failed += tune_problem(d, suite, *problems);
    return failed;
}
