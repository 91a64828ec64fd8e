/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a file of named tensors: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/error.h"
#include "common/base/json.h"
#include "common/run/safetensors.h"

#define METADATA "__metadata__"

/* The format's types; those of the library have sizes of their own. */
typedef struct dtype {
    const char *name;
    lfuse_type type;
    unsigned bytes;
} dtype;

static const dtype dtypes[] = {
    {"F64", LFUSE_F64, 8}, {"F32", LFUSE_F32, 4}, {"F16", LFUSE_F16, 2}, {"BF16", LFUSE_BF16, 2},
    {"I64", LFUSE_I64, 8}, {"I32", LFUSE_I32, 4}, {"I8", LFUSE_I8, 1}, {"U8", LFUSE_U8, 1}, {"BOOL", LFUSE_BOOL, 1},
    {"F8_E4M3", LFUSE_E4M3, 1}, {"F8_E5M2", LFUSE_E5M2, 1},
    {"I16", LFUSE_TYPE_NONE, 2}, {"U16", LFUSE_TYPE_NONE, 2}, {"U32", LFUSE_TYPE_NONE, 4},
    {"U64", LFUSE_TYPE_NONE, 8}, {"C64", LFUSE_TYPE_NONE, 8}, {"F8_E8M0", LFUSE_TYPE_NONE, 1},
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

void lfuse__safetensors_clear(lfuse__safetensors_header *h)
{
    free(h->entries);
    free(h->texts);
    lfuse__arena_free(&h->arena);
    memset(h, 0, sizeof *h);
}

/* ---- reading ---- */

static lfuse_status find_dtype(const char *name, const dtype **found)
{
    int i;

    for (i = 0; i < DTYPES; i++)
        if (!strcmp(dtypes[i].name, name)) {
            *found = &dtypes[i];
            return LFUSE_OK;
        }
    return lfuse__error(LFUSE_ERR_IO, "dtype \"%.40s\" is unknown", name);
}

/* Numbers in brackets; more than `most` of them are counted, but not kept. */
static lfuse_status read_numbers(lfuse__json *j, int most, int64_t *numbers, int *count)
{
    int64_t number;
    bool more;

    *count = 0;
    LFUSE__TRY(lfuse__json_open(j, '['));
    for (;;) {
        LFUSE__TRY(lfuse__json_more(j, ']', &more));
        if (!more) return LFUSE_OK;
        LFUSE__TRY(lfuse__json_whole(j, &number));
        if (*count < most) numbers[*count] = number;
        ++*count;
    }
}

/* What an entry says of its tensor. */
typedef struct fields {
    const dtype *type;
    int rank; /* -1: it says none */
    int64_t shape[LFUSE_MAX_RANK];
    int offsets; /* how many there are */
    int64_t offset[2];
} fields;

static lfuse_status read_field(lfuse__json *j, fields *f)
{
    const char *key, *text;

    LFUSE__TRY(lfuse__json_key(j, &key));
    if (!strcmp(key, "dtype") && !f->type) {
        LFUSE__TRY(lfuse__json_string(j, &text));
        return find_dtype(text, &f->type);
    }
    if (!strcmp(key, "shape") && f->rank < 0) return read_numbers(j, LFUSE_MAX_RANK, f->shape, &f->rank);
    if (!strcmp(key, "data_offsets") && !f->offsets) return read_numbers(j, 2, f->offset, &f->offsets);
    return lfuse__error(LFUSE_ERR_IO, "\"%.40s\" is unknown or stands there twice", key);
}

/* Whether the bytes of the elements can be counted. */
static bool count_bytes(const fields *f, uint64_t *bytes)
{
    uint64_t n = f->type->bytes;
    bool empty = false;
    int i;

    for (i = 0; i < f->rank; i++) {
        if (!f->shape[i]) empty = true;
        else if (n > INT64_MAX / (uint64_t)f->shape[i]) return false;
        else n *= (uint64_t)f->shape[i];
    }
    *bytes = empty ? 0 : n;
    return true;
}

static lfuse_status check_fields(const fields *f, lfuse__safetensors_entry *e)
{
    uint64_t bytes;

    if (!f->type || f->rank < 0 || f->offsets != 2)
        return lfuse__error(LFUSE_ERR_IO, "it needs a dtype, a shape and two data_offsets");
    if (f->rank > LFUSE_MAX_RANK)
        return lfuse__error(LFUSE_ERR_RANK, "rank %d is above %d", f->rank, LFUSE_MAX_RANK);
    if (!count_bytes(f, &bytes)) return lfuse__error(LFUSE_ERR_IO, "its shape has too many elements");
    if (f->offset[1] < f->offset[0] || (uint64_t)(f->offset[1] - f->offset[0]) != bytes)
        return lfuse__error(LFUSE_ERR_IO, "data_offsets [%" PRId64 ", %" PRId64 "] of a tensor of %" PRIu64 " bytes",
                            f->offset[0], f->offset[1], bytes);
    e->info.dtype = f->type->name;
    e->info.type = f->type->type;
    e->info.rank = f->rank;
    memcpy(e->info.shape, f->shape, sizeof e->info.shape);
    e->info.bytes = bytes;
    e->begin = (uint64_t)f->offset[0];
    return LFUSE_OK;
}

static lfuse_status read_fields(lfuse__json *j, lfuse__safetensors_entry *e)
{
    fields f = {.rank = -1};
    bool more;

    LFUSE__TRY(lfuse__json_open(j, '{'));
    for (;;) {
        LFUSE__TRY(lfuse__json_more(j, '}', &more));
        if (!more) return check_fields(&f, e);
        LFUSE__TRY(read_field(j, &f));
    }
}

static lfuse_status check_name(const char *name)
{
    if (!*name) return lfuse__error(LFUSE_ERR_NAME, "a name is empty");
    if (!lfuse__is_utf8(name)) return lfuse__error(LFUSE_ERR_NAME, "name \"%.60s\" is no UTF-8", name);
    if (!strcmp(name, METADATA)) return lfuse__error(LFUSE_ERR_NAME, "\"" METADATA "\" is no tensor's name");
    return LFUSE_OK;
}

static lfuse_status read_entry(lfuse__json *j, lfuse__safetensors_header *h, const char *name)
{
    lfuse__safetensors_entry *e;
    lfuse_status status;

    if (!*name) return lfuse__error(LFUSE_ERR_IO, "a name is empty");
    if (h->nentries == INT_MAX) return lfuse__error(LFUSE_ERR_IO, "it has too many tensors");
    LFUSE__TRY(lfuse__array_grow(&h->entries, &h->entry_capacity, h->nentries + 1, sizeof *h->entries));
    e = &h->entries[h->nentries++];
    e->info.name = name;
    status = read_fields(j, e);
    return status && status != LFUSE_ERR_MEMORY ? lfuse__error_prefix(status, "\"%.60s\": ", name) : status;
}

static lfuse_status read_metadata(lfuse__json *j, lfuse__safetensors_header *h)
{
    bool more;

    LFUSE__TRY(lfuse__json_open(j, '{'));
    for (;;) {
        LFUSE__TRY(lfuse__json_more(j, '}', &more));
        if (!more) return LFUSE_OK;
        LFUSE__TRY(lfuse__array_grow(&h->texts, &h->text_capacity, h->ntexts + 1, sizeof *h->texts));
        LFUSE__TRY(lfuse__json_key(j, &h->texts[h->ntexts].key));
        LFUSE__TRY(lfuse__json_string(j, &h->texts[h->ntexts].value));
        h->ntexts++;
    }
}

static lfuse_status read_members(lfuse__json *j, lfuse__safetensors_header *h)
{
    bool more, metadata = false;
    const char *key;

    LFUSE__TRY(lfuse__json_open(j, '{'));
    for (;;) {
        LFUSE__TRY(lfuse__json_more(j, '}', &more));
        if (!more) return lfuse__json_end(j);
        LFUSE__TRY(lfuse__json_key(j, &key));
        if (strcmp(key, METADATA)) {
            LFUSE__TRY(read_entry(j, h, key));
            continue;
        }
        if (metadata) return lfuse__error(LFUSE_ERR_IO, "\"" METADATA "\" stands there twice");
        metadata = true;
        LFUSE__TRY(read_metadata(j, h));
    }
}

/* ---- order ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const lfuse__safetensors_entry *)a)->info.name, ((const lfuse__safetensors_entry *)b)->info.name);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const lfuse_safetensors_text *)a)->key, ((const lfuse_safetensors_text *)b)->key);
}

/* Empty tensors come before the one that begins where they do. */
static int by_place(const void *a, const void *b)
{
    const lfuse__safetensors_entry *x = a, *y = b;
    const uint64_t x_end = x->begin + x->info.bytes, y_end = y->begin + y->info.bytes;

    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x_end == y_end ? 0 : x_end < y_end ? -1 : 1;
}

static void sort(void *array, size_t count, size_t size, int (*order)(const void *, const void *))
{
    if (count) qsort(array, count, size, order);
}

/* Names and keys are then in order. `status` is that of a name that stands there twice. */
static lfuse_status sort_names(lfuse__safetensors_header *h, lfuse_status status)
{
    size_t i;

    sort(h->entries, h->nentries, sizeof *h->entries, by_name);
    for (i = 1; i < h->nentries; i++)
        if (!by_name(&h->entries[i - 1], &h->entries[i]))
            return lfuse__error(status, "name \"%.60s\" stands there twice", h->entries[i].info.name);
    sort(h->texts, h->ntexts, sizeof *h->texts, by_key);
    for (i = 1; i < h->ntexts; i++)
        if (!by_key(&h->texts[i - 1], &h->texts[i]))
            return lfuse__error(status, "key \"%.60s\" stands there twice", h->texts[i].key);
    return LFUSE_OK;
}

/* That the elements of all tensors together are the `bytes` bytes behind the header, each byte of one tensor. */
static lfuse_status check_places(lfuse__safetensors_header *h, uint64_t bytes)
{
    const lfuse__safetensors_entry *e;
    uint64_t end = 0;
    size_t i;

    sort(h->entries, h->nentries, sizeof *h->entries, by_place);
    for (i = 0; i < h->nentries; i++) {
        e = &h->entries[i];
        if (e->begin != end)
            return lfuse__error(LFUSE_ERR_IO, "\"%.60s\" begins at byte %" PRIu64 " of the elements, where those "
                                "before it end at %" PRIu64, e->info.name, e->begin, end);
        end += e->info.bytes; /* both are below 2^63 */
        if (end > bytes)
            return lfuse__error(LFUSE_ERR_IO, "\"%.60s\" ends at byte %" PRIu64 " of %" PRIu64 " bytes of elements",
                                e->info.name, end, bytes);
    }
    if (end == bytes) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_IO, "its tensors have %" PRIu64 " of %" PRIu64 " bytes of elements", end, bytes);
}

