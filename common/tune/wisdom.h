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

/* What a line says: who computes it best, how, and in how many microseconds. */
typedef struct lfuse__wise_choice {
    char provider[16], identity[64];
    double us;
} lfuse__wise_choice;

void lfuse__wisdom_clear(lfuse__wisdom *w);
/* Appends the first seven fields of a device's lines; `info` is as lfuse__device_full_facts fills it in. */
void lfuse__wisdom_device(const lfuse_device_info *info, lfuse__strbuf *text);
/* Appends a line: `device` is such a text; the other texts have no tab and no control character. */
void lfuse__wisdom_compose(const char *device, const char *what, const char *provider, const char *identity, double us,
                           lfuse__strbuf *line);
/* Takes a line in, in place of the one of its key. ERR_IO: it is none; the message says what is wrong with it. */
lfuse_status lfuse__wisdom_put(lfuse__wisdom *w, const char *line, size_t length);
/*
 * Takes in the lines of `from`, all, or, where `device` is not NULL, those that apply to it; *count (or NULL): how
 * many.
 */
lfuse_status lfuse__wisdom_merge(lfuse__wisdom *w, const lfuse__wisdom *from, const char *device, int64_t *count);
/* Returns whether a line is of the device. */
bool lfuse__wisdom_applies(const lfuse__wisdom_line *line, const char *device);
/* Fills in the choice for `what` on the device. Returns whether there is one. */
bool lfuse__wisdom_look_up(const lfuse__wisdom *w, const char *device, const char *what, lfuse__wise_choice *choice);
/*
 * Takes all lines of a file's text into `w`, which is empty before, and after a failure. The message begins with a
 * verb.
 *  - ERR_UNSUPPORTED: the text is of another version;
 *  - ERR_IO: it is damaged.
 */
lfuse_status lfuse__wisdom_parse(const char *text, size_t length, lfuse__wisdom *w);
/* Appends the text of a file with these lines; of those that are too many for one the newest. */
void lfuse__wisdom_print(const lfuse__wisdom *w, lfuse__strbuf *text);

/* ---- wisdom_file.c ---- */

/* Where a file of wisdom is. */
typedef struct lfuse__wisdom_place {
    int folder;          /* open */
    const char *name;    /* in the folder */
    lfuse__strbuf path;  /* for messages; `name` may lie in it */
    bool own;            /* `folder` is closed with the place */
    bool may_write;
    bool disposable;     /* in the cache's folder, where what is damaged is replaced */
} lfuse__wisdom_place;

/* Finds the place of a file by its path; it is closed after success alone. ERR_IO: its folder is not there. */
lfuse_status lfuse__wisdom_place_at(const char *path, lfuse__wisdom_place *place);
/*
 * Finds that of the default file, by LFUSE_WISDOM or in the cache's folder. LFUSE_NOT_READY: none; appends the reason.
 */
lfuse_status lfuse__wisdom_place_default(lfuse__wisdom_place *place, lfuse__strbuf *reason);
void lfuse__wisdom_place_close(lfuse__wisdom_place *place);
/* Reads all of the file into `w`, which is empty before, or nothing. LFUSE_NOT_READY (no message): there is no file. */
lfuse_status lfuse__wisdom_load(const lfuse__wisdom_place *place, lfuse__wisdom *w);
/*
 * Takes lines into the file as it is at this moment. Writers, of this process and of others, wait for each other;
 * readers see the old file or the new one. A file that is no wisdom, or damaged, stays as it is, and is an error.
 */
lfuse_status lfuse__wisdom_save(const lfuse__wisdom_place *place, const lfuse__wisdom *lines);

/* ---- wisdom.c: what a device knows ---- */

/* Tells whether the device knows any choice. The default file is read with the first question. */
lfuse_status lfuse__wisdom_any(lfuse_device *dev, bool *any);
/* Fills in the choice for `what`; *found: there is one. */
lfuse_status lfuse__wisdom_ask(lfuse_device *dev, const char *what, lfuse__wise_choice *choice, bool *found);
/* Keeps a choice on the device, and in the default file, where there is one. A failure to write it is logged. */
void lfuse__wisdom_note(lfuse_device *dev, const char *what, const char *provider, const char *identity, double us);
/* What the functions of libfuse/wisdom.h do; path NULL: the default file. *count: lines that apply to the device. */
lfuse_status lfuse__wisdom_import(lfuse_device *dev, const char *path, int64_t *count);
lfuse_status lfuse__wisdom_export(lfuse_device *dev, const char *path);
/* For lfuse-info: reads the default file into `w`, which is empty before; appends its path, or why there is none. */
void lfuse__wisdom_survey(lfuse__wisdom *w, lfuse__strbuf *text);

#endif
