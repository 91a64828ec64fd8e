/* SPDX-License-Identifier: Apache-2.0 */
/* What is the same for all elements of a loop: computed before it, and in the lanes form splatted when it is loaded. */
#include "common/kernels/emit.h"

/* One number for the whole loop: of a chunk in list kernels, else of a loop that has no other axis to walk. */
static bool repeats(const lfuse__text *t, const lfuse__instr *instr)
{
    const lfuse__kernel_operand *o = &t->k->operands[instr->a];
    return o->inner == LFUSE__STRIDE_REPEAT && !o->gathered && !o->index && (!t->layout || t->k->rank == 1);
}

static bool of_uniform(const lfuse__text *t, const lfuse__instr *instr)
{
    int16_t in[3];
    for (int i = lfuse__body_arguments(instr, in) - 1; i >= 0; i--)
        if (!t->uniform[in[i]]) return false;
    return true;
}

void lfuse__uniform_find(lfuse__text *t)
{
    const lfuse__body *body = t->k->body;
    for (int i = 0; i < body->ninstr; i++) {
        const lfuse__instr *instr = &body->instr[i];
        switch ((lfuse__instr_kind)instr->kind) {
        case LFUSE__I_LOAD: t->uniform[i] = repeats(t, instr); break;
        case LFUSE__I_REDUCE: t->uniform[i] = false; break;
        default: t->uniform[i] = of_uniform(t, instr); break;
        }
        if (instr->kind != LFUSE__I_LOAD || !t->uniform[i]) continue;
        t->steady[instr->a] = true;
        t->loaded[instr->a] = false;
    }
}

void lfuse__put_steady(const lfuse__text *t, int indent, int j)
{
    const lfuse_type type = t->k->operands[j].type;
    const char *word = lfuse__register_word(type);
    lfuse__put(t->out, indent, "const L_%s x%d = SPLAT_%s(LOAD_%s(p%d, 0));", word, j, word, lfuse__memory_word(type),
               j);
}

void lfuse__put_uniform(const void *text, int which, int indent)
{
    const lfuse__text *t = text;
    (void)which;
    for (int j = 0; j < t->k->noperands; j++)
        if (t->steady[j]) lfuse__put_steady(t, indent, j);
    for (int i = 0; i < t->k->body->ninstr; i++)
        if (t->uniform[i]) lfuse__put_instr(t, indent, i, "");
}
