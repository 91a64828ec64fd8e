/* SPDX-License-Identifier: Apache-2.0 */
/* Edits PTX line by line. */
#include <string.h>

#include "backends/opencl/ptx.h"
#include "common/base/error.h"

static const char instruction[] = "//sm_90a: ", directive[] = "//entry: ", target[] = ".target sm_90",
                  block[] = ".reqntid", entry[] = ".entry", parameter[] = ".param", words[] = "@words";

const char *const lfuse__cl_ptx_probe =
    ".version 8.0\n"
    ".target sm_90a, texmode_independent\n"
    ".address_size 64\n"
    ".entry lfuse_probe()\n"
    "{\n"
    "    wgmma.fence.sync.aligned;\n"
    "    ret;\n"
    "}\n";

/* A line: [at, end), with the newline where there is one; `text` is the first byte that is no blank. */
typedef struct line {
    const char *at, *text, *end;
} line;

static line line_at(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    line l = { at, at, newline ? newline + 1 : end };

    while (l.text < l.end && (*l.text == ' ' || *l.text == '\t')) l.text++;
    return l;
}

static bool begins(const line *l, const char *with)
{
    const size_t length = strlen(with);

    return (size_t)(l->end - l->text) >= length && memcmp(l->text, with, length) == 0;
}

static void append(lfuse__strbuf *out, const char *from, const char *end)
{
    lfuse__strbuf_bytes(out, from, (size_t)(end - from));
}

static bool has_marks(const char *ptx, const char *end)
{
    for (line l = line_at(ptx, end); l.at < end; l = line_at(l.end, end))
        if (begins(&l, instruction) || begins(&l, directive)) return true;
    return false;
}

/* Appends the directives of the kernel whose .reqntid is the line in front of `from`. */
static void append_directives(lfuse__strbuf *out, const char *from, const char *end)
{
    for (line l = line_at(from, end); l.at < end && !begins(&l, block); l = line_at(l.end, end))
        if (begins(&l, directive)) append(out, l.text + strlen(directive), l.end);
}

/* Returns whether the line names sm_90 as the target, and no other that begins so. */
static bool is_target(const line *l)
{
    const char *behind = l->text + strlen(target);

    return begins(l, target) && (behind == l->end || strchr(",\r\n \t", *behind) != NULL);
}

/* The name that a parameter's declaration ends with, which may be that of an array. */
static line name_in(const line *l)
{
    static const char of_names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";
    const char *end = memchr(l->text, '[', (size_t)(l->end - l->text));
    line name;

    if (end == NULL) end = l->end;
    while (end > l->text && strchr(of_names, end[-1]) == NULL) end--;
    name = (line){ .at = end, .end = end };
    while (name.at > l->text && strchr(of_names, name.at[-1]) != NULL) name.at--;
    name.text = name.at;
    return name;
}

/* Appends an instruction with the name of the kernel's last parameter, if it has one, in place of `words`. */
static void append_instruction(lfuse__strbuf *out, const line *l, const line *last)
{
    const char *from = l->text + strlen(instruction), *at;

    while (last->at != NULL && (at = memmem(from, (size_t)(l->end - from), words, strlen(words))) != NULL) {
        append(out, from, at);
        append(out, last->at, last->end);
        from = at + strlen(words);
    }
    append(out, from, l->end);
}

lfuse_status lfuse__cl_edit_ptx(const char *ptx, size_t bytes, lfuse__strbuf *out, bool *edited)
{
    const char *const end = ptx + strnlen(ptx, bytes); /* some drivers end it with a zero */
    line last = { NULL, NULL, NULL }; /* the name of the kernel's last parameter */
    bool found = false, declares = false;

    if (!has_marks(ptx, end)) {
        *edited = false;
        return LFUSE_OK;
    }
    for (line l = line_at(ptx, end); l.at < end; l = line_at(l.end, end)) {
        if (begins(&l, directive)) continue;
        if (begins(&l, entry)) declares = true;
        if (declares && begins(&l, parameter)) last = name_in(&l);
        if (l.text < l.end && (*l.text == '{' || *l.text == ')')) declares = false;
        if (begins(&l, instruction)) {
            append_instruction(out, &l, &last);
        } else if (is_target(&l)) {
            found = true;
            lfuse__strbuf_format(out, "%sa", target);
            append(out, l.text + strlen(target), l.end);
        } else {
            append(out, l.at, l.end);
        }
        if (begins(&l, block)) append_directives(out, l.end, end);
    }
    if (!found) return lfuse__error(LFUSE_ERR_UNSUPPORTED, "PTX without a line \"%s\"", target);
    LFUSE__TRY(lfuse__strbuf_check(out));
    *edited = true;
    return LFUSE_OK;
}
