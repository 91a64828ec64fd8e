/* SPDX-License-Identifier: Apache-2.0 */
/* The body and the operands of one step: values are computed where they belong to it and loaded where they do not. */
#include "common/plan/draft.h"

#include <string.h>

#include "common/base/error.h"

typedef struct known {
    int32_t node;
    lfuse__view walk;
    int16_t reg;
} known;

struct lfuse__builder {
    lfuse__draft *d;
    int32_t region; /* whose nodes are computed here; -1: none but those that are inlined */
    int rank;
    const lfuse_size *extents;
    lfuse__unit_loop loop;
    bool overflow;
    lfuse_status status; /* of an allocation that failed */
    int depth;
    int32_t sum; /* a matmul, -1 */
    int sum_reg;
    int ninstr, noperands, nstores, nnumbers, nknown, ntotals;
    lfuse__instr instr[LFUSE__BODY_INSTRUCTIONS];
    lfuse__operand operands[LFUSE__BODY_OPERANDS];
    lfuse__store stores[LFUSE__BODY_OPERANDS];
    int numbers[LFUSE__BODY_NUMBERS];
    lfuse_type number_types[LFUSE__BODY_NUMBERS];
    known known[LFUSE__BODY_INSTRUCTIONS];
};

lfuse_status lfuse__builder_begin(lfuse__draft *d, int32_t region, int rank, const lfuse_size *extents,
                                  lfuse__builder **builder)
{
    lfuse__builder *b = d->builder;
    int i;

    if (b) memset(b, 0, sizeof *b);
    else b = d->builder = lfuse__arena_array(&d->arena, 1, sizeof *b);
    if (!b) return LFUSE_ERR_MEMORY;
    b->d = d;
    b->region = region;
    b->sum = -1;
    b->rank = rank > 0 ? rank : 0;
    b->extents = extents;
    b->loop.rank = b->rank;
    for (i = 0; i < LFUSE_MAX_RANK; i++) b->loop.axis[i] = (int8_t)(i < b->rank ? i : -1);
    *builder = b;
    return LFUSE_OK;
}

void lfuse__builder_loop(lfuse__builder *b, const lfuse__unit_loop *loop)
{
    b->loop = *loop;
}

bool lfuse__builder_overflow(const lfuse__builder *b)
{
    return b->overflow;
}

bool lfuse__builder_reduces(const lfuse__builder *b)
{
    int i;

    for (i = 0; i < b->ninstr; i++)
        if (b->instr[i].kind == LFUSE__I_REDUCE) return true;
    return false;
}

/* Returns the register; 0 after an overflow. */
static int append(lfuse__builder *b, const lfuse__instr *in)
{
    if (b->ninstr == LFUSE__BODY_INSTRUCTIONS) b->overflow = true;
    if (b->overflow) return 0;
    b->instr[b->ninstr] = *in;
    return b->ninstr++;
}

/* An instruction of one argument. */
static lfuse__instr instruction(lfuse__instr_kind kind, lfuse_type type, int a)
{
    return (lfuse__instr){ .kind = (uint8_t)kind, .type = (uint8_t)type, .a = (int16_t)a, .b = -1, .c = -1 };
}

static int operand(lfuse__builder *b, const lfuse__operand *o)
{
    int i;

    for (i = 0; i < b->noperands && !o->written; i++)
        if (!memcmp(&b->operands[i], o, sizeof *o)) return i;
    if (b->noperands + b->ntotals >= LFUSE__BODY_OPERANDS || (b->noperands + 1) * (b->rank + 1) > LFUSE__BODY_WORDS)
        b->overflow = true;
    if (b->overflow) return 0;
    b->operands[b->noperands] = *o;
    return b->noperands++;
}

static lfuse_status not_affine(int32_t node)
{
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "value %d of a plan is walked in a way that no kernel can", (int)node);
}

/* Operands are compared as bytes. */
void lfuse__operand_place(const lfuse__home *home, lfuse_type type, const lfuse__view *walk, lfuse__operand *o)
{
    memset(o, 0, sizeof *o);
    o->place = home->place;
    o->index = home->index;
    o->type = type;
    o->gathered = walk->gathered;
    o->rank = walk->rank;
    memcpy(o->axis, walk->axis, sizeof o->axis);
    memcpy(o->shape, walk->shape, sizeof o->shape);
    memcpy(o->offset, walk->offset, sizeof o->offset);
    memcpy(o->step, walk->step, sizeof o->step);
}

static void describe(lfuse__builder *b, const lfuse__home *home, int32_t like, const lfuse__view *walk,
                     lfuse__operand *o)
{
    const lfuse__node *n = lfuse__draft_node(b->d, like);
    lfuse__view within;

    if (home->sliced) {
        if (!lfuse__view_compose(b->d, walk, like, &home->view, &within)) b->status = not_affine(like);
        walk = &within;
    }
    lfuse__operand_place(home, (lfuse_type)n->type, walk, o);
    o->span = lfuse__draft_span(n);
}

