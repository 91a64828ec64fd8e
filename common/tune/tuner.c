/* SPDX-License-Identifier: Apache-2.0 */
#include "common/tune/tuner.h"

#include <math.h>
#include <string.h>

#include "common/base/log.h"

static lfuse_status find(const lfuse__candidates *c, const lfuse__wise_choice *named, int *chosen)
{
    int count, i;

    if (c->find) {
        *chosen = c->find(c->context, named);
        return LFUSE_OK;
    }
    LFUSE__TRY(c->list(c->context, &count));
    for (i = 0; i < count && *chosen < 0; i++) {
        const lfuse__candidate_name name = c->name(c->context, i);
        if (!strcmp(name.provider, named->provider) && !strcmp(name.identity, named->identity)) *chosen = i;
    }
    if (*chosen < 0)
        lfuse__log(LFUSE_LOG_DEBUG, "%s: wisdom names %s %s, which is not there any more: %s", c->problem,
                   named->provider, named->identity, c->measure ? "it is measured anew" : "the estimate is taken");
    return LFUSE_OK;
}

/* On a stream of its own: the user's may be one that cannot be captured. */
static lfuse_status measure_on_stream(lfuse_device *dev, const lfuse__candidates *c, int count, int *best, double *us)
{
    lfuse_stream *stream;
    lfuse_status status;

    LFUSE__TRY(lfuse__stream_create(dev, &stream));
    status = c->set_up(c->context, stream);
    if (!status) status = lfuse__measure(c, count, stream, best, us);
    lfuse__stream_destroy(stream);
    c->tear_down(c->context);
    return status;
}

static lfuse_status measure(lfuse_device *dev, lfuse_stream *busy, const lfuse__candidates *c, int *chosen)
{
    double us[LFUSE__CANDIDATES];
    lfuse__candidate_name name;
    int count, best, first = 0;

    LFUSE__TRY(c->list(c->context, &count));
    if (count < 2) return LFUSE_NOT_READY;
    LFUSE__TRY(lfuse__stream_sync(busy)); /* its work would run at the same time */
    LFUSE__TRY(measure_on_stream(dev, c, count, &best, us));
    while (isinf(us[first])) first++;
    if (c->margin > 0 && us[best] > us[first] * c->margin) best = first;
    name = c->name(c->context, best);
    lfuse__wisdom_note(dev, c->problem, name.provider, name.identity, us[best]);
    *chosen = best;
    return LFUSE_OK;
}

/* A failure that is logged leaves no message, nor does what is said by candidates that decline. */
static lfuse_status measure_or_log(lfuse_device *dev, lfuse_stream *busy, const lfuse__candidates *c, int *chosen)
{
    lfuse__saved_error before;
    lfuse_status status;

    lfuse__error_save(&before);
    status = measure(dev, busy, c, chosen);
    if (status && status != LFUSE_NOT_READY) {
        if (!c->required)
            lfuse__log(LFUSE_LOG_DEBUG, "%s: not measured: %s", c->problem, lfuse__error_message());
        else if (status == LFUSE_ERR_DEVICE_MEMORY)
            lfuse__log(LFUSE_LOG_WARN, "%s is not measured, the estimate is taken: %s", c->problem,
                       lfuse__error_message());
        else return status;
    }
    lfuse__error_restore(&before);
    return LFUSE_OK;
}

lfuse_status lfuse__tune(lfuse_device *dev, lfuse_stream *busy, const lfuse__candidates *c, int *chosen)
{
    lfuse__wise_choice named;
    lfuse_status status;
    lfuse__tuner *t;
    bool known;

    LFUSE__TRY(lfuse__tuner_get(dev, &t));
    pthread_mutex_lock(&t->measuring);
    *chosen = -1;
    status = lfuse__wisdom_ask(dev, c->problem, &named, &known);
    if (!status && known) status = find(c, &named, chosen);
    if (!status && *chosen < 0 && c->measure) status = measure_or_log(dev, busy, c, chosen);
    pthread_mutex_unlock(&t->measuring);
    return status;
}
