/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one line of lfuse-bench's own JSON: an object of texts, numbers, true, false and null, nothing nested. Strict:
 * what JSON does not allow is an error, and so are bytes that are no UTF-8, names that occur twice, and a NUL.
 */
#ifndef BENCH_PAGE_READER_H
#define BENCH_PAGE_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "libfuse/status.h"

typedef enum bench_json_kind { BENCH_JSON_TEXT, BENCH_JSON_NUMBER, BENCH_JSON_BOOL, BENCH_JSON_NULL } bench_json_kind;

typedef struct bench_json_member {
    const char *name;
    bench_json_kind kind;
    const char *text; /* "" of others */
    double number;    /* NAN of others */
    bool yes;
} bench_json_member;

enum { BENCH_JSON_MEMBERS = 48 };
typedef struct bench_json_line {
    int count;
    bench_json_member members[BENCH_JSON_MEMBERS];
} bench_json_line;

/*
 * Parses `length` bytes, which are written over: names and texts point into them. Errors (ERR_INVALID) name the column.
 */
lfuse_status bench_json_parse(char *line, size_t length, bench_json_line *object);
/* NULL when there is none of that name. */
const bench_json_member *bench_json_find(const bench_json_line *object, const char *name);

#endif
