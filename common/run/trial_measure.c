/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to do the same, timed against each other: a vendor's product with its epilogue, one with a kernel behind it, one
 * kernel for all; a network in one launch, or stage by stage. They are furnished one behind the other, as if the plan
 * had all of them, and run over memory of their own in the place of what will be bound; then they go, and the instance
 * is as it was.
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

/*
 * The estimate's first stays unless another one is faster by more than repeated measurements differ; on GPUs by more
 * than they mislead: a product that is timed over and over has its weights in the cache, where those of a network that
 * is larger are not. On an H200 tiles of 64 x 2048 x 2048 won by 3 % so, and lost by 11 % in a network of eight.
 */
static double worth(const lfuse__facts *facts)
{
    return facts->info.kind == LFUSE_DEVICE_CPU ? 0.98 : 0.9;
}

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
    bool more, together, workspaces;
    /* In its place. */
    lfuse_stream *stream;
    lfuse__range *memory;
    uint64_t bytes;
    lfuse_type type;
} trial;

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
    t->together = in->together;
    t->workspaces = in->workspaces;
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
        in->together = t->together;
        in->workspaces = t->workspaces;
        in->way = in->behind = 0;
        if (t->nbuffers) memcpy(in->buffers, t->buffers, (size_t)t->nbuffers * sizeof *t->buffers);
        memcpy(in->spots, t->spots, (size_t)in->plan->nnames * sizeof *t->spots);
        if (in->body->nnumbers) memcpy(in->numbers, t->numbers, (size_t)in->body->nnumbers * sizeof *t->numbers);
    }
    free(t->numbers);
    free(t->spots);
    free(t->buffers);
}

static lfuse_status furnish_way(lfuse_instance *in, const lfuse__way *w)
{
    lfuse_status status;

    in->more = false; /* no estimate: all that can shall */
    if (w->network) return lfuse__furnish_covered(in, w->network);
    if (w->stages) return lfuse__furnish_stages(in, w->stages, w->nstages);
    in->tiling = w->tiled ? &w->tiling : NULL;
    status = lfuse__furnish_alternative(in, w->alternative);
    in->tiling = NULL;
    return status;
}

/*
 * The kernels of alternatives, side by side, as far as that goes. Whose kernel fails is told when the ways are
 * furnished one by one, which find what there is.
 */
static void compile(trial *t)
{
    lfuse_instance *in = t->in;
    lfuse__saved_error before;
    int i;

    lfuse__error_save(&before);
    in->together = true;
    for (i = 0; i < t->count; i++) {
        const int first = in->noperations;
        if (t->ways[i].alternative && furnish_way(in, &t->ways[i])) lfuse__drop_operations(in, first);
    }
    (void)lfuse__operations_want(in, t->noperations);
    in->together = false;
    lfuse__drop_operations(in, t->noperations);
    in->nbuffers = t->nbuffers;
    if (t->nbuffers) memcpy(in->buffers, t->buffers, (size_t)t->nbuffers * sizeof *t->buffers);
    lfuse__error_restore(&before);
}

/* Who declines is out of the race. LFUSE_NOT_READY (no message): one alone is left, or none. */
static lfuse_status furnish(trial *t)
{
    lfuse_instance *in = t->in;
    lfuse_status status;
    int i, left = t->count;

    compile(t);
    for (i = 0; i < t->count && left > 1; i++) {
        t->first[i] = in->way = in->noperations;
        in->behind = t->noperations;
        status = furnish_way(in, &t->ways[i]);
        if (status && status != LFUSE_ERR_UNSUPPORTED && !t->ways[i].tiled) return status;
        if (status) lfuse__log(LFUSE_LOG_DEBUG, "%s declines: %s", t->ways[i].name, lfuse__error_message());
        t->declined[i] = status != LFUSE_OK;
        if (status) lfuse__drop_operations(in, t->first[i]);
        t->end[i] = in->noperations;
        left -= t->declined[i];
    }
    if (left < 2) return LFUSE_NOT_READY;
    return lfuse__stream_sync(in->stream); /* which has cleared memory that they keep */
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

static void place_steps(trial *t, const lfuse__step *steps, int count, bool *done)
{
    int i, j;

    for (i = 0; i < count; i++)
        for (j = 0; j < steps[i].noperands; j++) {
            const lfuse__operand *o = &steps[i].operands[j];
            if (o->place != LFUSE__PLACE_BOUND || done[o->index]) continue;
            done[o->index] = true;
            place_tensor(t, o->index);
        }
}

/* Each name once: `done` marks them. */
static void place_tensors(trial *t, bool *done)
{
    int i, k, j;

    for (i = 0; i < t->count; i++) {
        const lfuse__way *w = &t->ways[i];
        if (w->alternative) place_steps(t, w->alternative->steps, w->alternative->nsteps, done);
        if (w->network) place_steps(t, w->network->network->children, w->network->network->nchildren, done);
        for (k = 0; k < w->nstages; k++)
            for (j = 0; j < w->stages[k].nalternatives; j++)
                place_steps(t, w->stages[k].alternatives[j].steps, w->stages[k].alternatives[j].nsteps, done);
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
    snprintf(wise->provider, sizeof wise->provider, LFUSE__TRIAL_PROVIDER);
    snprintf(wise->identity, sizeof wise->identity, "%s", t->ways[best].name);
    return LFUSE_OK;
}

static lfuse_type type_of(const lfuse__way *ways, int count)
{
    int i, k;

    for (i = 0; i < count; i++) {
        if (ways[i].network) return ways[i].network->network->children[0].product.type;
        for (k = 0; ways[i].alternative && k < ways[i].alternative->nsteps; k++) {
            const lfuse__step *s = &ways[i].alternative->steps[k];
            if (s->kind == LFUSE__STEP_GEMM) return s->product.type;
        }
    }
    return LFUSE_F32;
}

lfuse_status lfuse__trial_measure(lfuse_instance *in, const lfuse__way *ways, int count, const char *what,
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
