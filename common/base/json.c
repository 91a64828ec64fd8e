/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/json.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/error.h"

lfuse__json lfuse__json_of(const char *text, size_t length, lfuse__arena *arena)
{
    return (lfuse__json){.start = text, .at = text, .end = text + length, .arena = arena};
}

static lfuse_status wrong(const lfuse__json *j, const char *at, const char *what)
{
    return lfuse__error(LFUSE_ERR_IO, "byte %zu: %s", (size_t)(at - j->start), what);
}

/* ---- signs ---- */

static void skip_blanks(lfuse__json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r')) j->at++;
}

/* Whether the sign is what comes next; it is read then. */
static bool take(lfuse__json *j, char sign)
{
    skip_blanks(j);
    if (j->at == j->end || *j->at != sign) return false;
    j->at++;
    return true;
}

static lfuse_status expected(lfuse__json *j, const char *what)
{
    if (j->at == j->end) return lfuse__error(LFUSE_ERR_IO, "it ends where %s is expected", what);
    return lfuse__error(LFUSE_ERR_IO, "byte %zu: %s is expected", (size_t)(j->at - j->start), what);
}

static lfuse_status need(lfuse__json *j, char sign)
{
    const char quoted[] = {'\'', sign, '\'', '\0'};

    return take(j, sign) ? LFUSE_OK : expected(j, quoted);
}

lfuse_status lfuse__json_open(lfuse__json *j, char bracket)
{
    LFUSE__TRY(need(j, bracket));
    j->opened = true;
    return LFUSE_OK;
}

lfuse_status lfuse__json_more(lfuse__json *j, char bracket, bool *more)
{
    const bool first = j->opened;

    j->opened = false;
    *more = !take(j, bracket);
    if (!*more || first) return LFUSE_OK;
    return need(j, ',');
}

lfuse_status lfuse__json_end(lfuse__json *j)
{
    skip_blanks(j);
    return j->at == j->end ? LFUSE_OK : wrong(j, j->at, "something follows the end");
}

/* ---- characters ---- */

/*
 * How many bytes the character at `at` has, 0 where it is none: RFC 3629, which allows neither more bytes than it takes
 * nor surrogates.
 */
