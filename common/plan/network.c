/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks: products, each of which multiplies what the one before stores, as one launch. Where batches are small a
 * product takes less time than what lies between two launches. Taken where
 *   - the device says how many work-groups run at the same time (facts.resident_groups), and nobody asks for the
 *     vendor's products;
 *   - two products or more follow each other, of a few epilogues, which the solver takes (mlp.c of common/matmul/);
 *     nobody else reads what they hand on;
 *   - it pays: the solver says so;
 *   - there can be as few as LFUSE__NETWORK_ROWS_MOST rows: which there are is known to an instance, which takes the
 *     stages as they were where there are more, or for the layers that a launch cannot hold (lfuse__network_choose).
 */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum { A, B, SUM, OWN }; /* operands of a product of the native kind */

/* ---- one product ---- */

static int stored_at(const lfuse__step *s)
{
    return s->body.stores[0].operand;
}

/*
 * What a launch of several can hold: the epilogue stores one matrix, which is the next layer's A. The solver is asked
 * again about the type of this one.
 */
static bool suits(const lfuse__draft *d, lfuse__matmul_desc *desc, const lfuse__step *s)
{
    int i, written = 0;

    if (s->prepare || s->body.nstores != 1) return false;
    desc->result = s->operands[stored_at(s)].type;
    if (d->advice->declines(d->facts, LFUSE__SOLVER_NETWORK, desc)) return false;
    if (!lfuse__size_is_number(s->product.n) || !lfuse__size_is_number(s->product.k) || s->product.n < 1 ||
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
 * The unit's product as such a step; of no stages: it is none. A vendor's product may have left the region behind it a
 * stage of its own, the next.
 */
static lfuse_status open_layer(lfuse__draft *d, int at, lfuse__step *layer)
{
    lfuse__unit u = d->units[at];
    lfuse__matmul_desc desc;
    bool fits = false;
    int stages = 1;

    memset(layer, 0, sizeof *layer);
    if (u.kind != LFUSE__UNIT_PRODUCT || u.phase != LFUSE__PHASE_MAIN || d->nodes[u.node].levels) return LFUSE_OK;
    lfuse__draft_describe(d, u.node, &desc);
    desc.result = desc.types[0]; /* what the region behind it makes of the sums is not known yet */
    if (d->advice->declines(d->facts, LFUSE__SOLVER_NETWORK, &desc)) return LFUSE_OK;
    if (u.tail < 0) u.tail = lfuse__native_tail(d, u.node);
    if (u.tail >= 0 && lfuse__product_sums(d, u.node, u.tail)) return LFUSE_OK;
    if (u.tail >= 0 && d->units[at].tail < 0) {
        stages = 2;
        if (at + 1 == d->nunits || d->units[at + 1].kind != LFUSE__UNIT_REGION || d->units[at + 1].node != u.tail ||
            d->units[at + 1].phase != LFUSE__PHASE_MAIN)
            u.tail = -1;
    }
    if (u.tail < 0) stages = 1;
    LFUSE__TRY(lfuse__native_step(d, &u, layer, &fits));
    layer->product.precision = LFUSE_PRECISION_FULL; /* a launch of several products splits nothing */
    layer->layer.stages = stages;
    if (fits && suits(d, &desc, layer)) return LFUSE_OK;
    if (fits) lfuse__step_free(layer);
    memset(layer, 0, sizeof *layer);
    return LFUSE_OK;
}

/* ---- two of them ---- */

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
    lfuse__step *children;
    const int nchildren = lfuse__step_children(s, &children);
    int i, count = 0;

    for (i = 0; i < s->noperands; i++) count += is_buffer(&s->operands[i], index);
    for (i = 0; i < nchildren; i++) count += uses_of(&children[i], index);
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

/* Whether `next`, of unit number `at`, multiplies what the layer before it stores, and nobody else has it. */
static bool follows(const lfuse__draft *d, int at, const lfuse__step *before, const lfuse__step *next)
{
    const lfuse__operand *from = &before->operands[stored_at(before)], *to = &next->operands[A];
    const int stages = before->layer.stages;

    if (from->place != LFUSE__PLACE_SCRATCH || !is_buffer(to, from->index) || !whole(from) || !whole(to)) return false;
    if (uses_of(before, from->index) != 1 || uses_of(next, from->index) != 1) return false;
    return before->product.m == next->product.m && before->product.n == next->product.k &&
           !used_elsewhere(d->out, at - stages, stages + next->layer.stages, from->index);
}

/* ---- all of them ---- */

static bool pays(const lfuse__draft *d, const lfuse__step *network)
{
    lfuse__matmul_sizes layers[LFUSE__NETWORK_LAYERS_MOST];
    int i;

    for (i = 0; i < network->nchildren; i++) {
        const lfuse__product *p = &network->children[i].product;
        layers[i] = (lfuse__matmul_sizes){ .n = p->n, .k = p->k, .matrices = 1 };
    }
    return d->advice->network_pays(d->facts, network->children[0].product.type, network->nchildren, layers);
}

/* What is stored at last is nothing that is read on the way: an input that is updated. */
static bool reads_result(const lfuse__step *network)
{
    const lfuse__step *last = &network->children[network->nchildren - 1];
    const lfuse__operand *o = &last->operands[stored_at(last)];
    int i, k;

    for (i = 0; i < network->nchildren; i++)
        for (k = 0; k < network->children[i].noperands; k++) {
            const lfuse__operand *read = &network->children[i].operands[k];
            if (!read->written && read->place == o->place && read->index == o->index) return true;
        }
    return false;
}

static bool worth(const lfuse__draft *d, const lfuse__step *network)
{
    int64_t low, high;

    if (network->nchildren < 2) return false;
    lfuse__size_bounds(d->g, network->children[0].product.m, &low, &high);
    return low <= LFUSE__NETWORK_ROWS_MOST && high >= 1 && !reads_result(network);
}

/* Takes what the network holds. */
static lfuse_status make(lfuse__draft *d, int first, lfuse__step *network)
{
    lfuse__stage *stages = d->out->stages;
    lfuse__step *made = malloc(sizeof *made);
    int i, covers = 0;

    if (!made)
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d layers)",
                            network->nchildren);
    for (i = 0; i < network->nchildren; i++) covers += network->children[i].layer.stages;
    *made = *network;
    memset(network, 0, sizeof *network);
    stages[first].network = made;
    stages[first].covers = covers;
    for (i = first; i < first + covers; i++) stages[i].covered = true;
    return LFUSE_OK;
}

