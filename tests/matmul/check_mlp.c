/* SPDX-License-Identifier: Apache-2.0 */
/* Which shape a chain of products gets, what its kernel is told, what is refused. */
#include "common/base/error.h"
#include "tests/kernels/networks.h"
#include "tests/support/main.h"

enum { LAYERS = 8, UNITS = 132 };

static lfuse__network_layer layers[LFUSE__NETWORK_LAYERS_MOST + 1];

static lfuse__kernel_class chosen(int64_t rows, int64_t width, unsigned resident)
{
    const lfuse__facts facts = network_facts(resident);
    lfuse__network w;
    lfuse__kernel_class c;
    network_class(&c);
    network_square(&w, layers, LAYERS, rows, width);
    OK(lfuse__network_choose(&facts, &w, &c));
    return c;
}

/* Groups that the launch has, all of which run at the same time. */
static void check_cover(int64_t rows, int64_t width, unsigned resident)
{
    const lfuse__kernel_class c = chosen(rows, width, resident);
    const lfuse__product_class *p = &c.product;
    lfuse__network w;
    lfuse__packed packed;
    network_square(&w, layers, LAYERS, rows, width);
    memset(&packed, 0, sizeof packed);
    lfuse__network_pack(&c, &w, &packed);
    ck_assert_uint_le(packed.groups, resident);
    ck_assert_uint_ge(packed.groups * (uint64_t)(p->rows * p->columns), (uint64_t)(rows * width));
    ck_assert_int_ge((int64_t)256 / (p->columns / 4) * p->depth, width);
    ck_assert_uint_eq(packed.group, 256);
    ck_assert_uint_le(packed.nwords, LFUSE__MAX_WORDS);
}

/* Layers that take as long as launches of their own. */
static bool is_long(int64_t rows, int64_t width)
{
    return rows > 32 && width > 400;
}

TEST_CASE("choice")

TEST(covers)
{
    for (int64_t rows = 1; rows <= 64; rows++)
        for (int64_t width = 1; width <= 512; width = width < 8 ? width + 1 : width + 63)
            if (!is_long(rows, width)) check_cover(rows, width, UNITS);
    check_cover(1, 1024, UNITS);
    check_cover(4, 16, 2);
    ck_assert_int_eq(chosen(1, 512, UNITS).product.rows, 1);
    ck_assert_int_eq(chosen(1, 512, UNITS).product.columns, 4);
    ck_assert_int_eq(chosen(1, 128, UNITS).product.columns, 16); /* few that wait for each other */
    ck_assert_int_eq(chosen(16, 512, UNITS).product.rows, 4);
    ck_assert_int_gt(chosen(64, 384, UNITS).product.rows, 4);
    ck_assert(chosen(64, 384, UNITS).product.counted);
    ck_assert(chosen(1, 512, UNITS).product.counted);
    ck_assert(!chosen(64, 128, UNITS).product.counted);
}

/* Eight layers of 64 x 512 x 512 are faster in eight launches (H200), few or many of them. */
TEST(long_layers)
{
    const lfuse__facts facts = network_facts(UNITS);
    for (int count = 2; count <= LAYERS; count++) {
        lfuse__network w;
        lfuse__kernel_class c;
        network_class(&c);
        network_square(&w, layers, count, 64, 512);
        SAYS(LFUSE_ERR_UNSUPPORTED, lfuse__network_choose(&facts, &w, &c), "launches of their own");
        network_square(&w, layers, count, 32, 512);
        ck_assert_msg(!lfuse__network_choose(&facts, &w, &c), "%d layers: %s", count, lfuse__error_message());
    }
}

