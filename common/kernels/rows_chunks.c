/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of rows on teams: loaded, held, computed and stored by chunks. rows_team.c says what these are. */
#include "common/kernels/rows_team.h"

#include "common/kernels/text/rows_team_segment.k.h"

enum { VECTOR = LFUSE__ROW_VECTOR };

/* Registers for so many chunks of operand j. */
static void put_array(const lfuse__team *t, int indent, char letter, int j, int chunks)
{
    const lfuse__kernel_operand *o = &t->r->t.k->operands[j];
    if (lfuse__in_blocks(o))
        lfuse__put(t->r->t.out, indent, "u32 %c%d[%d];", letter, j, chunks * lfuse__block_words(&t->r->t, j));
    else
        lfuse__put(t->r->t.out, indent, "S_%s %c%d[%d];", lfuse__register_word(o->type), letter, j, chunks * VECTOR);
}

/* Chunk number `chunk` of the array takes the elements from e on. */
static void put_chunk(const lfuse__team *t, int indent, char letter, int j, const char *chunk)
{
    const lfuse__text *text = &t->r->t;
    const lfuse__kernel_operand *o = &text->k->operands[j];
    const unsigned size = lfuse__type_bytes(o->type), bytes = size * VECTOR;
    const int words = lfuse__block_words(text, j);
    const bool vectors = lfuse__in_blocks(o);
    const char *memory = lfuse__memory_word(o->type), *reg = lfuse__register_word(o->type);
    if (vectors && t->access != LFUSE__ACCESS_SINGLE) {
        lfuse__put(text->out, indent, t->access == LFUSE__ACCESS_ASK ? "if (vectors) {" : "{");
        if (text->k->operands[j].gathered)
            for (int w = 0; w < words; w++)
                lfuse__put(text->out, indent + 1, "%c%d[(%s) * %d + %d] = 0;", letter, j, chunk, words, w);
        if (text->k->operands[j].gathered) lfuse__put(text->out, indent + 1, "if (k%d) {", j);
        for (unsigned done = 0; done < bytes; done += 16)
            lfuse__put(text->out, indent + 1, "%sLOADB_%u(%c%d + (%s) * %d + %u, p%d + (i64)(b%d + (%s)e) * %u + %u);",
                       t->whole ? "" : "if (e < length) ", bytes < 16 ? bytes : 16, letter, j, chunk, words, done / 4,
                       j, j, text->ix, size, done);
        if (text->k->operands[j].gathered) lfuse__put(text->out, indent + 1, "}");
        lfuse__put(text->out, indent, t->access == LFUSE__ACCESS_ASK ? "} else {" : "}");
        if (t->access == LFUSE__ACCESS_VECTORS) return;
    } else {
        lfuse__put(text->out, indent, "{");
    }
    for (int w = 0; w < words && vectors; w++)
        lfuse__put(text->out, indent + 1, "%c%d[(%s) * %d + %d] = 0;", letter, j, chunk, words, w);
    lfuse__put(text->out, 0, "#pragma unroll");
    lfuse__put(text->out, indent + 1, "for (int v = 0; v < %d; v++) {", VECTOR);
    lfuse__put(text->out, indent + 2, "S_%s v_ = ZERO_%s;", reg, reg);
    if (!t->whole) lfuse__put(text->out, indent + 2, "if (e + v < length)");
    lfuse__rows_put_load(t->r, indent + 2, j, "v_", "e + v");
    if (vectors)
        lfuse__put(text->out, indent + 2, "PACK_%s(%c%d + (%s) * %d, v, v_);", memory, letter, j, chunk, words);
    else
        lfuse__put(text->out, indent + 2, "%c%d[(%s) * %d + v] = v_;", letter, j, chunk, VECTOR);
    lfuse__put(text->out, indent + 1, "}");
    lfuse__put(text->out, indent, "}");
}

/* Element index of this work-item in chunk u of segment `seg` (GROUP), or of the row. */
static void put_place(const lfuse__team *t, int indent)
{
    if (t->group || t->partial)
        lfuse__put(t->r->t.out, indent, "const %s e = seg * %d + u * %d + rank * %d;", t->r->t.ux, LFUSE__SEGMENT,
                   LFUSE__ROW_LANES, VECTOR);
    else
        lfuse__put(t->r->t.out, indent, "const %s e = u * %d + rank * %d;", t->r->t.ux, t->width * VECTOR, VECTOR);
}

void lfuse__team_put_loads(const lfuse__team *t, int indent, lfuse__hold which, char letter)
{
    bool any = false;
    for (int j = 0; j < t->r->t.k->noperands; j++) any = any || t->holds[j] == which;
    if (!any) return;
    lfuse__put(t->r->t.out, 0, "#pragma unroll");
    lfuse__put(t->r->t.out, indent, "for (u32 u = 0; u < %d; u++) {", t->chunks);
    put_place(t, indent + 1);
    for (int j = 0; j < t->r->t.k->noperands; j++)
        if (t->holds[j] == which) put_chunk(t, indent + 1, letter, j, "u");
    lfuse__put(t->r->t.out, indent, "}");
}

