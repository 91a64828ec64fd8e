/* SPDX-License-Identifier: Apache-2.0 */
/* How many work-groups rows are shared by, and what of them registers hold, or caches. */
#include "common/kernels/rows.h"
#include "tests/kernels/classes.h"
#include "tests/support/main.h"

TEST_CASE("choice")

TEST(groups_take_equally_many)
{
    static const struct {
        uint64_t units, bound, groups;
    } wanted[] = {{0, 4, 0},     {1, 1, 1},       {5, 8, 5},        {8, 8, 8},          {9, 8, 5},
                  {64, 17, 16},  {64, 20, 16},    {1024, 264, 256}, {1000, 264, 250},   {1025, 264, 257},
                  {7, 1, 1},     {100, 99, 50},   {1u << 31, 2, 2}};
    for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++) {
        const uint64_t groups = lfuse__rows_even(wanted[i].units, wanted[i].bound);
        ck_assert_msg(groups == wanted[i].groups, "%llu units, at most %llu groups: %llu, not %llu",
                      (unsigned long long)wanted[i].units, (unsigned long long)wanted[i].bound,
                      (unsigned long long)groups, (unsigned long long)wanted[i].groups);
    }
}

static lfuse__facts gpu(void)
{
    lfuse__facts facts = facts_items(true);
    facts.info.compute_units = 100;
    return facts;
}

static lfuse__hold hold_of(const lfuse__kernel_class *k, const lfuse__facts *facts, int operand)
{
    lfuse__hold holds[LFUSE__MAX_OPERANDS];
    lfuse__rows r;
    OK(lfuse__rows_init(&r, NULL, k, &k->rows, NULL, facts));
    lfuse__rows_hold(&r, k->rows.held / LFUSE__ROW_VECTOR, holds);
    return holds[operand];
}

/* A norm of rows x with a scale: by length, what registers have of either, and the groups of 100 compute units. */
TEST(short_rows_wait_in_registers)
{
    enum { X, SCALE };
    static const struct {
        uint64_t length;
        lfuse__hold x, scale;
        int residents;
    } wanted[] = {{64, LFUSE__HOLD_NEXT, LFUSE__HOLD_FIXED, 4},
                  {256, LFUSE__HOLD_NEXT, LFUSE__HOLD_FIXED, 2},
                  {1024, LFUSE__HOLD_TOP, LFUSE__HOLD_FIXED, 4}};
    const lfuse__facts facts = gpu();
    for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++) {
        sample s;
        sample_rows(&s, ROW_NORM, LFUSE_F32);
        lfuse__rows_choose(&facts, 100000, wanted[i].length, true, &s.k);
        ck_assert_int_eq(s.k.rows.form, LFUSE__ROWS_TEAM);
        ck_assert_msg(s.k.rows.residents == wanted[i].residents && hold_of(&s.k, &facts, X) == wanted[i].x &&
                      hold_of(&s.k, &facts, SCALE) == wanted[i].scale,
                      "rows of %d by teams of %d x %d: %d groups, x %d, scale %d", (int)wanted[i].length, s.k.rows.team,
                      s.k.rows.held, s.k.rows.residents, (int)hold_of(&s.k, &facts, X),
                      (int)hold_of(&s.k, &facts, SCALE));
        ck_assert_uint_eq(lfuse__rows_bound(&facts, &s.k), 100u * (unsigned)wanted[i].residents);
    }
}

/* Where groups share a compute unit they wait for each other's loads; a group that has it alone loads ahead. */
TEST(long_rows_are_scaled_ahead)
{
    static const struct {
        lfuse_type type;
        uint64_t length;
        lfuse__hold scale;
    } wanted[] = {{LFUSE_F32, 4096, LFUSE__HOLD_LATE},  {LFUSE_F32, 16384, LFUSE__HOLD_LATE},
                  {LFUSE_F32, 32768, LFUSE__HOLD_AHEAD}, {LFUSE_F16, 32768, LFUSE__HOLD_LATE},
                  {LFUSE_F64, 16384, LFUSE__HOLD_AHEAD}, {LFUSE_F32, 40000, LFUSE__HOLD_LATE}};
    const lfuse__facts facts = gpu();
    for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++) {
        sample s;
        sample_rows(&s, ROW_NORM, wanted[i].type);
        lfuse__rows_choose(&facts, 100000, wanted[i].length, false, &s.k);
        ck_assert_int_eq(s.k.rows.form, LFUSE__ROWS_GROUP);
        ck_assert_msg(hold_of(&s.k, &facts, 1) == wanted[i].scale, "rows of %d: scale %d", (int)wanted[i].length,
                      (int)hold_of(&s.k, &facts, 1));
    }
}