/* `at`: the register that is looked up, or -1. */
static int load(lfuse__builder *b, const lfuse__operand *o, int at)
{
    const int index = operand(b, o);
    lfuse__instr in = instruction(LFUSE__I_LOAD, o->type, index);
    int i;

    for (i = 0; i < b->ninstr; i++)
        if (b->instr[i].kind == LFUSE__I_LOAD && b->instr[i].a == index && b->instr[i].b == at) return i;
    in.b = (int16_t)at;
    return append(b, &in);
}

int lfuse__builder_load_type(lfuse__builder *b, const lfuse__home *home, int32_t like, lfuse_type type)
{
    lfuse__view own;
    lfuse__operand o;

    lfuse__view_identity(b->d, like, &own);
    describe(b, home, like, &own, &o);
    o.type = type;
    return load(b, &o, -1);
}

int lfuse__builder_load_home(lfuse__builder *b, const lfuse__home *home, int32_t like)
{
    return lfuse__builder_load_type(b, home, like, (lfuse_type)lfuse__draft_node(b->d, like)->type);
}

static int load_node(lfuse__builder *b, int32_t node, const lfuse__view *walk, int at)
{
    static const lfuse__place extents[] = { LFUSE__PLACE_ROWS, LFUSE__PLACE_COLUMNS, LFUSE__PLACE_RANK };
    const lfuse__node *n = lfuse__draft_node(b->d, node);
    lfuse__home home = b->d->memory[node].home;
    lfuse__operand o;

    if (b->d->memory[node].wide.set) home = b->d->memory[node].wide;
    if (n->name >= 0) home = (lfuse__home){ .set = true, .place = LFUSE__PLACE_BOUND, .index = n->name };
    /* An index needs no memory but to be looked up in; the copy that puts it there has a home already. */
    if (n->kind == LFUSE__INDEX && at < 0) home = (lfuse__home){ .place = LFUSE__PLACE_INDEX };
    if (n->kind == LFUSE__MEMBER_ELEMENTS)
        home = (lfuse__home){ .place = n->naxes ? extents[n->axes[0]] : LFUSE__PLACE_ELEMENTS,
                              .index = b->d->nodes[node].list };
    describe(b, &home, node, walk, &o);
    if (b->d->memory[node].wide.set) o.type = LFUSE_F32;
    return load(b, &o, at);
}

static int number(lfuse__builder *b, int32_t node, lfuse_type type)
{
    const lfuse__node *n = lfuse__draft_node(b->d, node);
    lfuse__instr in = instruction(LFUSE__I_CONST, type, -1);
    int i, index = 0;

    if (n->kind == LFUSE__CONSTANT) {
        in.number = n->number;
        return append(b, &in);
    }
    b->status = lfuse__draft_number(b->d, node, &index);
    if (b->status) return 0;
    for (i = 0; i < b->nnumbers && (b->numbers[i] != index || b->number_types[i] != type); i++) continue;
    if (i == LFUSE__BODY_NUMBERS) b->overflow = true;
    if (b->overflow) return 0;
    if (i == b->nnumbers) {
        b->numbers[i] = index;
        b->number_types[b->nnumbers++] = type;
    }
    in = instruction(LFUSE__I_NUMBER, type, i);
    return append(b, &in);
}

int lfuse__builder_convert(lfuse__builder *b, int reg, lfuse_type from, lfuse_type to)
{
    lfuse__instr in = instruction(LFUSE__I_CONVERT, to, reg);

    in.from = (uint8_t)from;
    return from == to ? reg : append(b, &in);
}

/* How the loop walks the base of operand i of a node that it walks so. */
static int32_t argument_walk(lfuse__builder *b, int32_t node, int i, const lfuse__view *walk, lfuse__view *composed)
{
    lfuse__view own;
    const int32_t base = lfuse__draft_operand(b->d, node, i, &own);

    if (!lfuse__view_compose(b->d, walk, node, &own, composed)) b->status = not_affine(node);
    return base;
}

/* Behind all others: what tells a list kernel which row, column and matrix an element is in. */
static void add_shape(lfuse__builder *b, int list)
{
    lfuse__operand o;

    memset(&o, 0, sizeof o);
    o.place = LFUSE__PLACE_SHAPE;
    o.span = LFUSE__SPAN_MEMBERS;
    o.index = list;
    o.type = LFUSE_I64;
    o.gathered = -1;
    memset(o.axis, -1, sizeof o.axis);
    operand(b, &o);
}

