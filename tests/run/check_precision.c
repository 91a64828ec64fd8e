/* SPDX-License-Identifier: Apache-2.0 */
/* Products on the stub whose types and precision are named, and those that have no memory for a workspace. */
#include "common/base/half.h"
#include "tests/run/rig.h"
#include "tests/support/heard.h"

/* f16 tensors of these numbers, `rows` by 2. */
static lfuse_tensor *halves(int64_t rows, double a, double b)
{
    uint16_t host[64];

    lfuse_tensor *t = new_tensor(dev, F16(rows, 2));
    for (int64_t i = 0; i < 2 * rows; i++) host[i] = lfuse__double_to_f16(i % 2 ? b : a);
    OK(lfuse_tensor_write(t, NULL, host));
    return t;
}

TEST_CASE("products", .setup = open_stub, .teardown = close_stub)

/* 200 200 + 300 300 is more than f16 has, and 130001 more than it tells apart. */
TEST(gemm_of_halves_in_f32)
{
    static const lfuse_provider providers[] = { LFUSE_PROVIDER_NATIVE, LFUSE_PROVIDER_VENDOR };
    lfuse_tensor *a = halves(3, 200, 300), *b = halves(4, 200, 300), *c = ramp(SHAPE(3, 4), 1, 0);

    OK(lfuse_gemm(stream, 0, 1, 1, a, b, 1, c));
    OK(lfuse_gemm(stream, 0, 1, 2, a, b, 0.5, c));
    const float *v = values(c);
    for (int i = 0; i < 12; i++) ck_assert_float_eq(v[i], 260000 + 65000.5f);
    lfuse_output(g, "y", lfuse_matmul_as(lfuse_input(g, "a", F16(3, 2)),
                                         lfuse_transpose(lfuse_input(g, "b", F16(4, 2))),
                                         LFUSE_F32, LFUSE_PRECISION_FULL));
    for (int p = 0; p < 3; p++) {
        const uint64_t before = launches();
        lfuse__stub.decline_mixed = p == 1; /* then both are cast first; what is taken once is kept */
        lfuse_plan *plan = plan_by(providers[p > 0], LFUSE_NO_SMALL_PRODUCTS);
        RUN(plan, stream, BIND("a", a), BIND("b", b), BIND("y", c));
        v = values(c);
        for (int i = 0; i < 12; i++) ck_assert_float_eq(v[i], 130000);
        ck_assert_uint_eq(launches() - before, p == 1 ? 3 : 1);
    }
}

/* 288 288 + 4 4 is more than e4m3 has; operands of two types are refused. */
TEST(gemm_of_fp8_in_f32)
{
    const uint8_t host[4] = {0x79, 0x48, 0x79, 0x48}; /* 288, 4 */
    lfuse_tensor *a = new_tensor(dev, TYPED(LFUSE_E4M3, 2, 2)), *b = new_tensor(dev, TYPED(LFUSE_E4M3, 2, 2));
    lfuse_tensor *other = new_tensor(dev, TYPED(LFUSE_E5M2, 2, 2)), *c = ramp(SHAPE(2, 2), 1, 0);

    OK(lfuse_tensor_write(a, NULL, host));
    OK(lfuse_tensor_write(b, NULL, host));
    OK(lfuse_tensor_write(other, NULL, host));
    OK(lfuse_gemm(stream, 0, 1, 1, a, b, 0.5, c));
    for (int i = 0; i < 4; i++) ck_assert_float_eq(values(c)[i], 288 * 288 + 16 + 0.5f);
    FAILS(LFUSE_ERR_TYPE, lfuse_gemm(stream, 0, 1, 1, a, other, 0, c));
    for (int i = 0; i < 4; i++) ck_assert_float_eq(values(c)[i], 288 * 288 + 16 + 0.5f);
}

/* Products of nothing: zeros, and what is added to. */
TEST(gemm_of_halves_of_no_depth)
{
    lfuse_tensor *c = ramp(SHAPE(2, 3), 8, 0);

    lfuse_tensor *a = new_tensor(dev, F16(2, 0));
    lfuse_tensor *b = new_tensor(dev, F16(0, 3));
    OK(lfuse_gemm(stream, 0, 0, 1, a, b, 0.5, c));
    for (int i = 0; i < 6; i++) ck_assert_float_eq(values(c)[i], 4);
    OK(lfuse_gemm(stream, 0, 0, 1, a, b, 0, c));
    for (int i = 0; i < 6; i++) ck_assert_float_eq(values(c)[i], 0);
}

