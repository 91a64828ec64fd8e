/* SPDX-License-Identifier: Apache-2.0 */
/* Who computes products where nobody says it, by what is known of the device. */
#include "common/base/error.h"
#include "common/matmul/provider.h"
#include "common/matmul/solver.h"
#include "tests/plan/rig.h"

enum { M = 200, K = 96, N = 72 };

static void gpu(lfuse__products products)
{
    memset(&rig_facts, 0, sizeof rig_facts);
    rig_facts.info.f64 = 1;
    rig_facts.vendor = LFUSE__VENDOR_NVIDIA;
    rig_facts.simd = 32;
    rig_facts.info.local_bytes = 48 * 1024;
    rig_facts.info.max_group = 1024;
    rig_facts.products = products;
}

static void dense_of(lfuse_type type, lfuse_size m, lfuse_size k)
{
    lfuse_value x = lfuse_input(g, "x", TYPED(type, m, k)), w = lfuse_input(g, "w", TYPED(type, k, N));
    lfuse_value b = lfuse_input(g, "b", TYPED(type, N));
    lfuse_output(g, "y", lfuse_relu(lfuse_add(lfuse_matmul(x, w), b)));
}

static void dense(lfuse_type type)
{
    dense_of(type, M, K);
}

static void check_first(bool native)
{
    rig_make(0);
    ck_assert_int_eq(plan->nstages, 1);
    ck_assert_int_eq(plan->stages[0].alternatives[0].steps[0].product.native, native);
}

TEST_CASE("default", .setup = rig_setup, .teardown = rig_teardown)

TEST(beside_a_portable_library)
{
    gpu(LFUSE__PRODUCTS_PORTABLE);
    dense(LFUSE_F32);
    check_first(true);
    ck_assert_int_eq(plan->stages[0].nalternatives, 1);
    ck_assert_int_eq(plan->stages[0].alternatives[0].nsteps, 1);
}

TEST(halves_beside_a_portable_library)
{
    gpu(LFUSE__PRODUCTS_PORTABLE);
    dense(LFUSE_BF16);
    check_first(true);
}

TEST(f64_beside_a_portable_library)
{
    gpu(LFUSE__PRODUCTS_PORTABLE);
    dense(LFUSE_F64);
    check_first(false);
}

TEST(f64_without_a_library)
{
    gpu(LFUSE__PRODUCTS_NONE);
    dense(LFUSE_F64);
    check_first(true);
}

TEST(beside_a_tuned_library)
{
    gpu(LFUSE__PRODUCTS_TUNED);
    dense(LFUSE_F32);
    check_first(true);
}

TEST(more_than_few_multiplications)
{
    gpu(LFUSE__PRODUCTS_TUNED);
    dense_of(LFUSE_F32, M, (1 << 28) / M / N + 1);
    check_first(false);
}

/* The operands' type says who has the units for it, not the sums'. */
TEST(sums_of_a_wider_type)
{
    gpu(LFUSE__PRODUCTS_TUNED);
    const lfuse_value x = lfuse_input(g, "x", F16(M, K));
    const lfuse_value w = lfuse_input(g, "w", F16(K, N));
    lfuse_output(g, "y", lfuse_matmul_as(x, w, LFUSE_F32, LFUSE_PRECISION_FULL));
    check_first(false);
}

TEST(few_rows)
{
    gpu(LFUSE__PRODUCTS_TUNED);
    dense_of(LFUSE_F32, 1, K);
    check_first(false);
}

TEST(few_rows_of_little)
{
    gpu(LFUSE__PRODUCTS_TUNED);
    dense_of(LFUSE_F32, 2, (1 << 28) / 2 / N);
    check_first(true);
}

TEST(few_rows_of_much)
{
    gpu(LFUSE__PRODUCTS_TUNED);
    dense_of(LFUSE_F32, 31, (1 << 28) / 31 / N + 1); /* a deep k */
    check_first(false);
}

