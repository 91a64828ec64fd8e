/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wisdom: choices that were measured, kept on the device and in a text file that all devices share.
 *
 * A line is a choice. Its fields, with tabs between: the library's version; backend, product, compute units, driver,
 * compiler and product library of the device; what was to be done; provider and identity of what did it best, and its
 * time in microseconds. Of a stage of a plan the provider is "plan", and the identity names the alternative; of the
 * library's own product by tiles, behind a blank, the candidate: "native 32x64x32:8x4:4:8" (matmul/problem.h). The
 * first seven say where the line applies, the first eight are its key.
 *
 * A file begins with the line "libfuse wisdom 1" and ends with one of "end", the number of choices and a checksum of
 * all that is before. So a file that was cut short or damaged is seen to be, and none of it is taken.
 */
#ifndef COMMON_TUNE_WISDOM_H
#define COMMON_TUNE_WISDOM_H

#include "common/base/strbuf.h"
#include "common/device/device.h"

/* ---- wisdom_lines.c: lines, and the text that holds them ---- */

enum {
    LFUSE__WISDOM_LINE_BYTES = 2048,     /* with its NUL */
    LFUSE__WISDOM_MOST_LINES = 16384,    /* beyond, the oldest go */
    LFUSE__WISDOM_FILE_BYTES = 8 << 20   /* here too */
};

typedef struct lfuse__wisdom_line {
    char *text;
    size_t device, key; /* lengths of what says where it applies, and of the key; no tab at their ends */
    uint64_t hash;      /* of the key */
} lfuse__wisdom_line;

typedef struct lfuse__wisdom { /* zero it first */
    lfuse__wisdom_line *lines; /* [count], the oldest first */
    size_t count, capacity;
} lfuse__wisdom;

typedef struct lfuse__wise_choice {
    char provider[16], identity[64];
    double us;
} lfuse__wise_choice;

void lfuse__wisdom_clear(lfuse__wisdom *w);
/* The first seven fields of a device's lines; `info` as lfuse__device_full_facts gives it. */
void lfuse__wisdom_device(const lfuse_device_info *info, lfuse__strbuf *text);
/* A line, of such a text; none of the others has a tab or a control character. */
void lfuse__wisdom_compose(const char *device, const char *what, const char *provider, const char *identity, double us,
                           lfuse__strbuf *line);
/* Takes a line in, in place of the one of its key. ERR_IO when it is none, with what is wrong as the message. */
lfuse_status lfuse__wisdom_put(lfuse__wisdom *w, const char *line, size_t length);
/* Takes in all lines of `from`, or those that apply to `device`; *count (may be NULL) how many. */
lfuse_status lfuse__wisdom_merge(lfuse__wisdom *w, const lfuse__wisdom *from, const char *device, int64_t *count);
bool lfuse__wisdom_applies(const lfuse__wisdom_line *line, const char *device);
bool lfuse__wisdom_look_up(const lfuse__wisdom *w, const char *device, const char *what, lfuse__wise_choice *choice);
/*
 * All lines of a text into `w`, which is empty before, and after a failure. ERR_UNSUPPORTED: of another version;
 * ERR_IO: damaged. The message begins with a verb.
 */
lfuse_status lfuse__wisdom_parse(const char *text, size_t length, lfuse__wisdom *w);
void lfuse__wisdom_print(const lfuse__wisdom *w, lfuse__strbuf *text);

/* ---- wisdom_file.c ---- */

typedef struct lfuse__wisdom_place {
    int folder;
    const char *name;    /* in the folder */
    lfuse__strbuf path;  /* for messages; `name` may lie in it */
    bool own;            /* `folder` is closed with the place */
    bool may_write;
    bool disposable;     /* in the cache's folder, where what is damaged is replaced */
} lfuse__wisdom_place;

/* To be closed after success alone. ERR_IO: the folder is not there. */
lfuse_status lfuse__wisdom_place_at(const char *path, lfuse__wisdom_place *place);
/* What LFUSE_WISDOM and the cache's folder say. LFUSE_NOT_READY (no message) and the reason: there is none. */
lfuse_status lfuse__wisdom_place_default(lfuse__wisdom_place *place, lfuse__strbuf *reason);
void lfuse__wisdom_place_close(lfuse__wisdom_place *place);
/* All of it, into `w` (empty before), or nothing. LFUSE_NOT_READY (no message): there is no such file. */
lfuse_status lfuse__wisdom_load(const lfuse__wisdom_place *place, lfuse__wisdom *w);
/*
 * The file becomes what it is at this moment with these lines taken in. Writers, of this process and of others, wait
 * for each other; readers see old or new. A file that is no wisdom, or damaged, stays and is an error.
 */
lfuse_status lfuse__wisdom_save(const lfuse__wisdom_place *place, const lfuse__wisdom *lines);

/* ---- wisdom.c: what a device knows ---- */

/* Whether the device knows anything. The default file is read with the first question. */
lfuse_status lfuse__wisdom_any(lfuse_device *dev, bool *any);
/* *found when there is a choice for `what`. */
lfuse_status lfuse__wisdom_ask(lfuse_device *dev, const char *what, lfuse__wise_choice *choice, bool *found);
/* Kept on the device and in the default file, where there is one. A file that cannot be written is logged. */
void lfuse__wisdom_note(lfuse_device *dev, const char *what, const char *provider, const char *identity, double us);
/* What stands behind libfuse/wisdom.h; path NULL: the default file. *count: lines that apply. */
lfuse_status lfuse__wisdom_import(lfuse_device *dev, const char *path, int64_t *count);
lfuse_status lfuse__wisdom_export(lfuse_device *dev, const char *path);
/* For lfuse-info: the default file's lines into `w` (empty before), and its path or the reason why there is none. */
void lfuse__wisdom_survey(lfuse__wisdom *w, lfuse__strbuf *text);

#endif
