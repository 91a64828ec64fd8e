/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of products whose types and precision are named. */
#include "common/matmul/provider.h"
#include "tests/plan/rig.h"

static void product(lfuse_type a, lfuse_type b, lfuse_type type, lfuse_precision precision)
{
    const lfuse_value x = lfuse_input(g, "x", a, SHAPE(4, 8));
    const lfuse_value w = lfuse_frozen(g, "w", b, SHAPE(8, 16));

    lfuse_output(g, "y", lfuse_matmul_as(x, w, type, precision));
}

TEST_CASE("types", .setup = rig_setup, .teardown = rig_teardown)

TEST(sums_as_they_are)
{
    product(LFUSE_F16, LFUSE_F16, LFUSE_F32, LFUSE_PRECISION_FULL);
    rig_expect("(gemm 4 x 16 x 8 of f16 in f32 acc)");
    ck_assert_int_eq(plan->stages[0].nalternatives, 2);
    ck_assert_str_eq(rig_alternative(0, 1), "widened: (pointwise 4 x 8 (t0 (f32 x))) "
                                            "(prepare (pointwise 8 x 16 (t1 (f32 w)))) (gemm 4 x 16 x 8 acc)");
}

TEST(sums_and_what_follows)
{
    const lfuse_value x = lfuse_input(g, "x", BF16(4, 8));
    const lfuse_value w = lfuse_input(g, "w", BF16(8, 16));
    const lfuse_value b = lfuse_input(g, "b", F32(16));

    lfuse_output(g, "y", lfuse_relu(lfuse_add(lfuse_matmul_as(x, w, LFUSE_F32, LFUSE_PRECISION_FULL), b)));
    rig_expect("(gemm 4 x 16 x 8 of bf16 in f32 (relu (add acc b)))");
    ck_assert_int_eq(plan->stages[0].nalternatives, 3);
    ck_assert_str_eq(rig_alternative(0, 1), "vendor+pointwise: (gemm 4 x 16 x 8 of bf16 in f32 acc) "
                                            "(pointwise 4 x 16 (y (relu (add y b))))");
}

/* No vendor multiplies these: the narrow one is cast, where it is frozen once. */
TEST(operands_of_two_types)
{
    product(LFUSE_F32, LFUSE_F16, LFUSE_F32, LFUSE_PRECISION_FULL);
    rig_expect("(prepare (pointwise 8 x 16 (t0 (f32 w)))) (gemm 4 x 16 x 8 acc)");
    ck_assert_int_eq(plan->stages[0].nalternatives, 1);
    ck_assert_str_eq(plan->stages[0].alternatives[0].name, "widened");
}

/* The library's own kernels read each operand as it is. */
TEST(operands_of_two_types_by_its_own_kernels)
{
    rig_facts.vector_lanes = true;
    product(LFUSE_F32, LFUSE_F16, LFUSE_F32, LFUSE_PRECISION_FULL);
    rig_expect("(gemm 4 x 16 x 8 acc)");
}

TEST(another_type_behind)
{
    product(LFUSE_F32, LFUSE_F32, LFUSE_F16, LFUSE_PRECISION_FULL);
    rig_expect("(gemm 4 x 16 x 8 acc) (pointwise 4 x 16 (y (f16 t0)))");
}

TEST(operands_that_are_rounded)
{
    product(LFUSE_F32, LFUSE_F32, LFUSE_TYPE_NONE, LFUSE_PRECISION_BF16);
    rig_expect("(prepare (pointwise 8 x 16 (t1 (bf16 w)))) (pointwise 4 x 8 (t0 (bf16 x))) "
               "(gemm 4 x 16 x 8 of bf16 in f32 acc)");
}

