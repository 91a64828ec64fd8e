/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the planner asks about matrix products: who computes them on a device, who declines one and why, and what pays.
 * The planner knows no cost: lfuse__products_advice of common/matmul/ answers from the table of solvers
 * (common/matmul/solver.h), and lfuse__plan_make is given it.
 */
#ifndef COMMON_PLAN_ADVICE_H
#define COMMON_PLAN_ADVICE_H

#include "common/base/facts.h"
#include "libfuse/plan.h"
#include "libfuse/types.h"

/* `matrices` products, each of m x k by k x n. A bound that is not known is INT64_MAX. */
typedef struct lfuse__matmul_sizes {
    int64_t m, n, k, matrices;
} lfuse__matmul_sizes;

/*
 * Who computes a product:
 *   - VENDOR: the vendor's library.
 *   - NATIVE: the library's own kernels.
 *   - EITHER: it depends on the sizes of a run, and the library's own kernels decline where the vendor is faster.
 *   - EPILOGUE: the vendor's library, if nothing follows, or what its epilogue does; with any other epilogue it is as
 *     with EITHER, because a kernel behind the vendor's product may take longer than that gains.
 */
typedef enum lfuse__computes {
    LFUSE__COMPUTES_VENDOR,
    LFUSE__COMPUTES_NATIVE,
    LFUSE__COMPUTES_EITHER,
    LFUSE__COMPUTES_EPILOGUE
} lfuse__computes;

/*
 * The solvers that the planner asks about by themselves. NATIVE stands for all those that compute a product by one step
 * of the library's own kernels, NETWORK for the one that computes products, each of which multiplies what the one
 * before stores, in one launch.
 */
typedef enum lfuse__planned_solver {
    LFUSE__SOLVER_NATIVE,
    LFUSE__SOLVER_VENDOR,
    LFUSE__SOLVER_STRASSEN,
    LFUSE__SOLVER_NETWORK
} lfuse__planned_solver;

/* A product, as the planner knows it. What does not apply is 0. */
typedef struct lfuse__matmul_desc {
    lfuse_type types[2], result; /* of the elements of A and of B; of what is stored */
    lfuse__matmul_sizes low, high;
    lfuse_precision precision;   /* FULL, TF32 or one that splits operands */
    bool batched;                /* the result has more axes than two */
    bool list;                   /* the products of the members of two lists */
    bool prologue;               /* A or B is computed where it is read */
    int prologue_work[2], prologue_bytes[2]; /* of A and B that are computed: simple operations, and bytes that are
                                                loaded, for an element */
    bool column_sums;            /* the columns of the result are summed */
    bool transposed[2];          /* A is stored as [k, m], B as [n, k] */
    bool frozen[2];              /* A, or B, is the same at all runs of an instance */
    bool shared[2];              /* all products of a batch have one A, or one B */
    bool prepared;               /* so is the product: it is computed once an instance */
    int levels;                  /* of Strassen's algorithm by which it is made; STRASSEN: at least so many */
    lfuse_provider provider;     /* that the caller asks for */
    bool compared;               /* where either may compute it, both are to be measured, or wisdom chooses */
} lfuse__matmul_desc;

/* Limits of one NETWORK. Where there are more rows than ROWS_MOST, each product has work enough for a launch. */
enum {
    LFUSE__NETWORK_LAYERS_MOST = 16,
    LFUSE__NETWORK_KINDS_MOST = 4,     /* different epilogues */
    LFUSE__NETWORK_ROWS_MOST = 64,
    LFUSE__NETWORK_OPERANDS_MOST = 12, /* of all epilogues, with A, B and the sum */
    LFUSE__NETWORK_PLACES_MOST = 37    /* addresses of a launch: of each layer's weights and of what epilogues load */
};

/* Returns how many products L levels of Strassen's algorithm make of one: 7^L. */
static inline int64_t lfuse__strassen_count(int levels)
{
    int64_t count = 1;

    while (levels-- > 0) count *= 7;
    return count;
}

/*
 * Returns how many neighbouring elements the kernels between Strassen's products take at a time, in which the matrices
 * of a plan are padded; `narrow`: some elements have 2 bytes.
 */
static inline int lfuse__strassen_vector(const lfuse__facts *facts, bool narrow)
{
    return facts->vector_lanes ? 16 : narrow ? 8 : 4;
}

typedef struct lfuse__matmul_advice {
    /* Whether the device is a GPU on which the library's own kernels multiply matrices. */
    bool (*has_tiles)(const lfuse__facts *facts);
    /* Whether a vendor's library multiplies matrices there too, and either may be the faster one. */
    bool (*compete)(const lfuse__facts *facts);
    /* Whether some solver computes this product, of a precision that splits, from split operands. */
    bool (*splits)(const lfuse__facts *facts, const lfuse__matmul_desc *desc);
    /* Whether products that follow each other can be one launch on the device. */
    bool (*has_networks)(const lfuse__facts *facts);
    /* Returns NULL where the solver may compute the product on some device; else why it does not, a static string. */
    const char *(*declines)(const lfuse__facts *facts, lfuse__planned_solver solver, const lfuse__matmul_desc *desc);
    /*
     * Who computes the product: where one of both declines, the other; else whom the caller asks for; else who is taken
     * for faster within the bounds of the sizes. Where their ways do not store the same, it is one of both alone.
     */
    lfuse__computes (*provider)(const lfuse__facts *facts, const lfuse__matmul_desc *desc);
    /*
     * Whether a product that computes operand `side` where it reads it, of which prologue_bytes are not 0, is faster
     * for all sizes within the bounds than a product behind a kernel that stores this operand. The other operand is
     * computed by both of them where its prologue_bytes are not 0.
     */
    bool (*prologue_pays)(const lfuse__facts *facts, const lfuse__matmul_desc *desc, int side);
    /*
     * How many levels of Strassen's algorithm are worth it for the lower bounds of the sizes, at most 2; 0 where less
     * than 2 % is won. *gain: the time without by the time with so many; where 0 levels are returned, the best that any
     * level would give; 0 where the device's rates are not known.
     */
    int (*strassen_levels)(const lfuse__facts *facts, const lfuse__matmul_desc *desc, double *gain);
    /* Whether products of weights of this type, one behind the other, are faster in one launch for some few rows. */
    bool (*network_pays)(const lfuse__facts *facts, lfuse_type type, int count, const lfuse__matmul_sizes *layers);
} lfuse__matmul_advice;

#endif
