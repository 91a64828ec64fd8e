/* SPDX-License-Identifier: Apache-2.0 */
/* Products by the library's own kernels, for actual sizes and strides. */
#include <inttypes.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/matmul/problem.h"
#include "common/run/instantiate/matrix.h"
#include "common/run/operations/operations.h"

enum { M, N, K, BATCH = LFUSE__PRODUCT_BATCH };

typedef struct product {
    int rank;
    int64_t extents[LFUSE_MAX_RANK]; /* of the result: the batch, m, n */
    int64_t sizes[LFUSE__PRODUCT_EXTENTS]; /* the geometry's */
    lfuse__matrix matrices[LFUSE__MAX_OPERANDS];
    lfuse__matrix originals[LFUSE__MAX_OPERANDS]; /* what those that are copies stand for */
    lfuse__stand_ins copies;
    int8_t sides[LFUSE__MAX_OPERANDS]; /* whose work each is part of: A's, B's; -1 */
    bool transposed[2];                    /* A, B: made of what is stored transposed */
} product;

/* Which of the operands lies nowhere, or is not read. */
static bool absent(const lfuse__step *step, const product *p, int i)
{
    if (i == LFUSE__PRODUCT_SUM || (i < LFUSE__PRODUCT_OWN && step->product.prologue[i])) return true;
    return !p->sizes[K] && (i < LFUSE__PRODUCT_OWN || p->sides[i] >= 0);
}

static lfuse_status open_one(lfuse_instance *in, const lfuse__step *step, int i, product *p)
{
    const int64_t *const s = p->sizes;
    const int side = i < LFUSE__PRODUCT_OWN ? i : p->sides[i];

    if (absent(step, p, i)) return LFUSE_OK;
    return lfuse__matrix_open(in, &step->operands[i], p->rank, p->extents, side == LFUSE__PRODUCT_B ? s[K] : s[M],
                              side == LFUSE__PRODUCT_A ? s[K] : s[N], &p->copies, &p->matrices[i]);
}

/* What the epilogue takes may have any strides but several of a batch. */
static lfuse_status even_out(lfuse__instantiation *ctx, const lfuse__step *step, int i, product *p)
{
    lfuse__matrix *m = &p->matrices[i];

    p->originals[i] = *m;
    if (m->even) return LFUSE_OK;
    lfuse__log(LFUSE_LOG_DEBUG, "what a batch of products %s has no single stride there: it goes through a copy",
               m->walk.written ? "stores" : "takes");
    LFUSE__TRY(lfuse__matrix_like(ctx->in, &p->originals[i], m));
    return m->walk.written ? LFUSE_OK : lfuse__matrix_copy(ctx, step, m, &p->originals[i]);
}

static lfuse_status open_operands(lfuse__instantiation *ctx, const lfuse__step *step, const bool transposed[2],
                                  product *p)
{
    int i;

    for (i = 0; i < step->noperands; i++) LFUSE__TRY(open_one(ctx->in, step, i, p));
    LFUSE__TRY(lfuse__stand_ins_fill(ctx, step, &p->copies));
    for (i = LFUSE__PRODUCT_OWN; i < step->noperands; i++)
        if (!absent(step, p, i)) LFUSE__TRY(even_out(ctx, step, i, p));
    for (i = 0; i < step->noperands; i++) {
        lfuse__matrix *m = &p->matrices[i];
        const bool none = absent(step, p, i);
        if (none) m->walk.memory.place = LFUSE__PLACE_INDEX; /* nothing is read */
        else if (i < LFUSE__PRODUCT_SUM) LFUSE__TRY(lfuse__matrix_straighten(ctx, step, transposed[i], m));
        if (none && i < LFUSE__PRODUCT_SUM) m->transposed = transposed[i];
        if (none || i < LFUSE__PRODUCT_SUM) m->walk.type = step->operands[i].type;
    }
    return LFUSE_OK;
}

/* What was stored to copies, to where it belongs. */
static lfuse_status close(lfuse__instantiation *ctx, const lfuse__step *step, const product *p)
{
    int i;

    for (i = LFUSE__PRODUCT_OWN; i < step->noperands; i++)
        if (p->originals[i].walk.written && !p->originals[i].even)
            LFUSE__TRY(lfuse__matrix_copy(ctx, step, &p->originals[i], &p->matrices[i]));
    return lfuse__stand_ins_empty(ctx, step, &p->copies);
}

/* The axis that operand i is walked along in memory order: 0 rows, 1 columns; how far. */
static int along(const product *p, int i, int64_t *extent)
{
    const int side = p->sides[i];
    const bool transposed = side >= 0 && p->transposed[side];
    const int64_t *const s = p->sizes, outer[] = { s[M], s[K] }, inner[] = { s[K], s[N] };

    *extent = side < 0 ? s[N] : transposed ? outer[side] : inner[side];
    return !transposed;
}