TEST(tf32_by_the_vendor)
{
    rig_facts.products_tf32 = true;
    rig_facts.products = LFUSE__PRODUCTS_TUNED;
    product(LFUSE_F32, LFUSE_F32, LFUSE_TYPE_NONE, LFUSE_PRECISION_TF32);
    rig_expect("(gemm 4 x 16 x 8 in tf32 acc)");
    rig_facts.vector_lanes = true; /* also where other products are the library's own */
    rig_expect("(gemm 4 x 16 x 8 in tf32 acc)");
}

static void refused(lfuse_provider provider, const char *words)
{
    const lfuse_plan_options options = { .provider = provider };
    lfuse__plan_body *none = NULL;

    SAYS(LFUSE_ERR_UNSUPPORTED, lfuse__plan_make(g, &rig_facts, &lfuse__products_advice, &options, &none), words);
    ck_assert_ptr_null(none);
}

/* By the library's own kernels, unless the vendor's are asked for. */
TEST(tf32_on_tensor_cores)
{
    rig_facts.vector_lanes = false, rig_facts.simd = 32;
    rig_facts.info.local_bytes = 48 * 1024, rig_facts.info.max_group = 1024;
    rig_facts.tensor_cores = true;
    product(LFUSE_F32, LFUSE_F32, LFUSE_TYPE_NONE, LFUSE_PRECISION_TF32);
    rig_expect("(gemm 4 x 16 x 8 in tf32 acc)");
    refused(LFUSE_PROVIDER_VENDOR, "value 2 of the graph is a product in tf32, which");
}

TEST(tf32_refused)
{
    product(LFUSE_F32, LFUSE_F32, LFUSE_TYPE_NONE, LFUSE_PRECISION_TF32);
    rig_facts.products_tf32 = true;
    rig_facts.products = LFUSE__PRODUCTS_TUNED;
    refused(LFUSE_PROVIDER_NATIVE, "value 2 of the graph is a product in tf32; the library's own");
    rig_facts.products_tf32 = false;
    refused(LFUSE_PROVIDER_DEFAULT, "value 2 of the graph is a product in tf32, which");
    refused(LFUSE_PROVIDER_VENDOR, "does not have");
    rig_facts.products_tf32 = true;
    rig_facts.products = LFUSE__PRODUCTS_NONE;
    refused(LFUSE_PROVIDER_DEFAULT, "its products: ");
}

/* Strassen's algorithm is for products of f32 throughout. */
TEST(none_by_strassen)
{
    rig_strassen = LFUSE_STRASSEN_ONE;
    rig_facts.products_tf32 = true;
    rig_facts.products = LFUSE__PRODUCTS_TUNED;
    product(LFUSE_F32, LFUSE_F32, LFUSE_TYPE_NONE, LFUSE_PRECISION_TF32);
    rig_make(0);
    ck_assert_msg(strstr(text.data, "(levels 0 4 x 16 x 8 in tf32)"), "%s", text.data);
    ck_assert(strstr(text.data, "(gemm 4 x 16 x 8 in tf32 acc)"));
}

TEST(none_of_two_types_by_strassen)
{
    rig_strassen = LFUSE_STRASSEN_ONE;
    product(LFUSE_F32, LFUSE_BF16, LFUSE_F32, LFUSE_PRECISION_FULL);
    rig_make(0);
    ck_assert_msg(strstr(text.data, "(levels 0 4 x 16 x 8 operands of two types)"), "%s", text.data);
}

/* Factors of e4m3, sums of blocks, would keep three bits. */
TEST(none_of_bytes_by_strassen)
{
    rig_strassen = LFUSE_STRASSEN_ONE;
    product(LFUSE_E4M3, LFUSE_E4M3, LFUSE_F32, LFUSE_PRECISION_FULL);
    rig_make(0);
    ck_assert_msg(strstr(text.data, "(levels 0 4 x 16 x 8 factors of 8 bits)"), "%s", text.data);
}

/* ---- operands of 8 bits ---- */

