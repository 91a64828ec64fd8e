/* SPDX-License-Identifier: Apache-2.0 */
/* What expressions of sizes come to: sums of products in one order. */
#include <string.h>

#include "common/graph/graph.h"

enum { NO_VARIABLE = INT32_MAX };

static void set_term(lfuse__poly_term *t, int64_t coefficient)
{
    int i;

    memset(t, 0, sizeof *t);
    t->coefficient = coefficient;
    for (i = 0; i < LFUSE__POLY_FACTORS; i++) t->variables[i] = NO_VARIABLE;
}

void lfuse__poly_variable(int32_t index, lfuse__poly *poly)
{
    memset(poly, 0, sizeof *poly);
    poly->nterms = 1;
    set_term(&poly->terms[0], 1);
    poly->terms[0].variables[0] = index;
}

void lfuse__poly_of(const lfuse_graph *g, lfuse_size s, lfuse__poly *poly)
{
    if (!lfuse__size_is_number(s)) {
        *poly = g->sizes[lfuse__size_index(s)].poly;
        return;
    }
    memset(poly, 0, sizeof *poly);
    if (!s) return;
    poly->nterms = 1;
    set_term(&poly->terms[0], s);
}

/* Terms with more variables, and with earlier ones, come first: the number is last. */
static int order(const lfuse__poly_term *a, const lfuse__poly_term *b)
{
    int i;

    for (i = 0; i < LFUSE__POLY_FACTORS; i++)
        if (a->variables[i] != b->variables[i]) return a->variables[i] < b->variables[i] ? -1 : 1;
    return 0;
}

/* Adds a term where it belongs. */
static bool insert(lfuse__poly *f, const lfuse__poly_term *t)
{
    int i, compared = 1;

    if (!t->coefficient) return true;
    for (i = 0; i < f->nterms; i++) {
        compared = order(t, &f->terms[i]);
        if (compared <= 0) break;
    }
    if (i < f->nterms && !compared) {
        if (__builtin_add_overflow(f->terms[i].coefficient, t->coefficient, &f->terms[i].coefficient)) return false;
        if (f->terms[i].coefficient) return true;
        f->nterms--;
        memmove(&f->terms[i], &f->terms[i + 1], (size_t)(f->nterms - i) * sizeof *f->terms);
        memset(&f->terms[f->nterms], 0, sizeof *f->terms);
        return true;
    }
    if (f->nterms == LFUSE__POLY_TERMS) return false;
    memmove(&f->terms[i + 1], &f->terms[i], (size_t)(f->nterms - i) * sizeof *f->terms);
    f->terms[i] = *t;
    f->nterms++;
    return true;
}

bool lfuse__poly_add(const lfuse__poly *a, const lfuse__poly *b, int64_t factor, lfuse__poly *sum)
{
    lfuse__poly result = *a;
    lfuse__poly_term t;
    int i;

    for (i = 0; i < b->nterms; i++) {
        t = b->terms[i];
        if (__builtin_mul_overflow(t.coefficient, factor, &t.coefficient) || !insert(&result, &t)) return false;
    }
    *sum = result;
    return true;
}

/* The variables of both, in order. */
static bool multiply_terms(const lfuse__poly_term *a, const lfuse__poly_term *b, lfuse__poly_term *product)
{
    int i = 0, j = 0, n = 0;

    set_term(product, 0);
    if (__builtin_mul_overflow(a->coefficient, b->coefficient, &product->coefficient)) return false;
    for (;;) {
        const int32_t x = i < LFUSE__POLY_FACTORS ? a->variables[i] : NO_VARIABLE;
        const int32_t y = j < LFUSE__POLY_FACTORS ? b->variables[j] : NO_VARIABLE;
        if (x == NO_VARIABLE && y == NO_VARIABLE) return true;
        if (n == LFUSE__POLY_FACTORS) return false;
        if (x <= y) i++;
        else j++;
        product->variables[n++] = x <= y ? x : y;
    }
}

