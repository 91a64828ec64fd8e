/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a device multiplies and copies: one square product by its fastest way, and one array that is negated, both
 * too large for any cache. They are timed once and kept as wisdom, under names of their own.
 */
#include "common/run/rates.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/matmul/provider.h"
#include "common/run/compile/body.h"
#include "common/run/tensors/tensor.h"
#include "common/tune/tuner.h"
#include "libfuse/ops.h"

enum { GPU_WIDTH = LFUSE__RATED_SIDE, CPU_WIDTH = 1024, NAME_BYTES = 64 };
static const int64_t gpu_elements = INT64_C(1) << 25, cpu_elements = INT64_C(1) << 24;
#define BY "rates"

/* A plan with its operands, to be run on a stream of its own. */
typedef struct rated {
    lfuse_device *dev;
    lfuse_stream *stream;
    lfuse_graph *graph;
    lfuse_plan *plan;
    int count;
    lfuse_tensor *tensors[3];
    lfuse_binding bindings[3];
} rated;

static lfuse__candidate_name name(void *context, int i)
{
    (void)context, (void)i;
    return (lfuse__candidate_name){ "plan", BY };
}

static lfuse_status run(void *context, int i, lfuse_stream *s)
{
    const rated *r = context;

    (void)i;
    return lfuse__plan_run(r->plan, s, r->bindings, r->count);
}

static lfuse_status add_tensor(rated *r, const char *text, lfuse_type type, int rank, const int64_t *shape)
{
    lfuse_tensor **t = &r->tensors[r->count];

    LFUSE__TRY(lfuse__tensor_create(r->dev, type, rank, shape, t));
    r->bindings[r->count++] = lfuse_bind_tensor(text, *t);
    return lfuse__fill_random(r->stream, (*t)->range, 0, (uint64_t)(*t)->elements * lfuse_type_size(type), type);
}

/* What is timed: products of this type, FULL or of operands that are split; or copies. */
typedef struct rate {
    lfuse_type type;
    lfuse_precision precision;
    int64_t width, elements; /* of a product; of a copy, where `width` is 0 */
} rate;

/* c = a b, or c = -a. What the environment says of plans does not count: wisdom's names of rates do not tell it. */
static lfuse_status make(rated *r, const rate *what)
{
    const lfuse_type type = what->type;
    const int64_t width = what->width;
    const lfuse_plan_options o = { .effort = width ? LFUSE_EFFORT_MEASURE : LFUSE_EFFORT_ESTIMATE,
                                   .strassen = LFUSE_STRASSEN_OFF, .disable = LFUSE_NO_REPLAY,
                                   .precision = what->precision };
    const int rank = width ? 2 : 1;
    const int64_t shape[2] = { width ? width : what->elements, width };
    lfuse_value a, b;

    LFUSE__TRY(lfuse__stream_create(r->dev, &r->stream));
    r->graph = lfuse_graph_create();
    a = lfuse_input(r->graph, "a", type, rank, shape);
    LFUSE__TRY(add_tensor(r, "a", type, rank, shape));
    if (width) {
        b = lfuse_input(r->graph, "b", type, rank, shape);
        LFUSE__TRY(add_tensor(r, "b", type, rank, shape));
    }
    lfuse_output(r->graph, "c", width ? lfuse_matmul(a, b) : lfuse_neg(a));
    LFUSE__TRY(add_tensor(r, "c", type, rank, shape));
    return lfuse__plan_create_settled(r->dev, r->graph, &o, &r->plan);
}

static void drop(rated *r)
{
    lfuse__plan_destroy(r->plan);
    while (r->count) lfuse__tensor_release(r->tensors[--r->count]);
    lfuse_graph_destroy(r->graph);
    lfuse__stream_destroy(r->stream);
}

static lfuse_status measure(lfuse_device *dev, const char *what, const rate *timed, double *us)
{
    rated r = { .dev = dev };
    const lfuse__candidates one = { .title = what, .context = &r, .name = name, .run = run };
    lfuse_status status = make(&r, timed);
    int best = 0;

    if (!status) status = run(&r, 0, r.stream); /* instances are made before anything is captured */
    if (!status) status = lfuse__measure(&one, 1, r.stream, &best, us);
    drop(&r);
    return status;
}

