/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that a plan body lacks are compiled: with the plan, or late. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/compile/bundle.h"
#include "common/run/compile/entry.h"

lfuse_status lfuse__compiled_create(const lfuse__kernel_class *k, lfuse__bundle *bundle, lfuse__compiled **made)
{
    lfuse__compiled *c = calloc(1, sizeof *c);

    if (!c) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *c);
    c->k = *k;
    lfuse__kernel_key_of(k, &c->key);
    c->bundle = bundle;
    *made = c;
    return LFUSE_OK;
}

void lfuse__compiled_free(lfuse__compiled *first)
{
    while (first) {
        lfuse__compiled *next = first->next;
        lfuse__bundle_destroy(first->bundle);
        lfuse__program_release(first->program);
        free(first);
        first = next;
    }
}

lfuse__compiled *lfuse__compiled_find(lfuse__compiled *first, const lfuse__kernel_class *k)
{
    lfuse__kernel_key key;

    lfuse__kernel_key_of(k, &key);
    while (first && !(lfuse__kernel_key_equal(&first->key, &key) && lfuse__body_equal(first->k.body, k->body)))
        first = first->next;
    return first;
}

lfuse__compiled *lfuse__compiled_find_bundle(lfuse__compiled *first, const lfuse__bundle *b)
{
    while (first && !(first->k.family == LFUSE__FAMILY_BUNDLE && lfuse__bundle_equal(first->bundle, b)))
        first = first->next;
    return first;
}

static lfuse__compiled *find(const lfuse__body_entry *e, const lfuse__kernel_class *k, const lfuse__bundle *b)
{
    return b ? lfuse__compiled_find_bundle(e->kernels, b) : lfuse__compiled_find(e->kernels, k);
}

static lfuse__compiled *find_locked(lfuse__body_entry *e, const lfuse__kernel_class *k, const lfuse__bundle *b)
{
    lfuse__compiled *c;

    pthread_mutex_lock(&e->lock);
    c = find(e, k, b);
    pthread_mutex_unlock(&e->lock);
    return c;
}

/*
 * Compiles the kernels of the list, without a lock, and puts them in the entry's. Those that another thread has put
 * there meanwhile, out of the same program, go.
 */
static lfuse_status compile_list(lfuse__body_entry *e, lfuse_device *dev, lfuse__compiled *list)
{
    const lfuse_status status = lfuse__compiled_build(dev, list);
    lfuse__compiled *c, *spare = NULL, **to;

    if (status) {
        lfuse__compiled_free(list);
        return status;
    }
    pthread_mutex_lock(&e->lock);
    while ((c = list)) {
        list = c->next;
        to = find(e, &c->k, c->bundle) ? &spare : &e->kernels;
        c->next = *to;
        *to = c;
    }
    pthread_mutex_unlock(&e->lock);
    lfuse__compiled_free(spare);
    return LFUSE_OK;
}

/* Those of the classes that the entry lacks, in order and each once. */
static lfuse_status lacking(lfuse__body_entry *e, int count, const lfuse__kernel_class *wanted, lfuse__compiled **list)
{
    lfuse__compiled *first = NULL, **end = &first;
    lfuse_status status;
    int i, n = 0;

    for (i = 0; i < count; i++) {
        if (find_locked(e, &wanted[i], NULL) || lfuse__compiled_find(first, &wanted[i])) continue;
        status = lfuse__compiled_create(&wanted[i], NULL, end);
        if (status) {
            lfuse__compiled_free(first);
            return status;
        }
        snprintf((*end)->name, sizeof (*end)->name, "k%d", n++);
        end = &(*end)->next;
    }
    *list = first;
    return LFUSE_OK;
}

lfuse_status lfuse__body_want(lfuse__body_entry *e, lfuse_device *dev, int count, const lfuse__kernel_class *wanted)
{
    lfuse__compiled *list;

    LFUSE__TRY(lacking(e, count, wanted, &list));
    if (!list) return LFUSE_OK;
    lfuse__log(LFUSE_LOG_INFO, "%s: compiling what an instance takes and the plan has not",
               lfuse__device_facts(dev)->info.name);
    return compile_list(e, dev, list);
}

/* A kernel that the plan did not foresee. Takes the bundle over. */
static lfuse_status compile_late(lfuse__body_entry *e, lfuse_device *dev, const lfuse__kernel_class *k,
                                 lfuse__bundle *bundle)
{
    lfuse__compiled *c;
    const lfuse_status status = lfuse__compiled_create(k, bundle, &c);

    if (status) {
        lfuse__bundle_destroy(bundle);
        return status;
    }
    strcpy(c->name, "late");
    return compile_list(e, dev, c);
}

lfuse_status lfuse__body_bundle(lfuse__body_entry *e, lfuse_device *dev, const lfuse__bundle *wanted,
                                lfuse__kernel **kernel, const lfuse__bundle **bundle)
{
    const lfuse__kernel_class k = { .family = LFUSE__FAMILY_BUNDLE };
    const lfuse__bundle_part *parts;
    lfuse__compiled *c = find_locked(e, &k, wanted);
    lfuse__bundle *own;
    int n;

    if (!c) {
        n = lfuse__bundle_parts(wanted, &parts);
        lfuse__log(LFUSE_LOG_INFO, "%s: compiling a kernel of %d kernels for strides or sizes that are not the "
                   "declared ones", lfuse__device_facts(dev)->info.name, n);
        LFUSE__TRY(lfuse__bundle_create(n, parts, &own));
        LFUSE__TRY(compile_late(e, dev, &k, own));
        c = find_locked(e, &k, wanted);
    }
    LFUSE__TRY(lfuse__kernel_create(c->program, c->name, kernel));
    *bundle = c->bundle;
    return LFUSE_OK;
}

lfuse_status lfuse__body_kernel(lfuse__body_entry *e, lfuse_device *dev, const lfuse__kernel_class *k,
                                lfuse__kernel **kernel)
{
    const char *late = lfuse__family_of(k)->late;
    lfuse__compiled *c = find_locked(e, k, NULL);

    if (!c) {
        lfuse__log(LFUSE_LOG_INFO, "%s: compiling a kernel for %s (%d operands, rank %d, %d-bit indices)",
                   lfuse__device_facts(dev)->info.name, late ? late : "strides or sizes that are not the declared ones",
                   k->noperands, k->rank, k->index64 ? 64 : 32);
        LFUSE__TRY(compile_late(e, dev, k, NULL));
        c = find_locked(e, k, NULL);
    }
    return lfuse__kernel_create(c->program, c->name, kernel);
}
