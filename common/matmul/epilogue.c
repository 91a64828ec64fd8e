/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of the sums of a tile: the epilogue's body over vectors of them, straight from the registers; where the
 * body is long, by way of local memory, so that there are few copies of it. Of a few vectors at a time all loads come
 * before all stores, which a compiler cannot exchange.
 */
#include <stdio.h>

#include "common/matmul/tile.h"

static bool in_vectors(const lfuse__tiles *t, int j)
{
    return lfuse__in_blocks(&t->t.k->operands[j]);
}

/*
 * Returns whether operand j has one number for all columns. It is loaded once for each vector: once for each element,
 * the numbers of an AdamW step occupy so many registers that the loads in front of them are waited for, to be spilled.
 */
static bool repeats(const lfuse__tiles *t, int j)
{
    const lfuse__kernel_operand *o = &t->t.k->operands[j];

    return o->inner == LFUSE__STRIDE_REPEAT && !o->index && !o->gathered;
}

/* Returns whether operand j has been loaded for all rows of the tile: lfuse__tiles_put_ahead. */
static bool is_ahead(const lfuse__tiles *t, int j)
{
    return t->ahead && t->t.loaded[j] && t->t.k->operands[j].fixed && in_vectors(t, j);
}

/*
 * Declares q<j>, the vector that has been loaded ahead for the columns of a pass. The code of passes is one loop, and
 * registers have no index: so it is selected.
 */
static void put_ahead_of_pass(const lfuse__tiles *t, int indent, int j)
{
    const int words = lfuse__block_words(&t->t, j);
    lfuse__put(t->t.out, indent, "u32 q%d[%d];", j, words);
    lfuse__put(t->t.out, 0, "#pragma unroll");
    lfuse__put(t->t.out, indent, "for (int i = 0; i < %d; i++) {", words);
    lfuse__put(t->t.out, indent + 1, "q%d[i] = k%d_[i];", j, j);
    for (int side = 1; side < t->ahead; side++)
        lfuse__put(t->t.out, indent + 1, "if (pass %% %d == %d) q%d[i] = k%d_[%d + i];", t->ahead, side, j, j,
                   side * words);
    lfuse__put(t->t.out, indent, "}");
}

static void put_arrays(const lfuse__tiles *t, int indent, int vectors)
{
    for (int j = LFUSE__PRODUCT_OWN; j < t->t.k->noperands; j++) {
        const char *reg = lfuse__register_word(t->t.k->operands[j].type);
        if (is_ahead(t, j)) put_ahead_of_pass(t, indent, j);
        else if (t->t.loaded[j] && in_vectors(t, j))
            lfuse__put(t->t.out, indent, "u32 q%d[%d];", j, vectors * lfuse__block_words(&t->t, j));
        else if (t->t.loaded[j])
            lfuse__put(t->t.out, indent, "S_%s s%d[%d];", reg, j, repeats(t, j) ? vectors : vectors * t->vector);
        if (t->t.stored[j]) lfuse__put(t->t.out, indent, "S_%s z%d[%d];", reg, j, vectors * t->vector);
    }
}

/* Loads the one number that operand j has for the vector at row and column. */
static void put_load_repeated(const lfuse__tiles *t, int indent, int j)
{
    lfuse__strbuf *out = t->t.out;
    char at[128], load[192];
    lfuse__put_product_place(t->t.k, &t->l, j, "row", "column", at, sizeof at);
    lfuse__put_load(&t->t, j, at, load, sizeof load);
    lfuse__put(out, indent, "s%d[w] = ZERO_%s;", j, lfuse__register_word(t->t.k->operands[j].type));
    lfuse__put(out, indent, "%ss%d[w] = %s;", t->whole ? "" : "if (row < m && column < n) ", j, load);
}

/*
 * Returns whether the places of a pass's vectors of operand j are told in steps: a compiler multiplies by the stride of
 * rows once then, not for each. All of the vectors have to lie in D.
 */
