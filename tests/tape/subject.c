/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tape/subject.h"

#include <float.h>

#include "bench/data.h"
#include "common/graph/graph.h"

/* ---- inputs ---- */

/* 128 numbers without a repetition, in an order that depends on the input. */
static double element(const subject *f, subject_data kind, int64_t i)
{
    const int64_t k = (i * 37 + f->n * 29 + 5) % 128;
    if (f->whole) return (double)(k % 7 - 3);
    switch (kind) {
    case DISTINCT: return (double)(2 * (k - 64) + 1) / 64;
    case UNIT: return (double)(2 * (k - 64) + 1) / 128;
    case POSITIVE: return (double)(2 * k + 33) / 128;
    case ABOVE_ONE: return (double)(k + 133) / 128;
    }
    return 0;
}

static int add_input(subject *f, lfuse_type type, int64_t count)
{
    const int i = f->n;
    ck_assert_int_lt(i, SUBJECT_INPUTS);
    snprintf(f->names[i], sizeof f->names[i], "%c", 'a' + i);
    f->in[i] = (lfuse__oracle_input){.name = f->names[i]};
    f->types[i] = type;
    f->counts[i] = count;
    f->data[i] = calloc((size_t)count + 1, lfuse_type_size(type));
    ck_assert_ptr_nonnull(f->data[i]);
    return i;
}

static lfuse_value finish_input(subject *f, subject_data kind, lfuse_value v)
{
    const int i = f->n;
    for (int64_t k = 0; k < f->counts[i]; k++) lfuse__data_put(f->types[i], f->data[i], k, element(f, kind, k));
    if (lfuse__is_floating(f->types[i])) {
        f->of[f->nwrt] = i;
        f->wrt[f->nwrt++] = v;
    }
    f->n++;
    return f->values[i] = v;
}

static int64_t product(int rank, const int64_t *shape)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++) count *= shape[i];
    return count;
}

/* A size variable stands for its value, which a binding before this one tells. */
static int64_t actual(const subject *f, lfuse_size size)
{
    if (lfuse__size_is_number(size)) return size;
    for (int i = 0; i < f->n; i++)
        if (!f->data[i] && !strcmp(f->in[i].name, f->g->sizes[lfuse__size_index(size)].name))
            return (int64_t)f->in[i].number;
    ck_abort_msg("a size without a value");
}

lfuse_value subject_typed(subject *f, subject_data kind, lfuse_type type, int rank, const int64_t *shape)
{
    int64_t extents[LFUSE_MAX_RANK] = {0};
    for (int k = 0; k < rank; k++) extents[k] = actual(f, shape[k]);
    const int i = add_input(f, type, product(rank, extents));
    f->in[i].data = f->data[i];
    memcpy(f->in[i].shape, extents, sizeof extents);
    return finish_input(f, kind, lfuse_input(f->g, f->names[i], type, rank, shape));
}

lfuse_value subject_input(subject *f, subject_data kind, int rank, const int64_t *shape)
{
    return subject_typed(f, kind, f->type, rank, shape);
}

lfuse_value subject_indices(subject *f, int rank, const int64_t *shape, const int *elements)
{
    const int i = f->n;
    const lfuse_value v = subject_typed(f, DISTINCT, LFUSE_I32, rank, shape);
    for (int64_t k = 0; k < f->counts[i]; k++) lfuse__data_put(LFUSE_I32, f->data[i], k, elements[k]);
    return v;
}

lfuse_value subject_list(subject *f, subject_data kind, int rank, int count, const int64_t *elements)
{
    int64_t total = 0;
    for (int m = 0; m < count; m++) total += elements[m];
    const int i = add_input(f, f->type, total);
    total = 0;
    for (int m = 0; m < count; m++) {
        f->elements[i][m] = elements[m];
        f->members[i][m] = (char *)f->data[i] + (size_t)total * lfuse_type_size(f->type);
        total += elements[m];
    }
    f->in[i].members = f->members[i];
    f->in[i].elements = f->elements[i];
    f->in[i].count = count;
    return finish_input(f, kind, lfuse_list_input(f->g, f->names[i], f->type, rank));
}

