/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prologues: pointwise work on an operand, which the library's own product computes where it reads the operand, so that
 * its value never lies in memory. Taken where
 *   - the product is plain, of tensors, by the library's own kernels and nobody else's;
 *   - nobody else wants the operand's value, which is not made of frozen inputs alone (that is computed once), and the
 *     kernel that computes it would store nothing else and follows no product (whose epilogue it is, or may be);
 *   - the product is skinny and the work light, or solvers of tiles that compute operands are estimated to be faster
 *     than a kernel that stores this one and the best solver, which may want it in memory (lfuse__matmul_advice).
 * A product is skinny where one side of its result is SKINNY at most whatever the sizes are, so that each element of
 * the operand that lies along the other side is read once, and few of the other one. Work is light where
 *   - the operand is read once, and an element takes WORK simple operations at most. On CPUs it is not the left operand
 *     of few columns: to pack that is most of the product there, and what it is made of has more rows to walk at a time
 *     than the cache likes (PoCL: 0.84 to 0.96 of the speed);
 *   - or it is the other operand, which every work-group computes again: there the elements of a column count together;
 *     and the result is not what another product multiplies, with which this one may share a launch.
 * The value is rounded to its type before it is multiplied, as if it had been stored.
 *
 * Weights of 8 bits with a scale, 4096 x 4096, in f32 on an H200: 1, 4, 8 and 16 rows take 19, 20, 49 and 49 us; with a
 * kernel in front of the maker's product 41, 64, 65 and 108. Of 2048 x 2048 on PoCL: half of the time.
 *
 * Weights of f32, 4096 x 4096, converted to f16 on an H100, on tensor cores: 8, 16, 64 and 128 rows take 33, 33, 33 and
 * 39 us; without those 57 and 58, and nobody computes operands of more rows; with a kernel in front of the maker's
 * product 47, 47, 48 and 50. In tiles 256 rows would take 61 us, and with such a kernel take 54.
 */
#include "common/plan/draft.h"

#include <string.h>

#include "common/base/error.h"

enum { SKINNY = 16, WORK = 64 };

static int64_t most(const lfuse__draft *d, lfuse_size s)
{
    int64_t low, high;

    lfuse__size_bounds(d->g, s, &low, &high);
    return high;
}

/* What the region's operators come to; negative: it is no prologue. */
static double work_of(const lfuse__draft *d, int32_t region, int32_t base)
{
    const lfuse__node *like = lfuse__draft_node(d, base);
    double work = 0;
    lfuse__view walk;
    int32_t node;
    int i;

    for (node = region; node >= 0; node = d->nodes[node].next) {
        const lfuse__node *n = lfuse__draft_node(d, node);
        if (!lfuse__native_holds(d, node, like) || d->nodes[node].is_result || d->nodes[node].target >= 0) return -1;
        if (node != base && (lfuse__draft_stored(d, node) || d->nodes[node].read_elsewhere)) return -1;
        for (i = 0; i < n->nin; i++)
            if (lfuse__draft_node(d, lfuse__draft_operand(d, node, i, &walk))->kind == LFUSE__MATMUL) return -1;
        work += n->kind == LFUSE__POINTWISE ? lfuse__op_weight((lfuse__op)n->op) : 1;
    }
    return work;
}

/* All of the base, in order or transposed. */
static bool whole(const lfuse__draft *d, int32_t base, const lfuse__view *walk)
{
    const lfuse__node *n = lfuse__draft_node(d, base);
    int i;

    if (walk->rank != 2 || walk->gathered >= 0 || memcmp(walk->shape, n->shape, 2 * sizeof *n->shape)) return false;
    for (i = 0; i < 2; i++)
        if (walk->axis[i] < 0 || walk->offset[i] != 0 || walk->step[i] != 1) return false;
    return walk->axis[0] != walk->axis[1];
}

static bool another_product_follows(const lfuse__draft *d, int32_t matmul)
{
    const int32_t reader = d->nodes[matmul].reader;
    int32_t node;

    if (d->nodes[matmul].needs_memory) return true;
    for (node = reader < 0 ? -1 : d->nodes[reader].region; node >= 0; node = d->nodes[node].next)
        if (d->nodes[node].needs_memory) return true;
    return false;
}

