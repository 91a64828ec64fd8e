/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The waist: what a backend provides. Primitives, not operations: a backend knows memory, streams, compiling,
 * launching, vendor GEMM and native graphs, and has never heard of an optimizer or of fusion.
 *
 * Rules for every slot
 *  - Called through the wrappers of common/device/ alone, with arguments already checked there.
 *  - Every slot is filled. What a backend cannot do is a function that gives lfuse__error(LFUSE_ERR_UNSUPPORTED, ...).
 *  - A failing slot records the message (lfuse__error) and returns the status; outputs are written only on success.
 *  - Backends use common/base/ and this header, never another part of common/ and never each other.
 *  - The opaque types are each backend's own; it casts them. Any number of threads may call, but one stream, one kernel
 *    and one gemm are used by one thread at a time.
 *  - Contexts are pushed and popped per call: the caller's current context is as it was when the slot returns.
 */
#ifndef COMMON_DEVICE_BACKEND_H
#define COMMON_DEVICE_BACKEND_H

#include "common/base/epilogue.h"
#include "common/base/facts.h"
#include "common/base/strbuf.h"
#include "libfuse/status.h"
#include "libfuse/tensor.h"
#include "libfuse/types.h"

typedef struct lfuse__bdevice lfuse__bdevice;
typedef struct lfuse__bmem lfuse__bmem;
typedef struct lfuse__bstream lfuse__bstream;
typedef struct lfuse__bevent lfuse__bevent;
typedef struct lfuse__bprogram lfuse__bprogram;
typedef struct lfuse__bkernel lfuse__bkernel;
typedef struct lfuse__bgemm lfuse__bgemm;
typedef struct lfuse__bgraph lfuse__bgraph;

typedef enum lfuse__alloc_kind {
    LFUSE__ALLOC_DEVICE,
    LFUSE__ALLOC_PINNED, /* host memory that the device copies from and to at full speed; address is a host pointer */
    LFUSE__ALLOC_UNIFIED /* managed memory or SVM */
} lfuse__alloc_kind;

/* Where memory lies, for overlap checks: ranges overlap when `space` is equal and the intervals meet. */
typedef struct lfuse__mem_info {
    uint64_t space;   /* 0: one flat address space; else the parent cl_mem */
    uint64_t address; /* device address, or offset in the parent */
    uint64_t bytes;   /* 0 when unknown (a foreign pointer) */
    void *host;       /* host pointer of pinned and unified memory, else NULL */
} lfuse__mem_info;

/*
 * One launch. A kernel's parameters are, in this order: nbuffers memory arguments (a plain base pointer each; offsets
 * travel in the words) and one struct of nwords 64-bit words by value (none when nwords is 0).
 */
typedef struct lfuse__launch_args {
    uint64_t groups;       /* work-groups, one dimension; 0: nothing is launched */
    unsigned group;        /* work-items of a group: equal to what the kernel was compiled for */
    unsigned local_bytes;  /* dynamic local memory, at most facts.dynamic_local_bytes */
    unsigned nbuffers, nwords;
    lfuse__bmem *const *buffers; /* NULL entries are legal where the kernel does not use them */
    const uint64_t *words;
    bool resident; /* all groups are running at the same time: at most facts.resident_groups, or ERR_UNSUPPORTED */
} lfuse__launch_args;

/* How an input of the epilogue lies. */
typedef struct lfuse__gemm_input {
    bool taken;
    int64_t ld, stride; /* of matrices, as those of D; else 0 */
} lfuse__gemm_input;

/*
 * A matrix product, row-major: D[m, n] = epilogue(alpha op(A) op(B) + beta C), C and D the same memory, unless the
 * epilogue takes C as ADDEND: then they have nothing in common. op(A) is [m, k]: stored [m, k] with leading dimension
 * lda, or [k, m] when ta. m, n, k > 0 (degenerate sizes never reach a backend). Of a batch, `batch` such products, of
 * which each takes the matrices `stride` elements behind those of the one before.
 */
typedef struct lfuse__gemm_desc {
    lfuse_type type;    /* of A, B, C, D and what the epilogue takes; f16 and bf16 accumulate in f32 */
    bool wide;          /* of f16 and bf16: C, D and what the epilogue takes are f32 */
    bool tf32;          /* of f32: A and B may be rounded to tf32 */
    bool ta, tb;
    bool has_beta;      /* beta may be other than 0 */
    lfuse__epilogue epilogue;
    lfuse__gemm_input inputs[LFUSE__EPILOGUE_INPUTS];
    int64_t m, n, k, lda, ldb, ldc; /* ldc: of D */
    int64_t batch;      /* 0: one product, no batch; else 2 or more */
    int64_t stride_a, stride_b, stride_c; /* of a batch; but that of D strides may be 0: one matrix for all */
} lfuse__gemm_desc;

