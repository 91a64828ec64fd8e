/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every algorithm that cuBLASLt's heuristic lists for small products of f16 and bf16 adds C, or a bias, to a product
 * that has not been rounded to 16 bits before. Skipped, visibly, without a CUDA device.
 */
#include "backends/cuda/internal.h"
#include "common/base/half.h"
#include "tests/support/main.h"

enum { MOST_ROWS = 16, SIDE = 64, CANDIDATES = 32, WORKSPACE = 64 << 20 };

static const lfuse__backend *const cuda = &lfuse__backend_cuda;

/* A device with room for A, B, C, the bias and the result, which lies apart from C. */
typedef struct bench {
    lfuse__bdevice *dev;
    lfuse__bstream *stream;
    lfuse__bmem *a, *b, *c, *bias, *result, *workspace;
} bench;

/* One product of the sweep: the operands as 16-bit numbers, A and B row-major as they are multiplied. */
typedef struct product {
    lfuse__gemm_desc d;
    uint16_t a[MOST_ROWS * SIDE], b[SIDE * SIDE], c[MOST_ROWS * SIDE], bias[SIDE], result[MOST_ROWS * SIDE];
    double exact[MOST_ROWS * SIDE], magnitude[MOST_ROWS * SIDE]; /* A B + C, |A| |B| + |C| */
} product;

static uint16_t narrowed(lfuse_type type, double x)
{
    return type == LFUSE_F16 ? lfuse__double_to_f16(x) : lfuse__double_to_bf16(x);
}

static double widened(lfuse_type type, uint16_t x)
{
    return (double)(type == LFUSE_F16 ? lfuse__f16_to_float(x) : lfuse__bf16_to_float(x));
}

static bool has_bias(const product *p)
{
    return p->d.inputs[LFUSE__INPUT_BIAS].taken;
}

static bool has_apart(const product *p)
{
    return p->d.inputs[LFUSE__INPUT_ADDEND].taken;
}

/*
 * C is the product rounded to 16 bits, with its sign turned round, so that A B + C is what that rounding took away:
 * an algorithm that rounds the product first gives 0 in place of it. A bias does the same to the first row.
 */
static void fill(product *p)
{
    const lfuse__gemm_desc *d = &p->d;

    for (int i = 0; i < d->m * d->k; i++) p->a[i] = narrowed(d->type, 2.0 * rand() / RAND_MAX - 1);
    for (int i = 0; i < d->k * d->n; i++) p->b[i] = narrowed(d->type, 2.0 * rand() / RAND_MAX - 1);
    for (int i = 0; i < d->m; i++)
        for (int j = 0; j < d->n; j++) {
            const int64_t e = i * d->n + j;
            double sum = 0, magnitude = 0, added;
            for (int l = 0; l < d->k; l++) {
                const double a = widened(d->type, p->a[d->ta ? l * d->m + i : i * d->k + l]);
                const double b = widened(d->type, p->b[d->tb ? j * d->k + l : l * d->n + j]);
                sum += a * b, magnitude += fabs(a * b);
            }
            p->c[e] = narrowed(d->type, -sum);
            if (i == 0) p->bias[j] = p->c[e];
            added = widened(d->type, has_bias(p) ? p->bias[j] : p->c[e]);
            p->exact[e] = sum + added, p->magnitude[e] = magnitude + fabs(added);
        }
}

/* The bound of products of f16 and bf16 in lfuse(7), and half a unit of the result's last place. */
static double bound(const product *p, int64_t e)
{
    const double k = (double)p->d.k, c = fmax(8, 4 * sqrt(k + 2));
    const double unit = p->d.type == LFUSE_F16 ? 0x1p-11 : 0x1p-8, least = p->d.type == LFUSE_F16 ? 0x1p-25 : 0;

    return (2 * c + k / 8) * 0x1p-24 * p->magnitude[e] + fmax(unit * fabs(p->exact[e]), least);
}

static void check_result(const product *p, const char *identity)
{
    const lfuse__gemm_desc *d = &p->d;

    for (int64_t e = 0; e < d->m * d->n; e++) {
        const double got = widened(d->type, p->result[e]);
        ck_assert_msg(fabs(got - p->exact[e]) <= bound(p, e),
                      "%s, %d x %d x %d, transposed %d %d, %s, %s: [%d] is %g, not %g, with a bound of %g",
                      lfuse_type_name(d->type), (int)d->m, (int)d->n, (int)d->k, d->ta, d->tb,
                      has_bias(p) ? "bias" : has_apart(p) ? "C apart" : "C", identity, (int)e, got, p->exact[e],
                      bound(p, e));
    }
}

