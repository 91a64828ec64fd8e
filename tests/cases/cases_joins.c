/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups, products with few columns, and independent work in one launch. */
#include <stdio.h>

#include "tests/cases/cases.h"

static lfuse_value norm_tanh(lfuse_value v)
{
    return lfuse_tanh(lfuse_layernorm(v, 1, lfuse_none(), lfuse_none(), 1e-5));
}

static lfuse_value named(harness *h, const char *letter, int i, int64_t m, int64_t n)
{
    char name[16];
    snprintf(name, sizeof name, "%s%d", letter, i);
    return h_input(h, name, F32(m, n), PLAIN, NORMAL);
}

/* ---- look-ups ---- */

static void look_up_of(harness *h, lfuse_type type, lfuse_type index, int64_t low, int64_t high)
{
    lfuse_value table = h_input(h, "table", TYPED(type, 30, 17), PLAIN, NASTY);
    lfuse_value at = h_indices(h, "at", index, SHAPE(8, 5), low, high);
    h_output(h, "y", lfuse_gather(table, at), TYPED(type, 8, 5, 17), PLAIN);
    h_expect_same_bits(h);
}

CASE(look_up_f32, EXACT) { look_up_of(h, LFUSE_F32, LFUSE_I32, 0, 29); }
CASE(look_up_f16, 0) { look_up_of(h, LFUSE_F16, LFUSE_I64, 0, 29); }
CASE(look_up_i8, 0) { look_up_of(h, LFUSE_I8, LFUSE_I32, 0, 29); }
CASE(look_up_out_of_range, EVERY_WAY) { look_up_of(h, LFUSE_F32, LFUSE_I64, -3, 33); }

CASE(look_up_then_work, EVERY_WAY)
{
    lfuse_value table = h_input(h, "table", F32(50, 64), PLAIN, NORMAL);
    lfuse_value at = h_indices(h, "at", I32(33), 0, 49);
    h_output(h, "y", norm_tanh(lfuse_gather(table, at)), F32(33, 64), PLAIN);
    h_expect_launches(h, 1);
}

CASE(look_up_what_is_computed, EXACT)
{
    lfuse_value x = h_input(h, "x", F32(20, 12), STRIDED, NORMAL);
    lfuse_value at = h_indices(h, "at", I64(45), 0, 19);
    lfuse_value scaled = lfuse_mul(x, lfuse_constant(h_graph(h), 3));
    h_output(h, "y", lfuse_add(lfuse_gather(scaled, at), lfuse_gather(x, lfuse_flip(at, 1, (const int[]){0}))),
             F32(45, 12), PLAIN);
    h_output(h, "best", lfuse_gather(lfuse_transpose(x), lfuse_argmax(x, 1, (const int[]){1}, 0)), F32(20, 20), PLAIN);
    h_expect_same_bits(h);
}

/* What needs no memory elsewhere lies in memory here. */
CASE(look_up_indices, EXACT)
{
    lfuse_value at = h_indices(h, "at", I32(50), 0, 8);
    lfuse_value table = lfuse_index(h_graph(h), SHAPE(9, 5));
    h_output(h, "y", lfuse_gather(table, at), I64(50, 5), PLAIN);
    h_expect_same_bits(h);
}

CASE(look_up_numbers, 0)
{
    lfuse_value table = h_frozen(h, "table", F32(9), NORMAL);
    lfuse_value at = h_indices(h, "at", I32(7, 20), 0, 8);
    h_output(h, "sum", lfuse_sum(lfuse_gather(table, at), 1, (const int[]){1}, 0), F32(7), PLAIN);
    h_expect_same_bits(h);
}

static void scatters_of(harness *h, lfuse_type type, harness_data data)
{
    lfuse_value x = h_input(h, "x", TYPED(type, 40, 11), PLAIN, data);
    lfuse_value at = h_indices(h, "at", I32(40), 0, 6);
    h_output(h, "y", lfuse_scatter_add(x, at, 7), TYPED(type, 7, 11), PLAIN);
    h_expect_same_bits(h);
}

CASE(scatters, EXACT) { scatters_of(h, LFUSE_F32, NORMAL); }
CASE(scatters_f64, 0) { scatters_of(h, LFUSE_F64, NORMAL); }
CASE(scatters_f16, 0) { scatters_of(h, LFUSE_F16, INTEGERS); }
CASE(scatters_i32, 0) { scatters_of(h, LFUSE_I32, NASTY); }

