/* SPDX-License-Identifier: Apache-2.0 */
/* What trainings refuse, by name, and that nothing is left of it. */
#include <math.h>

#include "tests/optim/train_rig.h"

/* What lfuse_training_create takes, to be spoiled. */
typedef struct request {
    network n;
    lfuse_value loss;
    int parameters, groups;
    const lfuse_training_parameter *parameter;
    const lfuse_training_group *group;
    lfuse_training_group both[2];
    lfuse_training_options options;
} request;

static request request_of(void)
{
    request r = { .n = network_of(devices[0], LFUSE_F32), .parameters = WEIGHTS };

    r.loss = r.n.loss;
    r.options.rule = LFUSE_RULE_ADAMW;
    for (int i = 0; i < 2; i++) {
        r.both[i] = (lfuse_training_group){ .lowest_rank = i ? 2 : 0, .highest_rank = i ? 0 : 1 };
        OK(lfuse_hyper_defaults(LFUSE_RULE_ADAMW, &r.both[i].hyper));
    }
    return r;
}

static lfuse_status creates(const request *r)
{
    lfuse_training *training = NULL;
    const lfuse_status status = lfuse_training_create(r->n.device, r->n.g, r->loss, r->parameters,
                                                      r->parameter ? r->parameter : r->n.parameters, r->groups,
                                                      r->group ? r->group : r->both, &r->options, &training);

    ck_assert(status == LFUSE_OK || training == NULL);
    lfuse_training_destroy(training);
    return status;
}

/* Spoils one thing of a good request. */
#define REFUSED(status, says, ...)                                                                                     \
    do {                                                                                                               \
        request r = request_of();                                                                                      \
        __VA_ARGS__;                                                                                                   \
        SAYS(status, creates(&r), says);                                                                               \
        drop_all();                                                                                                    \
    } while (0)

TEST_CASE("refusals of trainings", .before = open_devices, .after = close_devices)

TEST(good_requests)
{
    static const char *const first[] = { "w1", "b1" };
    request r = request_of();

    OK(creates(&r));
    r.groups = 2;
    OK(creates(&r));
    r.both[0].count = 2; /* names go before ranks */
    r.both[0].names = first;
    r.both[0].highest_rank = r.both[1].lowest_rank = 0;
    OK(creates(&r));
}

TEST(losses)
{
    REFUSED(LFUSE_ERR_SHAPE, "the loss is no scalar, but f32 [12, 20]", r.loss = r.n.w[0]);
    REFUSED(LFUSE_ERR_TYPE, "not floating", r.loss = lfuse_argmax(r.n.w[0], LFUSE_ALL_AXES, NULL, 0));
    REFUSED(LFUSE_ERR_TYPE, "not floating", r.loss = lfuse_constant(r.n.g, 1));
    REFUSED(LFUSE_ERR_INVALID, "no value of the graph", r.loss = lfuse_input(new_graph(), "l", LFUSE_F32, 0, NULL));
    REFUSED(LFUSE_ERR_INVALID, "no value of the graph", r.loss = lfuse_none());
    REFUSED(LFUSE_ERR_SHAPE, "lfuse_add", lfuse_add(r.n.w[0], r.n.w[1]));
}

TEST(parameters)
{
    static lfuse_training_parameter p[WEIGHTS + 1];
    const int64_t shape[] = { INS, HIDDEN };
#define WITH(i, ...) (memcpy(p, r.n.parameters, sizeof r.n.parameters), p[i] = (lfuse_training_parameter)__VA_ARGS__,  \
                      r.parameter = p)

    REFUSED(LFUSE_ERR_NAME, "no input \"w3\"", WITH(1, { "w3", r.n.weights[1] }));
    REFUSED(LFUSE_ERR_NAME, "\"w1\" is given twice", WITH(1, { "w1", r.n.weights[0] }));
    REFUSED(LFUSE_ERR_INVALID, "parameter 2: its name", WITH(2, { NULL, r.n.weights[1] }));
    REFUSED(LFUSE_ERR_INVALID, "parameter 2: its tensor", WITH(2, { "b1", NULL }));
    REFUSED(LFUSE_ERR_SHAPE, "\"w1\"", WITH(0, { "w1", r.n.weights[1] }));
    REFUSED(LFUSE_ERR_SHAPE, "has rank 1, the input 2", WITH(0, { "w1", r.n.weights[2] }));
    REFUSED(LFUSE_ERR_TYPE, "\"w1\" is f64", WITH(0, { "w1", new_tensor(devices[0], LFUSE_F64, 2, shape) }));
    REFUSED(LFUSE_ERR_CONTEXT, "\"w1\" is of device",
            WITH(0, { "w1", new_tensor(new_device("stub:0"), LFUSE_F32, 2, shape) }));
    REFUSED(LFUSE_ERR_INVALID, "but a scalar", (lfuse_scalar(r.n.g, "s"), WITH(0, { "s", r.n.weights[0] })));
    REFUSED(LFUSE_ERR_INVALID, "but frozen",
            (lfuse_frozen(r.n.g, "f", LFUSE_F32, 2, shape), WITH(0, { "f", r.n.weights[0] })));
    REFUSED(LFUSE_ERR_INVALID, "but a list",
            (lfuse_list_input(r.n.g, "l", LFUSE_F32, LFUSE_RANK_ANY), WITH(0, { "l", r.n.weights[0] })));
    REFUSED(LFUSE_ERR_INVALID, "but an output",
            (lfuse_output(r.n.g, "o", r.n.loss), WITH(0, { "o", r.n.weights[0] })));
    REFUSED(LFUSE_ERR_TYPE, "not floating",
            (lfuse_input(r.n.g, "i", LFUSE_I32, 2, shape), WITH(0, { "i", r.n.weights[0] })));
    REFUSED(LFUSE_ERR_INVALID, "does not depend on \"v\"",
            (lfuse_input(r.n.g, "v", LFUSE_F32, 2, shape), WITH(0, { "v", r.n.weights[0] })));
    REFUSED(LFUSE_ERR_INVALID, "updates \"w1\" itself", lfuse_update(r.n.w[0], lfuse_neg(r.n.w[0])));
    REFUSED(LFUSE_ERR_INVALID, "wrt[0]", r.loss = lfuse_stop(r.loss));
    REFUSED(LFUSE_ERR_INVALID, "0 parameters", r.parameters = 0);
    REFUSED(LFUSE_ERR_INVALID, "-1 parameters", r.parameters = -1);
}