lfuse_value subject_matrices(subject *f, subject_data kind, int count, const int64_t (*shapes)[3])
{
    const int i = f->n;
    int64_t elements[SUBJECT_MEMBERS];
    for (int m = 0; m < count; m++) {
        elements[m] = product(3, shapes[m]);
        f->matrices[i][m] = (lfuse__matrices){shapes[m][0], shapes[m][1], shapes[m][2], 3};
    }
    f->in[i].matrices = f->matrices[i];
    const lfuse_value v = subject_list(f, kind, LFUSE_RANK_MATRIX, count, elements);
    f->in[i].matrices = f->matrices[i];
    return v;
}

lfuse_value subject_constant(subject *f, double number) { return lfuse_constant(f->g, number); }

static int add_number(subject *f, const char *name, double number)
{
    const int i = f->n++;
    ck_assert_int_lt(i, SUBJECT_INPUTS);
    snprintf(f->names[i], sizeof f->names[i], "%s", name);
    f->in[i] = (lfuse__oracle_input){.name = f->names[i], .number = number};
    return i;
}

lfuse_value subject_scalar(subject *f, double number)
{
    char name[8];
    snprintf(name, sizeof name, "%c", 'a' + f->n);
    return lfuse_scalar(f->g, f->names[add_number(f, name, number)]);
}

lfuse_size subject_size(subject *f, const char *name, int64_t low, int64_t high, int64_t value)
{
    add_number(f, name, (double)value);
    return lfuse_size_var(f->g, name, low, high);
}

/* ---- a function with its gradients ---- */

/* The function's value y, the seed s, the gradients d, by u seeded in turn, and those of theirs, dd. */
typedef struct study {
    const char *name;
    subject f;
    lfuse_value y, s, d[SUBJECT_INPUTS], u[SUBJECT_INPUTS], dd[SUBJECT_INPUTS];
    bool second;
    lfuse__oracle_run run; /* of all of these */
    tape *t;
} study;

static void name_output(const study *x, const char *word, int i, lfuse_value v)
{
    char name[16];
    snprintf(name, sizeof name, "%s%d", word, i);
    lfuse_output(x->f.g, name, v);
}

static const lfuse__oracle_result *result(const study *x, const char *word, int i)
{
    char name[16];
    snprintf(name, sizeof name, "%s%d", word, i);
    const lfuse__oracle_result *r = lfuse__oracle_find(&x->run, name);
    ck_assert_msg(r, "%s: there is no %s", x->name, name);
    return r;
}

/* Seeds are constants that depend on the value; of whole numbers the value itself. */
static lfuse_value seed_of(const subject *f, lfuse_value y)
{
    return lfuse_stop(f->whole ? y : lfuse_sin(lfuse_add(lfuse_mul(y, lfuse_constant(f->g, 3)),
                                                        lfuse_constant(f->g, 1))));
}

static void make(study *x, const char *name, subject_maker *maker, lfuse_type type, bool whole, bool second)
{
    memset(x, 0, sizeof *x);
    x->name = name;
    x->second = second;
    x->f.type = type;
    x->f.whole = whole;
    x->f.g = lfuse_graph_create();
    ck_assert_ptr_nonnull(x->f.g);
    x->y = maker(&x->f);
    x->s = seed_of(&x->f, x->y);
    lfuse_gradient(x->y, x->s, x->f.nwrt, x->f.wrt, x->d);
    name_output(x, "y", 0, x->y);
    name_output(x, "s", 0, x->s);
    for (int i = 0; i < x->f.nwrt; i++) name_output(x, "d", i, x->d[i]);
    for (int i = 0; i < x->f.nwrt && second; i++) {
        const lfuse_value v = x->f.wrt[i];
        x->u[i] = lfuse_stop(lfuse_mul(v, lfuse_sub(v, lfuse_constant(x->f.g, 0.75))));
    }
    if (second) lfuse_gradients(x->f.nwrt, x->d, x->u, 0, x->f.nwrt, x->f.wrt, x->dd);
    for (int i = 0; i < x->f.nwrt && second; i++) name_output(x, "dd", i, x->dd[i]);
    ck_assert_msg(!lfuse_graph_check(x->f.g), "%s: %s", name, lfuse_last_error());
}

