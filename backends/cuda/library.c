/* SPDX-License-Identifier: Apache-2.0 */
/* Loading the driver, NVRTC and cuBLASLt, each once and each with its reason when it is not there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/internal.h"
#include "common/base/file.h"
#include "common/base/log.h"

enum { OLDEST_DRIVER = 12000, NEWEST_MAJOR = 13, OLDEST_MAJOR = 12 };

lfuse__cu_functions lfuse__cu;
lfuse__nvrtc_functions lfuse__nvrtc;
lfuse__lt_functions lfuse__lt;

lfuse__cu_library lfuse__cu_driver = { .title = "driver" };
lfuse__cu_library lfuse__cu_compiler = { .title = "NVRTC" };
lfuse__cu_library lfuse__cu_blas = { .title = "cuBLASLt" };

/* Taken in the order driver, compiler, blas. */
static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t compiler_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t blas_lock = PTHREAD_MUTEX_INITIALIZER;

static void keep_outcome(lfuse__cu_library *l, lfuse_status status)
{
    l->status = status;
    if (status) {
        snprintf(l->reason, sizeof l->reason, "%s", lfuse__error_message());
        lfuse__log(LFUSE_LOG_DEBUG, "cuda: no %s: %s", l->title, l->reason);
    } else {
        lfuse__log(LFUSE_LOG_DEBUG, "cuda: %s %s from %s", l->title, l->text, lfuse__library_path(l->library));
    }
    atomic_store_explicit(&l->tried, true, memory_order_release);
}

/* Runs `load` until it has an answer that stays; afterwards the library's status and reason answer. */
static lfuse_status load_once(lfuse__cu_library *l, pthread_mutex_t *lock, lfuse_status (*load)(lfuse__cu_library *))
{
    lfuse_status status = LFUSE_OK;

    if (!atomic_load_explicit(&l->tried, memory_order_acquire)) {
        pthread_mutex_lock(lock);
        if (!atomic_load_explicit(&l->tried, memory_order_relaxed)) {
            status = load(l);
            if (!lfuse__is_shortage(status)) keep_outcome(l, status);
        }
        pthread_mutex_unlock(lock);
        if (lfuse__is_shortage(status)) return status;
    }
    return l->status ? lfuse__error(l->status, "%s", l->reason) : LFUSE_OK;
}

/* ---- the driver ---- */

typedef struct entry_point {
    const char *name;
    int version;
    size_t offset;
    bool optional;
} entry_point;

static const entry_point entry_points[] = {
#define LFUSE__CU(name, version) { "cu" #name, version, offsetof(lfuse__cu_functions, name), false },
#define LFUSE__CU_OPTIONAL(name, version) { "cu" #name, version, offsetof(lfuse__cu_functions, name), true },
#include "backends/cuda/functions.def"
};

/* Functions before an error can be put into the driver's words: the number has to do. */
static lfuse_status bind_driver(lfuse__library *library)
{
    PFN_cuGetProcAddress_v12000 get;
    CUdriverProcAddressQueryResult found;
    CUresult result;
    void *symbol = lfuse__library_symbol(library, "cuGetProcAddress_v2"), *function;

    if (symbol == NULL)
        return lfuse__error(LFUSE_ERR_LIBRARY, "%s is older than CUDA 12.0, the oldest driver that this library uses",
                            lfuse__library_path(library));
    memcpy(&get, &symbol, sizeof get);
    for (size_t i = 0; i < sizeof entry_points / sizeof entry_points[0]; i++) {
        const entry_point *e = &entry_points[i];
        function = NULL;
        result = get(e->name, &function, e->version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &found);
        if (result == CUDA_ERROR_STUB_LIBRARY)
            return lfuse__error(LFUSE_ERR_LIBRARY, "%s is the toolkit's stub, not a driver",
                                lfuse__library_path(library));
        if (result != CUDA_SUCCESS) function = NULL;
        if (function == NULL && !e->optional)
            return lfuse__error(LFUSE_ERR_LIBRARY, "%s has no %s of CUDA %d.%d (code %d)",
                                lfuse__library_path(library), e->name, e->version / 1000, e->version % 1000 / 10,
                                (int)result);
        memcpy((char *)&lfuse__cu + e->offset, &function, sizeof function);
    }
    return LFUSE_OK;
}

/* The version of the kernel module, which the driver API does not tell; "" where there is none to be read. */
static lfuse_status module_version(char *text, size_t size)
{
    static const char path[] = "/sys/module/nvidia/version";

    text[0] = '\0';
    if (!lfuse__file_line(path, text, size) && lfuse__errno_is_shortage(errno))
        return lfuse__error(LFUSE_ERR_MEMORY, "%s: %s", path, strerror(errno));
    return LFUSE_OK;
}

