/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "common/base/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"

struct lfuse__library {
    void *handle;
    char *path;
};

static void *attempt(const char *file, lfuse__strbuf *attempts)
{
    const char *why;
    void *handle;

    dlerror();
    handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle) return handle;
    why = dlerror();
    if (attempts->length) lfuse__strbuf_add(attempts, "; ");
    lfuse__strbuf_add(attempts, why ? why : file);
    return NULL;
}

/* The system's search path first, then the folders; every name in one place before the next place. */
static void *find(const char *const *names, const char *const *folders, lfuse__strbuf *attempts)
{
    lfuse__strbuf file = LFUSE__STRBUF_INIT;
    const char *const *name;
    void *handle = NULL;

    for (name = names; *name && !handle; name++) handle = attempt(*name, attempts);
    for (; folders && *folders && !handle; folders++) {
        if (**folders != '/') continue;
        for (name = names; *name && !handle; name++) {
            lfuse__strbuf_clear(&file);
            lfuse__strbuf_format(&file, "%s/%s", *folders, *name);
            if (!file.failed) handle = attempt(file.data, attempts);
        }
    }
    lfuse__strbuf_free(&file);
    return handle;
}

static char *path_of(void *handle)
{
    struct link_map *map = NULL;
    char *path;

    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) || !map || !map->l_name) return strdup("");
    path = realpath(map->l_name, NULL);
    return path ? path : strdup(map->l_name);
}

lfuse_status lfuse__library_open(const char *const *names, const char *const *folders, lfuse__library **library)
{
    lfuse__strbuf attempts = LFUSE__STRBUF_INIT;
    lfuse__library *made = calloc(1, sizeof *made);
    lfuse_status status;

    if (!made) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *made);
    made->handle = find(names, folders, &attempts);
    if (!made->handle) {
        status = lfuse__error(LFUSE_ERR_LIBRARY, "%s", attempts.length ? attempts.data : "no library name was given");
        goto err_free;
    }
    made->path = path_of(made->handle);
    if (!made->path) {
        status = lfuse__error(LFUSE_ERR_MEMORY, "out of host memory for a library's path");
        goto err_close;
    }
    lfuse__strbuf_free(&attempts);
    *library = made;
    return LFUSE_OK;

err_close:
    dlclose(made->handle);
err_free:
    lfuse__strbuf_free(&attempts);
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
