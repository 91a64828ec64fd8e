/* SPDX-License-Identifier: Apache-2.0 */
/* Steps over lists: checks, the operation of a step, and its launches. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/bind/bind.h"
#include "common/run/lists/list_op.h"
#include "common/run/operations/operations.h"

int lfuse__list_rank(const lfuse_instance *in, int list)
{
    return list < in->plan->nnames ? in->plan->graph->nodes[in->plan->names[list].node].rank : LFUSE_RANK_MATRIX;
}

int64_t lfuse__list_span_size(const lfuse_instance *in, int name, lfuse__span span, int64_t m)
{
    const lfuse__member *x = &lfuse__list_of(in, name)->members[m];
    const int rank = lfuse__list_rank(in, name);

    switch (span) {
    case LFUSE__SPAN_ROWS: return rank == LFUSE_RANK_MATRIX ? x->matrices * x->rows : x->elements;
    case LFUSE__SPAN_COLUMNS: return rank == LFUSE_RANK_MATRIX ? x->matrices * x->columns : x->elements;
    case LFUSE__SPAN_MATRICES: return rank == LFUSE_RANK_MATRIX     ? x->matrices
                                      : rank == LFUSE_RANK_MATRICES ? x->elements
                                                                    : -1;
    case LFUSE__SPAN_MEMBERS:
    case LFUSE__SPAN_TENSOR: return 1;
    case LFUSE__SPAN_LIST: break;
    }
    return x->elements;
}

uint64_t lfuse__list_buffer_bytes(const lfuse_instance *in, const lfuse__buffer *b)
{
    const lfuse_list *l = lfuse__list_of(in, b->list);
    int64_t all = 0, m;

    if (!l) return 0;
    for (m = 0; m < l->count; m++) {
        const int64_t n = lfuse__list_span_size(in, b->list, b->span, m);
        all += b->span == LFUSE__SPAN_MEMBERS ? 1 : lfuse__list_padded(n > 0 ? n : 0);
    }
    return (uint64_t)all * lfuse_type_size(b->type);
}

/* ---- checks ---- */

static const char *const span_words[] = { "", " as of ", ": one for each member of ", ": one for each row of ",
                                          ": one for each column of ", ": one for each matrix of " };

static bool same_matrices(const lfuse__member *a, const lfuse__member *b)
{
    return a->matrices == b->matrices && a->rows == b->rows && a->columns == b->columns;
}

static bool is_matrix(const lfuse_instance *in, int name)
{
    return lfuse__list_rank(in, name) == LFUSE_RANK_MATRIX;
}

/* The members of `other` are as those of `first`, or as this span of theirs. */
static lfuse_status check_pair(const lfuse_instance *in, int first, int other, lfuse__span span)
{
    const bool matrix = is_matrix(in, first) && is_matrix(in, other), each = span != LFUSE__SPAN_MEMBERS;
    const lfuse_list *a = lfuse__list_of(in, first), *b = lfuse__list_of(in, other);
    const char *x = lfuse__list_name(in, first), *y = lfuse__list_name(in, other);
    int64_t m;

    if (a->count != b->count)
        return lfuse__error(LFUSE_ERR_SHAPE, "list \"%s\" has %" PRId64 " members, \"%s\" %" PRId64, x, a->count, y,
                            b->count);
    for (m = 0; m < a->count; m++) {
        const lfuse__member *p = &a->members[m], *q = &b->members[m];
        const int64_t wanted = lfuse__list_span_size(in, first, span, m);
        if (q->elements != wanted)
            return lfuse__error(LFUSE_ERR_SHAPE, "member %" PRId64 " of list \"%s\" has %" PRId64 " elements, not %"
                                PRId64 "%s%s", m, y, q->elements, wanted, each ? span_words[span] : "", each ? x : "");
        if (matrix && !same_matrices(p, q))
            return lfuse__error(LFUSE_ERR_SHAPE, "member %" PRId64 " of list \"%s\" is %" PRId64 " matrices of %" PRId64
                                " x %" PRId64 ", of \"%s\" %" PRId64 " of %" PRId64 " x %" PRId64, m, x, p->matrices,
                                p->rows, p->columns, y, q->matrices, q->rows, q->columns);
    }
    return LFUSE_OK;
}