/* By the bounds where they say it; else both are there, and the actual sizes decide. */
TEST(rows_of_unknown_number)
{
    static const struct { lfuse_type type; int64_t low, high; int alternatives; bool native; } bounds[] = {
        { LFUSE_F32, 32, 38000, 1, true }, { LFUSE_F32, 1, 1, 3, false }, { LFUSE_F32, 1, 7, 3, true },
        { LFUSE_F32, 39000, 80000, 3, false }, { LFUSE_F32, 1, 1 << 20, 3, true }, { LFUSE_F32, 1, 31, 3, true },
        { LFUSE_F32, 8, 32, 1, true }, { LFUSE_F32, 8, 600, 1, true }, { LFUSE_F32, 8, 39000, 3, true },
        { LFUSE_F32, 31, 38000, 1, true }, { LFUSE_F32, 38000, 39000, 3, true }, { LFUSE_F32, 0, 32, 3, true },
        { LFUSE_F64, 1, 1 << 20, 3, false },
    };

    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        gpu(LFUSE__PRODUCTS_TUNED);
        lfuse_graph_destroy(g);
        g = lfuse_graph_create();
        dense_of(bounds[i].type, lfuse_size_var(g, "rows", bounds[i].low, bounds[i].high), K);
        check_first(bounds[i].native);
        ck_assert_msg(plan->stages[0].nalternatives == bounds[i].alternatives, "bounds %d: %d alternatives", (int)i,
                      plan->stages[0].nalternatives);
    }
    gpu(LFUSE__PRODUCTS_PORTABLE);
    check_first(false); /* the last one: f64 */
}

/* Only where no sizes within the bounds are the vendor's: the shortest side may meet the longest of the others. */
TEST(bounds_of_several_sizes)
{
    static const struct { lfuse__matmul_sizes low, high; lfuse__computes computes; } bounds[] = {
        { { 1, 1, 64, 1 }, { 8, 64, 64, 1 }, LFUSE__COMPUTES_NATIVE },
        { { 1, 1, 64, 1 }, { 8, 4096, 64, 1 }, LFUSE__COMPUTES_EITHER },
        { { 1, 64, 1, 1 }, { 8, 64, 4096, 1 }, LFUSE__COMPUTES_EITHER },
        { { 2, 64, 1, 1 }, { 8, 64, 4096, 1 }, LFUSE__COMPUTES_NATIVE },
        { { 64, 1, 1, 1 }, { 64, 8, 4096, 1 }, LFUSE__COMPUTES_EITHER },
        { { 1, 4096, 4096, 1 }, { 1, 8192, 8192, 1 }, LFUSE__COMPUTES_VENDOR },
        /* Batches that fill the device. */
        { { 64, 64, 64, 8 }, { 64, 64, 64, 8 }, LFUSE__COMPUTES_NATIVE },
        { { 64, 64, 64, 512 }, { 64, 64, 64, 512 }, LFUSE__COMPUTES_VENDOR },
        { { 64, 64, 64, 8 }, { 64, 64, 64, 512 }, LFUSE__COMPUTES_EITHER },
        { { 128, 128, 128, 128 }, { 128, 128, 128, 128 }, LFUSE__COMPUTES_NATIVE },
        { { 1024, 1024, 1024, 1 }, { 1024, 1024, 1024, 1 }, LFUSE__COMPUTES_EITHER },
        { { 1024, 1024, 1024, 16 }, { 1024, 1024, 1024, 16 }, LFUSE__COMPUTES_VENDOR },
        { { 64, 64, 64, 1 }, { 64, 64, 64, INT64_MAX }, LFUSE__COMPUTES_EITHER },
    };
    gpu(LFUSE__PRODUCTS_TUNED);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        const lfuse__matmul_desc desc = { .types = { LFUSE_F32, LFUSE_F32 }, .result = LFUSE_F32, .low = bounds[i].low,
                                          .high = bounds[i].high };
        ck_assert_msg(lfuse__products_advice.provider(&rig_facts, &desc) == bounds[i].computes, "bounds %d", (int)i);
    }
}

