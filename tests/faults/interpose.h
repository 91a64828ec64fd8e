/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library for LD_PRELOAD that makes calls of libc fail: malloc, calloc, realloc, strdup, strndup, open, openat, read,
 * write, ftruncate, rename, renameat, linkat, fdopendir, mmap, dlopen, pthread_atfork and pthread_create.
 *
 * Only calls that come from our own code are counted and may fail. A driver is not made for this: LLVM ends the process
 * when an allocation fails, and what it does is not ours to repair. Whose call it is tells the return address: it lies
 * in the text of the executable or library that `within` of faults_arm lies in. The tests' programs hold the library
 * itself, not the shared one, so that text is all of the library and the program that drives it. What libc allocates
 * inside of a call of ours (realpath, fopen) is libc's call and does not fail.
 *
 * The functions are found by dlsym; without LD_PRELOAD they are missing.
 */
#ifndef TESTS_FAULTS_INTERPOSE_H
#define TESTS_FAULTS_INTERPOSE_H

#include <stdint.h>

typedef struct faults_state {
    uint64_t seen;       /* calls of ours since faults_arm */
    uint64_t failed;     /* of these */
    const char *name;    /* of the function that failed first, NULL: none did */
    uint64_t at;         /* where it was called, from the start of the executable: addr2line -e PROGRAM */
    int64_t live;        /* blocks that our calls have allocated since the first faults_arm and nobody has freed */
} faults_state;

/* Counts, and fails call `nth` (0: none), and with `always` all calls after it too. */
typedef void faults_arm_function(const void *within, uint64_t nth, int always);
/* No more failures; what is allocated and freed is followed on. */
typedef void faults_disarm_function(void);
typedef void faults_get_function(faults_state *state);

#endif
