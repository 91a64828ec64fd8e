/* SPDX-License-Identifier: Apache-2.0 */
/* Products of the OpenCL backend, on every OpenCL device, behind the layer of tests/layer. */
#include <pthread.h>

#ifdef HAVE_CLBLAST
#include "backends/opencl/gemm_paths.h"
#endif
#include "tests/backends/opencl_rig.h"

static double entry(int64_t row, int64_t column, int64_t salt)
{
    return (double)((row * 7 + column * 3 + salt) % 11 - 5);
}

static void put(void *data, lfuse_type type, int64_t i, double value)
{
    if (type == LFUSE_F64) ((double *)data)[i] = value;
    else ((float *)data)[i] = (float)value;
}

static double get(const void *data, lfuse_type type, int64_t i)
{
    return type == LFUSE_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static int64_t count_of(const lfuse__gemm_desc *d)
{
    return d->batch ? d->batch : 1;
}

/* What the caller says of a batch: whether A, whether B are the same for all; the matrices lie one element apart. */
static void set_strides(lfuse__gemm_desc *d)
{
    if (!d->batch) return;
    d->stride_a = d->stride_a ? (d->ta ? d->k : d->m) * d->lda + 1 : 0;
    d->stride_b = d->stride_b ? (d->tb ? d->n : d->k) * d->ldb + 1 : 0;
    d->stride_c = d->m * d->ldc + 1;
}

static int gap = 2;

/* Offsets of 3, 5 and 7 elements, leading dimensions larger by a gap than they must be. Matrices of a batch differ. */
static void check_way(lfuse__bstream *s, lfuse__gemm_desc d, double beta, int way)
{
    enum { WORDS = 20000 };
    static double a[WORDS], bb[WORDS], c[WORDS], in[WORDS];
    size_t size = lfuse_type_size(d.type);
    lfuse__gemm_candidate candidates[3];
    lfuse__gemm_args args = { .alpha = 2, .beta = beta, .a_offset = 3 * size, .b_offset = 5 * size,
                              .c_offset = 7 * size };
    lfuse__bgemm *g;
    int count = 0;

    d.lda = (d.ta ? d.m : d.k) + gap, d.ldb = (d.tb ? d.k : d.n) + gap, d.ldc = d.n + gap;
    set_strides(&d);
    for (int64_t i = 0; i < WORDS * 8 / (int64_t)size; i++)
        put(a, d.type, i, NAN), put(bb, d.type, i, NAN), put(c, d.type, i, beta == 0 ? NAN : -1);
    for (int64_t x = 0; x < count_of(&d); x++) {
        const int64_t in_a = 3 + x * d.stride_a, in_b = 5 + x * d.stride_b;
        for (int64_t i = 0; i < d.m; i++)
            for (int64_t l = 0; l < d.k; l++)
                put(a, d.type, in_a + (d.ta ? l * d.lda + i : i * d.lda + l), entry(i, l, d.stride_a ? x + 1 : 1));
        for (int64_t l = 0; l < d.k; l++)
            for (int64_t j = 0; j < d.n; j++)
                put(bb, d.type, in_b + (d.tb ? j * d.ldb + l : l * d.ldb + j), entry(l, j, d.stride_b ? x + 4 : 4));
    }
    OK(b->gemm_candidates(t.dev, &d, 3, candidates, &count));
    ck_assert_int_gt(count, way);
    OK(b->gemm_prepare(t.dev, &d, &candidates[way], &g));
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, sizeof a, &args.a));
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, sizeof bb, &args.b));
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, sizeof c, &args.c));
    OK(b->write(s, args.a, 0, a, sizeof a));
    OK(b->write(s, args.b, 0, bb, sizeof bb));
    OK(b->write(s, args.c, 0, c, sizeof c));
    OK(b->gemm_run(s, g, &args));
    read_all(s, args.c, 0, in, sizeof in);
    for (int64_t e = 0; e < count_of(&d) * d.m * d.n; e++) {
        const int64_t x = e / (d.m * d.n), i = e / d.n % d.m, j = e % d.n, at = 7 + x * d.stride_c + i * d.ldc + j;
        double sum = 0;
        for (int64_t l = 0; l < d.k; l++)
            sum += entry(i, l, d.stride_a ? x + 1 : 1) * entry(l, j, d.stride_b ? x + 4 : 4);
        sum = 2 * sum - beta;
        ck_assert_msg(get(in, d.type, at) == sum, "[%d, %d, %d]: %g, not %g", (int)x, (int)i, (int)j,
                      get(in, d.type, at), sum);
        put(in, d.type, at, get(c, d.type, at));
    }
    ck_assert_mem_eq(in, c, sizeof in); /* nothing else was written */
    args.a_offset++;
    FAILS(LFUSE_ERR_UNSUPPORTED, b->gemm_run(s, g, &args));
    b->free(args.c);
    b->free(args.b);
    b->free(args.a);
    b->gemm_destroy(g);
}

