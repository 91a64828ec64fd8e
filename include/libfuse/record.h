/* SPDX-License-Identifier: Apache-2.0 */
/** Record and replay: the runs of a stream, kept and repeated with what launch cost is left taken out. */
#ifndef LIBFUSE_RECORD_H
#define LIBFUSE_RECORD_H

#include <libfuse/base.h>
#include <libfuse/plan.h>
#include <libfuse/status.h>

typedef struct lfuse_recording lfuse_recording;

LFUSE_BEGIN_DECLS

/** From now on runs on this stream (plans, instances, tensor copies on one device) are kept instead of executed. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_record_begin(lfuse_stream *stream);
/**
 * Ends it. The recording holds what it uses: plans, tensors, lists, and scratch memory of its own. When a run was
 * refused meanwhile, this call returns that error and no recording.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_record_end(lfuse_stream *stream, lfuse_recording **recording);
/**
 * Replays it on a stream of the same device, in stream order: as one native graph where the device has them, as a
 * prepared list of launches elsewhere. A graph is patched where addresses and numbers of the library's own kernels have
 * changed, and captured anew where a vendor's product has other operands. `bindings` (by name, may be none) replace
 * tensors and numbers wherever a recorded run used that name. The replacement stays for later replays, and of a refused
 * replay (ERR_NAME, ERR_BINDING, ERR_SHAPE, ... as of a run) nothing stays.
 *
 * Tensors keep type and rank. They may have other sizes where the graph has size variables: all tensors of a run that
 * tell such a size are then to be bound anew together, and a size that no tensor tells (lfuse_bind_size) keeps its
 * value unless it is bound too. What other sizes need is made by the first replay that has them, and kept for the last
 * eight combinations of sizes (the last two, where more than 64 KiB are made of frozen tensors for each): a replay with
 * one of these makes nothing and is one launch of the graph it had. While a stream is being captured only such sizes
 * can be had (ERR_STATE). Recorded copies and fills are of tensors, not of names: they keep addresses and bytes.
 *
 * A recording belongs to one thread at a time, and the caller orders its replays on different streams (by events).
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_recording_replay(lfuse_recording *recording, lfuse_stream *stream,
                                                               const lfuse_binding *bindings, int count);
LFUSE_API void lfuse_recording_destroy(lfuse_recording *recording);

LFUSE_END_DECLS
#endif
