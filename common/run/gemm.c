/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/*
 * Products for actual sizes and strides. What the vendor's libraries do not take is settled here: extents of 0, and
 * operands that are neither plain nor transposed matrices, which are copied first.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/instance.h"

/* A matrix of the product: where it lies and how it is walked. */
typedef struct matrix {
    lfuse__memory memory;
    int64_t extents[2], strides[2];
    bool transposed;
    int64_t ld;
} matrix;

static lfuse_status open_matrix(const lfuse_instance *in, const lfuse__operand *o, int64_t rows, int64_t columns,
                                matrix *m)
{
    int64_t shape[LFUSE_MAX_RANK], strides[LFUSE_MAX_RANK];
    int i, rank;

    LFUSE__TRY(lfuse__operand_shape(in, o, &rank, shape, strides));
    memset(m, 0, sizeof *m);
    m->memory = (lfuse__memory){ o->place, o->index };
    m->extents[0] = rows;
    m->extents[1] = columns;
    for (i = 0; i < 2; i++) m->strides[i] = o->axis[i] < 0 ? 0 : strides[o->axis[i]];
    return LFUSE_OK;
}

/* Whether axis `inner` has stride 1 and the other one is a leading dimension; strides along an extent of 1 are free. */
static bool fits(const matrix *m, int outer, int inner, int64_t *ld)
{
    if (m->extents[inner] != 1 && m->strides[inner] != 1) return false;
    *ld = m->extents[outer] == 1 ? m->extents[inner] : m->strides[outer];
    return *ld >= m->extents[inner];
}

static bool is_matrix(matrix *m, bool may_transpose)
{
    m->transposed = false;
    if (fits(m, 0, 1, &m->ld)) return true;
    m->transposed = may_transpose && fits(m, 1, 0, &m->ld);
    return m->transposed;
}

static lfuse__walk walk_of(const matrix *m, lfuse_type type, bool written)
{
    lfuse__walk w;

    memset(&w, 0, sizeof w);
    w.memory = m->memory;
    w.type = type;
    w.written = written;
    w.strides[0] = m->strides[0];
    w.strides[1] = m->strides[1];
    return w;
}

/* A plain matrix of the same extents in scratch. */
static lfuse_status plain_like(lfuse_instance *in, const matrix *m, lfuse_type type, matrix *plain)
{
    uint64_t bytes;

    if (__builtin_mul_overflow((uint64_t)m->extents[0], (uint64_t)m->extents[1], &bytes) ||
        __builtin_mul_overflow(bytes, (uint64_t)lfuse_type_size(type), &bytes))
        return lfuse__error(LFUSE_ERR_OVERFLOW, "a copy of %" PRId64 " x %" PRId64 " elements is too large",
                            m->extents[0], m->extents[1]);
    *plain = *m;
    plain->memory.place = LFUSE__PLACE_SCRATCH;
    plain->strides[0] = plain->ld = m->extents[1];
    plain->strides[1] = 1;
    plain->transposed = false;
    return lfuse__add_buffer(in, LFUSE__PLACE_SCRATCH, bytes, &plain->memory.index);
}

static lfuse_status straighten(lfuse_instance *in, const lfuse__step *step, matrix *m)
{
    const lfuse__walk source = walk_of(m, step->product.type, false);
    lfuse__walk target;

    if (is_matrix(m, true)) return LFUSE_OK;
    lfuse__log(LFUSE_LOG_DEBUG, "a product's operand with strides %" PRId64 " and %" PRId64 " is copied first",
               m->strides[0], m->strides[1]);
    LFUSE__TRY(plain_like(in, m, step->product.type, m));
    target = walk_of(m, step->product.type, true);
    return lfuse__furnish_copy(in, step, 2, m->extents, &target, &source);
}

static lfuse_status check_bias(const lfuse_instance *in, const lfuse__step *step, int64_t n)
{
    int64_t shape[LFUSE_MAX_RANK], strides[LFUSE_MAX_RANK], stride;
    int rank;

    if (step->noperands < 4) return LFUSE_OK;
    LFUSE__TRY(lfuse__operand_shape(in, &step->operands[3], &rank, shape, strides));
    stride = strides[step->operands[3].axis[1]];
    if (n == 1 || stride == 1) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "the bias has stride %" PRId64, stride);
}

static lfuse_status no_inner(lfuse_instance *in, const lfuse__step *step, const matrix *d)
{
    const lfuse__walk target = walk_of(d, step->product.type, true);

    if (step->product.epilogue != LFUSE__EP_NONE || step->product.beta >= 0)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "k is 0: the product is zeros, a kernel does the rest");
    return lfuse__furnish_copy(in, step, 2, d->extents, &target, NULL);
}

