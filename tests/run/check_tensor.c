/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and lists on the stub: what is refused and with which status, and that what is moved arrives. */
#include "tests/run/tensors.h"

/* ---- making ---- */

typedef struct refused {
    lfuse_type type;
    int rank;
    int64_t shape[LFUSE_MAX_RANK + 1];
    lfuse_status status;
} refused;

static const refused refused_shapes[] = {
    {LFUSE_TYPE_NONE, 1, {4}, LFUSE_ERR_TYPE},
    {(lfuse_type)77, 1, {4}, LFUSE_ERR_TYPE},
    {LFUSE_F32, -1, {0}, LFUSE_ERR_RANK},
    {LFUSE_F32, LFUSE_MAX_RANK + 1, {1, 1, 1, 1, 1, 1, 1, 1, 1}, LFUSE_ERR_RANK},
    {LFUSE_F32, 2, {3, -1}, LFUSE_ERR_SHAPE},
    {LFUSE_F32, 2, {INT64_MIN, 1}, LFUSE_ERR_SHAPE},
    {LFUSE_F32, 2, {(int64_t)1 << 32, (int64_t)1 << 31}, LFUSE_ERR_OVERFLOW},
    {LFUSE_F32, 3, {0, (int64_t)1 << 32, (int64_t)1 << 32}, LFUSE_ERR_OVERFLOW},
    {LFUSE_F64, 1, {(int64_t)1 << 60}, LFUSE_ERR_OVERFLOW},
    {LFUSE_F32, 1, {(int64_t)1 << 50}, LFUSE_ERR_DEVICE_MEMORY},
};

TEST_CASE("making", .teardown = end)

TEST_LOOP(test_create_refused, 0, sizeof refused_shapes / sizeof refused_shapes[0])
{
    const refused *r = &refused_shapes[_i];
    lfuse_tensor *t = (lfuse_tensor *)1;
    begin();
    FAILS(r->status, lfuse_tensor_create(dev, r->type, r->rank, r->shape, &t));
    ck_assert_ptr_eq(t, (lfuse_tensor *)1);
}

TEST(test_null_arguments)
{
    lfuse_tensor *t;
    lfuse_list *l;
    float x = 0;
    begin();
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_create(NULL, LFUSE_F32, 0, NULL, &t));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_create(dev, LFUSE_F32, 0, NULL, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_create(dev, LFUSE_F32, 1, NULL, &t));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, 0, 0, LFUSE_F32, 0, NULL, NULL, 0, &t));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_wrap(dev, (lfuse_memory_kind)9, (uintptr_t)&x, 4, LFUSE_F32, 0, NULL, NULL, 0,
                                               &t));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_view(NULL, 0, NULL, NULL, 0, &t));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_write(NULL, NULL, &x));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_read(NULL, NULL, &x));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_fill(NULL, NULL, 1));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_copy(NULL, NULL, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_create(NULL, LFUSE_F32, 0, NULL, &l));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_create(dev, LFUSE_F32, 1, NULL, &l));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_create(dev, LFUSE_F32, 1, &(lfuse_tensor *){NULL}, &l));
    lfuse_tensor_destroy(NULL);
    lfuse_list_destroy(NULL);
    t = make(LFUSE_F32, 0, NULL);
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_write(t, NULL, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_view(t, 0, NULL, NULL, 0, NULL));
}

TEST(test_attributes)
{
    begin();
    lfuse_tensor *t = make(F16(2, 3, 5));
    ck_assert_int_eq(lfuse_tensor_type(t), LFUSE_F16);
    ck_assert_int_eq(lfuse_tensor_rank(t), 3);
    ck_assert_int_eq(lfuse_tensor_elements(t), 30);
    ck_assert_ptr_eq(lfuse_tensor_device(t), dev);
    ck_assert(!memcmp(lfuse_tensor_shape(t), LFUSE_DIMS(2, 3, 5), 24));
    ck_assert(!memcmp(lfuse_tensor_strides(t), LFUSE_DIMS(15, 5, 1), 24));
}

typedef struct view_case {
    int rank;
    int64_t shape[3], strides[3], offset;
    lfuse_status status;
} view_case;

