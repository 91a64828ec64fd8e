/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as text: the grammar is in plan.h. */
#include <stdlib.h>

#include "common/base/real.h"
#include "common/plan/plan.h"

typedef struct printer {
    const lfuse__plan_body *plan;
    const lfuse_graph *names;
    lfuse__strbuf *out;
    /* Of the body that is being printed: */
    const lfuse__step *step;
    int *uses;   /* of each instruction; negative: printed, with that number */
    int shared;  /* numbers given so far */
} printer;

static void print_expr(printer *p, int reg);
static void print_work(printer *p, const lfuse__step *step);

static void add(const printer *p, const char *text)
{
    lfuse__strbuf_add(p->out, text);
}

static void print_operand(const printer *p, const lfuse__operand *o)
{
    lfuse__operand_print(p->plan, o, p->names, p->out);
}

static void print_sizes(const printer *p, int count, const lfuse_size *sizes)
{
    int i;

    if (!count) add(p, "1");
    for (i = 0; i < count; i++) {
        if (i) add(p, " x ");
        lfuse__size_print(p->names, sizes[i], p->out);
    }
}

static void print_number(const printer *p, int number)
{
    lfuse__graph_print_value(p->names, p->plan->numbers[number], p->out);
}

/* ---- bodies ---- */

/* What a reduction of the step runs over, where that is not the loop's own axes. */
static const char *span_of(const lfuse__step *step)
{
    if (step->kind == LFUSE__STEP_MEMBERS) return "member_";
    if (step->kind == LFUSE__STEP_LINES) return step->lists.columns ? "column_" : "row_";
    return "";
}

static void print_instr(printer *p, const lfuse__instr *in)
{
    const int16_t args[] = { in->a, in->b, in->c };
    const char *prefix = in->kind == LFUSE__I_TOTAL ? "list_" : in->kind == LFUSE__I_REDUCE ? span_of(p->step) : "";
    const bool reduces = in->kind == LFUSE__I_REDUCE || in->kind == LFUSE__I_TOTAL;
    int i;

    lfuse__strbuf_format(p->out, "(%s%s", prefix, in->kind == LFUSE__I_CONVERT ? lfuse_type_name((lfuse_type)in->type)
                                                  : reduces                    ? lfuse__folds[in->op].word
                                                                               : lfuse__ops[in->op].name);
    for (i = 0; i < 3 && args[i] >= 0; i++) {
        add(p, " ");
        print_expr(p, args[i]);
    }
    add(p, ")");
}

static void print_load(printer *p, const lfuse__instr *in)
{
    if (in->b >= 0) add(p, "(gather ");
    print_operand(p, &p->step->operands[in->a]);
    if (in->b < 0) return;
    add(p, " ");
    print_expr(p, in->b);
    add(p, ")");
}

static void print_expr(printer *p, int reg)
{
    const lfuse__instr *in = &p->step->body.instr[reg];

    switch ((lfuse__instr_kind)in->kind) {
    case LFUSE__I_LOAD: print_load(p, in); return;
    case LFUSE__I_NUMBER: print_number(p, p->step->numbers[in->a]); return;
    case LFUSE__I_CONST: lfuse__real_add(p->out, in->number); return;
    case LFUSE__I_APPLY:
    case LFUSE__I_CONVERT:
    case LFUSE__I_REDUCE:
    case LFUSE__I_TOTAL: break;
    }
    if (p->uses[reg] < 0) {
        lfuse__strbuf_format(p->out, "%%%d", -p->uses[reg]);
        return;
    }
    if (p->uses[reg] > 1) {
        p->uses[reg] = -++p->shared;
        lfuse__strbuf_format(p->out, "%%%d=", p->shared);
    }
    print_instr(p, in);
}

static void count_uses(const lfuse__body *b, int *uses)
{
    int16_t in[3];
    int i, k;

    for (i = 0; i < b->ninstr; i++)
        for (k = lfuse__body_arguments(&b->instr[i], in) - 1; k >= 0; k--) uses[in[k]]++;
    for (i = 0; i < b->nstores; i++) uses[b->stores[i].reg]++;
}

/* What operand i of a product is computed from, where it is not in memory. */
static void print_prologue(printer *p, int i)
{
    const int reg = p->step->product.prologue[i];

    if (!reg) return;
    p->uses[reg - 1]++;
    add(p, i ? " (right " : " (left ");
    print_expr(p, reg - 1);
    add(p, ")");
}

