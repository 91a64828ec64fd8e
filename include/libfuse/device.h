/* SPDX-License-Identifier: Apache-2.0 */
/** Devices, streams and events. */
#ifndef LIBFUSE_DEVICE_H
#define LIBFUSE_DEVICE_H

#include <libfuse/base.h>
#include <libfuse/status.h>

typedef struct lfuse_device lfuse_device;
typedef struct lfuse_stream lfuse_stream;
typedef struct lfuse_event lfuse_event;

typedef enum lfuse_device_kind { LFUSE_DEVICE_GPU = 1, LFUSE_DEVICE_CPU = 2, LFUSE_DEVICE_OTHER = 3 } lfuse_device_kind;

/** What a device is and can do. */
typedef struct lfuse_device_info {
    char name[32];           /**< "cuda:0", "opencl:0:1": what lfuse_device_open takes */
    char backend[16];        /**< "cuda", "opencl" */
    char product[128];       /**< the vendor's name of the device */
    char driver[128];        /**< driver and API versions */
    char compiler[128];      /**< what compiles the kernels, with its version */
    char gemm[128];          /**< the vendor library for products with its version, or why there is none */
    lfuse_device_kind kind;
    uint32_t compute_units;  /**< multiprocessors or cores */
    uint32_t max_group;      /**< work-items of a work-group */
    uint32_t max_argument_bytes;
    uint64_t memory_bytes;   /**< of the whole device */
    uint64_t max_alloc_bytes;
    uint64_t local_bytes;    /**< local (shared) memory of a work-group */
    uint64_t cache_bytes;    /**< last-level cache, 0 where unknown */
    int f64;                 /**< computes in double precision */
    int svm;                 /**< memory can be shared with kernels: managed or shared virtual memory */
    int svm_concurrent;      /**< the host may use such memory while the device works (see lfuse_tensor_host) */
    int exact;               /**< + - * / sqrt fma give IEEE bits with subnormals: the promise of equal bits holds */
    int native_graph;        /**< replays through the vendor's graphs */
    int tf32;                /**< products take f32 operands as tf32 where that is asked for (types.h) */
} lfuse_device_info;

/** What the library has done on a device since it was opened. Monotonic; read it before and after. */
typedef struct lfuse_device_counters {
    uint64_t launches;    /**< kernel launches and vendor library calls of runs */
    uint64_t compiles;    /**< programs given to the vendor's compiler (disk-cache hits do not count) */
    uint64_t build_us;    /**< microseconds spent in the vendor's compiler and program loader, of
                               threads at work side by side the sum; with a driver that compiles a kernel when
                               it is first launched (PoCL), that launch too */
    uint64_t allocations; /**< device memory blocks asked from the driver */
    uint64_t bytes;       /**< device memory held from the driver at this moment */
} lfuse_device_counters;

LFUSE_BEGIN_DECLS

/**
 * Number of devices of all backends that work can be done on: not counted are those that cannot compile kernels, are
 * not available, older than OpenCL 1.2 or not described by their driver (lfuse-info lists them with the reason). 0 with
 * LFUSE_OK means that the machine has none; lfuse_last_error() then tells for each backend why.
 *
 * Where memory or descriptors run short while libraries are loaded or devices described, this call and
 * lfuse_device_describe and lfuse_device_open give ERR_MEMORY, or ERR_DEVICE_MEMORY where the driver says so. Nothing
 * of that is remembered: a later call looks again.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_device_count(int *count);
/** Describes device `index` (0 ... count-1, best first, see lfuse_device_open) without opening it for work. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_device_describe(int index, lfuse_device_info *info);

/**
 * Opens a device by name. NULL or "" takes LFUSE_DEVICE from the environment, else the best device there is: GPUs
 * before other accelerators before CPUs; among equals the backend listed first (cuda, opencl), then more compute
 * units, then the lower index. Opening a device twice gives two handles with caches of their own. A device that no
 * work can be done on is never the default; by its name it gives ERR_UNSUPPORTED with the reason.
 *
 * On CUDA the device's primary context is used, which the CUDA runtime and frameworks share.
 *
 * Errors: ERR_NO_DEVICE (the message names packages or drivers that would give one), ERR_UNSUPPORTED, ERR_LIBRARY,
 * ERR_DEVICE; ERR_MEMORY and ERR_DEVICE_MEMORY, after which the same call may succeed.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_device_open(const char *name, lfuse_device **device);
/**
 * Makes a device of a context that the caller owns and keeps alive until the device is closed.
 * backend "cuda": context is a CUcontext, native_device is ignored.
 * backend "opencl": context is a cl_context, native_device the cl_device_id in it; both are retained.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_device_adopt(const char *backend, void *context, void *native_device,
                                                           lfuse_device **device);
/**
 * Closes the handle. Objects made on the device stay valid to destroy; every other use of them gives ERR_CLOSED. The
 * context goes when the last of them is destroyed.
 */
