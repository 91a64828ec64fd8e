/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of losses over the epochs of trainings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/page/figures.h"
#include "bench/page/plot.h"
#include "common/base/error.h"

enum { TITLE = 192, NAME = 160 };

/* The curves of one figure: at most two for each device, with a point for each epoch. */
typedef struct curves {
    int n, npoints;
    bench_series *series;
    char (*names)[NAME];
    bench_point *points;
    char (*titles)[TITLE];
} curves;

static void curves_free(curves *c)
{
    free(c->series);
    free(c->names);
    free(c->points);
    free(c->titles);
}

static lfuse_status curves_make(curves *c, const bench_records *r)
{
    const size_t series = 2 * (size_t)r->ndevices, points = 2 * (size_t)r->nepochs;
    *c = (curves){.series = calloc(series, sizeof *c->series), .names = calloc(series, sizeof *c->names),
                  .points = calloc(points, sizeof *c->points), .titles = calloc(points, sizeof *c->titles)};
    if (c->series && c->names && c->points && c->titles) return LFUSE_OK;
    curves_free(c);
    return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for curves of %d epochs", r->nepochs);
}

static void add_point(curves *c, const bench_epoch_record *e, const char *name, double loss, double accuracy)
{
    char *title = c->titles[c->npoints];
    const int length = snprintf(title, TITLE, "%.120s, epoch %.15g: loss %.6g", name, e->epoch, loss);
    if (!isnan(accuracy)) snprintf(title + length, (size_t)(TITLE - length), ", %.4g %% right", 100 * accuracy);
    c->points[c->npoints++] = (bench_point){e->epoch, loss, title};
}

/* Of the epochs of one network on one device; nothing where none has the loss. */
static void add_curve(curves *c, const bench_records *r, int first, int end, bool held)
{
    char *name = c->names[c->n];
    const int begin = c->npoints;
    snprintf(name, NAME, "%.127s, %s", r->devices[r->epochs[first].device].label, held ? "held out" : "training");
    for (int i = first; i < end; i++) {
        const bench_epoch_record *e = &r->epochs[i];
        const double loss = held ? e->held_loss : e->loss;
        if (!isnan(loss)) add_point(c, e, name, loss, held ? e->held_accuracy : e->accuracy);
    }
    if (c->npoints == begin) return;
    c->series[c->n] = (bench_series){.name = name, .style = c->n, .line = true, .marks = true,
                                     .n = c->npoints - begin, .points = c->points + begin};
    c->n++;
}

static bool same_training(const bench_epoch_record *a, const bench_epoch_record *b)
{
    return !strcmp(a->example, b->example) && !strcmp(a->network, b->network);
}

static void draw(lfuse__strbuf *b, const curves *c, const bench_epoch_record *of)
{
    char title[TITLE];
    const bench_labels labels = {title, "epochs", "loss"};
    snprintf(title, sizeof title, "Losses of %.60s%s%.60s", of->example, *of->network ? ", " : "", of->network);
    bench_figure_begin(b);
    bench_plot(b, &labels, c->series, c->n, BENCH_SCALE_STEPS);
    bench_figure_end(b, "%s, as the program wrote them: before the first epoch and after each, of what the network "
                     "learns from and of what is held out. Nothing verifies them here.", title);
}

/* The epochs of one network, on all devices. */
static void figure(lfuse__strbuf *b, curves *c, const bench_records *r, int first, int end)
{
    c->n = c->npoints = 0;
    for (int i = first, next; i < end; i = next) {
        for (next = i; next < end && r->epochs[next].device == r->epochs[i].device;) next++;
        add_curve(c, r, i, next, false);
        add_curve(c, r, i, next, true);
    }
    if (c->n) draw(b, c, &r->epochs[first]);
}

lfuse_status bench_figure_losses(lfuse__strbuf *b, const bench_records *r)
{
    curves c;
    if (!r->nepochs) return LFUSE_OK;
    LFUSE__TRY(curves_make(&c, r));
    for (int first = 0, end; first < r->nepochs; first = end) {
        for (end = first; end < r->nepochs && same_training(&r->epochs[first], &r->epochs[end]);) end++;
        figure(b, &c, r, first, end);
    }
    curves_free(&c);
    return LFUSE_OK;
}
