/* SPDX-License-Identifier: Apache-2.0 */
/* What is refused, when an optimizer is made and when it steps: with nothing launched, changed or left behind. */
#include "tests/optim/run.h"

static lfuse_status creates(const lfuse_optimizer_options *options, const lfuse_group *group)
{
    lfuse_optimizer *o = NULL;
    const lfuse_status status = lfuse_optimizer_create(devices[0], options, 1, group, &o);

    ck_assert(status == LFUSE_OK || o == NULL);
    lfuse_optimizer_destroy(o);
    return status;
}

TEST_CASE("refusals", .before = open_devices, .after = close_devices)

/* Parts of larger matrices, as parameters and as gradients. */
TEST(members_that_are_not_contiguous)
{
    static const int64_t elements[] = { 6 }, three[] = { 3 };
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAMW, 0);
    const int64_t whole_shape[] = { 2, 8 }, shape[] = { 2, 3 }, strides[] = { 8, 1 };

    model m = model_shaped(devices[0], LFUSE_F32, LFUSE_F32, 1, elements, three);
    lfuse_tensor *whole = new_tensor(devices[0], LFUSE_F32, 2, whole_shape);
    lfuse_tensor *part = new_view(whole, 2, shape, strides, 1);
    lfuse_list *parts = new_list(devices[0], LFUSE_F32, 1, &part);
    lfuse_group group = group_of(&m, LFUSE_RULE_ADAMW);
    lfuse_optimizer *o = optimizer_of(&m, &options, &group);
    FAILS(LFUSE_ERR_UNSUPPORTED, lfuse_optimizer_step(o, m.stream, 1, &parts, NULL));
    ck_says("member 0 of \"gradients\" is not contiguous");
    model_step(&m, o, 1);
    group.parameters = parts;
    SAYS(LFUSE_ERR_UNSUPPORTED, creates(&options, &group), "of \"parameters\"");
}

TEST(gradients_of_another_shape)
{
    static const int64_t elements[] = { 6 }, three[] = { 3 }, two[] = { 2 };
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAFACTOR, 0);

    model m = model_shaped(devices[0], LFUSE_F32, LFUSE_F32, 1, elements, three);
    model other = model_shaped(devices[0], LFUSE_F32, LFUSE_F32, 1, elements, two);
    lfuse_group group = group_of(&m, LFUSE_RULE_ADAFACTOR);
    lfuse_optimizer *o = optimizer_of(&m, &options, &group);
    SAYS(LFUSE_ERR_SHAPE, lfuse_optimizer_step(o, m.stream, 1, &other.gradients, NULL), "2 x 3");
    model_step(&m, o, 1);
}

TEST(bad_numbers)
{
    static const struct { lfuse_rule rule; size_t field; double value; } bad[] = {
#define BAD(rule, field, value) { LFUSE_RULE_##rule, offsetof(lfuse_hyper, field), value }
        BAD(SGD, lr, -1), BAD(SGD, lr, NAN), BAD(SGD, lr, INFINITY), BAD(SGD, momentum, -0.5), BAD(SGD, dampening, NAN),
        BAD(SGD, weight_decay, -1e-9), BAD(SGD, beta1, 0.5), BAD(SGD, ema_decay, 0.5), BAD(ADAM, beta1, 1),
        BAD(ADAM, beta1, -0.1), BAD(ADAM, beta2, 1), BAD(ADAM, beta2, NAN), BAD(ADAM, eps, -1e-9),
        BAD(ADAM, momentum, 0.9), BAD(ADAM, momentum, NAN), BAD(ADAMW, weight_decay, -1), BAD(ADAGRAD, lr_decay, -1),
        BAD(ADAGRAD, initial_accumulator, -1), BAD(RMSPROP, alpha, -1), BAD(ADADELTA, rho, 1.5), BAD(ADAMAX, beta2, 1),
        BAD(NADAM, momentum_decay, -1), BAD(RADAM, beta1, 1), BAD(ASGD, lambd, -1), BAD(RPROP, eta_minus, 1),
        BAD(RPROP, eta_minus, 0), BAD(RPROP, eta_plus, 1), BAD(RPROP, step_min, 60), BAD(RPROP, step_max, 0),
        BAD(LION, beta2, 1), BAD(LAMB, eps, -1), BAD(NOVOGRAD, beta1, 1), BAD(ADAFACTOR, beta2, 0),
        BAD(ADAFACTOR, clip_threshold, 0),
#undef BAD
    };
    const lfuse_hyper *const unset = NULL;
    lfuse_hyper hyper;

    model m = model_of(devices[0], LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const lfuse_optimizer_options options = options_of(bad[i].rule, 0);
        lfuse_group group = group_of(&m, bad[i].rule);
        memcpy((char *)&group.hyper + bad[i].field, &bad[i].value, sizeof(double));
        ck_assert_msg(creates(&options, &group) == LFUSE_ERR_INVALID, "number %zu is taken", i);
        ck_says("group 0");
    }
    FAILS(LFUSE_ERR_INVALID, lfuse_hyper_defaults((lfuse_rule)0, &hyper));
    FAILS(LFUSE_ERR_INVALID, lfuse_hyper_defaults((lfuse_rule)99, &hyper));
    FAILS(LFUSE_ERR_INVALID, lfuse_hyper_defaults(LFUSE_RULE_SGD, (lfuse_hyper *)unset));
    ck_assert_str_eq(lfuse_rule_name((lfuse_rule)99), "?");
    ck_assert_str_eq(lfuse_rule_name(LFUSE_RULE_ADAMW), "adamw");
}

