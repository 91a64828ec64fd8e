/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train: a whole training step in f32 as one plan: forward pass, loss, the gradients of all parameters, and AdamW.
 *   train:L<layers>:H<width>:B<batch>   linear, bias and relu in each layer; the mean square of y - target
 *   train:digits                        64-128-10, relu between, cross entropy of 64 rows
 *   train:transformer:D<width>:H<heads>:L<blocks>:T<tokens>:B<batch>
 *                                       blocks of layernorm, attention by products and softmax, residual, layernorm,
 *                                       linear, gelu, linear, residual (bench/step_block.c); mean square
 *   train:layer:H<width>:B<batch>       of one layer the gradients of weights and bias, and their steps
 * A precision behind one of these, such as :f32x3, lets plans split the operands of products.
 * Variants:
 *   unfused   a kernel for each function and product, launched step by step
 *   fused     what the planner makes of it, launched step by step
 *   replay    the same as one native graph, or as a recorded list of launches where the device has none
 *   separate  of train:layer: one plan for the gradients, which it stores, and one for AdamW
 *
 * Every run is a step of its own number. That which is verified has PyTorch's learning rate; those that are timed have
 * so little that data stay what they are. Moments start at the size of the gradients: much larger, and nothing could be
 * told of the gradients from them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/data.h"
#include "bench/first.h"
#include "bench/step_block.h"
#include "bench/step_graph.h"
#include "bench/step_truth.h"
#include "common/base/error.h"
#include "common/base/precision.h"

enum { MOST_PARAMETERS = 2 * BENCH_STEP_LAYERS + BENCH_BLOCK_PARAMETERS * BENCH_MOST_BLOCKS, MOST_SETS = 8 };
enum { CLASSES = 10 };
/* Multiplications that a problem has on a CPU at most. */
static const double most_on_cpu = 0x1p34;

typedef enum train_kind { TRAIN_CHAIN, TRAIN_DIGITS, TRAIN_LAYER, TRAIN_TRANSFORMER } train_kind;

typedef struct train {
    train_kind kind;
    bench_chain chain;
    bench_blocks blocks;
    lfuse_precision precision; /* of plans: FULL or one that splits */
    double parameters, multiplications; /* of a step */
} train;

/* A graph with its parameters, their moments and the numbers of the step. */
typedef struct step {
    fixture *f;
    int count;
    lfuse_value p[MOST_PARAMETERS], moments[MOST_PARAMETERS][2];
    lfuse_value lr, t;
} step;

/* ---- problems ---- */

static bool parse_chain(const char *problem, train *p)
{
    long long width, batch;
    int layers, end = 0;
    p->kind = TRAIN_CHAIN;
    if (sscanf(problem, "train:L%d:H%lld:B%lld%n", &layers, &width, &batch, &end) == 3 && !problem[end]) {
        if (layers < 1 || layers > BENCH_STEP_LAYERS) return false;
    } else if (sscanf(problem, "train:layer:H%lld:B%lld%n", &width, &batch, &end) == 2 && !problem[end]) {
        layers = 1;
        p->kind = TRAIN_LAYER;
    } else return false;
    if (width < 1 || batch < 1 || width > INT32_MAX || batch > INT32_MAX) return false;
    p->chain = (bench_chain){.layers = layers, .batch = batch, .end = BENCH_CHAIN_MSE};
    if (p->kind == TRAIN_LAYER) p->chain.end = BENCH_CHAIN_SEED;
    for (int l = 0; l <= layers; l++) p->chain.widths[l] = width;
    return true;
}

static bool parse_transformer(const char *problem, train *p)
{
    long long width, heads, tokens, batch;
    int blocks, end = 0;
    p->kind = TRAIN_TRANSFORMER;
    if (sscanf(problem, "train:transformer:D%lld:H%lld:L%d:T%lld:B%lld%n", &width, &heads, &blocks, &tokens, &batch,
               &end) != 5 || problem[end] || width < 1 || heads < 1 || width % heads || blocks < 1 ||
        blocks > BENCH_MOST_BLOCKS || tokens < 1 || batch < 1)
        return false;
    p->blocks = (bench_blocks){.width = width, .heads = heads, .count = blocks, .tokens = tokens, .batch = batch};
    return true;
}

