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
 * f32 on an H200 beside the library of the device's maker. Tiles take 0.5 to 0.95 of its time for layers of 64 rows up
 * to 2048 wide, cubes of up to 512 and 256 x 1024 x 1024, more for 64 x 4096 x 4096 and cubes from 2048 on; with 16
 * rows 0.5 and 0.8 of it for widths of 128 and 256, as much at 512, more above (and the maker's first choice is ten
 * times its best for few rows of small matrices); with one row more at any width. For f16 and bf16 the maker's has the
 * device's units for matrices. The portable library takes 1.4 to 2.5 times as long as tiles. In f64 nobody has measured
 * them.
 */
enum {
    LFUSE__TILES_FEWEST = 32, /* rows, and columns */
    LFUSE__TILES_PRODUCTS = 1 << 28,
    LFUSE__THIN_FEWEST = 8,
    LFUSE__THIN_PRODUCTS = 1 << 22
};

/* The multiplications up to which a product with so few rows or columns is for tiles. */
static inline double lfuse__most_for_tiles(int64_t m, int64_t n)
{
    const int64_t least = m < n ? m : n;
    if (least >= LFUSE__TILES_FEWEST) return LFUSE__TILES_PRODUCTS;
    return least >= LFUSE__THIN_FEWEST ? LFUSE__THIN_PRODUCTS : 0;
}

/* `type`: of the operands; a size that is not known: INT64_MAX. */
static inline bool lfuse__vendor_is_faster(const lfuse__facts *facts, lfuse_type type, int64_t m, int64_t n, int64_t k)
{
    const double most = lfuse__most_for_tiles(m, n);

    if (lfuse__register_type(type) == LFUSE_F64) return true;
    if (facts->products != LFUSE__PRODUCTS_TUNED) return false;
    return type != LFUSE_F32 || most == 0 || (double)m * (double)n * (double)k > most;
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

    if (lfuse__native_by_default(facts, type, low[0], low[1], low[2]) &&
        lfuse__native_by_default(facts, type, high[0], high[1], high[2]) &&
        (!tuned || (double)high[0] * (double)high[1] * (double)high[2] <= lfuse__most_for_tiles(low[0], low[1])))
        return LFUSE__COMPUTES_NATIVE;
    return lfuse__native_somewhere(facts, type, low, high, LFUSE__TILES_FEWEST) ||
                   lfuse__native_somewhere(facts, type, low, high, LFUSE__THIN_FEWEST)
               ? LFUSE__COMPUTES_EITHER
               : LFUSE__COMPUTES_VENDOR;
}

#endif
