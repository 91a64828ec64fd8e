/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs, mistakes, names and nodes: what every builder stands on. */
#include "common/graph/build.h"

#include <stdarg.h>
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

void lfuse_graph_destroy(lfuse_graph *g)
{
    if (!g) return;
    free(g->nodes);
    free(g->sizes);
    free(g->names);
    free(g->calls);
    free(g);
}

/* ---- mistakes ---- */

static const char *ending(int32_t n)
{
    static const char *const endings[] = {"th", "st", "nd", "rd"};

    return n % 10 < 4 && n / 10 % 10 != 1 ? endings[n % 10] : "th";
}

/*
 * "the 57th lfuse_add (output "y"): " in place of "lfuse_add: ", where that builder was called several times. The
 * builder that found the mistake stays where another one called it: "lfuse_glu: lfuse_mul: ".
 */
static lfuse_status say(const lfuse_graph *g)
{
    const char *rest = g->message, *name;
    char number[24] = "", output[LFUSE__MAX_NAME + 16] = "";
    size_t length;

    if (g->failed_call < 0) return lfuse__error(g->status, "%s", g->message);
    name = g->calls[g->failed_call].name;
    length = strlen(name);
    if (!strncmp(rest, name, length) && !strncmp(rest + length, ": ", 2)) rest += length + 2;
    if (g->calls[g->failed_call].count > 1) {
        snprintf(number, sizeof number, "the %d%s ", (int)g->failed_number, ending(g->failed_number));
        if (*g->failed_output) snprintf(output, sizeof output, " (output \"%s\")", g->failed_output);
    }
    return lfuse__error(g->status, "%s%s%s: %s", number, name, output, rest);
}

lfuse_status lfuse_graph_check(const lfuse_graph *g)
{
    if (!g) return lfuse__error(LFUSE_ERR_INVALID, "the graph is NULL");
    return g->status ? say(g) : LFUSE_OK;
}

void lfuse__build_begin(lfuse_graph *g, const char *call)
{
    int32_t i;

    if (!g) return;
    for (i = 0; i < g->ncalls && g->calls[i].name != call; i++) continue;
    for (i = i < g->ncalls ? i : 0; i < g->ncalls && strcmp(g->calls[i].name, call); i++) continue;
    g->call = -1;
    if (i == g->ncalls) {
        if (!lfuse__build_grow((void **)&g->calls, g->ncalls, &g->call_capacity, sizeof *g->calls))
            return; /* messages then do without the number */
        g->calls[g->ncalls++] = (lfuse__call){call, 0};
    }
    g->call = i;
    g->calls[i].count++;
}

lfuse_value lfuse__graph_poison(lfuse_graph *g, lfuse_status status, const char *format, ...)
{
    va_list args;

    if (g) g->mistakes++;
    if (g && !g->status) {
        g->status = status;
        g->failed_call = g->call;
        g->failed_number = g->call < 0 ? 0 : g->calls[g->call].count;
        va_start(args, format);
        vsnprintf(g->message, sizeof g->message, format, args);
        va_end(args);
    }
    return LFUSE__POISONED(g);
}

