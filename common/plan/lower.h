/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph that is rewritten into another one, for lower.c and the files that rewrite single nodes. A function that
 * returns a value or a node returns -1, and one that returns bool false, where the new graph is poisoned.
 */
#ifndef COMMON_PLAN_LOWER_H
#define COMMON_PLAN_LOWER_H

#include "common/plan/plan.h"

/*
 * A value of the new graph. It is a node, or a concatenation that has no node until somebody reads it as a whole. A
 * concatenation is of `count` values along `axis`, which are pieces[first] ... of the lowering.
 */
typedef struct lfuse__lowered {
    lfuse__node spec; /* the node; of a concatenation that has none, type and shape alone */
    int32_t node;     /* -1: it has none */
    int32_t axis, count, first;
    bool once;    /* one node reads it at most */
    bool rows;    /* it is reduced, or computed in its shape from what is reduced */
} lfuse__lowered;

typedef struct lfuse__lowering {
    const lfuse_graph *from;
    lfuse_graph *g;     /* the new graph */
    unsigned disable;   /* LFUSE_NO_... */
    int32_t node_limit; /* with more nodes than these nothing is distributed any more */
    lfuse__lowered *values;
    int32_t nvalues, value_capacity;
    int32_t *pieces; /* values */
    int32_t npieces, piece_capacity;
    int32_t *value_of; /* [nodes of g] the value that a node is; -1: none */
    int32_t node_capacity;
    int32_t *readers; /* [nodes of from] how many nodes and names read it */
    uint8_t *frozen;  /* [nodes of from] 1: constant; 2: made of frozen inputs and constants alone; 0: neither */
    bool *forced;     /* [nodes of from] it lies in memory as a whole, whatever lowering does */
    bool sinking;     /* a node is being made below a reshape, and no other reshape sinks */
} lfuse__lowering;

/* ---- values.c ---- */
/* Returns the extent of piece i of a concatenation along its axis. */
static inline lfuse_size lfuse__lower_extent(const lfuse__lowering *l, const lfuse__lowered *v, int i)
{
    return l->values[l->pieces[v->first + i]].spec.shape[v->axis];
}
/* Returns the node of a value, which a concatenation is given. */
int32_t lfuse__lower_materialize(lfuse__lowering *l, int32_t value);
/* Returns the value of a new node over the nodes of other values: nothing is distributed. */
int32_t lfuse__lower_append(lfuse__lowering *l, const lfuse__node *spec, const int32_t *in);
/* Returns the value that a node of the new graph is. */
int32_t lfuse__lower_value(lfuse__lowering *l, int32_t node);
/* Returns a concatenation of values along an axis, of the type and shape of `spec`, without a node. */
int32_t lfuse__lower_concat(lfuse__lowering *l, const lfuse__node *spec, int axis, int count, const int32_t *pieces);
/* Returns what a node of `kind` with one operand is that has the type and shape of a value. */
lfuse__node lfuse__lower_spec(const lfuse__lowering *l, lfuse__node_kind kind, int32_t like);
/* Returns the value in another type, or itself where it has that type. The value may be -1, as of the next two. */
int32_t lfuse__lower_cast(lfuse__lowering *l, int32_t value, lfuse_type type);
int32_t lfuse__lower_reshape(lfuse__lowering *l, int32_t value, int rank, const lfuse_size *shape);
/* Returns the value's sum along an axis, in `type`, which is that of sums of its elements. */
int32_t lfuse__lower_sum(lfuse__lowering *l, int32_t value, int axis, bool keepdims, lfuse_type type);
/* Whether the value is computed, in all its pieces, by pointwise kernels or along rows, maybe through views. */
bool lfuse__lower_computed(const lfuse__lowering *l, int32_t value);
/* Whether a node of any graph is. */
bool lfuse__lower_node_computed(const lfuse_graph *g, int32_t node);

/* ---- distribute.c ---- */
enum { LFUSE__MOST_PIECES = 64 };
/*
 * Returns the value of `spec` over values: distributed over the pieces of one of them where that can be, else what
 * columns.c, scatter.c or sink.c make of it, else a node.
 */
int32_t lfuse__lower_node(lfuse__lowering *l, const lfuse__node *spec, const int32_t *in);
/* Returns `extent` elements of the value along an axis, from `start` on. */
int32_t lfuse__lower_slice(lfuse__lowering *l, int32_t value, int axis, lfuse_size start, lfuse_size extent);
/*
 * Returns the axis of the node n that axis `axis` of its operand i, which is x, becomes: n of each piece of x along
 * `axis` is a piece of n along that axis. -1: n cannot be distributed so.
 */
int lfuse__lower_result_axis(lfuse_graph *g, const lfuse__node *n, const lfuse__node *x, int i, int axis);

/* ---- columns.c ---- */
/*
 * Whether a product is to be one sum for each of its columns, so that they join the rows that make its left operand:
 *   - its columns are few, and their number a literal;
 *   - the left operand is computed by pointwise kernels or along rows.
 */
bool lfuse__lower_is_small(const lfuse__lowering *l, const lfuse__node *matmul, const int32_t *in);
/* Returns these sums, concatenated. */
int32_t lfuse__lower_columns(lfuse__lowering *l, const lfuse__node *matmul, const int32_t *in);

/* ---- sink.c ---- */
/* Returns a function of a reshape of what is reduced as a reshape of a function; -1 also where it is none such. */
int32_t lfuse__lower_sink(lfuse__lowering *l, const lfuse__node *spec, const int32_t *in);

/* ---- scatter.c ---- */
/* Returns a scatter_add of few rows as reductions, one of more rows as what it is. */
int32_t lfuse__lower_scatter(lfuse__lowering *l, const lfuse__node *scatter, const int32_t *in);

#endif
