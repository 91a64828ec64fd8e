/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of named tensors. One is saved under a temporary name in its folder and renamed when it is on the disk. Of one
 * that is opened the header is checked as a whole; elements are read when they are asked for.
 */
#include "common/run/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/run/tensors/tensor.h"

struct lfuse_safetensors {
    lfuse__safetensors_header header;
    int file;
    uint64_t start; /* of the elements, in bytes */
    char path[];    /* for messages */
};

static lfuse_status failed(const char *path, const char *why)
{
    return lfuse__error(lfuse__errno_is_shortage(errno) ? LFUSE_ERR_MEMORY : LFUSE_ERR_IO, "%s: %s", path, why);
}

/* A tensor's contents on the host; one byte at least, so that NULL is a failure. */
static lfuse_status host_memory(uint64_t bytes, char **memory)
{
    *memory = bytes > SIZE_MAX ? NULL : malloc(bytes ? (size_t)bytes : 1);
    return *memory ? LFUSE_OK : lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%" PRIu64 " bytes)", bytes);
}

static lfuse_status check_arguments(int count, const char *const *names, lfuse_tensor *const *tensors)
{
    int i;

    if (count < 0) return lfuse__error(LFUSE_ERR_INVALID, "a count of %d tensors", count);
    for (i = 0; i < count; i++)
        if (!names[i] || !tensors[i])
            return lfuse__error(LFUSE_ERR_INVALID, "%s %d is NULL", names[i] ? "tensor" : "name", i);
    return LFUSE_OK;
}

/* ---- saving ---- */

static lfuse_status fill_header(int count, const char *const *names, lfuse_tensor *const *tensors, int texts,
                                const lfuse_safetensors_text *metadata, lfuse__safetensors_header *h)
{
    lfuse_safetensors_info *info;
    int i;

    LFUSE__TRY(lfuse__array_grow(&h->entries, &h->entry_capacity, (size_t)count, sizeof *h->entries));
    LFUSE__TRY(lfuse__array_grow(&h->texts, &h->text_capacity, (size_t)texts, sizeof *h->texts));
    for (i = 0; i < count; i++) {
        info = &h->entries[i].info;
        h->entries[i].argument = i;
        info->name = names[i];
        info->type = tensors[i]->type;
        info->rank = tensors[i]->rank;
        memcpy(info->shape, tensors[i]->shape, sizeof info->shape);
        info->bytes = (uint64_t)tensors[i]->elements * lfuse_type_size(info->type);
    }
    h->nentries = (size_t)count;
    for (i = 0; i < texts; i++) {
        if (!metadata[i].key || !metadata[i].value)
            return lfuse__error(LFUSE_ERR_INVALID, "text %d of the metadata is NULL", i);
        h->texts[i] = metadata[i];
    }
    h->ntexts = (size_t)texts;
    return LFUSE_OK;
}

static lfuse_status write_tensor(const char *path, int file, const lfuse_tensor *t)
{
    const uint64_t bytes = (uint64_t)t->elements * lfuse_type_size(t->type);
    lfuse_status status;
    char *memory;

    LFUSE__TRY(host_memory(bytes, &memory));
    status = lfuse__tensor_read(t, NULL, memory);
    if (!status && !lfuse__write_all(file, memory, (size_t)bytes)) status = failed(path, strerror(errno));
    free(memory);
    return status;
}

/* The elements of one size, in the order of the header. */
static lfuse_status write_elements(const char *path, int file, const lfuse__safetensors_header *h,
                                   lfuse_tensor *const *tensors)
{
    const lfuse__safetensors_entry *e;
    size_t size, i;

    for (size = 8; size; size /= 2)
        for (i = 0; i < h->nentries; i++) {
            e = &h->entries[i];
            if (lfuse_type_size(e->info.type) == size) LFUSE__TRY(write_tensor(path, file, tensors[e->argument]));
        }
    return LFUSE_OK;
}

static lfuse_status write_file(const char *path, int file, const lfuse__safetensors_header *h,
                               const lfuse__strbuf *text, lfuse_tensor *const *tensors)
{
    if (!lfuse__write_all(file, text->data, text->length)) return failed(path, strerror(errno));
    LFUSE__TRY(write_elements(path, file, h, tensors));
    /* Without fsync a power failure may leave an empty file of the new name. */
    return fsync(file) ? failed(path, strerror(errno)) : LFUSE_OK;
}

/* Something else than a regular file is not replaced. */
static lfuse_status check_target(const char *path, int folder)
{
    const char *name = lfuse__file_name(path);
    struct stat st;

    if (!*name) return lfuse__error(LFUSE_ERR_IO, "\"%s\" names no file", path);
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? LFUSE_OK : failed(path, strerror(errno));
    return S_ISREG(st.st_mode) ? LFUSE_OK : lfuse__error(LFUSE_ERR_IO, "%s: it is no regular file", path);
}

