/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/page/page.h"

#include <math.h>

#include "bench/page/figures.h"
#include "bench/page/html.h"

/* Colours of a light ground and of a dark one; the eight of the series differ in brightness too. */
static const char head[] =
    "<!DOCTYPE html>\n"
    "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>lfuse-bench report</title>\n"
    "<style>\n"
    ":root { color-scheme: light dark; --ground: #ffffff; --ink: #1c2024; --faint: #667078; --rule: #d9dde1;\n"
    "  --c0: #0b62a4; --c1: #c2410c; --c2: #0f766e; --c3: #7c3aed; --c4: #b4236b; --c5: #5b6b12; --c6: #8a5a00;\n"
    "  --c7: #475569; --bad: #b00020; }\n"
    "@media (prefers-color-scheme: dark) { :root { --ground: #14171a; --ink: #e6e9ec; --faint: #98a2ab;\n"
    "  --rule: #353c43; --c0: #6cb6ff; --c1: #ff9e64; --c2: #4fd1c5; --c3: #b79cff; --c4: #ff7eb6; --c5: #c3d94e;\n"
    "  --c6: #e8b93a; --c7: #a8b3c5; --bad: #ff6b7d; } }\n"
    "body { background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto;\n"
    "  max-width: 62rem; padding: 0 1rem; }\n"
    "h1, h2 { line-height: 1.2; } h2 { border-top: 1px solid var(--rule); padding-top: 1.5rem; margin-top: 3rem; }\n"
    "figure { margin: 1.5rem 0 2.5rem; } figcaption, .faint { color: var(--faint); font-size: 0.9rem; }\n"
    "svg { max-width: 100%; height: auto; display: block; } svg text { fill: var(--ink); font-size: 12px;\n"
    "  font-family: system-ui, sans-serif; }\n"
    ".grid { stroke: var(--rule); } .axis { stroke: var(--faint); } .link { stroke: var(--faint); }\n"
    ".line { fill: none; stroke-width: 1.8; } .roof { fill: none; stroke: var(--ink); stroke-width: 1.5;\n"
    "  stroke-dasharray: 6 4; } .mark { stroke: var(--ground); stroke-width: 0.8; } .bar { stroke: none; }\n"
    ".line.s0 { stroke: var(--c0); } .line.s1 { stroke: var(--c1); } .line.s2 { stroke: var(--c2); }\n"
    ".line.s3 { stroke: var(--c3); } .line.s4 { stroke: var(--c4); } .line.s5 { stroke: var(--c5); }\n"
    ".line.s6 { stroke: var(--c6); } .line.s7 { stroke: var(--c7); }\n"
    ".mark.s0, .bar.s0 { fill: var(--c0); } .mark.s1, .bar.s1 { fill: var(--c1); } .mark.s2 { fill: var(--c2); }\n"
    ".mark.s3 { fill: var(--c3); } .mark.s4 { fill: var(--c4); } .mark.s5 { fill: var(--c5); }\n"
    ".mark.s6 { fill: var(--c6); } .mark.s7 { fill: var(--c7); }\n"
    ".wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 0.85rem; }\n"
    "th, td { padding: 0.15rem 0.6rem; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap;\n"
    "  font-variant-numeric: tabular-nums; } th.t, td.t { text-align: left; }\n"
    ".devices { width: 100%; } .devices td, .devices th { white-space: normal; padding: 0.15rem 0.4rem; }\n"
    "td.n { white-space: normal; min-width: 9rem; }\n"
    ".bad { color: var(--bad); font-weight: bold; } summary { cursor: pointer; margin: 0.5rem 0; }\n"
    "</style>\n</head>\n<body>\n<h1>lfuse-bench report</h1>\n"
    "<p>Every figure is of a result that was verified on the host first. Times are medians in microseconds. Device\n"
    "time is cold_us, over buffers that rotate through more than three times the last-level cache, where that was\n"
    "measured, and gpu_us, over the same buffers, elsewhere; on CPUs it is wall time. Both are of bursts;\n"
    "sustained_us is of products on a GPU that has been busy. See lfuse-bench(1).</p>\n";

