/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan body: a graph turned into steps, without names, devices or memory. Made by passes, each a pure function with
 * its own file and tests. Sees capabilities as data (lfuse__facts). May use common/base/ and common/graph/.
 *
 * The printed form, one line; `name` stands for what is bound, tN for buffer N:
 *
 *     plan      = step { " " step } { choice } in order of execution, of each stage the preferred alternative;
 *                                              a device's plan adds what replay.c of common/run/ says
 *     choice    = " (levels " N " " size " x " size " x " size " " why ")"     of a product's m, n, k
 *     step      = "(prepare " work ")" | work
 *     work      = "(pointwise " loop stores ")"
 *               | "(rows " loop N stores ")"                                       N: of the last axes, reduced
 *               | "(bundle" { " " work } ")"
 *               | "(network" { " " work } ")"    products, each of what the one before stores, in one launch
 *               | "(gemm " [ { size " x " } size " of " ] size " x " size " x " size [ how ] made
 *                 (" " expr | stores) ")"
 *                                                                  of a batch, m, n, k; `acc` is the product;
 *                                                                  stores: where there are several
 *               | "(strassen " size " x " size [ " of " levels ] [ " to " [ "turned " ] [ "right " ] levels ]
 *                 stores ")"                                       of products, to factors
 *               | "(scatter " loop " (" place " (scatter_add " place " " place " " size ")))"   loop: of the source
 *               | "(multi " list stores ")" | "(members " list stores ")"          list: whose members are walked
 *               | "(lines " list stores ")"
 *               | "(grouped " factor " x " factor stores ")"                       `acc` as above, of each member
 *     made      = [ " (left " expr ")" ] [ " (right " expr ")" ]    what its operands are made of
 *     how       = " in tf32" | " of " type " in f32"               operands rounded, or narrower than their sums
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

#include "common/base/facts.h"
#include "common/graph/graph.h"
#include "common/plan/body.h"
#include "libfuse/plan.h"

/* Where the memory of an operand comes from. */
typedef enum lfuse__place {
    LFUSE__PLACE_BOUND,    /* the tensor or list bound to names[index] */
    LFUSE__PLACE_SCRATCH,  /* buffers[index], in the stream's arena */
    LFUSE__PLACE_PREPARED, /* buffers[index], owned by the instance, filled by prepare steps */
    LFUSE__PLACE_INDEX,    /* no memory: a load gives the offset itself, in elements (i64) */
    LFUSE__PLACE_SUM,      /* so of products with a body: what the product is before that, f32 or f64; A or B, made */
    LFUSE__PLACE_ELEMENTS, /* of MEMBERS: how many elements each member of names[index] has (i64) */
    LFUSE__PLACE_ROWS,     /* so of rows, columns and axes, in lists of matrices */
    LFUSE__PLACE_COLUMNS,
    LFUSE__PLACE_RANK,
    LFUSE__PLACE_SHAPE     /* the last operand of a step that needs it: matrices, rows, columns of each member (i64) */
} lfuse__place;

/* Whether an operand of a step walks tensors or lists. */
typedef enum lfuse__span {
    LFUSE__SPAN_TENSOR,  /* by axes; in a step over lists: one number for all members */
    LFUSE__SPAN_LIST,    /* element of the member */
    LFUSE__SPAN_MEMBERS, /* one number for each member */
    LFUSE__SPAN_ROWS,    /* one for each row of the member's matrices, */
    LFUSE__SPAN_COLUMNS, /* column, */
    LFUSE__SPAN_MATRICES /* or matrix */
} lfuse__span;

/*
 * The memory of a TENSOR is seen as row-major of `shape` (that of what is bound or of the buffer, or another one of as
 * many elements). The element at loop index (i_0, i_1 ...) has in that shape the coordinates
 *     c[m] = offset[m] + sum over the loop axes a with axis[a] == m of step[a] i_a,
 * and along `gathered` what the register of the load gives instead. Equal operands are equal bytes.
 */
typedef struct lfuse__operand {
    lfuse__place place;
    lfuse__span span;
    int index;
    lfuse_type type; /* as stored */
    bool written;
    int8_t rank;
    int8_t gathered;             /* axis of the shape, -1: none */
    int8_t axis[LFUSE_MAX_RANK]; /* axis of the shape that loop axis a walks; -1: repeats */
    lfuse_size shape[LFUSE_MAX_RANK];
    lfuse_size offset[LFUSE_MAX_RANK]; /* [axis of the shape]; may be an expression */
    lfuse_size step[LFUSE_MAX_RANK];   /* [loop axis]; numbers may be negative, 0 where axis is -1 */
} lfuse__operand;

