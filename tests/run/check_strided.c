/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose elements lie apart: written, read, filled and copied. On the stub. */
#include "tests/run/tensors.h"

/* ---- strided ---- */

/* Views of a parent of 60 elements, as [a, b] or [a]. */
typedef struct strided {
    int rank;
    int64_t shape[2], strides[2], offset;
} strided;

static const strided stridings[] = {
    {2, {6, 10}, {1, 6}, 0},  {1, {30}, {2}, 1},      {1, {60}, {-1}, 59}, {2, {3, 5}, {20, 3}, 4},
    {2, {4, 4}, {-15, 1}, 45}, {1, {1}, {7}, 13},      {2, {0, 3}, {3, 1}, 0}, {2, {2, 60}, {60, 1}, 0},
};

static int64_t place_of(const strided *c, int64_t i)
{
    return c->rank == 1 ? c->offset + i * c->strides[0]
                        : c->offset + i / c->shape[1] * c->strides[0] + i % c->shape[1] * c->strides[1];
}

static const lfuse_type strided_types[] = {LFUSE_F32, LFUSE_F16, LFUSE_BF16, LFUSE_F64,
                                           LFUSE_I32, LFUSE_BOOL, LFUSE_I64,  LFUSE_I8,  LFUSE_U8,
                                           LFUSE_E4M3, LFUSE_E5M2};

/* Bytes 0 and 1 alone, which are legal and different in every type. */
static void set_mark(unsigned char *to, size_t size, int64_t i)
{
    memset(to, 0, size);
    to[0] = (unsigned char)(i * 7 % 3 == 1);
}

TEST_CASE("strided", .teardown = end)

TEST_LOOP(test_strided, 0, 8 * 9)
{
    const strided *c = &stridings[_i % 8];
    const lfuse_type type = strided_types[_i / 8];
    const size_t size = lfuse_type_size(type);
    unsigned char all[60 * 8], got[60 * 8], part[120 * 8], back[120 * 8];
    lfuse_tensor *view;
    begin();
    lfuse_tensor *parent = make(TYPED(type, 60));
    for (int i = 0; i < 60; i++) set_mark(all + (size_t)i * size, size, i);
    OK(lfuse_tensor_write(parent, NULL, all));
    lfuse_status status = lfuse_tensor_view(parent, c->rank, c->shape, c->strides, c->offset, &view);
    if (c->shape[1] == 60) { /* twice as large as its memory */
        ck_assert_int_eq(status, LFUSE_ERR_SHAPE);
        return;
    }
    OK(status);
    const int64_t elements = lfuse_tensor_elements(view);
    memset(part, 0xee, sizeof part);
    OK(lfuse_tensor_read(view, NULL, part));
    for (int64_t i = 0; i < elements; i++)
        ck_assert(!memcmp(part + (size_t)i * size, all + (size_t)place_of(c, i) * size, size));
    for (int64_t i = 0; i < elements; i++) set_mark(part + (size_t)i * size, size, i + 1);
    OK(lfuse_tensor_write(view, NULL, part));
    for (int64_t i = 0; i < elements; i++) set_mark(all + (size_t)place_of(c, i) * size, size, i + 1);
    OK(lfuse_tensor_read(parent, NULL, got));
    ck_assert(!memcmp(all, got, 60 * size));
    lfuse_tensor *same = make(type, c->rank, c->shape);
    OK(lfuse_tensor_copy(same, view, NULL));
    OK(lfuse_tensor_read(same, NULL, back));
    ck_assert(!memcmp(back, part, (size_t)elements * size));
    OK(lfuse_tensor_fill(view, NULL, 0));
    for (int64_t i = 0; i < elements; i++) memset(all + (size_t)place_of(c, i) * size, 0, size);
    OK(lfuse_tensor_read(parent, NULL, got));
    ck_assert(!memcmp(all, got, 60 * size));
    OK(lfuse_tensor_copy(view, same, NULL));
    OK(lfuse_tensor_read(view, NULL, back));
    ck_assert(!memcmp(back, part, (size_t)elements * size));
    drop(view);
}

TEST(test_interleaved)
{
    const float given[6] = {0, 1, 2, 3, 4, 5}, want[6] = {1, 1, 3, 3, 5, 5};
    float got[6];
    begin();
    lfuse_tensor *t = make(F32(6));
    OK(lfuse_tensor_write(t, NULL, given));
    lfuse_tensor *even = new_view(t, SHAPE(3), LFUSE_DIMS(2), 0);
    lfuse_tensor *odd = new_view(t, SHAPE(3), LFUSE_DIMS(2), 1);
    lfuse_tensor *first = new_view(t, SHAPE(3), NULL, 0);
    OK(lfuse_tensor_copy(even, odd, NULL));
    OK(lfuse_tensor_read(t, NULL, got));
    ck_assert(!memcmp(got, want, sizeof got));
    FAILS(LFUSE_ERR_OVERLAP, lfuse_tensor_copy(even, first, NULL));
}

