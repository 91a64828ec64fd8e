/* SPDX-License-Identifier: Apache-2.0 */
/* Plans over lists on the stub: launches counted, addresses by slot and by value. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "tests/run/rig.h"

enum { MEMBERS = 5 };
static const int64_t sizes[MEMBERS] = { 3, 0, 2500, 1, 40000 };

static lfuse_list *list_of(float start, float step)
{
    lfuse_tensor *t[MEMBERS];
    lfuse_list *l;
    int i;

    for (i = 0; i < MEMBERS; i++) t[i] = ramp(1, &sizes[i], start + (float)i, step);
    OK(lfuse_list_create(dev, LFUSE_F32, MEMBERS, t, &l));
    for (i = 0; i < MEMBERS; i++) lfuse_tensor_destroy(t[i]);
    return l;
}

static void check_list_sgd(void)
{
    lfuse_value w = lfuse_list_input(g, "w", LFUSE_F32, LFUSE_RANK_ANY), gr = lfuse_list_input(g, "g", LFUSE_F32,
        LFUSE_RANK_ANY);
    lfuse_tensor *t[MEMBERS], *n[MEMBERS], *one;
    lfuse_list *lw, *lg = list_of(1, 0.001f), *ln;
    lfuse_plan *plan, *norms;
    lfuse_graph *h = lfuse_graph_create();
    uint64_t before;
    const float *v;
    int i, k;

    for (i = 0; i < MEMBERS; i++) t[i] = ramp(1, &sizes[i], 5, 0.01f), n[i] = tensor(0, NULL);
    OK(lfuse_list_create(dev, LFUSE_F32, MEMBERS, t, &lw));
    OK(lfuse_list_create(dev, LFUSE_F32, MEMBERS, n, &ln));
    lfuse_update(w, lfuse_sub(w, lfuse_mul(gr, lfuse_scalar(g, "lr"))));
    plan = plan_with(0);
    {
        lfuse_binding b[] = { lfuse_bind_list("w", lw), lfuse_bind_list("g", lg), lfuse_bind_number("lr", 0.5) };
        OK(lfuse_plan_run(plan, stream, b, 3));
        before = launches();
        OK(lfuse_plan_run(plan, stream, b, 3));
        ck_assert_uint_eq(launches() - before, 1);
    }
    for (i = 0; i < MEMBERS; i++) {
        v = values(t[i]);
        for (k = 0; k < sizes[i]; k++) NEAR(v[k], 5 + 0.01 * k - 2 * 0.5 * (1 + i + 0.001 * k));
    }
    w = lfuse_list_input(h, "w", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_output(h, "n", lfuse_sqrt(lfuse_member_sum(lfuse_mul(w, w))));
    OK(lfuse_plan_create(dev, h, NULL, &norms));
    {
        lfuse_binding b[] = { lfuse_bind_list("w", lg), lfuse_bind_list("n", ln) };
        OK(lfuse_plan_run(norms, stream, b, 2));
    }
    for (i = 0; i < MEMBERS; i++) {
        double sum = 0;
        for (k = 0; k < sizes[i]; k++) sum += pow(1 + i + 0.001 * k, 2);
        NEAR(values(n[i])[0], sqrt(sum));
    }
    one = ramp(1, &sizes[2], 7, 0);
    OK(lfuse_list_replace(lg, 2, 1, &one));
    {
        lfuse_binding b[] = { lfuse_bind_list("w", lg), lfuse_bind_list("n", ln) };
        OK(lfuse_plan_run(norms, stream, b, 2));
    }
    NEAR(values(n[2])[0], 7 * sqrt(2500));
    for (i = 0; i < MEMBERS; i++) lfuse_tensor_destroy(t[i]), lfuse_tensor_destroy(n[i]);
    lfuse_tensor_destroy(one);
    lfuse_list_destroy(lw), lfuse_list_destroy(lg), lfuse_list_destroy(ln);
    lfuse_plan_destroy(plan), lfuse_plan_destroy(norms);
    lfuse_graph_destroy(h);
}

START_TEST(lists_in_one_launch)
{
    check_list_sgd();
}
END_TEST

START_TEST(lists_by_slots)
{
    close_stub();
    lfuse__stub_reset();
    lfuse__stub.addresses = false;
    lfuse__stub.vector_lanes = false;
    lfuse__registry_extra(&lfuse__stub_backend);
    OK(lfuse_device_open("stub:0", &dev));
    OK(lfuse_stream_create(dev, &stream));
    g = lfuse_graph_create();
    check_list_sgd();
}
END_TEST

/* Each member in a block of its own: more blocks than one launch takes, and members without elements among them. */
START_TEST(list_sums_of_many_blocks)
{
    enum { COUNT = 14, LENGTH = 40 };
    static float in[COUNT][LENGTH], sums[COUNT];
    lfuse_tensor *ti[COUNT], *to[COUNT];
    lfuse_list *li, *lo;
    lfuse_plan *plan;
    uint64_t before;
    int i, k, pass;

    lfuse_stream_destroy(stream), lfuse_device_close(dev);
    lfuse__stub.addresses = _i & 1;
    lfuse__stub.vector_lanes = _i & 2;
    OK(lfuse_device_open("stub:0", &dev));
    OK(lfuse_stream_create(dev, &stream));
    for (i = 0; i < COUNT; i++) {
        const int64_t length = i % 5 == 3 ? 0 : LENGTH - i;
        for (k = 0; k < length; k++) in[i][k] = (float)(i + 1);
        sums[i] = -1;
        OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)in[i], sizeof in[i], LFUSE_F32, 1, &length, NULL, 0,
                             &ti[i]));
        OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)&sums[i], sizeof sums[i], LFUSE_F32, 0, NULL, NULL,
                             0, &to[i]));
    }
    OK(lfuse_list_create(dev, LFUSE_F32, COUNT, ti, &li));
    OK(lfuse_list_create(dev, LFUSE_F32, COUNT, to, &lo));
    lfuse_output(g, "y", lfuse_member_sum(lfuse_list_input(g, "x", LFUSE_F32, LFUSE_RANK_ANY)));
    plan = plan_with(0);
    for (pass = 0; pass < 2; pass++) {
        lfuse_binding b[] = { lfuse_bind_list("x", li), lfuse_bind_list("y", lo) };
        before = launches();
        OK(lfuse_plan_run(plan, stream, b, 2));
        OK(lfuse_stream_synchronize(stream));
    }
    ck_assert_uint_eq(launches() - before, _i & 1 ? 2 : 8); /* with slots four members or so at a time */
    for (i = 0; i < COUNT; i++) NEAR(sums[i], i % 5 == 3 ? 0 : (i + 1) * (LENGTH - i));
    for (i = 0; i < COUNT; i++) lfuse_tensor_destroy(ti[i]), lfuse_tensor_destroy(to[i]);
    lfuse_list_destroy(li), lfuse_list_destroy(lo);
    lfuse_plan_destroy(plan);
}
END_TEST

