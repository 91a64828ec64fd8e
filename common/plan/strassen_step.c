/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a product by Strassen's algorithm: its factors where nobody has made them yet (of frozen operands in the
 * prepare phase), one batch of 7^L products, and a kernel for what they come to: that adds them up, computes the region
 * behind the product, and makes the factors of the product that follows.
 */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum { OWN = 3 }; /* operands in front of the body's own: products, factors, the sum */

static lfuse_status out_of_memory(void)
{
    return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made");
}

/* What a step is over: an operand of a product, or what it comes to, as it is stored. */
typedef struct matrix {
    lfuse_size extents[2];
    bool wide[2]; /* padded to whole vectors: rows of blocks run along it here or where it meets another matrix */
} matrix;

static matrix left_matrix(const lfuse__draft *d, const lfuse_size *shape)
{
    return (matrix){ { shape[0], shape[1] }, { d->wide_rows, true } };
}

static matrix right_matrix(const lfuse_size *shape)
{
    return (matrix){ { shape[0], shape[1] }, { true, true } };
}

static matrix turn(matrix m)
{
    return (matrix){ { m.extents[1], m.extents[0] }, { m.wide[1], m.wide[0] } };
}

/* An extent of a block of so many levels, padded for the most of the plan, so that steps of one level meet others. */
static lfuse_size block_extent(lfuse__draft *d, const matrix *m, int axis, int levels)
{
    const int64_t each = m->wide[axis] ? lfuse__strassen_vector(d->facts, d->narrow_factors) : 1;
    lfuse_graph *g = d->out->graph;

    return lfuse__size_product(g, lfuse__size_pieces(g, m->extents[axis], each << d->most_levels),
                               each << (d->most_levels - levels));
}

static void pad(lfuse__draft *d, const matrix *m, lfuse__strassening *s)
{
    s->rows = block_extent(d, m, 0, 0);
    s->columns = block_extent(d, m, 1, 0);
}

/* Factors are stored as the operands are; products, which the sums are made of, as wide as they are added up. */
static lfuse_type factor_type(const lfuse__draft *d, int32_t matmul)
{
    return (lfuse_type)lfuse__draft_node(d, lfuse__draft_node(d, matmul)->in[0])->type;
}

static lfuse_type sum_type(const lfuse__draft *d, int32_t matmul)
{
    return lfuse__register_type(factor_type(d, matmul));
}