/*
 * A list that nobody binds: products of the members of two others, which are names, or lists before this one. Lists of
 * a plan are counted so, behind the names: list i of these is number nnames + i.
 */
typedef struct lfuse__product_list {
    int factors[2];
    bool transposed[2];
} lfuse__product_list;

/* Memory between steps: contiguous. */
typedef struct lfuse__buffer {
    lfuse__place place;
    lfuse__span span; /* LIST: every member's elements, MEMBERS: one element a member of names[list], and so on */
    lfuse_type type;
    int list;         /* -1 for tensors */
    int rank;
    lfuse_size shape[LFUSE_MAX_RANK];
} lfuse__buffer;

typedef enum lfuse__step_kind {
    LFUSE__STEP_POINTWISE,
    LFUSE__STEP_GEMM,
    LFUSE__STEP_SCATTER,
    LFUSE__STEP_MULTI,      /* pointwise over lists */
    LFUSE__STEP_MEMBERS,    /* the body's REDUCEs run over the elements of each member, its TOTALs over the members;
                               what is stored is MEMBERS, made of the former, or TENSOR, made of the latter alone */
    LFUSE__STEP_GROUPED,    /* products of the members of two lists, by the library's own kernels */
    LFUSE__STEP_LINES,      /* the body's one REDUCE runs along each row, or column, of each member of a list of
                               matrices; what is stored is of span ROWS, COLUMNS or MATRICES */
    LFUSE__STEP_STRASSEN,   /* pointwise over a matrix that is read as what seven products for one come to, or stored
                               as what such are made of, or both */
    LFUSE__STEP_ROWS,       /* the body's REDUCEs run over the last naxes loop axes; always at least one of each */
    LFUSE__STEP_BUNDLE,     /* independent steps in one launch: children[], each POINTWISE or ROWS */
    LFUSE__STEP_NETWORK,    /* products in one launch, each of which multiplies what the one before stores: children[],
                               each GEMM of the native kind; operands and body: as network_kinds.c says */
    LFUSE__STEP_KINDS
} lfuse__step_kind;

/*
 * A product: operands[0] is A, [1] is B; the last two axes of the step are m and n; so those of A's walk are m and k,
 * of B's k and n. Those before are the batch's, the same for all operands.
 * For a vendor's library: [2] is D, [3] the bias when the epilogue has one, which walks the last axis alone.
 * D = epilogue(alpha A B + beta C), C being D or an operand of its own.
 * `native`: [2] is of place SUM, and the step's body makes of it whatever the step stores in the others, which are
 * walked by the step's axes. Where the body has a REDUCE, of which there is one, it sums over m, and what is stored of
 * what is made of it walks n alone. GROUPED is as a native one, but has no REDUCE, its operands being lists; the last
 * one is the SHAPE: matrices, m, n and k of each member.
 */
typedef struct lfuse__product {
    lfuse_type type;   /* of the operands; native ones have each their own */
    bool wide;         /* of f16 and bf16: the result is f32, the sums as they are */
    bool tf32;         /* the operands are rounded so; never native */
    lfuse_size m, n, k;
    int epilogue;    /* lfuse__epilogue, as the waist counts them */
    int alpha, beta; /* index in plan->numbers; -1: alpha is 1, beta 1 where C is added and else 0 */
    bool adds;       /* the vendor's: C is added */
    int bias, addend; /* the vendor's: index in operands; 0: no bias, C is D */
    bool native;
    bool ahead;      /* native, with others behind it: sizes of runs decide, so it is compiled with the plan */
    int made[2];        /* native: 1 + the register that is an element of A or B, which is of place SUM then and lies
                           nowhere; 0: it lies in memory. What such a register is made of is walked by A's, or B's, rows
                           and columns, and by nobody else in the body */
} lfuse__product;

/*
 * Rows added to those that indices name: operands[0] is the source, walked by the axes of `shape`, [1] the indices,
 * walked by the first `indices` of these, [2] the result, walked by the axes of the step's loop: the named row, then
 * the others.
 */
typedef struct lfuse__scattering {
    int rank, indices;
    lfuse_size shape[LFUSE_MAX_RANK];
} lfuse__scattering;

