/* SPDX-License-Identifier: Apache-2.0 */
/* Scans, and what is computed beside them. */
#include "common/graph/op.h"
#include "tests/cases/cases.h"

typedef lfuse_value scanner(lfuse_value a, int axis);

static lfuse_value near_one(harness *h, lfuse_value v)
{
    return lfuse_clamp(v, lfuse_constant(h_graph(h), 0.75), lfuse_constant(h_graph(h), 1.25));
}

/* ---- a row of scans.def: what it takes and gives as the head of that file says ---- */

enum { NUMBERS, SAME, FLOATING };

static void scan_by(harness *h, const char *name, scanner *make, int types, lfuse_value x, lfuse_type type, int axis)
{
    const bool floating = lfuse__is_floating(type);
    if ((types == FLOATING && !floating) || (types == SAME && type == LFUSE_BOOL)) return;
    if (make == lfuse_cumprod && floating) x = near_one(h, x);
    h_output(h, name, make(x, axis), types == NUMBERS && !floating ? LFUSE_I64 : type, SHAPE(9, 150), PLAIN);
}

static void scans_of(harness *h, lfuse_type type, int axis)
{
    lfuse_value x = h_input(h, "x", TYPED(type, 9, 150), PLAIN, NORMAL);
#define LFUSE__SCAN(name, op, types) scan_by(h, #name, lfuse_##name, types, x, type, axis);
#include "common/graph/scans.def"
#undef LFUSE__SCAN
    h_expect_same_bits(h);
}

CASE(scans_of_f32, EVERY_WAY) { scans_of(h, LFUSE_F32, 1); }
CASE(scans_down_f32, 0) { scans_of(h, LFUSE_F32, 0); }
CASE(scans_of_f16, 0) { scans_of(h, LFUSE_F16, 1); }
CASE(scans_of_bf16, 0) { scans_of(h, LFUSE_BF16, -1); }
CASE(scans_of_f64, 0) { scans_of(h, LFUSE_F64, 1); }
CASE(scans_down_f64, 0) { scans_of(h, LFUSE_F64, -2); }
CASE(scans_of_i8, EXACT) { scans_of(h, LFUSE_I8, 1); }
CASE(scans_of_u8, 0) { scans_of(h, LFUSE_U8, 0); }
CASE(scans_of_i32, EXACT) { scans_of(h, LFUSE_I32, 1); }
CASE(scans_of_i64, 0) { scans_of(h, LFUSE_I64, 1); }
CASE(scans_of_bool, 0) { scans_of(h, LFUSE_BOOL, 1); }

CASE(nasty_scans, EXACT)
{
    lfuse_value x = h_input(h, "x", F32(60, 40), PLAIN, NASTY);
    h_output(h, "sum", lfuse_cumsum(x, 1), F32(60, 40), PLAIN);
    h_output(h, "max", lfuse_cummax(x, 1), F32(60, 40), PLAIN);
    h_output(h, "min", lfuse_cummin(x, 0), F32(60, 40), PLAIN);
    h_expect_same_bits(h);
}

CASE(nasty_logcumsumexp, 0)
{
    lfuse_value x = h_input(h, "x", F32(60, 40), PLAIN, NASTY);
    h_output(h, "y", lfuse_logcumsumexp(x, 1), F32(60, 40), PLAIN);
}

/* ---- lengths: quads, blocks, chunks, and what is left of them ---- */

static void sums_along(harness *h, lfuse_size m, lfuse_size n, int axis, harness_layout layout)
{
    lfuse_value x = h_input(h, "x", F32(m, n), layout, NORMAL);
    h_output(h, "sum", lfuse_cumsum(x, axis), F32(m, n), layout);
    h_expect_same_bits(h);
    h_expect_launches(h, m && n);
}

CASE(scan_of_1, EXACT) { sums_along(h, 70, 1, 1, PLAIN); }
CASE(scan_of_3, EXACT) { sums_along(h, 700, 3, 1, PLAIN); }
CASE(scan_of_4, 0) { sums_along(h, 7, 4, 1, PLAIN); }
CASE(scan_of_5, 0) { sums_along(h, 300, 5, 1, OFFSET); }
CASE(scan_of_60, EXACT) { sums_along(h, 65, 60, 1, PLAIN); }
CASE(scan_of_128, 0) { sums_along(h, 33, 128, 1, PLAIN); }
CASE(scan_of_129, EXACT) { sums_along(h, 33, 129, 1, PLAIN); }
CASE(scan_of_1000, EXACT) { sums_along(h, 9, 1000, 1, STRIDED); }
CASE(scan_of_1024, EXACT) { sums_along(h, 40, 1024, 1, PLAIN); }
CASE(scan_of_1900, 0) { sums_along(h, 300, 1900, 1, PLAIN); }
CASE(scan_of_4096, EXACT) { sums_along(h, 5, 4096, 1, PLAIN); }
CASE(scan_of_4097, EXACT) { sums_along(h, 5, 4097, 1, PLAIN); }
CASE(scan_of_9000, EXACT) { sums_along(h, 200, 9000, 1, PLAIN); }
CASE(scan_of_150001, EXACT) { sums_along(h, 1, 150001, 1, PLAIN); }
CASE(scan_down, EXACT) { sums_along(h, 1300, 41, 0, PLAIN); }
CASE(scan_down_strided, 0) { sums_along(h, 131, 9, 0, STRIDED); }
CASE(scan_of_nothing, 0) { sums_along(h, 6, 0, 1, PLAIN); }
CASE(scan_of_no_rows, 0) { sums_along(h, 0, 6, 1, PLAIN); }

