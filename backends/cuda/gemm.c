/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products by cuBLASLt. It counts columns first, so a row-major D = A B is given to it as D^T = B^T A^T: its first
 * operand is our B, its rows are our columns, and a bias along its rows is one along our columns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/gemm.h"

enum { ALIGNED = 16 }; /* what the vector and bulk loads of the vendor's kernels ask for */
#define WORKSPACE_LIMIT ((size_t)64 << 20)

_Static_assert(sizeof(cublasLtMatmulAlgo_t) <= sizeof ((lfuse__gemm_candidate *)NULL)->opaque,
               "an algorithm fits into a candidate");

#define WIDE_REDUCTIONS (CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE)
#define NARROW_REDUCTIONS CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
static const lfuse__cu_gemm_type types[] = {
    { LFUSE_F32, false, false, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, WIDE_REDUCTIONS, 4 },
    { LFUSE_F32, false, true, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, WIDE_REDUCTIONS, 4 },
    { LFUSE_F64, false, false, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, WIDE_REDUCTIONS, 8 },
    { LFUSE_F16, false, false, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, NARROW_REDUCTIONS, 2 },
    { LFUSE_BF16, false, false, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, NARROW_REDUCTIONS, 2 },
    { LFUSE_F16, true, false, CUDA_R_16F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, WIDE_REDUCTIONS, 2 },
    { LFUSE_BF16, true, false, CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, WIDE_REDUCTIONS, 2 },
    { LFUSE_E4M3, true, false, CUDA_R_8F_E4M3, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, WIDE_REDUCTIONS, 1 },
};

/*
 * Without what it can store beside the result, which is left to the library's own kernels: with relu that is a mask of
 * bits where graphs want the value before it; and its sums of columns, the gradient of a bias
 * (BGRADA, BGRADB), are added up in an order of its own, which changes with the algorithm, where a sum has the same
 * bits on every device and in every plan.
 */
static const struct {
    cublasLtEpilogue_t without_bias, with_bias;
} epilogues[LFUSE__EPILOGUES] = {
    [LFUSE__EP_NONE] = { CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS },
    [LFUSE__EP_RELU] = { CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS },
};
static const bool takes[LFUSE__EPILOGUE_INPUTS] = {
    [LFUSE__INPUT_BIAS] = true,
    [LFUSE__INPUT_ADDEND] = true,
    [LFUSE__INPUT_SCALE] = true, /* as alpha in device memory, where beta then is too: it is 0 */
};

static const lfuse__cu_gemm_type *find_type(const lfuse__gemm_desc *d)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].type == d->type && types[i].wide == d->wide && types[i].tf32 == d->tf32) return &types[i];
    return NULL;
}

/* ---- errors ---- */

lfuse_status lfuse__cu_blas_error(cublasStatus_t code, const char *call)
{
    lfuse_status status = LFUSE_ERR_DEVICE;

    if (code == CUBLAS_STATUS_NOT_SUPPORTED || code == CUBLAS_STATUS_ARCH_MISMATCH) status = LFUSE_ERR_UNSUPPORTED;
    else if (code == CUBLAS_STATUS_ALLOC_FAILED) status = LFUSE_ERR_DEVICE_MEMORY;
    else if (code == CUBLAS_STATUS_NOT_INITIALIZED) status = LFUSE_ERR_LIBRARY;
    return lfuse__error(status, "%s: %s (%d)", call, lfuse__lt.GetStatusString(code), (int)code);
}

/* ---- the handle, one a device, used by any number of threads ---- */

static lfuse_status create_handle(lfuse__bdevice *dev, cublasLtHandle_t *handle)
{
    cublasStatus_t code;
    bool pushed;

    LFUSE__TRY(lfuse__cu_load_blas());
    LFUSE__TRY(lfuse__cu_enter(dev, &pushed));
    code = lfuse__lt.Create(handle);
    lfuse__cu_leave(pushed);
    return code ? lfuse__cu_blas_error(code, "cublasLtCreate") : LFUSE_OK;
}

