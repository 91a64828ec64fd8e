/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates a graph, node by node. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/data.h"
#include "bench/oracle_internal.h"
#include "common/base/error.h"

/* A node's elements, row-major; of a list, member after member. */
typedef struct array {
    lfuse__pair *x; /* NULL: not evaluated */
    int64_t count;
    int rank;
    int64_t shape[LFUSE_MAX_RANK];
    bool rows;             /* the leading axis is the selected one */
    int64_t members;       /* of a list */
    const int64_t *ends;   /* of a list of tensors; the input's */
} array;

typedef struct state {
    const lfuse_graph *g;
    const lfuse__oracle_options *options;
    const lfuse__oracle_input **bound; /* [nnames] */
    int64_t **ends;                    /* [nnames] of lists */
    int64_t *sizes;                    /* [nsizes] values; -1: not known */
    double *scalars;                   /* [nnames] */
    array *arrays;                     /* [nnodes] */
    int32_t *last;                     /* [nnodes] last node that reads it; nnodes: a result; -1: none */
} state;

/* ---- binding ---- */

static int32_t find_size(const lfuse_graph *g, const char *name)
{
    int32_t i;

    for (i = 0; i < g->nsizes; i++)
        if (g->sizes[i].kind == LFUSE__SIZE_VAR && !strcmp(g->sizes[i].name, name)) return i;
    return -1;
}

static lfuse_status set_size(state *s, int32_t i, int64_t value)
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

static lfuse_status bind_tensor(state *s, const lfuse__node *n, const lfuse__oracle_input *in)
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

static lfuse_status bind(state *s, const lfuse__oracle_input *in)
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

static lfuse_status bind_all(state *s, const lfuse__oracle_input *inputs, int ninputs)
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

/* ---- shapes ---- */

static lfuse_status allocate(array *a)
{
    a->x = malloc((size_t)(a->count ? a->count : 1) * sizeof *a->x);
    if (!a->x) return lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for %lld elements", (long long)a->count);
    return LFUSE_OK;
}

static lfuse_status not_by_rows(const char *what)
{
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "oracle: rows cannot be selected through %s", what);
}

/* Shape and room of a tensor; rows: its leading axis is the selected one. */
static lfuse_status shape(state *s, const lfuse__node *n, bool rows, array *a)
{
    int i;

    a->rank = n->rank;
    a->rows = rows;
    a->count = 1;
    for (i = 0; i < n->rank; i++) {
        if (rows && i == 0)
            a->shape[i] = s->options->nrows;
        else
            LFUSE__TRY(lfuse__size_evaluate(s->g, n->shape[i], s->sizes, &a->shape[i]));
        if (__builtin_mul_overflow(a->count, a->shape[i], &a->count) || a->count > INT64_MAX / 64)
            return lfuse__error(LFUSE_ERR_OVERFLOW, "oracle: too many elements");
    }
    return allocate(a);
}

/* ---- nodes ---- */

static lfuse_status input(state *s, const lfuse__node *n, array *a)
{
    const lfuse__oracle_input *in = s->bound[n->name];
    const bool rows = in->rows && s->options->rows;
    int64_t row = 1, i, k, extent;
    int axis;

    if (rows && !n->rank) return not_by_rows("an input of rank 0");
    LFUSE__TRY(shape(s, n, rows, a));
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
        a->x[i] = (lfuse__pair){lfuse__data_get((lfuse_type)n->type, in->data, k), 0};
    }
    return LFUSE_OK;
}

static lfuse_status list(state *s, const lfuse__node *n, array *a)
{
    const lfuse__oracle_input *in = s->bound[n->name];
    int64_t *ends = malloc((size_t)(in->count > 0 ? in->count : 1) * sizeof *ends), i, k, at = 0;

    if (!ends) return lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for %lld members", (long long)in->count);
    s->ends[n->name] = ends;
    a->rank = n->rank;
    a->members = in->count;
    a->ends = ends;
    for (i = 0; i < in->count; i++) ends[i] = a->count += in->elements[i];
    LFUSE__TRY(allocate(a));
    for (i = 0; i < in->count; i++)
        for (k = 0; k < in->elements[i]; k++)
            a->x[at++] = (lfuse__pair){lfuse__data_get((lfuse_type)n->type, in->members[i], k), 0};
    return LFUSE_OK;
}