static void count_chain(train *p)
{
    const bench_chain *c = &p->chain;
    for (int l = 0; l < c->layers; l++) {
        const double weights = (double)c->widths[l] * (double)c->widths[l + 1];
        p->parameters += weights + (double)c->widths[l + 1];
        p->multiplications += (p->kind == TRAIN_LAYER ? 1 : l ? 3 : 2) * (double)c->batch * weights;
    }
}

/* 12 weights of width^2 a block, a head's two products of tokens by tokens, and twice as much again backwards. */
static void count_blocks(train *p)
{
    const bench_blocks *b = &p->blocks;
    const double width = (double)b->width, rows = (double)b->tokens * (double)b->batch;
    p->parameters = b->count * (12 * width * width + 10 * width);
    p->multiplications = 3 * b->count * rows * (12 * width * width + 2 * (double)b->tokens * width);
}

/* Takes the suffix from the problem's words. */
static lfuse_precision take_precision(char *words)
{
    char *suffix = strrchr(words, ':');
    lfuse_precision precision;
    if (!suffix || !lfuse__precision_find(suffix + 1, &precision) || !lfuse__may_split(precision))
        return LFUSE_PRECISION_FULL;
    *suffix = 0;
    return precision;
}

static lfuse_status parse(const char *problem, train *p)
{
    char words[BENCH_MAX_PROBLEM];
    snprintf(words, sizeof words, "%s", problem);
    *p = (train){.precision = take_precision(words)};
    if (!strcmp(words, "train:digits")) {
        p->kind = TRAIN_DIGITS;
        p->chain = (bench_chain){.layers = 2, .batch = 64, .widths = {64, 128, CLASSES}, .end = BENCH_CHAIN_CLASSES};
    } else if (!parse_chain(words, p) && !parse_transformer(words, p))
        return lfuse__error(LFUSE_ERR_INVALID, "%s: expected train:L<1-%d>:H<width>:B<batch>, train:layer:H<width>:"
                            "B<batch>, train:digits or train:transformer:D<width>:H<heads>:L<1-%d>:T<tokens>:B<batch>, "
                            "each alone or with one of %s",
                            problem, BENCH_STEP_LAYERS, BENCH_MOST_BLOCKS, lfuse__precisions_that_split(" :").text + 1);
    if (p->kind == TRAIN_TRANSFORMER) count_blocks(p);
    else count_chain(p);
    return LFUSE_OK;
}

static lfuse_status read_problem(const bench_device *d, const char *problem, train *p)
{
    LFUSE__TRY(parse(problem, p));
    if (d->info.kind == LFUSE_DEVICE_CPU && !d->named && p->multiplications > most_on_cpu)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "these are many multiplications for a CPU; --case runs it anyway");
    return LFUSE_OK;
}

/* ---- graphs ---- */

static lfuse_status state(step *s, const char *name, int rank, const int64_t *shape, double low, double high,
                          lfuse_value *value)
{
    LFUSE__TRY(fixture_tensor(s->f, name, FIXTURE_STATE, LFUSE_F32, rank, shape, 0, value));
    const fixture_io *io = &s->f->io[s->f->nio - 1];
    lfuse__data_uniform(LFUSE_F32, io->host, io->elements, low, high, (uint64_t)s->f->nio);
    return LFUSE_OK;
}

