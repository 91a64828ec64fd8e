/* SPDX-License-Identifier: Apache-2.0 */
/* Who computes a matrix product where nobody says it: the library's own kernels, or the vendor's library. */
#ifndef COMMON_PLAN_PROVIDER_H
#define COMMON_PLAN_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/facts.h"
#include "common/plan/body.h"

enum { LFUSE__TILES_LOCAL = 40 * 1024, LFUSE__TILES_GROUP = 256 /* what tile.c takes of a group, at most */ };

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
 *
 * In a batch that fills the device no launch is saved. On an H200 the library then takes 0.84 to 0.92 of the time of
 * tiles for products of 64 cubed, 0.92 for those of 1024 cubed, and 0.96 to 0.99 for those of 256 and 512 cubed; tiles
 * are ahead at 128 cubed. (On an H100 the library takes 1.17 for those of 64 cubed.)
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
    LFUSE__TILES_ALWAYS = 1 << 28, /* multiplications of two rows or more that are for tiles whatever their shape */
    LFUSE__BATCH_FULL = 1 << 26,   /* a batch of more multiplications than these fills the device */
    LFUSE__BATCH_SMALL = 1 << 18,  /* in such a batch, products of at most so many are the vendor's */
    LFUSE__BATCH_LARGE = 1 << 29,  /* and so are products of so many or more */
    LFUSE__PROVIDER_SIZES = 4      /* m, n, k and how many products; one that is not known is INT64_MAX */
};

/* The range of a product: the first that holds it. */
static inline const lfuse__tiles_range *lfuse__tiles_range_of(lfuse_type type, int64_t m, int64_t n, int64_t k)
{
    const int64_t least = m < n ? m : n;
    int i = type == LFUSE_F32 ? 0 : LFUSE__TILES_RANGES - 1;

    while (least < lfuse__tiles_ranges[i].fewest || k > lfuse__tiles_ranges[i].deepest) i++;
    return &lfuse__tiles_ranges[i];
}

static inline double lfuse__multiplications(const int64_t size[LFUSE__PROVIDER_SIZES])
{
    return (double)size[0] * (double)size[1] * (double)size[2];
}

/* Whether the vendor's library takes some batch within the bounds, although it might not take its products alone. */
static inline bool lfuse__vendor_takes_batch(const int64_t low[LFUSE__PROVIDER_SIZES],
                                             const int64_t high[LFUSE__PROVIDER_SIZES])
{
    return high[3] > 1 && (double)high[3] * lfuse__multiplications(high) > LFUSE__BATCH_FULL &&
           (lfuse__multiplications(low) <= LFUSE__BATCH_SMALL || lfuse__multiplications(high) >= LFUSE__BATCH_LARGE);
}

/* `type`: of the operands. */
static inline bool lfuse__vendor_is_faster(const lfuse__facts *facts, lfuse_type type,
                                           const int64_t size[LFUSE__PROVIDER_SIZES])
{
    if (lfuse__register_type(type) == LFUSE_F64) return true;
    if (facts->products != LFUSE__PRODUCTS_TUNED) return false;
    return lfuse__multiplications(size) > lfuse__tiles_range_of(type, size[0], size[1], size[2])->products ||
           lfuse__vendor_takes_batch(size, size);
}

/* Whether there are two who compute products on GPUs, of which one may be faster here and the other there. */
static inline bool lfuse__products_compete(const lfuse__facts *facts)
{
    return lfuse__tiles_fit(facts) && facts->products != LFUSE__PRODUCTS_NONE;
}

static inline bool lfuse__native_by_default(const lfuse__facts *facts, lfuse_type type,
                                            const int64_t size[LFUSE__PROVIDER_SIZES])
{
    if (facts->vector_lanes) return true;
    return lfuse__tiles_fit(facts) &&
           (facts->products == LFUSE__PRODUCTS_NONE || !lfuse__vendor_is_faster(facts, type, size));
}

/*
 * The same of sizes within bounds. EITHER: it depends on the sizes, and the library's own kernels decline where the
 * vendor is faster (matmul/choose.c).
 */
typedef enum lfuse__computes { LFUSE__COMPUTES_VENDOR, LFUSE__COMPUTES_NATIVE, LFUSE__COMPUTES_EITHER } lfuse__computes;

/* Whether the least product within bounds is native whose sides are, where they can be, not shorter than `fewest`. */
static inline bool lfuse__native_somewhere(const lfuse__facts *facts, lfuse_type type,
                                           const int64_t low[LFUSE__PROVIDER_SIZES],
                                           const int64_t high[LFUSE__PROVIDER_SIZES], int64_t fewest)
{
    int64_t least[LFUSE__PROVIDER_SIZES];
    int i;

    for (i = 0; i < LFUSE__PROVIDER_SIZES; i++) {
        least[i] = low[i] > fewest || i >= 2 ? low[i] : fewest;
        if (least[i] > high[i]) least[i] = high[i];
    }
    return lfuse__native_by_default(facts, type, least);
}

static inline lfuse__computes lfuse__computes_by_default(const lfuse__facts *facts, lfuse_type type,
                                                         const int64_t low[LFUSE__PROVIDER_SIZES],
                                                         const int64_t high[LFUSE__PROVIDER_SIZES])
{
    const bool tuned = facts->products == LFUSE__PRODUCTS_TUNED;
    /* Of no rows or columns nothing is computed. */
    const int64_t few_rows[] = { low[0] > 1 ? low[0] : 1, high[1], high[2], low[3] };
    const int64_t few_columns[] = { high[0], low[1] > 1 ? low[1] : 1, high[2], low[3] };
    int i;

    if (lfuse__native_by_default(facts, type, few_rows) && lfuse__native_by_default(facts, type, few_columns) &&
        (!tuned || (lfuse__multiplications(high) <= LFUSE__TILES_ALWAYS && !lfuse__vendor_takes_batch(low, high))))
        return LFUSE__COMPUTES_NATIVE;
    for (i = 0; i < LFUSE__TILES_RANGES; i++)
        if (lfuse__native_somewhere(facts, type, low, high, lfuse__tiles_ranges[i].fewest))
            return LFUSE__COMPUTES_EITHER;
    return LFUSE__COMPUTES_VENDOR;
}

#endif
