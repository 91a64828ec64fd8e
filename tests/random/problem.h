/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random graphs. A problem is a graph with values for its size variables and a seed for the data and their layout; in
 * one line
 *
 *     seed 17 sizes 5 12 (graph ...)
 *
 * with one size for each variable in the order of the graph, and the graph as lfuse__graph_format prints it. The line
 * says everything: whoever reads it back runs the same problem.
 */
#ifndef TESTS_RANDOM_PROBLEM_H
#define TESTS_RANDOM_PROBLEM_H

#include "common/graph/graph.h"
#include "tests/cases/trial.h"

enum { PROBLEM_MAX_SIZES = 4 };

/* Lists whose names begin so have square members, of as many rows and columns as those of other lists have rows. */
enum { PROBLEM_SQUARES = 'q' };
/* Scalars whose names begin so are whole numbers that every integer type can hold. */
enum { PROBLEM_WHOLE = 'w' };

typedef struct problem {
    lfuse_graph *graph;
    uint64_t seed;
    int nsizes;
    int64_t sizes[PROBLEM_MAX_SIZES]; /* of the variables */
} problem;

/* generate.c: the problem of a seed; a builder's complaint is found by lfuse_graph_check. */
void problem_generate(uint64_t seed, problem *p);

/* problem.c */
void problem_free(problem *p);
/* The line; the caller frees it. NULL when memory is out. */
char *problem_print(const problem *p);
/* ERR_INVALID or what lfuse__graph_parse says. */
lfuse_status problem_parse(const char *line, problem *p);
/* Values of all sizes of the graph, by index; the caller frees it. */
int64_t *problem_sizes(const problem *p);
/*
 * Binds every name of the graph: tensors of the sizes' shapes, some misaligned or with gaps, with data of one of a few
 * kinds. ERR_UNSUPPORTED where a shape cannot be told.
 */
lfuse_status problem_bind(const problem *p, trial *t);

/*
 * shrink.c: the smallest problem found for which `fails` still says true, instead of *p: with outputs, updates and
 * values left out, values replaced by inputs or operands, and smaller sizes. Ends after `attempts` questions.
 */
typedef bool problem_fails(const problem *p, void *context);
void problem_shrink(problem *p, problem_fails *fails, void *context, int attempts);

#endif
