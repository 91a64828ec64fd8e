/* SPDX-License-Identifier: Apache-2.0 */
/* Products of the members of two lists: their sizes, which are a list's that nobody binds, and their steps. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/lists/list_op.h"
#include "common/run/operations/operations.h"

/* ---- sizes ---- */

typedef struct factor {
    int64_t matrices, rows, columns;
} factor;

static factor factor_of(const lfuse__member *x, bool transposed)
{
    return transposed ? (factor){ x->matrices, x->columns, x->rows } : (factor){ x->matrices, x->rows, x->columns };
}

static lfuse_status size_member(const lfuse__product_list *p, const lfuse_list *const lists[2],
                                const char *const names[2], int64_t m, lfuse__member *made)
{
    const factor a = factor_of(&lists[0]->members[m], p->transposed[0]),
                 b = factor_of(&lists[1]->members[m], p->transposed[1]);

    if (a.columns != b.rows)
        return lfuse__error(LFUSE_ERR_SHAPE, "member %" PRId64 ": inner sizes differ: \"%s\"%s is %" PRId64 " x %"
                            PRId64 ", \"%s\"%s %" PRId64 " x %" PRId64, m, names[0], p->transposed[0] ? "^T" : "",
                            a.rows, a.columns, names[1], p->transposed[1] ? "^T" : "", b.rows, b.columns);
    if (a.matrices != b.matrices)
        return lfuse__error(LFUSE_ERR_SHAPE, "member %" PRId64 " of \"%s\" is %" PRId64 " matrices, of \"%s\" %" PRId64,
                            m, names[0], a.matrices, names[1], b.matrices);
    *made = (lfuse__member){ .matrices = a.matrices, .rows = a.rows, .columns = b.columns, .rank = 2,
                             .ld = b.columns };
    if (__builtin_mul_overflow(a.rows, b.columns, &made->elements) ||
        __builtin_mul_overflow(made->elements, a.matrices, &made->elements))
        return lfuse__error(LFUSE_ERR_OVERFLOW, "member %" PRId64 " of \"%s\" x \"%s\": more than 2^63 - 1 elements", m,
                            names[0], names[1]);
    made->batch_stride = made->rows * made->columns;
    return LFUSE_OK;
}

static lfuse_status size_list(lfuse_instance *in, const lfuse__product_list *p, lfuse_list *made)
{
    const lfuse_list *lists[2] = { lfuse__list_of(in, p->factors[0]), lfuse__list_of(in, p->factors[1]) };
    const char *names[2] = { lfuse__list_name(in, p->factors[0]), lfuse__list_name(in, p->factors[1]) };
    int64_t m;

    if (lists[0]->count != lists[1]->count)
        return lfuse__error(LFUSE_ERR_SHAPE, "list \"%s\" has %" PRId64 " members, \"%s\" %" PRId64, names[0],
                            lists[0]->count, names[1], lists[1]->count);
    made->members = lfuse__arena_array(&in->memory, (size_t)lists[0]->count, sizeof *made->members);
    if (!made->members) return LFUSE_ERR_MEMORY;
    made->count = lists[0]->count;
    for (m = 0; m < made->count; m++) {
        LFUSE__TRY(size_member(p, lists, names, m, &made->members[m]));
        if (__builtin_add_overflow(made->elements, made->members[m].elements, &made->elements))
            return lfuse__error(LFUSE_ERR_OVERFLOW, "\"%s\" x \"%s\": the members up to %" PRId64 " have more than "
                                "2^63 - 1 elements", names[0], names[1], m);
    }
    return LFUSE_OK;
}

static lfuse_status name_list(lfuse_instance *in, int product)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_status status;
    char *copy;

    lfuse__list_print(in->body, in->plan->nnames + product, in->plan->graph, &text);
    status = lfuse__strbuf_check(&text);
    copy = status ? NULL : lfuse__arena_array(&in->memory, text.length + 1, 1);
    if (copy) in->product_names[product] = memcpy(copy, text.data, text.length + 1);
    lfuse__strbuf_free(&text);
    return copy ? LFUSE_OK : LFUSE_ERR_MEMORY;
}

