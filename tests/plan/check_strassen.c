/* SPDX-License-Identifier: Apache-2.0 */
/* Products by Strassen's algorithm: which, and in which steps. */
#include "tests/plan/rig.h"

enum { NATIVE_FREE = LFUSE_NO_BUNDLES };

static lfuse_value frozen(const char *name, lfuse_size rows, lfuse_size columns)
{
    return lfuse_frozen(g, name, F32(rows, columns));
}

static void two_layers(lfuse_size m, int64_t k, int64_t n)
{
    lfuse_value x = lfuse_input(g, "x", F32(m, k));
    lfuse_value b = lfuse_frozen(g, "b", F32(n));
    lfuse_value h = lfuse_relu(lfuse_add(lfuse_matmul(x, frozen("u", k, n)), b));
    lfuse_output(g, "y", lfuse_matmul(h, frozen("v", n, k)));
}

static const lfuse__step *step_at(int stage, int i)
{
    ck_assert_int_lt(stage, plan->nstages);
    ck_assert_int_lt(i, plan->stages[stage].alternatives[0].nsteps);
    return &plan->stages[stage].alternatives[0].steps[i];
}

/* The weights of "y" = "x" "w", of which the latter is frozen, split: so are factors, those of the weights once. */
static void split_layer(int64_t k)
{
    rig_tiles(LFUSE__PRODUCTS_NONE);
    rig_splits = true;
    rig_precision = LFUSE_PRECISION_F32X3;
    rig_strassen = LFUSE_STRASSEN_ONE;
    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "x", F32(64, k)), frozen("w", k, 96)));
    rig_make(0);
}

TEST_CASE("steps", .setup = rig_setup, .teardown = rig_teardown)

TEST(above_split_operands)
{
    split_layer(512);
    ck_assert_msg(strstr(text.data, "(gemm 7 of 32 x 48 x 256 in f32x3 acc)"), "%s", text.data);
    const lfuse__product *product = &step_at(0, 2)->product;
    ck_assert_int_eq(product->precision, LFUSE_PRECISION_F32X3);
    ck_assert(product->native && !product->frozen[0] && product->frozen[1]);
}

TEST(above_split_operands_of_short_sums)
{
    split_layer(510);
    ck_assert_msg(strstr(text.data, "(levels 0 64 x 96 x 510 k too small)"), "%s", text.data);
}

TEST(off_by_default)
{
    two_layers(64, 96, 128);
    rig_make(NATIVE_FREE);
    ck_assert(!strstr(text.data, "strassen"));
    ck_assert_int_eq(plan->nchoices, 0);
    rig_strassen = LFUSE_STRASSEN_OFF;
    rig_make(NATIVE_FREE);
    ck_assert(!strstr(text.data, "levels"));
}

/* Factors of both weights once, of x at each run; a batch and a kernel for each layer. */
TEST(a_chain)
{
    two_layers(64, 96, 128);
    rig_strassen = LFUSE_STRASSEN_ONE;
    rig_expect("(prepare (strassen 96 x 128 to right 1 (t1 u))) (strassen 64 x 96 to 1 (t2 x)) "
               "(gemm 7 of 32 x 64 x 48 acc) (strassen 64 x 128 of 1 to 1 (t4 (relu (add acc b)))) "
               "(prepare (strassen 128 x 96 to right 1 (t5 v))) (gemm 7 of 32 x 48 x 64 acc) "
               "(strassen 64 x 96 of 1 (y acc)) (levels 1 64 x 128 x 96 as asked) (levels 1 64 x 96 x 128 as asked)");
    ck_assert_int_eq(plan->nstages, 2);
    ck_assert_int_eq(plan->stages[0].nalternatives, 1);
    ck_assert_int_eq(plan->stages[0].alternatives[0].nsteps, 4);
    ck_assert_int_eq(plan->stages[1].alternatives[0].nsteps, 3);
    ck_assert(step_at(0, 0)->prepare && !step_at(0, 1)->prepare && step_at(1, 0)->prepare);
    rig_check_order();
}

