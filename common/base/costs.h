/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What work costs on a device: the numbers of the library's cost models, which no driver reports. costs.c has them as
 * rows of a table, by vendor and generation. A device of a vendor that has rows gets the nearest of them; CPUs and all
 * other devices have a row each, in which what follows from a device's facts is computed of these.
 */
#ifndef COMMON_BASE_COSTS_H
#define COMMON_BASE_COSTS_H

#include "common/base/facts.h"

enum { LFUSE__STRASSEN_WORTH = 2, LFUSE__STRASSEN_TILES = 3 };

/* Rows and their sums: common/kernels/rows_choose.c, rows_hold.c. */
typedef struct lfuse__rows_costs {
    int line_bytes;         /* of memory, which neighbours read together at best */
    int sector_bytes;       /* of memory, the least that is read at a time */
    int registers;          /* how many of 32 bits a compute unit has */
    int unit_items;         /* work-items that a compute unit should have, so that it does not wait; 256 at least */
    int stream_items;       /* work-items of a group for a row that its registers do not hold */
    /*
     * Elements of a row from which its segments are worth a launch of their own, where rows are too few for the device.
     */
    uint64_t staged_single; /* each summed by a work-item in vectors (CPUs) */
    uint64_t staged_item;   /* each summed by a few work-items, along strides */
    uint64_t staged_team;   /* each summed by a team */
} lfuse__rows_costs;

/* Strassen's algorithm: common/matmul/strassen_cost.c. */
typedef struct lfuse__strassen_costs {
    double ends;        /* a sum of k terms takes as long as one of so many more, without what begins and ends it */
    double narrow_ends; /* the same on tensor cores */
    double launch;      /* seconds from one kernel to the next */
    double least;       /* seconds: what takes less at the device's rate is bound by latencies */
    double streaming[LFUSE__STRASSEN_WORTH + 1]; /* share of the rate of copies that a kernel of 7^L matrices reaches */
    struct {
        double rows, columns;
        double rate; /* as a share of that of the largest tile */
    } tiles[LFUSE__STRASSEN_TILES];
    double another_split; /* share of a product's time that it takes longer each time that k is halved */
} lfuse__strassen_costs;

/*
 * Which products the library of the device's own maker computes faster than the library's own tiles: matmul/provider.c.
 * Products of f32 take the first range whose bounds they meet, m, n >= fewest and k <= deepest; those of other types,
 * and in tf32, take the last range. Tiles are faster up to `products` multiplications.
 */
typedef struct lfuse__tiles_range {
    int64_t fewest, deepest;
    double products;
} lfuse__tiles_range;
enum { LFUSE__TILES_RANGES = 5 };
/* Multiply-adds of a compute unit in a cycle, in the library's products on tensor cores; 0: not known. */
typedef struct lfuse__library_rates {
    double whole;  /* of A, B and D whose lines are whole numbers of 16 bytes */
    double across; /* the same where lines of neither operand run along k */
    double words;  /* where lines are no more than whole numbers of 4 bytes, */
    double odd;    /* and where some are no such numbers */
    double start;  /* cycles that such a product takes in addition */
    double least;  /* multiplications of the least product, or batch, that was measured */
} lfuse__library_rates;
typedef struct lfuse__provider_costs {
    lfuse__tiles_range ranges[LFUSE__TILES_RANGES];
    double always;      /* multiplications of two rows or more of f32 that are for tiles whatever their shape */
    double batch_full;  /* a batch of more multiplications than these fills the device */
    double batch_small; /* in such a batch, products of at most so many are the library's */
    double batch_large; /* and so are products of so many or more */
    lfuse__library_rates tf32, narrow; /* of its products in tf32; of f16 and bf16 */
} lfuse__provider_costs;

