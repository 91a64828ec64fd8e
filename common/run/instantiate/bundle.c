/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles: children are instantiated as if they were steps of their own, but for their kernels, which are then put
 * together into as few launches as their classes and the argument block allow.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/compile/bundle.h"
#include "common/run/instantiate/instantiate.h"
#include "common/run/operations/operations.h"

/* Some members of a bundle in one launch: all of them, where their memories have room in the slots. */
typedef struct portion {
    lfuse__bundle_launch launch;
    lfuse__bmem *buffers[LFUSE__MAX_BUFFERS];
} portion;

struct lfuse__bundle_op {
    const lfuse__bundle *bundle;
    lfuse__kernel *kernel;
    lfuse__arena arena;           /* of the arrays but `portions`, and of the words of these */
    int nmembers;
    lfuse__kernel_op **members;   /* in the order of the parts; NULL: an empty one */
    lfuse__bundle_member *of;     /* [nmembers], so the next */
    uint64_t *memory;             /* LFUSE__MAX_OPERANDS each: addresses, or slots */
    uint64_t *groups;             /* of each when it is launched */
    uint64_t *versions;           /* of each: what the words hold of it */
    lfuse__bmem *reports;
    int nportions;
    size_t portion_capacity;
    portion *portions;
    bool ready;
};

static void destroy_bundle_op(lfuse__bundle_op *op)
{
    int i;

    if (!op) return;
    for (i = 0; op->members && i < op->nmembers; i++) free(op->members[i]);
    lfuse__kernel_destroy(op->kernel);
    lfuse__arena_free(&op->arena);
    free(op->portions);
    free(op);
}

/* ---- arguments ---- */

/* Work of a member, in elements. */
static uint64_t work(const lfuse__kernel_op *m)
{
    uint64_t product = 1;
    int i;

    for (i = 0; i < m->k.rank; i++)
        if (__builtin_mul_overflow(product, (uint64_t)m->g.extents[i], &product)) return UINT64_MAX >> 16;
    return product ? product : 1;
}

/* Where a member's number of groups is a bound and no count of what there is to do: the bound; else 0. */
static double bound_of(const lfuse_instance *in, const lfuse__kernel_op *m)
{
    if (lfuse__family_of(&m->k)->counted) return 0;
    if (in->facts->elementwise_groups) return in->facts->elementwise_groups;
    if (m->k.family != LFUSE__FAMILY_ROWS || m->k.rows.form != LFUSE__ROWS_TEAM) return 0;
    return (double)lfuse__rows_bound(in->facts, &m->k);
}

/*
 * Members share what one of them alone would have as its bound, by their sizes; each gets one group at least. On CPUs
 * no more than leave all of them with as many rows. Several groups share a compute unit of a GPU, which has some with a
 * round more and some with a round less: all that there is room for keep units more alike than groups.
 */
static void share_groups(const lfuse_instance *in, lfuse__bundle_op *op)
{
    const bool even = in->facts->elementwise_groups != 0;
    double all = 0;
    int i;

    for (i = 0; i < op->nmembers; i++) {
        op->groups[i] = op->members[i] ? op->members[i]->packed.groups : 0;
        if (op->members[i] && !lfuse__family_of(&op->members[i]->k)->counted) all += (double)work(op->members[i]);
    }
    for (i = 0; i < op->nmembers; i++) {
        const double bound = op->groups[i] ? bound_of(in, op->members[i]) : 0;
        if (!(bound > 0)) continue;
        const uint64_t part = (uint64_t)(bound * (double)work(op->members[i]) / all + (even ? 0.5 : 0));
        if (part >= op->groups[i]) continue;
        op->groups[i] = !part ? 1 : even ? lfuse__rows_even(op->groups[i], part) : part;
    }
}

static lfuse_status add_portion(lfuse__bundle_op *op, portion **added)
{
    portion *p;

    LFUSE__TRY(lfuse__array_grow(&op->portions, &op->portion_capacity, (size_t)op->nportions + 1,
                                 sizeof *op->portions));
    p = &op->portions[op->nportions];
    if (!p->launch.words)
        p->launch.words = lfuse__arena_array(&op->arena, (size_t)lfuse__bundle_words(op->bundle),
                                             sizeof *p->launch.words);
    if (!p->launch.words) return LFUSE_ERR_MEMORY;
    memset(p->buffers, 0, sizeof p->buffers);
    op->nportions++;
    *added = p;
    return LFUSE_OK;
}

