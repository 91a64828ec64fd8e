/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/page/html.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* The character that *text begins with, which is stepped over; U+FFFD for a byte that begins none of XML's. */
static unsigned next(const unsigned char **text)
{
    const unsigned char *t = *text;
    const int more = *t < 0x80 ? 0 : *t >= 0xc2 && *t <= 0xdf ? 1 : (*t & 0xf0) == 0xe0 ? 2
                     : *t >= 0xf0 && *t <= 0xf4 ? 3 : -1;
    unsigned code = more <= 0 ? *t : *t & (0x3fu >> more);
    *text = t + 1;
    if (more < 0) return 0xfffd;
    for (int i = 1; i <= more; i++) {
        if ((t[i] & 0xc0) != 0x80) return 0xfffd;
        code = code << 6 | (t[i] & 0x3f);
    }
    *text = t + 1 + more;
    if ((more == 2 && code < 0x800) || (more == 3 && (code < 0x10000 || code > 0x10ffff))) return 0xfffd;
    if ((code < 0x20 && code != '\t' && code != '\n' && code != '\r') || (code >= 0xd800 && code <= 0xdfff) ||
        code == 0xfffe || code == 0xffff)
        return 0xfffd;
    return code;
}

static void put(lfuse__strbuf *b, unsigned code, const unsigned char *from, const unsigned char *to)
{
    switch (code) {
    case '&': lfuse__strbuf_add(b, "&amp;"); break;
    case '<': lfuse__strbuf_add(b, "&lt;"); break;
    case '>': lfuse__strbuf_add(b, "&gt;"); break;
    case '"': lfuse__strbuf_add(b, "&quot;"); break;
    case '\'': lfuse__strbuf_add(b, "&#39;"); break;
    case '\t': case '\n': case '\r': lfuse__strbuf_add(b, " "); break;
    case 0xfffd: lfuse__strbuf_add(b, "\xef\xbf\xbd"); break;
    default: lfuse__strbuf_bytes(b, from, (size_t)(to - from));
    }
}

void bench_html_short(lfuse__strbuf *b, const char *text, int most)
{
    const unsigned char *at = (const unsigned char *)text;
    const int length = bench_html_length(text), shown = length <= most ? length : most - 1;
    for (int i = 0; i < shown; i++) {
        const unsigned char *from = at;
        const unsigned code = next(&at);
        put(b, code, from, at);
    }
    if (shown < length) lfuse__strbuf_add(b, "\xe2\x80\xa6");
}

static bool ends_with(const char *text, size_t length, const char *end)
{
    const size_t n = strlen(end);
    return length >= n && !memcmp(text + length - n, end, n);
}

void bench_html_wrap(lfuse__strbuf *b, const char *markup)
{
    enum { ENOUGH = 90 };
    size_t from = 0, i = 0;
    for (; markup[i]; i++) {
        const bool space = markup[i] == ' ', long_enough = i - from >= ENOUGH;
        if (markup[i] != '\n' && !(long_enough && (space || ends_with(markup, i, "</td>") ||
                                                   ends_with(markup, i, "</th>") || ends_with(markup, i, "</title>"))))
            continue;
        lfuse__strbuf_bytes(b, markup + from, i - from);
        lfuse__strbuf_add(b, "\n");
        from = space || markup[i] == '\n' ? i + 1 : i;
    }
    lfuse__strbuf_bytes(b, markup + from, i - from);
}

void bench_html_text(lfuse__strbuf *b, const char *text)
{
    bench_html_short(b, text, INT_MAX);
}

int bench_html_length(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    int length = 0;
    while (*at && length < INT_MAX - 1) {
        next(&at);
        length++;
    }
    return length;
}

void bench_html_number(lfuse__strbuf *b, double x)
{
    if (isnan(x)) lfuse__strbuf_add(b, "-");
    else if (x >= 1e3 && x < 1e7) lfuse__strbuf_format(b, "%.0f", x);
    else lfuse__strbuf_format(b, "%.3g", x);
}
