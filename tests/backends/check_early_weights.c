/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA, where a product may read its weights while the launch in front of it ends: weights that a launch just before
 * the run writes anew, run after run without a pause, as launches and as one graph. Skipped without a device.
 */
#include "libfuse.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

enum { ROWS = 64, SIDE = 512, LAYERS = 3, TURNS = 150 };

static lfuse_device *device;
static lfuse_stream *stream;
static lfuse_tensor *x, *sums[2], *one, *weights[LAYERS][2];

/* All of it is `value`, or, of `permuted`, one element of each row and column. */
static lfuse_tensor *tensor_of(int rows, int columns, float value, bool permuted)
{
    lfuse_tensor *made = new_tensor(device, F32(rows, columns));
    float *host = new_memory((size_t)(rows * columns) * sizeof *host);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            if (!permuted || i == (5 * j + 3) % rows) host[i * columns + j] = value;
    OK(lfuse_tensor_write(made, stream, host));
    OK(lfuse_stream_synchronize(stream));
    return made;
}

/* "to" is "from" and "one". */
static lfuse_plan *plan_step(void)
{
    lfuse_graph *g = new_graph();
    lfuse_value from = lfuse_input(g, "from", F32(SIDE, SIDE));
    lfuse_output(g, "to", lfuse_add(from, lfuse_input(g, "one", F32(SIDE, SIDE))));
    return new_plan(device, g, NULL);
}

/* "to" is "from" and the product of x with all weights; `first`: the weights' own comes before, and is the first's. */
static lfuse_plan *plan_layers(bool first)
{
    static const char *const names[LAYERS] = {"w0", "w1", "w2"};
    const lfuse_plan_options native = {.provider = LFUSE_PROVIDER_NATIVE};
    lfuse_graph *g = new_graph();
    lfuse_value h = lfuse_input(g, "x", F32(ROWS, SIDE)), w[LAYERS];
    for (int i = 0; i < LAYERS; i++) w[i] = lfuse_input(g, names[i], F32(SIDE, SIDE));
    if (first) w[1] = lfuse_matmul(w[0], w[1]);
    for (int i = first; i < LAYERS; i++) h = lfuse_matmul(h, w[i]);
    lfuse_output(g, "to", lfuse_add(lfuse_input(g, "from", F32(ROWS, SIDE)), h));
    return new_plan(device, g, &native);
}

TEST_CASE("cuda")

/*
 * In turn t weights are t times a permutation, so that a layer of equal numbers multiplies them by t: exactly, while
 * the sum of t^3 is below 2^24.
 */
TEST_LOOP(written_in_front, 0, 2)
{
    float *host = new_memory(ROWS * SIDE * sizeof *host);
    double expected = 0;
    int wrong = 0, turns = 0;
    if (lfuse_device_open("cuda:0", &device)) TEST_SKIP("no CUDA device");
    objects_own(device, objects_destroy_device);
    stream = new_stream(device);
    x = tensor_of(ROWS, SIDE, 1, false), one = tensor_of(SIDE, SIDE, 1, true);
    for (int i = 0; i < 2; i++) sums[i] = tensor_of(ROWS, SIDE, 0, false);
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < 2; i++) weights[l][i] = tensor_of(SIDE, SIDE, 0, false);
    lfuse_plan *step = plan_step(), *layers = plan_layers(_i);
    for (int t = 1; t <= TURNS && expected + (double)t * t * t < 0x1p24; t++, turns++) {
        const int from = (t - 1) % 2, to = t % 2;
        for (int l = 0; l < LAYERS; l++) {
            RUN(step, stream, BIND("from", weights[l][from]), BIND("one", one), BIND("to", weights[l][to]));
        }
        RUN(layers, stream, BIND("x", x), BIND("w0", weights[0][to]), BIND("w1", weights[1][to]),
            BIND("w2", weights[2][to]), BIND("from", sums[from]), BIND("to", sums[to]));
        expected += (double)t * t * t;
    }
    ck_assert_int_gt(turns, 60);
    OK(lfuse_tensor_read(sums[turns % 2], stream, host));
    OK(lfuse_stream_synchronize(stream));
    for (int i = 0; i < ROWS * SIDE; i++) wrong += host[i] != (float)expected;
    ck_assert_msg(!wrong, "%d of %d elements are wrong, the first is %g of %g", wrong, ROWS * SIDE, host[0], expected);
}

TEST_SUITE("weights read early", CK_NOFORK)
