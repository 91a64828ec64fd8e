/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the oracle. A number with its error is a pair (v, e): what a correct device computes lies within e of v;
 * e = INFINITY: it may be anything, NaN included; e = 0: it is v, NaN and infinities included. A truth value with e = 1
 * may be either.
 *
 * Values of type f16 and bf16 are kept as they are before they are rounded to the type; see lfuse__oracle_read.
 */
#ifndef BENCH_ORACLE_INTERNAL_H
#define BENCH_ORACLE_INTERNAL_H

#include "bench/oracle.h"
#include "common/graph/graph.h"

typedef struct lfuse__pair {
    long double v;
    double e;
} lfuse__pair;

/* A node's elements, row-major; of a list, member after member. */
typedef struct lfuse__values {
    lfuse__pair *x; /* NULL: not evaluated */
    int64_t count;
    int rank;
    int64_t shape[LFUSE_MAX_RANK];
    bool rows;             /* the leading axis is the selected one */
    int64_t members;       /* of a list */
    const int64_t *ends;   /* of a list of tensors; the input's, or in `lines` */
    const lfuse__matrices *matrices; /* [members] that a list's members are, or its numbers are of; NULL: not known */
} lfuse__values;

/* An evaluation. */
typedef struct lfuse__oracle {
    const lfuse_graph *g;
    const lfuse__oracle_options *options;
    const lfuse__oracle_input **bound; /* [nnames] */
    int64_t **ends;                    /* [nnames] of lists */
    lfuse__matrices **matrices;        /* [nnames] of lists of matrices; NULL: the caller's */
    int64_t **lines;                   /* [nnodes] ends of lists of lines, and of products */
    lfuse__matrices **products;        /* [nnodes] what the members of lists of products are */
    int64_t *sizes;                    /* [nsizes] values; -1: not known */
    double *scalars;                   /* [nnames] */
    lfuse__values *arrays;             /* [nnodes] */
    bool out_of_range;                 /* for the run */
    int32_t *last;                     /* [nnodes] last node that reads it; nnodes: a result; -1: none */
} lfuse__oracle;

static inline lfuse_type lfuse__oracle_type(const lfuse__oracle *s, int32_t node)
{
    return (lfuse_type)s->g->nodes[node].type;
}

/* oracle_bind.c */
lfuse_status lfuse__oracle_bind(lfuse__oracle *s, const lfuse__oracle_input *inputs, int ninputs);

/* One kind of node: `a` is zero before. */
typedef lfuse_status lfuse__oracle_node(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a);
lfuse__oracle_node lfuse__oracle_node_input, lfuse__oracle_node_list;                                /* oracle_bind.c */
lfuse__oracle_node lfuse__oracle_node_pointwise, lfuse__oracle_node_identity, lfuse__oracle_node_cast,
    lfuse__oracle_node_matmul; /* oracle_node.c */
lfuse__oracle_node lfuse__oracle_node_permute, lfuse__oracle_node_broadcast, lfuse__oracle_node_reshape,
    lfuse__oracle_node_slice, lfuse__oracle_node_concat, lfuse__oracle_node_gather,
    lfuse__oracle_node_index; /* oracle_view.c */
lfuse__oracle_node lfuse__oracle_node_reduce, lfuse__oracle_node_scatter_add; /* oracle_reduce.c */
lfuse__oracle_node lfuse__oracle_node_scan;                                   /* oracle_scan.c */
lfuse__oracle_node lfuse__oracle_node_member_reduce, lfuse__oracle_node_list_reduce,
    lfuse__oracle_node_member_elements; /* oracle_members.c */

/* oracle_lines.c */
lfuse__oracle_node lfuse__oracle_node_line_reduce;
/* A function of elements, `at` being where each operand stands. */
typedef lfuse__pair lfuse__oracle_apply(const lfuse__oracle *s, const lfuse__node *n, const int64_t *at);
/* Whether numbers of lines repeat beside others; then a function of lists is evaluated by point_lines. */
bool lfuse__oracle_repeats(const lfuse__oracle *s, const lfuse__node *n);
lfuse_status lfuse__oracle_point_lines(lfuse__oracle *s, const lfuse__node *n, lfuse__oracle_apply *apply,
                                       lfuse__values *a);

/* oracle_shape.c */
lfuse_status lfuse__oracle_allocate(lfuse__values *a);
/* Shape and room of a tensor; rows: its leading axis is the selected one. */
lfuse_status lfuse__oracle_shape(lfuse__oracle *s, const lfuse__node *n, bool rows, lfuse__values *a);
lfuse_status lfuse__oracle_not_by_rows(const char *what);
/* Elements to step over when an axis of the result advances: 0 where the operand repeats. */
void lfuse__oracle_steps(const lfuse__values *result, const lfuse__values *o, int64_t *step);
/* The next index in row-major order, and where operands stand then. */
void lfuse__oracle_advance(const lfuse__values *result, int operands, int64_t (*step)[LFUSE_MAX_RANK], int64_t *index,
                           int64_t *at);

