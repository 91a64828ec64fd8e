/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates of a stage with a product: its alternatives, and each likely one of the library's own product. */
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/run/instantiate/candidates.h"
#include "common/run/instantiate/loop.h"

/* The only step of an alternative that is a product of the library's own; NULL: it has others. */
static const lfuse__step *native_of(const lfuse__alternative *a)
{
    const lfuse__step *s = &a->steps[0];

    return a->nsteps == 1 && s->kind == LFUSE__STEP_GEMM && s->product.native ? s : NULL;
}

typedef struct sizes {
    int64_t extents[LFUSE__PRODUCT_EXTENTS];
    lfuse__kernel_class c;
} sizes;

static lfuse_status sizes_of(lfuse_instance *in, const lfuse__step *s, sizes *z)
{
    lfuse__kernel_class wanted[LFUSE__WANTED_MAX];

    lfuse__step_classes(in->body, s, false, wanted);
    z->c = wanted[0];
    return lfuse__product_extents(in, s, z->extents);
}

static void name_candidate(lfuse__candidate *c)
{
    char words[LFUSE__MATMUL_CANDIDATE_NAME];

    lfuse__matmul_candidate_print(&c->matmul, words);
    snprintf(c->name, sizeof c->name, "%s%s%s", c->alternative->name, c->has_matmul ? " " : "",
             c->has_matmul ? words : "");
}

/* Whether the estimate takes another alternative for faster. */
static bool declines(const lfuse_instance *in, const lfuse__step *s, const sizes *z)
{
    const lfuse__matmul_problem problem = { .extents = z->extents, .vendor = true, .behind = s->product.behind };
    lfuse__saved_error before;
    lfuse__kernel_class c = z->c;
    bool no;

    lfuse__error_save(&before);
    no = lfuse__matmul_choose(in->facts, &problem, &c) != LFUSE_OK;
    lfuse__error_restore(&before);
    return no;
}

/* Those of one alternative, if it is one that the estimate prefers to others, or, `last`, if it is none. */
static lfuse_status add_candidates(lfuse__candidate_list *l, const lfuse__alternative *a, bool last, int room)
{
    lfuse__matmul_candidate all[LFUSE__MATMUL_CANDIDATES];
    const lfuse__step *s = native_of(a);
    lfuse_instance *in = l->in;
    int several = 0, i;
    sizes z;

    if (s) {
        LFUSE__TRY(sizes_of(in, s, &z));
        several = lfuse__matmul_candidates(in->facts, z.extents, &z.c, all);
    }
    if (last != (s && l->norder > 1 && declines(in, s, &z))) return LFUSE_OK;
    for (i = 0; i < (several ? several : 1) && i < room; i++) {
        lfuse__candidate *c = &l->all[l->count++];
        *c = (lfuse__candidate){ .alternative = a, .has_matmul = several > 0 };
        if (several) c->matmul = all[i];
        name_candidate(c);
    }
    return LFUSE_OK;
}

static lfuse_status list(void *context, int *count)
{
    lfuse__candidate_list *l = context;
    int i, last;

    l->count = 0;
    for (last = 0; last < 2; last++)
        for (i = 0; i < l->norder; i++) /* each alternative has room for one candidate at least */
            LFUSE__TRY(add_candidates(l, l->order[i], last, LFUSE__CANDIDATES - l->count - (l->norder - 1 - i)));
    *count = l->count;
    return LFUSE_OK;
}

/* ERR_UNSUPPORTED where there is no candidate of that name any more. */
static lfuse_status candidate_of(const lfuse__candidate_list *l, const char *name, lfuse__candidate *c)
{
    const char *blank = strchr(name, ' ');
    const size_t length = blank ? (size_t)(blank - name) : strlen(name);
    sizes z;
    int i;

    for (i = 0; i < l->norder; i++) {
        const lfuse__step *s = native_of(l->order[i]);
        if (strlen(l->order[i]->name) != length || strncmp(l->order[i]->name, name, length)) continue;
        *c = (lfuse__candidate){ .alternative = l->order[i], .has_matmul = blank != NULL };
        if (!blank) return LFUSE_OK;
        if (!s || !lfuse__matmul_candidate_parse(blank + 1, &c->matmul)) break;
        LFUSE__TRY(sizes_of(l->in, s, &z));
        return lfuse__matmul_choose(l->in->facts, &(lfuse__matmul_problem){ .extents = z.extents,
                                                                            .candidate = &c->matmul }, &z.c);
    }
    return LFUSE_ERR_UNSUPPORTED;
}

/* It may be a candidate that is not a likely one. */
static int find(void *context, const lfuse__wise_choice *named)
{
    lfuse__candidate_list *l = context;
    lfuse__saved_error before;
    lfuse_status status = LFUSE_ERR_UNSUPPORTED;

    lfuse__error_save(&before);
    if (!strcmp(named->provider, LFUSE__CANDIDATES_PROVIDER)) status = candidate_of(l, named->identity, &l->all[0]);
    lfuse__error_restore(&before);
    if (!status) return 0;
    lfuse__log(LFUSE_LOG_DEBUG, "%s: wisdom names %s, which is no way to do it any more", l->problem, named->identity);
    return -1;
}

lfuse_status lfuse__tune_stage(const lfuse__instantiation *ctx, const lfuse__alternative **order, int count,
                               lfuse__candidate *best)
{
    lfuse__candidate_list l = { .in = ctx->in, .low_memory = ctx->low_memory, .order = order, .norder = count };
    int i, chosen = -1;

    if (count <= LFUSE__CANDIDATES) LFUSE__TRY(lfuse__tune_candidates(&l, "stage", list, find, &chosen));
    best->alternative = NULL;
    if (chosen < 0) return LFUSE_OK;
    *best = l.all[chosen];
    for (i = 0; order[i] != best->alternative; i++) continue;
    memmove(order + 1, order, (size_t)i * sizeof *order);
    order[0] = best->alternative;
    return LFUSE_OK;
}
