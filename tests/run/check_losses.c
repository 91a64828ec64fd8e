/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses and their gradients on the stub and every device: numbers of PyTorch's definitions, worked out here by loops
 * in long double, and what happens at kinks, at infinite values and with indices that are none.
 */
#include <float.h>

#include "libfuse/loss.h"
#include "tests/run/rig.h"

enum { ROWS = 5, CLASSES = 4, ALL = ROWS * CLASSES };

/* Whole numbers and halves in between, so that differences are exact. */
static const double a[ALL] = {0.5, -1, 2, 0.25, 3, -2.5, 0, 1, -0.75, 4, 1.5, -3, 2.25, 2, -2, 0, 1, 1, 1, 1};
static const double b[ALL] = {0.5, 0, 0.5, 0.75, 0, 0.5, 1, 0.25, 0.25, 0.5, 0, 1, 0, 0.125, 0.5, 1, 1, 0, 0.5, 0.75};
static const double weights[CLASSES] = {0.5, 2, 1, 3};
static const int64_t targets[ROWS] = {2, 0, 3, 1, 1};

/* A binding of f64 memory, or of i64, under a name. */
static lfuse_binding bound(const char *name, lfuse_type type, int rank, const int64_t *shape, const void *host)
{
    lfuse_tensor *t = new_tensor(dev, type, rank, shape);

    if (host) OK(lfuse_tensor_write(t, NULL, host));
    return lfuse_bind_tensor(name, t);
}

/* The graph's inputs: what the losses of all tests are made of. */
static lfuse_value za, zb, w, t;

static void inputs(void)
{
    fresh_graph();
    za = lfuse_input(g, "a", F64(ROWS, CLASSES));
    zb = lfuse_input(g, "b", F64(ROWS, CLASSES));
    w = lfuse_input(g, "w", F64(CLASSES));
    t = lfuse_input(g, "t", I64(ROWS));
}

/* What the graph gives; one plan for many losses, as drivers take long for each. */
enum { MOST_OUTPUTS = 40 };
static struct output {
    double y[ALL];
    int rank;
    int64_t shape[2];
} outputs[MOST_OUTPUTS];
static int noutputs;

static const char *output_name(int i)
{
    static char name[16];

    snprintf(name, sizeof name, "y%d", i);
    return name;
}

/* Makes a value an output; its elements are there after the run. */
static const double *output(lfuse_value v, int rank, const int64_t *shape)
{
    struct output *o = &outputs[noutputs];

    ck_assert_int_lt(noutputs, MOST_OUTPUTS);
    lfuse_output(g, output_name(noutputs++), v);
    o->rank = rank;
    for (int i = 0; i < rank; i++) o->shape[i] = shape[i];
    return o->y;
}

static const double *element_losses(lfuse_value v) { return output(v, SHAPE(ROWS, CLASSES)); }
static const double *row_losses(lfuse_value v) { return output(v, SHAPE(ROWS)); }
static const double *one_loss(lfuse_value v) { return output(v, 0, NULL); }

/* Runs the graph with these contents; the next one begins then. */
static void run(const double *of_a, const double *of_b, const int64_t *of_t)
{
    lfuse_binding bindings[4 + MOST_OUTPUTS] = {bound("a", F64(ROWS, CLASSES), of_a),
                                                bound("b", F64(ROWS, CLASSES), of_b),
                                                bound("w", F64(CLASSES), weights), bound("t", I64(ROWS), of_t)};
    lfuse_tensor *out[MOST_OUTPUTS];
    char names[MOST_OUTPUTS][16];
    lfuse_plan *plan = new_plan(dev, g, NULL);

    for (int i = 0; i < noutputs; i++) {
        out[i] = new_tensor(dev, LFUSE_F64, outputs[i].rank, outputs[i].shape);
        strcpy(names[i], output_name(i));
        bindings[4 + i] = lfuse_bind_tensor(names[i], out[i]);
    }
    OK(lfuse_plan_run(plan, stream, bindings, 4 + noutputs));
    OK(lfuse_stream_synchronize(stream));
    for (int i = 0; i < noutputs; i++) OK(lfuse_tensor_read(out[i], NULL, outputs[i].y));
    drop(plan);
    noutputs = 0;
}