lfuse_status lfuse__safetensors_parse(const char *text, size_t length, uint64_t bytes, lfuse__safetensors_header *h)
{
    lfuse__json j;
    lfuse_status status;

    memset(h, 0, sizeof *h);
    j = lfuse__json_of(text, length, &h->arena);
    status = length && *text == '{' ? read_members(&j, h) : lfuse__error(LFUSE_ERR_IO, "it does not begin with '{'");
    if (!status) status = check_places(h, bytes);
    if (!status) status = sort_names(h, LFUSE_ERR_IO);
    if (!status) return LFUSE_OK;
    lfuse__safetensors_clear(h);
    return status == LFUSE_ERR_MEMORY ? status : lfuse__error_prefix(status, "header: ");
}

const lfuse__safetensors_entry *lfuse__safetensors_find(const lfuse__safetensors_header *h, const char *name)
{
    const lfuse__safetensors_entry key = {.info = {.name = name}};

    return h->nentries ? bsearch(&key, h->entries, h->nentries, sizeof key, by_name) : NULL;
}

/* ---- writing ---- */

static const dtype *dtype_of(lfuse_type type)
{
    int i = 0;

    while (dtypes[i].type != type) i++; /* every type of the library is there */
    return &dtypes[i];
}

static lfuse_status check_texts(const lfuse__safetensors_header *h)
{
    size_t i;

    for (i = 0; i < h->nentries; i++) LFUSE__TRY(check_name(h->entries[i].info.name));
    for (i = 0; i < h->ntexts; i++)
        if (!*h->texts[i].key || !lfuse__is_utf8(h->texts[i].key) || !lfuse__is_utf8(h->texts[i].value))
            return lfuse__error(LFUSE_ERR_NAME, "text %zu of the metadata has an empty key or is no UTF-8", i);
    return LFUSE_OK;
}

