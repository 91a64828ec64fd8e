/* SPDX-License-Identifier: Apache-2.0 */
/* Products of the CUDA backend, over a driver and a cuBLASLt in host memory. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tests/backends/fake_rig.h"

typedef struct product {
    lfuse__gemm_desc d;
    double alpha, beta;
    unsigned shift; /* elements by which every operand starts late */
} product;

enum { ELEMENTS = 512 };

static double data[4][ELEMENTS]; /* a, b, c, bias */

static double at(const double *x, int64_t row, int64_t column, int64_t ld, bool transposed)
{
    return transposed ? x[column * ld + row] : x[row * ld + column];
}

/* Row-major, straight from the contract's words; of product x of a batch. */
static double expected(const product *p, int64_t x, int64_t i, int64_t j)
{
    const lfuse__gemm_desc *d = &p->d;
    const double *a = data[0] + x * d->stride_a, *b = data[1] + x * d->stride_b, *c = data[2] + x * d->stride_c;
    lfuse__epilogue e = d->epilogue;
    double sum = 0;
    for (int64_t k = 0; k < d->k; k++) sum += at(a, i, k, d->lda, d->ta) * at(b, k, j, d->ldb, d->tb);
    sum = p->alpha * sum + p->beta * c[i * d->ldc + j];
    if (e == LFUSE__EP_BIAS || e == LFUSE__EP_BIAS_RELU) sum += data[3][j];
    if (e == LFUSE__EP_RELU || e == LFUSE__EP_BIAS_RELU) sum = sum > 0 ? sum : 0;
    return sum;
}

static void put(lfuse__bmem *mem, lfuse_type type, unsigned shift, const double *values)
{
    for (unsigned i = 0; i < ELEMENTS; i++)
        if (type == LFUSE_F64) ((double *)(uintptr_t)mem->address)[shift + i] = values[i];
        else ((float *)(uintptr_t)mem->address)[shift + i] = (float)values[i];
}

static double get(const lfuse__bmem *mem, lfuse_type type, int64_t i)
{
    return type == LFUSE_F64 ? ((double *)(uintptr_t)mem->address)[i] : (double)((float *)(uintptr_t)mem->address)[i];
}

static void check_product(lfuse__bdevice *dev, lfuse__bstream *s, const product *p, const lfuse__gemm_candidate *c)
{
    uint64_t bytes = lfuse_type_size(p->d.type), offset = p->shift * bytes;
    lfuse__bmem *m[4], *workspace;
    lfuse__bgemm *gemm;
    for (int i = 0; i < 4; i++) {
        OK(cuda->alloc(dev, LFUSE__ALLOC_DEVICE, (ELEMENTS + 16) * bytes, &m[i]));
        put(m[i], p->d.type, p->shift, data[i]);
    }
    OK(cuda->alloc(dev, LFUSE__ALLOC_DEVICE, 4096, &workspace));
    OK(cuda->gemm_prepare(dev, &p->d, c, &gemm));
    lfuse__gemm_args args = { .alpha = p->alpha, .beta = p->beta, .a = m[0], .b = m[1], .c = m[2], .bias = m[3],
                              .workspace = workspace, .a_offset = offset, .b_offset = offset, .c_offset = offset,
                              .bias_offset = offset };
    OK(cuda->gemm_run(s, gemm, &args));
    for (int64_t x = 0; x < (p->d.batch ? p->d.batch : 1); x++)
        for (int64_t i = 0; i < p->d.m; i++)
            for (int64_t j = 0; j < p->d.n; j++) {
                double want = expected(p, x, i, j);
                double got = get(m[2], p->d.type, p->shift + x * p->d.stride_c + i * p->d.ldc + j);
                ck_assert_msg(fabs(got - want) < 1e-4 * (1 + fabs(want)), "[%d, %d, %d]: %g, not %g", (int)x, (int)i,
                              (int)j, got, want);
            }
    cuda->gemm_destroy(gemm);
    cuda->free(workspace);
    for (int i = 0; i < 4; i++) cuda->free(m[i]);
}

