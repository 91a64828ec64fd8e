/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another way to do a row step of several sweeps, for few long rows, which one kernel could only give to few compute
 * units: one row step a sweep, whose results pass through memory and which many groups can share, and a pointwise step
 * for what is left. It is made where sizes within their bounds can ask for it, and taken where they do (the guard).
 */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/*
 * With fewer rows than compute units a kernel leaves some idle; rows along which neighbours lie apart are taken side by
 * side, and by many more work-items than units. Shorter rows do not repay the launches.
 */
enum { UNITS = 16, STRIDED_ROWS = 64, LONG = 32768, STRIDED_LONG = 8192 };

typedef struct phases {
    lfuse__draft *d;
    const lfuse__step *rows;
    const bool *row;              /* [operands] */
    const lfuse__sweep *sweeps;
    int nsweeps;
    int buffer[LFUSE__BODY_INSTRUCTIONS]; /* of each REDUCE */
} phases;

static bool of_row(const lfuse__step *s, const lfuse__operand *o)
{
    int i;

    if (o->gathered >= 0) return false;
    for (i = s->rank - s->naxes; i < s->rank; i++)
        if (o->axis[i] >= 0 && s->extents[i] != 1) return false;
    return true;
}

/* Whether some operand of the elements walks neighbours along the row. */
static bool along(const lfuse__step *s, const bool *row)
{
    int i, k;

    for (i = 0; i < s->noperands; i++) {
        const lfuse__operand *o = &s->operands[i];
        for (k = s->rank - s->naxes; k < s->rank && !row[i] && !o->written; k++)
            if (o->rank && o->axis[k] == o->rank - 1 && o->step[k] == 1 && s->extents[k] != 1) return true;
    }
    return false;
}

static void bounds(const lfuse_graph *g, const lfuse_size *extents, int count, int64_t *low, int64_t *high)
{
    int64_t a, b;
    int i;

    *low = *high = 1;
    for (i = 0; i < count; i++) {
        lfuse__size_bounds(g, extents[i], &a, &b);
        *low = a && *low > INT64_MAX / a ? INT64_MAX : *low * a;
        *high = b && *high > INT64_MAX / b ? INT64_MAX : *high * b;
    }
}

/* The sizes from which on it pays; false where none within the bounds are such. */
static bool guard_of(const lfuse__draft *d, const lfuse__step *s, const bool *row, lfuse__guard *guard)
{
    const int64_t units = d->facts->info.compute_units ? d->facts->info.compute_units : UNITS;
    const bool strided = !along(s, row) && d->facts->simd > 1;
    int64_t rows[2], length[2];

    guard->most_rows = strided ? units * STRIDED_ROWS : units - 1;
    guard->least_length = strided ? STRIDED_LONG : LONG;
    bounds(d->g, s->extents, s->rank - s->naxes, &rows[0], &rows[1]);
    bounds(d->g, s->extents + s->rank - s->naxes, s->naxes, &length[0], &length[1]);
    return rows[0] <= guard->most_rows && length[1] >= guard->least_length;
}

/* ---- which step does what ---- */

static bool reduces_in(const phases *p, int sweep)
{
    int i;

    for (i = 0; i < p->rows->body.ninstr; i++)
        if (p->rows->body.instr[i].kind == LFUSE__I_REDUCE && p->sweeps[i].phase == sweep) return true;
    return false;
}

/* Row steps: the sweeps in which anything is reduced are the first ones. */
static int row_steps(const phases *p)
{
    return p->nsweeps - !reduces_in(p, p->nsweeps - 1);
}

/*
 * The step that makes a store: what is of the row is there behind the last sweep that it waits for. Elements go with
 * the sweep that computes them; an updated input is stored last, when nobody reads it any more.
 */
static int step_of_store(const phases *p, const lfuse__store *st)
{
    const lfuse__operand *o = &p->rows->operands[st->operand];
    const bool reduce = p->rows->body.instr[st->reg].kind == LFUSE__I_REDUCE;
    const bool update = o->place == LFUSE__PLACE_BOUND && p->d->g->names[o->index].kind != LFUSE__NAME_OUTPUT;
    const int phase = p->sweeps[st->reg].phase + reduce, last = row_steps(p);

    if (p->row[st->operand]) return phase > 0 ? phase - 1 : 0;
    return update || phase >= last ? last : phase;
}

