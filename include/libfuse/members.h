/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reductions of lists: of all elements of each member, which gives a list of numbers (one a member), and of the whole
 * list, which gives a tensor of rank 0. Members are taken flat.
 *
 * A member's reduction is that of libfuse/reduce.h over all axes of a tensor that has the member's elements, with its
 * order, its types, its rule for NaN and therefore its bits. A whole list's is the reduction of the row of its members'
 * reductions in the order of the list; f16 and bf16 stay f32 in between. So the bits depend neither on the device nor
 * on how the list is worked on. All reductions of congruent lists that do not wait for one another are made by two
 * launches, for any number of members, and what is computed of their results alone is computed there too.
 *
 * ERR_RANK: no list of tensors; lfuse_list_... also take lists of numbers, which are reduced as they are. ERR_TYPE: a
 * type that the function does not take. What has no identity (largest and smallest) needs elements in every member, and
 * for the whole list at least one member: ERR_SHAPE, naming the member, when an instance is made.
 */
#ifndef LIBFUSE_MEMBERS_H
#define LIBFUSE_MEMBERS_H

#include <libfuse/graph.h>

LFUSE_BEGIN_DECLS

/* ---- of each member: lists of numbers ---- */

/** Sum; of no elements 0. Floating types give their own type, integers and bool (0 and 1) i64, which wraps. */
LFUSE_API lfuse_value lfuse_member_sum(lfuse_value list);
/** Largest and smallest by the rules of lfuse_max and lfuse_min: NaN wins. All types but bool; need elements. */
LFUSE_API lfuse_value lfuse_member_amax(lfuse_value list);
LFUSE_API lfuse_value lfuse_member_amin(lfuse_value list);
/** bool: whether any element, or every one, is not 0 (NaN is not). Of no elements false and true. Every type. */
LFUSE_API lfuse_value lfuse_member_any(lfuse_value list);
LFUSE_API lfuse_value lfuse_member_all(lfuse_value list);
/** i64: the number of elements of each member; nothing is read for it. */
LFUSE_API lfuse_value lfuse_member_elements(lfuse_value list);

/* The rest takes floating types. */

/** The sum divided by the number of elements; of none NaN. */
LFUSE_API lfuse_value lfuse_member_mean(lfuse_value list);
/** sum |a|, sqrt(sum a^2) and max |a|; the last needs elements. */
LFUSE_API lfuse_value lfuse_member_norm_l1(lfuse_value list);
LFUSE_API lfuse_value lfuse_member_norm_l2(lfuse_value list);
LFUSE_API lfuse_value lfuse_member_norm_inf(lfuse_value list);
/**
 * The vector norm of any order, as torch.linalg.vector_norm: 1, 2 and INFINITY as above, -INFINITY the smallest |a|
 * (needs elements), 0 how many elements are not 0, else (sum |a|^order)^(1 / order). ERR_INVALID: NaN.
 */
LFUSE_API lfuse_value lfuse_member_norm(lfuse_value list, double order);

/*
 * ---- of the rows and columns of each member ----
 * Of lists of rank LFUSE_RANK_MATRIX. A row's, or column's, sum is that of libfuse/reduce.h along that axis of a tensor
 * of the member's shape, with its bits; of no elements it is 0. Each takes two launches for all members, whatever their
 * number and sizes. The results repeat where they stand beside the matrices (lfuse_list_input).
 */

/** Sums of rows: LFUSE_RANK_ROWS. Also of numbers of rows or columns, all those of one matrix: LFUSE_RANK_MATRICES. */
LFUSE_API lfuse_value lfuse_member_row_sum(lfuse_value list);
/** Sums of columns: LFUSE_RANK_COLUMNS. */
LFUSE_API lfuse_value lfuse_member_column_sum(lfuse_value list);
/** The sum divided by the number of elements; of none NaN. Floating types, lists of matrices. */
LFUSE_API lfuse_value lfuse_member_row_mean(lfuse_value list);
LFUSE_API lfuse_value lfuse_member_column_mean(lfuse_value list);
/** i64, of each member: how many rows and columns its matrices have, and its rank; nothing is read for it. */
LFUSE_API lfuse_value lfuse_member_rows(lfuse_value list);
LFUSE_API lfuse_value lfuse_member_columns(lfuse_value list);
LFUSE_API lfuse_value lfuse_member_rank(lfuse_value list);

