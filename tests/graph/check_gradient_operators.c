/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients, and gradients of these, of every pointwise operator. */
#include "common/graph/build.h"
#include "tests/support/main.h"
#include "tests/tape/subject.h"

/* Where its operands lie, and what does not hold, of those that are not DISTINCT and smooth there. */
static const struct domain {
    lfuse__op op;
    subject_data data[3];
    unsigned flags;
} domains[] = {
    {LFUSE__OP_div, {DISTINCT, POSITIVE}, 0},
    {LFUSE__OP_fmod, {UNIT, ABOVE_ONE}, 0},
    {LFUSE__OP_remainder, {UNIT, ABOVE_ONE}, 0},
    {LFUSE__OP_sqrt, {POSITIVE}, 0},
    {LFUSE__OP_rsqrt, {POSITIVE}, 0},
    {LFUSE__OP_reciprocal, {POSITIVE}, 0},
    {LFUSE__OP_log, {POSITIVE}, 0},
    {LFUSE__OP_log2, {POSITIVE}, 0},
    {LFUSE__OP_log10, {POSITIVE}, 0},
    {LFUSE__OP_log1p, {POSITIVE}, 0},
    {LFUSE__OP_asin, {UNIT}, 0},
    {LFUSE__OP_acos, {UNIT}, 0},
    {LFUSE__OP_atanh, {UNIT}, 0},
    {LFUSE__OP_acosh, {ABOVE_ONE}, 0},
    {LFUSE__OP_cbrt, {POSITIVE}, 0},
    {LFUSE__OP_pow, {POSITIVE, DISTINCT}, 0},
    {LFUSE__OP_hypot, {POSITIVE, DISTINCT}, 0},
    {LFUSE__OP_atan2, {POSITIVE, DISTINCT}, 0},
    {LFUSE__OP_elu, {DISTINCT, POSITIVE}, 0},
    {LFUSE__OP_celu, {DISTINCT, POSITIVE}, 0},
    {LFUSE__OP_hardshrink, {DISTINCT, POSITIVE}, 0},
    {LFUSE__OP_softshrink, {DISTINCT, POSITIVE}, 0},
    {LFUSE__OP_clamp, {DISTINCT, UNIT, POSITIVE}, 0},
};

static struct domain domain_of(lfuse__op op)
{
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++)
        if (domains[i].op == op) return domains[i];
    return (struct domain){op, {DISTINCT, DISTINCT, DISTINCT}, 0};
}

/* Ranks and extents of the operands: alike, and of kinds that repeat beside each other. */
enum { FORMS = 3 };
static const struct form {
    int rank;
    int64_t shape[2];
} forms[FORMS][3] = {
    {{1, {7}}, {1, {7}}, {1, {7}}},
    {{2, {2, 3}}, {1, {3}}, {0, {1}}},
    {{2, {2, 1}}, {2, {1, 3}}, {2, {2, 3}}},
};

static lfuse__op current;
static const struct form *form;

static lfuse_value apply(subject *f)
{
    const struct domain domain = domain_of(current);
    int32_t in[3] = {-1, -1, -1};
    for (int i = 0; i < lfuse__ops[current].arity; i++)
        in[i] = i == 1 && current == LFUSE__OP_powi /* an exponent that is not certain makes a jump */
                    ? lfuse_cast(subject_constant(f, 3), f->type).id
                    : subject_input(f, domain.data[i], form[i].rank, form[i].shape).id;
    return lfuse__build_pointwise(f->g, lfuse__ops[current].name, current, in);
}

static bool has_slopes(lfuse__op op)
{
    return lfuse__ops[op].klass == LFUSE__CLASS_NUMERIC || lfuse__ops[op].klass == LFUSE__CLASS_FLOATING;
}

TEST_CASE("operators")

static void in_every_form(int op, void (*check)(const char *name, subject_maker *make, unsigned flags))
{
    current = (lfuse__op)op;
    if (!has_slopes(current)) return;
    for (int k = 0; k < (lfuse__ops[current].arity > 1 ? FORMS : 1); k++) {
        form = forms[k];
        check(lfuse__ops[current].name, apply, domain_of(current).flags);
    }
}

TEST_LOOP(operators, 0, LFUSE__OP_COUNT) { in_every_form(_i, subject_check); }

TEST_LOOP(duality_of_operators, 0, LFUSE__OP_COUNT) { in_every_form(_i, subject_check_duality); }

TEST_SUITE("gradients of operators", CK_FORK_GETENV)
