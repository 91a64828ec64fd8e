/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters: a step of one element, such as an optimizer's count of steps, joins a step over a list, where the last
 * work-group to finish does it. By then every group has read what it stores to, so that the list may be computed of the
 * old value: as the steps did one after the other. The step's numbers have to be in memory, as those of a list kernel
 * may differ by group.
 */
#include "common/plan/draft.h"

#include <string.h>

#include "common/base/error.h"

static lfuse__step *only_step(const lfuse__plan_body *p, int stage)
{
    const lfuse__stage *s = &p->stages[stage];

    return s->nalternatives == 1 && s->alternatives[0].nsteps == 1 ? s->alternatives[0].steps : NULL;
}

static bool counts(const lfuse__plan_body *p, int stage)
{
    const lfuse__step *s = only_step(p, stage);
    int i;

    if (!s || s->kind != LFUSE__STEP_POINTWISE || s->prepare || s->rank || s->body.nnumbers) return false;
    for (i = 0; i < s->noperands; i++) {
        const lfuse__operand *o = &s->operands[i];
        if (o->span != LFUSE__SPAN_TENSOR || o->place > LFUSE__PLACE_SCRATCH || o->rank || o->gathered >= 0)
            return false;
        if (o->written && o->place != LFUSE__PLACE_BOUND) return false; /* later steps read the value */
    }
    return true;
}

/* A shape would have to stay the last operand. */
static bool takes(const lfuse__plan_body *p, int stage, const lfuse__step *counter)
{
    const lfuse__step *s = only_step(p, stage);

    return s && s->kind == LFUSE__STEP_MULTI && !s->prepare &&
           s->operands[s->noperands - 1].place != LFUSE__PLACE_SHAPE &&
           s->noperands + counter->noperands <= LFUSE__BODY_OPERANDS &&
           s->body.ninstr + counter->body.ninstr <= LFUSE__BODY_INSTRUCTIONS;
}

/* Whether the stage reads, or with `written` writes, the memory of an operand. */
static bool uses(const lfuse__plan_body *p, int stage, const lfuse__operand *o, bool written)
{
    const lfuse__stage *s = &p->stages[stage];
    int i, k, m;

    for (i = 0; i < s->nalternatives; i++)
        for (k = 0; k < s->alternatives[i].nsteps; k++)
            for (m = 0; m < s->alternatives[i].steps[k].noperands; m++) {
                const lfuse__operand *x = &s->alternatives[i].steps[k].operands[m];
                if (x->place == o->place && x->index == o->index && x->written == written) return true;
            }
    return false;
}

/* Whether the counter may run on the other side of the stage. */
static bool passes(const lfuse__plan_body *p, const lfuse__step *counter, int stage)
{
    int i;

    for (i = 0; i < counter->noperands; i++) {
        const lfuse__operand *o = &counter->operands[i];
        if (uses(p, stage, o, true) || (o->written && uses(p, stage, o, false))) return false;
    }
    return true;
}

/* The nearest list step before the counter, which it can run behind as it does; else one after it. */
static int host_of(const lfuse__plan_body *p, int stage)
{
    const lfuse__step *counter = only_step(p, stage);
    int i, k;

    for (i = stage - 1; i >= 0; i--) {
        bool written = false;
        if (takes(p, i, counter)) {
            for (k = 0; k < counter->noperands; k++) written = written || uses(p, i, &counter->operands[k], true);
            return written ? -1 : i;
        }
        if (!passes(p, counter, i)) break;
    }
    for (i = stage + 1; i < p->nstages && passes(p, counter, i); i++)
        if (takes(p, i, counter)) return i;
    return -1;
}

static lfuse_status join(lfuse__step *host, const lfuse__step *counter)
{
    int16_t at[LFUSE__BODY_OPERANDS];
    int i, k;

    for (i = 0; i < counter->noperands; i++) { /* what the host reads is read once */
        at[i] = -1;
        for (k = 0; k < host->noperands && !counter->operands[i].written && at[i] < 0; k++)
            if (!memcmp(&host->operands[k], &counter->operands[i], sizeof *host->operands)) at[i] = (int16_t)k;
    }
    return lfuse__step_append(host, counter, at);
}

/* Stages are numbered as the units that they were made of. */
static void remove_stage(lfuse__draft *d, int stage)
{
    lfuse__plan_body *p = d->out;
    const size_t behind = (size_t)(p->nstages - stage - 1);

    lfuse__stage_free(&p->stages[stage]);
    memmove(p->stages + stage, p->stages + stage + 1, behind * sizeof *p->stages);
    memmove(d->units + stage, d->units + stage + 1, behind * sizeof *d->units);
    p->nstages--;
    d->nunits--;
}

lfuse_status lfuse__pass_counts(lfuse__draft *d)
{
    lfuse__plan_body *p = d->out;
    int i, host;

    for (i = p->nstages - 1; i >= 0 && !(d->disable & LFUSE_NO_BUNDLES); i--) {
        if (!counts(p, i)) continue;
        host = host_of(p, i);
        if (host < 0) continue;
        LFUSE__TRY(join(only_step(p, host), only_step(p, i)));
        remove_stage(d, i);
    }
    return LFUSE_OK;
}
