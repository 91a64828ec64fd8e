/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who computes a matrix product where nobody says it: the library's own kernels, or the vendor's library, which is the
 * solver lfuse__vendor; and all else that the planner is told.
 */
#ifndef COMMON_MATMUL_PROVIDER_H
#define COMMON_MATMUL_PROVIDER_H

#include "common/plan/advice.h"

enum { LFUSE__TILES_LOCAL = 40 * 1024, LFUSE__TILES_GROUP = 256 /* what tiles take of a group, at most */ };

/* Returns whether the device is a GPU whose work-items exchange through local memory as tiles of a product need it. */
bool lfuse__tiles_fit(const lfuse__facts *facts);
/* Returns whether the vendor's product, where there is one, is taken for faster; `type`: of the operands. */
bool lfuse__vendor_is_faster(const lfuse__facts *facts, lfuse_type type, lfuse_precision precision,
                             const lfuse__matmul_sizes *size);

/*
 * choose.c: returns the estimated cycles of the fastest candidate for the least sizes, without what follows the
 * product; below 0: there is none.
 */
double lfuse__matmul_estimate(const lfuse__facts *facts, const lfuse__matmul_desc *desc);

/* choose.c: what lfuse__matmul_advice calls prologue_pays. */
bool lfuse__matmul_prologue_pays(const lfuse__facts *facts, const lfuse__matmul_desc *desc, int side);

/* Returns whether a solver computes the product from split operands on the device. */
bool lfuse__matmul_splits(const lfuse__facts *facts, const lfuse__matmul_desc *desc);
/* Returns whether a solver that computes the product on the device keeps what it makes of a frozen operand. */
bool lfuse__matmul_keeps(const lfuse__facts *facts, const lfuse__matmul_desc *desc);

/* What the planner is told; lfuse__plan_make is given it. */
extern const lfuse__matmul_advice lfuse__products_advice;

/* The rates of GPUs are those of a square product of this side. */
enum { LFUSE__RATED_SIDE = 4096 };
/* strassen_cost.c: lfuse__matmul_advice says what `levels` returns. */
int lfuse__strassen_levels(const lfuse__facts *facts, const lfuse__matmul_desc *desc, double *gain);
/*
 * strassen_cost.c: returns the estimated seconds of one product of the least sizes by so many levels, with what lies
 * between it and the next.
 */
double lfuse__strassen_time(const lfuse__facts *facts, const lfuse__matmul_desc *desc, int levels);

#endif
