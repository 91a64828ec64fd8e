/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON: text members with escapes. */
#ifndef BENCH_JSON_H
#define BENCH_JSON_H

#include <stdio.h>

/* A quoted string. */
void json_string(FILE *out, const char *text);
/* ,"key":"text" */
void json_text(FILE *out, const char *key, const char *text);

#endif
