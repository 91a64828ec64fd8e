/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learns from clicks which user clicks on which item at which hour, on the device of choice:
 *
 *     learn [--device NAME|all]
 *
 * The model has a table of embeddings for each feature, whose products are the cross features, and the logistic loss.
 * lfuse_training makes one plan of a whole step: look-ups, loss, gradients of the tables, AdamW. The clicks come from a
 * model of the same form (clicks.h), so it is known how well any model can do, and how near a good fit comes to it.
 */
#include <libfuse.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clicks.h"

enum { BATCH = 1024, BATCHES = TRAIN_ROWS / BATCH, EPOCHS = 12, PARAMETERS = 1 + 2 * FEATURES };

static const char *const parameter_names[PARAMETERS] = {
    "bias", "weight.user", "weight.item", "weight.hour", "embedding.user", "embedding.item", "embedding.hour"};
static const char *const index_names[FEATURES] = {"user", "item", "hour"};

/* Rows on a device: an index for each feature, and the probability of a click; of a row that was seen it is 1 or 0. */
typedef struct rows {
    lfuse_tensor *index[FEATURES], *probability;
} rows;

/* What runs on a device. Every member is NULL until it is made, so that one function takes all down. */
typedef struct session {
    lfuse_device *device;
    lfuse_stream *stream;
    lfuse_training *training;
    lfuse_plan *evaluation;
    lfuse_tensor *parameters[PARAMETERS], *loss;
    rows train, held, batches[BATCHES];
} session;

typedef struct result {
    float loss;      /* on the held-out rows, by the device */
    double expected; /* the same in double, of the parameters that the device learned */
    double seconds;
} result;

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        lfuse_status try_status = (call);                                                                              \
        if (try_status) return try_status;                                                                             \
    } while (0)

/* ---- the model ---- */

/* Of a parameter: 1 number, or a number or an embedding for each value of a feature. */
static int shape_of(int parameter, int64_t shape[2])
{
    shape[0] = parameter ? heights[(parameter - 1) % FEATURES] : 1;
    shape[1] = WIDTH;
    return parameter > FEATURES ? 2 : 1;
}

static float *numbers_of(machine *m, int parameter)
{
    if (!parameter) return &m->bias;
    return parameter > FEATURES ? m->embedding[parameter - 1 - FEATURES][0] : m->weight[parameter - 1];
}

/* The loss of some rows: the mean of what their logits cost. */
static lfuse_value describe(lfuse_graph *g, int64_t count)
{
    lfuse_value p[PARAMETERS], embedding[FEATURES];
    for (int i = 0; i < PARAMETERS; i++) {
        int64_t shape[2];
        int rank = shape_of(i, shape);
        p[i] = lfuse_input(g, parameter_names[i], LFUSE_F32, rank, shape);
    }
    lfuse_value probability = lfuse_input(g, "probability", LFUSE_F32, 1, LFUSE_DIMS(count));
    lfuse_value logit = p[0];
    for (int f = 0; f < FEATURES; f++) {
        lfuse_value index = lfuse_input(g, index_names[f], LFUSE_I32, 1, LFUSE_DIMS(count));
        logit = lfuse_add(logit, lfuse_gather(p[1 + f], index));
        embedding[f] = lfuse_gather(p[1 + FEATURES + f], index);
    }
    for (int f = 0; f < FEATURES; f++)
        for (int h = f + 1; h < FEATURES; h++) {
            lfuse_value cross = lfuse_mul(embedding[f], embedding[h]);
            logit = lfuse_add(logit, lfuse_sum(cross, 1, (const int[]){-1}, 0));
        }
    return lfuse_binary_cross_entropy_with_logits(logit, probability, lfuse_none(), LFUSE_LOSS_MEAN);
}

/* ---- one device ---- */

static lfuse_status upload(lfuse_device *device, lfuse_type type, int rank, const int64_t *shape, const void *data,
                           lfuse_tensor **t)
{
    TRY(lfuse_tensor_create(device, type, rank, shape, t));
    return lfuse_tensor_write(*t, NULL, data);
}

