/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What row kernels of CPUs leave to the caches from sweep to sweep. A function that the last two sweeps need of every
 * element is computed in the first of them and waits where the last one stores: exp of a softmax, once. And as a sweep
 * between the first and the last one moves nothing to or from memory, it asks for the next row, and for the lines that
 * the last sweep stores to.
 */
#include <string.h>

#include "common/graph/op.h"
#include "common/kernels/rows.h"

enum { NEXT_MOST = 32768 /* elements of a row that caches have room for, with the next one and what is stored */ };

/* Whether register `reg` takes a function to compute, of those that take longer than a load. */
static bool has_function(const lfuse__rows *r, int reg)
{
    const lfuse__body *body = r->t.k->body;
    bool needed[LFUSE__ROW_INSTR] = {false};
    needed[reg] = true;
    lfuse__body_needs(body, r->of_row, needed);
    for (int i = 0; i <= reg; i++)
        if (needed[i] && !r->of_row[i] && body->instr[i].kind == LFUSE__I_APPLY &&
            lfuse__ops[body->instr[i].op].ulp_f32 > 0)
            return true;
    return false;
}

/* Where elements of that type are stored side by side. */
static int store_of(const lfuse__rows *r, lfuse_type type)
{
    const lfuse__body *body = r->t.k->body;
    for (int i = 0; i < body->nstores; i++) {
        const lfuse__kernel_operand *o = &r->t.k->operands[body->stores[i].operand];
        if (!r->row[body->stores[i].operand] && lfuse__in_blocks(o) && o->type == type) return body->stores[i].operand;
    }
    return -1;
}

/*
 * What is stored to kept_in may lie where an element of the same place was read: every other use of elements is in the
 * way. What all rows share is no element of what is stored, unless there is one row, which has `fixed` stores too.
 */
static bool in_the_way(const lfuse__rows *r, int sweep, bool same_place)
{
    const bool one_row = r->t.k->operands[r->kept_in].fixed;
    bool needed[LFUSE__ROW_INSTR], loads[LFUSE__MAX_OPERANDS];
    lfuse__rows_needs(r, sweep, needed, loads);
    for (int i = 0; i < r->t.k->body->ninstr; i++)
        if (needed[i] && !r->of_row[i] && lfuse__rows_is_far(r, i)) return true;
    for (int j = 0; j < r->t.k->noperands; j++) {
        const lfuse__kernel_operand *o = &r->t.k->operands[j];
        if (loads[j] && (one_row || !o->fixed) && !(same_place && lfuse__in_blocks(o) && !o->gathered)) return true;
    }
    return false;
}

void lfuse__rows_find_kept(lfuse__rows *r)
{
    const lfuse__body *body = r->t.k->body;
    const int last = r->nsweeps - 1;
    bool before[LFUSE__ROW_INSTR], behind[LFUSE__ROW_INSTR], loads[LFUSE__MAX_OPERANDS];
    r->kept = -1;
    if (last < 1 || !lfuse__rows_stores(r, last)) return;
    lfuse__rows_needs(r, last - 1, before, loads);
    lfuse__rows_needs(r, last, behind, loads);
    for (int i = body->ninstr - 1; i >= 0 && r->kept < 0; i--) {
        const lfuse_type type = body->instr[i].type;
        if (!before[i] || !behind[i] || r->of_row[i] || (type != LFUSE_F32 && type != LFUSE_F64)) continue;
        r->kept_in = store_of(r, type);
        if (r->kept_in < 0 || !has_function(r, i)) continue;
        r->kept = i;
        if (in_the_way(r, last - 1, true) || in_the_way(r, last, false)) r->kept = -1;
    }
}

/* ---- the next row ---- */

static bool asks_for(const lfuse__rows *r, int j)
{
    const lfuse__kernel_operand *o = &r->t.k->operands[j];
    bool needed[LFUSE__ROW_INSTR], loads[LFUSE__MAX_OPERANDS];
    lfuse__rows_needs(r, 0, needed, loads);
    return loads[j] && !o->fixed && !o->gathered && lfuse__in_blocks(o);
}

void lfuse__rows_put_next(const lfuse__rows *r, int indent)
{
    if (!r->asks || r->nsweeps < 3) return;
    for (int j = 0; j < r->t.k->noperands; j++)
        if (asks_for(r, j)) lfuse__put(r->t.out, indent, "memory next%d;", j);
    lfuse__put(r->t.out, indent, "{");
    lfuse__put(r->t.out, indent + 1, "const %s row = (%s)(one + (one + 1 < rows && length <= %d));", r->t.ux, r->t.ux,
               NEXT_MOST);
    lfuse__rows_put_offsets(r, indent + 1);
    for (int j = 0; j < r->t.k->noperands; j++)
        if (asks_for(r, j))
            lfuse__put(r->t.out, indent + 1, "next%d = p%d + (i64)b%d * %u;", j, j, j,
                       lfuse__type_bytes(r->t.k->operands[j].type));
    lfuse__put(r->t.out, indent, "}");
}

void lfuse__rows_put_prefetches(const lfuse__rows *r, int indent, int sweep)
{
    const lfuse__body *body = r->t.k->body;
    if (!r->asks || r->nsweeps < 3 || sweep != r->nsweeps - 2) return;
    for (int j = 0; j < r->t.k->noperands; j++)
        if (asks_for(r, j))
            lfuse__put(r->t.out, indent, "PREFETCH(next%d + (i64)e * %u);", j,
                       lfuse__type_bytes(r->t.k->operands[j].type));
    for (int i = 0; i < body->nstores; i++) {
        const int j = body->stores[i].operand;
        if (r->row[j] || !lfuse__in_blocks(&r->t.k->operands[j]) || (r->kept >= 0 && j == r->kept_in)) continue;
        lfuse__put(r->t.out, indent, "PREFETCH_STORE(p%d + ((i64)b%d + (i64)e) * %u);", j, j,
                   lfuse__type_bytes(r->t.k->operands[j].type));
    }
}
