/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a chain of products. Work-item `item` has vector q of the group's columns and every S-th row of B from s
 * on. Sums are acc[column * R + row]; what is handed on lies by columns, the R rows of a block behind each other, so
 * that a group's results are one stretch. Whatever is not made by the launch is loaded before anything is waited for:
 * the weights of a layer while the sums of the one before are folded, operands of its epilogue at its beginning.
 * (Sending for all weights ahead, from memory to the cache, cost 2.7 us of 16 where they were there already.)
 */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/kernels/network.h"

enum { VECTOR = LFUSE__NETWORK_VECTOR, TEAMS = LFUSE__GROUP / LFUSE__TEAM };

typedef lfuse__network_text text;

static void put_constants(const text *x)
{
    lfuse__strbuf *out = x->t.out;

    lfuse__put(out, 1, "const u32 item = ITEM(), lane = item %% %d, team = item / %d;", LFUSE__TEAM, LFUSE__TEAM);
    lfuse__put(out, 1, "const u32 q = item %% %d, s = item / %d;", x->vectors, x->vectors);
    lfuse__put(out, 1, "const u32 m = (u32)W(%d), across = (u32)W(%d), layers = (u32)W(%d);", LFUSE__NETWORK_ROWS,
               LFUSE__NETWORK_ACROSS, LFUSE__NETWORK_COUNT);
    lfuse__put(out, 1, "const u32 down = (u32)GROUP() / across, part = (u32)GROUP() %% across;");
    lfuse__put(out, 1, "const u32 first = part * %d + q * %d;", x->columns, VECTOR);
}

/* at, n and k of a layer; k is 0 in groups that have no column of it. */
static void put_layer(const text *x, int indent, const char *layer)
{
    lfuse__strbuf *out = x->t.out;

    lfuse__put(out, indent, "const u32 at = %d + (%s) * %d;", lfuse__network_head(x->t.k), layer,
               lfuse__network_record(x->t.k));
    lfuse__put(out, indent, "const u64 sizes = W(at + %d);", LFUSE__NETWORK_SIZES);
    lfuse__put(out, indent, "const u32 n = (u32)sizes, k = part * %d < n ? (u32)(sizes >> 32) : 0;", x->columns);
}

/* Each row of weights that this work-item multiplies, `l`, for which `what` is done; b_ and ld_ are in scope. */
static void put_weight_rows(const text *x, int indent, const char *what)
{
    lfuse__strbuf *out = x->t.out;
    char row[64];

    lfuse__network_row(x, row, sizeof row);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int i = 0; i < %d; i += %d) {", x->depth, x->along);
    lfuse__put(out, indent + 1, "const u32 l = %s;", row);
    lfuse__put(out, indent + 1, "if (l < k && first < n) {");
    lfuse__put(out, indent + 2, "%s", what);
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent, "}");
}

/* Columns of B that lie behind each other: `along` elements of each at a time, or element by element. */
static void put_weight_columns(const text *x, int indent, bool vector)
{
    const unsigned bytes = lfuse__type_bytes(x->t.k->operands[LFUSE__PRODUCT_B].type);
    lfuse__strbuf *out = x->t.out;
    char row[64];

    lfuse__network_row(x, row, sizeof row);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int i = 0; i < %d; i += %d) {", x->depth, x->along);
    lfuse__put(out, indent + 1, "const u32 l = %s;", row);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (u32 c = 0; c < %d; c++)", VECTOR);
    lfuse__put(out, indent + 2, "if (l < k && first + c < n) {");
    if (vector)
        lfuse__put(out, indent + 3, "u32 u_[4]; LOADB_%u(u_, b_ + ((first + c) * ld_ + l) * %u);",
                   (unsigned)x->along * bytes, bytes);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 3, "for (u32 e = 0; e < %d; e++)", x->along);
    if (vector) lfuse__put(out, indent + 4, "w[(i + e) * 4 + c] = UNPACK_%s(u_, e);", x->type);
    else lfuse__put(out, indent + 4, "if (l + e < k) w[(i + e) * 4 + c] = LOAD_%s(b_, (first + c) * ld_ + l + e);",
                    x->type);
    lfuse__put(out, indent + 2, "}");
    lfuse__put(out, indent, "}");
}