/* Kernels walk members flat but where products take matrices of them. */
static lfuse_status check_strides(const lfuse_instance *in, const lfuse__step *step)
{
    int i;

    for (i = 0; i < step->noperands; i++) {
        const lfuse__operand *o = &step->operands[i];
        if (o->place != LFUSE__PLACE_BOUND || o->span == LFUSE__SPAN_TENSOR) continue;
        if (step->kind == LFUSE__STEP_GROUPED && is_matrix(in, o->index) &&
            (i < LFUSE__PRODUCT_SUM || o->span == LFUSE__SPAN_LIST))
            continue;
        LFUSE__TRY(lfuse__list_flat(lfuse__list_of(in, o->index), in->plan->names[o->index].text));
    }
    return LFUSE_OK;
}

static lfuse_status check_step(const lfuse_instance *in, const lfuse__step *step)
{
    const int list = lfuse__step_list(step);
    int i;

    if (list < 0) return LFUSE_OK;
    LFUSE__TRY(check_strides(in, step));
    /* Factors have been compared where the sizes of their products were found. */
    for (i = step->kind == LFUSE__STEP_GROUPED ? LFUSE__PRODUCT_OWN : 0; i < step->noperands; i++) {
        const lfuse__operand *o = &step->operands[i];
        if (o->place >= LFUSE__PLACE_ELEMENTS && o->index != list && is_matrix(in, o->index))
            LFUSE__TRY(check_pair(in, o->index, list,
                                  is_matrix(in, list) ? LFUSE__SPAN_LIST : step->lists.walked));
        if (o->place != LFUSE__PLACE_BOUND || o->span == LFUSE__SPAN_TENSOR || o->index == list) continue;
        LFUSE__TRY(check_pair(in, list, o->index, o->span));
    }
    if (step->kind == LFUSE__STEP_MEMBERS) LFUSE__TRY(lfuse__list_check_members(in, step));
    return LFUSE_OK;
}

lfuse_status lfuse__lists_check(lfuse_instance *in, const lfuse__slot *slots)
{
    int i, k;

    for (i = 0; i < in->plan->nnames; i++)
        if (slots[i].list && slots[i].list->count > UINT32_MAX)
            return lfuse__error(LFUSE_ERR_OVERFLOW, "list \"%s\" has %" PRId64 " members, more than 2^32 - 1",
                                in->plan->names[i].text, slots[i].list->count);
    LFUSE__TRY(lfuse__list_products_size(in));
    for (i = 0; i < in->body->nstages; i++)
        for (k = 0; k < in->body->stages[i].alternatives[0].nsteps; k++)
            LFUSE__TRY(check_step(in, &in->body->stages[i].alternatives[0].steps[k]));
    return LFUSE_OK;
}

bool lfuse__list_counts(const lfuse__step *step)
{
    int i;

    for (i = 0; i < step->noperands && step->kind == LFUSE__STEP_MULTI; i++)
        if (step->operands[i].written && step->operands[i].span == LFUSE__SPAN_TENSOR) return true;
    return false;
}

/* ---- the operation ---- */

/* Device tables alone can have been written by others: by launches that a native graph holds. */
static void forget(lfuse__operation *operation)
{
    lfuse__list_op *op = operation->as.lists;

    if (op->transport != LFUSE_TRANSPORT_TABLE) return;
    op->valid = false;
    op->moved = true;
}

static bool is_settled(const lfuse__operation *operation)
{
    const lfuse__list_op *op = operation->as.lists;

    return op->transport != LFUSE_TRANSPORT_TABLE || (op->valid && !op->moved);
}

static lfuse_status launch_batch(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s, int batch)
{
    const lfuse__list_batch *b = &op->batches[batch];
    const double *numbers = lfuse__list_numbers(op, batch);
    const lfuse__list_class *c = &op->k.list;
    lfuse__packed *p = &op->packed;

    LFUSE__TRY(lfuse__multi_pack(&op->k, in->facts, op->nentries, b->first_chunk, b->chunks, numbers, p));
    if (c->groups)
        lfuse__multi_pack_groups(&op->k, lfuse__list_groups(op, b->group), op->groups->group_first + b->group,
                                 c->carried ? b->first_member : 0, numbers, p);
    if (batch == op->nbatches - 1 && lfuse__multi_counts(&op->k))
        lfuse__multi_pack_last(&op->k, op->device->offset + op->ticket_at,
                               c->carried ? 0 : (uint64_t)b->first_member, p);
    return lfuse__list_launch(in, op, s, op->kernel, batch, LFUSE__LIST_TABLES, NULL);
}

