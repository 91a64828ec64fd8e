/* SPDX-License-Identifier: Apache-2.0 */
/* The tuner over candidates that are made up: as many commands as they cost, each of which takes the stub 1 us. */
#include "common/tune/tuner.h"
#include "tests/tune/wisdom_rig.h"

enum { MOST = 4 };
static const char *const names[MOST] = { "zero", "one", "two", "three" };

/* A problem. */
typedef struct made {
    int count, cost[MOST]; /* 0: it fails */
    lfuse_status set_up;   /* what becomes of that */
    lfuse__range *range;
    int set, torn, prepared, released; /* calls */
} made;

static lfuse_status list(void *context, int *count)
{
    const made *m = context;

    *count = m->count;
    return LFUSE_OK;
}

static lfuse__candidate_name name(void *context, int i)
{
    (void)context;
    return (lfuse__candidate_name){ "made", names[i] };
}

static lfuse_status set_up(void *context, lfuse_stream *s)
{
    made *m = context;

    m->set++;
    ck_assert_ptr_ne(s, stream);
    if (m->set_up == LFUSE_NOT_READY) return m->set_up;
    if (m->set_up) return lfuse__error(m->set_up, "it cannot be set up");
    return lfuse__range_create(dev, 64, &m->range);
}

static void tear_down(void *context)
{
    made *m = context;

    m->torn++;
    lfuse__range_release(m->range);
    m->range = NULL;
}

static lfuse_status prepare(void *context, int i)
{
    made *m = context;

    m->prepared++;
    return m->cost[i] ? LFUSE_OK : lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s fails", names[i]);
}

static void release(void *context, int i)
{
    made *m = context;

    (void)i;
    m->released++;
}

static lfuse_status run(void *context, int i, lfuse_stream *s)
{
    const made *m = context;

    for (int k = 0; k < m->cost[i]; k++) LFUSE__TRY(lfuse__fill(s, m->range, 0, 0, 4, 64));
    return LFUSE_OK;
}

static lfuse__candidates candidates_of(made *m, const char *problem, bool measure)
{
    return (lfuse__candidates){ .problem = problem, .title = "title", .measure = measure, .context = m, .list = list,
                                .name = name, .set_up = set_up, .tear_down = tear_down, .prepare = prepare,
                                .release = release, .run = run };
}

/* Who is chosen of them, and whether anything was measured for that. */
static void check_choice(made *m, const lfuse__candidates *c, int wanted, bool measured)
{
    int chosen = 77;

    m->set = m->torn = m->prepared = m->released = 0;
    OK(lfuse__tune(dev, stream, c, &chosen));
    ck_assert_int_eq(chosen, wanted);
    ck_assert_int_eq(m->set, measured);
    ck_assert_int_eq(m->torn, measured);
    ck_assert_int_eq(m->prepared, m->released);
    ck_assert_str_eq(lfuse__error_message(), "");
}

TEST_CASE("tuner", .setup = open_with_file, .teardown = close_and_remove)

TEST(by_wisdom_else_by_measurement)
{
    made m = { .count = 4, .cost = { 9, 7, 3, 5 } };
    const lfuse__candidates asked = candidates_of(&m, "made:1", false), measured = candidates_of(&m, "made:1", true);
    const lfuse__candidates other = candidates_of(&m, "made:2", false);

    check_choice(&m, &asked, -1, false);
    check_choice(&m, &measured, 2, true);
    ck_assert_int_eq(m.prepared, 4);
    ck_heard("title: two takes 3.000 us");
    check_lines(file, 1);
    m.cost[2] = 20; /* which nobody will notice */
    check_choice(&m, &asked, 2, false);
    check_choice(&m, &measured, 2, false);
    check_choice(&m, &other, -1, false);
    reopen();
    check_choice(&m, &asked, 2, false);
}

