/* SPDX-License-Identifier: Apache-2.0 */
/* Products one of whose sides is a few rows or columns: the kernel is text/gemm_skinny.k. */
#include <math.h>

#include "common/base/costs.h"
#include "common/base/error.h"
#include "common/kernels/template.h"
#include "common/matmul/provider.h"
#include "common/matmul/skinny.h"

#include "common/kernels/text/gemm_skinny.k.h"
#include "common/kernels/text/gemm_skinny_store.k.h"

enum { TEAM = LFUSE__TEAM, TEAMS = LFUSE__GROUP / TEAM, ROWS_AT_A_TIME = 4 };

static lfuse__skinny_text describe(const lfuse__tiles *t)
{
    const bool rows = t->p->rows == t->p->item_rows;
    lfuse__skinny_text s = {.t = t, .out = t->t.out, .wide = rows ? LFUSE__PRODUCT_B : LFUSE__PRODUCT_A,
              .other = rows ? LFUSE__PRODUCT_A : LFUSE__PRODUCT_B, .length = rows ? "n" : "m",
              .count = rows ? "m" : "n", .few = rows ? t->p->rows : t->p->columns, .v = t->vector};
    s.wide_prologue = t->p->prologue[s.wide];
    s.other_prologue = t->p->prologue[s.other];
    s.wide_k_contiguous = lfuse__is_k_contiguous(t->p, s.wide);
    s.other_k_contiguous = lfuse__is_k_contiguous(t->p, s.other);
    return s;
}

static void put_operands(const void *context, int which, int indent)
{
    const lfuse__skinny_text *s = context;
    (void)which;
    if (s->wide_prologue || s->other_prologue) lfuse__put_product_memory(s->out, indent, s->t->t.k, &s->t->l);
}

static void put_store(const void *context, int which, int indent)
{
    const lfuse__skinny_text *s = context;
    const lfuse__parameter parameters[] = {{"WIDE_IS_B", .number = s->wide == LFUSE__PRODUCT_B},
                                           {"T", .word = s->t->sum},
                                           {"V", .number = s->v},
                                           {NULL}};
    (void)which;
    lfuse__put_text(s->out, indent, lfuse__text_gemm_skinny_store, parameters, NULL, NULL);
}

static void put_parts(const lfuse__tiles *t, const char *name)
{
    static const lfuse__text_place places[] = {{"OPERANDS", put_operands, 0},
                                               {"COMPUTE_WIDE", lfuse__skinny_put_wide, 0},
                                               {"COMPUTE_SKINNY", lfuse__skinny_put_other, 0},
                                               {"STORE", put_store, 0},
                                               {NULL, NULL, 0}};
    const lfuse__skinny_text s = describe(t);
    const lfuse_type wide = t->t.k->operands[s.wide].type, other = t->t.k->operands[s.other].type;
    const int wide_size = (int)lfuse__type_bytes(wide), other_size = (int)lfuse__type_bytes(other);
    const int ld[] = {[LFUSE__PRODUCT_A] = t->l.lda, [LFUSE__PRODUCT_B] = t->l.ldb};
    char wide_first[96], other_first[96];
    const lfuse__parameter parameters[] = {
        {"NAME", .word = name}, {"WORDS", .number = t->l.own + LFUSE__TILES_OWN},
        {"BUFFERS", .number = lfuse__kernel_buffers(t->t.k)}, {"ITEMS", .number = LFUSE__GROUP},
        {"WARPS", .number = TEAMS}, {"T", .word = t->sum}, {"V", .number = s.v}, {"FEW", .number = s.few},
        {"AT_A_TIME", .number = s.few < ROWS_AT_A_TIME ? s.few : ROWS_AT_A_TIME}, {"OUTER", .word = s.length},
        {"COUNT", .word = s.count}, {"WIDE", .number = s.v * wide_size}, {"SKINNY", .number = s.v * other_size},
        {"WTYPE", .word = lfuse__memory_word(wide)}, {"STYPE", .word = lfuse__memory_word(other)},
        {"WSIZE", .number = wide_size}, {"SSIZE", .number = other_size},
        {"WIDE_ALONG_K", .number = s.wide_k_contiguous},
        {"SKINNY_ALONG_K", .number = s.other_k_contiguous}, {"WIDE_COMPUTED", .number = s.wide_prologue},
        {"SKINNY_COMPUTED", .number = s.other_prologue}, {"WIDE_FIRST", .word = wide_first},
        {"SKINNY_FIRST", .word = other_first}, {"DEPTH", .number = t->p->depth},
        {"BATCHED", .number = t->l.batch >= 0}, {"M", .number = t->l.m}, {"N", .number = t->l.n},
        {"K", .number = t->l.k}, {"PARTS", .number = t->l.own + LFUSE__TILES_PARTS},
        {"DOWN", .number = t->l.own + LFUSE__TILES_DOWN}, {"ACROSS", .number = t->l.own + LFUSE__TILES_ACROSS},
        {"WIDE_LD", .number = ld[s.wide]}, {"SKINNY_LD", .number = ld[s.other]},
        {"VECTORS", .number = t->l.own + LFUSE__TILES_VECTORS}, {"WIDE_BIT", .number = s.wide},
        {"SKINNY_BIT", .number = s.other}, {"SPACE", .number = t->l.workspace},
        {"LAST", .number = lfuse__kernel_buffers(t->t.k) - 1}, {NULL},
    };

    lfuse__put_product_first(&t->l, s.wide, wide_first, sizeof wide_first);
    lfuse__put_product_first(&t->l, s.other, other_first, sizeof other_first);
    lfuse__put_text(s.out, 0, lfuse__text_gemm_skinny, parameters, places, &s);
}

