/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/facts.h"

#include <stdio.h>
#include <string.h>

void lfuse__facts_unknown(lfuse__facts *facts, const char *backend, const char *name, const char *why)
{
    lfuse_device_info *info = &facts->info;

    memset(facts, 0, sizeof *facts);
    snprintf(info->name, sizeof info->name, "%s", name);
    snprintf(info->backend, sizeof info->backend, "%s", backend);
    snprintf(info->product, sizeof info->product, "unknown");
    snprintf(info->driver, sizeof info->driver, "unknown");
    info->kind = LFUSE_DEVICE_OTHER;
    snprintf(facts->unfit, sizeof facts->unfit, "its driver does not describe it: %.150s", why);
}
