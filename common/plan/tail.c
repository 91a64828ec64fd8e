/* SPDX-License-Identifier: Apache-2.0 */
/* What a vendor's product can do behind its sums: which regions are just that. */
#include "common/plan/tail.h"

#include <string.h>

/* The operand of `node` that is not `value`; -1 when both are, or when value is read at other indices. */
static int other_operand(const lfuse__draft *d, int32_t node, int32_t value)
{
    lfuse__view walk;
    int i, found = -1;

    if (lfuse__draft_node(d, node)->nin != 2) return -1;
    for (i = 0; i < 2; i++) {
        if (lfuse__draft_operand(d, node, i, &walk) != value) continue;
        if (found >= 0 || !lfuse__draft_same_index(d, node, &walk)) return -1;
        found = 1 - i;
    }
    return found;
}

/* The number that a node is multiplied by: the number node of its operand i, or -1. */
static int32_t factor(const lfuse__draft *d, int32_t node, int i)
{
    const int32_t in = d->memory[lfuse__draft_node(d, node)->in[i]].view.base;

    if (!d->nodes[in].inlined || !lfuse__draft_immediate(d, in)) return -1;
    return lfuse__draft_node(d, in)->in[0];
}

static bool is_op(const lfuse__draft *d, int32_t node, lfuse__op op)
{
    return lfuse__draft_node(d, node)->kind == LFUSE__POINTWISE && lfuse__draft_node(d, node)->op == op;
}

/* The one node of the region that reads the value, which nothing else needs; -1. */
static int32_t follower(const lfuse__draft *d, int32_t value, int32_t region)
{
    const int32_t reader = d->nodes[value].reader;

    if (d->nodes[value].reads != 1 || d->nodes[value].is_result || d->nodes[value].cut || reader < 0) return -1;
    return d->nodes[reader].region == region ? reader : -1;
}

static bool takes_alpha(const lfuse__draft *d, lfuse__tail *t, int32_t node)
{
    const int i = other_operand(d, node, t->end);

    if (i < 0 || !is_op(d, node, LFUSE__OP_mul) || t->nodes) return false;
    t->alpha = factor(d, node, i);
    return t->alpha >= 0;
}

static bool takes(const lfuse__tail *t, lfuse__epilogue_input i)
{
    return t->inputs[i].base >= 0;
}

/* Whether the vendor can read the value of `base`, besides A and B, as one of the node's type. */
static bool may_read(const lfuse__draft *d, int32_t node, int32_t base)
{
    const lfuse__node *x = lfuse__draft_node(d, base);

    return x->type == lfuse__draft_node(d, node)->type && !x->list && !d->memory[base].wide.set &&
           !d->nodes[base].inlined && !d->nodes[base].recomputed && d->nodes[base].region != d->nodes[node].region;
}

/*
 * node = end * x, where x is one element in memory, which the vendor reads as alpha. Alpha has the type of the result
 * where that is f32 or f64; of results of 16 bits it is f32, which x is not.
 */
static bool takes_scale(const lfuse__draft *d, lfuse__tail *t, int32_t node)
{
    const int i = other_operand(d, node, t->end);
    const lfuse__node *n = lfuse__draft_node(d, node);
    lfuse__view walk;
    int32_t base;
    int k;

    if (i < 0 || !is_op(d, node, LFUSE__OP_mul) || t->nodes || (n->type != LFUSE_F32 && n->type != LFUSE_F64))
        return false;
    base = lfuse__draft_operand(d, node, i, &walk);
    if (!may_read(d, node, base)) return false;
    for (k = 0; k < n->rank; k++)
        if (walk.axis[k] >= 0) return false;
    t->inputs[LFUSE__INPUT_SCALE] = walk;
    return true;
}

/* Whether `base`, which `node` walks so, can be the matrix that is added. */
static bool may_add(const lfuse__draft *d, const lfuse__tail *t, int32_t node, int32_t base, const lfuse__view *walk)
{
    const lfuse__node *n = lfuse__draft_node(d, node), *x = lfuse__draft_node(d, base);

    if (t->adds || takes(t, LFUSE__INPUT_BIAS) || t->epilogue != LFUSE__EP_NONE)
        return false; /* sums are in the contract's order */
    return may_read(d, node, base) && x->rank == n->rank &&
           !memcmp(x->shape, n->shape, (size_t)n->rank * sizeof *n->shape) && lfuse__draft_same_index(d, node, walk);
}

/* node = end + number * x. */
static bool takes_beta(const lfuse__draft *d, lfuse__tail *t, int32_t node)
{
    const int i = other_operand(d, node, t->end);
    lfuse__view walk;
    int32_t scaled, x;
    int k;

    if (i < 0 || !is_op(d, node, LFUSE__OP_add)) return false;
    scaled = lfuse__draft_operand(d, node, i, &walk);
    if (!is_op(d, scaled, LFUSE__OP_mul) || d->nodes[scaled].region != d->nodes[node].region ||
        d->nodes[scaled].reads != 1 ||
        d->nodes[scaled].is_result || !lfuse__draft_same_index(d, node, &walk))
        return false;
    for (k = 0; k < 2; k++) {
        const int32_t beta = factor(d, scaled, k);
        x = lfuse__draft_operand(d, scaled, 1 - k, &walk);
        if (beta < 0 || !may_add(d, t, scaled, x, &walk)) continue;
        t->beta = beta;
        lfuse__view_identity(d, x, &t->inputs[LFUSE__INPUT_ADDEND]);
        t->adds = true;
        t->nodes++; /* `scaled`, beside node itself */
        return true;
    }
    return false;
}

