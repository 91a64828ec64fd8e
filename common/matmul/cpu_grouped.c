/* SPDX-License-Identifier: Apache-2.0 */
/* Panels of the members of lists: a group takes blocks of members one after the other. */
#include "common/matmul/grouped.h"
#include "common/matmul/cpu.h"

enum {
    SHARES = 4, /* blocks of a list for a core, if they are not smaller for that than these */
    LEAST_ROWS = 96,
    LEAST_COLUMNS = 128
};

/* A block of a member for each chunk. */
static void put_grouped(const lfuse__cpu_text *x, const lfuse__kernel_class *c)
{
    const lfuse__text *t = &x->t;
    const lfuse__product_layout *l = &x->l;
    const unsigned size = lfuse__type_bytes(t->k->product.sum), panel = (unsigned)t->k->product.rows * size;
    lfuse__strbuf *out = t->out;

    lfuse__put_kernel(out, x->name, 1, lfuse__list_words(t), lfuse__grouped_buffers(t));
    lfuse__grouped_put_chunks(t, 1);
    lfuse__put(out, 1, "const i64 block_rows = (i64)(W(%d) & 0xffff), block_columns = (i64)(W(%d) >> 16 & 0xffff);",
               LFUSE__GROUPED_BLOCKS, LFUSE__GROUPED_BLOCKS);
    lfuse__put(out, 1, "const i64 block_depth = (i64)(W(%d) >> 32);", LFUSE__GROUPED_BLOCKS);
    lfuse__put(out, 1, "const i64 of_b = block_columns * block_depth * %u, of_a = (block_depth * %u + 127) / 64 * 64;",
               size, panel);
    lfuse__put(out, 1, "memory panels = BUFFER(2) + W(%d) + GROUP() * (u64)(of_b + of_a + block_rows * block_columns * "
               "%u);", LFUSE__MULTI_PARTIALS_OFFSET, size);
    lfuse__put(out, 1, "memory panel = panels + of_b, space = panel + of_a;");
    lfuse__put(out, 1, "for (u64 c = GROUP(); c < chunks; c += GROUPS()) {");
    lfuse__grouped_put_head(t, l, c, "(u64)block_rows", "(u64)block_columns");
    lfuse__put(out, 2, "const i64 m = (i64)OF_(%d), n = (i64)OF_(%d), k = (i64)OF_(%d);", l->m, l->n, l->k);
    lfuse__put(out, 2, "const i64 lda = (i64)OF_(%d), ldb = (i64)OF_(%d);", l->lda, l->ldb);
    lfuse__put(out, 2, "const i64 first_row = (i64)(number %% blocks_down) * block_rows;");
    lfuse__put(out, 2, "const i64 first_column = (i64)(number / blocks_down) * block_columns;");
    lfuse__cpu_put_block(x, 0, 2);
    lfuse__put(out, 1, "}");
    lfuse__put(out, 0, "}");
}

lfuse_status lfuse__cpu_grouped_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *plain,
                                     const lfuse__kernel_class *c, const lfuse__facts *facts)
{
    lfuse__cpu_text x;

    lfuse__cpu_begin(out, name, plain, &x);
    x.t.list = (lfuse__of_list){c, facts, LFUSE__CARRY_PARTIAL};
    lfuse__cpu_put_functions(&x, 0, 0);
    put_grouped(&x, c);
    return LFUSE_OK;
}

static int64_t blocks_of(int64_t members, const lfuse__matmul_sizes *sizes, const lfuse__grouped_cut *cut)
{
    int64_t count = 0, i;

    for (i = 0; i < members; i++) count += lfuse__grouped_blocks(cut, &sizes[i]);
    return count;
}

/* Blocks as large as one product's, of the largest member; smaller ones while there are too few to share out. */
void lfuse__cpu_grouped_cut(const lfuse__kernel_class *c, const lfuse__facts *facts, int64_t members,
                            const lfuse__matmul_sizes *sizes, lfuse__grouped_cut *cut)
{
    const lfuse__product_class *p = &c->product;
    const int64_t size = lfuse__type_bytes(p->sum), cores = lfuse__units(facts);
    int64_t m = 1, n = 1, k = 1, i;

    for (i = 0; i < members; i++) {
        if (sizes[i].m > m) m = sizes[i].m;
        if (sizes[i].n > n) n = sizes[i].n;
        if (sizes[i].k > k) k = sizes[i].k;
    }
    cut->rows = lfuse__smaller(LFUSE__PANEL_BLOCK_ROWS, lfuse__round_up(m, p->rows));
    cut->columns = lfuse__smaller(LFUSE__PANEL_BLOCK_BYTES / size, lfuse__round_up(n, p->columns));
    cut->depth = lfuse__smaller(LFUSE__PANEL_BLOCK_DEPTH, k);
    while (blocks_of(members, sizes, cut) < SHARES * cores && (cut->rows > LEAST_ROWS || cut->columns > LEAST_COLUMNS))
        if (cut->rows > LEAST_ROWS) cut->rows = lfuse__round_up(cut->rows / 2, p->rows);
        else cut->columns = lfuse__round_up(cut->columns / 2, p->columns);
    cut->groups = lfuse__smaller(cores, blocks_of(members, sizes, cut));
    cut->group = 1;
    cut->space = (uint64_t)(cut->columns * cut->depth * size + (cut->depth * p->rows * size + 127) / 64 * 64 +
                            cut->rows * cut->columns * size);
}