TEST_LOOP(test_strided_across, 0, 2)
{
    float given[12], got[12], want[12];
    begin();
    lfuse__stub.peer = _i != 0;
    lfuse_device *other = new_device("stub:1");
    lfuse_tensor *here = make(F32(3, 4));
    lfuse_tensor *there = new_tensor(other, F32(4, 3));
    for (int i = 0; i < 12; i++) given[i] = (float)i, want[i % 4 * 3 + i / 4] = (float)i;
    OK(lfuse_tensor_write(here, NULL, given));
    lfuse_tensor *columns = new_view(here, SHAPE(4, 3), LFUSE_DIMS(1, 4), 0);
    OK(lfuse_tensor_copy(there, columns, NULL)); /* transposed source */
    OK(lfuse_tensor_read(there, NULL, got));
    ck_assert(!memcmp(want, got, sizeof got));
    OK(lfuse_tensor_fill(there, NULL, 0));
    lfuse_tensor *rows = new_view(there, SHAPE(3, 4), LFUSE_DIMS(1, 3), 0);
    OK(lfuse_tensor_copy(rows, here, NULL)); /* transposed destination */
    OK(lfuse_tensor_read(there, NULL, got));
    ck_assert(!memcmp(want, got, sizeof got));
}

TEST(test_repeated_is_not_written)
{
    float x[16] = {0};
    begin();
    lfuse_tensor *t = make(F32(10)), *full = make(F32(4, 4));
    lfuse_tensor *repeated = new_view(t, SHAPE(4, 4), LFUSE_DIMS(0, 1), 0);
    lfuse_tensor *sliding = new_view(t, SHAPE(4, 4), LFUSE_DIMS(1, 2), 0);
    FAILS(LFUSE_ERR_OVERLAP, lfuse_tensor_write(repeated, NULL, x));
    FAILS(LFUSE_ERR_OVERLAP, lfuse_tensor_fill(repeated, NULL, 1));
    FAILS(LFUSE_ERR_OVERLAP, lfuse_tensor_copy(repeated, full, NULL));
    FAILS(LFUSE_ERR_OVERLAP, lfuse_tensor_fill(sliding, NULL, 1));
    OK(lfuse_tensor_fill(t, NULL, 3));
    OK(lfuse_tensor_copy(full, repeated, NULL));
    OK(lfuse_tensor_read(full, NULL, x));
    for (int i = 0; i < 16; i++) ck_assert_float_eq(x[i], 3);
    OK(lfuse_tensor_read(sliding, NULL, x));
}

TEST(test_strided_in_a_capture)
{
    static float x[2];
    lfuse__stub_native native = {.capturing = true};
    lfuse_stream *s;
    begin();
    lfuse_tensor *t = make(F32(4));
    lfuse_tensor *even = new_view(t, SHAPE(2), LFUSE_DIMS(2), 0);
    OK(lfuse_stream_wrap(dev, &native, &s));
    FAILS(LFUSE_ERR_STATE, lfuse_tensor_write(even, s, x));
    FAILS(LFUSE_ERR_STATE, lfuse_tensor_read(even, s, x));
    FAILS(LFUSE_ERR_STATE, lfuse_tensor_fill(even, s, 1));
    OK(lfuse_tensor_fill(t, s, 1));
    native.capturing = false;
    lfuse__stub_native_clear(&native);
    drop(s);
}

static lfuse_status moving_strided(lfuse_device *device)
{
    static float given[100], got[100], want[100];
    lfuse_tensor *a = NULL, *view = NULL;
    lfuse_stream *s = NULL;
    lfuse_status status;
    for (int i = 0; i < 100; i++) given[i] = (float)i, want[i % 10 * 10 + i / 10] = (float)i;
    memset(got, 0, sizeof got);
    if ((status = lfuse_stream_create(device, &s))) goto out;
    if ((status = lfuse_tensor_create(device, F32(10, 10), &a))) goto out;
    if ((status = lfuse_tensor_view(a, SHAPE(10, 10), LFUSE_DIMS(1, 10), 0, &view))) goto out;
    if ((status = lfuse_tensor_fill(view, s, -1))) goto out;
    if ((status = lfuse_tensor_write(view, s, given))) goto out;
    if ((status = lfuse_tensor_read(a, s, got))) goto out;
    if ((status = lfuse_stream_synchronize(s))) goto out;
    ck_assert(!memcmp(want, got, sizeof got));
    if ((status = lfuse_tensor_read(view, NULL, got))) goto out;
    ck_assert(!memcmp(given, got, sizeof got));
out:
    drop(view);
    drop(a);
    drop(s);
    return status;
}

TEST_LOOP(test_faults_of_moving_strided, 0, 2)
{
    test_faults(moving_strided, LFUSE_ERR_DEVICE_MEMORY, _i ? lazy : NULL);
}

TEST_SUITE("strided", CK_NOFORK)
