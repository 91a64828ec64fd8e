/* SPDX-License-Identifier: Apache-2.0 */
/* A graph, and what the oracle says of it. */
#ifndef TESTS_ORACLE_RIG_H
#define TESTS_ORACLE_RIG_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    return lfuse_input(g, name, type, 1, LFUSE_DIMS(count));
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

#define ck_agrees(i, got) ck_assert_msg(agrees(i, got), "%s", report.text)

#endif
