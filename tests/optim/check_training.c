/* SPDX-License-Identifier: Apache-2.0 */
/* Trainings: the bits of gradients and an optimizer of lists, scaling, micro-batches, states saved and put back. */
#include <math.h>

#include "bench/data.h"
#include "tests/optim/run.h"
#include "tests/optim/train_rig.h"

enum { TRAINED = 4 };

/* Decay for matrices alone. */
static int two_groups(lfuse_rule rule, double momentum, double ema, lfuse_training_group *groups)
{
    for (int i = 0; i < 2; i++) {
        groups[i] = (lfuse_training_group){ .lowest_rank = i ? 0 : 2, .highest_rank = i ? 1 : 0 };
        OK(lfuse_hyper_defaults(rule, &groups[i].hyper));
        groups[i].hyper.lr = i ? 0.03125 : 0.0625;
        groups[i].hyper.momentum = momentum;
        groups[i].hyper.ema_decay = ema;
    }
    if (rule != LFUSE_RULE_RPROP) groups[0].hyper.weight_decay = 0.125;
    return 2;
}

/* ---- against gradients that are outputs of a plan, and an optimizer of lists ---- */

typedef struct by_hand {
    network n;
    lfuse_plan *plan;
    lfuse_tensor *gradients[WEIGHTS], *loss;
    lfuse_list *lists[2], *parameters[2];
    lfuse_optimizer *o;
} by_hand;

static const char *const gradient_names[WEIGHTS] = { "dw1", "dw2", "db1", "db2" };

static void make_by_hand(by_hand *h, lfuse_device *device, lfuse_type type, const lfuse_training_options *options,
                         const lfuse_training_group *groups)
{
    lfuse_optimizer_options o = { .rule = options->rule, .switches = options->switches, .clip = options->clip,
                                  .clip_limit = options->clip_limit, .state_type = options->state_type };
    lfuse_group group[2];
    lfuse_value gradients[WEIGHTS];

    *h = (by_hand){ .n = network_of(device, type) };
    lfuse_gradient(h->n.loss, lfuse_none(), WEIGHTS, h->n.w, gradients);
    for (int i = 0; i < WEIGHTS; i++) {
        lfuse_output(h->n.g, gradient_names[i], gradients[i]);
        h->gradients[i] = new_tensor(device, type, lfuse_tensor_rank(h->n.weights[i]),
                                     lfuse_tensor_shape(h->n.weights[i]));
    }
    lfuse_output(h->n.g, "loss", h->n.loss);
    h->loss = new_tensor(device, type == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32, 0, NULL);
    h->plan = new_plan(device, h->n.g, NULL);
    for (int i = 0; i < 2; i++) {
        h->parameters[i] = new_list(device, type, 2, h->n.weights + 2 * i);
        h->lists[i] = new_list(device, type, 2, h->gradients + 2 * i);
        group[i] = (lfuse_group){ h->parameters[i], groups[i].hyper };
    }
    h->o = new_optimizer(device, &o, 2, group);
}

static void step_by_hand(by_hand *h, int t)
{
    lfuse_binding b[3 + 2 * WEIGHTS] = { BIND("x", h->n.x), BIND("y", h->n.y), BIND("loss", h->loss) };
    int n = 3;

    for (int i = 0; i < WEIGHTS; i++) {
        b[n++] = BIND(weight_names[i], h->n.weights[i]);
        b[n++] = BIND(gradient_names[i], h->gradients[i]);
    }
    network_data(&h->n, t, 1);
    OK(lfuse_plan_run(h->plan, h->n.stream, b, n));
    OK(lfuse_optimizer_step(h->o, h->n.stream, 2, h->lists, NULL));
}