static bool in_steps(const lfuse__tiles *t, int j)
{
    return t->whole && t->row_step && in_vectors(t, j) && !t->t.k->operands[j].fixed;
}

/* Declares where those of operand j begin, which are loaded or stored, and how far they are apart. */
static void put_first_place(const lfuse__tiles *t, int indent, int j, const char *name,
                            void (*place)(const lfuse__tiles *t, int indent))
{
    char at[128];
    lfuse__put_product_place(t->t.k, &t->l, j, "row", "column", at, sizeof at);
    lfuse__put(t->t.out, indent, "i64 %s%d_;", name, j);
    lfuse__put(t->t.out, indent, "const i64 %s%d_step_ = (i64)%s(%d) * %d;", name, j, t->l.word, t->l.rows[j],
               t->row_step);
    lfuse__put(t->t.out, indent, "{");
    lfuse__put(t->t.out, indent + 1, "const int w = 0;");
    place(t, indent + 1);
    lfuse__put(t->t.out, indent + 1, "%s%d_ = %s;", name, j, at);
    lfuse__put(t->t.out, indent, "}");
}

/* Writes to at[size] the place of vector w of operand j. */
static void put_vector_place(const lfuse__tiles *t, int j, const char *name, char *at, size_t size)
{
    if (in_steps(t, j)) snprintf(at, size, "(%s%d_ + w * %s%d_step_)", name, j, name, j);
    else if (t->row_step && t->t.k->operands[j].fixed) snprintf(at, size, "((i64)(column))");
    else lfuse__put_product_place(t->t.k, &t->l, j, "row", "column", at, size);
}

/* Loads a vector of operand j, which can lie in vectors: vector w of its array. */
static void put_load_vector(const lfuse__tiles *t, int indent, int j)
{
    const int words = lfuse__block_words(&t->t, j);
    char at[128], to[32];
    put_vector_place(t, j, "from", at, sizeof at);
    snprintf(to, sizeof to, "q%d + w * %d", j, words);
    lfuse__put_product_vector(t->t.out, indent, t->t.k, j, t->vector, true, at, to);
}

/* Loads operand j at row and column: vector w of its array. */
static void put_load(const lfuse__tiles *t, int indent, int j)
{
    const lfuse__kernel_operand *o = &t->t.k->operands[j];
    const bool vectors = in_vectors(t, j);
    lfuse__strbuf *out = t->t.out;
    const int words = lfuse__block_words(&t->t, j);
    char at[128], load[192];
    if (is_ahead(t, j)) return;
    if (repeats(t, j)) {
        put_load_repeated(t, indent, j);
        return;
    }
    if (vectors && t->whole) {
        put_load_vector(t, indent, j);
        return;
    }
    if (vectors) {
        for (int w = 0; w < words; w++) lfuse__put(out, indent, "q%d[w * %d + %d] = 0;", j, words, w);
        lfuse__put(out, indent, "if (vectors) {");
        lfuse__put(out, indent + 1, "if (row < m && column < n) {");
        put_load_vector(t, indent + 2, j);
        lfuse__put(out, indent + 1, "}");
        lfuse__put(out, indent, "} else {");
    } else {
        lfuse__put(out, indent, "{");
    }
    lfuse__put_product_place(t->t.k, &t->l, j, "row", "(column + e)", at, sizeof at);
    lfuse__put_load(&t->t, j, at, load, sizeof load);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (int e = 0; e < %d; e++) {", t->vector);
    if (!vectors)
        lfuse__put(out, indent + 2, "s%d[w * %d + e] = ZERO_%s;", j, t->vector, lfuse__register_word(o->type));
    lfuse__put(out, indent + 2, "if (row < m && column + e < n)");
    if (vectors)
        lfuse__put(out, indent + 3, "PACK_%s(q%d + w * %d, e, %s);", lfuse__memory_word(o->type), j, words, load);
    else
        lfuse__put(out, indent + 3, "s%d[w * %d + e] = %s;", j, t->vector, load);
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent, "}");
}

