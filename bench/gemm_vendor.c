/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "bench/gemm_problem.h"
#include "bench/native.h"
#include "bench/timer.h"
#include "common/base/error.h"

typedef struct vendor {
    const bench_native_kind *kind;
    int nsets;
    void *products[FIXTURE_MAX_SETS];
} vendor;

static lfuse_status vendor_run(void *state, int set)
{
    vendor *v = state;
    return v->kind->dense_run(v->products[set]);
}

static void vendor_destroy(void *state)
{
    vendor *v = state;
    for (int s = 0; s < v->nsets; s++)
        if (v->products[s]) v->kind->dense_destroy(v->products[s]);
    free(v);
}

static lfuse_status vendor_set(const fixture *f, const gemm_problem *p, vendor *v, int set)
{
    lfuse_tensor *b = f->io[GEMM_B].tensors[set], *bias = f->io[GEMM_BIAS].tensors[set];
    const bench_dense_buffers buffers = {
        .layers = 1, .batch = p->m, .inner = p->k, .width = p->n, .w = &b,
        .b = f->io[GEMM_BIAS].role == FIXTURE_OUTPUT ? NULL : &bias, .x = f->io[GEMM_A].tensors[set],
        .y = f->io[f->nio - 1].tensors[set], .count = p->batch, .turn_x = p->turn_a, .turn_w = p->turn_b,
        .tf32 = p->precision == LFUSE_PRECISION_TF32};
    return v->kind->dense_create(f->d, &buffers, &v->products[set]);
}

static lfuse_status prove(fixture *f, bench_variant *v, double start)
{
    LFUSE__TRY(fixture_poison(f));
    LFUSE__TRY(v->run(v->state, 0));
    LFUSE__TRY(lfuse_stream_synchronize(f->d->stream));
    v->first_us = bench_now_us() - start;
    return fixture_verify(f, v);
}

lfuse_status gemm_add_vendor(fixture *f, const gemm_problem *p, bench_case *c, const char *name)
{
    double start = bench_now_us();
    vendor *v = calloc(1, sizeof *v);
    if (!v) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for the vendor's product");
    v->nsets = f->nsets;
    lfuse_status status = bench_native_find(f->d, &v->kind);
    for (int s = 0; s < f->nsets && !status; s++) status = vendor_set(f, p, v, s);
    if (status) {
        vendor_destroy(v);
        return bench_omit(c, name, status);
    }
    return prove(f, bench_add(c, name, v, vendor_run, vendor_destroy), start);
}