static void evaluate(study *x, bool inexact)
{
    const lfuse__oracle_options options = {.inexact = inexact};
    const lfuse_status status = lfuse__oracle_run_graph(x->f.g, x->f.in, x->f.n, &options, &x->run);
    ck_assert_msg(!status, "%s: %s", x->name, lfuse_last_error());
    x->t = tape_record(x->f.g, x->f.in, x->f.n, x->f.nwrt, x->f.wrt);
}

static void destroy(study *x)
{
    if (x->t) tape_free(x->t);
    lfuse__oracle_free(&x->run);
    lfuse_graph_destroy(x->f.g);
    for (int i = 0; i < x->f.n; i++) free(x->f.data[i]);
}

/* ---- against the tape ---- */

typedef struct tally {
    int64_t judged, open;
    long double largest; /* derivative so far */
} tally;

static void hold(const study *x, const char *what, int which, const lfuse__oracle_result *r, int64_t i,
                 long double expected, tally *sum)
{
    /* The tape's own arithmetic is in long double: a few hundred roundings are below this. */
    const long double tolerance = r->bound[i] + 1e-16L * fabsl(expected);
    if (isinf(r->bound[i])) {
        sum->open++;
        return;
    }
    sum->judged++;
    ck_assert_msg(fabsl(r->value[i] - expected) <= tolerance || (isnan(r->value[i]) && isnan(expected)),
                  "%s of %s: %s %d, element %lld: %.17Lg, the tape has %.17Lg +- %.2Lg", x->name,
                  lfuse_type_name(x->f.type), what, which, (long long)i, r->value[i], expected, tolerance);
}

/*
 * The graph of the gradients, itself written out, against the derivatives: no rounding comes in between but that of
 * numbers to double. This tells where the oracle cannot, who admits that a count may not be whole.
 */
static void hold_unrounded(const study *x, const char *what, const lfuse_value *d, tally *sum)
{
    if (x->f.type != LFUSE_F64) return;
    for (int k = 0; k < x->f.nwrt; k++)
        for (int64_t i = 0; i < tape_count(x->t, d[k]); i++)
            sum->largest = fmaxl(sum->largest, fabsl(tape_derivative(x->t, x->f.wrt[k], i)));
    for (int k = 0; k < x->f.nwrt; k++)
        for (int64_t i = 0; i < tape_count(x->t, d[k]); i++) {
            const long double expected = tape_derivative(x->t, x->f.wrt[k], i), got = tape_value(x->t, d[k], i);
            ck_assert_msg(fabsl(got - expected) <= 16 * DBL_EPSILON * (sum->largest + 1),
                          "%s: %s %d, element %lld, without rounding: %.17Lg instead of %.17Lg", x->name, what, k,
                          (long long)i, got, expected);
        }
}

static long double *seeds_of(const study *x, lfuse_value v)
{
    const int64_t count = tape_count(x->t, v);
    long double *s = malloc((size_t)(count + 1) * sizeof *s);
    ck_assert_ptr_nonnull(s);
    for (int64_t i = 0; i < count; i++) s[i] = tape_value(x->t, v, i);
    return s;
}

