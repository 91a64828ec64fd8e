/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels share a launch: those with work-groups of one size, as many as the argument block takes. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/compile/bundle.h"
#include "common/run/compile/steps.h"

enum { MOST_PARTS = 32 };

/* One launch in the making. */
typedef struct shared {
    unsigned group;
    int members, nparts, words, operands; /* operands: of the kernel with most */
    const lfuse__kernel_class *parts[MOST_PARTS];
} shared;

/* All words of a kernel are its own: which of them its part has in common is known when sizes are. */
static bool has_room(const shared *l, const lfuse__facts *facts, const lfuse__sharer *s)
{
    const int operands = s->k->noperands > l->operands ? s->k->noperands : l->operands;

    return lfuse__bundle_fits(facts, l->members + 1, l->words + lfuse__bundle_class_words(s->k), operands);
}

static int part_of(const shared *l, const lfuse__kernel_class *k)
{
    int i;

    for (i = 0; i < l->nparts; i++)
        if (lfuse__class_equal(l->parts[i], k)) return i;
    return l->nparts;
}

static bool may_join(const shared *l, const lfuse__facts *facts, const lfuse__sharer *s, unsigned group)
{
    return l->group == group && part_of(l, s->k) < MOST_PARTS && has_room(l, facts, s);
}

static void join(shared *l, lfuse__sharer *s)
{
    s->part = part_of(l, s->k);
    if (s->part == l->nparts) l->parts[l->nparts++] = s->k;
    if (s->k->noperands > l->operands) l->operands = s->k->noperands;
    l->words += lfuse__bundle_class_words(s->k);
    l->members++;
}

/* Most have room in the last launch of their kind. */
static lfuse_status give_launch(shared *list, int *n, const lfuse__facts *facts, lfuse__sharer *s)
{
    lfuse__launch_args args = { 0 };
    int i;

    LFUSE__TRY(lfuse__kernel_warm_up(s->k, facts, &args)); /* tells its work-groups' size */
    for (i = *n - 1; i >= 0; i--)
        if (may_join(&list[i], facts, s, args.group)) break;
    if (i < 0) {
        i = (*n)++;
        list[i] = (shared){ .group = args.group };
    }
    join(&list[i], s);
    s->launch = i;
    return LFUSE_OK;
}

/* ---- which classes of a step can ---- */

int lfuse__share_nothing(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts, bool index64,
                         lfuse__kernel_class *classes)
{
    (void)plan, (void)step, (void)facts, (void)index64, (void)classes;
    return 0;
}

int lfuse__share_kernel(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts, bool index64,
                        lfuse__kernel_class *classes)
{
    lfuse__kernel_class wanted[LFUSE__WANTED_MAX];

    (void)facts;
    lfuse__step_classes(plan, step, index64, wanted);
    classes[0] = wanted[0];
    return 1;
}

int lfuse__share_rows(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts, bool index64,
                      lfuse__kernel_class *classes)
{
    lfuse__kernel_class wanted[LFUSE__WANTED_MAX];
    uint64_t rows[2], length[2];
    int i, n, kept = 0;

    lfuse__step_classes(plan, step, index64, wanted);
    n = lfuse__row_classes(plan, step, facts, &wanted[0], classes);
    lfuse__row_bounds(plan, step, rows, length);
    for (i = 0; i < n; i++) {
        lfuse__rows_choose_shared(facts, length[1], &classes[i]);
        if (!lfuse__rows_staged(&classes[i].rows)) classes[kept++] = classes[i];
    }
    return kept;
}

int lfuse__share_product(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts, bool index64,
                         lfuse__kernel_class *classes)
{
    lfuse__share_kernel(plan, step, facts, index64, classes);
    return lfuse__step_product_whole(plan, step, facts, classes);
}

int lfuse__child_class(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts, int index,
                       lfuse__sharer *sharer, lfuse__kernel_class *k)
{
    lfuse__share_step *const share = lfuse__step_rows[step->kind].share;
    lfuse__kernel_class classes[2 * LFUSE__ROW_CLASSES];
    bool small, large;
    int n = 0;

    lfuse__step_indexing(plan, step, &small, &large);
    if (small) n = share(plan, step, facts, false, classes);
    if (large) n += share(plan, step, facts, true, classes + n);
    if (n) *k = classes[index < n ? index : n - 1];
    sharer->k = n ? k : NULL;
    return n;
}

lfuse_status lfuse__bundle_share(const lfuse__facts *facts, lfuse__sharer *sharers, int count, int *launches)
{
    shared *list = malloc(((size_t)count + 1) * sizeof *list);
    lfuse_status status = LFUSE_OK;
    int i, n = 0;

    if (!list) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d kernels)", count);
    for (i = 0; i < count && !status; i++) {
        sharers[i].launch = -1;
        if (sharers[i].k) status = give_launch(list, &n, facts, &sharers[i]);
    }
    free(list);
    if (!status) *launches = n;
    return status;
}

/* Kernels whose texts cannot be one keep launches of their own: *bundle is NULL then. */
static lfuse_status check_text(const lfuse__facts *facts, lfuse__bundle **bundle)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse__saved_error before;
    lfuse_status status;

    lfuse__error_save(&before);
    status = lfuse__bundle_emit(&text, "whole", *bundle, facts);
    lfuse__strbuf_free(&text);
    if (status) {
        lfuse__bundle_destroy(*bundle);
        *bundle = NULL;
    }
    if (status != LFUSE_ERR_UNSUPPORTED) return status;
    lfuse__log(LFUSE_LOG_DEBUG, "%s: kernels that could share a launch have their own: %s", facts->info.name,
               lfuse__error_message());
    lfuse__error_restore(&before);
    return LFUSE_OK;
}

lfuse_status lfuse__bundle_of(const lfuse__facts *facts, const lfuse__sharer *sharers, int count, int launch,
                              lfuse__bundle **bundle)
{
    lfuse__bundle_part *parts = calloc(MOST_PARTS, sizeof *parts);
    lfuse_status status = LFUSE_OK;
    int i, nparts = 0, members = 0;

    if (!parts) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d parts of a kernel)", MOST_PARTS);
    for (i = 0; i < count; i++) {
        const lfuse__sharer *s = &sharers[i];
        if (s->launch != launch) continue;
        parts[s->part].k = *s->k;
        parts[s->part].members++;
        if (s->part >= nparts) nparts = s->part + 1;
        members++;
    }
    for (i = 0; i < nparts; i++) memset(parts[i].differs, 0xff, sizeof parts[i].differs);
    *bundle = NULL;
    if (members > 1) status = lfuse__bundle_create(nparts, parts, bundle);
    if (*bundle) status = check_text(facts, bundle);
    free(parts);
    return status;
}

bool lfuse__bundle_equal(const lfuse__bundle *a, const lfuse__bundle *b)
{
    const lfuse__bundle_part *x, *y;
    const int n = lfuse__bundle_parts(a, &x);
    int i;

    if (lfuse__bundle_parts(b, &y) != n) return false;
    for (i = 0; i < n; i++)
        if (x[i].members != y[i].members || memcmp(x[i].differs, y[i].differs, sizeof x[i].differs) ||
            !lfuse__class_equal(&x[i].k, &y[i].k))
            return false;
    return true;
}
