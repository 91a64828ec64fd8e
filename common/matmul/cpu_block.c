/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of cpu.c: its functions, and what a group does for a block of the result. */
#include <stdio.h>

#include "common/matmul/cpu.h"
#include "common/kernels/template.h"

#include "common/kernels/text/gemm_cpu_block.k.h"
#include "common/kernels/text/gemm_cpu_micro.k.h"
#include "common/kernels/text/gemm_cpu_pack.k.h"
#include "common/kernels/text/gemm_cpu_transpose.k.h"

enum {
    LANES = LFUSE__PANEL_LANES,
    FEW_ROWS = 4,    /* for which there is a micro-kernel of its own */
    DOT_ROWS = 12,   /* so where B is transposed */
    DIRECT_ROWS = 24 /* up to which B is not packed: what that takes is more than what it saves */
};

/*
 * Both operands lie along k and need no conversion; what is made does as it is made. Of a list nowhere: which rows are
 * few depends on the other members, and lanes along k add up in another order.
 */
static bool along(const lfuse__kernel_class *c)
{
    return c->family != LFUSE__FAMILY_GROUPED && !c->product.ta && c->product.tb &&
           c->operands[LFUSE__PRODUCT_A].type == c->product.sum && c->operands[LFUSE__PRODUCT_B].type == c->product.sum;
}

/* Up to which B is taken as it lies; with lanes along k both are, what is made too, from where it then is. */
static int direct_rows(const lfuse__kernel_class *c)
{
    if (c->product.tb) return along(c) ? DOT_ROWS : 0;
    if (c->product.prologue[LFUSE__PRODUCT_B]) return 0;
    return c->operands[LFUSE__PRODUCT_B].type == c->product.sum ? DIRECT_ROWS : 0;
}

/* Returns the type of what is packed of an operand. */
static lfuse_type packed_type(const lfuse__kernel_class *c, int operand)
{
    return c->product.prologue[operand] ? c->product.sum : c->operands[operand].type;
}

/* ---- functions ---- */

static void put_transpose(const void *context, int operand, int indent)
{
    const lfuse__cpu_text *t = context;
    char x[80];
    const lfuse__parameter parameters[] = {{"X", .word = x},
                                           {"FROM", .word = lfuse__memory_word(packed_type(t->t.k, operand))},
                                           {"T", .word = lfuse__memory_word(t->t.k->product.sum)},
                                           {"WIDTH", .number = LANES},
                                           {"HALF", .number = LANES / 2},
                                           {"STAGES", .number = 4},
                                           {NULL}};

    snprintf(x, sizeof x, "%s_%s", operand == LFUSE__PRODUCT_A ? "a" : "b", t->name);
    lfuse__put_text(t->t.out, indent, lfuse__text_gemm_cpu_transpose, parameters, NULL, NULL);
}

static void put_micro_kernel(const lfuse__cpu_text *t, const char *prefix, int rows)
{
    const lfuse__product_class *p = &t->t.k->product;
    char x[80];
    const lfuse__parameter parameters[] = {{"X", .word = x},
                                           {"ROWS", .number = rows},
                                           {"COLUMNS", .number = p->columns},
                                           {"VECTORS", .number = p->columns / LANES},
                                           {"T", .word = lfuse__memory_word(p->sum)},
                                           {"POINTERS", .number = (rows + 2) / 3},
                                           {NULL}};

    snprintf(x, sizeof x, "%s%s", prefix, t->name);
    lfuse__put_text(t->t.out, 0, lfuse__text_gemm_cpu_micro, parameters, NULL, NULL);
}

void lfuse__cpu_put_functions(const void *cpu_text, int which, int indent)
{
    static const lfuse__text_place places[] = {{"TRANSPOSE_A", put_transpose, LFUSE__PRODUCT_A},
                                               {"TRANSPOSE_B", put_transpose, LFUSE__PRODUCT_B},
                                               {NULL, NULL, 0}};
    const lfuse__cpu_text *t = cpu_text;
    const lfuse__kernel_class *c = t->t.k;
    const lfuse__product_class *p = &c->product;
    const lfuse_type a = packed_type(c, LFUSE__PRODUCT_A), b = packed_type(c, LFUSE__PRODUCT_B);
    const lfuse__parameter parameters[] = {
        {"NAME", .word = t->name}, {"ROWS", .number = p->rows}, {"COLUMNS", .number = p->columns},
        {"VECTORS", .number = p->columns / LANES}, {"T", .word = lfuse__memory_word(p->sum)},
        {"SIZE", .number = (int)lfuse__type_bytes(p->sum)}, {"ATYPE", .word = lfuse__memory_word(a)},
        {"BTYPE", .word = lfuse__memory_word(b)}, {"ASIZE", .number = (int)lfuse__type_bytes(a)},
        {"BSIZE", .number = (int)lfuse__type_bytes(b)}, {"A_TRANSPOSED", .number = p->ta},
        {"B_TRANSPOSED", .number = p->tb}, {"DOTS", .number = along(c)}, {"DOT_COLUMNS", .number = 4}, {NULL},
    };

    (void)which, (void)indent;
    lfuse__put_text(t->t.out, 0, lfuse__text_gemm_cpu_pack, parameters, places, t);
    put_micro_kernel(t, "", p->rows);
    put_micro_kernel(t, "few_", FEW_ROWS);
}