static lfuse_status start_driver(lfuse__cu_library *l)
{
    CUresult result = lfuse__cu.DriverGetVersion(&l->version);
    char module[32];

    if (result != CUDA_SUCCESS) return lfuse__cu_error(NULL, result, "cuDriverGetVersion");
    if (l->version < OLDEST_DRIVER)
        return lfuse__error(LFUSE_ERR_LIBRARY, "the driver supports CUDA %d.%d; 12.0 or newer is needed",
                            l->version / 1000, l->version % 1000 / 10);
    result = lfuse__cu.Init(0);
    if (result != CUDA_SUCCESS) return lfuse__cu_error(NULL, result, "cuInit");
    LFUSE__TRY(module_version(module, sizeof module));
    snprintf(l->text, sizeof l->text, "CUDA %d.%d%s%s", l->version / 1000, l->version % 1000 / 10,
             module[0] ? ", driver " : "", module);
    return LFUSE_OK;
}

/* Once mapped the driver stays, as it may have started threads; no path unloads it, and no second try maps it again. */
static lfuse_status load_driver(lfuse__cu_library *l)
{
    static const char *const names[] = { "libcuda.so.1", NULL };

    if (l->library == NULL) LFUSE__TRY(lfuse__library_open(names, NULL, &l->library));
    LFUSE__TRY(bind_driver(l->library));
    return start_driver(l);
}

lfuse_status lfuse__cu_load_driver(void)
{
    return load_once(&lfuse__cu_driver, &driver_lock, load_driver);
}

/* ---- the toolkit's libraries ---- */

/* Loads what another library is chosen by. That it is not there is no failure, but not to know is one. */
static lfuse_status load_first(lfuse_status (*load)(void), bool *loaded)
{
    lfuse__saved_error before;
    lfuse_status status;

    lfuse__error_save(&before);
    status = load();
    if (lfuse__is_shortage(status)) return status;
    lfuse__error_restore(&before);
    *loaded = status == LFUSE_OK;
    return LFUSE_OK;
}

/* The driver's major version, which those of the toolkit's libraries may not exceed. */
static lfuse_status driver_major(int *major)
{
    bool loaded;

    LFUSE__TRY(load_first(lfuse__cu_load_driver, &loaded));
    *major = NEWEST_MAJOR;
    if (loaded && lfuse__cu_driver.version / 1000 < *major) *major = lfuse__cu_driver.version / 1000;
    return LFUSE_OK;
}

/* Opens <stem>.so.<newest> down to <oldest>, in the system's path, then in the toolkit's folders. */
static lfuse_status open_major(const char *stem, int newest, int oldest, lfuse__library **library)
{
    char text[NEWEST_MAJOR - OLDEST_MAJOR + 1][48], folder[512];
    const char *names[NEWEST_MAJOR - OLDEST_MAJOR + 2] = { NULL }, *folders[3] = { NULL };
    const char *path = secure_getenv("CUDA_PATH");
    int n = 0, f = 0;

    for (int major = newest; major >= oldest; major--, n++) {
        snprintf(text[n], sizeof text[n], "%s.so.%d", stem, major);
        names[n] = text[n];
    }
    if (path != NULL && path[0] == '/' && strlen(path) < sizeof folder - sizeof "/lib64") {
        snprintf(folder, sizeof folder, "%s/lib64", path);
        folders[f++] = folder;
    }
    folders[f++] = "/usr/local/cuda/lib64";
    return lfuse__library_open(names, folders, library);
}

typedef struct named_function {
    const char *name;
    size_t offset;
} named_function;

static lfuse_status bind(lfuse__library *library, const named_function *functions, size_t count, void *table)
{
    for (size_t i = 0; i < count; i++) {
        void *symbol = lfuse__library_symbol(library, functions[i].name);
        if (symbol == NULL)
            return lfuse__error(LFUSE_ERR_LIBRARY, "%s has no %s", lfuse__library_path(library), functions[i].name);
        memcpy((char *)table + functions[i].offset, &symbol, sizeof symbol);
    }
    return LFUSE_OK;
}

static const named_function nvrtc_functions[] = {
#define LFUSE__NVRTC(name) { "nvrtc" #name, offsetof(lfuse__nvrtc_functions, name) },
#include "backends/cuda/functions.def"
};

static const named_function lt_functions[] = {
#define LFUSE__LT(name) { "cublasLt" #name, offsetof(lfuse__lt_functions, name) },
#include "backends/cuda/functions.def"
};

