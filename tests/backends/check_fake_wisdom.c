/* SPDX-License-Identifier: Apache-2.0 */
/* Wisdom about cuBLASLt's algorithms, over a driver and a cuBLASLt in host memory. */
#include <limits.h>
#include <unistd.h>

#include "common/tune/wisdom.h"
#include "libfuse.h"
#include "tests/backends/fake_rig.h"
#include "tests/support/files.h"

static char file[PATH_MAX];

static void setup(void)
{
    const char *where = getenv("TMPDIR");

    load_fakes();
    snprintf(file, sizeof file, "%s/lfuse-wisdom-XXXXXX", where && *where == '/' ? where : "/tmp");
    int made = mkstemp(file);
    ck_assert_int_ge(made, 0);
    close(made);
    unlink(file);
    setenv("LFUSE_WISDOM", file, 1);
}

static void teardown(void)
{
    unlink(file);
    nothing_is_left();
}

static lfuse_tensor *filled(lfuse_device *dev, int rank, const int64_t *shape, double value)
{
    lfuse_tensor *t = new_tensor(dev, LFUSE_F32, rank, shape);

    OK(lfuse_tensor_fill(t, NULL, value));
    return t;
}

/* One product on a device of its own. *scratch: one of the fake's algorithms takes some; *timed: batches that are. */
static void multiply(lfuse_effort effort, uint64_t *scratch, uint64_t *timed)
{
    const int64_t left[] = { 4, 8 }, right[] = { 8, 16 }, result[] = { 4, 16 };
    const lfuse_plan_options options = { .effort = effort, .provider = LFUSE_PROVIDER_VENDOR };
    const uint64_t before = fake_calls("cuEventElapsedTime");
    lfuse_device *dev = new_device("cuda:0");
    lfuse_stream *s = new_stream(dev);
    lfuse_graph *g = new_graph();
    float got[64];

    lfuse_output(g, "c", lfuse_matmul(lfuse_input(g, "a", LFUSE_F32, 2, left),
                                      lfuse_input(g, "b", LFUSE_F32, 2, right)));
    lfuse_plan *plan = new_plan(dev, g, &options);
    lfuse_tensor *a = filled(dev, 2, left, 2), *b = filled(dev, 2, right, 3);
    lfuse_tensor *c = new_tensor(dev, LFUSE_F32, 2, result);
    RUN(plan, s, BIND("a", a), BIND("b", b), BIND("c", c));
    OK(lfuse_stream_synchronize(s));
    OK(lfuse_tensor_read(c, NULL, got));
    for (int i = 0; i < 64; i++) ck_assert(got[i] == 48);
    *scratch = lfuse_plan_scratch(plan, s);
    *timed = fake_calls("cuEventElapsedTime") - before;
    drop_all();
}

/* The file's one line. */
static void read_line(char *line, size_t size)
{
    char text[2 * LFUSE__WISDOM_LINE_BYTES];

    read_file(file, text, sizeof text);
    const char *second = strchr(text, '\n') + 1;
    snprintf(line, size, "%.*s", (int)strcspn(second, "\n"), second);
}

static void write_line(const char *line)
{
    lfuse__wisdom_place place;
    lfuse__wisdom w = { 0 };

    unlink(file);
    OK(lfuse__wisdom_put(&w, line, strlen(line)));
    OK(lfuse__wisdom_place_at(file, &place));
    OK(lfuse__wisdom_save(&place, &w));
    lfuse__wisdom_place_close(&place);
    lfuse__wisdom_clear(&w);
}

/* The same line with another algorithm. */
static void name_algorithm(const char *line, const char *number)
{
    const char *at = strstr(line, "\tcublaslt\tlt");
    char other[LFUSE__WISDOM_LINE_BYTES];

    snprintf(other, sizeof other, "%.*s\tcublaslt\tlt%s.t0.s0.k0.r0.z0.o0.i0.c0\t1", (int)(at - line), line, number);
    write_line(other);
}