static const struct {
    lfuse_rule rule;
    unsigned switches;
    lfuse_type type;
    lfuse_clip clip;
    double momentum, ema;
} trainings[] = {
    { .rule = LFUSE_RULE_ADAMW },
    { .rule = LFUSE_RULE_SGD, .momentum = 0.5, .switches = LFUSE_OPTIM_NESTEROV },
    { .rule = LFUSE_RULE_NADAM, .clip = LFUSE_CLIP_VALUE },
    { .rule = LFUSE_RULE_LAMB, .clip = LFUSE_CLIP_MEMBER_NORM },
    { .rule = LFUSE_RULE_ADAFACTOR },
    { .rule = LFUSE_RULE_RPROP, .switches = LFUSE_OPTIM_MAXIMIZE },
    { .rule = LFUSE_RULE_ADAMW, .clip = LFUSE_CLIP_GLOBAL_NORM },
    { .rule = LFUSE_RULE_ADAM, .switches = LFUSE_OPTIM_AMSGRAD | LFUSE_OPTIM_AVERAGE, .ema = 0.875 },
    { .rule = LFUSE_RULE_ADAMW, .type = LFUSE_F16, .switches = LFUSE_OPTIM_MASTERS },
    { .rule = LFUSE_RULE_ADAMW, .type = LFUSE_F64 },
};
enum { TRAININGS = sizeof trainings / sizeof *trainings };

static void against_hand(lfuse_device *device, int i)
{
    static double a[ALL_WEIGHTS], b[ALL_WEIGHTS];
    const lfuse_type type = trainings[i].type ? trainings[i].type : LFUSE_F32;
    const lfuse_training_options options = { .rule = trainings[i].rule, .switches = trainings[i].switches,
                                             .clip = trainings[i].clip, .clip_limit = trainings[i].clip ? 0.0625 : 0 };
    lfuse_training_group groups[2];
    by_hand h;

    if (type == LFUSE_F64 && !info_of(device).f64) return;
    two_groups(trainings[i].rule, trainings[i].momentum, trainings[i].ema, groups);
    make_by_hand(&h, device, type, &options, groups);
    network n = network_of(device, type);
    network_train(&n, 2, groups, &options);
    ck_assert_ptr_null(strchr(lfuse_training_text(n.training), '\n')); /* the whole step is one plan */
    for (int t = 1; t <= TRAINED; t++) {
        step_by_hand(&h, t);
        network_step(&n, t);
        ck_assert_double_eq(network_number(&n, lfuse_training_loss(n.training)), network_number(&h.n, h.loss));
    }
    network_weights(&n, a);
    network_weights(&h.n, b);
    same(a, b, ALL_WEIGHTS, lfuse_rule_name(trainings[i].rule));
    OK(lfuse_training_check(n.training, n.stream));
}

TEST_CASE("trainings", .before = open_devices, .after = close_devices)

TEST_LOOP(the_bits_of_an_optimizer_of_lists, 0, TRAININGS)
{
    for (int i = 0; i < ndevices; i++) {
        snprintf(device_name, sizeof device_name, "%s", info_of(devices[i]).name);
        against_hand(devices[i], _i);
        drop_all();
    }
}

/* A network learns: the loss of one batch falls by much. */
TEST_ON_DEVICES(learns, lfuse_device *device)
{
    const lfuse_training_options options = { .rule = LFUSE_RULE_ADAMW };
    double first, last;

    network n = network_of(device, LFUSE_F32);
    network_train(&n, 0, NULL, &options);
    OK(lfuse_training_set_lr(n.training, -1, 0.02));
    network_step(&n, 1);
    first = network_number(&n, lfuse_training_loss(n.training));
    for (int i = 0; i < 100; i++) network_step(&n, 1);
    last = network_number(&n, lfuse_training_loss(n.training));
    ck_assert_msg(last < first / 10, "%s: the loss was %g and is %g", device_name, first, last);
}

/* A weight's whole step is in the launch of the product that makes its gradient, which is never stored. */
TEST(updates_behind_products)
{
    const lfuse_plan_options plan = { .provider = LFUSE_PROVIDER_NATIVE };
    const lfuse_training_options options = { .rule = LFUSE_RULE_ADAMW, .plan = &plan };

    network n = network_of(devices[0], LFUSE_F32);
    network_train(&n, 0, NULL, &options);
    const char *text = strstr(lfuse_training_text(n.training), "(gemm 12 x 20 x 16 (training.w1.exp_avg %1=(lerp ");
    ck_assert_ptr_nonnull(text);
    const char *update = strstr(text, " (w1 (sub (mul w1 "), *next = strstr(text, ") (bundle ");
    ck_assert(update && next && update < next);
}

