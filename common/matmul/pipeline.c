/* SPDX-License-Identifier: Apache-2.0 */
/* Products by warpgroups that multiply and one that copies: what solvers with text/gemm_pipeline.k share. */
#include "common/base/costs.h"
#include "common/base/error.h"
#include "common/matmul/mma.h"

#include "common/kernels/text/gemm_pipeline.k.h"
#include "common/kernels/text/gemm_pipeline_end.k.h"
#include "common/kernels/text/gemm_pipeline_meet.k.h"
#include "common/kernels/text/gemm_pipeline_part.k.h"

enum {
    MOST_VECTORS = 8, FEW_VECTORS = 4, /* of each work-item, that go through the epilogue together; of small tiles */
    BANKS = 32,                       /* of local memory, 4 bytes each */
    TEAM = 32, TEAM_ROWS = 8,         /* work-items that exchange sums; rows that they have together */
    LONG = 12,                        /* a body of more operations than these pauses in its epilogue (PACED), and two
                                         warpgroups share the last one (SHARED) */
    PAUSES = 200, LONGER_PAUSES = 300, /* nanoseconds of all its passes for each k-tile; of those in_steps */
    AT_A_TIME = 8,                    /* vectors of two parts each, of a work-item, that are loaded together */
    UNIT = 8,                         /* a work-item has a multiple of so many registers */
    FEW = 24, FEW_WHERE_SLOW = 40,    /* of a work-item that copies */
    BARRIERS = 256                    /* bytes, and more: of all barriers of a group */
};

static int stage(const lfuse__product_class *p)
{
    return lfuse__mma_k_tile_bytes(p, LFUSE__PRODUCT_A) + lfuse__mma_k_tile_bytes(p, LFUSE__PRODUCT_B);
}

/* Returns the bytes of all stages. */
static int stages(const lfuse__product_class *p)
{
    return (p->prefetch + 1) * stage(p);
}

bool lfuse__pipeline_is_pingpong(const lfuse__product_class *p)
{
    return !lfuse__mma_is_small(p) && lfuse__tiles_threads(p) == LFUSE__WARPGROUP;
}

/* Returns the vectors of a work-item that go through the epilogue together: a power of 2, by which a row is cut up. */
static int vectors_of(const lfuse__product_class *p)
{
    const int of_row = p->columns * TEAM_ROWS / TEAM / lfuse__tiles_vector(p);
    int most = lfuse__mma_is_small(p) ? FEW_VECTORS : MOST_VECTORS;

    while (of_row % most) most /= 2;
    return most;
}

int lfuse__pipeline_local(const lfuse__product_class *p)
{
    return lfuse__tiles_threads(p) * vectors_of(p) * lfuse__tiles_vector(p);
}

static unsigned bytes_of(const lfuse__product_class *p)
{
    const int epilogues = lfuse__pipeline_is_pingpong(p) ? 2 : 1;
    return (unsigned)(stages(p) + lfuse__pipeline_local(p) * epilogues * (int)lfuse__type_bytes(p->sum));
}

bool lfuse__pipeline_has_room(const lfuse__facts *facts)
{
    return facts->wgmma && facts->dynamic_local_bytes >= LFUSE__PIPELINE_LOCAL;
}

bool lfuse__pipeline_has(const lfuse__product_class *p, const lfuse__facts *facts)
{
    const bool large = lfuse__pipeline_has_room(facts);

    if (!lfuse__mma_is_small(p)) return large;
    return !large && !p->solver->source->large && bytes_of(p) + BARRIERS <= facts->dynamic_local_bytes;
}

int lfuse__pipeline_multiplying(const lfuse__product_class *p)
{
    return lfuse__mma_is_small(p) ? lfuse__tiles_threads(p) : 2 * LFUSE__WARPGROUP;
}

static int items(const lfuse__product_class *p)
{
    return lfuse__pipeline_multiplying(p) + LFUSE__WARPGROUP;
}

/*
 * Returns the registers of a work-item that multiplies: all begin with equally many, and those that copy keep `few` of
 * theirs.
 */
static int many(const lfuse__product_class *p, int few)
{
    const int each = LFUSE__TILES_REGISTERS / (items(p) * p->occupancy) / UNIT * UNIT;
    const int groups = lfuse__pipeline_multiplying(p) / LFUSE__WARPGROUP;

    return (each * (groups + 1) - few) / groups / UNIT * UNIT;
}

