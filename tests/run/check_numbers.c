/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in device memory give the bits that host numbers give, on every device here. */
#include "tests/run/rig.h"

/* What expressions are made of: host numbers, or 0-d tensors of f64 and (of STEP) i64. */
enum { RATE, DECAY, BETA, STEP, OTHER, NUMBERS };
static const double numbers[NUMBERS] = { 1.37e-3, 0.0123, 0.999, 1234, 0.37 };
static const char *const names[NUMBERS] = { "rate", "decay", "beta", "step", "other" };

/* In halves, each a test of its own on each device: what compiles slowly is not silent for long. */
enum { HALVES = 2, EXPRESSIONS = 4, LENGTH = 3000, MEMBERS = 3 };
static const int64_t sizes[MEMBERS] = { 5, 0, 2100 };

static lfuse_value one_less(lfuse_value v)
{
    return lfuse_sub(lfuse_constant(g, 1), v);
}

static lfuse_value expression(int i, const lfuse_value *v)
{
    const lfuse_value one = lfuse_constant(g, 1), steps = v[STEP];
    const lfuse_value step = lfuse_cast(steps, LFUSE_F64);

    switch (i) {
    case 0: return lfuse_mul(v[RATE], v[DECAY]);
    case 1: return one_less(lfuse_powi(v[BETA], steps));
    case 2: return lfuse_sqrt(one_less(lfuse_powi(v[BETA], steps)));
    case 3: return lfuse_div(v[RATE], one_less(lfuse_pow(v[BETA], step)));
    case 4: return lfuse_div(one, lfuse_add(one, v[OTHER]));
    case 5: return lfuse_pow(step, lfuse_constant(g, -0.8));
    case 6: return lfuse_pow(lfuse_fma(lfuse_mul(v[DECAY], v[RATE]), step, one), v[OTHER]);
    default: return lfuse_max(lfuse_reciprocal(lfuse_powi(v[OTHER], lfuse_constant(g, -3))), lfuse_square(v[RATE]));
    }
}

typedef struct results {
    float plain[EXPRESSIONS][LENGTH], members[EXPRESSIONS][LENGTH];
    uint16_t half[EXPRESSIONS][LENGTH];
} results;

static lfuse_list *list(float start, lfuse_tensor **t)
{
    for (int m = 0; m < MEMBERS; m++) t[m] = ramp(1, &sizes[m], start, 0.001f);
    return new_list(dev, LFUSE_F32, MEMBERS, t);
}

static lfuse_tensor *typed(lfuse_type type, int rank, const int64_t *shape)
{
    return new_tensor(dev, type, rank, shape);
}

/* The half's expressions. Bit i of `device`: number i lies in device memory. */
static void describe(int half, unsigned device)
{
    lfuse_value v[NUMBERS], x = lfuse_input(g, "x", F32(LENGTH));
    const lfuse_value w = lfuse_list_input(g, "w", LFUSE_F32, LFUSE_RANK_ANY), h = lfuse_cast(x, LFUSE_F16);
    char name[16];

    for (int i = 0; i < NUMBERS; i++)
        v[i] = device >> i & 1 ? lfuse_input(g, names[i], i == STEP ? LFUSE_I64 : LFUSE_F64, 0, NULL)
                               : lfuse_scalar(g, names[i]);
    for (int i = 0; i < EXPRESSIONS; i++) {
        const lfuse_value e = expression(EXPRESSIONS * half + i, v);
        snprintf(name, sizeof name, "y%d", i);
        lfuse_output(g, name, lfuse_mul(x, e));
        snprintf(name, sizeof name, "h%d", i);
        lfuse_output(g, name, lfuse_mul(h, e));
        snprintf(name, sizeof name, "z%d", i);
        lfuse_output(g, name, lfuse_mul(w, e));
    }
}

static lfuse_tensor *number_tensor(int i)
{
    lfuse_tensor *t = typed(i == STEP ? LFUSE_I64 : LFUSE_F64, 0, NULL);
    const int64_t whole = (int64_t)numbers[i];

    if (i == STEP) OK(lfuse_tensor_write(t, NULL, &whole));
    else OK(lfuse_tensor_write(t, NULL, &numbers[i]));
    return t;
}

