/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Candidates of an instance are measured: a vendor's product with its epilogue, one with a kernel behind it, one kernel
 * for all; a network in one launch, or stage by stage. They are instantiated one behind the other, as if the plan had
 * all of them, and run over memory of their own in the place of what will be bound; then they go, and the instance is
 * as it was.
 */
#include "common/run/instantiate/candidates.h"
#include "common/run/operations/operations.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/run/instantiate/loop.h"

uint64_t lfuse__evict_bytes(const lfuse_instance *in)
{
    const uint64_t cache = in->facts->info.kind == LFUSE_DEVICE_CPU ? 0 : in->facts->info.cache_bytes;
    const lfuse_graph *g = in->plan->graph;
    double bytes = 0;

    for (int i = 0; i < in->plan->nnames && cache; i++) {
        const lfuse__node *n = &g->nodes[g->names[i].node];
        double size = (double)lfuse_type_size((lfuse_type)n->type);
        if (!in->bound[i].tensor) continue;
        for (int k = 0; k < n->rank; k++) size *= (double)in->bound[i].shape[k];
        bytes += size;
    }
    return bytes > (double)cache ? cache / 4 * 4 : 0;
}

/*
 * The estimate's first stays unless another one is faster by more than repeated measurements differ; on GPUs by more
 * than they mislead: a product that is timed over and over finds in the cache what in use it does not, or the other way
 * round (lfuse__evict_bytes). On an H200 tiles of 64 x 2048 x 2048 won by 3 % so, and lost by 11 % in a network of
 * eight.
 */
static double margin(const lfuse__facts *facts)
{
    return facts->info.kind == LFUSE_DEVICE_CPU ? 0.98 : 0.9;
}

/* ---- as if the plan had all of them ---- */

static void *copy_of(const void *array, int count, size_t size)
{
    void *copy = malloc(((size_t)count + 1) * size);

    if (copy && count) memcpy(copy, array, (size_t)count * size);
    return copy;
}

static lfuse_status keep(lfuse__candidate_list *l)
{
    const lfuse_instance *in = l->in;

    l->noperations = in->noperations;
    l->nbuffers = in->nbuffers;
    l->scratch = in->scratch;
    l->buffers = copy_of(in->buffers, in->nbuffers, sizeof *in->buffers);
    l->spots = copy_of(in->spots, in->plan->nnames, sizeof *in->spots);
    l->numbers = copy_of(in->numbers, in->body->nnumbers, sizeof *in->numbers);
    if (l->buffers && l->spots && l->numbers) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d buffers)", in->nbuffers);
}

/* The prepared memory that buffers were given goes; it had none before. */
static void restore(lfuse__candidate_list *l)
{
    lfuse_instance *in = l->in;
    int i;

    if (l->buffers && l->spots && l->numbers) {
        lfuse__drop_operations(in, l->noperations);
        for (i = 0; i < in->nbuffers; i++)
            if (i >= l->nbuffers || in->buffers[i].prepared != l->buffers[i].prepared)
                lfuse__range_release(in->buffers[i].prepared);
        in->nbuffers = l->nbuffers;
        in->scratch = l->scratch;
        if (l->nbuffers) memcpy(in->buffers, l->buffers, (size_t)l->nbuffers * sizeof *l->buffers);
        memcpy(in->spots, l->spots, (size_t)in->plan->nnames * sizeof *l->spots);
        if (in->body->nnumbers) memcpy(in->numbers, l->numbers, (size_t)in->body->nnumbers * sizeof *l->numbers);
    }
    free(l->numbers);
    free(l->spots);
    free(l->buffers);
}

/* No alternative declines for another one: all that can be measured are. */
static lfuse_status instantiate_candidate(const lfuse__candidate_list *l, const lfuse__candidate *c, bool compile_later)
{
    lfuse__instantiation ctx = { .in = l->in, .low_memory = l->low_memory, .compile_later = compile_later,
                                 .candidate = c->has_matmul ? &c->matmul : NULL, .first = l->in->noperations,
                                 .preceding = l->noperations };

    if (c->by_stages) return lfuse__instantiate_stages(&ctx, c->network, c->network->covers);
    if (c->network) return lfuse__instantiate_covered(&ctx, c->network);
    return lfuse__instantiate_alternative(&ctx, c->alternative);
}

