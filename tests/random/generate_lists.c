/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of lists: flat ones or matrices, numbers of lines and of members, all of one set of members (problem.c). */
#include "tests/random/generate.h"

enum { LEAST_DEPTH = 2, DEPTH = 9, TRIES = 12 };

/* The same, or one that repeats beside it. */
static bool beside(int rank, const lfuse__node *n)
{
    if (!n->list) return n->rank == 0;
    if (n->rank == rank || n->rank == 0) return true;
    if (rank == LFUSE_RANK_MATRIX) return n->rank != LFUSE_RANK_ANY;
    return (rank == LFUSE_RANK_ROWS || rank == LFUSE_RANK_COLUMNS) && n->rank == LFUSE_RANK_MATRICES;
}

static lfuse_value new_list(gen *s, int rank)
{
    char name[NAME];
    return lfuse_list_input(s->g, fresh(s, name, 'l'), s->type, rank);
}

/* Members of as many rows and columns as the others have rows: problem.c knows them by the letter. */
static lfuse_value new_squares(gen *s)
{
    char name[NAME];
    return lfuse_list_input(s->g, fresh(s, name, PROBLEM_SQUARES), s->type, LFUSE_RANK_MATRIX);
}

static bool is_matrices(const gen *s, lfuse_value v)
{
    return node(s, v)->list && node(s, v)->rank == LFUSE_RANK_MATRIX && floating(s, v);
}

/* Sums widen: everything is of one type. */
static void keep_typed(gen *s, lfuse_value v)
{
    if (v.id >= 0) keep(s, type_of(s, v) == s->type ? v : lfuse_cast(v, s->type));
}

static void make_unary(gen *s)
{
    const lfuse_value v = any(s);
    switch (below(s, 4)) {
    case 0: keep(s, lfuse_neg(v)); break;
    case 1: keep(s, lfuse_abs(v)); break;
    case 2: keep(s, lfuse_mul(v, number(s, floating(s, v) ? 0.5 : 2))); break;
    default: keep(s, lfuse_max(v, number(s, 0))); break;
    }
}

static void make_binary(gen *s)
{
    const lfuse_value x = any(s);
    for (int i = 0; i < TRIES; i++) {
        const lfuse_value y = any(s), a = chance(s, 2) ? x : y, b = a.id == x.id ? y : x;
        if (!node(s, x)->list || !beside(node(s, x)->rank, node(s, y))) continue;
        switch (below(s, 5)) {
        case 0: keep(s, lfuse_add(a, b)); break;
        case 1: keep(s, lfuse_sub(a, b)); break;
        case 2: keep(s, lfuse_mul(tame(s, a), tame(s, b))); break;
        case 3: keep(s, lfuse_min(a, b)); break;
        default: keep(s, lfuse_where(lfuse_gt(a, b), a, b)); break;
        }
        return;
    }
}

static void make_sum(gen *s)
{
    const lfuse_value v = any(s);
    const lfuse__node *n = node(s, v);
    if (!n->list) return;
    if (n->rank == 0) keep_typed(s, lfuse_list_sum(v));
    else if (n->rank == LFUSE_RANK_MATRIX && chance(s, 3)) keep_typed(s, lfuse_member_column_sum(v));
    else if (n->rank < LFUSE_RANK_ANY && n->rank != LFUSE_RANK_MATRICES && !chance(s, 3))
        keep_typed(s, lfuse_member_row_sum(v));
    else if (n->rank >= LFUSE_RANK_MATRIX) keep_typed(s, lfuse_member_sum(v));
}

/*
 * Products whose members have the shapes of the others again: of x y^T and z, or of a list of square ones and x. What
 * is between has other shapes, of narrow types also sums of f32, and stays out of the pool.
 */
static void make_multiply(gen *s)
{
    lfuse_value x[3];
    for (int i = 0; i < 3; i++) {
        x[i] = any(s);
        for (int tries = 0; tries < TRIES && !is_matrices(s, x[i]); tries++) x[i] = any(s);
        if (!is_matrices(s, x[i])) return;
    }
    const bool narrow = lfuse__is_narrow(s->type);
    const lfuse_type between = narrow && chance(s, 2) ? LFUSE_F32 : s->type;
    const lfuse_value left = chance(s, 2) ? new_squares(s)
                                          : lfuse_member_matmul_as(tame(s, x[0]), 0, tame(s, x[1]), 1, between,
                                                                   LFUSE_PRECISION_FULL);
    keep_typed(s, chance(s, 2) ? lfuse_matmul_as(left, tame(s, x[2]), LFUSE_TYPE_NONE, LFUSE_PRECISION_FULL)
                               : lfuse_member_matmul_as(left, 1, x[2], 0, LFUSE_TYPE_NONE, LFUSE_PRECISION_FULL));
}

static void make_total(gen *s)
{
    const lfuse_value v = any(s);
    const lfuse__node *n = node(s, v);
    if (n->list && (n->rank == LFUSE_RANK_ANY || n->rank == LFUSE_RANK_MATRIX || n->rank == 0))
        keep_typed(s, chance(s, 2) ? lfuse_list_sum(v) : lfuse_list_any(v));
}

static void make_count(gen *s)
{
    const lfuse_value v = value(s, s->pool[0]);
    if (node(s, v)->rank != LFUSE_RANK_MATRIX) keep_typed(s, lfuse_member_elements(v));
    else keep_typed(s, chance(s, 2) ? lfuse_member_rows(v) : lfuse_member_columns(v));
}

void make_lists(gen *s)
{
    static const lfuse_type types[] = {LFUSE_F32, LFUSE_F32, LFUSE_F16, LFUSE_BF16, LFUSE_F64, LFUSE_I32,
                                       LFUSE_E4M3, LFUSE_E5M2};
    static const int lines[] = {LFUSE_RANK_ROWS, LFUSE_RANK_COLUMNS, LFUSE_RANK_MATRICES, LFUSE_RANK_MATRIX, 0};
    static maker *const makers[] = {make_unary, make_binary, make_binary, make_binary, make_binary,
                                    make_sum,   make_sum,    make_sum,    make_total,  make_count,
                                    make_multiply};
    const bool matrices = !chance(s, 3);
    const int depth = LEAST_DEPTH + below(s, DEPTH);
    s->type = PICK(s, types);
    keep(s, new_list(s, matrices ? LFUSE_RANK_MATRIX : LFUSE_RANK_ANY));
    for (int i = below(s, 3); i > 0; i--)
        keep(s, new_list(s, matrices ? PICK(s, lines) : chance(s, 3) ? 0 : LFUSE_RANK_ANY));
    for (int i = 0; i < depth && !lfuse_graph_check(s->g); i++) PICK(s, makers)(s);
}
