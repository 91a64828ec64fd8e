/* SPDX-License-Identifier: Apache-2.0 */
/* What registers of a body depend on. Instructions stand behind what they take in, so one walk does. */
#include "common/plan/body.h"

#include <stddef.h>
#include <string.h>

int lfuse__body_arguments(const lfuse__instr *in, int16_t registers[3])
{
    int count = 0;

    switch ((lfuse__instr_kind)in->kind) {
    case LFUSE__I_LOAD:
        if (in->b >= 0) registers[count++] = in->b;
        break;
    case LFUSE__I_NUMBER:
    case LFUSE__I_CONST: break;
    case LFUSE__I_APPLY:
        if (in->a >= 0) registers[count++] = in->a;
        if (in->b >= 0) registers[count++] = in->b;
        if (in->c >= 0) registers[count++] = in->c;
        break;
    case LFUSE__I_CONVERT:
    case LFUSE__I_TOTAL:
    case LFUSE__I_REDUCE: registers[count++] = in->a; break;
    }
    return count;
}

int lfuse__body_sweeps(const lfuse__body *body, const bool *row, lfuse__sweep *sweeps)
{
    int16_t in[3];
    int i, k, last = -1;

    for (i = 0; i < body->ninstr; i++) {
        const lfuse__instr *one = &body->instr[i];
        const int count = lfuse__body_arguments(one, in);
        lfuse__sweep *s = &sweeps[i];
        s->element = one->kind == LFUSE__I_LOAD && !row[one->a];
        s->phase = 0;
        for (k = 0; k < count; k++) {
            const int behind = sweeps[in[k]].phase + (body->instr[in[k]].kind == LFUSE__I_REDUCE);
            s->element = s->element || sweeps[in[k]].element;
            if (behind > s->phase) s->phase = (int16_t)behind;
        }
        if (one->kind != LFUSE__I_REDUCE) continue;
        s->element = false;
        if (s->phase > last) last = s->phase;
    }
    for (i = 0; i < body->nstores; i++) {
        const lfuse__store *st = &body->stores[i];
        const int phase = sweeps[st->reg].phase + (body->instr[st->reg].kind == LFUSE__I_REDUCE);
        if (!row[st->operand] && phase > last) last = phase;
    }
    return last + 1;
}

void lfuse__body_needs(const lfuse__body *body, const bool *stop, bool *needed)
{
    int16_t in[3];
    int i, k;

    for (i = body->ninstr - 1; i >= 0; i--) {
        if (!needed[i] || (stop && stop[i])) continue;
        for (k = lfuse__body_arguments(&body->instr[i], in) - 1; k >= 0; k--) needed[in[k]] = true;
    }
}

void lfuse__body_loads(const lfuse__body *body, int reg, bool *needed, bool *loaded)
{
    int i;

    needed[reg] = true;
    lfuse__body_needs(body, NULL, needed);
    for (i = 0; i <= reg; i++)
        if (needed[i] && body->instr[i].kind == LFUSE__I_LOAD) loaded[body->instr[i].a] = true;
}

int lfuse__body_keep(const lfuse__body *body, const bool *keep, lfuse__instr *out, int16_t *register_of)
{
    int i, count = 0;

    for (i = 0; i < body->ninstr; i++) {
        lfuse__instr in = body->instr[i];
        register_of[i] = -1;
        if (!keep[i]) continue;
        if (in.kind == LFUSE__I_LOAD) {
            if (in.b >= 0) in.b = register_of[in.b];
        } else if (in.kind != LFUSE__I_NUMBER) {
            if (in.a >= 0) in.a = register_of[in.a];
            if (in.b >= 0) in.b = register_of[in.b];
            if (in.c >= 0) in.c = register_of[in.c];
        }
        register_of[i] = (int16_t)count;
        out[count++] = in;
    }
    return count;
}

/* Bytes, none of which may lie nowhere. */
static bool same(const void *a, const void *b, int count, size_t element)
{
    return !count || !memcmp(a, b, (size_t)count * element);
}

/* Member by member, as there is padding between them. */
static bool instr_equal(const lfuse__instr *x, const lfuse__instr *y)
{
    return x->kind == y->kind && x->op == y->op && x->type == y->type && x->from == y->from && x->a == y->a &&
           x->b == y->b && x->c == y->c && !memcmp(&x->number, &y->number, sizeof x->number);
}

bool lfuse__body_equal(const lfuse__body *a, const lfuse__body *b)
{
    int i;

    if (a == b) return true;
    if (!a || !b || a->ninstr != b->ninstr || a->nstores != b->nstores || a->nnumbers != b->nnumbers) return false;
    for (i = 0; i < a->ninstr; i++)
        if (!instr_equal(&a->instr[i], &b->instr[i])) return false;
    return same(a->stores, b->stores, a->nstores, sizeof *a->stores) &&
           same(a->number_types, b->number_types, a->nnumbers, sizeof *a->number_types);
}
