/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/*
 * Matrix products. Where the library's own kernels are taken, they are the only way (native.c); else, in order of
 * preference:
 *
 *   vendor-epilogue   what follows is done by the vendor's product: alpha, beta times the updated input, a row vector,
 *                     relu or gelu_tanh; only where the whole region behind the product is just that
 *   vendor+pointwise  the same region as a kernel behind the product
 *   vendor            nothing follows
 *   widened           f16 and bf16 where the vendor has no such product: operands cast to f32, the rest as above. The
 *                     only way of operands of two types
 */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* Numbered as the waist numbers lfuse__epilogue; plan/ does not see the waist. */
enum { EP_NONE, EP_BIAS, EP_RELU, EP_BIAS_RELU, EP_BIAS_GELU_TANH };

typedef struct tail {
    int32_t alpha, beta; /* number nodes, -1 */
    int32_t bias;        /* base of the row vector, -1 */
    lfuse__view bias_walk;
    int epilogue;
    int32_t end;         /* the last node */
    int nodes;
} tail;

/* The operand of `node` that is not `value`; -1 when both are, or when value is read at other indices. */
static int other_operand(const lfuse__draft *d, int32_t node, int32_t value)
{
    lfuse__view walk;
    int i, found = -1;

    if (lfuse__draft_node(d, node)->nin != 2) return -1;
    for (i = 0; i < 2; i++) {
        if (lfuse__draft_operand(d, node, i, &walk) != value) continue;
        if (found >= 0 || !lfuse__draft_same_index(d, node, &walk)) return -1;
        found = 1 - i;
    }
    return found;
}

/* The number that a node is multiplied by: the number node of its operand i, or -1. */
static int32_t factor(const lfuse__draft *d, int32_t node, int i)
{
    const int32_t in = d->views[lfuse__draft_node(d, node)->in[i]].base;

    if (!d->inlined[in] || !lfuse__draft_immediate(d, in)) return -1;
    return lfuse__draft_node(d, in)->in[0];
}

static bool is_op(const lfuse__draft *d, int32_t node, lfuse__op op)
{
    return lfuse__draft_node(d, node)->kind == LFUSE__POINTWISE && lfuse__draft_node(d, node)->op == op;
}

/* The one node of the region that reads the value, which nothing else needs; -1. */
static int32_t follower(const lfuse__draft *d, int32_t value, int32_t region)
{
    const int32_t reader = d->reader[value];

    if (d->reads[value] != 1 || d->results[value] || d->cut[value] || reader < 0) return -1;
    return d->region[reader] == region ? reader : -1;
}

static bool takes_alpha(const lfuse__draft *d, tail *t, int32_t node)
{
    const int i = other_operand(d, node, t->end);

    if (i < 0 || !is_op(d, node, LFUSE__OP_mul) || t->nodes) return false;
    t->alpha = factor(d, node, i);
    return t->alpha >= 0;
}

/* node = end + number * x, x the input that node updates. */
static bool takes_beta(const lfuse__draft *d, tail *t, int32_t node)
{
    const int i = other_operand(d, node, t->end);
    lfuse__view walk;
    int32_t scaled, x;
    int k;

    if (i < 0 || !is_op(d, node, LFUSE__OP_add) || !d->results[node]) return false;
    scaled = lfuse__draft_operand(d, node, i, &walk);
    if (!is_op(d, scaled, LFUSE__OP_mul) || d->region[scaled] != d->region[node] || d->reads[scaled] != 1 ||
        d->results[scaled] || !lfuse__draft_same_index(d, node, &walk))
        return false;
    for (k = 0; k < 2; k++) {
        t->beta = factor(d, scaled, k);
        x = lfuse__draft_operand(d, scaled, 1 - k, &walk);
        if (t->beta < 0 || lfuse__draft_node(d, x)->kind != LFUSE__INPUT) continue;
        if (!lfuse__draft_same_index(d, scaled, &walk) || !d->home[node].set ||
            d->home[node].place != LFUSE__PLACE_BOUND || d->home[node].index != lfuse__draft_node(d, x)->name)
            continue;
        t->nodes++; /* `scaled`, beside node itself */
        return true;
    }
    t->beta = -1;
    return false;
}

