/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "bench/gemm_problem.h"
#include "bench/openblas.h"
#include "bench/timer.h"
#include "common/base/error.h"

typedef struct host_product {
    fixture *f;
    gemm_problem of;
    int nsets;
    char *operands[FIXTURE_MAX_SETS][3];
} host_product;

static lfuse_status host_run(void *state, int set)
{
    const host_product *h = state;
    const gemm_problem *p = &h->of;
    const int64_t size = (int64_t)lfuse_type_size(p->type);
    char *const *x = h->operands[set];
    for (int64_t i = 0; i < gemm_problem_count(p); i++)
        LFUSE__TRY(bench_openblas_multiply(p->type, p->turn_a, p->turn_b, p->m, p->n, p->k,
                                           x[0] + i * p->m * p->k * size, x[1] + i * p->k * p->n * size,
                                           x[2] + i * p->m * p->n * size));
    return LFUSE_OK;
}

static void host_destroy(void *state)
{
    host_product *h = state;
    for (int s = 0; s < h->nsets; s++)
        for (int i = 0; i < 3; i++) free(h->operands[s][i]);
    free(h);
}

static lfuse_status make_operands(host_product *h)
{
    const fixture_io *io[3] = {&h->f->io[GEMM_A], &h->f->io[GEMM_B], &h->f->io[h->f->nio - 1]};
    for (int s = 0; s < h->nsets; s++)
        for (int i = 0; i < 3; i++) {
            const size_t bytes = (size_t)io[i]->elements * lfuse_type_size(io[i]->type);
            const void *from = io[i]->turned ? io[i]->image : io[i]->host;
            void *to;
            if (posix_memalign(&to, 64, bytes))
                return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %zu bytes of a product", bytes);
            h->operands[s][i] = to;
            if (from) memcpy(to, from, bytes);
            else memset(to, 0xff, bytes); /* NaN */
        }
    return LFUSE_OK;
}

/* What the host computed is verified where the device's results are. */
static lfuse_status prove_host(fixture *f, host_product *h, bench_variant *v)
{
    double start = bench_now_us();
    LFUSE__TRY(host_run(h, 0));
    v->first_us = bench_now_us() - start;
    v->note = bench_openblas_note();
    LFUSE__TRY(lfuse_tensor_write(f->io[f->nio - 1].tensors[0], NULL, h->operands[0][2]));
    return fixture_verify(f, v);
}

lfuse_status gemm_add_openblas(fixture *f, const gemm_problem *p, bench_case *c)
{
    if (f->d->info.kind != LFUSE_DEVICE_CPU || (p->type != LFUSE_F32 && p->type != LFUSE_F64) ||
        p->to != p->type || p->precision == LFUSE_PRECISION_TF32)
        return LFUSE_OK;
    static bool told;
    if (bench_openblas_load()) {
        if (!told) fprintf(stderr, "lfuse-bench: no variant openblas: %s\n", lfuse_last_error());
        told = true;
        return LFUSE_OK;
    }
    host_product *h = calloc(1, sizeof *h);
    if (!h) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for variant openblas");
    h->f = f;
    h->of = *p;
    h->nsets = f->nsets;
    lfuse_status status = make_operands(h);
    if (!status) return prove_host(f, h, bench_add(c, "openblas", h, host_run, host_destroy));
    host_destroy(h);
    return status;
}
