/* SPDX-License-Identifier: Apache-2.0 */
/* Products by warpgroups that multiply and one that copies: what solvers with text/gemm_pipeline.k share. */
#include "common/base/error.h"
#include "common/matmul/mma.h"

#include "common/kernels/text/gemm_pipeline.k.h"

enum {
    EPILOGUE_VECTORS = 8,             /* of each work-item, in local memory, where the epilogue is long */
    REGISTERS = 65536,                /* of a unit; a work-item has a multiple of UNIT */
    UNIT = 8,
    FEW = 24, FEW_WHERE_SLOW = 40,    /* of a work-item that copies */
    BARRIERS = 256                    /* bytes, and more: of all barriers of a group */
};

bool lfuse__pipeline_is_small(const lfuse__product_class *p)
{
    return p->depth < LFUSE__WGMMA_DEPTH;
}

int lfuse__pipeline_k_tile_bytes(const lfuse__product_class *p, int operand)
{
    const int width = operand == LFUSE__PRODUCT_A ? p->rows : p->columns;
    return width * p->depth * 2 * (p->solver->splits_operands ? 2 : 1);
}

static int stage(const lfuse__product_class *p)
{
    return lfuse__pipeline_k_tile_bytes(p, LFUSE__PRODUCT_A) + lfuse__pipeline_k_tile_bytes(p, LFUSE__PRODUCT_B);
}

static int stages(const lfuse__product_class *p)
{
    return (p->prefetch + 1) * stage(p);
}

bool lfuse__pipeline_is_pingpong(const lfuse__product_class *p)
{
    return !lfuse__pipeline_is_small(p) && lfuse__tiles_threads(p) == LFUSE__WARPGROUP;
}

/* Of small tiles the epilogue has the stages. */
int lfuse__pipeline_local(const lfuse__product_class *p)
{
    if (lfuse__pipeline_is_small(p)) return stages(p) / (int)lfuse__type_bytes(p->sum);
    return lfuse__tiles_threads(p) * EPILOGUE_VECTORS * lfuse__tiles_vector(p);
}

unsigned lfuse__pipeline_bytes(const lfuse__product_class *p)
{
    const int epilogues = lfuse__pipeline_is_small(p) ? 0 : lfuse__pipeline_is_pingpong(p) ? 2 : 1;
    const int epilogue = lfuse__pipeline_local(p) * epilogues * (int)lfuse__type_bytes(p->sum);
    return (unsigned)(stages(p) + epilogue);
}

bool lfuse__pipeline_has_room(const lfuse__facts *facts)
{
    return facts->wgmma && facts->dynamic_local_bytes >= LFUSE__PIPELINE_LOCAL;
}

bool lfuse__pipeline_runs(const lfuse__product_class *p, const lfuse__facts *facts, bool large)
{
    if (!lfuse__pipeline_is_small(p)) return large;
    return !large && lfuse__pipeline_bytes(p) + BARRIERS <= facts->dynamic_local_bytes;
}

/* Returns the work-items that multiply. */
static int multiplying(const lfuse__product_class *p)
{
    return lfuse__pipeline_is_small(p) ? lfuse__tiles_threads(p) : 2 * LFUSE__WARPGROUP;
}

static int items(const lfuse__product_class *p)
{
    return multiplying(p) + LFUSE__WARPGROUP;
}

/*
 * Returns the registers of a work-item that multiplies: all begin with equally many, and those that copy keep `few` of
 * theirs.
 */
static int many(const lfuse__product_class *p, int few)
{
    const int each = REGISTERS / (items(p) * p->occupancy) / UNIT * UNIT, groups = multiplying(p) / LFUSE__WARPGROUP;

    return (each * (groups + 1) - few) / groups / UNIT * UNIT;
}

void lfuse__put_pipeline(const lfuse__tiles *t, const char *name, bool running, const lfuse__text_place *parts)
{
    const lfuse__product_class *p = t->p;
    const lfuse__expr descriptor_a = lfuse__wgmma_descriptor(p, LFUSE__PRODUCT_A);
    const lfuse__expr descriptor_b = lfuse__wgmma_descriptor(p, LFUSE__PRODUCT_B);
    const bool slow = p->solver->tile->copiers > 0, small = lfuse__pipeline_is_small(p);
    const bool pingpong = lfuse__pipeline_is_pingpong(p);
    const int few = slow ? FEW_WHERE_SLOW : FEW;
    const lfuse__parameter own[] = {
        {"MAPS", .number = p->solver->tile->maps}, {"STAGE", .number = stage(p)},
        {"ITEMS", .number = items(p)}, {"MULTIPLYING", .number = multiplying(p)}, {"BLOCKS", .number = p->occupancy},
        {"WARPGROUPS", .number = pingpong ? 1 : multiplying(p) / LFUSE__WARPGROUP},
        {"BYTES", .number = (int)lfuse__pipeline_bytes(p)}, {"PINGPONG", .number = pingpong},
        {"GROUP_A", .number = LFUSE__WGMMA_ROWS * p->depth * 2},
        {"DESCRIPTOR_A", .word = descriptor_a.text}, {"DESCRIPTOR_B", .word = descriptor_b.text},
        {"RUNNING", .number = running}, {"SLOW", .number = slow}, {"FEW", .number = few},
        {"BATCHED", .number = p->batched}, {"BATCH", .number = t->l.batch},
        {"MANY", .number = many(p, few)},
        {"STAGED", .number = small && !lfuse__tiles_is_short(t)},
        {"EPILOGUE_AT", .number = small ? 0 : stages(p) / 4},
        {"OWN_TILE", .number = pingpong ? lfuse__pipeline_local(p) : 0}, {NULL},
    };

    lfuse__mma_put_text(t, 0, name, lfuse__text_gemm_pipeline, own, parts);
}

lfuse_status lfuse__pipeline_launch(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                                    lfuse__packed *packed)
{
    const uint64_t most = (uint64_t)lfuse__units(facts) * (uint64_t)c->product.occupancy;
    lfuse__product_layout l;

    lfuse__product_layout_make(c, &l);
    const uint64_t tiles = packed->words[l.own + LFUSE__TILES_DOWN] * packed->words[l.own + LFUSE__TILES_ACROSS];
    const uint64_t all = tiles * (uint64_t)lfuse__product_batch(c, g);
    return lfuse__tiles_launch(c, g, all < most ? all : most, (unsigned)items(&c->product), packed);
}
