/* SPDX-License-Identifier: Apache-2.0 */
/*
 * REDUCEs of row kernels: lanes that gather and fold, and segments whose results wait in memory for a kernel of their
 * own. These are statements of text/rows_*.k, which depend on the reduction.
 */
#include <string.h>

#include "common/kernels/rows.h"

#include "common/kernels/text/rows_segments.k.h"

static bool indexed(const lfuse__instr *instr)
{
    return (instr->kind == LFUSE__I_REDUCE || instr->kind == LFUSE__I_TOTAL) &&
           lfuse__folds[instr->op].type == LFUSE__FOLD_INDEX;
}

bool lfuse__rows_indexed(const lfuse__rows *r, int i)
{
    return indexed(&r->t.k->body->instr[i]);
}

static lfuse_type gathered_type(const lfuse__rows *r, int i)
{
    const lfuse__instr *instr = &r->t.k->body->instr[i];
    return lfuse__register_type(indexed(instr) ? r->t.k->body->instr[instr->a].type : instr->type);
}

const char *lfuse__rows_word(const lfuse__rows *r, int i)
{
    return lfuse__register_word(gathered_type(r, i));
}

const char *lfuse__rows_identity(const lfuse__rows *r, int i)
{
    static const struct {
        const char *word, *values[4]; /* [lfuse__identity] */
    } rows[] = {
        {"f32", {"K_f32(0x80000000u)", "K_f32(0x3f800000u)", "K_f32(0xff800000u)", "K_f32(0x7f800000u)"}},
        {"f64", {"K_f64(0x8000000000000000ul)", "K_f64(0x3ff0000000000000ul)", "K_f64(0xfff0000000000000ul)",
                 "K_f64(0x7ff0000000000000ul)"}},
        {"i32", {"K_i32(0u)", "K_i32(1u)", "K_i32(0x80000000u)", "K_i32(0x7fffffffu)"}},
        {"i64", {"K_i64(0ul)", "K_i64(1ul)", "K_i64(0x8000000000000000ul)", "K_i64(0x7ffffffffffffffful)"}},
        {"b", {"K_b(0u)", "K_b(1u)", "K_b(0u)", "K_b(1u)"}},
    };
    size_t n = 0;
    while (strcmp(rows[n].word, lfuse__rows_word(r, i))) n++;
    return rows[n].values[lfuse__folds[r->t.k->body->instr[i].op].identity];
}

const char *lfuse__rows_no_index(const lfuse__rows *r)
{
    return r->t.k->index64 ? "K_i64(0x7ffffffffffffffful)" : "K_i32(0x7fffffffu)";
}

/* The value, or the index, of a lane of REDUCE i. */
static lfuse__expr lane(lfuse__lane at, int i, bool index)
{
    return lfuse__expression("%c%d%s", at.letter[index], i, at.behind);
}

static const char *combine(const lfuse__rows *r, int i)
{
    return lfuse__folds[r->t.k->body->instr[i].op].combine;
}

/* The better value, a NaN being the best; of equal ones the first. */
static void put_better(const lfuse__rows *r, int indent, int i, lfuse__lane to, const char *low, const char *low_index,
                       const char *high, const char *high_index)
{
    const char *w = lfuse__rows_word(r, i), *op = combine(r, i), *x = r->t.ix;
    lfuse__put(r->t.out, indent, "const L_b none_ = NE_%s(%s, %s), other_ = NE_%s(%s, %s);", w, low, low, w, high,
               high);
    lfuse__put(r->t.out, indent, "const L_b same_ = EQ_%s(%s, %s) | (none_ & other_);", w, low, high);
    lfuse__put(r->t.out, indent,
               "const L_b take_ = %s_%s(%s, %s) | (other_ & EQ_%s(%s, %s)) | (same_ & LT_%s(%s, %s));",
               op, w, high, low, w, low, low, x, high_index, low_index);
    lfuse__put(r->t.out, indent, "%s = SEL_%s(take_, %s, %s);", lane(to, i, false).text, w, high, low);
    lfuse__put(r->t.out, indent, "%s = SEL_%s(take_, %s, %s);", lane(to, i, true).text, x, high_index, low_index);
}

