/* SPDX-License-Identifier: Apache-2.0 */
/* What steps of all kinds are asked. */
#include <stdlib.h>

#include "common/plan/draft.h"

int lfuse__step_children(const lfuse__step *s, lfuse__step **children)
{
    const bool made = s->kind == LFUSE__STEP_BUNDLE || s->kind == LFUSE__STEP_NETWORK;

    *children = made ? s->children : NULL;
    return made ? s->nchildren : 0;
}

int lfuse__step_list(const lfuse__step *s)
{
    switch (s->kind) {
    case LFUSE__STEP_MULTI:
    case LFUSE__STEP_MEMBERS:
    case LFUSE__STEP_LINES:
    case LFUSE__STEP_GROUPED: return s->lists.list;
    default: return -1;
    }
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