TEST_CASE("wisdom", .setup = setup, .teardown = teardown, .limit = 120)

TEST(test_wisdom)
{
    char line[LFUSE__WISDOM_LINE_BYTES], changed[LFUSE__WISDOM_LINE_BYTES];
    uint64_t scratch, timed;

    NEED_COMPILER();
    NEED_FAKE_BLAS();
    multiply(LFUSE_EFFORT_MEASURE, &scratch, &timed);
    ck_assert_uint_gt(timed, 0);
    read_line(line, sizeof line);
    ck_assert_ptr_nonnull(strstr(line, "\tcuda\t"));
    char *version = strstr(line, "\tcuBLASLt 13.0.0\tgemm:4x16x8:f32:nn:ld8,16,16\tcublaslt\tlt");
    ck_assert_msg(version != NULL, "%s", line);
    for (lfuse_effort effort = LFUSE_EFFORT_ESTIMATE; effort <= LFUSE_EFFORT_MEASURE; effort++) {
        name_algorithm(line, "7");
        multiply(effort, &scratch, &timed);
        ck_assert_uint_gt(scratch, 0);
        ck_assert_uint_eq(timed, 0);
        name_algorithm(line, "8");
        multiply(effort, &scratch, &timed);
        ck_assert_uint_eq(scratch, 0);
        ck_assert_uint_eq(timed, 0);
    }
    name_algorithm(line, "9"); /* which is not there: the heuristic's first */
    multiply(LFUSE_EFFORT_ESTIMATE, &scratch, &timed);
    ck_assert_uint_gt(scratch, 0);
    ck_assert_uint_eq(timed, 0);
    name_algorithm(line, "8");
    read_line(changed, sizeof changed);
    changed[version - line + (ptrdiff_t)strlen("\tcuBLASLt 1")] = '4'; /* of version 14.0.0 */
    write_line(changed);
    multiply(LFUSE_EFFORT_ESTIMATE, &scratch, &timed);
    ck_assert_uint_gt(scratch, 0);
}

/* The fake has no kernels, so one of the layer's alternatives cannot be tried: the estimate's first one stays. */
TEST(test_trial)
{
    const int64_t left[] = { 4, 8 }, right[] = { 8, 16 }, result[] = { 4, 16 };
    const lfuse_plan_options options = { .effort = LFUSE_EFFORT_MEASURE, .provider = LFUSE_PROVIDER_VENDOR };
    lfuse_graph *g = new_graph();
    float got[64];
    char text[4096];

    NEED_COMPILER();
    NEED_FAKE_BLAS();
    lfuse_device *dev = new_device("cuda:0");
    lfuse_stream *s = new_stream(dev);
    lfuse_output(g, "c", lfuse_relu(lfuse_add(lfuse_matmul(lfuse_input(g, "a", LFUSE_F32, 2, left),
                                                           lfuse_input(g, "b", LFUSE_F32, 2, right)),
                                              lfuse_input(g, "bias", LFUSE_F32, 1, &right[1]))));
    lfuse_plan *plan = new_plan(dev, g, &options);
    lfuse_tensor *a = filled(dev, 2, left, 2), *b = filled(dev, 2, right, 3), *bias = filled(dev, 1, &right[1], 5);
    lfuse_tensor *c = new_tensor(dev, LFUSE_F32, 2, result);
    RUN(plan, s, BIND("a", a), BIND("b", b), BIND("bias", bias), BIND("c", c));
    OK(lfuse_stream_synchronize(s));
    OK(lfuse_tensor_read(c, NULL, got));
    for (int i = 0; i < 64; i++) ck_assert(got[i] == 53);
    drop_all();
    read_file(file, text, sizeof text);
    ck_assert_msg(strstr(text, "\tgemm:4x16x8:f32:") && !strstr(text, "\tstage:"), "%s", text);
}

/*
 * A product of 64 x 128, or a layer, by the given provider, launches of `quick` groups being fast; the name of the
 * choice, and the work-groups of the last launch by what is known then.
 */
