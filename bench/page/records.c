/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/page/records.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/page/reader.h"
#include "common/base/error.h"

/* More is no report: comparing all with all takes time. */
enum { MOST_BYTES = 1 << 28, MOST_DEVICES = 64, MOST_RESULTS = 10000 };

double bench_device_us(const bench_result_record *r)
{
    return isnan(r->cold_us) ? r->gpu_us : r->cold_us;
}

double bench_gflops(const bench_result_record *r)
{
    return r->flops > 0 ? 1e-3 * r->flops / bench_device_us(r) : NAN;
}

/* ---- members ---- */

static lfuse_status text_of(const bench_json_line *line, const char *name, bool needed, const char **text)
{
    const bench_json_member *m = bench_json_find(line, name);
    if (!m && needed) return lfuse__error(LFUSE_ERR_INVALID, "no member \"%s\"", name);
    if (m && m->kind != BENCH_JSON_TEXT) return lfuse__error(LFUSE_ERR_INVALID, "member \"%s\" is no text", name);
    *text = m ? m->text : "";
    return LFUSE_OK;
}

static lfuse_status number_of(const bench_json_line *line, const char *name, double *number)
{
    const bench_json_member *m = bench_json_find(line, name);
    *number = m ? m->number : NAN;
    if (m && m->kind != BENCH_JSON_NUMBER && m->kind != BENCH_JSON_NULL)
        return lfuse__error(LFUSE_ERR_INVALID, "member \"%s\" is no number", name);
    if (m && m->number < 0) return lfuse__error(LFUSE_ERR_INVALID, "member \"%s\" is negative", name);
    return LFUSE_OK;
}

/* Room for one more of `size` bytes behind `count`, by doubling. */
static lfuse_status grow(void *array, int count, size_t size)
{
    void **items = array;
    if (count & (count - 1)) return LFUSE_OK;
    void *more = realloc(*items, (count ? 2 * (size_t)count : 1) * size);
    if (!more) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %d records", count);
    *items = more;
    return LFUSE_OK;
}

/* ---- lines ---- */

/* The devices of one file, which other lines name; the last of a name counts. */
typedef struct source {
    int n, devices[MOST_DEVICES];
} source;

static bool same_device(const bench_device_record *a, const bench_device_record *b)
{
    return !strcmp(a->device, b->device) && !strcmp(a->backend, b->backend) && !strcmp(a->product, b->product) &&
           !strcmp(a->driver, b->driver) && !strcmp(a->library, b->library);
}

static double best(double a, double b, bool least)
{
    return isnan(a) ? b : isnan(b) ? a : least ? fmin(a, b) : fmax(a, b);
}

static lfuse_status add_machine(bench_records *r, const bench_json_line *line, source *from)
{
    int at = 0;
    bench_device_record d;
    memset(&d, 0, sizeof d);
    LFUSE__TRY(text_of(line, "device", true, &d.device));
    LFUSE__TRY(text_of(line, "backend", true, &d.backend));
    LFUSE__TRY(text_of(line, "product", true, &d.product));
    LFUSE__TRY(text_of(line, "driver", false, &d.driver));
    LFUSE__TRY(text_of(line, "compiler", false, &d.compiler));
    LFUSE__TRY(text_of(line, "gemm", false, &d.gemm));
    LFUSE__TRY(text_of(line, "library", false, &d.library));
    LFUSE__TRY(number_of(line, "empty_us", &d.empty_us));
    LFUSE__TRY(number_of(line, "copy_gbs", &d.copy_gbs));
    LFUSE__TRY(number_of(line, "gemm_gflops", &d.gemm_gflops));
    while (at < r->ndevices && !same_device(&r->devices[at], &d)) at++;
    if (at == MOST_DEVICES) return lfuse__error(LFUSE_ERR_INVALID, "more than %d devices", MOST_DEVICES);
    if (at == r->ndevices) {
        LFUSE__TRY(grow(&r->devices, r->ndevices, sizeof d));
        r->devices[r->ndevices++] = d;
    }
    bench_device_record *known = &r->devices[at];
    known->empty_us = best(known->empty_us, d.empty_us, true);
    known->copy_gbs = best(known->copy_gbs, d.copy_gbs, false);
    known->gemm_gflops = best(known->gemm_gflops, d.gemm_gflops, false);
    int i = 0;
    while (i < from->n && strcmp(r->devices[from->devices[i]].device, d.device)) i++;
    from->devices[i] = at;
    if (i == from->n) from->n++;
    return LFUSE_OK;
}

static lfuse_status device_of(const bench_records *r, const bench_json_line *line, const source *from, int *device)
{
    const char *name;
    LFUSE__TRY(text_of(line, "device", true, &name));
    for (int i = 0; i < from->n; i++)
        if (!strcmp(r->devices[from->devices[i]].device, name)) return *device = from->devices[i], LFUSE_OK;
    return lfuse__error(LFUSE_ERR_INVALID, "device \"%.60s\" has no line of the type machine before this one", name);
}

