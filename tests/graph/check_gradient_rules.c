/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever takes and gives floating numbers has a rule: operators, reductions, scans and kinds of nodes, each table row
 * by row. What passes no gradient on is named here, so that a new row cannot do so by mistake.
 */
#include "common/graph/build.h"
#include "libfuse.h"
#include "tests/support/main.h"

static lfuse_graph *g;

static void setup(void)
{
    g = lfuse_graph_create();
    ck_assert_ptr_nonnull(g);
}

static void teardown(void) { lfuse_graph_destroy(g); }

/* Operands in which an operator is constant from step to step: roundings, exponents, thresholds; a shape alone. */
static const struct flat {
    lfuse__op op;
    int operand;
} flats[] = {
    {LFUSE__OP_sign, 0},       {LFUSE__OP_step, 0},      {LFUSE__OP_floor, 0}, {LFUSE__OP_ceil, 0},
    {LFUSE__OP_trunc, 0},      {LFUSE__OP_round, 0},     {LFUSE__OP_powi, 1},  {LFUSE__OP_threshold, 1},
    {LFUSE__OP_hardshrink, 1}, {LFUSE__OP_full_like, 0},
};

static bool is_flat(lfuse__op op, int operand)
{
    for (size_t i = 0; i < sizeof flats / sizeof *flats; i++)
        if (flats[i].op == op && flats[i].operand == operand) return true;
    return false;
}

/* Whether a gradient of y flows to x. */
static bool flows(lfuse_value y, lfuse_value x)
{
    lfuse_value d;
    lfuse_gradients(1, &y, NULL, LFUSE_GRADIENT_CONNECTED, 1, &x, &d);
    if (!lfuse_graph_check(g)) return true;
    SAYS(LFUSE_ERR_INVALID, lfuse_graph_check(g), "no output depends on wrt[0]");
    return false;
}

TEST_CASE("rules", .setup = setup, .teardown = teardown)

static const char *const names[] = {"a", "b", "c"};

TEST_LOOP(operators, 0, LFUSE__OP_COUNT)
{
    const lfuse__op op = (lfuse__op)_i;
    const lfuse__op_class klass = lfuse__ops[op].klass;
    if (klass != LFUSE__CLASS_NUMERIC && klass != LFUSE__CLASS_FLOATING && klass != LFUSE__CLASS_SELECT) return;
    for (int k = klass == LFUSE__CLASS_SELECT; k < lfuse__ops[op].arity; k++) {
        int32_t in[3] = {-1, -1, -1};
        teardown();
        setup();
        for (int i = 0; i < lfuse__ops[op].arity; i++)
            in[i] = lfuse_input(g, names[i], TYPED(klass == LFUSE__CLASS_SELECT && !i ? LFUSE_BOOL : LFUSE_F32, 3)).id;
        const lfuse_value y = lfuse__build_pointwise(g, lfuse__ops[op].name, op, in);
        OK(lfuse_graph_check(g));
        ck_assert_msg(flows(y, (lfuse_value){g, in[k]}) == !is_flat(op, k), "%s, operand %d", lfuse__ops[op].name, k);
    }
}

TEST_LOOP(reductions, 0, LFUSE__REDUCE_COUNT)
{
    const lfuse_value x = lfuse_input(g, "a", F32(2, 3));
    const lfuse_value y = lfuse__build_reduce(g, "y", (lfuse__reduce)_i, x.id, 1u << 1, false);
    lfuse_value d;
    if (lfuse__folds[_i].type != LFUSE__FOLD_INDEX) {
        ck_assert_msg(flows(y, x), "%s", lfuse__folds[_i].name);
        return;
    }
    lfuse_gradient(y, lfuse_none(), 1, &x, &d);
    ck_assert_int_lt(d.id, 0);
    SAYS(LFUSE_ERR_TYPE, lfuse_graph_check(g), "i64");
}

TEST_LOOP(scans, LFUSE__REDUCE_COUNT + 1, LFUSE__FOLD_COUNT)
{
    const lfuse_value x = lfuse_input(g, "a", F32(2, 3));
    ck_assert_msg(flows(lfuse__build_scan(g, "y", (lfuse__reduce)_i, x.id, 1), x), "%s", lfuse__folds[_i].name);
}

/* Of kinds of nodes those alone pass nothing on that have no operand or whose results are integers. */
TEST(kinds_of_nodes)
{
    static const struct {
        const char *kind, *rule;
    } kinds[] = {
#define LFUSE__NODE(kind, word, first, end, operands, axes, build, rule) {#kind, #rule},
#include "common/graph/nodes.def"
    };
    static const char *const without[] = {"INPUT", "FROZEN", "LIST", "SCALAR", "CONSTANT", "MEMBER_ELEMENTS", "EXTENT",
                                          "INDEX"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bool may = false;
        for (size_t k = 0; k < sizeof without / sizeof *without; k++) may |= !strcmp(kinds[i].kind, without[k]);
        ck_assert_msg(!strcmp(kinds[i].rule, "none") == may, "%s has the rule %s", kinds[i].kind, kinds[i].rule);
    }
}

/* There is no such function: a scan gets the number of a reduction, which none of the rules is for. */
TEST(a_function_without_a_rule_is_refused_by_name)
{
    const lfuse_value x = lfuse_input(g, "a", F32(2, 3)), y = lfuse_cumsum(x, 1);
    lfuse_value d;
    OK(lfuse_graph_check(g));
    g->nodes[y.id].op = LFUSE__REDUCE_MAX;
    lfuse_gradient(y, lfuse_none(), 1, &x, &d);
    ck_assert_int_lt(d.id, 0);
    SAYS(LFUSE_ERR_UNSUPPORTED, lfuse_graph_check(g), "lfuse_gradient: amax has no derivative");
}

TEST_SUITE("rules of gradients", CK_FORK_GETENV)