static bool has_f64(void)
{
    return info_of(dev).f64;
}

/*
 * `size` is the sum of the absolute values of all that is added: each takes part in at most ALL sums, and went through
 * at most four functions, none of which is more than 8 units off.
 */
static void near(double got, long double want, long double size)
{
    const long double bound = (ALL + 4 * 8) * (long double)DBL_EPSILON * size;

    if (isnan(want)) ck_assert_msg(isnan(got), "%.17g is not NaN", got);
    else ck_assert_msg(fabsl(got - want) <= bound, "%.17g, not %.17Lg (bound %.3Lg)", got, want, bound);
}

/* ---- losses of elements, as torch.nn.functional defines them ---- */

typedef long double element(long double x, long double y);

static long double mse(long double x, long double y) { return (x - y) * (x - y); }
static long double l1(long double x, long double y) { return fabsl(x - y); }
static long double huber(long double x, long double y)
{
    const long double d = fabsl(x - y);
    return d <= 0.75L ? d * d / 2 : 0.75L * (d - 0.75L / 2);
}
static long double smooth(long double x, long double y)
{
    const long double d = fabsl(x - y);
    return d < 1.5L ? d * d / 2 / 1.5L : d - 1.5L / 2;
}
static long double binary(long double x, long double y)
{
    const long double p = 1 / (1 + expl(-x));
    return -(y * logl(p) + (1 - y) * logl(1 - p));
}
static long double positive_binary(long double x, long double y)
{
    const long double p = 1 / (1 + expl(-x));
    return -(3 * y * logl(p) + (1 - y) * logl(1 - p));
}
static long double kl(long double x, long double y) { return y > 0 ? y * (logl(y) - x) : 0; }
static long double kl_log(long double x, long double y) { return expl(y) * (y - x); }

static lfuse_value make_mse(lfuse_loss_reduction r) { return lfuse_mse_loss(za, zb, r); }
static lfuse_value make_l1(lfuse_loss_reduction r) { return lfuse_l1_loss(za, zb, r); }
static lfuse_value make_huber(lfuse_loss_reduction r) { return lfuse_huber_loss(za, zb, 0.75, r); }
static lfuse_value make_smooth(lfuse_loss_reduction r) { return lfuse_smooth_l1_loss(za, zb, 1.5, r); }
static lfuse_value make_absolute(lfuse_loss_reduction r) { return lfuse_smooth_l1_loss(za, zb, 0, r); }
static lfuse_value make_binary(lfuse_loss_reduction r)
{
    return lfuse_binary_cross_entropy_with_logits(za, zb, lfuse_none(), r);
}
static lfuse_value make_positive(lfuse_loss_reduction r)
{
    return lfuse_binary_cross_entropy_with_logits(za, zb, lfuse_constant(g, 3), r);
}
static lfuse_value make_kl(lfuse_loss_reduction r) { return lfuse_kl_div(za, zb, 0, r); }
static lfuse_value make_kl_log(lfuse_loss_reduction r) { return lfuse_kl_div(za, zb, 1, r); }

static const struct of_elements {
    lfuse_value (*make)(lfuse_loss_reduction r);
    element *want;
    bool batch; /* it has BATCHMEAN */
} of_elements[] = {
    {make_mse, mse, false}, {make_l1, l1, false}, {make_huber, huber, false}, {make_smooth, smooth, false},
    {make_absolute, l1, false}, {make_binary, binary, false}, {make_positive, positive_binary, false},
    {make_kl, kl, true}, {make_kl_log, kl_log, true},
};
enum { OF_ELEMENTS = sizeof of_elements / sizeof *of_elements };

