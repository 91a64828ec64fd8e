/* SPDX-License-Identifier: Apache-2.0 */
/**
 * libfuse: fused tensor work on any vendor's GPU, and on CPUs through OpenCL.
 *
 * This header includes every public one; each of them also compiles alone, as C11 and as C++17.
 *
 * Conventions that hold for the whole interface
 *  - Every call that can fail returns an lfuse_status; LFUSE_OK is 0. lfuse_last_error() then tells the cause
 *    in words, for the calling thread. Out-parameters are written only on success.
 *  - Nothing prints to stdout, exits or aborts. Messages of the log go to stderr or to a callback (log.h).
 *  - create/destroy, open/close and begin/end come in pairs; destroying NULL does nothing.
 *  - Sizes and strides are int64_t and count elements, byte counts are uint64_t. Shapes are row-major.
 *  - Any number of threads may use one device. A stream, an instance and a recording belong to one thread at a
 *    time; a plan is immutable and may be shared.
 *  - After fork() every call in the child returns LFUSE_ERR_FORKED.
 */
#ifndef LIBFUSE_H
#define LIBFUSE_H

#include <libfuse/version.h>
#include <libfuse/status.h>
#include <libfuse/log.h>
#include <libfuse/types.h>
#include <libfuse/device.h>
#include <libfuse/tensor.h>
#include <libfuse/list.h>
#include <libfuse/graph.h>
#include <libfuse/ops.h>
#include <libfuse/random.h>
#include <libfuse/views.h>
#include <libfuse/reduce.h>
#include <libfuse/norm.h>
#include <libfuse/loss.h>
#include <libfuse/gradient.h>
#include <libfuse/plan.h>
#include <libfuse/record.h>
#include <libfuse/immediate.h>
#include <libfuse/optimizer.h>
#include <libfuse/update.h>
#include <libfuse/training.h>
#include <libfuse/schedule.h>
#include <libfuse/safetensors.h>
#include <libfuse/foreach.h>
#include <libfuse/wisdom.h>

#endif