/* The slots of a member's memories in the portion; false when there is no room for all. */
static bool take_slots(lfuse__bmem **buffers, int slots, const lfuse__kernel_op *m, uint64_t *memory)
{
    lfuse__bmem *now[LFUSE__MAX_BUFFERS];
    int j, s;

    memcpy(now, buffers, sizeof now);
    for (j = 0; j < m->k.noperands; j++) {
        memory[j] = 0;
        if (m->k.operands[j].index) continue;
        for (s = 0; s < slots && now[s] && now[s] != m->buffers[j]; s++) continue;
        if (s == slots) return false;
        now[s] = m->buffers[j];
        memory[j] = (uint64_t)s;
    }
    memcpy(buffers, now, sizeof now);
    return true;
}

/* From member `from` on, as many as have room; returns the first that has none. */
static int fill_portion(const lfuse_instance *in, lfuse__bundle_op *op, portion *p, int from)
{
    const int slots = lfuse__bundle_slots(op->bundle, in->facts);
    uint64_t groups = 0;
    int i;

    memset(op->of, 0, (size_t)op->nmembers * sizeof *op->of);
    for (i = from; i < op->nmembers; i++) {
        const lfuse__kernel_op *m = op->members[i];
        uint64_t *memory = &op->memory[(size_t)i * LFUSE__MAX_OPERANDS];
        if (!m) continue;
        if (groups + op->groups[i] > LFUSE__GROUP_BOUND) break;
        if (slots && !take_slots(p->buffers, slots, m, memory)) break;
        groups += op->groups[i];
        if (!slots) memcpy(memory, m->g.addresses, sizeof m->g.addresses);
        op->of[i] = (lfuse__bundle_member){ &m->packed, op->groups[i], memory };
    }
    p->buffers[slots] = op->reports;
    return i;
}

static lfuse_status set_args(lfuse_instance *in, lfuse__operation *operation, const lfuse__slot *slots)
{
    lfuse__bundle_op *op = operation->as.bundle;
    bool changed = !op->ready;
    portion *p;
    int i, from;

    (void)slots;
    for (i = 0; i < op->nmembers; i++) {
        if (!op->members[i]) continue;
        LFUSE__TRY(lfuse__kernel_op_set_args(in, op->members[i]));
        changed = changed || op->versions[i] != op->members[i]->version;
        op->versions[i] = op->members[i]->version;
    }
    if (!changed) return LFUSE_OK;
    op->ready = false;
    op->nportions = 0;
    share_groups(in, op);
    for (from = 0; from < op->nmembers;) {
        LFUSE__TRY(add_portion(op, &p));
        from = fill_portion(in, op, p, from);
        LFUSE__TRY(lfuse__bundle_pack(op->bundle, in->facts, op->of, &p->launch));
    }
    if (op->nportions > 1)
        lfuse__log(LFUSE_LOG_DEBUG, "%s: a bundle of %d kernels takes %d launches: more than %d memories or %d "
                   "work-groups", in->facts->info.name, op->nmembers, op->nportions,
                   lfuse__bundle_slots(op->bundle, in->facts), LFUSE__GROUP_BOUND);
    op->ready = true;
    return LFUSE_OK;
}

static lfuse_status launch(lfuse_instance *in, const lfuse__operation *operation, lfuse_stream *s)
{
    const lfuse__bundle_op *op = operation->as.bundle;
    int i;

    for (i = 0; i < op->nportions; i++) {
        const portion *p = &op->portions[i];
        const lfuse__launch_args args = { .groups = p->launch.groups, .group = p->launch.group,
                                          .nbuffers = (unsigned)lfuse__bundle_buffers(op->bundle, in->facts),
                                          .nwords = p->launch.nwords, .buffers = p->buffers, .words = p->launch.words };
        LFUSE__TRY(lfuse__launch(s, op->kernel, &args));
    }
    return LFUSE_OK;
}

static void destroy(lfuse__operation *op)
{
    destroy_bundle_op(op->as.bundle);
}

static const lfuse__operation_row bundle_operation = {
    .set_args = set_args, .launch = launch, .destroy = destroy, .launches = 1
};

/* ---- instantiating ---- */

/* A child's place among the operations that were instantiated for the bundle. */
typedef struct child {
    int before, main, after; /* its operations; main: the kernel that shares a launch, -1: none */
} child;

static bool is_main(const lfuse__operation *o, const lfuse__step *step)
{
    const lfuse__kernel_op *op = o->row == &lfuse__kernel_operation ? o->as.kernel : NULL;

    return op && op->k.body == &step->body && !(op->k.family == LFUSE__FAMILY_ROWS && lfuse__rows_staged(&op->k.rows));
}

