/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products. Where the library's own kernels are taken, they are the only way (native.c); else, in order of
 * preference:
 *
 *   vendor-epilogue   what follows is done by the vendor's product: alpha, what common/base/epilogue.h lists (of which
 *                     the addend, or beta times it, may be the updated input); only where the whole region behind the
 *                     product is just that, in that order, in which the vendors add
 *   vendor+pointwise  the same region as a kernel behind the product
 *   vendor            nothing follows
 *   widened           f16 and bf16 where the vendor has no such product: operands cast to f32, the rest as above. The
 *                     only way of operands of two types
 *
 * Where measurement or wisdom is to choose between providers, or sizes that are given at run time, or an epilogue that
 * no vendor has (lfuse__draft_vendor_competes), the library's own kernels are the first, and what they take behind the
 * product is a kernel behind the vendor's, be it a tail that the vendor's epilogue knows or not.
 */
#include "common/plan/tail.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

lfuse_status lfuse__draft_operand_at(lfuse__draft *d, int32_t base, const lfuse__home *home, const lfuse__view *walk,
                                     lfuse__operand *o)
{
    const lfuse__node *n = lfuse__draft_node(d, base);
    const lfuse__home bound = { .set = true, .place = LFUSE__PLACE_BOUND, .index = n->name };
    lfuse__view v = *walk;

    if (n->name < 0 && home->sliced && !lfuse__view_compose(d, walk, base, &home->view, &v))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "value %d of a plan is walked in a way that no step can",
                            (int)base);
    lfuse__operand_place(n->name >= 0 ? &bound : home, (lfuse_type)n->type, &v, o);
    o->span = lfuse__draft_span(n);
    return LFUSE_OK;
}

static lfuse_type operand_type(const lfuse__draft *d, int32_t matmul, int i)
{
    return (lfuse_type)lfuse__draft_node(d, lfuse__draft_node(d, matmul)->in[i])->type;
}

/* Operands that are to be cast for a product of f32. */
static int narrow_operands(const lfuse__draft *d, int32_t matmul)
{
    return lfuse__is_narrow(operand_type(d, matmul, 0)) + lfuse__is_narrow(operand_type(d, matmul, 1));
}

static bool mixed(const lfuse__draft *d, int32_t matmul)
{
    return operand_type(d, matmul, 0) != operand_type(d, matmul, 1);
}

/* What the tail takes becomes the step's last operands; the rest of it is noted in the step's product. */
static lfuse_status add_epilogue(lfuse__draft *d, const lfuse__tail *t, lfuse__step *step)
{
    lfuse__product *p = &step->product;
    int i;

    p->epilogue = t->epilogue;
    p->adds = t->adds;
    for (i = 0; i < LFUSE__EPILOGUE_INPUTS; i++) {
        const int32_t base = t->inputs[i].base;
        if (base < 0) continue;
        p->inputs[i] = step->noperands++;
        LFUSE__TRY(lfuse__draft_operand_at(d, base, &d->memory[base].home, &t->inputs[i],
                                           &step->operands[p->inputs[i]]));
    }
    if (t->alpha >= 0) LFUSE__TRY(lfuse__draft_number(d, t->alpha, &p->alpha));
    return t->beta >= 0 ? lfuse__draft_number(d, t->beta, &p->beta) : LFUSE_OK;
}

/* A gemm step of the matmul's operands into `to`; `t` (may be NULL) becomes its epilogue. */
static lfuse_status gemm_step(lfuse__draft *d, int32_t matmul, const lfuse__tail *t, const lfuse__home *to,
                              lfuse__step *step)
{
    const lfuse__node *n = lfuse__draft_node(d, matmul);
    lfuse__view walk;
    int i;

    step->kind = LFUSE__STEP_GEMM;
    step->rank = n->rank;
    step->operands = calloc(3 + LFUSE__EPILOGUE_INPUTS, sizeof *step->operands);
    if (!step->operands) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made");
    step->noperands = 3;
    for (i = 0; i < 2; i++) {
        const int32_t base = lfuse__draft_operand(d, matmul, i, &walk);
        LFUSE__TRY(lfuse__draft_operand_at(d, base, &d->memory[base].home, &walk, &step->operands[i]));
    }
    lfuse__view_identity(d, matmul, &walk);
    LFUSE__TRY(lfuse__draft_operand_at(d, matmul, to, &walk, &step->operands[2]));
    step->operands[2].written = true;
    step->product = (lfuse__product){ .type = operand_type(d, matmul, 0), .wide = n->type != operand_type(d, matmul, 0),
                                      .precision = lfuse__draft_precision(d, matmul), .m = n->shape[n->rank - 2],
                                      .n = n->shape[n->rank - 1],
                                      .k = lfuse__draft_node(d, n->in[0])->shape[n->rank - 1], .alpha = -1,
                                      .beta = -1 };
    memcpy(step->extents, n->shape, sizeof step->extents);
    return t ? add_epilogue(d, t, step) : LFUSE_OK;
}

