/* SPDX-License-Identifier: Apache-2.0 */
/* Products of the CUDA backend, over a driver and a cuBLASLt in host memory. */
#include "common/base/half.h"
#include "libfuse.h"
#include "tests/backends/fake_rig.h"
#include "tests/support/heard.h"

typedef struct product {
    lfuse__gemm_desc d;
    double alpha, beta;
    unsigned late; /* bit i: operand i, as `data` counts them, starts an element late */
} product;

enum { ELEMENTS = 512, OPERANDS = 3 + LFUSE__EPILOGUE_INPUTS, ALL_LATE = (1 << OPERANDS) - 1 };

static double data[OPERANDS][ELEMENTS]; /* a, b, c, the inputs of the epilogue */
static bool cut; /* the products are of tf32 */

static void make_data(void)
{
    for (int i = 0; i < OPERANDS; i++)
        for (int j = 0; j < ELEMENTS; j++) data[i][j] = (double)((i * 131 + j * 37) % 19 - 9) / 4;
}

static double multiplied(double x)
{
    return cut ? trunc(x * 1024) / 1024 : x; /* of what is between 1 and 2, or a multiple of that */
}

static double at(const double *x, int64_t row, int64_t column, int64_t ld, bool transposed)
{
    return transposed ? x[column * ld + row] : x[row * ld + column];
}

/* Row-major, straight from the contract's words; of product x of a batch. */
static double expected(const product *p, int64_t x, int64_t i, int64_t j)
{
    const lfuse__gemm_desc *d = &p->d;
    const double *a = data[0] + x * d->stride_a, *b = data[1] + x * d->stride_b, *c = data[2] + x * d->stride_c;
    const lfuse__gemm_input *add = &d->inputs[LFUSE__INPUT_ADDEND];
    double sum = 0;
    for (int64_t k = 0; k < d->k; k++) sum += multiplied(at(a, i, k, d->lda, d->ta)) * at(b, k, j, d->ldb, d->tb);
    if (add->taken) c = data[4] + x * add->stride - i * d->ldc + i * add->ld;
    if (d->inputs[LFUSE__INPUT_SCALE].taken) sum *= data[3 + LFUSE__INPUT_SCALE][0];
    sum = p->alpha * sum + (p->beta != 0 ? p->beta * c[i * d->ldc + j] : 0);
    if (d->inputs[LFUSE__INPUT_BIAS].taken) sum += data[3][j];
    if (d->epilogue == LFUSE__EP_RELU) sum = sum > 0 ? sum : 0;
    return sum;
}

static void put(lfuse__bmem *mem, lfuse_type type, unsigned shift, const double *values)
{
    for (unsigned i = 0; i < ELEMENTS; i++)
        if (type == LFUSE_F16) ((uint16_t *)(uintptr_t)mem->address)[shift + i] = lfuse__double_to_f16(values[i]);
        else if (type == LFUSE_F64) ((double *)(uintptr_t)mem->address)[shift + i] = values[i];
        else ((float *)(uintptr_t)mem->address)[shift + i] = (float)values[i];
}

static double get(const lfuse__bmem *mem, lfuse_type type, int64_t i)
{
    const void *base = (const void *)(uintptr_t)mem->address;
    if (type == LFUSE_F16) return (double)lfuse__f16_to_float(((const uint16_t *)base)[i]);
    return type == LFUSE_F64 ? ((const double *)base)[i] : (double)((const float *)base)[i];
}

