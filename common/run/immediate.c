/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

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

/* c = alpha a b + beta c, or without the last term: then c is not read. */
static lfuse_graph *describe(lfuse_type type, bool ta, bool tb, bool has_beta)
{
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_size m = lfuse_size_var(g, "m", 0, INT64_MAX), n = lfuse_size_var(g, "n", 0, INT64_MAX);
    const lfuse_size k = lfuse_size_var(g, "k", 0, INT64_MAX);
    const lfuse_value a = matrix(g, "a", type, m, k, ta), b = matrix(g, "b", type, k, n, tb);
    const lfuse_value product = lfuse_mul(lfuse_matmul(a, b), lfuse_scalar(g, "alpha"));

    if (has_beta) {
        const lfuse_value c = lfuse_input(g, "c", type, 2, LFUSE_DIMS(m, n));
        lfuse_update(c, lfuse_add(product, lfuse_mul(c, lfuse_scalar(g, "beta"))));
    } else {
        lfuse_output(g, "c", product);
    }
    return g;
}

static lfuse_status make_plan(lfuse_device *dev, lfuse_type type, bool ta, bool tb, bool has_beta, lfuse_plan **plan)
{
    lfuse_graph *g = describe(type, ta, tb, has_beta);
    const lfuse_status status = lfuse__plan_create(dev, g, NULL, plan);

    lfuse_graph_destroy(g);
    return status;
}

/* The key is small and of fixed size, so it is an index. */
static lfuse_status find_plan(lfuse_device *dev, lfuse_type type, bool ta, bool tb, bool has_beta, lfuse_plan **plan)
{
    const int key = (int)type * 8 + ta * 4 + tb * 2 + has_beta;
    lfuse__plan_cache *cache;
    lfuse_plan *fresh;

    LFUSE__TRY(lfuse__plan_cache_get(dev, &cache));
    pthread_mutex_lock(&cache->lock);
    *plan = cache->gemms[key];
    pthread_mutex_unlock(&cache->lock);
    if (*plan) return LFUSE_OK;
    LFUSE__TRY(make_plan(dev, type, ta, tb, has_beta, &fresh));
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

static lfuse_status gemm(lfuse_stream *stream, lfuse_type type, bool ta, bool tb, bool has_beta,
                         const lfuse_binding *bindings)
{
    lfuse_plan *plan;

    LFUSE__TRY(lfuse__stream_usable(stream));
    LFUSE__TRY(find_plan(lfuse__stream_device(stream), type, ta, tb, has_beta, &plan));
    return lfuse__plan_run(plan, stream, bindings, has_beta ? 5 : 4);
}

lfuse_status lfuse__gemm_now(lfuse_stream *stream, bool ta, bool tb, double alpha, const lfuse_tensor *a,
                             const lfuse_tensor *b, double beta, lfuse_tensor *c)
{
    const lfuse_binding bindings[] = {
        lfuse_bind_tensor("a", (lfuse_tensor *)a), lfuse_bind_tensor("b", (lfuse_tensor *)b),
        lfuse_bind_number("alpha", alpha),         lfuse_bind_tensor("c", c),
        lfuse_bind_number("beta", beta),
    };

    return lfuse__recording_note(stream, gemm(stream, a->type, ta, tb, beta != 0, bindings));
}