TEST(gemm_of_wrong_types)
{
    lfuse_tensor *a = halves(2, 1, 2), *b = ramp(SHAPE(2, 2), 1, 1);

    lfuse_tensor *c = new_tensor(dev, F64(2, 2));
    FAILS(LFUSE_ERR_TYPE, lfuse_gemm(stream, 0, 0, 1, a, b, 0, b));
    FAILS(LFUSE_ERR_TYPE, lfuse_gemm(stream, 0, 0, 1, a, a, 0, c));
    FAILS(LFUSE_ERR_TYPE, lfuse_gemm(stream, 0, 0, 1, b, b, 0, a));
    FAILS(LFUSE_ERR_TYPE, lfuse_gemm(stream, 0, 0, 1, b, b, 0, c));
}

/* f32 is f32, tf32 where it is asked for alone, in one plan. */
TEST(tf32_where_it_is_asked_for)
{
    const float fine = 1 + 0x1p-12f;
    lfuse_value a = lfuse_input(g, "a", F32(2, 1)), b = lfuse_input(g, "b", F32(1, 16));
    lfuse_plan *plan = NULL;

    lfuse_output(g, "full", lfuse_matmul(a, b));
    lfuse_output(g, "tf32", lfuse_matmul_as(a, b, LFUSE_F32, LFUSE_PRECISION_TF32));
    FAILS(LFUSE_ERR_UNSUPPORTED, lfuse_plan_create(dev, g, NULL, &plan)); /* the stub has no tf32 */
    ck_says("is a product in tf32, which stub:0");
    lfuse__stub.tf32 = true;
    reopen_device();
    lfuse_tensor *ta = ramp(SHAPE(2, 1), fine, 0), *tb = ramp(SHAPE(1, 16), 1, 0);
    lfuse_tensor *full = tensor(SHAPE(2, 16)), *tf32 = tensor(SHAPE(2, 16));
    plan = plan_with(0);
    ck_assert_msg(strstr(lfuse_plan_text(plan), "in tf32"), "%s", lfuse_plan_text(plan));
    RUN(plan, stream, BIND("a", ta), BIND("b", tb), BIND("full", full), BIND("tf32", tf32));
    ck_assert_float_eq(values(full)[31], fine);
    ck_assert_float_eq(values(tf32)[31], 1);
}

/* By the library's own kernels, where no vendor has it: operands are rounded to nearest, and not cut. */
TEST(tf32_on_tensor_cores)
{
    const float fine = 1 - 0x1p-13f;

    lfuse__stub.addresses = lfuse__stub.gpu = lfuse__stub.tensor_cores = true;
    lfuse__stub.vector_lanes = false;
    lfuse__stub.simd = 32, lfuse__stub.max_group = 1024;
    reopen_device();
    lfuse_value a = lfuse_input(g, "a", F32(2, 4)), b = lfuse_input(g, "b", F32(4, 16));
    lfuse_output(g, "y", lfuse_gelu(lfuse_matmul_as(a, b, LFUSE_F32, LFUSE_PRECISION_TF32)));
    lfuse_output(g, "full", lfuse_matmul(a, b));
    lfuse_tensor *ta = ramp(SHAPE(2, 4), fine, 0), *tb = ramp(SHAPE(4, 16), fine, 0);
    lfuse_tensor *y = tensor(SHAPE(2, 16)), *full = tensor(SHAPE(2, 16));
    lfuse_plan *plan = plan_with(0);
    ck_assert_msg(strstr(lfuse_plan_text(plan), "in tf32 (gelu acc)"), "%s", lfuse_plan_text(plan));
    const uint64_t before = launches();
    RUN(plan, stream, BIND("a", ta), BIND("b", tb), BIND("y", y), BIND("full", full));
    ck_assert_uint_eq(launches() - before, 2);
    ck_assert_float_eq_tol(values(y)[31], (float)(2 + 2 * erf(4 * 0.70710678118654752)), 1e-6f);
    ck_assert_float_ne(values(full)[31], 4);
}

static void refused(lfuse_precision precision)
{
    const lfuse_plan_options o = { .precision = precision };
    lfuse_plan *plan = NULL;

    FAILS(LFUSE_ERR_INVALID, lfuse_plan_create(dev, g, &o, &plan));
    ck_assert_ptr_null(plan);
}

/* Devices that split nothing compute in f32 what may be split. Other precisions are those of a product. */
TEST(precision_of_a_plan)
{
    const lfuse_plan_options o = { .precision = LFUSE_PRECISION_F32X3 };
    const float one = 1 + 0x1p-23f;

    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "a", F32(2, 1)), lfuse_input(g, "b", F32(1, 16))));
    refused(LFUSE_PRECISION_TF32);
    ck_says("precision 1 is none of a plan's");
    refused(LFUSE_PRECISION_F16);
    refused(LFUSE_PRECISION_BF16);
    refused((lfuse_precision)-1);
    refused((lfuse_precision)6);
    lfuse_tensor *a = ramp(SHAPE(2, 1), one, 0), *b = ramp(SHAPE(1, 16), 1, 0), *y = tensor(SHAPE(2, 16));
    lfuse_plan *plan = new_plan(dev, g, &o);
    RUN(plan, stream, BIND("a", a), BIND("b", b), BIND("y", y));
    for (int i = 0; i < 32; i++) ck_assert_float_eq(values(y)[i], one);
}

