/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An optimizer over buffers that another library owns:
 *
 *     borrowed [opencl|cuda]
 *
 * owner.c stands for that library: it has a context, a queue and the buffers of parameters and gradients, and libfuse
 * is handed all of them as they are: no copies, no synchronisation of its own. Each step the owner computes gradients
 * (here of (p - target)^2 / 2, on the host), in two lists of buffers in turn, and AdamW follows on the owner's queue:
 * one launch on CUDA, on OpenCL one for as many buffers as a launch takes.
 */
#include <libfuse.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "owner.h"

enum { MEMBERS = 5, LONGEST = 3000, STEPS = 200 };
static const int64_t elements[MEMBERS] = {3000, 1, 640, 17, 2048};

typedef struct session {
    owner *o;
    lfuse_device *device;
    lfuse_stream *stream;
    lfuse_optimizer *optimizer;
    uint64_t p[MEMBERS], g[2][MEMBERS];
    lfuse_list *parameters, *gradients[2];
} session;

static float target(int member, int64_t i)
{
    return (float)((i * 7 + member) % 11) / 8 - 0.5f;
}

static lfuse_status wrap(session *s, const uint64_t *buffers, lfuse_list **list)
{
    lfuse_tensor *t[MEMBERS] = {NULL};
    lfuse_status status = LFUSE_OK;
    for (int m = 0; m < MEMBERS && !status; m++)
        status = lfuse_tensor_wrap(s->device, LFUSE_MEMORY_NATIVE, buffers[m], (uint64_t)elements[m] * sizeof(float),
                                   LFUSE_F32, 1, &elements[m], NULL, 0, &t[m]);
    if (!status) status = lfuse_list_create(s->device, LFUSE_F32, MEMBERS, t, list);
    for (int m = 0; m < MEMBERS; m++) lfuse_tensor_destroy(t[m]);
    return status;
}

/* The owner's side of it: buffers, parameters that are 0. */
static int fill(session *s)
{
    static const float zeros[LONGEST];
    for (int m = 0; m < MEMBERS; m++) {
        const size_t bytes = (size_t)elements[m] * sizeof(float);
        s->p[m] = owner_buffer(s->o, bytes);
        for (int i = 0; i < 2; i++) s->g[i][m] = owner_buffer(s->o, bytes);
        if (!s->p[m] || !s->g[0][m] || !s->g[1][m] || owner_write(s->o, s->p[m], zeros, bytes)) return -1;
    }
    return 0;
}

static int make_gradients(const session *s, int step)
{
    float p[LONGEST];
    for (int m = 0; m < MEMBERS; m++) {
        const size_t bytes = (size_t)elements[m] * sizeof(float);
        if (owner_read(s->o, s->p[m], p, bytes)) return -1;
        for (int64_t i = 0; i < elements[m]; i++) p[i] -= target(m, i);
        if (owner_write(s->o, s->g[step % 2][m], p, bytes)) return -1;
    }
    return 0;
}

static double distance(const session *s)
{
    float p[LONGEST];
    double worst = 0;
    for (int m = 0; m < MEMBERS; m++) {
        if (owner_read(s->o, s->p[m], p, (size_t)elements[m] * sizeof(float))) return INFINITY;
        for (int64_t i = 0; i < elements[m]; i++) worst = fmax(worst, fabs((double)(p[i] - target(m, i))));
    }
    return worst;
}

static lfuse_status begin(session *s, const char *backend)
{
    lfuse_optimizer_options options = {.rule = LFUSE_RULE_ADAMW};
    lfuse_group group;
    lfuse_status status = lfuse_device_adopt(backend, owner_context(s->o), owner_device(s->o), &s->device);
    if (!status) status = lfuse_stream_wrap(s->device, owner_queue(s->o), &s->stream);
    if (!status) status = wrap(s, s->p, &s->parameters);
    for (int i = 0; i < 2 && !status; i++) status = wrap(s, s->g[i], &s->gradients[i]);
    if (!status) status = lfuse_hyper_defaults(options.rule, &group.hyper);
    if (status) return status;
    group.parameters = s->parameters;
    group.hyper.lr = 0.02;
    group.hyper.weight_decay = 0;
    return lfuse_optimizer_create(s->device, &options, 1, &group, &s->optimizer);
}

/* Parameters come to their targets. */
static int train(session *s, const char *backend)
{
    lfuse_device_counters before, after;
    lfuse_status status = lfuse_device_get_counters(s->device, &before);
    for (int step = 0; step < STEPS && !status; step++) {
        if (step == 1) status = lfuse_device_get_counters(s->device, &before); /* the first one writes tables */
        if (make_gradients(s, step)) return fprintf(stderr, "the owner's queue fails\n"), 1;
        if (!status) status = lfuse_optimizer_step(s->optimizer, s->stream, 1, &s->gradients[step % 2], NULL);
    }
    if (!status) status = lfuse_device_get_counters(s->device, &after);
    if (status) return fprintf(stderr, "%s\n", lfuse_last_error()), 1;
    const double left = distance(s);
    printf("%-8s %d steps, %.1f launches each, farthest from its target %.4f  %s\n", backend, STEPS,
           (double)(after.launches - before.launches) / (STEPS - 1), left, left < 0.05 ? "ok" : "WRONG");
    return left < 0.05 ? 0 : 1;
}

static void end(session *s)
{
    lfuse_optimizer_destroy(s->optimizer);
    lfuse_list_destroy(s->parameters);
    for (int i = 0; i < 2; i++) lfuse_list_destroy(s->gradients[i]);
    lfuse_stream_destroy(s->stream);
    lfuse_device_close(s->device);
    owner_close(s->o);
}

/* -1: no such device. */
static int run(const char *backend)
{
    session s = {.o = owner_open(backend)};
    int status = 1;
    if (!s.o) return -1;
    if (fill(&s)) fprintf(stderr, "the owner's memory fails\n");
    else if (begin(&s, backend)) fprintf(stderr, "%s: %s\n", backend, lfuse_last_error());
    else status = train(&s, backend);
    end(&s);
    return status;
}

int main(int argc, char **argv)
{
    static const char *const backends[] = {"cuda", "opencl"};
    int found = 0, wrong = 0;
    for (int i = 0; i < 2; i++) {
        if (argc > 1 && strcmp(argv[1], backends[i])) continue;
        const int status = run(backends[i]);
        found += status >= 0;
        wrong += status > 0;
    }
    if (!found) printf("no device\n");
    return wrong || !found;
}
