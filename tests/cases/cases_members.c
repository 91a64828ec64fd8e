/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of members and of whole lists. */
#include <math.h>

#include "tests/cases/cases.h"

/* Some are empty, some end in the middle of a vector, of a segment, or just behind one. */
static const int64_t some[] = {1, 1024, 0, 7, 4097, 33, 20000, 1023, 5};
static const int64_t full[] = {1, 1024, 12, 7, 4097, 33, 20000, 1023, 5};
static const int64_t one_huge[] = {3, 1, 400000, 2, 0, 1};
static const int64_t ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};

static lfuse_value list(harness *h, const char *name, lfuse_type type, harness_data data)
{
    return h_list(h, name, type, LENGTH(some), some, data);
}

static void numbers(harness *h, const char *name, lfuse_value value, lfuse_type type)
{
    h_list_output(h, name, value, type, LENGTH(ones), ones);
}

static void number(harness *h, const char *name, lfuse_value value, lfuse_type type)
{
    h_output(h, name, value, type, 0, LFUSE_DIMS(1), PLAIN);
}

CASE(members_sums, EXACT | EVERY_WAY)
{
    lfuse_value a = list(h, "a", LFUSE_F32, NORMAL);
    numbers(h, "sum", lfuse_member_sum(a), LFUSE_F32);
    numbers(h, "mean", lfuse_member_mean(a), LFUSE_F32);
    numbers(h, "l1", lfuse_member_norm_l1(a), LFUSE_F32);
    numbers(h, "l2", lfuse_member_norm_l2(a), LFUSE_F32);
    numbers(h, "nonzero", lfuse_member_norm(a, 0), LFUSE_F32);
    h_expect_same_bits(h);
    h_expect_launches(h, 2);
}

CASE(members_elements, 0)
{
    lfuse_value a = list(h, "a", LFUSE_F16, NORMAL);
    numbers(h, "elements", lfuse_member_elements(lfuse_abs(a)), LFUSE_I64);
    numbers(h, "twice", lfuse_mul(lfuse_cast(lfuse_member_elements(a), LFUSE_F32), lfuse_constant(h_graph(h), 2)),
            LFUSE_F32);
    h_expect_same_bits(h);
}

CASE(members_of_any_order, 0)
{
    lfuse_value a = list(h, "a", LFUSE_F32, POSITIVE);
    numbers(h, "three", lfuse_member_norm(a, 3), LFUSE_F32);
    numbers(h, "half", lfuse_member_norm(a, 0.5), LFUSE_F32);
    number(h, "all", lfuse_list_norm(a, 3), LFUSE_F32);
}

CASE(members_extremes, EXACT)
{
    lfuse_value a = h_list(h, "a", LFUSE_F32, LENGTH(full), full, NASTY);
    lfuse_value b = h_list(h, "b", LFUSE_F32, LENGTH(full), full, NORMAL);
    numbers(h, "most", lfuse_member_amax(a), LFUSE_F32);
    numbers(h, "least", lfuse_member_amin(a), LFUSE_F32);
    numbers(h, "inf", lfuse_member_norm_inf(b), LFUSE_F32);
    numbers(h, "-inf", lfuse_member_norm(b, -INFINITY), LFUSE_F32);
    number(h, "of all", lfuse_list_amax(b), LFUSE_F32);
    number(h, "least of all", lfuse_list_amin(b), LFUSE_F32);
    number(h, "nasty", lfuse_list_amax(a), LFUSE_F32);
    number(h, "norm", lfuse_list_norm_inf(b), LFUSE_F32);
    h_expect_same_bits(h);
}

CASE(members_integers, EXACT)
{
    lfuse_value a = h_list(h, "a", LFUSE_I32, LENGTH(full), full, INTEGERS);
    lfuse_value b = h_list(h, "b", LFUSE_I8, LENGTH(full), full, INTEGERS);
    numbers(h, "most", lfuse_member_amax(a), LFUSE_I32);
    numbers(h, "sum", lfuse_member_sum(a), LFUSE_I64);
    numbers(h, "least", lfuse_member_amin(b), LFUSE_I8);
    number(h, "all", lfuse_list_sum(b), LFUSE_I64);
    h_expect_same_bits(h);
}

CASE(members_truth, EXACT)
{
    lfuse_value a = list(h, "a", LFUSE_BOOL, INTEGERS), b = list(h, "b", LFUSE_F32, NORMAL);
    numbers(h, "any", lfuse_member_any(a), LFUSE_BOOL);
    numbers(h, "all", lfuse_member_all(a), LFUSE_BOOL);
    numbers(h, "all of b", lfuse_member_all(b), LFUSE_BOOL);
    number(h, "any at all", lfuse_list_any(a), LFUSE_BOOL);
    number(h, "all of all", lfuse_list_all(a), LFUSE_BOOL);
    number(h, "finite", lfuse_list_all(lfuse_isfinite(b)), LFUSE_BOOL);
    h_expect_same_bits(h);
}

