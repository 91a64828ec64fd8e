/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices as the rest of the library sees them, and the only code that calls through the backend's slots: one small
 * wrapper a slot, which checks, counts and logs. May use common/base/ alone.
 *
 * Objects are counted by references and hold their device; a device's context goes with its last object. "Closed" is a
 * state: the user closed the handle, objects may still be destroyed, everything else gives ERR_CLOSED.
 */
#ifndef COMMON_DEVICE_DEVICE_H
#define COMMON_DEVICE_DEVICE_H

#include <stdatomic.h>

#include "common/device/backend.h"
#include "libfuse/device.h"

/* ---- registry.c: backends and devices of this machine ---- */

/* Puts one more backend in front of those of backends/table.c, the tests' stub; NULL takes it out. Not thread-safe. */
void lfuse__registry_extra(const lfuse__backend *backend);
/* Returns the backend of that name; NULL: this build has none. */
const lfuse__backend *lfuse__registry_find(const char *name);
/* Returns backend number i of this build; NULL past the end. */
const lfuse__backend *lfuse__registry_at(int i);

/* ---- device.c ---- */

/* What the functions of these names in libfuse/device.h do; arguments are not NULL. */
lfuse_status lfuse__device_count(int *count);
lfuse_status lfuse__device_describe(int index, lfuse_device_info *info);
lfuse_status lfuse__device_open(const char *name, lfuse_device **device);
lfuse_status lfuse__device_adopt(const char *backend, void *context, void *native_device, lfuse_device **device);
void lfuse__device_close(lfuse_device *dev);
lfuse_status lfuse__device_memory(lfuse_device *dev, uint64_t *free_bytes, uint64_t *total_bytes);
void lfuse__device_counters(const lfuse_device *dev, lfuse_device_counters *counters);
/* Returns ERR_CLOSED, ERR_FORKED or LFUSE_OK: enough for what asks the driver nothing. */
lfuse_status lfuse__device_open_still(const lfuse_device *dev);

/*
 * What the layers above keep on a device: the plan cache, measured choices. It is destroyed when the user closes the
 * handle, because its objects hold the device, which would never go. What still uses the data then has to hold it by
 * references of its own.
 */
typedef struct lfuse__attachment {
    void *data;
    void (*destroy)(void *data);
} lfuse__attachment;
enum { LFUSE__ATTACH_PLANS, LFUSE__ATTACH_TUNER, LFUSE__ATTACH_COUNT };

/* Returns the facts as they were when the device was opened; they stay as long as the device. */
const lfuse__facts *lfuse__device_facts(const lfuse_device *dev);
/* Loads every library that products take, and fills in the facts: info.gemm names its version then. */
lfuse_status lfuse__device_full_facts(lfuse_device *dev, lfuse__facts *facts);
/* Returns ERR_CLOSED, ERR_FORKED, ERR_DEVICE_LOST or LFUSE_OK. Every operation asks this first. */
lfuse_status lfuse__device_usable(lfuse_device *dev);
void lfuse__device_retain(lfuse_device *dev);
void lfuse__device_release(lfuse_device *dev);
/*
 * Returns in *data what is attached under LFUSE__ATTACH_..., made by `create` at the first call, once for all threads.
 */
lfuse_status lfuse__device_attachment(lfuse_device *dev, int kind, lfuse_status (*create)(lfuse_device *, void **),
                                      void (*destroy)(void *), void **data);
/*
 * Returns in *s the device's own stream, for calls that wait. It is used between lfuse__device_lock_sync and
 * lfuse__device_unlock_sync alone, and not destroyed by callers.
 */
lfuse_status lfuse__device_stream(lfuse_device *dev, lfuse_stream **s);
void lfuse__device_lock_sync(lfuse_device *dev);
void lfuse__device_unlock_sync(lfuse_device *dev);

/* ---- memory.c: blocks from the driver, ranges of them for tensors and scratch ---- */

/*
 * A range of a block from the driver, counted by references. The library's own memory is cut from large blocks, aligned
 * to 256 bytes, so that many tensors have one bmem, which is one slot of an address table. Memory of the caller's is a
 * block of its own.
 */