static void print_metadata(const lfuse__safetensors_header *h, lfuse__strbuf *b)
{
    size_t i;

    lfuse__strbuf_add(b, "\"" METADATA "\":{");
    for (i = 0; i < h->ntexts; i++) {
        if (i) lfuse__strbuf_add(b, ",");
        lfuse__json_add_string(b, h->texts[i].key);
        lfuse__strbuf_add(b, ":");
        lfuse__json_add_string(b, h->texts[i].value);
    }
    lfuse__strbuf_add(b, "}");
}

static void print_entry(const lfuse__safetensors_entry *e, lfuse__strbuf *b)
{
    int i;

    lfuse__json_add_string(b, e->info.name);
    lfuse__strbuf_format(b, ":{\"dtype\":\"%s\",\"shape\":[", dtype_of(e->info.type)->name);
    for (i = 0; i < e->info.rank; i++) lfuse__strbuf_format(b, "%s%" PRId64, i ? "," : "", e->info.shape[i]);
    lfuse__strbuf_format(b, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", e->begin, e->begin + e->info.bytes);
}

/* Members in the order in which their elements lie, those of large elements first. */
static void print_text(lfuse__safetensors_header *h, lfuse__strbuf *b)
{
    lfuse__safetensors_entry *e;
    uint64_t end = 0;
    bool first = !h->ntexts;
    size_t bytes, i;

    lfuse__strbuf_add(b, "{");
    if (h->ntexts) print_metadata(h, b);
    for (bytes = 8; bytes; bytes /= 2)
        for (i = 0; i < h->nentries; i++) {
            e = &h->entries[i];
            if (lfuse_type_size(e->info.type) != bytes) continue;
            e->begin = end;
            end += e->info.bytes;
            if (!first) lfuse__strbuf_add(b, ",");
            first = false;
            print_entry(e, b);
        }
    lfuse__strbuf_add(b, "}");
}

lfuse_status lfuse__safetensors_print(lfuse__safetensors_header *h, lfuse__strbuf *b)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_status status;
    char length[LFUSE__SAFETENSORS_LENGTH_BYTES];
    int i;

    LFUSE__TRY(check_texts(h));
    LFUSE__TRY(sort_names(h, LFUSE_ERR_NAME));
    print_text(h, &text);
    while (text.length % 8) lfuse__strbuf_add(&text, " ");
    status = lfuse__strbuf_check(&text);
    if (!status && text.length > LFUSE__SAFETENSORS_HEADER_BYTES)
        status = lfuse__error(LFUSE_ERR_OVERFLOW, "a header of %zu bytes, where %d are allowed", text.length,
                              LFUSE__SAFETENSORS_HEADER_BYTES);
    for (i = 0; i < LFUSE__SAFETENSORS_LENGTH_BYTES; i++) length[i] = (char)((uint64_t)text.length >> 8 * i);
    if (!status) {
        lfuse__strbuf_bytes(b, length, sizeof length);
        lfuse__strbuf_bytes(b, text.data, text.length);
        status = lfuse__strbuf_check(b);
    }
    lfuse__strbuf_free(&text);
    return status;
}