lfuse_status lfuse__list_products_size(lfuse_instance *in)
{
    int i;

    if (!in->body->nlists) return LFUSE_OK;
    in->products = lfuse__arena_array(&in->memory, (size_t)in->body->nlists, sizeof *in->products);
    in->product_names = lfuse__arena_array(&in->memory, (size_t)in->body->nlists, sizeof *in->product_names);
    if (!in->products || !in->product_names) return LFUSE_ERR_MEMORY;
    for (i = 0; i < in->body->nlists; i++) {
        LFUSE__TRY(name_list(in, i));
        LFUSE__TRY(size_list(in, &in->body->lists[i], &in->products[i]));
    }
    return LFUSE_OK;
}

/* ---- steps ---- */

static lfuse__matmul_sizes size_of(const lfuse_instance *in, const lfuse__step *step, int64_t m)
{
    const lfuse__product_list *p = &in->body->lists[step->lists.list - in->plan->nnames];
    const lfuse__member *made = &lfuse__list_of(in, step->lists.list)->members[m];

    return (lfuse__matmul_sizes){ made->rows, made->columns,
                                  factor_of(&lfuse__list_of(in, p->factors[0])->members[m], p->transposed[0]).columns,
                                  made->matrices };
}

static lfuse_status sizes_of(const lfuse_instance *in, const lfuse__step *step, lfuse__matmul_sizes **sizes)
{
    const lfuse_list *l = lfuse__list_of(in, step->lists.list);
    int64_t m;

    *sizes = malloc(((size_t)l->count + 1) * sizeof **sizes);
    if (!*sizes)
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (a list of %" PRId64 " members)", l->count);
    for (m = 0; m < l->count; m++) (*sizes)[m] = size_of(in, step, m);
    return LFUSE_OK;
}

uint64_t lfuse__list_product_bytes(const lfuse__step *step)
{
    return (uint64_t)lfuse__grouped_shape(step->noperands) * sizeof(int64_t);
}

/* How the matrices of operand j lie: as they were bound, or without gaps. */
static void put_strides(const lfuse_instance *in, const lfuse__step *step, int j, const lfuse__matmul_sizes *p,
                        int64_t m, int64_t *to)
{
    const lfuse__operand *o = &step->operands[j];
    const bool *transposed = step->lists.transposed;
    int64_t rows = p->m, columns = p->n;

    if (j == LFUSE__PRODUCT_A) rows = transposed[0] ? p->k : p->m, columns = transposed[0] ? p->m : p->k;
    if (j == LFUSE__PRODUCT_B) rows = transposed[1] ? p->n : p->k, columns = transposed[1] ? p->k : p->n;
    to[0] = columns;
    to[1] = rows * columns;
    if (o->place != LFUSE__PLACE_BOUND || o->span != LFUSE__SPAN_LIST ||
        lfuse__list_rank(in, o->index) != LFUSE_RANK_MATRIX)
        return;
    to[0] = lfuse__list_of(in, o->index)->members[m].ld;
    to[1] = lfuse__list_of(in, o->index)->members[m].batch_stride;
}

/*
 * The address, or the offset in its block, where A or B of a member begins. Members that the plan makes are aligned:
 * for them it is 0.
 */
static uint64_t begin_of(const lfuse_instance *in, const lfuse__step *step, int j, int64_t m)
{
    const lfuse__operand *o = &step->operands[j];
    const lfuse__member *x;

    if (o->place != LFUSE__PLACE_BOUND || o->span != LFUSE__SPAN_LIST) return 0;
    x = &lfuse__list_of(in, o->index)->members[m];
    return (in->facts->addresses ? x->range->address : x->range->offset) + x->offset;
}

/* Returns the bytes of the copy of A or B of a member; 0: it is read where it lies. */
static uint64_t packed_bytes(const lfuse_instance *in, const lfuse__step *step, const lfuse__kernel_class *k, int j,
                             int64_t m)
{
    const lfuse__matmul_sizes p = size_of(in, step, m);
    int64_t strides[2];

    put_strides(in, step, j, &p, m, strides);
    return lfuse__grouped_packed_bytes(
        k, j, &p, &(lfuse__grouped_layout){ strides[0], strides[1], begin_of(in, step, j, m) });
}

