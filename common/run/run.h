/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From plan bodies to launches: choose alternatives, bind, launch, record, replay. Uses plan, kernels and device. What
 * the public functions do is in the files beside this one; they and the folders call those that come later alone:
 * record/, launch/ (makes and runs instances), instantiate/ (steps into operations, candidates), lists/ (steps over
 * lists), operations/ (what all kinds of them share), bind/, compile/ (plan bodies and their kernels), tensors/.
 */
#ifndef COMMON_RUN_RUN_H
#define COMMON_RUN_RUN_H

#include <pthread.h>

#include "common/device/device.h"
#include "common/plan/plan.h"
#include "common/run/tensors/tensor.h"
#include "libfuse/record.h"

/* body.c: plan bodies with compiled kernels, shared on a device by the canonical text and options; bounded cache. */
typedef struct lfuse__body_entry lfuse__body_entry;
typedef struct lfuse__body_cache {
    pthread_mutex_t lock;
    pthread_cond_t built;
    lfuse__body_entry *bodies;
    int nbodies;
    uint64_t clock;
} lfuse__body_cache;
void lfuse__body_cache_init(lfuse__body_cache *cache);
void lfuse__body_cache_clear(lfuse__body_cache *cache);
/* With one reference. `facts`: the device's, with what is known of its rates. */
lfuse_status lfuse__body_get(lfuse__body_cache *cache, lfuse_device *dev, const lfuse_graph *graph,
                             const lfuse_plan_options *options, lfuse__facts *facts, lfuse__body_entry **entry);
void lfuse__body_release(lfuse__body_entry *entry);

/* plan.c. Equal graphs share a body; the names and sizes of the user's graph are the plan's own. */
struct lfuse_plan {
    lfuse_device *dev; /* one reference */
    lfuse__body_entry *body;
    lfuse_graph *graph; /* canonical, with the user's names: nodes and sizes are numbered as the body's */
    int nnames, nsizes;
    const lfuse__name *names; /* graph->names */
    lfuse__strbuf text;
    bool measure; /* candidates of products are timed */
    lfuse_transport transport;
    bool replays; /* runs of an instance may be one native graph */
    atomic_int references;
    _Atomic(struct lfuse__plan_stream *) streams; /* the instances of each stream, until the handle goes */
    pthread_mutex_t lock; /* of making one more of these */
};
/* options.c: what is asked for, and what the environment adds. ERR_INVALID. */
lfuse_status lfuse__options_settle(const lfuse_plan_options *given, lfuse_plan_options *o);
/* What the public functions of these names do, and transfer.c's copies of strided tensors. */
lfuse_status lfuse__plan_create(lfuse_device *dev, const lfuse_graph *graph, const lfuse_plan_options *options,
                                lfuse_plan **plan);
lfuse_status lfuse__plan_run(lfuse_plan *plan, lfuse_stream *stream, const lfuse_binding *bindings, int count);
/*
 * The same with `before` (may be NULL) called when everything has been checked, ahead of the launches; its status ends
 * the run. Does not pass the status to recording_note.
 */
lfuse_status lfuse__plan_run_after(lfuse_plan *plan, lfuse_stream *stream, const lfuse_binding *bindings, int count,
                                   lfuse_status (*before)(const void *data, lfuse_stream *stream), const void *data);
/*
 * A run in two parts, for several plans of which none shall run when one is refused: all checks, and memory and kernels
 * that may be wanting; then the launches, with nothing between them that uses the plan. Arrays of numbers must stay.
 */
lfuse_status lfuse__plan_match(lfuse_plan *plan, lfuse_stream *stream, const lfuse_binding *bindings, int count);
lfuse_status lfuse__plan_run_matched(lfuse_plan *plan, lfuse_stream *stream);
/* What the plan keeps for the stream, NULL: nothing ran there yet. */
const lfuse_instance *lfuse__plan_instance(lfuse_plan *plan, lfuse_stream *stream);
/* replay.c: what of the plan's runs a native graph takes, behind its steps. */
void lfuse__replay_print(const lfuse_plan *plan, lfuse__strbuf *text);
/* The user's handle goes, and the instances that the plan keeps. */
void lfuse__plan_destroy(lfuse_plan *plan);
void lfuse__plan_retain(lfuse_plan *plan);
void lfuse__plan_release(lfuse_plan *plan);

/* launch/instance.c, runs.c: what the public functions of include/libfuse/plan.h do. */
/* `watches`: the instance does not keep the memory of its lists. That is for lfuse__plan_run, which binds them anew. */
lfuse_status lfuse__instance_make(lfuse_plan *plan, lfuse_stream *stream, const lfuse_binding *bindings, int count,
                                  bool watches, lfuse_instance **instance);
lfuse_status lfuse__instance_run(lfuse_instance *instance, const lfuse_binding *bindings, int count);
lfuse_status lfuse__instance_refresh(lfuse_instance *instance);
/* Launches, or records, what lfuse__instance_match has checked. */
lfuse_status lfuse__instance_run_matched(lfuse_instance *instance);

