/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains two small networks to read handwritten digits, from their first weights, on the device of choice:
 *
 *     train [--data FOLDER] [--device NAME|all] [--epochs N] [--json FILE]
 *
 * A step (forward pass, loss, gradients, AdamW) is one plan, for whole batches and for the last one, which is smaller.
 */
#include <libfuse.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../digits/dataset.h"
#include "lines.h"
#include "network.h"

enum { BATCHES = (DIGITS_TRAIN + BATCH - 1) / BATCH, STATES = 2 };

/* Constant for a third of the epochs, then annealed. */
static double rate(int epochs, double step)
{
    return lfuse_schedule_cosine(0.01, 1e-4, 1, epochs / 3 * BATCHES, epochs * BATCHES, (int64_t)step);
}

static FILE *json; /* NULL: losses are printed alone */
static digits held;
static training_digits trained;

/* What runs on a device. Every member is NULL until it is made, so that one function takes all down. */
typedef struct session {
    const network *net;
    lfuse_device *device;
    lfuse_stream *stream;
    lfuse_plan *step, *evaluation;
    lfuse_tensor *parameters[PARAMETERS], *states[PARAMETERS][STATES];
    lfuse_tensor *images[2], *labels[2]; /* of training, and held out */
    lfuse_tensor *batch[BATCHES], *batch_labels[BATCHES];
    lfuse_tensor *loss, *right;
    int epochs;
    double t; /* steps that were made */
} session;

typedef struct score {
    float loss;
    int64_t right;
} score;

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        lfuse_status try_status = (call);                                                                              \
        if (try_status) return try_status;                                                                             \
    } while (0)

static lfuse_status plan(lfuse_device *device, lfuse_graph *g, lfuse_plan **made)
{
    lfuse_status status = lfuse_plan_create(device, g, NULL, made);
    lfuse_graph_destroy(g);
    return status;
}

static lfuse_status upload(lfuse_device *device, lfuse_type type, int rank, const int64_t *shape, const void *data,
                           lfuse_tensor **t)
{
    TRY(lfuse_tensor_create(device, type, rank, shape, t));
    return lfuse_tensor_write(*t, NULL, data);
}

/* The first value, and states of zeros. */
static lfuse_status start(session *s, int i)
{
    static float value[DIGITS_PIXELS * HIDDEN];
    const parameter *p = &s->net->parameters[i];
    int64_t columns = p->rank == 2 ? p->shape[1] : 1;
    for (int64_t k = 0; k < p->shape[0] * columns; k++) value[k] = (float)p->start(k / columns, k % columns);
    TRY(upload(s->device, LFUSE_F32, p->rank, p->shape, value, &s->parameters[i]));
    for (int k = 0; k < STATES; k++) {
        TRY(lfuse_tensor_create(s->device, LFUSE_F32, p->rank, p->shape, &s->states[i][k]));
        TRY(lfuse_tensor_fill(s->states[i][k], NULL, 0));
    }
    return LFUSE_OK;
}

static lfuse_status session_open(const char *name, const network *net, session *s)
{
    s->net = net;
    TRY(lfuse_device_open(name, &s->device));
    TRY(lfuse_stream_create(s->device, &s->stream));
    TRY(plan(s->device, step_graph(net), &s->step));
    TRY(plan(s->device, evaluation_graph(net, DIGITS_TRAIN), &s->evaluation));
    for (int i = 0; i < net->count; i++) TRY(start(s, i));
    TRY(upload(s->device, LFUSE_F32, 2, LFUSE_DIMS(DIGITS_TRAIN, DIGITS_PIXELS), trained.pixels, &s->images[0]));
    TRY(upload(s->device, LFUSE_I32, 1, LFUSE_DIMS(DIGITS_TRAIN), trained.label, &s->labels[0]));
    TRY(upload(s->device, LFUSE_F32, 2, LFUSE_DIMS(DIGITS_HELD, DIGITS_PIXELS), held.pixels, &s->images[1]));
    TRY(upload(s->device, LFUSE_I32, 1, LFUSE_DIMS(DIGITS_HELD), held.label, &s->labels[1]));
    for (int64_t k = 0; k < BATCHES; k++) {
        int64_t first = k * BATCH, count = DIGITS_TRAIN - first < BATCH ? DIGITS_TRAIN - first : BATCH;
        TRY(lfuse_tensor_view(s->images[0], 2, LFUSE_DIMS(count, DIGITS_PIXELS), NULL, first * DIGITS_PIXELS,
                              &s->batch[k]));
        TRY(lfuse_tensor_view(s->labels[0], 1, LFUSE_DIMS(count), NULL, first, &s->batch_labels[k]));
    }
    TRY(lfuse_tensor_create(s->device, LFUSE_F32, 0, NULL, &s->loss));
    return lfuse_tensor_create(s->device, LFUSE_I64, 0, NULL, &s->right);
}

static void session_close(session *s)
{
    for (int i = 0; i < PARAMETERS; i++) {
        lfuse_tensor_destroy(s->parameters[i]);
        for (int k = 0; k < STATES; k++) lfuse_tensor_destroy(s->states[i][k]);
    }
    for (int k = 0; k < BATCHES; k++) {
        lfuse_tensor_destroy(s->batch[k]);
        lfuse_tensor_destroy(s->batch_labels[k]);
    }
    for (int k = 0; k < 2; k++) {
        lfuse_tensor_destroy(s->images[k]);
        lfuse_tensor_destroy(s->labels[k]);
    }
    lfuse_tensor_destroy(s->loss);
    lfuse_tensor_destroy(s->right);
    lfuse_plan_destroy(s->step);
    lfuse_plan_destroy(s->evaluation);
    lfuse_stream_destroy(s->stream);
    lfuse_device_close(s->device);
}

