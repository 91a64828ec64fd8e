/* SPDX-License-Identifier: Apache-2.0 */
/* Which values depend on frozen inputs and constants alone, and who reads which value. */
#include "common/plan/draft.h"

#include <string.h>

/* Whether a number is the same in every run. Numbers stand before what is made of them. */
static bool constant(const lfuse__draft *d, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(d, node);

    return n->kind == LFUSE__CONSTANT || (n->kind != LFUSE__SCALAR && d->nodes[node].prepared);
}

/* Whether the node reads its operands from memory: a number cast to a type is stored for it by a step of the run. */
static bool reads_memory(const lfuse__node *n)
{
    return n->kind == LFUSE__MATMUL || n->kind == LFUSE__SCATTER_ADD;
}

/* Sets `prepared` of numbers too: there it means constant. */
static bool prepares(const lfuse__draft *d, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(d, node);
    bool frozen = n->type == LFUSE_TYPE_NONE;
    int i;

    if (n->kind == LFUSE__CONSTANT) return true;
    if (!n->nin) return false;
    for (i = 0; i < n->nin; i++) {
        const int32_t base = d->memory[n->in[i]].view.base;
        if (lfuse__draft_node(d, base)->kind == LFUSE__FROZEN) frozen = true;
        else if (lfuse__draft_node(d, base)->type == LFUSE_TYPE_NONE) {
            if (!constant(d, base)) return false;
        } else if (lfuse__draft_immediate(d, base)) {
            if (reads_memory(n) || !constant(d, lfuse__draft_node(d, base)->in[0])) return false;
        } else if (d->nodes[base].prepared) frozen = true;
        else return false;
    }
    return frozen;
}

lfuse_status lfuse__pass_frozen(lfuse__draft *d)
{
    int32_t node;

    for (node = 0; node < d->g->nnodes; node++)
        d->nodes[node].prepared = d->memory[node].view.base == node && !lfuse__draft_immediate(d, node) &&
                                  prepares(d, node);
    return LFUSE_OK;
}

/* Operands of one node that walk the same memory in the same way are one read. */
static bool repeated(const lfuse__draft *d, int32_t node, int i, const lfuse__view *walk)
{
    lfuse__view other;
    int j;

    for (j = 0; j < i && lfuse__draft_node(d, node)->kind != LFUSE__CONCAT; j++) {
        lfuse__draft_operand(d, node, j, &other);
        if (lfuse__view_equal(walk, &other)) return true;
    }
    return false;
}

static bool other_shape(const lfuse__draft *d, const lfuse__view *v)
{
    const lfuse__node *n = lfuse__draft_node(d, v->base);

    return !n->list && (v->rank != n->rank || memcmp(v->shape, n->shape, (size_t)n->rank * sizeof *n->shape));
}

static void count_operands(lfuse__draft *d, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(d, node);
    lfuse__view walk;
    int i;

    for (i = 0; i < n->nin; i++) {
        const int32_t base = lfuse__draft_operand(d, node, i, &walk);
        if (repeated(d, node, i, &walk)) continue;
        d->nodes[base].reads++;
        d->nodes[base].reader = node;
        d->nodes[base].reshaped = d->nodes[base].reshaped || other_shape(d, &walk);
        if (n->kind == LFUSE__GATHER && i == 0) d->nodes[base].cut = true; /* looked up in memory */
        if (reads_memory(n) || (d->nodes[base].prepared && !d->nodes[node].prepared))
            d->nodes[base].needs_memory = true;
    }
}

static void count_result(lfuse__draft *d, int32_t value, bool update)
{
    const lfuse__view *v = &d->memory[value].view;
    const bool same = v->base == value || lfuse__view_linear(d, value, v);

    if (same || update) d->nodes[v->base].is_result = true;
    if (same) return;
    d->nodes[v->base].reads++;
    d->nodes[v->base].reader = -2 - value;
    d->nodes[v->base].reshaped = d->nodes[v->base].reshaped || other_shape(d, v);
    if (d->nodes[v->base].prepared) d->nodes[v->base].needs_memory = true;
}

lfuse_status lfuse__pass_reads(lfuse__draft *d)
{
    int32_t i;

    for (i = 0; i < d->g->nnodes; i++)
        if (lfuse__draft_computes(d, i)) count_operands(d, i);
    for (i = 0; i < d->g->nnames; i++) {
        if (d->g->names[i].kind == LFUSE__NAME_OUTPUT) count_result(d, d->g->names[i].node, false);
        if (d->g->names[i].update >= 0) count_result(d, d->g->names[i].update, true);
    }
    return LFUSE_OK;
}