/* Both sides of k, and what meets between two layers, are padded alike. */
TEST(padding)
{
    two_layers(33, 50, 70);
    rig_strassen = LFUSE_STRASSEN_TWO;
    rig_make(NATIVE_FREE);
    const lfuse__step *s = step_at(0, 0);
    ck_assert(s->strassen.rows == 64 && s->strassen.columns == 80);
    s = step_at(0, 1);
    ck_assert(s->strassen.rows == 36 && s->strassen.columns == 64);
    s = step_at(0, 2);
    ck_assert(s->extents[0] == 49 && s->extents[1] == 9 && s->extents[2] == 20 && s->product.k == 16);
    s = step_at(0, 3);
    ck_assert(s->strassen.in == 2 && s->strassen.out == 2 && s->strassen.rows == 36 && s->strassen.columns == 80);
    rig_facts.vector_lanes = true;
    rig_make(NATIVE_FREE);
    ck_assert(step_at(0, 0)->strassen.rows == 64 && step_at(0, 0)->strassen.columns == 128);
    ck_assert(lfuse__size_is_number(step_at(0, 3)->strassen.columns));
    int64_t rows = step_at(0, 3)->strassen.rows;
    ck_assert_int_eq(rows, 36);
}

/* A pre-activation is stored beside what goes on; what others read too is stored as well. */
TEST(results_in_between)
{
    lfuse_value x = lfuse_input(g, "x", F32(16, 16));

    lfuse_value p = lfuse_matmul(x, frozen("u", 16, 16));
    lfuse_value h = lfuse_relu(p);
    lfuse_output(g, "p", p);
    lfuse_output(g, "h", h);
    lfuse_output(g, "y", lfuse_matmul(h, frozen("v", 16, 16)));
    rig_strassen = LFUSE_STRASSEN_ONE;
    rig_make(NATIVE_FREE);
    ck_assert_int_eq(plan->nstages, 2);
    ck_assert_int_eq(step_at(0, 3)->body.nstores, 3);
    ck_assert_int_eq(step_at(0, 3)->strassen.out, 1);
}

/* Two products of one value take its factors from one step. */
TEST(shared_factors)
{
    lfuse_value x = lfuse_input(g, "x", F32(16, 16));

    lfuse_output(g, "y", lfuse_mul(lfuse_matmul(x, frozen("u", 16, 16)), lfuse_matmul(x, frozen("v", 16, 16))));
    rig_strassen = LFUSE_STRASSEN_ONE;
    rig_make(NATIVE_FREE);
    ck_assert_int_eq(plan->stages[0].alternatives[0].nsteps, 4);
    ck_assert_int_eq(plan->stages[1].alternatives[0].nsteps, 3);
    rig_check_order();
}

/* Of variable operands both sides are made at each run. */
TEST(variable_operands)
{
    lfuse_value x = lfuse_input(g, "x", F32(16, 24));
    lfuse_value w = lfuse_input(g, "w", F32(24, 32));

    lfuse_output(g, "y", lfuse_matmul(x, w));
    rig_strassen = LFUSE_STRASSEN_ONE;
    rig_expect("(strassen 24 x 32 to right 1 (t0 w)) (strassen 16 x 24 to 1 (t1 x)) (gemm 7 of 8 x 16 x 12 acc) "
               "(strassen 16 x 32 of 1 (y acc)) (levels 1 16 x 32 x 24 as asked)");
}

/* What is stored transposed is read as it lies, and its factors are taken so; rows are padded as columns then. */
TEST(turned_operands)
{
    lfuse_value x = lfuse_input(g, "x", F32(24, 17));
    lfuse_value w = lfuse_input(g, "w", F32(32, 24));

    lfuse_output(g, "y", lfuse_matmul(lfuse_transpose(x), lfuse_transpose(w)));
    rig_strassen = LFUSE_STRASSEN_ONE;
    rig_expect("(strassen 32 x 24 to transposed right 1 (t0 w)) (strassen 24 x 17 to transposed 1 (t1 x)) "
               "(gemm 7 of 12 x 16 x 12 acc) (strassen 17 x 32 of 1 (y acc)) (levels 1 17 x 32 x 24 as asked)");
    ck_assert(step_at(0, 1)->strassen.rows == 24 && step_at(0, 1)->strassen.columns == 24);
    ck_assert(step_at(0, 3)->strassen.rows == 24 && step_at(0, 3)->strassen.columns == 32);
}

