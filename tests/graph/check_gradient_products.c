/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients, and gradients of these, of products of which no factor is 0, one, two and so on up to all of them; and
 * their gradients again where at most one is. Factors are 0 or powers of 2 and seeds whole, so that all values are
 * exact and have to be equal.
 */
#include "bench/data.h"
#include "bench/oracle.h"
#include "libfuse.h"
#include "tests/support/main.h"

/* Rows of N factors, in which every choice of a factor from those of CHOICES stands beside every other. */
enum { N = 5, CHOICES = 4, ROWS = 1024 };
static const double choices[CHOICES] = {0, 1, -2, 4};
static const int last[] = {-1}, ends[] = {0, 2};

static double a[ROWS][N], u[ROWS][N], g[ROWS][N];

static void fill(void)
{
    for (int r = 0; r < ROWS; r++)
        for (int i = 0, rest = r; i < N; i++, rest /= CHOICES) {
            a[r][i] = choices[rest % CHOICES];
            u[r][i] = (double)((7 * r + 3 * i) % 9 - 4);
            g[r][i] = (double)((5 * r + 2 * i) % 7 - 3);
        }
}

/* The product of the first `count` factors of a row without three of them, some of which may be one. */
static double product(int r, int count, int i, int j, int k)
{
    double p = 1;
    for (int n = 0; n < count; n++)
        if (n != i && n != j && n != k) p *= a[r][n];
    return p;
}

static int zeros(int r)
{
    int count = 0;
    for (int i = 0; i < N; i++) count += a[r][i] == 0;
    return count;
}

/* What is differentiated: the sum of g[k] times the product of the first k + 1 factors, for k of the row's results. */
typedef struct function {
    const char *name;
    lfuse_value (*make)(lfuse_value a);
    bool scan; /* results are N in a row, else one, of all factors */
} function;

/* The sum of g[k] times the products that have these three factors, without them. */
static double without(const function *f, int r, int i, int j, int k)
{
    double sum = 0;
    for (int n = 0; n < (f->scan ? N : 1); n++) {
        const int count = f->scan ? n + 1 : N;
        if (i < count && j < count && k < count) sum += g[r][n] * product(r, count, i, j, k);
    }
    return sum;
}

static double first(const function *f, int r, int i) { return without(f, r, i, i, i); }

/* By a[i] of the sum of u times the first gradients. */
static double second(const function *f, int r, int i)
{
    double sum = 0;
    for (int j = 0; j < N; j++)
        if (j != i) sum += u[r][j] * without(f, r, i, j, j);
    return sum;
}

/* By a[i] of the sum of u times these. */
static double third(const function *f, int r, int i)
{
    double sum = 0;
    for (int j = 0; j < N; j++)
        for (int k = 0; k < N; k++)
            if (i != j && j != k && k != i) sum += u[r][j] * u[r][k] * without(f, r, i, j, k);
    return sum;
}

/* By g[k] of the sum of u times the first gradients. */
static double by_seed(const function *f, int r, int k)
{
    const int count = f->scan ? k + 1 : N;
    double sum = 0;
    for (int j = 0; j < count; j++) sum += u[r][j] * product(r, count, j, j, j);
    return sum;
}

static lfuse_value of_rows(lfuse_value x) { return lfuse_prod(x, 1, last, 0); }
static lfuse_value of_kept_rows(lfuse_value x) { return lfuse_flatten(lfuse_prod(x, 1, last, 1), 0, 1); }
static lfuse_value of_columns(lfuse_value x) { return lfuse_prod(lfuse_transpose(x), 1, (const int[]){0}, 0); }
/* A row's factors lie along two axes, between which the rows lie. */
static lfuse_value of_two_axes(lfuse_value x)
{
    const lfuse_value ones = lfuse_full_like(lfuse_slice(x, 1, 0, 1, 1), lfuse_constant(x.graph, 1));
    const lfuse_value six = lfuse_concat(2, (const lfuse_value[]){x, ones}, 1);
    const lfuse_value apart = lfuse_permute(lfuse_reshape(six, SHAPE(ROWS, 2, 3)), (const int[]){1, 0, 2});
    return lfuse_prod(apart, 2, ends, 0);
}
static lfuse_value of_cumprod(lfuse_value x) { return lfuse_cumprod(x, 1); }

