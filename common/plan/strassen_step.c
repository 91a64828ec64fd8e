/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/*
 * The steps of a product by Strassen's algorithm: its factors where nobody has made them yet (of frozen operands in the
 * prepare phase), one batch of 7^L products, and a kernel for what they come to: that adds them up, computes the region
 * behind the product, and makes the factors of the product that follows.
 */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* Elements: of CPUs what kernels take at a time, of others 16 bytes. Both operands of a product see k alike. */
enum { CPU_LANES = 16, GPU_VECTOR = 4 };
enum { OWN = 3 }; /* operands in front of the body's own: products, factors, the sum */

static lfuse_status out_of_memory(void)
{
    return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made");
}

/* An extent of a block; where rows of the block run along it, they are whole vectors of the device. */
static lfuse_size block_extent(lfuse__draft *d, lfuse_size extent, bool inner, int levels)
{
    const int64_t each = !inner ? 1 : d->facts->vector_lanes ? CPU_LANES : GPU_VECTOR;
    lfuse_graph *g = d->out->graph;

    /* For the most levels of the plan, so that steps of one level meet those of two. */
    return lfuse__size_product(g, lfuse__size_pieces(g, extent, each << d->most_levels),
                               each << (d->most_levels - levels));
}

static void pad(lfuse__draft *d, const lfuse_size *shape, lfuse__strassening *s)
{
    s->rows = block_extent(d, shape[0], s->right, 0);
    s->columns = block_extent(d, shape[1], true, 0);
}

static int64_t count_of(int levels)
{
    return levels == 2 ? 49 : 7;
}

/* Memory for the 7^levels matrices that a matrix of this shape is made into. */
static lfuse_status block_buffer(lfuse__draft *d, int32_t like, lfuse__place place, const lfuse_size *shape,
                                 bool right, int levels, int *index)
{
    const lfuse_size rows = block_extent(d, shape[0], right, levels);
    const lfuse_size columns = block_extent(d, shape[1], true, levels);
    lfuse__buffer *b;

    LFUSE__TRY(lfuse__draft_buffer(d, like, place, index));
    b = &d->out->buffers[*index];
    memset(b->shape, 0, sizeof b->shape);
    b->rank = 3;
    b->shape[0] = count_of(levels);
    b->shape[1] = rows;
    b->shape[2] = columns;
    return LFUSE_OK;
}

static void block_operand(const lfuse__draft *d, int index, bool written, lfuse__operand *o)
{
    const lfuse__buffer *b = &d->out->buffers[index];
    int i;

    memset(o, 0, sizeof *o);
    o->place = b->place;
    o->index = index;
    o->type = b->type;
    o->written = written;
    o->rank = (int8_t)b->rank;
    o->gathered = -1;
    memset(o->axis, -1, sizeof o->axis);
    memcpy(o->shape, b->shape, sizeof o->shape);
    for (i = 0; i < b->rank; i++) {
        o->axis[i] = (int8_t)i;
        o->step[i] = 1;
    }
}

/* A body that stores what it loads. */
static lfuse_status copying_body(lfuse__step *step, int from, int to, lfuse_type type)
{
    step->body = (lfuse__body){ .ninstr = 1, .nstores = 1, .instr = malloc(sizeof *step->body.instr),
                                .stores = malloc(sizeof *step->body.stores),
                                .number_types = malloc(sizeof *step->body.number_types) };
    step->numbers = malloc(sizeof *step->numbers);
    if (!step->body.instr || !step->body.stores || !step->body.number_types || !step->numbers) return out_of_memory();
    memset(step->body.instr, 0, sizeof *step->body.instr);
    step->body.instr[0] = (lfuse__instr){ .kind = LFUSE__I_LOAD, .type = (uint8_t)type, .a = (int16_t)from, .b = -1,
                                          .c = -1 };
    step->body.stores[0] = (lfuse__store){ .reg = 0, .operand = (int16_t)to };
    return LFUSE_OK;
}

static lfuse_status start_step(lfuse__step *step, lfuse__step_kind kind, int rank, int noperands)
{
    step->kind = kind;
    step->list = -1;
    step->rank = rank;
    step->operands = calloc((size_t)noperands, sizeof *step->operands);
    if (!step->operands) return out_of_memory();
    step->noperands = noperands;
    return LFUSE_OK;
}

/* No memory. */
static void nowhere(lfuse_type type, bool written, lfuse__operand *o)
{
    memset(o, 0, sizeof *o);
    o->place = LFUSE__PLACE_SUM;
    o->type = type;
    o->written = written;
    o->gathered = -1;
    memset(o->axis, -1, sizeof o->axis);
}

