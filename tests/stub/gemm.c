/* SPDX-License-Identifier: Apache-2.0 */
/* The stub's vendor library: plain loops in ascending order of k, sums in f32 (f64 for f64). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"
#include "common/base/half.h"
#include "tests/stub/internal.h"

enum { JUNK_BYTE = 0x5A };

static double load(const void *base, lfuse_type type, int64_t i)
{
    switch (type) {
    case LFUSE_F32: return ((const float *)base)[i];
    case LFUSE_F64: return ((const double *)base)[i];
    default: return lfuse__narrow_get(type, base, i);
    }
}

static void store(void *base, lfuse_type type, int64_t i, double x)
{
    switch (type) {
    case LFUSE_F32: ((float *)base)[i] = (float)x; break;
    case LFUSE_F64: ((double *)base)[i] = x; break;
    default: lfuse__narrow_put(type, base, i, x); break;
    }
}

/* One operation's result in the type that the product computes in. */
static double rounded(const lfuse__gemm_desc *d, double x)
{
    return d->type == LFUSE_F64 ? x : (double)(float)x;
}

static double finish(const command *c, double value, int64_t column)
{
    const lfuse__gemm_desc *d = &c->gemm;
    if (d->inputs[LFUSE__INPUT_BIAS].taken)
        value = rounded(d, value + load(c->inputs[LFUSE__INPUT_BIAS], lfuse__gemm_result(d), column));
    if (d->epilogue == LFUSE__EP_RELU) value = value > 0 || value != value ? value : 0;
    return value;
}

/* As the device multiplies it: of tf32 the last 13 bits are cut off. */
static double operand(const lfuse__gemm_desc *d, const void *base, int64_t i)
{
    const double x = load(base, d->type, i);
    float f = (float)x;
    uint32_t bits;
    if (!d->tf32) return x;
    memcpy(&bits, &f, sizeof bits);
    bits &= ~UINT32_C(0x1FFF);
    memcpy(&f, &bits, sizeof f);
    return f;
}

static double product(const command *c, int64_t matrix, int64_t row, int64_t column)
{
    const lfuse__gemm_desc *d = &c->gemm;
    const int64_t in_a = matrix * d->stride_a, in_b = matrix * d->stride_b;
    double sum = 0;
    for (int64_t k = 0; k < d->k; k++) {
        const double a = operand(d, c->a, in_a + (d->ta ? k * d->lda + row : row * d->lda + k));
        const double b = operand(d, c->b, in_b + (d->tb ? column * d->ldb + k : k * d->ldb + column));
        sum = rounded(d, sum + rounded(d, a * b));
    }
    return sum;
}

/* For the host's clock, where events tell no times: long enough to be seen on a machine that has other work. */
static void be_slow(void)
{
    const struct timespec t = {.tv_nsec = LFUSE__STUB_SLOW_US * 1000};
    if (!lfuse__stub.elapsed) nanosleep(&t, NULL);
}

static void do_matrix(const command *c, int64_t matrix)
{
    const lfuse__gemm_desc *d = &c->gemm;
    const void *scale = c->inputs[LFUSE__INPUT_SCALE];
    const double alpha = d->inputs[LFUSE__INPUT_SCALE].taken ? load(scale, lfuse__gemm_result(d), 0) : c->alpha;
    for (int64_t row = 0; row < d->m; row++)
        for (int64_t column = 0; column < d->n; column++) {
            const int64_t at = matrix * d->stride_c + row * d->ldc + column;
            double value = rounded(d, rounded(d, alpha) * product(c, matrix, row, column));
            if (d->has_beta && c->beta != 0) {
                const lfuse__gemm_input *in = &d->inputs[LFUSE__INPUT_ADDEND];
                const int64_t from = in->taken ? matrix * in->stride + row * in->ld + column : at;
                const double x = load(in->taken ? c->inputs[LFUSE__INPUT_ADDEND] : c->c, lfuse__gemm_result(d), from);
                value = rounded(d, value + rounded(d, rounded(d, c->beta) * x));
            }
            store(c->c, lfuse__gemm_result(d), at, finish(c, value, column));
        }
}

static int64_t count(const lfuse__gemm_desc *d)
{
    return d->batch ? d->batch : 1;
}

void lfuse__stub_gemm_do(const command *c)
{
    if (c->slow) be_slow();
    if (c->workspace) memset(c->workspace, JUNK_BYTE, c->workspace_bytes);
    for (int64_t matrix = 0; matrix < count(&c->gemm); matrix++) do_matrix(c, matrix);
}