static lfuse_status instantiate_children(lfuse__instantiation *ctx, const lfuse__step *step, child *children)
{
    lfuse_instance *in = ctx->in;
    lfuse_status status = LFUSE_OK;
    int i, k;

    ctx->may_share_launch = true;
    for (i = 0; i < step->nchildren && !status; i++) {
        children[i] = (child){ .before = in->noperations, .main = -1 };
        status = lfuse__instantiate_step(ctx, &step->children[i]);
        children[i].after = in->noperations;
        for (k = children[i].before; k < in->noperations; k++)
            if (is_main(&in->operations[k], &step->children[i])) children[i].main = k;
    }
    ctx->may_share_launch = false;
    return status;
}

static lfuse_status new_bundle_op(int nmembers, lfuse__bundle_op **made)
{
    const size_t n = (size_t)nmembers;
    lfuse__bundle_op *op = calloc(1, sizeof *op);

    if (!op) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *op);
    op->nmembers = nmembers;
    op->members = lfuse__arena_array(&op->arena, n, sizeof *op->members);
    op->of = lfuse__arena_array(&op->arena, n, sizeof *op->of);
    op->memory = lfuse__arena_array(&op->arena, n * LFUSE__MAX_OPERANDS, sizeof *op->memory);
    op->groups = lfuse__arena_array(&op->arena, n, sizeof *op->groups);
    op->versions = lfuse__arena_array(&op->arena, n, sizeof *op->versions);
    if (op->members && op->of && op->memory && op->groups && op->versions) {
        *made = op;
        return LFUSE_OK;
    }
    destroy_bundle_op(op);
    return LFUSE_ERR_MEMORY;
}

static int members_of(const lfuse__bundle *b)
{
    const lfuse__bundle_part *parts;
    const int n = lfuse__bundle_parts(b, &parts);
    int i, members = 0;

    for (i = 0; i < n; i++) members += parts[i].members;
    return members;
}

/* Takes over the kernel operations of those in launch number `launch`. */
static void take_members(lfuse_instance *in, lfuse__bundle_op *op, const lfuse__sharer *sharers, const child *children,
                         int count, int launch)
{
    int i, n = 0, part;

    for (part = 0; n < op->nmembers; part++)
        for (i = 0; i < count; i++) {
            if (sharers[i].launch != launch || sharers[i].part != part) continue;
            if (children[i].main >= 0) {
                op->members[n] = in->operations[children[i].main].as.kernel;
                in->operations[children[i].main].as.kernel = NULL;
            }
            n++;
        }
    if (in->reports) op->reports = lfuse__reports_range(in->reports)->mem;
}

/* The kernels of one launch, as an operation; those that share none stay what they are. */
static lfuse_status make_launch(lfuse__instantiation *ctx, lfuse__sharer *sharers, const child *children, int count,
                                int launch, lfuse__bundle_op **made)
{
    lfuse_instance *in = ctx->in;
    lfuse__bundle *wanted;
    lfuse_status status;
    int i;

    *made = NULL;
    LFUSE__TRY(lfuse__bundle_of(in->facts, sharers, count, launch, &wanted));
    if (!wanted) {
        for (i = 0; i < count; i++)
            if (sharers[i].launch == launch && children[i].main >= 0)
                LFUSE__TRY(lfuse__kernel_op_take(ctx, in->operations[children[i].main].as.kernel));
        return LFUSE_OK;
    }
    status = new_bundle_op(members_of(wanted), made);
    if (!status) {
        status = lfuse__body_bundle(in->plan->body, in->plan->dev, wanted, &(*made)->kernel, &(*made)->bundle);
        if (!status) take_members(in, *made, sharers, children, count, launch);
    }
    lfuse__bundle_destroy(wanted);
    return status;
}

/* Moves operation `from` to the end of `list`, unless it has gone into a bundle. */
static void move(lfuse_instance *in, lfuse__operation *list, int *n, int from)
{
    lfuse__operation *o = &in->operations[from];

    if (o->row == &lfuse__kernel_operation && !o->as.kernel) return;
    list[(*n)++] = *o;
}

