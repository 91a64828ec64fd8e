/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of this machine in order of preference, for device.c. */
#ifndef COMMON_DEVICE_REGISTRY_H
#define COMMON_DEVICE_REGISTRY_H

#include "common/device/backend.h"

typedef struct lfuse__found {
    const lfuse__backend *backend;
    int index, order; /* of the device in its backend, of the backend in this build */
    lfuse__facts facts;
} lfuse__found;

/* Loads the backend's libraries; `reason` is filled when there is no device. */
lfuse_status lfuse__registry_enumerate(const lfuse__backend *backend, int *count, lfuse__strbuf *reason);
/* The device of that name; NULL or "": LFUSE_DEVICE, else the best one. */
lfuse_status lfuse__registry_choose(const char *name, lfuse__found *found);

#endif