static lfuse_status get_handle(lfuse__bdevice *dev, cublasLtHandle_t *handle)
{
    lfuse_status status = LFUSE_OK;

    *handle = atomic_load_explicit(&dev->blas, memory_order_acquire);
    if (*handle != NULL) return LFUSE_OK;
    pthread_mutex_lock(&dev->blas_lock);
    *handle = atomic_load_explicit(&dev->blas, memory_order_relaxed);
    if (*handle == NULL) status = create_handle(dev, handle);
    if (status == LFUSE_OK) atomic_store_explicit(&dev->blas, *handle, memory_order_release);
    pthread_mutex_unlock(&dev->blas_lock);
    return status;
}

/* ---- descriptors ---- */


static void release(lfuse__bgemm *g)
{
    if (g->scalars) lfuse__cu_free(g->scalars);
    if (g->addend && g->adds) lfuse__lt.MatrixLayoutDestroy(g->addend);
    if (g->result) lfuse__lt.MatrixLayoutDestroy(g->result);
    if (g->second) lfuse__lt.MatrixLayoutDestroy(g->second);
    if (g->first) lfuse__lt.MatrixLayoutDestroy(g->first);
    if (g->operation) lfuse__lt.MatmulDescDestroy(g->operation);
}

cublasStatus_t lfuse__cu_gemm_set_bias(lfuse__bgemm *g, CUdeviceptr bias)
{
    cublasStatus_t code =
        lfuse__lt.MatmulDescSetAttribute(g->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);

    if (code == CUBLAS_STATUS_SUCCESS) g->bias_set = bias;
    return code;
}

/* Where alpha and beta are read. */
static lfuse_status set_pointer_mode(lfuse__bgemm *g, cublasLtPointerMode_t mode)
{
    const uint32_t value = mode;
    cublasStatus_t code =
        lfuse__lt.MatmulDescSetAttribute(g->operation, CUBLASLT_MATMUL_DESC_POINTER_MODE, &value, sizeof value);

    return code ? lfuse__cu_blas_error(code, "cublasLtMatmulDescSetAttribute of the pointer mode") : LFUSE_OK;
}

static lfuse_status describe_operation(lfuse__bgemm *g, const lfuse__gemm_desc *d)
{
    cublasOperation_t first = d->tb ? CUBLAS_OP_T : CUBLAS_OP_N, second = d->ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtEpilogue_t epilogue = g->bias ? epilogues[d->epilogue].with_bias : epilogues[d->epilogue].without_bias;
    const struct {
        cublasLtMatmulDescAttributes_t attribute;
        const void *value;
        size_t size;
    } rows[] = {
        { CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first },
        { CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second },
        { CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue },
    };
    cublasStatus_t code = lfuse__lt.MatmulDescCreate(&g->operation, g->type->compute, g->type->scale);

    if (code) return lfuse__cu_blas_error(code, "cublasLtMatmulDescCreate");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !code; i++)
        code = lfuse__lt.MatmulDescSetAttribute(g->operation, rows[i].attribute, rows[i].value, rows[i].size);
    return code ? lfuse__cu_blas_error(code, "cublasLtMatmulDescSetAttribute") : LFUSE_OK;
}

/* A matrix of each product, `stride` elements apart. */
static lfuse_status set_batch(cublasLtMatrixLayout_t layout, int64_t batch, int64_t stride)
{
    const int32_t count = (int32_t)batch;
    cublasStatus_t code =
        lfuse__lt.MatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);

    if (!code)
        code = lfuse__lt.MatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                                  sizeof stride);
    return code ? lfuse__cu_blas_error(code, "cublasLtMatrixLayoutSetAttribute") : LFUSE_OK;
}

