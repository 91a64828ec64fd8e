/* SPDX-License-Identifier: Apache-2.0 */
/* The dialect in plain C, in both forms of the skeletons, against host C. */
#include "tests/kernels/cases.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"

static const lfuse_type floating[] = {LFUSE_F32, LFUSE_F16, LFUSE_BF16, LFUSE_F64};
static const lfuse_type stored[] = {LFUSE_F32, LFUSE_F16, LFUSE_BF16, LFUSE_F64, LFUSE_I64, LFUSE_I8, LFUSE_U8};
enum { STORED = sizeof stored / sizeof *stored };

/* Of types whose kernels are one text but for some words: f32 in both forms, the others in turns. */
static bool in_turn(int form, int type)
{
    return type == 0 || (type + form) % 2 == 0 || test_all();
}

static void open_form(rig *r, int lanes)
{
    lfuse__stub_reset();
    lfuse__stub.vector_lanes = lanes;
    lfuse__stub.simd = 1;
    lfuse__stub.f64 = true;
    lfuse__stub.elementwise_groups = lanes ? 8 : 0;
    rig_open(r, &lfuse__stub_backend, 0);
}

START_TEST(operators)
{
    rig r;
    open_form(&r, _i);
    for (lfuse_type type = LFUSE_F32; type < LFUSE__TYPES; type++) case_operators(&r, type);
    case_casts(&r);
    rig_close(&r);
}
END_TEST

START_TEST(places)
{
    rig r;
    open_form(&r, _i);
    for (int t = 0; t < STORED; t++)
        if (in_turn(_i, t)) case_tails(&r, stored[t]);
    case_strides(&r, LFUSE_F32);
    case_strides(&r, LFUSE_F16);
    rig_close(&r);
}
END_TEST

START_TEST(sums)
{
    rig r;
    open_form(&r, _i);
    for (int t = 0; t < 4; t++)
        if (in_turn(_i, t)) case_members(&r, floating[t]);
    rig_close(&r);
}
END_TEST

START_TEST(lines)
{
    rig r;
    open_form(&r, _i);
    for (int t = 0; t < 4; t++)
        if (in_turn(_i, t)) case_lines(&r, floating[t]);
    rig_close(&r);
}
END_TEST

/* Of each form: f32, and two types more. */
START_TEST(rows)
{
    static const lfuse_type types[3][2] = {{LFUSE_F32, LFUSE_F32}, {LFUSE_I64, LFUSE_F16}, {LFUSE_F64, LFUSE_U8}};
    rig r;
    open_form(&r, _i % 2);
    case_rows(&r, types[_i / 2][_i % 2]);
    rig_close(&r);
}
END_TEST

/* Work-items of a group as coroutines, which exchange what they folded. */
START_TEST(rows_by_teams)
{
    rig r;
    open_form(&r, 0);
    r.facts.simd = 32, r.facts.info.compute_units = 4;
    case_rows_by_teams(&r);
    rig_close(&r);
}
END_TEST

START_TEST(lists)
{
    rig r;
    open_form(&r, _i);
    for (int t = 0; t < 4; t++)
        if (in_turn(_i, t)) case_lists(&r, floating[t]);
    case_carried_lists(&r, LFUSE_F16);
    case_table(&r);
    case_arrive(&r);
    rig_close(&r);
}
END_TEST

START_TEST(look_ups)
{
    rig r;
    open_form(&r, _i);
    /* What is looked up is moved as it is: types of one width are one text but for its words. */
    for (lfuse_type type = LFUSE_F32; type < LFUSE__TYPES; type++)
        if (test_all() || type == LFUSE_F32 || ((int)type + _i) % 4 == 0) case_look_ups(&r, type);
    rig_close(&r);
}
END_TEST

START_TEST(bundles)
{
    rig r;
    open_form(&r, _i);
    r.facts.info.max_argument_bytes = lfuse__stub.max_argument_bytes = 4096;
    case_bundles(&r);
    case_row_look_ups(&r);
    rig_close(&r);
}
END_TEST

START_TEST(products)
{
    rig r;
    open_form(&r, _i);
    for (int t = 0; t < 4; t++)
        if (in_turn(_i, t)) case_products(&r, floating[t]);
    if (r.facts.vector_lanes) case_made(&r); /* tiles need barriers */
    if (r.facts.vector_lanes) case_made_refusals(&r.facts);
    rig_close(&r);
}
END_TEST

/* Work-items of a group as coroutines, which exchange fragments as teams of the devices do. */
START_TEST(units)
{
    rig r;
    open_form(&r, 0);
    r.facts.simd = 32, r.facts.info.local_bytes = 48 * 1024, r.facts.matrix_units = true;
    r.facts.info.compute_units = 4;
    case_units(&r, _i ? LFUSE_BF16 : LFUSE_F16);
    rig_close(&r);
}
END_TEST

START_TEST(bounds)
{
    rig r;
    open_form(&r, _i);
    case_bounds(&r, LFUSE_F32);
    case_bounds(&r, LFUSE_F64);
    rig_close(&r);
}
END_TEST

static Suite *suite_host(void)
{
    Suite *suite = suite_create("kernels in host C");
    TCase *forms = tcase_create("items, lanes");
    tcase_set_timeout(forms, 300);
    tcase_add_loop_test(forms, operators, 0, 2);
    tcase_add_loop_test(forms, places, 0, 2);
    tcase_add_loop_test(forms, bounds, 0, 2);
    suite_add_tcase(suite, forms);
    TCase *of_lists = tcase_create("lists");
    tcase_set_timeout(of_lists, 300);
    tcase_add_loop_test(of_lists, sums, 0, 2);
    tcase_add_loop_test(of_lists, lines, 0, 2);
    tcase_add_loop_test(of_lists, lists, 0, 2);
    suite_add_tcase(suite, of_lists);
    TCase *places_of = tcase_create("look-ups, bundles");
    tcase_set_timeout(places_of, 300);
    tcase_add_loop_test(places_of, look_ups, 0, 2);
    tcase_add_loop_test(places_of, bundles, 0, 2);
    suite_add_tcase(suite, places_of);
    TCase *of_products = tcase_create("products");
    tcase_set_timeout(of_products, 300);
    tcase_add_loop_test(of_products, products, 0, 2);
    tcase_add_loop_test(of_products, units, 0, 2);
    suite_add_tcase(suite, of_products);
    TCase *reductions = tcase_create("rows");
    tcase_set_timeout(reductions, 300);
    tcase_add_loop_test(reductions, rows, 0, 6);
    suite_add_tcase(suite, reductions);
    TCase *of_teams = tcase_create("teams");
    tcase_set_timeout(of_teams, 300);
    tcase_add_test(of_teams, rows_by_teams);
    suite_add_tcase(suite, of_teams);
    return suite;
}

TEST_MAIN(CK_NOFORK, suite_host)
