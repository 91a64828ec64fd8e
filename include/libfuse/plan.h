/* SPDX-License-Identifier: Apache-2.0 */
/** Plans, bindings, instances. */
#ifndef LIBFUSE_PLAN_H
#define LIBFUSE_PLAN_H

#include <stdio.h>

#include <libfuse/base.h>
#include <libfuse/device.h>
#include <libfuse/graph.h>
#include <libfuse/list.h>
#include <libfuse/status.h>
#include <libfuse/tensor.h>

typedef struct lfuse_plan lfuse_plan;
typedef struct lfuse_instance lfuse_instance;

/**
 * How a plan chooses among ways to compute the same. What is timed runs over memory of its own. On GPUs whose cache has
 * no room for the tensors that are bound, the cache is filled with other memory before each timed run, as the other
 * kernels of the plan would fill it.
 */
typedef enum lfuse_effort {
    LFUSE_EFFORT_DEFAULT = 0,  /**< LFUSE_EFFORT of the environment (estimate, measure), else estimate */
    LFUSE_EFFORT_ESTIMATE = 1, /**< what wisdom names, else the vendor heuristic's first choice: nothing is timed */
    LFUSE_EFFORT_MEASURE = 2   /**< what wisdom names, else the fastest, timed once and made wisdom (wisdom.h) */
} lfuse_effort;

/**
 * Passes that can be left out, to compare and to find faults; also by the environment: LFUSE_FUSE=none, or a list of
 * the names that are given here, each with a minus: -pointwise,-epilogue. Results stay within the bounds of lfuse(7).
 */
enum {
    LFUSE_NO_POINTWISE_FUSION = 1, /**< pointwise: every function its own kernel */
    LFUSE_NO_EPILOGUE = 2,         /**< epilogue: bias and activation stay out of the vendor's product */
    LFUSE_NO_VIEW_FUSION = 4,      /**< views: slices, concatenations and the like are copies */
    LFUSE_NO_ROW_FUSION = 8,       /**< rows: every reduction its own kernel, from memory to memory */
    LFUSE_NO_SMALL_PRODUCTS = 16,  /**< products: those with few columns stay with the vendor's library */
    LFUSE_NO_GATHER_FUSION = 32,   /**< gathers: every look-up its own kernel */
    LFUSE_NO_BUNDLES = 64,         /**< bundles: independent kernels, and counters beside lists, keep their launches */
    LFUSE_NO_RECOMPUTE = 128,      /**< recompute: what several kernels read is stored, however cheap it is */
    LFUSE_NO_REPLAY = 256,         /**< replay: runs of an instance are launched step by step, never as one graph */
    LFUSE_NO_NETWORK = 512,        /**< network: products of few rows that follow each other keep their launches */
    LFUSE_NO_PROLOGUE = 1024,      /**< prologue: what products multiply is computed by kernels of its own */
    LFUSE_NO_COLUMN_SUMS = 2048    /**< sums: sums over the rows of what follows a product have a kernel of their own */
};
/** All of them. */
#define LFUSE_NO_FUSION                                                                                                \
    (LFUSE_NO_POINTWISE_FUSION | LFUSE_NO_EPILOGUE | LFUSE_NO_VIEW_FUSION | LFUSE_NO_ROW_FUSION |                      \
     LFUSE_NO_SMALL_PRODUCTS | LFUSE_NO_GATHER_FUSION | LFUSE_NO_BUNDLES | LFUSE_NO_RECOMPUTE | LFUSE_NO_REPLAY |     \
     LFUSE_NO_NETWORK | LFUSE_NO_PROLOGUE | LFUSE_NO_COLUMN_SUMS)

/**
 * How the addresses of a list's members reach the kernels. All of them give the same bits. Where one that is named here
 * cannot be used, making an instance gives ERR_UNSUPPORTED with the reason. What was chosen is logged (info).
 */