static lfuse_type type_of(const state *s, int32_t node)
{
    return (lfuse_type)s->g->nodes[node].type;
}

/* What the function is done in: of a comparison, its operands' type. */
static lfuse_type working_type(const state *s, const lfuse__node *n)
{
    return lfuse__ops[n->op].klass == LFUSE__CLASS_COMPARE ? type_of(s, n->in[0]) : (lfuse_type)n->type;
}

static lfuse__pair apply(const state *s, const lfuse__node *n, const int64_t *at)
{
    lfuse__pair x[3];
    int i;

    for (i = 0; i < n->nin; i++) x[i] = lfuse__oracle_read(type_of(s, n->in[i]), s->arrays[n->in[i]].x[at[i]]);
    return lfuse__oracle_point((lfuse__op)n->op, working_type(s, n), !s->options->inexact, x);
}

static bool same_members(const array *a, const array *b)
{
    return a->members == b->members && (a->ends == b->ends || !a->ends || !b->ends || !a->members ||
                                        !memcmp(a->ends, b->ends, (size_t)a->members * sizeof *a->ends));
}

static lfuse_status point_list(state *s, const lfuse__node *n, array *a)
{
    int64_t member, i, begin = 0, at[3];
    const array *o;
    int k;

    a->rank = n->rank;
    a->members = -1;
    for (k = 0; k < n->nin; k++) {
        o = &s->arrays[n->in[k]];
        if (!s->g->nodes[n->in[k]].list) continue;
        if (a->members < 0) a->members = o->members;
        if (!a->ends) a->ends = o->ends;
        if (!same_members(a, o)) return lfuse__error(LFUSE_ERR_SHAPE, "oracle: lists differ");
    }
    a->count = !a->members ? 0 : a->ends ? a->ends[a->members - 1] : a->members;
    LFUSE__TRY(allocate(a));
    for (member = 0; member < a->members; member++) {
        const int64_t end = a->ends ? a->ends[member] : member + 1;
        for (i = begin; i < end; i++) {
            for (k = 0; k < n->nin; k++)
                at[k] = !s->g->nodes[n->in[k]].list ? 0 : s->arrays[n->in[k]].ends ? i : member;
            a->x[i] = apply(s, n, at);
        }
        begin = end;
    }
    return LFUSE_OK;
}

/* Elements to step over when an axis of the result advances: 0 where the operand repeats. */
static void steps(const array *result, const array *o, int64_t *step)
{
    int64_t stride = 1;
    int axis, own;

    for (axis = result->rank - 1; axis >= 0; axis--) {
        own = axis - (result->rank - o->rank);
        step[axis] = own < 0 || o->shape[own] == 1 ? 0 : stride;
        if (own >= 0) stride *= o->shape[own];
    }
}

/* The next index in row-major order, and where operands stand then. */
static void advance(const array *result, int operands, int64_t (*step)[LFUSE_MAX_RANK], int64_t *index, int64_t *at)
{
    int axis, k;

    for (axis = result->rank - 1; axis >= 0; axis--) {
        for (k = 0; k < operands; k++) at[k] += step[k][axis];
        if (++index[axis] < result->shape[axis]) return;
        for (k = 0; k < operands; k++) at[k] -= step[k][axis] * index[axis];
        index[axis] = 0;
    }
}

static lfuse_status point_tensor(state *s, const lfuse__node *n, array *a)
{
    int64_t step[3][LFUSE_MAX_RANK], index[LFUSE_MAX_RANK] = {0}, at[3] = {0, 0, 0}, i;
    bool rows = false;
    const array *o;
    int k;

    for (k = 0; k < n->nin; k++) rows = rows || s->arrays[n->in[k]].rows;
    LFUSE__TRY(shape(s, n, rows, a));
    for (k = 0; k < n->nin; k++) {
        o = &s->arrays[n->in[k]];
        if (rows && o->rank == n->rank && !o->rows && s->g->nodes[n->in[k]].shape[0] != 1)
            return not_by_rows("a function of an operand with other rows");
        if (o->rows && o->rank != n->rank) return not_by_rows("a broadcast of the selected axis");
        steps(a, o, step[k]);
    }
    for (i = 0; i < a->count; i++) {
        a->x[i] = apply(s, n, at);
        advance(a, n->nin, step, index, at);
    }
    return LFUSE_OK;
}

