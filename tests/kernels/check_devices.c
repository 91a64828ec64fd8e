/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of every device of this machine against host C. */
#include "tests/kernels/cases.h"
#include "tests/support/main.h"

static const lfuse_type floating[] = {LFUSE_F32, LFUSE_F16, LFUSE_BF16, LFUSE_F64, LFUSE_E4M3};
enum { FLOATING = sizeof floating / sizeof *floating };
static const lfuse_type stored[] = {LFUSE_F32, LFUSE_F16, LFUSE_BF16, LFUSE_F64, LFUSE_I64, LFUSE_I8, LFUSE_U8,
                                    LFUSE_E4M3, LFUSE_E5M2};
enum { STORED = sizeof stored / sizeof *stored };

/* Every second type on drivers that take long for a kernel: the stub, and devices that do not, have all of them. */
static bool in_turn(const rig *r, int type)
{
    return type % 2 == 0 || !r->facts.compiles_at_launch || test_all();
}

static void use_operators(rig *r)
{
    for (lfuse_type type = LFUSE_F32; type < LFUSE__TYPES; type++) {
        if (rig_has(r, type)) case_operators(r, type);
        test_without_optimisation(true);
    }
    case_casts(r);
}

static void use_places(rig *r)
{
    case_tails(r, LFUSE_F32);
    case_strides(r, LFUSE_F32);
    test_without_optimisation(true);
    for (int t = 1; t < STORED; t++)
        if (rig_has(r, stored[t]) && in_turn(r, t)) case_tails(r, stored[t]);
}

static void use_rows_f32(rig *r)
{
    case_rows(r, LFUSE_F32);
}

static void use_rows_i64(rig *r)
{
    test_without_optimisation(true);
    if (rig_has(r, LFUSE_I64)) case_rows(r, LFUSE_I64);
}

/*
 * Teams where there are none: work-items of a CPU that meet in local memory, which no user has. PoCL 5 aborts while it
 * compiles barriers in such loops, so it is asked of PoCL 3 alone.
 */
static bool as_teams(const rig *r, rig *teams)
{
    *teams = *r;
    if (!r->facts.vector_lanes || !strstr(r->facts.info.driver, "driver 3.")) return false;
    teams->facts.vector_lanes = false;
    teams->facts.staged_arguments = true;
    teams->facts.simd = 32;
    teams->before = "#undef LFUSE_LANES\n#define LFUSE_LANES 1\n";
    return true;
}

static void use_sums(rig *r)
{
    rig teams;
    for (int t = 0; t < FLOATING; t++) {
        if (rig_has(r, floating[t])) case_members(r, floating[t]);
        test_without_optimisation(true);
    }
    if (as_teams(r, &teams)) case_members(&teams, LFUSE_F32);
}

static void use_lines(rig *r)
{
    rig teams;
    for (int t = 0; t < FLOATING; t++) {
        if (rig_has(r, floating[t]) && in_turn(r, t)) case_lines(r, floating[t]);
        test_without_optimisation(true);
    }
    if (as_teams(r, &teams)) case_lines(&teams, LFUSE_F32);
}

/* Their words are those of the bundled rows, which take a tenth of the time, and the stub has all of them. */
static void use_team_rows(rig *r)
{
    rig teams;
    if (!test_all() || !as_teams(r, &teams)) return;
    case_rows(&teams, LFUSE_F32);
    case_row_look_ups(&teams);
}

static void use_team_bundles(rig *r)
{
    rig teams;
    test_without_optimisation(true);
    if (as_teams(r, &teams)) case_bundles(&teams);
}

static void use_tiles(rig *r)
{
    rig teams;
    test_without_optimisation(true);
    if (!r->facts.vector_lanes && r->facts.simd > 1) teams = *r;
    else if (!as_teams(r, &teams)) return;
    /* As teams on PoCL, what of other types than f32 differs are words that its other tests read. */
    for (int t = 0; t < (r->facts.vector_lanes && !test_all() ? 1 : FLOATING); t++)
        if (rig_has(r, floating[t])) case_tiles(&teams, floating[t]);
}