/* Where vendors have tensor cores for the operands, the library's own kernels compute what vendors leave to them. */
TEST(epilogues_beside_tensor_cores)
{
    static const struct {
        lfuse_type type;
        lfuse_precision precision;
        lfuse__products products;
        lfuse__computes computes;
    } cases[] = {
        { LFUSE_F16, LFUSE_PRECISION_FULL, LFUSE__PRODUCTS_TUNED, LFUSE__COMPUTES_EPILOGUE },
        { LFUSE_BF16, LFUSE_PRECISION_FULL, LFUSE__PRODUCTS_TUNED, LFUSE__COMPUTES_EPILOGUE },
        { LFUSE_F16, LFUSE_PRECISION_FULL, LFUSE__PRODUCTS_PORTABLE, LFUSE__COMPUTES_NATIVE },
        { LFUSE_F32, LFUSE_PRECISION_FULL, LFUSE__PRODUCTS_TUNED, LFUSE__COMPUTES_VENDOR },
        { LFUSE_F32, LFUSE_PRECISION_TF32, LFUSE__PRODUCTS_TUNED, LFUSE__COMPUTES_EPILOGUE },
        { LFUSE_F64, LFUSE_PRECISION_FULL, LFUSE__PRODUCTS_TUNED, LFUSE__COMPUTES_VENDOR },
    };
    const lfuse__matmul_sizes sizes = { 4096, 4096, 4096, 1 };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lfuse__matmul_desc desc = { .types = { cases[i].type, cases[i].type }, .result = cases[i].type,
                                          .precision = cases[i].precision, .low = sizes, .high = sizes };
        gpu(cases[i].products);
        rig_facts.tensor_cores = rig_facts.products_tf32 = true;
        ck_assert_msg(lfuse__products_advice.provider(&rig_facts, &desc) == cases[i].computes, "case %zu", i);
    }
    gpu(LFUSE__PRODUCTS_TUNED);
    rig_facts.simd = 1; /* no tiles */
    ck_assert_int_eq(lfuse__products_advice.provider(&rig_facts, &(lfuse__matmul_desc){
                         .types = { LFUSE_F16, LFUSE_F16 }, .low = sizes, .high = sizes }), LFUSE__COMPUTES_VENDOR);
}

/* Who declines leaves it to the other, then the caller decides; both are ways of what both store alike. */
TEST(decided_before_any_estimate)
{
    enum { OWN = LFUSE__COMPUTES_NATIVE, VENDOR = LFUSE__COMPUTES_VENDOR, BOTH = LFUSE__COMPUTES_EITHER };
    static const struct { lfuse__matmul_desc desc; int64_t side; int computes; } cases[] = {
        { { .result = LFUSE_F32 }, 1024, BOTH },
        { { .result = LFUSE_F32, .provider = LFUSE_PROVIDER_NATIVE }, 1024, OWN },
        { { .result = LFUSE_F32, .provider = LFUSE_PROVIDER_VENDOR }, 128, VENDOR },
        { { .result = LFUSE_F32, .list = true, .provider = LFUSE_PROVIDER_VENDOR }, 1024, OWN },
        { { .result = LFUSE_F32, .column_sums = true }, 4096, OWN },
        { { .result = LFUSE_F32, .precision = LFUSE_PRECISION_TF32, .provider = LFUSE_PROVIDER_NATIVE }, 128, VENDOR },
        { { .result = LFUSE_F32, .levels = 1 }, 1024, VENDOR },
        { { .result = LFUSE_F64 }, 1024, VENDOR },
        { { .result = LFUSE_F64 }, 128, OWN },
        { { .result = LFUSE_F32, .compared = true }, 4096, BOTH },
        { { .result = LFUSE_F32, .compared = true }, 128, BOTH },
        { { .result = LFUSE_F32, .compared = true, .levels = 1 }, 4096, VENDOR },
        { { .result = LFUSE_F64, .compared = true }, 4096, VENDOR },
    };

    gpu(LFUSE__PRODUCTS_TUNED);
    rig_facts.products_tf32 = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lfuse__matmul_desc desc = cases[i].desc;
        desc.types[0] = desc.types[1] = LFUSE_F32;
        desc.low = desc.high = (lfuse__matmul_sizes){ cases[i].side, cases[i].side, cases[i].side, 1 };
        ck_assert_msg((int)lfuse__products_advice.provider(&rig_facts, &desc) == cases[i].computes, "case %zu", i);
    }
}