/* ---- a block ---- */

/*
 * The epilogue's body over rows and vectors of sums, which lie at `sums`: row and column of the first one, and how many
 * rows and columns there are, are variables in scope.
 */
static void put_epilogue(const void *context, int which, int indent)
{
    const lfuse__cpu_text *x = context;
    const lfuse__text *t = &x->t;
    const lfuse__product_class *p = &t->k->product;
    lfuse__strbuf *out = t->out;

    (void)which;
    lfuse__put(out, indent, "for (int r = 0; r < rows; r++)");
    lfuse__put(out, indent + 1, "for (int v = 0; v < columns; v += LANES) {");
    lfuse__put(out, indent + 2, "const i64 i = row + r, j = column + v;");
    lfuse__put(out, indent + 2, "const int count = columns - v < LANES ? columns - v : LANES;");
    for (int j = LFUSE__PRODUCT_SUM; j < t->k->noperands; j++) {
        if (t->loaded[j]) lfuse__put(out, indent + 2, "L_%s x%d;", lfuse__register_word(t->k->operands[j].type), j);
        if (t->stored[j]) lfuse__put(out, indent + 2, "L_%s y%d;", lfuse__register_word(t->k->operands[j].type), j);
    }
    if (t->loaded[LFUSE__PRODUCT_SUM])
        lfuse__put(out, indent + 2, "x%d = LOADL_%s(sums, r * %d + v);", LFUSE__PRODUCT_SUM,
                   lfuse__memory_word(p->sum), p->columns);
    lfuse__put_product_lanes(t, &x->l, indent + 2, true, "i", "j");
    lfuse__put(out, indent + 2, "{");
    lfuse__put_body(t, indent + 3, "");
    lfuse__put(out, indent + 2, "}");
    lfuse__put_product_lanes(t, &x->l, indent + 2, false, "i", "j");
    lfuse__put(out, indent + 1, "}");
}

void lfuse__cpu_put_block(const void *cpu_text, int which, int indent)
{
    static const lfuse__text_place places[] = {{"COMPUTE_A", lfuse__cpu_put_prologue, LFUSE__PRODUCT_A},
                                               {"COMPUTE_B", lfuse__cpu_put_prologue, LFUSE__PRODUCT_B},
                                               {"EPILOGUE", put_epilogue, 0},
                                               {NULL, NULL, 0}};
    const lfuse__cpu_text *t = cpu_text;
    const lfuse__kernel_class *c = t->t.k;
    const lfuse__product_class *p = &c->product;
    const lfuse_type a = c->operands[LFUSE__PRODUCT_A].type, b = c->operands[LFUSE__PRODUCT_B].type;
    const lfuse__parameter parameters[] = {
        {"NAME", .word = t->name}, {"ROWS", .number = p->rows}, {"COLUMNS", .number = p->columns},
        {"FEW_ROWS", .number = FEW_ROWS}, {"SIZE", .number = (int)lfuse__type_bytes(p->sum)},
        {"ASIZE", .number = (int)lfuse__type_bytes(a)}, {"BSIZE", .number = (int)lfuse__type_bytes(b)},
        {"A_TRANSPOSED", .number = p->ta}, {"B_TRANSPOSED", .number = p->tb}, {"DOTS", .number = along(c)},
        {"DIRECT", .number = direct_rows(c) > 0}, {"DIRECT_ROWS", .number = direct_rows(c)},
        {"A_PACKED", .number = p->prologue[LFUSE__PRODUCT_A] || a != p->sum},
        {"A_COMPUTED", .number = p->prologue[LFUSE__PRODUCT_A]},
        {"B_COMPUTED", .number = p->prologue[LFUSE__PRODUCT_B]},
        {NULL},
    };

    (void)which;
    lfuse__put_text(t->t.out, indent, lfuse__text_gemm_cpu_block, parameters, places, t);
}
