/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TAPE_TAPE_INTERNAL_H
#define TESTS_TAPE_TAPE_INTERNAL_H

#include "bench/oracle_internal.h"
#include "tests/tape/tape.h"

typedef enum tape_kind {
    TAPE_LEAF,  /* nothing flows on */
    TAPE_POINT, /* operator `op` of in[0 .. arity-1] */
    TAPE_SUM,   /* of `count` arguments */
    TAPE_PROD,
    TAPE_MAX,   /* or the smallest: arguments that are equal to the value share what it gets */
    TAPE_DOT,   /* arguments 2 i and 2 i + 1 are multiplied, and the products added */
    TAPE_COPY   /* has a value of its own and passes on what it gets to in[0] */
} tape_kind;

typedef struct tape_entry {
    uint8_t kind, op;
    bool numbers;   /* operands behind the first are constants or scalars */
    int32_t in[3];
    int64_t first, count; /* of the arguments */
    long double value;
} tape_entry;

/* The elements of a node, as indices of entries. */
typedef struct tape_array {
    int32_t *at;
    int64_t count;
    int rank;
    int64_t shape[LFUSE_MAX_RANK];
    int64_t members;           /* of a list */
    int64_t *ends;             /* of a list of tensors */
    lfuse__matrices *matrices; /* of a list of matrices, or of numbers of their lines */
} tape_array;

struct tape {
    const lfuse_graph *g;
    lfuse__oracle s; /* names and sizes */
    tape_array *arrays; /* [nnodes] */
    tape_entry *entries;
    int64_t nentries, entry_capacity;
    int32_t *arguments;
    int64_t narguments, argument_capacity;
    void **blocks;
    int64_t nblocks, block_capacity;
    long double *adjoints;
};

/* tape.c: memory that lives as long as the tape; entries, by their indices. */
void *tape_block(tape *t, int64_t count, size_t size);
int32_t tape_leaf(tape *t, long double value);
int32_t tape_copy(tape *t, int32_t of, long double value);
int32_t tape_point(tape *t, lfuse__op op, lfuse_type type, bool numbers, const int32_t *in);
/* Over arguments that tape_argument has appended since `first`. */
void tape_argument(tape *t, int32_t entry);
int32_t tape_fold(tape *t, tape_kind kind, int64_t first);
/* A reduction of arguments appended since `first`, of elements of `type`. */
int32_t tape_reduce(tape *t, lfuse__reduce op, lfuse_type type, int64_t first);
/* Room for a tensor of the node's shape. */
void tape_shape(tape *t, const lfuse__node *n, tape_array *a);
void tape_mistake(const char *format, ...) LFUSE_PRINTF(1, 2);

/* The elements of one kind of node; `a` is zero before. */
typedef void tape_node(tape *t, const lfuse__node *n, tape_array *a);
/* tape_views.c */
tape_node tape_permute, tape_broadcast, tape_reshape, tape_slice, tape_concat, tape_gather, tape_scatter_add,
    tape_index;
/* tape_nodes.c */
tape_node tape_pointwise, tape_cast, tape_identity, tape_reduction, tape_scan, tape_matmul;
/* tape_lists.c */
tape_node tape_member_reduce, tape_list_reduce, tape_line_reduce, tape_member_elements, tape_member_matmul;
/* Of operands of `type`; `numbers` as of an entry. */
void tape_pointwise_list(tape *t, const lfuse__node *n, lfuse_type type, bool numbers, tape_array *a);

/* tape_partials.c: the partial derivatives at x with the value y; `numbers` as of an entry. */
void tape_partials(lfuse__op op, const long double *x, long double y, bool numbers, long double *d);

#endif
