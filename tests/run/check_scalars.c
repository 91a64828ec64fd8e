/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers beside tensors, on the stub and on devices: beside f16 and bf16 they take part in f32, in graphs as in
 * foreach functions, and nothing is rounded between functions, whatever is fused; beside integers comparisons are
 * exact, and what does not fit is refused before anything is launched.
 */
#include "bench/data.h"
#include "common/base/whole.h"
#include "common/graph/build.h"
#include "tests/run/sets.h"

enum { LENGTH = 40, MOST_BOUND = 24 };

/* ---- tensors of one length, by name ---- */

typedef struct bound {
    char name[16];
    lfuse_type type;
    lfuse_tensor *tensor;
} bound;

typedef struct bench {
    lfuse_graph *g;
    int count;
    bound all[MOST_BOUND];
} bench;

static bound *add_tensor(bench *b, const char *name, lfuse_type type, int rank)
{
    const int64_t shape[1] = {LENGTH};
    bound *one = &b->all[b->count++];

    ck_assert_int_le(b->count, MOST_BOUND);
    snprintf(one->name, sizeof one->name, "%s", name);
    one->type = type;
    one->tensor = new_tensor(device, type, rank, shape);
    return one;
}

/* An input that holds these numbers, the last one all along. */
static lfuse_value given(bench *b, const char *name, lfuse_type type, int rank, const double *numbers, int count)
{
    const lfuse_size shape[1] = {LENGTH};
    const bound *one = add_tensor(b, name, type, rank);
    char host[LENGTH * 8];

    for (int i = 0; i < (rank ? LENGTH : 1); i++)
        lfuse__data_put(type, host, i, numbers[i < count ? i : count - 1]);
    OK(lfuse_tensor_write(one->tensor, NULL, host));
    return lfuse_input(b->g, name, type, rank, shape);
}

static void wanted(bench *b, const char *name, lfuse_value v)
{
    ck_assert_msg(lfuse_graph_check(b->g) == LFUSE_OK, "%s: %s: %s", device_name, name, lfuse_last_error());
    add_tensor(b, name, (lfuse_type)b->g->nodes[v.id].type, b->g->nodes[v.id].rank);
    lfuse_output(b->g, name, v);
}

static void read(const bench *b, const char *name, void *host)
{
    OK(lfuse_stream_synchronize(stream));
    for (int i = 0; i < b->count; i++)
        if (!strcmp(b->all[i].name, name)) OK(lfuse_tensor_read(b->all[i].tensor, NULL, host));
}

static lfuse_status run_with(bench *b, unsigned disable, const char *scalar, double number)
{
    const lfuse_plan_options options = {.disable = disable};
    lfuse_binding bindings[MOST_BOUND + 1];
    int i;

    for (i = 0; i < b->count; i++) bindings[i] = BIND(b->all[i].name, b->all[i].tensor);
    if (scalar) bindings[i++] = lfuse_bind_scalar(scalar, number);
    lfuse_plan *plan = new_plan(device, b->g, &options);
    lfuse_status status = lfuse_plan_run(plan, stream, bindings, i);
    return status;
}

static bench bench_make(void)
{
    return (bench){.g = new_graph()};
}

/* ---- every operator, beside 16 bits ---- */

static const double elements[] = {0, -0.0, 1, -1, 0.01, -0.01, 60000, -60000, 3, -2.5, 1e-4, 0.333, 6e-8, 100, -7};
static const double numbers[] = {0.1, 1e5, 1e-8};

enum { CONSTANT, SCALAR, TENSOR, FORMS };

static bool applies(lfuse__op op)
{
    const lfuse__op_class klass = lfuse__ops[op].klass;

    return lfuse__ops[op].arity > 1 && op != LFUSE__OP_full_like &&
           (klass == LFUSE__CLASS_NUMERIC || klass == LFUSE__CLASS_FLOATING || klass == LFUSE__CLASS_COMPARE ||
            klass == LFUSE__CLASS_SELECT);
}

/* Of `x`, with the number where the bits of `mask` are. */
static lfuse_value apply(lfuse_graph *g, lfuse__op op, lfuse_value x, lfuse_value condition, lfuse_value number,
                         int mask)
{
    int32_t in[3] = {-1, -1, -1};

    for (int i = 0; i < lfuse__ops[op].arity; i++) in[i] = mask >> i & 1 ? number.id : x.id;
    if (lfuse__ops[op].klass == LFUSE__CLASS_SELECT) in[0] = condition.id;
    return lfuse__build_pointwise(g, "test", op, in);
}

