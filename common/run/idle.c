/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that do nothing, for devices that compile when a kernel is first launched. */
#include <string.h>

#include "common/base/error.h"
#include "common/kernels/product_grouped.h"
#include "common/kernels/strassen.h"
#include "common/run/body.h"

enum { NO_NUMBERS = 32 };

/* A row of a kernel for whole rows has a length of its own. */
static lfuse_status pack_rows(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__geometry *g,
                              lfuse__packed *packed)
{
    if (k->whole) g->extents[k->rank - 1] = (int64_t)k->team * k->held;
    return lfuse__rows_pack(k, facts, g, packed);
}

/* Padded sizes are whole blocks: these are, of every class. */
static lfuse_status pack_strassen(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__geometry *g,
                                  lfuse__packed *packed)
{
    const int levels = k->strassen.levels_in > k->strassen.levels_out ? k->strassen.levels_in : k->strassen.levels_out;
    const lfuse_type products = k->operands[LFUSE__STRASSEN_PRODUCTS].type;
    const lfuse_type factors = k->operands[LFUSE__STRASSEN_FACTORS].type;
    const lfuse_type narrower = lfuse__type_bytes(factors) < lfuse__type_bytes(products) ? factors : products;
    int i;

    for (i = 0; i < 2; i++) g->extents[2 + i] = lfuse__strassen_padded(facts, narrower, levels, true, 1);
    return lfuse__strassen_pack(k, facts, g, packed);
}

static lfuse_status pack_grouped(const lfuse__kernel_class *k, const lfuse__facts *facts, const double *numbers,
                                 lfuse__packed *packed)
{
    const lfuse__grouped_part part = { .members = 1, .chunks = 1, .numbers = numbers };
    const lfuse__member_product one = { 1, 1, 1, 1 };
    lfuse__grouped_cut cut;

    lfuse__grouped_cut_make(k, facts, 1, &one, &cut);
    return lfuse__grouped_pack(k, facts, &cut, &part, packed);
}

static lfuse_status pack(lfuse__family family, const lfuse__kernel_class *k, const lfuse__facts *facts,
                         lfuse__packed *packed)
{
    static const double numbers[NO_NUMBERS];
    const lfuse__members_part part = { .numbers = numbers };
    const lfuse__lines_part lines = { .numbers = numbers };
    const uint64_t nothing = 0;
    lfuse__geometry g;
    int i;

    memset(&g, 0, sizeof g);
    for (i = 0; i < LFUSE_MAX_RANK; i++) g.extents[i] = 1;
    g.numbers = numbers;
    switch (family) {
    case LFUSE__FAMILY_POINTWISE: return lfuse__pointwise_pack(k, facts, &g, packed);
    case LFUSE__FAMILY_ROWS: return pack_rows(k, facts, &g, packed);
    case LFUSE__FAMILY_SCATTER: lfuse__scatter_pack(k, facts, &g, packed); return LFUSE_OK;
    case LFUSE__FAMILY_PRODUCT: return lfuse__product_pack(k, facts, &g, packed);
    case LFUSE__FAMILY_STRASSEN: return pack_strassen(k, facts, &g, packed);
    case LFUSE__FAMILY_GROUPED: return pack_grouped(k, facts, numbers, packed);
    case LFUSE__FAMILY_MULTI: return lfuse__multi_pack(k, facts, 1, 0, 1, numbers, packed);
    case LFUSE__FAMILY_PARTIAL: return lfuse__members_partial_pack(k, facts, &part, packed);
    case LFUSE__FAMILY_FOLD: return lfuse__members_fold_pack(k, facts, &part, packed);
    case LFUSE__FAMILY_LINES:
    case LFUSE__FAMILY_LINES_FOLD: return lfuse__lines_pack(k, facts, &lines, packed);
    case LFUSE__FAMILY_NETWORK: /* of devices that compile when they are asked to */
    case LFUSE__FAMILY_BUNDLE:
    case LFUSE__FAMILY_TABLE: break;
    }
    return lfuse__table_pack(facts, 0, &nothing, 1, packed);
}

static unsigned buffers(lfuse__family family, const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    const unsigned blocks = facts->addresses ? 0 : LFUSE__MAX_SLOTS;

    switch (family) {
    case LFUSE__FAMILY_POINTWISE:
    case LFUSE__FAMILY_SCATTER:
    case LFUSE__FAMILY_PRODUCT:
    case LFUSE__FAMILY_STRASSEN:
    case LFUSE__FAMILY_ROWS: return (unsigned)lfuse__kernel_buffers(k);
    case LFUSE__FAMILY_MULTI: return 2 + blocks;
    case LFUSE__FAMILY_PARTIAL:
    case LFUSE__FAMILY_GROUPED:
    case LFUSE__FAMILY_LINES:
    case LFUSE__FAMILY_LINES_FOLD:
    case LFUSE__FAMILY_FOLD: return 3 + blocks;
    case LFUSE__FAMILY_NETWORK:
    case LFUSE__FAMILY_BUNDLE:
    case LFUSE__FAMILY_TABLE: break;
    }
    return 1;
}

lfuse_status lfuse__kernels_idle(lfuse__family family, const lfuse__kernel_class *k, const lfuse__facts *facts,
                                 lfuse__launch_args *args)
{
    lfuse__packed packed;
    lfuse_status status = pack(family, k, facts, &packed);

    if (status) return status;
    args->groups = 1;
    args->group = packed.group;
    args->nwords = packed.nwords;
    if (k->carried) args->nwords = lfuse__carried_words(k, lfuse__family_carry(family));
    args->nbuffers = buffers(family, k, facts);
    return LFUSE_OK;
}

lfuse_status lfuse__bundle_idle(const lfuse__bundle *b, const lfuse__facts *facts, lfuse__launch_args *args)
{
    const lfuse__bundle_part *parts;

    lfuse__bundle_parts(b, &parts);
    LFUSE__TRY(lfuse__kernels_idle(parts[0].k.form == LFUSE__ROWS_NONE ? LFUSE__FAMILY_POINTWISE : LFUSE__FAMILY_ROWS,
                                   &parts[0].k, facts, args));
    args->nwords = (unsigned)lfuse__bundle_words(b);
    args->nbuffers = (unsigned)lfuse__bundle_buffers(b, facts);
    return LFUSE_OK;
}
