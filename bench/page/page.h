/* SPDX-License-Identifier: Apache-2.0 */
/* The report: one page of HTML that is XML too, with everything in it. */
#ifndef BENCH_PAGE_PAGE_H
#define BENCH_PAGE_PAGE_H

#include "bench/page/records.h"
#include "common/base/strbuf.h"

/* The page of what was read. */
lfuse_status bench_page_text(lfuse__strbuf *b, const bench_records *r);
/*
 * Reads the files and writes `folder`/index.html, making the folder where there is none. The page is written under
 * another name and renamed: what was there stays until the new page is whole. Errors: those of bench_records_read;
 * ERR_IO.
 */
lfuse_status bench_page_write(const char *folder, int nfiles, char *const *files);

#endif
