/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreach calls on the stub beside right results: what bad ones say, that they launch nothing, when arrays of numbers
 * are sent, and that recordings, captures and lists that are gone keep what they need and no more.
 */
#include "tests/run/rig.h"

enum { MEMBERS = 4, LENGTH = 10, MANY = 500 };

static lfuse_list *lists(lfuse_type type, int count, const int64_t *lengths)
{
    lfuse_tensor *t[MANY] = {NULL};

    for (int i = 0; i < count; i++) {
        const int64_t length = lengths ? lengths[i] : LENGTH;
        t[i] = new_tensor(dev, type, 1, &length);
        OK(lfuse_tensor_fill(t[i], NULL, 1));
    }
    lfuse_list *l = new_list(dev, type, count, t);
    for (int i = 0; i < count; i++) drop(t[i]);
    return l;
}

/* One tensor of ones, which is told where it is asked for, as a list of members of one element. */
static lfuse_list *ones(int64_t count, lfuse_tensor **tensor)
{
    lfuse_tensor *all = new_tensor(dev, LFUSE_F32, 1, &count), *t[MANY];

    OK(lfuse_tensor_fill(all, NULL, 1));
    for (int64_t i = 0; i < count; i++) t[i] = new_view(all, SHAPE(1), NULL, i);
    if (tensor) *tensor = all;
    return new_list(dev, LFUSE_F32, count, t);
}

static void expect_products(const lfuse_tensor *t, const double *numbers, int count)
{
    const float *v = values(t);

    for (int i = 0; i < count; i++) ck_assert_float_eq(v[i], (float)numbers[i]);
}

TEST_CASE("foreach calls", .setup = open_stub, .teardown = close_stub)

/* All bits of the elements are 0, whatever they were. */
TEST(zeros)
{
    static const float nothing[MEMBERS];
    lfuse_tensor *all;
    lfuse_list *list = ones(MEMBERS, &all);

    OK(lfuse_foreach_fill(stream, list, lfuse_operand_scalar(-1)));
    OK(lfuse_foreach_zero(stream, list));
    ck_assert_mem_eq(values(all), nothing, sizeof nothing);
}

/* ---- mistakes ---- */

/* Nothing is launched. */
#define REFUSED(status, call, words) LAUNCHES(0, SAYS(LFUSE_ERR_##status, call, words))

static lfuse_operand number(double x) { return lfuse_operand_scalar(x); }
static lfuse_operand of(const lfuse_list *l) { return lfuse_operand_list(l); }

