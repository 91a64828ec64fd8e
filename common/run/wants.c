/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels a plan asks for, whatever the sizes of its instances are within their bounds. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/run/bundle.h"
#include "common/run/steps.h"

lfuse__compiled *lfuse__entry_find(const lfuse__body_entry *e, const lfuse__kernel_class *k)
{
    lfuse__kernel_key key;
    lfuse__compiled *c;

    lfuse__kernel_key_of(k, &key);
    for (c = e->kernels; c; c = c->next)
        if (lfuse__kernel_key_equal(&c->key, &key) && lfuse__body_equal(c->k.body, k->body)) return c;
    return NULL;
}

/* Puts one more kernel in the list, not yet compiled: it has no program. */
static lfuse_status want(lfuse__body_entry *e, const lfuse__kernel_class *k,
                         lfuse__compiled **made)
{
    lfuse__compiled *c = calloc(1, sizeof *c);

    if (!c) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *c);
    c->k = *k;
    lfuse__kernel_key_of(k, &c->key);
    snprintf(c->name, sizeof c->name, "k%d", e->nkernels++);
    c->next = e->kernels;
    e->kernels = c;
    *made = c;
    return LFUSE_OK;
}

static lfuse_status want_once(lfuse__body_entry *e, const lfuse__kernel_class *k)
{
    lfuse__compiled *c;

    return lfuse__entry_find(e, k) ? LFUSE_OK : want(e, k, &c);
}

static lfuse_status want_rows(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts,
                              const lfuse__kernel_class *k)
{
    lfuse__kernel_class *classes = malloc(LFUSE__ROW_CLASSES * sizeof *classes);
    lfuse_status status = LFUSE_OK;
    int i, count;

    if (!classes) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d classes)", LFUSE__ROW_CLASSES);
    count = lfuse__row_classes(e->plan, step, facts, k, classes);
    for (i = 0; i < count && !status; i++) status = want_once(e, &classes[i]);
    free(classes);
    return status;
}

static lfuse_status want_products(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts,
                                  const lfuse__kernel_class *k)
{
    lfuse__kernel_class classes[LFUSE__PRODUCT_KERNELS];
    const int count = lfuse__step_products(e->plan, step, facts, k, classes);
    int i;

    for (i = 0; i < count; i++) LFUSE__TRY(want_once(e, &classes[i]));
    return LFUSE_OK;
}

/*
 * Kernels of the transport. Where the count of a list decides on it, a plan has none of its own: its first instance
 * compiles those of the one that it takes, which is half as much.
 */
lfuse_status lfuse__want_lists(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts)
{
    lfuse__kernel_class wanted[LFUSE__WANTED_MAX];
    const int count = lfuse__step_classes(e->plan, step, true, wanted);
    const bool carried = lfuse__list_carried(facts, e->transport, count, wanted) != 0;
    const bool args = e->transport == LFUSE_TRANSPORT_ARGS, written = !args && e->transport != LFUSE_TRANSPORT_UNIFIED;
    int i;

    if (carried != args) return LFUSE_OK; /* not decided yet, or refused to instances */
    for (i = 0; i < count; i++)
        if (wanted[i].family != LFUSE__FAMILY_TABLE || written)
            LFUSE__TRY(want_once(e, &wanted[i]));
    return LFUSE_OK;
}

/* Of one number of rows. Where that is open, each instance compiles what it takes: shapes differ from row to row. */
static lfuse_status want_network(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts, bool *whole)
{
    lfuse__kernel_class k;

    if (!lfuse__network_class(e->plan, step, facts, &k, whole)) return LFUSE_OK;
    return want_once(e, &k);
}

static lfuse_status want_step(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts, bool index64)
{
    lfuse__kernel_class wanted[LFUSE__WANTED_MAX];
    const int count = lfuse__step_classes(e->plan, step, index64, wanted);
    int i;

    for (i = 0; i < count; i++)
        LFUSE__TRY(wanted[i].family == LFUSE__FAMILY_ROWS      ? want_rows(e, step, facts, &wanted[i])
                   : wanted[i].family == LFUSE__FAMILY_PRODUCT ? want_products(e, step, facts, &wanted[i])
                                                               : want_once(e, &wanted[i]));
    return LFUSE_OK;
}

lfuse__compiled *lfuse__entry_find_bundle(const lfuse__body_entry *e, const lfuse__bundle *b)
{
    lfuse__compiled *c;

    for (c = e->kernels; c; c = c->next)
        if (c->k.family == LFUSE__FAMILY_BUNDLE && lfuse__bundle_equal(c->bundle, b)) return c;
    return NULL;
}

/* Takes the bundle over. */
static lfuse_status want_launch(lfuse__body_entry *e, lfuse__bundle *b)
{
    static const lfuse__kernel_class nothing = { .family = LFUSE__FAMILY_BUNDLE };
    lfuse_status status;
    lfuse__compiled *c;

    if (lfuse__entry_find_bundle(e, b)) {
        lfuse__bundle_destroy(b);
        return LFUSE_OK;
    }
    status = want(e, &nothing, &c);
    if (status) lfuse__bundle_destroy(b);
    else c->bundle = b;
    return status;
}

