/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Printed graphs, read back. Each value is made by its builder from what its line says, and must then be what the line
 * says: so a text is held to all rules of shapes and types, and what is read prints as it was written.
 */
#include <string.h>

#include "common/base/error.h"
#include "common/graph/build.h"
#include "common/graph/token.h"

static const char call[] = "graph text";

/* ---- sizes ---- */

static lfuse_status read_variable(lfuse__reader *r)
{
    char name[LFUSE__MAX_NAME + 1];
    int64_t low, high;

    LFUSE__TRY(lfuse__read_name(r, "s", (int)r->g->nsizes, name));
    LFUSE__TRY(lfuse__read_integer(r, &low));
    LFUSE__TRY(lfuse__read_integer(r, &high));
    lfuse_size_var(r->g, name, low, high);
    return lfuse__read_built(r);
}

static lfuse_status read_expression(lfuse__reader *r, lfuse__size_kind kind)
{
    const int32_t index = r->g->nsizes;
    lfuse_size a, b, made = 0;

    LFUSE__TRY(lfuse__read_size(r, &a));
    LFUSE__TRY(lfuse__read_size(r, &b));
    if (kind == LFUSE__SIZE_SUM) lfuse__size_add(r->g, call, a, b, &made);
    else lfuse__size_multiply(r->g, call, a, b, &made);
    LFUSE__TRY(lfuse__read_built(r));
    if (made != LFUSE__SIZE_BASE + index || r->g->sizes[index].kind != kind || r->g->sizes[index].a != a)
        return lfuse__read_failed(r, "the size is one that is there already, or its operands are out of order");
    return LFUSE_OK;
}

static lfuse_status read_size_line(lfuse__reader *r, const char *word)
{
    if (!strcmp(word, "size")) return read_variable(r);
    return read_expression(r, word[4] == '+' ? LFUSE__SIZE_SUM : LFUSE__SIZE_PRODUCT);
}

/* ---- values ---- */

static bool find_kind(const char *word, lfuse__node *n)
{
    static const struct range {
        int first, end;
    } ops[] = {
#define LFUSE__NODE(kind, word, first, end, ...) {first, end},
#include "common/graph/nodes.def"
    };
    int kind, op;

    for (kind = 0; kind < LFUSE__NODE_KINDS; kind++)
        for (op = ops[kind].first; op < ops[kind].end; op++)
            if (!strcmp(word, lfuse__node_word((lfuse__node_kind)kind, op))) {
                *n = lfuse__build_node((lfuse__node_kind)kind, LFUSE_TYPE_NONE);
                n->op = (uint8_t)op;
                return true;
            }
    return false;
}

static bool take_type(lfuse__reader *r, lfuse__node *n)
{
    int type;

    for (type = LFUSE_TYPE_NONE + 1; lfuse_type_size((lfuse_type)type); type++)
        if (lfuse__take_word(r, lfuse_type_name((lfuse_type)type))) {
            n->type = (uint8_t)type;
            return true;
        }
    return false;
}

static lfuse_status read_shape(lfuse__reader *r, lfuse__node *n)
{
    int rank;

    for (rank = 0; lfuse__list_word(rank); rank--) {
        if (!lfuse__take_word(r, lfuse__list_word(rank))) continue;
        n->list = true;
        n->rank = (int8_t)rank;
        return LFUSE_OK;
    }
    LFUSE__TRY(lfuse__read_char(r, '['));
    while (!lfuse__take(r, ']')) {
        if (n->rank == LFUSE_MAX_RANK) return lfuse__read_failed(r, "more than %d extents", LFUSE_MAX_RANK);
        LFUSE__TRY(lfuse__read_size(r, &n->shape[n->rank]));
        if (lfuse__size_is_number(n->shape[n->rank]) && n->shape[n->rank] < 0)
            return lfuse__read_failed(r, "the extent %lld is negative", (long long)n->shape[n->rank]);
        n->rank++;
    }
    return LFUSE_OK;
}