static void check_elements(const struct of_elements *f, const double *none, const double *const *reduced)
{
    long double sum = 0, size = 0;

    for (int i = 0; i < ALL; i++) {
        const long double want = f->want(a[i], b[i]);
        near(none[i], want, 4 + fabsl(want));
        sum += want;
        size += 4 + fabsl(want);
    }
    near(*reduced[LFUSE_LOSS_MEAN], sum / ALL, size / ALL);
    near(*reduced[LFUSE_LOSS_SUM], sum, size);
    if (f->batch) near(*reduced[LFUSE_LOSS_BATCHMEAN], sum / ROWS, size / ROWS);
}

static void all_losses_of_elements(void)
{
    const double *none[OF_ELEMENTS], *reduced[OF_ELEMENTS][4];

    if (!has_f64()) return;
    inputs();
    for (int i = 0; i < OF_ELEMENTS; i++) {
        none[i] = element_losses(of_elements[i].make(LFUSE_LOSS_NONE));
        for (int r = 0; r < (of_elements[i].batch ? 4 : 3); r++)
            if (r != LFUSE_LOSS_NONE) reduced[i][r] = one_loss(of_elements[i].make((lfuse_loss_reduction)r));
    }
    run(a, b, targets);
    for (int i = 0; i < OF_ELEMENTS; i++) check_elements(&of_elements[i], none[i], reduced[i]);
}

/* ---- cross entropy ---- */

static long double log_softmax(const double *row, int c)
{
    long double sum = 0;

    for (int k = 0; k < CLASSES; k++) sum += expl(row[k]);
    return row[c] - logl(sum);
}

/* What a row of PyTorch's cross_entropy comes to; `weighted`: with the weights. */
static long double row_of_index(int r, bool weighted, double smoothing)
{
    long double v = 0;

    for (int c = 0; c < CLASSES; c++) {
        const long double q = (c == targets[r] ? 1 - smoothing : 0) + smoothing / CLASSES;
        v -= q * (weighted ? weights[c] : 1) * log_softmax(a + r * CLASSES, c);
    }
    return v;
}

static long double row_of_probabilities(int r, bool weighted, double smoothing)
{
    long double v = 0;

    for (int c = 0; c < CLASSES; c++) {
        const long double q = (1 - smoothing) * b[r * CLASSES + c] + smoothing / CLASSES;
        v -= q * (weighted ? weights[c] : 1) * log_softmax(a + r * CLASSES, c);
    }
    return v;
}

/* Weights, logarithms of sums and logits together are below this, of any row. */
enum { ROW_SIZE = 60 };

static void check_indices(bool weighted, double smoothing, int ignored, const double *const *got)
{
    long double sum = 0, shares = 0;

    for (int r = 0; r < ROWS; r++) {
        const bool counts = targets[r] != ignored;
        const long double want = counts ? row_of_index(r, weighted, smoothing) : 0;
        near(got[LFUSE_LOSS_NONE][r], want, counts ? ROW_SIZE : 0);
        sum += want;
        if (counts) shares += weighted ? weights[targets[r]] : 1;
    }
    near(*got[LFUSE_LOSS_SUM], sum, ROWS * ROW_SIZE);
    near(*got[LFUSE_LOSS_MEAN], sum / shares, ROWS * ROW_SIZE / shares);
}

static void check_probabilities(bool weighted, double smoothing, const double *const *got)
{
    long double sum = 0;

    for (int r = 0; r < ROWS; r++) {
        const long double want = row_of_probabilities(r, weighted, smoothing);
        near(got[LFUSE_LOSS_NONE][r], want, 3 * ROW_SIZE);
        sum += want;
    }
    near(*got[LFUSE_LOSS_SUM], sum, 3 * ROWS * ROW_SIZE);
    near(*got[LFUSE_LOSS_MEAN], sum / ROWS, 3 * ROW_SIZE);
}

/* Case i: with weights, with smoothing, an ignored index or none; the last ones of probabilities. */
enum { INDEX_CASES = 12, ROW_CASES = 16 };

static lfuse_value make_rows(int i, int ignored, lfuse_loss_reduction r)
{
    const lfuse_value weight = i & 1 ? w : lfuse_none();
    const double smoothing = i & 2 ? 0.25 : 0;

    if (i < INDEX_CASES) return lfuse_cross_entropy(za, 1, t, weight, ignored, smoothing, r);
    return lfuse_cross_entropy_probabilities(za, 1, zb, weight, smoothing, r);
}

