/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/*
 * Networks: products, each of which multiplies what the one before stores, as one launch. Where batches are small a
 * product takes less time than what lies between two launches. Taken where
 *   - the device says how many work-groups run at the same time (facts.resident_groups), and nobody asks for the
 *     vendor's products;
 *   - two products or more follow each other, of the same epilogue, which takes no numbers, in f32, f16 or bf16, whose
 *     sums are f32; nobody else reads what they hand on;
 *   - their weights together fill no more than HALF of the device's cache: what is sent for early must stay;
 *   - there can be as few as MOST_ROWS rows: which there are is known to an instance, which takes the stages as they
 *     were where there are more (lfuse__network_choose).
 */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum { MOST_ROWS = LFUSE__NETWORK_ROWS_MOST, MOST_LAYERS = 16, HALF = 2 };
enum { A, B, SUM, OWN }; /* operands of a product of the native kind */

typedef struct layer {
    lfuse__step step;
    int stages; /* that it stands for */
} layer;

/* ---- one product ---- */

/* Matrices of one type, of sums that are f32. */
static bool types_suit(const lfuse__step *s)
{
    const lfuse_type type = s->product.type;
    int i;

    if ((type != LFUSE_F32 && type != LFUSE_F16 && type != LFUSE_BF16) || s->operands[SUM].type != LFUSE_F32)
        return false;
    for (i = 0; i < s->noperands; i++)
        if ((i < SUM || s->operands[i].written) && s->operands[i].type != type) return false;
    return true;
}

static int stored_at(const lfuse__step *s)
{
    return s->body.stores[0].operand;
}

/* What a launch of several can hold. The last operand of the epilogue is what it stores, and there is one such. */
static bool suits(const lfuse__step *s)
{
    int i, written = 0;

    if (s->rank != 2 || s->prepare || s->body.nstores != 1 || s->body.nnumbers || !types_suit(s)) return false;
    if (!lfuse__size_literal(s->product.n) || !lfuse__size_literal(s->product.k) || s->product.n < 1 ||
        s->product.k < 1)
        return false;
    for (i = 0; i < s->noperands; i++) {
        const lfuse__operand *o = &s->operands[i];
        written += o->written;
        if (o->gathered >= 0 || o->span != LFUSE__SPAN_TENSOR || (i != SUM && o->place > LFUSE__PLACE_PREPARED))
            return false;
    }
    return written == 1;
}

/*
 * The unit's product as such a step; *count 0: it is none. A vendor's product may have left the region behind it a
 * stage of its own, the next.
 */
static lfuse_status open_layer(lfuse__draft *d, int at, layer *l)
{
    lfuse__unit u = d->units[at];
    bool fits = false;

    memset(l, 0, sizeof *l);
    if (u.kind != LFUSE__UNIT_PRODUCT || u.phase != LFUSE__PHASE_MAIN || d->levels[u.node]) return LFUSE_OK;
    if (lfuse__draft_node(d, u.node)->list || lfuse__draft_node(d, u.node)->op == LFUSE_PRECISION_TF32)
        return LFUSE_OK;
    l->stages = 1;
    if (u.tail < 0) u.tail = lfuse__native_tail(d, u.node);
    if (u.tail >= 0 && d->units[at].tail < 0) {
        l->stages = 2;
        if (at + 1 == d->nunits || d->units[at + 1].kind != LFUSE__UNIT_REGION || d->units[at + 1].node != u.tail ||
            d->units[at + 1].phase != LFUSE__PHASE_MAIN)
            u.tail = -1;
    }
    if (u.tail < 0) l->stages = 1;
    LFUSE__TRY(lfuse__native_step(d, &u, &l->step, &fits));
    if (fits && suits(&l->step)) return LFUSE_OK;
    if (fits) lfuse__step_free(&l->step);
    memset(l, 0, sizeof *l);
    return LFUSE_OK;
}

/* ---- two of them ---- */

static bool same_instr(const lfuse__instr *a, const lfuse__instr *b)
{
    return a->kind == b->kind && a->op == b->op && a->type == b->type && a->from == b->from && a->a == b->a &&
           a->b == b->b && a->c == b->c && !memcmp(&a->number, &b->number, sizeof a->number);
}

static bool same_code(const lfuse__step *x, const lfuse__step *y)
{
    int i;

    if (x->noperands != y->noperands || x->body.ninstr != y->body.ninstr || stored_at(x) != stored_at(y) ||
        x->body.stores[0].reg != y->body.stores[0].reg)
        return false;
    for (i = 0; i < x->noperands; i++)
        if (x->operands[i].type != y->operands[i].type || x->operands[i].written != y->operands[i].written)
            return false;
    for (i = 0; i < x->body.ninstr; i++)
        if (!same_instr(&x->body.instr[i], &y->body.instr[i])) return false;
    return true;
}

/* A matrix from its first element to its last, as it lies in memory. */
static bool whole(const lfuse__operand *o)
{
    return o->rank == 2 && o->axis[0] == 0 && o->axis[1] == 1 && o->step[0] == 1 && o->step[1] == 1 &&
           o->offset[0] == 0 && o->offset[1] == 0;
}

static bool is_buffer(const lfuse__operand *o, int index)
{
    return o->place == LFUSE__PLACE_SCRATCH && o->index == index;
}