CASE(scan_between, EXACT)
{
    lfuse_value x = h_input(h, "x", F32(5, 60, 37), PLAIN, NORMAL);
    h_output(h, "sum", lfuse_cumsum(x, 1), F32(5, 60, 37), PLAIN);
    h_output(h, "turned", lfuse_cumsum(lfuse_transpose(x), 1), F32(5, 37, 60), PLAIN);
    h_expect_same_bits(h);
}

CASE(scan_of_sizes, 0)
{
    lfuse_size m = h_size(h, "m", 0, 4096, 13), n = h_size(h, "n", 0, 100000, 5500);
    lfuse_value x = h_input(h, "x", F32(m, n), PLAIN, NORMAL);
    h_output(h, "sum", lfuse_cumsum(x, 1), F32(m, n), PLAIN);
    h_output(h, "max", lfuse_cummax(x, 0), F32(m, n), PLAIN);
    h_expect_same_bits(h);
}

/* From the end: a view of what is scanned, and one of the result. */
CASE(scan_from_the_end, EXACT)
{
    lfuse_value x = h_input(h, "x", F32(8, 700), PLAIN, NORMAL);
    lfuse_value turned = lfuse_cumsum(lfuse_flip(x, 1, (const int[]){1}), 1);
    h_output(h, "y", lfuse_flip(turned, 1, (const int[]){1}), F32(8, 700), PLAIN);
    h_expect_same_bits(h);
}

/* ---- one kernel with what is computed of elements ---- */

static void fused_along(harness *h, int axis)
{
    lfuse_value x = h_input(h, "x", F32(70, 500), PLAIN, NORMAL);
    lfuse_value w = h_input(h, "w", F32(500), PLAIN, NORMAL);
    lfuse_value v = h_input(h, "v", F32(70, 1), PLAIN, NORMAL);
    lfuse_value made = lfuse_add(lfuse_mul(x, w), v);
    lfuse_value sum = lfuse_cumsum(made, axis);
    h_output(h, "y", lfuse_relu(lfuse_sub(lfuse_mul(sum, h_scalar(h, "scale", 0.5)), made)), F32(70, 500), PLAIN);
    h_output(h, "sum", sum, F32(70, 500), OFFSET);
    h_expect_same_bits(h);
    h_expect_launches(h, 1);
    h_expect_text(h, "(scan ");
}

CASE(scan_fused, EXACT | EVERY_WAY) { fused_along(h, 1); }
CASE(scan_fused_down, EXACT) { fused_along(h, 0); }

CASE(scan_of_look_ups, 0)
{
    lfuse_value table = h_input(h, "table", F32(50), PLAIN, NORMAL);
    lfuse_value at = h_indices(h, "at", I32(9, 300), 0, 49);
    lfuse_value x = lfuse_gather(table, at);
    h_output(h, "y", lfuse_cumsum(lfuse_mul(x, x), 1), F32(9, 300), PLAIN);
    h_output(h, "down", lfuse_cumsum(x, 0), F32(9, 300), PLAIN);
    h_expect_same_bits(h);
}

CASE(scan_beside_rows, EXACT)
{
    lfuse_value x = h_input(h, "x", F32(20, 333), PLAIN, NORMAL);
    lfuse_value centred = lfuse_sub(x, lfuse_mean(x, 1, (const int[]){1}, 1));
    h_output(h, "y", lfuse_cumsum(centred, 1), F32(20, 333), PLAIN);
    h_output(h, "twice", lfuse_cummax(lfuse_cumsum(x, 0), 1), F32(20, 333), PLAIN);
    h_output(h, "range", lfuse_amax(lfuse_cumsum(x, 1), 1, (const int[]){1}, 0), F32(20), PLAIN);
    h_expect_same_bits(h);
}

CASE(scan_in_place, EXACT | EVERY_WAY)
{
    lfuse_value x = h_input(h, "x", F32(22, 5000), PLAIN, NORMAL);
    h_update(h, x, lfuse_cumsum(lfuse_neg(x), 1));
    h_expect_same_bits(h);
}

/* full_like reads the scan for its shape alone. */
CASE(scan_of_which_the_shape_is_read, EXACT)
{
    lfuse_value scan = lfuse_cumsum(h_input(h, "x", F32(9, 150), PLAIN, NORMAL), 1);
    h_output(h, "y", lfuse_full_like(scan, h_scalar(h, "s", 0.5)), F32(9, 150), PLAIN);
    h_expect_same_bits(h);
}
