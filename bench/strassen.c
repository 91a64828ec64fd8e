/* SPDX-License-Identifier: Apache-2.0 */
/* Variants by Strassen's algorithm. */
#include <string.h>

#include "bench/fixture.h"
#include "common/base/error.h"

static const struct {
    const char *name;
    lfuse_strassen option;
    int levels; /* at most: what results are held to */
} strassens[FIXTURE_STRASSENS] = {
    [FIXTURE_ONE_LEVEL] = {"strassen1", LFUSE_STRASSEN_ONE, 1},
    [FIXTURE_TWO_LEVELS] = {"strassen2", LFUSE_STRASSEN_TWO, 2},
    [FIXTURE_AUTO_LEVELS] = {"auto", LFUSE_STRASSEN_AUTO, 2},
};

/* What a plan's text says of a product that could not be made with levels: "(levels 0 ... why)"; else "". */
static lfuse_status ask_plan(const fixture *f, const lfuse_plan_options *options, char why[BENCH_MAX_REASON])
{
    lfuse_plan *plan;
    *why = 0;
    LFUSE__TRY(fixture_plan(f, f->stored ? f->stored : f->graph, options, &plan));
    const char *found = strstr(lfuse_plan_text(plan), "(levels 0 ");
    if (found) snprintf(why, BENCH_MAX_REASON, "the plan says: %.*s)", (int)strcspn(found, ")"), found);
    lfuse_plan_destroy(plan);
    return LFUSE_OK;
}

/* The planner may find no level worth it, where it can make them: that is a variant too. */
lfuse_status fixture_strassen(fixture *f, bench_case *c, fixture_levels which, const lfuse_plan_options *given)
{
    char why[BENCH_MAX_REASON];
    lfuse_plan_options options = *given;
    options.strassen = which == FIXTURE_AUTO_LEVELS ? LFUSE_STRASSEN_ONE : strassens[which].option;
    LFUSE__TRY(ask_plan(f, &options, why));
    if (*why) {
        bench_leave_out(c, strassens[which].name, why);
        return LFUSE_OK;
    }
    options.strassen = strassens[which].option;
    f->levels = strassens[which].levels;
    lfuse_status status = fixture_variant(f, c, strassens[which].name, &options);
    f->levels = 0;
    return status;
}