/*
 * Products by Strassen's algorithm. A matrix that is padded to `rows` x `columns` falls into 2^L x 2^L blocks; for L
 * levels there are 7^L matrices of a block's size behind each other. operands[0] is the 7^in products, [2] of place
 * SUM: a LOAD of it is the element that they come to. What is stored to operands[1] is combined to the 7^out left
 * factors, or `right` ones, of the next product: zeros where the matrix is padded; `turned`: the step is over the
 * matrix as it is stored, which is the operand transposed, and so are its factors. Where `in` or `out` is 0 that
 * operand is of place SUM too. The others are walked by the step's axes.
 */
typedef struct lfuse__strassening {
    int8_t in, out;
    bool right, turned;
    lfuse_size rows, columns;
} lfuse__strassening;

/* What was decided for a product, where the plan may use Strassen's algorithm. */
typedef struct lfuse__strassen_choice {
    lfuse_size m, n, k;
    int levels;
    const char *why; /* static */
    double gain;     /* the time without it by the time with it, as predicted; 0: nobody did */
} lfuse__strassen_choice;

/*
 * Networks: layers and different epilogues of one, rows that they are for (with more, products have work enough of
 * their own), operands of all epilogues together with what is in front of them, and the places in memory that a launch
 * is told: of each layer its weights' and as many as all epilogues load from.
 */
enum {
    LFUSE__NETWORK_LAYERS_MOST = 16,
    LFUSE__NETWORK_KINDS_MOST = 4,
    LFUSE__NETWORK_ROWS_MOST = 64,
    LFUSE__NETWORK_OPERANDS_MOST = 12,
    LFUSE__NETWORK_PLACES_MOST = 37
};

/* Of a network's children: the stages that it stands for, its epilogue, and what its operands are of the network's. */
typedef struct lfuse__layer {
    int stages;
    int kind; /* it stores the register of the network's stores[kind] */
    int8_t slots[LFUSE__NETWORK_OPERANDS_MOST];
} lfuse__layer;

/* The walk of a step over lists. */
typedef struct lfuse__list_walk {
    int list;           /* one that every other of the step must be congruent with; GROUPED: that of the products */
    lfuse__span walked; /* what the loop is of; LINES: what is reduced, LIST, ROWS or COLUMNS */
    bool columns;       /* LINES: along columns, not rows */
    bool transposed[2]; /* GROUPED: A and B; those of a GEMM are told by their walks */
} lfuse__list_walk;

typedef struct lfuse__step {
    lfuse__step_kind kind;
    bool prepare; /* of the prepare phase: depends on frozen inputs and constants alone */
    int rank, naxes;
    lfuse_size extents[LFUSE_MAX_RANK]; /* of the loop */
    int noperands;
    lfuse__operand *operands;
    lfuse__body body;       /* not for SCATTER, nor for GEMM but of the native kind */
    int *numbers;           /* [body.nnumbers] index of each in plan->numbers */
    union {                 /* by kind; POINTWISE and ROWS have nothing of their own */
        struct {            /* GEMM */
            lfuse__product product;
            lfuse__layer layer; /* of the children of a NETWORK */
        };
        lfuse__list_walk lists;       /* MULTI, MEMBERS, LINES, GROUPED */
        lfuse__scattering scattering; /* SCATTER */
        lfuse__strassening strassen;  /* STRASSEN */
        struct {                      /* BUNDLE, NETWORK */
            int nchildren;
            struct lfuse__step *children;
        };
    };
} lfuse__step;

/* step.c: how many steps a step is made of, and these; 0: it is one itself. */
int lfuse__step_children(const lfuse__step *step, struct lfuse__step **children);
/* The list that a step over lists is of; -1: it is over tensors. */
int lfuse__step_list(const lfuse__step *step);

/* Sizes that an alternative is for: so many rows at most, of so many elements at least (its first step's); 0: any. */
typedef struct lfuse__guard {
    int64_t most_rows, least_length;
} lfuse__guard;

/*
 * One way to do a part of the plan: steps, tried in order of preference when an instance is made ("not me" is a normal
 * answer: a vendor library declines an epilogue or a type, and the next one is asked). One with a guard comes before
 * all others where its guard holds, and is no choice where it does not.
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
    struct lfuse__step *network; /* of kind NETWORK: stands for this stage and those behind it, `covers` together; for
                                    those of as many of its layers as can be furnished; NULL: none */
    int covers;
    bool covered;                /* by a network, of this stage or of one before */
} lfuse__stage;

