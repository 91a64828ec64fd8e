/* SPDX-License-Identifier: Apache-2.0 */
/* Slices by their ends, padding, look-ups along an axis and powers of integers against loops, through the oracle. */
#include "tests/oracle/rig.h"

enum { MOST = 64 };

static void again(void)
{
    destroy();
    make();
}

static void ck_numbers(int64_t count, const double *wanted)
{
    ck_assert_int_eq(run.results[0].count, count);
    for (int64_t i = 0; i < count; i++)
        ck_assert_msg((double)run.results[0].value[i] == wanted[i], "element %d is %Lg, not %g", (int)i,
                      run.results[0].value[i], wanted[i]);
}

/* The axis as a variable of these bounds, or as the number `extent` where they are 0. */
static void one_axis(lfuse_size *size, int64_t low, int64_t high, int64_t extent)
{
    *size = high ? lfuse_size_var(g, "n", low, high) : extent;
}

/* Of 1, 2, 3 ..., where `n`, if there is one, is what the shape tells, or what is said here. */
static void evaluate_sizes(int64_t extent, int64_t n)
{
    float x[MOST];
    for (int i = 0; i < MOST; i++) x[i] = (float)(i + 1);
    evaluate((const lfuse__oracle_input[]){DATA("x", x, extent),
                                           {.name = "n", .number = (double)n}}, n < 0 ? 1 : 2, NULL);
}

static void evaluate_axis(int64_t extent)
{
    evaluate_sizes(extent, -1);
}

/* ---- slices ---- */

/* What Python's range(*slice(start, stop, step).indices(n)) goes through, by trying every place in turn. */
static int64_t python_slice(int64_t n, int64_t start, int64_t stop, int64_t step, double *places)
{
    int64_t count = 0;
    /* An end that is left out lies beyond everything; others count from 0, beyond the axis as far as they are. */
    const int64_t far = 1000;
    int64_t from = start == LFUSE_OPEN ? (step > 0 ? 0 : n - 1) : start < 0 ? start + n : start;
    const int64_t to = stop == LFUSE_OPEN ? (step > 0 ? far : -far) : stop < 0 ? stop + n : stop;
    if (step > 0 && from < 0) from = 0;
    if (step < 0 && from > n - 1) from = n - 1;
    for (int64_t i = from; step > 0 ? i < n && i < to : i >= 0 && i > to; i += step) places[count++] = (double)(i + 1);
    return count;
}

static const int64_t ends[] = {LFUSE_OPEN, -100, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 100, INT64_MAX};
static const int64_t steps[] = {1, 2, 3, 5, 100, INT64_MAX, -1, -2, -3, -5, -100, -INT64_MAX, INT64_MIN};
enum { ENDS = sizeof ends / sizeof *ends, STEPS = sizeof steps / sizeof *steps };

/* The step's magnitude for the loop above, which must not overflow. */
static int64_t bounded(int64_t step) { return step > 500 ? 500 : step < -500 ? -500 : step; }

TEST_CASE("takes", .setup = make, .teardown = destroy)

TEST_LOOP(slices_by_their_ends, 0, STEPS)
{
    const int64_t step = steps[_i];
    double wanted[MOST];
    for (int64_t n = 0; n <= 6; n++)
        for (int i = 0; i < ENDS; i++)
            for (int k = 0; k < ENDS; k++) {
                const lfuse_value x = lfuse_input(g, "x", LFUSE_F32, 1, &n);
                lfuse_output(g, "y", lfuse_slice_range(x, 0, ends[i], ends[k], step));
                evaluate_axis(n);
                const int64_t count = python_slice(n, ends[i], ends[k], bounded(step), wanted);
                ck_assert_msg(run.results[0].count == count, "[%lld:%lld:%lld] of %d has %lld elements, not %lld",
                              (long long)ends[i], (long long)ends[k], (long long)step, (int)n,
                              (long long)run.results[0].count, (long long)count);
                ck_numbers(count, wanted);
                again();
            }
}

