/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel texts: what they depend on, what they never hold, and the words of a launch. */
#include <locale.h>

#include "common/base/error.h"
#include "common/base/power.h"
#include "common/kernels/emit.h"
#include "tests/kernels/classes.h"
#include "tests/support/locale.h"
#include "tests/support/main.h"

static char *text_of(const sample *s, const lfuse__facts *facts)
{
    lfuse__strbuf out = LFUSE__STRBUF_INIT;
    OK(lfuse__family_pointwise.emit(&out, "k", &s->k, facts));
    return out.data;
}

TEST_CASE("emit")

TEST_LOOP(texts_are_determined, 0, 2)
{
    const lfuse__facts facts = _i ? facts_lanes(false) : facts_items(true);
    sample a, b;
    sample_fused(&a, LFUSE_F32);
    sample_fused(&b, LFUSE_F32);
    char *one = text_of(&a, &facts), *two = text_of(&b, &facts);
    ck_assert_str_eq(one, two);
    free(two);
    b.k.rank = 3;
    two = text_of(&b, &facts);
    ck_assert_str_ne(one, two);
    free(two);
    sample_fused(&b, LFUSE_F64);
    two = text_of(&b, &facts);
    ck_assert_str_ne(one, two);
    free(two);
    free(one);
}

/* Nothing of any language but the dialect's: no quotes, no directive but unroll, no literal that could be a double. */
TEST_LOOP(texts_hold_words_alone, 0, 2)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
                                  " \n()[]{};,=+-*/%<>&|!?:";
    const lfuse__facts facts = _i ? facts_lanes(false) : facts_items(false);
    for (int op = 0; op < LFUSE__OP_COUNT; op++)
        for (lfuse_type type = LFUSE_F32; type < LFUSE__TYPES; type++) {
            sample s;
            if (!sample_fits(op, type)) continue;
            sample_op(&s, op, type);
            char *text = text_of(&s, &facts), *kernel = strstr(text, "KERNEL("), *at = text;
            /* What may stand before a kernel is not of the dialect alone, and always the same. */
            if (kernel != text) {
                ck_assert_uint_eq((size_t)(kernel - text), strlen(lfuse__power_text()));
                ck_assert(!memcmp(text, lfuse__power_text(), (size_t)(kernel - text)));
                ck_assert(op == LFUSE__OP_powi ||
                          (op == LFUSE__OP_pow && (type == LFUSE_F64 || lfuse__is_integer(type))));
                memset(text, ' ', (size_t)(kernel - text));
            }
            for (char *line = strstr(text, "#pragma unroll\n"); line; line = strstr(line, "#pragma unroll\n"))
                memset(line, ' ', strlen("#pragma unroll"));
            while (*at && strchr(allowed, *at)) at++;
            ck_assert_msg(*at == '\0', "%s: character %d", lfuse__ops[op].name, *at);
            ck_assert(!strstr(text, "double") && !strstr(text, "float"));
            free(text);
        }
}

/* What is the same for all elements stands before the loop over them, in list kernels and in those of one axis. */
TEST_LOOP(uniform_work_is_done_once, 0, 4)
{
    const lfuse__facts facts = _i % 2 ? facts_lanes(false) : facts_items(false);
    lfuse__strbuf out = LFUSE__STRBUF_INIT;
    const char *loop;
    sample s;
    sample_uniform(&s);
    if (_i < 2) OK(lfuse__family_multi.emit(&out, "k", &s.k, &facts));
    else OK(lfuse__family_pointwise.emit(&out, "k", &s.k, &facts));
    loop = strstr(out.data, _i % 2 ? "for (u32 i = first" : _i < 2 ? "for (u32 start = 0" : "const u32 start = ");
    ck_assert_ptr_nonnull(loop);
    const char *at = strstr(out.data, "POWI_f64(r0, r1);");
    ck_assert(at && at < loop);
    ck_assert(strstr(out.data, "CAST_f64_f32(r4);") < loop);
    ck_assert(!strstr(loop, "f64"));
    ck_assert(strstr(loop, "MUL_f32(r5, r6)"));
    lfuse__strbuf_free(&out);
    /* Of several axes an operand that repeats along the last may walk another one. */
    s.k.rank = 2;
    OK(lfuse__family_pointwise.emit(&out, "k", &s.k, &facts));
    loop = strstr(out.data, _i % 2 ? "for (u32 i = first" : "const u32 start = ");
    ck_assert(strstr(loop, "POWI_f64(r0, r1);"));
    lfuse__strbuf_free(&out);
}

