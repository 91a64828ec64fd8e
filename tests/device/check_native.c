/* SPDX-License-Identifier: Apache-2.0 */
/* Native graphs on the stub: what is followed, what of it is patched, and what is no fit. */
#include "tests/device/rig.h"

enum { N = 16, BYTES = N * sizeof(float) };

/* y = W(3) x over W(2) elements; W(0) and W(1) are byte offsets. */
static const char scaling[] =
    "KERNEL(scaling, 1, 4, PARAMS_2)\n"
    "{\n"
    "    memory x = BUFFER(0) + W(0), y = BUFFER(1) + W(1);\n"
    "    for (u64 i = GROUP(); i < W(2); i += GROUPS()) STORE_f32(y, (i64)i, W(3) * LOAD_f32(x, (i64)i));\n"
    "}\n";

static lfuse__kernel *kernel, *second;
static lfuse__gemm *gemm;
static lfuse__range *x, *y, *z;
static lfuse__native *g; /* what is captured */

/* What is submitted: two launches, a product, a copy and a fill, with one thing of each that may be another. */
typedef struct work {
    uint64_t factor, groups;
    lfuse__range *of;
    double alpha;
    uint64_t copied, pattern;
    bool swapped, without_copy, without_fill;
} work;

static const work usual = { .factor = 2, .groups = 3, .alpha = 1, .copied = 8, .pattern = 5 };

static lfuse_status scale(lfuse__kernel *k, lfuse__range *from, lfuse__range *to, uint64_t factor, uint64_t groups)
{
    lfuse__bmem *buffers[] = { from->mem, to->mem };
    const uint64_t words[] = { from->offset, to->offset, N, factor };
    const lfuse__launch_args args = { .groups = groups, .group = 1, .nbuffers = 2, .nwords = 4, .buffers = buffers,
                                      .words = words };

    return lfuse__launch(s, k, &args);
}

static lfuse_status submit(const work *w)
{
    const lfuse__gemm_args product = { .alpha = w->alpha, .a = x->mem, .b = x->mem, .c = z->mem, .a_offset = x->offset,
                                       .b_offset = x->offset, .c_offset = z->offset };

    LFUSE__TRY(scale(w->swapped ? second : kernel, w->of ? w->of : x, y, w->factor, w->groups));
    LFUSE__TRY(scale(w->swapped ? kernel : second, y, y, 3, 2));
    LFUSE__TRY(lfuse__gemm_run(s, gemm, &product));
    if (!w->without_copy) LFUSE__TRY(lfuse__copy(s, z, 32, x, 0, w->copied));
    return w->without_fill ? LFUSE_OK : lfuse__fill(s, z, 48, w->pattern, 4, 8);
}

static lfuse__backend moved; /* the stub, whose handles get other addresses when the test says so */
static uint64_t moved_by;

static void moved_info(lfuse__bmem *mem, lfuse__mem_info *info)
{
    lfuse__stub_backend.mem_info(mem, info);
    info->address += moved_by;
}

static void destroy_captured(void *kept)
{
    (void)kept;
    lfuse__native_destroy(g);
    g = NULL;
    lfuse__gemm_destroy(gemm);
}

static void setup(void)
{
    const lfuse__gemm_desc desc = { .type = LFUSE_F32, .m = 2, .n = 2, .k = 2, .lda = 2, .ldb = 2, .ldc = 2 };
    lfuse__gemm_candidate c;
    float ones[N];
    int count;

    test_stub_begin();
    lfuse__stub.gemm_workspace = 0;
    moved = lfuse__stub_backend;
    moved.mem_info = moved_info;
    moved_by = 0;
    lfuse__registry_extra(&moved);
    open_device();
    kernel = kernel_of(scaling, "scaling"), second = kernel_of(scaling, "scaling");
    OK(lfuse__gemm_candidates(dev, &desc, 1, &c, &count));
    OK(lfuse__gemm_prepare(dev, &desc, &c, &gemm));
    x = take(BYTES), y = take(BYTES), z = take(BYTES);
    objects_own(&g, destroy_captured);
    for (int i = 0; i < N; i++) ones[i] = 1;
    OK(lfuse__write(s, x, 0, ones, sizeof ones));
    OK(lfuse__write(s, z, 0, ones, sizeof ones));
    OK(lfuse_stream_synchronize(s));
}

static uint64_t submissions(void)
{
    return lfuse__stub_calls(LFUSE__STUB_launch) + lfuse__stub_calls(LFUSE__STUB_gemm_run) +
           lfuse__stub_calls(LFUSE__STUB_copy);
}

static void capture(const work *w)
{
    OK(lfuse__native_begin(s));
    OK(submit(w));
    OK(lfuse__native_end(s, &g));
}

static bool follow(const work *w)
{
    const uint64_t submitted = submissions();
    bool fits;

    OK(lfuse__native_follow(s, g));
    OK(submit(w));
    OK(lfuse__native_settle(s, g, &fits));
    ck_assert_uint_eq(submissions(), submitted);
    return fits;
}

static float result(lfuse__range *of, int i)
{
    float got[N];

    OK(lfuse__native_launch(s, g));
    OK(lfuse__read(s, of, 0, got, sizeof got));
    OK(lfuse_stream_synchronize(s));
    return got[i];
}

TEST_CASE("graphs", .setup = setup, .teardown = end)

TEST(test_patched)
{
    work w = usual;
    capture(&w);
    ck_assert_float_eq(result(y, N - 1), 6);
    ck_assert(follow(&w));
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_graph_patch), 0);
    w.factor = 5;
    ck_assert(follow(&w));
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_graph_patch), 1);
    ck_assert_float_eq(result(y, N - 1), 15);
    w.groups = 1, w.of = z;
    ck_assert(follow(&w));
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_graph_patch), 2);
    ck_assert_float_eq(result(y, N - 1), 15); /* z's last ones are not written */
    ck_assert_float_eq(result(y, 0), 30); /* of the product */
}

