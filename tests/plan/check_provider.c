/* SPDX-License-Identifier: Apache-2.0 */
/* Who computes products where nobody says it, by what is known of the device. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "common/plan/provider.h"
#include "tests/plan/rig.h"
#include "tests/support/main.h"

enum { M = 200, K = 96, N = 72 };

static void gpu(lfuse__products products)
{
    memset(&rig_facts, 0, sizeof rig_facts);
    rig_facts.info.f64 = 1;
    rig_facts.simd = 32;
    rig_facts.info.local_bytes = 48 * 1024;
    rig_facts.info.max_group = 1024;
    rig_facts.products = products;
}

static void dense(lfuse_type type)
{
    lfuse_value x = lfuse_input(g, "x", type, 2, LFUSE_DIMS(M, K)), w = lfuse_input(g, "w", type, 2, LFUSE_DIMS(K, N));
    lfuse_value b = lfuse_input(g, "b", type, 1, LFUSE_DIMS(N));
    lfuse_output(g, "y", lfuse_relu(lfuse_add(lfuse_matmul(x, w), b)));
}

static void check_first(bool native)
{
    rig_make(0);
    ck_assert_int_eq(plan->nstages, 1);
    ck_assert_int_eq(plan->stages[0].alternatives[0].steps[0].product.native, native);
}

START_TEST(beside_a_portable_library)
{
    gpu(LFUSE__PRODUCTS_PORTABLE);
    dense(LFUSE_F32);
    check_first(true);
    ck_assert_int_eq(plan->stages[0].nalternatives, 1);
    ck_assert_int_eq(plan->stages[0].alternatives[0].nsteps, 1);
}
END_TEST

START_TEST(halves_beside_a_portable_library)
{
    gpu(LFUSE__PRODUCTS_PORTABLE);
    dense(LFUSE_BF16);
    check_first(true);
}
END_TEST

START_TEST(f64_beside_a_portable_library)
{
    gpu(LFUSE__PRODUCTS_PORTABLE);
    dense(LFUSE_F64);
    check_first(false);
}
END_TEST

START_TEST(f64_without_a_library)
{
    gpu(LFUSE__PRODUCTS_NONE);
    dense(LFUSE_F64);
    check_first(true);
}
END_TEST

START_TEST(beside_a_tuned_library)
{
    gpu(LFUSE__PRODUCTS_TUNED);
    dense(LFUSE_F32);
    check_first(false);
}
END_TEST

START_TEST(without_a_library)
{
    gpu(LFUSE__PRODUCTS_NONE);
    dense(LFUSE_F32);
    check_first(true);
}
END_TEST

/* Where tiles do not fit, the vendor is asked, and says itself that it is not there. */
START_TEST(tiles_that_do_not_fit)
{
    gpu(LFUSE__PRODUCTS_NONE);
    rig_facts.info.local_bytes = 16 * 1024;
    dense(LFUSE_F32);
    check_first(false);
    ck_assert(!lfuse__tiles_fit(&rig_facts));
    rig_facts.info.local_bytes = 48 * 1024;
    ck_assert(lfuse__tiles_fit(&rig_facts));
    rig_facts.simd = 1;
    ck_assert(!lfuse__tiles_fit(&rig_facts));
    rig_facts.simd = 32, rig_facts.info.max_group = 128;
    ck_assert(!lfuse__tiles_fit(&rig_facts));
}
END_TEST

static Suite *suite_provider(void)
{
    Suite *suite = suite_create("providers");
    TCase *c = tcase_create("default");
    tcase_add_checked_fixture(c, rig_setup, rig_teardown);
    tcase_add_test(c, beside_a_portable_library);
    tcase_add_test(c, halves_beside_a_portable_library);
    tcase_add_test(c, f64_beside_a_portable_library);
    tcase_add_test(c, f64_without_a_library);
    tcase_add_test(c, beside_a_tuned_library);
    tcase_add_test(c, without_a_library);
    tcase_add_test(c, tiles_that_do_not_fit);
    suite_add_tcase(suite, c);
    return suite;
}

TEST_MAIN(CK_NOFORK, suite_provider)
