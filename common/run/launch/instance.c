/* SPDX-License-Identifier: Apache-2.0 */
/* Instances: a plan with sizes, lists and frozen tensors on a stream. */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/run/bind/bind.h"
#include "common/run/instantiate/instantiate.h"
#include "common/run/launch/launch.h"
#include "common/run/lists/lists.h"

void lfuse__instance_retain(lfuse_instance *in)
{
    atomic_fetch_add_explicit(&in->references, 1, memory_order_relaxed);
}

static void destroy(lfuse_instance *in)
{
    int i;

    lfuse__replay_drop(in);
    lfuse__clear_operations(in);
    lfuse__reports_release(in->reports);
    for (i = 0; in->kept && i < in->plan->nnames; i++) {
        lfuse__tensor_release(in->kept[i].tensor);
        if (in->watches) lfuse__list_unwatch(in->kept[i].list);
        else lfuse__list_release(in->kept[i].list);
    }
    free(in->operations);
    free(in->buffers);
    lfuse__arena_free(&in->memory);
    lfuse__stream_release(in->stream);
    lfuse__plan_release(in->plan);
    free(in);
}

void lfuse__instance_release(lfuse_instance *in)
{
    if (!in || lfuse__forked()) return;
    if (atomic_fetch_sub_explicit(&in->references, 1, memory_order_acq_rel) == 1) destroy(in);
}

uint64_t lfuse__instance_scratch_bytes(const lfuse_instance *in)
{
    return in->scratch_bytes;
}

uint64_t lfuse__instance_prepared_bytes(const lfuse_instance *in)
{
    uint64_t bytes = 0;
    int i;

    for (i = 0; i < in->nbuffers; i++)
        if (in->buffers[i].prepared) bytes += in->buffers[i].bytes;
    return bytes;
}

static lfuse_status allocate(lfuse_plan *plan, lfuse_stream *stream, lfuse_instance **made)
{
    const size_t names = (size_t)plan->nnames;
    lfuse_instance *in = calloc(1, sizeof *in);

    if (!in) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *in);
    atomic_init(&in->references, 1);
    in->plan = plan;
    in->stream = stream;
    lfuse__plan_retain(plan);
    lfuse__stream_retain(stream);
    in->body = lfuse__body_plan(plan->body);
    in->facts = lfuse__device_facts(plan->dev);
    in->sizes = lfuse__arena_array(&in->memory, (size_t)in->body->graph->nsizes, sizeof *in->sizes);
    in->bound = lfuse__arena_array(&in->memory, names, sizeof *in->bound);
    in->kept = lfuse__arena_array(&in->memory, names, sizeof *in->kept);
    in->slots = lfuse__arena_array(&in->memory, names, sizeof *in->slots);
    in->spots = lfuse__arena_array(&in->memory, names, sizeof *in->spots);
    in->scalars = lfuse__arena_array(&in->memory, names, sizeof *in->scalars);
    in->numbers = lfuse__arena_array(&in->memory, (size_t)in->body->nnumbers, sizeof *in->numbers);
    if (in->sizes && in->bound && in->kept && in->slots && in->spots && in->scalars && in->numbers) {
        *made = in;
        return LFUSE_OK;
    }
    lfuse__instance_release(in);
    return LFUSE_ERR_MEMORY;
}

/* Kinds, and the strides of contiguous tensors. */
static lfuse_status describe(lfuse_instance *in, int name)
{
    const lfuse_plan *plan = in->plan;
    const lfuse__name *n = &plan->names[name];
    const lfuse__node *node = &plan->graph->nodes[n->node];
    lfuse__bound *b = &in->bound[name];
    int64_t stride = 1;
    int k;

    b->written = n->kind == LFUSE__NAME_OUTPUT || n->update >= 0;
    if (n->kind == LFUSE__NAME_SCALAR) return LFUSE_OK;
    b->list = node->list;
    b->tensor = !node->list;
    if (b->list) return LFUSE_OK;
    LFUSE__TRY(lfuse__sizes_shape(plan, name, in->sizes, b->shape));
    b->plain = true;
    for (k = node->rank - 1; k >= 0; k--) {
        b->strides[k] = stride;
        if (__builtin_mul_overflow(stride, b->shape[k] ? b->shape[k] : 1, &stride))
            return lfuse__error(LFUSE_ERR_OVERFLOW, "\"%s\" would have more than 2^63 - 1 elements", n->text);
    }
    return LFUSE_OK;
}

/* Lists and frozen tensors stay bound; they must be there. */
static lfuse_status keep(lfuse_instance *in, int name)
{
    const lfuse__slot *slot = &in->slots[name];

    if (in->plan->names[name].kind != LFUSE__NAME_FROZEN && !in->bound[name].list) return LFUSE_OK;
    if (!slot->tensor && !slot->list) return lfuse__bind_missing(in->plan, name);
    in->kept[name] = *slot;
    if (slot->tensor) lfuse__tensor_retain(slot->tensor);
    if (slot->list && in->watches) lfuse__list_watch(slot->list);
    else if (slot->list) lfuse__list_retain(slot->list);
    return LFUSE_OK;
}

