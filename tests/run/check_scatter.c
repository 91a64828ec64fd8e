/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of many scattered rows, by sorted indices: bit for bit the canonical sums over all positions of what is added
 * where the row is named and of 0 elsewhere. On the stub and on the devices of this machine.
 */
#include "tests/run/rig.h"

enum { MOST = 1 << 16 };

/* y = the sums; z = the same in words, where asked for. Any number of rows, so that they may be many. */
static lfuse_plan *plan_of(int64_t positions, int64_t rest, bool words)
{
    const lfuse_size rows = lfuse_size_var(g, "rows", 1, INT64_C(1) << 30);
    const lfuse_value x = lfuse_input(g, "x", F32(positions, rest));
    const lfuse_value at = lfuse_input(g, "at", I32(positions));
    const lfuse_value row = lfuse_reshape(lfuse_index(g, 1, &rows), SHAPE(rows, 1, 1));
    const lfuse_value named = lfuse_reshape(lfuse_cast(at, LFUSE_I64), SHAPE(1, positions, 1));

    lfuse_output(g, "y", lfuse_scatter_add(x, at, rows));
    if (words)
        lfuse_output(g, "z", lfuse_sum(lfuse_where(lfuse_eq(row, named),
                                                   lfuse_reshape(x, SHAPE(1, positions, rest)),
                                                   lfuse_constant(g, 0)), 1, (const int[]){ 1 }, 0));
    return new_plan(dev, g, NULL);
}

typedef struct problem {
    int64_t positions, rows, rest;
    int pattern;
} problem;

