/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on Hopper of operands that a launch in front copies into k-tiles: what fp8_packed.c and f16_packed.c share.
 * Its kernels are text/gemm_pack.k, and text/gemm_pipeline.k with the parts of text/gemm_packed.k that copy.
 * Where the solver keeps the k-tiles of a frozen operand, a launch of its own makes them before the first run.
 */
#ifndef COMMON_MATMUL_PACKED_H
#define COMMON_MATMUL_PACKED_H

#include "common/matmul/mma.h"

enum {
    LFUSE__PACKED_PACK, LFUSE__PACKED_PRODUCT, /* the phases */
    LFUSE__PACKED_PHASES,
    LFUSE__PACKED_KEEP = LFUSE__PACKED_PHASES  /* the phase that prepares what is kept */
};

/* Parts of text/gemm_packed.k: `part` of its places. */
enum { LFUSE__PACKED_SOURCES, LFUSE__PACKED_COPY, LFUSE__PACKED_NOTHING };
void lfuse__packed_put_part(const void *t, int part, int indent);
/*
 * Puts text/gemm_pack.k, whose places PACK_A and PACK_B are in `places`; packed_put_operand puts such a place: the text
 * `text` of an operand.
 */
void lfuse__packed_put_packer(const lfuse__tiles *t, const char *name, const lfuse__text_place *places);
void lfuse__packed_put_operand(const lfuse__tiles *t, int operand, int indent, const char *text);

/* Functions of a solver (solver.h). */
uint64_t lfuse__packed_workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g);
uint64_t lfuse__packed_kept(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g);
unsigned lfuse__packed_local_bytes(const lfuse__kernel_class *c);
lfuse_status lfuse__packed_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                                lfuse__packed *packed);
/* Sets *c as `cost` of a solver does: to what `of_product` says, which is that of the product, and both launches. */
bool lfuse__packed_cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents,
                        bool (*of_product)(const lfuse__product_class *p, const lfuse__facts *facts,
                                           const int64_t *extents, lfuse__cut *c), lfuse__cut *c);

#endif
