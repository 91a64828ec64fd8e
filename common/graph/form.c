/* SPDX-License-Identifier: Apache-2.0 */
/* What expressions of sizes come to: sums of products in one order. */
#include <string.h>

#include "common/graph/graph.h"

enum { NO_SIZE = INT32_MAX };

static void set_term(lfuse__size_term *t, int64_t factor)
{
    int i;

    memset(t, 0, sizeof *t);
    t->factor = factor;
    for (i = 0; i < LFUSE__FORM_FACTORS; i++) t->sizes[i] = NO_SIZE;
}

void lfuse__form_unknown(int32_t index, lfuse__size_form *form)
{
    memset(form, 0, sizeof *form);
    form->nterms = 1;
    set_term(&form->terms[0], 1);
    form->terms[0].sizes[0] = index;
}

void lfuse__form_of(const lfuse_graph *g, lfuse_size s, lfuse__size_form *form)
{
    if (!lfuse__size_is_number(s)) {
        *form = g->sizes[lfuse__size_index(s)].form;
        return;
    }
    memset(form, 0, sizeof *form);
    if (!s) return;
    form->nterms = 1;
    set_term(&form->terms[0], s);
}

/* Terms with more variables, and with earlier ones, come first: the number is last. */
static int order(const lfuse__size_term *a, const lfuse__size_term *b)
{
    int i;

    for (i = 0; i < LFUSE__FORM_FACTORS; i++)
        if (a->sizes[i] != b->sizes[i]) return a->sizes[i] < b->sizes[i] ? -1 : 1;
    return 0;
}

/* Adds a term where it belongs. */
static bool insert(lfuse__size_form *f, const lfuse__size_term *t)
{
    int i, compared = 1;

    if (!t->factor) return true;
    for (i = 0; i < f->nterms; i++) {
        compared = order(t, &f->terms[i]);
        if (compared <= 0) break;
    }
    if (i < f->nterms && !compared) {
        if (__builtin_add_overflow(f->terms[i].factor, t->factor, &f->terms[i].factor)) return false;
        if (f->terms[i].factor) return true;
        f->nterms--;
        memmove(&f->terms[i], &f->terms[i + 1], (size_t)(f->nterms - i) * sizeof *f->terms);
        memset(&f->terms[f->nterms], 0, sizeof *f->terms);
        return true;
    }
    if (f->nterms == LFUSE__FORM_TERMS) return false;
    memmove(&f->terms[i + 1], &f->terms[i], (size_t)(f->nterms - i) * sizeof *f->terms);
    f->terms[i] = *t;
    f->nterms++;
    return true;
}

bool lfuse__form_add(const lfuse__size_form *a, const lfuse__size_form *b, int64_t factor, lfuse__size_form *sum)
{
    lfuse__size_form result = *a;
    lfuse__size_term t;
    int i;

    for (i = 0; i < b->nterms; i++) {
        t = b->terms[i];
        if (__builtin_mul_overflow(t.factor, factor, &t.factor) || !insert(&result, &t)) return false;
    }
    *sum = result;
    return true;
}

/* The variables of both, in order. */
static bool multiply_terms(const lfuse__size_term *a, const lfuse__size_term *b, lfuse__size_term *product)
{
    int i = 0, j = 0, n = 0;

    set_term(product, 0);
    if (__builtin_mul_overflow(a->factor, b->factor, &product->factor)) return false;
    for (;;) {
        const int32_t x = i < LFUSE__FORM_FACTORS ? a->sizes[i] : NO_SIZE;
        const int32_t y = j < LFUSE__FORM_FACTORS ? b->sizes[j] : NO_SIZE;
        if (x == NO_SIZE && y == NO_SIZE) return true;
        if (n == LFUSE__FORM_FACTORS) return false;
        if (x <= y) i++;
        else j++;
        product->sizes[n++] = x <= y ? x : y;
    }
}

bool lfuse__form_multiply(const lfuse__size_form *a, const lfuse__size_form *b, lfuse__size_form *product)
{
    lfuse__size_form result;
    lfuse__size_term t;
    int i, j;

    memset(&result, 0, sizeof result);
    for (i = 0; i < a->nterms; i++)
        for (j = 0; j < b->nterms; j++)
            if (!multiply_terms(&a->terms[i], &b->terms[j], &t) || !insert(&result, &t)) return false;
    *product = result;
    return true;
}

static bool divide_term(const lfuse__size_term *a, const lfuse__size_term *b, lfuse__size_term *quotient)
{
    int i, j = 0, n = 0;

    set_term(quotient, 0);
    if ((a->factor == INT64_MIN && b->factor == -1) || a->factor % b->factor) return false;
    quotient->factor = a->factor / b->factor;
    for (i = 0; i < LFUSE__FORM_FACTORS && a->sizes[i] != NO_SIZE; i++) {
        if (j < LFUSE__FORM_FACTORS && a->sizes[i] == b->sizes[j]) j++;
        else quotient->sizes[n++] = a->sizes[i];
    }
    return j == LFUSE__FORM_FACTORS || b->sizes[j] == NO_SIZE;
}

bool lfuse__form_divide(const lfuse__size_form *a, const lfuse__size_form *b, lfuse__size_form *quotient)
{
    lfuse__size_form result;
    lfuse__size_term t;
    int i;

    memset(&result, 0, sizeof result);
    if (b->nterms != 1) return false;
    for (i = 0; i < a->nterms; i++)
        if (!divide_term(&a->terms[i], &b->terms[0], &t) || !insert(&result, &t)) return false;
    *quotient = result;
    return true;
}

bool lfuse__form_equal(const lfuse__size_form *a, const lfuse__size_form *b)
{
    int i;

    if (a->nterms != b->nterms) return false;
    for (i = 0; i < a->nterms; i++)
        if (a->terms[i].factor != b->terms[i].factor || order(&a->terms[i], &b->terms[i])) return false;
    return true;
}

bool lfuse__size_difference(const lfuse_graph *g, lfuse_size a, lfuse_size b, int64_t *low, int64_t *high)
{
    lfuse__size_form x, y;

    lfuse__form_of(g, a, &x);
    lfuse__form_of(g, b, &y);
    if (!lfuse__form_add(&x, &y, -1, &x)) return false;
    lfuse__form_bounds(g, &x, low, high);
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

void lfuse__form_bounds(const lfuse_graph *g, const lfuse__size_form *form, int64_t *low, int64_t *high)
{
    int64_t a, b;
    int i, j;

    *low = *high = 0;
    for (i = 0; i < form->nterms; i++) {
        const lfuse__size_term *t = &form->terms[i];
        a = b = t->factor;
        for (j = 0; j < LFUSE__FORM_FACTORS && t->sizes[j] != NO_SIZE; j++)
            widen(&a, &b, g->sizes[t->sizes[j]].low, g->sizes[t->sizes[j]].high);
        *low = add(*low, a);
        *high = add(*high, b);
    }
}
