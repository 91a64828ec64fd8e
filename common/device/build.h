/* SPDX-License-Identifier: Apache-2.0 */
/* Making a program from its text: from the disk cache, else by the vendor's compiler. For program.c. */
#ifndef COMMON_DEVICE_BUILD_H
#define COMMON_DEVICE_BUILD_H

#include "common/device/device.h"

/* Holds no lock of the device. */
lfuse_status lfuse__build(lfuse_device *dev, const char *body, lfuse__bprogram **program);

#endif
