/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels a plan asks for, whatever the sizes of its instances are within their bounds. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/run/compile/bundle.h"
#include "common/run/compile/steps.h"

/* Puts one more kernel in the list, not yet compiled. Takes the bundle over, on success alone. */
static lfuse_status want(lfuse__body_entry *e, const lfuse__kernel_class *k, lfuse__bundle *bundle)
{
    lfuse__compiled *c;

    LFUSE__TRY(lfuse__compiled_create(k, bundle, &c));
    snprintf(c->name, sizeof c->name, "k%d", e->nkernels++);
    c->next = e->kernels;
    e->kernels = c;
    return LFUSE_OK;
}

static lfuse_status want_once(lfuse__body_entry *e, const lfuse__kernel_class *k)
{
    return lfuse__compiled_find(e->kernels, k) ? LFUSE_OK : want(e, k, NULL);
}

/* A product whose kernels are in the list. */
struct asked {
    struct asked *next;
    const lfuse__step *step;
    lfuse__kernel_class k;
};

/* One call of lfuse__entry_want_all. */
struct lfuse__wants {
    lfuse__body_entry *entry;
    const lfuse__facts *facts;
    lfuse__arena memory; /* of what follows, and of each bundle's classes */
    struct asked *asked;
};

typedef lfuse_status want_class(lfuse__wants *w, const lfuse__step *step, const lfuse__kernel_class *k);

/* The next of the sizes that are tried: the powers of 2 below the most, and that. */
static uint64_t next_size(uint64_t size, uint64_t most)
{
    uint64_t next = 1;

    while (next <= size) next *= 2;
    return next < most ? next : most;
}

/* As `choose` makes it for the shortest and longest rows, the fewest and most, and powers of 2 between them. */
static lfuse_status want_chosen(lfuse__wants *w, const lfuse__step *step, const lfuse__kernel_class *k)
{
    uint64_t rows[2], length[2], r, l;
    lfuse__kernel_class chosen;

    if (!lfuse__family_of(k)->choose) return want_once(w->entry, k);
    lfuse__row_bounds(w->entry->plan, step, rows, length);
    for (r = rows[0];; r = next_size(r, rows[1]))
        for (l = length[0];; l = next_size(l, length[1])) {
            chosen = *k;
            lfuse__family_of(k)->choose(w->facts, r, l, length[0] == length[1], &chosen);
            LFUSE__TRY(want_once(w->entry, &chosen));
            if (l >= length[1] && r >= rows[1]) return LFUSE_OK;
            if (l >= length[1]) break;
        }
}

/* Returns whether the class is one of the two, PARTIAL and FOLD, by which long rows of a bundle are computed. */
static bool stays_staged(const lfuse__facts *facts, const lfuse__kernel_class *k, uint64_t length)
{
    lfuse__kernel_class c = *k;

    if (c.rows.form == LFUSE__ROWS_FOLD) c.rows.form = LFUSE__ROWS_PARTIAL;
    lfuse__rows_choose_shared(facts, length, &c);
    return lfuse__rows_staged(&c.rows);
}

/* Of the forms that sizes may ask for all, or those with several launches. */
static lfuse_status want_forms(lfuse__wants *w, const lfuse__step *step, const lfuse__kernel_class *k, bool staged)
{
    lfuse__kernel_class *classes = malloc(LFUSE__ROW_CLASSES * sizeof *classes);
    lfuse_status status = LFUSE_OK;
    uint64_t rows[2], length[2];
    int i, count;

    if (!classes) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d classes)", LFUSE__ROW_CLASSES);
    lfuse__row_bounds(w->entry->plan, step, rows, length);
    count = lfuse__row_classes(w->entry->plan, step, w->facts, k, classes);
    for (i = 0; i < count && !status; i++)
        if (!staged || stays_staged(w->facts, &classes[i], length[1])) status = want_once(w->entry, &classes[i]);
    free(classes);
    return status;
}

static lfuse_status want_rows(lfuse__wants *w, const lfuse__step *step, const lfuse__kernel_class *k)
{
    return want_forms(w, step, k, false);
}

/* Long rows of a launch's parts have launches of their own. */
static lfuse_status want_staged(lfuse__wants *w, const lfuse__step *step, const lfuse__kernel_class *k)
{
    return want_forms(w, step, k, true);
}

/* Whether its kernels are in the list: a step before it of the same sizes and class has the same ones. */
static bool is_asked(const lfuse__wants *w, const lfuse__step *step, const lfuse__kernel_class *k)
{
    const struct asked *a;

    for (a = w->asked; a; a = a->next)
        if (lfuse__step_products_alike(w->entry->plan, a->step, step) && lfuse__class_equal(&a->k, k)) return true;
    return false;
}

