/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recomputation. A value that leads to a checkpoint is not kept for the backward pass: a rule that reads it gets a
 * copy, which is computed of copies, down to inputs and checkpoints. Those are read through a fence, a reshape to the
 * shape that they have, so that equal nodes of both passes are not merged into one value, which would have to be kept.
 */
#include "common/graph/checkpoint.h"

#include <stdlib.h>

static bool is_checkpoint(const lfuse__node *n)
{
    return n->kind == LFUSE__IDENTITY && n->op == LFUSE__IDENTITY_CHECKPOINT;
}

bool lfuse__checkpoint_mark(lfuse__backward *b)
{
    int32_t id;
    int i;

    for (id = 0; id < b->count && !is_checkpoint(&b->g->nodes[id]); id++) continue;
    if (id == b->count) return true;
    b->again = calloc((size_t)b->count, sizeof *b->again);
    b->wanted = calloc((size_t)b->count, sizeof *b->wanted);
    if (!b->again || !b->wanted) return false;
    for (id = b->count - 1; id >= 0; id--) {
        const lfuse__node *n = &b->g->nodes[id];
        for (i = 0; i < n->nin; i++)
            if (is_checkpoint(n) || b->again[id]) b->again[n->in[i]] = true;
    }
    return true;
}

/* Values without operands, and lists, which no reshape takes, are read as they are. */
static bool is_kept(const lfuse__node *n)
{
    return !n->nin || is_checkpoint(n) || n->list || n->type == LFUSE_TYPE_NONE;
}

/* What a copy reads in place of a value that is kept. */
static int32_t leaf(lfuse__backward *b, int32_t id)
{
    const lfuse__node *n = &b->g->nodes[id];

    if (n->list || (n->kind != LFUSE__INPUT && !is_checkpoint(n))) return id;
    return lfuse__build_fence(b->g, b->call, id).id;
}

/*
 * Marks, as wanted, a value and those that its copy needs copies of, and copies the values that are kept. Returns the
 * first of them; operands have lower ids.
 */
static int32_t want(lfuse__backward *b, int32_t id)
{
    int32_t pending = 1;
    int i;

    b->wanted[id] = true;
    for (; ; id--) {
        const lfuse__node n = b->g->nodes[id];
        if (!b->wanted[id]) continue;
        for (i = 0; i < n.nin; i++) {
            const int32_t in = n.in[i];
            if (b->copies[in] >= 0 || b->wanted[in]) continue;
            if (is_kept(&b->g->nodes[in])) {
                b->copies[in] = leaf(b, in);
                continue;
            }
            b->wanted[in] = true;
            pending++;
        }
        if (!--pending) return id;
    }
}

static int32_t copy(lfuse__backward *b, int32_t id)
{
    int32_t at;
    int i;

    for (at = b->copies[id] >= 0 ? id + 1 : want(b, id); at <= id; at++) {
        lfuse__node n = b->g->nodes[at];
        if (!b->wanted[at]) continue;
        b->wanted[at] = false;
        for (i = 0; i < n.nin; i++) n.in[i] = b->copies[n.in[i]];
        for (i = 0; i < n.nin && n.in[i] >= 0; i++) continue;
        if (i == n.nin) b->copies[at] = lfuse__build_append(b->g, b->call, &n).id;
    }
    return b->copies[id];
}

lfuse_value lfuse__gradient_stored(lfuse__backward *b, int32_t id)
{
    if (b->again && b->again[id] && !is_kept(&b->g->nodes[id])) id = copy(b, id);
    return id < 0 ? LFUSE__POISONED(b->g) : (lfuse_value){b->g, id};
}

lfuse_value lfuse__gradient_operand(lfuse__backward *b, int32_t id)
{
    return lfuse__widen(b->call, lfuse__gradient_stored(b, id));
}