static bool takes_bias(const lfuse__draft *d, tail *t, int32_t node)
{
    const int i = other_operand(d, node, t->end);
    const lfuse__node *n = lfuse__draft_node(d, node), *b;
    const int column = n->rank - 1;
    lfuse__view walk;
    int32_t base;
    int k;

    if (i < 0 || !is_op(d, node, LFUSE__OP_add) || t->alpha >= 0 || t->epilogue != EP_NONE) return false;
    base = lfuse__draft_operand(d, node, i, &walk);
    b = lfuse__draft_node(d, base);
    if (d->inlined[base] || d->region[base] == d->region[node] || b->type != n->type || walk.axis[column] < 0 ||
        walk.step[column] != 1)
        return false;
    for (k = 0; k < column; k++)
        if (walk.axis[k] >= 0) return false;
    for (k = 0; k < walk.rank; k++) /* a row vector, all of it: vendors take no other */
        if (walk.offset[k] != 0 || (k != walk.axis[column] && walk.shape[k] != 1)) return false;
    t->bias = base;
    t->bias_walk = walk;
    t->epilogue = EP_BIAS;
    return true;
}

static bool takes_activation(const lfuse__draft *d, tail *t, int32_t node)
{
    lfuse__view walk;

    if (t->alpha >= 0 || t->beta >= 0 || t->epilogue > EP_BIAS) return false;
    if (lfuse__draft_operand(d, node, 0, &walk) != t->end || !lfuse__draft_same_index(d, node, &walk))
        return false;
    if (is_op(d, node, LFUSE__OP_relu)) {
        t->epilogue = t->epilogue == EP_BIAS ? EP_BIAS_RELU : EP_RELU;
        return true;
    }
    if (!is_op(d, node, LFUSE__OP_gelu_tanh) || t->epilogue != EP_BIAS) return false;
    t->epilogue = EP_BIAS_GELU_TANH;
    return true;
}

static int region_size(const lfuse__draft *d, int32_t region)
{
    int32_t node;
    int count = 0;

    for (node = region; node >= 0; node = d->next[node]) count++;
    return count;
}

/* Whether the whole region is a tail of the product. */
static bool match(const lfuse__draft *d, int32_t matmul, int32_t region, tail *t)
{
    int32_t node;

    *t = (tail){ .alpha = -1, .beta = -1, .bias = -1, .epilogue = EP_NONE, .end = matmul };
    while ((node = follower(d, t->end, region)) >= 0) {
        if (lfuse__draft_node(d, node)->type != lfuse__draft_node(d, matmul)->type) return false;
        if (!takes_alpha(d, t, node) && !takes_beta(d, t, node) && !takes_bias(d, t, node) &&
            !takes_activation(d, t, node))
            return false;
        t->end = node;
        t->nodes++;
    }
    return t->nodes == region_size(d, region);
}

int32_t lfuse__product_tail(const lfuse__draft *d, int32_t matmul)
{
    const int32_t reader = d->reader[matmul];
    int32_t region;
    tail t;

    if (d->disable & LFUSE_NO_EPILOGUE || reader < 0 || d->prepared[reader] != d->prepared[matmul]) return -1;
    region = d->region[reader];
    if (region < 0 || !match(d, matmul, region, &t)) return -1;
    return d->target[t.end] >= 0 && d->next_target[d->target[t.end]] >= 0 ? -1 : region; /* a product has one result */
}

static void place_at(const lfuse__home *home, lfuse_type type, const lfuse__view *walk, lfuse__operand *o)
{
    memset(o, 0, sizeof *o);
    o->place = home->place;
    o->index = home->index;
    o->type = type;
    o->gathered = -1;
    o->rank = walk->rank;
    memcpy(o->axis, walk->axis, sizeof o->axis);
    memcpy(o->shape, walk->shape, sizeof o->shape);
    memcpy(o->offset, walk->offset, sizeof o->offset);
    memcpy(o->step, walk->step, sizeof o->step);
}

