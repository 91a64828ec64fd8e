/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuBLASLt over host memory, f32, f64, f16 with results of f16 or f32, and tf32: columns first, as the real one counts,
 * every product done in double. It lists these algorithms, which check what they were promised:
 *
 * - 7 wants its operands, all of their rows and the bias aligned to 16 bytes;
 * - 8 takes any; with FAKECUDA_GREEDY in the environment it asks for workspace too;
 * - 9, for results of f16 alone, splits k and has no cluster shape.
 *
 * Results of f16 have the roundings of the real library: 9 rounds before it adds a bias, and all round before they add
 * C where D is C, the host says that beta is 1 and there is no relu.
 */
#include <cublasLt.h>
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/half.h"
#include "tests/fake-cuda/fakecuda.h"

#define EXPORT __attribute__((visibility("default")))
#define WORKSPACE 512

typedef struct operation {
    cublasComputeType_t compute;
    cudaDataType_t scale;
    cublasOperation_t a, b;
    cublasLtEpilogue_t epilogue;
    uint32_t pointers; /* cublasLtPointerMode_t */
    const void *bias;
} operation;

typedef struct layout {
    cudaDataType_t type;
    uint64_t rows, columns;
    int64_t ld;
    int32_t batch;
    int64_t stride;
} layout;

typedef struct preference {
    uint64_t workspace;
    uint32_t reductions, alignment[4];
} preference;

/* The library's handles point to nothing but these. */
#define OPERATION(d) ((operation *)(void *)(d))
#define LAYOUT(d) ((layout *)(void *)(d))
#define PREFERENCE(d) ((preference *)(void *)(d))

EXPORT size_t cublasLtGetVersion(void)
{
    return 130000;
}

EXPORT const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_NOT_SUPPORTED ? "FAKE_NOT_SUPPORTED" : "FAKE_STATUS";
}

EXPORT cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    *handle = calloc(1, 8);
    return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

EXPORT cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t compute,
                                               cudaDataType_t scale)
{
    operation *o = calloc(1, sizeof *o);
    if (!o) return CUBLAS_STATUS_ALLOC_FAILED;
    o->compute = compute;
    o->scale = scale;
    o->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    *d = (void *)o;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d)
{
    free((void *)d);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set(void *to, size_t bytes, const void *from, size_t size)
{
    if (bytes != size) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, from, size);
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t attribute,
                                                     const void *value, size_t size)
{
    operation *o = OPERATION(d);
    switch ((int)attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return set(&o->a, sizeof o->a, value, size);
    case CUBLASLT_MATMUL_DESC_TRANSB: return set(&o->b, sizeof o->b, value, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return set(&o->epilogue, sizeof o->epilogue, value, size);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: return set(&o->pointers, sizeof o->pointers, value, size);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return set(&o->bias, sizeof o->bias, value, size);
    default: return CUBLAS_STATUS_INVALID_VALUE;
    }
}

EXPORT cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *d, cudaDataType_t type, uint64_t rows,
                                                 uint64_t columns, int64_t ld)
{
    layout *l = calloc(1, sizeof *l);
    if (!l) return CUBLAS_STATUS_ALLOC_FAILED;
    *l = (layout){ type, rows, columns, ld, 1, 0 };
    *d = (void *)l;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t d,
                                                       cublasLtMatrixLayoutAttribute_t attribute, const void *value,
                                                       size_t size)
{
    layout *l = LAYOUT(d);
    switch ((int)attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return set(&l->batch, sizeof l->batch, value, size);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return set(&l->stride, sizeof l->stride, value, size);
    default: return CUBLAS_STATUS_INVALID_VALUE;
    }
}