/* The vendor's favourite wants more than there is: it is said, and another one is taken. */
TEST(a_workspace_that_is_refused)
{
    lfuse__stub_call call;

    lfuse__stub.gemm_workspace = lfuse__stub.memory_bytes;
    dense_graph();
    lfuse_plan *plan = plan_by(LFUSE_PROVIDER_VENDOR, 0);
    hear(LFUSE_LOG_WARN);
    check_dense(plan, 5, 1);
    hear(LFUSE_LOG_NONE);
    ck_heard("products do without workspace");
    ck_assert(lfuse__stub_call_get(0, &call));
    ck_assert_int_eq(call.candidate, lfuse__stub.gemm_candidates - 1);
    lfuse__stub.gemm_workspace = 4096; /* other sizes ask again */
    heard[0] = '\0';
    check_dense(plan, 6, 1);
    ck_assert_str_eq(heard, "");
    ck_assert(lfuse__stub_call_get(0, &call));
    ck_assert_int_eq(call.candidate, 0);
}

/* Nor is it measured then. */
TEST(a_race_without_memory)
{
    const lfuse_plan_options measuring = { .effort = LFUSE_EFFORT_MEASURE, .disable = LFUSE_NO_EPILOGUE,
                                           .provider = LFUSE_PROVIDER_VENDOR };

    lfuse__stub.gemm_workspace = lfuse__stub.memory_bytes;
    dense_graph();
    lfuse_plan *plan = new_plan(dev, g, &measuring);
    hear(LFUSE_LOG_WARN);
    check_dense(plan, 5, ANY);
    hear(LFUSE_LOG_NONE);
    ck_heard("products do without");
}

/* ---- the library's own ---- */

static lfuse_tensor *fillers[64];

/* Takes all memory that there is, but for one piece of so many bytes, 0: none. */
static void leave(uint64_t bytes)
{
    lfuse__stub_live live;
    lfuse_tensor *kept = NULL;
    int n = 0;

    if (bytes) kept = new_tensor(dev, U8((int64_t)bytes));
    lfuse__stub_live_get(&live);
    lfuse__stub.memory_bytes = live.bytes;
    for (int64_t piece = 1 << 24; piece >= 256;)
        if (n == 64 || lfuse_tensor_create(dev, U8(piece), &fillers[n])) piece /= 2;
        else n++;
    drop(kept);
}

static void restore(void)
{
    for (int i = 0; i < 64; i++) {
        drop(fillers[i]);
        fillers[i] = NULL;
    }
    lfuse__stub.memory_bytes = (uint64_t)1 << 42;
}

/* A product of ones, with so much memory left; the result is right or the run fails. */
static lfuse_status product_of_ones(lfuse_type type, int64_t m, int64_t n, int64_t k, uint64_t left)
{
    lfuse_stream *s; /* that has no scratch yet */
    double *got = malloc((size_t)(m * n) * sizeof *got);

    fresh_graph();
    lfuse_output(g, "c", lfuse_matmul(lfuse_input(g, "a", TYPED(type, m, k)), lfuse_input(g, "b", TYPED(type, k, n))));
    OK(lfuse_stream_create(dev, &s));
    lfuse_plan *plan = new_plan(dev, g, NULL);
    lfuse_tensor *a = new_tensor(dev, TYPED(type, m, k));
    lfuse_tensor *b = new_tensor(dev, TYPED(type, k, n));
    lfuse_tensor *c = new_tensor(dev, TYPED(type, m, n));
    OK(lfuse_tensor_fill(a, s, 1));
    OK(lfuse_tensor_fill(b, s, 1));
    OK(lfuse_stream_synchronize(s));
    leave(left);
    hear(LFUSE_LOG_WARN);
    lfuse_status status = lfuse_plan_run(plan, s, BINDINGS(BIND("a", a), BIND("b", b), BIND("c", c)));
    hear(LFUSE_LOG_NONE);
    if (!status) {
        OK(lfuse_stream_synchronize(s));
        OK(lfuse_tensor_read(c, NULL, got));
        for (int64_t i = 0; i < m * n; i++)
            ck_assert((type == LFUSE_F64 ? got[i] : (double)((const float *)got)[i]) == (double)k);
    }
    restore();
    free(got);
    drop(plan);
    lfuse_stream_destroy(s);
    drop(a), drop(b), drop(c);
    return status;
}

/* CPUs pack panels: in no memory they cannot, which is said. */
TEST(panels_without_memory)
{
    FAILS(LFUSE_ERR_DEVICE_MEMORY, product_of_ones(LFUSE_F32, 64, 64, 64, 0));
    ck_heard("products do without workspace");
    ck_assert_str_ne(lfuse_last_error(), "");
}

TEST_SUITE("precision", CK_NOFORK)