lfuse_status lfuse__draft_operand_at(lfuse__draft *d, int32_t base, const lfuse__home *home, const lfuse__view *walk,
                                     lfuse__operand *o)
{
    const lfuse__node *n = lfuse__draft_node(d, base);
    const lfuse__home bound = { .set = true, .place = LFUSE__PLACE_BOUND, .index = n->name };
    lfuse__view v = *walk;

    if (n->name < 0 && home->part && !lfuse__view_compose(d, walk, base, &home->view, &v))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "value %d of a plan is walked in a way that no step can",
                            (int)base);
    place_at(n->name >= 0 ? &bound : home, (lfuse_type)n->type, &v, o);
    o->span = lfuse__draft_span(n);
    return LFUSE_OK;
}

static lfuse_type operand_type(const lfuse__draft *d, int32_t matmul, int i)
{
    return (lfuse_type)lfuse__draft_node(d, lfuse__draft_node(d, matmul)->in[i])->type;
}

static bool narrow(lfuse_type type)
{
    return type == LFUSE_F16 || type == LFUSE_BF16;
}

/* Operands that are to be cast for a product of f32. */
static int narrow_operands(const lfuse__draft *d, int32_t matmul)
{
    return narrow(operand_type(d, matmul, 0)) + narrow(operand_type(d, matmul, 1));
}

static bool mixed(const lfuse__draft *d, int32_t matmul)
{
    return operand_type(d, matmul, 0) != operand_type(d, matmul, 1);
}

/* A gemm step of the matmul's operands into `to`; `t` (may be NULL) becomes its epilogue. */
static lfuse_status gemm_step(lfuse__draft *d, int32_t matmul, const tail *t, const lfuse__home *to, lfuse__step *step)
{
    const lfuse__node *n = lfuse__draft_node(d, matmul);
    const bool bias = t && t->bias >= 0;
    lfuse__view walk;
    int i;

    step->kind = LFUSE__STEP_GEMM;
    step->list = -1;
    step->rank = n->rank;
    step->operands = calloc((size_t)(3 + bias), sizeof *step->operands);
    if (!step->operands) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made");
    step->noperands = 3 + bias;
    for (i = 0; i < 2; i++) {
        const int32_t base = lfuse__draft_operand(d, matmul, i, &walk);
        LFUSE__TRY(lfuse__draft_operand_at(d, base, &d->home[base], &walk, &step->operands[i]));
    }
    lfuse__view_identity(d, matmul, &walk);
    LFUSE__TRY(lfuse__draft_operand_at(d, matmul, to, &walk, &step->operands[2]));
    step->operands[2].written = true;
    if (bias) LFUSE__TRY(lfuse__draft_operand_at(d, t->bias, &d->home[t->bias], &t->bias_walk, &step->operands[3]));
    step->product = (lfuse__product){ .type = operand_type(d, matmul, 0), .wide = n->type != operand_type(d, matmul, 0),
                                      .tf32 = n->op == LFUSE_PRECISION_TF32, .m = n->shape[n->rank - 2],
                                      .n = n->shape[n->rank - 1],
                                      .k = lfuse__draft_node(d, n->in[0])->shape[n->rank - 1],
                                      .epilogue = t ? t->epilogue : EP_NONE, .alpha = -1, .beta = -1 };
    memcpy(step->extents, n->shape, sizeof step->extents);
    if (t && t->alpha >= 0) LFUSE__TRY(lfuse__draft_number(d, t->alpha, &step->product.alpha));
    if (t && t->beta >= 0) LFUSE__TRY(lfuse__draft_number(d, t->beta, &step->product.beta));
    return LFUSE_OK;
}

