/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the addresses of a list's members reach a kernel: the choice, and what follows from members that moved. A run
 * that finds every operand where it was does nothing for any member; one with members replaced, for these alone (where
 * the device has no addresses a replaced member can change which blocks a launch names: then for all).
 */
#include <inttypes.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/bind/bind.h"
#include "common/run/lists/list_op.h"
#include "common/run/operations/operations.h"

/* ---- the choice ---- */

enum { CHUNKS_A_UNIT = 8 }; /* about what a compute unit has at a time */

static const char *const names[] = { "default", "args", "table", "unified" };

static lfuse_status refuse_args(const lfuse_instance *in, const lfuse__list_op *op)
{
    return lfuse__error(LFUSE_ERR_UNSUPPORTED,
                        "transport args: the addresses of one member's %d operands and %d numbers "
                        "do not fit the %u bytes that arguments have on %s", op->step->noperands,
                        op->step->body.nnumbers, in->facts->info.max_argument_bytes, in->facts->info.name);
}

static lfuse_status refuse_unified(const lfuse_instance *in)
{
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "transport unified: %s shares no memory with the host",
                        in->facts->info.name);
}

static void log_choice(const lfuse_instance *in, const lfuse__list_op *op, int64_t members, const char *why)
{
    lfuse__log(LFUSE_LOG_INFO, "%s: a list of %" PRId64 " members by transport %s: %s", in->facts->info.name, members,
               names[op->transport], why);
}

bool lfuse__list_needs_sizes(const lfuse__step *step)
{
    int i;

    for (i = 0; i < step->noperands; i++)
        if (step->operands[i].place >= LFUSE__PLACE_ELEMENTS) return true;
    return false;
}

/*
 * Whether a launch is short enough for its start to count: a work-item finds its member among arguments in a row of
 * dependent reads, as many as the most members have bits, where a table tells it at once. That saves a launch of few
 * chunks the tables' first reads, and costs one of many chunks a few per cent.
 */
static bool is_short(const lfuse_instance *in, const lfuse__step *step)
{
    const lfuse_list *l = lfuse__list_of(in, step->lists.list);
    const int64_t most = CHUNKS_A_UNIT * (int64_t)in->facts->info.compute_units * LFUSE__SEGMENT;
    int64_t elements = 0, m;

    for (m = 0; m < l->count && elements <= most; m++) elements += l->members[m].elements;
    return elements <= most;
}

static bool prefers_arguments(const lfuse_instance *in, const lfuse__step *step, int most)
{
    return most && lfuse__list_of(in, step->lists.list)->count <= most && is_short(in, step);
}

/* Of lists of different counts and sizes the answer may differ; `wanted` becomes the classes of what is chosen. */
static lfuse_transport transport_of(const lfuse_instance *in, const lfuse__step *step, int count,
                                    lfuse__kernel_class *wanted, int *most)
{
    const lfuse_transport asked = in->plan->transport;
    lfuse__kernel_class carried[LFUSE__WANTED_MAX];
    lfuse_transport transport = asked;
    int i;

    for (i = 0; i < count; i++) carried[i] = wanted[i];
    *most = lfuse__list_carried(in->facts, asked, count, carried);
    if (asked == LFUSE_TRANSPORT_DEFAULT)
        transport = prefers_arguments(in, step, *most) ? LFUSE_TRANSPORT_ARGS : LFUSE_TRANSPORT_TABLE;
    for (i = 0; i < count && transport == LFUSE_TRANSPORT_ARGS; i++) wanted[i] = carried[i];
    return transport;
}

static int classes_of(const lfuse_instance *in, const lfuse__step *step, lfuse__kernel_class *wanted)
{
    int count = lfuse__step_classes(in->body, step, true, wanted);

    if (step->kind == LFUSE__STEP_GROUPED) {
        /* Where that fails, lfuse__lists_compile has said so. */
        if (lfuse__list_choose_product(in, step, &wanted[0])) return 0;
        if (lfuse__list_packs(in, step, &wanted[0])) {
            wanted[count] = wanted[0];
            wanted[count++].product.phase = LFUSE__GROUPED_PACK;
        }
    }
    if (step->body.nnumbers && lfuse__step_groups(in, step) && wanted[0].family == LFUSE__FAMILY_MULTI)
        wanted[0].list.groups = lfuse__multi_groups(&step->body);
    return count;
}

/* The classes of the transport that is chosen; *most: members that arguments can carry. Returns how many there are. */
static int chosen_classes(const lfuse_instance *in, const lfuse__step *step, lfuse__kernel_class *wanted,
                          lfuse_transport *transport, int *most)
{
    const int count = classes_of(in, step, wanted);
    int i, n = 0;

    *transport = transport_of(in, step, count, wanted, most);
    for (i = 0; i < count; i++)
        if (wanted[i].family != LFUSE__FAMILY_TABLE || *transport == LFUSE_TRANSPORT_TABLE) wanted[n++] = wanted[i];
    return n;
}

