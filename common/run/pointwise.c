/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Pointwise and row kernels for actual sizes and strides. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/instance.h"

/* A loop over actual extents. */
typedef struct loop {
    int rank, naxes; /* naxes: summed, the last ones; 0: none */
    int64_t extents[LFUSE_MAX_RANK];
    int nwalks;
    lfuse__walk walks[LFUSE__MAX_OPERANDS];
} loop;

static lfuse_status open_loop(const lfuse_instance *in, const lfuse__step *step, loop *l)
{
    int64_t shape[LFUSE_MAX_RANK], strides[LFUSE_MAX_RANK];
    int i, k, rank;

    memset(l, 0, sizeof *l);
    l->rank = step->rank;
    l->naxes = step->kind == LFUSE__STEP_ROWSUM ? step->naxes : 0;
    l->nwalks = step->noperands;
    for (i = 0; i < step->rank; i++)
        LFUSE__TRY(lfuse__size_evaluate(in->plan->graph, step->extents[i], in->sizes, &l->extents[i]));
    for (i = 0; i < step->noperands; i++) {
        const lfuse__operand *o = &step->operands[i];
        lfuse__walk *w = &l->walks[i];
        LFUSE__TRY(lfuse__operand_shape(in, o, &rank, shape, strides));
        w->memory = (lfuse__memory){ o->place, o->index };
        w->type = o->type;
        w->written = o->written;
        for (k = 0; k < step->rank; k++) w->strides[k] = o->axis[k] < 0 ? 0 : strides[o->axis[k]];
    }
    return LFUSE_OK;
}

/* Elements of the loop, or rows: what there is to do; 0: nothing. */
static lfuse_status count(const loop *l, int64_t *rows, int64_t *all)
{
    int i;

    *rows = *all = 1;
    for (i = 0; i < l->rank; i++) {
        if (i < l->rank - l->naxes) *rows *= l->extents[i] ? 1 : 0;
        if (__builtin_mul_overflow(*all, l->extents[i], all))
            return lfuse__error(LFUSE_ERR_OVERFLOW, "a kernel would have more than 2^63 - 1 elements");
    }
    return LFUSE_OK;
}

/* Whether indices of the loop or of an operand need 64 bits. */
static bool is_large(const loop *l, int64_t all)
{
    int i, k;

    if (all > INT32_MAX) return true;
    for (i = 0; i < l->nwalks; i++) {
        int64_t reach = 0, far;
        for (k = 0; k < l->rank; k++) {
            if (l->extents[k] < 2) continue;
            if (__builtin_mul_overflow(l->walks[i].strides[k], l->extents[k] - 1, &far)) return true;
            if (__builtin_add_overflow(reach, far < 0 ? -far : far, &reach)) return true;
        }
        if (reach > INT32_MAX) return true;
    }
    return false;
}

static bool as_declared(const lfuse_instance *in, const lfuse__step *step)
{
    int i;

    for (i = 0; i < step->noperands; i++)
        if (step->operands[i].place == LFUSE__PLACE_BOUND && !in->bound[step->operands[i].index].plain) return false;
    return true;
}

static lfuse_status new_op(lfuse_instance *in, const lfuse__step *step, lfuse__family family,
                           const lfuse__body *body, const int *number_index, lfuse__kernel_op **made)
{
    lfuse__kernel_op *op = calloc(1, sizeof *op);
    lfuse__operation *operation;
    lfuse_status status;

    if (!op) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *op);
    status = lfuse__add_operation(in, step, LFUSE__RUN_KERNEL, &operation);
    if (status) {
        free(op);
        return status;
    }
    operation->as.kernel = op;
    op->family = family;
    op->k.body = body;
    op->number_index = number_index;
    op->g.numbers = op->numbers;
    *made = op;
    return LFUSE_OK;
}

static lfuse_status finish_op(lfuse_instance *in, lfuse__kernel_op *op, const loop *l)
{
    int i;

    op->k.noperands = l->nwalks;
    for (i = 0; i < l->nwalks; i++) {
        op->memory[i] = l->walks[i].memory;
        lfuse__use_memory(in, &op->memory[i]);
    }
    return lfuse__body_kernel(in->plan->body, in->plan->dev, op->family, &op->k, &op->kernel);
}

