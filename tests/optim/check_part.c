/* SPDX-License-Identifier: Apache-2.0 */
/* What steps go over: groups with their own numbers, states read out and put back, lists whose addresses move. */
#include "tests/optim/run.h"

TEST_CASE("part", .before = open_devices, .after = close_devices)

TEST_ON_DEVICES(groups_of_two_types, lfuse_device *device)
{
    static double together[ALL], want[ALL];
    static const int64_t second[2] = { 700, 5 };
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAM, LFUSE_OPTIM_MASTERS);
    lfuse_group group[2];
    lfuse_list *gradients[2];
    lfuse_hyper hyper;
    lfuse_tensor *state;

    model a = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    model b = model_of(device, LFUSE_BF16, LFUSE_BF16, 2, second);
    group[0] = group_of(&a, LFUSE_RULE_ADAM);
    group[1] = group_of(&b, LFUSE_RULE_ADAM);
    group[1].hyper.lr = 0.25;
    lfuse_optimizer *o = new_optimizer(device, &options, 2, group);
    gradients[0] = a.gradients;
    gradients[1] = b.gradients;
    for (int t = 1; t <= STEPS; t++) {
        model_gradients(&a, t, 1);
        model_gradients(&b, t, 1);
        OK(lfuse_optimizer_step(o, a.stream, 2, gradients, NULL));
    }
    model_parameters(&a, together);
    run(device, &(lfuse_optimizer_options){ .rule = LFUSE_RULE_ADAM }, LFUSE_F32, MEMBERS, sizes, want, NULL);
    same(together, want, ALL, "the first of two groups");
    OK(lfuse_optimizer_get_hyper(o, 1, &hyper));
    ck_assert_double_eq(hyper.lr, 0.25);
    OK(lfuse_optimizer_set_lr(o, -1, 0.125));
    OK(lfuse_optimizer_get_hyper(o, 0, &hyper));
    ck_assert_double_eq(hyper.lr, 0.125);
    ck_assert_str_eq(lfuse_optimizer_state_name(o, 2), "master");
    ck_assert_ptr_null(lfuse_optimizer_state_name(o, 3));
    OK(lfuse_optimizer_state(o, 2, 1, 0, &state));
    ck_assert_int_eq(lfuse_tensor_elements(state), 700);
    lfuse_tensor_destroy(state);
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_state(o, 2, 0, 0, &state)); /* f32 parameters have no masters */
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_state(o, 3, 0, 0, &state));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_state(o, 0, 2, 0, &state));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_state(o, 0, 1, 2, &state));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_set_lr(o, 2, 0.1));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_get_hyper(o, -1, &hyper));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_step(o, a.stream, 1, gradients, NULL));
}

/*
 * Groups of one type in one launch, each with its own numbers, beside the numbers that are in device memory: the bits
 * of an optimizer for each.
 */
TEST_ON_DEVICES(groups_of_one_type, lfuse_device *device)
{
    enum { GROUPS = 11 };
    static const struct {
        lfuse_rule rule;
        unsigned switches;
        uint64_t launches; /* 0: not looked at */
    } cases[] = {
        { LFUSE_RULE_ADAMW, 0, 2 }, { LFUSE_RULE_NADAM, 0, 2 }, { LFUSE_RULE_LAMB, 0, 0 },
        { LFUSE_RULE_ADAMW, LFUSE_OPTIM_DEVICE_STEPS | LFUSE_OPTIM_LR_TENSOR, 2 },
        { LFUSE_RULE_ADAM, LFUSE_OPTIM_FOUND_INF, 2 }, { LFUSE_RULE_NADAM, LFUSE_OPTIM_DEVICE_STEPS, 0 },
    };
    static double got[ALL], want[ALL];
    lfuse_list *gradients[GROUPS];
    lfuse_optimizer *alone[GROUPS];
    lfuse_group group[GROUPS];
    model m[GROUPS], same_model[GROUPS];
    uint64_t before = 0;

    const lfuse_device_info info = info_of(device);
    for (size_t r = 0; r < sizeof cases / sizeof *cases; r++) {
        const lfuse_optimizer_options options = options_of(cases[r].rule, cases[r].switches | LFUSE_OPTIM_AVERAGE);
        if (cases[r].switches && !info.f64) continue;
        lfuse_tensor *lr = number(device, 0.0625f), *found[2] = { number(device, 0), number(device, 1) };
        lfuse_step_inputs inputs = { .lr = cases[r].switches & LFUSE_OPTIM_LR_TENSOR ? lr : NULL };
        for (int i = 0; i < GROUPS; i++) {
            m[i] = model_of(device, LFUSE_F32, LFUSE_F32, i == 3 ? 0 : 2, sizes + 3);
            same_model[i] = model_of(device, LFUSE_F32, LFUSE_F32, i == 3 ? 0 : 2, sizes + 3);
            group[i] = group_of(&same_model[i], cases[r].rule);
            group[i].hyper.lr = 0.25 / (1 + i);
            group[i].hyper.beta1 = 0.5 + 0.03 * i;
            group[i].hyper.ema_decay = 0.07 * i;
            alone[i] = optimizer_of(&same_model[i], &options, &group[i]);
            group[i].parameters = m[i].parameters;
            gradients[i] = m[i].gradients;
        }
        lfuse_optimizer *o = new_optimizer(device, &options, GROUPS, group);
        for (int t = 1; t <= STEPS; t++) {
            if (t == 3) { /* one group's gradients move, and another's list is a new one */
                OK(lfuse_list_replace(m[1].gradients, 0, 2, same_model[1].g));
                gradients[2] = same_model[2].gradients;
            }
            if (cases[r].switches & LFUSE_OPTIM_FOUND_INF) inputs.found_inf = found[t == 2];
            OK(lfuse_stream_synchronize(m[0].stream));
            for (int i = 0; i < GROUPS; i++) {
                const bool left = t >= 3 && (i == 1 || i == 2); /* nobody reads the memory any more */
                model_gradients(&m[i], t, left ? NAN : 1);
                model_gradients(&same_model[i], t, 1);
                OK(lfuse_optimizer_step(alone[i], same_model[i].stream, 1, &same_model[i].gradients, &inputs));
                OK(lfuse_stream_synchronize(same_model[i].stream));
            }
            before = launches_of(device);
            OK(lfuse_optimizer_step(o, m[0].stream, GROUPS, gradients, &inputs));
        }
        if (device == devices[0] && cases[r].launches)
            ck_assert_uint_eq(launches_of(device) - before, cases[r].launches);
        OK(lfuse_stream_synchronize(m[0].stream));
        for (int i = 0; i < GROUPS; i++) {
            const int64_t n = model_parameters(&m[i], got);
            model_parameters(&same_model[i], want);
            same(got, want, n, "a group of eleven");
        }
    }
}