static lfuse_status describe_layouts(lfuse__bgemm *g, const lfuse__gemm_desc *d)
{
    const lfuse__gemm_input *c = &d->inputs[LFUSE__INPUT_ADDEND];
    const struct {
        cublasLtMatrixLayout_t *layout;
        cudaDataType_t type;
        int64_t rows, columns, ld, stride;
    } rows[] = {
        { &g->first, g->type->data, d->tb ? d->k : d->n, d->tb ? d->n : d->k, d->ldb, d->stride_b },
        { &g->second, g->type->data, d->ta ? d->m : d->k, d->ta ? d->k : d->m, d->lda, d->stride_a },
        { &g->result, g->type->result, d->n, d->m, d->ldc, d->stride_c },
        { &g->addend, g->type->result, d->n, d->m, c->ld, c->stride },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0] - !g->adds; i++) {
        cublasStatus_t code = lfuse__lt.MatrixLayoutCreate(rows[i].layout, rows[i].type, (uint64_t)rows[i].rows,
                                                           (uint64_t)rows[i].columns, rows[i].ld);
        if (code) return lfuse__cu_blas_error(code, "cublasLtMatrixLayoutCreate");
        if (d->batch) LFUSE__TRY(set_batch(*rows[i].layout, d->batch, rows[i].stride));
    }
    if (!g->adds) g->addend = g->result;
    return LFUSE_OK;
}

/* The strictest alignment that all rows keep when the first one has it. */
static unsigned row_alignment(const lfuse__gemm_desc *d, unsigned bytes)
{
    const uint64_t operands = (uint64_t)d->stride_a | (uint64_t)d->stride_b | (uint64_t)d->lda | (uint64_t)d->ldb;
    const lfuse__gemm_input *c = &d->inputs[LFUSE__INPUT_ADDEND];
    const uint64_t result = (uint64_t)d->stride_c | (uint64_t)d->ldc | (uint64_t)c->stride | (uint64_t)c->ld;
    const uint64_t all = operands * bytes | result * lfuse_type_size(lfuse__gemm_result(d)) | ALIGNED;

    return (unsigned)(all & -all);
}

/*
 * With alpha in device memory cuBLASLt's first algorithms for f64 with a bias or relu take twice as long as its product
 * and a kernel behind it: 1296 us instead of 643 on an H100, for 4096 x 4096 x 1024.
 */
static bool is_slow_scale(const lfuse__gemm_desc *d)
{
    return d->type == LFUSE_F64 && d->inputs[LFUSE__INPUT_SCALE].taken &&
           (d->inputs[LFUSE__INPUT_BIAS].taken || d->epilogue != LFUSE__EP_NONE);
}

static lfuse_status check(const lfuse__gemm_desc *d)
{
    if (find_type(d) == NULL)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "cuBLASLt: no product of %s", lfuse_type_name(d->type));
    for (int i = 0; i < LFUSE__EPILOGUE_INPUTS; i++)
        if (d->inputs[i].taken && !takes[i])
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "cuBLASLt: it does not take %s",
                                lfuse__epilogue_inputs[i].subject);
    if (d->inputs[LFUSE__INPUT_SCALE].taken && d->has_beta)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "cuBLASLt: alpha in device memory and beta on the host");
    if (d->inputs[LFUSE__INPUT_SCALE].taken && lfuse_type_size(lfuse__gemm_result(d)) < sizeof(float))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "cuBLASLt: alpha in device memory is no %s",
                            lfuse_type_name(lfuse__gemm_result(d)));
    if (lfuse_type_size(d->type) == 1 && d->inputs[LFUSE__INPUT_BIAS].taken) /* it reads bf16 there, not f32 */
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "cuBLASLt: %s with a bias of f32", lfuse_type_name(d->type));
    if (is_slow_scale(d))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "cuBLASLt: f64 with alpha in device memory and a bias or relu");
    if (d->batch > INT32_MAX)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "cuBLASLt: %lld products in one call", (long long)d->batch);
    return LFUSE_OK;
}

/* On failure everything is released. */
static lfuse_status describe(lfuse__bdevice *dev, const lfuse__gemm_desc *d, lfuse__bgemm *g)
{
    lfuse_status status;

    LFUSE__TRY(check(d));
    memset(g, 0, sizeof *g);
    g->dev = dev;
    g->type = find_type(d);
    g->bias = d->inputs[LFUSE__INPUT_BIAS].taken;
    g->adds = d->inputs[LFUSE__INPUT_ADDEND].taken;
    g->scale = d->inputs[LFUSE__INPUT_SCALE].taken;
    g->alignment = row_alignment(d, g->type->bytes);
    LFUSE__TRY(get_handle(dev, &g->handle));
    status = describe_operation(g, d);
    if (status == LFUSE_OK && g->scale) status = set_pointer_mode(g, CUBLASLT_POINTER_MODE_DEVICE);
    if (status == LFUSE_OK) status = describe_layouts(g, d);
    if (status) release(g);
    return status;
}

