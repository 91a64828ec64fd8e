/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that a step reads on the device: its count, the rate, whether gradients overflowed, their scale. */
#include "tests/optim/run.h"

TEST_CASE("step", .before = open_devices, .after = close_devices)

/* Count, rate and powers on the device give the host's bits; a step that found_inf stops changes nothing. */
TEST_ON_DEVICES(counted_on_the_device, lfuse_device *device)
{
    static const lfuse_rule rules[] = { LFUSE_RULE_ADAMW, LFUSE_RULE_NADAM, LFUSE_RULE_SGD };
    static double want[ALL], got[ALL], before[MOST_STATES * ALL], after[MOST_STATES * ALL];
    int k;

    const lfuse_device_info info = info_of(device);
    for (size_t i = 0; i < sizeof rules / sizeof *rules && info.f64; i++) {
        const lfuse_optimizer_options options = options_of(rules[i], LFUSE_OPTIM_FOUND_INF | LFUSE_OPTIM_LR_TENSOR |
                                                                         LFUSE_OPTIM_AVERAGE);
        lfuse_step_inputs inputs = { .lr = number(device, 0.0625f), .found_inf = number(device, 0) };
        lfuse_step_inputs overflowed = { .lr = inputs.lr, .found_inf = number(device, 1) };
        const lfuse_optimizer_options plain = options_of(rules[i], 0);
        int64_t steps, n;

        model m = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
        model h = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
        lfuse_group group = group_of(&h, rules[i]);
        group.hyper.lr = 0.0625;
        if (rules[i] == LFUSE_RULE_SGD) group.hyper.momentum = 0.5;
        lfuse_optimizer *host = optimizer_of(&h, &plain, &group);
        group.parameters = m.parameters;
        group.hyper.lr = 123;
        group.hyper.ema_decay = 0.5;
        lfuse_optimizer *o = optimizer_of(&m, &options, &group);
        FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_step(o, m.stream, 1, &m.gradients, NULL));
        for (int t = 1; t <= STEPS; t++) {
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
        inputs.lr = m.p[0];
        FAILS(LFUSE_ERR_TYPE, lfuse_optimizer_step(o, m.stream, 1, &m.gradients, &inputs));
    }
}

/* Whatever carries the addresses, in however many launches, and with nothing to step: a step counts once. */
TEST_ON_DEVICES(every_transport_counts, lfuse_device *device)
{
    static const int64_t lists[][MOST_MEMBERS] = { { 0 }, { 0, 0, 0 },
                                                   { 5, 1, 0, 70, 4000, 2, 3, 1, 1, 1, 9, 1, 1, 8, 1 } };
    static const int members[] = { 0, 3, 15 };
    static double want[MOST_MEMBERS * MOST_ELEMENTS], got[MOST_MEMBERS * MOST_ELEMENTS];

    const lfuse_device_info info = info_of(device);
    for (int i = 0; i < 3 && info.f64; i++)
        for (int transport = LFUSE_TRANSPORT_ARGS; transport <= LFUSE_TRANSPORT_UNIFIED; transport++) {
            const lfuse_plan_options plan = { .transport = (lfuse_transport)transport };
            lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAMW, LFUSE_OPTIM_DEVICE_STEPS);
            int64_t steps;
            uint64_t launches = 0;
            if (transport == LFUSE_TRANSPORT_UNIFIED && !info.svm) continue;
            options.plan = &plan;
            model m = model_of(device, LFUSE_F32, LFUSE_F32, members[i], lists[i]);
            lfuse_group group = group_of(&m, LFUSE_RULE_ADAMW);
            lfuse_optimizer *o = optimizer_of(&m, &options, &group);
            for (int t = 1; t <= STEPS; t++) {
                model_gradients(&m, t, 1);
                launches = launches_of(device);
                OK(lfuse_optimizer_step(o, m.stream, 1, &m.gradients, NULL));
            }
            if (transport != LFUSE_TRANSPORT_ARGS) ck_assert_uint_eq(launches_of(device) - launches, 1);
            OK(lfuse_stream_synchronize(m.stream));
            OK(lfuse_optimizer_get_steps(o, &steps));
            ck_assert_int_eq(steps, STEPS);
            int64_t n = model_parameters(&m, got);
            options = options_of(LFUSE_RULE_ADAMW, 0);
            run(device, &options, LFUSE_F32, members[i], lists[i], want, NULL);
            if (info.exact) same(got, want, n, "counted with a transport");
        }
}

