/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Concatenations as memory. Each has a home; who computes a piece stores it in its slice of that home, a concatenation
 * within a concatenation is such a slice itself, and pieces that nobody computes (inputs, walks over other values) or
 * that lie elsewhere already (outputs, pieces of an earlier one) are copied there. A piece that others read too is read
 * where it lies, unless a reader sees it in another shape than its own, which a slice does not allow.
 */
#include "common/plan/draft.h"

#include "common/base/error.h"

/* How the axes of piece i walk the memory of the concatenation. */
static lfuse_status slice_of(const lfuse__draft *d, int32_t concat, int i, lfuse__home *slice)
{
    const lfuse__node *n = lfuse__draft_node(d, concat);
    lfuse__view own;

    *slice = d->memory[concat].home;
    slice->sliced = true;
    lfuse__view_identity(d, concat, &own);
    if (i) own.offset[n->axes[0]] = lfuse__draft_node(d, n->in[0])->shape[n->axes[0]];
    if (!d->memory[concat].home.sliced) slice->view = own;
    else if (!lfuse__view_compose(d, &own, concat, &d->memory[concat].home.view, &slice->view))
        return LFUSE_ERR_INVALID;
    return LFUSE_OK;
}

bool lfuse__draft_is_piece(const lfuse__draft *d, int32_t base, int32_t concat)
{
    const lfuse__node *n = lfuse__draft_node(d, concat);
    int32_t piece;

    if (n->kind != LFUSE__CONCAT || d->disable & LFUSE_NO_VIEW_FUSION || d->nodes[base].reads != 1 ||
        d->nodes[base].is_result || d->nodes[base].inlined || !lfuse__draft_computes(d, base) ||
        d->nodes[base].prepared != d->nodes[concat].prepared)
        return false;
    piece = d->memory[n->in[0]].view.base == base ? n->in[0] : n->in[1];
    return lfuse__view_linear(d, piece, &d->memory[piece].view) &&
           lfuse__draft_alike(lfuse__draft_node(d, piece), lfuse__draft_node(d, base));
}

/* Whether who computes the piece stores it in its slice, and by which walk of its own. */
static bool direct(const lfuse__draft *d, int32_t concat, int32_t piece, const lfuse__view *slice, lfuse__view *own)
{
    const int32_t base = d->memory[piece].view.base;

    if (d->disable & LFUSE_NO_VIEW_FUSION || !lfuse__draft_computes(d, base) || d->nodes[base].inlined ||
        d->nodes[base].prepared != d->nodes[concat].prepared || d->memory[base].home.set)
        return false;
    if (d->nodes[base].reads > 1 && (d->nodes[base].reshaped || d->nodes[base].cut)) return false;
    return lfuse__view_linear(d, piece, &d->memory[piece].view) && lfuse__view_reshape(d, slice, piece, base, own);
}

/* The copy runs as soon as what it reads is there; before any update where that is an input. */
static lfuse_status copy(lfuse__draft *d, int32_t concat, int32_t piece, const lfuse__home *slice)
{
    const int32_t base = d->memory[piece].view.base;
    const bool at_once = !lfuse__draft_computes(d, base) || d->nodes[base].prepared;
    const lfuse__unit u = {
        .kind = LFUSE__UNIT_COPY, .node = piece, .tail = -1, .to = *slice,
        .level = lfuse__draft_ready(d, base),
        .phase = d->nodes[concat].prepared ? LFUSE__PHASE_PREPARE
                 : at_once ? LFUSE__PHASE_EARLY : LFUSE__PHASE_MAIN,
    };

    LFUSE__TRY(lfuse__draft_give_memory_to_copied(d, base));
    return lfuse__draft_unit(d, &u);
}

static lfuse_status settle(lfuse__draft *d, int32_t concat, int i)
{
    const int32_t piece = lfuse__draft_node(d, concat)->in[i], base = d->memory[piece].view.base;
    lfuse__home slice;

    LFUSE__TRY(slice_of(d, concat, i, &slice));
    if (!direct(d, concat, piece, &slice.view, &slice.view)) return copy(d, concat, piece, &slice);
    d->memory[base].home = slice;
    d->nodes[base].read_elsewhere = true;
    return LFUSE_OK;
}

/* The outer ones first: they stand behind what they are made of. */
lfuse_status lfuse__draft_concats(lfuse__draft *d)
{
    int32_t node;
    int i;

    for (node = d->g->nnodes - 1; node >= 0; node--) {
        if (lfuse__draft_node(d, node)->kind != LFUSE__CONCAT) continue;
        LFUSE__TRY(lfuse__draft_give_memory(d, node));
        for (i = 0; i < 2; i++) LFUSE__TRY(settle(d, node, i));
    }
    return LFUSE_OK;
}