/* The class for these strides. As the plan foresees it where a column is one element wide. */
static void classify(const lfuse__step *step, const product *p, lfuse__kernel_class *c)
{
    int64_t extent;
    int i;

    c->product.ta = p->matrices[0].transposed;
    c->product.tb = p->matrices[1].transposed;
    for (i = LFUSE__PRODUCT_OWN; i < step->noperands; i++) {
        const int64_t *const strides = p->matrices[i].walk.strides + p->rank - 2;
        const int64_t stride = strides[along(p, i, &extent)];
        if (extent == 1 || absent(step, p, i)) continue;
        c->operands[i].inner = stride == 1   ? LFUSE__STRIDE_UNIT
                               : stride == 0 ? LFUSE__STRIDE_REPEAT
                                             : LFUSE__STRIDE_ANY;
        c->operands[i].fixed = p->sides[i] < 0 && !step->operands[i].written && stride == 1 && !strides[0];
    }
}

/* What is kept of an operand is made of what the caller binds, or of what was prepared; copies are made in each run. */
static void find_frozen(const product *p, lfuse__kernel_class *c)
{
    for (int i = 0; i < 2; i++) {
        const lfuse__place place = p->matrices[i].walk.memory.place;
        const bool stays = place == LFUSE__PLACE_BOUND || place == LFUSE__PLACE_PREPARED;
        c->product.frozen[i] = c->product.frozen[i] && stays;
    }
}

/* Whether the product has no workspace: those that share a launch have none either. */
static bool without_workspace(const lfuse__instantiation *ctx)
{
    return ctx->low_memory || ctx->may_share_launch;
}

/* `parts` of the geometry: those of the named candidate, or as few as need the least workspace; 0: by the estimate. */
static int parts_of(const lfuse__instantiation *ctx)
{
    if (without_workspace(ctx)) return 1;
    return ctx->candidate ? ctx->candidate->parts : 0;
}

static bool launches(const lfuse__operation *o)
{
    return o->row == &lfuse__kernel_operation && !o->prepare && lfuse__family_of(&o->as.kernel->k)->launches;
}

/*
 * Whether B may be read before the launch in front has ended: that is one of this run, which has waited for all before
 * it, and no launch of a run writes what is bound to be read alone (overlap.c).
 */
static bool is_early(const lfuse__instantiation *ctx, const lfuse__kernel_op *op, int phase)
{
    const lfuse_instance *in = ctx->in;
    const lfuse__memory *b = &op->starts[LFUSE__PRODUCT_B].memory;
    const int now = in->noperations - 1, preceding = now == ctx->first ? ctx->preceding : now;
    const lfuse__operation *before = preceding ? &in->operations[preceding - 1] : NULL;

    if (!in->facts->overlaps || phase || !before || !launches(before)) return false;
    if (in->operations[now].prepare) return false;
    return b->place == LFUSE__PLACE_BOUND && !in->bound[b->index].written;
}

/* Memory of a product beside its operands: numbers of buffers; -1: it needs none. */
typedef struct spaces {
    int workspace, kept;
} spaces;

/* The phase that prepares what is kept reads one operand: others may not be there yet, or have moved. */
static void read_kept_alone(lfuse_instance *in, lfuse__kernel_op *op)
{
    in->operations[in->noperations - 1].prepare = true;
    for (int i = 0; i < op->k.noperands; i++)
        if (i != op->k.product.kept - 1) op->starts[i].memory.place = LFUSE__PLACE_INDEX;
}

static void use(lfuse_instance *in, int buffer, lfuse__memory *m)
{
    *m = (lfuse__memory){ in->buffers[buffer].place, buffer };
    lfuse__use_memory(in, m);
}

static lfuse_status add_phase(lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__kernel_class *c,
                              int phase, const product *p, const spaces *s)
{
    lfuse_instance *in = ctx->in;
    lfuse__kernel_op *op;
    int64_t extent;
    bool prepares;
    int i;

    LFUSE__TRY(lfuse__kernel_op_new(in, step, &step->body, step->numbers, &op));
    op->k = *c;
    op->k.product.phase = phase;
    prepares = lfuse__product_prepares(&op->k);
    memcpy(op->g.extents, p->sizes, sizeof p->sizes);
    op->g.parts = parts_of(ctx);
    for (i = 0; i < step->noperands; i++) {
        const lfuse__matrix *m = &p->matrices[i];
        const bool own = i == LFUSE__PRODUCT_A || i == LFUSE__PRODUCT_B;
        const int inner = own ? 1 : along(p, i, &extent);
        op->starts[i] = lfuse__start_of(&m->walk);
        op->g.strides[i][0] = own ? m->ld : m->walk.strides[p->rank - 1 - inner];
        op->g.strides[i][1] = own ? 1 : m->walk.strides[p->rank - 2 + inner];
        op->g.strides[i][LFUSE__PRODUCT_BATCH] = m->stride;
    }
    if (prepares) read_kept_alone(in, op);
    for (i = 0; i < step->noperands; i++) lfuse__use_memory(in, &op->starts[i].memory);
    op->g.early = is_early(ctx, op, phase);
    if (s->workspace >= 0 && !prepares) use(in, s->workspace, &op->partials);
    if (s->kept >= 0) use(in, s->kept, &op->starts[LFUSE__PRODUCT_SUM].memory);
    LFUSE__TRY(lfuse__kernel_op_reports(in, step, op));
    return lfuse__kernel_op_take(ctx, op);
}