/* Stores vector w of operand j, which can lie in vectors. */
static void put_store_vector(const lfuse__tiles *t, int indent, int j)
{
    const int words = lfuse__block_words(&t->t, j), inner = indent + !t->whole;
    lfuse__strbuf *out = t->t.out;
    char at[128];
    lfuse__put(out, indent, "u32 u_[%d];", words);
    for (int w = 0; w < words; w++) lfuse__put(out, indent, "u_[%d] = 0;", w);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int e = 0; e < %d; e++) PACK_%s(u_, e, z%d[w * %d + e]);", t->vector,
               lfuse__memory_word(t->t.k->operands[j].type), j, t->vector);
    if (!t->whole) lfuse__put(out, indent, "if (row < m && column < n) {");
    put_vector_place(t, j, "to", at, sizeof at);
    lfuse__put_product_vector(out, inner, t->t.k, j, t->vector, false, at, "u_");
    if (!t->whole) lfuse__put(out, indent, "}");
}

/* Returns whether a compute unit has one group at a time, so that nobody multiplies while its epilogue waits. */
static bool is_alone(const lfuse__tiles *t)
{
    return t->p->solver->tile->tensor_cores && t->p->occupancy == 1;
}

/*
 * Returns whether the body is written once for each vector. On a unit that a group has to itself, instructions that are
 * not in its cache are waited for.
 */
static bool is_short(const lfuse__tiles *t)
{
    const int most_alone = 12;
    return t->t.k->body->ninstr <= LFUSE__TILES_SHORT && (!is_alone(t) || lfuse__product_work(t->t.k) <= most_alone);
}

/* Returns the elements from row to row of a tile in local memory: neighbouring rows begin in different banks. */
static int local_row(const lfuse__tiles *t)
{
    return t->p->columns + 16;
}

/*
 * Returns whether operand j, which is stored, goes by way of local memory where it does not lie in vectors. An item's
 * elements are a few in each of several rows, so that a warp that stores them one by one writes to every sector of
 * memory four times, and each time to a part of it. From local memory, which has room for one operand, it stores
 * neighbours: an H100 took 287 us for a list of odd products with the launch in front of them, and 347 element by
 * element.
 */
static bool goes_by_rows(const lfuse__tiles *t, int j)
{
    const lfuse__tile_traits *tile = t->p->solver->tile;

    if (!t->t.list.k || !tile->tensor_cores || lfuse__register_type(t->t.k->operands[j].type) != t->p->sum)
        return false;
    return t->t.k->body->nstores == 1 && t->t.stored[j] && in_vectors(t, j) && is_short(t) &&
           tile->local(t->p) >= t->p->rows * local_row(t);
}

/* Puts vector w of operand j where its row is in local memory. */
static void put_in_row(const lfuse__tiles *t, int indent, int j)
{
    lfuse__put(t->t.out, indent, "S_%s row_[%d];", t->sum, t->vector);
    for (int e = 0; e < t->vector; e++)
        lfuse__put(t->t.out, indent, "row_[%d] = z%d[w * %d + %d];", e, j, t->vector, e);
    lfuse__put(t->t.out, indent, "PUTV_%s(tile, (row - a0) * %d + (column - b0), row_);", t->sum, local_row(t));
}

/* Stores the rows of operand j that are in local memory. */
static void put_rows(const lfuse__tiles *t, int indent, int j)
{
    lfuse__strbuf *out = t->t.out;
    char at[128];
    lfuse__put_product_place(t->t.k, &t->l, j, "row", "column", at, sizeof at);
    lfuse__put(out, indent, "if (!vectors) {");
    lfuse__put(out, indent + 1, "SYNC();");
    lfuse__put(out, 0, "#pragma unroll 8");
    lfuse__put(out, indent + 1, "for (u32 i = item; i < %d; i += %d) {", t->p->rows * t->p->columns, t->threads);
    lfuse__put(out, indent + 2, "const u32 y_ = i / %d, x_ = i %% %d, row = a0 + y_, column = b0 + x_;", t->p->columns,
               t->p->columns);
    lfuse__put(out, indent + 2, "if (row < m && column < n) STORE_%s(p%d, %s, *FROM_%s(tile, y_ * %d + x_));",
               lfuse__memory_word(t->t.k->operands[j].type), j, at, t->sum, local_row(t));
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent, "}");
}

