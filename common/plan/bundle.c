/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Horizontal fusion: independent steps become one launch. Steps of one level do not wait for each other; those that in
 * addition write nothing that another one of the level reads, updated inputs included, may run together and anywhere
 * among the others of the level. Of these go together
 *   - all of equal code, whatever their sizes;
 *   - unlike ones that are small: with the largest sizes they can have, each leaves part of the device without work
 *     (less than LFUSE__WAVE elements a compute unit), so that together they take as long as the longest and save
 *     launches. The body of none is more than twice as long as that of another, which would take registers from it.
 * What runs late (LFUSE__PHASE_LATE) is one level: nobody reads what it computes. Of products those of equal code that
 * together.c has left there share a launch. Small steps share it where the products have few enough elements
 * (LFUSE__SHARED_WAVES).
 * Constants are code, but where many steps differ in nothing else: those constants become numbers that are given with
 * the launch, so that compiling does not take longer the more steps there are.
 * A stage with several alternatives stays by itself: what of it runs is known when sizes are.
 */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum {
    SHORT = 16,    /* instructions that any body may have more than another */
    CODES = 8,     /* different ones in a bundle */
    VARIANTS = 4,  /* steps that may differ in constants alone: of more, these become numbers */
    CHILDREN = 256
};

/* Who in a level reads and writes some memory. */
enum { NOBODY = -1, SEVERAL = -2 };
typedef struct users {
    int reader, writer;
} users;

typedef struct item {
    const lfuse__plan_body *plan;
    int stage;
    bool small;
} item;

static lfuse__step *step_of(const lfuse__plan_body *p, int stage)
{
    return p->stages[stage].alternatives[0].steps;
}

/* ---- equal code ---- */

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_operand(const lfuse__operand *a, const lfuse__operand *b, int rank)
{
    int order = compare(a->type, b->type), i;

    if (!order) order = compare(a->written, b->written);
    if (!order) order = compare(a->span, b->span);
    if (!order) order = compare(a->gathered >= 0, b->gathered >= 0);
    if (!order) order = compare(a->place == LFUSE__PLACE_INDEX, b->place == LFUSE__PLACE_INDEX);
    for (i = 0; i < rank && !order; i++) order = compare(a->axis[i] >= 0, b->axis[i] >= 0);
    return order;
}

/* `values`: constants are compared too. */
static int by_instr(const lfuse__instr *a, const lfuse__instr *b, bool values)
{
    int order = compare(a->kind, b->kind);

    if (!order) order = compare(a->op, b->op);
    if (!order) order = compare(a->type, b->type);
    if (!order) order = compare(a->from, b->from);
    if (!order) order = compare(a->a, b->a);
    if (!order) order = compare(a->b, b->b);
    if (!order) order = compare(a->c, b->c);
    return order || !values ? order : memcmp(&a->number, &b->number, sizeof a->number);
}

static int by_body(const lfuse__body *a, const lfuse__body *b, bool values)
{
    int order = compare(a->ninstr, b->ninstr), i;

    if (!order) order = compare(a->nstores, b->nstores);
    if (!order) order = compare(a->nnumbers, b->nnumbers);
    if (order) return order;
    for (i = 0; i < a->ninstr && !order; i++) order = by_instr(&a->instr[i], &b->instr[i], values);
    for (i = 0; i < a->nstores && !order; i++) {
        order = compare(a->stores[i].reg, b->stores[i].reg);
        if (!order) order = compare(a->stores[i].operand, b->stores[i].operand);
    }
    for (i = 0; i < a->nnumbers && !order; i++) order = compare(a->number_types[i], b->number_types[i]);
    return order;
}

/* Products of equal sizes have equal tiles. */
static int by_product(const lfuse__step *a, const lfuse__step *b)
{
    int order = compare(a->product.k, b->product.k);

    if (!order) order = compare(a->extents[0], b->extents[0]);
    return order ? order : compare(a->extents[1], b->extents[1]);
}

