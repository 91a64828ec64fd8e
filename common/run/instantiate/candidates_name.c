/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of problems for wisdom. Layers of one network do the same with other tensors: names and numbers of buffers do
 * not count, only which operands are the same memory. All that decides on time does: alternatives, sizes, strides,
 * bodies.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/half.h"
#include "common/base/hash.h"
#include "common/matmul/provider.h"
#include "common/run/bind/bind.h"
#include "common/run/instantiate/candidates.h"
#include "common/run/instantiate/loop.h"

enum { MOST_MEMORIES = 64 };

typedef struct writer {
    const lfuse_instance *in;
    lfuse__strbuf text;
    int count;
    lfuse__memory seen[MOST_MEMORIES];
} writer;

static void add_size(writer *w, lfuse_size s)
{
    int64_t value = 0;

    if (lfuse__size_evaluate(w->in->body->graph, s, w->in->sizes, &value)) value = LFUSE__SIZE_NONE;
    lfuse__strbuf_format(&w->text, " %" PRId64, value);
}

/* Memories are numbered as they come. */
static void add_memory(writer *w, const lfuse__operand *o)
{
    int i;

    for (i = 0; i < w->count; i++)
        if (w->seen[i].place == o->place && w->seen[i].index == o->index) break;
    if (i == w->count && w->count < MOST_MEMORIES) w->seen[w->count++] = (lfuse__memory){ o->place, o->index };
    lfuse__strbuf_format(&w->text, " %d:%d", (int)o->place, i);
}

static void add_strides(writer *w, int name)
{
    const lfuse_graph *g = w->in->plan->graph;
    int i;

    for (i = 0; i < g->nodes[g->names[name].node].rank; i++)
        lfuse__strbuf_format(&w->text, " %" PRId64, w->in->bound[name].strides[i]);
}

static void add_operand(writer *w, const lfuse__operand *o)
{
    int i;

    lfuse__strbuf_format(&w->text, "\n%d%d", (int)o->type, o->written);
    add_memory(w, o);
    for (i = 0; i < o->rank; i++) {
        add_size(w, o->shape[i]);
        add_size(w, o->offset[i]);
    }
    for (i = 0; i < LFUSE_MAX_RANK; i++) {
        lfuse__strbuf_format(&w->text, " %d", o->axis[i]);
        if (o->axis[i] >= 0) add_size(w, o->step[i]);
    }
    if (o->place == LFUSE__PLACE_BOUND) add_strides(w, o->index);
}

static void add_body(writer *w, const lfuse__body *b)
{
    int i;

    for (i = 0; i < b->ninstr; i++) {
        const lfuse__instr *x = &b->instr[i];
        uint64_t bits;
        memcpy(&bits, &x->number, sizeof bits);
        lfuse__strbuf_format(&w->text, "\n%d %d %d %d %d %d %d %" PRIx64, x->kind, x->op, x->type, x->from, x->a, x->b,
                             x->c, bits);
    }
    for (i = 0; i < b->nstores; i++) lfuse__strbuf_format(&w->text, " %d>%d", b->stores[i].reg, b->stores[i].operand);
}

/* The bias and the function at the end by one number, by which wisdom of earlier versions knows them. */
static int epilogue_number(const lfuse__product *p)
{
    static const int numbers[] = { [LFUSE__EP_NONE] = 0, [LFUSE__EP_RELU] = 2 };
    _Static_assert(sizeof numbers / sizeof *numbers == LFUSE__EPILOGUES, "a number for each function");

    return numbers[p->epilogue] + (p->inputs[LFUSE__INPUT_BIAS] > 0);
}

/* Whether a solver of such products keeps what it makes of a frozen operand, so that others are the fastest then. */
static bool keeps(const lfuse_instance *in, const lfuse__step *s)
{
    const lfuse__product *p = &s->product;
    const lfuse__matmul_desc desc = { .types = { s->operands[0].type, s->operands[1].type }, .result = p->type,
                                      .precision = p->precision, .batched = s->rank > 2,
                                      .prologue = p->prologue[0] || p->prologue[1] };

    return (p->frozen[0] || p->frozen[1]) && lfuse__matmul_keeps(in->facts, &desc);
}

