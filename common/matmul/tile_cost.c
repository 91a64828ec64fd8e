/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of tiles, how products are cut up into them, and a clock of what that takes, set on one device. */
#include <math.h>

#include "common/matmul/grouped.h"
#include "common/matmul/tile.h"

/*
 * Tiles of f32 sums; those of f64 are half as wide and high.
 *   residents  groups that a compute unit has registers and local memory for; the kernel is compiled for so many
 *   wait       cycles of a k-tile that pass beside its products where nobody else has any to do
 *   rate       products a cycle of a full unit
 * Fitted to the times of all tilings of 38 products on an H100 (f32). The rows of 16 x 32 x 64, 16 x 32 x 32, 32 x 32 x
 * 32 and 32 x 64 x 32 by 8 x 8 were then set by hand to races on an H200, and the wait of the first to layers whose
 * weights come from memory and not from its caches. Those on tensor cores were fitted to times on an H200. Other
 * devices differ by factors that are about the same for all.
 */
typedef struct shape {
    int rows, columns, depth, item_rows, item_columns, slices, ahead;
    int residents;
    double wait, rate;
    const lfuse__solver *solver;
} shape;

static const shape shapes[] = {
    {64, 128, 16, 8, 8, 1, 1, 3, 415, 97, &lfuse__simt},
    {32, 64, 16, 4, 4, 1, 1, 5, 630, 78, &lfuse__simt},
    {16, 32, 64, 4, 4, 8, 2, 3, 480, 62, &lfuse__simt},
    {16, 32, 32, 4, 4, 4, 2, 5, 180, 47, &lfuse__simt},
    {32, 32, 32, 4, 4, 4, 2, 3, 115, 69, &lfuse__simt},
    {32, 64, 32, 8, 4, 4, 1, 2, 110, 73, &lfuse__simt},
    {32, 64, 32, 8, 8, 4, 1, 3, 375, 86, &lfuse__simt},
    {64, 64, 32, 8, 8, 4, 1, 2, 335, 86, &lfuse__simt},
    {64, 64, 32, 16, 8, 4, 1, 2, 680, 95, &lfuse__simt},
    {64, 64, 16, 8, 8, 2, 1, 3, 295, 91, &lfuse__simt},
    {64, 128, 16, 8, 8, 2, 1, 2, 245, 91, &lfuse__simt},
    {128, 128, 16, 8, 16, 1, 1, 2, 2000, 98, &lfuse__simt},
    {128, 128, 32, 8, 16, 1, 2, 2, 400, 970, &lfuse__mma},
    {64, 64, 32, 4, 8, 1, 3, 4, 1400, 635, &lfuse__mma},
    {64, 128, 32, 4, 16, 1, 2, 3, 700, 790, &lfuse__mma},
    {32, 128, 32, 4, 8, 1, 3, 4, 1500, 585, &lfuse__mma},
    {128, 32, 32, 4, 8, 1, 3, 4, 1500, 585, &lfuse__mma},
};
_Static_assert(sizeof shapes / sizeof *shapes == LFUSE__TILES_SHAPES, "as many as tile.h says");

static int scale(const lfuse__product_class *p)
{
    return p->sum == LFUSE_F64 ? 2 : 1;
}

void lfuse__tiles_shape(lfuse__product_class *p, int number)
{
    const shape *s = &shapes[number];
    p->rows = s->rows / scale(p);
    p->columns = s->columns / scale(p);
    p->depth = s->depth;
    p->item_rows = s->item_rows / scale(p);
    p->item_columns = s->item_columns / scale(p);
    p->slices = s->slices;
    p->prefetch = s->ahead;
    p->occupancy = s->residents;
    p->solver = s->solver;
}

/* Each shape is a candidate in WAYS: `split` of the class. A plan of unknown sizes compiles the first AHEAD shapes. */
enum { WAYS = LFUSE__SPLIT_STREAM_K + 1, AHEAD = 2 };

bool lfuse__tile_candidate(const lfuse__solver *solver, int at, lfuse__product_class *p)
{
    int number = 0, before = at / WAYS; /* shapes of this solver in front of the candidate's */

    for (; number < LFUSE__TILES_SHAPES; number++)
        if (shapes[number].solver == solver && !before--) break;
    if (number == LFUSE__TILES_SHAPES) return false;
    lfuse__tiles_shape(p, number);
    p->split = at % WAYS;
    return true;
}

bool lfuse__tile_is_compiled_ahead(int at)
{
    return at % WAYS != LFUSE__SPLIT_STREAM_K && at / WAYS < AHEAD;
}

