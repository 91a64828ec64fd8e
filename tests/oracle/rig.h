/* SPDX-License-Identifier: Apache-2.0 */
/* A graph, and what the oracle says of it. */
#ifndef TESTS_ORACLE_RIG_H
#define TESTS_ORACLE_RIG_H

#include "bench/data.h"
#include "bench/oracle.h"
#include "common/base/half.h"
#include "common/graph/op.h"
#include "libfuse/ops.h"
#include "tests/support/main.h"

enum { COUNT = 2000 };
static lfuse_graph *g;
static lfuse__oracle_run run;
static lfuse__oracle_report report;

static inline void make(void)
{
    g = lfuse_graph_create();
    memset(&run, 0, sizeof run);
}

static inline void destroy(void)
{
    lfuse__oracle_free(&run);
    lfuse_graph_destroy(g);
}

static inline lfuse_value vector(const char *name, lfuse_type type, int64_t count)
{
    return lfuse_input(g, name, TYPED(type, count));
}

static inline void evaluate(const lfuse__oracle_input *inputs, int count, const lfuse__oracle_options *options)
{
    const lfuse_status status = lfuse__oracle_run_graph(g, inputs, count, options, &run);

    ck_assert_msg(status == LFUSE_OK, "%s", lfuse_last_error());
}

static inline bool agrees(int i, const void *got)
{
    const lfuse__oracle_result *r = &run.results[i];

    return lfuse__oracle_compare(r->type, r->count, got, r->value, r->bound, &report);
}

#define ck_agrees(i, got) ck_assert_msg(agrees(i, got), "result %d: %s", i, report.text)
/* And with no tolerance. */
#define ck_exact(i, got)                                                                                               \
    do {                                                                                                               \
        ck_agrees(i, got);                                                                                             \
        ck_assert_double_eq(report.max_bound, 0);                                                                      \
        ck_assert_int_eq(report.open, 0);                                                                              \
    } while (0)

/* Over these inputs, such as DATA. */
#define EVALUATE(...)                                                                                                  \
    evaluate((const lfuse__oracle_input[]){__VA_ARGS__},                                                               \
             (int)(sizeof((const lfuse__oracle_input[]){__VA_ARGS__}) / sizeof(lfuse__oracle_input)), NULL)
#define DATA(of, elements, ...) {.name = of, .data = elements, .shape = {__VA_ARGS__}}

/* The canonical sum of one element and more by its definition, and other folds in its order. */
typedef float fold(float low, float high);
static inline float plus(float a, float b) { return a + b; }
static inline float canonical(fold *f, float identity, const float *x, int64_t count)
{
    float partial[64];
    int64_t segments = (count + 1023) / 1024;

    for (int64_t s = 0; s < segments; s++) {
        float lane[128];
        for (int c = 0; c < 128; c++) {
            lane[c] = identity;
            for (int64_t i = s * 1024 + c; i < count && i < (s + 1) * 1024; i += 128) lane[c] = f(lane[c], x[i]);
        }
        for (int h = 64; h; h /= 2)
            for (int c = 0; c < h; c++) lane[c] = f(lane[c], lane[c + h]);
        partial[s] = lane[0];
    }
    while (segments > 1) {
        for (int64_t s = 0; 2 * s < segments; s++)
            partial[s] = 2 * s + 1 < segments ? f(partial[2 * s], partial[2 * s + 1]) : partial[2 * s];
        segments = (segments + 1) / 2;
    }
    return partial[0];
}

#endif
