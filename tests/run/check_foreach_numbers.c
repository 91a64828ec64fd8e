/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreach functions that make numbers of members and lists, and unscaling, on the stub and on every device found: the
 * bits that the reductions of single tensors have, and flags that are set when they must be.
 */
#include "tests/run/sets.h"

enum { COUNT = 8, MOST_LAUNCHES = 3 };

typedef lfuse_status reduction(lfuse_tensor *to, const lfuse_list *a);
typedef lfuse_value expression(lfuse_value a);

static lfuse_status f_sum(lfuse_tensor *to, const lfuse_list *a) { return lfuse_foreach_sum(stream, to, a); }
static lfuse_status f_mean(lfuse_tensor *to, const lfuse_list *a) { return lfuse_foreach_mean(stream, to, a); }
static lfuse_status f_max(lfuse_tensor *to, const lfuse_list *a) { return lfuse_foreach_max(stream, to, a); }
static lfuse_status f_min(lfuse_tensor *to, const lfuse_list *a) { return lfuse_foreach_min(stream, to, a); }
static lfuse_status f_norm1(lfuse_tensor *to, const lfuse_list *a) { return lfuse_foreach_norm(stream, to, a, 1); }
static lfuse_status f_norm2(lfuse_tensor *to, const lfuse_list *a) { return lfuse_foreach_norm(stream, to, a, 2); }
static lfuse_status f_largest(lfuse_tensor *to, const lfuse_list *a)
{
    return lfuse_foreach_norm(stream, to, a, (double)INFINITY);
}
static lfuse_value e_sum(lfuse_value a) { return lfuse_sum(a, LFUSE_ALL_AXES, NULL, 0); }
static lfuse_value e_mean(lfuse_value a) { return lfuse_mean(a, LFUSE_ALL_AXES, NULL, 0); }
static lfuse_value e_max(lfuse_value a) { return lfuse_amax(a, LFUSE_ALL_AXES, NULL, 0); }
static lfuse_value e_min(lfuse_value a) { return lfuse_amin(a, LFUSE_ALL_AXES, NULL, 0); }
static lfuse_value e_norm1(lfuse_value a) { return lfuse_norm_l1(a, LFUSE_ALL_AXES, NULL, 0); }
static lfuse_value e_norm2(lfuse_value a) { return lfuse_norm_l2(a, LFUSE_ALL_AXES, NULL, 0); }
static lfuse_value e_largest(lfuse_value a) { return lfuse_norm_inf(a, LFUSE_ALL_AXES, NULL, 0); }

typedef struct named {
    const char *name;
    reduction *f;
    expression *e;
    bool needs_elements;
} named;

static const named all[] = {{"sum", f_sum, e_sum, false},       {"mean", f_mean, e_mean, false},
                            {"norm 1", f_norm1, e_norm1, false}, {"norm 2", f_norm2, e_norm2, false},
                            {"max", f_max, e_max, true},         {"min", f_min, e_min, true},
                            {"largest", f_largest, e_largest, true}};

static lfuse_tensor *vector(lfuse_type type, int64_t count)
{
    lfuse_tensor *t = new_tensor(device, type, 1, &count);
    OK(lfuse_tensor_fill(t, NULL, -99));
    return t;
}

/* The member by itself. */
static float alone(expression *e, lfuse_tensor *member)
{
    const lfuse_size n = lfuse_tensor_elements(member);
    lfuse_graph *g = new_graph();
    float number;

    lfuse_tensor *y = new_tensor(device, LFUSE_F32, 0, NULL);
    lfuse_output(g, "y", e(lfuse_input(g, "x", LFUSE_F32, 1, &n)));
    OK(lfuse_evaluate(stream, g, BINDINGS(BIND("x", member), BIND("y", y))));
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(y, NULL, &number));
    return number;
}

