/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Text classes of kernels. */
#include <string.h>

#include "common/run/body.h"

/* Bytes, none of which may lie nowhere. */
static bool same(const void *a, const void *b, int count, size_t element)
{
    return !count || !memcmp(a, b, (size_t)count * element);
}

static bool body_equal(const lfuse__body *x, const lfuse__body *y)
{
    return x->ninstr == y->ninstr && x->nstores == y->nstores && x->nnumbers == y->nnumbers &&
           same(x->instr, y->instr, x->ninstr, sizeof *x->instr) &&
           same(x->stores, y->stores, x->nstores, sizeof *x->stores) &&
           same(x->number_types, y->number_types, x->nnumbers, sizeof *x->number_types);
}

bool lfuse__class_equal(const lfuse__kernel_class *a, const lfuse__kernel_class *b)
{
    const lfuse__body *x = a->body, *y = b->body;
    int i;

    if (a->noperands != b->noperands || a->rank != b->rank || a->index64 != b->index64 || !x != !y ||
        a->form != b->form || a->naxes != b->naxes || a->team != b->team || a->held != b->held)
        return false;
    for (i = 0; i < a->noperands; i++)
        if (a->operands[i].type != b->operands[i].type || a->operands[i].written != b->operands[i].written ||
            a->operands[i].inner != b->operands[i].inner || a->operands[i].gathered != b->operands[i].gathered ||
            a->operands[i].index != b->operands[i].index)
            return false;
    return x == y || body_equal(x, y);
}

/* How an operand walks the inner axis of the merged loop when its memory is contiguous as declared. */
static lfuse__stride_class inner_class(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__operand *o,
                                       const lfuse__loop *loop)
{
    int i, inner = -1;

    for (i = loop->first[loop->rank - 1]; i < loop->first[loop->rank]; i++)
        if (step->extents[i] != 1) inner = i;
    if (inner < 0) return LFUSE__STRIDE_UNIT; /* one element: never stepped along */
    switch (lfuse__plan_stepping(plan, o, inner)) {
    case LFUSE__STEPPING_NONE: return LFUSE__STRIDE_REPEAT;
    case LFUSE__STEPPING_UNIT: return LFUSE__STRIDE_UNIT;
    case LFUSE__STEPPING_ANY: break;
    }
    return LFUSE__STRIDE_ANY;
}

static void tensor_class(const lfuse__plan_body *plan, const lfuse__step *step, bool index64, lfuse__kernel_class *k)
{
    lfuse__loop loop;
    int i;

    lfuse__plan_loop(plan, step, step->kind == LFUSE__STEP_ROWSUM ? step->rank - step->naxes : -1, &loop);
    k->body = &step->body;
    k->noperands = step->noperands;
    k->rank = loop.rank;
    k->index64 = index64;
    for (i = 0; i < step->noperands; i++) {
        k->operands[i].type = step->operands[i].type;
        k->operands[i].written = step->operands[i].written;
        k->operands[i].gathered = step->operands[i].gathered >= 0;
        k->operands[i].index = step->operands[i].place == LFUSE__PLACE_INDEX;
        k->operands[i].inner = inner_class(plan, step, &step->operands[i], &loop);
        if (step->kind == LFUSE__STEP_ROWSUM && step->operands[i].written) k->operands[i].inner = LFUSE__STRIDE_REPEAT;
    }
}

/* List kernels count within a chunk, so there is one variant for all sizes. */
static void list_class(const lfuse__step *step, lfuse__kernel_class *k)
{
    int i;

    k->body = &step->body;
    k->noperands = step->noperands;
    k->rank = 1;
    k->index64 = false; /* counted within a chunk */
    for (i = 0; i < step->noperands; i++) {
        const lfuse__operand *o = &step->operands[i];
        k->operands[i].type = o->type;
        k->operands[i].written = o->written;
        k->operands[i].inner = o->span == LFUSE__SPAN_LIST || (o->written && step->each_member) ? LFUSE__STRIDE_UNIT
                                                                                                : LFUSE__STRIDE_REPEAT;
    }
}

