/* SPDX-License-Identifier: Apache-2.0 */
/* Operands that are split, or packed, before they are multiplied, on a stub with tensor cores: frozen ones once. */
#include "common/tune/wisdom.h"
#include "tests/run/rig.h"

enum { M = 100, N = 120, K = 260, LAUNCHES_OF_SPLIT = 1, LAUNCHES_OF_RUN = 2 };

static void open_tensor_cores(bool wgmma, unsigned dynamic_local_bytes)
{
    open_stub();
    lfuse__stub.addresses = lfuse__stub.gpu = lfuse__stub.tensor_cores = true;
    lfuse__stub.wgmma = wgmma;
    lfuse__stub.vector_lanes = false;
    lfuse__stub.simd = 32, lfuse__stub.max_group = 1024, lfuse__stub.compute_units = 1;
    lfuse__stub.dynamic_local_bytes = dynamic_local_bytes;
    reopen_stub();
}

static void open_warpgroups(void)
{
    open_tensor_cores(true, 226 * 1024);
}

static void open_little_local(void)
{
    open_tensor_cores(true, 48 * 1024);
}

static void open_warps(void)
{
    open_tensor_cores(false, 0);
}

/* Small integers: products are exact, split or not. */
static float of_x(int64_t i)
{
    return (float)(i % 7 - 3);
}

static float of_w(int64_t i)
{
    return (float)(i % 5 - 2);
}

static float of_other(int64_t i)
{
    return (float)(i % 3 - 1);
}

static double product(int64_t row, int64_t column, float (*x)(int64_t i), float (*w)(int64_t i))
{
    double sum = 0;

    for (int64_t l = 0; l < K; l++) sum += (double)x(row * K + l) * w(l * N + column);
    return sum;
}

static void expect(const lfuse_tensor *y, float (*x)(int64_t i), float (*w)(int64_t i))
{
    const float *v = values(y);

    for (int64_t i = 0; i < M * N; i += 7)
        ck_assert_msg(v[i] == (float)product(i / N, i % N, x, w), "element %d is %g, expected %g", (int)i, v[i],
                      product(i / N, i % N, x, w));
}

static void write(lfuse_tensor *t, float (*element)(int64_t i))
{
    const int64_t count = lfuse_tensor_elements(t);
    float *host = malloc((size_t)count * sizeof *host);

    ck_assert_ptr_nonnull(host);
    for (int64_t i = 0; i < count; i++) host[i] = element(i);
    OK(lfuse_tensor_write(t, NULL, host));
    free(host);
}

/* y = x w, of which some are frozen. */
static lfuse_plan *split_plan(bool frozen_x, bool frozen_w)
{
    const lfuse_plan_options o = { .precision = LFUSE_PRECISION_F32X3, .provider = LFUSE_PROVIDER_NATIVE };

    lfuse_output(g, "y", lfuse_matmul((frozen_x ? lfuse_frozen : lfuse_input)(g, "x", F32(M, K)),
                                      (frozen_w ? lfuse_frozen : lfuse_input)(g, "w", F32(K, N))));
    return new_plan(dev, g, &o);
}

/* Lines along k are of three scales by turns, so that the factors of a line differ from one matrix to the next. */
static float scaled_x(int64_t i)
{
    return of_x(i) * (float)(1 << i / K % 3);
}

static float scaled_other(int64_t i)
{
    return of_other(i) * (float)(1 << i / K % 3);
}

/*
 * Two products, whose right operands are stored by columns, with what follows: a bias of each one's rows.
 * `shared`: one right operand for all, of which one copy is kept.
 */