/* A handle that was freed may come again with another address: launches of it are patched. */
TEST(test_handle_with_another_address)
{
    OK(lfuse__native_begin(s));
    OK(scale(kernel, x, y, 2, 3));
    OK(lfuse__native_end(s, &g));
    const uint64_t patches = lfuse__stub_calls(LFUSE__STUB_graph_patch);
    bool fits = false;
    for (int turn = 0; turn < 2; turn++) {
        moved_by = turn ? 4096 : 0;
        OK(lfuse__native_follow(s, g));
        OK(scale(kernel, x, y, 2, 3));
        OK(lfuse__native_settle(s, g, &fits));
        ck_assert(fits);
        ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_graph_patch), patches + (uint64_t)turn);
    }
}

/* What is no fit changes nothing; captured anew it is an update where the commands are the same. */
TEST_LOOP(test_no_fit, 0, 7)
{
    static const struct {
        work w;
        bool same;
    } cases[] = {
        { { .factor = 7, .groups = 3, .alpha = 2, .copied = 8, .pattern = 5 }, true },
        { { .factor = 7, .groups = 3, .alpha = 1, .copied = 4, .pattern = 5 }, true },
        { { .factor = 7, .groups = 3, .alpha = 1, .copied = 8, .pattern = 6 }, true },
        { { .factor = 7, .groups = 3, .alpha = 1, .copied = 8, .pattern = 5, .swapped = true }, false },
        { { .factor = 7, .groups = 3, .alpha = 1, .pattern = 5, .without_copy = true }, false },
        { { .factor = 7, .groups = 3, .alpha = 1, .copied = 8, .without_fill = true }, false },
        { { .factor = 7, .groups = 0, .alpha = 1, .copied = 8, .pattern = 5 }, false },
    };
    ck_assert_int_lt(_i, (int)(sizeof cases / sizeof cases[0]));
    capture(&usual);
    ck_assert(!follow(&cases[_i].w));
    ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_graph_patch), 0);
    ck_assert(follow(&usual));
    ck_assert_float_eq(result(y, N - 1), 6);
    ck_assert(!follow(&cases[_i].w));
    lfuse__stub_counters before = lfuse__stub_counters_now();
    capture(&cases[_i].w);
    lfuse__stub_counters after = lfuse__stub_counters_now();
    ck_assert_uint_eq(after.graph_updates - before.graph_updates, cases[_i].same);
    ck_assert(follow(&cases[_i].w));
    ck_assert_float_eq(result(y, N - 1), cases[_i].w.groups ? 21 : 18);
}

TEST(test_order)
{
    lfuse__native *none = NULL;
    bool fits = true;
    capture(&usual);
    FAILS(LFUSE_ERR_STATE, lfuse__native_settle(s, g, &fits));
    ck_assert(!fits);
    FAILS(LFUSE_ERR_STATE, lfuse__native_end(s, &none));
    OK(lfuse__native_follow(s, g));
    FAILS(LFUSE_ERR_STATE, lfuse__native_begin(s));
    FAILS(LFUSE_ERR_STATE, lfuse__native_follow(s, g));
    OK(lfuse__native_settle(s, g, &fits)); /* fewer commands than it holds */
    ck_assert(!fits);
    OK(lfuse__native_begin(s));
    FAILS(LFUSE_ERR_STATE, lfuse__native_begin(s));
    OK(lfuse__native_end(s, &none)); /* of nothing at all */
    OK(lfuse__native_launch(s, none));
    lfuse__native_destroy(none);
}

TEST(test_patches_that_fail)
{
    bool fits = true;
    work w = usual;
    capture(&w);
    w.factor = 9;
    lfuse__stub.patches = false;
    OK(lfuse__native_follow(s, g));
    OK(submit(&w));
    FAILS(LFUSE_ERR_UNSUPPORTED, lfuse__native_settle(s, g, &fits));
    ck_assert(!fits);
    lfuse__stub.patches = true;
    lfuse__stub_fail(LFUSE__STUB_graph_patch, 1, false, LFUSE_ERR_DEVICE_MEMORY);
    OK(lfuse__native_follow(s, g));
    OK(submit(&w));
    FAILS(LFUSE_ERR_DEVICE_MEMORY, lfuse__native_settle(s, g, &fits));
    ck_assert(!fits);
    ck_assert(follow(&w)); /* what was not patched is still known */
    ck_assert_float_eq(result(y, N - 1), 27);
}

static lfuse_status scenario(lfuse_device *device)
{
    lfuse__native *made = NULL;
    lfuse__range *r = NULL;
    lfuse_stream *own = NULL;
    lfuse_status status = lfuse_stream_create(device, &own);

    if (!status) status = lfuse__range_create(device, BYTES, &r);
    for (int i = 0; i < 2 && !status; i++) {
        status = lfuse__native_begin(own);
        if (!status) {
            status = lfuse__fill(own, r, 0, (uint64_t)i, 4, BYTES);
            lfuse_status ended = lfuse__native_end(own, &made);
            if (!status) status = ended;
        }
    }
    if (!status) status = lfuse__native_launch(own, made);
    lfuse__native_destroy(made);
    lfuse__range_release(r);
    lfuse_stream_destroy(own);
    return status;
}

TEST_CASE("graphs")

TEST(test_any_call_fails)
{
    test_faults(scenario, LFUSE_ERR_DEVICE, NULL);
}

TEST_SUITE("native", CK_NOFORK)
