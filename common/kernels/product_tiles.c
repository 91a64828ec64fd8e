/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on GPUs: a work-group computes a tile of the result, a work-item some vectors of its rows and columns. Where
 * there are fewer tiles than a device has room for, several groups take a part of k each, and a second launch adds up
 * what they found, in the order of the parts, and goes through the epilogue.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>
#include <string.h>

#include "common/base/error.h"
#include "common/kernels/product_grouped.h"
#include "common/kernels/product_tiles.h"
#include "common/plan/provider.h"

enum {
    VECTOR_BYTES = 16,
    TEAM_ROWS = 4,    /* of work-items in 32 of them */
    MOST_PARTS = 32,
    THIN_GROUPS = 4   /* of a compute unit, for its memory to be busy */
};

enum { BESIDE = 4 };

/*
 * Tiles of f32 sums; those of f64 are half as wide and high. `rates`: products a cycle of a compute unit of an H200 on
 * which 1, 2 ... groups run, through OpenCL; other devices differ by a factor that is about the same for all.
 */
typedef struct shape {
    int rows, columns, depth, item_rows, item_columns;
    double rates[BESIDE];
} shape;

static const shape shapes[] = {
    {64, 128, 16, 8, 8, {67, 77, 92, 92}}, /* 168 registers an item: three groups */
    {32, 64, 16, 4, 4, {28, 45, 52, 56}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Rows or columns that a work-item may have as a whole. Few, as a plan of unknown sizes compiles all the classes. */
static const int fews[] = {4, 16};
enum { FEWS = sizeof fews / sizeof *fews };

static int64_t parts_of(int64_t x, int64_t each)
{
    return x / each + (x % each != 0);
}

/* How a product is cut up. */
typedef struct cut {
    int64_t down, across, slabs, parts;
    double time; /* cycles, about */
} cut;

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
}

static const shape *shape_of(const lfuse__product_class *p)
{
    for (int i = 0; i < SHAPES; i++)
        if (shapes[i].rows == p->rows * scale(p) && shapes[i].columns == p->columns * scale(p) &&
            shapes[i].depth == p->depth)
            return &shapes[i];
    return NULL;
}

/*
 * Cycles: of a second launch, of a group beside its products; bytes that a unit moves in one. Parts are taken where
 * they gain a tenth: what they write costs more than what is counted here.
 */
static const double launch = 5000, start = 3000, bytes_a_cycle = 15, worth = 1.1;

static double time_of(const shape *s, int by, const lfuse__facts *facts, const int64_t *extents, const cut *c)
{
    const double units = facts->info.compute_units ? facts->info.compute_units : 1;
    const double rounds = (double)parts_of(c->down * c->across * c->parts, (int64_t)units);
    const double work = (double)(s->rows / by) * (s->columns / by) * s->depth * (double)parts_of(c->slabs, c->parts);
    const double sums = (double)extents[0] * (double)extents[1] * VECTOR_BYTES / 4 * by;
    double time = rounds * (start + work / s->rates[rounds < BESIDE ? (int)rounds - 1 : BESIDE - 1]);
    if (c->parts > 1) time = worth * (time + launch + 2 * sums * (double)c->parts / units / bytes_a_cycle);
    return time;
}

/* As many parts as keep all units reading. */
static void cut_thin(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, cut *c)
{
    const int64_t units = facts->info.compute_units ? facts->info.compute_units : 1;
    const int64_t batch = p->batched ? extents[LFUSE__PRODUCT_BATCH] : 1;
    const int64_t length = p->rows == p->item_rows ? extents[1] : extents[0];
    const double wide = (double)length * (double)extents[2] * (double)batch;
    const double few = p->rows == p->item_rows ? p->rows : p->columns;
    c->down = parts_of(extents[0], p->rows), c->across = parts_of(extents[1], p->columns);
    c->slabs = parts_of(extents[2], p->depth);
    c->parts = parts_of(THIN_GROUPS * units, batch * c->down * c->across);
    if (c->parts > c->slabs) c->parts = c->slabs ? c->slabs : 1;
    if (c->parts > MOST_PARTS) c->parts = MOST_PARTS;
    const double products = wide * few / 60, bytes = wide * VECTOR_BYTES / 4 * scale(p) / bytes_a_cycle;
    const double groups = (double)(batch * c->down * c->across * c->parts);
    c->time = launch + start + (products > bytes ? products : bytes) / fmin(groups, (double)units);
}

static void cut_tiles(const shape *s, int by, const lfuse__facts *facts, const int64_t *extents, bool split, cut *best)
{
    cut c = {.down = parts_of(extents[0], s->rows / by), .across = parts_of(extents[1], s->columns / by),
             .slabs = parts_of(extents[2], s->depth)};
    best->time = -1;
    for (c.parts = split ? 2 : 1; c.parts <= (split ? MOST_PARTS : 1); c.parts++) {
        c.time = time_of(s, by, facts, extents, &c);
        if (best->time < 0 || c.time < best->time) *best = c;
    }
}

static int threads_of(const lfuse__product_class *p)
{
    return lfuse__is_thin(p) ? LFUSE__GROUP : p->rows / p->item_rows * (p->columns / p->item_columns);
}

static int vector_of(const lfuse__product_class *p)
{
    return VECTOR_BYTES / (int)lfuse__type_bytes(p->sum);
}

/* One side is `few`, in whole. */
static void thin_set(lfuse__product_class *p, bool rows, int few)
{
    const int wide = rows ? LFUSE__PRODUCT_B : LFUSE__PRODUCT_A, width = lfuse__thin_width(p, wide, vector_of(p));
    p->rows = rows ? few : width, p->columns = rows ? width : few;
    p->item_rows = rows ? few : vector_of(p), p->item_columns = rows ? vector_of(p) : few;
    p->depth = lfuse__thin_depth(p, wide, vector_of(p));
    p->split = 1;
}

static void cut_for(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, cut *c)
{
    if (lfuse__is_thin(p)) cut_thin(p, facts, extents, c);
    else cut_tiles(shape_of(p), scale(p), facts, extents, p->split, c);
}

/* Candidate number `at` of a type and transposes; false: there is none so far. */
static bool candidate(int at, lfuse__product_class *p)
{
    if (at < 2 * SHAPES) {
        shape_set(p, &shapes[at / 2]);
        p->split = at % 2;
        return true;
    }
    at -= 2 * SHAPES;
    if (at >= 2 * FEWS) return false;
    thin_set(p, at % 2, fews[at / 2]);
    return true;
}

/* Whether products of these sizes, or of some within the bounds, may be computed so. */
static bool serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    const int few = p->rows == p->item_rows ? p->rows : p->columns, side = p->rows != p->item_rows;
    if (!lfuse__is_thin(p)) return !p->batched || !p->split; /* a batch has tiles enough */
    return least[side] <= few && (few == fews[0] || most[side] > fews[0]);
}

