/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the builders share. `call` is the name of the public function, for messages. Functions that can fail record the
 * first mistake in the graph and return false, NULL or a poisoned value.
 */
#ifndef COMMON_GRAPH_BUILD_H
#define COMMON_GRAPH_BUILD_H

#include "common/graph/graph.h"

#define LFUSE__POISONED(g) ((lfuse_value){(g), -1})

/* Enlarges an array of `count` elements so that it holds one more. False: there is no memory. */
bool lfuse__build_grow(void **array, int32_t count, int32_t *capacity, size_t element);

/*
 * Counts a call of a public builder, which begins with this, so that a mistake can say which call made it. Functions
 * that builders call of each other (lfuse__op_..., lfuse__build_...) are not counted.
 */
void lfuse__build_begin(lfuse_graph *g, const char *call);
/* Returns the graph of the first operand that has one; there is at least one operand. */
lfuse_graph *lfuse__build_graph_of(int count, const lfuse_value *values);

/*
 * Returns the graph of the operands; NULL: one of them is poisoned, or a value of another graph or of none. The mistake
 * is recorded in *where, which is set to the first graph that an operand has; `where` may be NULL.
 */
lfuse_graph *lfuse__build_inner_operands(const char *call, int count, const lfuse_value *values, lfuse_graph **where);
/* Does so at the beginning of a public builder, whose call it counts. */
lfuse_graph *lfuse__build_operands(const char *call, int count, const lfuse_value *values, lfuse_graph **where);

/* Check a type, an extent and a shape that the user gave, and set the results as nodes hold them. */
bool lfuse__build_type(lfuse_graph *g, const char *call, lfuse_type type);
bool lfuse__build_extent(lfuse_graph *g, const char *call, lfuse_size s, lfuse_size *extent);
bool lfuse__build_shape(lfuse_graph *g, const char *call, int rank, const lfuse_size *shape, lfuse_size *extents);
/* Whether the text is a name that no input, output or size variable of the graph has. */
bool lfuse__build_check_name(lfuse_graph *g, const char *call, const char *text);
/* Adds a name and returns its index; -1: it cannot be taken. */
int32_t lfuse__build_name(lfuse_graph *g, const char *call, const char *text, lfuse__name_kind kind, int32_t node);

/* Returns a node of `kind` without a name; everything else is zero. */
lfuse__node lfuse__build_node(lfuse__node_kind kind, lfuse_type type);
/* Returns such a node over the values a and b, or over a alone where b is -1. */
lfuse__node lfuse__build_over(lfuse__node_kind kind, lfuse_type type, int32_t a, int32_t b);
/* Sets the one axis of a node. */
static inline void lfuse__build_set_axis(lfuse__node *n, int axis)
{
    n->naxes = 1;
    n->axes[0] = (int8_t)axis;
}
/* Sets rank and shape of a node; extents behind the last are 0. */
void lfuse__build_set_shape(lfuse__node *n, int rank, const lfuse_size *shape);
/* Sets list, rank and shape of a node as `like` has them. */
void lfuse__build_set_form(lfuse__node *n, const lfuse__node *like);
/* Appends a copy of the node. ERR_OVERFLOW: its elements cannot be counted, or the graph is full. */
lfuse_value lfuse__build_append(lfuse_graph *g, const char *call, const lfuse__node *n);
/* Returns the value in another type, or itself where it has that type. */
lfuse_value lfuse__build_cast(lfuse_graph *g, const char *call, int32_t node, lfuse_type type);
/* Does so for a value that may be poisoned, and is returned then. */
lfuse_value lfuse__to_type(const char *call, lfuse_value v, lfuse_type type);
/* Returns the type in which values of a type are computed: f32 of f16 and bf16, else the type. */
lfuse_type lfuse__wide_type(lfuse_type type);
/* adopt.c: whether the node is a number without a type that no scalar is part of, so that all runs have the same. */
bool lfuse__build_is_constant(const lfuse_graph *g, int32_t node);
/*
 * adopt.c: returns what a number without a type, or a value of rank 0, becomes as an operand beside a tensor of `type`.
 * `name` is the operand's. A value of that type, and any value beside NONE, stays as it is. Beside
 *   - f16 and bf16 it becomes f32;
 *   - f32 and f64 it becomes of the type, rounded once;
 *   - integers and bool it becomes of the type, which has to hold it exactly. A number that all runs have is refused
 *     here, another one by the run (LFUSE__CAST_CHECKED), a value of rank 0 for its type.
 */
