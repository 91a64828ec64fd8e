/* SPDX-License-Identifier: Apache-2.0 */
/* Which values the backward pass computes anew. */
#ifndef COMMON_GRAPH_CHECKPOINT_H
#define COMMON_GRAPH_CHECKPOINT_H

#include "common/graph/gradient.h"

/* Marks the values of a graph that lead to a checkpoint, where it has some. False: there is no memory. */
bool lfuse__checkpoint_mark(lfuse__backward *b);

#endif