/* Of the run that is being made: all that the step needs, where it has groups for each of them. */
static void take_numbers(const lfuse_instance *in, lfuse__list_op *op)
{
    const int n = op->step->body.nnumbers;
    int64_t g;
    int i;

    for (i = 0; i < n; i++) op->numbers[i] = in->numbers[op->step->numbers[i]];
    for (g = 0; op->groups && g < op->groups->groups; g++)
        for (i = 0; i < n; i++)
            op->group_numbers[g * n + i] = lfuse__graph_number(in->body->graph,
                                                               in->body->numbers[op->step->numbers[i]],
                                                               in->group_scalars + g * in->plan->nnames, in->sizes);
}

static lfuse_status set_args(lfuse_instance *in, lfuse__operation *operation, const lfuse__slot *slots)
{
    take_numbers(in, operation->as.lists);
    return lfuse__list_follow(in, operation->as.lists, slots);
}

static lfuse_status prime(lfuse_instance *in, lfuse__operation *operation)
{
    lfuse__list_op *op = operation->as.lists;
    const size_t bytes = 2 * (size_t)op->nentries * (size_t)op->step->noperands * sizeof *op->entries;

    LFUSE__TRY(set_args(in, operation, in->kept));
    if (op->transport == LFUSE_TRANSPORT_UNIFIED) LFUSE__TRY(lfuse__list_publish(in, op, NULL));
    if (op->transport == LFUSE_TRANSPORT_TABLE) {
        memcpy(op->entries, op->fresh, bytes);
        LFUSE__TRY(lfuse__table_upload(in->plan->dev, op->device, op->addresses_at, op->entries, bytes));
    }
    op->valid = true;
    op->moved = false;
    return LFUSE_OK;
}

static lfuse_status launch(lfuse_instance *in, const lfuse__operation *operation, lfuse_stream *s)
{
    lfuse__list_op *op = operation->as.lists;
    int i;

    if (op->transport == LFUSE_TRANSPORT_UNIFIED) LFUSE__TRY(lfuse__list_publish(in, op, s));
    if (op->transport == LFUSE_TRANSPORT_TABLE && (op->moved || !op->valid))
        LFUSE__TRY(lfuse__list_update_table(op, s));
    op->moved = false;
    if (lfuse__list_lines(op)) return lfuse__list_run_lines(in, op, s);
    if (lfuse__list_multiplies(op)) return lfuse__list_run_products(in, op, s);
    if (lfuse__list_reduces(op)) return lfuse__list_run_members(in, op, s);
    for (i = 0; i < op->nbatches; i++)
        if (op->batches[i].chunks || lfuse__list_counts(op->step)) LFUSE__TRY(launch_batch(in, op, s, i));
    return LFUSE_OK;
}

static void destroy(lfuse__operation *operation)
{
    lfuse__list_op *op = operation->as.lists;

    lfuse__kernel_destroy(op->kernel);
    lfuse__kernel_destroy(op->table);
    lfuse__kernel_destroy(op->partial);
    lfuse__range_release(op->device);
    lfuse__list_versions_destroy(op);
    lfuse__arena_free(&op->memory);
    free(op->blocks[LFUSE__LIST_BLOCK].words);
    free(op->blocks[LFUSE__FOLD_BLOCK].words);
    free(op->batches);
    free(op);
}

static const lfuse__operation_row list_operation = {
    .set_args = set_args, .launch = launch, .destroy = destroy, .prime = prime, .forget = forget,
    .settled = is_settled
};

/* ---- making it ---- */

static lfuse__kernel **kernel_of(lfuse__list_op *op, const lfuse__kernel_class *k)
{
    if (k->family == LFUSE__FAMILY_TABLE) return &op->table;
    if (k->family == LFUSE__FAMILY_GROUPED && k->product.phase == LFUSE__GROUPED_PACK) return &op->partial;
    return k->family == LFUSE__FAMILY_PARTIAL || k->family == LFUSE__FAMILY_LINES ? &op->partial : &op->kernel;
}