/* Rows that are looked up: as many of them at a time as there is room for, on few groups. */
TEST(looked_up_rows_are_many)
{
    enum { INDEX, X, SCALE, Y };
    static const lfuse__instr body[] = {
        {.kind = LFUSE__I_LOAD, .type = LFUSE_I32, .a = INDEX, .b = -1},
        {.kind = LFUSE__I_LOAD, .type = LFUSE_F32, .a = X, .b = 0},
        {.kind = LFUSE__I_REDUCE, .op = LFUSE__REDUCE_SUM, .type = LFUSE_F32, .a = 1},
        {.kind = LFUSE__I_APPLY, .op = LFUSE__OP_sub, .type = LFUSE_F32, .a = 1, .b = 2, .c = -1},
        {.kind = LFUSE__I_LOAD, .type = LFUSE_F32, .a = SCALE, .b = -1},
        {.kind = LFUSE__I_APPLY, .op = LFUSE__OP_mul, .type = LFUSE_F32, .a = 3, .b = 4, .c = -1}};
    const lfuse__facts facts = gpu();
    sample s;
    sample_rows(&s, ROW_SUM, LFUSE_F32);
    memcpy(s.instr, body, sizeof body);
    s.body.ninstr = sizeof body / sizeof *body;
    s.body.nstores = 1;
    s.stores[0] = (lfuse__store){.reg = 5, .operand = Y};
    s.k.noperands = 4;
    for (int j = 0; j < 4; j++)
        s.k.operands[j] = (lfuse__kernel_operand){.type = j == INDEX ? LFUSE_I32 : LFUSE_F32, .written = j == Y,
                                                  .inner = j == INDEX ? LFUSE__STRIDE_REPEAT : LFUSE__STRIDE_UNIT,
                                                  .fixed = j == SCALE, .gathered = j == X};
    lfuse__rows_choose(&facts, 100000, 64, false, &s.k);
    ck_assert_int_eq(s.k.rows.form, LFUSE__ROWS_TEAM);
    ck_assert_int_eq(s.k.rows.team, 4);
    ck_assert_int_eq(s.k.rows.held, 16);
    ck_assert_int_eq(s.k.rows.residents, 3);
    ck_assert_int_eq(hold_of(&s.k, &facts, X), LFUSE__HOLD_NEXT);
    ck_assert_int_eq(hold_of(&s.k, &facts, SCALE), LFUSE__HOLD_LATE);
}

TEST(cpus_know_no_bound)
{
    const lfuse__facts facts = facts_lanes(true);
    sample s;
    sample_rows(&s, ROW_NORM, LFUSE_F32);
    lfuse__rows_choose(&facts, 100000, 256, true, &s.k);
    ck_assert_uint_eq(lfuse__rows_bound(&facts, &s.k), 0);
}

/* What emitting refuses later has to come through the choice. */
TEST(no_such_kernel)
{
    const lfuse__facts facts = gpu();
    sample s;
    sample_rows(&s, ROW_NORM, LFUSE_F32);
    s.k.naxes = s.k.rank + 1;
    s.k.rows.residents = 7;
    lfuse__rows_choose(&facts, 100000, 256, true, &s.k);
    ck_assert_int_eq(s.k.rows.residents, 0);
    ck_assert_uint_eq(lfuse__rows_bound(&facts, &s.k), 400);
}

/* A softmax, to which `also` adds something when it is done. */
typedef enum also { NOTHING, SHIFT, ELEMENT, NORM } also; /* NORM: squares in place of exp */

static void make_softmax(sample *s, also what, lfuse_type type)
{
    enum { X, Y, Z };
    sample_start(s, LFUSE__FAMILY_ROWS, 2, 1);
    for (int j = X; j <= Z; j++) sample_operand(s, j == Y ? type : LFUSE_F32, j == Y, LFUSE__STRIDE_UNIT);
    s->k.operands[Z].fixed = what == SHIFT;
    s->k.rows = (lfuse__row_mapping){.form = LFUSE__ROWS_TEAM, .team = 1};
    const int x = sample_load(s, X), most = sample_reduce(s, LFUSE__REDUCE_MAX, LFUSE_F32, x);
    const int less = sample_apply(s, LFUSE__OP_sub, LFUSE_F32, x, most);
    const int exp = sample_apply(s, what == NORM ? LFUSE__OP_square : LFUSE__OP_exp, LFUSE_F32, less, -1);
    const int sum = sample_reduce(s, LFUSE__REDUCE_SUM, LFUSE_F32, exp);
    const int part = sample_apply(s, LFUSE__OP_div, LFUSE_F32, exp, sum), z = sample_load(s, Z);
    const int more = sample_apply(s, LFUSE__OP_add, LFUSE_F32, part, z);
    sample_store(s, what == SHIFT || what == ELEMENT ? more : part, Y);
}

