/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers beside tensors: every integer type, every operator, and the numbers at the edges. The oracle evaluates. */
#include "bench/oracle.h"
#include "common/base/whole.h"
#include "common/graph/graph.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

enum { NUMBERS = 24, ELEMENTS = 7 };
static const lfuse_type types[] = {LFUSE_I8, LFUSE_U8, LFUSE_I32, LFUSE_I64, LFUSE_BOOL};
enum { TYPES = sizeof types / sizeof *types, INTEGERS = TYPES - 1 };

/* Around both ends of a type and around 0, then what no integer is. */
static void edges(lfuse_type type, double *numbers)
{
    const double low = (double)lfuse__lowest(type), high = (double)lfuse__highest(type);
    const double all[NUMBERS] = {
        0, -0.0, 1, -1, 0.5, -0.5, 2, 2.5, low, low - 1, low - 0.5, low + 0.5, nextafter(low, -INFINITY), high,
        high + 1, high + 0.5, high - 0.5, nextafter(high, INFINITY), nextafter(high, 0), 3e9, -1e300, INFINITY,
        -INFINITY, NAN,
    };

    memcpy(numbers, all, sizeof all);
}

/* Exactly, in long double, which has 64 bits. */
static bool held(lfuse_type type, double number)
{
    const long double x = number;

    return x >= (long double)lfuse__lowest(type) && x <= (long double)lfuse__highest(type) && x == truncl(x);
}

static void elements_of(lfuse_type type, int64_t *elements)
{
    const int64_t low = lfuse__lowest(type), high = lfuse__highest(type);
    const int64_t all[ELEMENTS] = {low, low + 1, 0, 1, high > 1 ? 2 : 1, high - 1, high};

    memcpy(elements, all, sizeof all);
}

static void put(lfuse_type type, void *to, const int64_t *elements)
{
    const size_t size = lfuse_type_size(type);

    for (int i = 0; i < ELEMENTS; i++) memcpy((char *)to + (size_t)i * size, &elements[i], size); /* little endian */
}

static lfuse_value apply(int op, lfuse_value a, lfuse_value b)
{
    switch (op) {
    case 0: return lfuse_eq(a, b);
    case 1: return lfuse_ne(a, b);
    case 2: return lfuse_lt(a, b);
    case 3: return lfuse_le(a, b);
    case 4: return lfuse_gt(a, b);
    default: return lfuse_ge(a, b);
    }
}

static bool compared(int op, long double a, long double b)
{
    switch (op) {
    case 0: return a == b;
    case 1: return a != b;
    case 2: return a < b;
    case 3: return a <= b;
    case 4: return a > b;
    default: return a >= b;
    }
}

/* A number that the graph fixes, one of the run, and one that is computed of a number of the run. */
enum { CONSTANT, SCALAR, COMPUTED, FORMS };

static lfuse_value number_of(lfuse_graph *g, int form, double number)
{
    if (form == CONSTANT) return lfuse_constant(g, number);
    lfuse_value s = lfuse_scalar(g, "s");
    return form == SCALAR ? s : lfuse_neg(s);
}

static void check_comparisons(lfuse_type type, double number, int form)
{
    static const char *const names[12] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"};
    const int ops = type == LFUSE_BOOL ? 2 : 6;
    lfuse_graph *g = new_graph(), *canonical;
    const lfuse_value x = lfuse_input(g, "x", TYPED(type, ELEMENTS));
    const lfuse_value v = number_of(g, form, number);
    char memory[ELEMENTS * 8];
    int64_t elements[ELEMENTS];
    lfuse__oracle_run run;

    elements_of(type, elements);
    put(type, memory, elements);
    for (int op = 0; op < ops; op++) {
        lfuse_output(g, names[op], apply(op, x, v));
        lfuse_output(g, names[6 + op], apply(op, v, x));
    }
    const lfuse__oracle_input inputs[2] = {
        {.name = "x", .data = memory, .shape = {ELEMENTS}},
        {.name = "s", .number = form == COMPUTED ? -number : number},
    };
    OK(lfuse__graph_canonical(g, &canonical));
    OK(lfuse__oracle_run_graph(canonical, inputs, form == CONSTANT ? 1 : 2, NULL, &run));
    for (int op = 0; op < ops; op++)
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < ELEMENTS; i++) {
                const lfuse__oracle_result *r = lfuse__oracle_find(&run, names[6 * side + op]);
                const long double a = elements[i], b = number;
                ck_assert_msg(r->bound[i] == 0 && r->value[i] == (side ? compared(op, b, a) : compared(op, a, b)),
                              "%s: comparison %d, side %d, form %d: %lld and %.17g give %.0Lf", lfuse_type_name(type),
                              op, side, form, (long long)elements[i], number, r->value[i]);
            }
    lfuse__oracle_free(&run);
    drop(canonical);
}

TEST_CASE("adopt")

