/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structs behind device.h, for common/device/ alone.
 *
 * Locks: under pool.lock the tail of a stream is taken by lfuse__tail_try alone. A tail that is held by
 * lfuse__tail_lock is held around one slot and takes no other lock, but for lfuse__tail_retire, which takes pool.lock
 * too. No lock is held while a destroy function of the layers above, a compiler or the log is called.
 */
#ifndef COMMON_DEVICE_INTERNAL_H
#define COMMON_DEVICE_INTERNAL_H

#include <pthread.h>
#include <sched.h>

#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/device/device.h"

/* ---- pending.c: what waits for the work of the streams before it may go ---- */

/*
 * What the library knows of a stream's work. It outlives the stream while that work runs. Ticks count the deferred
 * releases of the device: `clear` is the last one that no work of this stream can still need.
 */
typedef struct lfuse__tail {
    struct lfuse__tail *next, *prev;
    atomic_flag busy;             /* held around each slot that takes the stream */
    atomic_uint_fast64_t submitted; /* counted up after a submission */
    atomic_uint_fast64_t finished;  /* of those, so many are known to be done */
    atomic_uint_fast64_t launches;
    /* The rest under pool.lock. */
    lfuse_stream *stream;         /* NULL: destroyed, the fence is all that is left */
    lfuse__bevent *fence;         /* one, recorded again and again */
    bool fenced;                  /* the fence is recorded and not yet seen done */
    bool mute;                    /* asking for the fence failed */
    bool held;                    /* was seen capturing: nothing is recorded until the stream is synchronised */
    uint64_t fence_tick, fence_submitted; /* the device's tick, and `submitted`, when the fence was recorded */
    uint64_t clear, held_submitted;       /* `held_submitted`: `submitted` when it was seen capturing */
} lfuse__tail;

/* What is released when work is done. */
typedef struct lfuse__pending {
    struct lfuse__pending *next;
    uint64_t tick;
    void (*finish)(struct lfuse__pending *p); /* called without a lock */
} lfuse__pending;

lfuse_status lfuse__tail_create(lfuse_device *dev, lfuse_stream *stream, lfuse__tail **tail);
/* The stream goes: the tail is freed, now or when its work has finished. */
void lfuse__tail_retire(lfuse_device *dev, lfuse__tail *tail);
/* Has p->finish called when all work is done that was submitted to the device's streams until now; perhaps at once. */
void lfuse__defer(lfuse_device *dev, lfuse__pending *p);
/* Finishes what has become ready. Never waits. */
void lfuse__reap(lfuse_device *dev);
/*
 * As lfuse__reap, but waits as long as that can help, `seconds` at most: for what is deferred, and with `tails` for the
 * work of destroyed streams too. Returns whether nothing of it is left.
 */
bool lfuse__drain(lfuse_device *dev, int seconds, bool tails);

/* Returns whether the tail is locked now. */
static inline bool lfuse__tail_try(lfuse__tail *t)
{
    return !atomic_flag_test_and_set_explicit(&t->busy, memory_order_acquire);
}

/* Streams belong to one thread at a time: waiting means that a fence is being recorded, or that the user errs. */
static inline void lfuse__tail_lock(lfuse__tail *t)
{
    while (!lfuse__tail_try(t)) sched_yield();
}

static inline void lfuse__tail_unlock(lfuse__tail *t)
{
    atomic_flag_clear_explicit(&t->busy, memory_order_release);
}

/* ---- blocks.c: the suballocator ---- */

#define LFUSE__BINS 64
#define LFUSE__ALIGNMENT 256 /* of every range: the widest vector access, and what drivers align to */

/* Memory from the driver. */
typedef struct lfuse__block {
    struct lfuse__block *next, *prev;
    lfuse__bmem *mem;
    lfuse__mem_info info;
    uint64_t bytes;
    struct lfuse__chunk *first; /* by address */
    bool large;                 /* made for one request that no standard block could hold */
} lfuse__block;

/* A piece of a block, free or handed out as a range; or memory of the caller's, or shared memory, as a range. */
typedef struct lfuse__chunk {
    lfuse__range range;
    lfuse__pending pending;
    lfuse__block *block;                   /* NULL: foreign, or empty */
    uint64_t bytes;                        /* of the block; range.bytes is what was asked for */
    struct lfuse__chunk *next, *prev;      /* in the block, by address */
    struct lfuse__chunk *bin_next, *bin_prev;
    bool free;
} lfuse__chunk;