static int by_code(const lfuse__step *a, const lfuse__step *b, bool values)
{
    int order = compare(a->kind, b->kind), i;

    if (!order) order = compare(a->rank, b->rank);
    if (!order) order = compare(a->naxes, b->naxes);
    if (!order) order = compare(a->noperands, b->noperands);
    if (!order) order = by_body(&a->body, &b->body, values);
    if (!order && a->kind == LFUSE__STEP_GEMM) order = by_product(a, b);
    for (i = 0; i < a->noperands && !order; i++) order = by_operand(&a->operands[i], &b->operands[i], a->rank);
    return order;
}

static int by_item(const void *a, const void *b)
{
    const item *x = a, *y = b;
    const int order = by_code(step_of(x->plan, x->stage), step_of(y->plan, y->stage), true);

    return order ? order : compare(x->stage, y->stage);
}

static int but_for_constants(const void *a, const void *b)
{
    const item *x = a, *y = b;
    const int order = by_code(step_of(x->plan, x->stage), step_of(y->plan, y->stage), false);

    return order ? order : compare(x->stage, y->stage);
}

/* ---- who may run together ---- */

static users *users_of(const lfuse__plan_body *p, const lfuse__operand *o, users *all)
{
    if (o->place == LFUSE__PLACE_BOUND) return &all[o->index];
    if (o->place != LFUSE__PLACE_SCRATCH && o->place != LFUSE__PLACE_PREPARED) return NULL; /* nobody writes those */
    return &all[p->graph->nnames + o->index];
}

static void note(int *who, int stage)
{
    *who = *who == NOBODY || *who == stage ? stage : SEVERAL;
}

static void each_operand(const lfuse__plan_body *p, int stage, users *all,
                         void visit(users *u, int stage, bool written))
{
    const lfuse__stage *s = &p->stages[stage];
    int i, k, m;

    for (i = 0; i < s->nalternatives; i++)
        for (k = 0; k < s->alternatives[i].nsteps; k++)
            for (m = 0; m < s->alternatives[i].steps[k].noperands; m++) {
                const lfuse__operand *o = &s->alternatives[i].steps[k].operands[m];
                users *u = users_of(p, o, all);
                if (u) visit(u, stage, o->written);
            }
}

static void forget(users *u, int stage, bool written)
{
    (void)stage;
    (void)written;
    *u = (users){ NOBODY, NOBODY };
}

static void enter(users *u, int stage, bool written)
{
    note(written ? &u->writer : &u->reader, stage);
}

/* Two that write the same memory write different parts of it: see concat.c. */
static bool independent(const lfuse__plan_body *p, int stage, users *all)
{
    const lfuse__step *s = step_of(p, stage);
    int i;

    for (i = 0; i < s->noperands; i++) {
        const users *u = users_of(p, &s->operands[i], all);
        const int other = !u ? NOBODY : s->operands[i].written ? u->reader : u->writer;
        if (other != NOBODY && other != stage) return false;
    }
    return true;
}

static bool can_be_child(const lfuse__draft *d, int stage)
{
    const lfuse__stage *s = &d->out->stages[stage];

    if (s->covered || s->nalternatives != 1 || s->alternatives[0].nsteps != 1) return false;
    switch (s->alternatives[0].steps->kind) {
    case LFUSE__STEP_POINTWISE:
    case LFUSE__STEP_ROWS: return true;
    case LFUSE__STEP_GEMM: return d->nodes[d->units[stage].node].together;
    default: return false;
    }
}

/* Returns whether `count` steps like this one have at most so many elements. */
static bool have_at_most(const lfuse__draft *d, const lfuse__step *s, int count, int64_t most_elements)
{
    const uint64_t most = (uint64_t)most_elements;
    uint64_t elements = (uint64_t)count;
    int64_t low, high;
    int i;

    for (i = 0; i < s->rank; i++) {
        lfuse__size_bounds(d->g, s->extents[i], &low, &high);
        if (high < 0 || (high && elements > most / (uint64_t)high)) return false;
        elements *= (uint64_t)high;
    }
    return elements <= most;
}

