/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreach functions on the stub and on every device found: the bits of a loop over the members that runs a graph of
 * single tensors, for every function, kind of operand and type, in place and out of place, in one launch.
 */
#include "bench/data.h"
#include "common/base/half.h"
#include "tests/run/sets.h"

enum { COUNT = 8, MOST = 4 };

/* ---- the reference: one graph, run for each member ---- */

typedef lfuse_value expression(const lfuse_value *in);
typedef lfuse_status function(lfuse_list *to, const lfuse_operand *in);

static lfuse_type wide(lfuse_type type) { return lfuse__is_narrow(type) ? LFUSE_F32 : type; }

/* What stands beside member m. */
typedef struct beside {
    lfuse_operand operand;
    const set *list;       /* LIST */
    lfuse_tensor **single; /* TENSOR of rank 1: the elements */
} beside;

static lfuse_value declare(lfuse_graph *g, const char *name, lfuse_size n, const beside *b, lfuse_type type)
{
    switch (b->operand.kind) {
    case LFUSE_OPERAND_LIST: return lfuse_input(g, name, b->list->type, 1, &n);
    case LFUSE_OPERAND_TENSOR: return lfuse_input(g, name, lfuse_tensor_type(b->operand.as.tensor), 0, NULL);
    default: return lfuse_cast(lfuse_scalar(g, name), type);
    }
}

static lfuse_binding binding(const char *name, const beside *b, int64_t m)
{
    switch (b->operand.kind) {
    case LFUSE_OPERAND_LIST: return BIND(name, b->list->members[m]);
    case LFUSE_OPERAND_TENSOR:
        return BIND(name, b->single ? b->single[m] : (lfuse_tensor *)b->operand.as.tensor);
    case LFUSE_OPERAND_SCALARS: return lfuse_bind_scalar(name, b->operand.as.scalars[m]);
    default: return lfuse_bind_scalar(name, b->operand.as.scalar);
    }
}

static void loop(expression *e, const set *to, lfuse_type type, const beside *in, int count)
{
    static const char *const names[MOST] = {"p", "q", "r", "s"};
    lfuse_value v[MOST];
    lfuse_binding b[MOST + 1];
    lfuse_graph *g = new_graph();
    const lfuse_size n = lfuse_size_var(g, "n", 0, 1 << 20);

    for (int i = 0; i < count; i++) {
        v[i] = declare(g, names[i], n, &in[i], wide(type));
        if (in[i].operand.kind != LFUSE_OPERAND_LIST || in[i].list->type != LFUSE_BOOL)
            v[i] = lfuse_cast(v[i], wide(type));
    }
    lfuse_output(g, "y", lfuse_cast(e(v), to->type));
    lfuse_plan *plan = new_plan(device, g, NULL);
    for (int64_t m = 0; m < to->count; m++) {
        for (int i = 0; i < count; i++) b[i] = binding(names[i], &in[i], m);
        b[count] = BIND("y", to->members[m]);
        OK(lfuse_plan_run(plan, stream, b, count + 1));
    }
}

/* ---- one function with one choice of operands ---- */

static beside list_of(const set *s)
{
    return (beside){.operand = lfuse_operand_list(s->list), .list = s};
}

static void expect_launches(const char *what, uint64_t before)
{
    const uint64_t is = launches() - before;
    ck_assert_msg(is == 1, "%s: %s: %llu launches", device_name, what, (unsigned long long)is);
}

/* Out of place into a list of type `result`, twice; where asked also in place, operand 0 being a list of that type. */
static void check(const char *what, function *f, expression *e, lfuse_type type, lfuse_type result, const beside *in,
                  int count, bool in_place)
{
    lfuse_operand operands[MOST];
    set is = set_make(result, COUNT, 5, 0, 1), wanted = set_make(result, COUNT, 6, 0, 1);

    for (int i = 0; i < count; i++) operands[i] = in[i].operand;
    loop(e, &wanted, type, in, count);
    OK(f(is.list, operands));
    uint64_t before = launches();
    OK(f(is.list, operands));
    expect_launches(what, before);
    set_expect(what, &is, &wanted);
    if (in_place) {
        set own = set_again(in[0].list);
        operands[0] = lfuse_operand_list(own.list);
        OK(f(own.list, operands));
        set_expect(what, &own, &wanted);
    }
}