/* What parts of k cost, whose sums groups add up; in cycles. */
typedef struct lfuse__parts_costs {
    double meeting; /* until the groups of one tile have met */
    double latency; /* of an access to memory, for up to `on_the_way` vectors of a work-item */
    double worth;   /* the time is multiplied by it, as what parts write costs more than is counted */
} lfuse__parts_costs;

/* The epilogue of a product that stores several values for each element. */
typedef struct lfuse__epilogue_costs {
    double latency;      /* cycles that a work-item waits for the operands of an element, of several that it loads */
    double dependent;    /* cycles of a simple operation, where each waits for the one before */
    double instructions; /* of a simple operation */
    double items;        /* work-items of a compute unit whose loads keep the memory busy */
} lfuse__epilogue_costs;

/* Products by tiles: common/matmul/tile_cost.c. Times in cycles. */
typedef struct lfuse__tiles_costs {
    bool fitted;          /* to this device: the columns `wait` and `rate` of the table of shapes */
    /* Where they are not fitted, of tiles of any shape: */
    double wait;          /* what a k-tile takes in addition to its products */
    double operand;       /* products that a work-item computes in the time of reading an element from local memory */
    double cache_bytes;   /* bytes that a compute unit gets from the cache in a cycle, for local memory */
    double tensor_cores;  /* how many times as fast tensor cores are */
    /* In any case: */
    bool few_tensor_cores; /* a compute unit has a quarter of the tensor cores of Hopper's or fewer, and as many lanes
                             for f32: by mma.sync nothing is gained by three products in place of one of f32 */
    double start;         /* what a launch takes in addition to its groups' products */
    double another_round; /* what each round of groups after the first takes in addition */
    double slicing;       /* for an element of a tile and each slice but the first: they are added in local memory */
    double unaligned;     /* what a k-tile takes that is loaded element by element, as rows are no whole vectors */
    double overlap;       /* what a launch gains where the next one is brought up while it ends */
    double worth_sharing; /* the time of tiles that are shared out is multiplied by it, as what parts write costs more
                             than is counted */
    double on_the_way;    /* vectors that a work-item loads at a time */
    double bytes;         /* that a compute unit moves in a cycle */
    double skinny_launch; /* what the second launch of a product of few rows or columns takes */
    double skinny_rate;   /* multiply-adds a cycle of such a product */
    lfuse__epilogue_costs epilogue;
    lfuse__parts_costs parts[2]; /* of sums by multiply-adds, and of those by tensor cores */
} lfuse__tiles_costs;

/* Chains of products in one launch, whose groups hand values on: common/matmul/mlp.c. Times in cycles. */
typedef struct lfuse__network_costs {
    int tagged_values;      /* of a block of rows, that are handed on in tagged words; more wait for a counter */
    int tagged_readers;     /* groups that read them, at most */
    double cache_bytes;     /* that a compute unit gets from the cache in a cycle */
    double weights;         /* times the bytes of weights, which are read once, against values that are handed on */
    double exchange;        /* what a sum between work-items takes */
    double tag;             /* what tagged words take, for each group that reads them */
    double counter, arrival; /* what a counter takes, there and back, and each group that arrives at it */
    double most;            /* that a layer may take: above, launches of their own are expected to be faster */
    double narrow_products; /* multiply-adds of a layer of f16 or bf16 without tensor cores, at most */
} lfuse__network_costs;

typedef struct lfuse__costs {
    unsigned vendor, generation; /* as in the facts; 0: not those of one vendor's device */
    double lanes;                /* multiply-adds of f32 that a compute unit does in a cycle */
    double operations_per_byte;  /* simple operations in the time of one byte from memory: common/plan/reuse.c */
    lfuse__rows_costs rows;
    lfuse__strassen_costs strassen;
    lfuse__provider_costs provider;
    lfuse__tiles_costs tiles;
    lfuse__network_costs network;
} lfuse__costs;

/* Returns the costs of a device, by its facts. */
lfuse__costs lfuse__costs_of(const lfuse__facts *facts);

#endif
