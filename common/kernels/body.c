/* SPDX-License-Identifier: Apache-2.0 */
/* A body's instructions as statements of the dialect. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "common/base/real.h"
#include "common/kernels/emit.h"

static void put_constant(lfuse__strbuf *out, lfuse_type type, double number)
{
    uint64_t bits = lfuse__number_word(type, number);
    if (type == LFUSE_F64 || type == LFUSE_I64)
        lfuse__strbuf_format(out, "K_%s(0x%016llxul)", lfuse__register_word(type), (unsigned long long)bits);
    else
        lfuse__strbuf_format(out, "K_%s(0x%08lxu)", lfuse__register_word(type), (unsigned long)bits);
}

/*
 * An expression of ops.def: words get the type, A B C T become registers, M the type's bits less 1. Ends at the end of
 * the text or at ';'.
 */
static const char *put_expression(lfuse__strbuf *out, const char *text, lfuse_type type, int at, const int16_t *from)
{
    while (*text && *text != ';') {
        size_t length = 0;
        while (isalnum((unsigned char)text[length])) length++;
        if (length == 0) {
            lfuse__strbuf_bytes(out, text++, 1);
        } else if (length == 1 && *text == 'K') {
            const char *end;
            put_constant(out, lfuse__register_type(type), lfuse__real_parse(text + 2, &end));
            text = end + 1;
        } else if (length == 1 && *text == 'M') {
            put_constant(out, lfuse__register_type(type), 8 * (int)lfuse__type_bytes(type) - 1);
            text++;
        } else if (length == 1) {
            if (*text == 'T')
                lfuse__strbuf_format(out, "t%d", at);
            else
                lfuse__strbuf_format(out, "r%d", from[*text - 'A']);
            text++;
        } else {
            lfuse__strbuf_bytes(out, text, length);
            lfuse__strbuf_format(out, "_%s", lfuse__register_word(type));
            text += length;
        }
    }
    return text;
}

/* What lives in a register that is wider. */
static bool narrow(lfuse_type type)
{
    return type == LFUSE_I8 || type == LFUSE_U8;
}

/* A quotient by a power of two is a product with its reciprocal, bit for bit, and costs a tenth. */
static bool halves(const lfuse__body *body, const lfuse__instr *instr)
{
    const lfuse__instr *by = &body->instr[instr->b];
    int exponent;
    if (instr->op != LFUSE__OP_div || by->kind != LFUSE__I_CONST || !lfuse__is_floating((lfuse_type)instr->type))
        return false;
    return frexp(by->number, &exponent) == 0.5 && exponent > 0 && exponent < 64;
}

static void put_apply(lfuse__strbuf *out, int indent, const lfuse__body *body, int at)
{
    const lfuse__instr *instr = &body->instr[at];
    const lfuse__op_row *row = &lfuse__ops[instr->op];
    const int16_t from[3] = {instr->a, instr->b, instr->c};
    const char *text = row->dialect;
    lfuse_type type = lfuse__op_retypes((lfuse__op)instr->op) ? body->instr[instr->a].type : instr->type;
    if (!strncmp(text, "T = ", 4)) {
        lfuse__strbuf_format(out, "%*sconst L_%s t%d = ", 4 * indent, "", lfuse__register_word(type), at);
        text = put_expression(out, text + 4, type, at, from) + 2;
        lfuse__strbuf_add(out, ";\n");
    }
    lfuse__strbuf_format(out, "%*sconst L_%s r%d = ", 4 * indent, "", lfuse__register_word(instr->type), at);
    if (narrow(instr->type)) lfuse__strbuf_format(out, "WRAP_%s(", lfuse__memory_word(instr->type));
    if (halves(body, instr)) {
        lfuse__strbuf_format(out, "MUL_%s(r%d, ", lfuse__register_word(type), instr->a);
        put_constant(out, lfuse__register_type(type), 1 / body->instr[instr->b].number);
        lfuse__strbuf_add(out, ")");
    } else {
        put_expression(out, text, type, at, from);
    }
    lfuse__strbuf_add(out, narrow(instr->type) ? ");\n" : ";\n");
}

