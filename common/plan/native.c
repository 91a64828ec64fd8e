/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products by the library's own kernels: one step, whose body is the whole region behind the product, with
 * whatever that reads and stores beside it, and those that make its operands (prologue.c). Products of lists have no
 * other way.
 */
#include "common/plan/tail.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum { OWN = 2 }; /* operands in front of those of the body: A, B */

static int64_t times(int64_t a, int64_t b)
{
    int64_t product;

    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

void lfuse__product_bounds(const lfuse_graph *g, int rank, const lfuse_size *extents, lfuse_size k,
                           lfuse__matmul_sizes *low, lfuse__matmul_sizes *high)
{
    int64_t bounds[2];
    int i;

    low->matrices = high->matrices = 1;
    lfuse__size_bounds(g, extents[rank - 2], &low->m, &high->m);
    lfuse__size_bounds(g, extents[rank - 1], &low->n, &high->n);
    lfuse__size_bounds(g, k, &low->k, &high->k);
    for (i = 0; i < rank - 2; i++) {
        lfuse__size_bounds(g, extents[i], &bounds[0], &bounds[1]);
        low->matrices = times(low->matrices, bounds[0]);
        high->matrices = times(high->matrices, bounds[1]);
    }
}

bool lfuse__draft_frozen(const lfuse__draft *d, int32_t matmul, int i)
{
    lfuse__view walk;
    const int32_t base = lfuse__draft_operand(d, matmul, i, &walk);

    return lfuse__draft_node(d, base)->kind == LFUSE__FROZEN || d->nodes[base].prepared;
}

/* Whether all products of a batch have one and the same operand i. */
static bool is_shared(const lfuse__draft *d, int32_t matmul, int i)
{
    const int rank = lfuse__draft_node(d, matmul)->rank;
    lfuse__view walk;

    lfuse__draft_operand(d, matmul, i, &walk);
    for (int axis = 0; axis < rank - 2; axis++)
        if (walk.axis[axis] >= 0) return false;
    return rank > 2;
}

/*
 * What is asked for but that operands are split where a solver does so alone. A vendor's library that is asked for
 * multiplies f32, which such precisions leave open.
 */
static lfuse_precision settle(const lfuse__draft *d, lfuse_precision asked, const lfuse__matmul_desc *desc)
{
    if (!lfuse__may_split(asked)) return asked;
    return d->provider != LFUSE_PROVIDER_VENDOR && desc->result == LFUSE_F32 && d->advice->splits(d->facts, desc)
               ? asked : LFUSE_PRECISION_FULL;
}

lfuse_precision lfuse__draft_precision(const lfuse__draft *d, int32_t matmul)
{
    lfuse__matmul_desc desc;

    lfuse__draft_describe(d, matmul, &desc);
    return desc.precision;
}

void lfuse__draft_describe(const lfuse__draft *d, int32_t matmul, lfuse__matmul_desc *desc)
{
    const lfuse__node *n = lfuse__draft_node(d, matmul), *a = lfuse__draft_node(d, n->in[0]);
    const lfuse_precision asked = n->op == LFUSE_PRECISION_FULL ? d->precision : (lfuse_precision)n->op;
    int i;

    *desc = (lfuse__matmul_desc){ .result = (lfuse_type)n->type, .precision = asked, .batched = n->rank > 2,
                                  .list = n->list, .prepared = d->nodes[matmul].prepared,
                                  .levels = d->nodes[matmul].levels, .provider = d->provider, .compared = d->both };
    for (i = 0; i < 2; i++) {
        desc->types[i] = (lfuse_type)lfuse__draft_node(d, n->in[i])->type;
        desc->frozen[i] = !n->list && lfuse__draft_frozen(d, matmul, i);
        desc->shared[i] = !n->list && is_shared(d, matmul, i);
        desc->transposed[i] = !n->list && lfuse__draft_transposed(d, matmul, i);
    }
    if (!n->list) /* else each member has sizes of its own */
        lfuse__product_bounds(d->g, n->rank, n->shape, a->shape[a->rank - 1], &desc->low, &desc->high);
    desc->precision = settle(d, asked, desc);
}

static lfuse__computes computes(const lfuse__draft *d, int32_t matmul)
{
    lfuse__matmul_desc desc;

    lfuse__draft_describe(d, matmul, &desc);
    return d->advice->provider(d->facts, &desc);
}

bool lfuse__draft_both(const lfuse__draft *d, int32_t matmul)
{
    return computes(d, matmul) == LFUSE__COMPUTES_EITHER;
}

static bool holds_list(const lfuse__draft *d, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(d, node);

    return n->list && n->rank == LFUSE_RANK_MATRIX && d->nodes[node].scope == LFUSE__SCOPE_NONE &&
           !d->nodes[node].recomputed && lfuse__draft_pointwise(d, node);
}

bool lfuse__native_holds(const lfuse__draft *d, int32_t node, const lfuse__node *product)
{
    const lfuse__node *n = lfuse__draft_node(d, node);
    lfuse__unit_loop loop;
    size_t shape;
    int i;

    if (product->list) return holds_list(d, node);
    shape = (size_t)product->rank * sizeof *n->shape;
    if (n->list || n->rank != product->rank || memcmp(n->shape, product->shape, shape) ||
        d->nodes[node].signature.row || d->nodes[node].recomputed || !lfuse__draft_pointwise(d, node))
        return false;
    lfuse__draft_loop(d, node, &loop);
    if (loop.rank != product->rank || loop.naxes || memcmp(loop.extents, product->shape, shape)) return false;
    for (i = 0; i < loop.rank; i++)
        if (loop.axis[i] != i) return false;
    return true;
}

/* Whose axes the walks of a node's operands have. */
static int32_t walker_of(const lfuse__draft *d, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(d, node);

    return n->kind == LFUSE__REDUCE ? n->in[0] : node;
}

/* How many nodes of the region read the product, each where it stands itself. */
static int readers(const lfuse__draft *d, int32_t matmul, int32_t region)
{
    lfuse__view walk;
    int32_t node;
    int i, count = 0;

    for (node = region; node >= 0; node = d->nodes[node].next) {
        bool reads = false;
        for (i = 0; i < lfuse__draft_node(d, node)->nin; i++) {
            if (lfuse__draft_operand(d, node, i, &walk) != matmul) continue;
            if (!lfuse__draft_same_index(d, walker_of(d, node), &walk)) return -1;
            reads = true;
        }
        count += reads;
    }
    return count;
}

/* `sums`: the region may sum the rows of the product, where its kernel does so. */
static int32_t tail_of(const lfuse__draft *d, int32_t matmul, bool sums)
{
    const lfuse__node *product = lfuse__draft_node(d, matmul);
    const int32_t reader = d->nodes[matmul].reader, region = reader < 0 ? -1 : d->nodes[reader].region;
    int32_t node;

    if (d->disable & LFUSE_NO_EPILOGUE || region < 0 || d->nodes[matmul].cut ||
        d->nodes[reader].prepared != d->nodes[matmul].prepared)
        return -1;
    for (node = region; node >= 0; node = d->nodes[node].next)
        if (!lfuse__native_holds(d, node, product)) break;
    if (node >= 0 && !(sums && lfuse__product_sums(d, matmul, region))) return -1;
    return readers(d, matmul, region) == d->nodes[matmul].reads ? region : -1;
}

int32_t lfuse__native_tail(const lfuse__draft *d, int32_t matmul)
{
    return tail_of(d, matmul, true);
}

/*
 * Whether the product's kernel can compute a region behind it that a vendor's library would leave to another kernel. No
 * sums: whether the kernel adds these depends on who computes the product.
 */
static bool has_own_epilogue(const lfuse__draft *d, int32_t matmul)
{
    const int32_t region = tail_of(d, matmul, false);
    lfuse__tail t;

    return region >= 0 && !lfuse__tail_match(d, matmul, region, &t);
}

bool lfuse__draft_vendor_competes(const lfuse__draft *d, const lfuse__unit *u)
{
    return computes(d, u->node) == LFUSE__COMPUTES_EPILOGUE && has_own_epilogue(d, u->node) &&
           lfuse__prologue(d, u->node, 0) < 0 && lfuse__prologue(d, u->node, 1) < 0;
}

bool lfuse__draft_native(const lfuse__draft *d, int32_t matmul)
{
    const lfuse__computes who = computes(d, matmul);

    if (who == LFUSE__COMPUTES_NATIVE || who == LFUSE__COMPUTES_EITHER) return true;
    if (who == LFUSE__COMPUTES_EPILOGUE && has_own_epilogue(d, matmul)) return true;
    /* To read what a matrix is made of is less than to write the matrix, which a vendor's product would read again. */
    return d->provider == LFUSE_PROVIDER_DEFAULT && d->advice->has_tiles(d->facts) &&
           lfuse__draft_node(d, lfuse__draft_node(d, matmul)->in[0])->type != LFUSE_F64 &&
           lfuse__prologue_pays(d, matmul);
}

void lfuse__native_store(lfuse__draft *d, lfuse__builder *b, int32_t matmul, int reg)
{
    if (d->memory[matmul].home.set) lfuse__builder_store_result(b, reg, matmul, NULL);
}

/* A and B in front of the body's operands. */
static lfuse_status add_matrices(lfuse__draft *d, int32_t matmul, lfuse__step *step)
{
    lfuse__operand *all = calloc((size_t)(step->noperands + OWN), sizeof *all);
    lfuse__view walk;
    int i;

    if (!all) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made");
    memcpy(all + OWN, step->operands, (size_t)step->noperands * sizeof *all);
    free(step->operands);
    step->operands = all;
    step->noperands += OWN;
    for (i = 0; i < step->body.ninstr; i++)
        if (step->body.instr[i].kind == LFUSE__I_LOAD) step->body.instr[i].a += OWN;
    for (i = 0; i < step->body.nstores; i++) step->body.stores[i].operand += OWN;
    for (i = 0; i < OWN; i++) {
        const int32_t base = lfuse__draft_operand(d, matmul, i, &walk);
        LFUSE__TRY(lfuse__draft_operand_at(d, base, &d->memory[base].home, &walk, &all[i]));
        if (step->kind != LFUSE__STEP_GEMM || !step->product.prologue[i]) continue;
        all[i].place = LFUSE__PLACE_SUM;
        all[i].index = 0;
    }
    return LFUSE_OK;
}

/*
 * A kernel of products looks nothing up, has two operands fewer than others for its body, and counts in no batch. What
 * a kernel of lists reads of members' sizes are those of its products.
 */
static bool fits(const lfuse__step *step)
{
    int i;

    for (i = 0; i < step->noperands; i++)
        if ((step->operands[i].place >= LFUSE__PLACE_ELEMENTS && step->operands[i].place < LFUSE__PLACE_SHAPE) ||
            step->operands[i].gathered >= 0 || (step->rank > 2 && step->operands[i].place == LFUSE__PLACE_INDEX))
            return false;
    return step->noperands + OWN <= LFUSE__BODY_OPERANDS;
}

static void describe_list(const lfuse__draft *d, int32_t matmul, lfuse__step *step)
{
    const lfuse__node *n = lfuse__draft_node(d, matmul);
    int i;

    step->lists = (lfuse__list_walk){ .list = d->nodes[matmul].list, .walked = LFUSE__SPAN_LIST };
    for (i = 0; i < n->naxes; i++) step->lists.transposed[n->axes[i]] = true;
}

/* `alone`: the product is stored where it has a place. */
static lfuse_status build(lfuse__draft *d, const lfuse__unit *u, lfuse__builder *b, bool alone, lfuse__step *step,
                          bool *fitting)
{
    const lfuse__node *n = lfuse__draft_node(d, u->node);
    const bool sums = u->tail >= 0 && lfuse__product_sums(d, u->node, u->tail);
    lfuse__matmul_desc desc;
    lfuse__unit_loop loop;
    int sum;

    if (sums) lfuse__product_sums_loop(d, u->node, &loop);
    else if (u->tail >= 0) lfuse__draft_loop(d, u->tail, &loop);
    if (u->tail >= 0) lfuse__builder_loop(b, &loop);
    sum = lfuse__builder_sum(b, u->node);
    if (alone) lfuse__native_store(d, b, u->node, sum);
    if (u->tail >= 0) lfuse__region_stores(d, b, u->tail, &loop);
    if (n->list) lfuse__builder_shape(b, LFUSE__STEP_GROUPED, LFUSE__SPAN_LIST, d->nodes[u->node].list);
    if (!lfuse__builder_overflow(b))
        LFUSE__TRY(lfuse__builder_finish(b, n->list ? LFUSE__STEP_GROUPED : LFUSE__STEP_GEMM, step));
    *fitting = !lfuse__builder_overflow(b) && fits(step) && (!sums || lfuse__product_sums_fit(step));
    if (!*fitting) return LFUSE_OK;
    if (n->list) {
        describe_list(d, u->node, step);
        return add_matrices(d, u->node, step);
    }
    lfuse__draft_describe(d, u->node, &desc);
    /* What shares a launch is too small for split operands. */
    step->product = (lfuse__product){ .native = true, .type = (lfuse_type)lfuse__draft_node(d, n->in[0])->type,
                                      .wide = n->type != lfuse__draft_node(d, n->in[0])->type,
                                      .precision = d->nodes[u->node].together ? LFUSE_PRECISION_FULL
                                                                              : desc.precision,
                                      .frozen = { desc.frozen[0], desc.frozen[1] },
                                      .m = n->shape[n->rank - 2],
                                      .n = n->shape[n->rank - 1],
                                      .k = lfuse__draft_node(d, n->in[0])->shape[n->rank - 1],
                                      .alpha = -1, .beta = -1 };
    LFUSE__TRY(lfuse__prologue_add(d, u->node, step, fitting));
    *fitting = *fitting && fits(step);
    return *fitting ? add_matrices(d, u->node, step) : LFUSE_OK;
}

/* What does not fit has steps of its own the next time. */
static void cut(lfuse__draft *d, int32_t matmul)
{
    if (!lfuse__prologue_cut(d, matmul)) d->nodes[matmul].cut = true;
    d->changed = true;
}

lfuse_status lfuse__make_native(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    const lfuse__node *n = lfuse__draft_node(d, u->node);
    lfuse__builder *b;
    lfuse_status status;
    bool fitting = false;

    LFUSE__TRY(lfuse__stage_create(stage, 1, (const int[]){ 1 }));
    stage->alternatives[0].name = "native";
    LFUSE__TRY(lfuse__builder_begin(d, u->tail, n->rank, n->shape, &b));
    status = build(d, u, b, true, stage->alternatives[0].steps, &fitting);
    if (!status && fitting && u->tail >= 0 && lfuse__product_sums(d, u->node, u->tail))
        status = lfuse__make_sums(d, u, stage, &fitting);
    if (!status && !fitting) cut(d, u->node);
    return status;
}

lfuse_status lfuse__native_step(lfuse__draft *d, const lfuse__unit *u, lfuse__step *step, bool *fits)
{
    const lfuse__node *n = lfuse__draft_node(d, u->node);
    lfuse__builder *b;
    lfuse_status status;

    memset(step, 0, sizeof *step);
    LFUSE__TRY(lfuse__builder_begin(d, u->tail, n->rank, n->shape, &b));
    status = build(d, u, b, u->tail < 0, step, fits);
    if (!status && *fits) return LFUSE_OK;
    lfuse__step_free(step);
    memset(step, 0, sizeof *step);
    return status;
}