/* ---- micro-batches ---- */

/* Two halves of one batch have the step of the whole, up to the rounding of sums of two gradients. */
TEST_ON_DEVICES(micro_batches, lfuse_device *device)
{
    static double a[ALL_WEIGHTS], b[ALL_WEIGHTS];
    const lfuse_training_options whole = { .rule = LFUSE_RULE_SGD };
    const lfuse_training_options parts = { .rule = LFUSE_RULE_SGD, .micro_batches = 4 };
    lfuse_training_group groups[2];
    int64_t steps;

    two_groups(LFUSE_RULE_SGD, 0, 0, groups);
    network one = network_of(device, LFUSE_F32), many = network_of(device, LFUSE_F32);
    network_train(&one, 2, groups, &whole);
    network_train(&many, 2, groups, &parts);
    network_weights(&many, a);
    for (int t = 1; t <= 2; t++) {
        network_step(&one, t);
        for (int i = 0; i < 4; i++) {
            network_weights(&many, b);
            same(a, b, ALL_WEIGHTS, "weights before the last micro-batch");
            network_step(&many, t); /* the same data: the mean of four equal gradients, which is exact */
        }
        network_weights(&one, a);
        network_weights(&many, b);
        same(a, b, ALL_WEIGHTS, "four equal micro-batches and one");
    }
    OK(lfuse_training_get_steps(many.training, &steps));
    ck_assert_int_eq(steps, 2);
}

/* Different batches: gradients are added in f32, in order. */
TEST_ON_DEVICES(sums_of_micro_batches, lfuse_device *device)
{
    static double start[ALL_WEIGHTS], end[ALL_WEIGHTS];
    static float d[2][ALL_WEIGHTS];
    const lfuse_training_options options = { .rule = LFUSE_RULE_SGD, .micro_batches = 2 };
    lfuse_training_group groups[2];
    int64_t at;
    by_hand h;

    two_groups(LFUSE_RULE_SGD, 0, 0, groups);
    for (int i = 0; i < 2; i++) groups[i].hyper.weight_decay = 0, groups[i].hyper.lr = 0.5;
    network n = network_of(device, LFUSE_F32);
    network_train(&n, 2, groups, &options);
    network_weights(&n, start);
    for (int i = 0; i < 2; i++) { /* the optimizer's own step must not be seen: lr is 0 */
        for (int k = 0; k < 2; k++) groups[k].hyper.lr = 0;
        make_by_hand(&h, device, LFUSE_F32, &(lfuse_training_options){ .rule = LFUSE_RULE_SGD }, groups);
        step_by_hand(&h, i + 1);
        OK(lfuse_stream_synchronize(h.n.stream));
        for (int k = at = 0; k < WEIGHTS; at += lfuse_tensor_elements(h.gradients[k++]))
            OK(lfuse_tensor_read(h.gradients[k], NULL, d[i] + at));
        network_step(&n, i + 1);
    }
    network_weights(&n, end);
    for (int i = 0; i < ALL_WEIGHTS; i++) {
        const float mean = d[0][i] / 2 + d[1][i] / 2;
        ck_assert_msg(fabs(end[i] - (start[i] - 0.5 * mean)) <= 1e-6 * (fabs(start[i]) + fabs(d[0][i]) + fabs(d[1][i])),
                      "%s: weight %d is %.9g, not %.9g", device_name, i, end[i], start[i] - 0.5 * mean);
    }
}

/* ---- loss scaling ---- */

