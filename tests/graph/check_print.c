/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a graph is a key: graphs that differ in anything but names have different texts. */
#include "common/graph/graph.h"
#include "libfuse/ops.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

typedef void maker(lfuse_graph *g);

/* Each makes a graph that differs from every other in one thing. */
static lfuse_value vector(lfuse_graph *g)
{
    return lfuse_input(g, "x", F32(8));
}
static void make_plain(lfuse_graph *g) { lfuse_output(g, "y", lfuse_neg(vector(g))); }
static void make_operator(lfuse_graph *g) { lfuse_output(g, "y", lfuse_abs(vector(g))); }
static void make_two_outputs(lfuse_graph *g)
{
    lfuse_value v = lfuse_neg(vector(g));
    lfuse_output(g, "y", v);
    lfuse_output(g, "z", v);
}
static void make_update(lfuse_graph *g)
{
    lfuse_value v = vector(g);
    lfuse_update(v, lfuse_neg(v));
}
static void make_both(lfuse_graph *g)
{
    lfuse_value v = vector(g), r = lfuse_neg(v);
    lfuse_update(v, r);
    lfuse_output(g, "y", r);
}
static void make_type(lfuse_graph *g)
{
    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F16(8))));
}
static void make_frozen(lfuse_graph *g)
{
    lfuse_output(g, "y", lfuse_neg(lfuse_frozen(g, "x", F32(8))));
}
static void make_extent(lfuse_graph *g)
{
    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F32(88))));
}
static void make_rank(lfuse_graph *g)
{
    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F32(8, 8))));
}
static void make_rank_zero(lfuse_graph *g)
{
    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", LFUSE_F32, 0, NULL)));
}
static void make_variable(lfuse_graph *g)
{
    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F32(lfuse_size_var(g, "n", 1, 8)))));
}
static void make_bounds(lfuse_graph *g)
{
    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F32(lfuse_size_var(g, "n", 1, 9)))));
}
static void make_equal_sizes(lfuse_graph *g)
{
    lfuse_size n = lfuse_size_var(g, "n", 1, 8);
    lfuse_size_var(g, "m", 1, 8);
    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F32(n, n))));
}
static void make_unequal_sizes(lfuse_graph *g)
{
    lfuse_size n = lfuse_size_var(g, "n", 1, 8), m = lfuse_size_var(g, "m", 1, 8);
    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F32(n, m))));
}
static void make_size_sum(lfuse_graph *g)
{
    lfuse_size n = lfuse_size_add(g, 2, lfuse_size_var(g, "n", 1, 8));
    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F32(n))));
}
static void make_size_product(lfuse_graph *g)
{
    lfuse_size n = lfuse_size_mul(g, 2, lfuse_size_var(g, "n", 1, 8));
    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F32(n))));
}
static void make_list(lfuse_graph *g)
{
    lfuse_output(g, "y", lfuse_neg(lfuse_list_input(g, "x", LFUSE_F32, LFUSE_RANK_ANY)));
}
static void make_constant(lfuse_graph *g) { lfuse_output(g, "y", lfuse_mul(vector(g), lfuse_constant(g, 0.1))); }
static void make_other_constant(lfuse_graph *g)
{
    lfuse_output(g, "y", lfuse_mul(vector(g), lfuse_constant(g, 0.1 + 1e-17 + 2e-17)));
}
static void make_zero(lfuse_graph *g) { lfuse_output(g, "y", lfuse_max(vector(g), lfuse_constant(g, 0.0))); }
static void make_minus_zero(lfuse_graph *g) { lfuse_output(g, "y", lfuse_max(vector(g), lfuse_constant(g, -0.0))); }
static void make_scalar(lfuse_graph *g) { lfuse_output(g, "y", lfuse_mul(vector(g), lfuse_scalar(g, "s"))); }
static void make_sum(lfuse_graph *g) { lfuse_output(g, "y", lfuse_sum(vector(g), 1, (const int[]){0}, 0)); }
static void make_sum_keep(lfuse_graph *g) { lfuse_output(g, "y", lfuse_sum(vector(g), 1, (const int[]){0}, 1)); }
static void make_permute(lfuse_graph *g)
{
    lfuse_value v = lfuse_input(g, "x", F32(8, 8, 8));
    lfuse_output(g, "y", lfuse_permute(v, (const int[]){1, 2, 0}));
}
static void make_other_permute(lfuse_graph *g)
{
    lfuse_value v = lfuse_input(g, "x", F32(8, 8, 8));
    lfuse_output(g, "y", lfuse_permute(v, (const int[]){2, 0, 1}));
}
static void make_product(lfuse_graph *g)
{
    lfuse_value a = lfuse_input(g, "a", F32(4, 4));
    lfuse_value b = lfuse_input(g, "b", F32(4, 4));
    lfuse_output(g, "y", lfuse_matmul(a, b));
}
static void make_other_product(lfuse_graph *g)
{
    lfuse_value a = lfuse_input(g, "a", F32(4, 4));
    lfuse_value b = lfuse_input(g, "b", F32(4, 4));
    lfuse_output(g, "y", lfuse_matmul(b, a));
}

