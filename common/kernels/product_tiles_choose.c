/* SPDX-License-Identifier: Apache-2.0 */
/* Which tiles a product gets, and how it is cut up: by a clock that was set on one device, or by the caller's word. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/kernels/product_grouped.h"
#include "common/kernels/product_tiles.h"
#include "common/plan/provider.h"

/*
 * Tiles of f32 sums; those of f64 are half as wide and high. `residents`: groups that a compute unit of an H200 has
 * registers and local memory for; `wait`: cycles of a slab that pass beside its products where nobody else has any to
 * do; `rate`: products a cycle of a full unit. Other devices differ by factors that are about the same for all.
 */
typedef struct shape {
    int rows, columns, depth, item_rows, item_columns, slices, ahead, beside;
    int residents;
    double wait, rate;
    bool units; /* on units for matrices */
} shape;

/* The first ones are those that a plan of unknown sizes has compiled ahead. */
static const shape shapes[] = {
    {64, 128, 16, 8, 8, 1, 1, 3, 3, 450, 90, false},
    {32, 64, 16, 4, 4, 1, 1, 0, 5, 700, 60, false},
    {16, 32, 64, 4, 4, 8, 2, 0, 3, 500, 49, false},
    {16, 32, 32, 4, 4, 4, 2, 3, 5, 250, 49, false},
    {32, 32, 32, 4, 4, 4, 2, 3, 3, 150, 60, false},
    {32, 64, 32, 8, 4, 4, 1, 2, 2, 100, 67, false},
    {32, 64, 32, 8, 8, 4, 1, 3, 3, 350, 76, false},
    {64, 64, 32, 8, 8, 4, 1, 2, 2, 350, 85, false},
    {64, 64, 32, 16, 8, 4, 1, 2, 2, 800, 91, false},
    {64, 64, 16, 8, 8, 2, 1, 3, 3, 300, 84, false},
    {64, 128, 16, 8, 8, 2, 1, 2, 2, 250, 86, false},
    {128, 128, 16, 8, 16, 1, 1, 0, 2, 2000, 93, false},
    {128, 128, 32, 8, 16, 1, 2, 2, 2, 400, 970, true},
    {64, 64, 32, 4, 8, 1, 3, 4, 4, 1400, 635, true},
    {64, 128, 32, 4, 16, 1, 2, 3, 3, 700, 790, true},
    {32, 128, 32, 4, 8, 1, 3, 4, 4, 1500, 585, true},
    {128, 32, 32, 4, 8, 1, 3, 4, 4, 1500, 585, true},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, AHEAD_OF_SIZES = 2, UNITS = 12 /* the first on units for matrices */ };

/* Rows or columns that a work-item may have as a whole. Few, as a plan of unknown sizes compiles all the classes. */
static const int fews[] = {4, 16};
enum { FEWS = sizeof fews / sizeof *fews };

static int scale(const lfuse__product_class *p)
{
    return p->sum == LFUSE_F64 ? 2 : 1;
}

static void shape_set(lfuse__product_class *p, const shape *s)
{
    p->rows = s->rows / scale(p);
    p->columns = s->columns / scale(p);
    p->depth = s->depth;
    p->item_rows = s->item_rows / scale(p);
    p->item_columns = s->item_columns / scale(p);
    p->slices = s->slices;
    p->ahead = s->ahead;
    p->beside = s->beside;
    p->units = s->units;
}

static const shape *shape_of(const lfuse__product_class *p)
{
    for (int i = 0; i < SHAPES; i++)
        if (shapes[i].rows == p->rows * scale(p) && shapes[i].columns == p->columns * scale(p) &&
            shapes[i].depth == p->depth && shapes[i].item_rows == p->item_rows * scale(p) &&
            shapes[i].item_columns == p->item_columns * scale(p) && shapes[i].slices == p->slices &&
            shapes[i].units == p->units)
            return &shapes[i];
    return NULL;
}

/*
 * Cycles: of a launch beside its groups' products, of groups that meet, and of the way from memory; vectors that a
 * work-item has on their way; what launches gain of which the next comes up early. Parts are taken where they gain a
 * tenth: what they write costs more than what is counted here. So it is with tiles that are shared out, of which many
 * are whole.
 */
static const double start = LFUSE__TILES_START, meeting = 2500, latency = 1600, on_the_way = 16, worth = 1.1,
                    worth_sharing = 1.05, overlap = 1600;