static lfuse_status pointwise(state *s, const lfuse__node *n, array *a)
{
    return n->list ? point_list(s, n, a) : point_tensor(s, n, a);
}

static lfuse_status cast(state *s, const lfuse__node *n, array *a)
{
    const array *o = &s->arrays[n->in[0]];
    const lfuse_type from = type_of(s, n->in[0]);
    int64_t i;

    if (from == LFUSE_TYPE_NONE) {
        a->count = 1;
        LFUSE__TRY(allocate(a));
        a->x[0] = lfuse__oracle_cast(from, (lfuse_type)n->type,
                                     (lfuse__pair){lfuse__graph_number(s->g, n->in[0], s->scalars), 0});
        return LFUSE_OK;
    }
    *a = *o;
    a->x = NULL;
    LFUSE__TRY(allocate(a));
    for (i = 0; i < a->count; i++)
        a->x[i] = lfuse__oracle_cast(from, (lfuse_type)n->type, lfuse__oracle_read(from, o->x[i]));
    return LFUSE_OK;
}

static lfuse_status permute(state *s, const lfuse__node *n, array *a)
{
    const array *o = &s->arrays[n->in[0]];
    int64_t of_operand[LFUSE_MAX_RANK], step[1][LFUSE_MAX_RANK], index[LFUSE_MAX_RANK] = {0}, at = 0, stride = 1, i;
    int axis;

    if (o->rows && n->axes[0] != 0) return not_by_rows("a permutation of the selected axis");
    LFUSE__TRY(shape(s, n, o->rows, a));
    for (axis = o->rank - 1; axis >= 0; axis--) {
        of_operand[axis] = stride;
        stride *= o->shape[axis];
    }
    for (axis = 0; axis < n->rank; axis++) step[0][axis] = of_operand[n->axes[axis]];
    for (i = 0; i < a->count; i++) {
        a->x[i] = o->x[at];
        advance(a, 1, step, index, &at);
    }
    return LFUSE_OK;
}

static lfuse_status broadcast(state *s, const lfuse__node *n, array *a)
{
    const array *o = &s->arrays[n->in[0]];
    int64_t step[1][LFUSE_MAX_RANK], index[LFUSE_MAX_RANK] = {0}, at = 0, i;

    if (o->rows && (o->rank != n->rank || n->shape[0] != s->g->nodes[n->in[0]].shape[0]))
        return not_by_rows("a broadcast of the selected axis");
    LFUSE__TRY(shape(s, n, o->rows, a));
    steps(a, o, step[0]);
    for (i = 0; i < a->count; i++) {
        a->x[i] = o->x[at];
        advance(a, 1, step, index, &at);
    }
    return LFUSE_OK;
}

/* The sum of neighbouring elements. */
static lfuse_status sum_run(state *s, const lfuse__node *n, const lfuse__pair *x, int64_t length, lfuse__pair *sum)
{
    const lfuse_type type = type_of(s, n->in[0]);
    lfuse__pair *read = malloc((size_t)(length ? length : 1) * sizeof *read);
    lfuse_status status;
    int64_t i;

    if (!read) return lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for %lld elements", (long long)length);
    for (i = 0; i < length; i++) read[i] = lfuse__oracle_read(type, x[i]);
    status = lfuse__oracle_sum(type, !s->options->inexact, read, length, sum);
    free(read);
    return status;
}

static lfuse_status sum(state *s, const lfuse__node *n, array *a)
{
    const array *o = &s->arrays[n->in[0]];
    int64_t length = 1, i;
    int axis;

    if (o->rows && n->axes[0] == 0) return not_by_rows("a sum over the selected axis");
    LFUSE__TRY(shape(s, n, o->rows, a));
    for (axis = o->rank - n->naxes; axis < o->rank; axis++) length *= o->shape[axis];
    for (i = 0; i < a->count; i++) LFUSE__TRY(sum_run(s, n, o->x + i * length, length, &a->x[i]));
    return LFUSE_OK;
}

