/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/random/problem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/data.h"
#include "common/base/error.h"
#include "common/base/hash.h"

void problem_free(problem *p)
{
    lfuse_graph_destroy(p->graph);
    p->graph = NULL;
}

char *problem_print(const problem *p)
{
    lfuse__strbuf out = LFUSE__STRBUF_INIT;
    lfuse__strbuf_format(&out, "seed %" PRIu64 " sizes", p->seed);
    for (int i = 0; i < p->nsizes; i++) lfuse__strbuf_format(&out, " %" PRId64, p->sizes[i]);
    lfuse__strbuf_add(&out, " ");
    lfuse__graph_format(p->graph, &out);
    char *line = out.failed ? NULL : strdup(out.data);
    lfuse__strbuf_free(&out);
    return line;
}

lfuse_status problem_parse(const char *line, problem *p)
{
    problem made = {NULL, 0, 0, {0}};
    char *end;
    int32_t variables = 0;
    if (strncmp(line, "seed ", 5)) return lfuse__error(LFUSE_ERR_INVALID, "the line does not begin with \"seed \"");
    made.seed = strtoull(line + 5, &end, 10);
    if (strncmp(end, " sizes", 6)) return lfuse__error(LFUSE_ERR_INVALID, "no \" sizes\" behind the seed");
    for (line = end + 6; *line == ' ' && line[1] != '('; line = end) {
        if (made.nsizes == PROBLEM_MAX_SIZES)
            return lfuse__error(LFUSE_ERR_INVALID, "more than %d sizes", PROBLEM_MAX_SIZES);
        made.sizes[made.nsizes++] = strtoll(line + 1, &end, 10);
        if (end == line + 1) return lfuse__error(LFUSE_ERR_INVALID, "no size at \"%.20s\"", line + 1);
    }
    if (*line != ' ') return lfuse__error(LFUSE_ERR_INVALID, "no graph behind the sizes");
    lfuse_status status = lfuse__graph_parse(line + 1, &made.graph);
    if (status) return status;
    for (int32_t i = 0; i < made.graph->nsizes; i++) variables += made.graph->sizes[i].kind == LFUSE__SIZE_VAR;
    if (variables != made.nsizes) {
        problem_free(&made);
        return lfuse__error(LFUSE_ERR_INVALID, "%d sizes for %d variables", made.nsizes, (int)variables);
    }
    *p = made;
    return LFUSE_OK;
}

int64_t *problem_sizes(const problem *p)
{
    int64_t *sizes = calloc((size_t)p->graph->nsizes + 1, sizeof *sizes);
    int variable = 0;
    if (!sizes) abort();
    for (int32_t i = 0; i < p->graph->nsizes; i++)
        if (p->graph->sizes[i].kind == LFUSE__SIZE_VAR) sizes[i] = p->sizes[variable++];
    return sizes;
}

/* ---- binding ---- */

/*
 * Through views that show every element of an input, and what makes negative indices count from the end: the input
 * whose values they are, else the node itself.
 */
static int32_t origin(const lfuse_graph *g, int32_t node)
{
    for (;;) {
        const lfuse__node *n = &g->nodes[node];
        const bool view = n->kind == LFUSE__RESHAPE || n->kind == LFUSE__PERMUTE || n->kind == LFUSE__BROADCAST ||
                          n->kind == LFUSE__SLICE;
        const bool chosen = n->kind == LFUSE__POINTWISE && n->op == LFUSE__OP_where;
        if (!view && !chosen && n->kind != LFUSE__CAST) return node;
        node = n->in[chosen ? 2 : 0];
    }
}

/* The extent of the table that an input looks rows up in; -1: it is no index. */
static int64_t table_extent(const lfuse_graph *g, int32_t input, const int64_t *sizes)
{
    int64_t extent;
    for (int32_t i = 0; i < g->nnodes; i++) {
        const lfuse__node *n = &g->nodes[i];
        const bool gather = n->kind == LFUSE__GATHER;
        if (!gather && n->kind != LFUSE__SCATTER_ADD) continue;
        if (origin(g, n->in[1]) != input) continue;
        const lfuse_size rows = gather ? g->nodes[n->in[0]].shape[n->axes[0]] : n->shape[0];
        if (!lfuse__size_evaluate(g, rows, sizes, &extent)) return extent;
    }
    return -1;
}

static uint64_t mix(uint64_t seed, uint64_t i)
{
    lfuse__random r;
    lfuse__random_seed(&r, seed * 1000003 + i);
    return lfuse__random_bits(&r);
}

/* Most problems have small whole numbers or normal data; a few have what is nasty. */
static harness_data data_of(uint64_t seed)
{
    switch (mix(seed, 999) % 8) {
    case 0:
    case 1:
    case 2: return INTEGERS;
    case 3: return POSITIVE;
    case 4: return NASTY;
    default: return NORMAL;
    }
}

static harness_layout layout_of(uint64_t seed)
{
    const uint64_t pick = seed / 64 % 16;
    return pick == 0 ? STRIDED : pick < 4 ? OFFSET : PLAIN;
}

/* ---- lists ---- */

enum { MOST_MEMBERS = 6 };

