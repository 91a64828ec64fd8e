/* SPDX-License-Identifier: Apache-2.0 */
/* How products are cut up into tiles of a solver's shapes, and a model of what that takes. */
#include <math.h>

#include "common/base/costs.h"
#include "common/matmul/grouped.h"
#include "common/matmul/tile.h"

static int scale(const lfuse__product_class *p)
{
    return p->sum == LFUSE_F64 ? 2 : 1;
}

bool lfuse__tiles_shape(const lfuse__solver *solver, int number, lfuse__product_class *p)
{
    const lfuse__tile_shape *s = &solver->tile->shapes[number];
    if (number >= solver->tile->nshapes) return false;
    p->rows = s->rows / scale(p);
    p->columns = s->columns / scale(p);
    p->depth = s->depth;
    p->item_rows = s->item_rows / scale(p);
    p->item_columns = s->item_columns / scale(p);
    p->slices = s->slices;
    p->prefetch = s->prefetch;
    p->occupancy = s->residents;
    p->solver = solver;
    return true;
}

/* Each shape is a candidate in WAYS: `split` of the class. A plan of unknown sizes compiles the first AHEAD shapes. */
enum { WAYS = LFUSE__SPLIT_STREAM_K + 1, AHEAD = 2 };

bool lfuse__tile_candidate(const lfuse__solver *solver, int at, lfuse__product_class *p)
{
    if (!lfuse__tiles_shape(solver, at / WAYS, p)) return false;
    p->split = at % WAYS;
    return true;
}

bool lfuse__tile_is_compiled_ahead(int at)
{
    return at % WAYS != LFUSE__SPLIT_STREAM_K && at / WAYS < AHEAD;
}

static const lfuse__tile_shape *shape_of(const lfuse__product_class *p)
{
    const lfuse__tile_traits *tile = p->solver->tile;

    for (int i = 0; i < tile->nshapes; i++) {
        const lfuse__tile_shape *s = &tile->shapes[i];
        if (s->rows == p->rows * scale(p) && s->columns == p->columns * scale(p) && s->depth == p->depth &&
            s->item_rows == p->item_rows * scale(p) && s->item_columns == p->item_columns * scale(p) &&
            s->slices == p->slices)
            return s;
    }
    return NULL;
}

/* What the time of a product by tiles of a shape depends on. */
typedef struct tile_model {
    const lfuse__tile_shape *s;
    const lfuse__tile_traits *tile;
    const lfuse__facts *facts;
    lfuse__tiles_costs costs;
    int by;               /* f64: 2, by which tiles are smaller */
    int residents;        /* the columns of the table, for this device */
    double wait, rate;
    double lanes;         /* multiply-adds of a compute unit in a cycle */
    int work, bytes;      /* of the epilogue, for an element; bytes are 0 where it has one store */
    double each;          /* elements of a work-item in the epilogue */
    int threads;          /* work-items of a group */
    bool maps;            /* it has tensor maps */
    double computing;     /* cycles of a compute unit for a k-tile of operands that are computed */
    double sources[2];    /* bytes that an element of these is computed of */
    double ahead;         /* k-tiles that are on their way from memory */
} tile_model;

/*
 * Instructions for an element that is computed, beside its work: it is loaded, converted and stored, in chunks; and the
 * bytes of its sources that a compute unit gets from the cache in a cycle.
 */
enum { CONVERTING = 6, CACHE_BYTES = 64 };

/*
 * Cycles of a compute unit for an element that warps copy alone, as lines are no whole chunks. An H100 took 341 us for
 * 32 x 511 cubed in tf32; nobody has measured other types.
 */
#define COPIED_SINGLY 1.1

double lfuse__tiles_computing(const lfuse__product_class *p, const lfuse__costs *costs, int side)
{
    const double instructions = CONVERTING + p->prologue_work[side] * costs->tiles.epilogue.instructions;

    return p->prologue[side] ? instructions / costs->lanes + (double)p->prologue_bytes[side] / CACHE_BYTES : 0;
}

