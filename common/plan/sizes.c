/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/*
 * Arithmetic on extents, offsets and steps. Unlike the sizes of users these may be negative. New expressions go into the
 * plan's own graph, each once.
 */
#include "common/plan/draft.h"

#include <string.h>

#include "common/graph/build.h"

/* Symbolic sizes lie far below every number. */
bool lfuse__size_literal(lfuse_size s)
{
    return s >= INT64_MIN / 2;
}

/* ---- sums and products ---- */

static void bounds(const lfuse_graph *g, lfuse_size s, int64_t *low, int64_t *high)
{
    *low = *high = s;
    if (lfuse__size_literal(s)) return;
    *low = g->sizes[lfuse__size_index(s)].low;
    *high = g->sizes[lfuse__size_index(s)].high;
}

static int64_t saturated(lfuse__size_kind kind, int64_t a, int64_t b)
{
    const bool negative = kind == LFUSE__SIZE_SUM ? a < 0 : (a < 0) != (b < 0);
    int64_t x;

    if (kind == LFUSE__SIZE_SUM ? !__builtin_add_overflow(a, b, &x) : !__builtin_mul_overflow(a, b, &x)) return x;
    return negative ? INT64_MIN / 2 : INT64_MAX;
}

static void bound_expression(const lfuse_graph *g, lfuse__size_expr *e)
{
    int64_t a[2], b[2];
    int i;

    bounds(g, e->a, &a[0], &a[1]);
    bounds(g, e->b, &b[0], &b[1]);
    e->low = INT64_MAX;
    e->high = INT64_MIN / 2;
    for (i = 0; i < 4; i++) {
        const int64_t x = saturated(e->kind, a[i & 1], b[e->kind == LFUSE__SIZE_SUM ? i & 1 : i >> 1]);
        if (x < e->low) e->low = x;
        if (x > e->high) e->high = x;
    }
}

static lfuse_size append(lfuse_graph *g, lfuse__size_kind kind, lfuse_size a, lfuse_size b)
{
    lfuse__size_expr e;
    int32_t i;

    for (i = 0; i < g->nsizes; i++)
        if (g->sizes[i].kind == kind && g->sizes[i].a == a && g->sizes[i].b == b) return LFUSE__SIZE_BASE + i;
    memset(&e, 0, sizeof e);
    e.kind = kind;
    e.a = a;
    e.b = b;
    bound_expression(g, &e);
    if (g->nsizes >= LFUSE__MAX_NODES ||
        !lfuse__build_grow((void **)&g->sizes, g->nsizes, &g->size_capacity, sizeof *g->sizes)) {
        lfuse__graph_poison(g, LFUSE_ERR_MEMORY, "no room for the sizes of a plan (%d)", (int)g->nsizes);
        return 0;
    }
    g->sizes[g->nsizes] = e;
    return LFUSE__SIZE_BASE + g->nsizes++;
}

static lfuse_size combine(lfuse_graph *g, lfuse__size_kind kind, lfuse_size a, lfuse_size b)
{
    const lfuse_size neutral = kind == LFUSE__SIZE_PRODUCT;
    const lfuse__size_expr *e;
    int64_t x;

    if (a > b) return combine(g, kind, b, a); /* symbolic ones first, a literal last */
    if (lfuse__size_literal(a)) {
        if (kind == LFUSE__SIZE_SUM ? !__builtin_add_overflow(a, b, &x) : !__builtin_mul_overflow(a, b, &x)) return x;
        lfuse__graph_poison(g, LFUSE_ERR_OVERFLOW, "sizes of a plan cannot be counted (%lld and %lld)", (long long)a,
                            (long long)b);
        return 0;
    }
    if (b == neutral) return a;
    if (kind == LFUSE__SIZE_PRODUCT && b == 0) return 0;
    e = &g->sizes[lfuse__size_index(a)];
    if (lfuse__size_literal(b) && e->kind == kind && lfuse__size_literal(e->b))
        return combine(g, kind, e->a, combine(g, kind, e->b, b));
    return append(g, kind, a, b);
}

lfuse_size lfuse__size_sum(lfuse_graph *g, lfuse_size a, lfuse_size b)
{
    return combine(g, LFUSE__SIZE_SUM, a, b);
}

lfuse_size lfuse__size_product(lfuse_graph *g, lfuse_size a, lfuse_size b)
{
    return combine(g, LFUSE__SIZE_PRODUCT, a, b);
}

/* ---- comparing products ---- */

void lfuse__factors_of(const lfuse_graph *g, lfuse_size s, lfuse__factors *f)
{
    f->known = true;
    f->number = 1;
    f->count = 0;
    lfuse__factors_times(g, f, s);
}

static void add_factor(lfuse__factors *f, lfuse_size s)
{
    int i = f->count;

    if (i == LFUSE__MOST_FACTORS) f->known = false;
    if (!f->known) return;
    for (; i > 0 && f->factor[i - 1] > s; i--) f->factor[i] = f->factor[i - 1];
    f->factor[i] = s;
    f->count++;
}

void lfuse__factors_times(const lfuse_graph *g, lfuse__factors *f, lfuse_size s)
{
    const lfuse__size_expr *e;

    if (!f->known) return;
    if (lfuse__size_literal(s)) {
        if (__builtin_mul_overflow(f->number, s, &f->number)) f->known = false;
        return;
    }
    e = &g->sizes[lfuse__size_index(s)];
    if (e->kind != LFUSE__SIZE_PRODUCT) {
        add_factor(f, s);
        return;
    }
    lfuse__factors_times(g, f, e->a);
    lfuse__factors_times(g, f, e->b);
}

bool lfuse__factors_equal(const lfuse__factors *a, const lfuse__factors *b)
{
    return a->known && b->known && a->number == b->number && a->count == b->count &&
           !memcmp(a->factor, b->factor, (size_t)a->count * sizeof *a->factor);
}

bool lfuse__factors_divide(const lfuse__factors *a, const lfuse__factors *b)
{
    int i, k = 0;

    if (!a->known || !b->known || !a->number || b->number % a->number) return false;
    for (i = 0; i < a->count; i++) {
        while (k < b->count && b->factor[k] != a->factor[i]) k++;
        if (k++ >= b->count) return false;
    }
    return true;
}

bool lfuse__size_same(const lfuse_graph *g, lfuse_size a, lfuse_size b)
{
    lfuse__factors x, y;

    if (a == b) return true;
    if (lfuse__size_literal(a) && lfuse__size_literal(b)) return false;
    lfuse__factors_of(g, a, &x);
    lfuse__factors_of(g, b, &y);
    return lfuse__factors_equal(&x, &y);
}
