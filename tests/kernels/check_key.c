/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of kernel classes: whatever a text depends on tells two classes apart, for each family what it knows. */
#include "common/kernels/families.h"
#include "common/matmul/solver.h"
#include "tests/support/main.h"

typedef struct field {
    const char *name;
    lfuse__family family;
    size_t offset, size;
} field;

#define FIELD(family, member)                                                                                          \
    {#member, LFUSE__FAMILY_##family, offsetof(lfuse__kernel_class, member), sizeof((lfuse__kernel_class *)0)->member}
#define LIST(family) FIELD(family, list.carried), FIELD(family, list.groups), FIELD(family, list.walk), \
    FIELD(family, list.columns)
#define PRODUCT(family) FIELD(family, product.solver), FIELD(family, product.ta), FIELD(family, product.tb), \
    FIELD(family, product.sum), FIELD(family, product.rows), FIELD(family, product.columns), \
    FIELD(family, product.depth), FIELD(family, product.item_rows), FIELD(family, product.item_columns), \
    FIELD(family, product.slices), FIELD(family, product.prefetch), FIELD(family, product.occupancy), \
    FIELD(family, product.split), FIELD(family, product.phase), \
    FIELD(family, product.batched), FIELD(family, product.prologue[0]), \
    FIELD(family, product.prologue[1]), FIELD(family, product.column_sums), FIELD(family, product.counted)

static const field fields[] = {
    FIELD(POINTWISE, rank), FIELD(POINTWISE, naxes), FIELD(POINTWISE, index64), FIELD(POINTWISE, noperands),
    FIELD(POINTWISE, operands[1].type), FIELD(POINTWISE, operands[1].written), FIELD(POINTWISE, operands[1].gathered),
    FIELD(POINTWISE, operands[1].index), FIELD(POINTWISE, operands[1].shape), FIELD(POINTWISE, operands[1].fixed),
    FIELD(POINTWISE, operands[1].inner), FIELD(ROWS, rows.form), FIELD(ROWS, rows.team), FIELD(ROWS, rows.held),
    FIELD(ROWS, rows.whole), FIELD(SCATTER, scatter), LIST(MULTI), LIST(PARTIAL), LIST(FOLD), LIST(LINES),
    LIST(LINES_FOLD), PRODUCT(PRODUCT), PRODUCT(NETWORK), PRODUCT(GROUPED), PRODUCT(STRASSEN),
    FIELD(GROUPED, members.carried), FIELD(GROUPED, members.groups), FIELD(GROUPED, members.walk),
    FIELD(STRASSEN, strassen.levels_in), FIELD(STRASSEN, strassen.levels_out), FIELD(STRASSEN, strassen.right),
    FIELD(STRASSEN, strassen.transposed), FIELD(SCAN, scan.team), FIELD(SCAN, scan.held),
};

static lfuse__kernel_class class_of(lfuse__family family)
{
    static const lfuse__body body;
    lfuse__kernel_class k;
    memset(&k, 0, sizeof k);
    k.family = family, k.body = &body, k.rank = 2, k.noperands = 3;
    return k;
}

static lfuse__kernel_class changed(const field *f)
{
    lfuse__kernel_class k = class_of(f->family);
    unsigned char *at = (unsigned char *)&k + f->offset;
    int value;
    if (f->size == 1) {
        *at = !*at;
        return k;
    }
    if (f->size == sizeof k.product.solver && f->offset == offsetof(lfuse__kernel_class, product.solver)) {
        k.product.solver = lfuse__solvers[0];
        return k;
    }
    ck_assert_uint_eq(f->size, sizeof value);
    memcpy(&value, at, sizeof value);
    value++;
    memcpy(at, &value, sizeof value);
    return k;
}

TEST_CASE("classes")

TEST(every_field_counts)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const lfuse__kernel_class plain = class_of(fields[i].family), other = changed(&fields[i]);
        ck_assert_msg(lfuse__class_equal(&plain, &plain), "%s: unequal to itself", fields[i].name);
        ck_assert_msg(lfuse__class_equal(&other, &other), "%s: unequal to itself", fields[i].name);
        ck_assert_msg(!lfuse__class_equal(&plain, &other), "%s of family %d does not count", fields[i].name,
                      (int)fields[i].family);
    }
}

TEST(families_are_apart)
{
    for (int a = 0; a < LFUSE__FAMILIES; a++)
        for (int b = 0; b < LFUSE__FAMILIES; b++) {
            const lfuse__kernel_class x = class_of((lfuse__family)a), y = class_of((lfuse__family)b);
            ck_assert_int_eq(lfuse__class_equal(&x, &y), a == b);
        }
}

/* How many groups are resident, operands behind the last, and what is of another family. */
TEST(the_rest_does_not)
{
    lfuse__kernel_class a = class_of(LFUSE__FAMILY_ROWS), b = a;
    b.rows.residents = 3;
    b.operands[3].type = LFUSE_F64;
    ck_assert(lfuse__class_equal(&a, &b));
    a = b = class_of(LFUSE__FAMILY_POINTWISE);
    b.product.rows = 8;
    ck_assert(lfuse__class_equal(&a, &b));
}

TEST_SUITE("key", CK_NOFORK)
