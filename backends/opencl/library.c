/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor libraries, loaded at first use and kept: the OpenCL loader, and what is common to it and CLBlast. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "backends/opencl/internal.h"

lfuse__cl_functions lfuse__cl;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

lfuse_status lfuse__cl_library_lacks(lfuse__library *library, const char *name)
{
    return lfuse__error(LFUSE_ERR_LIBRARY, "%s has no function %s", lfuse__library_path(library), name);
}

static lfuse_status bind_opencl(lfuse__library *library)
{
    lfuse__cl_functions found;

#define LFUSE__CL_REQUIRED(name)                                                                                       \
    *(void **)&found.name = lfuse__library_symbol(library, "cl" #name);                                                \
    if (found.name == NULL) return lfuse__cl_library_lacks(library, "cl" #name);
#define LFUSE__CL_OPTIONAL(name) *(void **)&found.name = lfuse__library_symbol(library, "cl" #name);
#include "backends/opencl/functions.def"
    lfuse__cl = found;
    return LFUSE_OK;
}

static const char *const names[] = { "libOpenCL.so.1", NULL };
static lfuse__cl_library opencl = { "OpenCL loader", names, bind_opencl, NULL, false, "" };

/* Called with the lock held. */
static lfuse_status load_locked(lfuse__cl_library *v)
{
    lfuse_status status;

    if (v->library != NULL) return LFUSE_OK;
    if (v->tried) return lfuse__error(LFUSE_ERR_LIBRARY, "%s", v->reason);
    status = lfuse__library_open(v->names, NULL, &v->library);
    if (status == LFUSE_OK) {
        status = v->bind(v->library);
        if (status != LFUSE_OK) {
            lfuse__library_close(v->library);
            v->library = NULL;
        }
    }
    v->tried = !lfuse__is_shortage(status);
    if (v->tried && status != LFUSE_OK) snprintf(v->reason, sizeof v->reason, "%s", lfuse__error_message());
    return status;
}

static lfuse_status load(lfuse__cl_library *v)
{
    lfuse_status status;

    pthread_mutex_lock(&lock);
    status = load_locked(v);
    pthread_mutex_unlock(&lock);
    return status;
}

lfuse_status lfuse__cl_load(void)
{
    return load(&opencl);
}

lfuse_status lfuse__clblast_load(void)
{
    return load(&lfuse__clblast_library);
}

/* Neither library tells its version; the name of the file behind the versioned link does. */
static void file_version(const lfuse__cl_library *v, char *version, size_t size)
{
    const char *found = strstr(lfuse__library_path(v->library), ".so.");

    snprintf(version, size, "%s", found != NULL ? found + 4 : "");
}

lfuse_status lfuse__clblast_describe(char *text, size_t size, bool *there)
{
    lfuse__saved_error before;
    lfuse_status status;
    char version[64];

    lfuse__error_save(&before);
    status = lfuse__clblast_load();
    if (lfuse__is_shortage(status)) return status;
    lfuse__error_restore(&before);
    *there = status == LFUSE_OK;
    if (*there) {
        file_version(&lfuse__clblast_library, version, sizeof version);
        snprintf(text, size, "%s %s", lfuse__clblast_library.title, version);
    } else {
        snprintf(text, size, "none: %s", lfuse__clblast_library.reason);
    }
    return LFUSE_OK;
}

static void fill_part(lfuse__cl_library *v, lfuse__part *part)
{
    memset(part, 0, sizeof *part);
    part->name = v->title;
    part->status = load(v);
    if (part->status) {
        snprintf(part->reason, sizeof part->reason, "%s", lfuse__error_message());
        return;
    }
    snprintf(part->path, sizeof part->path, "%s", lfuse__library_path(v->library));
    file_version(v, part->version, sizeof part->version);
}

int lfuse__cl_parts(lfuse__part *parts, int max)
{
    lfuse__cl_library *const all[] = { &opencl, &lfuse__clblast_library };
    int count = (int)(sizeof all / sizeof *all);

    for (int i = 0; i < count && i < max; i++) fill_part(all[i], &parts[i]);
    return count;
}