static void check_gemm(lfuse__bstream *s, lfuse__gemm_desc d, double beta)
{
    check_way(s, d, beta, 0);
}

/* A batch of whole tiles without gaps by all ways that are offered: operands that CLBlast need not copy. */
static void check_tight_batch(bool ta)
{
    lfuse__gemm_candidate candidates[3];
    lfuse__gemm_desc d = { .type = LFUSE_F32, .m = 128, .n = 64, .k = 96, .ta = ta, .batch = 2, .stride_a = 1,
                           .stride_b = 1, .lda = ta ? 128 : 96, .ldb = 64, .ldc = 64 };
    int count = 0;

    OK(b->gemm_candidates(t.dev, &d, 3, candidates, &count));
    gap = 0;
    for (int way = 0; way < count; way++) check_way(t.s, d, 0, way);
    gap = 2;
}

static lfuse_status try_gemm(lfuse__gemm_desc desc)
{
    lfuse__gemm_candidate candidate;
    int count;
    return b->gemm_candidates(t.dev, &desc, 1, &candidate, &count);
}

OPENCL_SLOTS(.before = enumerate, .teardown = end)

TEST_LOOP(test_gemm, 0, device_count)
{
    const lfuse__gemm_desc base = { .type = LFUSE_F32, .m = 17, .n = 33, .k = 29, .lda = 29, .ldb = 33, .ldc = 33 };
    lfuse__gemm_desc d = base;
    lfuse__gemm_candidate first;
    lfuse__facts f;
    lfuse__bstream *s;
    int count = 0;

    test_without_optimisation(true); /* all kernels are CLBlast's */
    set_up(&t, _i);
    long programs = layer.live("program");
    OK(b->facts(t.dev, &f));
    if (try_gemm(base) == LFUSE_ERR_LIBRARY || try_gemm(base) == LFUSE_ERR_UNSUPPORTED)
        TEST_SKIP("%s", lfuse__error_message());
    layer.arm("clBuildProgram", 1, 0, CL_OUT_OF_RESOURCES);
    OK(b->gemm_candidates(t.dev, &base, 1, &first, &count));
    ck_assert_int_eq(count, 1);
    FAILS(LFUSE_ERR_DEVICE_MEMORY, b->gemm_prepare(t.dev, &base, &first, &(lfuse__bgemm *){ NULL }));
    layer.arm(NULL, 0, 0, 0);
    FAILS(LFUSE_ERR_UNSUPPORTED, b->gemm_prepare(t.dev, &base, &(lfuse__gemm_candidate){ .identity = "other" },
                                                 &(lfuse__bgemm *){ NULL }));
    for (int form = 0; form < 4; form++) {
        d.ta = form & 1, d.tb = form & 2;
        check_gemm(t.s, d, 0);
        check_gemm(t.s, d, 3);
    }
    for (int form = 0; form < 4; form++) {
        d.ta = form & 1, d.tb = form & 2, d.batch = 3, d.stride_a = form != 1, d.stride_b = form != 2;
        check_gemm(t.s, d, form & 1 ? 3 : 0);
    }
    d.batch = d.stride_a = d.stride_b = 0;
    check_tight_batch(true);
    check_tight_batch(false);
    cl_command_queue queue = queue_of(t.dev, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    if (queue != NULL) {
        OK(b->stream_wrap(t.dev, queue, &s));
        lfuse__cl.ReleaseCommandQueue(queue);
        check_gemm(s, d, 0);
        b->stream_destroy(s);
    }
    d.type = LFUSE_F64;
    if (f.info.f64) check_gemm(t.s, d, 1);
    else FAILS(LFUSE_ERR_UNSUPPORTED, try_gemm(d));
    d.type = LFUSE_F16;
    FAILS(LFUSE_ERR_UNSUPPORTED, try_gemm(d));
    d.type = LFUSE_BF16;
    FAILS(LFUSE_ERR_UNSUPPORTED, try_gemm(d));
    d.wide = true;
    FAILS(LFUSE_ERR_UNSUPPORTED, try_gemm(d));
    d = base, d.tf32 = true;
    ck_assert(!f.info.tf32);
    FAILS(LFUSE_ERR_UNSUPPORTED, try_gemm(d));
    d = base, d.epilogue = LFUSE__EP_RELU;
    FAILS(LFUSE_ERR_UNSUPPORTED, try_gemm(d));
    d = base, d.inputs[LFUSE__INPUT_SCALE].taken = true;
    FAILS(LFUSE_ERR_UNSUPPORTED, try_gemm(d));
    if (f.info.svm) {
        lfuse__gemm_candidate c;
        lfuse__gemm_args args = { .alpha = 1 };
        lfuse__bgemm *g;
        OK(b->gemm_candidates(t.dev, &base, 1, &c, &count));
        OK(b->gemm_prepare(t.dev, &base, &c, &g));
        OK(b->alloc(t.dev, LFUSE__ALLOC_UNIFIED, 8192, &args.a));
        args.b = args.c = args.a;
        FAILS(LFUSE_ERR_UNSUPPORTED, b->gemm_run(t.s, g, &args));
        b->free(args.a);
        b->gemm_destroy(g);
    }
    /* CLBlast keeps its programs. */
    t.live += layer.live("program") - programs;
}

/* Products of matrices of ones, submitted by a thread of its own. */
typedef struct errand {
    lfuse__bstream *s;
    lfuse__bgemm *g;
    lfuse__bmem *in, *out;
    lfuse_status status;
} errand;

enum { EDGE = 64, TURNS = 40 };

static void *run_errand(void *data)
{
    errand *e = data;
    const lfuse__gemm_args args = { .alpha = 1, .a = e->in, .b = e->in, .c = e->out };

    for (int i = 0; i < TURNS && e->status == LFUSE_OK; i++) e->status = b->gemm_run(e->s, e->g, &args);
    if (e->status == LFUSE_OK) e->status = b->stream_sync(e->s);
    return NULL;
}

static long launches_of(lfuse__bgemm *g, lfuse__bmem *in, lfuse__bmem *out)
{
    const long before = layer.calls("clEnqueueNDRangeKernel");
    const lfuse__gemm_args args = { .alpha = 1, .a = in, .b = in, .c = out };

    OK(b->gemm_run(t.s, g, &args));
    OK(b->stream_sync(t.s));
    return layer.calls("clEnqueueNDRangeKernel") - before;
}

/*
 * Which operands CLBlast takes as they lie depends on what the device is tuned for: where one of them may be such, a
 * batch goes the direct way alone.
 */
static void check_batch_ways(void)
{
    static const struct {
        bool ta, tb;
        int a, b, c, ways; /* gaps */
    } rows[] = {
        { false, false, 1, 1, 1, 2 }, { false, false, 0, 1, 1, 1 }, { true, false, 0, 1, 1, 1 },
        { false, false, 1, 0, 1, 1 }, { false, true, 1, 0, 1, 2 },  { false, false, 1, 1, 0, 1 },
    };
    const lfuse__gemm_candidate indirect = { .identity = "clblast-indirect" };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lfuse__gemm_desc d = { .type = LFUSE_F32, .m = 32, .n = 64, .k = 96, .ta = rows[i].ta, .tb = rows[i].tb,
                               .batch = 2, .lda = (rows[i].ta ? 32 : 96) + rows[i].a,
                               .ldb = (rows[i].tb ? 96 : 64) + rows[i].b, .ldc = 64 + rows[i].c };
        lfuse__gemm_candidate c[3];
        int count = 0;
        d.stride_a = d.stride_b = d.stride_c = 100 * 100;
        OK(b->gemm_candidates(t.dev, &d, 3, c, &count));
        ck_assert_msg(count == rows[i].ways, "row %zu: %d ways", i, count);
        if (count > 1) continue;
        ck_assert_str_eq(c[0].identity, "clblast-direct");
        FAILS(LFUSE_ERR_UNSUPPORTED, b->gemm_prepare(t.dev, &d, &indirect, &(lfuse__bgemm *){ NULL }));
    }
}