static inline lfuse_type lfuse__gemm_result(const lfuse__gemm_desc *desc)
{
    return desc->wide ? LFUSE_F32 : desc->type;
}

/* Whether it ends with anything but alpha times the sums, or C that is D beside them. */
static inline bool lfuse__gemm_has_epilogue(const lfuse__gemm_desc *desc)
{
    bool any = desc->epilogue != LFUSE__EP_NONE;

    for (int i = 0; i < LFUSE__EPILOGUE_INPUTS; i++) any = any || desc->inputs[i].taken;
    return any;
}

typedef struct lfuse__gemm_candidate {
    uint64_t workspace;
    const char *provider; /* who computes it: "cublaslt", "clblast"; static, shorter than 16 bytes */
    char identity[48];  /* stable name of the algorithm, for wisdom and logs: no tab, no control character */
    uint64_t opaque[8]; /* the backend's own (cublasLtMatmulAlgo_t fits) */
} lfuse__gemm_candidate;

typedef struct lfuse__gemm_args {
    double alpha, beta;
    lfuse__bmem *a, *b, *c, *workspace; /* c: D; workspace may be NULL */
    uint64_t a_offset, b_offset, c_offset, workspace_offset; /* bytes */
    lfuse__bmem *inputs[LFUSE__EPILOGUE_INPUTS];             /* NULL where it is not taken */
    uint64_t input_offsets[LFUSE__EPILOGUE_INPUTS];
} lfuse__gemm_args;

/* One library or part that a backend looks for at run time, for lfuse-info. */
typedef struct lfuse__part {
    const char *name; /* "driver", "NVRTC", "cuBLASLt", "OpenCL loader", "CLBlast" */
    char path[256];   /* absolute path of what was loaded, "" when missing */
    char version[64];
    char reason[256]; /* why it is missing, "" when there */
    lfuse_status status; /* of loading it; ERR_MEMORY: that is to be tried again */
} lfuse__part;