static void put_store(const lfuse__tiles *t, int indent, int j)
{
    const lfuse__kernel_operand *o = &t->t.k->operands[j];
    lfuse__strbuf *out = t->t.out;
    char at[128];
    if (in_vectors(t, j)) {
        lfuse__put(out, indent, t->whole ? "{" : "if (vectors) {");
        put_store_vector(t, indent + 1, j);
        lfuse__put(out, indent, t->whole ? "}" : "} else {");
        if (t->whole) return;
    } else {
        lfuse__put(out, indent, "{");
    }
    if (goes_by_rows(t, j)) {
        put_in_row(t, indent + 1, j);
        lfuse__put(out, indent, "}");
        return;
    }
    lfuse__put_product_place(t->t.k, &t->l, j, "row", "(column + e)", at, sizeof at);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (int e = 0; e < %d; e++)", t->vector);
    lfuse__put(out, indent + 2, "if (row < m && column + e < n) STORE_%s(p%d, %s, z%d[w * %d + e]);",
               lfuse__memory_word(o->type), j, at, j, t->vector);
    lfuse__put(out, indent, "}");
}

static void put_body(const lfuse__tiles *t, int indent, const char *where)
{
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int e = 0; e < %d; e++) {", t->vector);
    if (t->t.loaded[LFUSE__PRODUCT_SUM])
        lfuse__put(out, indent + 1, "const L_%s x%d = v_[e];", t->sum, LFUSE__PRODUCT_SUM);
    for (int j = LFUSE__PRODUCT_OWN; j < t->t.k->noperands; j++) {
        const char *reg = lfuse__register_word(t->t.k->operands[j].type);
        if (is_ahead(t, j))
            lfuse__put(out, indent + 1, "const L_%s x%d = UNPACK_%s(q%d, e);", reg, j,
                       lfuse__memory_word(t->t.k->operands[j].type), j);
        else if (t->t.loaded[j] && in_vectors(t, j))
            lfuse__put(out, indent + 1, "const L_%s x%d = UNPACK_%s(q%d + w * %d, e);", reg, j,
                       lfuse__memory_word(t->t.k->operands[j].type), j, lfuse__block_words(&t->t, j));
        else if (t->t.loaded[j] && repeats(t, j)) lfuse__put(out, indent + 1, "const L_%s x%d = s%d[w];", reg, j, j);
        else if (t->t.loaded[j])
            lfuse__put(out, indent + 1, "const L_%s x%d = s%d[w * %d + e];", reg, j, j, t->vector);
        if (t->t.stored[j]) lfuse__put(out, indent + 1, "L_%s y%d;", reg, j);
    }
    lfuse__put_body(&t->t, indent + 1, "");
    if (t->p->column_sums) lfuse__tiles_put_addend(t, indent + 1, where);
    for (int j = LFUSE__PRODUCT_OWN; j < t->t.k->noperands; j++)
        if (t->t.stored[j]) lfuse__put(out, indent + 1, "z%d[w * %d + e] = y%d;", j, t->vector, j);
    lfuse__put(out, indent, "}");
}

static void sums_in_local(const lfuse__tiles *t, int indent)
{
    lfuse__put(t->t.out, indent, "S_%s v_[%d], s_[%d];", t->sum, t->vector, t->vector);
    lfuse__put(t->t.out, indent, "GETV_%s(s_, tile, ((done + w) * %d + place) * %d);", t->sum, t->places, t->vector);
    for (int e = 0; e < t->vector; e++)
        lfuse__put(t->t.out, indent, "v_[%d] = s_[%d];", e, lfuse__spilled_offset(e));
    if (t->p->column_sums) lfuse__put(t->t.out, indent, "S_%s sum_[%d];", t->sum, t->vector);
}