static void tile(lfuse_provider provider, bool layer, const char *quick, char *choice, size_t size, unsigned *groups)
{
    const int64_t left[] = { 64, 128 }, right[] = { 128, 128 };
    lfuse_graph *g = lfuse_graph_create();
    char text[4096];

    lfuse_value v = lfuse_matmul(lfuse_input(g, "a", LFUSE_F32, 2, left), lfuse_input(g, "b", LFUSE_F32, 2, right));
    const lfuse_value by = lfuse_input(g, "by", LFUSE_F32, 2, left);
    v = lfuse_add(v, lfuse_input(g, "bias", LFUSE_F32, 1, &right[1]));
    lfuse_output(g, "c", layer ? lfuse_mul(v, by) : v);
    for (lfuse_effort effort = LFUSE_EFFORT_MEASURE; effort >= LFUSE_EFFORT_ESTIMATE; effort--) {
        const lfuse_plan_options options = { .effort = effort, .provider = provider };
        setenv("FAKECUDA_QUICK", quick, 1);
        lfuse_device *dev = new_device("cuda:0");
        lfuse_stream *s = new_stream(dev);
        lfuse_tensor *a = new_tensor(dev, LFUSE_F32, 2, left), *b = new_tensor(dev, LFUSE_F32, 2, right);
        lfuse_tensor *bias = new_tensor(dev, LFUSE_F32, 1, &right[1]), *c = new_tensor(dev, LFUSE_F32, 2, left);
        lfuse_plan *plan = new_plan(dev, g, &options);
        uint64_t timed = fake_calls("cuEventElapsedTime");
        RUN(plan, s, BIND("a", a), BIND("b", b), BIND("bias", bias), BIND("by", a), BIND("c", c));
        OK(lfuse_stream_synchronize(s));
        timed = fake_calls("cuEventElapsedTime") - timed;
        ck_assert_msg((timed > 0) == (effort == LFUSE_EFFORT_MEASURE), "effort %d: %d times", (int)effort, (int)timed);
        drop_all();
        unsetenv("FAKECUDA_QUICK");
    }
    lfuse_graph_destroy(g);
    *groups = fake_last()->grid;
    read_file(file, text, sizeof text);
    char *at = strstr(text, "\tplan\t");
    ck_assert_msg(at != NULL, "%s", text);
    snprintf(choice, size, "%.*s", (int)strcspn(at + 6, "\t"), at + 6);
    unlink(file);
}

/* Of the library's own product each likely tiling is timed, and beside the vendor's where nobody says whose it is. */
TEST(test_tilings)
{
    static const struct {
        lfuse_provider provider;
        bool layer;
        const char *quick, *choice;
        unsigned groups;
    } cases[] = { { LFUSE_PROVIDER_NATIVE, true, "8", "native 32x32x", 8 },
                  { LFUSE_PROVIDER_DEFAULT, true, "16", "native 16x32x", 16 },
                  { LFUSE_PROVIDER_DEFAULT, false, "0", "vendor-epilogue", 0 } };
    char choice[64];
    unsigned groups;

    NEED_COMPILER();
    NEED_FAKE_BLAS();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile(cases[i].provider, cases[i].layer, cases[i].quick, choice, sizeof choice, &groups);
        ck_assert_msg(!strncmp(choice, cases[i].choice, strlen(cases[i].choice)), "case %zu: %s", i, choice);
        if (cases[i].groups) ck_assert_uint_eq(groups, cases[i].groups);
    }
}