TEST_ON_DEVICES(loss_scaling, lfuse_device *device)
{
    static double a[ALL_WEIGHTS], b[ALL_WEIGHTS];
    const lfuse_loss_scaling scaling = { .initial = 1024, .interval = 2 };
    const lfuse_training_options plain = { .rule = LFUSE_RULE_ADAMW };
    const lfuse_training_options scaled = { .rule = LFUSE_RULE_ADAMW, .loss_scaling = &scaling };
    static const double scales[] = { 1024, 2048, 2048, 4096 };
    int64_t steps;

    if (!info_of(device).f64) return;
    network n = network_of(device, LFUSE_F32), m = network_of(device, LFUSE_F32);
    network_train(&n, 0, NULL, &plain);
    network_train(&m, 0, NULL, &scaled);
    for (int t = 1; t <= 4; t++) { /* powers of 2 change no bit */
        network_step(&n, t);
        network_step(&m, t);
        ck_assert_double_eq(network_number(&m, network_tensor(&m, "optimizer.loss_scale")), scales[t - 1]);
    }
    network_weights(&n, a);
    network_weights(&m, b);
    same(a, b, ALL_WEIGHTS, "with and without loss scaling");
    network_data(&m, 5, 1e30); /* gradients overflow: nothing counts */
    OK(lfuse_training_step(m.training, m.stream, BINDINGS(BIND("x", m.x), BIND("y", m.y))));
    network_weights(&m, b);
    same(a, b, ALL_WEIGHTS, "after a step that does not count");
    ck_assert_double_eq(network_number(&m, network_tensor(&m, "optimizer.loss_scale")), 2048);
    ck_assert_double_eq(network_number(&m, network_tensor(&m, "optimizer.growth_tracker")), 0);
    OK(lfuse_training_get_steps(m.training, &steps));
    ck_assert_int_eq(steps, 4);
    SAYS(LFUSE_ERR_NONFINITE, lfuse_training_check(m.training, m.stream), "step 5");
    network_step(&n, 6);
    network_step(&m, 6);
    network_weights(&n, a);
    network_weights(&m, b);
    same(a, b, ALL_WEIGHTS, "after one that counts again");
}

/* A scale that would be infinite in f32 stays. */
TEST(the_largest_scale)
{
    const lfuse_loss_scaling scaling = { .initial = 4, .growth = 1e39, .interval = 1 };
    const lfuse_training_options options = { .rule = LFUSE_RULE_SGD, .loss_scaling = &scaling };

    network n = network_of(devices[0], LFUSE_F32);
    network_train(&n, 0, NULL, &options);
    for (int t = 1; t <= 2; t++) network_step(&n, t);
    ck_assert_double_eq(network_number(&n, network_tensor(&n, "optimizer.loss_scale")), 4);
    ck_assert_double_eq(network_number(&n, network_tensor(&n, "optimizer.growth_tracker")), 0);
}

/* ---- what is told, and what is set ---- */

TEST_ON_DEVICES(a_loss_that_is_no_number, lfuse_device *device)
{
    const lfuse_training_options options = { .rule = LFUSE_RULE_SGD };

    network n = network_of(device, LFUSE_F32);
    network_train(&n, 0, NULL, &options);
    for (int t = 1; t <= 2; t++) network_step(&n, t);
    OK(lfuse_training_check(n.training, n.stream));
    network_data(&n, 3, NAN);
    for (int i = 0; i < 2; i++)
        OK(lfuse_training_step(n.training, n.stream, BINDINGS(BIND("x", n.x), BIND("y", n.y))));
    SAYS(LFUSE_ERR_NONFINITE, lfuse_training_check(n.training, n.stream), "the loss of step 3");
    OK(lfuse_training_check(n.training, n.stream));
    network_step(&n, 4); /* the weights are spoiled */
    SAYS(LFUSE_ERR_NONFINITE, lfuse_training_check(n.training, n.stream), "the loss of step 5");
}

