/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work of the OpenCL backend from its start to its end: every call fails once, several threads. On every OpenCL device.
 */
#include <pthread.h>
#include <sched.h>

#include "tests/backends/opencl_rig.h"

OPENCL_SLOTS(.before = enumerate, .teardown = end)

TEST_LOOP(test_graph, 0, device_count)
{
    lfuse__bgraph *g = NULL;

    set_up(&t, _i);
    FAILS(LFUSE_ERR_UNSUPPORTED, b->graph_begin(t.s));
    FAILS(LFUSE_ERR_UNSUPPORTED, b->graph_end(t.s, &g));
    FAILS(LFUSE_ERR_UNSUPPORTED, b->graph_launch(t.s, NULL));
    b->graph_destroy(NULL);
}

/*
 * Every slot of a small piece of work, each with its way out. Returns the first failure; what it made is released
 * either way. With LFUSE_OK *sum is what the work computes.
 */
typedef struct scene {
    lfuse__bdevice *dev;
    lfuse__bstream *s;
    lfuse__bmem *x, *y, *pinned, *unified;
    lfuse__bprogram *program, *loaded;
    lfuse__bkernel *kernel;
    lfuse__bevent *first, *last;
    lfuse__strbuf log, binary;
    float in[64], ones[64]; /* here because copies go on after a failure */
} scene;

static lfuse_status scene_make(scene *c, int device)
{
    lfuse__facts f;

    LFUSE__TRY(b->open(device, &c->dev));
    LFUSE__TRY(b->facts(c->dev, &f));
    LFUSE__TRY(b->stream_create(c->dev, &c->s));
    LFUSE__TRY(b->alloc(c->dev, LFUSE__ALLOC_DEVICE, 256, &c->x));
    LFUSE__TRY(b->alloc(c->dev, LFUSE__ALLOC_DEVICE, 256, &c->y));
    LFUSE__TRY(b->alloc(c->dev, LFUSE__ALLOC_PINNED, 256, &c->pinned));
    if (f.info.svm) LFUSE__TRY(b->alloc(c->dev, LFUSE__ALLOC_UNIFIED, 256, &c->unified));
    LFUSE__TRY(b->event_create(c->dev, &c->first));
    LFUSE__TRY(b->event_create(c->dev, &c->last));
    LFUSE__TRY(b->program_build(c->dev, source, &c->log, &c->program));
    LFUSE__TRY(b->program_binary(c->program, &c->binary));
    LFUSE__TRY(b->program_load(c->dev, c->binary.data, c->binary.length, &c->loaded));
    return b->kernel_create(c->loaded, "axpy", &c->kernel);
}

/* A stream that has been waited for answers at once or, where the driver's threads are held up, a little later. */
static lfuse_status query(lfuse__bstream *s)
{
    lfuse_status status;

    while ((status = b->stream_query(s)) == LFUSE_NOT_READY) sched_yield();
    return status;
}

static lfuse_status scene_work(scene *c, float *sum)
{
    lfuse__bmem *middle = c->unified != NULL ? c->unified : c->x;
    double us;

    for (int i = 0; i < 64; i++) c->ones[i] = 1.0f;
    LFUSE__TRY(b->event_record(c->first, c->s));
    LFUSE__TRY(b->write(c->s, c->x, 0, c->ones, sizeof c->ones));
    LFUSE__TRY(b->fill(c->s, c->y, 0, 0, 4, 256));
    if (middle != c->x) LFUSE__TRY(b->copy(c->s, middle, 0, c->x, 0, 256));
    LFUSE__TRY(launch(c->s, c->kernel, 64, (lfuse__bmem *[]){ c->y, middle }, 2, (uint64_t[]){ 5, 0 }, 2));
    LFUSE__TRY(b->copy(c->s, c->pinned, 0, c->y, 0, 256));
    LFUSE__TRY(b->copy(c->s, c->x, 0, c->pinned, 0, 256));
    LFUSE__TRY(b->event_record(c->last, c->s));
    LFUSE__TRY(b->event_wait(c->last, c->s));
    LFUSE__TRY(b->read(c->s, c->x, 0, c->in, sizeof c->in));
    LFUSE__TRY(b->stream_sync(c->s));
    LFUSE__TRY(query(c->s));
    LFUSE__TRY(b->event_elapsed(c->first, c->last, &us));
    *sum = 0;
    for (int i = 0; i < 64; i++) *sum += c->in[i];
    return LFUSE_OK;
}