/* The class that was compiled with the plan, with the axes merged as it was. */
static lfuse_status furnish_declared(lfuse_instance *in, const lfuse__step *step, const loop *l, bool large)
{
    lfuse__wanted wanted[LFUSE__WANTED_MAX];
    lfuse__kernel_op *op;
    lfuse__loop merged;
    int i, k, m;

    lfuse__step_classes(in->body, step, large, wanted);
    lfuse__plan_loop(in->body, step, l->naxes ? l->rank - l->naxes : -1, &merged);
    LFUSE__TRY(new_op(in, step, wanted[0].family, &step->body, step->numbers, &op));
    op->k = wanted[0].k;
    for (m = 0; m < merged.rank; m++) {
        op->g.extents[m] = 1;
        for (k = merged.first[m]; k < merged.first[m + 1]; k++) {
            op->g.extents[m] *= l->extents[k];
            if (step->extents[k] == 1) continue;
            for (i = 0; i < l->nwalks; i++) op->g.strides[i][m] = l->walks[i].strides[k];
        }
    }
    for (i = 0; i < l->nwalks; i++) /* also where the loop is one element, along which nothing is stepped */
        if (op->k.operands[i].inner == LFUSE__STRIDE_UNIT) op->g.strides[i][merged.rank - 1] = 1;
    return finish_op(in, op, l);
}

/* Axes of extent 1 go; the others are ordered so that what is written is walked in the order of its memory. */
static void tidy(loop *l)
{
    const int inner = l->naxes;
    int order[LFUSE_MAX_RANK], n = 0, summed = 0, i, j, k, w = 0;
    loop t = *l;

    for (i = 0; i < l->nwalks; i++)
        if (l->walks[i].written) w = i;
    for (i = 0; i < l->rank; i++) {
        if (l->extents[i] == 1) continue;
        j = n;
        while (!inner && j && llabs(l->walks[w].strides[order[j - 1]]) < llabs(l->walks[w].strides[i])) j--;
        memmove(order + j + 1, order + j, (size_t)(n - j) * sizeof *order);
        order[j] = i;
        n++;
        if (i >= l->rank - l->naxes) summed++;
    }
    for (k = 0; k < n; k++) {
        t.extents[k] = l->extents[order[k]];
        for (i = 0; i < l->nwalks; i++) t.walks[i].strides[k] = l->walks[i].strides[order[k]];
    }
    t.rank = n;
    t.naxes = summed;
    if (!n || (inner && !summed)) { /* one element, or a row of one */
        t.extents[n] = 1;
        for (i = 0; i < l->nwalks; i++) t.walks[i].strides[n] = 0;
        t.rank++;
        t.naxes = inner ? 1 : 0;
    }
    *l = t;
}

static bool walk_merges(const lfuse__walk *w, const int64_t *extents, int a)
{
    return w->strides[a] == w->strides[a + 1] * extents[a + 1];
}

/* Merges neighbours that all operands walk as one; never a summed axis with one that is not. */
static void merge(loop *l)
{
    int a, i, k;

    for (a = l->rank - 2; a >= 0; a--) {
        bool all = a + 1 != l->rank - l->naxes || !l->naxes;
        for (i = 0; i < l->nwalks && all; i++)
            all = walk_merges(&l->walks[i], l->extents, a) ||
                  (l->naxes && l->walks[i].written && a >= l->rank - l->naxes);
        if (!all) continue;
        if (l->naxes && a >= l->rank - l->naxes) l->naxes--;
        l->extents[a] *= l->extents[a + 1];
        for (i = 0; i < l->nwalks; i++) l->walks[i].strides[a] = l->walks[i].strides[a + 1];
        for (k = a + 1; k < l->rank - 1; k++) {
            l->extents[k] = l->extents[k + 1];
            for (i = 0; i < l->nwalks; i++) l->walks[i].strides[k] = l->walks[i].strides[k + 1];
        }
        l->rank--;
    }
}

static lfuse__stride_class stride_class(int64_t stride)
{
    return stride == 0 ? LFUSE__STRIDE_REPEAT : stride == 1 ? LFUSE__STRIDE_UNIT : LFUSE__STRIDE_ANY;
}

static lfuse_status furnish_merged(lfuse_instance *in, const lfuse__step *step, lfuse__family family,
                                   const lfuse__body *body, const int *number_index, const loop *l, bool large)
{
    lfuse__kernel_op *op;
    int i, k;

    LFUSE__TRY(new_op(in, step, family, body, number_index, &op));
    op->k.rank = l->rank;
    op->k.index64 = large;
    for (k = 0; k < l->rank; k++) op->g.extents[k] = l->extents[k];
    for (i = 0; i < l->nwalks; i++) {
        op->k.operands[i].type = l->walks[i].type;
        op->k.operands[i].written = l->walks[i].written;
        op->k.operands[i].inner = family == LFUSE__FAMILY_ROWSUM && l->walks[i].written
                                      ? LFUSE__STRIDE_REPEAT : stride_class(l->walks[i].strides[l->rank - 1]);
        for (k = 0; k < l->rank; k++) op->g.strides[i][k] = l->walks[i].strides[k];
    }
    return finish_op(in, op, l);
}

