/* SPDX-License-Identifier: Apache-2.0 */
/* What kernel.c needs of a program. */
#ifndef COMMON_DEVICE_KERNEL_H
#define COMMON_DEVICE_KERNEL_H

#include "common/device/device.h"

lfuse_device *lfuse__program_device(const lfuse__program *program);
lfuse__bprogram *lfuse__program_backend(const lfuse__program *program);

#endif