/* The region behind a product, whose value lies in `acc` as `type`; region -1: the value itself, in its own type. */
static lfuse_status tail_step(lfuse__draft *d, int32_t matmul, int32_t region, int32_t end, const lfuse__home *acc,
                              lfuse_type type, lfuse__step *step)
{
    const lfuse__node *n = lfuse__draft_node(d, matmul);
    lfuse__builder *b;
    lfuse_status status;
    int32_t name;
    int reg;

    LFUSE__TRY(lfuse__builder_create(d, region, n->rank, n->shape, &b));
    lfuse__builder_given(b, matmul, lfuse__builder_load_type(b, acc, matmul, type));
    reg = lfuse__builder_value(b, end, NULL);
    lfuse__builder_store(b, reg, &d->home[end], end, NULL);
    for (name = d->target[end]; name >= 0; name = d->next_target[name]) {
        const lfuse__home also = { .set = true, .place = LFUSE__PLACE_BOUND, .index = name };
        if (d->home[end].place != LFUSE__PLACE_BOUND || d->home[end].index != name)
            lfuse__builder_store(b, reg, &also, end, NULL);
    }
    status = lfuse__builder_finish(b, LFUSE__STEP_POINTWISE, step);
    lfuse__builder_destroy(b);
    return status;
}

/* A buffer like the node's value but of f32. */
static lfuse_status wide_buffer(lfuse__draft *d, int32_t like, lfuse__place place, lfuse__home *home)
{
    *home = (lfuse__home){ .set = true, .place = place };
    LFUSE__TRY(lfuse__draft_buffer(d, like, place, &home->index));
    d->out->buffers[home->index].type = LFUSE_F32;
    return LFUSE_OK;
}

/* Casts operand i of the gemm step to f32, in the prepare phase where its contents stay. */
static lfuse_status widen_operand(lfuse__draft *d, int32_t matmul, int i, lfuse__operand *o, lfuse__step *cast)
{
    lfuse__view walk;
    const int32_t base = lfuse__draft_operand(d, matmul, i, &walk);
    const lfuse__node *n = lfuse__draft_node(d, base);
    const bool frozen = d->prepared[matmul] || n->kind == LFUSE__FROZEN || d->prepared[base];
    lfuse__home from = d->home[base], wide;
    lfuse__builder *b;
    lfuse_status status;
    int reg;

    if (n->name >= 0) from = (lfuse__home){ .set = true, .place = LFUSE__PLACE_BOUND, .index = n->name };
    LFUSE__TRY(wide_buffer(d, base, frozen ? LFUSE__PLACE_PREPARED : LFUSE__PLACE_SCRATCH, &wide));
    LFUSE__TRY(lfuse__builder_create(d, -1, n->rank, n->shape, &b));
    reg = lfuse__builder_load_home(b, &from, base);
    reg = lfuse__builder_convert(b, reg, (lfuse_type)n->type, LFUSE_F32);
    lfuse__builder_store_type(b, reg, &wide, base, LFUSE_F32);
    status = lfuse__builder_finish(b, LFUSE__STEP_POINTWISE, cast);
    lfuse__builder_destroy(b);
    cast->prepare = frozen;
    place_at(&wide, LFUSE_F32, &walk, o);
    return status;
}

/* Whether a kernel follows the product of f32: the region behind it, or the cast back. */
static bool follows_wide(const lfuse__draft *d, const lfuse__unit *u)
{
    return u->tail >= 0 || lfuse__draft_node(d, u->node)->type != LFUSE_F32;
}

static int widened_steps(const lfuse__draft *d, const lfuse__unit *u)
{
    return narrow_operands(d, u->node) + 1 + follows_wide(d, u);
}

