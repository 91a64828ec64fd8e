/* SPDX-License-Identifier: Apache-2.0 */
#include "common/matmul/front.h"

#include "common/base/costs.h"
#include "common/base/error.h"
#include "common/matmul/emulated.h"

bool lfuse__front_prepares(const lfuse__product_class *p, int operand)
{
    return p->phase != LFUSE__FRONT_PRODUCT && !lfuse__comes_by_map(p, operand) &&
           lfuse__is_kept(p, operand) == (p->phase == LFUSE__FRONT_KEEP);
}

/* Whether the operand is prepared in each run. */
static bool is_in_workspace(const lfuse__product_class *p, int operand)
{
    return !lfuse__comes_by_map(p, operand) && !lfuse__is_kept(p, operand);
}

int lfuse__front_first(const lfuse__kernel_class *c)
{
    for (int i = 0; i < LFUSE__PRODUCT_SUM; i++)
        if (is_in_workspace(&c->product, i)) return LFUSE__FRONT_OPERANDS;
    return LFUSE__FRONT_PRODUCT;
}

lfuse__expr lfuse__front_tiles(const lfuse__tiles *t, int operand)
{
    const char *tiles = operand == LFUSE__PRODUCT_A ? "tiles_down" : "tiles_across";

    return lfuse__expression("(%s * %s)", tiles, lfuse__front_matrices(t, operand).text);
}

lfuse__expr lfuse__front_matrices(const lfuse__tiles *t, int operand)
{
    if (!t->p->batched) return lfuse__expression("(u64)1");
    return lfuse__expression("(W(%d) ? W(%d) : (u64)1)", t->l.apart[operand], t->l.batch);
}

/* Where in the workspace that begins which is prepared in a run. */
static lfuse__expr in_workspace(const lfuse__tiles *t)
{
    const int last = lfuse__kernel_buffers(t->t.k) - 1;

    if (!t->p->column_sums) return lfuse__expression("BUFFER(%d) + W(%d)", last, t->l.workspace);
    return lfuse__expression("BUFFER(%d) + W(%d) + %d + (u64)tiles_down * tiles_across * %d", last, t->l.workspace,
                             LFUSE__TILES_TICKETS * 4, (int)lfuse__tiles_cells(t->p, 1, 1));
}

lfuse__expr lfuse__front_at(const lfuse__tiles *t, int operand, const char *of_a)
{
    const lfuse__expr first = in_workspace(t);

    if (lfuse__is_kept(t->p, operand))
        return lfuse__expression("(BUFFER(%d) + W(%d))", LFUSE__PRODUCT_SUM, LFUSE__PRODUCT_SUM);
    if (operand == LFUSE__PRODUCT_A || !is_in_workspace(t->p, LFUSE__PRODUCT_A))
        return lfuse__expression("(%s)", first.text);
    return lfuse__expression("(%s + %s)", first.text, of_a);
}

/* Returns how many matrices of an operand are prepared: one, where all products of a batch share it. */
static uint64_t matrices_of(const lfuse__kernel_class *c, const lfuse__geometry *g, int operand)
{
    return g->strides[operand][LFUSE__PRODUCT_BATCH] ? (uint64_t)lfuse__product_batch(c, g) : 1;
}

/* What is made of an operand: of whole tiles, of all its matrices. */
static uint64_t bytes_of(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g, int operand)
{
    const lfuse__product_class *p = &c->product;
    const uint64_t factors = p->solver->emulation ? LFUSE__EMULATED_FACTOR : 0; /* of a line */
    lfuse__cut cut;

    lfuse__tiles_cut(p, facts, g, &cut);
    const uint64_t tiles = (uint64_t)(operand == LFUSE__PRODUCT_A ? cut.down : cut.across) * matrices_of(c, g, operand);
    return tiles * ((uint64_t)lfuse__tile_width(p, operand) * factors +
                    (uint64_t)cut.k_tiles * (uint64_t)lfuse__mma_k_tile_bytes(p, operand));
}

uint64_t lfuse__front_workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g)
{
    uint64_t bytes = lfuse__tiles_workspace(c, facts, g); /* of column sums */

    for (int i = 0; i < LFUSE__PRODUCT_SUM; i++)
        if (is_in_workspace(&c->product, i)) bytes += bytes_of(c, facts, g, i);
    return bytes;
}

uint64_t lfuse__front_kept(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g)
{
    return bytes_of(c, facts, g, c->product.kept - 1);
}

lfuse_status lfuse__front_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                               int items, const int lines[2], bool by_k_tiles, lfuse__packed *packed)
{
    const lfuse__product_class *p = &c->product;
    const uint64_t each = by_k_tiles ? (uint64_t)lfuse__ceil_div(g->extents[2], p->depth) : 1;
    uint64_t groups = 0;
    lfuse__product_layout l;

    LFUSE__TRY(lfuse__tiles_pack(c, facts, g, packed));
    if (p->phase == LFUSE__FRONT_PRODUCT) return LFUSE_OK;
    lfuse__product_layout_make(c, &l);
    for (int i = 0; i < LFUSE__PRODUCT_SUM; i++) {
        const uint64_t tiles = packed->words[l.own + (i ? LFUSE__TILES_ACROSS : LFUSE__TILES_DOWN)] *
                               matrices_of(c, g, i);
        if (lfuse__front_prepares(p, i)) groups += tiles * (uint64_t)(lfuse__tile_width(p, i) / lines[i]) * each;
    }
    return lfuse__tiles_launch(c, g, groups, (unsigned)items, packed);
}

void lfuse__front_add_cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, int bytes,
                           lfuse__cut *c)
{
    const lfuse__tiles_costs costs = lfuse__costs_of(facts).tiles;
    double wide = 0; /* of all matrices */

    for (int i = 0; i < LFUSE__PRODUCT_SUM; i++)
        if (is_in_workspace(p, i)) wide += (double)extents[i] * (p->shared[i] ? 1 : (double)c->matrices);
    if (wide > 0)
        c->time += costs.start + wide * (double)extents[2] * bytes / costs.bytes / (double)lfuse__units(facts);
}
