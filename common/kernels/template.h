/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that are files. text/<name>.k is a kernel as one reads it; embed.awk makes it the string lfuse__text_<name>
 * of <name>.k.h. What is written of it is all behind its head, line by line, but for these:
 *
 *   head        the lines before the first empty one: the licence, what the kernel does, what its parameters mean
 *   parameter   a name to which the caller gives a value stands for that, as a word of its own, and behind the last
 *               underscore of a word: ADD_T is ADD_f32 where T is f32. So the text that a compiler gets has no macros
 *               of its own, which could meet those of another kernel in the same program.
 *   #if NAME, #if !NAME, #else, #endif    whether the number of a parameter, or of a loop, is other than 0
 *   #repeat i NAME, #endrepeat    the lines between as often as the parameter says, with the numbers from 0 on for i:
 *               a loop that is unrolled before a compiler sees it, where that makes other machine code
 *   @PLACE@     alone on its line: what depends on the graph, which the caller's function for that place writes
 *   @NAME(x, y)@    a statement about x and y, which the caller's function for that name writes: once for everything in
 *               the graph that it is about, such as all reductions of a sweep
 */
#ifndef COMMON_KERNELS_TEMPLATE_H
#define COMMON_KERNELS_TEMPLATE_H

#include <stdbool.h>

#include "common/base/strbuf.h"

typedef struct lfuse__parameter {
    const char *name;
    const char *word; /* the value; NULL: the number is */
    int number;
} lfuse__parameter;

typedef struct lfuse__place {
    const char *name;
    void (*put)(const void *context, int which, int indent); /* `indent` times four spaces stand before the place */
    int which; /* of places that one function fills */
} lfuse__place;

/* Writes statement `call`, "NAME(x, y)" with the values of parameters in it. False: there is none of that name. */
typedef bool lfuse__put_statement(const void *context, int indent, const char *call);

/* Tables end with a name of NULL; no places, or statements, are NULL. What there is not is written as an #error. */
void lfuse__put_text(lfuse__strbuf *out, int indent, const char *text, const lfuse__parameter *parameters,
                     const lfuse__place *places, const void *context);
void lfuse__put_text_of(lfuse__strbuf *out, int indent, const char *text, const lfuse__parameter *parameters,
                        const lfuse__place *places, lfuse__put_statement *put_statement, const void *context);

#endif
