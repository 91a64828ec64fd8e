/* SPDX-License-Identifier: Apache-2.0 */
/* Which way of a stage, or of the stages of a network: the one that wisdom names, or that wins a race. */
#include "common/run/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/loop.h"
#include "common/run/race.h"

/* ---- which stages ---- */

static bool plain_step(const lfuse_instance *in, const lfuse__step *s)
{
    int i;

    if (s->prepare || (s->kind != LFUSE__STEP_POINTWISE && s->kind != LFUSE__STEP_ROWS && s->kind != LFUSE__STEP_GEMM))
        return false;
    for (i = 0; i < s->noperands; i++) {
        const lfuse__operand *o = &s->operands[i];
        if (o->span != LFUSE__SPAN_TENSOR || o->gathered >= 0) return false;
        if (o->place == LFUSE__PLACE_BOUND && !in->bound[o->index].tensor) return false;
    }
    return true;
}

static bool worth_a_trial(const lfuse_instance *in, const lfuse__alternative *const *order, int count)
{
    bool product = false;
    int i, k;

    if (count > LFUSE__CONTESTANTS || in->groups) return false;
    for (i = 0; i < count; i++)
        for (k = 0; k < order[i]->nsteps; k++) {
            const lfuse__step *s = &order[i]->steps[k];
            if (!plain_step(in, s)) return false;
            product = product || s->kind == LFUSE__STEP_GEMM;
        }
    return product;
}

/* ---- the choice ---- */

/* What wisdom names, in front; no message where it is no way. */
static bool put_first(lfuse_instance *in, const lfuse__alternative **order, int count, const lfuse__wise_choice *wise,
                      lfuse__known *known)
{
    lfuse__saved_error before;
    lfuse__way way;
    int i;

    if (strcmp(wise->provider, LFUSE__TRIAL_PROVIDER)) return false;
    lfuse__error_save(&before);
    if (lfuse__way_of(in, order, count, wise->identity, &way)) {
        lfuse__error_restore(&before);
        return false;
    }
    for (i = 0; order[i] != way.alternative; i++) continue;
    memmove(order + 1, order, (size_t)i * sizeof *order);
    order[0] = way.alternative;
    *known = (lfuse__known){ .known = true, .tiled = way.tiled, .tiling = way.tiling };
    return true;
}

/* A race that fails is logged, and nothing is known. Whatever is said in it, also by who declined, is not passed on. */
static bool race(lfuse_instance *in, const lfuse__way *ways, int count, lfuse_status status, const char *what,
                 lfuse__wise_choice *wise)
{
    if (!status) status = count > 1 ? lfuse__trial_measure(in, ways, count, what, wise) : LFUSE_NOT_READY;
    if (status && status != LFUSE_NOT_READY)
        lfuse__log(LFUSE_LOG_DEBUG, "%s: not measured: %s", what, lfuse__error_message());
    if (!status) lfuse__wisdom_note(in->plan->dev, what, wise);
    return !status;
}

static void try_all(lfuse_instance *in, const lfuse__alternative **order, int count, const char *what,
                    lfuse__known *known)
{
    lfuse__way ways[LFUSE__CONTESTANTS];
    lfuse__wise_choice wise;
    lfuse__saved_error before;
    lfuse_status status;
    int found;
    bool raced;

    lfuse__error_save(&before);
    status = lfuse__ways(in, order, count, ways, LFUSE__CONTESTANTS, &found);
    raced = race(in, ways, found, status, what, &wise);
    lfuse__error_restore(&before);
    if (raced) put_first(in, order, count, &wise, known);
}

/* Whether there is anything to know, or to find out. */
static lfuse_status is_asked(const lfuse_instance *in, bool *asked)
{
    *asked = in->plan->measure;
    return *asked ? LFUSE_OK : lfuse__wisdom_any(in->plan->dev, asked);
}

