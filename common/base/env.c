/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/env.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One row a variable: name, whether it names files, words for lfuse-info. The order is that of lfuse-info. */
#define VARIABLES(X)                                                                                                   \
    X(DEVICE, 0, "the device to open by default: cuda:0, opencl:0:1")                                                  \
    X(LOG, 0, "messages on stderr: none, error, warn (the default), info, debug")                                      \
    X(CACHE, 0, "the disk cache of compiled kernels: 0 (off), ro, rw (the default)")                                   \
    X(CACHE_DIR, 1, "its folder (default: $XDG_CACHE_HOME/libfuse, then $HOME/.cache/libfuse)")                        \
    X(DUMP, 1, "a folder that receives the source of every kernel")                                                    \
    X(FUSE, 0, "none, or fusion passes to leave out: -pointwise,-epilogue,-views,-rows,-products,-gathers,-bundles," \
      "-recompute,-replay,-network,-prologue,-sums")                                                                   \
    X(EFFORT, 0, "how choices are made: estimate (the default), measure")                                              \
    X(WISDOM, 1, "the file of choices that were measured: 0 (none), or its path (default: wisdom in the cache's "      \
      "folder)")                                                                                                       \
    X(PROVIDER, 0, "who computes matrix products: native, vendor (default: by lfuse(7)'s rule)")                       \
    X(PRECISION, 0, "how products of f32 may be computed: f32 (the default), f32x3 and others (split: lfuse(7))")      \
    X(STRASSEN, 0, "matrix products by Strassen's algorithm: off (the default), auto, 1, 2 (levels)")                  \
    X(SYNC, 0, "1: wait after every launch, so that an error names its step")                                          \
    X(ADDRESSES, 0, "OpenCL drivers that are asked whether plain addresses work: never, nvidia (the default), all")    \
    X(OVERLAP, 0, "0: no kernel is brought up before the one in front of it has ended (CUDA)")

enum {
#define X(name, path, text) LFUSE_##name##_ROW,
    VARIABLES(X)
#undef X
    ROWS
};

static const struct {
    const char *name, *text;
    bool path;
} rows[ROWS] = {
#define X(name, path, text) { "LFUSE_" #name, text, path },
    VARIABLES(X)
#undef X
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *values[ROWS];
static char default_dir[4096];
static lfuse__env env;

/* A copy: a later setenv of the program may free the text. Lives as long as the library. */
static const char *keep(const char *value)
{
    char *copy = value ? strdup(value) : NULL;

    return copy ? copy : value;
}

/* Relative folders are ignored: the XDG rules ask for it, and the current folder may be anybody's. */
static const char *default_cache_dir(void)
{
    static const char *const bases[][2] = { { "XDG_CACHE_HOME", "/libfuse" }, { "HOME", "/.cache/libfuse" } };
    const char *base;
    size_t i;
    int length;

    for (i = 0; i < sizeof bases / sizeof *bases; i++) {
        base = secure_getenv(bases[i][0]);
        if (!base || base[0] != '/') continue;
        length = snprintf(default_dir, sizeof default_dir, "%s%s", base, bases[i][1]);
        if (length > 0 && (size_t)length < sizeof default_dir) return default_dir;
    }
    return NULL;
}

static lfuse__addresses_word addresses_word(const char *value)
{
    if (value && strcmp(value, "never") == 0) return LFUSE__ADDRESSES_NEVER;
    return value && strcmp(value, "all") == 0 ? LFUSE__ADDRESSES_ALL : LFUSE__ADDRESSES_NVIDIA;
}

static void read_environment(void)
{
    int i;

    for (i = 0; i < ROWS; i++) values[i] = keep(rows[i].path ? secure_getenv(rows[i].name) : getenv(rows[i].name));
    env.device = values[LFUSE_DEVICE_ROW];
    env.log = values[LFUSE_LOG_ROW];
    env.cache = values[LFUSE_CACHE_ROW];
    env.cache_dir = values[LFUSE_CACHE_DIR_ROW];
    if (!env.cache_dir || !*env.cache_dir) env.cache_dir = default_cache_dir();
    env.dump = values[LFUSE_DUMP_ROW];
    env.fuse = values[LFUSE_FUSE_ROW];
    env.effort = values[LFUSE_EFFORT_ROW];
    env.wisdom = values[LFUSE_WISDOM_ROW];
    env.provider = values[LFUSE_PROVIDER_ROW];
    env.precision = values[LFUSE_PRECISION_ROW];
    env.strassen = values[LFUSE_STRASSEN_ROW];
    env.sync = values[LFUSE_SYNC_ROW] && *values[LFUSE_SYNC_ROW] && strcmp(values[LFUSE_SYNC_ROW], "0") != 0;
    env.addresses = addresses_word(values[LFUSE_ADDRESSES_ROW]);
    env.overlap = !values[LFUSE_OVERLAP_ROW] || strcmp(values[LFUSE_OVERLAP_ROW], "0") != 0;
}

const lfuse__env *lfuse__env_get(void)
{
    pthread_once(&once, read_environment);
    return &env;
}

bool lfuse__env_row(int i, const char **name, const char **text, const char **value)
{
    if (i < 0 || i >= ROWS) return false;
    lfuse__env_get();
    *name = rows[i].name;
    *text = rows[i].text;
    *value = values[i];
    return true;
}
