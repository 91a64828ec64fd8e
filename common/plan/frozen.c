/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Which values depend on frozen inputs and constants alone, and who reads which value. */
#include "common/plan/draft.h"

#include <string.h>

/* Whether a number is the same in every run. Numbers stand before what is made of them. */
static bool constant(const lfuse__draft *d, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(d, node);

    return n->kind == LFUSE__CONSTANT || (n->kind != LFUSE__SCALAR && d->prepared[node]);
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
        const int32_t base = d->views[n->in[i]].base;
        if (lfuse__draft_node(d, base)->kind == LFUSE__FROZEN) frozen = true;
        else if (lfuse__draft_node(d, base)->type == LFUSE_TYPE_NONE) {
            if (!constant(d, base)) return false;
        } else if (lfuse__draft_immediate(d, base)) {
            if (!constant(d, lfuse__draft_node(d, base)->in[0])) return false;
        } else if (d->prepared[base]) frozen = true;
        else return false;
    }
    return frozen;
}

void lfuse__draft_frozen(lfuse__draft *d)
{
    int32_t node;

    for (node = 0; node < d->g->nnodes; node++)
        d->prepared[node] = d->views[node].base == node && !lfuse__draft_immediate(d, node) && prepares(d, node);
}

/* Operands of one node that walk the same memory in the same way are one read. */
static bool repeated(const lfuse__draft *d, int32_t node, int i, int32_t base, const int8_t *axis)
{
    int8_t other[LFUSE_MAX_RANK];
    int j;

    for (j = 0; j < i; j++)
        if (lfuse__draft_operand(d, node, j, other) == base && !memcmp(axis, other, sizeof other)) return true;
    return false;
}

static void count_operands(lfuse__draft *d, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(d, node);
    int8_t axis[LFUSE_MAX_RANK];
    int i;

    for (i = 0; i < n->nin; i++) {
        const int32_t base = lfuse__draft_operand(d, node, i, axis);
        if (repeated(d, node, i, base, axis)) continue;
        d->reads[base]++;
        d->reader[base] = node;
        if (n->kind == LFUSE__MATMUL || (d->prepared[base] && !d->prepared[node])) d->needed[base] = true;
    }
}

static void count_result(lfuse__draft *d, int32_t value, bool update)
{
    const lfuse__view *v = &d->views[value];
    const bool same = v->base == value || lfuse__draft_same_index(d, value, v->base, v->axis);

    if (same || update) d->results[v->base] = true;
    if (same) return;
    d->reads[v->base]++;
    d->reader[v->base] = -2 - value;
    if (d->prepared[v->base]) d->needed[v->base] = true;
}

void lfuse__draft_reads(lfuse__draft *d)
{
    int32_t i;

    for (i = 0; i < d->g->nnodes; i++)
        if (lfuse__draft_computes(d, i)) count_operands(d, i);
    for (i = 0; i < d->g->nnames; i++) {
        if (d->g->names[i].kind == LFUSE__NAME_OUTPUT) count_result(d, d->g->names[i].node, false);
        if (d->g->names[i].update >= 0) count_result(d, d->g->names[i].update, true);
    }
}