static void hold_first(study *x, tally *sum)
{
    long double *seeds = seeds_of(x, x->s);
    const lfuse__oracle_result *y = result(x, "y", 0);
    ck_assert_int_eq(y->count, tape_count(x->t, x->y));
    for (int64_t i = 0; i < y->count; i++) hold(x, "value", 0, y, i, tape_value(x->t, x->y, i), sum);
    tape_reverse(x->t, 1, &x->y, (const long double *const[]){seeds});
    for (int k = 0; k < x->f.nwrt; k++) {
        const lfuse__oracle_result *r = result(x, "d", k);
        ck_assert_int_eq(r->count, x->f.counts[x->f.of[k]]);
        ck_assert_int_eq(r->type, x->f.types[x->f.of[k]]);
        for (int64_t i = 0; i < r->count; i++) hold(x, "gradient", k, r, i, tape_derivative(x->t, x->f.wrt[k], i), sum);
    }
    hold_unrounded(x, "gradient", x->d, sum);
    free(seeds);
}

static void hold_second(study *x, tally *sum)
{
    long double *seeds[SUBJECT_INPUTS];
    for (int k = 0; k < x->f.nwrt; k++) seeds[k] = seeds_of(x, x->u[k]);
    tape_reverse(x->t, x->f.nwrt, x->d, (const long double *const *)seeds);
    for (int k = 0; k < x->f.nwrt; k++) {
        const lfuse__oracle_result *r = result(x, "dd", k);
        for (int64_t i = 0; i < r->count; i++)
            hold(x, "second gradient", k, r, i, tape_derivative(x->t, x->f.wrt[k], i), sum);
    }
    hold_unrounded(x, "second gradient", x->dd, sum);
    for (int k = 0; k < x->f.nwrt; k++) free(seeds[k]);
}

static void hold_to_tape(const char *name, subject_maker *maker, lfuse_type type, unsigned flags)
{
    const bool second = !(flags & ONCE) && type != LFUSE_F16 && type != LFUSE_BF16;
    tally sum = {0, 0, 0};
    study x;
    make(&x, name, maker, type, false, second);
    evaluate(&x, true);
    hold_first(&x, &sum);
    if (second) hold_second(&x, &sum);
    const int64_t most = type == LFUSE_F64 && !(flags & COUNTS) ? 0 : sum.judged;
    ck_assert_msg(sum.open <= most, "%s of %s: %lld elements cannot be judged", name, lfuse_type_name(type),
                  (long long)sum.open);
    destroy(&x);
}

/* ---- against differences ---- */

static const double step = 0x1p-10;
static const int at[4] = {-2, -1, 1, 2}, weight[4] = {1, -8, 8, -1};

/* The sum of seeds times values of the function alone, and how far it may be off. */
static long double seeded(const study *forward, const lfuse__oracle_result *s, double *error)
{
    lfuse__oracle_run run;
    long double sum = 0;
    const lfuse__oracle_options options = {.inexact = true};
    const lfuse_status status = lfuse__oracle_run_graph(forward->f.g, forward->f.in, forward->f.n, &options, &run);
    ck_assert_msg(!status, "%s: %s", forward->name, lfuse_last_error());
    for (int64_t i = 0; i < s->count; i++) {
        sum += s->value[i] * run.results[0].value[i];
        *error += (double)fabsl(s->value[i]) * run.results[0].bound[i] +
                  (double)s->count * LDBL_EPSILON * (double)fabsl(s->value[i] * run.results[0].value[i]);
    }
    lfuse__oracle_free(&run);
    return sum;
}

/* Central difference of five points by one element. */
static long double difference(study *forward, const lfuse__oracle_result *s, int input, int64_t i, double h,
                              double *error)
{
    const double x = lfuse__data_get(LFUSE_F64, forward->f.data[input], i);
    long double sum = 0;
    double off = 0;
    for (int k = 0; k < 4; k++) {
        lfuse__data_put(LFUSE_F64, forward->f.data[input], i, x + at[k] * h); /* exact: x is a multiple of 2^-7 */
        double e = 0;
        sum += weight[k] * seeded(forward, s, &e);
        off += abs(weight[k]) * e;
    }
    lfuse__data_put(LFUSE_F64, forward->f.data[input], i, x);
    *error += off / (12 * h);
    return sum / (12 * h);
}

