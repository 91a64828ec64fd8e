/* SPDX-License-Identifier: Apache-2.0 */
/* Words from the argument block to device memory. */
#include "common/base/error.h"
#include "common/kernels/emit.h"
#include "common/kernels/families.h"

enum { OFFSET, COUNT, VALUES, ITEMS = 128 };

static lfuse_status emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    (void)k;
    lfuse__put_kernel(out, name, lfuse__single(facts) ? 1 : ITEMS, VALUES + LFUSE__TABLE_WORDS, 1);
    lfuse__put(out, 1, "memory table = BUFFER(0) + W(%d);", OFFSET);
    lfuse__put(out, 1, "for (u64 i = ITEM(); i < W(%d); i += %d) SET64(table, i, W(%d + i));", COUNT,
               lfuse__single(facts) ? 1 : ITEMS, VALUES);
    lfuse__put(out, 0, "}");
    return lfuse__strbuf_check(out);
}

lfuse_status lfuse__table_pack(const lfuse__facts *facts, uint64_t offset, const uint64_t *values, int count,
                               lfuse__packed *packed)
{
    if (count < 0 || count > LFUSE__TABLE_WORDS)
        return lfuse__error(LFUSE_ERR_INVALID, "%d words for a table writer of %d", count, LFUSE__TABLE_WORDS);
    packed->words[OFFSET] = offset;
    packed->words[COUNT] = (uint64_t)count;
    for (int i = 0; i < LFUSE__TABLE_WORDS; i++) packed->words[VALUES + i] = i < count ? values[i] : 0;
    packed->nwords = VALUES + LFUSE__TABLE_WORDS;
    packed->group = lfuse__single(facts) ? 1 : ITEMS;
    packed->groups = count > 0;
    return LFUSE_OK;
}

static lfuse_status warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__packed *packed)
{
    const uint64_t nothing = 0;
    (void)k;
    return lfuse__table_pack(facts, 0, &nothing, 1, packed);
}

static int buffers(const lfuse__kernel_class *k)
{
    (void)k;
    return 1;
}

const lfuse__kernel_family lfuse__family_table = {.emit = emit, .warm_up = warm_up, .buffers = buffers};
