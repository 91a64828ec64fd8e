/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a Strassen kernel on CPUs: over the run of one block after the other. */
#include "common/matmul/strassen.h"

static void put_loads(const lfuse__strassen *s, int indent)
{
    const int noperands = s->t.k->noperands;
    lfuse__strbuf *out = s->t.out;
    bool any = false;
    for (int j = LFUSE__PRODUCT_OWN; j < noperands; j++) {
        if (s->t.loaded[j]) lfuse__put(out, indent, "L_%s x%d;", lfuse__register_word(s->t.k->operands[j].type), j);
        any = any || s->t.loaded[j];
    }
    if (s->t.loaded[LFUSE__PRODUCT_SUM])
        lfuse__put(out, indent, "const L_%s x%d = e[b][v];", s->sum, LFUSE__PRODUCT_SUM);
    if (any) lfuse__put_product_lanes(&s->t, &s->l, indent, true, "row", "column");
}

static void put_stores(const lfuse__strassen *s, int indent)
{
    const int noperands = s->t.k->noperands;
    lfuse__strbuf *out = s->t.out;
    bool any = false;
    for (int j = LFUSE__PRODUCT_OWN; j < noperands; j++) any = any || s->t.stored[j];
    if (any) lfuse__put_product_lanes(&s->t, &s->l, indent, false, "row", "column");
    if (s->t.stored[LFUSE__STRASSEN_FACTORS])
        lfuse__put(out, indent, "e[b][v] = SEL_%s(BELOW(count), y%d, SPLAT_%s(ZERO_%s));", s->sum,
                   LFUSE__STRASSEN_FACTORS, s->sum, s->sum);
}

void lfuse__strassen_put_lanes(const lfuse__strassen *s, int indent)
{
    lfuse__strbuf *out = s->t.out;
    lfuse__put(out, indent, "for (int b = 0; b < %d; b++)", s->blocks);
    lfuse__put(out, indent, "for (int v = 0; v < run; v++) {");
    lfuse__put(out, indent + 1, "const u32 row = i + (u32)(b / %d) * high, column = j + (u32)(b %% %d) * wide + (u32)v "
               "* LANES;", s->side, s->side);
    lfuse__put(out, indent + 1, "const int left = row < m && column < n ? (int)(n - column) : 0;");
    lfuse__put(out, indent + 1, "const int count = left < LANES ? left : LANES;");
    put_loads(s, indent + 1);
    for (int j = 0; j < s->t.k->noperands; j++)
        if (s->t.stored[j]) lfuse__put(out, indent + 1, "L_%s y%d;", lfuse__register_word(s->t.k->operands[j].type), j);
    lfuse__put(out, indent + 1, "{");
    lfuse__put_body(&s->t, indent + 2, "");
    lfuse__put(out, indent + 1, "}");
    put_stores(s, indent + 1);
    lfuse__put(out, indent, "}");
}