static void numbers_of_members(const named *f, const set *a)
{
    const int first = f->needs_elements ? 2 : 0, count = COUNT - first; /* member 1 is empty */
    lfuse_tensor *to = vector(LFUSE_F32, count);
    float is[COUNT];

    lfuse_list *list = new_list(device, LFUSE_F32, count, a->members + first);
    OK(f->f(to, list));
    const uint64_t before = launches();
    OK(f->f(to, list));
    ck_assert_msg(launches() - before <= 2, "%s: %s: %llu launches", device_name, f->name,
                  (unsigned long long)(launches() - before));
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(to, NULL, is));
    for (int i = 0; i < count; i++) {
        const float wanted = alone(f->e, a->members[first + i]);
        ck_assert_msg((is[i] != is[i] && wanted != wanted) || !memcmp(&is[i], &wanted, sizeof wanted),
                      "%s: %s of member %d is %.9g, alone %.9g", device_name, f->name, first + i, (double)is[i],
                      (double)wanted);
    }
}

TEST_CASE("foreach numbers")

TEST_ON_DEVICES(numbers_have_the_bits_of_tensors, void)
{
    set a = set_make(LFUSE_F32, COUNT, 1, -3, 5);

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) numbers_of_members(&all[i], &a);
}

/* Any order, types of results, vectors as operands, whole lists; against the host. */
TEST_ON_DEVICES(norms, void)
{
    set a = set_make(LFUSE_F32, COUNT, 1, -3, 5), w = set_make(LFUSE_I32, COUNT, 2, -9, 9);
    lfuse_tensor *cubes = vector(LFUSE_F64, COUNT), *sums = vector(LFUSE_I64, COUNT), *each = vector(LFUSE_F32, COUNT);
    double *x = set_read(&a), *n = set_read(&w), cube[COUNT], squares = 0;
    int64_t sum[COUNT];
    float whole;

    const lfuse_device_info info = info_of(device);
    lfuse_tensor *total = new_tensor(device, LFUSE_F32, 0, NULL);
    if (info.f64) OK(lfuse_foreach_norm(stream, cubes, a.list, 3));
    OK(lfuse_foreach_sum(stream, sums, w.list));
    OK(lfuse_foreach_norm(stream, each, a.list, 2));
    OK(lfuse_foreach_total_norm(stream, total, a.list, 2));
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(cubes, NULL, cube));
    OK(lfuse_tensor_read(sums, NULL, sum));
    OK(lfuse_tensor_read(total, NULL, &whole));
    for (int64_t m = 0; m < COUNT; m++) {
        double third = 0;
        int64_t s = 0;
        for (int64_t i = 0; i < set_size(m); i++) {
            const double v = x[a.starts[m] + i];
            third += fabs(v * v * v);
            squares += v * v;
            s += (int64_t)n[w.starts[m] + i];
        }
        ck_assert_msg(!info.f64 || fabs(cube[m] - cbrt(third)) <= 1e-5 * cbrt(third), "%s: member %d: %g, not %g",
                      device_name, (int)m, cube[m], cbrt(third));
        ck_assert_int_eq(sum[m], s);
    }
    ck_assert_msg(fabs((double)whole - sqrt(squares)) <= 1e-6 * sqrt(squares), "%s: %g, not %g", device_name,
                  (double)whole, sqrt(squares));
    /* Each member over its norm, but for the empty one, has norm 1. */
    OK(lfuse_foreach_div(stream, a.list, a.list, lfuse_operand_tensor(each)));
    OK(lfuse_foreach_total_norm(stream, total, a.list, 2));
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(total, NULL, &whole));
    ck_assert_msg(fabs((double)whole - sqrt(COUNT - 1)) <= 1e-5, "%s: %g", device_name, (double)whole);
}

/* ---- unscale ---- */

static float flag_of(const lfuse_tensor *t)
{
    float flag;

    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(t, NULL, &flag));
    return flag;
}

