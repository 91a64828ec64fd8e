/* SPDX-License-Identifier: Apache-2.0 */
/* Figures that compare: fused with unfused, epilogues with bare products, devices with each other. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/page/figures.h"
#include "bench/page/form.h"
#include "bench/page/plot.h"
#include "common/base/error.h"

enum { LABEL = 160, TITLE = 320, SUITE = 32 };

typedef struct pair {
    const char *slow, *fast, *label;
} pair;

/* Variants of which one does the work of the other with fewer passes over memory. */
static const pair fusions[] = {
    {"unfused", "fused", ""},
    {"split-unfused", "split-fused", ", split"},
    {"combined-unfused", "combined-fused", ", combined"},
    {"separate", "fused", ", two plans"},
    {"loop", "fused", ", loop \xe2\x86\x92 fused"},
    {"foreach", "fused", ", foreach \xe2\x86\x92 fused"},
    {"loop", "foreach", ", loop \xe2\x86\x92 foreach"},
};
/* And with fewer multiplications. */
static const pair strassens[] = {
    {"fused", "strassen1", ", one level"}, {"fused", "strassen2", ", two levels"}, {"fused", "auto", ", auto"}};
enum { FUSIONS = sizeof fusions / sizeof *fusions, STRASSENS = sizeof strassens / sizeof *strassens };
static const char epilogue[] = "+ep";

/* Variants beside the library's own: limits, other libraries' bare calls, work that is not the same or less exact. */
static const char *const besides[] = {"kernel-copy", "api-copy", "add", "resident", "bare", "bare-worker",
                                      "bare-buffer", "tensor", "vendor", "openblas", "strassen1", "strassen2", "auto"};

static bool is_beside(const char *variant)
{
    for (size_t i = 0; i < sizeof besides / sizeof *besides; i++)
        if (!strcmp(besides[i], variant)) return true;
    return false;
}

static bool is_timed(const bench_result_record *x)
{
    return x->ok && bench_device_us(x) > 0;
}

static const bench_result_record *find(const bench_records *r, int device, const char *problem, const char *variant)
{
    for (int i = 0; i < r->nresults; i++) {
        const bench_result_record *x = &r->results[i];
        if (x->device != device || strcmp(x->problem, problem) || strcmp(x->variant, variant)) continue;
        if (is_timed(x)) return x;
    }
    return NULL;
}

/* ---- ratios ---- */

typedef struct ratios {
    int n;
    bench_row *rows;
    double *values;
    char (*labels)[LABEL], (*titles)[TITLE];
    const char **title_of;
} ratios;

static void ratios_free(ratios *t)
{
    free(t->rows);
    free(t->values);
    free(t->labels);
    free(t->titles);
    free(t->title_of);
}

static lfuse_status ratios_make(ratios *t, int most)
{
    const size_t n = (size_t)most + 1;
    *t = (ratios){0, calloc(n, sizeof *t->rows), calloc(n, sizeof *t->values), calloc(n, LABEL), calloc(n, TITLE),
                  calloc(n, sizeof *t->title_of)};
    if (t->rows && t->values && t->labels && t->titles && t->title_of) return LFUSE_OK;
    ratios_free(t);
    return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for a figure of %d rows", most);
}

static void add_ratio(ratios *t, const bench_result_record *slow, const bench_result_record *fast, const char *label)
{
    const int i = t->n++;
    snprintf(t->labels[i], LABEL, "%.96s%.48s", slow->problem, label);
    snprintf(t->titles[i], TITLE, "%.96s: %.24s %.4g us, %.24s %.4g us", slow->problem, slow->variant,
             bench_device_us(slow), fast->variant, bench_device_us(fast));
    t->values[i] = bench_device_us(slow) / bench_device_us(fast);
    t->title_of[i] = t->titles[i];
    t->rows[i] = (bench_row){t->labels[i], &t->values[i], &t->title_of[i]};
}

