/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this backend share: the loaded functions, the objects behind the opaque types, errors. */
#ifndef BACKENDS_CUDA_INTERNAL_H
#define BACKENDS_CUDA_INTERNAL_H

#include <cuda.h>
#include <cudaTypedefs.h>
#include <nvrtc.h>
#include <cublasLt.h>

#include <pthread.h>
#include <stdatomic.h>

#include "backends/cuda/backend.h"
#include "common/base/error.h"
#include "common/base/library.h"

/* ---- library.c: the loaded functions, constant after loading ---- */

typedef struct lfuse__cu_functions {
#define LFUSE__CU(name, version) PFN_cu##name##_v##version name;
#include "backends/cuda/functions.def"
} lfuse__cu_functions;

typedef struct lfuse__nvrtc_functions {
#define LFUSE__NVRTC(name) __typeof__(nvrtc##name) *name;
#include "backends/cuda/functions.def"
} lfuse__nvrtc_functions;

typedef struct lfuse__lt_functions {
#define LFUSE__LT(name) __typeof__(cublasLt##name) *name;
#include "backends/cuda/functions.def"
} lfuse__lt_functions;

extern lfuse__cu_functions lfuse__cu;
extern lfuse__nvrtc_functions lfuse__nvrtc;
extern lfuse__lt_functions lfuse__lt;

/* One vendor library: loaded at first use and kept, or the reason why not, which stays. */
typedef struct lfuse__cu_library {
    const char *title;
    lfuse__library *library;
    int version; /* driver and NVRTC: major * 1000 + minor * 10; cuBLASLt: as its own function counts */
    char text[64];
    char reason[256];
    lfuse_status status;
    atomic_bool tried;
} lfuse__cu_library;

extern lfuse__cu_library lfuse__cu_driver, lfuse__cu_compiler, lfuse__cu_blas;

/*
 * Loads the library unless that was tried before. ERR_LIBRARY with the reason, each time the same; of a shortage
 * (lfuse__is_shortage) nothing is kept, and the next call tries again. Any thread.
 */
lfuse_status lfuse__cu_load_driver(void); /* initialised, too: devices can be counted */
lfuse_status lfuse__cu_load_compiler(void);
lfuse_status lfuse__cu_load_blas(void);
int lfuse__cu_parts(lfuse__part *parts, int max);

/* ---- facts.c ---- */

typedef struct lfuse__cu_device {
    CUdevice id;
    int capability;      /* major * 10 + minor */
    bool managed;        /* has managed memory */
    bool pageable;       /* reads any host memory: pointers need not be the driver's */
    bool overlap;        /* a kernel's launch may overlap the kernel before it in the stream: see launch.c */
    lfuse__facts facts;
} lfuse__cu_device;

lfuse_status lfuse__cu_read_device(CUdevice id, lfuse__cu_device *device);
/* info.gemm and `products`, as far as is known by now. */
void lfuse__cu_name_blas(lfuse__facts *facts);

/* ---- objects ---- */

struct lfuse__bdevice {
    lfuse__cu_device device;
    CUcontext context;
    bool primary;    /* retained by us; else the caller's */
    atomic_int lost; /* the CUresult that killed the context, 0 while it lives */
    pthread_mutex_t blas_lock;
    _Atomic(cublasLtHandle_t) blas; /* made at the first product */
};

typedef enum lfuse__cu_storage {
    LFUSE__CU_DEVICE,
    LFUSE__CU_PINNED,
    LFUSE__CU_MANAGED,
    LFUSE__CU_FOREIGN
} lfuse__cu_storage;

struct lfuse__bmem {
    CUdeviceptr address;
    lfuse__bdevice *dev;
    uint64_t bytes; /* 0: unknown */
    void *host;
    lfuse__cu_storage storage;
};

struct lfuse__bstream {
    lfuse__bdevice *dev;
    CUstream stream;
    bool own;
    lfuse__bgraph *making; /* between graph_begin and graph_end */
    bool replaced;         /* `stream` stands in for `behind`, which cannot be captured */
    CUstream behind;
};

struct lfuse__bevent {
    lfuse__bdevice *dev;
    CUevent event;
};

struct lfuse__bprogram {
    lfuse__bdevice *dev;
    CUmodule module;
    lfuse__strbuf binary;
};

struct lfuse__bkernel {
    lfuse__bdevice *dev;
    CUfunction function;
    char name[64];
};

