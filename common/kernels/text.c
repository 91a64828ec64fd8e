/* SPDX-License-Identifier: Apache-2.0 */
/* Lines, heads and words of kernel texts. */
#include <stdarg.h>
#include <stdio.h>

#include "common/base/power.h"
#include "common/kernels/emit.h"

static const struct {
    const char *memory, *reg;
    unsigned bytes;
} types[] = {
#define TYPE_ROW(name, number, text, size) [number] = {text, text, size},
    LFUSE_TYPE_MAP(TYPE_ROW)
#undef TYPE_ROW
};

void lfuse__put(lfuse__strbuf *out, int indent, const char *format, ...)
{
    va_list args;
    lfuse__strbuf_format(out, "%*s", 4 * indent, "");
    va_start(args, format);
    lfuse__strbuf_vformat(out, format, args);
    va_end(args);
    lfuse__strbuf_add(out, "\n");
}

lfuse__expr lfuse__expression(const char *format, ...)
{
    lfuse__expr made;
    va_list args;
    va_start(args, format);
    vsnprintf(made.text, sizeof made.text, format, args);
    va_end(args);
    return made;
}

void lfuse__put_kernel(lfuse__strbuf *out, const char *name, int group, int words, int buffers)
{
    lfuse__put(out, 0, "KERNEL(%s, %d, %d, PARAMS_%d)", name, group, words, buffers);
    lfuse__put(out, 0, "{");
    lfuse__put(out, 1, LFUSE__BEGIN);
}

/* The operators whose words are not in the preludes, so that kernels without them compile faster. */
static bool is_power(const lfuse__instr *in)
{
    return in->kind == LFUSE__I_APPLY &&
           (in->op == LFUSE__OP_powi ||
            (in->op == LFUSE__OP_pow && (in->type == LFUSE_F64 || lfuse__is_integer((lfuse_type)in->type))));
}

void lfuse__put_powers(lfuse__strbuf *out, const lfuse__body *body)
{
    for (int i = 0; i < body->ninstr; i++)
        if (is_power(&body->instr[i])) {
            lfuse__strbuf_add(out, lfuse__power_text());
            return;
        }
}

const char *lfuse__memory_word(lfuse_type type)
{
    return types[type].memory;
}

const char *lfuse__register_word(lfuse_type type)
{
    return type == LFUSE_BOOL ? "b" : types[lfuse__register_type(type)].reg;
}

unsigned lfuse__type_bytes(lfuse_type type)
{
    return types[type].bytes;
}

uint64_t lfuse__groups(const lfuse__facts *facts, bool single, uint64_t units, uint64_t each)
{
    uint64_t groups = units / each + (units % each != 0);
    uint64_t bound = facts->elementwise_groups;
    if (bound == 0) bound = single ? LFUSE__LANE_GROUPS : LFUSE__GROUP_BOUND;
    return groups < bound ? groups : bound;
}

void lfuse__text_init(lfuse__text *t, lfuse__strbuf *out, const lfuse__kernel_class *k, const lfuse__layout *layout)
{
    *t = (lfuse__text){.out = out, .k = k, .layout = layout};
    t->ux = k->index64 ? "u64" : "u32";
    t->ix = k->index64 ? "i64" : "i32";
    if (layout) t->numbers = layout->numbers;
    for (int i = 0; i < k->body->ninstr; i++)
        if (k->body->instr[i].kind == LFUSE__I_LOAD && !lfuse__is_gather(k, &k->body->instr[i]))
            t->loaded[k->body->instr[i].a] = true;
    for (int i = 0; i < k->body->nstores; i++) t->stored[k->body->stores[i].operand] = true;
}

void lfuse__put_memory(const lfuse__text *t)
{
    for (int j = 0; j < t->k->noperands; j++)
        if (!t->k->operands[j].index) lfuse__put(t->out, 1, "memory p%d = BUFFER(%d) + W(%d);", j, j, j);
    lfuse__put_reports(t, 1);
}