TEST(operands_that_do_not_fit)
{
    static const double some[3] = {1, 2, 3}, four[4] = {1, 2, 3, 4};
    lfuse_list *a = lists(LFUSE_F32, MEMBERS, NULL), *b = lists(LFUSE_F32, MEMBERS, NULL);
    lfuse_list *h = lists(LFUSE_F16, MEMBERS, NULL), *w = lists(LFUSE_I32, MEMBERS, NULL);
    lfuse_list *few = lists(LFUSE_F32, 3, NULL), *odd = lists(LFUSE_F32, MEMBERS, LFUSE_DIMS(10, 10, 9, 10));
    lfuse_tensor *vector = ramp(SHAPE(3), 1, 1), *matrix = ramp(SHAPE(4, 1), 1, 1);
    const lfuse_operand none = {.kind = (lfuse_operand_kind)9};

    REFUSED(INVALID, lfuse_foreach_abs(NULL, a, b), "lfuse_foreach_abs: stream is NULL");
    REFUSED(INVALID, lfuse_foreach_abs(stream, NULL, b), "lfuse_foreach_abs: to is NULL");
    REFUSED(INVALID, lfuse_foreach_abs(stream, a, NULL), "lfuse_foreach_abs: list a is NULL");
    REFUSED(INVALID, lfuse_foreach_mul(stream, a, b, lfuse_operand_tensor(NULL)),
            "lfuse_foreach_mul: tensor b is NULL");
    REFUSED(INVALID, lfuse_foreach_mul(stream, a, b, lfuse_operand_scalars(NULL, 4)), "the numbers of b are NULL");
    REFUSED(INVALID, lfuse_foreach_add(stream, a, b, none, 1),
            "lfuse_foreach_add: b is of no known kind, not a number");
    REFUSED(INVALID, lfuse_foreach_fill(stream, a, of(b)), "lfuse_foreach_fill: value is a list, not a number");
    REFUSED(INVALID, lfuse_foreach_pow(stream, a, number(2), number(3)), "neither base nor exponent is a list");
    REFUSED(TYPE, lfuse_foreach_add(stream, a, b, of(h), 1), "lfuse_foreach_add: list b is of type f16, a of type f32");
    REFUSED(TYPE, lfuse_foreach_sqrt(stream, w, w), "lfuse_foreach_sqrt: lfuse_sqrt: does not take type i32");
    REFUSED(TYPE, lfuse_foreach_lerp(stream, w, w, w, number(1)), "lfuse_lerp: does not take type i32");
    REFUSED(TYPE, lfuse_foreach_where(stream, a, b, number(1), number(0)), "lfuse_where: the condition is of type f32");
    REFUSED(SHAPE, lfuse_foreach_neg(stream, a, few), "lfuse_foreach_neg: a has 3 members, to has 4");
    REFUSED(SHAPE, lfuse_foreach_neg(stream, a, odd), "member 2 of list \"to\" has 10 elements, not 9 as of a");
    REFUSED(SHAPE, lfuse_foreach_div(stream, a, a, of(odd)), "member 2 of list \"b\" has 9 elements, not 10 as of a");
    REFUSED(SHAPE, lfuse_foreach_div(stream, a, b, lfuse_operand_scalars(some, 3)), "b has 3 numbers, to has 4");
    REFUSED(SHAPE, lfuse_foreach_div(stream, a, b, lfuse_operand_tensor(vector)), "b has 3 elements, to has 4");
    REFUSED(SHAPE, lfuse_foreach_fill(stream, few, lfuse_operand_scalars(some, 2)), "value has 2 numbers");
    /* What the plan finds, behind the place for the numbers. */
    REFUSED(SHAPE, lfuse_foreach_mul(stream, a, odd, lfuse_operand_scalars(four, 4)), "member 2 of list \"to\" has 10");
    REFUSED(RANK, lfuse_foreach_lerp(stream, a, a, b, lfuse_operand_tensor(matrix)), "tensor weight has rank 2");
    REFUSED(SHAPE, lfuse_foreach_mul(stream, few, odd, lfuse_operand_scalars(some, 3)),
            "lfuse_foreach_mul: a has 4 members, to has 3");
}

TEST(memory_that_overlaps)
{
    lfuse_tensor *t = ramp(SHAPE(8), 0, 1);

    lfuse_tensor *low = new_view(t, SHAPE(5), NULL, 0);
    lfuse_tensor *high = new_view(t, SHAPE(5), NULL, 3);
    lfuse_tensor *number_in = new_view(t, 0, NULL, NULL, 4);
    lfuse_tensor *vector = new_view(t, SHAPE(1), NULL, 2);
    lfuse_list *a = new_list(dev, LFUSE_F32, 1, &low);
    lfuse_list *b = new_list(dev, LFUSE_F32, 1, &high);
    REFUSED(OVERLAP, lfuse_foreach_neg(stream, a, b), "lfuse_foreach_neg: \"to\" member 0, which is written, overlaps");
    REFUSED(OVERLAP, lfuse_foreach_mul(stream, a, a, of(b)), "overlaps \"b\" member 0");
    REFUSED(OVERLAP, lfuse_foreach_mul(stream, a, a, lfuse_operand_tensor(number_in)), "\"b\"");
    REFUSED(OVERLAP, lfuse_foreach_mul(stream, a, a, lfuse_operand_tensor(vector)), "\"b\" member 0");
    OK(lfuse_foreach_mul(stream, b, b, lfuse_operand_tensor(vector)));
    ck_assert_float_eq(values(t)[7], 14);
}

TEST(other_devices)
{
    lfuse_list *a = lists(LFUSE_F32, 2, NULL);
    lfuse_device *mine = dev, *other;

    other = new_device("stub:0");
    dev = other;
    lfuse_list *b = lists(LFUSE_F32, 2, NULL);
    dev = mine;
    REFUSED(CONTEXT, lfuse_foreach_neg(stream, a, b), "lfuse_foreach_neg: \"a\" lies on device stub:0");
    REFUSED(CONTEXT, lfuse_foreach_neg(stream, b, a), "lfuse_foreach_neg: \"to\" lies on device stub:0");
}