static void case_batches(bool frozen, bool shared)
{
    enum { COUNT = 2, ROWS = 130, COLUMNS = 100 };
    const lfuse_plan_options o = { .precision = LFUSE_PRECISION_F32X3, .provider = LFUSE_PROVIDER_NATIVE };
    lfuse_value w = shared ? lfuse_frozen(g, "w", F32(1, COLUMNS, K))
                           : (frozen ? lfuse_frozen : lfuse_input)(g, "w", F32(COUNT, COLUMNS, K));
    const lfuse_value sum = lfuse_matmul(lfuse_input(g, "x", F32(COUNT, ROWS, K)), lfuse_transpose(w));

    lfuse_output(g, "y", lfuse_add(sum, lfuse_input(g, "b", F32(COUNT, ROWS, 1))));
    lfuse_tensor *x = filled_tensor(SHAPE(COUNT, ROWS, K), scaled_x), *b = filled_tensor(SHAPE(COUNT, ROWS, 1), of_w);
    lfuse_tensor *y = tensor(SHAPE(COUNT, ROWS, COLUMNS));
    lfuse_tensor *v = shared ? filled_tensor(SHAPE(1, COLUMNS, K), scaled_other)
                             : filled_tensor(SHAPE(COUNT, COLUMNS, K), scaled_other);
    lfuse_plan *plan = new_plan(dev, g, &o);
    const uint64_t loaded = programs();
    const lfuse_binding bound[] = {BIND("x", x), BIND("w", v), BIND("b", b), BIND("y", y)};
    LAUNCHES((frozen || shared) + LAUNCHES_OF_RUN, OK(lfuse_plan_run(plan, stream, bound, 4)));
    if (frozen || shared) LAUNCHES(LAUNCHES_OF_RUN, OK(lfuse_plan_run(plan, stream, bound, 4)));
    ck_assert_uint_eq(programs(), loaded); /* the plan has foreseen what is kept */
    if (shared) { /* less than two matrices in whole tiles */
        const uint64_t lines = (COLUMNS + 127) / 128 * 128, of_line = 4 + (K + 63) / 64 * 64 * 4;
        ck_assert_uint_le(lfuse_instance_prepared(new_instance(plan, stream, bound, 4)), lines * of_line);
    }
    const float *got = values(y);
    for (int64_t i = 0; i < COUNT * ROWS * COLUMNS; i += 13) {
        const int64_t row = i / COLUMNS, column = i % COLUMNS + (shared ? 0 : row / ROWS * COLUMNS);
        double expected = of_w(row);
        for (int64_t l = 0; l < K; l++) expected += (double)scaled_x(row * K + l) * scaled_other(column * K + l);
        ck_assert_msg(got[i] == (float)expected, "element %d is %g, expected %g", (int)i, got[i], expected);
    }
}

TEST_CASE("split operands", .setup = open_warpgroups, .teardown = close_stub)

TEST(both_in_each_run)
{
    lfuse_tensor *x = filled_tensor(SHAPE(M, K), of_x), *w = filled_tensor(SHAPE(K, N), of_w), *y = tensor(SHAPE(M, N));
    lfuse_plan *plan = split_plan(false, false);

    for (int i = 0; i < 2; i++) LAUNCHES(LAUNCHES_OF_RUN, RUN(plan, stream, BIND("x", x), BIND("w", w), BIND("y", y)));
    expect(y, of_x, of_w);
    write(w, of_other);
    LAUNCHES(LAUNCHES_OF_RUN, RUN(plan, stream, BIND("x", x), BIND("w", w), BIND("y", y)));
    expect(y, of_x, of_other);
}

/* The other operand is split in each run; another frozen tensor is another instance's; contents by a refresh. */
TEST_LOOP(frozen_ones_once, 0, 2)
{
    lfuse_tensor *x = filled_tensor(SHAPE(M, K), of_x), *w = filled_tensor(SHAPE(K, N), of_w), *y = tensor(SHAPE(M, N));
    lfuse_tensor *frozen = _i ? w : x, *changing = _i ? x : w;
    lfuse_plan *plan = split_plan(!_i, _i);
    const lfuse_binding b[] = { BIND("x", x), BIND("w", w), BIND("y", y) };
    const uint64_t tiles = _i ? (N + 127) / 128 * 128 : (M + 127) / 128 * 128, k_tiles = (K + 63) / 64;

    LAUNCHES(LAUNCHES_OF_SPLIT + LAUNCHES_OF_RUN, OK(lfuse_plan_run(plan, stream, b, 3)));
    expect(y, of_x, of_w);
    write(changing, of_other);
    LAUNCHES(LAUNCHES_OF_RUN, OK(lfuse_plan_run(plan, stream, b, 3)));
    expect(y, _i ? of_other : of_x, _i ? of_w : of_other);
    lfuse_tensor *others = _i ? filled_tensor(SHAPE(K, N), of_x) : filled_tensor(SHAPE(M, K), of_x);
    LAUNCHES(LAUNCHES_OF_SPLIT + LAUNCHES_OF_RUN,
             RUN(plan, stream, BIND("x", _i ? x : others), BIND("w", _i ? others : w), BIND("y", y)));
    expect(y, _i ? of_other : of_x, _i ? of_x : of_other);
    lfuse_instance *in = new_instance(plan, stream, b, 3);
    ck_assert_uint_le(lfuse_instance_prepared(in), tiles * (4 + k_tiles * 64 * 4));
    ck_assert_uint_gt(lfuse_instance_prepared(in), tiles / 2 * k_tiles * 64 * 4);
    write(frozen, of_x);
    LAUNCHES(LAUNCHES_OF_RUN, OK(lfuse_instance_run(in, b, 3)));
    expect(y, _i ? of_other : of_x, _i ? of_w : of_other);
    LAUNCHES(LAUNCHES_OF_SPLIT, OK(lfuse_instance_refresh(in)));
    LAUNCHES(LAUNCHES_OF_RUN, OK(lfuse_instance_run(in, b, 3)));
    expect(y, _i ? of_other : of_x, _i ? of_x : of_other);
}