static lfuse_status save_in(const char *path, int folder, const lfuse__safetensors_header *h,
                            const lfuse__strbuf *text, lfuse_tensor *const *tensors)
{
    char temporary[96];
    lfuse_status status;
    int file;

    LFUSE__TRY(check_target(path, folder));
    file = lfuse__temporary_file(folder, 0666, temporary, sizeof temporary);
    if (file < 0) return failed(path, strerror(errno));
    status = write_file(path, file, h, text, tensors);
    if (close(file) && !status) status = failed(path, strerror(errno));
    if (!status && renameat(folder, temporary, folder, lfuse__file_name(path)))
        status = failed(path, strerror(errno));
    if (status) unlinkat(folder, temporary, 0);
    else (void)fsync(folder); /* the file is complete in any case, and some file systems cannot do this */
    return status;
}

lfuse_status lfuse__safetensors_save(const char *path, int count, const char *const *names,
                                     lfuse_tensor *const *tensors, int texts, const lfuse_safetensors_text *metadata)
{
    lfuse__safetensors_header h = {0};
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_status status;
    int folder;

    LFUSE__TRY(check_arguments(count, names, tensors));
    if (texts < 0) return lfuse__error(LFUSE_ERR_INVALID, "a count of %d texts", texts);
    status = fill_header(count, names, tensors, texts, metadata, &h);
    if (!status) status = lfuse__safetensors_print(&h, &text);
    if (status) goto out;
    folder = lfuse__folder_of(path);
    if (folder < 0) {
        status = failed(path, strerror(errno));
        goto out;
    }
    status = save_in(path, folder, &h, &text, tensors);
    close(folder);
out:
    lfuse__strbuf_free(&text);
    lfuse__safetensors_clear(&h);
    return status;
}

/* ---- opening ---- */

/* The length of the header, of a file of so many bytes. */
static lfuse_status read_length(lfuse_safetensors *f, uint64_t size, uint64_t *length)
{
    unsigned char bytes[LFUSE__SAFETENSORS_LENGTH_BYTES];
    int i;

    if (size < sizeof bytes) return lfuse__error(LFUSE_ERR_IO, "it has %" PRIu64 " bytes: no header", size);
    if (!lfuse__read_all(f->file, bytes, sizeof bytes)) return lfuse__error(LFUSE_ERR_IO, "%s", strerror(errno));
    *length = 0;
    for (i = 0; i < LFUSE__SAFETENSORS_LENGTH_BYTES; i++) *length |= (uint64_t)bytes[i] << 8 * i;
    if (*length > LFUSE__SAFETENSORS_HEADER_BYTES)
        return lfuse__error(LFUSE_ERR_IO, "a header of %" PRIu64 " bytes, where %d are allowed", *length,
                            LFUSE__SAFETENSORS_HEADER_BYTES);
    if (*length > size - sizeof bytes)
        return lfuse__error(LFUSE_ERR_IO, "a header of %" PRIu64 " bytes in a file of %" PRIu64, *length, size);
    return LFUSE_OK;
}

static lfuse_status read_header(lfuse_safetensors *f, uint64_t size)
{
    lfuse_status status;
    uint64_t length;
    char *text;

    LFUSE__TRY(read_length(f, size, &length));
    f->start = LFUSE__SAFETENSORS_LENGTH_BYTES + length;
    LFUSE__TRY(host_memory(length, &text));
    status = lfuse__read_all(f->file, text, (size_t)length) ? LFUSE_OK
                                                            : lfuse__error(LFUSE_ERR_IO, "%s", strerror(errno));
    if (!status) status = lfuse__safetensors_parse(text, (size_t)length, size - f->start, &f->header);
    free(text);
    return status;
}

/* Models often lie under symbolic links, which lfuse__file_open does not follow. */
static lfuse_status open_file(const char *path, int *file, uint64_t *size)
{
    char *real = realpath(path, NULL);
    const char *why;
    struct stat st;

    if (!real) return failed(path, strerror(errno));
    *file = lfuse__file_open(AT_FDCWD, real, O_RDONLY, &st, &why);
    free(real);
    if (*file < 0) return failed(path, why);
    *size = (uint64_t)st.st_size;
    return LFUSE_OK;
}

lfuse_status lfuse__safetensors_open(const char *path, lfuse_safetensors **file)
{
    const size_t length = strlen(path) + 1;
    lfuse_safetensors *f = calloc(1, sizeof *f + length);
    lfuse_status status;
    uint64_t size = 0;

    if (!f) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *f + length);
    memcpy(f->path, path, length);
    status = open_file(path, &f->file, &size);
    if (status) goto out_memory;
    status = read_header(f, size);
    if (status) goto out_file;
    *file = f;
    return LFUSE_OK;
out_file:
    close(f->file);
    if (status != LFUSE_ERR_MEMORY) (void)lfuse__error_prefix(status, "%s: ", path);
out_memory:
    free(f);
    return status;
}

void lfuse__safetensors_close(lfuse_safetensors *file)
{
    if (!file) return;
    close(file->file);
    lfuse__safetensors_clear(&file->header);
    free(file);
}

const lfuse__safetensors_header *lfuse__safetensors_header_of(const lfuse_safetensors *file)
{
    return &file->header;
}

