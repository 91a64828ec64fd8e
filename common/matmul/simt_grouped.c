/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of the members of lists: a work-group computes one tile of one member's product. */
#include <stdio.h>

#include "common/matmul/grouped.h"
#include "common/matmul/tile.h"

/*
 * Where all that lies in vectors is aligned: the bits of LFUSE__TILES_VECTORS, for the member. Rows are a whole number
 * of vectors apart, and have one where tiles cut them.
 */
static void put_vectors(const lfuse__tiles *t)
{
    const lfuse__kernel_class *k = t->t.k;
    const int bits = t->l.own + LFUSE__TILES_VECTORS;
    lfuse__strbuf *out = t->t.out;
    int j;

    lfuse__put(out, 2, "u64 of_%d = of_%d %% %d ? 0 : 4;", bits, t->l.n, t->vector);
    for (j = 0; j < k->noperands - 1; j++) {
        const unsigned all = lfuse__type_bytes(k->operands[j].type) * (unsigned)t->vector, bytes = all < 16 ? all : 16;
        if (j == LFUSE__PRODUCT_A || j == LFUSE__PRODUCT_B) {
            lfuse__strbuf_format(out, "%*sif (of_%d %% %d == 0 && (POINTER_BITS(p%d) & %u) == 0", 8, "",
                                 j == LFUSE__PRODUCT_A ? t->l.lda : t->l.ldb, t->vector, j, bytes - 1);
            if (!lfuse__is_k_contiguous(t->p, j))
                lfuse__strbuf_format(out, " && of_%d %% %d == 0", j == LFUSE__PRODUCT_A ? t->l.m : t->l.n, t->vector);
            lfuse__strbuf_format(out, ") of_%d |= %d;\n", bits, 1 << j);
        } else if (j >= LFUSE__PRODUCT_OWN && lfuse__in_blocks(&k->operands[j])) {
            lfuse__put(out, 2, "if ((POINTER_BITS(p%d) & %u) || of_%d %% %d) of_%d &= 3;", j, bytes - 1,
                       t->l.rows[j], t->vector, bits);
        }
    }
}

lfuse_status lfuse__simt_grouped_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *plain,
                                      const lfuse__kernel_class *c, const lfuse__facts *facts)
{
    const lfuse__product_class *p = &c->product;
    char rows[16], columns[16];
    lfuse__tiles t;

    lfuse__tiles_describe(&t, out, plain);
    t.steps = facts->steps;
    t.t.list = (lfuse__of_list){c, facts, LFUSE__CARRY_PARTIAL};
    snprintf(rows, sizeof rows, "%d", p->rows);
    snprintf(columns, sizeof columns, "%d", p->columns);
    lfuse__grouped_put_kernel(&t.t, name, t.threads);
    lfuse__put(out, 1, "TILE_%s(tile, %d)", t.sum, p->solver->tile->local(p));
    lfuse__put(out, 1, "const u32 item = ITEM();");
    lfuse__tiles_put_items(&t, 0, 1);
    lfuse__put(out, 1, "const u64 c = GROUP();");
    lfuse__put(out, 1, "if (c >= chunks) return;");
    lfuse__grouped_put_head(&t.t, &t.l, c, rows, columns);
    put_vectors(&t);
    lfuse__put(out, 2, "const u32 m = (u32)OF_(%d), n = (u32)OF_(%d), k = (u32)OF_(%d);", t.l.m, t.l.n, t.l.k);
    lfuse__tiles_put_band_of(&t, 2, "(u32)number", "(u32)blocks_down", "(u32)blocks_across",
                             lfuse__expression("(u32)number / ((u32)blocks_across * %d)", LFUSE__TILES_BAND).text,
                             "in_band / high");
    lfuse__put(out, 2, "const u32 first = 0, last = k / %d + (k %% %d != 0);", p->depth, p->depth);
    lfuse__tiles_put_sums(&t, 0, 2);
    lfuse__put(out, 2, "const int vectors = %s(%d) >> 2 & 1;", t.l.word, t.l.own + LFUSE__TILES_VECTORS);
    lfuse__tiles_put_epilogue(&t, 2);
    lfuse__put(out, 0, "}");
    return LFUSE_OK;
}

void lfuse__simt_grouped_cut(const lfuse__kernel_class *c, const lfuse__facts *facts, int64_t members,
                             const lfuse__matmul_sizes *sizes, lfuse__grouped_cut *made)
{
    (void)facts, (void)members, (void)sizes;
    made->rows = c->product.rows;
    made->columns = c->product.columns;
    made->group = (unsigned)lfuse__tiles_threads(&c->product);
}
