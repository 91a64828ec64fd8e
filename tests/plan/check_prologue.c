/* SPDX-License-Identifier: Apache-2.0 */
/* Which work on operands a product does itself. */
#include "common/matmul/provider.h"
#include "tests/plan/rig.h"

static lfuse_value w, s; /* the operand's parts: bytes [8, 20], one number a column */

static lfuse_value weights(void)
{
    w = lfuse_input(g, "w", I8(8, 20));
    s = lfuse_input(g, "s", F32(20));
    return lfuse_mul(lfuse_cast(w, LFUSE_F32), s);
}

static lfuse_value rows_of(lfuse_size rows)
{
    rig_facts.vector_lanes = true;
    return lfuse_input(g, "x", F32(rows, 8));
}

static void by_a_maker(void)
{
    rig_facts.vector_lanes = false;
    rig_tiles(LFUSE__PRODUCTS_TUNED);
}

TEST_CASE("prologues", .setup = rig_setup, .teardown = rig_teardown)

TEST(thin)
{
    const lfuse_value x = rows_of(16), b = lfuse_input(g, "b", F32(20));

    lfuse_output(g, "y", lfuse_relu(lfuse_add(lfuse_matmul(x, weights()), b)));
    rig_expect("(gemm 16 x 20 x 8 (right (mul (f32 w) s)) (relu (add acc b)))");
    rig_make(LFUSE_NO_PROLOGUE);
    ck_assert_str_eq(text.data, "(pointwise 8 x 20 (t0 (mul (f32 w) s))) (gemm 16 x 20 x 8 (relu (add acc b)))");
}

/* One row more, and each element would be read twice. */
TEST(not_thin)
{
    lfuse_output(g, "y", lfuse_matmul(rows_of(17), weights()));
    rig_expect("(pointwise 8 x 20 (t0 (mul (f32 w) s))) (gemm 17 x 20 x 8 acc)");
}

TEST(sizes_within_bounds)
{
    lfuse_output(g, "y", lfuse_matmul(rows_of(lfuse_size_var(g, "n", 1, 16)), weights()));
    rig_expect("(gemm n x 20 x 8 (right (mul (f32 w) s)) acc)");
}

TEST(sizes_beyond)
{
    lfuse_output(g, "y", lfuse_matmul(rows_of(lfuse_size_var(g, "n", 1, 17)), weights()));
    rig_expect("(pointwise 8 x 20 (t0 (mul (f32 w) s))) (gemm n x 20 x 8 acc)");
}

TEST(wanted_by_others)
{
    const lfuse_value x = rows_of(4), v = weights();

    lfuse_output(g, "y", lfuse_matmul(x, v));
    lfuse_output(g, "v", v);
    rig_expect("(pointwise 8 x 20 (v (mul (f32 w) s))) (gemm 4 x 20 x 8 acc)");
}

TEST(read_twice)
{
    const lfuse_value x = rows_of(4), v = weights(), z = lfuse_input(g, "z", F32(3, 8));

    lfuse_output(g, "y", lfuse_matmul(x, v));
    lfuse_output(g, "q", lfuse_matmul(z, v));
    rig_expect("(pointwise 8 x 20 (t0 (mul (f32 w) s))) (gemm 4 x 20 x 8 acc) (gemm 3 x 20 x 8 acc)");
}

/* What stays is made once. */
TEST(frozen)
{
    const lfuse_value x = rows_of(4), f = lfuse_frozen(g, "f", I8(8, 20));

    lfuse_output(g, "y", lfuse_matmul(x, lfuse_cast(f, LFUSE_F32)));
    rig_expect("(prepare (pointwise 8 x 20 (t0 (f32 f)))) (gemm 4 x 20 x 8 acc)");
}

TEST(transposed)
{
    const lfuse_value x = rows_of(4), v = lfuse_input(g, "v", F32(20, 8));
    const lfuse_value r = lfuse_input(g, "r", F32(20, 1));

    lfuse_output(g, "y", lfuse_matmul(x, lfuse_transpose(lfuse_mul(v, r))));
    rig_expect("(gemm 4 x 20 x 8 (right (mul v r)) acc)");
    ck_assert_int_eq(plan->stages[0].alternatives[0].steps[0].operands[4].axis[0], 1); /* of v: k runs along it */
}

/* The left one of few columns: where it is not packed. */
TEST(few_columns)
{
    const lfuse_value x = rows_of(40), v = lfuse_input(g, "v", F32(8, 12));

    lfuse_output(g, "y", lfuse_matmul(lfuse_exp(x), v));
    rig_expect("(pointwise 40 x 8 (t0 (exp x))) (gemm 40 x 12 x 8 acc)");
    by_a_maker();
    rig_expect("(gemm 40 x 12 x 8 (left (exp x)) acc)");
}