struct lfuse__bgraph {
    lfuse__bdevice *dev;
    CUgraphExec exec;
    CUgraph graph;      /* that `exec` was made of: its nodes are the way to those of `exec` */
    CUgraphNode *nodes; /* of our kernels, in the order of their launches; NULL: not known */
    unsigned count, capacity;
};

/* ---- error.c ---- */

/*
 * Records "<words>: <name> (<code>), <the driver's text>" and returns the code's status. A code after which the context
 * is of no use marks `dev` (may be NULL) as lost.
 */
lfuse_status lfuse__cu_error(lfuse__bdevice *dev, CUresult result, const char *format, ...) LFUSE_PRINTF(3, 4);
/* For destroying, which cannot fail: a debug line, none while the process ends. */
void lfuse__cu_ignore(lfuse__bdevice *dev, CUresult result, const char *call);
lfuse_status lfuse__cu_no_memory(size_t bytes);

/* ---- contexts ---- */

lfuse_status lfuse__cu_push(lfuse__bdevice *dev); /* backend.c: the slow half of enter */

/* Makes the device's context current; when it is already, this is one look at a thread's variable in the driver. */
static inline lfuse_status lfuse__cu_enter(lfuse__bdevice *dev, bool *pushed)
{
    CUcontext current = NULL;

    *pushed = false;
    if (__builtin_expect(lfuse__cu.CtxGetCurrent(&current) == CUDA_SUCCESS && current == dev->context, 1))
        return LFUSE_OK;
    *pushed = true;
    return lfuse__cu_push(dev);
}

/* For destroying: false, and no message, when the context is gone. */
static inline bool lfuse__cu_enter_quietly(lfuse__bdevice *dev, bool *pushed)
{
    CUcontext current = NULL;

    *pushed = false;
    if (lfuse__cu.CtxGetCurrent(&current) == CUDA_SUCCESS && current == dev->context) return true;
    *pushed = lfuse__cu.CtxPushCurrent(dev->context) == CUDA_SUCCESS;
    return *pushed;
}

static inline void lfuse__cu_leave(bool pushed)
{
    CUcontext popped;

    if (__builtin_expect(pushed, 0)) lfuse__cu.CtxPopCurrent(&popped);
}

/*
 * A capture of the caller's in global mode forbids this thread calls that touch no stream, such as allocating, and dies
 * of them. Between these two they are allowed.
 */
static inline CUstreamCaptureMode lfuse__cu_relax(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

    if (lfuse__cu.ThreadExchangeStreamCaptureMode(&mode) != CUDA_SUCCESS) mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    return mode;
}

static inline void lfuse__cu_unrelax(CUstreamCaptureMode mode)
{
    lfuse__cu.ThreadExchangeStreamCaptureMode(&mode);
}

/* ---- program.c ---- */

/* What kernels of this device are compiled for: "sm_90a"; "compute_121" where NVRTC is older than the device. */
void lfuse__cu_arch(int capability, char *arch, size_t size);

/* ---- the slots ---- */

lfuse_status lfuse__cu_alloc(lfuse__bdevice *dev, lfuse__alloc_kind kind, uint64_t bytes, lfuse__bmem **mem);
lfuse_status lfuse__cu_wrap(lfuse__bdevice *dev, lfuse_memory_kind kind, uint64_t handle, uint64_t bytes,
                            lfuse__bmem **mem);
void lfuse__cu_free(lfuse__bmem *mem);
void lfuse__cu_mem_info(lfuse__bmem *mem, lfuse__mem_info *info);
lfuse_status lfuse__cu_write(lfuse__bstream *s, lfuse__bmem *to, uint64_t offset, const void *host, uint64_t bytes);
lfuse_status lfuse__cu_read(lfuse__bstream *s, lfuse__bmem *from, uint64_t offset, void *host, uint64_t bytes);
lfuse_status lfuse__cu_copy(lfuse__bstream *s, lfuse__bmem *to, uint64_t to_offset, lfuse__bmem *from,
                            uint64_t from_offset, uint64_t bytes);
lfuse_status lfuse__cu_copy_peer(lfuse__bstream *s, lfuse__bmem *to, uint64_t to_offset, lfuse__bdevice *from_dev,
                                 lfuse__bmem *from, uint64_t from_offset, uint64_t bytes);
lfuse_status lfuse__cu_fill(lfuse__bstream *s, lfuse__bmem *to, uint64_t offset, uint64_t pattern,
                            unsigned pattern_bytes, uint64_t bytes);

