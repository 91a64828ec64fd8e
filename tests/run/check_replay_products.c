/* SPDX-License-Identifier: Apache-2.0 */
/* Products in a native graph are bound to their operands: on the stub and on the devices of this machine. */
#include "tests/run/replays.h"

enum { ROWS = 4, INNER = 8, COLUMNS = 6 };

/* y = relu(x w + b) scale, the bias and the rest by kernels of our own. */
typedef struct product {
    lfuse_plan *plan;
    lfuse_tensor *x[3], *w, *b, *y[3];
} product;

static void open_product(product *p, lfuse_provider provider)
{
    const lfuse_value x = lfuse_input(g, "x", F32(ROWS, INNER));
    const lfuse_value w = lfuse_frozen(g, "w", F32(INNER, COLUMNS));
    const lfuse_value b = lfuse_frozen(g, "b", F32(COLUMNS));

    lfuse_output(g, "y", lfuse_mul(lfuse_relu(lfuse_add(lfuse_matmul(x, w), b)), lfuse_scalar(g, "scale")));
    p->plan = plan_by(provider, ALONE | LFUSE_NO_EPILOGUE | LFUSE_NO_SMALL_PRODUCTS);
    for (int i = 0; i < 3; i++) {
        p->x[i] = ramp(SHAPE(ROWS, INNER), (float)i, 0);
        p->y[i] = tensor(SHAPE(ROWS, COLUMNS));
    }
    p->w = ramp(SHAPE(INNER, COLUMNS), 1, 0);
    p->b = ramp(SHAPE(COLUMNS), 3, 0);
}

static void run_product(product *p, int x, int y, double scale)
{
    RUN(p->plan, stream, BIND("x", p->x[x]), BIND("w", p->w), BIND("b", p->b), BIND("y", p->y[y]),
        lfuse_bind_scalar("scale", scale));
    const float *got = values(p->y[y]);
    for (int i = 0; i < ROWS * COLUMNS; i++) ck_assert_float_eq(got[i], (float)(scale * (INNER * x + 3)));
    OK(lfuse_tensor_fill(p->y[y], NULL, -7));
}

TEST_CASE("stub", .setup = open_stub, .teardown = close_stub)

/* What the product does not see is patched; of what it sees the graph holds what came three times in a row. */
TEST(products_are_bound)
{
    product p;

    open_product(&p, LFUSE_PROVIDER_VENDOR);
    ck_assert_msg(strstr(lfuse_plan_text(p.plan), " (replay 3 patched 1 bound)") != NULL, "%s",
                  lfuse_plan_text(p.plan));
    for (int i = 0; i < 4; i++) run_product(&p, 1, 0, 2 + i);
    ck_assert_uint_eq(captures(), 1);
    run_product(&p, 1, 1, 9);
    run_product(&p, 1, 2, -9);
    ck_assert_uint_eq(replays(), 4);
    run_product(&p, 2, 2, 1);
    ck_assert_uint_eq(replays(), 4);
    run_product(&p, 1, 2, 1);
    ck_assert_uint_eq(replays(), 5); /* it still holds this one */
    for (int i = 0; i < 6; i++) run_product(&p, i % 2, 2, 1); /* never three times in a row */
    ck_assert_uint_eq(captures(), 1);
    uint64_t before = replays();
    for (int i = 0; i < 5; i++) run_product(&p, 2, i % 3, 1);
    ck_assert_uint_eq(captures(), 2);
    ck_assert_uint_eq(replays() - before, 3);
    lfuse__stub_counters c = lfuse__stub_counters_now();
    ck_assert_uint_eq(c.graph_updates, 1);
}

TEST(products_with_other_operands_each_time)
{
    product p;

    open_product(&p, LFUSE_PROVIDER_VENDOR);
    for (int i = 0; i < 9; i++) run_product(&p, i % 3, 0, 2);
    ck_assert_uint_eq(captures(), 0);
}

/* Scratch memory that has to grow for another plan lies elsewhere then: the product's result moves. */
TEST(scratch_that_moves)
{
    lfuse_graph *own = new_graph();
    lfuse_tensor *x = ramp(SHAPE(1 << 14), 0, 0), *y = tensor(SHAPE(1 << 14));
    const lfuse_plan_options alone = { .disable = ALONE };
    product p;

    lfuse_output(own, "y", lfuse_exp(lfuse_neg(lfuse_input(own, "x", F32(1 << 14)))));
    lfuse_plan *large = new_plan(dev, own, &alone);
    open_product(&p, LFUSE_PROVIDER_VENDOR);
    for (int i = 0; i < 4; i++) run_product(&p, 1, 0, 2);
    ck_assert_uint_eq(replays(), 2);
    RUN(large, stream, BIND("x", x), BIND("y", y));
    for (int i = 0; i < 4; i++) run_product(&p, 1, 0, 2);
    ck_assert_uint_eq(captures(), 2);
    ck_assert_uint_eq(replays(), 4);
}