TEST(groups)
{
    static const char *const first[] = { "w1", "b1" }, *const others[] = { "w2", "b1" }, *const strange[] = { "x" };
    static const char *const missing[] = { NULL };
#define NAMES(i, of) (r.groups = 2, r.both[i] = (lfuse_training_group){ .count = 2, .names = of,                       \
                                                                        .hyper = r.both[i].hyper })

    REFUSED(LFUSE_ERR_INVALID, "\"b1\" is in the groups 0 and 1", NAMES(0, first), NAMES(1, others));
    REFUSED(LFUSE_ERR_INVALID, "\"b2\" is in no group", NAMES(0, first));
    REFUSED(LFUSE_ERR_INVALID, "\"w1\" is in the groups 0 and 1", r.groups = 2, r.both[0].highest_rank = 2);
    REFUSED(LFUSE_ERR_NAME, "\"x\" is no parameter", NAMES(0, strange), r.both[0].count = 1);
    REFUSED(LFUSE_ERR_INVALID, "name 0 is NULL", NAMES(0, missing), r.both[0].count = 1);
    REFUSED(LFUSE_ERR_INVALID, "2 names (NULL)", NAMES(0, NULL));
    REFUSED(LFUSE_ERR_INVALID, "-1 names", NAMES(0, first), r.both[0].count = -1);
    REFUSED(LFUSE_ERR_INVALID, "ranks 0 to 1", NAMES(0, first), r.both[0].highest_rank = 1);
    REFUSED(LFUSE_ERR_INVALID, "ranks 3 to 1", r.groups = 2, r.both[0].lowest_rank = 3);
    REFUSED(LFUSE_ERR_INVALID, "group 1: lr is -1", r.groups = 2, r.both[1].hyper.lr = -1);
    REFUSED(LFUSE_ERR_INVALID, "group 0: adamw has no momentum", r.groups = 2, r.both[0].hyper.momentum = 0.5);
    REFUSED(LFUSE_ERR_INVALID, "-1 groups", r.groups = -1);
}

TEST(options_that_do_not_fit)
{
    static lfuse_loss_scaling s;

    REFUSED(LFUSE_ERR_INVALID, "99 is no rule", r.options.rule = (lfuse_rule)99);
    REFUSED(LFUSE_ERR_INVALID, "does not know the switches", r.options.switches = LFUSE_OPTIM_CENTERED);
    REFUSED(LFUSE_ERR_INVALID, "does not know the switches", r.options.switches = LFUSE_OPTIM_FOUND_INF);
    REFUSED(LFUSE_ERR_TYPE, "states of type i32", r.options.state_type = LFUSE_I32);
    REFUSED(LFUSE_ERR_INVALID, "no way to clip", r.options.clip = (lfuse_clip)9);
    REFUSED(LFUSE_ERR_INVALID, "clip_limit", r.options.clip = LFUSE_CLIP_VALUE);
    REFUSED(LFUSE_ERR_INVALID, "-2 micro-batches", r.options.micro_batches = -2);
    REFUSED(LFUSE_ERR_INVALID, "initial", s = (lfuse_loss_scaling){ .initial = -1 }, r.options.loss_scaling = &s);
    REFUSED(LFUSE_ERR_INVALID, "growth", s = (lfuse_loss_scaling){ .growth = 0.5 }, r.options.loss_scaling = &s);
    REFUSED(LFUSE_ERR_INVALID, "backoff", s = (lfuse_loss_scaling){ .backoff = NAN }, r.options.loss_scaling = &s);
    REFUSED(LFUSE_ERR_INVALID, "interval", s = (lfuse_loss_scaling){ .interval = -1 }, r.options.loss_scaling = &s);
}

