/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of results, and symbolic extents. */
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
    OK(lfuse_graph_check(g));
    lfuse_graph_destroy(g);
}

static void ck_shape(lfuse_value v, const char *expected)
{
    ck_assert_msg(v.id >= 0, "%s", g->message);
    ck_assert_msg(!strcmp(lfuse__describe(g, v.id).text, expected), "%s is not %s", lfuse__describe(g, v.id).text,
                  expected);
}

static void ck_size(lfuse_size s, const char *expected)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;

    lfuse__size_print(g, s, &text);
    ck_assert_str_eq(text.data, expected);
    lfuse__strbuf_free(&text);
}

TEST_CASE("shape", .setup = make, .teardown = destroy)

TEST(broadcasting)
{
    const lfuse_value a = lfuse_input(g, "a", F32(n, 1, 5));
    const lfuse_value b = lfuse_input(g, "b", F32(7, 1));
    const lfuse_value c = lfuse_input(g, "c", LFUSE_F32, 0, NULL);
    const lfuse_value empty = lfuse_input(g, "empty", F32(0));
    const lfuse_value one = lfuse_input(g, "one", F32(1, 1));

    ck_shape(lfuse_add(a, b), "f32 [n, 7, 5]");
    ck_shape(lfuse_add(b, a), "f32 [n, 7, 5]");
    ck_shape(lfuse_mul(c, c), "f32 []");
    ck_shape(lfuse_mul(c, b), "f32 [7, 1]");
    ck_shape(lfuse_max(one, empty), "f32 [1, 0]");
    ck_shape(lfuse_fma(a, b, c), "f32 [n, 7, 5]");
    ck_shape(lfuse_where(lfuse_lt(b, c), c, a), "f32 [n, 7, 5]");
    ck_shape(lfuse_eq(a, a), "bool [n, 1, 5]");
    ck_shape(lfuse_broadcast_to(b, SHAPE(m, n, 7, 3)), "f32 [m, n, 7, 3]");
    ck_shape(lfuse_broadcast_to(c, SHAPE(lfuse_size_add(g, n, m))), "f32 [n + m]");
    ck_shape(lfuse_broadcast_to(c, 0, NULL), "f32 []");
}

TEST(views_and_sums)
{
    const lfuse_value a = lfuse_input(g, "a", F16(n, 3, m));

    ck_shape(lfuse_permute(a, (const int[]){2, 0, 1}), "f16 [m, n, 3]");
    ck_shape(lfuse_transpose(a), "f16 [n, m, 3]");
    ck_shape(lfuse_sum(a, 1, (const int[]){-1}, 0), "f16 [n, 3]");
    ck_shape(lfuse_sum(a, 2, (const int[]){2, 1}, 1), "f16 [n, 1, 1]");
    ck_shape(lfuse_sum(a, 3, (const int[]){0, 1, 2}, 0), "f16 []");
    ck_assert_int_eq(lfuse_sum(a, 0, NULL, 0).id, a.id);
    ck_shape(lfuse_cumsum(a, -1), "f16 [n, 3, m]");
    ck_shape(lfuse_cumprod(lfuse_cast(a, LFUSE_U8), 0), "i64 [n, 3, m]");
    ck_shape(lfuse_cummin(lfuse_cast(a, LFUSE_U8), 1), "u8 [n, 3, m]");
}

TEST(products)
{
    const lfuse_value a = lfuse_input(g, "a", F64(n, m));
    const lfuse_value b = lfuse_input(g, "b", F64(m, lfuse_size_mul(g, n, 2)));
    const lfuse_value none = lfuse_input(g, "none", F64(m, 0));

    ck_shape(lfuse_matmul(a, b), "f64 [n, n * 2]");
    ck_shape(lfuse_matmul(a, none), "f64 [n, 0]");
    ck_shape(lfuse_matmul(lfuse_transpose(none), none), "f64 [0, 0]");
    ck_shape(lfuse_matmul(a, lfuse_transpose(a)), "f64 [n, n]");
}