static lfuse_status add_result(bench_records *r, const bench_json_line *line, const source *from)
{
    static const struct {
        const char *name;
        size_t at;
    } figures[] = {
#define FIGURE(name) {#name, offsetof(bench_result_record, name)}
        FIGURE(wall_us), FIGURE(gpu_us), FIGURE(cold_us), FIGURE(sustained_us), FIGURE(enqueue_us),
        FIGURE(first_us), FIGURE(floor_us), FIGURE(launches), FIGURE(bytes), FIGURE(flops), FIGURE(max_err), FIGURE(tol)
#undef FIGURE
    };
    bench_result_record x = {.device = 0};
    const bench_json_member *ok = bench_json_find(line, "ok");
    LFUSE__TRY(device_of(r, line, from, &x.device));
    LFUSE__TRY(text_of(line, "case", true, &x.problem));
    LFUSE__TRY(text_of(line, "variant", true, &x.variant));
    LFUSE__TRY(text_of(line, "note", false, &x.note));
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        LFUSE__TRY(number_of(line, figures[i].name, (double *)((char *)&x + figures[i].at)));
    if (!ok || ok->kind != BENCH_JSON_BOOL) return lfuse__error(LFUSE_ERR_INVALID, "no member \"ok\", true or false");
    x.ok = ok->yes;
    for (int i = 0; i < r->nresults; i++) {
        bench_result_record *known = &r->results[i];
        if (known->device != x.device || strcmp(known->problem, x.problem)) continue;
        if (strcmp(known->variant, x.variant)) continue;
        *known = x;
        return LFUSE_OK;
    }
    if (r->nresults == MOST_RESULTS) return lfuse__error(LFUSE_ERR_INVALID, "more than %d results", MOST_RESULTS);
    LFUSE__TRY(grow(&r->results, r->nresults, sizeof x));
    x.order = r->nresults;
    r->results[r->nresults++] = x;
    return LFUSE_OK;
}

static lfuse_status add_skipped(bench_records *r, const bench_json_line *line, const source *from)
{
    bench_skipped_record x = {.device = 0};
    LFUSE__TRY(device_of(r, line, from, &x.device));
    LFUSE__TRY(text_of(line, "case", true, &x.problem));
    LFUSE__TRY(text_of(line, "variant", false, &x.variant));
    LFUSE__TRY(text_of(line, "reason", true, &x.reason));
    LFUSE__TRY(grow(&r->skipped, r->nskipped, sizeof x));
    r->skipped[r->nskipped++] = x;
    return LFUSE_OK;
}

static lfuse_status add_first(bench_records *r, const bench_json_line *line, const source *from)
{
    bench_first_record x = {.device = 0};
    LFUSE__TRY(device_of(r, line, from, &x.device));
    LFUSE__TRY(text_of(line, "case", true, &x.problem));
    LFUSE__TRY(text_of(line, "variant", false, &x.variant));
    LFUSE__TRY(number_of(line, "first_us", &x.first_us));
    LFUSE__TRY(number_of(line, "build_us", &x.build_us));
    LFUSE__TRY(number_of(line, "compiles", &x.compiles));
    LFUSE__TRY(grow(&r->first, r->nfirst, sizeof x));
    r->first[r->nfirst++] = x;
    return LFUSE_OK;
}

static bool same_epoch(const bench_epoch_record *a, const bench_epoch_record *b)
{
    return a->device == b->device && a->epoch == b->epoch && !strcmp(a->example, b->example) &&
           !strcmp(a->network, b->network);
}

static lfuse_status add_epoch(bench_records *r, const bench_json_line *line, const source *from)
{
    bench_epoch_record x = {.device = 0};
    int at = 0;
    LFUSE__TRY(device_of(r, line, from, &x.device));
    LFUSE__TRY(text_of(line, "example", true, &x.example));
    LFUSE__TRY(text_of(line, "network", false, &x.network));
    LFUSE__TRY(number_of(line, "epoch", &x.epoch));
    LFUSE__TRY(number_of(line, "loss", &x.loss));
    LFUSE__TRY(number_of(line, "accuracy", &x.accuracy));
    LFUSE__TRY(number_of(line, "held_loss", &x.held_loss));
    LFUSE__TRY(number_of(line, "held_accuracy", &x.held_accuracy));
    if (isnan(x.epoch)) return lfuse__error(LFUSE_ERR_INVALID, "no member \"epoch\", a number");
    while (at < r->nepochs && !same_epoch(&r->epochs[at], &x)) at++;
    if (at == MOST_RESULTS) return lfuse__error(LFUSE_ERR_INVALID, "more than %d epochs", MOST_RESULTS);
    if (at == r->nepochs) {
        LFUSE__TRY(grow(&r->epochs, r->nepochs, sizeof x));
        r->nepochs++;
    }
    r->epochs[at] = x;
    return LFUSE_OK;
}