/* immediate.c */
lfuse_status lfuse__gemm_now(lfuse_stream *stream, bool ta, bool tb, double alpha, const lfuse_tensor *a,
                             const lfuse_tensor *b, double beta, lfuse_tensor *c);
/* evaluate.c */
lfuse_status lfuse__evaluate(lfuse_stream *stream, const lfuse_graph *graph, const lfuse_binding *bindings, int count);

/*
 * One run, in three parts, so that a recording can keep the middle: resolve (bindings -> checked slots, nothing
 * launched), then submit. A recording keeps resolved runs and submits them again.
 */
typedef struct lfuse__slot { /* what stands for names[i] in one run; references are the holder's */
    lfuse_tensor *tensor;
    lfuse_list *list;
    double number;         /* of a scalar; of its first group */
    const double *numbers; /* [count] by group, the binding's or the recording's; NULL: one for all */
    int64_t count;
} lfuse__slot;
lfuse_status lfuse__instance_resolve(lfuse_instance *instance, const lfuse_binding *bindings, int count,
                                     lfuse__slot *slots);
/*
 * Fills `slots` with what the bindings say, and tells whether the instance has the sizes, lists and frozen tensors that
 * they ask for: where it has not, another instance would resolve them, or tell why not.
 */
lfuse_status lfuse__instance_suits(lfuse_instance *instance, const lfuse_binding *bindings, int count,
                                   lfuse__slot *slots, bool *suits);
/*
 * Bindings of sizes for another run: those of `given` that the plan has, and what no tensor of the slots tells. Writes
 * as many as the plan has sizes at most and returns how many. Their names are those of the plan.
 */
int lfuse__sizes_repeat(const lfuse_instance *instance, const lfuse__slot *slots, const lfuse_binding *given, int count,
                        lfuse_binding *bindings);
/*
 * Submits to the instance's stream, or to `other` when it is not NULL (a replay), with `scratch` instead of the
 * stream's arena when that is not NULL (a recording owns its scratch).
 */
lfuse_status lfuse__instance_submit(lfuse_instance *instance, const lfuse__slot *slots, lfuse_stream *other,
                                    lfuse__range *scratch);
/* Makes what the strides of the slots need, which a submit does too, but not while the stream `s` captures. */
lfuse_status lfuse__instance_ready(lfuse_instance *instance, const lfuse__slot *slots, lfuse_stream *s);
/* scratch.c: lfuse_stream_set_scratch. */
lfuse_status lfuse__scratch_set(lfuse_stream *stream, const lfuse_tensor *memory);
uint64_t lfuse__instance_scratch_bytes(const lfuse_instance *instance);
uint64_t lfuse__instance_prepared_bytes(const lfuse_instance *instance);
/* Counted, because a recording keeps the instances of its runs when the plan has made others since. */
void lfuse__instance_retain(lfuse_instance *instance);
void lfuse__instance_release(lfuse_instance *instance);
/* The stream is given work of the instance: it will ask for what that work reports. */
lfuse_status lfuse__instance_watch(lfuse_instance *instance, lfuse_stream *stream);
/*
 * What the instance believes to be in its tables on the device is no longer so: the next submit writes them. Called
 * around native graphs, which hold the writes of the submit that was captured.
 */
void lfuse__instance_forget(lfuse_instance *instance);
/* Whether the host writes tables of the instance, which a native graph would read whenever it is launched. */
bool lfuse__instance_unified(const lfuse_instance *instance);

/* record.c: what the public functions of include/libfuse/record.h do. */
lfuse_status lfuse__record_begin(lfuse_stream *s);
lfuse_status lfuse__record_end(lfuse_stream *s, lfuse_recording **recording);
/* The stream goes while it records: the recording goes with it. */
void lfuse__record_abandon(lfuse_stream *s);
lfuse_status lfuse__recording_replay(lfuse_recording *recording, lfuse_stream *s, const lfuse_binding *bindings,
                                     int count);
void lfuse__recording_destroy(lfuse_recording *recording);

/* The open recording of a stream takes a resolved run (copies the slots, retains what they hold). */
lfuse_status lfuse__recording_append(lfuse_stream *s, lfuse_instance *instance, const lfuse__slot *slots);
/* Its other commands, in bytes of ranges of the stream's device. */
lfuse_status lfuse__recording_copy(lfuse_stream *s, lfuse__range *to, uint64_t to_offset, lfuse__range *from,
                                   uint64_t from_offset, uint64_t bytes);
lfuse_status lfuse__recording_fill(lfuse_stream *s, lfuse__range *to, uint64_t offset, uint64_t pattern,
                                   unsigned pattern_bytes, uint64_t bytes);
/*
 * Every run, copy or transfer on a stream passes its status through this on its way out: when the stream is recording
 * and the status an error, lfuse_record_end will report the first such error instead of a recording. Returns `status`.
 */
lfuse_status lfuse__recording_note(lfuse_stream *s, lfuse_status status);

#endif
