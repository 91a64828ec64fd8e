/* SPDX-License-Identifier: Apache-2.0 */
/* Who computes a matrix product where nobody says it: the library's own kernels, or the vendor's library. */
#ifndef COMMON_PLAN_PROVIDER_H
#define COMMON_PLAN_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/facts.h"
#include "common/plan/body.h"

enum { LFUSE__TILES_LOCAL = 40 * 1024, LFUSE__TILES_GROUP = 256 /* what product_tiles.c takes of a group, at most */ };

/* Whether work-items exchange through local memory as tiles of a product need it. */
static inline bool lfuse__tiles_fit(const lfuse__facts *facts)
{
    return !facts->vector_lanes && facts->simd > 1 && facts->info.local_bytes >= LFUSE__TILES_LOCAL &&
           facts->info.max_group >= LFUSE__TILES_GROUP;
}

/*
 * f32 on an H100 and an H200 beside the library of the device's maker. That library is faster with one row, where more
 * than a launch counts. With 2 to 32 rows it takes as long as with 32, and tiles take 0.5 to 0.85 of that; 0.4 to 0.97
 * for layers of 64 rows up to 2048 wide and cubes of up to 512, 0.93 to 1 for cubes of 1024; more above, and where
 * parts of a deep k have to be added. For f16 and bf16 it has the device's units for matrices. The portable library
 * takes 1.4 to 2.5 times as long as tiles. In f64 nobody has measured them.
 */
typedef struct lfuse__tiles_range {
    int64_t fewest;  /* rows, and columns */
    int64_t deepest; /* k */
    double products; /* up to so many multiplications */
} lfuse__tiles_range;
static const lfuse__tiles_range lfuse__tiles_ranges[] = {
    { 512, 8192, 1 << 30 }, { 33, INT64_MAX, 1 << 28 }, { 2, 8192, 1 << 29 }, { 2, INT64_MAX, 1 << 28 },
    { 0, INT64_MAX, 1 << 12 }, /* a launch is all that counts, for every type but f64 */
};
enum {
    LFUSE__TILES_RANGES = sizeof lfuse__tiles_ranges / sizeof *lfuse__tiles_ranges,
    LFUSE__TILES_ALWAYS = 1 << 28 /* multiplications of two rows or more that are for tiles whatever their shape */
};

/* The range of a product: the first that holds it. */
static inline const lfuse__tiles_range *lfuse__tiles_range_of(lfuse_type type, int64_t m, int64_t n, int64_t k)
{
    const int64_t least = m < n ? m : n;
    int i = type == LFUSE_F32 ? 0 : LFUSE__TILES_RANGES - 1;

    while (least < lfuse__tiles_ranges[i].fewest || k > lfuse__tiles_ranges[i].deepest) i++;
    return &lfuse__tiles_ranges[i];
}

/* `type`: of the operands; a size that is not known: INT64_MAX. */
static inline bool lfuse__vendor_is_faster(const lfuse__facts *facts, lfuse_type type, int64_t m, int64_t n, int64_t k)
{
    if (lfuse__register_type(type) == LFUSE_F64) return true;
    if (facts->products != LFUSE__PRODUCTS_TUNED) return false;
    return (double)m * (double)n * (double)k > lfuse__tiles_range_of(type, m, n, k)->products;
}

/* Whether there are two who compute products on GPUs, of which one may be faster here and the other there. */
static inline bool lfuse__products_compete(const lfuse__facts *facts)
{
    return lfuse__tiles_fit(facts) && facts->products != LFUSE__PRODUCTS_NONE;
}

static inline bool lfuse__native_by_default(const lfuse__facts *facts, lfuse_type type, int64_t m, int64_t n,
                                            int64_t k)
{
    if (facts->vector_lanes) return true;
    return lfuse__tiles_fit(facts) &&
           (facts->products == LFUSE__PRODUCTS_NONE || !lfuse__vendor_is_faster(facts, type, m, n, k));
}

/*
 * The same of sizes within bounds: m, n, k. EITHER: it depends on the sizes, and the library's own kernels decline
 * where the vendor is faster (product_tiles_choose.c).
 */
typedef enum lfuse__computes { LFUSE__COMPUTES_VENDOR, LFUSE__COMPUTES_NATIVE, LFUSE__COMPUTES_EITHER } lfuse__computes;

/* Whether the least product within bounds is native whose sides are, where they can be, not shorter than `fewest`. */
static inline bool lfuse__native_somewhere(const lfuse__facts *facts, lfuse_type type, const int64_t low[3],
                                           const int64_t high[3], int64_t fewest)
{
    int64_t least[3];
    int i;

    for (i = 0; i < 3; i++) {
        least[i] = low[i] > fewest || i == 2 ? low[i] : fewest;
        if (least[i] > high[i]) least[i] = high[i];
    }
    return lfuse__native_by_default(facts, type, least[0], least[1], least[2]);
}

static inline lfuse__computes lfuse__computes_by_default(const lfuse__facts *facts, lfuse_type type,
                                                         const int64_t low[3], const int64_t high[3])
{
    const bool tuned = facts->products == LFUSE__PRODUCTS_TUNED;
    const int64_t m = low[0] > 1 ? low[0] : 1, n = low[1] > 1 ? low[1] : 1; /* of none, nothing is computed */
    int i;

    if (lfuse__native_by_default(facts, type, m, high[1], high[2]) &&
        lfuse__native_by_default(facts, type, high[0], n, high[2]) &&
        (!tuned || (double)high[0] * (double)high[1] * (double)high[2] <= LFUSE__TILES_ALWAYS))
        return LFUSE__COMPUTES_NATIVE;
    for (i = 0; i < LFUSE__TILES_RANGES; i++)
        if (lfuse__native_somewhere(facts, type, low, high, lfuse__tiles_ranges[i].fewest))
            return LFUSE__COMPUTES_EITHER;
    return LFUSE__COMPUTES_VENDOR;
}

#endif
