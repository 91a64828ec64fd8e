/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions through plans on the stub, in both forms of kernels: sizes that vary, strides, forms, recordings. */
#include "tests/run/rig.h"

enum { ITEMS, LANES, FORMS };

static void in_form(int form)
{
    lfuse__stub.vector_lanes = form == LANES;
    reopen_stub();
}

/* Sum, largest and where it is, and the softmax of rows; `at` gives the elements of a row. */
typedef float element(const void *data, int64_t row, int64_t i);

static void check_softmax(const float *y, element *at, const void *data, int64_t rows, int64_t length)
{
    for (int64_t r = 0; r < rows; r++) {
        double most = -INFINITY, sum = 0;
        for (int64_t i = 0; i < length; i++) most = fmax(most, at(data, r, i));
        for (int64_t i = 0; i < length; i++) sum += exp(at(data, r, i) - most);
        for (int64_t i = 0; i < length; i++) NEAR(y[r * length + i], exp(at(data, r, i) - most) / sum);
    }
}

static float wave(int64_t k)
{
    return (float)(k * 7919 % 1009) / 256 - 2;
}

static lfuse_tensor *waves(int rank, const int64_t *shape)
{
    return filled_tensor(rank, shape, wave);
}

static float by_rows(const void *data, int64_t row, int64_t i)
{
    return wave(row * *(const int64_t *)data + i);
}

TEST_CASE("rows", .setup = open_stub, .teardown = close_stub)

/* One plan for all sizes: no compile after it is made, one launch each. */
TEST_LOOP(sizes_vary_without_compiling, 0, FORMS)
{
    static const int64_t shapes[][2] = { { 3, 5 },    { 1, 1 },   { 200, 1 }, { 7, 127 }, { 5, 128 }, { 4, 129 },
                                         { 2, 1024 }, { 3, 1025 }, { 1, 5000 }, { 2, 20000 }, { 0, 9 }, { 40, 33 } };
    const lfuse_size n = lfuse_size_var((in_form(_i), g), "n", 0, 4096), m = lfuse_size_var(g, "m", 1, 65536);
    const lfuse_value x = lfuse_input(g, "x", F32(n, m));

    lfuse_output(g, "y", lfuse_softmax(x, 1, (const int[]){ 1 }));
    lfuse_plan *plan = plan_with(0);
    uint64_t compiled = compiles();
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        lfuse_tensor *tx = waves(2, shapes[k]), *ty = tensor(2, shapes[k]);
        uint64_t launched = launches();
        RUN(plan, stream, BIND("x", tx), BIND("y", ty));
        ck_assert_uint_eq(launches() - launched, shapes[k][0] ? 1 : 0);
        check_softmax(values(ty), by_rows, &shapes[k][1], shapes[k][0], shapes[k][1]);
    }
    ck_assert_uint_eq(compiles(), compiled);
}

/* One row of the value again and again; its reduction is that value, bit for bit. */
static void check_kept(lfuse_type type, const void *value, lfuse_value (*reduce)(lfuse_value x), int64_t length)
{
    const size_t size = lfuse_type_size(type);
    char *host = malloc((size_t)(length + 1) * size), got[8];

    ck_assert_ptr_nonnull(host);
    for (int64_t i = 0; i < length; i++) memcpy(host + (size_t)i * size, value, size);
    g = lfuse_graph_create();
    lfuse_output(g, "y", reduce(lfuse_input(g, "x", TYPED(type, lfuse_size_var(g, "n", 0, 9), length))));
    lfuse_plan *plan = plan_with(0);
    lfuse_tensor *tx = new_tensor(dev, TYPED(type, 1, length));
    lfuse_tensor *ty = new_tensor(dev, TYPED(type, 1));
    OK(lfuse_tensor_write(tx, stream, host));
    RUN(plan, stream, BIND("x", tx), BIND("y", ty));
    OK(lfuse_tensor_read(ty, stream, got));
    OK(lfuse_stream_synchronize(stream));
    ck_assert_msg(!memcmp(got, value, size), "%s, rows of %lld", lfuse_type_name(type), (long long)length);
    drop(tx), drop(ty);
    drop(plan);
    lfuse_graph_destroy(g);
    free(host);
}

