/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on GPUs: a work-group computes a tile of the result, a work-item some vectors of its rows and columns; of
 * small tiles, slices of work-items have a share of k each. Where there are fewer tiles than a device has room for,
 * several groups take a part of k each, and the last of a tile to come adds up what they found, in the order of the
 * parts, and goes through the epilogue (split_k.c). Of a side of few it is a second launch that does so.
 */
#include <string.h>

#include "common/base/error.h"
#include "common/matmul/grouped.h"
#include "common/matmul/tile.h"
#include "common/kernels/template.h"

#include "common/kernels/text/gemm_band.k.h"
#include "common/kernels/text/gemm_k_part.k.h"
#include "common/kernels/text/gemm_schedule.k.h"

uint64_t lfuse__tiles_tickets(const lfuse__kernel_class *c)
{
    return c->product.split || c->product.column_sums ? LFUSE__TILES_TICKETS * 4 : 0;
}

uint64_t lfuse__tiles_workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g)
{
    uint64_t bytes = lfuse__tiles_tickets(c);
    lfuse__cut found;

    if (!bytes) return 0;
    lfuse__tiles_cut(&c->product, facts, g, &found);
    if (c->product.split) {
        const bool shared = c->product.split == LFUSE__SPLIT_STREAM_K;
        const int64_t sums = shared ? found.workers + found.shared : found.down * found.across * found.parts;
        bytes += (uint64_t)(sums * c->product.rows * c->product.columns) * lfuse__type_bytes(c->product.sum);
    }
    if (c->product.column_sums) bytes += lfuse__tiles_cells(&c->product, found.down, found.across);
    return bytes;
}

/* ---- the text ---- */

int lfuse__tiles_threads(const lfuse__product_class *p)
{
    const int threads = p->solver->tile->threads;

    return threads ? threads : p->rows / p->item_rows * (p->columns / p->item_columns) * p->slices;
}

int lfuse__tiles_text_words(const lfuse__tiles *t)
{
    return t->t.list.k ? lfuse__list_words(&t->t) : lfuse__tiles_words(t->p, &t->l);
}

int lfuse__tiles_text_buffers(const lfuse__tiles *t)
{
    return t->t.list.k ? lfuse__grouped_buffers(&t->t) : lfuse__kernel_buffers(t->t.k);
}

lfuse__expr lfuse__tiles_text_vectors(const lfuse__tiles *t)
{
    return lfuse__expression("%s(%d)", t->l.word, t->l.own + LFUSE__TILES_VECTORS);
}

void lfuse__tiles_put_items(const void *context, int which, int indent)
{
    const lfuse__tiles *t = context;

    (void)which, (void)indent;
    lfuse__put(t->t.out, 1, "const u32 place = item %% %d, slice = item / %d;", t->places, t->places);
    t->p->solver->tile->put_corner(t, 1, "place");
}

/*
 * Whether the height of a band is known at a launch only: band_of. Elsewhere it is part of the text, as groups that
 * take one tile would have a division more.
 */
static bool has_own_bands(const lfuse__product_class *p)
{
    return lfuse__has_maps(p);
}

void lfuse__tiles_put_band_of(const lfuse__tiles *t, int indent, const char *number, const char *tiles_down,
                              const char *tiles_across, const char *by_band, const char *by_high)
{
    const lfuse__expr high = has_own_bands(t->p) ? lfuse__expression("(u32)W(%d)", t->l.own + LFUSE__TILES_HIGH)
                                                 : lfuse__expression("%d", LFUSE__TILES_BAND);
    const lfuse__parameter parameters[] = {
        {"NUMBER", .word = number}, {"TILES_DOWN", .word = tiles_down}, {"TILES_ACROSS", .word = tiles_across},
        {"BAND", .word = high.text}, {"BY_BAND", .word = by_band}, {"BY_HIGH", .word = by_high}, {NULL},
    };

    lfuse__put_text(t->t.out, indent, lfuse__text_gemm_band, parameters, NULL, NULL);
}

void lfuse__tiles_put_band(const void *context, int which, int indent)
{
    const lfuse__tiles *t = context;
    const int by_band = t->l.own + LFUSE__TILES_BY_BAND, by_high = t->l.own + LFUSE__TILES_BY_HIGH;

    (void)which;
    lfuse__tiles_put_band_of(t, indent, "number", "tiles_down", "tiles_across",
                             lfuse__expression("DIV32(number, (u32)W(%d), (u32)(W(%d) >> 32))", by_band, by_band).text,
                             lfuse__expression("DIV32(in_band, (u32)W(%d), (u32)(W(%d) >> 32))", by_high,
                                               by_high).text);
}

void lfuse__tiles_put_operands(const void *context, int which, int indent)
{
    const lfuse__tiles *t = context;

    (void)which;
    lfuse__put_product_memory(t->t.out, indent, t->t.k, &t->l);
}