/* Of a parent of 12 elements. */
static const view_case view_cases[] = {
    {1, {12}, {1}, 0, LFUSE_OK},
    {1, {12}, {-1}, 11, LFUSE_OK},
    {2, {4, 3}, {1, 4}, 0, LFUSE_OK},
    {2, {1000, 3}, {0, 1}, 9, LFUSE_OK},
    {1, {0}, {1}, 500, LFUSE_OK},
    {0, {0}, {0}, 11, LFUSE_OK},
    {1, {12}, {1}, 1, LFUSE_ERR_SHAPE},
    {1, {2}, {1}, -1, LFUSE_ERR_SHAPE},
    {1, {12}, {-1}, 10, LFUSE_ERR_SHAPE},
    {2, {4, 3}, {1, 5}, 0, LFUSE_ERR_SHAPE},
    {0, {0}, {0}, 12, LFUSE_ERR_SHAPE},
    {1, {3}, {INT64_MAX}, 0, LFUSE_ERR_OVERFLOW},
    {1, {2}, {INT64_MAX}, 0, LFUSE_ERR_OVERFLOW},
    {1, {2}, {1}, INT64_MAX, LFUSE_ERR_OVERFLOW},
    {1, {2}, {1}, INT64_MIN, LFUSE_ERR_OVERFLOW},
    {1, {2}, {1}, INT64_MIN / 4, LFUSE_ERR_SHAPE},
};

TEST_LOOP(test_view, 0, sizeof view_cases / sizeof view_cases[0])
{
    const view_case *c = &view_cases[_i];
    lfuse_tensor *view;
    begin();
    lfuse_tensor *parent = make(F32(12));
    lfuse_status status = lfuse_tensor_view(parent, c->rank, c->shape, c->strides, c->offset, &view);
    ck_assert_msg(status == c->status, "%s: %s", lfuse_status_name(status), lfuse_last_error());
    drop(parent);
    if (status == LFUSE_OK) drop(view); /* after its parent: it holds the memory */
}

static const lfuse_type every_type[] = {LFUSE_F32, LFUSE_F16, LFUSE_BF16, LFUSE_F64, LFUSE_I8,
                                        LFUSE_U8,  LFUSE_I32, LFUSE_I64,  LFUSE_BOOL, LFUSE_E4M3, LFUSE_E5M2};

/* Of every type, views of 12 elements and of wrapped memory: all that fit, and none that reaches outside. */
TEST_LOOP(test_bounds, 0, sizeof every_type / sizeof *every_type)
{
    const lfuse_type type = every_type[_i];
    const int64_t size = (int64_t)lfuse_type_size(type);
    static char memory[12 * 8] __attribute__((aligned(8)));
    lfuse_tensor *view;
    begin();
    lfuse_tensor *parent = make(TYPED(type, 12));
    for (int64_t step = -2; step <= 2; step++)
        for (int64_t offset = -2; offset <= 14; offset++)
            for (int64_t count = 1; count <= 14; count++) {
                const int64_t last = offset + (count - 1) * step;
                const bool inside = offset >= 0 && offset < 12 && last >= 0 && last < 12;
                const lfuse_status status = lfuse_tensor_view(parent, SHAPE(count), LFUSE_DIMS(step), offset, &view);
                ck_assert_msg(status == (inside ? LFUSE_OK : LFUSE_ERR_SHAPE), "%d from %d by %d: %s", (int)count,
                              (int)offset, (int)step, lfuse_status_name(status));
                if (!status) drop(view);
            }
    for (int64_t bytes = 12 * size - 1; bytes <= 12 * size; bytes++) {
        const lfuse_status status = lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)memory, (uint64_t)bytes,
                                                      TYPED(type, 12), NULL, 0, &view);
        ck_assert_int_eq(status, bytes < 12 * size ? LFUSE_ERR_SHAPE : LFUSE_OK);
        if (!status) drop(view);
    }
}