TEST(comparisons_are_exact)
{
    double numbers[NUMBERS];

    for (int t = 0; t < TYPES; t++) {
        edges(types[t], numbers);
        for (int i = 0; i < NUMBERS; i++)
            for (int form = 0; form < FORMS; form++) check_comparisons(types[t], numbers[i], form);
    }
}

/* ---- what is refused ---- */

static lfuse_value build(lfuse_graph *g, lfuse__op op, lfuse_value x, lfuse_value v, int at)
{
    lfuse_value in[3] = {x, x, x};

    if (lfuse__ops[op].klass == LFUSE__CLASS_SELECT) in[0] = lfuse_input(g, "c", LFUSE_BOOL, 0, NULL);
    in[at] = v;
    switch (op) {
#define CALL_1(name) lfuse_##name(in[0])
#define CALL_2(name) lfuse_##name(in[0], in[1])
#define CALL_3(name) lfuse_##name(in[0], in[1], in[2])
#define LFUSE__OP(name, arity, ...)                                                                                    \
    case LFUSE__OP_##name: return CALL_##arity(name);
#include "common/graph/ops.def"
#undef LFUSE__OP
    case LFUSE__OP_COUNT: break;
    }
    return x;
}

static bool takes_numbers(lfuse__op op, lfuse_type type, int at)
{
    const lfuse__op_class klass = lfuse__ops[op].klass;

    if (lfuse__ops[op].arity < 2 || klass == LFUSE__CLASS_COMPARE || !lfuse__op_takes(op, type)) return false;
    if (op == LFUSE__OP_powi && at == 0) return false; /* the power of a number is f64 */
    return klass != LFUSE__CLASS_SELECT || at > 0;
}

/* Refused as a power, whatever the type can hold. */
static bool negative_power(lfuse__op op, int at, double number)
{
    return (op == LFUSE__OP_pow || op == LFUSE__OP_powi) && at == 1 && number < 0;
}

/* A fixed number: refused with operand, number and type; one of the run: only the run can tell. */
static void check_number(lfuse__op op, lfuse_type type, int at, double number)
{
    char call[64], value[64];

    for (int form = 0; form < FORMS; form++) {
        lfuse_graph *g = new_graph(), *canonical;
        const lfuse_value x = lfuse_input(g, "x", TYPED(type, ELEMENTS));
        const double scalar[8] = {0, form == COMPUTED ? -number : number, form == COMPUTED ? -number : number};
        int checked = 0;
        lfuse_output(g, "y", build(g, op, x, number_of(g, form, number), at));
        if (form == CONSTANT && negative_power(op, at, number)) {
            SAYS(LFUSE_ERR_INVALID, lfuse_graph_check(g), " to the power of -");
            drop(g);
            continue;
        }
        if (form == CONSTANT && !held(type, number)) {
            snprintf(call, sizeof call, "lfuse_%s: ", lfuse__ops[op].name);
            snprintf(value, sizeof value, ", a number that %s cannot hold", lfuse_type_name(type));
            SAYS(LFUSE_ERR_TYPE, lfuse_graph_check(g), call);
            ck_says(value);
            drop(g);
            continue;
        }
        ck_assert_msg(lfuse_graph_check(g) == LFUSE_OK, "%.17g: %s", number, lfuse_last_error());
        OK(lfuse__graph_canonical(g, &canonical));
        for (int32_t i = 0; i < canonical->nnodes; i++) {
            const lfuse__node *n = &canonical->nodes[i];
            if (n->kind != LFUSE__CAST || n->op != LFUSE__CAST_CHECKED) continue;
            checked++;
            ck_assert_int_eq(lfuse__graph_check_number(canonical, i, scalar, NULL) == LFUSE_OK, held(type, number));
        }
        ck_assert_int_eq(checked, form != CONSTANT && op != LFUSE__OP_full_like ? 1 : form != CONSTANT);
        drop(canonical);
    }
}

TEST_LOOP(numbers_that_do_not_fit_are_refused, 0, LFUSE__OP_COUNT)
{
    double numbers[NUMBERS];

    for (int t = 0; t < TYPES; t++) {
        edges(types[t], numbers);
        for (int at = 0; at < lfuse__ops[_i].arity; at++)
            for (int i = 0; i < NUMBERS && takes_numbers((lfuse__op)_i, types[t], at); i++)
                if (_i != LFUSE__OP_full_like || at == 1) check_number((lfuse__op)_i, types[t], at, numbers[i]);
    }
}

