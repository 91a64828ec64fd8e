/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn of the loop of n-th failures, from the start of a process: started by check_faults with interpose.so before
 * everything else.
 *
 *     scenario DEVICE N once|always [FOLDER]
 *
 * A device is counted and opened, plans are made and run, and all is given back, with call N of ours to libc failing
 * (0: none); then once more without failures. FOLDER is the disk cache, of which everything is removed first and in
 * which nothing half made may be left; without one it is as the environment says.
 *
 * Prints one line, "seen=... failed=... live=... files=... threads=... status=... function=... at=...", where `live`
 * and what follows are of the end. Exit status: 0; 1: the failing turn or the one after it went wrong, told on stderr;
 * 77: there is no such device.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libfuse.h>

#include "common/base/error.h"
#include "common/device/device.h"
#include "tests/faults/interpose.h"
#include "tests/stub/stub.h"
#include "tests/support/shape.h"

enum { N = 6, MEMBERS = 3, UNUSABLE = 77, SECONDS = 100 /* after which a process that hangs is ended */ };

static faults_arm_function *arm;
static faults_disarm_function *disarm;
static faults_get_function *get;

static bool computes = true; /* kernels of the fake driver do nothing */

typedef struct scene {
    lfuse_device *dev;
    lfuse_stream *stream;
    lfuse_tensor *x, *w, *b, *y, *trained, *member[MEMBERS];
    lfuse_list *list;
    lfuse_plan *dense, *step;
    lfuse_training *training;
    float result[N * N], updated[N], learned[N];
} scene;

/* relu(x exp(w) + b) */
static lfuse_status plan_dense(scene *s)
{
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_value x = lfuse_input(g, "x", F32(N, N));
    const lfuse_value w = lfuse_exp(lfuse_frozen(g, "w", F32(N, N)));
    const lfuse_value b = lfuse_input(g, "b", F32(N));

    lfuse_output(g, "y", lfuse_relu(lfuse_add(lfuse_matmul(x, w), b)));
    lfuse_status status = lfuse_plan_create(s->dev, g, NULL, &s->dense);
    lfuse_graph_destroy(g);
    return g ? status : LFUSE_ERR_MEMORY;
}

/* list -= lr list / |list|^2 */
static lfuse_status plan_step(scene *s)
{
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_value l = lfuse_list_input(g, "l", LFUSE_F32, LFUSE_RANK_ANY);

    lfuse_update(l, lfuse_sub(l, lfuse_mul(lfuse_div(l, lfuse_member_sum(lfuse_mul(l, l))), lfuse_scalar(g, "lr"))));
    lfuse_status status = lfuse_plan_create(s->dev, g, NULL, &s->step);
    lfuse_graph_destroy(g);
    return g ? status : LFUSE_ERR_MEMORY;
}

/* trained -= 0.25 (2 trained), behind a copy of it that a state holds. */
static lfuse_status make_training(scene *s)
{
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_value w = lfuse_input(g, "w", F32(N)), squares = lfuse_checkpoint(lfuse_mul(w, w));
    const lfuse_value some = lfuse_slice(squares, 0, 0, 2, 1), others = lfuse_slice(squares, 0, 2, N - 2, 1);
    const lfuse_value loss = lfuse_add(lfuse_sum(some, LFUSE_ALL_AXES, NULL, 0),
                                       lfuse_sum(others, LFUSE_ALL_AXES, NULL, 0));
    const lfuse_training_parameter parameter = { "w", s->trained };
    const lfuse_training_group group = { .hyper = { .lr = 0.25, .ema_decay = 0.5 } };
    const lfuse_training_options options = { .rule = LFUSE_RULE_SGD, .switches = LFUSE_OPTIM_AVERAGE };
    lfuse_status status = lfuse_training_create(s->dev, g, loss, 1, &parameter, 1, &group, &options, &s->training);

    lfuse_graph_destroy(g);
    return g ? status : LFUSE_ERR_MEMORY;
}