/* The launches of the children, each with class number `index` of its own. */
static lfuse_status want_launches(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts, int index,
                                  lfuse__sharer *sharers, lfuse__kernel_class *classes, int *most)
{
    lfuse__bundle *b;
    int i, k, launches, n;

    for (i = 0; i < step->nchildren; i++) {
        n = lfuse__child_class(e->plan, &step->children[i], facts, index, &sharers[i], &classes[i]);
        if (!n) return LFUSE_OK; /* long rows alone: nothing that shares */
        if (n > *most) *most = n;
    }
    LFUSE__TRY(lfuse__bundle_share(facts, sharers, step->nchildren, &launches));
    for (i = 0; i < launches; i++) {
        LFUSE__TRY(lfuse__bundle_of(facts, sharers, step->nchildren, i, &b));
        for (k = 0; k < step->nchildren && !b; k++)
            if (sharers[k].launch == i) LFUSE__TRY(want_once(e, sharers[k].k));
        if (b) LFUSE__TRY(want_launch(e, b));
    }
    return LFUSE_OK;
}

/* Long rows of children have launches of their own. */
static lfuse_status want_staged(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts, bool index64)
{
    lfuse__kernel_class *classes = malloc(LFUSE__ROW_CLASSES * sizeof *classes);
    lfuse__kernel_class wanted[LFUSE__WANTED_MAX];
    lfuse_status status = LFUSE_OK;
    int i, count;

    if (!classes) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d classes)", LFUSE__ROW_CLASSES);
    lfuse__step_classes(e->plan, step, index64, wanted);
    count = lfuse__row_classes(e->plan, step, facts, &wanted[0], classes);
    for (i = 0; i < count && !status; i++)
        if (lfuse__rows_staged(&classes[i].rows))
            status = want_once(e, &classes[i]);
    free(classes);
    return status;
}

static lfuse_status want_children(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts)
{
    bool small, large;
    int i;

    for (i = 0; i < step->nchildren; i++) {
        if (step->children[i].kind != LFUSE__STEP_ROWS) continue;
        lfuse__step_indexing(e->plan, &step->children[i], &small, &large);
        if (small) LFUSE__TRY(want_staged(e, &step->children[i], facts, false));
        if (large) LFUSE__TRY(want_staged(e, &step->children[i], facts, true));
    }
    return LFUSE_OK;
}

/* Children whose sizes differ in class are met by compiling late; those of one kind are not. */
lfuse_status lfuse__want_bundle(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts)
{
    const size_t n = (size_t)step->nchildren + 1;
    lfuse__sharer *sharers = calloc(n, sizeof *sharers);
    lfuse__kernel_class *classes = calloc(n, sizeof *classes);
    lfuse_status status = LFUSE_OK;
    int i, most = 1;

    if (!sharers || !classes) status = lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu kernels)", n);
    else status = want_children(e, step, facts);
    for (i = 0; i < most && !status; i++) status = want_launches(e, step, facts, i, sharers, classes, &most);
    free(classes);
    free(sharers);
    return status;
}

static bool by_vendor_alone(const lfuse__alternative *a)
{
    return a->nsteps == 1 && a->steps[0].kind == LFUSE__STEP_GEMM && !a->steps[0].product.native;
}

/*
 * What is compiled when an instance takes it: the library's own product where others are in front of it, or a race is
 * to tell; all ways of a product of which more sides are open than that of a batch; and what is behind a product that
 * the library of the device's maker does with all that follows, which it hardly ever declines.
 */
static bool is_spare(const lfuse__body_entry *e, const lfuse__stage *stage, int alternative, const lfuse__facts *facts)
{
    const lfuse__step *first = &stage->alternatives[0].steps[0], *step = &stage->alternatives[alternative].steps[0];
    int i;

    if (step->kind == LFUSE__STEP_GEMM && step->product.native && !step->product.ahead && stage->nalternatives > 1)
        return true;
    if (first->kind == LFUSE__STEP_GEMM && first->product.ahead && lfuse__product_open(e->plan, first) > 1) return true;
    for (i = 0; i < alternative; i++)
        if (facts->products == LFUSE__PRODUCTS_TUNED && by_vendor_alone(&stage->alternatives[i])) return true;
    return false;
}

lfuse_status lfuse__want_classes(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts)
{
    bool small, large;

    lfuse__step_indexing(e->plan, step, &small, &large);
    if (small) LFUSE__TRY(want_step(e, step, facts, false));
    return large ? want_step(e, step, facts, true) : LFUSE_OK;
}

static lfuse_status want_one(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts)
{
    const lfuse__step_row *row = &lfuse__step_rows[step->kind];

    return row->want ? row->want(e, step, facts) : LFUSE_OK;
}

static lfuse_status want_stage(lfuse__body_entry *e, const lfuse__stage *stage, const lfuse__facts *facts)
{
    int j, k;

    for (j = 0; j < stage->nalternatives; j++)
        for (k = 0; k < stage->alternatives[j].nsteps && !is_spare(e, stage, j, facts); k++)
            LFUSE__TRY(want_one(e, &stage->alternatives[j].steps[k], facts));
    return LFUSE_OK;
}

lfuse_status lfuse__entry_want_all(lfuse__body_entry *e, const lfuse__facts *facts)
{
    int i, covered = 0;

    for (i = 0; i < e->plan->nstages; i++, covered--) {
        const lfuse__stage *stage = &e->plan->stages[i];
        bool whole = false;
        if (stage->network) LFUSE__TRY(want_network(e, stage->network, facts, &whole));
        if (whole) covered = stage->covers;
        if (covered <= 0) LFUSE__TRY(want_stage(e, stage, facts));
    }
    return LFUSE_OK;
}