/* Who wins by less than a tenth does not win: timed by themselves, products say that little of a network. */
TEST(test_margin)
{
    static const struct {
        const char *quick;
        bool taken;
    } cases[] = { { "8:95:100", false }, { "8:91:100", false }, { "8:89:100", true }, { "8:85:100", true } };
    char first[64], choice[64];
    unsigned groups;

    NEED_COMPILER();
    NEED_FAKE_BLAS();
    tile(LFUSE_PROVIDER_NATIVE, true, "7:100:100", first, sizeof first, &groups);
    ck_assert_uint_ne(groups, 8);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile(LFUSE_PROVIDER_NATIVE, true, cases[i].quick, choice, sizeof choice, &groups);
        ck_assert_msg((groups == 8) == cases[i].taken && !strcmp(choice, first) != cases[i].taken, "%s: %s, not %s",
                      cases[i].quick, choice, first);
    }
}

/* A network of three layers, of which one run may be timed; its last launch. */
static const fakecuda_launch *run_network(lfuse_effort effort, uint64_t disable, bool *timed)
{
    const lfuse_plan_options options = { .effort = effort, .provider = LFUSE_PROVIDER_NATIVE, .disable = disable };
    const int64_t row[] = { 1, 128 }, square[] = { 128, 128 };
    lfuse_graph *g = new_graph();
    lfuse_value v = lfuse_input(g, "x", LFUSE_F32, 2, row);

    for (int i = 0; i < 3; i++)
        v = lfuse_relu(lfuse_matmul(v, lfuse_input(g, (const char *[]){ "w0", "w1", "w2" }[i], LFUSE_F32, 2, square)));
    lfuse_output(g, "y", v);
    lfuse_device *dev = new_device("cuda:0");
    lfuse_stream *s = new_stream(dev);
    lfuse_tensor *x = new_tensor(dev, LFUSE_F32, 2, row), *w = new_tensor(dev, LFUSE_F32, 2, square);
    lfuse_tensor *y = new_tensor(dev, LFUSE_F32, 2, row);
    lfuse_plan *plan = new_plan(dev, g, &options);
    uint64_t before = fake_calls("cuEventElapsedTime");
    RUN(plan, s, BIND("x", x), BIND("w0", w), BIND("w1", w), BIND("w2", w), BIND("y", y));
    OK(lfuse_stream_synchronize(s));
    *timed = fake_calls("cuEventElapsedTime") > before;
    drop_all();
    return fake_last();
}

/* One launch for a network is measured against its layers one by one, each of those in its fastest tiling. */
TEST(test_network)
{
    char quick[32], text[8192];
    bool timed;

    NEED_COMPILER();
    setenv("FAKECUDA_QUICK", "0", 1);
    unsigned layers = run_network(LFUSE_EFFORT_ESTIMATE, LFUSE_NO_NETWORK, &timed)->grid;
    ck_assert(!timed && !fake_last()->resident);
    for (int apart = 0; apart < 2; apart++) {
        unlink(file);
        ck_assert(run_network(LFUSE_EFFORT_ESTIMATE, 0, &timed)->resident && !timed);
        ck_assert_uint_ne(fake_last()->grid, layers);
        /* Three launches of 93 us against one of 100: less than a tenth; then of 87. */
        snprintf(quick, sizeof quick, "%u:%d:100", layers, apart ? 29 : 31);
        setenv("FAKECUDA_QUICK", quick, 1);
        ck_assert_int_eq(!run_network(LFUSE_EFFORT_MEASURE, 0, &timed)->resident, apart);
        ck_assert(timed);
        for (lfuse_effort effort = LFUSE_EFFORT_ESTIMATE; effort <= LFUSE_EFFORT_MEASURE; effort++) {
            ck_assert_int_eq(!run_network(effort, 0, &timed)->resident, apart);
            ck_assert(!timed);
        }
        read_file(file, text, sizeof text);
        ck_assert_msg(strstr(text, "\tnetwork:1x128x128:f32:") && strstr(text, "\tstage:1x128x128:f32:") &&
                      strstr(text, apart ? "\tplan\tstages\t" : "\tplan\tnetwork\t"), "%s", text);
    }
    unsetenv("FAKECUDA_QUICK");
}

TEST_SUITE("cuda-fake wisdom", CK_FORK_GETENV)
