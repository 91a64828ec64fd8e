/* SPDX-License-Identifier: Apache-2.0 */
/* Steps into operations: alternatives are chosen, buffers laid out. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/instantiate/candidates.h"
#include "common/run/instantiate/loop.h"
#include "common/run/lists/lists.h"
#include "common/run/operations/operations.h"

static lfuse_status tensor_buffer_bytes(const lfuse_instance *in, const lfuse__buffer *b, uint64_t *bytes)
{
    uint64_t product = lfuse_type_size(b->type);
    int64_t extent;
    int i;

    for (i = 0; i < b->rank; i++) {
        LFUSE__TRY(lfuse__extent_of(in, b->shape[i], &extent));
        if (__builtin_mul_overflow(product, (uint64_t)extent, &product))
            return lfuse__error(LFUSE_ERR_OVERFLOW, "a value between two kernels has too many bytes for 64 bits");
    }
    *bytes = product;
    return LFUSE_OK;
}

/* The plan's buffers come first, under their numbers. */
static lfuse_status add_plan_buffers(lfuse_instance *in)
{
    uint64_t bytes = 0;
    int i, index;

    for (i = 0; i < in->body->nbuffers; i++) {
        const lfuse__buffer *b = &in->body->buffers[i];
        if (b->list >= 0) bytes = lfuse__list_buffer_bytes(in, b);
        else LFUSE__TRY(tensor_buffer_bytes(in, b, &bytes));
        LFUSE__TRY(lfuse__add_buffer(in, b->place, bytes, &index));
    }
    return LFUSE_OK;
}

lfuse_status lfuse__instantiate_matmul(lfuse__instantiation *ctx, const lfuse__step *step)
{
    return step->product.native ? lfuse__instantiate_product(ctx, step) : lfuse__instantiate_gemm(ctx, step);
}

lfuse_status lfuse__instantiate_lists(lfuse__instantiation *ctx, const lfuse__step *step)
{
    return lfuse__add_lists(ctx->in, step, ctx->low_memory, &ctx->uses_workspace);
}

lfuse_status lfuse__instantiate_layers(lfuse__instantiation *ctx, const lfuse__step *step)
{
    (void)ctx;
    return lfuse__error(LFUSE_ERR_INVALID, "a network of %d layers in a stage", step->nchildren);
}

lfuse_status lfuse__instantiate_step(lfuse__instantiation *ctx, const lfuse__step *step)
{
    static lfuse_status (*const kinds[LFUSE__STEP_KINDS])(lfuse__instantiation *ctx, const lfuse__step *step) = {
#define LFUSE__STEP(kind, word, print, over, family, classes, want, share, instantiate, ...)                           \
    [LFUSE__STEP_##kind] = lfuse__instantiate_##instantiate,
#include "common/plan/families.def"
    };

    return kinds[step->kind](ctx, step);
}

static void log_decline(const lfuse_instance *in, const char *name, const lfuse__step *step)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;

    if (!lfuse__log_on(LFUSE_LOG_DEBUG)) return;
    lfuse__step_print(in->body, step, in->plan->graph, &text);
    lfuse__log(LFUSE_LOG_DEBUG, "%s: \"%s\" declines %s: %s", in->facts->info.name, name, text.data,
               lfuse__error_message());
    lfuse__strbuf_free(&text);
}

lfuse_status lfuse__instantiate_alternative(lfuse__instantiation *ctx, const lfuse__alternative *a)
{
    int i;

    for (i = 0; i < a->nsteps; i++) LFUSE__TRY(lfuse__instantiate_step(ctx, &a->steps[i]));
    return LFUSE_OK;
}

/* Rows, or elements of a row, of a row step; saturated. */
static int64_t measure(const lfuse_instance *in, const lfuse__step *s, int first, int end)
{
    int64_t product = 1, extent;
    int i;

    for (i = first; i < end; i++)
        if (lfuse__size_evaluate(in->body->graph, s->extents[i], in->sizes, &extent) ||
            __builtin_mul_overflow(product, extent, &product))
            return INT64_MAX;
    return product;
}

