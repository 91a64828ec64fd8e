/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disk cache: one file an entry, named by the hash of its key. What is cached is code, so the folder must be the
 * user's own and closed to others, and an entry is taken only if everything about it is right; anything else about it
 * means that it is not there. Writers make a file of another name and rename it, so readers see old or new, never half.
 */
#include "common/device/device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/env.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/hash.h"
#include "common/base/log.h"

#define MAGIC "LFUSEC\0\1" /* the last byte is the version of this layout */
#define SUFFIX ".bin"
#define NAME_BYTES (32 + sizeof SUFFIX)
#define ENTRY_LIMIT ((uint64_t)32 << 20)
#define TOTAL_LIMIT ((uint64_t)64 << 20)
#define WRITES_BETWEEN_CHECKS 64
#define STALE_SECONDS 3600   /* a temporary file of that age was left by a process that died */
#define REFRESH_SECONDS 3600 /* the use of an entry is noted no more often */

typedef struct header {
    char magic[8];
    uint64_t key_length, value_length;
    lfuse__hash sum; /* of key and value */
} header;

typedef struct entry {
    char name[NAME_BYTES];
    int64_t used;
    uint64_t bytes;
} entry;

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static bool started; /* under start_lock; what follows is constant from then on, but for `untold` */
static int folder = -1;
static bool writable;
static const char *reason = ""; /* why there is no folder */
static char reason_text[256];
static atomic_int untold;       /* the level at which the reason is still to be logged */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t writes, bytes_written;

/* ---- the folder ---- */

/* Makes the missing folders of `path`, private ones as the XDG rules ask. False: for want of memory. */
static bool make_folders(const char *path)
{
    char *copy = strdup(path), *at;

    if (!copy) return false;
    for (at = copy + 1; *at; at++) {
        if (*at != '/') continue;
        *at = '\0';
        mkdir(copy, 0700);
        *at = '/';
    }
    mkdir(copy, 0700);
    free(copy);
    return true;
}

static void refuse(lfuse_log_level level, const char *path, const char *why)
{
    snprintf(reason_text, sizeof reason_text, "%s: %s", path, why);
    reason = reason_text;
    atomic_store(&untold, (int)level);
}

/* False: for want of memory or descriptors nothing is known yet. */
static bool open_folder(const char *path, bool write)
{
    struct stat st;
    char why[64];
    int fd;

    if (write && !make_folders(path)) return false;
    fd = lfuse__folder_open(path, false);
    if (fd < 0) {
        if (lfuse__errno_is_shortage(errno)) return false;
        refuse(LFUSE_LOG_DEBUG, path, strerror(errno));
        return true;
    }
    if (fstat(fd, &st)) refuse(LFUSE_LOG_DEBUG, path, strerror(errno));
    else if (st.st_uid != geteuid()) refuse(LFUSE_LOG_WARN, path, "belongs to another user");
    else if (st.st_mode & 077) {
        snprintf(why, sizeof why, "is open to others (mode %04o, needed 0700)", (unsigned)(st.st_mode & 07777));
        refuse(LFUSE_LOG_WARN, path, why);
    } else {
        folder = fd;
        writable = write;
        return true;
    }
    close(fd);
    return true;
}

/* False: to be tried again. */
static bool start(void)
{
    const char *mode = lfuse__env_get()->cache, *path = lfuse__env_get()->cache_dir;
    bool off = mode && !strcmp(mode, "0"), read_only = mode && !strcmp(mode, "ro");

    atomic_store(&untold, (int)LFUSE_LOG_DEBUG);
    if (off) reason = "off (LFUSE_CACHE=0)";
    else if (mode && *mode && !read_only && strcmp(mode, "rw") != 0)
        refuse(LFUSE_LOG_WARN, mode, "LFUSE_CACHE takes 0, ro or rw");
    else if (!path) reason = "no folder: neither LFUSE_CACHE_DIR nor XDG_CACHE_HOME nor HOME is set";
    else if (path[0] != '/') refuse(LFUSE_LOG_WARN, path, "not an absolute folder");
    else return open_folder(path, !read_only);
    return true;
}

