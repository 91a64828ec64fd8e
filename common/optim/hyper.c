/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a rule: names, ranges, and what the host computes of them. */
#include <math.h>
#include <string.h>

#include "common/base/error.h"
#include "common/graph/graph.h"
#include "common/optim/rule.h"

static const size_t offsets[LFUSE__HYPER_COUNT] = {
#define OFFSET(name) offsetof(lfuse_hyper, name),
    LFUSE__HYPER_FIELDS(OFFSET)
};
static const char *const names[LFUSE__HYPER_COUNT] = {
#define NAME(name) #name,
    LFUSE__HYPER_FIELDS(NAME)
};
_Static_assert(sizeof(lfuse_hyper) == LFUSE__HYPER_COUNT * sizeof(double), "every field of lfuse_hyper is in the list");

const double *lfuse__hyper_at(const lfuse_hyper *hyper, lfuse__hyper_field field)
{
    return (const double *)(const void *)((const char *)hyper + offsets[field]);
}

double lfuse__hyper_get(const lfuse_hyper *hyper, lfuse__hyper_field field)
{
    return *lfuse__hyper_at(hyper, field);
}

const char *lfuse__hyper_name(lfuse__hyper_field field)
{
    return names[field];
}

static bool within(lfuse__hyper_range range, double x)
{
    switch (range) {
    case LFUSE__RANGE_ANY: return isfinite(x);
    case LFUSE__RANGE_NONNEGATIVE: return isfinite(x) && x >= 0;
    case LFUSE__RANGE_POSITIVE: return isfinite(x) && x > 0;
    case LFUSE__RANGE_NEGATIVE: return isfinite(x) && x < 0;
    case LFUSE__RANGE_BELOW_1: return x >= 0 && x < 1;
    case LFUSE__RANGE_UP_TO_1: return x >= 0 && x <= 1;
    case LFUSE__RANGE_BETWEEN: return x > 0 && x < 1;
    case LFUSE__RANGE_ABOVE_1: return isfinite(x) && x > 1;
    case LFUSE__RANGE_FROM_1: return isfinite(x) && x >= 1;
    }
    return false;
}

static const char *range_text(lfuse__hyper_range range)
{
    static const char *const texts[] = {
        [LFUSE__RANGE_ANY] = "a finite number", [LFUSE__RANGE_NONNEGATIVE] = "finite and >= 0",
        [LFUSE__RANGE_POSITIVE] = "finite and > 0", [LFUSE__RANGE_NEGATIVE] = "finite and < 0",
        [LFUSE__RANGE_BELOW_1] = "in [0, 1)", [LFUSE__RANGE_UP_TO_1] = "in [0, 1]",
        [LFUSE__RANGE_BETWEEN] = "in (0, 1)", [LFUSE__RANGE_ABOVE_1] = "finite and > 1",
        [LFUSE__RANGE_FROM_1] = "finite and >= 1",
    };

    return texts[range];
}

/* The row's entry of a field; NULL: the rule does not know it. */
static const lfuse__rule_hyper *entry_of(const lfuse__rule *rule, unsigned switches, lfuse__hyper_field field)
{
    static const lfuse__rule_hyper average = { LFUSE__HYPER_ema_decay, 0, LFUSE__RANGE_BELOW_1 };
    const lfuse__rule_hyper *h = rule->hypers;

    if (field == average.field) return switches & LFUSE_OPTIM_AVERAGE ? &average : NULL;
    while (h->field != LFUSE__HYPER_END && h->field != field) h++;
    return h->field == field ? h : NULL;
}

bool lfuse__hyper_known(const lfuse__rule *rule, unsigned switches, lfuse__hyper_field field)
{
    return entry_of(rule, switches, field);
}

const char *lfuse__hyper_out_of_range(const lfuse__rule *rule, unsigned switches, lfuse__hyper_field field, double x)
{
    const lfuse__rule_hyper *h = entry_of(rule, switches, field);

    return h && !within(h->range, x) ? range_text(h->range) : NULL;
}

static lfuse_status check_together(const lfuse__rule *rule, unsigned switches, int group, const lfuse_hyper *h)
{
    if (switches & LFUSE_OPTIM_NESTEROV && (h->momentum <= 0 || h->dampening != 0))
        return lfuse__error(LFUSE_ERR_INVALID, "group %d: Nesterov's momentum needs a momentum and no dampening, not "
                            "%g and %g", group, h->momentum, h->dampening);
    if (h->step_min > h->step_max)
        return lfuse__error(LFUSE_ERR_INVALID, "group %d: step_min is %g, step_max %g", group, h->step_min,
                            h->step_max);
    if (h->momentum != 0 && !(switches & LFUSE_OPTIM_MOMENTUM))
        return lfuse__error(LFUSE_ERR_INVALID, "group %d: a momentum of %g for an optimizer (%s) that was made without",
                            group, h->momentum, rule->name);
    return LFUSE_OK;
}

lfuse_status lfuse__hyper_check(const lfuse__rule *rule, unsigned switches, int group, const lfuse_hyper *hyper)
{
    int field;

    for (field = 0; field < LFUSE__HYPER_COUNT; field++) {
        const lfuse__rule_hyper *h = entry_of(rule, switches, (lfuse__hyper_field)field);
        const double x = lfuse__hyper_get(hyper, (lfuse__hyper_field)field);
        if (!h && x != 0)
            return lfuse__error(LFUSE_ERR_INVALID, "group %d: %s has no %s, and it is %g", group, rule->name,
                                names[field], x);
        if (h && !within(h->range, x))
            return lfuse__error(LFUSE_ERR_INVALID, "group %d: %s is %g, not %s", group, names[field], x,
                                range_text(h->range));
    }
    return check_together(rule, switches, group, hyper);
}

/* ---- public: what needs no device ---- */

const char *lfuse_rule_name(lfuse_rule rule)
{
    const lfuse__rule *r = lfuse__rule_of(rule);

    return r ? r->name : "?";
}

lfuse_status lfuse_hyper_defaults(lfuse_rule rule, lfuse_hyper *hyper)
{
    const lfuse__rule *r = lfuse__rule_of(rule);
    const lfuse__rule_hyper *h;

    if (!hyper) return lfuse__error(LFUSE_ERR_INVALID, "lfuse_hyper_defaults: hyper is NULL");
    if (!r) return lfuse__error(LFUSE_ERR_INVALID, "lfuse_hyper_defaults: %d is no rule", (int)rule);
    memset(hyper, 0, sizeof *hyper);
    for (h = r->hypers; h->field != LFUSE__HYPER_END; h++)
        memcpy((char *)hyper + offsets[h->field], &h->value, sizeof h->value);
    return LFUSE_OK;
}

/* ---- NAdam ---- */

static double momentum_at(double decay, double beta1, int64_t t)
{
    return beta1 * (1 - 0.5 * lfuse__op_value(LFUSE__OP_powi, decay, (double)t, 0));
}

double lfuse__nadam_momentum(const lfuse_hyper *h, int64_t t)
{
    return momentum_at(lfuse__op_value(LFUSE__OP_pow, 0.96, h->momentum_decay, 0), h->beta1, t);
}

/* It comes to 0 after some thousand steps. */
double lfuse__nadam_product(const lfuse_hyper *h, int64_t steps)
{
    const double decay = lfuse__op_value(LFUSE__OP_pow, 0.96, h->momentum_decay, 0);
    double product = 1;
    int64_t t;

    for (t = 1; t <= steps && product != 0; t++) product *= momentum_at(decay, h->beta1, t);
    return product;
}
