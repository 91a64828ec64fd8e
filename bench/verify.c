/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds a variant's outputs to the oracle, as much of them as bench/sample.h says. The leading axis is one of
 * independent rows (unless the fixture says `whole`), so the work is cut into pieces of rows, which several threads
 * take. Small verdicts are kept, since every variant of a case has the same.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/data.h"
#include "bench/fixture.h"
#include "bench/oracle.h"
#include "bench/sample.h"
#include "common/base/error.h"
#include "common/graph/graph.h"

enum { MOST_THREADS = 16, PIECE_ELEMENTS = 1 << 18, KEPT_ELEMENTS = 1 << 22, SEED = 64 };
/* What the oracle takes for an element of an input that all rows share, in every thread: its value, and a factor's. */
static const double shared_bytes = 32 + 2 * 8;

typedef struct verification {
    fixture *f;
    lfuse__oracle_input inputs[FIXTURE_MAX_IO];
    int ninputs;
    bool inexact;
    int64_t nrows, piece; /* rows to verify, and of them in a piece */
    int64_t *rows;
    char *got[FIXTURE_MAX_IO]; /* of each output, those rows alone */
    bool keep;
    atomic_llong next;
    pthread_mutex_t lock;
    /* under the lock */
    bench_variant *variant;
    lfuse_status status;
    char message[256];
} verification;

static double elements_of(const lfuse__node *n)
{
    double elements = 1;
    for (int k = 0; k < n->rank; k++) elements *= (double)n->shape[k];
    return elements;
}

static double product_work(const lfuse__node *nodes, const lfuse__node *n)
{
    const lfuse__node *left = &nodes[n->in[0]];
    return elements_of(n) * (double)left->shape[left->rank - 1] * (n->type == LFUSE_F64 ? BENCH_WIDE_WORK : 1);
}

/* Multiplications of all products of the graph, and what stands for the elements that its other functions take. */
static double oracle_work(const fixture *f)
{
    const lfuse__node *nodes = f->graph->nodes;
    double work = 0;
    for (int32_t i = 0; i < f->graph->nnodes; i++) {
        double most = nodes[i].nin > 0 ? elements_of(&nodes[i]) : 0;
        for (int k = 0; k < nodes[i].nin; k++) most = fmax(most, elements_of(&nodes[nodes[i].in[k]]));
        work += nodes[i].kind == LFUSE__MATMUL ? product_work(nodes, &nodes[i]) : BENCH_ELEMENT_WORK * most;
    }
    return work;
}

static void gather_inputs(verification *v)
{
    for (int i = 0; i < v->f->nio; i++) {
        const fixture_io *io = &v->f->io[i];
        if (io->role == FIXTURE_OUTPUT || io->role == FIXTURE_SCRATCH) continue;
        lfuse__oracle_input *in = &v->inputs[v->ninputs++];
        *in = (lfuse__oracle_input){.name = io->name, .data = io->host,
                                    .rows = io->role == FIXTURE_INPUT && !v->f->whole};
        memcpy(in->shape, io->shape, sizeof in->shape);
    }
}

/* Of a whole problem: one row. */
static lfuse_status choose_rows(verification *v)
{
    const int64_t of = v->f->whole ? 1 : v->f->io[0].shape[0];
    v->nrows = bench_sample_count(of, oracle_work(v->f) / (double)(of ? of : 1));
    v->rows = malloc((size_t)v->nrows * sizeof *v->rows + 1);
    if (!v->rows) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %lld rows", (long long)v->nrows);
    if (v->nrows) bench_sample_rows(of, v->nrows, SEED, v->rows);
    return LFUSE_OK;
}

static int64_t row_elements(const verification *v, const fixture_io *io)
{
    if (v->f->whole) return io->elements;
    return io->shape[0] ? io->elements / io->shape[0] : 0;
}

