/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/*
 * The alternatives of a stage, timed against each other: a vendor's product with its epilogue, one with a kernel behind
 * it, one kernel for all. They are furnished one behind the other, as if the plan had all of them, and run over memory
 * of their own in the place of what will be bound; then they go, and the instance is as it was.
 */
#include "common/run/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/loop.h"
#include "common/run/race.h"
#include "common/run/wisdom.h"

/*
 * The estimate's first stays unless another one is faster by more than repeated measurements differ; on GPUs by more
 * than they mislead: a product that is timed over and over has its weights in the cache, where those of a network that
 * is larger are not. On an H200 tiles of 64 x 2048 x 2048 won by 3 % so, and lost by 11 % in a network of eight.
 */
static double worth(const lfuse__facts *facts)
{
    return facts->info.kind == LFUSE_DEVICE_CPU ? 0.98 : 0.9;
}
#define PROVIDER "plan"

typedef struct trial {
    lfuse_instance *in;
    const lfuse__way *ways;
    int count;
    int first[LFUSE__CONTESTANTS], end[LFUSE__CONTESTANTS]; /* operations */
    bool declined[LFUSE__CONTESTANTS];
    /* What the instance had before. */
    int noperations, nbuffers;
    lfuse__instance_buffer *buffers;
    lfuse__spot *spots;
    double *numbers;
    lfuse__location scratch;
    bool more;
    /* In its place. */
    lfuse_stream *stream;
    lfuse__range *memory;
    uint64_t bytes;
    lfuse_type type;
} trial;

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

/* ---- as if the plan had all of them ---- */

static void *copy_of(const void *array, int count, size_t size)
{
    void *copy = malloc(((size_t)count + 1) * size);

    if (copy && count) memcpy(copy, array, (size_t)count * size);
    return copy;
}

static lfuse_status keep(trial *t)
{
    const lfuse_instance *in = t->in;

    t->noperations = in->noperations;
    t->nbuffers = in->nbuffers;
    t->scratch = in->scratch;
    t->more = in->more;
    t->buffers = copy_of(in->buffers, in->nbuffers, sizeof *in->buffers);
    t->spots = copy_of(in->spots, in->plan->nnames, sizeof *in->spots);
    t->numbers = copy_of(in->numbers, in->body->nnumbers, sizeof *in->numbers);
    if (t->buffers && t->spots && t->numbers) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d buffers)", in->nbuffers);
}

/* The prepared memory that the trial gave to buffers goes; it had none before. */
static void restore(trial *t)
{
    lfuse_instance *in = t->in;
    int i;

    if (t->buffers && t->spots && t->numbers) {
        lfuse__drop_operations(in, t->noperations);
        for (i = 0; i < in->nbuffers; i++)
            if (i >= t->nbuffers || in->buffers[i].prepared != t->buffers[i].prepared)
                lfuse__range_release(in->buffers[i].prepared);
        in->nbuffers = t->nbuffers;
        in->scratch = t->scratch;
        in->more = t->more;
        if (t->nbuffers) memcpy(in->buffers, t->buffers, (size_t)t->nbuffers * sizeof *t->buffers);
        memcpy(in->spots, t->spots, (size_t)in->plan->nnames * sizeof *t->spots);
        if (in->body->nnumbers) memcpy(in->numbers, t->numbers, (size_t)in->body->nnumbers * sizeof *t->numbers);
    }
    free(t->numbers);
    free(t->spots);
    free(t->buffers);
}

/* Who declines is out of the race. LFUSE_NOT_READY (no message): one alone is left, or none. */
static lfuse_status furnish(trial *t)
{
    lfuse_instance *in = t->in;
    lfuse_status status;
    int i, left = 0;

    in->more = false; /* no estimate: all that can shall */
    for (i = 0; i < t->count; i++) {
        t->first[i] = in->noperations;
        in->tiling = t->ways[i].tiled ? &t->ways[i].tiling : NULL;
        status = lfuse__furnish_alternative(in, t->ways[i].alternative);
        in->tiling = NULL;
        if (status && status != LFUSE_ERR_UNSUPPORTED && !t->ways[i].tiled) return status;
        if (status) lfuse__log(LFUSE_LOG_DEBUG, "%s declines: %s", t->ways[i].name, lfuse__error_message());
        t->declined[i] = status != LFUSE_OK;
        if (status) lfuse__drop_operations(in, t->first[i]);
        t->end[i] = in->noperations;
        left += !t->declined[i];
    }
    return left > 1 ? LFUSE_OK : LFUSE_NOT_READY;
}

