/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs, nodes and operands: what every builder stands on. */
#include "common/graph/build.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

lfuse_graph *lfuse_graph_create(void)
{
    static atomic_uint_fast64_t tags = 1;
    lfuse_graph *g = calloc(1, sizeof *g);

    if (!g) return NULL;
    g->tag = atomic_fetch_add(&tags, 1);
    g->call = g->failed_call = -1;
    return g;
}

static void *copy(const void *data, int32_t count, size_t element)
{
    void *p = malloc((size_t)(count ? count : 1) * element);

    if (p && count) memcpy(p, data, (size_t)count * element);
    return p;
}

lfuse_graph *lfuse__graph_without_nodes(const lfuse_graph *like)
{
    lfuse_graph *g = lfuse_graph_create();

    if (!g) return NULL;
    g->sizes = copy(like->sizes, like->nsizes, sizeof *like->sizes);
    g->names = copy(like->names, like->nnames, sizeof *like->names);
    if (!g->sizes || !g->names) {
        lfuse_graph_destroy(g);
        return NULL;
    }
    g->nsizes = g->size_capacity = like->nsizes;
    g->nnames = g->name_capacity = like->nnames;
    g->tag = like->tag;
    return g;
}

lfuse_graph *lfuse__graph_copy(const lfuse_graph *g)
{
    lfuse_graph *to = lfuse__graph_without_nodes(g);

    if (!to) return NULL;
    to->nodes = copy(g->nodes, g->nnodes, sizeof *g->nodes);
    if (!to->nodes) {
        lfuse_graph_destroy(to);
        return NULL;
    }
    to->nnodes = to->node_capacity = g->nnodes;
    to->status = g->status;
    memcpy(to->message, g->message, sizeof to->message);
    return to;
}

void lfuse_graph_destroy(lfuse_graph *g)
{
    if (!g) return;
    free(g->nodes);
    free(g->sizes);
    free(g->names);
    free(g->calls);
    free(g);
}

lfuse_graph *lfuse__build_graph_of(int count, const lfuse_value *values)
{
    int i = 0;

    while (i < count - 1 && !values[i].graph) i++;
    return values[i].graph;
}

lfuse_graph *lfuse__build_operands(const char *call, int count, const lfuse_value *values, lfuse_graph **where)
{
    lfuse__build_begin(lfuse__build_graph_of(count, values), call);
    return lfuse__build_inner_operands(call, count, values, where);
}

lfuse_graph *lfuse__build_inner_operands(const char *call, int count, const lfuse_value *values, lfuse_graph **where)
{
    lfuse_graph *g = lfuse__build_graph_of(count, values);
    int i;

    if (where) *where = g;
    if (!g) return NULL;
    for (i = 0; i < count; i++) {
        const lfuse_value v = values[i];
        if (v.graph != g) {
            lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: operand %d belongs to %s", call, i + 1,
                                v.graph ? "another graph" : "no graph");
            lfuse__build_begin(v.graph, call);
            if (v.graph)
                lfuse__graph_poison(v.graph, LFUSE_ERR_INVALID, "%s: operand %d belongs to this graph, others do not",
                                    call, i + 1);
            return NULL;
        }
        if (v.id < 0 && g->status) return NULL; /* made of an earlier mistake */
        if (v.id < 0 || v.id >= g->nnodes) {
            lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: operand %d is no value of its graph (id %d of %d)", call,
                                i + 1, (int)v.id, (int)g->nnodes);
            return NULL;
        }
    }
    return g;
}

bool lfuse__build_type(lfuse_graph *g, const char *call, lfuse_type type)
{
    if (lfuse_type_size(type)) return true;
    lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: %d is no element type", call, (int)type);
    return false;
}

