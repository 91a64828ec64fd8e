/* SPDX-License-Identifier: Apache-2.0 */
/* The environment, read once at first use. Names of files and folders are ignored in privileged programs. */
#ifndef COMMON_BASE_ENV_H
#define COMMON_BASE_ENV_H

#include <stdbool.h>

/* LFUSE_ADDRESSES: on which OpenCL drivers to try whether a kernel reaches buffers by plain addresses. */
typedef enum lfuse__addresses_word {
    LFUSE__ADDRESSES_NVIDIA, /* also what is no such word */
    LFUSE__ADDRESSES_NEVER,
    LFUSE__ADDRESSES_ALL
} lfuse__addresses_word;

typedef struct lfuse__env {
    const char *device;    /* LFUSE_DEVICE, NULL when unset (and so on) */
    const char *log;       /* LFUSE_LOG: none, error, warn, info, debug */
    const char *cache;     /* LFUSE_CACHE: 0 (off), ro, rw */
    const char *cache_dir; /* LFUSE_CACHE_DIR, else $XDG_CACHE_HOME/libfuse, else $HOME/.cache/libfuse, else NULL */
    const char *dump;      /* LFUSE_DUMP: a folder that receives the kernels' sources */
    const char *fuse;      /* LFUSE_FUSE: none, or passes to leave out, each with a minus */
    const char *effort;    /* LFUSE_EFFORT: estimate, measure */
    const char *wisdom;    /* LFUSE_WISDOM: 0 (none), or the file of measured choices */
    const char *provider;  /* LFUSE_PROVIDER: native, vendor */
    const char *precision; /* LFUSE_PRECISION: f32, or one that splits (precision.h) */
    const char *strassen;  /* LFUSE_STRASSEN: off, auto, 1, 2 */
    bool sync;             /* LFUSE_SYNC: every launch is waited for, so that an error names its step */
    lfuse__addresses_word addresses;
    bool overlap;          /* LFUSE_OVERLAP is not 0: a launch may overlap the kernel before it */
} lfuse__env;

const lfuse__env *lfuse__env_get(void);
/* One row for each variable, for lfuse-info: name, what it does, value or NULL. False past the end. */
bool lfuse__env_row(int i, const char **name, const char **text, const char **value);

#endif
