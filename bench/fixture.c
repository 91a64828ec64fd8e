/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/data.h"
#include "bench/timer.h"
#include "common/base/error.h"
#include "common/base/precision.h"

/* A plan of the fixture's graph with one instance for each buffer set. */
typedef struct planned {
    fixture *f;
    lfuse_plan *plan;
    lfuse_instance *instances[FIXTURE_MAX_SETS];
    lfuse_recording *recordings[FIXTURE_MAX_SETS]; /* of a run each, where that is what the variant repeats */
    int nscalars, nbindings[FIXTURE_MAX_SETS]; /* scalars come first */
    lfuse_binding bindings[FIXTURE_MAX_SETS][FIXTURE_MAX_IO];
} planned;

lfuse_status fixture_create(bench_device *d, fixture **f)
{
    fixture *made = calloc(1, sizeof *made);
    if (!made) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for a problem");
    made->d = d;
    made->graph = lfuse_graph_create();
    *f = made;
    return LFUSE_OK;
}

void fixture_destroy(void *pointer)
{
    fixture *f = pointer;
    if (!f) return;
    for (int i = 0; i < f->nio; i++) {
        for (int s = 0; s < f->nsets; s++) lfuse_tensor_destroy(f->io[i].tensors[s]);
        free(f->io[i].image);
        free(f->io[i].host);
        free(f->io[i].truth);
        free(f->io[i].bound);
    }
    if (f->destroy_truth) f->destroy_truth(f->truth);
    lfuse_graph_destroy(f->stored);
    lfuse_graph_destroy(f->graph);
    free(f);
}

static fixture_io *next_io(fixture *f, const char *name, fixture_role role)
{
    if (f->nio == FIXTURE_MAX_IO) return NULL;
    fixture_io *io = &f->io[f->nio++];
    snprintf(io->name, sizeof io->name, "%s", name);
    io->role = role;
    return io;
}

/* Weights of a network are hundreds of millions of random numbers: tensors are filled side by side. */
typedef struct filling {
    fixture *f;
    atomic_int next;
} filling;

static void *fill(void *pointer)
{
    filling *work = pointer;
    for (;;) {
        const int i = atomic_fetch_add(&work->next, 1);
        if (i >= work->f->nio) return NULL;
        fixture_io *io = &work->f->io[i];
        if (io->scale > 0)
            lfuse__data_uniform(io->type, io->host, io->elements, -io->scale, io->scale, (uint64_t)i + 1);
        io->scale = 0;
    }
}