/* The type of the result, and the value as it is made: what is a cast and what is the product's own. */
TEST(products_of_named_types)
{
    static const struct { lfuse_type a, b, type; lfuse_precision precision; const char *shape, *text; } rows[] = {
        { LFUSE_F32, LFUSE_F32, LFUSE_TYPE_NONE, LFUSE_PRECISION_FULL, "f32 [n, 5]", "(matmul a b)" },
        { LFUSE_F16, LFUSE_F16, LFUSE_F32, LFUSE_PRECISION_FULL, "f32 [n, 5]", "(matmul a b)" },
        { LFUSE_F16, LFUSE_F16, LFUSE_BF16, LFUSE_PRECISION_FULL, "bf16 [n, 5]", "(bf16 (matmul a b))" },
        { LFUSE_F32, LFUSE_F32, LFUSE_F16, LFUSE_PRECISION_FULL, "f16 [n, 5]", "(f16 (matmul a b))" },
        { LFUSE_F16, LFUSE_F32, LFUSE_TYPE_NONE, LFUSE_PRECISION_FULL, "f32 [n, 5]", "(matmul a b)" },
        { LFUSE_F16, LFUSE_BF16, LFUSE_TYPE_NONE, LFUSE_PRECISION_FULL, "f32 [n, 5]", "(matmul a b)" },
        { LFUSE_F16, LFUSE_F64, LFUSE_TYPE_NONE, LFUSE_PRECISION_FULL, "f64 [n, 5]", "(matmul (f64 a) b)" },
        { LFUSE_F64, LFUSE_F64, LFUSE_F32, LFUSE_PRECISION_FULL, "f32 [n, 5]", "(f32 (matmul a b))" },
        { LFUSE_F32, LFUSE_F32, LFUSE_TYPE_NONE, LFUSE_PRECISION_TF32, "f32 [n, 5]", "(matmul_tf32 a b)" },
        { LFUSE_BF16, LFUSE_F32, LFUSE_BF16, LFUSE_PRECISION_TF32, "bf16 [n, 5]", "(bf16 (matmul_tf32 (f32 a) b))" },
        { LFUSE_F32, LFUSE_F32, LFUSE_TYPE_NONE, LFUSE_PRECISION_F32X3, "f32 [n, 5]", "(matmul_f32x3 a b)" },
        { LFUSE_F32, LFUSE_F16, LFUSE_F16, LFUSE_PRECISION_F32X3, "f16 [n, 5]", "(f16 (matmul_f32x3 a (f32 b)))" },
        { LFUSE_F32, LFUSE_F32, LFUSE_F32, LFUSE_PRECISION_BF16X6, "f32 [n, 5]", "(matmul_bf16x6 a b)" },
        { LFUSE_F32, LFUSE_F32, LFUSE_TYPE_NONE, LFUSE_PRECISION_BF16, "f32 [n, 5]", "(matmul (bf16 a) (bf16 b))" },
        { LFUSE_F32, LFUSE_F16, LFUSE_F16, LFUSE_PRECISION_F16, "f16 [n, 5]", "(matmul (f16 a) b)" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lfuse_graph *one = lfuse_graph_create();
        const lfuse_size rows_of_a = lfuse_size_var(one, "n", 1, 64);
        const lfuse_value a = lfuse_input(one, "a", rows[i].a, SHAPE(rows_of_a, 3));
        const lfuse_value b = lfuse_input(one, "b", rows[i].b, SHAPE(3, 5));
        const lfuse_value c = lfuse_matmul_as(a, b, rows[i].type, rows[i].precision);
        lfuse__strbuf text = LFUSE__STRBUF_INIT;
        ck_assert_msg(c.id >= 0, "%d: %s", (int)i, one->message);
        ck_assert_msg(!strcmp(lfuse__describe(one, c.id).text, rows[i].shape), "%d: %s", (int)i, rows[i].shape);
        lfuse__graph_print_value(one, c.id, &text);
        ck_assert_str_eq(text.data, rows[i].text);
        lfuse__strbuf_free(&text);
        lfuse_graph_destroy(one);
    }
}

TEST(stacked_products)
{
    const lfuse_value a = lfuse_input(g, "a", F32(n, 3, m, 5));
    const lfuse_value b = lfuse_input(g, "b", F32(5, m));

    ck_shape(lfuse_matmul(a, b), "f32 [n, 3, m, m]");
    ck_shape(lfuse_matmul(lfuse_slice(a, 1, 0, 0, 1), b), "f32 [n, 0, m, m]");
}

TEST(batched_products)
{
    const lfuse_value a = lfuse_input(g, "a", F32(n, 1, m, 5));
    const lfuse_value b = lfuse_input(g, "b", F32(3, 5, 7));
    const lfuse_value c = lfuse_input(g, "c", F32(n, 3, 5, 2));
    const lfuse_value w = lfuse_input(g, "w", F32(2, m));

    ck_shape(lfuse_matmul(a, b), "f32 [n, 3, m, 7]");
    ck_shape(lfuse_matmul(a, c), "f32 [n, 3, m, 2]");
    ck_shape(lfuse_matmul(lfuse_transpose(b), c), "f32 [n, 3, 7, 2]");
    ck_shape(lfuse_matmul(w, a), "f32 [n, 1, 2, 5]");
}

static lfuse_type type_of(lfuse_value v)
{
    ck_assert_msg(v.id >= 0, "%s", g->message);
    return (lfuse_type)g->nodes[v.id].type;
}

TEST(reductions)
{
    static const struct {
        lfuse_type of, sum, extreme;
    } types[] = {
        {LFUSE_F32, LFUSE_F32, LFUSE_F32}, {LFUSE_F16, LFUSE_F16, LFUSE_F16}, {LFUSE_BF16, LFUSE_BF16, LFUSE_BF16},
        {LFUSE_F64, LFUSE_F64, LFUSE_F64}, {LFUSE_I32, LFUSE_I64, LFUSE_I32}, {LFUSE_I64, LFUSE_I64, LFUSE_I64},
        {LFUSE_I8, LFUSE_I64, LFUSE_I8},   {LFUSE_U8, LFUSE_I64, LFUSE_U8},   {LFUSE_BOOL, LFUSE_I64, 0},
    };
    const lfuse_value a = lfuse_input(g, "a", F16(n, 3, m));
    const int ends[] = {-1, 0}, first[] = {0};

    ck_shape(lfuse_sum(a, 2, ends, 0), "f16 [3]");
    ck_shape(lfuse_prod(a, 2, ends, 1), "f16 [1, 3, 1]");
    ck_shape(lfuse_amax(a, LFUSE_ALL_AXES, NULL, 1), "f16 [1, 1, 1]");
    ck_shape(lfuse_amin(a, 1, first, 0), "f16 [3, m]");
    ck_shape(lfuse_argmax(a, 1, first, 0), "i64 [3, m]");
    ck_shape(lfuse_argmin(a, LFUSE_ALL_AXES, NULL, 0), "i64 []");
    ck_shape(lfuse_argmax(lfuse_input(g, "r0", LFUSE_F16, 0, NULL), LFUSE_ALL_AXES, NULL, 0), "i64 []");
    ck_shape(lfuse_argmin(lfuse_input(g, "r1", LFUSE_U8, 0, NULL), LFUSE_ALL_AXES, NULL, 1), "i64 []");
    ck_shape(lfuse_any(a, 1, first, 1), "bool [1, 3, m]");
    ck_shape(lfuse_all(a, LFUSE_ALL_AXES, NULL, 0), "bool []");
    ck_shape(lfuse_mean(a, 2, ends, 0), "f16 [3]");
    ck_shape(lfuse_var(a, 2, ends, 1, 1), "f16 [1, 3, 1]");
    ck_shape(lfuse_norm_l1(a, 1, first, 0), "f16 [3, m]");
    ck_shape(lfuse_norm_l2(a, 1, first, 1), "f16 [1, 3, m]");
    ck_shape(lfuse_norm_inf(a, 1, first, 0), "f16 [3, m]");
    ck_shape(lfuse_norm(a, 1, first, 3, 0), "f16 [3, m]");
    ck_shape(lfuse_norm(a, 2, ends, 0, 1), "f16 [1, 3, 1]");
    ck_shape(lfuse_nansum(a, 2, ends, 0), "f16 [3]");
    ck_shape(lfuse_count_nonzero(a, 2, ends, 1), "i64 [1, 3, 1]");
    ck_shape(lfuse_logsumexp(a, 2, ends, 0), "f16 [3]");
    ck_shape(lfuse_logsumexp(a, 2, ends, 1), "f16 [1, 3, 1]");
    ck_shape(lfuse_sum(lfuse_index(g, SHAPE(0, n)), LFUSE_ALL_AXES, NULL, 0), "i64 []");
    ck_shape(lfuse_mean(lfuse_slice(a, 1, 3, 0, 1), LFUSE_ALL_AXES, NULL, 0), "f16 []");
    ck_assert_int_eq(lfuse_amax(a, 0, NULL, 1).id, a.id);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const lfuse_value t = lfuse_cast(a, types[i].of);
        ck_assert_int_eq(type_of(lfuse_sum(t, 1, first, 0)), types[i].sum);
        ck_assert_int_eq(type_of(lfuse_prod(t, 1, first, 0)), types[i].sum);
        ck_assert_int_eq(type_of(lfuse_sum(t, 0, NULL, 0)), types[i].sum);
        ck_assert_int_eq(type_of(lfuse_any(t, 0, NULL, 0)), LFUSE_BOOL);
        ck_assert_int_eq(type_of(lfuse_all(t, 1, first, 0)), LFUSE_BOOL);
        if (!types[i].extreme) continue;
        ck_assert_int_eq(type_of(lfuse_amin(t, 1, first, 0)), types[i].extreme);
        ck_assert_int_eq(type_of(lfuse_argmin(t, 1, first, 0)), LFUSE_I64);
    }
}

