/* SPDX-License-Identifier: Apache-2.0 */
/* What rules as graph functions refuse: messages name the value. */
#include "tests/optim/rig.h"

/* A graph with one parameter of SHAPE, its gradient and AdamW's states, to be spoiled. */
typedef struct one {
    lfuse_graph *g;
    lfuse_value states[LFUSE_RULE_STATES];
    lfuse_rule_values values;
} one;

static const lfuse_size shape[] = { 6, 4 };

static one one_of(void)
{
    one x = { .g = new_graph() };

    x.values.parameter = lfuse_input(x.g, "p", LFUSE_F32, 2, shape);
    x.values.gradient = lfuse_input(x.g, "g", LFUSE_F32, 2, shape);
    x.states[0] = lfuse_input(x.g, "exp_avg", LFUSE_F32, 2, shape);
    x.states[1] = lfuse_input(x.g, "exp_avg_sq", LFUSE_F32, 2, shape);
    x.values.state_count = 2;
    x.values.t = lfuse_scalar(x.g, "t");
    return x;
}

static void refused(one *x, lfuse_rule rule, unsigned switches, lfuse_status status, const char *says)
{
    if (!x->values.states) x->values.states = x->states;
    const lfuse_value fresh = lfuse_rule_update(rule, switches, &x->values);
    ck_assert_int_lt(fresh.id, 0);
    SAYS(status, lfuse_graph_check(x->g), "lfuse_rule_update");
    ck_says(says);
}

/* Spoils one of a good call, which has to be refused with a message. */
#define REFUSED(status, says, rule, switches, spoil)                                                                   \
    do {                                                                                                               \
        one x = one_of();                                                                                              \
        spoil;                                                                                                         \
        refused(&x, rule, switches, status, says);                                                                     \
    } while (0)

TEST_CASE("refusals", .before = open_devices, .after = close_devices)

TEST(parameters_and_gradients)
{
    static const lfuse_size other[] = { 4, 6 };

    REFUSED(LFUSE_ERR_INVALID, "is frozen", LFUSE_RULE_ADAMW, 0,
            x.values.parameter = lfuse_frozen(x.g, "w", LFUSE_F32, 2, shape));
    REFUSED(LFUSE_ERR_INVALID, "is no input", LFUSE_RULE_ADAMW, 0,
            x.values.parameter = lfuse_neg(x.values.parameter));
    REFUSED(LFUSE_ERR_TYPE, "i32", LFUSE_RULE_ADAMW, 0,
            x.values.parameter = lfuse_input(x.g, "i", LFUSE_I32, 2, shape));
    REFUSED(LFUSE_ERR_TYPE, "the gradient", LFUSE_RULE_ADAMW, 0,
            x.values.gradient = lfuse_input(x.g, "i", LFUSE_I32, 2, shape));
    REFUSED(LFUSE_ERR_SHAPE, "the gradient is", LFUSE_RULE_ADAMW, 0,
            x.values.gradient = lfuse_input(x.g, "h", LFUSE_F32, 2, other));
    REFUSED(LFUSE_ERR_RANK, "another rank", LFUSE_RULE_ADAFACTOR, 0,
            (x.values.parameter = lfuse_list_input(x.g, "l", LFUSE_F32, LFUSE_RANK_ANY),
             x.values.gradient = lfuse_list_input(x.g, "m", LFUSE_F32, LFUSE_RANK_ANY)));
    ck_assert_int_lt(lfuse_rule_update(LFUSE_RULE_SGD, 0, NULL).id, 0);
    ck_assert_int_lt(lfuse_rule_update(LFUSE_RULE_SGD, 0, &(lfuse_rule_values){ .state_count = 0 }).id, 0);
}

