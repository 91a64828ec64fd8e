/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a report, each an element "figure" with its SVG and a caption. */
#ifndef BENCH_PAGE_FIGURES_H
#define BENCH_PAGE_FIGURES_H

#include "bench/page/records.h"
#include "common/base/strbuf.h"

enum { BENCH_ALL_DEVICES = -1 };

/*
 * The fastest verified variant that does the problem's work: no limit beside it, no bare call of a vendor's library, no
 * Strassen's product, which is less exact, and of a product none with an epilogue. NULL: the device has none.
 */
const bench_result_record *bench_fastest(const bench_records *r, int device, const char *problem);
/* Whether the result is of a product with an epilogue. */
bool bench_has_epilogue(const bench_result_record *x);

/*
 * Rate of the fastest variant of every problem of products against arithmetic intensity, under the device's limits;
 * nothing where there is no such problem.
 */
lfuse_status bench_figure_roofline(lfuse__strbuf *b, const bench_records *r, int device);
/*
 * Rate or time of problems that differ in one size alone: a figure for each such row of three sizes or more. Of one
 * device its variants without epilogue, of BENCH_ALL_DEVICES the fastest variant on each.
 */
lfuse_status bench_figure_sizes(lfuse__strbuf *b, const bench_records *r, int device);
/*
 * How much faster the fused variant of each problem is than the unfused, and what Strassen's algorithm is against it;
 * and what an epilogue costs a product.
 */
lfuse_status bench_figure_fused(lfuse__strbuf *b, const bench_records *r, int device);
/* The best variant of each problem on every device that has it: a figure for each suite. */
lfuse_status bench_figure_devices(lfuse__strbuf *b, const bench_records *r);

/* The losses of each training over its epochs, a figure for each network with curves for each device. */
lfuse_status bench_figure_losses(lfuse__strbuf *b, const bench_records *r);

void bench_figure_begin(lfuse__strbuf *b);
/* The caption, a printf format, is escaped as a whole. */
void bench_figure_end(lfuse__strbuf *b, const char *format, ...) LFUSE_PRINTF(2, 3);

#endif