typedef struct lfuse__backend {
    const char *name;    /* "cuda", "opencl" */
    const char *prelude; /* the dialect's words in this backend's language, put before every source */
    const char *hint;    /* packages or drivers that would give a device, for the "no device" message */

    /*
     * Loads the libraries and counts devices; thread-safe. What is there or not is found out once; a shortage
     * (lfuse__is_shortage) says nothing about that: it is the call's failure, and the next call looks again. Absence is
     * not an error: *count 0, reason filled.
     */
    lfuse_status (*enumerate)(int *count, char *reason, size_t reason_size);
    /*
     * Facts of device i without a context. info.name is "cuda:0", "opencl:0:1". A device whose driver fails to say what
     * it needs to is described as unfit (lfuse__facts_unknown), so that it stays in the list; a shortage is a failure.
     */
    lfuse_status (*describe)(int i, lfuse__facts *facts);
    /* Loads what is not loaded yet; fills in up to `max` parts, and returns how many there are. */
    int (*parts)(lfuse__part *parts, int max);

    lfuse_status (*open)(int i, lfuse__bdevice **dev);
    lfuse_status (*adopt)(void *context, void *native_device, lfuse__bdevice **dev);
    void (*close)(lfuse__bdevice *dev);
    /* As describe, of an open or adopted device; info.gemm and `products` as far as is known by now. */
    lfuse_status (*facts)(lfuse__bdevice *dev, lfuse__facts *facts);
    lfuse_status (*memory)(lfuse__bdevice *dev, uint64_t *free_bytes, uint64_t *total_bytes);
    /* Appends all that selects a binary but its source: device, driver, compiler, options. */
    lfuse_status (*program_key)(lfuse__bdevice *dev, lfuse__strbuf *key);
    /* Returns LFUSE_ERR_DEVICE_LOST, with a message, where the device has a sticky error. Cheap. */
    lfuse_status (*pending)(lfuse__bdevice *dev);

    lfuse_status (*alloc)(lfuse__bdevice *dev, lfuse__alloc_kind kind, uint64_t bytes, lfuse__bmem **mem);
    /* Takes the caller's memory; bytes 0: its size is not known. ERR_CONTEXT: it is of another context. */
    lfuse_status (*wrap)(lfuse__bdevice *dev, lfuse_memory_kind kind, uint64_t handle, uint64_t bytes,
                         lfuse__bmem **mem);
    void (*free)(lfuse__bmem *mem);
    void (*mem_info)(lfuse__bmem *mem, lfuse__mem_info *info);

    /* Are submitted in stream order. Host memory stays until then; the call waits where the driver has to. */
    lfuse_status (*write)(lfuse__bstream *s, lfuse__bmem *to, uint64_t offset, const void *host, uint64_t bytes);
    lfuse_status (*read)(lfuse__bstream *s, lfuse__bmem *from, uint64_t offset, void *host, uint64_t bytes);
    lfuse_status (*copy)(lfuse__bstream *s, lfuse__bmem *to, uint64_t to_offset, lfuse__bmem *from,
                         uint64_t from_offset, uint64_t bytes);
    /*
     * Copies between two devices of this backend, on a stream of the target's. ERR_UNSUPPORTED: there is no direct way.
     */
    lfuse_status (*copy_peer)(lfuse__bstream *s, lfuse__bmem *to, uint64_t to_offset, lfuse__bdevice *from_dev,
                              lfuse__bmem *from, uint64_t from_offset, uint64_t bytes);
    /* Repeats a pattern of 1, 2, 4 or 8 bytes; offset and bytes are multiples of it. */
    lfuse_status (*fill)(lfuse__bstream *s, lfuse__bmem *to, uint64_t offset, uint64_t pattern,
                         unsigned pattern_bytes, uint64_t bytes);

    lfuse_status (*stream_create)(lfuse__bdevice *dev, lfuse__bstream **s);
    lfuse_status (*stream_wrap)(lfuse__bdevice *dev, void *native, lfuse__bstream **s);
    void (*stream_destroy)(lfuse__bstream *s);
    void *(*stream_native)(lfuse__bstream *s);
    lfuse_status (*stream_flush)(lfuse__bstream *s);
    lfuse_status (*stream_query)(lfuse__bstream *s); /* LFUSE_NOT_READY leaves no message */
    lfuse_status (*stream_sync)(lfuse__bstream *s);
    lfuse_status (*stream_capturing)(lfuse__bstream *s, bool *capturing);

    lfuse_status (*event_create)(lfuse__bdevice *dev, lfuse__bevent **e);
    void (*event_destroy)(lfuse__bevent *e);
    lfuse_status (*event_record)(lfuse__bevent *e, lfuse__bstream *s);
    lfuse_status (*event_wait)(lfuse__bevent *e, lfuse__bstream *s);
    lfuse_status (*event_query)(lfuse__bevent *e);
    lfuse_status (*event_elapsed)(lfuse__bevent *first, lfuse__bevent *second, double *us);

    /* Compiles a source, in which the prelude is already. What the compiler says is appended to `log`. ERR_COMPILE. */
    lfuse_status (*program_build)(lfuse__bdevice *dev, const char *source, lfuse__strbuf *log,
                                  lfuse__bprogram **program);
    lfuse_status (*program_load)(lfuse__bdevice *dev, const void *binary, size_t bytes, lfuse__bprogram **program);
    lfuse_status (*program_binary)(lfuse__bprogram *program, lfuse__strbuf *binary);
    void (*program_destroy)(lfuse__bprogram *program);
    /* Makes a kernel object of its own: it remembers its arguments, so that an unchanged one costs nothing to set. */
    lfuse_status (*kernel_create)(lfuse__bprogram *program, const char *name, lfuse__bkernel **kernel);
    void (*kernel_destroy)(lfuse__bkernel *kernel);
    lfuse_status (*launch)(lfuse__bstream *s, lfuse__bkernel *kernel, const lfuse__launch_args *launch);

    /* The algorithms for a product, the vendor's favourite first; at least one, or ERR_UNSUPPORTED with the reason. */
    lfuse_status (*gemm_candidates)(lfuse__bdevice *dev, const lfuse__gemm_desc *desc, int max,
                                    lfuse__gemm_candidate *candidates, int *count);
    lfuse_status (*gemm_prepare)(lfuse__bdevice *dev, const lfuse__gemm_desc *desc,
                                 const lfuse__gemm_candidate *candidate, lfuse__bgemm **gemm);
    lfuse_status (*gemm_run)(lfuse__bstream *s, lfuse__bgemm *gemm, const lfuse__gemm_args *args);
    void (*gemm_destroy)(lfuse__bgemm *gemm);

    /* Native graphs: what is submitted to `s` between begin and end becomes a graph. */
    lfuse_status (*graph_begin)(lfuse__bstream *s);
    /* Ends the capture also on failure. With *graph not NULL updates that one in place if it can, else replaces it. */
    lfuse_status (*graph_end)(lfuse__bstream *s, lfuse__bgraph **graph);
    lfuse_status (*graph_launch)(lfuse__bstream *s, lfuse__bgraph *graph);
    /*
     * Gives a launch of the graph other arguments from the next graph_launch on; graphs on their way keep theirs. The
     * launches are counted from 0 in the order in which they were submitted; `kernel` is what was launched there,
     * `launch` has as many buffers and words as it had, and groups. ERR_UNSUPPORTED: it takes a new capture.
     */
    lfuse_status (*graph_patch)(lfuse__bgraph *graph, unsigned index, lfuse__bkernel *kernel,
                                const lfuse__launch_args *launch);
    void (*graph_destroy)(lfuse__bgraph *graph);
} lfuse__backend;

/* backends/table.c: the backends of this build in order of preference, NULL at the end. */
extern const lfuse__backend *const lfuse__backends[];

#endif