int lfuse__list_classes(const lfuse_instance *in, const lfuse__step *step,
                        lfuse__kernel_class wanted[LFUSE__WANTED_MAX])
{
    lfuse_transport transport;
    int most;
    const int count = chosen_classes(in, step, wanted, &transport, &most);

    return transport == LFUSE_TRANSPORT_ARGS && !most ? 0 : count;
}

lfuse_status lfuse__list_choose(lfuse_instance *in, lfuse__list_op *op, lfuse__kernel_class wanted[LFUSE__WANTED_MAX],
                                int *count)
{
    const int64_t members = lfuse__list_of(in, op->step->lists.list)->count;
    const lfuse_transport asked = in->plan->transport;
    int most;

    *count = chosen_classes(in, op->step, wanted, &op->transport, &most);
    if (asked == LFUSE_TRANSPORT_ARGS && !most) return refuse_args(in, op);
    if (asked == LFUSE_TRANSPORT_UNIFIED && !in->facts->info.svm) return refuse_unified(in);
    op->k = wanted[0];
    log_choice(in, op, members,
               asked != LFUSE_TRANSPORT_DEFAULT ? "asked for"
               : !most                          ? "the device reads a table as fast as its arguments, in one launch"
               : members > most                 ? "more than the arguments of one launch hold"
               : op->transport == LFUSE_TRANSPORT_ARGS ? "they fit the arguments of one launch"
                                                       : "they are large, a table costs nothing beside them");
    return LFUSE_OK;
}

/* ---- following the operands ---- */

static bool same_location(const lfuse__location *a, const lfuse__location *b)
{
    return a->mem == b->mem && a->offset == b->offset && a->address == b->address;
}

static void note_span(lfuse__list_op *op, int operand, int64_t first, int64_t count)
{
    if (op->nspans == LFUSE__LIST_SPANS) op->nspans = -1;
    if (op->nspans < 0) return;
    op->spans[op->nspans++] = (lfuse__list_span){ operand, first, count };
}

/* The members of an operand's list that were replaced since the trace, as spans; false when nobody knows any more. */
static bool follow_replaced(lfuse__list_op *op, int operand, const lfuse_list *l, uint64_t since)
{
    int64_t first, count;
    uint64_t v;
    int i = op->nspans;

    for (v = since + 1; v <= l->version; v++) {
        if (!lfuse__list_replaced(l, v, &first, &count)) return false;
        note_span(op, operand, first, count);
    }
    for (; i < op->nspans; i++) {
        int64_t m;
        for (m = op->spans[i].first; m < op->spans[i].first + op->spans[i].count; m++)
            lfuse__list_make_entry(op, operand, m);
    }
    return op->nspans >= 0;
}

/* One operand; false when all entries have to be made anew. */
static bool follow(lfuse_instance *in, lfuse__list_op *op, int operand, const lfuse__slot *slots)
{
    const lfuse__operand *o = &op->step->operands[operand];
    const lfuse_list *l = o->place == LFUSE__PLACE_BOUND && o->span != LFUSE__SPAN_TENSOR ? slots[o->index].list : NULL;
    lfuse__list_trace *t = &op->traces[operand], now = { l, l ? l->version : 0, { NULL, 0, 0 } };
    const uint64_t since = t->version;
    bool same;

    if (!l) lfuse__memory_at(in, &(lfuse__memory){ o->place, o->index }, &now.at);
    same = now.list == t->list && same_location(&now.at, &t->at);
    *t = now;
    if (!same) return false;
    if (now.version == since) return true;
    return in->facts->addresses && op->made && follow_replaced(op, operand, l, since);
}

static lfuse_status remake(lfuse_instance *in, lfuse__list_op *op)
{
    op->nspans = -1;
    op->moved = true;
    LFUSE__TRY(lfuse__list_make_entries(in, op));
    if (op->transport == LFUSE_TRANSPORT_ARGS) LFUSE__TRY(lfuse__list_args_fill(op));
    op->made = true;
    return LFUSE_OK;
}

lfuse_status lfuse__list_follow(lfuse_instance *in, lfuse__list_op *op, const lfuse__slot *slots)
{
    const int before = op->moved ? op->nspans : 0;
    bool known = true;
    int i;

    if (!op->moved) op->nspans = 0;
    for (i = 0; i < op->step->noperands; i++) known = follow(in, op, i, slots) && known;
    if (!known || !op->made) {
        op->made = false;
        return remake(in, op);
    }
    if (op->nspans != before) op->moved = true;
    for (i = before < 0 ? 0 : before; i < op->nspans && op->transport == LFUSE_TRANSPORT_ARGS; i++)
        lfuse__list_args_change(op, op->spans[i].first, op->spans[i].count);
    return LFUSE_OK;
}