static lfuse_status read_axes(lfuse__reader *r, lfuse__node *n)
{
    int64_t axis;

    do {
        LFUSE__TRY(lfuse__read_integer(r, &axis));
        if (n->naxes == LFUSE_MAX_RANK || axis < 0 || axis >= LFUSE_MAX_RANK)
            return lfuse__read_failed(r, "axis %lld, number %d", (long long)axis, n->naxes + 1);
        n->axes[n->naxes++] = (int8_t)axis;
    } while (lfuse__take(r, ','));
    return LFUSE_OK;
}

/* Everything behind the word. */
static lfuse_status read_fields(lfuse__reader *r, lfuse__node *n)
{
    if (take_type(r, n)) LFUSE__TRY(read_shape(r, n));
    if (n->kind == LFUSE__CONSTANT) LFUSE__TRY(lfuse__read_bits(r, &n->number));
    while (lfuse__peek(r) == '%') {
        if (n->nin == 3) return lfuse__read_failed(r, "more than 3 operands");
        LFUSE__TRY(lfuse__read_node(r, &n->in[n->nin]));
        n->nin++;
    }
    if (lfuse__take_word(r, "axes")) LFUSE__TRY(read_axes(r, n));
    n->keepdims = lfuse__take_word(r, "keep");
    if (n->kind == LFUSE__EXTENT) LFUSE__TRY(lfuse__read_size(r, &n->shape[0]));
    if (n->kind == LFUSE__SLICE) {
        if (!lfuse__take_word(r, "start")) return lfuse__read_failed(r, "the start of a slice is missing");
        LFUSE__TRY(lfuse__read_size(r, &n->start));
        if (!lfuse__take_word(r, "step")) return lfuse__read_failed(r, "the step of a slice is missing");
        LFUSE__TRY(lfuse__read_integer(r, &n->step));
    }
    return lfuse__read_char(r, ')');
}

static int operands_of(lfuse__node_kind kind, int op)
{
    switch (kind) {
#define LFUSE__NODE(kind, word, first, end, operands, ...) case LFUSE__##kind: return operands;
#include "common/graph/nodes.def"
    case LFUSE__NODE_KINDS: break;
    }
    return 0;
}

/* How many axes a node over tensors has; ANY of other nodes. */
enum { ANY = -1 };
static int axes_of(const lfuse__node *n, const lfuse__node *in)
{
    switch ((lfuse__node_kind)n->kind) {
#define LFUSE__NODE(kind, word, first, end, operands, axes, ...) case LFUSE__##kind: return axes;
#include "common/graph/nodes.def"
    case LFUSE__NODE_KINDS: break;
    }
    return ANY;
}

/* What the builders of nodes over lists rely on. */
static lfuse_status check_list_axes(const lfuse__reader *r, const lfuse__node *n)
{
    int i;

    if (n->kind == LFUSE__LINE_REDUCE && (n->naxes != 1 || n->axes[0] > 1))
        return lfuse__read_failed(r, "lines along no axis, 0 or 1");
    if (n->kind == LFUSE__MEMBER_ELEMENTS && (n->naxes > 1 || n->axes[0] > 2))
        return lfuse__read_failed(r, "an extent of members that is none");
    for (i = 0; i < n->naxes && n->kind == LFUSE__MATMUL; i++)
        if (!r->g->nodes[n->in[0]].list || n->axes[i] > 1 || (i && n->axes[i] == n->axes[0]))
            return lfuse__read_failed(r, "operand %d of a product transposed", n->axes[i]);
    return LFUSE_OK;
}

/* The builders of nodes over tensors rely on tensors, and on axes that are there. */
static lfuse_status check_operands(const lfuse__reader *r, const lfuse__node *n)
{
    const lfuse__node *in = n->nin ? &r->g->nodes[n->in[0]] : NULL;
    const int count = axes_of(n, in);
    int i;

    if (count == ANY) return check_list_axes(r, n);
    for (i = 0; i < n->nin; i++)
        if (!lfuse__build_tensor(r->g, call, n->in[i])) return lfuse__read_built(r);
    if (n->naxes != count) return lfuse__read_failed(r, "%d axes where %d are needed", n->naxes, count);
    for (i = 0; i < n->naxes; i++)
        if (n->axes[i] >= in->rank) return lfuse__read_failed(r, "axis %d of rank %d", n->axes[i], in->rank);
    if (n->kind == LFUSE__SCATTER_ADD && !n->rank) return lfuse__read_failed(r, "the result has no rows");
    return LFUSE_OK;
}

