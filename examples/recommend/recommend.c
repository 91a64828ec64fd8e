/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dense end of a recommendation model on the device of choice:
 *
 *     recommend [--device NAME|all]
 *
 * Each of 8 categorical features is looked up in a table of its own; the row is normalised and goes through tanh. The
 * features are stacked, a linear layer gives each a score, relu cuts it off, and the scores of an example add up to the
 * probability of a click. Written as a framework's user writes it, feature by feature: libfuse finds by itself that the
 * features are one kernel. The same graph with every pass off shows what that is worth. Tables and indices are random.
 */
#include <libfuse.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FEATURES = 8, WIDTH = 64, BATCH = 2048, REPEATS = 50, BINDINGS = 2 * FEATURES + 5 };
static const double epsilon = 1e-5;

typedef struct model {
    int64_t height[FEATURES];
    float *table[FEATURES], scale[WIDTH], shift[WIDTH], w[WIDTH], b[1];
    int32_t index[FEATURES][BATCH];
} model;

/* What runs on a device; NULL until it is made. */
typedef struct session {
    lfuse_device *device;
    lfuse_stream *stream;
    lfuse_plan *plan;
    lfuse_tensor *tables[FEATURES], *indices[FEATURES], *scale, *shift, *w, *b, *clicks;
    char names[2 * FEATURES][16];
    lfuse_binding bindings[BINDINGS];
} session;

typedef struct result {
    double us, worst;
    unsigned long long launches;
} result;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* ---- data ---- */

static uint32_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

static void fill(float *x, int64_t count, double scale)
{
    for (int64_t i = 0; i < count; i++) x[i] = (float)(scale * (random_bits() / 2147483648.0 - 1));
}

static int model_make(model *m)
{
    for (int f = 0; f < FEATURES; f++) {
        m->height[f] = 1000 + 137 * f;
        m->table[f] = malloc((size_t)m->height[f] * WIDTH * sizeof(float));
        if (!m->table[f]) return -1;
        fill(m->table[f], m->height[f] * WIDTH, 1);
        for (int i = 0; i < BATCH; i++) m->index[f][i] = (int32_t)(random_bits() % (uint32_t)m->height[f]);
    }
    fill(m->scale, WIDTH, 1);
    fill(m->shift, WIDTH, 0.5);
    fill(m->w, WIDTH, 0.3);
    fill(m->b, 1, 0.1);
    return 0;
}

static void model_free(model *m)
{
    for (int f = 0; f < FEATURES; f++) free(m->table[f]);
}

/* One example in double precision: the truth that the device is held to. */
static double host_click(const model *m, int example)
{
    double sum = 0;
    for (int f = 0; f < FEATURES; f++) {
        const float *row = m->table[f] + (int64_t)m->index[f][example] * WIDTH;
        double mean = 0, variance = 0, score = m->b[0];
        for (int i = 0; i < WIDTH; i++) mean += row[i] / (double)WIDTH;
        for (int i = 0; i < WIDTH; i++) variance += (row[i] - mean) * (row[i] - mean) / WIDTH;
        for (int i = 0; i < WIDTH; i++)
            score += m->w[i] * tanh((row[i] - mean) / sqrt(variance + epsilon) * m->scale[i] + m->shift[i]);
        sum += score > 0 ? score : 0;
    }
    return 1 / (1 + exp(-sum / FEATURES));
}

/* ---- the graph ---- */