void lfuse__rows_put_combine(const lfuse__rows *r, int indent, int i, lfuse__lane to, lfuse__lane low,
                             lfuse__lane high)
{
    if (lfuse__rows_indexed(r, i)) {
        lfuse__put(r->t.out, indent, "{");
        put_better(r, indent + 1, i, to, lane(low, i, false).text, lane(low, i, true).text, lane(high, i, false).text,
                   lane(high, i, true).text);
        lfuse__put(r->t.out, indent, "}");
    } else {
        lfuse__put(r->t.out, indent, "%s = %s_%s(%s, %s);", lane(to, i, false).text, combine(r, i),
                   lfuse__rows_word(r, i), lane(low, i, false).text, lane(high, i, false).text);
    }
}

void lfuse__rows_put_gather(const lfuse__rows *r, int indent, int i, lfuse__lane to, const char *present,
                            const char *index)
{
    const lfuse__instr *instr = &r->t.k->body->instr[i];
    const char *w = lfuse__rows_word(r, i), *from = lfuse__register_word(r->t.k->body->instr[instr->a].type);
    const lfuse__expr value = strcmp(w, from) ? lfuse__expression("CAST_%s_%s(r%d)", from, w, instr->a)
                                              : lfuse__expression("r%d", instr->a);
    lfuse__put(r->t.out, indent, "{");
    if (present)
        lfuse__put(r->t.out, indent + 1, "const L_%s v_ = SEL_%s(%s, %s, %s);", w, w, present, value.text,
                   lfuse__rows_identity(r, i));
    else
        lfuse__put(r->t.out, indent + 1, "const L_%s v_ = %s;", w, value.text);
    if (lfuse__rows_indexed(r, i)) {
        if (present)
            lfuse__put(r->t.out, indent + 1, "const L_%s w_ = SEL_%s(%s, %s, %s);", r->t.ix, r->t.ix, present, index,
                       lfuse__rows_no_index(r));
        else
            lfuse__put(r->t.out, indent + 1, "const L_%s w_ = %s;", r->t.ix, index);
        put_better(r, indent + 1, i, to, lane(to, i, false).text, lane(to, i, true).text, "v_", "w_");
    } else {
        lfuse__put(r->t.out, indent + 1, "%s = %s_%s(%s, v_);", lane(to, i, false).text, combine(r, i), w,
                   lane(to, i, false).text);
    }
    lfuse__put(r->t.out, indent, "}");
}

void lfuse__rows_put_lanes(const lfuse__rows *r, int indent, int i, const char *letter, const char *count)
{
    const char *w = lfuse__rows_word(r, i), *identity = lfuse__rows_identity(r, i);
    const bool pair = lfuse__rows_indexed(r, i);
    if (!count) {
        lfuse__put(r->t.out, indent, "L_%s %c%d = %s;", w, letter[0], i, identity);
        if (pair) lfuse__put(r->t.out, indent, "L_%s %c%d = %s;", r->t.ix, letter[1], i, lfuse__rows_no_index(r));
        return;
    }
    lfuse__put(r->t.out, indent, "L_%s %c%d[%s];", w, letter[0], i, count);
    if (pair) lfuse__put(r->t.out, indent, "L_%s %c%d[%s];", r->t.ix, letter[1], i, count);
    lfuse__put(r->t.out, 0, "#pragma unroll");
    lfuse__put(r->t.out, indent, "for (int a = 0; a < %s; a++) {", count);
    lfuse__put(r->t.out, indent + 1, "%c%d[a] = %s;", letter[0], i, identity);
    if (pair) lfuse__put(r->t.out, indent + 1, "%c%d[a] = %s;", letter[1], i, lfuse__rows_no_index(r));
    lfuse__put(r->t.out, indent, "}");
}