static void all_cross_entropies(void)
{
    static const int ignored[] = {LFUSE_IGNORED_INDEX, 1, LFUSE_NO_IGNORED_INDEX, 0};
    const double *got[ROW_CASES][3];

    for (int first = 0; first < ROW_CASES && has_f64(); first += 8) {
        inputs();
        for (int i = first; i < first + 8; i++)
            for (int r = 0; r < 3; r++) {
                const lfuse_value y = make_rows(i, ignored[i / 4], (lfuse_loss_reduction)r);
                got[i][r] = r == LFUSE_LOSS_NONE ? row_losses(y) : one_loss(y);
            }
        run(a, b, targets);
        for (int i = first; i < first + 8; i++)
            if (i < INDEX_CASES) check_indices(i & 1, i & 2 ? 0.25 : 0, ignored[i / 4], got[i]);
            else check_probabilities(i & 1, i & 2 ? 0.25 : 0, got[i]);
    }
}

/* (softmax - onehot) / rows; a small probability keeps all its digits, whatever the others are. */
static void cross_entropy_gradients(void)
{
    lfuse_value y, d;
    const double *got;

    if (!has_f64()) return;
    inputs();
    y = lfuse_cross_entropy(za, 1, t, lfuse_none(), LFUSE_NO_IGNORED_INDEX, 0, LFUSE_LOSS_MEAN);
    lfuse_gradient(y, lfuse_none(), 1, &za, &d);
    got = element_losses(d);
    run(a, b, targets);
    for (int i = 0; i < ALL; i++) {
        const long double p = expl(log_softmax(a + i / CLASSES * CLASSES, i % CLASSES));
        const bool own = targets[i / CLASSES] == i % CLASSES;
        near(got[i], (p - own) / ROWS, (own ? 1 : p) / ROWS);
    }
}

/* ---- edges ---- */

/* No element is read by an index that is none: its row is NaN, and nothing comes back to it. */
static void unknown_indices(void)
{
    static const int64_t wrong[ROWS] = {2, -1, 3, 4, INT64_MIN};
    const double *rows, *mean, *sum, *slope;
    lfuse_value y, d;

    if (!has_f64()) return;
    inputs();
    rows = row_losses(lfuse_cross_entropy(za, 1, t, w, 3, 0.1, LFUSE_LOSS_NONE));
    mean = one_loss(lfuse_cross_entropy(za, 1, t, w, 3, 0, LFUSE_LOSS_MEAN));
    sum = one_loss(lfuse_cross_entropy(za, 1, t, w, 3, 0, LFUSE_LOSS_SUM));
    y = lfuse_cross_entropy(za, 1, t, lfuse_none(), 3, 0, LFUSE_LOSS_SUM);
    lfuse_gradient(y, lfuse_none(), 1, &za, &d);
    slope = element_losses(d);
    run(a, b, wrong);
    ck_assert(!isnan(rows[0]) && isnan(rows[1]) && rows[2] == 0 && isnan(rows[3]) && isnan(rows[4]));
    ck_assert(isnan(*mean) && isnan(*sum));
    for (int i = 0; i < ALL; i++) ck_assert(i < CLASSES ? slope[i] != 0 : slope[i] == 0);
}

/* The mean of no rows is NaN, their sum 0. */
static void no_rows(void)
{
    static const int64_t ones[ROWS] = {1, 1, 1, 1, 1};
    const double *mean, *sum;

    if (!has_f64()) return;
    inputs();
    mean = one_loss(lfuse_cross_entropy(za, 1, t, lfuse_none(), 1, 0, LFUSE_LOSS_MEAN));
    sum = one_loss(lfuse_cross_entropy(za, 1, t, lfuse_none(), 1, 0, LFUSE_LOSS_SUM));
    run(a, b, ones);
    ck_assert(isnan(*mean) && *sum == 0);
}