/* A parameter between low and high, whose gradient is about of size `gradient`. */
static lfuse_status parameter(step *s, const char *name, int rank, const int64_t *shape, double low, double high,
                              double gradient, lfuse_value *value)
{
    char moment[16];
    lfuse_value *moments = s->moments[s->count];
    LFUSE__TRY(state(s, name, rank, shape, low, high, value));
    snprintf(moment, sizeof moment, "%s.m", name);
    LFUSE__TRY(state(s, moment, rank, shape, -gradient, gradient, &moments[0]));
    snprintf(moment, sizeof moment, "%s.v", name);
    LFUSE__TRY(state(s, moment, rank, shape, gradient * gradient / 4, gradient * gradient, &moments[1]));
    s->p[s->count++] = *value;
    return LFUSE_OK;
}

static lfuse_status numbers(step *s)
{
    LFUSE__TRY(fixture_scalar(s->f, "lr", BENCH_STEP_LR, 1e-9, 0, &s->lr));
    return fixture_scalar(s->f, "t", BENCH_STEP_NUMBER, BENCH_STEP_NUMBER, 1, &s->t);
}

static void update(const step *s, int i, lfuse_value gradient)
{
    const lfuse_rule_values values = {.parameter = s->p[i], .gradient = gradient, .state_count = 2,
                                      .states = s->moments[i], .hyper = {.lr = s->lr}, .t = s->t};
    lfuse_rule_update(LFUSE_RULE_ADAMW, 0, &values);
}

/* seed: lfuse_none() where `y` is a loss. */
static void finish(const step *s, lfuse_value y, lfuse_value seed)
{
    lfuse_value gradients[MOST_PARAMETERS];
    lfuse_gradient(y, seed, s->count, s->p, gradients);
    for (int i = 0; i < s->count; i++) update(s, i, gradients[i]);
}

static lfuse_status finish_loss(const step *s, lfuse_value loss)
{
    LFUSE__TRY(fixture_tensor(s->f, "loss", FIXTURE_OUTPUT, LFUSE_F32, 0, NULL, 1, NULL));
    lfuse_output(s->f->graph, "loss", loss);
    finish(s, loss, lfuse_none());
    return LFUSE_OK;
}

static lfuse_status chain_layer(step *s, const train *p, int layer, lfuse_value *x)
{
    const bench_chain *c = &p->chain;
    const int64_t *shape = &c->widths[layer], last = c->widths[c->layers];
    const double scale = sqrt(6.0 / (double)shape[0]); /* keeps the activations' size from layer to layer */
    const double batch = sqrt((double)c->batch);
    const double gradient = c->end == BENCH_CHAIN_MSE       ? 1 / (batch * (double)last)
                            : c->end == BENCH_CHAIN_CLASSES ? 0.2 / batch
                                                            : batch / 3;
    char name[16];
    lfuse_value w, b;
    snprintf(name, sizeof name, "w%d", layer);
    LFUSE__TRY(parameter(s, name, 2, shape, -scale, scale, gradient, &w));
    snprintf(name, sizeof name, "b%d", layer);
    LFUSE__TRY(parameter(s, name, 1, shape + 1, -0.1, 0.1, gradient, &b));
    *x = lfuse_add(lfuse_matmul(*x, w), b);
    if (c->end == BENCH_CHAIN_MSE || layer < c->layers - 1) *x = lfuse_relu(*x);
    return LFUSE_OK;
}

/* Inputs in the order x, then the target, its labels or the seed. */
static lfuse_status build_chain(step *s, const train *p)
{
    const bench_chain *c = &p->chain;
    const int64_t rows[2] = {c->batch, c->widths[0]}, last[2] = {c->batch, c->widths[c->layers]};
    lfuse_value x, target;
    LFUSE__TRY(fixture_tensor(s->f, "x", FIXTURE_INPUT, LFUSE_F32, 2, rows, 1, &x));
    if (c->end == BENCH_CHAIN_CLASSES)
        LFUSE__TRY(fixture_indices(s->f, "labels", LFUSE_I64, c->batch, CLASSES, &target));
    else LFUSE__TRY(fixture_tensor(s->f, "target", FIXTURE_INPUT, LFUSE_F32, 2, last, 1, &target));
    LFUSE__TRY(numbers(s));
    for (int l = 0; l < c->layers; l++) LFUSE__TRY(chain_layer(s, p, l, &x));
    if (c->end == BENCH_CHAIN_SEED) {
        finish(s, x, target);
        return LFUSE_OK;
    }
    return finish_loss(s, c->end == BENCH_CHAIN_MSE
                              ? lfuse_mse_loss(x, target, LFUSE_LOSS_MEAN)
                              : lfuse_cross_entropy(x, 1, target, lfuse_none(), LFUSE_NO_IGNORED_INDEX, 0,
                                                    LFUSE_LOSS_MEAN));
}