/* Returns whether the step leaves part of the device without work. No product counts: unlike ones have unlike tiles. */
static bool is_small(const lfuse__draft *d, const lfuse__step *s)
{
    return s->kind != LFUSE__STEP_GEMM && have_at_most(d, s, 1, lfuse__draft_wave(d));
}

/* Returns whether `count` products like this one can share a launch with small steps. */
static bool shares_with_small(const lfuse__draft *d, const lfuse__step *s, int count)
{
    return s->kind == LFUSE__STEP_GEMM && have_at_most(d, s, count, LFUSE__SHARED_WAVES * lfuse__draft_wave(d));
}

/* ---- constants that become numbers ---- */

/* Whether the value of the constant decides what is emitted: a division by it, and a power, may have faster forms. */
static bool selects_code(const lfuse__body *body, int reg)
{
    int i;

    for (i = 0; i < body->ninstr; i++) {
        const lfuse__instr *in = &body->instr[i];
        if (in->kind == LFUSE__I_APPLY && ((in->op == LFUSE__OP_div && in->b == reg) || in->op == LFUSE__OP_pow))
            return true;
    }
    return false;
}

/* Which constants of floating point are not the same in all of the steps; returns how many. */
static int find_varying(const item *items, int count, bool *varies)
{
    const lfuse__body *first = &step_of(items[0].plan, items[0].stage)->body;
    int i, k, found = 0;

    for (k = 0; k < first->ninstr; k++) {
        const lfuse__instr *in = &first->instr[k];
        varies[k] = false;
        if (in->kind != LFUSE__I_CONST || !lfuse__is_floating((lfuse_type)in->type) || selects_code(first, k)) continue;
        for (i = 1; i < count && !varies[k]; i++)
            varies[k] = by_instr(in, &step_of(items[i].plan, items[i].stage)->body.instr[k], true) != 0;
        found += varies[k];
    }
    return found;
}

/* The constants of a graph, sorted by their bits. */
typedef struct constant {
    double number;
    int32_t node;
} constant;

static int by_bits(const void *a, const void *b)
{
    return memcmp(&((const constant *)a)->number, &((const constant *)b)->number, sizeof(double));
}

static int list_constants(const lfuse_graph *g, constant *list)
{
    int32_t node;
    int count = 0;

    for (node = 0; node < g->nnodes; node++)
        if (g->nodes[node].kind == LFUSE__CONSTANT) list[count++] = (constant){ g->nodes[node].number, node };
    qsort(list, (size_t)count, sizeof *list, by_bits);
    return count;
}

/* Makes run-time numbers of the step's constants that vary, each with a slot of its own. */
static lfuse_status make_numbers(lfuse__draft *d, lfuse__step *step, const bool *varies, int more, const constant *list,
                         int count)
{
    const size_t n = (size_t)(step->body.nnumbers + more);
    lfuse_type *types = realloc(step->body.number_types, n * sizeof *types);
    int *numbers, i, at = step->body.nnumbers;

    if (types) step->body.number_types = types;
    numbers = types ? realloc(step->numbers, n * sizeof *numbers) : NULL;
    if (!numbers) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%zu numbers)", n);
    step->numbers = numbers;
    for (i = 0; i < step->body.ninstr; i++) {
        lfuse__instr *in = &step->body.instr[i];
        const constant wanted = { .number = in->number };
        const constant *found = varies[i] ? bsearch(&wanted, list, (size_t)count, sizeof *list, by_bits) : NULL;
        if (!found) continue;
        LFUSE__TRY(lfuse__draft_number(d, found->node, &numbers[at]));
        types[at] = (lfuse_type)in->type;
        in->kind = LFUSE__I_NUMBER;
        in->number = 0;
        in->a = (int16_t)at++;
        step->body.nnumbers = at;
    }
    return LFUSE_OK;
}

