/* SPDX-License-Identifier: Apache-2.0 */
/* Every element of a loop by itself: the kernel is text/pointwise.k. */
#include "common/base/error.h"
#include "common/kernels/emit.h"
#include "common/kernels/template.h"

#include "common/kernels/text/pointwise.k.h"

static void put_memory(const void *text, int which, int indent)
{
    (void)which, (void)indent;
    lfuse__put_memory(text);
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
    const bool single = facts->vector_lanes;
    const lfuse__place places[] = {{"MEMORY", put_memory, 0}, {"UNIFORM", lfuse__put_uniform, 0},
                                   {"ELEMENTS", single ? lfuse__put_lanes : lfuse__put_tile, 0}, {NULL}};
    const lfuse__parameter parameters[] = {
        {"NAME", .word = name}, {"ITEMS", .number = single ? 1 : LFUSE__GROUP}, {"WORDS", .number = layout.total},
        {"BUFFERS", .number = lfuse__kernel_buffers(k)}, {"TILE", .number = (int)lfuse__items_tile(&t)},
        {"SINGLE", .number = single}, {"UX", .word = t.ux}, {"COUNT", .number = layout.count},
        {"VECTORS", .number = layout.flags}, {"ROUNDS", .number = k->index64 || facts->elementwise_groups}, {NULL}};
    lfuse__put_powers(out, k->body);
    lfuse__put_text(out, 0, lfuse__text_pointwise, parameters, places, &t);
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
