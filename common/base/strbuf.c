/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/strbuf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

static void fail(lfuse__strbuf *b)
{
    lfuse__strbuf_free(b);
    b->failed = true;
}

/* Room for `more` bytes and the NUL. */
static bool reserve(lfuse__strbuf *b, size_t more)
{
    size_t need, capacity;
    char *data;

    if (b->failed) return false;
    if (__builtin_add_overflow(b->length, more, &need) || need > PTRDIFF_MAX - 1) {
        fail(b);
        return false;
    }
    if (need < b->capacity) return true;
    capacity = need + 1 > 2 * b->capacity ? need + 1 : 2 * b->capacity;
    if (capacity < 64) capacity = 64;
    data = realloc(b->capacity ? b->data : NULL, capacity);
    if (!data) {
        fail(b);
        return false;
    }
    b->data = data;
    b->capacity = capacity;
    return true;
}

void lfuse__strbuf_bytes(lfuse__strbuf *b, const void *data, size_t length)
{
    if (!length || !reserve(b, length)) return;
    memcpy(b->data + b->length, data, length);
    b->length += length;
    b->data[b->length] = '\0';
}

void lfuse__strbuf_add(lfuse__strbuf *b, const char *text)
{
    lfuse__strbuf_bytes(b, text, strlen(text));
}

void lfuse__strbuf_vformat(lfuse__strbuf *b, const char *format, va_list args)
{
    va_list again;
    int length;

    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) {
        fail(b);
        return;
    }
    if (!length || !reserve(b, (size_t)length)) return;
    vsnprintf(b->data + b->length, (size_t)length + 1, format, args);
    b->length += (size_t)length;
}

void lfuse__strbuf_format(lfuse__strbuf *b, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    lfuse__strbuf_vformat(b, format, args);
    va_end(args);
}

void lfuse__strbuf_clear(lfuse__strbuf *b)
{
    b->length = 0;
    if (b->capacity) b->data[0] = '\0';
}

lfuse_status lfuse__strbuf_check(const lfuse__strbuf *b)
{
    if (!b->failed) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a text was put together");
}

void lfuse__strbuf_free(lfuse__strbuf *b)
{
    if (b->capacity) free(b->data);
    *b = (lfuse__strbuf)LFUSE__STRBUF_INIT;
}