TEST(normalisations)
{
    const lfuse_value a = lfuse_input(g, "a", BF16(n, 6, m));
    const lfuse_value w = lfuse_input(g, "w", BF16(6, m));
    const lfuse_value wide = lfuse_input(g, "wide", F32(6));
    const lfuse_value flat = lfuse_input(g, "flat", F64(m, lfuse_size_mul(g, n, 4)));

    ck_shape(lfuse_softmax(a, 1, (const int[]){1}), "bf16 [n, 6, m]");
    ck_shape(lfuse_log_softmax(a, LFUSE_ALL_AXES, NULL), "bf16 [n, 6, m]");
    ck_shape(lfuse_layernorm(a, 2, w, w, 1e-5), "bf16 [n, 6, m]");
    ck_shape(lfuse_layernorm(a, 3, lfuse_none(), lfuse_none(), 1e-5), "bf16 [n, 6, m]");
    ck_shape(lfuse_rmsnorm(a, 2, lfuse_cast(w, LFUSE_F32), 0), "bf16 [n, 6, m]");
    ck_shape(lfuse_groupnorm(a, 3, wide, lfuse_cast(wide, LFUSE_BF16), 1e-5), "bf16 [n, 6, m]");
    ck_shape(lfuse_groupnorm(flat, 2, lfuse_none(), lfuse_none(), 0), "f64 [m, n * 4]");
    ck_shape(lfuse_l2_normalize(a, 1, (const int[]){-1}, 1e-12), "bf16 [n, 6, m]");
}