static void draw_ratios(lfuse__strbuf *b, const ratios *t, const char *title, const char *axis, const char *caption)
{
    const bench_labels labels = {title, axis, ""};
    if (!t->n) return;
    bench_figure_begin(b);
    bench_bars(b, &labels, t->rows, t->n);
    bench_figure_end(b, "%s: %s", title, caption);
}

static lfuse_status find_ratios(ratios *t, const bench_records *r, int device, const pair *pairs, int n)
{
    LFUSE__TRY(ratios_make(t, n * r->nresults));
    for (int i = 0; i < r->nresults; i++)
        for (int p = 0; p < n; p++) {
            const bench_result_record *slow = &r->results[i];
            if (slow->device != device || !is_timed(slow) || strcmp(slow->variant, pairs[p].slow)) continue;
            const bench_result_record *fast = find(r, device, slow->problem, pairs[p].fast);
            if (fast) add_ratio(t, slow, fast, pairs[p].label);
        }
    return LFUSE_OK;
}

static lfuse_status fused_rows(lfuse__strbuf *b, const bench_records *r, int device)
{
    char title[TITLE];
    ratios t;
    LFUSE__TRY(find_ratios(&t, r, device, fusions, FUSIONS));
    snprintf(title, sizeof title, "Fused against unfused on %s", r->devices[device].label);
    draw_ratios(b, &t, title, "speed-up: device time unfused / fused",
                "device time of the unfused variant over that of the fused one.");
    ratios_free(&t);
    LFUSE__TRY(find_ratios(&t, r, device, strassens, STRASSENS));
    snprintf(title, sizeof title, "Strassen's algorithm on %s", r->devices[device].label);
    draw_ratios(b, &t, title, "speed-up: device time fused / by Strassen's algorithm",
                "device time of the fused variant with plain products over that with Strassen's, whose errors are "
                "larger; auto chooses by a cost model.");
    ratios_free(&t);
    return LFUSE_OK;
}

static lfuse_status epilogue_rows(lfuse__strbuf *b, const bench_records *r, int device)
{
    char name[LABEL], label[LABEL];
    ratios t;
    LFUSE__TRY(ratios_make(&t, r->nresults));
    for (int i = 0; i < r->nresults; i++) {
        const bench_result_record *bare = &r->results[i];
        if (bare->device != device || !is_timed(bare)) continue;
        snprintf(name, sizeof name, "%.120s%s", bare->variant, epilogue);
        snprintf(label, sizeof label, ", %.40s", bare->variant);
        const bench_result_record *with = find(r, device, bare->problem, name);
        if (with) add_ratio(&t, bare, with, label);
    }
    snprintf(label, sizeof label, "Products with bias and relu on %.100s", r->devices[device].label);
    draw_ratios(b, &t, label, "device time of the bare product / with bias and relu",
                "against the same without: 1 where the epilogue is free.");
    ratios_free(&t);
    return LFUSE_OK;
}

lfuse_status bench_figure_fused(lfuse__strbuf *b, const bench_records *r, int device)
{
    LFUSE__TRY(fused_rows(b, r, device));
    return epilogue_rows(b, r, device);
}

/* ---- devices ---- */

bool bench_has_epilogue(const bench_result_record *x)
{
    const size_t length = strlen(x->variant), end = sizeof epilogue - 1;
    return length > end && !strcmp(x->variant + length - end, epilogue);
}

const bench_result_record *bench_fastest(const bench_records *r, int device, const char *problem)
{
    const bench_result_record *best = NULL;
    for (int i = 0; i < r->nresults; i++) {
        const bench_result_record *x = &r->results[i];
        if (x->device != device || !is_timed(x) || is_beside(x->variant) || strcmp(x->problem, problem)) continue;
        if (bench_has_epilogue(x)) continue;
        if (!best || bench_device_us(x) < bench_device_us(best)) best = x;
    }
    return best;
}

