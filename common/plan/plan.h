/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan body: a graph turned into steps, without names, devices or memory. Passes make it, each a pure function with
 * its own file and tests, which see the device's capabilities as data (lfuse__facts). common/plan/ may use common/base/
 * and common/graph/.
 *
 * The printed form, one line; `name` stands for what is bound, tN for buffer N:
 *
 *     plan      = step { " " step } { choice } in order of execution, of each stage the preferred alternative;
 *                                              a device's plan adds what replay.c of common/run/ says
 *     choice    = " (levels " N " " size " x " size " x " size " " why ")"     of a product's m, n, k
 *     step      = "(prepare " work ")" | work
 *     work      = "(" word " " loop [ N ] stores ")"   a kernel over the elements or rows of tensors, such as
 *                                                      pointwise and rows (families.def); N: of the last axes, a row's
 *               | "(bundle" { " " work } ")"
 *               | "(network" { " " work } ")"    products, each of what the one before stores, in one launch
 *               | "(gemm " [ { size " x " } size " of " ] size " x " size " x " size [ how ] made
 *                 (" " expr | stores) ")"
 *                                                                  of a batch, m, n, k; `acc` is the product;
 *                                                                  stores: where there are several
 *               | "(strassen " size " x " size [ " of " levels ] [ " to " [ "transposed " ] [ "right " ] levels ]
 *                 stores ")"                                       of products, to factors
 *               | "(scatter " loop " (" place " (scatter_add " place " " place " " size ")))"   loop: of the source
 *               | "(multi " list stores ")" | "(members " list stores ")"          list: whose members are walked
 *               | "(lines " list stores ")"
 *               | "(grouped " factor " x " factor stores ")"                       `acc` as above, of each member
 *     made      = [ " (left " expr ")" ] [ " (right " expr ")" ]    what its operands are made of
 *     how       = " in " precision | " of " type " in f32"          operands rounded or split; narrower than their sums
 *     list      = name | "(" factor " x " factor ")"                               what nobody binds: products
 *     factor    = ( list | place ) [ "^T" ]
 *     loop      = { size " x " } size | "1"
 *     stores    = { " (" place " " expr ")" }
 *     place     = name [ "[" { coordinate "," } coordinate "]" ]   where the walk is more than by axes: of each axis of
 *                                                                  the memory's shape offset and steps, 4+2i1; @:
 *                                                                  looked up
 *     expr      = place | number | "(" op { " " expr } ")" | "%" N "=" expr | "%" N
 *
 * where %N= marks a value that is used again.
 */
#ifndef COMMON_PLAN_PLAN_H
#define COMMON_PLAN_PLAN_H

#include "common/base/epilogue.h"
#include "common/base/facts.h"
#include "common/graph/graph.h"
#include "common/plan/advice.h"
#include "common/plan/body.h"
#include "libfuse/plan.h"

/* Where an operand is loaded from, or stored. */
typedef enum lfuse__place {
    LFUSE__PLACE_BOUND,    /* the tensor or list bound to names[index] */
    LFUSE__PLACE_SCRATCH,  /* buffers[index], in the stream's scratch memory */
    LFUSE__PLACE_PREPARED, /* buffers[index], which the instance owns and prepare steps fill */
    LFUSE__PLACE_INDEX,    /* no memory: a load gives the element's offset itself (i64) */
    LFUSE__PLACE_SUM,      /* no memory: in a product with a body, a load gives the product's sum (f32 or f64); A and B
                              have this place too where the body computes them */
    LFUSE__PLACE_ELEMENTS, /* no memory: a load gives how many elements a member of names[index] has (i64) */
    LFUSE__PLACE_ROWS,     /* no memory: a load gives how many rows a member has that is a matrix */
    LFUSE__PLACE_COLUMNS,  /* no memory: a load gives how many columns it has */
    LFUSE__PLACE_RANK,     /* no memory: a load gives how many axes it has */
    LFUSE__PLACE_SHAPE     /* a table of how many matrices, rows and columns each member has (i64); the last operand */
} lfuse__place;