/* Returns the cycles in which a compute unit computes the elements of a k-tile. */
static double computing_time(const lfuse__product_class *p, const lfuse__costs *costs)
{
    return p->depth * (p->rows * lfuse__tiles_computing(p, costs, LFUSE__PRODUCT_A) +
                       p->columns * lfuse__tiles_computing(p, costs, LFUSE__PRODUCT_B));
}

/* Groups that a compute unit has room for, as far as is known: a unit may have more local memory than a group. */
static int residents_of(const lfuse__tile_shape *s, const lfuse__product_class *p, const lfuse__facts *facts,
                        int registers)
{
    const uint64_t bytes = (uint64_t)p->solver->tile->local(p) * lfuse__type_bytes(p->sum);
    const int by_registers = (int)((int64_t)s->residents * registers / LFUSE__TILES_REGISTERS);
    const int by_memory = (int)(facts->info.local_bytes / bytes);
    const int least = by_registers < by_memory ? by_registers : by_memory;
    return least > 1 ? least : 1;
}

/* Returns how many elements a work-item has in the epilogue. */
static double each_of(const lfuse__product_class *p)
{
    const int threads = lfuse__tiles_threads(p);

    return (double)p->rows * p->columns / (lfuse__tiles_left(p) > 1 ? threads : threads / p->slices);
}

static tile_model model_of(const lfuse__product_class *p, const lfuse__facts *facts)
{
    const lfuse__costs costs = lfuse__costs_of(facts);
    const lfuse__tile_shape *s = shape_of(p);
    const bool computes = p->prologue[LFUSE__PRODUCT_A] || p->prologue[LFUSE__PRODUCT_B];
    tile_model k = {.s = s, .tile = p->solver->tile, .facts = facts, .costs = costs.tiles, .by = scale(p),
                    .lanes = costs.lanes, .work = p->epilogue_work, .bytes = p->epilogue_bytes,
                    .each = each_of(p), .threads = lfuse__tiles_threads(p),
                    .maps = lfuse__has_maps(p), .computing = computing_time(p, &costs),
                    .sources = {p->prologue_bytes[0], p->prologue_bytes[1]},
                    .ahead = computes ? p->solver->tile->loaded_ahead(p) : s->prefetch};
    const double sums = s->item_rows * s->item_columns, operands = s->item_rows + s->item_columns;
    const double loaded = (1.0 / s->rows + 1.0 / s->columns) * (int)sizeof(float); /* bytes of each product */
    if (costs.tiles.fitted) {
        k.residents = computes ? p->occupancy : s->residents, k.wait = s->wait, k.rate = s->rate;
        return k;
    }
    k.residents = residents_of(s, p, facts, costs.rows.registers);
    k.wait = costs.tiles.wait;
    k.rate = 1 / ((1 + costs.tiles.operand * operands / sums) / costs.lanes + loaded / costs.tiles.cache_bytes);
    if (k.tile->tensor_cores) k.rate *= costs.tiles.tensor_cores;
    return k;
}

/* Groups of each unit; a double, as a large batch of large products has more than any integer holds. */
static double each_unit(const lfuse__facts *facts, double groups)
{
    return ceil(groups / (double)lfuse__units(facts));
}

/*
 * Work-items of many rows gain where one product's tiles are whole or have parts of k. On an H200 they are slower than
 * the model says where tiles are shared out, by 7 %, and in batches, by up to 30 %; whole ones by a tenth in some runs
 * where the next launch comes up beside them.
 */
static bool has_many_rows(const lfuse__tile_shape *s)
{
    return s->item_rows > 8;
}

/* A batch has tiles enough without splitting k. */
bool lfuse__tile_serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    const lfuse__tile_shape *s = shape_of(p);

    (void)least, (void)most;
    if ((p->batched || p->split == LFUSE__SPLIT_STREAM_K) && has_many_rows(s)) return false;
    return (!p->column_sums || lfuse__tiles_sum_columns(p)) && (!p->batched || !p->split);
}