static lfuse_status make(scene *s)
{
    static const int64_t square[] = { N, N }, line[] = { N };

    LFUSE__TRY(lfuse_stream_create(s->dev, &s->stream));
    LFUSE__TRY(lfuse_tensor_create(s->dev, LFUSE_F32, 2, square, &s->x));
    LFUSE__TRY(lfuse_tensor_create(s->dev, LFUSE_F32, 2, square, &s->w));
    LFUSE__TRY(lfuse_tensor_create(s->dev, LFUSE_F32, 1, line, &s->b));
    LFUSE__TRY(lfuse_tensor_create(s->dev, LFUSE_F32, 2, square, &s->y));
    LFUSE__TRY(lfuse_tensor_create(s->dev, LFUSE_F32, 1, line, &s->trained));
    for (int i = 0; i < MEMBERS; i++) LFUSE__TRY(lfuse_tensor_create(s->dev, LFUSE_F32, 1, line, &s->member[i]));
    LFUSE__TRY(lfuse_list_create(s->dev, LFUSE_F32, MEMBERS, s->member, &s->list));
    LFUSE__TRY(lfuse_tensor_fill(s->x, s->stream, 1));
    LFUSE__TRY(lfuse_tensor_fill(s->w, s->stream, 0));
    LFUSE__TRY(lfuse_tensor_fill(s->b, s->stream, -1));
    for (int i = 0; i < MEMBERS; i++) LFUSE__TRY(lfuse_tensor_fill(s->member[i], s->stream, 2));
    LFUSE__TRY(lfuse_tensor_fill(s->trained, NULL, 2));
    LFUSE__TRY(plan_dense(s));
    LFUSE__TRY(plan_step(s));
    return make_training(s);
}

static lfuse_status use(scene *s)
{
    const lfuse_binding dense[] = { lfuse_bind_tensor("x", s->x), lfuse_bind_tensor("b", s->b),
                                    lfuse_bind_tensor("w", s->w), lfuse_bind_tensor("y", s->y) };
    const lfuse_binding step[] = { lfuse_bind_list("l", s->list), lfuse_bind_scalar("lr", 3) };

    LFUSE__TRY(lfuse_plan_run(s->dense, s->stream, dense, 4));
    LFUSE__TRY(lfuse_plan_run(s->step, s->stream, step, 2));
    LFUSE__TRY(lfuse_training_step(s->training, s->stream, NULL, 0));
    LFUSE__TRY(lfuse_tensor_read(s->trained, s->stream, s->learned));
    LFUSE__TRY(lfuse_tensor_read(s->y, s->stream, s->result));
    LFUSE__TRY(lfuse_tensor_read(s->member[1], s->stream, s->updated));
    return lfuse_stream_synchronize(s->stream);
}

static lfuse_status check(const scene *s)
{
    for (int i = 0; i < N * N && computes; i++)
        if (s->result[i] != N - 1) {
            fprintf(stderr, "element %d is %g, not %d\n", i, s->result[i], N - 1);
            return LFUSE_ERR_INDEX;
        }
    for (int i = 0; i < N && computes; i++)
        if (s->updated[i] != 1.75f) {
            fprintf(stderr, "element %d of the list is %g, not 1.75\n", i, s->updated[i]);
            return LFUSE_ERR_INDEX;
        }
    for (int i = 0; i < N && computes; i++)
        if (s->learned[i] != 1) {
            fprintf(stderr, "element %d of what is trained is %g, not 1\n", i, s->learned[i]);
            return LFUSE_ERR_INDEX;
        }
    return LFUSE_OK;
}

static void drop(scene *s)
{
    lfuse_plan_destroy(s->dense);
    lfuse_plan_destroy(s->step);
    lfuse_training_destroy(s->training);
    lfuse_list_destroy(s->list);
    for (int i = 0; i < MEMBERS; i++) lfuse_tensor_destroy(s->member[i]);
    lfuse_tensor_destroy(s->x);
    lfuse_tensor_destroy(s->w);
    lfuse_tensor_destroy(s->b);
    lfuse_tensor_destroy(s->y);
    lfuse_tensor_destroy(s->trained);
    lfuse_stream_destroy(s->stream);
    lfuse_device_close(s->dev);
}

/* Every device that is there is counted, whatever fails. */
static lfuse_status count(int *most)
{
    int n = -1;

    LFUSE__TRY(lfuse_device_count(&n));
    if (n < *most) {
        fprintf(stderr, "%d devices, where there were %d: %s\n", n, *most, lfuse_last_error());
        return LFUSE_ERR_INDEX;
    }
    return LFUSE_OK;
}

