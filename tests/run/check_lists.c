/* SPDX-License-Identifier: Apache-2.0 */
/* Plans over lists on the stub: launches counted, addresses by slot and by value. */
#include "tests/run/rig.h"

enum { MEMBERS = 5 };
static const int64_t sizes[MEMBERS] = { 3, 0, 2500, 1, 40000 };

static lfuse_list *list_of(float start, float step)
{
    lfuse_tensor *t[MEMBERS];

    for (int i = 0; i < MEMBERS; i++) t[i] = ramp(1, &sizes[i], start + (float)i, step);
    lfuse_list *l = new_list(dev, LFUSE_F32, MEMBERS, t);
    for (int i = 0; i < MEMBERS; i++) drop(t[i]);
    return l;
}

static void check_list_sgd(void)
{
    lfuse_value w = lfuse_list_input(g, "w", LFUSE_F32, LFUSE_RANK_ANY), gr = lfuse_list_input(g, "g", LFUSE_F32,
        LFUSE_RANK_ANY);
    lfuse_tensor *t[MEMBERS], *n[MEMBERS];
    lfuse_list *lg = list_of(1, 0.001f);
    lfuse_graph *h = lfuse_graph_create();

    for (int i = 0; i < MEMBERS; i++) t[i] = ramp(1, &sizes[i], 5, 0.01f), n[i] = tensor(0, NULL);
    lfuse_list *lw = new_list(dev, LFUSE_F32, MEMBERS, t);
    lfuse_list *ln = new_list(dev, LFUSE_F32, MEMBERS, n);
    lfuse_update(w, lfuse_sub(w, lfuse_mul(gr, lfuse_scalar(g, "lr"))));
    lfuse_plan *plan = plan_with(0);
    {
        lfuse_binding b[] = { BIND("w", lw), BIND("g", lg), lfuse_bind_scalar("lr", 0.5) };
        OK(lfuse_plan_run(plan, stream, b, 3));
        LAUNCHES(1, OK(lfuse_plan_run(plan, stream, b, 3)));
    }
    for (int i = 0; i < MEMBERS; i++) {
        const float *v = values(t[i]);
        for (int k = 0; k < sizes[i]; k++) NEAR(v[k], 5 + 0.01 * k - 2 * 0.5 * (1 + i + 0.001 * k));
    }
    w = lfuse_list_input(h, "w", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_output(h, "n", lfuse_sqrt(lfuse_member_sum(lfuse_mul(w, w))));
    lfuse_plan *norms = new_plan(dev, h, NULL);
    RUN(norms, stream, BIND("w", lg), BIND("n", ln));
    for (int i = 0; i < MEMBERS; i++) {
        double sum = 0;
        for (int k = 0; k < sizes[i]; k++) sum += pow(1 + i + 0.001 * k, 2);
        NEAR(values(n[i])[0], sqrt(sum));
    }
    lfuse_tensor *one = ramp(1, &sizes[2], 7, 0);
    OK(lfuse_list_replace(lg, 2, 1, &one));
    RUN(norms, stream, BIND("w", lg), BIND("n", ln));
    NEAR(values(n[2])[0], 7 * sqrt(2500));
    for (int i = 0; i < MEMBERS; i++) drop(t[i]), drop(n[i]);
    drop(one);
    drop(lw), drop(lg), drop(ln);
    drop(plan), drop(norms);
    lfuse_graph_destroy(h);
}

TEST_CASE("lists", .setup = open_stub, .teardown = close_stub)

TEST(lists_in_one_launch)
{
    check_list_sgd();
}

TEST(lists_by_slots)
{
    lfuse__stub.addresses = false;
    lfuse__stub.vector_lanes = false;
    reopen_stub();
    check_list_sgd();
}

/* Each member in a block of its own: more blocks than one launch takes, and members without elements among them. */
TEST_LOOP(list_sums_of_many_blocks, 0, 4)
{
    enum { COUNT = 14, LENGTH = 40 };
    static float in[COUNT][LENGTH], sums[COUNT];
    lfuse_tensor *ti[COUNT], *to[COUNT];
    double all = 0;
    uint64_t before;

    lfuse__stub.addresses = _i & 1;
    lfuse__stub.vector_lanes = _i & 2;
    reopen_device();
    for (int i = 0; i < COUNT; i++) {
        const int64_t length = i % 5 == 3 ? 0 : LENGTH - i;
        for (int k = 0; k < length; k++) in[i][k] = (float)(i + 1);
        sums[i] = -1;
        OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)in[i], sizeof in[i], LFUSE_F32, 1, &length, NULL, 0,
                             &ti[i]));
        OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)&sums[i], sizeof sums[i], LFUSE_F32, 0, NULL, NULL,
                             0, &to[i]));
    }
    lfuse_list *li = new_list(dev, LFUSE_F32, COUNT, ti);
    lfuse_list *lo = new_list(dev, LFUSE_F32, COUNT, to);
    lfuse_value x = lfuse_list_input(g, "x", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_output(g, "y", lfuse_member_sum(x));
    lfuse_output(g, "total", lfuse_list_sum(x));
    lfuse_tensor *total = tensor(0, NULL);
    lfuse_plan *plan = plan_with(0);
    for (int pass = 0; pass < 3; pass++) {
        before = launches();
        RUN(plan, stream, BIND("x", li), BIND("y", lo), BIND("total", total));
        OK(lfuse_stream_synchronize(stream));
    }
    ck_assert_uint_eq(launches() - before, _i & 1 ? 2 : 10); /* with slots three members or so at a time */
    for (int i = 0; i < COUNT; i++) NEAR(sums[i], i % 5 == 3 ? 0 : (i + 1) * (LENGTH - i)), all += sums[i];
    NEAR(values(total)[0], all);
    for (int i = 0; i < COUNT; i++) drop(ti[i]), drop(to[i]);
}

