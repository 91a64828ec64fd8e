/* SPDX-License-Identifier: Apache-2.0 */
#include "common/graph/token.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"

lfuse_status lfuse__read_failed(const lfuse__reader *r, const char *format, ...)
{
    char what[300];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return lfuse__error(LFUSE_ERR_INVALID, "graph text, character %zu: %s", (size_t)(r->at - r->text), what);
}

lfuse_status lfuse__read_built(const lfuse__reader *r)
{
    if (!r->g->status) return LFUSE_OK;
    return lfuse__error(r->g->status, "graph text, character %zu: %s", (size_t)(r->at - r->text), r->g->message);
}

char lfuse__peek(lfuse__reader *r)
{
    while (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r') r->at++;
    return *r->at;
}

bool lfuse__take(lfuse__reader *r, char c)
{
    if (lfuse__peek(r) != c) return false;
    r->at++;
    return true;
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '+' ||
           c == '*';
}

bool lfuse__take_word(lfuse__reader *r, const char *word)
{
    const size_t length = strlen(word);

    lfuse__peek(r);
    if (strncmp(r->at, word, length) || in_word(r->at[length])) return false;
    r->at += length;
    return true;
}

/* What stands here, for messages; a few characters. */
static lfuse_status unexpected(lfuse__reader *r, const char *expected)
{
    if (!lfuse__peek(r)) return lfuse__read_failed(r, "%s is missing at the end", expected);
    return lfuse__read_failed(r, "%s is missing before \"%.12s\"", expected, r->at);
}

lfuse_status lfuse__read_char(lfuse__reader *r, char c)
{
    const char expected[] = {'"', c, '"', 0};

    return lfuse__take(r, c) ? LFUSE_OK : unexpected(r, expected);
}

lfuse_status lfuse__read_word(lfuse__reader *r, char word[LFUSE__WORD])
{
    size_t length = 0;

    lfuse__peek(r);
    while (in_word(r->at[length])) length++;
    if (!length || length >= LFUSE__WORD) return unexpected(r, "a word");
    memcpy(word, r->at, length);
    word[length] = 0;
    r->at += length;
    return LFUSE_OK;
}

/* Within the numbers that an expression of sizes may hold. */
lfuse_status lfuse__read_integer(lfuse__reader *r, int64_t *value)
{
    const bool negative = lfuse__take(r, '-');
    int64_t number = 0;

    if (*r->at < '0' || *r->at > '9') return unexpected(r, "a number");
    for (; *r->at >= '0' && *r->at <= '9'; r->at++)
        if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, *r->at - '0', &number))
            return lfuse__read_failed(r, "the number is too large");
    if (negative && number >= INT64_C(1) << 62) return lfuse__read_failed(r, "the number is too small");
    *value = negative ? -number : number;
    return LFUSE_OK;
}

lfuse_status lfuse__read_bits(lfuse__reader *r, double *number)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t bits = 0;
    const char *digit;
    int i;

    lfuse__peek(r);
    if (strncmp(r->at, "0x", 2)) return unexpected(r, "0x and 16 digits");
    r->at += 2;
    for (i = 0; i < 16; i++, r->at++) {
        digit = *r->at ? strchr(digits, *r->at) : NULL;
        if (!digit) return lfuse__read_failed(r, "digit %d of 16 is missing", i + 1);
        bits = bits << 4 | (uint64_t)(digit - digits);
    }
    memcpy(number, &bits, sizeof bits);
    return LFUSE_OK;
}

lfuse_status lfuse__read_name(lfuse__reader *r, const char *prefix, int number, char name[LFUSE__MAX_NAME + 1])
{
    int length = 0;

    if (!lfuse__take(r, '"')) {
        snprintf(name, LFUSE__MAX_NAME + 1, "%s%d", prefix, number);
        return LFUSE_OK;
    }
    for (; *r->at && *r->at != '"'; r->at++) {
        if (*r->at == '\\' && r->at[1]) r->at++;
        if (length == LFUSE__MAX_NAME)
            return lfuse__read_failed(r, "the name has more than %d characters", LFUSE__MAX_NAME);
        name[length++] = *r->at;
    }
    name[length] = 0;
    if (*r->at != '"') return unexpected(r, "\"");
    r->at++;
    return LFUSE_OK;
}

lfuse_status lfuse__read_size(lfuse__reader *r, lfuse_size *size)
{
    int64_t index;

    if (lfuse__peek(r) != 's') return lfuse__read_integer(r, size);
    r->at++;
    if (*r->at < '0' || *r->at > '9') return unexpected(r, "the number of a size");
    LFUSE__TRY(lfuse__read_integer(r, &index));
    if (index >= r->g->nsizes)
        return lfuse__read_failed(r, "s%lld is none of the %d sizes before", (long long)index, (int)r->g->nsizes);
    *size = LFUSE__SIZE_BASE + index;
    return LFUSE_OK;
}

lfuse_status lfuse__read_node(lfuse__reader *r, int32_t *node)
{
    int64_t index;

    LFUSE__TRY(lfuse__read_char(r, '%'));
    LFUSE__TRY(lfuse__read_integer(r, &index));
    if (index < 0 || index >= r->g->nnodes)
        return lfuse__read_failed(r, "%%%lld is none of the %d values before", (long long)index, (int)r->g->nnodes);
    *node = (int32_t)index;
    return LFUSE_OK;
}