static void unscale_of(lfuse_type type)
{
    set a = set_make(type, COUNT, 1, -3, 5), y = set_make(type, COUNT, 2, 0, 1);
    set wanted = set_make(type, COUNT, 3, 0, 1);
    const float quarter = 0.25f;

    lfuse_tensor *found = new_tensor(device, LFUSE_F32, 0, NULL);
    lfuse_tensor *inv = new_tensor(device, LFUSE_F32, 0, NULL);
    OK(lfuse_tensor_write(inv, NULL, &quarter));
    OK(lfuse_tensor_fill(found, NULL, 0));
    OK(lfuse_foreach_mul(stream, wanted.list, a.list, lfuse_operand_scalar(0.25)));
    OK(lfuse_foreach_unscale(stream, y.list, a.list, lfuse_operand_tensor(inv), found));
    set_expect("unscale", &y, &wanted);
    ck_assert_float_eq(flag_of(found), 0);
    const uint64_t before = launches();
    OK(lfuse_foreach_unscale(stream, y.list, a.list, lfuse_operand_tensor(inv), found));
    ck_assert_msg(launches() - before <= MOST_LAUNCHES, "%s: %llu launches", device_name,
                  (unsigned long long)(launches() - before));
    lfuse_tensor *bad = new_view(a.memory, 0, NULL, NULL, a.starts[6] + set_size(6) - 1);
    OK(lfuse_tensor_fill(bad, NULL, (double)-INFINITY));
    OK(lfuse_foreach_mul(stream, wanted.list, a.list, lfuse_operand_scalar(0.25)));
    OK(lfuse_foreach_unscale(stream, a.list, a.list, lfuse_operand_scalar(0.25), found));
    set_expect("unscale in place", &a, &wanted);
    ck_assert_float_eq(flag_of(found), 1);
    /* It stays set until the caller clears it. */
    OK(lfuse_foreach_unscale(stream, y.list, y.list, lfuse_operand_scalar(1), found));
    ck_assert_float_eq(flag_of(found), 1);
    OK(lfuse_tensor_fill(found, NULL, 0));
    OK(lfuse_tensor_fill(bad, NULL, (double)NAN));
    OK(lfuse_foreach_unscale(stream, a.list, a.list, lfuse_operand_scalar(0.25), found));
    ck_assert_float_eq(flag_of(found), 1);
}

TEST_ON_DEVICES(unscale, void)
{
    unscale_of(LFUSE_F32);
    unscale_of(LFUSE_F16);
}

/* ---- mistakes ---- */

TEST_ON_DEVICES(mistakes, void)
{
    set a = set_make(LFUSE_F32, COUNT, 1, -3, 5), w = set_make(LFUSE_I32, COUNT, 2, -9, 9);
    lfuse_tensor *to = vector(LFUSE_F32, COUNT), *few = vector(LFUSE_F32, 3), *half = vector(LFUSE_F16, 1);

    lfuse_tensor *one = new_tensor(device, LFUSE_F32, 0, NULL);
    SAYS(LFUSE_ERR_INVALID, lfuse_foreach_sum(stream, NULL, a.list), "lfuse_foreach_sum: to is NULL");
    SAYS(LFUSE_ERR_INVALID, lfuse_foreach_sum(stream, to, NULL), "lfuse_foreach_sum: list a is NULL");
    SAYS(LFUSE_ERR_RANK, lfuse_foreach_sum(stream, one, a.list), "lfuse_foreach_sum: to has rank 0, not 1");
    SAYS(LFUSE_ERR_RANK, lfuse_foreach_total_norm(stream, to, a.list, 2),
         "lfuse_foreach_total_norm: to has rank 1, not 0");
    SAYS(LFUSE_ERR_SHAPE, lfuse_foreach_sum(stream, few, a.list), "lfuse_foreach_sum: a has 8 members, to has 3");
    SAYS(LFUSE_ERR_SHAPE, lfuse_foreach_max(stream, to, a.list), "member 1");
    SAYS(LFUSE_ERR_TYPE, lfuse_foreach_norm(stream, to, w.list, 2), "lfuse_foreach_norm: ");
    SAYS(LFUSE_ERR_INVALID, lfuse_foreach_norm(stream, to, a.list, (double)NAN), "lfuse_foreach_norm: ");
    SAYS(LFUSE_ERR_TYPE, lfuse_foreach_unscale(stream, a.list, a.list, lfuse_operand_scalar(1), half),
         "found_inf is of type f16");
    SAYS(LFUSE_ERR_INVALID, lfuse_foreach_unscale(stream, a.list, a.list, lfuse_operand_scalar(1), NULL),
         "tensor found_inf");
}

TEST_SUITE("run", CK_NOFORK)