static void put_weights(const text *x, int indent, const char *layer)
{
    const unsigned bytes = lfuse__type_bytes(x->t.k->operands[LFUSE__PRODUCT_B].type);
    const bool columns = x->t.k->product.tb;
    lfuse__strbuf *out = x->t.out;
    char vector[240], element[120];

    snprintf(vector, sizeof vector, "u32 u_[4]; LOADB_%u(u_, b_ + (l * ld_ + first) * %u); "
             "w[i * 4] = UNPACK_%s(u_, 0); w[i * 4 + 1] = UNPACK_%s(u_, 1); w[i * 4 + 2] = UNPACK_%s(u_, 2); "
             "w[i * 4 + 3] = UNPACK_%s(u_, 3);", VECTOR * bytes, bytes, x->type, x->type, x->type, x->type);
    snprintf(element, sizeof element, "for (u32 e = 0; e < 4; e++) if (first + e < n) "
             "w[i * 4 + e] = LOAD_%s(b_, l * ld_ + first + e);", x->type);
    lfuse__put(out, indent, "{");
    put_layer(x, indent + 1, layer);
    lfuse__put(out, indent + 1, "const memory b_ = ADDRESS(W(at + %d));", LFUSE__NETWORK_B);
    lfuse__put(out, indent + 1, "const u64 ld_ = W(at + %d) >> %d;", LFUSE__NETWORK_LD, LFUSE__NETWORK_STEP);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (int i = 0; i < %d; i++) w[i] = ZERO_f32;", VECTOR * x->depth);
    lfuse__put(out, indent + 1, "if (W(at + %d) >> %d & 1) {", LFUSE__NETWORK_LD, LFUSE__NETWORK_VECTORS);
    if (columns) put_weight_columns(x, indent + 2, true);
    else put_weight_rows(x, indent + 2, vector);
    lfuse__put(out, indent + 1, "} else {");
    if (columns) put_weight_columns(x, indent + 2, false);
    else put_weight_rows(x, indent + 2, element);
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent, "}");
}

/* ---- what becomes of the sums ---- */

/* Within a team, by halves: each step hands one half of the sums over and keeps the other; base: where it begins. */
static void put_team_sums(const text *x)
{
    lfuse__strbuf *out = x->t.out;
    int count = VECTOR * x->rows, distance;

    lfuse__put(out, 2, "u32 base = 0;");
    for (distance = 16; distance >= x->vectors; distance /= 2) {
        if (count == 1) {
            lfuse__put(out, 2, "acc[0] = ADD_f32(acc[0], SHUFFLE_f32(acc[0], %d));", distance);
            continue;
        }
        count /= 2;
        lfuse__put(out, 2, "{");
        lfuse__put(out, 3, "const int up = (lane & %d) != 0;", distance);
        lfuse__put(out, 0, "#pragma unroll");
        lfuse__put(out, 3, "for (int i = 0; i < %d; i++) {", count);
        lfuse__put(out, 4, "const S_f32 given = up ? acc[i] : acc[i + %d], kept = up ? acc[i + %d] : acc[i];", count,
                   count);
        lfuse__put(out, 4, "acc[i] = ADD_f32(kept, SHUFFLE_f32(given, %d));", distance);
        lfuse__put(out, 3, "}");
        lfuse__put(out, 3, "if (up) base += %d;", count);
        lfuse__put(out, 2, "}");
    }
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 2, "for (int i = 0; i < %d; i++)", count);
    lfuse__put(out, 3, "sums[%steam * %d + q * %d + base + i] = acc[i];",
               x->rows == 1 ? "(layer & 1) * TEAM_SUMS_ + " : "", x->rows * x->columns, VECTOR * x->rows);
}

