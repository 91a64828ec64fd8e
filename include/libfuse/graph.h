/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Graphs: pure descriptions of a computation. No device, no memory, no effects.
 *
 * Builders take and return small values, so that expressions nest. A mistake poisons the value it would have made, and
 * everything made of it; lfuse_plan_create reports the first one, with the call that made it: "lfuse_add: ...", or
 * where the graph has several calls of that builder "the 57th lfuse_add (output "y"): ...". Calls are counted from 1 in
 * the order in which the program made them; the output is the first that is made of the mistake, and left out where
 * none is or where a second mistake may have spoiled it. A graph belongs to one thread at a time.
 */
#ifndef LIBFUSE_GRAPH_H
#define LIBFUSE_GRAPH_H

#include <libfuse/base.h>
#include <libfuse/status.h>
#include <libfuse/types.h>

typedef struct lfuse_graph lfuse_graph;

/** A value of a graph. Copy it freely; it lives as long as its graph. */
typedef struct lfuse_value {
    lfuse_graph *graph;
    int32_t id; /**< negative: poisoned */
} lfuse_value;

/** An extent: a number from 0 on, or what lfuse_size_var and the functions beside it return. */
typedef int64_t lfuse_size;

/** The extents of a shape in place: lfuse_input(g, "x", LFUSE_F32, 2, LFUSE_DIMS(batch, 64)). */
#ifdef __cplusplus
#include <initializer_list>
#define LFUSE_DIMS(...) (std::initializer_list<lfuse_size>{__VA_ARGS__}.begin())
#else
#define LFUSE_DIMS(...) ((const lfuse_size[]){__VA_ARGS__})
#endif

/** The rank of a list whose members are taken flat, whatever their shapes. */
#define LFUSE_RANK_ANY (-1)
/**
 * Ranks of lists that are no flat ones. MATRIX: each member is a matrix, or matrices one behind the other: its last two
 * axes are rows and columns, those before count matrices (B of R x C); of rank 1 it is one row, of rank 0 one element.
 * ROWS, COLUMNS, MATRICES: one number for each row (B R), column (B C) or matrix (B) of a member of such a list.
 */
#define LFUSE_RANK_MATRIX (-2)
#define LFUSE_RANK_ROWS (-3)
#define LFUSE_RANK_COLUMNS (-4)
#define LFUSE_RANK_MATRICES (-5)

/** As a count of axes: all of them. */
#define LFUSE_ALL_AXES (-1)

LFUSE_BEGIN_DECLS

/** An empty graph, or NULL when memory is out: every builder takes that, and lfuse_plan_create gives ERR_INVALID. */
LFUSE_API lfuse_graph *lfuse_graph_create(void);
/** Plans made of the graph stay valid. */
LFUSE_API void lfuse_graph_destroy(lfuse_graph *graph);
/** The first mistake made while building, with the message that lfuse_plan_create has; LFUSE_OK: there was none. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_graph_check(const lfuse_graph *graph);

/** An extent that is given at run time, by the shapes that are bound; low <= high, low >= 0. */
LFUSE_API lfuse_size lfuse_size_var(lfuse_graph *graph, const char *name, int64_t low, int64_t high);
/** Sum and product of extents of one graph. */
LFUSE_API lfuse_size lfuse_size_add(lfuse_graph *graph, lfuse_size a, lfuse_size b);
LFUSE_API lfuse_size lfuse_size_mul(lfuse_graph *graph, lfuse_size a, lfuse_size b);

/**
 * Inputs. Names (those of size variables among them) are unique in a graph, 1 to 63 characters, no control characters.
 * An input of rank 0 is a number in device memory: what becomes of it beside a tensor is in ops.h, as of constants and
 * scalars.
 */
LFUSE_API lfuse_value lfuse_input(lfuse_graph *graph, const char *name, lfuse_type type, int rank,
                                  const lfuse_size *shape);
/**
 * An input whose contents stay while an instance lives: bound when the instance is made. What depends on frozen
 * inputs and constants alone is computed once then, and again by lfuse_instance_refresh: new contents count from that
 * call on.
 */
LFUSE_API lfuse_value lfuse_frozen(lfuse_graph *graph, const char *name, lfuse_type type, int rank,
                                   const lfuse_size *shape);
/**
 * Any number of tensors, bound at run time. Rank LFUSE_RANK_ANY: members are taken flat. Rank 0: each member is one
 * element, a number for the member of the same place in the lists beside it. LFUSE_RANK_MATRIX: members are matrices;
 * lists of rank MATRIX in one kernel agree in their members' rows and columns. Of LFUSE_RANK_ROWS, COLUMNS and MATRICES
 * only the members' numbers of elements count. Numbers of rows and columns repeat beside a list of matrices, numbers of
 * matrices beside all three, as a literal 1 does. Other ranks are declined with ERR_UNSUPPORTED at present.
 */
LFUSE_API lfuse_value lfuse_list_input(lfuse_graph *graph, const char *name, lfuse_type type, int rank);
/**
 * A number given with every run, or one for each group of list members (lfuse_bind_scalars). Computed with in f64; what
 * becomes of it beside a tensor is in ops.h.
 */
LFUSE_API lfuse_value lfuse_scalar(lfuse_graph *graph, const char *name);
/** A number fixed in the graph; as lfuse_scalar otherwise. */
LFUSE_API lfuse_value lfuse_constant(lfuse_graph *graph, double number);
/**
 * An integer of 64 bits. Where a double holds it (up to 2^53 each does) this is lfuse_constant; any other is a value of
 * rank 0 of type i64.
 */
LFUSE_API lfuse_value lfuse_constant_i64(lfuse_graph *graph, int64_t number);

/** Makes a value a result, stored in the tensor or list bound to `name`. A number has no type: cast it first. */
LFUSE_API void lfuse_output(lfuse_graph *graph, const char *name, lfuse_value value);
/**
 * Stores a value of the same type and shape in the memory of an input, at the end of the run: every read of that input
 * in the graph sees the old contents. At most one update an input.
 */
LFUSE_API void lfuse_update(lfuse_value input, lfuse_value value);

LFUSE_END_DECLS
#endif
