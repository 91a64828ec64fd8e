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

typedef struct functions {
    lfuse__strbuf *out;
    const char *name;
    const lfuse__kernel_class *c;
} functions;

static void put_transpose(const void *context, int operand, int indent)
{
    const functions *f = context;
    char x[80];
    const lfuse__parameter parameters[] = {{"X", .word = x},
                                           {"FROM", .word = lfuse__memory_word(packed_type(f->c, operand))},
                                           {"T", .word = lfuse__memory_word(f->c->product.sum)},
                                           {"WIDTH", .number = LANES},
                                           {"HALF", .number = LANES / 2},
                                           {"STAGES", .number = 4},
                                           {NULL}};

    snprintf(x, sizeof x, "%s_%s", operand == LFUSE__PRODUCT_A ? "a" : "b", f->name);
    lfuse__put_text(f->out, indent, lfuse__text_gemm_cpu_transpose, parameters, NULL, NULL);
}

static void put_micro_kernel(const functions *f, const char *prefix, int rows)
{
    const lfuse__product_class *p = &f->c->product;
    char x[80];
    const lfuse__parameter parameters[] = {{"X", .word = x},
                                           {"ROWS", .number = rows},
                                           {"COLUMNS", .number = p->columns},
                                           {"VECTORS", .number = p->columns / LANES},
                                           {"T", .word = lfuse__memory_word(p->sum)},
                                           {"POINTERS", .number = (rows + 2) / 3},
                                           {NULL}};

    snprintf(x, sizeof x, "%s%s", prefix, f->name);
    lfuse__put_text(f->out, 0, lfuse__text_gemm_cpu_micro, parameters, NULL, NULL);
}

void lfuse__cpu_put_functions(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c)
{
    static const lfuse__place places[] = {{"TRANSPOSE_A", put_transpose, LFUSE__PRODUCT_A},
                                          {"TRANSPOSE_B", put_transpose, LFUSE__PRODUCT_B},
                                          {NULL, NULL, 0}};
    const lfuse__product_class *p = &c->product;
    const lfuse_type a = packed_type(c, LFUSE__PRODUCT_A), b = packed_type(c, LFUSE__PRODUCT_B);
    const functions f = {out, name, c};
    const lfuse__parameter parameters[] = {
        {"NAME", .word = name}, {"ROWS", .number = p->rows}, {"COLUMNS", .number = p->columns},
        {"VECTORS", .number = p->columns / LANES}, {"T", .word = lfuse__memory_word(p->sum)},
        {"SIZE", .number = (int)lfuse__type_bytes(p->sum)}, {"ATYPE", .word = lfuse__memory_word(a)},
        {"BTYPE", .word = lfuse__memory_word(b)}, {"ASIZE", .number = (int)lfuse__type_bytes(a)},
        {"BSIZE", .number = (int)lfuse__type_bytes(b)}, {"A_TRANSPOSED", .number = p->ta},
        {"B_TRANSPOSED", .number = p->tb}, {"DOTS", .number = along(c)}, {"DOT_COLUMNS", .number = 4}, {NULL},
    };

    lfuse__put_text(out, 0, lfuse__text_gemm_cpu_pack, parameters, places, &f);
    put_micro_kernel(&f, "", p->rows);
    put_micro_kernel(&f, "few_", FEW_ROWS);
}

/* ---- a block ---- */

typedef struct block {
    const lfuse__text *t;
    const lfuse__product_layout *l;
} block;

static void put_made(const void *context, int operand, int indent)
{
    const block *b = context;
    (operand == LFUSE__PRODUCT_A ? lfuse__cpu_put_a : lfuse__cpu_put_b)(b->t, b->l, indent);
}

static void put_epilogue(const void *context, int which, int indent)
{
    const block *b = context;
    (void)which;
    lfuse__cpu_put_epilogue(b->t, b->l, indent);
}

void lfuse__cpu_put_block(const lfuse__text *t, const lfuse__product_layout *l, int indent, const char *name)
{
    static const lfuse__place places[] = {{"MAKE_A", put_made, LFUSE__PRODUCT_A},
                                          {"MAKE_B", put_made, LFUSE__PRODUCT_B},
                                          {"EPILOGUE", put_epilogue, 0},
                                          {NULL, NULL, 0}};
    const lfuse__product_class *p = &t->k->product;
    const lfuse_type a = t->k->operands[LFUSE__PRODUCT_A].type, b = t->k->operands[LFUSE__PRODUCT_B].type;
    const block context = {t, l};
    const lfuse__parameter parameters[] = {
        {"NAME", .word = name}, {"ROWS", .number = p->rows}, {"COLUMNS", .number = p->columns},
        {"FEW_ROWS", .number = FEW_ROWS}, {"SIZE", .number = (int)lfuse__type_bytes(p->sum)},
        {"ASIZE", .number = (int)lfuse__type_bytes(a)}, {"BSIZE", .number = (int)lfuse__type_bytes(b)},
        {"A_TRANSPOSED", .number = p->ta}, {"B_TRANSPOSED", .number = p->tb}, {"DOTS", .number = along(t->k)},
        {"DIRECT", .number = direct_rows(t->k) > 0}, {"DIRECT_ROWS", .number = direct_rows(t->k)},
        {"A_PACKED", .number = p->prologue[LFUSE__PRODUCT_A] || a != p->sum},
        {"A_MADE", .number = p->prologue[LFUSE__PRODUCT_A]}, {"B_MADE", .number = p->prologue[LFUSE__PRODUCT_B]},
        {NULL},
    };

    lfuse__put_text(t->out, indent, lfuse__text_gemm_cpu_block, parameters, places, &context);
}
