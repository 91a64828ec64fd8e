/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reverse-mode differentiation: what the rules share. A rule is named in nodes.def and stands with the builder of its
 * node, or in the file <family>_gradient.c.
 *
 * A cotangent is the derivative of the result with respect to a value: in the type in which values of that type are
 * computed, and of its shape, or of a shape that broadcasts to it, as a number does.
 */
#ifndef COMMON_GRAPH_GRADIENT_H
#define COMMON_GRAPH_GRADIENT_H

#include "common/graph/compose.h"

/* What a slice of a value passes back to it: elements start ... start + count - 1 of an axis; other elements get 0. */
typedef struct lfuse__slice_cotangent {
    int32_t to;
    int axis;
    lfuse_size start, count;
    lfuse_value g;
} lfuse__slice_cotangent;

/* One walk through a graph, from its results to its inputs. */
typedef struct lfuse__backward {
    lfuse_graph *g;
    const char *call;
    int32_t count;       /* of the nodes that the walk goes through; the graph grows behind them */
    bool *on_path;       /* of each: whether it depends on an element of wrt, and is differentiable */
    int32_t *cotangents; /* of each: the sum of the contributions that were added so far; -1: there is none */
    int32_t *copies;     /* of each: its copy that is computed anew (checkpoint.c); -1: there is none */
    bool *again;         /* of each: whether a checkpoint asks for it to be computed anew; NULL: there are none */
    bool *wanted;        /* checkpoint.c's own; NULL: there are no checkpoints */
    lfuse__slice_cotangent *slices; /* that wait for their operand's turn, so that they can be joined */
    int32_t nslices, slice_capacity;
} lfuse__backward;

/* A rule: passes the cotangent g of the node `id` on to those of its operands that need it. */
typedef void lfuse__gradient_rule(lfuse__backward *b, int32_t id, lfuse_value g);
#define LFUSE__NODE(kind, word, first, end, operands, axes, build, rule) lfuse__gradient_rule lfuse__gradient_##rule;
#include "common/graph/nodes.def"

/* ---- gradient.c ---- */
/* Whether a value needs a cotangent. */
static inline bool lfuse__gradient_needs(const lfuse__backward *b, int32_t id) { return b->on_path[id]; }
/* Adds a contribution to the cotangent of a value. A poisoned one is ignored, as the graph knows the mistake. */
void lfuse__gradient_add(lfuse__backward *b, int32_t to, lfuse_value v);
/* checkpoint.c: returns a value that a rule reads, or its copy that is computed anew. */
lfuse_value lfuse__gradient_stored(lfuse__backward *b, int32_t id);
/* checkpoint.c: returns the same in the type in which it is computed. */
lfuse_value lfuse__gradient_operand(lfuse__backward *b, int32_t id);

/* ---- gradient_shape.c ---- */
/* Returns a cotangent of the node `id` in the node's own shape, and in the type in which it is computed. */
lfuse_value lfuse__gradient_expand(const lfuse__backward *b, int32_t id, lfuse_value g);
/*
 * Returns the sum of v, which belongs to the elements of the node `from`, over all elements at which the operand `to`
 * is repeated by broadcasting.
 */
lfuse_value lfuse__gradient_sum_to(const lfuse__backward *b, int32_t from, int32_t to, lfuse_value v);
/* Returns a tensor of zeros in the type in which values of `type` are computed. */
lfuse_value lfuse__gradient_zeros(const lfuse__backward *b, lfuse_type type, int rank, const lfuse_size *shape);

/* gather_gradient.c: returns of each element of a shape its position along an axis, as i64. */
lfuse_value lfuse__gradient_positions(const lfuse__backward *b, int rank, const lfuse_size *shape, int axis);
/*
 * gather_gradient.c: returns a tensor of the shape of g but for the axis, of the given extent, to whose elements those
 * of g are added at the positions along the axis that `index`, of the shape of g, names.
 */
lfuse_value lfuse__gradient_scatter_along(const lfuse__backward *b, lfuse_value g, int axis, lfuse_value index,
                                          lfuse_size extent);
/* slice_gradient.c: adds the contributions of the slices of a value. */
void lfuse__gradient_join_slices(lfuse__backward *b, int32_t to);

#endif
