/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Views, look-ups and joins: other ways to walk the elements that are there.
 *
 * A view does no work by itself: the kernels that read it walk the memory of what it was made of. A join (concat,
 * stack, pad) is written by those who make its parts where that can be, and read in parts else.
 *
 * Axes count from 0, negative ones from the end. Extents may be size variables: what is asked for has to fit for all
 * values within their bounds, or the graph is refused. Lists have no axes: they are declined with ERR_RANK, numbers
 * without a type with ERR_TYPE. ERR_SHAPE: an axis that is not there or is named twice, a shape that does not fit. All
 * element types are taken but where a function says otherwise.
 */
#ifndef LIBFUSE_VIEWS_H
#define LIBFUSE_VIEWS_H

#include <libfuse/graph.h>

/** In place of one extent of lfuse_reshape: what is left. */
#define LFUSE_REST (-1)
/** In place of an end of lfuse_slice_range: left out, as in Python's a[::2]. */
#define LFUSE_OPEN INT64_MIN

/** What a negative index means. */
typedef enum lfuse_index_mode {
    LFUSE_INDEX_PLAIN,   /**< it is out of range */
    LFUSE_INDEX_FROM_END /**< -1 is the last element; what is below -n is out of range */
} lfuse_index_mode;

LFUSE_BEGIN_DECLS

/** Axis i of the result is axis axes[i] of a; each axis once, here counted from 0 alone. */
LFUSE_API lfuse_value lfuse_permute(lfuse_value a, const int *axes);
/** Swaps the last two axes. */
LFUSE_API lfuse_value lfuse_transpose(lfuse_value a);
/** Repeats axes of literal extent 1, and new leading axes, up to the given shape. */
LFUSE_API lfuse_value lfuse_broadcast_to(lfuse_value a, int rank, const lfuse_size *shape);

/**
 * The elements in row-major order in another shape of as many elements. One extent may be LFUSE_REST where the others
 * tell it: [n, 6] as (n, LFUSE_REST, 2) is [n, 3, 2].
 */
LFUSE_API lfuse_value lfuse_reshape(lfuse_value a, int rank, const lfuse_size *shape);
/** Axes `first` to `last` (both among them) as one. A number becomes a vector of one element. */
LFUSE_API lfuse_value lfuse_flatten(lfuse_value a, int first, int last);
/** Without an axis of literal extent 1. */
LFUSE_API lfuse_value lfuse_squeeze(lfuse_value a, int axis);
/** With a new axis of extent 1, which becomes axis `axis` of the result. */
LFUSE_API lfuse_value lfuse_unsqueeze(lfuse_value a, int axis);

/**
 * `count` elements of an axis: element i of the result is element start + i step of a. The step is not 0 and may be
 * negative. A negative number as `start` counts from the end, -1 being the last. Every element must be there.
 */
LFUSE_API lfuse_value lfuse_slice(lfuse_value a, int axis, lfuse_size start, lfuse_size count, int64_t step);
/**
 * What Python's a[start:stop:step] takes of an axis: the elements start, start + step ... before `stop` is reached. A
 * negative number as an end counts from the end of the axis, LFUSE_OPEN leaves an end out: all that there is in the
 * direction of the step, which is not 0. Ends beyond the axis are clipped to it, so none is refused; there may be no
 * elements left. With extents that are numbers this is always known. Where the axis or an end is a size variable, each
 * end must be inside the axis or beyond it, and the number of elements an extent, for all values within the bounds:
 * x[1:] and x[::-1] of any n that is not below 1, x[:8] where n is 8 or more (or 8 or less), x[::2] where n is made of
 * an even factor. Else ERR_SHAPE.
 */
LFUSE_API lfuse_value lfuse_slice_range(lfuse_value a, int axis, lfuse_size start, lfuse_size stop, int64_t step);
/** Neighbouring parts of these extents, which together are the axis; parts[0 ... count-1] are set in every case. */
LFUSE_API void lfuse_split(lfuse_value a, int axis, int count, const lfuse_size *sizes, lfuse_value *parts);
/**
 * At most `count` neighbouring parts, as torch.chunk: all of the extent divided by `count` and rounded up, but for the
 * last one, which may be smaller. That can make fewer parts: 12 elements in 5 are 3 3 3 3. Returns how many there are,
 * 0 after a mistake; parts[0 ... count-1] are set in every case, those that are not there to lfuse_none(). Of an axis
 * without elements all are empty. What depends on a size variable must divide by `count`: ERR_SHAPE.
 */