const char *lfuse__safetensors_metadata(const lfuse_safetensors *file, const char *key)
{
    const lfuse__safetensors_header *h = &file->header;
    size_t i;

    for (i = 0; i < h->ntexts; i++)
        if (!strcmp(h->texts[i].key, key)) return h->texts[i].value;
    return NULL;
}

/* ---- loading ---- */

static lfuse_status check_alike(const lfuse_safetensors_info *info, const lfuse_tensor *t)
{
    int i;

    if (info->type != t->type)
        return lfuse__error(LFUSE_ERR_TYPE, "\"%.60s\" is %s in the file, the tensor is %s", info->name, info->dtype,
                            lfuse_type_name(t->type));
    if (info->rank != t->rank)
        return lfuse__error(LFUSE_ERR_RANK, "\"%.60s\" has rank %d in the file, the tensor has rank %d", info->name,
                            info->rank, t->rank);
    for (i = 0; i < t->rank; i++)
        if (info->shape[i] != t->shape[i])
            return lfuse__error(LFUSE_ERR_SHAPE, "axis %d of \"%.60s\" has extent %" PRId64 " in the file, %" PRId64
                                " in the tensor", i, info->name, info->shape[i], t->shape[i]);
    if (!lfuse__tensor_repeats(t)) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_OVERLAP, "\"%.60s\": the tensor's strides put several elements in one place",
                        info->name);
}

/* Sets entries[i] to what the file has of names[i]; taken[k]: entry k of the header is among them. */
static lfuse_status match(const lfuse__safetensors_header *h, int count, const char *const *names,
                          lfuse_tensor *const *tensors, const lfuse__safetensors_entry **entries, bool *taken)
{
    size_t at;
    int i;

    for (i = 0; i < count; i++) {
        entries[i] = lfuse__safetensors_find(h, names[i]);
        if (!entries[i]) return lfuse__error(LFUSE_ERR_NAME, "it holds no tensor \"%.60s\"", names[i]);
        at = (size_t)(entries[i] - h->entries);
        if (taken[at]) return lfuse__error(LFUSE_ERR_NAME, "\"%.60s\" is asked for twice", names[i]);
        taken[at] = true;
        LFUSE__TRY(check_alike(&entries[i]->info, tensors[i]));
    }
    return LFUSE_OK;
}

static lfuse_status check_all_taken(const lfuse__safetensors_header *h, const bool *taken)
{
    size_t i;

    for (i = 0; i < h->nentries; i++)
        if (!taken[i])
            return lfuse__error(LFUSE_ERR_NAME, "it holds a tensor \"%.60s\", which is not asked for",
                                h->entries[i].info.name);
    return LFUSE_OK;
}

static lfuse_status check_truths(const lfuse_safetensors_info *info, const char *memory)
{
    uint64_t i;

    for (i = 0; info->type == LFUSE_BOOL && i < info->bytes; i++)
        if (memory[i] & ~1)
            return lfuse__error(LFUSE_ERR_IO, "element %" PRIu64 " of \"%.60s\" is neither 0 nor 1", i, info->name);
    return LFUSE_OK;
}

static lfuse_status load_tensor(lfuse_safetensors *f, const lfuse__safetensors_entry *e, lfuse_tensor *t)
{
    lfuse_status status;
    char *memory;

    if (!e->info.bytes) return LFUSE_OK;
    LFUSE__TRY(host_memory(e->info.bytes, &memory));
    status = lseek(f->file, (off_t)(f->start + e->begin), SEEK_SET) >= 0 &&
                     lfuse__read_all(f->file, memory, (size_t)e->info.bytes)
                 ? check_truths(&e->info, memory)
                 : lfuse__error(LFUSE_ERR_IO, "\"%.60s\": %s", e->info.name, strerror(errno));
    if (!status) status = lfuse__tensor_write(t, NULL, memory);
    free(memory);
    return status;
}

lfuse_status lfuse__safetensors_load(lfuse_safetensors *file, int count, const char *const *names,
                                     lfuse_tensor *const *tensors, unsigned switches)
{
    const lfuse__safetensors_header *h = &file->header;
    const lfuse__safetensors_entry **entries;
    lfuse__arena arena = {0};
    lfuse_status status;
    bool *taken;
    int i;

    LFUSE__TRY(check_arguments(count, names, tensors));
    if (switches & ~(unsigned)LFUSE_SAFETENSORS_PARTIAL)
        return lfuse__error(LFUSE_ERR_INVALID, "unknown switches %#x", switches);
    entries = lfuse__arena_array(&arena, (size_t)count, sizeof *entries);
    taken = lfuse__arena_array(&arena, h->nentries, sizeof *taken);
    status = entries && taken ? match(h, count, names, tensors, entries, taken) : LFUSE_ERR_MEMORY;
    if (!status && !(switches & LFUSE_SAFETENSORS_PARTIAL)) status = check_all_taken(h, taken);
    for (i = 0; i < count && !status; i++) status = load_tensor(file, entries[i], tensors[i]);
    lfuse__arena_free(&arena);
    return status && status != LFUSE_ERR_MEMORY ? lfuse__error_prefix(status, "%s: ", file->path) : status;
}