/* Groups of each unit; a double, as a large batch of large products has more than any integer holds. */
static double each_unit(const lfuse__facts *facts, double groups)
{
    return ceil(groups / (facts->info.compute_units ? facts->info.compute_units : 1));
}

/*
 * Work-items of many rows gain where one product's tiles are whole or have parts of k. On an H200 they are slower than
 * the clock says where tiles are shared out, by 7 %, and in batches, by up to 30 %; whole ones by a tenth in some runs
 * where the next launch comes up beside them.
 */
static bool has_many_rows(const shape *s)
{
    return s->item_rows > 8;
}

static bool hands_over(const shape *s, const lfuse__facts *facts, bool whole, double groups)
{
    const double each = each_unit(facts, groups);
    if (s->units || (whole && has_many_rows(s))) return false;
    return each == s->residents || 2 * each <= s->residents;
}

bool lfuse__tiles_hand_over(const lfuse__product_class *p, const lfuse__facts *facts, uint64_t groups)
{
    const shape *s = shape_of(p);
    return s && hands_over(s, facts, !p->split, (double)groups);
}

static double time_of(const shape *s, int by, const lfuse__facts *facts, const lfuse__cut *c)
{
    const double groups = (double)c->down * (double)c->across * (double)c->parts * (double)c->matrices;
    const double all = each_unit(facts, groups), beside = fmin(all, s->residents), rounds = ceil(all / s->residents);
    const double tile = (double)(s->rows / by) * (s->columns / by), work = tile * s->depth / s->rate;
    const double slab = fmax(s->wait / s->ahead + work, beside * work);
    const double items = tile * by * by / s->item_rows / s->item_columns * s->slices;
    const double vectors = tile * by / 4 / items * (double)c->parts; /* that each adds up in the end */
    const double end = c->parts > 1 ? meeting + latency * ceil(vectors / on_the_way) : 0;
    const double time = start + rounds * (double)lfuse__tiles_parts(c->slabs, c->parts) * slab + end;
    const double gained = facts->overlaps && hands_over(s, facts, c->parts == 1, groups) ? overlap : 0;
    return (c->parts > 1 ? worth * time : time) - gained;
}

/* Of tiles that are shared out: all rounds are full. */
static double shared_time(const shape *s, int by, const lfuse__cut *c)
{
    const double tile = (double)(s->rows / by) * (s->columns / by), work = tile * s->depth / s->rate;
    const double slab = fmax(s->wait / s->ahead + work, s->residents * work);
    const double each = (double)lfuse__tiles_parts(c->shared * c->slabs, c->workers);
    const double alone = (double)(c->down * c->across - c->shared) / (double)c->workers * (double)c->slabs;
    const double vectors = (double)(s->item_rows * s->item_columns) / 4 / by / s->slices;
    const double most = (double)lfuse__tiles_parts(c->workers - 1, c->shared) + 1;
    return worth_sharing * (start + (each + alone) * slab + meeting + latency * ceil(vectors * most / on_the_way));
}

/* False: it is no such cut. */
static bool cut_shared(const shape *s, int by, const lfuse__facts *facts, lfuse__cut *c)
{
    const int64_t units = facts->info.compute_units ? facts->info.compute_units : 1;
    if (!lfuse__tiles_share(s->residents * units, c)) return false;
    c->time = shared_time(s, by, c);
    return true;
}

static int64_t tiles_down(const lfuse__product_class *p, int64_t rows)
{
    return p->summed ? lfuse__tiles_down(p, rows) : lfuse__tiles_parts(rows, p->rows);
}

static bool cut_tiles(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents,
                      lfuse__cut *best)
{
    const shape *s = shape_of(p);
    lfuse__cut c = {.down = tiles_down(p, extents[0]),
                    .across = lfuse__tiles_parts(extents[1], p->columns),
                    .slabs = lfuse__tiles_parts(extents[2], p->depth),
                    .matrices = p->batched ? extents[LFUSE__PRODUCT_BATCH] : 1};
    best->time = -1;
    if (p->split == LFUSE__SPLIT_SHARED) {
        *best = c;
        return cut_shared(s, scale(p), facts, best);
    }
    for (c.parts = p->split ? 2 : 1; c.parts <= (p->split ? LFUSE__MOST_PARTS : 1); c.parts++) {
        c.time = time_of(s, scale(p), facts, &c);
        if (best->time < 0 || c.time < best->time) *best = c;
    }
    return true;
}

