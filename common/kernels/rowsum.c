/* SPDX-License-Identifier: Apache-2.0 */
/* One canonical sum a row. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "common/base/error.h"
#include "common/kernels/emit.h"

enum { TEAMS = LFUSE__GROUP / LFUSE__TEAM };

/* The sum of row `row`, left in `total`. */
static void put_row(const lfuse__text *t, int indent, bool lanes)
{
    lfuse__strbuf *out = t->out;
    for (int j = 0; j < t->k->noperands; j++)
        if (t->loaded[j] || t->stored[j]) lfuse__put(out, indent, "%s b%d;", t->ix, j);
    lfuse__put_offsets(t, indent, "row", LFUSE__AT_LOADED | LFUSE__AT_STORED | LFUSE__AT_ROW);
    lfuse__put_counter_begin(out, indent, lfuse__sum_word(t->k));
    lfuse__put(out, indent, "for (%s seg = 0; seg < length; seg += %d) {", t->ux, LFUSE__SEGMENT);
    lfuse__put(out, indent + 1, "const u32 left = %slength - seg < %d ? (u32)(length - seg) : %d;",
               lanes ? "" : "!active ? 0 : ", LFUSE__SEGMENT, LFUSE__SEGMENT);
    lfuse__put_segment(t, indent + 1, lanes);
    lfuse__put_counter_add(out, indent + 1);
    lfuse__put(out, indent, "}");
    lfuse__put_counter_end(out, indent);
}

static void put_head(const lfuse__text *t, const char *name, int group)
{
    lfuse__strbuf *out = t->out;
    lfuse__put_kernel(out, name, group, t->layout->total, t->k->noperands);
    lfuse__put(out, 0, "{");
    lfuse__put(out, 1, "const u64 rows = W(%d);", t->layout->count);
    lfuse__put(out, 1, "const %s length = (%s)W(%d);", t->ux, t->ux, t->layout->length);
    lfuse__put_memory(t);
}

static void emit_items(const lfuse__text *t, const char *name)
{
    lfuse__strbuf *out = t->out;
    const int stored = lfuse__stored_operand(t->k);
    put_head(t, name, LFUSE__GROUP);
    lfuse__put(out, 1, "TEAM_%s", lfuse__sum_word(t->k));
    lfuse__put(out, 1, "const u32 vectors = (u32)W(%d);", t->layout->flags);
    lfuse__put_teams(out, 1);
    lfuse__put(out, 1, "for (u64 first = GROUP() * %d; first < rows; first += GROUPS() * %d) {", TEAMS, TEAMS);
    lfuse__put(out, 2, "const int active = first + team < rows;");
    lfuse__put(out, 2, "const %s row = (%s)(active ? first + team : first);", t->ux, t->ux);
    put_row(t, 2, false);
    lfuse__put(out, 2, "if (active && rank == 0) STORE_%s(p%d, b%d, total);",
               lfuse__memory_word(t->k->operands[stored].type), stored, stored);
    lfuse__put(out, 1, "}");
    lfuse__put(out, 0, "}");
}

static void emit_lanes(const lfuse__text *t, const char *name)
{
    lfuse__strbuf *out = t->out;
    const int stored = lfuse__stored_operand(t->k);
    put_head(t, name, 1);
    lfuse__put(out, 1, "const u64 share = (rows + GROUPS() - 1) / GROUPS();");
    lfuse__put(out, 1, "for (u64 r = GROUP() * share; r < rows && r < (GROUP() + 1) * share; r++) {");
    lfuse__put(out, 2, "const %s row = (%s)r;", t->ux, t->ux);
    put_row(t, 2, true);
    lfuse__put(out, 2, "STORE_%s(p%d, b%d, total);", lfuse__memory_word(t->k->operands[stored].type), stored, stored);
    lfuse__put(out, 1, "}");
    lfuse__put(out, 0, "}");
}

int lfuse__rowsum_words(const lfuse__kernel_class *k)
{
    lfuse__layout layout;
    lfuse__layout_make(k, true, &layout);
    return layout.total;
}

lfuse_status lfuse__rowsum_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k,
                                const lfuse__facts *facts)
{
    lfuse__layout layout;
    lfuse__text t;
    LFUSE__TRY(lfuse__class_check(name, k, facts));
    LFUSE__TRY(lfuse__sum_check(k));
    lfuse__layout_make(k, true, &layout);
    LFUSE__TRY(lfuse__layout_check(k, &layout));
    lfuse__text_init(&t, out, k, &layout);
    lfuse__sum_shape(&t);
    if (lfuse__single(facts))
        emit_lanes(&t, name);
    else
        emit_items(&t, name);
    return lfuse__strbuf_check(out);
}

void lfuse__rowsum_rebind(const lfuse__kernel_class *k, const lfuse__facts *facts, const lfuse__geometry *g,
                          lfuse__packed *packed)
{
    lfuse__layout layout;
    lfuse__text t;
    lfuse__layout_make(k, true, &layout);
    lfuse__text_init(&t, NULL, k, &layout);
    lfuse__sum_shape(&t);
    for (int j = 0; j < k->noperands; j++) packed->words[j] = g->offsets[j];
    packed->words[layout.flags] = !lfuse__single(facts) && lfuse__geometry_aligned(k, g, t.vector, true);
    lfuse__numbers_pack(k->body, g->numbers, packed->words + layout.numbers);
}

lfuse_status lfuse__rowsum_pack(const lfuse__kernel_class *k, const lfuse__facts *facts, const lfuse__geometry *g,
                                lfuse__packed *packed)
{
    lfuse__layout layout;
    const bool single = lfuse__single(facts);
    lfuse__layout_make(k, true, &layout);
    LFUSE__TRY(lfuse__geometry_pack(k, &layout, g, packed));
    lfuse__rowsum_rebind(k, facts, g, packed);
    packed->group = single ? 1 : LFUSE__GROUP;
    packed->groups = lfuse__groups(facts, single, packed->words[layout.count], single ? 1 : TEAMS);
    return LFUSE_OK;
}
