/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic extents: variables, and sums and products of them, each expression once. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/graph/build.h"

/* What a failed call returns: no builder takes it, and it tells itself apart from every variable. */
enum { POISONED_SIZE = -1 };

static lfuse_size public_size(const lfuse_graph *g, int32_t index)
{
    return LFUSE__SIZE_BASE + (int64_t)(g->tag << LFUSE__SIZE_INDEX_BITS | (uint64_t)index);
}

static lfuse_size append(lfuse_graph *g, const char *call, const lfuse__size_expr *e)
{
    if (g->nsizes >= LFUSE__MAX_NODES) {
        lfuse__graph_poison(g, LFUSE_ERR_OVERFLOW, "%s: more than %d sizes in a graph", call, LFUSE__MAX_NODES);
        return POISONED_SIZE;
    }
    if (!lfuse__build_grow((void **)&g->sizes, g->nsizes, &g->size_capacity, sizeof *g->sizes)) {
        lfuse__graph_poison(g, LFUSE_ERR_MEMORY, "%s: no memory for size %d", call, (int)g->nsizes);
        return POISONED_SIZE;
    }
    g->sizes[g->nsizes] = *e;
    return public_size(g, g->nsizes++);
}

lfuse_size lfuse_size_var(lfuse_graph *g, const char *name, int64_t low, int64_t high)
{
    static const char call[] = "lfuse_size_var";
    lfuse__size_expr e;

    if (!g || !lfuse__build_check_name(g, call, name)) return POISONED_SIZE;
    if (low < 0 || high < low) {
        lfuse__graph_poison(g, LFUSE_ERR_BOUNDS, "%s: \"%s\" has the bounds %" PRId64 " ... %" PRId64, call, name, low,
                            high);
        return POISONED_SIZE;
    }
    memset(&e, 0, sizeof e);
    e.kind = LFUSE__SIZE_VAR;
    memcpy(e.name, name, strlen(name));
    e.low = low;
    e.high = high;
    return append(g, call, &e);
}

static bool combine(lfuse__size_kind kind, int64_t a, int64_t b, int64_t *result)
{
    return kind == LFUSE__SIZE_SUM ? !__builtin_add_overflow(a, b, result) : !__builtin_mul_overflow(a, b, result);
}

/* Where one operand decides: x + 0, 1 * x, 0 * x. The literal, when there is one, is b. */
static bool trivial(lfuse__size_kind kind, lfuse_size a, lfuse_size b, lfuse_size *result)
{
    if (kind == LFUSE__SIZE_SUM ? b == 0 : b == 1) {
        *result = a;
        return true;
    }
    if (kind == LFUSE__SIZE_PRODUCT && b == 0) {
        *result = 0;
        return true;
    }
    return false;
}

static lfuse_size expression(lfuse_graph *g, const char *call, lfuse__size_kind kind, lfuse_size a, lfuse_size b)
{
    lfuse__size_expr e;
    int64_t low_a, high_a, low_b, high_b;
    int32_t i;

    if (!g || !lfuse__build_extent(g, call, a, &a) || !lfuse__build_extent(g, call, b, &b)) return POISONED_SIZE;
    memset(&e, 0, sizeof e);
    e.kind = kind;
    e.a = a < b ? a : b; /* symbolic ones are negative: before literals, in order of their making */
    e.b = a < b ? b : a;
    lfuse__size_bounds(g, a, &low_a, &high_a);
    lfuse__size_bounds(g, b, &low_b, &high_b);
    if (!combine(kind, low_a, low_b, &e.low)) {
        lfuse__graph_poison(g, LFUSE_ERR_OVERFLOW, "%s: %" PRId64 " %c %" PRId64 " is too large", call, low_a,
                            kind == LFUSE__SIZE_SUM ? '+' : '*', low_b);
        return POISONED_SIZE;
    }
    if (!combine(kind, high_a, high_b, &e.high)) e.high = INT64_MAX;
    if (lfuse__size_is_number(a) && lfuse__size_is_number(b)) return e.low;
    if (trivial(kind, e.a, e.b, &a)) return lfuse__size_is_number(a) ? a : public_size(g, lfuse__size_index(a));
    for (i = 0; i < g->nsizes; i++)
        if (g->sizes[i].kind == kind && g->sizes[i].a == e.a && g->sizes[i].b == e.b) return public_size(g, i);
    return append(g, call, &e);
}

