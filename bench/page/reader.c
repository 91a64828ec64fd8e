/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/page/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

typedef struct cursor {
    char *begin, *at, *end;
} cursor;

static lfuse_status fail(const cursor *c, const char *what)
{
    return lfuse__error(LFUSE_ERR_INVALID, "column %zu: %s", (size_t)(c->at - c->begin) + 1,
                        c->at == c->end ? "the line ends early" : what);
}

static void skip_spaces(cursor *c)
{
    while (c->at < c->end && strchr(" \t\r", *c->at) && *c->at) c->at++;
}

static bool take(cursor *c, const char *word)
{
    const size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length)) return false;
    c->at += length;
    return true;
}

static bool is_digit(const cursor *c)
{
    return c->at < c->end && *c->at >= '0' && *c->at <= '9';
}

static void skip_digits(cursor *c)
{
    while (is_digit(c)) c->at++;
}

/* ---- numbers ---- */

static lfuse_status digits(cursor *c)
{
    if (!is_digit(c)) return fail(c, "a digit is missing");
    skip_digits(c);
    return LFUSE_OK;
}

/* The grammar of JSON, which has no leading zero, no plus, no hexadecimal digits, no words. */
static lfuse_status parse_number(cursor *c, bench_json_member *m)
{
    char copy[64];
    const char *from = c->at;
    take(c, "-");
    if (!take(c, "0")) LFUSE__TRY(digits(c));
    if (take(c, ".")) LFUSE__TRY(digits(c));
    if (take(c, "e") || take(c, "E")) {
        if (!take(c, "+")) take(c, "-");
        LFUSE__TRY(digits(c));
    }
    const size_t length = (size_t)(c->at - from);
    if (length >= sizeof copy) return fail(c, "a number of so many digits");
    memcpy(copy, from, length); /* the line does not end with what strtod stops at */
    copy[length] = 0;
    m->kind = BENCH_JSON_NUMBER;
    m->number = strtod(copy, NULL);
    return isfinite(m->number) ? LFUSE_OK : fail(c, "a number that is too large");
}

/* ---- texts ---- */

static int hexadecimal(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static lfuse_status four_digits(cursor *c, unsigned *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++, c->at++) {
        const int digit = c->at < c->end ? hexadecimal(*c->at) : -1;
        if (digit < 0) return fail(c, "\\u needs four hexadecimal digits");
        *code = 16 * *code + (unsigned)digit;
    }
    return LFUSE_OK;
}

static char *put(char *to, unsigned code)
{
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    if (code < 0x800) *to++ = (char)(0xc0 | code >> 6);
    else if (code < 0x10000) *to++ = (char)(0xe0 | code >> 12);
    else *to++ = (char)(0xf0 | code >> 18), *to++ = (char)(0x80 | (code >> 12 & 0x3f));
    if (code >= 0x800) *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    *to++ = (char)(0x80 | (code & 0x3f));
    return to;
}