TEST(test_wrap)
{
    float memory[6] = {1, 2, 3, 4, 5, 6}, got[4];
    const uint64_t at = (uintptr_t)memory;
    lfuse_tensor *t;
    begin();
    OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, at, sizeof memory, F32(4), NULL, 2, &t));
    OK(lfuse_tensor_read(t, NULL, got));
    ck_assert(!memcmp(got, memory + 2, sizeof got));
    drop(t);
    OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_POINTER, at, 0, F32(4), NULL, 1, &t));
    drop(t);
    OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, 0, 0, F32(3, 0), NULL, 0, &t));
    OK(lfuse_tensor_write(t, NULL, NULL));
    drop(t);
    FAILS(LFUSE_ERR_SHAPE, lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, at, sizeof memory, F32(7), NULL, 0, &t));
    /* Of unknown size: what it has is not known, where addresses end is. */
    FAILS(LFUSE_ERR_OVERFLOW, lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, UINT64_MAX - 63, 0, U8(65), NULL, 0, &t));
    FAILS(LFUSE_ERR_OVERFLOW, lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uint64_t)3 << 62, 0, U8(2),
                                                LFUSE_DIMS((int64_t)1 << 62), 0, &t));
    FAILS(LFUSE_ERR_INVALID, lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, at + 2, 20, F32(2), NULL, 0, &t));
    lfuse__stub.foreign_low = at;
    lfuse__stub.foreign_high = at + sizeof memory;
    FAILS(LFUSE_ERR_CONTEXT, lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, at, sizeof memory, F32(4), NULL, 0, &t));
}

/* ---- moving ---- */

TEST_CASE("moving", .teardown = end)

TEST(test_write_and_read)
{
    float given[24], got[24];
    begin();
    for (int i = 0; i < 24; i++) given[i] = (float)i - 7.5f;
    lfuse_tensor *t = make(F32(4, 6));
    OK(lfuse_tensor_write(t, NULL, given));
    lfuse_stream *s = new_stream(dev);
    OK(lfuse_tensor_read(t, s, got));
    OK(lfuse_stream_synchronize(s));
    ck_assert(!memcmp(given, got, sizeof given));
    lfuse_tensor *part = new_view(t, SHAPE(2, 6), NULL, 12);
    OK(lfuse_tensor_read(part, s, got));
    OK(lfuse_stream_synchronize(s));
    ck_assert(!memcmp(given + 12, got, 48));
}

static const struct {
    lfuse_type type;
    double number;
    uint64_t bits;
} fills[] = {
    {LFUSE_F32, 1.0 / 3, 0x3eaaaaab},
    {LFUSE_F32, -0.0, 0x80000000},
    {LFUSE_F32, 1e300, 0x7f800000},
    {LFUSE_F64, 0.1, 0x3fb999999999999a},
    {LFUSE_F16, 1.0, 0x3c00},
    {LFUSE_F16, 65519.99, 0x7bff},
    {LFUSE_F16, 65520.0, 0x7c00},
    {LFUSE_F16, 0x1p-25, 0x0000},
    {LFUSE_F16, 0x1.8p-25, 0x0001},
    {LFUSE_F16, 1 + 0x1p-11 + 0x1p-40, 0x3c01}, /* twice rounded it would be 0x3c00 */
    {LFUSE_BF16, 1 + 0x1p-8 + 0x1p-40, 0x3f81},
    {LFUSE_BF16, 1 + 0x1p-8, 0x3f80},
    {LFUSE_BF16, -INFINITY, 0xff80},
    {LFUSE_E4M3, 1 + 0x1p-4 + 0x1p-40, 0x39}, /* twice rounded it would be 0x38 */
    {LFUSE_E4M3, 464, 0x7e},
    {LFUSE_E4M3, -465, 0xff},
    {LFUSE_E5M2, 61439, 0x7b},
    {LFUSE_E5M2, 61440, 0x7c},
    {LFUSE_I32, -2.7, 0xfffffffe},
    {LFUSE_I32, 1e30, 0x7fffffff},
    {LFUSE_I32, -1e30, 0x80000000},
    {LFUSE_I32, NAN, 0},
    {LFUSE_I64, -1e30, 0x8000000000000000},
    {LFUSE_I64, 0x1p53 + 2, 0x20000000000002},
    {LFUSE_I8, -3.9, 0xfd},
    {LFUSE_I8, -1e9, 0x80},
    {LFUSE_I8, 128, 0x7f},
    {LFUSE_U8, 1e9, 0xff},
    {LFUSE_U8, -1, 0},
    {LFUSE_BOOL, 0.25, 1},
    {LFUSE_BOOL, 0, 0},
};