/* The first that works stays unless another takes less than that share of its time. */
TEST(the_margin)
{
    static const struct { int cost[MOST]; double margin; int wanted; } cases[] = {
        { { 10, 9, 11, 12 }, 0, 1 }, { { 10, 9, 11, 12 }, 0.85, 0 }, { { 10, 8, 11, 12 }, 0.85, 1 },
        { { 0, 10, 9, 12 }, 0.85, 1 }, { { 0, 10, 9, 8 }, 0.85, 3 },
    };
    char problem[16];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made m = { .count = 4 };
        lfuse__candidates c = candidates_of(&m, problem, true);
        snprintf(problem, sizeof problem, "made:%zu", i);
        memcpy(m.cost, cases[i].cost, sizeof m.cost);
        c.margin = cases[i].margin;
        check_choice(&m, &c, cases[i].wanted, true);
    }
    ck_heard("title: zero fails: zero fails");
}

/* Before each run of a batch other memory is filled, whose time does not count. */
TEST(the_cache_is_overwritten)
{
    for (int i = 0; i < 2; i++) {
        made m = { .count = 2, .cost = { 3, 2 } };
        lfuse__candidates c = candidates_of(&m, i ? "made:1" : "made:0", true);
        lfuse__stub.native_graph = i;
        reopen();
        c.evict_bytes = 4096;
        const uint64_t memories = lfuse__stub_calls(LFUSE__STUB_alloc);
        check_choice(&m, &c, 1, true);
        ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_alloc), memories + 1);
        ck_heard("title: one takes 2.000 us");
        ck_heard("title: zero takes 3.000 us");
    }
}

TEST(no_memory_to_overwrite_the_cache)
{
    made m = { .count = 2, .cost = { 3, 2 } };
    lfuse__candidates c = candidates_of(&m, "made:1", true);
    c.evict_bytes = (uint64_t)1 << 60;
    check_choice(&m, &c, 1, true);
    ck_heard("title is measured with the cache as it is: ");
    ck_heard("title: one takes 2.000 us");
}

/* Nothing to choose among, before or after it is set up. */
TEST(less_than_two)
{
    made m = { .count = 1, .cost = { 1, 2, 3, 4 } };
    const lfuse__candidates c = candidates_of(&m, "made:1", true);

    check_choice(&m, &c, -1, false);
    m.count = 2;
    m.set_up = LFUSE_NOT_READY;
    check_choice(&m, &c, -1, true);
    ck_assert_ptr_null(strstr(heard, "not measured"));
    m.set_up = LFUSE_OK;
    check_choice(&m, &c, 0, true);
}

static int find_none(void *context, const lfuse__wise_choice *named)
{
    (void)context;
    ck_assert_str_eq(named->identity, "three");
    return -1;
}

TEST(a_candidate_that_is_gone)
{
    made m = { .count = 4, .cost = { 9, 7, 5, 3 } };
    lfuse__candidates c = candidates_of(&m, "made:1", true);

    check_choice(&m, &c, 3, true);
    m.count = 3;
    c.measure = false;
    check_choice(&m, &c, -1, false);
    ck_heard("made:1: wisdom names made three, which is not there any more: the estimate is "
                                        "taken");
    m.count = 4;
    c.find = find_none;
    check_choice(&m, &c, -1, false);
    m.count = 3;
    c.find = NULL;
    c.measure = true;
    check_choice(&m, &c, 2, true);
    ck_heard("which is not there any more: it is measured anew");
    check_lines(file, 1);
}

/* An error of the caller, or a line of the log. */
TEST(failures)
{
    made m = { .count = 2, .cost = { 0, 0 } };
    lfuse__candidates c = candidates_of(&m, "made:1", true);
    lfuse__saved_error before;
    int chosen;

    lfuse__error_save(&before);
    check_choice(&m, &c, -1, true);
    ck_heard("made:1: not measured: none of 2 algorithms works: one fails");
    c.required = true;
    FAILS(LFUSE_ERR_UNSUPPORTED, lfuse__tune(dev, stream, &c, &chosen));
    ck_assert_int_eq(m.set, m.torn);
    m.set_up = LFUSE_ERR_DEVICE_MEMORY;
    lfuse__error_restore(&before);
    check_choice(&m, &c, -1, true);
    ck_heard("warning: made:1 is not measured, the estimate is taken: it cannot be set up");
}

TEST_SUITE("tune", CK_FORK_GETENV)
