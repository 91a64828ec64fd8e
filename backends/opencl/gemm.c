/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products by CLBlast: f32 and f64, without epilogues. Halves are declined: CLBlast adds them up in half
 * precision, and the contract asks for f32.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/internal.h"

lfuse__clblast_functions lfuse__clblast;

static lfuse_status bind(lfuse__library *library)
{
#define LFUSE__CLBLAST(name)                                                                                           \
    *(void **)&lfuse__clblast.name = lfuse__library_symbol(library, "CLBlast" #name);                                  \
    if (lfuse__clblast.name == NULL) return lfuse__cl_library_lacks(library, "CLBlast" #name);
#define LFUSE__CLBLAST_OPTIONAL(name)                                                                                  \
    *(void **)&lfuse__clblast.name = lfuse__library_symbol(library, "CLBlast" #name);
#include "backends/opencl/functions.def"
    return LFUSE_OK;
}

static const char *const names[] = { "libclblast.so.1", NULL };
lfuse__cl_library lfuse__clblast_library = { "CLBlast", names, bind, NULL, false, "" };

struct lfuse__bgemm {
    lfuse__bdevice *dev;
    lfuse__gemm_desc desc;
};

/*
 * Before 1.6.1 storing a compiled routine races with other users of CLBlast's one cache. A routine is stored at the
 * first use of a precision in a context: that use runs alone.
 */
static pthread_rwlock_t cache_lock = PTHREAD_RWLOCK_INITIALIZER;

/* CLBlast's own codes; the others are OpenCL's. */
static const struct {
    CLBlastStatusCode code;
    lfuse_status status;
    const char *text;
} rows[] = {
    { CLBlastNotImplemented, LFUSE_ERR_UNSUPPORTED, "not implemented" },
    { CLBlastInvalidMatrixA, LFUSE_ERR_DEVICE, "A is no valid buffer" },
    { CLBlastInvalidMatrixB, LFUSE_ERR_DEVICE, "B is no valid buffer" },
    { CLBlastInvalidMatrixC, LFUSE_ERR_DEVICE, "C is no valid buffer" },
    { CLBlastInvalidDimension, LFUSE_ERR_SHAPE, "m, n and k must be larger than zero" },
    { CLBlastInvalidLeadDimA, LFUSE_ERR_SHAPE, "the leading dimension of A is too small" },
    { CLBlastInvalidLeadDimB, LFUSE_ERR_SHAPE, "the leading dimension of B is too small" },
    { CLBlastInvalidLeadDimC, LFUSE_ERR_SHAPE, "the leading dimension of C is too small" },
    { CLBlastInsufficientMemoryA, LFUSE_ERR_SHAPE, "the buffer of A is too small" },
    { CLBlastInsufficientMemoryB, LFUSE_ERR_SHAPE, "the buffer of B is too small" },
    { CLBlastInsufficientMemoryC, LFUSE_ERR_SHAPE, "the buffer of C is too small" },
    { CLBlastInsufficientMemoryTemp, LFUSE_ERR_DEVICE_MEMORY, "the temporary buffer is too small" },
    { CLBlastInvalidLocalMemUsage, LFUSE_ERR_UNSUPPORTED, "its kernel needs more local memory than there is" },
    { CLBlastNoHalfPrecision, LFUSE_ERR_UNSUPPORTED, "the device has no half precision" },
    { CLBlastNoDoublePrecision, LFUSE_ERR_UNSUPPORTED, "the device has no double precision" },
    { CLBlastInvalidVectorScalar, LFUSE_ERR_DEVICE, "a scalar is no valid buffer" },
    { CLBlastInsufficientMemoryScalar, LFUSE_ERR_DEVICE, "a scalar's buffer is too small" },
    { CLBlastDatabaseError, LFUSE_ERR_UNSUPPORTED, "its database has no entry for the device" },
    { CLBlastUnknownError, LFUSE_ERR_DEVICE, "unknown error" },
    { CLBlastUnexpectedError, LFUSE_ERR_DEVICE, "unexpected error" },
};

static lfuse_status blas_error(lfuse__bdevice *dev, cl_command_queue queue, CLBlastStatusCode code)
{
    const char *name = dev->device.facts.info.name;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].code == code)
            return lfuse__error(rows[i].status, "%s: CLBlast: %s (%d)", name, rows[i].text, (int)code);
    return lfuse__cl_queue_error(dev, queue, (cl_int)code, "%s: CLBlast", name);
}

static lfuse_status check(lfuse__bdevice *dev, const lfuse__gemm_desc *desc)
{
    const char *name = dev->device.facts.info.name;

    LFUSE__TRY(lfuse__clblast_load());
    if (desc->type == LFUSE_F16)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: CLBlast adds f16 products up in f16", name);
    if (desc->type != LFUSE_F32 && desc->type != LFUSE_F64)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: CLBlast has no %s products", name, lfuse_type_name(desc->type));
    if (desc->tf32) return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: CLBlast has no tf32 products", name);
    if (desc->type == LFUSE_F64 && !dev->device.facts.info.f64)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s has no double precision", name);
    if (desc->batch && !(desc->type == LFUSE_F64 ? (void *)lfuse__clblast.DgemmStridedBatched
                                                 : (void *)lfuse__clblast.SgemmStridedBatched))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: this CLBlast has no batches of products", name);
    if (desc->epilogue != LFUSE__EP_NONE)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: CLBlast has no epilogues", name);
    return LFUSE_OK;
}

lfuse_status lfuse__cl_gemm_candidates(lfuse__bdevice *dev, const lfuse__gemm_desc *desc, int max,
                                       lfuse__gemm_candidate *candidates, int *count)
{
    LFUSE__TRY(check(dev, desc));
    if (max > 0) candidates[0] = (lfuse__gemm_candidate){ .provider = "clblast", .identity = "clblast" };
    *count = max > 0 ? 1 : 0;
    return LFUSE_OK;
}

/* Offsets in elements. */
typedef struct product {
    const lfuse__gemm_desc *desc;
    double alpha, beta;
    cl_mem a, b, c;
    size_t a_offset, b_offset, c_offset;
} product;

static CLBlastStatusCode call_batch(const product *p, cl_command_queue queue)
{
    const lfuse__gemm_desc *d = p->desc;
    CLBlastTranspose ta = d->ta ? CLBlastTransposeYes : CLBlastTransposeNo;
    CLBlastTranspose tb = d->tb ? CLBlastTransposeYes : CLBlastTransposeNo;
    size_t m = (size_t)d->m, n = (size_t)d->n, k = (size_t)d->k, batch = (size_t)d->batch;
    size_t lda = (size_t)d->lda, ldb = (size_t)d->ldb, ldc = (size_t)d->ldc;
    size_t a = (size_t)d->stride_a, b = (size_t)d->stride_b, c = (size_t)d->stride_c;

    if (d->type == LFUSE_F64)
        return lfuse__clblast.DgemmStridedBatched(CLBlastLayoutRowMajor, ta, tb, m, n, k, p->alpha, p->a, p->a_offset,
                                                  lda, a, p->b, p->b_offset, ldb, b, p->beta, p->c, p->c_offset, ldc, c,
                                                  batch, &queue, NULL);
    return lfuse__clblast.SgemmStridedBatched(CLBlastLayoutRowMajor, ta, tb, m, n, k, (float)p->alpha, p->a,
                                              p->a_offset, lda, a, p->b, p->b_offset, ldb, b, (float)p->beta, p->c,
                                              p->c_offset, ldc, c, batch, &queue, NULL);
}

static CLBlastStatusCode call(const product *p, cl_command_queue queue)
{
    const lfuse__gemm_desc *d = p->desc;
    CLBlastTranspose ta = d->ta ? CLBlastTransposeYes : CLBlastTransposeNo;
    CLBlastTranspose tb = d->tb ? CLBlastTransposeYes : CLBlastTransposeNo;
    size_t m = (size_t)d->m, n = (size_t)d->n, k = (size_t)d->k;
    size_t lda = (size_t)d->lda, ldb = (size_t)d->ldb, ldc = (size_t)d->ldc;

    if (d->batch) return call_batch(p, queue);
    if (d->type == LFUSE_F64)
        return lfuse__clblast.Dgemm(CLBlastLayoutRowMajor, ta, tb, m, n, k, p->alpha, p->a, p->a_offset, lda, p->b,
                                    p->b_offset, ldb, p->beta, p->c, p->c_offset, ldc, &queue, NULL);
    return lfuse__clblast.Sgemm(CLBlastLayoutRowMajor, ta, tb, m, n, k, (float)p->alpha, p->a, p->a_offset, lda, p->b,
                                p->b_offset, ldb, (float)p->beta, p->c, p->c_offset, ldc, &queue, NULL);
}

/* Of dev->gemm_ready. */
static unsigned ready_bit(const lfuse__gemm_desc *desc)
{
    return 1u << ((unsigned)desc->type + (desc->batch ? 16 : 0));
}

static lfuse_status run(lfuse__bdevice *dev, const product *p, cl_command_queue queue)
{
    unsigned bit = ready_bit(p->desc);
    bool ready = (atomic_load(&dev->gemm_ready) & bit) != 0;
    CLBlastStatusCode code;

    if (ready) pthread_rwlock_rdlock(&cache_lock);
    else pthread_rwlock_wrlock(&cache_lock);
    code = call(p, queue);
    pthread_rwlock_unlock(&cache_lock);
    if (code != CLBlastSuccess) return blas_error(dev, queue, code);
    if (!ready) atomic_fetch_or(&dev->gemm_ready, bit);
    return LFUSE_OK;
}

/*
 * The first product of a precision, and the first batch, makes CLBlast compile, which takes about a second: products of
 * one element.
 */
static lfuse_status warm_up(lfuse__bdevice *dev, lfuse_type type, bool batch)
{
    enum { ELEMENTS = 48 };
    const lfuse__gemm_desc desc = { .type = type, .m = 1, .n = 1, .k = 1, .lda = 1, .ldb = 1, .ldc = 1,
                                    .batch = 2 * batch, .stride_a = batch, .stride_b = batch, .stride_c = batch };
    product p = { .desc = &desc, .alpha = 1, .a_offset = 0, .b_offset = 16, .c_offset = 32 };
    const char *name = dev->device.facts.info.name;
    cl_command_queue queue;
    cl_mem buffer;
    lfuse_status status;
    cl_int code;

    if ((atomic_load(&dev->gemm_ready) & ready_bit(&desc)) != 0) return LFUSE_OK;
    queue = lfuse__cl.CreateCommandQueue(dev->context, dev->device.id, 0, &code);
    if (queue == NULL) return lfuse__cl_error(code, "%s: clCreateCommandQueue", name);
    buffer = lfuse__cl.CreateBuffer(dev->context, CL_MEM_READ_WRITE, ELEMENTS * lfuse_type_size(type), NULL, &code);
    if (buffer == NULL) {
        status = lfuse__cl_error(code, "%s: a buffer of %d elements", name, ELEMENTS);
        goto release_queue;
    }
    p.a = p.b = p.c = buffer;
    status = run(dev, &p, queue);
    code = lfuse__cl.Finish(queue);
    if (status == LFUSE_OK && code != CL_SUCCESS)
        status = lfuse__cl_queue_error(dev, queue, code, "%s: CLBlast's first product", name);
    lfuse__cl.ReleaseMemObject(buffer);
release_queue:
    lfuse__cl.ReleaseCommandQueue(queue);
    return status;
}

lfuse_status lfuse__cl_gemm_prepare(lfuse__bdevice *dev, const lfuse__gemm_desc *desc,
                                    const lfuse__gemm_candidate *candidate, lfuse__bgemm **gemm)
{
    lfuse__bgemm *g;

    LFUSE__TRY(check(dev, desc));
    if (strcmp(candidate->identity, "clblast") != 0)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: no algorithm \"%s\"", dev->device.facts.info.name,
                            candidate->identity);
    LFUSE__TRY(warm_up(dev, desc->type, desc->batch != 0));
    g = calloc(1, sizeof *g);
    if (g == NULL) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for a product");
    g->dev = dev, g->desc = *desc;
    *gemm = g;
    return LFUSE_OK;
}