static void same_bits(const bench *b, int i, const char *what, double number)
{
    char is[LENGTH * 8], as[LENGTH * 8], name[2][16];
    const bound *one = NULL;

    snprintf(name[0], sizeof name[0], "is%d", i);
    snprintf(name[1], sizeof name[1], "as%d", i);
    for (int k = 0; k < b->count; k++)
        if (!strcmp(b->all[k].name, name[0])) one = &b->all[k];
    read(b, name[0], is);
    read(b, name[1], as);
    for (int k = 0; k < LENGTH; k++) {
        const double x = lfuse__data_get(one->type, is, k), y = lfuse__data_get(one->type, as, k);
        ck_assert_msg(isnan(x) ? isnan(y) : !memcmp(&x, &y, sizeof x), "%s: %s with %g: element %d is %.9g, not %.9g",
                      device_name, what, number, k, x, y);
    }
}

/* Several functions at a time: each as it is, and in f32 with one rounding, spelled out. */
typedef struct batch {
    bench b;
    int count, form;
    lfuse_type type;
    lfuse_value x, wide, condition, number;
    char what[8][96];
} batch;

static void begin(batch *t, lfuse_type type, int form)
{
    *t = (batch){.b = bench_make(), .form = form, .type = type};
    t->x = given(&t->b, "x", type, 1, elements, (int)(sizeof elements / sizeof *elements));
    t->wide = lfuse_cast(t->x, LFUSE_F32);
    t->condition = lfuse_gt(t->wide, lfuse_constant(t->b.g, 0.5));
    t->number = form == CONSTANT ? lfuse_constant(t->b.g, numbers[0])
                : form == SCALAR ? lfuse_scalar(t->b.g, "s")
                                 : given(&t->b, "t", LFUSE_F32, 0, numbers, 1);
}

static void finish(batch *t)
{
    const int values = t->form == CONSTANT ? 1 : (int)(sizeof numbers / sizeof *numbers);

    for (int v = 0; v < values && t->count; v++) {
        float f = (float)numbers[v];
        for (int k = 0; k < t->b.count; k++)
            if (!strcmp(t->b.all[k].name, "t")) OK(lfuse_tensor_write(t->b.all[k].tensor, NULL, &f));
        OK(run_with(&t->b, 0, t->form == SCALAR ? "s" : NULL, numbers[v]));
        for (int i = 0; i < t->count; i++) same_bits(&t->b, i, t->what[i], numbers[v]);
    }
}

static void add_function(batch *t, lfuse__op op, int mask)
{
    char name[16];
    lfuse_value v = apply(t->b.g, op, t->wide, t->condition, t->number, mask);

    if (lfuse__is_floating((lfuse_type)t->b.g->nodes[v.id].type)) v = lfuse_cast(v, t->type);
    snprintf(name, sizeof name, "as%d", t->count);
    wanted(&t->b, name, v);
    snprintf(name, sizeof name, "is%d", t->count);
    wanted(&t->b, name, apply(t->b.g, op, t->x, t->condition, t->number, mask));
    snprintf(t->what[t->count++], sizeof *t->what, "%s of %s, operands %d", lfuse__ops[op].name,
             lfuse_type_name(t->type), mask);
}

/* Drivers that compile at the first launch have a third of the functions, the stub's two forms half of them each. */
static bool in_turn(int n)
{
    const lfuse__facts *facts = lfuse__device_facts(device);

    if (test_all() || facts->info.kind != LFUSE_DEVICE_CPU) return true;
    return facts->compiles_at_launch ? n % 3 == 0 : n % 2 == (facts->vector_lanes ? 1 : 0);
}

TEST_CASE("scalars")

TEST_ON_DEVICES(every_function_beside_16_bits, void)
{
    static const lfuse_type types[] = {LFUSE_F16, LFUSE_BF16};
    int n = 0, made = 0;

    for (int k = 0; k < 2; k++) {
        for (int form = 0; form < FORMS; form++) {
            batch t;
            begin(&t, types[k], form);
            for (int op = 0; op < LFUSE__OP_COUNT; op++) {
                const int first = lfuse__ops[op].klass == LFUSE__CLASS_SELECT;
                for (int mask = 1 + first; applies((lfuse__op)op) && mask < (1 << lfuse__ops[op].arity) - 1; mask++) {
                    if ((first && (mask & 1 || mask == 6)) || n++ % FORMS != form || !in_turn(n / FORMS)) continue;
                    add_function(&t, (lfuse__op)op, mask);
                    made++;
                    if (t.count < 6) continue;
                    finish(&t);
                    begin(&t, types[k], form);
                }
            }
            finish(&t);
        }
    }
    ck_assert_int_gt(made, 30);
}

