/* SPDX-License-Identifier: Apache-2.0 */
/* A graph that is rewritten, for lower.c and what rewrites single nodes. */
#ifndef COMMON_PLAN_LOWER_H
#define COMMON_PLAN_LOWER_H

#include "common/plan/plan.h"

/*
 * A value of the new graph: a node of it, or a concatenation that is not made yet, of `count` values that stand in
 * `pieces` from `first` on. `form`: type and shape of both.
 */
typedef struct lfuse__lowered {
    lfuse__node form;
    int32_t node; /* -1: not made */
    int32_t axis, count, first;
    bool once;    /* read by one node at most */
    bool rows;    /* a node that is reduced, or computed from such in its shape */
} lfuse__lowered;

typedef struct lfuse__lowering {
    const lfuse_graph *from;
    lfuse_graph *g; /* poisoned when something fails */
    unsigned disable;
    int32_t node_limit; /* beyond that nothing is distributed any more */
    lfuse__lowered *values;
    int32_t nvalues, value_capacity;
    int32_t *pieces;
    int32_t npieces, piece_capacity;
    int32_t *value_of; /* [nodes of g] the value that a node is, -1: none */
    int32_t node_capacity;
    int32_t *readers; /* [nodes of from] nodes and names that read it */
    uint8_t *frozen;  /* [nodes of from] 1: constant, 2: of frozen inputs and constants alone; else 0 */
    bool *forced;     /* [nodes of from] lies in memory as a whole, whatever is done here */
    bool sunk;        /* a node is being made below a reshape: none sinks further */
} lfuse__lowering;

/* ---- values.c; -1 or false: the graph is poisoned ---- */
/* A value that is a node. */
int32_t lfuse__lower_new(lfuse__lowering *l, const lfuse__node *form, int32_t node);
static inline lfuse_size lfuse__lower_extent(const lfuse__lowering *l, const lfuse__lowered *v, int i)
{
    return l->values[l->pieces[v->first + i]].form.shape[v->axis];
}
/* The node of a value: the concatenation is made where there is none. */
int32_t lfuse__lower_made(lfuse__lowering *l, int32_t value);
/* A node over values as they are: nothing is distributed. */
int32_t lfuse__lower_make(lfuse__lowering *l, const lfuse__node *form, const int32_t *in);
/* The value that a node is. */
int32_t lfuse__lower_value(lfuse__lowering *l, int32_t node);
/* A concatenation of values along an axis, not made; `form`: its type and shape. */
int32_t lfuse__lower_concat(lfuse__lowering *l, const lfuse__node *form, int axis, int count, const int32_t *pieces);
/* A form of `kind` with one operand and the type and shape of the value. */
lfuse__node lfuse__lower_form(const lfuse__lowering *l, lfuse__node_kind kind, int32_t like);
/* The value in another type, itself where it has that; in another shape; summed along an axis; -1 of -1. */
int32_t lfuse__lower_cast(lfuse__lowering *l, int32_t value, lfuse_type type);
int32_t lfuse__lower_reshape(lfuse__lowering *l, int32_t value, int rank, const lfuse_size *shape);
int32_t lfuse__lower_sum(lfuse__lowering *l, int32_t value, int axis, bool keepdims, lfuse_type type);
/* Whether the value is computed by pointwise or row work, through views and in all pieces. */
bool lfuse__lower_computed(const lfuse__lowering *l, int32_t value);
/* The same of a node of any graph. */
bool lfuse__lower_node_computed(const lfuse_graph *g, int32_t node);

/* ---- distribute.c ---- */
enum { LFUSE__MOST_PIECES = 64 };
/*
 * The value of a node of this form over values: distributed over the pieces of one of them where that can be, else what
 * columns.c, scatter.c or sink.c make of it.
 */
int32_t lfuse__lower_node(lfuse__lowering *l, const lfuse__node *form, const int32_t *in);
/* A range of the value along an axis. */
int32_t lfuse__lower_slice(lfuse__lowering *l, int32_t value, int axis, lfuse_size start, lfuse_size extent);
/* The axis of the result of a node that axis `axis` of its operand i becomes; -1 when it cannot be distributed. */
int lfuse__lower_behind(lfuse_graph *g, const lfuse__node *n, const lfuse__node *x, int i, int axis);

/*
 * columns.c: a product with few columns as one reduction for each of them, so that it joins the rows that make its left
 * operand. The columns' number must be a literal, the left operand computed by pointwise or row work.
 */
bool lfuse__lower_is_small(const lfuse__lowering *l, const lfuse__node *matmul, const int32_t *in);
int32_t lfuse__lower_columns(lfuse__lowering *l, const lfuse__node *matmul, const int32_t *in);

/* sink.c: a function of a reshape of what rows make as a reshape of a function; -1: this is none, or no room. */
int32_t lfuse__lower_sink(lfuse__lowering *l, const lfuse__node *form, const int32_t *in);

/* scatter.c: sums of few scattered rows as reductions; others stay what they are. */
int32_t lfuse__lower_scatter(lfuse__lowering *l, const lfuse__node *scatter, const int32_t *in);

#endif
