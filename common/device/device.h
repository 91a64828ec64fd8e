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

/* One more backend in front of those of backends/table.c (the tests' stub); NULL takes it out. Not thread-safe. */
void lfuse__registry_extra(const lfuse__backend *backend);
/* Backend by name; NULL when this build has none of that name. */
const lfuse__backend *lfuse__registry_find(const char *name);
/* i-th backend of this build, NULL past the end. */
const lfuse__backend *lfuse__registry_at(int i);

/* ---- device.c ---- */

/* What stands behind the functions of libfuse/device.h; arguments are not NULL. */
lfuse_status lfuse__device_count(int *count);
lfuse_status lfuse__device_describe(int index, lfuse_device_info *info);
lfuse_status lfuse__device_open(const char *name, lfuse_device **device);
lfuse_status lfuse__device_adopt(const char *backend, void *context, void *native_device, lfuse_device **device);
void lfuse__device_close(lfuse_device *dev);
lfuse_status lfuse__device_memory(lfuse_device *dev, uint64_t *free_bytes, uint64_t *total_bytes);
void lfuse__device_counters(const lfuse_device *dev, lfuse_device_counters *counters);
/* ERR_CLOSED, ERR_FORKED or LFUSE_OK: enough for what asks the device nothing. */
lfuse_status lfuse__device_open_still(const lfuse_device *dev);

/*
 * Something the layers above keep on a device (plan cache, measured choices). Destroyed when the user closes the handle
 * (its objects hold the device, which would else never go): what still uses the data then must hold it by references of
 * its own.
 */
typedef struct lfuse__attachment {
    void *data;
    void (*destroy)(void *data);
} lfuse__attachment;
enum { LFUSE__ATTACH_PLANS, LFUSE__ATTACH_TUNER, LFUSE__ATTACH_COUNT };

const lfuse__facts *lfuse__device_facts(const lfuse_device *dev);
/* With every library loaded that products take: info.gemm names its version, `products` is what there is. */
lfuse_status lfuse__device_full_facts(lfuse_device *dev, lfuse__facts *facts);
/* ERR_CLOSED, ERR_FORKED, ERR_DEVICE_LOST or LFUSE_OK: asked first by every operation. */
lfuse_status lfuse__device_usable(lfuse_device *dev);
void lfuse__device_retain(lfuse_device *dev);
void lfuse__device_release(lfuse_device *dev);
/* The attachment of that kind, made by `create` at first use (single-flight). */
lfuse_status lfuse__device_attachment(lfuse_device *dev, int kind, lfuse_status (*create)(lfuse_device *, void **),
                                      void (*destroy)(void *), void **data);
/* The device's own stream for synchronous calls, not for callers to destroy. Its use needs lfuse__device_lock_sync. */
lfuse_status lfuse__device_stream(lfuse_device *dev, lfuse_stream **s);
void lfuse__device_lock_sync(lfuse_device *dev);
void lfuse__device_unlock_sync(lfuse_device *dev);

/* ---- memory.c: blocks from the driver, ranges of them for tensors and scratch ---- */

/*
 * A range of a block. Own memory is carved from large blocks (one bmem, so one slot in an address table, for many
 * tensors), aligned to 256 bytes; foreign memory is a block of its own. The address is (mem, offset).
 */
typedef struct lfuse__range {
    lfuse_device *dev;
    lfuse__bmem *mem;
    uint64_t offset, bytes; /* bytes 0: empty, or unknown when foreign_unknown */
    uint64_t space, address; /* of the first byte, for overlap checks */
    bool unknown;           /* foreign memory of unknown size */
    void *host;             /* where the host may use it while the device works; NULL: nowhere */
    atomic_int references;
} lfuse__range;

lfuse_status lfuse__range_create(lfuse_device *dev, uint64_t bytes, lfuse__range **range);
/*
 * Memory that host and device share, from the driver for this range alone, of any size that the driver gives; `host` is
 * set where facts.info.svm_concurrent. ERR_UNSUPPORTED where the device shares none.
 */
lfuse_status lfuse__range_create_unified(lfuse_device *dev, uint64_t bytes, lfuse__range **range);
lfuse_status lfuse__range_wrap(lfuse_device *dev, lfuse_memory_kind kind, uint64_t handle, uint64_t bytes,
                               lfuse__range **range);
void lfuse__range_retain(lfuse__range *range);
/*
 * At the last reference the memory is not reused or given back before the work submitted to the device's streams until
 * now has finished; the call itself never waits.
 */
void lfuse__range_release(lfuse__range *range);

/* ---- stream.c ---- */

