/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/plan/rig.h"

#include "common/base/error.h"
#include "common/graph/build.h"
#include "common/matmul/provider.h"

lfuse_graph *g;
lfuse_graph *canonical;
lfuse__plan_body *plan;
lfuse__strbuf text;
lfuse__facts rig_facts;
lfuse_strassen rig_strassen;
lfuse_precision rig_precision;
bool rig_splits;

static bool splits(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    (void)facts;
    return rig_splits && desc->types[0] == LFUSE_F32 && desc->types[1] == LFUSE_F32 && !desc->batched && !desc->list;
}

void rig_setup(void)
{
    g = lfuse_graph_create();
    text = (lfuse__strbuf)LFUSE__STRBUF_INIT;
    memset(&rig_facts, 0, sizeof rig_facts);
    rig_facts.info.f64 = 1;
    rig_strassen = LFUSE_STRASSEN_DEFAULT;
    rig_precision = LFUSE_PRECISION_FULL;
    rig_splits = false;
}

void rig_h200(void)
{
    rig_facts.vendor = LFUSE__VENDOR_NVIDIA;
    rig_facts.generation = 90;
    rig_facts.info.compute_units = 132;
    rig_facts.simd = 32;
    rig_facts.product_rate = 51e12;
    rig_facts.product_rate64 = 51e12;
    rig_facts.copy_rate = 4.27e12;
}

void rig_tiles(lfuse__products products)
{
    rig_facts.vendor = LFUSE__VENDOR_NVIDIA;
    rig_facts.simd = 32;
    rig_facts.info.local_bytes = LFUSE__TILES_LOCAL;
    rig_facts.info.max_group = LFUSE__TILES_GROUP;
    rig_facts.products = products;
}

static void drop(void)
{
    lfuse__plan_free(plan);
    lfuse_graph_destroy(canonical);
    plan = NULL, canonical = NULL;
}

void rig_teardown(void)
{
    drop();
    lfuse_graph_destroy(g);
    lfuse__strbuf_free(&text);
}

void rig_canonical(void)
{
    drop();
    OK(lfuse__graph_canonical(g, &canonical));
}

void rig_make(unsigned disable)
{
    const lfuse_plan_options options = { .disable = disable, .strassen = rig_strassen, .precision = rig_precision };
    lfuse__matmul_advice advice = lfuse__products_advice;

    advice.splits = splits;
    rig_canonical();
    OK(lfuse__plan_make(canonical, &rig_facts, &advice, &options, &plan));
    lfuse__strbuf_clear(&text);
    lfuse__plan_print(plan, canonical, &text);
}

const char *rig_alternative(int stage, int i)
{
    const lfuse__alternative *a = &plan->stages[stage].alternatives[i];

    ck_assert_int_lt(i, plan->stages[stage].nalternatives);
    lfuse__strbuf_clear(&text);
    lfuse__strbuf_format(&text, "%s:", a->name);
    for (int k = 0; k < a->nsteps; k++) {
        lfuse__strbuf_add(&text, " ");
        lfuse__step_print(plan, &a->steps[k], canonical, &text);
    }
    return text.data;
}

/* Who stores some memory: the step, and its child when it is a bundle. */
typedef struct storing {
    int step, child;
} storing;

static storing *of(storing *all, const lfuse__operand *o)
{
    if (o->place == LFUSE__PLACE_BOUND) return &all[o->index];
    if (o->place != LFUSE__PLACE_SCRATCH && o->place != LFUSE__PLACE_PREPARED) return NULL;
    return &all[plan->graph->nnames + o->index];
}

static void check_reads(storing *all, const lfuse__step *s, int step, int child)
{
    for (int i = 0; i < s->noperands; i++) {
        const lfuse__operand *o = &s->operands[i];
        const storing *w = of(all, o);
        if (o->written || !w) continue;
        if (o->place == LFUSE__PLACE_SCRATCH)
            ck_assert_msg(w->step >= 0 && (w->step < step || w->child == child),
                          "step %d reads t%d before it is stored", step, o->index);
        ck_assert_msg(w->step != step || w->child == child, "a step of bundle %d reads what another stores", step);
    }
}

static void note_stores(storing *all, const lfuse__step *s, int step, int child)
{
    for (int i = 0; i < s->noperands; i++)
        if (s->operands[i].written && of(all, &s->operands[i]))
            *of(all, &s->operands[i]) = (storing){ step, child };
}

static void check_step(storing *all, const lfuse__step *s, int at)
{
    lfuse__step *children;
    const int nchildren = lfuse__step_children(s, &children);

    if (s->kind != LFUSE__STEP_BUNDLE) check_reads(all, s, at, -1);
    note_stores(all, s, at, -1);
    for (int k = 0; k < nchildren; k++) note_stores(all, &children[k], at, k);
    for (int k = 0; k < nchildren; k++) check_reads(all, &children[k], at, k);
}

void rig_check_order(void)
{
    storing *all = malloc(((size_t)plan->graph->nnames + (size_t)plan->nbuffers + 1) * sizeof *all);
    int at = 0;

    ck_assert(all);
    for (int i = 0; i < plan->graph->nnames + plan->nbuffers; i++) all[i] = (storing){ -1, -1 };
    for (int i = 0; i < plan->nstages; i++)
        for (int k = 0; k < plan->stages[i].alternatives[0].nsteps; k++)
            check_step(all, &plan->stages[i].alternatives[0].steps[k], at++);
    free(all);
}

lfuse_value rig_list(const char *name)
{
    return lfuse_list_input(g, name, LFUSE_F32, LFUSE_RANK_ANY);
}

lfuse_value rig_number(double x)
{
    return lfuse_constant(g, x);
}

lfuse_value rig_concat(lfuse_value x, lfuse_value y, int axis)
{
    return lfuse_concat(2, (const lfuse_value[]){ x, y }, axis);
}

lfuse_value rig_reduce(lfuse_value a, lfuse__reduce op, int count, const int *axes, int keepdims)
{
    const lfuse__node *in = &g->nodes[a.id];
    lfuse__node n = lfuse__build_node(LFUSE__REDUCE, (lfuse_type)in->type);
    int k = 0;

    n.op = (uint8_t)op;
    n.nin = 1;
    n.in[0] = a.id;
    n.keepdims = keepdims != 0;
    for (int i = 0; i < in->rank; i++) {
        const bool goes = k < count && axes[k] == i;
        if (goes) n.axes[k++] = (int8_t)i;
        if (!goes || keepdims) n.shape[n.rank++] = goes ? 1 : in->shape[i];
    }
    n.naxes = (int8_t)count;
    return lfuse__build_append(g, "rig_reduce", &n);
}

lfuse_value rig_row(lfuse_value a, lfuse__reduce op)
{
    const int last[] = { g->nodes[a.id].rank - 1 };

    return rig_reduce(a, op, 1, last, 1);
}

lfuse_value rig_softmax(lfuse_value x)
{
    const lfuse_value e = lfuse_exp(lfuse_sub(x, rig_row(x, LFUSE__REDUCE_MAX)));

    return lfuse_div(e, rig_row(e, LFUSE__REDUCE_SUM));
}