static size_t utf8_bytes(const unsigned char *at, size_t left)
{
    const unsigned char first = at[0];
    const size_t n = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    size_t i;

    if (!n || n > left) return 0;
    for (i = 1; i < n; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    if ((first == 0xe0 && at[1] < 0xa0) || (first == 0xed && at[1] > 0x9f)) return 0;
    return (first == 0xf0 && at[1] < 0x90) || (first == 0xf4 && at[1] > 0x8f) ? 0 : n;
}

bool lfuse__is_utf8(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t left = strlen(text), n;

    for (; left; at += n, left -= n) {
        n = utf8_bytes(at, left);
        if (!n) return false;
    }
    return true;
}

static size_t put_utf8(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* ---- strings ---- */

/* The four digits behind \u. */
static bool hex(const lfuse__json *j, const char *at, uint32_t *value)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *digit;
    int i;

    *value = 0;
    if (j->end - at < 4) return false;
    for (i = 0; i < 4; i++) {
        digit = at[i] ? strchr(digits, at[i]) : NULL;
        if (!digit) return false;
        *value = *value << 4 | ((uint32_t)(digit - digits) & 15);
    }
    return true;
}

/* What stands behind \u, two of them for what UTF-16 writes as a pair of surrogates. */
static lfuse_status unicode(lfuse__json *j, uint32_t *c)
{
    const char *const at = j->at - 2;
    uint32_t low;

    if (!hex(j, j->at, c)) return wrong(j, at, "\\u without four hexadecimal digits");
    j->at += 4;
    if (!*c) return wrong(j, at, "a string holds NUL");
    if (*c < 0xd800 || *c > 0xdfff) return LFUSE_OK;
    if (*c > 0xdbff || j->end - j->at < 6 || j->at[0] != '\\' || j->at[1] != 'u' || !hex(j, j->at + 2, &low) ||
        low < 0xdc00 || low > 0xdfff)
        return wrong(j, at, "half of a pair of surrogates");
    *c = 0x10000 + ((*c - 0xd800) << 10 | (low - 0xdc00));
    j->at += 6;
    return LFUSE_OK;
}

/* Behind a backslash. *out moves behind the character. */
static lfuse_status escaped(lfuse__json *j, char **out)
{
    static const char signs[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char sign = j->at < j->end ? *j->at : '\0';
    const char *found = sign ? strchr(signs, sign) : NULL;
    uint32_t c;

    if (sign != 'u' && !found) return wrong(j, j->at, "an unknown character behind a backslash");
    j->at++;
    c = found ? (unsigned char)meant[found - signs] : 0;
    if (!found) LFUSE__TRY(unicode(j, &c));
    *out += put_utf8(c, *out);
    return LFUSE_OK;
}

/* Up to the quotation mark that ends the string. What is written is never longer than what is read. */
static lfuse_status decode(lfuse__json *j, char *out)
{
    size_t n;

    for (; j->at < j->end && *j->at != '"';) {
        if ((unsigned char)*j->at < ' ') return wrong(j, j->at, "a control character in a string");
        if (*j->at == '\\') {
            j->at++;
            LFUSE__TRY(escaped(j, &out));
            continue;
        }
        n = utf8_bytes((const unsigned char *)j->at, (size_t)(j->end - j->at));
        if (!n) return wrong(j, j->at, "no UTF-8");
        memcpy(out, j->at, n);
        out += n;
        j->at += n;
    }
    if (j->at == j->end) return lfuse__error(LFUSE_ERR_IO, "it ends in a string");
    j->at++;
    return LFUSE_OK;
}

/* How many bytes there are up to the quotation mark that ends the string, or to the end of the text. */
static size_t raw_length(const lfuse__json *j)
{
    const char *at = j->at;

    while (at < j->end && *at != '"') at += *at == '\\' && at + 1 < j->end ? 2 : 1;
    return (size_t)(at - j->at);
}

lfuse_status lfuse__json_string(lfuse__json *j, const char **string)
{
    char *text;

    if (!take(j, '"')) return expected(j, "a string");
    text = lfuse__arena_array(j->arena, raw_length(j) + 1, 1);
    if (!text) return LFUSE_ERR_MEMORY;
    LFUSE__TRY(decode(j, text));
    *string = text;
    return LFUSE_OK;
}

lfuse_status lfuse__json_key(lfuse__json *j, const char **key)
{
    LFUSE__TRY(lfuse__json_string(j, key));
    return need(j, ':');
}

void lfuse__json_add_string(lfuse__strbuf *b, const char *text)
{
    lfuse__strbuf_add(b, "\"");
    for (; *text; text++) {
        if ((unsigned char)*text < ' ') {
            lfuse__strbuf_format(b, "\\u%04x", (unsigned)*text);
            continue;
        }
        if (*text == '"' || *text == '\\') lfuse__strbuf_add(b, "\\");
        lfuse__strbuf_bytes(b, text, 1);
    }
    lfuse__strbuf_add(b, "\"");
}

/* ---- numbers ---- */

static bool is_digit(const lfuse__json *j)
{
    return j->at < j->end && *j->at >= '0' && *j->at <= '9';
}

lfuse_status lfuse__json_whole(lfuse__json *j, int64_t *number)
{
    const char *start;
    int64_t n = 0;

    skip_blanks(j);
    if (!is_digit(j)) return expected(j, "a whole number that is not negative");
    for (start = j->at; is_digit(j); j->at++) {
        if (n > (INT64_MAX - (*j->at - '0')) / 10) return wrong(j, start, "a number of more than 63 bits");
        n = 10 * n + (*j->at - '0');
    }
    if (*start == '0' && j->at - start > 1) return wrong(j, start, "a number that begins with 0");
    if (j->at < j->end && (*j->at == '.' || *j->at == 'e' || *j->at == 'E'))
        return wrong(j, start, "a number that is not whole");
    *number = n;
    return LFUSE_OK;
}