void lfuse__builder_shape(lfuse__builder *b, lfuse__step_kind kind, lfuse__span walked, int list)
{
    bool needed = kind == LFUSE__STEP_LINES || kind == LFUSE__STEP_GROUPED;
    int i;

    for (i = 0; i < b->noperands && kind == LFUSE__STEP_MULTI; i++)
        needed = needed || (b->operands[i].span > LFUSE__SPAN_MEMBERS && b->operands[i].span != walked);
    if (!needed) return;
    if (lfuse__draft_list_rank(b->d, list) == LFUSE_RANK_MATRIX) add_shape(b, list);
    else
        b->status = lfuse__error(LFUSE_ERR_UNSUPPORTED,
                                 "rows or columns of matrices that no list tells: \"%s\" has but "
                                 "their numbers", b->d->g->names[list].text);
}

/* The register of operand i of a node that is computed here. */
static int argument(lfuse__builder *b, int32_t node, int i, const lfuse__view *walk)
{
    lfuse__view composed;
    const int32_t base = argument_walk(b, node, i, walk, &composed);

    return b->status ? 0 : lfuse__builder_value(b, base, &composed);
}

/* The row of a table that an index names; the table lies in memory. */
static int look_up(lfuse__builder *b, int32_t node, const lfuse__view *walk)
{
    const int at = argument(b, node, 1, walk);
    lfuse__view composed;
    const int32_t table = argument_walk(b, node, 0, walk, &composed);

    return b->overflow || b->status ? 0 : load_node(b, table, &composed, at);
}

/*
 * Over the whole loop, whoever asks. Sums and products take in what they give, so f32 for the narrow floating types,
 * whose results are rounded behind them. The results of a list's members wait in memory for their TOTAL, so that it
 * takes an operand.
 */
static int reduce(lfuse__builder *b, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(b->d, node);
    const bool widens = lfuse__folds[n->op].type == LFUSE__FOLD_WIDE, total = n->kind == LFUSE__LIST_REDUCE;
    const lfuse_type from = lfuse__register_type((lfuse_type)lfuse__draft_node(b->d, n->in[0])->type);
    const lfuse_type type = widens ? lfuse__register_type((lfuse_type)n->type) : (lfuse_type)n->type;
    int32_t of = n->in[0];
    lfuse__instr in;
    lfuse__view walk;
    int reg;

    if (lfuse__draft_is_root(b->d, node)) lfuse__draft_reduced(b->d, node, &b->loop, &walk);
    else of = lfuse__draft_operand(b->d, node, 0, &walk);
    reg = lfuse__builder_value(b, of, &walk);
    if (b->overflow || b->status) return 0;
    if (widens) reg = lfuse__builder_convert(b, reg, from, type);
    if (total && b->noperands + ++b->ntotals > LFUSE__BODY_OPERANDS) b->overflow = true;
    in = instruction(total ? LFUSE__I_TOTAL : LFUSE__I_REDUCE, type, reg);
    in.op = n->op;
    return lfuse__builder_convert(b, append(b, &in), type, (lfuse_type)n->type);
}

static int compute(lfuse__builder *b, int32_t node, const lfuse__view *walk)
{
    const lfuse__node *n = lfuse__draft_node(b->d, node);
    lfuse__instr apply = { .kind = LFUSE__I_APPLY, .op = n->op, .type = n->type };
    int i, in[3] = { -1, -1, -1 };

    if (lfuse__draft_immediate(b->d, node)) return number(b, n->in[0], (lfuse_type)n->type);
    if (n->kind == LFUSE__INDEX) return load_node(b, node, walk, -1);
    if (lfuse__draft_is_root(b->d, node) || lfuse__draft_reduces_list(b->d, node)) return reduce(b, node);
    if (n->kind == LFUSE__POINTWISE && n->op == LFUSE__OP_full_like) return argument(b, node, 1, walk);
    if (++b->depth > LFUSE__BODY_INSTRUCTIONS) b->overflow = true;
    if (n->kind == LFUSE__GATHER) in[0] = b->overflow ? 0 : look_up(b, node, walk);
    for (i = 0; i < n->nin && n->kind != LFUSE__GATHER && !b->overflow && !b->status; i++)
        in[i] = argument(b, node, i, walk);
    b->depth--;
    if (b->overflow || b->status) return 0;
    if (n->kind == LFUSE__GATHER || b->d->nodes[node].copied_view) return in[0];
    if (n->kind == LFUSE__CAST)
        return lfuse__builder_convert(b, in[0], (lfuse_type)lfuse__draft_node(b->d, n->in[0])->type,
                                      (lfuse_type)n->type);
    apply.a = (int16_t)in[0];
    apply.b = (int16_t)in[1];
    apply.c = (int16_t)in[2];
    return append(b, &apply);
}

