/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/fixture.h"
#include "bench/timer.h"
#include "common/base/error.h"
#include "common/graph/graph.h"

/* A plan with one instance for each buffer set. */
typedef struct stage {
    lfuse_plan *plan;
    int nbindings;
    lfuse_instance *instances[FIXTURE_MAX_SETS];
    lfuse_binding *bindings; /* [nsets][nbindings] */
} stage;

typedef struct sequence {
    fixture *f;
    int count;
    stage *stages;
} sequence;

static lfuse_status run(void *state, int set)
{
    const sequence *q = state;
    for (int i = 0; i < q->count; i++) {
        const stage *s = &q->stages[i];
        lfuse_binding *bindings = s->bindings + set * s->nbindings;
        fixture_bind_scalars(q->f, bindings, s->nbindings);
        LFUSE__TRY(lfuse_instance_run(s->instances[set], bindings, s->nbindings));
    }
    q->f->runs++;
    return LFUSE_OK;
}

static void destroy(void *state)
{
    sequence *q = state;
    for (int i = 0; i < q->count; i++) {
        for (int s = 0; s < q->f->nsets; s++) lfuse_instance_destroy(q->stages[i].instances[s]);
        lfuse_plan_destroy(q->stages[i].plan);
        free(q->stages[i].bindings);
    }
    free(q->stages);
    free(q);
}

static const fixture_io *find(const fixture *f, const char *name)
{
    for (int i = 0; i < f->nio; i++)
        if (!strcmp(f->io[i].name, name)) return &f->io[i];
    return NULL;
}

static lfuse_status bind(const fixture *f, const lfuse_graph *g, stage *s)
{
    s->nbindings = g->nnames;
    s->bindings = malloc((size_t)(f->nsets * g->nnames + 1) * sizeof *s->bindings);
    if (!s->bindings) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for the bindings of a sequence");
    for (int i = 0; i < g->nnames; i++) {
        const fixture_io *io = find(f, g->names[i].text);
        if (!io) return lfuse__error(LFUSE_ERR_NAME, "the problem has no tensor \"%s\"", g->names[i].text);
        for (int set = 0; set < f->nsets; set++)
            s->bindings[set * g->nnames + i] = fixture_binding(io, set);
    }
    return LFUSE_OK;
}

static lfuse_status instantiate(sequence *q, int set)
{
    for (int i = 0; i < q->count; i++) {
        stage *s = &q->stages[i];
        LFUSE__TRY(lfuse_instance_create(s->plan, q->f->d->stream, s->bindings + set * s->nbindings, s->nbindings,
                                         &s->instances[set]));
    }
    return LFUSE_OK;
}

static lfuse_status first_run(sequence *q, lfuse_graph *const *graphs, const lfuse_plan_options *options, double *us)
{
    fixture *f = q->f;
    for (int i = 0; i < q->count; i++) LFUSE__TRY(bind(f, graphs[i], &q->stages[i]));
    LFUSE__TRY(fixture_poison(f));
    double start = bench_now_us();
    for (int i = 0; i < q->count; i++) LFUSE__TRY(fixture_plan(f, graphs[i], options, &q->stages[i].plan));
    LFUSE__TRY(instantiate(q, 0));
    LFUSE__TRY(run(q, 0));
    LFUSE__TRY(lfuse_stream_synchronize(f->d->stream));
    *us = bench_now_us() - start;
    for (int set = 1; set < f->nsets; set++) LFUSE__TRY(instantiate(q, set));
    return LFUSE_OK;
}

/* Its plans run one after the other in the same memory. */
static double largest_scratch(const sequence *q)
{
    double most = 0;
    for (int i = 0; i < q->count; i++) most = fmax(most, (double)lfuse_instance_scratch(q->stages[i].instances[0]));
    return most;
}

lfuse_status fixture_sequence(fixture *f, bench_case *c, const char *name, lfuse_graph *const *graphs, int count,
                              const lfuse_plan_options *options)
{
    sequence *q = calloc(1, sizeof *q);
    if (!q) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for variant %s", name);
    q->f = f;
    q->stages = calloc((size_t)count, sizeof *q->stages);
    if (q->stages) q->count = count;
    double first_us = -1;
    lfuse_status status = q->stages ? first_run(q, graphs, options, &first_us)
                                    : lfuse__error(LFUSE_ERR_MEMORY, "out of memory for variant %s", name);
    bench_variant *v = status ? NULL : bench_add(c, name, q, run, destroy);
    if (!v) {
        destroy(q);
        return status ? status : lfuse__error(LFUSE_ERR_INVALID, "a case has at most %d variants", BENCH_MAX_VARIANTS);
    }
    v->first_us = first_us;
    v->scratch = largest_scratch(q);
    return fixture_verify(f, v);
}