/* Scaled gradients, one of them infinite in step 2: found, and the step stopped, without the host's knowing. */
TEST_ON_DEVICES(gradients_that_overflow, lfuse_device *device)
{
    enum { SCALE = 1024, BAD = 2 };
    static double want[ALL], got[ALL];
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAMW, LFUSE_OPTIM_FOUND_INF);
    const lfuse_optimizer_options plain = options_of(LFUSE_RULE_ADAMW, 0);
    int64_t steps;

    const lfuse_device_info info = info_of(device);
    if (!info.f64) return;
    model m = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    model h = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    lfuse_group group = group_of(&m, LFUSE_RULE_ADAMW);
    lfuse_optimizer *o = optimizer_of(&m, &options, &group);
    group.parameters = h.parameters;
    lfuse_optimizer *host = optimizer_of(&h, &plain, &group);
    for (int t = 1; t <= STEPS; t++) {
        lfuse_step_inputs inputs = { .found_inf = number(device, 0) };
        const float infinite = INFINITY;
        model_gradients(&m, t, SCALE);
        OK(lfuse_stream_synchronize(m.stream));
        if (t == BAD) OK(lfuse_tensor_write(m.g[3], NULL, &infinite));
        OK(lfuse_foreach_unscale(m.stream, m.gradients, m.gradients, lfuse_operand_scalar(1.0 / SCALE),
                                 inputs.found_inf));
        OK(lfuse_optimizer_step(o, m.stream, 1, &m.gradients, &inputs));
        if (t != BAD) model_step(&h, host, t);
        OK(lfuse_stream_synchronize(m.stream));
    }
    OK(lfuse_optimizer_get_steps(o, &steps));
    ck_assert_int_eq(steps, STEPS - 1);
    model_parameters(&m, got);
    model_parameters(&h, want);
    if (info.exact) same(got, want, ALL, "after a gradient that overflowed");
}

/* A recorded step that counts on the device goes on counting when it is replayed. */
TEST_ON_DEVICES(replays_count_on, lfuse_device *device)
{
    static double want[ALL], got[ALL];
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAMW, LFUSE_OPTIM_DEVICE_STEPS);
    const lfuse_optimizer_options plain = options_of(LFUSE_RULE_ADAMW, 0);
    int64_t steps;

    const lfuse_device_info info = info_of(device);
    if (!info.f64) return;
    run(device, &plain, LFUSE_F32, MEMBERS, sizes, want, NULL);
    model m = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    lfuse_group group = group_of(&m, LFUSE_RULE_ADAMW);
    lfuse_optimizer *o = optimizer_of(&m, &options, &group);
    model_step(&m, o, 1);
    OK(lfuse_stream_synchronize(m.stream));
    OK(lfuse_record_begin(m.stream));
    OK(lfuse_optimizer_step(o, m.stream, 1, &m.gradients, NULL));
    lfuse_recording *recording = new_recording(m.stream);
    for (int t = 2; t <= STEPS; t++) {
        model_gradients(&m, t, 1);
        OK(lfuse_recording_replay(recording, m.stream, NULL, 0));
    }
    model_parameters(&m, got);
    if (info.exact) same(got, want, ALL, "replayed");
    OK(lfuse_optimizer_get_steps(o, &steps));
    ck_assert_int_eq(steps, STEPS);
}

/* ---- scale ---- */

TEST_ON_DEVICES(scaled_gradients, lfuse_device *device)
{
    static double want[ALL], got[ALL];
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_SGD, LFUSE_OPTIM_GRAD_SCALE);
    const float scale = 1024;
    lfuse_step_inputs inputs = { 0 };

    run(device, &(lfuse_optimizer_options){ .rule = LFUSE_RULE_SGD }, LFUSE_F32, MEMBERS, sizes, want, NULL);
    model m = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    lfuse_group group = group_of(&m, LFUSE_RULE_SGD);
    group.hyper.momentum = 0.5;
    lfuse_optimizer *o = optimizer_of(&m, &options, &group);
    lfuse_tensor *tensor = new_tensor(device, LFUSE_F32, 0, NULL);
    OK(lfuse_tensor_write(tensor, NULL, &scale));
    FAILS(LFUSE_ERR_INVALID, lfuse_optimizer_step(o, m.stream, 1, &m.gradients, NULL));
    inputs.grad_scale = tensor;
    for (int t = 1; t <= STEPS; t++) {
        model_gradients(&m, t, scale);
        OK(lfuse_optimizer_step(o, m.stream, 1, &m.gradients, &inputs));
    }
    model_parameters(&m, got);
    same(got, want, ALL, "scaled gradients");
}