/* ---- transformers ---- */

static lfuse_status block_parameter(step *s, const bench_blocks *b, int block, bench_block_parameter which,
                                    lfuse_value *value)
{
    const bench_block_shape of = bench_block_shape_of(b, which);
    const double gradient = 1 / (sqrt((double)b->batch * (double)b->tokens) * (double)b->width);
    char name[16];
    snprintf(name, sizeof name, "%d.%s", block, of.name);
    return parameter(s, name, of.rank, of.shape, of.low, of.high, gradient, value);
}

static lfuse_status build_block(step *s, const bench_blocks *b, int block, lfuse_value *x)
{
    lfuse_value p[BENCH_BLOCK_PARAMETERS];
    for (int i = 0; i < BENCH_BLOCK_PARAMETERS; i++)
        LFUSE__TRY(block_parameter(s, b, block, (bench_block_parameter)i, &p[i]));
    *x = bench_block_of(s->f->graph, b, *x, p);
    return LFUSE_OK;
}

static lfuse_status build_transformer(step *s, const train *p)
{
    const int64_t shape[3] = {p->blocks.batch, p->blocks.tokens, p->blocks.width};
    lfuse_value x, target;
    LFUSE__TRY(fixture_tensor(s->f, "x", FIXTURE_INPUT, LFUSE_F32, 3, shape, 1, &x));
    LFUSE__TRY(fixture_tensor(s->f, "target", FIXTURE_INPUT, LFUSE_F32, 3, shape, 1, &target));
    LFUSE__TRY(numbers(s));
    for (int l = 0; l < p->blocks.count; l++) LFUSE__TRY(build_block(s, &p->blocks, l, &x));
    return finish_loss(s, lfuse_mse_loss(x, target, LFUSE_LOSS_MEAN));
}

/* ---- the layer's step in two plans ---- */

static void gradients_graph(lfuse_graph *g, const bench_chain *c)
{
    static const int rows[1] = {0};
    lfuse_value x = lfuse_input(g, "x", LFUSE_F32, 2, LFUSE_DIMS(c->batch, c->widths[0]));
    lfuse_value dy = lfuse_input(g, "target", LFUSE_F32, 2, LFUSE_DIMS(c->batch, c->widths[1]));
    lfuse_output(g, "gw", lfuse_matmul(lfuse_transpose(x), dy));
    lfuse_output(g, "gb", lfuse_sum(dy, 1, rows, 0));
}

static void update_one(lfuse_graph *g, const char *name, int rank, const int64_t *shape, const char *gradient,
                       lfuse_value lr, lfuse_value t)
{
    char moment[2][16];
    const lfuse_value p = lfuse_input(g, name, LFUSE_F32, rank, shape);
    lfuse_value moments[2];
    for (int i = 0; i < 2; i++) {
        snprintf(moment[i], sizeof moment[i], "%s.%c", name, "mv"[i]);
        moments[i] = lfuse_input(g, moment[i], LFUSE_F32, rank, shape);
    }
    const lfuse_rule_values values = {.parameter = p, .gradient = lfuse_input(g, gradient, LFUSE_F32, rank, shape),
                                      .state_count = 2, .states = moments, .hyper = {.lr = lr}, .t = t};
    lfuse_rule_update(LFUSE_RULE_ADAMW, 0, &values);
}