static void compute(int half, unsigned device, unsigned disable, results *r)
{
    lfuse_tensor *made[NUMBERS + 1 + 5 * EXPRESSIONS + 4 * MEMBERS], *members[EXPRESSIONS][MEMBERS], *own[MEMBERS];
    lfuse_binding b[NUMBERS + 2 + 3 * EXPRESSIONS];
    lfuse_list *lists[EXPRESSIONS + 1];
    char text[3 * EXPRESSIONS][16];
    int count = 0, n = 0, k = 0;

    g = lfuse_graph_create();
    describe(half, device);
    lfuse_plan *plan = plan_with(disable);
    b[count++] = BIND("x", made[n++] = ramp(SHAPE(LENGTH), 0.5f, 0.0007f));
    lists[EXPRESSIONS] = list(-1, own);
    b[count++] = BIND("w", lists[EXPRESSIONS]);
    for (int i = 0; i < NUMBERS; i++)
        b[count++] = device >> i & 1 ? BIND(names[i], made[n++] = number_tensor(i))
                                     : lfuse_bind_scalar(names[i], numbers[i]);
    for (int i = 0; i < EXPRESSIONS; i++) {
        snprintf(text[k], sizeof text[k], "y%d", i);
        b[count++] = BIND(text[k++], made[n++] = typed(F32(LENGTH)));
        snprintf(text[k], sizeof text[k], "h%d", i);
        b[count++] = BIND(text[k++], made[n++] = typed(F16(LENGTH)));
        snprintf(text[k], sizeof text[k], "z%d", i);
        b[count++] = BIND(text[k++], lists[i] = list(0, members[i]));
    }
    OK(lfuse_plan_run(plan, stream, b, count));
    OK(lfuse_stream_synchronize(stream));
    memset(r, 0, sizeof *r);
    for (int i = 0; i < EXPRESSIONS; i++) {
        OK(lfuse_tensor_read(b[count - 3 * (EXPRESSIONS - i)].as.tensor, NULL, r->plain[i]));
        OK(lfuse_tensor_read(b[count - 3 * (EXPRESSIONS - i) + 1].as.tensor, NULL, r->half[i]));
        OK(lfuse_tensor_read(members[i][0], NULL, r->members[i]));
        OK(lfuse_tensor_read(members[i][2], NULL, r->members[i] + sizes[0]));
    }
    for (int i = 0; i <= EXPRESSIONS; i++) {
        for (int m = 0; m < MEMBERS; m++) drop(i < EXPRESSIONS ? members[i][m] : own[m]);
        drop(lists[i]);
    }
    while (n) drop(made[--n]);
    drop(plan);
    lfuse_graph_destroy(g);
    g = NULL;
}

/* And none of them is trivial. */
static void check_contents(const results *r)
{
    for (int i = 0; i < EXPRESSIONS; i++)
        for (int k = 0; k < i; k++)
            ck_assert_msg(r->plain[i][7] != r->plain[k][7], "expressions %d and %d are equal", i, k);
    for (int i = 0; i < EXPRESSIONS; i++) ck_assert_float_ne(r->members[i][1], 0);
}

/* Different on the host, where it is one number, and on the device: all, none and some of them. */
static void compare_on_device(int half)
{
    static results host, device;

    lfuse_device_info info = info_of(dev);
    if (!info.f64) return;
    compute(half, 0, 0, &host);
    check_contents(&host);
    for (int i = 0; i < 3; i++) {
        static const unsigned which[] = { (1u << NUMBERS) - 1, 1u << STEP | 1u << RATE, (1u << NUMBERS) - 1 };
        compute(half, which[i], i == 2 ? LFUSE_NO_FUSION : 0, &device);
        for (int k = 0; k < EXPRESSIONS; k++) {
            const size_t bytes = sizeof host.plain[k];
            ck_assert_msg(!memcmp(host.plain[k], device.plain[k], bytes), "%s: expression %d", info.name,
                          EXPRESSIONS * half + k);
            ck_assert_msg(!memcmp(host.half[k], device.half[k], bytes / 2), "%s: f16, %d", info.name,
                          EXPRESSIONS * half + k);
            ck_assert_msg(!memcmp(host.members[k], device.members[k], bytes), "%s: list, %d", info.name,
                          EXPRESSIONS * half + k);
        }
    }
}

TEST_CASE("numbers", .setup = open_stub, .teardown = close_stub)

/* The stub in both forms of kernels. */
TEST_LOOP(on_the_stub, 0, 2 * HALVES)
{
    reopen_stub_as(_i);
    compare_on_device(_i / 2);
}

static int devices;

/* One turn where there is none, which says so. */
static int turns_on_devices(void)
{
    if (lfuse_device_count(&devices)) devices = 0;
    return HALVES * (devices ? devices : 1);
}

TEST_LOOP(on_devices, 0, turns_on_devices())
{
    const char *only = getenv("LFUSE_TEST_DEVICE");
    const int at = _i / HALVES;
    lfuse_device_info info;

    if (at >= devices) TEST_SKIP("no device on this machine");
    close_stub();
    OK(lfuse_device_describe(at, &info));
    const bool wanted = !only || !strncmp(info.name, only, strlen(only));
    if (wanted) {
        OK(lfuse_device_open(info.name, &dev));
        OK(lfuse_stream_create(dev, &stream));
        compare_on_device(_i % HALVES);
        lfuse_stream_destroy(stream);
        lfuse_device_close(dev);
    }
    open_stub();
    if (!wanted) TEST_SKIP("%s: LFUSE_TEST_DEVICE is %s", info.name, only);
}

TEST_SUITE("numbers", CK_NOFORK)