/* The members of all lists of a problem: matrices, rows, columns. */
static int members_of(uint64_t seed, int64_t shapes[MOST_MEMBERS][3])
{
    static const int rows[] = {0, 1, 1, 2, 3, 17, 40, 1030}, columns[] = {1, 2, 3, 5, 33, 130, 1025};
    const int count = 1 + (int)(mix(seed, 2000) % MOST_MEMBERS);
    for (int i = 0; i < count; i++) {
        const uint64_t pick = mix(seed, 2001 + (uint64_t)i);
        shapes[i][0] = pick % 5 ? 1 : 1 + (int64_t)(pick / 5 % 3);
        shapes[i][1] = rows[pick / 16 % 8];
        shapes[i][2] = shapes[i][1] > 40 ? 1 + (int64_t)(pick / 128 % 3) : columns[pick / 128 % 7];
    }
    return count;
}

static trial_io *bind_list(const problem *p, const lfuse__name *name, const lfuse__node *n, trial *t)
{
    const trial_role role = name->kind == LFUSE__NAME_OUTPUT ? TRIAL_LIST_OUTPUT : TRIAL_LIST;
    int64_t shapes[MOST_MEMBERS][3], elements[MOST_MEMBERS];
    const int count = members_of(p->seed, shapes);
    for (int i = 0; i < count && *name->text == PROBLEM_SQUARES; i++) shapes[i][2] = shapes[i][1];
    if (n->rank == LFUSE_RANK_MATRIX)
        return trial_add_matrices(t, name->text, role, (lfuse_type)n->type, count, (const int64_t (*)[3])shapes,
                                  *name->text == PROBLEM_SQUARES ? ROWS : PLAIN); /* these are multiplied alone */
    for (int i = 0; i < count; i++) {
        const int64_t *m = shapes[i];
        elements[i] = n->rank == LFUSE_RANK_ROWS       ? m[0] * m[1]
                      : n->rank == LFUSE_RANK_COLUMNS  ? m[0] * m[2]
                      : n->rank == LFUSE_RANK_MATRICES ? m[0]
                      : n->rank == LFUSE_RANK_ANY      ? m[0] * m[1] * m[2]
                                                       : 1;
    }
    return trial_add_list(t, name->text, role, (lfuse_type)n->type, count, elements);
}

static lfuse_status bind_name(const problem *p, int32_t i, const int64_t *sizes, trial *t)
{
    static const trial_role roles[] = {
        [LFUSE__NAME_INPUT] = TRIAL_INPUT,   [LFUSE__NAME_FROZEN] = TRIAL_FROZEN, [LFUSE__NAME_LIST] = TRIAL_LIST,
        [LFUSE__NAME_SCALAR] = TRIAL_SCALAR, [LFUSE__NAME_OUTPUT] = TRIAL_OUTPUT,
    };
    const lfuse__name *name = &p->graph->names[i];
    const lfuse__node *n = &p->graph->nodes[name->node];
    /* By name: what is left of a problem that shrinks keeps its data. */
    const uint64_t seed = mix(p->seed, lfuse__hash_bytes(name->text, strlen(name->text)).low);
    int64_t shape[LFUSE_MAX_RANK];
    if (t->nio == HARNESS_MAX_IO) return trial_say(t, LFUSE_ERR_UNSUPPORTED, "more than %d names", HARNESS_MAX_IO);
    if (name->kind == LFUSE__NAME_SCALAR) {
        trial_add_scalar(t, name->text, *name->text == PROBLEM_WHOLE ? (double)(seed % 5)
                                                                     : (double)(int64_t)(seed % 17) / 4 - 1.75);
        return LFUSE_OK;
    }
    if (n->list) {
        trial_io *l = bind_list(p, name, n, t);
        l->id = name->node;
        l->updated = name->update >= 0;
        if (name->kind != LFUSE__NAME_OUTPUT) trial_fill(l, data_of(p->seed), seed);
        return LFUSE_OK;
    }
    for (int axis = 0; axis < n->rank; axis++) {
        lfuse_status status = lfuse__size_evaluate(p->graph, n->shape[axis], sizes, &shape[axis]);
        if (status) return trial_blame(t, status, name->text);
    }
    trial_io *x = trial_add_tensor(t, name->text, roles[name->kind], (lfuse_type)n->type, n->rank, shape,
                                   name->kind == LFUSE__NAME_FROZEN ? PLAIN : layout_of(seed));
    x->id = name->node;
    x->updated = name->update >= 0;
    if (name->kind == LFUSE__NAME_OUTPUT) return LFUSE_OK;
    const int64_t extent = table_extent(p->graph, name->node, sizes);
    if (extent < 0) trial_fill(x, data_of(p->seed), seed);
    else if (seed % 4) trial_fill_range(x, 0, extent ? extent - 1 : 0, seed);
    else trial_fill_range(x, seed / 4 % 2 ? -1 : -extent, extent, seed); /* some out of range, or from the end */
    return LFUSE_OK;
}

lfuse_status problem_bind(const problem *p, trial *t)
{
    lfuse_status status = LFUSE_OK;
    int64_t *sizes = problem_sizes(p);
    t->graph = p->graph;
    t->lenient = true;
    for (int32_t i = 0; i < p->graph->nsizes; i++)
        if (p->graph->sizes[i].kind == LFUSE__SIZE_VAR) trial_add_size(t, p->graph->sizes[i].name, sizes[i]);
    for (int32_t i = 0; i < p->graph->nnames && !status; i++) status = bind_name(p, i, sizes, t);
    free(sizes);
    return status;
}