/* Whether there is a folder; else why not. */
static bool ready(const char **why)
{
    bool known;
    int level;

    pthread_mutex_lock(&start_lock);
    if (!started) started = start();
    known = started;
    pthread_mutex_unlock(&start_lock);
    if (!known) {
        *why = "out of host memory or descriptors at the moment";
        lfuse__log(LFUSE_LOG_DEBUG, "no disk cache: %s", *why);
        return false;
    }
    if (folder >= 0) return true;
    *why = reason;
    level = atomic_exchange(&untold, (int)LFUSE_LOG_NONE);
    if (level != LFUSE_LOG_NONE) lfuse__log((lfuse_log_level)level, "no disk cache: %s", reason);
    return false;
}

/* ---- files ---- */

static void name_of(const char *key, size_t length, char name[NAME_BYTES])
{
    lfuse__hash h = lfuse__hash_bytes(key, length);

    snprintf(name, NAME_BYTES, "%016" PRIx64 "%016" PRIx64 "%s", h.high, h.low, SUFFIX);
}

static void sum_of(const void *key, size_t key_length, const void *value, size_t length, lfuse__hash *sum)
{
    lfuse__hash parts[2] = { lfuse__hash_bytes(key, key_length), lfuse__hash_bytes(value, length) };

    *sum = lfuse__hash_bytes(parts, sizeof parts);
}

/* ---- reading ---- */

/* NULL when the bytes are an entry of that key; else what is wrong with them. */
static const char *examine(const char *bytes, uint64_t size, const char *key, size_t key_length, header *h)
{
    lfuse__hash sum;

    if (size < sizeof *h) return "too short";
    memcpy(h, bytes, sizeof *h);
    if (memcmp(h->magic, MAGIC, sizeof h->magic)) return "not an entry of this version";
    if (h->key_length > size || h->value_length > size || sizeof *h + h->key_length + h->value_length != size)
        return "of the wrong length";
    if (h->key_length != key_length || memcmp(bytes + sizeof *h, key, key_length)) return "of another key";
    sum_of(key, key_length, bytes + sizeof *h + key_length, h->value_length, &sum);
    return sum.low == h->sum.low && sum.high == h->sum.high ? NULL : "damaged";
}

/* The last use is the file's time, which decides who goes first when the cache is full. */
static void note_use(int file, const struct stat *st)
{
    const struct timespec times[2] = { { 0, UTIME_OMIT }, { 0, UTIME_NOW } };

    if (writable && time(NULL) - st->st_mtim.tv_sec > REFRESH_SECONDS) futimens(file, times);
}

static const char *read_entry(int file, const struct stat *st, const char *key, size_t key_length,
                              lfuse__strbuf *value)
{
    const char *wrong = lfuse__file_distrusted(st);
    char *bytes;
    header h;

    if (wrong) return wrong;
    if (st->st_size < 0 || (uint64_t)st->st_size > ENTRY_LIMIT) return "too large";
    bytes = malloc((size_t)st->st_size + 1);
    if (!bytes) return "out of host memory";
    wrong = lfuse__read_all(file, bytes, (size_t)st->st_size)
                ? examine(bytes, (uint64_t)st->st_size, key, key_length, &h) : "cut short while it was read";
    if (!wrong) {
        lfuse__strbuf_bytes(value, bytes + sizeof h + key_length, (size_t)h.value_length);
        note_use(file, st);
    }
    free(bytes);
    return wrong;
}

lfuse_status lfuse__cache_read(const char *key, size_t key_length, lfuse__strbuf *value)
{
    char name[NAME_BYTES];
    const char *wrong;
    struct stat st;
    int file;

    if (!ready(&wrong)) return LFUSE_NOT_READY;
    name_of(key, key_length, name);
    file = lfuse__file_open(folder, name, O_RDONLY, &st, &wrong);
    if (file < 0) return LFUSE_NOT_READY;
    wrong = read_entry(file, &st, key, key_length, value);
    close(file);
    if (!wrong && !value->failed) return LFUSE_OK;
    lfuse__log(LFUSE_LOG_DEBUG, "cache entry %s is not used: %s", name, wrong ? wrong : "out of host memory");
    return LFUSE_NOT_READY;
}

/* ---- bounding the size ---- */

static int oldest_first(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    return x->used < y->used ? -1 : x->used > y->used;
}

