/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfuse/status.h"
#include "tests/tape/tape_internal.h"

void tape_mistake(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "tape: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    abort();
}

/* ---- memory ---- */

/* Room for one more element behind `count`. */
static void *grown(void *array, int64_t count, int64_t *capacity, size_t size)
{
    if (count < *capacity) return array;
    *capacity = *capacity ? 2 * *capacity : 256;
    array = realloc(array, (size_t)*capacity * size);
    if (!array) tape_mistake("no memory for %lld elements", (long long)*capacity);
    return array;
}

void *tape_block(tape *t, int64_t count, size_t size)
{
    t->blocks = grown(t->blocks, t->nblocks, &t->block_capacity, sizeof *t->blocks);
    void *block = calloc((size_t)(count > 0 ? count : 1), size);
    if (!block) tape_mistake("no memory for %lld elements", (long long)count);
    return t->blocks[t->nblocks++] = block;
}

void tape_shape(tape *t, const lfuse__node *n, tape_array *a)
{
    a->rank = n->rank;
    a->count = 1;
    for (int i = 0; i < n->rank; i++) {
        if (lfuse__size_evaluate(t->g, n->shape[i], t->s.sizes, &a->shape[i])) tape_mistake("%s", lfuse_last_error());
        a->count *= a->shape[i];
    }
    a->at = tape_block(t, a->count, sizeof *a->at);
}

/* ---- entries ---- */

static tape_entry *append(tape *t, tape_kind kind, long double value)
{
    t->entries = grown(t->entries, t->nentries, &t->entry_capacity, sizeof *t->entries);
    tape_entry *e = &t->entries[t->nentries++];
    *e = (tape_entry){.kind = (uint8_t)kind, .in = {-1, -1, -1}, .value = value};
    return e;
}

int32_t tape_leaf(tape *t, long double value)
{
    append(t, TAPE_LEAF, value);
    return (int32_t)(t->nentries - 1);
}

int32_t tape_copy(tape *t, int32_t of, long double value)
{
    append(t, TAPE_COPY, value)->in[0] = of;
    return (int32_t)(t->nentries - 1);
}

int32_t tape_point(tape *t, lfuse__op op, lfuse_type type, bool numbers, const int32_t *in)
{
    const bool floats = lfuse__is_floating(type);
    const lfuse_type result = lfuse__op_result(op, type);
    lfuse__pair x[3] = {{0, 0}, {0, 0}, {0, 0}};
    for (int i = 0; i < lfuse__ops[op].arity; i++) x[i].v = t->entries[in[i]].value;
    const lfuse__pair y = lfuse__oracle_point(op, floats ? LFUSE_F64 : type, false, x);
    tape_entry *e = append(t, floats && lfuse__is_floating(result) ? TAPE_POINT : TAPE_LEAF, y.v);
    e->op = (uint8_t)op;
    e->numbers = numbers;
    for (int i = 0; i < lfuse__ops[op].arity; i++) e->in[i] = in[i];
    return (int32_t)(t->nentries - 1);
}

void tape_argument(tape *t, int32_t entry)
{
    t->arguments = grown(t->arguments, t->narguments, &t->argument_capacity, sizeof *t->arguments);
    t->arguments[t->narguments++] = entry;
}

/* Of the arguments of a fold. */
static long double folded(const tape *t, tape_kind kind, int64_t first, int64_t count)
{
    long double v = kind == TAPE_PROD ? 1 : 0;
    for (int64_t i = first; i < first + count; i++) {
        const long double x = t->entries[t->arguments[i]].value;
        if (kind == TAPE_SUM) v += x;
        if (kind == TAPE_PROD) v *= x;
        if (kind == TAPE_DOT && (i - first) % 2 == 0) v += x * t->entries[t->arguments[i + 1]].value;
    }
    return v;
}

int32_t tape_fold(tape *t, tape_kind kind, int64_t first)
{
    const int64_t count = t->narguments - first;
    tape_entry *e = append(t, kind, folded(t, kind, first, count));
    e->first = first;
    e->count = count;
    return (int32_t)(t->nentries - 1);
}

/* Index among the arguments since `first` of the largest (or smallest) one, the first of equal ones; NaN wins. */
static int64_t extreme(const tape *t, int64_t first, bool largest)
{
    int64_t best = first;
    for (int64_t i = first; i < t->narguments; i++) {
        const long double x = t->entries[t->arguments[i]].value, y = t->entries[t->arguments[best]].value;
        if (isnan(y)) break;
        if (isnan(x) || (largest ? x > y : x < y)) best = i;
    }
    return best - first;
}