TEST(states_that_do_not_fit)
{
    static const lfuse_size other[] = { 4 };

    REFUSED(LFUSE_ERR_INVALID, "1 states for adamw, which has 2", LFUSE_RULE_ADAMW, 0, x.values.state_count = 1);
    REFUSED(LFUSE_ERR_INVALID, "2 states for adamw, which has 3", LFUSE_RULE_ADAMW, LFUSE_OPTIM_AMSGRAD, (void)0);
    REFUSED(LFUSE_ERR_SHAPE, "exp_avg is f32 [4]", LFUSE_RULE_ADAMW, 0,
            x.states[0] = lfuse_input(x.g, "s", LFUSE_F32, 1, other));
    REFUSED(LFUSE_ERR_TYPE, "exp_avg is of type i32", LFUSE_RULE_ADAMW, 0,
            x.states[0] = lfuse_input(x.g, "s", LFUSE_I32, 2, shape));
    REFUSED(LFUSE_ERR_INVALID, "exp_avg is no input", LFUSE_RULE_ADAMW, 0,
            x.states[0] = lfuse_frozen(x.g, "s", LFUSE_F32, 2, shape));
    REFUSED(LFUSE_ERR_SHAPE, "exp_avg_sq is", LFUSE_RULE_NOVOGRAD, 0, (void)0);
    REFUSED(LFUSE_ERR_SHAPE, "row_var is", LFUSE_RULE_ADAFACTOR, 0, (void)0);
    REFUSED(LFUSE_ERR_STATE, "has an update already", LFUSE_RULE_ADAMW, 0, x.states[1] = x.states[0]);
    REFUSED(LFUSE_ERR_INVALID, "exp_avg is a value of another graph", LFUSE_RULE_ADAMW, 0,
            x.states[0] = lfuse_input(new_graph(), "s", LFUSE_F32, 2, shape));
}

TEST(numbers_that_do_not_fit)
{
    REFUSED(LFUSE_ERR_INVALID, "t is missing", LFUSE_RULE_ADAMW, 0, x.values.t = lfuse_none());
    REFUSED(LFUSE_ERR_RANK, "t is neither", LFUSE_RULE_ADAMW, 0, x.values.t = x.values.gradient);
    REFUSED(LFUSE_ERR_INVALID, "product is missing", LFUSE_RULE_NADAM, 0, (void)0);
    REFUSED(LFUSE_ERR_INVALID, "lr is -1", LFUSE_RULE_ADAMW, 0, x.values.hyper.lr = lfuse_constant(x.g, -1));
    REFUSED(LFUSE_ERR_INVALID, "beta2 is 1", LFUSE_RULE_ADAMW, 0, x.values.hyper.beta2 = lfuse_constant(x.g, 1));
    REFUSED(LFUSE_ERR_INVALID, "momentum is given", LFUSE_RULE_ADAMW, 0,
            x.values.hyper.momentum = lfuse_constant(x.g, 0.5));
    REFUSED(LFUSE_ERR_INVALID, "initial_accumulator is given", LFUSE_RULE_ADAGRAD, 0,
            x.values.hyper.initial_accumulator = lfuse_constant(x.g, 0.5));
    REFUSED(LFUSE_ERR_TYPE, "lr is of a type", LFUSE_RULE_ADAMW, 0,
            x.values.hyper.lr = lfuse_input(x.g, "lr", LFUSE_I32, 0, NULL));
    REFUSED(LFUSE_ERR_INVALID, "lr is a value of another graph", LFUSE_RULE_ADAMW, 0,
            x.values.hyper.lr = lfuse_constant(new_graph(), 1));
    REFUSED(LFUSE_ERR_INVALID, "grad_scale is given", LFUSE_RULE_ADAMW, 0,
            x.values.grad_scale = lfuse_scalar(x.g, "s"));
    REFUSED(LFUSE_ERR_INVALID, "found_inf is missing", LFUSE_RULE_ADAMW, LFUSE_OPTIM_FOUND_INF, (void)0);
    REFUSED(LFUSE_ERR_INVALID, "norm is missing", LFUSE_RULE_ADAMW, 0,
            (x.values.clip = LFUSE_CLIP_GLOBAL_NORM, x.values.clip_limit = lfuse_constant(x.g, 1)));
    REFUSED(LFUSE_ERR_INVALID, "clip_limit is missing", LFUSE_RULE_ADAMW, 0, x.values.clip = LFUSE_CLIP_VALUE);
    REFUSED(LFUSE_ERR_INVALID, "no way to clip", LFUSE_RULE_ADAMW, 0, x.values.clip = (lfuse_clip)9);
}

TEST(rules_and_switches)
{
    REFUSED(LFUSE_ERR_INVALID, "99 is no rule", (lfuse_rule)99, 0, (void)0);
    REFUSED(LFUSE_ERR_INVALID, "lion does not know", LFUSE_RULE_LION, LFUSE_OPTIM_AMSGRAD, (void)0);
    REFUSED(LFUSE_ERR_INVALID, "adamw does not know", LFUSE_RULE_ADAMW, LFUSE_OPTIM_MOMENTUM, (void)0);
    REFUSED(LFUSE_ERR_INVALID, "for the optimizers of lists", LFUSE_RULE_ADAMW, LFUSE_OPTIM_DEVICE_STEPS, (void)0);
    REFUSED(LFUSE_ERR_INVALID, "needs LFUSE_OPTIM_MOMENTUM", LFUSE_RULE_SGD, LFUSE_OPTIM_NESTEROV, (void)0);
}

