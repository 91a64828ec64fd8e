/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline of a device, and speed against size, on one device or on all. */
#include "bench/page/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/page/form.h"
#include "bench/page/html.h"
#include "bench/page/plot.h"
#include "common/base/error.h"

enum { MOST_SERIES = 24, TITLE = 224, NAME = 48, SQUARE = -1 };

void bench_figure_begin(lfuse__strbuf *b)
{
    lfuse__strbuf_add(b, "<figure>\n");
}

void bench_figure_end(lfuse__strbuf *b, const char *format, ...)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    va_list args;
    va_start(args, format);
    lfuse__strbuf_vformat(&text, format, args);
    va_end(args);
    lfuse__strbuf_add(b, "<figcaption>");
    bench_html_text(b, text.data);
    lfuse__strbuf_add(b, "</figcaption>\n</figure>\n");
    if (text.failed) b->failed = true;
    lfuse__strbuf_free(&text);
}

/* Points of a figure by series; at most one for each result. */
typedef struct collection {
    int n;
    bench_series series[MOST_SERIES];
    char names[MOST_SERIES][128];
    bench_point *points[MOST_SERIES]; /* [most] each */
    char (*titles)[TITLE];
    int most, ntitles;
} collection;

static void collection_free(collection *c)
{
    for (int i = 0; i < c->n; i++) free(c->points[i]);
    free(c->titles);
    c->n = 0;
}

static lfuse_status collection_make(collection *c, int most)
{
    *c = (collection){.most = most, .titles = calloc((size_t)most + 1, TITLE)};
    return c->titles ? LFUSE_OK : lfuse__error(LFUSE_ERR_MEMORY, "out of memory for a figure of %d points", most);
}

/* Series beyond the last one are left out. style < 0: the next one. */
static lfuse_status collect(collection *c, const bench_result_record *r, const char *name, int style, double x,
                            double y)
{
    int s = 0;
    while (s < c->n && strcmp(c->names[s], name)) s++;
    if (s == MOST_SERIES) return LFUSE_OK;
    if (s == c->n) {
        c->points[s] = calloc((size_t)c->most, sizeof *c->points[s]);
        if (!c->points[s]) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for a figure of %d points", c->most);
        snprintf(c->names[s], sizeof c->names[s], "%s", name);
        c->series[s] = (bench_series){.name = c->names[s], .style = style < 0 ? s : style, .marks = true,
                                        .points = c->points[s]};
        c->n++;
    }
    char *title = c->titles[c->ntitles++];
    snprintf(title, TITLE, "%.96s, %.24s: %.4g us, %.4g GFLOP/s", r->problem, r->variant, bench_device_us(r),
             bench_gflops(r));
    if (!(r->flops > 0)) snprintf(title, TITLE, "%.96s, %.24s: %.4g us", r->problem, r->variant, bench_device_us(r));
    c->points[s][c->series[s].n++] = (bench_point){x, y, title};
    return LFUSE_OK;
}

static int by_x(const void *a, const void *b)
{
    const double x = ((const bench_point *)a)->x, y = ((const bench_point *)b)->x;
    return (x > y) - (x < y);
}

/* ---- roofline ---- */

static void draw_roofline(lfuse__strbuf *b, const bench_device_record *d, collection *c)
{
    char title[TITLE];
    bench_axis x = {.low = NAN, .high = NAN};
    bench_series all[MOST_SERIES + 1];
    for (int s = 0; s < c->n; s++)
        for (int i = 0; i < c->series[s].n; i++) bench_axis_take(&x, c->points[s][i].x);
    const double ridge = d->gemm_gflops / d->copy_gbs;
    bench_axis_take(&x, ridge);
    bench_axis_widen(&x, 2);
    const bench_point roof[] = {{x.low, x.low * d->copy_gbs, NULL}, {ridge, d->gemm_gflops, NULL},
                                {x.high, d->gemm_gflops, NULL}};
    all[0] = (bench_series){.name = "limit: copy bandwidth, f32 product rate", .roof = true, .line = true, .n = 3,
                            .points = roof};
    memcpy(all + 1, c->series, (size_t)c->n * sizeof *all);
    snprintf(title, sizeof title, "Roofline of %s", d->label);
    const bench_labels labels = {title, "arithmetic intensity (flop/byte)", "performance (GFLOP/s)"};
    bench_figure_begin(b);
    bench_plot(b, &labels, all, c->n + 1, BENCH_SCALE_RATES);
    bench_figure_end(b, "Roofline of %s: performance of the fastest variant of each problem over arithmetic intensity, "
                     "each tensor counted once. The limits were measured in the same runs: %.5g GB/s of a copy, %.5g "
                     "GFLOP/s of the library's f32 product. Points above the slope stay in a cache.", d->label,
                     d->copy_gbs, d->gemm_gflops);
}

