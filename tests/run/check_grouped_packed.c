/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of lists on a stub with tensor cores: members whose rows are no whole chunks, or begin elsewhere, are packed
 * in front of them.
 */
#include "common/base/half.h"
#include "tests/run/rig.h"
#include "tests/support/heard.h"

enum { MEMBERS = 6, ODD = 1, SHIFTED = 2, WHOLE = 0, PLAIN_LAUNCHES = 1, PACKED_LAUNCHES = 2 };
static const int64_t sides[MEMBERS][3] = { { 40, 48, 64 }, { 33, 65, 131 }, { 17, 24, 40 },
                                           { 0, 8, 8 },    { 8, 16, 0 },    { 70, 9, 8 } };

static void open_warps(void)
{
    open_stub();
    lfuse__stub.addresses = lfuse__stub.gpu = lfuse__stub.tensor_cores = true;
    lfuse__stub.vector_lanes = false;
    lfuse__stub.simd = 32, lfuse__stub.max_group = 1024, lfuse__stub.compute_units = 1;
    reopen_stub();
}

/* Small integers: products are exact. */
static double element(int64_t i)
{
    return (double)(i * 7 % 11) - 5;
}

/* Of f16: element i of it is element(i + start), and it begins `shift` elements behind what it is a view of. */
static lfuse_tensor *matrix(int64_t rows, int64_t columns, int64_t start, int64_t shift)
{
    const int64_t count = rows * columns;
    lfuse_tensor *whole = new_tensor(dev, LFUSE_F16, SHAPE(count + shift)), *t;
    uint16_t *host = new_memory((size_t)(count + 1) * sizeof *host);

    t = new_view(whole, SHAPE(rows, columns), NULL, shift);
    for (int64_t i = 0; i < count; i++) host[i] = lfuse__double_to_f16(element(i + start));
    OK(lfuse_tensor_write(t, NULL, host));
    return t;
}

typedef struct lists {
    lfuse_tensor *a[MEMBERS], *b[MEMBERS], *c[MEMBERS];
    lfuse_list *of[3];
    int count;
    const int64_t (*sides)[3];
} lists;

/* Products of the members `from` ... `from` + count - 1 of `all`; those of number `shifted` begin within a chunk. */
static lists make_lists(const int64_t (*all)[3], int from, int count, int shifted)
{
    lists l = { .count = count, .sides = all + from };

    for (int i = 0; i < count; i++) {
        const int64_t m = l.sides[i][0], n = l.sides[i][1], k = l.sides[i][2];
        l.a[i] = matrix(m, k, i, from + i == shifted);
        l.b[i] = matrix(k, n, i + 3, from + i == shifted);
        l.c[i] = tensor(SHAPE(m, n));
        OK(lfuse_tensor_fill(l.c[i], NULL, NAN));
    }
    l.of[0] = new_list(dev, LFUSE_F16, count, l.a);
    l.of[1] = new_list(dev, LFUSE_F16, count, l.b);
    l.of[2] = new_list(dev, LFUSE_F32, count, l.c);
    return l;
}

/* Element 0 of the member's A is element(start). */
static void check_member(const lists *l, int i, int64_t start)
{
    const int64_t m = l->sides[i][0], n = l->sides[i][1], k = l->sides[i][2];
    const float *c = values(l->c[i]);

    for (int64_t at = 0; at < m * n; at++) {
        double sum = 0;
        for (int64_t e = 0; e < k; e++) sum += element(at / n * k + e + start) * element(e * n + at % n + i + 3);
        ck_assert_msg(c[at] == (float)sum, "%lld x %lld x %lld: element %lld is %g, not %g", (long long)m, (long long)n,
                      (long long)k, (long long)at, (double)c[at], sum);
    }
}

static void run(lfuse_plan *plan, const lists *l, uint64_t wanted)
{
    LAUNCHES(wanted, RUN(plan, stream, BIND("a", l->of[0]), BIND("b", l->of[1]), BIND("c", l->of[2])));
    OK(lfuse_stream_synchronize(stream));
}