/* The factors of operand i of the product, into memory of their own. */
static lfuse_status factor_step(lfuse__draft *d, int32_t matmul, int i, int *index, lfuse__step *step)
{
    const int levels = d->levels[matmul];
    const lfuse_size *shape = lfuse__draft_node(d, lfuse__draft_node(d, matmul)->in[i])->shape;
    lfuse__view walk;
    const int32_t base = lfuse__draft_operand(d, matmul, i, &walk);
    const bool frozen = lfuse__draft_node(d, base)->kind == LFUSE__FROZEN || d->prepared[base];
    const lfuse_type type = (lfuse_type)lfuse__draft_node(d, matmul)->type;

    LFUSE__TRY(block_buffer(d, matmul, frozen ? LFUSE__PLACE_PREPARED : LFUSE__PLACE_SCRATCH, shape, i == 1, levels,
                            index));
    LFUSE__TRY(start_step(step, LFUSE__STEP_STRASSEN, 2, OWN + 1));
    nowhere(type, false, &step->operands[0]);
    block_operand(d, *index, true, &step->operands[1]);
    nowhere(type, false, &step->operands[2]);
    LFUSE__TRY(lfuse__draft_operand_at(d, base, &d->home[base], &walk, &step->operands[OWN]));
    memcpy(step->extents, shape, 2 * sizeof *shape);
    step->prepare = frozen;
    step->strassen = (lfuse__strassening){ .out = (int8_t)levels, .right = i == 1 };
    pad(d, shape, &step->strassen);
    return copying_body(step, OWN, 1, type);
}

/* All products in one launch: as the vendor's library takes them, or our own kernels. */
static lfuse_status product_step(lfuse__draft *d, int32_t matmul, int left, int right, int result, lfuse__step *step)
{
    const bool native = lfuse__draft_native(d, matmul);
    const lfuse_type type = (lfuse_type)lfuse__draft_node(d, matmul)->type;
    const lfuse_size *a = d->out->buffers[left].shape, *b = d->out->buffers[right].shape;

    LFUSE__TRY(start_step(step, LFUSE__STEP_GEMM, 3, 3 + native));
    block_operand(d, left, false, &step->operands[0]);
    block_operand(d, right, false, &step->operands[1]);
    block_operand(d, result, true, &step->operands[2 + native]);
    memcpy(step->extents, d->out->buffers[result].shape, sizeof step->extents);
    step->product = (lfuse__product){ .type = type, .m = a[1], .n = b[2], .k = a[2], .alpha = -1, .beta = -1,
                                      .native = native };
    if (!native) return LFUSE_OK;
    block_operand(d, result, false, &step->operands[2]);
    step->operands[2].place = LFUSE__PLACE_SUM;
    step->operands[2].index = 0;
    return copying_body(step, 2, 3, type);
}

/*
 * Products and factors in front of the operands, which begin with the sum. What is stored as factors was the builder's
 * last operand.
 */
static lfuse_status settle(lfuse__draft *d, int32_t matmul, int result, int factors, lfuse__step *step)
{
    const lfuse_type type = step->operands[0].type;
    const int last = step->noperands - 1, own = OWN - 1;
    lfuse__operand *all = calloc((size_t)(step->noperands + own), sizeof *all);
    int i;

    if (!all) return out_of_memory();
    memcpy(all + own, step->operands, (size_t)step->noperands * sizeof *all);
    free(step->operands);
    step->operands = all;
    for (i = 0; i < step->body.ninstr; i++)
        if (step->body.instr[i].kind == LFUSE__I_LOAD) step->body.instr[i].a += (int16_t)own;
    for (i = 0; i < step->body.nstores; i++)
        step->body.stores[i].operand =
            (int16_t)(factors >= 0 && step->body.stores[i].operand == last ? 1 : step->body.stores[i].operand + own);
    step->noperands += factors >= 0 ? own - 1 : own;
    block_operand(d, result, false, &all[0]);
    if (factors >= 0) block_operand(d, factors, true, &all[1]);
    else nowhere(type, true, &all[1]);
    step->strassen = (lfuse__strassening){ .in = d->levels[matmul] };
    if (factors >= 0) step->strassen.out = d->factor_levels[d->onward[matmul]];
    pad(d, lfuse__draft_node(d, matmul)->shape, &step->strassen);
    return LFUSE_OK;
}

