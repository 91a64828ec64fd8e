/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/openblas.h"

#include <limits.h>
#include <stdio.h>

#include "common/base/error.h"
#include "common/base/library.h"

/* cblas.h's numbers. */
enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, TRANSPOSED = 112 };

typedef void single_product(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                            int);
typedef void double_product(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                            double *, int);

static struct {
    lfuse__library *library;
    single_product *sgemm;
    double_product *dgemm;
    char note[256];
} blas;

/* Data and function pointers have one form wherever there is a dlsym; ISO C lacks the cast. */
#define TAKE(to, name) (*(void **)(to) = lfuse__library_symbol(blas.library, name))

static void describe(void)
{
    char *(*config)(void), *(*core)(void);
    int (*threads)(void);
    TAKE(&config, "openblas_get_config");
    TAKE(&core, "openblas_get_corename");
    TAKE(&threads, "openblas_get_num_threads");
    snprintf(blas.note, sizeof blas.note, "core %s, %d threads; %s", core ? core() : "unknown", threads ? threads() : 0,
             config ? config() : lfuse__library_path(blas.library));
}

lfuse_status bench_openblas_load(void)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so", NULL};
    if (blas.sgemm && blas.dgemm) return LFUSE_OK;
    LFUSE__TRY(lfuse__library_open(names, NULL, &blas.library));
    TAKE(&blas.sgemm, "cblas_sgemm");
    TAKE(&blas.dgemm, "cblas_dgemm");
    if (blas.sgemm && blas.dgemm) {
        describe();
        return LFUSE_OK; /* stays loaded: its threads live as long as the process */
    }
    lfuse_status status = lfuse__error(LFUSE_ERR_LIBRARY, "%s has no cblas_sgemm and cblas_dgemm",
                                       lfuse__library_path(blas.library));
    lfuse__library_close(blas.library);
    blas.sgemm = NULL;
    return status;
}

const char *bench_openblas_note(void)
{
    return blas.note;
}

lfuse_status bench_openblas_multiply(lfuse_type type, bool turn_a, bool turn_b, int64_t m, int64_t n, int64_t k,
                                     const void *a, const void *b, void *c)
{
    const int im = (int)m, in = (int)n, ik = (int)k, lda = turn_a ? im : ik, ldb = turn_b ? ik : in;
    const int ta = turn_a ? TRANSPOSED : NOT_TRANSPOSED, tb = turn_b ? TRANSPOSED : NOT_TRANSPOSED;
    if (m > INT_MAX || n > INT_MAX || k > INT_MAX)
        return lfuse__error(LFUSE_ERR_SHAPE, "%lld x %lld x %lld is too large for OpenBLAS", (long long)m, (long long)n,
                            (long long)k);
    if (type == LFUSE_F32) blas.sgemm(ROW_MAJOR, ta, tb, im, in, ik, 1, a, lda, b, ldb, 0, c, in);
    else if (type == LFUSE_F64) blas.dgemm(ROW_MAJOR, ta, tb, im, in, ik, 1, a, lda, b, ldb, 0, c, in);
    else return lfuse__error(LFUSE_ERR_TYPE, "OpenBLAS multiplies f32 and f64, not %s", lfuse_type_name(type));
    return LFUSE_OK;
}