/* The second launch adds up the parts. */
static void put_fold(const lfuse__tiles *t, const char *name)
{
    lfuse__strbuf *out = t->t.out;
    lfuse__put_kernel(out, name, LFUSE__GROUP, t->l.own + LFUSE__TILES_OWN, lfuse__kernel_buffers(t->t.k));
    lfuse__put(out, 1, "const u32 m = (u32)W(%d), n = (u32)W(%d);", t->l.m, t->l.n);
    lfuse__tiles_put_fold(t);
    lfuse__put(out, 0, "}");
}

static void put_kernel(const lfuse__tiles *t, const char *name)
{
    (t->p->phase ? put_fold : put_parts)(t, name);
}

/* ---- how it is cut up ---- */

/* As many parts as keep all units reading. */
static bool cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, lfuse__cut *c)
{
    const lfuse__costs costs = lfuse__costs_of(facts);
    const int64_t units = lfuse__units(facts), wanted = units * (costs.rows.unit_items / LFUSE__GROUP);
    const int64_t batch = p->batched ? extents[LFUSE__PRODUCT_BATCH] : 1;
    const int64_t length = p->rows == p->item_rows ? extents[1] : extents[0];
    const double wide = (double)length * (double)extents[2] * (double)batch;
    const double few = p->rows == p->item_rows ? p->rows : p->columns;
    *c = (lfuse__cut){.matrices = batch};
    c->down = lfuse__ceil_div(extents[0], p->rows), c->across = lfuse__ceil_div(extents[1], p->columns);
    c->k_tiles = lfuse__ceil_div(extents[2], p->depth);
    c->parts = lfuse__ceil_div(wanted, batch * c->down * c->across);
    if (c->parts > c->k_tiles) c->parts = c->k_tiles ? c->k_tiles : 1;
    if (c->parts > LFUSE__MOST_PARTS) c->parts = LFUSE__MOST_PARTS;
    const double products = wide * few / costs.tiles.skinny_rate;
    const double bytes = wide * lfuse__type_bytes(p->sum) / costs.tiles.bytes;
    const double groups = (double)(batch * c->down * c->across * c->parts);
    /* Each group computes what it needs of the short operand. */
    const int long_side = p->rows == p->item_rows ? LFUSE__PRODUCT_B : LFUSE__PRODUCT_A;
    const double computing = wide * lfuse__tiles_computing(p, &costs, long_side) +
                             (double)(c->down * c->across * extents[2]) * few *
                                 lfuse__tiles_computing(p, &costs, LFUSE__PRODUCT_B - long_side);
    c->time = costs.tiles.skinny_launch + costs.tiles.start +
              fmax(products + computing, bytes) / fmin(groups, (double)units);
    return true;
}

/* ---- the solver ---- */

/* Rows or columns that a work-item may have as a whole. Few, as a plan of unknown sizes compiles all the classes. */
static const int fews[] = {4, 16};
enum { FEWS = sizeof fews / sizeof *fews };

/* Of each width one candidate that has all columns, and one that has all rows. */
static bool candidate(const lfuse__solver *solver, int at, lfuse__product_class *p)
{
    const int few = at < 2 * FEWS ? fews[at / 2] : 0, v = lfuse__tiles_vector(p), rows = at % 2;
    const bool along = lfuse__is_k_contiguous(p, rows ? LFUSE__PRODUCT_B : LFUSE__PRODUCT_A); /* the wide operand */
    const int width = v * (along ? TEAMS : TEAM);

    if (!few) return false;
    p->solver = solver;
    p->rows = rows ? few : width, p->columns = rows ? width : few;
    p->item_rows = rows ? few : v, p->item_columns = rows ? v : few;
    p->depth = v * (along ? TEAM : TEAMS);
    p->slices = p->split = p->prefetch = 1;
    p->occupancy = 0;
    return true;
}

static bool serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    const int side = p->rows != p->item_rows, few = side ? p->columns : p->rows;

    return least[side] <= few && (few == fews[0] || most[side] > fews[0]);
}

/* The sums of all parts of k. */
static uint64_t workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g)
{
    lfuse__cut found;

    lfuse__tiles_cut(&c->product, facts, g, &found);
    return (uint64_t)lfuse__product_batch(c, g) * (uint64_t)found.parts * (uint64_t)g->extents[0] *
           (uint64_t)lfuse__ceil_div(g->extents[1], lfuse__tiles_vector(&c->product)) * LFUSE__TILES_VECTOR;
}

/* Of the second launch a work-item has a vector of the result. */
static lfuse_status pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                         lfuse__packed *packed)
{
    const int64_t vectors = lfuse__ceil_div(g->extents[1], lfuse__tiles_vector(&c->product));
    const int64_t all = lfuse__product_batch(c, g) * g->extents[0] * vectors;

    LFUSE__TRY(lfuse__tiles_pack(c, facts, g, packed));
    if (!c->product.phase) return LFUSE_OK;
    return lfuse__tiles_launch(c, g, (uint64_t)lfuse__ceil_div(all, LFUSE__GROUP), LFUSE__GROUP, packed);
}

static const lfuse__tile_traits traits = { .threads = LFUSE__GROUP, .put_kernel = put_kernel };

const lfuse__solver lfuse__skinny = {
    .name = "skinny", .tile = &traits, .runs_on = lfuse__tiles_fit,
    .candidate = candidate, .serves = serves, .cost = cost, .phases = 2, .workspace = workspace,
    .emit = lfuse__tiles_emit, .pack = pack,
};
