/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport `args`: places of members in the argument blocks of the launches, each of as many members as its block
 * carries. The words are made once and changed where members move; a launch adds its numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/lists/list_op.h"

static uint64_t *words_of(const lfuse__list_op *op, int batch)
{
    return op->words + (size_t)batch * op->nwords;
}

static uint64_t *fold_words_of(const lfuse__list_op *op, int batch)
{
    return op->fold_words + (size_t)batch * op->fold_nwords;
}

static const uint64_t *entry_of(const lfuse__list_op *op, int operand, int64_t m)
{
    return op->fresh + 2 * (operand * op->places + m);
}

static void put_member(lfuse__list_op *op, int batch, int64_t m)
{
    const lfuse__list_batch *b = &op->batches[batch];
    const uint64_t first = op->first[m] - (uint64_t)b->first_chunk;
    const int place = (int)(m - b->first_member);

    lfuse__carried_place(&op->k, lfuse__list_carry(op), place, first, op->tails[m], entry_of(op, 0, m), 2 * op->places,
                         words_of(op, batch));
    if (op->fold_nwords)
        lfuse__carried_place(&op->k, LFUSE__CARRY_FOLD, place, first, op->tails[m], entry_of(op, 0, m), 2 * op->places,
                             fold_words_of(op, batch));
}

static lfuse_status make_room(lfuse__list_op *op)
{
    const size_t n = (size_t)op->nbatches;
    uint64_t *p;

    if (op->nbatches <= op->words_capacity) return LFUSE_OK;
    op->words_capacity = 0;
    p = realloc(op->words, n * op->nwords * sizeof *p);
    if (p) op->words = p;
    if (p && op->fold_nwords) {
        p = realloc(op->fold_words, n * op->fold_nwords * sizeof *p);
        if (p) op->fold_words = p;
    }
    if (!p) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu launches over a list)", n);
    op->words_capacity = op->nbatches;
    return LFUSE_OK;
}

lfuse_status lfuse__list_args_fill(lfuse__list_op *op)
{
    int i;
    int64_t m;

    LFUSE__TRY(make_room(op));
    for (i = 0; i < op->nbatches; i++) {
        const lfuse__list_batch *b = &op->batches[i];
        const int64_t end = b->first_member + b->members;
        if (b->chunks >= UINT32_MAX)
            return lfuse__error(LFUSE_ERR_OVERFLOW, "more than 2^32 - 2 chunks in the arguments of a launch");
        memset(words_of(op, i), 0, op->nwords * sizeof *op->words);
        if (op->fold_nwords) memset(fold_words_of(op, i), 0, op->fold_nwords * sizeof *op->words);
        if (!b->members) put_member(op, i, b->first_member); /* what an empty list has is the numbers of all of it */
        for (m = b->first_member; m < end; m++) put_member(op, i, m);
        lfuse__carried_end(&op->k, lfuse__list_carry(op), (int)b->members, (uint64_t)b->chunks, words_of(op, i));
        if (op->fold_nwords)
            lfuse__carried_end(&op->k, LFUSE__CARRY_FOLD, (int)b->members, (uint64_t)b->chunks, fold_words_of(op, i));
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

uint64_t *lfuse__list_args_words(lfuse__list_op *op, int batch, const lfuse__packed *p)
{
    uint64_t *words = words_of(op, batch);

    memcpy(words, p->words, p->nwords * sizeof *words);
    words[LFUSE__MULTI_LENGTH] = (uint64_t)op->length;
    return words;
}

uint64_t *lfuse__list_args_fold_words(lfuse__list_op *op, int batch, const lfuse__packed *p)
{
    uint64_t *words = fold_words_of(op, batch);

    memcpy(words, p->words, p->nwords * sizeof *words);
    return words;
}