static lfuse_value scaled(lfuse_type a, lfuse_type b, int rank, lfuse_size rows, lfuse_size columns)
{
    const lfuse_value x = lfuse_input(g, "x", a, SHAPE(4096, 8192)), w = lfuse_frozen(g, "w", b, SHAPE(2048, 8192));
    const lfuse_value of_x = lfuse_input(g, "sx", LFUSE_F32, rank, LFUSE_DIMS(rows, 1));
    const lfuse_value of_w = lfuse_frozen(g, "sw", LFUSE_F32, rank / 2, LFUSE_DIMS(columns));
    const lfuse_value y = lfuse_matmul_as(x, lfuse_transpose(w), LFUSE_F32, LFUSE_PRECISION_FULL);

    return lfuse_mul(lfuse_mul(y, of_x), of_w);
}

/* Scales of tensors, or of rows and columns, belong to the product, and what follows; no operand is cast to f32. */
TEST(fp8_scaled_by_tensor)
{
    rig_tiles(LFUSE__PRODUCTS_TUNED);
    lfuse_output(g, "y", lfuse_cast(lfuse_relu(scaled(LFUSE_E4M3, LFUSE_E4M3, 0, 1, 1)), LFUSE_BF16));
    rig_expect("(gemm 4096 x 2048 x 8192 of e4m3 in f32 (bf16 (relu (mul (mul acc sx) sw))))");
}

TEST(fp8_scaled_by_row)
{
    rig_tiles(LFUSE__PRODUCTS_TUNED);
    lfuse_output(g, "y", lfuse_cast_saturated(scaled(LFUSE_E4M3, LFUSE_E5M2, 2, 4096, 2048), LFUSE_E4M3));
    rig_expect("(gemm 4096 x 2048 x 8192 of e4m3 in f32 (e4m3 (clamp (mul (mul acc sx) sw) -448 448)))");
}

/* ---- operands that may be split ---- */

/* Where the device gains by it, the library's own kernels compute the product, whoever has the others. */
TEST_LOOP(split_by_its_own_kernels, 0, 2)
{
    const lfuse_precision precision = _i ? LFUSE_PRECISION_BF16X6 : LFUSE_PRECISION_F32X3;
    rig_tiles(LFUSE__PRODUCTS_TUNED);
    product(LFUSE_F32, LFUSE_F32, LFUSE_TYPE_NONE, precision);
    rig_make(0);
    ck_assert_msg(!strstr(text.data, " in "), "%s", text.data);
    rig_splits = true;
    rig_expect(_i ? "(gemm 4 x 16 x 8 in bf16x6 acc)" : "(gemm 4 x 16 x 8 in f32x3 acc)");
    ck_assert_int_eq(plan->stages[0].nalternatives, 1);
    ck_assert_str_eq(plan->stages[0].alternatives[0].name, "native");
    ck_assert_int_eq(plan->stages[0].alternatives[0].steps[0].product.precision, precision);
}

/* Sizes at which both providers are otherwise alternatives, and at which the vendor's alone is. */
TEST(f32x3_is_never_the_vendors)
{
    const lfuse_size batch = lfuse_size_var(g, "batch", 1, 4096);
    const lfuse_value w = lfuse_frozen(g, "w", F32(4096, 4096)), u = lfuse_input(g, "u", F32(8192, 4096));
    lfuse_value x = lfuse_matmul_as(lfuse_input(g, "x", F32(batch, 4096)), w, LFUSE_F32, LFUSE_PRECISION_F32X3);

    rig_h200();
    rig_tiles(LFUSE__PRODUCTS_TUNED);
    rig_splits = true;
    lfuse_output(g, "y", lfuse_relu(x));
    lfuse_output(g, "z", lfuse_matmul_as(u, w, LFUSE_F32, LFUSE_PRECISION_F32X3));
    rig_make(0);
    for (int i = 0; i < plan->nstages; i++) ck_assert_int_eq(plan->stages[i].nalternatives, 1);
    ck_assert(strstr(text.data, "(gemm batch x 4096 x 4096 in f32x3 (relu acc))"));
    ck_assert(strstr(text.data, "(gemm 8192 x 4096 x 4096 in f32x3 acc)"));
}