bool lfuse__poly_multiply(const lfuse__poly *a, const lfuse__poly *b, lfuse__poly *product)
{
    lfuse__poly result;
    lfuse__poly_term t;
    int i, j;

    memset(&result, 0, sizeof result);
    for (i = 0; i < a->nterms; i++)
        for (j = 0; j < b->nterms; j++)
            if (!multiply_terms(&a->terms[i], &b->terms[j], &t) || !insert(&result, &t)) return false;
    *product = result;
    return true;
}

static bool divide_term(const lfuse__poly_term *a, const lfuse__poly_term *b, lfuse__poly_term *quotient)
{
    int i, j = 0, n = 0;

    set_term(quotient, 0);
    if ((a->coefficient == INT64_MIN && b->coefficient == -1) || a->coefficient % b->coefficient) return false;
    quotient->coefficient = a->coefficient / b->coefficient;
    for (i = 0; i < LFUSE__POLY_FACTORS && a->variables[i] != NO_VARIABLE; i++) {
        if (j < LFUSE__POLY_FACTORS && a->variables[i] == b->variables[j]) j++;
        else quotient->variables[n++] = a->variables[i];
    }
    return j == LFUSE__POLY_FACTORS || b->variables[j] == NO_VARIABLE;
}

bool lfuse__poly_divide(const lfuse__poly *a, const lfuse__poly *b, lfuse__poly *quotient)
{
    lfuse__poly result;
    lfuse__poly_term t;
    int i;

    memset(&result, 0, sizeof result);
    if (b->nterms != 1) return false;
    for (i = 0; i < a->nterms; i++)
        if (!divide_term(&a->terms[i], &b->terms[0], &t) || !insert(&result, &t)) return false;
    *quotient = result;
    return true;
}

bool lfuse__poly_equal(const lfuse__poly *a, const lfuse__poly *b)
{
    int i;

    if (a->nterms != b->nterms) return false;
    for (i = 0; i < a->nterms; i++)
        if (a->terms[i].coefficient != b->terms[i].coefficient || order(&a->terms[i], &b->terms[i])) return false;
    return true;
}

bool lfuse__size_difference(const lfuse_graph *g, lfuse_size a, lfuse_size b, int64_t *low, int64_t *high)
{
    lfuse__poly x, y;

    lfuse__poly_of(g, a, &x);
    lfuse__poly_of(g, b, &y);
    if (!lfuse__poly_add(&x, &y, -1, &x)) return false;
    lfuse__poly_bounds(g, &x, low, high);
    return true;
}

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? a < 0 ? INT64_MIN : INT64_MAX : sum;
}

static int64_t multiply(int64_t a, int64_t b)
{
    int64_t product;

    return __builtin_mul_overflow(a, b, &product) ? (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX : product;
}

/* low and high of a product. */
static void widen(int64_t *low, int64_t *high, int64_t other_low, int64_t other_high)
{
    const int64_t corners[] = {multiply(*low, other_low), multiply(*low, other_high), multiply(*high, other_low),
                               multiply(*high, other_high)};
    int i;

    *low = *high = corners[0];
    for (i = 1; i < 4; i++) {
        if (corners[i] < *low) *low = corners[i];
        if (corners[i] > *high) *high = corners[i];
    }
}

void lfuse__poly_bounds(const lfuse_graph *g, const lfuse__poly *poly, int64_t *low, int64_t *high)
{
    int64_t a, b;
    int i, j;

    *low = *high = 0;
    for (i = 0; i < poly->nterms; i++) {
        const lfuse__poly_term *t = &poly->terms[i];
        a = b = t->coefficient;
        for (j = 0; j < LFUSE__POLY_FACTORS && t->variables[j] != NO_VARIABLE; j++)
            widen(&a, &b, g->sizes[t->variables[j]].low, g->sizes[t->variables[j]].high);
        *low = add(*low, a);
        *high = add(*high, b);
    }
}