static void updates_graph(lfuse_graph *g, const bench_chain *c)
{
    const lfuse_value lr = lfuse_scalar(g, "lr"), t = lfuse_scalar(g, "t");
    update_one(g, "w0", 2, c->widths, "gw", lr, t);
    update_one(g, "b0", 1, c->widths + 1, "gb", lr, t);
}

static const lfuse_plan_options fused = {.effort = LFUSE_EFFORT_MEASURE, .disable = LFUSE_NO_REPLAY};
static const lfuse_plan_options replay = {.effort = LFUSE_EFFORT_MEASURE};
static const lfuse_plan_options unfused = {.effort = LFUSE_EFFORT_MEASURE, .disable = LFUSE_NO_FUSION};

static lfuse_status add_separate(fixture *f, bench_case *c, const train *p)
{
    lfuse_graph *graphs[2] = {lfuse_graph_create(), lfuse_graph_create()};
    gradients_graph(graphs[0], &p->chain);
    updates_graph(graphs[1], &p->chain);
    lfuse_status status = fixture_sequence(f, c, "separate", graphs, 2, &fused);
    for (int i = 0; i < 2; i++) lfuse_graph_destroy(graphs[i]);
    return status;
}

static lfuse_status declare_gradients(fixture *f, const bench_chain *c)
{
    LFUSE__TRY(fixture_tensor(f, "gw", FIXTURE_SCRATCH, LFUSE_F32, 2, c->widths, 1, NULL));
    return fixture_tensor(f, "gb", FIXTURE_SCRATCH, LFUSE_F32, 1, c->widths + 1, 1, NULL);
}

/* ---- verification ---- */

static const void *host_of(const fixture *f, const char *name)
{
    for (int i = 0; i < f->nio; i++)
        if (!strcmp(f->io[i].name, name)) return f->io[i].host;
    return NULL;
}

static lfuse_status find_chain_step(const fixture *f, train *p, bench_step **truth)
{
    bench_chain *c = &p->chain;
    char name[16];
    c->x = host_of(f, "x");
    c->target = host_of(f, "target");
    c->labels = host_of(f, "labels");
    for (int l = 0; l < c->layers; l++) {
        snprintf(name, sizeof name, "w%d", l);
        c->w[l] = host_of(f, name);
        snprintf(name, sizeof name, "b%d", l);
        c->b[l] = host_of(f, name);
    }
    return bench_chain_step(c, truth);
}

static lfuse_status find_blocks_step(const fixture *f, train *p, bench_step **truth)
{
    char name[16];
    p->blocks.x = host_of(f, "x");
    p->blocks.target = host_of(f, "target");
    for (int i = 0; i < p->blocks.count * BENCH_BLOCK_PARAMETERS; i++) {
        const bench_block_parameter which = (bench_block_parameter)(i % BENCH_BLOCK_PARAMETERS);
        snprintf(name, sizeof name, "%d.%s", i / BENCH_BLOCK_PARAMETERS, bench_block_shape_of(&p->blocks, which).name);
        p->blocks.parameters[i / BENCH_BLOCK_PARAMETERS][which] = host_of(f, name);
    }
    return bench_blocks_step(&p->blocks, truth);
}

static lfuse_status find_truth(fixture *f, train *p)
{
    bench_step *truth;
    LFUSE__TRY(p->kind == TRAIN_TRANSFORMER ? find_blocks_step(f, p, &truth) : find_chain_step(f, p, &truth));
    f->truth = truth;
    f->destroy_truth = bench_step_destroy;
    f->verify = bench_step_verify;
    return LFUSE_OK;
}

/* ---- the suite ---- */

static lfuse_status build(fixture *f, const train *p)
{
    step *s = calloc(1, sizeof *s);
    if (!s) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for a step's graph");
    s->f = f;
    f->precision = p->precision;
    lfuse_status status = p->kind == TRAIN_TRANSFORMER ? build_transformer(s, p) : build_chain(s, p);
    free(s);
    if (!status && p->kind == TRAIN_LAYER) status = declare_gradients(f, &p->chain);
    return status ? status : lfuse_graph_check(f->graph);
}