lfuse_status lfuse__trial(lfuse_instance *in, const lfuse__alternative **order, int count, lfuse__known *known)
{
    lfuse_device *dev = in->plan->dev;
    char what[LFUSE__TRIAL_NAME];
    lfuse__wise_choice wise;
    lfuse_status status;
    bool any, found;
    void *inside;

    memset(known, 0, sizeof *known);
    if (!worth_a_trial(in, order, count)) return LFUSE_OK;
    LFUSE__TRY(is_asked(in, &any));
    if (!any) return LFUSE_OK;
    LFUSE__TRY(lfuse__trial_name(in, "stage", order, count, what));
    if (!*what) return LFUSE_OK;
    LFUSE__TRY(lfuse__wisdom_enter(dev, &inside)); /* equal stages are not tried side by side */
    status = lfuse__wisdom_ask(dev, what, &wise, &found);
    if (status) goto leave;
    if (found) put_first(in, order, count, &wise, known);
    if (found && !known->known)
        lfuse__log(LFUSE_LOG_DEBUG, "%s: wisdom names %s, which is no way to do it any more", what, wise.identity);
    if (!known->known && in->plan->measure) try_all(in, order, count, what, known);
leave:
    lfuse__wisdom_leave(inside);
    return status;
}

/* ---- networks ---- */

static const char *const network_ways[2] = { "network", "stages" };

/* With as many rows, the kernel may decline: that is seen when it is furnished. */
static bool network_worth(const lfuse_instance *in, const lfuse__stage *stage, int *nalternatives)
{
    int64_t rows;
    int i, j, k;

    if (in->groups || lfuse__size_evaluate(in->body->graph, stage->network->children[0].product.m, in->sizes, &rows) ||
        rows < 1 || rows > LFUSE__NETWORK_ROWS_MOST)
        return false;
    *nalternatives = 0;
    for (i = 0; i < stage->covers; i++)
        for (j = 0; j < stage[i].nalternatives; j++, ++*nalternatives)
            for (k = 0; k < stage[i].alternatives[j].nsteps; k++)
                if (!plain_step(in, &stage[i].alternatives[j].steps[k])) return false;
    return true;
}

/* After its layers, and what else there is for them. */
static lfuse_status name_network(const lfuse_instance *in, const lfuse__stage *stage, int nalternatives,
                                 char what[LFUSE__TRIAL_NAME])
{
    const lfuse__alternative network = { .nsteps = stage->network->nchildren, .steps = stage->network->children,
                                         .name = network_ways[0] };
    const lfuse__alternative **order = malloc(((size_t)nalternatives + 1) * sizeof *order);
    lfuse_status status;
    int i, j, count = 0;

    if (!order) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d alternatives)", nalternatives);
    order[count++] = &network;
    for (i = 0; i < stage->covers; i++)
        for (j = 0; j < stage[i].nalternatives; j++) order[count++] = &stage[i].alternatives[j];
    status = lfuse__trial_name(in, network_ways[0], order, count, what);
    free(order);
    return status;
}

static bool race_network(lfuse_instance *in, const lfuse__stage *stage, const char *what, lfuse__wise_choice *wise)
{
    lfuse__way ways[2] = { { .network = stage }, { .stages = stage, .nstages = stage->covers } };
    lfuse__saved_error before;
    bool raced;
    int i;

    for (i = 0; i < 2; i++) snprintf(ways[i].name, sizeof ways[i].name, "%s", network_ways[i]);
    lfuse__error_save(&before);
    raced = race(in, ways, 2, LFUSE_OK, what, wise);
    lfuse__error_restore(&before);
    return raced;
}

lfuse_status lfuse__trial_network(lfuse_instance *in, const lfuse__stage *stage, bool *apart)
{
    lfuse_device *dev = in->plan->dev;
    char what[LFUSE__TRIAL_NAME];
    lfuse__wise_choice wise;
    lfuse_status status;
    int nalternatives;
    bool any, found;
    void *inside;

    *apart = false;
    if (!network_worth(in, stage, &nalternatives)) return LFUSE_OK;
    LFUSE__TRY(is_asked(in, &any));
    if (!any) return LFUSE_OK;
    LFUSE__TRY(name_network(in, stage, nalternatives, what));
    LFUSE__TRY(lfuse__wisdom_enter(dev, &inside));
    status = lfuse__wisdom_ask(dev, what, &wise, &found);
    if (!status && !found && in->plan->measure) found = race_network(in, stage, what, &wise);
    if (!status && found) *apart = !strcmp(wise.provider, LFUSE__TRIAL_PROVIDER) &&
                                   !strcmp(wise.identity, network_ways[1]);
    lfuse__wisdom_leave(inside);
    return status;
}