static void check_product(lfuse__bdevice *dev, lfuse__bstream *s, const product *p, const lfuse__gemm_candidate *c)
{
    const lfuse_type result = lfuse__gemm_result(&p->d);
    lfuse__bmem *m[OPERANDS];
    uint64_t offset[OPERANDS];
    lfuse__bgemm *gemm;
    for (int i = 0; i < OPERANDS; i++) {
        const lfuse_type type = i < 2 ? p->d.type : result;
        const unsigned shift = p->late >> i & 1;
        m[i] = memory_on(dev, (ELEMENTS + 16) * sizeof(double));
        put(m[i], type, shift, data[i]);
        offset[i] = shift * lfuse_type_size(type);
    }
    lfuse__bmem *workspace = memory_on(dev, 4096);
    OK(cuda->gemm_prepare(dev, &p->d, c, &gemm));
    lfuse__gemm_args args = { .alpha = p->alpha, .beta = p->beta, .a = m[0], .b = m[1], .c = m[2],
                              .workspace = workspace, .a_offset = offset[0], .b_offset = offset[1],
                              .c_offset = offset[2] };
    for (int i = 0; i < LFUSE__EPILOGUE_INPUTS; i++)
        if (p->d.inputs[i].taken) args.inputs[i] = m[3 + i], args.input_offsets[i] = offset[3 + i];
    OK(cuda->gemm_run(s, gemm, &args));
    for (int64_t x = 0; x < (p->d.batch ? p->d.batch : 1); x++)
        for (int64_t i = 0; i < p->d.m; i++)
            for (int64_t j = 0; j < p->d.n; j++) {
                double want = expected(p, x, i, j);
                double got = get(m[2], result, (p->late >> 2 & 1) + x * p->d.stride_c + i * p->d.ldc + j);
                ck_assert_msg(fabs(got - want) < (p->d.wide ? 1e-4 : 1e-6) * (1 + fabs(want)),
                              "[%d, %d, %d]: %g, not %g", (int)x, (int)i, (int)j, got, want);
            }
    cuda->gemm_destroy(gemm);
    give_back(workspace);
    for (int i = 0; i < OPERANDS; i++) give_back(m[i]);
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

/* A bit that tf32 does not have is lost, and only where it is asked for. */
static void check_tf32(lfuse__bdevice *dev, lfuse__bstream *s)
{
    product p = { .d = { .type = LFUSE_F32, .m = 4, .n = 4, .k = 4, .lda = 4, .ldb = 4, .ldc = 4 }, .alpha = 1 };
    const double fine = 1 + 0x1p-12, before = data[0][5];
    lfuse__facts facts;
    lfuse__gemm_candidate c;
    int n;
    OK(cuda->facts(dev, &facts));
    ck_assert(facts.info.tf32);
    data[0][5] = fine;
    check_shape(dev, s, &p);
    p.d.tf32 = true;
    data[0][5] = fine;
    OK(cuda->gemm_candidates(dev, &p.d, 1, &c, &n));
    cut = true;
    check_product(dev, s, &p, &c);
    cut = false;
    data[0][5] = before;
    p.d.type = LFUSE_F64;
    FAILS(LFUSE_ERR_UNSUPPORTED, cuda->gemm_candidates(dev, &p.d, 1, &c, &n));
}

TEST_CASE("products", .setup = load_fakes, .teardown = nothing_is_left, .before = test_without_cache, .limit = 120)

TEST(test_gemm)
{
    lfuse__bdevice *dev = open_device(0);
    lfuse__gemm_candidate c;
    int n = 0;
    NEED_FAKE_BLAS();
    make_data();
    lfuse__bstream *s = stream_on(dev);
    for (int t = 0; t < 2; t++)
        for (int trans = 0; trans < 4; trans++)
            for (int e = 0; e < 4; e++) /* e & 1: a bias, e & 2: relu */
                for (unsigned odd = 0; odd < 4; odd++) {
                    /* odd & 1: misaligned addresses, odd & 2: leading dimensions that keep no alignment */
                    int64_t pad = odd & 2 ? 11 : 12;
                    product p = { .d = { .type = t ? LFUSE_F64 : LFUSE_F32, .ta = trans & 1, .tb = trans & 2,
                                         .has_beta = true, .epilogue = e & 2 ? LFUSE__EP_RELU : LFUSE__EP_NONE,
                                         .inputs[LFUSE__INPUT_BIAS].taken = e & 1, .m = 5, .n = 7, .k = 6,
                                         .lda = pad, .ldb = pad + (odd & 2 ? 2 : 4), .ldc = pad },
                                  .alpha = 1.5, .beta = odd ? 0.5 : 0, .late = odd & 1 ? ALL_LATE : 0 };
                    check_shape(dev, s, &p);
                    /* The same matrix on the right, or on the left, for all of three. */
                    p.d.batch = 3, p.d.stride_a = e & 1 ? 0 : 96 + odd, p.d.stride_b = e & 1 ? 105 : 0;
                    p.d.stride_c = 72 + odd;
                    check_shape(dev, s, &p);
                    /* What is added lies elsewhere, in rows of its own; once it is the same for all. */
                    lfuse__gemm_input *add = &p.d.inputs[LFUSE__INPUT_ADDEND];
                    *add = (lfuse__gemm_input){ true, pad + 4, e & 1 ? 0 : 96 + odd };
                    for (int x = 0; x < ELEMENTS; x++) data[4][x] = p.beta != 0 ? (x * 41 % 19 - 9) / 4.0 : NAN;
                    check_shape(dev, s, &p);
                    p.d.batch = p.d.stride_a = p.d.stride_b = p.d.stride_c = add->stride = 0;
                    check_shape(dev, s, &p);
                }
    /* Sums of f16 as they are: aligned, and with rows of C alone that are. */
    for (int odd = 0; odd < 3; odd++) {
        product p = { .d = { .type = LFUSE_F16, .wide = true, .has_beta = true, .epilogue = LFUSE__EP_RELU,
                             .inputs[LFUSE__INPUT_BIAS].taken = true, .m = 5, .n = 7, .k = 6, .lda = 16,
                             .ldb = odd & 2 ? 13 : 16, .ldc = 12 },
                      .alpha = 1.5, .beta = 0.5, .late = odd & 1 ? ALL_LATE : 0 };
        check_shape(dev, s, &p);
    }
    check_tf32(dev, s);
    lfuse__gemm_desc d = { .type = LFUSE_I32, .m = 4, .n = 4, .k = 4, .lda = 4, .ldb = 4, .ldc = 4 };
    SAYS(LFUSE_ERR_UNSUPPORTED, cuda->gemm_candidates(dev, &d, 1, &c, &n), "i32");
    d.type = LFUSE_F32;
    d.batch = (int64_t)1 << 31, d.stride_c = 16;
    SAYS(LFUSE_ERR_UNSUPPORTED, cuda->gemm_candidates(dev, &d, 1, &c, &n), "2147483648");
    d.batch = d.stride_c = 0;
    d.type = LFUSE_BF16;
    FAILS(LFUSE_ERR_UNSUPPORTED, cuda->gemm_candidates(dev, &d, 1, &c, &n)); /* the fake knows no bf16 */
    d.type = LFUSE_E4M3, d.wide = d.tb = d.inputs[LFUSE__INPUT_BIAS].taken = true;
    SAYS(LFUSE_ERR_UNSUPPORTED, cuda->gemm_candidates(dev, &d, 1, &c, &n), "e4m3 with a bias of f32");
    d.inputs[LFUSE__INPUT_BIAS].taken = d.tb = false;
    d.type = LFUSE_F32;
    FAILS(LFUSE_ERR_UNSUPPORTED, cuda->gemm_candidates(dev, &d, 1, &c, &n));
    cuda->gemm_destroy(NULL);
}

/* Alpha is read where it lies, as the operation's pointer mode says; so is beta, which leaves what D was unread. */
TEST(test_scale)
{
    static const struct { lfuse_type type; bool wide; } types[] = {
        { LFUSE_F32, false }, { LFUSE_F64, false }, { LFUSE_F16, true },
    };
    lfuse__bdevice *dev = open_device(0);
    lfuse__gemm_candidate c;
    int n = 0;
    NEED_FAKE_BLAS();
    make_data();
    for (int i = 0; i < ELEMENTS; i++) data[2][i] = NAN;
    data[3 + LFUSE__INPUT_SCALE][0] = -1.5;
    lfuse__bstream *s = stream_on(dev);
    for (int i = 0; i < 3 * 4; i++) {
        product p = { .d = { .type = types[i / 4].type, .wide = types[i / 4].wide, .m = 5, .n = 7, .k = 6, .lda = 16,
                             .ldb = 16, .ldc = 16, .epilogue = i & 1 ? LFUSE__EP_RELU : LFUSE__EP_NONE,
                             .inputs = { [LFUSE__INPUT_BIAS] = { .taken = i & 1 },
                                         [LFUSE__INPUT_SCALE] = { .taken = true } } },
                      .alpha = 1, .late = i & 2 ? 1u << (3 + LFUSE__INPUT_SCALE) : 0 };
        if (p.d.type == LFUSE_F64 && i & 1) {
            SAYS(LFUSE_ERR_UNSUPPORTED, cuda->gemm_candidates(dev, &p.d, 1, &c, &n), "a bias or relu");
            continue;
        }
        check_shape(dev, s, &p);
        p.d.batch = 2, p.d.stride_a = 96, p.d.stride_b = 104, p.d.stride_c = 80;
        check_shape(dev, s, &p);
        p.d.has_beta = true;
        SAYS(LFUSE_ERR_UNSUPPORTED, cuda->gemm_candidates(dev, &p.d, 1, &c, &n), "beta on the host");
    }
    const lfuse__gemm_desc narrow = { .type = LFUSE_F16, .m = 4, .n = 4, .k = 4, .lda = 8, .ldb = 8, .ldc = 8,
                                      .inputs[LFUSE__INPUT_SCALE].taken = true };
    SAYS(LFUSE_ERR_UNSUPPORTED, cuda->gemm_candidates(dev, &narrow, 1, &c, &n), "device memory is no f16");
}

/* One operand that starts late, or one distance that keeps no alignment, and the algorithm has to take any address. */
TEST(test_every_alignment_counts)
{
    lfuse__bdevice *dev = open_device(0);
    product p = { .d = { .type = LFUSE_F32, .has_beta = true, .m = 5, .n = 7, .k = 6, .lda = 12, .ldb = 16, .ldc = 12,
                         .batch = 3, .stride_a = 96, .stride_b = 104, .stride_c = 72,
                         .inputs = { [LFUSE__INPUT_BIAS] = { .taken = true },
                                     [LFUSE__INPUT_ADDEND] = { true, 16, 96 } } },
                  .alpha = 1.5, .beta = 0.5 };
    lfuse__gemm_input *add = &p.d.inputs[LFUSE__INPUT_ADDEND];
    int64_t *const distances[] = { &p.d.lda, &p.d.ldb, &p.d.ldc, &add->ld, &p.d.stride_a, &p.d.stride_b,
                                   &p.d.stride_c, &add->stride };
    NEED_FAKE_BLAS();
    make_data();
    lfuse__bstream *s = stream_on(dev);
    for (int i = 0; i < OPERANDS; i++) {
        p.late = 1U << i;
        check_shape(dev, s, &p);
    }
    p.late = 0;
    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
        ++*distances[i];
        check_shape(dev, s, &p);
        --*distances[i];
    }
}