bool lfuse__build_shape(lfuse_graph *g, const char *call, int rank, const lfuse_size *shape, lfuse_size *extents)
{
    int i;

    if (rank < 0 || rank > LFUSE_MAX_RANK) {
        lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: rank %d is not in 0 ... %d", call, rank, LFUSE_MAX_RANK);
        return false;
    }
    if (rank > 0 && !shape) {
        lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: the shape is NULL, the rank %d", call, rank);
        return false;
    }
    for (i = 0; i < rank; i++)
        if (!lfuse__build_extent(g, call, shape[i], &extents[i])) return false;
    return true;
}

bool lfuse__build_tensor(lfuse_graph *g, const char *call, int32_t node)
{
    const lfuse__node *n = &g->nodes[node];

    if (n->list)
        lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: the members of a list are flat: they have no axes", call);
    else if (n->type == LFUSE_TYPE_NONE)
        lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: a number without a type: cast it first", call);
    else
        return true;
    return false;
}

bool lfuse__build_axis(lfuse_graph *g, const char *call, int axis, int rank, int *own)
{
    if (axis < -rank || axis >= rank) {
        lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: axis %d of rank %d", call, axis, rank);
        return false;
    }
    *own = axis < 0 ? axis + rank : axis;
    return true;
}

bool lfuse__build_axes(lfuse_graph *g, const char *call, int rank, int count, const int *axes, unsigned *set)
{
    int i, axis;

    *set = count == LFUSE_ALL_AXES ? (1u << rank) - 1 : 0;
    if (count == LFUSE_ALL_AXES) return true;
    if (count < 0 || count > rank) {
        lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: %d axes of rank %d", call, count, rank);
        return false;
    }
    if (count && !axes) {
        lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: the axes are NULL", call);
        return false;
    }
    for (i = 0; i < count; i++) {
        if (!lfuse__build_axis(g, call, axes[i], rank, &axis)) return false;
        if (*set & 1u << axis) {
            lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: axis %d is named twice", call, axis);
            return false;
        }
        *set |= 1u << axis;
    }
    return true;
}

lfuse__node lfuse__build_node(lfuse__node_kind kind, lfuse_type type)
{
    lfuse__node n;

    memset(&n, 0, sizeof n);
    n.kind = (uint8_t)kind;
    n.type = (uint8_t)type;
    n.name = -1;
    n.in[0] = n.in[1] = n.in[2] = -1;
    return n;
}

lfuse__node lfuse__build_over(lfuse__node_kind kind, lfuse_type type, int32_t a, int32_t b)
{
    lfuse__node n = lfuse__build_node(kind, type);

    n.nin = b < 0 ? 1 : 2;
    n.in[0] = a;
    n.in[1] = b;
    return n;
}

void lfuse__build_set_shape(lfuse__node *n, int rank, const lfuse_size *shape)
{
    memset(n->shape, 0, sizeof n->shape);
    if (rank > 0) memcpy(n->shape, shape, (size_t)rank * sizeof *shape);
    n->rank = (int8_t)rank;
}

void lfuse__build_set_form(lfuse__node *n, const lfuse__node *like)
{
    n->list = like->list;
    lfuse__build_set_shape(n, like->rank, like->shape);
}

bool lfuse__same_shape(const lfuse__node *a, const lfuse__node *b)
{
    return a->list == b->list && a->rank == b->rank &&
           (a->rank <= 0 || !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape));
}

/* Whether bytes and strides of the smallest tensor of this shape can be counted; an extent of 0 excuses no other. */
static bool countable(const lfuse_graph *g, const lfuse__node *n)
{
    int64_t product = (int64_t)lfuse_type_size((lfuse_type)n->type), low, high;
    int i;

    if (!product) product = 1;
    for (i = 0; i < n->rank; i++) {
        lfuse__size_bounds(g, n->shape[i], &low, &high);
        if (low > 1 && __builtin_mul_overflow(product, low, &product)) return false;
    }
    return true;
}