/* Of a size variable what is not refused is what it is of each number; and that is not refused without need. */
TEST(slices_of_a_size)
{
    static const struct { int64_t low, start, stop, step; bool known; } slices[] = {
        {1, 1, LFUSE_OPEN, 1, true},
        {0, LFUSE_OPEN, LFUSE_OPEN, -1, true},
        {0, LFUSE_OPEN, LFUSE_OPEN, 1, true},
        {2, LFUSE_OPEN, -2, 1, true},
        {4, LFUSE_OPEN, 4, 1, true},
        {0, LFUSE_OPEN, 6, 1, true},
        {0, 6, LFUSE_OPEN, 1, true},
        {4, -4, LFUSE_OPEN, 1, true},
        {4, -1, -4, -2, true},
        {4, 3, LFUSE_OPEN, -2, true},
        {0, -100, 100, 1, true},
        {3, -2, LFUSE_OPEN, -1, true},
        {0, 1, LFUSE_OPEN, 1, false},
        {0, LFUSE_OPEN, 3, 1, false},
        {0, -3, LFUSE_OPEN, 1, false},
        {1, LFUSE_OPEN, LFUSE_OPEN, 2, false},
        {2, 2, -2, 1, false},
    };
    double wanted[MOST];
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++)
        for (int64_t n = slices[i].low; n <= 6; n++) {
            lfuse_size size;
            one_axis(&size, slices[i].low, 6, 0);
            const lfuse_value y = lfuse_slice_range(lfuse_input(g, "x", LFUSE_F32, 1, &size), 0, slices[i].start,
                                                    slices[i].stop, slices[i].step);
            ck_assert_msg((y.id >= 0) == slices[i].known, "slice %d: %s", (int)i,
                          lfuse_graph_check(g) ? lfuse_last_error() : "known");
            if (slices[i].known) {
                lfuse_output(g, "y", y);
                evaluate_axis(n);
                ck_numbers(python_slice(n, slices[i].start, slices[i].stop, slices[i].step, wanted), wanted);
            } else {
                ck_assert_int_eq(lfuse_graph_check(g), LFUSE_ERR_SHAPE);
            }
            again();
        }
}

/* A step that divides what the size is made of, and ends that are sizes. */
TEST(slices_by_sizes)
{
    const lfuse_size n = lfuse_size_var(g, "n", 1, 9), all = lfuse_size_add(g, lfuse_size_mul(g, n, 2), 1);
    const lfuse_value x = lfuse_input(g, "x", LFUSE_F32, 1, &all);
    const double even[] = {1, 3, 5}, odd[] = {7, 6, 5};
    lfuse_output(g, "y", lfuse_slice_range(lfuse_slice_range(x, 0, 0, -1, 1), 0, LFUSE_OPEN, LFUSE_OPEN, 2));
    evaluate_sizes(7, 3);
    ck_numbers(3, even);
    again();
    const lfuse_size m = lfuse_size_var(g, "n", 1, 9), twice = lfuse_size_mul(g, m, 2);
    lfuse_output(g, "y", lfuse_slice_range(lfuse_input(g, "x", F32(lfuse_size_add(g, twice, 1))), 0, twice, m, -1));
    evaluate_sizes(7, 3);
    ck_numbers(3, odd);
}

/* ---- padding ---- */

/* Where a walk that turns round at both ends has come to, step by step. */
static double bounced(int64_t n, int64_t from)
{
    int64_t at = 0, way = 1;
    for (int64_t i = 0; i < (from < 0 ? -from : from); i++) {
        if (n == 1) return 1;
        if (at + way < 0 || at + way >= n) way = -way;
        at += way;
    }
    return (double)(at + 1);
}

static double beside(bool mirror, int64_t n, int64_t at)
{
    return mirror ? bounced(n, at) : (double)((at < 0 ? 0 : at >= n ? n - 1 : at) + 1);
}

TEST_LOOP(edges_and_mirrors, 0, 4)
{
    const bool mirror = _i & 1, variable = _i & 2;
    double wanted[MOST];
    lfuse_size size;
    for (int64_t n = 1; n <= 5; n++)
        for (int64_t before = 0; before <= 12; before++)
            for (int64_t after = 0; after <= 12; after++) {
                one_axis(&size, 1, variable ? 5 : 0, n);
                const lfuse_value x = lfuse_input(g, "x", LFUSE_F32, 1, &size);
                lfuse_output(g, "y", mirror ? lfuse_pad_reflect(x, &before, &after)
                                            : lfuse_pad_edge(x, &before, &after));
                evaluate_axis(n);
                for (int64_t i = 0; i < n + before + after; i++) wanted[i] = beside(mirror, n, i - before);
                ck_numbers(n + before + after, wanted);
                again();
            }
}

