/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreach:FUNCTION:<members>x<length>: a function at every member of a list, in f32, all members being neighbours in
 * one block of memory. add and lerp work in place, add_out writes a third list, norm one number for each member.
 *   loop     each member its own launch, of an instance that stays; always over the first buffer set
 *   foreach  the immediate call; over as many sets as a plan keeps instances for
 *   args, table, unified   a plan whose addresses reach the kernel so, where the device can
 *   tensor   the same function (but norm) over the whole memory as one tensor: what a list can reach at best
 * Every member is compared with the same arithmetic on the host, bit for bit; norms within the bound of their sums.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/data.h"
#include "bench/timer.h"
#include "common/base/error.h"

/* Immediate calls keep IMMEDIATE_SETS instances of one plan. */
enum { MOST_SETS = 256, IMMEDIATE_SETS = 8, A = 0, B, Y, LISTS };
static const double unified_bytes = 7e6; /* of tables in shared memory, at most */
static const double weight = 0.375;
static const char *const names[LISTS] = {"a", "b", "y"};

typedef enum function { ADD, ADD_OUT, LERP, NORM, FUNCTIONS } function;
static const char *const functions[FUNCTIONS] = {"add", "add_out", "lerp", "norm"};

typedef struct problem {
    bench_device *d;
    function f;
    int64_t count, length;
    int nsets;
    float *host[LISTS]; /* contents of a and b, and what the result is */
    lfuse_tensor *memory[LISTS][MOST_SETS], **members[LISTS][MOST_SETS];
    lfuse_list *lists[LISTS][MOST_SETS];
} problem;

static int result_of(const problem *p) { return p->f == ADD_OUT || p->f == NORM ? Y : A; }
static bool has(const problem *p, int i) { return i == A || (i == B ? p->f != NORM : result_of(p) == Y); }
static int64_t length_of(const problem *p, int i) { return p->f == NORM && i == Y ? 1 : p->length; }

static double bytes_of(const problem *p)
{
    double bytes = 0;
    for (int i = 0; i < LISTS; i++)
        if (has(p, i)) bytes += 4.0 * (double)p->count * (double)length_of(p, i);
    return bytes;
}

static void problem_destroy(void *shared)
{
    problem *p = shared;
    for (int i = 0; i < LISTS; i++) {
        free(p->host[i]);
        for (int s = 0; s < MOST_SETS; s++) {
            lfuse_list_destroy(p->lists[i][s]);
            lfuse_tensor_destroy(p->memory[i][s]);
            for (int64_t m = 0; p->members[i][s] && m < p->count; m++) lfuse_tensor_destroy(p->members[i][s][m]);
            free(p->members[i][s]);
        }
    }
    free(p);
}

static lfuse_status parse(const char *text, problem *p)
{
    char name[16] = "";
    long long count = 0, length = 0;
    int fields = sscanf(text, "foreach:%15[a-z_]:%lldx%lld", name, &count, &length);
    p->f = FUNCTIONS;
    for (int i = 0; i < FUNCTIONS; i++)
        if (!strcmp(functions[i], name)) p->f = (function)i;
    if (fields != 3 || p->f == FUNCTIONS || count < 1 || length < 1 || count > 1 << 20 || length > 1 << 28)
        return lfuse__error(LFUSE_ERR_INVALID, "%s: expected foreach:add|add_out|lerp|norm:<members>x<length>", text);
    p->count = count;
    p->length = length;
    return LFUSE_OK;
}

/* The compiler is kept from contracting by volatile stores. */
static float on_host(function f, float a, float b)
{
    volatile float t = b - a, u;
    if (f != LERP) return a + b;
    u = (float)weight * t;
    return a + u;
}

static float norm_on_host(const problem *p, int64_t m)
{
    double sum = 0;
    for (int64_t i = 0; i < p->length; i++)
        sum += (double)p->host[A][m * p->length + i] * (double)p->host[A][m * p->length + i];
    return (float)sqrt(sum);
}

/*
 * Of a number of the result, over that number. A canonical sum of n squares rounds each element at most so often: its
 * square, in its lane, in the tree of lanes and in that of segments; the root halves that and rounds once more.
 */
static double tolerance(const problem *p)
{
    const double n = (double)p->length, roundings = 1 + ceil(fmin(n, 1024) / 128) + 7 + ceil(log2(n / 1024 + 1));
    return p->f == NORM ? (roundings / 2 + 2) * 0x1p-24 : 0;
}

