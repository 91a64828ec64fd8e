/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph as the library sees it: an array of nodes in topological order, so that a node's operands come before it.
 * common/graph/ is pure, without device and input or output, and may use common/base/ alone.
 */
#ifndef COMMON_GRAPH_GRAPH_H
#define COMMON_GRAPH_GRAPH_H

#include <stdbool.h>

#include "common/base/precision.h"
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

/* `op` of a CAST of a number to an integer type or bool; a run whose number the type cannot hold exactly is refused. */
enum { LFUSE__CAST_CHECKED = 1, LFUSE__CAST_COUNT };
/* `op` of a RESHAPE to the shape that the operand has, which the canonical form leaves where it is (checkpoint.c). */
enum { LFUSE__RESHAPE_FENCE = 1, LFUSE__RESHAPE_COUNT };
/* `op` of an IDENTITY: identity.def says what each is. */
typedef enum lfuse__identity_op {
#define LFUSE__IDENTITY_ROW(name, ...) LFUSE__IDENTITY_##name,
#include "common/graph/identity.def"
    LFUSE__IDENTITY_COUNT
} lfuse__identity_op;

typedef struct lfuse__node {
    uint8_t kind; /* lfuse__node_kind */
    uint8_t op;   /* as nodes.def says of the kind; else 0 */
    uint8_t type; /* lfuse_type; LFUSE_TYPE_NONE: a number in f64, computed from constants and scalars alone */
    bool list;    /* the value is a list: rank is one of LFUSE_RANK_..., or 0 for one number a member */
    bool keepdims; /* REDUCE: axes that are reduced stay, with the extent 1 */
    int8_t rank, naxes, nin;
    int8_t axes[LFUSE_MAX_RANK];
    int32_t in[3];    /* operands; -1 behind the last */
    int32_t name;     /* index in graph->names; -1: it has none */
    int32_t cost;     /* of a number: how many operations its tree has, at most LFUSE__MAX_NUMBER_COST; else 0 */
    lfuse_size shape[LFUSE_MAX_RANK];
    lfuse_size start; /* SLICE */
    int64_t step;     /* SLICE: not 0, may be negative */
    double number;    /* CONSTANT */
} lfuse__node;

/*
 * A size is a number, or symbolic: LFUSE__SIZE_BASE + the index of an expression in graph->sizes.
 *   - Symbolic sizes are negative numbers far from every plausible mistake.
 *   - Those that public functions give and take also carry the graph's tag, so that a size of another graph is
 *     recognised. Nodes and expressions hold sizes without it.
 *   - Numbers inside expressions, and where a slice starts, may be negative.
 */
#define LFUSE__SIZE_BASE (INT64_MIN + 1)
enum { LFUSE__SIZE_INDEX_BITS = 20 };
typedef enum lfuse__size_kind {
    LFUSE__SIZE_VAR,
    LFUSE__SIZE_SUM,
    LFUSE__SIZE_PRODUCT,
    LFUSE__SIZE_QUOTIENT /* a / b, rounded up, where b is a positive number; plans alone have these */
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
    char name[LFUSE__MAX_NAME + 1]; /* VAR */
    lfuse_size a, b;                /* the operands of other kinds; of sums and products in canonical order */
    int64_t low, high;              /* the lowest and the highest value, saturated */
    lfuse__poly poly;               /* what it comes to */
} lfuse__size_expr;

