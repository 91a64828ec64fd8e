/* SPDX-License-Identifier: Apache-2.0 */
/* Scans through plans on the stub, by items, lanes and teams: sizes that vary, axes, places, and the order of sums. */
#include <stdlib.h>

#include "tests/run/rig.h"

enum { ITEMS, LANES, TEAMS, SMALL_GROUPS, FORMS, QUAD = 4, GROUPS = 32 };

static void in_form(int form)
{
    lfuse__stub.vector_lanes = form == LANES;
    lfuse__stub.simd = form >= TEAMS ? 32 : 1;
    if (form == SMALL_GROUPS) lfuse__stub.max_group = 256;
    lfuse__stub.compute_units = 4;
    reopen_stub();
}

static float wave(int64_t k)
{
    return (float)(k * 7919 % 1009) / 257 - 2;
}

static lfuse_tensor *waves(int rank, const int64_t *shape)
{
    return filled_tensor(rank, shape, wave);
}

/* ---- the order of reduce.h, over f32 ---- */

static float tree(const float *totals, int count)
{
    return count == 1 ? *totals : tree(totals, count / 2) + tree(totals + count / 2, count / 2);
}

static float prefix(const float *totals, int count)
{
    int size = 1;

    while (2 * size <= count) size *= 2;
    return size == count ? tree(totals, size) : tree(totals, size) + prefix(totals + size, count - size);
}

/* Element i of the row that begins with element `first`, whose neighbours are `step` apart. */
static void expect_row(const float *y, int64_t first, int64_t length, int64_t step)
{
    float quads[GROUPS], blocks[GROUPS], chunk = 0, start = 0, last = 0;
    bool chunks = false, started = false;

    for (int64_t i = 0; i < length; i++) {
        const int q = (int)(i / QUAD % GROUPS), b = (int)(i / QUAD / GROUPS % GROUPS);
        const float x = wave(first + i * step), own = q ? prefix(quads, q) : 0;
        last = i % QUAD ? last + x : x;
        const float before = started && q ? start + own : started ? start : own;
        const float expected = started || q ? before + last : last;
        ck_assert_msg(y[first + i * step] == expected, "row at %lld, element %lld of %lld: %a, not %a",
                      (long long)first, (long long)i, (long long)length, y[first + i * step], expected);
        if (i % QUAD != QUAD - 1) continue;
        quads[q] = last;
        if (q != GROUPS - 1) continue;
        blocks[b] = tree(quads, GROUPS);
        if (b == GROUPS - 1) {
            chunk = chunks ? chunk + tree(blocks, GROUPS) : tree(blocks, GROUPS);
            chunks = true;
        }
        const float within = b == GROUPS - 1 ? 0 : prefix(blocks, b + 1);
        start = b == GROUPS - 1 ? chunk : chunks ? chunk + within : within;
        started = true;
    }
}

TEST_CASE("scans", .setup = open_stub, .teardown = close_stub)

/* One plan for all sizes: no compile after it is made, one launch each, and the bits of the order. */
TEST_LOOP(sizes_vary_without_compiling, 0, FORMS)
{
    static const int64_t shapes[][2] = { { 3, 5 },  { 1, 1 },     { 200, 1 },   { 70, 3 },   { 7, 127 },  { 20, 128 },
                                         { 4, 129 }, { 2, 1024 }, { 33, 1025 }, { 15, 4096 }, { 1, 5000 }, { 2, 20000 },
                                         { 20, 3000 }, { 12, 5000 }, { 0, 9 }, { 5, 0 } };
    const lfuse_size n = lfuse_size_var((in_form(_i), g), "n", 0, 4096), m = lfuse_size_var(g, "m", 0, 65536);
    const lfuse_value x = lfuse_input(g, "x", F32(n, m));
    uint64_t compiled, launched;

    lfuse_output(g, "y", lfuse_cumsum(x, 1));
    lfuse_plan *plan = plan_with(0);
    compiled = compiles();
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        const int64_t rows = shapes[k][0], length = shapes[k][1];
        lfuse_tensor *tx = waves(2, shapes[k]), *ty = tensor(2, shapes[k]);
        launched = launches();
        RUN(plan, stream, BIND("x", tx), BIND("y", ty));
        ck_assert_uint_eq(launches() - launched, rows && length ? 1 : 0);
        const float *y = values(ty);
        for (int64_t r = 0; r < rows; r++) expect_row(y, r * length, length, 1);
    }
    ck_assert_uint_eq(compiles(), compiled);
}

/* Down columns, few and many: in one order. */
TEST_LOOP(columns, 0, FORMS)
{
    static const int64_t shapes[][2] = { { 4500, 3 }, { 130, 70 }, { 1, 5 }, { 17, 33 }, { 40, 300 } };
    const lfuse_size n = lfuse_size_var((in_form(_i), g), "n", 0, 8192), m = lfuse_size_var(g, "m", 0, 400);

    lfuse_output(g, "y", lfuse_cumsum(lfuse_input(g, "x", F32(n, m)), 0));
    lfuse_plan *plan = plan_with(0);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        lfuse_tensor *tx = waves(2, shapes[k]), *ty = tensor(2, shapes[k]);
        RUN(plan, stream, BIND("x", tx), BIND("y", ty));
        const float *y = values(ty);
        for (int64_t c = 0; c < shapes[k][1]; c++) expect_row(y, c, shapes[k][0], shapes[k][1]);
    }
}

/* Two scans of one value are two launches, as are a scan and a reduction; what is beside a scan joins it. */
TEST_LOOP(what_shares_a_launch, 0, FORMS)
{
    static const int64_t shape[2] = { 6, 300 };
    const lfuse_value x = lfuse_input((in_form(_i), g), "x", LFUSE_F32, 2, shape), y = lfuse_cumsum(x, 1);

    lfuse_output(g, "a", lfuse_mul(y, x));
    lfuse_output(g, "b", lfuse_cummax(x, 1));
    lfuse_output(g, "c", lfuse_amax(x, 1, (const int[]){ 1 }, 0));
    lfuse_plan *plan = plan_with(0);
    lfuse_tensor *tx = waves(2, shape), *ta = tensor(2, shape), *tb = tensor(2, shape), *tc = tensor(1, shape);
    const uint64_t launched = launches();
    RUN(plan, stream, BIND("x", tx), BIND("a", ta), BIND("b", tb), BIND("c", tc));
    ck_assert_uint_eq(launches() - launched, 3);
    const float *b = values(tb);
    for (int64_t r = 0; r < shape[0]; r++)
        for (int64_t i = 0; i < shape[1]; i++) {
            const float here = wave(r * shape[1] + i), before = i ? b[r * shape[1] + i - 1] : here;
            ck_assert(b[r * shape[1] + i] == (before > here ? before : here));
        }
}

TEST_SUITE("scans", CK_NOFORK)
