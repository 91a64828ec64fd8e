/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Epilogues of a network's layers: a few different ones, each once. The network's body is one behind the other, with a
 * store for each, all to the one operand that is written; its operands are A, B and the sum, then as many as the
 * epilogues need, which have those of a type in common: where they lie is a layer's own.
 */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum { OWN = 3 }; /* operands behind A, B and the sum */

/* The plan's number that it takes, rounded to the instruction's type. */
static int number_of(const lfuse__step *s, const lfuse__instr *instr)
{
    return s->numbers[instr->a];
}

static bool same_number(const lfuse__step *x, const lfuse__instr *a, const lfuse__step *y, const lfuse__instr *b)
{
    return b->kind == LFUSE__I_NUMBER && a->type == b->type && number_of(x, a) == number_of(y, b);
}

static bool same_instr(const lfuse__instr *a, const lfuse__instr *b)
{
    return a->kind == b->kind && a->op == b->op && a->type == b->type && a->from == b->from && a->a == b->a &&
           a->b == b->b && a->c == b->c && !memcmp(&a->number, &b->number, sizeof a->number);
}

static bool same_code(const lfuse__step *x, const lfuse__step *y)
{
    int i;

    if (x->noperands != y->noperands || x->body.ninstr != y->body.ninstr ||
        x->body.stores[0].operand != y->body.stores[0].operand || x->body.stores[0].reg != y->body.stores[0].reg)
        return false;
    for (i = 0; i < x->noperands; i++)
        if (x->operands[i].type != y->operands[i].type || x->operands[i].written != y->operands[i].written)
            return false;
    for (i = 0; i < x->body.ninstr; i++) {
        const lfuse__instr *a = &x->body.instr[i], *b = &y->body.instr[i];
        if (a->kind == LFUSE__I_NUMBER ? !same_number(x, a, y, b) : !same_instr(a, b)) return false;
    }
    return true;
}

/* Whether a layer of the network has the epilogue; *layer is then told which and where its operands are. */
static bool known(const lfuse__step *network, lfuse__step *layer)
{
    int i;

    for (i = 0; i < network->nchildren; i++)
        if (same_code(&network->children[i], layer)) {
            const int stages = layer->layer.stages;
            layer->layer = network->children[i].layer;
            layer->layer.stages = stages;
            return true;
        }
    return false;
}

/* The place of operand i among the `count` that there are; those that are written are one. -1: it has none yet. */
static int place_of(const lfuse__step *layer, int i, const lfuse__operand *operands, int count)
{
    int slot, before;

    for (slot = i < OWN ? i : OWN; slot < count; slot++) {
        if (operands[slot].type != layer->operands[i].type || operands[slot].written != layer->operands[i].written)
            continue;
        for (before = 0; before < i && layer->layer.slots[before] != slot; before++) { }
        if (before == i) return slot;
    }
    return -1;
}

/* Places for the layer's operands, new ones where none is left; how many there are then; -1: too many. */
static int place_all(lfuse__step *layer, lfuse__operand *operands, int count)
{
    const int before = count;
    int i;

    if (layer->noperands > LFUSE__NETWORK_OPERANDS_MOST) return -1;
    for (i = 0; i < layer->noperands; i++) {
        int slot = place_of(layer, i, operands, count);
        if (slot < 0) {
            if (count == LFUSE__NETWORK_OPERANDS_MOST || (before && layer->operands[i].written)) return -1;
            slot = count++;
            operands[slot] = (lfuse__operand){ .place = LFUSE__PLACE_INDEX, .type = layer->operands[i].type,
                                               .written = layer->operands[i].written, .gathered = -1 };
        }
        if (i < OWN && slot != i) return -1;
        layer->layer.slots[i] = (int8_t)slot;
    }
    return count;
}

/* A place takes three words, a number one. */
static bool fits(int layers, int noperands, int nnumbers)
{
    return layers <= LFUSE__NETWORK_LAYERS_MOST &&
           3 * layers * (1 + noperands - OWN - 1) + nnumbers <= 3 * LFUSE__NETWORK_PLACES_MOST;
}