LFUSE_API void lfuse_device_close(lfuse_device *device);

LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_device_get_info(const lfuse_device *device, lfuse_device_info *info);
/** Free and total memory of the device in bytes; free is an estimate where the driver does not tell. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_device_memory(lfuse_device *device, uint64_t *free_bytes,
                                                            uint64_t *total_bytes);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_device_get_counters(const lfuse_device *device,
                                                                  lfuse_device_counters *counters);

/** A stream (in-order queue) of the library's own. It does not synchronise with the legacy default stream. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_stream_create(lfuse_device *device, lfuse_stream **stream);
/**
 * Uses the caller's CUstream (0, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD included) or cl_command_queue, which must be
 * of the device's context and stay alive until lfuse_stream_destroy(); a cl_command_queue is retained. An out-of-order
 * queue is run with barriers.
 * A run on a stream that the caller is capturing is captured, provided that its instance was made before.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_stream_wrap(lfuse_device *device, void *native, lfuse_stream **stream);
/** Work already submitted goes on; does not wait. */
LFUSE_API void lfuse_stream_destroy(lfuse_stream *stream);
/**
 * Waits for all work of the stream and reports errors of that work. ERR_INDEX: a look-up (lfuse_gather) of a run was
 * asked for a row that its table does not have and gave zeros; everything else of that work is as it should be. The
 * message names the plan's step, the element of the step's loop (row-major) and the index: those of the first report,
 * which this call takes off the stream; of several runs, of the earliest.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_stream_synchronize(lfuse_stream *stream);
/** LFUSE_OK when all work has finished, LFUSE_NOT_READY when not (no error message is left then). */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_stream_query(lfuse_stream *stream);
/**
 * As lfuse_stream_query, and when all work has finished also what lfuse_stream_synchronize says of that work
 * (ERR_INDEX). Never waits for work: LFUSE_NOT_READY leaves the reports where they are. On a stream with a captured
 * graph of the caller's own that looks things up, ask after each of its launches.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_stream_check(lfuse_stream *stream);
/** The CUstream or cl_command_queue behind the stream. */
LFUSE_API void *lfuse_stream_native(const lfuse_stream *stream);

LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_event_create(lfuse_device *device, lfuse_event **event);
LFUSE_API void lfuse_event_destroy(lfuse_event *event);
/** Marks the point that the stream has reached; an event may be recorded again. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_event_record(lfuse_event *event, lfuse_stream *stream);
/** Later work of `stream` waits for the event on the device, the caller does not. Both are of one device. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_event_wait(lfuse_event *event, lfuse_stream *stream);
/** As lfuse_stream_query. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_event_query(lfuse_event *event);
/** Microseconds between two recorded and finished events; ERR_UNSUPPORTED where the device cannot tell. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_event_elapsed(lfuse_event *first, lfuse_event *second, double *us);

LFUSE_END_DECLS
#endif