/* Of narrow operands factors are narrow and products f32; 16 bytes of the narrow ones are 8 columns. */
TEST(narrow_operands)
{
    static const struct { lfuse_type type; const char *name; } types[] = { { LFUSE_F16, "f16" },
                                                                          { LFUSE_BF16, "bf16" } };
    char expected[512];

    for (int i = 0; i < 2; i++) {
        lfuse_value x = lfuse_input(g, "x", types[i].type, SHAPE(16, 20));
        lfuse_value b = lfuse_input(g, "b", types[i].type, SHAPE(32));
        lfuse_value h = lfuse_matmul(x, lfuse_frozen(g, "u", types[i].type, SHAPE(20, 32)));
        h = lfuse_relu(lfuse_add(h, b));
        lfuse_output(g, "y", lfuse_matmul_as(h, lfuse_frozen(g, "v", types[i].type, SHAPE(32, 9)), LFUSE_F32,
                                             LFUSE_PRECISION_FULL));
        rig_strassen = LFUSE_STRASSEN_ONE;
        rig_facts.products = LFUSE__PRODUCTS_TUNED;
        snprintf(expected, sizeof expected,
                 "(prepare (strassen 20 x 32 to right 1 (t1 u))) (strassen 16 x 20 to 1 (t2 x)) "
                 "(gemm 7 of 8 x 16 x 16 of %s in f32 acc) (strassen 16 x 32 of 1 to 1 (t4 (relu (add acc b)))) "
                 "(prepare (strassen 32 x 9 to right 1 (t5 v))) (gemm 7 of 8 x 8 x 16 of %s in f32 acc) "
                 "(strassen 16 x 9 of 1 (y acc)) (levels 1 16 x 32 x 20 as asked) (levels 1 16 x 9 x 32 as asked)",
                 types[i].name, types[i].name);
        rig_expect(expected);
        for (int k = 0; k < plan->nbuffers; k++)
            ck_assert_int_eq(plan->buffers[k].type, k == 3 || k == 6 ? LFUSE_F32 : types[i].type);
        ck_assert_int_eq(step_at(0, 0)->strassen.rows, 32);
        rig_facts.vector_lanes = true;
        rig_make(NATIVE_FREE);
        ck_assert(step_at(0, 2)->product.native && step_at(0, 2)->product.wide);
        ck_assert_int_eq(step_at(0, 2)->operands[2].type, LFUSE_F32);
        rig_check_order();
        rig_teardown();
        rig_setup();
    }
}

/* Behind a vendor that may decline, or find no workspace, the library's own kernels, over the same buffers. */
TEST(a_reserve)
{
    const lfuse_value x = lfuse_input(g, "x", F16(16, 20));

    lfuse_output(g, "y", lfuse_relu(lfuse_matmul(x, lfuse_frozen(g, "w", F16(20, 32)))));
    rig_strassen = LFUSE_STRASSEN_ONE;
    rig_facts.vendor = LFUSE__VENDOR_NVIDIA;
    rig_facts.products = LFUSE__PRODUCTS_TUNED;
    rig_facts.simd = 32;
    rig_facts.info.local_bytes = 48 * 1024;
    rig_facts.info.max_group = 1024;
    rig_make(NATIVE_FREE);
    ck_assert_int_eq(plan->stages[0].nalternatives, 2);
    ck_assert(!step_at(0, 2)->product.native && plan->stages[0].alternatives[1].steps[2].product.native);
    ck_assert_str_eq(rig_alternative(0, 1),
                     "strassen-native: (prepare (strassen 20 x 32 to right 1 (t0 w))) (strassen 16 x 20 to 1 (t1 x)) "
                     "(gemm 7 of 8 x 16 x 16 of f16 in f32 acc) (strassen 16 x 32 of 1 (y (relu acc)))");
}

/* Without epilogues the kernel behind the products adds them up and makes factors no more. */
TEST(without_epilogues)
{
    two_layers(64, 96, 128);
    rig_strassen = LFUSE_STRASSEN_ONE;
    rig_make(NATIVE_FREE | LFUSE_NO_EPILOGUE);
    ck_assert_int_eq(plan->nstages, 3);
    ck_assert_int_eq(step_at(0, 3)->strassen.out, 0);
    ck_assert_int_eq(step_at(2, 1)->strassen.out, 1);
    rig_check_order();
}

static void declined(lfuse_type type, int rank, int64_t m, int64_t k, int64_t n, const char *why)
{
    lfuse_value x = lfuse_input(g, "x", type, rank, rank == 3 ? LFUSE_DIMS(2, m, k) : LFUSE_DIMS(m, k));
    lfuse_value w = lfuse_frozen(g, "w", type, rank, rank == 3 ? LFUSE_DIMS(2, k, n) : LFUSE_DIMS(k, n));

    lfuse_output(g, "y", lfuse_matmul(x, w));
    rig_strassen = LFUSE_STRASSEN_TWO;
    rig_make(NATIVE_FREE | LFUSE_NO_SMALL_PRODUCTS);
    ck_assert_int_eq(plan->nchoices, 1);
    ck_assert_int_eq(plan->choices[0].levels, 0);
    ck_assert_msg(strstr(text.data, why) != NULL, "%s", text.data);
    ck_assert(!strstr(text.data, "strassen"));
}

TEST_CASE("declined", .setup = rig_setup, .teardown = rig_teardown)

