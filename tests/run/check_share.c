/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that share a launch, for every number of them up to 200, every kind and every size of the argument block:
 * what one launch is given fits, a plan is never refused, and its results are those of kernels with launches of their
 * own.
 * Where a launch is full is found without plans; plans are made there and run, each kind in one of two forms (with
 * LFUSE_TEST_ALL in both, and plans of every number).
 */
#include "common/base/error.h"
#include "common/graph/graph.h"
#include "common/matmul/provider.h"
#include "common/plan/plan.h"
#include "common/run/compile/bundle.h"
#include "tests/run/rig.h"

/* Work-items with addresses; lanes with buffers; work-items with rows by teams, which the stub cannot run. */
enum { ITEMS, LANES, TEAMS, FORMS };

enum { MOST_PARTS = 200, LIMITS = 5, ROWS = 3, COLUMNS = 8, ELEMENTS = ROWS * COLUMNS };

static const unsigned limits[LIMITS] = { 256, 1024, 4096, 4352, 32764 };

/* ---- graphs of like and unlike kernels ---- */

static lfuse_value input(const char *letter, int i)
{
    char name[16];

    snprintf(name, sizeof name, "%s%d", letter, i);
    return lfuse_input(g, name, F32(ROWS, COLUMNS));
}

static void output(int i, lfuse_value value)
{
    char name[16];

    snprintf(name, sizeof name, "y%d", i);
    lfuse_output(g, name, value);
}

static lfuse_value softmax(lfuse_value x)
{
    const lfuse_value e = lfuse_exp(lfuse_sub(x, lfuse_amax(x, 1, (const int[]){ 1 }, 1)));

    return lfuse_div(e, lfuse_sum(e, 1, (const int[]){ 1 }, 1));
}

static lfuse_value scale, order; /* what all parts of a graph share: a number, and the numbers of rows */

static void put_exp(int i) { output(i, lfuse_exp(input("x", i))); }
static void put_sum(int i) { output(i, lfuse_sum(input("x", i), 1, (const int[]){ 1 }, 0)); }
static void put_softmax(int i) { output(i, softmax(input("x", i))); }
static void put_column_sum(int i) { output(i, lfuse_sum(input("x", i), 1, (const int[]){ 0 }, 0)); }
static void put_argmax(int i) { output(i, lfuse_argmax(input("x", i), 1, (const int[]){ 1 }, 0)); }
static void put_scaled(int i) { output(i, lfuse_fma(input("x", i), scale, lfuse_mul(input("u", i), input("v", i)))); }
static void put_looked_up(int i) { output(i, lfuse_exp(lfuse_gather(input("x", i), order))); }

static void put_looked_up_sum(int i)
{
    output(i, lfuse_sum(lfuse_gather(input("x", i), order), 1, (const int[]){ 1 }, 0));
}

static void put_operands(int i)
{
    static const char *const others[] = { "s", "t", "u", "v", "w" };
    lfuse_value v = input("x", i);

    for (int k = 0; k < 5; k++) v = lfuse_hypot(v, input(others[k], i));
    output(i, v);
}

static void put_unlike(int i)
{
    static void (*const all[])(int) = { put_exp, put_sum, put_scaled, put_looked_up, put_softmax, put_argmax };

    all[i % 6](i);
}

typedef struct kind {
    const char *name;
    void (*put)(int i); /* NULL: parts of one result */
} kind;

