/* SPDX-License-Identifier: Apache-2.0 */
/* Immediate calls: a plan from the device's cache, run at once. */
#include <string.h>

#include "common/base/error.h"
#include "common/run/cache.h"
#include "libfuse/ops.h"

static lfuse_value matrix(lfuse_graph *g, const char *name, lfuse_type type, lfuse_size rows, lfuse_size columns,
                          bool transposed)
{
    if (!transposed) return lfuse_input(g, name, type, 2, LFUSE_DIMS(rows, columns));
    return lfuse_transpose(lfuse_input(g, name, type, 2, LFUSE_DIMS(columns, rows)));
}

typedef struct form {
    lfuse_type type; /* of a and b */
    bool wide;       /* c is f32, the sums of a narrow type as they are */
    bool ta, tb, has_beta;
} form;

/* c = alpha a b + beta c, or without the last term: then c is not read. */
static lfuse_graph *describe(const form *f)
{
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_size m = lfuse_size_var(g, "m", 0, INT64_MAX), n = lfuse_size_var(g, "n", 0, INT64_MAX);
    const lfuse_size k = lfuse_size_var(g, "k", 0, INT64_MAX);
    const lfuse_value a = matrix(g, "a", f->type, m, k, f->ta), b = matrix(g, "b", f->type, k, n, f->tb);
    const lfuse_type type = f->wide ? LFUSE_F32 : f->type;
    const lfuse_value sums = lfuse_matmul_as(a, b, type, LFUSE_PRECISION_FULL);
    const lfuse_value product = lfuse_mul(sums, lfuse_scalar(g, "alpha"));

    if (f->has_beta) {
        const lfuse_value c = lfuse_input(g, "c", type, 2, LFUSE_DIMS(m, n));
        lfuse_update(c, lfuse_add(product, lfuse_mul(c, lfuse_scalar(g, "beta"))));
    } else {
        lfuse_output(g, "c", product);
    }
    return g;
}

static lfuse_status make_plan(lfuse_device *dev, const form *f, lfuse_plan **plan)
{
    lfuse_graph *g = describe(f);
    const lfuse_status status = lfuse__plan_create(dev, g, NULL, plan);

    lfuse_graph_destroy(g);
    return status;
}

/* The key is small and of fixed size, so it is an index. */
static lfuse_status find_plan(lfuse_device *dev, const form *f, lfuse_plan **plan)
{
    const int key = (int)f->type * 16 + f->wide * 8 + f->ta * 4 + f->tb * 2 + f->has_beta;
    lfuse__plan_cache *cache;
    lfuse_plan *fresh;

    LFUSE__TRY(lfuse__plan_cache_get(dev, &cache));
    pthread_mutex_lock(&cache->lock);
    *plan = cache->gemms[key];
    pthread_mutex_unlock(&cache->lock);
    if (*plan) return LFUSE_OK;
    LFUSE__TRY(make_plan(dev, f, &fresh));
    pthread_mutex_lock(&cache->lock);
    if (!cache->gemms[key]) {
        cache->gemms[key] = fresh;
        fresh = NULL;
    }
    *plan = cache->gemms[key];
    pthread_mutex_unlock(&cache->lock);
    lfuse__plan_destroy(fresh); /* somebody else was faster */
    return LFUSE_OK;
}

static lfuse_status gemm(lfuse_stream *stream, const form *f, const lfuse_binding *bindings)
{
    lfuse_plan *plan;

    LFUSE__TRY(lfuse__stream_usable(stream));
    LFUSE__TRY(find_plan(lfuse__stream_device(stream), f, &plan));
    return lfuse__plan_run(plan, stream, bindings, f->has_beta ? 5 : 4);
}

lfuse_status lfuse__gemm_now(lfuse_stream *stream, bool ta, bool tb, double alpha, const lfuse_tensor *a,
                             const lfuse_tensor *b, double beta, lfuse_tensor *c)
{
    const bool narrow = lfuse__is_narrow(a->type);
    const form f = { a->type, narrow && c->type == LFUSE_F32, ta, tb, beta != 0 };
    const lfuse_binding bindings[] = {
        lfuse_bind_tensor("a", (lfuse_tensor *)a), lfuse_bind_tensor("b", (lfuse_tensor *)b),
        lfuse_bind_scalar("alpha", alpha),         lfuse_bind_tensor("c", c),
        lfuse_bind_scalar("beta", beta),
    };

    return lfuse__recording_note(stream, gemm(stream, &f, bindings));
}