/* One for all: an instance's operations run one after the other. */
static lfuse_status add_tickets(lfuse_instance *in, uint64_t bytes, int *workspace)
{
    int i;

    for (i = 0; i < in->nbuffers; i++)
        if (in->buffers[i].tickets) break;
    if (i == in->nbuffers) LFUSE__TRY(lfuse__add_buffer(in, LFUSE__PLACE_PREPARED, bytes, &i));
    in->buffers[i].tickets = true;
    if (bytes > in->buffers[i].bytes) in->buffers[i].bytes = bytes;
    *workspace = i;
    return LFUSE_OK;
}

static lfuse_status add_phases(lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__kernel_class *c,
                               const product *p)
{
    lfuse__geometry g;
    spaces s = { .workspace = -1, .kept = -1 };
    uint64_t bytes, kept;
    int i, phases;

    memset(&g, 0, sizeof g);
    memcpy(g.extents, p->sizes, sizeof p->sizes);
    for (i = 0; i < step->noperands; i++) g.strides[i][BATCH] = p->matrices[i].stride;
    g.parts = parts_of(ctx);
    bytes = lfuse__product_workspace(c, ctx->in->facts, &g);
    ctx->uses_workspace |= bytes > 0;
    kept = lfuse__product_kept(c, ctx->in->facts, &g);
    if (lfuse__product_tickets(c)) LFUSE__TRY(add_tickets(ctx->in, bytes, &s.workspace));
    else if (bytes) LFUSE__TRY(lfuse__add_buffer(ctx->in, LFUSE__PLACE_SCRATCH, bytes, &s.workspace));
    if (kept) LFUSE__TRY(lfuse__add_buffer(ctx->in, LFUSE__PLACE_PREPARED, kept, &s.kept));
    phases = lfuse__product_phases(c);
    if (kept) LFUSE__TRY(add_phase(ctx, step, c, --phases, p, &s));
    for (i = lfuse__product_first(c); i < phases; i++) LFUSE__TRY(add_phase(ctx, step, c, i, p, &s));
    return LFUSE_OK;
}

lfuse_status lfuse__product_extents(const lfuse_instance *in, const lfuse__step *step, int64_t *extents)
{
    int64_t all[LFUSE_MAX_RANK];
    int i;

    for (i = 0; i < step->rank; i++) LFUSE__TRY(lfuse__extent_of(in, step->extents[i], &all[i]));
    extents[M] = all[step->rank - 2];
    extents[N] = all[step->rank - 1];
    LFUSE__TRY(lfuse__extent_of(in, step->product.k, &extents[K]));
    return lfuse__matrix_count(step->rank, all, &extents[BATCH]);
}

lfuse_status lfuse__instantiate_product(lfuse__instantiation *ctx, const lfuse__step *step)
{
    lfuse_instance *in = ctx->in;
    lfuse__kernel_class wanted[LFUSE__WANTED_MAX];
    lfuse__kernel_class *c = &wanted[0];
    lfuse__matmul_problem problem;
    const int64_t *s;
    product p;
    int i;

    memset(&p, 0, sizeof p);
    p.rank = step->rank;
    for (i = 0; i < p.rank; i++) LFUSE__TRY(lfuse__extent_of(in, step->extents[i], &p.extents[i]));
    LFUSE__TRY(lfuse__product_extents(in, step, p.sizes));
    s = p.sizes;
    lfuse__step_classes(in->body, step, false, wanted);
    if (!s[M] && s[N] && c->naxes)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a product of no rows, of which %" PRId64 " columns are summed",
                            s[N]);
    if (!s[BATCH] || !s[M] || !s[N]) return LFUSE_OK;
    lfuse__product_sides(c, p.sides);
    p.transposed[0] = c->product.ta;
    p.transposed[1] = c->product.tb;
    for (i = 0; i < 2; i++)
        if (step->product.prologue[i])
            lfuse__log(LFUSE_LOG_DEBUG, "the %s operand of a product of %" PRId64 " x %" PRId64 " x %" PRId64
                       " is computed where it is read", i ? "right" : "left", s[M], s[N], s[K]);
    LFUSE__TRY(open_operands(ctx, step, (const bool[]){ c->product.ta, c->product.tb }, &p));
    classify(step, &p, c);
    find_frozen(&p, c);
    problem = (lfuse__matmul_problem){ .extents = s, .vendor = ctx->has_next,
                                       .behind = step->product.behind, .low_memory = without_workspace(ctx),
                                       .unsized = !lfuse__product_sized(in->body, step),
                                       .candidate = ctx->candidate };
    LFUSE__TRY(lfuse__matmul_choose(in->facts, &problem, c));
    LFUSE__TRY(add_phases(ctx, step, c, &p));
    return close(ctx, step, &p);
}