lfuse_status lfuse__furnish_copy(lfuse_instance *in, const lfuse__step *step, int rank, const int64_t *extents,
                                 const lfuse__walk *target, const lfuse__walk *source)
{
    const lfuse__body *body = source ? lfuse__body_copy(target->type) : lfuse__body_zero(target->type);
    int64_t rows, all;
    loop l;

    memset(&l, 0, sizeof l);
    l.rank = rank;
    memcpy(l.extents, extents, (size_t)rank * sizeof *extents);
    if (source) l.walks[l.nwalks++] = *source;
    l.walks[l.nwalks++] = *target;
    LFUSE__TRY(count(&l, &rows, &all));
    if (!all) return LFUSE_OK;
    tidy(&l);
    merge(&l);
    return furnish_merged(in, step, LFUSE__FAMILY_POINTWISE, body, NULL, &l, is_large(&l, all));
}

/* An operand whose summed axes cannot be walked as one is laid out anew, in the order of the loop. */
static lfuse_status straighten(lfuse_instance *in, const lfuse__step *step, loop *l)
{
    int64_t stride, all, rows;
    int i, k;

    LFUSE__TRY(count(l, &rows, &all));
    for (i = 0; i < l->nwalks; i++) {
        lfuse__walk copy = l->walks[i];
        bool one = l->walks[i].written;
        for (k = l->rank - l->naxes; k < l->rank - 1 && !one; k++)
            if (!walk_merges(&l->walks[i], l->extents, k)) break;
        if (one || k == l->rank - 1) continue;
        copy.memory.place = LFUSE__PLACE_SCRATCH;
        copy.written = true;
        LFUSE__TRY(lfuse__add_buffer(in, LFUSE__PLACE_SCRATCH, (uint64_t)all * lfuse_type_size(copy.type),
                                     &copy.memory.index));
        for (stride = 1, k = l->rank - 1; k >= 0; k--) {
            copy.strides[k] = stride;
            stride *= l->extents[k];
        }
        LFUSE__TRY(lfuse__furnish_copy(in, step, l->rank, l->extents, &copy, &l->walks[i]));
        copy.written = false;
        l->walks[i] = copy;
    }
    return LFUSE_OK;
}

/* Whether the declared merge leaves one summed axis. */
static bool one_row_axis(const lfuse_instance *in, const lfuse__step *step)
{
    lfuse__loop merged;

    if (step->kind != LFUSE__STEP_ROWSUM) return true;
    lfuse__plan_loop(in->body, step, step->rank - step->naxes, &merged);
    return merged.first[merged.rank - 1] == step->rank - step->naxes;
}

lfuse_status lfuse__furnish_kernel(lfuse_instance *in, const lfuse__step *step)
{
    const bool sums = step->kind == LFUSE__STEP_ROWSUM;
    const lfuse__family family = sums ? LFUSE__FAMILY_ROWSUM : LFUSE__FAMILY_POINTWISE;
    int64_t rows, all;
    loop l;

    LFUSE__TRY(open_loop(in, step, &l));
    LFUSE__TRY(count(&l, &rows, &all));
    if (!rows || (!all && !sums)) return LFUSE_OK;
    if (as_declared(in, step) && one_row_axis(in, step)) return furnish_declared(in, step, &l, is_large(&l, all));
    tidy(&l);
    if (sums) LFUSE__TRY(straighten(in, step, &l));
    merge(&l);
    return furnish_merged(in, step, family, &step->body, step->numbers, &l, is_large(&l, all));
}

static bool move_operands(lfuse_instance *in, lfuse__kernel_op *op)
{
    lfuse__location at;
    bool moved = false;
    int i;

    for (i = 0; i < op->k.noperands; i++) {
        lfuse__memory_at(in, &op->memory[i], &at);
        moved = moved || op->g.offsets[i] != at.offset || op->g.addresses[i] != at.address;
        op->buffers[i] = at.mem;
        op->g.offsets[i] = at.offset;
        op->g.addresses[i] = at.address;
    }
    return moved;
}

static bool renumber(lfuse_instance *in, lfuse__kernel_op *op)
{
    bool other = false;
    int i;

    for (i = 0; i < op->k.body->nnumbers; i++) {
        const double number = in->numbers[op->number_index[i]];
        other = other || memcmp(&op->numbers[i], &number, sizeof number);
        op->numbers[i] = number;
    }
    return other;
}

lfuse_status lfuse__kernel_op_place(lfuse_instance *in, lfuse__kernel_op *op)
{
    const bool moved = move_operands(in, op), other = renumber(in, op), sums = op->family == LFUSE__FAMILY_ROWSUM;
    lfuse_status status;

    if (op->is_packed && !moved && !other) return LFUSE_OK;
    if (!op->is_packed) {
        status = sums ? lfuse__rowsum_pack(&op->k, in->facts, &op->g, &op->packed)
                      : lfuse__pointwise_pack(&op->k, in->facts, &op->g, &op->packed);
        op->is_packed = !status;
        return status;
    }
    if (sums) lfuse__rowsum_rebind(&op->k, in->facts, &op->g, &op->packed);
    else lfuse__pointwise_rebind(&op->k, in->facts, &op->g, &op->packed);
    return LFUSE_OK;
}