static int count_of(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) n++;
    return n;
}

/*
 * exp is computed in one sweep, of whole steps and of the last one, where nothing that the last sweep reads can lie
 * where it waits and where what is stored has room for it.
 */
TEST(functions_are_computed_once)
{
    static const struct {
        also what;
        lfuse_type type;
        int kept, times;
    } wanted[] = {{NOTHING, LFUSE_F32, 3, 2}, {SHIFT, LFUSE_F32, 3, 2}, {ELEMENT, LFUSE_F32, -1, 4},
                  {NORM, LFUSE_F32, -1, 0},   {NOTHING, LFUSE_F16, -1, 4}};
    const lfuse__facts facts = facts_lanes(false);
    for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++) {
        lfuse__strbuf text = LFUSE__STRBUF_INIT;
        lfuse__rows r;
        sample s;
        make_softmax(&s, wanted[i].what, wanted[i].type);
        OK(lfuse__rows_init(&r, NULL, &s.k, &s.k.rows, NULL, &facts));
        lfuse__rows_find_kept(&r);
        ck_assert_int_eq(r.kept, wanted[i].kept);
        OK(lfuse__family_rows.emit(&text, "k", &s.k, &facts));
        ck_assert_int_eq(count_of(text.data, "EXP_f32("), wanted[i].times);
        /* The next row and what is stored, but where exp has been stored already. */
        ck_assert_int_eq(count_of(text.data, "PREFETCH(next0"), 1);
        ck_assert_int_eq(count_of(text.data, "PREFETCH_STORE(p1"), wanted[i].kept < 0);
        lfuse__strbuf_free(&text);
    }
}

/* Stores the sum of each row of x in `row`. Adds the value that operand `load` has for the row; -1: none. */
static void make_row_update(sample *s, int load, lfuse_type other)
{
    enum { X, ROW, OTHER };
    sample_start(s, LFUSE__FAMILY_ROWS, 2, 1);
    sample_operand(s, LFUSE_F32, false, LFUSE__STRIDE_UNIT);
    sample_operand(s, LFUSE_F32, true, LFUSE__STRIDE_REPEAT);
    sample_operand(s, other, false, LFUSE__STRIDE_REPEAT);
    const int sum = sample_reduce(s, LFUSE__REDUCE_SUM, LFUSE_F32, sample_load(s, X));
    int all = sum;
    if (load >= 0) all = sample_apply(s, LFUSE__OP_add, LFUSE_F32, sum, sample_load(s, load));
    sample_store(s, all, ROW);
}

/*
 * The items that share a row load its values before one of them stores a value of its type, which may lie in the same
 * memory.
 */
TEST(values_of_rows_are_stored_behind_a_barrier)
{
    static const struct {
        int load;
        lfuse_type other;
        int barriers;
    } wanted[] = {{-1, LFUSE_F32, 0}, {1, LFUSE_F32, 1}, {2, LFUSE_F32, 1}, {2, LFUSE_F16, 0}};
    const lfuse__facts facts = facts_items(false);
    for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++) {
        lfuse__strbuf text = LFUSE__STRBUF_INIT;
        sample s;
        make_row_update(&s, wanted[i].load, wanted[i].other);
        s.k.rows = (lfuse__row_mapping){.form = LFUSE__ROWS_GROUP, .team = LFUSE__GROUP};
        OK(lfuse__family_rows.emit(&text, "k", &s.k, &facts));
        /* There is a loop for operands in vectors, and one for others. */
        ck_assert_int_eq(count_of(text.data, "SYNC_MEMORY();"), 2 * wanted[i].barriers);
        lfuse__strbuf_free(&text);
    }
}