static lfuse_status make_kernels(lfuse_instance *in, lfuse__list_op *op)
{
    lfuse__kernel_class wanted[LFUSE__WANTED_MAX];
    int i, count;

    LFUSE__TRY(lfuse__list_choose(in, op, wanted, &count));
    for (i = 0; i < count; i++)
        LFUSE__TRY(lfuse__body_kernel(in->plan->body, in->plan->dev, &wanted[i], kernel_of(op, &wanted[i])));
    return LFUSE_OK;
}

/* Whether the step computes something of all members together, which a list of no members has too. */
static bool has_totals(const lfuse__step *step)
{
    int i;

    for (i = 0; i < step->body.ninstr; i++)
        if (step->body.instr[i].kind == LFUSE__I_TOTAL) return true;
    return false;
}

/*
 * Whether the step has anything to run: a list of no members has nothing but what all members give together, and what
 * is stored once for the list.
 */
static bool is_needed(const lfuse_instance *in, const lfuse__step *step)
{
    return lfuse__list_of(in, step->lists.list)->count || has_totals(step) || lfuse__list_counts(step);
}

/* The classes of a step's kernels, behind the `count` that there are. What cannot be multiplied is said here, once. */
static lfuse_status want_step(lfuse_instance *in, const lfuse__step *step, lfuse__kernel_class *wanted, int *count)
{
    if ((step->kind != LFUSE__STEP_MULTI && step->kind != LFUSE__STEP_MEMBERS && step->kind != LFUSE__STEP_GROUPED) ||
        !is_needed(in, step))
        return LFUSE_OK;
    if (step->kind == LFUSE__STEP_GROUPED) {
        lfuse__step_classes(in->body, step, true, wanted + *count);
        LFUSE__TRY(lfuse__list_choose_product(in, step, &wanted[*count]));
    }
    *count += lfuse__list_classes(in, step, wanted + *count);
    return LFUSE_OK;
}

lfuse_status lfuse__lists_compile(lfuse_instance *in)
{
    lfuse_status status = LFUSE_OK;
    lfuse__kernel_class *wanted;
    int i, k, steps = 0, count = 0;

    for (i = 0; i < in->body->nstages; i++)
        for (k = 0; k < in->body->stages[i].alternatives[0].nsteps; k++)
            steps += lfuse__step_list(&in->body->stages[i].alternatives[0].steps[k]) >= 0;
    if (!steps) return LFUSE_OK;
    wanted = malloc((size_t)steps * LFUSE__WANTED_MAX * sizeof *wanted);
    if (!wanted) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d kernels)", steps);
    for (i = 0; i < in->body->nstages; i++)
        for (k = 0; k < in->body->stages[i].alternatives[0].nsteps && !status; k++)
            status = want_step(in, &in->body->stages[i].alternatives[0].steps[k], wanted, &count);
    if (count && !status) status = lfuse__body_want(in->plan->body, in->plan->dev, count, wanted);
    free(wanted);
    return status;
}

lfuse_status lfuse__add_lists(lfuse_instance *in, const lfuse__step *step, bool low_memory, bool *uses_workspace)
{
    const lfuse_list *l = lfuse__list_of(in, step->lists.list);
    lfuse__operation *operation;
    lfuse__list_op *op;
    lfuse_status status;
    int i;

    if (!is_needed(in, step)) return LFUSE_OK;
    op = calloc(1, sizeof *op);
    if (!op) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *op);
    op->step = step;
    op->version = -1;
    op->low_memory = low_memory;
    op->groups = step->body.nnumbers ? lfuse__step_groups(in, step) : NULL;
    status = lfuse__add_operation(in, step, &list_operation, &operation);
    if (status) {
        free(op);
        return status;
    }
    operation->as.lists = op;
    if (op->groups) {
        op->group_numbers = lfuse__arena_array(&op->memory, (size_t)(op->groups->groups * step->body.nnumbers),
                                               sizeof *op->group_numbers);
        if (!op->group_numbers) return LFUSE_ERR_MEMORY;
    }
    for (i = 0; i < step->noperands; i++) {
        const lfuse__memory memory = { step->operands[i].place, step->operands[i].index };
        lfuse__use_memory(in, &memory);
    }
    LFUSE__TRY(make_kernels(in, op));
    LFUSE__TRY(lfuse__list_make_tables(in, op, l));
    *uses_workspace |= op->packed_bytes > 0;
    return lfuse__list_make_scratch(in, op);
}