/* Which tiles occur is asked of a thousand sizes: once for all layers that are alike. */
static lfuse_status want_products(lfuse__wants *w, const lfuse__step *step, const lfuse__kernel_class *k)
{
    lfuse__kernel_class classes[LFUSE__PRODUCT_KERNELS];
    struct asked *a;
    int i, count;

    if (is_asked(w, step, k)) return LFUSE_OK;
    a = lfuse__arena_array(&w->memory, 1, sizeof *a);
    if (!a) return LFUSE_ERR_MEMORY;
    *a = (struct asked){ .next = w->asked, .step = step, .k = *k };
    w->asked = a;
    count = lfuse__step_products(w->entry->plan, step, w->facts, k, classes);
    for (i = 0; i < count; i++) LFUSE__TRY(want_once(w->entry, &classes[i]));
    return LFUSE_OK;
}

/*
 * Kernels of the transport. Where the count of a list decides on it, a plan has none of its own: its first instance
 * compiles those of the one that it takes, which is half as much.
 */
lfuse_status lfuse__want_lists(lfuse__wants *w, const lfuse__step *step)
{
    const lfuse_transport transport = w->entry->transport;
    lfuse__kernel_class wanted[LFUSE__WANTED_MAX];
    const int count = lfuse__step_classes(w->entry->plan, step, true, wanted);
    const bool carried = lfuse__list_carried(w->facts, transport, count, wanted) != 0;
    const bool args = transport == LFUSE_TRANSPORT_ARGS, written = !args && transport != LFUSE_TRANSPORT_UNIFIED;
    int i;

    if (carried != args) return LFUSE_OK; /* not decided yet, or refused to instances */
    for (i = 0; i < count; i++)
        if (wanted[i].family != LFUSE__FAMILY_TABLE || written)
            LFUSE__TRY(want_once(w->entry, &wanted[i]));
    return LFUSE_OK;
}

/* Of one number of rows. Where that is open, each instance compiles what it takes: shapes differ from row to row. */
static lfuse_status want_network(lfuse__wants *w, const lfuse__step *step, bool *whole)
{
    lfuse__kernel_class k;

    return lfuse__network_class(w->entry->plan, step, w->facts, &k, whole) ? want_once(w->entry, &k) : LFUSE_OK;
}

/* The classes of the step, for small sizes and for large ones as the bounds say. */
static lfuse_status want_each(lfuse__wants *w, const lfuse__step *step, want_class *put)
{
    lfuse__kernel_class wanted[LFUSE__WANTED_MAX];
    bool sizes[2];
    int large, i, count;

    lfuse__step_indexing(w->entry->plan, step, &sizes[0], &sizes[1]);
    for (large = 0; large < 2; large++) {
        if (!sizes[large]) continue;
        count = lfuse__step_classes(w->entry->plan, step, large, wanted);
        for (i = 0; i < count; i++) LFUSE__TRY(put(w, step, &wanted[i]));
    }
    return LFUSE_OK;
}

lfuse_status lfuse__want_kernels(lfuse__wants *w, const lfuse__step *step)
{
    return want_each(w, step, want_chosen);
}

lfuse_status lfuse__want_rows(lfuse__wants *w, const lfuse__step *step)
{
    return want_each(w, step, want_rows);
}

lfuse_status lfuse__want_products(lfuse__wants *w, const lfuse__step *step)
{
    return want_each(w, step, want_products);
}

/* Takes the bundle over. */
static lfuse_status want_launch(lfuse__body_entry *e, lfuse__bundle *b)
{
    static const lfuse__kernel_class nothing = { .family = LFUSE__FAMILY_BUNDLE };
    const bool there = lfuse__compiled_find_bundle(e->kernels, b);
    const lfuse_status status = there ? LFUSE_OK : want(e, &nothing, b);

    if (there || status) lfuse__bundle_destroy(b);
    return status;
}

/* The launches of the children, each with class number `index` of its own. */
static lfuse_status want_launches(lfuse__wants *w, const lfuse__step *step, int index, lfuse__sharer *sharers,
                                  lfuse__kernel_class *classes, int *most)
{
    lfuse__bundle *b;
    int i, k, launches, n;

    for (i = 0; i < step->nchildren; i++) {
        n = lfuse__child_class(w->entry->plan, &step->children[i], w->facts, index, &sharers[i], &classes[i]);
        if (n > *most) *most = n;
    }
    LFUSE__TRY(lfuse__bundle_share(w->facts, sharers, step->nchildren, &launches));
    for (i = 0; i < launches; i++) {
        LFUSE__TRY(lfuse__bundle_of(w->facts, sharers, step->nchildren, i, &b));
        for (k = 0; k < step->nchildren && !b; k++)
            if (sharers[k].launch == i) LFUSE__TRY(want_once(w->entry, sharers[k].k));
        if (b) LFUSE__TRY(want_launch(w->entry, b));
    }
    return LFUSE_OK;
}

