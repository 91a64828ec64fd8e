/* SPDX-License-Identifier: Apache-2.0 */
#include "common/matmul/provider.h"

#include "common/plan/body.h"

/*
 * f32 on an H100 and an H200 beside the library of the device's maker. That library is faster with one row, where more
 * than a launch counts. With 2 to 32 rows it takes as long as with 32, and tiles take 0.5 to 0.85 of that; 0.4 to 0.97
 * for layers of 64 rows up to 2048 wide and cubes of up to 512, 0.93 to 1 for cubes of 1024; more above, and where
 * parts of a deep k have to be added. For f16 and bf16 it has the device's tensor cores. The portable library
 * takes 1.4 to 2.5 times as long as tiles. In f64 nobody has measured them.
 *
 * In a batch that fills the device no launch is saved. On an H200 the library then takes 0.84 to 0.92 of the time of
 * tiles for products of 64 cubed, 0.92 for those of 1024 cubed, and 0.96 to 0.99 for those of 256 and 512 cubed; tiles
 * are ahead at 128 cubed. (On an H100 the library takes 1.17 for those of 64 cubed.)
 */
typedef struct range {
    int64_t fewest;  /* rows, and columns */
    int64_t deepest; /* k */
    double products; /* tiles take up to so many multiplications */
} range;
static const range ranges[] = {
    { 512, 8192, 1 << 30 }, { 33, INT64_MAX, 1 << 28 }, { 2, 8192, 1 << 29 }, { 2, INT64_MAX, 1 << 28 },
    { 0, INT64_MAX, 1 << 12 }, /* a launch is all that counts, for every type but f64 */
};
enum {
    RANGES = sizeof ranges / sizeof *ranges,
    ALWAYS = 1 << 28,      /* multiplications of two rows or more that are for tiles whatever their shape */
    BATCH_FULL = 1 << 26,  /* a batch of more multiplications than these fills the device */
    BATCH_SMALL = 1 << 18, /* in such a batch, products of at most so many are the vendor's */
    BATCH_LARGE = 1 << 29  /* and so are products of so many or more */
};

bool lfuse__tiles_fit(const lfuse__facts *facts)
{
    return !facts->vector_lanes && facts->simd > 1 && facts->info.local_bytes >= LFUSE__TILES_LOCAL &&
           facts->info.max_group >= LFUSE__TILES_GROUP;
}

/* Returns the range of a product: the first that holds it. */
static const range *range_of(lfuse_type type, const lfuse__matmul_sizes *s)
{
    const int64_t least = s->m < s->n ? s->m : s->n;
    int i = type == LFUSE_F32 ? 0 : RANGES - 1;

    while (least < ranges[i].fewest || s->k > ranges[i].deepest) i++;
    return &ranges[i];
}

static double multiplications(const lfuse__matmul_sizes *s)
{
    return (double)s->m * (double)s->n * (double)s->k;
}

/* Whether the vendor's library takes some batch within the bounds, although it might not take its products alone. */
static bool vendor_takes_batch(const lfuse__matmul_sizes *low, const lfuse__matmul_sizes *high)
{
    return high->matrices > 1 && (double)high->matrices * multiplications(high) > BATCH_FULL &&
           (multiplications(low) <= BATCH_SMALL || multiplications(high) >= BATCH_LARGE);
}

bool lfuse__vendor_is_faster(const lfuse__facts *facts, lfuse_type type, const lfuse__matmul_sizes *size)
{
    if (lfuse__register_type(type) == LFUSE_F64) return true;
    if (facts->products != LFUSE__PRODUCTS_TUNED) return false;
    return multiplications(size) > range_of(type, size)->products || vendor_takes_batch(size, size);
}

static bool compete(const lfuse__facts *facts)
{
    return lfuse__tiles_fit(facts) && facts->products != LFUSE__PRODUCTS_NONE;
}

static bool is_native(const lfuse__facts *facts, lfuse_type type, const lfuse__matmul_sizes *size)
{
    if (facts->vector_lanes) return true;
    return lfuse__tiles_fit(facts) &&
           (facts->products == LFUSE__PRODUCTS_NONE || !lfuse__vendor_is_faster(facts, type, size));
}

static int64_t within(int64_t least, int64_t low, int64_t high)
{
    const int64_t x = low > least ? low : least;

    return x > high ? high : x;
}

/* Whether the least product within bounds is native whose sides are, where they can be, not shorter than `fewest`. */
static bool is_native_somewhere(const lfuse__facts *facts, lfuse_type type, const lfuse__matmul_sizes *low,
                                const lfuse__matmul_sizes *high, int64_t fewest)
{
    const lfuse__matmul_sizes least = { within(fewest, low->m, high->m), within(fewest, low->n, high->n), low->k,
                                        low->matrices };

    return is_native(facts, type, &least);
}

static lfuse__computes provider(const lfuse__facts *facts, lfuse_type type, const lfuse__matmul_sizes *low,
                                const lfuse__matmul_sizes *high)
{
    const bool tuned = facts->products == LFUSE__PRODUCTS_TUNED;
    /* Of no rows or columns nothing is computed. */
    const lfuse__matmul_sizes few_rows = { low->m > 1 ? low->m : 1, high->n, high->k, low->matrices };
    const lfuse__matmul_sizes few_columns = { high->m, low->n > 1 ? low->n : 1, high->k, low->matrices };
    int i;

    if (is_native(facts, type, &few_rows) && is_native(facts, type, &few_columns) &&
        (!tuned || (multiplications(high) <= ALWAYS && !vendor_takes_batch(low, high))))
        return LFUSE__COMPUTES_NATIVE;
    for (i = 0; i < RANGES; i++)
        if (is_native_somewhere(facts, type, low, high, ranges[i].fewest)) return LFUSE__COMPUTES_EITHER;
    return LFUSE__COMPUTES_VENDOR;
}

const lfuse__matmul_advice lfuse__products_advice = {
    .has_tiles = lfuse__tiles_fit, .compete = compete, .provider = provider, .strassen_levels = lfuse__strassen_levels,
};
