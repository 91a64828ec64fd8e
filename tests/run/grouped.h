/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of matrices of f32, and products of their members. */
#ifndef TESTS_RUN_GROUPED_H
#define TESTS_RUN_GROUPED_H

#include "tests/run/rig.h"

enum { GROUPED_MOST = 8 };

typedef struct grouped_shape {
    int rank;
    int64_t extents[3];
} grouped_shape;

typedef struct grouped_lists {
    int count;
    lfuse_tensor *t[GROUPED_MOST];
    lfuse_list *list;
} grouped_lists;

/* Numbers that are whole and small, so that sums are exact; with `odd`, fractions that round. */
grouped_lists grouped_set(int count, const grouped_shape *shapes, int start, bool odd);
/* c = a b, or b stored [n, k]; k first to last by fma, as a member's product is: bit for bit. */
void grouped_check_transposed(const lfuse_tensor *a, const lfuse_tensor *b, bool transposed, const lfuse_tensor *c,
                              int64_t m, int64_t n, int64_t k);
void grouped_check(const lfuse_tensor *a, const lfuse_tensor *b, const lfuse_tensor *c, int64_t m, int64_t n,
                   int64_t k);
/* "c" = "a" "b", or "b"^T. */
lfuse_graph *grouped_transposed_graph(bool transposed);
lfuse_graph *grouped_graph(void);
lfuse_plan *grouped_plan(lfuse_graph *graph, lfuse_transport transport);
/* A run of it over these gives the status, and a message with the words. */
void grouped_fails(const grouped_lists *a, const grouped_lists *b, lfuse_list *c, lfuse_status status,
                   const char *words);

#endif