/*
 * Stores of one value are one bracket: (y z expr) would be ambiguous, so the later ones refer to the first. `bare`: the
 * values alone.
 */
static void print_stores(printer *p, const lfuse__step *step, bool bare)
{
    int i;

    p->uses = calloc((size_t)step->body.ninstr + 1, sizeof *p->uses);
    if (!p->uses) {
        p->out->failed = true;
        return;
    }
    p->step = step;
    p->shared = 0;
    count_uses(&step->body, p->uses);
    for (i = 0; i < 2 && step->kind == LFUSE__STEP_GEMM; i++) print_prologue(p, i);
    for (i = 0; i < step->body.nstores; i++) {
        add(p, bare ? " " : " (");
        if (!bare) print_operand(p, &step->operands[step->body.stores[i].operand]);
        if (!bare) add(p, " ");
        print_expr(p, step->body.stores[i].reg);
        if (!bare) add(p, ")");
    }
    free(p->uses);
}

/* ---- steps ---- */

/* Returns what the epilogue of a vendor's product takes as input i; NULL: it takes no such. */
static const lfuse__operand *epilogue_input(const lfuse__step *s, int i)
{
    const lfuse__product *product = &s->product;

    if (product->inputs[i]) return &s->operands[product->inputs[i]];
    return i == LFUSE__INPUT_ADDEND && product->adds ? &s->operands[2] : NULL;
}

/* What a vendor's product stores. */
static void print_epilogue(const printer *p, const lfuse__step *s)
{
    const lfuse__product *product = &s->product;
    const char *function = lfuse__epilogue_words[product->epilogue];
    int i;

    add(p, " ");
    if (function) lfuse__strbuf_format(p->out, "(%s ", function);
    for (i = 0; i < LFUSE__EPILOGUE_INPUTS; i++)
        if (epilogue_input(s, i)) lfuse__strbuf_format(p->out, "(%s ", lfuse__epilogue_inputs[i].op);
    add(p, product->alpha >= 0 ? "(mul acc " : "acc");
    if (product->alpha >= 0) {
        print_number(p, product->alpha);
        add(p, ")");
    }
    for (i = LFUSE__EPILOGUE_INPUTS - 1; i >= 0; i--) {
        const bool scaled = i == LFUSE__INPUT_ADDEND && product->beta >= 0;
        if (!epilogue_input(s, i)) continue;
        add(p, scaled ? " (mul " : " ");
        print_operand(p, epilogue_input(s, i));
        if (scaled) {
            add(p, " ");
            print_number(p, product->beta);
            add(p, ")");
        }
        add(p, ")");
    }
    if (function) add(p, ")");
}

static void print_gemm(printer *p, const lfuse__step *s)
{
    const lfuse__product *product = &s->product;

    if (s->rank > 2) {
        print_sizes(p, s->rank - 2, s->extents);
        add(p, " of ");
    }
    print_sizes(p, 3, (const lfuse_size[]){ product->m, product->n, product->k });
    if (lfuse__is_of_f32(product->precision))
        lfuse__strbuf_format(p->out, " in %s", lfuse__precisions[product->precision].word);
    if (product->wide) lfuse__strbuf_format(p->out, " of %s in f32", lfuse_type_name(product->type));
    if (product->native) print_stores(p, s, s->body.nstores == 1);
    else print_epilogue(p, s);
}

void lfuse__list_print(const lfuse__plan_body *plan, int list, const lfuse_graph *names, lfuse__strbuf *out)
{
    const lfuse__product_list *p;
    int i;

    if (list < names->nnames) {
        lfuse__strbuf_add(out, names->names[list].text);
        return;
    }
    p = &plan->lists[list - names->nnames];
    for (i = 0; i < 2; i++) {
        lfuse__strbuf_add(out, i ? " x " : "(");
        lfuse__list_print(plan, p->factors[i], names, out);
        if (p->transposed[i]) lfuse__strbuf_add(out, "^T");
    }
    lfuse__strbuf_add(out, ")");
}