static lfuse_status make_numbers_in_all(lfuse__draft *d, const item *items, int count, const constant *list, int nlist)
{
    bool varies[LFUSE__BODY_INSTRUCTIONS];
    const lfuse__step *first = step_of(items[0].plan, items[0].stage);
    const int more = first->body.ninstr <= LFUSE__BODY_INSTRUCTIONS ? find_varying(items, count, varies) : 0;
    int i;

    if (!more || first->body.nnumbers + more > LFUSE__BODY_NUMBERS) return LFUSE_OK;
    for (i = 0; i < count; i++)
        LFUSE__TRY(make_numbers(d, step_of(items[i].plan, items[i].stage), varies, more, list, nlist));
    return LFUSE_OK;
}

/* Of more than VARIANTS steps that differ in constants alone. What is prepared runs before there are numbers. */
static lfuse_status share_constants(lfuse__draft *d, item *items, int count)
{
    constant *list;
    lfuse_status status = LFUSE_OK;
    int start, end, nlist;

    if (count <= VARIANTS || step_of(items[0].plan, items[0].stage)->prepare) return LFUSE_OK;
    list = lfuse__arena_array(&d->round, (size_t)d->g->nnodes, sizeof *list);
    if (!list) return LFUSE_ERR_MEMORY;
    nlist = list_constants(d->g, list);
    qsort(items, (size_t)count, sizeof *items, but_for_constants);
    for (start = 0; start < count && !status; start = end) {
        for (end = start + 1; end < count; end++)
            if (by_code(step_of(items[start].plan, items[start].stage), step_of(items[end].plan, items[end].stage),
                        false))
                break;
        if (end - start > VARIANTS) status = make_numbers_in_all(d, items + start, end - start, list, nlist);
    }
    return status;
}

/* ---- making them ---- */

static int by_stage(const void *a, const void *b)
{
    return compare(((const item *)a)->stage, ((const item *)b)->stage);
}

static bool is_product(const item *x)
{
    return step_of(x->plan, x->stage)->kind == LFUSE__STEP_GEMM;
}

/* Products last: they have groups enough to keep the device busy while one of the others is still at work. */
static int by_start(const void *a, const void *b)
{
    const int order = compare(is_product(a), is_product(b));

    return order ? order : by_stage(a, b);
}

/* Moves the items' steps into a step at the place of the first of them. The other stages are left empty. */
static lfuse_status make(lfuse__draft *d, item *items, int count)
{
    lfuse__plan_body *p = d->out;
    lfuse__step *children, *step;
    int i, first;

    if (count < 2) return LFUSE_OK;
    qsort(items, (size_t)count, sizeof *items, by_stage);
    first = items[0].stage;
    qsort(items, (size_t)count, sizeof *items, by_start);
    children = calloc((size_t)count, sizeof *children);
    if (!children) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d steps)", count);
    for (i = 0; i < count; i++) {
        step = step_of(p, items[i].stage);
        children[i] = *step;
        memset(step, 0, sizeof *step);
        if (items[i].stage == first) continue;
        free(step);
        free(p->stages[items[i].stage].alternatives);
        p->stages[items[i].stage] = (lfuse__stage){ .nalternatives = 0 };
    }
    step = step_of(p, first);
    step->kind = LFUSE__STEP_BUNDLE;
    step->prepare = children[0].prepare;
    step->nchildren = count;
    step->children = children;
    return LFUSE_OK;
}

/* Of equal code, from `first` on; whether all are small. */
static int equals(const item *items, int count, int first, bool *small)
{
    int i;

    *small = true;
    for (i = first; i < count && i < first + CHILDREN; i++) {
        if (by_code(step_of(items[first].plan, items[first].stage), step_of(items[i].plan, items[i].stage), true))
            break;
        *small = *small && items[i].small;
    }
    return i;
}

/* Lengths of bodies are ascending. */
static bool alike(const item *shorter, const item *longer)
{
    return step_of(longer->plan, longer->stage)->body.ninstr <=
           2 * step_of(shorter->plan, shorter->stage)->body.ninstr + SHORT;
}

static int by_length(const void *a, const void *b)
{
    const item *x = a, *y = b;
    const int order = compare(step_of(x->plan, x->stage)->body.ninstr, step_of(y->plan, y->stage)->body.ninstr);

    return order ? order : by_item(a, b);
}

