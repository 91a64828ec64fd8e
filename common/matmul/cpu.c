/* SPDX-License-Identifier: Apache-2.0 */
/* Products on CPUs: the kernel is text/gemm_cpu.k. */
#include "common/base/error.h"
#include "common/matmul/cpu.h"
#include "common/matmul/grouped.h"
#include "common/kernels/template.h"

#include "common/kernels/text/gemm_cpu.k.h"

enum {
    LANES = LFUSE__PANEL_LANES,
    ROWS = 12, /* with two vectors of sums each, two of B and one of A: 27 of 32 registers */
    PANEL_BYTES = 128,
    BLOCK_DEPTH = LFUSE__PANEL_BLOCK_DEPTH,
    BLOCK_ROWS = LFUSE__PANEL_BLOCK_ROWS,
    BLOCK_COLUMNS_BYTES = LFUSE__PANEL_BLOCK_BYTES,
    TRIED = 16
};

/* Words behind the common ones. */
enum { OWN_ROWS, OWN_COLUMNS, OWN_DEPTH, OWN_SPACE, OWN_WORDS };

typedef struct blocks {
    int64_t rows, columns, depth; /* of one block: multiples of a panel's, but for depth */
    int64_t down, across;         /* blocks */
    int64_t groups;
    uint64_t a_bytes, b_bytes, sum_bytes; /* of a group's workspace, multiples of 64 */
} blocks;

/* Cycles of the group that has most to do, about: a vector of sums is 1/2, an element packed 1/4 (B) or 1 (A). */
static double cost(const lfuse__product_class *p, int64_t groups, int64_t rows, int64_t columns, int64_t count)
{
    const double sums = (double)rows * (double)columns / (2 * LANES) * (p->sum == LFUSE_F64 ? 2 : 1);

    return (double)lfuse__ceil_div(count, groups) * (sums + (double)columns / 4 + (double)rows);
}

/* As many blocks down and across as share out best, each within its bounds; of a batch, so many in every product. */
static void find_blocks(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g, blocks *b)
{
    const int64_t *extents = g->extents, batch = lfuse__product_batch(c, g);
    const lfuse__product_class *p = &c->product;
    const int64_t size = lfuse__type_bytes(p->sum), cores = lfuse__units(facts);
    const int64_t widest = BLOCK_COLUMNS_BYTES / size, least_down = lfuse__ceil_div(extents[0], BLOCK_ROWS),
                  least_across = lfuse__ceil_div(extents[1], widest);
    double best = -1;

    for (int64_t i = 0, before = -1; i < TRIED + cores; i++) {
        const int64_t rows = lfuse__round_up(lfuse__ceil_div(extents[0], least_down + i), p->rows);
        const int64_t down = lfuse__ceil_div(extents[0], rows);
        if (rows == before) continue; /* addresses that change bring a run here */
        before = rows;
        for (int64_t j = 0, last = -1; j < TRIED + cores; j++) {
            const int64_t columns = lfuse__round_up(lfuse__ceil_div(extents[1], least_across + j), p->columns);
            if (columns == last) continue;
            last = columns;
            const int64_t across = lfuse__ceil_div(extents[1], columns);
            const double found = cost(p, cores, rows, columns, batch * down * across);
            if (best >= 0 && found >= best) continue;
            best = found;
            b->rows = rows, b->columns = columns, b->down = down, b->across = across;
        }
    }
    b->depth = extents[2] ? lfuse__smaller(extents[2], BLOCK_DEPTH) : 1;
    b->groups = lfuse__smaller(batch * b->down * b->across, cores);
    if (g->parts > 0) b->groups = lfuse__smaller(b->groups, g->parts); /* less workspace; sums are of blocks */
    b->a_bytes = (uint64_t)lfuse__round_up(p->rows * b->depth * size + 64, 64);
    for (int i = 0; i < 2; i++)
        if (p->prologue[i]) b->a_bytes += (uint64_t)(b->depth + LANES) * PANEL_BYTES;
    b->b_bytes = (uint64_t)lfuse__round_up(b->columns * b->depth * size, 64);
    b->sum_bytes = (uint64_t)(p->rows * p->columns * size);
    if (extents[2] > b->depth) b->sum_bytes *= (uint64_t)(b->rows / p->rows * (b->columns / p->columns));
}

static uint64_t space(const blocks *b)
{
    return b->a_bytes + b->b_bytes + b->sum_bytes;
}