static lfuse_value sum_of(lfuse_value x) { return lfuse_sum(x, 1, (const int[]){ 1 }, 0); }
static lfuse_value largest_of(lfuse_value x) { return lfuse_amax(x, 1, (const int[]){ 1 }, 0); }
static lfuse_value smallest_of(lfuse_value x) { return lfuse_amin(x, 1, (const int[]){ 1 }, 0); }

/* What a reduction begins with changes nothing: sums of -0 are -0, and no type has a number beyond its extremes. */
TEST_LOOP(identities, 0, FORMS)
{
    static const int64_t lengths[] = { 1, 5, 129, 1025, 3000 };
    const float zero = -0.0f, lowest = -INFINITY, highest = INFINITY;
    const double zero64 = -0.0, lowest64 = -INFINITY, highest64 = INFINITY;
    const int32_t low32 = INT32_MIN, high32 = INT32_MAX;
    const int64_t low64 = INT64_MIN, high64 = INT64_MAX;
    const float none = 0;

    in_form(_i);
    lfuse_graph_destroy(g);
    check_kept(LFUSE_F32, &none, sum_of, 0);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        check_kept(LFUSE_F32, &zero, sum_of, lengths[k]);
        check_kept(LFUSE_F64, &zero64, sum_of, lengths[k]);
        check_kept(LFUSE_F32, &lowest, largest_of, lengths[k]);
        check_kept(LFUSE_F32, &highest, smallest_of, lengths[k]);
        check_kept(LFUSE_F64, &lowest64, largest_of, lengths[k]);
        check_kept(LFUSE_F64, &highest64, smallest_of, lengths[k]);
        check_kept(LFUSE_I32, &low32, largest_of, lengths[k]);
        check_kept(LFUSE_I32, &high32, smallest_of, lengths[k]);
        check_kept(LFUSE_I64, &low64, largest_of, lengths[k]);
        check_kept(LFUSE_I64, &high64, smallest_of, lengths[k]);
    }
    g = lfuse_graph_create();
}

/* The first NaN of a row is its largest and its smallest element, wherever others lie. */
TEST_LOOP(first_of_several_nans, 0, FORMS)
{
    enum { LENGTH = 2500 };
    static const int places[][2] = { { 0, 1 }, { 3, 3 + 128 }, { 5, 1024 }, { 1023, 1024 }, { 700, 2499 }, { 2, 900 } };
    float host[LENGTH];

    in_form(_i);
    lfuse_value x = lfuse_input(g, "x", F32(lfuse_size_var(g, "n", 0, 9), LENGTH));
    lfuse_output(g, "low", lfuse_argmin(x, 1, (const int[]){ 1 }, 0));
    lfuse_output(g, "high", lfuse_argmax(x, 1, (const int[]){ 1 }, 0));
    lfuse_plan *plan = plan_with(0);
    lfuse_tensor *tx = new_tensor(dev, F32(1, LENGTH));
    lfuse_tensor *low = new_tensor(dev, I64(1));
    lfuse_tensor *high = new_tensor(dev, I64(1));
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        int64_t at[2];
        for (int i = 0; i < LENGTH; i++) host[i] = wave(i);
        host[places[k][0]] = host[places[k][1]] = NAN;
        OK(lfuse_tensor_write(tx, stream, host));
        RUN(plan, stream, BIND("x", tx), BIND("low", low), BIND("high", high));
        OK(lfuse_tensor_read(low, stream, &at[0]));
        OK(lfuse_tensor_read(high, stream, &at[1]));
        OK(lfuse_stream_synchronize(stream));
        ck_assert_int_eq(at[0], places[k][0]);
        ck_assert_int_eq(at[1], places[k][0]);
    }
}