static void put_arrays_of(const lfuse__team *t, int indent, lfuse__hold which, char letter, int chunks)
{
    for (int j = 0; j < t->r->t.k->noperands; j++)
        if (t->holds[j] == which) put_array(t, indent, letter, j, chunks);
}

void lfuse__team_put_arrays(const lfuse__team *t, int indent, lfuse__hold which, char letter)
{
    put_arrays_of(t, indent, which, letter, t->chunks);
}

bool lfuse__team_holds(const lfuse__team *t, lfuse__hold which)
{
    for (int j = 0; j < t->r->t.k->noperands; j++)
        if (t->holds[j] == which) return true;
    return false;
}

void lfuse__team_put_now(const lfuse__team *t, int indent)
{
    const lfuse__text *text = &t->r->t;
    for (int j = 0; j < text->k->noperands; j++) {
        if (t->holds[j] != LFUSE__HOLD_NEXT) continue;
        const int count = t->chunks * (lfuse__in_blocks(&text->k->operands[j]) ? lfuse__block_words(text, j) : VECTOR);
        put_array(t, indent, 'h', j, t->chunks);
        lfuse__put(text->out, 0, "#pragma unroll");
        lfuse__put(text->out, indent, "for (int w = 0; w < %d; w++) h%d[w] = q%d[w];", count, j, j);
    }
}

static void put_store(const lfuse__team *t, int indent, int j)
{
    const lfuse__text *text = &t->r->t;
    const lfuse__kernel_operand *o = &text->k->operands[j];
    const unsigned size = lfuse__type_bytes(o->type), bytes = size * VECTOR;
    const int words = lfuse__block_words(text, j);
    if (o->inner == LFUSE__STRIDE_UNIT && t->access != LFUSE__ACCESS_SINGLE) {
        lfuse__put(text->out, indent, t->access == LFUSE__ACCESS_ASK ? "if (vectors) {" : "{");
        lfuse__put(text->out, indent + 1, "u32 w%d[%d];", j, words);
        for (int w = 0; w < words; w++) lfuse__put(text->out, indent + 1, "w%d[%d] = 0;", j, w);
        lfuse__put(text->out, 0, "#pragma unroll");
        lfuse__put(text->out, indent + 1, "for (int v = 0; v < %d; v++) PACK_%s(w%d, v, y%d[v]);", VECTOR,
                   lfuse__memory_word(o->type), j, j);
        for (unsigned done = 0; done < bytes; done += 16)
            lfuse__put(text->out, indent + 1, "%sSTOREB_%u(p%d + (i64)(b%d + (%s)e) * %u + %u, w%d + %u);",
                       t->whole ? "" : "if (e < length) ", bytes < 16 ? bytes : 16, j, j, text->ix, size, done, j,
                       done / 4);
        lfuse__put(text->out, indent, t->access == LFUSE__ACCESS_ASK ? "} else {" : "}");
        if (t->access == LFUSE__ACCESS_VECTORS) return;
    } else {
        lfuse__put(text->out, indent, "{");
    }
    lfuse__put(text->out, 0, "#pragma unroll");
    lfuse__put(text->out, indent + 1, "for (int v = 0; v < %d; v++) {", VECTOR);
    if (!t->whole) lfuse__put(text->out, indent + 2, "if (e + v < length)");
    lfuse__rows_put_store(t->r, indent + 2, j, "e + v", lfuse__expression("y%d[v]", j).text);
    lfuse__put(text->out, indent + 1, "}");
    lfuse__put(text->out, indent, "}");
}

static bool by_chunks(const lfuse__team *t, int j)
{
    return t->holds[j] == LFUSE__HOLD_LATE || t->holds[j] == LFUSE__HOLD_AHEAD;
}

/* x<j> of element v of chunk u, for the operands that the sweep takes. */
static void put_elements(const lfuse__team *t, int indent, const bool *needed, const bool *loads)
{
    const lfuse__text *text = &t->r->t;
    for (int j = 0; j < text->k->noperands; j++) {
        const lfuse__kernel_operand *o = &text->k->operands[j];
        const char *chunk = by_chunks(t, j) ? "0" : "u";
        if (!loads[j]) continue;
        if (lfuse__in_blocks(o))
            lfuse__put(text->out, indent, "const L_%s x%d = UNPACK_%s(h%d + %s * %d, v);",
                       lfuse__register_word(o->type), j, lfuse__memory_word(o->type), j, chunk,
                       lfuse__block_words(text, j));
        else
            lfuse__put(text->out, indent, "const L_%s x%d = h%d[%s * %d + v];", lfuse__register_word(o->type), j, j,
                       chunk, VECTOR);
    }
    lfuse__rows_put_elements(t->r, indent, needed, "e + v", t->whole ? NULL : "e + v < length");
}

