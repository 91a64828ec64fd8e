/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/page/plot.h"

#include <math.h>
#include <stdio.h>

#include "bench/page/html.h"

enum { WIDTH = 760, LEFT = 74, RIGHT = 24, PLOT_HEIGHT = 300, MOST_TICKS = 64, LINE_HEIGHT = 20, MOST_NAME = 40 };
static const double character = 7.8; /* pixels, a little more than most are */

/* ---- axes ---- */

bool bench_axis_has(const bench_axis *a, double value)
{
    return isfinite(value) && (a->linear ? value >= 0 : value > 0);
}

void bench_axis_take(bench_axis *a, double value)
{
    if (!bench_axis_has(a, value)) return;
    if (!(a->low <= value)) a->low = value;
    if (!(a->high >= value)) a->high = value;
}

void bench_axis_widen(bench_axis *a, double factor)
{
    if (isnan(a->low)) a->low = a->high = 1;
    if (a->linear) {
        const double room = a->low < a->high ? (a->high - a->low) / 40 : 1;
        a->low -= room;
        a->high += room;
        return;
    }
    a->low /= factor;
    a->high *= factor;
}

double bench_axis_at(const bench_axis *a, double value)
{
    const double part = a->linear ? (value - a->low) / (a->high - a->low) : log(value / a->low) / log(a->high / a->low);
    return a->from + (a->to - a->from) * part;
}

int bench_axis_ticks(const bench_axis *a, double *ticks, int most)
{
    static const double coarse[] = {1, 2, 5}, fine[] = {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9};
    const double decades = log10(a->high / a->low), *steps = decades < 0.9 ? fine : coarse;
    const int first = (int)floor(log10(a->low)), last = (int)ceil(log10(a->high));
    const int each = decades < 0.9 ? 12 : decades < 3.5 ? 3 : 1, stride = decades > 12 ? (int)ceil(decades / 12) : 1;
    int n = 0;
    for (int power = first; power <= last; power += stride)
        for (int i = 0; i < each; i++) {
            const double tick = steps[i] * pow(10, power);
            if (tick >= a->low && tick <= a->high && n < most) ticks[n++] = tick;
        }
    return n;
}

/* ---- parts ---- */

void bench_svg_begin(lfuse__strbuf *b, double width, double height, const char *title)
{
    lfuse__strbuf_format(b, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 %.0f %.0f\" "
                         "width=\"%.0f\" height=\"%.0f\">\n<title>", width, height, width, height);
    bench_html_text(b, title);
    lfuse__strbuf_add(b, "</title>\n");
}

void bench_svg_end(lfuse__strbuf *b)
{
    lfuse__strbuf_add(b, "</svg>\n");
}