/* What an operand has one element for. */
typedef enum lfuse__span {
    LFUSE__SPAN_TENSOR,  /* for each element of a tensor, by axes; in a step over lists one for all members */
    LFUSE__SPAN_LIST,    /* for each element of each member */
    LFUSE__SPAN_MEMBERS, /* for each member */
    LFUSE__SPAN_ROWS,    /* for each row of each member's matrices */
    LFUSE__SPAN_COLUMNS, /* for each column of them */
    LFUSE__SPAN_MATRICES /* for each matrix of them */
} lfuse__span;

/*
 * An operand of a step: what a kernel loads or stores at each index of its loop. A tensor's memory counts as a
 * row-major array of the shape `shape`, which has as many elements as the tensor or buffer. At loop index
 * (i_0, i_1 ...) the operand is the element with the coordinates
 *     c[m] = offset[m] + sum over the loop axes a with axis[a] == m of step[a] i_a,
 * but for the axis `gathered`, whose coordinate is the value of the load's register. Equal operands are equal bytes.
 */
typedef struct lfuse__operand {
    lfuse__place place;
    lfuse__span span;
    int index;       /* as `place` says */
    lfuse_type type; /* in memory */
    bool written;    /* it is stored, else loaded */
    int8_t rank;     /* of the shape */
    int8_t gathered;             /* the axis of the shape along which indices are looked up; -1: none */
    int8_t axis[LFUSE_MAX_RANK]; /* [loop axis] the axis of the shape that it walks; -1: the operand repeats */
    lfuse_size shape[LFUSE_MAX_RANK];
    lfuse_size offset[LFUSE_MAX_RANK]; /* [axis of the shape]; may be an expression */
    lfuse_size step[LFUSE_MAX_RANK];   /* [loop axis] of elements along its axis; may be negative; 0 where axis is -1 */
} lfuse__operand;

/*
 * A list that the plan makes itself: its member i is the product of the members i of two other lists. The index of a
 * list is that of its name in the graph; those of the plan's own lists follow: nnames + i is lists[i], whose factors
 * have lower indices.
 */
typedef struct lfuse__product_list {
    int factors[2];
    bool transposed[2];
} lfuse__product_list;

/* Contiguous memory that one step writes and later ones read. */
typedef struct lfuse__buffer {
    lfuse__place place; /* SCRATCH or PREPARED */
    lfuse__span span;   /* what it has an element for, of the members of `list` */
    lfuse_type type;
    int list;           /* -1: it is a tensor of the shape below */
    int rank;
    lfuse_size shape[LFUSE_MAX_RANK];
} lfuse__buffer;

/* What a step computes: families.def says it of each kind. */
typedef enum lfuse__step_kind {
#define LFUSE__STEP(kind, ...) LFUSE__STEP_##kind,
#include "common/plan/families.def"
    LFUSE__STEP_KINDS
} lfuse__step_kind;

/* What a kind of step goes over. */
typedef enum lfuse__over {
    LFUSE__OVER_ELEMENTS, /* the elements of tensors */
    LFUSE__OVER_ROWS,     /* the rows of tensors, along the last `naxes` axes of the loop */
    LFUSE__OVER_LISTS,    /* lists, as the member `lists` says */
    LFUSE__OVER_STEPS,    /* its children */
    LFUSE__OVER_OTHER     /* what the kind's own member says */
} lfuse__over;

/*
 * A product D = epilogue(alpha A B + beta C), of m x k by k x n.
 *   - The last two axes of the step's loop are m and n; axes before them count the products of a batch.
 *   - operands[0] is A, whose last two axes are m and k, and operands[1] is B, of k and n.
 * By the vendor's library:
 *   - operands[2] is D; operands[inputs[i]] is the input i of the epilogue, of which ADDEND is C, unless C is D.
 * By the library's own kernels (`native`), and of GROUPED:
 *   - operands[2] is of place SUM, and the step's body makes of the sum what is stored in the operands behind.
 *   - A REDUCE of the body, of which there is one at most, sums over m; what is stored of it has n alone.
 *   - GROUPED has lists as operands and no REDUCE; its last operand has place SHAPE: m, n and k of each member.
 */
