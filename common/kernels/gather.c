/* SPDX-License-Identifier: Apache-2.0 */
/* Loads whose place along one axis is a register: embedding look-ups. */
#include "common/kernels/emit.h"

bool lfuse__kernel_gathers(const lfuse__kernel_class *k)
{
    for (int j = 0; j < k->noperands; j++)
        if (k->operands[j].gathered) return true;
    return false;
}

int lfuse__kernel_buffers(const lfuse__kernel_class *k)
{
    const bool staged = k->family == LFUSE__FAMILY_ROWS && lfuse__rows_staged(&k->rows);
    const bool product = (k->family == LFUSE__FAMILY_PRODUCT || k->family == LFUSE__FAMILY_GROUPED) &&
                         k->product.solver;
    return k->noperands + lfuse__kernel_gathers(k) + (staged || product);
}

bool lfuse__gather_steady(const lfuse__kernel_class *k, int at)
{
    bool steady[LFUSE__MAX_INSTRUCTIONS];
    const int reg = k->body->instr[at].b;
    for (int n = 0; n <= reg; n++) {
        const lfuse__instr *i = &k->body->instr[n];
        int16_t in[3];
        steady[n] = i->kind != LFUSE__I_LOAD || k->operands[i->a].inner == LFUSE__STRIDE_REPEAT;
        for (int a = lfuse__body_arguments(i, in) - 1; a >= 0; a--) steady[n] = steady[n] && steady[in[a]];
    }
    return steady[reg];
}

void lfuse__put_reports(const lfuse__text *t, int indent)
{
    if (lfuse__kernel_gathers(t->k)) 
        lfuse__put(t->out, indent, "memory reports = BUFFER(%d) + W(%d);", t->k->noperands, t->layout->gathers + 1);
}

void lfuse__put_look_up(const lfuse__text *t, int indent, int at, const char *value, const char *element)
{
    const int word = t->layout->gather[t->k->body->instr[at].a];
    lfuse__put(t->out, indent, "const i64 n%d = LOOK_UP((i64)(%s), W(%d), reports, W(%d), (u64)(%s));", at, value, word,
               t->layout->gathers, element);
}

lfuse__expr lfuse__look_up_offset(const lfuse__text *t, int at)
{
    return lfuse__expression("n%d * (i64)W(%d)", at, t->layout->gather[t->k->body->instr[at].a] + 1);
}
