/* SPDX-License-Identifier: Apache-2.0 */
#include "common/tune/wisdom.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/base/real.h"
#include "libfuse/version.h"

enum { DEVICE_FIELDS = 7, PROVIDER = 8, IDENTITY = 9, TIME = 10, FIELDS = 11 };
#define MAGIC "libfuse wisdom "
#define VERSION "1"
#define LONGEST_US 1e12

/* ---- one line ---- */

void lfuse__wisdom_clear(lfuse__wisdom *w)
{
    size_t i;

    for (i = 0; i < w->count; i++) free(w->lines[i].text);
    free(w->lines);
    memset(w, 0, sizeof *w);
}

/* Drivers' texts may hold anything: what would end a field or a line becomes a blank. */
static void add_field(lfuse__strbuf *text, const char *field)
{
    for (; *field; field++) {
        const char c = (unsigned char)*field < ' ' || *field == 0x7f ? ' ' : *field;
        lfuse__strbuf_bytes(text, &c, 1);
    }
}

void lfuse__wisdom_device(const lfuse_device_info *info, lfuse__strbuf *text)
{
    lfuse__strbuf_add(text, LFUSE_VERSION_STRING "\t");
    add_field(text, info->backend);
    lfuse__strbuf_add(text, "\t");
    add_field(text, info->product);
    lfuse__strbuf_format(text, "\t%" PRIu32 "\t", info->compute_units);
    add_field(text, info->driver);
    lfuse__strbuf_add(text, "\t");
    add_field(text, info->compiler);
    lfuse__strbuf_add(text, "\t");
    add_field(text, info->gemm);
}

void lfuse__wisdom_compose(const char *device, const char *what, const char *provider, const char *identity, double us,
                           lfuse__strbuf *line)
{
    lfuse__strbuf_format(line, "%s\t%s\t%s\t%s\t", device, what, provider, identity);
    lfuse__real_add(line, us);
}

typedef struct fields {
    const char *start[FIELDS];
    size_t length[FIELDS];
} fields;

static lfuse_status split(const char *line, size_t length, fields *f)
{
    const char *at = line, *tab, *const end = line + length;
    int n;

    for (n = 0; n < FIELDS && at; n++) {
        tab = memchr(at, '\t', (size_t)(end - at));
        f->start[n] = at;
        f->length[n] = (size_t)((tab ? tab : end) - at);
        at = tab ? tab + 1 : NULL;
    }
    if (n == FIELDS && !at) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_IO, "it has %s than %d fields", n < FIELDS ? "less" : "more", (int)FIELDS);
}

/* The line's text ends with a NUL. */
static lfuse_status read_choice(const fields *f, lfuse__wise_choice *choice)
{
    const char *end;

    if (!f->length[PROVIDER] || f->length[PROVIDER] >= sizeof choice->provider)
        return lfuse__error(LFUSE_ERR_IO, "its provider has %zu bytes", f->length[PROVIDER]);
    if (!f->length[IDENTITY] || f->length[IDENTITY] >= sizeof choice->identity)
        return lfuse__error(LFUSE_ERR_IO, "its identity has %zu bytes", f->length[IDENTITY]);
    memset(choice, 0, sizeof *choice);
    memcpy(choice->provider, f->start[PROVIDER], f->length[PROVIDER]);
    memcpy(choice->identity, f->start[IDENTITY], f->length[IDENTITY]);
    choice->us = lfuse__real_parse(f->start[TIME], &end);
    if (!f->length[TIME] || end != f->start[TIME] + f->length[TIME] || !(choice->us >= 0 && choice->us <= LONGEST_US))
        return lfuse__error(LFUSE_ERR_IO, "\"%.40s\" is no time", f->start[TIME]);
    return LFUSE_OK;
}