lfuse_status lfuse__cu_stream_create(lfuse__bdevice *dev, lfuse__bstream **s);
lfuse_status lfuse__cu_stream_wrap(lfuse__bdevice *dev, void *native, lfuse__bstream **s);
void lfuse__cu_stream_destroy(lfuse__bstream *s);
void *lfuse__cu_stream_native(lfuse__bstream *s);
lfuse_status lfuse__cu_stream_flush(lfuse__bstream *s);
lfuse_status lfuse__cu_stream_query(lfuse__bstream *s);
lfuse_status lfuse__cu_stream_sync(lfuse__bstream *s);
lfuse_status lfuse__cu_stream_capturing(lfuse__bstream *s, bool *capturing);
lfuse_status lfuse__cu_event_create(lfuse__bdevice *dev, lfuse__bevent **e);
void lfuse__cu_event_destroy(lfuse__bevent *e);
lfuse_status lfuse__cu_event_record(lfuse__bevent *e, lfuse__bstream *s);
lfuse_status lfuse__cu_event_wait(lfuse__bevent *e, lfuse__bstream *s);
lfuse_status lfuse__cu_event_query(lfuse__bevent *e);
lfuse_status lfuse__cu_event_elapsed(lfuse__bevent *first, lfuse__bevent *second, double *us);

lfuse_status lfuse__cu_program_key(lfuse__bdevice *dev, lfuse__strbuf *key);
lfuse_status lfuse__cu_program_build(lfuse__bdevice *dev, const char *source, lfuse__strbuf *log,
                                     lfuse__bprogram **program);
lfuse_status lfuse__cu_program_load(lfuse__bdevice *dev, const void *binary, size_t bytes, lfuse__bprogram **program);
lfuse_status lfuse__cu_program_binary(lfuse__bprogram *program, lfuse__strbuf *binary);
void lfuse__cu_program_destroy(lfuse__bprogram *program);

/* A fact of devices with lfuse__cu.TensorMapEncodeTiled. */
lfuse_status lfuse__cu_tensor_map(lfuse__bdevice *dev, const lfuse__tensor_boxes *of,
                                  uint64_t map[LFUSE__TENSOR_MAP_WORDS], bool *made);
lfuse_status lfuse__cu_kernel_create(lfuse__bprogram *program, const char *name, lfuse__bkernel **kernel);
void lfuse__cu_kernel_destroy(lfuse__bkernel *kernel);
enum { LFUSE__CU_TILE_ALIGNMENT = 1024 /* bytes: of TILE_DYNAMIC in prelude.k, which may skip so many */ };
/* launch.c: returns the bytes of dynamic shared memory that a launch asks the driver for. */
unsigned lfuse__cu_dynamic_bytes(const lfuse__launch_args *launch);
lfuse_status lfuse__cu_launch(lfuse__bstream *s, lfuse__bkernel *kernel, const lfuse__launch_args *launch);

lfuse_status lfuse__cu_gemm_candidates(lfuse__bdevice *dev, const lfuse__gemm_desc *desc, int max,
                                       lfuse__gemm_candidate *candidates, int *count);
lfuse_status lfuse__cu_gemm_prepare(lfuse__bdevice *dev, const lfuse__gemm_desc *desc,
                                    const lfuse__gemm_candidate *candidate, lfuse__bgemm **gemm);
lfuse_status lfuse__cu_gemm_run(lfuse__bstream *s, lfuse__bgemm *gemm, const lfuse__gemm_args *args);
void lfuse__cu_gemm_destroy(lfuse__bgemm *gemm);

lfuse_status lfuse__cu_graph_begin(lfuse__bstream *s);
lfuse_status lfuse__cu_graph_end(lfuse__bstream *s, lfuse__bgraph **graph);
lfuse_status lfuse__cu_graph_launch(lfuse__bstream *s, lfuse__bgraph *graph);
lfuse_status lfuse__cu_graph_patch(lfuse__bgraph *graph, unsigned index, lfuse__bkernel *kernel,
                                   const lfuse__launch_args *launch);
void lfuse__cu_graph_destroy(lfuse__bgraph *graph);
/* A kernel was launched while a graph is made: notes its node. Where the driver does not tell it, NULL stands there. */
lfuse_status lfuse__cu_graph_note(lfuse__bstream *s);

/* launch.c: the kernel's parameters as the driver takes them; they point into `addresses` and `launch`. */
lfuse_status lfuse__cu_parameters(const lfuse__bkernel *kernel, const lfuse__launch_args *launch,
                                  CUdeviceptr addresses[LFUSE__MAX_BUFFERS], void *parameters[LFUSE__MAX_BUFFERS + 1]);

#endif
