/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"

struct lfuse__library {
    void *handle;
    char *path;
};

typedef struct search {
    lfuse__strbuf attempts; /* what became of each */
    bool shortage;          /* the last one failed for want of something: what is there is not known */
    void *handle;
} search;

/*
 * The dynamic linker keeps no errno. Its words end with those of errno where opening or reading failed; of other calls
 * it says which one failed.
 */
static bool tells_shortage(const char *why)
{
    static const int codes[] = { ENOMEM, EMFILE, ENFILE, EAGAIN };
    static const char *const words[] = { "out of memory", "failed to map segment from shared object",
                                         "cannot map zero-fill pages", "cannot create TLS data structures" };
    const size_t length = strlen(why);
    size_t i, n;

    for (i = 0; i < sizeof codes / sizeof *codes; i++) {
        n = strlen(strerror(codes[i]));
        if (n <= length && !strcmp(why + length - n, strerror(codes[i]))) return true;
    }
    for (i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(why, words[i])) return true;
    return false;
}

static void note_attempt(search *s, const char *file, const char *why)
{
    if (s->attempts.length) lfuse__strbuf_add(&s->attempts, "; ");
    lfuse__strbuf_add(&s->attempts, why ? why : file);
}

/* The words are English, as all of this library's are, and as they are looked at here. None: no memory for them. */
static void attempt(search *s, const char *file)
{
    locale_t english, before;
    const char *why;

    dlerror();
    s->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (s->handle) return;
    english = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    before = uselocale(english);
    why = dlerror();
    s->shortage = !why || tells_shortage(why);
    note_attempt(s, file, why);
    uselocale(before);
    if (english) freelocale(english);
}

/* The linker would wait for a pipe's writer. */
static void attempt_in(search *s, const char *folder, const char *name)
{
    lfuse__strbuf file = LFUSE__STRBUF_INIT;
    struct stat st;

    lfuse__strbuf_format(&file, "%s/%s", folder, name);
    if (file.failed) {
        s->shortage = true;
        return;
    }
    if (!stat(file.data, &st) && !S_ISREG(st.st_mode)) {
        note_attempt(s, file.data, NULL);
        lfuse__strbuf_add(&s->attempts, ": it is no regular file");
    } else {
        attempt(s, file.data);
    }
    lfuse__strbuf_free(&file);
}

/* The system's search path first, then the folders; every name in one place before the next place. */
static void find(search *s, const char *const *names, const char *const *folders)
{
    const char *const *name;

    for (name = names; *name && !s->handle && !s->shortage; name++) attempt(s, *name);
    for (; folders && *folders; folders++) {
        if (**folders != '/') continue;
        for (name = names; *name && !s->handle && !s->shortage; name++) attempt_in(s, *folders, *name);
    }
}

static char *path_of(void *handle)
{
    struct link_map *map = NULL;
    char path[PATH_MAX];

    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) || !map || !map->l_name) return strdup("");
    return strdup(realpath(map->l_name, path) ? path : map->l_name);
}

static lfuse_status not_found(const search *s)
{
    if (s->shortage || s->attempts.failed)
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory or descriptors while a library was loaded%s%s",
                            s->attempts.length ? ": " : "", s->attempts.data);
    return lfuse__error(LFUSE_ERR_LIBRARY, "%s",
                        s->attempts.length ? s->attempts.data : "no library name was given");
}

lfuse_status lfuse__library_open(const char *const *names, const char *const *folders, lfuse__library **library)
{
    search s = { .attempts = LFUSE__STRBUF_INIT };
    lfuse__library *made = calloc(1, sizeof *made);
    lfuse_status status;

    if (!made) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *made);
    find(&s, names, folders);
    if (!s.handle) {
        status = not_found(&s);
        goto err_free;
    }
    made->handle = s.handle;
    made->path = path_of(made->handle);
    if (!made->path) {
        status = lfuse__error(LFUSE_ERR_MEMORY, "out of host memory for a library's path");
        goto err_close;
    }
    lfuse__strbuf_free(&s.attempts);
    *library = made;
    return LFUSE_OK;

err_close:
    dlclose(made->handle);
err_free:
    lfuse__strbuf_free(&s.attempts);
    free(made);
    return status;
}

void *lfuse__library_symbol(lfuse__library *library, const char *name)
{
    return dlsym(library->handle, name);
}

const char *lfuse__library_path(const lfuse__library *library)
{
    return library->path;
}

void lfuse__library_close(lfuse__library *library)
{
    if (!library) return;
    dlclose(library->handle);
    free(library->path);
    free(library);
}
