/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic extents: variables, and sums, products and quotients of them, each expression once. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/graph/build.h"

/* What a failed call returns: no builder takes it, and it tells itself apart from every variable. */
enum { POISONED_SIZE = -1 };

bool lfuse__build_extent(lfuse_graph *g, const char *call, lfuse_size s, lfuse_size *extent)
{
    uint64_t code;

    if (s >= 0) {
        *extent = s;
        return true;
    }
    code = (uint64_t)(s - LFUSE__SIZE_BASE);
    if (s == INT64_MIN || code >= UINT64_C(1) << 62) {
        lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: extent %lld is negative", call, (long long)s);
        return false;
    }
    if (code >> LFUSE__SIZE_INDEX_BITS != g->tag || lfuse__size_index(s) >= g->nsizes) {
        lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: a size variable of another graph", call);
        return false;
    }
    *extent = LFUSE__SIZE_BASE + lfuse__size_index(s);
    return true;
}

static lfuse_size public_size(const lfuse_graph *g, lfuse_size s)
{
    if (lfuse__size_is_number(s)) return s;
    return LFUSE__SIZE_BASE + (int64_t)(g->tag << LFUSE__SIZE_INDEX_BITS | (uint64_t)lfuse__size_index(s));
}

static bool append(lfuse_graph *g, const char *call, const lfuse__size_expr *e, lfuse_size *size)
{
    if (g->nsizes >= LFUSE__MAX_NODES) {
        lfuse__graph_poison(g, LFUSE_ERR_OVERFLOW, "%s: more than %d sizes in a graph", call, LFUSE__MAX_NODES);
        return false;
    }
    if (!lfuse__build_grow((void **)&g->sizes, g->nsizes, &g->size_capacity, sizeof *g->sizes)) {
        lfuse__graph_poison(g, LFUSE_ERR_MEMORY, "%s: no memory for size %d", call, (int)g->nsizes);
        return false;
    }
    g->sizes[g->nsizes] = *e;
    *size = LFUSE__SIZE_BASE + g->nsizes++;
    return true;
}

lfuse_size lfuse_size_var(lfuse_graph *g, const char *name, int64_t low, int64_t high)
{
    static const char call[] = "lfuse_size_var";
    lfuse__size_expr e;
    lfuse_size size;

    lfuse__build_begin(g, call);
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
    lfuse__poly_variable(g->nsizes, &e.poly);
    return append(g, call, &e, &size) ? public_size(g, size) : POISONED_SIZE;
}

static bool combine(lfuse__size_kind kind, int64_t a, int64_t b, int64_t *result)
{
    if (kind == LFUSE__SIZE_QUOTIENT) {
        *result = a / b + (a % b > 0);
        return true;
    }
    return kind == LFUSE__SIZE_SUM ? !__builtin_add_overflow(a, b, result) : !__builtin_mul_overflow(a, b, result);
}

/* A polynomial that is a number, or nothing but one variable or unknown, is that. */
static bool trivial(const lfuse__poly *f, lfuse_size *size)
{
    const lfuse__poly_term *t = &f->terms[0];

    if (!f->nterms) {
        *size = 0;
        return true;
    }
    if (f->nterms > 1 || (t->variables[0] != INT32_MAX && (t->coefficient != 1 || t->variables[1] != INT32_MAX)))
        return false;
    *size = t->variables[0] == INT32_MAX ? t->coefficient : LFUSE__SIZE_BASE + t->variables[0];
    return true;
}

/* Bounds of a combination of intervals; corners saturate. */
static void bound(const lfuse_graph *g, lfuse__size_expr *e)
{
    int64_t a[2], b[2], corner;
    int i;

    lfuse__size_bounds(g, e->a, &a[0], &a[1]);
    lfuse__size_bounds(g, e->b, &b[0], &b[1]);
    for (i = 0; i < 4; i++) {
        const int64_t x = a[i & 1], y = b[e->kind == LFUSE__SIZE_SUM ? i & 1 : i >> 1];
        if (!combine(e->kind, x, y, &corner))
            corner = (e->kind == LFUSE__SIZE_SUM ? x < 0 : (x < 0) != (y < 0)) ? INT64_MIN : INT64_MAX;
        if (!i || corner < e->low) e->low = corner;
        if (!i || corner > e->high) e->high = corner;
    }
}

/* Where terms cancel the polynomial knows more than the operands. */
static void tighten(const lfuse_graph *g, lfuse__size_expr *e)
{
    int64_t low, high;

    lfuse__poly_bounds(g, &e->poly, &low, &high);
    if (low > e->low) e->low = low;
    if (high < e->high) e->high = high;
}

/* Operands are as nodes hold them; so is the result. */
static bool expression(lfuse_graph *g, const char *call, lfuse__size_kind kind, lfuse_size a, lfuse_size b,
                       lfuse_size *size)
{
    lfuse__size_expr e;
    lfuse__poly x, y;
    int64_t low_a, low_b, high, low;
    bool known;
    int32_t i;

    lfuse__size_bounds(g, a, &low_a, &high);
    lfuse__size_bounds(g, b, &low_b, &high);
    if (!combine(kind, low_a, low_b, &low) && low_a > 0 && low_b > 0) {
        lfuse__graph_poison(g, LFUSE_ERR_OVERFLOW, "%s: %" PRId64 " %c %" PRId64 " is too large", call, low_a,
                            kind == LFUSE__SIZE_SUM ? '+' : '*', low_b);
        return false;
    }
    memset(&e, 0, sizeof e);
    e.kind = kind;
    e.a = a < b ? a : b; /* symbolic ones are far below numbers: before them, in order of their making */
    e.b = a < b ? b : a;
    lfuse__poly_of(g, e.a, &x);
    lfuse__poly_of(g, e.b, &y);
    known = kind == LFUSE__SIZE_SUM ? lfuse__poly_add(&x, &y, 1, &e.poly) : lfuse__poly_multiply(&x, &y, &e.poly);
    if (known && trivial(&e.poly, size)) return true;
    for (i = 0; i < g->nsizes; i++)
        if (known ? lfuse__poly_equal(&g->sizes[i].poly, &e.poly)
                  : g->sizes[i].kind == kind && g->sizes[i].a == e.a && g->sizes[i].b == e.b) {
            *size = LFUSE__SIZE_BASE + i;
            return true;
        }
    bound(g, &e);
    if (known) tighten(g, &e);
    else lfuse__poly_variable(g->nsizes, &e.poly);
    return append(g, call, &e, size);
}

