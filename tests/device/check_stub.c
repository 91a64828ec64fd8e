/* SPDX-License-Identifier: Apache-2.0 */
/* The waist's wrappers over the stub: memory, streams, events, programs, products, native graphs, and their faults. */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/device/rig.h"

enum { N = 1000 };

/* y = 2 x over W(2) elements; W(0) and W(1) are byte offsets. */
static const char doubling[] =
    "KERNEL(doubling, 1, 3, PARAMS_2)\n"
    "{\n"
    "    memory x = BUFFER(0) + W(0), y = BUFFER(1) + W(1);\n"
    "    for (u64 i = GROUP(); i < W(2); i += GROUPS()) STORE_f32(y, (i64)i, 2 * LOAD_f32(x, (i64)i));\n"
    "}\n";

static lfuse_status launch_doubling(lfuse_stream *on, lfuse__kernel *kernel, lfuse__range *x, lfuse__range *y, int n)
{
    lfuse__bmem *buffers[] = {x->mem, y->mem};
    const uint64_t words[] = {x->offset, y->offset, (uint64_t)n};
    const lfuse__launch_args args = {.groups = 4, .group = 1, .nbuffers = 2, .nwords = 3, .buffers = buffers,
                                     .words = words};
    return lfuse__launch(on, kernel, &args);
}

/* ---- what works ---- */

/* Everything that a program does with a device, in one function: the scenario of the fault loops. */
static lfuse_status whole(lfuse_device *device)
{
    static float given[N], got[N];
    lfuse_stream *first = NULL, *other = NULL;
    lfuse_event *e = NULL;
    lfuse__range *x = NULL, *y = NULL;
    lfuse__program *program = NULL;
    lfuse__kernel *kernel = NULL;
    lfuse_status status;

    for (int i = 0; i < N; i++) given[i] = (float)i, got[i] = -1;
    if ((status = lfuse_stream_create(device, &first))) goto out;
    if ((status = lfuse_stream_create(device, &other))) goto out;
    if ((status = lfuse_event_create(device, &e))) goto out;
    if ((status = lfuse__range_create(device, sizeof given, &x))) goto out;
    if ((status = lfuse__range_create(device, sizeof given, &y))) goto out;
    if ((status = lfuse__program_get(device, doubling, &program))) goto out;
    if ((status = lfuse__kernel_create(program, "doubling", &kernel))) goto out;
    if ((status = lfuse__write(first, x, 0, given, sizeof given))) goto out;
    if ((status = lfuse__fill(first, y, 0, 0xffffffff, 4, sizeof given))) goto out;
    if ((status = launch_doubling(first, kernel, x, y, N))) goto out;
    if ((status = lfuse_event_record(e, first))) goto out;
    if ((status = lfuse_event_wait(e, other))) goto out;
    if ((status = lfuse__copy(other, x, 0, y, 0, sizeof given))) goto out;
    if ((status = lfuse__read(other, x, 0, got, sizeof got))) goto out;
    if ((status = lfuse_stream_synchronize(other))) goto out;
    for (int i = 0; i < N; i++) ck_assert_float_eq(got[i], 2 * (float)i);
    if ((status = lfuse_stream_synchronize(first))) goto out;
    status = lfuse_event_query(e);
out:
    lfuse__kernel_destroy(kernel);
    lfuse__program_release(program);
    lfuse__range_release(x);
    lfuse__range_release(y);
    lfuse_event_destroy(e);
    lfuse_stream_destroy(other);
    lfuse_stream_destroy(first);
    return status;
}

static void lazy(void)
{
    lfuse__stub.lazy = true;
}

TEST_CASE("works", .setup = test_stub_begin, .teardown = end)

TEST_LOOP(test_whole, 0, 2)
{
    lfuse__stub_call call;
    lfuse__stub.lazy = _i != 0;
    open_device();
    OK(whole(dev));
    ck_assert(lfuse__stub_call_get(0, &call));
    ck_assert_str_eq(call.kernel, "doubling");
    ck_assert_uint_eq(call.groups, 4);
    ck_assert_uint_eq(call.words[2], N);
}