/* A batch has tiles enough without splitting k. */
bool lfuse__tile_serves(const lfuse__product_class *p)
{
    if (p->split == LFUSE__SPLIT_STREAM_K && p->column_sums) return false; /* nobody has measured it */
    if ((p->batched || p->split == LFUSE__SPLIT_STREAM_K) && lfuse__tiles_have_many_rows(p)) return false;
    return (!p->column_sums || lfuse__tiles_sum_columns(p)) && (!p->batched || !p->split);
}

static const shape *shape_of(const lfuse__product_class *p)
{
    for (int i = 0; i < LFUSE__TILES_SHAPES; i++)
        if (shapes[i].rows == p->rows * scale(p) && shapes[i].columns == p->columns * scale(p) &&
            shapes[i].depth == p->depth && shapes[i].item_rows == p->item_rows * scale(p) &&
            shapes[i].item_columns == p->item_columns * scale(p) && shapes[i].slices == p->slices &&
            shapes[i].solver == p->solver)
            return &shapes[i];
    return NULL;
}

/*
 * In cycles, fitted with the table above:
 *   start          of a launch beside its groups' products
 *   another_round  of each round of groups behind the first
 *   slicing        of an element of a tile for each slice but the first: slices are added through local memory
 *   unaligned      of a k-tile that is loaded element by element, as rows are no whole vectors
 *   overlap        that a launch gains where the next one comes up beside it
 *   worth_sharing  factor of the time of tiles that are shared out, as what parts write costs more than is counted
 */
static const double start = LFUSE__TILES_START, another_round = 500, slicing = 0.21, worth_sharing = 1.1,
                    overlap = 2800, unaligned = 600, on_the_way = 16;

/* What parts of k cost, where products are added by multiply-adds and on tensor cores. */
static const struct parts_cost {
    double meeting; /* of groups that meet */
    double latency; /* of a way to memory, for up to `on_the_way` vectors of a work-item */
    double worth;   /* factor of the time, as what parts write costs more than is counted */
} parts_costs[] = {{LFUSE__TILES_MEETING, 1100, 1.07}, {2500, 1600, 1.1}};

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

bool lfuse__tiles_have_many_rows(const lfuse__product_class *p)
{
    const shape *s = shape_of(p);
    return s && has_many_rows(s);
}

static bool hands_over(const shape *s, const lfuse__facts *facts, bool whole, double groups)
{
    const double each = each_unit(facts, groups);
    if (s->solver == &lfuse__mma || (whole && has_many_rows(s))) return false;
    return each == s->residents || 2 * each <= s->residents;
}

bool lfuse__tiles_hand_over(const lfuse__product_class *p, const lfuse__facts *facts, uint64_t groups)
{
    const shape *s = shape_of(p);
    return s && hands_over(s, facts, !p->split, (double)groups);
}

/* Returns the cycles in which `beside` groups of a compute unit add up their slices. */
static double slices_time(const shape *s, int by, double beside)
{
    return slicing * (s->slices - 1) * (double)(s->rows / by) * (s->columns / by) * beside / s->residents;
}

/* Returns the cycles of a k-tile whose products are `work` cycles, with `beside` groups on a compute unit. */
static double k_tile_time(const shape *s, const lfuse__cut *c, double work, double beside)
{
    const double wait = s->wait / s->ahead + (c->whole_vectors ? 0 : unaligned);
    return fmax(wait + work, beside * work);
}

static double time_of(const shape *s, int by, const lfuse__facts *facts, const lfuse__cut *c)
{
    const double groups = (double)c->down * (double)c->across * (double)c->parts * (double)c->matrices;
    const double all = each_unit(facts, groups), beside = fmin(all, s->residents), rounds = ceil(all / s->residents);
    const double tile = (double)(s->rows / by) * (s->columns / by), work = tile * s->depth / s->rate;
    const double k_tile = k_tile_time(s, c, work, beside);
    const double items = tile * by * by / s->item_rows / s->item_columns * s->slices;
    const double vectors = tile * by / 4 / items * (double)c->parts; /* that each adds up in the end */
    const struct parts_cost *cost = &parts_costs[s->solver == &lfuse__mma];
    const double end = c->parts > 1 ? cost->meeting + cost->latency * ceil(vectors / on_the_way) : 0;
    const double round = (double)lfuse__tiles_parts(c->k_tiles, c->parts) * k_tile + slices_time(s, by, beside);
    const double time = start + rounds * round + (rounds - 1) * another_round + end;
    const double gained = facts->overlaps && hands_over(s, facts, c->parts == 1, groups) ? overlap : 0;
    return (c->parts > 1 ? cost->worth * time : time) - gained;
}