typedef enum lfuse_transport {
    /**
     * Args where tables hold addresses (CUDA, NVIDIA's OpenCL) for lists that fit one block of 4 096 bytes and are so
     * few elements that a launch's start counts, else table. Where lists of a plan can take either, the kernels of each
     * are compiled with the first instance that takes it; otherwise with the plan.
     */
    LFUSE_TRANSPORT_DEFAULT = 0,
    /**
     * By value in the arguments of launches, each of as many members as its block holds: 4 096 bytes, 32 764 with newer
     * CUDA, the device's own limit on OpenCL. Moved members cost nothing but the comparison. Replays of lists that were
     * replaced are captured anew. Reductions of lists, and kernels that read members' sizes, take tables all the same.
     */
    LFUSE_TRANSPORT_ARGS = 1,
    /**
     * A table in device memory: one launch for any number of members. Moved members are written into it by small
     * kernels, in stream order.
     */
    LFUSE_TRANSPORT_TABLE = 2,
    /**
     * A table in memory that host and device share (lfuse_device_info.svm), which the host writes: no launch for moved
     * members, but a new version of the table where runs that read the old one may be unfinished. Recordings with it
     * are replayed as lists of launches. A run that the caller captures keeps its version of the table as long as the
     * instance lives. Without lfuse_device_info.svm_concurrent new addresses wait for a copy on a stream of the
     * library's.
     */
    LFUSE_TRANSPORT_UNIFIED = 3
} lfuse_transport;

/**
 * Who computes matrix products. The same bounds hold for all (lfuse(7)), not the same bits. Also by the environment:
 * LFUSE_PROVIDER=native, vendor.
 */
typedef enum lfuse_provider {
    /**
     * LFUSE_PROVIDER of the environment, else who is faster: by wisdom, or where LFUSE_EFFORT_MEASURE times both on a
     * GPU; else by a rule: native on CPUs, for e4m3 and e5m2, and, but for f64, on GPUs by OpenCL, and by CUDA for f32
     * up to a size, and for f16, bf16 and tf32 where an epilogue that the vendor lacks would cost a launch that takes
     * longer (lfuse(7), at LFUSE_PROVIDER); else the vendor. Where the bounds of sizes that runs give leave that
     * open, each instance goes by its own, and both are compiled with the plan where one of m, n and k is open
     * (lfuse_plan_create). Native where there is no vendor's library.
     */
    LFUSE_PROVIDER_DEFAULT = 0,
    /** The library's own kernels, which compute whatever follows element by element in the same launch. */
    LFUSE_PROVIDER_NATIVE = 1,
    /**
     * The vendor's library, ERR_UNSUPPORTED where there is none: cuBLASLt, CLBlast. Products of lists are native all
     * the same (lfuse_member_matmul). So are products of types that it declines (CLBlast: bf16, e4m3, e5m2); the log
     * says so at level debug.
     */
    LFUSE_PROVIDER_VENDOR = 2
} lfuse_provider;

/**
 * Matrix products by Strassen's algorithm: seven products of half the size for eight, once or twice over. What it is,
 * when it pays and what it costs in accuracy: lfuse(7). Both operands f32, f64, f16 or bf16 (the last two where
 * somebody multiplies them into f32, as CLBlast does not), not e4m3 or e5m2; with a result of that type or of f32; no
 * batches, not tf32, and where operands may be split (as in f32x3) not with k below 256 in the small products; others
 * stay as they are, and the plan's text says why. Also by the environment: LFUSE_STRASSEN=off, auto, 1, 2.
 *
 * The error is bounded by norms alone: with L levels no element of A B, with inner extent k, is off by more than
 * 3^L k^1.5 u max|A| max|B| (u: 2^-24 for f32, 2^-53 for f64), or than what other products may be off by where that is
 * more. A small element beside large ones may have no correct digit. Frozen operands take 7/4 or 49/16 of their memory
 * once more, and where they are split so much of their words' too.
 *
 * Of f16 and bf16 the small products and their sums are f32, u that of f32, but what is multiplied is sums of up to 2^L
 * elements, made in f32 and rounded to the type, of unit roundoff h (2^-11, 2^-8): that adds at most
 * 6^L k (2 h + h^2) max|A| max|B|, and what tensor cores cut off, 3^L k^2 u / 8 max|A| max|B|; where roundings are
 * independent of each other hardly ever more than 8 (2 20^L k)^0.5 h max|A| max|B|. In f16 elements of A and B above
 * 65504 / 2^L may overflow.
 */
typedef enum lfuse_strassen {
    LFUSE_STRASSEN_DEFAULT = 0, /**< LFUSE_STRASSEN of the environment, else off */
    LFUSE_STRASSEN_OFF = 1,
    /**
     * 0, 1 or 2 levels for each product, as a model of the device predicts: none where less than 2 % would be won. Of
     * sizes that vary the least counts.
     */
    LFUSE_STRASSEN_AUTO = 2,
    LFUSE_STRASSEN_ONE = 3,     /**< one level wherever it can be */
    LFUSE_STRASSEN_TWO = 4      /**< two */
} lfuse_strassen;