lfuse_size lfuse_size_add(lfuse_graph *g, lfuse_size a, lfuse_size b)
{
    return expression(g, "lfuse_size_add", LFUSE__SIZE_SUM, a, b);
}

lfuse_size lfuse_size_mul(lfuse_graph *g, lfuse_size a, lfuse_size b)
{
    return expression(g, "lfuse_size_mul", LFUSE__SIZE_PRODUCT, a, b);
}

void lfuse__size_bounds(const lfuse_graph *g, lfuse_size s, int64_t *low, int64_t *high)
{
    if (lfuse__size_is_number(s)) {
        *low = *high = s;
        return;
    }
    *low = g->sizes[lfuse__size_index(s)].low;
    *high = g->sizes[lfuse__size_index(s)].high;
}

static lfuse_status too_large(const lfuse_graph *g, lfuse_size s)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_status status;

    lfuse__size_print(g, s, &text);
    status = lfuse__error(LFUSE_ERR_OVERFLOW, "the size %s is too large", text.data);
    lfuse__strbuf_free(&text);
    return status;
}

/* Expressions stand after their operands, so one walk in order needs no recursion, however they share operands. */
lfuse_status lfuse__size_evaluate(const lfuse_graph *g, lfuse_size s, const int64_t *values, int64_t *value)
{
    int64_t few[64], *all = few;
    int64_t result;
    int32_t last, i;

    if (lfuse__size_is_number(s)) {
        *value = s;
        return LFUSE_OK;
    }
    last = lfuse__size_index(s);
    if (g->sizes[last].kind == LFUSE__SIZE_VAR) {
        *value = values[last];
        return LFUSE_OK;
    }
    if (last >= 64 && !(all = malloc(((size_t)last + 1) * sizeof *all)))
        return lfuse__error(LFUSE_ERR_MEMORY, "no memory to evaluate %d sizes", (int)last + 1);
    for (i = 0; i <= last; i++) {
        const lfuse__size_expr *e = &g->sizes[i];
        int64_t a, b;
        if (e->kind == LFUSE__SIZE_VAR) {
            all[i] = values[i];
            continue;
        }
        a = lfuse__size_is_number(e->a) ? e->a : all[lfuse__size_index(e->a)];
        b = lfuse__size_is_number(e->b) ? e->b : all[lfuse__size_index(e->b)];
        if (a >= 0 && b >= 0 && combine(e->kind, a, b, &all[i])) continue;
        all[i] = -1; /* only an error where the size that is asked for depends on it */
    }
    result = all[last];
    if (all != few) free(all);
    if (result < 0) return too_large(g, s);
    *value = result;
    return LFUSE_OK;
}

/* Operands of a sum or product can be shared without end; a message needs no more than a few levels. */
static void print(const lfuse_graph *g, lfuse_size s, int depth, lfuse__strbuf *out)
{
    const lfuse__size_expr *e;

    if (lfuse__size_is_number(s)) {
        lfuse__strbuf_format(out, "%" PRId64, s);
        return;
    }
    e = &g->sizes[lfuse__size_index(s)];
    if (e->kind == LFUSE__SIZE_VAR) {
        lfuse__strbuf_add(out, e->name);
    } else if (depth == 0) {
        lfuse__strbuf_add(out, "...");
    } else {
        if (depth < 4) lfuse__strbuf_add(out, "(");
        print(g, e->a, depth - 1, out);
        lfuse__strbuf_add(out, e->kind == LFUSE__SIZE_SUM ? " + " : " * ");
        print(g, e->b, depth - 1, out);
        if (depth < 4) lfuse__strbuf_add(out, ")");
    }
}

void lfuse__size_print(const lfuse_graph *g, lfuse_size s, lfuse__strbuf *out)
{
    print(g, s, 4, out);
}