/* False: a product of these sizes is not cut so, or there are no tickets for all tiles whose parts or sums meet. */
static bool cut_for(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, lfuse__cut *c)
{
    if (lfuse__is_thin(p)) {
        lfuse__thin_cut(p, facts, extents, c);
        return !p->summed || c->across <= LFUSE__TILES_TICKETS;
    }
    if (!cut_tiles(p, facts, extents, c)) return false;
    return (p->split == 1 ? c->down * c->across : 0) + (p->summed ? c->across : 0) <= LFUSE__TILES_TICKETS;
}

bool lfuse__tiles_cut(const lfuse__product_class *p, const lfuse__facts *facts, const lfuse__geometry *g,
                      lfuse__cut *cut)
{
    const bool done = cut_for(p, facts, g->extents, cut);
    if (g->parts > 0) cut->parts = g->parts;
    return done || p->split != LFUSE__SPLIT_SHARED;
}

bool lfuse__tiles_known(const lfuse__product_class *p)
{
    return shape_of(p) != NULL;
}

enum { WAYS = LFUSE__SPLIT_SHARED + 1 /* to split a shape */ };

/* Candidate number `at` of a type and transposes; false: there is none so far. */
static bool candidate(int at, lfuse__product_class *p)
{
    if (at < WAYS * SHAPES) {
        shape_set(p, &shapes[at / WAYS]);
        p->split = at % WAYS;
        return true;
    }
    at -= WAYS * SHAPES;
    if (at >= 2 * FEWS) return false;
    lfuse__thin_set(p, at % 2, fews[at / 2]);
    return true;
}

/* Whether products of these sizes, or of some within the bounds, may be computed so; `units`: on those for matrices. */
static bool serves(const lfuse__product_class *p, bool units, const int64_t *least, const int64_t *most)
{
    if (p->units && (!units || !lfuse__units_fit(p))) return false;
    if (p->split == LFUSE__SPLIT_SHARED && (p->units || p->summed)) return false; /* slower, or measured by nobody */
    if ((p->batched || p->split == LFUSE__SPLIT_SHARED) && !lfuse__is_thin(p) && has_many_rows(shape_of(p)))
        return false;
    const int few = p->rows == p->item_rows ? p->rows : p->columns, side = p->rows != p->item_rows;
    if (p->summed && !lfuse__tiles_sum_columns(p)) return false;
    if (!lfuse__is_thin(p)) /* a batch has tiles enough; what operands are made of is not put into local memory */
        return (!p->batched || !p->split) && !p->made[0] && !p->made[1];
    return least[side] <= few && (few == fews[0] || most[side] > fews[0]);
}

/* Whether a plan of unknown sizes has candidate number `at`. */
static bool ahead_of_sizes(int at)
{
    const int of = at / WAYS;
    if (of >= SHAPES) return true;
    return at % WAYS != LFUSE__SPLIT_SHARED &&
           (of < AHEAD_OF_SIZES || (of >= UNITS && of < UNITS + AHEAD_OF_SIZES));
}

/* The fastest by the clock of cut_for; `whole`: of those that are not split. Where there is none, it stays as it is. */
static double find(const lfuse__facts *facts, const int64_t *extents, bool whole, lfuse__product_class *p)
{
    const bool unsized = p->unsized, units = p->units;
    lfuse__product_class tried = *p;
    double best = -1;
    tried.unsized = false;
    for (int i = 0; candidate(i, &tried); i++) {
        lfuse__cut c;
        if (!serves(&tried, units, extents, extents) || !lfuse__units_suit(&tried, extents)) continue;
        if ((unsized && !ahead_of_sizes(i)) || (whole && tried.split)) continue;
        if (!cut_for(&tried, facts, extents, &c)) continue;
        if (best >= 0 && c.time >= best) continue;
        best = c.time;
        *p = tried;
    }
    return best;
}

/*
 * Columns are summed where that is not slower than a launch behind the product that reads what this stores, with what
 * the epilogue takes, and stores that. Sides of few, and what is stored by columns, leave it to that launch.
 */