/* Rows that share a launch take one, unless they are long; what takes one as it is stays. */
TEST(rows_that_share_a_launch)
{
    static const struct {
        uint64_t rows, length;
        lfuse__row_form alone, shared;
    } wanted[] = {{1, 65536, LFUSE__ROWS_PARTIAL, LFUSE__ROWS_PARTIAL},
                  {1, 16385, LFUSE__ROWS_GROUP, LFUSE__ROWS_GROUP},
                  {1, 16384, LFUSE__ROWS_GROUP, LFUSE__ROWS_GROUP}, {1, 100, LFUSE__ROWS_TEAM, LFUSE__ROWS_TEAM}};
    const lfuse__facts facts = gpu();
    for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++) {
        sample s;
        sample_rows(&s, ROW_SUM, LFUSE_F32);
        lfuse__rows_choose(&facts, wanted[i].rows, wanted[i].length, false, &s.k);
        ck_assert_int_eq(s.k.rows.form, wanted[i].alone);
        lfuse__rows_choose_shared(&facts, wanted[i].length, &s.k);
        ck_assert_int_eq(s.k.rows.form, wanted[i].shared);
        if (wanted[i].shared == LFUSE__ROWS_GROUP)
            ck_assert_int_eq(s.k.rows.team, wanted[i].length > 16384 ? 1024 : LFUSE__GROUP);
    }
    sample s;
    sample_rows(&s, ROW_SUM, LFUSE_F32);
    sample_rows_inner(&s, LFUSE__STRIDE_ANY);
    lfuse__rows_choose(&facts, 64, 8192, false, &s.k);
    lfuse__rows_choose_shared(&facts, 8192, &s.k);
    ck_assert_int_eq(s.k.rows.form, LFUSE__ROWS_PARTIAL);
}

/* Sums of columns on 100 compute units: enough work-items for the device, first as neighbours that read one line. */
TEST(columns_are_shared)
{
    static const struct {
        uint64_t columns, length;
        lfuse__row_form form;
        int team, held;
        uint64_t groups, folding;
    } wanted[] = {{4096, 4096, LFUSE__ROWS_PARTIAL, 0, 8, 128 * 4, 16},
                  {512, 8192, LFUSE__ROWS_PARTIAL, 0, 32, 64 * 8, 2},
                  {64, 1 << 20, LFUSE__ROWS_PARTIAL, 0, 8, 2 * 1024, 64},
                  {4096, 1000, LFUSE__ROWS_ITEM, 32, 0, 512, 0},
                  {50000, 4096, LFUSE__ROWS_ITEM, 4, 0, 782, 0},
                  {200000, 4096, LFUSE__ROWS_ITEM, 1, 0, 782, 0},
                  {100, 20, LFUSE__ROWS_ITEM, 8, 0, 4, 0}};
    const lfuse__facts facts = gpu();
    for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++) {
        sample s;
        sample_rows(&s, ROW_SUM, LFUSE_F32);
        sample_rows_inner(&s, LFUSE__STRIDE_ANY);
        lfuse__rows_choose(&facts, wanted[i].columns, wanted[i].length, false, &s.k);
        ck_assert_msg(s.k.rows.form == wanted[i].form && s.k.rows.team == wanted[i].team &&
                      s.k.rows.held == wanted[i].held,
                      "%llu columns of %llu: form %d, team %d, held %d", (unsigned long long)wanted[i].columns,
                      (unsigned long long)wanted[i].length, (int)s.k.rows.form, s.k.rows.team, s.k.rows.held);
        ck_assert_uint_eq(lfuse__rows_groups(&facts, &s.k, wanted[i].columns, wanted[i].length), wanted[i].groups);
        if (s.k.rows.form != LFUSE__ROWS_PARTIAL) continue;
        s.k.rows.form = LFUSE__ROWS_FOLD;
        ck_assert_uint_eq(lfuse__rows_groups(&facts, &s.k, wanted[i].columns, wanted[i].length), wanted[i].folding);
    }
}

/* NVIDIA's GPUs have numbers of their own, which the generic ones agree with for 32 in step. Fewer need less work. */
TEST(columns_of_other_devices)
{
    static const struct {
        unsigned vendor, simd;
        int team;
    } wanted[] = {{LFUSE__VENDOR_NVIDIA, 32, 4}, {0, 32, 4}, {0x1002, 64, 4}, {0, 8, 1}, {LFUSE__VENDOR_NVIDIA, 8, 4}};
    for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++) {
        lfuse__facts facts = gpu();
        sample s;
        facts.vendor = wanted[i].vendor, facts.simd = wanted[i].simd;
        sample_rows(&s, ROW_SUM, LFUSE_F32);
        sample_rows_inner(&s, LFUSE__STRIDE_ANY);
        lfuse__rows_choose(&facts, 50000, 4096, false, &s.k);
        ck_assert_int_eq(s.k.rows.form, LFUSE__ROWS_ITEM);
        ck_assert_int_eq(s.k.rows.team, wanted[i].team);
        ck_assert_uint_eq(lfuse__rows_bound(&facts, &s.k), wanted[i].team == 1 ? 100 : 400);
    }
}

