/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quotients, roots and fused sums that are hard to round, on every device that is `exact` and on the stub: the bits of
 * the host, whose arithmetic is IEEE's. Hard is what lies beside the middle between two numbers of the type, among the
 * subnormal numbers too.
 */
#include "bench/data.h"
#include "common/device/device.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

enum { COUNT = 30000 };


/* ---- operands ---- */

static const struct format {
    lfuse_type type;
    int bits;   /* of the significand, the first one included */
    int lowest; /* the smallest subnormal number is 2^lowest */
} formats[] = {{LFUSE_F32, 24, -149}, {LFUSE_F64, 53, -1074}, {LFUSE_F16, 11, -24}, {LFUSE_BF16, 8, -133}};

/* What is divided; the root's operand; what is multiplied and added to. */
typedef enum operand { DIVIDEND, DIVISOR, RADICAND, FACTOR, OTHER_FACTOR, ADDEND, OPERANDS } operand;
typedef enum result { QUOTIENT, ROOT, FUSED_SUM, RESULTS } result;

static const char *const operand_names[] = {"dividend", "divisor", "radicand", "factor", "other", "addend"};
static const char *const result_names[] = {"quotient", "root", "sum"};

static double special(lfuse__random *r, const struct format *f)
{
    const double least = ldexp(1, f->lowest), normal = ldexp(1, f->lowest + f->bits - 1);
    const double values[] = {0, least, 3 * least, normal - least, normal, 1, 3, 1 - ldexp(1, -f->bits), INFINITY, NAN};
    const double value = values[lfuse__random_below(r, sizeof values / sizeof *values)];
    return lfuse__random_below(r, 2) ? value : -value;
}

/* An odd number of so many bits. */
static long double odd(lfuse__random *r, int bits)
{
    const uint64_t first = UINT64_C(1) << (bits - 1);
    return (long double)(first | lfuse__random_below(r, first) | 1);
}

/* Of f16 and bf16 it is rounded when it is stored. */
static double nearest(const struct format *f, long double x)
{
    return f->type == LFUSE_F32 ? (double)(float)x : (double)x;
}

/* The quotient is about `middle`, which has one bit more than the type, or one more than its subnormal numbers have. */
static void make_quotient(lfuse__random *r, const struct format *f, double made[OPERANDS])
{
    const bool subnormal = lfuse__random_below(r, 3) == 0;
    const long double middle = odd(r, 1 + (subnormal ? (int)lfuse__random_below(r, (uint64_t)f->bits) : f->bits));
    const long double divisor = odd(r, f->bits);
    /* Halves of f16's subnormal numbers are too small for the dividend: the divisor is made larger. */
    const int up = subnormal ? (f->type == LFUSE_F16 ? 1 - f->bits : 0) : -f->bits;
    const int down = subnormal ? f->lowest - 1 + up : up;
    made[DIVISOR] = ldexp((double)divisor, up);
    made[DIVIDEND] = ldexp(nearest(f, middle * divisor), down);
}

static void make_root(lfuse__random *r, const struct format *f, double made[OPERANDS])
{
    const long double middle = odd(r, f->bits + 1);
    const int scale = f->type == LFUSE_F16 ? 0 : 2 * (int)lfuse__random_below(r, 20);
    made[RADICAND] = ldexp(nearest(f, middle * middle), -2 * f->bits - scale);
}

/* A product that is a middle by itself and something small beside it; or a sum that cancels to the product's error. */
static void make_sum(lfuse__random *r, const struct format *f, double made[OPERANDS])
{
    const double x = (double)odd(r, f->bits / 2 + 1), y = (double)odd(r, (f->bits + 1) / 2);
    const double sign = lfuse__random_below(r, 2) ? 1 : -1;
    made[FACTOR] = ldexp(x, -f->bits / 2);
    made[OTHER_FACTOR] = y * sign;
    made[ADDEND] = ldexp(lfuse__random_below(r, 2) ? 1 : -1, f->type == LFUSE_F16 ? -20 : -70);
    if (lfuse__random_below(r, 2)) made[ADDEND] = -nearest(f, (long double)made[FACTOR] * made[OTHER_FACTOR]);
}

static void make_operands(const struct format *f, void *data[OPERANDS])
{
    lfuse__random r;
    lfuse__random_seed(&r, (uint64_t)f->bits);
    for (int i = 0; i < COUNT; i++) {
        double made[OPERANDS];
        make_quotient(&r, f, made);
        make_root(&r, f, made);
        make_sum(&r, f, made);
        for (int j = 0; j < OPERANDS; j++)
            lfuse__data_put(f->type, data[j], i, i % 10 ? made[j] : special(&r, f));
    }
}

/* ---- the host's results ---- */

