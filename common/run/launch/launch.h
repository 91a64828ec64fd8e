/* SPDX-License-Identifier: Apache-2.0 */
/* Making instances, and the launches of their runs. For common/run/ alone. */
#ifndef COMMON_RUN_LAUNCH_LAUNCH_H
#define COMMON_RUN_LAUNCH_LAUNCH_H

#include "common/run/instance.h"

/* ---- instance.c ---- */
/* All checks of a run, for lfuse__plan_run. `matched`: in->slots hold the bindings already, which fit. */
lfuse_status lfuse__instance_match(lfuse_instance *in, const lfuse_binding *bindings, int count, bool matched);
/* launch.c: of what is matched, what its launches ask for and may not get: kernels for the strides, scratch memory. */
lfuse_status lfuse__instance_reserve(lfuse_instance *in);

/* ---- launch.c ---- */
/* The addresses of a run's tensors, into in->spots; true when they are not those of the last run. */
bool lfuse__locate(lfuse_instance *in, const lfuse__slot *slots);
/* Operations for the strides that are taken, in the place of what there is. */
lfuse_status lfuse__make_operations(lfuse_instance *in);
/* Submits the prepare operations to the instance's stream. */
lfuse_status lfuse__submit_prepare(lfuse_instance *in);
/* After a launch that failed: the instance is of no more use, and says why. `operation` -1: all of them. */
lfuse_status lfuse__poison(lfuse_instance *in, int operation, lfuse_status status);
/* Takes the strides of what is bound; true when the operations were made for others. */
bool lfuse__take_strides(lfuse_instance *in, const lfuse__slot *slots);
/* ERR_STATE when the stream is being captured, so that `what` cannot be done now. */
lfuse_status lfuse__not_capturing(lfuse_stream *s, const char *what);

/* ---- replay.c: the operations of a run as one native graph ---- */
/* Of operations that have just been made: whether a graph pays for them. */
void lfuse__replay_consider(lfuse_instance *in);
void lfuse__replay_drop(lfuse_instance *in);
/*
 * Of operations that are placed: true where the run has been submitted, or has failed, as a graph; else it is to be
 * submitted one by one.
 */
bool lfuse__replay_run(lfuse_instance *in, lfuse_stream *s, lfuse_status *status);

#endif
