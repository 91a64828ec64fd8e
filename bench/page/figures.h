/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a report, each an element "figure" with its SVG and a caption. */
#ifndef BENCH_PAGE_FIGURES_H
#define BENCH_PAGE_FIGURES_H

#include "bench/page/records.h"
#include "common/base/strbuf.h"

/* Rate against arithmetic intensity, under the device's limits; nothing where no problem of it is of products. */
lfuse_status bench_figure_roofline(lfuse__strbuf *b, const bench_records *r, int device);
/* Rate or time of problems that differ in one size alone: a figure for each such row of three sizes or more. */
lfuse_status bench_figure_sizes(lfuse__strbuf *b, const bench_records *r, int device);
/* How much faster the fused variant of each problem is than the unfused; and what an epilogue costs a product. */
lfuse_status bench_figure_fused(lfuse__strbuf *b, const bench_records *r, int device);
/* The best variant of each problem on every device that has it: a figure for each suite. */
lfuse_status bench_figure_devices(lfuse__strbuf *b, const bench_records *r);

void bench_figure_begin(lfuse__strbuf *b);
/* The caption, a printf format, is escaped as a whole. */
void bench_figure_end(lfuse__strbuf *b, const char *format, ...) LFUSE_PRINTF(2, 3);

#endif
