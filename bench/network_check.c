/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/network_check.h"

#include <stdlib.h>
#include <string.h>

#include "bench/oracle.h"
#include "bench/sample.h"
#include "common/base/error.h"

enum { SEED = 64, X = 0 };

/* The verified rows: where they are, of which input, and what the device made of them. */
typedef struct part {
    int64_t count, *rows;
    size_t bytes; /* of a row */
    char *x, *y, *whole;
} part;

static void part_free(part *p)
{
    free(p->whole);
    free(p->y);
    free(p->x);
    free(p->rows);
}

static lfuse_status part_make(const fixture *f, part *p)
{
    const fixture_io *x = &f->io[X], *y = &f->io[f->nio - 1];
    const int64_t batch = x->shape[0], width = x->shape[1];
    const double layers = (double)((f->nio - 2) / 2);
    *p = (part){.count = bench_sample_count(batch, layers * (double)width * (double)width),
                .bytes = (size_t)width * lfuse_type_size(x->type)};
    p->rows = malloc((size_t)p->count * sizeof *p->rows);
    p->x = malloc((size_t)p->count * p->bytes);
    p->y = malloc((size_t)p->count * p->bytes);
    p->whole = malloc((size_t)batch * p->bytes);
    if (!p->rows || !p->x || !p->y || !p->whole)
        return lfuse__error(LFUSE_ERR_MEMORY, "out of memory to verify %lld rows", (long long)p->count);
    bench_sample_rows(batch, p->count, SEED, p->rows);
    LFUSE__TRY(lfuse_stream_synchronize(f->d->stream));
    LFUSE__TRY(lfuse_tensor_read(y->tensors[0], NULL, p->whole));
    for (int64_t r = 0; r < p->count; r++) {
        memcpy(p->x + (size_t)r * p->bytes, (const char *)x->host + (size_t)p->rows[r] * p->bytes, p->bytes);
        memcpy(p->y + (size_t)r * p->bytes, p->whole + (size_t)p->rows[r] * p->bytes, p->bytes);
    }
    return LFUSE_OK;
}

/* What the rows are, kept for the next variant. */
static lfuse_status find_truth(fixture *f, const part *p)
{
    const void *w[FIXTURE_MAX_IO], *b[FIXTURE_MAX_IO];
    const fixture_io *x = &f->io[X];
    fixture_io *y = &f->io[f->nio - 1];
    const lfuse__oracle_network net = {x->type, (f->nio - 2) / 2, f->levels, x->shape[1], w, b};
    if (f->judged && f->judged_levels == f->levels) return LFUSE_OK;
    for (int l = 0; l < net.layers; l++) {
        w[l] = f->io[1 + 2 * l].host;
        b[l] = f->io[2 + 2 * l].host;
    }
    if (!y->truth) y->truth = malloc((size_t)(p->count * net.width) * sizeof *y->truth);
    if (!y->bound) y->bound = malloc((size_t)(p->count * net.width) * sizeof *y->bound);
    if (!y->truth || !y->bound)
        return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %lld rows", (long long)p->count);
    f->judged = false;
    LFUSE__TRY(lfuse__oracle_network_rows(&net, p->count, p->x, y->truth, y->bound));
    f->judged = true;
    f->judged_levels = f->levels;
    return LFUSE_OK;
}

lfuse_status bench_network_verify(fixture *f, bench_variant *v)
{
    const fixture_io *y = &f->io[f->nio - 1];
    lfuse__oracle_report report;
    part p;
    lfuse_status status = part_make(f, &p);
    if (!status) status = find_truth(f, &p);
    if (!status) {
        v->ok = lfuse__oracle_compare(y->type, p.count * y->shape[1], p.y, y->truth, y->bound, &report);
        v->max_err = report.max_error;
        v->tol = report.max_ratio > 0 ? report.max_error / report.max_ratio : 1;
        if (!v->ok) fprintf(stderr, "lfuse-bench: %s: %s: %s\n", v->name, y->name, report.text);
    }
    part_free(&p);
    return status;
}
