/* SPDX-License-Identifier: Apache-2.0 */
/*
 * losses [DEVICE]: trains three small networks for 20 steps of AdamW and prints the loss in front of each step, a line
 * of JSON for each network and device. bench/peers/losses_torch.py does the same in PyTorch, from the same starts, and
 * compares. Every start and all data are formulas: no generator of either side takes part.
 *   mlp          16-64-64-10, relu, cross entropy of 32 rows
 *   embedding    3 look-ups in a table of 50 rows of 8 beside 4 numbers, 28-32-1, relu, logistic loss of 64 rows
 *   transformer  one block (bench/step_block.h), 32 wide, 4 heads, on 4 sequences of 8 tokens, mean square
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/step_graph.h"
#include "common/base/error.h"

enum { STEPS = 20, MOST = 64 };

/* A network on a device: the graph under construction, and what is bound to its names. */
typedef struct training {
    lfuse_device *dev;
    lfuse_stream *stream;
    lfuse_graph *g;
    int count, parameters; /* of bindings; of parameters, which are numbered by the formula too */
    char names[MOST][16];
    lfuse_binding bindings[MOST + 2];
    lfuse_value p[MOST], moments[MOST][2];
    lfuse_status status;
} training;

static double formula(int64_t i, int which)
{
    const double x = (double)i;
    return sin(0.37 * x * x + x + which);
}

/* An input with these contents, of any type; NULL: zeros. */
static lfuse_value bind(training *t, const char *name, lfuse_type type, int rank, const int64_t *shape,
                        const void *contents)
{
    lfuse_tensor *tensor = NULL;
    const int at = t->count;
    snprintf(t->names[at], sizeof t->names[at], "%s", name);
    if (!t->status) t->status = lfuse_tensor_create(t->dev, type, rank, shape, &tensor);
    if (tensor) t->bindings[t->count++] = lfuse_bind_tensor(t->names[at], tensor);
    if (!t->status) t->status = contents ? lfuse_tensor_write(tensor, NULL, contents)
                                         : lfuse_tensor_fill(tensor, NULL, 0);
    return lfuse_input(t->g, name, type, rank, shape);
}

/* offset + scale * formula. */
static lfuse_value numbers(training *t, const char *name, int rank, const int64_t *shape, double offset, double scale,
                           int which)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++) count *= shape[i];
    float *x = malloc((size_t)count * sizeof *x);
    if (!x) {
        t->status = lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %s", name);
        return lfuse_none();
    }
    for (int64_t i = 0; i < count; i++) x[i] = (float)(offset + scale * formula(i, which));
    const lfuse_value value = bind(t, name, LFUSE_F32, rank, shape, x);
    free(x);
    return value;
}

static lfuse_value parameter(training *t, int rank, const int64_t *shape, double offset, double scale)
{
    char name[16];
    const int which = t->parameters++;
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%c%d", "mv"[i], which);
        t->moments[which][i] = bind(t, name, LFUSE_F32, rank, shape, NULL);
    }
    snprintf(name, sizeof name, "p%d", which);
    return t->p[which] = numbers(t, name, rank, shape, offset, scale, which);
}

static lfuse_value linear(training *t, lfuse_value x, int64_t in, int64_t out, double scale)
{
    const int64_t shape[2] = {in, out};
    const lfuse_value w = parameter(t, 2, shape, 0, scale), b = parameter(t, 1, &out, 0, 0.1);
    return lfuse_add(lfuse_matmul(x, w), b);
}

/* ---- networks: each returns its loss ---- */

enum { DATA = 90, TARGET = 91 }; /* what the formula of x and of the target is given */

static lfuse_value mlp(training *t)
{
    enum { BATCH = 32, IN = 16, WIDTH = 64, CLASSES = 10 };
    static const int64_t rows[2] = {BATCH, IN};
    int64_t label[BATCH];
    for (int i = 0; i < BATCH; i++) label[i] = 7 * i % CLASSES;
    const int64_t batch = BATCH;
    lfuse_value x = numbers(t, "x", 2, rows, 0, 1, DATA), labels = bind(t, "labels", LFUSE_I64, 1, &batch, label);
    x = lfuse_relu(linear(t, x, IN, WIDTH, 0.4));
    x = lfuse_relu(linear(t, x, WIDTH, WIDTH, 0.2));
    return lfuse_cross_entropy(linear(t, x, WIDTH, CLASSES, 0.2), 1, labels, lfuse_none(), LFUSE_NO_IGNORED_INDEX, 0,
                               LFUSE_LOSS_MEAN);
}

static lfuse_value embedding(training *t)
{
    enum { BATCH = 64, LOOKUPS = 3, ROWS = 50, WIDTH = 8, NUMBERS = 4, HIDDEN = 32 };
    static const int64_t rows[2] = {BATCH, NUMBERS}, lookups[2] = {BATCH, LOOKUPS}, table[2] = {ROWS, WIDTH},
                         one[2] = {BATCH, 1};
    int64_t index[BATCH * LOOKUPS];
    float clicked[BATCH];
    for (int i = 0; i < BATCH * LOOKUPS; i++) index[i] = (i * i + 5 * (i % LOOKUPS)) % ROWS;
    for (int i = 0; i < BATCH; i++) clicked[i] = 3 * i % 7 < 3;
    lfuse_value x = numbers(t, "x", 2, rows, 0, 1, DATA), indices = bind(t, "indices", LFUSE_I64, 2, lookups, index);
    lfuse_value target = bind(t, "target", LFUSE_F32, 2, one, clicked);
    lfuse_value found = lfuse_reshape(lfuse_gather(parameter(t, 2, table, 0, 0.5), indices), 2,
                                      LFUSE_DIMS(BATCH, LOOKUPS * WIDTH));
    const lfuse_value parts[2] = {found, x};
    lfuse_value h = lfuse_relu(linear(t, lfuse_concat(2, parts, 1), LOOKUPS * WIDTH + NUMBERS, HIDDEN, 0.3));
    return lfuse_binary_cross_entropy_with_logits(linear(t, h, HIDDEN, 1, 0.3), target, lfuse_none(), LFUSE_LOSS_MEAN);
}