/* The fastest by the clock of cut_for. */
static void find(const lfuse__facts *facts, const int64_t *extents, lfuse__product_class *p)
{
    lfuse__product_class tried = *p;
    double best = -1;
    for (int i = 0; candidate(i, &tried); i++) {
        cut c;
        if (!serves(&tried, extents, extents)) continue;
        cut_for(&tried, facts, extents, &c);
        if (best >= 0 && c.time >= best) continue;
        best = c.time;
        *p = tried;
    }
}

static lfuse_status fit(const lfuse__facts *facts)
{
    if (lfuse__tiles_fit(facts)) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "tiles of a product do not fit the device: %llu bytes of local "
                        "memory, groups of %u, %u of them in step", (unsigned long long)facts->info.local_bytes,
                        facts->info.max_group, facts->simd);
}

static lfuse_status choose(const lfuse__facts *facts, int64_t m, int64_t n, int64_t k, bool others,
                           lfuse__kernel_class *c)
{
    const int64_t extents[] = {m > 0 ? m : 1, n > 0 ? n : 1, k > 0 ? k : 1, 1}; /* of none, nothing is launched */
    LFUSE__TRY(fit(facts));
    if (others && lfuse__vendor_is_faster(facts, c->product.sum))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "another product of %s is taken for faster on %s",
                            lfuse__memory_word(c->product.sum), facts->arch);
    if (m > INT32_MAX || n > INT32_MAX || k > INT32_MAX)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a product of %lld x %lld x %lld: sides are below 2^31",
                            (long long)m, (long long)n, (long long)k);
    find(facts, extents, &c->product);
    return LFUSE_OK;
}