/* Words of handed values, and counters that have lines of their own, lie behind each other. */
TEST(words)
{
    const lfuse__kernel_class c = chosen(5, 96, UNITS);
    lfuse__network w;
    lfuse__packed packed;
    network_square(&w, layers, LAYERS, 5, 96);
    w.workspace = 512;
    memset(&packed, 0, sizeof packed);
    for (int i = 0; i < LAYERS; i++) {
        layers[i].operands[LFUSE__PRODUCT_B] = (lfuse__network_place){0x1000u * (unsigned)(i + 1), 96, 1};
        layers[i].operands[NETWORK_BIAS] = (lfuse__network_place){0x10u * (unsigned)(i + 1), 0, 1};
        layers[i].operands[NETWORK_RESULT] = (lfuse__network_place){0x77, 97, 1};
    }
    layers[5].kind = 3;
    layers[2].operands[LFUSE__PRODUCT_B].address += 4;
    layers[3].operands[LFUSE__PRODUCT_B].row = 98;
    lfuse__network_pack(&c, &w, &packed);
    const uint64_t blocks = (5 + (uint64_t)c.product.rows - 1) / (uint64_t)c.product.rows;
    ck_assert_uint_eq(packed.words[LFUSE__NETWORK_SPACE], 512);
    ck_assert_uint_eq(packed.words[LFUSE__NETWORK_DATA], blocks * LFUSE__NETWORK_APART);
    ck_assert(!c.product.counted);
    ck_assert_uint_eq(packed.words[LFUSE__NETWORK_HALF], blocks * 96 * (uint64_t)c.product.rows * 8);
    ck_assert_uint_eq(packed.words[LFUSE__NETWORK_COPIES], (packed.words[LFUSE__NETWORK_ACROSS] + 15) / 16);
    ck_assert_uint_eq(packed.words[LFUSE__NETWORK_COPY], 2 * packed.words[LFUSE__NETWORK_HALF]);
    ck_assert_uint_eq(lfuse__network_workspace(&c, &w),
                      packed.words[LFUSE__NETWORK_DATA] +
                          packed.words[LFUSE__NETWORK_COPIES] * packed.words[LFUSE__NETWORK_COPY]);
    ck_assert_uint_eq(packed.words[LFUSE__NETWORK_OUT], 0x77);
    ck_assert_uint_eq(packed.words[LFUSE__NETWORK_OUT + 1], 97);
    for (int i = 0; i < LAYERS; i++) {
        const uint64_t *at = packed.words + LFUSE__NETWORK_HEAD + i * lfuse__network_record(&c);
        ck_assert_uint_eq(at[LFUSE__NETWORK_LD] >> LFUSE__NETWORK_VECTORS & 1, i != 2 && i != 3);
        ck_assert_uint_eq(at[LFUSE__NETWORK_LD] >> LFUSE__NETWORK_KIND & 127, i == 5 ? 3 : 0);
        ck_assert_uint_eq(at[LFUSE__NETWORK_LD] >> LFUSE__NETWORK_STEP, i == 3 ? 98 : 96);
        ck_assert_uint_eq(at[LFUSE__NETWORK_OWN], 0x10u * (unsigned)(i + 1));
        ck_assert_uint_eq(at[LFUSE__NETWORK_SIZES], 96ul << 32 | 96);
    }
}

/* A number stands in front of the layers. */
TEST(number_word)
{
    const lfuse__facts facts = network_facts(UNITS);
    const double two = 2;
    lfuse__kernel_class c;
    lfuse__network w;
    lfuse__packed packed;
    network_class_of_three(&c);
    network_square(&w, layers, LAYERS, 1, 64);
    w.numbers = &two;
    OK(lfuse__network_choose(&facts, &w, &c));
    memset(&packed, 0, sizeof packed);
    layers[0].operands[LFUSE__PRODUCT_B].address = 0x1230;
    lfuse__network_pack(&c, &w, &packed);
    ck_assert_uint_eq(packed.words[LFUSE__NETWORK_HEAD], 0x40000000); /* of f32 */
    ck_assert_uint_eq(packed.words[LFUSE__NETWORK_HEAD + 1 + LFUSE__NETWORK_B], 0x1230);
    ck_assert_uint_eq(packed.nwords, LFUSE__NETWORK_HEAD + 1 + LAYERS * (unsigned)lfuse__network_record(&c));
}

static void declined(const lfuse__facts *facts, int count, int64_t rows, int64_t width, const char *part)
{
    lfuse__network w;
    lfuse__kernel_class c;
    network_class(&c);
    network_square(&w, layers, count, rows, width);
    SAYS(LFUSE_ERR_UNSUPPORTED, lfuse__network_choose(facts, &w, &c), part);
}

