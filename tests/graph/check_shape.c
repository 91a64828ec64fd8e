/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of results, and symbolic extents. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "common/graph/build.h"
#include "libfuse/ops.h"
#include "tests/support/main.h"

static lfuse_graph *g;
static lfuse_size n, m;

static void make(void)
{
    g = lfuse_graph_create();
    n = lfuse_size_var(g, "n", 0, 100);
    m = lfuse_size_var(g, "m", 2, INT64_MAX);
}

static void destroy(void)
{
    ck_assert_int_eq(lfuse_graph_check(g), LFUSE_OK);
    lfuse_graph_destroy(g);
}

static void ck_shape(lfuse_value v, const char *expected)
{
    char text[LFUSE__DESCRIPTION];

    ck_assert_msg(v.id >= 0, "%s", g->message);
    lfuse__build_describe(g, v.id, text, sizeof text);
    ck_assert_str_eq(text, expected);
}

static void ck_size(lfuse_size s, const char *expected)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;

    lfuse__size_print(g, s, &text);
    ck_assert_str_eq(text.data, expected);
    lfuse__strbuf_free(&text);
}

START_TEST(broadcasting)
{
    const lfuse_value a = lfuse_input(g, "a", LFUSE_F32, 3, LFUSE_DIMS(n, 1, 5));
    const lfuse_value b = lfuse_input(g, "b", LFUSE_F32, 2, LFUSE_DIMS(7, 1));
    const lfuse_value c = lfuse_input(g, "c", LFUSE_F32, 0, NULL);
    const lfuse_value empty = lfuse_input(g, "empty", LFUSE_F32, 1, LFUSE_DIMS(0));
    const lfuse_value one = lfuse_input(g, "one", LFUSE_F32, 2, LFUSE_DIMS(1, 1));

    ck_shape(lfuse_add(a, b), "f32 [n, 7, 5]");
    ck_shape(lfuse_add(b, a), "f32 [n, 7, 5]");
    ck_shape(lfuse_mul(c, c), "f32 []");
    ck_shape(lfuse_mul(c, b), "f32 [7, 1]");
    ck_shape(lfuse_max(one, empty), "f32 [1, 0]");
    ck_shape(lfuse_fma(a, b, c), "f32 [n, 7, 5]");
    ck_shape(lfuse_where(lfuse_lt(b, c), c, a), "f32 [n, 7, 5]");
    ck_shape(lfuse_eq(a, a), "bool [n, 1, 5]");
    ck_shape(lfuse_broadcast_to(b, 4, LFUSE_DIMS(m, n, 7, 3)), "f32 [m, n, 7, 3]");
    ck_shape(lfuse_broadcast_to(c, 1, LFUSE_DIMS(lfuse_size_add(g, n, m))), "f32 [n + m]");
    ck_shape(lfuse_broadcast_to(c, 0, NULL), "f32 []");
}
END_TEST

START_TEST(views_and_sums)
{
    const lfuse_value a = lfuse_input(g, "a", LFUSE_F16, 3, LFUSE_DIMS(n, 3, m));

    ck_shape(lfuse_permute(a, (const int[]){2, 0, 1}), "f16 [m, n, 3]");
    ck_shape(lfuse_transpose(a), "f16 [n, m, 3]");
    ck_shape(lfuse_sum(a, 1, (const int[]){-1}, 0), "f16 [n, 3]");
    ck_shape(lfuse_sum(a, 2, (const int[]){2, 1}, 1), "f16 [n, 1, 1]");
    ck_shape(lfuse_sum(a, 3, (const int[]){0, 1, 2}, 0), "f16 []");
    ck_assert_int_eq(lfuse_sum(a, 0, NULL, 0).id, a.id);
}
END_TEST

START_TEST(products)
{
    const lfuse_value a = lfuse_input(g, "a", LFUSE_F64, 2, LFUSE_DIMS(n, m));
    const lfuse_value b = lfuse_input(g, "b", LFUSE_F64, 2, LFUSE_DIMS(m, lfuse_size_mul(g, n, 2)));
    const lfuse_value none = lfuse_input(g, "none", LFUSE_F64, 2, LFUSE_DIMS(m, 0));

    ck_shape(lfuse_matmul(a, b), "f64 [n, n * 2]");
    ck_shape(lfuse_matmul(a, none), "f64 [n, 0]");
    ck_shape(lfuse_matmul(lfuse_transpose(none), none), "f64 [0, 0]");
    ck_shape(lfuse_matmul(a, lfuse_transpose(a)), "f64 [n, n]");
}
END_TEST