static lfuse_status add_variants(fixture *f, bench_case *c, const train *p)
{
    if (p->kind == TRAIN_LAYER) {
        LFUSE__TRY(add_separate(f, c, p));
        return fixture_variant(f, c, "fused", &fused);
    }
    LFUSE__TRY(fixture_variant(f, c, "unfused", &unfused));
    LFUSE__TRY(fixture_variant(f, c, "fused", &fused));
    return fixture_replay(f, c, &replay);
}

/* Parameter and moments are read and written, all else is read. */
static double bytes_of(const fixture *f, const train *p)
{
    double bytes = 24 * p->parameters;
    for (int i = 0; i < f->nio; i++)
        if (f->io[i].role == FIXTURE_INPUT)
            bytes += (double)f->io[i].elements * (double)lfuse_type_size(f->io[i].type);
    return bytes;
}

/* The problem on the device, with what its step computes; the case owns it. */
static lfuse_status make_fixture(bench_device *d, train *p, int most_sets, bench_case *c, fixture **made)
{
    fixture *f;
    LFUSE__TRY(fixture_create(d, &f));
    c->shared = f;
    c->destroy = fixture_destroy;
    LFUSE__TRY(build(f, p));
    bench_choose_sets(d, c, fixture_bytes(f), most_sets);
    LFUSE__TRY(fixture_upload(f, most_sets < c->nsets ? most_sets : c->nsets));
    LFUSE__TRY(find_truth(f, p));
    *made = f;
    return LFUSE_OK;
}

static lfuse_status prepare(bench_device *d, const char *problem, bench_case *c)
{
    train p;
    fixture *f;
    LFUSE__TRY(read_problem(d, problem, &p));
    LFUSE__TRY(make_fixture(d, &p, MOST_SETS, c, &f));
    LFUSE__TRY(add_variants(f, c, &p));
    for (int i = 0; i < c->nvariants; i++) {
        c->variants[i].bytes = bytes_of(f, &p);
        c->variants[i].flops = 2 * p.multiplications;
        c->variants[i].operands = lfuse__may_split(p.precision) ? LFUSE_TYPE_NONE : LFUSE_F32;
    }
    return LFUSE_OK;
}

lfuse_status bench_train_check(const char *problem)
{
    train p;
    return parse(problem, &p);
}

lfuse_status bench_train_first(bench_device *d, const char *problem, bench_first_figures *figures)
{
    lfuse_device_counters before, after;
    bench_case c = {.nsets = 1};
    train p;
    fixture *f;
    LFUSE__TRY(parse(problem, &p));
    lfuse_status status = make_fixture(d, &p, 1, &c, &f);
    if (!status) status = lfuse_device_get_counters(d->dev, &before);
    if (!status) status = fixture_variant(f, &c, "first", NULL);
    if (!status) status = lfuse_device_get_counters(d->dev, &after);
    if (!status) {
        figures->first_us = c.variants[0].first_us;
        figures->build_us = (double)(after.build_us - before.build_us);
        figures->compiles = after.compiles - before.compiles;
        figures->ok = c.variants[0].ok;
    }
    bench_case_destroy(&c);
    return status;
}

static const char *const problems[] = {
    "train:L8:H128:B64", "train:L8:H512:B64", "train:L8:H1024:B64", "train:L8:H1024:B1024", "train:L8:H4096:B4096",
    "train:layer:H1024:B64", "train:digits", "train:transformer:D256:H4:L2:T128:B16", NULL};
static const char *const quick[] = {"train:L8:H128:B64", "train:layer:H128:B64", "train:digits",
                                    "train:transformer:D64:H2:L1:T32:B4", NULL};
const bench_suite bench_suite_train = {"train", problems, quick, prepare, NULL, NULL, NULL, 0};
