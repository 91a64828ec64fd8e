/* SPDX-License-Identifier: Apache-2.0 */
/* From linear indices to elements in memory. */
#include <stdio.h>

#include "common/kernels/emit.h"

lfuse__expr lfuse__stride(const lfuse__text *t, int operand, int axis)
{
    const int slot = t->layout->slot[operand][axis];
    if (t->k->index64) return lfuse__expression("(i64)W(%d)", t->layout->strides + slot);
    return lfuse__expression(slot % 2 ? "(i32)(u32)(W(%d) >> 32)" : "(i32)(u32)W(%d)", t->layout->strides + slot / 2);
}

/* c<first> ...: the coordinates of a linear index along `axes` axes. */
static void put_coordinates(const lfuse__text *t, int indent, const char *index, int first, int axes, int division,
                            int shifts)
{
    for (int a = axes - 1; a >= 1; a--) {
        const int d = division + (a - 1) * (t->k->index64 ? 2 : 1), c = first + a;
        const lfuse__expr from = a == axes - 1 ? lfuse__expression("(%s)", index) : lfuse__expression("q%d", c + 1);
        if (t->k->index64) {
            lfuse__put(t->out, indent, "const u64 q%d = DIV64(%s, W(%d), (u32)(W(%d) >> %d) & 255);", c, from.text,
                       d + 1, shifts, 8 * (a - 1));
            lfuse__put(t->out, indent, "const i64 c%d = (i64)(%s - q%d * W(%d));", c, from.text, c, d);
        } else {
            lfuse__put(t->out, indent, "const u32 q%d = DIV32(%s, W(%d) >> 32, (u32)(W(%d) >> %d) & 255);", c,
                       from.text, d, shifts, 8 * (a - 1));
            lfuse__put(t->out, indent, "const i32 c%d = (i32)(%s - q%d * (u32)W(%d));", c, from.text, c, d);
        }
    }
    if (axes > 1)
        lfuse__put(t->out, indent, "const %s c%d = (%s)q%d;", t->ix, first, t->ix, first + 1);
    else if (axes == 1)
        lfuse__put(t->out, indent, "const %s c%d = (%s)(%s);", t->ix, first, t->ix, index);
}

static void put_offset(const lfuse__text *t, int indent, int j, bool row)
{
    const int inner = t->k->rank - 1;
    lfuse__strbuf_format(t->out, "%*s%c%d = 0", 4 * indent, "", row ? 'b' : 'o', j);
    for (int a = 0; a < t->layout->axes && !(row && t->k->operands[j].fixed); a++) {
        if (a == inner && (row || t->k->operands[j].inner == LFUSE__STRIDE_REPEAT)) continue;
        lfuse__strbuf_format(t->out, " + c%d", a);
        if (a == inner && t->k->operands[j].inner == LFUSE__STRIDE_UNIT) continue;
        lfuse__strbuf_format(t->out, " * %s", lfuse__stride(t, j, a).text);
    }
    lfuse__strbuf_add(t->out, ";\n");
}

static void put_wanted(const lfuse__text *t, int indent, const char *index, const bool *wanted, bool row)
{
    for (int j = 0; j < t->k->noperands && !row; j++)
        if (wanted[j]) lfuse__put(t->out, indent, "%s o%d;", t->ix, j);
    if (!t->layout) { /* list kernels */
        for (int j = 0; j < t->k->noperands; j++)
            if (wanted[j])
                lfuse__put(t->out, indent,
                           t->k->operands[j].inner == LFUSE__STRIDE_REPEAT ? "o%d = 0;" : "o%d = (%s)(%s);",
                           j, t->ix, index);
        return;
    }
    lfuse__put(t->out, indent, "{");
    put_coordinates(t, indent + 1, index, 0, t->layout->axes, t->layout->division, t->layout->shifts);
    for (int j = 0; j < t->k->noperands; j++)
        if (wanted[j]) put_offset(t, indent + 1, j, row);
    if (row && t->layout->axes == t->k->rank) lfuse__put(t->out, indent + 1, "j = c%d;", t->k->rank - 1);
    lfuse__put(t->out, indent, "}");
}

void lfuse__put_offsets(const lfuse__text *t, int indent, const char *index, int which)
{
    bool wanted[LFUSE__MAX_OPERANDS];
    for (int j = 0; j < t->k->noperands; j++)
        wanted[j] = ((which & LFUSE__AT_LOADED) && t->loaded[j]) || ((which & LFUSE__AT_STORED) && t->stored[j]) ||
                    ((which & LFUSE__AT_GATHERED) && t->k->operands[j].gathered);
    put_wanted(t, indent, index, wanted, which & LFUSE__AT_ROW);
}

void lfuse__put_offset(const lfuse__text *t, int indent, const char *index, int operand)
{
    bool wanted[LFUSE__MAX_OPERANDS] = {false};
    wanted[operand] = true;
    put_wanted(t, indent, index, wanted, false);
}

