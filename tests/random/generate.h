/* SPDX-License-Identifier: Apache-2.0 */
/* A graph in the making, for generate.c and its makers: a pool of values, to which makers add functions of those. */
#ifndef TESTS_RANDOM_GENERATE_H
#define TESTS_RANDOM_GENERATE_H

#include "bench/data.h"
#include "common/graph/build.h"
#include "libfuse.h"
#include "tests/random/problem.h"

enum { POOL = 160, MOST_ELEMENTS = 6000, MOST_LONG = 90000, MOST_OUTPUTS = 6, NAME = 16 };

typedef struct gen {
    lfuse__random r;
    lfuse_graph *g;
    problem *p;
    int nvariables;
    lfuse_size variables[PROBLEM_MAX_SIZES];
    int64_t most;        /* elements of a value */
    int32_t pool[POOL];
    int count, names;
    lfuse_type type;     /* that most inputs have */
    bool frozen;         /* some inputs are */
} gen;

static inline int below(gen *s, int n) { return (int)lfuse__random_below(&s->r, (uint64_t)n); }
static inline bool chance(gen *s, int of) { return below(s, of) == 0; }
#define PICK(s, array) ((array)[below(s, (int)(sizeof(array) / sizeof *(array)))])

/* ---- generate_values.c: values, sizes, inputs; of those that return values, nothing() where there is none ---- */
const lfuse__node *node(const gen *s, lfuse_value v);
lfuse_value value(gen *s, int32_t id);
lfuse_type type_of(const gen *s, lfuse_value v);
lfuse_value nothing(gen *s);
/* An extent as builders take it; the least that it can be. */
lfuse_size given(const gen *s, lfuse_size size);
int64_t least(gen *s, lfuse_size size);
bool affordable(gen *s, int rank, const lfuse_size *shape);
/* A new value; one that is too large is left alone. */
void keep(gen *s, lfuse_value v);
lfuse_type any_type(gen *s);
const char *fresh(gen *s, char name[NAME], char kind);
lfuse_value new_input(gen *s, lfuse_type type, int rank, const lfuse_size *shape);
lfuse_size small_extent(gen *s);
lfuse_value any_input(gen *s);
/* What is there: of any kind, floating, with at least so many axes. */
lfuse_value any(gen *s);
bool floating(const gen *s, lfuse_value v);
lfuse_value any_floating(gen *s);
lfuse_value any_of_rank(gen *s, int rank, bool must_float);
/* Whether the shapes broadcast to one that can be afforded. */
bool fit(gen *s, int count, const int32_t *in);
/* Another operand for a function of x: a value that is there, a number, or an input that repeats along some axes. */
lfuse_value partner(gen *s, lfuse_value x);
lfuse_value number(gen *s, double x);
lfuse_value positive(gen *s, lfuse_value v, double least_size);

typedef void maker(gen *s);

/* ---- generate_pointwise.c ---- */
/* Keeps what may grow within what the narrow types hold. */
lfuse_value tame(gen *s, lfuse_value v);
maker make_pointwise, make_arithmetic, make_cast;

/* ---- generate_views.c ---- */
maker make_permute, make_slice, make_slice_range, make_split, make_reshape, make_broadcast, make_concat, make_pad;

/* ---- generate_rows.c ---- */
maker make_reduction, make_scan, make_row_work, make_norm, make_gather, make_take, make_scatter, make_product,
    make_batch, make_twins, make_index, make_extent;

/* ---- generate_gradients.c ---- */
maker make_gradients;

/* ---- generate_lists.c: all of a graph but its results ---- */
maker make_lists;

#endif