/* An algorithm that takes any address but more workspace than the product has is none. */
TEST(test_any_address_within_the_workspace)
{
    const lfuse__gemm_desc d = { .type = LFUSE_F32, .m = 4, .n = 4, .k = 4, .lda = 4, .ldb = 4, .ldc = 4 };
    lfuse__bdevice *dev = open_device(0);
    lfuse__gemm_candidate candidates[2];
    lfuse__bmem *m[3];
    lfuse__bgemm *gemm;
    int n = 0;
    NEED_FAKE_BLAS();
    lfuse__bstream *s = stream_on(dev);
    for (int i = 0; i < 3; i++) {
        m[i] = memory_on(dev, 256);
        OK(cuda->fill(s, m[i], 0, 0, 4, 256));
    }
    OK(cuda->gemm_candidates(dev, &d, 2, candidates, &n));
    ck_assert(n == 2 && candidates[1].workspace == 0);
    setenv("FAKECUDA_GREEDY", "1", 1);
    OK(cuda->gemm_prepare(dev, &d, &candidates[1], &gemm));
    unsetenv("FAKECUDA_GREEDY");
    lfuse__gemm_args args = { .alpha = 1, .a = m[0], .b = m[1], .c = m[2] };
    OK(cuda->gemm_run(s, gemm, &args));
    args.a_offset = sizeof(float);
    SAYS(LFUSE_ERR_UNSUPPORTED, cuda->gemm_run(s, gemm, &args), "within 0 bytes of workspace");
    cuda->gemm_destroy(gemm);
}