static lfuse_value build(lfuse_graph *g, const lfuse__node *n)
{
    int axes[LFUSE_MAX_RANK], i;
    unsigned set = 0;

    for (i = 0; i < LFUSE_MAX_RANK; i++) {
        axes[i] = n->axes[i];
        if (i < n->naxes) set |= 1u << n->axes[i];
    }
    switch ((lfuse__node_kind)n->kind) {
#define AS_READ lfuse__build_append(g, call, n)
#define LFUSE__NODE(kind, word, first, end, operands, axes, build, ...) case LFUSE__##kind: return build;
#include "common/graph/nodes.def"
    case LFUSE__NODE_KINDS: break;
    }
    return LFUSE__POISONED(g);
}

/* What has no operands is taken as it is written. */
static bool plain(const lfuse__node *n)
{
    switch ((lfuse__node_kind)n->kind) {
    case LFUSE__INPUT:
    case LFUSE__FROZEN: return n->type != LFUSE_TYPE_NONE && !n->list;
    case LFUSE__LIST: return n->list && n->type != LFUSE_TYPE_NONE;
    case LFUSE__SCALAR:
    case LFUSE__CONSTANT: return n->type == LFUSE_TYPE_NONE;
    case LFUSE__CAST: return n->type != LFUSE_TYPE_NONE;
    default: return true;
    }
}

static bool equal(const lfuse__node *a, const lfuse__node *b)
{
    return a->kind == b->kind && a->op == b->op && a->type == b->type && a->list == b->list &&
           a->keepdims == b->keepdims && a->rank == b->rank && a->naxes == b->naxes && a->nin == b->nin &&
           !memcmp(a->axes, b->axes, sizeof a->axes) && !memcmp(a->in, b->in, sizeof a->in) &&
           !memcmp(a->shape, b->shape, sizeof a->shape) && a->start == b->start && a->step == b->step &&
           !memcmp(&a->number, &b->number, sizeof a->number);
}

static lfuse_status read_value_line(lfuse__reader *r)
{
    const int32_t index = r->g->nnodes;
    char word[LFUSE__WORD];
    int64_t given;
    lfuse_value v;
    lfuse__node n;
    int operands;

    LFUSE__TRY(lfuse__read_integer(r, &given));
    if (given != index)
        return lfuse__read_failed(r, "%%%lld where %%%d comes next", (long long)given, (int)index);
    LFUSE__TRY(lfuse__read_char(r, '('));
    LFUSE__TRY(lfuse__read_word(r, word));
    if (!find_kind(word, &n)) return lfuse__read_failed(r, "\"%s\" is no function", word);
    LFUSE__TRY(read_fields(r, &n));
    operands = operands_of((lfuse__node_kind)n.kind, n.op);
    if (n.nin != operands) return lfuse__read_failed(r, "%s with %d operands, not %d", word, n.nin, operands);
    if (!plain(&n)) return lfuse__read_failed(r, "%s of a type or kind that it has not", word);
    LFUSE__TRY(check_operands(r, &n));
    if (n.kind == LFUSE__SCALAR || n.kind == LFUSE__CONSTANT) n.cost = 1;
    v = build(r->g, &n);
    LFUSE__TRY(lfuse__read_built(r));
    if (v.id != index || r->g->nnodes != index + 1 || !equal(&n, &r->g->nodes[index]))
        return lfuse__read_failed(r, "%s of these operands is not what the text says", word);
    return LFUSE_OK;
}

/* ---- names ---- */

static bool find_name(const char *word, lfuse__name_kind *kind)
{
    int k;

    for (k = LFUSE__NAME_INPUT; k <= LFUSE__NAME_OUTPUT; k++)
        if (!strcmp(word, lfuse__name_word((lfuse__name_kind)k))) {
            *kind = (lfuse__name_kind)k;
            return true;
        }
    return false;
}