/* ---- arrays of numbers ---- */

TEST(numbers_are_sent_when_they_change)
{
    double x[MANY], y[MANY];
    lfuse_tensor *t;
    lfuse_list *l = ones(MANY, &t), *k = ones(MANY, NULL);

    for (int i = 0; i < MANY; i++) x[i] = i % 7 - 3, y[i] = i % 5 + 0.5;
    OK(lfuse_foreach_mul(stream, l, k, lfuse_operand_scalars(x, MANY)));
    expect_products(t, x, MANY);
    LAUNCHES(1, OK(lfuse_foreach_mul(stream, l, k, lfuse_operand_scalars(x, MANY))));
    /* Another function has a place of its own, and so has each operand. */
    OK(lfuse_foreach_clamp(stream, k, l, lfuse_operand_scalars(x, MANY), lfuse_operand_scalars(y, MANY)));
    OK(lfuse_foreach_fill(stream, k, number(1)));
    LAUNCHES(1, OK(lfuse_foreach_mul(stream, l, k, lfuse_operand_scalars(x, MANY))));
    expect_products(t, x, MANY);
    x[3] = 8, x[4] = 9, x[480] = -1;
    LAUNCHES(3, OK(lfuse_foreach_mul(stream, l, k, lfuse_operand_scalars(x, MANY)))); /* two stretches */
    expect_products(t, x, MANY);
    /* A caller's array may change once the call is back. */
    memset(x, 0, sizeof x);
    OK(lfuse_foreach_mul(stream, l, l, lfuse_operand_scalars(y, MANY)));
    ck_assert_float_eq(values(t)[3], 8 * 3.5f);
}

/* A write that fails leaves nothing half known. */
TEST(numbers_after_a_failure)
{
    double x[MANY];
    lfuse_tensor *t;
    lfuse_list *l = ones(MANY, &t), *k = ones(MANY, NULL);

    for (int i = 0; i < MANY; i++) x[i] = i;
    OK(lfuse_foreach_mul(stream, l, k, lfuse_operand_scalars(x, MANY)));
    for (int i = 0; i < MANY; i++) x[i] = -i;
    lfuse__stub_fail(LFUSE__STUB_launch, 2, false, LFUSE_ERR_DEVICE);
    FAILS(LFUSE_ERR_DEVICE, lfuse_foreach_mul(stream, l, k, lfuse_operand_scalars(x, MANY)));
    ck_assert(lfuse__stub_fired());
    OK(lfuse_foreach_mul(stream, l, k, lfuse_operand_scalars(x, MANY)));
    expect_products(t, x, MANY);
}

/* More uses than there are places, and lists that go. */
TEST(numbers_of_many_lists)
{
    enum { LISTS = 100 };
    lfuse_list *to[LISTS], *k = ones(3, NULL);
    lfuse_tensor *t[LISTS];
    const double x[3] = {2, 3, 4};

    for (int i = 0; i < LISTS; i++) {
        to[i] = ones(3, &t[i]);
        OK(lfuse_foreach_mul(stream, to[i], k, lfuse_operand_scalars(x, 3)));
    }
    for (int i = 0; i < LISTS; i++) {
        expect_products(t[i], x, 3);
        if (i % 3) {
            OK(lfuse_foreach_mul(stream, to[i], k, lfuse_operand_scalars(x, 3)));
        }
        expect_products(t[i], x, 3);
    }
}

TEST(numbers_on_two_streams)
{
    const double x[3] = {2, 3, 4}, y[3] = {5, 6, 7};
    lfuse_tensor *t;
    lfuse_list *l = ones(3, &t), *k = ones(3, NULL);

    lfuse_stream *other = new_stream(dev);
    OK(lfuse_foreach_mul(stream, l, k, lfuse_operand_scalars(x, 3)));
    expect_products(t, x, 3);
    OK(lfuse_foreach_mul(other, l, k, lfuse_operand_scalars(y, 3)));
    OK(lfuse_stream_synchronize(other));
    expect_products(t, y, 3);
    OK(lfuse_foreach_mul(stream, l, k, lfuse_operand_scalars(x, 3)));
    expect_products(t, x, 3);
    drop(other);
    OK(lfuse_foreach_mul(stream, l, k, lfuse_operand_scalars(y, 3)));
    expect_products(t, y, 3);
}

