/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From plan bodies to launches: plans are compiled, instantiated, bound, launched, recorded and replayed. Uses plan,
 * kernels, matmul, tune and device. What the public functions do is in the files of this folder. They and its folders
 * call those alone that come later in this list:
 *  - record/: recordings and their replay;
 *  - launch/: makes instances and runs them;
 *  - instantiate/: makes the operations of an instance for actual sizes and strides, and has the tuner choose;
 *  - lists/: operations of steps over lists;
 *  - operations/: what operations of all kinds share;
 *  - bind/: which object stands for which name, sizes, groups, overlaps;
 *  - compile/: plan bodies and their kernels;
 *  - tensors/: tensors and lists.
 */
#ifndef COMMON_RUN_RUN_H
#define COMMON_RUN_RUN_H

#include <pthread.h>

#include "common/device/device.h"
#include "common/plan/plan.h"
#include "common/run/tensors/tensor.h"
#include "libfuse/record.h"

/*
 * ---- compile/body.c: plan bodies with their kernels, which plans of equal graphs and options share on a device ----
 */

typedef struct lfuse__body_entry lfuse__body_entry; /* counted by references */
/* A bounded cache of them; the one that was not asked for longest goes first. */
typedef struct lfuse__body_cache {
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t built; /* an entry is made, or could not be */
    lfuse__body_entry *bodies;
    int nbodies;
    uint64_t clock;       /* counts what is asked for */
} lfuse__body_cache;
void lfuse__body_cache_init(lfuse__body_cache *cache);
void lfuse__body_cache_clear(lfuse__body_cache *cache);
/*
 * Finds or makes the body of a canonical graph with its kernels; *entry gets a reference. However many threads ask, it
 * is made once. `facts` are the device's, with what is known of its rates.
 */
lfuse_status lfuse__body_get(lfuse__body_cache *cache, lfuse_device *dev, const lfuse_graph *graph,
                             const lfuse_plan_options *options, lfuse__facts *facts, lfuse__body_entry **entry);
void lfuse__body_release(lfuse__body_entry *entry);

/* ---- plan.c ---- */

/* What the user has of a plan body: the names and the size variables of the graph, and the instances of his streams. */
struct lfuse_plan {
    lfuse_device *dev; /* one reference */
    lfuse__body_entry *body;
    lfuse_graph *graph; /* canonical, with the user's names: nodes and sizes are numbered as in the body */
    int nnames, nsizes;       /* of the graph, so the next */
    const lfuse__name *names;
    lfuse__strbuf text;       /* what lfuse_plan_text returns */
    bool measure; /* candidates of products are timed */
    lfuse_transport transport;
    bool replays; /* runs of an instance may become one native graph */
    atomic_int references;
    _Atomic(struct lfuse__plan_stream *) streams; /* the instances of each stream, until the handle goes */
    pthread_mutex_t lock; /* of making one more of these */
};
/* options.c: checks the options, which may be NULL, and adds what the environment says: *o. ERR_INVALID. */
lfuse_status lfuse__options_settle(const lfuse_plan_options *given, lfuse_plan_options *o);
/* What the public functions of these names do. */
lfuse_status lfuse__plan_create(lfuse_device *dev, const lfuse_graph *graph, const lfuse_plan_options *options,
                                lfuse_plan **plan);
/* The same by options that lfuse__options_settle would leave: the environment adds nothing. */
lfuse_status lfuse__plan_create_settled(lfuse_device *dev, const lfuse_graph *graph, const lfuse_plan_options *o,
                                        lfuse_plan **plan);
lfuse_status lfuse__plan_run(lfuse_plan *plan, lfuse_stream *stream, const lfuse_binding *bindings, int count);
/*
 * As lfuse__plan_run, with before(data, stream) called when everything has been checked, ahead of the launches; an
 * error of it ends the run. `before` may be NULL. The caller passes the status to lfuse__recording_note.
 */
lfuse_status lfuse__plan_run_after(lfuse_plan *plan, lfuse_stream *stream, const lfuse_binding *bindings, int count,
                                   lfuse_status (*before)(const void *data, lfuse_stream *stream), const void *data);
/*
 * A run in two calls, for several plans of which none shall run when one is refused. The first one makes all checks,
 * and gets memory and kernels that the run may lack; the second one launches. Between them nothing uses the plan on
 * this stream, and arrays of numbers that are bound stay.
 */
lfuse_status lfuse__plan_match(lfuse_plan *plan, lfuse_stream *stream, const lfuse_binding *bindings, int count);
lfuse_status lfuse__plan_run_matched(lfuse_plan *plan, lfuse_stream *stream);
/* Returns the instance of the plan's last run on the stream; NULL: there was none. */
const lfuse_instance *lfuse__plan_instance(lfuse_plan *plan, lfuse_stream *stream);
/* replay.c: appends to a plan's text how many launches a native graph of its runs holds. */
void lfuse__replay_print(const lfuse_plan *plan, lfuse__strbuf *text);
/* Releases the instances that the plan keeps, and the user's reference. */
void lfuse__plan_destroy(lfuse_plan *plan);
/* compile/plan_references.c */
void lfuse__plan_retain(lfuse_plan *plan);
void lfuse__plan_release(lfuse_plan *plan);

/* ---- launch/instance.c, launch/launch.c, runs.c: instances, counted by references ---- */

/*
 * Makes an instance for the sizes, lists and frozen tensors of the bindings, and submits what prepares it to the
 * stream. `watches`: it does not hold the memory of its lists, for lfuse__plan_run, which binds them anew each time.
 */
lfuse_status lfuse__instance_make(lfuse_plan *plan, lfuse_stream *stream, const lfuse_binding *bindings, int count,
                                  bool watches, lfuse_instance **instance);