static lfuse_status member_sum(state *s, const lfuse__node *n, array *a)
{
    const array *o = &s->arrays[n->in[0]];
    int64_t i, begin = 0;

    a->count = a->members = o->members;
    LFUSE__TRY(allocate(a));
    for (i = 0; i < a->members; i++) {
        LFUSE__TRY(sum_run(s, n, o->x + begin, o->ends[i] - begin, &a->x[i]));
        begin = o->ends[i];
    }
    return LFUSE_OK;
}

static lfuse__pair *read_all(const array *a, lfuse_type type)
{
    lfuse__pair *x = malloc((size_t)(a->count ? a->count : 1) * sizeof *x);
    int64_t i;

    for (i = 0; x && i < a->count; i++) x[i] = lfuse__oracle_read(type, a->x[i]);
    return x;
}

static lfuse_status matmul(state *s, const lfuse__node *n, array *a)
{
    const lfuse_type type = (lfuse_type)n->type;
    const array *left = &s->arrays[n->in[0]], *right = &s->arrays[n->in[1]];
    lfuse__pair *x, *y;
    lfuse_status status;

    if (right->rows) return not_by_rows("the right side of a product");
    LFUSE__TRY(shape(s, n, left->rows, a));
    x = read_all(left, type);
    y = read_all(right, type);
    if (x && y)
        status = lfuse__oracle_matmul(type, left->shape[0], right->shape[1], left->shape[1], x, y, a->x);
    else
        status = lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for a product");
    free(y);
    free(x);
    return status;
}

typedef lfuse_status evaluator(state *s, const lfuse__node *n, array *a);
static evaluator *const evaluators[] = {
    [LFUSE__INPUT] = input,         [LFUSE__FROZEN] = input, [LFUSE__LIST] = list,
    [LFUSE__POINTWISE] = pointwise, [LFUSE__CAST] = cast,    [LFUSE__PERMUTE] = permute,
    [LFUSE__BROADCAST] = broadcast, [LFUSE__REDUCE] = sum,      [LFUSE__MEMBER_SUM] = member_sum,
    [LFUSE__MATMUL] = matmul,
};

/* ---- results ---- */

static lfuse_status add_result(state *s, const lfuse__name *name, int32_t node, lfuse__oracle_run *run)
{
    const array *a = &s->arrays[node];
    lfuse__oracle_result *r = &run->results[run->nresults];
    int64_t i;

    r->name = name->text;
    r->type = type_of(s, node);
    r->list = s->g->nodes[node].list;
    r->rank = a->rank;
    memcpy(r->shape, a->shape, sizeof r->shape);
    r->count = a->count;
    r->members = a->members;
    r->value = malloc((size_t)(a->count ? a->count : 1) * sizeof *r->value);
    r->bound = malloc((size_t)(a->count ? a->count : 1) * sizeof *r->bound);
    r->ends = malloc((size_t)(a->members ? a->members : 1) * sizeof *r->ends);
    run->nresults++; /* what was allocated is freed with the run */
    if (!r->value || !r->bound || !r->ends)
        return lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for %lld results", (long long)a->count);
    for (i = 0; i < a->members; i++) r->ends[i] = a->ends ? a->ends[i] : i + 1;
    for (i = 0; i < a->count; i++) {
        const lfuse__pair x = lfuse__oracle_store(r->type, a->x[i]);
        r->value[i] = x.v;
        r->bound[i] = x.e;
    }
    return LFUSE_OK;
}