TEST(refusals)
{
    lfuse__facts facts = network_facts(UNITS);
    lfuse__kernel_class c = chosen(64, 384, UNITS);
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    declined(&facts, LAYERS, 64, 4096, "132 work-groups");
    declined(&facts, LFUSE__NETWORK_LAYERS_MOST + 1, 1, 64, "argument words");
    declined(&facts, 3, 64, 512, "3 layers of 64 rows, up to 512 x 512: launches of their own");
    facts.simd = 8; /* a generic device, with a quarter of the lanes */
    declined(&facts, 3, 64, 384, "3 layers of 64 rows, up to 384 x 384: launches of their own");
    facts.simd = 32, facts.info.local_bytes = 2048;
    declined(&facts, 3, 1, 64, "132 work-groups");
    facts = network_facts(UNITS);
    facts.resident_groups = 1;
    declined(&facts, LAYERS, 1, 512, "1 work-groups");
    facts.resident_groups = 0;
    declined(&facts, LAYERS, 1, 64, "same time");
    ck_assert_int_eq(lfuse__network_emit(&text, "k", &c, &facts), LFUSE_ERR_UNSUPPORTED);
    facts = network_facts(UNITS);
    facts.addresses = false;
    declined(&facts, LAYERS, 1, 64, "same time");
    facts = network_facts(UNITS);
    c.product.rows = 3;
    ck_assert_int_eq(lfuse__network_emit(&text, "k", &c, &facts), LFUSE_ERR_INVALID);
    c = chosen(1, 64, UNITS);
    c.operands[LFUSE__PRODUCT_B].type = LFUSE_F16;
    ck_assert_int_eq(lfuse__network_emit(&text, "k", &c, &facts), LFUSE_ERR_UNSUPPORTED);
    network_type(&c, LFUSE_F16);
    c.operands[NETWORK_RESULT].type = LFUSE_BF16;
    ck_assert_msg(lfuse__network_emit(&text, "k", &c, &facts) == LFUSE_ERR_TYPE, "%s", lfuse__error_message());
    c = chosen(1, 64, UNITS);
    c.operands[LFUSE__PRODUCT_A].type = c.operands[LFUSE__PRODUCT_B].type = LFUSE_F64;
    ck_assert_int_eq(lfuse__network_emit(&text, "k", &c, &facts), LFUSE_ERR_UNSUPPORTED);
    ck_assert_uint_eq(text.length, 0);
    lfuse__strbuf_free(&text);
}

/* Where the device's maker has tensor cores for f16 and bf16, they are left what is large. */
TEST(narrow_types)
{
    lfuse__facts facts = network_facts(UNITS);
    lfuse__network w;
    lfuse__kernel_class c;
    lfuse__packed packed;
    network_square(&w, layers, LAYERS, 64, 512);
    network_class(&c);
    network_type(&c, LFUSE_BF16);
    facts.products = LFUSE__PRODUCTS_TUNED;
    SAYS(LFUSE_ERR_UNSUPPORTED, lfuse__network_choose(&facts, &w, &c), "tensor cores");
    facts.products = LFUSE__PRODUCTS_PORTABLE;
    OK(lfuse__network_choose(&facts, &w, &c));
    facts.products = LFUSE__PRODUCTS_TUNED;
    network_square(&w, layers, LAYERS, 64, 128);
    OK(lfuse__network_choose(&facts, &w, &c));
    for (int i = 0; i < LAYERS; i++)
        layers[i].operands[LFUSE__PRODUCT_B] = (lfuse__network_place){0x1000u + 4u * (unsigned)i, 128, 1};
    memset(&packed, 0, sizeof packed);
    lfuse__network_pack(&c, &w, &packed);
    for (int i = 0; i < LAYERS; i++) { /* four of them are 8 bytes */
        const uint64_t *at = packed.words + LFUSE__NETWORK_HEAD + i * lfuse__network_record(&c);
        ck_assert_uint_eq(at[LFUSE__NETWORK_LD] & 1, i % 2 == 0);
    }
}

TEST_SUITE("chains of products in one launch", CK_NOFORK)
