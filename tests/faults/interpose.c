/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "tests/faults/interpose.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER ((uintptr_t)__builtin_return_address(0))

/* ---- whose call it is, and whether it fails ---- */

static uintptr_t base, first, last; /* of our text; constant once `following` is set */
static atomic_bool following, armed;
static atomic_uint_fast64_t seen, failed, at;
static uint64_t nth;
static bool always;
static _Atomic(const char *) name;

static bool ours(uintptr_t caller)
{
    return atomic_load(&following) && caller >= first && caller < last;
}

static bool fails(uintptr_t caller, const char *function)
{
    if (!ours(caller) || !atomic_load(&armed)) return false;
    uint64_t n = atomic_fetch_add(&seen, 1) + 1;
    if (n != nth && !(always && nth && n > nth)) return false;
    if (atomic_fetch_add(&failed, 1) == 0) {
        atomic_store(&at, caller - base);
        atomic_store(&name, function);
    }
    return true;
}

static int find_text(struct dl_phdr_info *info, size_t size, void *within)
{
    const uintptr_t wanted = (uintptr_t)within;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD || wanted < start || wanted >= start + p->p_memsz) continue;
        base = info->dlpi_addr;
        first = start;
        last = start + p->p_memsz;
        return 1;
    }
    return 0;
}

/* ---- the functions behind ---- */

static void *next_of(const char *function)
{
    void *found = dlsym(RTLD_NEXT, function);
    static const char words[] = "interpose: libc lacks a function\n";

    if (!found && write(2, words, sizeof words - 1) > 0) _exit(99);
    return found;
}

#define NEXT(function)                                                                                                 \
    static __typeof__(function) *next;                                                                                 \
    if (!next) *(void **)&next = next_of(#function)

/* What dlsym itself allocates while malloc is looked for, and is never given back. */
static _Alignas(16) char early[4096];
static size_t early_used;
static _Thread_local bool looking;

static void *take_early(size_t bytes)
{
    void *p = early + early_used;

    early_used += (bytes + 15) / 16 * 16;
    return early_used <= sizeof early ? p : NULL;
}

static bool is_early(const void *p)
{
    return (const char *)p >= early && (const char *)p < early + sizeof early;
}

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
} real;

static bool look(void)
{
    if (real.free) return true;
    if (looking) return false;
    looking = true;
    *(void **)&real.malloc = next_of("malloc");
    *(void **)&real.calloc = next_of("calloc");
    *(void **)&real.realloc = next_of("realloc");
    *(void **)&real.free = next_of("free");
    looking = false;
    return true;
}

/* ---- blocks of ours that are alive ---- */

enum { PLACES = 1 << 16 };
static void *blocks[PLACES]; /* open addressing; a freed place keeps `freed`, so that what lies behind it is found */
static char freed_mark;
static void *const freed = &freed_mark;
static atomic_int_fast64_t live;
static atomic_flag busy = ATOMIC_FLAG_INIT;

static void enter(void)
{
    while (atomic_flag_test_and_set(&busy)) sched_yield();
}

static void leave(void)
{
    atomic_flag_clear(&busy);
}