/* A list of numbers beside one of tensors, whichever is named first; and a list that is filled, not read. */
START_TEST(lists_of_numbers)
{
    lfuse_value rate = lfuse_list_input(g, "rate", LFUSE_F32, 0), w;
    lfuse_tensor *t[MEMBERS], *r[MEMBERS], *z[MEMBERS];
    lfuse_list *lw, *lr, *lz;
    lfuse_plan *plan;
    uint64_t before;
    const float *v;
    int i, k;

    for (i = 0; i < MEMBERS; i++) {
        t[i] = ramp(1, &sizes[i], 1, 0.5f);
        r[i] = ramp(i % 2, SHAPE(1), (float)i, 0);
        z[i] = ramp(1, &sizes[i], NAN, 0);
    }
    OK(lfuse_list_create(dev, LFUSE_F32, MEMBERS, t, &lw));
    OK(lfuse_list_create(dev, LFUSE_F32, MEMBERS, r, &lr));
    OK(lfuse_list_create(dev, LFUSE_F32, MEMBERS, z, &lz));
    w = lfuse_list_input(g, "w", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_update(w, lfuse_mul(rate, w));
    lfuse_update(rate, lfuse_add(rate, lfuse_constant(g, 1)));
    w = lfuse_list_input(g, "z", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_update(w, lfuse_full_like(w, lfuse_add(lfuse_scalar(g, "z0"), lfuse_constant(g, 1))));
    plan = plan_with(0);
    {
        lfuse_binding b[] = { lfuse_bind_list("rate", lr), lfuse_bind_list("w", lw), lfuse_bind_list("z", lz),
                              lfuse_bind_number("z0", 2) };
        before = launches();
        OK(lfuse_plan_run(plan, stream, b, 4));
        ck_assert_uint_eq(launches() - before, 3);
        for (i = 0; i < MEMBERS; i++) {
            ck_assert_float_eq(values(r[i])[0], (float)i + 1);
            v = values(z[i]);
            for (k = 0; k < sizes[i]; k++) ck_assert_float_eq(v[k], 3);
            v = values(t[i]);
            for (k = 0; k < sizes[i]; k++) ck_assert_float_eq(v[k], (1 + 0.5f * (float)k) * (float)i);
        }
        b[0].as.list = lw;
        FAILS(LFUSE_ERR_SHAPE, lfuse_plan_run(plan, stream, b, 4));
        ck_assert_ptr_nonnull(strstr(lfuse_last_error(), "member 0 of \"rate\", a list of numbers, has 3 elements"));
    }
    lfuse_list_destroy(lw), lfuse_list_destroy(lr), lfuse_list_destroy(lz);
    for (i = 0; i < MEMBERS; i++) lfuse_tensor_destroy(t[i]), lfuse_tensor_destroy(r[i]), lfuse_tensor_destroy(z[i]);
    lfuse_plan_destroy(plan);
}
END_TEST

static Suite *suite_lists(void)
{
    Suite *s = suite_create("run");
    TCase *c = tcase_create("lists");

    tcase_add_checked_fixture(c, open_stub, close_stub);
    tcase_set_timeout(c, 0);
    tcase_add_test(c, lists_in_one_launch);
    tcase_add_test(c, lists_by_slots);
    tcase_add_test(c, lists_of_numbers);
    tcase_add_loop_test(c, list_sums_of_many_blocks, 0, 4);
    suite_add_tcase(s, c);
    return s;
}

TEST_MAIN(CK_NOFORK, suite_lists)