void lfuse__tiles_put_k_part(const void *context, int which, int indent)
{
    const lfuse__tiles *t = context;
    const lfuse__parameter parameters[] = {
        {"SPLIT", .number = t->p->split == LFUSE__SPLIT_K}, {"BY_PARTS", .number = t->l.own + LFUSE__TILES_BY_PARTS},
        {NULL},
    };

    (void)which;
    lfuse__put_text(t->t.out, indent, lfuse__text_gemm_k_part, parameters, NULL, NULL);
}

void lfuse__tiles_put_schedule(const void *context, int which, int indent)
{
    static const lfuse__text_place places[] = {{"BAND", lfuse__tiles_put_band, 0},
                                               {"K_PART", lfuse__tiles_put_k_part, 0},
                                               {"PLACE_IN_TILE", lfuse__tiles_put_items, 0},
                                               {"OPERANDS", lfuse__tiles_put_operands, 0}, {NULL, NULL, 0}};
    const lfuse__tiles *t = context;
    const int own = t->l.own;
    const lfuse__parameter parameters[] = {
        {"DEPTH", .number = t->p->depth}, {"BATCHED", .number = t->l.batch >= 0},
        {"SPLIT", .number = t->p->split == LFUSE__SPLIT_K},
        {"STREAM_K", .number = t->p->split == LFUSE__SPLIT_STREAM_K}, {"COLUMN_SUMS", .number = t->p->column_sums},
        {"M", .number = t->l.m}, {"N", .number = t->l.n}, {"K", .number = t->l.k},
        {"DOWN", .number = own + LFUSE__TILES_DOWN}, {"ACROSS", .number = own + LFUSE__TILES_ACROSS},
        {"PARTS", .number = own + LFUSE__TILES_PARTS}, {"SHARED", .number = own + LFUSE__TILES_SHARED},
        {"BY_PARTS", .number = own + LFUSE__TILES_BY_PARTS},
        {"APART", .number = own + LFUSE__TILES_APART}, {NULL},
    };

    (void)which;
    if (t->t.list.k) lfuse__tiles_put_member(t);
    else lfuse__put_text(t->t.out, indent, lfuse__text_gemm_schedule, parameters, places, t);
}

void lfuse__tiles_describe(lfuse__tiles *t, lfuse__strbuf *out, const lfuse__kernel_class *c)
{
    const lfuse__product_class *p = &c->product;
    memset(t, 0, sizeof *t);
    lfuse__product_layout_make(c, &t->l);
    lfuse__text_init(&t->t, out, c, NULL);
    lfuse__product_text_own(&t->t);
    if (p->column_sums) lfuse__tiles_text_part(&t->t, false);
    t->t.numbers = t->l.numbers;
    t->p = p;
    t->sum = lfuse__register_word(p->sum);
    t->vector = t->t.vector = lfuse__tiles_vector(&c->product);
    t->threads = lfuse__tiles_threads(p);
    t->places = t->threads / p->slices;
    t->vectors = p->rows * p->columns / t->vector;
}

/* Whether a launch begins before the one in front of it has ended. */
static bool overlaps(const lfuse__facts *facts, const lfuse__product_class *p)
{
    return facts->overlaps && p->solver->tile->overlaps && p->split != LFUSE__SPLIT_STREAM_K;
}

lfuse_status lfuse__tiles_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c,
                               const lfuse__facts *facts)
{
    const lfuse__product_class *p = &c->product;
    const bool known = lfuse__tiles_known(p) && (!p->column_sums || lfuse__tiles_sum_columns(p));
    lfuse__tiles t;

    if (!known || p->phase < lfuse__product_first(c) || p->phase >= lfuse__product_phases(c))
        return lfuse__error(LFUSE_ERR_INVALID, "a product by tiles of %d x %d x %d, phase %d", p->rows, p->columns,
                            p->depth, p->phase);
    lfuse__tiles_describe(&t, out, c);
    t.overlaps = overlaps(facts, p);
    t.steps = facts->steps;
    lfuse__put_powers(out, c->body);
    p->solver->tile->put_kernel(&t, name);
    return LFUSE_OK;
}

/* ---- sizes ---- */

/* Whether A (i = 0) or B, or what it is computed of, lies in rows of vectors. */
static bool lies_in_vectors(const lfuse__kernel_class *c, const lfuse__geometry *g, int i, int vector)
{
    return lfuse__product_side_aligned(c, g, i, vector) &&
           (c->product.prologue[i] || lfuse__product_aligned(c, g, i, vector));
}

