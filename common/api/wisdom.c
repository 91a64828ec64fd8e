/* SPDX-License-Identifier: Apache-2.0 */
#include "libfuse/wisdom.h"

#include "common/api/need.h"
#include "common/tune/wisdom.h"

lfuse_status lfuse_wisdom_import(lfuse_device *device, const char *path, int64_t *count)
{
    NEED(device);
    return lfuse__wisdom_import(device, path, count);
}

lfuse_status lfuse_wisdom_export(lfuse_device *device, const char *path)
{
    NEED(device);
    return lfuse__wisdom_export(device, path);
}
