/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this backend share: the loaded functions, the objects behind the opaque types, errors. */
#ifndef BACKENDS_OPENCL_INTERNAL_H
#define BACKENDS_OPENCL_INTERNAL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue: the one that OpenCL 1.2 has */
#include <CL/cl.h>
#ifdef HAVE_CLBLAST
#include <clblast_c.h>
#endif

#include <stdatomic.h>

#include "backends/opencl/backend.h"
#include "common/base/error.h"
#include "common/base/library.h"

/* ---- library.c ---- */

typedef struct lfuse__cl_functions {
#define LFUSE__CL_REQUIRED(name) __typeof__(cl##name) *name;
#define LFUSE__CL_OPTIONAL(name) __typeof__(cl##name) *name;
#include "backends/opencl/functions.def"
} lfuse__cl_functions;

/* Filled by lfuse__cl_load, constant afterwards. */
extern lfuse__cl_functions lfuse__cl;
/* Loads the OpenCL loader; ERR_LIBRARY with the reason, or a shortage, which is to be tried again. */
lfuse_status lfuse__cl_load(void);

/*
 * One vendor library: loaded at first use and kept, or the reason why not, which stays. Of a shortage
 * (lfuse__is_shortage) nothing is kept. Any thread.
 */
typedef struct lfuse__cl_library {
    const char *title;
    const char *const *names;
    lfuse_status (*bind)(lfuse__library *library); /* finds the functions */
    lfuse__library *library;
    bool tried;
    char reason[256];
} lfuse__cl_library;
/* ERR_LIBRARY: the library lacks a function. For `bind`. */
lfuse_status lfuse__cl_library_lacks(lfuse__library *library, const char *name);

/* gemm.c; gemm_none.c in a build without CLBlast, where it cannot be loaded. */
extern lfuse__cl_library lfuse__clblast_library;
/* As lfuse__cl_load. */
lfuse_status lfuse__clblast_load(void);
#ifdef HAVE_CLBLAST
typedef struct lfuse__clblast_functions {
#define LFUSE__CLBLAST(name) __typeof__(CLBlast##name) *name;
#define LFUSE__CLBLAST_OPTIONAL(name) LFUSE__CLBLAST(name)
#include "backends/opencl/functions.def"
} lfuse__clblast_functions;
/* Filled by lfuse__clblast_load. */
extern lfuse__clblast_functions lfuse__clblast;
#endif

/* *text: "CLBlast 1.5.3", or why there is none, which is no failure; a shortage is. */
lfuse_status lfuse__clblast_describe(char *text, size_t size, bool *there);
int lfuse__cl_parts(lfuse__part *parts, int max);

/* ---- facts.c ---- */

/* Everything that is asked of a device once. */
typedef struct lfuse__cl_device {
    cl_platform_id platform;
    cl_device_id id;
    lfuse__facts facts;
    char vendor[128], driver_version[128], version[128], c_version[128], platform_version[256];
    char options[192]; /* of every build */
    unsigned c_minor;  /* OpenCL C 1.x: x at most 2 */
    bool vectors_of_items; /* of a CPU: its compiler makes vectors of work-items and takes ours apart (Mesa's) */
    bool nvidia;       /* error codes mean more there */
    unsigned capability; /* NVIDIA's: the first number of its architecture; 0: not known */
    bool fine_svm;     /* the host reads and writes shared virtual memory without mapping it */
} lfuse__cl_device;

lfuse_status lfuse__cl_read_device(cl_platform_id platform, cl_device_id id, const char *name,
                                   lfuse__cl_device *device);

/* ---- objects ---- */

typedef struct lfuse__cl_addresser lfuse__cl_addresser;
typedef struct lfuse__cl_mapper lfuse__cl_mapper;