static lfuse_status add_product(lfuse_instance *in, const lfuse__step *step, const lfuse__gemm_desc *desc,
                                const matrix *a, const matrix *b, const matrix *d)
{
    const lfuse__product *p = &step->product;
    lfuse__gemm_candidate candidate;
    lfuse__operation *operation;
    lfuse__gemm_op *op;
    lfuse_status status;

    LFUSE__TRY(lfuse__gemm_choose(in, desc, &candidate));
    op = calloc(1, sizeof *op);
    if (!op) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *op);
    status = lfuse__add_operation(in, step, LFUSE__RUN_GEMM, &operation);
    if (status) {
        free(op);
        return status;
    }
    operation->as.gemm = op;
    op->a = a->memory;
    op->b = b->memory;
    op->d = d->memory;
    op->bias = (lfuse__memory){ LFUSE__PLACE_BOUND, -1 };
    if (step->noperands > 3) op->bias = (lfuse__memory){ step->operands[3].place, step->operands[3].index };
    op->alpha = p->alpha;
    op->beta = p->beta;
    op->workspace = -1;
    op->args.alpha = 1;
    if (candidate.workspace)
        LFUSE__TRY(lfuse__add_buffer(in, LFUSE__PLACE_SCRATCH, candidate.workspace, &op->workspace));
    lfuse__use_memory(in, &op->a);
    lfuse__use_memory(in, &op->b);
    lfuse__use_memory(in, &op->d);
    if (op->bias.index >= 0) lfuse__use_memory(in, &op->bias);
    if (op->workspace >= 0) lfuse__use_memory(in, &(lfuse__memory){ LFUSE__PLACE_SCRATCH, op->workspace });
    return lfuse__gemm_prepare(in->plan->dev, desc, &candidate, &op->gemm);
}

lfuse_status lfuse__furnish_gemm(lfuse_instance *in, const lfuse__step *step)
{
    const lfuse__product *p = &step->product;
    const lfuse_graph *g = in->plan->graph;
    matrix a, b, d, target;
    lfuse__gemm_desc desc;
    int64_t m, n, k;

    LFUSE__TRY(lfuse__size_evaluate(g, p->m, in->sizes, &m));
    LFUSE__TRY(lfuse__size_evaluate(g, p->n, in->sizes, &n));
    LFUSE__TRY(lfuse__size_evaluate(g, p->k, in->sizes, &k));
    if (!m || !n) return LFUSE_OK;
    LFUSE__TRY(open_matrix(in, &step->operands[2], m, n, &d));
    if (!k) return no_inner(in, step, &d);
    LFUSE__TRY(check_bias(in, step, n));
    LFUSE__TRY(open_matrix(in, &step->operands[0], m, k, &a));
    LFUSE__TRY(open_matrix(in, &step->operands[1], k, n, &b));
    LFUSE__TRY(straighten(in, step, &a));
    LFUSE__TRY(straighten(in, step, &b));
    target = d;
    if (!is_matrix(&d, false)) {
        if (p->beta >= 0)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "what is added to has strides %" PRId64 " and %" PRId64,
                                d.strides[0], d.strides[1]);
        LFUSE__TRY(plain_like(in, &target, p->type, &d));
    }
    memset(&desc, 0, sizeof desc); /* compared as bytes */
    desc.type = p->type;
    desc.ta = a.transposed;
    desc.tb = b.transposed;
    desc.has_beta = p->beta >= 0;
    desc.epilogue = (lfuse__epilogue)p->epilogue;
    desc.m = m, desc.n = n, desc.k = k;
    desc.lda = a.ld, desc.ldb = b.ld, desc.ldc = d.ld;
    LFUSE__TRY(add_product(in, step, &desc, &a, &b, &d));
    if (d.memory.place == target.memory.place && d.memory.index == target.memory.index) return LFUSE_OK;
    {
        const lfuse__walk from = walk_of(&d, p->type, false), to = walk_of(&target, p->type, true);
        return lfuse__furnish_copy(in, step, 2, target.extents, &to, &from);
    }
}

void lfuse__gemm_op_place(lfuse_instance *in, lfuse__gemm_op *op)
{
    lfuse__location at;

    lfuse__memory_at(in, &op->a, &at);
    op->args.a = at.mem, op->args.a_offset = at.offset;
    lfuse__memory_at(in, &op->b, &at);
    op->args.b = at.mem, op->args.b_offset = at.offset;
    lfuse__memory_at(in, &op->d, &at);
    op->args.c = at.mem, op->args.c_offset = at.offset;
    if (op->bias.index >= 0) {
        lfuse__memory_at(in, &op->bias, &at);
        op->args.bias = at.mem, op->args.bias_offset = at.offset;
    }
    if (op->workspace >= 0) {
        lfuse__memory_at(in, &(lfuse__memory){ LFUSE__PLACE_SCRATCH, op->workspace }, &at);
        op->args.workspace = at.mem, op->args.workspace_offset = at.offset;
    }
    if (op->alpha >= 0) op->args.alpha = in->numbers[op->alpha];
    if (op->beta >= 0) op->args.beta = in->numbers[op->beta];
}