/* On both sides of the size from which on CLBlast needs memory for copies, its own choice comes first. */
static void check_own_way(void)
{
#ifdef HAVE_CLBLAST
    lfuse__cl_threshold *threshold;

    OK(lfuse__cl_threshold_find(t.dev, LFUSE_F32, &threshold));
    ck_assert_int_eq(lfuse__cl_threshold_set(threshold, threshold->own), CLBlastSuccess);
    for (size_t edge = threshold->own > 1 ? threshold->own - 1 : 1; edge <= threshold->own; edge++) {
        const int64_t n = (int64_t)edge, ld = n + 1;
        const lfuse__gemm_desc d = { .type = LFUSE_F32, .m = n, .n = n, .k = n, .lda = ld, .ldb = ld, .ldc = ld };
        lfuse__gemm_candidate c;
        size_t bytes = 0;
        int count;
        ck_assert_int_eq(lfuse__clblast.SGemmTempBufferSize(CLBlastLayoutRowMajor, CLBlastTransposeNo,
                                                            CLBlastTransposeNo, edge, edge, edge, 1, edge + 1, 1,
                                                            edge + 1, 1, edge + 1, &t.s->queue, &bytes),
                         CLBlastSuccess);
        OK(b->gemm_candidates(t.dev, &d, 1, &c, &count));
        ck_assert_str_eq(c.identity, bytes > 0 ? "clblast-indirect" : "clblast-direct");
    }
#else
    (void)t;
#endif
}