/* ---- candidates ---- */

static void fill_candidate(const cublasLtMatmulHeuristicResult_t *result, lfuse__gemm_candidate *c)
{
    static const cublasLtMatmulAlgoConfigAttributes_t attributes[] = {
        CUBLASLT_ALGO_CONFIG_ID, CUBLASLT_ALGO_CONFIG_TILE_ID, CUBLASLT_ALGO_CONFIG_STAGES_ID,
        CUBLASLT_ALGO_CONFIG_SPLITK_NUM, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING,
        CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION,
    };
    const cublasLtMatmulAlgo_t *a = &result->algo;
    unsigned v[sizeof attributes / sizeof attributes[0]];

    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) v[i] = lfuse__cu_gemm_attribute(a, attributes[i], 4);
    memset(c, 0, sizeof *c);
    c->workspace = result->workspaceSize;
    c->provider = "cublaslt";
    memcpy(c->opaque, a, sizeof *a);
    snprintf(c->identity, sizeof c->identity, "lt%u.t%u.s%u.k%u.r%u.z%u.o%u.i%u.c%u", v[0], v[1], v[2], v[3], v[4],
             v[5], v[6], lfuse__cu_gemm_attribute(a, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2),
             lfuse__cu_gemm_attribute(a, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2));
}

/* Different algorithms may look alike in all attributes: those after the first are numbered. */
static void number_repeats(lfuse__gemm_candidate *candidates, int count)
{
    for (int i = count - 1; i > 0; i--) {
        char *identity = candidates[i].identity;
        size_t length = strlen(identity);
        int before = 0;
        for (int j = 0; j < i; j++) before += !strcmp(candidates[j].identity, identity);
        if (before) snprintf(identity + length, sizeof candidates[i].identity - length, "#%d", before + 1);
    }
}

lfuse_status lfuse__cu_gemm_candidates(lfuse__bdevice *dev, const lfuse__gemm_desc *desc, int max,
                                       lfuse__gemm_candidate *candidates, int *count)
{
    cublasLtMatmulHeuristicResult_t results[LFUSE__CU_CANDIDATES];
    lfuse_status status;
    lfuse__bgemm g;
    int found = 0;

    LFUSE__TRY(describe(dev, desc, &g));
    memset(results, 0, sizeof results);
    status = lfuse__cu_gemm_ask(&g, g.alignment, WORKSPACE_LIMIT, max, results, &found);
    release(&g);
    if (status == LFUSE_ERR_UNSUPPORTED)
        return lfuse__error(status, "cuBLASLt has no algorithm for %lld x %lld x %lld of %s", (long long)desc->m,
                            (long long)desc->n, (long long)desc->k, lfuse_type_name(desc->type));
    if (status) return status;
    for (int i = 0; i < found; i++) fill_candidate(&results[i], &candidates[i]);
    number_repeats(candidates, found);
    *count = found;
    return LFUSE_OK;
}

/* ---- prepare and run ---- */

/* A second algorithm, within the same workspace, for runs with addresses that are less aligned. */
static void prepare_loose(lfuse__bgemm *g)
{
    cublasLtMatmulHeuristicResult_t results[LFUSE__CU_CANDIDATES];
    lfuse__saved_error before;
    int found = 0;

    if (g->alignment <= g->type->bytes) return;
    memset(results, 0, sizeof results);
    lfuse__error_save(&before);
    if (lfuse__cu_gemm_ask(g, g->type->bytes, g->workspace, 1, results, &found) == LFUSE_OK) {
        g->loose_algorithm = results[0].algo;
        g->loose_workspace = results[0].workspaceSize;
        g->loose = true;
    }
    lfuse__error_restore(&before);
}