static lfuse_status check_bytes(const char *line, size_t length)
{
    size_t i;

    if (length >= LFUSE__WISDOM_LINE_BYTES)
        return lfuse__error(LFUSE_ERR_IO, "it has more than %d bytes", LFUSE__WISDOM_LINE_BYTES - 1);
    for (i = 0; i < length; i++)
        if (((unsigned char)line[i] < ' ' && line[i] != '\t') || line[i] == 0x7f)
            return lfuse__error(LFUSE_ERR_IO, "it holds the byte 0x%02x", (unsigned char)line[i]);
    return LFUSE_OK;
}

/* On success the text of *made is the caller's. */
static lfuse_status make_line(const char *text, size_t length, lfuse__wisdom_line *made)
{
    lfuse__wise_choice choice;
    lfuse_status status;
    char *copy;
    fields f;

    LFUSE__TRY(check_bytes(text, length));
    copy = strndup(text, length);
    if (!copy) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", length);
    status = split(copy, length, &f);
    if (!status) status = read_choice(&f, &choice);
    if (status) {
        free(copy);
        return status;
    }
    made->text = copy;
    made->device = (size_t)(f.start[DEVICE_FIELDS] - copy) - 1;
    made->key = (size_t)(f.start[PROVIDER] - copy) - 1;
    made->hash = lfuse__hash_bytes(copy, made->key).low;
    return LFUSE_OK;
}

/* ---- many ---- */

static lfuse__wisdom_line *find(const lfuse__wisdom *w, const char *key, size_t length)
{
    const uint64_t hash = lfuse__hash_bytes(key, length).low;
    size_t i;

    for (i = 0; i < w->count; i++)
        if (w->lines[i].hash == hash && w->lines[i].key == length && !memcmp(w->lines[i].text, key, length))
            return &w->lines[i];
    return NULL;
}

static void drop_oldest(lfuse__wisdom *w)
{
    free(w->lines[0].text);
    memmove(w->lines, w->lines + 1, --w->count * sizeof *w->lines);
}

static lfuse_status append(lfuse__wisdom *w, const lfuse__wisdom_line *line)
{
    if (w->count == LFUSE__WISDOM_MOST_LINES) drop_oldest(w);
    LFUSE__TRY(lfuse__array_grow(&w->lines, &w->capacity, w->count + 1, sizeof *w->lines));
    w->lines[w->count++] = *line;
    return LFUSE_OK;
}

lfuse_status lfuse__wisdom_put(lfuse__wisdom *w, const char *text, size_t length)
{
    lfuse__wisdom_line line, *old;
    lfuse_status status;

    LFUSE__TRY(make_line(text, length, &line));
    old = find(w, line.text, line.key);
    if (old) {
        free(old->text);
        *old = line;
        return LFUSE_OK;
    }
    status = append(w, &line);
    if (status) free(line.text);
    return status;
}

bool lfuse__wisdom_applies(const lfuse__wisdom_line *line, const char *device)
{
    return strlen(device) == line->device && !memcmp(line->text, device, line->device);
}

lfuse_status lfuse__wisdom_merge(lfuse__wisdom *w, const lfuse__wisdom *from, const char *device, int64_t *count)
{
    int64_t taken = 0;
    size_t i;

    for (i = 0; i < from->count; i++) {
        if (device && !lfuse__wisdom_applies(&from->lines[i], device)) continue;
        LFUSE__TRY(lfuse__wisdom_put(w, from->lines[i].text, strlen(from->lines[i].text)));
        taken++;
    }
    if (count) *count = taken;
    return LFUSE_OK;
}

bool lfuse__wisdom_look_up(const lfuse__wisdom *w, const char *device, const char *what, lfuse__wise_choice *choice)
{
    lfuse__strbuf key = LFUSE__STRBUF_INIT;
    const lfuse__wisdom_line *line = NULL;
    fields f;

    if (!w->count) return false;
    lfuse__strbuf_format(&key, "%s\t%s", device, what);
    if (!key.failed) line = find(w, key.data, key.length);
    lfuse__strbuf_free(&key);
    return line && !split(line->text, strlen(line->text), &f) && !read_choice(&f, choice);
}

/* ---- the text of a file ---- */

