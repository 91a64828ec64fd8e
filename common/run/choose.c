/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the provider's algorithms a product uses: the one that wisdom names; else the heuristic's first, or, with
 * effort measure, the fastest of those it lists, which becomes wisdom. Remembered on the device, so that equal products
 * always get the same one.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/instance.h"
#include "common/tune/wisdom.h"

typedef struct choice {
    struct choice *next;
    lfuse__gemm_desc desc;
    bool measured;
    lfuse__gemm_candidate candidate;
} choice;

typedef struct choices {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool busy; /* somebody chooses; the others wait, so that equal products never race */
    choice *first;
} choices;

static lfuse_status create(lfuse_device *dev, void **data)
{
    choices *all = calloc(1, sizeof *all);

    (void)dev;
    if (!all) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *all);
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->done, NULL);
    *data = all;
    return LFUSE_OK;
}

static void empty(choices *all)
{
    while (all->first) {
        choice *c = all->first;
        all->first = c->next;
        free(c);
    }
}

static void destroy(void *data)
{
    choices *all = data;

    empty(all);
    pthread_cond_destroy(&all->done);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

/* ---- the choice ---- */

enum { NAME_BYTES = 512 }; /* twelve numbers of any size and the words */

/* All of the description, in the words of lfuse-bench: what differs in the least is another product. */
static void name_product(const lfuse__gemm_desc *d, char name[NAME_BYTES])
{
    static const char *const epilogues[] = {
        [LFUSE__EP_NONE] = "", [LFUSE__EP_BIAS] = ":ep=bias", [LFUSE__EP_RELU] = ":ep=relu",
        [LFUSE__EP_BIAS_RELU] = ":ep=bias+relu", [LFUSE__EP_BIAS_GELU_TANH] = ":ep=bias+gelu_tanh",
    };

    int length = snprintf(
        name, NAME_BYTES, "gemm:%" PRId64 "x%" PRId64 "x%" PRId64 ":%s:%c%c:ld%" PRId64 ",%" PRId64 ",%" PRId64
        "%s%s%s%s%s", d->m, d->n, d->k, lfuse_type_name(d->type), d->ta ? 't' : 'n', d->tb ? 't' : 'n', d->lda, d->ldb,
        d->ldc, d->has_beta ? ":beta" : "", d->apart ? ":apart" : "", epilogues[d->epilogue], d->wide ? ":to=f32" : "",
        d->tf32 ? ":tf32" : "");

    if (d->batch)
        length += snprintf(name + length, (size_t)(NAME_BYTES - length), ":batch%" PRId64 ":stride%" PRId64 ",%" PRId64
                           ",%" PRId64, d->batch, d->stride_a, d->stride_b, d->stride_c);
    if (d->apart)
        snprintf(name + length, (size_t)(NAME_BYTES - length), ":add%" PRId64 ",%" PRId64, d->ld_add, d->stride_add);
}

static int find_candidate(const lfuse__gemm_candidate *all, int count, const lfuse__wise_choice *wise)
{
    int i;

    for (i = 0; i < count; i++)
        if (!strcmp(all[i].provider, wise->provider) && !strcmp(all[i].identity, wise->identity)) return i;
    return -1;
}

static lfuse_status measure(lfuse_instance *in, const lfuse__gemm_desc *desc, const char *name,
                            const lfuse__gemm_candidate *all, int count, int *best)
{
    lfuse__wise_choice wise = { .us = 0 };

    LFUSE__TRY(lfuse__gemm_race(in, desc, all, count, best, &wise.us));
    snprintf(wise.provider, sizeof wise.provider, "%s", all[*best].provider);
    snprintf(wise.identity, sizeof wise.identity, "%s", all[*best].identity);
    lfuse__wisdom_note(in->plan->dev, name, &wise);
    return LFUSE_OK;
}

static lfuse_status choose(lfuse_instance *in, const lfuse__gemm_desc *desc, lfuse__gemm_candidate *candidate)
{
    lfuse__gemm_candidate all[LFUSE__GEMM_CANDIDATES];
    lfuse__wise_choice wise;
    char name[NAME_BYTES];
    int count, best = -1;
    bool known;

    name_product(desc, name);
    LFUSE__TRY(lfuse__wisdom_ask(in->plan->dev, name, &wise, &known));
    LFUSE__TRY(lfuse__gemm_candidates(in->plan->dev, desc, known || in->plan->measure ? LFUSE__GEMM_CANDIDATES : 1, all,
                                      &count));
    if (known) best = find_candidate(all, count, &wise);
    if (known && best < 0)
        lfuse__log(LFUSE_LOG_DEBUG, "%s: wisdom names %s %s, which is not there any more: %s", name, wise.provider,
                   wise.identity, in->plan->measure ? "it is measured anew" : "the estimate is taken");
    if (best < 0) {
        best = 0;
        if (in->plan->measure && count > 1) {
            lfuse_status status = measure(in, desc, name, all, count, &best);
            if (status == LFUSE_ERR_DEVICE_MEMORY) {
                lfuse__log(LFUSE_LOG_WARN, "%s is not measured, the estimate is taken: %s", name,
                           lfuse__error_message());
                status = LFUSE_OK;
            }
            LFUSE__TRY(status);
        }
    }
    *candidate = all[best];
    return LFUSE_OK;
}

/* The vendor's favourite of those that need no workspace; whatever wisdom says. */
static lfuse_status choose_lean(lfuse_instance *in, const lfuse__gemm_desc *desc, lfuse__gemm_candidate *candidate)
{
    lfuse__gemm_candidate all[LFUSE__GEMM_CANDIDATES];
    char name[NAME_BYTES];
    int count, i;

    LFUSE__TRY(lfuse__gemm_candidates(in->plan->dev, desc, LFUSE__GEMM_CANDIDATES, all, &count));
    for (i = 0; i < count && all[i].workspace; i++) continue;
    if (i < count) {
        *candidate = all[i];
        return LFUSE_OK;
    }
    name_product(desc, name);
    return lfuse__error(LFUSE_ERR_DEVICE_MEMORY, "%s: no algorithm of %d does without workspace, for which there is no "
                        "memory", name, count);
}

static choice *find(choices *all, const lfuse__gemm_desc *desc, bool measured)
{
    choice *c;

    for (c = all->first; c; c = c->next)
        if (c->measured == measured && !memcmp(&c->desc, desc, sizeof *desc)) return c;
    return NULL;
}

static lfuse_status get(lfuse_device *dev, choices **all)
{
    void *data;

    LFUSE__TRY(lfuse__device_attachment(dev, LFUSE__ATTACH_GEMMS, create, destroy, &data));
    *all = data;
    return LFUSE_OK;
}

lfuse_status lfuse__gemm_choose_anew(lfuse_device *dev)
{
    choices *all;

    LFUSE__TRY(get(dev, &all));
    pthread_mutex_lock(&all->lock);
    while (all->busy) pthread_cond_wait(&all->done, &all->lock);
    empty(all);
    pthread_mutex_unlock(&all->lock);
    return LFUSE_OK;
}

lfuse_status lfuse__gemm_choose(lfuse_instance *in, const lfuse__gemm_desc *desc, lfuse__gemm_candidate *candidate)
{
    choices *all;
    choice *c;
    lfuse_status status;

    if (in->lean) return choose_lean(in, desc, candidate);
    LFUSE__TRY(get(in->plan->dev, &all));
    pthread_mutex_lock(&all->lock);
    while (all->busy) pthread_cond_wait(&all->done, &all->lock);
    c = find(all, desc, in->plan->measure);
    if (c) {
        *candidate = c->candidate;
        pthread_mutex_unlock(&all->lock);
        return LFUSE_OK;
    }
    all->busy = true;
    pthread_mutex_unlock(&all->lock);
    status = choose(in, desc, candidate);
    c = status ? NULL : malloc(sizeof *c); /* without memory it is chosen again the next time */
    if (c) {
        *c = (choice){ .measured = in->plan->measure, .candidate = *candidate };
        memcpy(&c->desc, desc, sizeof *desc);
    }
    pthread_mutex_lock(&all->lock);
    if (c) {
        c->next = all->first;
        all->first = c;
    }
    all->busy = false;
    pthread_cond_broadcast(&all->done);
    pthread_mutex_unlock(&all->lock);
    return status;
}