static lfuse_status read_name_line(lfuse__reader *r, lfuse__name_kind kind)
{
    static const lfuse__node_kind kinds[] = {
        [LFUSE__NAME_INPUT] = LFUSE__INPUT,
        [LFUSE__NAME_FROZEN] = LFUSE__FROZEN,
        [LFUSE__NAME_LIST] = LFUSE__LIST,
        [LFUSE__NAME_SCALAR] = LFUSE__SCALAR,
    };
    char name[LFUSE__MAX_NAME + 1];
    const int32_t nodes = r->g->nnodes;
    int32_t node, update;

    LFUSE__TRY(lfuse__read_name(r, "v", (int)r->g->nnames, name));
    LFUSE__TRY(lfuse__read_node(r, &node));
    if (kind == LFUSE__NAME_OUTPUT) {
        lfuse_output(r->g, name, (lfuse_value){r->g, node});
        return lfuse__read_built(r);
    }
    if (r->g->nodes[node].kind != kinds[kind] || r->g->nodes[node].name >= 0)
        return lfuse__read_failed(r, "%%%d is no %s without a name", (int)node, lfuse__name_word(kind));
    r->g->nodes[node].name = lfuse__build_name(r->g, call, name, kind, node);
    LFUSE__TRY(lfuse__read_built(r));
    if (!lfuse__take_word(r, "update")) return LFUSE_OK;
    LFUSE__TRY(lfuse__read_node(r, &update));
    lfuse_update((lfuse_value){r->g, node}, (lfuse_value){r->g, update});
    LFUSE__TRY(lfuse__read_built(r));
    return r->g->nnodes == nodes ? LFUSE_OK : lfuse__read_failed(r, "%%%d has no type to be stored in", (int)update);
}

static lfuse_status all_named(lfuse__reader *r)
{
    int32_t i;

    for (i = 0; i < r->g->nnodes; i++) {
        const lfuse__node *n = &r->g->nodes[i];
        if (n->kind <= LFUSE__SCALAR && n->name < 0)
            return lfuse__read_failed(r, "%%%d has no line that names it", (int)i);
    }
    return LFUSE_OK;
}

/* ---- the whole ---- */

/* Sizes come first, then values, then names. */
static lfuse_status read_lines(lfuse__reader *r)
{
    lfuse__name_kind kind;
    char word[LFUSE__WORD];

    while (!lfuse__take(r, ')')) {
        if (lfuse__take(r, '%')) {
            if (r->g->nnames) return lfuse__read_failed(r, "a value behind the names");
            LFUSE__TRY(read_value_line(r));
            continue;
        }
        LFUSE__TRY(lfuse__read_char(r, '('));
        LFUSE__TRY(lfuse__read_word(r, word));
        if (!strcmp(word, "size") || !strcmp(word, "size+") || !strcmp(word, "size*")) {
            if (r->g->nnodes) return lfuse__read_failed(r, "a size behind the values");
            LFUSE__TRY(read_size_line(r, word));
        } else if (find_name(word, &kind)) {
            LFUSE__TRY(read_name_line(r, kind));
        } else {
            return lfuse__read_failed(r, "\"%s\" is no size and no name", word);
        }
        LFUSE__TRY(lfuse__read_char(r, ')'));
    }
    if (lfuse__peek(r)) return lfuse__read_failed(r, "text behind the graph");
    return all_named(r);
}

static lfuse_status read_graph(lfuse__reader *r)
{
    LFUSE__TRY(lfuse__read_char(r, '('));
    if (!lfuse__take_word(r, "graph")) return lfuse__read_failed(r, "a graph begins with (graph");
    return read_lines(r);
}

lfuse_status lfuse__graph_parse(const char *text, lfuse_graph **graph)
{
    lfuse__reader r = {text, text, NULL};
    lfuse_status status;

    if (!text) return lfuse__error(LFUSE_ERR_INVALID, "graph text: NULL");
    r.g = lfuse_graph_create();
    if (!r.g) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for a graph");
    status = read_graph(&r);
    if (status) lfuse_graph_destroy(r.g);
    else *graph = r.g;
    return status;
}