struct lfuse__bdevice {
    lfuse__cl_device device;
    cl_context context;
    atomic_int lost;          /* the code that killed the device, 0 while it lives */
    atomic_uint_fast64_t held; /* bytes of our own allocations */
    lfuse__cl_addresser *addresser; /* NULL: kernels reach buffers through arguments alone */
    lfuse__cl_mapper *mapper;       /* NULL: there are no tensor maps */
    atomic_uint gemm_ready;   /* gemm.c: bits of what CLBlast has compiled */
};

typedef enum lfuse__cl_storage {
    LFUSE__CL_BUFFER, /* cl_mem */
    LFUSE__CL_PINNED, /* cl_mem that stays mapped: the host pointer is what is used */
    LFUSE__CL_SVM     /* pointer */
} lfuse__cl_storage;

struct lfuse__bmem {
    lfuse__bdevice *dev;
    lfuse__cl_storage storage;
    cl_mem buffer;          /* BUFFER, PINNED */
    cl_command_queue queue; /* PINNED: what mapped it */
    void *pointer;          /* PINNED, SVM */
    cl_mem parent;          /* BUFFER: the whole of a sub-buffer, else the buffer */
    uint64_t origin;        /* BUFFER: offset in the parent */
    uint64_t address;       /* BUFFER: where the device has an addresser */
    uint64_t bytes;         /* 0: unknown */
    uint64_t id;            /* never used twice: a handle's value may be, once its memory was freed */
    bool own;
};

struct lfuse__bstream {
    lfuse__bdevice *dev;
    cl_command_queue queue;
    bool out_of_order; /* a foreign queue: every command stands between barriers */
    cl_event probe;    /* the marker of the last query that had to answer "not yet", or NULL */
};

struct lfuse__bevent {
    lfuse__bdevice *dev;
    cl_event event; /* NULL before the first record */
};

struct lfuse__bprogram {
    lfuse__bdevice *dev;
    cl_program program;
};

enum { LFUSE__CL_WORDS = 512 /* longer argument blocks are set at every launch */ };

struct lfuse__bkernel {
    lfuse__bdevice *dev;
    cl_program program; /* kept by the kernel object */
    cl_kernel kernel;
    char name[64];
    uint32_t shared;    /* bit of each buffer that was shared memory since the kernel object was made */
    /* What was set last, so that only changes are set again. nbuffers: how many of `buffers` hold. */
    unsigned nbuffers, nwords;
    uint64_t buffers[LFUSE__MAX_BUFFERS];
    uint64_t words[LFUSE__CL_WORDS];
};

/* ---- error.c ---- */

/* "CL_OUT_OF_RESOURCES"; "unknown code". Static. */
const char *lfuse__cl_code_name(cl_int code);
/* Records the words with the code's name behind them and returns the code's status. */
lfuse_status lfuse__cl_error(cl_int code, const char *format, ...) LFUSE_PRINTF(2, 3);
/*
 * The same for a call on a queue. NVIDIA reports a kernel's fault as one of a few codes, then refuses everything:
 * there the queue is asked again, and when it is dead, so is the device, from then on.
 */
lfuse_status lfuse__cl_queue_error(lfuse__bdevice *dev, cl_command_queue queue, cl_int code, const char *format, ...)
    LFUSE_PRINTF(4, 5);

/* ---- probe.c ---- */

/*
 * A kernel that is run to find out what a driver does not say, in a queue of its own. Before it is made all is NULL.
 *   - make builds the text, which is OpenCL C or, if `ptx` is set, PTX; it makes the kernel of that name, and a cell of
 *     `bytes` bytes. The caller destroys the probe when it is no longer needed, and also where make fails.
 *   - run begins to run a kernel of the program, by one group of `items` work-items.
 *   - read waits for the kernel, and reads from the cell.
 */
typedef struct lfuse__cl_probe {
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem cell; /* memory for its kernels, which its user gives them as an argument */
} lfuse__cl_probe;
lfuse_status lfuse__cl_probe_make(lfuse__bdevice *dev, const char *text, bool ptx, const char *kernel, size_t bytes,
                                  lfuse__cl_probe *p);