TEST_ON_DEVICES(numbers_of_groups, lfuse_device *device)
{
    static double a[ALL_WEIGHTS], b[ALL_WEIGHTS];
    const lfuse_training_options options = { .rule = LFUSE_RULE_SGD };
    lfuse_training_group groups[2];
    lfuse_hyper hyper;

    two_groups(LFUSE_RULE_SGD, 0, 0, groups);
    network n = network_of(device, LFUSE_F32);
    network_train(&n, 2, groups, &options);
    network_step(&n, 1);
    network_weights(&n, a);
    uint64_t compiles = counters_of(device).compiles;
    OK(lfuse_training_set_lr(n.training, 0, 0));
    OK(lfuse_training_get_hyper(n.training, 0, &hyper));
    ck_assert_double_eq(hyper.lr, 0);
    hyper.weight_decay = 0;
    OK(lfuse_training_set_hyper(n.training, 0, &hyper));
    network_step(&n, 2);
    network_weights(&n, b);
    same(a, b, INS * HIDDEN + HIDDEN * OUTS, "weights of a group whose learning rate is 0");
    ck_assert(memcmp(a + INS * HIDDEN + HIDDEN * OUTS, b + INS * HIDDEN + HIDDEN * OUTS, HIDDEN * sizeof *a));
    ck_assert_uint_eq(counters_of(device).compiles, compiles);
    FAILS(LFUSE_ERR_INVALID, lfuse_training_set_lr(n.training, -1, -1));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_set_lr(n.training, 2, 1));
    hyper.beta1 = 0.5;
    FAILS(LFUSE_ERR_INVALID, lfuse_training_set_hyper(n.training, 0, &hyper));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_set_hyper(n.training, 2, &hyper));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_get_hyper(n.training, -1, &hyper));
}

/* A recorded step counts on when it is replayed. */
TEST_ON_DEVICES(replays, lfuse_device *device)
{
    static double a[ALL_WEIGHTS], b[ALL_WEIGHTS];
    const lfuse_training_options options = { .rule = LFUSE_RULE_ADAMW };

    if (!info_of(device).f64) return;
    network n = network_of(device, LFUSE_F32), m = network_of(device, LFUSE_F32);
    network_train(&n, 0, NULL, &options);
    network_train(&m, 0, NULL, &options);
    network_data(&m, 1, 1);
    OK(lfuse_record_begin(m.stream));
    OK(lfuse_training_step(m.training, m.stream, BINDINGS(BIND("x", m.x), BIND("y", m.y))));
    lfuse_recording *recording = new_recording(m.stream);
    for (int t = 1; t <= 5; t++) {
        network_step(&n, t);
        network_data(&m, t, 1);
        OK(lfuse_recording_replay(recording, m.stream, NULL, 0));
    }
    network_weights(&n, a);
    network_weights(&m, b);
    same(a, b, ALL_WEIGHTS, "steps and replays");
}

/* All tensors of a training, as bytes. */
static void copy_all(network *from, network *to)
{
    static char host[MOST_ELEMENTS * 8];

    OK(lfuse_stream_synchronize(from->stream));
    ck_assert_int_eq(lfuse_training_tensor_count(from->training), lfuse_training_tensor_count(to->training));
    for (int i = 0; i < lfuse_training_tensor_count(from->training); i++) {
        const char *name = lfuse_training_tensor_name(from->training, i);
        OK(lfuse_tensor_read(lfuse_training_tensor(from->training, i), NULL, host));
        OK(lfuse_tensor_write(network_tensor(to, name), NULL, host));
    }
    OK(lfuse_training_resume(to->training));
}

