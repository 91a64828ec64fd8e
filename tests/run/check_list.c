/* SPDX-License-Identifier: Apache-2.0 */
/* Lists as they are made and replaced: bounds, and the notes of what was replaced. On the stub. */
#include "common/run/tensors/tensor.h"
#include "tests/run/rig.h"

enum { MEMBERS = 5 };

static lfuse_tensor *vectors[MEMBERS];

static lfuse_list *make(void)
{
    for (int i = 0; i < MEMBERS; i++) vectors[i] = ramp(SHAPE(10), (float)i, 1);
    return new_list(dev, LFUSE_F32, MEMBERS, vectors);
}

TEST_CASE("list", .setup = open_stub, .teardown = close_stub)

/* Member numbers have 32 bits in tables: what is too many is refused before a member is looked at. */
TEST(most_members)
{
    lfuse_tensor *nobody[1] = { NULL };
    lfuse_list *l = NULL;

    FAILS(LFUSE_ERR_OVERFLOW, lfuse_list_create(dev, LFUSE_F32, (int64_t)UINT32_MAX + 1, nobody, &l));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_create(dev, LFUSE_F32, UINT32_MAX, nobody, &l));
    ck_assert_ptr_null(l);
}

TEST(replaced_members)
{
    lfuse_list *l = make();
    lfuse_tensor *shorter = ramp(SHAPE(9), 0, 1), *longer = ramp(SHAPE(11), 0, 1);
    lfuse_tensor *same = ramp(SHAPE(10), 7, 1);

    OK(lfuse_list_replace(l, MEMBERS - 1, 1, &same));
    OK(lfuse_list_replace(l, MEMBERS, 0, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_replace(l, MEMBERS, 1, &same));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_replace(l, MEMBERS - 1, 2, (lfuse_tensor *[]){ same, same }));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_replace(l, -1, 1, &same));
    FAILS(LFUSE_ERR_SHAPE, lfuse_list_replace(l, 0, 1, &shorter));
    FAILS(LFUSE_ERR_SHAPE, lfuse_list_replace(l, 0, 1, &longer));
}

/* Each note is there until as many others were made, and then it is told that it is gone. */
TEST(notes_of_replacements)
{
    lfuse_list *l = make();
    int64_t first, count;

    for (int i = 0; i < 3 * LFUSE__REPLACED; i++) OK(lfuse_list_replace(l, i % MEMBERS, 1, &vectors[i % MEMBERS]));
    for (uint64_t back = 0; back < LFUSE__REPLACED; back++) {
        ck_assert(lfuse__list_replaced(l, l->version - back, &first, &count));
        ck_assert_int_eq(first, (3 * LFUSE__REPLACED - 1 - (int)back) % MEMBERS);
        ck_assert_int_eq(count, 1);
    }
    ck_assert(!lfuse__list_replaced(l, l->version - LFUSE__REPLACED, &first, &count));
    ck_assert(!lfuse__list_replaced(l, l->version + 1, &first, &count));
}

/* A list that follows another one notes all that moved, from the first to the last, and nothing where nothing did. */
TEST(notes_of_what_is_followed)
{
    lfuse_list *l = make(), *own = NULL;
    lfuse_tensor *other = ramp(SHAPE(10), 3, 1);
    int64_t first, count;

    OK(lfuse__list_slice(l, 0, MEMBERS, &own));
    uint64_t before = own->version;
    lfuse__list_mirror(own, 0, l, 0, MEMBERS);
    ck_assert_uint_eq(own->version, before);
    OK(lfuse_list_replace(l, 1, 1, &other));
    OK(lfuse_list_replace(l, MEMBERS - 1, 1, &other));
    lfuse__list_mirror(own, 0, l, 0, MEMBERS);
    ck_assert_uint_eq(own->version, before + 1);
    ck_assert(lfuse__list_replaced(own, own->version, &first, &count));
    ck_assert_int_eq(first, 1);
    ck_assert_int_eq(count, MEMBERS - 1);
    drop(own);
}

/* Two matrices of 2 rows of 3, 4 apart, take 7 elements: so far apart they may lie, and no element nearer. */
TEST(matrices_apart)
{
    lfuse_tensor *all = ramp(SHAPE(40), 0, 1);
    lfuse_tensor *t = new_view(all, SHAPE(2, 2, 3), LFUSE_DIMS(7, 4, 1), 0);
    lfuse_list *l = new_list(dev, LFUSE_F32, 1, &t);
    t = new_view(all, SHAPE(2, 2, 3), LFUSE_DIMS(6, 4, 1), 0);
    FAILS(LFUSE_ERR_INVALID, lfuse_list_create(dev, LFUSE_F32, 1, &t, &l));
}

TEST_SUITE("run", CK_NOFORK)