/* The plan's precision is that of its products of f32 without one of their own; others keep theirs. */
TEST(f32x3_of_a_plan)
{
    const lfuse_value x = lfuse_input(g, "x", F32(2, 4, 8)), y = lfuse_input(g, "y", F16(8, 8));
    const lfuse_value w = lfuse_frozen(g, "w", F32(8, 16));
    const lfuse_value list = lfuse_list_input(g, "list", LFUSE_F32, LFUSE_RANK_MATRIX);

    rig_tiles(LFUSE__PRODUCTS_NONE);
    rig_splits = true;
    rig_precision = LFUSE_PRECISION_F32X3;
    lfuse_output(g, "batch", lfuse_matmul(x, lfuse_input(g, "b", F32(2, 8, 16))));
    lfuse_output(g, "half", lfuse_matmul(y, y));
    lfuse_output(g, "mixed", lfuse_matmul_as(y, w, LFUSE_F32, LFUSE_PRECISION_FULL));
    lfuse_output(g, "rounded", lfuse_matmul_as(w, lfuse_transpose(w), LFUSE_F16, LFUSE_PRECISION_FULL));
    lfuse_output(g, "members", lfuse_member_matmul(list, 0, list, 1));
    rig_make(LFUSE_NO_BUNDLES);
    ck_assert_msg(strstr(text.data, "(gemm 2 of 4 x 16 x 8 acc)"), "%s", text.data);
    ck_assert_msg(strstr(text.data, "(gemm 8 x 8 x 8 acc)"), "%s", text.data);
    ck_assert_msg(strstr(text.data, "(gemm 8 x 16 x 8 of f16 in f32 acc)"), "%s", text.data);
    ck_assert_msg(strstr(text.data, "(gemm 8 x 8 x 16 in f32x3 (f16 acc))"), "%s", text.data);
    ck_assert_msg(strstr(text.data, "(grouped list x list^T "), "%s", text.data);
}

static bool every_product(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    (void)facts, (void)desc;
    return true;
}

/* A vendor's library that is asked for multiplies in f32. */
TEST(f32x3_leaves_the_vendor_f32)
{
    const lfuse_plan_options options = { .provider = LFUSE_PROVIDER_VENDOR, .precision = LFUSE_PRECISION_F32X3 };
    lfuse__matmul_advice advice = lfuse__products_advice;

    rig_tiles(LFUSE__PRODUCTS_TUNED);
    advice.splits = every_product;
    product(LFUSE_F32, LFUSE_F32, LFUSE_TYPE_NONE, LFUSE_PRECISION_F32X3);
    rig_canonical();
    OK(lfuse__plan_make(canonical, &rig_facts, &advice, &options, &plan));
    ck_assert_int_eq(plan->stages[0].alternatives[0].steps[0].product.precision, LFUSE_PRECISION_FULL);
    ck_assert(!plan->stages[0].alternatives[0].steps[0].product.native);
}

/* What is split is not computed where it is read, nor by Strassen's algorithm where that leaves sums too short. */
TEST(f32x3_of_matrices_in_memory)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 64)), w = lfuse_input(g, "w", I8(64, 64));
    const lfuse_value scale = lfuse_input(g, "scale", F32(64));

    rig_tiles(LFUSE__PRODUCTS_NONE);
    rig_splits = true;
    lfuse_output(g, "y", lfuse_matmul(x, lfuse_mul(lfuse_cast(w, LFUSE_F32), scale)));
    rig_make(0);
    ck_assert_msg(strstr(text.data, "(right (mul (f32 w) scale))"), "%s", text.data);
    rig_precision = LFUSE_PRECISION_F32X3;
    rig_strassen = LFUSE_STRASSEN_ONE;
    rig_expect("(pointwise 64 x 64 (t0 (mul (f32 w) scale))) (gemm 4 x 64 x 64 in f32x3 acc) "
               "(levels 0 4 x 64 x 64 k too small)");
}