/* The region behind a product, whose value lies in `acc` as `type`; region -1: the value itself, in its own type. */
static lfuse_status tail_step(lfuse__draft *d, int32_t matmul, int32_t region, int32_t end, const lfuse__home *acc,
                              lfuse_type type, lfuse__step *step)
{
    const lfuse__node *n = lfuse__draft_node(d, matmul);
    lfuse__builder *b;
    int reg;

    LFUSE__TRY(lfuse__builder_begin(d, region, n->rank, n->shape, &b));
    lfuse__builder_given(b, matmul, lfuse__builder_load_type(b, acc, matmul, type));
    reg = lfuse__builder_value(b, end, NULL);
    lfuse__builder_store_result(b, reg, end, NULL);
    return lfuse__builder_finish(b, LFUSE__STEP_POINTWISE, step);
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
    const bool frozen = d->nodes[matmul].prepared || n->kind == LFUSE__FROZEN || d->nodes[base].prepared;
    lfuse__home from = d->memory[base].home, wide;
    lfuse__builder *b;
    lfuse_status status;
    int reg;

    if (n->name >= 0) from = (lfuse__home){ .set = true, .place = LFUSE__PLACE_BOUND, .index = n->name };
    LFUSE__TRY(wide_buffer(d, base, frozen ? LFUSE__PLACE_PREPARED : LFUSE__PLACE_SCRATCH, &wide));
    LFUSE__TRY(lfuse__builder_begin(d, -1, n->rank, n->shape, &b));
    reg = lfuse__builder_load_home(b, &from, base);
    reg = lfuse__builder_convert(b, reg, (lfuse_type)n->type, LFUSE_F32);
    lfuse__builder_store_type(b, reg, &wide, base, LFUSE_F32);
    status = lfuse__builder_finish(b, LFUSE__STEP_POINTWISE, cast);
    cast->prepare = frozen;
    lfuse__operand_place(&wide, LFUSE_F32, &walk, o);
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
    lfuse__home acc = d->memory[matmul].home;
    int i, casts = 0;

    a->name = "widened";
    if (follows)
        LFUSE__TRY(wide_buffer(d, matmul, d->nodes[matmul].prepared ? LFUSE__PLACE_PREPARED : LFUSE__PLACE_SCRATCH,
                               &acc));
    LFUSE__TRY(gemm_step(d, matmul, NULL, &acc, gemm));
    gemm->product.type = gemm->operands[2].type = LFUSE_F32;
    gemm->product.wide = false;
    for (i = 0; i < 2; i++)
        if (lfuse__is_narrow(operand_type(d, matmul, i)))
            LFUSE__TRY(widen_operand(d, matmul, i, &gemm->operands[i], &steps[casts++]));
    return follows ? tail_step(d, matmul, u->tail, end, &acc, LFUSE_F32, &gemm[1]) : LFUSE_OK;
}

/* Where the bare product goes when a kernel follows: to the result's place, unless the kernel reads that place too. */
static lfuse_status product_home(lfuse__draft *d, int32_t matmul, int32_t end, lfuse__home *acc)
{
    const lfuse__home *h = &d->memory[end].home;

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
    return gemm_step(d, u->node, NULL, &d->memory[u->node].home, stage->alternatives[0].steps);
}

static lfuse_status make_with_tail(lfuse__draft *d, const lfuse__unit *u, const lfuse__tail *t, lfuse__stage *stage)
{
    lfuse__home acc;

    stage->alternatives[0].name = "vendor-epilogue";
    LFUSE__TRY(gemm_step(d, u->node, t, &d->memory[t->end].home, stage->alternatives[0].steps));
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
    lfuse__tail t = { .end = u->node };

    if (u->tail >= 0) lfuse__tail_match(d, u->node, u->tail, &t);
    steps[own] = widened_steps(d, u);
    LFUSE__TRY(lfuse__stage_create(stage, own + wide, steps));
    if (own) LFUSE__TRY(own == 1 ? make_bare(d, u, stage) : make_with_tail(d, u, &t, stage));
    return wide ? widened(d, u, t.end, &stage->alternatives[own]) : LFUSE_OK;
}

/* Any region that the library's own kernels take, as a kernel behind the product. No step: it does not fit one. */
static lfuse_status region_step(lfuse__draft *d, const lfuse__unit *u, const lfuse__home *acc, lfuse__step *step,
                                bool *made)
{
    const lfuse__node *n = lfuse__draft_node(d, u->node);
    lfuse_status status = LFUSE_OK;
    lfuse__unit_loop loop;
    lfuse__builder *b;

    LFUSE__TRY(lfuse__builder_begin(d, u->tail, n->rank, n->shape, &b));
    lfuse__draft_loop(d, u->tail, &loop);
    lfuse__builder_loop(b, &loop);
    lfuse__builder_given(b, u->node, lfuse__builder_load_type(b, acc, u->node, (lfuse_type)n->type));
    lfuse__region_stores(d, b, u->tail, &loop);
    *made = !lfuse__builder_overflow(b);
    if (*made) status = lfuse__builder_finish(b, LFUSE__STEP_POINTWISE, step);
    return status;
}

