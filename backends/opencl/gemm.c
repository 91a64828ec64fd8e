/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products by CLBlast: f32 and f64, without epilogues, in the two ways of gemm_paths.c, each a candidate of its
 * own. Halves are declined: CLBlast adds them up in half precision, and the contract asks for f32.
 *
 * Threads: products that go the way that CLBlast goes at present are submitted side by side. One that wants the other
 * waits for those that are being submitted, changes CLBlast's parameter (0.3 ms) and is submitted alone; so two threads
 * with unlike wishes get what they want, one after the other. As estimated nothing ever changes; a program that calls
 * CLBlast beside this library may find the parameter of a product that was measured to be faster the other way.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/gemm_paths.h"

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

/* How a product is submitted. */
typedef struct way {
    lfuse__cl_threshold *threshold; /* NULL: CLBlast does not let us choose */
    lfuse__cl_path path;
    size_t value;                   /* that the threshold has to have */
} way;

struct lfuse__bgemm {
    lfuse__bdevice *dev;
    lfuse__gemm_desc desc;
    way way;
};

/*
 * Before 1.6.1 storing a compiled routine races with other users of CLBlast's one cache. A routine is stored at the
 * first use of a precision and of a threshold in a context: that use runs alone. So does one that changes a threshold.
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
    { CLBlastMissingOverrideParameter, LFUSE_ERR_UNSUPPORTED, "it has other parameters than are known here" },
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
    if (desc->inputs[LFUSE__INPUT_ADDEND].taken)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: CLBlast adds to what it replaces alone", name);
    if (lfuse__gemm_has_epilogue(desc))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: CLBlast has no epilogues", name);
    return LFUSE_OK;
}

/* Names of the ways, and of the only one where there is no choice. */
static const char *const identities[] = {
    [LFUSE__CL_DIRECT] = "clblast-direct", [LFUSE__CL_INDIRECT] = "clblast-indirect",
};
static const char either[] = "clblast";

static lfuse__gemm_candidate named(const char *identity)
{
    lfuse__gemm_candidate c = { .provider = "clblast" };

    snprintf(c.identity, sizeof c.identity, "%s", identity);
    return c;
}

/*
 * What CLBlast 1.5.3's indirect way need not copy of a batch, as it has the right turn and no gaps, it reads, and
 * writes, from the start of the buffer, whatever its offset. Which turn is right depends on which of its two kernels
 * the device is tuned for, which nothing tells: of A either, and of C one.
 */
static bool must_go_direct(const lfuse__gemm_desc *d)
{
    return d->batch && (d->lda == (d->ta ? d->m : d->k) || (!d->tb && d->ldb == d->n) || d->ldc == d->n);
}

lfuse_status lfuse__cl_gemm_candidates(lfuse__bdevice *dev, const lfuse__gemm_desc *desc, int max,
                                       lfuse__gemm_candidate *candidates, int *count)
{
    lfuse__cl_threshold *threshold;
    lfuse__cl_path own;

    LFUSE__TRY(check(dev, desc));
    LFUSE__TRY(lfuse__cl_threshold_find(dev, desc->type, &threshold));
    if (threshold == NULL) {
        if (max > 0) candidates[0] = named(either);
        *count = max > 0;
        return LFUSE_OK;
    }
    if (must_go_direct(desc)) {
        if (max > 0) candidates[0] = named(identities[LFUSE__CL_DIRECT]);
        *count = max > 0;
        return LFUSE_OK;
    }
    own = lfuse__cl_path_own(threshold, desc);
    if (max > 0) candidates[0] = named(identities[own]);
    if (max > 1) candidates[1] = named(identities[!own]);
    *count = max < 2 ? max : 2;
    return LFUSE_OK;
}

static lfuse_status find_way(lfuse__bdevice *dev, const lfuse__gemm_desc *desc, const char *identity, way *found)
{
    way w = { .path = LFUSE__CL_DIRECT };

    LFUSE__TRY(lfuse__cl_threshold_find(dev, desc->type, &w.threshold));
    if (w.threshold == NULL ? strcmp(identity, either) != 0
                            : strcmp(identity, identities[LFUSE__CL_DIRECT]) != 0 &&
                                  (strcmp(identity, identities[LFUSE__CL_INDIRECT]) != 0 || must_go_direct(desc)))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: no algorithm \"%s\"", dev->device.facts.info.name, identity);
    if (w.threshold != NULL) {
        if (strcmp(identity, identities[LFUSE__CL_INDIRECT]) == 0) w.path = LFUSE__CL_INDIRECT;
        w.value = lfuse__cl_path_threshold(w.threshold, desc, w.path);
    }
    *found = w;
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