/* steps: casts, gemm, what follows. */
static lfuse_status widened(lfuse__draft *d, const lfuse__unit *u, int32_t end, lfuse__alternative *a)
{
    const int32_t matmul = u->node;
    const bool follows = follows_wide(d, u);
    lfuse__step *steps = a->steps, *gemm = &steps[narrow_operands(d, matmul)];
    lfuse__home acc = d->home[matmul];
    int i, casts = 0;

    a->name = "widened";
    if (follows)
        LFUSE__TRY(wide_buffer(d, matmul, d->prepared[matmul] ? LFUSE__PLACE_PREPARED : LFUSE__PLACE_SCRATCH, &acc));
    LFUSE__TRY(gemm_step(d, matmul, NULL, &acc, gemm));
    gemm->product.type = gemm->operands[2].type = LFUSE_F32;
    gemm->product.wide = false;
    for (i = 0; i < 2; i++)
        if (narrow(operand_type(d, matmul, i)))
            LFUSE__TRY(widen_operand(d, matmul, i, &gemm->operands[i], &steps[casts++]));
    return follows ? tail_step(d, matmul, u->tail, end, &acc, LFUSE_F32, &gemm[1]) : LFUSE_OK;
}

/* Where the bare product goes when a kernel follows: to the result's place, unless the kernel reads that place too. */
static lfuse_status product_home(lfuse__draft *d, int32_t matmul, int32_t end, lfuse__home *acc)
{
    const lfuse__home *h = &d->home[end];

    if (h->place != LFUSE__PLACE_BOUND || d->g->names[h->index].kind == LFUSE__NAME_OUTPUT) {
        *acc = *h;
        return LFUSE_OK;
    }
    *acc = (lfuse__home){ .set = true, .place = LFUSE__PLACE_SCRATCH };
    return lfuse__draft_buffer(d, matmul, acc->place, &acc->index);
}

/* The vendor's own ways, of operands of one type; none of two. */
static int vendor_ways(const lfuse__draft *d, const lfuse__unit *u)
{
    if (mixed(d, u->node)) return 0;
    return u->tail < 0 ? 1 : 2;
}

static lfuse_status make_bare(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    stage->alternatives[0].name = "vendor";
    return gemm_step(d, u->node, NULL, &d->home[u->node], stage->alternatives[0].steps);
}

static lfuse_status make_with_tail(lfuse__draft *d, const lfuse__unit *u, const tail *t, lfuse__stage *stage)
{
    lfuse__home acc;

    stage->alternatives[0].name = "vendor-epilogue";
    LFUSE__TRY(gemm_step(d, u->node, t, &d->home[t->end], stage->alternatives[0].steps));
    stage->alternatives[1].name = "vendor+pointwise";
    LFUSE__TRY(product_home(d, u->node, t->end, &acc));
    LFUSE__TRY(gemm_step(d, u->node, NULL, &acc, &stage->alternatives[1].steps[0]));
    return tail_step(d, u->node, u->tail, t->end, &acc, (lfuse_type)lfuse__draft_node(d, u->node)->type,
                     &stage->alternatives[1].steps[1]);
}

static lfuse_status make_vendor(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    const int own = vendor_ways(d, u), wide = narrow_operands(d, u->node) > 0;
    int steps[3] = { 1, 2 };
    tail t = { .end = u->node };

    if (u->tail >= 0) match(d, u->node, u->tail, &t);
    steps[own] = widened_steps(d, u);
    LFUSE__TRY(lfuse__stage_create(stage, own + wide, steps));
    if (own) LFUSE__TRY(own == 1 ? make_bare(d, u, stage) : make_with_tail(d, u, &t, stage));
    return wide ? widened(d, u, t.end, &stage->alternatives[own]) : LFUSE_OK;
}

lfuse_status lfuse__make_product(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    int i, k;

    if (d->levels[u->node]) return lfuse__make_strassen(d, u, stage);
    LFUSE__TRY(lfuse__draft_native(d, u->node) ? lfuse__make_native(d, u, stage) : make_vendor(d, u, stage));
    for (i = 0; u->phase == LFUSE__PHASE_PREPARE && i < stage->nalternatives; i++)
        for (k = 0; k < stage->alternatives[i].nsteps; k++) stage->alternatives[i].steps[k].prepare = true;
    return LFUSE_OK;
}