/*
 * C, or a bias, takes away the product rounded to f16, so that what is left shows whether there was such a rounding.
 * The scalars are changed from run to run, as an instance changes them.
 */
static void check_f16(lfuse__bdevice *dev, lfuse__bstream *s, bool relu, bool bias, bool apart)
{
    static const double scalars[][2] = { { 1, 1 }, { 0.5, 1 }, { 1, 1 }, { 2, 0.5 }, { 1, 1 } };
    const lfuse__gemm_desc d = { .type = LFUSE_F16, .has_beta = true,
                                 .epilogue = relu ? LFUSE__EP_RELU : LFUSE__EP_NONE,
                                 .inputs = { [LFUSE__INPUT_BIAS] = { .taken = bias },
                                             [LFUSE__INPUT_ADDEND] = { .taken = apart, .ld = apart ? 8 : 0 } },
                                 .m = 1, .n = 1, .k = 2, .lda = 8, .ldb = 8, .ldc = 8 };
    const uint16_t a[] = { lfuse__double_to_f16(1 + 0x1p-10), lfuse__double_to_f16(1) };
    const uint16_t b[] = { lfuse__double_to_f16(1 + 0x1p-10), 0, 0, 0, 0, 0, 0, 0, 0 };
    lfuse__gemm_candidate candidates[8];
    lfuse__bmem *m[4];
    int n = 0;
    for (int i = 0; i < 4; i++) m[i] = memory_on(dev, 64);
    lfuse__bmem *workspace = memory_on(dev, 4096);
    OK(cuda->gemm_candidates(dev, &d, 8, candidates, &n));
    ck_assert_int_eq(n, bias ? 3 : 4);
    for (int i = 0; i < n; i++) {
        lfuse__bgemm *gemm;
        OK(cuda->gemm_prepare(dev, &d, &candidates[i], &gemm));
        for (size_t run = 0; run < sizeof scalars / sizeof scalars[0]; run++) {
            const double alpha = scalars[run][0], beta = bias ? 0 : scalars[run][1];
            const double exact = alpha * (1 + 0x1p-9 + 0x1p-20), rounded = alpha * (1 + 0x1p-9);
            const double addend = bias ? -rounded : -rounded / beta;
            lfuse__gemm_args args = { .alpha = alpha, .beta = beta, .a = m[0], .b = m[1], .c = m[2],
                                      .workspace = workspace,
                                      .inputs = { [LFUSE__INPUT_BIAS] = m[3],
                                                  [LFUSE__INPUT_ADDEND] = apart ? m[3] : NULL } };
            memcpy((void *)(uintptr_t)m[0]->address, a, sizeof a);
            memcpy((void *)(uintptr_t)m[1]->address, b, sizeof b);
            *(uint16_t *)(uintptr_t)m[2]->address = apart ? 0x7e00 : lfuse__double_to_f16(addend);
            *(uint16_t *)(uintptr_t)m[3]->address = lfuse__double_to_f16(addend);
            OK(cuda->gemm_run(s, gemm, &args));
            ck_assert_msg(get(m[2], LFUSE_F16, 0) == exact - rounded, "%s, run %d%s%s: %g, not %g",
                          candidates[i].identity, (int)run, relu ? ", relu" : "", apart ? ", apart" : "",
                          get(m[2], LFUSE_F16, 0), exact - rounded);
        }
        cuda->gemm_destroy(gemm);
    }
}