/*
 * Where beta is 1 and D is C, cuBLASLt's kernels for Hopper add the product to C by a reduction in memory, for which
 * they round it to the type of C: one rounding too many for 16-bit types. They do so only when the host holds beta, so
 * such a product reads alpha and beta from device memory. Both are 1 there between two runs.
 *
 * A product that takes a scale reads it as alpha, and beta from here: it is 0, of f32 or f64.
 */
static lfuse_status create_scalars(lfuse__bgemm *g)
{
    const float value = g->scale ? 0 : 1;
    lfuse__bstream *s;
    lfuse_status status;
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    LFUSE__TRY(lfuse__cu_stream_create(g->dev, &s));
    status = lfuse__cu_alloc(g->dev, LFUSE__ALLOC_DEVICE, 2 * sizeof value, &g->scalars);
    if (status == LFUSE_OK) status = lfuse__cu_fill(s, g->scalars, 0, bits, sizeof bits, 2 * sizeof bits);
    if (status == LFUSE_OK) status = lfuse__cu_stream_sync(s);
    lfuse__cu_stream_destroy(s);
    return status;
}

lfuse_status lfuse__cu_gemm_prepare(lfuse__bdevice *dev, const lfuse__gemm_desc *desc,
                                    const lfuse__gemm_candidate *candidate, lfuse__bgemm **gemm)
{
    lfuse__bgemm *made = malloc(sizeof *made);
    lfuse_status status;

    if (made == NULL) return lfuse__cu_no_memory(sizeof *made);
    status = describe(dev, desc, made);
    if (status) goto err_free;
    if (made->scale || (desc->has_beta && lfuse__cu_gemm_is_narrow(made))) status = create_scalars(made);
    if (status) goto err_release;
    memcpy(&made->algorithm, candidate->opaque, sizeof made->algorithm);
    made->workspace = candidate->workspace;
    prepare_loose(made);
    *gemm = made;
    return LFUSE_OK;

err_release:
    release(made);
err_free:
    free(made);
    return status;
}

/* The library hides the driver's code: the stream is asked for it, unless that would end a capture. */
static lfuse_status run_error(lfuse__bstream *s, cublasStatus_t code)
{
    CUstreamCaptureStatus state;
    CUresult result;

    if (code == CUBLAS_STATUS_EXECUTION_FAILED || code == CUBLAS_STATUS_INTERNAL_ERROR) {
        result = lfuse__cu.StreamIsCapturing(s->stream, &state);
        if (result == CUDA_SUCCESS && state == CU_STREAM_CAPTURE_STATUS_NONE) result = lfuse__cu.StreamQuery(s->stream);
        if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
            return lfuse__cu_error(s->dev, result, "cublasLtMatmul: %s (%d)", lfuse__lt.GetStatusString(code),
                                   (int)code);
    }
    return lfuse__cu_blas_error(code, "cublasLtMatmul");
}

static CUdeviceptr address(const lfuse__bmem *mem, uint64_t offset)
{
    return mem ? mem->address + offset : 0;
}

/* Of what the epilogue takes; 0: it does not. */
static CUdeviceptr address_of_input(const lfuse__gemm_args *args, lfuse__epilogue_input i)
{
    return address(args->inputs[i], args->input_offsets[i]);
}

static CUdeviceptr address_of_addend(const lfuse__bgemm *gemm, const lfuse__gemm_args *args)
{
    return gemm->adds ? address_of_input(args, LFUSE__INPUT_ADDEND) : address(args->c, args->c_offset);
}

static lfuse_status misaligned(const lfuse__bgemm *g)
{
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "cuBLASLt has no algorithm within %llu bytes of workspace for operands "
                        "that do not start at a multiple of %u bytes", (unsigned long long)g->workspace, g->alignment);
}

