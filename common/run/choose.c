/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/*
 * Which of the provider's algorithms a product uses: the heuristic's first, or the fastest of those it lists, timed
 * once and remembered on the device, so that equal products always get the same one.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/instance.h"

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

static void destroy(void *data)
{
    choices *all = data;

    while (all->first) {
        choice *c = all->first;
        all->first = c->next;
        free(c);
    }
    pthread_cond_destroy(&all->done);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

static lfuse_status choose(lfuse_instance *in, const lfuse__gemm_desc *desc, lfuse__gemm_candidate *candidate)
{
    const int most = in->plan->measure ? LFUSE__GEMM_CANDIDATES : 1;
    lfuse__gemm_candidate all[LFUSE__GEMM_CANDIDATES];
    int count, best = 0;

    LFUSE__TRY(lfuse__gemm_candidates(in->plan->dev, desc, most, all, &count));
    if (count > 1) LFUSE__TRY(lfuse__gemm_race(in, desc, all, count, &best));
    *candidate = all[best];
    return LFUSE_OK;
}

static choice *find(choices *all, const lfuse__gemm_desc *desc, bool measured)
{
    choice *c;

    for (c = all->first; c; c = c->next)
        if (c->measured == measured && !memcmp(&c->desc, desc, sizeof *desc)) return c;
    return NULL;
}

lfuse_status lfuse__gemm_choose(lfuse_instance *in, const lfuse__gemm_desc *desc, lfuse__gemm_candidate *candidate)
{
    choices *all;
    void *data;
    choice *c;
    lfuse_status status;

    LFUSE__TRY(lfuse__device_attachment(in->plan->dev, LFUSE__ATTACH_GEMMS, create, destroy, &data));
    all = data;
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