static void fill_hosts(fixture *f)
{
    enum { MOST_THREADS = 16 };
    pthread_t threads[MOST_THREADS];
    filling work = {.f = f};
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int started = 0;
    while (started < MOST_THREADS && started + 1 < cores && started + 1 < f->nio &&
           !pthread_create(&threads[started], NULL, fill, &work))
        started++;
    fill(&work);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

lfuse_status fixture_tensor(fixture *f, const char *name, fixture_role role, lfuse_type type, int rank,
                            const int64_t *shape, double scale, lfuse_value *value)
{
    fixture_io *io = next_io(f, name, role);
    if (!io) return lfuse__error(LFUSE_ERR_INVALID, "a problem has at most %d tensors", FIXTURE_MAX_IO);
    io->type = type;
    io->rank = rank;
    io->elements = 1;
    for (int i = 0; i < rank; i++) io->elements *= io->shape[i] = shape[i];
    if (role == FIXTURE_OUTPUT || role == FIXTURE_SCRATCH) return LFUSE_OK;
    *value = role == FIXTURE_FROZEN ? lfuse_frozen(f->graph, name, type, rank, shape)
                                    : lfuse_input(f->graph, name, type, rank, shape);
    io->scale = scale;
    io->host = malloc((size_t)io->elements * lfuse_type_size(io->type) + 1);
    return io->host ? LFUSE_OK : lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %s", name);
}

lfuse_status fixture_indices(fixture *f, const char *name, lfuse_type type, int64_t count, int64_t limit,
                             lfuse_value *value)
{
    lfuse__random r;
    LFUSE__TRY(fixture_tensor(f, name, FIXTURE_INPUT, type, 1, &count, 1, value));
    fixture_io *io = &f->io[f->nio - 1];
    io->scale = 0;
    lfuse__random_seed(&r, (uint64_t)f->nio);
    for (int64_t i = 0; i < count; i++)
        lfuse__data_put(type, io->host, i, (double)lfuse__random_below(&r, (uint64_t)limit));
    return LFUSE_OK;
}

lfuse_status fixture_scalar(fixture *f, const char *name, double first, double later, double each, lfuse_value *value)
{
    fixture_io *io = next_io(f, name, FIXTURE_SCALAR);
    if (!io) return lfuse__error(LFUSE_ERR_INVALID, "a problem has at most %d tensors", FIXTURE_MAX_IO);
    io->first = first;
    io->later = later;
    io->each = each;
    *value = lfuse_scalar(f->graph, name);
    return LFUSE_OK;
}

double fixture_bytes(const fixture *f)
{
    double bytes = 0;
    for (int i = 0; i < f->nio; i++)
        if (f->io[i].role != FIXTURE_SCRATCH && f->io[i].role != FIXTURE_SCALAR)
            bytes += (double)f->io[i].elements * (double)lfuse_type_size(f->io[i].type);
    return bytes;
}

/* The last two axes of every matrix swapped. */
static lfuse_status turn(fixture_io *io)
{
    const int64_t rows = io->shape[io->rank - 2], columns = io->shape[io->rank - 1], each = rows * columns;
    const size_t size = lfuse_type_size(io->type);
    if (!(io->image = malloc((size_t)io->elements * size + 1)))
        return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %s", io->name);
    for (int64_t at = 0; at < io->elements; at++) {
        const int64_t row = at % each / columns, column = at % columns;
        memcpy((char *)io->image + (size_t)(at / each * each + column * rows + row) * size,
               (const char *)io->host + (size_t)at * size, size);
    }
    return LFUSE_OK;
}

static lfuse_status upload(fixture *f, fixture_io *io, int set)
{
    int64_t shape[LFUSE_MAX_RANK];
    if (io->role == FIXTURE_SCALAR) return LFUSE_OK;
    memcpy(shape, io->shape, sizeof shape);
    if (io->turned) {
        shape[io->rank - 2] = io->shape[io->rank - 1];
        shape[io->rank - 1] = io->shape[io->rank - 2];
    }
    if (io->turned && !io->image) LFUSE__TRY(turn(io));
    LFUSE__TRY(lfuse_tensor_create(f->d->dev, io->type, io->rank, shape, &io->tensors[set]));
    if (!io->host) return LFUSE_OK;
    return lfuse_tensor_write(io->tensors[set], NULL, io->turned ? io->image : io->host);
}

lfuse_status fixture_upload(fixture *f, int nsets)
{
    f->nsets = nsets;
    fill_hosts(f);
    for (int s = 0; s < nsets; s++)
        for (int i = 0; i < f->nio; i++)
            LFUSE__TRY(upload(f, &f->io[i], s));
    return LFUSE_OK;
}

lfuse_binding fixture_binding(const fixture_io *io, int set)
{
    return io->role == FIXTURE_SCALAR ? lfuse_bind_scalar(io->name, io->first)
                                      : lfuse_bind_tensor(io->name, io->tensors[set]);
}

static const fixture_io *find_scalar(const fixture *f, const char *name)
{
    for (int i = 0; i < f->nio; i++)
        if (f->io[i].role == FIXTURE_SCALAR && !strcmp(f->io[i].name, name)) return &f->io[i];
    return NULL;
}

void fixture_bind_scalars(const fixture *f, lfuse_binding *bindings, int count)
{
    for (int i = 0; i < count; i++) {
        const fixture_io *io = bindings[i].kind == LFUSE_BIND_SCALAR ? find_scalar(f, bindings[i].name) : NULL;
        if (io) bindings[i].as.scalar = f->runs ? io->later + (double)f->runs * io->each : io->first;
    }
}

static lfuse_status planned_run(void *state, int set)
{
    planned *p = state;
    fixture_bind_scalars(p->f, p->bindings[set], p->nscalars);
    p->f->runs++;
    return lfuse_instance_run(p->instances[set], p->bindings[set], p->nbindings[set]);
}

static void planned_destroy(void *state)
{
    planned *p = state;
    for (int s = 0; s < p->f->nsets; s++) {
        lfuse_recording_destroy(p->recordings[s]);
        lfuse_instance_destroy(p->instances[s]);
    }
    lfuse_plan_destroy(p->plan);
    free(p);
}

static void bind_set(planned *p, int set)
{
    const fixture *f = p->f;
    int n = 0;
    for (int i = 0; i < f->nio; i++)
        if (f->io[i].role == FIXTURE_SCALAR) p->bindings[set][n++] = fixture_binding(&f->io[i], set);
    p->nscalars = n;
    for (int i = 0; i < f->nio; i++)
        if (f->io[i].role != FIXTURE_SCALAR && f->io[i].role != FIXTURE_SCRATCH)
            p->bindings[set][n++] = fixture_binding(&f->io[i], set);
    p->nbindings[set] = n;
}

lfuse_status fixture_poison(fixture *f)
{
    for (int i = 0; i < f->nio; i++) {
        const fixture_io *io = &f->io[i];
        if (io->role == FIXTURE_OUTPUT || io->role == FIXTURE_SCRATCH)
            LFUSE__TRY(lfuse_tensor_fill(io->tensors[0], NULL, NAN));
        else if (io->role == FIXTURE_STATE) LFUSE__TRY(lfuse_tensor_write(io->tensors[0], NULL, io->host));
    }
    f->runs = 0;
    return LFUSE_OK;
}

lfuse_status fixture_plan(const fixture *f, const lfuse_graph *graph, const lfuse_plan_options *options,
                          lfuse_plan **plan)
{
    lfuse_plan_options settled = {.precision = LFUSE_PRECISION_FULL};
    if (options) settled = *options;
    if (lfuse__may_split(f->precision)) settled.precision = f->precision;
    return lfuse_plan_create(f->d->dev, graph, &settled, plan);
}

static lfuse_status plan_and_run(planned *p, const lfuse_plan_options *options, double *first_us)
{
    fixture *f = p->f;
    for (int s = 0; s < f->nsets; s++) bind_set(p, s);
    LFUSE__TRY(fixture_poison(f));
    double start = bench_now_us();
    LFUSE__TRY(fixture_plan(f, f->stored ? f->stored : f->graph, options, &p->plan));
    LFUSE__TRY(lfuse_instance_create(p->plan, f->d->stream, p->bindings[0], p->nbindings[0], &p->instances[0]));
    LFUSE__TRY(planned_run(p, 0));
    LFUSE__TRY(lfuse_stream_synchronize(f->d->stream));
    *first_us = bench_now_us() - start;
    for (int s = 1; s < f->nsets; s++)
        LFUSE__TRY(lfuse_instance_create(p->plan, f->d->stream, p->bindings[s], p->nbindings[s],
                                         &p->instances[s]));
    return LFUSE_OK;
}

lfuse_status fixture_tune(fixture *f, const lfuse_plan_options *options)
{
    planned *p = calloc(1, sizeof *p);
    if (!p) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for a plan");
    p->f = f;
    bind_set(p, 0);
    lfuse_status status = fixture_plan(f, f->stored ? f->stored : f->graph, options, &p->plan);
    if (!status)
        status = lfuse_instance_create(p->plan, f->d->stream, p->bindings[0], p->nbindings[0], &p->instances[0]);
    planned_destroy(p);
    return status;
}

lfuse_status fixture_variant(fixture *f, bench_case *c, const char *name, const lfuse_plan_options *options)
{
    planned *p = calloc(1, sizeof *p);
    double first_us = -1;
    if (!p) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for variant %s", name);
    p->f = f;
    lfuse_status status = plan_and_run(p, options, &first_us);
    if (status) {
        planned_destroy(p);
        return status;
    }
    bench_variant *v = bench_add(c, name, p, planned_run, planned_destroy);
    if (!v) {
        planned_destroy(p);
        return lfuse__error(LFUSE_ERR_INVALID, "a case has at most %d variants", BENCH_MAX_VARIANTS);
    }
    v->first_us = first_us;
    v->scratch = (double)lfuse_instance_scratch(p->instances[0]);
    return fixture_verify(f, v);
}

lfuse_status fixture_native(fixture *f, bench_case *c, const char *name)
{
    const lfuse_plan_options options = {.effort = LFUSE_EFFORT_MEASURE, .provider = LFUSE_PROVIDER_NATIVE};
    return bench_omit(c, name, fixture_variant(f, c, name, &options));
}

static lfuse_status recorded_run(void *state, int set)
{
    planned *p = state;
    fixture_bind_scalars(p->f, p->bindings[set], p->nscalars);
    p->f->runs++;
    return lfuse_recording_replay(p->recordings[set], p->f->d->stream, p->bindings[set], p->nscalars);
}

/* The recording ends whatever the run says. */
static lfuse_status record_set(planned *p, int set)
{
    lfuse_stream *s = p->f->d->stream;
    LFUSE__TRY(lfuse_record_begin(s));
    lfuse_status status = planned_run(p, set);
    lfuse_status ended = lfuse_record_end(s, &p->recordings[set]);
    return ended ? ended : status;
}

static lfuse_status replay_lists(fixture *f, bench_variant *v)
{
    for (int s = 0; s < f->nsets; s++) LFUSE__TRY(record_set(v->state, s));
    v->run = recorded_run;
    LFUSE__TRY(fixture_poison(f));
    LFUSE__TRY(recorded_run(v->state, 0));
    LFUSE__TRY(lfuse_stream_synchronize(f->d->stream));
    return fixture_verify(f, v);
}

lfuse_status fixture_replay(fixture *f, bench_case *c, const lfuse_plan_options *options)
{
    enum { RUNS = 4 };
    LFUSE__TRY(fixture_variant(f, c, "replay", options));
    bench_variant *v = &c->variants[c->nvariants - 1];
    if (!f->d->info.native_graph) return replay_lists(f, v);
    for (int i = 0; i < RUNS * f->nsets; i++) {
        if (i == (RUNS - 1) * f->nsets) LFUSE__TRY(fixture_poison(f));
        LFUSE__TRY(planned_run(v->state, i % f->nsets));
        LFUSE__TRY(lfuse_stream_synchronize(f->d->stream));
    }
    return fixture_verify(f, v);
}