int32_t tape_reduce(tape *t, lfuse__reduce op, lfuse_type type, int64_t first)
{
    const bool floats = lfuse__is_floating(type);
    if (op == LFUSE__REDUCE_SUM || op == LFUSE__REDUCE_PROD) {
        const tape_kind kind = op == LFUSE__REDUCE_SUM ? TAPE_SUM : TAPE_PROD;
        if (floats) return tape_fold(t, kind, first);
        return tape_leaf(t, folded(t, kind, first, t->narguments - first));
    }
    const int64_t best = extreme(t, first, op == LFUSE__REDUCE_MAX || op == LFUSE__REDUCE_ARGMAX);
    if (op == LFUSE__REDUCE_ARGMAX || op == LFUSE__REDUCE_ARGMIN) return tape_leaf(t, best);
    const long double value = t->entries[t->arguments[first + best]].value;
    if (!floats) return tape_leaf(t, value);
    const int32_t e = tape_fold(t, TAPE_MAX, first);
    t->entries[e].value = value;
    return e;
}

/* ---- the graph ---- */

static void read_input(tape *t, const lfuse__node *n, tape_array *a)
{
    lfuse__values v = {0};
    if ((n->kind == LFUSE__LIST ? lfuse__oracle_node_list : lfuse__oracle_node_input)(&t->s, n, &v))
        tape_mistake("%s", lfuse_last_error());
    *a = (tape_array){.count = v.count, .rank = v.rank, .members = v.members};
    memcpy(a->shape, v.shape, sizeof a->shape);
    a->at = tape_block(t, a->count, sizeof *a->at);
    for (int64_t i = 0; i < a->count; i++) a->at[i] = tape_leaf(t, v.x[i].v);
    a->ends = v.ends ? tape_block(t, v.members, sizeof *a->ends) : NULL;
    for (int64_t i = 0; v.ends && i < v.members; i++) a->ends[i] = v.ends[i];
    a->matrices = v.matrices ? tape_block(t, v.members, sizeof *a->matrices) : NULL;
    for (int64_t i = 0; v.matrices && i < v.members; i++) a->matrices[i] = v.matrices[i];
    free(v.x);
}

static void read_number(tape *t, int32_t node, tape_array *a)
{
    a->count = 1;
    a->at = tape_block(t, 1, sizeof *a->at);
    a->at[0] = tape_leaf(t, lfuse__graph_number(t->g, node, t->s.scalars, t->s.sizes));
}

static tape_node *const recorders[LFUSE__NODE_KINDS] = {
    [LFUSE__INPUT] = read_input,
    [LFUSE__FROZEN] = read_input,
    [LFUSE__LIST] = read_input,
    [LFUSE__POINTWISE] = tape_pointwise,
    [LFUSE__CAST] = tape_cast,
    [LFUSE__PERMUTE] = tape_permute,
    [LFUSE__BROADCAST] = tape_broadcast,
    [LFUSE__REDUCE] = tape_reduction,
    [LFUSE__SCAN] = tape_scan,
    [LFUSE__MEMBER_REDUCE] = tape_member_reduce,
    [LFUSE__LIST_REDUCE] = tape_list_reduce,
    [LFUSE__LINE_REDUCE] = tape_line_reduce,
    [LFUSE__MEMBER_ELEMENTS] = tape_member_elements,
    [LFUSE__MATMUL] = tape_matmul,
    [LFUSE__RESHAPE] = tape_reshape,
    [LFUSE__IDENTITY] = tape_identity,
    [LFUSE__SLICE] = tape_slice,
    [LFUSE__CONCAT] = tape_concat,
    [LFUSE__GATHER] = tape_gather,
    [LFUSE__SCATTER_ADD] = tape_scatter_add,
    [LFUSE__INDEX] = tape_index,
};

static bool is_one_of(int32_t node, int count, const lfuse_value *values)
{
    for (int i = 0; i < count; i++)
        if (values[i].id == node) return true;
    return false;
}

static void begin(tape *t, const lfuse_graph *g, const lfuse__oracle_input *inputs, int ninputs)
{
    static const lfuse__oracle_options none;
    t->g = t->s.g = g;
    t->s.options = &none;
    t->s.bound = tape_block(t, g->nnames, sizeof *t->s.bound);
    t->s.ends = tape_block(t, g->nnames, sizeof *t->s.ends);
    t->s.matrices = tape_block(t, g->nnames, sizeof *t->s.matrices);
    t->s.sizes = tape_block(t, g->nsizes, sizeof *t->s.sizes);
    t->s.scalars = tape_block(t, g->nnames, sizeof *t->s.scalars);
    t->arrays = tape_block(t, g->nnodes, sizeof *t->arrays);
    if (lfuse_graph_check(g) || lfuse__oracle_bind(&t->s, inputs, ninputs)) tape_mistake("%s", lfuse_last_error());
}

