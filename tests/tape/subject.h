/* SPDX-License-Identifier: Apache-2.0 */
/* A function of a few small inputs with data for them, and what its gradients are held to. */
#ifndef TESTS_TAPE_SUBJECT_H
#define TESTS_TAPE_SUBJECT_H

#include "libfuse.h"
#include "tests/support/check.h"
#include "tests/tape/tape.h"

enum { SUBJECT_INPUTS = 8, SUBJECT_MEMBERS = 4 };

/* Multiples of 2^-7 below 4, as the type of the input holds them, unless the subject has `whole`. */
typedef enum subject_data {
    DISTINCT, /* between -2 and 2, at least 2^-6 away from every integer; any two are at least 2^-5 apart */
    POSITIVE, /* between 1/4 and 9/4, and distinct */
    UNIT,     /* between -1 and 1, and distinct */
    ABOVE_ONE /* between 1 and 2.1, and distinct */
} subject_data;

typedef struct subject {
    lfuse_graph *g;
    lfuse_type type;  /* of inputs that name none */
    bool whole;       /* the data are integers of at most 3 */
    int n, nwrt;      /* inputs, and those of a floating type, which are differentiated by */
    lfuse__oracle_input in[SUBJECT_INPUTS];
    lfuse_value values[SUBJECT_INPUTS], wrt[SUBJECT_INPUTS];
    int of[SUBJECT_INPUTS]; /* the input that wrt[i] is */
    lfuse_type types[SUBJECT_INPUTS];
    int64_t counts[SUBJECT_INPUTS]; /* elements */
    char names[SUBJECT_INPUTS][8];
    void *data[SUBJECT_INPUTS];
    const void *members[SUBJECT_INPUTS][SUBJECT_MEMBERS];
    int64_t elements[SUBJECT_INPUTS][SUBJECT_MEMBERS];
    lfuse__matrices matrices[SUBJECT_INPUTS][SUBJECT_MEMBERS];
} subject;

/* Adds the inputs to the subject's graph, and returns the function's value. */
typedef lfuse_value subject_maker(subject *f);

/* An input of the subject's type. */
lfuse_value subject_input(subject *f, subject_data kind, int rank, const int64_t *shape);
lfuse_value subject_typed(subject *f, subject_data kind, lfuse_type type, int rank, const int64_t *shape);
/* i32, these elements. */
lfuse_value subject_indices(subject *f, int rank, const int64_t *shape, const int *elements);
/* A list of members of so many elements, and one of matrices: how many, rows, columns. */
lfuse_value subject_list(subject *f, subject_data kind, int rank, int count, const int64_t *elements);
lfuse_value subject_matrices(subject *f, subject_data kind, int count, const int64_t (*shapes)[3]);
lfuse_value subject_constant(subject *f, double number);
/* A number that a run gives; a size variable, with its value. */
lfuse_value subject_scalar(subject *f, double number);
lfuse_size subject_size(subject *f, const char *name, int64_t low, int64_t high, int64_t value);

#define INPUT(f, kind, ...) subject_input(f, kind, SHAPE(__VA_ARGS__))

/* What does not hold of a function. */
enum {
    ROUGH = 1,   /* differences say nothing: it has steps, or data at kinks */
    ONCE = 2,    /* its gradient has no gradient, or one that is not to be right */
    LINEAR = 4,  /* of every input, or multilinear: exact on integers */
    NARROW = 8,  /* not of f16 and bf16, whose bounds are of no use here */
    COUNTS = 16  /* its gradient compares sums, such as counts, which the oracle takes to be uncertain */
};

/*
 * Holds the gradients of a function, seeded with a function of its value, to the tape and to differences of the oracle,
 * and the gradients of these to both. Every tolerance is computed: the oracle's bound, and of differences their errors.
 */
void subject_check(const char *name, subject_maker *make, unsigned flags);

/* Holds its gradients in f64 to derivatives along directions that are drawn by lot: <J^T u, v> is <u, J v>. */
void subject_check_duality(const char *name, subject_maker *make, unsigned flags);

#endif
