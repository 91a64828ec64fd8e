/* SPDX-License-Identifier: Apache-2.0 */
/* <u, J v> = <J^T u, v> of one function, in double, for u and v that are drawn by lot. */
#include <float.h>

#include "common/graph/graph.h"
#include "tests/tape/subject.h"

enum { DRAWS = 4 };

typedef struct dual {
    const char *name;
    subject f;
    lfuse_value y, u, d[SUBJECT_INPUTS];
    lfuse__oracle_run run;
    const lfuse__oracle_result *results[SUBJECT_INPUTS];
    tape *t;
} dual;

/* Constants between -1 and 1: by place and by value of a tensor, of a list, which has no places, by value alone. */
static lfuse_value weights(const subject *f, lfuse_value y, int draw)
{
    const lfuse__node n = f->g->nodes[y.id];
    const lfuse_value pitch = lfuse_constant(f->g, 3 + 4 * draw), phase = lfuse_constant(f->g, 1 + draw);
    const lfuse_value waves = lfuse_stop(lfuse_sin(lfuse_add(lfuse_mul(y, pitch), phase)));
    if (n.list || !n.rank) return waves;
    return lfuse_mul(waves, lfuse_random_uniform(f->g, (lfuse_type)n.type, n.rank, n.shape, phase, pitch));
}

static void make(dual *x, subject_maker *maker, int draw)
{
    char name[16];
    x->f.type = LFUSE_F64;
    x->f.g = lfuse_graph_create();
    ck_assert_ptr_nonnull(x->f.g);
    x->y = maker(&x->f);
    x->u = weights(&x->f, x->y, draw);
    lfuse_gradient(x->y, x->u, x->f.nwrt, x->f.wrt, x->d);
    for (int k = 0; k < x->f.nwrt; k++) {
        snprintf(name, sizeof name, "d%d", k);
        lfuse_output(x->f.g, name, x->d[k]);
    }
    ck_assert_msg(!lfuse_graph_check(x->f.g), "%s: %s", x->name, lfuse_last_error());
}

static void evaluate(dual *x)
{
    const lfuse__oracle_options options = {.inexact = true};
    const lfuse_status status = lfuse__oracle_run_graph(x->f.g, x->f.in, x->f.n, &options, &x->run);
    char name[16];
    ck_assert_msg(!status, "%s: %s", x->name, lfuse_last_error());
    x->t = tape_record(x->f.g, x->f.in, x->f.n, x->f.nwrt, x->f.wrt);
    for (int k = 0; k < x->f.nwrt; k++) {
        snprintf(name, sizeof name, "d%d", k);
        x->results[k] = lfuse__oracle_find(&x->run, name);
        ck_assert_ptr_nonnull(x->results[k]);
    }
}

/* In the place of gradients that compare sums those of the tape, where nothing is rounded but numbers to double. */
static void leave_rounding_out(dual *x)
{
    long double largest = 0;
    for (int k = 0; k < x->f.nwrt; k++)
        for (int64_t i = 0; i < x->results[k]->count; i++)
            largest = fmaxl(largest, fabsl(tape_value(x->t, x->d[k], i)));
    for (int k = 0; k < x->f.nwrt; k++)
        for (int64_t i = 0; i < x->results[k]->count; i++) {
            x->results[k]->value[i] = tape_value(x->t, x->d[k], i);
            x->results[k]->bound[i] = (double)(16 * DBL_EPSILON * (largest + 1));
        }
}

static void destroy(dual *x)
{
    tape_free(x->t);
    lfuse__oracle_free(&x->run);
    lfuse_graph_destroy(x->f.g);
    for (int i = 0; i < x->f.n; i++) free(x->f.data[i]);
}

void subject_check_duality(const char *name, subject_maker *maker, unsigned flags)
{
    for (int draw = 0; draw < DRAWS; draw++) {
        dual x = {.name = name};
        make(&x, maker, draw);
        evaluate(&x);
        if (flags & COUNTS) leave_rounding_out(&x);
        const tape_pair p = tape_duality(x.t, 1, &x.y, &x.u, x.f.nwrt, x.f.wrt, x.results, (uint64_t)draw);
        ck_assert_msg(fabsl(p.left - p.right) <= p.tolerance,
                      "%s, draw %d: forwards %.17Lg, backwards %.17Lg, apart by more than %.2Lg", name, draw, p.left,
                      p.right, p.tolerance);
        /* A bound that allows anything would say nothing; some of the functions have casts to f32. */
        ck_assert_msg(p.tolerance <= 1e-4L * (1 + fabsl(p.left)),
                      "%s, draw %d: %.17Lg +- %.2Lg", name, draw, p.left, p.tolerance);
        destroy(&x);
    }
}