static lfuse_status find_summed(const lfuse__facts *facts, const int64_t *extents, lfuse__product_class *p)
{
    const double units = facts->info.compute_units ? facts->info.compute_units : 1;
    const double bytes = 3 * (double)extents[0] * (double)extents[1] * (double)lfuse__type_bytes(p->sum);
    lfuse__product_class plain = *p;
    const double with = find(facts, extents, false, p);
    plain.summed = 0;
    const double apart = find(facts, extents, false, &plain) + start + bytes / LFUSE__TILES_BYTES / units;
    if (with < 0)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "no tiles of a product of %" PRId64 " x %" PRId64 " x %" PRId64
                            " sum columns", extents[0], extents[1], extents[2]);
    if (with + meeting <= apart) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "to sum the columns of a product of %" PRId64 " x %" PRId64 " x %" PRId64
                        ", a launch of its own is taken for faster", extents[0], extents[1], extents[2]);
}

static lfuse_status fit(const lfuse__facts *facts)
{
    if (lfuse__tiles_fit(facts)) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "tiles of a product do not fit the device: %llu bytes of local "
                        "memory, groups of %u, %u of them in step", (unsigned long long)facts->info.local_bytes,
                        facts->info.max_group, facts->simd);
}

static lfuse_status possible(const lfuse__facts *facts, const int64_t *extents)
{
    LFUSE__TRY(fit(facts));
    if (extents[0] > INT32_MAX || extents[1] > INT32_MAX || extents[2] > INT32_MAX)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a product of %" PRId64 " x %" PRId64 " x %" PRId64 ": sides are "
                            "below 2^31", extents[0], extents[1], extents[2]);
    return LFUSE_OK;
}

/* How many extents a class has. */
static int rank(const lfuse__product_class *p)
{
    return p->batched ? LFUSE__PRODUCT_EXTENTS : LFUSE__PRODUCT_BATCH;
}

/* 1 for 0: of none, nothing is launched. */
static void some(const lfuse__product_class *p, const int64_t *extents, int64_t *positive)
{
    for (int i = 0; i < rank(p); i++) positive[i] = extents[i] > 0 ? extents[i] : 1;
}

lfuse_status lfuse__tiles_choose(const lfuse__facts *facts, const int64_t *extents, bool others,
                                 lfuse__kernel_class *c)
{
    int64_t e[LFUSE__PRODUCT_EXTENTS];
    LFUSE__TRY(possible(facts, extents));
    if (others && !c->product.summed &&
        lfuse__vendor_is_faster(facts, c->operands[LFUSE__PRODUCT_A].type, extents[0], extents[1], extents[2]))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "another product of %s is taken for faster on %s",
                            lfuse__memory_word(c->product.sum), facts->arch);
    some(&c->product, extents, e);
    if (c->product.summed) return find_summed(facts, e, &c->product);
    find(facts, e, false, &c->product);
    return LFUSE_OK;
}

void lfuse__tiles_lean(const lfuse__facts *facts, const int64_t *extents, lfuse__kernel_class *c)
{
    int64_t e[LFUSE__PRODUCT_EXTENTS];
    some(&c->product, extents, e);
    find(facts, e, true, &c->product);
}

int lfuse__tiles_classes(const lfuse__facts *facts, const int64_t *low, const int64_t *high,
                         const lfuse__kernel_class *c, lfuse__kernel_class *all)
{
    lfuse__kernel_class tried = *c;
    int count = 0;
    if (!lfuse__tiles_fit(facts)) return 0;
    if (!memcmp(low, high, (size_t)rank(&c->product) * sizeof *low)) {
        all[0] = *c;
        return lfuse__tiles_choose(facts, low, false, &all[0]) == LFUSE_OK;
    }
    for (int i = 0; candidate(i, &tried.product) && count < LFUSE__PRODUCT_CLASSES; i++)
        if (serves(&tried.product, c->product.units, low, high) && ahead_of_sizes(i)) all[count++] = tried;
    return count;
}

/* ---- all that may be the fastest: the clock is wrong by up to a half ---- */

#define LIKELY 1.6

static lfuse__product_tiling tiling_of(const lfuse__product_class *p, const lfuse__cut *c)
{
    return (lfuse__product_tiling){.rows = p->rows, .columns = p->columns, .depth = p->depth,
                                   .item_rows = p->item_rows, .item_columns = p->item_columns, .slices = p->slices,
                                   .parts = p->split ? c->parts : 0, .time = c->time};
}

/* Into the list by time; what has no room any more goes. */
static int enter(lfuse__product_tiling *all, int count, const lfuse__product_tiling *t)
{
    int at = count;
    while (at > 0 && all[at - 1].time > t->time) at--;
    if (at == LFUSE__PRODUCT_TILINGS) return count;
    if (count == LFUSE__PRODUCT_TILINGS) count--;
    memmove(&all[at + 1], &all[at], (size_t)(count - at) * sizeof *all);
    all[at] = *t;
    return count + 1;
}