typedef struct lfuse__product {
    lfuse_type type;   /* of A and B; those of native ones have the operands' own types */
    bool wide;         /* A and B are of narrow types and D is the f32 sums */
    lfuse_precision precision; /* FULL; TF32: A and B are rounded; others, native: they may be split */
    bool frozen[2];    /* native: A, or B, is a frozen input or made of such alone */
    lfuse_size m, n, k;
    lfuse__epilogue epilogue; /* the vendor's */
    int alpha, beta;   /* index in plan->numbers; -1: alpha is 1, beta 1 where C is added, else 0 */
    bool adds;         /* the vendor's: C is added */
    int inputs[LFUSE__EPILOGUE_INPUTS]; /* the vendor's: index in operands; 0: it takes no such input, or C is D */
    bool native;
    bool ahead;        /* native, and other alternatives follow: the sizes of a run decide, so that its kernels are
                          compiled with the plan */
    bool behind;       /* native: of other alternatives the first one is a vendor's product and a kernel behind it */
    int prologue[2];   /* native: where the body computes an element of A, or B, 1 + the register that holds it, the
                          operand being of place SUM; what that register is made of is walked by m and k, or k and n,
                          and the rest of the body does not use it. 0: the matrix lies in memory */
} lfuse__product;

/*
 * A scatter_add. `shape` is the source's, whose first `indices` axes are those of the indices.
 *   - operands[0] is the source, walked by the axes of `shape`.
 *   - operands[1] are the indices, walked by the first `indices` of them.
 *   - operands[2] is the result, walked by the axes of the step's loop: the first is the row that an index names, the
 *     others are the source's axes behind the indices.
 */
typedef struct lfuse__scattering {
    int rank, indices;
    lfuse_size shape[LFUSE_MAX_RANK];
} lfuse__scattering;

/*
 * A step of Strassen's algorithm with L levels. A matrix, padded to `rows` x `columns`, has 2^L x 2^L blocks; 7^L
 * matrices of a block's size, one behind the other, hold the products, and as many their left or right factors.
 *   - operands[0] are the 7^in products; operands[2], of place SUM, loads the element of their sum.
 *   - operands[1] is stored: the 7^out factors, left or `right`, of the next product, 0 in the padding.
 *   - `transposed`: the loop goes over the matrix as it is stored, which is the transpose of the operand.
 *   - Where `in` or `out` is 0 its operand is of place SUM and unused. Other operands are walked by the loop's axes.
 */
typedef struct lfuse__strassening {
    int8_t in, out;
    bool right, transposed;
    lfuse_size rows, columns;
} lfuse__strassening;

/* Whether Strassen's algorithm is used for a product of a plan that may use it, and why. */
typedef struct lfuse__strassen_choice {
    lfuse_size m, n, k;
    int levels;
    const char *why; /* static */
    double gain;     /* predicted: the time without it by the time with it; 0: not predicted */
} lfuse__strassen_choice;

/* A child of a NETWORK. */
typedef struct lfuse__layer {
    int stages; /* of the plan, that it stands for */
    int kind;   /* its epilogue: it stores the register of the network's stores[kind] */
    int8_t slots[LFUSE__NETWORK_OPERANDS_MOST]; /* [operand of the layer] the operand of the network */
} lfuse__layer;

/* The loop of a step over lists. */
typedef struct lfuse__list_walk {
    int list;           /* the list whose members it goes over; all lists of the step are congruent with it. GROUPED:
                           the list of the products */
    lfuse__span walked; /* what the loop has an iteration for. LINES: what is reduced: LIST, ROWS or COLUMNS */
    bool columns;       /* LINES: reductions run along columns, not rows */
    bool transposed[2]; /* GROUPED: A is transposed, B is; of a GEMM their walks say so */
} lfuse__list_walk;

