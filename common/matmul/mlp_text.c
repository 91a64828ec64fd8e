/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a chain of products: text/mlp.k, and what depends on its layers' epilogues. */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/matmul/mlp.h"
#include "common/kernels/template.h"

#include "common/kernels/text/mlp.k.h"
#include "common/kernels/text/mlp_weights.k.h"

enum { VECTOR = LFUSE__NETWORK_VECTOR, WARPS = LFUSE__GROUP / LFUSE__TEAM };

typedef struct text {
    lfuse__text t;
    const lfuse__product_class *p;
    const char *name;
    int results, stored;              /* results of a work-item; the operand that has them */
    bool sparse[LFUSE__MAX_OPERANDS]; /* not all epilogues load it */
} text;

enum { FIRST, NEXT }; /* layers whose weights are loaded */

static void put_weights(const void *context, int which, int indent)
{
    const text *x = context;
    const lfuse__kernel_class *c = x->t.k;
    const lfuse_type type = c->operands[LFUSE__PRODUCT_B].type;
    const int size = (int)lfuse__type_bytes(type), along = lfuse__network_along(x->p);
    const lfuse__parameter parameters[] = {
        {"NAME", .word = x->name}, {"LAYER", .word = which == FIRST ? "0" : "layer + 1"},
        {"HEAD", .number = lfuse__network_head(c)}, {"RECORD", .number = lfuse__network_record(c)},
        {"SIZES", .number = LFUSE__NETWORK_SIZES}, {"ADDRESS_OF_B", .number = LFUSE__NETWORK_B},
        {"LD", .number = LFUSE__NETWORK_LD}, {"LD_BITS", .number = LFUSE__NETWORK_STEP},
        {"TYPE", .word = lfuse__memory_word(type)}, {"SIZE", .number = size},
        {"WIDE", .number = (x->p->tb ? along : VECTOR) * size}, {"COLUMNS", .number = x->p->columns},
        {"DEPTH", .number = x->p->depth}, {"TRANSPOSED", .number = x->p->tb}, {"ALONG", .number = along}, {NULL},
    };

    lfuse__put_text(x->t.out, indent, lfuse__text_mlp_weights, parameters, NULL, NULL);
}

/* Operands of the epilogue, of all results of this work-item. */
static void put_operands(const void *context, int which, int indent)
{
    const text *x = context;
    const lfuse__kernel_class *c = x->t.k;
    lfuse__strbuf *out = x->t.out;
    char load[160], place[96], given[48];
    int j;

    (void)which;
    for (j = LFUSE__PRODUCT_OWN; j < c->noperands; j++)
        if (x->t.loaded[j])
            lfuse__put(out, indent, "S_%s s%d[%d];", lfuse__register_word(c->operands[j].type), j, x->results);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int u = 0; u < %d; u++) {", x->results);
    lfuse__put(out, indent + 1, "const u32 o = item + u * %d;", LFUSE__GROUP);
    lfuse__put(out, indent + 1, "const u32 row = down * %d + o %% %d, column = part * %d + o / %d;", x->p->rows,
               x->p->rows, x->p->columns, x->p->rows);
    lfuse__put(out, indent + 1, "const int there = o < %d && column < n;", x->p->rows * x->p->columns);
    for (j = LFUSE__PRODUCT_OWN; j < c->noperands; j++) {
        const int slot = lfuse__network_slot(c, j);
        if (!x->t.loaded[j]) continue;
        lfuse__put(out, indent + 1, "const memory p%d = ADDRESS(W(at + %d));", j, slot);
        snprintf(place, sizeof place, "((i64)row * (i64)W(at + %d) + (i64)column * (i64)W(at + %d))", slot + 1,
                 slot + 2);
        lfuse__put_load(&x->t, j, place, load, sizeof load);
        lfuse__put(out, indent + 1, "s%d[u] = ZERO_%s;", j, lfuse__register_word(c->operands[j].type));
        snprintf(given, sizeof given, " && W(at + %d)", slot);
        lfuse__put(out, indent + 1, "if (there && row < m%s) s%d[u] = %s;", x->sparse[j] ? given : "", j, load);
    }
    lfuse__put(out, indent, "}");
}

