/* SPDX-License-Identifier: Apache-2.0 */
#include "libfuse/wisdom.h"

#include "common/api/need.h"
#include "common/run/instance.h"
#include "common/tune/wisdom.h"

lfuse_status lfuse_wisdom_import(lfuse_device *device, const char *path, int64_t *count)
{
    int64_t taken;

    NEED(device);
    LFUSE__TRY(lfuse__wisdom_import(device, path, &taken));
    LFUSE__TRY(lfuse__gemm_choose_anew(device));
    if (count) *count = taken;
    return LFUSE_OK;
}

lfuse_status lfuse_wisdom_export(lfuse_device *device, const char *path)
{
    NEED(device);
    return lfuse__wisdom_export(device, path);
}
