/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kernels/template.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "common/kernels/emit.h"

typedef struct writer {
    lfuse__strbuf *out;
    int indent;
    const lfuse__parameter *parameters;
    const lfuse__place *places;
    const void *context;
    int depth;  /* of conditions around the line */
    int hidden; /* the outermost of them that does not hold, counted from 1; 0: all hold */
} writer;

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t name_length(const char *text)
{
    size_t length = 0;

    while (is_name(text[length])) length++;
    return length;
}

static bool is_named(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && !memcmp(name, text, length);
}

static const lfuse__parameter *find_parameter(const writer *w, const char *text, size_t length)
{
    const lfuse__parameter *p = w->parameters;

    while (p->name && !is_named(p->name, text, length)) p++;
    return p->name ? p : NULL;
}

static void put_word(const writer *w, const char *text, size_t length)
{
    const lfuse__parameter *p = find_parameter(w, text, length);
    size_t before = p ? 0 : length;

    while (!p && before > 0 && text[before - 1] != '_') before--;
    if (!p && before > 0) p = find_parameter(w, text + before, length - before);
    if (!p) before = length;
    lfuse__strbuf_bytes(w->out, text, before);
    if (p && p->word) lfuse__strbuf_add(w->out, p->word);
    else if (p) lfuse__strbuf_format(w->out, "%d", p->number);
}

static void put_line(const writer *w, const char *text, const char *end)
{
    size_t length;

    if (*text != '#' && text < end) lfuse__strbuf_format(w->out, "%*s", 4 * w->indent, "");
    for (; text < end; text += length) {
        length = name_length(text);
        if (length) put_word(w, text, length);
        else lfuse__strbuf_bytes(w->out, text, length = 1);
    }
    lfuse__strbuf_add(w->out, "\n");
}

static void put_place(const writer *w, const char *text, int indent)
{
    const size_t length = name_length(text);
    const lfuse__place *p = w->places;

    while (p && p->name && !is_named(p->name, text, length)) p++;
    if (p && p->name) p->put(w->context, p->which, w->indent + indent);
    else lfuse__put(w->out, 0, "#error \"%.*s is no place\"", (int)length, text);
}

static bool holds(const writer *w, const char *condition)
{
    const bool not = *condition == '!';
    const size_t length = name_length(condition + not);
    const lfuse__parameter *p = find_parameter(w, condition + not, length);

    if (!p) lfuse__put(w->out, 0, "#error \"%.*s is no parameter\"", (int)length, condition + not);
    return p && (p->number != 0) != not;
}

/* False: the line is none of the conditions'. */
static bool is_condition(writer *w, const char *text)
{
    if (!strncmp(text, "#if ", 4)) {
        w->depth++;
        if (!w->hidden && !holds(w, text + 4)) w->hidden = w->depth;
    } else if (!strncmp(text, "#else\n", 6)) {
        if (!w->hidden) w->hidden = w->depth;
        else if (w->hidden == w->depth) w->hidden = 0;
    } else if (!strncmp(text, "#endif\n", 7)) {
        if (w->hidden == w->depth) w->hidden = 0;
        w->depth--;
    } else {
        return false;
    }
    return true;
}

void lfuse__put_text(lfuse__strbuf *out, int indent, const char *text, const lfuse__parameter *parameters,
                     const lfuse__place *places, const void *context)
{
    writer w = { .out = out, .indent = indent, .parameters = parameters, .places = places, .context = context };
    const char *end;

    for (text = strstr(text, "\n\n") + 2; *text; text = end + 1) {
        const char *first = text + strspn(text, " ");
        end = strchr(text, '\n');
        if (is_condition(&w, text) || w.hidden) continue;
        if (*first == '@') put_place(&w, first + 1, (int)(first - text) / 4);
        else put_line(&w, text, end);
    }
}