TEST_LOOP(two_axes_are_padded, 0, 2)
{
    const float x[2][3] = {{1, 2, 3}, {4, 5, 6}};
    const double edges[] = {1, 1, 2, 3, 3, 3, 1, 1, 2, 3, 3, 3, 4, 4, 5, 6, 6, 6};
    const double mirrors[] = {5, 4, 5, 6, 5, 4, 2, 1, 2, 3, 2, 1, 5, 4, 5, 6, 5, 4};
    const lfuse_value v = lfuse_input(g, "x", F32(2, 3));
    lfuse_output(g, "y", _i ? lfuse_pad_reflect(v, LFUSE_DIMS(1, 1), LFUSE_DIMS(0, 2))
                            : lfuse_pad_edge(v, LFUSE_DIMS(1, 1), LFUSE_DIMS(0, 2)));
    EVALUATE(DATA("x", x, 2, 3));
    ck_numbers(18, _i ? mirrors : edges);
}

/* ---- look-ups ---- */

static const int32_t cube[2][3][4] = {{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}},
                                      {{12, 13, 14, 15}, {16, 17, 18, 19}, {20, 21, 22, 23}}};

static void evaluate_cube(const int64_t *at, int rank, const int64_t *shape)
{
    lfuse__oracle_input inputs[2] = {DATA("x", cube, 2, 3, 4), {.name = "i", .data = at}};
    memcpy(inputs[1].shape, shape, (size_t)rank * sizeof *shape);
    evaluate(inputs, 2, NULL);
}

TEST_LOOP(selected_along_each_axis, 0, 6)
{
    static const int64_t at[2][2] = {{1, -1}, {0, -2}}, extents[] = {2, 3, 4}, strides[] = {12, 4, 1};
    const int axis = _i % 3;
    const bool from_end = _i >= 3;
    double wanted[MOST];
    int64_t count = 0, place[5], shape[5];
    for (int k = 0, own = 0; k < 4; k++) shape[k] = k == axis || k == axis + 1 ? 2 : extents[own += own == axis, own++];
    for (int64_t i = 0; i < shape[0] * shape[1] * shape[2] * shape[3]; i++) {
        int64_t rest = i, to = 0, own = 0, index;
        for (int k = 3; k >= 0; k--) place[k] = rest % shape[k], rest /= shape[k];
        index = at[place[axis]][place[axis + 1]];
        if (from_end && index < 0) index += extents[axis];
        for (int k = 0; k < 4; k++) {
            if (k == axis) own++;
            if (k == axis || k == axis + 1) continue;
            to += place[k] * strides[own++];
        }
        wanted[count++] = index < 0 ? 0 : (double)(to + index * strides[axis]);
    }
    lfuse_output(g, "y", lfuse_index_select(lfuse_input(g, "x", I32(2, 3, 4)), axis - 3, lfuse_input(g, "i", I64(2, 2)),
                                            from_end ? LFUSE_INDEX_FROM_END : LFUSE_INDEX_PLAIN));
    evaluate_cube(&at[0][0], 2, (const int64_t[]){2, 2});
    for (int k = 0; k < 4; k++) ck_assert_int_eq(run.results[0].shape[k], shape[k]);
    ck_numbers(count, wanted);
    ck_assert(run.out_of_range == !from_end);
}

TEST_LOOP(taken_along_each_axis, 0, 6)
{
    static const int64_t extents[] = {2, 3, 4}, strides[] = {12, 4, 1};
    const int axis = _i % 3;
    const bool from_end = _i >= 3;
    int64_t shape[3] = {2, 3, 4}, at[MOST];
    double wanted[MOST];
    shape[axis] = 2;
    const int64_t count = shape[0] * shape[1] * shape[2];
    for (int64_t i = 0; i < count; i++) {
        const int64_t place[3] = {i / (shape[1] * shape[2]), i / shape[2] % shape[1], i % shape[2]};
        int64_t to = 0, index = at[i] = (i * 5) % 9 - 4; /* -4 ... 4 */
        if (from_end && index < 0) index += extents[axis];
        for (int k = 0; k < 3; k++) to += (k == axis ? index : place[k]) * strides[k];
        wanted[i] = index < 0 || index >= extents[axis] ? 0 : (double)to;
    }
    lfuse_output(g, "y", lfuse_take_along(lfuse_input(g, "x", I32(2, 3, 4)), axis,
                                          lfuse_input(g, "i", LFUSE_I64, 3, shape),
                                          from_end ? LFUSE_INDEX_FROM_END : LFUSE_INDEX_PLAIN));
    evaluate_cube(at, 3, shape);
    ck_numbers(count, wanted);
    ck_assert(run.out_of_range);
}