TEST(reshapes)
{
    const lfuse_value a = lfuse_input(g, "a", I8(n, 6, m));
    const lfuse_value sum = lfuse_input(g, "sum", I8(lfuse_size_add(g, n, m), 4));
    const lfuse_value empty = lfuse_input(g, "empty", I8(0, m));
    const lfuse_value zero = lfuse_input(g, "zero", LFUSE_I8, 0, NULL);
    const lfuse_size nm = lfuse_size_mul(g, n, m);

    ck_shape(lfuse_reshape(a, SHAPE(m, 2, n, 3)), "i8 [m, 2, n, 3]");
    ck_shape(lfuse_reshape(a, SHAPE(lfuse_size_mul(g, 6, nm))), "i8 [(n * m) * 6]");
    ck_shape(lfuse_reshape(a, SHAPE(nm, LFUSE_REST)), "i8 [n * m, 6]");
    ck_shape(lfuse_reshape(a, SHAPE(3, LFUSE_REST, m)), "i8 [3, n * 2, m]");
    ck_shape(lfuse_reshape(sum, SHAPE(2, LFUSE_REST)), "i8 [2, (n * 2) + (m * 2)]");
    ck_shape(lfuse_reshape(sum, SHAPE(LFUSE_REST, lfuse_size_add(g, n, m))), "i8 [4, n + m]");
    ck_shape(lfuse_reshape(empty, SHAPE(5, 0)), "i8 [5, 0]");
    ck_shape(lfuse_reshape(empty, SHAPE(5, LFUSE_REST)), "i8 [5, 0]");
    ck_shape(lfuse_reshape(zero, SHAPE(1, 1)), "i8 [1, 1]");
    ck_shape(lfuse_flatten(a, 0, -1), "i8 [(n * m) * 6]");
    ck_shape(lfuse_flatten(a, 1, 2), "i8 [n, m * 6]");
    ck_shape(lfuse_flatten(zero, 0, -1), "i8 [1]");
    ck_assert_int_eq(lfuse_flatten(a, 1, 1).id, a.id);
    ck_shape(lfuse_unsqueeze(a, 0), "i8 [1, n, 6, m]");
    ck_shape(lfuse_unsqueeze(a, -1), "i8 [n, 6, m, 1]");
    ck_shape(lfuse_squeeze(lfuse_unsqueeze(a, 1), -3), "i8 [n, 6, m]");
}