lfuse_value lfuse__build_append(lfuse_graph *g, const char *call, const lfuse__node *n)
{
    if (!countable(g, n))
        return lfuse__graph_poison(g, LFUSE_ERR_OVERFLOW, "%s: the elements of %s cannot be counted", call,
                                   lfuse__describe_shape(g, n->rank, n->shape).text);
    if (n->cost > LFUSE__MAX_NUMBER_COST)
        return lfuse__graph_poison(g, LFUSE_ERR_OVERFLOW, "%s: a number of more than %d operations", call,
                                   LFUSE__MAX_NUMBER_COST);
    if (g->nnodes >= LFUSE__MAX_NODES)
        return lfuse__graph_poison(g, LFUSE_ERR_OVERFLOW, "%s: more than %d values in a graph", call, LFUSE__MAX_NODES);
    if (!lfuse__build_grow((void **)&g->nodes, g->nnodes, &g->node_capacity, sizeof *g->nodes))
        return lfuse__graph_poison(g, LFUSE_ERR_MEMORY, "%s: no memory for value %d", call, (int)g->nnodes);
    g->nodes[g->nnodes] = *n;
    return (lfuse_value){g, g->nnodes++};
}

lfuse_value lfuse__build_constant(lfuse_graph *g, double number)
{
    lfuse__node n = lfuse__build_node(LFUSE__CONSTANT, LFUSE_TYPE_NONE);

    if (!g) return LFUSE__POISONED(NULL);
    n.number = number;
    n.cost = 1;
    return lfuse__build_append(g, "lfuse_constant", &n);
}

lfuse_value lfuse__build_cast(lfuse_graph *g, const char *call, int32_t node, lfuse_type type)
{
    lfuse__node n;

    if (g->nodes[node].type == type) return (lfuse_value){g, node};
    n = lfuse__build_over(LFUSE__CAST, type, node, -1);
    lfuse__build_set_form(&n, &g->nodes[node]);
    return lfuse__build_append(g, call, &n);
}

lfuse_type lfuse__wide_type(lfuse_type type)
{
    return lfuse__is_narrow(type) ? LFUSE_F32 : type;
}

lfuse_value lfuse__to_type(const char *call, lfuse_value v, lfuse_type type)
{
    return v.id < 0 ? v : lfuse__build_cast(v.graph, call, v.id, type);
}

static void add_shape(const lfuse_graph *g, int rank, const lfuse_size *shape, lfuse__strbuf *out)
{
    int i;

    lfuse__strbuf_add(out, "[");
    for (i = 0; i < rank; i++) {
        if (i) lfuse__strbuf_add(out, ", ");
        lfuse__size_print(g, shape[i], out);
    }
    lfuse__strbuf_add(out, "]");
}

/* Takes the text, of which it keeps what there is room for. */
static lfuse__description cut(lfuse__strbuf *text)
{
    lfuse__description d;

    snprintf(d.text, sizeof d.text, "%s", text->data);
    lfuse__strbuf_free(text);
    return d;
}

lfuse__description lfuse__describe_shape(const lfuse_graph *g, int rank, const lfuse_size *shape)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;

    add_shape(g, rank, shape, &text);
    return cut(&text);
}

lfuse__description lfuse__describe(const lfuse_graph *g, int32_t node)
{
    static const char *const lists[] = { " numbers", "", " matrices", " numbers of rows", " numbers of columns",
                                         " numbers of matrices" };
    const lfuse__node *n = &g->nodes[node];
    const char *type = lfuse_type_name((lfuse_type)n->type);
    lfuse__strbuf text = LFUSE__STRBUF_INIT;

    if (n->type == LFUSE_TYPE_NONE) {
        lfuse__strbuf_add(&text, "a number");
    } else if (n->list) {
        lfuse__strbuf_format(&text, "a list of %s%s", type, lists[-n->rank]);
    } else {
        lfuse__strbuf_format(&text, "%s ", type);
        add_shape(g, n->rank, n->shape, &text);
    }
    return cut(&text);
}