/*
 * NVRTC opens libnvrtc-builtins.so.<major>.<minor> by its bare name at the first compile and knows no folder of its
 * own: when it was found outside the system's path, its neighbour has to be in the process before.
 */
static lfuse__library *builtins;

static lfuse_status load_builtins(const lfuse__library *nvrtc, int major, int minor)
{
    char name[48], folder[512];
    const char *names[] = { name, NULL }, *folders[] = { folder, NULL };
    const char *path = lfuse__library_path(nvrtc), *slash = strrchr(path, '/');
    lfuse__saved_error before;
    lfuse_status status;

    if (slash == NULL || (size_t)(slash - path) >= sizeof folder) return LFUSE_OK;
    snprintf(name, sizeof name, "libnvrtc-builtins.so.%d.%d", major, minor);
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    lfuse__error_save(&before);
    status = lfuse__library_open(names, folders, &builtins);
    if (lfuse__is_shortage(status)) return status;
    if (status) lfuse__log(LFUSE_LOG_DEBUG, "cuda: %s", lfuse__error_message());
    lfuse__error_restore(&before);
    return LFUSE_OK;
}

static lfuse_status load_compiler(lfuse__cu_library *l)
{
    lfuse__library *library;
    lfuse_status status;
    int newest, major = 0, minor = 0;

    LFUSE__TRY(driver_major(&newest));
    LFUSE__TRY(open_major("libnvrtc", newest, OLDEST_MAJOR, &library));
    status = bind(library, nvrtc_functions, sizeof nvrtc_functions / sizeof nvrtc_functions[0], &lfuse__nvrtc);
    if (status == LFUSE_OK && lfuse__nvrtc.Version(&major, &minor) != NVRTC_SUCCESS)
        status = lfuse__error(LFUSE_ERR_LIBRARY, "nvrtcVersion of %s fails", lfuse__library_path(library));
    if (status == LFUSE_OK) status = load_builtins(library, major, minor);
    if (status) {
        lfuse__library_close(library);
        return status;
    }
    l->version = major * 1000 + minor * 10;
    snprintf(l->text, sizeof l->text, "%d.%d", major, minor);
    l->library = library;
    return LFUSE_OK;
}

lfuse_status lfuse__cu_load_compiler(void)
{
    return load_once(&lfuse__cu_compiler, &compiler_lock, load_compiler);
}

/* Of NVRTC's major version when that is there: two toolkits in one process are asking for trouble. */
static lfuse_status load_blas(lfuse__cu_library *l)
{
    int newest, oldest = OLDEST_MAJOR;
    lfuse__library *library;
    lfuse_status status;
    size_t version;
    bool compiler;

    LFUSE__TRY(driver_major(&newest));
    LFUSE__TRY(load_first(lfuse__cu_load_compiler, &compiler));
    if (compiler) newest = oldest = lfuse__cu_compiler.version / 1000;
    LFUSE__TRY(open_major("libcublasLt", newest, oldest, &library));
    status = bind(library, lt_functions, sizeof lt_functions / sizeof lt_functions[0], &lfuse__lt);
    if (status) {
        lfuse__library_close(library);
        return status;
    }
    version = lfuse__lt.GetVersion();
    l->version = (int)version;
    snprintf(l->text, sizeof l->text, "%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
    l->library = library;
    return LFUSE_OK;
}

lfuse_status lfuse__cu_load_blas(void)
{
    return load_once(&lfuse__cu_blas, &blas_lock, load_blas);
}

/* ---- for lfuse-info ---- */

static void fill_part(lfuse__part *part, const lfuse__cu_library *l, lfuse_status status)
{
    memset(part, 0, sizeof *part);
    part->name = l->title;
    part->status = status;
    if (l->library != NULL) snprintf(part->path, sizeof part->path, "%s", lfuse__library_path(l->library));
    snprintf(part->version, sizeof part->version, "%s", l->text);
    if (status) snprintf(part->reason, sizeof part->reason, "%s", lfuse__error_message());
}

int lfuse__cu_parts(lfuse__part *parts, int max)
{
    static lfuse_status (*const load[])(void) = { lfuse__cu_load_driver, lfuse__cu_load_compiler, lfuse__cu_load_blas };
    static const lfuse__cu_library *const libraries[] = { &lfuse__cu_driver, &lfuse__cu_compiler, &lfuse__cu_blas };
    enum { COUNT = sizeof libraries / sizeof libraries[0] };
    lfuse__saved_error before;

    lfuse__error_save(&before);
    for (int i = 0; i < COUNT && i < max; i++) {
        const lfuse_status status = load[i]();
        fill_part(&parts[i], libraries[i], status);
    }
    lfuse__error_restore(&before);
    return COUNT;
}