typedef struct lfuse__plan_body {
    lfuse_graph *graph; /* canonical; a copy of the body's own, whose names are those of whoever came first */
    int nstages;
    lfuse__stage *stages; /* in order of execution, prepare steps first */
    int nbuffers;
    lfuse__buffer *buffers;
    int nnumbers;
    int32_t *numbers; /* graph nodes of type NONE whose values kernels and products take */
    int nchecked;
    int32_t *checked; /* checked casts: what a run refuses numbers for */
    int nchoices;
    lfuse__strassen_choice *choices; /* in the order of the graph; none where the plan may not */
    int nlists;
    lfuse__product_list *lists; /* lists behind the names */
} lfuse__plan_body;

/*
 * passes.c: runs the passes. `canonical` is not kept. ERR_TYPE when the device lacks a type (f64), ERR_UNSUPPORTED when
 * `exact` is asked and lacking. Of the options `disable`, `exact`, `provider` and `strassen` are read.
 */
lfuse_status lfuse__plan_make(const lfuse_graph *canonical, const lfuse__facts *facts,
                              const lfuse_plan_options *options, lfuse__plan_body **body);
void lfuse__plan_free(lfuse__plan_body *body);

/*
 * lower.c: a canonical graph with concatenations sunk towards results and products with few columns made into sums, as
 * `disable` (LFUSE_NO_VIEW_FUSION, LFUSE_NO_SMALL_PRODUCTS) allows; canonical too. Sizes and names keep their indices.
 */
lfuse_status lfuse__graph_lower(const lfuse_graph *canonical, unsigned disable, lfuse_graph **lowered);

/* The memory behind an operand of span TENSOR: rank and shape of what is bound, or of the buffer. */
void lfuse__plan_memory(const lfuse__plan_body *plan, const lfuse__operand *o, int *rank, const lfuse_size **shape);

/*
 * loop.c: the loop of a step whose tensors are all contiguous as declared, with the axes merged that can be merged
 * whatever the sizes are. Axis i of the merged loop is the loop axes first[i] ... first[i + 1] - 1; none in a loop of
 * one element, which has rank 1.
 */
typedef struct lfuse__loop {
    int rank;
    int8_t first[LFUSE_MAX_RANK + 1];
} lfuse__loop;
/*
 * Merges neither across loop axis `barrier` nor out of it; steps that reduce pass their first reduced axis, others -1.
 */
void lfuse__plan_loop(const lfuse__plan_body *plan, const lfuse__step *step, int barrier, lfuse__loop *loop);
/* Whether the operand walks loop axes a and then b (those between have the extent 1) as it would walk one axis. */
bool lfuse__plan_merges(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__operand *o, int a, int b);
/* How far apart in memory neighbours along a loop axis are: 0 elements, 1, or what the sizes tell. */
typedef enum lfuse__stepping { LFUSE__STEPPING_NONE, LFUSE__STEPPING_UNIT, LFUSE__STEPPING_ANY } lfuse__stepping;
lfuse__stepping lfuse__plan_stepping(const lfuse__plan_body *plan, const lfuse__operand *o, int axis);
/* layout.c */
/* Byte offsets of scratch buffers by lifetime, for actual bytes (0: not used); returns the peak. */
uint64_t lfuse__plan_layout(int nbuffers, const uint64_t *bytes, const int *first, const int *last,
                            uint64_t alignment, uint64_t *offsets);

/*
 * place.c: the plan's graph with the names of `names`, whose own nodes and sizes are those before lowering. Shares all
 * but sizes; NULL when memory is out. And one operand.
 */
lfuse_graph *lfuse__plan_dress(const lfuse__plan_body *plan, const lfuse_graph *names);
void lfuse__plan_undress(lfuse_graph *dressed);
void lfuse__operand_print(const lfuse__plan_body *plan, const lfuse__operand *o, const lfuse_graph *names,
                          lfuse__strbuf *out);
/* The list by its number: the name, or what it is the product of. */
void lfuse__list_print(const lfuse__plan_body *plan, int list, const lfuse_graph *names, lfuse__strbuf *out);
/* print.c; `names` is the graph whose names are printed: equal to the plan's but for them. */
void lfuse__plan_print(const lfuse__plan_body *plan, const lfuse_graph *names, lfuse__strbuf *out);
void lfuse__step_print(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse_graph *names,
                       lfuse__strbuf *out);

#endif
