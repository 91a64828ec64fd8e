/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that a plan body lacks are compiled: with the plan, or late. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/compile/bundle.h"
#include "common/run/compile/entry.h"

/* A class that the plan did not foresee. Compiled without a lock; whoever comes second finds the program made. */
static lfuse_status compile_late(lfuse__body_entry *e, lfuse_device *dev, const lfuse__kernel_class *k,
                                 lfuse__compiled **made)
{
    const char *late = lfuse__family_of(k)->late;
    lfuse__compiled *c = calloc(1, sizeof *c), *other;
    lfuse_status status;

    if (!c) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *c);
    lfuse__log(LFUSE_LOG_INFO, "%s: compiling a kernel for %s (%d operands, rank %d, %d-bit indices)",
               lfuse__device_facts(dev)->info.name, late ? late : "strides or sizes that are not the declared ones",
               k->noperands, k->rank, k->index64 ? 64 : 32);
    c->k = *k;
    lfuse__kernel_key_of(k, &c->key);
    strcpy(c->name, "late");
    status = lfuse__entry_compile(e, dev, c, NULL);
    if (status) {
        free(c);
        return status;
    }
    pthread_mutex_lock(&e->lock);
    other = lfuse__entry_find(e, k);
    if (!other) {
        c->next = e->kernels;
        e->kernels = c;
    }
    pthread_mutex_unlock(&e->lock);
    *made = other ? other : c;
    if (other) free(c);
    return LFUSE_OK;
}

static void free_list(lfuse__compiled *first)
{
    while (first) {
        lfuse__compiled *next = first->next;
        free(first);
        first = next;
    }
}

/* Those of the classes that the entry lacks, in order and each once, not yet compiled. */
static lfuse_status lacking(lfuse__body_entry *e, int count, const lfuse__kernel_class *wanted, lfuse__compiled **list)
{
    lfuse__compiled *first = NULL, **end = &first, *c;
    int i, k, n = 0;

    for (i = 0; i < count; i++) {
        pthread_mutex_lock(&e->lock);
        c = lfuse__entry_find(e, &wanted[i]);
        pthread_mutex_unlock(&e->lock);
        for (k = 0; k < i && !c; k++)
            if (lfuse__class_equal(&wanted[k], &wanted[i])) break;
        if (c || k < i) continue;
        c = calloc(1, sizeof *c);
        if (!c) {
            free_list(first);
            return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *c);
        }
        c->k = wanted[i];
        lfuse__kernel_key_of(&c->k, &c->key);
        snprintf(c->name, sizeof c->name, "k%d", n++);
        *end = c;
        end = &c->next;
    }
    *list = first;
    return LFUSE_OK;
}

lfuse_status lfuse__body_want(lfuse__body_entry *e, lfuse_device *dev, int count, const lfuse__kernel_class *wanted)
{
    lfuse__compiled *list, *next;
    lfuse_status status;

    LFUSE__TRY(lacking(e, count, wanted, &list));
    if (!list) return LFUSE_OK;
    lfuse__log(LFUSE_LOG_INFO, "%s: compiling what an instance takes and the plan has not",
               lfuse__device_facts(dev)->info.name);
    status = lfuse__entry_compile(e, dev, list, NULL);
    if (status) {
        free_list(list);
        return status;
    }
    pthread_mutex_lock(&e->lock);
    for (; list; list = next) {
        next = list->next;
        if (lfuse__entry_find(e, &list->k)) { /* by another thread, out of the same program */
            free(list);
            continue;
        }
        list->next = e->kernels;
        e->kernels = list;
    }
    pthread_mutex_unlock(&e->lock);
    return LFUSE_OK;
}

static lfuse_status bundle_late(lfuse__body_entry *e, lfuse_device *dev, const lfuse__bundle *wanted,
                                lfuse__compiled **made)
{
    const lfuse__bundle_part *parts;
    const int n = lfuse__bundle_parts(wanted, &parts);
    lfuse__compiled *c = calloc(1, sizeof *c), *other;
    lfuse_status status;

    if (!c) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *c);
    lfuse__log(LFUSE_LOG_INFO, "%s: compiling a kernel of %d kernels for strides or sizes that are not the declared "
               "ones", lfuse__device_facts(dev)->info.name, n);
    c->k.family = LFUSE__FAMILY_BUNDLE;
    lfuse__kernel_key_of(&c->k, &c->key);
    strcpy(c->name, "late");
    status = lfuse__bundle_create(n, parts, &c->bundle);
    if (!status) status = lfuse__entry_compile(e, dev, c, NULL);
    if (status) {
        lfuse__bundle_destroy(c->bundle);
        free(c);
        return status;
    }
    pthread_mutex_lock(&e->lock);
    other = lfuse__entry_find_bundle(e, wanted);
    if (!other) {
        c->next = e->kernels;
        e->kernels = c;
    }
    pthread_mutex_unlock(&e->lock);
    *made = other ? other : c;
    if (other) {
        lfuse__bundle_destroy(c->bundle);
        free(c);
    }
    return LFUSE_OK;
}

lfuse_status lfuse__body_bundle(lfuse__body_entry *e, lfuse_device *dev, const lfuse__bundle *wanted,
                                lfuse__kernel **kernel, const lfuse__bundle **bundle)
{
    lfuse__compiled *c;

    pthread_mutex_lock(&e->lock);
    c = lfuse__entry_find_bundle(e, wanted);
    pthread_mutex_unlock(&e->lock);
    if (!c) LFUSE__TRY(bundle_late(e, dev, wanted, &c));
    LFUSE__TRY(lfuse__kernel_create(c->program, c->name, kernel));
    *bundle = c->bundle;
    return LFUSE_OK;
}

lfuse_status lfuse__body_kernel(lfuse__body_entry *e, lfuse_device *dev, const lfuse__kernel_class *k,
                                lfuse__kernel **kernel)
{
    lfuse__compiled *c;

    pthread_mutex_lock(&e->lock);
    c = lfuse__entry_find(e, k);
    pthread_mutex_unlock(&e->lock);
    if (!c) LFUSE__TRY(compile_late(e, dev, k, &c));
    return lfuse__kernel_create(c->program, c->name, kernel);
}
