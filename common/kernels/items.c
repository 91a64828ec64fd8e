/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise work on GPUs: text/pointwise_tile.k. */
#include "common/kernels/emit.h"
#include "common/kernels/template.h"

#include "common/kernels/text/pointwise_tile.k.h"

void lfuse__items_shape(lfuse__text *t, int vector)
{
    unsigned widest = 0;
    int loads = 0;
    for (int j = 0; j < t->k->noperands; j++) {
        const unsigned bytes = lfuse__type_bytes(t->k->operands[j].type);
        if (lfuse__in_blocks(&t->k->operands[j]) && bytes > widest) widest = bytes;
        loads += t->loaded[j] && t->k->operands[j].inner != LFUSE__STRIDE_REPEAT && !t->k->operands[j].index;
        loads += t->k->operands[j].gathered;
    }
    t->vector = vector ? vector : widest ? 16 / (int)widest : 4;
    t->chunks = loads <= 1 ? 4 : loads <= 3 ? 2 : 1;
    while (t->chunks > 1 && t->vector * t->chunks > 16) t->chunks /= 2;
    t->slots = t->vector * t->chunks;
}

unsigned lfuse__items_tile(const lfuse__text *t)
{
    return LFUSE__GROUP * (unsigned)t->slots;
}

static const char *memory_word(const lfuse__text *t, int j)
{
    return lfuse__memory_word(t->k->operands[j].type);
}

static const char *register_word(const lfuse__text *t, int j)
{
    return lfuse__register_word(t->k->operands[j].type);
}

/* What stands in the text for each operand that is loaded, and for each that is stored. */
enum { VALUES, BLOCKS, LOAD_VECTORS, UNPACK, ABSENT, LOAD, STORE_VECTORS, STORE };

static void put_load_vector(const lfuse__text *t, int indent, int j)
{
    const lfuse__expr at = lfuse__offset_ahead(t, j, 'o', "v", "i + v");
    if (lfuse__in_blocks(&t->k->operands[j])) {
        lfuse__put_block_load(t, indent, j, "u", lfuse__expression("o%d", j).text);
        return;
    }
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent, "for (int v = 0; v < %d; v++) x%d[u * %d + v] = %s;", t->vector, j, t->vector,
               lfuse__load(t, j, at.text).text);
}

static void put_loaded(const lfuse__text *t, int which, int indent, int j)
{
    const bool blocks = lfuse__in_blocks(&t->k->operands[j]);
    const int words = lfuse__block_words(t, j);
    if (which == VALUES) lfuse__put(t->out, indent, "S_%s x%d[%d];", register_word(t, j), j, t->slots);
    if (which == BLOCKS && blocks) lfuse__put(t->out, indent, "u32 q%d[%d];", j, t->chunks * words);
    if (which == LOAD_VECTORS) put_load_vector(t, indent, j);
    if (which == UNPACK && blocks)
        lfuse__put(t->out, indent, "x%d[k] = UNPACK_%s(q%d + k / %d * %d, k %% %d);", j, memory_word(t, j), j,
                   t->vector, words, t->vector);
    if (which == ABSENT) lfuse__put(t->out, indent, "x%d[k] = ZERO_%s;", j, register_word(t, j));
    if (which == LOAD)
        lfuse__put(t->out, indent, "x%d[k] = %s;", j,
                   lfuse__load(t, j, lfuse__offset_ahead(t, j, 'o', NULL, "i").text).text);
}

static void put_store_block(const lfuse__text *t, int indent, int j)
{
    const int words = lfuse__block_words(t, j);
    lfuse__put(t->out, indent, "u32 w%d[%d];", j, words);
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent, "for (int v = 0; v < %d; v++) w%d[v] = 0;", words, j);
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent, "for (int v = 0; v < %d; v++) PACK_%s(w%d, v, y%d[u * %d + v]);", t->vector,
               memory_word(t, j), j, j, t->vector);
    lfuse__put_block_store(t, indent, j, lfuse__expression("w%d", j).text);
}

static void put_stored(const lfuse__text *t, int which, int indent, int j)
{
    if (which == VALUES) lfuse__put(t->out, indent, "S_%s y%d[%d];", register_word(t, j), j, t->slots);
    if (which == STORE) lfuse__put(t->out, indent, "STORE_%s(p%d, o%d, y%d[k]);", memory_word(t, j), j, j, j);
    if (which != STORE_VECTORS) return;
    if (t->k->operands[j].inner == LFUSE__STRIDE_UNIT) {
        put_store_block(t, indent, j);
        return;
    }
    lfuse__put(t->out, indent, "for (int v = 0; v < %d; v++) STORE_%s(p%d, %s, y%d[u * %d + v]);", t->vector,
               memory_word(t, j), j, lfuse__offset_ahead(t, j, 'o', "v", "i + v").text, j, t->vector);
}

static void put_operands(const void *text, int which, int indent)
{
    const lfuse__text *t = text;
    if (which == LOAD_VECTORS || which == LOAD) lfuse__put_offsets(t, indent, "i", LFUSE__AT_LOADED);
    if (which == STORE_VECTORS || which == STORE) lfuse__put_offsets(t, indent, "i", LFUSE__AT_STORED);
    for (int j = 0; j < t->k->noperands; j++) {
        if (t->loaded[j]) put_loaded(t, which, indent, j);
        if (t->stored[j]) put_stored(t, which, indent, j);
    }
    for (int i = 0; i < t->k->body->ninstr && which == VALUES; i++)
        if (lfuse__is_gather(t->k, &t->k->body->instr[i]))
            lfuse__put(t->out, indent, "S_%s g%d[%d];", register_word(t, t->k->body->instr[i].a), i, t->slots);
}