/* Children whose sizes differ in class are met by compiling late; those of one kind are not. */
lfuse_status lfuse__want_bundle(lfuse__wants *w, const lfuse__step *step)
{
    const size_t n = (size_t)step->nchildren;
    lfuse__sharer *sharers = lfuse__arena_array(&w->memory, n, sizeof *sharers);
    lfuse__kernel_class *classes = lfuse__arena_array(&w->memory, n, sizeof *classes);
    int i, most = 1;

    if (!sharers || !classes) return LFUSE_ERR_MEMORY;
    for (i = 0; i < step->nchildren; i++)
        if (step->children[i].kind == LFUSE__STEP_ROWS) LFUSE__TRY(want_each(w, &step->children[i], want_staged));
    for (i = 0; i < most; i++) LFUSE__TRY(want_launches(w, step, i, sharers, classes, &most));
    return LFUSE_OK;
}

static bool by_vendor_alone(const lfuse__alternative *a)
{
    return a->nsteps == 1 && a->steps[0].kind == LFUSE__STEP_GEMM && !a->steps[0].product.native;
}

static bool is_settled(const lfuse__wants *w, const lfuse__step *step, bool *native)
{
    lfuse__kernel_class wanted[LFUSE__WANTED_MAX];

    if (!step->product.ahead) return false;
    lfuse__step_classes(w->entry->plan, step, false, wanted);
    return lfuse__product_settled(w->entry->plan, step, w->facts, &wanted[0], native);
}

/*
 * What is compiled when an instance takes it:
 *   - the library's own product where others are in front of it, or where the tuner chooses;
 *   - of a product of known sizes that a vendor's may replace, the way that the estimate does not take;
 *   - all ways of a product of which more sides are open than that of a batch;
 *   - what is behind a product that the library of the device's maker does with all that follows, which it hardly ever
 *     declines.
 */
static bool is_spare(const lfuse__wants *w, const lfuse__stage *stage, int alternative)
{
    const lfuse__step *first = &stage->alternatives[0].steps[0], *step = &stage->alternatives[alternative].steps[0];
    bool native;
    int i;

    if (stage->nalternatives > 1 && first->kind == LFUSE__STEP_GEMM && is_settled(w, first, &native))
        return native == (alternative > 0);
    if (step->kind == LFUSE__STEP_GEMM && step->product.native && !step->product.ahead && stage->nalternatives > 1)
        return true;
    if (first->kind == LFUSE__STEP_GEMM && first->product.ahead && lfuse__product_open(w->entry->plan, first) > 1)
        return true;
    for (i = 0; i < alternative; i++)
        if (w->facts->products == LFUSE__PRODUCTS_TUNED && by_vendor_alone(&stage->alternatives[i])) return true;
    return false;
}

lfuse_status lfuse__want_nothing(lfuse__wants *w, const lfuse__step *step)
{
    (void)w, (void)step;
    return LFUSE_OK;
}

static lfuse_status want_stage(lfuse__wants *w, const lfuse__stage *stage)
{
    int j, k;

    for (j = 0; j < stage->nalternatives; j++)
        for (k = 0; k < stage->alternatives[j].nsteps && !is_spare(w, stage, j); k++) {
            const lfuse__step *step = &stage->alternatives[j].steps[k];
            LFUSE__TRY(lfuse__step_rows[step->kind].want(w, step));
        }
    return LFUSE_OK;
}

static lfuse_status want_stages(lfuse__wants *w)
{
    const lfuse__plan_body *plan = w->entry->plan;
    int i, covered = 0;

    for (i = 0; i < plan->nstages; i++, covered--) {
        const lfuse__stage *stage = &plan->stages[i];
        bool whole = false;
        if (stage->network) LFUSE__TRY(want_network(w, stage->network, &whole));
        if (whole) covered = stage->covers;
        if (covered <= 0) LFUSE__TRY(want_stage(w, stage));
    }
    return LFUSE_OK;
}

lfuse_status lfuse__entry_want_all(lfuse__body_entry *e, const lfuse__facts *facts)
{
    lfuse__wants w = { .entry = e, .facts = facts };
    const lfuse_status status = want_stages(&w);

    lfuse__arena_free(&w.memory);
    return status;
}