TEST(bad_options)
{
    static const int64_t few[1] = { 3 };
    lfuse_optimizer_options options = options_of(LFUSE_RULE_SGD, 0);
    lfuse_optimizer *o;
    lfuse_group group, none;

    model m = model_of(devices[0], LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    group = none = group_of(&m, LFUSE_RULE_SGD);
    none.parameters = NULL;
    FAILS(LFUSE_ERR_INVALID, creates(&(lfuse_optimizer_options){ .rule = (lfuse_rule)0 }, &group));
    FAILS(LFUSE_ERR_INVALID, creates(&(lfuse_optimizer_options){ .rule = (lfuse_rule)-1 }, &group));
    FAILS(LFUSE_ERR_INVALID, creates(&(lfuse_optimizer_options){ .rule = (lfuse_rule)77 }, &group));
    FAILS(LFUSE_ERR_INVALID, creates(&options, &none));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_create(devices[0], &options, 0, &group, &o));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_create(devices[0], &options, -1, &group, &o));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_create(NULL, &options, 1, &group, &o));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_create(devices[0], NULL, 1, &group, &o));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_create(devices[0], &options, 1, NULL, &o));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_create(devices[0], &options, 1, &group, NULL));
    options.switches = LFUSE_OPTIM_AMSGRAD;
    FAILS(LFUSE_ERR_INVALID, creates(&options, &group));
    options.switches = 1u << 30;
    FAILS(LFUSE_ERR_INVALID, creates(&options, &group));
    options.switches = 1u << 15;
    FAILS(LFUSE_ERR_INVALID, creates(&options, &group));
    options.switches = LFUSE_OPTIM_NESTEROV; /* without a momentum */
    FAILS(LFUSE_ERR_INVALID, creates(&options, &group));
    options.switches = 0;
    options.clip = LFUSE_CLIP_VALUE;
    FAILS(LFUSE_ERR_INVALID, creates(&options, &group));
    options.clip_limit = NAN;
    FAILS(LFUSE_ERR_INVALID, creates(&options, &group));
    options.clip = LFUSE_CLIP_NONE;
    options.clip_limit = 1;
    FAILS(LFUSE_ERR_INVALID, creates(&options, &group));
    options.clip = (lfuse_clip)9;
    FAILS(LFUSE_ERR_INVALID, creates(&options, &group));
    options = options_of(LFUSE_RULE_SGD, 0);
    options.level = (lfuse_optimizer_level)3;
    FAILS(LFUSE_ERR_INVALID, creates(&options, &group));
    options = options_of(LFUSE_RULE_SGD, 0);
    options.state_type = LFUSE_I32;
    FAILS(LFUSE_ERR_TYPE, creates(&options, &group));
    lfuse_tensor *whole = new_tensor(devices[0], LFUSE_I32, 1, few);
    lfuse_list *integers = new_list(devices[0], LFUSE_I32, 1, &whole);
    none.parameters = integers;
    options = options_of(LFUSE_RULE_SGD, 0);
    FAILS(LFUSE_ERR_TYPE, creates(&options, &none));
}

