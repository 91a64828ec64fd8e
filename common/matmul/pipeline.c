/* SPDX-License-Identifier: Apache-2.0 */
/* Products by warpgroups that multiply and one that copies: what solvers with text/gemm_pipeline.k share. */
#include "common/base/error.h"
#include "common/matmul/mma.h"

#include "common/kernels/text/gemm_pipeline.k.h"

enum {
    EPILOGUE_VECTORS = 8,             /* of each work-item, in local memory, where the epilogue is long */
    REGISTERS = 504,                  /* of three work-items, one of each warpgroup: a unit has 65536 */
    FEW = 24, FEW_WHERE_SLOW = 40     /* of one that copies */
};

int lfuse__pipeline_k_tile_bytes(const lfuse__product_class *p, int operand)
{
    const int width = operand == LFUSE__PRODUCT_A ? p->rows : p->columns;
    return width * p->depth * 2 * (p->solver->splits_operands ? 2 : 1);
}

static int stage(const lfuse__product_class *p)
{
    return lfuse__pipeline_k_tile_bytes(p, LFUSE__PRODUCT_A) + lfuse__pipeline_k_tile_bytes(p, LFUSE__PRODUCT_B);
}

bool lfuse__pipeline_is_pingpong(const lfuse__product_class *p)
{
    return lfuse__tiles_threads(p) == LFUSE__WARPGROUP;
}

int lfuse__pipeline_local(const lfuse__product_class *p)
{
    return lfuse__tiles_threads(p) * EPILOGUE_VECTORS * lfuse__tiles_vector(p);
}

unsigned lfuse__pipeline_bytes(const lfuse__product_class *p)
{
    const int epilogues = lfuse__pipeline_is_pingpong(p) ? 2 : 1;
    const int epilogue = lfuse__pipeline_local(p) * epilogues * (int)lfuse__type_bytes(p->sum);
    return (unsigned)((p->prefetch + 1) * stage(p) + epilogue + LFUSE__WGMMA_ALIGNMENT);
}

void lfuse__put_pipeline(const lfuse__tiles *t, const char *name, bool running, const lfuse__text_place *parts)
{
    const lfuse__product_class *p = t->p;
    const lfuse__expr descriptor = lfuse__expression("0x%llxull", lfuse__wgmma_descriptor());
    const bool slow = p->solver->tile->copiers > 0;
    const int few = slow ? FEW_WHERE_SLOW : FEW;
    const lfuse__parameter own[] = {
        {"MAPS", .number = p->solver->tile->maps}, {"STAGE", .number = stage(p)},
        {"PINGPONG", .number = lfuse__pipeline_is_pingpong(p)},
        {"GROUP_A", .number = LFUSE__WGMMA_ROWS * p->depth * 2},
        {"DESCRIPTOR", .word = descriptor.text}, {"RUNNING", .number = running},
        {"SLOW", .number = slow}, {"FEW", .number = few}, {"BATCHED", .number = p->batched},
        {"BATCH", .number = t->l.batch},
        {"MANY", .number = (REGISTERS - few) / 2},
        {"OWN_TILE", .number = lfuse__pipeline_is_pingpong(p) ? lfuse__pipeline_local(p) : 0},
        {NULL},
    };

    lfuse__mma_put_text(t, 0, name, lfuse__text_gemm_pipeline, own, parts);
}

lfuse_status lfuse__pipeline_launch(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                                    lfuse__packed *packed)
{
    const uint64_t units = (uint64_t)lfuse__units(facts);
    lfuse__product_layout l;

    lfuse__product_layout_make(c, &l);
    const uint64_t tiles = packed->words[l.own + LFUSE__TILES_DOWN] * packed->words[l.own + LFUSE__TILES_ACROSS];
    const uint64_t all = tiles * (uint64_t)lfuse__product_batch(c, g);
    return lfuse__tiles_launch(c, g, all < units ? all : units, 3 * LFUSE__WARPGROUP, packed);
}
