/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of lists whose rows are no whole chunks, or do not begin at such: a launch in front of the products copies
 * them into the workspace, where they are. A copy has the elements' order, so that sums have the bits that they have
 * without one. Its rows begin at whole sectors: what tiles read of them is then no more sectors than they have bytes.
 */
#include "common/matmul/grouped.h"
#include "common/matmul/mma.h"

#include "common/kernels/text/gemm_pack_list.k.h"
#include "common/kernels/text/gemm_pack_list_operand.k.h"

enum { SECTOR = 32 /* bytes that a cache fetches at a time, on NVIDIA's devices */ };

/* Returns the elements from row to row of a copy, whose rows have so many. */
static int64_t line_of(const lfuse__product_class *p, int64_t length)
{
    const int64_t sector = SECTOR / lfuse__mma_bytes(p);

    return lfuse__ceil_div(length, sector) * sector;
}

bool lfuse__grouped_packs(const lfuse__kernel_class *c)
{
    return c->product.solver->tile && c->product.solver->tile->chunk;
}

uint64_t lfuse__grouped_packed_bytes(const lfuse__kernel_class *c, int operand, const lfuse__matmul_sizes *s,
                                     const lfuse__grouped_layout *layout)
{
    const bool along = lfuse__is_k_contiguous(&c->product, operand);
    const int64_t outer = operand == LFUSE__PRODUCT_A ? s->m : s->n;
    const int64_t length = along ? s->k : outer, lines = along ? outer : s->k;
    int chunk;

    if (!lfuse__grouped_packs(c)) return 0;
    chunk = c->product.solver->tile->chunk;
    if (length % chunk == 0 && layout->row % chunk == 0 && (s->matrices == 1 || layout->matrix % chunk == 0) &&
        layout->begins % LFUSE__MMA_CHUNK_BYTES == 0)
        return 0;
    return (uint64_t)s->matrices * (uint64_t)lines * (uint64_t)line_of(&c->product, length) *
           (uint64_t)lfuse__mma_bytes(&c->product);
}

/* ---- the texts ---- */

static void put_operand(const lfuse__tiles *t, int operand, bool uses, int indent)
{
    const bool a = operand == LFUSE__PRODUCT_A, along = lfuse__is_k_contiguous(t->p, operand);
    const int outer = a ? t->l.m : t->l.n;
    const lfuse__expr matrix = lfuse__expression("p%d", operand);
    const lfuse__expr shape = lfuse__expression("p%d", t->t.list.k->noperands - 1);
    const lfuse__expr ld = lfuse__expression("of_%d", a ? t->l.lda : t->l.ldb);
    const lfuse__expr length = lfuse__expression("of_%d", along ? t->l.k : outer);
    const lfuse__expr lines = lfuse__expression("of_%d", along ? outer : t->l.k);
    const lfuse__parameter parameters[] = {
        {"X", .word = a ? "a" : "b"}, {"PART_USE", .number = uses}, {"P", .word = matrix.text}, {"LD", .word = ld.text},
        {"SHAPE", .word = shape.text}, {"PLACE", .number = LFUSE__GROUPED_PACKED + operand},
        {"LENGTH", .word = length.text}, {"LINES", .word = lines.text}, {"CHUNK", .number = t->p->solver->tile->chunk},
        {"SIZE", .number = lfuse__mma_bytes(t->p)}, {"EIGHT_BITS", .number = lfuse__mma_bytes(t->p) == 1},
        {"LINE", .number = SECTOR / lfuse__mma_bytes(t->p)},
        {"WORKSPACE", .number = LFUSE__MULTI_PARTIALS_OFFSET}, {"ITEMS", .number = t->threads}, {NULL},
    };

    lfuse__put_text(t->t.out, indent, lfuse__text_gemm_pack_list_operand, parameters, NULL, NULL);
}

void lfuse__tiles_put_packed(const lfuse__tiles *t, int operand, int indent)
{
    put_operand(t, operand, true, indent);
}

static void put_copy(const void *context, int operand, int indent)
{
    put_operand(context, operand, false, indent);
}

static void put_member(const void *context, int which, int indent)
{
    (void)which, (void)indent;
    lfuse__tiles_put_chunk_of_list(context);
}

void lfuse__tiles_put_packer(const lfuse__tiles *t, const char *name)
{
    static const lfuse__text_place places[] = {
        {"MEMBER", put_member, 0}, {"PACK_A", put_copy, LFUSE__PRODUCT_A}, {"PACK_B", put_copy, LFUSE__PRODUCT_B},
        {NULL, NULL, 0},
    };
    const lfuse__parameter parameters[] = {
        {"NAME", .word = name}, {"WORDS", .number = lfuse__tiles_text_words(t)},
        {"BUFFERS", .number = lfuse__tiles_text_buffers(t)}, {"ITEMS", .number = t->threads}, {NULL},
    };

    lfuse__put_text(t->t.out, 0, lfuse__text_gemm_pack_list, parameters, places, t);
}
