/* SPDX-License-Identifier: Apache-2.0 */
/* Who computes a matrix product where nobody says it: the library's own kernels, or the vendor's library. */
#ifndef COMMON_PLAN_PROVIDER_H
#define COMMON_PLAN_PROVIDER_H

#include <stdbool.h>

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
 * On an H200, f32: cuBLAS is a tenth faster than tiles where products are large; CLBlast takes 1.4 to 2.5 times as long
 * as they do. In f64 nobody has measured them. `type`: of the operands.
 */
static inline bool lfuse__vendor_is_faster(const lfuse__facts *facts, lfuse_type type)
{
    return facts->products == LFUSE__PRODUCTS_TUNED || lfuse__register_type(type) == LFUSE_F64;
}

static inline bool lfuse__native_by_default(const lfuse__facts *facts, lfuse_type type)
{
    if (facts->vector_lanes) return true;
    return lfuse__tiles_fit(facts) &&
           (facts->products == LFUSE__PRODUCTS_NONE || !lfuse__vendor_is_faster(facts, type));
}

#endif
