/* SPDX-License-Identifier: Apache-2.0 */
/* What the caller gave: names, sizes, and the values of inputs and lists. */
#include <stdlib.h>
#include <string.h>

#include "bench/data.h"
#include "bench/oracle_internal.h"
#include "common/base/error.h"

static int32_t find_size(const lfuse_graph *g, const char *name)
{
    int32_t i;

    for (i = 0; i < g->nsizes; i++)
        if (g->sizes[i].kind == LFUSE__SIZE_VAR && !strcmp(g->sizes[i].name, name)) return i;
    return -1;
}

static lfuse_status set_size(lfuse__oracle *s, int32_t i, int64_t value)
{
    const lfuse__size_expr *e = &s->g->sizes[i];

    if (value < e->low || value > e->high)
        return lfuse__error(LFUSE_ERR_BOUNDS, "oracle: %s is %lld, its bounds %lld ... %lld", e->name, (long long)value,
                            (long long)e->low, (long long)e->high);
    if (s->sizes[i] >= 0 && s->sizes[i] != value)
        return lfuse__error(LFUSE_ERR_SHAPE, "oracle: %s is %lld and %lld", e->name, (long long)s->sizes[i],
                            (long long)value);
    s->sizes[i] = value;
    return LFUSE_OK;
}

static lfuse_status bind_tensor(lfuse__oracle *s, const lfuse__node *n, const lfuse__oracle_input *in)
{
    int i;

    for (i = 0; i < n->rank; i++) {
        if (in->shape[i] < 0) return lfuse__error(LFUSE_ERR_SHAPE, "oracle: %s: a negative extent", in->name);
        if (lfuse__size_is_number(n->shape[i])) continue;
        if (s->g->sizes[lfuse__size_index(n->shape[i])].kind == LFUSE__SIZE_VAR)
            LFUSE__TRY(set_size(s, lfuse__size_index(n->shape[i]), in->shape[i]));
    }
    return LFUSE_OK;
}

static lfuse_status bind(lfuse__oracle *s, const lfuse__oracle_input *in)
{
    const lfuse_graph *g = s->g;
    int32_t i, size;

    if (!in->name) return lfuse__error(LFUSE_ERR_INVALID, "oracle: a binding without a name");
    for (i = 0; i < g->nnames; i++)
        if (!strcmp(g->names[i].text, in->name)) break;
    if (i == g->nnames) {
        size = find_size(g, in->name);
        if (size < 0) return lfuse__error(LFUSE_ERR_NAME, "oracle: the graph has no \"%s\"", in->name);
        return set_size(s, size, (int64_t)in->number);
    }
    if (g->names[i].kind == LFUSE__NAME_OUTPUT || s->bound[i])
        return lfuse__error(LFUSE_ERR_BINDING, "oracle: \"%s\" is %s", in->name,
                            s->bound[i] ? "bound twice" : "an output");
    s->bound[i] = in;
    s->scalars[i] = in->number;
    if (g->names[i].kind == LFUSE__NAME_INPUT || g->names[i].kind == LFUSE__NAME_FROZEN)
        return bind_tensor(s, &g->nodes[g->names[i].node], in);
    return LFUSE_OK;
}

lfuse_status lfuse__oracle_bind(lfuse__oracle *s, const lfuse__oracle_input *inputs, int ninputs)
{
    int32_t i;

    for (i = 0; i < s->g->nsizes; i++) s->sizes[i] = -1;
    for (i = 0; i < ninputs; i++) LFUSE__TRY(bind(s, &inputs[i]));
    for (i = 0; i < s->g->nnames; i++)
        if (s->g->names[i].kind != LFUSE__NAME_OUTPUT && !s->bound[i])
            return lfuse__error(LFUSE_ERR_BINDING, "oracle: \"%s\" is not bound", s->g->names[i].text);
    for (i = 0; i < s->g->nsizes; i++) /* what nothing tells, nothing needs */
        if (s->g->sizes[i].kind == LFUSE__SIZE_VAR && s->sizes[i] < 0) s->sizes[i] = 0;
    return LFUSE_OK;
}
lfuse_status lfuse__oracle_node_input(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__oracle_input *in = s->bound[n->name];
    const bool rows = in->rows && s->options->rows;
    int64_t row = 1, i, k, extent;
    int axis;

    if (rows && !n->rank) return lfuse__oracle_not_by_rows("an input of rank 0");
    LFUSE__TRY(lfuse__oracle_shape(s, n, rows, a));
    for (axis = 0; axis < n->rank; axis++) {
        LFUSE__TRY(lfuse__size_evaluate(s->g, n->shape[axis], s->sizes, &extent));
        if (extent != in->shape[axis])
            return lfuse__error(LFUSE_ERR_SHAPE, "oracle: %s: extent %d is %lld, not %lld", in->name, axis,
                                (long long)in->shape[axis], (long long)extent);
        if (axis) row *= extent;
    }
    for (i = 0; rows && i < a->shape[0]; i++)
        if (s->options->rows[i] < 0 || s->options->rows[i] >= in->shape[0])
            return lfuse__error(LFUSE_ERR_SHAPE, "oracle: %s: row %lld of %lld", in->name,
                                (long long)s->options->rows[i], (long long)in->shape[0]);
    if (a->count && !in->data) return lfuse__error(LFUSE_ERR_INVALID, "oracle: %s: the data is NULL", in->name);
    for (i = 0; i < a->count; i++) {
        k = rows ? s->options->rows[i / row] * row + i % row : i;
        a->x[i] = (lfuse__pair){lfuse__data_exact((lfuse_type)n->type, in->data, k), 0};
    }
    return LFUSE_OK;
}

/* What the members of a list of matrices are. */
static lfuse_status find_matrices(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__oracle_input *in = s->bound[n->name];
    lfuse__matrices *made;
    int64_t i;

    a->matrices = in->matrices;
    for (i = 0; in->matrices && i < in->count; i++)
        if (in->matrices[i].count * in->matrices[i].rows * in->matrices[i].columns != in->elements[i])
            return lfuse__error(LFUSE_ERR_SHAPE, "oracle: %s: member %lld has %lld elements", in->name, (long long)i,
                                (long long)in->elements[i]);
    if (in->matrices) return LFUSE_OK;
    made = malloc((size_t)(in->count + 1) * sizeof *made);
    if (!made) return lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for %lld members", (long long)in->count);
    for (i = 0; i < in->count; i++) made[i] = (lfuse__matrices){1, 1, in->elements[i], 1};
    a->matrices = s->matrices[n->name] = made;
    return LFUSE_OK;
}

lfuse_status lfuse__oracle_node_list(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__oracle_input *in = s->bound[n->name];
    int64_t *ends = malloc((size_t)(in->count > 0 ? in->count : 1) * sizeof *ends), i, k, at = 0;

    if (!ends) return lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for %lld members", (long long)in->count);
    s->ends[n->name] = ends;
    a->rank = n->rank;
    a->members = in->count;
    a->ends = n->rank ? ends : NULL; /* a number each */
    for (i = 0; i < in->count; i++) ends[i] = a->count += in->elements[i];
    if (n->rank == LFUSE_RANK_MATRIX) LFUSE__TRY(find_matrices(s, n, a));
    LFUSE__TRY(lfuse__oracle_allocate(a));
    for (i = 0; i < in->count; i++)
        for (k = 0; k < in->elements[i]; k++)
            a->x[at++] = (lfuse__pair){lfuse__data_exact((lfuse_type)n->type, in->members[i], k), 0};
    return LFUSE_OK;
}