/* Behind the loop, by the last group, and not in it; made of nothing that differs between members. */
TEST_LOOP(numbers_of_the_whole_list, 0, 2)
{
    const lfuse__facts facts = _i ? facts_lanes(false) : facts_items(false);
    lfuse__strbuf out = LFUSE__STRBUF_INIT;
    lfuse__packed packed;
    sample s;
    sample_counted(&s);
    ck_assert(lfuse__multi_counts(&s.k));
    OK(lfuse__family_multi.emit(&out, "k", &s.k, &facts));
    const char *last = strstr(out.data, "if (W(7) && ARRIVE(BUFFER(0) + W(6), W(7))) {");
    ck_assert_ptr_nonnull(last);
    ck_assert_ptr_nonnull(strstr(last, "STORE_f32(p3, 0, FIRST_f32("));
    *(char *)last = 0;
    ck_assert(!strstr(out.data, "y3") && strstr(out.data, "y2"));
    lfuse__strbuf_free(&out);
    OK(lfuse__multi_pack(&s.k, &facts, 9, 0, 0, NULL, &packed));
    ck_assert_uint_eq(packed.nwords, 6 + 3);
    ck_assert_uint_eq(packed.words[7], 0); /* nobody arrives */
    ck_assert_uint_eq(packed.groups, 0);
    lfuse__multi_pack_last(&s.k, 512, 5, &packed);
    ck_assert_uint_eq(packed.groups, 1); /* of no elements too */
    ck_assert_uint_eq(packed.words[6], 512);
    ck_assert_uint_eq(packed.words[7], 1);
    ck_assert_uint_eq(packed.words[8], 5);
    s.k.operands[1].inner = LFUSE__STRIDE_UNIT;
    ck_assert_int_eq(lfuse__family_multi.emit(&out, "k", &s.k, &facts), LFUSE_ERR_INVALID);
    lfuse__strbuf_free(&out);
}

/* As many groups as fit with the numbers of the body; each number is chosen by constant places. */
TEST(groups_fit_the_arguments)
{
    const lfuse__facts facts = facts_items(false);
    const int64_t first[2] = {0, 5};
    const double numbers[2] = {0.5, 0.25};
    lfuse_type types[60];
    lfuse__strbuf out = LFUSE__STRBUF_INIT;
    lfuse__packed packed;
    sample s;
    sample_fused(&s, LFUSE_F32);
    ck_assert_int_eq(lfuse__multi_groups(&s.body), LFUSE__NUMBER_GROUPS);
    s.k.list.groups = 3;
    OK(lfuse__family_multi.emit(&out, "k", &s.k, &facts));
    ck_assert(strstr(out.data, "if (group == 2) n_0 = W(8 + 0 * 3 + 2);") && !strstr(out.data, "group == 3"));
    lfuse__strbuf_free(&out);
    OK(lfuse__multi_pack(&s.k, &facts, 9, 0, 4, NULL, &packed));
    ck_assert_uint_eq(packed.nwords, 6 + 2 + 3);
    lfuse__multi_pack_groups(&s.k, 2, first, 0, numbers, &packed);
    ck_assert_uint_eq(packed.words[6], 5);
    ck_assert_uint_eq(packed.words[7], UINT64_MAX); /* no member is of a third group */
    ck_assert_uint_eq(packed.words[8], 0x3f000000);
    ck_assert_uint_eq(packed.words[9], 0x3e800000);
    lfuse__multi_pack_groups(&s.k, 2, first, 3, numbers, &packed);
    ck_assert_uint_eq(packed.words[6], 2);
    lfuse__multi_pack_groups(&s.k, 2, first, 6, numbers, &packed);
    ck_assert_uint_eq(packed.words[6], 0);
    s.k.list.groups = LFUSE__NUMBER_GROUPS + 1;
    ck_assert_int_eq(lfuse__family_multi.emit(&out, "k", &s.k, &facts), LFUSE_ERR_INVALID);
    for (int i = 0; i < 60; i++) types[i] = LFUSE_F32;
    s.body.number_types = types;
    s.body.nnumbers = 60;
    ck_assert_int_eq(lfuse__multi_groups(&s.body), 0);
    s.body.nnumbers = 30;
    ck_assert_int_eq(lfuse__multi_groups(&s.body), 3);
    s.body.nnumbers = 0;
    ck_assert_int_eq(lfuse__multi_groups(&s.body), 0);
    lfuse__strbuf_free(&out);
}

