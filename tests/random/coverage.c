/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/random/coverage.h"

#include <stdio.h>
#include <string.h>

#include "common/matmul/provider.h"
#include "common/base/error.h"
#include "common/device/device.h"
#include "common/plan/plan.h"
#include "common/run/instantiate/instantiate.h"

static const char *const passes[] = {"pointwise", "epilogue", "views", "rows", "products", "gathers", "bundles"};
static const char *const forms[] = {
    [LFUSE__ROWS_ITEM] = "rows by items",       [LFUSE__ROWS_TEAM] = "rows by teams",
    [LFUSE__ROWS_GROUP] = "rows by groups",     [LFUSE__ROWS_PARTIAL] = "rows in segments",
    [LFUSE__ROWS_FOLD] = "segments of rows",
};
enum { PASSES = sizeof passes / sizeof *passes };

void coverage_clear(coverage *c) { memset(c, 0, sizeof *c); }

/* The plan's text without some passes; false where there is no plan. */
static bool plan_text(const lfuse_graph *g, const lfuse__facts *facts, unsigned disable, lfuse__strbuf *text)
{
    const lfuse_plan_options options = {.disable = disable};
    lfuse__plan_body *plan;
    if (lfuse__plan_make(g, facts, &lfuse__products_advice, &options, &plan)) return false;
    lfuse__plan_print(plan, g, text);
    lfuse__plan_free(plan);
    return !text->failed;
}

static void count_passes(coverage *c, const lfuse__facts *facts, const lfuse_graph *g)
{
    lfuse__strbuf all = LFUSE__STRBUF_INIT;
    if (plan_text(g, facts, 0, &all))
        for (int i = 0; i < PASSES; i++) {
            lfuse__strbuf one = LFUSE__STRBUF_INIT;
            if (plan_text(g, facts, 1u << i, &one) && strcmp(all.data, one.data)) c->passes[i]++;
            lfuse__strbuf_free(&one);
        }
    lfuse__strbuf_free(&all);
}

/*
 * The forms that some sizes have on the device, of a body with one load, one reduction and one store. Random graphs are
 * too small for rows in segments, which cases have.
 */
static unsigned forms_there_are(const lfuse__facts *facts)
{
    static lfuse__instr instructions[] = {{LFUSE__I_LOAD, 0, LFUSE_F32, 0, 0, -1, -1, 0},
                                          {LFUSE__I_REDUCE, LFUSE__REDUCE_SUM, LFUSE_F32, 0, 0, -1, -1, 0}};
    static lfuse__store stores[] = {{1, 1}};
    static const lfuse__body body = {.ninstr = 2, .nstores = 1, .instr = instructions, .stores = stores};
    const lfuse__kernel_class like = {
        .body = &body, .noperands = 2, .rank = 2, .naxes = 1, .family = LFUSE__FAMILY_ROWS,
        .operands = {{.type = LFUSE_F32, .inner = LFUSE__STRIDE_UNIT},
                     {.type = LFUSE_F32, .written = true, .inner = LFUSE__STRIDE_REPEAT}}};
    unsigned found = 0;
    for (uint64_t rows = 1; rows <= 1024; rows *= 4)
        for (uint64_t length = 1; length <= 65536; length *= 2) {
            for (int columns = 0; columns < 2; columns++) {
                lfuse__kernel_class k = like;
                if (columns) k.operands[0].inner = LFUSE__STRIDE_ANY;
                lfuse__rows_choose(facts, rows, length, false, &k);
                if (k.rows.form != LFUSE__ROWS_PARTIAL) found |= 1u << k.rows.form;
            }
        }
    return found;
}

void coverage_plan(coverage *c, lfuse_device *device, const lfuse_graph *g)
{
    lfuse_graph *canonical;
    if (lfuse__graph_canonical(g, &canonical)) return;
    for (int32_t i = 0; i < canonical->nnodes; i++) {
        const lfuse__node *n = &canonical->nodes[i];
        c->kinds[n->kind]++;
        c->member_products += n->kind == LFUSE__MATMUL && n->list;
        if (n->kind == LFUSE__REDUCE) c->reductions[n->op]++;
        if (n->kind == LFUSE__POINTWISE && n->type != LFUSE_TYPE_NONE) c->ops[n->op]++;
    }
    count_passes(c, lfuse__device_facts(device), canonical);
    lfuse_graph_destroy(canonical);
    if (!c->forms) c->forms_there_are |= forms_there_are(lfuse__device_facts(device));
}

void coverage_instance(coverage *c, const lfuse_instance *instance)
{
    for (int i = 0; i < instance->noperations; i++)
        if (instance->operations[i].row == &lfuse__kernel_operation &&
            instance->operations[i].as.kernel->k.family == LFUSE__FAMILY_ROWS)
            c->forms |= 1u << instance->operations[i].as.kernel->k.rows.form;
}

static void miss(char *text, size_t size, const char *name)
{
    const size_t length = strlen(text);
    snprintf(text + length, size - length, "%s%s", length ? ", " : "", name);
}

const char *coverage_missing(const coverage *c, bool all)
{
    static char text[1024];
    text[0] = '\0';
    for (int i = 0; all && i < LFUSE__OP_COUNT; i++)
        if (!c->ops[i]) miss(text, sizeof text, lfuse__ops[i].name);
    for (int i = 0; all && i < LFUSE__REDUCE_COUNT; i++)
        if (!c->reductions[i]) miss(text, sizeof text, lfuse__node_word(LFUSE__REDUCE, i));
    /* Identities say something to the gradients alone; the canonical graph has none. */
    for (int i = LFUSE__CONSTANT; all && i <= LFUSE__INDEX; i++)
        if (!c->kinds[i] && i != LFUSE__IDENTITY && i != LFUSE__MEMBER_REDUCE && i != LFUSE__LIST_REDUCE &&
            i != LFUSE__LINE_REDUCE && i != LFUSE__MEMBER_ELEMENTS)
            miss(text, sizeof text, i == LFUSE__POINTWISE ? "pointwise" : lfuse__node_word((lfuse__node_kind)i, 0));
    if (all && !c->member_products) miss(text, sizeof text, "products of lists");
    for (int i = 0; all && i < PASSES; i++)
        if (!c->passes[i]) miss(text, sizeof text, passes[i]);
    for (int i = LFUSE__ROWS_ITEM; i <= LFUSE__ROWS_FOLD; i++)
        if (c->forms_there_are & ~c->forms & 1u << i) miss(text, sizeof text, forms[i]);
    return text[0] ? text : NULL;
}