static bool guarded(const lfuse__alternative *a)
{
    return a->guard.most_rows || a->guard.least_length;
}

static bool guard_holds(const lfuse_instance *in, const lfuse__alternative *a)
{
    const lfuse__step *s = &a->steps[0];
    const int kept = s->rank - s->naxes;

    return measure(in, s, 0, kept) <= a->guard.most_rows && measure(in, s, kept, s->rank) >= a->guard.least_length;
}

/* The alternatives in the order in which they are asked: those whose guard holds, then those without one. */
static int ranked(const lfuse_instance *in, const lfuse__stage *stage, const lfuse__alternative **order)
{
    int i, count = 0;

    for (i = 0; i < stage->nalternatives; i++)
        if (guarded(&stage->alternatives[i]) && guard_holds(in, &stage->alternatives[i]))
            order[count++] = &stage->alternatives[i];
    for (i = 0; i < stage->nalternatives; i++)
        if (!guarded(&stage->alternatives[i])) order[count++] = &stage->alternatives[i];
    return count;
}

/* Whether it may decline for another one that is taken for faster: where none does the work, it is asked again. */
static bool has_estimate(const lfuse__alternative *a)
{
    return a->steps[0].kind == LFUSE__STEP_GEMM && a->steps[0].product.native;
}

/* Another alternative is asked; a vendor's library that a plan counts on may turn out not to be there. */
static bool declines(const lfuse__instantiation *ctx, lfuse_status status)
{
    return status == LFUSE_ERR_UNSUPPORTED || status == LFUSE_ERR_LIBRARY ||
           (ctx->low_memory && status == LFUSE_ERR_DEVICE_MEMORY);
}

/* The buffers' lifetimes as they were: a declined alternative has used some. */
static lfuse_status instantiate_stage(lfuse__instantiation *ctx, const lfuse__stage *stage)
{
    lfuse_instance *in = ctx->in;
    const int noperations = in->noperations, nbuffers = in->nbuffers;
    lfuse__instance_buffer *before = malloc(((size_t)nbuffers + 1) * sizeof *before);
    lfuse_status status = LFUSE_ERR_MEMORY;
    const lfuse__alternative **order = malloc((size_t)stage->nalternatives * sizeof *order);
    lfuse__candidate best;
    const lfuse__alternative *a;
    int i, count;
    bool known;

    if (!before || !order) {
        status = lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d buffers)", nbuffers);
        goto err_free_all;
    }
    if (nbuffers) memcpy(before, in->buffers, (size_t)nbuffers * sizeof *before);
    count = ranked(in, stage, order);
    status = lfuse__tune_stage(ctx, order, count, &best);
    if (status) goto err_free_all;
    for (i = 0; i < 2 * count; i++) {
        a = order[i % count];
        if (i >= count && !has_estimate(a)) continue;
        known = i == 0 && best.alternative;
        ctx->has_next = i + 1 < count && !known; /* what is known to be the best has no estimate to make */
        ctx->candidate = known && best.has_matmul ? &best.matmul : NULL;
        status = lfuse__instantiate_alternative(ctx, a);
        ctx->candidate = NULL;
        if (!status) break;
        lfuse__drop_operations(in, noperations);
        in->nbuffers = nbuffers;
        if (nbuffers) memcpy(in->buffers, before, (size_t)nbuffers * sizeof *before);
        if (!declines(ctx, status)) break;
        log_decline(in, a->name, &a->steps[0]);
    }

err_free_all:
    free(order);
    free(before);
    return status;
}

lfuse_status lfuse__instantiate_stages(lfuse__instantiation *ctx, const lfuse__stage *stages, int count)
{
    int i;

    for (i = 0; i < count; i++) LFUSE__TRY(instantiate_stage(ctx, &stages[i]));
    return LFUSE_OK;
}