/* The suite, with the type where it is not f32. */
static void kind_of(const char *problem, char *name, int size)
{
    static const char *const types[] = {"f16", "bf16", "f64"};
    bench_form_suite(problem, name, size);
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *at = strstr(problem, types[i]);
        const char after = at ? at[strlen(types[i])] : 'x';
        if (at && at > problem && at[-1] == ':' && (!after || after == ':'))
            snprintf(name + length, (size_t)size - length, ", %s", types[i]);
    }
}

lfuse_status bench_figure_roofline(lfuse__strbuf *b, const bench_records *r, int device)
{
    const bench_device_record *d = &r->devices[device];
    collection c;
    LFUSE__TRY(collection_make(&c, r->nresults));
    lfuse_status status = LFUSE_OK;
    for (int i = 0; i < r->nresults && !status; i++) {
        const bench_result_record *x = &r->results[i];
        char kind[NAME];
        if (x->device != device || x != bench_fastest(r, device, x->problem)) continue;
        kind_of(x->problem, kind, (int)sizeof kind);
        if (x->flops > 0 && x->bytes > 0) status = collect(&c, x, kind, -1, x->flops / x->bytes, bench_gflops(x));
    }
    if (!status && c.n && d->copy_gbs > 0 && d->gemm_gflops > 0) draw_roofline(b, d, &c);
    collection_free(&c);
    return status;
}

/* ---- speed against size ---- */

static bool all_equal(const bench_form *f)
{
    for (int i = 1; i < f->n; i++)
        if (f->numbers[i] != f->numbers[0]) return false;
    return true;
}

/* Whether two problems differ in nothing but what the axis counts. */
static bool in_row(const bench_form *a, const bench_form *b, int axis)
{
    if (strcmp(a->text, b->text) || a->n != b->n) return false;
    if (axis == SQUARE) return all_equal(a) && all_equal(b);
    for (int i = 0; i < a->n; i++)
        if (i != axis && a->numbers[i] != b->numbers[i]) return false;
    return true;
}

static int distinct_x(const collection *c)
{
    double known[3];
    int n = 0;
    for (int s = 0; s < c->n; s++)
        for (int i = 0; i < c->series[s].n; i++) {
            int k = 0;
            while (k < n && known[k] != c->points[s][i].x) k++;
            if (k == n && n < 3) known[n++] = c->points[s][i].x;
        }
    return n;
}

/* Series that are more than a point. */
static int lines(const collection *c)
{
    int n = 0;
    for (int s = 0; s < c->n; s++) n += c->series[s].n > 1;
    return n;
}

/* The problem with an ellipsis for what differs: dense:L8:H...:B64. */
static void describe_row(const bench_form *f, int axis, char *text, size_t size)
{
    size_t length = 0;
    int i = 0;
    for (const char *c = f->text; *c && length + 32 < size; c++) {
        if (*c != '#' || i == f->n) text[length++] = *c;
        else if (axis == SQUARE || i++ == axis) length += (size_t)sprintf(text + length, "\xe2\x80\xa6");
        else length += (size_t)snprintf(text + length, 32, "%.15g", f->numbers[i - 1]);
    }
    text[length] = 0;
}