/* What precedes the children's kernels, these, what follows them: children depend on nothing of each other. */
static void put_in_order(lfuse_instance *in, const lfuse__step *step, const child *children, int first,
                         lfuse__bundle_op *const *bundles, int nbundles, lfuse__operation *list)
{
    int i, k, n = 0;

    for (i = 0; i < step->nchildren; i++)
        for (k = children[i].before; k < (children[i].main < 0 ? children[i].after : children[i].main); k++)
            move(in, list, &n, k);
    for (i = 0; i < nbundles; i++)
        if (bundles[i])
            list[n++] = (lfuse__operation){ .row = &bundle_operation, .prepare = step->prepare, .step = step,
                                            .as.bundle = bundles[i] };
    for (i = 0; i < step->nchildren; i++)
        if (children[i].main >= 0) move(in, list, &n, children[i].main);
    for (i = 0; i < step->nchildren; i++)
        for (k = children[i].main < 0 ? children[i].after : children[i].main + 1; k < children[i].after; k++)
            move(in, list, &n, k);
    memcpy(in->operations + first, list, (size_t)n * sizeof *list);
    in->noperations = first + n;
    for (i = 0; i < in->nbuffers; i++) { /* used by any of it: by all of it */
        lfuse__instance_buffer *b = &in->buffers[i];
        if (b->last < b->first || b->last < first) continue;
        if (b->first > first) b->first = first;
        b->last = in->noperations - 1;
    }
}

static lfuse_status share(lfuse__instantiation *ctx, const lfuse__step *step, const child *children, int first,
                          lfuse__arena *memory)
{
    lfuse_instance *in = ctx->in;
    const size_t n = (size_t)step->nchildren;
    lfuse__sharer *sharers = lfuse__arena_array(memory, n, sizeof *sharers);
    lfuse__kernel_class *empty = lfuse__arena_array(memory, n, sizeof *empty);
    lfuse__bundle_op **bundles = lfuse__arena_array(memory, n, sizeof *bundles);
    lfuse__operation *list = lfuse__arena_array(memory, (size_t)(in->noperations - first) + n, sizeof *list);
    lfuse_status status = LFUSE_OK;
    int i, launches;

    if (!sharers || !empty || !bundles || !list) return LFUSE_ERR_MEMORY;
    for (i = 0; i < step->nchildren; i++) {
        if (children[i].main < 0) /* empty: the first class that was compiled, so that there is the bundle */
            lfuse__child_class(in->body, &step->children[i], in->facts, 0, &sharers[i], &empty[i]);
        else
            sharers[i].k = &in->operations[children[i].main].as.kernel->k;
    }
    LFUSE__TRY(lfuse__bundle_share(in->facts, sharers, step->nchildren, &launches));
    if (launches > 1)
        lfuse__log(LFUSE_LOG_DEBUG,
                   "%s: a bundle of %d kernels takes %d launches: unlike work-groups, or more than the "
                   "%u bytes of an argument block", in->facts->info.name, step->nchildren, launches,
                   in->facts->info.max_argument_bytes);
    for (i = 0; i < launches && !status; i++)
        status = make_launch(ctx, sharers, children, step->nchildren, i, &bundles[i]);
    for (i = first; i < in->noperations && !status; i++)
        if (in->operations[i].row == &lfuse__kernel_operation && in->operations[i].as.kernel)
            status = lfuse__kernel_op_take(ctx, in->operations[i].as.kernel);
    if (!status) put_in_order(in, step, children, first, bundles, launches, list);
    for (i = 0; i < launches && status; i++) destroy_bundle_op(bundles[i]);
    return status;
}

/* Whether children write to one strided tensor: each of them may do so through a copy of the whole tensor. */
static bool write_one_tensor(const lfuse_instance *in, const lfuse__step *step)
{
    int i, k, name, last = -1, writer = -1;

    for (name = 0; name < in->plan->nnames; name++) {
        if (!in->bound[name].tensor || in->bound[name].plain || !in->bound[name].written) continue;
        for (i = 0; i < step->nchildren; i++)
            for (k = 0; k < step->children[i].noperands; k++) {
                const lfuse__operand *o = &step->children[i].operands[k];
                if (!o->written || o->place != LFUSE__PLACE_BOUND || o->index != name) continue;
                if (last == name && writer != i) return true;
                last = name;
                writer = i;
            }
    }
    return false;
}

lfuse_status lfuse__instantiate_bundle(lfuse__instantiation *ctx, const lfuse__step *step)
{
    const int first = ctx->in->noperations;
    lfuse__arena memory = { NULL };
    lfuse_status status;
    child *children;
    int i;

    if (write_one_tensor(ctx->in, step)) {
        for (i = 0; i < step->nchildren; i++) LFUSE__TRY(lfuse__instantiate_step(ctx, &step->children[i]));
        return LFUSE_OK;
    }
    children = lfuse__arena_array(&memory, (size_t)step->nchildren, sizeof *children);
    status = children ? instantiate_children(ctx, step, children) : LFUSE_ERR_MEMORY;
    if (!status && ctx->in->noperations > first) status = share(ctx, step, children, first, &memory);
    lfuse__arena_free(&memory);
    return status;
}