/* numpy.take_along_axis(x, i, 1) of [2, 3, 4] and [1, 2, 4] or [2, 2, 1]. */
TEST_LOOP(taken_with_repetitions, 0, 2)
{
    const int64_t at[8] = {0, 1, 2, 0, 2, 2, 1, 1}, few[4] = {0, 1, 2, 0};
    const double of_rows[] = {0, 5, 10, 3, 8, 9, 6, 7, 12, 17, 22, 15, 20, 21, 18, 19};
    const double of_columns[] = {0, 1, 2, 3, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15};
    const int64_t shape[3] = {_i ? 2 : 1, 2, _i ? 1 : 4};
    lfuse_output(g, "y", lfuse_take_along(lfuse_input(g, "x", I32(2, 3, 4)), 1,
                                          lfuse_input(g, "i", LFUSE_I64, 3, shape), LFUSE_INDEX_PLAIN));
    evaluate_cube(_i ? few : at, 3, shape);
    ck_numbers(16, _i ? of_columns : of_rows);
}

/* ---- functions ---- */

/* One product after the other, modulo 2^64; what a division would leave below 0. */
static int64_t slow_power(int64_t a, int64_t n)
{
    uint64_t y = 1;
    if (n < 0) return a == 1 ? 1 : a == -1 ? (n % 2 ? -1 : 1) : 0;
    for (int64_t i = 0; i < n; i++) y *= (uint64_t)a;
    return (int64_t)y;
}

TEST_LOOP(powers_of_integers, 0, 8)
{
    static const lfuse_type types[] = {LFUSE_I8, LFUSE_U8, LFUSE_I32, LFUSE_I64};
    const lfuse_type type = types[_i / 2];
    int64_t a[MOST], n[MOST];
    double wanted[MOST];
    for (int i = 0; i < MOST; i++) {
        a[i] = i % 8 - 4 + (i % 5 == 0 ? 90 : 0), n[i] = i % 11 + (i % 7 == 0 ? 60 : 0) - (i % 3 == 0 ? 9 : 0);
        if (type == LFUSE_U8) a[i] = a[i] < 0 ? a[i] + 256 : a[i], n[i] = n[i] < 0 ? -n[i] : n[i];
        const int64_t y = slow_power(a[i], n[i]);
        wanted[i] = type == LFUSE_I8    ? (int8_t)y
                    : type == LFUSE_U8  ? (uint8_t)y
                    : type == LFUSE_I32 ? (int32_t)y
                                        : (double)y;
    }
    const lfuse_value x = lfuse_cast(lfuse_input(g, "a", I64(MOST)), type);
    const lfuse_value e = lfuse_cast(lfuse_input(g, "n", I64(MOST)), type);
    lfuse_output(g, "y", _i % 2 ? lfuse_powi(x, e) : lfuse_pow(x, e));
    EVALUATE(DATA("a", a, MOST), DATA("n", n, MOST));
    ck_numbers(MOST, wanted);
}

/* With the parameters that the functions without any have, they are these. */
TEST_LOOP(activations_with_parameters, 0, 2)
{
    double x[MOST], plain[2][MOST];
    lfuse_value v, y;
    for (int i = 0; i < MOST; i++) x[i] = (i - 32) * 0.25;
    for (int with = 0; with < 2; with++) {
        v = lfuse_input(g, "x", F64(MOST));
        if (_i) y = with ? lfuse_selu_with(v, lfuse_constant(g, 1.67326324235437728),
                                           lfuse_constant(g, 1.05070098735548049))
                         : lfuse_selu(v);
        else y = with ? lfuse_hardsigmoid_with(v, lfuse_constant(g, 1.0 / 6), lfuse_constant(g, 0.5))
                      : lfuse_hardsigmoid(v);
        lfuse_output(g, "y", y);
        EVALUATE(DATA("x", x, MOST));
        for (int i = 0; i < MOST; i++) plain[with][i] = (double)run.results[0].value[i];
        again();
    }
    for (int i = 0; i < MOST; i++)
        ck_assert_msg(fabs(plain[0][i] - plain[1][i]) <= 1e-14, "of %g: %.17g, %.17g", x[i], plain[0][i], plain[1][i]);
}

TEST(onnx_defaults)
{
    const float x[5] = {-4, -1, 0, 1, 4};
    const double wanted[5] = {0, 0.3, 0.5, 0.7, 1};
    lfuse_output(g, "y", lfuse_hardsigmoid_with(lfuse_input(g, "x", F32(5)),
                                                lfuse_constant(g, 0.2), lfuse_constant(g, 0.5)));
    EVALUATE(DATA("x", x, 5));
    for (int i = 0; i < 5; i++) ck_assert_double_eq_tol((double)run.results[0].value[i], wanted[i], 1e-7);
}

TEST_SUITE("oracle takes", CK_FORK_GETENV)