bool lfuse__build_grow(void **array, int32_t count, int32_t *capacity, size_t element)
{
    int32_t larger;
    void *moved;

    if (count < *capacity) return true;
    larger = *capacity ? *capacity * 2 : 16;
    moved = realloc(*array, (size_t)larger * element);
    if (!moved) return false;
    *array = moved;
    *capacity = larger;
    return true;
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

bool lfuse__build_extent(lfuse_graph *g, const char *call, lfuse_size s, lfuse_size *extent)
{
    uint64_t code;

    if (s >= 0) {
        *extent = s;
        return true;
    }
    code = (uint64_t)(s - LFUSE__SIZE_BASE);
    if (s == INT64_MIN || code >= UINT64_C(1) << 62) {
        lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: extent %lld is negative", call, (long long)s);
        return false;
    }
    if (code >> LFUSE__SIZE_INDEX_BITS != g->tag || lfuse__size_index(s) >= g->nsizes) {
        lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: a size variable of another graph", call);
        return false;
    }
    *extent = LFUSE__SIZE_BASE + lfuse__size_index(s);
    return true;
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

static bool name_taken(const lfuse_graph *g, const char *text)
{
    int32_t i;

    for (i = 0; i < g->nnames; i++)
        if (!strcmp(g->names[i].text, text)) return true;
    for (i = 0; i < g->nsizes; i++)
        if (g->sizes[i].kind == LFUSE__SIZE_VAR && !strcmp(g->sizes[i].name, text)) return true;
    return false;
}

bool lfuse__build_check_name(lfuse_graph *g, const char *call, const char *text)
{
    size_t length;
    const char *p;

    if (!text) {
        lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: the name is NULL", call);
        return false;
    }
    length = strnlen(text, LFUSE__MAX_NAME + 1);
    if (!length || length > LFUSE__MAX_NAME) {
        lfuse__graph_poison(g, LFUSE_ERR_NAME, "%s: a name has 1 to %d characters, not %s", call, LFUSE__MAX_NAME,
                            length ? "more" : "none");
        return false;
    }
    for (p = text; *p; p++)
        if ((unsigned char)*p < 32 || *p == 127) {
            lfuse__graph_poison(g, LFUSE_ERR_NAME, "%s: the name has a control character (code %d) at %d", call, *p,
                                (int)(p - text));
            return false;
        }
    if (name_taken(g, text)) {
        lfuse__graph_poison(g, LFUSE_ERR_NAME, "%s: the name \"%s\" is already taken", call, text);
        return false;
    }
    return true;
}

int32_t lfuse__build_name(lfuse_graph *g, const char *call, const char *text, lfuse__name_kind kind, int32_t node)
{
    lfuse__name *n;

    if (!lfuse__build_check_name(g, call, text)) return -1;
    if (g->nnames >= LFUSE__MAX_NODES) {
        lfuse__graph_poison(g, LFUSE_ERR_OVERFLOW, "%s: more than %d names", call, LFUSE__MAX_NODES);
        return -1;
    }
    if (!lfuse__build_grow((void **)&g->names, g->nnames, &g->name_capacity, sizeof *g->names)) {
        lfuse__graph_poison(g, LFUSE_ERR_MEMORY, "%s: no memory for the name \"%s\"", call, text);
        return -1;
    }
    n = &g->names[g->nnames];
    memset(n, 0, sizeof *n);
    memcpy(n->text, text, strlen(text));
    n->kind = kind;
    n->node = node;
    n->update = -1;
    return g->nnames++;
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
    char shape[LFUSE__DESCRIPTION];

    if (!countable(g, n)) {
        lfuse__build_describe_shape(g, n->rank, n->shape, shape, sizeof shape);
        return lfuse__graph_poison(g, LFUSE_ERR_OVERFLOW, "%s: the elements of %s cannot be counted", call, shape);
    }
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

lfuse_value lfuse__build_cast(lfuse_graph *g, const char *call, int32_t node, lfuse_type type)
{
    lfuse__node n;

    if (g->nodes[node].type == type) return (lfuse_value){g, node};
    n = lfuse__build_node(LFUSE__CAST, type);
    n.list = g->nodes[node].list;
    n.rank = g->nodes[node].rank;
    if (n.rank > 0) memcpy(n.shape, g->nodes[node].shape, (size_t)n.rank * sizeof *n.shape);
    n.nin = 1;
    n.in[0] = node;
    return lfuse__build_append(g, call, &n);
}

/* Fixed room, since this is for messages alone: what does not fit is cut. */
static void copy_cut(const lfuse__strbuf *b, char *text, size_t size)
{
    snprintf(text, size, "%s", b->data);
}

void lfuse__build_describe_shape(const lfuse_graph *g, int rank, const lfuse_size *shape, char *text, size_t size)
{
    lfuse__strbuf b = LFUSE__STRBUF_INIT;
    int i;

    lfuse__strbuf_add(&b, "[");
    for (i = 0; i < rank; i++) {
        if (i) lfuse__strbuf_add(&b, ", ");
        lfuse__size_print(g, shape[i], &b);
    }
    lfuse__strbuf_add(&b, "]");
    copy_cut(&b, text, size);
    lfuse__strbuf_free(&b);
}

void lfuse__build_describe(const lfuse_graph *g, int32_t node, char *text, size_t size)
{
    const lfuse__node *n = &g->nodes[node];
    const char *type = lfuse_type_name((lfuse_type)n->type);
    char shape[LFUSE__DESCRIPTION];

    if (n->type == LFUSE_TYPE_NONE) {
        snprintf(text, size, "a number");
    } else if (n->list) {
        static const char *const of[] = { " numbers", "", " matrices", " numbers of rows", " numbers of columns",
                                          " numbers of matrices" };
        snprintf(text, size, "a list of %s%s", type, of[-n->rank]);
    } else {
        lfuse__build_describe_shape(g, n->rank, n->shape, shape, sizeof shape);
        snprintf(text, size, "%s %s", type, shape);
    }
}