static lfuse_status operand(const lfuse__bmem *mem, uint64_t offset, size_t size, const char *which, cl_mem *buffer,
                            size_t *elements)
{
    if (mem->storage != LFUSE__CL_BUFFER)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "CLBlast takes cl_mem alone, %s is %s memory", which,
                            mem->storage == LFUSE__CL_SVM ? "shared virtual" : "pinned");
    if (offset % size != 0)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "CLBlast counts in elements of %zu bytes, %s starts at byte %llu",
                            size, which, (unsigned long long)offset);
    *buffer = mem->buffer;
    *elements = offset / size;
    return LFUSE_OK;
}

lfuse_status lfuse__cl_gemm_run(lfuse__bstream *s, lfuse__bgemm *gemm, const lfuse__gemm_args *args)
{
    size_t size = lfuse_type_size(gemm->desc.type);
    product p = { .desc = &gemm->desc, .alpha = args->alpha, .beta = args->beta };

    LFUSE__TRY(operand(args->a, args->a_offset, size, "A", &p.a, &p.a_offset));
    LFUSE__TRY(operand(args->b, args->b_offset, size, "B", &p.b, &p.b_offset));
    LFUSE__TRY(operand(args->c, args->c_offset, size, "C", &p.c, &p.c_offset));
    LFUSE__TRY(lfuse__cl_before(s));
    LFUSE__TRY(run(gemm->dev, &p, s->queue));
    return lfuse__cl_after(s);
}

void lfuse__cl_gemm_destroy(lfuse__bgemm *gemm)
{
    free(gemm);
}