/* Axes in the middle and at the front, all axes, several that are no single walk; kept and gone. */
TEST_LOOP(any_axes, 0, FORMS)
{
    static const struct {
        int count, axes[3];
    } cases[] = { { 1, { 0 } }, { 1, { 1 } }, { 1, { 2 } }, { 2, { 0, 2 } }, { 2, { 0, 1 } }, { 3, { 0, 1, 2 } } };
    enum { A = 5, B = 37, C = 23 };
    const int64_t extents[] = { A, B, C };

    in_form(_i);
    lfuse_tensor *tx = waves(3, extents);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int64_t shape[3] = { A, B, C }, i[3], rows = 1;
        double sums[A * B * C] = { 0 };
        float most[A * B * C];

        for (int j = 0; j < cases[k].count; j++) shape[cases[k].axes[j]] = 1;
        rows = shape[0] * shape[1] * shape[2];
        for (int j = 0; j < rows; j++) most[j] = -INFINITY;
        for (i[0] = 0; i[0] < A; i[0]++)
            for (i[1] = 0; i[1] < B; i[1]++)
                for (i[2] = 0; i[2] < C; i[2]++) {
                    const float v = wave((i[0] * B + i[1]) * C + i[2]);
                    const int64_t r = ((shape[0] > 1 ? i[0] : 0) * shape[1] + (shape[1] > 1 ? i[1] : 0)) * shape[2] +
                                      (shape[2] > 1 ? i[2] : 0);
                    sums[r] += v;
                    most[r] = fmaxf(most[r], v);
                }
        fresh_graph();
        {
            const lfuse_value x = lfuse_input(g, "x", F32(A, B, C));
            lfuse_output(g, "y", lfuse_sum(x, cases[k].count, cases[k].axes, 1));
            lfuse_output(g, "z", lfuse_amax(x, cases[k].count, cases[k].axes, 1));
        }
        lfuse_tensor *ty = tensor(3, shape), *tz = tensor(3, shape);
        lfuse_plan *plan = plan_with(0);
        RUN(plan, stream, BIND("x", tx), BIND("y", ty), BIND("z", tz));
        const float *got = values(ty);
        for (int j = 0; j < rows; j++)
            ck_assert_msg(fabs(got[j] - sums[j]) < 1e-3, "case %d row %d: %g, not %g", (int)k, j, got[j], sums[j]);
        got = values(tz);
        for (int j = 0; j < rows; j++) ck_assert_float_eq(got[j], most[j]);
    }
}

/* A view of x that is turned, padded or backward: compiled when it comes, right all the same. */
static float turned(const void *data, int64_t row, int64_t i)
{
    return wave(i * *(const int64_t *)data + row);
}

static float backward(const void *data, int64_t row, int64_t i)
{
    const int64_t length = *(const int64_t *)data;

    return wave((row + 2) * length - 1 - i);
}

TEST_LOOP(rows_of_any_strides, 0, FORMS)
{
    enum { R = 13, L = 150 };
    const int64_t all[] = { R + 4, L }, shape[] = { R, L }, wide = R + 4, length = L;
    const lfuse_value x = lfuse_input((in_form(_i), g), "x", F32(R, L));
    lfuse_tensor *whole = waves(2, all), *ty = tensor(2, shape);

    lfuse_output(g, "y", lfuse_softmax(x, 1, (const int[]){ 1 }));
    lfuse_plan *plan = plan_with(0);
    lfuse_tensor *view = new_view(whole, 2, shape, LFUSE_DIMS(1, R + 4), 0);
    RUN(plan, stream, BIND("x", view), BIND("y", ty));
    check_softmax(values(ty), turned, &wide, R, L);
    drop(view);
    view = new_view(whole, 2, shape, LFUSE_DIMS(L, -1), 2 * L - 1);
    RUN(plan, stream, BIND("x", view), BIND("y", ty));
    check_softmax(values(ty), backward, &length, R, L);
}