/* Each group makes all of it: light work alone, and not where the result goes on to a product. */
TEST(few_rows)
{
    const lfuse_value x = rows_of(4), v = lfuse_input(g, "v", F32(8, 20));
    const lfuse_value z = lfuse_input(g, "z", F32(4, 8));
    const lfuse_value p = lfuse_matmul(lfuse_abs(x), v), e = lfuse_matmul(lfuse_exp(z), v);

    lfuse_output(g, "p", p);
    lfuse_output(g, "e", e);
    rig_expect("(pointwise 4 x 8 (t1 (exp z))) (gemm 4 x 20 x 8 (left (abs x)) acc) (gemm 4 x 20 x 8 acc)");
}

TEST(another_product_follows)
{
    const lfuse_value x = rows_of(4), v = lfuse_input(g, "v", F32(8, 20));
    const lfuse_value u = lfuse_input(g, "u", F32(20, 20));

    lfuse_output(g, "y", lfuse_matmul(lfuse_relu(lfuse_matmul(lfuse_abs(x), v)), u));
    rig_expect("(pointwise 4 x 8 (t0 (abs x))) (gemm 4 x 20 x 8 (relu acc)) (gemm 4 x 20 x 20 acc)");
}

/* Beside a maker's library it is ours where that would read again what had to be written. */
TEST(beside_a_maker)
{
    const lfuse_value x = rows_of(4), v = weights();

    by_a_maker();
    lfuse_output(g, "y", lfuse_matmul(x, v));
    rig_expect("(gemm 4 x 20 x 8 (right (mul (f32 w) s)) acc)");
    ck_assert(plan->stages[0].alternatives[0].steps[0].product.native);
}

TEST(a_maker_of_few_rows)
{
    const lfuse_value x = rows_of(1), v = lfuse_input(g, "v", F32(8, 1000));

    by_a_maker();
    lfuse_output(g, "y", lfuse_matmul(lfuse_abs(x), v));
    rig_expect("(pointwise 1 x 8 (t0 (abs x))) (gemm 1 x 1000 x 8 acc)");
    ck_assert(!plan->stages[1].alternatives[0].steps[0].product.native);
}

/* Both ways to compute the product read it. */
TEST(measured)
{
    const lfuse_plan_options options = {.effort = LFUSE_EFFORT_MEASURE};
    lfuse__plan_body *both = NULL;
    int i, made = 0;

    lfuse_output(g, "y", lfuse_matmul(rows_of(4), weights()));
    by_a_maker();
    OK(lfuse__plan_make(g, &rig_facts, &lfuse__products_advice, &options, &both));
    for (i = 0; i < both->nstages; i++) made += both->stages[i].alternatives[0].steps[0].product.prologue[1];
    ck_assert_int_eq(both->nstages, 2);
    ck_assert_int_eq(made, 0);
    lfuse__plan_free(both);
}

/* ---- tiles on tensor cores: what pays by the estimates ---- */

enum { H = 4096 };

/* An H200 with a library of its maker. */
static void by_tensor_cores(void)
{
    by_a_maker();
    rig_h200();
    rig_facts.info.local_bytes = 48 * 1024;
    rig_facts.info.max_group = 1024;
    rig_facts.info.cache_bytes = 50 << 20;
    rig_facts.tensor_cores = true;
    rig_facts.wgmma = true;
    rig_facts.dynamic_local_bytes = 226 * 1024;
}

static lfuse_value f16_of(const char *name, lfuse_size rows, lfuse_size columns)
{
    return lfuse_cast(lfuse_input(g, name, F32(rows, columns)), LFUSE_F16);
}

/* Weights of f32 are converted for few rows; to convert them in every tile costs more for many. */
TEST(converted_weights)
{
    by_tensor_cores();
    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "x", F16(64, H)), f16_of("w", H, H)));
    rig_expect("(gemm 64 x 4096 x 4096 (right (f16 w)) acc)");
    ck_assert(plan->stages[0].alternatives[0].steps[0].product.native);
    rig_facts.tensor_cores = rig_facts.wgmma = false; /* nobody computes operands of so many rows */
    rig_expect("(pointwise 4096 x 4096 (t0 (f16 w))) (gemm 64 x 4096 x 4096 acc)");
}

TEST(converted_for_many_rows)
{
    by_tensor_cores();
    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "x", F16(H, H)), f16_of("w", H, H)));
    rig_expect("(pointwise 4096 x 4096 (t0 (f16 w))) (gemm 4096 x 4096 x 4096 acc)");
}

static lfuse_status no_map(struct lfuse__bdevice *device, const lfuse__tensor_boxes *of,
                           uint64_t map[LFUSE__TENSOR_MAP_WORDS], bool *made)
{
    (void)device, (void)of, (void)map;
    *made = false;
    return LFUSE_OK;
}

/* An H100 takes 68 us for these in tiles, and 100 us where a kernel stores the weights first. */
TEST(converted_for_many_columns)
{
    by_tensor_cores();
    rig_facts.tensor_map = no_map;
    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "x", F16(256, H / 2)), f16_of("w", H / 2, 4 * H)));
    rig_expect("(gemm 256 x 16384 x 2048 (right (f16 w)) acc)");
}

