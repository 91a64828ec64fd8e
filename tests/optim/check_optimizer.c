/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The object: one launch a step, the same bits on all levels and devices, types in memory, masters, averages, zeroed
 * gradients, scaling, clipping, groups, states read out and put back, a rule of the program's own, and what is refused.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>
#include <string.h>

#include "tests/optim/rig.h"

enum { STEPS = 5, MEMBERS = 6, ALL = 3 + 0 + 2500 + 1 + 1024 + 130 };
static const int64_t sizes[MEMBERS] = { 3, 0, 2500, 1, 1024, 130 };

static void same(const double *a, const double *b, int64_t n, const char *what)
{
    int64_t i;

    for (i = 0; i < n; i++)
        ck_assert_msg(a[i] == b[i], "%s, %s: element %lld is %.17g and %.17g", device_name, what, (long long)i,
                      a[i], b[i]);
}

/* Parameters after some steps; and their states, each behind the other. */
static void run(lfuse_device *device, const lfuse_optimizer_options *options, lfuse_type type, int members,
                const int64_t *elements, double *p, double *states)
{
    lfuse_optimizer *o;
    lfuse_group group;
    int64_t n = 0;
    model m;
    int t, k;

    model_make(&m, device, type, type, members, elements);
    group = group_of(&m, options->rule);
    if (options->rule == LFUSE_RULE_SGD || options->rule == LFUSE_RULE_RMSPROP) group.hyper.momentum = 0.5;
    if (options->switches & LFUSE_OPTIM_AVERAGE) group.hyper.ema_decay = 0.875;
    o = optimizer_of(&m, options, &group);
    for (t = 1; t <= STEPS; t++) model_step(&m, o, t);
    model_parameters(&m, p);
    for (k = 0; states && k < lfuse_optimizer_state_count(o); k++)
        n += model_state(&m, o, lfuse_optimizer_state_name(o, k), states + n);
    lfuse_optimizer_destroy(o);
    model_drop(&m);
}

/* ---- levels, lists and loops ---- */

static void levels(lfuse_device *device)
{
    static const lfuse_rule rules[] = { LFUSE_RULE_SGD, LFUSE_RULE_ADAMW, LFUSE_RULE_LAMB, LFUSE_RULE_NOVOGRAD };
    static double fused[ALL], other[ALL], of_fused[MOST_STATES * ALL], of_other[MOST_STATES * ALL];
    size_t i;
    int level;

    for (i = 0; i < sizeof rules / sizeof *rules; i++) {
        lfuse_optimizer_options options = options_of(rules[i], 0);
        memset(of_fused, 0, sizeof of_fused);
        memset(of_other, 0, sizeof of_other);
        run(device, &options, LFUSE_F32, MEMBERS, sizes, fused, of_fused);
        for (level = LFUSE_OPTIM_FOREACH; level <= LFUSE_OPTIM_LOOP; level++) {
            options.level = (lfuse_optimizer_level)level;
            run(device, &options, LFUSE_F32, MEMBERS, sizes, other, of_other);
            same(fused, other, ALL, level == LFUSE_OPTIM_LOOP ? "loop" : "foreach");
            same(of_fused, of_other, MOST_STATES * ALL, "states");
        }
    }
}

START_TEST(levels_give_equal_bits) { on_every_device(levels); }
END_TEST

static void member_alone(lfuse_device *device)
{
    static double together[ALL], alone[ALL];
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAMW, 0);

    run(device, &options, LFUSE_F32, MEMBERS, sizes, together, NULL);
    run(device, &options, LFUSE_F32, 1, sizes, alone, NULL); /* the formula of elements knows the member's number */
    same(together, alone, sizes[0], "a list of one");
}

START_TEST(lists_equal_loops) { on_every_device(member_alone); }
END_TEST

static uint64_t launches_of_step(const model *m, lfuse_optimizer *o)
{
    uint64_t before;

    model_step(m, o, 1);
    model_gradients(m, 2, 1);
    before = launches_of(m->device);
    OK(lfuse_optimizer_step(o, m->stream, 1, &m->gradients, NULL));
    return launches_of(m->device) - before;
}

static void count_launches(lfuse_device *device)
{
    lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAMW, LFUSE_OPTIM_AMSGRAD | LFUSE_OPTIM_ZERO_GRADIENTS |
                                                                       LFUSE_OPTIM_AVERAGE);
    uint64_t counts[3];
    lfuse_group group;
    lfuse_optimizer *o;
    model m;
    int level;

    model_make(&m, device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    group = group_of(&m, LFUSE_RULE_ADAMW);
    for (level = LFUSE_OPTIM_FUSED; level <= LFUSE_OPTIM_LOOP; level++) {
        options.level = (lfuse_optimizer_level)level;
        o = optimizer_of(&m, &options, &group);
        counts[level] = launches_of_step(&m, o);
        lfuse_optimizer_destroy(o);
    }
    ck_assert_uint_eq(counts[LFUSE_OPTIM_FUSED], 1);
    ck_assert_uint_gt(counts[LFUSE_OPTIM_FOREACH], 10);
    ck_assert_uint_eq(counts[LFUSE_OPTIM_LOOP], (MEMBERS - 1) * counts[LFUSE_OPTIM_FOREACH]); /* one is empty */
    model_drop(&m);
}

START_TEST(one_launch_a_step) { on_every_device(count_launches); }
END_TEST

/* ---- types ---- */