void lfuse__rows_put_result(const lfuse__rows *r, int indent, int i)
{
    const char *w = lfuse__rows_word(r, i), *x = r->t.ix;
    const char *type = lfuse__register_word(r->t.k->body->instr[i].type);
    if (r->across && lfuse__rows_indexed(r, i))
        lfuse__put(r->t.out, indent, "const L_%s r%d = CAST_%s_%s(m%d);", type, i, x, type, i);
    else if (r->across)
        lfuse__put(r->t.out, indent, "const L_%s r%d = a%d;", w, i, i);
    else if (lfuse__rows_indexed(r, i))
        lfuse__put(r->t.out, indent, "const L_%s r%d = CAST_%s_%s(SPLAT_%s(FIRST_%s(m%d)));", type, i, x, type, x, x,
                   i);
    else
        lfuse__put(r->t.out, indent, "const L_%s r%d = SPLAT_%s(FIRST_%s(a%d));", w, i, w, w, i);
}

void lfuse__rows_put_segments(const lfuse__rows *r, int indent, int sweep, const char *count,
                              void (*put_segment)(const void *context, int which, int indent))
{
    const lfuse__rows_file file = {.r = r, .sweep = sweep};
    const lfuse__parameter parameters[] = {{"COUNT", .word = count}, {NULL}};
    const lfuse__text_place places[] = {{"FOLD_SEGMENT", put_segment, 0}, {NULL, NULL, 0}};

    lfuse__rows_put_file(&file, indent, lfuse__text_rows_segments, parameters, places);
}

unsigned lfuse__rows_partial_bytes(const lfuse__rows *r, int i, bool index)
{
    unsigned bytes = index ? lfuse__type_bytes(gathered_type(r, i)) : 0;
    for (int n = 0; n < i; n++)
        if (lfuse__rows_reduces(r, n, 0))
            bytes += lfuse__type_bytes(gathered_type(r, n)) +
                     (lfuse__rows_indexed(r, n) ? r->t.k->index64 ? 8u : 4u : 0u);
    return bytes;
}

uint64_t lfuse__rows_partials(const lfuse__kernel_class *k, const lfuse__facts *facts, uint64_t rows, uint64_t length)
{
    lfuse__rows r;
    const uint64_t segments = (length + LFUSE__SEGMENT - 1) / LFUSE__SEGMENT;
    if (lfuse__rows_init(&r, NULL, k, &k->rows, NULL, facts)) return 0;
    return (rows * segments + 15) / 16 * 16 * lfuse__rows_partial_bytes(&r, k->body->ninstr, false);
}

void lfuse__rows_put_fetch(const lfuse__rows *r, int indent, int i, lfuse__lane to, const char *cell, const char *guard)
{
    const char *w = lfuse__rows_word(r, i), *x = r->t.ix;
    if (guard) {
        lfuse__put(r->t.out, indent, "%s = %s;", lane(to, i, false).text, lfuse__rows_identity(r, i));
        if (lfuse__rows_indexed(r, i))
            lfuse__put(r->t.out, indent, "%s = %s;", lane(to, i, true).text, lfuse__rows_no_index(r));
        lfuse__put(r->t.out, indent, "if (%s) {", guard);
    }
    lfuse__put(r->t.out, indent + (guard != NULL), "%s = SPLAT_%s(LOAD_%s(z + cells * %u, %s));",
               lane(to, i, false).text, w, w, lfuse__rows_partial_bytes(r, i, false), cell);
    if (lfuse__rows_indexed(r, i))
        lfuse__put(r->t.out, indent + (guard != NULL), "%s = SPLAT_%s(LOAD_%s(z + cells * %u, %s));",
                   lane(to, i, true).text, x, x, lfuse__rows_partial_bytes(r, i, true), cell);
    if (guard) lfuse__put(r->t.out, indent, "}");
}
