/* SPDX-License-Identifier: Apache-2.0 */
#include "common/device/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct lfuse__gemm {
    lfuse_device *dev;
    lfuse__bgemm *bgemm;
    uint64_t serial;
    char what[64]; /* for messages */
};

/* What the epilogue takes has the layout of its extent, and of the batch. */
static bool inputs_fit(const lfuse__gemm_desc *d)
{
    bool fits = d->has_beta || !d->inputs[LFUSE__INPUT_ADDEND].taken;
    int i;

    for (i = 0; i < LFUSE__EPILOGUE_INPUTS; i++) {
        const lfuse__gemm_input *o = &d->inputs[i];
        const bool matrix = o->taken && lfuse__epilogue_takes_matrix(i);
        fits = fits && (matrix ? o->ld >= d->n : !o->ld) && (matrix && d->batch ? o->stride >= 0 : !o->stride);
    }
    return fits;
}

static lfuse_status checked(const lfuse__gemm_desc *d)
{
    const lfuse__gemm_input *c = &d->inputs[LFUSE__INPUT_ADDEND];
    const bool strides = d->batch ? d->batch > 1 && d->stride_a >= 0 && d->stride_b >= 0 && d->stride_c > 0
                                  : !d->stride_a && !d->stride_b && !d->stride_c;
    const bool fits = d->m > 0 && d->n > 0 && d->k > 0 && d->lda >= (d->ta ? d->m : d->k) &&
                d->ldb >= (d->tb ? d->k : d->n) && d->ldc >= d->n && inputs_fit(d);

    if (fits && strides) return LFUSE_OK;
    if (fits)
        return lfuse__error(LFUSE_ERR_SHAPE, "%" PRId64 " products of matrices %" PRId64 ", %" PRId64 ", %" PRId64
                            ", %" PRId64 " elements apart", d->batch, d->stride_a, d->stride_b, d->stride_c,
                            c->stride);
    return lfuse__error(LFUSE_ERR_SHAPE, "product of %" PRId64 " x %" PRId64 " x %" PRId64 " with leading dimensions %"
                        PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64, d->m, d->n, d->k, d->lda, d->ldb, d->ldc,
                        c->ld);
}

lfuse_status lfuse__gemm_candidates(lfuse_device *dev, const lfuse__gemm_desc *desc, int max,
                                    lfuse__gemm_candidate *candidates, int *count)
{
    int n = 0;

    LFUSE__TRY(lfuse__device_usable(dev));
    LFUSE__TRY(checked(desc));
    if (max < 1) return lfuse__error(LFUSE_ERR_INVALID, "room for %d candidates", max);
    LFUSE__TRY(lfuse__device_note(dev, dev->backend->gemm_candidates(dev->bdev, desc, max, candidates, &n)));
    *count = n;
    return LFUSE_OK;
}

lfuse_status lfuse__gemm_prepare(lfuse_device *dev, const lfuse__gemm_desc *desc,
                                 const lfuse__gemm_candidate *candidate, lfuse__gemm **gemm)
{
    lfuse__gemm *g;
    lfuse_status status;

    LFUSE__TRY(lfuse__device_usable(dev));
    LFUSE__TRY(checked(desc));
    g = calloc(1, sizeof *g);
    if (!g) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *g);
    status = lfuse__device_note(dev, dev->backend->gemm_prepare(dev->bdev, desc, candidate, &g->bgemm));
    if (status) {
        free(g);
        return status;
    }
    snprintf(g->what, sizeof g->what, "product by %s", candidate->identity);
    g->serial = lfuse__serial();
    g->dev = dev;
    lfuse__device_retain(dev);
    *gemm = g;
    return LFUSE_OK;
}

lfuse_status lfuse__gemm_run(lfuse_stream *s, lfuse__gemm *gemm, const lfuse__gemm_args *args)
{
    LFUSE__TRY(lfuse__stream_same_device(s, gemm->dev, "the product"));
    if (__builtin_expect(s->noting.nodes != NULL, 0)) {
        LFUSE__TRY(lfuse__note_gemm(s, gemm->serial, args));
        if (s->noting.follows) return LFUSE_OK;
    }
    LFUSE__TRY(lfuse__stream_enter(s));
    return lfuse__stream_leave_launch(s, s->dev->backend->gemm_run(s->bstream, gemm->bgemm, args), 1, gemm->what);
}

void lfuse__gemm_destroy(lfuse__gemm *gemm)
{
    if (!gemm || lfuse__forked()) return;
    gemm->dev->backend->gemm_destroy(gemm->bgemm);
    lfuse__device_release(gemm->dev);
    free(gemm);
}