static void mixed(lfuse_device *device)
{
    static const lfuse_type types[] = { LFUSE_F16, LFUSE_BF16, LFUSE_F32 };
    static double p[ALL], want[ALL], master[ALL], state[ALL];
    int i, k, t;

    for (i = 0; i < 9; i++) {
        lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAMW, LFUSE_OPTIM_MASTERS);
        lfuse_group group;
        lfuse_optimizer *o;
        model m;
        options.gradient_type = types[i / 3];
        options.state_type = types[(i + 1) % 3];
        model_make(&m, device, types[i % 3], types[i / 3], MEMBERS, sizes);
        group = group_of(&m, LFUSE_RULE_ADAMW);
        o = optimizer_of(&m, &options, &group);
        for (t = 1; t <= STEPS; t++) model_step(&m, o, t);
        model_parameters(&m, p);
        model_state(&m, o, "exp_avg", state);
        if (types[i % 3] != LFUSE_F32) model_state(&m, o, "master", master);
        for (k = 0; k < ALL && types[i % 3] != LFUSE_F32; k++) {
            const double ulp = types[i % 3] == LFUSE_F16 ? 0x1p-11 : 0x1p-8;
            ck_assert_msg(fabs(p[k] - master[k]) <= ulp * fabs(master[k]) + 0x1p-25, "%s: element %d is %.9g, its "
                          "master %.9g", device_name, k, p[k], master[k]);
        }
        /* With masters, and states of f32, the types of parameters and gradients change nothing: all data is exact. */
        if (options.state_type == LFUSE_F32 && types[i % 3] != LFUSE_F32) {
            options = options_of(LFUSE_RULE_ADAMW, 0);
            run(device, &options, LFUSE_F32, MEMBERS, sizes, want, NULL);
            same(master, want, ALL, "masters");
        }
        lfuse_optimizer_destroy(o);
        model_drop(&m);
    }
}

START_TEST(types_in_memory) { on_every_device(mixed); }
END_TEST

/* ---- around the rule ---- */

static void averages(lfuse_device *device)
{
    static double before[ALL], after[ALL], average[ALL];
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_SGD,
                                                       LFUSE_OPTIM_AVERAGE | LFUSE_OPTIM_ZERO_GRADIENTS);
    lfuse_group group;
    lfuse_optimizer *o;
    double zeros[16];
    model m;
    int i;

    model_make(&m, device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    group = group_of(&m, LFUSE_RULE_SGD);
    group.hyper.lr = 0.5;
    group.hyper.ema_decay = 0.75;
    o = optimizer_of(&m, &options, &group);
    model_parameters(&m, before);
    model_step(&m, o, 1);
    model_parameters(&m, after);
    model_state(&m, o, "average", average);
    for (i = 0; i < ALL; i++) ck_assert_double_eq(average[i], before[i] + 0.25 * (after[i] - before[i])); /* exact */
    read_all(&m, m.g[0], zeros);
    for (i = 0; i < sizes[0]; i++) ck_assert_double_eq(zeros[i], 0);
    lfuse_optimizer_destroy(o);
    model_drop(&m);
}

START_TEST(averages_and_zeroed_gradients) { on_every_device(averages); }
END_TEST

static void scaled(lfuse_device *device)
{
    static double want[ALL], got[ALL];
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_SGD, LFUSE_OPTIM_GRAD_SCALE);
    const float scale = 1024;
    lfuse_step_inputs inputs = { 0 };
    lfuse_tensor *tensor;
    lfuse_group group;
    lfuse_optimizer *o;
    model m;

    run(device, &(lfuse_optimizer_options){ .rule = LFUSE_RULE_SGD }, LFUSE_F32, MEMBERS, sizes, want, NULL);
    model_make(&m, device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    group = group_of(&m, LFUSE_RULE_SGD);
    group.hyper.momentum = 0.5;
    o = optimizer_of(&m, &options, &group);
    OK(lfuse_tensor_create(device, LFUSE_F32, 0, NULL, &tensor));
    OK(lfuse_tensor_write(tensor, NULL, &scale));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_step(o, m.stream, 1, &m.gradients, NULL));
    inputs.grad_scale = tensor;
    for (int t = 1; t <= STEPS; t++) {
        model_gradients(&m, t, scale);
        OK(lfuse_optimizer_step(o, m.stream, 1, &m.gradients, &inputs));
    }
    model_parameters(&m, got);
    same(got, want, ALL, "scaled gradients");
    lfuse_tensor_destroy(tensor);
    lfuse_optimizer_destroy(o);
    model_drop(&m);
}

START_TEST(scaled_gradients) { on_every_device(scaled); }
END_TEST

/* Less than 8 MB. */
static void paged(lfuse_device *device)
{
    static double want[ALL], got[ALL];
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAM, LFUSE_OPTIM_PAGED);
    const lfuse_optimizer_options plain = options_of(LFUSE_RULE_ADAM, 0);
    lfuse_device_info info;
    lfuse_optimizer *o;
    lfuse_group group;
    model m;

    OK(lfuse_device_get_info(device, &info));
    if (info.svm) {
        run(device, &plain, LFUSE_F32, MEMBERS, sizes, want, NULL);
        run(device, &options, LFUSE_F32, MEMBERS, sizes, got, NULL);
        same(got, want, ALL, "states in shared memory");
        return;
    }
    model_make(&m, device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    group = group_of(&m, LFUSE_RULE_ADAM);
    FAILS(LFUSE_ERR_UNSUPPORTED, lfuse_optimizer_create(device, &options, 1, &group, &o));
    model_drop(&m);
}

