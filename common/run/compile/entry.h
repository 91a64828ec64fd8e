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
    lfuse__program *program; /* one reference; NULL: not yet compiled */
    char name[LFUSE__COMPILED_NAME];
} lfuse__compiled;

struct lfuse__body_entry {
    atomic_int references;
    lfuse__strbuf key;
    lfuse__hash hash;
    lfuse__plan_body *plan;
    lfuse_transport transport;
    pthread_mutex_t lock; /* of the list, which only grows */
    lfuse__compiled *kernels;
    int nkernels;
    /* Of the cache, under its lock. */
    bool building;
    uint64_t used;
    lfuse__body_entry *next;
};

/* ---- compile.c ---- */
/* A kernel that is still to be compiled; its name is the caller's to give. Takes the bundle over, on success alone. */
lfuse_status lfuse__compiled_create(const lfuse__kernel_class *k, lfuse__bundle *bundle, lfuse__compiled **made);
/* All of a list. */
void lfuse__compiled_free(lfuse__compiled *first);
/* The kernel of the class in a list, compiled or not; NULL: none. */
lfuse__compiled *lfuse__compiled_find(lfuse__compiled *first, const lfuse__kernel_class *k);
lfuse__compiled *lfuse__compiled_find_bundle(lfuse__compiled *first, const lfuse__bundle *b);

/* ---- wants.c ---- */
/* Puts all kernels that the plan can foresee in the list, not yet compiled. */
lfuse_status lfuse__entry_want_all(lfuse__body_entry *e, const lfuse__facts *facts);

/* ---- programs.c ---- */
/* Compiles the kernels of a list, in as many programs as the device has a use for. */
lfuse_status lfuse__compiled_build(lfuse_device *dev, lfuse__compiled *first);

#endif
