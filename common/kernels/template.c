/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kernels/template.h"

#include <limits.h>
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
    const lfuse__text_place *places;
    lfuse__put_statement *put_statement;
    const void *context;
    bool begins[UCHAR_MAX + 1]; /* whether some parameter's name begins with that letter */
} writer;

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
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

    if (!w->begins[(unsigned char)*name.text]) return NULL;
    while (p->name && (*p->name != *name.text || !is_called(name, p->name))) p++;
    return p->name ? p : NULL;
}

static const loop *find_loop(const loop *loops, word name)
{
    while (loops && (loops->name.length != name.length || memcmp(loops->name.text, name.text, name.length)))
        loops = loops->outer;
    return loops;
}

static bool has_value(const writer *w, const loop *loops, word name)
{
    return find_loop(loops, name) || find_parameter(w, name);
}

/* The part of a word that stands for a value: all of it, what is behind its last underscore, or nothing. */
static word part_with_value(const writer *w, const loop *loops, word name)
{
    const char *end = name.text + name.length;
    word last = { end, 0 };

    if (has_value(w, loops, name)) return name;
    while (last.text > name.text && last.text[-1] != '_') last.text--;
    last.length = (size_t)(end - last.text);
    return last.text > name.text && has_value(w, loops, last) ? last : (word){ end, 0 };
}

static void put_value(const writer *w, const loop *loops, word name)
{
    const loop *l = find_loop(loops, name);
    const lfuse__parameter *p = l ? NULL : find_parameter(w, name);

    if (p && p->word) lfuse__strbuf_add(w->out, p->word);
    else lfuse__strbuf_format(w->out, "%d", l ? l->value : p->number);
}

/* ---- lines ---- */

static void put_line(const writer *w, const loop *loops, const char *text, const char *end)
{
    const char *rest = text; /* that is not yet written */

    for (int i = 0; i < w->indent && *text != '#' && *text != '\n'; i++) lfuse__strbuf_bytes(w->out, "    ", 4);
    while (text < end) {
        word name = word_at(text), part;
        text += name.length ? name.length : 1;
        if (!name.length) continue;
        part = part_with_value(w, loops, name);
        if (!part.length) continue;
        lfuse__strbuf_bytes(w->out, rest, (size_t)(part.text - rest));
        put_value(w, loops, part);
        rest = text;
    }
    lfuse__strbuf_bytes(w->out, rest, (size_t)(end - rest));
}

/* False: there is no statement of that name. */
static bool put_call(const writer *w, const loop *loops, word name, int indent)
{
    const char *arguments = name.text + name.length;
    lfuse__strbuf call = LFUSE__STRBUF_INIT;
    writer inner = *w;
    bool found;

    inner.out = &call;
    inner.indent = 0;
    lfuse__strbuf_bytes(&call, name.text, name.length);
    put_line(&inner, loops, arguments, strchr(arguments, '@'));
    found = w->put_statement && w->put_statement(w->context, w->indent + indent, call.data);
    w->out->failed = w->out->failed || call.failed;
    lfuse__strbuf_free(&call);
    return found;
}

static void put_place(const writer *w, const loop *loops, const char *text, int indent)
{
    const word name = word_at(text);
    const lfuse__text_place *p = w->places;

    if (text[name.length] == '(' && put_call(w, loops, name, indent)) return;
    while (p && p->name && (text[name.length] == '(' || !is_called(name, p->name))) p++;
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
        if (*text != '#') continue;
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
            if (*first == '@') put_place(w, loops, first + 1, (int)(first - text) / 4);
            else put_line(w, loops, text, next_line(text));
            text = next_line(text);
        }
    }
}

void lfuse__put_text_of(lfuse__strbuf *out, int indent, const char *text, const lfuse__parameter *parameters,
                        const lfuse__text_place *places, lfuse__put_statement *put_statement, const void *context)
{
    writer w = {.out = out, .indent = indent, .parameters = parameters, .places = places,
                .put_statement = put_statement, .context = context};

    for (const lfuse__parameter *p = parameters; p->name; p++) w.begins[(unsigned char)*p->name] = true;
    text = strstr(text, "\n\n") + 2;
    put_lines(&w, NULL, text, text + strlen(text));
}

void lfuse__put_text(lfuse__strbuf *out, int indent, const char *text, const lfuse__parameter *parameters,
                     const lfuse__text_place *places, const void *context)
{
    lfuse__put_text_of(out, indent, text, parameters, places, NULL, context);
}
