/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a plan. */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

void lfuse__plan_clear(lfuse__plan_body *p)
{
    int i;

    for (i = 0; i < p->nstages; i++) lfuse__stage_free(&p->stages[i]);
    free(p->stages);
    free(p->buffers);
    free(p->checked);
    free(p->numbers);
    free(p->choices);
    free(p->lists);
    memset(p, 0, sizeof *p);
}

void lfuse__plan_free(lfuse__plan_body *p)
{
    lfuse_graph *graph;

    if (!p) return;
    graph = p->graph;
    lfuse__plan_clear(p);
    lfuse_graph_destroy(graph);
    free(p);
}