/*
 * Six products of words pay from larger products on. An element has three words, of which those of a frozen operand are
 * kept: w's, in tiles of 128 columns and 64 along k.
 */
TEST(three_words)
{
    enum { SIDE = 250, DEEP = 260 };
    const lfuse_plan_options o = { .precision = LFUSE_PRECISION_BF16X6, .provider = LFUSE_PROVIDER_NATIVE };
    lfuse_value w = lfuse_frozen(g, "w", F32(DEEP, SIDE));

    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "x", F32(SIDE, DEEP)), w));
    lfuse_tensor *x = filled_tensor(SHAPE(SIDE, DEEP), of_x), *v = filled_tensor(SHAPE(DEEP, SIDE), of_w);
    lfuse_tensor *y = tensor(SHAPE(SIDE, SIDE));
    const lfuse_binding b[] = { BIND("x", x), BIND("w", v), BIND("y", y) };
    lfuse_plan *plan = new_plan(dev, g, &o);
    ck_assert_ptr_nonnull(strstr(lfuse_plan_text(plan), " in bf16x6 "));
    lfuse_instance *in = NULL;
    LAUNCHES(LAUNCHES_OF_SPLIT, in = new_instance(plan, stream, b, 3));
    ck_assert_uint_eq(lfuse_instance_prepared(in), 256 * (4 + 320 * 6));
    LAUNCHES(LAUNCHES_OF_RUN, OK(lfuse_instance_run(in, b, 3)));
    const float *got = values(y);
    for (int64_t i = 0; i < SIDE * SIDE; i += 37) {
        double expected = 0;
        for (int64_t l = 0; l < DEEP; l++) expected += (double)of_x(i / SIDE * DEEP + l) * of_w(l * SIDE + i % SIDE);
        ck_assert_msg(got[i] == (float)expected, "element %d is %g, expected %g", (int)i, got[i], expected);
    }
}

/* Small integers of e4m3: 1 ... 4 and their negatives. */
static uint8_t e4m3_of(float x)
{
    static const uint8_t codes[] = { 0, 0x38, 0x40, 0x44, 0x48 };

    return codes[(int)fabsf(x)] | (x < 0 ? 0x80 : 0);
}

static void write_bytes(lfuse_tensor *t, float (*element)(int64_t i))
{
    const int64_t count = lfuse_tensor_elements(t);
    uint8_t *host = malloc((size_t)count);

    ck_assert_ptr_nonnull(host);
    for (int64_t i = 0; i < count; i++) host[i] = e4m3_of(element(i));
    OK(lfuse_tensor_write(t, NULL, host));
    free(host);
}