static int uses_of(const lfuse__step *s, int index)
{
    int i, count = 0;

    for (i = 0; i < s->noperands; i++) count += is_buffer(&s->operands[i], index);
    for (i = 0; i < s->nchildren; i++) count += uses_of(&s->children[i], index);
    return count;
}

/* By stages other than those from `first` on. */
static bool used_elsewhere(const lfuse__plan_body *p, int first, int count, int index)
{
    int i, j, k;

    for (i = 0; i < p->nstages; i++)
        for (j = 0; j < p->stages[i].nalternatives && (i < first || i >= first + count); j++)
            for (k = 0; k < p->stages[i].alternatives[j].nsteps; k++)
                if (uses_of(&p->stages[i].alternatives[j].steps[k], index)) return true;
    return false;
}

/* Whether `next` multiplies what `l` stores, and nobody else has it. */
static bool follows(const lfuse__draft *d, int at, const layer *l, const layer *next)
{
    const lfuse__operand *from = &l->step.operands[stored_at(&l->step)], *to = &next->step.operands[A];

    if (from->place != LFUSE__PLACE_SCRATCH || !is_buffer(to, from->index) || !whole(from) || !whole(to)) return false;
    if (uses_of(&l->step, from->index) != 1 || uses_of(&next->step, from->index) != 1) return false;
    return l->step.product.m == next->step.product.m && l->step.product.n == next->step.product.k &&
           same_code(&l->step, &next->step) && !used_elsewhere(d->out, at, l->stages + next->stages, from->index);
}

/* ---- all of them ---- */

static bool fits_cache(const lfuse__draft *d, const layer *layers, int count)
{
    const uint64_t most = d->facts->info.cache_bytes / HALF / lfuse_type_size(layers[0].step.product.type);
    uint64_t elements = 0, more;
    int i;

    for (i = 0; i < count; i++) {
        const lfuse__product *p = &layers[i].step.product;
        if (__builtin_mul_overflow((uint64_t)p->n, (uint64_t)p->k, &more) ||
            __builtin_add_overflow(elements, more, &elements))
            return false;
    }
    return elements <= most;
}

/* What is stored at last is nothing that is read on the way: an input that is updated. */
static bool reads_result(const layer *layers, int count)
{
    const lfuse__operand *o = &layers[count - 1].step.operands[stored_at(&layers[count - 1].step)];
    int i, k;

    for (i = 0; i < count; i++)
        for (k = 0; k < layers[i].step.noperands; k++) {
            const lfuse__operand *read = &layers[i].step.operands[k];
            if (!read->written && read->place == o->place && read->index == o->index) return true;
        }
    return false;
}

static bool worth(const lfuse__draft *d, const layer *layers, int count)
{
    int64_t low, high;

    if (count < 2) return false;
    lfuse__size_bounds(d->g, layers[0].step.product.m, &low, &high);
    return low <= MOST_ROWS && high >= 1 && !reads_result(layers, count);
}

/* Takes the steps of the layers. */
static lfuse_status make(lfuse__draft *d, int first, layer *layers, int count)
{
    lfuse__stage *stages = d->out->stages;
    lfuse__step *network = calloc(1, sizeof *network), *children = calloc((size_t)count, sizeof *children);
    int i, covers = 0;

    if (!network || !children) {
        free(children);
        free(network);
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d layers)", count);
    }
    for (i = 0; i < count; i++) {
        children[i] = layers[i].step;
        memset(&layers[i].step, 0, sizeof layers[i].step);
        covers += layers[i].stages;
    }
    *network = (lfuse__step){ .kind = LFUSE__STEP_NETWORK, .list = -1, .nchildren = count, .children = children };
    stages[first].network = network;
    stages[first].covers = covers;
    for (i = first; i < first + covers; i++) stages[i].covered = true;
    return LFUSE_OK;
}

/* The chain that begins with unit `first`; *end: the first unit behind it that may begin another. */
static lfuse_status chain(lfuse__draft *d, int first, int *end)
{
    layer layers[MOST_LAYERS];
    lfuse_status status;
    int count = 0, at = first, last = first, i;

    memset(layers, 0, sizeof layers);
    *end = first + 1;
    for (;;) {
        status = open_layer(d, at, &layers[count]);
        if (status || !layers[count].stages) break;
        if (count && !follows(d, last, &layers[count - 1], &layers[count])) {
            lfuse__step_free(&layers[count].step);
            break;
        }
        last = at;
        at += layers[count++].stages;
        if (count == MOST_LAYERS || at >= d->nunits) break;
    }
    if (!status && worth(d, layers, count)) { /* else what is left of it may be one */
        if (fits_cache(d, layers, count)) status = make(d, first, layers, count);
        *end = at;
    }
    for (i = 0; i < count; i++) lfuse__step_free(&layers[i].step);
    return status;
}

lfuse_status lfuse__draft_networks(lfuse__draft *d)
{
    int at = 0;

    if (d->disable & (LFUSE_NO_NETWORK | LFUSE_NO_EPILOGUE) || d->provider == LFUSE_PROVIDER_VENDOR ||
        !d->facts->resident_groups || !d->facts->addresses || d->facts->vector_lanes)
        return LFUSE_OK;
    while (at < d->nunits) LFUSE__TRY(chain(d, at, &at));
    return LFUSE_OK;
}
