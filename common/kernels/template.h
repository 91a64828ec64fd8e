/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that are files. text/<name>.k is a kernel as one reads it; embed.awk makes it the string lfuse__text_<name>
 * of <name>.k.h. lfuse__put_text writes what stands behind the head of the file, line by line, with these exceptions:
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

/* A parameter of a text. Its value is a word or, where that is NULL, a number. */
typedef struct lfuse__parameter {
    const char *name;
    const char *word;
    int number;
} lfuse__parameter;

/* A placeholder @NAME@, and the function that writes what stands there: one function may fill several. */
typedef struct lfuse__text_place {
    const char *name;
    void (*put)(const void *context, int which, int indent); /* indent: four spaces each */
    int which;
} lfuse__text_place;

/* Writes the statement `call`, "NAME(x, y)" with the values of parameters in it. Returns false where there is none. */
typedef bool lfuse__put_statement(const void *context, int indent, const char *call);

/*
 * Appends a text. Tables end with a name of NULL; `places` may be NULL, and so may `put_statement`. For a name that is
 * not in them an #error is written, at which a compiler stops.
 */
void lfuse__put_text(lfuse__strbuf *out, int indent, const char *text, const lfuse__parameter *parameters,
                     const lfuse__text_place *places, const void *context);
void lfuse__put_text_of(lfuse__strbuf *out, int indent, const char *text, const lfuse__parameter *parameters,
                        const lfuse__text_place *places, lfuse__put_statement *put_statement, const void *context);

#endif
