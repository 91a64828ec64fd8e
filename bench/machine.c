/* SPDX-License-Identifier: Apache-2.0 */
/* The ceilings of a device, by which the other figures are judged. */
#include "bench/bench.h"
#include "bench/copier.h"
#include "bench/fixture.h"
#include "bench/native.h"
#include "bench/timer.h"
#include "common/base/error.h"
#include "common/base/half.h"

/*
 * Median time in microseconds of one of `batch` runs and their synchronisation. Several runs keep a GPU busy. A CPU has
 * one, which takes milliseconds: the synchronisation is nothing beside it.
 */
static lfuse_status time_runs(bench_device *d, lfuse_status (*run)(void *), void *state, int batch, double *us)
{
    enum { ROUNDS = 11 };
    double samples[ROUNDS];
    if (d->info.kind != LFUSE_DEVICE_GPU) batch = 1;
    for (int r = -2; r < ROUNDS; r++) {
        double start = bench_now_us();
        for (int i = 0; i < batch; i++) LFUSE__TRY(run(state));
        LFUSE__TRY(lfuse_stream_synchronize(d->stream));
        if (r >= 0) samples[r] = (bench_now_us() - start) / batch;
    }
    *us = bench_quantile(samples, ROUNDS, 0.5);
    return LFUSE_OK;
}

typedef struct copy_state {
    lfuse_stream *stream;
    lfuse_tensor *to, *from;
    bench_copier *kernel;
} copy_state;

static lfuse_status copy_api(void *state)
{
    copy_state *s = state;
    return lfuse_tensor_copy(s->to, s->from, s->stream);
}

static lfuse_status copy_kernel(void *state)
{
    copy_state *s = state;
    return bench_copier_run(s->kernel, 0);
}

static lfuse_status copy_rate(bench_device *d)
{
    int64_t elements = d->info.kind == LFUSE_DEVICE_GPU ? 128 << 20 : 32 << 20;
    double api_us, kernel_us;
    fixture *f;
    lfuse_value x = {NULL, -1};
    LFUSE__TRY(fixture_create(d, &f));
    copy_state s = {.stream = d->stream};

    lfuse_status status = fixture_tensor(f, "x", FIXTURE_INPUT, LFUSE_F32, 1, &elements, 1, &x);
    if (!status) status = fixture_tensor(f, "y", FIXTURE_OUTPUT, LFUSE_F32, 1, &elements, 1, NULL);
    if (!status) status = fixture_upload(f, 1);
    if (status) goto destroy_fixture;
    s.from = f->io[0].tensors[0];
    s.to = f->io[1].tensors[0];
    status = bench_copier_create(d, 1, &s.to, &s.from, &s.kernel);
    if (!status) status = time_runs(d, copy_api, &s, 5, &api_us);
    if (!status) status = time_runs(d, copy_kernel, &s, 5, &kernel_us);
    if (!status) d->machine.copy_gbs = 8e-3 * (double)elements / (api_us < kernel_us ? api_us : kernel_us);
    bench_copier_destroy(s.kernel);
destroy_fixture:
    fixture_destroy(f);
    return status;
}

typedef struct product_state {
    lfuse_stream *stream;
    lfuse_tensor *a, *b, *c;
    int transpose_b;
} product_state;

static lfuse_status product(void *state)
{
    product_state *s = state;
    return lfuse_gemm(s->stream, 0, s->transpose_b, 1, s->a, s->b, 0, s->c);
}

/* Tensor cores take operands of 8 bits with k along memory, and their sums are seldom stored in 8 bits. */
static lfuse_status product_rate(bench_device *d, lfuse_type type, double *gflops)
{
    const bool fp8 = lfuse__is_fp8(type);
    int64_t n = d->info.kind != LFUSE_DEVICE_GPU ? 512 : d->quick ? 2048 : 4096;
    int64_t shape[2] = {n, n};
    double us;
    lfuse_value ignored;
    fixture *f;
    LFUSE__TRY(fixture_create(d, &f));
    lfuse_status status = fixture_tensor(f, "a", FIXTURE_INPUT, type, 2, shape, 1, &ignored);
    if (!status) status = fixture_tensor(f, "b", FIXTURE_INPUT, type, 2, shape, 1, &ignored);
    if (!status) status = fixture_tensor(f, "c", FIXTURE_OUTPUT, fp8 ? LFUSE_F32 : type, 2, shape, 1, NULL);
    if (!status) status = fixture_upload(f, 1);
    if (!status) {
        product_state s = {d->stream, f->io[0].tensors[0], f->io[1].tensors[0], f->io[2].tensors[0], fp8};
        status = time_runs(d, product, &s, 3, &us);
    }
    if (!status) *gflops = 2e-3 * (double)n * (double)n * (double)n / us;
    fixture_destroy(f);
    return bench_is_missing(status) ? LFUSE_OK : status;
}

lfuse_status bench_machine_product_rate(bench_device *d, lfuse_type operands, double *gflops)
{
    double *known = &d->machine.product_gflops[operands];
    if (!*known) {
        double rate = -1;
        LFUSE__TRY(product_rate(d, operands, &rate));
        *known = rate;
    }
    *gflops = *known > 0 ? *known : 0;
    return LFUSE_OK;
}

typedef struct empty_state {
    const bench_native_kind *kind;
    bench_native *native;
} empty_state;

static lfuse_status empty_run(void *state)
{
    empty_state *s = state;
    return s->kind->empty(s->native);
}

static lfuse_status empty_launch(bench_device *d)
{
    empty_state s;
    LFUSE__TRY(bench_native_find(d, &s.kind));
    LFUSE__TRY(s.kind->create(d, &s.native));
    lfuse_status status = time_runs(d, empty_run, &s, 1, &d->machine.empty_us);
    s.kind->destroy(s.native);
    return status;
}

lfuse_status bench_machine_measure(bench_device *d)
{
    d->machine.timer_us = bench_timer_resolution();
    LFUSE__TRY(empty_launch(d));
    LFUSE__TRY(copy_rate(d));
    return bench_machine_product_rate(d, LFUSE_F32, &d->machine.gemm_gflops);
}