static lfuse_status read_outputs(verification *v)
{
    LFUSE__TRY(lfuse_stream_synchronize(v->f->d->stream));
    for (int i = 0; i < v->f->nio; i++) {
        const fixture_io *io = &v->f->io[i];
        size_t bytes = (size_t)row_elements(v, io) * lfuse_type_size(io->type);
        if (io->role != FIXTURE_OUTPUT) continue;
        v->got[i] = malloc((size_t)io->elements * lfuse_type_size(io->type) + 1);
        if (!v->got[i]) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %s", io->name);
        LFUSE__TRY(lfuse_tensor_read(io->tensors[0], NULL, v->got[i]));
        for (int64_t r = 0; r < v->nrows; r++)
            memmove(v->got[i] + (size_t)r * bytes, v->got[i] + (size_t)v->rows[r] * bytes, bytes);
    }
    return LFUSE_OK;
}

static void note(verification *v, const fixture_io *io, const lfuse__oracle_report *report)
{
    bench_variant *variant = v->variant;
    double ratio = report->max_ratio;
    if (variant->tol < 0 || ratio > variant->max_err / variant->tol) {
        variant->max_err = ratio > 0 ? report->max_error : 0;
        variant->tol = ratio > 0 && isfinite(ratio) ? report->max_error / ratio : 1;
    }
    if (report->bad && variant->ok) {
        variant->ok = false;
        fprintf(stderr, "lfuse-bench: %s: %s: %s\n", variant->name, io->name, report->text);
    }
}

/* Room for the oracle's words on every output, where they are few. */
static lfuse_status make_room(verification *v)
{
    fixture *f = v->f;
    int64_t elements = 0;
    for (int i = 0; i < f->nio; i++)
        if (f->io[i].role == FIXTURE_OUTPUT) elements += v->nrows * row_elements(v, &f->io[i]);
    v->keep = elements <= KEPT_ELEMENTS;
    for (int i = 0; i < f->nio && v->keep && !f->judged; i++) {
        fixture_io *io = &f->io[i];
        if (io->role != FIXTURE_OUTPUT) continue;
        size_t count = (size_t)(v->nrows * row_elements(v, io)) + 1;
        free(io->truth);
        free(io->bound);
        io->truth = malloc(count * sizeof *io->truth);
        io->bound = malloc(count * sizeof *io->bound);
        if (!io->truth || !io->bound) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for the oracle's results");
    }
    return LFUSE_OK;
}

/* One output's rows from `first` on against the oracle's. */
static void compare(verification *v, const fixture_io *io, const char *got, int64_t first, int64_t count,
                    const long double *value, const double *bound)
{
    lfuse__oracle_report report;
    size_t at = (size_t)(first * row_elements(v, io));
    lfuse__oracle_compare(io->type, count, got + at * lfuse_type_size(io->type), value, bound, &report);
    pthread_mutex_lock(&v->lock);
    note(v, io, &report);
    pthread_mutex_unlock(&v->lock);
}

static void compare_kept(verification *v)
{
    for (int i = 0; i < v->f->nio; i++) {
        const fixture_io *io = &v->f->io[i];
        if (io->role == FIXTURE_OUTPUT)
            compare(v, io, v->got[i], 0, v->nrows * row_elements(v, io), io->truth, io->bound);
    }
}