/* In the last of several rounds an epilogue of several stores waits for memory, and the next launch can begin. */
static bool hands_over(const tile_model *k, bool whole, double groups)
{
    const double each = each_unit(k->facts, groups);
    if (!k->tile->overlaps || (whole && has_many_rows(k->s))) return false;
    if (k->bytes && each > k->residents) return true;
    return each == k->residents || 2 * each <= k->residents;
}

bool lfuse__tiles_hand_over(const lfuse__product_class *p, const lfuse__facts *facts, uint64_t groups)
{
    if (!shape_of(p)) return false;
    const tile_model k = model_of(p, facts);
    return hands_over(&k, !p->split, (double)groups);
}

/* Returns how many sums a tile has. */
static double tile_of(const tile_model *k)
{
    return (double)(k->s->rows / k->by) * (k->s->columns / k->by);
}

/* Returns the cycles in which `beside` groups of a compute unit add up their slices. */
static double slices_time(const tile_model *k, double beside)
{
    return k->costs.slicing * (k->s->slices - 1) * tile_of(k) * beside / k->residents;
}

/* How many times as long memory takes at most where work-items are few. */
static const double most_slower = 1.25;

/*
 * Returns the cycles of an epilogue of `beside` groups of a compute unit. With several stores that is what a work-item
 * takes for one sum after the other; at least what the unit computes and moves. A division or a root has branches, so
 * that a compiler lets none begin before the one in front of it has ended. Few work-items have too few loads on their
 * way to use all of the memory's rate; of very few, what one takes is the larger part. With one store it is what the
 * unit computes where the sums take little, on tensor cores (an H100, with gelu); elsewhere it is in the rates.
 */
static double epilogue_time(const tile_model *k, double beside)
{
    const lfuse__epilogue_costs *c = &k->costs.epilogue;
    const double all = beside * tile_of(k);
    const double one = k->each * (c->latency + k->work * c->dependent);
    const double slower = fmin(fmax(1, c->items / (beside * k->threads)), most_slower);
    const double moved = all * k->bytes / k->costs.bytes * slower;

    if (!k->bytes) return k->tile->tensor_cores ? all * k->work / k->lanes : 0;
    return fmax(one, fmax(all * k->work * c->instructions / k->lanes, moved));
}

/* Returns the cycles in which a compute unit copies a k-tile element by element. */
static double copying_time(const tile_model *k, const lfuse__cut *c)
{
    const bool singly = !c->whole_vectors && k->tile->tensor_cores && k->tile->bytes == (int)sizeof(float) && !k->maps;

    return singly ? COPIED_SINGLY * k->s->depth * (k->s->rows + k->s->columns) : 0;
}

/* Returns the cycles of a k-tile, with `beside` groups on a compute unit. */
static double k_tile_time(const tile_model *k, const lfuse__cut *c, double beside)
{
    const double work = tile_of(k) * k->s->depth / k->rate + k->computing + copying_time(k, c);
    const double wait = k->wait / k->ahead + (c->whole_vectors ? 0 : k->costs.unaligned);
    return fmax(wait + work, beside * work);
}

/*
 * Returns the cycles of `rounds` rounds of `beside` groups on a compute unit. Behind the first round some groups
 * compute sums while others are in the epilogue.
 */
static double rounds_time(const tile_model *k, const lfuse__cut *c, double rounds, double beside)
{
    const double k_tile = k_tile_time(k, c, beside), last = epilogue_time(k, beside);
    const double sums = (double)lfuse__ceil_div(c->k_tiles, c->parts) * k_tile + slices_time(k, beside);
    const double behind = fmin(sums, last) * (rounds - 1) / k->residents + (rounds - 1) * k->costs.another_round;
    return rounds * fmax(sums, last) + fmin(sums, last) + behind;
}

