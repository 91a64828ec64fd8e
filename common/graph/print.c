/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as nested brackets. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <string.h>

#include "common/base/real.h"
#include "common/graph/graph.h"

static const char *const kinds[] = {
    [LFUSE__INPUT] = "input",           [LFUSE__FROZEN] = "frozen",         [LFUSE__LIST] = "list",
    [LFUSE__SCALAR] = "scalar",         [LFUSE__CONSTANT] = "constant",     [LFUSE__POINTWISE] = NULL,
    [LFUSE__CAST] = "cast",             [LFUSE__PERMUTE] = "permute",       [LFUSE__BROADCAST] = "broadcast",
    [LFUSE__REDUCE] = "sum",               [LFUSE__MEMBER_SUM] = "member_sum", [LFUSE__MATMUL] = "matmul",
};
static const char *const name_kinds[] = {
    [LFUSE__NAME_INPUT] = "input",   [LFUSE__NAME_FROZEN] = "frozen", [LFUSE__NAME_LIST] = "list",
    [LFUSE__NAME_SCALAR] = "scalar", [LFUSE__NAME_OUTPUT] = "output",
};

static const char *word(const lfuse__node *n)
{
    return n->kind == LFUSE__POINTWISE ? lfuse__ops[n->op].name : kinds[n->kind];
}

/* Shared values are printed where they are used, so the text is cut when it grows too long for a reader. */
enum { LONGEST_VALUE = 4096 };

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
    if (n->kind == LFUSE__BROADCAST)
        for (i = 0; i < n->rank; i++) {
            lfuse__strbuf_add(out, i ? "x" : " ");
            lfuse__size_print(g, n->shape[i], out);
        }
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

static void print_size(const lfuse__size_expr *e, lfuse__strbuf *out)
{
    if (e->kind == LFUSE__SIZE_VAR) {
        lfuse__strbuf_format(out, "(size %" PRId64 " %" PRId64 ")", e->low, e->high);
        return;
    }
    lfuse__strbuf_add(out, e->kind == LFUSE__SIZE_SUM ? "(size+" : "(size*");
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
        lfuse__strbuf_add(out, n->rank ? " members" : " numbers");
    } else if (n->type != LFUSE_TYPE_NONE) {
        lfuse__strbuf_add(out, " [");
        for (i = 0; i < n->rank; i++) print_extent(n->shape[i], out);
        lfuse__strbuf_add(out, " ]");
    }
    if (n->kind == LFUSE__CONSTANT) print_number(n->number, out);
    for (i = 0; i < n->nin; i++) lfuse__strbuf_format(out, " %%%d", (int)n->in[i]);
    for (i = 0; i < n->naxes; i++) lfuse__strbuf_format(out, "%s%d", i ? "," : " axes ", n->axes[i]);
    if (n->keepdims) lfuse__strbuf_add(out, " keep");
    lfuse__strbuf_add(out, ")");
}

void lfuse__graph_print(const lfuse_graph *g, lfuse__strbuf *out)
{
    int32_t i;

    lfuse__strbuf_add(out, "(graph");
    for (i = 0; i < g->nsizes; i++) {
        lfuse__strbuf_add(out, "\n ");
        print_size(&g->sizes[i], out);
    }
    for (i = 0; i < g->nnodes; i++) {
        lfuse__strbuf_format(out, "\n %%%d ", (int)i);
        print_node(&g->nodes[i], out);
    }
    for (i = 0; i < g->nnames; i++) {
        lfuse__strbuf_format(out, "\n (%s %%%d", name_kinds[g->names[i].kind], (int)g->names[i].node);
        if (g->names[i].update >= 0) lfuse__strbuf_format(out, " update %%%d", (int)g->names[i].update);
        lfuse__strbuf_add(out, ")");
    }
    lfuse__strbuf_add(out, ")");
}