EXPORT cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t d)
{
    free((void *)d);
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *d)
{
    preference *p = calloc(1, sizeof *p);
    if (!p) return CUBLAS_STATUS_ALLOC_FAILED;
    *d = (void *)p;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t d)
{
    free((void *)d);
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t d,
                                                           cublasLtMatmulPreferenceAttributes_t attribute,
                                                           const void *value, size_t size)
{
    preference *p = PREFERENCE(d);
    switch ((int)attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return set(&p->workspace, 8, value, size);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return set(&p->reductions, 4, value, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return set(&p->alignment[0], 4, value, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return set(&p->alignment[1], 4, value, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return set(&p->alignment[2], 4, value, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return set(&p->alignment[3], 4, value, size);
    default: return CUBLAS_STATUS_INVALID_VALUE;
    }
}

static uint64_t op_rows(const layout *l, cublasOperation_t op)
{
    return op == CUBLAS_OP_N ? l->rows : l->columns;
}

static uint64_t op_columns(const layout *l, cublasOperation_t op)
{
    return op == CUBLAS_OP_N ? l->columns : l->rows;
}

static cublasStatus_t check(const operation *o, const layout *a, const layout *b, const layout *c, const layout *d)
{
    const int f64 = a->type == CUDA_R_64F;
    const cudaDataType_t scale = d->type == CUDA_R_16F ? CUDA_R_32F : d->type;
    if (d->type == CUDA_R_16F && a->type != CUDA_R_16F) return CUBLAS_STATUS_INVALID_VALUE;
    if (o->scale != scale || a->type != b->type || c->type != d->type || f64 != (d->type == CUDA_R_64F) ||
        (uint64_t)a->ld < a->rows || (uint64_t)b->ld < b->rows || (uint64_t)d->ld < d->rows)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (op_columns(a, o->a) != op_rows(b, o->b) || op_rows(a, o->a) != d->rows || op_columns(b, o->b) != d->columns)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (c->rows != d->rows || c->columns != d->columns) return CUBLAS_STATUS_INVALID_VALUE;
    if (d->batch < 1 || a->batch != d->batch || b->batch != d->batch || c->batch != d->batch ||
        (uint64_t)c->ld < c->rows)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (o->compute == CUBLAS_COMPUTE_32F_FAST_TF32) return a->type == CUDA_R_32F ? CUBLAS_STATUS_SUCCESS
                                                                               : CUBLAS_STATUS_INVALID_VALUE;
    if (o->compute != (f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F)) return CUBLAS_STATUS_INVALID_VALUE;
    return f64 || a->type == CUDA_R_32F || a->type == CUDA_R_16F ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

static uint64_t bytes_of(cudaDataType_t type)
{
    return type == CUDA_R_64F ? 8 : type == CUDA_R_16F ? 2 : 4;
}

/* One more algorithm, unless it needs more workspace than there may be, or enough are listed. */
static int answer(cublasLtMatmulHeuristicResult_t *results, int n, int max, const preference *wish, uint64_t id)
{
    const size_t workspace = id == 7 || getenv("FAKECUDA_GREEDY") ? WORKSPACE : 0;
    cublasLtMatmulHeuristicResult_t *r = &results[n];
    if (n == max || workspace > wish->workspace) return n;
    memset(r, 0, sizeof *r);
    r->algo.data[0] = id;
    r->workspaceSize = workspace;
    r->state = CUBLAS_STATUS_SUCCESS;
    return n + 1;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation_d,
                                                     cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                     cublasLtMatmulPreference_t p, int max,
                                                     cublasLtMatmulHeuristicResult_t results[], int *count)
{
    const preference *wish = PREFERENCE(p);
    const operation *o = OPERATION(operation_d);
    int n = 0, aligned = 1;
    cublasStatus_t status = check(o, LAYOUT(a), LAYOUT(b), LAYOUT(c), LAYOUT(d));
    if (status) return status;
    if (!handle || !(wish->reductions & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)
        || (wish->reductions & CUBLASLT_REDUCTION_SCHEME_INPLACE))
        return CUBLAS_STATUS_INVALID_VALUE;
    if ((o->epilogue & CUBLASLT_EPILOGUE_BIAS) && !o->bias) return CUBLAS_STATUS_NOT_SUPPORTED;
    /* Nothing takes results, or a bias, that are not aligned to their elements. */
    const cudaDataType_t result = LAYOUT(d)->type;
    const uint64_t least = bytes_of(result), at = (uint64_t)(uintptr_t)o->bias;
    if (wish->alignment[2] % least || wish->alignment[3] % least) return CUBLAS_STATUS_NOT_SUPPORTED;
    if ((o->epilogue & CUBLASLT_EPILOGUE_BIAS) && at % least) return CUBLAS_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < 4; i++) aligned &= wish->alignment[i] % 16 == 0;
    if (result == CUDA_R_16F) n = answer(results, n, max, wish, 9);
    if (aligned) n = answer(results, n, max, wish, 7);
    n = answer(results, n, max, wish, 8);
    n = answer(results, n, max, wish, 8);
    *count = n;
    return n ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algorithm,
                                                           cublasLtMatmulAlgoConfigAttributes_t attribute, void *value,
                                                           size_t size, size_t *written)
{
    const uint32_t id = (uint32_t)algorithm->data[0], parts = 4;
    if (size != 4) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (attribute == CUBLASLT_ALGO_CONFIG_ID) memcpy(value, &id, 4);
    else if (attribute == CUBLASLT_ALGO_CONFIG_SPLITK_NUM && id == 9) memcpy(value, &parts, 4);
    else return CUBLAS_STATUS_NOT_SUPPORTED;
    *written = 4;
    return CUBLAS_STATUS_SUCCESS;
}

static double get(const void *base, cudaDataType_t type, uint64_t i)
{
    if (type == CUDA_R_16F) return lfuse__f16_to_float(((const uint16_t *)base)[i]);
    return type == CUDA_R_64F ? ((const double *)base)[i] : (double)((const float *)base)[i];
}

/* As the units multiply it: of tf32 the last 13 bits are cut off. */
static double multiplied(const operation *o, double x)
{
    float f = (float)x;
    uint32_t bits;
    if (o->compute != CUBLAS_COMPUTE_32F_FAST_TF32) return x;
    memcpy(&bits, &f, sizeof bits);
    bits &= ~UINT32_C(0x1FFF);
    memcpy(&f, &bits, sizeof f);
    return f;
}

/*
 * Lines of an operand's matrix as they are multiplied, `length` numbers each: of `a` (op as given) its rows, of `b` (op
 * turned round) its columns. Each number is converted once here, because each is multiplied many times.
 */
static double *lines_of(const operation *o, const void *base, const layout *l, cublasOperation_t op, int32_t matrix,
                        uint64_t lines, uint64_t length)
{
    const uint64_t first = (uint64_t)(matrix * l->stride), ld = (uint64_t)l->ld;
    const uint64_t line_step = op == CUBLAS_OP_N ? 1 : ld, step = op == CUBLAS_OP_N ? ld : 1;
    double *numbers = malloc((lines * length + 1) * sizeof *numbers), *to = numbers;
    for (uint64_t i = 0; numbers && i < lines; i++)
        for (uint64_t k = 0; k < length; k++)
            *to++ = multiplied(o, get(base, l->type, first + i * line_step + k * step));
    return numbers;
}

static double dot(const double *x, const double *y, uint64_t length)
{
    double sum = 0;
    for (const double *end = x + length; x < end;) sum += *x++ * *y++;
    return sum;
}

static double finish(const operation *o, cudaDataType_t type, uint64_t row, double v)
{
    if (o->epilogue & CUBLASLT_EPILOGUE_BIAS) v += get(o->bias, type, row);
    if (o->epilogue & CUBLASLT_EPILOGUE_RELU) v = v > 0 ? v : 0;
    return v;
}

/* A function of the fake driver; NULL: that is not loaded. */
static void *of_driver(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *symbol = driver ? dlsym(driver, name) : NULL;
    if (driver) dlclose(driver);
    return symbol;
}

/* The fake driver keeps the time. */
static void spend(void *stream)
{
    void *symbol = of_driver("fakecuda_spend");
    fakecuda_spend_function *function;
    memcpy(&function, &symbol, sizeof symbol);
    if (symbol) function(stream, 0);
}

/* Whether alpha and beta lie where the operation's pointer mode says. */
static bool lie_right(const operation *o, const void *alpha, const void *beta)
{
    const bool on_device = o->pointers == CUBLASLT_POINTER_MODE_DEVICE;
    void *symbol = of_driver("fakecuda_is_allocated");
    fakecuda_is_allocated_function *function;
    memcpy(&function, &symbol, sizeof symbol);
    return !symbol || (!function(alpha) != on_device && !function(beta) != on_device);
}

/* Matrices number `matrix` of the operands and the result. */
typedef struct product {
    const operation *o;
    uint64_t algorithm;
    const void *alpha, *a, *b, *beta, *c;
    void *d;
    const layout *la, *lb, *lc, *ld;
    int32_t matrix;
} product;

/* A product that is rounded to f16 before something is added to it. */
static bool rounds_early(const product *p, double beta)
{
    if (p->ld->type != CUDA_R_16F) return false;
    if (p->o->epilogue & CUBLASLT_EPILOGUE_BIAS && p->algorithm == 9) return true;
    return p->c == p->d && beta == 1 && p->o->pointers == CUBLASLT_POINTER_MODE_HOST &&
           !(p->o->epilogue & CUBLASLT_EPILOGUE_RELU);
}

static double rounded_to_f16(double x)
{
    return lfuse__f16_to_float(lfuse__double_to_f16(x));
}

static void put(void *base, cudaDataType_t type, uint64_t i, double value)
{
    if (type == CUDA_R_64F) ((double *)base)[i] = value;
    else if (type == CUDA_R_16F) ((uint16_t *)base)[i] = lfuse__double_to_f16(value);
    else ((float *)base)[i] = (float)value;
}

static void multiply_lines(const product *p, const double *rows, const double *columns, uint64_t length)
{
    const operation *o = p->o;
    const double factor = get(p->alpha, o->scale, 0), by = get(p->beta, o->scale, 0);
    for (uint64_t i = 0; i < p->ld->columns * p->ld->rows; i++) {
        const uint64_t row = i % p->ld->rows, column = i / p->ld->rows;
        const uint64_t at = (uint64_t)(p->matrix * p->ld->stride) + column * (uint64_t)p->ld->ld + row;
        const uint64_t from = (uint64_t)(p->matrix * p->lc->stride) + column * (uint64_t)p->lc->ld + row;
        double sum = factor * dot(rows + row * length, columns + column * length, length);
        if (rounds_early(p, by)) sum = rounded_to_f16(sum);
        if (by != 0) sum += by * get(p->c, p->ld->type, from);
        put(p->d, p->ld->type, at, finish(o, p->ld->type, row, sum));
    }
}

static cublasStatus_t multiply(const product *p)
{
    const uint64_t length = op_columns(p->la, p->o->a);
    const cublasOperation_t turned = p->o->b == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N;
    if (p->ld->rows == 0 || p->ld->columns == 0) return CUBLAS_STATUS_SUCCESS;
    double *rows = lines_of(p->o, p->a, p->la, p->o->a, p->matrix, p->ld->rows, length);
    double *columns = lines_of(p->o, p->b, p->lb, turned, p->matrix, p->ld->columns, length);
    const bool held = rows && columns;
    if (held) multiply_lines(p, rows, columns, length);
    free(rows);
    free(columns);
    return held ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

/* The lowest bit set is the alignment that all rows of all matrices have. */
static uint64_t starts(const void *base, const layout *l)
{
    return (uint64_t)(uintptr_t)base | ((uint64_t)l->ld | (uint64_t)l->stride) * bytes_of(l->type);
}

EXPORT cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation_d, const void *alpha,
                                     const void *a, cublasLtMatrixLayout_t a_d, const void *b,
                                     cublasLtMatrixLayout_t b_d, const void *beta, const void *c,
                                     cublasLtMatrixLayout_t c_d, void *d, cublasLtMatrixLayout_t d_d,
                                     const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t workspace_bytes,
                                     cudaStream_t stream)
{
    const operation *o = OPERATION(operation_d);
    const layout *la = LAYOUT(a_d), *lb = LAYOUT(b_d), *lc = LAYOUT(c_d), *ld = LAYOUT(d_d);
    cublasStatus_t status = check(o, la, lb, lc, ld);
    uint64_t addresses = starts(a, la) | starts(b, lb) | starts(c, lc) | starts(d, ld);
    (void)handle;
    if (o->epilogue & CUBLASLT_EPILOGUE_BIAS) addresses |= (uint64_t)(uintptr_t)o->bias;
    if (status) return status;
    if (!lie_right(o, alpha, beta)) return CUBLAS_STATUS_INVALID_VALUE;
    if (c == d && (lc->ld != ld->ld || lc->stride != ld->stride)) return CUBLAS_STATUS_INVALID_VALUE;
    spend(stream);
    if (algorithm->data[0] == 7 && (addresses % 16 || workspace_bytes < WORKSPACE || !workspace))
        return CUBLAS_STATUS_INVALID_VALUE;
    product p = {o, algorithm->data[0], alpha, a, b, beta, c, d, la, lb, lc, ld, 0};
    for (; status == CUBLAS_STATUS_SUCCESS && p.matrix < ld->batch; p.matrix++) status = multiply(&p);
    return status;
}