/* Returns the cycles that a launch gains where it hands over. Of one that moves much, half of them. */
static double handing_gains(const tile_model *k, bool whole, double groups, double rounds)
{
    if (!k->facts->overlaps || !hands_over(k, whole, groups)) return 0;
    if (k->bytes) return rounds > 1 ? k->costs.overlap / 2 : 0;
    return k->costs.overlap;
}

/*
 * By what the time of parts of k is multiplied. Where groups stay on their units and take one part after the other,
 * those of a second round are at other k-tiles than the rest, and the cache behind the units has to serve more operands
 * than it holds: 768 x 3072 x 8192 of f16 in four parts of 144 tiles took an H100 116 us, in whole tiles 83, and by the
 * rounds alone would take 52.
 */
static double parts_worth(const tile_model *k, double rounds)
{
    const double crowded = 2;

    return k->costs.parts[k->tile->tensor_cores].worth * (k->maps && rounds > 1 ? crowded : 1);
}

/* Returns the cycles in which memory delivers what operands are computed of, once, to `groups` groups. */
static double sources_time(const tile_model *k, const lfuse__cut *c, double groups)
{
    const double rows = (double)c->down * k->s->rows, columns = (double)c->across * k->s->columns;
    const double bytes = (rows * k->sources[0] + columns * k->sources[1]) * (double)c->k_tiles * k->s->depth;

    return bytes / k->costs.bytes / fmin(groups, (double)lfuse__units(k->facts));
}

static double time_of(const tile_model *k, const lfuse__cut *c)
{
    const lfuse__tile_shape *s = k->s;
    const double groups = (double)c->down * (double)c->across * (double)c->parts * (double)c->matrices;
    const double all = each_unit(k->facts, groups), beside = fmin(all, k->residents);
    const double rounds = ceil(all / k->residents);
    const double tile = tile_of(k);
    const double items = tile * k->by * k->by / s->item_rows / s->item_columns * s->slices;
    const double vectors = tile * k->by / 4 / items * (double)c->parts; /* that each adds up in the end */
    const lfuse__parts_costs *cost = &k->costs.parts[k->tile->tensor_cores];
    const double end = c->parts > 1 ? cost->meeting + cost->latency * ceil(vectors / k->costs.on_the_way) : 0;
    const double time = k->costs.start + fmax(rounds_time(k, c, rounds, beside), sources_time(k, c, groups)) + end;
    return (c->parts > 1 ? parts_worth(k, rounds) * time : time) - handing_gains(k, c->parts == 1, groups, rounds);
}

/* Of tiles that are shared out: all rounds are full. */
static double shared_time(const tile_model *k, const lfuse__cut *c)
{
    const lfuse__tile_shape *s = k->s;
    const double k_tile = k_tile_time(k, c, k->residents);
    const double each = (double)lfuse__ceil_div(c->shared * c->k_tiles, c->workers);
    const double alone = (double)(c->down * c->across - c->shared) / (double)c->workers * (double)c->k_tiles;
    const double vectors = (double)(s->item_rows * s->item_columns) / 4 / k->by / s->slices;
    const double most = (double)lfuse__ceil_div(c->workers - 1, c->shared) + 1;
    const lfuse__parts_costs *cost = &k->costs.parts[k->tile->tensor_cores];
    const double tiles = ceil((double)(c->down * c->across) / (double)c->workers);
    return k->costs.worth_sharing * (k->costs.start + (each + alone) * k_tile + slices_time(k, k->residents) +
                                     tiles * epilogue_time(k, k->residents) + cost->meeting +
                                     cost->latency * ceil(vectors * most / k->costs.on_the_way));
}

/* False: it is no such cut. */
static bool cut_shared(const tile_model *k, lfuse__cut *c)
{
    if (!lfuse__tiles_share(k->residents * lfuse__units(k->facts), c)) return false;
    c->time = shared_time(k, c);
    return true;
}