/* What is added up in its column, where the sum was that it is made of. */
static void put_in_place(const lfuse__tiles *t, int indent)
{
    lfuse__put(t->t.out, indent, "PUTV_%s(tile, ((done + w) * %d + place) * %d, sum_);", t->sum, t->places, t->vector);
}

void lfuse__tiles_put_ahead(const lfuse__tiles *t, int indent)
{
    char to[32];
    for (int j = LFUSE__PRODUCT_OWN; j < t->t.k->noperands; j++) {
        if (!is_ahead(t, j)) continue;
        const int words = lfuse__block_words(&t->t, j);
        lfuse__put(t->t.out, indent, "u32 k%d_[%d] = {0};", j, t->ahead * words);
        lfuse__put(t->t.out, indent, "if ((W(%d) >> 2 & 1) && b0 + %d <= n) {", t->l.own + LFUSE__TILES_VECTORS,
                   t->p->columns);
        for (int side = 0; side < t->ahead; side++) {
            const lfuse__expr at = lfuse__expression("((i64)(b0 + %d + x))", side * t->p->columns / t->ahead);
            snprintf(to, sizeof to, "k%d_ + %d", j, side * words);
            lfuse__put_product_vector(t->t.out, indent + 1, t->t.k, j, t->vector, true, at.text, to);
        }
        lfuse__put(t->t.out, indent, "}");
    }
}

void lfuse__tiles_put_loads(const lfuse__tiles *t, int indent, int vectors,
                            void (*place)(const lfuse__tiles *t, int indent))
{
    lfuse__strbuf *out = t->t.out;
    put_arrays(t, indent, vectors);
    for (int j = LFUSE__PRODUCT_OWN; j < t->t.k->noperands; j++)
        if (t->t.loaded[j] && in_steps(t, j)) put_first_place(t, indent, j, "from", place);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int w = 0; w < %d; w++) {", vectors);
    place(t, indent + 1);
    for (int j = LFUSE__PRODUCT_OWN; j < t->t.k->noperands; j++)
        if (t->t.loaded[j]) put_load(t, indent + 1, j);
    lfuse__put(out, indent, "}");
}

void lfuse__tiles_put_bodies(const lfuse__tiles *t, int indent, int vectors,
                             void (*place)(const lfuse__tiles *t, int indent),
                             void (*sums)(const lfuse__tiles *t, int indent))
{
    const bool in_local = sums == sums_in_local;
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int w = 0; w < %d; w++) {", vectors);
    if (t->p->column_sums) place(t, indent + 1);
    sums(t, indent + 1);
    put_body(t, indent + 1, in_local ? NULL : "(pass + w)");
    if (in_local && t->p->column_sums) put_in_place(t, indent + 1);
    lfuse__put(out, indent, "}");
    for (int j = LFUSE__PRODUCT_OWN; j < t->t.k->noperands; j++)
        if (t->t.stored[j] && in_steps(t, j)) put_first_place(t, indent, j, "to", place);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int w = 0; w < %d; w++) {", vectors);
    place(t, indent + 1);
    for (int j = LFUSE__PRODUCT_OWN; j < t->t.k->noperands; j++)
        if (t->t.stored[j]) put_store(t, indent + 1, j);
    lfuse__put(out, indent, "}");
}

void lfuse__tiles_put_vectors(const lfuse__tiles *t, int indent, int vectors,
                              void (*place)(const lfuse__tiles *t, int indent),
                              void (*sums)(const lfuse__tiles *t, int indent))
{
    lfuse__tiles_put_loads(t, indent, vectors, place);
    lfuse__tiles_put_bodies(t, indent, vectors, place, sums);
}

/* ---- sums that are in the registers of their work-items ---- */

static void place_in_tile(const lfuse__tiles *t, int indent)
{
    t->p->solver->tile->put_place(t, indent, "pass + done + w");
}