static int classes(const lfuse__facts *facts, const int64_t m[2], const int64_t n[2], const int64_t k[2],
                   const lfuse__kernel_class *c, lfuse__kernel_class *all)
{
    const int64_t low[2] = {m[0], n[0]}, high[2] = {m[1], n[1]};
    lfuse__kernel_class tried = *c;
    int count = 0;
    if (!lfuse__tiles_fit(facts)) return 0;
    if (m[0] == m[1] && n[0] == n[1] && k[0] == k[1]) {
        all[0] = *c;
        return choose(facts, m[0], n[0], k[0], false, &all[0]) == LFUSE_OK;
    }
    for (int i = 0; candidate(i, &tried.product) && count < LFUSE__PRODUCT_CLASSES; i++)
        if (serves(&tried.product, low, high)) all[count++] = tried;
    return count;
}

static int phases(const lfuse__kernel_class *c)
{
    return c->product.split ? 2 : 1;
}

static uint64_t workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g)
{
    cut found;
    if (!c->product.split) return 0;
    cut_for(&c->product, facts, g->extents, &found);
    return (uint64_t)lfuse__product_batch(c, g) * (uint64_t)found.parts * (uint64_t)g->extents[0] *
           (uint64_t)parts_of(g->extents[1], vector_of(&c->product)) * VECTOR_BYTES;
}

/* ---- of the members of lists ---- */

/* All tiles of a shape take equally long for each k, whatever of them there is. */
static double grouped_time(const shape *s, int by, const lfuse__facts *facts, int64_t members,
                           const lfuse__member_product *sizes)
{
    const double units = facts->info.compute_units ? facts->info.compute_units : 1;
    double tiles = 0, work = 0;
    for (int64_t i = 0; i < members; i++) {
        const double of_one = (double)parts_of(sizes[i].m, s->rows / by) * (double)sizes[i].matrices *
                              (double)parts_of(sizes[i].n, s->columns / by);
        tiles += of_one;
        work += of_one * (double)(s->rows / by) * (double)(s->columns / by) * (double)(sizes[i].k + s->depth);
    }
    const int beside = tiles >= BESIDE * units ? BESIDE : 1 + (int)(tiles / units);
    return work / (s->rates[(beside < BESIDE ? beside : BESIDE) - 1] * (tiles < units ? tiles + 1 : units));
}