static lfuse_status no_map(struct lfuse__bdevice *device, const lfuse__tensor_boxes *of,
                           uint64_t map[LFUSE__TENSOR_MAP_WORDS], bool *made)
{
    (void)device, (void)of, (void)map;
    *made = false;
    return LFUSE_OK;
}

/* An H200 beside a tuned library, with tensor maps of no memory. */
static void hopper(void)
{
    gpu(LFUSE__PRODUCTS_TUNED);
    rig_facts.generation = 90, rig_facts.info.compute_units = 132;
    rig_facts.tensor_cores = rig_facts.wgmma = true;
    rig_facts.dynamic_local_bytes = 226 * 1024, rig_facts.tensor_map = no_map;
}

/*
 * In tf32 sizes that are known are estimated: on Hopper small products are native whose lines run along k, and those
 * that the library is slow at, whose lines run across, or are no whole chunks.
 */
TEST(in_tf32)
{
    static const struct { lfuse__matmul_sizes low, high; bool ta, tb; lfuse__computes computes; } cases[] = {
        { { 1024, 1024, 1024, 1 }, { 1024, 1024, 1024, 1 }, false, true, LFUSE__COMPUTES_NATIVE },
        { { 1024, 1024, 1024, 1 }, { 1024, 1024, 1024, 1 }, false, false, LFUSE__COMPUTES_EPILOGUE },
        { { 8192, 8192, 8192, 1 }, { 8192, 8192, 8192, 1 }, false, true, LFUSE__COMPUTES_EPILOGUE },
        { { 1024, 1024, 1024, 1 }, { 1024, 1024, 2048, 1 }, false, true, LFUSE__COMPUTES_EPILOGUE },
        { { 4096, 4096, 4096, 1 }, { 4096, 4096, 4096, 1 }, false, false, LFUSE__COMPUTES_EPILOGUE },
        { { 4096, 4096, 4096, 1 }, { 4096, 4096, 4096, 1 }, true, true, LFUSE__COMPUTES_EPILOGUE },
        { { 4096, 4096, 4096, 1 }, { 4096, 4096, 4096, 1 }, true, false, LFUSE__COMPUTES_NATIVE },
        { { 4096, 4096, 4098, 1 }, { 4096, 4096, 4098, 1 }, false, true, LFUSE__COMPUTES_NATIVE },
        { { 4096, 4098, 4096, 1 }, { 4096, 4098, 4096, 1 }, false, false, LFUSE__COMPUTES_NATIVE },
        { { 4096, 4098, 4096, 1 }, { 4096, 4098, 4096, 1 }, false, true, LFUSE__COMPUTES_NATIVE },
        { { 4098, 4096, 4096, 1 }, { 4098, 4096, 4096, 1 }, false, true, LFUSE__COMPUTES_EPILOGUE },
    };

    hopper();
    rig_facts.products_tf32 = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lfuse__matmul_desc desc = { .types = { LFUSE_F32, LFUSE_F32 }, .result = LFUSE_F32,
                                          .precision = LFUSE_PRECISION_TF32, .low = cases[i].low, .high = cases[i].high,
                                          .transposed = { cases[i].ta, cases[i].tb } };
        ck_assert_msg(lfuse__products_advice.provider(&rig_facts, &desc) == cases[i].computes, "case %d", (int)i);
    }
}

