/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A solver is one way to multiply matrices: where it runs, what it declines and why, what it costs, and its kernels.
 * solvers.def lists all of them:
 *   - most compute a product by kernels of the family PRODUCT. They have candidates, and lfuse__matmul_choose compares
 *     these. Some take lists too, which lfuse__grouped_choose compares: grouped.h.
 *   - others are chosen by the planner (common/plan/advice.h), which makes steps of their own for them. They have no
 *     candidates here, and what they cost is told by provider.h and mlp.h.
 * Batches, lists, prologues and column sums are fields of one description, lfuse__matmul_desc: a solver takes a product
 * that has them, or declines it with a reason.
 *
 * A row has no function that makes an instance's operations: these need plans, buffers and streams of common/run/,
 * which calls this folder and is not called by it. families.def names such a function of common/run/instantiate/ for
 * each kind of step, and the one for products asks through problem.h what it has to know of a solver.
 *
 * Who adds a solver writes its file, a row in solvers.def and its kernel's text.
 */
#ifndef COMMON_MATMUL_SOLVER_H
#define COMMON_MATMUL_SOLVER_H

#include "common/matmul/problem.h"

/*
 * How the result of a product is divided among work-groups, and what the cost model says about it. `split` of a class
 * is 0, SPLIT_K (different groups sum parts of k) or SPLIT_STREAM_K (stream_k.c); `parts` of a cut or a candidate is
 * how many parts k has, or STREAM_K, and of a candidate 0 where k is not split.
 */
enum { LFUSE__SPLIT_K = 1, LFUSE__SPLIT_STREAM_K = 2, LFUSE__STREAM_K = -1 };
typedef struct lfuse__cut {
    int64_t down, across;    /* tiles */
    int64_t k_tiles, parts;  /* k-tiles, and into how many parts of k they are divided */
    int64_t matrices;        /* of a batch; else 1 */
    int64_t workers, shared; /* stream-K: groups, and the tiles that they share out */
    bool whole_vectors;      /* k-tiles are loaded in vectors */
    double time;             /* estimated, in cycles */
} lfuse__cut;

struct lfuse__grouped_cut;
struct lfuse__tile_traits;
struct lfuse__tile_source;
struct lfuse__emulation;

/* Extents have the order of a geometry: m, n, k, and of a batch the number of products. */
struct lfuse__solver {
    const char *name;
    const struct lfuse__tile_traits *tile; /* of solvers that share tile.h: how they differ; NULL: of others */
    const struct lfuse__tile_source *source; /* of pipelines (mma.h): how operands come there; NULL: of others */

    /* Returns whether the solver runs on such a device at all. NULL: it runs on every one. */
    bool (*runs_on)(const lfuse__facts *facts);
    /*
     * Returns whether products gain by the solver on such a device. On others its candidates are taken by name alone,
     * and no plan compiles them ahead. NULL: they gain wherever it runs.
     */
    bool (*pays)(const lfuse__facts *facts);
    double vendors_share; /* what a tuned library of the device's maker takes of the time of its loops; 0: not known */
    bool tf32;            /* it computes in tf32 where that is asked for, or says itself why it does not */
    const struct lfuse__emulation *emulation; /* how it splits operands of f32 (emulated.h), and it computes nothing
                                                 else; NULL: it splits none */
    /*
     * Returns NULL where the solver may take the product; else the reason why it does not, a static string. Who asks
     * calls lfuse__solver_declines, which knows of precisions, lists and column sums, and of what the rows of pipelines
     * decline. NULL: of pipelines, and where nothing else is declined.
     */
    const char *(*declines)(const lfuse__facts *facts, const lfuse__matmul_desc *desc);

    /* ---- of solvers that have candidates; all NULL: of others ---- */
    /* Sets the solver and the tile of its candidate `at`; false behind the last one. Other fields of the class stay. */
    bool (*candidate)(const lfuse__solver *solver, int at, lfuse__product_class *p);
    /* Returns whether a plan that does not know the sizes compiles candidate `at`. NULL: it compiles all of them. */
    bool (*is_compiled_ahead)(int at);
    /* Returns whether the candidate may compute some product with extents within the bounds. NULL: every one. */
    bool (*serves)(const lfuse__product_class *p, const int64_t *least, const int64_t *most);
    /* Returns whether the device has what the candidate takes. NULL: it has where the solver runs. */
    bool (*has)(const lfuse__product_class *p, const lfuse__facts *facts);
    /* Returns whether the candidate is fast for these extents; else it is taken by name alone. NULL: for all. */
    bool (*suits)(const lfuse__product_class *p, const int64_t *extents);
    /*
     * Sets *cut to the candidate's fastest one, and its time in cycles. Returns false where the candidate cannot
     * compute these sizes. NULL: there is one candidate, and it is not measured.
     */
    bool (*cost)(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, lfuse__cut *cut);

    /* The kernels: problem.h says what the functions of the same names return. */
    int phases; /* of a run */
    int (*first)(const lfuse__kernel_class *c); /* the first phase that has a launch; NULL: 0 */
    uint64_t (*tickets)(const lfuse__kernel_class *c); /* NULL: 0 */
    uint64_t (*workspace)(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g);
    /* Of solvers that keep what they make of a frozen operand, `kept` of the class. NULL: it keeps nothing. */
    uint64_t (*kept)(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g);
    unsigned (*local_bytes)(const lfuse__kernel_class *c); /* dynamic local memory of a launch; NULL: 0 */
    lfuse_status (*emit)(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c,
                         const lfuse__facts *facts);
    lfuse_status (*pack)(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                         lfuse__packed *packed);

    /*
     * The products of the members of lists (grouped.h), of sizes[members]. All NULL: the solver takes none.
     *   - grouped_cost returns the estimated cycles of all of them; below 0: the candidate cannot multiply such. NULL:
     *     there is one candidate, and no other solver.
     *   - grouped_cut sets how members are cut into blocks.
     *   - grouped_emit appends the kernel's text; `plain` is the class as it is for a single product.
     */
    double (*grouped_cost)(const lfuse__product_class *p, const lfuse__facts *facts, int64_t members,
                           const lfuse__matmul_sizes *sizes);
    void (*grouped_cut)(const lfuse__kernel_class *c, const lfuse__facts *facts, int64_t members,
                        const lfuse__matmul_sizes *sizes, struct lfuse__grouped_cut *cut);
    lfuse_status (*grouped_emit)(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *plain,
                                 const lfuse__kernel_class *c, const lfuse__facts *facts);
};

#define LFUSE__SOLVER(name) extern const lfuse__solver lfuse__##name;
#include "common/matmul/solvers.def"
/* All of them in the order of solvers.def, NULL behind them. */
extern const lfuse__solver *const lfuse__solvers[];
/* Returns NULL where the solver may take the product in its precision, as `declines` does. */
const char *lfuse__solver_declines(const lfuse__solver *solver, const lfuse__facts *facts,
                                   const lfuse__matmul_desc *desc);
/* Returns whether the solver has candidates, runs on the device and takes the product. */
bool lfuse__solver_takes(const lfuse__solver *solver, const lfuse__facts *facts, const lfuse__matmul_desc *desc);
/* Returns what `pays` says. */
bool lfuse__solver_pays(const lfuse__solver *solver, const lfuse__facts *facts);
/* choose.c: ERR_UNSUPPORTED where no solver with candidates runs on the device. */
lfuse_status lfuse__matmul_possible(const lfuse__facts *facts);

#endif