/* Unrolled here, as each step has half of the sums of the one before. */
static void put_warp_sums(const void *context, int which, int indent)
{
    const text *x = context;
    lfuse__strbuf *out = x->t.out;
    int count = VECTOR * x->p->rows, distance;

    (void)which;
    lfuse__put(out, indent, "u32 base = 0;");
    for (distance = 16; distance >= x->p->columns / VECTOR; distance /= 2) {
        if (count == 1) {
            lfuse__put(out, indent, "acc[0] = ADD_f32(acc[0], SHUFFLE_f32(acc[0], %d));", distance);
            continue;
        }
        count /= 2;
        lfuse__put(out, indent, "{");
        lfuse__put(out, indent + 1, "const int up = (lane & %d) != 0;", distance);
        lfuse__put(out, 0, "#pragma unroll");
        lfuse__put(out, indent + 1, "for (int i = 0; i < %d; i++) {", count);
        lfuse__put(out, indent + 2, "const S_f32 given = up ? acc[i] : acc[i + %d], kept = up ? acc[i + %d] : acc[i];",
                   count, count);
        lfuse__put(out, indent + 2, "acc[i] = ADD_f32(kept, SHUFFLE_f32(given, %d));", distance);
        lfuse__put(out, indent + 1, "}");
        lfuse__put(out, indent + 1, "if (up) base += %d;", count);
        lfuse__put(out, indent, "}");
    }
    lfuse__put(out, indent, "const int kept = %d;", count);
}

/* The sum's result by the layer's epilogue. */
static void put_epilogue(const void *context, int which, int indent)
{
    const text *x = context;
    const lfuse__kernel_class *c = x->t.k;
    const lfuse__body *body = c->body;
    lfuse__strbuf *out = x->t.out;
    int i, j;

    (void)which;
    lfuse__put(out, indent, "const L_%s x%d = sum;", lfuse__register_word(x->p->sum), LFUSE__PRODUCT_SUM);
    for (j = LFUSE__PRODUCT_OWN; j < c->noperands; j++)
        if (x->t.loaded[j])
            lfuse__put(out, indent, "const L_%s x%d = s%d[u];", lfuse__register_word(c->operands[j].type), j, j);
    lfuse__put(out, indent, "L_%s y%d;", lfuse__register_word(c->operands[x->stored].type), x->stored);
    if (body->nstores == 1) {
        lfuse__put_body(&x->t, indent, "");
        return;
    }
    lfuse__put(out, indent, "const u32 kind = (u32)W(at + %d) >> %d & %d;", LFUSE__NETWORK_LD, LFUSE__NETWORK_KIND,
               LFUSE__NETWORK_KINDS_MOST - 1);
    for (i = 0; i < body->nstores; i++) {
        if (i + 1 == body->nstores) lfuse__put(out, indent, "else {");
        else lfuse__put(out, indent, "%sif (kind == %d) {", i ? "else " : "", i);
        lfuse__put_slice(&x->t, indent + 1, body->stores[i].reg, "");
        lfuse__put(out, indent + 1, "y%d = r%d;", x->stored, body->stores[i].reg);
        lfuse__put(out, indent, "}");
    }
}

static void put_kernel(const text *x)
{
    static const lfuse__text_place places[] = {
        {"WEIGHTS_FIRST", put_weights, FIRST},
        {"WEIGHTS_NEXT", put_weights, NEXT},
        {"OPERANDS", put_operands, 0},
        {"WARP_SUMS", put_warp_sums, 0},
        {"EPILOGUE", put_epilogue, 0},
        {NULL, NULL, 0},
    };
    const lfuse__product_class *p = x->p;
    const int most = lfuse__network_head(x->t.k) + LFUSE__NETWORK_LAYERS_MOST * lfuse__network_record(x->t.k);
    const int vectors = p->columns / VECTOR, along = lfuse__network_along(p), units = p->rows / VECTOR;
    char y[16];
    const lfuse__parameter parameters[] = {
        {"NAME", .word = x->name}, {"WORDS", .number = most < LFUSE__MAX_WORDS ? most : LFUSE__MAX_WORDS},
        {"ITEMS", .number = LFUSE__GROUP}, {"WARPS", .number = WARPS}, {"ROWS", .number = p->rows},
        {"COLUMNS", .number = p->columns}, {"ONE_ROW", .number = p->rows == 1}, {"VECTORS", .number = vectors},
        {"SHARERS", .number = LFUSE__GROUP / vectors}, {"DEPTH", .number = p->depth}, {"ALONG", .number = along},
        {"ALONG_ROWS", .number = along > 1}, {"PITCH", .number = lfuse__network_pitch(p)},
        {"SWIZZLED", .number = units > 1}, {"UNITS", .number = units},
        {"SPAN", .number = units > 1 ? 8 / units : 1},
        {"TYPE", .word = lfuse__memory_word(x->t.k->operands[LFUSE__PRODUCT_B].type)},
        {"RESULTS", .number = x->results}, {"COUNTED", .number = p->counted},
        {"TAGS", .number = 2 * LFUSE__NETWORK_LAYERS_MOST}, {"Y", .word = y}, {"M", .number = LFUSE__NETWORK_ROWS},
        {"ACROSS", .number = LFUSE__NETWORK_ACROSS}, {"LAYERS", .number = LFUSE__NETWORK_COUNT},
        {"SPACE", .number = LFUSE__NETWORK_SPACE}, {"DATA", .number = LFUSE__NETWORK_DATA},
        {"BLOCK", .number = LFUSE__NETWORK_BLOCK}, {"HALF", .number = LFUSE__NETWORK_HALF},
        {"COPY", .number = LFUSE__NETWORK_COPY}, {"COPIES", .number = LFUSE__NETWORK_COPIES},
        {"A_PLACE", .number = LFUSE__NETWORK_A}, {"OUT_PLACE", .number = LFUSE__NETWORK_OUT},
        {"COUNTERS", .number = LFUSE__NETWORK_APART}, {"SECOND", .number = LFUSE__NETWORK_SECOND},
        {"HEAD", .number = lfuse__network_head(x->t.k)}, {"RECORD", .number = lfuse__network_record(x->t.k)},
        {"SIZES", .number = LFUSE__NETWORK_SIZES}, {NULL},
    };

    snprintf(y, sizeof y, "y%d", x->stored);
    lfuse__put_text(x->t.out, 0, lfuse__text_mlp, parameters, places, x);
}

