/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic on extents, offsets and steps. Unlike the sizes of users these may be negative. New expressions go into
 * the plan's own graph, each once.
 */
#include "common/plan/draft.h"

#include <string.h>

/* ---- sums and products ---- */

lfuse_size lfuse__size_sum(lfuse_graph *g, lfuse_size a, lfuse_size b)
{
    lfuse_size sum = 0;

    lfuse__size_add(g, "sizes of a plan", a, b, &sum);
    return sum;
}

lfuse_size lfuse__size_product(lfuse_graph *g, lfuse_size a, lfuse_size b)
{
    lfuse_size product = 0;

    lfuse__size_multiply(g, "sizes of a plan", a, b, &product);
    return product;
}

lfuse_size lfuse__size_pieces(lfuse_graph *g, lfuse_size s, int64_t by)
{
    lfuse_size pieces = 0;

    lfuse__size_divide(g, "sizes of a plan", s, by, &pieces);
    return pieces;
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
    if (lfuse__size_is_number(s)) {
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
    if (lfuse__size_is_number(a) && lfuse__size_is_number(b)) return false;
    lfuse__factors_of(g, a, &x);
    lfuse__factors_of(g, b, &y);
    return lfuse__factors_equal(&x, &y);
}