typedef struct lfuse__range {
    lfuse_device *dev;
    lfuse__bmem *mem;
    uint64_t offset, bytes;  /* of the first byte in `mem`; 0 bytes: empty, or of unknown size */
    uint64_t space, address; /* of the first byte: ranges overlap where spaces are equal and addresses meet */
    bool unknown;            /* the caller's memory, whose size nobody has told */
    void *host;              /* where the host may use it while the device works; NULL: nowhere */
    atomic_int references;
} lfuse__range;

/* Takes `bytes` bytes of device memory, of undefined contents; 0 bytes: an empty range. */
lfuse_status lfuse__range_create(lfuse_device *dev, uint64_t bytes, lfuse__range **range);
/*
 * Takes memory that host and device share, from the driver for this range alone; `host` is set where
 * facts.info.svm_concurrent. ERR_UNSUPPORTED: the device shares none.
 */
lfuse_status lfuse__range_create_unified(lfuse_device *dev, uint64_t bytes, lfuse__range **range);
/* Makes a range of the caller's memory, which has to stay until the range goes; 0 bytes: its size is not known. */
lfuse_status lfuse__range_wrap(lfuse_device *dev, lfuse_memory_kind kind, uint64_t handle, uint64_t bytes,
                               lfuse__range **range);
void lfuse__range_retain(lfuse__range *range);
/*
 * After the last reference the memory is not reused or given back before all work has finished that was submitted to
 * the device's streams until now. The call itself never waits.
 */
void lfuse__range_release(lfuse__range *range);

/* ---- stream.c ---- */

/* What the functions of these names in libfuse/device.h do; arguments are not NULL. */
lfuse_status lfuse__stream_create(lfuse_device *dev, lfuse_stream **stream);
lfuse_status lfuse__stream_wrap(lfuse_device *dev, void *native, lfuse_stream **stream);
void lfuse__stream_destroy(lfuse_stream *s);
lfuse_status lfuse__stream_sync(lfuse_stream *s);
lfuse_status lfuse__stream_query(lfuse_stream *s);
void *lfuse__stream_native(const lfuse_stream *s); /* NULL: the stream or its device is closed */

lfuse_device *lfuse__stream_device(const lfuse_stream *s);
/* Returns ERR_CONTEXT unless `dev`, the device of the object that `what` names, is the stream's. */
lfuse_status lfuse__stream_same_device(const lfuse_stream *s, const lfuse_device *dev, const char *what);
/* Returns an error where the device is closed or lost, the stream destroyed, or the process a child of fork. */
lfuse_status lfuse__stream_usable(lfuse_stream *s);
void lfuse__stream_retain(lfuse_stream *s);
void lfuse__stream_release(lfuse_stream *s);
/* Tells whether the stream is being captured: what is submitted becomes part of a graph then. */
lfuse_status lfuse__stream_capturing(lfuse_stream *s, bool *capturing);
/*
 * Scratch memory, one range for each stream. `reserve` makes it at least that large; it may allocate, and the former
 * memory goes when the work that uses it has finished. `scratch` returns the present range, NULL where there is none
 * yet; it is asked anew at each run.
 */
lfuse_status lfuse__stream_reserve(lfuse_stream *s, uint64_t bytes);
lfuse__range *lfuse__stream_scratch(lfuse_stream *s);
/*
 * Makes `bytes` bytes of a range of the caller's, from `offset` on, the stream's scratch memory; NULL: memory of its
 * own again. ERR_INVALID: they are not aligned. From then on
 *  - `reserve` returns ERR_SHAPE where they are too few;
 *  - what `scratch` returns is not retained by anybody: the stream retains the range that it is a part of.
 */
enum {
    LFUSE__SCRATCH_ALIGNMENT = 256,
    LFUSE__LANES_ALIGNMENT = 128 /* of kernels over lanes: as drivers of CPUs give it */
};
lfuse_status lfuse__stream_lend(lfuse_stream *s, lfuse__range *range, uint64_t offset, uint64_t bytes);
bool lfuse__stream_is_lent(const lfuse_stream *s);

/* ---- report.c: errors that depend on data ---- */

/*
 * Kernels report such an error in a buffer of LFUSE__REPORT_WORDS 64-bit words, which the first one claims. `describe`
 * says in words who the reporter of that number is; `release` is called when nobody can ask any more.
 */