/* One run; alpha and beta lie where the operation expects them. */
static lfuse_status multiply(lfuse__bstream *s, lfuse__bgemm *gemm, const lfuse__gemm_args *args, const void *alpha,
                             const void *beta)
{
    CUdeviceptr a = address(args->a, args->a_offset), b = address(args->b, args->b_offset);
    CUdeviceptr c = address(args->c, args->c_offset), addend = address_of_addend(gemm, args);
    CUdeviceptr bias = gemm->bias ? address_of_input(args, LFUSE__INPUT_BIAS) : 0;
    CUdeviceptr workspace = address(args->workspace, args->workspace_offset);
    const cublasLtMatmulAlgo_t *algorithm = &gemm->algorithm;
    uint64_t workspace_bytes = gemm->workspace;
    cublasStatus_t code = CUBLAS_STATUS_SUCCESS;
    lfuse_status status = LFUSE_OK;
    bool pushed;

    if (__builtin_expect(((a | b | c | addend | bias) & (gemm->alignment - 1)) != 0, 0)) {
        if (!gemm->loose) return misaligned(gemm);
        algorithm = &gemm->loose_algorithm;
        workspace_bytes = gemm->loose_workspace;
    }
    LFUSE__TRY(lfuse__cu_enter(s->dev, &pushed));
    if (bias != gemm->bias_set && gemm->bias) code = lfuse__cu_gemm_set_bias(gemm, bias);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = lfuse__lt.Matmul(gemm->handle, gemm->operation, alpha, (const void *)(uintptr_t)b, gemm->first,
                                (const void *)(uintptr_t)a, gemm->second, beta, (const void *)(uintptr_t)addend,
                                gemm->addend, (void *)(uintptr_t)c, gemm->result, algorithm,
                                (void *)(uintptr_t)workspace, workspace_bytes, s->stream);
    if (__builtin_expect(code != CUBLAS_STATUS_SUCCESS, 0)) status = run_error(s, code);
    lfuse__cu_leave(pushed);
    return status;
}

static lfuse_status write_alpha(lfuse__bstream *s, lfuse__bgemm *gemm, float alpha)
{
    uint32_t bits;

    memcpy(&bits, &alpha, sizeof bits);
    return lfuse__cu_fill(s, gemm->scalars, 0, bits, sizeof bits, sizeof bits);
}

/* Runs with beta = 1 and the scalars in device memory; an alpha other than 1 is there for this run alone. */
static lfuse_status multiply_in_place(lfuse__bstream *s, lfuse__bgemm *gemm, const lfuse__gemm_args *args)
{
    const CUdeviceptr scalars = gemm->scalars->address;
    const float alpha = (float)args->alpha;
    lfuse_status status, restored;

    if (alpha != 1) LFUSE__TRY(write_alpha(s, gemm, alpha));
    status = set_pointer_mode(gemm, CUBLASLT_POINTER_MODE_DEVICE);
    if (status == LFUSE_OK) {
        status = multiply(s, gemm, args, (const void *)(uintptr_t)scalars,
                          (const void *)(uintptr_t)(scalars + sizeof alpha));
        restored = set_pointer_mode(gemm, CUBLASLT_POINTER_MODE_HOST);
        if (status == LFUSE_OK) status = restored;
    }
    restored = alpha != 1 ? write_alpha(s, gemm, 1) : LFUSE_OK;
    return status ? status : restored;
}

lfuse_status lfuse__cu_gemm_run(lfuse__bstream *s, lfuse__bgemm *gemm, const lfuse__gemm_args *args)
{
    const float alpha = (float)args->alpha, beta = (float)args->beta;

    if (gemm->scale)
        return multiply(s, gemm, args, (const void *)(uintptr_t)address_of_input(args, LFUSE__INPUT_SCALE),
                        (const void *)(uintptr_t)gemm->scalars->address);
    if (gemm->type->scale == CUDA_R_64F) return multiply(s, gemm, args, &args->alpha, &args->beta);
    if (gemm->scalars && beta == 1 && address_of_addend(gemm, args) == address(args->c, args->c_offset))
        return multiply_in_place(s, gemm, args);
    return multiply(s, gemm, args, &alpha, &beta);
}

void lfuse__cu_gemm_destroy(lfuse__bgemm *gemm)
{
    if (gemm == NULL) return;
    release(gemm);
    free(gemm);
}
