/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider's algorithms for one product, timed against each other over operands of their own. What it costs, beside
 * loading each algorithm's code: see race.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/half.h"
#include "common/run/race.h"

typedef struct products {
    const lfuse__gemm_desc *desc;
    lfuse_stream *stream; /* of its own: the user's may be one that cannot be captured */
    lfuse__range *memory; /* a, b, c, bias, add, workspace behind each other */
    lfuse__gemm_args args;
    const lfuse__gemm_candidate *candidates;
    lfuse__gemm *gemms[LFUSE__GEMM_CANDIDATES];
} products;

/* ---- the operands ---- */

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static void put(lfuse_type type, void *to, int i, double x)
{
    switch (type) {
    case LFUSE_F32: ((float *)to)[i] = (float)x; break;
    case LFUSE_F64: ((double *)to)[i] = x; break;
    case LFUSE_F16: ((uint16_t *)to)[i] = lfuse__double_to_f16(x); break;
    default: ((uint16_t *)to)[i] = lfuse__double_to_bf16(x); break;
    }
}

/*
 * Numbers from -1 to 1 that look random: a device draws less power, and so keeps a higher clock, on constant data. The
 * period is odd, so that rows differ.
 */
lfuse_status lfuse__race_fill(lfuse_stream *s, lfuse__range *to, uint64_t offset, uint64_t bytes, lfuse_type type)
{
    enum { PERIOD = 4093 };
    const uint64_t period = PERIOD * (uint64_t)lfuse_type_size(type);
    uint64_t done = bytes < period ? bytes : period, piece;
    uint32_t state = 1;
    void *host = malloc(period);
    lfuse_status status;
    int i;

    if (!host) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%" PRIu64 " bytes)", period);
    for (i = 0; i < PERIOD; i++) {
        state = state * 1664525u + 1013904223u;
        put(type, host, i, (double)state * 0x1p-31 - 1);
    }
    status = lfuse__write(s, to, offset, host, done);
    if (!status) status = lfuse__stream_sync(s);
    free(host);
    for (; done < bytes && !status; done += piece) {
        piece = bytes - done < done ? bytes - done : done;
        status = lfuse__copy(s, to, offset + done, to, offset, piece);
    }
    return status;
}

/* Of the matrices of one operand, each of `one` elements. */
static uint64_t span(const lfuse__gemm_desc *d, lfuse_type type, int64_t one, int64_t stride)
{
    const int64_t more = d->batch ? (d->batch - 1) * stride : 0;

    return aligned((uint64_t)(one + more) * (uint64_t)lfuse_type_size(type));
}

static lfuse_status make_operands(lfuse_device *dev, uint64_t workspace, products *r)
{
    const lfuse__gemm_desc *d = r->desc;
    const uint64_t a_bytes = span(d, d->type, (d->ta ? d->k : d->m) * d->lda, d->stride_a);
    const uint64_t b_bytes = span(d, d->type, (d->tb ? d->n : d->k) * d->ldb, d->stride_b);
    const uint64_t c_bytes = span(d, lfuse__gemm_result(d), d->m * d->ldc, d->stride_c);
    const uint64_t bias = aligned((uint64_t)d->n * (uint64_t)lfuse_type_size(lfuse__gemm_result(d)));
    const uint64_t add_bytes = d->apart ? span(d, lfuse__gemm_result(d), d->m * d->ld_add, d->stride_add) : 0;
    const uint64_t all = a_bytes + b_bytes + c_bytes + bias + add_bytes;

    LFUSE__TRY(lfuse__range_create(dev, all + workspace, &r->memory));
    r->args.alpha = 1;
    r->args.beta = d->has_beta ? 0.5 : 0; /* what is added to stays small */
    r->args.a = r->args.b = r->args.c = r->args.bias = r->args.workspace = r->memory->mem;
    if (d->apart) r->args.add = r->memory->mem;
    r->args.a_offset = r->memory->offset;
    r->args.b_offset = r->args.a_offset + a_bytes;
    r->args.c_offset = r->args.b_offset + b_bytes;
    r->args.bias_offset = r->args.c_offset + c_bytes;
    r->args.add_offset = r->args.bias_offset + bias;
    r->args.workspace_offset = r->args.add_offset + add_bytes;
    LFUSE__TRY(lfuse__race_fill(r->stream, r->memory, 0, a_bytes + b_bytes, d->type));
    return lfuse__race_fill(r->stream, r->memory, a_bytes + b_bytes, c_bytes + bias + add_bytes,
                            lfuse__gemm_result(d));
}

/* ---- the contest ---- */

static const char *name(void *data, int i)
{
    return ((products *)data)->candidates[i].identity;
}

static lfuse_status prepare(void *data, int i)
{
    products *r = data;

    return lfuse__gemm_prepare(lfuse__stream_device(r->stream), r->desc, &r->candidates[i], &r->gemms[i]);
}

static lfuse_status run(void *data, int i, lfuse_stream *s)
{
    products *r = data;

    return lfuse__gemm_run(s, r->gemms[i], &r->args);
}

static void release(void *data, int i)
{
    products *r = data;

    lfuse__gemm_destroy(r->gemms[i]);
    r->gemms[i] = NULL;
}

static lfuse_status open_all(lfuse_instance *in, const lfuse__gemm_candidate *candidates, int count, products *r)
{
    lfuse_device *dev = in->plan->dev;
    uint64_t workspace = 0;
    int i;

    for (i = 0; i < count; i++)
        if (candidates[i].workspace > workspace) workspace = candidates[i].workspace;
    LFUSE__TRY(lfuse__stream_sync(in->stream)); /* what it has to do would run beside the race */
    LFUSE__TRY(lfuse__stream_create(dev, &r->stream));
    return make_operands(dev, workspace, r);
}

lfuse_status lfuse__gemm_race(lfuse_instance *in, const lfuse__gemm_desc *desc,
                              const lfuse__gemm_candidate *candidates, int count, int *best, double *us)
{
    products r = { .desc = desc, .candidates = candidates };
    double times[LFUSE__GEMM_CANDIDATES];
    char what[96];
    const lfuse__contest contest = { .what = what, .count = count, .data = &r, .name = name, .prepare = prepare,
                                     .run = run, .release = release };
    lfuse_status status;

    snprintf(what, sizeof what, "product %" PRId64 " x %" PRId64 " x %" PRId64, desc->m, desc->n, desc->k);
    status = open_all(in, candidates, count, &r);
    if (!status) status = lfuse__race(&contest, r.stream, best, times);
    if (!status) *us = times[*best];
    lfuse__stream_destroy(r.stream);
    lfuse__range_release(r.memory);
    return status;
}
