/* SPDX-License-Identifier: Apache-2.0 */
#include "libfuse/status.h"

#include "common/base/error.h"
#include "libfuse/version.h"

const char *lfuse_last_error(void)
{
    return lfuse__error_message();
}

int lfuse_version(void)
{
    return LFUSE_VERSION;
}

const char *lfuse_version_string(void)
{
    return LFUSE_VERSION_STRING;
}