void bench_svg_text(lfuse__strbuf *b, double x, double y, const char *anchor, const char *text, int most)
{
    lfuse__strbuf_format(b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    if (bench_html_length(text) > most) {
        lfuse__strbuf_add(b, "<title>");
        bench_html_text(b, text);
        lfuse__strbuf_add(b, "</title>");
    }
    bench_html_short(b, text, most);
    lfuse__strbuf_add(b, "</text>\n");
}

void bench_svg_tick(lfuse__strbuf *b, double x, double y, const char *anchor, double value)
{
    char text[32];
    if (value >= 1e15 || (value > 0 && value < 1e-4)) snprintf(text, sizeof text, "%.0e", value);
    else if (value >= 1e12) snprintf(text, sizeof text, "%.4gT", value / 1e12);
    else if (value >= 1e9) snprintf(text, sizeof text, "%.4gG", value / 1e9);
    else if (value >= 1e6) snprintf(text, sizeof text, "%.4gM", value / 1e6);
    else if (value >= 1e5) snprintf(text, sizeof text, "%.4gk", value / 1e3);
    else snprintf(text, sizeof text, "%.6g", value);
    bench_svg_text(b, x, y, anchor, text, (int)sizeof text);
}

void bench_svg_line(lfuse__strbuf *b, const char *class, double x1, double y1, double x2, double y2)
{
    lfuse__strbuf_format(b, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x1, y1, x2,
                         y2);
}

void bench_svg_mark(lfuse__strbuf *b, int style, double x, double y, const char *title)
{
    static const char *const forms[BENCH_STYLES] = {
        NULL, "M-4-4H4V4H-4Z", "M0-5L5 4H-5Z", "M0-5.5L5.5 0L0 5.5L-5.5 0Z", "M0 5L5-4H-5Z",
        "M-1.5-5H1.5V-1.5H5V1.5H1.5V5H-1.5V1.5H-5V-1.5H-1.5Z", "M-5-3L-3-5L0-2L3-5L5-3L2 0L5 3L3 5L0 2L-3 5L-5 3L-2 0Z",
        "M0-5.5L5-2L3 4.5H-3L-5-2Z"};
    const int known = style % BENCH_STYLES;
    if (forms[known])
        lfuse__strbuf_format(b, "<path class=\"mark s%d\" transform=\"translate(%.1f %.1f)\" d=\"%s\">", known, x, y,
                             forms[known]);
    else lfuse__strbuf_format(b, "<path class=\"mark s%d\" transform=\"translate(%.1f %.1f)\" d=\"%s\">", known, x, y,
                              "M-4.5 0A4.5 4.5 0 1 1 4.5 0A4.5 4.5 0 1 1-4.5 0Z");
    if (title) {
        lfuse__strbuf_add(b, "<title>");
        bench_html_text(b, title);
        lfuse__strbuf_add(b, "</title>");
    }
    lfuse__strbuf_add(b, "</path>\n");
}

double bench_svg_legend(lfuse__strbuf *b, const bench_series *series, int n, double x, double y, double width)
{
    double at = x, line = y;
    for (int i = 0; i < n; i++) {
        const int length = bench_html_length(series[i].name);
        const double wide = 34 + character * (length < MOST_NAME ? length : MOST_NAME);
        if (at > x && at + wide > x + width) at = x, line += LINE_HEIGHT;
        if (series[i].roof) bench_svg_line(b, "roof", at, line, at + 18, line);
        else bench_svg_mark(b, series[i].style, at + 9, line, NULL);
        bench_svg_text(b, at + 24, line + 4, "start", series[i].name, MOST_NAME);
        at += wide;
    }
    return line - y + LINE_HEIGHT;
}

/* ---- points and lines ---- */

static bool is_shown(const bench_point *p, const bench_axis *x)
{
    return bench_axis_has(x, p->x) && p->y > 0 && isfinite(p->y);
}

static void draw_line(lfuse__strbuf *b, const bench_series *s, const bench_axis *x, const bench_axis *y)
{
    bool begun = false;
    for (int i = 0; i < s->n; i++) {
        const bench_point *p = &s->points[i];
        if (!is_shown(p, x)) continue;
        if (!begun && s->roof) lfuse__strbuf_add(b, "<polyline class=\"roof\" points=\"");
        else if (!begun) lfuse__strbuf_format(b, "<polyline class=\"line s%d\" points=\"", s->style % BENCH_STYLES);
        lfuse__strbuf_format(b, "%s%.1f,%.1f", begun ? " " : "", bench_axis_at(x, p->x), bench_axis_at(y, p->y));
        begun = true;
    }
    if (begun) lfuse__strbuf_add(b, "\"/>\n");
}

static void draw_series(lfuse__strbuf *b, const bench_series *s, const bench_axis *x, const bench_axis *y)
{
    if (s->line) draw_line(b, s, x, y);
    for (int i = 0; i < s->n && s->marks; i++)
        if (is_shown(&s->points[i], x))
            bench_svg_mark(b, s->style, bench_axis_at(x, s->points[i].x), bench_axis_at(y, s->points[i].y),
                           s->points[i].title);
}

/* The values that occur, ascending, those left out that would be written over the one before. */
static int size_ticks(const bench_axis *a, const bench_series *series, int n, double *ticks)
{
    double last = -1;
    int count = 0;
    while (count < MOST_TICKS) {
        double least = INFINITY;
        for (int s = 0; s < n; s++)
            for (int i = 0; i < series[s].n; i++)
                if (is_shown(&series[s].points[i], a) && series[s].points[i].x > last && series[s].points[i].x < least)
                    least = series[s].points[i].x;
        if (isinf(least)) break;
        last = least;
        if (!count || bench_axis_at(a, least) - bench_axis_at(a, ticks[count - 1]) > 36) ticks[count++] = least;
    }
    return count;
}

static void draw_axes(lfuse__strbuf *b, const bench_labels *labels, const bench_axis *x, const bench_axis *y,
                      const double *x_ticks, int n)
{
    double ticks[MOST_TICKS];
    const int m = bench_axis_ticks(y, ticks, MOST_TICKS);
    for (int i = 0; i < m; i++) {
        bench_svg_line(b, "grid", x->from, bench_axis_at(y, ticks[i]), x->to, bench_axis_at(y, ticks[i]));
        bench_svg_tick(b, x->from - 8, bench_axis_at(y, ticks[i]) + 4, "end", ticks[i]);
    }
    for (int i = 0; i < n; i++) {
        bench_svg_line(b, "grid", bench_axis_at(x, x_ticks[i]), y->from, bench_axis_at(x, x_ticks[i]), y->to);
        bench_svg_tick(b, bench_axis_at(x, x_ticks[i]), y->from + 18, "middle", x_ticks[i]);
    }
    bench_svg_line(b, "axis", x->from, y->from, x->to, y->from);
    bench_svg_line(b, "axis", x->from, y->from, x->from, y->to);
    bench_svg_text(b, (x->from + x->to) / 2, y->from + 40, "middle", labels->x, 100);
    lfuse__strbuf_format(b, "<g transform=\"translate(16 %.1f) rotate(-90)\">", (y->from + y->to) / 2);
    bench_svg_text(b, 0, 0, "middle", labels->y, 60);
    lfuse__strbuf_add(b, "</g>\n");
}

void bench_plot(lfuse__strbuf *b, const bench_labels *labels, const bench_series *series, int n, bench_scale scale)
{
    lfuse__strbuf legend = LFUSE__STRBUF_INIT;
    double ticks[MOST_TICKS];
    const bool marked = scale != BENCH_SCALE_RATES;
    bench_axis x = {NAN, NAN, LEFT, WIDTH - RIGHT, scale == BENCH_SCALE_STEPS}, y = {.low = NAN, .high = NAN};
    const double top = 14 + bench_svg_legend(&legend, series, n, LEFT, 14, WIDTH - LEFT - RIGHT);
    for (int s = 0; s < n; s++)
        for (int i = 0; i < series[s].n; i++) {
            if (!is_shown(&series[s].points[i], &x)) continue;
            bench_axis_take(&x, series[s].points[i].x);
            bench_axis_take(&y, series[s].points[i].y);
        }
    bench_axis_widen(&x, marked ? 1.15 : 1);
    bench_axis_widen(&y, 1.25);
    if (!(x.low < x.high)) bench_axis_widen(&x, 2);
    y.from = top + PLOT_HEIGHT;
    y.to = top;
    bench_svg_begin(b, WIDTH, y.from + 52, labels->title);
    const int count = marked ? size_ticks(&x, series, n, ticks) : bench_axis_ticks(&x, ticks, MOST_TICKS);
    draw_axes(b, labels, &x, &y, ticks, count);
    for (int s = 0; s < n; s++) draw_series(b, &series[s], &x, &y);
    lfuse__strbuf_add(b, legend.data);
    if (legend.failed) b->failed = true;
    lfuse__strbuf_free(&legend);
    bench_svg_end(b);
}
