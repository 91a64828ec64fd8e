/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel texts against host C, on any device. Each function fails the running test with the first difference. */
#ifndef TESTS_KERNELS_CASES_H
#define TESTS_KERNELS_CASES_H

#include "tests/kernels/rig.h"

void case_operators(rig *r, lfuse_type type); /* every operator whose bits are promised */
void case_casts(rig *r);
void case_tails(rig *r, lfuse_type type);     /* short lengths, offsets, in place */
void case_strides(rig *r, lfuse_type type);   /* ranks 1 ... 8, broadcasts, negative strides, both index widths */
void case_rows(rig *r, lfuse_type type);      /* every form, kind of stride and reduction, over many lengths */
void case_rows_by_teams(rig *r);              /* some of those of GPUs, on the stub */
void case_lists(rig *r, lfuse_type type);
void case_carried_lists(rig *r, lfuse_type type); /* places of members in the argument block */
void case_members(rig *r, lfuse_type type);
void members_emit(lfuse__strbuf *out, const char *partial, const char *last, lfuse_type type,
                  const lfuse__facts *facts, uint32_t bytes);
void case_lines(rig *r, lfuse_type type);     /* rows and columns of members, and what repeats along them */
void lines_emit(lfuse__strbuf *out, const char *(*name)(void *context), void *context, lfuse_type type,
                const lfuse__facts *facts, uint32_t bytes);
void case_grouped(rig *r, lfuse_type type);   /* products of members, by whatever form the device has */
void case_grouped_units(rig *r, lfuse_type type); /* those on tensor cores, where the rig's facts have them */
void grouped_units_emit(lfuse__strbuf *out, const lfuse__facts *facts);
void case_grouped_refusals(const lfuse__facts *facts);
void grouped_emit(lfuse__strbuf *out, const char *name, lfuse_type type, const lfuse__facts *facts, uint32_t bytes);
void case_look_ups(rig *r, lfuse_type type);
void case_bundles(rig *r);
void case_tiles(rig *r, lfuse_type type);    /* products on GPUs */
/* Those on tensor cores, where the rig's facts have them. Of f32 TF32 rounds operands, F32X3 splits them. */
void case_units(rig *r, lfuse_type type, lfuse_precision precision);
void case_empty_parts(rig *r);
void case_low_bands(rig *r);
void case_few_lines(rig *r);
void case_split(rig *r);     /* products of f32 from split operands, where the rig's facts have them */
void case_column_sums(rig *r); /* products on GPUs that sum columns of what they store */
void case_unit_sums(rig *r);   /* those on tensor cores, where the rig's facts have them */
void case_prologues(rig *r); /* products that compute an operand where they read it; which are refused */
void case_prologue_refusals(const lfuse__facts *facts);
void prologues_emit(lfuse__strbuf *out, const lfuse__facts *facts);
void case_unit_prologues(rig *r, lfuse_type type); /* those of f16 or bf16 on tensor cores, where the facts have them */
void unit_prologues_emit(lfuse__strbuf *out, const lfuse__facts *facts);
void unit_sums_emit(lfuse__strbuf *out, const lfuse__facts *facts);
void sums_emit(lfuse__strbuf *out, const lfuse__facts *facts, int turn, int turns);
/* Of devices that have tensor cores, and `wgmma` too. */
void units_emit(lfuse__strbuf *out, const lfuse__facts *facts, bool wgmma);
void tiles_emit(lfuse__strbuf *out, const lfuse__facts *facts, int turn, int turns);
/* Products with an optimizer's step behind them; `together`: those of several layers in one launch. */
void steps_emit(lfuse__strbuf *out, const lfuse__facts *facts, bool together);
void case_products(rig *r, lfuse_type type);  /* both transposed or not, odd sizes, an epilogue with two results */
void case_strassen(rig *r, lfuse_type type);  /* two layers, levels 1, 2 */
int strassen_emit(lfuse__strbuf *out, const lfuse__facts *facts); /* returns how many kernels */
void case_row_look_ups(rig *r);
/* The texts of its kernels, for compilers without a device: those whose turn it is of `turns`. */
void row_look_ups_emit(lfuse__strbuf *out, const lfuse__facts *facts, int turn, int turns);
void case_table(rig *r);
void case_arrive(rig *r);
void arrive_emit(lfuse__strbuf *out);
/* Every other operator within its bound; ops.def says which. `type` f32 or f64. */
void case_bounds(rig *r, lfuse_type type);
/* Activations and the functions that they are made of within their bounds at every number of f16 and of bf16. */
void case_halves(rig *r);

/* Whether the device computes in `type`. */
bool rig_has(const rig *r, lfuse_type type);

#endif
