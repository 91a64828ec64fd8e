/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a native graph holds, command by command, so that a later pass over the same commands tells what has changed.
 * Memory is told by handle and address: a handle that was freed may come again with another address.
 */
#include "common/device/internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"

enum {
    LAUNCH_WORDS = 5, /* before the buffers: groups, group, local bytes, buffers, words */
    GEMM_WORDS = 7    /* before the inputs of the epilogue: alpha, beta, A, B, D, workspace, whether there is one */
};

uint64_t lfuse__serial(void)
{
    static atomic_uint_fast64_t last;

    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

void lfuse__nodes_free(lfuse__nodes *nodes)
{
    free(nodes->at);
    free(nodes->words);
    memset(nodes, 0, sizeof *nodes);
}

bool lfuse__nodes_alike(const lfuse__nodes *a, const lfuse__nodes *b)
{
    size_t i;

    if (a->count != b->count) return false;
    for (i = 0; i < a->count; i++)
        if (a->at[i].kind != b->at[i].kind || a->at[i].serial != b->at[i].serial || a->at[i].nwords != b->at[i].nwords)
            return false;
    return true;
}

/* ---- noting ---- */

/* Where the words of the next command go, or are compared: NULL when it is no fit, and then of no interest. */
static lfuse_status open_node(lfuse__noting *n, lfuse__node_kind kind, uint64_t serial, lfuse__bkernel *kernel,
                              size_t nwords, lfuse__node **node)
{
    lfuse__nodes *all = n->nodes;

    *node = NULL;
    if (n->follows) {
        lfuse__node *next = n->next < all->count ? &all->at[n->next++] : NULL;
        n->fits = n->fits && next && next->kind == kind && next->serial == serial && next->nwords == nwords;
        if (n->fits) *node = next;
        return LFUSE_OK;
    }
    LFUSE__TRY(lfuse__array_grow(&all->at, &all->capacity, all->count + 1, sizeof *all->at));
    LFUSE__TRY(lfuse__array_grow(&all->words, &all->word_capacity, all->nwords + nwords, sizeof *all->words));
    *node = &all->at[all->count++];
    **node = (lfuse__node){ .kind = kind, .serial = serial, .kernel = kernel, .first = all->nwords, .nwords = nwords };
    all->nwords += nwords;
    return LFUSE_OK;
}

static void put(const lfuse__noting *n, lfuse__node *node, size_t at, const uint64_t *words, size_t count)
{
    uint64_t *own = n->nodes->words + node->first + at;

    if (!count) return;
    if (n->follows && !memcmp(own, words, count * sizeof *own)) return;
    memcpy(own, words, count * sizeof *own);
    node->stale = n->follows;
}

/* Of a command that cannot be patched. */
static lfuse_status note_fixed(lfuse_stream *s, lfuse__node_kind kind, uint64_t serial, const uint64_t *words,
                               size_t count)
{
    lfuse__noting *n = &s->noting;
    lfuse__node *node;

    LFUSE__TRY(open_node(n, kind, serial, NULL, count, &node));
    if (!node) return LFUSE_OK;
    if (n->follows) n->fits = !memcmp(n->nodes->words + node->first, words, count * sizeof *words);
    else put(n, node, 0, words, count);
    return LFUSE_OK;
}

static uint64_t address_of(const lfuse_stream *s, lfuse__bmem *mem)
{
    lfuse__mem_info info;

    if (!mem) return 0;
    s->dev->backend->mem_info(mem, &info);
    return info.address;
}

lfuse_status lfuse__note_launch(lfuse_stream *s, uint64_t serial, lfuse__bkernel *kernel,
                                const lfuse__launch_args *launch)
{
    const uint64_t head[LAUNCH_WORDS] = { launch->groups, launch->group, launch->local_bytes, launch->nbuffers,
                                          launch->nwords };
    const size_t buffers = launch->nbuffers, count = LAUNCH_WORDS + 2 * buffers + launch->nwords;
    lfuse__noting *n = &s->noting;
    lfuse__node *node;
    size_t i;

    LFUSE__TRY(open_node(n, LFUSE__NODE_LAUNCH, serial, kernel, count, &node));
    if (!node) return LFUSE_OK;
    put(n, node, 0, head, LAUNCH_WORDS);
    for (i = 0; i < buffers; i++) {
        const uint64_t words[] = { (uint64_t)(uintptr_t)launch->buffers[i], address_of(s, launch->buffers[i]) };
        put(n, node, LAUNCH_WORDS + 2 * i, words, 2);
    }
    put(n, node, LAUNCH_WORDS + 2 * buffers, launch->words, launch->nwords);
    return LFUSE_OK;
}

static uint64_t bits_of(double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    return bits;
}

lfuse_status lfuse__note_gemm(lfuse_stream *s, uint64_t serial, const lfuse__gemm_args *args)
{
    uint64_t words[GEMM_WORDS + 2 * LFUSE__EPILOGUE_INPUTS] = {
        bits_of(args->alpha), bits_of(args->beta),
        address_of(s, args->a) + args->a_offset, address_of(s, args->b) + args->b_offset,
        address_of(s, args->c) + args->c_offset, address_of(s, args->workspace) + args->workspace_offset,
        args->workspace != NULL,
    };
    int i;

    for (i = 0; i < LFUSE__EPILOGUE_INPUTS; i++) {
        words[GEMM_WORDS + 2 * i] = address_of(s, args->inputs[i]) + args->input_offsets[i];
        words[GEMM_WORDS + 2 * i + 1] = args->inputs[i] != NULL;
    }
    return note_fixed(s, LFUSE__NODE_GEMM, serial, words, sizeof words / sizeof words[0]);
}

lfuse_status lfuse__note_copy(lfuse_stream *s, const lfuse__range *to, uint64_t to_offset, const lfuse__range *from,
                              uint64_t from_offset, uint64_t bytes)
{
    const uint64_t words[] = { to->space, to->address + to_offset, from->space, from->address + from_offset, bytes };

    return note_fixed(s, LFUSE__NODE_COPY, 0, words, sizeof words / sizeof words[0]);
}

lfuse_status lfuse__note_fill(lfuse_stream *s, const lfuse__range *to, uint64_t offset, uint64_t pattern,
                              unsigned pattern_bytes, uint64_t bytes)
{
    const uint64_t words[] = { to->space, to->address + offset, pattern, pattern_bytes, bytes };

    return note_fixed(s, LFUSE__NODE_FILL, 0, words, sizeof words / sizeof words[0]);
}

/* ---- patching ---- */

static lfuse_status patch(lfuse_device *dev, lfuse__bgraph *graph, unsigned index, const lfuse__node *node,
                          const uint64_t *words)
{
    lfuse__bmem *buffers[LFUSE__MAX_BUFFERS];
    lfuse__launch_args args = { .groups = words[0], .group = (unsigned)words[1], .local_bytes = (unsigned)words[2],
                                .nbuffers = (unsigned)words[3], .nwords = (unsigned)words[4], .buffers = buffers };
    unsigned i;

    for (i = 0; i < args.nbuffers && i < LFUSE__MAX_BUFFERS; i++)
        buffers[i] = (lfuse__bmem *)(uintptr_t)words[LAUNCH_WORDS + 2 * i];
    args.words = words + LAUNCH_WORDS + 2 * (size_t)args.nbuffers;
    return lfuse__device_note(dev, dev->backend->graph_patch(graph, index, node->kernel, &args));
}

lfuse_status lfuse__nodes_patch(lfuse_device *dev, lfuse__bgraph *graph, lfuse__nodes *nodes)
{
    unsigned index = 0;
    size_t i;

    for (i = 0; i < nodes->count; i++) {
        lfuse__node *node = &nodes->at[i];
        if (node->kind != LFUSE__NODE_LAUNCH) continue;
        if (node->stale) LFUSE__TRY(patch(dev, graph, index, node, nodes->words + node->first));
        node->stale = false;
        index++;
    }
    return LFUSE_OK;
}