/* Row and column of result number `u` of this work-item, and whether there is one. */
static void put_result(const text *x, int indent)
{
    lfuse__strbuf *out = x->t.out;

    lfuse__put(out, indent, "const u32 o = item + u * %d;", LFUSE__GROUP);
    lfuse__put(out, indent, "const u32 row = down * %d + o %% %d, column = part * %d + o / %d;", x->rows, x->rows,
               x->columns, x->rows);
    lfuse__put(out, indent, "const int there = o < %d && column < n;", x->rows * x->columns);
}

/* Operands of the epilogue, of all results of this work-item. */
static void put_operands(const text *x)
{
    const lfuse__kernel_class *c = x->t.k;
    lfuse__strbuf *out = x->t.out;
    char load[160], place[96], given[48];
    int j;

    for (j = LFUSE__PRODUCT_OWN; j < c->noperands; j++)
        if (x->t.loaded[j])
            lfuse__put(out, 2, "S_%s s%d[%d];", lfuse__register_word(c->operands[j].type), j, x->results);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 2, "for (int u = 0; u < %d; u++) {", x->results);
    put_result(x, 3);
    for (j = LFUSE__PRODUCT_OWN; j < c->noperands; j++) {
        const int slot = lfuse__network_slot(c, j);
        if (!x->t.loaded[j]) continue;
        lfuse__put(out, 3, "const memory p%d = ADDRESS(W(at + %d));", j, slot);
        snprintf(place, sizeof place, "((i64)row * (i64)W(at + %d) + (i64)column * (i64)W(at + %d))", slot + 1,
                 slot + 2);
        lfuse__put_load(&x->t, j, place, load, sizeof load);
        lfuse__put(out, 3, "s%d[u] = ZERO_%s;", j, lfuse__register_word(c->operands[j].type));
        snprintf(given, sizeof given, " && W(at + %d)", slot);
        lfuse__put(out, 3, "if (there && row < m%s) s%d[u] = %s;", x->sparse[j] ? given : "", j, load);
    }
    lfuse__put(out, 2, "}");
}

static void put_hand_over(const text *x)
{
    lfuse__strbuf *out = x->t.out;

    if (x->t.k->product.counted) {
        lfuse__put(out, 4, "STORE_f32(to, part * %d + o, y%d);", x->rows * x->columns, x->stored);
        return;
    }
    lfuse__put(out, 4, "u32 bits[1];");
    lfuse__put(out, 4, "PACK_f32(bits, 0, y%d);", x->stored);
    lfuse__put(out, 4, "for (u32 copy = 0; copy < copies; copy++)");
    lfuse__put(out, 5, "POKE64(to + copy * W(%d), part * %d + o, (u64)(tag + 1) << 32 | bits[0]);",
               LFUSE__NETWORK_COPY, x->rows * x->columns);
}

/* The sum's result, y, by the layer's epilogue. */
static void put_kinds(const text *x)
{
    const lfuse__body *body = x->t.k->body;
    lfuse__strbuf *out = x->t.out;
    int i;

    if (body->nstores == 1) {
        lfuse__put_body(&x->t, 3, "");
        return;
    }
    lfuse__put(out, 3, "const u32 kind = (u32)W(at + %d) >> %d & %d;", LFUSE__NETWORK_LD, LFUSE__NETWORK_KIND,
               LFUSE__NETWORK_KINDS - 1);
    for (i = 0; i < body->nstores; i++) {
        if (i + 1 == body->nstores) lfuse__put(out, 3, "else {");
        else lfuse__put(out, 3, "%sif (kind == %d) {", i ? "else " : "", i);
        lfuse__put_slice(&x->t, 4, body->stores[i].reg, "");
        lfuse__put(out, 4, "y%d = r%d;", x->stored, body->stores[i].reg);
        lfuse__put(out, 3, "}");
    }
}