START_TEST(states_in_shared_memory) { on_every_device(paged); }
END_TEST

/* ---- numbers in device memory ---- */

static lfuse_tensor *number(lfuse_device *device, float x)
{
    lfuse_tensor *t;

    OK(lfuse_tensor_create(device, LFUSE_F32, 0, NULL, &t));
    OK(lfuse_tensor_write(t, NULL, &x));
    return t;
}

/* Count, rate and powers on the device give the host's bits; a step that found_inf stops changes nothing. */
static void counted(lfuse_device *device)
{
    static const lfuse_rule rules[] = { LFUSE_RULE_ADAMW, LFUSE_RULE_NADAM, LFUSE_RULE_SGD };
    static double want[ALL], got[ALL], before[MOST_STATES * ALL], after[MOST_STATES * ALL];
    lfuse_device_info info;
    size_t i;
    int t, k;

    OK(lfuse_device_get_info(device, &info));
    for (i = 0; i < sizeof rules / sizeof *rules && info.f64; i++) {
        const lfuse_optimizer_options options = options_of(rules[i], LFUSE_OPTIM_FOUND_INF | LFUSE_OPTIM_LR_TENSOR |
                                                                         LFUSE_OPTIM_AVERAGE);
        lfuse_step_inputs inputs = { .lr = number(device, 0.0625f), .found_inf = number(device, 0) };
        lfuse_step_inputs overflowed = { .lr = inputs.lr, .found_inf = number(device, 1) };
        const lfuse_optimizer_options plain = options_of(rules[i], 0);
        lfuse_optimizer *o, *host;
        lfuse_group group;
        int64_t steps, n;
        model m, h;

        model_make(&m, device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
        model_make(&h, device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
        group = group_of(&h, rules[i]);
        group.hyper.lr = 0.0625;
        if (rules[i] == LFUSE_RULE_SGD) group.hyper.momentum = 0.5;
        host = optimizer_of(&h, &plain, &group);
        group.parameters = m.parameters;
        group.hyper.lr = 123;
        group.hyper.ema_decay = 0.5;
        o = optimizer_of(&m, &options, &group);
        FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_step(o, m.stream, 1, &m.gradients, NULL));
        for (t = 1; t <= STEPS; t++) {
            model_gradients(&m, t, 1);
            OK(lfuse_optimizer_step(o, m.stream, 1, &m.gradients, &inputs));
            model_step(&h, host, t);
            model_parameters(&m, want);
            for (n = 0, k = 0; k < lfuse_optimizer_state_count(o); k++)
                n += model_state(&m, o, lfuse_optimizer_state_name(o, k), before + n);
            model_gradients(&m, t, INFINITY); /* and NaN, where the gradient is 0 */
            OK(lfuse_optimizer_step(o, m.stream, 1, &m.gradients, &overflowed));
            model_parameters(&m, got);
            same(got, want, ALL, "a step that found an infinity");
            for (n = 0, k = 0; k < lfuse_optimizer_state_count(o); k++)
                n += model_state(&m, o, lfuse_optimizer_state_name(o, k), after + n);
            same(before, after, n, "states after a step that found an infinity");
        }
        OK(lfuse_optimizer_get_steps(o, &steps));
        ck_assert_int_eq(steps, STEPS);
        model_parameters(&h, want);
        if (info.exact) same(got, want, ALL, "counted on the device");
        lfuse_tensor_destroy(inputs.lr);
        inputs.lr = m.p[0];
        FAILS(LFUSE_ERR_TYPE, lfuse_optimizer_step(o, m.stream, 1, &m.gradients, &inputs));
        lfuse_tensor_destroy(inputs.found_inf);
        lfuse_tensor_destroy(overflowed.found_inf);
        lfuse_optimizer_destroy(o);
        lfuse_optimizer_destroy(host);
        model_drop(&m);
        model_drop(&h);
    }
}

START_TEST(counted_on_the_device) { on_every_device(counted); }
END_TEST

/* Scaled gradients, one of them infinite in step 2: found, and the step stopped, without the host's knowing. */
static void overflowed(lfuse_device *device)
{
    enum { SCALE = 1024, BAD = 2 };
    static double want[ALL], got[ALL];
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAMW, LFUSE_OPTIM_FOUND_INF);
    const lfuse_optimizer_options plain = options_of(LFUSE_RULE_ADAMW, 0);
    lfuse_device_info info;
    lfuse_optimizer *o, *host;
    lfuse_group group;
    int64_t steps;
    model m, h;
    int t;

    OK(lfuse_device_get_info(device, &info));
    if (!info.f64) return;
    model_make(&m, device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    model_make(&h, device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    group = group_of(&m, LFUSE_RULE_ADAMW);
    o = optimizer_of(&m, &options, &group);
    group.parameters = h.parameters;
    host = optimizer_of(&h, &plain, &group);
    for (t = 1; t <= STEPS; t++) {
        lfuse_step_inputs inputs = { .found_inf = number(device, 0) };
        const float infinite = INFINITY;
        model_gradients(&m, t, SCALE);
        OK(lfuse_stream_synchronize(m.stream));
        if (t == BAD) OK(lfuse_tensor_write(m.g[3], NULL, &infinite));
        OK(lfuse_foreach_unscale(m.stream, m.gradients, m.gradients, lfuse_operand_number(1.0 / SCALE),
                                 inputs.found_inf));
        OK(lfuse_optimizer_step(o, m.stream, 1, &m.gradients, &inputs));
        if (t != BAD) model_step(&h, host, t);
        OK(lfuse_stream_synchronize(m.stream));
        lfuse_tensor_destroy(inputs.found_inf);
    }
    OK(lfuse_optimizer_get_steps(o, &steps));
    ck_assert_int_eq(steps, STEPS - 1);
    model_parameters(&m, got);
    model_parameters(&h, want);
    if (info.exact) same(got, want, ALL, "after a gradient that overflowed");
    lfuse_optimizer_destroy(o);
    lfuse_optimizer_destroy(host);
    model_drop(&m);
    model_drop(&h);
}

START_TEST(gradients_that_overflow) { on_every_device(overflowed); }
END_TEST

/* A recorded step that counts on the device goes on counting when it is replayed. */
static void replayed(lfuse_device *device)
{
    static double want[ALL], got[ALL];
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAMW, LFUSE_OPTIM_DEVICE_STEPS);
    const lfuse_optimizer_options plain = options_of(LFUSE_RULE_ADAMW, 0);
    lfuse_recording *recording;
    lfuse_device_info info;
    lfuse_optimizer *o;
    lfuse_group group;
    int64_t steps;
    model m;
    int t;

    OK(lfuse_device_get_info(device, &info));
    if (!info.f64) return;
    run(device, &plain, LFUSE_F32, MEMBERS, sizes, want, NULL);
    model_make(&m, device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    group = group_of(&m, LFUSE_RULE_ADAMW);
    o = optimizer_of(&m, &options, &group);
    model_step(&m, o, 1);
    OK(lfuse_stream_synchronize(m.stream));
    OK(lfuse_record_begin(m.stream));
    OK(lfuse_optimizer_step(o, m.stream, 1, &m.gradients, NULL));
    OK(lfuse_record_end(m.stream, &recording));
    for (t = 2; t <= STEPS; t++) {
        model_gradients(&m, t, 1);
        OK(lfuse_recording_replay(recording, m.stream, NULL, 0));
    }
    model_parameters(&m, got);
    if (info.exact) same(got, want, ALL, "replayed");
    OK(lfuse_optimizer_get_steps(o, &steps));
    ck_assert_int_eq(steps, STEPS);
    lfuse_recording_destroy(recording);
    lfuse_optimizer_destroy(o);
    model_drop(&m);
}

START_TEST(replays_count_on) { on_every_device(replayed); }
END_TEST

/* ---- groups, numbers, states ---- */

static void groups(lfuse_device *device)
{
    static double together[ALL], want[ALL];
    static const int64_t second[2] = { 700, 5 };
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAM, LFUSE_OPTIM_MASTERS);
    lfuse_group group[2];
    lfuse_list *gradients[2];
    lfuse_hyper hyper;
    lfuse_optimizer *o;
    lfuse_tensor *state;
    model a, b;
    int t;

    model_make(&a, device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    model_make(&b, device, LFUSE_BF16, LFUSE_BF16, 2, second);
    group[0] = group_of(&a, LFUSE_RULE_ADAM);
    group[1] = group_of(&b, LFUSE_RULE_ADAM);
    group[1].hyper.lr = 0.25;
    OK(lfuse_optimizer_create(device, &options, 2, group, &o));
    gradients[0] = a.gradients;
    gradients[1] = b.gradients;
    for (t = 1; t <= STEPS; t++) {
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
    lfuse_optimizer_destroy(o);
    model_drop(&a);
    model_drop(&b);
}

START_TEST(groups_of_two_types) { on_every_device(groups); }
END_TEST

/*
 * Groups of one type in one launch, each with its own numbers, beside the numbers that are in device memory: the bits
 * of an optimizer for each.
 */
static void one_type(lfuse_device *device)
{
    enum { GROUPS = 11 };
    static const struct {
        lfuse_rule rule;
        unsigned switches;
        uint64_t launches; /* 0: not looked at */
    } cases[] = {
        { LFUSE_RULE_ADAMW, 0, 2 }, { LFUSE_RULE_NADAM, 0, 2 }, { LFUSE_RULE_LAMB, 0, 0 },
        { LFUSE_RULE_ADAMW, LFUSE_OPTIM_DEVICE_STEPS | LFUSE_OPTIM_LR_TENSOR, 4 },
        { LFUSE_RULE_ADAM, LFUSE_OPTIM_FOUND_INF, 4 }, { LFUSE_RULE_NADAM, LFUSE_OPTIM_DEVICE_STEPS, 0 },
    };
    static double got[ALL], want[ALL];
    lfuse_list *gradients[GROUPS];
    lfuse_optimizer *o, *alone[GROUPS];
    lfuse_group group[GROUPS];
    model m[GROUPS], same_model[GROUPS];
    lfuse_device_info info;
    uint64_t before = 0;
    size_t r;
    int i, t;

    OK(lfuse_device_get_info(device, &info));
    for (r = 0; r < sizeof cases / sizeof *cases; r++) {
        const lfuse_optimizer_options options = options_of(cases[r].rule, cases[r].switches | LFUSE_OPTIM_AVERAGE);
        if (cases[r].switches && !info.f64) continue;
        lfuse_tensor *lr = number(device, 0.0625f), *found[2] = { number(device, 0), number(device, 1) };
        lfuse_step_inputs inputs = { .lr = cases[r].switches & LFUSE_OPTIM_LR_TENSOR ? lr : NULL };
        for (i = 0; i < GROUPS; i++) {
            model_make(&m[i], device, LFUSE_F32, LFUSE_F32, i == 3 ? 0 : 2, sizes + 3);
            model_make(&same_model[i], device, LFUSE_F32, LFUSE_F32, i == 3 ? 0 : 2, sizes + 3);
            group[i] = group_of(&same_model[i], cases[r].rule);
            group[i].hyper.lr = 0.25 / (1 + i);
            group[i].hyper.beta1 = 0.5 + 0.03 * i;
            group[i].hyper.ema_decay = 0.07 * i;
            alone[i] = optimizer_of(&same_model[i], &options, &group[i]);
            group[i].parameters = m[i].parameters;
            gradients[i] = m[i].gradients;
        }
        OK(lfuse_optimizer_create(device, &options, GROUPS, group, &o));
        for (t = 1; t <= STEPS; t++) {
            if (t == 3) { /* one group's gradients move, and another's list is a new one */
                OK(lfuse_list_replace(m[1].gradients, 0, 2, same_model[1].g));
                gradients[2] = same_model[2].gradients;
            }
            if (cases[r].switches & LFUSE_OPTIM_FOUND_INF) inputs.found_inf = found[t == 2];
            OK(lfuse_stream_synchronize(m[0].stream));
            for (i = 0; i < GROUPS; i++) {
                model_gradients(&m[i], t, 1);
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
        for (i = 0; i < GROUPS; i++) {
            const int64_t n = model_parameters(&m[i], got);
            model_parameters(&same_model[i], want);
            same(got, want, n, "a group of eleven");
            lfuse_optimizer_destroy(alone[i]);
        }
        lfuse_optimizer_destroy(o);
        lfuse_tensor_destroy(lr);
        lfuse_tensor_destroy(found[0]);
        lfuse_tensor_destroy(found[1]);
        for (i = 0; i < GROUPS; i++) {
            model_drop(&m[i]);
            model_drop(&same_model[i]);
        }
    }
}

START_TEST(groups_of_one_type) { on_every_device(one_type); }
END_TEST

/* Copies parameters and states of one optimizer to another one of an equal model. */
static void put_back(const model *from, lfuse_optimizer *a, const model *to, lfuse_optimizer *b)
{
    lfuse_tensor *x, *y;
    int64_t steps;
    int i, k;

    OK(lfuse_stream_synchronize(from->stream));
    for (i = 0; i < from->members; i++) {
        OK(lfuse_tensor_copy(to->p[i], from->p[i], NULL));
        for (k = 0; k < lfuse_optimizer_state_count(a); k++) {
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

static void resume(lfuse_device *device)
{
    static const lfuse_rule rules[] = { LFUSE_RULE_SGD, LFUSE_RULE_NADAM };
    static double first[ALL], second[ALL];
    lfuse_optimizer *o[2];
    lfuse_group group;
    model m[2];
    int i, k, t;

    for (i = 0; i < 2; i++) {
        const lfuse_optimizer_options options = options_of(rules[i], 0);
        for (k = 0; k < 2; k++) {
            model_make(&m[k], device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
            group = group_of(&m[k], rules[i]);
            if (rules[i] == LFUSE_RULE_SGD) group.hyper.momentum = 0.9;
            o[k] = optimizer_of(&m[k], &options, &group);
        }
        for (t = 1; t <= 3; t++) model_step(&m[0], o[0], t);
        put_back(&m[0], o[0], &m[1], o[1]);
        for (t = 4; t <= 6; t++) {
            model_step(&m[0], o[0], t);
            model_step(&m[1], o[1], t);
        }
        model_parameters(&m[0], first);
        model_parameters(&m[1], second);
        same(first, second, ALL, "resumed");
        for (k = 0; k < 2; k++) {
            lfuse_optimizer_destroy(o[k]);
            model_drop(&m[k]);
        }
    }
}

START_TEST(states_put_back) { on_every_device(resume); }
END_TEST

/* Gradients in new memory, and in another list; a parameter that moved. */
static void moved(lfuse_device *device)
{
    static double want[ALL], got[ALL];
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAM, 0);
    lfuse_optimizer *o;
    lfuse_group group;
    model m, other;
    int t;

    run(device, &options, LFUSE_F32, MEMBERS, sizes, want, NULL);
    model_make(&m, device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    model_make(&other, device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    group = group_of(&m, LFUSE_RULE_ADAM);
    o = optimizer_of(&m, &options, &group);
    for (t = 1; t <= STEPS; t++) {
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
    lfuse_optimizer_destroy(o);
    model_drop(&other);
    model_drop(&m);
}

START_TEST(addresses_that_move) { on_every_device(moved); }
END_TEST

/* ---- a rule of the program's own ---- */

/* Adam as a program writes it over lists: the same launch, the same bits as the one in the library. */
static void own(lfuse_device *device)
{
    static double want[ALL], got[ALL];
    const double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_value p = lfuse_list_input(g, "p", LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value d = lfuse_list_input(g, "g", LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value m0 = lfuse_list_input(g, "m", LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value v0 = lfuse_list_input(g, "v", LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value one = lfuse_constant(g, 1), t = lfuse_scalar(g, "t");
    const lfuse_value b1 = lfuse_constant(g, beta1), b2 = lfuse_constant(g, beta2);
    const lfuse_value m1 = lfuse_lerp(m0, d, lfuse_sub(one, b1));
    const lfuse_value v1 = lfuse_addcmul(lfuse_mul(v0, b2), d, d, lfuse_sub(one, b2));
    const lfuse_value rate = lfuse_div(lfuse_constant(g, lr), lfuse_sub(one, lfuse_pow(b1, t)));
    const lfuse_value root = lfuse_div(lfuse_sqrt(v1), lfuse_sqrt(lfuse_sub(one, lfuse_pow(b2, t))));
    const lfuse_value step = lfuse_div(m1, lfuse_add(root, lfuse_constant(g, eps)));
    model of, moments;
    lfuse_plan *plan;
    uint64_t before = 0;
    int i, k;

    lfuse_update(p, lfuse_sub(p, lfuse_mul(rate, step)));
    lfuse_update(m0, m1);
    lfuse_update(v0, v1);
    run(device, &(lfuse_optimizer_options){ .rule = LFUSE_RULE_ADAM }, LFUSE_F32, MEMBERS, sizes, want, NULL);
    OK(lfuse_plan_create(device, g, NULL, &plan));
    model_make(&of, device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    model_make(&moments, device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    for (i = 0; i < MEMBERS; i++) {
        OK(lfuse_tensor_fill(moments.p[i], NULL, 0));
        OK(lfuse_tensor_fill(moments.g[i], NULL, 0));
    }
    for (k = 1; k <= STEPS; k++) {
        const lfuse_binding b[] = { lfuse_bind_list("p", of.parameters), lfuse_bind_list("g", of.gradients),
                                    lfuse_bind_list("m", moments.parameters), lfuse_bind_list("v", moments.gradients),
                                    lfuse_bind_number("t", k) };
        model_gradients(&of, k, 1);
        before = launches_of(device);
        OK(lfuse_plan_run(plan, of.stream, b, 5));
    }
    ck_assert_uint_eq(launches_of(device) - before, 1);
    model_parameters(&of, got);
    same(got, want, ALL, "a rule of the program's own");
    model_drop(&of);
    model_drop(&moments);
    lfuse_plan_destroy(plan);
    lfuse_graph_destroy(g);
}

START_TEST(a_rule_of_ones_own) { on_every_device(own); }
END_TEST

/* ---- what is refused ---- */

static lfuse_status creates(const lfuse_optimizer_options *options, const lfuse_group *group)
{
    lfuse_optimizer *o = NULL;
    const lfuse_status status = lfuse_optimizer_create(devices[0], options, 1, group, &o);

    ck_assert(status == LFUSE_OK || o == NULL);
    lfuse_optimizer_destroy(o);
    return status;
}

/* ---- matrices: a number a row and a column ---- */

static const int64_t of_matrices[] = { 7, 6, 4000, 1030, 12, 0 }, their_columns[] = { 0, 3, 50, 2, 12, 0 };
enum { MATRICES = sizeof of_matrices / sizeof *of_matrices };

static uint64_t factored(lfuse_device *device, lfuse_optimizer_level level, int members, double *all)
{
    lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAFACTOR, LFUSE_OPTIM_AVERAGE);
    lfuse_optimizer *o;
    lfuse_group group;
    uint64_t launches;
    model m;
    int t;

    model_make_shaped(&m, device, LFUSE_F32, LFUSE_F32, members, of_matrices, their_columns);
    options.level = level;
    group = group_of(&m, LFUSE_RULE_ADAFACTOR);
    group.hyper.ema_decay = 0.5;
    o = optimizer_of(&m, &options, &group);
    for (t = 1; t <= 3; t++) model_step(&m, o, t);
    launches = launches_of_step(&m, o);
    all += model_parameters(&m, all);
    all += model_state(&m, o, "row_var", all);
    all += model_state(&m, o, "col_var", all);
    model_state(&m, o, "average", all);
    lfuse_optimizer_destroy(o);
    model_drop(&m);
    return launches;
}

static void matrices(lfuse_device *device)
{
    static double fused[4 * MOST_ELEMENTS], other[4 * MOST_ELEMENTS];
    uint64_t launches;

    memset(fused, 0, sizeof fused);
    memset(other, 0, sizeof other);
    launches = factored(device, LFUSE_OPTIM_FUSED, MATRICES, fused);
    ck_assert_msg(launches <= 16, "%s: %d launches", device_name, (int)launches);
    ck_assert_uint_eq(factored(device, LFUSE_OPTIM_FUSED, 2, other), launches);
    memset(other, 0, sizeof other);
    factored(device, LFUSE_OPTIM_FOREACH, MATRICES, other);
    ck_assert_mem_eq(fused, other, sizeof fused);
    memset(other, 0, sizeof other);
    factored(device, LFUSE_OPTIM_LOOP, MATRICES, other);
    ck_assert_mem_eq(fused, other, sizeof fused);
}

START_TEST(matrices_are_factored) { on_every_device(matrices); }
END_TEST

START_TEST(gradients_of_another_shape)
{
    static const int64_t elements[] = { 6 }, three[] = { 3 }, two[] = { 2 };
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAFACTOR, 0);
    lfuse_optimizer *o;
    lfuse_group group;
    model m, other;

    model_make_shaped(&m, devices[0], LFUSE_F32, LFUSE_F32, 1, elements, three);
    model_make_shaped(&other, devices[0], LFUSE_F32, LFUSE_F32, 1, elements, two);
    group = group_of(&m, LFUSE_RULE_ADAFACTOR);
    o = optimizer_of(&m, &options, &group);
    rig_fails(lfuse_optimizer_step(o, m.stream, 1, &other.gradients, NULL), LFUSE_ERR_SHAPE, "step");
    ck_assert_msg(strstr(lfuse_last_error(), "2 x 3"), "%s", lfuse_last_error());
    model_step(&m, o, 1);
    lfuse_optimizer_destroy(o);
    model_drop(&other);
    model_drop(&m);
}
END_TEST

START_TEST(bad_numbers)
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
    size_t i;
    model m;

    model_make(&m, devices[0], LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        const lfuse_optimizer_options options = options_of(bad[i].rule, 0);
        lfuse_group group = group_of(&m, bad[i].rule);
        memcpy((char *)&group.hyper + bad[i].field, &bad[i].value, sizeof(double));
        ck_assert_msg(creates(&options, &group) == LFUSE_ERR_INVALID, "number %zu is taken", i);
        ck_assert_ptr_nonnull(strstr(lfuse_last_error(), "group 0"));
    }
    FAILS(LFUSE_ERR_INVALID, lfuse_hyper_defaults((lfuse_rule)0, &hyper));
    FAILS(LFUSE_ERR_INVALID, lfuse_hyper_defaults((lfuse_rule)99, &hyper));
    FAILS(LFUSE_ERR_INVALID, lfuse_hyper_defaults(LFUSE_RULE_SGD, (lfuse_hyper *)unset));
    ck_assert_str_eq(lfuse_rule_name((lfuse_rule)99), "?");
    ck_assert_str_eq(lfuse_rule_name(LFUSE_RULE_ADAMW), "adamw");
    model_drop(&m);
}
END_TEST

START_TEST(bad_options)
{
    static const int64_t few[1] = { 3 };
    lfuse_optimizer_options options = options_of(LFUSE_RULE_SGD, 0);
    lfuse_optimizer *o;
    lfuse_tensor *whole;
    lfuse_group group, none;
    lfuse_list *integers;
    model m;

    model_make(&m, devices[0], LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
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
    options.clip = LFUSE_CLIP_GLOBAL_NORM;
    options.clip_limit = 1;
    options.level = LFUSE_OPTIM_LOOP;
    FAILS(LFUSE_ERR_UNSUPPORTED, creates(&options, &group));
    options = options_of(LFUSE_RULE_SGD, 0);
    options.level = (lfuse_optimizer_level)3;
    FAILS(LFUSE_ERR_INVALID, creates(&options, &group));
    options = options_of(LFUSE_RULE_SGD, 0);
    options.state_type = LFUSE_I32;
    FAILS(LFUSE_ERR_TYPE, creates(&options, &group));
    OK(lfuse_tensor_create(devices[0], LFUSE_I32, 1, few, &whole));
    OK(lfuse_list_create(devices[0], LFUSE_I32, 1, &whole, &integers));
    none.parameters = integers;
    options = options_of(LFUSE_RULE_SGD, 0);
    FAILS(LFUSE_ERR_TYPE, creates(&options, &none));
    lfuse_list_destroy(integers);
    lfuse_tensor_destroy(whole);
    model_drop(&m);
}
END_TEST

/* What is refused launches nothing and changes nothing. */
START_TEST(bad_steps)
{
    static double before[ALL], after[ALL];
    static const int64_t longer[MEMBERS] = { 3, 0, 2501, 1, 1024, 130 };
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_SGD, 0);
    lfuse_step_inputs inputs = { 0 };
    lfuse_list *nothing = NULL;
    lfuse_optimizer *o;
    lfuse_hyper hyper;
    lfuse_group group;
    uint64_t launches;
    int64_t steps;
    model m, short_one, long_one, half;

    model_make(&m, devices[0], LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    model_make(&short_one, devices[0], LFUSE_F32, LFUSE_F32, MEMBERS - 1, sizes);
    model_make(&long_one, devices[0], LFUSE_F32, LFUSE_F32, MEMBERS, longer);
    model_make(&half, devices[0], LFUSE_F16, LFUSE_F16, MEMBERS, sizes);
    group = group_of(&m, LFUSE_RULE_SGD);
    group.hyper.momentum = 0.9;
    o = optimizer_of(&m, &options, &group);
    model_step(&m, o, 1);
    model_parameters(&m, before);
    launches = launches_of(devices[0]);
    inputs.grad_scale = m.p[3];
    FAILS(LFUSE_ERR_SHAPE, lfuse_optimizer_step(o, m.stream, 1, &short_one.gradients, NULL));
    FAILS(LFUSE_ERR_SHAPE, lfuse_optimizer_step(o, m.stream, 1, &long_one.gradients, NULL));
    ck_assert_ptr_nonnull(strstr(lfuse_last_error(), "parameter 2 has 2500"));
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
    lfuse_optimizer_destroy(o);
    lfuse_optimizer_destroy(NULL);
    model_drop(&m);
    model_drop(&short_one);
    model_drop(&long_one);
    model_drop(&half);
}
END_TEST

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
    int i;

    for (i = 0; i < 2; i++) {
        model_make(&x->m[i], devices[0], types[i], types[i], MEMBERS, sizes);
        group[i] = group_of(&x->m[i], LFUSE_RULE_LAMB);
        x->gradients[i] = x->m[i].gradients;
        model_gradients(&x->m[i], 1, 1);
        OK(lfuse_stream_synchronize(x->m[i].stream));
        model_parameters(&x->m[i], x->before[i]);
    }
    OK(lfuse_optimizer_create(devices[0], &options, 2, group, &x->o));
}

/* A step; where it is refused, it has launched and changed nothing. */
static lfuse_status two_step(two_plans *x, lfuse_list *const *gradients)
{
    static double after[ALL];
    const uint64_t launches = launches_of(devices[0]);
    int64_t steps;
    lfuse_status status = lfuse_optimizer_step(x->o, x->m[0].stream, 2, gradients, NULL);
    int i;

    lfuse__stub_no_failure();
    if (!status) return LFUSE_OK;
    ck_assert_uint_eq(launches_of(devices[0]), launches);
    OK(lfuse_optimizer_get_steps(x->o, &steps));
    ck_assert_int_eq(steps, 0);
    for (i = 0; i < 2; i++) {
        model_parameters(&x->m[i], after);
        same(after, x->before[i], ALL, "after a step of two plans that was refused");
    }
    return status;
}

static void two_drop(two_plans *x)
{
    lfuse_optimizer_destroy(x->o);
    model_drop(&x->m[0]);
    model_drop(&x->m[1]);
}

/* What the second plan is refused is known before the first is launched. */
START_TEST(refused_by_one_of_two_plans)
{
    static const lfuse__stub_slot slots[] = { LFUSE__STUB_program_build, LFUSE__STUB_kernel_create, LFUSE__STUB_alloc,
                                              LFUSE__STUB_write };
    static two_plans x;
    int refusals = 0, nth;
    bool refused;
    size_t i;

    for (i = 0; i < sizeof slots / sizeof *slots; i++) {
        for (nth = 1, refused = true; refused && nth < 100; nth++) {
            two_make(&x);
            if (i == 0 && nth == 1) {
                lfuse_list *const over[2] = { x.gradients[0], x.m[1].parameters };
                FAILS(LFUSE_ERR_OVERLAP, two_step(&x, over));
            }
            lfuse__stub_fail(slots[i], (uint64_t)nth, false, LFUSE_ERR_DEVICE_MEMORY);
            refused = two_step(&x, x.gradients) != LFUSE_OK;
            refusals += refused;
            two_drop(&x);
        }
        ck_assert(!refused);
    }
    ck_assert_int_gt(refusals, 8); /* both plans have kernels and tables to make */
}
END_TEST

START_TEST(lists_of_two_devices)
{
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_SGD, 0);
    lfuse_device *other;
    lfuse_optimizer *o;
    lfuse_group group, strange;
    model m, far;

    OK(lfuse_device_open("stub:0", &other));
    model_make(&m, devices[0], LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    model_make(&far, other, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    group = group_of(&m, LFUSE_RULE_SGD);
    strange = group_of(&far, LFUSE_RULE_SGD);
    FAILS(LFUSE_ERR_CONTEXT, creates(&options, &strange));
    o = optimizer_of(&m, &options, &group);
    FAILS(LFUSE_ERR_CONTEXT, lfuse_optimizer_step(o, m.stream, 1, &far.gradients, NULL));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_optimizer_step(o, far.stream, 1, &m.gradients, NULL));
    lfuse_optimizer_destroy(o);
    model_drop(&m);
    model_drop(&far);
    lfuse_device_close(other);
}
END_TEST

/* Whatever fails while an optimizer is made, nothing of it is left: closing checks that. */
START_TEST(failures_while_made)
{
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAM, LFUSE_OPTIM_AVERAGE);
    lfuse_optimizer *o = NULL;
    lfuse_group group;
    uint64_t nth;
    model m;

    model_make(&m, devices[0], LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    group = group_of(&m, LFUSE_RULE_ADAM);
    for (nth = 1; nth < 1000 && !o; nth++) {
        lfuse__stub_fail(LFUSE__STUB_ANY, nth, false, LFUSE_ERR_DEVICE);
        if (lfuse_optimizer_create(devices[0], &options, 1, &group, &o)) ck_assert_ptr_null(o);
    }
    lfuse__stub_no_failure();
    ck_assert_ptr_nonnull(o);
    ck_assert_uint_gt(nth, 3);
    lfuse_optimizer_destroy(o);
    model_drop(&m);
}
END_TEST

static Suite *suite_optimizer(void)
{
    Suite *s = suite_create("optim");
    TCase *t = tcase_create("optimizer");

    tcase_add_unchecked_fixture(t, open_devices, close_devices);
    tcase_add_test(t, one_launch_a_step);
    tcase_add_test(t, levels_give_equal_bits);
    tcase_add_test(t, lists_equal_loops);
    tcase_add_test(t, types_in_memory);
    tcase_add_test(t, averages_and_zeroed_gradients);
    tcase_add_test(t, scaled_gradients);
    tcase_add_test(t, states_in_shared_memory);
    tcase_add_test(t, counted_on_the_device);
    tcase_add_test(t, gradients_that_overflow);
    tcase_add_test(t, replays_count_on);
    tcase_add_test(t, groups_of_one_type);
    tcase_add_test(t, groups_of_two_types);
    tcase_add_test(t, states_put_back);
    tcase_add_test(t, addresses_that_move);
    tcase_add_test(t, a_rule_of_ones_own);
    tcase_add_test(t, matrices_are_factored);
    tcase_add_test(t, gradients_of_another_shape);
    tcase_add_test(t, bad_numbers);
    tcase_add_test(t, bad_options);
    tcase_add_test(t, bad_steps);
    tcase_add_test(t, refused_by_one_of_two_plans);
    tcase_add_test(t, lists_of_two_devices);
    tcase_add_test(t, failures_while_made);
    tcase_set_timeout(t, 0);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(CK_NOFORK, suite_optimizer)
