/* SPDX-License-Identifier: Apache-2.0 */
/* Every element of a loop by itself. */
#include "common/base/error.h"
#include "common/kernels/emit.h"

static void emit_items(const lfuse__text *t, const char *name, const lfuse__facts *facts)
{
    lfuse__strbuf *out = t->out;
    const unsigned tile = lfuse__items_tile(t);
    const bool loop = t->k->index64 || facts->elementwise_groups;
    lfuse__put_powers(out, t->k->body);
    lfuse__put_kernel(out, name, LFUSE__GROUP, t->layout->total, lfuse__kernel_buffers(t->k));
    lfuse__put(out, 1, "const %s n = (%s)W(%d);", t->ux, t->ux, t->layout->count);
    lfuse__put(out, 1, "const u32 vectors = (u32)W(%d);", t->layout->flags);
    lfuse__put_memory(t);
    lfuse__put_uniform(t, 1);
    if (loop)
        lfuse__put(out, 1, "for (u64 tile = GROUP(); tile * %u < n; tile += GROUPS()) {", tile);
    else
        lfuse__put(out, 1, "{");
    lfuse__put(out, 2, "const %s start = (%s)(%s * %u);", t->ux, t->ux, loop ? "tile" : "GROUP()", tile);
    lfuse__put_tile(t, 2);
    lfuse__put(out, 1, "}");
    lfuse__put(out, 0, "}");
}

static void emit_lanes(const lfuse__text *t, const char *name)
{
    lfuse__strbuf *out = t->out;
    lfuse__put_powers(out, t->k->body);
    lfuse__put_kernel(out, name, 1, t->layout->total, lfuse__kernel_buffers(t->k));
    lfuse__put(out, 1, "const %s n = (%s)W(%d);", t->ux, t->ux, t->layout->count);
    lfuse__put(out, 1, "const u64 share = ((n + (u64)(LANES - 1)) / LANES + GROUPS() - 1) / GROUPS() * LANES;");
    lfuse__put(out, 1, "if (GROUP() * share >= n) return;");
    lfuse__put(out, 1, "const %s first = (%s)(GROUP() * share);", t->ux, t->ux);
    lfuse__put(out, 1, "const %s last = n - first < share ? n : first + (%s)share;", t->ux, t->ux);
    lfuse__put_memory(t);
    lfuse__put_uniform(t, 1);
    lfuse__put_lanes_run(t, 1);
    lfuse__put(out, 0, "}");
}

int lfuse__pointwise_words(const lfuse__kernel_class *k)
{
    lfuse__layout layout;
    lfuse__layout_make(k, false, &layout);
    return layout.total;
}

lfuse_status lfuse__pointwise_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k,
                                   const lfuse__facts *facts)
{
    lfuse__layout layout;
    lfuse__text t;
    LFUSE__TRY(lfuse__class_check(name, k, facts));
    lfuse__layout_make(k, false, &layout);
    LFUSE__TRY(lfuse__layout_check(k, &layout));
    lfuse__text_init(&t, out, k, &layout);
    lfuse__items_shape(&t, 0);
    lfuse__uniform_find(&t);
    if (facts->vector_lanes)
        emit_lanes(&t, name);
    else
        emit_items(&t, name, facts);
    return lfuse__strbuf_check(out);
}

void lfuse__pointwise_rebind(const lfuse__kernel_class *k, const lfuse__facts *facts, const lfuse__geometry *g,
                             lfuse__packed *packed)
{
    lfuse__layout layout;
    lfuse__text t;
    lfuse__layout_make(k, false, &layout);
    lfuse__text_init(&t, NULL, k, &layout);
    lfuse__items_shape(&t, 0);
    for (int j = 0; j < k->noperands; j++) packed->words[j] = g->offsets[j];
    packed->words[layout.flags] = !facts->vector_lanes && lfuse__geometry_aligned(k, g, t.vector, false);
    lfuse__reports_pack(k, &layout, g, packed->words);
    lfuse__numbers_pack(k->body, g->numbers, packed->words + layout.numbers);
}

lfuse_status lfuse__pointwise_pack(const lfuse__kernel_class *k, const lfuse__facts *facts, const lfuse__geometry *g,
                                   lfuse__packed *packed)
{
    enum { EACH = 1024 }; /* elements that are worth a group in the lanes form */
    lfuse__layout layout;
    lfuse__text t;
    lfuse__layout_make(k, false, &layout);
    LFUSE__TRY(lfuse__geometry_pack(k, &layout, g, packed));
    lfuse__pointwise_rebind(k, facts, g, packed);
    lfuse__text_init(&t, NULL, k, &layout);
    lfuse__items_shape(&t, 0);
    packed->group = facts->vector_lanes ? 1 : LFUSE__GROUP;
    packed->groups = lfuse__groups(facts, facts->vector_lanes, packed->words[layout.count],
                                   facts->vector_lanes ? EACH : lfuse__items_tile(&t));
    return LFUSE_OK;
}

lfuse_status lfuse__pointwise_warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts,
                                      lfuse__packed *packed)
{
    lfuse__geometry g;
    lfuse__geometry_of_one(&g);
    return lfuse__pointwise_pack(k, facts, &g, packed);
}
