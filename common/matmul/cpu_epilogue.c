/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the sums of a panel: the epilogue's body over rows and vectors of them, which lie at `sums`. */
#include "common/matmul/cpu.h"

void lfuse__cpu_put_epilogue(const lfuse__text *t, const lfuse__product_layout *l, int indent)
{
    const lfuse__product_class *p = &t->k->product;
    lfuse__strbuf *out = t->out;

    lfuse__put(out, indent, "for (int r = 0; r < rows; r++)");
    lfuse__put(out, indent + 1, "for (int v = 0; v < columns; v += LANES) {");
    lfuse__put(out, indent + 2, "const i64 i = row + r, j = column + v;");
    lfuse__put(out, indent + 2, "const int count = columns - v < LANES ? columns - v : LANES;");
    for (int j = LFUSE__PRODUCT_SUM; j < t->k->noperands; j++) {
        if (t->loaded[j]) lfuse__put(out, indent + 2, "L_%s x%d;", lfuse__register_word(t->k->operands[j].type), j);
        if (t->stored[j]) lfuse__put(out, indent + 2, "L_%s y%d;", lfuse__register_word(t->k->operands[j].type), j);
    }
    if (t->loaded[LFUSE__PRODUCT_SUM])
        lfuse__put(out, indent + 2, "x%d = LOADL_%s(sums, r * %d + v);", LFUSE__PRODUCT_SUM,
                   lfuse__memory_word(p->sum), p->columns);
    lfuse__put_product_lanes(t, l, indent + 2, true, "i", "j");
    lfuse__put(out, indent + 2, "{");
    lfuse__put_body(t, indent + 3, "");
    lfuse__put(out, indent + 2, "}");
    lfuse__put_product_lanes(t, l, indent + 2, false, "i", "j");
    lfuse__put(out, indent + 1, "}");
}