TEST(slices)
{
    const lfuse_value a = lfuse_input(g, "a", F32(lfuse_size_add(g, n, m), 10));
    const lfuse_size at = lfuse_size_var(g, "at", 0, 9), some = lfuse_size_var(g, "some", 10, 20);
    lfuse_value parts[4];

    ck_shape(lfuse_slice(a, 1, 2, 8, 1), "f32 [n + m, 8]");
    ck_shape(lfuse_slice(a, 1, 9, 4, -3), "f32 [n + m, 4]");
    ck_shape(lfuse_slice(a, 1, -1, 10, -1), "f32 [n + m, 10]");
    ck_shape(lfuse_slice(a, 1, 10, 0, 1), "f32 [n + m, 0]");
    ck_shape(lfuse_slice(a, 1, at, 1, 1), "f32 [n + m, 1]");
    ck_shape(lfuse_slice(a, 0, n, m, 1), "f32 [m, 10]");
    ck_shape(lfuse_slice(a, -2, 0, n, 1), "f32 [n, 10]");
    ck_shape(lfuse_slice(lfuse_input(g, "b", F32(some)), 0, at, 1, 1), "f32 [1]");
    ck_shape(lfuse_slice(lfuse_input(g, "c", F32(lfuse_size_mul(g, n, 2))), 0, 1, n, 2), "f32 [n]");
    ck_shape(lfuse_flip(a, LFUSE_ALL_AXES, NULL), "f32 [n + m, 10]");
    ck_shape(lfuse_flip(a, 0, NULL), "f32 [n + m, 10]");
    lfuse_split(a, 0, 3, LFUSE_DIMS(m, 0, n), parts);
    ck_shape(parts[0], "f32 [m, 10]");
    ck_shape(parts[1], "f32 [0, 10]");
    ck_shape(parts[2], "f32 [n, 10]");
    ck_shape(lfuse_concat(3, parts, 0), "f32 [n + m, 10]");
    ck_assert_int_eq(lfuse_chunk(a, 1, 2, parts), 2);
    ck_shape(parts[1], "f32 [n + m, 5]");
    ck_assert_int_eq(lfuse_chunk(a, 1, 3, parts), 3); /* 4 4 2 */
    ck_shape(parts[0], "f32 [n + m, 4]");
    ck_shape(parts[1], "f32 [n + m, 4]");
    ck_shape(parts[2], "f32 [n + m, 2]");
    ck_assert_int_eq(lfuse_chunk(lfuse_slice(a, 1, 0, 4, 1), 1, 3, parts), 2); /* 2 2, as in torch */
    ck_shape(parts[1], "f32 [n + m, 2]");
    ck_assert_int_eq(parts[2].id, lfuse_none().id);
    ck_assert_ptr_null(parts[2].graph);
    ck_assert_int_eq(lfuse_chunk(lfuse_slice(a, 1, 0, 0, 1), 1, 2, parts), 2);
    ck_shape(parts[1], "f32 [n + m, 0]");
    lfuse_chunk(lfuse_concat(4, (const lfuse_value[]){a, a, a, a}, 0), 0, 4, parts);
    ck_shape(parts[3], "f32 [n + m, 10]");
    lfuse_chunk(a, 0, 1, parts);
    ck_shape(parts[0], "f32 [n + m, 10]");
}