#define REFUSED(g, make, words)                                                                                        \
    do {                                                                                                               \
        lfuse_graph *g = lfuse_graph_create();                                                                         \
        const lfuse_value i = lfuse_input(g, "i", LFUSE_I32, 1, LFUSE_DIMS(4)),                                        \
                          u = lfuse_input(g, "u", LFUSE_U8, 1, LFUSE_DIMS(4)),                                         \
                          b = lfuse_input(g, "b", LFUSE_BOOL, 1, LFUSE_DIMS(4)),                                       \
                          l = lfuse_input(g, "l", LFUSE_I64, 1, LFUSE_DIMS(4)),                                        \
                          zero = lfuse_input(g, "zero", LFUSE_F32, 0, NULL);                                           \
        (void)i, (void)u, (void)b, (void)l, (void)zero;                                                                \
        make;                                                                                                          \
        ck_assert_int_eq(lfuse_graph_check(g), LFUSE_ERR_TYPE);                                                        \
        ck_assert_msg(strstr(lfuse_last_error(), words), "%s", lfuse_last_error());                                    \
        lfuse_graph_destroy(g);                                                                                        \
    } while (0)

TEST(refusals_name_operand_and_number)
{
    REFUSED(g, lfuse_add(i, lfuse_constant(g, 2.5)), "lfuse_add: b is 2.5, a number that i32 cannot hold");
    REFUSED(g, lfuse_add(lfuse_constant(g, -1), u), "lfuse_add: a is -1, a number that u8 cannot hold");
    REFUSED(g, lfuse_mul(i, lfuse_constant(g, NAN)), "lfuse_mul: b is nan, a number that i32 cannot hold");
    REFUSED(g, lfuse_clamp(i, lfuse_constant(g, 0), lfuse_constant(g, 3e9)), "high is 3000000000, a number that i32");
    REFUSED(g, lfuse_where(lfuse_constant(g, 2), i, i), "condition is 2, a number that bool cannot hold");
    REFUSED(g, lfuse_add(i, lfuse_add(lfuse_constant(g, 1), lfuse_constant(g, 0.25))), "b is 1.25");
    REFUSED(g, lfuse_update(i, lfuse_constant(g, 0.5)), "lfuse_update: value is 0.5");
    REFUSED(g, lfuse_pad(u, NULL, LFUSE_DIMS(1), -1), "lfuse_pad: number is -1, a number that u8");
    REFUSED(g, lfuse_add(i, zero), "b is of type f32, not all of whose numbers i32 can hold: cast it");
    REFUSED(g, lfuse_add(u, lfuse_constant_i64(g, INT64_MAX)), "b is of type i64, not all of whose numbers u8");
    REFUSED(g, lfuse_lt(l, zero), "no type holds all numbers of both i64 and f32: cast one");
}

/* Truncated and saturated, as any floating number: that is what was asked for. */
TEST(casts_cut_off)
{
    lfuse_graph *g = new_graph();
    const lfuse_value x = lfuse_input(g, "x", LFUSE_U8, 0, NULL);

    lfuse_output(g, "y", lfuse_add(x, lfuse_cast(lfuse_constant(g, -2.5), LFUSE_U8)));
    lfuse_output(g, "z", lfuse_add(x, lfuse_cast(lfuse_scalar(g, "s"), LFUSE_U8)));
    OK(lfuse_graph_check(g));
    for (int32_t i = 0; i < g->nnodes; i++)
        ck_assert(g->nodes[i].kind != LFUSE__CAST || g->nodes[i].op != LFUSE__CAST_CHECKED);
}

/* ---- integers of 64 bits ---- */

TEST(constants_of_64_bits)
{
    static const int64_t all[] = {0, 1, -1, INT64_C(1) << 53, (INT64_C(1) << 53) + 1, -(INT64_C(1) << 53) - 1,
                                  INT64_C(1) << 60, (INT64_C(1) << 60) + 1, INT64_MAX, INT64_MAX - 1, INT64_MIN,
                                  INT64_MIN + 1, -4294967297, INT64_C(0x123456789abcdef1)};
    lfuse__oracle_run run;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        lfuse_graph *g = new_graph();
        const lfuse_value x = lfuse_input(g, "x", LFUSE_I64, 0, NULL);
        const lfuse_value k = lfuse_input(g, "k", I32(1));
        const int64_t zero = 0;
        lfuse_output(g, "y", lfuse_add(x, lfuse_constant_i64(g, all[i])));
        lfuse_output(g, "less", lfuse_lt(k, lfuse_constant_i64(g, all[i])));
        const lfuse__oracle_input in[2] = {{.name = "x", .data = &zero}, {.name = "k", .data = &zero, .shape = {1}}};
        OK(lfuse__oracle_run_graph(g, in, 2, NULL, &run));
        ck_assert(lfuse__oracle_find(&run, "y")->value[0] == (long double)all[i]);
        ck_assert(lfuse__oracle_find(&run, "y")->bound[0] == 0);
        ck_assert_int_eq((int)lfuse__oracle_find(&run, "less")->value[0], 0 < all[i]);
        lfuse__oracle_free(&run);
    }
    ck_assert_int_lt(lfuse_constant_i64(NULL, INT64_MAX).id, 0);
    ck_assert_int_lt(lfuse_constant_i64(NULL, 1).id, 0);
}

TEST_SUITE("adopt", CK_FORK_GETENV)