/* What stands behind the functions of libfuse/device.h; arguments are not NULL. */
lfuse_status lfuse__stream_create(lfuse_device *dev, lfuse_stream **stream);
lfuse_status lfuse__stream_wrap(lfuse_device *dev, void *native, lfuse_stream **stream);
void lfuse__stream_destroy(lfuse_stream *s);
lfuse_status lfuse__stream_sync(lfuse_stream *s);
lfuse_status lfuse__stream_query(lfuse_stream *s);
void *lfuse__stream_native(const lfuse_stream *s); /* NULL when closed */

lfuse_device *lfuse__stream_device(const lfuse_stream *s);
/* ERR_CONTEXT unless the object, which `what` names, is of the stream's device. */
lfuse_status lfuse__stream_same_device(const lfuse_stream *s, const lfuse_device *dev, const char *what);
/* Backend object, for the wrappers below. */
lfuse_status lfuse__stream_usable(lfuse_stream *s); /* closed device, destroyed stream, fork */
void lfuse__stream_retain(lfuse_stream *s);
void lfuse__stream_release(lfuse_stream *s);
lfuse_status lfuse__stream_capturing(lfuse_stream *s, bool *capturing);
/*
 * Scratch: one growing arena a stream. `reserve` makes it at least that large (setup only: may allocate; the old memory
 * goes when the work that uses it has finished); `scratch` is the present range, to be asked anew at each run.
 */
lfuse_status lfuse__stream_reserve(lfuse_stream *s, uint64_t bytes);
lfuse__range *lfuse__stream_scratch(lfuse_stream *s);
/*
 * Instead of that, `bytes` of a range of the caller's from `offset` on (retained), which `reserve` does not replace:
 * ERR_SHAPE where they are too few. NULL: memory of the stream's own again. ERR_INVALID: not aligned. What `scratch`
 * answers then is no range of its own: not to be retained.
 */
enum {
    LFUSE__SCRATCH_ALIGNMENT = 256,
    LFUSE__LANES_ALIGNMENT = 128 /* of kernels over lanes: as drivers of CPUs give it */
};
lfuse_status lfuse__stream_lend(lfuse_stream *s, lfuse__range *range, uint64_t offset, uint64_t bytes);
bool lfuse__stream_is_lent(const lfuse_stream *s);
/*
 * report.c: errors that depend on data, as kernels report them: a buffer of LFUSE__REPORT_WORDS words, which the first
 * one claims. `describe` says in words who `reporter` is; `release` is called when nobody can ask any more.
 */
enum { LFUSE__REPORT_WORDS = 5 };
typedef struct lfuse__reports lfuse__reports; /* counted by references */
typedef struct lfuse__reports_owner {
    void *data;
    void (*describe)(void *data, uint64_t reporter, lfuse__strbuf *text);
    void (*release)(void *data);
} lfuse__reports_owner;
/* Setup only: waits for its own small fill. The owner is taken on success alone. */
lfuse_status lfuse__reports_create(lfuse_device *dev, const lfuse__reports_owner *owner, lfuse__reports **reports);
void lfuse__reports_release(lfuse__reports *r);
const lfuse__range *lfuse__reports_range(const lfuse__reports *r);
/*
 * Called with each submission (or capture) to `s` of work that writes there: the stream reads it when it is
 * synchronised.
 */
lfuse_status lfuse__stream_watch(lfuse_stream *s, lfuse__reports *r);
/* As lfuse__stream_sync and lfuse__stream_query, and then LFUSE_ERR_INDEX where a kernel has reported one. */
lfuse_status lfuse__stream_settle(lfuse_stream *s);
lfuse_status lfuse__stream_check(lfuse_stream *s);
/* What the run layer keeps on a stream: the open recording. */
void *lfuse__stream_recording(const lfuse_stream *s);
void lfuse__stream_set_recording(lfuse_stream *s, void *recording);

lfuse_status lfuse__write(lfuse_stream *s, lfuse__range *to, uint64_t offset, const void *host, uint64_t bytes);
lfuse_status lfuse__read(lfuse_stream *s, lfuse__range *from, uint64_t offset, void *host, uint64_t bytes);
/* Ranges of one device. */
lfuse_status lfuse__copy(lfuse_stream *s, lfuse__range *to, uint64_t to_offset, lfuse__range *from,
                         uint64_t from_offset, uint64_t bytes);
/* Ranges of any two devices, `s` of the target's: directly where a backend can, else through the host (waits). */
lfuse_status lfuse__copy_across(lfuse_stream *s, lfuse__range *to, uint64_t to_offset, lfuse__range *from,
                                uint64_t from_offset, uint64_t bytes);
lfuse_status lfuse__fill(lfuse_stream *s, lfuse__range *to, uint64_t offset, uint64_t pattern, unsigned pattern_bytes,
                         uint64_t bytes);

/* ---- event.c ---- */

