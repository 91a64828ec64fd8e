/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs. When the same tensors, numbers and scratch come again, a run is a loop over launches whose arguments are there
 * already: no allocation, no lock, no text.
 */
#include <inttypes.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/bind/bind.h"
#include "common/run/instantiate/instantiate.h"
#include "common/run/launch/launch.h"
#include "common/run/operations/operations.h"

static void locate_tensor(const lfuse_tensor *t, lfuse__spot *s)
{
    const uint64_t first = (uint64_t)t->offset * lfuse_type_size(t->type);

    s->mem = t->range->mem;
    s->offset = t->range->offset + first;
    s->address = t->range->address + first;
    s->space = t->range->space;
    s->low = t->range->address + t->low;
    s->high = t->range->address + t->high;
}

static bool same_spot(const lfuse__spot *a, const lfuse__spot *b)
{
    return a->mem == b->mem && a->offset == b->offset && a->low == b->low && a->high == b->high;
}

static bool same_strides(const lfuse__bound *b, const lfuse_tensor *t)
{
    if (t->contiguous || b->plain) return t->contiguous == b->plain;
    return !memcmp(b->strides, t->strides, (size_t)t->rank * sizeof *t->strides);
}

/* Whether the tensor has the same elements as at the last run: others in the same bytes count as moved. */
static bool unmoved(const lfuse_instance *in, int name, const lfuse_tensor *t)
{
    return same_spot(&in->spots[name], &in->bound[name].spot) && same_strides(&in->bound[name], t);
}

bool lfuse__locate(lfuse_instance *in, const lfuse__slot *slots)
{
    bool moved = false;
    int i;

    for (i = 0; i < in->plan->nnames; i++) {
        if (slots[i].tensor) locate_tensor(slots[i].tensor, &in->spots[i]);
        moved = moved || !in->bound[i].spotted ||
                (slots[i].tensor ? !unmoved(in, i, slots[i].tensor)
                                 : slots[i].list && slots[i].list->version != in->bound[i].version);
    }
    return moved;
}

static void remember_spots(lfuse_instance *in, const lfuse__slot *slots)
{
    int i;

    for (i = 0; i < in->plan->nnames; i++) {
        in->bound[i].spotted = true;
        if (slots[i].tensor) in->bound[i].spot = in->spots[i];
        if (slots[i].list) in->bound[i].version = slots[i].list->version;
    }
}

bool lfuse__take_strides(lfuse_instance *in, const lfuse__slot *slots)
{
    bool other = false;
    int i;

    for (i = 0; i < in->plan->nnames; i++) {
        const lfuse_tensor *t = slots[i].tensor;
        lfuse__bound *b = &in->bound[i];
        if (!t || same_strides(b, t)) continue;
        other = true;
        b->plain = t->contiguous;
        if (t->contiguous) lfuse__contiguous_strides(t->rank, t->shape, b->strides);
        else memcpy(b->strides, t->strides, (size_t)t->rank * sizeof *t->strides);
    }
    return other;
}

/* Makes the message, with the names of the caller's plan. */
static lfuse_status number_refused(const lfuse_instance *in, int32_t cast, const double *scalars)
{
    lfuse_graph *named = lfuse__plan_dress(in->body, in->plan->graph);
    const lfuse_status status = lfuse__graph_check_number(named ? named : in->body->graph, cast, scalars, in->sizes);

    lfuse__plan_undress(named);
    return status;
}

/* Checks that the integer types that numbers are cast to can hold them, for every group. */
static lfuse_status check_numbers(const lfuse_instance *in)
{
    const lfuse_graph *g = in->body->graph;
    int64_t group;
    int i;

    for (i = 0; i < in->body->nchecked; i++) {
        const int32_t cast = in->body->checked[i];
        for (group = in->groups ? 0 : -1; group < in->groups; group++) {
            const double *scalars = group < 0 ? in->scalars : in->group_scalars + group * in->plan->nnames;
            const double number = lfuse__graph_number(g, g->nodes[cast].in[0], scalars, in->sizes);
            if (!lfuse__type_holds((lfuse_type)g->nodes[cast].type, number)) return number_refused(in, cast, scalars);
        }
    }
    return LFUSE_OK;
}

/* *other_numbers: whether they differ from those of the last run. After an error the next run takes all anew. */
static lfuse_status take_numbers(lfuse_instance *in, const lfuse__slot *slots, bool *other_numbers)
{
    bool other = !in->numbered;
    int i;

    for (i = 0; i < in->plan->nnames; i++) {
        if (in->plan->names[i].kind != LFUSE__NAME_SCALAR) continue;
        other = other || memcmp(&in->scalars[i], &slots[i].number, sizeof slots[i].number);
        in->scalars[i] = slots[i].number;
    }
    other = lfuse__groups_take(in, slots) || other;
    *other_numbers = other;
    if (!other) return LFUSE_OK;
    in->numbered = false;
    LFUSE__TRY(check_numbers(in));
    for (i = 0; i < in->body->nnumbers; i++)
        in->numbers[i] = lfuse__graph_number(in->body->graph, in->body->numbers[i], in->scalars, in->sizes);
    in->numbered = true;
    return LFUSE_OK;
}

lfuse_status lfuse__not_capturing(lfuse_stream *s, const char *what)
{
    bool capturing;

    LFUSE__TRY(lfuse__stream_capturing(s, &capturing));
    if (!capturing) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_STATE, "the stream is being captured, and %s: make the instance, and run it once, "
                        "before the capture", what);
}