/* All elements of a large tensor, whose sum in i64 is exact; the same in an instance of another size. */
TEST_LOOP(a_sum_of_ten_million, 0, FORMS)
{
    enum { N = 10000019 };
    const lfuse_size n = lfuse_size_var((in_form(_i), g), "n", 0, 1 << 24);
    int32_t *whole = malloc(N * sizeof *whole);
    float *parts = malloc(N * sizeof *parts), got;
    int64_t wanted = 0, is;

    ck_assert(whole && parts);
    for (int64_t i = 0; i < N; i++) {
        whole[i] = (int32_t)(i * 2654435761u);
        parts[i] = (float)(i % 3) - 1;
        wanted += whole[i];
    }
    lfuse_output(g, "y", lfuse_sum(lfuse_input(g, "i", I32(n)), LFUSE_ALL_AXES, NULL, 0));
    lfuse_output(g, "z", lfuse_sum(lfuse_input(g, "f", F32(n)), LFUSE_ALL_AXES, NULL, 0));
    lfuse_plan *plan = plan_with(0);
    lfuse_tensor *ti = new_tensor(dev, I32(N));
    lfuse_tensor *tf = new_tensor(dev, F32(N));
    lfuse_tensor *ty = new_tensor(dev, LFUSE_I64, 0, NULL);
    lfuse_tensor *tz = new_tensor(dev, LFUSE_F32, 0, NULL);
    OK(lfuse_tensor_write(ti, NULL, whole));
    OK(lfuse_tensor_write(tf, NULL, parts));
    {
        const lfuse_binding b[] = { BIND("i", ti), BIND("f", tf), BIND("y", ty), BIND("z", tz) };
        LAUNCHES(4, OK(lfuse_plan_run(plan, stream, b, 4))); /* segments by themselves, then what they come to */
        ck_assert_uint_gt(lfuse_plan_scratch(plan, stream), 0);
        OK(lfuse_plan_run(plan, stream, b, 4));
    }
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(ty, NULL, &is));
    OK(lfuse_tensor_read(tz, NULL, &got));
    ck_assert_int_eq(is, wanted);
    ck_assert_float_eq(got, N % 3 == 1 ? -1 : N % 3 == 2 ? -1 : 0);
}

/* Long sums of equal code and a short one, of one level: the long ones take launches of their own. */
TEST_LOOP(long_sums_of_one_level, 0, FORMS)
{
    enum { SUMS = 3 };
    static const int64_t lengths[SUMS] = { 70001, 200000, 300 };
    static const char *const names[2][SUMS] = { { "x0", "x1", "x2" }, { "y0", "y1", "y2" } };
    lfuse_binding b[2 * SUMS];
    lfuse_tensor *sums[SUMS];
    int i;

    in_form(_i);
    for (i = 0; i < SUMS; i++) {
        const lfuse_value x = lfuse_input(g, names[0][i], LFUSE_F32, 1, &lengths[i]);
        lfuse_output(g, names[1][i], lfuse_sum(x, LFUSE_ALL_AXES, NULL, 0));
        b[i] = lfuse_bind_tensor(names[0][i], waves(1, &lengths[i]));
        b[SUMS + i] = lfuse_bind_tensor(names[1][i], sums[i] = tensor(0, NULL));
    }
    OK(lfuse_plan_run(plan_with(0), stream, b, 2 * SUMS));
    for (i = 0; i < SUMS; i++) {
        double sum = 0;
        for (int64_t k = 0; k < lengths[i]; k++) sum += (double)wave(k);
        ck_assert_msg(fabs((double)*values(sums[i]) - sum) < 1e-3, "%s: %g", names[1][i], (double)*values(sums[i]));
    }
}

/* Rows of no elements: sums are 0, products 1; what has no value is refused before anything is launched. */
TEST_LOOP(empty_rows, 0, FORMS)
{
    const lfuse_size n = lfuse_size_var((in_form(_i), g), "n", 0, 4096);
    const lfuse_value x = lfuse_input(g, "x", F32(3, n));
    lfuse_tensor *tx = tensor(SHAPE(3, 0)), *ty = ramp(SHAPE(3), 5, 1), *tz = ramp(SHAPE(3), 5, 1);
    lfuse_binding b[] = { BIND("x", tx), BIND("y", ty), BIND("z", tz) };

    lfuse_output(g, "y", lfuse_sum(x, 1, (const int[]){ 1 }, 0));
    lfuse_output(g, "z", lfuse_prod(x, 1, (const int[]){ 1 }, 0));
    lfuse_plan *plan = plan_with(0);
    OK(lfuse_plan_run(plan, stream, b, 3));
    for (int i = 0; i < 3; i++) ck_assert_float_eq(values(ty)[i], 0);
    for (int i = 0; i < 3; i++) ck_assert_float_eq(values(tz)[i], 1);
    drop(plan);
    lfuse_output(g, "most", lfuse_amax(x, 1, (const int[]){ 1 }, 0));
    plan = plan_with(0);
    LAUNCHES(0, FAILS(LFUSE_ERR_SHAPE, lfuse_plan_run(plan, stream, b, 3)));
}