static lfuse_status verify_piece(verification *v, int64_t first, int64_t rows)
{
    lfuse__oracle_options options = {.inexact = v->inexact, .levels = v->f->levels, .rows = v->rows + first,
                                     .nrows = rows};
    if (v->f->whole) options.rows = NULL, options.nrows = 0;
    lfuse__oracle_run truth;
    lfuse_status status = LFUSE_OK;
    LFUSE__TRY(lfuse__oracle_run_graph(v->f->graph, v->inputs, v->ninputs, &options, &truth));
    for (int i = 0; i < v->f->nio && !status; i++) {
        const fixture_io *io = &v->f->io[i];
        if (io->role != FIXTURE_OUTPUT) continue;
        const lfuse__oracle_result *r = lfuse__oracle_find(&truth, io->name);
        if (!r) {
            status = lfuse__error(LFUSE_ERR_NAME, "the oracle knows no output %s", io->name);
            break;
        }
        compare(v, io, v->got[i], first, r->count, r->value, r->bound);
        if (!v->keep) continue;
        memcpy(io->truth + first * row_elements(v, io), r->value, (size_t)r->count * sizeof *r->value);
        memcpy(io->bound + first * row_elements(v, io), r->bound, (size_t)r->count * sizeof *r->bound);
    }
    lfuse__oracle_free(&truth);
    return status;
}

static void *work(void *pointer)
{
    verification *v = pointer;
    for (;;) {
        int64_t first = atomic_fetch_add(&v->next, v->piece);
        if (first >= v->nrows) return NULL;
        lfuse_status status = verify_piece(v, first, v->nrows - first < v->piece ? v->nrows - first : v->piece);
        if (!status) continue;
        pthread_mutex_lock(&v->lock); /* messages belong to their thread */
        if (!v->status) {
            v->status = status;
            snprintf(v->message, sizeof v->message, "%s", lfuse_last_error());
        }
        pthread_mutex_unlock(&v->lock);
        return NULL;
    }
}

/* Elements that every row reads. */
static double shared_elements(const verification *v)
{
    double elements = 0;
    for (int i = 0; i < v->f->nio; i++)
        if (v->f->io[i].role == FIXTURE_SHARED || v->f->io[i].role == FIXTURE_FROZEN)
            elements += (double)v->f->io[i].elements;
    return elements;
}

/* As many as there are cores, and as a quarter of the memory has room for what each holds of shared inputs. */
static int count_threads(const verification *v)
{
    const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    const double room = memory / 4 / (shared_bytes * shared_elements(v) + 1);
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return (int)fmax(1, fmin(room, cores > MOST_THREADS ? MOST_THREADS : (double)cores));
}

/* Pieces have enough rows to be worth the reading of what is shared, but there are as many as threads. */
static int64_t piece_of(const verification *v, int threads)
{
    const fixture_io *first = &v->f->io[0];
    const double elements = v->f->whole || !first->shape[0] ? 1 : (double)(first->elements / first->shape[0]);
    const double wanted = fmax(PIECE_ELEMENTS, 4 * shared_elements(v)) / fmax(elements, 1);
    return (int64_t)fmax(1, fmin(wanted, ceil((double)v->nrows / threads)));
}

static lfuse_status work_in_threads(verification *v)
{
    pthread_t threads[MOST_THREADS];
    int started = 0, wanted = count_threads(v);
    v->piece = piece_of(v, wanted);
    while (started < wanted - 1 && !pthread_create(&threads[started], NULL, work, v)) started++;
    work(v);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    return v->status ? lfuse__error(v->status, "%s", v->message) : LFUSE_OK;
}

lfuse_status fixture_verify(fixture *f, bench_variant *variant)
{
    lfuse_device_info info;
    verification v = {.f = f, .variant = variant, .lock = PTHREAD_MUTEX_INITIALIZER};
    if (f->verify) return f->verify(f, variant);
    LFUSE__TRY(lfuse_device_get_info(f->d->dev, &info));
    v.inexact = !info.exact;
    gather_inputs(&v);
    lfuse_status status = choose_rows(&v);
    if (!status) status = read_outputs(&v);
    if (!status) status = make_room(&v);
    if (!status && v.keep && f->judged && f->judged_levels == f->levels) compare_kept(&v);
    else if (!status) status = work_in_threads(&v);
    f->judged = !status && v.keep;
    f->judged_levels = f->levels;
    for (int i = 0; i < f->nio; i++) free(v.got[i]);
    free(v.rows);
    return status;
}