static void put_chunk_ahead(const lfuse__team *t, int indent, int j, const char *chunk)
{
    lfuse__put(t->r->t.out, indent, "if (%s < %d) {", chunk, t->chunks);
    lfuse__put(t->r->t.out, indent + 1, "const %s e = seg * %d + (%s) * %d + rank * %d;", t->r->t.ux, LFUSE__SEGMENT,
               chunk, LFUSE__ROW_LANES, VECTOR);
    put_chunk(t, indent + 1, 'q', j, "0");
    lfuse__put(t->r->t.out, indent, "}");
}

void lfuse__team_put_ahead(const lfuse__team *t, int indent)
{
    put_arrays_of(t, indent, LFUSE__HOLD_AHEAD, 'q', 1);
    for (int j = 0; j < t->r->t.k->noperands; j++)
        if (t->holds[j] == LFUSE__HOLD_AHEAD) put_chunk_ahead(t, indent, j, "0");
}

/* What was loaded of the chunk, or is. */
static void put_one_chunk(const lfuse__team *t, int indent, int j)
{
    put_array(t, indent, 'h', j, 1);
    if (t->holds[j] == LFUSE__HOLD_LATE) {
        put_chunk(t, indent, 'h', j, "0");
        return;
    }
    for (int w = 0; w < lfuse__block_words(&t->r->t, j); w++)
        lfuse__put(t->r->t.out, indent, "h%d[%d] = q%d[%d];", j, w, j, w);
}

/* ---- places of a segment ---- */

enum { NOW, NEXT };

/* What the sweep loads chunk by chunk: this one, or of what is loaded ahead the next one. */
static void put_chunk_loads(const void *context, int which, int indent)
{
    const lfuse__rows_file *f = context;
    const lfuse__team *t = f->form;
    bool needed[LFUSE__ROW_INSTR], loads[LFUSE__MAX_OPERANDS];
    lfuse__rows_needs(f->r, f->sweep, needed, loads);
    for (int j = 0; j < f->r->t.k->noperands; j++) {
        if (!loads[j] || !by_chunks(t, j)) continue;
        if (which == NOW) put_one_chunk(t, indent, j);
        else if (t->holds[j] == LFUSE__HOLD_AHEAD) put_chunk_ahead(t, indent, j, "u + 1");
    }
}

static void put_stored(const void *context, int which, int indent)
{
    const lfuse__rows_file *f = context;
    const lfuse__text *text = &f->r->t;
    for (int j = 0; j < text->k->noperands && lfuse__rows_stores(f->r, f->sweep); j++) {
        if (!text->stored[j] || f->r->row[j]) continue;
        if (which) put_store(f->form, indent, j);
        else lfuse__put(text->out, indent, "S_%s y%d[%d];", lfuse__register_word(text->k->operands[j].type), j, VECTOR);
    }
}

static void put_lane_elements(const void *context, int which, int indent)
{
    const lfuse__rows_file *f = context;
    const lfuse__rows *r = f->r;
    const lfuse__team *t = f->form;
    const lfuse__body *body = r->t.k->body;
    const lfuse__lane lane = {"ln", t->parts > 1 ? "[c * 4 + v]" : "[v]"};
    bool needed[LFUSE__ROW_INSTR], loads[LFUSE__MAX_OPERANDS];
    (void)which;
    lfuse__rows_needs(r, f->sweep, needed, loads);
    put_elements(t, indent, needed, loads);
    for (int i = 0; i < body->ninstr; i++) {
        if (lfuse__rows_reduces(r, i, f->sweep))
            lfuse__rows_put_gather(r, indent, i, lane, t->whole ? NULL : "(e + v < length)",
                                   lfuse__expression("(%s)(e + v)", r->t.ix).text);
    }
    for (int i = 0; i < body->nstores && lfuse__rows_stores(r, f->sweep); i++)
        if (!r->row[body->stores[i].operand])
            lfuse__put(r->t.out, indent, "y%d[v] = r%d;", body->stores[i].operand, body->stores[i].reg);
}

void lfuse__team_put_segment(const lfuse__team *t, int indent, int sweep)
{
    static const lfuse__text_place places[] = {
        {"LOAD_CHUNK", put_chunk_loads, NOW},       {"DECLARE_STORED", put_stored, false},
        {"LOAD_NEXT_CHUNK", put_chunk_loads, NEXT}, {"STORE", put_stored, true},
        {"ELEMENTS", put_lane_elements, 0},         {NULL, NULL, 0},
    };
    const lfuse__rows_file file = {.r = t->r, .sweep = sweep, .form = t};
    const lfuse__parameter parameters[] = {
        {"TURNS", .number = t->chunks / t->parts}, {"PARTS", .number = t->parts},
        {"BY_SEGMENTS", .number = t->group || t->partial}, {"CHUNK", .number = t->width * VECTOR},
        {"ONE_BY_ONE", .number = t->access == LFUSE__ACCESS_SINGLE && !t->group},
        {"STORES", .number = lfuse__rows_stores(t->r, sweep)}, {"ALL_STORE", .number = t->group}, {NULL},
    };

    lfuse__rows_put_file(&file, indent, lfuse__text_rows_team_segment, parameters, places);
}