/*
 * The kernels of alternatives, side by side, as far as that goes. Whose kernel fails is told when the candidates are
 * instantiated one by one, which find what there is.
 */
static void compile(lfuse__candidate_list *l)
{
    lfuse_instance *in = l->in;
    lfuse__saved_error before;
    int i;

    lfuse__error_save(&before);
    for (i = 0; i < l->count; i++) {
        const int first = in->noperations;
        if (l->all[i].alternative && instantiate_candidate(l, &l->all[i], true)) lfuse__drop_operations(in, first);
    }
    (void)lfuse__operations_want(in, l->noperations);
    lfuse__drop_operations(in, l->noperations);
    in->nbuffers = l->nbuffers;
    if (l->nbuffers) memcpy(in->buffers, l->buffers, (size_t)l->nbuffers * sizeof *l->buffers);
    lfuse__error_restore(&before);
}

/* Who declines is not measured. LFUSE_NOT_READY (no message): one alone is left, or none. */
static lfuse_status instantiate(lfuse__candidate_list *l)
{
    lfuse_instance *in = l->in;
    lfuse_status status;
    int i, left = l->count;

    compile(l);
    for (i = 0; i < l->count && left > 1; i++) {
        l->first[i] = in->noperations;
        status = instantiate_candidate(l, &l->all[i], false);
        if (status && status != LFUSE_ERR_UNSUPPORTED && !l->all[i].has_matmul) return status;
        if (status) lfuse__log(LFUSE_LOG_DEBUG, "%s declines: %s", l->all[i].name, lfuse__error_message());
        l->declined[i] = status != LFUSE_OK;
        if (status) lfuse__drop_operations(in, l->first[i]);
        l->end[i] = in->noperations;
        left -= l->declined[i];
    }
    if (left < 2) return LFUSE_NOT_READY;
    return lfuse__stream_sync(in->stream); /* which has cleared memory that they keep */
}

/* ---- memory ---- */

static uint64_t claim(lfuse__candidate_list *l, uint64_t bytes)
{
    const uint64_t at = l->bytes;

    l->bytes += (bytes + 255) / 256 * 256;
    return at;
}

/* Where the first element of a tensor is: strides may be negative. The address is made whole when there is memory. */
static void place_tensor(lfuse__candidate_list *l, int name)
{
    const lfuse_graph *g = l->in->plan->graph;
    const lfuse__node *n = &g->nodes[g->names[name].node];
    const lfuse__bound *b = &l->in->bound[name];
    const uint64_t size = lfuse_type_size((lfuse_type)n->type);
    int64_t low = 0, high = 0, reach;
    lfuse__spot *s = &l->in->spots[name];
    int i;

    for (i = 0; i < n->rank; i++) {
        reach = b->shape[i] > 1 ? (b->shape[i] - 1) * b->strides[i] : 0;
        if (reach < 0) low += reach;
        else high += reach;
    }
    memset(s, 0, sizeof *s);
    s->offset = claim(l, (uint64_t)(high - low + 1) * size) + (uint64_t)-low * size;
}

/* Each name once: `done` marks them. */
static void place_tensors(lfuse__candidate_list *l, bool *done)
{
    int i, k, j;

    for (i = 0; i < l->norder; i++)
        for (k = 0; k < l->order[i]->nsteps; k++)
            for (j = 0; j < l->order[i]->steps[k].noperands; j++) {
                const lfuse__operand *o = &l->order[i]->steps[k].operands[j];
                if (o->place != LFUSE__PLACE_BOUND || done[o->index]) continue;
                done[o->index] = true;
                place_tensor(l, o->index);
            }
}