void lfuse__cl_probe_destroy(lfuse__cl_probe *p);
cl_int lfuse__cl_probe_run(const lfuse__cl_probe *p, cl_kernel kernel, size_t items);
cl_int lfuse__cl_probe_read(const lfuse__cl_probe *p, size_t offset, size_t bytes, void *host);
/*
 * Sets *works: whether `attempt`, which is given `of`, succeeds. Where it fails, the log says `without`, which names
 * what the device does not have, and why; the calling thread's error is then what it was before. ERR_MEMORY: the host
 * has no memory to try it, which is an error; other failures are none.
 */
lfuse_status lfuse__cl_try(lfuse__bdevice *dev, lfuse_status (*attempt)(lfuse__bdevice *dev, void *of), void *of,
                           const char *without, bool *works);

/* ---- program.c ---- */

/* Adds to the build options what only a trial build can tell. ERR_MEMORY: it could not be tried. */
lfuse_status lfuse__cl_probe_compiler(lfuse__bdevice *dev);

/* ---- local_memory.c ---- */

/*
 * Tries whether groups have more local memory than the driver says: facts.dynamic_local_bytes, where there are
 * instructions of sm_90a. After lfuse__cl_probe_compiler. ERR_MEMORY: it could not be tried.
 */
lfuse_status lfuse__cl_probe_local_memory(lfuse__bdevice *dev);

/* ---- address.c ---- */

/* Tries whether a kernel reaches buffers by their addresses: facts.addresses. ERR_MEMORY: it could not be tried. */
lfuse_status lfuse__cl_probe_addresses(lfuse__bdevice *dev);
void lfuse__cl_addresser_destroy(lfuse__cl_addresser *addresser);
/* Fills the address of a buffer where there is an addresser; any thread. */
lfuse_status lfuse__cl_find_address(lfuse__bmem *mem);

/* ---- tensor_map.c ---- */

/*
 * Tries whether tensor maps can be made and copy what they should: facts.tensor_map. After lfuse__cl_probe_addresses,
 * as maps hold addresses. ERR_MEMORY: it could not be tried.
 */
lfuse_status lfuse__cl_probe_tensor_maps(lfuse__bdevice *dev);
void lfuse__cl_mapper_destroy(lfuse__cl_mapper *mapper);
/* A fact of devices that have a mapper; any thread. The first map of a kind waits for a kernel that makes it. */
lfuse_status lfuse__cl_tensor_map(lfuse__bdevice *dev, const lfuse__tensor_boxes *of,
                                  uint64_t map[LFUSE__TENSOR_MAP_WORDS], bool *made);

/* ---- stream.c ---- */

/* Around each command: the barriers of an out-of-order queue, nothing on others. */
lfuse_status lfuse__cl_before(lfuse__bstream *s);
lfuse_status lfuse__cl_after(lfuse__bstream *s);

/* ---- the slots ---- */

lfuse_status lfuse__cl_alloc(lfuse__bdevice *dev, lfuse__alloc_kind kind, uint64_t bytes, lfuse__bmem **mem);
lfuse_status lfuse__cl_wrap(lfuse__bdevice *dev, lfuse_memory_kind kind, uint64_t handle, uint64_t bytes,
                            lfuse__bmem **mem);
void lfuse__cl_free(lfuse__bmem *mem);
void lfuse__cl_mem_info(lfuse__bmem *mem, lfuse__mem_info *info);
lfuse_status lfuse__cl_write(lfuse__bstream *s, lfuse__bmem *to, uint64_t offset, const void *host, uint64_t bytes);
lfuse_status lfuse__cl_read(lfuse__bstream *s, lfuse__bmem *from, uint64_t offset, void *host, uint64_t bytes);
lfuse_status lfuse__cl_copy(lfuse__bstream *s, lfuse__bmem *to, uint64_t to_offset, lfuse__bmem *from,
                            uint64_t from_offset, uint64_t bytes);