static lfuse_status upload_parameters(session *s)
{
    static machine first;
    machine_start(&first);
    for (int i = 0; i < PARAMETERS; i++) {
        int64_t shape[2];
        int rank = shape_of(i, shape);
        TRY(upload(s->device, LFUSE_F32, rank, shape, numbers_of(&first, i), &s->parameters[i]));
    }
    return lfuse_tensor_create(s->device, LFUSE_F32, 0, NULL, &s->loss);
}

static lfuse_status upload_rows(session *s, const clicks *c)
{
    for (int f = 0; f < FEATURES; f++) {
        TRY(upload(s->device, LFUSE_I32, 1, LFUSE_DIMS(TRAIN_ROWS), c->train[f], &s->train.index[f]));
        TRY(upload(s->device, LFUSE_I32, 1, LFUSE_DIMS(HELD_ROWS), c->held[f], &s->held.index[f]));
    }
    TRY(upload(s->device, LFUSE_F32, 1, LFUSE_DIMS(TRAIN_ROWS), c->clicked, &s->train.probability));
    TRY(upload(s->device, LFUSE_F32, 1, LFUSE_DIMS(HELD_ROWS), c->probability, &s->held.probability));
    for (int k = 0; k < BATCHES; k++) {
        rows *batch = &s->batches[k];
        for (int f = 0; f < FEATURES; f++)
            TRY(lfuse_tensor_view(s->train.index[f], 1, LFUSE_DIMS(BATCH), NULL, (int64_t)k * BATCH, &batch->index[f]));
        TRY(lfuse_tensor_view(s->train.probability, 1, LFUSE_DIMS(BATCH), NULL, (int64_t)k * BATCH,
                              &batch->probability));
    }
    return LFUSE_OK;
}

/* One plan for a step with AdamW. Embeddings decay; weights and the bias, of rank 1, do not. */
static lfuse_status make_training(session *s, const lfuse_graph *g, lfuse_value loss)
{
    const lfuse_training_options options = {.rule = LFUSE_RULE_ADAMW};
    lfuse_training_parameter parameters[PARAMETERS];
    lfuse_training_group groups[2] = {{.lowest_rank = 1, .highest_rank = 1}, {.lowest_rank = 2, .highest_rank = 2}};
    for (int i = 0; i < 2; i++) TRY(lfuse_hyper_defaults(options.rule, &groups[i].hyper));
    groups[0].hyper.weight_decay = 0;
    for (int i = 0; i < PARAMETERS; i++)
        parameters[i] = (lfuse_training_parameter){parameter_names[i], s->parameters[i]};
    return lfuse_training_create(s->device, g, loss, PARAMETERS, parameters, 2, groups, &options, &s->training);
}

static lfuse_status make_plans(session *s)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_status status = make_training(s, g, describe(g, BATCH));
    lfuse_graph_destroy(g);
    if (status) return status;

    g = lfuse_graph_create();
    lfuse_output(g, "loss", describe(g, HELD_ROWS));
    status = lfuse_plan_create(s->device, g, NULL, &s->evaluation);
    lfuse_graph_destroy(g);
    return status;
}

static lfuse_status session_open(const char *name, const clicks *c, session *s)
{
    TRY(lfuse_device_open(name, &s->device));
    TRY(lfuse_stream_create(s->device, &s->stream));
    TRY(upload_parameters(s));
    TRY(upload_rows(s, c));
    return make_plans(s);
}

static void free_rows(rows *r)
{
    for (int f = 0; f < FEATURES; f++) lfuse_tensor_destroy(r->index[f]);
    lfuse_tensor_destroy(r->probability);
}

static void session_close(session *s)
{
    lfuse_training_destroy(s->training);
    lfuse_plan_destroy(s->evaluation);
    for (int k = 0; k < BATCHES; k++) free_rows(&s->batches[k]);
    free_rows(&s->train);
    free_rows(&s->held);
    for (int i = 0; i < PARAMETERS; i++) lfuse_tensor_destroy(s->parameters[i]);
    lfuse_tensor_destroy(s->loss);
    lfuse_stream_destroy(s->stream);
    lfuse_device_close(s->device);
}

/* Returns the number of bindings. */
static int bind_rows(const rows *r, lfuse_binding *b)
{
    int n = 0;
    for (int f = 0; f < FEATURES; f++) b[n++] = lfuse_bind_tensor(index_names[f], r->index[f]);
    b[n++] = lfuse_bind_tensor("probability", r->probability);
    return n;
}

