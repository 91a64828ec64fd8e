/* SPDX-License-Identifier: Apache-2.0 */
/* How lists are cut: lengths by what a kernel works on at a time and by what a device can take, tables of members. */
#include "common/run/lists/chunks.h"
#include "tests/kernels/classes.h"
#include "tests/support/main.h"

TEST_CASE("chunks")

TEST(one_tile_on_gpus)
{
    const lfuse__facts gpu = facts_items(true), cpu = facts_lanes(true);
    static const struct {
        int operands;
        lfuse_type type;
        int64_t elements;
    } wanted[] = {{1, LFUSE_F32, 4096}, {2, LFUSE_F32, 2048}, {1, LFUSE_F16, 4096}, {1, LFUSE_F64, 2048}};
    for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++) {
        sample s;
        sample_op(&s, wanted[i].operands == 1 ? LFUSE__OP_neg : LFUSE__OP_add, wanted[i].type);
        ck_assert_int_eq(lfuse__multi_chunk(&s.k, &gpu), wanted[i].elements);
        ck_assert_int_eq(lfuse__multi_chunk(&s.k, &cpu), LFUSE__CHUNK);
        sample_narrow(&s);
        ck_assert_int_ge(lfuse__multi_chunk(&s.k, &gpu), LFUSE__SEGMENT);
    }
}

TEST(lengths_keep_units_busy)
{
    static const struct {
        int64_t elements, most;
        unsigned units;
        int64_t length;
    } wanted[] = {{0, 4096, 132, 1024},       {1024000, 4096, 132, 1024}, {4325375, 4096, 132, 2048},
                  {4325376, 4096, 132, 4096}, {1 << 28, 1024, 132, 1024}, {1 << 28, 16384, 2, 16384},
                  {100000, 16384, 2, 4096},   {100000, 16384, 0, 8192}};
    for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++)
        ck_assert_int_eq(lfuse__chunk_length(wanted[i].elements, LFUSE__SEGMENT, wanted[i].most, wanted[i].units),
                         wanted[i].length);
}

TEST(tables_hold_every_element_once)
{
    const int64_t sizes[] = {0, 1, 1024, 1025, 0, 5000}, length = 1024;
    enum { MEMBERS = 6, CHUNKS = 9 };
    lfuse__chunk chunks[CHUNKS];
    uint64_t first[MEMBERS + 1], firsts[MEMBERS + 1];
    int64_t next[MEMBERS] = {0};

    ck_assert_int_eq(lfuse__chunk_count(MEMBERS, sizes, length), CHUNKS);
    lfuse__chunk_fill(MEMBERS, sizes, length, chunks, first);
    lfuse__chunk_firsts(MEMBERS, sizes, length, firsts);
    for (int m = 0; m <= MEMBERS; m++) ck_assert_uint_eq(first[m], firsts[m]);
    ck_assert_uint_eq(first[MEMBERS], CHUNKS);
    for (int c = 0; c < CHUNKS; c++) {
        const uint32_t m = chunks[c].member;
        ck_assert(first[m] <= (uint64_t)c && (uint64_t)c < first[m + 1]);
        ck_assert_int_eq(chunks[c].start, next[m]);
        ck_assert(chunks[c].length > 0 && chunks[c].length <= length);
        next[m] += chunks[c].length;
    }
    for (int m = 0; m < MEMBERS; m++) ck_assert_int_eq(next[m], sizes[m]);
}

TEST_SUITE("chunks", CK_FORK)