lfuse_status lfuse__tiles_choose_grouped(const lfuse__facts *facts, int64_t members,
                                         const lfuse__member_product *sizes, lfuse__kernel_class *c)
{
    double best = -1;
    LFUSE__TRY(fit(facts));
    for (int i = 0; i < SHAPES; i++) {
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
    made->group = (unsigned)threads_of(&c->product);
}

/* ---- the text ---- */

void lfuse__tiles_put_group(const lfuse__tiles *t, const char *each)
{
    lfuse__put(t->t.out, 1, "const u32 item = ITEM();");
    if (t->l.batch < 0) {
        lfuse__put(t->t.out, 1, "const u32 group = (u32)GROUP();");
        return;
    }
    lfuse__put(t->t.out, 1, "const u32 each = %s, group = (u32)(GROUP() %% each);", each);
    lfuse__put(t->t.out, 1, "const u64 matrix = GROUP() / each;");
}

void lfuse__tiles_put_local(const lfuse__tiles *t)
{
    lfuse__put(t->t.out, 1, "TILE_%s(tile, %d)", t->sum, 2 * t->p->depth * (t->p->rows + t->p->columns));
}

void lfuse__tiles_put_items(const lfuse__tiles *t)
{
    const int across = t->p->columns / t->p->item_columns / (32 / TEAM_ROWS); /* teams of 32, side by side */
    lfuse__put(t->t.out, 1, "const u32 y = (item / %d * %d + item %% 32 / %d) * %d;", 32 * across, TEAM_ROWS,
               32 / TEAM_ROWS, t->vector);
    lfuse__put(t->t.out, 1, "const u32 x = (item / 32 %% %d * %d + item %% %d) * %d;", across, 32 / TEAM_ROWS,
               32 / TEAM_ROWS, t->vector);
}

/* A band of some tiles down goes all the way across before the next begins. */
void lfuse__tiles_put_band(const lfuse__tiles *t, int indent, const char *number, const char *tiles_down,
                           const char *tiles_across)
{
    lfuse__put(t->t.out, indent, "const u32 band = %s / (%s * %d), begin = band * %d, in_band = %s - begin * %s;",
               number, tiles_across, LFUSE__TILES_BAND, LFUSE__TILES_BAND, number, tiles_across);
    lfuse__put(t->t.out, indent, "const u32 high = %s - begin < %d ? %s - begin : %d;", tiles_down, LFUSE__TILES_BAND,
               tiles_down, LFUSE__TILES_BAND);
    lfuse__put(t->t.out, indent, "const u32 down = begin + in_band %% high, across = in_band / high;");
}

static void put_tile(const lfuse__tiles *t, const char *name)
{
    const lfuse__product_class *p = t->p;
    const int own = t->l.own;
    lfuse__strbuf *out = t->t.out;
    lfuse__put_kernel(out, name, t->threads, own + LFUSE__TILES_OWN, lfuse__kernel_buffers(t->t.k));
    lfuse__tiles_put_local(t);
    lfuse__put(out, 1, "const u32 m = (u32)W(%d), n = (u32)W(%d), k = (u32)W(%d);", t->l.m, t->l.n, t->l.k);
    lfuse__put(out, 1, "const u32 tiles_down = (u32)W(%d), tiles_across = (u32)W(%d), parts = (u32)W(%d);",
               own + LFUSE__TILES_DOWN, own + LFUSE__TILES_ACROSS, own + LFUSE__TILES_PARTS);
    lfuse__tiles_put_group(t, "tiles_down * tiles_across * parts");
    lfuse__put(out, 1, "const u32 part = group %% parts, number = group / parts;");
    lfuse__tiles_put_band(t, 1, "number", "tiles_down", "tiles_across");
    lfuse__put(out, 1, "const u32 slabs = k / %d + (k %% %d != 0);", p->depth, p->depth);
    lfuse__put(out, 1, "const u32 first = (u32)((u64)slabs * part / parts), last = (u32)((u64)slabs * (part + 1) / "
               "parts);");
    lfuse__tiles_put_items(t);
    lfuse__put_product_memory(out, 1, t->t.k, &t->l);
    lfuse__tiles_put_sums(t);
    if (p->split) lfuse__tiles_put_partial(t);
    else lfuse__tiles_put_epilogue(t);
    lfuse__put(out, 0, "}");
}

static void put_fold(const lfuse__tiles *t, const char *name)
{
    lfuse__strbuf *out = t->t.out;
    lfuse__put_kernel(out, name, LFUSE__GROUP, t->l.own + LFUSE__TILES_OWN, lfuse__kernel_buffers(t->t.k));
    lfuse__put(out, 1, "const u32 m = (u32)W(%d), n = (u32)W(%d);", t->l.m, t->l.n);
    lfuse__tiles_put_fold(t);
    lfuse__put(out, 0, "}");
}

void lfuse__tiles_describe(lfuse__tiles *t, lfuse__strbuf *out, const lfuse__kernel_class *c)
{
    const lfuse__product_class *p = &c->product;
    memset(t, 0, sizeof *t);
    lfuse__product_layout_make(c, &t->l);
    lfuse__text_init(&t->t, out, c, NULL);
    t->t.numbers = t->l.numbers;
    t->p = p;
    t->sum = lfuse__register_word(p->sum);
    t->vector = t->t.vector = vector_of(&c->product);
    t->threads = threads_of(p);
}

static lfuse_status emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c, const lfuse__facts *facts)
{
    lfuse__tiles t;
    (void)facts;
    const bool known = lfuse__is_thin(&c->product) || shape_of(&c->product);
    if (!known || c->product.phase < 0 || c->product.phase >= phases(c))
        return lfuse__error(LFUSE_ERR_INVALID, "a product by tiles of %d x %d x %d, phase %d", c->product.rows,
                            c->product.columns, c->product.depth, c->product.phase);
    lfuse__tiles_describe(&t, out, c);
    lfuse__put_powers(out, c->body);
    if (c->product.phase) put_fold(&t, name);
    else if (lfuse__is_thin(&c->product)) lfuse__thin_put(&t, name);
    else put_tile(&t, name);
    return LFUSE_OK;
}

