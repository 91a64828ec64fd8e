/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passes, in the order in which they run. A row declares lfuse__pass_NAME(draft), which its file defines, and makes
 * it run. A round ends behind the first pass that sets draft.changed, and another round begins. Of what a round has
 * found out, decisions (draft.h) alone hold in the next one.
 */
#ifndef COMMON_PLAN_PASSES_H
#define COMMON_PLAN_PASSES_H

#include "common/base/error.h"

typedef struct lfuse__draft lfuse__draft;

/*
 * In each round:
 *   views            views.c          how each node walks the memory that it is a view of
 *   lists            lists.c          lists that are congruent
 *   scopes           members.c        how often a node is computed in steps that reduce lists
 *   frozen           frozen.c         which nodes belong to the prepare phase
 *   strassen         strassen.c       which products are computed by Strassen's algorithm, and the plan's choices
 *   reads            frozen.c         which node reads which
 *   signatures       signature.c      the loop that each node would run in
 *   inline           pointwise.c      which nodes are computed inside others
 *   levels           pointwise.c      how early each node can be computed, and when it is
 *   regions          pointwise.c      which nodes one kernel computes
 *   results          update.c         where results lie, and which are copied
 *   keep_recomputed  reuse.c          which of the nodes that are to be recomputed still can be
 *   late_sums        late_sums.c      sums of what products compute that run behind all else, in one launch
 *   units            units.c          the units
 *   together         together.c       products that update inputs alone, in one launch behind all else
 *   early_updates    early_updates.c  products that update an input run as soon as its readers have
 *   stages           units.c          the order of the units, and the stage of each
 *   check_updates    update.c         updates that would change what a later step, or another element, reads
 *   recompute        reuse.c          which nodes are recomputed by the kernels that read them; in one round alone
 */
#define LFUSE__ROUND_PASSES(X)                                                                                         \
    X(views) X(lists) X(scopes) X(frozen) X(strassen) X(reads) X(signatures) X(inline) X(levels) X(regions)            \
    X(results) X(keep_recomputed) X(late_sums) X(units) X(together) X(early_updates) X(stages) X(check_updates)        \
    X(recompute)

/*
 * Once, behind the last round:
 *   counts    counts.c   steps of one number join list steps
 *   networks  network.c  products that follow each other, in one launch
 *   bundles   bundle.c   stages of one level, in one launch
 *   checked   numbers.c  the checked casts of the plan's graph
 */
#define LFUSE__LAST_PASSES(X) X(counts) X(networks) X(bundles) X(checked)

#define LFUSE__DECLARE_PASS(name) lfuse_status lfuse__pass_##name(lfuse__draft *d);
LFUSE__ROUND_PASSES(LFUSE__DECLARE_PASS)
LFUSE__LAST_PASSES(LFUSE__DECLARE_PASS)
#undef LFUSE__DECLARE_PASS

#endif