/* Whether rows of A and B are whole vectors, or chunks, where they lie without gaps. */
static bool whole_vectors(const lfuse__product_class *p, const int64_t *extents)
{
    const int chunk = p->solver->tile->chunk, vector = chunk ? chunk : lfuse__tiles_vector(p);
    return extents[p->ta ? 0 : 2] % vector == 0 && extents[p->tb ? 2 : 1] % vector == 0;
}

/*
 * Warpgroups that copy by tensor maps may take turns by tiles, and wait for each other where there is something to
 * multiply: each part of k has a k-tile.
 */
static int most_parts(const lfuse__product_class *p, int64_t k_tiles)
{
    if (!lfuse__has_maps(p) || k_tiles >= LFUSE__MOST_PARTS) return LFUSE__MOST_PARTS;
    return k_tiles > 1 ? (int)k_tiles : 1;
}

static bool cut_tiles(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents,
                      lfuse__cut *best)
{
    const tile_model k = model_of(p, facts);
    lfuse__cut c = {.down = p->column_sums ? lfuse__tiles_down(p, extents[0]) : lfuse__ceil_div(extents[0], p->rows),
                    .across = lfuse__ceil_div(extents[1], p->columns),
                    .k_tiles = lfuse__ceil_div(extents[2], p->depth),
                    .matrices = p->batched ? extents[LFUSE__PRODUCT_BATCH] : 1,
                    .whole_vectors = whole_vectors(p, extents)};
    if (p->split == LFUSE__SPLIT_STREAM_K) {
        *best = c;
        return cut_shared(&k, best);
    }
    c.parts = 1, c.time = -1;
    *best = c;
    for (c.parts = p->split ? 2 : 1; c.parts <= (p->split ? most_parts(p, c.k_tiles) : 1); c.parts++) {
        c.time = time_of(&k, &c);
        if (best->time < 0 || c.time < best->time) *best = c;
    }
    return best->time >= 0;
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
    if (p->split == LFUSE__SPLIT_K && cut->parts > most_parts(p, cut->k_tiles))
        cut->parts = most_parts(p, cut->k_tiles);
    return done || p->split != LFUSE__SPLIT_STREAM_K;
}

bool lfuse__tiles_known(const lfuse__product_class *p)
{
    return !p->solver->tile->nshapes || shape_of(p);
}

/*
 * All tiles of a shape take equally long for each k, whatever of them there is. Members whose rows are no whole chunks
 * are packed by all candidates of a solver: their tiles take as long as others.
 */
double lfuse__tiles_grouped_cost(const lfuse__product_class *p, const lfuse__facts *facts, int64_t members,
                                 const lfuse__matmul_sizes *sizes)
{
    const tile_model k = model_of(p, facts);
    const lfuse__tile_shape *s = k.s;
    const double units = (double)lfuse__units(facts);
    double tiles = 0, k_tiles[2] = {0, 0}; /* of members whose rows are no whole vectors, and of others */
    for (int64_t i = 0; i < members; i++) {
        const double of_one = (double)lfuse__ceil_div(sizes[i].m, s->rows / k.by) * (double)sizes[i].matrices *
                              (double)lfuse__ceil_div(sizes[i].n, s->columns / k.by);
        const bool whole = k.tile->chunk || whole_vectors(p, (int64_t[]){sizes[i].m, sizes[i].n, sizes[i].k});
        tiles += of_one;
        k_tiles[whole] += of_one * (double)(sizes[i].k + s->depth) / s->depth;
    }
    const double all = ceil(tiles / units), beside = all < k.residents ? all : k.residents;
    double time = 0;
    for (int whole = 0; whole < 2; whole++)
        time += k_tiles[whole] * k_tile_time(&k, &(lfuse__cut){.whole_vectors = whole}, beside);
    return time / (tiles < units ? tiles + 1 : units) / fmax(beside, 1);
}