int lfuse__step_classes(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                        lfuse__wanted wanted[LFUSE__WANTED_MAX])
{
    memset(wanted, 0, LFUSE__WANTED_MAX * sizeof *wanted);
    switch (step->kind) {
    case LFUSE__STEP_POINTWISE:
    case LFUSE__STEP_ROWSUM:
        wanted[0].family = step->kind == LFUSE__STEP_ROWSUM ? LFUSE__FAMILY_ROWSUM : LFUSE__FAMILY_POINTWISE;
        tensor_class(plan, step, index64, &wanted[0].k);
        return 1;
    case LFUSE__STEP_MULTI:
    case LFUSE__STEP_MEMBER_SUM:
        wanted[0].family = step->kind == LFUSE__STEP_MULTI ? LFUSE__FAMILY_MULTI : LFUSE__FAMILY_PARTIAL;
        list_class(step, &wanted[0].k);
        wanted[1].family = LFUSE__FAMILY_TABLE;
        if (step->kind == LFUSE__STEP_MULTI) return 2;
        wanted[2].family = LFUSE__FAMILY_FOLD;
        wanted[2].k.noperands = 1;
        wanted[2].k.operands[0].type = step->operands[step->body.stores[0].operand].type;
        return 3;
    case LFUSE__STEP_GEMM:
    case LFUSE__STEP_ROWS:
    case LFUSE__STEP_BUNDLE: break;
    }
    return 0;
}

static int64_t most_elements(const lfuse_graph *g, int rank, const lfuse_size *shape, bool least)
{
    int64_t product = 1, low, high;
    int i;

    for (i = 0; i < rank; i++) {
        lfuse__size_bounds(g, shape[i], &low, &high);
        if (__builtin_mul_overflow(product, least ? low : high, &product)) product = INT64_MAX;
    }
    return product;
}

void lfuse__step_indexing(const lfuse__plan_body *plan, const lfuse__step *step, bool *small, bool *large)
{
    int i;

    *small = true;
    *large = true;
    if (step->kind != LFUSE__STEP_POINTWISE && step->kind != LFUSE__STEP_ROWSUM) {
        *small = false;
        return;
    }
    *small = most_elements(plan->graph, step->rank, step->extents, true) <= INT32_MAX;
    *large = most_elements(plan->graph, step->rank, step->extents, false) > INT32_MAX;
    for (i = 0; i < step->noperands; i++) { /* a few elements may lie far apart */
        const lfuse__operand *o = &step->operands[i];
        *large = *large || most_elements(plan->graph, o->rank, o->shape, false) > INT32_MAX;
    }
}

#define COPY_OF(type_)                                                                                                 \
    [type_] = { .ninstr = 1, .nstores = 1, .instr = (lfuse__instr[]){ { LFUSE__I_LOAD, 0, type_, 0, 0, -1, -1, 0 } }, \
                .stores = (lfuse__store[]){ { 0, 1 } } }
#define ZERO_OF(type_)                                                                                                 \
    [type_] = { .ninstr = 1, .nstores = 1, .instr = (lfuse__instr[]){ { LFUSE__I_CONST, 0, type_, 0, -1, -1, -1, 0 } },\
                .stores = (lfuse__store[]){ { 0, 0 } } }
static const lfuse__body copies[] = { COPY_OF(LFUSE_F32), COPY_OF(LFUSE_F16), COPY_OF(LFUSE_BF16),
                                      COPY_OF(LFUSE_F64), COPY_OF(LFUSE_I32), COPY_OF(LFUSE_BOOL),
                                      COPY_OF(LFUSE_I64), COPY_OF(LFUSE_I8),  COPY_OF(LFUSE_U8) };
static const lfuse__body zeros[] = { ZERO_OF(LFUSE_F32), ZERO_OF(LFUSE_F16), ZERO_OF(LFUSE_BF16),
                                     ZERO_OF(LFUSE_F64), ZERO_OF(LFUSE_I32), ZERO_OF(LFUSE_BOOL),
                                     ZERO_OF(LFUSE_I64), ZERO_OF(LFUSE_I8),  ZERO_OF(LFUSE_U8) };

const lfuse__body *lfuse__body_copy(lfuse_type type)
{
    return &copies[type];
}

const lfuse__body *lfuse__body_zero(lfuse_type type)
{
    return &zeros[type];
}