/* ---- what the vendor's product takes behind its sums ---- */

static lfuse_value m, r, row;

static void operands(void)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 8));

    m = lfuse_matmul(x, lfuse_input(g, "w", F32(8, 16)));
    r = lfuse_input(g, "r", F32(4, 16));
    row = lfuse_input(g, "b", F32(16));
}

static lfuse_value by(lfuse_value x, const char *number)
{
    return lfuse_mul(x, lfuse_scalar(g, number));
}

TEST_CASE("epilogues", .setup = rig_setup, .teardown = rig_teardown)

TEST(alpha_and_a_bias)
{
    operands();
    lfuse_output(g, "y", lfuse_relu(lfuse_add(by(m, "alpha"), row)));
    rig_expect("(gemm 4 x 16 x 8 (relu (add (mul acc alpha) b)))");
}

TEST(a_residual)
{
    operands();
    lfuse_output(g, "y", lfuse_relu(lfuse_add(lfuse_add(r, m), row)));
    rig_expect("(gemm 4 x 16 x 8 (relu (add (add acc r) b)))");
    ck_assert_int_eq(plan->stages[0].nalternatives, 2);
    ck_assert_str_eq(rig_alternative(0, 1), "vendor+pointwise: (gemm 4 x 16 x 8 acc) "
                                            "(pointwise 4 x 16 (y (relu (add (add r y) b))))");
}

TEST(beta_of_another_matrix)
{
    operands();
    lfuse_output(g, "y", lfuse_add(lfuse_add(by(m, "alpha"), by(r, "beta")), row));
    rig_expect("(gemm 4 x 16 x 8 (add (add (mul acc alpha) (mul r beta)) b))");
}

/* C and D are the same memory, with and without a number. */
TEST(a_residual_that_is_replaced)
{
    operands();
    lfuse_update(r, lfuse_add(m, r));
    rig_expect("(gemm 4 x 16 x 8 (add acc r))");
    ck_assert_int_eq(plan->stages[0].alternatives[0].steps[0].noperands, 3);
}

TEST(another_product_as_residual)
{
    const lfuse_value v = lfuse_input(g, "v", F32(4, 3));

    operands();
    lfuse_output(g, "y", lfuse_add(m, lfuse_matmul(v, lfuse_input(g, "z", F32(3, 16)))));
    rig_expect("(gemm 4 x 16 x 3 acc) (gemm 4 x 16 x 8 (add acc t0))");
    rig_check_order();
}

static void behind(lfuse_value y, const char *wanted)
{
    lfuse_output(g, "y", y);
    rig_expect(wanted);
}

/* Vendors add the matrix first, then the row, and are done: in another order other bits come out, or another value. */
TEST(in_another_order)
{
    operands();
    behind(lfuse_add(lfuse_add(m, row), r), "(gemm 4 x 16 x 8 acc) (pointwise 4 x 16 (y (add (add t0 b) r)))");
}

/* A layer of f16 with an activation, beside a tuned library. */
static void layer_by(lfuse_value (*activation)(lfuse_value), const char *wanted)
{
    const lfuse_value x = lfuse_input(g, "x", F16(512, 512)), w = lfuse_input(g, "w", F16(512, 512));

    rig_h200();
    rig_tiles(LFUSE__PRODUCTS_TUNED);
    behind(activation(lfuse_add(lfuse_matmul(x, w), lfuse_input(g, "b", F16(512)))), wanted);
}

/*
 * What a vendor's epilogue lacks is a kernel behind its product, or belongs to a product of the library's own, whoever
 * multiplies faster without it.
 */
TEST(that_no_vendor_has)
{
    layer_by(lfuse_gelu, "(gemm 512 x 512 x 512 (gelu (add acc b)))");
    ck_assert_int_eq(plan->stages[0].nalternatives, 2);
    ck_assert_str_eq(plan->stages[0].alternatives[0].name, "native");
    ck_assert(plan->stages[0].alternatives[0].steps[0].product.behind);
    ck_assert_str_eq(rig_alternative(0, 1), "vendor+pointwise: (gemm 512 x 512 x 512 acc) "
                                            "(pointwise 512 x 512 (y (gelu (add t0 b))))");
}