TEST_LOOP(test_fill, 0, sizeof fills / sizeof fills[0])
{
    const size_t size = lfuse_type_size(fills[_i].type);
    unsigned char got[64];
    begin();
    lfuse_tensor *t = make(fills[_i].type, SHAPE(7));
    OK(lfuse_tensor_fill(t, NULL, fills[_i].number));
    OK(lfuse_tensor_read(t, NULL, got));
    for (size_t i = 0; i < 7; i++) {
        uint64_t word = 0;
        memcpy(&word, got + i * size, size);
        ck_assert_uint_eq(word, fills[_i].bits);
    }
}

TEST(test_copy)
{
    float given[12], got[12] = {0};
    begin();
    for (int i = 0; i < 12; i++) given[i] = (float)(i * i);
    lfuse_tensor *a = make(F32(3, 4)), *b = make(F32(3, 4));
    lfuse_tensor *flat = make(F32(12)), *half = make(F16(3, 4));
    OK(lfuse_tensor_write(a, NULL, given));
    OK(lfuse_tensor_copy(b, a, NULL));
    OK(lfuse_tensor_copy(b, b, NULL));
    OK(lfuse_tensor_read(b, NULL, got));
    ck_assert(!memcmp(given, got, sizeof given));
    FAILS(LFUSE_ERR_RANK, lfuse_tensor_copy(flat, a, NULL));
    FAILS(LFUSE_ERR_TYPE, lfuse_tensor_copy(half, a, NULL));
    lfuse_tensor *low = new_view(flat, SHAPE(8), NULL, 0);
    lfuse_tensor *high = new_view(flat, SHAPE(8), NULL, 4);
    FAILS(LFUSE_ERR_OVERLAP, lfuse_tensor_copy(low, high, NULL));
    FAILS(LFUSE_ERR_SHAPE, lfuse_tensor_copy(low, flat, NULL));
}

static void across(void)
{
    lfuse_device *other;
    float given[10], got[10] = {0};
    OK(lfuse_device_open("stub:1", &other));
    for (int i = 0; i < 10; i++) given[i] = 0.5f * (float)i;
    lfuse_tensor *here = make(F32(10));
    lfuse_tensor *there = new_tensor(other, F32(10));
    OK(lfuse_tensor_write(here, NULL, given));
    OK(lfuse_tensor_copy(there, here, NULL));
    OK(lfuse_tensor_read(there, NULL, got));
    ck_assert(!memcmp(given, got, sizeof given));
    lfuse_device_close(other);
}

TEST_LOOP(test_copy_across, 0, 2)
{
    begin();
    lfuse__stub.peer = _i != 0;
    across();
}

TEST(test_wrong_device)
{
    float x[4] = {0};
    begin();
    lfuse_device *other = new_device("stub:1");
    lfuse_stream *s = new_stream(other);
    lfuse_tensor *t = make(F32(4));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_tensor_write(t, s, x));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_tensor_read(t, s, x));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_tensor_fill(t, s, 1));
}

TEST(test_closed_device)
{
    lfuse_tensor *u;
    lfuse_list *m;
    float x[4] = {0};
    test_stub_begin();
    OK(lfuse_device_open("stub:0", &dev));
    lfuse_stream *s = new_stream(dev);
    lfuse_tensor *t = make(F32(4));
    lfuse_list *l = new_list(dev, LFUSE_F32, 1, &t);
    lfuse_device_close(dev);
    FAILS(LFUSE_ERR_CLOSED, lfuse_tensor_write(t, s, x));
    FAILS(LFUSE_ERR_CLOSED, lfuse_tensor_write(t, NULL, x));
    FAILS(LFUSE_ERR_CLOSED, lfuse_tensor_view(t, SHAPE(2), NULL, 0, &u));
    FAILS(LFUSE_ERR_CLOSED, lfuse_tensor_create(dev, LFUSE_F32, 0, NULL, &u));
    FAILS(LFUSE_ERR_CLOSED, lfuse_list_create(dev, LFUSE_F32, 1, &t, &m));
    FAILS(LFUSE_ERR_CLOSED, lfuse_list_replace(l, 0, 1, &t));
    drop_all();
    dev = NULL;
    test_stub_end();
}