static lfuse_status find_scratch(lfuse_stream *s, uint64_t bytes, lfuse__range *given, lfuse__range **scratch)
{
    *scratch = given ? given : lfuse__stream_scratch(s);
    if (!bytes || (*scratch && (*scratch)->bytes >= bytes)) return LFUSE_OK;
    if (given)
        return lfuse__error(LFUSE_ERR_INVALID, "the scratch given has %" PRIu64 " bytes, %" PRIu64 " are needed",
                            given->bytes, bytes);
    if (!lfuse__stream_is_lent(s)) LFUSE__TRY(lfuse__not_capturing(s, "scratch memory would have to grow"));
    LFUSE__TRY(lfuse__stream_reserve(s, bytes));
    *scratch = lfuse__stream_scratch(s);
    return LFUSE_OK;
}

lfuse_status lfuse__poison(lfuse_instance *in, int operation, lfuse_status status)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;

    if (operation >= 0) {
        lfuse__step_print(in->body, in->operations[operation].step, in->plan->graph, &text);
        lfuse__error_prefix(status, "operation %d, %s: ", operation, text.data);
        lfuse__strbuf_free(&text);
    }
    in->status = status;
    lfuse__error_save(&in->error);
    return status;
}

static lfuse_status launch(lfuse_instance *in, bool prepare, lfuse_stream *s)
{
    int failed;
    lfuse_status status = lfuse__operations_launch(in, prepare, 0, in->noperations, s, &failed);

    return __builtin_expect(status == LFUSE_OK, 1) ? LFUSE_OK : lfuse__poison(in, failed, status);
}

lfuse_status lfuse__submit_prepare(lfuse_instance *in)
{
    lfuse__range *scratch;

    LFUSE__TRY(find_scratch(in->stream, in->prepare_bytes, NULL, &scratch));
    LFUSE__TRY(lfuse__instance_watch(in, in->stream));
    lfuse__locate(in, in->kept);
    LFUSE__TRY(lfuse__overlap_scratch(in, in->kept, scratch, in->prepare_bytes));
    if (scratch && lfuse__use_scratch(in, scratch)) in->args_set = false;
    LFUSE__TRY(lfuse__operations_set_args(in, true, 0, in->noperations, in->kept));
    return launch(in, true, in->stream);
}

lfuse_status lfuse__make_operations(lfuse_instance *in)
{
    lfuse_status status;

    lfuse__replay_drop(in);
    status = lfuse__instantiate(in);
    lfuse__replay_consider(in);
    return status;
}

static lfuse_status instantiate_anew(lfuse_instance *in, lfuse_stream *s)
{
    lfuse_status status;

    LFUSE__TRY(lfuse__not_capturing(s, "a tensor has other strides than in the last run"));
    LFUSE__TRY(lfuse__make_operations(in));
    status = lfuse__submit_prepare(in);
    if (status) in->instantiated = false;
    return status;
}

lfuse_status lfuse__instance_ready(lfuse_instance *in, const lfuse__slot *slots, lfuse_stream *s)
{
    if (__builtin_expect(in->status != LFUSE_OK, 0))
        return lfuse__error(LFUSE_ERR_STATE, "an earlier run of the instance failed: %s", in->error.text);
    if (__builtin_expect(lfuse__take_strides(in, slots), 0)) in->instantiated = false;
    return __builtin_expect(in->instantiated, 1) ? LFUSE_OK : instantiate_anew(in, s);
}

lfuse_status lfuse__instance_reserve(lfuse_instance *in)
{
    lfuse__range *scratch;

    LFUSE__TRY(lfuse__instance_ready(in, in->slots, in->stream));
    LFUSE__TRY(find_scratch(in->stream, in->scratch_bytes, NULL, &scratch));
    return lfuse__overlap_scratch(in, in->slots, scratch, in->scratch_bytes);
}

lfuse_status lfuse__instance_submit(lfuse_instance *in, const lfuse__slot *slots, lfuse_stream *other,
                                    lfuse__range *given)
{
    lfuse_stream *s = other ? other : in->stream;
    lfuse__range *scratch;
    lfuse_status status;
    bool changed, renumbered;

    LFUSE__TRY(lfuse__stream_usable(s));
    LFUSE__TRY(lfuse__instance_ready(in, slots, s));
    LFUSE__TRY(find_scratch(s, in->scratch_bytes, given, &scratch));
    LFUSE__TRY(lfuse__instance_watch(in, s));
    changed = lfuse__locate(in, slots);
    if (!given && lfuse__stream_is_lent(s) && (changed || !lfuse__is_scratch(in, scratch)))
        LFUSE__TRY(lfuse__overlap_scratch(in, slots, scratch, in->scratch_bytes));
    LFUSE__TRY(take_numbers(in, slots, &renumbered));
    changed = renumbered || changed || !in->args_set;
    changed = (scratch && lfuse__use_scratch(in, scratch)) || in->lent != given || changed;
    in->lent = given;
    if (changed) {
        in->args_set = in->followed = false;
        LFUSE__TRY(lfuse__operations_set_args(in, false, 0, in->noperations, slots));
        remember_spots(in, slots);
        in->args_set = true;
    }
    if (in->replays && !other && !given && lfuse__replay_run(in, s, &status)) return status;
    return launch(in, false, s);
}