static lfuse_status make_with_region(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    lfuse__home acc = d->memory[u->node].home;
    bool made;

    if (acc.set && d->nodes[u->node].target >= 0 && d->names[d->nodes[u->node].target].next_target >= 0)
        return LFUSE_OK;
    if (!acc.set) {
        acc.place = d->nodes[u->node].prepared ? LFUSE__PLACE_PREPARED : LFUSE__PLACE_SCRATCH;
        acc.set = true;
        LFUSE__TRY(lfuse__draft_buffer(d, u->node, acc.place, &acc.index));
    }
    LFUSE__TRY(lfuse__stage_create(stage, 1, (const int[]){ 2 }));
    stage->alternatives[0].name = "vendor+pointwise";
    LFUSE__TRY(gemm_step(d, u->node, NULL, &acc, &stage->alternatives[0].steps[0]));
    LFUSE__TRY(region_step(d, u, &acc, &stage->alternatives[0].steps[1], &made));
    if (!made) lfuse__stage_free(stage);
    return LFUSE_OK;
}

/* The vendor's behind the library's own. */
static lfuse_status make_both(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    lfuse__stage vendor = { 0 };
    lfuse__alternative *all;
    lfuse__product *native;
    lfuse_status status;
    int i;

    LFUSE__TRY(lfuse__make_native(d, u, stage));
    if (d->changed) return LFUSE_OK; /* there is another round */
    native = &stage->alternatives[0].steps[0].product;
    native->ahead = !d->both;
    status = u->tail < 0 || (lfuse__product_tail(d, u->node) == u->tail && !d->memory[u->node].home.set)
                 ? make_vendor(d, u, &vendor)
                 : make_with_region(d, u, &vendor);
    all = status ? NULL : realloc(stage->alternatives, (1 + (size_t)vendor.nalternatives) * sizeof *all);
    if (!status && !all) status = lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made");
    if (status) {
        lfuse__stage_free(&vendor);
        return status;
    }
    for (i = 0; i < vendor.nalternatives; i++) all[1 + i] = vendor.alternatives[i];
    stage->alternatives = all;
    stage->nalternatives += vendor.nalternatives;
    native->behind = vendor.nalternatives && vendor.alternatives[0].nsteps > 1;
    free(vendor.alternatives);
    return LFUSE_OK;
}

/*
 * The library's own kernels behind the vendor's ways, for the vendor that declines at run time or finds no memory for
 * its workspace. What they need is compiled only then.
 */
static lfuse_status add_reserve(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    lfuse__alternative *all, *last;
    lfuse__matmul_desc desc;
    bool fits = false;

    lfuse__draft_describe(d, u->node, &desc);
    if (d->provider != LFUSE_PROVIDER_DEFAULT || !d->advice->has_tiles(d->facts) ||
        d->advice->declines(d->facts, LFUSE__SOLVER_NATIVE, &desc))
        return LFUSE_OK;
    all = realloc(stage->alternatives, ((size_t)stage->nalternatives + 1) * sizeof *all);
    if (!all) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made");
    stage->alternatives = all;
    last = &all[stage->nalternatives];
    *last = (lfuse__alternative){ .name = "native", .nsteps = 1, .steps = calloc(1, sizeof *last->steps) };
    if (!last->steps) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made");
    stage->nalternatives++;
    LFUSE__TRY(lfuse__native_step(d, u, last->steps, &fits));
    if (fits) return LFUSE_OK;
    stage->nalternatives--;
    free(last->steps);
    return LFUSE_OK;
}

static lfuse_status make_vendor_first(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    LFUSE__TRY(make_vendor(d, u, stage));
    return add_reserve(d, u, stage);
}

lfuse_status lfuse__make_product(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    int i, k;

    if (d->nodes[u->node].levels) return lfuse__make_strassen(d, u, stage);
    if (d->nodes[u->node].together) return lfuse__make_native(d, u, stage);
    if (lfuse__draft_both(d, u->node) || lfuse__draft_vendor_competes(d, u)) LFUSE__TRY(make_both(d, u, stage));
    else if (lfuse__draft_native(d, u->node)) LFUSE__TRY(lfuse__make_native(d, u, stage));
    else LFUSE__TRY(make_vendor_first(d, u, stage));
    for (i = 0; u->phase == LFUSE__PHASE_PREPARE && i < stage->nalternatives; i++)
        for (k = 0; k < stage->alternatives[i].nsteps; k++) stage->alternatives[i].steps[k].prepare = true;
    return LFUSE_OK;
}
