/* SPDX-License-Identifier: Apache-2.0 */
/* Which tiles a product gets: by the clock, or by the caller's word. */
#include <inttypes.h>
#include <string.h>

#include "common/base/error.h"
#include "common/kernels/product_grouped.h"
#include "common/kernels/product_tiles.h"
#include "common/plan/provider.h"

/* Rows or columns that a work-item may have as a whole. Few, as a plan of unknown sizes compiles all the classes. */
static const int fews[] = {4, 16};
enum { FEWS = sizeof fews / sizeof *fews };

enum { WAYS = LFUSE__SPLIT_SHARED + 1 /* to split a shape */ };

/* Candidate number `at` of a type and transposes; false: there is none so far. */
static bool candidate(int at, lfuse__product_class *p)
{
    if (at < WAYS * LFUSE__TILES_SHAPES) {
        lfuse__tiles_shape(p, at / WAYS);
        p->split = at % WAYS;
        return true;
    }
    at -= WAYS * LFUSE__TILES_SHAPES;
    if (at >= 2 * FEWS) return false;
    lfuse__thin_set(p, at % 2, fews[at / 2]);
    return true;
}

/* Whether products of these sizes, or of some within the bounds, may be computed so; `units`: on those for matrices. */
static bool serves(const lfuse__product_class *p, bool units, const int64_t *least, const int64_t *most)
{
    if (p->units && (!units || !lfuse__units_fit(p))) return false;
    if (p->split == LFUSE__SPLIT_SHARED && (p->units || p->summed)) return false; /* slower, or measured by nobody */
    if ((p->batched || p->split == LFUSE__SPLIT_SHARED) && lfuse__tiles_have_many_rows(p)) return false;
    const int few = p->rows == p->item_rows ? p->rows : p->columns, side = p->rows != p->item_rows;
    if (p->summed && !lfuse__tiles_sum_columns(p)) return false;
    if (!lfuse__is_thin(p)) /* a batch has tiles enough; what operands are made of is not put into local memory */
        return (!p->batched || !p->split) && !p->made[0] && !p->made[1];
    return least[side] <= few && (few == fews[0] || most[side] > fews[0]);
}

/* Whether a plan of unknown sizes has candidate number `at`. */
static bool ahead_of_sizes(int at)
{
    if (at >= WAYS * LFUSE__TILES_SHAPES) return true;
    return at % WAYS != LFUSE__SPLIT_SHARED && lfuse__tiles_ahead_of_sizes(at / WAYS);
}

/* The fastest by the clock; `whole`: of those that are not split. Where there is none, it stays as it is. */
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
        if (!lfuse__tiles_time(&tried, facts, extents, &c)) continue;
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
    const double apart = find(facts, extents, false, &plain) + LFUSE__TILES_START + bytes / LFUSE__TILES_BYTES / units;
    if (with < 0)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "no tiles of a product of %" PRId64 " x %" PRId64 " x %" PRId64
                            " sum columns", extents[0], extents[1], extents[2]);
    if (with + LFUSE__TILES_MEETING <= apart) return LFUSE_OK;
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
    const int64_t matrices = c->product.batched ? extents[LFUSE__PRODUCT_BATCH] : 1;
    const int64_t sizes[] = {extents[0], extents[1], extents[2], matrices};
    int64_t e[LFUSE__PRODUCT_EXTENTS];
    LFUSE__TRY(possible(facts, extents));
    if (others && !c->product.summed &&
        lfuse__vendor_is_faster(facts, c->operands[LFUSE__PRODUCT_A].type, sizes))
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
        if (!lfuse__tiles_time(&tried, facts, extents, &cut)) continue;
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
            !lfuse__tiles_time(&tried, facts, extents, &cut))
            continue;
        c->product = tried;
        if (tiling->parts <= LFUSE__MOST_PARTS) return LFUSE_OK;
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%d parts", tiling->parts);
    }
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "tiles of %d x %d x %d with %d parts do not serve %" PRId64 " x %" PRId64
                        " x %" PRId64, tiling->rows, tiling->columns, tiling->depth, tiling->parts, extents[0],
                        extents[1], extents[2]);
}

/* ---- of the members of lists ---- */

lfuse_status lfuse__tiles_choose_grouped(const lfuse__facts *facts, int64_t members,
                                         const lfuse__member_product *sizes, lfuse__kernel_class *c)
{
    lfuse__product_class tried = c->product;
    double best = -1;
    LFUSE__TRY(fit(facts));
    for (int i = 0; i < LFUSE__TILES_AHEAD; i++) { /* those without slices: local memory is one tile's at a time */
        lfuse__tiles_shape(&tried, i);
        const double time = lfuse__tiles_grouped_time(&tried, facts, members, sizes);
        if (best >= 0 && time >= best) continue;
        best = time;
        c->product = tried;
    }
    return LFUSE_OK;
}

void lfuse__tiles_cut_grouped(const lfuse__kernel_class *c, lfuse__grouped_cut *made)
{
    made->rows = c->product.rows;
    made->columns = c->product.columns;
    made->group = (unsigned)lfuse__tiles_threads(&c->product);
}