static bool has_last(const phases *p)
{
    int i;

    for (i = 0; i < p->rows->body.nstores; i++)
        if (step_of_store(p, &p->rows->body.stores[i]) == row_steps(p)) return true;
    return false;
}

/* ---- one step ---- */

typedef struct new_step {
    lfuse__instr instr[LFUSE__BODY_INSTRUCTIONS];
    int16_t register_of[LFUSE__BODY_INSTRUCTIONS]; /* [register of the row step] -1: it is left out */
    bool needed[LFUSE__BODY_INSTRUCTIONS], given[LFUSE__BODY_INSTRUCTIONS];
    lfuse__operand operands[LFUSE__BODY_OPERANDS];
    lfuse__store stores[LFUSE__BODY_OPERANDS];
    int ninstr, noperands, nstores;
    bool overflow;
} new_step;

static int add_operand(new_step *a, const lfuse__operand *o)
{
    int i;

    for (i = 0; i < a->noperands; i++)
        if (!memcmp(&a->operands[i], o, sizeof *o)) return i;
    if (a->noperands == LFUSE__BODY_OPERANDS) a->overflow = true;
    if (a->overflow) return 0;
    a->operands[a->noperands] = *o;
    return a->noperands++;
}

/* The memory of a REDUCE's results: one for each row. */
static int add_result(const phases *p, new_step *a, int reg, bool written)
{
    const lfuse__step *s = p->rows;
    lfuse__operand o;
    int i;

    memset(&o, 0, sizeof o);
    o.place = p->d->out->buffers[p->buffer[reg]].place;
    o.span = LFUSE__SPAN_TENSOR;
    o.index = p->buffer[reg];
    o.type = (lfuse_type)s->body.instr[reg].type;
    o.written = written;
    o.gathered = -1;
    o.rank = (int8_t)(s->rank - s->naxes);
    memset(o.axis, -1, sizeof o.axis);
    for (i = 0; i < o.rank; i++) {
        o.axis[i] = (int8_t)i;
        o.step[i] = 1;
        o.shape[i] = s->extents[i];
    }
    return add_operand(a, &o);
}

static void add_store(new_step *a, int reg, int operand)
{
    if (a->nstores == LFUSE__BODY_OPERANDS) a->overflow = true;
    if (!a->overflow) a->stores[a->nstores++] = (lfuse__store){ (int16_t)reg, (int16_t)operand };
}

/* The instructions that step `k` takes: its stores, its reductions, and what these need beside earlier results. */
static void gather(const phases *p, int k, int count, new_step *a)
{
    const lfuse__body *b = &p->rows->body;
    const int last = row_steps(p);
    int i;

    for (i = 0; i < b->ninstr; i++) {
        if (b->instr[i].kind != LFUSE__I_REDUCE) continue;
        a->given[i] = p->sweeps[i].phase < k;
        a->needed[i] = p->sweeps[i].phase == k && k < last;
    }
    for (i = 0; i < b->nstores; i++)
        if (step_of_store(p, &b->stores[i]) == k) a->needed[b->stores[i].reg] = true;
    lfuse__body_needs(b, a->given, a->needed);
    a->ninstr = lfuse__body_keep(b, a->needed, a->instr, a->register_of);
    for (i = 0; i < b->ninstr; i++) {
        lfuse__instr *in = &a->instr[a->register_of[i] < 0 ? 0 : a->register_of[i]];
        if (!a->needed[i]) continue;
        if (a->given[i])
            *in = (lfuse__instr){ .kind = LFUSE__I_LOAD, .type = in->type, .b = -1, .c = -1,
                                  .a = (int16_t)add_result(p, a, i, false) };
        else if (in->kind == LFUSE__I_LOAD)
            in->a = (int16_t)add_operand(a, &p->rows->operands[in->a]);
    }
    for (i = 0; i < b->ninstr && k + 1 < count; i++)
        if (a->needed[i] && !a->given[i] && b->instr[i].kind == LFUSE__I_REDUCE)
            add_store(a, a->register_of[i], add_result(p, a, i, true));
    for (i = 0; i < b->nstores; i++)
        if (step_of_store(p, &b->stores[i]) == k)
            add_store(a, a->register_of[b->stores[i].reg], add_operand(a, &p->rows->operands[b->stores[i].operand]));
}