/* ---- recordings and captures ---- */

TEST(recorded)
{
    double x[3] = {2, 3, 4};
    lfuse_tensor *t;
    lfuse_list *l = ones(3, &t), *k = ones(3, NULL);

    OK(lfuse_record_begin(stream));
    OK(lfuse_foreach_mul(stream, l, k, lfuse_operand_scalars(x, 3)));
    OK(lfuse_foreach_add(stream, l, l, lfuse_operand_list(k), 2));
    lfuse_recording *r = new_recording(stream);
    ck_assert_float_eq(values(t)[0], 1);
    x[0] = 100; /* the recording has its own */
    OK(lfuse_foreach_mul(stream, l, k, lfuse_operand_scalars(x, 3)));
    ck_assert_float_eq(values(t)[0], 100);
    OK(lfuse_recording_replay(r, stream, NULL, 0));
    ck_assert_float_eq(values(t)[0], 2 + 2);
    OK(lfuse_recording_replay(r, stream, BINDINGS(lfuse_bind_scalar("alpha", 3))));
    ck_assert_float_eq(values(t)[2], 4 + 3);
    drop(r);
    OK(lfuse_record_begin(stream));
    FAILS(LFUSE_ERR_SHAPE, lfuse_foreach_mul(stream, l, k, lfuse_operand_scalars(x, 2)));
    FAILS(LFUSE_ERR_SHAPE, lfuse_record_end(stream, &r));
}

/* A caller's capture holds the numbers of the call, and later calls send theirs whatever is replayed between. */
TEST(captured)
{
    lfuse__stub_native native = {.capturing = false};
    const double x[3] = {2, 3, 4}, y[3] = {5, 6, 7};
    lfuse_tensor *t, *u;
    lfuse_list *l = ones(3, &t), *k = ones(3, &u);
    lfuse_stream *theirs;

    OK(lfuse_stream_wrap(dev, &native, &theirs));
    native.capturing = true;
    FAILS(LFUSE_ERR_STATE, lfuse_foreach_mul(theirs, l, k, lfuse_operand_scalars(x, 3)));
    ck_says("no memory for an array of numbers");
    native.capturing = false;
    OK(lfuse_foreach_mul(theirs, l, k, lfuse_operand_scalars(x, 3)));
    native.capturing = true;
    OK(lfuse_foreach_mul(theirs, l, k, lfuse_operand_scalars(x, 3)));
    native.capturing = false;
    OK(lfuse_foreach_mul(theirs, l, k, lfuse_operand_scalars(y, 3)));
    expect_products(t, y, 3);
    for (int i = 0; i < 2; i++) {
        lfuse__stub_native_run(&native);
        expect_products(t, x, 3);
        OK(lfuse_foreach_mul(theirs, l, k, lfuse_operand_scalars(y, 3)));
        expect_products(t, y, 3);
    }
    lfuse__stub_native_clear(&native);
    lfuse_stream_destroy(theirs);
}

/* One plan for a kind of call, whatever its numbers and lists are. */
TEST(one_plan_for_all)
{
    lfuse_tensor *t, *v;
    lfuse_list *l = ones(3, &t), *k = ones(3, NULL), *more = ones(MANY, &v), *most = ones(MANY, NULL);

    OK(lfuse_foreach_add(stream, l, k, number(2), 3));
    OK(lfuse_foreach_add(stream, l, l, number(2), 3)); /* in place */
    uint64_t before = programs();
    OK(lfuse_foreach_add(stream, l, k, number(4), 0.5));
    ck_assert_float_eq(values(t)[2], 3);
    OK(lfuse_foreach_add(stream, more, most, number(1), 4));
    OK(lfuse_foreach_add(stream, more, more, number(0.5), 2));
    ck_assert_float_eq(values(v)[MANY - 1], 6);
    ck_assert_uint_eq(programs(), before);
    OK(lfuse_foreach_add(stream, more, more, number(4), 1)); /* without a factor */
    ck_assert_float_eq(values(v)[MANY - 1], 10);
    ck_assert_uint_eq(programs(), before + 1);
}

TEST_SUITE("run", CK_NOFORK)