/* As many members as the argument block holds, and not one more. */
TEST_LOOP(carried_members_fill_the_block, 0, 5)
{
    static const uint32_t blocks[] = {256, 1024, 4096, 4352, 32764};
    const uint32_t bytes = blocks[_i];
    for (int addresses = 0; addresses < 2; addresses++) {
        const lfuse__facts facts = facts_items(addresses);
        const int buffers = lfuse__list_buffers(&facts, 2);
        sample s;
        sample_fused(&s, LFUSE_F32);
        s.k.list.carried = lfuse__carried_most(&s.k, LFUSE__CARRY_CHUNKS, &facts, bytes);
        ck_assert_int_gt(s.k.list.carried, 0);
        ck_assert_uint_le(8 * (lfuse__carried_words(&s.k, LFUSE__CARRY_CHUNKS) + (unsigned)buffers), bytes);
        s.k.list.carried++;
        ck_assert_uint_gt(8 * (lfuse__carried_words(&s.k, LFUSE__CARRY_CHUNKS) + (unsigned)buffers), bytes);
    }
}

/* A text that was made for one kernel does not change with sizes: sizes are in the words. */
TEST(sizes_are_words)
{
    const lfuse__facts facts = facts_items(true);
    const double numbers[1] = {0.1};
    lfuse__geometry g = {.extents = {7, 1000}, .numbers = numbers};
    lfuse__packed small, large;
    sample s;
    sample_fused(&s, LFUSE_F32);
    s.k.rank = 2;
    for (int j = 0; j < 4; j++) g.strides[j][0] = 1000, g.strides[j][1] = 1, g.offsets[j] = 16 * (uint64_t)j;
    OK(lfuse__family_pointwise.pack(&s.k, &facts, &g, &small));
    ck_assert_uint_eq(small.nwords, lfuse__bundle_class_words(&s.k));
    ck_assert_uint_eq(small.words[3], 48);
    ck_assert_uint_eq(small.words[4], 7000);
    ck_assert_uint_eq(small.words[5], 1);
    ck_assert_uint_eq(small.words[small.nwords - 1], 0x3dcccccd);
    g.extents[1] = 999; /* rows that are no multiple of a vector */
    g.offsets[0] = 4;
    OK(lfuse__family_pointwise.pack(&s.k, &facts, &g, &large));
    ck_assert_uint_eq(large.words[5], 0);
    ck_assert_uint_eq(large.words[0], 4);
    ck_assert_uint_eq(large.nwords, small.nwords);
    g.offsets[0] = 0;
    g.extents[1] = 1000;
    lfuse__family_pointwise.rebind(&s.k, &facts, &g, &large);
    ck_assert_uint_eq(large.words[0], 0);
    ck_assert_uint_eq(large.words[5], 1);
}

TEST(limits_are_refused)
{
    const lfuse__facts facts = facts_items(true);
    lfuse__strbuf out = LFUSE__STRBUF_INIT;
    lfuse__packed packed;
    lfuse__geometry g = {.extents = {65536, 65536}};
    lfuse__facts poor = facts;
    sample s;
    poor.info.f64 = 0;
    sample_op(&s, LFUSE__OP_add, LFUSE_F64);
    ck_assert_int_eq(lfuse__family_pointwise.emit(&out, "k", &s.k, &poor), LFUSE_ERR_TYPE);
    sample_op(&s, LFUSE__OP_add, LFUSE_F32);
    ck_assert_int_eq(lfuse__family_pointwise.emit(&out, "k;evil", &s.k, &facts), LFUSE_ERR_INVALID);
    ck_assert_int_eq(lfuse__family_pointwise.emit(&out, "9k", &s.k, &facts), LFUSE_ERR_INVALID);
    s.instr[2].b = 2;
    ck_assert_int_eq(lfuse__family_pointwise.emit(&out, "k", &s.k, &facts), LFUSE_ERR_INVALID);
    s.instr[2].b = 1;
    s.k.rank = LFUSE_MAX_RANK;
    s.k.index64 = true;
    s.k.noperands = LFUSE__MAX_OPERANDS;
    for (int j = 3; j < LFUSE__MAX_OPERANDS; j++) s.k.operands[j] = s.k.operands[0];
    ck_assert_int_eq(lfuse__family_pointwise.emit(&out, "k", &s.k, &facts), LFUSE_ERR_UNSUPPORTED);
    sample_op(&s, LFUSE__OP_add, LFUSE_F32);
    s.k.rank = 2;
    ck_assert_int_eq(lfuse__family_pointwise.pack(&s.k, &facts, &g, &packed), LFUSE_ERR_OVERFLOW);
    g.extents[0] = 2, g.extents[1] = 2, g.strides[1][0] = (int64_t)1 << 40;
    ck_assert_int_eq(lfuse__family_pointwise.pack(&s.k, &facts, &g, &packed), LFUSE_ERR_OVERFLOW);
    s.k.index64 = true;
    OK(lfuse__family_pointwise.pack(&s.k, &facts, &g, &packed));
    ck_assert_uint_eq(out.length, 0);
    lfuse__strbuf_free(&out);
}