TEST(arguments_that_are_missing)
{
    request r = request_of();
    const lfuse_training_parameter *p = r.n.parameters;
    lfuse_training *t = NULL;
    lfuse_hyper hyper;
    int64_t steps;

    FAILS(LFUSE_ERR_INVALID, lfuse_training_create(NULL, r.n.g, r.loss, WEIGHTS, p, 0, NULL, &r.options, &t));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_create(devices[0], NULL, r.loss, WEIGHTS, p, 0, NULL, &r.options, &t));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_create(devices[0], r.n.g, r.loss, 1, NULL, 0, NULL, &r.options, &t));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_create(devices[0], r.n.g, r.loss, WEIGHTS, p, 1, NULL, &r.options, &t));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_create(devices[0], r.n.g, r.loss, WEIGHTS, p, 0, NULL, NULL, &t));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_create(devices[0], r.n.g, r.loss, WEIGHTS, p, 0, NULL, &r.options, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_step(NULL, r.n.stream, NULL, 0));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_check(NULL, r.n.stream));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_set_lr(NULL, 0, 1));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_set_hyper(NULL, 0, &hyper));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_get_hyper(NULL, 0, &hyper));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_get_steps(NULL, &steps));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_resume(NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_reset(NULL));
    ck_assert_int_eq(lfuse_training_tensor_count(NULL), 0);
    ck_assert_ptr_null(lfuse_training_tensor_name(NULL, 0));
    ck_assert_ptr_null(lfuse_training_tensor(NULL, 0));
    ck_assert_ptr_null(lfuse_training_loss(NULL));
    ck_assert_str_eq(lfuse_training_text(NULL), "");
    lfuse_training_destroy(NULL);
}

/* A step that is refused changes nothing and launches nothing. */
TEST(steps_that_are_refused)
{
    static double before[ALL_WEIGHTS], after[ALL_WEIGHTS];
    const lfuse_training_options options = { .rule = LFUSE_RULE_SGD, .micro_batches = 2 };
    const int64_t minus = -1;
    int64_t steps;

    network n = network_of(devices[0], LFUSE_F32);
    network_train(&n, 0, NULL, &options);
    network_step(&n, 1);
    network_weights(&n, before);
    uint64_t launches = launches_of(devices[0]);
    const lfuse_binding x = BIND("x", n.x), y = BIND("y", n.y), nameless = lfuse_bind_tensor(NULL, n.y);
    FAILS(LFUSE_ERR_BINDING, lfuse_training_step(n.training, n.stream, BINDINGS(x)));
    FAILS(LFUSE_ERR_BINDING, lfuse_training_step(n.training, n.stream, BINDINGS(x, y, y)));
    SAYS(LFUSE_ERR_BINDING, lfuse_training_step(n.training, n.stream, BINDINGS(x, nameless)), "binding 1 has no name");
    FAILS(LFUSE_ERR_NAME, lfuse_training_step(n.training, n.stream, BINDINGS(x, y, BIND("z", n.y))));
    FAILS(LFUSE_ERR_BINDING, lfuse_training_step(n.training, n.stream, BINDINGS(x, y, BIND("w1", n.weights[0]))));
    FAILS(LFUSE_ERR_SHAPE, lfuse_training_step(n.training, n.stream, BINDINGS(x, BIND("y", n.x))));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_step(n.training, n.stream, NULL, 1));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_step(n.training, n.stream, NULL, -1));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_step(n.training, NULL, NULL, 0));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_training_step(n.training, new_stream(new_device("stub:0")), BINDINGS(x, y)));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_training_check(n.training, new_stream(new_device("stub:0"))));
    ck_assert_uint_eq(launches_of(devices[0]), launches);
    OK(lfuse_training_get_steps(n.training, &steps));
    ck_assert_int_eq(steps, 0);
    network_step(&n, 1); /* the second micro-batch, as the others were none */
    OK(lfuse_training_get_steps(n.training, &steps));
    ck_assert_int_eq(steps, 1);
    network_weights(&n, after);
    ck_assert(memcmp(before, after, sizeof before));
    OK(lfuse_tensor_write(network_tensor(&n, "optimizer.steps"), NULL, &minus));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_resume(n.training));
}

/* Whatever fails while a training is made, nothing of it is left: closing checks that. */
TEST(failures_while_made)
{
    lfuse_training *t = NULL;
    uint64_t nth;
    request r = request_of();

    r.options.switches = LFUSE_OPTIM_AVERAGE;
    r.options.micro_batches = 2;
    for (nth = 1; nth < 2000 && !t; nth++) {
        lfuse__stub_fail(LFUSE__STUB_ANY, nth, false, LFUSE_ERR_DEVICE);
        if (lfuse_training_create(devices[0], r.n.g, r.loss, WEIGHTS, r.n.parameters, 2, r.both, &r.options, &t))
            ck_assert_ptr_null(t);
    }
    lfuse__stub_no_failure();
    ck_assert_ptr_nonnull(t);
    ck_assert_uint_gt(nth, 8);
    lfuse_training_destroy(t);
}

TEST_SUITE("optim", CK_NOFORK)