/* ---- sizes ---- */

static bool aligned(const lfuse__kernel_class *c, const lfuse__geometry *g, int j)
{
    const uint64_t size = lfuse__type_bytes(c->operands[j].type);
    const int64_t apart = c->product.batched ? g->strides[j][LFUSE__PRODUCT_BATCH] : 0;
    const int vector = vector_of(&c->product);
    const uint64_t bytes = size * (unsigned)vector < VECTOR_BYTES ? size * (unsigned)vector : VECTOR_BYTES;
    return g->strides[j][0] % vector == 0 && apart % vector == 0 && g->addresses[j] % bytes == 0;
}

/* Rows of vectors; along an axis that a tile may cut, of nothing else. */
static bool matrix_aligned(const lfuse__kernel_class *c, const lfuse__geometry *g, int j)
{
    const int vector = vector_of(&c->product);
    if (!lfuse__tiles_turned(&c->product, j) && g->extents[j] % vector) return false;
    return aligned(c, g, j);
}

static bool others_aligned(const lfuse__kernel_class *c, const lfuse__geometry *g)
{
    const int vector = vector_of(&c->product);
    if (g->extents[1] % vector) return false;
    for (int j = LFUSE__PRODUCT_OWN; j < c->noperands; j++)
        if (lfuse__in_blocks(&c->operands[j]) && !aligned(c, g, j)) return false;
    return true;
}

static lfuse_status pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                         lfuse__packed *packed)
{
    const lfuse__product_class *p = &c->product;
    const int64_t batch = lfuse__product_batch(c, g);
    lfuse__product_layout l;
    uint64_t groups, *own;
    cut found;
    LFUSE__TRY(lfuse__product_layout_pack(c, g, LFUSE__TILES_OWN, packed));
    lfuse__product_layout_make(c, &l);
    own = packed->words + l.own;
    cut_for(p, facts, g->extents, &found);
    own[LFUSE__TILES_DOWN] = (uint64_t)found.down;
    own[LFUSE__TILES_ACROSS] = (uint64_t)found.across;
    own[LFUSE__TILES_PARTS] = (uint64_t)found.parts;
    own[LFUSE__TILES_VECTORS] = (uint64_t)matrix_aligned(c, g, LFUSE__PRODUCT_A) |
                                (uint64_t)matrix_aligned(c, g, LFUSE__PRODUCT_B) << 1 |
                                (uint64_t)others_aligned(c, g) << 2;
    groups = (uint64_t)found.down * (uint64_t)found.across * (uint64_t)found.parts * (uint64_t)batch;
    packed->group = (unsigned)threads_of(p);
    if (p->phase) {
        packed->group = LFUSE__GROUP;
        groups = (uint64_t)parts_of(batch * g->extents[0] * parts_of(g->extents[1], vector_of(p)), LFUSE__GROUP);
    }
    if (groups > LFUSE__GROUP_BOUND)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%lld products of %lld x %lld take %llu work-groups",
                            (long long)batch, (long long)g->extents[0], (long long)g->extents[1],
                            (unsigned long long)groups);
    packed->groups = groups;
    return LFUSE_OK;
}

const lfuse__product_family lfuse__product_tiles = { choose, classes, phases, workspace, emit, pack };