/* Of dev->gemm_ready: what CLBlast compiles, and some drivers at the first launch. */
static unsigned ready_bit(const lfuse__gemm_desc *desc, const way *w)
{
    const unsigned own = w->threshold == NULL || w->value == w->threshold->own;

    return 1u << ((desc->type == LFUSE_F64) + (desc->batch ? 2 : 0) + 4 * (unsigned)w->path + 8 * own);
}

/* Locked for the product, alone or beside others. */
static CLBlastStatusCode lock_for(const way *w, bool ready)
{
    if (ready) {
        pthread_rwlock_rdlock(&cache_lock);
        if (w->threshold == NULL || w->threshold->now == w->value) return CLBlastSuccess;
        pthread_rwlock_unlock(&cache_lock);
    }
    pthread_rwlock_wrlock(&cache_lock);
    return w->threshold == NULL ? CLBlastSuccess : lfuse__cl_threshold_set(w->threshold, w->value);
}

static lfuse_status run(lfuse__bdevice *dev, const product *p, const way *w, cl_command_queue queue)
{
    unsigned bit = ready_bit(p->desc, w);
    bool ready = (atomic_load(&dev->gemm_ready) & bit) != 0;
    CLBlastStatusCode code = lock_for(w, ready);

    if (code == CLBlastSuccess) code = call(p, queue);
    pthread_rwlock_unlock(&cache_lock);
    if (code != CLBlastSuccess) return blas_error(dev, queue, code);
    if (!ready) atomic_fetch_or(&dev->gemm_ready, bit);
    return LFUSE_OK;
}

/* A size that goes the way: of one element, unless that takes the threshold for which CLBlast is itself. */
static int64_t warm_size(const way *w)
{
    return w->path == LFUSE__CL_INDIRECT && w->value > 1 ? (int64_t)w->value : 1;
}

/*
 * The first product of a precision, of a way and of a batch makes CLBlast compile, which takes about a second: a small
 * product. It is no larger than the one that asks for it, unless that is one of a batch.
 */
static lfuse_status warm_up(lfuse__bdevice *dev, const lfuse__gemm_desc *asked, const way *w)
{
    const int64_t size = warm_size(w), batch = asked->batch ? 2 : 0, matrix = (size * size + 15) / 16 * 16;
    const lfuse__gemm_desc desc = { .type = asked->type, .m = size, .n = size, .k = size, .lda = size, .ldb = size,
                                    .ldc = size, .batch = batch, .stride_a = 0, .stride_b = 0,
                                    .stride_c = batch ? size * size : 0 };
    product p = { .desc = &desc, .alpha = 1, .a_offset = 0, .b_offset = (size_t)matrix,
                  .c_offset = (size_t)(2 * matrix) };
    const size_t bytes = (size_t)((batch ? 4 : 3) * matrix) * lfuse_type_size(desc.type);
    const char *name = dev->device.facts.info.name;
    cl_command_queue queue;
    cl_mem buffer;
    lfuse_status status;
    cl_int code;

    if ((atomic_load(&dev->gemm_ready) & ready_bit(&desc, w)) != 0) return LFUSE_OK;
    queue = lfuse__cl.CreateCommandQueue(dev->context, dev->device.id, 0, &code);
    if (queue == NULL) return lfuse__cl_error(code, "%s: clCreateCommandQueue", name);
    buffer = lfuse__cl.CreateBuffer(dev->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (buffer == NULL) {
        status = lfuse__cl_error(code, "%s: a buffer of %zu bytes", name, bytes);
        goto release_queue;
    }
    p.a = p.b = p.c = buffer;
    status = run(dev, &p, w, queue);
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
    way w;

    LFUSE__TRY(check(dev, desc));
    LFUSE__TRY(find_way(dev, desc, candidate->identity, &w));
    LFUSE__TRY(warm_up(dev, desc, &w));
    g = calloc(1, sizeof *g);
    if (g == NULL) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for a product");
    g->dev = dev, g->desc = *desc, g->way = w;
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
    LFUSE__TRY(run(gemm->dev, &p, &gemm->way, s->queue));
    return lfuse__cl_after(s);
}

void lfuse__cl_gemm_destroy(lfuse__bgemm *gemm)
{
    free(gemm);
}