TEST(test_f16_is_rounded_once)
{
    lfuse__bdevice *dev = open_device(0);
    NEED_FAKE_BLAS();
    lfuse__bstream *s = stream_on(dev);
    for (int e = 0; e < 3; e++)
        for (int apart = 0; apart < 2; apart++) check_f16(dev, s, e == 2, e == 1, apart && e != 1);
}

/* A plan of a product of `rows` x 100 with 100 x 130, or of `count` such, and what was compiled for it. */
enum { OPEN_ROWS = 1, OPEN_COUNT = 2, ROWS_IF_NOT = 40, ROWS_OF_MANY = 64 /* at most, where both are open */ };
typedef struct any_size {
    lfuse_device *dev;
    lfuse_stream *s;
    lfuse_plan *plan;
    bool batched;
    int open; /* which are any number */
    uint64_t compiled;
} any_size;

static void any_size_open(any_size *a, int open, int64_t least, const lfuse_plan_options *options)
{
    setenv("FAKECUDA_QUICK", "0", 1); /* kernels of any name, which do nothing */
    a->dev = new_device("cuda:0");
    a->s = new_stream(a->dev);
    a->open = open;
    a->batched = open & OPEN_COUNT;
    lfuse_graph *g = new_graph();
    const lfuse_size count = a->batched ? lfuse_size_var(g, "count", least, 100000) : 1;
    const int64_t most = a->batched ? ROWS_OF_MANY : 100000;
    const lfuse_size rows = open & OPEN_ROWS ? lfuse_size_var(g, "rows", least, most) : ROWS_IF_NOT;
    const lfuse_size left[] = { count, rows, 100 }, right[] = { count, 100, 130 };
    const int rank = a->batched ? 3 : 2;
    lfuse_output(g, "c", lfuse_matmul(lfuse_input(g, "a", LFUSE_F32, rank, left + !a->batched),
                                         lfuse_input(g, "b", LFUSE_F32, rank, right + !a->batched)));
    a->plan = new_plan(a->dev, g, options);
    a->compiled = counters_of(a->dev).compiles;
    ck_assert_uint_gt(a->compiled, 0);
}