/* The blocks of a device, and what waits for its streams. */
typedef struct lfuse__pool {
    pthread_mutex_t lock;
    lfuse__block *blocks;
    lfuse__chunk *bins[LFUSE__BINS]; /* free chunks by the logarithm of their size */
    uint64_t next_block;
    lfuse__tail *tails;
    lfuse__pending *first, **last;
    uint64_t tick;
    uint64_t launches; /* of streams that are gone */
    atomic_uint_fast64_t waiting;
} lfuse__pool;

/* Takes a chunk of `bytes` bytes, which are more than 0, out of a block that has one, or of a new one. */
lfuse_status lfuse__pool_take(lfuse_device *dev, uint64_t bytes, lfuse__chunk **chunk);
/* The chunk is free from now on, and joined with its free neighbours. */
void lfuse__pool_give(lfuse_device *dev, lfuse__chunk *chunk);
/* Gives empty blocks back to the driver; only those of large requests when `all` is false. */
void lfuse__pool_trim(lfuse_device *dev, bool all);

/* ---- program.c ---- */

struct lfuse__program {
    lfuse__program *bucket_next;
    lfuse__program *older, *newer; /* while nobody uses it */
    lfuse__pending pending;
    lfuse_device *dev;
    lfuse__hash hash;
    char *body;
    lfuse__bprogram *bprogram;
    unsigned references; /* under programs.lock; each user's holds the device */
    enum { LFUSE__BUILDING, LFUSE__READY, LFUSE__FAILED } state;
    lfuse_status status; /* LFUSE__FAILED: for those that waited */
    char *message;
};

#define LFUSE__PROGRAM_BUCKETS 256
#define LFUSE__PROGRAM_LIMIT 512 /* programs kept, unless more are in use */

/* The programs of a device by their texts. */
typedef struct lfuse__programs {
    pthread_mutex_t lock;
    pthread_cond_t built;
    lfuse__program *buckets[LFUSE__PROGRAM_BUCKETS];
    lfuse__program *oldest, *newest; /* those that nobody uses */
    unsigned count;
} lfuse__programs;

/*
 * build.c: makes a program, from the disk cache or by the vendor's compiler. No lock of the device is held meanwhile.
 */
lfuse_status lfuse__build(lfuse_device *dev, const char *body, lfuse__bprogram **program);
/* Drops the programs that nobody uses; called at closing. */
void lfuse__programs_drop(lfuse_device *dev);

/* ---- device.c ---- */

enum { LFUSE__CLOSED = 1, LFUSE__LOST = 2 };

typedef struct lfuse__attached {
    lfuse__attachment attachment;
    bool making;
} lfuse__attached;

struct lfuse_device {
    const lfuse__backend *backend;
    lfuse__bdevice *bdev;
    lfuse__facts facts;
    bool sync; /* LFUSE_SYNC */
    atomic_int references;
    void (*finalise)(lfuse_device *dev); /* called by who releases the last one */
    atomic_int state; /* LFUSE__CLOSED, LFUSE__LOST */
    atomic_flag losing;
    char lost_reason[512]; /* written once, before LFUSE__LOST is set */
    atomic_uint_fast64_t compiles, build_ns, allocations, bytes;
    pthread_mutex_t setup; /* attachments and the device's own stream */
    pthread_cond_t setup_done;
    lfuse__attached attached[LFUSE__ATTACH_COUNT];
    pthread_mutex_t sync_lock;
    lfuse_stream *own_stream;
    lfuse__pool pool;
    lfuse__programs programs;
};

/* ---- state.c ---- */
/* Takes every status that a slot returned: marks the device lost where that is what it says. Returns the status. */
lfuse_status lfuse__device_note(lfuse_device *dev, lfuse_status status);
static inline bool lfuse__device_lost(const lfuse_device *dev)
{
    return atomic_load_explicit(&dev->state, memory_order_acquire) & LFUSE__LOST;
}

/* ---- stream.c ---- */

/* watch.c has their releases, report.c the rest. */
struct lfuse__reports {
    atomic_int references;
    lfuse__range *range;
    lfuse__reports_owner owner;
};