TEST(numbers_round_once)
{
    ck_assert_uint_eq(lfuse__number_word(LFUSE_F32, 0.1), 0x3dcccccd);
    ck_assert_uint_eq(lfuse__number_word(LFUSE_F64, 0.1), 0x3fb999999999999a);
    ck_assert_uint_eq(lfuse__number_word(LFUSE_F16, 0.1), 0x3dccc000);
    /* A tie but for the last bit, which f32 does not hold. */
    ck_assert_uint_eq(lfuse__number_word(LFUSE_BF16, 1.00390625 + 0x1p-40), 0x3f810000);
    ck_assert_uint_eq(lfuse__number_word(LFUSE_I32, 3e9), 0x7fffffff);
    ck_assert_uint_eq(lfuse__number_word(LFUSE_I32, -1.9), 0xffffffff);
    ck_assert_uint_eq(lfuse__number_word(LFUSE_BOOL, 0.5), 1);
}

/* The multipliers that stand for divisions, at the edges of both index widths. */
TEST(divisions_are_exact)
{
    static const int64_t extents[] = {1, 2, 3, 7, 10, 641, 65535, 65536, 65537, 6700417, 1000003, 2147483647,
                                      ((int64_t)1 << 32) + 1, ((int64_t)1 << 40) - 1, (int64_t)1 << 61,
                                          ((int64_t)1 << 62) - 1};
    const lfuse__facts facts = facts_items(true);
    sample s;
    sample_op(&s, LFUSE__OP_neg, LFUSE_F32);
    s.k.rank = 2;
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
        for (int wide = extents[e] > INT32_MAX; wide < 2; wide++) {
            const uint64_t d = (uint64_t)extents[e], last = wide ? INT64_MAX : INT32_MAX;
            lfuse__geometry g = {.extents = {1, extents[e]}};
            lfuse__layout at;
            lfuse__packed packed;
            s.k.index64 = wide;
            for (int j = 0; j < 2; j++) s.k.operands[j].inner = LFUSE__STRIDE_REPEAT;
            lfuse__layout_make(&s.k, &at);
            OK(lfuse__family_pointwise.pack(&s.k, &facts, &g, &packed));
            const uint64_t magic = wide ? packed.words[at.division + 1] : packed.words[at.division] >> 32;
            const unsigned shift = (unsigned)packed.words[at.shifts] & 255;
            for (uint64_t i = 0; i < 4000; i++) {
                const uint64_t near = last / d * d;
                const uint64_t tries[] = {i, last - i, near > i ? near - i : 0, i * d <= last / 2 ? i * d + d - 1 : i};
                for (int t = 0; t < 4; t++) {
                    const uint64_t n = tries[t];
                    const uint64_t q =
                        wide ? (uint64_t)((unsigned __int128)n * magic >> 63 >> shift) : n * magic >> shift;
                    if (n <= last) ck_assert_msg(q == n / d, "%llu / %llu", (unsigned long long)n,
                                                 (unsigned long long)d);
                }
            }
        }
}

/* The constants in the texts of ops.def have points, the program's locale may not. */
TEST(locale_is_ignored)
{
    const lfuse__facts facts = facts_items(false);
    sample s;
    sample_op(&s, LFUSE__OP_gelu_tanh, LFUSE_F64);
    char *one = text_of(&s, &facts);
    const char *locale = test_comma_locale();
    char *two = text_of(&s, &facts);
    setlocale(LC_NUMERIC, "C");
    ck_assert_str_eq(one, two);
    free(one);
    free(two);
    if (!locale) TEST_SKIP("no locale with a decimal comma is installed");
}

TEST_SUITE("kernel texts", CK_NOFORK)