/*
 * The small ones, in groups of equal code, after each other; the first bundle takes the products too. products[] has
 * room for all items.
 */
static lfuse_status join_small(lfuse__draft *d, item *items, int count, item *products, int nproducts)
{
    int start = 0, i, end, codes;
    bool small;

    qsort(items, (size_t)count, sizeof *items, by_length);
    while (start < count) {
        for (i = start, codes = 0; i < count && codes < CODES; i = end, codes++) {
            end = equals(items, count, i, &small);
            if (codes && (end - start > CHILDREN || !alike(&items[start], &items[i]))) break;
        }
        if (start) {
            LFUSE__TRY(make(d, items + start, i - start));
        } else {
            memcpy(products + nproducts, items, (size_t)i * sizeof *items);
            LFUSE__TRY(make(d, products, nproducts + i));
        }
        start = i;
    }
    return count ? LFUSE_OK : make(d, products, nproducts);
}

/*
 * Equal ones that are not all small become bundles of their own, but for the first products that share a launch with
 * small steps; the others are moved to the front.
 */
static lfuse_status join(lfuse__draft *d, item *items, int count)
{
    item *products = lfuse__arena_array(&d->round, (size_t)count, sizeof *products);
    int start, end, left = 0, nproducts = 0;
    bool small;

    if (!products) return LFUSE_ERR_MEMORY;
    qsort(items, (size_t)count, sizeof *items, by_item);
    for (start = 0; start < count; start = end) {
        end = equals(items, count, start, &small);
        if (!nproducts && shares_with_small(d, step_of(d->out, items[start].stage), end - start)) {
            nproducts = end - start;
            memcpy(products, items + start, (size_t)nproducts * sizeof *items);
        } else if (!small) {
            LFUSE__TRY(make(d, items + start, end - start));
        } else {
            memmove(items + left, items + start, (size_t)(end - start) * sizeof *items);
            left += end - start;
        }
    }
    return join_small(d, items, left, products, nproducts);
}

/* The stages from `first` to `end` are one level. */
static lfuse_status bundle_level(lfuse__draft *d, int first, int end, users *all, item *items)
{
    const lfuse__plan_body *p = d->out;
    int i, count = 0;

    for (i = first; i < end; i++) each_operand(p, i, all, forget);
    for (i = first; i < end; i++) each_operand(p, i, all, enter);
    for (i = first; i < end; i++)
        if (can_be_child(d, i) && independent(p, i, all)) items[count++] = (item){ p, i, is_small(d, step_of(p, i)) };
    if (count < 2) return LFUSE_OK;
    LFUSE__TRY(share_constants(d, items, count));
    return join(d, items, count);
}

static bool one_level(const lfuse__draft *d, int a, int b)
{
    const lfuse__unit *x = &d->units[a], *y = &d->units[b];

    return x->phase == y->phase && (x->level == y->level || x->phase == LFUSE__PHASE_LATE);
}

/* Stages that were left empty go. */
static void close_up(lfuse__plan_body *p)
{
    int i, count = 0;

    for (i = 0; i < p->nstages; i++)
        if (p->stages[i].nalternatives) p->stages[count++] = p->stages[i];
    p->nstages = count;
}

lfuse_status lfuse__pass_bundles(lfuse__draft *d)
{
    lfuse__plan_body *p = d->out;
    users *all;
    item *items;
    lfuse_status status = LFUSE_OK;
    int first, end;

    if (d->disable & LFUSE_NO_BUNDLES || p->nstages < 2) return LFUSE_OK;
    all = lfuse__arena_array(&d->round, (size_t)(d->g->nnames + p->nbuffers), sizeof *all);
    items = lfuse__arena_array(&d->round, (size_t)p->nstages, sizeof *items);
    if (!all || !items) return LFUSE_ERR_MEMORY;
    for (first = 0; first < p->nstages && !status; first = end) {
        for (end = first + 1; end < p->nstages && one_level(d, first, end); end++) continue;
        status = bundle_level(d, first, end, all, items);
    }
    close_up(p);
    return status;
}
