/* SPDX-License-Identifier: Apache-2.0 */
/* Where an instance's kernels report indices that are out of range, and by what number a step is known there. */
#include "common/base/error.h"
#include "common/run/operations/operations.h"

/* Steps are counted through all stages and alternatives, a bundle's children after it. */
typedef struct search {
    const lfuse__step *wanted, *found; /* by address, or: */
    uint64_t number;                   /* by number; what is left of it */
} search;

static bool visit(search *s, const lfuse__step *steps, int count)
{
    lfuse__step *children;
    int i, nchildren;

    for (i = 0; i < count; i++) {
        if (s->wanted ? &steps[i] == s->wanted : s->number == 0) {
            s->found = &steps[i];
            return true;
        }
        if (s->wanted) s->number++;
        else s->number--;
        nchildren = lfuse__step_children(&steps[i], &children);
        if (visit(s, children, nchildren)) return true;
    }
    return false;
}

static void look_through(const lfuse__plan_body *plan, search *s)
{
    int i, j;

    for (i = 0; i < plan->nstages; i++)
        for (j = 0; j < plan->stages[i].nalternatives; j++)
            if (visit(s, plan->stages[i].alternatives[j].steps, plan->stages[i].alternatives[j].nsteps)) return;
}

static void describe(void *data, uint64_t reporter, lfuse__strbuf *text)
{
    const lfuse_plan *plan = data;
    search s = { .number = reporter };

    look_through(lfuse__body_plan(plan->body), &s);
    lfuse__strbuf_format(text, "step %llu ", (unsigned long long)reporter);
    if (s.found) lfuse__step_print(lfuse__body_plan(plan->body), s.found, plan->graph, text);
}

static void release(void *data)
{
    lfuse__plan_release(data);
}

static lfuse_status make_reports(lfuse_instance *in)
{
    const lfuse__reports_owner owner = { in->plan, describe, release };

    LFUSE__TRY(lfuse__reports_create(in->plan->dev, &owner, &in->reports));
    lfuse__plan_retain(in->plan);
    return LFUSE_OK;
}

lfuse_status lfuse__kernel_op_reports(lfuse_instance *in, const lfuse__step *step, lfuse__kernel_op *op)
{
    search s = { .wanted = step };

    op->nbuffers = lfuse__kernel_buffers(&op->k);
    if (!lfuse__kernel_gathers(&op->k)) return LFUSE_OK;
    if (!in->reports) LFUSE__TRY(make_reports(in));
    look_through(in->body, &s);
    op->g.reporter = s.number;
    op->g.reports = lfuse__reports_range(in->reports)->offset;
    op->buffers[op->k.noperands] = lfuse__reports_range(in->reports)->mem;
    return LFUSE_OK;
}

lfuse_status lfuse__instance_watch(lfuse_instance *in, lfuse_stream *s)
{
    return in->reports ? lfuse__stream_watch(s, in->reports) : LFUSE_OK;
}