static lfuse_status make_host(problem *p)
{
    const size_t elements = (size_t)(p->count * p->length);
    for (int i = 0; i < LISTS; i++)
        if (!(p->host[i] = malloc(elements * sizeof(float))))
            return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %zu elements", elements);
    lfuse__data_uniform(LFUSE_F32, p->host[A], (int64_t)elements, -1, 1, 1);
    lfuse__data_uniform(LFUSE_F32, p->host[B], (int64_t)elements, -1, 1, 2);
    for (size_t i = 0; i < elements && p->f != NORM; i++) p->host[Y][i] = on_host(p->f, p->host[A][i], p->host[B][i]);
    for (int64_t m = 0; m < p->count && p->f == NORM; m++) p->host[Y][m] = norm_on_host(p, m);
    return LFUSE_OK;
}

static lfuse_status make_list(problem *p, int i, int set)
{
    const int64_t length = length_of(p, i), elements = p->count * length;
    lfuse_tensor **t = p->members[i][set] = calloc((size_t)p->count, sizeof *t);
    if (!t) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %lld members", (long long)p->count);
    LFUSE__TRY(lfuse_tensor_create(p->d->dev, LFUSE_F32, 1, &elements, &p->memory[i][set]));
    LFUSE__TRY(lfuse_tensor_write(p->memory[i][set], NULL, p->host[i == Y ? A : i]));
    for (int64_t m = 0; m < p->count; m++)
        LFUSE__TRY(lfuse_tensor_view(p->memory[i][set], p->f != NORM || i != Y, &length, NULL, m * length, &t[m]));
    return lfuse_list_create(p->d->dev, LFUSE_F32, p->count, t, &p->lists[i][set]);
}

/* ---- ways to do it ---- */

typedef enum form { OF_MEMBER, OF_LIST, OF_WHOLE } form;

static lfuse_value declare(const problem *p, lfuse_graph *g, const char *name, form of)
{
    const int64_t elements = of == OF_WHOLE ? p->count * p->length : p->length;
    return of == OF_LIST ? lfuse_list_input(g, name, LFUSE_F32, LFUSE_RANK_ANY)
                         : lfuse_input(g, name, LFUSE_F32, 1, &elements);
}

static lfuse_graph *describe(const problem *p, form of)
{
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_value a = declare(p, g, names[A], of), b = p->f == NORM ? a : declare(p, g, names[B], of);
    const lfuse_value y = p->f == LERP           ? lfuse_lerp(a, b, lfuse_constant(g, weight))
                          : p->f != NORM         ? lfuse_add(a, b)
                          : of == OF_LIST        ? lfuse_member_norm_l2(a)
                                                 : lfuse_norm_l2(a, LFUSE_ALL_AXES, NULL, 0);
    if (result_of(p) == Y) lfuse_output(g, names[Y], y);
    else lfuse_update(a, y);
    return g;
}

/* A plan with its instances: one for each set, or one for each member. */
typedef struct way {
    const problem *p;
    lfuse_plan *plan;
    int64_t count;
    lfuse_instance **instances;
} way;

static void way_destroy(void *state)
{
    way *w = state;
    for (int64_t i = w->count - 1; w->instances && i >= 0; i--) lfuse_instance_destroy(w->instances[i]);
    lfuse_plan_destroy(w->plan);
    free(w->instances);
    free(w);
}

static lfuse_status way_create(const problem *p, form of, lfuse_transport transport, int64_t count, way **made)
{
    const lfuse_plan_options options = {.transport = transport};
    lfuse_graph *g = describe(p, of);
    way *w = calloc(1, sizeof *w);
    lfuse_status status;
    if (w) w->instances = calloc((size_t)count, sizeof(lfuse_instance *));
    status = w && w->instances ? lfuse_plan_create(p->d->dev, g, &options, &w->plan)
                               : lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %lld instances", (long long)count);
    lfuse_graph_destroy(g);
    if (status) {
        if (w) way_destroy(w);
        return status;
    }
    w->p = p;
    w->count = count;
    *made = w;
    return LFUSE_OK;
}

static int bind_member(const problem *p, int set, int64_t m, lfuse_binding *b)
{
    int n = 0;
    for (int i = 0; i < LISTS; i++)
        if (has(p, i)) b[n++] = lfuse_bind_tensor(names[i], p->members[i][set][m]);
    return n;
}

static int bind_lists(const problem *p, int set, lfuse_binding *b)
{
    int n = 0;
    for (int i = 0; i < LISTS; i++)
        if (has(p, i)) b[n++] = lfuse_bind_list(names[i], p->lists[i][set]);
    return n;
}

