/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where results lie. A value is stored by the kernel that computes it where that can be; the rest is copied: results
 * that are inputs or views, further names of a sum or product, and updates that could not be stored in place because
 * somebody still reads the old contents. Copies into updated inputs come last of all.
 */
#include "common/plan/draft.h"

#include <string.h>

#include "common/base/error.h"

static lfuse__home bound(int32_t name)
{
    return (lfuse__home){ .set = true, .place = LFUSE__PLACE_BOUND, .index = name };
}

static bool same_as_base(const lfuse__draft *d, int32_t value)
{
    const lfuse__view *v = &d->memory[value].view;

    return v->base == value || lfuse__view_linear(d, value, v);
}

/* Whether the step that computes the base of `value` can store it under this name. */
static bool direct(const lfuse__draft *d, int32_t name, int32_t value, bool update)
{
    const int32_t base = d->memory[value].view.base;
    const lfuse__node_kind kind = (lfuse__node_kind)lfuse__draft_node(d, base)->kind;

    if (!lfuse__draft_computes(d, base) || d->nodes[base].inlined || d->nodes[base].prepared) return false;
    if (!same_as_base(d, value)) return false;
    if (update && (d->names[name].indirect || kind == LFUSE__CONCAT)) return false;
    return lfuse__draft_pointwise(d, base) || lfuse__draft_is_root(d, base) || lfuse__draft_reduces_list(d, base) ||
           !d->memory[base].home.set;
}

static void store_under(lfuse__draft *d, int32_t name, int32_t base)
{
    d->names[name].next_target = d->nodes[base].target;
    d->nodes[base].target = name;
    d->memory[base].home = bound(name);
}

/* Whether the base is an input that another value will be stored in. */
static bool is_updated(const lfuse__draft *d, int32_t base)
{
    const int32_t name = lfuse__draft_node(d, base)->name;

    return name >= 0 && d->g->names[name].update >= 0;
}

static lfuse_status copy_output(lfuse__draft *d, int32_t name, int32_t value)
{
    const int32_t base = d->memory[value].view.base;
    const bool computed = lfuse__draft_computes(d, base) && !d->nodes[base].prepared;
    const lfuse__unit u = { .kind = LFUSE__UNIT_COPY, .phase = computed ? LFUSE__PHASE_MAIN : LFUSE__PHASE_EARLY,
                            .level = computed ? lfuse__draft_ready(d, base) : 0, .node = value, .tail = -1,
                            .to = bound(name) };

    LFUSE__TRY(lfuse__draft_give_memory_to_copied(d, base));
    return lfuse__draft_unit(d, &u);
}

static lfuse_status copy_update(lfuse__draft *d, int32_t name, int32_t value)
{
    const int32_t base = d->memory[value].view.base;
    lfuse__unit last = { .kind = LFUSE__UNIT_COPY, .phase = LFUSE__PHASE_LAST, .node = value, .tail = -1,
                         .to = bound(name) };
    lfuse__unit early = { .kind = LFUSE__UNIT_COPY, .phase = LFUSE__PHASE_EARLY, .node = value, .tail = -1,
                          .to = { .set = true, .place = LFUSE__PLACE_SCRATCH } };

    LFUSE__TRY(lfuse__draft_give_memory_to_copied(d, base));
    if (is_updated(d, base)) {
        LFUSE__TRY(lfuse__draft_buffer(d, value, LFUSE__PLACE_SCRATCH, &early.to.index));
        LFUSE__TRY(lfuse__draft_unit(d, &early));
        last.from = early.to;
    }
    return lfuse__draft_unit(d, &last);
}

/* Products and scattered rows are read in their own type. */
static bool reads_unrounded(const lfuse__draft *d, int32_t node, int32_t base)
{
    const lfuse__node_kind kind = (lfuse__node_kind)lfuse__draft_node(d, node)->kind;

    return kind != LFUSE__MATMUL && kind != LFUSE__SCATTER_ADD && lfuse__draft_unrounded(d, base);
}