/* A last segment counts however short it is, and so does the room for what it gives: cells come in sixteens. */
TEST(every_segment_counts)
{
    static const struct {
        uint64_t rows, length, segments;
    } wanted[] = {{1, 1, 1}, {1, 1023, 1}, {1, 1024, 1}, {1, 1025, 2}, {3, 2048, 2}, {3, 2049, 3}, {17, 1025, 2}};
    lfuse__facts facts = gpu();
    facts.info.compute_units = 1000;
    for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++) {
        const uint64_t cells = wanted[i].rows * wanted[i].segments;
        sample s;
        sample_rows(&s, ROW_SUM, LFUSE_F32);
        ck_assert_uint_eq(lfuse__rows_partials(&s.k, &facts, wanted[i].rows, wanted[i].length),
                          (cells + 15) / 16 * 16 * sizeof(float));
        s.k.rows.form = LFUSE__ROWS_PARTIAL;
        s.k.rows.team = 1;
        ck_assert_uint_eq(lfuse__rows_groups(&facts, &s.k, wanted[i].rows, wanted[i].length), cells);
    }
}

/* Rows of one length have a kernel for just that one if the caller knows that there is no other. */
TEST(whole_rows_are_promised)
{
    const lfuse__facts facts = gpu();
    for (int promised = 0; promised < 2; promised++) {
        sample s;
        sample_rows(&s, ROW_NORM, LFUSE_F32);
        lfuse__rows_choose(&facts, 10000, 512, promised, &s.k);
        ck_assert_int_eq(s.k.rows.team * s.k.rows.held, 512);
        ck_assert_int_eq(s.k.rows.whole, promised);
        lfuse__rows_choose(&facts, 10000, 511, promised, &s.k);
        ck_assert(!s.k.rows.whole);
    }
}

/* So have columns of one segment. */
TEST(whole_columns_are_promised)
{
    static const struct {
        uint64_t length;
        int held;
    } wanted[] = {{64, 64}, {LFUSE__SEGMENT, LFUSE__SEGMENT}, {LFUSE__SEGMENT + 1, 0}};
    const lfuse__facts facts = gpu();
    for (int i = 0; i < 2 * (int)(sizeof wanted / sizeof *wanted); i++) {
        sample s;
        sample_rows(&s, ROW_SUM, LFUSE_F32);
        sample_rows_inner(&s, LFUSE__STRIDE_ANY);
        lfuse__rows_choose(&facts, 200000, wanted[i / 2].length, i % 2, &s.k);
        ck_assert_int_eq(s.k.rows.form, LFUSE__ROWS_ITEM);
        ck_assert_int_eq(s.k.rows.held, i % 2 ? wanted[i / 2].held : 0);
        ck_assert_int_eq(s.k.rows.whole, s.k.rows.held != 0);
    }
}

/* A kernel for columns of one length has no loop over segments, and takes no others. */
TEST(whole_columns_are_checked)
{
    const lfuse__facts facts = gpu();
    lfuse__geometry g;
    lfuse__packed packed;
    sample s;
    sample_rows(&s, ROW_SUM, LFUSE_F32);
    sample_rows_inner(&s, LFUSE__STRIDE_ANY);
    lfuse__geometry_of_one(&g);
    g.extents[0] = 100, g.extents[1] = 64;
    s.k.rows = (lfuse__row_mapping){.form = LFUSE__ROWS_ITEM, .team = 32, .held = 64, .whole = true};
    OK(lfuse__family_rows.pack(&s.k, &facts, &g, &packed));
    for (g.extents[1] = 63; g.extents[1] <= 65; g.extents[1] += 2)
        FAILS(LFUSE_ERR_INVALID, lfuse__family_rows.pack(&s.k, &facts, &g, &packed));
    s.k.rows.whole = false;
    FAILS(LFUSE_ERR_INVALID, lfuse__family_rows.pack(&s.k, &facts, &g, &packed));
}

/* Rows of any length, by the largest group that the device takes. */
TEST(groups_that_the_device_takes)
{
    for (unsigned most = 64; most <= 1024; most *= 2) {
        lfuse__facts facts = gpu();
        sample s;
        facts.info.max_group = most;
        sample_rows(&s, ROW_NORM, LFUSE_F32);
        lfuse__rows_choose(&facts, 10000, 100000, false, &s.k);
        ck_assert_int_eq(s.k.rows.form, LFUSE__ROWS_GROUP);
        ck_assert_int_eq(s.k.rows.team, most < 512 ? (int)most : 512);
    }
}

TEST_SUITE("choice of row kernels", CK_FORK)