TEST(few_rows) { declined(LFUSE_F32, 2, 3, 8, 8, "(levels 0 3 x 8 x 8 too few rows)"); }
TEST(few_columns) { declined(LFUSE_F32, 2, 8, 8, 3, "too few columns"); }
TEST(small_k) { declined(LFUSE_F32, 2, 8, 3, 8, "k too small"); }
TEST(sizes_that_vary)
{
    two_layers(lfuse_size_var(g, "m", 0, 1), 32, 32);
    rig_strassen = LFUSE_STRASSEN_ONE;
    rig_make(NATIVE_FREE);
    ck_assert(strstr(text.data, "(levels 0 m x 32 x 32 too few rows)"));
    rig_teardown();
    rig_setup();
    two_layers(lfuse_size_var(g, "m", 0, 2), 32, 32);
    rig_strassen = LFUSE_STRASSEN_ONE;
    rig_make(NATIVE_FREE);
    ck_assert(strstr(text.data, "(levels 1 m x 32 x 32 as asked)"));
    rig_teardown();
    rig_setup();
    lfuse_size k = lfuse_size_var(g, "k", 3, 99);
    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "x", F32(32, k)), frozen("w", k, 32)));
    rig_strassen = LFUSE_STRASSEN_ONE;
    rig_make(NATIVE_FREE);
    ck_assert(strstr(text.data, "(levels 0 32 x 32 x k k too small)"));
}
/* Whoever multiplies them must give f32: neither the portable library nor nobody. */
TEST(narrow_sums)
{
    static const char why[] = "nobody adds narrow products up in f32";

    declined(LFUSE_F16, 2, 8, 8, 8, why);
    rig_teardown();
    rig_setup();
    rig_facts.products = LFUSE__PRODUCTS_PORTABLE;
    declined(LFUSE_BF16, 2, 8, 8, 8, why);
    rig_facts.simd = 32; /* tiles */
    rig_facts.info.local_bytes = 48 * 1024;
    rig_facts.info.max_group = 1024;
    rig_make(NATIVE_FREE);
    ck_assert(strstr(text.data, "(levels 2 8 x 8 x 8 as asked)"));
    ck_assert(step_at(0, 2)->product.native);
}
TEST(batch) { declined(LFUSE_F32, 3, 8, 8, 8, "a batch"); }

/* What is made of frozen inputs alone is made once, by whatever way. */
TEST(prepared)
{
    lfuse_value x = lfuse_input(g, "x", F32(8, 8));

    lfuse_output(g, "y", lfuse_matmul(x, lfuse_matmul(frozen("u", 8, 8), frozen("v", 8, 8))));
    rig_strassen = LFUSE_STRASSEN_ONE;
    rig_make(NATIVE_FREE);
    ck_assert_int_eq(plan->nchoices, 2);
    ck_assert(plan->choices[0].levels + plan->choices[1].levels == 1);
    ck_assert(strstr(text.data, "computed once"));
    rig_check_order();
}

/* ---- the model chooses ---- */

TEST_CASE("model", .setup = rig_setup, .teardown = rig_teardown)

TEST(unknown_device)
{
    two_layers(8192, 8192, 8192);
    rig_strassen = LFUSE_STRASSEN_AUTO;
    rig_make(NATIVE_FREE);
    ck_assert(strstr(text.data, "(levels 0 8192 x 8192 x 8192 unknown device)"));
}

/* Each layer has its own levels; of sizes that vary the least counts. */
TEST(automatic_levels)
{
    rig_h200();
    lfuse_value x = lfuse_input(g, "x", F32(4096, 4096));
    x = lfuse_relu(lfuse_matmul(x, frozen("u", 4096, 4096)));
    lfuse_output(g, "y", lfuse_matmul(x, frozen("v", 4096, 16)));
    rig_strassen = LFUSE_STRASSEN_AUTO;
    rig_make(NATIVE_FREE);
    ck_assert_int_eq(plan->choices[0].levels, 2);
    ck_assert_int_eq(plan->choices[1].levels, 0);
    ck_assert(strstr(text.data, "by estimate 1."));
    ck_assert_int_eq(step_at(0, 3)->strassen.out, 0);
    rig_check_order();
    rig_teardown();
    rig_setup();
    rig_h200();
    lfuse_size m = lfuse_size_var(g, "m", 1, 8192);
    two_layers(m, 8192, 8192);
    rig_strassen = LFUSE_STRASSEN_AUTO;
    rig_make(NATIVE_FREE);
    ck_assert_int_eq(plan->choices[0].levels, 0);
}

TEST_SUITE("strassen", CK_FORK)