/* Narrow types exist in memory alone: a conversion to one rounds, once, and stays f32. */
static void put_round(lfuse__strbuf *out, int indent, const lfuse__instr *instr, int at)
{
    const char *from = lfuse__register_word(instr->from);
    const lfuse_type wide = lfuse__register_type(instr->from);
    const bool odd = wide == LFUSE_F64 || wide == LFUSE_I32 || wide == LFUSE_I64;
    if (instr->from == instr->type)
        lfuse__put(out, indent, "const L_f32 r%d = r%d;", at, instr->a);
    else
        lfuse__put(out, indent, "const L_f32 r%d = ROUND_%s(%s_%s%s(r%d));", at, lfuse__memory_word(instr->type),
                   odd ? "ODD" : "CAST", from, odd ? "" : "_f32", instr->a);
}

/* To i8 and u8: integers wrap, floating numbers saturate. */
static void put_narrow(lfuse__strbuf *out, int indent, const lfuse__instr *instr, int at)
{
    const char *word = instr->from == instr->type || instr->from == LFUSE_BOOL ? ""
                       : lfuse__is_floating(instr->from)                       ? "SAT_"
                                                                               : "WRAP_";
    lfuse__put(out, indent, "const L_i32 r%d = %s%s(CAST_%s_i32(r%d));", at, word,
               *word ? lfuse__memory_word(instr->type) : "", lfuse__register_word(instr->from), instr->a);
}

static void put_convert(lfuse__strbuf *out, int indent, const lfuse__instr *instr, int at)
{
    const char *from = lfuse__register_word(instr->from), *to = lfuse__register_word(instr->type);
    if (lfuse__is_narrow((lfuse_type)instr->type))
        put_round(out, indent, instr, at);
    else if (narrow(instr->type))
        put_narrow(out, indent, instr, at);
    else
        lfuse__put(out, indent, "const L_%s r%d = CAST_%s_%s(r%d);", to, at, from, to, instr->a);
}

void lfuse__put_instr(const lfuse__text *t, int indent, int i, const char *index)
{
    const lfuse__instr *instr = &t->k->body->instr[i];
    const char *word = lfuse__register_word(instr->type);
    switch ((lfuse__instr_kind)instr->kind) {
    case LFUSE__I_LOAD:
        if (lfuse__is_gather(t->k, instr))
            lfuse__put(t->out, indent, "const L_%s r%d = g%d%s;", word, i, i, index);
        else
            lfuse__put(t->out, indent, "const L_%s r%d = x%d%s;", word, i, instr->a, index);
        break;
    case LFUSE__I_NUMBER:
        if (t->grouped) {
            lfuse__put(t->out, indent, "const L_%s r%d = NUMBER_%s(n_%d);", word, i, word, instr->a);
            break;
        }
        lfuse__put(t->out, indent, "const L_%s r%d = NUMBER_%s(W(%d));", word, i, word, t->numbers + instr->a);
        break;
    case LFUSE__I_CONST:
        lfuse__strbuf_format(t->out, "%*sconst L_%s r%d = ", 4 * indent, "", word, i);
        put_constant(t->out, instr->type, instr->number);
        lfuse__strbuf_add(t->out, ";\n");
        break;
    case LFUSE__I_APPLY:
        put_apply(t->out, indent, t->k->body, i);
        break;
    case LFUSE__I_CONVERT:
        put_convert(t->out, indent, instr, i);
        break;
    case LFUSE__I_REDUCE: /* row kernels have it in scope */
    case LFUSE__I_TOTAL:
        break;
    }
}

void lfuse__put_slice(const lfuse__text *t, int indent, int reg, const char *index)
{
    bool needed[LFUSE__MAX_INSTRUCTIONS] = {false}, loads[LFUSE__MAX_INSTRUCTIONS];
    for (int i = 0; i < t->k->body->ninstr; i++) loads[i] = t->k->body->instr[i].kind == LFUSE__I_LOAD;
    needed[reg] = true;
    lfuse__body_needs(t->k->body, loads, needed);
    for (int i = 0; i <= reg; i++)
        if (needed[i] && !t->uniform[i]) lfuse__put_instr(t, indent, i, index);
}

void lfuse__put_body(const lfuse__text *t, int indent, const char *index)
{
    const lfuse__body *body = t->k->body;
    for (int i = 0; i < body->ninstr; i++)
        if (!t->uniform[i]) lfuse__put_instr(t, indent, i, index);
    for (int i = 0; i < body->nstores; i++)
        if (t->stored[body->stores[i].operand])
            lfuse__put(t->out, indent, "y%d%s = r%d;", body->stores[i].operand, index, body->stores[i].reg);
}