static void add_step(writer *w, const lfuse__step *s)
{
    int i;

    lfuse__strbuf_format(&w->text, "\n%d %d", (int)s->kind, s->naxes);
    for (i = 0; i < s->rank; i++) add_size(w, s->extents[i]);
    for (i = 0; i < s->noperands; i++) add_operand(w, &s->operands[i]);
    if (s->kind != LFUSE__STEP_GEMM || s->product.native) add_body(w, &s->body);
    if (s->kind != LFUSE__STEP_GEMM) return;
    add_size(w, s->product.m);
    add_size(w, s->product.n);
    add_size(w, s->product.k);
    lfuse__strbuf_format(&w->text, "\n%d %d %d %d", (int)s->product.type, epilogue_number(&s->product),
                         s->product.alpha >= 0, s->product.beta >= 0);
    if (s->product.prologue[0] || s->product.prologue[1])
        lfuse__strbuf_format(&w->text, " made %d %d", s->product.prologue[0], s->product.prologue[1]);
    if (s->product.adds) lfuse__strbuf_format(&w->text, " adds %d", s->product.inputs[LFUSE__INPUT_ADDEND]);
    for (i = LFUSE__INPUT_ADDEND + 1; i < LFUSE__EPILOGUE_INPUTS; i++)
        if (s->product.inputs[i]) lfuse__strbuf_format(&w->text, " takes %d", i);
    if (s->product.wide || s->product.precision)
        lfuse__strbuf_format(&w->text, " %d %d", s->product.wide, (int)s->product.precision);
    if (keeps(w->in, s))
        lfuse__strbuf_format(&w->text, " frozen %d %d", s->product.frozen[0], s->product.frozen[1]);
}

const lfuse__step *lfuse__first_product(const lfuse__alternative *const *order, int count)
{
    int i, k;

    for (i = 0; i < count; i++)
        for (k = 0; k < order[i]->nsteps; k++)
            if (order[i]->steps[k].kind == LFUSE__STEP_GEMM) return &order[i]->steps[k];
    return NULL;
}

static bool plain_step(const lfuse_instance *in, const lfuse__step *s)
{
    int i;

    if (s->prepare || (s->kind != LFUSE__STEP_POINTWISE && s->kind != LFUSE__STEP_ROWS && s->kind != LFUSE__STEP_GEMM))
        return false;
    for (i = 0; i < s->noperands; i++) {
        const lfuse__operand *o = &s->operands[i];
        if (o->span != LFUSE__SPAN_TENSOR || o->gathered >= 0) return false;
        if (o->place == LFUSE__PLACE_BOUND && !in->bound[o->index].tensor) return false;
    }
    return true;
}

static bool plain(const lfuse_instance *in, const lfuse__alternative *const *order, int count)
{
    int i, k;

    for (i = 0; i < count; i++)
        for (k = 0; k < order[i]->nsteps; k++)
            if (!plain_step(in, &order[i]->steps[k])) return false;
    return !in->groups;
}

lfuse_status lfuse__problem_name(const lfuse_instance *in, const char *kind, const lfuse__alternative *const *order,
                                 int count, char name[LFUSE__PROBLEM_NAME])
{
    writer w = { .in = in, .text = LFUSE__STRBUF_INIT };
    const lfuse__step *product = lfuse__first_product(order, count);
    bool choice = in->plan->measure;
    int64_t m, n, l, batch;
    lfuse__hash hash;
    lfuse_status status;
    int i, k;

    name[0] = '\0';
    if (!product || !plain(in, order, count)) return LFUSE_OK;
    if (!choice) LFUSE__TRY(lfuse__wisdom_any(in->plan->dev, &choice));
    if (!choice) return LFUSE_OK;
    LFUSE__TRY(lfuse__extent_of(in, product->product.m, &m));
    LFUSE__TRY(lfuse__extent_of(in, product->product.n, &n));
    LFUSE__TRY(lfuse__extent_of(in, product->product.k, &l));
    for (i = 0; i < product->rank - 2; i++) {
        LFUSE__TRY(lfuse__extent_of(in, product->extents[i], &batch));
        if (!batch) return LFUSE_OK;
    }
    if (!m || !n || !l) return LFUSE_OK;
    for (i = 0; i < count; i++) {
        lfuse__strbuf_format(&w.text, "\n%s", order[i]->name);
        for (k = 0; k < order[i]->nsteps; k++) add_step(&w, &order[i]->steps[k]);
    }
    if (lfuse__evict_bytes(in)) lfuse__strbuf_format(&w.text, "\nbeside tensors that the cache has no room for");
    status = lfuse__strbuf_check(&w.text);
    hash = lfuse__hash_bytes(w.text.data, w.text.length);
    lfuse__strbuf_free(&w.text);
    snprintf(name, LFUSE__PROBLEM_NAME, "%s:%" PRId64 "x%" PRId64 "x%" PRId64 ":%s:%016" PRIx64 "%016" PRIx64, kind, m,
             n, l, lfuse_type_name(product->product.type), hash.high, hash.low);
    return status;
}
