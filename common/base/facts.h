/* SPDX-License-Identifier: Apache-2.0 */
/* What a backend states about a device. Planner and emitter decide by it, backends take no decisions. */
#ifndef COMMON_BASE_FACTS_H
#define COMMON_BASE_FACTS_H

#include <stdbool.h>

#include "common/base/precision.h"
#include "libfuse/device.h"

/* Kernel parameters that are memory, at most: operands of a fused kernel and the stream's report buffer. */
#define LFUSE__MAX_BUFFERS 17
/* Blocks that the entries of an address table may name where addresses are (slot, offset). */
#define LFUSE__MAX_SLOTS 8

/* The vendor's library of matrix products, which info.gemm names. */
typedef enum lfuse__products {
    LFUSE__PRODUCTS_NONE,
    LFUSE__PRODUCTS_PORTABLE, /* one for devices of any maker */
    LFUSE__PRODUCTS_TUNED     /* of the device's own maker */
} lfuse__products;

enum { LFUSE__VENDOR_NVIDIA = 0x10de };

enum { LFUSE__TENSOR_MAP_WORDS = 16 /* of 64 bits, which lie at a multiple of 64 bytes */ };

/*
 * A tensor in memory, and the boxes in which kernels copy it. Axis 0 is the innermost one, whose elements follow each
 * other: a box has 32, 64 or 128 bytes of it, whose chunks of 16 are swizzled as tensor cores want them in lines of so
 * many.
 */
enum { LFUSE__TENSOR_MAP_AXES = 5 /* at most */ };
typedef struct lfuse__tensor_boxes {
    uint64_t address;
    unsigned bytes; /* of an element: 1, 2, or 4, which is f32 that copies round to tf32 */
    unsigned axes;
    struct {
        uint64_t extent;
        uint64_t apart; /* bytes from one element to the next, a multiple of 16; of axis 0 it is not read */
        unsigned box;   /* elements of a box */
    } axis[LFUSE__TENSOR_MAP_AXES];
} lfuse__tensor_boxes;

struct lfuse__bdevice;

typedef struct lfuse__facts {
    lfuse_device_info info; /* name is filled by the registry */
    char unfit[192];        /* why no work can be done on it ("no compiler of kernels"), "" where it can */
    char arch[32];          /* what kernels are compiled for: "sm_90", "OpenCL C 1.2", "host" */
    unsigned vendor;        /* who makes the device: its number on the PCI bus; 0: not known */
    unsigned generation;    /* of the vendor's devices. NVIDIA: the compute capability, 90 for 9.0; 0: not known */
    bool addresses;         /* a table entry in memory can be a plain address; else it is (slot, offset) */
    bool vector_lanes;      /* bodies are written over 16 lanes (CPUs); else over one, in 16-byte accesses */
    bool compiles_at_launch; /* PoCL: a kernel is compiled at its first enqueue, so plans end with an empty one, and
                                kept in the driver's own disk cache, so binaries are not asked for */
    bool concurrent_builds; /* programs that several threads build at a time are done sooner than one by one */
    bool staged_arguments;  /* an index into the argument block copies it: kernels put it into local memory first */
    bool capture;           /* streams of the caller may be capturing (CUDA) */
    lfuse__products products; /* as far as is known by now, like info.gemm: one that is loaded late counts as there */
    bool products_tf32;     /* that library multiplies f32 that is rounded to tf32 */
    /* What it can reach, by its clocks and widths, less what is lost on the way; 0: not known. */
    double product_rate, product_rate64; /* f32 and f64 products, in operations a second */
    double product_rate16[2];            /* f16, bf16; sums in f32 */
    double product_rate_split[LFUSE__PRECISIONS]; /* f32 from operands that are split so, both of them in the run */
    double copy_rate;       /* copies in memory, bytes read and written a second */
    bool tensor_cores;      /* tensor cores, for products of f16, bf16 and tf32 by teams of 32, and copies into local
                               memory that nobody waits for: backends/nvidia.k has LOAD_FRAGMENTS, MMA, ASYNC_COPY16 */
    bool mma_fp8;           /* these also of e4m3 and e5m2: backends/nvidia.k has MMA_e4m3_e4m3 */
    bool wgmma;             /* tensor cores, for products by four teams of 32 together, that read their operands from
                               local memory: backends/nvidia.k has WGMMA */
    /*
     * Makes the tensor map, an argument of kernels that copy boxes (backends/nvidia.k has BOX_COPY). *made: false where
     * the device has no such map of the matrix. `dev` is facts.maps_of. NULL: it has none at all.
     */
    lfuse_status (*tensor_map)(struct lfuse__bdevice *dev, const lfuse__tensor_boxes *of,
                               uint64_t map[LFUSE__TENSOR_MAP_WORDS], bool *made);
    struct lfuse__bdevice *maps_of; /* the device that is open; NULL: it is only described */
    uint64_t dynamic_local_bytes; /* of a group, that a launch can ask for (local_bytes) for its tile (TILE_DYNAMIC);
                                     0: none */
    bool steps;             /* prelude.k has STEPS_f32: the loads from local memory and the fused multiply-adds of one
                               k-tile as a single asm statement, which compiles faster than unrolled loops */
    bool overlaps;          /* a launch is brought up while the one before it in the stream ends, for which its kernel
                               waits itself (BEGIN) */
    unsigned simd;          /* work-items that step together: 32 on NVIDIA, 1 on CPUs */
    unsigned resident_groups; /* of 256 work-items with whatever registers they take, and all static local memory: so
                                 many of a launch that asks for it are running at the same time; 0: none that asks */
    unsigned elementwise_groups; /* work-groups of a grid-stride loop at most: fixed and small on CPUs, 0 = no bound */
} lfuse__facts;

/* Of a device that its driver fails to describe: unfit, with the reason, so that it is listed all the same. */
void lfuse__facts_unknown(lfuse__facts *facts, const char *backend, const char *name, const char *why);

#endif