/* ---- numbers that 16 bits do not hold ---- */

static double first_of(const bench *b, const char *name, lfuse_type type)
{
    char host[LENGTH * 8];

    read(b, name, host);
    return lfuse__data_get(type, host, 0);
}

static void known_of(lfuse_type type, unsigned disable)
{
    static const double hundredth = 0.01, large = 60000, minus = -3;
    bench b = bench_make();
    const lfuse_value x = given(&b, "x", type, 1, &hundredth, 1), y = given(&b, "y", type, 1, &large, 1),
                      m = given(&b, "m", type, 1, &minus, 1);
    const double a = first_of(&b, "x", type), c = first_of(&b, "y", type);
    char host[8];

    wanted(&b, "p", lfuse_mul(x, lfuse_constant(b.g, 1e5)));
    wanted(&b, "q", lfuse_mul(y, lfuse_constant(b.g, 1e-8)));
    wanted(&b, "r", lfuse_leaky_relu(m, lfuse_constant(b.g, 0.01)));
    wanted(&b, "t", lfuse_threshold(x, lfuse_constant(b.g, a + 1e-7), lfuse_constant(b.g, -1)));
    OK(run_with(&b, disable, NULL, 0));
    lfuse__data_put(type, host, 0, (float)((float)a * 1e5f));
    ck_assert_double_eq(first_of(&b, "p", type), lfuse__data_get(type, host, 0));
    lfuse__data_put(type, host, 0, (float)c * 1e-8f);
    ck_assert_double_eq(first_of(&b, "q", type), lfuse__data_get(type, host, 0));
    ck_assert_double_gt(lfuse__data_get(type, host, 0), 5.9e-4);
    lfuse__data_put(type, host, 0, -3.0f * 0.01f);
    ck_assert_double_eq(first_of(&b, "r", type), lfuse__data_get(type, host, 0));
    ck_assert_double_eq(first_of(&b, "t", type), -1); /* the threshold is above x, if by less than 16 bits show */
}

TEST_ON_DEVICES(numbers_that_16_bits_do_not_hold, void)
{
    known_of(LFUSE_F16, 0);
    known_of(LFUSE_F16, LFUSE_NO_FUSION);
    known_of(LFUSE_BF16, 0);
}

/* ---- what is fused, and what is not ---- */

/* Between functions nothing is rounded: 1e-8 and the square of 6e-8 are 0 in f16. Also beside results and products. */
static void chains(bench *b, lfuse_type type)
{
    const lfuse_value a = given(b, "x", type, 1, elements, (int)(sizeof elements / sizeof *elements));
    const lfuse_value tiny = lfuse_constant(b->g, 1e-8);
    const lfuse_value size = lfuse_add(lfuse_sqrt(lfuse_mul(a, a)), tiny);
    const lfuse_value root = lfuse_sqrt(lfuse_add(lfuse_mul(a, a), lfuse_mul(tiny, tiny)));
    const lfuse_value matrix = lfuse_reshape(size, SHAPE(5, 8));
    const lfuse_value turned = lfuse_permute(matrix, (const int[]){1, 0});

    wanted(b, "is0", lfuse_div(a, size));
    wanted(b, "is1", lfuse_div(a, root));
    wanted(b, "is2", size);
    wanted(b, "is3", lfuse_div(a, lfuse_reshape(turned, SHAPE(LENGTH))));
    wanted(b, "is4", lfuse_mul(lfuse_div(a, lfuse_add(root, lfuse_abs(size))), tiny));
}

static void chains_of(lfuse_type type, unsigned disable)
{
    bench b[2] = {bench_make(), bench_make()};

    for (int k = 0; k < 2; k++) {
        chains(&b[k], type);
        OK(run_with(&b[k], k ? disable : 0, NULL, 0));
    }
    for (int i = 0; i < 5; i++) {
        char name[16], is[LENGTH * 8], as[LENGTH * 8];
        snprintf(name, sizeof name, "is%d", i);
        read(&b[0], name, is);
        read(&b[1], name, as);
        for (int k = 0; k < LENGTH; k++) {
            const double x = lfuse__data_get(type, is, k), y = lfuse__data_get(type, as, k);
            ck_assert_msg(!memcmp(&x, &y, sizeof x), "%s: %s %s: element %d of %g is %.9g fused and %.9g without %u",
                          device_name, lfuse_type_name(type), name, k, elements[k % 15], x, y, disable);
            ck_assert_msg(!isnan(x), "%s: %s: element %d is NaN", device_name, name, k);
        }
    }
    ck_assert_double_eq(first_of(&b[0], "is0", type), 0);
}