void lfuse__put_load(const lfuse__text *t, int j, const char *at, char *text, size_t size)
{
    const lfuse__kernel_operand *o = &t->k->operands[j];
    if (o->index)
        snprintf(text, size, "(S_%s)((i64)W(%d) + (%s))", lfuse__register_word(o->type), j, at);
    else
        snprintf(text, size, "LOAD_%s(p%d, %s)", lfuse__memory_word(o->type), j, at);
}

lfuse__expr lfuse__load(const lfuse__text *t, int j, const char *at)
{
    lfuse__expr load;
    lfuse__put_load(t, j, at, load.text, sizeof load.text);
    return load;
}

bool lfuse__repeats_lines(const lfuse__kernel_operand *o)
{
    return o->inner == LFUSE__STRIDE_ROW || o->inner == LFUSE__STRIDE_COLUMN || o->inner == LFUSE__STRIDE_MATRIX;
}

lfuse__expr lfuse__offset_ahead(const lfuse__text *t, int j, char letter, const char *ahead, const char *index)
{
    switch (t->k->operands[j].inner) {
    case LFUSE__STRIDE_ROW: return lfuse__expression("row_of_((u32)(%s), column_, columns_)", index);
    case LFUSE__STRIDE_COLUMN: return lfuse__expression("column_of_((u32)(%s), column_, columns_, row_, rows_)", index);
    case LFUSE__STRIDE_MATRIX: return lfuse__expression("matrix_of_((u32)(%s), column_, columns_, row_, rows_)", index);
    case LFUSE__STRIDE_REPEAT: return lfuse__expression("%c%d", letter, j);
    case LFUSE__STRIDE_UNIT:
    case LFUSE__STRIDE_ANY:
    case LFUSE__STRIDE_SPLIT: break;
    }
    if (!ahead) return lfuse__expression("%c%d", letter, j);
    if (t->k->operands[j].inner == LFUSE__STRIDE_UNIT) return lfuse__expression("%c%d + %s", letter, j, ahead);
    return lfuse__expression("%c%d + %s * %s", letter, j, ahead, lfuse__stride(t, j, t->k->rank - 1).text);
}

void lfuse__put_row_place(const lfuse__text *t, int indent, int j, const char *place)
{
    const int kept = t->layout ? t->layout->axes : 0;
    switch (t->k->operands[j].inner) {
    case LFUSE__STRIDE_REPEAT:
        lfuse__put(t->out, indent, "const %s o%d = b%d;", t->ix, j, j);
        break;
    case LFUSE__STRIDE_UNIT:
        lfuse__put(t->out, indent, t->pitch ? "const %s o%d = b%d + (%s)(%s) * %s;" : "const %s o%d = b%d + (%s)(%s);",
                   t->ix, j, j, t->ix, place, t->pitch);
        break;
    case LFUSE__STRIDE_ROW:
    case LFUSE__STRIDE_COLUMN:
    case LFUSE__STRIDE_MATRIX: break; /* of pointwise kernels */
    case LFUSE__STRIDE_ANY:
        lfuse__put(t->out, indent, "const %s o%d = b%d + (%s)(%s) * %s;", t->ix, j, j, t->ix, place,
                   lfuse__stride(t, j, t->k->rank - 1).text);
        break;
    case LFUSE__STRIDE_SPLIT:
        lfuse__put(t->out, indent, "%s o%d = b%d;", t->ix, j, j);
        lfuse__put(t->out, indent, "{");
        put_coordinates(t, indent + 1, place, kept, t->k->naxes, t->layout->row_division, t->layout->row_shifts);
        for (int a = kept; a < t->k->rank; a++)
            lfuse__put(t->out, indent + 1, "o%d += c%d * %s;", j, a, lfuse__stride(t, j, a).text);
        lfuse__put(t->out, indent, "}");
        break;
    }
}

int lfuse__block_words(const lfuse__text *t, int operand)
{
    const int bytes = t->vector * (int)lfuse__type_bytes(t->k->operands[operand].type);
    return bytes < 4 ? 1 : bytes / 4;
}

void lfuse__put_block_load(const lfuse__text *t, int indent, int j, const char *chunk, const char *at)
{
    const unsigned size = lfuse__type_bytes(t->k->operands[j].type), bytes = size * (unsigned)t->vector;
    for (unsigned done = 0; done < bytes; done += 16)
        lfuse__put(t->out, indent, "LOADB_%u(q%d + %s * %d + %u, p%d + (i64)(%s) * %u + %u);",
                   bytes < 16 ? bytes : 16, j,
                   chunk, lfuse__block_words(t, j), done / 4, j, at, size, done);
}

void lfuse__put_block_store(const lfuse__text *t, int indent, int j, const char *words)
{
    const unsigned size = lfuse__type_bytes(t->k->operands[j].type), bytes = size * (unsigned)t->vector;
    for (unsigned done = 0; done < bytes; done += 16)
        lfuse__put(t->out, indent, "STOREB_%u(p%d + (i64)o%d * %u + %u, %s + %u);", bytes < 16 ? bytes : 16, j, j, size,
                   done, words, done / 4);
}