static lfuse_status add_line(bench_records *r, char *text, size_t length, source *from)
{
    bench_json_line line;
    const char *type;
    LFUSE__TRY(bench_json_parse(text, length, &line));
    LFUSE__TRY(text_of(&line, "type", true, &type));
    if (!strcmp(type, "machine")) return add_machine(r, &line, from);
    if (!strcmp(type, "result")) return add_result(r, &line, from);
    if (!strcmp(type, "skipped")) return add_skipped(r, &line, from);
    if (!strcmp(type, "first")) return add_first(r, &line, from);
    if (!strcmp(type, "epoch")) return add_epoch(r, &line, from);
    if (!strcmp(type, "choice")) return LFUSE_OK; /* of --check-choices, which the page does not show */
    return lfuse__error(LFUSE_ERR_INVALID, "no line has the type \"%.60s\"", type);
}

/* ---- files ---- */

static lfuse_status slurp(const char *path, char **contents, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    size_t capacity = 0, n = 0;
    if (!file) return lfuse__error(LFUSE_ERR_IO, "%s: %s", path, strerror(errno));
    do {
        capacity = capacity ? 2 * capacity : 1 << 16;
        char *more = capacity <= MOST_BYTES ? realloc(data, capacity) : NULL;
        if (!more) break;
        data = more;
        n += fread(data + n, 1, capacity - 1 - n, file);
    } while (n == capacity - 1);
    const int code = ferror(file) ? errno : 0;
    const bool whole = feof(file);
    fclose(file);
    if (whole && !code && data) {
        data[n] = 0;
        *contents = data;
        *length = n;
        return LFUSE_OK;
    }
    free(data);
    return code ? lfuse__error(LFUSE_ERR_IO, "%s: %s", path, strerror(code))
                : lfuse__error(LFUSE_ERR_MEMORY, "%s: more than a report has room for", path);
}

static lfuse_status add_lines(bench_records *r, const char *path, char *at, size_t left)
{
    source from = {.n = 0};
    for (long number = 1; left; number++) {
        char *end = memchr(at, '\n', left);
        const size_t length = end ? (size_t)(end - at) : left;
        char why[256];
        lfuse_status status = add_line(r, at, length, &from);
        if (status) {
            snprintf(why, sizeof why, "%s", lfuse_last_error());
            return lfuse__error(status, "%s:%ld: %s", path, number, why);
        }
        at += length + (end != NULL);
        left -= length + (end != NULL);
    }
    return from.n ? LFUSE_OK : lfuse__error(LFUSE_ERR_INVALID, "%s:1: the file is empty", path);
}

lfuse_status bench_records_read(bench_records *r, const char *path)
{
    char *contents;
    size_t length;
    LFUSE__TRY(grow(&r->files, r->nfiles, sizeof *r->files));
    LFUSE__TRY(slurp(path, &contents, &length));
    r->files[r->nfiles++] = contents;
    return add_lines(r, path, contents, length);
}

void bench_records_label(bench_records *r)
{
    for (int i = 0; i < r->ndevices; i++) {
        bench_device_record *d = &r->devices[i];
        int twins = 0, clones = 0;
        for (int k = 0; k < r->ndevices; k++) {
            const bool twin = !strcmp(d->product, r->devices[k].product) && !strcmp(d->backend, r->devices[k].backend);
            twins += twin;
            clones += twin && !strcmp(d->device, r->devices[k].device);
        }
        const int n = snprintf(d->label, sizeof d->label, "%.60s, %.20s%s%.16s", d->product, d->backend,
                               twins > 1 ? " " : "", twins > 1 ? d->device : "");
        if (clones > 1 && n > 0 && (size_t)n < sizeof d->label)
            snprintf(d->label + n, sizeof d->label - (size_t)n, " (%d)", i + 1);
    }
}

static int digits(const char *text)
{
    return (int)strspn(text, "0123456789");
}

/* As names are, but numbers within by their value. */
static int compare_names(const char *a, const char *b)
{
    while (*a && *b) {
        const int m = digits(a), n = digits(b);
        if (m && n && m != n) return m - n;
        const int order = m && n ? strncmp(a, b, (size_t)m) : (*a > *b) - (*a < *b);
        if (order) return order;
        a += m && n ? m : 1;
        b += m && n ? n : 1;
    }
    return (*a != 0) - (*b != 0);
}

static int by_problem(const void *a, const void *b)
{
    const bench_result_record *x = a, *y = b;
    const int order = compare_names(x->problem, y->problem);
    return order ? order : x->order - y->order;
}

static int by_epoch(const void *a, const void *b)
{
    const bench_epoch_record *x = a, *y = b;
    int order = compare_names(x->example, y->example);
    if (!order) order = compare_names(x->network, y->network);
    if (!order) order = x->device - y->device;
    return order ? order : (x->epoch > y->epoch) - (x->epoch < y->epoch);
}

void bench_records_sort(bench_records *r)
{
    if (r->nepochs) qsort(r->epochs, (size_t)r->nepochs, sizeof *r->epochs, by_epoch);
    if (r->nresults) qsort(r->results, (size_t)r->nresults, sizeof *r->results, by_problem);
}

void bench_records_free(bench_records *r)
{
    for (int i = 0; i < r->nfiles; i++) free(r->files[i]);
    free(r->files);
    free(r->devices);
    free(r->results);
    free(r->skipped);
    free(r->first);
    free(r->epochs);
    *r = (bench_records){0};
}
