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
 * f32 on an H200, networks of eight layers of 64 rows: with tiles they take 0.6, 0.7 and 0.95 of the time that the
 * library of the device's maker takes for layers of 128, 512 and 1024, and more from 2048 on; so do cubes from 512 on,
 * and one row at any width. For f16 and bf16 the maker's has the device's units for matrices. The portable library
 * takes 1.4 to 2.5 times as long as tiles. In f64 nobody has measured them. `type`: of the operands; a size that is not
 * known: INT64_MAX.
 */
enum { LFUSE__TILES_FEWEST = 32, LFUSE__TILES_PRODUCTS = 1 << 26 };
static inline bool lfuse__vendor_is_faster(const lfuse__facts *facts, lfuse_type type, int64_t m, int64_t n, int64_t k)
{
    if (lfuse__register_type(type) == LFUSE_F64) return true;
    if (facts->products != LFUSE__PRODUCTS_TUNED) return false;
    return type != LFUSE_F32 || m < LFUSE__TILES_FEWEST || n < LFUSE__TILES_FEWEST ||
           (double)m * (double)n * (double)k > LFUSE__TILES_PRODUCTS;
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
static inline lfuse__computes lfuse__computes_by_default(const lfuse__facts *facts, lfuse_type type,
                                                         const int64_t low[3], const int64_t high[3])
{
    int64_t best[3];
    int i;

    for (i = 0; i < 3; i++) { /* as few products as there may be, on sides that are not too short */
        best[i] = low[i] > LFUSE__TILES_FEWEST || i == 2 ? low[i] : LFUSE__TILES_FEWEST;
        if (best[i] > high[i]) best[i] = high[i];
    }
    if (lfuse__native_by_default(facts, type, low[0], low[1], low[2]) &&
        lfuse__native_by_default(facts, type, high[0], high[1], high[2]))
        return LFUSE__COMPUTES_NATIVE;
    return lfuse__native_by_default(facts, type, best[0], best[1], best[2]) ? LFUSE__COMPUTES_EITHER
                                                                            : LFUSE__COMPUTES_VENDOR;
}

#endif