TEST(products_and_norms)
{
    lfuse_graph *g = new_graph();
    const lfuse_value i = lfuse_input(g, "i", LFUSE_I32, 2, shape);

    ck_assert_int_lt(lfuse_gradient_norm(1, &i, lfuse_none()).id, 0);
    SAYS(LFUSE_ERR_TYPE, lfuse_graph_check(g), "lfuse_gradient_norm: gradient 0 is i32");
    ck_assert_int_lt(lfuse_gradient_norm(0, &i, lfuse_none()).id, 0);
    ck_assert_int_lt(lfuse_gradient_norm(1, NULL, lfuse_none()).id, 0);
    g = new_graph();
    const lfuse_value t = lfuse_scalar(g, "t");
    ck_assert_int_lt(lfuse_nadam_product(t, t, t, lfuse_none()).id, 0);
    SAYS(LFUSE_ERR_INVALID, lfuse_graph_check(g), "momentum_decay is missing");
    ck_assert_double_eq(lfuse_nadam_product_of(NULL, 5), 1);
}

TEST(what_is_asked_of_states)
{
    lfuse_rule_state states[LFUSE_RULE_STATES];
    int count = -1;

    FAILS(LFUSE_ERR_INVALID, lfuse_rule_states((lfuse_rule)0, 0, LFUSE_F32, LFUSE_TYPE_NONE, &count, states));
    FAILS(LFUSE_ERR_INVALID, lfuse_rule_states(LFUSE_RULE_SGD, 1u << 30, LFUSE_F32, LFUSE_TYPE_NONE, &count, states));
    FAILS(LFUSE_ERR_TYPE, lfuse_rule_states(LFUSE_RULE_SGD, 0, LFUSE_I32, LFUSE_TYPE_NONE, &count, states));
    FAILS(LFUSE_ERR_TYPE, lfuse_rule_states(LFUSE_RULE_SGD, 0, LFUSE_F32, LFUSE_BOOL, &count, states));
    FAILS(LFUSE_ERR_INVALID, lfuse_rule_states(LFUSE_RULE_SGD, 0, LFUSE_F32, LFUSE_TYPE_NONE, NULL, states));
    ck_assert_int_eq(count, -1);
    OK(lfuse_rule_states(LFUSE_RULE_SGD, 0, LFUSE_F32, LFUSE_TYPE_NONE, &count, states));
    ck_assert_int_eq(count, 0);
    OK(lfuse_rule_states(LFUSE_RULE_ADAGRAD, 0, LFUSE_F64, LFUSE_TYPE_NONE, &count, states));
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(states[0].type, LFUSE_F64);
    ck_assert_str_eq(states[0].initial, "initial_accumulator");
    OK(lfuse_rule_states(LFUSE_RULE_ADAM, LFUSE_OPTIM_AMSGRAD | LFUSE_OPTIM_MASTERS | LFUSE_OPTIM_AVERAGE, LFUSE_F16,
                         LFUSE_BF16, &count, states));
    ck_assert_int_eq(count, 5);
    ck_assert_int_eq(states[0].type, LFUSE_BF16);
    ck_assert_int_eq(states[3].type, LFUSE_F32);
    ck_assert(states[3].copies && !strcmp(states[3].name, "master") && !states[2].copies);
}

/* The step's own functions do not count as calls of the program. */
TEST(calls_are_counted_as_the_program_makes_them)
{
    one x = one_of();

    x.values.states = x.states;
    lfuse_add(x.values.gradient, x.values.gradient);
    lfuse_rule_update(LFUSE_RULE_ADAMW, 0, &x.values);
    lfuse_output(x.g, "y", lfuse_add(x.values.gradient, lfuse_input(x.g, "v", LFUSE_F32, 1, (lfuse_size[]){ 3 })));
    SAYS(LFUSE_ERR_SHAPE, lfuse_graph_check(x.g), "the 2nd lfuse_add (output \"y\")");
}

TEST_SUITE("optim", CK_NOFORK)