TEST(joins_and_look_ups)
{
    const lfuse_value a = lfuse_input(g, "a", U8(n, 5));
    const lfuse_value b = lfuse_input(g, "b", U8(m, 5));
    const lfuse_value i = lfuse_input(g, "i", I32(m, 0, 2));
    const lfuse_value three[] = {a, b, a}, two[] = {a, lfuse_neg(a)};

    ck_shape(lfuse_concat(3, three, -2), "u8 [n + (n + m), 5]");
    ck_assert_int_eq(lfuse_concat(1, three, 0).id, a.id);
    ck_shape(lfuse_stack(2, two, 0), "u8 [2, n, 5]");
    ck_shape(lfuse_stack(2, two, -1), "u8 [n, 5, 2]");
    ck_shape(lfuse_pad(a, LFUSE_DIMS(1, 0), LFUSE_DIMS(m, 3), 7), "u8 [m + (n + 1), 8]");
    ck_assert_int_eq(lfuse_pad(a, NULL, LFUSE_DIMS(0, 0), 7).id, a.id);
    ck_shape(lfuse_gather(a, i), "u8 [m, 0, 2, 5]");
    ck_shape(lfuse_gather(lfuse_flatten(a, 0, 1), lfuse_cast(i, LFUSE_I64)), "u8 [m, 0, 2]");
    ck_shape(lfuse_scatter_add(lfuse_gather(a, i), i, n), "u8 [n, 5]");
    ck_shape(lfuse_scatter_add(lfuse_cast(i, LFUSE_F16), i, 0), "f16 [0]");
    ck_shape(lfuse_index(g, SHAPE(n, 0)), "i64 [n, 0]");
    ck_shape(lfuse_extent(g, n), "a number");
}

TEST(extents_are_shared)
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
    /* However they are put together. */
    ck_assert_int_eq(lfuse_size_add(g, lfuse_size_add(g, n, m), 3), lfuse_size_add(g, n, lfuse_size_add(g, m, 3)));
    ck_assert_int_eq(lfuse_size_add(g, n, n), lfuse_size_mul(g, n, 2));
    ck_assert_int_eq(lfuse_size_mul(g, lfuse_size_add(g, n, 1), m), lfuse_size_add(g, lfuse_size_mul(g, m, n), m));
}

TEST(extents_print)
{
    lfuse_size s = n;

    ck_size(12, "12");
    ck_size(n, "n");
    ck_size(lfuse_size_add(g, lfuse_size_mul(g, n, m), 4), "(n * m) + 4");
    for (int i = 0; i < 100; i++) s = lfuse_size_add(g, s, lfuse_size_mul(g, s, s));
    ck_size(lfuse_size_add(g, 1, lfuse_size_mul(g, 2, m)), "(m * 2) + 1");
}

/* Inside the library: differences, which may be negative. */
TEST(extents_subtract)
{
    const int64_t values[8] = {7, 11};
    lfuse_size own_n = LFUSE__SIZE_BASE, own_m = LFUSE__SIZE_BASE + 1, s, back, last;
    int64_t value, low, high;

    ck_assert(lfuse__size_add(g, "test", own_n, -9, &s));
    ck_size(s, "n + -9");
    lfuse__size_bounds(g, s, &low, &high);
    ck_assert(low == -9 && high == 91);
    OK(lfuse__size_evaluate(g, s, values, &value));
    ck_assert_int_eq(value, -2);
    ck_assert(lfuse__size_add(g, "test", s, 9, &back));
    ck_assert(back == own_n);
    ck_assert(lfuse__size_multiply(g, "test", own_m, -1, &last) && lfuse__size_add(g, "test", last, own_m, &back));
    ck_assert(back == 0);
    lfuse__size_bounds(g, last, &low, &high);
    ck_assert(low == -INT64_MAX && high == -2);
}

/* Pieces of a size: rounded up, and one size for each divisor. */
TEST(extents_divide)
{
    const int64_t values[8] = {7, 11};
    const lfuse_size own_n = LFUSE__SIZE_BASE;
    lfuse_size halves, thirds, again;
    int64_t value;

    ck_assert(lfuse__size_divide(g, "test", own_n, 2, &halves) && lfuse__size_divide(g, "test", own_n, 3, &thirds));
    ck_assert(lfuse__size_divide(g, "test", own_n, 2, &again));
    ck_assert_int_eq(again, halves);
    ck_assert_int_ne(thirds, halves);
    OK(lfuse__size_evaluate(g, halves, values, &value));
    ck_assert_int_eq(value, 4);
    OK(lfuse__size_evaluate(g, thirds, values, &value));
    ck_assert_int_eq(value, 3);
    ck_assert(lfuse__size_divide(g, "test", 12, 4, &again));
    ck_assert_int_eq(again, 3);
    ck_assert(lfuse__size_divide(g, "test", 13, 4, &again));
    ck_assert_int_eq(again, 4);
}