/*
 * So are known sizes of f16 and bf16 that the library is slow at: whose lines are no whole numbers of 16 bytes, and
 * slower still, of 4 bytes. Of small products the launch in front is what counts.
 */
TEST(of_odd_lines)
{
    enum { NATIVE = LFUSE__COMPUTES_NATIVE, LIBRARY = LFUSE__COMPUTES_EPILOGUE };
    static const struct { lfuse__matmul_sizes low, high; bool tb; int computes; } cases[] = {
        { { 4096, 4096, 4096, 1 }, { 4096, 4096, 4096, 1 }, false, LIBRARY },
        { { 4097, 4096, 4096, 1 }, { 4097, 4096, 4096, 1 }, false, LIBRARY },
        { { 4096, 4096, 4097, 1 }, { 4096, 4096, 4097, 1 }, false, NATIVE },
        { { 4096, 4098, 4096, 1 }, { 4096, 4098, 4096, 1 }, false, NATIVE },
        { { 4096, 4098, 4096, 1 }, { 4096, 4098, 4096, 1 }, true, NATIVE },
        { { 4096, 4098, 4096, 1 }, { 4096, 4099, 4096, 1 }, false, LIBRARY },
        { { 1023, 1023, 1023, 1 }, { 1023, 1023, 1023, 1 }, false, NATIVE },
        { { 1023, 1023, 1023, 16 }, { 1023, 1023, 1023, 16 }, false, NATIVE },
        { { 1022, 1022, 1022, 16 }, { 1022, 1022, 1022, 16 }, false, NATIVE },
        { { 255, 255, 255, 64 }, { 255, 255, 255, 64 }, false, LIBRARY },
        { { 127, 127, 127, 256 }, { 127, 127, 127, 256 }, false, LIBRARY },
        { { 127, 127, 127, 1 }, { 127, 127, 127, 1 }, false, LIBRARY },
    };

    hopper();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lfuse_type type = i % 2 ? LFUSE_BF16 : LFUSE_F16;
        const lfuse__matmul_desc desc = { .types = { type, type }, .result = type, .low = cases[i].low,
                                          .high = cases[i].high, .batched = cases[i].low.matrices > 1,
                                          .transposed = { false, cases[i].tb } };
        ck_assert_msg((int)lfuse__products_advice.provider(&rig_facts, &desc) == cases[i].computes, "case %d", (int)i);
    }
}

/*
 * Of lines of whole chunks, too, the faster of both is taken where the sizes are known. In us, an H200 took by the
 * library and natively: 6.3 and 5.3, 6.2 and 5.0, 9.2 and 8.7, 8.1 and 3.9, 10.2 and 9.2, 15.4 and 14.2; then 7.0 and
 * 8.0, 78.6 and 79.8, 180 and 184, 1446 and 1445, 12.6 and 14.6, on an H100 13.8 and 20, and 3.6 and 4.0.
 */
TEST(of_16_bits)
{
    enum { NATIVE = LFUSE__COMPUTES_NATIVE, LIBRARY = LFUSE__COMPUTES_EPILOGUE };
    static const struct { lfuse__matmul_sizes sizes; int computes; } cases[] = {
        { { 1024, 1024, 1024, 1 }, NATIVE },  { { 896, 896, 896, 1 }, NATIVE },
        { { 2048, 1024, 1024, 1 }, NATIVE },  { { 64, 64, 64, 512 }, NATIVE },
        { { 512, 512, 512, 16 }, NATIVE },    { { 4096, 1024, 1024, 1 }, NATIVE },
        { { 1152, 1024, 1024, 1 }, LIBRARY }, { { 3072, 3072, 3072, 1 }, LIBRARY },
        { { 4096, 4096, 4096, 1 }, LIBRARY }, { { 8192, 8192, 8192, 1 }, LIBRARY },
        { { 1536, 1536, 1536, 1 }, LIBRARY }, { { 16, 4096, 4096, 1 }, LIBRARY },
        { { 256, 256, 256, 1 }, LIBRARY },
    };

    hopper();
    rig_facts.overlaps = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lfuse_type type = i % 2 ? LFUSE_BF16 : LFUSE_F16;
        const lfuse__matmul_desc desc = { .types = { type, type }, .result = type, .low = cases[i].sizes,
                                          .high = cases[i].sizes, .batched = cases[i].sizes.matrices > 1 };
        ck_assert_msg((int)lfuse__products_advice.provider(&rig_facts, &desc) == cases[i].computes, "case %d", (int)i);
    }
}