/* counts[i]: layers from number i on that share a launch, or 0; of those behind the first of such, nothing is said. */
static lfuse_status divide(lfuse_instance *in, const lfuse__step *network, int *counts)
{
    lfuse_status status = LFUSE_OK;
    bool any = false;
    int i;

    memset(counts, 0, (size_t)network->nchildren * sizeof *counts);
    for (i = 0; i + 1 < network->nchildren; i += counts[i] ? counts[i] : 1) {
        status = lfuse__network_part(in, network, i, &counts[i]);
        if (status && status != LFUSE_ERR_UNSUPPORTED) return status;
        if (!status) any = true;
    }
    return any ? LFUSE_OK : status;
}

lfuse_status lfuse__instantiate_covered(lfuse__instantiation *ctx, const lfuse__stage *stage)
{
    const lfuse__step *network = stage->network;
    int counts[LFUSE__NETWORK_LAYERS_MOST], layer = 0, end;

    LFUSE__TRY(divide(ctx->in, network, counts));
    while (layer < network->nchildren) {
        if (counts[layer]) LFUSE__TRY(lfuse__instantiate_network(ctx, network, layer, counts[layer]));
        else LFUSE__TRY(lfuse__instantiate_stages(ctx, stage, network->children[layer].layer.stages));
        end = layer + (counts[layer] ? counts[layer] : 1);
        while (layer < end) stage += network->children[layer++].layer.stages;
    }
    return LFUSE_OK;
}

/* The network that begins with a stage, in its place and that of those behind it; else the stage alone. */
static lfuse_status instantiate_from(lfuse__instantiation *ctx, const lfuse__stage *stage, int *taken)
{
    lfuse_instance *in = ctx->in;
    const int noperations = in->noperations, nbuffers = in->nbuffers;
    lfuse__saved_error before;
    lfuse_status status;
    bool by_stages = false;

    *taken = 1;
    if (stage->network) LFUSE__TRY(lfuse__tune_network(ctx, stage, &by_stages));
    if (!stage->network || by_stages) return instantiate_stage(ctx, stage);
    lfuse__error_save(&before);
    status = lfuse__instantiate_covered(ctx, stage);
    if (status) {
        lfuse__drop_operations(in, noperations);
        in->nbuffers = nbuffers;
    }
    if (!status) *taken = stage->covers;
    if (status != LFUSE_ERR_UNSUPPORTED) return status;
    log_decline(in, "network", stage->network);
    lfuse__error_restore(&before);
    return instantiate_stage(ctx, stage);
}

static lfuse_status lay_out(lfuse_instance *in, lfuse__arena *memory)
{
    const size_t n = (size_t)in->nbuffers;
    uint64_t *bytes = lfuse__arena_array(memory, n, sizeof *bytes);
    uint64_t *offsets = lfuse__arena_array(memory, n, sizeof *offsets);
    int *first = lfuse__arena_array(memory, n, sizeof *first), *last = lfuse__arena_array(memory, n, sizeof *last), i;

    if (!bytes || !offsets || !first || !last) return LFUSE_ERR_MEMORY;
    for (i = 0; i < in->nbuffers; i++) {
        first[i] = in->buffers[i].first;
        last[i] = in->buffers[i].last;
        if (in->buffers[i].place == LFUSE__PLACE_SCRATCH && last[i] >= first[i]) bytes[i] = in->buffers[i].bytes;
    }
    in->scratch_bytes = lfuse__plan_layout(in->nbuffers, bytes, first, last, LFUSE__SCRATCH_ALIGNMENT, offsets);
    in->prepare_bytes = 0;
    for (i = 0; i < in->nbuffers; i++) {
        in->buffers[i].offset = offsets[i];
        if (bytes[i] && in->operations[first[i]].prepare && offsets[i] + bytes[i] > in->prepare_bytes)
            in->prepare_bytes = offsets[i] + bytes[i];
    }
    return LFUSE_OK;
}

static lfuse_status lay_out_scratch(lfuse_instance *in)
{
    lfuse__arena memory = { NULL };
    const lfuse_status status = lay_out(in, &memory);

    lfuse__arena_free(&memory);
    return status;
}