/* ---- scale and overflow in one step ---- */

/* A step that divides by grad_scale and stops where found_inf is set, beside one on the host's numbers. */
typedef struct guarded {
    model m, plain;
    lfuse_optimizer *o, *host;
    lfuse_step_inputs inputs;
} guarded;

enum { SCALE = 1024, BAD = 2 };

static void guarded_make(guarded *x, lfuse_device *device, lfuse_rule rule)
{
    const lfuse_optimizer_options options = options_of(rule, LFUSE_OPTIM_GRAD_SCALE | LFUSE_OPTIM_FOUND_INF);
    const lfuse_optimizer_options plain = options_of(rule, 0);

    x->m = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    x->plain = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    lfuse_group group = group_of(&x->m, rule);
    if (rule == LFUSE_RULE_SGD) group.hyper.momentum = 0.5;
    x->o = optimizer_of(&x->m, &options, &group);
    group.parameters = x->plain.parameters;
    x->host = optimizer_of(&x->plain, &plain, &group);
    x->inputs = (lfuse_step_inputs){ .grad_scale = number(device, SCALE), .found_inf = number(device, 0) };
}

/* Parameters and all states. */
static int64_t guarded_read(const model *m, lfuse_optimizer *o, double *to)
{
    int64_t n = model_parameters(m, to);

    for (int k = 0; k < lfuse_optimizer_state_count(o); k++)
        n += model_state(m, o, lfuse_optimizer_state_name(o, k), to + n);
    return n;
}

/* The gradients keep their scale: a factor of 1 only looks at them. */
static void guarded_step(guarded *x, int t)
{
    const float none = 0, infinite = INFINITY;
    float found;

    model_gradients(&x->m, t, SCALE);
    if (t == BAD) OK(lfuse_tensor_write(x->m.g[4], NULL, &(float[1024]){ 1, 2, infinite }));
    OK(lfuse_tensor_write(x->inputs.found_inf, NULL, &none));
    OK(lfuse_foreach_unscale(x->m.stream, x->m.gradients, x->m.gradients, lfuse_operand_scalar(1),
                             x->inputs.found_inf));
    OK(lfuse_optimizer_step(x->o, x->m.stream, 1, &x->m.gradients, &x->inputs));
    OK(lfuse_stream_synchronize(x->m.stream));
    OK(lfuse_tensor_read(x->inputs.found_inf, NULL, &found));
    ck_assert_float_eq(found, t == BAD);
}

TEST_ON_DEVICES(scaled_gradients_that_overflow, lfuse_device *device)
{
    static const lfuse_rule rules[] = { LFUSE_RULE_SGD, LFUSE_RULE_ADAMW, LFUSE_RULE_NADAM, LFUSE_RULE_LAMB };
    static double before[(1 + MOST_STATES) * ALL], after[(1 + MOST_STATES) * ALL], want[(1 + MOST_STATES) * ALL];
    int64_t steps;
    guarded x;

    const lfuse_device_info info = info_of(device);
    for (size_t i = 0; i < sizeof rules / sizeof *rules && info.f64; i++) {
        guarded_make(&x, device, rules[i]);
        for (int t = 1; t <= STEPS; t++) {
            int64_t n = guarded_read(&x.m, x.o, before);
            guarded_step(&x, t);
            if (t != BAD) model_step(&x.plain, x.host, t);
            ck_assert_int_eq(guarded_read(&x.m, x.o, after), n);
            OK(lfuse_optimizer_get_steps(x.o, &steps));
            ck_assert_int_eq(steps, t < BAD ? t : t - 1);
            if (t == BAD) same(after, before, n, "after an infinite gradient with a scale");
            else ck_assert_mem_ne(after, before, (size_t)n * sizeof *after);
            ck_assert_int_eq(guarded_read(&x.plain, x.host, want), n);
            if (info.exact) same(after, want, n, "gradients with a scale, looked at");
        }
    }
}

TEST_SUITE("optim", CK_NOFORK)