/* When each node's elements are no longer needed; results are needed to the end. */
static void mark(state *s)
{
    const lfuse_graph *g = s->g;
    int32_t i;
    int k;

    for (i = 0; i < g->nnodes; i++) s->last[i] = -1;
    for (i = 0; i < g->nnames; i++) {
        if (g->names[i].kind == LFUSE__NAME_OUTPUT) s->last[g->names[i].node] = g->nnodes;
        if (g->names[i].update >= 0) s->last[g->names[i].update] = g->nnodes;
    }
    for (i = g->nnodes - 1; i >= 0; i--)
        for (k = 0; s->last[i] >= 0 && k < g->nodes[i].nin; k++)
            if (s->last[g->nodes[i].in[k]] < i) s->last[g->nodes[i].in[k]] = i;
}

static lfuse_status evaluate(state *s)
{
    int32_t i;
    int k;

    mark(s);
    for (i = 0; i < s->g->nnodes; i++) {
        const lfuse__node *n = &s->g->nodes[i];
        if (s->last[i] < 0 || n->type == LFUSE_TYPE_NONE) continue;
        LFUSE__TRY(evaluators[n->kind](s, n, &s->arrays[i]));
        for (k = 0; k < n->nin; k++) {
            if (s->last[n->in[k]] != i) continue;
            free(s->arrays[n->in[k]].x);
            s->arrays[n->in[k]].x = NULL;
        }
    }
    return LFUSE_OK;
}

static lfuse_status collect(state *s, lfuse__oracle_run *run)
{
    int32_t i;

    for (i = 0; i < s->g->nnames; i++) {
        const lfuse__name *name = &s->g->names[i];
        if (name->kind == LFUSE__NAME_OUTPUT) LFUSE__TRY(add_result(s, name, name->node, run));
        if (name->update >= 0) LFUSE__TRY(add_result(s, name, name->update, run));
    }
    return LFUSE_OK;
}

static void free_state(state *s)
{
    int32_t i;

    for (i = 0; s->arrays && i < s->g->nnodes; i++) free(s->arrays[i].x);
    for (i = 0; s->ends && i < s->g->nnames; i++) free(s->ends[i]);
    free(s->last);
    free(s->arrays);
    free(s->scalars);
    free(s->sizes);
    free(s->ends);
    free(s->bound);
}

lfuse_status lfuse__oracle_run_graph(const lfuse_graph *g, const lfuse__oracle_input *inputs, int ninputs,
                                     const lfuse__oracle_options *options, lfuse__oracle_run *run)
{
    static const lfuse__oracle_options none;
    lfuse__oracle_run made = {0, NULL};
    lfuse_status status;
    state s;

    LFUSE__TRY(lfuse_graph_check(g));
    memset(&s, 0, sizeof s);
    s.g = g;
    s.options = options ? options : &none;
    s.bound = calloc((size_t)g->nnames + 1, sizeof *s.bound);
    s.ends = calloc((size_t)g->nnames + 1, sizeof *s.ends);
    s.sizes = calloc((size_t)g->nsizes + 1, sizeof *s.sizes);
    s.scalars = calloc((size_t)g->nnames + 1, sizeof *s.scalars);
    s.arrays = calloc((size_t)g->nnodes + 1, sizeof *s.arrays);
    s.last = calloc((size_t)g->nnodes + 1, sizeof *s.last);
    made.results = calloc(2 * (size_t)g->nnames + 1, sizeof *made.results);
    if (!s.bound || !s.ends || !s.sizes || !s.scalars || !s.arrays || !s.last || !made.results)
        status = lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for %d values", (int)g->nnodes);
    else if (!(status = bind_all(&s, inputs, ninputs)) && !(status = evaluate(&s)))
        status = collect(&s, &made);
    free_state(&s);
    if (status)
        lfuse__oracle_free(&made);
    else
        *run = made;
    return status;
}

void lfuse__oracle_free(lfuse__oracle_run *run)
{
    int i;

    for (i = 0; i < run->nresults; i++) {
        free(run->results[i].value);
        free(run->results[i].bound);
        free(run->results[i].ends);
    }
    free(run->results);
    run->results = NULL;
    run->nresults = 0;
}

const lfuse__oracle_result *lfuse__oracle_find(const lfuse__oracle_run *run, const char *name)
{
    int i;

    for (i = 0; i < run->nresults; i++)
        if (!strcmp(run->results[i].name, name)) return &run->results[i];
    return NULL;
}