/* Memory for the 7^levels matrices that a matrix is made into. */
static lfuse_status block_buffer(lfuse__draft *d, int32_t like, lfuse_type type, lfuse__place place, const matrix *m,
                                 int levels, int *index)
{
    const lfuse_size rows = block_extent(d, m, 0, levels), columns = block_extent(d, m, 1, levels);
    lfuse__buffer *b;

    LFUSE__TRY(lfuse__draft_buffer(d, like, place, index));
    b = &d->out->buffers[*index];
    b->type = type;
    memset(b->shape, 0, sizeof b->shape);
    b->rank = 3;
    b->shape[0] = lfuse__strassen_count(levels);
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

static void swap_axes(lfuse__operand *o, int i, int k)
{
    const int8_t axis = o->axis[i];
    const lfuse_size step = o->step[i];

    o->axis[i] = o->axis[k], o->step[i] = o->step[k];
    o->axis[k] = axis, o->step[k] = step;
}

/* Operand i of the product, in the order in which it is stored. */
static matrix operand_matrix(const lfuse__draft *d, int32_t matmul, int i)
{
    const lfuse_size *shape = lfuse__draft_node(d, lfuse__draft_node(d, matmul)->in[i])->shape;
    const matrix m = i ? right_matrix(shape) : left_matrix(d, shape);

    return lfuse__draft_transposed(d, matmul, i) ? turn(m) : m;
}

static lfuse_status factor_buffer(lfuse__draft *d, int32_t matmul, int i, int *index)
{
    const matrix m = operand_matrix(d, matmul, i);
    const lfuse__place place = lfuse__draft_frozen(d, matmul, i) ? LFUSE__PLACE_PREPARED : LFUSE__PLACE_SCRATCH;

    return block_buffer(d, matmul, factor_type(d, matmul), place, &m, d->nodes[matmul].levels, index);
}

/* The factors of operand i of the product, into a buffer of their own. */
static lfuse_status factor_step(lfuse__draft *d, int32_t matmul, int i, int index, lfuse__step *step)
{
    lfuse__view walk;
    const int32_t base = lfuse__draft_operand(d, matmul, i, &walk);
    const bool transposed = lfuse__draft_transposed(d, matmul, i);
    const lfuse_type type = factor_type(d, matmul), sum = sum_type(d, matmul);
    const matrix m = operand_matrix(d, matmul, i);

    LFUSE__TRY(start_step(step, LFUSE__STEP_STRASSEN, 2, OWN + 1));
    nowhere(sum, false, &step->operands[0]);
    block_operand(d, index, true, &step->operands[1]);
    nowhere(sum, false, &step->operands[2]);
    LFUSE__TRY(lfuse__draft_operand_at(d, base, &d->memory[base].home, &walk, &step->operands[OWN]));
    if (transposed) swap_axes(&step->operands[OWN], 0, 1);
    memcpy(step->extents, m.extents, sizeof m.extents);
    step->prepare = lfuse__draft_frozen(d, matmul, i);
    step->strassen = (lfuse__strassening){ .out = d->nodes[matmul].levels, .right = i == 1, .transposed = transposed };
    pad(d, &m, &step->strassen);
    return copying_body(step, OWN, 1, type);
}

/* All products in one launch: as the vendor's library takes them, or our own kernels. */
static lfuse_status product_step(lfuse__draft *d, int32_t matmul, bool native, int left, int right, int result,
                                 lfuse__step *step)
{
    const lfuse_type type = factor_type(d, matmul), sum = sum_type(d, matmul);
    const bool transposed[2] = { lfuse__draft_transposed(d, matmul, 0), lfuse__draft_transposed(d, matmul, 1) };
    const lfuse_size *a = d->out->buffers[left].shape, *c = d->out->buffers[result].shape;
    lfuse__matmul_desc desc;
    int i;

    LFUSE__TRY(start_step(step, LFUSE__STEP_GEMM, 3, 3 + native));
    block_operand(d, left, false, &step->operands[0]);
    block_operand(d, right, false, &step->operands[1]);
    block_operand(d, result, true, &step->operands[2 + native]);
    for (i = 0; i < 2; i++)
        if (transposed[i]) swap_axes(&step->operands[i], 1, 2);
    memcpy(step->extents, d->out->buffers[result].shape, sizeof step->extents);
    lfuse__draft_describe(d, matmul, &desc);
    step->product = (lfuse__product){ .type = type, .wide = type != sum, .m = c[1], .n = c[2],
                                      .k = a[transposed[0] ? 1 : 2], .alpha = -1, .beta = -1, .native = native,
                                      .precision = native ? desc.precision : LFUSE_PRECISION_FULL,
                                      .frozen = { desc.frozen[0], desc.frozen[1] } };
    if (!native) return LFUSE_OK;
    block_operand(d, result, false, &step->operands[2]);
    step->operands[2].place = LFUSE__PLACE_SUM;
    step->operands[2].index = 0;
    return copying_body(step, 2, 3, sum);
}

/*
 * Products and factors in front of the operands, which begin with the sum. What is stored as factors was the builder's
 * last operand.
 */
static lfuse_status settle(lfuse__draft *d, int32_t matmul, int result, int factors, lfuse__step *step)
{
    const lfuse_type type = step->operands[0].type;
    const int last = step->noperands - 1, own = OWN - 1;
    const matrix m = left_matrix(d, lfuse__draft_node(d, matmul)->shape);
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
    step->strassen = (lfuse__strassening){ .in = d->nodes[matmul].levels };
    if (factors >= 0) step->strassen.out = d->nodes[d->nodes[matmul].next_product].factor_levels;
    pad(d, &m, &step->strassen);
    return LFUSE_OK;
}

static void store_factors(lfuse__draft *d, lfuse__builder *b, const lfuse__unit_loop *loop, int32_t matmul, int sum,
                          int factors)
{
    const lfuse__home home = { .set = true, .place = LFUSE__PLACE_SCRATCH, .index = factors };
    const int32_t node = d->nodes[matmul].next_product;
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
        d->nodes[u->node].cut = d->changed = true;
        return LFUSE_OK;
    }
    return settle(d, u->node, result, factors, step);
}