int lfuse__tiles_tilings(const lfuse__facts *facts, const int64_t *extents, const lfuse__kernel_class *c,
                         lfuse__product_tiling *all)
{
    lfuse__product_class tried = c->product;
    int count = 0;
    for (int i = 0; i < rank(&tried); i++)
        if (extents[i] < 1) return 0;
    if (possible(facts, extents)) return 0;
    for (int i = 0; candidate(i, &tried); i++) {
        lfuse__product_tiling t;
        lfuse__cut cut;
        if (!serves(&tried, c->product.units, extents, extents) || !lfuse__units_suit(&tried, extents)) continue;
        if (!cut_for(&tried, facts, extents, &cut)) continue;
        t = tiling_of(&tried, &cut);
        count = enter(all, count, &t);
    }
    while (count && all[count - 1].time > LIKELY * all[0].time) count--;
    return count;
}

lfuse_status lfuse__tiles_take(const lfuse__facts *facts, const int64_t *extents, const lfuse__product_tiling *tiling,
                               lfuse__kernel_class *c)
{
    lfuse__product_class tried = c->product;
    const bool units = tried.units;
    tried.unsized = false;
    LFUSE__TRY(possible(facts, extents));
    for (int i = 0; candidate(i, &tried); i++) {
        const int split = tiling->parts == LFUSE__SHARED_OUT ? LFUSE__SPLIT_SHARED : tiling->parts > 0;
        lfuse__cut cut;
        if (!serves(&tried, units, extents, extents) || tried.split != split || tried.rows != tiling->rows ||
            tried.columns != tiling->columns || tried.depth != tiling->depth || tried.item_rows != tiling->item_rows ||
            tried.item_columns != tiling->item_columns || tried.slices != tiling->slices ||
            !cut_for(&tried, facts, extents, &cut))
            continue;
        c->product = tried;
        return tiling->parts <= LFUSE__MOST_PARTS ? LFUSE_OK
                                           : lfuse__error(LFUSE_ERR_UNSUPPORTED, "%d parts", tiling->parts);
    }
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "tiles of %d x %d x %d with %d parts do not serve %" PRId64 " x %" PRId64
                        " x %" PRId64, tiling->rows, tiling->columns, tiling->depth, tiling->parts, extents[0],
                        extents[1], extents[2]);
}

/* ---- of the members of lists ---- */

/* All tiles of a shape take equally long for each k, whatever of them there is. */
static double grouped_time(const shape *s, int by, const lfuse__facts *facts, int64_t members,
                           const lfuse__member_product *sizes)
{
    const double units = facts->info.compute_units ? facts->info.compute_units : 1;
    double tiles = 0, slabs = 0;
    for (int64_t i = 0; i < members; i++) {
        const double of_one = (double)lfuse__tiles_parts(sizes[i].m, s->rows / by) * (double)sizes[i].matrices *
                              (double)lfuse__tiles_parts(sizes[i].n, s->columns / by);
        tiles += of_one;
        slabs += of_one * (double)(sizes[i].k + s->depth) / s->depth;
    }
    const double all = ceil(tiles / units), beside = all < s->residents ? all : s->residents;
    const double work = (double)(s->rows / by) * (s->columns / by) * s->depth / s->rate;
    return slabs / (tiles < units ? tiles + 1 : units) * fmax(s->wait + work, beside * work) / fmax(beside, 1);
}

lfuse_status lfuse__tiles_choose_grouped(const lfuse__facts *facts, int64_t members,
                                         const lfuse__member_product *sizes, lfuse__kernel_class *c)
{
    double best = -1;
    LFUSE__TRY(fit(facts));
    for (int i = 0; i < AHEAD_OF_SIZES; i++) { /* those without slices: local memory is one tile's at a time */
        const double time = grouped_time(&shapes[i], scale(&c->product), facts, members, sizes);
        if (best >= 0 && time >= best) continue;
        best = time;
        shape_set(&c->product, &shapes[i]);
    }
    return LFUSE_OK;
}

void lfuse__tiles_cut_grouped(const lfuse__kernel_class *c, lfuse__grouped_cut *made)
{
    made->rows = c->product.rows;
    made->columns = c->product.columns;
    made->group = (unsigned)lfuse__tiles_threads(&c->product);
}