/* ---- functions of one list ---- */

#define UNARY(X)                                                                                                       \
    X(abs) X(acos) X(asin) X(atan) X(ceil) X(cos) X(cosh) X(erf) X(erfc) X(exp) X(expm1) X(floor) X(frac) X(log)       \
    X(log10) X(log1p) X(log2) X(neg) X(reciprocal) X(round) X(rsqrt) X(sigmoid) X(sign) X(sin) X(sinh) X(sqrt) X(tan)  \
    X(tanh) X(trunc)
#define PAIR(name)                                                                                                     \
    static lfuse_status f_##name(lfuse_list *to, const lfuse_operand *in)                                              \
    {                                                                                                                  \
        return lfuse_foreach_##name(stream, to, in[0].as.list);                                                        \
    }                                                                                                                  \
    static lfuse_value e_##name(const lfuse_value *in) { return lfuse_##name(in[0]); }
UNARY(PAIR)
#undef PAIR

typedef struct named {
    const char *name;
    function *f;
    expression *e;
} named;

/*
 * Whether this device is given number `n` of many like kernels: on CPUs their compilation is what takes time. The two
 * forms of the stub have half of them each, drivers that compile at a launch one in `share`.
 */
static bool in_turn(int n, int share)
{
    const lfuse__facts *facts = lfuse__device_facts(device);
    if (test_all() || facts->info.kind != LFUSE_DEVICE_CPU) return true;
    return facts->compiles_at_launch ? n % share == 0 : n % 2 == (facts->vector_lanes ? 1 : 0);
}

TEST_CASE("foreach")

TEST_ON_DEVICES(functions_of_one_list, void)
{
    static const named all[] = {
#define ROW(name) {#name, f_##name, e_##name},
        UNARY(ROW)
#undef ROW
    };
    set a = set_make(LFUSE_F32, COUNT, 1, -2, 2);
    const beside in[1] = {list_of(&a)};

    for (int i = 0; i < (int)(sizeof all / sizeof *all); i++)
        if (in_turn(i, 4)) check(all[i].name, all[i].f, all[i].e, LFUSE_F32, LFUSE_F32, in, 1, i % 8 < 2);
}

/* ---- operands of every kind ---- */

#define BINARY(X) X(mul, mul) X(div, div) X(clamp_min, max) X(clamp_max, min) X(minimum, min) X(maximum, max)
#define PAIR(name, builder)                                                                                            \
    static lfuse_status f_##name(lfuse_list *to, const lfuse_operand *in)                                              \
    {                                                                                                                  \
        return lfuse_foreach_##name(stream, to, in[0].as.list, in[1]);                                                 \
    }                                                                                                                  \
    static lfuse_value e_##name(const lfuse_value *in) { return lfuse_##builder(in[0], in[1]); }
BINARY(PAIR)
#undef PAIR

static lfuse_status f_add(lfuse_list *to, const lfuse_operand *in)
{
    return lfuse_foreach_add(stream, to, in[0].as.list, in[1], 1);
}
static lfuse_value e_add(const lfuse_value *in) { return lfuse_add(in[0], in[1]); }
static lfuse_status f_add3(lfuse_list *to, const lfuse_operand *in)
{
    return lfuse_foreach_add(stream, to, in[0].as.list, in[1], 3);
}
static lfuse_value e_add3(const lfuse_value *in)
{
    return lfuse_add(in[0], lfuse_mul(in[1], lfuse_constant(in[0].graph, 3)));
}
static lfuse_status f_sub(lfuse_list *to, const lfuse_operand *in)
{
    return lfuse_foreach_sub(stream, to, in[0].as.list, in[1], 1);
}
static lfuse_value e_sub(const lfuse_value *in) { return lfuse_sub(in[0], in[1]); }
static lfuse_status f_sub7(lfuse_list *to, const lfuse_operand *in)
{
    return lfuse_foreach_sub(stream, to, in[0].as.list, in[1], -7);
}
static lfuse_value e_sub7(const lfuse_value *in)
{
    return lfuse_sub(in[0], lfuse_mul(in[1], lfuse_constant(in[0].graph, -7)));
}
static lfuse_status f_pow(lfuse_list *to, const lfuse_operand *in)
{
    return lfuse_foreach_pow(stream, to, in[0], in[1]);
}
static lfuse_value e_pow(const lfuse_value *in) { return lfuse_pow(in[0], in[1]); }

