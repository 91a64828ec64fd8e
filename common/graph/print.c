/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as nested brackets. */
#include <inttypes.h>
#include <string.h>

#include "common/base/real.h"
#include "common/graph/graph.h"

/* By rank, from 0 down. */
static const char *const list_ranks[] = { "numbers", "members", "matrix", "rows", "columns", "matrices" };
static const char *const name_kinds[] = {
    [LFUSE__NAME_INPUT] = "input",   [LFUSE__NAME_FROZEN] = "frozen", [LFUSE__NAME_LIST] = "list",
    [LFUSE__NAME_SCALAR] = "scalar", [LFUSE__NAME_OUTPUT] = "output",
};

const char *lfuse__node_word(lfuse__node_kind kind, int op)
{
    switch (kind) {
#define LFUSE__NODE(kind, word, ...) case LFUSE__##kind: return word;
#include "common/graph/nodes.def"
    case LFUSE__NODE_KINDS: break;
    }
    return NULL;
}

const char *lfuse__list_word(int rank)
{
    return rank > 0 || rank < LFUSE_RANK_MATRICES ? NULL : list_ranks[-rank];
}

const char *lfuse__name_word(lfuse__name_kind kind)
{
    return name_kinds[kind];
}

static const char *word(const lfuse__node *n)
{
    return lfuse__node_word((lfuse__node_kind)n->kind, n->op);
}

/* Shared values are printed where they are used, so the text is cut when it grows too long for a reader. */
enum { LONGEST_VALUE = 4096 };

static void print_shape(const lfuse_graph *g, const lfuse__node *n, lfuse__strbuf *out)
{
    int i;

    lfuse__strbuf_add(out, n->rank ? " " : " 1");
    for (i = 0; i < n->rank; i++) {
        if (i) lfuse__strbuf_add(out, "x");
        lfuse__size_print(g, n->shape[i], out);
    }
}

/* What the kind needs beside operands and axes. */
static void print_rest(const lfuse_graph *g, const lfuse__node *n, lfuse__strbuf *out)
{
    switch ((lfuse__node_kind)n->kind) {
    case LFUSE__BROADCAST:
    case LFUSE__RESHAPE:
    case LFUSE__INDEX: print_shape(g, n, out); break;
    case LFUSE__SLICE: /* start:count:step */
        lfuse__strbuf_add(out, " ");
        lfuse__size_print(g, n->start, out);
        lfuse__strbuf_add(out, ":");
        lfuse__size_print(g, n->shape[n->axes[0]], out);
        lfuse__strbuf_format(out, ":%" PRId64, n->step);
        break;
    case LFUSE__SCATTER_ADD:
    case LFUSE__EXTENT:
        lfuse__strbuf_add(out, " ");
        lfuse__size_print(g, n->shape[0], out);
        break;
    default: break;
    }
}

static void print_value(const lfuse_graph *g, int32_t node, size_t end, lfuse__strbuf *out)
{
    const lfuse__node *n = &g->nodes[node];
    int i;

    if (out->length > end) {
        lfuse__strbuf_add(out, "...");
        return;
    }
    if (n->name >= 0) {
        lfuse__strbuf_add(out, g->names[n->name].text);
        return;
    }
    if (n->kind == LFUSE__CONSTANT) {
        lfuse__real_add(out, n->number);
        return;
    }
    lfuse__strbuf_format(out, "(%s", n->kind == LFUSE__CAST ? lfuse_type_name((lfuse_type)n->type) : word(n));
    for (i = 0; i < n->nin; i++) {
        lfuse__strbuf_add(out, " ");
        print_value(g, n->in[i], end, out);
    }
    for (i = 0; i < n->naxes; i++) lfuse__strbuf_format(out, "%s%d", i ? "," : " ", n->axes[i]);
    print_rest(g, n, out);
    lfuse__strbuf_add(out, ")");
}

void lfuse__graph_print_value(const lfuse_graph *g, int32_t node, lfuse__strbuf *out)
{
    print_value(g, node, out->length + LONGEST_VALUE, out);
}

/* s3 is the fourth size, whatever the user called it. */
static void print_extent(lfuse_size s, lfuse__strbuf *out)
{
    if (lfuse__size_is_number(s))
        lfuse__strbuf_format(out, " %" PRId64, s);
    else
        lfuse__strbuf_format(out, " s%d", (int)lfuse__size_index(s));
}

