/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the builders share. `call` is the public function's name, for messages. Functions that can fail record the first
 * mistake in the graph and return false, NULL or a poisoned value.
 */
#ifndef COMMON_GRAPH_BUILD_H
#define COMMON_GRAPH_BUILD_H

#include "common/graph/graph.h"

#define LFUSE__POISONED(g) ((lfuse_value){(g), -1})

/* Enlarges an array to hold at least one element more. False when memory is out. */
bool lfuse__build_grow(void **array, int32_t count, int32_t *capacity, size_t element);

/*
 * The beginning of every public builder: counts the call, so that a mistake can say which one of its name made it.
 * What builders call of each other is not counted: lfuse__op_..., lfuse__build_....
 */
void lfuse__build_begin(lfuse_graph *g, const char *call);
/* Of the first operand that has one; at least one operand. */
lfuse_graph *lfuse__build_graph_of(int count, const lfuse_value *values);

/*
 * The graph of the operands, or NULL when one of them is poisoned, foreign or no value at all (the mistake is then
 * recorded, if there is a graph to record it in; *where, may be NULL, is set to that graph in every case).
 */
lfuse_graph *lfuse__build_inner_operands(const char *call, int count, const lfuse_value *values, lfuse_graph **where);
/* The same as the beginning of a public builder. */
lfuse_graph *lfuse__build_operands(const char *call, int count, const lfuse_value *values, lfuse_graph **where);

/* Checks a type, an extent and a shape that the user gave. The results are as nodes hold them. */
bool lfuse__build_type(lfuse_graph *g, const char *call, lfuse_type type);
bool lfuse__build_extent(lfuse_graph *g, const char *call, lfuse_size s, lfuse_size *extent);
bool lfuse__build_shape(lfuse_graph *g, const char *call, int rank, const lfuse_size *shape, lfuse_size *extents);
/* Whether a name can be taken, here also by a size variable. */
bool lfuse__build_check_name(lfuse_graph *g, const char *call, const char *text);
/* A new name (-1 when it cannot be taken). */
int32_t lfuse__build_name(lfuse_graph *g, const char *call, const char *text, lfuse__name_kind kind, int32_t node);

/* A node of `kind` with everything else zero, and no name. */
lfuse__node lfuse__build_node(lfuse__node_kind kind, lfuse_type type);
/* The same over the values a and b, or over a alone where b is -1. */
lfuse__node lfuse__build_over(lfuse__node_kind kind, lfuse_type type, int32_t a, int32_t b);
static inline void lfuse__build_set_axis(lfuse__node *n, int axis)
{
    n->naxes = 1;
    n->axes[0] = (int8_t)axis;
}
/* Extents behind the last are 0. */
void lfuse__build_set_shape(lfuse__node *n, int rank, const lfuse_size *shape);
/* Sets list, rank and shape as `like` has them. */
void lfuse__build_set_form(lfuse__node *n, const lfuse__node *like);
/* Appends a copy; ERR_OVERFLOW when its elements cannot be counted or the graph is full. */
lfuse_value lfuse__build_append(lfuse_graph *g, const char *call, const lfuse__node *n);
/* The value in another type: itself where it has that type. */
lfuse_value lfuse__build_cast(lfuse_graph *g, const char *call, int32_t node, lfuse_type type);
/* The same of a value that may be poisoned. */
lfuse_value lfuse__to_type(const char *call, lfuse_value v, lfuse_type type);
/* The type that values of this one are computed in: f32 for f16 and bf16. */
lfuse_type lfuse__wide_type(lfuse_type type);
/* adopt.c: whether the node is a number without a type that is the same in every run: no scalar is part of it. */
bool lfuse__build_is_constant(const lfuse_graph *g, int32_t node);
/*
 * adopt.c: what a number (of no type, or a value of rank 0) becomes beside a tensor of the type; `name` is the
 * operand's. Of a value of that type, and for NONE, itself. Beside
 *   - f16 and bf16: f32
 *   - f32 and f64: of the type, rounded once
 *   - integers and bool: of the type, if that can hold it exactly: a number that is the same in every run is refused
 *     here, one that is not by the run (LFUSE__CAST_CHECKED), a value of rank 0 by its type.
 */
lfuse_value lfuse__build_adopt(lfuse_graph *g, const char *call, const char *name, int32_t node, lfuse_type type);
/* What it becomes where it is stored beside a tensor's elements: of that type always. */
lfuse_value lfuse__build_typed(lfuse_graph *g, const char *call, const char *name, int32_t node, lfuse_type type);
/* Of operands that differ in type, `whole` being of an integer type or bool: `number` as mathematics compares it.
 * `first`: `whole` is the first operand. */
lfuse_value lfuse__build_compare(lfuse_graph *g, const char *call, lfuse__op op, int32_t whole, int32_t number,
                                 bool first);