static size_t place_of(const void *p)
{
    return (size_t)(((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15u >> 40) % PLACES;
}

static void add(void *p)
{
    size_t i = place_of(p), n;

    enter();
    for (n = 0; n < PLACES && blocks[i] && blocks[i] != freed; n++) i = (i + 1) % PLACES;
    if (n < PLACES) {
        blocks[i] = p;
        atomic_fetch_add(&live, 1);
    }
    leave();
}

static void drop(const void *p)
{
    size_t i = place_of(p), n;

    if (!p || !atomic_load(&live)) return;
    enter();
    for (n = 0; n < PLACES && blocks[i] && blocks[i] != p; n++) i = (i + 1) % PLACES;
    if (n < PLACES && blocks[i] == p) {
        blocks[i] = freed;
        atomic_fetch_sub(&live, 1);
    }
    leave();
}

static void *made(uintptr_t caller, void *p)
{
    if (p && ours(caller)) add(p);
    return p;
}

static void *none(int code)
{
    errno = code;
    return NULL;
}

EXPORT void *malloc(size_t bytes)
{
    const uintptr_t caller = CALLER;

    if (fails(caller, "malloc")) return none(ENOMEM);
    return look() ? made(caller, real.malloc(bytes)) : take_early(bytes);
}

EXPORT void *calloc(size_t count, size_t size)
{
    const uintptr_t caller = CALLER;

    if (fails(caller, "calloc")) return none(ENOMEM);
    return look() ? made(caller, real.calloc(count, size)) : take_early(count * size);
}

EXPORT void *realloc(void *old, size_t bytes)
{
    const uintptr_t caller = CALLER;
    void *p;

    if (fails(caller, "realloc")) return none(ENOMEM);
    if (!look()) return take_early(bytes);
    if (is_early(old)) {
        p = real.malloc(bytes);
        return p ? memcpy(p, old, bytes < sizeof early ? bytes : sizeof early) : NULL;
    }
    drop(old); /* before anybody else can be given the same address */
    p = real.realloc(old, bytes);
    if (!p && bytes) made(caller, old);
    return made(caller, p);
}

EXPORT void free(void *p)
{
    if (is_early(p) || !look()) return;
    drop(p);
    real.free(p);
}

static char *copy(uintptr_t caller, const char *text, size_t length)
{
    char *p = look() ? made(caller, real.malloc(length + 1)) : NULL;

    if (!p) return NULL;
    memcpy(p, text, length);
    p[length] = '\0';
    return p;
}

EXPORT char *strdup(const char *text)
{
    const uintptr_t caller = CALLER;

    return fails(caller, "strdup") ? none(ENOMEM) : copy(caller, text, strlen(text));
}

EXPORT char *strndup(const char *text, size_t most)
{
    const uintptr_t caller = CALLER;

    return fails(caller, "strndup") ? none(ENOMEM) : copy(caller, text, strnlen(text, most));
}

/* ---- files ---- */

static int refuse(int code)
{
    errno = code;
    return -1;
}

static mode_t mode_of(int flags, va_list args)
{
    return flags & O_CREAT ? (mode_t)va_arg(args, int) : 0;
}

/* The names that calls of open have in binaries of 64-bit offsets are their own. */
#define OPEN(function)                                                                                                 \
    EXPORT int function(const char *path, int flags, ...)                                                              \
    {                                                                                                                  \
        va_list args;                                                                                                  \
        mode_t mode;                                                                                                   \
        NEXT(function);                                                                                                \
        va_start(args, flags);                                                                                         \
        mode = mode_of(flags, args);                                                                                   \
        va_end(args);                                                                                                  \
        return fails(CALLER, #function) ? refuse(EMFILE) : next(path, flags, mode);                                    \
    }
#define OPENAT(function)                                                                                               \
    EXPORT int function(int folder, const char *path, int flags, ...)                                                  \
    {                                                                                                                  \
        va_list args;                                                                                                  \
        mode_t mode;                                                                                                   \
        NEXT(function);                                                                                                \
        va_start(args, flags);                                                                                         \
        mode = mode_of(flags, args);                                                                                   \
        va_end(args);                                                                                                  \
        return fails(CALLER, #function) ? refuse(EMFILE) : next(folder, path, flags, mode);                            \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

EXPORT ssize_t read(int file, void *data, size_t bytes)
{
    NEXT(read);
    return fails(CALLER, "read") ? refuse(EIO) : next(file, data, bytes);
}

EXPORT ssize_t write(int file, const void *data, size_t bytes)
{
    NEXT(write);
    return fails(CALLER, "write") ? refuse(ENOSPC) : next(file, data, bytes);
}

EXPORT int ftruncate(int file, off_t bytes)
{
    NEXT(ftruncate);
    return fails(CALLER, "ftruncate") ? refuse(EIO) : next(file, bytes);
}

EXPORT int rename(const char *from, const char *to)
{
    NEXT(rename);
    return fails(CALLER, "rename") ? refuse(ENOSPC) : next(from, to);
}

EXPORT int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    NEXT(renameat);
    return fails(CALLER, "renameat") ? refuse(ENOSPC) : next(from_folder, from, to_folder, to);
}

EXPORT int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    NEXT(linkat);
    return fails(CALLER, "linkat") ? refuse(ENOSPC) : next(from_folder, from, to_folder, to, flags);
}

EXPORT DIR *fdopendir(int folder)
{
    NEXT(fdopendir);
    return fails(CALLER, "fdopendir") ? none(ENOMEM) : next(folder);
}

#define MMAP(function)                                                                                                 \
    EXPORT void *function(void *address, size_t bytes, int protection, int flags, int file, off_t offset)              \
    {                                                                                                                  \
        NEXT(function);                                                                                                \
        if (!fails(CALLER, #function)) return next(address, bytes, protection, flags, file, offset);                   \
        errno = ENOMEM;                                                                                                \
        return MAP_FAILED;                                                                                             \
    }
MMAP(mmap)
MMAP(mmap64)

/* ---- libraries and threads ---- */

/* dlerror has no words for it, as where the linker has no memory for them. */
EXPORT void *dlopen(const char *file, int flags)
{
    NEXT(dlopen);
    return fails(CALLER, "dlopen") ? none(ENOMEM) : next(file, flags);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    NEXT(pthread_create);
    return fails(CALLER, "pthread_create") ? EAGAIN : next(thread, attributes, run, argument);
}

/* pthread_atfork is linked into each program and calls this. */
EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object);
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object)
{
    NEXT(__register_atfork);
    return fails(CALLER, "pthread_atfork") ? ENOMEM : next(prepare, parent, child, object);
}

/* ---- what tests call ---- */

EXPORT faults_arm_function faults_arm;
EXPORT faults_disarm_function faults_disarm;
EXPORT faults_get_function faults_get;

void faults_arm(const void *within, uint64_t n, int from_then_on)
{
    look();
    atomic_store(&armed, false);
    if (!atomic_load(&following)) dl_iterate_phdr(find_text, (void *)(uintptr_t)within);
    nth = n;
    always = from_then_on != 0;
    atomic_store(&seen, 0);
    atomic_store(&failed, 0);
    atomic_store(&name, NULL);
    atomic_store(&following, true);
    atomic_store(&armed, true);
}

void faults_disarm(void)
{
    atomic_store(&armed, false);
}

void faults_get(faults_state *state)
{
    state->seen = atomic_load(&seen);
    state->failed = atomic_load(&failed);
    state->name = atomic_load(&name);
    state->at = atomic_load(&at);
    state->live = atomic_load(&live);
}