typedef struct lfuse__step {
    lfuse__step_kind kind;
    bool prepare;    /* it is of the prepare phase, as it depends on frozen inputs and constants alone */
    int rank, naxes; /* how many axes the loop has, and how many of them, the last ones, are a row's */
    lfuse_size extents[LFUSE_MAX_RANK]; /* of the loop */
    int noperands;
    lfuse__operand *operands;
    lfuse__body body;       /* empty of SCATTER, and of a GEMM by the vendor's library */
    int *numbers;           /* [body.nnumbers] the index of each in plan->numbers */
    union { /* by kind; some kinds have no member */
#define LFUSE__STEP(kind, word, print, over, family, classes, want, share, instantiate, launches, members) members
#include "common/plan/families.def"
    };
} lfuse__step;

/* step.c: sets *children to the steps that a step consists of, and returns how many they are; 0: it is a kernel. */
int lfuse__step_children(const lfuse__step *step, struct lfuse__step **children);
/* Returns the list that the step goes over; -1: it goes over tensors. */
int lfuse__step_list(const lfuse__step *step);
/* Return what a step, or a kind of step, goes over. */
lfuse__over lfuse__step_over(const lfuse__step *step);
lfuse__over lfuse__kind_over(lfuse__step_kind kind);

/* The sizes that an alternative is for. The loop is that of its first step; 0: there is no such limit. */
typedef struct lfuse__guard {
    int64_t most_rows;    /* rows of the loop */
    int64_t least_length; /* elements of a row */
} lfuse__guard;

/*
 * One way to compute a stage. An instance tries alternatives in order until one does not decline: a vendor's library
 * may lack an epilogue or a type. One with a guard is tried first where the guard holds, and else not at all.
 */
typedef struct lfuse__alternative {
    int nsteps;
    lfuse__step *steps;
    const char *name; /* "kernel", "native", "vendor", "vendor-epilogue", "vendor+pointwise", "widened", "phases",
                         "strassen", "native+rows"; static */
    lfuse__guard guard;
} lfuse__alternative;
typedef struct lfuse__stage {
    int nalternatives;
    lfuse__alternative *alternatives;
    struct lfuse__step *network; /* a step NETWORK, which computes this stage and the next ones, or only some of them
                                    where sizes or strides allow no more; NULL: there is none */
    int covers;                  /* how many stages the network computes */
    bool covered;                /* this stage's network computes the stage, or that of a stage before it */
} lfuse__stage;

typedef struct lfuse__plan_body {
    lfuse_graph *graph; /* canonical and lowered; it has the names of the graph that the plan was first made for */
    int nstages;
    lfuse__stage *stages; /* in order of execution, prepare steps first */
    int nbuffers;
    lfuse__buffer *buffers;
    int nnumbers;
    int32_t *numbers; /* nodes without a type, whose values kernels and products take */
    int nchecked;
    int32_t *checked; /* casts for which a run refuses numbers that the type cannot hold */
    int nchoices;
    lfuse__strassen_choice *choices; /* in the order of the graph; none where the plan may not use the algorithm */
    int nlists;
    lfuse__product_list *lists;
} lfuse__plan_body;

/*
 * passes.c: makes a plan of a canonical graph.
 *   - The graph is not kept; `advice` is asked while the function runs.
 *   - Of the options, which may be NULL, `disable`, `exact`, `provider`, `strassen`, `effort` and `precision` are read.
 *   - ERR_TYPE: the device lacks a type (f64). ERR_UNSUPPORTED: it does not compute exactly, as `exact` asks, or has no
 *     products in tf32.
 */