/* All entries, or NULL. Sweeps temporary files that were left behind when `sweep` is set. */
static entry *list_entries(bool sweep, size_t *count, uint64_t *total)
{
    int copy = lfuse__folder_again(folder);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    size_t n = 0, room = 0;
    entry *list = NULL, *grown;
    struct dirent *d;
    struct stat st;

    *count = 0;
    *total = 0;
    if (!dir) {
        if (copy >= 0) close(copy);
        return NULL;
    }
    while ((d = readdir(dir))) {
        size_t length = strlen(d->d_name);
        if (fstatat(folder, d->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)) continue;
        if (sweep && !strncmp(d->d_name, LFUSE__TEMPORARY, strlen(LFUSE__TEMPORARY)) &&
            time(NULL) - st.st_mtim.tv_sec > STALE_SECONDS)
            unlinkat(folder, d->d_name, 0);
        if (length != NAME_BYTES - 1 || strcmp(d->d_name + 32, SUFFIX) != 0) continue;
        if (n == room) {
            room = room ? 2 * room : 64;
            grown = realloc(list, room * sizeof *list);
            if (!grown) break;
            list = grown;
        }
        memcpy(list[n].name, d->d_name, length + 1);
        list[n].used = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        list[n].bytes = (uint64_t)st.st_size;
        *total += list[n++].bytes;
    }
    closedir(dir);
    *count = n;
    return list;
}

/* Down to three quarters, so that the next writes need not do it again. */
static void bound(void)
{
    uint64_t total;
    size_t count, i;
    entry *list = list_entries(true, &count, &total);

    if (list && total > TOTAL_LIMIT) {
        qsort(list, count, sizeof *list, oldest_first);
        for (i = 0; i < count && total > TOTAL_LIMIT / 4 * 3; i++) {
            if (unlinkat(folder, list[i].name, 0) && errno != ENOENT) continue;
            total -= list[i].bytes;
        }
    }
    free(list);
}

static bool time_to_check(uint64_t bytes)
{
    bool due;

    pthread_mutex_lock(&lock);
    bytes_written += bytes;
    due = writes++ % WRITES_BETWEEN_CHECKS == 0 || bytes_written > TOTAL_LIMIT / 8;
    if (due) bytes_written = 0;
    pthread_mutex_unlock(&lock);
    return due;
}

/* ---- writing ---- */

bool lfuse__cache_takes(void)
{
    const char *why;

    return ready(&why) && writable;
}

int lfuse__cache_folder(bool *may_write, const char **why)
{
    if (!ready(why)) return -1;
    *may_write = writable;
    return folder;
}

void lfuse__cache_write(const char *key, size_t key_length, const void *value, size_t length)
{
    char name[NAME_BYTES], temporary[96];
    header h = { MAGIC, key_length, length, { 0, 0 } };
    bool written;
    int file;

    if (!lfuse__cache_takes()) return;
    if (key_length > ENTRY_LIMIT || length > ENTRY_LIMIT || sizeof h + key_length + length > ENTRY_LIMIT) {
        lfuse__log(LFUSE_LOG_DEBUG, "not cached: an entry of %zu bytes is too large", length);
        return;
    }
    name_of(key, key_length, name);
    sum_of(key, key_length, value, length, &h.sum);
    file = lfuse__temporary_file(folder, 0600, temporary, sizeof temporary);
    if (file < 0) {
        lfuse__log(LFUSE_LOG_DEBUG, "not cached: %s: %s", temporary, strerror(errno));
        return;
    }
    written = lfuse__write_all(file, &h, sizeof h) && lfuse__write_all(file, key, key_length) &&
              lfuse__write_all(file, value, length);
    if (close(file)) written = false;
    if (!written || renameat(folder, temporary, folder, name)) {
        lfuse__log(LFUSE_LOG_DEBUG, "not cached: %s: %s", name, strerror(errno));
        unlinkat(folder, temporary, 0);
        return;
    }
    if (time_to_check(sizeof h + key_length + length)) bound();
}

void lfuse__cache_describe(lfuse__strbuf *text, uint64_t *entries, uint64_t *bytes)
{
    const char *why;
    size_t count = 0;

    *entries = 0;
    *bytes = 0;
    if (!ready(&why)) {
        lfuse__strbuf_add(text, why);
        return;
    }
    free(list_entries(false, &count, bytes));
    *entries = count;
    lfuse__strbuf_format(text, "%s%s", lfuse__env_get()->cache_dir, writable ? "" : " (read only)");
}
