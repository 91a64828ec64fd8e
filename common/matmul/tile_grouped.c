/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of the members of lists: a work-group computes one tile of one member's product, by the kernel that computes
 * those of a single product. What differs is where sizes, places and alignments come from.
 */
#include <stdio.h>

#include "common/matmul/grouped.h"
#include "common/matmul/tile.h"

/*
 * Puts an expression of the condition that A or B of the member is read in chunks, or in vectors. A copy always is. Of
 * what lies in memory the first element is aligned, and rows lie a whole number of chunks apart. Solvers with chunks
 * also need rows of a whole number of chunks; others need that only where rows do not run along k.
 */
static void put_matrix_aligned(const lfuse__tiles *t, int j)
{
    const int chunk = t->p->solver->tile->chunk, each = chunk ? chunk : t->vector;
    const unsigned all = lfuse__type_bytes(t->t.k->operands[j].type) * (unsigned)each, bytes = all < 16 ? all : 16;
    const bool along = lfuse__is_k_contiguous(t->p, j);
    const int outer = j == LFUSE__PRODUCT_A ? t->l.m : t->l.n;

    if (chunk) lfuse__strbuf_format(t->t.out, "place_%s >= 0 || (", j == LFUSE__PRODUCT_A ? "a" : "b");
    lfuse__strbuf_format(t->t.out, "of_%d %% %d == 0 && (POINTER_BITS(p%d) & %u) == 0",
                         j == LFUSE__PRODUCT_A ? t->l.lda : t->l.ldb, each, j, bytes - 1);
    if (chunk || !along) lfuse__strbuf_format(t->t.out, " && of_%d %% %d == 0", along ? t->l.k : outer, each);
    if (chunk) lfuse__strbuf_add(t->t.out, ")");
}

/* Declares the bits of LFUSE__TILES_VECTORS, for the member. */
static void put_vectors(const lfuse__tiles *t)
{
    const lfuse__kernel_class *k = t->t.k;
    const int bits = t->l.own + LFUSE__TILES_VECTORS;
    lfuse__strbuf *out = t->t.out;

    lfuse__put(out, 2, "u64 of_%d = of_%d %% %d ? 0 : 4;", bits, t->l.n, t->vector);
    for (int j = LFUSE__PRODUCT_A; j <= LFUSE__PRODUCT_B; j++) {
        if (lfuse__grouped_packs(t->t.list.k)) lfuse__tiles_put_packed(t, j, 2);
        lfuse__strbuf_format(out, "%*sif (", 8, "");
        put_matrix_aligned(t, j);
        lfuse__strbuf_format(out, ") of_%d |= %d;\n", bits, 1 << j);
    }
    for (int j = LFUSE__PRODUCT_OWN; j < k->noperands - 1; j++) {
        const unsigned all = lfuse__type_bytes(k->operands[j].type) * (unsigned)t->vector, bytes = all < 16 ? all : 16;
        if (lfuse__in_blocks(&k->operands[j]))
            lfuse__put(out, 2, "if ((POINTER_BITS(p%d) & %u) || of_%d %% %d) of_%d &= 3;", j, bytes - 1, t->l.rows[j],
                       t->vector, bits);
    }
}

void lfuse__tiles_put_chunk_of_list(const lfuse__tiles *t)
{
    const lfuse__expr rows = lfuse__expression("%d", t->p->rows), columns = lfuse__expression("%d", t->p->columns);

    lfuse__grouped_put_chunks(&t->t, t->threads);
    lfuse__put(t->t.out, 1, "const u32 item = ITEM();");
    lfuse__put(t->t.out, 1, "const u64 c = GROUP();");
    lfuse__put(t->t.out, 1, "if (c >= chunks) return;");
    lfuse__grouped_put_head(&t->t, &t->l, t->t.list.k, rows.text, columns.text);
}

void lfuse__tiles_put_member(const lfuse__tiles *t)
{
    const lfuse__product_class *p = t->p;
    const lfuse__expr by_band = lfuse__expression("(u32)number / ((u32)blocks_across * %d)", LFUSE__TILES_BAND);
    lfuse__strbuf *out = t->t.out;

    lfuse__tiles_put_chunk_of_list(t);
    lfuse__tiles_put_items(t, 0, 1);
    put_vectors(t);
    lfuse__put(out, 2, "const u32 m = (u32)OF_(%d), n = (u32)OF_(%d), k = (u32)OF_(%d);", t->l.m, t->l.n, t->l.k);
    lfuse__tiles_put_band_of(t, 2, "(u32)number", "(u32)blocks_down", "(u32)blocks_across", by_band.text,
                             "in_band / high");
    lfuse__put(out, 2, "const u32 first = 0, last = k / %d + (k %% %d != 0);", p->depth, p->depth);
}

lfuse_status lfuse__tiles_grouped_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *plain,
                                       const lfuse__kernel_class *c, const lfuse__facts *facts)
{
    lfuse__tiles t;

    lfuse__tiles_describe(&t, out, plain);
    t.steps = facts->steps;
    t.t.list = (lfuse__of_list){c, facts, LFUSE__CARRY_PARTIAL};
    if (plain->product.phase == LFUSE__GROUPED_PACK) lfuse__tiles_put_packer(&t, name);
    else plain->product.solver->tile->put_kernel(&t, name);
    return LFUSE_OK;
}

void lfuse__tiles_grouped_cut(const lfuse__kernel_class *c, const lfuse__facts *facts, int64_t members,
                              const lfuse__matmul_sizes *sizes, lfuse__grouped_cut *made)
{
    (void)facts, (void)members, (void)sizes;
    made->rows = c->product.rows;
    made->columns = c->product.columns;
    made->group = (unsigned)lfuse__tiles_threads(&c->product);
}
