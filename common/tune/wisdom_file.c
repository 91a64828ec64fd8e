/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of wisdom. Who writes it locks the one that is there, sees that it is still the one of that name, makes a
 * new one in its folder and renames that. Where there is none yet, the new one is given the name by a link, which fails
 * when somebody else was first; then it all begins anew. So nothing that another process wrote is lost.
 */
#include "common/tune/wisdom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/env.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/log.h"

enum { ATTEMPTS = 1000, LOCK_TRIES = 1000, LOCK_PAUSE_NS = 5000000 };
#define CACHED_NAME "wisdom"

/* ---- where it is ---- */

static lfuse_status out_of_memory(lfuse__wisdom_place *place)
{
    lfuse__strbuf_free(&place->path);
    return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory");
}

lfuse_status lfuse__wisdom_place_at(const char *path, lfuse__wisdom_place *place)
{
    lfuse__wisdom_place p = { .path = LFUSE__STRBUF_INIT, .own = true, .may_write = true };

    if (!*lfuse__file_name(path)) return lfuse__error(LFUSE_ERR_IO, "wisdom: \"%s\" names no file", path);
    lfuse__strbuf_add(&p.path, path);
    if (p.path.failed) return out_of_memory(&p);
    p.folder = lfuse__folder_of(path);
    if (p.folder < 0 && errno == ENOMEM) return out_of_memory(&p);
    if (p.folder < 0) {
        lfuse__strbuf_free(&p.path);
        return lfuse__error(LFUSE_ERR_IO, "wisdom %s: its folder: %s", path, strerror(errno));
    }
    p.name = lfuse__file_name(p.path.data);
    *place = p;
    return LFUSE_OK;
}

static lfuse_status place_in_cache(lfuse__wisdom_place *place, lfuse__strbuf *reason)
{
    lfuse__wisdom_place p = { .path = LFUSE__STRBUF_INIT, .name = CACHED_NAME, .disposable = true };
    const char *why;

    p.folder = lfuse__cache_folder(&p.may_write, &why);
    if (p.folder < 0) {
        lfuse__strbuf_format(reason, "no cache folder: %s", why);
        return LFUSE_NOT_READY;
    }
    lfuse__strbuf_format(&p.path, "%s/" CACHED_NAME, lfuse__env_get()->cache_dir);
    if (p.path.failed) return out_of_memory(&p);
    *place = p;
    return LFUSE_OK;
}

lfuse_status lfuse__wisdom_place_default(lfuse__wisdom_place *place, lfuse__strbuf *reason)
{
    const char *given = lfuse__env_get()->wisdom;

    if (!given || !*given) return place_in_cache(place, reason);
    if (!strcmp(given, "0")) lfuse__strbuf_add(reason, "off (LFUSE_WISDOM=0)");
    else if (given[0] != '/') lfuse__strbuf_format(reason, "LFUSE_WISDOM: \"%s\" is no absolute path", given);
    else return lfuse__wisdom_place_at(given, place);
    return LFUSE_NOT_READY;
}

void lfuse__wisdom_place_close(lfuse__wisdom_place *place)
{
    if (place->own) close(place->folder);
    lfuse__strbuf_free(&place->path);
}

/* ---- reading ---- */

static lfuse_status failed(const lfuse__wisdom_place *place, const char *what)
{
    return lfuse__error(LFUSE_ERR_IO, "wisdom %s: %s", place->path.data, what);
}

/* *file -1: there is none. */
static lfuse_status open_file(const lfuse__wisdom_place *place, int mode, int *file, struct stat *st)
{
    const char *wrong;
    int fd = lfuse__file_open(place->folder, place->name, mode, st, &wrong);

    *file = -1;
    if (fd < 0 && errno == ENOENT) return LFUSE_OK;
    if (fd < 0 && lfuse__errno_is_shortage(errno))
        return lfuse__error(LFUSE_ERR_MEMORY, "wisdom %s: %s", place->path.data, wrong);
    if (fd < 0) return failed(place, wrong);
    wrong = lfuse__file_distrusted(st);
    if (!wrong && st->st_size > LFUSE__WISDOM_FILE_BYTES) wrong = "it is too large";
    if (wrong) {
        close(fd);
        return failed(place, wrong);
    }
    *file = fd;
    return LFUSE_OK;
}

/* *damaged: what is there can be read, but not understood. */
static lfuse_status read_file(const lfuse__wisdom_place *place, int file, const struct stat *st, lfuse__wisdom *w,
                              bool *damaged)
{
    const size_t size = (size_t)st->st_size;
    char *text = malloc(size + 1);
    lfuse_status status;

    *damaged = false;
    if (!text) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", size);
    text[size] = '\0';
    if (!lfuse__read_all(file, text, size)) {
        free(text);
        return failed(place, strerror(errno));
    }
    status = lfuse__wisdom_parse(text, size, w);
    free(text);
    *damaged = status == LFUSE_ERR_IO;
    return status ? lfuse__error_prefix(status, "wisdom %s ", place->path.data) : LFUSE_OK;
}

lfuse_status lfuse__wisdom_load(const lfuse__wisdom_place *place, lfuse__wisdom *w)
{
    struct stat st;
    lfuse_status status;
    bool damaged;
    int file;

    LFUSE__TRY(open_file(place, O_RDONLY, &file, &st));
    if (file < 0) return LFUSE_NOT_READY;
    status = read_file(place, file, &st, w, &damaged);
    close(file);
    return status;
}