static int bind_whole(const problem *p, int set, lfuse_binding *b)
{
    int n = 0;
    for (int i = 0; i < LISTS; i++)
        if (has(p, i)) b[n++] = lfuse_bind_tensor(names[i], p->memory[i][set]);
    return n;
}

static lfuse_status run_loop(void *state, int set)
{
    const way *w = state;
    lfuse_binding b[LISTS];
    for (int64_t m = 0; m < w->count; m++) {
        const int n = bind_member(w->p, set, m, b);
        LFUSE__TRY(lfuse_instance_run(w->instances[m], b, n));
    }
    return LFUSE_OK;
}

static lfuse_status run_plan(void *state, int set)
{
    const way *w = state;
    return lfuse_instance_run(w->instances[set], NULL, 0);
}

static lfuse_status run_whole(void *state, int set)
{
    const way *w = state;
    lfuse_binding b[LISTS];
    const int n = bind_whole(w->p, set, b);
    return lfuse_instance_run(w->instances[set], b, n);
}

static lfuse_status run_immediate(void *state, int set)
{
    const problem *p = state;
    lfuse_stream *s = p->d->stream;
    const lfuse_operand b = lfuse_operand_list(p->lists[B][set]);
    lfuse_list *to = p->lists[result_of(p)][set], *a = p->lists[A][set];
    if (p->f == NORM) return lfuse_foreach_norm(s, p->memory[Y][set], a, 2);
    if (p->f != LERP) return lfuse_foreach_add(s, to, a, b, 1);
    return lfuse_foreach_lerp(s, to, a, p->lists[B][set], lfuse_operand_scalar(weight));
}

/* ---- variants ---- */

static lfuse_status verify(const problem *p, bench_variant *v)
{
    const size_t elements = (size_t)(p->count * length_of(p, result_of(p)));
    const double factor = tolerance(p);
    float *is = malloc(elements * sizeof *is);
    lfuse_status status;
    if (!is) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %zu elements", elements);
    status = lfuse_tensor_read(p->memory[result_of(p)][0], NULL, is);
    v->max_err = 0;
    v->tol = 0;
    for (size_t i = 0; !status && v->ok && i < elements; i++) {
        const double error = fabs((double)is[i] - (double)p->host[Y][i]), bound = factor * fabs((double)p->host[Y][i]);
        if (bound > 0 && error * v->tol >= v->max_err * bound) v->max_err = error, v->tol = bound;
        if (error <= bound) continue;
        v->ok = false;
        fprintf(stderr, "lfuse-bench: %s: element %zu is %.9g, not %.9g\n", v->name, i, (double)is[i],
                (double)p->host[Y][i]);
    }
    free(is);
    return status;
}

/* The first run, on the first set as it was made, is verified; then each other set is run once. */
static lfuse_status first_runs(const problem *p, bench_variant *v, int nsets, double start)
{
    v->nsets = nsets;
    LFUSE__TRY(v->run(v->state, 0));
    LFUSE__TRY(lfuse_stream_synchronize(p->d->stream));
    v->first_us = bench_now_us() - start;
    LFUSE__TRY(verify(p, v));
    for (int set = 1; set < nsets; set++) LFUSE__TRY(v->run(v->state, set));
    v->bytes = p->f == NORM || p->f == ADD_OUT ? bytes_of(p) : 1.5 * bytes_of(p); /* in place: read twice, written */
    return lfuse_stream_synchronize(p->d->stream);
}

/* Takes the state, which is of so many sets, over. */
static lfuse_status add(const problem *p, bench_case *c, const char *name, int nsets, void *state,
                        lfuse_status (*run)(void *, int), void (*destroy)(void *), double start)
{
    bench_variant *v = bench_add(c, name, state, run, destroy);
    if (!v && destroy) destroy(state);
    if (!v) return lfuse__error(LFUSE_ERR_INVALID, "a case has at most %d variants", BENCH_MAX_VARIANTS);
    return first_runs(p, v, nsets, start);
}

/* What the variant before has changed. */
static lfuse_status restore(const problem *p)
{
    LFUSE__TRY(lfuse_tensor_write(p->memory[A][0], NULL, p->host[A]));
    return result_of(p) == Y ? lfuse_tensor_fill(p->memory[Y][0], NULL, (double)NAN) : LFUSE_OK;
}