enum { SPREAD, ONE_ROW, FEW_ROWS_NAMED, DESCENDING, NEVER };
static const problem problems[] = {
    { 2600, 300, 5, SPREAD },  { 1500, 5000, 3, SPREAD },     { 5000, 7, 2, SPREAD },       { 3000, 40, 17, ONE_ROW },
    { 1024, 64, 16, SPREAD },  { 1025, 63, 1, DESCENDING },   { 1, 1, 4, ONE_ROW },         { 130, 4097, 1, SPREAD },
    { 2, 3, 33, ONE_ROW },     { 4100, 90, 4, FEW_ROWS_NAMED }, { 700, 256, 3, NEVER },
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static int32_t index_of(const problem *p, int64_t i)
{
    switch (p->pattern) {
    case ONE_ROW: return (int32_t)(p->rows / 2);
    case FEW_ROWS_NAMED: return (int32_t)(i % 7 ? 3 : i % p->rows);
    case DESCENDING: return (int32_t)(p->rows - 1 - i % p->rows);
    case NEVER: return (int32_t)(p->rows - 1 - i % 2);
    default: return (int32_t)((uint64_t)i * 2654435761u % (uint64_t)p->rows);
    }
}

/* Of many sizes, so that the order of additions tells; and some that are not numbers, or -0. */
static float element_of(int64_t i, bool odd)
{
    static const float special[] = { -0.0f, INFINITY, -INFINITY, NAN, 1e-44f, -0.0f };
    const float x = ldexpf((float)((i * 7919) % 2003 - 1000), (int)(i * 31 % 23) - 11);

    return odd && i % 5 == 2 ? special[i / 5 % 6] : x;
}

static lfuse_tensor *indices_of(const problem *p)
{
    static int32_t host[MOST];

    for (int64_t i = 0; i < p->positions; i++) host[i] = index_of(p, i);
    lfuse_tensor *t = new_tensor(dev, I32(p->positions));
    OK(lfuse_tensor_write(t, NULL, host));
    return t;
}

static lfuse_tensor *source_of(const problem *p, bool odd)
{
    static float host[MOST];
    lfuse_tensor *t = tensor(SHAPE(p->positions, p->rest));

    ck_assert_int_le(p->positions * p->rest, MOST);
    for (int64_t i = 0; i < p->positions * p->rest; i++) host[i] = element_of(i, odd);
    OK(lfuse_tensor_write(t, NULL, host));
    return t;
}

static void compare(const problem *p, lfuse_plan *plan, bool odd)
{
    lfuse_tensor *at = indices_of(p), *x = source_of(p, odd), *y = tensor(SHAPE(p->rows, p->rest)),
                 *z = tensor(SHAPE(p->rows, p->rest));
    static float is[MOST];

    for (int again = 0; again < 2; again++) {
        RUN(plan, stream, BIND("x", x), BIND("at", at), BIND("y", y), BIND("z", z), lfuse_bind_size("rows", p->rows));
        memcpy(is, values(y), (size_t)(p->rows * p->rest) * sizeof *is);
        const float *wanted = values(z);
        for (int64_t i = 0; i < p->rows * p->rest; i++)
            ck_assert_msg(!memcmp(&is[i], &wanted[i], sizeof *is) || (isnan(is[i]) && isnan(wanted[i])),
                          "%lld to %lld x %lld, row %lld: %a is not %a", (long long)p->positions, (long long)p->rows,
                          (long long)p->rest, (long long)(i / p->rest), (double)is[i], (double)wanted[i]);
    }
    drop(z), drop(y), drop(x), drop(at);
}

static void all_problems(void)
{
    for (int i = 0; i < PROBLEMS; i++) {
        g = lfuse_graph_create();
        lfuse_plan *plan = plan_of(problems[i].positions, problems[i].rest, true);
        compare(&problems[i], plan, false);
        compare(&problems[i], plan, true);
        drop(plan);
        lfuse_graph_destroy(g);
        g = NULL;
    }
}

TEST_CASE("sums", .setup = open_stub, .teardown = close_stub)

TEST_LOOP(on_the_stub, 0, 2)
{
    reopen_stub_as(_i);
    all_problems();
}

TEST(on_devices)
{
    if (!on_each_device(all_problems)) TEST_SKIP("no device on this machine");
}

/* The launches: words, three for each digit of the rows' number, where rows begin, sums. */
TEST(launches_by_digits)
{
    const problem p = { 300, 4095, 2, SPREAD };
    lfuse_plan *plan = plan_of(p.positions, p.rest, false);
    lfuse_tensor *at = indices_of(&p), *x = source_of(&p, false), *y = tensor(SHAPE(p.rows, p.rest));
    const lfuse_binding b[] = { BIND("x", x), BIND("at", at), BIND("y", y), lfuse_bind_size("rows", p.rows) };

    OK(lfuse_plan_run(plan, stream, b, 4));
    LAUNCHES(1 + 2 * 3 + 2, OK(lfuse_plan_run(plan, stream, b, 4)));
    drop(x), drop(at);
    drop(plan);
}

/* Such rows are left out, the others are not. */
TEST(indices_out_of_range)
{
    lfuse_plan *plan = plan_of(3, 2, false);
    lfuse_tensor *x = ramp(SHAPE(3, 2), 1, 1), *y = tensor(SHAPE(4, 2));
    static const int32_t host[] = { 3, 4, 3 };

    lfuse_tensor *at = new_tensor(dev, I32(3));
    OK(lfuse_tensor_write(at, NULL, host));
    RUN(plan, stream, BIND("x", x), BIND("at", at), BIND("y", y), lfuse_bind_size("rows", 4));
    SAYS(LFUSE_ERR_INDEX, lfuse_stream_synchronize(stream), "(scatter 3 x 2 (y (scatter_add x at rows)))");
    ck_assert_float_eq(values(y)[6], 6);
    ck_assert_float_eq(values(y)[7], 8);
    ck_assert_float_eq(values(y)[4], 0);
    drop(plan);
}

/* Sizes that no memory could hold are not reached; rows are numbered in 32 bits. */
TEST(too_many_rows)
{
    const lfuse_size rows = lfuse_size_var(g, "rows", 1, INT64_C(1) << 40);

    lfuse_output(g, "y", lfuse_scatter_add(lfuse_input(g, "x", F32(3)), lfuse_input(g, "at", I32(3)), rows));
    lfuse_plan *plan = new_plan(dev, g, NULL);
    lfuse_tensor *at = new_tensor(dev, I32(3));
    lfuse_tensor *one = ramp(SHAPE(3), 1, 1);
    lfuse__stub.sparse_bytes = 1 << 20;
    lfuse_tensor *sums = new_tensor(dev, F32(INT64_C(1) << 31));
    {
        FAILS(LFUSE_ERR_UNSUPPORTED, lfuse_plan_run(plan, stream, BINDINGS(BIND("x", one), BIND("at", at),
                                                                           BIND("y", sums))));
    }
}

TEST_SUITE("scattered rows", CK_NOFORK)