/* Layers from unit `first` on, as many as follow each other; *end: the unit behind them. */
static lfuse_status collect(lfuse__draft *d, int first, lfuse__step *network, int *end)
{
    lfuse_status status = LFUSE_OK;
    bool joined = true;

    *end = first;
    while (joined && !status && *end < d->nunits) {
        lfuse__step next;
        int stages;
        joined = false;
        LFUSE__TRY(open_layer(d, *end, &next));
        stages = next.layer.stages;
        if (!stages) break;
        if (!network->nchildren || follows(d, *end, &network->children[network->nchildren - 1], &next))
            status = lfuse__network_join(network, &next, &joined);
        if (joined) *end += stages;
        else lfuse__step_free(&next);
    }
    return status;
}

/* The chain that begins with unit `first`; *end: the first unit behind it that may begin another. */
static lfuse_status chain(lfuse__draft *d, int first, int *end)
{
    lfuse__step network = { .kind = LFUSE__STEP_NETWORK };
    lfuse_status status;
    int behind;

    *end = first + 1;
    network.children = calloc(LFUSE__NETWORK_LAYERS_MOST, sizeof *network.children);
    if (!network.children) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made");
    status = collect(d, first, &network, &behind);
    if (!status && worth(d, &network)) { /* else what is left of it may be one */
        *end = behind;
        if (pays(d, &network)) status = make(d, first, &network);
    }
    lfuse__step_free(&network);
    return status;
}

lfuse_status lfuse__pass_networks(lfuse__draft *d)
{
    int at = 0;

    if (d->disable & (LFUSE_NO_NETWORK | LFUSE_NO_EPILOGUE) || d->provider == LFUSE_PROVIDER_VENDOR ||
        !d->advice->has_networks(d->facts))
        return LFUSE_OK;
    while (at < d->nunits) LFUSE__TRY(chain(d, at, &at));
    return LFUSE_OK;
}
