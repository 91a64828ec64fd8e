/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of Strassen's algorithm in host C, in both forms, and on every device; what their emitter refuses. */
#include "common/base/error.h"
#include "common/matmul/strassen.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"

static const lfuse_type types[] = {LFUSE_F32, LFUSE_F16, LFUSE_BF16, LFUSE_F64};

TEST_CASE("host")

TEST_LOOP(host, 0, 2)
{
    rig r;
    lfuse__stub_reset();
    lfuse__stub.vector_lanes = _i;
    lfuse__stub.simd = 1;
    lfuse__stub.f64 = true;
    lfuse__stub.elementwise_groups = _i ? 8 : 0;
    rig_open(&r, &lfuse__stub_backend, 0);
    for (int t = 0; t < 4; t++) case_strassen(&r, types[t]);
    rig_close(&r);
}

static void use(rig *r)
{
    for (int t = 0; t < 4; t++) {
        if (rig_has(r, types[t])) case_strassen(r, types[t]);
        test_without_optimisation(true);
    }
}

TEST_CASE("devices")

TEST(devices)
{
    if (rig_every_device(use) == 0) TEST_SKIP("no device on this machine");
}

TEST_CASE("classes and sizes")

TEST(padding)
{
    lfuse__facts items = facts_items(true), lanes = facts_lanes(true);
    ck_assert_int_eq(lfuse__strassen_count(0), 1);
    ck_assert_int_eq(lfuse__strassen_count(3), 343);
    ck_assert_int_eq(lfuse__strassen_padded(&items, LFUSE_F32, 1, false, 5), 6);
    ck_assert_int_eq(lfuse__strassen_padded(&items, LFUSE_F32, 2, true, 17), 32);
    ck_assert_int_eq(lfuse__strassen_padded(&items, LFUSE_F16, 1, true, 17), 32);
    ck_assert_int_eq(lfuse__strassen_padded(&items, LFUSE_F64, 1, true, 17), 20);
    ck_assert_int_eq(lfuse__strassen_padded(&lanes, LFUSE_F32, 1, true, 32), 32);
    ck_assert_int_eq(lfuse__strassen_padded(&lanes, LFUSE_F64, 2, true, 65), 128);
}

/* A body that stores what it loads: from plain memory to factors. */
static void class_of(lfuse__kernel_class *c)
{
    static sample s;
    sample_start(&s, LFUSE__FAMILY_STRASSEN, 2, 0);
    for (int j = 0; j <= LFUSE__PRODUCT_OWN; j++)
        sample_operand(&s, LFUSE_F32, j == LFUSE__STRASSEN_FACTORS, LFUSE__STRIDE_UNIT);
    sample_store(&s, sample_load(&s, LFUSE__PRODUCT_OWN), LFUSE__STRASSEN_FACTORS);
    *c = s.k;
    c->strassen.levels_out = 1;
}

static lfuse_status emitted(const lfuse__kernel_class *c)
{
    const lfuse__facts facts = facts_items(true);
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    const lfuse_status status = lfuse__strassen_emit(&text, "k0", c, &facts);
    lfuse__strbuf_free(&text);
    return status;
}

TEST(bad_classes)
{
    lfuse__kernel_class c;
    class_of(&c);
    ck_assert_int_eq(emitted(&c), LFUSE_OK);
    c.strassen.levels_out = LFUSE__STRASSEN_LEVELS + 1;
    ck_assert_int_eq(emitted(&c), LFUSE_ERR_UNSUPPORTED);
    c.strassen.levels_out = 0;
    ck_assert_int_eq(emitted(&c), LFUSE_ERR_UNSUPPORTED);
    c.strassen.levels_in = 1; /* and the body stores factors */
    ck_assert_int_eq(emitted(&c), LFUSE_ERR_INVALID);
    class_of(&c);
    c.operands[LFUSE__STRASSEN_FACTORS].type = LFUSE_F64;
    ck_assert_int_eq(emitted(&c), LFUSE_ERR_TYPE);
    class_of(&c);
    c.body->instr[0].a = LFUSE__PRODUCT_SUM; /* of no products */
    ck_assert_int_eq(emitted(&c), LFUSE_ERR_INVALID);
    c.body->instr[0].a = LFUSE__STRASSEN_FACTORS;
    ck_assert_int_eq(emitted(&c), LFUSE_ERR_INVALID);
    class_of(&c);
    c.operands[LFUSE__PRODUCT_OWN].gathered = true;
    ck_assert_int_ne(emitted(&c), LFUSE_OK);
    class_of(&c);
    c.rank = 1;
    ck_assert_int_eq(emitted(&c), LFUSE_ERR_INVALID);
}

static lfuse_status packed_as(int64_t m, int64_t n, int64_t high, int64_t wide, uint64_t address)
{
    const lfuse__facts facts = facts_items(true);
    lfuse__geometry g = {.extents = {m, n, high, wide}};
    lfuse__kernel_class c;
    lfuse__packed packed;
    class_of(&c);
    g.strides[LFUSE__PRODUCT_OWN][0] = n, g.strides[LFUSE__PRODUCT_OWN][1] = 1;
    g.addresses[LFUSE__STRASSEN_FACTORS] = address;
    return lfuse__strassen_pack(&c, &facts, &g, &packed);
}

TEST(bad_sizes)
{
    const int64_t large = (int64_t)1 << 31;
    ck_assert_int_eq(packed_as(3, 5, 4, 8, 16), LFUSE_OK);
    ck_assert_int_eq(packed_as(3, 5, 3, 8, 16), LFUSE_ERR_INVALID);
    ck_assert_int_eq(packed_as(3, 5, 4, 12, 16), LFUSE_ERR_INVALID);
    ck_assert_int_eq(packed_as(5, 5, 4, 8, 16), LFUSE_ERR_INVALID);
    ck_assert_int_eq(packed_as(3, 9, 4, 8, 16), LFUSE_ERR_INVALID);
    ck_assert_int_eq(packed_as(0, 5, 4, 8, 16), LFUSE_ERR_INVALID);
    ck_assert_int_eq(packed_as(3, 5, 4, 8, 8), LFUSE_ERR_INVALID);
    ck_assert_int_eq(packed_as(large, 5, large, 8, 16), LFUSE_ERR_UNSUPPORTED);
    ck_assert_int_eq(packed_as(large / 2, large / 2, large / 2, large / 2, 16), LFUSE_ERR_UNSUPPORTED);
}

TEST_SUITE("kernels of Strassen's algorithm", CK_NOFORK)