/*
 * ---- products of members ----
 * Member by member, the matrix product of two lists of rank LFUSE_RANK_MATRIX: every member has its own m, k and n (a
 * batch by a list of pointers where they are equal, a grouped product where they are not). Members that are several
 * matrices one behind the other are multiplied matrix by matrix; both have equally many. Transposed: the member's
 * matrices are stored as [k, m], or [n, k]. Where one matrix goes with all members, it is in its list as often.
 * The result is a list of matrices: what follows member by member (a list of LFUSE_RANK_COLUMNS as bias, an activation,
 * a list of matrices as residual) is computed by the same kernel. All members are one launch, whatever their number and
 * sizes, by the library's own kernels, whichever provider a plan asks for, as vendors have no such product with what
 * follows; the plan's printed form says so: (grouped ...). On tensor cores there may be one in front, see below. A sum
 * is added up from k = 0 on by fma: the bits depend on the member alone, not on the others, and on GPUs may differ from
 * those of one lfuse_matmul, whose sums are split for few tiles.
 * f32, f64, f16 and bf16, which accumulate in f32. Members without elements, and k = 0 (which gives zeros), are legal.
 * Factors, results and what is added of the list's own shapes may have leading dimensions (lfuse_list_create), each
 * member its own, at no copy; such results or additions need to be part of the product's kernel (ERR_UNSUPPORTED where
 * LFUSE_NO_EPILOGUE or the number of operands keeps them out).
 * On GPUs with tensor cores f16 by f16, bf16 by bf16, and e4m3 and e5m2 by each other, are multiplied there (NVIDIA's
 * from sm_80 on, fp8 from sm_89 on, through OpenCL too), and added up in the tensor core's order instead of by fma: the
 * bits then depend on the member and the device. Members whose rows are multiples of 16 bytes are the fast ones.
 * Factors whose rows are not, or which begin at no multiple of 16 bytes when the instance is made, are copied by one
 * launch in front into scratch memory, of which they take about as many bytes as they have; the bits stay the same.
 * Without memory for that, and where a member is replaced by one that begins at no such multiple, that member alone
 * takes several times as long. Of e4m3 and e5m2 Hopper is fastest where only the right list is transposed.
 * ERR_RANK, ERR_TYPE, ERR_UNSUPPORTED as lfuse_matmul. When an instance is made, ERR_SHAPE names the member whose inner
 * sizes, or numbers of matrices, differ, or the lists whose counts do. Results may lie in no operand's memory but that
 * of a residual of the same list (lfuse_update).
 */
LFUSE_API lfuse_value lfuse_member_matmul(lfuse_value a, int transpose_a, lfuse_value b, int transpose_b);
/**
 * The same with types and precision as lfuse_matmul_as has them: f16 and bf16 operands with f32 results, operands of
 * two types, one triple of types for all members. Precisions that split are FULL here: lists of f32 are multiplied in
 * f32, as split operands would take a workspace for all members. ERR_UNSUPPORTED: LFUSE_PRECISION_TF32, which lists
 * do not have.
 */
LFUSE_API lfuse_value lfuse_member_matmul_as(lfuse_value a, int transpose_a, lfuse_value b, int transpose_b,
                                             lfuse_type type, lfuse_precision precision);

/* ---- of the whole list: tensors of rank 0. As above for all elements of all members ---- */

LFUSE_API lfuse_value lfuse_list_sum(lfuse_value list);
LFUSE_API lfuse_value lfuse_list_amax(lfuse_value list);
LFUSE_API lfuse_value lfuse_list_amin(lfuse_value list);
LFUSE_API lfuse_value lfuse_list_any(lfuse_value list);
LFUSE_API lfuse_value lfuse_list_all(lfuse_value list);
/** Norms of the list as one vector: roots are drawn once, of the sum over all members. */
LFUSE_API lfuse_value lfuse_list_norm_l1(lfuse_value list);
LFUSE_API lfuse_value lfuse_list_norm_l2(lfuse_value list);
LFUSE_API lfuse_value lfuse_list_norm_inf(lfuse_value list);
LFUSE_API lfuse_value lfuse_list_norm(lfuse_value list, double order);

LFUSE_END_DECLS
#endif