/* Sizes that runs give, numbers and outputs of the graph are bound by steps. */
TEST_ON_DEVICES(sizes_numbers_and_outputs, lfuse_device *device)
{
    const lfuse_training_options options = { .rule = LFUSE_RULE_SGD };
    const int64_t three = 3, many[] = { 4, 9 };
    lfuse_graph *g = new_graph();
    const lfuse_size rows = lfuse_size_var(g, "rows", 1, 100), of_x[] = { rows, 3 };
    const lfuse_value x = lfuse_input(g, "x", LFUSE_F32, 2, of_x), w = lfuse_input(g, "w", LFUSE_F32, 1, &three);
    const lfuse_value o = lfuse_mul(lfuse_mul(x, w), lfuse_scalar(g, "factor"));
    float host[3] = { 1, 2, 4 }, got[27];
    lfuse_training_group group = { .hyper = { .lr = 0.25 } };
    lfuse_training *training;

    lfuse_output(g, "o", o);
    lfuse_stream *stream = new_stream(device);
    lfuse_tensor *tw = new_tensor(device, LFUSE_F32, 1, &three);
    OK(lfuse_tensor_write(tw, NULL, host));
    OK(lfuse_training_create(device, g, lfuse_sum(o, LFUSE_ALL_AXES, NULL, 0), 1,
                             &(lfuse_training_parameter){ "w", tw }, 1, &group, &options, &training));
    for (int i = 0; i < 2; i++) { /* the gradient of w is the sum of the rows: 2 rows, times the factor */
        const int64_t shape[] = { many[i], 3 };
        lfuse_tensor *tx = new_tensor(device, LFUSE_F32, 2, shape), *to = new_tensor(device, LFUSE_F32, 2, shape);
        OK(lfuse_tensor_fill(tx, NULL, 1));
        OK(lfuse_training_step(training, stream,
                               BINDINGS(BIND("o", to), lfuse_bind_scalar("factor", 2), BIND("x", tx))));
        OK(lfuse_stream_synchronize(stream));
        OK(lfuse_tensor_read(to, NULL, got));
        for (int k = 0; k < 3; k++) ck_assert_float_eq(got[3 * (many[i] - 1) + k], 2 * host[k]);
        for (int k = 0; k < 3; k++) host[k] -= 0.25f * 2 * (float)many[i];
        OK(lfuse_tensor_read(tw, NULL, got));
        for (int k = 0; k < 3; k++) ck_assert_float_eq(got[k], host[k]);
    }
    lfuse_training_destroy(training);
}

/* Without f64 the host counts steps, and NAdam's product: the bits are the same. */
TEST(devices_without_f64)
{
    static double a[ALL_WEIGHTS], b[ALL_WEIGHTS];
    static const lfuse_rule rules[] = { LFUSE_RULE_ADAMW, LFUSE_RULE_NADAM };
    const lfuse_loss_scaling scaling = { .initial = 1 };
    lfuse_training *none = NULL;

    lfuse__stub.f64 = false;
    lfuse_device *poor = new_device("stub:0");
    lfuse__stub.f64 = true;
    ck_assert(!info_of(poor).f64 && info_of(devices[0]).f64);
    for (int i = 0; i < 2; i++) {
        const lfuse_training_options options = { .rule = rules[i] };
        network n = network_of(poor, LFUSE_F32), m = network_of(devices[0], LFUSE_F32), k;
        network_train(&n, 0, NULL, &options);
        network_train(&m, 0, NULL, &options);
        for (int t = 1; t <= 3; t++) {
            network_step(&n, t);
            network_step(&m, t);
        }
        k = network_of(poor, LFUSE_F32);
        network_train(&k, 0, NULL, &options);
        copy_all(&n, &k);
        for (int t = 4; t <= 5; t++) {
            network_step(&k, t);
            network_step(&m, t);
        }
        network_weights(&k, a);
        network_weights(&m, b);
        same(a, b, ALL_WEIGHTS, lfuse_rule_name(rules[i]));
    }
    const lfuse_training_options scaled = { .rule = LFUSE_RULE_SGD, .loss_scaling = &scaling };
    network n = network_of(poor, LFUSE_F32);
    SAYS(LFUSE_ERR_UNSUPPORTED,
         lfuse_training_create(poor, n.g, n.loss, WEIGHTS, n.parameters, 0, NULL, &scaled, &none),
         "loss scaling needs f64");
    ck_assert_ptr_null(none);
}

/* ---- states ---- */

