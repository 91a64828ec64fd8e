/* SPDX-License-Identifier: Apache-2.0 */
/* Steps and stages: what those of all kinds are asked, and what they own. */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

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
    const bool consists = lfuse__step_over(s) == LFUSE__OVER_STEPS;

    *children = consists ? s->children : NULL;
    return consists ? s->nchildren : 0;
}

int lfuse__step_list(const lfuse__step *s)
{
    return lfuse__step_over(s) == LFUSE__OVER_LISTS ? s->lists.list : -1;
}

/* ---- what they own ---- */

static void *copy(const void *data, int count, size_t element)
{
    void *p = malloc((size_t)(count ? count : 1) * element);

    if (p) memcpy(p, data, (size_t)count * element);
    return p;
}

lfuse_status lfuse__step_copy(const lfuse__step *from, lfuse__step *to)
{
    *to = *from;
    to->operands = copy(from->operands, from->noperands, sizeof *from->operands);
    to->body.instr = copy(from->body.instr, from->body.ninstr, sizeof *from->body.instr);
    to->body.stores = copy(from->body.stores, from->body.nstores, sizeof *from->body.stores);
    to->body.number_types = copy(from->body.number_types, from->body.nnumbers, sizeof *from->body.number_types);
    to->numbers = copy(from->numbers, from->body.nnumbers, sizeof *from->numbers);
    if (to->operands && to->body.instr && to->body.stores && to->body.number_types && to->numbers) return LFUSE_OK;
    to->noperands = 0;
    return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d instructions)",
                        from->body.ninstr);
}

/* Room for `more` elements. */
static bool enlarge(void **array, int count, int more, size_t element)
{
    void *p = realloc(*array, (size_t)(count + more + 1) * element);

    if (p) *array = p;
    return p;
}

static bool make_room(lfuse__step *to, const lfuse__step *added)
{
    lfuse__body *body = &to->body;
    const int numbers = added->body.nnumbers;

    return enlarge((void **)&to->operands, to->noperands, added->noperands, sizeof *to->operands) &&
           enlarge((void **)&body->instr, body->ninstr, added->body.ninstr, sizeof *body->instr) &&
           enlarge((void **)&body->stores, body->nstores, added->body.nstores, sizeof *body->stores) &&
           enlarge((void **)&body->number_types, body->nnumbers, numbers, sizeof *body->number_types) &&
           enlarge((void **)&to->numbers, body->nnumbers, numbers, sizeof *to->numbers);
}

static int16_t moved(int16_t reg, int by)
{
    return (int16_t)(reg < 0 ? reg : reg + by);
}

lfuse_status lfuse__step_append(lfuse__step *to, const lfuse__step *added, int16_t *at)
{
    lfuse__body *body = &to->body;
    const int first = body->ninstr, numbers = body->nnumbers;
    int i;

    if (!make_room(to, added)) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made");
    for (i = 0; i < added->noperands; i++) {
        if (at[i] >= 0) continue;
        at[i] = (int16_t)to->noperands;
        to->operands[to->noperands++] = added->operands[i];
    }
    for (i = 0; i < added->body.ninstr; i++) {
        lfuse__instr in = added->body.instr[i];
        in.a = in.kind == LFUSE__I_LOAD ? at[in.a] : moved(in.a, in.kind == LFUSE__I_NUMBER ? numbers : first);
        in.b = moved(in.b, first);
        in.c = moved(in.c, first);
        body->instr[body->ninstr++] = in;
    }
    for (i = 0; i < added->body.nstores; i++) {
        const lfuse__store *s = &added->body.stores[i];
        body->stores[body->nstores++] = (lfuse__store){ moved(s->reg, first), at[s->operand] };
    }
    for (i = 0; i < added->body.nnumbers; i++) {
        body->number_types[body->nnumbers] = added->body.number_types[i];
        to->numbers[body->nnumbers++] = added->numbers[i];
    }
    return LFUSE_OK;
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

lfuse_status lfuse__stage_add(lfuse__stage *stage, const char *name, int nsteps)
{
    lfuse__alternative *all = realloc(stage->alternatives, ((size_t)stage->nalternatives + 1) * sizeof *all);
    lfuse__step *steps = calloc((size_t)nsteps, sizeof *steps);

    if (all) stage->alternatives = all;
    if (!all || !steps) {
        free(steps);
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d steps)", nsteps);
    }
    all[stage->nalternatives++] = (lfuse__alternative){ .nsteps = nsteps, .steps = steps, .name = name };
    return LFUSE_OK;
}

lfuse_status lfuse__stage_create(lfuse__stage *stage, int count, const int *steps)
{
    int i;

    for (i = 0; i < count; i++) LFUSE__TRY(lfuse__stage_add(stage, NULL, steps[i]));
    return LFUSE_OK;
}

void lfuse__stage_free(lfuse__stage *s)
{
    int j, k;

    for (j = 0; j < s->nalternatives; j++) {
        for (k = 0; k < s->alternatives[j].nsteps; k++) lfuse__step_free(&s->alternatives[j].steps[k]);
        free(s->alternatives[j].steps);
    }
    free(s->alternatives);
    if (s->network) lfuse__step_free(s->network);
    free(s->network);
    *s = (lfuse__stage){ 0 };
}