lfuse_value lfuse__build_adopt(lfuse_graph *g, const char *call, const char *name, int32_t node, lfuse_type type);
/* Returns what it becomes where it is stored beside a tensor's elements, which is always of that type. */
lfuse_value lfuse__build_typed(lfuse_graph *g, const char *call, const char *name, int32_t node, lfuse_type type);
/*
 * Compares, as mathematics does, a value of an integer type or bool with a number, or a value of rank 0, of another
 * type. `first`: `whole` is the first operand.
 */
lfuse_value lfuse__build_compare(lfuse_graph *g, const char *call, lfuse__op op, int32_t whole, int32_t number,
                                 bool first);

/* Checks that the operand is a tensor, no list and no number without a type. */
bool lfuse__build_tensor(lfuse_graph *g, const char *call, int32_t node);
/* Checks an axis that the user gave, of `rank` axes, and sets *own to it; a negative one counts from the end. */
bool lfuse__build_axis(lfuse_graph *g, const char *call, int axis, int rank, int *own);
/* Checks axes that the user gave, each once, and sets *set to them as bits; count may be LFUSE_ALL_AXES. */
bool lfuse__build_axes(lfuse_graph *g, const char *call, int rank, int count, const int *axes, unsigned *set);

/*
 * Each of the following appends exactly one node, over operands that are known to be values of the graph, and returns
 * its value. Sizes are as nodes hold them. Public functions and the reader of printed graphs call these. What a node of
 * each kind computes is in nodes.def.
 */
lfuse_value lfuse__build_constant(lfuse_graph *g, double number);
lfuse_value lfuse__build_pointwise(lfuse_graph *g, const char *call, lfuse__op op, const int32_t *in);
lfuse_value lfuse__build_permute(lfuse_graph *g, const char *call, int32_t node, const int *axes);
lfuse_value lfuse__build_broadcast(lfuse_graph *g, const char *call, int32_t node, int rank, const lfuse_size *shape);
lfuse_value lfuse__build_reshape(lfuse_graph *g, const char *call, int32_t node, int rank, const lfuse_size *shape);
/* A reshape to the same shape that stays in the canonical form. */
lfuse_value lfuse__build_fence(lfuse_graph *g, const char *call, int32_t node);
/* identity.c: the operands, as many as identity.def says, are of floating types. */
lfuse_value lfuse__build_identity(lfuse_graph *g, const char *call, lfuse__identity_op op, const int32_t *in,
                                  unsigned set);
/* The elements must be there for all values of the size variables. */
lfuse_value lfuse__build_slice(lfuse_graph *g, const char *call, int32_t node, int axis, lfuse_size start,
                               lfuse_size count, int64_t step);
lfuse_value lfuse__build_concat(lfuse_graph *g, const char *call, int32_t a, int32_t b, int axis);
lfuse_value lfuse__build_gather(lfuse_graph *g, const char *call, int32_t table, int32_t indices);
/* The table and the indices have equal shapes but for the axis. */
lfuse_value lfuse__build_gather_along(lfuse_graph *g, const char *call, int32_t table, int32_t indices, int axis);
/* take.c: looks rows up along any axis, by indices that count from 0, with more than one node. */
lfuse_value lfuse__build_index_select(lfuse_graph *g, const char *call, int32_t node, int32_t indices, int axis);
lfuse_value lfuse__build_scatter_add(lfuse_graph *g, const char *call, int32_t source, int32_t indices,
                                     lfuse_size rows);