static void run(bench *t, product *p, const lfuse__gemm_candidate *candidate)
{
    const lfuse__gemm_args args = { .alpha = 1, .beta = p->d.has_beta, .a = t->a, .b = t->b, .c = t->result,
                                    .inputs = { [LFUSE__INPUT_BIAS] = t->bias,
                                                [LFUSE__INPUT_ADDEND] = has_apart(p) ? t->c : NULL },
                                    .workspace = t->workspace };
    lfuse__bgemm *gemm;

    OK(cuda->write(t->stream, t->result, 0, p->c, sizeof p->c));
    OK(cuda->gemm_prepare(t->dev, &p->d, candidate, &gemm));
    OK(cuda->gemm_run(t->stream, gemm, &args));
    OK(cuda->read(t->stream, t->result, 0, p->result, sizeof p->result));
    OK(cuda->stream_sync(t->stream));
    cuda->gemm_destroy(gemm);
    check_result(p, candidate->identity);
}

/* The number of algorithms that were run. */
static int check_candidates(bench *t, product *p)
{
    lfuse__gemm_candidate candidates[CANDIDATES];
    lfuse__gemm_desc *d = &p->d;
    int count = 0;

    d->lda = d->ta ? d->m : d->k, d->ldb = d->tb ? d->k : d->n, d->ldc = d->n;
    d->inputs[LFUSE__INPUT_ADDEND].ld = has_apart(p) ? d->n : 0;
    fill(p);
    OK(cuda->write(t->stream, t->a, 0, p->a, sizeof p->a));
    OK(cuda->write(t->stream, t->b, 0, p->b, sizeof p->b));
    OK(cuda->write(t->stream, t->c, 0, p->c, sizeof p->c));
    OK(cuda->write(t->stream, t->bias, 0, p->bias, sizeof p->bias));
    if (cuda->gemm_candidates(t->dev, d, CANDIDATES, candidates, &count)) return 0;
    for (int i = 0; i < count; i++) run(t, p, &candidates[i]);
    return count;
}

static bool set_up(bench *t)
{
    char reason[256];
    int count = 0;

    if (cuda->enumerate(&count, reason, sizeof reason) || count == 0) return false;
    OK(cuda->open(0, &t->dev));
    OK(cuda->stream_create(t->dev, &t->stream));
    OK(cuda->alloc(t->dev, LFUSE__ALLOC_DEVICE, sizeof ((product *)NULL)->a, &t->a));
    OK(cuda->alloc(t->dev, LFUSE__ALLOC_DEVICE, sizeof ((product *)NULL)->b, &t->b));
    OK(cuda->alloc(t->dev, LFUSE__ALLOC_DEVICE, sizeof ((product *)NULL)->c, &t->c));
    OK(cuda->alloc(t->dev, LFUSE__ALLOC_DEVICE, sizeof ((product *)NULL)->bias, &t->bias));
    OK(cuda->alloc(t->dev, LFUSE__ALLOC_DEVICE, sizeof ((product *)NULL)->result, &t->result));
    OK(cuda->alloc(t->dev, LFUSE__ALLOC_DEVICE, WORKSPACE, &t->workspace));
    return true;
}

static void tear_down(bench *t)
{
    lfuse__bmem *const memory[] = { t->a, t->b, t->c, t->bias, t->result, t->workspace };

    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) cuda->free(memory[i]);
    cuda->stream_destroy(t->stream);
    cuda->close(t->dev);
}

static const struct {
    bool has_beta, apart, bias;
} additions[] = {
    { true, false, false },
    { true, true, false },
    { false, false, true },
};

TEST_CASE("small products that add")

/* One test is one type and one way to add. */
TEST_LOOP(test_small_products_that_add, 0, 2 * sizeof additions / sizeof additions[0])
{
    static const int sides[] = { 8, 16, 32, SIDE };
    const int way = _i / 2, nsides = sizeof sides / sizeof sides[0];
    product p = { .d = { .type = _i % 2 ? LFUSE_BF16 : LFUSE_F16, .has_beta = additions[way].has_beta,
                         .inputs = { [LFUSE__INPUT_BIAS] = { .taken = additions[way].bias },
                                     [LFUSE__INPUT_ADDEND] = { .taken = additions[way].apart } } } };
    int ran = 0;
    bench t;

    if (!set_up(&t)) TEST_SKIP("no CUDA device");
    for (p.d.m = 1; p.d.m <= MOST_ROWS; p.d.m++)
        for (int shape = 0; shape < nsides * nsides; shape++)
            for (int transposed = 0; transposed < 4; transposed++) {
                p.d.n = sides[shape / nsides], p.d.k = sides[shape % nsides];
                p.d.ta = transposed & 1, p.d.tb = transposed & 2;
                ran += check_candidates(&t, &p);
            }
    tear_down(&t);
    ck_assert_int_ge(ran, MOST_ROWS * nsides * nsides);
}

TEST_SUITE("products of cuBLASLt", CK_NOFORK)