/* The range is given back while the stream has not yet used it: nobody else may get the memory before. */
TEST(test_memory_waits_for_work)
{
    static float given[N], got[N];
    lazy();
    open_device();
    lfuse_stream *hasty = new_stream(dev);
    for (int i = 0; i < N; i++) given[i] = (float)i;
    lfuse__range *x = take(sizeof given), *y = take(sizeof given);
    OK(lfuse__write(s, x, 0, given, sizeof given));
    OK(lfuse__copy(s, y, 0, x, 0, sizeof given));
    const uint64_t in_use = x->address;
    give_back(x);
    lfuse__range *z = take(sizeof given);
    ck_assert_uint_ne(z->address, in_use);
    OK(lfuse__fill(hasty, z, 0, 0, 4, sizeof given));
    OK(lfuse_stream_synchronize(hasty));
    OK(lfuse__read(s, y, 0, got, sizeof got));
    OK(lfuse_stream_synchronize(s));
    ck_assert(!memcmp(given, got, sizeof got));
}

/* A direct copy between devices holds its source until it is done: the source's own device knows nothing of it. */
TEST(test_copy_holds_its_source)
{
    lazy();
    lfuse__stub.peer = true;
    open_device();
    lfuse__range *from = take_of(new_device("stub:1"), 4 * N), *to = take(4 * N);
    OK(lfuse__copy_across(s, to, 0, from, 0, 4 * N));
    ck_assert_int_eq(atomic_load(&from->references), 2);
    OK(lfuse_stream_synchronize(s));
    ck_assert_int_eq(atomic_load(&from->references), 1);
}

TEST(test_compile_error)
{
    lfuse__program *program;
    open_device();
    SAYS(LFUSE_ERR_COMPILE, lfuse__program_get(dev, "KERNEL(bad, 1, 0, PARAMS_1) { no_such_word(1) }\n", &program),
         "no_such_word");
    OK(whole(dev));
}

/* ---- products ---- */

typedef struct product_case {
    lfuse_type type;
    bool ta, tb;
    bool bias;
    lfuse__epilogue epilogue;
    double alpha, beta;
} product_case;

static const product_case product_cases[] = {
    {LFUSE_F32, false, false, false, LFUSE__EP_NONE, 1, 0}, {LFUSE_F32, true, false, false, LFUSE__EP_NONE, 2, 0},
    {LFUSE_F32, false, true, true, LFUSE__EP_NONE, 1, 0},   {LFUSE_F32, true, true, true, LFUSE__EP_RELU, 1, 0},
    {LFUSE_F32, false, false, false, LFUSE__EP_RELU, -1, 3}, {LFUSE_F64, false, true, false, LFUSE__EP_NONE, 1, 1},
    {LFUSE_F64, true, false, true, LFUSE__EP_RELU, -1, 0},
};

static double element(const void *base, lfuse_type type, int i)
{
    return type == LFUSE_F64 ? ((const double *)base)[i] : ((const float *)base)[i];
}

static void set_element(void *base, lfuse_type type, int i, double x)
{
    if (type == LFUSE_F64)
        ((double *)base)[i] = x;
    else
        ((float *)base)[i] = (float)x;
}

/* Small integers, so that every order of the sums gives the same. */
TEST_LOOP(test_product, 0, sizeof product_cases / sizeof product_cases[0])
{
    enum { M = 5, K = 7, COLUMNS = 4, LD = 9 };
    const product_case *p = &product_cases[_i];
    double buffers[4][LD * LD], before[LD * LD];
    lfuse__range *ranges[4];
    lfuse__gemm_candidate candidates[4];
    lfuse__gemm *gemm;
    int count;
    const lfuse__gemm_desc desc = {.type = p->type, .ta = p->ta, .tb = p->tb, .has_beta = p->beta != 0,
                                   .epilogue = p->epilogue,
                                   .inputs[LFUSE__INPUT_BIAS].taken = p->bias, .m = M, .n = COLUMNS, .k = K,
                                   .lda = LD, .ldb = LD, .ldc = LD};
    open_device();
    for (int b = 0; b < 4; b++) {
        for (int i = 0; i < LD * LD; i++) set_element(buffers[b], p->type, i, (i * (b + 3)) % 5 - 2);
        ranges[b] = take(sizeof buffers[b]);
        OK(lfuse__write(s, ranges[b], 0, buffers[b], sizeof buffers[b]));
    }
    memcpy(before, buffers[2], sizeof before);
    OK(lfuse__gemm_candidates(dev, &desc, 4, candidates, &count));
    ck_assert_int_eq(count, 2);
    lfuse__range *workspace = take(candidates[0].workspace);
    OK(lfuse__gemm_prepare(dev, &desc, &candidates[0], &gemm));
    const lfuse__gemm_args args = {
        .alpha = p->alpha, .beta = p->beta, .a = ranges[0]->mem, .b = ranges[1]->mem, .c = ranges[2]->mem,
        .inputs[LFUSE__INPUT_BIAS] = ranges[3]->mem, .workspace = workspace->mem, .a_offset = ranges[0]->offset,
        .b_offset = ranges[1]->offset, .c_offset = ranges[2]->offset,
        .input_offsets[LFUSE__INPUT_BIAS] = ranges[3]->offset,
        .workspace_offset = workspace->offset};
    OK(lfuse__gemm_run(s, gemm, &args));
    OK(lfuse__read(s, ranges[2], 0, buffers[2], sizeof buffers[2]));
    OK(lfuse_stream_synchronize(s));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < COLUMNS; j++) {
            double want = 0;
            for (int k = 0; k < K; k++)
                want += element(buffers[0], p->type, p->ta ? k * LD + i : i * LD + k) *
                        element(buffers[1], p->type, p->tb ? j * LD + k : k * LD + j);
            want = p->alpha * want + p->beta * element(before, p->type, i * LD + j);
            if (p->bias) want += element(buffers[3], p->type, j);
            if (p->epilogue == LFUSE__EP_RELU && want < 0) want = 0;
            ck_assert_double_eq(element(buffers[2], p->type, i * LD + j), want);
        }
    for (int i = 0; i < M; i++)
        ck_assert_double_eq(element(buffers[2], p->type, i * LD + COLUMNS), element(before, p->type, i * LD + COLUMNS));
    lfuse__gemm_destroy(gemm);
}

