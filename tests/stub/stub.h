/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stub backend of the tests: the waist over host memory. Kernels are compiled by the host compiler and run; streams
 * finish each command before the call returns; native graphs are lists of commands. It counts what is asked of it,
 * remembers the last calls and fails when told to.
 *
 * A lazy stream keeps its commands: each query of the stream or of an event on it does one of them, synchronising does
 * them all. What is given back or reused too early is then found by wrong results or by the address sanitizer.
 *
 *     lfuse__stub_reset();
 *     lfuse__registry_extra(&lfuse__stub_backend);
 *     lfuse_device_open("stub:0", &device);
 *
 * Settings and failures are changed while no other thread is in the library; counters may be read at any time.
 */
#ifndef TESTS_STUB_STUB_H
#define TESTS_STUB_STUB_H

#include "common/device/backend.h"

extern const lfuse__backend lfuse__stub_backend;

/* Every slot that returns a status: these can be made to fail. */
#define LFUSE__STUB_SLOT_MAP(X)                                                                                        \
    X(enumerate) X(describe) X(open) X(adopt) X(facts) X(memory) X(program_key) X(pending) X(alloc) X(wrap) X(write)   \
    X(read) X(copy) X(copy_peer) X(fill) X(stream_create) X(stream_wrap) X(stream_flush) X(stream_query)               \
    X(stream_sync) X(stream_capturing) X(event_create) X(event_record) X(event_wait) X(event_query) X(event_elapsed)   \
    X(program_build) X(program_load) X(program_binary) X(kernel_create) X(launch) X(gemm_candidates) X(gemm_prepare)   \
    X(gemm_run) X(graph_begin) X(graph_end) X(graph_launch) X(graph_patch)

typedef enum lfuse__stub_slot {
    LFUSE__STUB_ANY, /* for failures: calls of all slots are counted together */
#define LFUSE__STUB_SLOT_ENUM(name) LFUSE__STUB_##name,
    LFUSE__STUB_SLOT_MAP(LFUSE__STUB_SLOT_ENUM)
#undef LFUSE__STUB_SLOT_ENUM
    LFUSE__STUB_SLOTS
} lfuse__stub_slot;

const char *lfuse__stub_slot_name(lfuse__stub_slot slot);

typedef struct lfuse__stub_settings {
    int devices;            /* 2: stub:0 and stub:1 */
    bool addresses, vector_lanes, f64, exact, svm, svm_concurrent, native_graph, compiles_at_launch,
         concurrent_builds; /* facts */
    bool peer;              /* copy_peer works between the two devices */
    bool tuned;             /* facts: the library of products is of the device's own maker, who is NVIDIA */
    bool tensor_cores, wgmma, tensor_maps; /* facts */
    bool tf32;              /* fact; products then cut the last 13 bits of operands off */
    bool decline_mixed;     /* gemm declines products of f16 and bf16 whose result is f32 */
    bool elapsed;           /* events tell times: 1 us for each command before them in their stream */
    bool patches;           /* native graphs take new arguments of their launches */
    bool lazy;              /* streams made from now on do their work late: see below */
    bool lost;              /* pending reports a lost device */
    unsigned max_argument_bytes, max_group, simd, compute_units, elementwise_groups;
    bool gpu;                 /* fact: its kind; else a CPU */
    uint64_t dynamic_local_bytes; /* fact */
    uint64_t cache_bytes;     /* fact; 0: 16 MB where there are resident groups, else not known */
    unsigned resident_groups; /* facts; for kernels of work-items: those of lanes have no words for it */
    uint64_t memory_bytes;  /* more is refused with ERR_DEVICE_MEMORY */
    uint64_t sparse_bytes;  /* allocations from here on are sparse pages, poisoned at their start alone */
    unsigned decline_epilogues; /* bit 0: gemm declines products without an epilogue, bit 1: with one */
    unsigned decline_types;     /* bit i: gemm declines lfuse_type i */
    int gemm_candidates;
    unsigned driver;          /* facts: its number */
    unsigned gemm_slow, gemm_failing; /* bit i: runs of candidate i take longer, fail (ERR_UNSUPPORTED) */
    unsigned epilogue_slow;   /* bit 0: products without an epilogue take longer, bit 1: with one */
    uint64_t gemm_workspace;  /* of every candidate but the last, which needs none */
    uint64_t foreign_low, foreign_high; /* addresses in [low, high) belong to another context */
    bool batched;           /* kernels are compiled late, many at once and each text once, without optimisation */
    uint64_t edge_groups;   /* not 0: of a launch, only that many first and last groups are run */
} lfuse__stub_settings;