/* ---- look-ups ---- */

/* n<at> of the element whose registers are indexed by `index`. */
static void put_index(const lfuse__text *t, int indent, int at, const char *index, const char *element)
{
    const int reg = t->k->body->instr[at].b;
    lfuse__put(t->out, indent, "S_%s m%d;", lfuse__register_word(t->k->body->instr[reg].type), at);
    lfuse__put(t->out, indent, "{");
    lfuse__put_slice(t, indent + 1, reg, index);
    lfuse__put(t->out, indent + 1, "m%d = r%d;", at, reg);
    lfuse__put(t->out, indent, "}");
    lfuse__put_look_up(t, indent, at, lfuse__expression("m%d", at).text, element);
}

/* One index a vector. */
static void put_gather_blocks(const lfuse__text *t, int indent, int at)
{
    const int j = t->k->body->instr[at].a, words = lfuse__block_words(t, j);
    lfuse__put(t->out, indent, "u32 q%d[%d];", j, t->chunks * words);
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent, "for (u32 u = 0; u < %d; u++) {", t->chunks);
    lfuse__put(t->out, indent + 1, "const %s i = start + (%s)((u * %d + ITEM()) * %d);", t->ux, t->ux, LFUSE__GROUP,
               t->vector);
    put_index(t, indent + 1, at, lfuse__expression("[u * %d]", t->vector).text, "i");
    lfuse__put_offset(t, indent + 1, "i", j);
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent + 1, "for (int w = 0; w < %d; w++) q%d[u * %d + w] = 0;", words, j, words);
    lfuse__put(t->out, indent + 1, "if (n%d >= 0) {", at);
    lfuse__put_block_load(t, indent + 2, j, "u",
                          lfuse__expression("o%d + %s", j, lfuse__look_up_offset(t, at).text).text);
    lfuse__put(t->out, indent + 1, "}");
    lfuse__put(t->out, indent, "}");
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent, "for (int k = 0; k < %d; k++) g%d[k] = UNPACK_%s(q%d + k / %d * %d, k %% %d);", t->slots,
               at, memory_word(t, j), j, t->vector, words, t->vector);
}

/* One index an element, which is i. */
static void put_gather_element(const lfuse__text *t, int indent, int at)
{
    const int j = t->k->body->instr[at].a;
    put_index(t, indent, at, "[k]", "i");
    lfuse__put_offset(t, indent, "i", j);
    lfuse__put(t->out, indent, "if (n%d >= 0) g%d[k] = LOAD_%s(p%d, o%d + %s);", at, at, memory_word(t, j), j, j,
               lfuse__look_up_offset(t, at).text);
}

static void put_gather(const lfuse__text *t, int indent, int at, bool whole)
{
    lfuse__put(t->out, indent, "{");
    if (whole && lfuse__in_blocks(&t->k->operands[t->k->body->instr[at].a]) && lfuse__gather_steady(t->k, at)) {
        put_gather_blocks(t, indent + 1, at);
    } else {
        lfuse__put(t->out, 0, "#pragma unroll");
        lfuse__put(t->out, indent + 1, "for (u32 k = 0; k < %d; k++) {", t->slots);
        if (whole)
            lfuse__put(t->out, indent + 2, "const %s i = start + (%s)((k / %d * %d + ITEM()) * %d + k %% %d);", t->ux,
                       t->ux, t->vector, LFUSE__GROUP, t->vector, t->vector);
        else
            lfuse__put(t->out, indent + 2, "const %s i = start + (%s)(k * %d + ITEM());", t->ux, t->ux, LFUSE__GROUP);
        lfuse__put(t->out, indent + 2, "g%d[k] = ZERO_%s;", at, register_word(t, t->k->body->instr[at].a));
        lfuse__put(t->out, indent + 2, "if (i < n) {");
        put_gather_element(t, indent + 3, at);
        lfuse__put(t->out, indent + 2, "}");
        lfuse__put(t->out, indent + 1, "}");
    }
    lfuse__put(t->out, indent, "}");
}

static void put_look_ups(const void *text, int whole, int indent)
{
    const lfuse__text *t = text;
    for (int i = 0; i < t->k->body->ninstr; i++)
        if (lfuse__is_gather(t->k, &t->k->body->instr[i])) put_gather(t, indent, i, whole);
}

static void put_body(const void *text, int which, int indent)
{
    (void)which;
    lfuse__put_body(text, indent, "[k]");
}

void lfuse__put_tile(const void *text, int which, int indent)
{
    const lfuse__text *t = text;
    static const lfuse__text_place places[] = {
        {"VALUES", put_operands, VALUES}, {"BLOCKS", put_operands, BLOCKS},
        {"LOAD_VECTORS", put_operands, LOAD_VECTORS}, {"UNPACK", put_operands, UNPACK},
        {"ABSENT", put_operands, ABSENT}, {"LOAD", put_operands, LOAD}, {"LOOK_UP_VECTORS", put_look_ups, true},
        {"LOOK_UP", put_look_ups, false}, {"BODY", put_body, 0}, {"STORE_VECTORS", put_operands, STORE_VECTORS},
        {"STORE", put_operands, STORE}, {NULL}};
    const lfuse__parameter parameters[] = {
        {"TILE", .number = (int)lfuse__items_tile(t)}, {"ITEMS", .number = LFUSE__GROUP},
        {"CHUNKS", .number = t->chunks}, {"VECTOR", .number = t->vector}, {"SLOTS", .number = t->slots},
        {"UX", .word = t->ux}, {NULL}};
    (void)which;
    lfuse__put_text(t->out, indent, lfuse__text_pointwise_tile, parameters, places, t);
}