/* oracle_round.c */
bool lfuse__oracle_floating(lfuse_type type);
/* Relative error of one rounding to the type: half a unit. */
double lfuse__oracle_unit(lfuse_type type);
/* The unit in the last place of a number of this size; `guard` more binades count as subnormal. */
double lfuse__oracle_ulp(lfuse_type type, double size, int guard);
/* What arithmetic on the type is done in. */
lfuse_type lfuse__oracle_register(lfuse_type type);
/* What is certainly rounded to the type (stored or cast). */
lfuse__pair lfuse__oracle_store(lfuse_type type, lfuse__pair x);
/* What may have been rounded to the type or not: how a value is read that is not from function to function. */
lfuse__pair lfuse__oracle_read(lfuse_type type, lfuse__pair x);
/* A result in a register: too large a number is infinite. */
lfuse__pair lfuse__oracle_overflow(lfuse_type type, lfuse__pair x);

/* oracle_reach.c: how functions of floating numbers move over the intervals of their operands. */
typedef enum lfuse__course {
    LFUSE__COURSE_SMOOTH, /* the derivative in the middle serves a narrow interval */
    LFUSE__COURSE_BENT,   /* steps and kinks: it says nothing about the neighbourhood */
    LFUSE__COURSE_WAVE    /* slope at most 1, values -1 ... 1 */
} lfuse__course;
lfuse__course lfuse__oracle_course(lfuse__op op);
/* Whether a result is anything but one of the operands, 0, an integer or another exact number. */
bool lfuse__oracle_rounds(lfuse__op op);
/* Whether nothing can be said: a pole, an edge of the domain or a jump lies within, or what is between overflows. */
bool lfuse__oracle_open(lfuse__op op, lfuse_type type, const lfuse__pair *x, bool certain);
enum { LFUSE__TURNS = 3 };
/*
 * Ends of the first operand's interval, and within it where the function turns, bends or jumps, with what is beside
 * it; `parameter` is the second operand. At most 2 + 3 LFUSE__TURNS of them.
 */
int lfuse__oracle_places(lfuse__op op, lfuse__pair x, long double parameter, long double *places);

/* oracle_point.c: operands of one type (of the choices, for a selection); `exact`: see the options. */
lfuse__pair lfuse__oracle_point(lfuse__op op, lfuse_type type, bool exact, const lfuse__pair *operands);
lfuse__pair lfuse__oracle_cast(lfuse_type from, lfuse_type to, lfuse__pair x);

/*
 * oracle_fold.c: a reduction of `count` numbers of the type, in the canonical order; sums and products of integers are
 * i64. ERR_MEMORY; ERR_SHAPE: nothing to choose from.
 */
lfuse_status lfuse__oracle_fold(lfuse__reduce op, lfuse_type type, bool exact, const lfuse__pair *x, int64_t count,
                                lfuse__pair *result);

/* oracle_matmul.c: row-major a [m, k], b [k, n], c [m, n]. `tf32`: of f32, whose elements may be cut. ERR_MEMORY. */
lfuse_status lfuse__oracle_matmul(lfuse_type type, bool tf32, int64_t m, int64_t n, int64_t k, const lfuse__pair *a,
                                  const lfuse__pair *b, lfuse__pair *c);
/*
 * oracle_strassen.c: what any element of a product by so many levels of Strassen's algorithm may be off by, a and b
 * being the operands' largest elements, `type` theirs; and widens the bounds of the product above to that.
 */
double lfuse__oracle_strassen_bound(lfuse_type type, int levels, int64_t k, double a, double b);
/* By a and b: the standard deviation, at most, of what it adds that factors are stored in f16 or bf16. */
double lfuse__oracle_strassen_storage(lfuse_type type, int levels, int64_t k);
void lfuse__oracle_strassen(lfuse_type type, int levels, int64_t m, int64_t n, int64_t k, const lfuse__pair *a,
                            const lfuse__pair *b, lfuse__pair *c);
/*
 * Returns the type whose factor holds for products of such operands: that of both, or of A where both have 8 bits, as
 * e4m3 with e5m2; else f32.
 */
lfuse_type lfuse__oracle_matmul_type(lfuse_type a, lfuse_type b);
/* oracle_lines.c: of lists of matrices. */
lfuse__oracle_node lfuse__oracle_member_matmul;
/* Factor of |A||B| in the bound of a product of inner extent k. */
double lfuse__oracle_matmul_factor(lfuse_type type, int64_t k);
double lfuse__oracle_tf32_factor(int64_t k); /* of f32 operands cut to tf32 */

#endif
