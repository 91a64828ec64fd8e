/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of scattered rows for actual sizes: the phases of common/kernels/scatter.c over contiguous memory. */
#include <string.h>

#include "common/base/error.h"
#include "common/run/instantiate/loop.h"
#include "common/run/operations/operations.h"

/* A step's operand, and the contiguous memory that stands for it. */
typedef struct plain {
    int rank;
    int64_t extents[LFUSE_MAX_RANK];
    lfuse__walk walk, own;
    bool copied;
} plain;

typedef struct scattering {
    const lfuse__step *step;
    plain source, indices, result;
    int64_t sizes[LFUSE_MAX_RANK]; /* lfuse__scatter_sizes */
    lfuse__walk words[2], counts, starts;
} scattering;

_Static_assert((int)LFUSE__SCATTER_SIZES <= LFUSE_MAX_RANK, "sizes travel as extents");

static int64_t product(const int64_t *extents, int count)
{
    int64_t all = 1;
    int i;

    for (i = 0; i < count; i++) all *= extents[i];
    return all;
}

/* Scratch of so many elements. */
static lfuse_status add_memory(lfuse_instance *in, int64_t elements, lfuse_type type, lfuse__walk *w)
{
    uint64_t bytes;

    if (__builtin_mul_overflow((uint64_t)elements, (uint64_t)lfuse_type_size(type), &bytes))
        return lfuse__error(LFUSE_ERR_OVERFLOW, "scattered rows need more than 2^64 bytes of scratch memory");
    memset(w, 0, sizeof *w);
    w->memory.place = LFUSE__PLACE_SCRATCH;
    w->type = type;
    return lfuse__add_buffer(in, LFUSE__PLACE_SCRATCH, bytes, &w->memory.index);
}

static bool contiguous(const plain *p, const int64_t *strides)
{
    int i;

    if (p->walk.memory.place == LFUSE__PLACE_INDEX) return false;
    for (i = 0; i < p->rank; i++)
        if (p->extents[i] != 1 && p->walk.strides[i] != strides[i]) return false;
    return true;
}

static lfuse_status open_plain(lfuse_instance *in, const lfuse__operand *o, int rank, const lfuse_size *shape,
                               lfuse__stand_ins *copies, plain *p)
{
    int64_t strides[LFUSE_MAX_RANK];
    int i;

    p->rank = rank;
    for (i = 0; i < rank; i++) LFUSE__TRY(lfuse__extent_of(in, shape[i], &p->extents[i]));
    LFUSE__TRY(lfuse__walk_open(in, o, rank, p->extents, copies, &p->walk));
    p->own = p->walk;
    lfuse__contiguous_strides(rank, p->extents, strides);
    p->copied = !contiguous(p, strides);
    if (!p->copied) return LFUSE_OK;
    LFUSE__TRY(add_memory(in, product(p->extents, rank), o->type, &p->own));
    memcpy(p->own.strides, strides, (size_t)rank * sizeof *strides);
    return LFUSE_OK;
}

static lfuse_status copy(lfuse__instantiation *ctx, const lfuse__step *step, const plain *p, bool out)
{
    lfuse__walk to = out ? p->walk : p->own, from = out ? p->own : p->walk;

    to.written = true;
    from.written = false;
    return p->copied ? lfuse__instantiate_copy(ctx, step, p->rank, p->extents, &to, &from) : LFUSE_OK;
}

/* One launch; `operands` in the order of the phase. */
static lfuse_status add_phase(lfuse__instantiation *ctx, const scattering *s, lfuse__scatter_phase phase,
                              const lfuse__walk *const *operands)
{
    lfuse__kernel_class k;
    lfuse__kernel_op *op;
    int i;

    lfuse__scatter_class(phase, s->source.own.type, s->indices.own.type, &k);
    LFUSE__TRY(lfuse__kernel_op_new(ctx->in, s->step, k.body, NULL, &op));
    op->k = k;
    memcpy(op->g.extents, s->sizes, sizeof s->sizes);
    for (i = 0; i < k.noperands; i++) {
        op->starts[i] = lfuse__start_of(operands[i]);
        lfuse__use_memory(ctx->in, &op->starts[i].memory);
    }
    LFUSE__TRY(lfuse__kernel_op_reports(ctx->in, s->step, op));
    return lfuse__kernel_op_take(ctx, op);
}