static void product_as(lfuse_graph *g, lfuse_type in, lfuse_type type, lfuse_precision precision)
{
    lfuse_value a = lfuse_input(g, "a", in, SHAPE(4, 4)), b = lfuse_input(g, "b", in, SHAPE(4, 4));
    lfuse_output(g, "y", lfuse_matmul_as(a, b, type, precision));
}
static void make_tf32_product(lfuse_graph *g) { product_as(g, LFUSE_F32, LFUSE_F32, LFUSE_PRECISION_TF32); }
static void make_f32x3_product(lfuse_graph *g) { product_as(g, LFUSE_F32, LFUSE_F32, LFUSE_PRECISION_F32X3); }
static void make_f16_product(lfuse_graph *g) { product_as(g, LFUSE_F16, LFUSE_F16, LFUSE_PRECISION_FULL); }
static void make_wide_product(lfuse_graph *g) { product_as(g, LFUSE_F16, LFUSE_F32, LFUSE_PRECISION_FULL); }

/* Everything that a view, a look-up or a reduction holds is in the text. */
static lfuse_value cube(lfuse_graph *g)
{
    return lfuse_input(g, "x", F32(8, 8, 8));
}
static void slice_of(lfuse_graph *g, int axis, lfuse_size start, lfuse_size count, int64_t step)
{
    lfuse_output(g, "y", lfuse_slice(cube(g), axis, start, count, step));
}
static void make_slice(lfuse_graph *g) { slice_of(g, 0, 3, 2, 1); }
static void make_slice_axis(lfuse_graph *g) { slice_of(g, 1, 3, 2, 1); }
static void make_slice_start(lfuse_graph *g) { slice_of(g, 0, 4, 2, 1); }
static void make_slice_variable(lfuse_graph *g) { slice_of(g, 0, lfuse_size_var(g, "at", 0, 4), 2, 1); }
static void make_slice_count(lfuse_graph *g) { slice_of(g, 0, 3, 3, 1); }
static void make_slice_step(lfuse_graph *g) { slice_of(g, 0, 3, 2, 2); }
static void make_slice_back(lfuse_graph *g) { slice_of(g, 0, 3, 2, -2); }
static void concat_of(lfuse_graph *g, int axis, bool swapped)
{
    const lfuse_value v = cube(g), both[] = {v, lfuse_neg(v), v};
    lfuse_output(g, "y", lfuse_concat(2, both + swapped, axis));
}
static void make_concat(lfuse_graph *g) { concat_of(g, 0, false); }
static void make_concat_axis(lfuse_graph *g) { concat_of(g, 1, false); }
static void make_concat_swapped(lfuse_graph *g) { concat_of(g, 0, true); }
static void make_reshape(lfuse_graph *g) { lfuse_output(g, "y", lfuse_reshape(cube(g), SHAPE(8, 64))); }
static void make_other_reshape(lfuse_graph *g) { lfuse_output(g, "y", lfuse_reshape(cube(g), SHAPE(64, 8))); }
static void gather_of(lfuse_graph *g, lfuse_type type)
{
    lfuse_output(g, "y", lfuse_gather(cube(g), lfuse_input(g, "i", TYPED(type, 4))));
}
static void make_gather(lfuse_graph *g) { gather_of(g, LFUSE_I32); }
static void make_gather_wide(lfuse_graph *g) { gather_of(g, LFUSE_I64); }
static void scatter_of(lfuse_graph *g, lfuse_size rows)
{
    lfuse_output(g, "y", lfuse_scatter_add(cube(g), lfuse_input(g, "i", I32(8)), rows));
}
static void make_scatter(lfuse_graph *g) { scatter_of(g, 4); }
static void make_scatter_rows(lfuse_graph *g) { scatter_of(g, 5); }
static void make_index(lfuse_graph *g) { lfuse_output(g, "y", lfuse_index(g, SHAPE(8))); }
static void extent_of(lfuse_graph *g, bool other)
{
    const lfuse_size n = lfuse_size_var(g, "n", 1, 8), m = lfuse_size_var(g, "m", 1, 8);
    lfuse_output(g, "y", lfuse_mul(cube(g), lfuse_extent(g, other ? m : n)));
}
static void make_extent_value(lfuse_graph *g) { extent_of(g, false); }
static void make_other_extent_value(lfuse_graph *g) { extent_of(g, true); }
static const int middle[] = {1}, outer[] = {0, 2};
static void make_sum_middle(lfuse_graph *g) { lfuse_output(g, "y", lfuse_sum(cube(g), 1, middle, 0)); }
static void make_sum_outer(lfuse_graph *g) { lfuse_output(g, "y", lfuse_sum(cube(g), 2, outer, 0)); }
static void make_prod(lfuse_graph *g) { lfuse_output(g, "y", lfuse_prod(cube(g), 1, middle, 0)); }
static void make_amax(lfuse_graph *g) { lfuse_output(g, "y", lfuse_amax(cube(g), 1, middle, 0)); }
static void make_amin(lfuse_graph *g) { lfuse_output(g, "y", lfuse_amin(cube(g), 1, middle, 0)); }
static void make_argmax(lfuse_graph *g) { lfuse_output(g, "y", lfuse_argmax(cube(g), 1, middle, 0)); }
static void make_argmin(lfuse_graph *g) { lfuse_output(g, "y", lfuse_argmin(cube(g), 1, middle, 0)); }