/* ---- the epilogue ---- */

/* Returns how many columns of TEAM_ROWS rows vectors_of() vectors of a team are. */
static int width_of(const lfuse__product_class *p)
{
    return vectors_of(p) * lfuse__tiles_vector(p) * TEAM / TEAM_ROWS;
}

/* Returns how many of them a tile has next to each other, its sides: one pass after the other has the next side. */
static int sides_of(const lfuse__product_class *p)
{
    return p->columns / width_of(p);
}

/* A row of such columns is that many work-items' vectors. */
static int across_of(const lfuse__product_class *p)
{
    return width_of(p) / lfuse__tiles_vector(p);
}

void lfuse__pipeline_put_corner(const lfuse__tiles *t, int indent, const char *place)
{
    const int across = across_of(t->p);

    if (t->p->column_sums) {
        lfuse__pipeline_sums_put_corner(t, indent, place);
        return;
    }
    lfuse__put(t->t.out, indent, "const u32 y = %s / %d * %d + %s / %d %% 4 * 16 + %s %% %d / %d;", place,
               LFUSE__WARPGROUP, lfuse__mma_warp_rows(t->p) * 4, place, TEAM, place, TEAM, across);
    lfuse__put(t->t.out, indent, "const u32 x = %s %% %d * %d;", place, across, t->vector);
}

void lfuse__pipeline_put_place(const lfuse__tiles *t, int indent, const char *number)
{
    const int each = vectors_of(t->p), of_rows = sides_of(t->p) * each; /* vectors */

    if (t->p->column_sums) {
        lfuse__pipeline_sums_put_place(t, indent, number);
        return;
    }
    lfuse__put(t->t.out, indent, "const u32 g = %s;", number);
    lfuse__put(t->t.out, indent, "const u32 row = a0 + g / %d * %d + g / %d %% 2 * %d + g %% %d * %d + y;", 2 * of_rows,
               LFUSE__WGMMA_ROWS, of_rows, TEAM_ROWS, each, TEAM / across_of(t->p));
    lfuse__put(t->t.out, indent, "const u32 column = b0 + g / %d %% %d * %d + x;", each, of_rows / each,
               width_of(t->p));
}

/*
 * The columns of a row are exchanged in groups of 8, so that no two lanes use one bank, in as many ways as a line of
 * all banks has groups. A row of less than a line has fewer groups: then the rows of a line are exchanged alike.
 * Returns operators that make the number of the way of the number of a row.
 */
static lfuse__expr turn_of(const lfuse__product_class *p)
{
    const int width = width_of(p);

    if (width >= BANKS) return lfuse__expression("%% %d", BANKS / TEAM_ROWS);
    return lfuse__expression("/ %d %% %d", BANKS / width, width / TEAM_ROWS);
}

static void put_place(const lfuse__tiles *t, int indent)
{
    lfuse__pipeline_put_place(t, indent, lfuse__expression("pass * %d + w", vectors_of(t->p)).text);
}

/* The vectors of a pass, as the team has exchanged them. */
static void put_sums(const lfuse__tiles *t, int indent)
{
    const int across = across_of(t->p);

    lfuse__put(t->t.out, indent, "const u32 line_ = w * %d + lane / %d;", TEAM / across, across);
    lfuse__put(t->t.out, indent, "S_%s v_[%d];", t->sum, t->vector);
    lfuse__put(t->t.out, indent, "GETV_%s(v_, own, line_ * %d + (lane %% %d * %d ^ line_ %s * 8));", t->sum,
               width_of(t->p), across, t->vector, turn_of(t->p).text);
}

/* Whether the body takes so long that products beside it are delayed. */
static bool is_long(const lfuse__tiles *t)
{
    return lfuse__pipeline_is_pingpong(t->p) && lfuse__product_work(t->t.k) > LONG;
}

/*
 * Whether the last one is worth sharing. Who has the last tile's sums is not known before where these are of parts of
 * k; sums of columns are made of all passes of a warp.
 */
static bool shares_last(const lfuse__tiles *t)
{
    return is_long(t) && !t->p->split && !t->p->column_sums;
}