static const double array[COUNT] = {0.1, -2, 3, 1.7, -0.6, 5, 2.5, 7};
static const double whole_array[COUNT] = {0, -2, 3, 1, 0, 5, 2, 7}; /* beside integers */

/* The five forms of an operand of a type; b[3] is a number in device memory, b[4] one for each member. */
typedef struct forms {
    set list;
    lfuse_tensor *number, *vector, *single[COUNT];
    beside b[5];
} forms;

static void make_forms(forms *f, lfuse_type type, unsigned seed)
{
    static const int64_t shape[2] = {COUNT, 2}, step[1] = {2};
    const bool whole = type == LFUSE_I32 || type == LFUSE_I64 || type == LFUSE_I8 || type == LFUSE_U8;
    char host[2 * COUNT * 8];

    f->list = set_make(type, COUNT, seed, -3, 3);
    for (int i = 0; i < 2 * COUNT; i++) lfuse__data_put(type, host, i, i % 2 ? 99 : array[(i / 2 + 1) % COUNT]);
    lfuse_tensor *t = new_tensor(device, type, 2, shape);
    OK(lfuse_tensor_write(t, NULL, host));
    f->vector = new_view(t, 1, shape, step, 0);
    for (int i = 0; i < COUNT; i++) f->single[i] = new_view(t, 0, NULL, NULL, 2 * i);
    f->number = new_view(t, 0, NULL, NULL, 6);
    f->b[0] = list_of(&f->list);
    f->b[1] = (beside){.operand = lfuse_operand_scalar(whole ? 2 : 2.3)};
    f->b[2] = (beside){.operand = lfuse_operand_scalars(whole ? whole_array : array, COUNT)};
    f->b[3] = (beside){.operand = lfuse_operand_tensor(f->number)};
    f->b[4] = (beside){.operand = lfuse_operand_tensor(f->vector), .single = f->single};
}

static const char *const form_names[] = {"list", "number", "numbers", "tensor", "vector"};

/*
 * `every`: kinds of operands for the first function, which other types than f32 share between devices; the others take
 * a list or an array.
 */
static void binary_of(lfuse_type type, const named *all, size_t n, int every)
{
    forms f;
    set a = set_make(type, COUNT, 1, -4, 4);
    char what[64];

    make_forms(&f, type, 2);
    for (size_t i = 0; i < n; i++)
        for (int k = i % 2 ? 2 : 0, end = i ? k + 1 : every; k < end; k++) {
            const beside in[2] = {list_of(&a), f.b[k]};
            if (!i && type != LFUSE_F32 && !in_turn(k + (int)type, 3)) continue;
            snprintf(what, sizeof what, "%s %s %s", all[i].name, lfuse_type_name(type), form_names[k]);
            check(what, all[i].f, all[i].e, type, type, in, 2, i == 0);
        }
}

static bool has(lfuse_type type)
{
    const lfuse_device_info info = info_of(device);
    return type != LFUSE_F64 || info.f64;
}

TEST_ON_DEVICES(operands_of_every_kind, void)
{
    static const named all[] = {{"add 3", f_add3, e_add3}, {"add", f_add, e_add}, {"sub", f_sub, e_sub},
#define ROW(name, builder) {#name, f_##name, e_##name},
        BINARY(ROW)
#undef ROW
        {"pow", f_pow, e_pow}};

    binary_of(LFUSE_F32, all, sizeof all / sizeof *all, 5);
}

TEST_ON_DEVICES(operands_of_every_type, void)
{
    static const lfuse_type types[] = {LFUSE_F16, LFUSE_BF16, LFUSE_F64, LFUSE_I32, LFUSE_I64, LFUSE_I8,
                                        LFUSE_E4M3};
    static const named some[] = {{"sub -7", f_sub7, e_sub7}, {"div", f_div, e_div}};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (has(types[i])) binary_of(types[i], some, i == 3 ? 2 : 1, i ? 3 : 5);
}

/* ---- more operands ---- */