static maker *const graphs[] = {
    make_slice, make_slice_axis, make_slice_start, make_slice_variable, make_slice_count, make_slice_step,
    make_slice_back, make_concat, make_concat_axis, make_concat_swapped, make_reshape, make_other_reshape, make_gather,
    make_gather_wide, make_scatter, make_scatter_rows, make_index, make_extent_value, make_other_extent_value,
    make_sum_middle, make_sum_outer, make_prod, make_amax, make_amin, make_argmax, make_argmin,
    make_plain, make_operator, make_two_outputs, make_update, make_both, make_type, make_frozen, make_extent,
    make_rank, make_rank_zero, make_variable, make_bounds, make_equal_sizes, make_unequal_sizes, make_size_sum,
    make_size_product, make_list, make_constant, make_other_constant, make_zero, make_minus_zero, make_scalar,
    make_sum, make_sum_keep, make_permute, make_other_permute, make_product, make_other_product,
    make_tf32_product, make_f32x3_product, make_f16_product, make_wide_product,
};
enum { GRAPHS = sizeof graphs / sizeof graphs[0] };

static char *key(maker *make)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_graph *g = new_graph(), *c;

    make(g);
    OK(lfuse__graph_canonical(g, &c));
    lfuse__graph_print(c, &text);
    OK(lfuse__strbuf_check(&text));
    char *copy = strdup(text.data);
    lfuse__strbuf_free(&text);
    drop(c);
    return copy;
}

TEST_CASE("print")

TEST(keys_differ)
{
    char *keys[GRAPHS];

    for (int i = 0; i < GRAPHS; i++) keys[i] = key(graphs[i]);
    for (int i = 0; i < GRAPHS; i++)
        for (int j = 0; j < i; j++) ck_assert_msg(strcmp(keys[i], keys[j]) != 0, "graphs %d and %d: %s", i, j, keys[i]);
    for (int i = 0; i < GRAPHS; i++) free(keys[i]);
}

TEST(keys_repeat)
{
    for (int i = 0; i < GRAPHS; i++) {
        char *a = key(graphs[i]), *b = key(graphs[i]);
        ck_assert_str_eq(a, b);
        free(a), free(b);
    }
}

static void make_plain_renamed(lfuse_graph *g)
{
    lfuse_output(g, "q", lfuse_neg(lfuse_input(g, "p", F32(8))));
}

TEST(names_are_no_part)
{
    char *a = key(make_plain), *b = key(make_plain_renamed);

    ck_assert_str_eq(a, b);
    free(a), free(b);
}

TEST(shared_values_do_not_explode)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_graph *g = new_graph();
    lfuse_value v = vector(g);

    for (int i = 0; i < 200; i++) v = lfuse_add(v, v);
    lfuse__graph_print_value(g, v.id, &text);
    ck_assert_uint_lt(text.length, 10000);
    lfuse__strbuf_free(&text);
}

TEST_SUITE("print", CK_FORK_GETENV)