/* ---- writing ---- */

/* File systems without locks go on without: a rename is whole in any case. Others may hold theirs for ever. */
static lfuse_status lock(const lfuse__wisdom_place *place, int file)
{
    const struct timespec pause = { 0, LOCK_PAUSE_NS };
    int i;

    for (i = 0; i < LOCK_TRIES; i++) {
        if (!flock(file, LOCK_EX | LOCK_NB) || (errno != EWOULDBLOCK && errno != EINTR)) return LFUSE_OK;
        nanosleep(&pause, NULL);
    }
    return failed(place, "another process keeps it locked");
}

/* Whether the open file is no longer the one of that name. */
static bool replaced(const lfuse__wisdom_place *place, const struct stat *st)
{
    struct stat now;

    return fstatat(place->folder, place->name, &now, AT_SYMLINK_NOFOLLOW) || now.st_ino != st->st_ino ||
           now.st_dev != st->st_dev;
}

/* What is in the file. An empty one may be a name that the caller made; what is damaged in the cache is replaced. */
static lfuse_status read_present(const lfuse__wisdom_place *place, int file, const struct stat *st, lfuse__wisdom *w)
{
    lfuse__saved_error before;
    lfuse_status status;
    bool damaged;

    if (file < 0 || st->st_size == 0) return LFUSE_OK;
    lfuse__error_save(&before);
    status = read_file(place, file, st, w, &damaged);
    if (!status || !damaged || !place->disposable) return status;
    lfuse__log(LFUSE_LOG_DEBUG, "%s: it is replaced", lfuse__error_message());
    lfuse__error_restore(&before);
    return LFUSE_OK;
}

static lfuse_status write_temporary(const lfuse__wisdom_place *place, const lfuse__wisdom *w, char *name, size_t size)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    bool written;
    int file;

    lfuse__wisdom_print(w, &text);
    LFUSE__TRY(lfuse__strbuf_check(&text));
    file = lfuse__temporary_file(place->folder, 0600, name, size);
    if (file < 0) {
        lfuse__strbuf_free(&text);
        return lfuse__error(LFUSE_ERR_IO, "wisdom %s: a file beside it: %s", place->path.data, strerror(errno));
    }
    /* Without fsync a power failure may leave an empty file of the new name. */
    written = lfuse__write_all(file, text.data, text.length) && !fsync(file);
    if (close(file)) written = false;
    lfuse__strbuf_free(&text);
    if (written) return LFUSE_OK;
    (void)failed(place, strerror(errno));
    unlinkat(place->folder, name, 0);
    return LFUSE_ERR_IO;
}

/* Of a name that nothing has. *again: something has it now. */
static int give_new_name(const lfuse__wisdom_place *place, const char *temporary, bool *again)
{
    if (!linkat(place->folder, temporary, place->folder, place->name, 0)) {
        unlinkat(place->folder, temporary, 0);
        return 0;
    }
    *again = errno == EEXIST;
    if (*again || (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)) return -1;
    return renameat(place->folder, temporary, place->folder, place->name); /* a file system without links */
}

static lfuse_status give_name(const lfuse__wisdom_place *place, const char *temporary, bool there, bool *again)
{
    const int result = there ? renameat(place->folder, temporary, place->folder, place->name)
                             : give_new_name(place, temporary, again);

    if (!result) return LFUSE_OK;
    if (!*again) (void)failed(place, strerror(errno));
    unlinkat(place->folder, temporary, 0);
    return *again ? LFUSE_OK : LFUSE_ERR_IO;
}

/* The file is open and locked, or was not there. */
static lfuse_status rewrite(const lfuse__wisdom_place *place, int file, const struct stat *st,
                            const lfuse__wisdom *lines, bool *again)
{
    lfuse__wisdom all = { 0 };
    char temporary[96];
    lfuse_status status = read_present(place, file, st, &all);

    if (!status) status = lfuse__wisdom_merge(&all, lines, NULL, NULL);
    if (!status) status = write_temporary(place, &all, temporary, sizeof temporary);
    if (!status) status = give_name(place, temporary, file >= 0, again);
    lfuse__wisdom_clear(&all);
    return status;
}

static lfuse_status attempt(const lfuse__wisdom_place *place, const lfuse__wisdom *lines, bool *again)
{
    struct stat st;
    lfuse_status status;
    int file;

    *again = false;
    LFUSE__TRY(open_file(place, O_RDWR, &file, &st)); /* a read-only file is not replaced either */
    status = file < 0 ? LFUSE_OK : lock(place, file);
    if (!status) {
        *again = file >= 0 && replaced(place, &st);
        if (!*again) status = rewrite(place, file, &st, lines, again);
    }
    if (file >= 0) close(file);
    return status;
}

lfuse_status lfuse__wisdom_save(const lfuse__wisdom_place *place, const lfuse__wisdom *lines)
{
    bool again = true;
    int i;

    if (!place->may_write) return failed(place, "the cache is read only (LFUSE_CACHE=ro)");
    for (i = 0; i < ATTEMPTS && again; i++) LFUSE__TRY(attempt(place, lines, &again));
    return again ? failed(place, "others replace it all the time") : LFUSE_OK;
}