TEST(test_product_declined)
{
    lfuse__gemm_candidate candidate;
    lfuse__gemm_desc desc = {.type = LFUSE_F16, .m = 2, .n = 2, .k = 2, .lda = 2, .ldb = 2, .ldc = 2};
    int count;
    open_device();
    OK(lfuse__gemm_candidates(dev, &desc, 1, &candidate, &count));
    lfuse__stub.decline_types = 1u << LFUSE_F16;
    ck_assert_int_eq(lfuse__gemm_candidates(dev, &desc, 1, &candidate, &count), LFUSE_ERR_UNSUPPORTED);
    desc.type = LFUSE_F32;
    desc.inputs[LFUSE__INPUT_BIAS].taken = true;
    OK(lfuse__gemm_candidates(dev, &desc, 1, &candidate, &count));
    lfuse__stub.decline_epilogues = ~1u;
    ck_assert_int_eq(lfuse__gemm_candidates(dev, &desc, 1, &candidate, &count), LFUSE_ERR_UNSUPPORTED);
}

/* ---- native graphs, and the caller's capture ---- */

TEST_CASE("graphs", .setup = begin, .teardown = end)

TEST(test_native_graph)
{
    static float got[4];
    lfuse__native *graph = NULL;
    lfuse__range *x = take(sizeof got);
    for (uint64_t turn = 1; turn <= 2; turn++) {
        OK(lfuse__native_begin(s));
        OK(lfuse__fill(s, x, 0, 0x3f800000 * turn, 4, sizeof got));
        OK(lfuse__native_end(s, &graph));
        OK(lfuse__fill(s, x, 0, 0, 4, sizeof got));
        OK(lfuse__native_launch(s, graph));
        OK(lfuse__read(s, x, 0, got, sizeof got));
        OK(lfuse_stream_synchronize(s));
        uint32_t bits;
        memcpy(&bits, &got[3], sizeof bits);
        ck_assert_uint_eq(bits, (uint32_t)(0x3f800000 * turn));
    }
    lfuse__stub_counters counters = lfuse__stub_counters_now();
    ck_assert_uint_eq(counters.graph_captures, 1);
    ck_assert_uint_eq(counters.graph_updates, 1);
    lfuse__native_destroy(graph);
}

