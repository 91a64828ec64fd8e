/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classifies handwritten digits with a small dense network on the device of choice:
 *
 *     digits [--data FOLDER] [--device NAME|all]
 *
 * One plan serves every batch size: it is made once, then run with all images together and one by one.
 */
#include <libfuse.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dataset.h"
#include "npy.h"

enum { LAYERS = 3, REPEATS = 50 };

typedef struct network {
    npy_array w[LAYERS], b[LAYERS];
} network;

/* What runs on a device. Every member is NULL until it is made, so that one function takes all down. */
typedef struct session {
    lfuse_device *device;
    lfuse_stream *stream;
    lfuse_plan *plan;
    lfuse_tensor *w[LAYERS], *b[LAYERS], *images, *scores;
} session;

typedef struct result {
    double accuracy, worst, us_one, us_all;
    unsigned long long compiles; /* by the second batch size: none is expected */
} result;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int network_read(const char *folder, network *net)
{
    char name[16];
    for (int i = 0; i < LAYERS; i++) {
        snprintf(name, sizeof name, "w%d.npy", i);
        if (npy_read(folder, name, &net->w[i])) return -1;
        snprintf(name, sizeof name, "b%d.npy", i);
        if (npy_read(folder, name, &net->b[i])) return -1;
        if (net->w[i].rank != 2 || net->b[i].rank != 1 || net->b[i].shape[0] != net->w[i].shape[1] ||
            net->w[i].shape[0] != (i ? net->w[i - 1].shape[1] : DIGITS_PIXELS)) {
            fprintf(stderr, "layer %d: shapes do not fit\n", i);
            return -1;
        }
    }
    return net->w[LAYERS - 1].shape[1] == DIGITS_CLASSES ? 0 : -1;
}

static void network_free(network *net)
{
    for (int i = 0; i < LAYERS; i++) {
        free(net->w[i].data);
        free(net->b[i].data);
    }
}

/* The same network in double precision on the host: the truth that the device is held to. */
static void host_scores(const network *net, const float *pixels, double *scores)
{
    double in[512], out[512];
    for (int i = 0; i < DIGITS_PIXELS; i++) in[i] = pixels[i];
    for (int l = 0; l < LAYERS; l++) {
        int64_t m = net->w[l].shape[0], n = net->w[l].shape[1];
        for (int64_t j = 0; j < n; j++) {
            out[j] = net->b[l].data[j];
            for (int64_t i = 0; i < m; i++) out[j] += in[i] * net->w[l].data[i * n + j];
            if (l + 1 < LAYERS && out[j] < 0) out[j] = 0;
        }
        memcpy(in, out, sizeof in);
    }
    memcpy(scores, in, DIGITS_CLASSES * sizeof(double));
}

static lfuse_status make_plan(const network *net, session *s)
{
    char name[16];
    lfuse_graph *g = lfuse_graph_create();
    lfuse_size batch = lfuse_size_var(g, "batch", 1, DIGITS_HELD);
    lfuse_value x = lfuse_input(g, "images", LFUSE_F32, 2, LFUSE_DIMS(batch, DIGITS_PIXELS));
    for (int l = 0; l < LAYERS; l++) {
        snprintf(name, sizeof name, "w%d", l);
        lfuse_value w = lfuse_frozen(g, name, LFUSE_F32, 2, net->w[l].shape);
        snprintf(name, sizeof name, "b%d", l);
        lfuse_value b = lfuse_frozen(g, name, LFUSE_F32, 1, net->b[l].shape);
        x = lfuse_add(lfuse_matmul(x, w), b);
        if (l + 1 < LAYERS) x = lfuse_relu(x);
    }
    lfuse_output(g, "scores", x);
    lfuse_status status = lfuse_plan_create(s->device, g, NULL, &s->plan);
    lfuse_graph_destroy(g);
    return status;
}

static lfuse_status upload(lfuse_device *device, const npy_array *a, lfuse_tensor **t)
{
    lfuse_status status = lfuse_tensor_create(device, LFUSE_F32, a->rank, a->shape, t);
    return status ? status : lfuse_tensor_write(*t, NULL, a->data);
}

static lfuse_status session_open(const char *name, const network *net, const digits *held, session *s)
{
    lfuse_status status;
    if ((status = lfuse_device_open(name, &s->device))) return status;
    if ((status = lfuse_stream_create(s->device, &s->stream))) return status;
    if ((status = make_plan(net, s))) return status;
    for (int l = 0; l < LAYERS; l++) {
        if ((status = upload(s->device, &net->w[l], &s->w[l]))) return status;
        if ((status = upload(s->device, &net->b[l], &s->b[l]))) return status;
    }
    status = lfuse_tensor_create(s->device, LFUSE_F32, 2, LFUSE_DIMS(DIGITS_HELD, DIGITS_PIXELS), &s->images);
    if (status) return status;
    status = lfuse_tensor_create(s->device, LFUSE_F32, 2, LFUSE_DIMS(DIGITS_HELD, DIGITS_CLASSES), &s->scores);
    if (status) return status;
    return lfuse_tensor_write(s->images, NULL, held->pixels);
}

static void session_close(session *s)
{
    lfuse_tensor_destroy(s->images);
    lfuse_tensor_destroy(s->scores);
    for (int l = 0; l < LAYERS; l++) {
        lfuse_tensor_destroy(s->w[l]);
        lfuse_tensor_destroy(s->b[l]);
    }
    lfuse_plan_destroy(s->plan);
    lfuse_stream_destroy(s->stream);
    lfuse_device_close(s->device);
}