static lfuse_status add_loop(const problem *p, bench_case *c)
{
    lfuse_status status = LFUSE_OK;
    lfuse_binding b[LISTS];
    way *w;
    double start = bench_now_us();
    LFUSE__TRY(restore(p));
    LFUSE__TRY(way_create(p, OF_MEMBER, LFUSE_TRANSPORT_DEFAULT, p->count, &w));
    for (int64_t m = 0; m < p->count && !status; m++) {
        const int n = bind_member(p, 0, m, b);
        status = lfuse_instance_create(w->plan, p->d->stream, b, n, &w->instances[m]);
    }
    if (!status) return add(p, c, "loop", 1, w, run_loop, way_destroy, start);
    way_destroy(w);
    return status;
}

/* Plans of the whole list, or of the whole memory. */
static lfuse_status add_plan(const problem *p, bench_case *c, const char *name, form of, lfuse_transport transport,
                             int nsets)
{
    lfuse_status status = LFUSE_OK;
    lfuse_binding b[LISTS];
    way *w;
    double start = bench_now_us();
    LFUSE__TRY(restore(p));
    LFUSE__TRY(way_create(p, of, transport, nsets, &w));
    for (int set = 0; set < nsets && !status; set++) {
        const int n = of == OF_WHOLE ? bind_whole(p, set, b) : bind_lists(p, set, b);
        status = lfuse_instance_create(w->plan, p->d->stream, b, n, &w->instances[set]);
    }
    if (!status) return add(p, c, name, nsets, w, of == OF_WHOLE ? run_whole : run_plan, way_destroy, start);
    way_destroy(w);
    return status == LFUSE_ERR_UNSUPPORTED ? LFUSE_OK : status; /* the device cannot: one variant less */
}

static lfuse_status add_transport(const problem *p, bench_case *c, const char *name, lfuse_transport transport)
{
    return add_plan(p, c, name, OF_LIST, transport, p->nsets);
}

/* Of each member a chunk at least, its place and its addresses are in shared memory. */
static lfuse_status add_unified(const problem *p, bench_case *c)
{
    const double bytes = (double)p->count * (16 + 8 + 16 * LISTS);
    const int most = (int)fmax(1, unified_bytes / bytes);
    return add_plan(p, c, "unified", OF_LIST, LFUSE_TRANSPORT_UNIFIED, p->nsets < most ? p->nsets : most);
}

static lfuse_status make_problem(bench_device *d, const char *text, bench_case *c)
{
    problem *p = c->shared;
    p->d = d;
    LFUSE__TRY(parse(text, p));
    bench_choose_sets(d, c, bytes_of(p), MOST_SETS);
    p->nsets = c->nsets;
    LFUSE__TRY(make_host(p));
    for (int set = 0; set < p->nsets; set++)
        for (int i = 0; i < LISTS; i++)
            if (has(p, i)) LFUSE__TRY(make_list(p, i, set));
    LFUSE__TRY(add_loop(p, c));
    LFUSE__TRY(restore(p));
    LFUSE__TRY(add(p, c, "foreach", p->nsets < IMMEDIATE_SETS ? p->nsets : IMMEDIATE_SETS, p, run_immediate, NULL,
                   bench_now_us()));
    LFUSE__TRY(add_transport(p, c, "args", LFUSE_TRANSPORT_ARGS));
    LFUSE__TRY(add_transport(p, c, "table", LFUSE_TRANSPORT_TABLE));
    LFUSE__TRY(add_unified(p, c));
    return p->f == NORM ? LFUSE_OK : add_plan(p, c, "tensor", OF_WHOLE, LFUSE_TRANSPORT_DEFAULT, p->nsets);
}

static lfuse_status prepare(bench_device *d, const char *text, bench_case *c)
{
    c->shared = calloc(1, sizeof(problem));
    if (!c->shared) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %s", text);
    c->destroy = problem_destroy;
    return make_problem(d, text, c);
}

static const char *const problems[] = {
    "foreach:add:10x256",       "foreach:add:100x256",   "foreach:add:1000x256", "foreach:add:4000x256",
    "foreach:add:20000x256",    "foreach:add:128x262144", "foreach:add_out:1000x256", "foreach:lerp:1000x256",
    "foreach:norm:1000x256",    NULL};
static const char *const quick[] = {"foreach:add:10x256", "foreach:add:1000x256", "foreach:add_out:100x256",
                                    "foreach:lerp:100x256", "foreach:norm:100x256", NULL};
const bench_suite bench_suite_foreach = {"foreach", problems, quick, prepare, NULL, NULL, NULL, 0};
