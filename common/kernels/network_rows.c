/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of products: what a group multiplies its weights with, from memory in the first layer, from the other groups
 * in those behind it.
 */
#include <stdio.h>

#include "common/kernels/network.h"

enum { VECTOR = LFUSE__NETWORK_VECTOR, AT_A_TIME = 8 /* loads of 16 bytes */ };

typedef lfuse__network_text text;

void lfuse__network_row(const text *x, char *row, size_t size)
{
    if (x->along == 1) snprintf(row, size, "s + i * %d", x->sharers);
    else snprintf(row, size, "(i / %d * %d + s) * %d + i %% %d", x->along, x->sharers, x->along, x->along);
}

/* The row of local memory of row l of B: those of a work-item lie a pitch apart, those of neighbours side by side. */
static void put_place(const text *x, const char *l, char *place, size_t size)
{
    if (x->along == 1) snprintf(place, size, "%s", l);
    else
        snprintf(place, size, "((%s / %d * %d + %s %% %d) * %d + %s / %d %% %d)", l, x->along * x->sharers, x->along, l,
                 x->along, x->pitch, l, x->along, x->sharers);
}

/* Where row l, column r of it lies: vectors of columns change places so that banks differ. */
static void put_turned(const text *x, const char *l, const char *r, char *place, size_t size)
{
    const int units = x->rows / VECTOR;

    if (units < 2) snprintf(place, size, "((%s) * %d + (%s))", l, x->rows, r);
    else
        snprintf(place, size, "((%s) * %d + (((%s) / 4 + (%s) / %d & %d) * 4 + (%s) %% 4))", l, x->rows, r, l,
                 8 / units, units - 1, r);
}

static void put_fma(const text *x, int indent, const char *value, const char *row)
{
    lfuse__put(x->t.out, indent, "for (int c = 0; c < %d; c++)", VECTOR);
    lfuse__put(x->t.out, indent + 1, "acc[c * %d + %s] = MAD_f32(%s, w[i * 4 + c], acc[c * %d + %s]);", x->rows, row,
               value, x->rows, row);
}

static void put_wait(lfuse__strbuf *out, int indent, const char *unless, const char *again)
{
    lfuse__put(out, indent, "while (%s) %s;", unless, again);
}

/* One row: every work-item takes the elements that it multiplies. */
static void put_counted_wait(const text *x, int indent)
{
    lfuse__strbuf *out = x->t.out;

    lfuse__put(out, indent, "const u64 awaited = (turn[0] * (layers - 1) + layer) * across;");
    lfuse__put(out, indent, "if (item == 0) while (k && (i64)(ACQUIRE64(stored) - awaited) < 0) { }");
    lfuse__put(out, indent, "SYNC();");
}

static void put_one_row(const text *x)
{
    const bool counted = x->t.k->product.counted;
    lfuse__strbuf *out = x->t.out;
    char of[64];

    lfuse__network_row(x, of, sizeof of);
    lfuse__put(out, 2, "S_f32 x[%d];", x->depth);
    lfuse__put(out, 2, "if (layer == 0) {");
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 3, "for (int i = 0; i < %d; i++) {", x->depth);
    lfuse__put(out, 4, "const u32 l = %s;", of);
    lfuse__put(out, 4, "x[i] = ZERO_f32;");
    lfuse__put(out, 4, "if (l < k) x[i] = LOAD_%s(a, (i64)down * (i64)W(%d) + (i64)l * (i64)W(%d));", x->type,
               LFUSE__NETWORK_A + 1, LFUSE__NETWORK_A + 2);
    lfuse__put(out, 3, "}");
    lfuse__put(out, 2, "} else {");
    if (counted) {
        put_counted_wait(x, 3);
        lfuse__put(out, 0, "#pragma unroll");
        lfuse__put(out, 3, "for (int i = 0; i < %d; i++) {", x->depth);
        lfuse__put(out, 4, "const u32 l = %s;", of);
        lfuse__put(out, 4, "u32 v = 0;");
        lfuse__put(out, 4, "if (l < k) FRESH_4(v, from + (u64)l * 4);");
        lfuse__put(out, 4, "x[i] = K_f32(v);");
        lfuse__put(out, 3, "}");
    } else {
        lfuse__put(out, 3, "u64 v[%d];", x->depth);
    }
    for (int again = 0; again < 2 && !counted; again++) {
        lfuse__put(out, 0, "#pragma unroll");
        lfuse__put(out, 3, "for (int i = 0; i < %d; i++) {", x->depth);
        lfuse__put(out, 4, "const u32 l = %s;", of);
        if (!again) {
            lfuse__put(out, 4, "v[i] = (u64)tag << 32;");
            lfuse__put(out, 4, "if (l < k) v[i] = PEEK64(from, l);");
        } else {
            put_wait(out, 4, "(u32)(v[i] >> 32) != tag", "v[i] = PEEK64(from, l)");
            lfuse__put(out, 4, "x[i] = K_f32((u32)v[i]);");
        }
        lfuse__put(out, 3, "}");
    }
    lfuse__put(out, 2, "}");
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 2, "for (int i = 0; i < %d; i++)", x->depth);
    lfuse__put(out, 0, "#pragma unroll");
    put_fma(x, 3, "x[i]", "0");
}