TEST_ON_DEVICES(resumed, lfuse_device *device)
{
    static double a[ALL_WEIGHTS], b[ALL_WEIGHTS];
    static const struct { lfuse_rule rule; unsigned switches; lfuse_type type; bool scales; int micro; } kinds[] = {
        { LFUSE_RULE_ADAMW, LFUSE_OPTIM_AVERAGE, LFUSE_F32, false, 0 },
        { LFUSE_RULE_NADAM, 0, LFUSE_F32, false, 2 },
        { LFUSE_RULE_ADAFACTOR, 0, LFUSE_F32, false, 0 },
        { LFUSE_RULE_ADAM, LFUSE_OPTIM_MASTERS, LFUSE_F16, true, 0 },
    };
    const lfuse_loss_scaling scaling = { .initial = 64, .interval = 2 };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const lfuse_training_options options = { .rule = kinds[i].rule, .switches = kinds[i].switches,
            .micro_batches = kinds[i].micro, .loss_scaling = kinds[i].scales ? &scaling : NULL };
        lfuse_training_group groups[2];
        if (kinds[i].scales && !info_of(device).f64) continue;
        two_groups(kinds[i].rule, 0, kinds[i].switches & LFUSE_OPTIM_AVERAGE ? 0.5 : 0, groups);
        network n = network_of(device, kinds[i].type), m = network_of(device, kinds[i].type);
        network_train(&n, 2, groups, &options);
        network_train(&m, 2, groups, &options);
        network_step(&m, 9); /* is forgotten, half a step too */
        for (int t = 0; t < 4; t++) network_step(&n, t);
        copy_all(&n, &m);
        for (int t = 4; t < 8; t++) {
            network_step(&n, t);
            network_step(&m, t);
        }
        network_weights(&n, a);
        network_weights(&m, b);
        same(a, b, ALL_WEIGHTS, lfuse_rule_name(kinds[i].rule));
    }
}

TEST_ON_DEVICES(reset, lfuse_device *device)
{
    static double a[ALL_WEIGHTS], b[ALL_WEIGHTS];
    const lfuse_training_options options = { .rule = LFUSE_RULE_ADAGRAD, .switches = LFUSE_OPTIM_AVERAGE };
    lfuse_training_group groups[2];
    int64_t steps = -1;

    two_groups(LFUSE_RULE_ADAGRAD, 0, 0.5, groups);
    groups[1].hyper.initial_accumulator = 0.25;
    network n = network_of(device, LFUSE_F32), m = network_of(device, LFUSE_F32);
    network_train(&n, 2, groups, &options);
    network_train(&m, 2, groups, &options);
    for (int t = 1; t <= 2; t++) network_step(&m, t);
    OK(lfuse_stream_synchronize(m.stream));
    for (int i = 0; i < WEIGHTS; i++) OK(lfuse_tensor_copy(m.weights[i], n.weights[i], NULL));
    OK(lfuse_training_reset(m.training));
    OK(lfuse_training_get_steps(m.training, &steps));
    ck_assert_int_eq(steps, 0);
    for (int t = 1; t <= 2; t++) {
        network_step(&n, t);
        network_step(&m, t);
    }
    network_weights(&n, a);
    network_weights(&m, b);
    same(a, b, ALL_WEIGHTS, "a training and one that was begun anew");
    read_all(&(model){ .stream = n.stream }, network_tensor(&n, "optimizer.b1.sum"), a);
    ck_assert_double_ge(a[0], 0.25);
}

/* f32 masters go beside what is too small for f16. */
TEST_ON_DEVICES(masters, lfuse_device *device)
{
    static double p[ALL_WEIGHTS], master[ALL_WEIGHTS];
    const lfuse_training_options options = { .rule = LFUSE_RULE_SGD, .switches = LFUSE_OPTIM_MASTERS };
    int differ = 0;

    network n = network_of(device, LFUSE_F16);
    network_train(&n, 0, NULL, &options);
    for (int t = 1; t <= 3; t++) network_step(&n, t);
    network_weights(&n, p);
    ck_assert_int_eq(lfuse_tensor_type(network_tensor(&n, "optimizer.w1.master")), LFUSE_F32);
    read_all(&(model){ .stream = n.stream }, network_tensor(&n, "optimizer.w1.master"), master);
    for (int i = 0; i < INS * HIDDEN; i++) {
        unsigned char bits[2];
        lfuse__data_put(LFUSE_F16, bits, 0, master[i]);
        ck_assert_double_eq(p[i], lfuse__data_get(LFUSE_F16, bits, 0));
        differ += p[i] != master[i];
    }
    ck_assert_int_gt(differ, 0);
}

TEST_SUITE("optim", CK_NOFORK)