lfuse_status lfuse__instance_run(lfuse_instance *instance, const lfuse_binding *bindings, int count);
lfuse_status lfuse__instance_refresh(lfuse_instance *instance);
/* Launches, or records, what lfuse__instance_match has checked. */
lfuse_status lfuse__instance_run_matched(lfuse_instance *instance);

/*
 * What stands for a name of the plan in one run; all zero where nothing does. References are the holder's. A run is
 * made in two steps, so that a recording can keep what is between them: bindings are resolved to slots, which are
 * checked, and then slots are submitted.
 */
typedef struct lfuse__slot {
    lfuse_tensor *tensor;
    lfuse_list *list;
    double number;         /* of a scalar, or of its first group */
    const double *numbers; /* [count] one for each group, the binding's or the recording's; NULL: one for all */
    int64_t count;
} lfuse__slot;
/* Fills slots[0 ... nnames - 1] with what the bindings say, and makes all checks of a run. Nothing is launched. */
lfuse_status lfuse__instance_resolve(lfuse_instance *instance, const lfuse_binding *bindings, int count,
                                     lfuse__slot *slots);
/*
 * Fills `slots` with what the bindings say, and tells whether the instance has the sizes, lists and frozen tensors that
 * they ask for. Where it has not, another instance may take them.
 */
lfuse_status lfuse__instance_suits(lfuse_instance *instance, const lfuse_binding *bindings, int count,
                                   lfuse__slot *slots, bool *suits);
/*
 * bind/sizes.c: fills in bindings of sizes for another run, [nsizes] at most, and returns how many: those of `given`
 * that the plan has, and the instance's values of those that no tensor of the slots tells.
 */
int lfuse__sizes_repeat(const lfuse_instance *instance, const lfuse__slot *slots, const lfuse_binding *given, int count,
                        lfuse_binding *bindings);
/*
 * Submits a run of resolved slots to the instance's stream, or, for a replay, to `other`, where that is not NULL.
 * `scratch`, where it is not NULL, is used in place of the stream's scratch memory: a recording has its own.
 */
lfuse_status lfuse__instance_submit(lfuse_instance *instance, const lfuse__slot *slots, lfuse_stream *other,
                                    lfuse__range *scratch);
/*
 * Makes the operations for the strides of the slots, if they are others, as a submit does. ERR_STATE: `s` is captured.
 */
lfuse_status lfuse__instance_ready(lfuse_instance *instance, const lfuse__slot *slots, lfuse_stream *s);
/* What the public functions of these names return. */
uint64_t lfuse__instance_scratch_bytes(const lfuse_instance *instance);
uint64_t lfuse__instance_prepared_bytes(const lfuse_instance *instance);
void lfuse__instance_retain(lfuse_instance *instance);
void lfuse__instance_release(lfuse_instance *instance);
/* operations/look_ups.c: has the stream ask, when it is synchronised, for what work of the instance reports. */
lfuse_status lfuse__instance_watch(lfuse_instance *instance, lfuse_stream *stream);
/*
 * operations/operations.c: tables on the device may not hold any more what the last submit left there, so that the next
 * one writes them. Called before and after native graphs, which hold the writes of the submit that was captured.
 */
void lfuse__instance_forget(lfuse_instance *instance);
/* Returns whether the host writes tables of the instance, which a native graph would read whenever it is launched. */
bool lfuse__instance_unified(const lfuse_instance *instance);

/* ---- immediate.c, evaluate.c, scratch.c: what lfuse_gemm, lfuse_evaluate and lfuse_stream_set_scratch do ---- */

lfuse_status lfuse__gemm_now(lfuse_stream *stream, bool ta, bool tb, double alpha, const lfuse_tensor *a,
                             const lfuse_tensor *b, double beta, lfuse_tensor *c);
lfuse_status lfuse__evaluate(lfuse_stream *stream, const lfuse_graph *graph, const lfuse_binding *bindings, int count);
lfuse_status lfuse__scratch_set(lfuse_stream *stream, const lfuse_tensor *memory);

/* ---- record/record.c, record/record_replay.c: what the public functions of libfuse/record.h do ---- */

lfuse_status lfuse__record_begin(lfuse_stream *s);
lfuse_status lfuse__record_end(lfuse_stream *s, lfuse_recording **recording);
/* Destroys the recording that is open on a stream, which goes. */
void lfuse__record_abandon(lfuse_stream *s);
lfuse_status lfuse__recording_replay(lfuse_recording *recording, lfuse_stream *s, const lfuse_binding *bindings,
                                     int count);
void lfuse__recording_destroy(lfuse_recording *recording);

/* Adds a resolved run to the open recording of the stream: copies the slots, and retains what they hold. */
lfuse_status lfuse__recording_append(lfuse_stream *s, lfuse_instance *instance, const lfuse__slot *slots);
/* Add a copy and a fill of bytes; the ranges are of the stream's device, and offsets count from their first bytes. */
lfuse_status lfuse__recording_copy(lfuse_stream *s, lfuse__range *to, uint64_t to_offset, lfuse__range *from,
                                   uint64_t from_offset, uint64_t bytes);
lfuse_status lfuse__recording_fill(lfuse_stream *s, lfuse__range *to, uint64_t offset, uint64_t pattern,
                                   unsigned pattern_bytes, uint64_t bytes);
/*
 * Takes note of the status of a run, copy or transfer on the stream, as each of them has on its way out: where the
 * stream records and the status is an error, lfuse_record_end returns the first such error, and no recording. Returns
 * `status`.
 */
lfuse_status lfuse__recording_note(lfuse_stream *s, lfuse_status status);

#endif