lfuse_value lfuse__build_extent_number(lfuse_graph *g, const char *call, lfuse_size extent);
lfuse_value lfuse__build_index(lfuse_graph *g, const char *call, int rank, const lfuse_size *shape);
/* Whether a reduction takes values of the type. */
bool lfuse__reduce_takes(lfuse__reduce op, lfuse_type type);
/* Returns the type of the result of a reduction of values of the type. */
lfuse_type lfuse__reduce_type(lfuse__reduce op, lfuse_type type);
/* Reduces over the axes of `set`, at least one. */
lfuse_value lfuse__build_reduce(lfuse_graph *g, const char *call, lfuse__reduce op, int32_t node, unsigned set,
                                bool keepdims);
/* scan.c: the operand is of f32, f64, or an integer type that the operator takes. */
lfuse_value lfuse__build_scan(lfuse_graph *g, const char *call, lfuse__reduce op, int32_t node, int axis);
lfuse_value lfuse__build_member_reduce(lfuse_graph *g, const char *call, lfuse__reduce op, int32_t list);
lfuse_value lfuse__build_list_reduce(lfuse_graph *g, const char *call, lfuse__reduce op, int32_t numbers);
/* The list is an input. */
lfuse_value lfuse__build_member_elements(lfuse_graph *g, const char *call, int32_t list);
/*
 * Returns the input, of its rank, that a flat list or a list of matrices is computed from: the first operands that have
 * this rank lead to it. -1: they lead to a product.
 */
int32_t lfuse__build_input_of(const lfuse_graph *g, int32_t list);
/* Records that of such a product no list tells the sizes. */
lfuse_value lfuse__build_untold(lfuse_graph *g, const char *call);
/* lines.c: reduces each row (axis 0) or each column (axis 1). */
lfuse_value lfuse__build_line_reduce(lfuse_graph *g, const char *call, lfuse__reduce op, int32_t list, int axis);
/* lines.c: how many rows (axis 0), columns (1) or axes (2) the members of an input have. */
lfuse_value lfuse__build_member_extent(lfuse_graph *g, const char *call, int32_t list, int axis);
/*
 * The type of a product:
 *   - operands of one type give that type or, of f16 and bf16, f32;
 *   - operands of two types of f16, bf16 and f32 give f32.
 * The precision is FULL or, of f32, one that is of f32 alone.
 */
lfuse_value lfuse__build_matmul_as(lfuse_graph *g, const char *call, int32_t a, int32_t b, lfuse_type type,
                                   lfuse_precision precision);
/* What is asked of a product beside its operands. */
typedef struct lfuse__product_form {
    lfuse_type type; /* of the node */
    lfuse_precision precision;
    bool mixed;          /* operands may be of two types */
    unsigned transposed; /* of lists; bit i: operand i is taken transposed */
} lfuse__product_form;
/* Multiplies operands of any ranks, or two lists, with as many nodes as that takes. */
lfuse_value lfuse__build_product(lfuse_graph *g, const char *call, int32_t a, int32_t b, lfuse__product_form form);
/* Records that operands of the type cannot be multiplied, and what the user can do about it. */
void lfuse__build_no_integers(lfuse_graph *g, const char *call, lfuse_type type);
/* Checks that a function that takes no tensors has a list among its two operands. */
bool lfuse__build_lists_only(lfuse_graph *g, const char *call, int32_t a, int32_t b);

/* What a message says of a value or a shape; text that is too long is cut. */
typedef struct lfuse__description {
    char text[80];
} lfuse__description;
/* Returns "f32 [batch, 64]", "a list of f32", "a number" ... A message takes lfuse__describe(g, a).text. */
lfuse__description lfuse__describe(const lfuse_graph *g, int32_t node);
/* Returns "[batch, 64]". */
lfuse__description lfuse__describe_shape(const lfuse_graph *g, int rank, const lfuse_size *shape);

#endif