/* As many rows as a size says, so that indices are sorted. */
static void scatters_many_of(harness *h, lfuse_type type, lfuse_type indices, harness_data data)
{
    lfuse_size rows = h_size(h, "rows", 1, INT64_C(1) << 30, 70);
    lfuse_value x = h_input(h, "x", TYPED(type, 150, 19), STRIDED, data);
    lfuse_value at = h_indices(h, "at", indices, SHAPE(150), 0, 69);
    h_output(h, "y", lfuse_scatter_add(x, at, rows), TYPED(type, rows, 19), PLAIN);
    h_expect_same_bits(h);
}

CASE(scatters_many, EXACT) { scatters_many_of(h, LFUSE_F32, LFUSE_I64, NASTY); }
CASE(scatters_many_f64, EXACT) { scatters_many_of(h, LFUSE_F64, LFUSE_I32, NORMAL); }
CASE(scatters_many_f16, EXACT) { scatters_many_of(h, LFUSE_F16, LFUSE_I32, NORMAL); }
CASE(scatters_many_e4m3, EXACT) { scatters_many_of(h, LFUSE_E4M3, LFUSE_I32, NORMAL); }
CASE(scatters_many_bf16, EXACT) { scatters_many_of(h, LFUSE_BF16, LFUSE_I32, NORMAL); }
CASE(scatters_many_i8, EXACT) { scatters_many_of(h, LFUSE_I8, LFUSE_I32, NASTY); }
CASE(scatters_many_u8, EXACT) { scatters_many_of(h, LFUSE_U8, LFUSE_I32, NASTY); }
CASE(scatters_many_i32, EXACT) { scatters_many_of(h, LFUSE_I32, LFUSE_I64, NASTY); }
CASE(scatters_many_i64, EXACT) { scatters_many_of(h, LFUSE_I64, LFUSE_I64, NASTY); }

/* Of a view of what is computed, by a part of the indices, into a part of the result; and what is frozen. */
CASE(scatters_many_views, EVERY_WAY)
{
    lfuse_size rows = h_size(h, "rows", 1, INT64_C(1) << 30, 70);
    lfuse_value x = h_input(h, "x", F32(6, 64), PLAIN, NORMAL);
    lfuse_value at = h_indices(h, "at", I32(8, 16), 0, 69);
    lfuse_value table = h_frozen(h, "table", F32(70, 6), NORMAL);
    lfuse_value half = lfuse_slice(at, 1, 1, 8, 2), turned = lfuse_permute(lfuse_neg(x), (const int[]){1, 0});
    lfuse_value source = lfuse_reshape(turned, SHAPE(8, 8, 6));
    lfuse_value kept = lfuse_scatter_add(table, lfuse_flip(lfuse_index(h_graph(h), SHAPE(70)), 1,
                                                           (const int[]){0}), rows);
    h_output(h, "y", lfuse_concat(2, (const lfuse_value[]){lfuse_scatter_add(source, half, rows), lfuse_neg(kept)}, 1),
             F32(rows, 12), PLAIN);
    h_output(h, "z", lfuse_scatter_add(lfuse_broadcast_to(lfuse_cast(lfuse_constant(h_graph(h), 1), LFUSE_F32),
                                                          SHAPE(64)), lfuse_reshape(half, SHAPE(64)), rows), F32(rows),
             PLAIN);
    h_expect_same_bits(h);
}

/* What is added to itself, turned round. */
CASE(scatters_many_updates, 0)
{
    lfuse_size rows = h_size(h, "rows", 1, INT64_C(1) << 30, 70);
    lfuse_value x = h_input(h, "x", F32(rows, 5), PLAIN, NORMAL);
    lfuse_value at = h_indices(h, "at", I32(rows), 0, 69);
    h_update(h, x, lfuse_scatter_add(x, at, rows));
    h_expect_same_bits(h);
}

/* One row for all, and one element for each. */
CASE(scatters_many_single, 0)
{
    lfuse_size rows = h_size(h, "rows", 1, INT64_C(1) << 30, 70);
    lfuse_value x = h_input(h, "x", F32(5), PLAIN, NORMAL);
    lfuse_value at = h_indices(h, "at", LFUSE_I32, 0, NULL, 60, 60);
    lfuse_value ones = h_input(h, "ones", I32(3, 200), PLAIN, INTEGERS);
    lfuse_value to = h_indices(h, "to", I64(3, 200), 0, 69);
    h_output(h, "y", lfuse_scatter_add(x, at, rows), F32(rows, 5), PLAIN);
    h_output(h, "z", lfuse_scatter_add(ones, to, rows), I32(rows), PLAIN);
    h_expect_same_bits(h);
}