static lfuse_status check_begin(const char *text, size_t length)
{
    const size_t magic = strlen(MAGIC), first = magic + strlen(VERSION);
    size_t digits;

    if (!length) return lfuse__error(LFUSE_ERR_IO, "is empty");
    if (length <= magic || memcmp(text, MAGIC, magic) != 0) return lfuse__error(LFUSE_ERR_IO, "holds no wisdom");
    if (length > first && text[first] == '\n' && !memcmp(text + magic, VERSION, strlen(VERSION))) return LFUSE_OK;
    if (!memchr(text + magic, '\n', length - magic)) return lfuse__error(LFUSE_ERR_IO, "is cut short");
    digits = strspn(text + magic, "0123456789");
    if (digits > 0 && digits < 8 && text[magic + digits] == '\n')
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "is of version %.*s, and this library reads version " VERSION,
                            (int)digits, text + magic);
    return lfuse__error(LFUSE_ERR_IO, "is of no version");
}

static void add_end(lfuse__strbuf *text, size_t count)
{
    const lfuse__hash sum = lfuse__hash_bytes(text->data, text->length);

    lfuse__strbuf_format(text, "end %zu %016" PRIx64 "%016" PRIx64 "\n", count, sum.high, sum.low);
}

/* The last line must be what the lines before it ask for. *body: bytes before it; *count: choices. */
static lfuse_status check_end(const char *text, size_t length, size_t *body, size_t *count)
{
    const char *last = memrchr(text, '\n', length - 1), *at;
    char wanted[96];
    lfuse__hash sum;

    if (text[length - 1] != '\n' || !last || strncmp(last + 1, "end ", 4) != 0)
        return lfuse__error(LFUSE_ERR_IO, "is cut short");
    *body = (size_t)(last + 1 - text);
    *count = 0;
    for (at = text; at < last; at++) *count += *at == '\n';
    sum = lfuse__hash_bytes(text, *body);
    snprintf(wanted, sizeof wanted, "end %zu %016" PRIx64 "%016" PRIx64 "\n", *count, sum.high, sum.low);
    if (length - *body == strlen(wanted) && !memcmp(text + *body, wanted, length - *body)) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_IO, "is damaged: its last line does not fit the others");
}

static lfuse_status parse_lines(const char *text, size_t body, lfuse__wisdom *w)
{
    const char *at = (const char *)memchr(text, '\n', body) + 1, *end;
    lfuse__wisdom_line line;
    lfuse_status status;
    int number = 1;

    for (; at < text + body; at = end + 1) {
        end = memchr(at, '\n', (size_t)(text + body - at));
        number++;
        status = make_line(at, (size_t)(end - at), &line);
        if (status) return lfuse__error_prefix(status, "is no good at line %d: ", number);
        status = append(w, &line);
        if (status) {
            free(line.text);
            return status;
        }
    }
    return LFUSE_OK;
}

lfuse_status lfuse__wisdom_parse(const char *text, size_t length, lfuse__wisdom *w)
{
    size_t body, count;
    lfuse_status status;

    LFUSE__TRY(check_begin(text, length));
    LFUSE__TRY(check_end(text, length, &body, &count));
    if (count > LFUSE__WISDOM_MOST_LINES)
        return lfuse__error(LFUSE_ERR_IO, "holds %zu choices, more than %d", count, LFUSE__WISDOM_MOST_LINES);
    status = parse_lines(text, body, w);
    if (status) lfuse__wisdom_clear(w);
    return status;
}

void lfuse__wisdom_print(const lfuse__wisdom *w, lfuse__strbuf *text)
{
    const size_t most = LFUSE__WISDOM_FILE_BYTES - 256; /* for what is around the lines */
    size_t bytes = 0, first = w->count, i;

    while (first && bytes + strlen(w->lines[first - 1].text) + 1 <= most) bytes += strlen(w->lines[--first].text) + 1;
    lfuse__strbuf_add(text, MAGIC VERSION "\n");
    for (i = first; i < w->count; i++) lfuse__strbuf_format(text, "%s\n", w->lines[i].text);
    if (!text->failed) add_end(text, w->count - first);
}
