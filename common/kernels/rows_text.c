/* SPDX-License-Identifier: Apache-2.0 */
/* What a row kernel does in which sweep, and the statements that its forms share. */
#include <string.h>

#include "common/base/error.h"
#include "common/kernels/rows.h"

static lfuse_status stores_check(const lfuse__rows *r)
{
    const lfuse__body *body = r->t.k->body;
    for (int i = 0; i < body->nstores; i++) {
        const lfuse__store *s = &body->stores[i];
        if (r->row[s->operand] && r->sweeps[s->reg].element)
            return lfuse__error(LFUSE_ERR_INVALID, "store %d: an element of the row to operand %d, which has one a row",
                                i, s->operand);
    }
    return LFUSE_OK;
}

lfuse_status lfuse__rows_init(lfuse__rows *r, lfuse__strbuf *out, const lfuse__kernel_class *k,
                              const lfuse__row_mapping *mapping, const lfuse__layout *layout,
                              const lfuse__facts *facts)
{
    const lfuse__body *body = k->body;
    if (k->naxes < 1 || k->naxes > k->rank)
        return lfuse__error(LFUSE_ERR_INVALID, "a row kernel that reduces %d of %d axes", k->naxes, k->rank);
    if (body->ninstr > LFUSE__ROW_INSTR)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a row kernel of %d instructions; at most %d", body->ninstr,
                            LFUSE__ROW_INSTR);
    memset(r, 0, sizeof *r);
    r->kept = -1;
    lfuse__text_init(&r->t, out, k, layout);
    r->t.vector = LFUSE__ROW_VECTOR;
    r->facts = facts;
    r->mapping = *mapping;
    for (int j = 0; j < k->noperands; j++) r->row[j] = k->operands[j].inner == LFUSE__STRIDE_REPEAT;
    r->nsweeps = lfuse__body_sweeps(body, r->row, r->sweeps);
    for (int i = 0; i < body->nstores; i++) r->used[body->stores[i].reg] = true;
    lfuse__body_needs(body, NULL, r->used);
    for (int i = 0; i < body->ninstr; i++) r->of_row[i] = !r->sweeps[i].element;
    lfuse__rows_find_look_ups(r);
    return stores_check(r);
}

bool lfuse__rows_reduces(const lfuse__rows *r, int i, int sweep)
{
    return r->used[i] && r->t.k->body->instr[i].kind == LFUSE__I_REDUCE && r->sweeps[i].phase == sweep;
}

bool lfuse__rows_any_reduce(const lfuse__rows *r, int sweep)
{
    for (int i = 0; i < r->t.k->body->ninstr; i++)
        if (lfuse__rows_reduces(r, i, sweep)) return true;
    return false;
}

bool lfuse__rows_stores(const lfuse__rows *r, int sweep)
{
    const lfuse__body *body = r->t.k->body;
    for (int i = 0; i < body->nstores && sweep == r->nsweeps - 1; i++)
        if (!r->row[body->stores[i].operand]) return true;
    return false;
}

void lfuse__rows_needs(const lfuse__rows *r, int sweep, bool *needed, bool *loads)
{
    const lfuse__body *body = r->t.k->body;
    const bool last = sweep == r->nsweeps - 1;
    bool stop[LFUSE__ROW_INSTR];
    memcpy(stop, r->of_row, sizeof stop);
    if (last && r->kept >= 0) stop[r->kept] = true;
    memset(needed, 0, (size_t)body->ninstr * sizeof *needed);
    memset(loads, 0, LFUSE__MAX_OPERANDS * sizeof *loads);
    for (int i = 0; i < body->ninstr; i++)
        if (lfuse__rows_reduces(r, i, sweep)) needed[body->instr[i].a] = true;
    for (int i = 0; i < body->nstores && last; i++)
        if (!r->row[body->stores[i].operand]) needed[body->stores[i].reg] = true;
    lfuse__body_needs(body, stop, needed);
    for (int i = 0; i < body->ninstr; i++)
        if (needed[i] && !r->of_row[i] && body->instr[i].kind == LFUSE__I_LOAD && !lfuse__rows_is_far(r, i))
            loads[body->instr[i].a] = true;
}

void lfuse__rows_put_operands(const lfuse__rows *r)
{
    const lfuse__text *t = &r->t;
    lfuse__put_memory(t);
    /* p<j> is then where a row of it is. */
    for (int j = 0; j < t->k->noperands; j++)
        if (r->near[j] >= 0) lfuse__put(t->out, 1, "memory table%d = p%d;", j, j);
}