lfuse_status lfuse__plan_make(const lfuse_graph *canonical, const lfuse__facts *facts,
                              const lfuse__matmul_advice *advice, const lfuse_plan_options *options,
                              lfuse__plan_body **body);
/* Frees a plan, which may be NULL, and its graph. */
void lfuse__plan_free(lfuse__plan_body *body);

/*
 * lower.c: rewrites a canonical graph into another one. Sizes and names keep their indices.
 *   - Concatenations move towards results, and reshapes of what is reduced too: not with LFUSE_NO_VIEW_FUSION.
 *   - Products with few columns become sums: not with LFUSE_NO_SMALL_PRODUCTS.
 *   - Sums of few scattered rows become reductions.
 */
lfuse_status lfuse__graph_lower(const lfuse_graph *canonical, unsigned disable, lfuse_graph **lowered);

/* native.c: finds the bounds of a product's sizes; extents[rank] are those of the result: the batch, m, n. */
void lfuse__product_bounds(const lfuse_graph *g, int rank, const lfuse_size *extents, lfuse_size k,
                           lfuse__matmul_sizes *low, lfuse__matmul_sizes *high);

/*
 * loop.c: a step's loop over contiguous tensors, in which neighbouring axes are merged wherever that is right for all
 * sizes. Its axis i is the axes first[i] ... first[i + 1] - 1 of the step's loop. A loop of one element has rank 1 and
 * merges no axes.
 */
typedef struct lfuse__loop {
    int rank;
    int8_t first[LFUSE_MAX_RANK + 1];
} lfuse__loop;
/*
 * Sets *loop to the merged loop of a step. `barrier` is the first reduced axis, -1: there is none; no axis before it is
 * merged with it or those behind it.
 */
void lfuse__plan_loop(const lfuse__plan_body *plan, const lfuse__step *step, int barrier, lfuse__loop *loop);
/* Whether the operand walks axes a and b of the loop as one axis. Those between them have the extent 1. */
bool lfuse__plan_merges(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__operand *o, int a, int b);
/* How many elements apart in memory neighbours along an axis of the loop are: none, one, or what the sizes say. */
typedef enum lfuse__stepping { LFUSE__STEPPING_NONE, LFUSE__STEPPING_UNIT, LFUSE__STEPPING_ANY } lfuse__stepping;
lfuse__stepping lfuse__plan_stepping(const lfuse__plan_body *plan, const lfuse__operand *o, int axis);

/*
 * layout.c: sets the byte offsets of scratch buffers, multiples of `alignment`, so that those that are in use at one
 * time do not overlap. Returns how many bytes all of them take. Buffer i has bytes[i], 0: it is not used, and is in use
 * from step first[i] to step last[i].
 */
uint64_t lfuse__plan_layout(int nbuffers, const uint64_t *bytes, const int *first, const int *last,
                            uint64_t alignment, uint64_t *offsets);

/*
 * place.c: returns the plan's graph with the names of another one, which is equal to the graph that the plan was made
 * of but for its names. It shares all but its sizes with both; NULL: there is no memory.
 */
lfuse_graph *lfuse__plan_dress(const lfuse__plan_body *plan, const lfuse_graph *names);
void lfuse__plan_undress(lfuse_graph *dressed);
/* Appends where an operand lies and how it is walked; `names` is a graph that lfuse__plan_dress returned. */
void lfuse__operand_print(const lfuse__plan_body *plan, const lfuse__operand *o, const lfuse_graph *names,
                          lfuse__strbuf *out);
/* print.c: appends the name of a list, or what it is the product of; `names` as above. */
void lfuse__list_print(const lfuse__plan_body *plan, int list, const lfuse_graph *names, lfuse__strbuf *out);
/* Append a plan, or one step of it, with the names of a graph that lfuse__plan_dress takes. */
void lfuse__plan_print(const lfuse__plan_body *plan, const lfuse_graph *names, lfuse__strbuf *out);
void lfuse__step_print(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse_graph *names,
                       lfuse__strbuf *out);

#endif