static void store_factors(lfuse__draft *d, lfuse__builder *b, const lfuse__unit_loop *loop, int32_t matmul, int sum,
                          int factors)
{
    const lfuse__home home = { .set = true, .place = LFUSE__PLACE_SCRATCH, .index = factors };
    const int32_t node = d->onward[matmul];
    lfuse__view walk;
    int reg = sum;

    if (node < 0) return;
    if (node != matmul) {
        lfuse__draft_frame(d, node, loop, &walk);
        reg = lfuse__builder_value(b, node, &walk);
    }
    lfuse__builder_store(b, reg, &home, node, NULL);
}

static bool fits(const lfuse__step *step)
{
    int i;

    for (i = 0; i < step->noperands; i++)
        if (step->operands[i].gathered >= 0) return false;
    return step->noperands + OWN - 1 <= LFUSE__BODY_OPERANDS;
}

static lfuse_status build(lfuse__draft *d, const lfuse__unit *u, lfuse__builder *b, int result, int factors,
                          lfuse__step *step)
{
    lfuse__unit_loop loop;
    int sum;

    if (u->tail >= 0) {
        lfuse__draft_loop(d, u->tail, &loop);
        lfuse__builder_loop(b, &loop);
    }
    sum = lfuse__builder_sum(b, u->node);
    lfuse__native_store(d, b, u->node, sum);
    if (u->tail >= 0) lfuse__region_stores(d, b, u->tail, &loop);
    store_factors(d, b, &loop, u->node, sum, factors);
    if (!lfuse__builder_overflow(b)) LFUSE__TRY(lfuse__builder_finish(b, LFUSE__STEP_STRASSEN, step));
    if (lfuse__builder_overflow(b) || !fits(step)) { /* the region has a step of its own in the next round */
        d->cut[u->node] = d->changed = true;
        return LFUSE_OK;
    }
    return settle(d, u->node, result, factors, step);
}

/* Behind the products; what goes on has its factors then. */
static lfuse_status end_step(lfuse__draft *d, const lfuse__unit *u, int result, lfuse__step *step)
{
    const lfuse__node *n = lfuse__draft_node(d, u->node);
    const int32_t onward = d->onward[u->node];
    int factors = -1;
    lfuse__builder *b;
    lfuse_status status;

    if (onward >= 0)
        LFUSE__TRY(block_buffer(d, onward, LFUSE__PLACE_SCRATCH, n->shape, false, d->factor_levels[onward],
                                &factors));
    LFUSE__TRY(lfuse__builder_create(d, u->tail, 2, n->shape, &b));
    status = build(d, u, b, result, factors, step);
    lfuse__builder_destroy(b);
    if (onward >= 0) d->factors[onward] = factors;
    return status;
}

static bool has_factors(const lfuse__draft *d, int32_t matmul, int32_t *base)
{
    return lfuse__draft_whole_operand(d, matmul, 0, base) && d->factors[*base] >= 0 &&
           d->factor_levels[*base] == d->levels[matmul];
}

/* Left factors, where nobody has made them; later products of the same operand find them. */
static lfuse_status left_factors(lfuse__draft *d, int32_t matmul, int *index, lfuse__step *step)
{
    int32_t base;
    const bool whole = lfuse__draft_whole_operand(d, matmul, 0, &base);

    LFUSE__TRY(factor_step(d, matmul, 0, index, step));
    if (!whole || d->factors[base] >= 0) return LFUSE_OK;
    d->factors[base] = *index;
    d->factor_levels[base] = d->levels[matmul];
    return LFUSE_OK;
}

lfuse_status lfuse__make_strassen(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    const lfuse__node *n = lfuse__draft_node(d, u->node);
    int left, right, result, at = 0;
    lfuse__step *steps;
    int32_t base;
    const bool made = has_factors(d, u->node, &base);

    LFUSE__TRY(lfuse__stage_create(stage, 1, (const int[]){ 4 - made }));
    stage->alternatives[0].name = "strassen";
    steps = stage->alternatives[0].steps;
    LFUSE__TRY(factor_step(d, u->node, 1, &right, &steps[at++]));
    if (made) left = d->factors[base];
    else LFUSE__TRY(left_factors(d, u->node, &left, &steps[at++]));
    LFUSE__TRY(block_buffer(d, u->node, LFUSE__PLACE_SCRATCH, n->shape, false, d->levels[u->node], &result));
    LFUSE__TRY(product_step(d, u->node, left, right, result, &steps[at++]));
    return end_step(d, u, result, &steps[at]);
}