/* ---- a scale in device memory ---- */

/* y = relu(s x w), z = s y v. */
typedef struct scaled {
    lfuse_plan *plan;
    lfuse_tensor *x, *w, *v, *s[3], *z;
} scaled;

static void open_scaled(scaled *p)
{
    const lfuse_value x = lfuse_input(g, "x", F32(ROWS, INNER));
    const lfuse_value w = lfuse_frozen(g, "w", F32(INNER, COLUMNS));
    const lfuse_value v = lfuse_frozen(g, "v", F32(COLUMNS, INNER));
    const lfuse_value s = lfuse_input(g, "s", LFUSE_F32, 0, NULL);
    const lfuse_value y = lfuse_relu(lfuse_mul(lfuse_matmul(x, w), s));

    lfuse_output(g, "z", lfuse_mul(lfuse_matmul(y, v), s));
    p->plan = plan_by(LFUSE_PROVIDER_VENDOR, LFUSE_NO_SMALL_PRODUCTS);
    p->x = ramp(SHAPE(ROWS, INNER), 1, 0);
    p->w = ramp(SHAPE(INNER, COLUMNS), 1, 0);
    p->v = ramp(SHAPE(COLUMNS, INNER), 1, 0);
    p->z = tensor(SHAPE(ROWS, INNER));
    for (int i = 0; i < 3; i++) p->s[i] = ramp(0, NULL, 0, 0);
}

/* With what is written there now in the tensor `at`. */
static void run_scaled(scaled *p, int at, double scale)
{
    OK(lfuse_tensor_fill(p->s[at], NULL, scale));
    RUN(p->plan, stream, BIND("x", p->x), BIND("w", p->w), BIND("v", p->v), BIND("s", p->s[at]), BIND("z", p->z));
    const float *got = values(p->z);
    for (int i = 0; i < ROWS * INNER; i++) ck_assert_float_eq(got[i], (float)(scale * scale * INNER * COLUMNS));
    OK(lfuse_tensor_fill(p->z, NULL, NAN));
}

TEST_CASE("scales", .setup = open_stub, .teardown = close_stub)

/* The graph holds where the scale is, and not what it is. */
TEST(scales_are_bound)
{
    scaled p;

    open_scaled(&p);
    for (int i = 0; i < 6; i++) run_scaled(&p, 0, 1 + i);
    ck_assert_uint_eq(captures(), 1);
    ck_assert_uint_eq(replays(), 4);
    for (int i = 0; i < 6; i++) run_scaled(&p, 1 + i % 2, 1 + i);
    ck_assert_uint_eq(replays(), 4);
    for (int i = 0; i < 6; i++) run_scaled(&p, 2, 1 + i);
    ck_assert_uint_eq(captures(), 2);
}

/* ---- on devices ---- */

TEST_ON_MACHINE(scales_on_devices)
{
    scaled p;

    g = lfuse_graph_create();
    open_scaled(&p);
    for (int i = 0; i < 24; i++) run_scaled(&p, i / 8, 1 + i);
}

/* The bits that launches give, whatever has moved; the counter counts what a graph launches. */
TEST_ON_MACHINE(devices)
{
    product p;

    lfuse_device_info info = info_of(dev);
    g = lfuse_graph_create();
    open_product(&p, LFUSE_PROVIDER_DEFAULT);
    run_product(&p, 1, 0, 2);
    uint64_t before = launches();
    run_product(&p, 1, 0, 2);
    uint64_t each = launches() - before;
    for (int i = 0; i < 4; i++) run_product(&p, 1, 0, 2 + i);
    before = launches();
    for (int i = 0; i < 12; i++) run_product(&p, 1 + i / 6, i % 3, 3 - i);
    ck_assert_uint_eq(launches() - before, 12 * each);
    ck_assert(info.native_graph == (strstr(lfuse_plan_text(p.plan), "replay") != NULL));
}

TEST_SUITE("replayed products", CK_NOFORK)