static lfuse_status settle_sizes(lfuse_instance *in, const lfuse_binding *bindings, int count)
{
    lfuse_plan *plan = in->plan;
    int i;

    LFUSE__TRY(lfuse__bind_match(in, bindings, count, in->slots));
    for (i = 0; i < plan->nnames; i++) /* first what does not depend on sizes */
        if (in->slots[i].tensor || in->slots[i].list) LFUSE__TRY(lfuse__bind_check(plan, i, &in->slots[i], NULL));
    LFUSE__TRY(lfuse__sizes_solve(plan, in->slots, bindings, count, in->sizes));
    LFUSE__TRY(lfuse__graph_check_sizes(plan->graph, in->sizes));
    for (i = 0; i < plan->nnames; i++) {
        LFUSE__TRY(describe(in, i));
        if (in->slots[i].tensor) LFUSE__TRY(lfuse__bind_check(plan, i, &in->slots[i], in->bound[i].shape));
        LFUSE__TRY(keep(in, i));
    }
    LFUSE__TRY(lfuse__lists_check(in, in->kept));
    return lfuse__groups_find(in);
}

lfuse_status lfuse__instance_make(lfuse_plan *plan, lfuse_stream *stream, const lfuse_binding *bindings, int count,
                                  bool watches, lfuse_instance **instance)
{
    lfuse_instance *in = NULL;
    lfuse_status status;

    LFUSE__TRY(lfuse__stream_usable(stream));
    LFUSE__TRY(lfuse__stream_same_device(stream, plan->dev, "the plan"));
    LFUSE__TRY(lfuse__not_capturing(stream, "an instance would have to be made"));
    LFUSE__TRY(allocate(plan, stream, &in));
    in->watches = watches;
    status = settle_sizes(in, bindings, count);
    if (status) goto err_release;
    status = lfuse__overlap_create(in);
    if (status) goto err_release;
    lfuse__take_strides(in, in->slots);
    status = lfuse__make_operations(in);
    if (status) goto err_release;
    status = lfuse__submit_prepare(in);
    if (status) goto err_release;
    *instance = in;
    return LFUSE_OK;

err_release:
    lfuse__instance_release(in);
    return status;
}

static lfuse_status all_numbers(const lfuse_instance *in)
{
    int i;

    for (i = 0; i < in->plan->nnames; i++)
        if (in->plan->names[i].kind == LFUSE__NAME_SCALAR && in->bound[i].mark != in->mark)
            return lfuse__bind_missing(in->plan, i);
    return LFUSE_OK;
}

static lfuse_status check_sizes(const lfuse_instance *in, const lfuse_binding *bindings, int count)
{
    int i;

    for (i = 0; i < count; i++)
        if (bindings[i].kind == LFUSE_BIND_SIZE && !lfuse__bind_fits(in, in->kept, &bindings[i], 1))
            return lfuse__error(LFUSE_ERR_SHAPE, "size \"%s\" is not what it was when the instance was made, or none",
                                bindings[i].name ? bindings[i].name : "");
    return LFUSE_OK;
}

/* Of slots that are matched: everything else. */
static lfuse_status check(lfuse_instance *in, lfuse__slot *slots)
{
    int i;

    LFUSE__TRY(all_numbers(in));
    LFUSE__TRY(lfuse__groups_check(in, slots));
    for (i = 0; i < in->plan->nnames; i++)
        if (!slots[i].tensor && !slots[i].list && (in->kept[i].tensor || in->kept[i].list)) slots[i] = in->kept[i];
    LFUSE__TRY(lfuse__bind_check_all(in, slots));
    return lfuse__locate(in, slots) ? lfuse__overlap_check(in, slots) : LFUSE_OK;
}

lfuse_status lfuse__instance_resolve(lfuse_instance *in, const lfuse_binding *bindings, int count, lfuse__slot *slots)
{
    LFUSE__TRY(lfuse__bind_match(in, bindings, count, slots));
    LFUSE__TRY(check_sizes(in, bindings, count));
    return check(in, slots);
}

lfuse_status lfuse__instance_suits(lfuse_instance *in, const lfuse_binding *bindings, int count, lfuse__slot *slots,
                                   bool *suits)
{
    LFUSE__TRY(lfuse__bind_match(in, bindings, count, slots));
    *suits = !in->status && lfuse__bind_fits(in, slots, bindings, count);
    return LFUSE_OK;
}

lfuse_status lfuse__instance_match(lfuse_instance *in, const lfuse_binding *bindings, int count, bool matched)
{
    return matched ? check(in, in->slots) : lfuse__instance_resolve(in, bindings, count, in->slots);
}
