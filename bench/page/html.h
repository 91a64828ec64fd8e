/* SPDX-License-Identifier: Apache-2.0 */
/* Text for a page that is XML as well as HTML. */
#ifndef BENCH_PAGE_HTML_H
#define BENCH_PAGE_HTML_H

#include "common/base/strbuf.h"

/*
 * Appends text, whatever it is, as character data or as the value of an attribute in quotes: markup is escaped, and
 * what is no UTF-8 or no character of XML becomes U+FFFD.
 */
void bench_html_text(lfuse__strbuf *b, const char *text);
/* The same, of at most `most` characters: the end of longer texts is an ellipsis. */
void bench_html_short(lfuse__strbuf *b, const char *text, int most);
/*
 * Appends markup with line ends where they change nothing, the first after 90 columns: in the place of spaces (between
 * words, attributes and numbers), and behind cells and titles.
 */
void bench_html_wrap(lfuse__strbuf *b, const char *markup);
/* Characters of the text. */
int bench_html_length(const char *text);
/* A number with three or four digits that tell: 0.0123, 12.3, 4096, 1.23e+06; "-" for NAN. */
void bench_html_number(lfuse__strbuf *b, double x);

#endif
