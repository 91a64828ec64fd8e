/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kernels/template.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "common/kernels/emit.h"

/* A name in the text. */
typedef struct word {
    const char *text;
    size_t length;
} word;

/* A loop that is being repeated. */
typedef struct loop {
    const struct loop *outer;
    word name;
    int value;
} loop;

typedef struct writer {
    lfuse__strbuf *out;
    int indent;
    const lfuse__parameter *parameters;
    const lfuse__place *places;
    const void *context;
} writer;

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static word word_at(const char *text)
{
    word w = { text, 0 };

    while (is_name(text[w.length])) w.length++;
    return w;
}

static bool is_called(word w, const char *name)
{
    return strlen(name) == w.length && !memcmp(name, w.text, w.length);
}

static const char *next_line(const char *text)
{
    return strchr(text, '\n') + 1;
}

/* ---- words ---- */

static const lfuse__parameter *find_parameter(const writer *w, word name)
{
    const lfuse__parameter *p = w->parameters;

    while (p->name && !is_called(name, p->name)) p++;
    return p->name ? p : NULL;
}

static const loop *find_loop(const loop *loops, word name)
{
    while (loops && (loops->name.length != name.length || memcmp(loops->name.text, name.text, name.length)))
        loops = loops->outer;
    return loops;
}

/* False: it stands for nothing else. */
static bool put_value(const writer *w, const loop *loops, word name)
{
    const lfuse__parameter *p = find_parameter(w, name);
    const loop *l = find_loop(loops, name);

    if (l) lfuse__strbuf_format(w->out, "%d", l->value);
    else if (p && p->word) lfuse__strbuf_add(w->out, p->word);
    else if (p) lfuse__strbuf_format(w->out, "%d", p->number);
    return l || p;
}

static void put_word(const writer *w, const loop *loops, word name)
{
    size_t before = name.length;

    if (put_value(w, loops, name)) return;
    while (before > 0 && name.text[before - 1] != '_') before--;
    lfuse__strbuf_bytes(w->out, name.text, before);
    name.text += before, name.length -= before;
    if (before == 0 || !put_value(w, loops, name)) lfuse__strbuf_bytes(w->out, name.text, name.length);
}

/* ---- lines ---- */

static void put_line(const writer *w, const loop *loops, const char *text, const char *end)
{
    if (*text != '#' && *text != '\n') lfuse__strbuf_format(w->out, "%*s", 4 * w->indent, "");
    while (text < end) {
        const word name = word_at(text);
        if (name.length) put_word(w, loops, name);
        else lfuse__strbuf_bytes(w->out, text, 1);
        text += name.length ? name.length : 1;
    }
}

static void put_place(const writer *w, const char *text, int indent)
{
    const word name = word_at(text);
    const lfuse__place *p = w->places;

    while (p && p->name && !is_called(name, p->name)) p++;
    if (p && p->name) p->put(w->context, p->which, w->indent + indent);
    else lfuse__put(w->out, 0, "#error \"%.*s is no place\"", (int)name.length, name.text);
}

/* False: there is no such parameter or loop, which the text then says. */
static bool number_of(const writer *w, const loop *loops, const char *text, int *number)
{
    const word name = word_at(text);
    const lfuse__parameter *p = find_parameter(w, name);
    const loop *l = find_loop(loops, name);

    if (!l && !p) lfuse__put(w->out, 0, "#error \"%.*s is no parameter\"", (int)name.length, name.text);
    *number = l ? l->value : p ? p->number : 0;
    return l || p;
}

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* The line behind `text` that ends what begins there, such as #endif of #if, or its part: #else. */
static const char *find_end(const char *text, const char *beginning, const char *part, const char *end)
{
    int depth = 1;

    for (text = next_line(text);; text = next_line(text)) {
        if (begins(text, beginning)) depth++;
        if (begins(text, end) && --depth == 0) return text;
        if (part && begins(text, part) && depth == 1) return text;
    }
}

static void put_lines(const writer *w, const loop *loops, const char *text, const char *end);

/* Both return what follows. */
static const char *put_condition(const writer *w, const loop *loops, const char *text)
{
    const char *name = text + strlen("#if "), *other = find_end(text, "#if", "#else", "#endif");
    const char *end = begins(other, "#else") ? find_end(other, "#if", NULL, "#endif") : other;
    const bool not = *name == '!';
    int number;

    if (!number_of(w, loops, name + not, &number)) return next_line(end);
    if ((number != 0) != not) put_lines(w, loops, next_line(text), other);
    else if (other != end) put_lines(w, loops, next_line(other), end);
    return next_line(end);
}

static const char *put_loop(const writer *w, const loop *loops, const char *text)
{
    loop inner = { .outer = loops, .name = word_at(text + strlen("#repeat ")) };
    const char *end = find_end(text, "#repeat", NULL, "#endrepeat");
    int count;

    number_of(w, loops, inner.name.text + inner.name.length + 1, &count);
    for (; inner.value < count; inner.value++) put_lines(w, &inner, next_line(text), end);
    return next_line(end);
}

static void put_lines(const writer *w, const loop *loops, const char *text, const char *end)
{
    while (text < end) {
        const char *first = text + strspn(text, " ");
        if (begins(text, "#if")) {
            text = put_condition(w, loops, text);
        } else if (begins(text, "#repeat")) {
            text = put_loop(w, loops, text);
        } else {
            if (*first == '@') put_place(w, first + 1, (int)(first - text) / 4);
            else put_line(w, loops, text, next_line(text));
            text = next_line(text);
        }
    }
}

void lfuse__put_text(lfuse__strbuf *out, int indent, const char *text, const lfuse__parameter *parameters,
                     const lfuse__place *places, const void *context)
{
    const writer w = { .out = out, .indent = indent, .parameters = parameters, .places = places, .context = context };

    text = strstr(text, "\n\n") + 2;
    put_lines(&w, NULL, text, text + strlen(text));
}
