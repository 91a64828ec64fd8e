/* SPDX-License-Identifier: Apache-2.0 */
/* A row a work-item, LANES elements at a time; each sweep reads the row again, from the nearest cache. */
#include <stdio.h>

#include "common/kernels/rows.h"

static void put_spread_load(const lfuse__rows *r, int indent, int j, bool partial)
{
    const char *reg = lfuse__register_word(r->t.k->operands[j].type);
    char target[32];
    lfuse__put(r->t.out, indent, "S_%s e%d[LANES];", reg, j);
    lfuse__put(r->t.out, indent, "for (int l = 0; l < LANES; l++) {");
    if (partial) {
        lfuse__put(r->t.out, indent + 1, "e%d[l] = ZERO_%s;", j, reg);
        lfuse__put(r->t.out, indent + 1, "if (l >= count) continue;");
    }
    snprintf(target, sizeof target, "e%d[l]", j);
    lfuse__rows_put_load(r, indent + 1, j, target, "e + l");
    lfuse__put(r->t.out, indent, "}");
    lfuse__put(r->t.out, indent, "x%d = LANES_%s(e%d);", j, reg, j);
}

static void put_load(const lfuse__rows *r, int indent, int j, bool partial)
{
    const lfuse__kernel_operand *o = &r->t.k->operands[j];
    const bool unit = lfuse__in_blocks(o);
    lfuse__put(r->t.out, indent, "L_%s x%d;", lfuse__register_word(o->type), j);
    if (unit && partial) lfuse__put(r->t.out, indent, "if (count >= LANES)");
    if (unit && o->gathered) {
        lfuse__put(r->t.out, indent + partial, "x%d = k%d ? LOADL_%s(p%d, (i64)(b%d + (%s)e)) : SPLAT_%s(ZERO_%s);", j,
                   j, lfuse__memory_word(o->type), j, j, r->t.ix, lfuse__register_word(o->type),
                   lfuse__register_word(o->type));
    } else if (unit) {
        lfuse__put(r->t.out, indent + partial, "x%d = LOADL_%s(p%d, (i64)(b%d + (%s)e));", j,
                   lfuse__memory_word(o->type), j, j, r->t.ix);
    }
    if (unit && !partial) return;
    lfuse__put(r->t.out, indent, unit ? "else {" : "{");
    put_spread_load(r, indent + 1, j, partial);
    lfuse__put(r->t.out, indent, "}");
}

static void put_store(const lfuse__rows *r, int indent, int j, int from, bool partial)
{
    const lfuse__kernel_operand *o = &r->t.k->operands[j];
    const bool unit = o->inner == LFUSE__STRIDE_UNIT;
    const char *reg = lfuse__register_word(o->type);
    char value[32];
    if (unit && partial) lfuse__put(r->t.out, indent, "if (count >= LANES)");
    if (unit)
        lfuse__put(r->t.out, indent + partial, "STOREL_%s(p%d, (i64)(b%d + (%s)e), r%d);", lfuse__memory_word(o->type),
                   j, j, r->t.ix, from);
    if (unit && !partial) return;
    lfuse__put(r->t.out, indent, unit ? "else {" : "{");
    lfuse__put(r->t.out, indent + 1, "S_%s e%d[LANES];", reg, j);
    lfuse__put(r->t.out, indent + 1, "SPREAD_%s(e%d, r%d);", reg, j, from);
    lfuse__put(r->t.out, indent + 1, "for (int l = 0; l < %s; l++) {", partial ? "LANES && l < count" : "LANES");
    snprintf(value, sizeof value, "e%d[l]", j);
    lfuse__rows_put_store(r, indent + 2, j, "e + l", value);
    lfuse__put(r->t.out, indent + 1, "}");
    lfuse__put(r->t.out, indent, "}");
}

/* What the sweep before left. */
static void put_kept(const lfuse__rows *r, int indent, bool partial)
{
    put_load(r, indent, r->kept_in, partial);
    lfuse__put(r->t.out, indent, "const L_%s r%d = x%d;", lfuse__register_word(r->t.k->operands[r->kept_in].type),
               r->kept, r->kept_in);
}