TEST_ON_DEVICES(fusion_rounds_nothing, void)
{
    chains_of(LFUSE_F16, LFUSE_NO_FUSION);
    chains_of(LFUSE_F16, LFUSE_NO_POINTWISE_FUSION);
    chains_of(LFUSE_BF16, LFUSE_NO_FUSION);
}

/* ---- foreach functions and graphs ---- */

TEST_ON_DEVICES(foreach_functions_and_graphs_agree, void)
{
    static const struct {
        const char *name;
        double number;
    } rows[] = {{"add", 1e-3}, {"mul", 1e5}, {"div", 1e-6}, {"max", 0.1}, {"pow", 1.1}, {"lerp", 0.3}, {"fill", 0.7}};

    for (int k = 0; k < 2; k++) {
        const lfuse_type type = k ? LFUSE_BF16 : LFUSE_F16;
        bench b = bench_make();
        const lfuse_value x = given(&b, "x", type, 1, elements, (int)(sizeof elements / sizeof *elements));
        lfuse_tensor *source = b.all[0].tensor;
        lfuse_list *from = new_list(device, type, 1, &source);
        for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
            const lfuse_value c = lfuse_constant(b.g, rows[i].number);
            const lfuse_operand n = lfuse_operand_scalar(rows[i].number);
            char name[16];
            lfuse_value v;
            snprintf(name, sizeof name, "as%d", i);
            add_tensor(&b, name, type, 1);
            lfuse_tensor *target = b.all[b.count - 1].tensor;
            lfuse_list *to = new_list(device, type, 1, &target);
            switch (i) {
            case 0: v = lfuse_add(x, c); OK(lfuse_foreach_add(stream, to, from, n, 1)); break;
            case 1: v = lfuse_mul(x, c); OK(lfuse_foreach_mul(stream, to, from, n)); break;
            case 2: v = lfuse_div(x, c); OK(lfuse_foreach_div(stream, to, from, n)); break;
            case 3: v = lfuse_max(x, c); OK(lfuse_foreach_maximum(stream, to, from, n)); break;
            case 4: v = lfuse_pow(x, c); OK(lfuse_foreach_pow(stream, to, lfuse_operand_list(from), n)); break;
            case 5: v = lfuse_lerp(x, lfuse_neg(x), c); break;
            default: v = lfuse_full_like(x, c); OK(lfuse_foreach_fill(stream, to, n)); break;
            }
            if (i == 5) { /* by the list of -x */
                OK(lfuse_foreach_neg(stream, to, from));
                OK(lfuse_foreach_lerp(stream, to, from, to, n));
            }
            snprintf(name, sizeof name, "is%d", i);
            wanted(&b, name, v);
        }
        /* What the foreach functions wrote is no name of the graph. */
        bench own = {.g = b.g};
        for (int i = 0; i < b.count; i++)
            if (strncmp(b.all[i].name, "as", 2)) own.all[own.count++] = b.all[i];
        OK(run_with(&own, 0, NULL, 0));
        for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) same_bits(&b, i, rows[i].name, rows[i].number);
    }
}

/* ---- integers ---- */

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

static void comparisons_of(lfuse_type type)
{
    static const lfuse__op ops[] = {LFUSE__OP_eq, LFUSE__OP_ne, LFUSE__OP_lt, LFUSE__OP_le, LFUSE__OP_gt, LFUSE__OP_ge};
    const double low = (double)lfuse__lowest(type), high = (double)lfuse__highest(type);
    const double all[] = {2.5, 2, 0, -0.5, low, low - 1, low - 0.5, high, high + 1, high - 0.5,
                          nextafter(high, INFINITY), 3e9, -3e9, 1e300, INFINITY, -INFINITY, NAN};
    const int64_t edge[] = {0, 1, 2, 3, lfuse__lowest(type), lfuse__highest(type), lfuse__highest(type) - 1};
    const int count = (int)(sizeof edge / sizeof *edge);
    const lfuse_size shape[1] = {LENGTH};
    bench b = bench_make();
    const bound *one = add_tensor(&b, "x", type, 1);
    const lfuse_value x = lfuse_input(b.g, "x", type, 1, shape), s = lfuse_scalar(b.g, "s");
    char host[LENGTH * 8], name[4];
    uint8_t is[LENGTH];

    for (int i = 0; i < LENGTH; i++)
        memcpy(host + (size_t)i * lfuse_type_size(type), &edge[i % count], lfuse_type_size(type));
    OK(lfuse_tensor_write(one->tensor, NULL, host));
    for (int op = 0; op < 6; op++) {
        const int32_t in[3] = {x.id, s.id, -1};
        snprintf(name, sizeof name, "o%d", op);
        wanted(&b, name, lfuse__build_pointwise(b.g, "test", ops[op], in));
    }
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        OK(run_with(&b, 0, "s", all[n]));
        for (int op = 0; op < 6; op++) {
            snprintf(name, sizeof name, "o%d", op);
            read(&b, name, is);
            for (int i = 0; i < LENGTH; i++)
                ck_assert_msg(is[i] == compared(op, edge[i % count], all[n]), "%s: %s: %" PRId64 " %s %.17g is %d",
                              device_name, lfuse_type_name(type), edge[i % count], lfuse__ops[ops[op]].name, all[n],
                              is[i]);
        }
    }
}