static lfuse_graph *describe(const session *s, const model *m)
{
    static const int features[2] = {0, 2};
    lfuse_graph *g = lfuse_graph_create();
    lfuse_size batch = lfuse_size_var(g, "batch", 1, BATCH);
    lfuse_value scale = lfuse_input(g, "scale", LFUSE_F32, 1, LFUSE_DIMS(WIDTH));
    lfuse_value shift = lfuse_input(g, "shift", LFUSE_F32, 1, LFUSE_DIMS(WIDTH));
    lfuse_value w = lfuse_input(g, "w", LFUSE_F32, 2, LFUSE_DIMS(WIDTH, 1));
    lfuse_value b = lfuse_input(g, "b", LFUSE_F32, 1, LFUSE_DIMS(1));
    lfuse_value rows[FEATURES];
    for (int f = 0; f < FEATURES; f++) {
        lfuse_value table = lfuse_input(g, s->names[2 * f], LFUSE_F32, 2, LFUSE_DIMS(m->height[f], WIDTH));
        lfuse_value index = lfuse_input(g, s->names[2 * f + 1], LFUSE_I32, 1, LFUSE_DIMS(batch));
        rows[f] = lfuse_tanh(lfuse_layernorm(lfuse_gather(table, index), 1, scale, shift, epsilon));
    }
    lfuse_value scores = lfuse_relu(lfuse_add(lfuse_matmul(lfuse_stack(FEATURES, rows, 0), w), b));
    lfuse_output(g, "clicks", lfuse_sigmoid(lfuse_mean(scores, 2, features, 0)));
    return g;
}

/* ---- one device ---- */

static lfuse_status upload(lfuse_device *device, lfuse_type type, int rank, const int64_t *shape, const void *data,
                           lfuse_tensor **t)
{
    lfuse_status status = lfuse_tensor_create(device, type, rank, shape, t);
    return status ? status : lfuse_tensor_write(*t, NULL, data);
}

static lfuse_status upload_all(session *s, const model *m)
{
    static const int64_t row[1] = {WIDTH}, column[2] = {WIDTH, 1}, one[1] = {1}, batch[1] = {BATCH};
    lfuse_status status;
    for (int f = 0; f < FEATURES; f++) {
        const int64_t shape[2] = {m->height[f], WIDTH};
        if ((status = upload(s->device, LFUSE_F32, 2, shape, m->table[f], &s->tables[f]))) return status;
        if ((status = upload(s->device, LFUSE_I32, 1, batch, m->index[f], &s->indices[f]))) return status;
    }
    if ((status = upload(s->device, LFUSE_F32, 1, row, m->scale, &s->scale))) return status;
    if ((status = upload(s->device, LFUSE_F32, 1, row, m->shift, &s->shift))) return status;
    if ((status = upload(s->device, LFUSE_F32, 2, column, m->w, &s->w))) return status;
    if ((status = upload(s->device, LFUSE_F32, 1, one, m->b, &s->b))) return status;
    return lfuse_tensor_create(s->device, LFUSE_F32, 1, batch, &s->clicks);
}

static void bind(session *s)
{
    int n = 0;
    for (int f = 0; f < FEATURES; f++) {
        s->bindings[n++] = lfuse_bind_tensor(s->names[2 * f], s->tables[f]);
        s->bindings[n++] = lfuse_bind_tensor(s->names[2 * f + 1], s->indices[f]);
    }
    s->bindings[n++] = lfuse_bind_tensor("scale", s->scale);
    s->bindings[n++] = lfuse_bind_tensor("shift", s->shift);
    s->bindings[n++] = lfuse_bind_tensor("w", s->w);
    s->bindings[n++] = lfuse_bind_tensor("b", s->b);
    s->bindings[n++] = lfuse_bind_tensor("clicks", s->clicks);
}

static lfuse_status session_open(const char *name, const model *m, const lfuse_plan_options *options, session *s)
{
    lfuse_status status;
    for (int i = 0; i < 2 * FEATURES; i++)
        snprintf(s->names[i], sizeof s->names[i], i % 2 ? "index%d" : "table%d", i / 2);
    if ((status = lfuse_device_open(name, &s->device))) return status;
    if ((status = lfuse_stream_create(s->device, &s->stream))) return status;
    if ((status = upload_all(s, m))) return status;
    bind(s);
    lfuse_graph *g = describe(s, m);
    status = lfuse_plan_create(s->device, g, options, &s->plan);
    lfuse_graph_destroy(g);
    return status;
}