/* The words end up in words[0] or [1]: the answer. */
static lfuse_status sort(lfuse__instantiation *ctx, scattering *s, int digits, const lfuse__walk **sorted)
{
    int i;

    LFUSE__TRY(add_phase(ctx, s, LFUSE__SCATTER_KEYS, (const lfuse__walk *[]){ &s->indices.own, &s->words[0] }));
    for (i = 0; i < digits; i++) {
        const lfuse__walk *from = &s->words[i % 2], *to = &s->words[1 - i % 2];
        lfuse__scatter_digit(ctx->in->facts, i, s->sizes);
        LFUSE__TRY(add_phase(ctx, s, LFUSE__SCATTER_COUNT, (const lfuse__walk *[]){ from, &s->counts }));
        LFUSE__TRY(add_phase(ctx, s, LFUSE__SCATTER_PREFIX, (const lfuse__walk *[]){ &s->counts }));
        LFUSE__TRY(add_phase(ctx, s, LFUSE__SCATTER_PLACE, (const lfuse__walk *[]){ from, &s->counts, to }));
    }
    *sorted = &s->words[digits % 2];
    return LFUSE_OK;
}

static lfuse_status add_rows(lfuse__instantiation *ctx, scattering *s, int digits)
{
    lfuse_instance *in = ctx->in;
    const lfuse__walk *sorted;
    int i;

    for (i = 0; i < 2; i++)
        LFUSE__TRY(add_memory(in, s->sizes[LFUSE__SCATTER_SLOTS], LFUSE_I64, &s->words[i]));
    LFUSE__TRY(add_memory(in, (int64_t)lfuse__scatter_counts(in->facts, s->sizes), LFUSE_I64, &s->counts));
    LFUSE__TRY(add_memory(in, s->sizes[LFUSE__SCATTER_STARTS], LFUSE_I64, &s->starts));
    LFUSE__TRY(sort(ctx, s, digits, &sorted));
    LFUSE__TRY(add_phase(ctx, s, LFUSE__SCATTER_FIRSTS, (const lfuse__walk *[]){ sorted, &s->starts }));
    return add_phase(ctx, s, LFUSE__SCATTER_SUM,
                     (const lfuse__walk *[]){ &s->source.own, sorted, &s->starts, &s->result.own });
}

lfuse_status lfuse__instantiate_scatter(lfuse__instantiation *ctx, const lfuse__step *step)
{
    lfuse_instance *in = ctx->in;
    const lfuse__scattering *of = &step->scattering;
    lfuse__stand_ins copies = { .count = 0 };
    scattering s = { .step = step };
    int64_t positions, rest;
    int digits;

    LFUSE__TRY(open_plain(in, &step->operands[2], step->rank, step->extents, &copies, &s.result));
    if (!product(s.result.extents, step->rank)) return LFUSE_OK;
    LFUSE__TRY(open_plain(in, &step->operands[0], of->rank, of->shape, &copies, &s.source));
    LFUSE__TRY(open_plain(in, &step->operands[1], of->indices, of->shape, &copies, &s.indices));
    LFUSE__TRY(lfuse__stand_ins_fill(ctx, step, &copies));
    positions = product(s.source.extents, of->indices);
    rest = product(s.result.extents + 1, step->rank - 1);
    if (positions) {
        LFUSE__TRY(lfuse__scatter_sizes(in->facts, positions, s.result.extents[0], rest, s.sizes, &digits));
        LFUSE__TRY(copy(ctx, step, &s.source, false));
        LFUSE__TRY(copy(ctx, step, &s.indices, false));
        LFUSE__TRY(add_rows(ctx, &s, digits));
        LFUSE__TRY(copy(ctx, step, &s.result, true));
    } else {
        LFUSE__TRY(lfuse__instantiate_copy(ctx, step, step->rank, s.result.extents, &s.result.walk, NULL));
    }
    return lfuse__stand_ins_empty(ctx, step, &copies);
}