/* What was read is at least as long as what is written. */
static lfuse_status parse_code(cursor *c, char **to)
{
    unsigned code, low;
    LFUSE__TRY(four_digits(c, &code));
    if (code >= 0xdc00 && code <= 0xdfff) return fail(c, "half a surrogate pair");
    if (code >= 0xd800 && code <= 0xdbff) {
        if (!take(c, "\\u")) return fail(c, "half a surrogate pair");
        LFUSE__TRY(four_digits(c, &low));
        if (low < 0xdc00 || low > 0xdfff) return fail(c, "half a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (!code) return fail(c, "a NUL");
    *to = put(*to, code);
    return LFUSE_OK;
}

static lfuse_status parse_escape(cursor *c, char **to)
{
    static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *letter = c->at < c->end && *c->at ? strchr(letters, *c->at) : NULL;
    if (take(c, "u")) return parse_code(c, to);
    if (!letter) return fail(c, "no such escape");
    *(*to)++ = values[letter - letters];
    c->at++;
    return LFUSE_OK;
}

/* One character of UTF-8: no longer than needed, no surrogate, at most U+10FFFF. */
static lfuse_status parse_character(cursor *c, char **to)
{
    const unsigned char first = (unsigned char)*c->at;
    const int more = first < 0x80 ? 0 : first >= 0xc2 && first <= 0xdf ? 1 : (first & 0xf0) == 0xe0 ? 2
                     : first >= 0xf0 && first <= 0xf4 ? 3 : -1;
    if (first < 0x20) return fail(c, "a control character in a text");
    if (more < 0 || c->end - c->at <= more) return fail(c, "bytes that are no UTF-8");
    for (int i = 1; i <= more; i++)
        if (((unsigned char)c->at[i] & 0xc0) != 0x80) return fail(c, "bytes that are no UTF-8");
    const unsigned char second = more ? (unsigned char)c->at[1] : 0;
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
        (first == 0xf4 && second > 0x8f))
        return fail(c, "bytes that are no UTF-8");
    for (int i = 0; i <= more; i++) *(*to)++ = *c->at++;
    return LFUSE_OK;
}

static lfuse_status parse_text(cursor *c, const char **text)
{
    if (!take(c, "\"")) return fail(c, "a text in quotes is missing");
    char *to = c->at;
    *text = to;
    while (c->at < c->end && *c->at != '"') {
        if (take(c, "\\")) LFUSE__TRY(parse_escape(c, &to));
        else LFUSE__TRY(parse_character(c, &to));
    }
    if (c->at == c->end) return fail(c, "");
    c->at++;
    *to = 0; /* over the quote, or before it */
    return LFUSE_OK;
}

/* ---- the object ---- */

static lfuse_status parse_value(cursor *c, bench_json_member *m)
{
    m->text = "";
    m->number = NAN;
    if (c->at < c->end && *c->at == '"') {
        m->kind = BENCH_JSON_TEXT;
        return parse_text(c, &m->text);
    }
    if (take(c, "null")) return m->kind = BENCH_JSON_NULL, LFUSE_OK;
    if (take(c, "true")) return m->kind = BENCH_JSON_BOOL, m->yes = true, LFUSE_OK;
    if (take(c, "false")) return m->kind = BENCH_JSON_BOOL, LFUSE_OK;
    if (is_digit(c) || (c->at < c->end && *c->at == '-')) return parse_number(c, m);
    return fail(c, "neither a text nor a number, true, false or null");
}

static lfuse_status parse_member(cursor *c, bench_json_line *object)
{
    bench_json_member m = {.name = NULL};
    const cursor begin = *c;
    LFUSE__TRY(parse_text(c, &m.name));
    if (bench_json_find(object, m.name)) return fail(&begin, "a name for the second time");
    if (object->count == BENCH_JSON_MEMBERS) return fail(&begin, "more members than a line has");
    skip_spaces(c);
    if (!take(c, ":")) return fail(c, "a colon is missing");
    skip_spaces(c);
    LFUSE__TRY(parse_value(c, &m));
    object->members[object->count++] = m;
    skip_spaces(c);
    return LFUSE_OK;
}

lfuse_status bench_json_parse(char *line, size_t length, bench_json_line *object)
{
    cursor c = {line, line, line + length};
    object->count = 0;
    skip_spaces(&c);
    if (!take(&c, "{")) return fail(&c, "no JSON object");
    skip_spaces(&c);
    if (!take(&c, "}")) {
        do {
            skip_spaces(&c);
            LFUSE__TRY(parse_member(&c, object));
        } while (take(&c, ","));
        if (!take(&c, "}")) return fail(&c, "neither a comma nor the object's end");
    }
    skip_spaces(&c);
    return c.at == c.end ? LFUSE_OK : fail(&c, "something behind the object");
}

const bench_json_member *bench_json_find(const bench_json_line *object, const char *name)
{
    for (int i = 0; i < object->count; i++)
        if (!strcmp(object->members[i].name, name)) return &object->members[i];
    return NULL;
}
