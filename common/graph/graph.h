/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph as the library sees it: an array of nodes in topological order (a node's inputs come before it).
 * Pure: no device, no I/O. May use common/base/ alone.
 */
#ifndef COMMON_GRAPH_GRAPH_H
#define COMMON_GRAPH_GRAPH_H

#include <stdbool.h>

#include "common/base/strbuf.h"
#include "common/graph/op.h"
#include "libfuse/graph.h"

/* Limits that keep a hostile graph from exhausting the machine. */
enum { LFUSE__MAX_NODES = 65536, LFUSE__MAX_NAME = 63, LFUSE__MAX_NUMBER_COST = 4096 };

/* nodes.def says what each is. */
typedef enum lfuse__node_kind {
#define LFUSE__NODE(kind, ...) LFUSE__##kind,
#include "common/graph/nodes.def"
    LFUSE__NODE_KINDS
} lfuse__node_kind;

/* Of a number, to an integer type or bool: a run whose number the type cannot hold exactly is refused. */
enum { LFUSE__CAST_CHECKED = 1, LFUSE__CAST_COUNT };

typedef struct lfuse__node {
    uint8_t kind; /* lfuse__node_kind */
    uint8_t op;   /* lfuse__op, of the REDUCEs and SCAN lfuse__reduce, of MATMUL lfuse_precision, of CAST see there */
    uint8_t type; /* lfuse_type; LFUSE_TYPE_NONE: a number in f64 (constants, scalars and functions of them alone) */
    bool list;    /* list value: rank is one of LFUSE_RANK_..., or 0 for one number a member */
    bool keepdims;
    int8_t rank, naxes, nin;
    int8_t axes[LFUSE_MAX_RANK];
    int32_t in[3];
    int32_t name; /* -1 where there is none */
    int32_t cost; /* of a number: operations of its tree, at most LFUSE__MAX_NUMBER_COST; else 0 */
    lfuse_size shape[LFUSE_MAX_RANK];
    lfuse_size start; /* SLICE; so the next */
    int64_t step;     /* not 0; may be negative */
    double number;
} lfuse__node;

/*
 * A symbolic extent: LFUSE__SIZE_BASE + index of one of these (negative numbers far from every plausible mistake). What
 * the public functions give and take also carries the graph's tag, so that a size of another graph is recognised;
 * nodes and expressions hold it without. Numbers inside expressions, and where a slice starts, may be negative.
 */
#define LFUSE__SIZE_BASE (INT64_MIN + 1)
enum { LFUSE__SIZE_INDEX_BITS = 20 };
typedef enum lfuse__size_kind {
    LFUSE__SIZE_VAR,
    LFUSE__SIZE_SUM,
    LFUSE__SIZE_PRODUCT,
    LFUSE__SIZE_QUOTIENT /* of plans alone: a by the number b, which is positive, rounded up */
} lfuse__size_kind;

/*
 * A polynomial in size variables, which an expression comes to; terms have one order, so that equal polynomials have
 * equal bytes. An expression that does not fit here counts as a variable of its own.
 */
enum { LFUSE__POLY_TERMS = 8, LFUSE__POLY_FACTORS = 8 };
typedef struct lfuse__poly_term {
    int64_t coefficient;
    int32_t variables[LFUSE__POLY_FACTORS]; /* indices in graph->sizes, ascending, then INT32_MAX */
} lfuse__poly_term;
typedef struct lfuse__poly {
    int32_t nterms;
    lfuse__poly_term terms[LFUSE__POLY_TERMS];
} lfuse__poly;

typedef struct lfuse__size_expr {
    lfuse__size_kind kind;
    char name[LFUSE__MAX_NAME + 1]; /* of a variable */
    lfuse_size a, b;                /* operands of the others, in canonical order */
    int64_t low, high;              /* bounds, of every kind; saturated */
    lfuse__poly poly;
} lfuse__size_expr;

typedef enum lfuse__name_kind {
    LFUSE__NAME_INPUT, LFUSE__NAME_FROZEN, LFUSE__NAME_LIST, LFUSE__NAME_SCALAR, LFUSE__NAME_OUTPUT
} lfuse__name_kind;
typedef struct lfuse__name { /* in order of declaration: a binding without a name goes by this index */
    char text[LFUSE__MAX_NAME + 1];
    lfuse__name_kind kind;
    int32_t node;   /* the input, or the value of the output */
    int32_t update; /* the node whose value is stored here at the end; -1: none. Inputs and lists only */
} lfuse__name;

/* How often a public builder was called. */
typedef struct lfuse__call {
    const char *name; /* static */
    int32_t count;
} lfuse__call;

struct lfuse_graph {
    lfuse__node *nodes;
    int32_t nnodes, node_capacity;
    lfuse__size_expr *sizes;
    int32_t nsizes, size_capacity;
    lfuse__name *names;
    int32_t nnames, name_capacity;
    lfuse__call *calls;
    int32_t ncalls, call_capacity, call; /* `call`: the public builder that was called last, as an index; -1: none */
    lfuse_status status; /* of the first mistake; so the next four */
    char message[256];
    int32_t failed_call, failed_number; /* the builder, -1: none, and which of its calls it was, from 1 on */
    char failed_output[LFUSE__MAX_NAME + 1]; /* the first output that is made of it; empty: none is known */
    int32_t mistakes;
    uint64_t tag; /* of this graph's public sizes; different for each graph of the process */
};

/* build.c: the builders' common part. A poisoned or foreign operand poisons the result. */
lfuse_value lfuse__graph_poison(lfuse_graph *g, lfuse_status status, const char *format, ...) LFUSE_PRINTF(3, 4);

/* build.c: returns a graph without nodes that has the sizes and names of another; NULL: there is no memory. */
lfuse_graph *lfuse__graph_without_nodes(const lfuse_graph *like);
/* build.c: whether both are tensors, or both lists, of one shape. */
bool lfuse__same_shape(const lfuse__node *a, const lfuse__node *b);

/* extent.c */
static inline bool lfuse__size_is_number(lfuse_size s) { return s >= LFUSE__SIZE_BASE + (INT64_C(1) << 62); }
/* Of a symbolic extent, with or without tag: its place in graph->sizes. */
static inline int32_t lfuse__size_index(lfuse_size s)
{
    return (int32_t)((uint64_t)(s - LFUSE__SIZE_BASE) & ((UINT64_C(1) << LFUSE__SIZE_INDEX_BITS) - 1));
}
/*
 * Sums and products of sizes as nodes hold them, numbers of either sign. Equal ones are the same size. False, and the
 * graph poisoned, when they cannot be counted.
 */
bool lfuse__size_add(lfuse_graph *g, const char *call, lfuse_size a, lfuse_size b, lfuse_size *sum);
bool lfuse__size_multiply(lfuse_graph *g, const char *call, lfuse_size a, lfuse_size b, lfuse_size *product);
/* How many pieces of `by` elements cover the size, which is not negative. */
bool lfuse__size_divide(lfuse_graph *g, const char *call, lfuse_size a, int64_t by, lfuse_size *pieces);
/* a / b. False where that is no whole number for all sizes, which is no mistake, or where b is no single product. */
bool lfuse__size_quotient(lfuse_graph *g, const char *call, lfuse_size a, lfuse_size b, lfuse_size *quotient);
/* Sets *size to the size that a polynomial comes to. False, and the graph poisoned, as above. */
bool lfuse__size_of_poly(lfuse_graph *g, const char *call, const lfuse__poly *f, lfuse_size *size);
/* Lowest and highest value within the variables' bounds. */
void lfuse__size_bounds(const lfuse_graph *g, lfuse_size s, int64_t *low, int64_t *high);
/* Value for given variables (values[i] belongs to sizes[i] where that is a variable). ERR_OVERFLOW. */
lfuse_status lfuse__size_evaluate(const lfuse_graph *g, lfuse_size s, const int64_t *values, int64_t *value);
void lfuse__size_print(const lfuse_graph *g, lfuse_size s, lfuse__strbuf *out);

/* poly.c: arithmetic on polynomials; false when the result does not fit. Results may be operands. */
void lfuse__poly_of(const lfuse_graph *g, lfuse_size s, lfuse__poly *poly);
/* The variable graph->sizes[index]. */
void lfuse__poly_variable(int32_t index, lfuse__poly *poly);
/* a + factor b */
bool lfuse__poly_add(const lfuse__poly *a, const lfuse__poly *b, int64_t factor, lfuse__poly *sum);
bool lfuse__poly_multiply(const lfuse__poly *a, const lfuse__poly *b, lfuse__poly *product);
/* a / b for b of one term; false also when it is no whole number for all sizes. */
bool lfuse__poly_divide(const lfuse__poly *a, const lfuse__poly *b, lfuse__poly *quotient);
bool lfuse__poly_equal(const lfuse__poly *a, const lfuse__poly *b);
/* Sets the lowest and the highest value of a - b; false where the difference does not fit. */
bool lfuse__size_difference(const lfuse_graph *g, lfuse_size a, lfuse_size b, int64_t *low, int64_t *high);
/* Sets the lowest and the highest value within the variables' bounds, saturated. */
void lfuse__poly_bounds(const lfuse_graph *g, const lfuse__poly *poly, int64_t *low, int64_t *high);

/*
 * check.c: what only the values of size variables show: a reduction without an identity of no elements. ERR_SHAPE with
 * the numbers.
 */
lfuse_status lfuse__graph_check_sizes(const lfuse_graph *g, const int64_t *sizes);

/*
 * simplify.c: canonical form: a new graph with constants folded (only rewrites that keep bits), equal nodes merged,
 * dead ones gone. Names stay, in order.
 */
lfuse_status lfuse__graph_canonical(const lfuse_graph *g, lfuse_graph **canonical);
/* number.c: value of a node of type NONE, in f64 by one fixed algorithm (powers by common/base/power.k);
 * scalars[i] belongs to names[i], sizes[i] to sizes[i] where that is a variable. NaN for an extent that overflows. */
double lfuse__graph_number(const lfuse_graph *g, int32_t node, const double *scalars, const int64_t *sizes);
/* One operator over numbers, by the same algorithm. */
double lfuse__op_value(lfuse__op op, double a, double b, double c);

/*
 * adopt.c: whether the type holds this very number (floating types hold all); and that the number which a checked cast
 * takes is such: ERR_TYPE with the number's name and value.
 */
bool lfuse__type_holds(lfuse_type type, double number);
lfuse_status lfuse__graph_check_number(const lfuse_graph *g, int32_t cast, const double *scalars, const int64_t *sizes);

/* print.c: one value, or the whole graph, in brackets; the whole, nameless, is the key of the plan cache. */
void lfuse__graph_print_value(const lfuse_graph *g, int32_t node, lfuse__strbuf *out);
void lfuse__graph_print(const lfuse_graph *g, lfuse__strbuf *out);
/* The words of the text; `op` of POINTWISE, the REDUCEs, SCAN, MATMUL and CAST. Static. */
const char *lfuse__node_word(lfuse__node_kind kind, int op);
const char *lfuse__name_word(lfuse__name_kind kind);
/* Of a list's rank; NULL where no list has it. */
const char *lfuse__list_word(int rank);
/* The whole graph in one line, with its names. */
void lfuse__graph_format(const lfuse_graph *g, lfuse__strbuf *out);
/*
 * parse.c: the graph that a text of either kind was printed of; printed again it is the same text. Where there are no
 * names, some are made. Everything is checked as the builders check it: ERR_INVALID (or what the builder found) with
 * the position and what is wrong there.
 */
lfuse_status lfuse__graph_parse(const char *text, lfuse_graph **graph);

#endif