static void text_cell(lfuse__strbuf *b, const char *text)
{
    lfuse__strbuf_add(b, "<td class=\"t\">");
    bench_html_text(b, text);
    lfuse__strbuf_add(b, "</td>");
}

static void number_cell(lfuse__strbuf *b, double x)
{
    lfuse__strbuf_add(b, "<td>");
    bench_html_number(b, x);
    lfuse__strbuf_add(b, "</td>");
}

static void heading(lfuse__strbuf *b, const char *text)
{
    lfuse__strbuf_add(b, "<h2>");
    bench_html_text(b, text);
    lfuse__strbuf_add(b, "</h2>\n");
}

static void machines(lfuse__strbuf *b, const bench_records *r)
{
    heading(b, "Devices");
    lfuse__strbuf_add(b, "<div class=\"wide\"><table class=\"devices\">\n<tr><th class=\"t\">device</th>"
                      "<th class=\"t\">name</th><th class=\"t\">driver</th><th class=\"t\">compiler</th>"
                      "<th class=\"t\">products</th>"
                      "<th class=\"t\">library</th><th>copy GB/s</th><th>f32 product GFLOP/s</th>"
                      "<th>empty launch us</th></tr>\n");
    for (int i = 0; i < r->ndevices; i++) {
        const bench_device_record *d = &r->devices[i];
        lfuse__strbuf_add(b, "<tr>");
        text_cell(b, d->label);
        text_cell(b, d->device);
        text_cell(b, d->driver);
        text_cell(b, d->compiler);
        text_cell(b, d->gemm);
        text_cell(b, d->library);
        number_cell(b, d->copy_gbs);
        number_cell(b, d->gemm_gflops);
        number_cell(b, d->empty_us);
        lfuse__strbuf_add(b, "</tr>\n");
    }
    lfuse__strbuf_add(b, "</table></div>\n");
}

static void verdict_cell(lfuse__strbuf *b, const bench_result_record *x)
{
    if (!x->ok) {
        lfuse__strbuf_add(b, "<td class=\"t bad\">WRONG</td>");
        return;
    }
    lfuse__strbuf_add(b, "<td class=\"t\">ok</td>");
}

static void result_row(lfuse__strbuf *b, const bench_result_record *x)
{
    const double us = bench_device_us(x);
    const double times[] = {x->wall_us, x->gpu_us, x->cold_us, x->sustained_us, x->enqueue_us, x->first_us,
                            x->floor_us, x->launches, bench_gflops(x),
                            x->bytes > 0 ? 1e-3 * x->bytes / us : (double)NAN,
                            x->tol > 0 ? x->max_err / x->tol : (double)NAN};
    lfuse__strbuf_add(b, "<tr>");
    text_cell(b, x->problem);
    text_cell(b, x->variant);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) number_cell(b, times[i]);
    verdict_cell(b, x);
    lfuse__strbuf_add(b, "<td class=\"t n\">");
    bench_html_text(b, x->note);
    lfuse__strbuf_add(b, "</td></tr>\n");
}

/* Devices of trainings alone have no table. */
static bool was_measured(const bench_records *r, int device)
{
    for (int i = 0; i < r->nresults; i++)
        if (r->results[i].device == device) return true;
    for (int i = 0; i < r->nskipped; i++)
        if (r->skipped[i].device == device) return true;
    return !r->nepochs;
}

static void results(lfuse__strbuf *b, const bench_records *r, int device)
{
    if (!was_measured(r, device)) return;
    lfuse__strbuf_add(b, "<details open=\"open\"><summary>");
    bench_html_text(b, r->devices[device].label);
    lfuse__strbuf_add(b, "</summary>\n<div class=\"wide\"><table>\n<tr><th class=\"t\">problem</th>"
                      "<th class=\"t\">variant</th><th>wall us</th><th>gpu us</th><th>cold us</th>"
                      "<th>sustained us</th><th>enqueue us</th>"
                      "<th>first us</th><th>floor us</th><th>launches</th><th>GFLOP/s</th><th>GB/s</th>"
                      "<th>error / bound</th><th class=\"t\">verified</th><th class=\"t\">note</th></tr>\n");
    for (int i = 0; i < r->nresults; i++)
        if (r->results[i].device == device) result_row(b, &r->results[i]);
    lfuse__strbuf_add(b, "</table></div>\n</details>\n");
}

