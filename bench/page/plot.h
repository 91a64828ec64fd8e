/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures as SVG, drawn in the colours of the page's style sheet (classes s0 to s7, roof, grid, axis): readable on a
 * light and on a dark ground, and by the forms of the marks without colours. Nothing outside is referred to.
 */
#ifndef BENCH_PAGE_PLOT_H
#define BENCH_PAGE_PLOT_H

#include <stdbool.h>

#include "common/base/strbuf.h"

enum { BENCH_STYLES = 8 };

typedef struct bench_point {
    double x, y;       /* NAN: left out */
    const char *title; /* what the point is, in full, or NULL */
} bench_point;

typedef struct bench_series {
    const char *name;
    int style;       /* 0 to BENCH_STYLES - 1 */
    bool line, marks;
    bool roof;       /* a limit: a line of its own colour */
    int n;
    const bench_point *points; /* in the order of the line */
} bench_series;

typedef struct bench_labels {
    const char *title, *x, *y;
} bench_labels;

/* The horizontal axis: a logarithmic one; one that is marked at the values that occur; a linear one that is so. */
typedef enum bench_scale { BENCH_SCALE_RATES, BENCH_SCALE_SIZES, BENCH_SCALE_STEPS } bench_scale;

/*
 * Points and lines over a vertical axis that is logarithmic. Values that are not above 0 are left out, but for steps,
 * which may be 0.
 */
void bench_plot(lfuse__strbuf *b, const bench_labels *labels, const bench_series *series, int n, bench_scale scale);

/* A labelled row: a value of each series, NAN where there is none. */
typedef struct bench_row {
    const char *label;
    const double *values;
    const char *const *titles; /* of each value, or NULL */
} bench_row;

/*
 * The values of each row as marks on one line, over a logarithmic axis. `names` of the `n` series, of which those that
 * have no value are left out.
 */
void bench_dots(lfuse__strbuf *b, const bench_labels *labels, const bench_row *rows, int nrows,
                const char *const *names, int n);
/* The one value of each row, a ratio, as a bar from 1, with the number behind it. */
void bench_bars(lfuse__strbuf *b, const bench_labels *labels, const bench_row *rows, int nrows);

/* ---- what the figures are drawn of (plot.c) ---- */

/* An axis from pixel `from` to pixel `to`, logarithmic unless it is linear. */
typedef struct bench_axis {
    double low, high; /* of the values, with some room; low < high */
    double from, to;
    bool linear;
} bench_axis;

/* Whether a value has a place on the axis. */
bool bench_axis_has(const bench_axis *a, double value);
/* Takes a value in; start with both ends NAN. Then the room is added: the factor's, and of a linear axis a little. */
void bench_axis_take(bench_axis *a, double value);
void bench_axis_widen(bench_axis *a, double factor);
double bench_axis_at(const bench_axis *a, double value);
/* Marks of 1, 2 and 5 times powers of ten, of the powers alone where these would be many; `most` is the room. */
int bench_axis_ticks(const bench_axis *a, double *ticks, int most);

void bench_svg_begin(lfuse__strbuf *b, double width, double height, const char *title);
void bench_svg_end(lfuse__strbuf *b);
void bench_svg_text(lfuse__strbuf *b, double x, double y, const char *anchor, const char *text, int most);
void bench_svg_tick(lfuse__strbuf *b, double x, double y, const char *anchor, double value);
void bench_svg_line(lfuse__strbuf *b, const char *class, double x1, double y1, double x2, double y2);
/* The mark of a style, with its title where there is one. */
void bench_svg_mark(lfuse__strbuf *b, int style, double x, double y, const char *title);
/* Names beside their marks, in as many lines as they need; the height of these. */
double bench_svg_legend(lfuse__strbuf *b, const bench_series *series, int n, double x, double y, double width);

#endif