/** Zero it, then set what differs. */
typedef struct lfuse_plan_options {
    lfuse_effort effort;
    unsigned disable; /**< LFUSE_NO_... or-ed */
    int exact;        /**< not 0: refuse (ERR_UNSUPPORTED) a device that lacks `exact` */
    lfuse_transport transport; /**< of lists */
    lfuse_provider provider;   /**< of matrix products */
    lfuse_strassen strassen;   /**< fewer multiplications, a weaker bound */
    /**
     * One that splits operands, such as LFUSE_PRECISION_F32X3: what is said of it in types.h holds for all products of
     * f32 whose own precision is FULL. LFUSE_PRECISION_FULL (0): LFUSE_PRECISION of the environment (f32, f32x3 and so
     * on), else products have their own. Any other is ERR_INVALID. With LFUSE_PROVIDER_VENDOR, and in products of
     * lists, f32 is f32.
     */
    lfuse_precision precision;
} lfuse_plan_options;

typedef enum lfuse_binding_kind {
    LFUSE_BIND_TENSOR = 1,
    LFUSE_BIND_LIST = 2,
    LFUSE_BIND_SCALAR = 3,
    LFUSE_BIND_SIZE = 4,
    LFUSE_BIND_SCALARS = 5
} lfuse_binding_kind;

/**
 * What stands for a name of the graph. With name NULL the position counts: the i-th binding goes to the i-th name in
 * the order in which inputs, scalars and outputs were declared. Size variables take their values from the shapes that
 * are bound; bind one by name where no shape tells it.
 */
typedef struct lfuse_binding {
    const char *name;
    lfuse_binding_kind kind;
    union {
        lfuse_tensor *tensor;
        lfuse_list *list;
        double scalar;
        int64_t size;
        struct {
            const double *values; /**< read by the call that takes the binding, not later */
            int64_t count;
        } scalars;
    } as;
} lfuse_binding;

static inline lfuse_binding lfuse_bind_tensor(const char *name, lfuse_tensor *tensor)
{
    lfuse_binding b;
    b.name = name, b.kind = LFUSE_BIND_TENSOR, b.as.tensor = tensor;
    return b;
}
static inline lfuse_binding lfuse_bind_list(const char *name, lfuse_list *list)
{
    lfuse_binding b;
    b.name = name, b.kind = LFUSE_BIND_LIST, b.as.list = list;
    return b;
}
static inline lfuse_binding lfuse_bind_scalar(const char *name, double number)
{
    lfuse_binding b;
    b.name = name, b.kind = LFUSE_BIND_SCALAR, b.as.scalar = number;
    return b;
}
static inline lfuse_binding lfuse_bind_size(const char *name, int64_t size)
{
    lfuse_binding b;
    b.name = name, b.kind = LFUSE_BIND_SIZE, b.as.size = size;
    return b;
}
/**
 * A scalar with a number for each group of the lists that it meets (lfuse_list_set_groups). What depends on such
 * scalars is computed for each group, and each member of a list takes its group's: in one launch for up to 8 groups.
 */
static inline lfuse_binding lfuse_bind_scalars(const char *name, int64_t count, const double *values)
{
    lfuse_binding b;
    b.name = name, b.kind = LFUSE_BIND_SCALARS, b.as.scalars.values = values, b.as.scalars.count = count;
    return b;
}

LFUSE_BEGIN_DECLS

/**
 * Plans a graph for a device: fuses, compiles, prepares. The first mistake made while the graph was built is reported
 * here, with the builder, which of its calls it was and the output that is made of it (graph.h).
 * options may be NULL. The graph may be destroyed afterwards. Equal graphs share one body on a device.
 * Compiled are the kernels of all sizes within the bounds, so that no later batch compiles any. Of GPUs' products two
 * or three of whose m, n and k are given by runs, whose ways are many, each instance compiles those that it takes; so
 * what a product needs that the library of the device's maker declines, and what effort measure times.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_plan_create(lfuse_device *device, const lfuse_graph *graph,
                                                          const lfuse_plan_options *options, lfuse_plan **plan);
/** Legal while runs of it are unfinished. */
LFUSE_API void lfuse_plan_destroy(lfuse_plan *plan);
/**
 * The plan as one line of nested brackets: the text of lfuse_plan_text, newline after it. "(replay 2 patched 1 bound)"
 * behind the steps: runs become one native graph, with so many steps whose arguments are patched and so many products
 * that are bound to operands.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_plan_print(const lfuse_plan *plan, FILE *stream);
/** The same line as a string, without the newline; valid as long as the plan. */
LFUSE_API const char *lfuse_plan_text(const lfuse_plan *plan);