static const kind kinds[] = {
    { "exp", put_exp },           { "concatenation", NULL },       { "scaled", put_scaled },
    { "sum", put_sum },           { "softmax", put_softmax },      { "column sum", put_column_sum },
    { "argmax", put_argmax },     { "operands", put_operands }, { "look-up", put_looked_up },
    { "looked up sum", put_looked_up_sum }, { "unlike", put_unlike },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void make_graph(const kind *k, int n)
{
    lfuse_value parts[MOST_PARTS];

    fresh_graph();
    scale = lfuse_scalar(g, "scale");
    order = lfuse_input(g, "order", I64(ROWS));
    for (int i = 0; i < n && k->put; i++) k->put(i);
    if (k->put) return;
    for (int i = 0; i < n; i++) parts[i] = input("x", i);
    lfuse_output(g, "y0", lfuse_concat(n, parts, 0));
}

/* ---- which share a launch, without plans ---- */

typedef struct parts {
    lfuse_graph *graph;
    lfuse__plan_body *plan;
    lfuse__sharer sharers[MOST_PARTS];
    lfuse__kernel_class classes[MOST_PARTS];
} parts;

static void take_parts(const kind *k, parts *p)
{
    const lfuse_plan_options options = { .disable = 0 };
    const lfuse__facts *facts = lfuse__device_facts(dev);

    make_graph(k, MOST_PARTS);
    OK(lfuse__graph_canonical(g, &p->graph));
    OK(lfuse__plan_make(p->graph, facts, &lfuse__products_advice, &options, &p->plan));
    ck_assert_int_eq(p->plan->nstages, 1);
    const lfuse__step *step = p->plan->stages[0].alternatives[0].steps;
    ck_assert_int_eq(step->nchildren, MOST_PARTS);
    for (int i = 0; i < MOST_PARTS; i++)
        ck_assert_int_ge(lfuse__child_class(p->plan, &step->children[i], facts, 0, &p->sharers[i], &p->classes[i]), 1);
}

static void drop_parts(parts *p)
{
    lfuse__plan_free(p->plan);
    lfuse_graph_destroy(p->graph);
}

static int bytes_of(const lfuse__bundle *b, const lfuse__facts *facts)
{
    return 8 * (lfuse__bundle_words(b) + lfuse__bundle_buffers(b, facts));
}

/* Of n kernels, how many are in the launch of the last one. */
static int last_members(parts *p, const lfuse__facts *facts, int n)
{
    int launches, members = 0;

    OK(lfuse__bundle_share(facts, p->sharers, n, &launches));
    for (int i = 0; i < n; i++) members += p->sharers[i].launch == p->sharers[n - 1].launch;
    return members;
}

/* There is one, and the device takes its arguments: returns their bytes. */
static int last_bytes(const kind *k, parts *p, const lfuse__facts *facts, int n)
{
    const int members = last_members(p, facts, n);
    lfuse__bundle *b;

    OK(lfuse__bundle_of(facts, p->sharers, n, p->sharers[n - 1].launch, &b));
    ck_assert_msg(!b == (members == 1), "%s: %d of %u bytes: %d members", k->name, n, facts->info.max_argument_bytes,
                  members);
    int bytes = b ? bytes_of(b, facts) : 0;
    ck_assert_msg(bytes <= (int)facts->info.max_argument_bytes, "%s: %d of %u bytes: %d", k->name, n,
                  facts->info.max_argument_bytes, bytes);
    lfuse__bundle_destroy(b);
    return bytes;
}

/*
 * members[n]: of the first n kernels, how many are in the launch of the last one. What comes later changes no launch of
 * those before it: so all numbers are read from one distribution, and with LFUSE_TEST_ALL found one by one.
 */
static void find_members(parts *p, const lfuse__facts *facts, int *members)
{
    int launches;

    OK(lfuse__bundle_share(facts, p->sharers, MOST_PARTS, &launches));
    for (int n = 1; n <= MOST_PARTS; n++) {
        members[n] = 0;
        for (int i = 0; i < n; i++) members[n] += p->sharers[i].launch == p->sharers[n - 1].launch;
    }
    for (int n = 1; n <= MOST_PARTS && test_all(); n++) members[n] = last_members(p, facts, n);
}

/*
 * Numbers of parts with which a launch is full, or one more than that: where a count that is off by one is seen. Full
 * means that the next of the same kind, which takes as much as the third did and perhaps half a word, has no room.
 */
static void find_edges(const kind *k, parts *p, unsigned limit, bool *edge)
{
    lfuse__facts facts = *lfuse__device_facts(dev);
    int members[MOST_PARTS + 1] = { 0 }, each = 0;

    facts.info.max_argument_bytes = limit;
    if (k->put != put_unlike && last_members(p, &facts, 3) == 3)
        each = last_bytes(k, p, &facts, 3) - last_bytes(k, p, &facts, 2);
    find_members(p, &facts, members);
    for (int n = 1; n <= MOST_PARTS; n++) {
        if (members[n - 1] < 2 || members[n] > members[n - 1]) continue;
        edge[n] = edge[n - 1] = true;
        ck_assert_int_eq(last_members(p, &facts, n), members[n]);
        int bytes = last_bytes(k, p, &facts, n - 1);
        if (each)
            ck_assert_msg(bytes + each + 8 > (int)limit, "%s: %d parts leave %d of %u bytes", k->name, n - 1,
                          (int)limit - bytes, limit);
    }
    last_bytes(k, p, &facts, MOST_PARTS);
    edge[MOST_PARTS] = true;
}

/* ---- plans ---- */

static lfuse_tensor *inputs[MOST_PARTS], *rows_in_order;

static void make_inputs(void)
{
    static const int64_t numbers[ROWS] = { 2, 0, 1 };

    for (int i = 0; i < MOST_PARTS; i++) inputs[i] = ramp(SHAPE(ROWS, COLUMNS), -1.5f + 0.01f * (float)i, 0.125f);
    rows_in_order = new_tensor(dev, I64(ROWS));
    OK(lfuse_tensor_write(rows_in_order, NULL, numbers));
}

static void drop_inputs(void)
{
    for (int i = 0; i < MOST_PARTS; i++) drop(inputs[i]);
    drop(rows_in_order);
}

static lfuse_tensor *result_of(const kind *k, int n, int i)
{
    lfuse_type type = LFUSE_F32;
    int64_t shape[2] = { ROWS, COLUMNS };
    int rank = 2;

    if (k->put == put_argmax || (k->put == put_unlike && i % 6 == 5)) type = LFUSE_I64, rank = 1;
    if (k->put == put_sum || k->put == put_looked_up_sum || (k->put == put_unlike && i % 6 == 1)) rank = 1;
    if (k->put == put_column_sum) rank = 1, shape[0] = COLUMNS;
    if (!k->put) shape[0] = (int64_t)n * ROWS;
    return new_tensor(dev, type, rank, shape);
}

/* A binding for a name of the graph; outputs are made. */
static lfuse_binding binding(const kind *k, int n, const char *name)
{
    const int i = atoi(name + 1);

    if (!strcmp(name, "scale")) return lfuse_bind_scalar(name, 0.75);
    if (!strcmp(name, "order")) return BIND(name, rows_in_order);
    if (*name == 'y') return BIND(name, result_of(k, n, i));
    return BIND(name, inputs[(i + *name) % MOST_PARTS]);
}

/* What the graph of so many parts gives; returns the bytes. */
static size_t run(const kind *k, int n, unsigned disable, unsigned char *got)
{
    static lfuse_binding b[7 * MOST_PARTS + 2];
    size_t bytes = 0;

    make_graph(k, n);
    lfuse_plan *plan = plan_with(disable | LFUSE_NO_REPLAY);
    for (int i = 0; i < g->nnames; i++) b[i] = binding(k, n, g->names[i].text);
    OK(lfuse_plan_run(plan, stream, b, g->nnames));
    OK(lfuse_stream_synchronize(stream));
    for (int i = 0; i < g->nnames; i++) {
        lfuse_tensor *t = b[i].as.tensor;
        if (*g->names[i].text != 'y') continue;
        OK(lfuse_tensor_read(t, NULL, got + bytes));
        bytes += (size_t)lfuse_tensor_elements(t) * lfuse_type_size(lfuse_tensor_type(t));
        drop(t);
    }
    drop(plan);
    return bytes;
}

static void compare(const kind *k, int n, unsigned limit)
{
    static unsigned char shared[MOST_PARTS * ELEMENTS * 8], alone[MOST_PARTS * ELEMENTS * 8];
    const size_t bytes = run(k, n, 0, shared);

    ck_assert_uint_eq(run(k, n, LFUSE_NO_BUNDLES, alone), bytes);
    ck_assert_msg(!memcmp(shared, alone, bytes), "%s: %d parts, %u bytes: unlike those with launches of their own",
                  k->name, n, limit);
}

static void open_with(unsigned limit, int form)
{
    lfuse__stub.max_argument_bytes = limit;
    lfuse__stub.batched = true; /* a program is text until it is launched */
    lfuse__stub.simd = form == TEAMS ? 8 : 1;
    reopen_stub_as(form == LANES);
}

TEST_CASE("share", .setup = open_stub, .teardown = close_stub, .before = test_without_cache)

TEST_LOOP(every_number_of_parts, 0, KINDS * LIMITS * FORMS)
{
    const kind *k = &kinds[_i / (LIMITS * FORMS)];
    const unsigned limit = limits[_i / FORMS % LIMITS];
    const int form = _i % FORMS;
    bool edge[MOST_PARTS + 1] = { false };
    int runs = 0;
    parts *p = malloc(sizeof *p);

    ck_assert_ptr_nonnull(p);
    open_with(limit, form);
    take_parts(k, p);
    find_edges(k, p, limit, edge);
    make_inputs();
    for (int n = 1; n <= MOST_PARTS; n++) {
        runs += edge[n];
        if (edge[n] && form != TEAMS && (test_all() || (runs <= 2 && form == (k - kinds) % 2))) {
            compare(k, n, limit);
        } else if (test_all() || (edge[n] && runs <= 4)) {
            make_graph(k, n);
            lfuse_plan *plan = plan_with(0);
            drop(plan);
        }
    }
    drop_inputs();
    drop_parts(p);
    free(p);
}

/* ---- many results of one input ---- */

/* "y0" ... : of a constant and of "x0" each. */
static void many_results(int n)
{
    fresh_graph();
    lfuse_value x = input("x", 0);
    for (int i = 0; i < n; i++) output(i, lfuse_tanh(lfuse_mul(x, lfuse_constant(g, 0.001 * (i + 1)))));
}

static uint64_t kernels_of_results(int n)
{
    many_results(n);
    lfuse__stub_counters before = lfuse__stub_counters_now();
    lfuse_plan *plan = plan_with(0);
    lfuse__stub_counters after = lfuse__stub_counters_now();
    drop(plan);
    return after.kernels - before.kernels;
}

/* Constants of so many are numbers: how much is compiled does not depend on how many there are. */
TEST_LOOP(many_results_are_few_kernels, ITEMS, LANES + 1)
{
    static const int counts[] = { 100, 400, 1000 };

    open_with(1024, _i);
    for (size_t i = 0; i < 3; i++) {
        const uint64_t kernels = kernels_of_results(counts[i]);
        ck_assert_msg(kernels >= 1 && kernels <= 4, "%d results: %d kernels", counts[i], (int)kernels);
    }
}

TEST_LOOP(results_by_numbers, ITEMS, LANES + 1)
{
    enum { RESULTS = 100 };
    static lfuse_binding b[RESULTS + 1];
    static float got[2][RESULTS][ELEMENTS];
    lfuse_tensor *y[RESULTS];

    open_with(1024, _i);
    lfuse_tensor *x = ramp(SHAPE(ROWS, COLUMNS), -1, 0.25f);
    for (int i = 0; i < RESULTS; i++) y[i] = tensor(SHAPE(ROWS, COLUMNS));
    for (int form = 0; form < 2; form++) {
        many_results(RESULTS);
        for (int i = 0; i < RESULTS + 1; i++) {
            const char *name = g->names[i].text;
            b[i] = BIND(name, *name == 'x' ? x : y[atoi(name + 1)]);
        }
        lfuse_plan *plan = plan_with((form ? LFUSE_NO_BUNDLES : 0) | LFUSE_NO_REPLAY);
        OK(lfuse_plan_run(plan, stream, b, RESULTS + 1));
        OK(lfuse_stream_synchronize(stream));
        for (int i = 0; i < RESULTS; i++) OK(lfuse_tensor_read(y[i], NULL, got[form][i]));
        drop(plan);
    }
    ck_assert(!memcmp(got[0], got[1], sizeof *got));
    ck_assert_float_ne(got[0][0][0], got[0][1][0]);
}

/* ---- what keeps launches of its own ---- */

/* The step of output `i` of a plan without bundles. */
static const lfuse__step *step_of(const parts *p, int i)
{
    return p->plan->stages[i].alternatives[0].steps;
}

static void make_apart(parts *p, int stages)
{
    const lfuse_plan_options options = { .disable = LFUSE_NO_BUNDLES };

    OK(lfuse__graph_canonical(g, &p->graph));
    OK(lfuse__plan_make(p->graph, lfuse__device_facts(dev), &lfuse__products_advice, &options, &p->plan));
    ck_assert_int_eq(p->plan->nstages, stages);
}

TEST_CASE("unlike", .setup = open_stub, .teardown = close_stub)

/* Kernels of unlike code are at most 32 in a launch, however much room there is for their arguments. */
TEST(unlike_code)
{
    enum { CODES = 70, MOST = 32 };
    parts *p = malloc(sizeof *p);
    lfuse__bundle *b;
    int launches;

    ck_assert_ptr_nonnull(p);
    open_with(32764, ITEMS);
    g = lfuse_graph_create();
    for (int i = 0; i < CODES; i++) output(i, lfuse_add(input("x", i), lfuse_constant(g, i + 1)));
    make_apart(p, CODES);
    for (int i = 0; i < CODES; i++)
        lfuse__child_class(p->plan, step_of(p, i), lfuse__device_facts(dev), 0, &p->sharers[i], &p->classes[i]);
    OK(lfuse__bundle_share(lfuse__device_facts(dev), p->sharers, CODES, &launches));
    ck_assert_int_eq(launches, (CODES + MOST - 1) / MOST);
    for (int i = 0; i < CODES; i++) {
        ck_assert_int_eq(p->sharers[i].launch, i / MOST);
        ck_assert_int_eq(p->sharers[i].part, i % MOST);
    }
    for (int i = 0; i < launches; i++) {
        const lfuse__bundle_part *of;
        OK(lfuse__bundle_of(lfuse__device_facts(dev), p->sharers, CODES, i, &b));
        ck_assert_ptr_nonnull(b);
        ck_assert_int_eq(lfuse__bundle_parts(b, &of), i < CODES / MOST ? MOST : CODES % MOST);
        lfuse__bundle_destroy(b);
    }
    drop_parts(p);
    free(p);
}

/* Its class for a work-group a row. */
static void take_group_class(const parts *p, int i, lfuse__sharer *s, lfuse__kernel_class *k)
{
    const lfuse__facts *facts = lfuse__device_facts(dev);
    int n = 1;

    for (int index = 0; index < n; index++) {
        n = lfuse__child_class(p->plan, step_of(p, i), facts, index, s, k);
        if (k->rows.form == LFUSE__ROWS_GROUP) return;
    }
    ck_abort_msg("no work-group a row among %d classes", n);
}

/*
 * Local memory of unlike types is each part's own. Texts that cannot be one, here for groups of unlike sizes, share no
 * launch, and nothing is refused.
 */
TEST(unlike_texts)
{
    lfuse__kernel_class classes[2];
    lfuse__sharer sharers[2];
    lfuse__bundle *b;
    parts *p = malloc(sizeof *p);

    ck_assert_ptr_nonnull(p);
    open_with(1024, TEAMS);
    const lfuse__facts *facts = lfuse__device_facts(dev);
    g = lfuse_graph_create();
    for (int i = 0; i < 2; i++) {
        const lfuse_size n = lfuse_size_var(g, i ? "n1" : "n0", 1, 1 << 20);
        const lfuse_size k = lfuse_size_var(g, i ? "k1" : "k0", 1, 1 << 20);
        const lfuse_value x = lfuse_input(g, i ? "x1" : "x0", TYPED(i ? LFUSE_F64 : LFUSE_F32, n, k));
        output(i, lfuse_sum(x, 1, (const int[]){ 1 }, 0));
    }
    make_apart(p, 2);
    for (int i = 0; i < 2; i++) {
        take_group_class(p, i, &sharers[i], &classes[i]);
        sharers[i].launch = 0, sharers[i].part = i;
    }
    lfuse__error(LFUSE_ERR_INVALID, "what was there before");
    OK(lfuse__bundle_of(facts, sharers, 2, 0, &b));
    ck_assert_ptr_nonnull(b);
    lfuse__bundle_destroy(b);
    classes[1].rows.team *= 2;
    OK(lfuse__bundle_of(facts, sharers, 2, 0, &b));
    ck_assert_ptr_null(b);
    ck_assert_str_eq(lfuse_last_error(), "what was there before");
    classes[1] = classes[0], sharers[1].part = 0; /* two of one code share it */
    OK(lfuse__bundle_of(facts, sharers, 2, 0, &b));
    ck_assert_ptr_nonnull(b);
    lfuse__bundle_destroy(b);
    drop_parts(p);
    free(p);
}

TEST_SUITE("run", CK_NOFORK)