static lfuse_tensor *tensor_of(const any_size *a, int64_t count, int64_t rows, int64_t columns)
{
    const int64_t shape[] = { count, rows, columns };
    return new_tensor(a->dev, LFUSE_F32, a->batched ? 3 : 2, shape + !a->batched);
}

/* Returns the kernels launched; none is compiled. */
static int any_size_run(any_size *a, int64_t n)
{
    const uint64_t before = fake_last()->launches;
    const int64_t many = a->open & OPEN_ROWS ? 1 + n % ROWS_OF_MANY : ROWS_IF_NOT, rows = a->batched ? many : n;
    lfuse_tensor *left = tensor_of(a, n, rows, 100), *right = tensor_of(a, n, 100, 130);
    lfuse_tensor *c = tensor_of(a, n, rows, 130);
    RUN(a->plan, a->s, BIND("a", left), BIND("b", right), BIND("c", c));
    OK(lfuse_stream_synchronize(a->s));
    drop(left), drop(right), drop(c);
    ck_assert_msg(counters_of(a->dev).compiles == a->compiled, "%d compiled", (int)n);
    return (int)(fake_last()->launches - before);
}

/* A plan for any number of rows, or of products, of the library's own compiles nothing when it meets one. */
TEST_LOOP(test_sizes, OPEN_ROWS, (OPEN_ROWS | OPEN_COUNT) + 1)
{
    static const int64_t sizes[] = { 1, 4, 5, 16, 17, 63, 64, 100, 511, 513, 3000, 20000 };
    const lfuse_plan_options options = { .provider = LFUSE_PROVIDER_NATIVE };
    any_size a;
    NEED_COMPILER();
    any_size_open(&a, _i, 1, &options);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) ck_assert_int_gt(any_size_run(&a, sizes[i]), 0);
}

/* Nor where there are always many. */
TEST(test_many)
{
    const lfuse_plan_options options = { .provider = LFUSE_PROVIDER_NATIVE };
    any_size a;
    NEED_COMPILER();
    any_size_open(&a, OPEN_COUNT, 9000, &options);
    ck_assert_int_gt(any_size_run(&a, 9000), 0);
    ck_assert_int_gt(any_size_run(&a, 20000), 0);
}

/*
 * By default the actual sizes say who computes: from 2 rows to 2^28 multiplications the library's own kernels, below
 * and above cuBLASLt. Nothing is compiled for a new size, on either side of a border.
 */
