/* SPDX-License-Identifier: Apache-2.0 */
/* A product as cuBLASLt knows it: what gemm.c makes and runs and gemm_heuristic.c asks about. */
#ifndef BACKENDS_CUDA_GEMM_H
#define BACKENDS_CUDA_GEMM_H

#include "backends/cuda/internal.h"

enum { LFUSE__CU_CANDIDATES = 32 }; /* the most algorithms that are listed for a product */

typedef struct lfuse__cu_gemm_type {
    lfuse_type type;
    bool wide, tf32; /* as in lfuse__gemm_desc */
    cudaDataType_t data, result, scale;
    cublasComputeType_t compute; /* named one by one: f32 is never TF32 */
    uint32_t reductions;         /* of split products: in a fixed order, and never rounded to a narrow type between */
    unsigned bytes;              /* of an element of A or B */
} lfuse__cu_gemm_type;

struct lfuse__bgemm {
    lfuse__bdevice *dev;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t first, second, result; /* our B, A, D */
    cublasLtMatrixLayout_t addend;                /* our C where it lies apart, else `result` */
    const lfuse__cu_gemm_type *type;
    bool bias, adds, scale;  /* the inputs of the epilogue that it takes: a bias, an addend apart from D, alpha */
    bool loose;              /* there is an algorithm for addresses that are not aligned to `alignment` */
    unsigned alignment;      /* of the addresses that `algorithm` takes */
    uint64_t workspace, loose_workspace;
    CUdeviceptr bias_set;    /* what the operation holds at present */
    lfuse__bmem *scalars;    /* of create_scalars: alpha and beta as two f32, with a scale beta alone; NULL: none */
    cublasLtMatmulAlgo_t algorithm, loose_algorithm;
};

/* The result has 16 bits, so that C or a bias may not be added to a product that was rounded to its type. */
static inline bool lfuse__cu_gemm_is_narrow(const lfuse__bgemm *g)
{
    return g->type->result == CUDA_R_16F || g->type->result == CUDA_R_16BF;
}

cublasStatus_t lfuse__cu_gemm_set_bias(lfuse__bgemm *g, CUdeviceptr bias);
lfuse_status lfuse__cu_blas_error(cublasStatus_t code, const char *call);

/* An attribute of 4 or 2 bytes (`size`) of an algorithm; 0 where this version of the library lacks it. */
unsigned lfuse__cu_gemm_attribute(const cublasLtMatmulAlgo_t *algorithm, cublasLtMatmulAlgoConfigAttributes_t which,
                                  size_t size);
/*
 * Asks the heuristic for algorithms that take addresses of `alignment` bytes and need at most `workspace` bytes. Fills
 * `results`, which has room for LFUSE__CU_CANDIDATES, with up to `max` of those that may be used, the favourite first.
 * *count is at least 1; ERR_UNSUPPORTED where there is none.
 */
lfuse_status lfuse__cu_gemm_ask(lfuse__bgemm *g, uint32_t alignment, uint64_t workspace, int max,
                                cublasLtMatmulHeuristicResult_t *results, int *count);

#endif