/*
 * Any number of members in two launches: as many as older devices take by value in one, one less and one more, and
 * none. The numbers are whole, so that every sum is exact. Again, since the ticket of the last group has to be 0 then.
 */
TEST_LOOP(any_number_of_members, 0, 12)
{
    static const int64_t counts[] = { 0, 1, 422, 423, 424, 10000 };
    static float x[30000], sums[10000];
    static lfuse_tensor *tx[10000], *ts[10000];
    const int64_t count = counts[_i % 6];
    lfuse_value v = lfuse_list_input(g, "x", LFUSE_F32, LFUSE_RANK_ANY);
    double all = 0;

    lfuse__stub.vector_lanes = _i >= 6;
    reopen_device();
    lfuse_tensor *total = tensor(0, NULL);
    for (int64_t i = 0; i < count; i++) {
        const int64_t length = i % 4;
        for (int64_t k = 0; k < length; k++) x[3 * i + k] = (float)((i * 7 + k) % 5 - 1), all += x[3 * i + k];
        OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)&x[3 * i], 12, LFUSE_F32, 1, &length, NULL, 0,
                             &tx[i]));
        OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)&sums[i], 4, LFUSE_F32, 0, NULL, NULL, 0, &ts[i]));
    }
    lfuse_list *lx = new_list(dev, LFUSE_F32, count, tx);
    lfuse_list *ls = new_list(dev, LFUSE_F32, count, ts);
    lfuse_output(g, "sums", lfuse_member_sum(v));
    lfuse_output(g, "total", lfuse_list_sum(v));
    lfuse_plan *plan = plan_with(0);
    for (int pass = 0; pass < 3; pass++) {
        for (int64_t i = 0; i < count; i++) sums[i] = -77;
        uint64_t before = launches();
        RUN(plan, stream, BIND("x", lx), BIND("sums", ls), BIND("total", total));
        ck_assert_uint_eq(values(total)[0] == (float)all, 1);
        if (pass) ck_assert_uint_le(launches() - before, 2);
        for (int64_t i = 0; i < count; i++) {
            float sum = 0;
            for (int64_t k = 0; k < i % 4; k++) sum += x[3 * i + k];
            ck_assert_msg(sums[i] == sum, "member %lld: %g is not %g", (long long)i, sums[i], sum);
        }
    }
    for (int64_t i = 0; i < count; i++) lfuse_tensor_destroy(tx[i]), lfuse_tensor_destroy(ts[i]);
}

