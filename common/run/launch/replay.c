/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of an instance as one native graph. It is made at the third run, so that what runs once or twice does not pay
 * for it. New addresses and numbers of our own kernels are patched into it. A product's nodes are the vendor's own and
 * bound to their addresses: a run with others is launched one by one, and when they have come three times in a row the
 * graph is captured anew.
 */
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/compile/steps.h"
#include "common/run/launch/launch.h"
#include "common/run/operations/operations.h"

/*
 * Launches for which a graph is the shorter way: an H200's host takes 3 us for a kernel of ours, 6 for one whose
 * groups all run at the same time, 7 for a product of cuBLASLt and 1.6 for a graph, whatever it holds.
 */
enum { LEAST_LAUNCHES = 2, PRODUCT_LAUNCHES = 2, STEADY_RUNS = 2 };

static bool is_vendors(const lfuse__step *step)
{
    return step->kind == LFUSE__STEP_GEMM && !step->product.native;
}

static int launches_of(const lfuse__step *step)
{
    return is_vendors(step) ? PRODUCT_LAUNCHES : lfuse__step_rows[step->kind].launches;
}

void lfuse__replay_print(const lfuse_plan *plan, lfuse__strbuf *text)
{
    const lfuse__plan_body *body = lfuse__body_plan(plan->body);
    int launches = 0, bound = 0, patched = 0, i, k;

    for (i = 0; i < body->nstages; i++) {
        if (body->stages[i].network) {
            i += body->stages[i].covers - 1;
            launches += lfuse__step_rows[LFUSE__STEP_NETWORK].launches;
            patched++;
            continue;
        }
        for (k = 0; k < body->stages[i].alternatives[0].nsteps; k++) {
            const lfuse__step *step = &body->stages[i].alternatives[0].steps[k];
            if (step->prepare) continue;
            launches += launches_of(step);
            if (is_vendors(step)) bound++;
            else patched++;
        }
    }
    if (plan->replays && launches >= LEAST_LAUNCHES)
        lfuse__strbuf_format(text, " (replay %d patched %d bound)", patched, bound);
}

void lfuse__replay_drop(lfuse_instance *in)
{
    lfuse__native_destroy(in->native);
    in->native = NULL;
    in->replays = in->followed = in->held = false;
    in->steady = 0;
}

void lfuse__replay_consider(lfuse_instance *in)
{
    int launches = 0, i;

    for (i = 0; i < in->noperations; i++) {
        const lfuse__operation *op = &in->operations[i];
        const int own = op->row->launches;
        if (!op->prepare) launches += own ? own : launches_of(op->step);
    }
    in->replays = in->plan->replays && launches >= LEAST_LAUNCHES && !lfuse__instance_unified(in);
}

/* A table that has to be written first is written one by one. */
static bool is_settled(const lfuse_instance *in)
{
    const lfuse__operation_row *row;
    int i;

    for (i = 0; i < in->noperations; i++) {
        row = in->operations[i].row;
        if (row->settled && !row->settled(&in->operations[i])) return false;
    }
    return true;
}

/* Nothing was launched: the run can still go one by one, and so do those that follow. */
static void give_up(lfuse_instance *in, const lfuse__saved_error *before)
{
    lfuse__log(LFUSE_LOG_INFO, "%s: an instance of %d operations stays one of launches: %s", in->facts->info.name,
               in->noperations, lfuse__error_message());
    lfuse__error_restore(before);
    lfuse__replay_drop(in);
}

/* Submits the run to a graph that is being made or followed. */
static lfuse_status pass(lfuse_instance *in, lfuse_stream *s)
{
    int failed;

    return lfuse__operations_launch(in, false, 0, in->noperations, s, &failed);
}

static lfuse_status follow(lfuse_instance *in, lfuse_stream *s)
{
    lfuse_status status, settled;
    bool fits;

    LFUSE__TRY(lfuse__native_follow(s, in->native));
    status = pass(in, s);
    settled = lfuse__native_settle(s, in->native, &fits);
    if (status) return status;
    if (settled == LFUSE_ERR_UNSUPPORTED) in->steady = 0; /* any argument is as good as a product's */
    else if (settled) return settled;
    in->followed = true;
    in->held = fits;
    return LFUSE_OK;
}

static lfuse_status capture(lfuse_instance *in, lfuse_stream *s)
{
    lfuse__native *unfinished = NULL;
    lfuse__saved_error first;
    lfuse_status status;

    LFUSE__TRY(lfuse__native_begin(s));
    status = pass(in, s);
    if (status) {
        lfuse__error_save(&first);
        if (!lfuse__native_end(s, &unfinished)) lfuse__native_destroy(unfinished);
        lfuse__error_restore(&first);
        return status;
    }
    LFUSE__TRY(lfuse__native_end(s, &in->native));
    in->followed = in->held = true;
    return LFUSE_OK;
}

/* Makes the graph hold the present arguments, where that is due. */
static lfuse_status prepare(lfuse_instance *in, lfuse_stream *s)
{
    if (in->native && !in->followed) LFUSE__TRY(follow(in, s));
    if (in->native && in->held) return LFUSE_OK;
    return in->steady++ < STEADY_RUNS ? LFUSE_OK : capture(in, s);
}

bool lfuse__replay_run(lfuse_instance *in, lfuse_stream *s, lfuse_status *status)
{
    const bool ready = in->native && in->followed && in->held;
    lfuse__saved_error before;
    bool capturing;

    if (!is_settled(in)) return false;
    if (!in->native && in->steady < STEADY_RUNS) {
        in->steady++;
        return false;
    }
    *status = lfuse__stream_capturing(s, &capturing);
    if (*status) return true;
    if (capturing) return false; /* what captures takes up launches, but no graph */
    if (!ready) {
        lfuse__error_save(&before);
        if (prepare(in, s)) {
            give_up(in, &before);
            return false;
        }
        lfuse__error_restore(&before);
        if (!in->native || !in->held) return false;
    }
    *status = lfuse__native_launch(s, in->native);
    if (__builtin_expect(*status != LFUSE_OK, 0)) lfuse__poison(in, -1, *status);
    return true;
}
