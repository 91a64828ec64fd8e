/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds a plan: the user, by the handle, and instances and reports, which may outlive that. */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/run/run.h"

static void destroy(lfuse_plan *plan)
{
    lfuse__strbuf_free(&plan->text);
    pthread_mutex_destroy(&plan->lock);
    lfuse__body_release(plan->body);
    lfuse_graph_destroy(plan->graph);
    lfuse__device_release(plan->dev);
    free(plan);
}

void lfuse__plan_retain(lfuse_plan *plan)
{
    atomic_fetch_add_explicit(&plan->references, 1, memory_order_relaxed);
}

void lfuse__plan_release(lfuse_plan *plan)
{
    if (!plan || lfuse__forked()) return;
    if (atomic_fetch_sub_explicit(&plan->references, 1, memory_order_acq_rel) == 1) destroy(plan);
}