/* f16 and bf16 are computed in f32 and rounded once more. */
static double host_result(const struct format *f, result which, const double x[OPERANDS])
{
    float single[OPERANDS];
    for (int j = 0; j < OPERANDS; j++) single[j] = (float)x[j];
    if (f->type == LFUSE_F64)
        return which == QUOTIENT ? x[DIVIDEND] / x[DIVISOR]
                                 : which == ROOT ? sqrt(x[RADICAND]) : fma(x[FACTOR], x[OTHER_FACTOR], x[ADDEND]);
    return which == QUOTIENT ? single[DIVIDEND] / single[DIVISOR]
                             : which == ROOT ? sqrtf(single[RADICAND])
                                             : fmaf(single[FACTOR], single[OTHER_FACTOR], single[ADDEND]);
}

static void compare(const struct format *f, result which, void *const data[OPERANDS], const void *got)
{
    const size_t size = (size_t)lfuse_type_size(f->type);
    for (int i = 0; i < COUNT; i++) {
        double x[OPERANDS], seen = lfuse__data_get(f->type, got, i), wanted;
        uint64_t want = 0;
        for (int j = 0; j < OPERANDS; j++) x[j] = lfuse__data_get(f->type, data[j], i);
        wanted = host_result(f, which, x);
        lfuse__data_put(f->type, &want, 0, wanted);
        if (isnan(wanted) && isnan(seen)) continue;
        ck_assert_msg(!memcmp(&want, (const char *)got + (size_t)i * size, size),
                      "%s, %s: %s %d is %a instead of %a, operands %a %a, %a, %a %a %a", device_name,
                      lfuse_type_name(f->type), result_names[which], i, seen, lfuse__data_get(f->type, &want, 0),
                      x[DIVIDEND], x[DIVISOR], x[RADICAND], x[FACTOR], x[OTHER_FACTOR], x[ADDEND]);
    }
}

/* ---- on a device ---- */

static lfuse_graph *describe(const struct format *f)
{
    lfuse_value x[OPERANDS];
    lfuse_graph *g = new_graph();
    for (int j = 0; j < OPERANDS; j++) x[j] = lfuse_input(g, operand_names[j], TYPED(f->type, COUNT));
    lfuse_output(g, result_names[QUOTIENT], lfuse_div(x[DIVIDEND], x[DIVISOR]));
    lfuse_output(g, result_names[ROOT], lfuse_sqrt(x[RADICAND]));
    lfuse_output(g, result_names[FUSED_SUM], lfuse_fma(x[FACTOR], x[OTHER_FACTOR], x[ADDEND]));
    return g;
}

static void run_format(lfuse_device *device, const struct format *f)
{
    const size_t bytes = COUNT * (size_t)lfuse_type_size(f->type);
    void *data[OPERANDS], *got = new_memory(bytes);
    lfuse_tensor *tensors[OPERANDS + RESULTS];
    lfuse_binding bindings[OPERANDS + RESULTS];
    lfuse_graph *g = describe(f);

    for (int j = 0; j < OPERANDS; j++) ck_assert_ptr_nonnull(data[j] = new_memory(bytes));
    make_operands(f, data);
    for (int j = 0; j < OPERANDS + RESULTS; j++) {
        tensors[j] = new_tensor(device, TYPED(f->type, COUNT));
        if (j < OPERANDS) OK(lfuse_tensor_write(tensors[j], NULL, data[j]));
        bindings[j] = BIND(j < OPERANDS ? operand_names[j] : result_names[j - OPERANDS], tensors[j]);
    }
    lfuse_stream *s = new_stream(device);
    lfuse_plan *plan = new_plan(device, g, &(lfuse_plan_options){.exact = 1});
    OK(lfuse_plan_run(plan, s, bindings, OPERANDS + RESULTS));
    for (int i = 0; i < RESULTS; i++) {
        OK(lfuse_tensor_read(tensors[OPERANDS + i], s, got));
        OK(lfuse_stream_synchronize(s));
        compare(f, (result)i, data, got);
    }
}

static int count_devices(void)
{
    int count = 0;
    lfuse__stub_reset();
    lfuse__registry_extra(&lfuse__stub_backend);
    return lfuse_device_count(&count) ? 1 : count;
}

TEST_CASE("every device")

/* As users have the compiler: its optimisation is what might round otherwise. */
TEST_LOOP(hard_to_round, 0, count_devices())
{
    lfuse_device_info info;
    lfuse_device *device;

    lfuse__registry_extra(&lfuse__stub_backend);
    OK(lfuse_device_describe(_i, &info));
    snprintf(device_name, sizeof device_name, "%s", info.name);
    if (!info.exact) TEST_SKIP("%s (%.60s) is not exact", info.name, info.product);
    test_without_optimisation(false);
    OK(lfuse_device_open(info.name, &device));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (info.f64 || formats[i].type != LFUSE_F64) run_format(device, &formats[i]);
    drop_all();
    lfuse_device_close(device);
}

TEST_SUITE("rounding", CK_NOFORK)
