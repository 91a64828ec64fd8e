/* SPDX-License-Identifier: Apache-2.0 */
/* Operands as text: where they lie, and how they are walked where that is more than by axes. */
#include <stdlib.h>
#include <string.h>

#include "common/plan/draft.h"

lfuse_graph *lfuse__plan_dress(const lfuse__plan_body *plan, const lfuse_graph *names)
{
    lfuse_graph *g = malloc(sizeof *g);
    int32_t i;

    if (!g) return NULL;
    *g = *plan->graph;
    g->names = names->names;
    g->sizes = malloc(((size_t)g->nsizes + 1) * sizeof *g->sizes);
    if (!g->sizes) {
        free(g);
        return NULL;
    }
    for (i = 0; i < g->nsizes; i++) {
        g->sizes[i] = plan->graph->sizes[i];
        if (i < names->nsizes) memcpy(g->sizes[i].name, names->sizes[i].name, sizeof g->sizes[i].name);
    }
    return g;
}

void lfuse__plan_undress(lfuse_graph *dressed)
{
    if (dressed) free(dressed->sizes);
    free(dressed);
}

/* Whether the memory is walked by axes alone, in its own shape. */
static bool plain(const lfuse__plan_body *plan, const lfuse__operand *o)
{
    const bool bound = o->place == LFUSE__PLACE_BOUND;
    const lfuse__node *n = bound ? &plan->graph->nodes[plan->graph->names[o->index].node] : NULL;
    const lfuse_size *shape;
    int rank, i;

    if (o->span != LFUSE__SPAN_TENSOR) return true;
    if (o->gathered >= 0) return false;
    for (i = 0; i < LFUSE_MAX_RANK; i++)
        if (o->offset[i] != 0 || (o->axis[i] >= 0 && o->step[i] != 1)) return false;
    if (o->place == LFUSE__PLACE_INDEX || o->place == LFUSE__PLACE_SUM) return true;
    rank = bound ? n->rank : plan->buffers[o->index].rank;
    shape = bound ? n->shape : plan->buffers[o->index].shape;
    for (i = 0; i < rank && i < o->rank; i++)
        if (shape[i] != o->shape[i]) return false;
    return rank == o->rank;
}

/* The coordinate along axis m: a sum of an offset and of steps along loop axes. */
static void print_coordinate(const lfuse_graph *names, const lfuse__operand *o, int m, lfuse__strbuf *out)
{
    bool more = false;
    int i;

    if (o->gathered == m) {
        lfuse__strbuf_add(out, "@");
        return;
    }
    if (o->offset[m] != 0) {
        lfuse__size_print(names, o->offset[m], out);
        more = true;
    }
    for (i = 0; i < LFUSE_MAX_RANK; i++) {
        if (o->axis[i] != m) continue;
        if (more && !(lfuse__size_is_number(o->step[i]) && o->step[i] < 0)) lfuse__strbuf_add(out, "+");
        if (o->step[i] == -1) lfuse__strbuf_add(out, "-");
        else if (o->step[i] != 1) lfuse__size_print(names, o->step[i], out);
        lfuse__strbuf_format(out, "i%d", i);
        more = true;
    }
    if (!more) lfuse__strbuf_add(out, "0");
}

void lfuse__operand_print(const lfuse__plan_body *plan, const lfuse__operand *o, const lfuse_graph *names,
                          lfuse__strbuf *out)
{
    static const char *const words[] = {
        [LFUSE__PLACE_INDEX] = "index",     [LFUSE__PLACE_SUM] = "acc",      [LFUSE__PLACE_ELEMENTS] = "elements",
        [LFUSE__PLACE_ROWS] = "rows",       [LFUSE__PLACE_COLUMNS] = "columns", [LFUSE__PLACE_RANK] = "rank",
        [LFUSE__PLACE_SHAPE] = NULL,
    };
    int m;

    if (o->place == LFUSE__PLACE_BOUND) lfuse__strbuf_add(out, names->names[o->index].text);
    else if (words[o->place]) lfuse__strbuf_add(out, words[o->place]);
    else lfuse__strbuf_format(out, "t%d", o->index);
    if (plain(plan, o)) return;
    for (m = 0; m < o->rank; m++) {
        lfuse__strbuf_add(out, m ? "," : "[");
        print_coordinate(names, o, m, out);
    }
    lfuse__strbuf_add(out, o->rank ? "]" : "[]");
}
