/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan body has on a device, for body.c, wants.c and compile.c alone. */
#ifndef COMMON_RUN_COMPILE_ENTRY_H
#define COMMON_RUN_COMPILE_ENTRY_H

#include <pthread.h>

#include "common/base/hash.h"
#include "common/run/compile/body.h"

enum { LFUSE__COMPILED_NAME = 16 };

/* One kernel of one program. */
typedef struct lfuse__compiled {
    struct lfuse__compiled *next;
    lfuse__kernel_class k;
    lfuse__kernel_key key;   /* of k */
    lfuse__bundle *bundle;   /* BUNDLE: its own */
    lfuse__program *program; /* of the entry's list */
    char name[LFUSE__COMPILED_NAME];
} lfuse__compiled;

typedef struct lfuse__owned_program {
    struct lfuse__owned_program *next;
    lfuse__program *program; /* one reference */
} lfuse__owned_program;

struct lfuse__body_entry {
    atomic_int references;
    char *key;
    size_t key_length;
    lfuse__hash hash;
    lfuse__plan_body *plan;
    lfuse_transport transport;
    pthread_mutex_t lock; /* of the lists, which only grow */
    lfuse__owned_program *programs;
    lfuse__compiled *kernels;
    int nkernels;
    /* Of the cache, under its lock. */
    bool building;
    uint64_t used;
    lfuse__body_entry *next;
};

/* ---- wants.c ---- */
/* The kernel in the entry's list, compiled or not; NULL: none. */
lfuse__compiled *lfuse__entry_find(const lfuse__body_entry *e, const lfuse__kernel_class *k);
lfuse__compiled *lfuse__entry_find_bundle(const lfuse__body_entry *e, const lfuse__bundle *b);
/* Puts all kernels that the plan can foresee in the list, not yet compiled. */
lfuse_status lfuse__entry_want_all(lfuse__body_entry *e, const lfuse__facts *facts);

/* ---- programs.c ---- */
/* Compiles the kernels from `first` to the end of the list, in as many programs as the device has a use for. */
lfuse_status lfuse__entry_compile(lfuse__body_entry *e, lfuse_device *dev, lfuse__compiled *first,
                                  const lfuse__compiled *end);

#endif