/* In quotes, with a backslash before those inside. */
static void print_name(const char *name, lfuse__strbuf *out)
{
    lfuse__strbuf_add(out, " \"");
    for (; *name; name++) {
        if (*name == '"' || *name == '\\') lfuse__strbuf_add(out, "\\");
        lfuse__strbuf_bytes(out, name, 1);
    }
    lfuse__strbuf_add(out, "\"");
}

static void print_size(const lfuse__size_expr *e, bool names, lfuse__strbuf *out)
{
    if (e->kind == LFUSE__SIZE_VAR) {
        lfuse__strbuf_add(out, "(size");
        if (names) print_name(e->name, out);
        lfuse__strbuf_format(out, " %" PRId64 " %" PRId64 ")", e->low, e->high);
        return;
    }
    lfuse__strbuf_add(out, e->kind == LFUSE__SIZE_SUM       ? "(size+"
                           : e->kind == LFUSE__SIZE_PRODUCT ? "(size*"
                                                            : "(size/");
    print_extent(e->a, out);
    print_extent(e->b, out);
    lfuse__strbuf_add(out, ")");
}

/* The bits of the number: text in decimal depends on the locale and hides the sign of a NaN. */
static void print_number(double number, lfuse__strbuf *out)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    lfuse__strbuf_format(out, " 0x%016" PRIx64, bits);
}

static void print_node(const lfuse__node *n, lfuse__strbuf *out)
{
    int i;

    lfuse__strbuf_format(out, "(%s", word(n));
    if (n->type != LFUSE_TYPE_NONE) lfuse__strbuf_format(out, " %s", lfuse_type_name((lfuse_type)n->type));
    if (n->list) {
        lfuse__strbuf_format(out, " %s", lfuse__list_word(n->rank));
    } else if (n->type != LFUSE_TYPE_NONE) {
        lfuse__strbuf_add(out, " [");
        for (i = 0; i < n->rank; i++) print_extent(n->shape[i], out);
        lfuse__strbuf_add(out, " ]");
    }
    if (n->kind == LFUSE__CONSTANT) print_number(n->number, out);
    for (i = 0; i < n->nin; i++) lfuse__strbuf_format(out, " %%%d", (int)n->in[i]);
    for (i = 0; i < n->naxes; i++) lfuse__strbuf_format(out, "%s%d", i ? "," : " axes ", n->axes[i]);
    if (n->keepdims) lfuse__strbuf_add(out, " keep");
    if (n->kind == LFUSE__EXTENT) print_extent(n->shape[0], out);
    if (n->kind == LFUSE__SLICE) {
        lfuse__strbuf_add(out, " start");
        print_extent(n->start, out);
        lfuse__strbuf_format(out, " step %" PRId64, n->step);
    }
    lfuse__strbuf_add(out, ")");
}

static void print_graph(const lfuse_graph *g, bool names, const char *separator, lfuse__strbuf *out)
{
    int32_t i;

    lfuse__strbuf_add(out, "(graph");
    for (i = 0; i < g->nsizes; i++) {
        lfuse__strbuf_add(out, separator);
        print_size(&g->sizes[i], names, out);
    }
    for (i = 0; i < g->nnodes; i++) {
        lfuse__strbuf_format(out, "%s%%%d ", separator, (int)i);
        print_node(&g->nodes[i], out);
    }
    for (i = 0; i < g->nnames; i++) {
        lfuse__strbuf_format(out, "%s(%s", separator, name_kinds[g->names[i].kind]);
        if (names) print_name(g->names[i].text, out);
        lfuse__strbuf_format(out, " %%%d", (int)g->names[i].node);
        if (g->names[i].update >= 0) lfuse__strbuf_format(out, " update %%%d", (int)g->names[i].update);
        lfuse__strbuf_add(out, ")");
    }
    lfuse__strbuf_add(out, ")");
}

void lfuse__graph_print(const lfuse_graph *g, lfuse__strbuf *out)
{
    print_graph(g, false, "\n ", out);
}

void lfuse__graph_format(const lfuse_graph *g, lfuse__strbuf *out)
{
    print_graph(g, true, " ", out);
}