enum { LFUSE__REPORT_WORDS = 5 };
typedef struct lfuse__reports lfuse__reports; /* counted by references */
typedef struct lfuse__reports_owner {
    void *data;
    void (*describe)(void *data, uint64_t reporter, lfuse__strbuf *text);
    void (*release)(void *data);
} lfuse__reports_owner;
/* Makes such a buffer, and waits until it is zero. It takes the owner's data over, on success alone. */
lfuse_status lfuse__reports_create(lfuse_device *dev, const lfuse__reports_owner *owner, lfuse__reports **reports);
void lfuse__reports_release(lfuse__reports *r);
/* Returns the memory of the buffer. */
const lfuse__range *lfuse__reports_range(const lfuse__reports *r);
/*
 * Is called with each submission to `s`, or capture, of work that may report there: the stream reads the buffer when it
 * is synchronised.
 */
lfuse_status lfuse__stream_watch(lfuse_stream *s, lfuse__reports *r);
/* As lfuse__stream_sync and lfuse__stream_query; they return ERR_INDEX where a kernel has reported an index. */
lfuse_status lfuse__stream_settle(lfuse_stream *s);
lfuse_status lfuse__stream_check(lfuse_stream *s);

/* stream.c: the open recording, which the run layer keeps on a stream; NULL: it does not record. */
void *lfuse__stream_recording(const lfuse_stream *s);
void lfuse__stream_set_recording(lfuse_stream *s, void *recording);

/* ---- transfer.c: bytes of ranges, from offsets that count from their first bytes; submitted in stream order ---- */

/* Host memory has to stay until the stream has worked through the copy. */
lfuse_status lfuse__write(lfuse_stream *s, lfuse__range *to, uint64_t offset, const void *host, uint64_t bytes);
lfuse_status lfuse__read(lfuse_stream *s, lfuse__range *from, uint64_t offset, void *host, uint64_t bytes);
/* Copies between ranges of one device, which do not overlap. */
lfuse_status lfuse__copy(lfuse_stream *s, lfuse__range *to, uint64_t to_offset, lfuse__range *from,
                         uint64_t from_offset, uint64_t bytes);
/*
 * Copies between ranges of any two devices; `s` is a stream of the target's. Where the backend has no direct way the
 * bytes pass through the host, and the call waits.
 */
lfuse_status lfuse__copy_across(lfuse_stream *s, lfuse__range *to, uint64_t to_offset, lfuse__range *from,
                                uint64_t from_offset, uint64_t bytes);
/* Repeats a pattern of 1, 2, 4 or 8 bytes; offset and bytes are multiples of that. */
lfuse_status lfuse__fill(lfuse_stream *s, lfuse__range *to, uint64_t offset, uint64_t pattern, unsigned pattern_bytes,
                         uint64_t bytes);

/* ---- event.c ---- */

/* What the functions of these names in libfuse/device.h do; arguments are not NULL. */
lfuse_status lfuse__event_create(lfuse_device *dev, lfuse_event **event);
void lfuse__event_destroy(lfuse_event *e);
lfuse_status lfuse__event_record(lfuse_event *e, lfuse_stream *s);
/* ERR_STATE: the event was never recorded; so the next two. */
lfuse_status lfuse__event_wait(lfuse_event *e, lfuse_stream *s);
lfuse_status lfuse__event_query(lfuse_event *e);
lfuse_status lfuse__event_elapsed(lfuse_event *first, lfuse_event *second, double *us);

/* ---- program.c, kernel.c: programs in memory and on disk, kernels, launches ---- */

typedef struct lfuse__program lfuse__program; /* counted by references; equal texts on a device share one */
typedef struct lfuse__kernel lfuse__kernel;   /* for one thread at a time: it remembers its arguments */

/*
 * Returns in *program, with a reference, the program of a text in the dialect, in front of which the backend's prelude
 * is put.
 *  - It is looked for in memory, then on disk, and else compiled, once however many threads ask.
 *  - With LFUSE_DUMP the source is written to a file.
 *  - ERR_COMPILE: the message has the first lines of what the compiler says; the debug log has all of it, and the
 *    source with its lines numbered.
 */
