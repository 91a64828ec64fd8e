/* SPDX-License-Identifier: Apache-2.0 */
/* Plan bodies and their kernels, for common/run/ alone. */
#ifndef COMMON_RUN_COMPILE_BODY_H
#define COMMON_RUN_COMPILE_BODY_H

#include "common/kernels/families.h"
#include "common/run/run.h"

/* Returns whether the graph has products of operands of this type; LFUSE_TYPE_NONE: of any type. */
bool lfuse__graph_multiplies(const lfuse_graph *graph, lfuse_type type);
/* Returns whether operands of some product may be split by `split`; `precision`: of products that ask for none. */
bool lfuse__graph_may_split(const lfuse_graph *graph, lfuse_precision precision, lfuse_precision split);
/* Returns the plan body of the entry. */
const lfuse__plan_body *lfuse__body_plan(const lfuse__body_entry *entry);
/*
 * Creates a kernel of the class: from the programs that were compiled with the plan, or, for geometries that were not
 * foreseen, compiled now, which is logged. The class's body has to stay as long as the entry.
 */
lfuse_status lfuse__body_kernel(lfuse__body_entry *entry, lfuse_device *dev, const lfuse__kernel_class *k,
                                lfuse__kernel **kernel);

/*
 * Compiles the classes that the entry lacks, together: lfuse__body_kernel then finds them. For kernels that only an
 * instance knows; their bodies are the plan's.
 */
lfuse_status lfuse__body_want(lfuse__body_entry *entry, lfuse_device *dev, int count,
                              const lfuse__kernel_class *wanted);

/* As lfuse__body_kernel, for a bundle of kernels; *bundle is the entry's own, equal to `wanted`. */
lfuse_status lfuse__body_bundle(lfuse__body_entry *entry, lfuse_device *dev, const lfuse__bundle *wanted,
                                lfuse__kernel **kernel, const lfuse__bundle **bundle);

/*
 * warm_up.c: fills in a launch of the kernel, or of the bundle, that does nothing, but for its words, which are all 0,
 * and its buffers, which are all NULL. ERR_UNSUPPORTED: the family has no such launch.
 */
lfuse_status lfuse__kernel_warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__launch_args *args);
lfuse_status lfuse__bundle_warm_up(const lfuse__bundle *b, const lfuse__facts *facts, lfuse__launch_args *args);

/* ---- classes.c ---- */
enum {
    LFUSE__WANTED_MAX = 6, /* kernels of a step */
    LFUSE__SMALL_ARGUMENTS = 4096 /* bytes of arguments that every CUDA device takes */
};
/*
 * Fills in the classes that a step's kernels have when all tensors are contiguous as declared; returns how many.
 * index64: those for large sizes.
 */
int lfuse__step_classes(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                        lfuse__kernel_class wanted[LFUSE__WANTED_MAX]);
/*
 * Turns the classes of a step over lists into those of kernels that find their members in the argument block. Returns
 * how many members a launch then has; 0: the transport has no such kernels on this device, or no member fits.
 */
int lfuse__list_carried(const lfuse__facts *facts, lfuse_transport transport, int count, lfuse__kernel_class *wanted);
/*
 * ROWS, whose class from lfuse__step_classes has no form yet: fills in its classes in every form that sizes within
 * their bounds can ask for; returns how many.
 */
enum { LFUSE__ROW_CLASSES = 2 * LFUSE__ROW_FORMS };
int lfuse__row_classes(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts,
                       const lfuse__kernel_class *k, lfuse__kernel_class classes[LFUSE__ROW_CLASSES]);
/*
 * product_classes.c: a product of the library's own: fills in the classes that are compiled with the plan; returns how
 * many. 0: sizes of instances decide.
 */
enum { LFUSE__PRODUCT_KERNELS = 32 };
int lfuse__step_products(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts,
                         const lfuse__kernel_class *k, lfuse__kernel_class classes[LFUSE__PRODUCT_KERNELS]);
/*
 * Sets *k, which holds the step's own class, to that of a product of known sizes that shares a launch: one without a
 * workspace. Returns how many there are: 0 where sizes are open, or no kernel does it.
 */
int lfuse__step_product_whole(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts,
                              lfuse__kernel_class *k);
/* Returns whether these are the same for two steps, where their classes from lfuse__step_classes are equal. */
bool lfuse__step_products_alike(const lfuse__plan_body *plan, const lfuse__step *a, const lfuse__step *b);
/* network_classes.c: fills in all of a network's class but the order of its weights and its shape. */
void lfuse__network_class_of(const lfuse__step *step, lfuse__kernel_class *k);
/*
 * Chooses the shape of a launch for as many layers, from the first on, as it can hold; sets network->nlayers to that.
 * ERR_UNSUPPORTED: it cannot hold two.
 */
struct lfuse__network;
lfuse_status lfuse__network_shape(const lfuse__facts *facts, struct lfuse__network *network, lfuse__kernel_class *k);
/*
 * Fills in the class of the launch that holds a network's layers, from the first on; *whole: it holds all of them.
 * Returns false where there is no such launch, or where the number of rows is known to instances alone.
 */
bool lfuse__network_class(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts,
                          lfuse__kernel_class *k, bool *whole);
/* Returns how many of m, n and k of a product the plan does not tell: they depend on sizes of instances. */
int lfuse__product_open(const lfuse__plan_body *plan, const lfuse__step *step);
/*
 * Returns whether the plan tells all sizes of a native product that a vendor's may replace, and sets *native to whether
 * the estimate takes the native one; k: its class.
 */
bool lfuse__product_settled(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts,
                            const lfuse__kernel_class *k, bool *native);
/* Returns whether the plan tells all of these, and how many products the batch has. */
bool lfuse__product_sized(const lfuse__plan_body *plan, const lfuse__step *step);
/* Computes the fewest and most rows of a step over rows, and the shortest and longest, within the bounds of sizes. */
void lfuse__row_bounds(const lfuse__plan_body *plan, const lfuse__step *step, uint64_t rows[2], uint64_t length[2]);
/* Returns whether all rows of the step have one length, whatever the sizes are. */
bool lfuse__row_length_fixed(const lfuse__plan_body *plan, const lfuse__step *step);
/*
 * Tells whether some sizes within their bounds need the kernel for small sizes, and whether some need that for large.
 */
void lfuse__step_indexing(const lfuse__plan_body *plan, const lfuse__step *step, bool *small, bool *large);
/*
 * copies.c: return the body of a kernel that copies an operand of the type, and of one that stores 0. They are static.
 */
const lfuse__body *lfuse__body_copy(lfuse_type type);
const lfuse__body *lfuse__body_zero(lfuse_type type);

#endif
