/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text, or bytes, that grow. Functions append to it and return nothing: whether memory ran out meanwhile is asked once,
 * at the end. Text that has not failed ends with a NUL.
 */
#ifndef COMMON_BASE_STRBUF_H
#define COMMON_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "libfuse/status.h"

typedef struct lfuse__strbuf {
    char *data; /* "" (static) while nothing was appended */
    size_t length, capacity;
    bool failed; /* memory ran out; the contents are then empty and stay so */
} lfuse__strbuf;

#define LFUSE__STRBUF_INIT { (char *)"", 0, 0, false }

void lfuse__strbuf_add(lfuse__strbuf *b, const char *text);
void lfuse__strbuf_bytes(lfuse__strbuf *b, const void *data, size_t length);
void lfuse__strbuf_format(lfuse__strbuf *b, const char *format, ...) LFUSE_PRINTF(2, 3);
void lfuse__strbuf_vformat(lfuse__strbuf *b, const char *format, va_list args);
/* Makes it empty, and keeps its memory. */
void lfuse__strbuf_clear(lfuse__strbuf *b);
/* Returns ERR_MEMORY when memory ran out. */
lfuse_status lfuse__strbuf_check(const lfuse__strbuf *b);
/* Frees the memory: it is as LFUSE__STRBUF_INIT makes it then. */
void lfuse__strbuf_free(lfuse__strbuf *b);

#endif