/* Whether all warpgroups have rows of one tile, so that nobody multiplies beside their epilogue. */
static bool is_cooperative(const lfuse__product_class *p)
{
    return !lfuse__mma_is_small(p) && lfuse__tiles_threads(p) > LFUSE__WARPGROUP;
}

/*
 * Whether the places of a pass's vectors are computed in steps, and what all rows share in columns alone: with gelu a
 * pass has 716 instructions then, in place of 836. Nobody has measured that of other types than f16 and bf16, and of
 * short bodies beside products.
 */
static bool in_steps(const lfuse__tiles *t)
{
    const lfuse__tile_traits *tile = t->p->solver->tile;

    return (is_long(t) || is_cooperative(t->p)) && tile->running && tile->bytes == 2 && !t->p->column_sums;
}

/*
 * Returns the sides for which what all rows share is loaded once for a tile, while it is multiplied; 0: it is loaded in
 * the epilogue. For 4096 cubed with a bias and gelu an H100 took 191 us in cooperative tiles that waited for the bias
 * in each pass, and 188 in others.
 */
static int loads_ahead(const lfuse__tiles *t)
{
    return in_steps(t) ? sides_of(t->p) : 0;
}

/* Loads that while the tile is multiplied. */
static void put_ahead(const void *context, int which, int indent)
{
    lfuse__tiles t = *(const lfuse__tiles *)context;

    (void)which;
    t.ahead = loads_ahead(&t);
    lfuse__tiles_put_ahead(&t, indent);
}

/* Parts of text/gemm_pipeline_end.k. */
enum { LOADS, BODIES, LOADS_OF_WHOLE, BODIES_OF_WHOLE };

static void put_part(const void *context, int part, int indent)
{
    lfuse__tiles t = *(const lfuse__tiles *)context;

    t.whole = part >= LOADS_OF_WHOLE;
    t.ahead = t.whole ? loads_ahead(&t) : 0;
    t.row_step = in_steps(&t) ? TEAM / across_of(t.p) : 0;
    if (part == LOADS || part == LOADS_OF_WHOLE) lfuse__tiles_put_loads(&t, indent, vectors_of(t.p), put_place);
    else lfuse__tiles_put_bodies(&t, indent, vectors_of(t.p), put_place, put_sums);
}

static void put_end(const void *context, int which, int indent)
{
    static const lfuse__text_place parts[] = {
        {"LOADS", put_part, LOADS}, {"BODIES", put_part, BODIES}, {"LOADS_OF_WHOLE", put_part, LOADS_OF_WHOLE},
        {"BODIES_OF_WHOLE", put_part, BODIES_OF_WHOLE}, {"TOTALS", lfuse__pipeline_put_sums, 0},
        {NULL, NULL, 0},
    };
    const lfuse__tiles *t = context;
    const lfuse__product_class *p = t->p;
    const int passes = p->item_rows * p->item_columns * 4 / width_of(p), work = (int)lfuse__product_work(t->t.k);
    const lfuse__expr turn = turn_of(p);
    const lfuse__parameter own[] = {
        {"TURN", .word = turn.text}, {"WIDTH", .number = width_of(p)}, {"SIDES", .number = sides_of(p)},
        {"PACED", .number = is_long(t)}, {"SHARED", .number = shares_last(t)},
        {"NS", .number = (in_steps(t) ? LONGER_PAUSES : PAUSES) / passes},
        {"WORK", .number = work}, {"PASSES", .number = passes}, {"HEIGHT", .number = lfuse__pipeline_height(p)},
        {"COLUMN_SUMS", .number = p->column_sums}, {NULL},
    };

    (void)which;
    lfuse__mma_put_text(t, indent, "", lfuse__text_gemm_pipeline_end, own, parts);
}

/* ---- the kernel ---- */

static void put_part_of_k(const void *context, int which, int indent)
{
    const lfuse__tiles *t = context;
    const lfuse__text_place places[] = {{"K_PART", lfuse__tiles_put_k_part, 0}, {NULL, NULL, 0}};
    const lfuse__parameter parameters[] = {
        {"BATCHED", .number = t->p->batched}, {"SPLIT", .number = t->p->split},
        {"BY_PARTS", .number = t->l.own + LFUSE__TILES_BY_PARTS}, {NULL},
    };

    (void)which;
    lfuse__put_text(t->t.out, indent, lfuse__text_gemm_pipeline_part, parameters, places, t);
}