/* ---- lists ---- */

TEST_CASE("lists", .teardown = end)

TEST(test_list)
{
    lfuse_tensor *three[3];
    begin();
    lfuse_device *other = new_device("stub:1");
    lfuse_tensor *foreign = new_tensor(other, F32(4));
    lfuse_tensor *a = make(F32(2, 2)), *b = make(F32(0));
    lfuse_tensor *c = make(F32(4));
    lfuse_tensor *half = make(F16(4));
    lfuse_tensor *column = new_view(a, SHAPE(2), LFUSE_DIMS(2), 0);
    memcpy(three, (lfuse_tensor *[]){a, b, a}, sizeof three);
    lfuse_list *l = new_list(dev, LFUSE_F32, 3, three);
    ck_assert_int_eq(lfuse_list_count(l), 3);
    OK(lfuse_list_replace(l, 2, 1, &c));
    OK(lfuse_list_replace(l, 3, 0, NULL));
    FAILS(LFUSE_ERR_SHAPE, lfuse_list_replace(l, 0, 1, &b));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_replace(l, 3, 1, &c));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_replace(l, -1, 1, &c));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_replace(l, 0, -1, &c));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_replace(l, 1, INT64_MAX, &c));
    FAILS(LFUSE_ERR_TYPE, lfuse_list_replace(l, 0, 1, &half));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_list_replace(l, 0, 1, &foreign));
    drop(l);
    FAILS(LFUSE_ERR_TYPE, lfuse_list_create(dev, LFUSE_F32, 1, &half, &l));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_list_create(dev, LFUSE_F32, 1, &foreign, &l));
    FAILS(LFUSE_ERR_UNSUPPORTED, lfuse_list_create(dev, LFUSE_F32, 1, &column, &l));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_create(dev, LFUSE_F32, -1, three, &l));
    FAILS(LFUSE_ERR_OVERFLOW, lfuse_list_create(dev, LFUSE_F32, (int64_t)1 << 32, three, &l));
    FAILS(LFUSE_ERR_TYPE, lfuse_list_create(dev, LFUSE_TYPE_NONE, 0, NULL, &l));
    l = new_list(dev, LFUSE_F32, 0, NULL);
    drop(b);
    drop(c);
    drop(half);
}

/* ---- faults ---- */

static lfuse_status moving(lfuse_device *device)
{
    lfuse_tensor *a = NULL, *b = NULL;
    lfuse_stream *s = NULL;
    static float given[100], got[100]; /* static: a failing call may leave work behind that still uses them */
    lfuse_status status;
    memset(got, 0, sizeof got);
    for (int i = 0; i < 100; i++) given[i] = (float)i;
    if ((status = lfuse_stream_create(device, &s))) goto out;
    if ((status = lfuse_tensor_create(device, F32(100), &a))) goto out;
    if ((status = lfuse_tensor_create(device, F32(100), &b))) goto out;
    if ((status = lfuse_tensor_fill(b, s, -1))) goto out;
    if ((status = lfuse_tensor_write(a, s, given))) goto out;
    if ((status = lfuse_tensor_copy(b, a, s))) goto out;
    if ((status = lfuse_tensor_read(b, s, got))) goto out;
    if ((status = lfuse_stream_synchronize(s))) goto out;
    ck_assert(!memcmp(given, got, sizeof given));
    memset(got, 0, sizeof got);
    if ((status = lfuse_tensor_read(a, NULL, got))) goto out;
    ck_assert(!memcmp(given, got, sizeof given));
out:
    drop(a);
    drop(b);
    drop(s);
    return status;
}

TEST_CASE("faults", .teardown = end)

TEST_LOOP(test_faults_of_moving, 0, 4)
{
    const lfuse_status statuses[] = {LFUSE_ERR_DEVICE_MEMORY, LFUSE_ERR_DEVICE};
    test_faults(moving, statuses[_i % 2], _i / 2 ? lazy : NULL);
    test_faults_from_open(moving, statuses[_i % 2], _i / 2 ? lazy : NULL);
}

TEST_SUITE("tensor", CK_NOFORK)
