/* SPDX-License-Identifier: Apache-2.0 */
/* Plan bodies and their kernels, for common/run/ alone. */
#ifndef COMMON_RUN_COMPILE_BODY_H
#define COMMON_RUN_COMPILE_BODY_H

#include "common/kernels/families.h"
#include "common/run/run.h"

/* Whether it has products of operands of this type; LFUSE_TYPE_NONE: of any. */
bool lfuse__graph_multiplies(const lfuse_graph *graph, lfuse_type type);
const lfuse__plan_body *lfuse__body_plan(const lfuse__body_entry *entry);
/*
 * A kernel of a class: from the plan's program, or, for geometries that were not foreseen, compiled now (logged). The
 * class's body is copied where it has to be kept.
 */
lfuse_status lfuse__body_kernel(lfuse__body_entry *entry, lfuse_device *dev, const lfuse__kernel_class *k,
                                lfuse__kernel **kernel);

/*
 * Compiles what the entry lacks of these classes, in one program: lfuse__body_kernel then finds them. For kernels that
 * only an instance knows; their bodies are the plan's.
 */
lfuse_status lfuse__body_want(lfuse__body_entry *entry, lfuse_device *dev, int count,
                              const lfuse__kernel_class *wanted);

/* The same for several kernels in one; *bundle is the body's own, equal to `wanted`. */
lfuse_status lfuse__body_bundle(lfuse__body_entry *entry, lfuse_device *dev, const lfuse__bundle *wanted,
                                lfuse__kernel **kernel, const lfuse__bundle **bundle);

/* warm_up.c: a launch of the kernel that does nothing: all its words are 0. */
lfuse_status lfuse__kernel_warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__launch_args *args);

lfuse_status lfuse__bundle_warm_up(const lfuse__bundle *b, const lfuse__facts *facts, lfuse__launch_args *args);

/* classes.c: the classes that a step's kernels have when all tensors are contiguous as declared. */
enum { LFUSE__WANTED_MAX = 6, LFUSE__SMALL_ARGUMENTS = 4096 };
/* Returns how many there are; index64: the variant for large sizes. */
int lfuse__step_classes(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                        lfuse__kernel_class wanted[LFUSE__WANTED_MAX]);
/*
 * Steps over lists: turns the classes above into those of kernels that find their members in the argument block.
 * Returns how many members a launch then has; 0: the transport has no such kernels here, or no member fits.
 */
int lfuse__list_carried(const lfuse__facts *facts, lfuse_transport transport, int count, lfuse__kernel_class *wanted);
/*
 * ROWS: the class above has no form yet; these are its classes in every form that sizes within their bounds can ask
 * for. Returns how many there are.
 */
enum { LFUSE__ROW_CLASSES = 2 * LFUSE__ROW_FORMS };
int lfuse__row_classes(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts,
                       const lfuse__kernel_class *k, lfuse__kernel_class classes[LFUSE__ROW_CLASSES]);
/*
 * product_classes.c: GEMM of the native kind: those that are compiled with the plan. 0 where the sizes of instances are
 * to decide.
 */
enum { LFUSE__PRODUCT_KERNELS = 32 };
int lfuse__step_products(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts,
                         const lfuse__kernel_class *k, lfuse__kernel_class classes[LFUSE__PRODUCT_KERNELS]);
/* Whether those of two steps are the same, where their classes are equal. */
bool lfuse__step_products_alike(const lfuse__plan_body *plan, const lfuse__step *a, const lfuse__step *b);
/* network_classes.c: all of a network's class but the order of its weights and its shape. */
void lfuse__network_class_of(const lfuse__step *step, lfuse__kernel_class *k);
/* A shape for as many layers, from the first on, as a launch can hold: two at least. */
struct lfuse__network;
lfuse_status lfuse__network_shape(const lfuse__facts *facts, struct lfuse__network *network, lfuse__kernel_class *k);
/*
 * NETWORK: the class of the launch that holds its layers, from the first on. False: there is none, or the
 * number of rows is open. *whole: it holds all of them.
 */
bool lfuse__network_class(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts,
                          lfuse__kernel_class *k, bool *whole);
/* How many of m, n and k of a product are told by runs. */
int lfuse__product_open(const lfuse__plan_body *plan, const lfuse__step *step);
/* Whether the plan tells all of these, and how many products there are. */
bool lfuse__product_sized(const lfuse__plan_body *plan, const lfuse__step *step);
/* The fewest and most rows of the step, OVER_ROWS, and the shortest and longest, within the bounds of sizes. */
void lfuse__row_bounds(const lfuse__plan_body *plan, const lfuse__step *step, uint64_t rows[2], uint64_t length[2]);
/* Whether all rows of the step have one length, whatever the sizes are. */
bool lfuse__row_length_fixed(const lfuse__plan_body *plan, const lfuse__step *step);
/* Whether sizes within their bounds can need the variant for large, or for small sizes. */
void lfuse__step_indexing(const lfuse__plan_body *plan, const lfuse__step *step, bool *small, bool *large);
/* copies.c: the body of a copy of one operand, converted to nothing; and one that stores 0. Static, for each type. */
const lfuse__body *lfuse__body_copy(lfuse_type type);
const lfuse__body *lfuse__body_zero(lfuse_type type);

#endif
