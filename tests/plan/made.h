/* SPDX-License-Identifier: Apache-2.0 */
/* A graph, and the plan that is made of it. */
#ifndef TESTS_PLAN_MADE_H
#define TESTS_PLAN_MADE_H

#include <stdio.h>
#include <string.h>

#include <libfuse.h>

#include "common/base/error.h"
#include "common/graph/build.h"
#include "common/plan/plan.h"
#include "tests/support/main.h"

static lfuse_graph *g;
static bool bundles; /* made too: see check_bundles.c */
static lfuse_graph *canonical;
static lfuse__plan_body *plan;
static lfuse__strbuf text;

static void setup(void)
{
    g = lfuse_graph_create();
    text = (lfuse__strbuf)LFUSE__STRBUF_INIT;
    bundles = false;
}

static void drop(void)
{
    lfuse__plan_free(plan);
    lfuse_graph_destroy(canonical);
    plan = NULL, canonical = NULL;
}

static void teardown(void)
{
    drop();
    lfuse_graph_destroy(g);
    lfuse__strbuf_free(&text);
}

static lfuse_status try_make(unsigned disable)
{
    const lfuse_plan_options options = { .disable = disable | (bundles ? 0 : LFUSE_NO_BUNDLES) };
    lfuse__facts facts;

    memset(&facts, 0, sizeof facts);
    facts.info.f64 = 1;
    drop();
    ck_assert_msg(!lfuse__graph_canonical(g, &canonical), "%s", lfuse__error_message());
    return lfuse__plan_make(canonical, &facts, &options, &plan);
}

static void make(unsigned disable)
{
    ck_assert_msg(!try_make(disable), "%s", lfuse__error_message());
    lfuse__strbuf_clear(&text);
    lfuse__plan_print(plan, canonical, &text);
}

static inline void expect_without(unsigned disable, const char *wanted)
{
    make(disable);
    ck_assert_str_eq(text.data, wanted);
}

static inline void expect(const char *wanted)
{
    expect_without(0, wanted);
}

/* ---- nodes, as the builders make them ---- */

static inline lfuse_value append(lfuse__node n)
{
    const lfuse_value v = lfuse__build_append(g, "test", &n);

    ck_assert_msg(!lfuse_graph_check(g), "%s", lfuse__error_message());
    return v;
}

static inline lfuse__node like(lfuse__node_kind kind, lfuse_value x)
{
    lfuse__node n = g->nodes[x.id];

    n.kind = (uint8_t)kind;
    n.op = 0;
    n.naxes = 0;
    n.keepdims = false;
    memset(n.axes, 0, sizeof n.axes);
    n.name = -1;
    n.nin = 1;
    n.in[0] = x.id;
    n.in[1] = n.in[2] = -1;
    return n;
}

static inline lfuse_size untagged(lfuse_size s)
{
    return s < INT64_MIN / 2 ? LFUSE__SIZE_BASE + lfuse__size_index(s) : s;
}

static inline lfuse_value reshape(lfuse_value x, int rank, const lfuse_size *shape)
{
    lfuse__node n = like(LFUSE__RESHAPE, x);
    int i;

    n.rank = (int8_t)rank;
    memset(n.shape, 0, sizeof n.shape);
    for (i = 0; i < rank; i++) n.shape[i] = untagged(shape[i]);
    return append(n);
}

static inline lfuse_value slice(lfuse_value x, int axis, lfuse_size start, lfuse_size extent, int64_t step)
{
    lfuse__node n = like(LFUSE__SLICE, x);

    n.naxes = 1;
    n.axes[0] = (int8_t)axis;
    n.shape[axis] = untagged(extent);
    n.start = untagged(start);
    n.step = step;
    return append(n);
}

static inline lfuse_value concat(lfuse_value x, lfuse_value y, int axis)
{
    lfuse__node n = like(LFUSE__CONCAT, x);

    n.nin = 2;
    n.in[1] = y.id;
    n.naxes = 1;
    n.axes[0] = (int8_t)axis;
    ck_assert(lfuse__size_add(g, "test", g->nodes[x.id].shape[axis], g->nodes[y.id].shape[axis], &n.shape[axis]));
    return append(n);
}

static inline lfuse_value gather(lfuse_value table, lfuse_value indices)
{
    lfuse__node n = like(LFUSE__GATHER, table);
    const lfuse__node *at = &g->nodes[indices.id];

    n.nin = 2;
    n.in[1] = indices.id;
    memmove(n.shape + at->rank, n.shape + 1, (size_t)(n.rank - 1) * sizeof *n.shape);
    memcpy(n.shape, at->shape, (size_t)at->rank * sizeof *n.shape);
    n.rank = (int8_t)(at->rank + n.rank - 1);
    return append(n);
}

static inline lfuse_value reduce(lfuse_value x, int count, const int *axes, int keepdims)
{
    lfuse__node n = like(LFUSE__REDUCE, x);
    const lfuse__node *in = &g->nodes[x.id];
    int i, k = 0, rank = 0;

    n.naxes = (int8_t)count;
    n.keepdims = keepdims;
    for (i = 0; i < count; i++) n.axes[i] = (int8_t)axes[i];
    for (i = 0; i < in->rank; i++) {
        const bool goes = k < count && axes[k] == i;
        k += goes;
        if (!goes || keepdims) n.shape[rank++] = goes ? 1 : in->shape[i];
    }
    n.rank = (int8_t)rank;
    return append(n);
}

static inline lfuse_value tensor(const char *name, int rank, const lfuse_size *shape)
{
    return lfuse_input(g, name, LFUSE_F32, rank, shape);
}

#endif