static lfuse_value transformer(training *t)
{
    const bench_blocks b = {.width = 32, .heads = 4, .tokens = 8, .batch = 4, .count = 1};
    const int64_t shape[3] = {b.batch, b.tokens, b.width};
    lfuse_value p[BENCH_BLOCK_PARAMETERS], x = numbers(t, "x", 3, shape, 0, 1, DATA);
    lfuse_value target = numbers(t, "target", 3, shape, 0, 1, TARGET);
    for (int i = 0; i < BENCH_BLOCK_PARAMETERS; i++) {
        const bench_block_shape of = bench_block_shape_of(&b, (bench_block_parameter)i);
        p[i] = parameter(t, of.rank, of.shape, (of.low + of.high) / 2, (of.high - of.low) / 2);
    }
    return lfuse_mse_loss(bench_block_of(t->g, &b, x, p), target, LFUSE_LOSS_MEAN);
}

/* ---- steps ---- */

static void build_step(training *t, lfuse_value loss)
{
    lfuse_value gradients[MOST];
    const lfuse_value rate = lfuse_constant(t->g, 0.01), step = lfuse_scalar(t->g, "step");
    lfuse_gradient(loss, lfuse_none(), t->parameters, t->p, gradients);
    for (int i = 0; i < t->parameters; i++) {
        const lfuse_rule_values values = {.parameter = t->p[i], .gradient = gradients[i], .state_count = 2,
                                          .states = t->moments[i], .hyper = {.lr = rate}, .t = step};
        lfuse_rule_update(LFUSE_RULE_ADAMW, 0, &values);
    }
    lfuse_output(t->g, "loss", loss);
}

static lfuse_status make_steps(training *t, lfuse_plan *plan, lfuse_tensor *loss, float *losses)
{
    lfuse_instance *instance;
    t->bindings[t->count] = lfuse_bind_tensor("loss", loss);
    t->bindings[t->count + 1] = lfuse_bind_scalar("step", 1);
    LFUSE__TRY(lfuse_instance_create(plan, t->stream, t->bindings, t->count + 2, &instance));
    lfuse_status status = LFUSE_OK;
    for (int i = 0; i < STEPS && !status; i++) {
        t->bindings[t->count + 1].as.scalar = i + 1;
        status = lfuse_instance_run(instance, t->bindings, t->count + 2);
        if (!status) status = lfuse_tensor_read(loss, t->stream, &losses[i]);
    }
    const lfuse_status done = lfuse_stream_synchronize(t->stream); /* the losses are there, or no longer written */
    lfuse_instance_destroy(instance);
    return status ? status : done;
}

static lfuse_status train(training *t, lfuse_value (*network)(training *), float *losses)
{
    lfuse_plan *plan;
    lfuse_tensor *loss;
    build_step(t, network(t));
    if (t->status) return t->status;
    LFUSE__TRY(lfuse_plan_create(t->dev, t->g, NULL, &plan));
    lfuse_status status = lfuse_tensor_create(t->dev, LFUSE_F32, 0, NULL, &loss);
    if (!status) {
        status = make_steps(t, plan, loss, losses);
        lfuse_tensor_destroy(loss);
    }
    lfuse_plan_destroy(plan);
    return status;
}

static const struct {
    const char *name;
    lfuse_value (*build)(training *t);
} networks[] = {{"mlp", mlp}, {"embedding", embedding}, {"transformer", transformer}};

static lfuse_status run_network(const char *device, int which, float *losses)
{
    training t = {.status = LFUSE_OK};
    LFUSE__TRY(lfuse_device_open(device, &t.dev));
    lfuse_status status = lfuse_stream_create(t.dev, &t.stream);
    if (!status) {
        t.g = lfuse_graph_create();
        status = train(&t, networks[which].build, losses);
        for (int i = 0; i < t.count; i++) lfuse_tensor_destroy(t.bindings[i].as.tensor);
        lfuse_graph_destroy(t.g);
        lfuse_stream_destroy(t.stream);
    }
    lfuse_device_close(t.dev);
    return status;
}

static int run_device(const char *device)
{
    for (size_t n = 0; n < sizeof networks / sizeof *networks; n++) {
        float losses[STEPS];
        if (run_network(device, (int)n, losses)) {
            fprintf(stderr, "losses: %s: %s: %s\n", device, networks[n].name, lfuse_last_error());
            return 1;
        }
        printf("{\"network\":\"%s\",\"device\":\"%s\",\"losses\":[", networks[n].name, device);
        for (int i = 0; i < STEPS; i++) printf("%s%.9g", i ? "," : "", (double)losses[i]);
        puts("]}");
    }
    return 0;
}

int main(int argc, char **argv)
{
    int count, failed = 0;
    lfuse_device_info info;
    if (argc > 2) {
        fputs("usage: losses [DEVICE]\n", stderr);
        return 2;
    }
    if (argc == 2) return run_device(argv[1]);
    if (lfuse_device_count(&count)) {
        fprintf(stderr, "losses: %s\n", lfuse_last_error());
        return 1;
    }
    for (int i = 0; i < count; i++) failed |= lfuse_device_describe(i, &info) ? 1 : run_device(info.name);
    return failed;
}
