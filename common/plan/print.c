/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as text: the grammar is in plan.h. */
#include <stdlib.h>
#include <string.h>

#include "common/base/real.h"
#include "common/plan/plan.h"

typedef struct printer {
    const lfuse__plan_body *plan;
    const lfuse_graph *names;
    const lfuse__step *step;
    lfuse__strbuf *out;
    int *uses;   /* of each instruction; negative: printed, with that number */
    int shared;  /* numbers given so far */
} printer;

static void print_expr(printer *p, int reg);

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
        lfuse__strbuf_add(p->out, " ");
        print_expr(p, args[i]);
    }
    lfuse__strbuf_add(p->out, ")");
}

static void print_load(printer *p, const lfuse__instr *in)
{
    if (in->b >= 0) lfuse__strbuf_add(p->out, "(gather ");
    lfuse__operand_print(p->plan, &p->step->operands[in->a], p->names, p->out);
    if (in->b < 0) return;
    lfuse__strbuf_add(p->out, " ");
    print_expr(p, in->b);
    lfuse__strbuf_add(p->out, ")");
}

static void print_expr(printer *p, int reg)
{
    const lfuse__instr *in = &p->step->body.instr[reg];

    switch ((lfuse__instr_kind)in->kind) {
    case LFUSE__I_LOAD: print_load(p, in); return;
    case LFUSE__I_NUMBER:
        lfuse__graph_print_value(p->names, p->plan->numbers[p->step->numbers[in->a]], p->out);
        return;
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
}

/* What an operand of a product is made of. */
static void print_made(printer *p, int i)
{
    const int made = p->step->product.prologue[i];

    if (!made) return;
    p->uses[made - 1]++;
    lfuse__strbuf_add(p->out, i ? " (right " : " (left ");
    print_expr(p, made - 1);
    lfuse__strbuf_add(p->out, ")");
}

/*
 * Stores of one value are one bracket: (y z expr) would be ambiguous, so the later ones refer to the first. `bare`: the
 * values alone.
 */
static void print_stores(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse_graph *names, bool bare,
                         lfuse__strbuf *out)
{
    printer p = { plan, names, step, out, calloc((size_t)step->body.ninstr + 1, sizeof(int)), 0 };
    int i;

    if (!p.uses) {
        out->failed = true;
        return;
    }
    count_uses(&step->body, p.uses);
    for (i = 0; i < step->body.nstores; i++) p.uses[step->body.stores[i].reg]++;
    for (i = 0; i < 2 && step->kind == LFUSE__STEP_GEMM; i++) print_made(&p, i);
    for (i = 0; i < step->body.nstores; i++) {
        lfuse__strbuf_add(out, bare ? " " : " (");
        if (!bare) lfuse__operand_print(plan, &step->operands[step->body.stores[i].operand], names, out);
        if (!bare) lfuse__strbuf_add(out, " ");
        print_expr(&p, step->body.stores[i].reg);
        if (!bare) lfuse__strbuf_add(out, ")");
    }
    free(p.uses);
}

static void print_loop(const lfuse__step *step, const lfuse_graph *names, lfuse__strbuf *out)
{
    int i;

    if (!step->rank) lfuse__strbuf_add(out, "1");
    for (i = 0; i < step->rank; i++) {
        if (i) lfuse__strbuf_add(out, " x ");
        lfuse__size_print(names, step->extents[i], out);
    }
}

static void print_number(const lfuse__plan_body *plan, int number, const lfuse_graph *names, lfuse__strbuf *out)
{
    lfuse__strbuf_add(out, " ");
    lfuse__graph_print_value(names, plan->numbers[number], out);
    lfuse__strbuf_add(out, ")");
}

/* What the epilogue of a vendor's product takes as input i; NULL: it takes no such. */
static const lfuse__operand *epilogue_input(const lfuse__step *s, int i)
{
    const lfuse__product *p = &s->product;

    if (p->inputs[i]) return &s->operands[p->inputs[i]];
    return i == LFUSE__INPUT_ADDEND && p->adds ? &s->operands[2] : NULL;
}

static void print_epilogue(const lfuse__plan_body *plan, const lfuse__step *s, const lfuse_graph *names,
                           lfuse__strbuf *out)
{
    const lfuse__product *p = &s->product;
    const char *function = lfuse__epilogue_words[p->epilogue];
    int i;

    lfuse__strbuf_add(out, " ");
    if (function) lfuse__strbuf_format(out, "(%s ", function);
    for (i = 0; i < LFUSE__EPILOGUE_INPUTS; i++)
        if (epilogue_input(s, i)) lfuse__strbuf_format(out, "(%s ", lfuse__epilogue_inputs[i].op);
    lfuse__strbuf_add(out, p->alpha >= 0 ? "(mul acc" : "acc");
    if (p->alpha >= 0) print_number(plan, p->alpha, names, out);
    for (i = LFUSE__EPILOGUE_INPUTS - 1; i >= 0; i--) {
        const bool scaled = i == LFUSE__INPUT_ADDEND && p->beta >= 0;
        if (!epilogue_input(s, i)) continue;
        lfuse__strbuf_add(out, scaled ? " (mul " : " ");
        lfuse__operand_print(plan, epilogue_input(s, i), names, out);
        if (scaled) print_number(plan, p->beta, names, out);
        lfuse__strbuf_add(out, ")");
    }
    if (function) lfuse__strbuf_add(out, ")");
}

static void print_gemm(const lfuse__plan_body *plan, const lfuse__step *s, const lfuse_graph *names,
                       lfuse__strbuf *out)
{
    const lfuse__product *p = &s->product;
    int i;

    for (i = 0; i < s->rank - 2; i++) {
        lfuse__size_print(names, s->extents[i], out);
        lfuse__strbuf_add(out, i < s->rank - 3 ? " x " : " of ");
    }
    lfuse__size_print(names, p->m, out);
    lfuse__strbuf_add(out, " x ");
    lfuse__size_print(names, p->n, out);
    lfuse__strbuf_add(out, " x ");
    lfuse__size_print(names, p->k, out);
    if (p->tf32) lfuse__strbuf_add(out, " in tf32");
    if (p->wide) lfuse__strbuf_format(out, " of %s in f32", lfuse_type_name(p->type));
    if (p->native) print_stores(plan, s, names, s->body.nstores == 1, out);
    else print_epilogue(plan, s, names, out);
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

static void print_grouped(const lfuse__plan_body *plan, const lfuse__step *s, const lfuse_graph *names,
                          lfuse__strbuf *out)
{
    int i;

    for (i = 0; i < 2; i++) {
        if (i) lfuse__strbuf_add(out, " x ");
        lfuse__operand_print(plan, &s->operands[i], names, out);
        if (s->lists.transposed[i]) lfuse__strbuf_add(out, "^T");
    }
    print_stores(plan, s, names, false, out);
}

static void print_scatter(const lfuse__plan_body *plan, const lfuse__step *s, const lfuse_graph *names,
                          lfuse__strbuf *out)
{
    int i;

    for (i = 0; i < s->scattering.rank; i++) {
        if (i) lfuse__strbuf_add(out, " x ");
        lfuse__size_print(names, s->scattering.shape[i], out);
    }
    if (!s->scattering.rank) lfuse__strbuf_add(out, "1");
    lfuse__strbuf_add(out, " (");
    lfuse__operand_print(plan, &s->operands[2], names, out);
    lfuse__strbuf_add(out, " (scatter_add ");
    lfuse__operand_print(plan, &s->operands[0], names, out);
    lfuse__strbuf_add(out, " ");
    lfuse__operand_print(plan, &s->operands[1], names, out);
    lfuse__strbuf_add(out, " ");
    lfuse__size_print(names, s->extents[0], out);
    lfuse__strbuf_add(out, "))");
}

static void print_strassen(const lfuse__plan_body *plan, const lfuse__step *s, const lfuse_graph *names,
                           lfuse__strbuf *out)
{
    print_loop(s, names, out);
    if (s->strassen.in) lfuse__strbuf_format(out, " of %d", s->strassen.in);
    if (s->strassen.out)
        lfuse__strbuf_format(out, " to %s%s%d", s->strassen.transposed ? "transposed " : "",
                             s->strassen.right ? "right " : "", s->strassen.out);
    print_stores(plan, s, names, false, out);
}

static void print_region(const lfuse__plan_body *plan, const lfuse__step *s, const lfuse_graph *names,
                         lfuse__strbuf *out)
{
    const int list = lfuse__step_list(s);

    if (list >= 0) lfuse__list_print(plan, list, names, out);
    else print_loop(s, names, out);
    if (s->naxes) lfuse__strbuf_format(out, " %d", s->naxes);
    print_stores(plan, s, names, false, out);
}

static void print_work(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse_graph *names,
                       lfuse__strbuf *out);

static void print_children(const lfuse__plan_body *plan, const lfuse__step *s, const lfuse_graph *names,
                           lfuse__strbuf *out)
{
    int i;

    for (i = 0; i < s->nchildren; i++) {
        if (i) lfuse__strbuf_add(out, " ");
        print_work(plan, &s->children[i], names, out);
    }
}

static const struct {
    const char *word;
    void (*print)(const lfuse__plan_body *plan, const lfuse__step *s, const lfuse_graph *names, lfuse__strbuf *out);
} kinds[LFUSE__STEP_KINDS] = {
#define LFUSE__STEP(kind, word, print, ...) [LFUSE__STEP_##kind] = {word, print_##print},
#include "common/plan/families.def"
};

static void print_work(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse_graph *names,
                       lfuse__strbuf *out)
{
    lfuse__strbuf_format(out, "(%s ", kinds[step->kind].word);
    kinds[step->kind].print(plan, step, names, out);
    lfuse__strbuf_add(out, ")");
}

static void print_step(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse_graph *names,
                       lfuse__strbuf *out)
{
    if (step->prepare) lfuse__strbuf_add(out, "(prepare ");
    print_work(plan, step, names, out);
    if (step->prepare) lfuse__strbuf_add(out, ")");
}

void lfuse__step_print(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse_graph *names,
                       lfuse__strbuf *out)
{
    lfuse_graph *dressed = lfuse__plan_dress(plan, names);

    if (dressed) print_step(plan, step, dressed, out);
    else out->failed = true;
    lfuse__plan_undress(dressed);
}

static void print_choice(const lfuse__strassen_choice *c, const lfuse_graph *names, lfuse__strbuf *out)
{
    lfuse__strbuf_format(out, " (levels %d ", c->levels);
    lfuse__size_print(names, c->m, out);
    lfuse__strbuf_add(out, " x ");
    lfuse__size_print(names, c->n, out);
    lfuse__strbuf_add(out, " x ");
    lfuse__size_print(names, c->k, out);
    lfuse__strbuf_format(out, " %s", c->why);
    if (c->gain > 0) lfuse__strbuf_format(out, " %.3f", c->gain);
    lfuse__strbuf_add(out, ")");
}

void lfuse__plan_print(const lfuse__plan_body *plan, const lfuse_graph *names, lfuse__strbuf *out)
{
    lfuse_graph *dressed = lfuse__plan_dress(plan, names);
    int i, k;

    if (!dressed) out->failed = true;
    for (i = 0; dressed && i < plan->nstages; i++) {
        const lfuse__stage *stage = &plan->stages[i];
        if (stage->network) {
            if (i) lfuse__strbuf_add(out, " ");
            print_step(plan, stage->network, dressed, out);
            i += stage->covers - 1;
            continue;
        }
        for (k = 0; k < stage->alternatives[0].nsteps; k++) {
            if (i || k) lfuse__strbuf_add(out, " ");
            print_step(plan, &stage->alternatives[0].steps[k], dressed, out);
        }
    }
    for (i = 0; dressed && i < plan->nchoices; i++) print_choice(&plan->choices[i], dressed, out);
    lfuse__plan_undress(dressed);
}