/* Rows of D that are no whole vectors are stored singly: an H100 took 23 us longer for 16 x 1023 cubed. */
TEST(rows_that_are_stored_singly_cost)
{
    lfuse__matmul_desc desc = { .types = { LFUSE_F16, LFUSE_F16 }, .result = LFUSE_F16, .batched = true };
    double cycles[2];

    hopper();
    for (int whole = 0; whole < 2; whole++) {
        desc.low = desc.high = (lfuse__matmul_sizes){ 1023, 1023 + whole, 1023, 16 };
        cycles[whole] = lfuse__matmul_estimate(&rig_facts, &desc);
    }
    ck_assert_msg(cycles[0] - cycles[1] > 20000 && cycles[0] - cycles[1] < 80000, "%g and %g cycles", cycles[0],
                  cycles[1]);
}

/* Every solver takes a product or gives a reason why it does not. */
TEST(takers)
{
    static const struct { lfuse__matmul_desc desc; const char *solvers; } cases[] = {
        { { .types = { LFUSE_F32, LFUSE_F32 }, .result = LFUSE_F32 }, "simt skinny cpu vendor strassen mlp " },
        { { .types = { LFUSE_F16, LFUSE_F16 }, .result = LFUSE_F16 }, "simt mma skinny cpu vendor strassen mlp " },
        { { .types = { LFUSE_F16, LFUSE_F16 }, .result = LFUSE_F32 }, "simt mma skinny cpu vendor strassen " },
        { { .types = { LFUSE_F64, LFUSE_F64 }, .result = LFUSE_F64 }, "simt skinny cpu vendor strassen " },
        { { .types = { LFUSE_F16, LFUSE_F32 }, .result = LFUSE_F32 }, "simt skinny cpu vendor " },
        { { .types = { LFUSE_F16, LFUSE_F16 }, .result = LFUSE_F16, .batched = true }, "simt mma skinny cpu vendor " },
        { { .types = { LFUSE_F16, LFUSE_F16 }, .result = LFUSE_F16, .list = true }, "simt mma cpu " },
        { { .types = { LFUSE_F16, LFUSE_F32 }, .result = LFUSE_F16, .list = true }, "simt cpu " },
        { { .types = { LFUSE_F32, LFUSE_F32 }, .result = LFUSE_F32, .precision = LFUSE_PRECISION_TF32, .list = true },
          "" },
        { { .types = { LFUSE_F32, LFUSE_F32 }, .result = LFUSE_F32, .precision = LFUSE_PRECISION_TF32 },
          "mma_tf32 vendor " },
        { { .types = { LFUSE_F16, LFUSE_F16 }, .result = LFUSE_F16, .prologue = true },
          "mma skinny cpu vendor strassen " },
        { { .types = { LFUSE_F16, LFUSE_F16 }, .result = LFUSE_F16, .column_sums = true }, "simt " },
        { { .types = { LFUSE_F32, LFUSE_F32 }, .result = LFUSE_F32, .prepared = true }, "simt skinny cpu vendor mlp " },
    };

    gpu(LFUSE__PRODUCTS_TUNED);
    rig_facts.tensor_cores = rig_facts.products_tf32 = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lfuse__matmul_desc desc = cases[i].desc;
        char found[80] = "";
        desc.low = desc.high = (lfuse__matmul_sizes){ 64, 64, 64, 1 };
        for (int k = 0; lfuse__solvers[k]; k++)
            if (!lfuse__solver_declines(lfuse__solvers[k], &rig_facts, &desc)) {
                strcat(found, lfuse__solvers[k]->name);
                strcat(found, " ");
            }
        ck_assert_msg(!strcmp(found, cases[i].solvers), "case %d: %s", (int)i, found);
    }
}

