/* SPDX-License-Identifier: Apache-2.0 */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

bool lfuse__draft_pointwise(const lfuse__draft *d, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(d, node);

    return n->type != LFUSE_TYPE_NONE && (n->kind == LFUSE__POINTWISE || n->kind == LFUSE__CAST ||
                                          n->kind == LFUSE__GATHER || d->nodes[node].copied_view);
}

lfuse__step_kind lfuse__draft_root_step(const lfuse__draft *d, int32_t node)
{
    switch ((lfuse__node_kind)lfuse__draft_node(d, node)->kind) {
#define LFUSE__ROOT(node, step) case LFUSE__##node: return LFUSE__STEP_##step;
#include "common/plan/families.def"
    default: return LFUSE__STEP_KINDS;
    }
}

bool lfuse__draft_computes(const lfuse__draft *d, int32_t node)
{
    const lfuse__node_kind kind = (lfuse__node_kind)lfuse__draft_node(d, node)->kind;

    return lfuse__draft_pointwise(d, node) || lfuse__draft_is_root(d, node) || kind == LFUSE__MATMUL ||
           kind == LFUSE__SCATTER_ADD || kind == LFUSE__CONCAT || lfuse__draft_reduces_list(d, node);
}

bool lfuse__draft_immediate(const lfuse__draft *d, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(d, node);

    return n->kind == LFUSE__CAST && lfuse__draft_node(d, n->in[0])->type == LFUSE_TYPE_NONE;
}

lfuse__span lfuse__draft_span(const lfuse__node *n)
{
    if (!n->list) return LFUSE__SPAN_TENSOR;
    switch (n->rank) {
    case 0: return LFUSE__SPAN_MEMBERS;
    case LFUSE_RANK_ROWS: return LFUSE__SPAN_ROWS;
    case LFUSE_RANK_COLUMNS: return LFUSE__SPAN_COLUMNS;
    case LFUSE_RANK_MATRICES: return LFUSE__SPAN_MATRICES;
    default: return LFUSE__SPAN_LIST;
    }
}

bool lfuse__draft_repeats(const lfuse__draft *d, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(d, node);
    int i;

    if (!lfuse__draft_pointwise(d, node) || !n->list || !n->rank) return false;
    for (i = 0; i < n->nin; i++) {
        const lfuse__node *in = lfuse__draft_node(d, n->in[i]);
        if (in->list && in->rank && in->rank != n->rank) return true;
    }
    return false;
}

/* Enlarges an array to hold one element more, and clears the new ones. ERR_MEMORY. */
static lfuse_status grow(void **array, int count, int *capacity, size_t element)
{
    const int more = *capacity ? 2 * *capacity : 16;
    void *p;

    if (count < *capacity) return LFUSE_OK;
    p = realloc(*array, (size_t)more * element);
    if (!p) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d entries)", more);
    memset((char *)p + (size_t)*capacity * element, 0, (size_t)(more - *capacity) * element);
    *array = p;
    *capacity = more;
    return LFUSE_OK;
}

lfuse_status lfuse__draft_unit(lfuse__draft *d, const lfuse__unit *unit)
{
    LFUSE__TRY(grow((void **)&d->units, d->nunits, &d->unit_capacity, sizeof *d->units));
    d->units[d->nunits++] = *unit;
    return LFUSE_OK;
}

lfuse_status lfuse__draft_buffer(lfuse__draft *d, int32_t like, lfuse__place place, int *index)
{
    const lfuse__node *n = lfuse__draft_node(d, like);
    lfuse__buffer *b;

    LFUSE__TRY(grow((void **)&d->out->buffers, d->out->nbuffers, &d->buffer_capacity,
                                 sizeof *d->out->buffers));
    *index = d->out->nbuffers++;
    b = &d->out->buffers[*index];
    memset(b, 0, sizeof *b);
    b->place = place;
    b->type = (lfuse_type)n->type;
    b->list = d->nodes[like].list;
    b->span = lfuse__draft_span(n);
    if (n->list) return LFUSE_OK;
    b->rank = n->rank;
    memcpy(b->shape, n->shape, sizeof b->shape);
    return LFUSE_OK;
}

lfuse_status lfuse__draft_give_memory(lfuse__draft *d, int32_t node)
{
    lfuse__home *h = &d->memory[node].home;

    if (h->set) return LFUSE_OK;
    h->place = d->nodes[node].prepared ? LFUSE__PLACE_PREPARED : LFUSE__PLACE_SCRATCH;
    LFUSE__TRY(lfuse__draft_buffer(d, node, h->place, &h->index));
    h->set = true;
    return LFUSE_OK;
}

lfuse_status lfuse__draft_give_memory_to_copied(lfuse__draft *d, int32_t node)
{
    if (!lfuse__draft_computes(d, node) || d->nodes[node].inlined) return LFUSE_OK;
    d->nodes[node].read_elsewhere = true;
    return lfuse__draft_give_memory(d, node);
}

bool lfuse__draft_unrounded(const lfuse__draft *d, int32_t node)
{
    for (;;) {
        const lfuse__node *n = lfuse__draft_node(d, node);
        if (!lfuse__is_narrow((lfuse_type)n->type)) return false;
        if (n->kind == LFUSE__POINTWISE) return true;
        if (n->kind != LFUSE__GATHER && !d->nodes[node].copied_view) return false;
        node = d->memory[n->in[0]].view.base;
    }
}

lfuse_status lfuse__draft_give_wide_memory(lfuse__draft *d, int32_t node)
{
    lfuse__home *h = &d->memory[node].wide;

    if (h->set) return LFUSE_OK;
    h->place = d->nodes[node].prepared ? LFUSE__PLACE_PREPARED : LFUSE__PLACE_SCRATCH;
    LFUSE__TRY(lfuse__draft_buffer(d, node, h->place, &h->index));
    d->out->buffers[h->index].type = LFUSE_F32;
    h->set = true;
    return LFUSE_OK;
}