/* Gives memory to what a node of this region reads from others, and to the operands of those that it recomputes. */
static lfuse_status give_memory_to_read(lfuse__draft *d, int32_t node, int32_t region)
{
    int i;

    if (lfuse__draft_node(d, node)->kind == LFUSE__CONCAT) return LFUSE_OK; /* its pieces have been seen to */
    for (i = 0; i < lfuse__draft_node(d, node)->nin; i++) {
        const int32_t base = lfuse__draft_base(d, node, i);
        if (!lfuse__draft_computes(d, base) || d->nodes[base].inlined) continue;
        if (lfuse__draft_node(d, base)->kind == LFUSE__MATMUL) continue; /* unless it has a tail: units.c */
        if (d->nodes[base].region >= 0 && d->nodes[base].region == region) continue;
        if (d->nodes[base].recomputed) {
            LFUSE__TRY(give_memory_to_read(d, base, -1));
            continue;
        }
        d->nodes[base].read_elsewhere = true;
        LFUSE__TRY(reads_unrounded(d, node, base) ? lfuse__draft_give_wide_memory(d, base)
                                                  : lfuse__draft_give_memory(d, base));
    }
    return LFUSE_OK;
}

lfuse_status lfuse__pass_results(lfuse__draft *d)
{
    const lfuse_graph *g = d->g;
    int32_t i;

    /* Outputs first: readers of a value then read what nobody changes. */
    for (i = 0; i < g->nnames; i++)
        if (g->names[i].kind == LFUSE__NAME_OUTPUT && direct(d, i, g->names[i].node, false))
            store_under(d, i, d->memory[g->names[i].node].view.base);
    for (i = 0; i < g->nnames; i++)
        if (g->names[i].update >= 0 && direct(d, i, g->names[i].update, true))
            store_under(d, i, d->memory[g->names[i].update].view.base);
    LFUSE__TRY(lfuse__draft_concats(d));
    for (i = 0; i < g->nnodes; i++)
        if (lfuse__draft_computes(d, i)) LFUSE__TRY(give_memory_to_read(d, i, d->nodes[i].region));
    for (i = 0; i < g->nnames; i++) {
        const lfuse__name *n = &g->names[i];
        const int32_t value = n->update >= 0 ? n->update : n->node;
        const lfuse__home *home = &d->memory[d->memory[value].view.base].home;
        bool stored = false;
        int32_t t;
        if (n->update < 0 && n->kind != LFUSE__NAME_OUTPUT) continue;
        for (t = d->nodes[d->memory[value].view.base].target; t >= 0 && !stored; t = d->names[t].next_target)
            stored = t == i;
        if (stored && home->place == LFUSE__PLACE_BOUND) continue;
        LFUSE__TRY(n->update >= 0 ? copy_update(d, i, value) : copy_output(d, i, value));
    }
    return LFUSE_OK;
}

/*
 * A region whose values nobody reads, and that updates something: the later it runs, the fewer copies. Or one of a sum
 * that late_sums.c has cut off.
 */
bool lfuse__draft_late(const lfuse__draft *d, int32_t region)
{
    int32_t node, name;
    bool late = false;

    for (node = region; node >= 0; node = d->nodes[node].next) {
        if (d->nodes[node].read_elsewhere) return false;
        late = late || d->nodes[node].late;
        for (name = d->nodes[node].target; name >= 0; name = d->names[name].next_target)
            late = late || d->g->names[name].update >= 0;
    }
    return late;
}

typedef struct access {
    int stored;    /* stage that stores the update directly; -1 */
    int read;      /* last stage that reads the old contents */
    int step;      /* of the alternative that is looked at, which stores it; -1 */
    bool spoilt;   /* the storing stage reads it behind that, or there not element by element at one index */
} access;

static bool same_walk(const lfuse__step *s, const lfuse__operand *a, const lfuse__operand *b)
{
    return a->span == b->span && a->rank == b->rank && a->gathered < 0 &&
           !memcmp(a->axis, b->axis, (size_t)s->rank * sizeof *a->axis) &&
           !memcmp(a->step, b->step, (size_t)s->rank * sizeof *a->step) &&
           !memcmp(a->shape, b->shape, sizeof a->shape) && !memcmp(a->offset, b->offset, sizeof a->offset);
}

/* What a product's prologues load is read as long as the product's operands would be. */
static bool makes_operand(const lfuse__step *s, int operand)
{
    bool loaded[LFUSE__BODY_OPERANDS] = { false };
    int i;

    for (i = 0; i < 2; i++) {
        bool needed[LFUSE__BODY_INSTRUCTIONS] = { false };
        if (s->product.prologue[i]) lfuse__body_loads(&s->body, s->product.prologue[i] - 1, needed, loaded);
    }
    return loaded[operand];
}