static void use_units(rig *r)
{
    case_units(r, LFUSE_F16, LFUSE_PRECISION_FULL);
    case_units(r, LFUSE_BF16, LFUSE_PRECISION_FULL);
    case_units(r, LFUSE_F32, LFUSE_PRECISION_F32X3);
    case_units(r, LFUSE_F32, LFUSE_PRECISION_BF16X6);
    case_units(r, LFUSE_F32, LFUSE_PRECISION_TF32);
    case_units(r, LFUSE_E4M3, LFUSE_PRECISION_FULL);
    case_units(r, LFUSE_E5M2, LFUSE_PRECISION_FULL);
    case_empty_parts(r);
    case_low_bands(r);
    case_few_lines(r);
}

static void use_column_sums(rig *r)
{
    rig teams;
    test_without_optimisation(true);
    if (!r->facts.vector_lanes && r->facts.simd > 1) case_column_sums(r);
    else if (as_teams(r, &teams)) case_column_sums(&teams);
}

static void use_made(rig *r)
{
    rig teams;
    test_without_optimisation(true);
    case_prologue_refusals(&r->facts);
    case_prologues(r);
    if (r->facts.vector_lanes && as_teams(r, &teams)) case_prologues(&teams);
    case_unit_prologues(r, LFUSE_F16);
    case_unit_prologues(r, LFUSE_BF16);
}

static void use_grouped(rig *r)
{
    rig teams;
    test_without_optimisation(true);
    case_grouped_refusals(&r->facts);
    case_grouped(r, LFUSE_F32);
    if (!r->facts.vector_lanes || !as_teams(r, &teams)) teams = *r;
    for (int t = 0; t < FLOATING; t++)
        if (rig_has(r, floating[t])) case_grouped(&teams, floating[t]);
    case_grouped_units(r, LFUSE_F16);
    case_grouped_units(r, LFUSE_BF16);
    case_grouped_units(r, LFUSE_E5M2);
}

static void use_lists(rig *r)
{
    rig teams;
    case_carried_lists(r, LFUSE_F32);
    for (int t = 0; t < FLOATING; t++) {
        if (rig_has(r, floating[t])) case_lists(r, floating[t]);
        test_without_optimisation(true);
    }
    if (as_teams(r, &teams)) case_carried_lists(&teams, LFUSE_F32);
    case_table(r);
    case_arrive(r);
}

static void use_look_ups(rig *r)
{
    case_look_ups(r, LFUSE_F32);
    test_without_optimisation(true);
    case_look_ups(r, LFUSE_F16);
    case_look_ups(r, LFUSE_BOOL);
}

static void use_products(rig *r)
{
    for (int t = 0; t < FLOATING; t++) {
        if (rig_has(r, floating[t])) case_products(r, floating[t]);
        test_without_optimisation(true);
    }
}

static void use_bounds(rig *r)
{
    case_bounds(r, LFUSE_F32);
    case_halves(r);
    if (rig_has(r, LFUSE_F64)) case_bounds(r, LFUSE_F64);
}

/* Each a test of its own, as none may be silent for long: see tests/support/main.c. */
static const struct {
    const char *name;
    void (*use)(rig *r);
} cases[] = {{"operators", use_operators}, {"places", use_places}, {"sums", use_sums}, {"lines", use_lines},
             {"tiles", use_tiles}, {"units", use_units}, {"split operands", case_split},
             {"column sums", use_column_sums}, {"summed", case_unit_sums}, {"made operands", use_made},
             {"grouped", use_grouped},
             {"rows of f32", use_rows_f32}, {"rows of i64", use_rows_i64}, {"rows by teams", use_team_rows},
             {"bundles by teams", use_team_bundles}, {"lists", use_lists}, {"bounds", use_bounds},
             {"look-ups", use_look_ups}, {"products", use_products}, {"row look-ups", case_row_look_ups},
             {"bundles", case_bundles}};

START_TEST(devices)
{
    if (rig_every_device(cases[_i].use) == 0) TEST_SKIP("%s: no device on this machine", cases[_i].name);
}
END_TEST

static Suite *suite_devices(void)
{
    Suite *suite = suite_create("kernels on devices");
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        TCase *tcase = tcase_create(cases[i].name);
        tcase_set_timeout(tcase, 600);
        tcase_add_loop_test(tcase, devices, i, i + 1);
        suite_add_tcase(suite, tcase);
    }
    return suite;
}

TEST_MAIN(CK_NOFORK, suite_devices)
