/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of dense layers of f16 and bf16: one launch a layer, with its bias and relu, by whoever multiplies them; one
 * in all where a device says which groups run at the same time. Results within the bounds of lfuse-bench's networks.
 */
#include "bench/data.h"
#include "bench/oracle.h"
#include "tests/run/rig.h"
#include "tests/support/heard.h"

enum { LAYERS = 3, TENSORS = 2 * LAYERS + 2, MOST_WIDTH = 70, MOST_ROWS = 64, GROUPS = 8 };

typedef struct network {
    lfuse_type type;
    int64_t rows, width;
    uint16_t x[MOST_ROWS * MOST_WIDTH], w[LAYERS][MOST_WIDTH * MOST_WIDTH], b[LAYERS][MOST_WIDTH];
    lfuse_tensor *tensors[TENSORS];
    lfuse_binding bind[TENSORS];
    int count;
} network;

static void add(network *n, const char *name, int rank, const int64_t *shape, uint16_t *host, double scale)
{
    int64_t elements = 1;

    for (int i = 0; i < rank; i++) elements *= shape[i];
    n->tensors[n->count] = new_tensor(dev, n->type, rank, shape);
    if (host) {
        lfuse__data_uniform(n->type, host, elements, -scale, scale, (uint64_t)n->count + 1);
        OK(lfuse_tensor_write(n->tensors[n->count], NULL, host));
    }
    n->bind[n->count] = BIND(name, n->tensors[n->count]);
    n->count++;
}

/* The graph, in g, and what is bound to it. */
static network *make(lfuse_type type, int64_t rows, int64_t width)
{
    static const char *const w[] = { "w0", "w1", "w2" }, *const b[] = { "b0", "b1", "b2" };
    network *n = calloc(1, sizeof *n);

    ck_assert(n != NULL);
    n->type = type, n->rows = rows, n->width = width;
    fresh_graph();
    lfuse_value x = lfuse_input(g, "x", TYPED(type, rows, width));
    add(n, "x", SHAPE(rows, width), n->x, 1);
    for (int i = 0; i < LAYERS; i++) {
        x = lfuse_relu(lfuse_add(lfuse_matmul(x, lfuse_frozen(g, w[i], TYPED(type, width, width))),
                                 lfuse_frozen(g, b[i], TYPED(type, width))));
        add(n, w[i], SHAPE(width, width), n->w[i], sqrt(6 / (double)width));
        add(n, b[i], SHAPE(width), n->b[i], 0.1);
    }
    lfuse_output(g, "y", x);
    add(n, "y", SHAPE(rows, width), NULL, 0);
    return n;
}

static void destroy(network *n)
{
    for (int i = 0; i < n->count; i++) drop(n->tensors[i]);
    free(n);
}

static void check(const network *n)
{
    static long double value[MOST_ROWS * MOST_WIDTH];
    static double bound[MOST_ROWS * MOST_WIDTH];
    static uint16_t y[MOST_ROWS * MOST_WIDTH];
    const void *const w[] = { n->w[0], n->w[1], n->w[2] }, *const b[] = { n->b[0], n->b[1], n->b[2] };
    const lfuse__oracle_network net = { n->type, LAYERS, 0, n->width, w, b };
    lfuse__oracle_report report;

    OK(lfuse__oracle_network_rows(&net, n->rows, n->x, value, bound));
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(n->tensors[n->count - 1], NULL, y));
    ck_assert_msg(lfuse__oracle_compare(n->type, n->rows * n->width, y, value, bound, &report), "%s of %lld x %lld: %s",
                  lfuse_type_name(n->type), (long long)n->rows, (long long)n->width, report.text);
}

/* The second run of the plan, whose weights are prepared, is right and has so many launches. */
static void expect(lfuse_type type, int64_t rows, int64_t width, const lfuse_plan_options *options, uint64_t wanted)
{
    network *n = make(type, rows, width);
    uint64_t before = 0;

    lfuse_plan *plan = new_plan(dev, g, options);
    for (int i = 0; i < 2; i++) {
        OK(lfuse_tensor_fill(n->tensors[n->count - 1], NULL, NAN));
        before = launches();
        OK(lfuse_plan_run(plan, stream, n->bind, n->count));
    }
    ck_assert_msg(launches() - before == wanted, "%llu launches, not %llu: %s",
                  (unsigned long long)(launches() - before), (unsigned long long)wanted, lfuse_plan_text(plan));
    check(n);
    drop(plan);
    destroy(n);
}

static const lfuse_type types[] = { LFUSE_F16, LFUSE_BF16 };

TEST_CASE("narrow networks", .setup = open_stub, .teardown = close_stub)

TEST_LOOP(one_launch_a_layer, 0, 2)
{
    const lfuse_plan_options vendor = { .provider = LFUSE_PROVIDER_VENDOR };
    const lfuse_plan_options native = { .provider = LFUSE_PROVIDER_NATIVE };
    const lfuse_plan_options steps = { .provider = LFUSE_PROVIDER_NATIVE,
                                       .disable = LFUSE_NO_EPILOGUE | LFUSE_NO_POINTWISE_FUSION | LFUSE_NO_PROLOGUE };

    for (int lanes = 0; lanes < 2; lanes++) {
        reopen_stub_as(lanes);
        expect(types[_i], 5, 40, &vendor, LAYERS);
        if (!lanes) continue; /* its work-items are no GPU's */
        expect(types[_i], 5, 40, &native, LAYERS);
        expect(types[_i], 3, 37, &native, LAYERS);
        expect(types[_i], 5, 40, &steps, 3 * LAYERS);
    }
}

/* A vendor without such products: operands are cast, weights once; the log says why. */
TEST_LOOP(widened_and_logged, 0, 2)
{
    const lfuse_plan_options vendor = { .provider = LFUSE_PROVIDER_VENDOR };

    lfuse__stub.decline_types = 1u << LFUSE_F16 | 1u << LFUSE_BF16;
    hear(LFUSE_LOG_DEBUG);
    expect(types[_i], 5, 40, &vendor, 3 * LAYERS);
    hear(LFUSE_LOG_NONE);
    ck_heard("\"vendor-epilogue\" declines");
    ck_heard("\"vendor+pointwise\" declines");
}

/* Widths whose weights are loaded in vectors and others, one row and several blocks of them. */
TEST_LOOP(networks, 0, 2)
{
    static const struct { int64_t rows, width; } cases[] = { { 1, 28 }, { 1, 31 }, { 5, 24 }, { 3, 37 }, { 16, 36 } };

    lfuse__stub.addresses = true, lfuse__stub.vector_lanes = false;
    lfuse__stub.max_argument_bytes = 4096;
    lfuse__stub.resident_groups = GROUPS;
    reopen_stub();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(types[_i], cases[i].rows, cases[i].width, NULL, 1);
    expect(types[_i], 64, 70, NULL, LAYERS); /* more than GROUPS */
}

static void check_device(void)
{
    const bool resident = lfuse__device_facts(dev)->resident_groups > 0;
    const lfuse_plan_options stages = { .disable = LFUSE_NO_NETWORK };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        expect(types[i], 9, 40, &stages, LAYERS);
        if (resident) expect(types[i], 9, 40, NULL, 1);
        if (resident) expect(types[i], 1, 50, NULL, 1);
        lfuse_graph_destroy(g);
        g = NULL;
    }
}

TEST(devices)
{
    lfuse_graph_destroy(g);
    g = NULL;
    if (!on_each_device(check_device)) TEST_SKIP("no device");
}

TEST_SUITE("run", CK_NOFORK)