/* Logits of any size, and classes that are masked by -inf. */
static void large_logits(void)
{
    static const double z[ALL] = {1000, -1000, 0, 0, -INFINITY, 2, 2, -INFINITY, -1e300, 1e300, 0, 0,
                                  -INFINITY, -INFINITY, -INFINITY, -INFINITY, NAN, 0, 0, 0};
    static const int64_t index[ROWS] = {1, 2, 1, 0, 1};
    const double *got;

    if (!has_f64()) return;
    inputs();
    got = row_losses(lfuse_cross_entropy(za, 1, t, lfuse_none(), LFUSE_NO_IGNORED_INDEX, 0, LFUSE_LOSS_NONE));
    run(z, b, index);
    ck_assert_double_eq(got[0], 2000);
    near(got[1], logl(2), 1);
    ck_assert_double_eq(got[2], 0);
    ck_assert(isnan(got[3]) && isnan(got[4]));
}

/* A logit that is sure, and right, has a small loss and gradient, with all digits; at 0 the slope is 1/2 - target. */
static void sure_logits(void)
{
    static const double x[ALL] = {40, -40, 40, -40, 700, -700, 0, 0}, y[ALL] = {1, 0, 0, 1, 1, 0, 1, 0};
    const long double loss[] = {expl(-40), expl(-40), 40, 40, expl(-700), expl(-700)};
    const long double slope[] = {-expl(-40), expl(-40), 1, -1, -expl(-700), expl(-700), -0.5L, 0.5L};
    const double *losses, *slopes;
    lfuse_value l, d;

    if (!has_f64()) return;
    inputs();
    losses = element_losses(lfuse_binary_cross_entropy_with_logits(za, zb, lfuse_none(), LFUSE_LOSS_NONE));
    l = lfuse_binary_cross_entropy_with_logits(za, zb, lfuse_none(), LFUSE_LOSS_SUM);
    lfuse_gradient(l, lfuse_none(), 1, &za, &d);
    slopes = element_losses(d);
    run(x, y, targets);
    for (int i = 0; i < 6; i++) near(losses[i], loss[i], loss[i]);
    for (int i = 0; i < 8; i++) near(slopes[i], slope[i], fabsl(slope[i]));
}

/* The gradient is the difference up to delta, its sign times delta beyond, an infinite difference included. */
static void huber_gradients(void)
{
    static const double x[ALL] = {0, 0.25, -0.5, 0.75, -0.75, 1, -4, INFINITY, -INFINITY, NAN}, y[ALL] = {0};
    static const double want[] = {0, 0.25, -0.5, 0.75, -0.75, 0.75, -0.75, 0.75, -0.75};
    const double *got;
    lfuse_value l, d;

    if (!has_f64()) return;
    inputs();
    l = lfuse_huber_loss(za, zb, 0.75, LFUSE_LOSS_SUM);
    lfuse_gradient(l, lfuse_none(), 1, &za, &d);
    got = element_losses(d);
    run(x, y, targets);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        ck_assert_msg(got[i] == want[i], "element %zu: %g, not %g", i, got[i], want[i]);
}

/* ---- on the stub and on all devices ---- */

TEST_CASE("losses", .setup = open_stub, .teardown = close_stub)

#define ON_BOTH(name, body)                                                                                            \
    TEST(name##_on_the_stub)                                                                                           \
    {                                                                                                                  \
        body();                                                                                                        \
    }                                                                                                                  \
    TEST_ON_MACHINE(name)                                                                                              \
    {                                                                                                                  \
        body();                                                                                                        \
    }

ON_BOTH(elements, all_losses_of_elements)
ON_BOTH(rows, all_cross_entropies)
ON_BOTH(gradients_of_rows, cross_entropy_gradients)
ON_BOTH(indices, unknown_indices)
ON_BOTH(empty, no_rows)
ON_BOTH(logits, large_logits)
ON_BOTH(sure, sure_logits)
ON_BOTH(kinks, huber_gradients)

TEST_SUITE("losses", CK_NOFORK)