void lfuse__rows_put_offsets(const lfuse__rows *r, int indent)
{
    for (int j = 0; j < r->t.k->noperands; j++)
        if (r->t.loaded[j] || r->t.stored[j] || r->t.k->operands[j].gathered)
            lfuse__put(r->t.out, indent, "%s b%d;", r->t.ix, j);
    lfuse__put_offsets(&r->t, indent, "row",
                       LFUSE__AT_LOADED | LFUSE__AT_STORED | LFUSE__AT_GATHERED | LFUSE__AT_ROW);
}

void lfuse__rows_put_bases(const lfuse__rows *r, int indent)
{
    lfuse__rows_put_offsets(r, indent);
    for (int j = 0; j < r->t.k->noperands; j++) lfuse__rows_put_look_up(r, indent, j);
}

void lfuse__rows_put_phase(const lfuse__rows *r, int indent, int phase, bool after)
{
    const lfuse__body *body = r->t.k->body;
    for (int i = 0; i < body->ninstr; i++) {
        const lfuse__instr *instr = &body->instr[i];
        const int at = r->sweeps[i].phase;
        if (!r->used[i] || !r->of_row[i] || instr->kind == LFUSE__I_REDUCE || at < phase || (at > phase && !after))
            continue;
        if (r->early[i]) continue;
        if (instr->kind == LFUSE__I_LOAD && r->across)
            lfuse__rows_put_across_load(r, indent, i);
        else if (instr->kind == LFUSE__I_LOAD)
            lfuse__rows_put_row_load(r, indent, i);
        else
            lfuse__put_instr(&r->t, indent, i, "");
    }
}

void lfuse__rows_put_elements(const lfuse__rows *r, int indent, const bool *needed, const char *place,
                              const char *present)
{
    for (int i = 0; i < r->t.k->body->ninstr; i++) {
        const lfuse__instr *instr = &r->t.k->body->instr[i];
        if (!needed[i] || r->of_row[i]) continue;
        if (lfuse__rows_is_far(r, i))
            lfuse__rows_put_look_up_element(r, indent, i, place, present);
        else if (instr->kind == LFUSE__I_LOAD)
            lfuse__put(r->t.out, indent, "const L_%s r%d = x%d;", lfuse__register_word(instr->type), i, instr->a);
        else
            lfuse__put_instr(&r->t, indent, i, "");
    }
}

void lfuse__rows_put_load(const lfuse__rows *r, int indent, int j, const char *target, const char *place)
{
    const lfuse__expr load = lfuse__load(&r->t, j, lfuse__expression("o%d", j).text);
    lfuse__put(r->t.out, indent, "{");
    lfuse__put_row_place(&r->t, indent + 1, j, place);
    if (r->near[j] >= 0)
        lfuse__put(r->t.out, indent + 1, "%s = k%d ? %s : ZERO_%s;", target, j, load.text,
                   lfuse__register_word(r->t.k->operands[j].type));
    else
        lfuse__put(r->t.out, indent + 1, "%s = %s;", target, load.text);
    lfuse__put(r->t.out, indent, "}");
}

void lfuse__rows_put_store(const lfuse__rows *r, int indent, int j, const char *place, const char *value)
{
    lfuse__put(r->t.out, indent, "{");
    lfuse__put_row_place(&r->t, indent + 1, j, place);
    lfuse__put(r->t.out, indent + 1, "STORE_%s(p%d, o%d, %s);", lfuse__memory_word(r->t.k->operands[j].type), j, j,
               value);
    lfuse__put(r->t.out, indent, "}");
}

/* Whether a value of the row may be stored where one is loaded: in the memory of an input that is updated. */
static bool replaces(const lfuse__rows *r)
{
    const lfuse__body *body = r->t.k->body;

    for (int i = 0; i < body->nstores; i++)
        for (int j = 0; j < r->t.k->noperands; j++)
            if (r->row[body->stores[i].operand] && r->row[j] && r->t.loaded[j] &&
                r->t.k->operands[j].type == r->t.k->operands[body->stores[i].operand].type)
                return true;
    return false;
}

void lfuse__rows_put_sync(const lfuse__rows *r, int indent)
{
    if (replaces(r)) lfuse__put(r->t.out, indent, "SYNC_MEMORY();");
}

void lfuse__rows_put_row_stores(const lfuse__rows *r, int indent)
{
    const lfuse__body *body = r->t.k->body;
    for (int i = 0; i < body->nstores; i++) {
        const int j = body->stores[i].operand;
        const lfuse_type type = r->t.k->operands[j].type;
        if (r->row[j])
            lfuse__put(r->t.out, indent, "STORE_%s(p%d, b%d, FIRST_%s(r%d));", lfuse__memory_word(type), j, j,
                       lfuse__register_word(type), body->stores[i].reg);
    }
}