tape *tape_record(const lfuse_graph *g, const lfuse__oracle_input *inputs, int ninputs, int nwrt,
                  const lfuse_value *wrt)
{
    tape *t = calloc(1, sizeof *t);
    if (!t) abort();
    begin(t, g, inputs, ninputs);
    for (int32_t i = 0; i < g->nnodes; i++) {
        const lfuse__node *n = &g->nodes[i];
        tape_array *a = &t->arrays[i];
        if (n->type == LFUSE_TYPE_NONE)
            read_number(t, i, a);
        else if (!recorders[n->kind])
            tape_mistake("a node of kind %d", n->kind);
        else
            recorders[n->kind](t, n, a);
        for (int64_t k = 0; k < a->count && is_one_of(i, nwrt, wrt); k++)
            a->at[k] = tape_copy(t, a->at[k], t->entries[a->at[k]].value);
    }
    return t;
}

void tape_free(tape *t)
{
    for (int32_t i = 0; i < t->g->nnames; i++) {
        free(t->s.ends[i]);
        free(t->s.matrices[i]);
    }
    for (int64_t i = 0; i < t->nblocks; i++) free(t->blocks[i]);
    free(t->blocks);
    free(t->arguments);
    free(t->entries);
    free(t->adjoints);
    free(t);
}

int64_t tape_count(const tape *t, lfuse_value v) { return t->arrays[v.id].count; }

long double tape_value(const tape *t, lfuse_value v, int64_t i)
{
    return t->entries[t->arrays[v.id].at[i]].value;
}

bool tape_is_finite(const tape *t, int32_t nodes)
{
    for (int32_t n = 0; n < nodes; n++)
        for (int64_t i = 0; i < t->arrays[n].count; i++)
            if (!isfinite(t->entries[t->arrays[n].at[i]].value)) return false;
    return true;
}

/* ---- backwards ---- */

/* Adds g times the partial d; where d is 0 nothing is passed on, whatever g is. */
static void give(tape *t, int32_t to, long double g, long double d)
{
    if (d != 0) t->adjoints[to] += g * d;
}

static void reverse_point(tape *t, const tape_entry *e, long double g)
{
    const int arity = lfuse__ops[e->op].arity;
    long double x[3] = {0, 0, 0}, d[3];
    for (int i = 0; i < arity; i++) x[i] = t->entries[e->in[i]].value;
    tape_partials((lfuse__op)e->op, x, e->value, e->numbers, d);
    for (int i = 0; i < arity; i++) give(t, e->in[i], g, d[i]);
}

/* The product of all others. */
static long double others(const tape *t, const tape_entry *e, int64_t without)
{
    long double p = 1;
    for (int64_t i = 0; i < e->count; i++)
        if (i != without) p *= t->entries[t->arguments[e->first + i]].value;
    return p;
}

static void reverse_fold(tape *t, const tape_entry *e, long double g)
{
    const int32_t *in = t->arguments + e->first;
    int64_t equal = 0;
    for (int64_t i = 0; i < e->count; i++) equal += t->entries[in[i]].value == e->value;
    for (int64_t i = 0; i < e->count; i++) {
        if (e->kind == TAPE_SUM) give(t, in[i], g, 1);
        if (e->kind == TAPE_PROD) give(t, in[i], g, others(t, e, i));
        if (e->kind == TAPE_DOT) give(t, in[i], g, t->entries[in[i ^ 1]].value);
        if (e->kind == TAPE_MAX && t->entries[in[i]].value == e->value) give(t, in[i], g, 1.0L / (long double)equal);
    }
}

void tape_reverse(tape *t, int outputs, const lfuse_value *y, const long double *const *seeds)
{
    free(t->adjoints);
    t->adjoints = calloc((size_t)t->nentries + 1, sizeof *t->adjoints);
    if (!t->adjoints) abort();
    for (int k = 0; k < outputs; k++)
        for (int64_t i = 0; i < tape_count(t, y[k]); i++) t->adjoints[t->arrays[y[k].id].at[i]] += seeds[k][i];
    for (int64_t i = t->nentries - 1; i >= 0; i--) {
        const tape_entry *e = &t->entries[i];
        const long double g = t->adjoints[i];
        if (g == 0 || e->kind == TAPE_LEAF) continue;
        if (e->kind == TAPE_COPY) t->adjoints[e->in[0]] += g;
        else if (e->kind == TAPE_POINT) reverse_point(t, e, g);
        else reverse_fold(t, e, g);
    }
}

long double tape_derivative(const tape *t, lfuse_value wrt, int64_t i)
{
    return t->adjoints[t->arrays[wrt.id].at[i]];
}
