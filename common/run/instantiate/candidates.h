/* SPDX-License-Identifier: Apache-2.0 */
/* What the tuner chooses among when a plan is instantiated; of common/run/ alone. */
#ifndef COMMON_RUN_INSTANTIATE_CANDIDATES_H
#define COMMON_RUN_INSTANTIATE_CANDIDATES_H

#include "common/base/error.h"
#include "common/matmul/problem.h"
#include "common/run/instantiate/instantiate.h"
#include "common/tune/tuner.h"

/* An alternative of a stage, the library's own product by a candidate; or a network, in one launch or in many. */
typedef struct lfuse__candidate {
    const lfuse__alternative *alternative;
    bool has_matmul; /* of the library's own products, one of several */
    lfuse__matmul_candidate matmul;
    const lfuse__stage *network; /* the stage that it begins with; NULL: none */
    bool by_stages;              /* each of its stages has launches of its own */
    char name[64]; /* in wisdom: the alternative's, and its product's behind a blank */
} lfuse__candidate;

/*
 * candidates_stage.c: puts the alternative first that the tuner chooses, and says by which candidate of its product.
 * best->alternative NULL: the order stays. There is a choice of stages with products; `order` are the alternatives
 * whose guards hold, as the estimate ranks them, and of the library's own products several are candidates.
 */
lfuse_status lfuse__tune_stage(const lfuse__instantiation *ctx, const lfuse__alternative **order, int count,
                               lfuse__candidate *best);

/* candidates_network.c: whether the stages of the network that begins here are to have launches of their own. */
lfuse_status lfuse__tune_network(const lfuse__instantiation *ctx, const lfuse__stage *stage, bool *by_stages);

/* ---- candidates.c ---- */

#define LFUSE__CANDIDATES_PROVIDER "plan" /* who provides all of them, in wisdom's words */

typedef struct lfuse__candidate_list {
    lfuse_instance *in;
    bool low_memory; /* of the instantiation that asks */
    const lfuse__alternative *const *order; /* all that the candidates consist of */
    int norder;
    char problem[LFUSE__PROBLEM_NAME];
    lfuse__candidate all[LFUSE__CANDIDATES];
    int count;
    int first[LFUSE__CANDIDATES], end[LFUSE__CANDIDATES]; /* operations */
    bool declined[LFUSE__CANDIDATES];
    /* What the instance had before. */
    int noperations, nbuffers;
    lfuse__instance_buffer *buffers;
    lfuse__spot *spots;
    double *numbers;
    lfuse__location scratch;
    /* In its place. */
    lfuse__range *memory;
    uint64_t bytes;
} lfuse__candidate_list;

typedef lfuse_status lfuse__list_function(void *context, int *count);
typedef int lfuse__find_function(void *context, const lfuse__wise_choice *named);

/* By the tuner: the number of the candidate in `all`, -1 where nothing is known. `find` may be NULL (tuner.h). */
lfuse_status lfuse__tune_candidates(lfuse__candidate_list *l, const char *kind, lfuse__list_function *list,
                                    lfuse__find_function *find, int *chosen);

/* ---- candidates_name.c ---- */

/*
 * The name of a problem: what is done, in which sizes and strides, whatever it is called: "stage:4x8x16:f32:" and a
 * hash, by the kind "stage". "" where there is no choice to make: without a product, of lists, of products of nothing.
 */
lfuse_status lfuse__problem_name(const lfuse_instance *in, const char *kind, const lfuse__alternative *const *order,
                                 int count, char name[LFUSE__PROBLEM_NAME]);
/* The first product among their steps; NULL: none. */
const lfuse__step *lfuse__first_product(const lfuse__alternative *const *order, int count);

#endif
