/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors and lists inside the library. Nothing of them changes after creation, but for the memory and the groups of a
 * list's members. Both are counted by references: instances and recordings retain what they use.
 */
#ifndef COMMON_RUN_TENSORS_TENSOR_H
#define COMMON_RUN_TENSORS_TENSOR_H

#include "common/device/device.h"
#include "libfuse/list.h"
#include "libfuse/tensor.h"

struct lfuse_tensor {
    lfuse__range *range; /* one reference; holds the device */
    lfuse_type type;
    int rank;
    bool contiguous;     /* row-major, axes of extent 1 ignored; also when empty */
    int64_t shape[LFUSE_MAX_RANK], strides[LFUSE_MAX_RANK];
    int64_t elements;
    int64_t offset;      /* of the first element from the range's first byte, in elements */
    uint64_t low, high;  /* bytes touched, [low, high) from the range's first byte; equal when empty */
    _Atomic(struct lfuse_list *) elements_list; /* lfuse__tensor_elements_list: made when first asked for */
    atomic_int references;
};

/* ---- tensor.c ---- */
/* What the public functions of these names do, for arguments that are not NULL. */
lfuse_status lfuse__tensor_create(lfuse_device *dev, lfuse_type type, int rank, const int64_t *shape,
                                  lfuse_tensor **tensor);
lfuse_status lfuse__tensor_create_unified(lfuse_device *dev, lfuse_type type, int rank, const int64_t *shape,
                                          lfuse_tensor **tensor);
lfuse_status lfuse__tensor_wrap(lfuse_device *dev, lfuse_memory_kind kind, uint64_t handle, uint64_t bytes,
                                lfuse_type type, int rank, const int64_t *shape, const int64_t *strides,
                                int64_t offset, lfuse_tensor **tensor);
lfuse_status lfuse__tensor_view(const lfuse_tensor *parent, int rank, const int64_t *shape, const int64_t *strides,
                                int64_t offset, lfuse_tensor **tensor);
/* Strides of contiguous tensors of the shape, whose extents are not checked. */
void lfuse__contiguous_strides(int rank, const int64_t *shape, int64_t *strides);
/* Returns whether two elements may share memory, so that it must not be written: exact but for interleaved axes. */
bool lfuse__tensor_repeats(const lfuse_tensor *t);

void lfuse__tensor_retain(lfuse_tensor *t);
void lfuse__tensor_release(lfuse_tensor *t);

/* ---- transfer.c ---- */
/* What the public functions of these names do. Stream NULL: they wait for the work, on a stream of the device. */
lfuse_status lfuse__tensor_write(lfuse_tensor *t, lfuse_stream *stream, const void *host);
lfuse_status lfuse__tensor_read(const lfuse_tensor *t, lfuse_stream *stream, void *host);
lfuse_status lfuse__tensor_copy(lfuse_tensor *to, const lfuse_tensor *from, lfuse_stream *stream);
lfuse_status lfuse__tensor_fill(lfuse_tensor *t, lfuse_stream *stream, double number);

/*
 * A member of a list, seen as matrices: the last two axes are rows and columns, those before them are one batch; a
 * vector is one row. Columns are neighbours in memory.
 */
typedef struct lfuse__member {
    lfuse__range *range; /* one reference each */
    uint64_t offset;     /* bytes from the range's first byte */
    int64_t elements;    /* the product of the next three */
    int64_t matrices, rows, columns;
    int64_t ld, batch_stride;        /* elements from row to row, and from matrix to matrix */
    int rank;
} lfuse__member;

/* Returns whether there are gaps between the elements, or another order than theirs. */
static inline bool lfuse__member_strided(const lfuse__member *m)
{
    return m->elements && (m->ld != m->columns || m->batch_stride != m->rows * m->columns);
}

enum { LFUSE__REPLACED = 8 /* replacements that a list remembers */ };

struct lfuse_list {
    lfuse_device *dev;
    lfuse_type type;
    int64_t count, elements;
    int64_t strided; /* how many members are strided: products alone take such (lists.c) */
    lfuse__member *members;
    uint64_t version; /* advanced by lfuse_list_replace */
    struct {
        int64_t first, count;
    } replaced[LFUSE__REPLACED]; /* [version % LFUSE__REPLACED] the members that came with that version */
    int64_t groups;       /* of members with numbers of their own; 0: none */
    int64_t *group_first; /* [groups + 1] first member of each, then `count` */
    atomic_int holders;    /* of the members' memory, which goes with the last of them: the list is gone then */
    atomic_int references; /* of this record: all holders together have one */
};

/* ---- list.c ---- */
/* What the public functions of these names do, for arguments that are not NULL. */
lfuse_status lfuse__list_create(lfuse_device *dev, lfuse_type type, int64_t count, lfuse_tensor *const *members,
                                lfuse_list **list);
lfuse_status lfuse__list_replace(lfuse_list *l, int64_t first, int64_t count, lfuse_tensor *const *members);
/* Returns ERR_UNSUPPORTED where a member is strided; the message names the first one, and the list by `name`. */
lfuse_status lfuse__list_flat(const lfuse_list *l, const char *name);
/* Tells which members a version has replaced. Returns false where that was too long ago to be known. */
bool lfuse__list_replaced(const lfuse_list *l, uint64_t version, int64_t *first, int64_t *count);
/* Makes a list of members [first, first + count) of another list, with the memory that they have now. */
lfuse_status lfuse__list_slice(const lfuse_list *from, int64_t first, int64_t count, lfuse_list **list);
/* Gives members [at, at + count) the memory that the others, of the same sizes, have now. */
void lfuse__list_mirror(lfuse_list *l, int64_t at, const lfuse_list *from, int64_t first, int64_t count);
/* Makes a list of the members of `n` lists, in order. */
lfuse_status lfuse__list_join(int n, lfuse_list *const *from, lfuse_list **list);
/* Makes a list of the first `count` elements of a vector (rank 1, at least that long), each a member of rank 0. */
lfuse_status lfuse__list_of_elements(const lfuse_tensor *vector, int64_t count, lfuse_list **list);
/* Returns the list of all elements of a vector. It is the tensor's own, and goes with the tensor. */
lfuse_status lfuse__tensor_elements_list(lfuse_tensor *vector, lfuse_list **list);
/* list_groups.c: what lfuse_list_set_groups does. */
lfuse_status lfuse__list_set_groups(lfuse_list *l, int64_t groups, const int64_t *first);
void lfuse__list_retain(lfuse_list *l);
void lfuse__list_release(lfuse_list *l);
/*
 * Who watches a list keeps its record alone, so that no other list can have its address: for what is made for a list
 * and must not keep the user's memory alive. `gone` returns whether nobody holds the list any more.
 */
void lfuse__list_watch(lfuse_list *l);
void lfuse__list_unwatch(lfuse_list *l);
bool lfuse__list_gone(const lfuse_list *l);

#endif
