/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random graphs: fused and unfused plans give the same bits. The data are small integers, so that every sum and product
 * is exact and the order of steps cannot matter; what is read before or after an update does.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libfuse.h>

#include "common/device/device.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"

enum { GRAPHS = 20, INPUTS = 6, VALUES = 30, OUTPUTS = 4, SIDE = 6, NAMES = INPUTS + OUTPUTS };

#define OK(call) ck_assert_msg((call) == LFUSE_OK, "%s: %s", #call, lfuse_last_error())

typedef struct made {
    lfuse_value v;
    int rank;
    int64_t shape[2];
} made;

typedef struct problem {
    lfuse_graph *g;
    made values[INPUTS + VALUES];
    int count;
    made bound[NAMES]; /* inputs, then outputs */
} problem;

static const int64_t shapes[INPUTS][2] = { { SIDE, SIDE }, { SIDE, SIDE }, { 1, SIDE }, { SIDE, 1 }, { SIDE, 0 },
    { 0, 0 } };
static const int ranks[INPUTS] = { 2, 2, 2, 2, 1, 0 };

static int below(int n)
{
    return rand() % n;
}

static void add(problem *p, lfuse_value v, int rank, int64_t a, int64_t b)
{
    p->values[p->count++] = (made){ v, rank, { a, b } };
}

/* Keeps everything a small integer. */
static lfuse_value bounded(problem *p, lfuse_value v)
{
    return lfuse_clamp(v, lfuse_constant(p->g, -9), lfuse_constant(p->g, 9));
}

static const made *any(const problem *p)
{
    return &p->values[below(p->count)];
}

static const made *any_square(const problem *p)
{
    const made *m;

    do m = any(p);
    while (m->rank != 2 || m->shape[0] != SIDE || m->shape[1] != SIDE);
    return m;
}

static void add_unary(problem *p)
{
    const made *m = any(p);
    lfuse_value (*const ops[])(lfuse_value) = { lfuse_neg, lfuse_abs, lfuse_relu, lfuse_round };

    add(p, ops[below(4)](m->v), m->rank, m->shape[0], m->shape[1]);
}

static void add_binary(problem *p)
{
    const made *x = any(p), *y = any(p);
    lfuse_value (*const ops[])(lfuse_value, lfuse_value) = { lfuse_add, lfuse_sub, lfuse_min, lfuse_max, lfuse_mul };
    const int rank = x->rank > y->rank ? x->rank : y->rank;
    int64_t shape[2] = { 1, 1 };
    int i, k;

    for (i = 0; i < rank; i++)
        for (k = 0; k < 2; k++) {
            const made *m = k ? y : x;
            const int own = i - (rank - m->rank);
            if (own >= 0 && m->shape[own] != 1) shape[i] = SIDE;
        }
    add(p, bounded(p, ops[below(5)](x->v, y->v)), rank, shape[0], shape[1]);
}

static void add_view(problem *p)
{
    const made *m = any(p);

    if (m->rank == 2) add(p, lfuse_transpose(m->v), 2, m->shape[1], m->shape[0]);
    else add(p, lfuse_broadcast_to(m->v, 2, LFUSE_DIMS(SIDE, SIDE)), 2, SIDE, SIDE);
}

static void add_sum(problem *p)
{
    const int axes[] = { 0, 1 }, last[] = { -1 };
    const made *m = any_square(p);

    if (below(2)) add(p, bounded(p, lfuse_sum(m->v, 1, last, 1)), 2, SIDE, 1);
    else add(p, bounded(p, lfuse_sum(m->v, 2, axes, 0)), 0, 0, 0);
}

static void add_product(problem *p)
{
    const made *x = any_square(p), *y = any_square(p);
    lfuse_value v = lfuse_matmul(x->v, y->v);

    if (below(2)) v = lfuse_add(v, p->values[4].v); /* a row: the tail of the product */
    if (below(2)) v = lfuse_relu(v);
    add(p, below(2) ? v : bounded(p, v), 2, SIDE, SIDE);
    if (p->values[p->count - 1].v.id == v.id) p->values[p->count - 1].v = bounded(p, v);
}

static bool same_shape(const made *a, const made *b)
{
    return a->rank == b->rank && (a->rank < 1 || a->shape[0] == b->shape[0]) &&
           (a->rank < 2 || a->shape[1] == b->shape[1]);
}

