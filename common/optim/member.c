/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of members, by the functions of lists or by those of tensors, which give the same bits. */
#include "common/optim/rule.h"

static const int last[] = { -1 }, last_but_one[] = { -2 };

lfuse_value lfuse__rule_member_sum(const lfuse__rule_step *s, lfuse_value x)
{
    return s->tensor ? lfuse_sum(x, LFUSE_ALL_AXES, NULL, 1) : lfuse_member_sum(x);
}

lfuse_value lfuse__rule_member_mean(const lfuse__rule_step *s, lfuse_value x)
{
    return s->tensor ? lfuse_mean(x, LFUSE_ALL_AXES, NULL, 1) : lfuse_member_mean(x);
}

lfuse_value lfuse__rule_row_mean(const lfuse__rule_step *s, lfuse_value x)
{
    return s->tensor ? lfuse_mean(x, 1, last, 1) : lfuse_member_row_mean(x);
}

lfuse_value lfuse__rule_column_mean(const lfuse__rule_step *s, lfuse_value x)
{
    return s->tensor ? lfuse_mean(x, 1, last_but_one, 1) : lfuse_member_column_mean(x);
}

lfuse_value lfuse__rule_sum_of_rows(const lfuse__rule_step *s, lfuse_value rows)
{
    return s->tensor ? lfuse_sum(rows, 1, last_but_one, 1) : lfuse_member_row_sum(rows);
}