static void put_epilogue(const text *x)
{
    const lfuse__kernel_class *c = x->t.k;
    const char *type = lfuse__memory_word(c->operands[x->stored].type);
    lfuse__strbuf *out = x->t.out;
    int j;

    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 2, "for (int u = 0; u < %d; u++) {", x->results);
    put_result(x, 3);
    lfuse__put(out, 3, "if (!there) continue;");
    lfuse__put(out, 3, "S_f32 sum = sums[%so];", x->rows == 1 ? "(layer & 1) * TEAM_SUMS_ + " : "");
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 3, "for (int i = 1; i < %d; i++) sum = ADD_f32(sum, sums[%si * %d + o]);", TEAMS,
               x->rows == 1 ? "(layer & 1) * TEAM_SUMS_ + " : "", x->rows * x->columns);
    lfuse__put(out, 3, "const L_f32 x%d = sum;", LFUSE__PRODUCT_SUM);
    for (j = LFUSE__PRODUCT_OWN; j < c->noperands; j++)
        if (x->t.loaded[j])
            lfuse__put(out, 3, "const L_%s x%d = s%d[u];", lfuse__register_word(c->operands[j].type), j, j);
    lfuse__put(out, 3, "L_%s y%d;", lfuse__register_word(c->operands[x->stored].type), x->stored);
    put_kinds(x);
    lfuse__put(out, 3, "if (layer + 1 < layers) {");
    put_hand_over(x);
    lfuse__put(out, 3, "} else if (row < m) {");
    lfuse__put(out, 4, "const memory p%d = ADDRESS(W(%d));", x->stored, LFUSE__NETWORK_OUT);
    lfuse__put(out, 4, "STORE_%s(p%d, (i64)row * (i64)W(%d) + (i64)column * (i64)W(%d), y%d);", type, x->stored,
               LFUSE__NETWORK_OUT + 1, LFUSE__NETWORK_OUT + 2, x->stored);
    lfuse__put(out, 3, "}");
    lfuse__put(out, 2, "}");
}

/* ---- the kernel ---- */

static void put_layers(const text *x)
{
    lfuse__strbuf *out = x->t.out;

    lfuse__put(out, 1, "const memory space = BUFFER(0) + W(%d);", LFUSE__NETWORK_SPACE);
    lfuse__put(out, 1, "const memory a = ADDRESS(W(%d));", LFUSE__NETWORK_A);
    lfuse__put(out, 1, "const memory data = space + W(%d) + (u64)down * W(%d);", LFUSE__NETWORK_DATA,
               LFUSE__NETWORK_BLOCK);
    lfuse__put(out, 1, "const u32 copies = (u32)W(%d);", LFUSE__NETWORK_COPIES);
    lfuse__put(out, 1, "const u64 own_copy = part %% copies * W(%d);", LFUSE__NETWORK_COPY);
    lfuse__put(out, 1, "const memory stored = space + (u64)down * %d + %d;", LFUSE__NETWORK_APART,
               LFUSE__NETWORK_SECOND);
    lfuse__put(out, 1, "const u64 half = W(%d);", LFUSE__NETWORK_HALF);
    lfuse__put(out, 1, "S_f32 w[%d];", VECTOR * x->depth);
    /* Launches are told apart by how often the groups of a block of rows have come here before, all of them each. */
    lfuse__put(out, 1, "if (item == 0) turn[0] = NEXT64(space + (u64)down * %d) / across;",
               LFUSE__NETWORK_APART);
    put_weights(x, 1, "0");
    lfuse__put(out, 1, "SYNC();");
    lfuse__put(out, 0, "#pragma unroll 1");
    lfuse__put(out, 1, "for (u32 layer = 0; layer < layers; layer++) {");
    put_layer(x, 2, "layer");
    if (!x->t.k->product.counted)
        lfuse__put(out, 2, "const u32 tag = (u32)turn[0] * %d + layer;", 2 * LFUSE__NETWORK_LAYERS);
    lfuse__put(out, 2, "const memory from = data + (layer & 1 ? 0 : half) + own_copy;");
    lfuse__put(out, 2, "const memory to = data + (layer & 1 ? half : 0);");
    put_operands(x);
    lfuse__put(out, 2, "S_f32 acc[%d];", VECTOR * x->rows);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 2, "for (int i = 0; i < %d; i++) acc[i] = ZERO_f32;", VECTOR * x->rows);
    lfuse__network_put_products(x);
    lfuse__put(out, 2, "if (layer + 1 < layers)");
    put_weights(x, 2, "layer + 1");
    put_team_sums(x);
    lfuse__put(out, 2, "SYNC();");
    put_epilogue(x);
    if (x->t.k->product.counted) {
        lfuse__put(out, 2, "SYNC();");
        lfuse__put(out, 2, "if (item == 0 && layer + 1 < layers) RELEASE64(stored);");
    }
    lfuse__put(out, 1, "}");
}