static void lists_of(harness *h, lfuse_type type)
{
    lfuse_value a = list(h, "a", type, NORMAL);
    numbers(h, "sum", lfuse_member_sum(a), type);
    numbers(h, "l2", lfuse_member_norm_l2(a), type);
    number(h, "total", lfuse_list_sum(a), type);
    number(h, "norm", lfuse_list_norm_l2(a), type);
    number(h, "l1", lfuse_list_norm_l1(a), type);
    h_expect_launches(h, 2);
}

CASE(lists_f32, EXACT)
{
    lists_of(h, LFUSE_F32);
    h_expect_same_bits(h);
}

CASE(lists_f16, EXACT) { lists_of(h, LFUSE_F16); }
CASE(lists_e4m3, EXACT) { lists_of(h, LFUSE_E4M3); }
CASE(lists_bf16, EXACT) { lists_of(h, LFUSE_BF16); }
CASE(lists_f64, 0) { lists_of(h, LFUSE_F64); }

CASE(lists_one_huge, EXACT)
{
    lfuse_value a = h_list(h, "a", LFUSE_F32, LENGTH(one_huge), one_huge, NORMAL);
    h_list_output(h, "sum", lfuse_member_sum(a), LFUSE_F32, LENGTH(one_huge), ones);
    number(h, "norm", lfuse_list_norm_l2(a), LFUSE_F32);
    h_expect_same_bits(h);
    h_expect_launches(h, 2);
}

CASE(lists_numbers, EXACT)
{
    lfuse_value a = list(h, "a", LFUSE_F32, NORMAL), n = lfuse_member_norm_l2(a);
    number(h, "sum", lfuse_list_sum(n), LFUSE_F32);
    number(h, "most", lfuse_list_amax(n), LFUSE_F32);
    number(h, "elements", lfuse_list_sum(lfuse_member_elements(a)), LFUSE_I64);
    h_expect_same_bits(h);
}

/* Clip by global norm, then a step of SGD. */
CASE(lists_clip, EXACT | EVERY_WAY)
{
    lfuse_value p = list(h, "p", LFUSE_F32, NORMAL), g = list(h, "g", LFUSE_F32, NORMAL);
    lfuse_value norm = lfuse_list_norm_l2(g), one = lfuse_constant(h_graph(h), 1);
    lfuse_value c = lfuse_min(one, lfuse_div(h_scalar(h, "most", 0.75),
                                             lfuse_add(norm, lfuse_constant(h_graph(h), 1e-6))));
    h_update(h, p, lfuse_sub(p, lfuse_mul(lfuse_mul(g, c), h_scalar(h, "rate", 0.01))));
    number(h, "norm", norm, LFUSE_F32);
    h_expect_same_bits(h);
    h_expect_launches(h, 3);
}

/* A trust ratio a member, of two lists. */
CASE(lists_trust, EXACT)
{
    lfuse_value p = h_list(h, "p", LFUSE_F32, LENGTH(full), full, NORMAL);
    lfuse_value g = h_list(h, "g", LFUSE_F32, LENGTH(full), full, NORMAL);
    lfuse_value u = lfuse_add(g, lfuse_mul(p, h_scalar(h, "decay", 0.125)));
    lfuse_value ratio = lfuse_div(lfuse_member_norm_l2(p), lfuse_member_norm_l2(u));
    h_update(h, p, lfuse_sub(p, lfuse_mul(lfuse_mul(u, ratio), h_scalar(h, "rate", 0.01))));
    h_expect_same_bits(h);
}

/* Running numbers, read and stored by the kernels that find the new ones. */
CASE(lists_running, EXACT)
{
    lfuse_value a = list(h, "a", LFUSE_F32, NORMAL), keep = h_scalar(h, "keep", 0.75);
    lfuse_value e = h_input(h, "e", LFUSE_F32, 0, LFUSE_DIMS(1), PLAIN, NORMAL);
    h_update(h, e, lfuse_add(lfuse_mul(e, keep), lfuse_list_sum(a)));
    number(h, "before", lfuse_mul(e, keep), LFUSE_F32);
    h_expect_same_bits(h);
}

/* The variance of each member: the second reduction waits for the first. */
CASE(lists_variance, EXACT)
{
    lfuse_value a = h_list(h, "a", LFUSE_F32, LENGTH(full), full, NORMAL);
    lfuse_value centred = lfuse_sub(a, lfuse_member_mean(a));
    numbers(h, "variance", lfuse_member_mean(lfuse_mul(centred, centred)), LFUSE_F32);
    numbers(h, "share", lfuse_div(lfuse_member_norm_l1(a), lfuse_list_norm_l1(a)), LFUSE_F32);
    h_expect_same_bits(h);
}