static void build(problem *p, int seed)
{
    void (*const makers[])(problem *) = { add_unary, add_binary, add_binary, add_binary, add_view, add_sum,
        add_product };
    char name[16];
    int i, k;

    srand((unsigned)seed);
    memset(p, 0, sizeof *p);
    p->g = lfuse_graph_create();
    for (i = 0; i < INPUTS; i++) {
        snprintf(name, sizeof name, "i%d", i);
        lfuse_value v = i % 3 == 1 ? lfuse_frozen(p->g, name, LFUSE_F32, ranks[i], shapes[i])
                                   : lfuse_input(p->g, name, LFUSE_F32, ranks[i], shapes[i]);
        add(p, v, ranks[i], shapes[i][0], shapes[i][1]);
        p->bound[i] = p->values[i];
    }
    while (p->count < INPUTS + VALUES) makers[below(7)](p);
    for (i = 0; i < OUTPUTS; i++) {
        p->bound[INPUTS + i] = p->values[INPUTS + below(VALUES)];
        snprintf(name, sizeof name, "o%d", i);
        lfuse_output(p->g, name, p->bound[INPUTS + i].v);
    }
    for (i = 0; i < INPUTS; i++) {
        if (i % 3 == 1 || below(2)) continue;
        for (k = p->count - 1; k >= 0; k--)
            if (same_shape(&p->values[k], &p->values[i]) && k != i && below(2)) break;
        if (k >= 0) lfuse_update(p->values[i].v, p->values[k].v);
    }
}

static int64_t elements(const made *m)
{
    return m->rank == 0 ? 1 : m->rank == 1 ? m->shape[0] : m->shape[0] * m->shape[1];
}

/* All names' contents after a run, one behind the other. */
static void run(lfuse_device *dev, lfuse_stream *s, const problem *p, unsigned disable, int seed, float *all)
{
    const lfuse_plan_options options = { .disable = disable };
    lfuse_tensor *t[NAMES];
    lfuse_binding b[NAMES];
    float host[SIDE * SIDE];
    lfuse_plan *plan;
    int i, k;

    srand((unsigned)seed);
    OK(lfuse_plan_create(dev, p->g, &options, &plan));
    for (i = 0; i < NAMES; i++) {
        for (k = 0; k < SIDE * SIDE; k++) host[k] = i < INPUTS ? (float)(below(7) - 3) : -1000;
        OK(lfuse_tensor_create(dev, LFUSE_F32, p->bound[i].rank, p->bound[i].shape, &t[i]));
        OK(lfuse_tensor_write(t[i], NULL, host));
        b[i] = lfuse_bind_tensor(NULL, t[i]);
    }
    OK(lfuse_plan_run(plan, s, b, NAMES));
    OK(lfuse_stream_synchronize(s));
    for (i = 0; i < NAMES; i++) {
        OK(lfuse_tensor_read(t[i], NULL, all));
        all += elements(&p->bound[i]);
        lfuse_tensor_destroy(t[i]);
    }
    lfuse_plan_destroy(plan);
}

START_TEST(fused_is_unfused)
{
    static const unsigned ways[] = { LFUSE_NO_EPILOGUE | LFUSE_NO_POINTWISE_FUSION, 0, LFUSE_NO_EPILOGUE };
    float all[3][NAMES * SIDE * SIDE];
    lfuse_device *dev;
    lfuse_stream *s;
    int seed, w;

    lfuse__stub_reset();
    lfuse__registry_extra(&lfuse__stub_backend);
    OK(lfuse_device_open("stub:0", &dev));
    OK(lfuse_stream_create(dev, &s));
    for (seed = 1; seed <= GRAPHS; seed++) {
        problem p;
        build(&p, seed);
        memset(all, 0, sizeof all);
        for (w = 0; w < 3; w++) run(dev, s, &p, ways[w], seed, all[w]);
        for (w = 1; w < 3; w++)
            ck_assert_msg(!memcmp(all[0], all[w], sizeof all[0]), "graph %d: way %d differs from the unfused one",
                seed, w);
        lfuse_graph_destroy(p.g);
    }
    lfuse_stream_destroy(s);
    lfuse_device_close(dev);
    ck_assert_int_eq(lfuse__stub_live_objects(), 0);
    lfuse__registry_extra(NULL);
}
END_TEST

static Suite *suite_random(void)
{
    Suite *s = suite_create("random");
    TCase *c = tcase_create("stub");

    tcase_set_timeout(c, 0);
    tcase_add_test(c, fused_is_unfused);
    suite_add_tcase(s, c);
    return s;
}

TEST_MAIN(CK_NOFORK, suite_random)
