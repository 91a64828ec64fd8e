/* SPDX-License-Identifier: Apache-2.0 */
/* What only the values of size variables show. */
#include "common/base/error.h"
#include "common/graph/graph.h"

static lfuse_status empty(const lfuse_graph *g, int32_t node, int axis)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_status status;

    lfuse__graph_print_value(g, node, &text);
    status = lfuse__error(LFUSE_ERR_SHAPE, "%s: axis %d has the extent 0: there is nothing to choose from",
                          text.data, axis);
    lfuse__strbuf_free(&text);
    return status;
}

static lfuse_status check_reduce(const lfuse_graph *g, int32_t node, const int64_t *sizes)
{
    const lfuse__node *n = &g->nodes[node], *in = &g->nodes[n->in[0]];
    int64_t extent, high;
    int i;

    for (i = 0; i < n->naxes; i++) {
        const lfuse_size s = in->shape[n->axes[i]];
        lfuse__size_bounds(g, s, &extent, &high);
        if (extent > 0) continue;
        LFUSE__TRY(lfuse__size_evaluate(g, s, sizes, &extent));
        if (!extent) return empty(g, node, n->axes[i]);
    }
    return LFUSE_OK;
}

lfuse_status lfuse__graph_check_sizes(const lfuse_graph *g, const int64_t *sizes)
{
    int32_t i;

    for (i = 0; i < g->nnodes; i++)
        if (g->nodes[i].kind == LFUSE__REDUCE && lfuse__reduce_needs_elements((lfuse__reduce)g->nodes[i].op))
            LFUSE__TRY(check_reduce(g, i, sizes));
    return LFUSE_OK;
}
