/* SPDX-License-Identifier: Apache-2.0 */
/* Which alternative of a stage: by wisdom, by measurement; of common/run/ alone. */
#ifndef COMMON_RUN_TRIAL_H
#define COMMON_RUN_TRIAL_H

#include "common/base/error.h"
#include "common/kernels/product.h"
#include "common/run/instance.h"
#include "common/tune/wisdom.h"

/*
 * Puts the alternative first that wisdom names, or, with effort measure, that is the fastest, which becomes wisdom;
 * then known->known. Stages with products are tried, where there is more than one way: `order` are those whose guards
 * hold, as the estimate ranks them, and of the library's own products several tilings. A trial that fails is logged,
 * and the order stays.
 */
typedef struct lfuse__known {
    bool known;
    bool tiled; /* it is the library's own product, by this tiling */
    lfuse__product_tiling tiling;
} lfuse__known;
lfuse_status lfuse__trial(lfuse_instance *in, const lfuse__alternative **order, int count, lfuse__known *known);

/*
 * Whether the stages of the network that begins here are faster by themselves: by wisdom, or, with effort measure, by a
 * race of both, each stage in the way that is the fastest. False where nothing is known.
 */
lfuse_status lfuse__trial_network(lfuse_instance *in, const lfuse__stage *stage, bool *apart);

/* What there is to try: an alternative, of the library's own product by a tiling; a network; or stages one by one. */
typedef struct lfuse__way {
    const lfuse__alternative *alternative;
    bool tiled;
    lfuse__product_tiling tiling;
    const lfuse__stage *network; /* the stage that it begins with */
    const lfuse__stage *stages;
    int nstages;
    char name[64]; /* of the alternative, and the tiling behind a blank */
} lfuse__way;

/* trial_measure.c: which of the ways is the fastest, in words for wisdom. LFUSE_NOT_READY: one alone works, or none. */
#define LFUSE__TRIAL_PROVIDER "plan"
lfuse_status lfuse__trial_measure(lfuse_instance *in, const lfuse__way *ways, int count, const char *what,
                                  lfuse__wise_choice *wise);

/* ways.c: of a stage, alternatives, and of the library's own product each likely tiling. */
lfuse_status lfuse__ways(lfuse_instance *in, const lfuse__alternative *const *order, int count, lfuse__way *ways,
                         int most, int *found);
/* The way of that name; ERR_UNSUPPORTED where it is none, or none any more. */
lfuse_status lfuse__way_of(lfuse_instance *in, const lfuse__alternative *const *order, int count, const char *name,
                           lfuse__way *way);

/*
 * trial_name.c: what is done, in which sizes and strides, whatever it is called: "stage:4x8x16:f32:" and a hash, by the
 * kind "stage". "" of products of nothing.
 */
enum { LFUSE__TRIAL_NAME = 160 };
lfuse_status lfuse__trial_name(const lfuse_instance *in, const char *kind, const lfuse__alternative *const *order,
                               int count, char name[LFUSE__TRIAL_NAME]);

#endif