/**
 * Runs the plan on a stream, in stream order, without waiting. Keeps up to 8 instances for each stream, of the sizes
 * and lists that ran there last, so that changing between a few of them costs nothing; a run with others makes an
 * instance (no compiling for contiguous tensors, but of what lfuse_plan_create leaves to instances, and of a
 * transport that no list of the plan had before). Instances for other frozen tensors than the present ones are not
 * kept, nor a second one that owns memory made of these. The plan does not keep the memory of lists that the caller has
 * destroyed.
 * All checks are made before anything is launched:
 * ERR_NAME, ERR_BINDING, ERR_TYPE, ERR_RANK, ERR_SHAPE, ERR_BOUNDS, ERR_CONTEXT, ERR_CLOSED, ERR_OVERLAP,
 * ERR_UNSUPPORTED (a list whose members are not contiguous, where more than products takes it).
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_plan_run(lfuse_plan *plan, lfuse_stream *stream,
                                                       const lfuse_binding *bindings, int count);

/**
 * Bytes of the stream's scratch memory that the last run of the plan there took: the peak of all values between
 * kernels, those that are not in use together sharing memory. 0 before the first run, and when nothing lies between
 * kernels.
 */
LFUSE_API uint64_t lfuse_plan_scratch(lfuse_plan *plan, lfuse_stream *stream);

/**
 * Gives a stream memory to use as scratch, for all that runs on it from now on: plans, instances, optimizers, immediate
 * calls. `memory` is a contiguous tensor of any type on the stream's device that begins at a multiple of 256 bytes (on
 * CPUs of 128): the library's own or the caller's (lfuse_tensor_wrap: a CUdeviceptr, a cl_mem from some offset on, a
 * pointer of shared memory). Its contents are undefined afterwards. The stream then allocates no scratch, and gives
 * back what it had when the work that uses it has finished. NULL: memory of the stream's own again. An empty tensor:
 * none at all.
 * A run that needs more than there is (lfuse_instance_scratch) is refused with ERR_SHAPE, which names both sizes,
 * before anything is launched; it never takes other memory. An instance is made nevertheless, and can be asked, unless
 * what it makes of frozen inputs needs some at once.
 * The memory is never freed: that of the caller stays alive until the stream has been given other memory, or destroyed,
 * and the last run has finished. The tensor itself may be destroyed at once. It serves one stream at a time, or several
 * that the caller orders. What a run binds must not overlap as much of it as the run needs (ERR_OVERLAP). Recordings
 * own their scratch: replays on this stream do not use it. What effort measure times has memory of its own.
 * Called by the thread that the stream belongs to. ERR_CONTEXT: memory of another device; ERR_INVALID: not contiguous,
 * not aligned; ERR_STATE: the stream records or is being captured.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_stream_set_scratch(lfuse_stream *stream, const lfuse_tensor *memory);

/**
 * A plan bound to sizes, lists and frozen inputs on a stream; `bindings` must give these and may give the rest, which
 * is then only used to tell the sizes. A second run allocates nothing, compiles nothing and never waits for the device.
 * Where the device has native graphs the third run of several steps makes one, and later runs launch that: lfuse(7).
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_instance_create(lfuse_plan *plan, lfuse_stream *stream,
                                                              const lfuse_binding *bindings, int count,
                                                              lfuse_instance **instance);
/** Runs it with inputs, outputs and numbers; frozen inputs and lists may be left out. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_instance_run(lfuse_instance *instance, const lfuse_binding *bindings,
                                                           int count);
/** Computes anew what was made of frozen inputs, after the caller changed their contents. In stream order. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_instance_refresh(lfuse_instance *instance);
/** As lfuse_plan_scratch, of a run of the instance; known as soon as it is made. */
LFUSE_API uint64_t lfuse_instance_scratch(const lfuse_instance *instance);
/** Bytes of device memory that the instance owns for what is made of frozen inputs once. */
LFUSE_API uint64_t lfuse_instance_prepared(const lfuse_instance *instance);
/** Legal while a run of it is unfinished. */
LFUSE_API void lfuse_instance_destroy(lfuse_instance *instance);

LFUSE_END_DECLS
#endif
