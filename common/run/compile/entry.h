/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan body has on a device. For common/run/compile/ alone. */
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

/* A plan body with its kernels, as the cache of the device has it. */
struct lfuse__body_entry {
    atomic_int references;
    lfuse__strbuf key;         /* options and canonical graph, as text */
    lfuse__hash hash;          /* of the key */
    lfuse__plan_body *plan;
    lfuse_transport transport; /* of its options */
    pthread_mutex_t lock; /* of the list, which only grows */
    lfuse__compiled *kernels;
    int nkernels;              /* that were named by number */
    /* The rest is the cache's, under its lock. */
    bool building;             /* its plan and kernels are being made; others wait */
    uint64_t used;             /* the cache's clock when it was last asked for */
    lfuse__body_entry *next;
};

/* ---- compile.c ---- */
/* Makes a record that is still to be compiled; its name is the caller's to give. On success it owns the bundle. */
lfuse_status lfuse__compiled_create(const lfuse__kernel_class *k, lfuse__bundle *bundle, lfuse__compiled **made);
/* Frees all records of a list, with their bundles and references. */
void lfuse__compiled_free(lfuse__compiled *first);
/* Return the record of the class, or of the bundle, in a list, compiled or not; NULL: there is none. */
lfuse__compiled *lfuse__compiled_find(lfuse__compiled *first, const lfuse__kernel_class *k);
lfuse__compiled *lfuse__compiled_find_bundle(lfuse__compiled *first, const lfuse__bundle *b);

/* ---- wants.c ---- */
/* Puts all kernels that the plan can foresee in the list, not yet compiled. */
lfuse_status lfuse__entry_want_all(lfuse__body_entry *e, const lfuse__facts *facts);

/* ---- programs.c ---- */
/* Compiles the kernels of a list, in as many programs as the device has a use for. */
lfuse_status lfuse__compiled_build(lfuse_device *dev, lfuse__compiled *first);

#endif