/* Who sums the rows of such a product, or its columns, is another question: softmax, and the gradient of a bias. */
TEST(that_no_vendor_has_and_sums)
{
    static const int axes[] = { 0, 1 };

    rig_h200();
    rig_tiles(LFUSE__PRODUCTS_TUNED);
    const lfuse_value x = lfuse_input(g, "x", F16(512, 512)), w = lfuse_input(g, "w", F16(512, 512));
    lfuse_output(g, "softmax", lfuse_softmax(lfuse_matmul(x, w), 1, &axes[1]));
    for (int i = 0; i < 2; i++) {
        const lfuse_value y = lfuse_gelu(lfuse_matmul(lfuse_neg(x), lfuse_input(g, i ? "v" : "u", F16(512, 512))));
        lfuse_output(g, i ? "rows" : "columns", lfuse_sum(y, 1, &axes[i], false));
    }
    rig_make(0);
    ck_assert_int_gt(plan->nstages, 2);
}

TEST(that_vendors_have)
{
    layer_by(lfuse_relu, "(gemm 512 x 512 x 512 (relu (add acc b)))");
    ck_assert_str_eq(plan->stages[0].alternatives[0].name, "vendor-epilogue");
}

TEST(behind_an_activation)
{
    operands();
    lfuse_update(r, lfuse_add(lfuse_relu(m), by(r, "beta")));
    rig_expect("(gemm 4 x 16 x 8 acc) (pointwise 4 x 16 (r (add (relu t0) (mul r beta))))");
}

TEST(two_matrices)
{
    operands();
    behind(lfuse_add(lfuse_add(m, r), lfuse_input(g, "q", F32(4, 16))),
           "(gemm 4 x 16 x 8 acc) (pointwise 4 x 16 (y (add (add t0 r) q)))");
}

TEST(a_residual_of_one_column)
{
    operands();
    behind(lfuse_add(m, lfuse_input(g, "q", F32(4, 1))), "(gemm 4 x 16 x 8 acc) (pointwise 4 x 16 (y (add t0 q)))");
}

/* ---- a scale in the device's memory ---- */

static lfuse_value scale(int rank)
{
    return lfuse_input(g, "s", LFUSE_F32, rank, LFUSE_DIMS(1, 1));
}

TEST_CASE("scales", .setup = rig_setup, .teardown = rig_teardown)

TEST(in_place_of_alpha)
{
    operands();
    lfuse_output(g, "y", lfuse_relu(lfuse_add(lfuse_mul(scale(0), m), row)));
    rig_expect("(gemm 4 x 16 x 8 (relu (add (mul acc s) b)))");
    ck_assert_int_eq(plan->stages[0].nalternatives, 2);
    ck_assert_str_eq(rig_alternative(0, 1), "vendor+pointwise: (gemm 4 x 16 x 8 acc) "
                                            "(pointwise 4 x 16 (y (relu (add (mul s y) b))))");
}

TEST(before_a_matrix)
{
    operands();
    behind(lfuse_add(lfuse_add(lfuse_mul(m, scale(2)), by(r, "beta")), row),
           "(gemm 4 x 16 x 8 (add (add (mul acc s) (mul r beta)) b))");
}

TEST(one_of_many)
{
    operands();
    behind(lfuse_mul(m, lfuse_slice(row, 0, 3, 1, 1)), "(gemm 4 x 16 x 8 (mul acc b[3]))");
}

TEST(of_another_step)
{
    const lfuse_value half = lfuse_mul(scale(0), lfuse_constant(g, 0.5));

    operands();
    lfuse_output(g, "half", half);
    behind(lfuse_mul(m, half), "(pointwise 1 (half (mul s 0.5))) (gemm 4 x 16 x 8 (mul acc half))");
    rig_check_order();
}