/*
 * The difference by half the step is off by a fifteenth of what separates it from that by the whole one, as both are by
 * h^4 times the fifth derivative and higher terms; the whole of that is allowed, and the errors of the values.
 */
static void hold_to_differences(const char *name, subject_maker *maker, unsigned flags)
{
    int64_t sharp = 0, count = 0;
    study x, forward = {.name = name};
    make(&x, name, maker, LFUSE_F64, false, false);
    evaluate(&x, true);
    forward.f.type = LFUSE_F64;
    forward.f.g = lfuse_graph_create();
    lfuse_output(forward.f.g, "y0", maker(&forward.f));
    for (int k = 0; k < x.f.nwrt; k++) {
        const lfuse__oracle_result *r = result(&x, "d", k), *s = result(&x, "s", 0);
        for (int64_t i = 0; i < r->count; i++) {
            double error = r->bound[i];
            const long double coarse = difference(&forward, s, x.f.of[k], i, step, &error);
            const long double fine = difference(&forward, s, x.f.of[k], i, step / 2, &error);
            const long double tolerance = fabsl(coarse - fine) + error;
            count++;
            sharp += tolerance <= 1e-7L * (1 + fabsl(fine));
            ck_assert_msg(fabsl(r->value[i] - fine) <= tolerance,
                          "%s: gradient %d, element %lld: %.17Lg, differences give %.17Lg +- %.2Lg", name, k,
                          (long long)i, r->value[i], fine, tolerance);
        }
    }
    ck_assert_msg(2 * sharp > count || !count || flags & COUNTS, "%s: differences are sharp at %lld elements of %lld",
                  name, (long long)sharp, (long long)count);
    destroy(&forward);
    destroy(&x);
}

/* The gradients by the tape of the function alone, with all inputs moved along u by t. */
static void moved(study *forward, const study *x, double *const *u, double t, long double **d)
{
    const lfuse__oracle_result *s = result(x, "s", 0);
    for (int k = 0; k < x->f.nwrt; k++)
        for (int64_t i = 0; i < x->f.counts[x->f.of[k]]; i++)
            lfuse__data_put(LFUSE_F64, forward->f.data[x->f.of[k]], i,
                            lfuse__data_get(LFUSE_F64, x->f.data[x->f.of[k]], i) + t * u[k][i]);
    tape *tp = tape_record(forward->f.g, forward->f.in, forward->f.n, forward->f.nwrt, forward->f.wrt);
    tape_reverse(tp, 1, &forward->y, (const long double *const[]){s->value});
    for (int k = 0; k < x->f.nwrt; k++)
        for (int64_t i = 0; i < x->f.counts[x->f.of[k]]; i++) d[k][i] = tape_derivative(tp, forward->f.wrt[k], i);
    tape_free(tp);
}

typedef struct derivatives {
    double *u[SUBJECT_INPUTS];
    long double *d[SUBJECT_INPUTS], *by[2][SUBJECT_INPUTS]; /* at a point; differences by a step and by half of it */
    long double largest;
} derivatives;

static void allocate(const study *x, derivatives *v)
{
    memset(v, 0, sizeof *v);
    for (int k = 0; k < x->f.nwrt; k++) {
        const size_t count = (size_t)x->f.counts[x->f.of[k]] + 1;
        v->u[k] = calloc(count, sizeof **v->u);
        v->d[k] = calloc(count, sizeof **v->d);
        v->by[0][k] = calloc(count, sizeof **v->d);
        v->by[1][k] = calloc(count, sizeof **v->d);
        ck_assert(v->u[k] && v->d[k] && v->by[0][k] && v->by[1][k]);
        for (int64_t i = 0; i < x->f.counts[x->f.of[k]]; i++) v->u[k][i] = (double)tape_value(x->t, x->u[k], i);
    }
}