/* Of operands of 8 bits that do not lie along k the k-tiles are kept. */
TEST(frozen_bytes_are_packed_once)
{
    const lfuse_plan_options o = { .provider = LFUSE_PROVIDER_NATIVE };
    lfuse_value w = lfuse_frozen(g, "w", TYPED(LFUSE_E4M3, K, N));

    lfuse_output(g, "y", lfuse_matmul_as(lfuse_input(g, "x", TYPED(LFUSE_E4M3, M, K)), w, LFUSE_F32,
                                         LFUSE_PRECISION_FULL));
    lfuse_tensor *x = new_tensor(dev, TYPED(LFUSE_E4M3, M, K)), *v = new_tensor(dev, TYPED(LFUSE_E4M3, K, N));
    lfuse_tensor *y = tensor(SHAPE(M, N));
    write_bytes(x, of_x);
    write_bytes(v, of_w);
    const lfuse_binding b[] = { BIND("x", x), BIND("w", v), BIND("y", y) };
    lfuse_plan *plan = new_plan(dev, g, &o);
    LAUNCHES(LAUNCHES_OF_SPLIT + LAUNCHES_OF_RUN, OK(lfuse_plan_run(plan, stream, b, 3)));
    expect(y, of_x, of_w);
    lfuse_instance *in = new_instance(plan, stream, b, 3);
    ck_assert_uint_eq(lfuse_instance_prepared(in), (N + 127) / 128 * 128 * ((K + 127) / 128 * 128));
    write_bytes(x, of_other);
    write_bytes(v, of_x);
    LAUNCHES(LAUNCHES_OF_RUN, OK(lfuse_instance_run(in, b, 3)));
    expect(y, of_other, of_w);
    LAUNCHES(LAUNCHES_OF_SPLIT, OK(lfuse_instance_refresh(in)));
    LAUNCHES(LAUNCHES_OF_RUN, OK(lfuse_instance_run(in, b, 3)));
    expect(y, of_other, of_x);
}

/*
 * Beside an operand that comes by a tensor map, the k-tiles of a frozen one are kept, and runs have nothing to pack:
 * what packs in a run is neither compiled nor launched.
 */
TEST(frozen_beside_one_with_a_map)
{
    const lfuse_plan_options o = { .provider = LFUSE_PROVIDER_NATIVE };

    lfuse__stub.tensor_maps = true;
    reopen_stub();
    lfuse_output(g, "y", lfuse_matmul_as(lfuse_input(g, "x", F32(M, K)), lfuse_frozen(g, "w", F32(K, N)), LFUSE_F32,
                                         LFUSE_PRECISION_TF32));
    lfuse_tensor *x = filled_tensor(SHAPE(M, K), of_x), *w = filled_tensor(SHAPE(K, N), of_w), *y = tensor(SHAPE(M, N));
    const lfuse_binding b[] = { BIND("x", x), BIND("w", w), BIND("y", y) };
    lfuse_plan *plan = new_plan(dev, g, &o);
    const uint64_t kernels = lfuse__stub_calls(LFUSE__STUB_kernel_create);
    LAUNCHES(1 + 1, OK(lfuse_plan_run(plan, stream, b, 3)));
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_kernel_create) - kernels, 1 + 1);
    expect(y, of_x, of_w);
    write(x, of_other);
    LAUNCHES(1, OK(lfuse_plan_run(plan, stream, b, 3)));
    expect(y, of_other, of_w);
}

/* What is copied in each run, as its elements lie apart, is split in each run. */
TEST(frozen_ones_that_are_copied)
{
    lfuse_tensor *x = filled_tensor(SHAPE(M, K), of_x), *y = tensor(SHAPE(M, N));
    lfuse_tensor *wide = filled_tensor(SHAPE(2 * K * N), of_other);
    lfuse_tensor *w = new_view(wide, SHAPE(K, N), LFUSE_DIMS(2 * N, 2), 0);
    lfuse_plan *plan = split_plan(false, true);

    write(w, of_w);
    for (int i = 0; i < 2; i++)
        LAUNCHES(1 + LAUNCHES_OF_RUN, RUN(plan, stream, BIND("x", x), BIND("w", w), BIND("y", y)));
    expect(y, of_x, of_w);
}

TEST_LOOP(batches, 0, 3)
{
    case_batches(_i == 1, _i == 2);
}

enum { ROWS = 66, COLUMNS = 72, INNER = 520 };

static void expect_large(const lfuse_tensor *y, float (*w)(int64_t i))
{
    const float *v = values(y);

    for (int64_t i = 0; i < ROWS * COLUMNS; i += 41) {
        double expected = 0;
        for (int64_t l = 0; l < INNER; l++)
            expected += (double)of_x(i / COLUMNS * INNER + l) * w(l * COLUMNS + i % COLUMNS);
        ck_assert_msg(v[i] == (float)expected, "element %d is %g, expected %g", (int)i, v[i], expected);
    }
}