typedef struct table {
    int n;
    bench_row *rows;
    double *values;     /* [rows][devices] */
    const char **titles; /* likewise, into text */
    char (*text)[TITLE];
} table;

static void table_free(table *t)
{
    free(t->rows);
    free(t->values);
    free(t->titles);
    free(t->text);
}

static lfuse_status table_make(table *t, int most, int devices)
{
    const size_t n = (size_t)most + 1, all = n * (size_t)devices;
    *t = (table){0, calloc(n, sizeof *t->rows), calloc(all, sizeof *t->values), calloc(all, sizeof *t->titles),
                 calloc(all, TITLE)};
    if (t->rows && t->values && t->titles && t->text) return LFUSE_OK;
    table_free(t);
    return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for a figure of %d rows", most);
}

/* A row where two devices at least have the problem. */
static void add_problem(table *t, const bench_records *r, const char *problem)
{
    const size_t at = (size_t)t->n * (size_t)r->ndevices;
    int have = 0;
    for (int d = 0; d < r->ndevices; d++) {
        const bench_result_record *x = bench_fastest(r, d, problem);
        t->values[at + (size_t)d] = x ? bench_device_us(x) : NAN;
        t->titles[at + (size_t)d] = NULL;
        have += x != NULL;
        if (!x) continue;
        snprintf(t->text[at + (size_t)d], TITLE, "%.96s on %s: %.24s, %.4g us", problem, r->devices[d].label,
                 x->variant, bench_device_us(x));
        t->titles[at + (size_t)d] = t->text[at + (size_t)d];
    }
    if (have > 1) t->rows[t->n++] = (bench_row){problem, t->values + at, t->titles + at};
}

static bool of_suite(const char *problem, const char *suite)
{
    char name[SUITE];
    bench_form_suite(problem, name, (int)sizeof name);
    return !strcmp(name, suite);
}

static bool is_repeated(const bench_records *r, int i)
{
    for (int k = 0; k < i; k++)
        if (!strcmp(r->results[k].problem, r->results[i].problem)) return true;
    return false;
}

static lfuse_status draw_suite(lfuse__strbuf *b, const bench_records *r, const char *const *names, const char *suite)
{
    char title[TITLE];
    table t;
    LFUSE__TRY(table_make(&t, r->nresults, r->ndevices));
    for (int i = 0; i < r->nresults; i++)
        if (of_suite(r->results[i].problem, suite) && !is_repeated(r, i)) add_problem(&t, r, r->results[i].problem);
    snprintf(title, sizeof title, "Device against device: %s", suite);
    const bench_labels labels = {title, "device time (\xc2\xb5s), lower is better", ""};
    if (t.n) {
        bench_figure_begin(b);
        bench_dots(b, &labels, t.rows, t.n, names, r->ndevices);
        bench_figure_end(b, "Device against device, %s: device time of the fastest verified variant on each, but for "
                         "bare calls of a vendor's library and Strassen's products.", suite);
    }
    table_free(&t);
    return LFUSE_OK;
}

static bool suite_was_seen(const bench_records *r, int i, const char *suite)
{
    for (int k = 0; k < i; k++)
        if (of_suite(r->results[k].problem, suite)) return true;
    return false;
}

lfuse_status bench_figure_devices(lfuse__strbuf *b, const bench_records *r)
{
    const char **names = calloc((size_t)r->ndevices + 1, sizeof *names);
    char suite[SUITE];
    lfuse_status status = LFUSE_OK;
    if (!names) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %d names", r->ndevices);
    for (int d = 0; d < r->ndevices; d++) names[d] = r->devices[d].label;
    for (int i = 0; i < r->nresults && r->ndevices > 1 && !status; i++) {
        bench_form_suite(r->results[i].problem, suite, (int)sizeof suite);
        if (!suite_was_seen(r, i, suite)) status = draw_suite(b, r, names, suite);
    }
    free(names);
    return status;
}