lfuse_status lfuse__stub_gemm_candidates(lfuse__bdevice *dev, const lfuse__gemm_desc *desc, int max,
                                         lfuse__gemm_candidate *candidates, int *count)
{
    (void)dev;
    ENTER(gemm_candidates);
    const bool floating = desc->type == LFUSE_F32 || desc->type == LFUSE_F64 || desc->type == LFUSE_F16 ||
                          desc->type == LFUSE_BF16;
    if (!floating || lfuse__stub.decline_types >> desc->type & 1 ||
        (desc->wide && lfuse__stub.decline_mixed))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "stub: no product of this type (%d)", (int)desc->type);
    if (lfuse__stub.decline_epilogues >> lfuse__gemm_has_epilogue(desc) & 1)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "stub: no product with epilogue %d", (int)desc->epilogue);
    int n = lfuse__stub.gemm_candidates < max ? lfuse__stub.gemm_candidates : max;
    for (int i = 0; i < n; i++) {
        memset(&candidates[i], 0, sizeof candidates[i]);
        candidates[i].workspace = i < lfuse__stub.gemm_candidates - 1 ? lfuse__stub.gemm_workspace : 0;
        candidates[i].provider = "stub";
        snprintf(candidates[i].identity, sizeof candidates[i].identity, "stub-%d", i);
        candidates[i].opaque[0] = candidates[i].workspace;
        candidates[i].opaque[1] = (uint64_t)i;
    }
    *count = n;
    return LFUSE_OK;
}

lfuse_status lfuse__stub_gemm_prepare(lfuse__bdevice *dev, const lfuse__gemm_desc *desc,
                                      const lfuse__gemm_candidate *candidate, lfuse__bgemm **gemm)
{
    (void)dev;
    ENTER(gemm_prepare);
    lfuse__bgemm *g = calloc(1, sizeof *g);
    if (!g) return lfuse__error(LFUSE_ERR_MEMORY, "stub: no memory for a product");
    g->desc = *desc;
    g->workspace = candidate->opaque[0];
    g->candidate = (int)candidate->opaque[1];
    lfuse__stub_live_add(&lfuse__stub_alive.gemms, 1);
    *gemm = g;
    return LFUSE_OK;
}

/* Bytes that stored [rows, columns] with this leading dimension span, one for each product of a batch. */
static uint64_t span(const lfuse__gemm_desc *d, lfuse_type type, int64_t rows, int64_t columns, int64_t leading,
                     int64_t stride)
{
    const uint64_t size = type == LFUSE_F64 ? 8 : type == LFUSE_F32 ? 4 : 2;
    return (uint64_t)((count(d) - 1) * stride + (rows - 1) * leading + columns) * size;
}

static uint64_t span_of_input(const lfuse__gemm_desc *d, int i)
{
    const lfuse_type type = lfuse__gemm_result(d);
    const int64_t rows = lfuse__epilogue_inputs[i].rows ? d->m : 1;
    const int64_t columns = lfuse__epilogue_inputs[i].columns ? d->n : 1;
    if (lfuse__epilogue_takes_matrix(i))
        return span(d, type, rows, columns, d->inputs[i].ld, d->inputs[i].stride);
    return (uint64_t)(rows * columns) * lfuse_type_size(type);
}

lfuse_status lfuse__stub_gemm_run(lfuse__bstream *s, lfuse__bgemm *gemm, const lfuse__gemm_args *args)
{
    const lfuse__gemm_desc *d = &gemm->desc;
    const unsigned slow = lfuse__stub.gemm_slow >> gemm->candidate |
                          lfuse__stub.epilogue_slow >> lfuse__gemm_has_epilogue(d);
    command c = {.kind = COMMAND_GEMM, .gemm = *d, .alpha = args->alpha, .beta = args->beta, .slow = slow & 1};
    lfuse__stub_call call = {.kernel = "gemm", .gemm = *d, .candidate = gemm->candidate};
    ENTER(gemm_run);
    if (lfuse__stub.gemm_failing >> gemm->candidate & 1)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "stub: candidate %d was told to fail", gemm->candidate);
    if (gemm->workspace && !args->workspace) return lfuse__error(LFUSE_ERR_INVALID, "stub: no workspace was given");
    LFUSE__TRY(lfuse__stub_address(args->a, args->a_offset, span(d, d->type, d->ta ? d->k : d->m, d->ta ? d->m : d->k,
                                                                 d->lda, d->stride_a), &c.a));
    LFUSE__TRY(lfuse__stub_address(args->b, args->b_offset, span(d, d->type, d->tb ? d->n : d->k, d->tb ? d->k : d->n,
                                                                 d->ldb, d->stride_b), &c.b));
    LFUSE__TRY(lfuse__stub_address(args->c, args->c_offset, span(d, lfuse__gemm_result(d), d->m, d->n, d->ldc,
                                                                 d->stride_c), &c.c));
    for (int i = 0; i < LFUSE__EPILOGUE_INPUTS; i++)
        if (d->inputs[i].taken)
            LFUSE__TRY(lfuse__stub_address(args->inputs[i], args->input_offsets[i], span_of_input(d, i), &c.inputs[i]));
    if (gemm->workspace) {
        LFUSE__TRY(lfuse__stub_address(args->workspace, args->workspace_offset, gemm->workspace, &c.workspace));
        c.workspace_bytes = gemm->workspace;
    }
    lfuse__stub_log(&call);
    return lfuse__stub_submit(s, &c);
}

void lfuse__stub_gemm_destroy(lfuse__bgemm *gemm)
{
    lfuse__stub_live_add(&lfuse__stub_alive.gemms, -1);
    free(gemm);
}