/* Seven products of a quarter of the matrices: w's factors and their words are made once, x's in each run. */
TEST_LOOP(strassen, 0, 2)
{
    const lfuse_plan_options o = { .precision = LFUSE_PRECISION_F32X3, .provider = LFUSE_PROVIDER_NATIVE,
                                   .strassen = LFUSE_STRASSEN_ONE };
    lfuse_value w = (_i ? lfuse_frozen : lfuse_input)(g, "w", F32(INNER, COLUMNS));

    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "x", F32(ROWS, INNER)), w));
    lfuse_tensor *x = filled_tensor(SHAPE(ROWS, INNER), of_x), *v = filled_tensor(SHAPE(INNER, COLUMNS), of_w);
    lfuse_tensor *y = tensor(SHAPE(ROWS, COLUMNS));
    const lfuse_binding b[] = { BIND("x", x), BIND("w", v), BIND("y", y) };
    lfuse_plan *plan = new_plan(dev, g, &o);
    ck_assert_msg(strstr(lfuse_plan_text(plan), "(gemm 7 of 33 x 36 x 260 in f32x3 acc)"), "%s",
                  lfuse_plan_text(plan));
    lfuse_instance *in = NULL;
    LAUNCHES(_i ? 1 + LAUNCHES_OF_SPLIT : 0, in = new_instance(plan, stream, b, 3));
    for (int run = 0; run < (_i ? 3 : 1); run++)
        LAUNCHES(_i ? 1 + LAUNCHES_OF_RUN + 1 : 2 + LAUNCHES_OF_RUN + 1, OK(lfuse_instance_run(in, b, 3)));
    expect_large(y, of_w);
    if (!_i) return;
    ck_assert_uint_gt(lfuse__stub_calls(LFUSE__STUB_graph_launch), 0);
    write(v, of_other);
    LAUNCHES(1 + LAUNCHES_OF_SPLIT, OK(lfuse_instance_refresh(in)));
    OK(lfuse_instance_run(in, b, 3));
    expect_large(y, of_other);
}

static void know(const char *what, double us)
{
    lfuse__wisdom_note(dev, what, "plan", "rates", us);
}

/* Of split products and of others, by themselves; a vendor's library splits nothing, and has the rate of f32. */
TEST(rates)
{
    const lfuse_plan_options vendor = { .precision = LFUSE_PRECISION_F32X3, .provider = LFUSE_PROVIDER_VENDOR,
                                        .strassen = LFUSE_STRASSEN_AUTO };
    const lfuse_plan_options own = { .precision = LFUSE_PRECISION_F32X3, .strassen = LFUSE_STRASSEN_AUTO };

    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "x", F32(2048, 2048)), lfuse_frozen(g, "w", F32(2048, 2048))));
    know("rate:copy:33554432", 5e3);
    know("rate:product:4096:f32", 5e6);
    lfuse_plan *plan = new_plan(dev, g, &vendor);
    ck_assert_msg(strstr(lfuse_plan_text(plan), "(levels 2 2048 x 2048 x 2048 by estimate 1."), "%s",
                  lfuse_plan_text(plan));
    drop(plan);
    plan = new_plan(dev, g, &own);
    ck_assert_msg(strstr(lfuse_plan_text(plan), "(levels 0 2048 x 2048 x 2048 unknown device)"), "%s",
                  lfuse_plan_text(plan));
    drop(plan);
    know("rate:product:4096:f32x3", 5e6);
    plan = new_plan(dev, g, &own);
    ck_assert_msg(strstr(lfuse_plan_text(plan), "(levels 2 2048 x 2048 x 2048 by estimate 1."), "%s",
                  lfuse_plan_text(plan));
    drop(plan);
    know("rate:product:4096:f32x3", 3e4);
    plan = new_plan(dev, g, &own);
    ck_assert_msg(strstr(lfuse_plan_text(plan), "(levels 0 2048 x 2048 x 2048 by estimate 0."), "%s",
                  lfuse_plan_text(plan));
}

TEST_CASE("little local memory", .setup = open_little_local, .teardown = close_stub)