static void check_shape(lfuse__bdevice *dev, lfuse__bstream *s, const product *p)
{
    lfuse__gemm_candidate c[4];
    int n = 0;
    OK(cuda->gemm_candidates(dev, &p->d, 4, c, &n));
    ck_assert_int_ge(n, 2);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) ck_assert_str_ne(c[i].identity, c[j].identity);
        check_product(dev, s, p, &c[i]);
    }
}

START_TEST(test_gemm)
{
    lfuse__bdevice *dev = open_device(0);
    lfuse__bstream *s;
    lfuse__gemm_candidate c;
    int n = 0;
    if (lfuse__cu_load_blas() || strcmp(lfuse__cu_blas.text, "13.0.0")) {
        close_device(dev);
        TEST_SKIP("NVRTC %s goes with another cuBLASLt than the fake one", lfuse__cu_compiler.text);
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < ELEMENTS; j++) data[i][j] = (double)((i * 131 + j * 37) % 19 - 9) / 4;
    OK(cuda->stream_create(dev, &s));
    for (int t = 0; t < 2; t++)
        for (int trans = 0; trans < 4; trans++)
            for (int e = LFUSE__EP_NONE; e <= LFUSE__EP_BIAS_RELU; e++)
                for (unsigned odd = 0; odd < 4; odd++) {
                    /* odd & 1: misaligned addresses, odd & 2: leading dimensions that keep no alignment */
                    int64_t pad = odd & 2 ? 11 : 12;
                    product p = { .d = { .type = t ? LFUSE_F64 : LFUSE_F32, .ta = trans & 1, .tb = trans & 2,
                                         .has_beta = true, .epilogue = (lfuse__epilogue)e, .m = 5, .n = 7, .k = 6,
                                         .lda = pad, .ldb = pad + (odd & 2 ? 2 : 4), .ldc = pad },
                                  .alpha = 1.5, .beta = odd ? 0.5 : 0, .shift = odd & 1 };
                    check_shape(dev, s, &p);
                    /* The same matrix on the right, or on the left, for all of three. */
                    p.d.batch = 3, p.d.stride_a = e & 1 ? 0 : 96 + odd, p.d.stride_b = e & 1 ? 105 : 0;
                    p.d.stride_c = 72 + odd;
                    check_shape(dev, s, &p);
                }
    lfuse__gemm_desc d = { .type = LFUSE_I32, .m = 4, .n = 4, .k = 4, .lda = 4, .ldb = 4, .ldc = 4 };
    FAILS(cuda->gemm_candidates(dev, &d, 1, &c, &n), LFUSE_ERR_UNSUPPORTED);
    SAYS("i32");
    d.type = LFUSE_F32;
    d.batch = (int64_t)1 << 31, d.stride_c = 16;
    FAILS(cuda->gemm_candidates(dev, &d, 1, &c, &n), LFUSE_ERR_UNSUPPORTED);
    SAYS("2147483648");
    d.batch = d.stride_c = 0;
    d.epilogue = LFUSE__EP_BIAS_GELU_TANH;
    FAILS(cuda->gemm_candidates(dev, &d, 1, &c, &n), LFUSE_ERR_UNSUPPORTED);
    SAYS("gelu");
    d.epilogue = LFUSE__EP_NONE;
    d.type = LFUSE_F16;
    FAILS(cuda->gemm_candidates(dev, &d, 1, &c, &n), LFUSE_ERR_UNSUPPORTED); /* the fake knows no f16 */
    cuda->gemm_destroy(NULL);
    cuda->stream_destroy(s);
    close_device(dev);
}
END_TEST

static Suite *suite_fake_products(void)
{
    Suite *s = suite_create("cuda-fake products");
    TCase *c = tcase_create("products");

    tcase_add_checked_fixture(c, load_fakes, NULL);
    tcase_add_test(c, test_gemm);
    suite_add_tcase(s, c);
    return s;
}

TEST_MAIN(CK_FORK_GETENV, suite_fake_products)