/* *us 0: not known. */
static lfuse_status time_of(lfuse_device *dev, const char *what, bool may_measure, const rate *timed, double *us)
{
    lfuse__wise_choice wise;
    lfuse__saved_error before;
    lfuse_status status;
    bool known;

    *us = 0;
    LFUSE__TRY(lfuse__wisdom_ask(dev, what, &wise, &known));
    if (known) *us = wise.us;
    if (known || !may_measure) return LFUSE_OK;
    lfuse__error_save(&before);
    status = measure(dev, what, timed, us);
    if (status) lfuse__log(LFUSE_LOG_INFO, "%s could not be measured: %s", what, lfuse__error_message());
    lfuse__error_restore(&before);
    if (status) {
        *us = 0;
        return LFUSE_OK;
    }
    lfuse__wisdom_note(dev, what, "plan", BY, *us);
    LFUSE__TRY(lfuse__wisdom_ask(dev, what, &wise, &known)); /* as it is written, so that later plans are the same */
    if (known) *us = wise.us;
    return LFUSE_OK;
}

static double *rate_of(lfuse__facts *f, lfuse_type type, lfuse_precision precision)
{
    if (lfuse__may_split(precision)) return &f->product_rate_split[precision];
    if (type == LFUSE_F16 || type == LFUSE_BF16) return &f->product_rate16[type == LFUSE_BF16];
    return type == LFUSE_F64 ? &f->product_rate64 : &f->product_rate;
}

/* Of products of this type, FULL or of operands that are split, and of copies. */
static lfuse_status find(lfuse_device *dev, lfuse_type type, lfuse_precision precision, bool may_measure,
                         lfuse__facts *facts)
{
    const bool cpu = facts->info.kind == LFUSE_DEVICE_CPU;
    const int64_t width = cpu ? CPU_WIDTH : GPU_WIDTH, elements = cpu ? cpu_elements : gpu_elements;
    const double work = 2 * (double)width * (double)width * (double)width;
    const rate copy = { LFUSE_F32, LFUSE_PRECISION_FULL, 0, elements }, product = { type, precision, width, 0 };
    char what[NAME_BYTES];
    double us;

    snprintf(what, sizeof what, "rate:copy:%" PRId64, elements);
    LFUSE__TRY(time_of(dev, what, may_measure, &copy, &us));
    if (us > 0) facts->copy_rate = 8 * (double)elements / (us * 1e-6);
    snprintf(what, sizeof what, "rate:product:%" PRId64 ":%s", width,
             lfuse__may_split(precision) ? lfuse__precisions[precision].word : lfuse_type_name(type));
    LFUSE__TRY(time_of(dev, what, may_measure, &product, &us));
    if (us > 0) *rate_of(facts, type, precision) = work / (us * 1e-6);
    return LFUSE_OK;
}

/* Whether the model wants the rate of products from operands split so, which a vendor's library has none of. */
static bool asks_split(const lfuse_graph *graph, const lfuse_plan_options *options, const lfuse__facts *facts,
                       lfuse_precision precision)
{
    const lfuse__matmul_desc split = { .types = { LFUSE_F32, LFUSE_F32 }, .result = LFUSE_F32,
                                       .precision = precision };

    return lfuse__may_split(precision) && options->provider != LFUSE_PROVIDER_VENDOR &&
           lfuse__matmul_splits(facts, &split) && lfuse__graph_may_split(graph, options->precision, precision);
}

static bool asks(const lfuse_graph *graph, const lfuse__facts *facts, lfuse_type type)
{
    return (type != LFUSE_F64 || facts->info.f64) && lfuse__graph_multiplies(graph, type);
}

lfuse_status lfuse__rates_for(lfuse_device *dev, const lfuse_graph *graph, const lfuse_plan_options *options,
                              lfuse__facts *facts)
{
    static const lfuse_type types[] = { LFUSE_F32, LFUSE_F16, LFUSE_BF16, LFUSE_F64 };
    const bool may_measure = options->effort == LFUSE_EFFORT_MEASURE;
    int i;

    *facts = *lfuse__device_facts(dev);
    if (options->strassen != LFUSE_STRASSEN_AUTO) return LFUSE_OK;
    for (i = 0; i < 4; i++)
        if (asks(graph, facts, types[i])) LFUSE__TRY(find(dev, types[i], LFUSE_PRECISION_FULL, may_measure, facts));
    for (i = 0; i < LFUSE__PRECISIONS; i++)
        if (asks_split(graph, options, facts, (lfuse_precision)i))
            LFUSE__TRY(find(dev, LFUSE_F32, (lfuse_precision)i, may_measure, facts));
    return LFUSE_OK;
}