static void put_memory(const void *context, int which, int indent)
{
    const lfuse__cpu_text *x = context;
    char a[96], b[96];

    (void)which;
    lfuse__put_product_first(&x->l, LFUSE__PRODUCT_A, a, sizeof a);
    lfuse__put_product_first(&x->l, LFUSE__PRODUCT_B, b, sizeof b);
    lfuse__put(x->t.out, indent, "memory p0 = %s, p1 = %s;", a, b);
    lfuse__put_product_memory(x->t.out, indent, x->t.k, &x->l);
}

static void put_kernel(const lfuse__cpu_text *x)
{
    static const lfuse__text_place places[] = {{"FUNCTIONS", lfuse__cpu_put_functions, 0},
                                               {"MEMORY", put_memory, 0},
                                               {"BLOCK", lfuse__cpu_put_block, 0},
                                               {NULL, NULL, 0}};
    const lfuse__product_class *p = &x->t.k->product;
    const lfuse__product_layout *l = &x->l;
    const int buffers = lfuse__kernel_buffers(x->t.k);
    const lfuse__parameter parameters[] = {
        {"NAME", .word = x->name}, {"WORDS", .number = l->own + OWN_WORDS},
        {"BUFFERS", .number = buffers}, {"ROWS", .number = p->rows},
        {"SIZE", .number = (int)lfuse__type_bytes(p->sum)}, {"PANEL", .number = PANEL_BYTES},
        {"BATCHED", .number = l->batch >= 0}, {"A_COMPUTED", .number = p->prologue[LFUSE__PRODUCT_A]},
        {"B_COMPUTED", .number = p->prologue[LFUSE__PRODUCT_B]}, {"M", .number = l->m}, {"N", .number = l->n},
        {"K", .number = l->k}, {"LDA", .number = l->lda}, {"LDB", .number = l->ldb}, {"BATCH", .number = l->batch},
        {"BLOCK_ROWS", .number = l->own + OWN_ROWS}, {"BLOCK_COLUMNS", .number = l->own + OWN_COLUMNS},
        {"BLOCK_DEPTH", .number = l->own + OWN_DEPTH}, {"SPACE", .number = l->workspace},
        {"EACH", .number = l->own + OWN_SPACE}, {"LAST", .number = buffers - 1}, {NULL},
    };

    lfuse__put_text(x->t.out, 0, lfuse__text_gemm_cpu, parameters, places, x);
}

void lfuse__cpu_begin(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c, lfuse__cpu_text *text)
{
    lfuse__product_layout_make(c, &text->l);
    lfuse__text_init(&text->t, out, c, NULL);
    lfuse__product_text_own(&text->t);
    text->t.numbers = text->l.numbers;
    text->name = name;
}

static lfuse_status emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c, const lfuse__facts *facts)
{
    lfuse__cpu_text x;

    (void)facts;
    lfuse__cpu_begin(out, name, c, &x);
    lfuse__put_powers(out, c->body);
    put_kernel(&x);
    return LFUSE_OK;
}

/* ---- sizes ---- */

static bool runs_on(const lfuse__facts *facts)
{
    return facts->vector_lanes > 0;
}

static bool candidate(const lfuse__solver *solver, int at, lfuse__product_class *p)
{
    p->solver = solver;
    p->rows = ROWS;
    p->columns = PANEL_BYTES / (int)lfuse__type_bytes(p->sum);
    return !at;
}

static uint64_t workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g)
{
    blocks b;

    find_blocks(c, facts, g, &b);
    return (uint64_t)b.groups * space(&b);
}

static lfuse_status pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                         lfuse__packed *packed)
{
    lfuse__product_layout l;
    blocks b;

    LFUSE__TRY(lfuse__product_layout_pack(c, g, OWN_WORDS, packed));
    lfuse__product_layout_make(c, &l);
    find_blocks(c, facts, g, &b);
    packed->words[l.own + OWN_ROWS] = (uint64_t)b.rows;
    packed->words[l.own + OWN_COLUMNS] = (uint64_t)b.columns;
    packed->words[l.own + OWN_DEPTH] = (uint64_t)b.depth;
    packed->words[l.own + OWN_SPACE] = space(&b);
    packed->group = 1;
    packed->groups = (uint64_t)b.groups;
    return LFUSE_OK;
}

const lfuse__solver lfuse__cpu = {
    .name = "cpu", .runs_on = runs_on, .candidate = candidate,
    .phases = 1, .workspace = workspace, .emit = emit, .pack = pack,
    .grouped_cut = lfuse__cpu_grouped_cut, .grouped_emit = lfuse__cpu_grouped_emit,
};
