/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of a printed graph, for parse.c. Space may stand before each. A function named read returns ERR_INVALID,
 * with the position and what is missing there, where the text has something else.
 */
#ifndef COMMON_GRAPH_TOKEN_H
#define COMMON_GRAPH_TOKEN_H

#include "common/graph/graph.h"

typedef struct lfuse__reader {
    const char *text; /* all of it */
    const char *at;   /* where the next word begins, or space before it */
    lfuse_graph *g;   /* what has been read */
} lfuse__reader;

enum { LFUSE__WORD = 32 };

/* Records "graph text, character 17: " and the rest, and returns ERR_INVALID. */
lfuse_status lfuse__read_failed(const lfuse__reader *r, const char *format, ...) LFUSE_PRINTF(2, 3);
/* Returns the mistake that a builder found, recorded with the position; LFUSE_OK: there is none. */
lfuse_status lfuse__read_built(const lfuse__reader *r);

/* Returns the next character that is no space, and does not take it; 0: the text ends. */
char lfuse__peek(lfuse__reader *r);
/* Take a character, or a whole word, and return true, if it comes next. */
bool lfuse__take(lfuse__reader *r, char c);
bool lfuse__take_word(lfuse__reader *r, const char *word);
/* Takes a character that must come next. */
lfuse_status lfuse__read_char(lfuse__reader *r, char c);
/* Takes a word of letters, digits and _ + *, of LFUSE__WORD - 1 characters at most. */
lfuse_status lfuse__read_word(lfuse__reader *r, char word[LFUSE__WORD]);
/* Takes a decimal number. */
lfuse_status lfuse__read_integer(lfuse__reader *r, int64_t *value);
/* Takes 0x and 16 digits, the bits of a number. */
lfuse_status lfuse__read_bits(lfuse__reader *r, double *number);
/* Takes a name in quotes; where none comes next, the name is `prefix` and the number. */
lfuse_status lfuse__read_name(lfuse__reader *r, const char *prefix, int number, char name[LFUSE__MAX_NAME + 1]);
/* Takes a number, or s3 for the graph's fourth size; *size is as nodes hold it. */
lfuse_status lfuse__read_size(lfuse__reader *r, lfuse_size *size);
/* Takes %3, which is the graph's fourth node. */
lfuse_status lfuse__read_node(lfuse__reader *r, int32_t *node);

#endif
