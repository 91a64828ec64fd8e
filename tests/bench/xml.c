/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/xml.h"

#include <stdio.h>
#include <string.h>

enum { DEPTH = 64, NAME = 32, ATTRIBUTES = 24 };

typedef struct reader {
    const char *text, *at;
    const char *wrong;
    char open[DEPTH][NAME];
    int depth, roots;
} reader;

static bool fail(reader *r, const char *what)
{
    if (!r->wrong) r->wrong = what;
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool take(reader *r, const char *word)
{
    if (strncmp(r->at, word, strlen(word))) return false;
    r->at += strlen(word);
    return true;
}

static void spaces(reader *r)
{
    while (*r->at == ' ' || *r->at == '\n') r->at++;
}

static bool name(reader *r, char *to)
{
    int length = 0;
    if (!is_letter(*r->at)) return fail(r, "a name is missing");
    while (is_letter(*r->at) || (*r->at >= '0' && *r->at <= '9') || *r->at == '-' || *r->at == ':') {
        if (length == NAME - 1) return fail(r, "a long name");
        to[length++] = *r->at++;
    }
    to[length] = 0;
    return true;
}

static bool entity(reader *r)
{
    static const char *const known[] = {"amp;", "lt;", "gt;", "quot;", "apos;", "#39;"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (take(r, known[i])) return true;
    return fail(r, "an entity that is none");
}

/* Bytes of UTF-8 are taken as they are; control characters and U+FFFE, U+FFFF are not. */
static bool character(reader *r)
{
    const unsigned char c = (unsigned char)*r->at;
    if (c == '&') return r->at++, entity(r);
    if (c == '<') return fail(r, "markup in a text");
    if (c < 0x20 && c != '\n') return fail(r, "a control character");
    if (!strncmp(r->at, "\xef\xbf\xbe", 3) || !strncmp(r->at, "\xef\xbf\xbf", 3)) return fail(r, "no character");
    const int more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : (c & 0xf0) == 0xe0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : -1;
    if (more < 0) return fail(r, "no UTF-8");
    for (int i = 1; i <= more; i++)
        if (((unsigned char)r->at[i] & 0xc0) != 0x80) return fail(r, "no UTF-8");
    r->at += more + 1;
    return true;
}

static bool attributes(reader *r)
{
    char known[ATTRIBUTES][NAME];
    int n = 0;
    for (;;) {
        const char *before = r->at;
        spaces(r);
        if (!is_letter(*r->at)) return true;
        if (r->at == before) return fail(r, "no space before an attribute");
        if (n == ATTRIBUTES || !name(r, known[n])) return fail(r, "too many attributes");
        for (int i = 0; i < n; i++)
            if (!strcmp(known[i], known[n])) return fail(r, "an attribute for the second time");
        n++;
        if (!take(r, "=\"")) return fail(r, "no value of an attribute");
        while (*r->at && *r->at != '"')
            if (!character(r)) return false;
        if (!take(r, "\"")) return fail(r, "a value without end");
    }
}

static bool element(reader *r)
{
    char tag[NAME];
    if (take(r, "</")) {
        if (!name(r, tag)) return false;
        spaces(r);
        if (!take(r, ">")) return fail(r, "an end without end");
        if (!r->depth || strcmp(r->open[--r->depth], tag)) return fail(r, "an end without its beginning");
        return true;
    }
    if (!take(r, "<") || !name(r, tag) || !attributes(r)) return fail(r, "a beginning that is none");
    if (!r->depth && r->roots++) return fail(r, "a second root");
    if (take(r, "/>")) return true;
    if (!take(r, ">")) return fail(r, "a beginning without end");
    if (r->depth == DEPTH) return fail(r, "too deep");
    strcpy(r->open[r->depth++], tag);
    return true;
}

bool xml_is_well_formed(const char *text, char *why)
{
    reader r = {.text = text, .at = text};
    if (take(&r, "<!DOCTYPE html>")) spaces(&r);
    while (*r.at && !r.wrong) {
        if (*r.at == '<') element(&r);
        else if (r.depth) character(&r);
        else if (*r.at == '\n') r.at++;
        else fail(&r, "a text outside of the root");
    }
    if (!r.wrong && (r.depth || r.roots != 1)) fail(&r, "an element without end, or none");
    snprintf(why, 160, "byte %zu: %s, at \"%.60s\"", (size_t)(r.at - text), r.wrong ? r.wrong : "", r.at);
    return !r.wrong;
}
