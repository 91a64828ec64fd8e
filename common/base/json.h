/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON texts (RFC 8259) whose form the caller knows: it asks for what has to come next, so nesting is as deep as the
 * caller's code, and what is there instead is an error with its place. Texts may come from anywhere: nothing is read
 * beyond their end, strings are valid UTF-8 without NUL, and numbers are whole and not negative.
 *
 * An object of numbers is read by
 *
 *     bool more;
 *     LFUSE__TRY(lfuse__json_open(&j, '{'));
 *     for (;;) {
 *         LFUSE__TRY(lfuse__json_more(&j, '}', &more));
 *         if (!more) break;
 *         LFUSE__TRY(lfuse__json_key(&j, &key));
 *         LFUSE__TRY(lfuse__json_whole(&j, &number));
 *     }
 *     LFUSE__TRY(lfuse__json_end(&j));
 */
#ifndef COMMON_BASE_JSON_H
#define COMMON_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/strbuf.h"
#include "libfuse/status.h"

typedef struct lfuse__json {
    const char *start, *at, *end;
    bool opened; /* the last thing read opened an object or an array: no comma comes before its first member */
    lfuse__arena *arena; /* strings that are read belong to it */
} lfuse__json;

lfuse__json lfuse__json_of(const char *text, size_t length, lfuse__arena *arena);

/* ERR_IO: something else is there, and the message says where. ERR_MEMORY: strings alone. */

/* Reads '{' or '['. */
lfuse_status lfuse__json_open(lfuse__json *j, char bracket);
/* *more: a member follows, whose comma is read; else `bracket` was read, '}' or ']'. */
lfuse_status lfuse__json_more(lfuse__json *j, char bracket, bool *more);
lfuse_status lfuse__json_string(lfuse__json *j, const char **string);
/* Reads a string and a colon. */
lfuse_status lfuse__json_key(lfuse__json *j, const char **key);
/* Reads a number from 0 to INT64_MAX that has neither fraction nor exponent. */
lfuse_status lfuse__json_whole(lfuse__json *j, int64_t *number);
/* Nothing but blanks is left. */
lfuse_status lfuse__json_end(lfuse__json *j);

/* Whether all of a text is valid UTF-8. */
bool lfuse__is_utf8(const char *text);
/* Appends such a text as a JSON string, with its quotation marks. */
void lfuse__json_add_string(lfuse__strbuf *b, const char *text);

#endif