/* The bindings that both plans share; returns their number. */
static int bind(const session *s, lfuse_tensor *images, lfuse_tensor *labels, lfuse_binding *b)
{
    int n = 0;
    b[n++] = lfuse_bind_tensor("x", images);
    b[n++] = lfuse_bind_tensor("label", labels);
    b[n++] = lfuse_bind_tensor("loss", s->loss);
    for (int i = 0; i < s->net->count; i++) b[n++] = lfuse_bind_tensor(s->net->parameters[i].name, s->parameters[i]);
    return n;
}

static lfuse_status make_step(session *s, int batch)
{
    lfuse_binding b[5 + PARAMETERS * (1 + STATES)];
    char names[PARAMETERS][STATES][16];
    int n = bind(s, s->batch[batch], s->batch_labels[batch], b);
    for (int i = 0; i < s->net->count; i++)
        for (int k = 0; k < STATES; k++) {
            snprintf(names[i][k], sizeof names[i][k], "%c.%s", "mv"[k], s->net->parameters[i].name);
            b[n++] = lfuse_bind_tensor(names[i][k], s->states[i][k]);
        }
    b[n++] = lfuse_bind_scalar("lr", rate(s->epochs, s->t));
    b[n++] = lfuse_bind_scalar("t", ++s->t);
    return lfuse_plan_run(s->step, s->stream, b, n);
}

static lfuse_status evaluate(session *s, int set, score *result)
{
    lfuse_binding b[4 + PARAMETERS];
    int n = bind(s, s->images[set], s->labels[set], b);
    b[n++] = lfuse_bind_tensor("right", s->right);
    TRY(lfuse_plan_run(s->evaluation, s->stream, b, n));
    TRY(lfuse_tensor_read(s->loss, s->stream, &result->loss));
    TRY(lfuse_tensor_read(s->right, s->stream, &result->right));
    return lfuse_stream_synchronize(s->stream);
}

/* Of an epoch, the scores of both sets. */
static void print(const session *s, const lfuse_device_info *info, const char *device, int epoch, const score of[2])
{
    const double loss[] = {of[0].loss, of[1].loss};
    const double accuracy[] = {(double)of[0].right / DIGITS_TRAIN, (double)of[1].right / DIGITS_HELD};
    printf("%-12s %-20s %5d %12.8f %6lld %12.8f %6lld\n", device, s->net->name, epoch, of[0].loss,
           (long long)of[0].right, of[1].loss, (long long)of[1].right);
    if (json) write_epoch(json, info, s->net->name, epoch, loss, accuracy);
}

static lfuse_status train(session *s, const char *device, score *last)
{
    lfuse_device_info info;
    score of[2];
    TRY(lfuse_device_get_info(s->device, &info));
    if (json) write_machine(json, &info);
    for (int epoch = 0; epoch <= s->epochs; epoch++) {
        for (int k = 0; epoch && k < BATCHES; k++) TRY(make_step(s, k));
        for (int set = 0; set < 2; set++) TRY(evaluate(s, set, &of[set]));
        print(s, &info, device, epoch, of);
    }
    *last = of[1];
    return LFUSE_OK;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* 0 when every network learned to read as many images that it never saw as it has to. */
static int report(const char *device, int epochs)
{
    int failures = 0;
    for (int i = 0; i < NETWORKS; i++) {
        session s = {.epochs = epochs};
        score last = {0};
        double begin = now();
        lfuse_status status = session_open(device, &networks[i], &s);
        if (!status) status = train(&s, device, &last);
        double seconds = now() - begin;
        int good = !status && 100 * last.right >= networks[i].goal * DIGITS_HELD;
        if (status) printf("%-12s %-20s %s\n", device, networks[i].name, lfuse_last_error());
        else
            printf("%-12s %-20s %.2f %% of %d held-out images after %.2f s, %s\n", device, networks[i].name,
                   100.0 * (double)last.right / DIGITS_HELD, DIGITS_HELD, seconds, good ? "ok" : "WRONG");
        failures += !good;
        session_close(&s);
    }
    return failures;
}

static int report_all(int epochs)
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
        } else failures += report(info.name, epochs);
    }
    return failures;
}

static int usage(void)
{
    fputs("usage: train [--data FOLDER] [--device NAME|all] [--epochs N] [--json FILE]\n", stderr);
    return 2;
}

/* Whether all lines are in the file. */
static int close_json(const char *path)
{
    int failed = ferror(json);
    if (fclose(json) || failed) {
        fprintf(stderr, "%s: the losses could not be written\n", path);
        return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    const char *folder = ".", *device = "all", *lines = NULL;
    int epochs = 24;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) return usage();
        if (!strcmp(argv[i], "--data")) folder = argv[i + 1];
        else if (!strcmp(argv[i], "--device")) device = argv[i + 1];
        else if (!strcmp(argv[i], "--epochs")) epochs = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--json")) lines = argv[i + 1];
        else return usage();
    }
    if (digits_read(folder, &held, &trained)) return 1;
    if (lines && !(json = fopen(lines, "w"))) {
        perror(lines);
        return 1;
    }
    printf("%-12s %-20s %5s %12s %6s %12s %6s\n", "device", "network", "epoch", "train: loss", "right", "held: loss",
           "right");
    int failures = strcmp(device, "all") ? report(device, epochs) : report_all(epochs);
    if (json && !close_json(lines)) failures++;
    return failures ? 1 : 0;
}