/* node = end + x. */
static bool takes_residual(const lfuse__draft *d, lfuse__tail *t, int32_t node)
{
    const int i = other_operand(d, node, t->end);
    lfuse__view walk;
    int32_t x;

    if (i < 0 || !is_op(d, node, LFUSE__OP_add)) return false;
    x = lfuse__draft_operand(d, node, i, &walk);
    if (!may_add(d, t, node, x, &walk)) return false;
    lfuse__view_identity(d, x, &t->inputs[LFUSE__INPUT_ADDEND]);
    return t->adds = true;
}

static bool takes_bias(const lfuse__draft *d, lfuse__tail *t, int32_t node)
{
    const int i = other_operand(d, node, t->end);
    const lfuse__node *n = lfuse__draft_node(d, node);
    const int column = n->rank - 1;
    lfuse__view walk;
    int32_t base;
    int k;

    if (i < 0 || !is_op(d, node, LFUSE__OP_add) || takes(t, LFUSE__INPUT_BIAS) || t->epilogue != LFUSE__EP_NONE)
        return false;
    base = lfuse__draft_operand(d, node, i, &walk);
    if (!may_read(d, node, base) || walk.axis[column] < 0 || walk.step[column] != 1) return false;
    for (k = 0; k < column; k++)
        if (walk.axis[k] >= 0) return false;
    for (k = 0; k < walk.rank; k++) /* a row vector, all of it: vendors take no other */
        if (walk.offset[k] != 0 || (k != walk.axis[column] && walk.shape[k] != 1)) return false;
    t->inputs[LFUSE__INPUT_BIAS] = walk;
    return true;
}

static bool takes_activation(const lfuse__draft *d, lfuse__tail *t, int32_t node)
{
    lfuse__view walk;

    if (t->epilogue != LFUSE__EP_NONE) return false;
    if (lfuse__draft_operand(d, node, 0, &walk) != t->end || !lfuse__draft_same_index(d, node, &walk))
        return false;
    if (is_op(d, node, LFUSE__OP_relu)) t->epilogue = LFUSE__EP_RELU;
    return t->epilogue != LFUSE__EP_NONE;
}

static int region_size(const lfuse__draft *d, int32_t region)
{
    int32_t node;
    int count = 0;

    for (node = region; node >= 0; node = d->nodes[node].next) count++;
    return count;
}

/* Whether the value of `end` replaces that of the input x. */
static bool is_stored_in(const lfuse__draft *d, int32_t end, int32_t x)
{
    const lfuse__home *home = &d->memory[end].home;

    return lfuse__draft_node(d, x)->name >= 0 && home->set && home->place == LFUSE__PLACE_BOUND &&
           home->index == lfuse__draft_node(d, x)->name;
}

bool lfuse__tail_match(const lfuse__draft *d, int32_t matmul, int32_t region, lfuse__tail *t)
{
    int32_t node;
    int i;

    *t = (lfuse__tail){ .alpha = -1, .beta = -1, .end = matmul };
    for (i = 0; i < LFUSE__EPILOGUE_INPUTS; i++) t->inputs[i].base = -1;
    while ((node = follower(d, t->end, region)) >= 0) {
        if (lfuse__draft_node(d, node)->type != lfuse__draft_node(d, matmul)->type) return false;
        if (!takes_alpha(d, t, node) && !takes_scale(d, t, node) && !takes_beta(d, t, node) &&
            !takes_bias(d, t, node) && !takes_residual(d, t, node) && !takes_activation(d, t, node))
            return false;
        t->end = node;
        t->nodes++;
    }
    if (t->adds && is_stored_in(d, t->end, t->inputs[LFUSE__INPUT_ADDEND].base))
        t->inputs[LFUSE__INPUT_ADDEND].base = -1;
    return t->nodes == region_size(d, region);
}

int32_t lfuse__product_tail(const lfuse__draft *d, int32_t matmul)
{
    const int32_t reader = d->nodes[matmul].reader;
    int32_t region, target;
    lfuse__tail t;

    if (d->disable & LFUSE_NO_EPILOGUE || reader < 0 || d->nodes[reader].prepared != d->nodes[matmul].prepared)
        return -1;
    region = d->nodes[reader].region;
    if (region < 0 || !lfuse__tail_match(d, matmul, region, &t) || d->memory[t.end].wide.set) return -1;
    target = d->nodes[t.end].target;
    return target >= 0 && d->names[target].next_target >= 0 ? -1 : region; /* a product has one result */
}