static lfuse_status step(session *s, int number)
{
    lfuse_binding b[FEATURES + 1];
    int n = bind_rows(&s->batches[number % BATCHES], b);
    double lr = lfuse_schedule_cosine(0.03, 1e-4, 1, 0, EPOCHS * BATCHES, number);
    TRY(lfuse_training_set_lr(s->training, -1, lr));
    return lfuse_training_step(s->training, s->stream, b, n);
}

static lfuse_status evaluate(session *s, float *loss)
{
    lfuse_binding b[FEATURES + 2 + PARAMETERS];
    int n = bind_rows(&s->held, b);
    b[n++] = lfuse_bind_tensor("loss", s->loss);
    for (int i = 0; i < PARAMETERS; i++) b[n++] = lfuse_bind_tensor(parameter_names[i], s->parameters[i]);
    TRY(lfuse_plan_run(s->evaluation, s->stream, b, n));
    TRY(lfuse_tensor_read(s->loss, s->stream, loss));
    return lfuse_stream_synchronize(s->stream);
}

static lfuse_status train(session *s, const char *device, float *loss)
{
    for (int epoch = 0; epoch <= EPOCHS; epoch++) {
        for (int k = 0; epoch && k < BATCHES; k++) TRY(step(s, (epoch - 1) * BATCHES + k));
        TRY(evaluate(s, loss));
        printf("%-12s %5d %10.6f\n", device, epoch, *loss);
    }
    return lfuse_training_check(s->training, s->stream);
}

static lfuse_status expect(session *s, const clicks *c, double *loss)
{
    static machine learned;
    for (int i = 0; i < PARAMETERS; i++)
        TRY(lfuse_tensor_read(s->parameters[i], s->stream, numbers_of(&learned, i)));
    TRY(lfuse_stream_synchronize(s->stream));
    *loss = expected_loss(c, &learned);
    return LFUSE_OK;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- report ---- */

/* 0 when the loss is as near to the least one as it has to be, and the device's is that of its parameters. */
static int report(const char *device, const clicks *c)
{
    session s = {0};
    result r = {0};
    double begin = now();
    lfuse_status status = session_open(device, c, &s);
    if (!status) status = train(&s, device, &r.loss);
    r.seconds = now() - begin;
    if (!status) status = expect(&s, c, &r.expected);
    session_close(&s);
    if (status) {
        printf("%-12s %s\n", device, lfuse_last_error());
        return 1;
    }
    double excess = r.expected - expected_loss(c, &c->truth), off = fabs(r.loss - r.expected);
    int good = excess > 0 && excess <= excess_bound() && off <= 1e-5;
    printf("%-12s %.6f above the least loss, at most %.6f; off double by %.1e; after %.2f s, %s\n", device, excess,
           excess_bound(), off, r.seconds, good ? "ok" : "WRONG");
    return !good;
}

static int report_all(const clicks *c)
{
    int count, failures = 0;
    lfuse_device_info info;
    if (lfuse_device_count(&count) || count == 0) {
        fprintf(stderr, "no device: %s\n", lfuse_last_error());
        return -1;
    }
    for (int i = 0; i < count; i++) {
        if (lfuse_device_describe(i, &info)) {
            fprintf(stderr, "device %d: %s\n", i, lfuse_last_error());
            failures++;
        } else failures += report(info.name, c);
    }
    return failures;
}

int main(int argc, char **argv)
{
    static clicks c;
    if (argc != 1 && (argc != 3 || strcmp(argv[1], "--device"))) {
        fputs("usage: learn [--device NAME|all]\n", stderr);
        return 2;
    }
    clicks_make(&c);
    printf("loss on %d held-out rows: at least %.6f, of the mean alone %.6f\n", HELD_ROWS, expected_loss(&c, &c.truth),
           loss_of_mean(&c));
    printf("%-12s %5s %10s\n", "device", "epoch", "loss");
    return (argc == 1 || !strcmp(argv[2], "all") ? report_all(&c) : report(argv[2], &c)) ? 1 : 0;
}