static void sums_in_registers(const lfuse__tiles *t, int indent)
{
    lfuse__put(t->t.out, indent, "S_%s v_[%d];", t->sum, t->vector);
    lfuse__put(t->t.out, 0, "#pragma unroll");
    lfuse__put(t->t.out, indent, "for (int e = 0; e < %d; e++) v_[e] = acc[(pass + w) * %d + e];", t->vector,
               t->vector);
}

/* Declares down_: vector `w` of acc, an expression, as it is spilled. */
static void put_spilled(const lfuse__tiles *t, int indent, const char *w)
{
    lfuse__put(t->t.out, indent, "S_%s down_[%d];", t->sum, t->vector);
    for (int e = 0; e < t->vector; e++)
        lfuse__put(t->t.out, indent, "down_[%d] = acc[%s * %d + %d];", lfuse__spilled_offset(e), w, t->vector, e);
}

/* From where put_in_place put it. */
static void put_back(const lfuse__tiles *t, int indent, int pass)
{
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int w = 0; w < %d; w++) {", pass);
    lfuse__put(out, indent + 1, "S_%s s_[%d];", t->sum, t->vector);
    lfuse__put(out, indent + 1, "GETV_%s(s_, tile, (w * %d + place) * %d);", t->sum, t->places, t->vector);
    for (int e = 0; e < t->vector; e++)
        lfuse__put(out, indent + 1, "acc[(pass + w) * %d + %d] = s_[%d];", t->vector, e, lfuse__spilled_offset(e));
    lfuse__put(out, indent, "}");
}

/* Vectors of each work-item that local memory has room for: a part of all of them. */
static int staged(const lfuse__tiles *t, int all)
{
    const int room = t->p->solver->tile->local(t->p) / t->vector / t->places;
    while (all > room) all /= 2;
    return all;
}

/*
 * A group that sums columns, or is alone, has more to do at its end, when a unit has little else: of its largest tiles
 * twice as many loads are on their way together. 4096 cubed with sums took 2 % longer on an H200 with fewer, and 1 %
 * with all at once.
 */
static int at_a_time(const lfuse__tiles *t, int all)
{
    const bool more = t->p->column_sums || is_alone(t);
    const int most = more && all / 4 > LFUSE__TILES_AT_A_TIME ? all / 4 : LFUSE__TILES_AT_A_TIME;
    return all < most ? all : most;
}

/* The epilogue of all vectors of accumulators, straight from the registers. */
static void put_short(const lfuse__tiles *t, int indent, int all)
{
    const int pass = at_a_time(t, all);
    lfuse__put(t->t.out, 0, "#pragma unroll");
    lfuse__put(t->t.out, indent, "for (int pass = 0; pass < %d; pass += %d) {", all, pass);
    lfuse__put(t->t.out, indent + 1, "const int done = 0;");
    lfuse__tiles_put_vectors(t, indent + 1, pass, place_in_tile, sums_in_registers);
    lfuse__put(t->t.out, indent, "}");
}

/* The same by way of local memory, so that a loop takes a few vectors at a time. */
static void put_long(const lfuse__tiles *t, int indent, int all)
{
    const int pass = staged(t, all);
    const int each = is_alone(t) && pass % LFUSE__TILES_AT_A_TIME == 0 ? LFUSE__TILES_AT_A_TIME : 1;
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int pass = 0; pass < %d; pass += %d) {", all, pass);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (int w = 0; w < %d; w++) {", pass);
    put_spilled(t, indent + 2, "(pass + w)");
    lfuse__put(out, indent + 2, "PUTV_%s(tile, (w * %d + place) * %d, down_);", t->sum, t->places, t->vector);
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, 0, "#pragma unroll 1");
    lfuse__put(out, indent + 1, "for (int done = 0; done < %d; done += %d) {", pass, each);
    lfuse__tiles_put_vectors(t, indent + 2, each, place_in_tile, sums_in_local);
    lfuse__put(out, indent + 1, "}");
    if (t->p->column_sums) put_back(t, indent + 1, pass);
    lfuse__put(out, indent, "}");
}