typedef enum lfuse__name_kind {
    LFUSE__NAME_INPUT, LFUSE__NAME_FROZEN, LFUSE__NAME_LIST, LFUSE__NAME_SCALAR, LFUSE__NAME_OUTPUT
} lfuse__name_kind;
/* Names are in the order in which they are declared; a binding without a name goes by this index. */
typedef struct lfuse__name {
    char text[LFUSE__MAX_NAME + 1];
    lfuse__name_kind kind;
    int32_t node;   /* the input, or the value of the output */
    int32_t update; /* of inputs and lists: the node whose value is stored here at the end; -1: none */
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
    int32_t ncalls, call_capacity, call; /* calls[call] is the public builder that was called last; -1: none was */
    lfuse_status status;                 /* of the first mistake */
    char message[256];                   /* of the first mistake */
    int32_t failed_call, failed_number;  /* the builder that made it, -1: none, and which call of it, from 1 on */
    char failed_output[LFUSE__MAX_NAME + 1]; /* the first output that depends on it; empty: none is known */
    int32_t mistakes; /* how many there are */
    int32_t nested;   /* not 0: a builder is at work that calls public ones, whose calls are not counted */
    uint64_t tag;     /* that this graph's public sizes carry; each graph of the process has its own */
};

/* mistake.c: records a mistake, of which the graph keeps the first one, and returns a poisoned value. g may be NULL. */
lfuse_value lfuse__graph_poison(lfuse_graph *g, lfuse_status status, const char *format, ...) LFUSE_PRINTF(3, 4);

/* build.c: returns a graph without nodes that has the sizes and names of another; NULL: there is no memory. */
lfuse_graph *lfuse__graph_without_nodes(const lfuse_graph *like);
/* build.c: returns a copy, whose values and sizes have the same numbers; NULL: there is no memory. */
lfuse_graph *lfuse__graph_copy(const lfuse_graph *g);
/* build.c: whether both are tensors, or both lists, of one shape. */
bool lfuse__same_shape(const lfuse__node *a, const lfuse__node *b);

/* Whether a size is no symbolic one. */
static inline bool lfuse__size_is_number(lfuse_size s) { return s >= LFUSE__SIZE_BASE + (INT64_C(1) << 62); }
/* Returns the index in graph->sizes of a symbolic size, with or without tag. */
static inline int32_t lfuse__size_index(lfuse_size s)
{
    return (int32_t)((uint64_t)(s - LFUSE__SIZE_BASE) & ((UINT64_C(1) << LFUSE__SIZE_INDEX_BITS) - 1));
}
/*
 * extent.c: arithmetic of sizes as nodes hold them, numbers of either sign. Results of one value are the same size.
 * False, and the graph poisoned: the result cannot be counted.
 */
bool lfuse__size_add(lfuse_graph *g, const char *call, lfuse_size a, lfuse_size b, lfuse_size *sum);
bool lfuse__size_multiply(lfuse_graph *g, const char *call, lfuse_size a, lfuse_size b, lfuse_size *product);
/* Divides a size, which is not negative, by a positive number, and rounds up. */
bool lfuse__size_divide(lfuse_graph *g, const char *call, lfuse_size a, int64_t by, lfuse_size *pieces);
/* Divides a by b. False where that is no whole number for all sizes, or b is no single product; this is no mistake. */
bool lfuse__size_quotient(lfuse_graph *g, const char *call, lfuse_size a, lfuse_size b, lfuse_size *quotient);
/* Sets *size to the size that a polynomial comes to. False, and the graph poisoned, as above. */
bool lfuse__size_of_poly(lfuse_graph *g, const char *call, const lfuse__poly *f, lfuse_size *size);
/* Sets the lowest and the highest value within the variables' bounds. */
void lfuse__size_bounds(const lfuse_graph *g, lfuse_size s, int64_t *low, int64_t *high);
/* Sets *value to that of a size whose variables have values[]: those of graph->sizes. ERR_OVERFLOW: it is too large. */
lfuse_status lfuse__size_evaluate(const lfuse_graph *g, lfuse_size s, const int64_t *values, int64_t *value);
/* Appends a size, with the names of its variables. */
void lfuse__size_print(const lfuse_graph *g, lfuse_size s, lfuse__strbuf *out);

