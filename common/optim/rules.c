/* SPDX-License-Identifier: Apache-2.0 */
#include "common/optim/rule.h"

static const lfuse__rule *const rules[] = {
#define LFUSE__RULE_ROW(name, number, text) [number] = &lfuse__rule_##name,
    LFUSE_RULE_MAP(LFUSE__RULE_ROW)
#undef LFUSE__RULE_ROW
};

const lfuse__rule *lfuse__rule_of(lfuse_rule rule)
{
    return rule > 0 && (size_t)rule < sizeof rules / sizeof *rules ? rules[rule] : NULL;
}