/* A buffer that a stream reads when it is synchronised. */
typedef struct lfuse__watched {
    lfuse__reports *reports; /* one reference */
    bool kept;               /* a capture of the caller's may write to it at any time */
    uint64_t words[LFUSE__REPORT_WORDS];
} lfuse__watched;

/* ---- nodes.c: what a native graph holds ---- */

typedef enum lfuse__node_kind {
    LFUSE__NODE_LAUNCH, LFUSE__NODE_GEMM, LFUSE__NODE_COPY, LFUSE__NODE_FILL
} lfuse__node_kind;

/* One command: what it runs, and all that is told of it as words, memory by handle and address. */
typedef struct lfuse__node {
    lfuse__node_kind kind;
    bool stale;           /* the words are not what the graph holds */
    uint64_t serial;      /* of the kernel or the product: addresses of freed ones come again */
    lfuse__bkernel *kernel;
    size_t first, nwords; /* in the words of all */
} lfuse__node;

/* The commands of a graph, in order. */
typedef struct lfuse__nodes {
    lfuse__node *at; /* [count] */
    uint64_t *words; /* [nwords] of all of them */
    size_t count, capacity, nwords, word_capacity;
} lfuse__nodes;

/*
 * What a stream does with commands while a graph is made or followed. One that is made gets a node for each. One that
 * is followed has each compared with its next node: new words of a launch are taken over, anything else is no fit.
 */
typedef struct lfuse__noting {
    lfuse__nodes *nodes; /* NULL: neither, and the stream does what is submitted */
    size_t next;         /* the number of the node to compare with */
    bool follows, fits;
} lfuse__noting;

/* Returns a number that no other kernel or product has. */
uint64_t lfuse__serial(void);
void lfuse__nodes_free(lfuse__nodes *nodes);
/* Returns whether both run the same in the same order, with as many words each. */
bool lfuse__nodes_alike(const lfuse__nodes *a, const lfuse__nodes *b);
/* Gives the graph the words of the nodes that are stale. */
lfuse_status lfuse__nodes_patch(lfuse_device *dev, lfuse__bgraph *graph, lfuse__nodes *nodes);
/* Note one command of s->noting. ERR_MEMORY. */
lfuse_status lfuse__note_launch(lfuse_stream *s, uint64_t serial, lfuse__bkernel *kernel,
                                const lfuse__launch_args *launch);
lfuse_status lfuse__note_gemm(lfuse_stream *s, uint64_t serial, const lfuse__gemm_args *args);
lfuse_status lfuse__note_copy(lfuse_stream *s, const lfuse__range *to, uint64_t to_offset, const lfuse__range *from,
                              uint64_t from_offset, uint64_t bytes);
lfuse_status lfuse__note_fill(lfuse_stream *s, const lfuse__range *to, uint64_t offset, uint64_t pattern,
                              unsigned pattern_bytes, uint64_t bytes);

struct lfuse_stream {
    lfuse_device *dev;
    lfuse__bstream *bstream;
    lfuse__tail *tail;
    atomic_int references;
    atomic_bool closed;
    lfuse__range *scratch;   /* its own; NULL while it has the caller's */
    lfuse__range *lent;      /* the caller's range, one reference; and the part of it that is scratch */
    lfuse__range lent_part;
    void *recording;
    lfuse__watched *watched; /* report.c */
    int nwatched;
    size_t watched_capacity;
    lfuse__native *making;   /* between native begin and end: launches are counted when the graph is launched */
    uint64_t graph_launches;
    lfuse__noting noting;    /* what happens to what is submitted meanwhile */
};

/* report.c: forgets the reports that may be written to no more, or all. */
void lfuse__stream_unwatch(lfuse_stream *s, bool all);

/* Around each slot that submits to a stream: `enter` checks and locks; `leave` counts, unlocks, notes the status. */
lfuse_status lfuse__stream_enter(lfuse_stream *s);
lfuse_status lfuse__stream_leave(lfuse_stream *s, lfuse_status status);
/* The same as `leave` for launches and vendor calls, which are counted; LFUSE_SYNC waits, and errors name `what`. */
lfuse_status lfuse__stream_leave_launch(lfuse_stream *s, lfuse_status status, uint64_t launches, const char *what);

#endif