static lfuse_status f_addcmul(lfuse_list *to, const lfuse_operand *in)
{
    return lfuse_foreach_addcmul(stream, to, in[0].as.list, in[1].as.list, in[2].as.list, in[3]);
}
static lfuse_status f_addcdiv(lfuse_list *to, const lfuse_operand *in)
{
    return lfuse_foreach_addcdiv(stream, to, in[0].as.list, in[1].as.list, in[2].as.list, in[3]);
}
static lfuse_status f_lerp(lfuse_list *to, const lfuse_operand *in)
{
    return lfuse_foreach_lerp(stream, to, in[0].as.list, in[1].as.list, in[2]);
}
static lfuse_status f_clamp(lfuse_list *to, const lfuse_operand *in)
{
    return lfuse_foreach_clamp(stream, to, in[0].as.list, in[1], in[2]);
}
static lfuse_status f_where(lfuse_list *to, const lfuse_operand *in)
{
    return lfuse_foreach_where(stream, to, in[0].as.list, in[1], in[2]);
}
static lfuse_value e_addcmul(const lfuse_value *in) { return lfuse_addcmul(in[0], in[1], in[2], in[3]); }
static lfuse_value e_addcdiv(const lfuse_value *in) { return lfuse_addcdiv(in[0], in[1], in[2], in[3]); }
static lfuse_value e_lerp(const lfuse_value *in) { return lfuse_lerp(in[0], in[1], in[2]); }
static lfuse_value e_clamp(const lfuse_value *in) { return lfuse_clamp(in[0], in[1], in[2]); }
static lfuse_value e_where(const lfuse_value *in) { return lfuse_where(in[0], in[1], in[2]); }

static void several_of(lfuse_type type, int kinds)
{
    set a = set_make(type, COUNT, 1, -4, 4), b = set_make(type, COUNT, 7, 1, 5), c = set_make(type, COUNT, 8, -2, 0);
    set truth = set_make(LFUSE_BOOL, COUNT, 3, 0, 1);
    forms f;

    make_forms(&f, type, 2);
    for (int k = 0; k < kinds; k++) {
        const beside four[4] = {list_of(&a), list_of(&b), list_of(&c), f.b[k]};
        const beside lerp[3] = {list_of(&a), list_of(&b), f.b[k]}, clamp[3] = {list_of(&a), f.b[k], f.b[(k + 1) % 5]};
        const beside where[3] = {list_of(&truth), f.b[k], f.b[(k + 2) % 5]};
        if (in_turn(k, 3)) check("addcmul", f_addcmul, e_addcmul, type, type, four, 4, k < 2);
        if (in_turn(k + 1, 3)) check("addcdiv", f_addcdiv, e_addcdiv, type, type, four, 4, false);
        if (in_turn(k + 2, 3)) check("lerp", f_lerp, e_lerp, type, type, lerp, 3, k < 2);
        if (in_turn(k + 3, 3)) check("clamp", f_clamp, e_clamp, type, type, clamp, 3, false);
        if (in_turn(k + 4, 3)) check("where", f_where, e_where, type, type, where, 3, false);
    }
}

TEST_ON_DEVICES(functions_of_several_operands, void)
{
    several_of(LFUSE_F32, 3);
    several_of(LFUSE_BF16, 1);
}

/* ---- powers ---- */

/* Against the host: exponents with forms of their own. */
static void powers_of(lfuse_type type, double exponent, double (*reference)(double))
{
    set a = set_make(type, COUNT, 1, type == LFUSE_F32 ? 0.25 : -6, 6), y = set_make(type, COUNT, 4, 0, 1);

    OK(lfuse_foreach_pow(stream, y.list, lfuse_operand_list(a.list), lfuse_operand_scalar(exponent)));
    double *x = set_read(&a), *is = set_read(&y);
    for (int64_t m = 0; m < COUNT; m++)
        for (int64_t i = 0; i < set_size(m); i++) {
            const double wanted = reference(x[a.starts[m] + i]), got = is[y.starts[m] + i];
            ck_assert_msg(fabs(got - wanted) <= 3e-7 * fabs(wanted) && (type == LFUSE_F32 || got == wanted),
                          "%s: %g to the power of %g is %.9g, not %.9g", device_name, x[a.starts[m] + i], exponent, got,
                          wanted);
        }
}