TEST_LOOP(batches_by_small_tiles, 0, 3)
{
    case_batches(_i == 1, _i == 2);
}

TEST_CASE("split operands by warps", .setup = open_warps, .teardown = close_stub)

TEST_LOOP(batches_by_warps, 0, 3)
{
    case_batches(_i == 1, _i == 2);
}

/* ---- operands that are computed, on tensor cores ---- */

TEST_CASE("computed", .setup = open_warps, .teardown = close_stub)

/* By the bounds of k operands would be computed in tiles; of sizes in between, lines may be no whole chunks. */
TEST(stored_for_odd_sizes)
{
    enum { FEW = 20, WIDE = 136, LEAST = 128, MOST = 256 };
    const lfuse_plan_options o = { .provider = LFUSE_PROVIDER_NATIVE };
    const lfuse_size k = lfuse_size_var(g, "k", LEAST, MOST);

    lfuse_output(g, "y", lfuse_matmul_as(lfuse_cast(lfuse_input(g, "x", F32(FEW, k)), LFUSE_F16),
                                         lfuse_cast(lfuse_input(g, "w", F32(k, WIDE)), LFUSE_F16), LFUSE_F32,
                                         LFUSE_PRECISION_FULL));
    lfuse_plan *plan = new_plan(dev, g, &o);
    ck_assert_msg(!strstr(lfuse_plan_text(plan), "(right "), "%s", lfuse_plan_text(plan));
    for (int inner = LEAST; inner < LEAST + 2; inner++) {
        lfuse_tensor *x = filled_tensor(SHAPE(FEW, inner), of_x), *w = filled_tensor(SHAPE(inner, WIDE), of_w);
        lfuse_tensor *y = tensor(SHAPE(FEW, WIDE));
        RUN(plan, stream, BIND("x", x), BIND("w", w), BIND("y", y));
        for (int i = 0; i < FEW * WIDE; i += 7) {
            double sum = 0;
            for (int l = 0; l < inner; l++) sum += of_x(i / WIDE * inner + l) * of_w(l * WIDE + i % WIDE);
            ck_assert_float_eq(values(y)[i], (float)sum);
        }
    }
}

/* What a prologue takes, the epilogue takes too; and the other prologue, a row of the one and a column of the other. */
TEST_LOOP(computed_of_what_others_take, 0, 2)
{
    enum { FEW = 20, WIDE = 136 };
    const lfuse_plan_options o = { .provider = LFUSE_PROVIDER_NATIVE };
    const lfuse_value x = lfuse_input(g, "x", F32(FEW, WIDE)), w = lfuse_input(g, "w", F32(WIDE, WIDE));
    const lfuse_value c = lfuse_input(g, "c", F32(WIDE)), left = _i ? lfuse_mul(x, c) : x;

    lfuse_output(g, "y", lfuse_add(c, lfuse_matmul_as(lfuse_cast(left, LFUSE_F16),
                                                      lfuse_cast(lfuse_add(w, c), LFUSE_F16), LFUSE_F32,
                                                      LFUSE_PRECISION_FULL)));
    lfuse_plan *plan = new_plan(dev, g, &o);
    lfuse_tensor *tx = filled_tensor(SHAPE(FEW, WIDE), of_x), *tw = filled_tensor(SHAPE(WIDE, WIDE), of_w);
    lfuse_tensor *tc = filled_tensor(SHAPE(WIDE), of_other), *y = tensor(SHAPE(FEW, WIDE));
    ck_assert_msg(strstr(lfuse_plan_text(plan), "(right "), "%s", lfuse_plan_text(plan));
    RUN(plan, stream, BIND("x", tx), BIND("w", tw), BIND("c", tc), BIND("y", y));
    for (int i = 0; i < FEW * WIDE; i += 7) {
        double sum = of_other(i % WIDE);
        for (int l = 0; l < WIDE; l++)
            sum += of_x(i / WIDE * WIDE + l) * (_i ? of_other(l) : 1) *
                   (of_w(l * WIDE + i % WIDE) + of_other(i % WIDE));
        ck_assert_msg(values(y)[i] == (float)sum, "%s", lfuse_plan_text(plan));
    }
}

TEST_SUITE("split operands", CK_NOFORK)