/* Of a sum with another matrix's columns chunks are no neighbours in memory. */
TEST(read_across_lines)
{
    by_tensor_cores();
    const lfuse_value u = lfuse_input(g, "u", F32(H, H)), v = lfuse_input(g, "v", F32(H, H));

    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "x", F16(64, H)),
                                      lfuse_cast(lfuse_add(u, lfuse_transpose(v)), LFUSE_F16)));
    rig_make(0);
    ck_assert_msg(!strstr(text.data, "(right "), "%s", text.data);
}

/* What the cache holds is read from there by a product that follows. */
TEST(within_the_cache)
{
    by_tensor_cores();
    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "x", F16(64, H / 2)), f16_of("w", H / 2, H / 2)));
    rig_expect("(pointwise 2048 x 2048 (t0 (f16 w))) (gemm 64 x 2048 x 2048 acc)");
    rig_facts.info.cache_bytes = 20 << 20;
    rig_expect("(gemm 64 x 2048 x 2048 (right (f16 w)) acc)");
}

/* It has to pay at both ends. */
TEST(converted_within_bounds)
{
    by_tensor_cores();
    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "x", F16(lfuse_size_var(g, "n", 1, 128), H)), f16_of("w", H, H)));
    rig_expect("(gemm n x 4096 x 4096 (right (f16 w)) acc)");
    lfuse_output(g, "z", lfuse_matmul(lfuse_input(g, "u", F16(lfuse_size_var(g, "m", 1, H), H)), f16_of("v", H, H)));
    rig_make(0);
    ck_assert_msg(strstr(text.data, "(t1 (f16 v))"), "%s", text.data);
}

/* Of few lines of weights the cache holds all, though not of as many as there may be. */
TEST(converted_if_never_cached)
{
    const lfuse_size k = lfuse_size_var(g, "k", 8, H);
    by_tensor_cores();
    lfuse_output(g, "y", lfuse_matmul(lfuse_transpose(lfuse_input(g, "x", F16(k, 64))), f16_of("w", k, H)));
    rig_expect("(pointwise k x 4096 (t0 (f16 w))) (gemm 64 x 4096 x k acc)");
}

/* Lines that may be no whole chunks at some run are computed in tiles element by element: others are not. */
TEST(lines_of_any_length)
{
    const lfuse_size k = lfuse_size_var(g, "k", H / 2, H);
    by_tensor_cores();
    rig_facts.info.cache_bytes = 20 << 20;
    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "x", F16(64, k)), f16_of("w", k, H)));
    rig_expect("(pointwise k x 4096 (t0 (f16 w))) (gemm 64 x 4096 x k acc)");
}

TEST(lines_of_one_length)
{
    const lfuse_size k = lfuse_size_var(g, "k", H / 2, H);
    by_tensor_cores();
    rig_facts.info.cache_bytes = 20 << 20;
    lfuse_output(g, "y", lfuse_matmul(lfuse_transpose(lfuse_input(g, "x", F16(k, 64))), f16_of("w", k, H)));
    rig_expect("(gemm 64 x 4096 x k (right (f16 w)) acc)");
}

/* The right operand is computed where that pays beside the left one as it is, not where it would by itself. */
TEST(both)
{
    enum { M = 72, N = 5688, K = 64 };
    const lfuse_value y = lfuse_exp(lfuse_input(g, "w", F32(K, N)));
    by_tensor_cores();
    rig_facts.info.cache_bytes = 4096;
    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "x", F16(M, K)), lfuse_cast(y, LFUSE_F16)));
    rig_expect("(gemm 72 x 5688 x 64 (right (f16 (exp w))) acc)");
    lfuse_output(g, "z", lfuse_matmul(lfuse_cast(lfuse_exp(lfuse_input(g, "u", F32(M, K))), LFUSE_F16),
                                      lfuse_cast(lfuse_exp(lfuse_input(g, "v", F32(K, N))), LFUSE_F16)));
    rig_make(0);
    ck_assert_msg(strstr(text.data, "(gemm 72 x 5688 x 64 (left (f16 (exp u))) acc)"), "%s", text.data);
}

/* What does not fit beside the epilogue keeps its kernel. */
TEST(too_many_operands)
{
    lfuse_value x = rows_of(4), v = weights(), y;
    int i;

    y = lfuse_matmul(x, v);
    for (i = 0; i < 9; i++) {
        const char name[] = { (char)('a' + i), '\0' };
        y = lfuse_add(y, lfuse_input(g, name, F32(4, 20)));
    }
    lfuse_output(g, "y", y);
    rig_make(0);
    ck_assert_msg(strstr(text.data, "(right "), "%s", text.data);
    for (; i < 11; i++) {
        const char name[] = { (char)('a' + i), '\0' };
        y = lfuse_add(y, lfuse_input(g, name, F32(4, 20)));
    }
    lfuse_output(g, "z", y);
    rig_make(0);
    ck_assert_msg(!strstr(text.data, "(right "), "%s", text.data);
}

TEST_SUITE("work on operands", CK_NOFORK)