TEST_ON_DEVICES(comparisons_of_integers_are_exact, void)
{
    static const lfuse_type types[] = {LFUSE_I32, LFUSE_U8, LFUSE_I64, LFUSE_I8};

    for (int i = 0; i < 4; i++) comparisons_of(types[i]);
}

/* A run that is refused says which number it was, launches nothing, and is as if it had not been. */
static void refused_of(lfuse_type type, double number, const char *words)
{
    static const double three = 3;
    bench b = bench_make();
    const lfuse_value x = given(&b, "x", type, 1, &three, 1);
    lfuse_binding bindings[3];

    wanted(&b, "y", lfuse_add(lfuse_mul(x, lfuse_scalar(b.g, "factor")), lfuse_constant(b.g, 1)));
    lfuse_plan *plan = new_plan(device, b.g, NULL);
    for (int i = 0; i < 2; i++) bindings[i] = BIND(b.all[i].name, b.all[i].tensor);
    bindings[2] = lfuse_bind_scalar("factor", 2);
    OK(lfuse_plan_run(plan, stream, bindings, 3));
    for (int again = 0; again < 2; again++) {
        bindings[2] = lfuse_bind_scalar("factor", number);
        uint64_t before = launches();
        SAYS(LFUSE_ERR_TYPE, lfuse_plan_run(plan, stream, bindings, 3), words);
        ck_assert_uint_eq(launches(), before);
        ck_assert_double_eq(first_of(&b, "y", type), 7 - 3 * again);
        bindings[2] = lfuse_bind_scalar("factor", 1);
        OK(lfuse_plan_run(plan, stream, bindings, 3));
        ck_assert_double_eq(first_of(&b, "y", type), 4);
    }
}

static void foreach_refused(lfuse_type type, double number)
{
    static const double three = 3;
    bench b = bench_make();

    given(&b, "x", type, 1, &three, 1);
    lfuse_list *list = new_list(device, type, 1, &b.all[0].tensor);
    OK(lfuse_foreach_mul(stream, list, list, lfuse_operand_scalar(2)));
    const uint64_t before = launches();
    SAYS(LFUSE_ERR_TYPE, lfuse_foreach_mul(stream, list, list, lfuse_operand_scalar(number)), "the number b is");
    SAYS(LFUSE_ERR_TYPE, lfuse_foreach_mul(stream, list, list, lfuse_operand_scalars(&number, 1)), "number 0 of b is");
    lfuse_tensor *zero = new_tensor(device, LFUSE_F32, 0, NULL);
    SAYS(LFUSE_ERR_TYPE, lfuse_foreach_mul(stream, list, list, lfuse_operand_tensor(zero)), "b is of type f32");
    ck_assert_uint_eq(launches(), before);
    ck_assert_double_eq(first_of(&b, "x", type), 6);
    OK(lfuse_foreach_mul(stream, list, list, lfuse_operand_scalars(&three, 1)));
    ck_assert_double_eq(first_of(&b, "x", type), 18);
}

TEST_ON_DEVICES(numbers_that_integers_cannot_hold_are_refused, void)
{
    refused_of(LFUSE_I32, 2.5, "the number factor is 2.5, which i32 cannot hold");
    refused_of(LFUSE_U8, -1, "the number factor is -1, which u8 cannot hold");
    refused_of(LFUSE_I64, NAN, "the number factor is nan, which i64 cannot hold");
    refused_of(LFUSE_I32, 3e9, "the number factor is 3000000000, which i32 cannot hold");
    foreach_refused(LFUSE_I32, 2.5);
    foreach_refused(LFUSE_U8, -1);
}

TEST_SUITE("scalars", CK_NOFORK)
