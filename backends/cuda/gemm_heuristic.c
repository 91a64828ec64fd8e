/* SPDX-License-Identifier: Apache-2.0 */
/* Which algorithms cuBLASLt's heuristic has for a product, and which of them may be used. */
#include "backends/cuda/gemm.h"

/* What is stored is aligned to its own elements at least, which may be larger than those of the operands. */
static uint32_t alignment_of_result(const lfuse__cu_gemm_type *type, uint32_t alignment)
{
    const uint32_t least = type->result == CUDA_R_32F ? sizeof(float) : type->bytes;

    return alignment > least ? alignment : least;
}

static lfuse_status set_preference(cublasLtMatmulPreference_t preference, const lfuse__cu_gemm_type *type,
                                   uint32_t alignment, uint64_t workspace)
{
    const uint32_t of_result = alignment_of_result(type, alignment);
    const struct {
        cublasLtMatmulPreferenceAttributes_t attribute;
        const void *value;
        size_t size;
    } rows[] = {
        { CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace },
        { CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &type->reductions, sizeof type->reductions },
        { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &alignment, sizeof alignment },
        { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &alignment, sizeof alignment },
        { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &of_result, sizeof of_result },
        { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &of_result, sizeof of_result },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cublasStatus_t code =
            lfuse__lt.MatmulPreferenceSetAttribute(preference, rows[i].attribute, rows[i].value, rows[i].size);
        if (code) return lfuse__cu_blas_error(code, "cublasLtMatmulPreferenceSetAttribute");
    }
    return LFUSE_OK;
}

unsigned lfuse__cu_gemm_attribute(const cublasLtMatmulAlgo_t *algorithm, cublasLtMatmulAlgoConfigAttributes_t which,
                                  size_t size)
{
    uint32_t wide = 0;
    uint16_t narrow = 0;
    size_t written = 0;
    void *value = size == sizeof narrow ? (void *)&narrow : (void *)&wide;

    if (lfuse__lt.MatmulAlgoConfigGetAttribute(algorithm, which, value, size, &written) != CUBLAS_STATUS_SUCCESS)
        return 0;
    return size == sizeof narrow ? narrow : wide;
}

/*
 * Kernels from before Hopper, which have no cluster shape, add up the parts of a split-K product in f32 but round the
 * sum to the type of the result before they add a bias of 16 bits (seen with cuBLAS 13.1 on sm_90).
 */
static bool rounds_before_bias(const cublasLtMatmulAlgo_t *algorithm)
{
    return lfuse__cu_gemm_attribute(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4) > 1 &&
           lfuse__cu_gemm_attribute(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2) == 0;
}

/* Moves the algorithms that may be used to the front and returns their number. */
static int keep_usable(bool narrow_bias, cublasLtMatmulHeuristicResult_t *results, int count)
{
    int kept = 0;

    for (int i = 0; i < count; i++)
        if (results[i].state == CUBLAS_STATUS_SUCCESS && !(narrow_bias && rounds_before_bias(&results[i].algo)))
            results[kept++] = results[i];
    return kept;
}

/* Some versions of the heuristic find nothing while the bias pointer is NULL: it is given one that nothing reads. */
lfuse_status lfuse__cu_gemm_ask(lfuse__bgemm *g, uint32_t alignment, uint64_t workspace, int max,
                                cublasLtMatmulHeuristicResult_t *results, int *count)
{
    const bool narrow_bias = g->bias && lfuse__cu_gemm_is_narrow(g);
    const int wanted = max < LFUSE__CU_CANDIDATES ? max : LFUSE__CU_CANDIDATES;
    const int asked = narrow_bias ? LFUSE__CU_CANDIDATES : wanted; /* some of them are left out below */
    cublasLtMatmulPreference_t preference;
    cublasStatus_t code;
    lfuse_status status;
    bool pushed;
    int listed = 0, usable;

    code = lfuse__lt.MatmulPreferenceCreate(&preference);
    if (code) return lfuse__cu_blas_error(code, "cublasLtMatmulPreferenceCreate");
    status = set_preference(preference, g->type, alignment, workspace);
    if (status == LFUSE_OK && g->bias) {
        code = lfuse__cu_gemm_set_bias(g, alignment_of_result(g->type, alignment));
        if (code) status = lfuse__cu_blas_error(code, "cublasLtMatmulDescSetAttribute of the bias");
    }
    if (status == LFUSE_OK) status = lfuse__cu_enter(g->dev, &pushed);
    if (status == LFUSE_OK) {
        code = lfuse__lt.MatmulAlgoGetHeuristic(g->handle, g->operation, g->first, g->second, g->addend, g->result,
                                                preference, asked, results, &listed);
        lfuse__cu_leave(pushed);
        if (code == CUBLAS_STATUS_INVALID_VALUE) code = CUBLAS_STATUS_NOT_SUPPORTED; /* as it says of some types */
        if (code) status = lfuse__cu_blas_error(code, "cublasLtMatmulAlgoGetHeuristic");
    }
    lfuse__lt.MatmulPreferenceDestroy(preference);
    if (status) return status;
    usable = keep_usable(narrow_bias, results, listed);
    if (usable == 0) return lfuse__cu_blas_error(CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmulAlgoGetHeuristic");
    *count = usable < wanted ? usable : wanted;
    return LFUSE_OK;
}