/* Of a maker whose library nobody has measured: tiles where a launch is what counts. */
TEST(beside_an_unknown_makers_library)
{
    static const struct {
        int64_t m, n, k;
        bool vendor;
    } cases[] = { { 1, 16, 16, false }, { 1, 512, 512, true }, { 64, 512, 512, false }, { 512, 512, 512, true } };
    size_t i;

    gpu(LFUSE__PRODUCTS_TUNED);
    rig_facts.vendor = 0;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lfuse__matmul_sizes sizes = { cases[i].m, cases[i].n, cases[i].k, 1 };
        ck_assert_msg(lfuse__vendor_is_faster(&rig_facts, LFUSE_F32, LFUSE_PRECISION_FULL, &sizes) == cases[i].vendor,
                      "case %d", (int)i);
    }
}

TEST(halves_beside_a_tuned_library)
{
    gpu(LFUSE__PRODUCTS_TUNED);
    dense(LFUSE_F16);
    check_first(false);
}

/* Where somebody measures, both providers' ways are there, whatever region the library's own kernels take. */
TEST(both_where_they_are_measured)
{
    static const char *const names[2][3] = { { "native", "vendor-epilogue", "vendor+pointwise" },
                                             { "native", "vendor+pointwise", NULL } };
    const lfuse_plan_options measured = { .effort = LFUSE_EFFORT_MEASURE };
    lfuse__plan_body *made;

    for (int i = 0; i < 4; i++) {
        gpu(i & 1 ? LFUSE__PRODUCTS_TUNED : LFUSE__PRODUCTS_PORTABLE);
        lfuse_graph_destroy(g);
        g = lfuse_graph_create();
        if (i < 2) dense(LFUSE_F32);
        else
            lfuse_output(g, "y", lfuse_mul(lfuse_input(g, "r", F32(M, N)),
                                           lfuse_matmul(lfuse_input(g, "x", F32(M, K)),
                                                        lfuse_input(g, "w", F32(K, N)))));
        rig_make(0);
        ck_assert_int_eq(plan->stages[0].nalternatives, 1);
        OK(lfuse__plan_make(canonical, &rig_facts, &lfuse__products_advice, &measured, &made));
        ck_assert_int_eq(made->nstages, 1);
        int m = i < 2 ? 3 : 2;
        ck_assert_int_eq(made->stages[0].nalternatives, m);
        for (int k = 0; k < m; k++) ck_assert_str_eq(made->stages[0].alternatives[k].name, names[i / 2][k]);
        lfuse__plan_free(made);
    }
}

TEST(without_a_library)
{
    gpu(LFUSE__PRODUCTS_NONE);
    dense(LFUSE_F32);
    check_first(true);
}

/* Where tiles do not fit, the vendor is asked, and says itself that it is not there. */
TEST(tiles_that_do_not_fit)
{
    gpu(LFUSE__PRODUCTS_NONE);
    rig_facts.info.local_bytes = 16 * 1024;
    dense(LFUSE_F32);
    check_first(false);
    ck_assert(!lfuse__tiles_fit(&rig_facts));
    rig_facts.info.local_bytes = 48 * 1024;
    ck_assert(lfuse__tiles_fit(&rig_facts));
    rig_facts.simd = 1;
    ck_assert(!lfuse__tiles_fit(&rig_facts));
    rig_facts.simd = 32, rig_facts.info.max_group = 128;
    ck_assert(!lfuse__tiles_fit(&rig_facts));
}

TEST_SUITE("providers", CK_NOFORK)