static lfuse_status perform(const char *device, int most)
{
    scene s;

    memset(&s, 0, sizeof s);
    lfuse_status status = count(&most);
    if (!status) status = lfuse_device_open(device, &s.dev);
    if (!status) status = make(&s);
    if (!status) status = use(&s);
    if (!status) status = check(&s);
    drop(&s);
    return status;
}

/* ---- around it ---- */

static bool find(const char *name, void *function)
{
    void *found = dlsym(RTLD_DEFAULT, name);

    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* The number of names in a folder that begin so; with `away` they are removed. */
static int names(const char *folder, const char *start, bool away)
{
    DIR *open_dir = opendir(folder);
    struct dirent *d;
    int n = 0;

    while (open_dir && (d = readdir(open_dir))) {
        if (d->d_name[0] == '.' || strncmp(d->d_name, start, strlen(start)) != 0) continue;
        n++;
        if (away && unlinkat(dirfd(open_dir), d->d_name, 0)) perror(d->d_name);
    }
    if (open_dir) closedir(open_dir);
    return n;
}

static int descriptors(void)
{
    int n = 0;

    for (int i = 0; i < 256; i++) n += fcntl(i, F_GETFD) >= 0;
    return n;
}

static void silence(void *context, lfuse_log_level level, const char *message)
{
    (void)context;
    (void)level;
    (void)message;
}

/* Loaded first, the fakes are what the sonames mean in this process. */
static bool load_fakes(const char *folder)
{
    static const char *const libraries[] = { "libcuda.so.1", "libcublasLt.so.13" };
    char path[4096];

    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, libraries[i]);
        if (!dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
            fprintf(stderr, "%s\n", dlerror());
            return false;
        }
    }
    computes = false;
    return true;
}

static bool prepare(int argc, char **argv)
{
    if (argc < 4 || !find("faults_arm", &arm) || !find("faults_disarm", &disarm) || !find("faults_get", &get)) {
        fprintf(stderr, "scenario DEVICE N once|always [FOLDER], with interpose.so in LD_PRELOAD\n");
        return false;
    }
    if (getenv("FAULTS_FAKE") && !load_fakes(getenv("FAULTS_FAKE"))) return false;
    if (!strncmp(argv[1], "stub:", 5)) lfuse__registry_extra(&lfuse__stub_backend);
    if (argc > 4) {
        setenv("LFUSE_CACHE_DIR", argv[4], 1);
        names(argv[4], "", true);
    }
    lfuse_log_to(silence, NULL, LFUSE_LOG_DEBUG);
    return true;
}

/* Short of memory or descriptors at one call, a scenario ends well or says that. */
static bool expected(lfuse_status status)
{
    return status == LFUSE_OK || (status == LFUSE_ERR_MEMORY && lfuse_last_error()[0]);
}

int main(int argc, char **argv)
{
    faults_state at_failure, end;
    char message[512];

    if (!prepare(argc, argv)) return 1;
    uint64_t n = strtoull(argv[2], NULL, 10);
    alarm(SECONDS);
    arm((const void *)(uintptr_t)main, n, !strcmp(argv[3], "always"));
    lfuse_status status = perform(argv[1], 0);
    disarm();
    get(&at_failure);
    snprintf(message, sizeof message, "%s", lfuse_last_error());
    if (!n && (status == LFUSE_ERR_NO_DEVICE || status == LFUSE_ERR_UNSUPPORTED)) {
        printf("%s\n", message);
        return UNUSABLE;
    }
    lfuse_status again = perform(argv[1], 1);
    get(&end);
    printf("seen=%llu failed=%llu live=%lld files=%d threads=%d status=%s function=%s at=%llx\n",
           (unsigned long long)at_failure.seen, (unsigned long long)at_failure.failed, (long long)end.live,
           descriptors(), names("/proc/self/task", "", false), lfuse_status_name(status),
           at_failure.name ? at_failure.name : "none", (unsigned long long)at_failure.at);
    if (!expected(status)) fprintf(stderr, "the failing turn: %s: %s\n", lfuse_status_name(status), message);
    if (again) fprintf(stderr, "afterwards: %s: %s\n", lfuse_status_name(again), lfuse_last_error());
    if (argc > 4 && names(argv[4], "tmp-", false)) {
        fprintf(stderr, "a temporary file is left in %s\n", argv[4]);
        return 1;
    }
    return expected(status) && !again ? 0 : 1;
}