static void put_given_rows(const text *x)
{
    lfuse__strbuf *out = x->t.out;
    char place[400], row[120];

    put_place(x, "l", row, sizeof row);
    put_turned(x, row, "r", place, sizeof place);
    lfuse__put(out, 3, "for (u32 i = item; i < k * %d; i += %d) {", x->rows, LFUSE__GROUP);
    lfuse__put(out, 4, "const u32 r = i / k, l = i %% k, row = down * %d + r;", x->rows);
    lfuse__put(out, 4, "S_f32 v = ZERO_f32;");
    lfuse__put(out, 4, "if (row < m) v = LOAD_%s(a, (i64)row * (i64)W(%d) + (i64)l * (i64)W(%d));", x->type,
               LFUSE__NETWORK_A + 1, LFUSE__NETWORK_A + 2);
    lfuse__put(out, 4, "PUT_f32(tile, %s, v);", place);
    lfuse__put(out, 3, "}");
}

static void put_counted_vector(const text *x, const char *place)
{
    lfuse__put(x->t.out, 6, "const S_f32 t_[4] = {K_f32(v[4 * j]), K_f32(v[4 * j + 1]), K_f32(v[4 * j + 2]), "
               "K_f32(v[4 * j + 3])};");
    lfuse__put(x->t.out, 6, "PUTV_f32(tile, %s, t_);", place);
}

static void put_tagged_pair(const text *x, const char *place)
{
    put_wait(x->t.out, 6, "(u32)(v[2 * j] >> 32) != tag || (u32)(v[2 * j + 1] >> 32) != tag",
             "PEEK64_2(v + 2 * j, from, 2 * i)");
    lfuse__put(x->t.out, 6, "const u32 place = %s;", place);
    lfuse__put(x->t.out, 6, "PUT_f32(tile, place, K_f32((u32)v[2 * j]));");
    lfuse__put(x->t.out, 6, "PUT_f32(tile, place + 1, K_f32((u32)v[2 * j + 1]));");
}

/* 16 bytes of one column at a time: a vector of values once all groups have stored theirs, or two values and tags. */
static void put_handed_rows(const text *x)
{
    const bool counted = x->t.k->product.counted;
    const int each = counted ? VECTOR : 2;
    lfuse__strbuf *out = x->t.out;
    char place[400], row[120];

    put_place(x, counted ? "(4 * i / R_)" : "(2 * i / R_)", row, sizeof row);
    put_turned(x, row, counted ? "(4 * i % R_)" : "(2 * i % R_)", place, sizeof place);
    if (counted) put_counted_wait(x, 3);
    lfuse__put(out, 3, "const u32 loads = k * %d;", x->rows / each);
    lfuse__put(out, 3, "for (u32 begin = item; begin < loads; begin += %d) {", LFUSE__GROUP * AT_A_TIME);
    lfuse__put(out, 4, "%s v[%d];", counted ? "u32" : "u64", each * AT_A_TIME);
    for (int again = 0; again < 2; again++) {
        lfuse__put(out, 0, "#pragma unroll");
        lfuse__put(out, 4, "for (u32 j = 0; j < %d; j++) {", AT_A_TIME);
        lfuse__put(out, 5, "const u32 i = begin + j * %d, R_ = %d;", LFUSE__GROUP, x->rows);
        lfuse__put(out, 5, "if (i < loads) {");
        if (!again) lfuse__put(out, 6, counted ? "FRESH_16(v + 4 * j, from + (u64)i * 16);"
                                               : "PEEK64_2(v + 2 * j, from, 2 * i);");
        else if (counted) put_counted_vector(x, place);
        else put_tagged_pair(x, place);
        lfuse__put(out, 5, "}");
        lfuse__put(out, 4, "}");
    }
    lfuse__put(out, 3, "}");
}

/* Several rows: the group's A goes through local memory. */
static void put_rows(const text *x)
{
    lfuse__strbuf *out = x->t.out;
    char place[400], of[64], row[64];

    snprintf(row, sizeof row, x->along == 1 ? "l" : "(s + i * %d)", x->pitch);
    put_turned(x, row, "r", place, sizeof place);
    lfuse__network_row(x, of, sizeof of);
    lfuse__put(out, 2, "if (layer == 0) {");
    put_given_rows(x);
    lfuse__put(out, 2, "} else {");
    put_handed_rows(x);
    lfuse__put(out, 2, "}");
    lfuse__put(out, 2, "SYNC();");
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 2, "for (int i = 0; i < %d; i++) {", x->depth);
    lfuse__put(out, 3, "const u32 l = %s;", of);
    lfuse__put(out, 3, "if (l < k) {");
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 4, "for (u32 r = 0; r < %d; r += 4) {", x->rows);
    lfuse__put(out, 5, "S_f32 x[4];");
    lfuse__put(out, 5, "GETV_f32(x, tile, %s);", place);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 5, "for (int e = 0; e < 4; e++)");
    lfuse__put(out, 0, "#pragma unroll");
    put_fma(x, 6, "x[e]", "(r + e)");
    lfuse__put(out, 4, "}");
    lfuse__put(out, 3, "}");
    lfuse__put(out, 2, "}");
}

void lfuse__network_put_products(const text *x)
{
    if (x->rows == 1) put_one_row(x);
    else put_rows(x);
}
