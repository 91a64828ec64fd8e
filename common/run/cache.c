/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept on a device, as long as it is open. */
#include "common/run/cache.h"

#include <stdlib.h>

#include "common/base/error.h"
#include "common/run/foreach.h"

static lfuse_status create_cache(lfuse_device *dev, void **data)
{
    lfuse__plan_cache *cache = calloc(1, sizeof *cache);

    (void)dev;
    if (!cache) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *cache);
    lfuse__body_cache_init(&cache->bodies);
    pthread_mutex_init(&cache->lock, NULL);
    *data = cache;
    return LFUSE_OK;
}

static void destroy_cache(void *data)
{
    lfuse__plan_cache *cache = data;
    int i;

    for (i = 0; i < LFUSE__GEMM_PLANS; i++) lfuse__plan_destroy(cache->gemms[i]);
    for (i = 0; i < LFUSE__EVALUATED; i++) lfuse__evaluated_clear(&cache->evaluated[i]);
    lfuse__numbers_clear(cache->numbers);
    lfuse__body_cache_clear(&cache->bodies);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

lfuse_status lfuse__plan_cache_get(lfuse_device *dev, lfuse__plan_cache **cache)
{
    void *data;

    LFUSE__TRY(lfuse__device_attachment(dev, LFUSE__ATTACH_PLANS, create_cache, destroy_cache, &data));
    *cache = data;
    return LFUSE_OK;
}