/* The recommendation case: tables of different heights. */
CASE(many_look_ups, EVERY_WAY)
{
    enum { TABLES = 26, BATCH = 24, WIDTH = 16 };
    lfuse_value parts[TABLES];
    char name[16];
    for (int i = 0; i < TABLES; i++) {
        const int64_t height = 3 + 5 * i;
        lfuse_value table = named(h, "t", i, height, WIDTH);
        snprintf(name, sizeof name, "at%d", i);
        parts[i] = norm_tanh(lfuse_gather(table, h_indices(h, name, I32(BATCH), 0, height - 1)));
    }
    h_output(h, "y", lfuse_concat(TABLES, parts, 1), F32(BATCH, TABLES * WIDTH), PLAIN);
    h_expect_launches_within(h, 1, 4096);
}

/* ---- split and stack ---- */

CASE(split_and_stack, EVERY_WAY)
{
    enum { PARTS = 16, BATCH = 20, WIDTH = 64 };
    lfuse_value parts[PARTS];
    lfuse_value x = h_input(h, "x", F32(BATCH, PARTS * WIDTH), PLAIN, NORMAL);
    lfuse_value w = h_input(h, "w", F32(WIDTH, 1), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(1), PLAIN, NORMAL);
    lfuse_chunk(x, 1, PARTS, parts);
    for (int i = 0; i < PARTS; i++) parts[i] = norm_tanh(parts[i]);
    lfuse_value rows = lfuse_flatten(lfuse_stack(PARTS, parts, 0), 0, 1);
    h_output(h, "y", lfuse_relu(lfuse_add(lfuse_matmul(rows, w), b)), F32(PARTS * BATCH, 1), PLAIN);
    h_expect_launches_within(h, 1, 4096);
}

/* The same of tensors of their own: sixteen slices are sixteen inputs. */
CASE(separate_and_stack, EVERY_WAY)
{
    enum { PARTS = 16, BATCH = 20, WIDTH = 64 };
    lfuse_value parts[PARTS];
    lfuse_value w = h_input(h, "w", F32(WIDTH, 1), PLAIN, NORMAL);
    for (int i = 0; i < PARTS; i++) parts[i] = norm_tanh(named(h, "x", i, BATCH, WIDTH));
    lfuse_value rows = lfuse_flatten(lfuse_stack(PARTS, parts, 1), 0, 1);
    h_output(h, "y", lfuse_relu(lfuse_matmul(rows, w)), F32(PARTS * BATCH, 1), PLAIN);
}

/* ---- products with few columns ---- */

CASE(few_columns, EVERY_WAY)
{
    lfuse_value x = h_input(h, "x", F32(40, 96), PLAIN, NORMAL);
    lfuse_value w = h_input(h, "w", F32(96, 4), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(4), PLAIN, NORMAL);
    h_output(h, "y", lfuse_relu(lfuse_add(lfuse_matmul(norm_tanh(x), w), b)), F32(40, 4), PLAIN);
    h_expect_launches(h, 1);
}

CASE(few_columns_f16, 0)
{
    lfuse_value x = h_input(h, "x", F16(19, 70), PLAIN, NORMAL);
    lfuse_value w = h_input(h, "w", F16(70, 8), PLAIN, NORMAL);
    h_output(h, "y", lfuse_matmul(lfuse_relu(x), w), F16(19, 8), PLAIN);
}

CASE(few_columns_exact, EXACT)
{
    lfuse_value x = h_input(h, "x", F32(19, 70), PLAIN, INTEGERS);
    lfuse_value w = h_frozen(h, "w", F32(70, 3), INTEGERS);
    h_output(h, "y", lfuse_matmul(lfuse_relu(x), w), F32(19, 3), PLAIN);
    h_expect_same_bits(h);
}

/* The same of what has three axes, in one kernel, with a bias. */
CASE(few_columns_of_three_axes, EVERY_WAY)
{
    lfuse_value x = h_input(h, "x", F32(3, 19, 70), PLAIN, NORMAL);
    lfuse_value w = h_input(h, "w", F32(70, 2), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(2), PLAIN, NORMAL);
    lfuse_value y = lfuse_add(lfuse_matmul(lfuse_layernorm(x, 1, lfuse_none(), lfuse_none(), 1e-5), w), b);
    h_output(h, "y", lfuse_relu(y), F32(3, 19, 2), PLAIN);
    h_expect_launches(h, 1);
}