static void put_meet(const void *context, int which, int indent)
{
    const lfuse__tiles *t = context;
    const bool pingpong = lfuse__pipeline_is_pingpong(t->p);
    const lfuse__parameter own[] = {
        {"THREADS", .number = t->threads}, {"OF_TILE", .number = t->vectors}, {"AT_A_TIME", .number = AT_A_TIME},
        {"TICKETS", .number = LFUSE__TILES_TICKETS * 4},
        {"MEETING", .word = pingpong ? "2 + warpgroup" : "2"}, {"WHOSE", .word = pingpong ? "warpgroup" : "0"}, {NULL},
    };

    (void)which;
    lfuse__mma_put_text(t, indent, "", lfuse__text_gemm_pipeline_meet, own, NULL);
}

static void put_source(const void *context, int part, int indent)
{
    const lfuse__tiles *t = context;

    t->p->solver->source->put_part(t, part, indent);
}

static void put_multiply(const void *context, int part, int indent)
{
    const lfuse__tiles *t = context;

    t->p->solver->tile->put_part(t, part, indent);
}

static void put_product(const lfuse__tiles *t, const char *name)
{
    static const lfuse__text_place places[] = {
        {"PART", put_part_of_k, 0}, {"AHEAD", put_ahead, 0}, {"MEET", put_meet, 0}, {"EPILOGUE", put_end, 0},
        {"EARLY", put_source, LFUSE__PART_EARLY}, {"SOURCES", put_source, LFUSE__PART_SOURCES},
        {"COPY_STAGE", put_source, LFUSE__PART_COPY}, {"MULTIPLIERS", put_multiply, LFUSE__PART_MULTIPLIERS},
        {"MULTIPLY", put_multiply, LFUSE__PART_MULTIPLY}, {"MULTIPLY_REST", put_multiply, LFUSE__PART_MULTIPLY_REST},
        {"PROMOTE", put_multiply, LFUSE__PART_PROMOTE}, {"FINISH", put_multiply, LFUSE__PART_FINISH}, {NULL, NULL, 0},
    };
    const lfuse__product_class *p = t->p;
    const lfuse__expr descriptor_a = lfuse__wgmma_descriptor(p, LFUSE__PRODUCT_A);
    const lfuse__expr descriptor_b = lfuse__wgmma_descriptor(p, LFUSE__PRODUCT_B);
    const bool slow = lfuse__has_maps(p), pingpong = lfuse__pipeline_is_pingpong(p);
    const int few = slow ? FEW_WHERE_SLOW : FEW;
    const lfuse__expr first_row = lfuse__pipeline_first_row(p);
    const lfuse__parameter own[] = {
        {"MAPS", .number = slow}, {"STAGE", .number = stage(p)},
        {"ITEMS", .number = items(p)}, {"MULTIPLYING", .number = lfuse__pipeline_multiplying(p)},
        {"BLOCKS", .number = p->occupancy},
        {"WARPGROUPS", .number = pingpong ? 1 : lfuse__pipeline_multiplying(p) / LFUSE__WARPGROUP},
        {"BYTES", .number = (int)bytes_of(p)}, {"PINGPONG", .number = pingpong},
        {"SHARED", .number = shares_last(t)}, {"SPLIT", .number = p->split},
        {"PARTS", .number = t->l.own + LFUSE__TILES_PARTS},
        {"GROUP_A", .number = LFUSE__WGMMA_ROWS * p->depth * lfuse__mma_bytes(p)},
        {"DESCRIPTOR_A", .word = descriptor_a.text}, {"DESCRIPTOR_B", .word = descriptor_b.text},
        {"RUNNING", .number = p->solver->tile->running}, {"SLOW", .number = slow}, {"FEW", .number = few},
        {"BATCHED", .number = p->batched}, {"BATCH", .number = t->l.batch},
        {"FIRST_ROW", .word = first_row.text}, {"MANY", .number = many(p, few)},
        {"EPILOGUE_AT", .number = stages(p) / 4}, {"OWN_TILE", .number = pingpong ? lfuse__pipeline_local(p) : 0},
        {"OWN", .number = TEAM_ROWS * width_of(p)}, {NULL},
    };

    lfuse__mma_put_text(t, 0, name, lfuse__text_gemm_pipeline, own, places);
}

