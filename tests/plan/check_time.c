/* SPDX-License-Identifier: Apache-2.0 */
/* Making a plan takes time that grows with the graph and no faster. No device. */
#include <time.h>

#include "tests/plan/rig.h"

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static lfuse_value mean(lfuse_value a)
{
    return lfuse_mul(rig_row(a, LFUSE__REDUCE_SUM), rig_number(1.0 / 64));
}

static lfuse_value normalised(lfuse_value x)
{
    const lfuse_value c = lfuse_sub(x, mean(x));

    return lfuse_mul(c, lfuse_rsqrt(lfuse_add(mean(lfuse_mul(c, c)), rig_number(0.25))));
}

/* Layers of a network: a normalisation, a product, an activation, a residual; about 15 nodes each. */
static void deep(int layers)
{
    lfuse_value x = lfuse_input(g, "x", F32(64, 64));
    char name[16];

    for (int i = 0; i < layers; i++) {
        snprintf(name, sizeof name, "w%d", i);
        x = lfuse_add(x, lfuse_gelu(lfuse_matmul(normalised(x), lfuse_input(g, name, F32(64, 64)))));
    }
    lfuse_output(g, "y", x);
}

/* Towers beside each other: what bundles and siblings look at. */
static void wide(int towers)
{
    char name[16];

    for (int i = 0; i < towers; i++) {
        snprintf(name, sizeof name, "x%d", i);
        lfuse_output(g, name + 1, lfuse_tanh(normalised(lfuse_input(g, name, F32(64 + i, 64)))));
    }
}

/* One chain of functions, cut into kernels. */
static void chain(int nodes)
{
    lfuse_value x = lfuse_input(g, "x", F32(64));

    for (int i = 0; i < nodes; i++) x = i % 3 ? lfuse_sin(x) : lfuse_add(x, rig_number(i));
    lfuse_output(g, "y", x);
}

/* Milliseconds for a thousand nodes: the figure to reach is 20; slow machines and sanitizers get more. */
static void check(const char *what)
{
    double best = 1e9, took;

    for (int i = 0; i < 3; i++) {
        double begin = now();
        rig_make(0);
        took = now() - begin;
        if (took < best) best = took;
    }
    took = best * 1000 / g->nnodes;
    printf("# %s: %d nodes, %.2f ms, %.2f ms for a thousand, %d steps\n", what, (int)g->nnodes, best, took,
           plan->nstages);
    ck_assert_msg(took < 200, "%s: %.1f ms for a thousand nodes", what, took);
}

TEST_CASE("plans", .setup = rig_setup, .teardown = rig_teardown)

TEST_LOOP(deep_graphs, 0, 2)
{
    deep(_i ? 600 : 60);
    check("deep");
}

TEST_LOOP(wide_graphs, 0, 2)
{
    wide(_i ? 700 : 70);
    check("wide");
}

TEST_LOOP(chains, 0, 2)
{
    chain(_i ? 10000 : 1000);
    check("chain");
}

TEST_SUITE("time", CK_FORK_GETENV)