static void session_close(session *s)
{
    for (int f = 0; f < FEATURES; f++) {
        lfuse_tensor_destroy(s->tables[f]);
        lfuse_tensor_destroy(s->indices[f]);
    }
    lfuse_tensor_destroy(s->scale);
    lfuse_tensor_destroy(s->shift);
    lfuse_tensor_destroy(s->w);
    lfuse_tensor_destroy(s->b);
    lfuse_tensor_destroy(s->clicks);
    lfuse_plan_destroy(s->plan);
    lfuse_stream_destroy(s->stream);
    lfuse_device_close(s->device);
}

/* Median time of a run and its synchronisation, and the launches of one run. */
static lfuse_status time_runs(session *s, result *r)
{
    lfuse_device_counters before, after;
    double times[REPEATS];
    lfuse_status status;
    for (int i = -3; i < REPEATS; i++) { /* the first three warm up */
        double start = now_us();
        if ((status = lfuse_device_get_counters(s->device, &before))) return status;
        if ((status = lfuse_plan_run(s->plan, s->stream, s->bindings, BINDINGS))) return status;
        if ((status = lfuse_stream_synchronize(s->stream))) return status;
        if ((status = lfuse_device_get_counters(s->device, &after))) return status;
        double time = now_us() - start;
        int at = i;
        for (; at > 0 && times[at - 1] > time; at--) times[at] = times[at - 1];
        if (at >= 0) times[at] = time;
    }
    r->us = times[REPEATS / 2];
    r->launches = after.launches - before.launches;
    return LFUSE_OK;
}

static lfuse_status run(const char *name, const model *m, const lfuse_plan_options *options, result *r)
{
    static float clicks[BATCH];
    session s = {0};
    lfuse_status status = session_open(name, m, options, &s);
    if (!status) status = time_runs(&s, r);
    if (!status) status = lfuse_tensor_read(s.clicks, NULL, clicks);
    session_close(&s);
    r->worst = 0;
    for (int i = 0; i < BATCH && !status; i++) {
        double off = fabs(clicks[i] - host_click(m, i));
        r->worst = off <= r->worst ? r->worst : off; /* a NaN stays */
    }
    return status;
}

/* 0 when fused and unfused results agree with the host. */
static int report(const char *name, const model *m)
{
    const lfuse_plan_options unfused = {.disable = LFUSE_NO_FUSION};
    result one, many;
    if (run(name, m, NULL, &one) || run(name, m, &unfused, &many)) {
        printf("%-12s %s\n", name, lfuse_last_error());
        return -1;
    }
    int good = one.worst < 1e-5 && many.worst < 1e-5;
    printf("%-12s %9llu %12.1f %9llu %12.1f %12.2e  %s\n", name, one.launches, one.us, many.launches, many.us,
           one.worst, good ? "ok" : "WRONG");
    return good ? 0 : -1;
}

static int report_all(const model *m)
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
        } else if (report(info.name, m)) failures++;
    }
    return failures ? -1 : 0;
}

int main(int argc, char **argv)
{
    static model m;
    int status = -1;
    if (argc != 1 && (argc != 3 || strcmp(argv[1], "--device"))) {
        fputs("usage: recommend [--device NAME|all]\n", stderr);
        return 2;
    }
    if (!model_make(&m)) {
        printf("%d features of width %d, batch %d: look-up, layernorm, tanh; stack, linear, relu, mean, sigmoid\n",
               FEATURES, WIDTH, BATCH);
        printf("%-12s %9s %12s %9s %12s %12s\n", "device", "launches", "us", "unfused", "us", "off double");
        status = argc == 1 || !strcmp(argv[2], "all") ? report_all(&m) : report(argv[2], &m);
    }
    model_free(&m);
    return status ? 1 : 0;
}