/* Elements e ... e + LANES - 1: loaded, computed, gathered in lane `to`, stored. */
static void put_step(const lfuse__rows *r, int indent, int sweep, lfuse__lane to, bool partial)
{
    const lfuse__body *body = r->t.k->body;
    bool needed[LFUSE__ROW_INSTR], loads[LFUSE__MAX_OPERANDS];
    lfuse__rows_needs(r, sweep, needed, loads);
    if (!partial) lfuse__rows_put_prefetches(r, indent, sweep);
    for (int j = 0; j < r->t.k->noperands; j++)
        if (loads[j]) put_load(r, indent, j, partial);
    if (r->kept >= 0 && sweep == r->nsweeps - 1) {
        put_kept(r, indent, partial);
        needed[r->kept] = false;
    }
    lfuse__rows_put_elements(r, indent, needed, "e + l", partial ? "l < count" : NULL);
    for (int i = 0; i < body->ninstr; i++) {
        char index[96];
        if (!lfuse__rows_reduces(r, i, sweep)) continue;
        snprintf(index, sizeof index, "ADD_%s(SPLAT_%s((%s)e), IOTA_%s())", r->t.ix, r->t.ix, r->t.ix, r->t.ix);
        lfuse__rows_put_gather(r, indent, i, to, partial ? "BELOW(count)" : NULL, index);
    }
    if (r->kept >= 0 && sweep == r->nsweeps - 2) put_store(r, indent, r->kept_in, r->kept, partial);
    if (!lfuse__rows_stores(r, sweep)) return;
    for (int i = 0; i < body->nstores; i++)
        if (!r->row[body->stores[i].operand])
            put_store(r, indent, body->stores[i].operand, body->stores[i].reg, partial);
}

static void put_fold(const lfuse__rows *r, int indent, int i)
{
    static const char *const halves[] = {"HALF8", "HALF4", "HALF2", "HALF1"};
    const lfuse__lane a = {"ln", "[a]"}, b = {"ln", "[a + h]"}, first = {"ln", "[0]"}, high = {"hk", ""};
    lfuse__put(r->t.out, 0, "#pragma unroll");
    lfuse__put(r->t.out, indent, "for (int h = %d / LANES; h > 0; h /= 2) {", LFUSE__ROW_LANES / 2);
    lfuse__put(r->t.out, 0, "#pragma unroll");
    lfuse__put(r->t.out, indent + 1, "for (int a = 0; a < h; a++) {");
    lfuse__rows_put_combine(r, indent + 2, i, a, a, b);
    lfuse__put(r->t.out, indent + 1, "}");
    lfuse__put(r->t.out, indent, "}");
    for (int h = 0; h < 4 && r->facts->vector_lanes; h++) {
        lfuse__put(r->t.out, indent, "{");
        lfuse__put(r->t.out, indent + 1, "const L_%s h%d = %s_%s(l%d[0]);", lfuse__rows_word(r, i), i, halves[h],
                   lfuse__rows_word(r, i), i);
        if (lfuse__rows_indexed(r, i))
            lfuse__put(r->t.out, indent + 1, "const L_%s k%d = %s_%s(n%d[0]);", r->t.ix, i, halves[h], r->t.ix, i);
        lfuse__rows_put_combine(r, indent + 1, i, first, first, high);
        lfuse__put(r->t.out, indent, "}");
    }
}

