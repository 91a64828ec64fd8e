/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to compute a stage with a product: its alternatives, and of the library's own product each likely tiling. */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/loop.h"
#include "common/run/trial.h"

/* The only step of an alternative that is a product of the library's own; NULL: it has others. */
static const lfuse__step *native_of(const lfuse__alternative *a)
{
    const lfuse__step *s = &a->steps[0];

    return a->nsteps == 1 && s->kind == LFUSE__STEP_GEMM && s->product.native ? s : NULL;
}

typedef struct sizes {
    int64_t extents[LFUSE__PRODUCT_EXTENTS];
    lfuse__kernel_class c;
} sizes;

static lfuse_status sizes_of(lfuse_instance *in, const lfuse__step *s, sizes *z)
{
    lfuse__kernel_class wanted[LFUSE__WANTED_MAX];

    lfuse__step_classes(in->body, s, false, wanted);
    z->c = wanted[0];
    return lfuse__product_extents(in, s, z->extents);
}

static void name_way(lfuse__way *w)
{
    char tiling[LFUSE__TILING_NAME];

    lfuse__product_tiling_print(&w->tiling, tiling);
    snprintf(w->name, sizeof w->name, "%s%s%s", w->alternative->name, w->tiled ? " " : "", w->tiled ? tiling : "");
}

/* Whether the estimate takes another way for faster. */
static bool declines(const lfuse_instance *in, const sizes *z)
{
    lfuse__saved_error before;
    lfuse__kernel_class c = z->c;
    bool no;

    lfuse__error_save(&before);
    no = lfuse__product_choose(in->facts, z->extents, true, &c) != LFUSE_OK;
    lfuse__error_restore(&before);
    return no;
}

/* Those of one alternative; `turn` 1: where the estimate prefers others, which are in front then. */
static lfuse_status add_ways(lfuse_instance *in, const lfuse__alternative *a, bool alone, int turn, lfuse__way *ways,
                             int room, int *found)
{
    lfuse__product_tiling tilings[LFUSE__PRODUCT_TILINGS];
    const lfuse__step *s = native_of(a);
    int several = 0, i;
    sizes z;

    if (s) {
        LFUSE__TRY(sizes_of(in, s, &z));
        several = lfuse__product_tilings(in->facts, z.extents, &z.c, tilings);
    }
    if (turn != (s && !alone && declines(in, &z))) return LFUSE_OK;
    for (i = 0; i < (several ? several : 1) && i < room; i++) {
        lfuse__way *w = &ways[(*found)++];
        *w = (lfuse__way){ .alternative = a, .tiled = several > 0 };
        if (several) w->tiling = tilings[i];
        name_way(w);
    }
    return LFUSE_OK;
}

lfuse_status lfuse__ways(lfuse_instance *in, const lfuse__alternative *const *order, int count, lfuse__way *ways,
                         int most, int *found)
{
    int i, turn;

    *found = 0;
    for (turn = 0; turn < 2; turn++)
        for (i = 0; i < count; i++) /* each alternative has room for one way at least */
            LFUSE__TRY(add_ways(in, order[i], count == 1, turn, ways, most - *found - (count - 1 - i), found));
    return LFUSE_OK;
}

lfuse_status lfuse__way_of(lfuse_instance *in, const lfuse__alternative *const *order, int count, const char *name,
                           lfuse__way *way)
{
    const char *blank = strchr(name, ' ');
    const size_t length = blank ? (size_t)(blank - name) : strlen(name);
    sizes z;
    int i;

    for (i = 0; i < count; i++) {
        const lfuse__step *s = native_of(order[i]);
        if (strlen(order[i]->name) != length || strncmp(order[i]->name, name, length)) continue;
        *way = (lfuse__way){ .alternative = order[i], .tiled = blank != NULL };
        if (!blank) return LFUSE_OK;
        if (!s || !lfuse__product_tiling_parse(blank + 1, &way->tiling)) break;
        LFUSE__TRY(sizes_of(in, s, &z));
        return lfuse__product_take(in->facts, z.extents, &way->tiling, &z.c);
    }
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s is no way to do it any more", name);
}