static const function functions[] = {
    {"prod of rows", of_rows, false},
    {"prod of rows, kept", of_kept_rows, false},
    {"prod of columns", of_columns, false},
    {"prod along two axes", of_two_axes, false},
    {"cumprod", of_cumprod, true},
};

typedef double expectation(const function *f, int r, int i);

/* In rows of at most so many factors of 0. */
static void hold(const function *f, lfuse_type type, const lfuse__oracle_run *run, const char *output,
                 expectation *expected, int columns, int most)
{
    const lfuse__oracle_result *x = lfuse__oracle_find(run, output);
    ck_assert_int_eq(x->count, ROWS * columns);
    for (int64_t i = 0; i < x->count; i++) {
        const int r = (int)i / columns, c = (int)i % columns;
        const double e = expected(f, r, c);
        if (zeros(r) > most) continue;
        ck_assert_msg(x->value[i] == e, "%s of %s: %s of %g %g %g %g %g, element %d, is %.17Lg instead of %g", f->name,
                      lfuse_type_name(type), output, a[r][0], a[r][1], a[r][2], a[r][3], a[r][4], c, x->value[i], e);
    }
}

static void *typed(lfuse_type type, int columns, double (*values)[N])
{
    void *data = calloc(ROWS * N, lfuse_type_size(type));
    ck_assert_ptr_nonnull(data);
    for (int i = 0; i < ROWS * columns; i++) lfuse__data_put(type, data, i, values[i / columns][i % columns]);
    return data;
}

static void check(const function *f, lfuse_type type)
{
    const int columns = f->scan ? N : 1;
    lfuse_graph *graph = lfuse_graph_create();
    lfuse__oracle_run run;
    lfuse_value d, dd[2], ddd;
    fill();
    const lfuse__oracle_input in[] = {
        {.name = "a", .data = typed(type, N, a), .shape = {ROWS, N}},
        {.name = "u", .data = typed(type, N, u), .shape = {ROWS, N}},
        {.name = "g", .data = typed(type, columns, g), .shape = {ROWS, columns}},
    };
    const lfuse_value x = lfuse_input(graph, "a", TYPED(type, ROWS, N));
    const lfuse_value w = lfuse_input(graph, "u", TYPED(type, ROWS, N));
    const lfuse_value seed = lfuse_input(graph, "g", type, f->scan ? 2 : 1, LFUSE_DIMS(ROWS, columns));
    lfuse_gradient(f->make(x), seed, 1, &x, &d);
    lfuse_gradient(d, w, 2, (const lfuse_value[]){x, seed}, dd);
    lfuse_gradient(dd[0], w, 1, &x, &ddd);
    lfuse_output(graph, "first", d);
    lfuse_output(graph, "second", dd[0]);
    lfuse_output(graph, "third", ddd);
    lfuse_output(graph, "by the seed", dd[1]);
    OK(lfuse__oracle_run_graph(graph, in, 3, NULL, &run));
    hold(f, type, &run, "first", first, N, N);
    hold(f, type, &run, "second", second, N, N);
    hold(f, type, &run, "third", third, N, 1);
    hold(f, type, &run, "by the seed", by_seed, columns, N);
    lfuse__oracle_free(&run);
    lfuse_graph_destroy(graph);
    for (int i = 0; i < 3; i++) free((void *)in[i].data);
}

TEST_CASE("products with zeros")

TEST_LOOP(gradients_of_gradients, 0, (int)(sizeof functions / sizeof *functions))
{
    check(&functions[_i], LFUSE_F64);
    check(&functions[_i], LFUSE_F32);
}

TEST_SUITE("gradients of products", CK_FORK_GETENV)
