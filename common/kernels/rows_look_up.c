/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-ups in row kernels. An index that is known when the row begins moves the operand's memory to where the row's
 * part of the table is, whose elements are then loaded like any other; every other index is looked up where it is
 * computed.
 */
#include <string.h>

#include "common/kernels/rows.h"

/* What register `reg` is computed from, itself among them. */
static void depends(const lfuse__rows *r, int reg, bool *needed)
{
    memset(needed, 0, (size_t)r->t.k->body->ninstr * sizeof *needed);
    needed[reg] = true;
    lfuse__body_needs(r->t.k->body, NULL, needed);
}

static bool known_early(const lfuse__rows *r, int reg)
{
    bool needed[LFUSE__ROW_INSTR];
    if (!r->of_row[reg]) return false;
    depends(r, reg, needed);
    for (int i = 0; i <= reg; i++)
        if (needed[i] && r->t.k->body->instr[i].kind == LFUSE__I_REDUCE) return false;
    return true;
}

void lfuse__rows_find_look_ups(lfuse__rows *r)
{
    const lfuse__body *body = r->t.k->body;
    for (int j = 0; j < r->t.k->noperands; j++) {
        int loads = 0;
        r->near[j] = -1;
        for (int i = 0; i < body->ninstr && r->t.k->operands[j].gathered; i++) {
            if (body->instr[i].kind != LFUSE__I_LOAD || body->instr[i].a != j) continue;
            if (loads++ == 0 && !r->of_row[i] && known_early(r, body->instr[i].b)) r->near[j] = i;
        }
        if (loads > 1) r->near[j] = -1; /* at different indices */
    }
}

bool lfuse__rows_is_far(const lfuse__rows *r, int i)
{
    const lfuse__instr *instr = &r->t.k->body->instr[i];
    return lfuse__is_gather(r->t.k, instr) && r->near[instr->a] != i;
}

static const char *index_word(const lfuse__rows *r, int i)
{
    return lfuse__register_word(r->t.k->body->instr[r->t.k->body->instr[i].b].type);
}

/* n<i>, where the index is one of the row. */
static void put_look_up_of_row(const lfuse__rows *r, int indent, int i)
{
    const lfuse__expr index = lfuse__expression("FIRST_%s(r%d)", index_word(r, i), r->t.k->body->instr[i].b);
    lfuse__put_look_up(&r->t, indent, i, index.text, "(u64)row * length");
}

static void put_look_up_row(const lfuse__rows *r, int indent, int i)
{
    const lfuse__instr *instr = &r->t.k->body->instr[i];
    const lfuse_type type = r->t.k->operands[instr->a].type;
    const char *word = lfuse__register_word(type);
    put_look_up_of_row(r, indent, i);
    lfuse__put(r->t.out, indent, "const L_%s r%d = SPLAT_%s(n%d >= 0 ? LOAD_%s(p%d, b%d + %s) : ZERO_%s);", word, i,
               word, i, lfuse__memory_word(type), instr->a, instr->a,
               lfuse__look_up_offset(&r->t, i).text, word);
}

void lfuse__rows_put_row_load(const lfuse__rows *r, int indent, int i)
{
    const int j = r->t.k->body->instr[i].a;
    const char *word = lfuse__register_word(r->t.k->operands[j].type);
    if (lfuse__is_gather(r->t.k, &r->t.k->body->instr[i])) {
        put_look_up_row(r, indent, i);
        return;
    }
    lfuse__put(r->t.out, indent, "const L_%s r%d = SPLAT_%s(%s);", word, i, word,
               lfuse__load(&r->t, j, lfuse__expression("b%d", j).text).text);
}

void lfuse__rows_find_indices(const lfuse__rows *r, int j, bool *indices)
{
    const lfuse__body *body = r->t.k->body;
    bool needed[LFUSE__ROW_INSTR];
    if (r->near[j] < 0) return;
    depends(r, body->instr[r->near[j]].b, needed);
    for (int i = 0; i < r->near[j]; i++)
        if (needed[i] && body->instr[i].kind == LFUSE__I_LOAD && !r->t.k->operands[body->instr[i].a].gathered)
            indices[i] = true;
}

/* p<j> and k<j>, whether there is such a part of the table. */
void lfuse__rows_put_look_up(const lfuse__rows *r, int indent, int j)
{
    const lfuse__body *body = r->t.k->body;
    const int i = r->near[j], reg = i >= 0 ? body->instr[i].b : -1;
    bool needed[LFUSE__ROW_INSTR];
    if (i < 0) return;
    depends(r, reg, needed);
    lfuse__put(r->t.out, indent, "memory p%d = table%d;", j, j);
    lfuse__put(r->t.out, indent, "int k%d;", j);
    lfuse__put(r->t.out, indent, "{");
    for (int n = 0; n <= reg; n++) {
        if (!needed[n]) continue;
        const char *word = lfuse__register_word(body->instr[n].type);
        if (r->ahead[n]) lfuse__put(r->t.out, indent + 1, "const L_%s r%d = SPLAT_%s(ahead%d);", word, n, word, n);
        else if (body->instr[n].kind == LFUSE__I_LOAD) lfuse__rows_put_row_load(r, indent + 1, n);
        else lfuse__put_instr(&r->t, indent + 1, n, "");
    }
    put_look_up_of_row(r, indent + 1, i);
    lfuse__put(r->t.out, indent + 1, "k%d = n%d >= 0;", j, i);
    lfuse__put(r->t.out, indent + 1, "if (k%d) p%d += %s * %u;", j, j, lfuse__look_up_offset(&r->t, i).text,
               lfuse__type_bytes(r->t.k->operands[j].type));
    lfuse__put(r->t.out, indent, "}");
}

void lfuse__rows_put_look_up_element(const lfuse__rows *r, int indent, int i, const char *place, const char *present)
{
    const lfuse__instr *instr = &r->t.k->body->instr[i];
    const lfuse_type type = r->t.k->operands[instr->a].type;
    const char *word = lfuse__register_word(type), *index = index_word(r, i);
    lfuse__put(r->t.out, indent, "L_%s r%d;", word, i);
    lfuse__put(r->t.out, indent, "{");
    lfuse__put(r->t.out, indent + 1, "S_%s m%d[LANES];", index, i);
    lfuse__put(r->t.out, indent + 1, "S_%s e%d[LANES];", word, instr->a);
    lfuse__put(r->t.out, indent + 1, "SPREAD_%s(m%d, r%d);", index, i, instr->b);
    lfuse__put(r->t.out, 0, "#pragma unroll");
    lfuse__put(r->t.out, indent + 1, "for (int l = 0; l < LANES; l++) {");
    lfuse__put(r->t.out, indent + 2, "e%d[l] = ZERO_%s;", instr->a, word);
    if (present) lfuse__put(r->t.out, indent + 2, "if (!(%s)) continue;", present);
    lfuse__put_look_up(&r->t, indent + 2, i, lfuse__expression("m%d[l]", i).text,
                       lfuse__expression("(u64)row * length + %s", place).text);
    lfuse__put_row_place(&r->t, indent + 2, instr->a, place);
    lfuse__put(r->t.out, indent + 2, "if (n%d >= 0) e%d[l] = LOAD_%s(p%d, o%d + %s);", i, instr->a,
               lfuse__memory_word(type), instr->a, instr->a, lfuse__look_up_offset(&r->t, i).text);
    lfuse__put(r->t.out, indent + 1, "}");
    lfuse__put(r->t.out, indent + 1, "r%d = LANES_%s(e%d);", i, word, instr->a);
    lfuse__put(r->t.out, indent, "}");
}
