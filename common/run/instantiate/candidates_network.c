/* SPDX-License-Identifier: Apache-2.0 */
/* The two candidates of a network: one launch, and its stages by themselves, each by its fastest candidate. */
#include <stdlib.h>

#include "common/run/instantiate/candidates.h"
#include "common/run/instantiate/loop.h"

static lfuse_status list(void *context, int *count)
{
    lfuse__candidate_list *l = context;

    *count = l->count;
    return LFUSE_OK;
}

/* With as many rows, the kernel may decline: that is seen when it is instantiated. */
static bool may_be_one_launch(const lfuse_instance *in, const lfuse__stage *stage)
{
    int64_t rows;

    return !lfuse__size_evaluate(in->body->graph, stage->network->children[0].product.m, in->sizes, &rows) &&
           rows >= 1 && rows <= LFUSE__NETWORK_ROWS_MOST;
}

/* It is named after its layers, and what else there is for them. */
lfuse_status lfuse__tune_network(const lfuse__instantiation *ctx, const lfuse__stage *stage, bool *by_stages)
{
    const lfuse__alternative network = { .nsteps = stage->network->nchildren, .steps = stage->network->children,
                                         .name = "network" };
    lfuse__candidate_list l = { .in = ctx->in, .low_memory = ctx->low_memory, .count = 2,
                                .all = { { .network = stage, .name = "network" },
                                         { .network = stage, .by_stages = true, .name = "stages" } } };
    const lfuse__alternative **order;
    lfuse_status status;
    int i, j, chosen, nalternatives = 0;

    *by_stages = false;
    if (!may_be_one_launch(ctx->in, stage)) return LFUSE_OK;
    for (i = 0; i < stage->covers; i++) nalternatives += stage[i].nalternatives;
    l.order = order = malloc(((size_t)nalternatives + 1) * sizeof *order);
    if (!order) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d alternatives)", nalternatives);
    order[l.norder++] = &network;
    for (i = 0; i < stage->covers; i++)
        for (j = 0; j < stage[i].nalternatives; j++) order[l.norder++] = &stage[i].alternatives[j];
    status = lfuse__tune_candidates(&l, "network", list, NULL, &chosen);
    free(order);
    if (!status) *by_stages = chosen >= 0 && l.all[chosen].by_stages;
    return status;
}