/* The network's number that is number i of the layer; a new one where it has none such. There is room. */
static int16_t number_at(lfuse__step *network, const lfuse__step *layer, int i)
{
    lfuse__body *body = &network->body;
    const lfuse_type type = layer->body.number_types[i];
    int16_t at = 0;

    while (at < body->nnumbers && (network->numbers[at] != layer->numbers[i] || body->number_types[at] != type)) at++;
    if (at == body->nnumbers) {
        network->numbers[at] = layer->numbers[i];
        body->number_types[body->nnumbers++] = type;
    }
    return at;
}

static void append(const lfuse__step *layer, lfuse__step *network)
{
    lfuse__body *body = &network->body;
    const int first = body->ninstr;
    int i;

    for (i = 0; i < layer->body.ninstr; i++) {
        lfuse__instr *to = &body->instr[body->ninstr++];
        *to = layer->body.instr[i];
        if (to->kind == LFUSE__I_LOAD) to->a = layer->layer.slots[to->a];
        if (to->kind == LFUSE__I_NUMBER) to->a = number_at(network, layer, to->a);
        if (to->kind != LFUSE__I_APPLY && to->kind != LFUSE__I_CONVERT) continue;
        to->a = (int16_t)(to->a + first);
        if (to->b >= 0) to->b = (int16_t)(to->b + first);
        if (to->c >= 0) to->c = (int16_t)(to->c + first);
    }
    body->stores[body->nstores].operand = layer->layer.slots[layer->body.stores[0].operand];
    body->stores[body->nstores++].reg = (int16_t)(layer->body.stores[0].reg + first);
}

static lfuse_status make_room(lfuse__step *network, const lfuse__step *layer)
{
    lfuse__body *body = &network->body;
    const size_t count = (size_t)body->ninstr + (size_t)layer->body.ninstr;
    const size_t numbers = (size_t)body->nnumbers + (size_t)layer->body.nnumbers + 1;
    lfuse__instr *instr = realloc(body->instr, count * sizeof *instr);
    lfuse_type *types = realloc(body->number_types, numbers * sizeof *types);
    int *which = realloc(network->numbers, numbers * sizeof *which);

    if (instr) body->instr = instr;
    if (types) body->number_types = types;
    if (which) network->numbers = which;
    if (!body->stores) body->stores = calloc(LFUSE__NETWORK_KINDS_MOST, sizeof *body->stores);
    if (!network->operands) network->operands = calloc(LFUSE__NETWORK_OPERANDS_MOST, sizeof *network->operands);
    if (instr && types && which && body->stores && network->operands) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%zu instructions)", count);
}

lfuse_status lfuse__network_join(lfuse__step *network, lfuse__step *layer, bool *joined)
{
    lfuse__operand operands[LFUSE__NETWORK_OPERANDS_MOST] = { 0 };
    int count = network->noperands;
    bool is_known;
    int more;

    *joined = false;
    if (count) memcpy(operands, network->operands, (size_t)count * sizeof *operands);
    is_known = known(network, layer);
    more = is_known ? 0 : layer->body.nnumbers;
    if (!is_known) {
        if (network->body.nstores == LFUSE__NETWORK_KINDS_MOST) return LFUSE_OK;
        count = place_all(layer, operands, count);
    }
    if (count < 0 || !fits(network->nchildren + 1, count, network->body.nnumbers + more))
        return LFUSE_OK;
    if (!is_known) {
        LFUSE__TRY(make_room(network, layer));
        memcpy(network->operands, operands, (size_t)count * sizeof *operands);
        network->noperands = count;
        layer->layer.kind = network->body.nstores;
        append(layer, network);
    }
    network->children[network->nchildren++] = *layer;
    memset(layer, 0, sizeof *layer);
    *joined = true;
    return LFUSE_OK;
}
