/* SPDX-License-Identifier: Apache-2.0 */
/* Making instances, and the launches of their runs. For common/run/ alone. */
#ifndef COMMON_RUN_LAUNCH_LAUNCH_H
#define COMMON_RUN_LAUNCH_LAUNCH_H

#include "common/run/instance.h"

/* ---- instance.c ---- */
/*
 * Checks all that a run with these bindings asks for, into in->slots, and submits nothing. `matched`: the slots hold
 * the bindings already, and the instance has the sizes, lists and frozen tensors that they ask for.
 */
lfuse_status lfuse__instance_match(lfuse_instance *in, const lfuse_binding *bindings, int count, bool matched);

/* ---- launch.c ---- */
/*
 * For slots that are matched, gets what the launches need and may not get: kernels for the strides, and scratch memory.
 * The run that follows then fails of no such want.
 */
lfuse_status lfuse__instance_reserve(lfuse_instance *in);
/* Writes where the slots' tensors are into in->spots. Returns whether any of them, or a list, is not where it was. */
bool lfuse__locate(lfuse_instance *in, const lfuse__slot *slots);
/* Takes the strides of the slots' tensors. Returns whether the operations were made for others. */
bool lfuse__take_strides(lfuse_instance *in, const lfuse__slot *slots);
/* Makes the operations for the strides that were taken, in place of those that there are. */
lfuse_status lfuse__make_operations(lfuse_instance *in);
/* Submits the operations that prepare to the instance's stream. */
lfuse_status lfuse__submit_prepare(lfuse_instance *in);
/*
 * After a launch that failed: the instance is of no more use, and says why. `operation` is the number of the one that
 * failed; -1: all of them, as one graph. Returns `status`, with the operation in front of the message.
 */
lfuse_status lfuse__poison(lfuse_instance *in, int operation, lfuse_status status);
/* Returns ERR_STATE when the stream is being captured, so that what the words `what` say cannot be done now. */
lfuse_status lfuse__not_capturing(lfuse_stream *s, const char *what);

/* ---- replay.c: the operations of a run as one native graph ---- */
/* Decides for operations that have just been made whether a graph is the shorter way to launch them: in->replays. */
void lfuse__replay_consider(lfuse_instance *in);
/* Destroys the graph, if there is one; the operations are launched one by one from then on. */
void lfuse__replay_drop(lfuse_instance *in);
/*
 * Runs the operations, whose arguments are set, as a graph. Returns whether that is done or has failed, as *status
 * says; else nothing was submitted, and the operations are to be launched one by one.
 */
bool lfuse__replay_run(lfuse_instance *in, lfuse_stream *s, lfuse_status *status);

#endif