static void draw_sizes(lfuse__strbuf *b, const char *where, collection *c, const bench_form *f, int axis, bool rate)
{
    char title[TITLE], row[160];
    const char *of = axis == SQUARE ? "extent of square matrices, m = n = k" : bench_form_axis(f, axis);
    const char *what = rate ? "performance (GFLOP/s)" : "device time (\xc2\xb5s), lower is better";
    for (int s = 0; s < c->n; s++) {
        qsort(c->points[s], (size_t)c->series[s].n, sizeof *c->points[s], by_x);
        c->series[s].line = true;
    }
    describe_row(f, axis, row, sizeof row);
    snprintf(title, sizeof title, "%.90s on %.120s", row, where);
    const bench_labels labels = {title, of, what};
    bench_figure_begin(b);
    bench_plot(b, &labels, c->series, c->n, BENCH_SCALE_SIZES);
    bench_figure_end(b, "%s on %s: %s against %s.", row, where, rate ? "performance" : "device time", of);
}

/* Whether the figure of a device, or of all, shows the result. */
static bool takes(const bench_records *r, int device, const bench_result_record *x)
{
    if (device == BENCH_ALL_DEVICES) return x == bench_fastest(r, x->device, x->problem);
    return x->device == device && x->ok && bench_device_us(x) > 0 && !bench_has_epilogue(x);
}

static bool is_of(int device, const bench_result_record *x)
{
    return device == BENCH_ALL_DEVICES || x->device == device;
}

static lfuse_status collect_row(collection *c, const bench_records *r, const bench_form *forms, int first, int axis,
                                int device, bool rate)
{
    for (int i = first; i < r->nresults; i++) {
        const bench_result_record *x = &r->results[i];
        if (!in_row(&forms[i], &forms[first], axis) || !takes(r, device, x)) continue;
        const char *name = device == BENCH_ALL_DEVICES ? r->devices[x->device].label : x->variant;
        const double size = forms[i].numbers[axis == SQUARE ? 0 : axis];
        LFUSE__TRY(collect(c, x, name, device == BENCH_ALL_DEVICES ? x->device : -1, size,
                           rate ? bench_gflops(x) : bench_device_us(x)));
    }
    return LFUSE_OK;
}

/* The row that the result begins, unless one before it did; of all devices where two have it. */
static lfuse_status size_row(lfuse__strbuf *b, const bench_records *r, const bench_form *forms, int first, int axis,
                             int device)
{
    const bool all = device == BENCH_ALL_DEVICES;
    bool rate = true;
    collection c;
    for (int i = 0; i < first; i++)
        if (is_of(device, &r->results[i]) && in_row(&forms[i], &forms[first], axis)) return LFUSE_OK;
    LFUSE__TRY(collection_make(&c, r->nresults));
    for (int i = first; i < r->nresults; i++)
        if (is_of(device, &r->results[i]) && in_row(&forms[i], &forms[first], axis))
            rate = rate && r->results[i].flops > 0;
    lfuse_status status = collect_row(&c, r, forms, first, axis, device, rate);
    if (!status && distinct_x(&c) == 3 && (!all || lines(&c) > 1))
        draw_sizes(b, all ? "all devices, the fastest variant of each" : r->devices[device].label, &c, &forms[first],
                   axis, rate);
    collection_free(&c);
    return status;
}

/* Square is a word for products alone. */
static bool may_be_square(const bench_form *f)
{
    return !strncmp(f->text, "gemm:", 5) && f->n == 3 && all_equal(f);
}

lfuse_status bench_figure_sizes(lfuse__strbuf *b, const bench_records *r, int device)
{
    bench_form *forms = calloc((size_t)r->nresults + 1, sizeof *forms);
    lfuse_status status = LFUSE_OK;
    if (!forms) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %d problems", r->nresults);
    for (int i = 0; i < r->nresults; i++) bench_form_of(r->results[i].problem, &forms[i]);
    for (int i = 0; i < r->nresults && !status; i++) {
        if (!is_of(device, &r->results[i])) continue;
        if (may_be_square(&forms[i])) status = size_row(b, r, forms, i, SQUARE, device);
        for (int axis = 0; axis < forms[i].n && !status; axis++) status = size_row(b, r, forms, i, axis, device);
    }
    free(forms);
    return status;
}