bool lfuse__list_packs(const lfuse_instance *in, const lfuse__step *step, const lfuse__kernel_class *k)
{
    const int64_t count = lfuse__list_of(in, step->lists.list)->count;
    int64_t m;

    for (m = 0; m < count; m++)
        if (packed_bytes(in, step, k, LFUSE__PRODUCT_A, m) || packed_bytes(in, step, k, LFUSE__PRODUCT_B, m))
            return true;
    return false;
}

/*
 * Gives the copy of A or B of a member its place in the workspace, behind those that have one, and returns it; below 0:
 * there is no copy.
 */
static int64_t pack(const lfuse_instance *in, lfuse__list_op *op, int j, int64_t m)
{
    const uint64_t bytes = op->low_memory ? 0 : packed_bytes(in, op->step, &op->k, j, m), at = op->packed_bytes;

    op->packed_bytes += bytes;
    return bytes ? (int64_t)at : -1;
}

void lfuse__list_put_product(const lfuse_instance *in, lfuse__list_op *op, int64_t m, void *to)
{
    const lfuse__matmul_sizes p = size_of(in, op->step, m);
    int64_t *shape = to;
    int j;

    shape[0] = p.matrices, shape[1] = p.m, shape[2] = p.n, shape[3] = p.k;
    for (j = LFUSE__PRODUCT_A; j <= LFUSE__PRODUCT_B; j++) shape[LFUSE__GROUPED_PACKED + j] = pack(in, op, j, m);
    for (j = 0; j < op->step->noperands - 1; j++)
        put_strides(in, op->step, j, &p, m, shape + lfuse__grouped_stride(j));
}

lfuse_status lfuse__list_choose_product(const lfuse_instance *in, const lfuse__step *step, lfuse__kernel_class *k)
{
    lfuse__matmul_sizes *sizes;
    lfuse_status status;

    LFUSE__TRY(sizes_of(in, step, &sizes));
    status = lfuse__grouped_choose(in->facts, lfuse__list_of(in, step->lists.list)->count, sizes, k);
    free(sizes);
    return status;
}

lfuse_status lfuse__list_cut_products(const lfuse_instance *in, lfuse__list_op *op, int64_t *sizes, int64_t *all)
{
    const int64_t count = lfuse__list_of(in, op->step->lists.list)->count;
    lfuse__matmul_sizes *products;
    int64_t m;

    LFUSE__TRY(sizes_of(in, op->step, &products));
    lfuse__grouped_cut_make(&op->k, in->facts, count, products, &op->cut);
    for (m = 0; m < count; m++) *all += sizes[m] = lfuse__grouped_blocks(&op->cut, &products[m]);
    free(products);
    return LFUSE_OK;
}

static lfuse_status launch(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s, int batch, lfuse__kernel *kernel)
{
    const lfuse__list_batch *b = &op->batches[batch];
    lfuse__location workspace = { NULL, 0, 0 };

    if (op->scratch >= 0) lfuse__memory_at(in, &(lfuse__memory){ LFUSE__PLACE_SCRATCH, op->scratch }, &workspace);
    LFUSE__TRY(lfuse__grouped_pack(&op->k, in->facts, &op->cut,
                                   &(lfuse__grouped_part){ op->members, b->first_chunk, b->chunks, workspace.offset,
                                                           lfuse__list_numbers(op, batch) }, &op->packed));
    return lfuse__list_launch(in, op, s, kernel, batch, LFUSE__LIST_WORKSPACE, workspace.mem);
}

lfuse_status lfuse__list_run_products(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s)
{
    int i;

    for (i = 0; i < op->nbatches; i++) {
        if (!op->batches[i].chunks) continue;
        if (op->packed_bytes) LFUSE__TRY(launch(in, op, s, i, op->partial));
        LFUSE__TRY(launch(in, op, s, i, op->kernel));
    }
    return LFUSE_OK;
}
