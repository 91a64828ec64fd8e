/* SPDX-License-Identifier: Apache-2.0 */
/* The dialect in plain C, in both forms of the skeletons, against host C. */
#include "tests/kernels/cases.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"

static const lfuse_type floating[] = {LFUSE_F32, LFUSE_F16, LFUSE_BF16, LFUSE_F64, LFUSE_E4M3};
enum { FLOATING = sizeof floating / sizeof *floating };
static const lfuse_type stored[] = {LFUSE_F32, LFUSE_F16, LFUSE_BF16, LFUSE_F64, LFUSE_I64, LFUSE_I8, LFUSE_U8,
                                    LFUSE_E4M3, LFUSE_E5M2};
enum { STORED = sizeof stored / sizeof *stored };

/* Of types whose kernels are one text but for some words: f32 in both forms, the others in turns. */
static bool in_turn(int form, int type)
{
    return type == 0 || (type + form) % 2 == 0 || test_all();
}

static rig r;

static void close_form(void)
{
    rig_close(&r);
}

static void open_form(int lanes)
{
    lfuse__stub_reset();
    lfuse__stub.vector_lanes = lanes;
    lfuse__stub.simd = 1;
    lfuse__stub.f64 = true;
    lfuse__stub.elementwise_groups = lanes ? 8 : 0;
    rig_open(&r, &lfuse__stub_backend, 0);
}

static void in_turns(int form, void (*with)(rig *r, lfuse_type type))
{
    for (int t = 0; t < FLOATING; t++)
        if (in_turn(form, t)) with(&r, floating[t]);
}

TEST_CASE("items, lanes", .teardown = close_form)

TEST_LOOP(operators, 0, 2)
{
    open_form(_i);
    for (lfuse_type type = LFUSE_F32; type < LFUSE__TYPES; type++) case_operators(&r, type);
    case_casts(&r);
}

TEST_LOOP(places, 0, 2)
{
    open_form(_i);
    for (int t = 0; t < STORED; t++)
        if (in_turn(_i, t)) case_tails(&r, stored[t]);
    case_strides(&r, LFUSE_F32);
    case_strides(&r, LFUSE_F16);
}

TEST_LOOP(bounds, 0, 2)
{
    open_form(_i);
    case_bounds(&r, LFUSE_F32);
    case_bounds(&r, LFUSE_F64);
    case_halves(&r);
}

TEST_CASE("approximations", .teardown = close_form)

/* With the functions of NVIDIA's devices, whose approximations are all too large or too small. */
TEST_LOOP(bounds_of_approximations, 0, 2)
{
    open_form(0);
    r.before = _i ? "#define LFUSE_APPROX 1\n" : "#define LFUSE_APPROX -1\n";
    case_bounds(&r, LFUSE_F32);
    case_halves(&r);
}

TEST_CASE("lists", .teardown = close_form)

TEST_LOOP(sums, 0, 2)
{
    open_form(_i);
    in_turns(_i, case_members);
}

TEST_LOOP(lines, 0, 2)
{
    open_form(_i);
    in_turns(_i, case_lines);
}

TEST_LOOP(lists, 0, 2)
{
    open_form(_i);
    in_turns(_i, case_lists);
    case_carried_lists(&r, LFUSE_F16);
    case_table(&r);
    case_arrive(&r);
}

TEST_CASE("look-ups, bundles", .teardown = close_form)

TEST_LOOP(look_ups, 0, 2)
{
    open_form(_i);
    /* What is looked up is moved as it is: types of one width are one text but for its words. */
    for (lfuse_type type = LFUSE_F32; type < LFUSE__TYPES; type++)
        if (test_all() || type == LFUSE_F32 || ((int)type + _i) % 4 == 0) case_look_ups(&r, type);
}

TEST_LOOP(bundles, 0, 2)
{
    open_form(_i);
    r.facts.info.max_argument_bytes = lfuse__stub.max_argument_bytes = 4096;
    case_bundles(&r);
    case_row_look_ups(&r);
}

TEST_CASE("products", .teardown = close_form)

TEST_LOOP(products, 0, 2)
{
    open_form(_i);
    in_turns(_i, case_products);
    if (r.facts.vector_lanes) case_prologues(&r); /* tiles need barriers */
    if (r.facts.vector_lanes) case_prologue_refusals(&r.facts);
}

static void open_units(void)
{
    open_form(0);
    r.facts.simd = 32, r.facts.info.local_bytes = 48 * 1024, r.facts.tensor_cores = r.facts.mma_fp8 = true;
    r.facts.info.compute_units = 4;
    r.facts.wgmma = true, r.facts.dynamic_local_bytes = 226 * 1024, r.facts.tensor_map = lfuse__stub_tensor_map;
}

/*
 * Work-items of a group as coroutines, which exchange fragments as teams of the devices do. Beside e4m3 every second B
 * is of e5m2, so that A of e5m2 is left to complete runs, and so is bf16x6, whose texts are those of f32x3.
 */
TEST_LOOP(units, 0, test_all() ? 7 : 5)
{
    static const struct {
        lfuse_type type;
        lfuse_precision precision;
    } cases[] = {{LFUSE_F16, LFUSE_PRECISION_FULL},  {LFUSE_BF16, LFUSE_PRECISION_FULL},
                 {LFUSE_F32, LFUSE_PRECISION_F32X3}, {LFUSE_F32, LFUSE_PRECISION_TF32},
                 {LFUSE_E4M3, LFUSE_PRECISION_FULL}, {LFUSE_E5M2, LFUSE_PRECISION_FULL},
                 {LFUSE_F32, LFUSE_PRECISION_BF16X6}};

    open_units();
    case_units(&r, cases[_i].type, cases[_i].precision);
    if (_i == 0) case_empty_parts(&r);
    if (_i == 0) case_low_bands(&r);
    if (_i == 3) case_few_lines(&r);
}

TEST_LOOP(unit_prologues, 0, 2)
{
    open_units();
    case_unit_prologues(&r, _i ? LFUSE_BF16 : LFUSE_F16);
}

TEST_LOOP(grouped_units, 0, 3)
{
    static const lfuse_type types[] = {LFUSE_F16, LFUSE_BF16, LFUSE_E5M2};

    open_units();
    case_grouped_units(&r, types[_i]);
}

TEST_CASE("summed", .teardown = close_form)

TEST(unit_sums)
{
    open_units();
    case_unit_sums(&r);
}

TEST_CASE("split", .teardown = close_form)

TEST(split_operands)
{
    open_units();
    case_split(&r);
}

TEST_CASE("rows", .teardown = close_form)

/* Of each form: f32, and two types more. */
TEST_LOOP(rows, 0, 6)
{
    static const lfuse_type types[3][2] = {{LFUSE_F32, LFUSE_F32}, {LFUSE_I64, LFUSE_F16}, {LFUSE_F64, LFUSE_U8}};
    open_form(_i % 2);
    case_rows(&r, types[_i / 2][_i % 2]);
}

TEST_CASE("teams", .teardown = close_form)

/* Work-items of a group as coroutines, which exchange what they folded. */
TEST(rows_by_teams)
{
    open_form(0);
    r.facts.simd = 32, r.facts.info.compute_units = 4;
    case_rows_by_teams(&r);
}

TEST_SUITE("kernels in host C", CK_NOFORK)