static double p_root(double x) { return sqrt(x); }
static double p_inverse_root(double x) { return 1 / sqrt(x); }
static double p_square(double x) { return x * x; }
static double p_cube(double x) { return x * x * x; }
static double p_inverse(double x) { return 1 / x; }
static double p_inverse_square(double x) { return 1 / (x * x); }
static double p_one(double x) { return (void)x, 1; }
static double p_self(double x) { return x; }
static double p_eleven(double x) { return x * x * x * x * x * x * x * x * x * x * x; }
static double p_other(double x) { return pow(x, 1.25); }

TEST_ON_DEVICES(powers, void)
{
    const struct { double exponent; double (*reference)(double); } floating[] = {
        {0.5, p_root}, {-0.5, p_inverse_root}, {2, p_square}, {3, p_cube}, {-1, p_inverse}, {-2, p_inverse_square},
        {0, p_one}, {1, p_self}}, whole[] = {{0, p_one}, {1, p_self}, {2, p_square}, {3, p_cube}, {11, p_eleven}};
    const beside numbers = {.operand = lfuse_operand_scalars(array, COUNT)};
    forms f;

    for (int i = 0; i < (int)(sizeof floating / sizeof *floating); i++)
        if (in_turn(i, 3)) powers_of(LFUSE_F32, floating[i].exponent, floating[i].reference);
    for (int i = 0; i < (int)(sizeof whole / sizeof *whole); i++)
        if (in_turn(i, 3)) powers_of(LFUSE_I32, whole[i].exponent, whole[i].reference);
    make_forms(&f, LFUSE_F32, 2);
    const beside base[2] = {f.b[1], f.b[0]}, bases[2] = {numbers, f.b[0]};
    check("number ^ list", f_pow, e_pow, LFUSE_F32, LFUSE_F32, base, 2, false);
    check("numbers ^ list", f_pow, e_pow, LFUSE_F32, LFUSE_F32, bases, 2, false);
    set a = set_make(LFUSE_F32, 1, 1, 1, 4), y = set_make(LFUSE_F32, 1, 2, 0, 1);
    OK(lfuse_foreach_pow(stream, y.list, lfuse_operand_list(a.list), lfuse_operand_scalar(1.25)));
    double *x = set_read(&a), *is = set_read(&y);
    ck_assert(fabs(is[y.starts[0]] - p_other(x[a.starts[0]])) <= 1e-5);
}

/* ---- data ---- */

static void expect_numbers(const char *what, const set *s, const double *numbers)
{
    double *is = set_read(s);

    for (int64_t m = 0; m < s->count; m++)
        for (int64_t i = 0; i < set_size(m); i++)
            ck_assert_msg(is[s->starts[m] + i] == numbers[m], "%s: %s: member %d is %g, not %g", device_name, what,
                          (int)m, is[s->starts[m] + i], numbers[m]);
}

TEST_ON_DEVICES(data, void)
{
    static const double zeros[COUNT], whole[COUNT] = {1, -2, 3, 4, 5, 6, -7, 8};
    static const lfuse_type types[] = {LFUSE_F32, LFUSE_F16, LFUSE_I64, LFUSE_I8};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        set s = set_make(types[i], COUNT, 1, 1, 9), other = set_make(LFUSE_F32, COUNT, 2, -4, 4);
        set back = set_make(types[i], COUNT, 3, 1, 9);
        OK(lfuse_foreach_zero(stream, s.list));
        uint64_t before = launches();
        OK(lfuse_foreach_zero(stream, s.list));
        expect_launches("zero", before);
        expect_numbers("zero", &s, zeros);
        OK(lfuse_foreach_fill(stream, s.list, lfuse_operand_scalars(whole, COUNT)));
        expect_numbers("fill", &s, whole);
        OK(lfuse_foreach_copy(stream, other.list, s.list));
        OK(lfuse_foreach_copy(stream, back.list, other.list));
        before = launches();
        OK(lfuse_foreach_copy(stream, back.list, other.list));
        expect_launches("copy", before);
        expect_numbers("cast", &other, whole);
        set_expect("cast back", &back, &s);
        OK(lfuse_foreach_copy(stream, back.list, back.list));
        set_expect("onto itself", &back, &s);
    }
}

