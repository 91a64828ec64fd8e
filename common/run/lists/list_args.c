/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport `args`: entries of members in the argument blocks of the launches, each of as many members as its block
 * carries. The words are made once and changed where members move; a launch adds its numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/lists/list_op.h"

static uint64_t *words_of(const lfuse__list_block *b, int batch)
{
    return b->words + (size_t)batch * b->nwords;
}

static void put_member(lfuse__list_op *op, int batch, int64_t m)
{
    const lfuse__list_batch *b = &op->batches[batch];
    const uint64_t first = op->first[m] - (uint64_t)b->first_chunk;
    int i;

    for (i = 0; i < 2 && op->blocks[i].nwords; i++)
        lfuse__carried_place(&op->k, op->blocks[i].carry, (int)(m - b->first_member), first, op->tails[m],
                             op->fresh + 2 * m, 2 * op->nentries, words_of(&op->blocks[i], batch));
}

static lfuse_status make_room(lfuse__list_op *op)
{
    uint64_t *p;
    int i;

    if (op->nbatches <= op->block_capacity) return LFUSE_OK;
    op->block_capacity = 0;
    for (i = 0; i < 2 && op->blocks[i].nwords; i++) {
        p = realloc(op->blocks[i].words, (size_t)op->nbatches * op->blocks[i].nwords * sizeof *p);
        if (!p) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d launches over a list)", op->nbatches);
        op->blocks[i].words = p;
    }
    op->block_capacity = op->nbatches;
    return LFUSE_OK;
}

lfuse_status lfuse__list_args_fill(lfuse__list_op *op)
{
    int64_t m;
    int i, k;

    LFUSE__TRY(make_room(op));
    for (i = 0; i < op->nbatches; i++) {
        const lfuse__list_batch *b = &op->batches[i];
        const int64_t end = b->first_member + b->members;
        if (b->chunks >= UINT32_MAX)
            return lfuse__error(LFUSE_ERR_OVERFLOW, "more than 2^32 - 2 chunks in the arguments of a launch");
        for (k = 0; k < 2 && op->blocks[k].nwords; k++)
            memset(words_of(&op->blocks[k], i), 0, op->blocks[k].nwords * sizeof *op->blocks[k].words);
        if (!b->members) put_member(op, i, b->first_member); /* what an empty list has is the numbers of all of it */
        for (m = b->first_member; m < end; m++) put_member(op, i, m);
        for (k = 0; k < 2 && op->blocks[k].nwords; k++)
            lfuse__carried_end(&op->k, op->blocks[k].carry, (int)b->members, (uint64_t)b->chunks,
                               words_of(&op->blocks[k], i));
    }
    return LFUSE_OK;
}

void lfuse__list_args_change(lfuse__list_op *op, int64_t first, int64_t count)
{
    int low = 0, high = op->nbatches;
    int64_t m;

    while (high - low > 1) { /* the last batch that does not begin behind `first` */
        const int middle = low + (high - low) / 2;
        if (op->batches[middle].first_member <= first) low = middle;
        else high = middle;
    }
    for (m = first; m < first + count; m++) {
        const lfuse__list_batch *b;
        while (low + 1 < op->nbatches && op->batches[low + 1].first_member <= m) low++;
        b = &op->batches[low];
        if (low < op->nbatches && m >= b->first_member && m < b->first_member + b->members) put_member(op, low, m);
    }
}

uint64_t *lfuse__list_args_words(lfuse__list_op *op, int block, int batch, const lfuse__packed *p)
{
    uint64_t *words = words_of(&op->blocks[block], batch);

    memcpy(words, p->words, p->nwords * sizeof *words);
    if (block == LFUSE__LIST_BLOCK) words[LFUSE__MULTI_LENGTH] = (uint64_t)op->length;
    return words;
}