/*
 * Groups that are alone on a unit have a text for whole tiles, which has no tests and fewer instructions: nobody's
 * products hide them.
 */
void lfuse__tiles_put_epilogue(const lfuse__tiles *t, int indent)
{
    void (*put)(const lfuse__tiles *t, int indent, int all) = is_short(t) ? put_short : put_long;
    const int all = t->p->item_rows * t->p->item_columns / t->vector;
    lfuse__tiles whole = *t;
    if (!is_alone(t) || t->p->column_sums) {
        put(t, indent, all);
    } else {
        whole.whole = true;
        lfuse__put(t->t.out, indent, "if (vectors && a0 + %d <= m && b0 + %d <= n) {", t->p->rows, t->p->columns);
        put(&whole, indent + 1, all);
        lfuse__put(t->t.out, indent, "} else {");
        put(t, indent + 1, all);
        lfuse__put(t->t.out, indent, "}");
    }
    for (int j = LFUSE__PRODUCT_OWN; j < t->t.k->noperands; j++)
        if (t->t.stored[j] && goes_by_rows(t, j)) put_rows(t, indent, j);
}

/* ---- of a side of few: sums of parts of k, [part][row][vectors of a row] in the workspace ---- */

static void put_space(const lfuse__tiles *t)
{
    const char *first = t->l.batch >= 0 ? " + matrix * parts * m * wide * 16" : "";
    lfuse__put(t->t.out, 1, "const memory space = BUFFER(%d) + W(%d)%s;", lfuse__kernel_buffers(t->t.k) - 1,
               t->l.workspace, first);
}

static void place_of_item(const lfuse__tiles *t, int indent)
{
    lfuse__put(t->t.out, indent, "const u32 row = (u32)(number / wide), column = (u32)(number %% wide) * %d;",
               t->vector);
}

static void sums_of_parts(const lfuse__tiles *t, int indent)
{
    const char *type = lfuse__memory_word(t->p->sum);
    lfuse__put(t->t.out, indent, "S_%s v_[%d];", t->sum, t->vector);
    for (int e = 0; e < t->vector; e++) lfuse__put(t->t.out, indent, "v_[%d] = ZERO_%s;", e, t->sum);
    lfuse__put(t->t.out, 0, "#pragma unroll 4");
    lfuse__put(t->t.out, indent, "for (u32 part = 0; part < parts; part++) {");
    lfuse__put(t->t.out, indent + 1, "u32 u_[4];");
    lfuse__put(t->t.out, indent + 1, "LOADB_16(u_, space + ((u64)part * m * wide + number) * 16);");
    for (int e = 0; e < t->vector; e++)
        lfuse__put(t->t.out, indent + 1, "v_[%d] = ADD_%s(v_[%d], UNPACK_%s(u_, %d));", e, t->sum, e, type, e);
    lfuse__put(t->t.out, indent, "}");
}

void lfuse__tiles_put_fold(const lfuse__tiles *t)
{
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 1, "const int vectors = W(%d) >> 2 & 1;", t->l.own + LFUSE__TILES_VECTORS);
    lfuse__put(out, 1, "const u32 parts = (u32)W(%d);", t->l.own + LFUSE__TILES_PARTS);
    lfuse__put(out, 1, "const u64 wide = (n + %d) / %d, of_one = wide * m, at = GROUP() * %d + ITEM();", t->vector - 1,
               t->vector, LFUSE__GROUP);
    if (t->l.batch < 0) {
        lfuse__put(out, 1, "if (at >= of_one) return;");
        lfuse__put(out, 1, "const u64 number = at;");
    } else {
        lfuse__put(out, 1, "if (at >= of_one * W(%d)) return;", t->l.batch);
        lfuse__put(out, 1, "const u64 matrix = at / of_one, number = at %% of_one;");
    }
    lfuse__put_product_memory(out, 1, t->t.k, &t->l);
    put_space(t);
    lfuse__tiles_put_vectors(t, 1, 1, place_of_item, sums_of_parts);
}
