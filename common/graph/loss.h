/* SPDX-License-Identifier: Apache-2.0 */
/* What losses have in common. */
#ifndef COMMON_GRAPH_LOSS_H
#define COMMON_GRAPH_LOSS_H

#include "common/graph/compose.h"
#include "libfuse/loss.h"

/* Checks a reduction that the user gave, up to `last`. */
bool lfuse__loss_reduction(lfuse_graph *g, const char *call, lfuse_loss_reduction reduction,
                           lfuse_loss_reduction last);
/* Returns the losses, their sum or their mean; BATCHMEAN: of a value of rank 1 at least. */
lfuse_value lfuse__loss_reduced(const char *call, lfuse_value losses, lfuse_loss_reduction reduction);

#endif