/* ---- memory ---- */

static uint64_t claim(trial *t, uint64_t bytes)
{
    const uint64_t at = t->bytes;

    t->bytes += (bytes + 255) / 256 * 256;
    return at;
}

/* Where the first element of a tensor is: strides may be negative. The address is made whole when there is memory. */
static void place_tensor(trial *t, int name)
{
    const lfuse_graph *g = t->in->plan->graph;
    const lfuse__node *n = &g->nodes[g->names[name].node];
    const lfuse__bound *b = &t->in->bound[name];
    const uint64_t size = lfuse_type_size((lfuse_type)n->type);
    int64_t low = 0, high = 0, reach;
    lfuse__spot *s = &t->in->spots[name];
    int i;

    for (i = 0; i < n->rank; i++) {
        reach = b->shape[i] > 1 ? (b->shape[i] - 1) * b->strides[i] : 0;
        if (reach < 0) low += reach;
        else high += reach;
    }
    memset(s, 0, sizeof *s);
    s->offset = claim(t, (uint64_t)(high - low + 1) * size) + (uint64_t)-low * size;
}

/* Each name once: `done` marks them. */
static void place_tensors(trial *t, bool *done)
{
    int i, k, j;

    for (i = 0; i < t->count; i++)
        for (k = 0; k < t->ways[i].alternative->nsteps; k++)
            for (j = 0; j < t->ways[i].alternative->steps[k].noperands; j++) {
                const lfuse__operand *o = &t->ways[i].alternative->steps[k].operands[j];
                if (o->place != LFUSE__PLACE_BOUND || done[o->index]) continue;
                done[o->index] = true;
                place_tensor(t, o->index);
            }
}

static lfuse_status give_memory(trial *t, const bool *done)
{
    lfuse_instance *in = t->in;
    lfuse__range *m;
    int i;

    LFUSE__TRY(lfuse__range_create(in->plan->dev, t->bytes, &t->memory));
    m = t->memory;
    LFUSE__TRY(lfuse__race_fill(t->stream, m, 0, t->bytes, t->type));
    in->scratch = (lfuse__location){ m->mem, m->offset, m->address };
    for (i = 0; i < in->plan->nnames; i++) {
        lfuse__spot *s = &in->spots[i];
        if (!done[i]) continue;
        s->address = m->address + s->offset;
        s->offset += m->offset;
        s->mem = m->mem;
    }
    return LFUSE_OK;
}

/* Buffers that the alternatives use; of those in the scratch the offset counts from its start. */
static lfuse_status place_buffers(trial *t)
{
    lfuse_instance *in = t->in;
    int i;

    for (i = 0; i < in->nbuffers; i++) {
        lfuse__instance_buffer *b = &in->buffers[i];
        if (b->last < t->noperations) continue;
        if (b->place == LFUSE__PLACE_SCRATCH) b->offset = claim(t, b->bytes);
        else if (!b->prepared) {
            LFUSE__TRY(lfuse__range_create(in->plan->dev, b->bytes, &b->prepared));
            LFUSE__TRY(b->tickets ? lfuse__fill(t->stream, b->prepared, 0, 0, 4, b->bytes)
                                  : lfuse__race_fill(t->stream, b->prepared, 0, b->bytes, t->type));
        }
    }
    return LFUSE_OK;
}

static lfuse_status place(trial *t)
{
    lfuse_instance *in = t->in;
    bool *done = calloc((size_t)in->plan->nnames + 1, sizeof *done);
    lfuse_status status;
    int i;

    if (!done) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d names)", in->plan->nnames);
    for (i = 0; i < in->body->nnumbers; i++) in->numbers[i] = 1;
    status = place_buffers(t);
    place_tensors(t, done);
    if (!status) status = give_memory(t, done);
    free(done);
    return status;
}

/* ---- the contest ---- */

static const char *name(void *data, int i)
{
    return ((trial *)data)->ways[i].name;
}