/* What has no identity needs elements in every member, and for the whole list a member. */
TEST(nothing_to_choose_from)
{
    lfuse_value v = lfuse_list_input(g, "x", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_tensor *total = tensor(0, NULL), *t[3] = { ramp(SHAPE(4), 1, 1), ramp(SHAPE(2), -9, 1),
                                                     ramp(SHAPE(0), 0, 0) };

    lfuse_output(g, "most", lfuse_list_norm_inf(v));
    lfuse_plan *plan = plan_with(0);
    lfuse_list *none = new_list(dev, LFUSE_F32, 0, t);
    lfuse_list *two = new_list(dev, LFUSE_F32, 2, t);
    lfuse_list *three = new_list(dev, LFUSE_F32, 3, t);
    {
        lfuse_binding b[] = { BIND("x", none), BIND("most", total) };
        SAYS(LFUSE_ERR_SHAPE, lfuse_plan_run(plan, stream, b, 2), "list \"x\" has no members");
        b[0] = BIND("x", three);
        SAYS(LFUSE_ERR_SHAPE, lfuse_plan_run(plan, stream, b, 2), "member 2 of list \"x\" has no elements");
        b[0] = BIND("x", two);
        OK(lfuse_plan_run(plan, stream, b, 2));
    }
    NEAR(values(total)[0], 9);
}

/* A list of numbers beside one of tensors, whichever is named first; and a list that is filled, not read. */
TEST(lists_of_numbers)
{
    lfuse_value rate = lfuse_list_input(g, "rate", LFUSE_F32, 0);
    lfuse_tensor *t[MEMBERS], *r[MEMBERS], *z[MEMBERS];

    for (int i = 0; i < MEMBERS; i++) {
        t[i] = ramp(1, &sizes[i], 1, 0.5f);
        r[i] = ramp(i % 2, LFUSE_DIMS(1), (float)i, 0);
        z[i] = ramp(1, &sizes[i], NAN, 0);
    }
    lfuse_list *lw = new_list(dev, LFUSE_F32, MEMBERS, t);
    lfuse_list *lr = new_list(dev, LFUSE_F32, MEMBERS, r);
    lfuse_list *lz = new_list(dev, LFUSE_F32, MEMBERS, z);
    lfuse_value w = lfuse_list_input(g, "w", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_update(w, lfuse_mul(rate, w));
    lfuse_update(rate, lfuse_add(rate, lfuse_constant(g, 1)));
    w = lfuse_list_input(g, "z", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_update(w, lfuse_full_like(w, lfuse_add(lfuse_scalar(g, "z0"), lfuse_constant(g, 1))));
    lfuse_plan *plan = plan_with(0);
    {
        lfuse_binding b[] = { BIND("rate", lr), BIND("w", lw), BIND("z", lz), lfuse_bind_scalar("z0", 2) };
        LAUNCHES(3, OK(lfuse_plan_run(plan, stream, b, 4)));
        for (int i = 0; i < MEMBERS; i++) {
            ck_assert_float_eq(values(r[i])[0], (float)i + 1);
            const float *v = values(z[i]);
            for (int k = 0; k < sizes[i]; k++) ck_assert_float_eq(v[k], 3);
            v = values(t[i]);
            for (int k = 0; k < sizes[i]; k++) ck_assert_float_eq(v[k], (1 + 0.5f * (float)k) * (float)i);
        }
        b[0].as.list = lw;
        FAILS(LFUSE_ERR_SHAPE, lfuse_plan_run(plan, stream, b, 4));
        ck_says("member 0 of \"rate\", a list of numbers, has 3 elements");
    }
}

/*
 * An element of a tensor beside a list, and a list's number as a part of a tensor: where they lie in it. The tensors
 * are contiguous or, for odd turns, every second element of another one; an empty list has its sum too.
 */
TEST_LOOP(numbers_that_are_parts_of_tensors, 0, 4)
{
    const int64_t none = 0, count = _i < 2 ? MEMBERS : 1;
    lfuse_value l = lfuse_list_input(g, "l", LFUSE_F32, LFUSE_RANK_ANY), v = lfuse_input(g, "v", F32(4));
    lfuse_value parts[3] = { lfuse_slice(v, 0, 1, 1, 1), v, v }, more;
    lfuse_tensor *t[MEMBERS], *all = ramp(SHAPE(8), 10, 10), *sums = tensor(SHAPE(6));
    lfuse_tensor *tv = _i % 2 ? new_view(all, SHAPE(4), LFUSE_DIMS(2), 0) : ramp(SHAPE(4), 10, 10);
    double wanted = 0;

    for (int i = 0; i < MEMBERS; i++) t[i] = ramp(1, _i < 2 ? &sizes[i] : &none, 1, 0);
    lfuse_list *list = new_list(dev, LFUSE_F32, count, t);
    more = lfuse_reshape(lfuse_slice(v, 0, 2, 1, 1), SHAPE());
    parts[2] = lfuse_reshape(lfuse_list_sum(l), SHAPE(1));
    lfuse_output(g, "sums", lfuse_concat(3, parts, 0));
    lfuse_update(l, lfuse_mul(l, more));
    RUN(plan_with(0), stream, BIND("l", list), BIND("v", tv), BIND("sums", sums));
    for (int i = 0; i < MEMBERS && _i < 2; i++) {
        const float *x = values(t[i]);
        for (int k = 0; k < sizes[i]; k++) ck_assert_float_eq(x[k], _i % 2 ? 50 : 30);
        wanted += (double)sizes[i];
    }
    const float *s = values(sums);
    ck_assert_float_eq(s[0], _i % 2 ? 30 : 20);
    for (int k = 0; k < 4; k++) ck_assert_float_eq(s[1 + k], (float)(10 + (_i % 2 ? 20 : 10) * k));
    ck_assert_float_eq(s[5], (float)wanted);
}

TEST_SUITE("run", CK_NOFORK)