static lfuse_status check(const char *name, const lfuse__kernel_class *c, const lfuse__facts *facts)
{
    const lfuse__product_class *p = &c->product;
    const lfuse_type type = c->operands[LFUSE__PRODUCT_B].type;
    int j, stored = 0;

    LFUSE__TRY(lfuse__class_check(name, c, facts));
    for (j = 0; j < c->noperands; j++) {
        stored += c->operands[j].written;
        if (c->operands[j].gathered || c->operands[j].index)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "operand %d of a chain of products is looked up in, or is an "
                                "index", j);
    }
    if (c->noperands < LFUSE__PRODUCT_OWN || lfuse__network_head(c) >= LFUSE__MAX_WORDS || c->body->nstores < 1 ||
        c->body->nstores > LFUSE__NETWORK_KINDS_MOST || stored != 1 || c->operands[LFUSE__PRODUCT_A].type != type ||
        c->operands[LFUSE__PRODUCT_SUM].type != LFUSE_F32 ||
        (type != LFUSE_F32 && type != LFUSE_F16 && type != LFUSE_BF16))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a chain of products of %d operands, %d numbers, %d epilogues",
                            c->noperands, c->body->nnumbers, c->body->nstores);
    if (c->operands[c->body->stores[0].operand].type != type)
        return lfuse__error(LFUSE_ERR_TYPE, "a chain of products that hands on %s",
                            lfuse__memory_word(c->operands[c->body->stores[0].operand].type));
    if (p->solver || p->rows < 1 || (p->rows > 1 && p->rows % VECTOR) || p->depth < 1 ||
        p->columns < VECTOR || p->columns > LFUSE__TEAM * VECTOR || LFUSE__GROUP % (p->columns / VECTOR))
        return lfuse__error(LFUSE_ERR_INVALID, "a chain of products by %d x %d, %d deep", p->rows, p->columns,
                            p->depth);
    return LFUSE_OK;
}

/* Operands that some epilogue does without. */
static void find_sparse(text *x)
{
    const lfuse__body *body = x->t.k->body;
    bool needed[LFUSE__MAX_INSTRUCTIONS], loads[LFUSE__MAX_OPERANDS];
    int i, j;

    for (i = 0; i < body->nstores; i++) {
        memset(needed, 0, sizeof needed);
        memset(loads, 0, sizeof loads);
        lfuse__body_loads(body, body->stores[i].reg, needed, loads);
        for (j = LFUSE__PRODUCT_OWN; j < x->t.k->noperands; j++)
            if (!loads[j]) x->sparse[j] = true;
    }
}

lfuse_status lfuse__network_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c,
                                 const lfuse__facts *facts)
{
    text x;

    if (!lfuse__network_runs_on(facts))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s has no launch whose groups all run at the same time",
                            facts->info.name);
    LFUSE__TRY(check(name, c, facts));
    memset(&x, 0, sizeof x);
    lfuse__text_init(&x.t, out, c, NULL);
    x.t.numbers = LFUSE__NETWORK_HEAD;
    x.p = &c->product;
    x.name = name;
    x.stored = c->body->stores[0].operand;
    x.results = (x.p->rows * x.p->columns + LFUSE__GROUP - 1) / LFUSE__GROUP;
    find_sparse(&x);
    lfuse__put_powers(out, c->body);
    put_kernel(&x);
    return lfuse__strbuf_check(out);
}