static bool light(const lfuse__draft *d, int32_t matmul, int i, double work)
{
    const lfuse__node *n = lfuse__draft_node(d, matmul);
    const int64_t side = most(d, n->shape[i]), other = most(d, n->shape[1 - i]);

    if (other <= SKINNY && (i || !d->facts->vector_lanes)) return work <= WORK;
    return side <= SKINNY && work * (double)side <= WORK && !another_product_follows(d, matmul);
}

static bool plain(const lfuse__draft *d, int32_t matmul)
{
    const lfuse__node *n = lfuse__draft_node(d, matmul);

    return !(d->disable & LFUSE_NO_PROLOGUE) && !n->list && n->rank == 2 &&
           lfuse__draft_precision(d, matmul) == LFUSE_PRECISION_FULL && !d->nodes[matmul].levels &&
           !lfuse__draft_both(d, matmul);
}

static bool is_in(const int32_t *all, int count, int32_t one)
{
    while (count > 0 && all[count - 1] != one) count--;
    return count > 0;
}

/*
 * Returns the bytes of what the region loads for an element; broadcasts are read from caches. 0: there is nothing else,
 * or a matrix is read across its lines, of which chunks are no neighbours in memory.
 */
static int bytes_of(const lfuse__draft *d, int32_t region)
{
    int32_t seen[LFUSE__BODY_OPERANDS], node;
    int i, count = 0, bytes = 0;
    lfuse__view walk;

    for (node = region; node >= 0; node = d->nodes[node].next)
        for (i = 0; i < lfuse__draft_node(d, node)->nin; i++) {
            const int32_t base = lfuse__draft_operand(d, node, i, &walk);
            const lfuse__node *n = lfuse__draft_node(d, base);
            if (d->nodes[base].region == region || n->rank != 2 || walk.axis[0] < 0 || walk.axis[1] < 0 ||
                is_in(seen, count, base) || count == LFUSE__BODY_OPERANDS)
                continue;
            if (walk.axis[0] > walk.axis[1]) return 0;
            seen[count++] = base;
            bytes += (int)lfuse_type_size((lfuse_type)n->type);
        }
    return bytes;
}

/* What an operand is computed by. */
typedef struct computed {
    int32_t region; /* -1: it lies in memory */
    double work;
    bool tiles; /* it is worth the library's own kernels whatever the vendor's library is */
} computed;

static computed computed_of(const lfuse__draft *d, int32_t matmul, int i);

static void describe(const lfuse__draft *d, int i, const computed *c, lfuse__matmul_desc *desc)
{
    desc->prologue_work[i] = (int)c->work;
    desc->prologue_bytes[i] = bytes_of(d, c->region);
    desc->prologue |= desc->prologue_bytes[i] > 0;
}

/*
 * Whether it costs less to compute operand i in tiles, of which several may compute the same element, than to store it;
 * and the product is no layer that may share a launch with others. The right operand is asked for beside the left one
 * as it is then, computed or not.
 */
static bool pays_in_tiles(const lfuse__draft *d, int32_t matmul, int i, const computed *c)
{
    const bool layer = !i && most(d, lfuse__draft_node(d, matmul)->shape[0]) <= LFUSE__NETWORK_ROWS_MOST;
    const computed left = i ? computed_of(d, matmul, 0) : (computed){ .region = -1 };
    lfuse__matmul_desc desc;

    if (layer && another_product_follows(d, matmul)) return false;
    lfuse__draft_describe(d, matmul, &desc);
    if (left.region >= 0) describe(d, 0, &left, &desc);
    describe(d, i, c, &desc);
    return desc.prologue_bytes[i] && d->advice->prologue_pays(d->facts, &desc, i);
}

/* The prologue, whoever computes the product. */
static computed computed_of(const lfuse__draft *d, int32_t matmul, int i)
{
    const computed none = { .region = -1 };
    lfuse__view walk, other;
    int32_t base;
    computed c;

    if (!plain(d, matmul)) return none;
    base = lfuse__draft_operand(d, matmul, i, &walk);
    c.region = d->nodes[base].region;
    if (c.region < 0 || d->nodes[base].reads != 1 || d->nodes[base].cut ||
        d->nodes[base].prepared != d->nodes[matmul].prepared ||
        lfuse__draft_operand(d, matmul, 1 - i, &other) == base || !whole(d, base, &walk))
        return none;
    c.work = work_of(d, c.region, base);
    if (c.work < 0) return none;
    c.tiles = pays_in_tiles(d, matmul, i, &c);
    return c.tiles || light(d, matmul, i, c.work) ? c : none;
}