START_TEST(extents_are_shared)
{
    ck_assert_int_eq(lfuse_size_add(g, n, m), lfuse_size_add(g, m, n));
    ck_assert_int_eq(lfuse_size_mul(g, n, 3), lfuse_size_mul(g, 3, n));
    ck_assert_int_eq(lfuse_size_mul(g, lfuse_size_add(g, n, m), n), lfuse_size_mul(g, n, lfuse_size_add(g, m, n)));
    ck_assert_int_ne(lfuse_size_add(g, n, m), lfuse_size_mul(g, n, m));
    ck_assert_int_eq(lfuse_size_add(g, 2, 3), 5);
    ck_assert_int_eq(lfuse_size_mul(g, 2, 3), 6);
    ck_assert_int_eq(lfuse_size_add(g, 0, n), n);
    ck_assert_int_eq(lfuse_size_mul(g, n, 1), n);
    ck_assert_int_eq(lfuse_size_mul(g, 0, m), 0);
}
END_TEST

START_TEST(extents_print)
{
    lfuse_size s = n;
    int i;

    ck_size(12, "12");
    ck_size(n, "n");
    ck_size(lfuse_size_add(g, lfuse_size_mul(g, n, m), 4), "(n * m) + 4");
    for (i = 0; i < 100; i++) s = lfuse_size_add(g, s, lfuse_size_mul(g, s, s));
    ck_size(lfuse_size_add(g, 1, lfuse_size_mul(g, 2, m)), "(m * 2) + 1");
}
END_TEST

START_TEST(extents_evaluate)
{
    const lfuse_size s = lfuse_size_add(g, lfuse_size_mul(g, n, m), 4);
    int64_t values[8] = {7, 11}, value = -1;
    int64_t low, high;
    lfuse_size deep = n;
    int i;

    ck_assert_int_eq(lfuse__size_evaluate(g, s, values, &value), LFUSE_OK);
    ck_assert_int_eq(value, 81);
    ck_assert_int_eq(lfuse__size_evaluate(g, 5, values, &value), LFUSE_OK);
    ck_assert_int_eq(value, 5);
    values[1] = INT64_MAX;
    ck_assert_int_eq(lfuse__size_evaluate(g, s, values, &value), LFUSE_ERR_OVERFLOW);
    ck_assert_int_eq(value, 5);
    ck_assert_str_eq(lfuse_last_error(), "the size (n * m) + 4 is too large");
    lfuse__size_bounds(g, s, &low, &high);
    ck_assert_int_eq(low, 4);
    ck_assert(high == INT64_MAX);
    lfuse__size_bounds(g, lfuse_size_mul(g, n, 3), &low, &high);
    ck_assert_int_eq(low, 0);
    ck_assert_int_eq(high, 300);
    /* Shared without end, which must cost no more than the number of expressions. */
    for (i = 0; i < 200; i++) deep = lfuse_size_add(g, deep, deep);
    {
        int64_t many[256] = {0};
        ck_assert_int_eq(lfuse__size_evaluate(g, deep, many, &value), LFUSE_OK);
        ck_assert_int_eq(value, 0);
        many[0] = 1;
        ck_assert_int_eq(lfuse__size_evaluate(g, deep, many, &value), LFUSE_ERR_OVERFLOW);
    }
}
END_TEST

static Suite *suite_shape(void)
{
    Suite *s = suite_create("shape");
    TCase *t = tcase_create("shape");

    tcase_add_checked_fixture(t, make, destroy);
    tcase_add_test(t, broadcasting);
    tcase_add_test(t, views_and_sums);
    tcase_add_test(t, products);
    tcase_add_test(t, extents_are_shared);
    tcase_add_test(t, extents_print);
    tcase_add_test(t, extents_evaluate);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(CK_FORK_GETENV, suite_shape)