/* Forms that have no room, or overflow, are unknowns: equal to nothing but themselves, and never wrong. */
TEST(extents_without_a_form)
{
    lfuse_size sum = n, product = n, other;
    char name[8];

    for (int i = 0; i < 12; i++) {
        name[0] = (char)('a' + i);
        name[1] = 0;
        other = lfuse_size_var(g, name, 0, 5);
        sum = lfuse_size_add(g, sum, other);
        product = lfuse_size_mul(g, product, other);
    }
    ck_assert_int_eq(lfuse_size_add(g, sum, 0), sum);
    ck_assert_int_eq(lfuse_size_add(g, sum, product), lfuse_size_add(g, product, sum));
    ck_assert_int_eq(lfuse_size_mul(g, sum, 2), lfuse_size_add(g, sum, sum));
    ck_assert_int_ne(sum, product);
    other = lfuse_size_mul(g, lfuse_size_mul(g, n, INT64_MAX), 2);
    ck_assert_int_eq(lfuse_size_mul(g, lfuse_size_mul(g, n, INT64_MAX), 2), other);
    ck_assert_int_ne(other, lfuse_size_mul(g, n, INT64_MAX));
    ck_assert_int_ne(other, -1);
}

TEST(extents_evaluate)
{
    const lfuse_size s = lfuse_size_add(g, lfuse_size_mul(g, n, m), 4);
    int64_t values[8] = {7, 11}, value = -1;
    int64_t low, high;
    lfuse_size deep = n;

    OK(lfuse__size_evaluate(g, s, values, &value));
    ck_assert_int_eq(value, 81);
    OK(lfuse__size_evaluate(g, 5, values, &value));
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
    for (int i = 0; i < 200; i++) deep = lfuse_size_add(g, deep, deep);
    {
        int64_t many[256] = {0};
        OK(lfuse__size_evaluate(g, deep, many, &value));
        ck_assert_int_eq(value, 0);
        many[0] = 1;
        ck_assert_int_eq(lfuse__size_evaluate(g, deep, many, &value), LFUSE_ERR_OVERFLOW);
    }
}

/* What has no value for no elements is refused when sizes are known. */
TEST(empty_reductions)
{
    const lfuse_size k = lfuse_size_var(g, "k", 0, 8);
    const lfuse_value a = lfuse_input(g, "a", F32(n, k, m));
    int64_t values[8] = {3, 4, 2};

    lfuse_sum(a, 1, (const int[]){1}, 0);
    lfuse_amax(a, 2, (const int[]){1, 2}, 0);
    OK(lfuse__graph_check_sizes(g, values));
    values[0] = 0;
    OK(lfuse__graph_check_sizes(g, values));
    values[2] = 0;
    ck_assert_int_eq(lfuse__graph_check_sizes(g, values), LFUSE_ERR_SHAPE);
    ck_assert_str_eq(lfuse_last_error(), "(amax a 1,2): axis 1 has the extent 0: there is nothing to choose from");
}

TEST(extents_as_numbers)
{
    const int64_t values[8] = {7, 11, INT64_MAX};
    const double scalars[1] = {0};
    const lfuse_size huge = lfuse_size_var(g, "huge", 0, INT64_MAX);
    const lfuse_value v = lfuse_extent(g, lfuse_size_add(g, lfuse_size_mul(g, n, m), 1));

    ck_assert_double_eq(lfuse__graph_number(g, v.id, scalars, values), 78);
    ck_assert_double_eq(lfuse__graph_number(g, lfuse_sub(v, lfuse_constant(g, 8)).id, scalars, values), 70);
    ck_assert_double_nan(lfuse__graph_number(g, lfuse_extent(g, lfuse_size_mul(g, huge, n)).id, scalars, values));
}

TEST_SUITE("shape", CK_FORK_GETENV)