bool lfuse__size_add(lfuse_graph *g, const char *call, lfuse_size a, lfuse_size b, lfuse_size *sum)
{
    return expression(g, call, LFUSE__SIZE_SUM, a, b, sum);
}

bool lfuse__size_multiply(lfuse_graph *g, const char *call, lfuse_size a, lfuse_size b, lfuse_size *product)
{
    return expression(g, call, LFUSE__SIZE_PRODUCT, a, b, product);
}

bool lfuse__size_divide(lfuse_graph *g, const char *call, lfuse_size a, int64_t by, lfuse_size *pieces)
{
    lfuse__size_expr e;
    int32_t i;

    if (lfuse__size_is_number(a)) return combine(LFUSE__SIZE_QUOTIENT, a, by, pieces);
    for (i = 0; i < g->nsizes; i++)
        if (g->sizes[i].kind == LFUSE__SIZE_QUOTIENT && g->sizes[i].a == a && g->sizes[i].b == by) {
            *pieces = LFUSE__SIZE_BASE + i;
            return true;
        }
    memset(&e, 0, sizeof e);
    e.kind = LFUSE__SIZE_QUOTIENT;
    e.a = a;
    e.b = by;
    lfuse__size_bounds(g, a, &e.low, &e.high);
    combine(e.kind, e.low, by, &e.low);
    combine(e.kind, e.high, by, &e.high);
    lfuse__poly_variable(g->nsizes, &e.poly);
    return append(g, call, &e, pieces);
}

bool lfuse__size_quotient(lfuse_graph *g, const char *call, lfuse_size a, lfuse_size b, lfuse_size *quotient)
{
    lfuse__poly x, y;

    lfuse__poly_of(g, a, &x);
    lfuse__poly_of(g, b, &y);
    return lfuse__poly_divide(&x, &y, &x) && lfuse__size_of_poly(g, call, &x, quotient);
}

bool lfuse__size_of_poly(lfuse_graph *g, const char *call, const lfuse__poly *f, lfuse_size *size)
{
    lfuse_size term;
    int i, j;

    *size = 0;
    for (i = 0; i < f->nterms; i++) {
        const lfuse__poly_term *t = &f->terms[i];
        term = t->coefficient;
        for (j = 0; j < LFUSE__POLY_FACTORS && t->variables[j] != INT32_MAX; j++)
            if (!lfuse__size_multiply(g, call, LFUSE__SIZE_BASE + t->variables[j], term, &term)) return false;
        if (!lfuse__size_add(g, call, *size, term, size)) return false;
    }
    return true;
}

static lfuse_size public_expression(lfuse_graph *g, const char *call, lfuse__size_kind kind, lfuse_size a,
                                    lfuse_size b)
{
    lfuse_size size;

    lfuse__build_begin(g, call);
    if (!g || !lfuse__build_extent(g, call, a, &a) || !lfuse__build_extent(g, call, b, &b)) return POISONED_SIZE;
    return expression(g, call, kind, a, b, &size) ? public_size(g, size) : POISONED_SIZE;
}

lfuse_size lfuse_size_add(lfuse_graph *g, lfuse_size a, lfuse_size b)
{
    return public_expression(g, "lfuse_size_add", LFUSE__SIZE_SUM, a, b);
}

lfuse_size lfuse_size_mul(lfuse_graph *g, lfuse_size a, lfuse_size b)
{
    return public_expression(g, "lfuse_size_mul", LFUSE__SIZE_PRODUCT, a, b);
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

typedef struct value_of {
    int64_t value;
    bool known; /* fits into 64 bits */
} value_of;

/* Expressions stand after their operands, so one walk in order needs no recursion, however they share operands. */
lfuse_status lfuse__size_evaluate(const lfuse_graph *g, lfuse_size s, const int64_t *values, int64_t *value)
{
    value_of few[64] = {{0, false}}, *all = few, result;
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
        value_of a, b;
        if (e->kind == LFUSE__SIZE_VAR) {
            all[i] = (value_of){values[i], true};
            continue;
        }
        a = lfuse__size_is_number(e->a) ? (value_of){e->a, true} : all[lfuse__size_index(e->a)];
        b = lfuse__size_is_number(e->b) ? (value_of){e->b, true} : all[lfuse__size_index(e->b)];
        all[i].known = a.known && b.known && combine(e->kind, a.value, b.value, &all[i].value);
    }
    result = all[last];
    if (all != few) free(all);
    if (!result.known) return too_large(g, s); /* what overflows elsewhere is no mistake here */
    *value = result.value;
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
        lfuse__strbuf_add(out, e->kind == LFUSE__SIZE_SUM ? " + " : e->kind == LFUSE__SIZE_PRODUCT ? " * " : " / ");
        print(g, e->b, depth - 1, out);
        if (depth < 4) lfuse__strbuf_add(out, ")");
    }
}

void lfuse__size_print(const lfuse_graph *g, lfuse_size s, lfuse__strbuf *out)
{
    print(g, s, 4, out);
}
