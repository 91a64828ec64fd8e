/* SPDX-License-Identifier: Apache-2.0 */
/* A row a work-item: the kernel is text/rows_single.k. */
#include "common/kernels/rows.h"

#include "common/kernels/text/rows_single.k.h"
#include "common/kernels/text/rows_single_segment.k.h"

static void put_spread_load(const lfuse__rows *r, int indent, int j, bool partial)
{
    const char *reg = lfuse__register_word(r->t.k->operands[j].type);
    lfuse__put(r->t.out, indent, "S_%s e%d[LANES];", reg, j);
    lfuse__put(r->t.out, indent, "for (int l = 0; l < LANES; l++) {");
    if (partial) {
        lfuse__put(r->t.out, indent + 1, "e%d[l] = ZERO_%s;", j, reg);
        lfuse__put(r->t.out, indent + 1, "if (l >= count) continue;");
    }
    lfuse__rows_put_load(r, indent + 1, j, lfuse__expression("e%d[l]", j).text, "e + l");
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
    if (unit && partial) lfuse__put(r->t.out, indent, "if (count >= LANES)");
    if (unit)
        lfuse__put(r->t.out, indent + partial, "STOREL_%s(p%d, (i64)(b%d + (%s)e), r%d);", lfuse__memory_word(o->type),
                   j, j, r->t.ix, from);
    if (unit && !partial) return;
    lfuse__put(r->t.out, indent, unit ? "else {" : "{");
    lfuse__put(r->t.out, indent + 1, "S_%s e%d[LANES];", reg, j);
    lfuse__put(r->t.out, indent + 1, "SPREAD_%s(e%d, r%d);", reg, j, from);
    lfuse__put(r->t.out, indent + 1, "for (int l = 0; l < %s; l++) {", partial ? "LANES && l < count" : "LANES");
    lfuse__rows_put_store(r, indent + 2, j, "e + l", lfuse__expression("e%d[l]", j).text);
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
        const char *x = r->t.ix;
        if (lfuse__rows_reduces(r, i, sweep))
            lfuse__rows_put_gather(r, indent, i, to, partial ? "BELOW(count)" : NULL,
                                   lfuse__expression("ADD_%s(SPLAT_%s((%s)e), IOTA_%s())", x, x, x, x).text);
    }
    if (r->kept >= 0 && sweep == r->nsweeps - 2) put_store(r, indent, r->kept_in, r->kept, partial);
    if (!lfuse__rows_stores(r, sweep)) return;
    for (int i = 0; i < body->nstores; i++)
        if (!r->row[body->stores[i].operand])
            put_store(r, indent, body->stores[i].operand, body->stores[i].reg, partial);
}

/* `partial`: of which there are `count`. */
static void put_elements(const void *context, int partial, int indent)
{
    const lfuse__rows_file *f = context;
    put_step(f->r, indent, f->sweep, (lfuse__lane){partial ? "zy" : "ln", "[a]"}, partial);
}

static void put_segment(const void *context, int which, int indent)
{
    static const lfuse__text_place places[] = {{"ELEMENTS", put_elements, false}, {"LAST_ELEMENTS", put_elements, true},
                                               {NULL, NULL, 0}};
    (void)which;
    lfuse__rows_put_file(context, indent, lfuse__text_rows_single_segment, NULL, places);
}

void lfuse__rows_put_single_segment(const lfuse__rows *r, int indent)
{
    put_segment(&(lfuse__rows_file){.r = r}, 0, indent);
}

void lfuse__rows_put_single_sweep(const lfuse__rows *r, int indent, int sweep)
{
    lfuse__rows_put_segments(r, indent, sweep, "int", put_segment);
}

static void put_sweeps(const void *context, int which, int indent)
{
    const lfuse__rows *r = ((const lfuse__rows_file *)context)->r;
    (void)which;
    for (int sweep = 0; sweep < r->nsweeps; sweep++) {
        lfuse__rows_put_phase(r, indent, sweep, false);
        lfuse__rows_put_single_sweep(r, indent, sweep);
    }
}

void lfuse__rows_emit_single(lfuse__rows *r, const char *name)
{
    static const lfuse__text_place places[] = {{"FOLD_SEGMENT", put_segment, 0}, {"SWEEPS", put_sweeps, 0},
                                               {NULL, NULL, 0}};
    const bool partial = r->mapping.form == LFUSE__ROWS_PARTIAL;
    const lfuse__parameter parameters[] = {{"NAME", .word = name}, {"PARTIAL", .number = partial}, {NULL}};

    r->asks = !partial && r->facts->vector_lanes;
    if (!partial) lfuse__rows_find_kept(r);
    lfuse__put_powers(r->t.out, r->t.k->body);
    lfuse__rows_put_file(&(lfuse__rows_file){.r = r}, 0, lfuse__text_rows_single, parameters, places);
}