static lfuse_plan *plan_of(lfuse_transport transport)
{
    const lfuse_plan_options options = { .transport = transport };
    lfuse_graph *graph = new_graph();
    const lfuse_value a = lfuse_list_input(graph, "a", LFUSE_F16, LFUSE_RANK_MATRIX);
    const lfuse_value b = lfuse_list_input(graph, "b", LFUSE_F16, LFUSE_RANK_MATRIX);

    lfuse_output(graph, "c", lfuse_member_matmul_as(a, 0, b, 0, LFUSE_F32, LFUSE_PRECISION_FULL));
    return new_plan(dev, graph, &options);
}

TEST_CASE("packed members", .setup = open_warps, .teardown = close_stub)

TEST_LOOP(by_each_transport, LFUSE_TRANSPORT_DEFAULT, LFUSE_TRANSPORT_TABLE + 1)
{
    const lists l = make_lists(sides, 0, MEMBERS, SHIFTED);
    lfuse_plan *plan = plan_of((lfuse_transport)_i);

    for (int pass = 0; pass < 2; pass++) run(plan, &l, PACKED_LAUNCHES);
    for (int i = 0; i < MEMBERS; i++) check_member(&l, i, i);
}

TEST(one_launch_without_such)
{
    const lists whole = make_lists(sides, WHOLE, 1, -1), odd = make_lists(sides, ODD, 1, -1),
                shifted = make_lists(sides, SHIFTED, 1, SHIFTED), as_it_lies = make_lists(sides, SHIFTED, 1, -1);

    run(plan_of(LFUSE_TRANSPORT_DEFAULT), &whole, PLAIN_LAUNCHES);
    run(plan_of(LFUSE_TRANSPORT_DEFAULT), &as_it_lies, PLAIN_LAUNCHES);
    run(plan_of(LFUSE_TRANSPORT_DEFAULT), &odd, PACKED_LAUNCHES);
    run(plan_of(LFUSE_TRANSPORT_DEFAULT), &shifted, PACKED_LAUNCHES);
    check_member(&shifted, 0, 0);
}

/* What is packed is so from wherever it lies; what was not, is read where it lies, if that is within a chunk, too. */
TEST(replaced)
{
    const lists l = make_lists(sides, 0, MEMBERS, SHIFTED);
    lfuse_plan *plan = plan_of(LFUSE_TRANSPORT_ARGS);
    lfuse_tensor *others[SHIFTED + 1];

    run(plan, &l, PACKED_LAUNCHES);
    for (int i = 0; i <= SHIFTED; i++) others[i] = matrix(sides[i][0], sides[i][2], 20 + i, i != SHIFTED);
    OK(lfuse_list_replace(l.of[0], 0, SHIFTED + 1, others));
    run(plan, &l, PACKED_LAUNCHES);
    for (int i = 0; i <= SHIFTED; i++) check_member(&l, i, 20 + i);
}

/* Takes all memory that there is in pieces of `least` bytes and more. */
static void take_memory(int64_t least)
{
    lfuse__stub_live live;
    lfuse_tensor *t;

    lfuse__stub_live_get(&live);
    lfuse__stub.memory_bytes = live.bytes;
    for (int64_t bytes = 1 << 24; bytes >= least;)
        if (lfuse_tensor_create(dev, U8(bytes), &t)) bytes /= 2;
        else own_tensor(t);
}

/* Without memory for copies members are read where they lie. */
TEST(no_memory_for_copies)
{
    static const int64_t large[][3] = { { 501, 3, 1001 } };
    const lists l = make_lists(large, 0, 1, -1);
    lfuse_plan *plan = plan_of(LFUSE_TRANSPORT_DEFAULT);

    take_memory(1 << 16);
    hear(LFUSE_LOG_WARN);
    run(plan, &l, PLAIN_LAUNCHES);
    hear(LFUSE_LOG_NONE);
    ck_heard("products do without workspace");
    check_member(&l, 0, 0);
    lfuse__stub.memory_bytes = (uint64_t)1 << 42;
}

TEST_SUITE("packed members of lists", CK_FORK)