static void print_grouped(printer *p, const lfuse__step *s)
{
    int i;

    for (i = 0; i < 2; i++) {
        if (i) add(p, " x ");
        print_operand(p, &s->operands[i]);
        if (s->lists.transposed[i]) add(p, "^T");
    }
    print_stores(p, s, false);
}

static void print_scatter(printer *p, const lfuse__step *s)
{
    print_sizes(p, s->scattering.rank, s->scattering.shape);
    add(p, " (");
    print_operand(p, &s->operands[2]);
    add(p, " (scatter_add ");
    print_operand(p, &s->operands[0]);
    add(p, " ");
    print_operand(p, &s->operands[1]);
    add(p, " ");
    print_sizes(p, 1, s->extents);
    add(p, "))");
}

static void print_strassen(printer *p, const lfuse__step *s)
{
    print_sizes(p, s->rank, s->extents);
    if (s->strassen.in) lfuse__strbuf_format(p->out, " of %d", s->strassen.in);
    if (s->strassen.out)
        lfuse__strbuf_format(p->out, " to %s%s%d", s->strassen.transposed ? "transposed " : "",
                             s->strassen.right ? "right " : "", s->strassen.out);
    print_stores(p, s, false);
}

static void print_region(printer *p, const lfuse__step *s)
{
    const int list = lfuse__step_list(s);

    if (list >= 0) lfuse__list_print(p->plan, list, p->names, p->out);
    else print_sizes(p, s->rank, s->extents);
    if (s->naxes) lfuse__strbuf_format(p->out, " %d", s->naxes);
    print_stores(p, s, false);
}

static void print_children(printer *p, const lfuse__step *s)
{
    int i;

    for (i = 0; i < s->nchildren; i++) {
        if (i) add(p, " ");
        print_work(p, &s->children[i]);
    }
}

static const struct {
    const char *word;
    void (*print)(printer *p, const lfuse__step *s);
} kinds[LFUSE__STEP_KINDS] = {
#define LFUSE__STEP(kind, word, print, ...) [LFUSE__STEP_##kind] = {word, print_##print},
#include "common/plan/families.def"
};

static void print_work(printer *p, const lfuse__step *step)
{
    lfuse__strbuf_format(p->out, "(%s ", kinds[step->kind].word);
    kinds[step->kind].print(p, step);
    add(p, ")");
}

static void print_step(printer *p, const lfuse__step *step)
{
    if (step->prepare) add(p, "(prepare ");
    print_work(p, step);
    if (step->prepare) add(p, ")");
}

static void print_steps(printer *p, int count, const lfuse__step *steps)
{
    int k;

    for (k = 0; k < count; k++) {
        if (k) add(p, " ");
        print_step(p, &steps[k]);
    }
}

/* ---- plans ---- */

static void print_choice(const printer *p, const lfuse__strassen_choice *c)
{
    lfuse__strbuf_format(p->out, " (levels %d ", c->levels);
    print_sizes(p, 3, (const lfuse_size[]){ c->m, c->n, c->k });
    lfuse__strbuf_format(p->out, " %s", c->why);
    if (c->gain > 0) lfuse__strbuf_format(p->out, " %.3f", c->gain);
    add(p, ")");
}

static void print_plan(printer *p)
{
    int i;

    for (i = 0; i < p->plan->nstages; i++) {
        const lfuse__stage *stage = &p->plan->stages[i];
        if (i) add(p, " ");
        if (stage->network) {
            print_step(p, stage->network);
            i += stage->covers - 1;
        } else {
            print_steps(p, stage->alternatives[0].nsteps, stage->alternatives[0].steps);
        }
    }
    for (i = 0; i < p->plan->nchoices; i++) print_choice(p, &p->plan->choices[i]);
}

/* `step` NULL: all of the plan. */
static void print(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse_graph *names, lfuse__strbuf *out)
{
    lfuse_graph *dressed = lfuse__plan_dress(plan, names);
    printer p = { .plan = plan, .names = dressed, .out = out };

    if (!dressed) out->failed = true;
    else if (step) print_step(&p, step);
    else print_plan(&p);
    lfuse__plan_undress(dressed);
}

void lfuse__step_print(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse_graph *names,
                       lfuse__strbuf *out)
{
    print(plan, step, names, out);
}

void lfuse__plan_print(const lfuse__plan_body *plan, const lfuse_graph *names, lfuse__strbuf *out)
{
    print(plan, NULL, names, out);
}
