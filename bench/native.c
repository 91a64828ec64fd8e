/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/native.h"

#include <string.h>

#include "common/base/error.h"

static const bench_native_kind *const kinds[] = {
#ifdef HAVE_CUDA
    &bench_native_cuda,
#endif
#ifdef HAVE_OPENCL
    &bench_native_opencl,
#endif
    NULL};

lfuse_status bench_native_find(const bench_device *d, const bench_native_kind **kind)
{
    for (int i = 0; kinds[i]; i++) {
        if (strcmp(kinds[i]->backend, d->info.backend)) continue;
        *kind = kinds[i];
        return LFUSE_OK;
    }
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "no bare calls are known for backend %s", d->info.backend);
}
