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

/*
 * Best first, and last those that facts.unfit says no work can be done on. `reasons` receives why backends have no
 * device and devices are unfit. The list is freed by the caller. `only` NULL: every backend.
 */
lfuse_status lfuse__registry_list(const lfuse__backend *only, lfuse__found **list, int *count,
                                  lfuse__strbuf *reasons);
/* Loads the backend's libraries; `reason` is filled when there is no device. */
lfuse_status lfuse__registry_enumerate(const lfuse__backend *backend, int *count, lfuse__strbuf *reason);
/* The device of that name; NULL or "": LFUSE_DEVICE, else the best one. ERR_UNSUPPORTED: it is unfit. */
lfuse_status lfuse__registry_choose(const char *name, lfuse__found *found);

#endif