/* Copies parameters and states of one optimizer to another one of an equal model. */
static void put_back(const model *from, lfuse_optimizer *a, const model *to, lfuse_optimizer *b)
{
    lfuse_tensor *x, *y;
    int64_t steps;

    OK(lfuse_stream_synchronize(from->stream));
    for (int i = 0; i < from->members; i++) {
        OK(lfuse_tensor_copy(to->p[i], from->p[i], NULL));
        for (int k = 0; k < lfuse_optimizer_state_count(a); k++) {
            OK(lfuse_optimizer_state(a, k, 0, i, &x));
            OK(lfuse_optimizer_state(b, k, 0, i, &y));
            OK(lfuse_tensor_copy(y, x, NULL));
            lfuse_tensor_destroy(x);
            lfuse_tensor_destroy(y);
        }
    }
    OK(lfuse_optimizer_get_steps(a, &steps));
    OK(lfuse_optimizer_set_steps(b, steps));
}

TEST_ON_DEVICES(states_put_back, lfuse_device *device)
{
    static const lfuse_rule rules[] = { LFUSE_RULE_SGD, LFUSE_RULE_NADAM };
    static double first[ALL], second[ALL];
    lfuse_optimizer *o[2];
    model m[2];

    for (int i = 0; i < 2; i++) {
        const lfuse_optimizer_options options = options_of(rules[i], 0);
        for (int k = 0; k < 2; k++) {
            m[k] = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
            lfuse_group group = group_of(&m[k], rules[i]);
            if (rules[i] == LFUSE_RULE_SGD) group.hyper.momentum = 0.9;
            o[k] = optimizer_of(&m[k], &options, &group);
        }
        for (int t = 1; t <= 3; t++) model_step(&m[0], o[0], t);
        put_back(&m[0], o[0], &m[1], o[1]);
        for (int t = 4; t <= 6; t++) {
            model_step(&m[0], o[0], t);
            model_step(&m[1], o[1], t);
        }
        model_parameters(&m[0], first);
        model_parameters(&m[1], second);
        same(first, second, ALL, "resumed");
    }
}

/* Gradients in new memory, and in another list; a parameter that moved. */
TEST_ON_DEVICES(addresses_that_move, lfuse_device *device)
{
    static double want[ALL], got[ALL];
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAM, 0);

    run(device, &options, LFUSE_F32, MEMBERS, sizes, want, NULL);
    model m = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    model other = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    lfuse_group group = group_of(&m, LFUSE_RULE_ADAM);
    lfuse_optimizer *o = optimizer_of(&m, &options, &group);
    for (int t = 1; t <= STEPS; t++) {
        if (t == 2) OK(lfuse_list_replace(m.gradients, 0, MEMBERS, other.g));
        OK(lfuse_stream_synchronize(m.stream));
        model_gradients(t == 1 ? &m : &other, t, 1);
        OK(lfuse_optimizer_step(o, m.stream, 1, t < 4 ? &m.gradients : &other.gradients, NULL));
    }
    OK(lfuse_stream_synchronize(m.stream));
    model_parameters(&m, got);
    same(got, want, ALL, "gradients that move");
    OK(lfuse_tensor_copy(other.p[2], m.p[2], NULL));
    OK(lfuse_list_replace(m.parameters, 2, 1, &other.p[2]));
    model_step(&m, o, STEPS + 1);
    model_parameters(&m, want);
    same(want + sizes[0], got + sizes[0], sizes[2], "memory that the list has left");
}

TEST_SUITE("optim", CK_NOFORK)