/* Truths: of numbers, and again from a list of numbers. */
TEST_ON_DEVICES(truths, void)
{
    static const double none[COUNT], some[COUNT] = {1, 1, 0, 1, 0, 0, 1, 0}, other[COUNT] = {1, -2};
    set s = set_make(LFUSE_BOOL, COUNT, 1, 0, 1), numbers = set_make(LFUSE_F32, COUNT, 2, -4, 4);

    OK(lfuse_foreach_fill(stream, s.list, lfuse_operand_scalars(some, COUNT)));
    expect_numbers("fill with truths", &s, some);
    ck_assert_int_eq(lfuse_foreach_fill(stream, s.list, lfuse_operand_scalars(other, COUNT)), LFUSE_ERR_TYPE);
    expect_numbers("a number that is no truth", &s, some);
    OK(lfuse_foreach_copy(stream, numbers.list, s.list));
    expect_numbers("truths as numbers", &numbers, some);
    OK(lfuse_foreach_zero(stream, s.list));
    expect_numbers("no truths", &s, none);
}

/* Results of another type are rounded once; a list may stand twice, and be the result at any place. */
TEST_ON_DEVICES(results, void)
{
    set a = set_make(LFUSE_F32, COUNT, 1, -4, 4), b = set_make(LFUSE_F32, COUNT, 2, -4, 4);
    const beside in[2] = {list_of(&a), list_of(&b)}, twice[2] = {list_of(&a), list_of(&a)};

    check("f32 into f16", f_add3, e_add3, LFUSE_F32, LFUSE_F16, in, 2, false);
    check("f32 into i32", f_mul, e_mul, LFUSE_F32, LFUSE_I32, in, 2, false);
    check("a list with itself", f_mul, e_mul, LFUSE_F32, LFUSE_F32, twice, 2, false);
    set wanted = set_make(LFUSE_F32, COUNT, 3, 0, 1);
    OK(lfuse_foreach_sub(stream, wanted.list, a.list, lfuse_operand_list(b.list), 1));
    OK(lfuse_foreach_sub(stream, b.list, a.list, lfuse_operand_list(b.list), 1));
    set_expect("into the second", &b, &wanted);
    OK(lfuse_foreach_mul(stream, wanted.list, a.list, lfuse_operand_list(a.list)));
    OK(lfuse_foreach_mul(stream, a.list, a.list, lfuse_operand_list(a.list)));
    set_expect("all three", &a, &wanted);
}

/* ---- counts ---- */

TEST_ON_DEVICES(any_count, void)
{
    static const int64_t counts[] = {0, 1, 3, 1000};
    double *numbers = new_memory(1000 * sizeof *numbers);

    for (int i = 0; i < 1000; i++) numbers[i] = 0.5 + i;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const int64_t n = counts[i];
        set a = set_make(LFUSE_F32, n, 1, -4, 4), b = set_make(LFUSE_F32, n, 2, -4, 4);
        double *x = set_read(&a), *y = set_read(&b);
        OK(lfuse_foreach_add(stream, a.list, a.list, lfuse_operand_list(b.list), 0.5));
        OK(lfuse_foreach_mul(stream, a.list, a.list, lfuse_operand_scalars(numbers, n)));
        OK(lfuse_foreach_mul(stream, b.list, b.list, lfuse_operand_scalar(3)));
        uint64_t before = launches();
        OK(lfuse_foreach_mul(stream, b.list, b.list, lfuse_operand_scalar(2)));
        ck_assert_uint_eq(launches() - before, n > 0);
        double *is = set_read(&a);
        for (int64_t m = 0; m < n; m++)
            for (int64_t k = 0; k < set_size(m); k++) {
                const volatile float half = (float)y[b.starts[m] + k] * 0.5f;
                const volatile float sum = (float)x[a.starts[m] + k] + half;
                const float wanted = sum * (float)numbers[m];
                ck_assert_msg(is[a.starts[m] + k] == (double)wanted, "%s: element %d of member %d is %.9g, not %.9g",
                              device_name, (int)k, (int)m, is[a.starts[m] + k], (double)wanted);
            }
    }
}

TEST_SUITE("run", CK_NOFORK)