lfuse_status lfuse__cl_copy_peer(lfuse__bstream *s, lfuse__bmem *to, uint64_t to_offset, lfuse__bdevice *from_dev,
                                 lfuse__bmem *from, uint64_t from_offset, uint64_t bytes);
lfuse_status lfuse__cl_fill(lfuse__bstream *s, lfuse__bmem *to, uint64_t offset, uint64_t pattern,
                            unsigned pattern_bytes, uint64_t bytes);

lfuse_status lfuse__cl_stream_create(lfuse__bdevice *dev, lfuse__bstream **s);
lfuse_status lfuse__cl_stream_wrap(lfuse__bdevice *dev, void *native, lfuse__bstream **s);
void lfuse__cl_stream_destroy(lfuse__bstream *s);
void *lfuse__cl_stream_native(lfuse__bstream *s);
lfuse_status lfuse__cl_stream_flush(lfuse__bstream *s);
lfuse_status lfuse__cl_stream_query(lfuse__bstream *s);
lfuse_status lfuse__cl_stream_sync(lfuse__bstream *s);
lfuse_status lfuse__cl_stream_capturing(lfuse__bstream *s, bool *capturing);
lfuse_status lfuse__cl_event_create(lfuse__bdevice *dev, lfuse__bevent **e);
void lfuse__cl_event_destroy(lfuse__bevent *e);
lfuse_status lfuse__cl_event_record(lfuse__bevent *e, lfuse__bstream *s);
lfuse_status lfuse__cl_event_wait(lfuse__bevent *e, lfuse__bstream *s);
lfuse_status lfuse__cl_event_query(lfuse__bevent *e);
lfuse_status lfuse__cl_event_elapsed(lfuse__bevent *first, lfuse__bevent *second, double *us);

lfuse_status lfuse__cl_program_key(lfuse__bdevice *dev, lfuse__strbuf *key);
lfuse_status lfuse__cl_program_build(lfuse__bdevice *dev, const char *source, lfuse__strbuf *log,
                                     lfuse__bprogram **program);
lfuse_status lfuse__cl_program_load(lfuse__bdevice *dev, const void *binary, size_t bytes, lfuse__bprogram **program);
lfuse_status lfuse__cl_program_binary(lfuse__bprogram *program, lfuse__strbuf *binary);
void lfuse__cl_program_destroy(lfuse__bprogram *program);

lfuse_status lfuse__cl_kernel_create(lfuse__bprogram *program, const char *name, lfuse__bkernel **kernel);
void lfuse__cl_kernel_destroy(lfuse__bkernel *kernel);
lfuse_status lfuse__cl_launch(lfuse__bstream *s, lfuse__bkernel *kernel, const lfuse__launch_args *launch);

lfuse_status lfuse__cl_gemm_candidates(lfuse__bdevice *dev, const lfuse__gemm_desc *desc, int max,
                                       lfuse__gemm_candidate *candidates, int *count);
lfuse_status lfuse__cl_gemm_prepare(lfuse__bdevice *dev, const lfuse__gemm_desc *desc,
                                    const lfuse__gemm_candidate *candidate, lfuse__bgemm **gemm);
lfuse_status lfuse__cl_gemm_run(lfuse__bstream *s, lfuse__bgemm *gemm, const lfuse__gemm_args *args);
void lfuse__cl_gemm_destroy(lfuse__bgemm *gemm);

lfuse_status lfuse__cl_graph_begin(lfuse__bstream *s);
lfuse_status lfuse__cl_graph_end(lfuse__bstream *s, lfuse__bgraph **graph);
lfuse_status lfuse__cl_graph_launch(lfuse__bstream *s, lfuse__bgraph *graph);
lfuse_status lfuse__cl_graph_patch(lfuse__bgraph *graph, unsigned index, lfuse__bkernel *kernel,
                                   const lfuse__launch_args *launch);
void lfuse__cl_graph_destroy(lfuse__bgraph *graph);

#endif