/* A recording of views and rows, replayed over other tensors. */
TEST_LOOP(recordings_of_rows, 0, FORMS)
{
    enum { R = 6, L = 40 };
    const int64_t shape[] = { R, 2 * L }, half[] = { R, L };
    const lfuse_value x = lfuse_input((in_form(_i), g), "x", F32(R, 2 * L));
    lfuse_tensor *tx[2], *ty[2];
    int64_t r, i;
    int k;

    lfuse_output(g, "y", lfuse_softmax(lfuse_slice(x, 1, L, L, 1), 1, (const int[]){ 1 }));
    lfuse_plan *plan = plan_with(0);
    for (k = 0; k < 2; k++) {
        tx[k] = k ? ramp(2, shape, 3, -0.125f) : waves(2, shape);
        ty[k] = tensor(2, half);
    }
    OK(lfuse_record_begin(stream));
    RUN(plan, stream, BIND("x", tx[0]), BIND("y", ty[0]));
    lfuse_recording *recording = new_recording(stream);
    for (k = 0; k < 4; k++) {
        OK(lfuse_recording_replay(recording, stream, BINDINGS(BIND("x", tx[k % 2]), BIND("y", ty[k % 2]))));
        for (r = 0; r < R; r++) {
            const float *y = values(ty[k % 2]) + r * L;
            double most = -INFINITY, sum = 0;
#define X(i) (k % 2 ? 3 - 0.125 * (double)(r * 2 * L + L + (i)) : (double)wave(r * 2 * L + L + (i)))
            for (i = 0; i < L; i++) most = fmax(most, X(i));
            for (i = 0; i < L; i++) sum += exp(X(i) - most);
            for (i = 0; i < L; i++) NEAR(y[i], exp(X(i) - most) / sum);
#undef X
        }
    }
}

/* Parts of one tensor, stored by kernels that would share a launch, each through a copy of the whole: one by one. */
TEST_LOOP(parts_of_a_turned_tensor, 0, FORMS)
{
    enum { R = 3, L = 8 };
    const lfuse_value a = lfuse_input((in_form(_i), g), "a", F32(R, L));
    const lfuse_value b = lfuse_input(g, "b", F32(R, L));
    const lfuse_value halves[] = { lfuse_softmax(a, 1, (const int[]){ 1 }), lfuse_softmax(b, 1, (const int[]){ 1 }) };
    lfuse_tensor *ta = waves(SHAPE(R, L)), *tb = waves(SHAPE(R, L)), *ty = tensor(SHAPE(2 * R, L));
    const int64_t length = L;
    float part[2][R * L];

    lfuse_output(g, "y", lfuse_reshape(lfuse_concat(2, halves, 0), SHAPE(L, 2 * R)));
    lfuse_plan *plan = plan_with(0);
    lfuse_tensor *turned = new_view(ty, SHAPE(L, 2 * R), LFUSE_DIMS(1, L), 0);
    OK(lfuse_tensor_fill(ty, NULL, 5));
    RUN(plan, stream, BIND("a", ta), BIND("b", tb), BIND("y", turned));
    for (int i = 0; i < 2 * R * L; i++) /* element i of y in the order of its shape lies where its strides say */
        part[i / (R * L)][i % (R * L)] = values(ty)[i / (2 * R) + i % (2 * R) * L];
    for (int i = 0; i < 2; i++) check_softmax(part[i], by_rows, &length, R, L);
}

