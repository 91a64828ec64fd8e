/* SPDX-License-Identifier: Apache-2.0 */
#include "network.h"

#include <math.h>
#include <stdio.h>

#include "../digits/dataset.h"

/* A start without a generator of random numbers, so that everybody can repeat it. */
static double start_w1(int64_t i, int64_t j)
{
    return sin((double)(HIDDEN * i + j + 1)) / 8;
}

static double start_w2(int64_t i, int64_t j)
{
    return sin((double)(10000 + DIGITS_CLASSES * i + j)) / sqrt(HIDDEN);
}

static double zero(int64_t i, int64_t j)
{
    (void)i, (void)j;
    return 0;
}

static double one(int64_t i, int64_t j)
{
    (void)i, (void)j;
    return 1;
}

static lfuse_value layer(lfuse_value x, const lfuse_value *p)
{
    return lfuse_add(lfuse_matmul(x, p[0]), p[1]);
}

/* 64-128-10, relu. */
static lfuse_value plain(lfuse_graph *g, lfuse_value x, const lfuse_value *p, lfuse_value t)
{
    (void)g, (void)t;
    return layer(lfuse_relu(layer(x, p)), p + 2);
}

/* The same with the hidden layer normalised, and a fifth of it dropped where t is the number of a step. */
static lfuse_value normalised(lfuse_graph *g, lfuse_value x, const lfuse_value *p, lfuse_value t)
{
    lfuse_value h = lfuse_relu(lfuse_layernorm(layer(x, p), 1, p[4], p[5], 1e-5));
    if (t.graph) h = lfuse_dropout(h, lfuse_constant(g, 0.2), lfuse_constant(g, 7), t);
    return layer(h, p + 2);
}

#define LAYERS                                                                                                         \
    {"w1", 2, {DIGITS_PIXELS, HIDDEN}, start_w1}, {"b1", 1, {HIDDEN, 0}, zero},                                        \
    {"w2", 2, {HIDDEN, DIGITS_CLASSES}, start_w2}, {"b2", 1, {DIGITS_CLASSES, 0}, zero}

const network networks[NETWORKS] = {
    {"relu", 97, 4, {LAYERS}, plain},
    {"layernorm+dropout", 96, 6, {LAYERS, {"gain", 1, {HIDDEN, 0}, one}, {"shift", 1, {HIDDEN, 0}, zero}}, normalised},
};

static lfuse_value input_like(lfuse_graph *g, const char *prefix, const parameter *p)
{
    char name[32];
    snprintf(name, sizeof name, "%s%s", prefix, p->name);
    return lfuse_input(g, name, LFUSE_F32, p->rank, p->shape);
}

static lfuse_value loss_of(lfuse_value scores, lfuse_value label)
{
    return lfuse_cross_entropy(scores, -1, label, lfuse_none(), LFUSE_NO_IGNORED_INDEX, 0, LFUSE_LOSS_MEAN);
}

static void update(lfuse_graph *g, const parameter *p, lfuse_value value, lfuse_value gradient, lfuse_value lr,
                   lfuse_value t)
{
    lfuse_value states[2] = {input_like(g, "m.", p), input_like(g, "v.", p)};
    lfuse_rule_values step = {.parameter = value, .gradient = gradient, .state_count = 2, .states = states, .t = t};
    step.hyper.lr = lr;
    lfuse_rule_update(LFUSE_RULE_ADAMW, 0, &step);
}

lfuse_graph *step_graph(const network *net)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_size batch = lfuse_size_var(g, "batch", 1, BATCH);
    lfuse_value x = lfuse_input(g, "x", LFUSE_F32, 2, LFUSE_DIMS(batch, DIGITS_PIXELS));
    lfuse_value label = lfuse_input(g, "label", LFUSE_I32, 1, LFUSE_DIMS(batch));
    lfuse_value lr = lfuse_scalar(g, "lr"), t = lfuse_scalar(g, "t");
    lfuse_value p[PARAMETERS], gradients[PARAMETERS];
    for (int i = 0; i < net->count; i++) p[i] = input_like(g, "", &net->parameters[i]);

    lfuse_value loss = loss_of(net->scores(g, x, p, t), label);
    lfuse_output(g, "loss", loss);
    lfuse_gradient(loss, lfuse_none(), net->count, p, gradients);
    for (int i = 0; i < net->count; i++) update(g, &net->parameters[i], p[i], gradients[i], lr, t);
    return g;
}

lfuse_graph *evaluation_graph(const network *net, int64_t most)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_size batch = lfuse_size_var(g, "batch", 1, most);
    lfuse_value x = lfuse_input(g, "x", LFUSE_F32, 2, LFUSE_DIMS(batch, DIGITS_PIXELS));
    lfuse_value label = lfuse_input(g, "label", LFUSE_I32, 1, LFUSE_DIMS(batch));
    lfuse_value p[PARAMETERS];
    for (int i = 0; i < net->count; i++) p[i] = input_like(g, "", &net->parameters[i]);

    lfuse_value scores = net->scores(g, x, p, lfuse_none());
    lfuse_value chosen = lfuse_cast(lfuse_argmax(scores, 1, (const int[]){-1}, 0), LFUSE_I32);
    lfuse_output(g, "loss", loss_of(scores, label));
    lfuse_output(g, "right", lfuse_count_nonzero(lfuse_eq(chosen, label), LFUSE_ALL_AXES, NULL, 0));
    return g;
}
