/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversions of e4m3 and e5m2 on every device and on the stub, in both forms of its kernels: every number of 8 bits to
 * f32 and f16; and from f32 every number, every middle between two neighbours and its neighbours in f32, what is too
 * large and too small, infinities and NaN; cast and saturated. The bits have to be those of the host.
 * And a product of e4m3 with a bias by the vendor's library.
 */
#include "common/base/half.h"
#include "common/device/device.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

enum { CODES = 256, MOST = 8192 };

static const lfuse_type types[] = {LFUSE_E4M3, LFUSE_E5M2};

typedef struct numbers {
    int count;
    float x[MOST];
} numbers;

static void add(numbers *n, float x)
{
    ck_assert_int_lt(n->count, MOST - 1);
    n->x[n->count++] = x;
    n->x[n->count++] = -x;
}

static void add_around(numbers *n, double x)
{
    add(n, (float)x);
    add(n, nextafterf((float)x, 0));
    add(n, nextafterf((float)x, INFINITY));
}

static void fill(numbers *n)
{
    static const float others[] = {0x1p-149f, 0x1p-127f, 0x1.8p-126f, 0x1p-60f, 480, 496, 512, 65535, 65536, 0x1p60f,
                                   0x1.fffffep127f, INFINITY, NAN};
    n->count = 0;
    for (int t = 0; t < 2; t++) {
        const lfuse__format f = lfuse__format_of(types[t]);
        const uint32_t end = lfuse__format_end(f);
        double apart = 0;
        for (uint32_t code = 0; code < end; code++) {
            const double x = lfuse__narrow_to_float(types[t], (uint16_t)code);
            if (code + 1 < end) apart = (double)lfuse__narrow_to_float(types[t], (uint16_t)(code + 1)) - x;
            add_around(n, x);
            add_around(n, x + apart / 2); /* beyond the last one too */
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) add(n, others[i]);
    n->count--; /* the last vector is not full */
}

static void compare(const char *what, lfuse_type type, const void *got, int i, double wanted, double from)
{
    uint16_t want = lfuse__double_to_narrow(type, wanted), have;
    const double seen = lfuse__narrow_get(type, got, i);
    have = lfuse_type_size(type) == 1 ? ((const uint8_t *)got)[i] : ((const uint16_t *)got)[i];
    if (isnan(lfuse__narrow_round(type, wanted)) && isnan(seen)) return;
    ck_assert_msg(have == want, "%s, %s to %s: %a gives %#x (%a) instead of %#x", device_name, what,
                  lfuse_type_name(type), from, have, seen, want);
}

static double saturated(double x, double most)
{
    return x > most ? most : x < -most ? -most : x;
}

/* f32 to both types, cast and saturated. */
static void run_to(lfuse_device *device, lfuse_stream *s, const numbers *n)
{
    static const char *const names[] = {"e4m3", "e5m2", "e4m3 saturated", "e5m2 saturated"};
    lfuse_graph *g = new_graph();
    const lfuse_value x = lfuse_input(g, "x", F32(n->count));
    lfuse_binding bindings[5];
    lfuse_tensor *t[5];
    uint8_t got[MOST];

    for (int i = 0; i < 4; i++)
        lfuse_output(g, names[i], (i < 2 ? lfuse_cast : lfuse_cast_saturated)(x, types[i & 1]));
    bindings[4] = BIND("x", t[4] = new_tensor(device, F32(n->count)));
    OK(lfuse_tensor_write(t[4], NULL, n->x));
    for (int i = 0; i < 4; i++) bindings[i] = BIND(names[i], t[i] = new_tensor(device, TYPED(types[i & 1], n->count)));
    OK(lfuse_plan_run(new_plan(device, g, NULL), s, bindings, 5));
    for (int i = 0; i < 4; i++) {
        const double most = types[i & 1] == LFUSE_E4M3 ? 448 : 57344;
        OK(lfuse_tensor_read(t[i], s, got));
        OK(lfuse_stream_synchronize(s));
        for (int j = 0; j < n->count; j++)
            compare(i < 2 ? "cast" : "saturated", types[i & 1], got, j, i < 2 ? n->x[j] : saturated(n->x[j], most),
                    n->x[j]);
    }
}

/* Every number of a type to f32, f16 and the other type. */
static void run_from(lfuse_device *device, lfuse_stream *s, lfuse_type type)
{
    const lfuse_type to[] = {LFUSE_F32, LFUSE_F16, type == LFUSE_E4M3 ? LFUSE_E5M2 : LFUSE_E4M3};
    static const char *const names[] = {"f32", "f16", "fp8"};
    lfuse_graph *g = new_graph();
    const lfuse_value x = lfuse_input(g, "x", TYPED(type, CODES));
    lfuse_binding bindings[4];
    lfuse_tensor *t[4];
    uint8_t codes[CODES];
    float got[CODES];

    for (int i = 0; i < CODES; i++) codes[i] = (uint8_t)i;
    for (int i = 0; i < 3; i++) lfuse_output(g, names[i], lfuse_cast(x, to[i]));
    bindings[3] = BIND("x", t[3] = new_tensor(device, TYPED(type, CODES)));
    OK(lfuse_tensor_write(t[3], NULL, codes));
    for (int i = 0; i < 3; i++) bindings[i] = BIND(names[i], t[i] = new_tensor(device, TYPED(to[i], CODES)));
    OK(lfuse_plan_run(new_plan(device, g, NULL), s, bindings, 4));
    for (int i = 0; i < 3; i++) {
        OK(lfuse_tensor_read(t[i], s, got));
        OK(lfuse_stream_synchronize(s));
        for (int j = 0; j < CODES; j++) {
            const float wanted = lfuse__narrow_to_float(type, (uint16_t)j);
            if (i) compare(lfuse_type_name(type), to[i], got, j, wanted, wanted);
            else ck_assert_msg(!memcmp(&got[j], &wanted, sizeof wanted) || (isnan(got[j]) && isnan(wanted)),
                               "%s: %s %#x is %a instead of %a", device_name, lfuse_type_name(type), j, got[j], wanted);
        }
    }
}

/* From i32, from a number of the run, and what passes back through a saturated cast. */
static void run_saturated(lfuse_device *device, lfuse_stream *s)
{
    enum { N = 4 };
    static const int32_t integers[N] = {500, -500, 448, -3};
    static const float near[N] = {448, 447, -448, 1000}, slopes[N] = {0, 1, 0, 0};
    static const uint8_t codes[N] = {0x7e, 0xfe, 0x7e, 0xc4};
    lfuse_graph *g = new_graph();
    const lfuse_value i = lfuse_input(g, "i", TYPED(LFUSE_I32, N)), x = lfuse_input(g, "x", F32(N));
    lfuse_tensor *ti = new_tensor(device, TYPED(LFUSE_I32, N)), *tx = new_tensor(device, F32(N));
    lfuse_tensor *ty = new_tensor(device, TYPED(LFUSE_E4M3, N)), *tz = new_tensor(device, LFUSE_E4M3, 0, NULL);
    lfuse_tensor *td = new_tensor(device, F32(N));
    uint8_t got[N], number;
    float slope[N];
    lfuse_value d;

    lfuse_output(g, "y", lfuse_cast_saturated(i, LFUSE_E4M3));
    lfuse_output(g, "z", lfuse_cast_saturated(lfuse_scalar(g, "s"), LFUSE_E4M3));
    lfuse_gradient(lfuse_cast_saturated(x, LFUSE_E4M3), lfuse_none(), 1, &x, &d);
    lfuse_output(g, "d", d);
    OK(lfuse_tensor_write(ti, NULL, integers));
    OK(lfuse_tensor_write(tx, NULL, near));
    const lfuse_binding bindings[] = {BIND("i", ti), BIND("x", tx), BIND("y", ty), BIND("z", tz), BIND("d", td),
                                      lfuse_bind_scalar("s", -1e6)};
    OK(lfuse_plan_run(new_plan(device, g, NULL), s, bindings, 6));
    OK(lfuse_stream_synchronize(s));
    OK(lfuse_tensor_read(ty, NULL, got));
    OK(lfuse_tensor_read(tz, NULL, &number));
    OK(lfuse_tensor_read(td, NULL, slope));
    ck_assert_msg(!memcmp(got, codes, sizeof codes), "%s: %#x %#x %#x %#x", device_name, got[0], got[1], got[2],
                  got[3]);
    ck_assert_msg(number == 0xfe, "%s: a number of -1e6 is %#x", device_name, number);
    for (int k = 0; k < N; k++)
        ck_assert_msg(slope[k] == slopes[k], "%s: the slope at %g is %g", device_name, near[k], slope[k]);
}

/* A gradient of 1000 is no number of e4m3; what is made of it is: 4 columns of 1000 / 16. */
static void run_gradient(lfuse_device *device, lfuse_stream *s)
{
    enum { M = 2, K = 3, N = 4 };
    lfuse_graph *g = new_graph();
    const lfuse_value a = lfuse_input(g, "a", TYPED(LFUSE_E4M3, M, K));
    const lfuse_value b = lfuse_input(g, "b", TYPED(LFUSE_E4M3, K, N));
    lfuse_tensor *ta = new_tensor(device, TYPED(LFUSE_E4M3, M, K)), *tb = new_tensor(device, TYPED(LFUSE_E4M3, K, N));
    lfuse_tensor *td = new_tensor(device, TYPED(LFUSE_E4M3, M, K));
    const double wanted = lfuse__narrow_round(LFUSE_E4M3, 250);
    uint8_t got[M * K];
    lfuse_value d;

    lfuse_gradient(lfuse_matmul_as(a, b, LFUSE_F32, LFUSE_PRECISION_FULL), lfuse_constant(g, 1000), 1, &a, &d);
    lfuse_output(g, "d", d);
    OK(lfuse_tensor_fill(ta, NULL, 1));
    OK(lfuse_tensor_fill(tb, NULL, 0.0625));
    const lfuse_binding bindings[] = {BIND("a", ta), BIND("b", tb), BIND("d", td)};
    OK(lfuse_plan_run(new_plan(device, g, NULL), s, bindings, 3));
    OK(lfuse_stream_synchronize(s));
    OK(lfuse_tensor_read(td, NULL, got));
    for (int i = 0; i < M * K; i++) compare("gradient", LFUSE_E4M3, got, i, wanted, 250);
}

/* The vendor's library, where it multiplies e4m3 of both, or something else in its place: a bias of f32, and relu. */
static void run_vendor(lfuse_device *device, lfuse_stream *s)
{
    enum { SIDE = 64 };
    const lfuse_plan_options options = { .provider = LFUSE_PROVIDER_VENDOR };
    lfuse_graph *g = new_graph();
    const lfuse_value a = lfuse_input(g, "a", TYPED(LFUSE_E4M3, SIDE, SIDE));
    const lfuse_value b = lfuse_input(g, "b", TYPED(LFUSE_E4M3, SIDE, SIDE));
    const lfuse_value v = lfuse_input(g, "v", TYPED(LFUSE_F32, SIDE));
    lfuse_tensor *ta = new_tensor(device, TYPED(LFUSE_E4M3, SIDE, SIDE));
    lfuse_tensor *tv = new_tensor(device, TYPED(LFUSE_F32, SIDE));
    lfuse_tensor *ty = new_tensor(device, TYPED(LFUSE_F32, SIDE, SIDE));
    float bias[SIDE], got[SIDE * SIDE];

    lfuse_output(g, "y", lfuse_relu(lfuse_add(
        lfuse_matmul_as(a, lfuse_transpose(b), LFUSE_F32, LFUSE_PRECISION_FULL), v)));
    for (int i = 0; i < SIDE; i++) bias[i] = (float)(i * 7 - 200);
    OK(lfuse_tensor_fill(ta, NULL, 2));
    OK(lfuse_tensor_write(tv, NULL, bias));
    const lfuse_binding bindings[] = {BIND("a", ta), BIND("b", ta), BIND("v", tv), BIND("y", ty)};
    OK(lfuse_plan_run(new_plan(device, g, &options), s, bindings, 4));
    OK(lfuse_stream_synchronize(s));
    OK(lfuse_tensor_read(ty, NULL, got));
    for (int i = 0; i < SIDE * SIDE; i++) {
        const float sum = 4 * SIDE + bias[i % SIDE], wanted = sum > 0 ? sum : 0;
        ck_assert_msg(got[i] == wanted, "%s: [%d] is %g instead of %g", device_name, i, (double)got[i], (double)wanted);
    }
}

static void run_device(lfuse_device *device)
{
    static numbers n;
    lfuse_stream *s = new_stream(device);

    fill(&n);
    run_to(device, s, &n);
    run_from(device, s, LFUSE_E4M3);
    run_from(device, s, LFUSE_E5M2);
    run_saturated(device, s);
    run_gradient(device, s);
    run_vendor(device, s);
}

static int count_devices(void)
{
    int count = 0;
    lfuse__stub_reset();
    lfuse__registry_extra(&lfuse__stub_backend);
    return lfuse_device_count(&count) ? 1 : count;
}

TEST_CASE("fp8")

TEST_LOOP(conversions, 0, count_devices())
{
    lfuse_device_info info;

    lfuse__registry_extra(&lfuse__stub_backend);
    OK(lfuse_device_describe(_i, &info));
    for (int lanes = 0; lanes < (strncmp(info.name, "stub", 4) ? 1 : 2); lanes++) {
        lfuse_device *device;
        lfuse__stub.vector_lanes = lanes;
        snprintf(device_name, sizeof device_name, "%.20s%s", info.name, lanes ? " in lanes" : "");
        OK(lfuse_device_open(info.name, &device));
        run_device(device);
        drop_all();
        lfuse_device_close(device);
    }
}

/* From integers and f16; and what is refused. */
TEST(saturated_graphs)
{
    lfuse_graph *g = new_graph();
    const lfuse_value x = lfuse_input(g, "x", TYPED(LFUSE_I32, 4)), h = lfuse_input(g, "h", TYPED(LFUSE_F16, 4));

    lfuse_output(g, "y", lfuse_cast_saturated(x, LFUSE_E4M3));
    lfuse_output(g, "z", lfuse_cast_saturated(h, LFUSE_E5M2));
    lfuse_output(g, "b", lfuse_cast_saturated(lfuse_cast(x, LFUSE_U8), LFUSE_E4M3));
    OK(lfuse_graph_check(g));
    lfuse_output(g, "no", lfuse_cast_saturated(x, LFUSE_F32));
    SAYS(LFUSE_ERR_TYPE, lfuse_graph_check(g), "to f32, which is none of f16, bf16, e4m3 and e5m2");
}

TEST_SUITE("conversions", CK_NOFORK)
