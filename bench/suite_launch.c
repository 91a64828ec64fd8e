/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch:K: what a run of K kernels of our own costs the host, beside K bare launches by the driver's own call: "bare"
 * of an empty kernel without parameters, "bare-worker" of one with the parameters and the work of ours. The K kernels
 * each add 1 to a tensor of 256 elements and depend on each other; "replay" runs them as one native graph, or as a
 * recorded list of launches where the device has none. "bare-buffer" are the launches of "bare" as one command buffer
 * of the driver's, where OpenCL drivers have these (cl_khr_command_buffer).
 */
#include <stdlib.h>
#include <string.h>

#include "bench/fixture.h"
#include "bench/native.h"
#include "common/base/error.h"

typedef struct bare {
    const bench_native_kind *kind;
    bench_native *native;
    lfuse_status (*launch)(bench_native *);
    int launches;
} bare;

static lfuse_status bare_run(void *state, int set)
{
    bare *b = state;
    (void)set;
    for (int i = 0; i < b->launches; i++) LFUSE__TRY(b->launch(b->native));
    return LFUSE_OK;
}

static void bare_destroy(void *state)
{
    bare *b = state;
    b->kind->destroy(b->native);
    free(b);
}

static lfuse_status add_bare(bench_device *d, bench_case *c, const char *name, int launches)
{
    bare *b = calloc(1, sizeof *b);
    if (!b) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for the bare launches");
    b->launches = launches;
    lfuse_status status = bench_native_find(d, &b->kind);
    if (!status) status = b->kind->create(d, &b->native);
    if (status) {
        free(b);
        return status;
    }
    b->launch = !strcmp(name, "bare") ? b->kind->empty : b->kind->worker;
    if (b->launch) bench_add(c, name, b, bare_run, bare_destroy);
    else bare_destroy(b);
    return LFUSE_OK;
}

typedef struct buffer {
    const bench_native_kind *kind;
    void *native;
} buffer;

static lfuse_status buffer_run(void *state, int set)
{
    buffer *b = state;
    (void)set;
    return b->kind->buffer_run(b->native);
}

static void buffer_destroy(void *state)
{
    buffer *b = state;
    b->kind->buffer_destroy(b->native);
    free(b);
}

static lfuse_status add_buffer(bench_device *d, bench_case *c, int launches)
{
    const bench_native_kind *kind;
    LFUSE__TRY(bench_native_find(d, &kind));
    if (!kind->buffer_create) return LFUSE_OK;
    buffer *b = calloc(1, sizeof *b);
    if (!b) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for the recorded launches");
    b->kind = kind;
    lfuse_status status = kind->buffer_create(d, launches, &b->native);
    if (status) {
        free(b);
        return bench_omit(c, "bare-buffer", status);
    }
    bench_add(c, "bare-buffer", b, buffer_run, buffer_destroy);
    return LFUSE_OK;
}

static lfuse_status prepare(bench_device *d, const char *problem, bench_case *c)
{
    static const int64_t shape[1] = {256};
    const lfuse_plan_options unfused = {.disable = LFUSE_NO_POINTWISE_FUSION | LFUSE_NO_REPLAY};
    const lfuse_plan_options replay = {.disable = LFUSE_NO_POINTWISE_FUSION};
    lfuse_value x = {NULL, -1};
    fixture *f;
    int launches;
    if (sscanf(problem, "launch:%d", &launches) != 1 || launches < 1 || launches > 64)
        return lfuse__error(LFUSE_ERR_INVALID, "%s: expected launch:K with K from 1 to 64", problem);
    LFUSE__TRY(fixture_create(d, &f));
    c->shared = f;
    c->destroy = fixture_destroy;
    LFUSE__TRY(fixture_tensor(f, "x", FIXTURE_INPUT, LFUSE_F32, 1, shape, 1, &x));
    LFUSE__TRY(fixture_tensor(f, "y", FIXTURE_OUTPUT, LFUSE_F32, 1, shape, 1, NULL));
    for (int i = 0; i < launches; i++) x = lfuse_add(x, lfuse_constant(f->graph, 1));
    lfuse_output(f->graph, "y", x);
    c->nsets = 2;
    LFUSE__TRY(fixture_upload(f, c->nsets));
    LFUSE__TRY(fixture_variant(f, c, "libfuse", &unfused));
    if (launches > 1) LFUSE__TRY(fixture_replay(f, c, &replay));
    LFUSE__TRY(add_bare(d, c, "bare", launches));
    LFUSE__TRY(add_bare(d, c, "bare-worker", launches));
    return add_buffer(d, c, launches);
}

static const char *const problems[] = {"launch:1", "launch:8", "launch:32", NULL};
static const char *const quick[] = {"launch:1", "launch:8", NULL};
const bench_suite bench_suite_launch = {"launch", problems, quick, prepare, NULL, NULL, NULL, 0};