/* A pointwise step walks what it stores in the order in which it lies: in row steps reduced axes come last. */
static void in_order(lfuse__step *s)
{
    const lfuse__operand *to = &s->operands[s->body.stores[0].operand];
    lfuse_size extents[LFUSE_MAX_RANK];
    lfuse__operand o;
    int order[LFUSE_MAX_RANK], i, k;

    for (i = 0; i < s->rank; i++) {
        for (k = i; k > 0 && to->axis[order[k - 1]] > to->axis[i]; k--) order[k] = order[k - 1];
        order[k] = i;
    }
    memcpy(extents, s->extents, sizeof extents);
    for (i = 0; i < s->rank; i++) s->extents[i] = extents[order[i]];
    for (k = 0; k < s->noperands; k++) {
        o = s->operands[k];
        for (i = 0; i < s->rank; i++) {
            s->operands[k].axis[i] = o.axis[order[i]];
            s->operands[k].step[i] = o.step[order[i]];
        }
    }
}

static lfuse_status fill(const phases *p, int k, new_step *a, lfuse__step *step)
{
    const lfuse__step *from = p->rows;
    const bool rows = k < row_steps(p);
    lfuse__step borrowed = { .kind = rows ? LFUSE__STEP_ROWS : LFUSE__STEP_POINTWISE, .prepare = from->prepare,
                             .rank = from->rank, .naxes = rows ? from->naxes : 0, .noperands = a->noperands,
                             .operands = a->operands, .body = from->body, .numbers = from->numbers };

    memcpy(borrowed.extents, from->extents, sizeof borrowed.extents);
    borrowed.body.ninstr = a->ninstr;
    borrowed.body.instr = a->instr;
    borrowed.body.nstores = a->nstores;
    borrowed.body.stores = a->stores;
    LFUSE__TRY(lfuse__step_copy(&borrowed, step));
    if (!rows) in_order(step);
    return LFUSE_OK;
}

/* Results that a later step reads get memory. */
static lfuse_status add_buffers(phases *p, int32_t like)
{
    const lfuse__step *s = p->rows;
    const lfuse__place place = s->prepare ? LFUSE__PLACE_PREPARED : LFUSE__PLACE_SCRATCH;
    lfuse__buffer *b;
    int i;

    for (i = 0; i < s->body.ninstr; i++) {
        p->buffer[i] = -1;
        if (s->body.instr[i].kind != LFUSE__I_REDUCE) continue;
        LFUSE__TRY(lfuse__draft_buffer(p->d, like, place, &p->buffer[i]));
        b = &p->d->out->buffers[p->buffer[i]];
        b->type = (lfuse_type)s->body.instr[i].type;
        b->rank = s->rank - s->naxes;
        memcpy(b->shape, s->extents, sizeof b->shape);
    }
    return LFUSE_OK;
}

static lfuse_status make(phases *p, lfuse__stage *stage, const lfuse__guard *guard)
{
    const int count = row_steps(p) + has_last(p);
    lfuse__alternative *a;
    new_step *one;
    lfuse_status status;
    int k;

    LFUSE__TRY(lfuse__stage_add(stage, "phases", count));
    p->rows = stage->alternatives[0].steps;
    a = &stage->alternatives[1];
    a->guard = *guard;
    one = malloc(sizeof *one);
    status = one ? LFUSE_OK : lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *one);
    for (k = 0; k < count && !status; k++) {
        memset(one, 0, sizeof *one);
        gather(p, k, count, one);
        if (one->overflow) break;
        status = fill(p, k, one, &a->steps[k]);
    }
    if (!status && k < count) { /* the results on their way do not fit beside the operands: one kernel it stays */
        for (k = 0; k < count; k++) lfuse__step_free(&a->steps[k]);
        free(a->steps);
        stage->nalternatives = 1;
    }
    free(one);
    return status;
}

lfuse_status lfuse__draft_phases(lfuse__draft *d, int32_t like, lfuse__stage *stage)
{
    const lfuse__step *s = stage->alternatives[0].steps;
    lfuse__sweep sweeps[LFUSE__BODY_INSTRUCTIONS];
    bool row[LFUSE__BODY_OPERANDS];
    phases p = { .d = d, .rows = s, .row = row, .sweeps = sweeps };
    lfuse__guard guard;
    int i;

    for (i = 0; i < s->noperands; i++) row[i] = of_row(s, &s->operands[i]);
    p.nsweeps = lfuse__body_sweeps(&s->body, row, sweeps);
    if (p.nsweeps < 2 || !guard_of(d, s, row, &guard)) return LFUSE_OK;
    LFUSE__TRY(add_buffers(&p, like));
    return make(&p, stage, &guard);
}