/* Behind the products. */
static lfuse_status end_step(lfuse__draft *d, const lfuse__unit *u, int result, int factors, lfuse__step *step)
{
    lfuse__builder *b;

    LFUSE__TRY(lfuse__builder_begin(d, u->tail, 2, lfuse__draft_node(d, u->node)->shape, &b));
    return build(d, u, b, result, factors, step);
}

/* The buffers of a product; factors: those of the product that it goes on to, -1. */
typedef struct buffers {
    int right, left, result, factors;
    bool made; /* the left factors, by an earlier step */
} buffers;

/* Left factors, where nobody has made them; later products of the same operand find them. */
static lfuse_status left_factors(lfuse__draft *d, int32_t matmul, buffers *to)
{
    int32_t base;
    const bool whole = lfuse__draft_whole_operand(d, matmul, 0, &base);

    to->made = whole && d->nodes[base].factors >= 0 && d->nodes[base].factor_levels == d->nodes[matmul].levels;
    if (to->made) {
        to->left = d->nodes[base].factors;
        return LFUSE_OK;
    }
    LFUSE__TRY(factor_buffer(d, matmul, 0, &to->left));
    if (!whole || d->nodes[base].factors >= 0) return LFUSE_OK;
    d->nodes[base].factors = to->left;
    d->nodes[base].factor_levels = d->nodes[matmul].levels;
    return LFUSE_OK;
}

static lfuse_status make_buffers(lfuse__draft *d, int32_t matmul, buffers *to)
{
    const matrix m = left_matrix(d, lfuse__draft_node(d, matmul)->shape);
    const int32_t next = d->nodes[matmul].next_product;

    to->factors = -1;
    LFUSE__TRY(factor_buffer(d, matmul, 1, &to->right));
    LFUSE__TRY(left_factors(d, matmul, to));
    LFUSE__TRY(block_buffer(d, matmul, sum_type(d, matmul), LFUSE__PLACE_SCRATCH, &m, d->nodes[matmul].levels,
                            &to->result));
    if (next < 0) return LFUSE_OK;
    LFUSE__TRY(block_buffer(d, next, (lfuse_type)lfuse__draft_node(d, next)->type, LFUSE__PLACE_SCRATCH, &m,
                            d->nodes[next].factor_levels, &to->factors));
    d->nodes[next].factors = to->factors;
    return LFUSE_OK;
}

static lfuse_status make_steps(lfuse__draft *d, const lfuse__unit *u, bool native, const buffers *at,
                               lfuse__step *steps)
{
    LFUSE__TRY(factor_step(d, u->node, 1, at->right, steps++));
    if (!at->made) LFUSE__TRY(factor_step(d, u->node, 0, at->left, steps++));
    LFUSE__TRY(product_step(d, u->node, native, at->left, at->right, at->result, steps++));
    return end_step(d, u, at->result, at->factors, steps);
}

/* As add_reserve() in product.c: for the vendor that declines at run time. */
static bool has_reserve(const lfuse__draft *d, bool native)
{
    return !native && d->provider == LFUSE_PROVIDER_DEFAULT && d->advice->has_tiles(d->facts);
}

lfuse_status lfuse__make_strassen(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    const bool native = lfuse__draft_native(d, u->node);
    buffers at;
    int nsteps;

    LFUSE__TRY(make_buffers(d, u->node, &at));
    nsteps = 4 - at.made;
    LFUSE__TRY(lfuse__stage_create(stage, 1 + has_reserve(d, native), (const int[]){ nsteps, nsteps }));
    stage->alternatives[0].name = "strassen";
    LFUSE__TRY(make_steps(d, u, native, &at, stage->alternatives[0].steps));
    if (stage->nalternatives == 1 || d->changed) return LFUSE_OK; /* changed: there is another round */
    stage->alternatives[1].name = "strassen-native";
    return make_steps(d, u, true, &at, stage->alternatives[1].steps);
}