enum { LFUSE__STUB_SLOW_US = 300 }; /* of a slow product */

extern lfuse__stub_settings lfuse__stub;

/* What the batches cost so far: texts asked for, those unlike all others, and the time of their compilation. */
void lfuse__stub_batch_cost(uint64_t *asked, uint64_t *compiled, double *seconds);

/* Default settings, no failure, counters and log cleared. Live objects stay counted. */
void lfuse__stub_reset(void);

/* The nth call (from 1, counted from now on) of `slot` fails with `status`, and all later ones where `persistent`. */
void lfuse__stub_fail(lfuse__stub_slot slot, uint64_t nth, bool persistent, lfuse_status status);
void lfuse__stub_no_failure(void);
/* Whether the failure that was asked for has happened. */
bool lfuse__stub_fired(void);

typedef struct lfuse__stub_counters {
    uint64_t calls[LFUSE__STUB_SLOTS]; /* ANY: all together */
    uint64_t groups;                   /* work-groups run */
    uint64_t kernels;                  /* in the texts of programs that were built */
    uint64_t graph_captures, graph_updates, graph_commands; /* made, updated in place, replayed */
    uint64_t guard_faults;             /* writes outside an allocation, found when it was freed */
    uint64_t misuse;                   /* calls that the contract forbids, such as waiting for a stream under capture */
} lfuse__stub_counters;
lfuse__stub_counters lfuse__stub_counters_now(void);
/* How often a slot was called. */
uint64_t lfuse__stub_calls(lfuse__stub_slot slot);

typedef struct lfuse__stub_live {
    int64_t devices, memories, streams, events, programs, kernels, gemms, graphs;
    uint64_t bytes;
} lfuse__stub_live;
void lfuse__stub_live_get(lfuse__stub_live *live);
/* Sum of all live objects: 0 when everything was given back. */
int64_t lfuse__stub_live_objects(void);

/* One of the last launches or products. */
typedef struct lfuse__stub_call {
    char kernel[64]; /* name of the kernel; "gemm" */
    uint64_t groups;
    unsigned group, nbuffers, nwords;
    uint64_t words[128]; /* the first of them */
    lfuse__gemm_desc gemm;
    int candidate; /* of the product */
} lfuse__stub_call;
/* back 0: the last one. False when there were not so many, or too many since. */
bool lfuse__stub_call_get(unsigned back, lfuse__stub_call *call);

/*
 * What stream_wrap takes as a native stream: a caller's stream, which may belong to another context or be capturing.
 * While `capturing`, commands are kept in the order of submission; lfuse__stub_native_run does them.
 */
typedef struct lfuse__stub_native {
    bool foreign, capturing;
    lfuse__bgraph *captured;
} lfuse__stub_native;
void lfuse__stub_native_run(lfuse__stub_native *native);
void lfuse__stub_native_clear(lfuse__stub_native *native);

/* facts.tensor_map of devices that are to have maps: prelude.k reads them. */
lfuse_status lfuse__stub_tensor_map(lfuse__bdevice *dev, const lfuse__tensor_boxes *of,
                                    uint64_t map[LFUSE__TENSOR_MAP_WORDS], bool *made);

#endif