TEST(test_caller_captures)
{
    static float given[2] = {3, 4}, got[2] = {0};
    lfuse__stub_native native = {.capturing = true};
    lfuse__range *x = take(sizeof got), *y = take(sizeof got);
    lfuse_stream *theirs;
    bool capturing = false;
    OK(lfuse_stream_wrap(dev, &native, &theirs));
    ck_assert_ptr_eq(lfuse_stream_native(theirs), &native);
    OK(lfuse__stream_capturing(theirs, &capturing));
    ck_assert(capturing);
    OK(lfuse__copy(theirs, y, 0, x, 0, sizeof got));
    OK(lfuse__write(s, x, 0, given, sizeof given));
    native.capturing = false;
    OK(lfuse_stream_synchronize(s));
    lfuse__stub_native_run(&native);
    OK(lfuse__read(s, y, 0, got, sizeof got));
    OK(lfuse_stream_synchronize(s));
    ck_assert(!memcmp(given, got, sizeof got));
    lfuse__stub_native_clear(&native);
    give_back(x), give_back(y);
    lfuse_stream_destroy(theirs);
    native.foreign = true;
    ck_assert_int_eq(lfuse_stream_wrap(dev, &native, &theirs), LFUSE_ERR_CONTEXT);
}

/* ---- faults ---- */

TEST_CASE("faults")

TEST_LOOP(test_faults_of_whole, 0, 4)
{
    const lfuse_status statuses[] = {LFUSE_ERR_DEVICE_MEMORY, LFUSE_ERR_DEVICE};
    test_faults(whole, statuses[_i % 2], _i / 2 ? lazy : NULL);
}

TEST_LOOP(test_faults_from_opening, 0, 2)
{
    test_faults_from_open(whole, LFUSE_ERR_DEVICE_MEMORY, _i ? lazy : NULL);
}

/* A program that was never seen before, so that it is compiled and not found on disk. */
static lfuse_status compiling(lfuse_device *device)
{
    static int number;
    lfuse__program *program = NULL;
    lfuse__kernel *kernel = NULL;
    char body[sizeof doubling + 64];
    snprintf(body, sizeof body, "%s/* %d of process %d */\n", doubling, number++, (int)getpid());
    lfuse_status status = lfuse__program_get(device, body, &program);
    if (status == LFUSE_OK) status = lfuse__kernel_create(program, "doubling", &kernel);
    lfuse__kernel_destroy(kernel);
    lfuse__program_release(program);
    return status;
}

TEST(test_faults_of_compiling)
{
    test_faults(compiling, LFUSE_ERR_COMPILE, NULL);
}

/* From the call that says so on, all calls say so, without asking the backend, and everything can be given back. */
TEST_LOOP(test_device_lost, 0, 2)
{
    lfuse_device *device;
    for (uint64_t n = 1;; n++) {
        test_stub_begin();
        lfuse__stub.lazy = _i != 0;
        OK(lfuse_device_open("stub:0", &device));
        lfuse__stub_fail(LFUSE__STUB_ANY, n, false, LFUSE_ERR_DEVICE_LOST);
        lfuse_status status = whole(device);
        bool fired = lfuse__stub_fired();
        lfuse__stub_no_failure();
        if (fired && status != LFUSE_OK) {
            ck_assert_int_eq(status, LFUSE_ERR_DEVICE_LOST);
            lfuse__stub_counters before = lfuse__stub_counters_now();
            ck_assert_int_eq(whole(device), LFUSE_ERR_DEVICE_LOST);
            lfuse__stub_counters after = lfuse__stub_counters_now();
            ck_assert_uint_eq(after.calls[LFUSE__STUB_ANY], before.calls[LFUSE__STUB_ANY]);
        }
        lfuse_device_close(device);
        test_stub_end();
        if (!fired) break;
    }
}

/* A child of fork may destroy, which does nothing, and is refused everything else. */
static int use_in_child(lfuse__range *x)
{
    lfuse_device *another;
    uint64_t a, b;
    if (lfuse_device_open("stub:0", &another) != LFUSE_ERR_FORKED) return 1;
    if (lfuse_device_memory(dev, &a, &b) != LFUSE_ERR_FORKED) return 2;
    if (lfuse_stream_synchronize(s) != LFUSE_ERR_FORKED) return 3;
    if (lfuse__fill(s, x, 0, 0, 4, 8) != LFUSE_ERR_FORKED) return 4;
    if (!lfuse_last_error()[0]) return 5;
    lfuse__range_release(x);
    lfuse_stream_destroy(s);
    lfuse_device_close(dev);
    return 0;
}

TEST(test_fork)
{
    int result = -1;
    begin();
    lfuse__range *x = take(64);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) _exit(use_in_child(x));
    ck_assert_int_eq(waitpid(child, &result, 0), child);
    ck_assert(WIFEXITED(result));
    ck_assert_int_eq(WEXITSTATUS(result), 0);
    OK(lfuse__fill(s, x, 0, 0, 4, 8));
    give_back(x);
    end();
}

TEST_SUITE("stub", CK_NOFORK)