lfuse_status lfuse__program_get(lfuse_device *dev, const char *body, lfuse__program **program);
void lfuse__program_retain(lfuse__program *program);
void lfuse__program_release(lfuse__program *program);
/* Creates the kernel of that name, which retains the program. */
lfuse_status lfuse__kernel_create(lfuse__program *program, const char *name, lfuse__kernel **kernel);
void lfuse__kernel_destroy(lfuse__kernel *kernel);
/*
 * Submits a launch, which is counted; none where launch->groups is 0. ERR_UNSUPPORTED: its work-group, its arguments or
 * its local memory exceed what the device takes. With LFUSE_SYNC the call waits for it.
 */
lfuse_status lfuse__launch(lfuse_stream *s, lfuse__kernel *kernel, const lfuse__launch_args *launch);
/*
 * The same for a launch that does nothing, and waits: for a driver that compiles a kernel when it is first launched.
 * The time counts as the compiler's.
 */
lfuse_status lfuse__build_by_launch(lfuse_stream *s, lfuse__kernel *kernel, const lfuse__launch_args *nothing);

/* ---- cache.c: the disk cache, a store of bytes by keys; build.c is its user ---- */

/* Appends the value of the key to `value`. LFUSE_NOT_READY (no message): there is no usable entry of that key. */
lfuse_status lfuse__cache_read(const char *key, size_t key_length, lfuse__strbuf *value);
/* Returns whether there is a folder that may be written. */
bool lfuse__cache_takes(void);
/* Returns the open folder, for other files in it; callers leave it open. -1: there is none, *why says the reason. */
int lfuse__cache_folder(bool *may_write, const char **why);
/* Stores a value. A failure is logged at debug level, and no error of the caller's. */
void lfuse__cache_write(const char *key, size_t key_length, const void *value, size_t length);
/* For lfuse-info: appends the folder in use, or the reason why there is none; counts entries and their bytes. */
void lfuse__cache_describe(lfuse__strbuf *text, uint64_t *entries, uint64_t *bytes);

/* ---- gemm.c: the backend's slots of these names ---- */

typedef struct lfuse__gemm lfuse__gemm; /* a product that is prepared; for one thread at a time */
lfuse_status lfuse__gemm_candidates(lfuse_device *dev, const lfuse__gemm_desc *desc, int max,
                                    lfuse__gemm_candidate *candidates, int *count);
lfuse_status lfuse__gemm_prepare(lfuse_device *dev, const lfuse__gemm_desc *desc,
                                 const lfuse__gemm_candidate *candidate, lfuse__gemm **gemm);
lfuse_status lfuse__gemm_run(lfuse_stream *s, lfuse__gemm *gemm, const lfuse__gemm_args *args);
void lfuse__gemm_destroy(lfuse__gemm *gemm);

/* ---- graph.c: native graphs ---- */

typedef struct lfuse__native lfuse__native;
/* From now on what is submitted to `s` becomes a graph, and does not run. */
lfuse_status lfuse__native_begin(lfuse_stream *s);
/*
 * Ends that, also on failure. Where *graph is not NULL and the same kernels, products, copies and fills were submitted
 * in the same order, that graph is updated in place; else it is replaced.
 */
lfuse_status lfuse__native_end(lfuse_stream *s, lfuse__native **graph);
/*
 * Between `follow` and `settle` launches, products, copies and fills are not submitted to `s`, but compared with what
 * the graph holds. No memory is allocated, and nothing else may be done to the stream meanwhile. `settle` tells
 *  - *fits: they are the same in the same order, but for arguments of launches, which the graph has now;
 *  - not *fits, or an error: the graph has to be made anew before it is launched again;
 *  - ERR_UNSUPPORTED: it would fit, but takes no other arguments.
 */
lfuse_status lfuse__native_follow(lfuse_stream *s, lfuse__native *graph);
lfuse_status lfuse__native_settle(lfuse_stream *s, lfuse__native *graph, bool *fits);
/* Submits the graph to the stream. */
lfuse_status lfuse__native_launch(lfuse_stream *s, lfuse__native *graph);
/* The graph goes when the work that it has submitted is done. */
void lfuse__native_destroy(lfuse__native *graph);

#endif