/* Axes of extent 1 are the same wherever they walk; what is asked for twice must compare equal. */
static void remember(lfuse__builder *b, int32_t node, const lfuse__view *walk, int reg)
{
    if (b->overflow || b->nknown == LFUSE__BODY_INSTRUCTIONS) return;
    b->known[b->nknown++] = (known){ .node = node, .walk = *walk, .reg = (int16_t)reg };
}

void lfuse__builder_given(lfuse__builder *b, int32_t node, int reg)
{
    lfuse__view own;

    lfuse__view_identity(b->d, node, &own);
    remember(b, node, &own, reg);
}

int lfuse__builder_sum(lfuse__builder *b, int32_t matmul)
{
    const lfuse__home home = { .set = true, .place = LFUSE__PLACE_SUM };

    b->sum = matmul;
    b->sum_reg = lfuse__builder_load_type(
        b, &home, matmul, lfuse__register_type((lfuse_type)lfuse__draft_node(b->d, matmul)->type));
    return b->sum_reg;
}

int lfuse__builder_value(lfuse__builder *b, int32_t node, const lfuse__view *walk)
{
    const lfuse__draft *d = b->d;
    const lfuse__view *v = &d->memory[node].view;
    const bool member = b->region >= 0 && d->nodes[node].region == b->region;
    lfuse__view own;
    bool computed_here;
    int i, reg;

    if (b->overflow || b->status) return 0;
    if (node == b->sum) return b->sum_reg;
    if (member) {
        lfuse__draft_frame(d, node, &b->loop, &own);
        walk = &own;
    } else if (!walk) {
        lfuse__view_identity(d, node, &own);
        walk = &own;
    }
    if (v->base != node) {
        lfuse__view composed;
        if (!lfuse__view_compose(d, walk, node, v, &composed)) b->status = not_affine(node);
        return b->status ? 0 : lfuse__builder_value(b, v->base, &composed);
    }
    for (i = 0; i < b->nknown; i++)
        if (b->known[i].node == node && lfuse__view_equal(&b->known[i].walk, walk)) return b->known[i].reg;
    computed_here = member || d->nodes[node].inlined || d->nodes[node].recomputed;
    reg = computed_here ? compute(b, node, walk) : load_node(b, node, walk, -1);
    remember(b, node, walk, reg);
    return reg;
}

static void store(lfuse__builder *b, int reg, lfuse__operand *o)
{
    int index;

    o->written = true;
    index = operand(b, o);
    if (b->overflow) return;
    b->stores[b->nstores++] = (lfuse__store){ .reg = (int16_t)reg, .operand = (int16_t)index };
}

static void store_as(lfuse__builder *b, int reg, const lfuse__home *home, int32_t like, const lfuse__view *walk,
                     lfuse_type type)
{
    lfuse__view own;
    lfuse__operand o;

    lfuse__view_identity(b->d, like, &own);
    describe(b, home, like, walk ? walk : &own, &o);
    o.type = type;
    store(b, reg, &o);
}

void lfuse__builder_store(lfuse__builder *b, int reg, const lfuse__home *home, int32_t like, const lfuse__view *walk)
{
    store_as(b, reg, home, like, walk, (lfuse_type)lfuse__draft_node(b->d, like)->type);
}

void lfuse__builder_store_type(lfuse__builder *b, int reg, const lfuse__home *home, int32_t like, lfuse_type type)
{
    store_as(b, reg, home, like, NULL, type);
}

void lfuse__builder_store_result(lfuse__builder *b, int reg, int32_t node, const lfuse__view *walk)
{
    const lfuse__home *home = &b->d->memory[node].home;
    int32_t name;

    lfuse__builder_store(b, reg, home, node, walk);
    for (name = b->d->nodes[node].target; name >= 0; name = b->d->names[name].next_target) {
        const lfuse__home also = { .set = true, .place = LFUSE__PLACE_BOUND, .index = name };
        if (home->place != LFUSE__PLACE_BOUND || home->index != name)
            lfuse__builder_store(b, reg, &also, node, walk);
    }
}

void lfuse__builder_store_wide(lfuse__builder *b, int reg, int32_t node, const lfuse__view *walk)
{
    store_as(b, reg, &b->d->memory[node].wide, node, walk, LFUSE_F32);
}

lfuse_status lfuse__builder_finish(lfuse__builder *b, lfuse__step_kind kind, lfuse__step *step)
{
    lfuse__step borrowed = { .kind = kind, .rank = b->rank, .noperands = b->noperands, .operands = b->operands,
                             .body = { .ninstr = b->ninstr, .instr = b->instr, .nstores = b->nstores,
                                       .stores = b->stores, .nnumbers = b->nnumbers,
                                       .number_types = b->number_types },
                             .numbers = b->numbers };

    if (b->status) return b->status;
    if (b->rank) memcpy(borrowed.extents, b->extents, (size_t)b->rank * sizeof *borrowed.extents);
    return lfuse__step_copy(&borrowed, step);
}