static void put_segment(const lfuse__rows *r, int indent, int sweep)
{
    const lfuse__body *body = r->t.k->body;
    const lfuse__lane lane = {"ln", "[a]"}, rest = {"zy", "[a]"};
    lfuse__strbuf *out = r->t.out;
    char count[24];
    snprintf(count, sizeof count, "%d / LANES", LFUSE__ROW_LANES);
    lfuse__put(out, indent, "int step = 0;");
    for (int i = 0; i < body->ninstr; i++)
        if (lfuse__rows_reduces(r, i, sweep)) lfuse__rows_put_lanes(r, indent, i, "ln", count);
    lfuse__put(out, indent, "for (; step + %d <= left; step += %d) {", LFUSE__ROW_LANES, LFUSE__ROW_LANES);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (int a = 0; a < %s; a++) {", count);
    lfuse__put(out, indent + 2, "const %s e = seg + (%s)(step + a * LANES);", r->t.ux, r->t.ux);
    put_step(r, indent + 2, sweep, lane, false);
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent, "}");
    lfuse__put(out, indent, "if (step < left) {");
    for (int i = 0; i < body->ninstr; i++)
        if (lfuse__rows_reduces(r, i, sweep)) lfuse__rows_put_lanes(r, indent + 1, i, "zy", count);
    lfuse__put(out, indent + 1, "for (int a = 0; step + a * LANES < left; a++) {");
    lfuse__put(out, indent + 2, "const int count = left - step - a * LANES;");
    lfuse__put(out, indent + 2, "const %s e = seg + (%s)(step + a * LANES);", r->t.ux, r->t.ux);
    put_step(r, indent + 2, sweep, rest, true);
    lfuse__put(out, indent + 1, "}");
    for (int i = 0; i < body->ninstr; i++) {
        if (!lfuse__rows_reduces(r, i, sweep)) continue;
        lfuse__put(out, 0, "#pragma unroll");
        lfuse__put(out, indent + 1, "for (int a = 0; a < %s; a++) {", count);
        lfuse__rows_put_combine(r, indent + 2, i, lane, lane, rest);
        lfuse__put(out, indent + 1, "}");
    }
    lfuse__put(out, indent, "}");
    for (int i = 0; i < body->ninstr; i++)
        if (lfuse__rows_reduces(r, i, sweep)) put_fold(r, indent, i);
}

static void put_partial(const lfuse__rows *r, int indent)
{
    lfuse__strbuf *out = r->t.out;
    lfuse__put(out, indent, "const u64 total = rows * segments, share = (total + GROUPS() - 1) / GROUPS();");
    lfuse__put(out, indent, "for (u64 cell = GROUP() * share; cell < total && cell < (GROUP() + 1) * share; cell++) {");
    lfuse__put(out, indent + 1, "const %s row = (%s)(cell / segments);", r->t.ux, r->t.ux);
    lfuse__put(out, indent + 1, "const %s seg = (%s)(cell %% segments) * %d;", r->t.ux, r->t.ux, LFUSE__SEGMENT);
    lfuse__put(out, indent + 1, "const int left = length - seg < %d ? (int)(length - seg) : %d;", LFUSE__SEGMENT,
               LFUSE__SEGMENT);
    lfuse__rows_put_bases(r, indent + 1);
    lfuse__rows_put_phase(r, indent + 1, 0, false);
    put_segment(r, indent + 1, 0);
    lfuse__rows_put_keep(r, indent + 1, "cell");
    lfuse__put(out, indent, "}");
}

static void put_rows(const lfuse__rows *r, int indent)
{
    lfuse__strbuf *out = r->t.out;
    lfuse__put(out, indent, "const u64 share = (rows + GROUPS() - 1) / GROUPS();");
    lfuse__put(out, indent, "for (u64 one = GROUP() * share; one < rows && one < (GROUP() + 1) * share; one++) {");
    lfuse__put(out, indent + 1, "const %s row = (%s)one;", r->t.ux, r->t.ux);
    lfuse__rows_put_next(r, indent + 1);
    lfuse__rows_put_bases(r, indent + 1);
    for (int sweep = 0; sweep < r->nsweeps; sweep++) {
        lfuse__rows_put_phase(r, indent + 1, sweep, false);
        lfuse__rows_put_segments(r, indent + 1, sweep, "int", put_segment);
    }
    lfuse__rows_put_phase(r, indent + 1, r->nsweeps, true);
    lfuse__rows_put_row_stores(r, indent + 1);
    lfuse__put(out, indent, "}");
}

void lfuse__rows_put_single_segment(const lfuse__rows *r, int indent)
{
    put_segment(r, indent, 0);
}

void lfuse__rows_put_single_sweep(const lfuse__rows *r, int indent, int sweep)
{
    lfuse__rows_put_segments(r, indent, sweep, "int", put_segment);
}

void lfuse__rows_emit_single(lfuse__rows *r, const char *name)
{
    lfuse__rows_put_head(r, name, 1);
    if (r->mapping.form == LFUSE__ROWS_PARTIAL) {
        lfuse__rows_put_partials(r, 1);
        put_partial(r, 1);
    } else {
        r->asks = r->facts->vector_lanes;
        lfuse__rows_find_kept(r);
        put_rows(r, 1);
    }
    lfuse__put(r->t.out, 0, "}");
}