LFUSE_API int lfuse_chunk(lfuse_value a, int axis, int count, lfuse_value *parts);
/** Backwards along each of the axes (each once; LFUSE_ALL_AXES: all). */
LFUSE_API lfuse_value lfuse_flip(lfuse_value a, int count, const int *axes);

/** One after the other along an axis: at least one, of one type, of one shape but for that axis. */
LFUSE_API lfuse_value lfuse_concat(int count, const lfuse_value *values, int axis);
/** The same along a new axis, which becomes axis `axis` of the result: values of one shape. */
LFUSE_API lfuse_value lfuse_stack(int count, const lfuse_value *values, int axis);
/**
 * before[i] elements of `number` (rounded to the type of a) before axis i and after[i] behind it. Either may be NULL:
 * none. Extents of padding are not negative: use lfuse_slice to take away.
 */
LFUSE_API lfuse_value lfuse_pad(lfuse_value a, const lfuse_size *before, const lfuse_size *after, double number);
/**
 * The same with the first and the last element of each axis repeated (numpy: 'edge', torch: replicate), or with the
 * axis mirrored at them, so that they themselves stand there once ('reflect'). Mirrored as far as it takes, back and
 * forth, as numpy has it; torch stops at the extent less 1. Up to there this is a join of slices, beyond it, or where
 * the bounds of size variables leave it open, a look-up by indices that the kernel computes. An axis of one element is
 * repeated. An axis that is padded must have elements for all sizes: ERR_SHAPE.
 */
LFUSE_API lfuse_value lfuse_pad_edge(lfuse_value a, const lfuse_size *before, const lfuse_size *after);
LFUSE_API lfuse_value lfuse_pad_reflect(lfuse_value a, const lfuse_size *before, const lfuse_size *after);

/**
 * Rows by index: of a table [n, rest ...] and indices (i32 or i64, any rank) the rows [indices ..., rest ...], as
 * torch.nn.functional.embedding. An index that is negative or not below n gives a row of zeros, and the stream on which
 * this runs remembers the step and the element of the first one: see lfuse_stream_synchronize.
 */
LFUSE_API lfuse_value lfuse_gather(lfuse_value table, lfuse_value indices);
/**
 * What the indices (i32 or i64, any rank) name along any axis: [before ..., indices ..., behind ...] of a [before ...,
 * n, behind ...], as numpy.take and, with indices of rank 1, torch.index_select.
 */
LFUSE_API lfuse_value lfuse_index_select(lfuse_value a, int axis, lfuse_value indices, lfuse_index_mode mode);
/**
 * Single elements along an axis: of a and indices of its rank the element whose place along the axis is the index that
 * stands where the result will stand, as numpy.take_along_axis and torch.gather. The other axes are equal, or of
 * literal extent 1 in one of both, which repeats; torch.gather's indices of fewer elements go with a slice of a.
 * ERR_RANK: other ranks. Both functions: an index out of range gives 0 and is reported as of lfuse_gather.
 */
LFUSE_API lfuse_value lfuse_take_along(lfuse_value a, int axis, lfuse_value indices, lfuse_index_mode mode);
/**
 * The adjoint: adds each row of `source` [indices ..., rest ...] to the row of the result [rows, rest ...] that its
 * index names; rows that no index names are 0. The sum is the canonical one over all positions of the indices in
 * row-major order, of 0 where another row is named, so the bits are the same in every run and everywhere. As
 * torch.zeros(rows, ...).index_add_(0, indices, source). f16 and bf16 add in f32 and round once; integers wrap; bool is
 * declined with ERR_TYPE. An index out of range adds nothing and is reported as above.
 *
 * Few rows (up to 16, or rows times indices up to 2^18, whatever the sizes are) are one kernel, fused with what is
 * around it, in which every row looks at every index. Else the indices are sorted on the device, in 3 + 3 d launches
 * where `rows` has d digits of 6 bits (on CPUs 8), with scratch memory of 16 bytes an index and 8 a row; then each row
 * adds what it has, so that the time is that of reading the source and writing the result, and of sorting. A row that n
 * indices name takes n steps one after the other. There are then at most 2^31 indices, and fewer rows:
 * ERR_UNSUPPORTED when the sizes are known.
 */
LFUSE_API lfuse_value lfuse_scatter_add(lfuse_value source, lfuse_value indices, lfuse_size rows);

/** i64: of each element its own row-major index in this shape. */
LFUSE_API lfuse_value lfuse_index(lfuse_graph *graph, int rank, const lfuse_size *shape);
/** An extent as a number: what a size variable, or an expression of some, is in that run. */
LFUSE_API lfuse_value lfuse_extent(lfuse_graph *graph, lfuse_size size);

LFUSE_END_DECLS
#endif
