/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of labelled rows. */
#include <math.h>
#include <stdio.h>

#include "bench/page/html.h"
#include "bench/page/plot.h"

enum { WIDTH = 760, RIGHT = 24, ROW = 22, MOST_LABEL = 44, MOST_TICKS = 64 };
static const double character = 7.8;

/* Room for the labels at the left. */
static double label_width(const bench_row *rows, int nrows)
{
    int most = 8;
    for (int i = 0; i < nrows; i++) {
        const int length = bench_html_length(rows[i].label);
        if (length > most) most = length < MOST_LABEL ? length : MOST_LABEL;
    }
    return 16 + character * most;
}

static void draw_frame(lfuse__strbuf *b, const bench_labels *labels, const bench_row *rows, int nrows,
                       const bench_axis *x, double top)
{
    double ticks[MOST_TICKS], last = -INFINITY;
    const double bottom = top + ROW * nrows;
    const int n = bench_axis_ticks(x, ticks, MOST_TICKS);
    for (int i = 0; i < n; i++) {
        const double at = bench_axis_at(x, ticks[i]);
        bench_svg_line(b, "grid", at, top, at, bottom);
        if (at - last < 36) continue;
        bench_svg_tick(b, at, bottom + 18, "middle", ticks[i]);
        last = at;
    }
    for (int i = 0; i < nrows; i++)
        bench_svg_text(b, x->from - 10, top + ROW * (i + 0.5) + 4, "end", rows[i].label, MOST_LABEL);
    bench_svg_line(b, "axis", x->from, bottom, x->to, bottom);
    bench_svg_text(b, (x->from + x->to) / 2, bottom + 40, "middle", labels->x, 100);
}

static void draw_dots(lfuse__strbuf *b, const bench_row *row, int n, const bench_axis *x, double y)
{
    bench_axis ends = {.low = NAN, .high = NAN};
    for (int i = 0; i < n; i++) bench_axis_take(&ends, row->values[i]);
    if (ends.low < ends.high) bench_svg_line(b, "link", bench_axis_at(x, ends.low), y, bench_axis_at(x, ends.high), y);
    for (int i = 0; i < n; i++)
        if (row->values[i] > 0 && isfinite(row->values[i]))
            bench_svg_mark(b, i, bench_axis_at(x, row->values[i]), y, row->titles ? row->titles[i] : NULL);
}

static bool has_value(const bench_row *rows, int nrows, int i)
{
    for (int r = 0; r < nrows; r++)
        if (rows[r].values[i] > 0) return true;
    return false;
}

void bench_dots(lfuse__strbuf *b, const bench_labels *labels, const bench_row *rows, int nrows,
                const char *const *names, int n)
{
    lfuse__strbuf legend = LFUSE__STRBUF_INIT;
    bench_axis x = {.low = NAN, .high = NAN, .from = label_width(rows, nrows), .to = WIDTH - RIGHT};
    double top = 14;
    for (int i = 0; i < n; i++) {
        const bench_series s = {.name = names[i], .style = i};
        if (has_value(rows, nrows, i)) top += bench_svg_legend(&legend, &s, 1, x.from, top, x.to - x.from);
    }
    for (int r = 0; r < nrows; r++)
        for (int i = 0; i < n; i++) bench_axis_take(&x, rows[r].values[i]);
    bench_axis_widen(&x, 1.2);
    bench_svg_begin(b, WIDTH, top + ROW * nrows + 52, labels->title);
    draw_frame(b, labels, rows, nrows, &x, top);
    for (int r = 0; r < nrows; r++) draw_dots(b, &rows[r], n, &x, top + ROW * (r + 0.5));
    lfuse__strbuf_add(b, legend.data);
    if (legend.failed) b->failed = true;
    lfuse__strbuf_free(&legend);
    bench_svg_end(b);
}

static void draw_bar(lfuse__strbuf *b, const bench_row *row, const bench_axis *x, double y)
{
    char text[32];
    const double value = row->values[0], zero = bench_axis_at(x, 1), at = bench_axis_at(x, value);
    const double left = at < zero ? at : zero, right = at < zero ? zero : at;
    lfuse__strbuf_format(b, "<rect class=\"bar s%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"14\">", value < 1,
                         left, y - 7, right - left);
    if (row->titles && row->titles[0]) {
        lfuse__strbuf_add(b, "<title>");
        bench_html_text(b, row->titles[0]);
        lfuse__strbuf_add(b, "</title>");
    }
    lfuse__strbuf_add(b, "</rect>\n");
    snprintf(text, sizeof text, value < 10 ? "%.2f" : "%.1f", value);
    bench_svg_text(b, right + 6, y + 4, "start", text, (int)sizeof text);
}

void bench_bars(lfuse__strbuf *b, const bench_labels *labels, const bench_row *rows, int nrows)
{
    const double top = 8;
    bench_axis x = {.low = 1, .high = 1.1, .from = label_width(rows, nrows), .to = WIDTH - RIGHT - 44};
    for (int r = 0; r < nrows; r++) bench_axis_take(&x, rows[r].values[0]);
    bench_axis_widen(&x, 1.05);
    bench_svg_begin(b, WIDTH, top + ROW * nrows + 52, labels->title);
    draw_frame(b, labels, rows, nrows, &x, top);
    for (int r = 0; r < nrows; r++)
        if (rows[r].values[0] > 0 && isfinite(rows[r].values[0])) draw_bar(b, &rows[r], &x, top + ROW * (r + 0.5));
    bench_svg_line(b, "axis", bench_axis_at(&x, 1), top, bench_axis_at(&x, 1), top + ROW * nrows);
    bench_svg_end(b);
}