/* The first `count` images through the network; *us gets the median time of a run and its synchronisation. */
static lfuse_status classify(session *s, int64_t count, double *us)
{
    lfuse_tensor *images = NULL, *scores = NULL;
    double times[REPEATS];
    lfuse_status status = lfuse_tensor_view(s->images, 2, LFUSE_DIMS(count, DIGITS_PIXELS), NULL, 0, &images);
    if (status) return status;
    status = lfuse_tensor_view(s->scores, 2, LFUSE_DIMS(count, DIGITS_CLASSES), NULL, 0, &scores);
    if (status) goto destroy_images;

    lfuse_binding bindings[2 + 2 * LAYERS] = {lfuse_bind_tensor("images", images), lfuse_bind_tensor("scores", scores)};
    static const char *const w[LAYERS] = {"w0", "w1", "w2"}, *const b[LAYERS] = {"b0", "b1", "b2"};
    for (int l = 0; l < LAYERS; l++) {
        bindings[2 + 2 * l] = lfuse_bind_tensor(w[l], s->w[l]);
        bindings[3 + 2 * l] = lfuse_bind_tensor(b[l], s->b[l]);
    }
    for (int i = -3; i < REPEATS; i++) { /* the first three warm up */
        double start = now_us();
        if ((status = lfuse_plan_run(s->plan, s->stream, bindings, 2 + 2 * LAYERS))) goto destroy_scores;
        if ((status = lfuse_stream_synchronize(s->stream))) goto destroy_scores;
        double time = now_us() - start;
        int at = i;
        for (; at > 0 && times[at - 1] > time; at--) times[at] = times[at - 1];
        if (at >= 0) times[at] = time;
    }
    *us = times[REPEATS / 2];
destroy_scores:
    lfuse_tensor_destroy(scores);
destroy_images:
    lfuse_tensor_destroy(images);
    return status;
}

static int largest(const float *scores)
{
    int best = 0;
    for (int c = 1; c < DIGITS_CLASSES; c++)
        if (scores[c] > scores[best]) best = c;
    return best;
}

static void judge(const network *net, const digits *held, float scores[DIGITS_HELD][DIGITS_CLASSES], result *r)
{
    double truth[DIGITS_CLASSES];
    int right = 0;
    r->worst = 0;
    for (int i = 0; i < DIGITS_HELD; i++) {
        right += largest(scores[i]) == held->label[i];
        host_scores(net, held->pixels[i], truth);
        for (int c = 0; c < DIGITS_CLASSES; c++) {
            double off = fabs(scores[i][c] - truth[c]);
            r->worst = off <= r->worst ? r->worst : off; /* a NaN stays */
        }
    }
    r->accuracy = 100.0 * right / DIGITS_HELD;
}

static lfuse_status run(const char *name, const network *net, const digits *held, result *r)
{
    static float scores[DIGITS_HELD][DIGITS_CLASSES];
    lfuse_device_counters before, after;
    session s = {0};
    lfuse_status status = session_open(name, net, held, &s);
    if (!status) status = classify(&s, 1, &r->us_one);
    if (!status) status = lfuse_device_get_counters(s.device, &before);
    if (!status) status = classify(&s, DIGITS_HELD, &r->us_all);
    if (!status) status = lfuse_device_get_counters(s.device, &after);
    if (!status) status = lfuse_tensor_read(s.scores, NULL, scores);
    if (!status) {
        r->compiles = after.compiles - before.compiles;
        judge(net, held, scores, r);
    }
    session_close(&s);
    return status;
}

/* 0 when the device classified well and agreed with the host. */
static int report(const char *name, const network *net, const digits *held)
{
    result r;
    if (run(name, net, held, &r)) {
        printf("%-12s %s\n", name, lfuse_last_error());
        return -1;
    }
    int good = r.accuracy >= 95 && r.worst < 1e-3;
    printf("%-12s %8.2f %% %12.2e %14.1f %14.3f %9llu  %s\n", name, r.accuracy, r.worst, r.us_one,
           r.us_all / DIGITS_HELD, r.compiles, good ? "ok" : "WRONG");
    return good ? 0 : -1;
}

static int report_all(const network *net, const digits *held)
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
        } else if (report(info.name, net, held)) failures++;
    }
    return failures ? -1 : 0;
}

static int usage(void)
{
    fputs("usage: digits [--data FOLDER] [--device NAME|all]\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    const char *folder = ".", *device = "all";
    static digits held;
    network net = {0};
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) return usage();
        if (!strcmp(argv[i], "--data")) folder = argv[i + 1];
        else if (!strcmp(argv[i], "--device")) device = argv[i + 1];
        else return usage();
    }
    int status = digits_read(folder, &held, NULL) || network_read(folder, &net);
    if (!status) {
        printf("%d held-out images, network 64-128-128-10, one plan for every batch size\n", DIGITS_HELD);
        printf("%-12s %10s %12s %14s %14s %9s\n", "device", "accuracy", "off double", "us/image, 1", "us/image, all",
               "compiles");
        status = strcmp(device, "all") ? report(device, &net, &held) : report_all(&net, &held);
    }
    network_free(&net);
    return status ? 1 : 0;
}
