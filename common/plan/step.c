/* SPDX-License-Identifier: Apache-2.0 */
/* What steps of all kinds are asked. */
#include <stdlib.h>

#include "common/plan/draft.h"

static const lfuse__over overs[LFUSE__STEP_KINDS] = {
#define LFUSE__STEP(kind, word, print, over, ...) [LFUSE__STEP_##kind] = LFUSE__OVER_##over,
#include "common/plan/families.def"
};

lfuse__over lfuse__kind_over(lfuse__step_kind kind)
{
    return overs[kind];
}

lfuse__over lfuse__step_over(const lfuse__step *s)
{
    return overs[s->kind];
}

int lfuse__step_children(const lfuse__step *s, lfuse__step **children)
{
    const bool made = lfuse__step_over(s) == LFUSE__OVER_STEPS;

    *children = made ? s->children : NULL;
    return made ? s->nchildren : 0;
}

int lfuse__step_list(const lfuse__step *s)
{
    return lfuse__step_over(s) == LFUSE__OVER_LISTS ? s->lists.list : -1;
}

void lfuse__step_free(lfuse__step *s)
{
    lfuse__step *children;
    const int count = lfuse__step_children(s, &children);
    int i;

    for (i = 0; i < count; i++) lfuse__step_free(&children[i]);
    free(children);
    free(s->operands);
    free(s->body.instr);
    free(s->body.stores);
    free(s->body.number_types);
    free(s->numbers);
}