/* ---- poly.c: arithmetic of polynomials; false: the result does not fit. A result may be an operand too. ---- */
/* Sets *poly to what a size comes to. */
void lfuse__poly_of(const lfuse_graph *g, lfuse_size s, lfuse__poly *poly);
/* Sets *poly to the variable graph->sizes[index]. */
void lfuse__poly_variable(int32_t index, lfuse__poly *poly);
/* Sets *sum to a + factor b. */
bool lfuse__poly_add(const lfuse__poly *a, const lfuse__poly *b, int64_t factor, lfuse__poly *sum);
bool lfuse__poly_multiply(const lfuse__poly *a, const lfuse__poly *b, lfuse__poly *product);
/* Sets *quotient to a / b, where b has one term. False also where that is no whole number for all sizes. */
bool lfuse__poly_divide(const lfuse__poly *a, const lfuse__poly *b, lfuse__poly *quotient);
bool lfuse__poly_equal(const lfuse__poly *a, const lfuse__poly *b);
/* Sets the lowest and the highest value of a - b; false where the difference does not fit. */
bool lfuse__size_difference(const lfuse_graph *g, lfuse_size a, lfuse_size b, int64_t *low, int64_t *high);
/* Sets the lowest and the highest value within the variables' bounds, saturated. */
void lfuse__poly_bounds(const lfuse_graph *g, const lfuse__poly *poly, int64_t *low, int64_t *high);

/*
 * check.c: checks what only the values of size variables show: ERR_SHAPE where a reduction without an identity is of no
 * elements. sizes[] as of lfuse__size_evaluate.
 */
lfuse_status lfuse__graph_check_sizes(const lfuse_graph *g, const int64_t *sizes);

/*
 * simplify.c: sets *canonical to a new graph in canonical form: constants are folded, by rewrites that keep all bits,
 * equal nodes merged, and nodes that nobody needs gone. Names keep their indices.
 */
lfuse_status lfuse__graph_canonical(const lfuse_graph *g, lfuse_graph **canonical);
/*
 * number.c: returns the value of a node without a type, in f64 by one fixed algorithm (powers by common/base/power.k).
 * scalars[i] is the value of names[i], sizes[] as of lfuse__size_evaluate. NaN: an extent is too large.
 */
double lfuse__graph_number(const lfuse_graph *g, int32_t node, const double *scalars, const int64_t *sizes);
/* number.c: returns the value of one operator over numbers, by the same algorithm. */
double lfuse__op_value(lfuse__op op, double a, double b, double c);

/* adopt.c: whether a type holds a number exactly; floating types hold all. */
bool lfuse__type_holds(lfuse_type type, double number);
/* adopt.c: checks that a checked cast's type holds the number that it takes: else ERR_TYPE with its name and value. */
lfuse_status lfuse__graph_check_number(const lfuse_graph *g, int32_t cast, const double *scalars, const int64_t *sizes);

/* ---- identity.c: the columns of identity.def ---- */
const char *lfuse__identity_word(int op);
int lfuse__identity_operands(int op);
int lfuse__identity_through(int op);

/* ---- print.c ---- */
/* Appends a value as an expression in brackets. */
void lfuse__graph_print_value(const lfuse_graph *g, int32_t node, lfuse__strbuf *out);
/* Appends the whole graph without names, which is the key of the plan cache. */
void lfuse__graph_print(const lfuse_graph *g, lfuse__strbuf *out);
/* Appends the whole graph in one line, with its names. */
void lfuse__graph_format(const lfuse_graph *g, lfuse__strbuf *out);
/* Return the words of these texts, which are static. */
const char *lfuse__node_word(lfuse__node_kind kind, int op);
const char *lfuse__name_word(lfuse__name_kind kind);
/* NULL: no list has the rank. */
const char *lfuse__list_word(int rank);

/*
 * parse.c: sets *graph to the graph that a text of lfuse__graph_print or lfuse__graph_format was printed of.
 *   - Printed again it is the same text; where there are no names, some are made.
 *   - Everything is checked as the builders check it: ERR_INVALID, or what the builder found, with the position and
 *     what is wrong there.
 */
lfuse_status lfuse__graph_parse(const char *text, lfuse_graph **graph);

#endif
