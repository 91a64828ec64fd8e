/* SPDX-License-Identifier: Apache-2.0 */
/* Files of named tensors: the header as text and as data (safetensors_header.c), the files (safetensors.c). */
#ifndef COMMON_RUN_SAFETENSORS_H
#define COMMON_RUN_SAFETENSORS_H

#include "common/base/arena.h"
#include "common/base/strbuf.h"
#include "libfuse/safetensors.h"

/* The longest header that readers take, and the bytes in front of it. */
enum { LFUSE__SAFETENSORS_HEADER_BYTES = 100000000, LFUSE__SAFETENSORS_LENGTH_BYTES = 8 };

typedef struct lfuse__safetensors_entry {
    lfuse_safetensors_info info;
    uint64_t begin; /* of its elements, in bytes from the end of the header */
    int argument;   /* of what is printed: which of the caller's tensors it is */
} lfuse__safetensors_entry;

/* All zero: empty. */
typedef struct lfuse__safetensors_header {
    lfuse__safetensors_entry *entries; /* of what was parsed, in the order of the names */
    lfuse_safetensors_text *texts;     /* in the order of the keys */
    size_t nentries, ntexts, entry_capacity, text_capacity;
    lfuse__arena arena; /* of names and texts that were parsed */
} lfuse__safetensors_header;

void lfuse__safetensors_clear(lfuse__safetensors_header *h);
/*
 * Reads and checks the text of a header in front of `bytes` bytes of elements. On failure the header is empty.
 * ERR_IO, ERR_RANK, ERR_MEMORY.
 */
lfuse_status lfuse__safetensors_parse(const char *text, size_t length, uint64_t bytes, lfuse__safetensors_header *h);
/* Returns the entry of a name; NULL: there is none. */
const lfuse__safetensors_entry *lfuse__safetensors_find(const lfuse__safetensors_header *h, const char *name);
/*
 * Appends the bytes in front of the elements: the length, and the text of the header with blanks up to a multiple of 8
 * bytes. Entries have a name, a type of the library, shape, bytes and argument. They are sorted, and `begin` is set.
 * ERR_NAME, ERR_OVERFLOW, ERR_MEMORY.
 */
lfuse_status lfuse__safetensors_print(lfuse__safetensors_header *h, lfuse__strbuf *b);

/* What the public functions of these names do. */
lfuse_status lfuse__safetensors_save(const char *path, int count, const char *const *names,
                                     lfuse_tensor *const *tensors, int texts, const lfuse_safetensors_text *metadata);
lfuse_status lfuse__safetensors_open(const char *path, lfuse_safetensors **file);
void lfuse__safetensors_close(lfuse_safetensors *file);
const lfuse__safetensors_header *lfuse__safetensors_header_of(const lfuse_safetensors *file);
const char *lfuse__safetensors_metadata(const lfuse_safetensors *file, const char *key);
lfuse_status lfuse__safetensors_load(lfuse_safetensors *file, int count, const char *const *names,
                                     lfuse_tensor *const *tensors, unsigned switches);

#endif