bool lfuse__prologue_pays(const lfuse__draft *d, int32_t matmul)
{
    const lfuse__node *n = lfuse__draft_node(d, matmul);
    int i;

    if (n->list || n->rank != 2) return false;
    for (i = 0; i < 2; i++) {
        const computed c = computed_of(d, matmul, i);
        if (c.region >= 0 && (c.tiles || most(d, n->shape[1 - i]) <= SKINNY)) return true;
    }
    return false;
}

int32_t lfuse__prologue(const lfuse__draft *d, int32_t matmul, int i)
{
    return lfuse__draft_native(d, matmul) ? computed_of(d, matmul, i).region : -1;
}

bool lfuse__prologue_cut(lfuse__draft *d, int32_t matmul)
{
    bool any = false;
    lfuse__view walk;
    int i;

    for (i = 0; i < 2; i++) {
        if (lfuse__prologue(d, matmul, i) < 0) continue;
        d->nodes[lfuse__draft_operand(d, matmul, i, &walk)].cut = any = true;
    }
    return any;
}

/* ---- the step ---- */

/* The prologue's axes are those of its own value: the product may have it transposed. */
static void transpose(lfuse__operand *o)
{
    const int8_t axis = o->axis[0];
    const lfuse_size step = o->step[0];

    o->axis[0] = o->axis[1];
    o->step[0] = o->step[1];
    o->axis[1] = axis;
    o->step[1] = step;
}

static bool has_room(const lfuse__step *step, const lfuse__step *added)
{
    return step->noperands + added->noperands <= LFUSE__BODY_OPERANDS &&
           step->body.ninstr + added->body.ninstr <= LFUSE__BODY_INSTRUCTIONS &&
           step->body.nnumbers + added->body.nnumbers <= LFUSE__BODY_NUMBERS;
}

static lfuse_status add_one(lfuse__draft *d, int32_t matmul, int i, int32_t region, lfuse__step *step, bool *fits)
{
    lfuse__step added = { 0 };
    lfuse__unit_loop loop;
    lfuse__builder *b;
    lfuse__view walk;
    const int32_t base = lfuse__draft_operand(d, matmul, i, &walk);
    const lfuse_type type = (lfuse_type)lfuse__draft_node(d, base)->type;
    const int before = step->body.ninstr;
    int16_t at[LFUSE__BODY_OPERANDS];
    lfuse_status status;
    int reg, k;

    lfuse__draft_loop(d, base, &loop);
    LFUSE__TRY(lfuse__builder_begin(d, region, loop.rank, loop.extents, &b));
    lfuse__builder_loop(b, &loop);
    reg = lfuse__builder_value(b, base, NULL);
    if (lfuse__draft_unrounded(d, base)) reg = lfuse__builder_convert(b, reg, lfuse__register_type(type), type);
    *fits = !lfuse__builder_overflow(b);
    if (!*fits) return LFUSE_OK;
    status = lfuse__builder_finish(b, LFUSE__STEP_POINTWISE, &added);
    *fits = has_room(step, &added);
    for (k = 0; k < added.noperands; k++) {
        at[k] = -1;
        if (walk.axis[0] > walk.axis[1]) transpose(&added.operands[k]);
    }
    if (!status && *fits) status = lfuse__step_append(step, &added, at);
    if (!status && *fits) step->product.prologue[i] = before + reg + 1;
    lfuse__step_free(&added);
    return status;
}

lfuse_status lfuse__prologue_add(lfuse__draft *d, int32_t matmul, lfuse__step *step, bool *fits)
{
    int i;

    *fits = true;
    for (i = 0; i < 2 && *fits; i++) {
        const int32_t region = lfuse__prologue(d, matmul, i);
        if (region >= 0) LFUSE__TRY(add_one(d, matmul, i, region, step, fits));
    }
    return LFUSE_OK;
}