static void skipped(lfuse__strbuf *b, const bench_records *r, int device)
{
    bool any = false;
    for (int i = 0; i < r->nskipped; i++) {
        if (r->skipped[i].device != device) continue;
        if (!any) lfuse__strbuf_add(b, "<p class=\"faint\">Skipped:</p>\n<ul class=\"faint\">\n");
        any = true;
        lfuse__strbuf_add(b, "<li>");
        bench_html_text(b, r->skipped[i].problem);
        if (*r->skipped[i].variant) {
            lfuse__strbuf_add(b, " ");
            bench_html_text(b, r->skipped[i].variant);
        }
        lfuse__strbuf_add(b, ": ");
        bench_html_text(b, r->skipped[i].reason);
        lfuse__strbuf_add(b, "</li>\n");
    }
    if (any) lfuse__strbuf_add(b, "</ul>\n");
}

static void first_use(lfuse__strbuf *b, const bench_records *r)
{
    if (!r->nfirst) return;
    heading(b, "First result of a process");
    lfuse__strbuf_add(b, "<div class=\"wide\"><table>\n<tr><th class=\"t\">device</th><th class=\"t\">case</th>"
                      "<th class=\"t\">variant</th><th>first us</th><th>of it compiling us</th>"
                      "<th>kernels compiled</th></tr>\n");
    for (int i = 0; i < r->nfirst; i++) {
        lfuse__strbuf_add(b, "<tr>");
        text_cell(b, r->devices[r->first[i].device].label);
        text_cell(b, r->first[i].problem);
        text_cell(b, r->first[i].variant);
        number_cell(b, r->first[i].first_us);
        number_cell(b, r->first[i].build_us);
        number_cell(b, r->first[i].compiles);
        lfuse__strbuf_add(b, "</tr>\n");
    }
    lfuse__strbuf_add(b, "</table></div>\n");
}

static lfuse_status device_figures(lfuse__strbuf *b, const bench_records *r, int device)
{
    lfuse__strbuf figures = LFUSE__STRBUF_INIT;
    lfuse_status status = bench_figure_roofline(&figures, r, device);
    if (!status) status = bench_figure_sizes(&figures, r, device);
    if (!status) status = bench_figure_fused(&figures, r, device);
    if (figures.length) heading(b, r->devices[device].label);
    lfuse__strbuf_add(b, figures.data);
    if (figures.failed) b->failed = true;
    lfuse__strbuf_free(&figures);
    return status;
}

lfuse_status bench_page_text(lfuse__strbuf *b, const bench_records *r)
{
    lfuse__strbuf compared = LFUSE__STRBUF_INIT;
    lfuse__strbuf_add(b, head);
    machines(b, r);
    lfuse_status status = bench_figure_devices(&compared, r);
    if (!status && r->ndevices > 1) status = bench_figure_sizes(&compared, r, BENCH_ALL_DEVICES);
    if (compared.length) heading(b, "Device against device");
    lfuse__strbuf_add(b, compared.data);
    if (compared.failed) b->failed = true;
    lfuse__strbuf_free(&compared);
    for (int d = 0; d < r->ndevices && !status; d++) status = device_figures(b, r, d);
    if (r->nepochs) heading(b, "Trainings");
    if (!status) status = bench_figure_losses(b, r);
    heading(b, "All figures");
    for (int d = 0; d < r->ndevices; d++) {
        results(b, r, d);
        skipped(b, r, d);
    }
    first_use(b, r);
    lfuse__strbuf_add(b, "</body>\n</html>\n");
    return status ? status : lfuse__strbuf_check(b);
}