lfuse_status lfuse__event_create(lfuse_device *dev, lfuse_event **event);
void lfuse__event_destroy(lfuse_event *e);
lfuse_status lfuse__event_record(lfuse_event *e, lfuse_stream *s);
lfuse_status lfuse__event_wait(lfuse_event *e, lfuse_stream *s); /* ERR_STATE when never recorded; so the next two */
lfuse_status lfuse__event_query(lfuse_event *e);
lfuse_status lfuse__event_elapsed(lfuse_event *first, lfuse_event *second, double *us);

/* ---- program.c: programs in memory and on disk (§13), kernels, launches ---- */

typedef struct lfuse__program lfuse__program; /* counted by references, shared by equal sources on a device */
typedef struct lfuse__kernel lfuse__kernel;   /* one user at a time; remembers its arguments */

/*
 * The program of `body` (dialect text; the backend's prelude is put before it). Looks in memory, then on disk, then
 * compiles; single-flight per source. LFUSE_DUMP writes the source. On ERR_COMPILE the log goes into the message (first
 * lines) and whole to the debug log with a numbered source.
 */
lfuse_status lfuse__program_get(lfuse_device *dev, const char *body, lfuse__program **program);
void lfuse__program_retain(lfuse__program *program);
void lfuse__program_release(lfuse__program *program);
lfuse_status lfuse__kernel_create(lfuse__program *program, const char *name, lfuse__kernel **kernel);
void lfuse__kernel_destroy(lfuse__kernel *kernel);
/* Counts, logs, refuses what exceeds the facts (group, argument bytes), launches; LFUSE_SYNC waits. */
lfuse_status lfuse__launch(lfuse_stream *s, lfuse__kernel *kernel, const lfuse__launch_args *launch);
/*
 * The same, and waits: for a launch that does nothing, with a driver that compiles a kernel when it is first
 * launched. Its time counts as the compiler's.
 */
lfuse_status lfuse__build_by_launch(lfuse_stream *s, lfuse__kernel *kernel, const lfuse__launch_args *nothing);

/* ---- cache.c: the disk cache (§13) as a plain store; program.c is its user ---- */

/* LFUSE_NOT_READY (no message) when there is no usable entry whose stored key equals `key`. */
lfuse_status lfuse__cache_read(const char *key, size_t key_length, lfuse__strbuf *value);
/* Whether there is a folder that may be written. */
bool lfuse__cache_takes(void);
/* The open folder, for other files of the library's in it, to be left open; or -1 and the reason why there is none. */
int lfuse__cache_folder(bool *may_write, const char **why);
/* Never an error for the caller: a failure is logged at debug level. */
void lfuse__cache_write(const char *key, size_t key_length, const void *value, size_t length);
/* For lfuse-info: folder in use or the reason why there is none; entries and bytes. */
void lfuse__cache_describe(lfuse__strbuf *text, uint64_t *entries, uint64_t *bytes);

/* ---- gemm.c ---- */

typedef struct lfuse__gemm lfuse__gemm;
lfuse_status lfuse__gemm_candidates(lfuse_device *dev, const lfuse__gemm_desc *desc, int max,
                                    lfuse__gemm_candidate *candidates, int *count);
lfuse_status lfuse__gemm_prepare(lfuse_device *dev, const lfuse__gemm_desc *desc,
                                 const lfuse__gemm_candidate *candidate, lfuse__gemm **gemm);
lfuse_status lfuse__gemm_run(lfuse_stream *s, lfuse__gemm *gemm, const lfuse__gemm_args *args);
void lfuse__gemm_destroy(lfuse__gemm *gemm);

/* ---- graph.c: native graphs ---- */

typedef struct lfuse__native lfuse__native;
lfuse_status lfuse__native_begin(lfuse_stream *s);
/*
 * As the slot graph_end. A graph that is there is updated in place where the same kernels, products, copies and fills
 * were submitted in the same order, else replaced.
 */
lfuse_status lfuse__native_end(lfuse_stream *s, lfuse__native **graph);
/*
 * Between `follow` and `settle` nothing is submitted to `s`: launches, products, copies and fills are compared with
 * what the graph holds. `fits`: the same in the same order, and other arguments of launches alone, which the graph has
 * now. Where that is false, or an error, the graph is to be ended anew before it is launched again; ERR_UNSUPPORTED:
 * it would fit, but takes no other arguments. No memory is allocated; nothing else may be done to the stream meanwhile.
 */
lfuse_status lfuse__native_follow(lfuse_stream *s, lfuse__native *graph);
lfuse_status lfuse__native_settle(lfuse_stream *s, lfuse__native *graph, bool *fits);
lfuse_status lfuse__native_launch(lfuse_stream *s, lfuse__native *graph);
void lfuse__native_destroy(lfuse__native *graph);

#endif