/* ---- independent work ---- */

CASE(equals, EVERY_WAY)
{
    char name[16];
    for (int i = 0; i < 5; i++) {
        const int64_t m = 3 + 7 * i;
        lfuse_value y = lfuse_sub(named(h, "x", i, m, 40), lfuse_constant(h_graph(h), 1));
        snprintf(name, sizeof name, "y%d", i);
        h_output(h, name, lfuse_mul(y, y), F32(m, 40), i == 3 ? OFFSET : PLAIN);
    }
    h_expect_same_bits(h);
    h_expect_launches(h, 1);
}

CASE(unlike, EVERY_WAY)
{
    lfuse_value a = named(h, "x", 0, 9, 30), b = named(h, "x", 1, 21, 8);
    h_output(h, "a", lfuse_abs(a), F32(9, 30), PLAIN);
    h_output(h, "b", lfuse_sum(lfuse_mul(b, b), 1, (const int[]){1}, 0), F32(21), PLAIN);
    h_expect_same_bits(h);
    h_expect_launches(h, 1);
}

/* Independent but for what is updated: the order stays. */
CASE(equals_that_update, EVERY_WAY)
{
    lfuse_value a = named(h, "x", 0, 9, 30), b = named(h, "x", 1, 9, 30), c = named(h, "x", 2, 9, 30);
    h_update(h, a, lfuse_add(b, c));
    h_update(h, b, lfuse_add(c, a));
    h_update(h, c, lfuse_add(a, b));
    h_expect_same_bits(h);
}

/* ---- what several kernels read ---- */

/* Twice the input is computed by both, which have no kernel before them. */
CASE(computed_by_each_reader, EXACT | EVERY_WAY)
{
    lfuse_value x = h_input(h, "x", F32(37, 70), PLAIN, INTEGERS), v = lfuse_add(x, x);
    h_output(h, "rows", lfuse_sum(v, 1, (const int[]){1}, 0), F32(37), PLAIN);
    h_output(h, "columns", lfuse_sum(v, 1, (const int[]){0}, 0), F32(70), PLAIN);
    h_expect_same_bits(h);
    h_expect_launches(h, 1);
}

/* One number a row is stored, of the elements those that are dear. */
CASE(rows_for_several_readers, EVERY_WAY)
{
    lfuse_value x = h_input(h, "x", F32(37, 70), PLAIN, NORMAL);
    lfuse_value v = lfuse_sub(x, lfuse_amax(x, 1, (const int[]){1}, 1)), e = lfuse_exp(lfuse_tanh(v));
    h_output(h, "rows", lfuse_sum(e, 1, (const int[]){1}, 0), F32(37), PLAIN);
    h_output(h, "columns", lfuse_sum(v, 1, (const int[]){0}, 0), F32(70), PLAIN);
    h_output(h, "sums", lfuse_sum(e, 1, (const int[]){0}, 0), F32(70), PLAIN);
}

/* The planner cuts a value that had a place in a concatenation, and plans again: it has memory of its own then. */
CASE(outer_product_of_joins_joined, 0)
{
    lfuse_value parts[3] = {
        lfuse_sub(h_scalar(h, "r", 1), h_input(h, "a", F32(6, 1), PLAIN, NORMAL)),
        lfuse_sub(h_scalar(h, "s", 2), h_input(h, "b", F32(4, 1), PLAIN, NORMAL)),
        lfuse_sub(h_scalar(h, "t", 3), h_input(h, "c", F32(6, 1), PLAIN, NORMAL)),
    };
    lfuse_value row = h_input(h, "row", F32(1, 6), PLAIN, NORMAL);
    lfuse_value outer = lfuse_matmul(lfuse_concat(3, parts, 0), row);
    lfuse_value under[2] = { outer, h_input(h, "d", F32(3, 6), PLAIN, NORMAL) };
    h_output(h, "joined", lfuse_concat(2, under, 0), F32(19, 6), PLAIN);
    h_output(h, "product", lfuse_matmul(outer, h_input(h, "e", F32(6, 1), PLAIN, NORMAL)), F32(16, 1), PLAIN);
}