static lfuse_value product_of_f16(lfuse_type type)
{
    const lfuse_value x = lfuse_input(g, "x", LFUSE_F16, 2, LFUSE_DIMS(4, 8));

    return lfuse_matmul_as(x, lfuse_input(g, "w", LFUSE_F16, 2, LFUSE_DIMS(8, 16)), type, LFUSE_PRECISION_FULL);
}

TEST(of_the_type_of_alpha)
{
    behind(lfuse_mul(product_of_f16(LFUSE_F32), scale(0)), "(gemm 4 x 16 x 8 of f16 in f32 (mul acc s))");
}

TEST(of_another_type_than_alpha)
{
    behind(lfuse_mul(product_of_f16(LFUSE_F16), lfuse_input(g, "s", LFUSE_F16, 0, NULL)),
           "(gemm 4 x 16 x 8 acc) (pointwise 4 x 16 (y (mul t0 s)))");
}

TEST(of_a_row)
{
    operands();
    behind(lfuse_mul(m, row), "(gemm 4 x 16 x 8 acc) (pointwise 4 x 16 (y (mul t0 b)))");
}

/* A vendor reads an element where it is, and looks nothing up. */
TEST(that_is_looked_up)
{
    const lfuse_value at = lfuse_input(g, "at", LFUSE_I32, 0, NULL);

    operands();
    behind(lfuse_mul(m, lfuse_gather(row, at)),
           "(gemm 4 x 16 x 8 acc) (pointwise 4 x 16 (y (mul t0 (gather b[@] at))))");
}

TEST(a_bias_that_is_looked_up)
{
    const lfuse_value at = lfuse_input(g, "at", LFUSE_I32, 0, NULL);

    operands();
    behind(lfuse_add(m, lfuse_gather(lfuse_input(g, "rows", F32(5, 16)), at)),
           "(pointwise 16 (t0 (gather rows[@,i0] at))) (gemm 4 x 16 x 8 (add acc t0))");
}

TEST(beside_alpha)
{
    operands();
    behind(lfuse_mul(by(m, "alpha"), scale(0)),
           "(gemm 4 x 16 x 8 acc) (pointwise 4 x 16 (y (mul (mul t0 alpha) s)))");
}

TEST(behind_a_bias)
{
    operands();
    behind(lfuse_mul(lfuse_add(m, row), scale(0)),
           "(gemm 4 x 16 x 8 acc) (pointwise 4 x 16 (y (mul (add t0 b) s)))");
}

TEST(of_a_product_that_is_read_elsewhere)
{
    operands();
    lfuse_output(g, "z", m);
    behind(lfuse_mul(m, scale(0)), "(gemm 4 x 16 x 8 acc) (pointwise 4 x 16 (y (mul z s)))");
}

/* Alpha stays while it is read: the result lies elsewhere until all of it is there. */
TEST(that_the_result_replaces)
{
    const lfuse_value x = lfuse_input(g, "x", LFUSE_F32, 2, LFUSE_DIMS(1, 8)), s = scale(2);
    const lfuse_value w = lfuse_input(g, "w", LFUSE_F32, 2, LFUSE_DIMS(8, 1));

    lfuse_update(s, lfuse_mul(lfuse_matmul(x, w), lfuse_reshape(s, 0, NULL)));
    rig_expect("(gemm 1 x 1 x 8 (mul acc s)) (pointwise 1 x 1 (s t0))");
}

TEST(that_is_a_part_of_what_the_result_replaces)
{
    operands();
    lfuse_update(r, lfuse_mul(m, lfuse_slice(lfuse_slice(r, 0, 1, 1, 1), 1, 2, 1, 1)));
    rig_expect("(gemm 4 x 16 x 8 (mul acc r[1,2])) (pointwise 4 x 16 (r t0))");
}

TEST_SUITE("products", CK_NOFORK)