/* What is refused launches nothing and changes nothing. */
TEST(bad_steps)
{
    static double before[ALL], after[ALL];
    static const int64_t longer[MEMBERS] = { 3, 0, 2501, 1, 1024, 130 };
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_SGD, 0);
    lfuse_step_inputs inputs = { 0 };
    lfuse_list *nothing = NULL;
    lfuse_hyper hyper;
    int64_t steps;

    model m = model_of(devices[0], LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    model short_one = model_of(devices[0], LFUSE_F32, LFUSE_F32, MEMBERS - 1, sizes);
    model long_one = model_of(devices[0], LFUSE_F32, LFUSE_F32, MEMBERS, longer);
    model half = model_of(devices[0], LFUSE_F16, LFUSE_F16, MEMBERS, sizes);
    lfuse_group group = group_of(&m, LFUSE_RULE_SGD);
    group.hyper.momentum = 0.9;
    lfuse_optimizer *o = optimizer_of(&m, &options, &group);
    model_step(&m, o, 1);
    model_parameters(&m, before);
    uint64_t launches = launches_of(devices[0]);
    inputs.grad_scale = m.p[3];
    FAILS(LFUSE_ERR_SHAPE, lfuse_optimizer_step(o, m.stream, 1, &short_one.gradients, NULL));
    SAYS(LFUSE_ERR_SHAPE, lfuse_optimizer_step(o, m.stream, 1, &long_one.gradients, NULL), "parameter 2 has 2500");
    FAILS(LFUSE_ERR_TYPE, lfuse_optimizer_step(o, m.stream, 1, &half.gradients, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_step(o, m.stream, 1, &nothing, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_step(o, m.stream, 1, NULL, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_step(o, m.stream, 0, NULL, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_step(o, m.stream, -1, NULL, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_step(o, NULL, 1, &m.gradients, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_step(o, m.stream, 1, &m.gradients, &inputs));
    FAILS(LFUSE_ERR_OVERLAP, lfuse_optimizer_step(o, m.stream, 1, &m.parameters, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_set_steps(o, -1));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_set_steps(o, INT64_MAX));
    OK(lfuse_optimizer_get_hyper(o, 0, &hyper));
    hyper.lr = NAN;
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_set_hyper(o, 0, &hyper));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_set_lr(o, 0, -1));
    OK(lfuse_optimizer_get_hyper(o, 0, &hyper));
    ck_assert_double_eq(hyper.lr, 1e-3);
    OK(lfuse_optimizer_get_steps(o, &steps));
    ck_assert_int_eq(steps, 1);
    ck_assert_uint_eq(launches_of(devices[0]), launches);
    model_parameters(&m, after);
    same(before, after, ALL, "after steps that were refused");
    model_step(&m, o, 2);
    lfuse_optimizer_destroy(NULL);
}

/* Numbers on the device are f32 of rank 0: one element that has an axis, or another type, is not. */
TEST(inputs_that_are_not_numbers)
{
    static const int64_t one[] = { 1 };
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_SGD, LFUSE_OPTIM_GRAD_SCALE | LFUSE_OPTIM_LR_TENSOR |
                                                                           LFUSE_OPTIM_FOUND_INF);
    lfuse_tensor *zero = number(devices[0], 0);
    const lfuse_step_inputs good = { .grad_scale = zero, .lr = zero, .found_inf = zero };

    lfuse_tensor *vector = new_tensor(devices[0], LFUSE_F32, 1, one);
    lfuse_tensor *wide = new_tensor(devices[0], LFUSE_F64, 0, NULL);
    model m = model_of(devices[0], LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    lfuse_group group = group_of(&m, LFUSE_RULE_SGD);
    lfuse_optimizer *o = optimizer_of(&m, &options, &group);
    for (int i = 0; i < 6; i++) {
        lfuse_step_inputs bad = good;
        *(i / 2 == 0 ? &bad.grad_scale : i / 2 == 1 ? &bad.lr : &bad.found_inf) = i % 2 ? vector : wide;
        SAYS(LFUSE_ERR_TYPE, lfuse_optimizer_step(o, m.stream, 1, &m.gradients, &bad), "not f32 of rank 0");
    }
}

/* Two groups of two types, a plan each. */
typedef struct two_plans {
    model m[2];
    lfuse_optimizer *o;
    lfuse_list *gradients[2];
    double before[2][ALL];
} two_plans;

static void two_make(two_plans *x)
{
    static const lfuse_type types[2] = { LFUSE_F32, LFUSE_F16 };
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_LAMB, 0);
    lfuse_group group[2];

    for (int i = 0; i < 2; i++) {
        x->m[i] = model_of(devices[0], types[i], types[i], MEMBERS, sizes);
        group[i] = group_of(&x->m[i], LFUSE_RULE_LAMB);
        x->gradients[i] = x->m[i].gradients;
        model_gradients(&x->m[i], 1, 1);
        OK(lfuse_stream_synchronize(x->m[i].stream));
        model_parameters(&x->m[i], x->before[i]);
    }
    x->o = new_optimizer(devices[0], &options, 2, group);
}

/* A step; where it is refused, it has launched and changed nothing. */
static lfuse_status two_step(two_plans *x, lfuse_list *const *gradients)
{
    static double after[ALL];
    const uint64_t launches = launches_of(devices[0]);
    int64_t steps;
    lfuse_status status = lfuse_optimizer_step(x->o, x->m[0].stream, 2, gradients, NULL);

    lfuse__stub_no_failure();
    if (!status) return LFUSE_OK;
    ck_assert_uint_eq(launches_of(devices[0]), launches);
    OK(lfuse_optimizer_get_steps(x->o, &steps));
    ck_assert_int_eq(steps, 0);
    for (int i = 0; i < 2; i++) {
        model_parameters(&x->m[i], after);
        same(after, x->before[i], ALL, "after a step of two plans that was refused");
    }
    return status;
}

/* What the second plan is refused is known before the first is launched. */
TEST(refused_by_one_of_two_plans)
{
    static const lfuse__stub_slot slots[] = { LFUSE__STUB_program_build, LFUSE__STUB_kernel_create, LFUSE__STUB_alloc,
                                              LFUSE__STUB_write };
    static two_plans x;
    int refusals = 0, nth;
    bool refused;

    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        for (nth = 1, refused = true; refused && nth < 100; nth++) {
            two_make(&x);
            if (i == 0 && nth == 1) {
                lfuse_list *const over[2] = { x.gradients[0], x.m[1].parameters };
                FAILS(LFUSE_ERR_OVERLAP, two_step(&x, over));
            }
            lfuse__stub_fail(slots[i], (uint64_t)nth, false, LFUSE_ERR_DEVICE_MEMORY);
            refused = two_step(&x, x.gradients) != LFUSE_OK;
            refusals += refused;
        }
        ck_assert(!refused);
    }
    ck_assert_int_gt(refusals, 8); /* both plans have kernels and tables to make */
}

TEST(lists_of_two_devices)
{
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_SGD, 0);

    lfuse_device *other = new_device("stub:0");
    model m = model_of(devices[0], LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    model far = model_of(other, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    lfuse_group group = group_of(&m, LFUSE_RULE_SGD);
    lfuse_group strange = group_of(&far, LFUSE_RULE_SGD);
    FAILS(LFUSE_ERR_CONTEXT, creates(&options, &strange));
    lfuse_optimizer *o = optimizer_of(&m, &options, &group);
    FAILS(LFUSE_ERR_CONTEXT, lfuse_optimizer_step(o, m.stream, 1, &far.gradients, NULL));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_optimizer_step(o, far.stream, 1, &m.gradients, NULL));
}

/* Whatever fails while an optimizer is made, nothing of it is left: closing checks that. */
TEST(failures_while_made)
{
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAM, LFUSE_OPTIM_AVERAGE);
    lfuse_optimizer *o = NULL;
    uint64_t nth;

    model m = model_of(devices[0], LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    lfuse_group group = group_of(&m, LFUSE_RULE_ADAM);
    for (nth = 1; nth < 1000 && !o; nth++) {
        lfuse__stub_fail(LFUSE__STUB_ANY, nth, false, LFUSE_ERR_DEVICE);
        if (lfuse_optimizer_create(devices[0], &options, 1, &group, &o)) ck_assert_ptr_null(o);
    }
    lfuse__stub_no_failure();
    ck_assert_ptr_nonnull(o);
    ck_assert_uint_gt(nth, 3);
    lfuse_optimizer_destroy(o);
}

TEST_SUITE("optim", CK_NOFORK)
