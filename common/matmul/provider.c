/* SPDX-License-Identifier: Apache-2.0 */
#include "common/matmul/provider.h"

#include "common/base/costs.h"
#include "common/plan/body.h"

bool lfuse__tiles_fit(const lfuse__facts *facts)
{
    return !facts->vector_lanes && facts->simd > 1 && facts->info.local_bytes >= LFUSE__TILES_LOCAL &&
           facts->info.max_group >= LFUSE__TILES_GROUP;
}

/* Returns the range of a product: the first that holds it. */
static const lfuse__tiles_range *range_of(const lfuse__provider_costs *costs, lfuse_type type,
                                          const lfuse__matmul_sizes *s)
{
    const int64_t least = s->m < s->n ? s->m : s->n;
    int i = type == LFUSE_F32 ? 0 : LFUSE__TILES_RANGES - 1;

    while (least < costs->ranges[i].fewest || s->k > costs->ranges[i].deepest) i++;
    return &costs->ranges[i];
}

static double multiplications(const lfuse__matmul_sizes *s)
{
    return (double)s->m * (double)s->n * (double)s->k;
}

/* Whether the vendor's library takes some batch within the bounds, although it might not take its products alone. */
static bool vendor_takes_batch(const lfuse__provider_costs *costs, const lfuse__matmul_sizes *low,
                               const lfuse__matmul_sizes *high)
{
    return high->matrices > 1 && (double)high->matrices * multiplications(high) > costs->batch_full &&
           (multiplications(low) <= costs->batch_small || multiplications(high) >= costs->batch_large);
}

/* A portable library takes 1.4 to 2.5 times as long as tiles (CLBlast on an H200). Of f64 nobody has measured them. */
bool lfuse__vendor_is_faster(const lfuse__facts *facts, lfuse_type type, const lfuse__matmul_sizes *size)
{
    lfuse__provider_costs costs;

    if (lfuse__register_type(type) == LFUSE_F64) return true;
    if (facts->products != LFUSE__PRODUCTS_TUNED) return false;
    costs = lfuse__costs_of(facts).provider;
    return multiplications(size) > range_of(&costs, type, size)->products || vendor_takes_batch(&costs, size, size);
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
    const lfuse__provider_costs costs = lfuse__costs_of(facts).provider;
    const bool tuned = facts->products == LFUSE__PRODUCTS_TUNED;
    /* Of no rows or columns nothing is computed. */
    const lfuse__matmul_sizes few_rows = { low->m > 1 ? low->m : 1, high->n, high->k, low->matrices };
    const lfuse__matmul_sizes few_columns = { high->m, low->n > 1 ? low->n : 1, high->k, low->matrices };
    int i;

    if (is_native(facts, type, &few_rows) && is_native(facts, type, &few_columns) &&
        (!tuned || (multiplications(high) <= costs.always && !vendor_takes_batch(&costs, low, high))))
        return LFUSE__COMPUTES_NATIVE;
    for (i = 0; i < LFUSE__TILES_RANGES; i++)
        if (is_native_somewhere(facts, type, low, high, costs.ranges[i].fewest)) return LFUSE__COMPUTES_EITHER;
    return LFUSE__COMPUTES_VENDOR;
}

const lfuse__matmul_advice lfuse__products_advice = {
    .has_tiles = lfuse__tiles_fit, .compete = compete, .provider = provider, .strassen_levels = lfuse__strassen_levels,
};
