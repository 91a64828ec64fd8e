/* SPDX-License-Identifier: Apache-2.0 */
/* Every element of a loop by itself: the kernel is text/pointwise.k. */
#include "common/base/error.h"
#include "common/kernels/emit.h"
#include "common/kernels/families.h"
#include "common/kernels/template.h"

#include "common/kernels/text/pointwise.k.h"

static void put_memory(const void *text, int which, int indent)
{
    (void)which, (void)indent;
    lfuse__put_memory(text);
}

static lfuse_status emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    lfuse__layout layout;
    lfuse__text t;
    LFUSE__TRY(lfuse__class_check(name, k, facts));
    lfuse__layout_make(k, &layout);
    LFUSE__TRY(lfuse__layout_check(k, &layout));
    lfuse__text_init(&t, out, k, &layout);
    lfuse__items_shape(&t, 0);
    lfuse__uniform_find(&t);
    const bool single = facts->vector_lanes;
    const lfuse__text_place places[] = {{"MEMORY", put_memory, 0}, {"UNIFORM", lfuse__put_uniform, 0},
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

static void rebind(const lfuse__kernel_class *k, const lfuse__facts *facts, const lfuse__geometry *g,
                   lfuse__packed *packed)
{
    lfuse__layout layout;
    lfuse__text t;
    lfuse__layout_make(k, &layout);
    lfuse__text_init(&t, NULL, k, &layout);
    lfuse__items_shape(&t, 0);
    lfuse__geometry_rebind(k, &layout, g, facts->vector_lanes ? 0 : t.vector, packed);
}

static lfuse_status pack(const lfuse__kernel_class *k, const lfuse__facts *facts, const lfuse__geometry *g,
                         lfuse__packed *packed)
{
    enum { EACH = 1024 }; /* elements that are worth a group in the lanes form */
    lfuse__layout layout;
    lfuse__text t;
    lfuse__layout_make(k, &layout);
    LFUSE__TRY(lfuse__geometry_pack(k, &layout, g, packed));
    rebind(k, facts, g, packed);
    lfuse__text_init(&t, NULL, k, &layout);
    lfuse__items_shape(&t, 0);
    packed->group = facts->vector_lanes ? 1 : LFUSE__GROUP;
    packed->groups = lfuse__groups(facts, facts->vector_lanes, packed->words[layout.count],
                                   facts->vector_lanes ? EACH : lfuse__items_tile(&t));
    return LFUSE_OK;
}

const lfuse__kernel_family lfuse__family_pointwise = {
    .emit = emit, .pack = pack, .rebind = rebind, .buffers = lfuse__kernel_buffers, .launches = true,
};