/*
 * A tensor that becomes its softmax, of each row or of all elements, or gets one added to it, has the bits of those
 * into another one.
 */
TEST_LOOP(softmax_in_place, 0, FORMS)
{
    enum { R = 4, L = 300 };
    lfuse_tensor *tx = (in_form(_i), waves(SHAPE(R, L))), *tz = ramp(SHAPE(R, L), 1, 0.25f);
    lfuse_tensor *ty = tensor(SHAPE(R, L));

    for (int i = 0; i < 4; i++) {
        const bool added = i < 2;
        float wanted[R * L];
        for (int update = 0; update < 2; update++) {
            lfuse_graph *graph = lfuse_graph_create();
            const lfuse_value x = lfuse_input(graph, "x", F32(R, L));
            const lfuse_value z = added ? lfuse_input(graph, "z", F32(R, L)) : x;
            const lfuse_value softmax = lfuse_softmax(x, 1 + i % 2, (const int[]){ 1, 0 });
            const lfuse_value y = added ? lfuse_add(softmax, z) : softmax;
            lfuse_binding b[3] = { BIND("x", tx) };
            int n = 1;
            if (added) b[n++] = BIND("z", tz);
            if (update) lfuse_update(z, y);
            else lfuse_output(graph, "y", y), b[n++] = BIND("y", ty);
            lfuse_plan *plan = new_plan(dev, graph, NULL);
            OK(lfuse_plan_run(plan, stream, b, n));
            if (update) ck_assert(!memcmp(wanted, values(added ? tz : tx), sizeof wanted));
            else memcpy(wanted, values(ty), sizeof wanted);
            drop(plan);
        }
    }
}

/*
 * Numbers of rows that are replaced by the kernel that reads them, for the elements too, have the bits of those that
 * are stored elsewhere: of short, long and few rows, along and across memory.
 */
TEST_LOOP(numbers_of_rows_in_place, 0, FORMS)
{
    static const int64_t shapes[][2] = { { 5, 8 }, { 300, 40 }, { 40, 300 }, { 3, 5000 }, { 5000, 3 }, { 2, 30000 } };

    in_form(_i);
    for (int i = 0; i < 12; i++) {
        const int64_t *shape = shapes[i / 2];
        const int axis = i % 2;
        lfuse_tensor *tx = waves(2, shape), *ty = tensor(2, shape), *tr = ramp(1, &shape[1 - axis], 1, 0.25f);
        lfuse_tensor *ts = tensor(1, &shape[1 - axis]);
        static float sums[30000];
        const size_t bytes = (size_t)shape[1 - axis] * sizeof *sums;
        for (int update = 0; update < 2; update++) {
            lfuse_graph *graph = lfuse_graph_create();
            const lfuse_value x = lfuse_input(graph, "x", LFUSE_F32, 2, shape);
            const lfuse_value r = lfuse_input(graph, "r", LFUSE_F32, 1, &shape[1 - axis]);
            const lfuse_value fresh = lfuse_add(r, lfuse_sum(x, 1, &axis, 0));
            lfuse_binding b[3] = { BIND("x", tx), BIND("r", tr), BIND("y", ty) };
            lfuse_output(graph, "y", lfuse_mul(x, axis ? lfuse_unsqueeze(fresh, 1) : fresh));
            if (update) lfuse_update(r, fresh);
            else lfuse_output(graph, "s", fresh);
            lfuse_plan *plan = new_plan(dev, graph, NULL);
            if (update) OK(lfuse_plan_run(plan, stream, b, 3));
            else OK(lfuse_plan_run(plan, stream, (lfuse_binding[]){ b[0], b[1], b[2], BIND("s", ts) }, 4));
            if (update) ck_assert(!memcmp(sums, values(tr), bytes));
            else memcpy(sums, values(ts), bytes);
            const float *y = values(ty);
            for (int64_t k = 0; k < shape[0] * shape[1]; k++)
                ck_assert(y[k] == wave(k) * sums[axis ? k / shape[1] : k % shape[1]]);
            drop(plan);
        }
    }
}

TEST_SUITE("run", CK_NOFORK)