/* Whether the operand is a tensor that has a type: no list, no number. */
bool lfuse__build_tensor(lfuse_graph *g, const char *call, int32_t node);
/* An axis that the user gave, negative ones counted from the end; of `rank` axes. */
bool lfuse__build_axis(lfuse_graph *g, const char *call, int axis, int rank, int *own);
/* Axes, each once, as a set of bits; count may be LFUSE_ALL_AXES. */
bool lfuse__build_axes(lfuse_graph *g, const char *call, int rank, int count, const int *axes, unsigned *set);

/*
 * What makes exactly one node each, of operands that are known to be values of the graph. Sizes are as nodes hold them.
 * The public functions and the reader of printed graphs stand on these.
 */
lfuse_value lfuse__build_constant(lfuse_graph *g, double number);
lfuse_value lfuse__build_pointwise(lfuse_graph *g, const char *call, lfuse__op op, const int32_t *in);
lfuse_value lfuse__build_permute(lfuse_graph *g, const char *call, int32_t node, const int *axes);
lfuse_value lfuse__build_broadcast(lfuse_graph *g, const char *call, int32_t node, int rank, const lfuse_size *shape);
lfuse_value lfuse__build_reshape(lfuse_graph *g, const char *call, int32_t node, int rank, const lfuse_size *shape);
/* Refused unless all elements are there for all values of the size variables. */
lfuse_value lfuse__build_slice(lfuse_graph *g, const char *call, int32_t node, int axis, lfuse_size start,
                               lfuse_size count, int64_t step);
lfuse_value lfuse__build_concat(lfuse_graph *g, const char *call, int32_t a, int32_t b, int axis);
lfuse_value lfuse__build_gather(lfuse_graph *g, const char *call, int32_t table, int32_t indices);
/* Of equal shapes but for the axis. */
lfuse_value lfuse__build_gather_along(lfuse_graph *g, const char *call, int32_t table, int32_t indices, int axis);
/* take.c: along any axis; indices count from 0. */
lfuse_value lfuse__build_index_select(lfuse_graph *g, const char *call, int32_t node, int32_t indices, int axis);
lfuse_value lfuse__build_scatter_add(lfuse_graph *g, const char *call, int32_t source, int32_t indices,
                                     lfuse_size rows);
lfuse_value lfuse__build_extent_number(lfuse_graph *g, const char *call, lfuse_size extent);
lfuse_value lfuse__build_index(lfuse_graph *g, const char *call, int rank, const lfuse_size *shape);
/* Whether a reduction takes values of the type; what it gives. */
bool lfuse__reduce_takes(lfuse__reduce op, lfuse_type type);
lfuse_type lfuse__reduce_type(lfuse__reduce op, lfuse_type type);
/* Over at least one axis. */
lfuse_value lfuse__build_reduce(lfuse_graph *g, const char *call, lfuse__reduce op, int32_t node, unsigned set,
                                bool keepdims);
/* scan.c: of f32, f64, or an integer type that the operator takes. */
lfuse_value lfuse__build_scan(lfuse_graph *g, const char *call, lfuse__reduce op, int32_t node, int axis);
lfuse_value lfuse__build_member_reduce(lfuse_graph *g, const char *call, lfuse__reduce op, int32_t list);
lfuse_value lfuse__build_list_reduce(lfuse_graph *g, const char *call, lfuse__reduce op, int32_t numbers);
/* Of an input. */
lfuse_value lfuse__build_member_elements(lfuse_graph *g, const char *call, int32_t list);
/* The input of the list's rank that a list of matrices, or a flat one, is computed from first; -1: it is a product. */
int32_t lfuse__build_input_of(const lfuse_graph *g, int32_t list);
lfuse_value lfuse__build_untold(lfuse_graph *g, const char *call); /* the error then */
/* lines.c: along axis 0, each row, or 1, each column; rows (0), columns (1), rank (2) of the members of an input. */
lfuse_value lfuse__build_line_reduce(lfuse_graph *g, const char *call, lfuse__reduce op, int32_t list, int axis);
lfuse_value lfuse__build_member_extent(lfuse_graph *g, const char *call, int32_t list, int axis);
/*
 * One node: of operands of one type a result of that type or, of f16 and bf16, of f32; of two that are both multiplied
 * in f32 one of f32. Precision FULL or, of f32, TF32.
 */
lfuse_value lfuse__build_matmul_as(lfuse_graph *g, const char *call, int32_t a, int32_t b, lfuse_type type,
                                   lfuse_precision precision);
/* That with operands of any ranks, or two lists. */
typedef struct lfuse__product_form {
    lfuse_type type; /* of the node */
    lfuse_precision precision;
    bool mixed;      /* operands may be of two types */
    unsigned transposed; /* of lists; bit i: operand i is taken so */
} lfuse__product_form;
lfuse_value lfuse__build_product(lfuse_graph *g, const char *call, int32_t a, int32_t b, lfuse__product_form form);
/* Records that operands of the type cannot be multiplied, and what to do about it. */
void lfuse__build_no_integers(lfuse_graph *g, const char *call, lfuse_type type);
/* Whether one is a list, which the other then has to be too: of functions that take no tensors. Records it if not. */
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
