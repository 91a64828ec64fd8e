/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

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
static void lay_out(lfuse__optim_store *s, const lfuse_list *like, int64_t most)
{
    int64_t at = 0, m, length;

    for (m = 0; m < like->count; m++) {
        s->elements[m] = like->members[m].elements;
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

static lfuse_status make_tensors(lfuse__optim_store *s, lfuse_device *dev, const lfuse__optim_states *states,
                                 int64_t members, bool paged)
{
    int64_t k;
    int i;

    for (i = 0; i < states->count; i++) {
        s->types[i] = states->type[i];
        s->number[i] = states->number[i];
        s->tensors[i] = calloc((size_t)s->arenas + 1, sizeof(lfuse_tensor *));
        if (!s->tensors[i])
            return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%" PRId64 " blocks of states)", s->arenas);
        for (k = 0; k < s->arenas && (!k || !s->number[i]); k++)
            LFUSE__TRY(make_tensor(dev, states->type[i], s->number[i] ? members : s->lengths[k], paged,
                                   &s->tensors[i][k]));
    }
    return LFUSE_OK;
}

lfuse_status lfuse__optim_store_create(lfuse_device *dev, const lfuse_list *like, const lfuse__optim_states *states,
                                       bool paged, lfuse__optim_store *store)
{
    const size_t room = (size_t)like->count + 1;

    store->dev = dev;
    store->elements = calloc(room, sizeof *store->elements);
    store->arena = calloc(room, sizeof *store->arena);
    store->offset = calloc(room, sizeof *store->offset);
    store->lengths = calloc(room, sizeof *store->lengths);
    if (!store->elements || !store->arena || !store->offset || !store->lengths)
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%" PRId64 " members)", like->count);
    lay_out(store, like, arena_elements(dev));
    return make_tensors(store, dev, states, like->count, paged);
}

void lfuse__optim_store_free(lfuse__optim_store *s)
{
    int64_t k;
    int i;

    for (i = 0; i < LFUSE__OPTIM_STATES; i++) {
        for (k = 0; s->tensors[i] && k < s->arenas; k++) lfuse__tensor_release(s->tensors[i][k]);
        free(s->tensors[i]);
    }
    free(s->elements);
    free(s->arena);
    free(s->offset);
    free(s->lengths);
}

lfuse_status lfuse__optim_store_view(const lfuse__optim_store *s, int state, int64_t member, lfuse_tensor **view)
{
    const int64_t one = 1;

    if (s->number[state]) return lfuse__tensor_view(s->tensors[state][0], 1, &one, NULL, member, view);
    return lfuse__tensor_view(s->tensors[state][s->arena[member]], 1, &s->elements[member], NULL, s->offset[member],
                              view);
}

lfuse_status lfuse__optim_store_list(const lfuse__optim_store *s, int state, int64_t first, int64_t count,
                                     lfuse_list **list)
{
    lfuse_tensor **views = calloc((size_t)count + 1, sizeof(lfuse_tensor *));
    lfuse_status status = LFUSE_OK;
    int64_t m;

    if (!views) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%" PRId64 " members)", count);
    for (m = 0; m < count && !status; m++) status = lfuse__optim_store_view(s, state, first + m, &views[m]);
    if (!status) status = lfuse__list_create(s->dev, s->types[state], count, views, list);
    for (m = 0; m < count; m++) lfuse__tensor_release(views[m]);
    free(views);
    return status;
}