/* Of tiles that are shared out: all rounds are full. */
static double shared_time(const shape *s, int by, const lfuse__cut *c)
{
    const double tile = (double)(s->rows / by) * (s->columns / by), work = tile * s->depth / s->rate;
    const double k_tile = k_tile_time(s, c, work, s->residents);
    const double each = (double)lfuse__tiles_parts(c->shared * c->k_tiles, c->workers);
    const double alone = (double)(c->down * c->across - c->shared) / (double)c->workers * (double)c->k_tiles;
    const double vectors = (double)(s->item_rows * s->item_columns) / 4 / by / s->slices;
    const double most = (double)lfuse__tiles_parts(c->workers - 1, c->shared) + 1;
    const struct parts_cost *cost = &parts_costs[s->solver == &lfuse__mma];
    return worth_sharing * (start + (each + alone) * k_tile + slices_time(s, by, s->residents) + cost->meeting +
                            cost->latency * ceil(vectors * most / on_the_way));
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
    return p->column_sums ? lfuse__tiles_down(p, rows) : lfuse__tiles_parts(rows, p->rows);
}

/* Whether rows of A and B are whole vectors where they lie without gaps. */
static bool whole_vectors(const lfuse__product_class *p, const int64_t *extents)
{
    const int vector = lfuse__tiles_vector(p);
    return extents[p->ta ? 0 : 2] % vector == 0 && extents[p->tb ? 2 : 1] % vector == 0;
}

static bool cut_tiles(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents,
                      lfuse__cut *best)
{
    const shape *s = shape_of(p);
    lfuse__cut c = {.down = tiles_down(p, extents[0]),
                    .across = lfuse__tiles_parts(extents[1], p->columns),
                    .k_tiles = lfuse__tiles_parts(extents[2], p->depth),
                    .matrices = p->batched ? extents[LFUSE__PRODUCT_BATCH] : 1,
                    .whole_vectors = whole_vectors(p, extents)};
    best->time = -1;
    if (p->split == LFUSE__SPLIT_STREAM_K) {
        *best = c;
        return cut_shared(s, scale(p), facts, best);
    }
    for (c.parts = p->split ? 2 : 1; c.parts <= (p->split ? LFUSE__MOST_PARTS : 1); c.parts++) {
        c.time = time_of(s, scale(p), facts, &c);
        if (best->time < 0 || c.time < best->time) *best = c;
    }
    return true;
}

bool lfuse__tile_cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, lfuse__cut *c)
{
    if (!cut_tiles(p, facts, extents, c)) return false;
    return (p->split == LFUSE__SPLIT_K ? c->down * c->across : 0) + (p->column_sums ? c->across : 0) <=
           LFUSE__TILES_TICKETS;
}

bool lfuse__tiles_cut(const lfuse__product_class *p, const lfuse__facts *facts, const lfuse__geometry *g,
                      lfuse__cut *cut)
{
    const bool done = p->solver->cost(p, facts, g->extents, cut);
    if (g->parts > 0) cut->parts = g->parts;
    return done || p->split != LFUSE__SPLIT_STREAM_K;
}

bool lfuse__tiles_known(const lfuse__product_class *p)
{
    return shape_of(p) != NULL;
}

/* All tiles of a shape take equally long for each k, whatever of them there is. */
double lfuse__tiles_grouped_cost(const lfuse__product_class *p, const lfuse__facts *facts, int64_t members,
                                 const lfuse__matmul_sizes *sizes)
{
    const shape *s = shape_of(p);
    const int by = scale(p);
    const double units = facts->info.compute_units ? facts->info.compute_units : 1;
    double tiles = 0, k_tiles = 0;
    for (int64_t i = 0; i < members; i++) {
        const double of_one = (double)lfuse__tiles_parts(sizes[i].m, s->rows / by) * (double)sizes[i].matrices *
                              (double)lfuse__tiles_parts(sizes[i].n, s->columns / by);
        tiles += of_one;
        k_tiles += of_one * (double)(sizes[i].k + s->depth) / s->depth;
    }
    const double all = ceil(tiles / units), beside = all < s->residents ? all : s->residents;
    const double work = (double)(s->rows / by) * (s->columns / by) * s->depth / s->rate;
    return k_tiles / (tiles < units ? tiles + 1 : units) * fmax(s->wait + work, beside * work) / fmax(beside, 1);
}