static lfuse_status prepare(void *data, int i)
{
    trial *t = data;

    if (t->declined[i]) return lfuse__error(LFUSE_ERR_UNSUPPORTED, "it declines");
    return lfuse__operations_place(t->in, t->first[i], t->end[i]);
}

static lfuse_status run(void *data, int i, lfuse_stream *s)
{
    trial *t = data;

    return lfuse__operations_launch(t->in, t->first[i], t->end[i], s);
}

static void release(void *data, int i)
{
    (void)data, (void)i; /* the operations go all at once */
}

static lfuse_status hold(trial *t, const char *what, lfuse__wise_choice *wise)
{
    const lfuse__contest contest = { .what = what, .count = t->count, .data = t, .name = name, .prepare = prepare,
                                     .run = run, .release = release };
    double us[LFUSE__CONTESTANTS];
    int best, first = 0;

    LFUSE__TRY(lfuse__stream_sync(t->in->stream)); /* what it has to do would run beside */
    LFUSE__TRY(furnish(t));
    LFUSE__TRY(lfuse__stream_create(t->in->plan->dev, &t->stream));
    LFUSE__TRY(place(t));
    LFUSE__TRY(lfuse__race(&contest, t->stream, &best, us));
    while (isinf(us[first])) first++;
    if (us[best] > us[first] * worth(t->in->facts)) best = first;
    wise->us = us[best];
    snprintf(wise->provider, sizeof wise->provider, PROVIDER);
    snprintf(wise->identity, sizeof wise->identity, "%s", t->ways[best].name);
    return LFUSE_OK;
}

static lfuse_type type_of(const lfuse__way *ways, int count)
{
    int i, k;

    for (i = 0; i < count; i++)
        for (k = 0; k < ways[i].alternative->nsteps; k++) {
            const lfuse__step *s = &ways[i].alternative->steps[k];
            if (s->kind == LFUSE__STEP_GEMM) return s->product.type;
        }
    return LFUSE_F32;
}

static lfuse_status measure(lfuse_instance *in, const lfuse__way *ways, int count, const char *what,
                            lfuse__wise_choice *wise)
{
    trial t = { .in = in, .ways = ways, .count = count, .type = type_of(ways, count) };
    lfuse_status status = keep(&t);

    if (!status) status = hold(&t, what, wise);
    lfuse__stream_destroy(t.stream);
    restore(&t);
    lfuse__range_release(t.memory);
    return status;
}

/* ---- the choice ---- */

/* What wisdom names, in front; no message where it is no way. */
static bool put_first(lfuse_instance *in, const lfuse__alternative **order, int count, const lfuse__wise_choice *wise,
                      lfuse__known *known)
{
    lfuse__saved_error before;
    lfuse__way way;
    int i;

    if (strcmp(wise->provider, PROVIDER)) return false;
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

static void try_all(lfuse_instance *in, const lfuse__alternative **order, int count, const char *what,
                    lfuse__known *known)
{
    lfuse__way ways[LFUSE__CONTESTANTS];
    lfuse__wise_choice wise;
    lfuse__saved_error before;
    lfuse_status status;
    int found;

    lfuse__error_save(&before);
    status = lfuse__ways(in, order, count, ways, LFUSE__CONTESTANTS, &found);
    if (!status) status = found > 1 ? measure(in, ways, found, what, &wise) : LFUSE_NOT_READY;
    if (status && status != LFUSE_NOT_READY)
        lfuse__log(LFUSE_LOG_DEBUG, "%s: not measured: %s", what, lfuse__error_message());
    lfuse__error_restore(&before); /* also that of who declined */
    if (status) return;
    lfuse__wisdom_note(in->plan->dev, what, &wise);
    put_first(in, order, count, &wise, known);
}

lfuse_status lfuse__trial(lfuse_instance *in, const lfuse__alternative **order, int count, lfuse__known *known)
{
    lfuse_device *dev = in->plan->dev;
    char what[LFUSE__TRIAL_NAME];
    lfuse__wise_choice wise;
    bool any = in->plan->measure, found;
    lfuse_status status;
    void *inside;

    memset(known, 0, sizeof *known);
    if (!worth_a_trial(in, order, count)) return LFUSE_OK;
    if (!any) LFUSE__TRY(lfuse__wisdom_any(dev, &any));
    if (!any) return LFUSE_OK;
    LFUSE__TRY(lfuse__trial_name(in, order, count, what));
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