TEST(test_sizes_by_default)
{
    static const struct { int64_t rows; bool native; } sizes[] = {
        { 64, true }, { 1, false }, { 2, true }, { 7, true }, { 20648, true }, { 20649, false }, { 20800, false },
        { 513, true },
    };
    any_size a;
    NEED_COMPILER();
    NEED_FAKE_BLAS();
    any_size_open(&a, OPEN_ROWS, 1, NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int kernels = any_size_run(&a, sizes[i].rows);
        ck_assert_msg((kernels > 0) == sizes[i].native, "%d rows: %d kernels", (int)sizes[i].rows, kernels);
    }
}

/* ---- no memory ---- */

/* All memory that the library has, after which the driver has none. */
static int take_all(lfuse_device *dev, lfuse_tensor **all, int most)
{
    int n = 0;
    arrange("cuMemAlloc:1:2");
    for (int64_t piece = 1 << 25; piece >= 256 && n < most;)
        if (lfuse_tensor_create(dev, LFUSE_U8, 1, &piece, &all[n])) piece /= 2;
        else n++;
    return n;
}

/* Tiles are not split then; where every algorithm of the vendor's wants workspace, the own kernels are taken. */
TEST(test_no_memory)
{
    static const struct { lfuse_type type; int64_t m, k; const char *greedy; } products[] = {
        { LFUSE_F32, 40, 3000, NULL }, { LFUSE_F64, 9, 16, "1" },
    };
    lfuse_tensor *taken[256];
    NEED_COMPILER();
    NEED_FAKE_BLAS();
    setenv("FAKECUDA_QUICK", "0", 1);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        const int64_t m = products[i].m, k = products[i].k, a[] = { m, k }, b[] = { k, 40 }, c[] = { m, 40 };
        lfuse_graph *g = new_graph();
        if (products[i].greedy) setenv("FAKECUDA_GREEDY", products[i].greedy, 1);
        arrange("");
        lfuse_device *dev = new_device("cuda:0");
        lfuse_stream *s = new_stream(dev);
        lfuse_output(g, "c", lfuse_matmul(lfuse_input(g, "a", products[i].type, 2, a),
                                          lfuse_input(g, "b", products[i].type, 2, b)));
        lfuse_plan *plan = new_plan(dev, g, NULL);
        lfuse_tensor *ta = new_tensor(dev, products[i].type, 2, a), *tb = new_tensor(dev, products[i].type, 2, b);
        lfuse_tensor *tc = new_tensor(dev, products[i].type, 2, c);
        const int n = take_all(dev, taken, 256);
        const uint64_t kernels = fake_last()->launches;
        hear(LFUSE_LOG_WARN);
        RUN(plan, s, BIND("a", ta), BIND("b", tb), BIND("c", tc));
        hear(LFUSE_LOG_NONE);
        OK(lfuse_stream_synchronize(s));
        ck_heard("products do without workspace");
        ck_assert_uint_eq(fake_last()->launches, kernels + 1); /* a kernel, and in one phase */
        for (int j = 0; j < n; j++) lfuse_tensor_destroy(taken[j]);
        drop_all();
    }
    arrange("");
}

static void multiply(lfuse_device *dev, lfuse_stream *s, lfuse_type type, int64_t size)
{
    const int64_t shape[] = { size, size };
    lfuse_tensor *t[3];
    for (int i = 0; i < 3; i++) t[i] = new_tensor(dev, type, 2, shape);
    OK(lfuse_gemm(s, 0, 0, 1, t[0], t[1], 0, t[2]));
    OK(lfuse_stream_synchronize(s));
}

/* cuBLASLt takes 50 ms to load: for its own products alone. */
TEST(test_loaded_late)
{
    NEED_COMPILER();
    setenv("FAKECUDA_QUICK", "0", 1);
    arrange("");
    lfuse_device *dev = new_device("cuda:0");
    lfuse_stream *s = new_stream(dev);
    multiply(dev, s, LFUSE_F32, 64);
    multiply(dev, s, LFUSE_F32, 512);
    ck_assert(!atomic_load(&lfuse__cu_blas.tried));
    multiply(dev, s, LFUSE_F16, 128);
    ck_assert(atomic_load(&lfuse__cu_blas.tried));
}

TEST_SUITE("cuda-fake products", CK_FORK_GETENV)