/* Whether A (i = 0) or B lies in rows of vectors, and where a tile may cut a row, has nothing else there. */
static bool matrix_aligned(const lfuse__kernel_class *c, const lfuse__geometry *g, int i)
{
    const int vector = lfuse__tiles_vector(&c->product), chunk = c->product.solver->tile->chunk;
    if (chunk)
        return g->extents[lfuse__is_k_contiguous(&c->product, i) ? 2 : i] % chunk == 0 &&
               lies_in_vectors(c, g, i, chunk);
    if (!lfuse__is_k_contiguous(&c->product, i) && g->extents[i] % vector) return false;
    return lies_in_vectors(c, g, i, vector);
}

lfuse_status lfuse__tiles_launch(const lfuse__kernel_class *c, const lfuse__geometry *g, uint64_t groups,
                                 unsigned group, lfuse__packed *packed)
{
    if (groups > LFUSE__GROUP_BOUND)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%lld products of %lld x %lld take %llu work-groups",
                            (long long)lfuse__product_batch(c, g), (long long)g->extents[0], (long long)g->extents[1],
                            (unsigned long long)groups);
    packed->groups = groups;
    packed->group = group;
    return LFUSE_OK;
}

/*
 * Returns how many tiles along m a band has. Where the units have a whole band and more at a time, and not all tiles,
 * bands are low: what units have of the next band is then of two rows of A, in place of up to eight, and the rest of
 * these rows follows at once. In bursts an H100 took 96.7 us for 8192 x 1024 x 4096 of f16 with gelu, in high bands
 * 98.4, and 191.9 us for 8192 x 2048 x 4096, in high bands 195.7. (In bands of one the latter took 212.) Nobody has
 * measured other types, and batches.
 */
static int64_t band_of(const lfuse__product_class *p, const lfuse__facts *facts, const lfuse__cut *c)
{
    const int64_t high = LFUSE__TILES_BAND, units = lfuse__units(facts);
    const bool measured = has_own_bands(p) && p->solver->tile->bytes == 2 && !p->batched;

    return measured && c->across * high <= units && c->down * c->across > units ? LFUSE__TILES_LOW_BAND : high;
}

lfuse_status lfuse__tiles_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                               lfuse__packed *packed)
{
    const lfuse__product_class *p = &c->product;
    const int64_t batch = lfuse__product_batch(c, g);
    const bool shared = p->split == LFUSE__SPLIT_STREAM_K;
    const int vector = lfuse__tiles_vector(p);
    lfuse__product_layout l;
    uint64_t groups, *own;
    int64_t band;
    lfuse__cut found;
    lfuse__product_layout_make(c, &l);
    LFUSE__TRY(lfuse__product_layout_pack(c, g, lfuse__tiles_words(p, &l) - l.own, packed));
    own = packed->words + l.own;
    if (!lfuse__tiles_cut(p, facts, g, &found))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "tiles of %d x %d cannot be shared out", p->rows, p->columns);
    band = band_of(p, facts, &found);
    own[LFUSE__TILES_HIGH] = (uint64_t)band;
    own[LFUSE__TILES_DOWN] = (uint64_t)found.down;
    own[LFUSE__TILES_ACROSS] = (uint64_t)found.across;
    own[LFUSE__TILES_PARTS] = (uint64_t)(shared ? found.workers : found.parts);
    own[LFUSE__TILES_SHARED] = (uint64_t)found.shared;
    own[LFUSE__TILES_BY_BAND] = lfuse__division32((uint64_t)(found.across * band));
    own[LFUSE__TILES_BY_HIGH] = lfuse__division32(found.down % band ? (uint64_t)(found.down % band) : 1);
    own[LFUSE__TILES_BY_PARTS] = lfuse__division32(own[LFUSE__TILES_PARTS]);
    if (p->column_sums) own[LFUSE__TILES_APART] = (uint64_t)lfuse__tiles_apart(p, g->extents[0]);
    own[LFUSE__TILES_VECTORS] = (uint64_t)matrix_aligned(c, g, LFUSE__PRODUCT_A) |
                                (uint64_t)matrix_aligned(c, g, LFUSE__PRODUCT_B) << 1 |
                                (uint64_t)lfuse__product_side_aligned(c, g, -1, vector) << 2;
    own[LFUSE__TILES_VECTORS] |= lfuse__tiles_prefetches(c, facts, g) ? LFUSE__TILES_PREFETCH : 0;
    groups = (uint64_t)found.down * (uint64_t)found.across * (shared ? 1 : (uint64_t)found.parts) * (uint64_t)batch;
    if (shared) groups += (uint64_t)(found.workers - found.shared);
    if (overlaps(facts, p)) {
        own[LFUSE__TILES_VECTORS] |= g->early ? LFUSE__TILES_EARLY : 0;
        own[LFUSE__TILES_VECTORS] |= lfuse__tiles_hand_over(p, facts, groups) ? LFUSE__TILES_HANDS : 0;
    }
    return lfuse__tiles_launch(c, g, groups, (unsigned)lfuse__tiles_threads(p), packed);
}