static lfuse_status allocate_prepared(lfuse_instance *in)
{
    int i;

    for (i = 0; i < in->nbuffers; i++) {
        lfuse__instance_buffer *b = &in->buffers[i];
        if (b->place != LFUSE__PLACE_PREPARED || b->last < b->first || b->prepared) continue;
        LFUSE__TRY(lfuse__range_create(in->plan->dev, b->bytes, &b->prepared));
        if (b->tickets) LFUSE__TRY(lfuse__fill(in->stream, b->prepared, 0, 0, 4, b->bytes));
    }
    return LFUSE_OK;
}

static lfuse_status prime(lfuse_instance *in)
{
    int i;

    in->scratch = (lfuse__location){ NULL, 0, 0 };
    if (lfuse__stream_scratch(in->stream)) lfuse__use_scratch(in, lfuse__stream_scratch(in->stream));
    for (i = 0; i < in->noperations; i++)
        if (in->operations[i].row->prime) LFUSE__TRY(in->operations[i].row->prime(in, &in->operations[i]));
    return LFUSE_OK;
}

void lfuse__clear_operations(lfuse_instance *in)
{
    int i;

    lfuse__drop_operations(in, 0);
    for (i = 0; i < in->nbuffers; i++) lfuse__range_release(in->buffers[i].prepared);
    in->nbuffers = 0;
    in->instantiated = in->args_set = false;
    in->generation++;
}

static lfuse_status instantiate(lfuse__instantiation *ctx)
{
    lfuse_instance *in = ctx->in;
    lfuse_status status = add_plan_buffers(in);
    int i, taken;

    if (!status) status = lfuse__lists_compile(in);
    for (i = 0; i < in->body->nstages && !status; i += taken)
        status = instantiate_from(ctx, &in->body->stages[i], &taken);
    if (!status) status = lfuse__operations_compile(ctx);
    if (!status) status = lay_out_scratch(in);
    if (!status) status = allocate_prepared(in);
    if (!status && !lfuse__stream_is_lent(in->stream)) /* which may be given more before a run asks for it */
        status = lfuse__stream_reserve(in->stream, in->scratch_bytes);
    return status ? status : prime(in);
}

/* Where one of the kernels does not suit the device, its alternative declines, which is told one by one. */
static lfuse_status instantiate_together(lfuse__instantiation *ctx)
{
    const lfuse_status status = instantiate(ctx);

    if (status != LFUSE_ERR_UNSUPPORTED || ctx->compile_later) return status;
    lfuse__clear_operations(ctx->in);
    *ctx = (lfuse__instantiation){ .in = ctx->in };
    return instantiate(ctx);
}

static bool has_levels(const lfuse__plan_body *body)
{
    int i, k;

    for (i = 0; i < body->nstages; i++)
        for (k = 0; k < body->stages[i].nalternatives; k++)
            if (body->stages[i].alternatives[k].steps[0].kind == LFUSE__STEP_STRASSEN) return true;
    return false;
}

lfuse_status lfuse__instantiate(lfuse_instance *in)
{
    lfuse__instantiation ctx = { .in = in, .compile_later = true };
    lfuse_status status;

    lfuse__clear_operations(in);
    status = instantiate_together(&ctx);
    if (status == LFUSE_ERR_DEVICE_MEMORY && ctx.uses_workspace) {
        lfuse__log(LFUSE_LOG_WARN, "products do without workspace, or with less, as there is no memory for %" PRIu64
                   " bytes of scratch: %s", in->scratch_bytes, lfuse__error_message());
        lfuse__clear_operations(in);
        ctx = (lfuse__instantiation){ .in = in, .low_memory = true };
        status = instantiate(&ctx);
    }
    if (status == LFUSE_ERR_DEVICE_MEMORY && has_levels(in->body))
        status = lfuse__error_prefix(status, "Strassen's algorithm keeps factors and products between its steps; with "
                                     "the plan's option strassen off they are not needed: ");
    if (status) lfuse__clear_operations(in);
    else in->instantiated = true;
    return status;
}
