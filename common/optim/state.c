/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of states. Members lie one behind the other in a few tensors, so that a step over them touches few blocks
 * of memory; every state is cut at the same places.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/optim/optimizer.h"

enum { ALIGNMENT = 128 /* elements between members: 256 bytes at least */ };
#define ARENA_BYTES (INT64_C(1) << 30)

static int64_t padded(int64_t elements)
{
    return (elements + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Elements of an arena of the widest type, unless one member alone has more. */
static int64_t arena_elements(lfuse_device *dev)
{
    const uint64_t most = lfuse__device_facts(dev)->info.max_alloc_bytes;
    const int64_t bytes = most && most < (uint64_t)ARENA_BYTES ? (int64_t)most : ARENA_BYTES;

    return bytes / (int64_t)sizeof(double);
}

/* Gives every member its place; `lengths` has room for as many arenas as members. */
static void lay_out(lfuse__optim_cut *s, int cut, const lfuse_list *like, int64_t most)
{
    int64_t at = 0, m, length;

    for (m = 0; m < like->count; m++) {
        const lfuse__member *x = &like->members[m];
        s->elements[m] = cut == LFUSE__CUT_ROWS      ? x->matrices * x->rows
                         : cut == LFUSE__CUT_COLUMNS ? x->matrices * x->columns
                                                     : x->elements;
        length = padded(s->elements[m]);
        if (!s->arenas || (at && at > most - length)) {
            s->arenas++;
            at = 0;
        }
        s->arena[m] = s->arenas - 1;
        s->offset[m] = at;
        at += length;
        s->lengths[s->arenas - 1] = at;
    }
}

static lfuse_status make_tensor(lfuse_device *dev, lfuse_type type, int64_t elements, bool paged, lfuse_tensor **tensor)
{
    LFUSE__TRY(paged ? lfuse__tensor_create_unified(dev, type, 1, &elements, tensor)
                     : lfuse__tensor_create(dev, type, 1, &elements, tensor));
    return lfuse__tensor_fill(*tensor, NULL, 0);
}

static lfuse_status make_tensors(lfuse__optim_store *s, bool paged)
{
    int64_t k;
    int i;

    for (i = 0; i < s->states->count; i++) {
        const lfuse__optim_state *state = &s->states->state[i];
        const lfuse__optim_cut *cut = &s->cuts[s->cut[i]];
        s->tensors[i] = calloc((size_t)cut->arenas + 1, sizeof(lfuse_tensor *));
        if (!s->tensors[i])
            return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%" PRId64 " blocks of states)", cut->arenas);
        for (k = 0; k < cut->arenas && (!k || !state->number); k++)
            LFUSE__TRY(make_tensor(s->dev, state->type, state->number ? s->like->count : cut->lengths[k], paged,
                                   &s->tensors[i][k]));
    }
    return LFUSE_OK;
}

static lfuse_status make_cut(lfuse__optim_cut *c, int cut, const lfuse_list *like, int64_t most)
{
    const size_t room = (size_t)like->count + 1;

    if (c->elements) return LFUSE_OK;
    c->elements = calloc(room, sizeof *c->elements);
    c->arena = calloc(room, sizeof *c->arena);
    c->offset = calloc(room, sizeof *c->offset);
    c->lengths = calloc(room, sizeof *c->lengths);
    if (!c->elements || !c->arena || !c->offset || !c->lengths)
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%" PRId64 " members)", like->count);
    lay_out(c, cut, like, most);
    return LFUSE_OK;
}

lfuse_status lfuse__optim_store_create(lfuse_device *dev, lfuse_list *like, const lfuse__optim_states *states,
                                       bool paged, lfuse__optim_store *store)
{
    int i;

    store->dev = dev;
    lfuse__list_retain(like);
    store->like = like;
    store->states = states;
    for (i = 0; i < states->count; i++) {
        const int lines = states->state[i].lines;
        const int cut = lines == LFUSE_RANK_ROWS      ? LFUSE__CUT_ROWS
                        : lines == LFUSE_RANK_COLUMNS ? LFUSE__CUT_COLUMNS
                                                      : LFUSE__CUT_ELEMENTS;
        store->cut[i] = cut;
        LFUSE__TRY(make_cut(&store->cuts[cut], cut, like, arena_elements(dev)));
    }
    return make_tensors(store, paged);
}

void lfuse__optim_store_free(lfuse__optim_store *s)
{
    int64_t k;
    int i;

    for (i = 0; i < LFUSE__OPTIM_STATES; i++) {
        for (k = 0; s->tensors[i] && k < lfuse__optim_store_arenas(s, i); k++) lfuse__tensor_release(s->tensors[i][k]);
        free(s->tensors[i]);
    }
    for (i = 0; i < LFUSE__CUTS; i++) {
        free(s->cuts[i].elements);
        free(s->cuts[i].arena);
        free(s->cuts[i].offset);
        free(s->cuts[i].lengths);
    }
    lfuse__list_release(s->like);
}

/* With the member's own shape, or as a vector. */
static lfuse_status view(const lfuse__optim_store *s, int state, int64_t member, bool shaped, lfuse_tensor **view)
{
    const lfuse__optim_cut *c = &s->cuts[s->cut[state]];
    const lfuse__member *m = &s->like->members[member];
    const int64_t one = 1, shape[] = { m->matrices, m->rows, m->columns };

    if (s->states->state[state].number) return lfuse__tensor_view(s->tensors[state][0], 1, &one, NULL, member, view);
    shaped = shaped && s->cut[state] == LFUSE__CUT_ELEMENTS;
    return lfuse__tensor_view(s->tensors[state][c->arena[member]], shaped ? 3 : 1,
                              shaped ? shape : &c->elements[member], NULL, c->offset[member], view);
}

lfuse_status lfuse__optim_store_view(const lfuse__optim_store *s, int state, int64_t member, lfuse_tensor **tensor)
{
    return view(s, state, member, false, tensor);
}

lfuse_status lfuse__optim_store_list(const lfuse__optim_store *s, int state, int64_t first, int64_t count,
                                     lfuse_list **list)
{
    lfuse_tensor **views = calloc((size_t)count + 1, sizeof(lfuse_tensor *));
    lfuse_status status = LFUSE_OK;
    int64_t m;

    if (!views) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%" PRId64 " members)", count);
    for (m = 0; m < count && !status; m++) status = view(s, state, first + m, true, &views[m]);
    if (!status) status = lfuse__list_create(s->dev, s->states->state[state].type, count, views, list);
    for (m = 0; m < count; m++) lfuse__tensor_release(views[m]);
    free(views);
    return status;
}