static void release(const study *x, derivatives *v)
{
    for (int k = 0; k < x->f.nwrt; k++) {
        free(v->u[k]);
        free(v->d[k]);
        free(v->by[0][k]);
        free(v->by[1][k]);
    }
}

/* The Hessian is symmetric: u times it, which is asked for, is it times u, which moving along u shows. */
static void hold_second_to_differences(const char *name, subject_maker *maker)
{
    study x, forward = {.name = name};
    derivatives v;
    make(&x, name, maker, LFUSE_F64, false, true);
    evaluate(&x, true);
    forward.f.type = LFUSE_F64;
    forward.f.g = lfuse_graph_create();
    forward.y = maker(&forward.f);
    allocate(&x, &v);
    for (int half = 0; half < 2; half++)
        for (int p = 0; p < 4; p++) {
            const double h = half ? step / 2 : step;
            moved(&forward, &x, v.u, at[p] * h, v.d);
            for (int k = 0; k < x.f.nwrt; k++)
                for (int64_t i = 0; i < x.f.counts[x.f.of[k]]; i++) {
                    v.by[half][k][i] += weight[p] * v.d[k][i] / (12 * h);
                    if (fabsl(v.d[k][i]) > v.largest) v.largest = fabsl(v.d[k][i]);
                }
        }
    for (int k = 0; k < x.f.nwrt; k++)
        for (int64_t i = 0; i < x.f.counts[x.f.of[k]]; i++) {
            const lfuse__oracle_result *r = result(&x, "dd", k);
            const long double fine = v.by[1][k][i];
            /* s has the error of a double, and all that is added to it those of a few hundred operations. */
            const long double tolerance = fabsl(v.by[0][k][i] - fine) + r->bound[i] +
                                          64 * DBL_EPSILON * (v.largest + fabsl(fine)) +
                                          512 * LDBL_EPSILON * v.largest / step;
            ck_assert_msg(fabsl(r->value[i] - fine) <= tolerance,
                          "%s: second gradient %d, element %lld: %.17Lg, differences give %.17Lg +- %.2Lg", name, k,
                          (long long)i, r->value[i], fine, tolerance);
        }
    release(&x, &v);
    destroy(&forward);
    destroy(&x);
}

/* ---- whole numbers ---- */

static void hold_exactly(const char *name, subject_maker *maker)
{
    study x;
    make(&x, name, maker, LFUSE_F32, true, false);
    evaluate(&x, false);
    long double *seeds = seeds_of(&x, x.s);
    tape_reverse(x.t, 1, &x.y, (const long double *const[]){seeds});
    for (int k = 0; k < x.f.nwrt; k++) {
        const lfuse__oracle_result *r = result(&x, "d", k);
        for (int64_t i = 0; i < r->count; i++) {
            const long double expected = tape_derivative(x.t, x.f.wrt[k], i);
            ck_assert_msg(r->value[i] == expected && r->bound[i] == 0,
                          "%s: gradient %d, element %lld of whole numbers: %.9Lg +- %g instead of %.9Lg", name, k,
                          (long long)i, r->value[i], r->bound[i], expected);
        }
    }
    free(seeds);
    destroy(&x);
}

void subject_check(const char *name, subject_maker *make_it, unsigned flags)
{
    hold_to_tape(name, make_it, LFUSE_F64, flags);
    hold_to_tape(name, make_it, LFUSE_F32, flags);
    if (!(flags & NARROW)) hold_to_tape(name, make_it, LFUSE_F16, flags);
    if (!(flags & NARROW)) hold_to_tape(name, make_it, LFUSE_BF16, flags);
    if (!(flags & ROUGH)) hold_to_differences(name, make_it, flags);
    if (!(flags & (ROUGH | ONCE))) hold_second_to_differences(name, make_it);
    if (flags & LINEAR) hold_exactly(name, make_it);
}