static void scene_end(scene *c)
{
    if (c->s != NULL) lfuse__cl.Finish(c->s->queue);
    if (c->kernel != NULL) b->kernel_destroy(c->kernel);
    if (c->loaded != NULL) b->program_destroy(c->loaded);
    if (c->program != NULL) b->program_destroy(c->program);
    if (c->last != NULL) b->event_destroy(c->last);
    if (c->first != NULL) b->event_destroy(c->first);
    if (c->unified != NULL) b->free(c->unified);
    if (c->pinned != NULL) b->free(c->pinned);
    if (c->y != NULL) b->free(c->y);
    if (c->x != NULL) b->free(c->x);
    if (c->s != NULL) b->stream_destroy(c->s);
    if (c->dev != NULL) b->close(c->dev);
    lfuse__strbuf_free(&c->binary);
    lfuse__strbuf_free(&c->log);
}

static lfuse_status play(int device, float *sum)
{
    scene c = { .log = LFUSE__STRBUF_INIT, .binary = LFUSE__STRBUF_INIT };
    lfuse_status status = scene_make(&c, device);

    if (status == LFUSE_OK) status = scene_work(&c, sum);
    layer.arm(NULL, 0, 0, 0);
    scene_end(&c);
    return status;
}

static void check_failures(int device, int always)
{
    bool reached = true;

    for (long n = 1; reached; n++) {
        long live = layer.live(NULL);
        float sum = -1;

        layer.arm("any", n, always, CL_OUT_OF_HOST_MEMORY);
        lfuse_status status = play(device, &sum);
        reached = layer.fired() > 0;
        /* A refused question about an optional property has no consequence but a fact that reads "no". */
        ck_assert_msg(status == LFUSE_OK || reached, "n %ld: status %d: %s", n, (int)status, lfuse__error_message());
        ck_assert_msg(status != LFUSE_OK || sum == 320.0f, "n %ld: sum %g", n, (double)sum);
        ck_assert_msg(layer.live(NULL) == live, "n %ld: %ld objects left", n, layer.live(NULL) - live);
    }
    ck_assert_msg(play(device, &(float){ 0 }) == LFUSE_OK, "%s", lfuse__error_message());
}

TEST_LOOP(test_failures_once, 0, device_count)
{
    check_failures(_i, 0);
}

TEST_LOOP(test_failures_always, 0, device_count)
{
    check_failures(_i, 1);
}

typedef struct worker {
    pthread_t thread;
    lfuse__bdevice *dev;
    lfuse__bprogram *program;
    bool right;
} worker;

static void *work(void *data)
{
    worker *w = data;
    lfuse__bstream *s;
    lfuse__bkernel *k;
    lfuse__bmem *y;
    float in[64];

    if (b->stream_create(w->dev, &s) || b->kernel_create(w->program, "twice", &k) ||
        b->alloc(w->dev, LFUSE__ALLOC_DEVICE, sizeof in, &y) || b->fill(s, y, 0, 0, 4, sizeof in))
        return NULL;
    w->right = true;
    for (int i = 0; i < 20; i++) w->right &= launch(s, k, 64, &y, 1, NULL, 0) == LFUSE_OK;
    w->right &= b->read(s, y, 0, in, sizeof in) == LFUSE_OK && b->stream_sync(s) == LFUSE_OK;
    for (int i = 0; i < 64; i++) w->right &= in[i] == 1048575.0f;
    b->free(y);
    b->kernel_destroy(k);
    b->stream_destroy(s);
    return NULL;
}

TEST_LOOP(test_threads, 0, device_count)
{
    worker workers[4];

    set_up(&t, _i);
    for (int i = 0; i < 4; i++) {
        workers[i] = (worker){ .dev = t.dev, .program = t.program };
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < 4; i++) ck_assert(workers[i].right);
}

TEST_SUITE("opencl failures", CK_NOFORK)
