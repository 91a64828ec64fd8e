/* SPDX-License-Identifier: Apache-2.0 */
/* What the tuner chooses among when a plan is instantiated. For common/run/ alone. */
#ifndef COMMON_RUN_INSTANTIATE_CANDIDATES_H
#define COMMON_RUN_INSTANTIATE_CANDIDATES_H

#include "common/base/error.h"
#include "common/matmul/problem.h"
#include "common/run/instantiate/instantiate.h"
#include "common/tune/tuner.h"

/*
 * One way to compute a stage, by one of its alternatives, or a network, in one launch or stage by stage. Where the
 * alternative is a product of the library's own, the candidate also says by which of its tiles.
 */
typedef struct lfuse__candidate {
    const lfuse__alternative *alternative; /* of a stage; NULL: of a network */
    bool has_matmul;                       /* `matmul` says by which tiles */
    lfuse__matmul_candidate matmul;
    const lfuse__stage *network; /* the stage that the network begins with; NULL: of a stage */
    bool by_stages;              /* each stage of the network has launches of its own */
    char name[64];               /* in wisdom: the alternative's, a blank, and what `matmul` is called */
} lfuse__candidate;

/*
 * candidates_stage.c: has the tuner choose among the alternatives of a stage with products, and puts the one that it
 * chooses first; *best is the candidate. `order` are the alternatives whose guards hold, as the estimate ranks them.
 * best->alternative NULL: nothing was chosen, and the order stays.
 */
lfuse_status lfuse__tune_stage(const lfuse__instantiation *ctx, const lfuse__alternative **order, int count,
                               lfuse__candidate *best);

/* candidates_network.c: has the tuner choose whether a network, which begins with this stage, is computed by stages. */
lfuse_status lfuse__tune_network(const lfuse__instantiation *ctx, const lfuse__stage *stage, bool *by_stages);

/* ---- candidates.c ---- */

#define LFUSE__CANDIDATES_PROVIDER "plan" /* the provider of all of them, in wisdom's words */

/* The candidates of one problem; the context of the tuner's functions. */
typedef struct lfuse__candidate_list {
    lfuse_instance *in;
    bool low_memory; /* of the instantiation that asks */
    const lfuse__alternative *const *order; /* [norder] the alternatives that the candidates consist of */
    int norder;
    char problem[LFUSE__PROBLEM_NAME]; /* what wisdom calls the problem */
    lfuse__candidate all[LFUSE__CANDIDATES]; /* [count], so the next */
    int count;
    int first[LFUSE__CANDIDATES], end[LFUSE__CANDIDATES]; /* its operations are numbers `first` to `end` - 1 */
    bool declined[LFUSE__CANDIDATES];
    /* While candidates are measured, what the instance had before: */
    int noperations, nbuffers;
    lfuse__instance_buffer *buffers;
    lfuse__spot *spots;
    double *numbers;
    lfuse__location scratch;
    /* And what it has in place of that: */
    lfuse__range *memory;
    uint64_t bytes; /* of it that are given out */
} lfuse__candidate_list;

typedef lfuse_status lfuse__list_function(void *context, int *count);
typedef int lfuse__find_function(void *context, const lfuse__wise_choice *named);

/*
 * Names the problem, by its `kind` and the alternatives in order, and has the tuner choose: *chosen is the number of
 * the candidate in `all`; -1: there is no choice, or nothing is known. `list` and `find`, which may be NULL, are as
 * common/tune/tuner.h says.
 */
lfuse_status lfuse__tune_candidates(lfuse__candidate_list *l, const char *kind, lfuse__list_function *list,
                                    lfuse__find_function *find, int *chosen);

/*
 * Returns how many bytes candidates write before each run that is timed (tuner.h): as many as the device's cache holds,
 * where the tensors that the instance is made for have no room there. In use each of its kernels finds the cache full
 * of what the others have touched, whatever it left there itself the run before. CPUs have caches for each core, and
 * nothing is written there; 0: so it is elsewhere.
 */
uint64_t lfuse__evict_bytes(const lfuse_instance *in);

/* ---- candidates_name.c ---- */

/*
 * Writes the name of a problem: its kind, m, n, k and the type of its first product, and a hash of all that decides on
 * the time of its candidates, whatever names the graph has: "stage:4x8x16:f32:" and 32 digits. It is "" where there is
 * no choice to make:
 *  - nothing is measured, and no wisdom is there;
 *  - the alternatives have no product, or one of no elements;
 *  - they are over lists, read indices from memory, or prepare.
 */
lfuse_status lfuse__problem_name(const lfuse_instance *in, const char *kind, const lfuse__alternative *const *order,
                                 int count, char name[LFUSE__PROBLEM_NAME]);
/* Returns the first product among the steps of the alternatives; NULL: there is none. */
const lfuse__step *lfuse__first_product(const lfuse__alternative *const *order, int count);

#endif