static lfuse_status give_memory(lfuse__candidate_list *l, lfuse_stream *stream, lfuse_type type, const bool *done)
{
    lfuse_instance *in = l->in;
    lfuse__range *m;
    int i;

    LFUSE__TRY(lfuse__range_create(in->plan->dev, l->bytes, &l->memory));
    m = l->memory;
    LFUSE__TRY(lfuse__fill_random(stream, m, 0, l->bytes, type));
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
static lfuse_status place_buffers(lfuse__candidate_list *l, lfuse_stream *stream, lfuse_type type)
{
    lfuse_instance *in = l->in;
    int i;

    for (i = 0; i < in->nbuffers; i++) {
        lfuse__instance_buffer *b = &in->buffers[i];
        if (b->last < l->noperations) continue;
        if (b->place == LFUSE__PLACE_SCRATCH) b->offset = claim(l, b->bytes);
        else if (!b->prepared) {
            LFUSE__TRY(lfuse__range_create(in->plan->dev, b->bytes, &b->prepared));
            LFUSE__TRY(b->tickets ? lfuse__fill(stream, b->prepared, 0, 0, 4, b->bytes)
                                  : lfuse__fill_random(stream, b->prepared, 0, b->bytes, type));
        }
    }
    return LFUSE_OK;
}

static lfuse_status place(lfuse__candidate_list *l, lfuse_stream *stream)
{
    const lfuse_type type = lfuse__first_product(l->order, l->norder)->product.type;
    lfuse_instance *in = l->in;
    bool *done = calloc((size_t)in->plan->nnames + 1, sizeof *done);
    lfuse_status status;
    int i;

    if (!done) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d names)", in->plan->nnames);
    for (i = 0; i < in->body->nnumbers; i++) in->numbers[i] = 1;
    status = place_buffers(l, stream, type);
    place_tensors(l, done);
    if (!status) status = give_memory(l, stream, type, done);
    free(done);
    return status;
}

/* ---- for the tuner ---- */

static lfuse__candidate_name name(void *context, int i)
{
    const lfuse__candidate_list *l = context;

    return (lfuse__candidate_name){ LFUSE__CANDIDATES_PROVIDER, l->all[i].name };
}

static lfuse_status set_up(void *context, lfuse_stream *stream)
{
    lfuse__candidate_list *l = context;

    LFUSE__TRY(keep(l));
    LFUSE__TRY(instantiate(l));
    return place(l, stream);
}

static void tear_down(void *context)
{
    lfuse__candidate_list *l = context;

    restore(l);
    lfuse__range_release(l->memory);
}

static lfuse_status prepare(void *context, int i)
{
    const lfuse__candidate_list *l = context;

    if (l->declined[i]) return lfuse__error(LFUSE_ERR_UNSUPPORTED, "it declines");
    return lfuse__operations_set_args(l->in, false, l->first[i], l->end[i], l->in->slots);
}

static lfuse_status run(void *context, int i, lfuse_stream *s)
{
    const lfuse__candidate_list *l = context;
    int failed;

    return lfuse__operations_launch(l->in, false, l->first[i], l->end[i], s, &failed);
}

lfuse_status lfuse__tune_candidates(lfuse__candidate_list *l, const char *kind, lfuse__list_function *list,
                                    lfuse__find_function *find, int *chosen)
{
    lfuse_plan *plan = l->in->plan;
    const lfuse__candidates c = { .problem = l->problem, .title = l->problem, .measure = plan->measure,
                                  .evict_bytes = lfuse__evict_bytes(l->in),
                                  .margin = margin(l->in->facts), .context = l, .list = list, .name = name,
                                  .find = find, .set_up = set_up, .tear_down = tear_down, .prepare = prepare,
                                  .run = run };

    *chosen = -1;
    LFUSE__TRY(lfuse__problem_name(l->in, kind, l->order, l->norder, l->problem));
    return *l->problem ? lfuse__tune(plan->dev, l->in->stream, &c, chosen) : LFUSE_OK;
}