/*
 * Whether a kernel that stores where it reads has read before. Row kernels store elements in their last sweep, each by
 * whom has read it, and values of a row when all have read them (SYNC_ROW in their texts); values that several rows
 * have in common may be read by others than the one that stores.
 */
static bool in_order(const lfuse__step *s, const lfuse__operand *o)
{
    int i;

    if (s->kind == LFUSE__STEP_GEMM && makes_operand(s, (int)(o - s->operands))) return false;
    if (lfuse__step_over(s) != LFUSE__OVER_ROWS)
        return s->kind == LFUSE__STEP_POINTWISE || s->kind == LFUSE__STEP_STRASSEN || s->kind == LFUSE__STEP_MULTI ||
               s->kind == LFUSE__STEP_MEMBERS ||
               ((s->kind == LFUSE__STEP_GROUPED || (s->kind == LFUSE__STEP_GEMM && s->product.native)) &&
                o - s->operands > 1);
    /* LINES: what is stored is never what is read. */
    for (i = 0; i < (s->kind == LFUSE__STEP_ROWS ? s->rank - s->naxes : s->rank); i++)
        if (o->axis[i] < 0 && s->extents[i] != 1) return false;
    return true;
}

static void note_stores(const lfuse__plan_body *p, int stage, int step, const lfuse__step *s, access *all)
{
    int i;

    for (i = 0; i < s->noperands; i++) {
        access *a;
        if (!s->operands[i].written || s->operands[i].place != LFUSE__PLACE_BOUND ||
            p->graph->names[s->operands[i].index].kind == LFUSE__NAME_OUTPUT)
            continue;
        a = &all[s->operands[i].index];
        a->stored = stage;
        if (a->step < 0 || step < a->step) a->step = step;
    }
}

static void note_reads(int stage, int step, const lfuse__step *s, access *all)
{
    int i, k;

    for (i = 0; i < s->noperands; i++) {
        const lfuse__operand *o = &s->operands[i];
        bool same = false;
        if (o->written || o->place != LFUSE__PLACE_BOUND || all[o->index].stored < 0) continue;
        if (stage > all[o->index].read) all[o->index].read = stage;
        if (all[o->index].stored != stage || all[o->index].step < 0 || step < all[o->index].step) continue;
        for (k = 0; k < s->noperands; k++)
            same = same || (s->operands[k].written && s->operands[k].place == o->place &&
                            s->operands[k].index == o->index && same_walk(s, o, &s->operands[k]));
        same = same && step == all[o->index].step;
        if (!same || !in_order(s, o)) all[o->index].spoilt = true;
    }
}

/* What one alternative stores, and reads around it. */
static void look_at(const lfuse__plan_body *p, int stage, const lfuse__alternative *a, access *all)
{
    int i, k;

    for (k = 0; k < a->nsteps; k++) note_stores(p, stage, k, &a->steps[k], all);
    for (k = 0; k < a->nsteps; k++) note_reads(stage, k, &a->steps[k], all);
    for (k = 0; k < a->nsteps; k++)
        for (i = 0; i < a->steps[k].noperands; i++)
            if (a->steps[k].operands[i].place == LFUSE__PLACE_BOUND) all[a->steps[k].operands[i].index].step = -1;
}

lfuse_status lfuse__pass_check_updates(lfuse__draft *d)
{
    const lfuse__plan_body *p = d->out;
    access *all = lfuse__arena_array(&d->round, (size_t)d->g->nnames, sizeof *all);
    int i, j, k;

    if (!all) return LFUSE_ERR_MEMORY;
    for (i = 0; i < d->g->nnames; i++) all[i] = (access){ -1, -1, -1, false };
    for (i = 0; i < p->nstages; i++)
        for (j = 0; j < p->stages[i].nalternatives; j++) look_at(p, i, &p->stages[i].alternatives[j], all);
    for (i = 0; i < p->nstages; i++) /* what is stored earlier than it is read is known now */
        for (j = 0; j < p->stages[i].nalternatives; j++)
            for (k = 0; k < p->stages[i].alternatives[j].nsteps; k++)
                note_reads(i, k, &p->stages[i].alternatives[j].steps[k], all);
    for (i = 0; i < d->g->nnames; i++) {
        if (d->names[i].indirect || all[i].stored < 0 || (all[i].read <= all[i].stored && !all[i].spoilt)) continue;
        d->names[i].indirect = d->changed = true;
    }
    return LFUSE_OK;
}