TEST_LOOP(test_two_ways, 0, device_count)
{
    static float ones[EDGE * EDGE], in[EDGE * EDGE];
    const lfuse__gemm_desc d = { .type = LFUSE_F32, .m = EDGE, .n = EDGE, .k = EDGE, .lda = EDGE, .ldb = EDGE,
                                 .ldc = EDGE };
    const lfuse__gemm_desc odd = { .type = LFUSE_F32, .m = 17, .n = 33, .k = 29 };
    lfuse__gemm_desc large = d, batch = odd;
    lfuse__gemm_candidate c[3], other[3];
    errand errands[2];
    pthread_t threads[2];
    long launches[2], expected = 0;
    int count = 0;

    test_without_optimisation(true);
    set_up(&t, _i);
    long programs = layer.live("program");
    if (b->gemm_candidates(t.dev, &d, 3, c, &count) != LFUSE_OK || count < 2)
        TEST_SKIP("%s", count ? "this CLBlast does not let its caller choose" : lfuse__error_message());
    ck_assert_str_eq(c[0].identity, "clblast-direct");
    ck_assert_str_eq(c[1].identity, "clblast-indirect");
    large.m = large.n = large.k = large.lda = large.ldb = large.ldc = 1 << 17;
    OK(b->gemm_candidates(t.dev, &large, 3, other, &count));
    ck_assert_int_eq(count, 2); /* CLBlast's own choice comes first */
    ck_assert_str_eq(other[0].identity, "clblast-indirect");
    ck_assert_str_eq(other[1].identity, "clblast-direct");
    check_own_way();
    check_batch_ways();
    FAILS(LFUSE_ERR_UNSUPPORTED, b->gemm_prepare(t.dev, &d, &(lfuse__gemm_candidate){ .identity = "clblast" },
                                                 &(lfuse__bgemm *){ NULL }));
    check_way(t.s, odd, 0, 1);
    check_way(t.s, odd, 3, 0);
    check_way(t.s, odd, 3, 1);
    batch.batch = 3, batch.stride_a = batch.stride_b = 1, batch.tb = true;
    check_way(t.s, batch, 3, 1);
    for (int i = 0; i < EDGE * EDGE; i++) ones[i] = 1;
    for (int i = 0; i < 2; i++) {
        errands[i] = (errand){ .status = LFUSE_OK };
        OK(b->stream_create(t.dev, &errands[i].s));
        OK(b->gemm_prepare(t.dev, &d, &c[i], &errands[i].g));
        OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, sizeof ones, &errands[i].in));
        OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, sizeof ones, &errands[i].out));
        OK(b->write(t.s, errands[i].in, 0, ones, sizeof ones));
        launches[i] = launches_of(errands[i].g, errands[i].in, errands[i].out);
        expected += TURNS * launches[i];
    }
    ck_assert_int_eq(launches[0], 1); /* the kernel; the other way makes copies before */
    ck_assert_int_gt(launches[1], 1);
    long before = layer.calls("clEnqueueNDRangeKernel");
    for (int i = 0; i < 2; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, run_errand, &errands[i]), 0);
    for (int i = 0; i < 2; i++) ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_int_eq(layer.calls("clEnqueueNDRangeKernel") - before, expected); /* each went its own way each time */
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(errands[i].status, LFUSE_OK);
        read_all(t.s, errands[i].out, 0, in, sizeof in);
        for (int e = 0; e < EDGE * EDGE; e++) ck_assert(in[e] == EDGE);
        b->free(errands[i].out);
        b->free(errands[i].in);
        b->gemm_destroy(errands[i].g);
        b->stream_destroy(errands[i].s);
    }
    t.live += layer.live("program") - programs;
}

TEST_SUITE("opencl products", CK_NOFORK)