static void put_kernel(const text *x, const char *name)
{
    const int most = lfuse__network_head(x->t.k) + LFUSE__NETWORK_LAYERS * lfuse__network_record(x->t.k);
    const int words = most < LFUSE__MAX_WORDS ? most : LFUSE__MAX_WORDS;
    lfuse__strbuf *out = x->t.out;

    lfuse__put(out, 0, "RESIDENT(%s, %d, %d, PARAMS_1)", name, LFUSE__GROUP, words);
    lfuse__put(out, 0, "{");
    if (x->rows == 1) lfuse__put(out, 1, "enum { TEAM_SUMS_ = %d };", TEAMS * x->columns);
    lfuse__put(out, 1, "LOCAL(S_f32, sums, %d)", TEAMS * x->rows * x->columns * (x->rows == 1 ? 2 : 1));
    lfuse__put(out, 1, "LOCAL(u64, turn, 1)");
    if (x->rows > 1) lfuse__put(out, 1, "TILE_f32(tile, %d)", x->pitch * x->depth * x->rows);
    put_constants(x);
    lfuse__put(out, 1, LFUSE__BEGIN);
    put_layers(x);
    lfuse__put(out, 0, "}");
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
        c->body->nstores > LFUSE__NETWORK_KINDS || stored != 1 || c->operands[LFUSE__PRODUCT_A].type != type ||
        c->operands[LFUSE__PRODUCT_SUM].type != LFUSE_F32 ||
        (type != LFUSE_F32 && type != LFUSE_F16 && type != LFUSE_BF16))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a chain of products of %d operands, %d numbers, %d epilogues",
                            c->noperands, c->body->nnumbers, c->body->nstores);
    if (c->operands[c->body->stores[0].operand].type != type)
        return lfuse__error(LFUSE_ERR_TYPE, "a chain of products that hands on %s",
                            lfuse__memory_word(c->operands[c->body->stores[0].operand].type));
    if (p->form != LFUSE__PRODUCT_NETWORK || p->rows < 1 || (p->rows > 1 && p->rows % VECTOR) || p->depth < 1 ||
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
        needed[body->stores[i].reg] = true;
        lfuse__body_needs(body, NULL, needed);
        for (j = 0; j < body->ninstr; j++)
            if (needed[j] && body->instr[j].kind == LFUSE__I_LOAD) loads[body->instr[j].a] = true;
        for (j = LFUSE__PRODUCT_OWN; j < x->t.k->noperands; j++)
            if (!loads[j]) x->sparse[j] = true;
    }
}

lfuse_status lfuse__network_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c,
                                 const lfuse__facts *facts)
{
    const lfuse__product_class *p = &c->product;
    text x;

    if (!facts->resident_groups || !facts->addresses || facts->vector_lanes)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s has no launch whose groups all run at the same time",
                            facts->info.name);
    LFUSE__TRY(check(name, c, facts));
    memset(&x, 0, sizeof x);
    lfuse__text_init(&x.t, out, c, NULL);
    x.t.numbers = LFUSE__NETWORK_HEAD;
    x.rows = p->rows;
    x.columns = p->columns;
    x.depth = p->depth;
    x.vectors = p->columns / VECTOR;
    x.sharers = LFUSE__GROUP / x.vectors;
    x.along = lfuse__network_along(p);
    x.pitch = lfuse__network_pitch(p);
    x.stored = c->body->stores[0].operand;
    x.type = lfuse__memory_word(c->operands[LFUSE__PRODUCT_B].type);
    x.results = (p->rows * p->columns + LFUSE__GROUP - 1) / LFUSE__GROUP;
    find_sparse(&x);
    lfuse__put_powers(out, c->body);
    put_kernel(&x, name);
    return lfuse__strbuf_check(out);
}