void lfuse__pipeline_put_kernel(const lfuse__tiles *t, const char *name)
{
    const lfuse__tile_source *source = t->p->solver->source;

    if (t->p->phase == source->product) put_product(t, name);
    else source->put_other(t, name);
}

/* ---- sizes ---- */

unsigned lfuse__pipeline_local_bytes(const lfuse__kernel_class *c)
{
    return c->product.phase == c->product.solver->source->product ? bytes_of(&c->product) : 0;
}

/*
 * Sets the groups of the launch that multiplies: they stay on their units, as many as these have room for, and take one
 * tile after the other.
 */
static lfuse_status launch(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                           lfuse__packed *packed)
{
    const uint64_t most = (uint64_t)lfuse__units(facts) * (uint64_t)c->product.occupancy;
    lfuse__product_layout l;

    lfuse__product_layout_make(c, &l);
    const uint64_t tiles = packed->words[l.own + LFUSE__TILES_DOWN] * packed->words[l.own + LFUSE__TILES_ACROSS];
    const uint64_t parts = c->product.split ? packed->words[l.own + LFUSE__TILES_PARTS] : 1;
    const uint64_t all = tiles * parts * (uint64_t)lfuse__product_batch(c, g);
    return lfuse__tiles_launch(c, g, all < most ? all : most, (unsigned)items(&c->product), packed);
}

lfuse_status lfuse__pipeline_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                                  lfuse__packed *packed)
{
    const lfuse__tile_source *source = c->product.solver->source;

    LFUSE__TRY(source->pack(c, facts, g, packed));
    return c->product.phase == source->product ? launch(c, facts, g, packed) : LFUSE_OK;
}

/*
 * The sums of the last tile take some time on their way to memory. Half of what a launch may overlap with the one in
 * front of it is gained: barriers and tensor maps are ready when its operands are. A unit that has several tiles is in
 * the epilogue of one while it multiplies the next one, or its warpgroups are at different places of cooperative tiles:
 * half of the operations are hidden, but for those of the last tile, and of the last two where each warpgroup has its
 * own. All of this is fitted to times on H100s and H200s, without an epilogue, with relu and with gelu. Epilogues with
 * several stores have been measured in ping-pong tiles alone.
 */
bool lfuse__pipeline_cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents,
                          lfuse__cut *c)
{
    const bool pingpong = lfuse__pipeline_is_pingpong(p), hides = pingpong || !p->epilogue_bytes;
    const double sums = (double)p->rows * p->columns, stored = 0.08 * sums;
    const lfuse__costs costs = lfuse__costs_of(facts);
    lfuse__product_class plain = *p;
    double epilogue = 0, turns, exposed;

    if (hides) {
        epilogue = sums * p->epilogue_work;
        plain.epilogue_work = plain.epilogue_bytes = 0;
    }
    if (!lfuse__tile_cost(&plain, facts, extents, c)) return false;
    turns = (double)lfuse__ceil_div(c->down * c->across * c->parts * c->matrices, lfuse__units(facts));
    exposed = pingpong && turns > 1 ? 2 : 1;
    c->time += stored + epilogue / costs.lanes * (exposed + (turns - exposed) / 2);
    if (facts->overlaps) c->time -= costs.tiles.overlap / 2;
    return true;
}

/* ---- what the rows decline ---- */

/* Whether the device has what the source takes, and room for a shape. */
static bool has_any(const lfuse__solver *solver, const lfuse__facts *facts)
{
    lfuse__product_class p = {.sum = LFUSE_F32};

    if (!lfuse__tiles_fit(facts) || !facts->wgmma || (solver->source->by_map && !facts->tensor_map)) return false;
    for (int i = 0; lfuse__tiles_shape(solver, i, &p); i++)
        if (lfuse__pipeline_has(&p, facts)) return true;
    return false;
}

const char *lfuse__pipeline_declines(const lfuse__solver *solver, const lfuse__facts *facts,
                                     const lfuse__matmul_desc *desc)
{
    const lfuse__tile_source *source = solver->source;
    const char *why = solver->tile->multiplies(desc);

    if (!has_any(solver, facts)) return "the device has no such instructions";
    if (why) return why;
    if (desc->prologue) return "its operands have to lie in memory";
    return desc->batched && !source->batches ? "it takes no batches" : NULL;
}
