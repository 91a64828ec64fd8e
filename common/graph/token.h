/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a printed graph, for parse.c. Space may stand before each. */
#ifndef COMMON_GRAPH_TOKEN_H
#define COMMON_GRAPH_TOKEN_H

#include "common/graph/graph.h"

typedef struct lfuse__reader {
    const char *text, *at;
    lfuse_graph *g;
} lfuse__reader;

enum { LFUSE__WORD = 32 };

/* "graph text, character 17: " and the rest; ERR_INVALID. */
lfuse_status lfuse__read_failed(const lfuse__reader *r, const char *format, ...) LFUSE_PRINTF(2, 3);
/* The mistake that a builder found, with the position; LFUSE_OK when there is none. */
lfuse_status lfuse__read_built(const lfuse__reader *r);

/* The next character that is no space; 0 at the end. */
char lfuse__peek(lfuse__reader *r);
/* Takes the character, or the whole word, if it comes next. */
bool lfuse__take(lfuse__reader *r, char c);
bool lfuse__take_word(lfuse__reader *r, const char *word);
lfuse_status lfuse__read_char(lfuse__reader *r, char c);
/* Letters, digits and _ + *; not taken when it is longer than LFUSE__WORD - 1. */
lfuse_status lfuse__read_word(lfuse__reader *r, char word[LFUSE__WORD]);
lfuse_status lfuse__read_integer(lfuse__reader *r, int64_t *value);
lfuse_status lfuse__read_bits(lfuse__reader *r, double *number);
/* A name in quotes; where none comes next, `prefix` and the number. */
lfuse_status lfuse__read_name(lfuse__reader *r, const char *prefix, int number, char name[LFUSE__MAX_NAME + 1]);
/* A number or s3, as nodes hold it. */
lfuse_status lfuse__read_size(lfuse__reader *r, lfuse_size *size);
/* %3, one of the nodes that are there. */
lfuse_status lfuse__read_node(lfuse__reader *r, int32_t *node);

#endif
